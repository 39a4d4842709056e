//! Organizations. The provider makes them; the provider's own is protected.
use crate::{Domain, lease};
use model::{
    Action, Actor, Error, Kind, OrgId, Problems, Result, UserId, can, conflict,
    decide::{Resource, Scope, authorize, list_scope},
    list::{ListQuery, Page},
    org::{NewOrg, Org, OrgBesides, OrgContents, OrgNames, OrgSpec},
    query::{Found, Numbered},
    role::Predefined,
    site::Sites,
};
use store::{Authorized, Record, Write};
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, q: &ListQuery) -> Result<Page<Org>> {
    authorize(actor, Action::OrgList, Resource::Installation)?;
    d.store.orgs(Scope::All, q).await
}

/// As VCD's clients ask: all of them for the provider, and their own for everybody else.
pub async fn query(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<Org>> {
    let scope = match org.or((!actor.provider).then_some(actor.org)) {
        None => {
            authorize(actor, Action::OrgList, Resource::Installation)?;
            Scope::All
        }
        Some(org) => {
            authorize(actor, Action::OrgView, Resource::Of(org))?;
            Scope::Org(org)
        }
    };
    d.store.orgs_query(scope, q).await
}

pub async fn get(d: &Domain, actor: &Actor, id: OrgId) -> Result<Org> {
    Ok(d.store.org(actor, Action::OrgView, id).await?.into_inner())
}

/// What is in each of some organizations, in numbers.
pub async fn contents(d: &Domain, actor: &Actor, orgs: &[Org]) -> Result<Vec<OrgContents>> {
    let ids: Vec<OrgId> = orgs.iter().map(|org| org.id).collect();
    for id in &ids {
        authorize(actor, Action::OrgView, Resource::Of(*id))?;
    }
    let found = d.store.org_contents(&ids).await?;
    Ok(ids.iter().map(|id| found.get(id).copied().unwrap_or_default()).collect())
}

/// Makes an organization and, in the same transaction, the user who will run it.
pub async fn create(d: &Domain, actor: &Actor, new: NewOrg) -> Result<Org> {
    d.attempt(actor, Action::OrgCreate, async {
        authorize(actor, Action::OrgCreate, Resource::Installation)?;
        let NewOrg { spec, admin } = new.check(d.passwords)?;
        let spec = checked(spec, &d.store.sites().await?, None)?;
        lease::check_policy(d, &spec.leases, None)?;
        let hash = match &admin {
            Some(a) => Some(d.hasher.hash(&a.password).await?),
            None => None,
        };
        let id = OrgId(Uuid::now_v7());
        let mut tx = d.store.write(actor).await?;
        tx.org_insert(id, &spec).await?;
        if let (Some(a), Some(hash)) = (&admin, &hash) {
            let user = UserId(Uuid::now_v7());
            let role = Predefined::OrganizationAdministrator.name();
            tx.user_insert(user, id, a, hash).await.map_err(|e| e.rename(NewOrg::admin_field))?;
            tx.record(Record::new(Action::UserCreate, id, user, &a.spec.name).after(&(a, role))).await?;
        }
        tx.commit(Record::new(Action::OrgCreate, id, id, &spec.name).after(&spec).with_task()).await?;
        get(d, actor, id).await
    })
    .await
}

/// `version` is the one the editor saw. Limits are the provider's to change; the rest an organization may do itself.
pub async fn edit(d: &Domain, actor: &Actor, id: OrgId, version: i64, spec: OrgSpec) -> Result<Org> {
    d.attempt(actor, Action::OrgEdit, async {
        let sites = d.store.sites().await?;
        let mut tx = d.store.write(actor).await?;
        let org = tx.org(Action::OrgEdit, id).await?;
        let current = OrgSpec::from(&*org);
        let limits_change = (spec.limits, spec.vdc_limit) != (current.limits, current.vdc_limit);
        if (&spec.prefer, &spec.avoid) != (&current.prefer, &current.avoid) {
            authorize(actor, Action::OrgChooseHubs, Resource::Of(id))?;
        }
        if limits_change || spec.name != current.name {
            authorize(actor, Action::OrgEditLimits, Resource::Of(id))?;
        }
        if org.is_provider && spec.name != current.name {
            return Err(Error::field("name", "The provider's own organization keeps its name."));
        }
        let spec = checked(spec, &sites, Some(&current))?;
        lease::check_policy(d, &spec.leases, Some(&current.leases))?;
        if version != org.version {
            let changed = (org.updated_by.as_str(), org.updated_at, org.version);
            return Err(Error::Conflict(Box::new(conflict(Kind::Org, &org.name, changed, &current, &spec))));
        }
        tx.org_update(&org, &spec).await?;
        if spec.name != current.name {
            tx.org_renamed(id).await?;
        }
        tx.commit(Record::new(Action::OrgEdit, id, id, &spec.name).before(&current).after(&spec).with_task()).await?;
        if (&spec.prefer, &spec.avoid) != (&current.prefer, &current.avoid) {
            // what found no hub may find one now
            d.store.wake_waiting("").await?;
        }
        get(d, actor, id).await
    })
    .await
}

/// By its own rules and against the hubs there are; what was wished for `before` may stay.
fn checked(spec: OrgSpec, sites: &Sites, before: Option<&OrgSpec>) -> Result<OrgSpec> {
    let spec = spec.check()?;
    let mut problems = Problems::default();
    sites.check_org(&spec, before, &mut problems);
    problems.done()?;
    Ok(spec)
}

/// What VCD's clients set besides: kept as it is given.
pub async fn keep(d: &Domain, actor: &Actor, id: OrgId, besides: OrgBesides) -> Result<Org> {
    let action = Action::OrgEditLimits;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let org = tx.org(action, id).await?;
        if org.besides != besides {
            tx.org_keep(&org, &besides).await?;
            let record = Record::new(action, id, id, &org.name).before(&org.besides).after(&besides);
            tx.commit(record.with_task()).await?;
        }
        get(d, actor, id).await
    })
    .await
}

