//! Whose vApps, disks and catalogs are, and giving them to somebody else.
use crate::{
    answer::Answer,
    ask::{Ask, referred},
    routes::Routes,
    wire::{
        doc::{NOBODY, document, owner_user},
        media,
    },
};
use domain::{catalog, disk, owner, vapp};
use model::{Error, Kind, Result, UserId, owner::Owned};
use uuid::Uuid;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/vApp/vapp-{id}/owner", |ask| get(ask, Kind::Vapp))
        .put("/api/vApp/vapp-{id}/owner", |ask| put(ask, Kind::Vapp))
        .get("/api/disk/{id}/owner", |ask| get(ask, Kind::Disk))
        .put("/api/disk/{id}/owner", |ask| put(ask, Kind::Disk))
        .get("/api/catalog/{id}/owner", |ask| get(ask, Kind::Catalog))
        .put("/api/catalog/{id}/owner", |ask| put(ask, Kind::Catalog))
        .get("/api/admin/catalog/{id}/owner", |ask| get(ask, Kind::Catalog))
        .put("/api/admin/catalog/{id}/owner", |ask| put(ask, Kind::Catalog))
}

async fn whose(ask: &Ask, what: Owned) -> Result<(Option<UserId>, String)> {
    Ok(match what {
        Owned::Vapp(id) => vapp::get(ask.d(), &ask.actor, id).await.map(|v| (v.owner, v.owner_name))?,
        Owned::Disk(id) => disk::get(ask.d(), &ask.actor, id).await.map(|k| (k.owner, k.owner_name))?,
        Owned::Catalog(id) => catalog::get(ask.d(), &ask.actor, id).await.map(|c| (c.owner, c.owner_name))?,
    })
}

fn owned(ask: &Ask, kind: Kind) -> Result<Owned> {
    Owned::of(kind, ask.id::<Uuid>(kind)?).ok_or(Error::NotFound(kind))
}

async fn get(ask: Ask, kind: Kind) -> Result<Answer> {
    let (owner, name) = whose(&ask, owned(&ask, kind)?).await?;
    let text = document("Owner", &[("type", &media::OWNER)], |w| owner_user(w, ask.base(), owner, &name));
    Ok(Answer::xml(media::OWNER, text))
}

/// Who has it already keeps it.
async fn put(ask: Ask, kind: Kind) -> Result<Answer> {
    let what = owned(&ask, kind)?;
    let body = ask.xml("Owner")?;
    let user = body.child("User").ok_or_else(|| Error::BadRequest("Owner names nobody: it has no User.".into()))?;
    let now = whose(&ask, what).await?.0;
    if now.is_none() && user.attr("href").is_some_and(|href| href.ends_with(NOBODY)) {
        return Ok(Answer::nothing());
    }
    let to: UserId = referred(user, Kind::User)?;
    if now != Some(to) {
        owner::give(ask.d(), &ask.actor, what, to).await?;
    }
    Ok(Answer::nothing())
}
