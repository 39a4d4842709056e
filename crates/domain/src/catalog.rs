//! Catalogs and the templates in them.
use crate::{Domain, item};
use model::{
    Action, Actor, CatalogId, Error, Kind, OrgId, Result, TemplateId, can,
    catalog::{Catalog, CatalogSpec},
    conflict,
    decide::{Resource, authorize, list_scope},
    list::{ListQuery, Page},
    query::{Found, Numbered},
    template::Template,
};
use store::Record;
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &ListQuery) -> Result<Page<Catalog>> {
    d.store.catalogs(list_scope(actor, Action::CatalogList, org)?, q).await
}

/// As VCD's clients ask.
pub async fn query(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<Catalog>> {
    d.store.catalogs_query(list_scope(actor, Action::CatalogList, org)?, q).await
}

pub async fn get(d: &Domain, actor: &Actor, id: CatalogId) -> Result<Catalog> {
    Ok(d.store.catalog(actor, Action::CatalogView, id).await?.into_inner())
}

pub async fn templates(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &ListQuery) -> Result<Page<Template>> {
    d.store.templates(list_scope(actor, Action::CatalogList, org)?, q).await
}

/// Templates and media, as VCD's clients ask.
pub async fn query_templates(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<Template>> {
    d.store.templates_query(list_scope(actor, Action::CatalogList, org)?, q).await
}

pub async fn template(d: &Domain, actor: &Actor, id: TemplateId) -> Result<Template> {
    Ok(d.store.template(actor, Action::TemplateView, id).await?.into_inner())
}

/// Discs of an organization that VMs of others have: neither they nor their catalogs can be deleted.
pub async fn discs_elsewhere(d: &Domain, actor: &Actor, org: OrgId) -> Result<Vec<String>> {
    authorize(actor, Action::CatalogList, Resource::Of(org))?;
    d.store.discs_elsewhere(org).await
}

/// Only the provider shares with others and fills a catalog from hubs.
fn within_reach(actor: &Actor, spec: &CatalogSpec) -> Result<()> {
    if (spec.shared_to_all || spec.from_hubs || !spec.shared_to.is_empty()) && !actor.provider {
        return Err(Error::Forbidden { action: Action::CatalogShare, right: None });
    }
    Ok(())
}

/// The organizations it is shared to one by one, for the provider.
pub async fn shared_to(d: &Domain, actor: &Actor, catalog: &Catalog) -> Result<Vec<(OrgId, String)>> {
    authorize(actor, Action::OrgList, Resource::Installation)?;
    d.store.tenant_names(&catalog.shared_to).await
}

/// Names of all that a change is about. Every organization that it is newly shared to must be there.
async fn sharers(d: &Domain, actor: &Actor, spec: &CatalogSpec, before: &[OrgId]) -> Result<Vec<(OrgId, String)>> {
    if spec.shared_to != before {
        within_reach(actor, &CatalogSpec { shared_to_all: true, ..CatalogSpec::default() })?;
    }
    let all: Vec<OrgId> = spec.shared_to.iter().chain(before).copied().collect();
    let named = d.store.tenant_names(&all).await?;
    let known = |id: &OrgId| named.iter().any(|(org, _)| org == id) || before.contains(id);
    if !spec.shared_to.iter().all(known) {
        let message = "One of the organizations is not there any more. Choose from those that are listed.";
        return Err(Error::field("shared_to", message));
    }
    Ok(named)
}

pub async fn create(d: &Domain, actor: &Actor, org: OrgId, spec: CatalogSpec) -> Result<Catalog> {
    let action = Action::CatalogCreate;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Of(org))?;
        within_reach(actor, &spec)?;
        let spec = spec.check()?;
        let orgs = sharers(d, actor, &spec, &[]).await?;
        let id = CatalogId(Uuid::now_v7());
        let mut tx = d.store.write(actor).await?;
        let org = tx.org_seen(action, org).await?;
        tx.catalog_insert(id, org.id, &spec).await?;
        tx.commit(Record::new(action, org.id, id, &spec.name).after(&(&spec, orgs.as_slice())).with_task()).await?;
        if spec.from_hubs {
            d.store.fill_catalogs().await?;
        }
        get(d, actor, id).await
    })
    .await
}

pub async fn edit(d: &Domain, actor: &Actor, id: CatalogId, version: i64, spec: CatalogSpec) -> Result<Catalog> {
    let action = Action::CatalogEdit;
    d.attempt(actor, action, async {
        // read once before: names are looked up while nothing is held
        let before = d.store.catalog(actor, action, id).await?.shared_to.clone();
        let orgs = sharers(d, actor, &spec, &before).await?;
        let mut tx = d.store.write(actor).await?;
        let catalog = tx.catalog(action, id).await?;
        let current = CatalogSpec::from(&*catalog);
        let reach = (&current.shared_to_all, &current.shared_to, &current.from_hubs);
        if reach != (&spec.shared_to_all, &spec.shared_to, &spec.from_hubs) {
            within_reach(actor, &CatalogSpec { shared_to_all: true, ..spec.clone() })?;
        }
        let spec = spec.check()?;
        if version != catalog.version {
            let changed = (catalog.updated_by.as_str(), catalog.updated_at, catalog.version);
            let (theirs, yours) = ((&current, orgs.as_slice()), (&spec, orgs.as_slice()));
            return Err(Error::Conflict(Box::new(conflict(Kind::Catalog, &catalog.name, changed, &theirs, &yours))));
        }
        tx.catalog_update(&catalog, &spec).await?;
        let record = Record::new(action, catalog.org, id, &spec.name);
        let record = record.before(&(&current, orgs.as_slice())).after(&(&spec, orgs.as_slice()));
        tx.commit(record.with_task()).await?;
        if spec.from_hubs {
            d.store.fill_catalogs().await?;
        }
        get(d, actor, id).await
    })
    .await
}

pub async fn delete(d: &Domain, actor: &Actor, id: CatalogId) -> Result<()> {
    delete_with(d, actor, id, Vec::new()).await
}

/// With these items, which are all that is in it: all of it goes, or nothing.
pub async fn delete_with(d: &Domain, actor: &Actor, id: CatalogId, mut items: Vec<TemplateId>) -> Result<()> {
    let action = Action::CatalogDelete;
    items.sort_unstable();
    d.attempt(actor, action, async {
        let orgs = d.store.tenant_names(&d.store.catalog(actor, action, id).await?.shared_to).await?;
        let mut tx = d.store.write(actor).await?;
        for item in items {
            let record = item::delete_in(&mut tx, item, Some(id)).await?;
            tx.record(record).await?;
        }
        let catalog = tx.catalog(action, id).await?;
        can::or_not_now(can::catalog(&catalog, action))?;
        tx.catalog_delete(&catalog).await?;
        let (record, before) = (Record::new(action, catalog.org, id, &catalog.name), CatalogSpec::from(&*catalog));
        tx.commit(record.before(&(&before, orgs.as_slice())).with_task()).await?;
        Ok(())
    })
    .await
}
