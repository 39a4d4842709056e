//! The rights that roles of an organization can have: all that are for tenants, in every organization.
use crate::{
    answer::Answer,
    ask::Ask,
    routes::Routes,
    wire::{
        doc::{document, link, reference},
        href::{right_id, urn},
        media,
    },
};
use domain::org;
use model::{
    Action, Error, Kind, Result, Right, Rights,
    decide::{Resource, authorize},
    org::Org,
};
use xml::Writer;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/admin/org/{id}/rights", get)
        .post("/api/admin/org/{id}/rights", add)
        .put("/api/admin/org/{id}/rights", set)
}

fn possible(org: &Org) -> Rights {
    if org.is_provider { Rights::all() } else { Rights::tenant() }
}

/// `<RightReferences>` within an organization.
pub(super) fn references(w: &mut Writer, ask: &Ask, org: &Org) {
    let href = format!("{}/rights", ask.base().admin_org(org.id));
    w.el("RightReferences", &[("href", &href), ("type", &media::ORG_RIGHTS)], |w| content(w, ask, org, &href));
}

fn content(w: &mut Writer, ask: &Ask, org: &Org, href: &str) {
    if ask.actor.may(Action::OrgEditLimits, Resource::Of(org.id)) {
        link(w, "add", href, media::ORG_RIGHTS);
        link(w, "edit", href, media::ORG_RIGHTS);
    }
    for right in possible(org).iter() {
        let id = right_id(right.name());
        reference(w, "RightReference", ask.base().right(id), urn("right", id), right.name(), media::ADMIN_RIGHT);
    }
}

async fn get(ask: Ask) -> Result<Answer> {
    let org = org::get(ask.d(), &ask.actor, ask.id(Kind::Org)?).await?;
    Ok(answer(&ask, &org))
}

fn answer(ask: &Ask, org: &Org) -> Answer {
    let href = format!("{}/rights", ask.base().admin_org(org.id));
    let text = document("OrgRights", &[("href", &href), ("type", &media::ORG_RIGHTS)], |w| content(w, ask, org, &href));
    Answer::xml(media::ORG_RIGHTS, text)
}

/// What a body names, all of it possible.
async fn named(ask: &Ask) -> Result<(Org, Rights)> {
    let body = ask.xml("OrgRights")?;
    let org = org::get(ask.d(), &ask.actor, ask.id(Kind::Org)?).await?;
    authorize(&ask.actor, Action::OrgEditLimits, Resource::Of(org.id))?;
    let rights = body.all("RightReference").map(crate::api::role::one_right).collect::<Result<Vec<Right>>>()?;
    let named: Rights = rights.into_iter().collect();
    match named.without(possible(&org)).iter().next() {
        Some(right) => Err(Error::NotNow(format!("“{}” is the provider's: no tenant can have it.", right.name()))),
        None => Ok((org, named)),
    }
}

/// They are there already.
async fn add(ask: Ask) -> Result<Answer> {
    let (org, _) = named(&ask).await?;
    Ok(answer(&ask, &org))
}

async fn set(ask: Ask) -> Result<Answer> {
    let (org, rights) = named(&ask).await?;
    match possible(&org).without(rights).iter().next() {
        Some(missing) => Err(Error::NotNow(format!(
            "“{}” can't be taken from {}: every organization has all rights that are for tenants. Take it from roles instead.",
            missing.name(),
            org.name
        ))),
        None => Ok(answer(&ask, &org)),
    }
}