/// Names of what is in it, for lists of references. Kinds that somebody may not see are empty.
pub async fn names(d: &Domain, actor: &Actor, org: &Org) -> Result<OrgNames> {
    let (s, scope, may) = (&d.store, Scope::Org(org.id), |action| actor.may(action, Resource::Of(org.id)));
    let mut all = OrgNames::default();
    if may(Action::UserList) {
        all.users = s.user_names(scope).await?;
    }
    if may(Action::RoleList) {
        all.roles = s.role_names(scope).await?;
        if org.is_provider {
            let own = Predefined::ALL.into_iter().filter(|p| p.provider_only());
            all.roles.extend(own.map(|p| (p.id(), p.name().to_owned())));
        }
    }
    if may(Action::VdcList) {
        all.vdcs = s.vdc_names(scope).await?;
    }
    if let Ok(scope) = list_scope(actor, Action::CatalogList, Some(org.id)) {
        all.catalogs = s.catalog_names(scope, org.id).await?;
    }
    if may(Action::NetworkList) {
        all.networks = s.network_names(scope).await?;
    }
    Ok(all)
}

pub async fn set_enabled(d: &Domain, actor: &Actor, id: OrgId, enabled: bool) -> Result<Org> {
    let action = if enabled { Action::OrgEnable } else { Action::OrgDisable };
    d.attempt(actor, action, async {
        let (mut tx, org) = hold(d, actor, action, id).await?;
        tx.org_set_enabled(&org, enabled).await?;
        tx.commit(Record::new(action, id, id, &org.name).with_task()).await?;
        get(d, actor, id).await
    })
    .await
}

/// When it is empty and disabled. Its users and roles go with it.
pub async fn delete(d: &Domain, actor: &Actor, id: OrgId) -> Result<()> {
    let action = Action::OrgDelete;
    d.attempt(actor, action, async {
        let (mut tx, org) = hold(d, actor, action, id).await?;
        tx.org_delete(&org).await?;
        tx.commit(Record::new(action, id, id, &org.name).before(&OrgSpec::from(&*org)).with_task()).await?;
        Ok(())
    })
    .await
}

async fn hold<'a>(d: &'a Domain, actor: &'a Actor, action: Action, id: OrgId) -> Result<(Write<'a>, Authorized<Org>)> {
    let mut tx = d.store.write(actor).await?;
    let org = tx.org(action, id).await?;
    can::or_not_now(can::org(&org, action))?;
    Ok((tx, org))
}
