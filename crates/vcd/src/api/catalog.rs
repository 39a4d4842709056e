//! Catalogs, as their readers and as their administrators see them.
use crate::{
    answer::Answer,
    api::task,
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{action, document, link, owner, reference},
        href::urn,
        media,
        times::stamp,
    },
};
use domain::{catalog, task::Noted};
use model::{
    Action, CatalogId, Error, Kind, OrgId, Result, TemplateId,
    catalog::{Catalog, CatalogSpec},
    decide::Resource,
    list::{self, ListQuery},
    task::Task,
    template::Template,
};
use std::fmt::Display;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/catalog/{id}", |ask| get(ask, View::Reader))
        .get("/api/admin/catalog/{id}", |ask| get(ask, View::Admin))
        .put("/api/admin/catalog/{id}", edit)
        .delete("/api/admin/catalog/{id}", delete)
        .delete("/api/catalog/{id}", delete)
        .post("/api/admin/org/{id}/catalogs", create)
        .post("/api/catalog/{id}/action/publish", publish)
        .post("/api/admin/catalog/{id}/action/publish", publish)
        .post("/api/admin/catalog/{id}/action/publishToExternalOrganizations", publish_externally)
        .post("/api/admin/catalog/{id}/action/sync", sync)
        .post("/api/catalog/{id}/action/sync", sync)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Reader,
    Admin,
}

async fn get(ask: Ask, view: View) -> Result<Answer> {
    let catalog = catalog::get(ask.d(), &ask.actor, ask.id(Kind::Catalog)?).await?;
    let tasks = under_way(&ask, &catalog).await?;
    render(&ask, &catalog, view, &tasks).await
}

async fn under_way(ask: &Ask, catalog: &Catalog) -> Result<Vec<Task>> {
    let all = domain::task::about(ask.d(), &ask.actor, catalog.org, catalog.id.0).await;
    // of another organization's nobody is told what is done to it
    Ok(all.unwrap_or_default().into_iter().filter(|t| !t.status.ended()).collect())
}

async fn create(ask: Ask) -> Result<Answer> {
    let org: OrgId = ask.id(Kind::Org)?;
    let body = ask.xml("AdminCatalog")?;
    let spec = CatalogSpec {
        name: body.need("name")?.to_owned(),
        description: body.word("Description").unwrap_or_default().to_owned(),
        ..CatalogSpec::default()
    };
    let made = catalog::create(ask.d(), &ask.actor, org, spec).await?;
    let began = task::about(&ask, Action::CatalogCreate, noted(&made)).await?;
    let answer = render(&ask, &made, View::Admin, &[began]).await?;
    Ok(answer.created(ask.base().admin_catalog(made.id)))
}

fn noted(catalog: &Catalog) -> Noted {
    Noted { org: catalog.org, id: catalog.id.0, name: catalog.name.clone(), owner: catalog.owner }
}

/// Its name and description. What else a client sends back stays as it is.
async fn edit(ask: Ask) -> Result<Answer> {
    let id: CatalogId = ask.id(Kind::Catalog)?;
    let body = ask.xml("AdminCatalog")?;
    let found = catalog::get(ask.d(), &ask.actor, id).await?;
    let spec = CatalogSpec {
        name: body.word("name").unwrap_or(&found.name).to_owned(),
        description: body.child("Description").map_or(found.description.clone(), |d| d.text.trim().to_owned()),
        ..CatalogSpec::from(&found)
    };
    let edited = catalog::edit(ask.d(), &ask.actor, id, found.version, spec).await?;
    render(&ask, &edited, View::Admin, &[]).await
}

/// With `recursive`, what is in it goes first.
async fn delete(ask: Ask) -> Result<Answer> {
    let id: CatalogId = ask.id(Kind::Catalog)?;
    let found = catalog::get(ask.d(), &ask.actor, id).await?;
    let items = own_items(&ask, &found).await?;
    if !items.is_empty() && !ask.params().flag("recursive") {
        let why = format!(
            "You must remove all {} items of the catalog {} first, or delete it with recursive=true.",
            items.len(),
            found.name
        );
        return Err(Error::NotNow(why));
    }
    catalog::delete_with(ask.d(), &ask.actor, id, items).await?;
    task::accepted_about(&ask, Action::CatalogDelete, noted(&found)).await
}

/// To all organizations, or to none of them.
async fn publish(ask: Ask) -> Result<Answer> {
    let id: CatalogId = ask.id(Kind::Catalog)?;
    let wanted = ask.xml("PublishCatalogParams")?.on("IsPublished")?;
    let found = catalog::get(ask.d(), &ask.actor, id).await?;
    if wanted != found.shared_to_all {
        let spec = CatalogSpec { shared_to_all: wanted, ..CatalogSpec::from(&found) };
        catalog::edit(ask.d(), &ask.actor, id, found.version, spec).await?;
    }
    Ok(Answer::nothing())
}

async fn publish_externally(ask: Ask) -> Result<Answer> {
    let id: CatalogId = ask.id(Kind::Catalog)?;
    let wanted = ask.xml("PublishExternalCatalogParams")?.on("IsPublishedExternally")?;
    let found = catalog::get(ask.d(), &ask.actor, id).await?;
    match wanted {
        false => render(&ask, &found, View::Admin, &[]).await,
        true => Err(Error::NotNow(
            "Catalogs are not published to other installations. Share it within its organization instead, or ask the \
             provider to share it with others here."
                .into(),
        )),
    }
}

