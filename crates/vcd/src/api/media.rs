//! Discs of catalogs.
use crate::{
    answer::Answer,
    api::{
        catalog_item::{self, delete_entity, edits, of_kind},
        task, upload,
    },
    ask::Ask,
    routes::Routes,
    wire::{
        doc::{document, link, owner},
        href::urn,
        media, status,
        times::stamp,
    },
};
use model::{Action, Result, task::Task, template::ItemKind};
use std::fmt::Display;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/media/{id}", get)
        .put("/api/media/{id}", edit)
        .delete("/api/media/{id}", |ask| delete_entity(ask, ItemKind::Media))
}

async fn get(ask: Ask) -> Result<Answer> {
    let disc = of_kind(&ask, ItemKind::Media).await?;
    let coming = upload::latest(&ask, &disc).await;
    let all = catalog_item::tasks(&ask, &disc).await;
    let failed = upload::failed(&disc, coming.as_ref(), &all);
    // clients look into it after the upload too: the latest is shown when none is under way
    let mut shown: Vec<Task> = all.iter().filter(|t| !t.status.ended()).cloned().collect();
    if shown.is_empty() {
        shown.extend(all.into_iter().next());
    }
    let announced = coming.as_ref().map(model::upload::Upload::size).filter(|n| *n > 0);
    let size = disc.size.or(announced).unwrap_or(0);
    let (base, href) = (ask.base(), ask.base().media(disc.id));
    let state = if failed { -1 } else { status::media(&disc).0 };
    let attributes: [(&str, &dyn Display); 7] = [
        ("name", &disc.name),
        ("id", &urn("media", disc.id)),
        ("href", &href),
        ("type", &media::MEDIA),
        ("status", &state),
        ("size", &size),
        ("imageType", &"iso"),
    ];
    let text = document("Media", &attributes, |w| {
        link(w, "catalogItem", base.catalog_item(disc.id), media::CATALOG_ITEM);
        link(w, "down", format_args!("{href}/metadata"), media::METADATA);
        edits(w, &ask, &disc, &href, media::MEDIA);
        w.text("Description", &disc.description);
        task::tasks(w, base, &ask.actor, &shown);
        upload::files(w, base, coming.as_ref());
        owner(w, base, disc.catalog_owner, &disc.catalog_owner_name);
        w.text("DateCreated", stamp(disc.created_at));
    });
    Ok(Answer::xml(media::MEDIA, text))
}

async fn edit(ask: Ask) -> Result<Answer> {
    let disc = of_kind(&ask, ItemKind::Media).await?;
    catalog_item::rename(&ask, &disc, &ask.xml("Media")?).await?;
    task::accepted_about(&ask, Action::TemplateEdit, catalog_item::noted(&disc)).await
}
