//! Things by their URN alone, and what extends the API: nothing.
use crate::{
    answer::Answer,
    ask::{Ask, shown},
    routes::Routes,
    wire::{
        doc::{document, link},
        href::urn,
        media,
    },
};
use domain::{catalog, disk, network, org, role, task, user, vapp, vdc, vm};
use model::{Error, Kind, Result, template::ItemKind};
use std::fmt::Display;
use uuid::Uuid;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.get("/api/entity/{id}", get).get("/api/extensibility", extensibility)
}

/// The address of the thing that a URN names, for who may see it.
async fn get(ask: Ask) -> Result<Answer> {
    let text = ask.part("id");
    let named = text.strip_prefix("urn:vcloud:").and_then(|rest| rest.rsplit_once(':'));
    let (kind, id) = named
        .and_then(|(kind, id)| Some((kind.to_ascii_lowercase(), Uuid::try_parse(id).ok()?)))
        .ok_or_else(|| Error::BadRequest(format!("“{}” is no URN such as urn:vcloud:vm:….", shown(text))))?;
    let (d, actor, base) = (ask.d(), &ask.actor, ask.base());
    let (name, href, media) = match kind.as_str() {
        "vapptemplate" | "media" | "catalogitem" => {
            let t = catalog::template(d, actor, id.into()).await?;
            match (kind.as_str(), t.kind) {
                ("catalogitem", _) => (t.name, base.catalog_item(t.id), media::CATALOG_ITEM),
                ("media", ItemKind::Media) => (t.name, base.media(t.id), media::MEDIA),
                ("vapptemplate", ItemKind::Template) => (t.name, base.template(t.id), media::VAPP_TEMPLATE),
                _ => return Err(Error::NotFound(Kind::Template)),
            }
        }
        other => {
            let name = match Kind::parse(other) {
                Some(Kind::Org) => org::get(d, actor, id.into()).await?.name,
                Some(Kind::Vdc) => vdc::get(d, actor, id.into()).await?.name,
                Some(Kind::Catalog) => catalog::get(d, actor, id.into()).await?.name,
                Some(Kind::Vapp) => vapp::get(d, actor, id.into()).await?.name,
                Some(Kind::Vm) => vm::get(d, actor, id.into()).await?.name,
                Some(Kind::Disk) => disk::get(d, actor, id.into()).await?.name,
                Some(Kind::Network) => network::get(d, actor, id.into()).await?.spec.name,
                Some(Kind::User) => user::get(d, actor, id.into()).await?.name,
                Some(Kind::Role) => role::get(d, actor, id.into(), ask.context).await?.name,
                Some(Kind::Task) => {
                    task::get(d, actor, id.into()).await?;
                    "task".to_owned()
                }
                _ => {
                    return Err(Error::BadRequest(format!("There is nothing of the kind “{}” here.", shown(other))));
                }
            };
            match Kind::parse(other) {
                Some(Kind::Task) => (name, base.task(id.into()), media::TASK),
                known => {
                    let found = known.and_then(|kind| super::task::thing(base, kind, id, false));
                    let (href, media, _) = found.ok_or_else(|| Error::Internal(format!("no address of a {other}")))?;
                    (name, href, media)
                }
            }
        }
    };
    let (own, id) = (base.api(format_args!("entity/{}", urn(&kind, id))), urn(&kind, id));
    let attributes: [(&str, &dyn Display); 4] =
        [("name", &name), ("id", &id), ("href", &own), ("type", &media::ENTITY)];
    let text = document("Entity", &attributes, |w| link(w, "alternate", &href, media));
    Ok(Answer::xml(media::ENTITY, text))
}

async fn extensibility(ask: Ask) -> Result<Answer> {
    let href = ask.base().api("extensibility");
    let text = document("APIExtensibility", &[("href", &href), ("type", &media::API_EXTENSIBILITY)], |_| {});
    Ok(Answer::xml(media::API_EXTENSIBILITY, text))
}