async fn sync(ask: Ask) -> Result<Answer> {
    let found = catalog::get(ask.d(), &ask.actor, ask.id(Kind::Catalog)?).await?;
    Err(Error::NotNow(format!(
        "{} is no copy of a catalog elsewhere, so there is nothing to bring up to date.",
        found.name
    )))
}

/// What has to go before it: what came from hubs goes with it.
pub(crate) async fn own_items(ask: &Ask, catalog: &Catalog) -> Result<Vec<TemplateId>> {
    match catalog.from_hubs {
        true => Ok(Vec::new()),
        false => Ok(items(ask, catalog).await?.iter().map(|item| item.id).collect()),
    }
}

/// Everything in it.
pub(crate) async fn items(ask: &Ask, catalog: &Catalog) -> Result<Vec<Template>> {
    let filters = vec![("catalog", catalog.id.to_string())];
    let mut q = ListQuery { limit: 1000, filters, ..ListQuery::first(&list::TEMPLATES) };
    // what the provider shares is found among one's own
    let org = if ask.actor.provider { Some(catalog.org) } else { None };
    let mut all = Vec::new();
    loop {
        let page = catalog::templates(ask.d(), &ask.actor, org, &q).await?;
        all.extend(page.items);
        match page.after {
            Some(cursor) => q.cursor = Some(cursor),
            None => return Ok(all),
        }
    }
}

async fn render(ask: &Ask, catalog: &Catalog, view: View, tasks: &[Task]) -> Result<Answer> {
    let items = items(ask, catalog).await?;
    let (base, admin) = (ask.base(), view == View::Admin);
    let plain = base.catalog(catalog.id);
    let (root, href, kind) = match view {
        View::Reader => ("Catalog", plain.clone(), media::CATALOG),
        View::Admin => ("AdminCatalog", base.admin_catalog(catalog.id), media::ADMIN_CATALOG),
    };
    let attributes: [(&str, &dyn Display); 4] =
        [("name", &catalog.name), ("id", &catalog.id.urn()), ("href", &href), ("type", &kind)];
    let text = document(root, &attributes, |w| {
        links(w, ask, catalog, view, &href);
        w.text("Description", &catalog.description);
        task::tasks(w, base, &ask.actor, tasks);
        w.el("CatalogItems", &[], |w| {
            for one in &items {
                let id = urn("catalogitem", one.id);
                reference(w, "CatalogItem", base.catalog_item(one.id), id, &one.name, media::CATALOG_ITEM);
            }
        });
        owner(w, base, catalog.owner, &catalog.owner_name);
        w.text("IsPublished", catalog.shared_to_all);
        w.text("DateCreated", stamp(catalog.created_at));
        w.text("VersionNumber", catalog.contents);
        if admin {
            w.el("PublishExternalCatalogParams", &[], |w| {
                w.text("IsPublishedExternally", false);
                w.text("IsCachedEnabled", false);
                w.text("PreserveIdentityInfoFlag", false);
            });
        }
    });
    Ok(Answer::xml(kind, text))
}

fn links(w: &mut xml::Writer, ask: &Ask, catalog: &Catalog, view: View, href: &str) {
    let (base, actor, admin) = (ask.base(), &ask.actor, view == View::Admin);
    let may = |action: Action| actor.may(action, catalog.resource(actor, action));
    let plain = base.catalog(catalog.id);
    // clients follow it, and stop where they may not
    if actor.may(Action::OrgView, Resource::Of(catalog.org)) {
        match view {
            View::Reader => link(w, "up", base.org(catalog.org), media::ORG),
            View::Admin => link(w, "up", base.admin_org(catalog.org), media::ADMIN_ORG),
        }
    }
    link(w, "down", format_args!("{href}/metadata"), media::METADATA);
    if admin {
        link(w, "alternate", &plain, media::CATALOG);
        link(w, "down", format_args!("{href}/owner/"), media::OWNER);
        if may(Action::CatalogEdit) {
            link(w, "edit", href, media::ADMIN_CATALOG);
        }
        // one with something in it goes too, if the client asks for that
        if may(Action::CatalogDelete) {
            action(w, "remove", href);
        }
    }
    if may(Action::TemplateUpload) && !catalog.from_hubs {
        link(w, "add", format_args!("{plain}/action/upload"), media::MEDIA);
        link(w, "add", format_args!("{plain}/action/upload"), media::UPLOAD_TEMPLATE_PARAMS);
    }
    if may(Action::CatalogAdd) && !catalog.from_hubs {
        link(w, "add", format_args!("{plain}/action/captureVApp"), media::CAPTURE_PARAMS);
        link(w, "add", format_args!("{plain}/catalogItems"), media::CATALOG_ITEM);
    }
    let within = base.api(format_args!("org/{}/catalog/{}", catalog.org, catalog.id));
    // clients need the first of them; whoever may not read what is behind it is told so there
    link(w, "down", format_args!("{within}/controlAccess/"), media::CONTROL_ACCESS);
    if may(Action::CatalogShare) {
        link(w, "controlAccess", format_args!("{within}/action/controlAccess"), media::CONTROL_ACCESS);
    }
    if may(Action::CatalogShare) && actor.provider {
        link(w, "publish", format_args!("{href}/action/publish"), media::PUBLISH_CATALOG_PARAMS);
    }
}
