//! Items of catalogs: what stands for a template or a disc in its catalog. Both are one thing here and have one id.
use crate::{
    answer::Answer,
    api::task,
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{action, document, link, reference},
        href::{Base, urn},
        media,
        times::stamp,
    },
};
use domain::{catalog, item, task::Noted};
use model::{
    Action, Kind, Result, TemplateId, can,
    task::Task,
    template::{ItemKind, Template},
};
use std::fmt::Display;
use xml::{Element, Writer};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.get("/api/catalogItem/{id}", get).put("/api/catalogItem/{id}", edit).delete("/api/catalogItem/{id}", delete)
}

async fn found(ask: &Ask) -> Result<Template> {
    catalog::template(ask.d(), &ask.actor, ask.id(Kind::Template)?).await
}

async fn get(ask: Ask) -> Result<Answer> {
    let item = found(&ask).await?;
    render(&ask, &item).await
}

async fn edit(ask: Ask) -> Result<Answer> {
    let item = found(&ask).await?;
    rename(&ask, &item, &ask.xml("CatalogItem")?).await?;
    let item = found(&ask).await?;
    render(&ask, &item).await
}

/// Name and description as a body has them, where they are others. A template and a disc are renamed by the same.
pub(crate) async fn rename(ask: &Ask, item: &Template, body: &Element) -> Result<()> {
    let name = body.word("name").unwrap_or(&item.name);
    let description = body.child("Description").map_or(item.description.as_str(), |d| d.text.trim());
    if (name, description) == (&item.name, &item.description) {
        return Ok(());
    }
    item::edit(ask.d(), &ask.actor, item.id, name, description).await
}

async fn delete(ask: Ask) -> Result<Answer> {
    item::delete(ask.d(), &ask.actor, ask.id(Kind::Template)?).await?;
    Ok(Answer::nothing())
}

/// The same by the address of what is in it, which answers with a task.
pub(crate) async fn delete_entity(ask: Ask, kind: ItemKind) -> Result<Answer> {
    let item = of_kind(&ask, kind).await?;
    item::delete(ask.d(), &ask.actor, item.id).await?;
    task::accepted_about(&ask, Action::TemplateDelete, noted(&item)).await
}

/// What the address says it is, and nothing else.
pub(crate) async fn of_kind(ask: &Ask, kind: ItemKind) -> Result<Template> {
    let item = found(ask).await?;
    if item.kind == kind { Ok(item) } else { Err(model::Error::NotFound(Kind::Template)) }
}

pub(crate) fn noted(item: &Template) -> Noted {
    Noted { org: item.org, id: item.id.0, name: item.name.clone(), owner: item.catalog_owner }
}

/// The latest tasks about it; of what another organization shares nobody is told any.
pub(crate) async fn tasks(ask: &Ask, item: &Template) -> Vec<Task> {
    domain::task::about(ask.d(), &ask.actor, item.org, item.id.0).await.unwrap_or_default()
}

/// Where what is in it is, and what that is.
pub(crate) fn entity(base: &Base, id: TemplateId, kind: ItemKind) -> (String, &'static str, String) {
    match kind {
        ItemKind::Template => (base.template(id), media::VAPP_TEMPLATE, id.urn()),
        ItemKind::Media => (base.media(id), media::MEDIA, urn("media", id)),
    }
}

/// May whoever asks do that with it, and can it be done now?
pub(crate) fn offers(ask: &Ask, item: &Template, doing: Action) -> bool {
    ask.actor.may(doing, item.resource(&ask.actor, doing)) && can::template(item, doing).is_ok()
}

pub(crate) async fn render(ask: &Ask, item: &Template) -> Result<Answer> {
    let base = ask.base();
    let href = base.catalog_item(item.id);
    let under_way: Vec<Task> = tasks(ask, item).await.into_iter().filter(|t| !t.status.ended()).collect();
    let size = item.size.unwrap_or(0);
    let attributes: [(&str, &dyn Display); 5] = [
        ("name", &item.name),
        ("id", &urn("catalogitem", item.id)),
        ("href", &href),
        ("type", &media::CATALOG_ITEM),
        ("size", &size),
    ];
    let text = document("CatalogItem", &attributes, |w| {
        link(w, "up", base.catalog(item.catalog), media::CATALOG);
        link(w, "down", format_args!("{href}/metadata"), media::METADATA);
        edits(w, ask, item, &href, media::CATALOG_ITEM);
        w.text("Description", item.words());
        task::tasks(w, base, &ask.actor, &under_way);
        let (entity, kind, id) = entity(base, item.id, item.kind);
        reference(w, "Entity", entity, id, &item.name, kind);
        w.text("DateCreated", stamp(item.created_at));
        w.text("VersionNumber", item.version);
    });
    Ok(Answer::xml(media::CATALOG_ITEM, text))
}

/// Links to change and to delete it.
pub(crate) fn edits(w: &mut Writer, ask: &Ask, item: &Template, href: &str, kind: &str) {
    if offers(ask, item, Action::TemplateEdit) {
        link(w, "edit", href, kind);
    }
    if offers(ask, item, Action::TemplateDelete) {
        action(w, "remove", href);
    }
}
