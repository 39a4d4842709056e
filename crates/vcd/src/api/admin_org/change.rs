//! Organizations are made, changed, enabled, disabled and deleted.
use super::{
    answer,
    settings::{self, Wanted},
};
use crate::{
    answer::Answer,
    api::{catalog::own_items, task, vdc},
    ask::Ask,
    routes::Routes,
    wire::body::Read,
};
use domain::{catalog, org, task::Noted};
use model::{
    Action, Error, Kind, OrgId, Result,
    decide::{Resource, authorize},
    org::{NewOrg, Org, OrgBesides, OrgSpec},
};
use std::time::Instant;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .post("/api/admin/orgs", create)
        .put("/api/admin/org/{id}", edit)
        .delete("/api/admin/org/{id}", delete)
        .post("/api/admin/org/{id}/action/enable", |ask| set_enabled(ask, true))
        .post("/api/admin/org/{id}/action/disable", |ask| set_enabled(ask, false))
}

async fn create(ask: Ask) -> Result<Answer> {
    let body = ask.xml("AdminOrg")?;
    let spec = OrgSpec {
        name: body.need("name")?.to_owned(),
        display_name: body.word("FullName").unwrap_or_default().to_owned(),
        description: body.word("Description").unwrap_or_default().to_owned(),
        ..OrgSpec::default()
    };
    let mut wanted = Wanted { spec, besides: OrgBesides::default() };
    settings::read_all(&body, &mut wanted)?;
    // what is false is left out
    let enabled = body.on("IsEnabled")?;
    let made = org::create(ask.d(), &ask.actor, NewOrg { spec: wanted.spec, admin: None }).await?;
    if wanted.besides != OrgBesides::default() {
        org::keep(ask.d(), &ask.actor, made.id, wanted.besides).await?;
    }
    if !enabled {
        org::set_enabled(ask.d(), &ask.actor, made.id, false).await?;
    }
    Ok(answer(&ask, made.id).await?.created(ask.base().admin_org(made.id)))
}

async fn edit(ask: Ask) -> Result<Answer> {
    let id: OrgId = ask.id(Kind::Org)?;
    let body = ask.xml("AdminOrg")?;
    let now = org::get(ask.d(), &ask.actor, id).await?;
    let text = |name| body.child(name).map(|e| e.text.trim().to_owned());
    let mut wanted = Wanted::of(&now);
    if let Some(name) = body.attr("name") {
        name.clone_into(&mut wanted.spec.name);
    }
    if let Some(full) = text("FullName") {
        wanted.spec.display_name = full;
    }
    if let Some(description) = text("Description") {
        wanted.spec.description = description;
    }
    settings::read_all(&body, &mut wanted)?;
    let enabled = match body.flag("IsEnabled")? {
        Some(enabled) => enabled,
        // what is false is left out; the provider's own is never disabled
        None => now.is_provider,
    };
    settings::change(&ask, &now, wanted).await?;
    if enabled != now.enabled {
        org::set_enabled(ask.d(), &ask.actor, id, enabled).await?;
    }
    answer(&ask, id).await
}

/// What is so already is so.
async fn set_enabled(ask: Ask, enabled: bool) -> Result<Answer> {
    let id: OrgId = ask.id(Kind::Org)?;
    let now = org::get(ask.d(), &ask.actor, id).await?;
    let action = if enabled { Action::OrgEnable } else { Action::OrgDisable };
    authorize(&ask.actor, action, Resource::Of(id))?;
    if now.enabled != enabled {
        org::set_enabled(ask.d(), &ask.actor, id, enabled).await?;
    }
    Ok(Answer::nothing())
}

/// With `recursive=true` its VDCs and catalogs go first; with `force=true` even what runs, and it need not be disabled.
async fn delete(ask: Ask) -> Result<Answer> {
    let id: OrgId = ask.id(Kind::Org)?;
    let (force, recursive) = (ask.params().flag("force"), ask.params().flag("recursive"));
    let found = org::get(ask.d(), &ask.actor, id).await?;
    authorize(&ask.actor, Action::OrgDelete, Resource::Of(id))?;
    if recursive && !found.is_provider {
        can_be_emptied(&ask, &found).await?;
    }
    if force && found.enabled && !found.is_provider {
        org::set_enabled(ask.d(), &ask.actor, id, false).await?;
    }
    if recursive && !found.is_provider && (force || !found.enabled) {
        empty(&ask, &found, force).await?;
    }
    org::delete(ask.d(), &ask.actor, id).await?;
    let what = Noted { org: id, id: id.0, name: found.name, owner: None };
    task::accepted_about(&ask, Action::OrgDelete, what).await
}

async fn empty(ask: &Ask, org: &Org, force: bool) -> Result<()> {
    let (d, actor) = (ask.d(), &ask.actor);
    let names = org::names(d, actor, org).await?;
    let until = Instant::now() + vdc::PATIENCE;
    for (id, _) in &names.vdcs {
        let one = domain::vdc::get(d, actor, *id).await?;
        vdc::empty(ask, &one, force, until).await?;
        domain::vdc::delete(d, actor, *id).await?;
    }
    for (id, _) in &names.catalogs {
        let items = own_items(ask, &catalog::get(d, actor, *id).await?).await?;
        catalog::delete_with(d, actor, *id, items).await?;
    }
    Ok(())
}

/// What would be refused in the end is refused before anything is gone.
async fn can_be_emptied(ask: &Ask, org: &Org) -> Result<()> {
    let names = org::names(ask.d(), &ask.actor, org).await?;
    let mut needed = Vec::new();
    if !names.vdcs.is_empty() {
        needed.push(Action::VdcDelete);
    }
    if !names.catalogs.is_empty() {
        needed.extend([Action::CatalogDelete, Action::TemplateDelete]);
    }
    needed.into_iter().try_for_each(|action| authorize(&ask.actor, action, Resource::Of(org.id)))?;
    let lent = catalog::discs_elsewhere(ask.d(), &ask.actor, org.id).await?;
    match lent.is_empty() {
        true => Ok(()),
        false => Err(Error::NotNow(format!(
            "Not now: {} of {} is in a VM of another organization. Eject it there first.",
            lent.join(", "),
            org.name
        ))),
    }
}
