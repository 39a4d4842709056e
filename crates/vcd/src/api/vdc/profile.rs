//! Storage profiles: what a VDC may use of a storage policy.
use crate::{
    answer::Answer,
    api::{provider, task},
    ask::{Ask, referred},
    routes::Routes,
    wire::{
        body::Read,
        doc::{document, link, reference},
        href::{mixed, urn},
        media,
    },
};
use domain::{storage, task::Noted, vdc};
use model::{
    Action, Error, Kind, PolicyId, Result, VdcId,
    query::{Numbered, last_uuid},
    storage::{VdcPolicySpec, VdcProfile},
};
use std::fmt::Display;
use xml::Element;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/vdcStorageProfile/{id}", |ask| get(ask, false))
        .get("/api/admin/vdcStorageProfile/{id}", |ask| get(ask, true))
        .put("/api/admin/vdcStorageProfile/{id}", update)
        .get("/api/vdcStorageProfile/{id}/metadata", |ask| metadata(ask, false))
        .get("/api/admin/vdcStorageProfile/{id}/metadata", |ask| metadata(ask, true))
        .post("/api/admin/vdc/{id}/vdcStorageProfiles", change_all)
}

/// Its id is made of the VDC's and the policy's.
async fn find(ask: &Ask) -> Result<VdcProfile> {
    let id = last_uuid(ask.part("id")).ok_or(Error::NotFound(Kind::StoragePolicy))?;
    let q = Numbered::with("id", id.to_string());
    let found = storage::query_profiles(ask.d(), &ask.actor, None, &q).await?;
    found.items.into_iter().next().ok_or(Error::NotFound(Kind::StoragePolicy))
}

async fn get(ask: Ask, admin: bool) -> Result<Answer> {
    let found = find(&ask).await?;
    Ok(answer(&ask, &found, admin))
}

/// There is none, and Terraform reads it.
async fn metadata(ask: Ask, admin: bool) -> Result<Answer> {
    let (found, base) = (find(&ask).await?, ask.base());
    let href = match admin {
        true => base.admin_storage_profile(found.vdc, found.policy.id),
        false => base.storage_profile(found.vdc, found.policy.id),
    };
    let attributes: [(&str, &dyn Display); 2] = [("href", &format!("{href}/metadata")), ("type", &media::METADATA)];
    let kind = if admin { media::ADMIN_STORAGE_PROFILE } else { media::STORAGE_PROFILE };
    Ok(Answer::xml(media::METADATA, document("Metadata", &attributes, |w| link(w, "up", href, kind))))
}

fn answer(ask: &Ask, p: &VdcProfile, admin: bool) -> Answer {
    let base = ask.base();
    let (root, kind, href) = match admin {
        true => {
            ("AdminVdcStorageProfile", media::ADMIN_STORAGE_PROFILE, base.admin_storage_profile(p.vdc, p.policy.id))
        }
        false => ("VdcStorageProfile", media::STORAGE_PROFILE, base.storage_profile(p.vdc, p.policy.id)),
    };
    let attributes: [(&str, &dyn Display); 4] = [
        ("name", &p.policy.name),
        ("id", &urn("vdcstorageProfile", mixed(p.vdc.0, p.policy.id.0))),
        ("href", &href),
        ("type", &kind),
    ];
    let text = document(root, &attributes, |w| {
        match admin {
            true => link(w, "up", base.admin_vdc(p.vdc), media::ADMIN_VDC),
            false => link(w, "up", base.vdc(p.vdc), media::VDC),
        }
        if admin && ask.actor.may(Action::VdcStorage, model::decide::Resource::Of(p.org)) {
            link(w, "edit", &href, media::ADMIN_STORAGE_PROFILE);
        }
        w.text("Description", &p.policy.description);
        w.text("Enabled", true);
        w.text("Units", "MB");
        w.text("Limit", p.policy.limit_mb.unwrap_or(0));
        w.text("Default", p.policy.is_default);
        w.el("IopsSettings", &[], |w| {
            w.text("Enabled", false);
            for name in ["DiskIopsMax", "DiskIopsDefault", "StorageProfileIopsLimit", "DiskIopsPerGbMax"] {
                w.text(name, 0);
            }
        });
        w.text("StorageUsedMB", p.policy.used_mb);
        w.text("IopsAllocated", 0);
        let (href, id) = (provider::profile_href(base, p.policy.id), urn("providervdcstorageprofile", p.policy.id));
        reference(w, "ProviderVdcStorageProfile", href, id, &p.policy.name, media::PROVIDER_STORAGE_PROFILE);
    });
    Answer::xml(kind, text)
}

/// What a VDC has, in the form in which it is changed.
async fn current(ask: &Ask, vdc: VdcId) -> Result<Vec<VdcPolicySpec>> {
    let all = storage::of_vdc(ask.d(), &ask.actor, vdc).await?;
    Ok(all.iter().map(|p| VdcPolicySpec { id: p.id, limit_mb: p.limit_mb, is_default: p.is_default }).collect())
}

/// One that is the default takes that from the others.
fn put(all: &mut Vec<VdcPolicySpec>, new: VdcPolicySpec) {
    if new.is_default {
        all.iter_mut().for_each(|p| p.is_default = false);
    }
    match all.iter_mut().find(|p| p.id == new.id) {
        Some(old) => *old = new,
        None => all.push(new),
    }
}

/// `Limit` in `Units`; 0 is no limit.
fn limit(e: &Element) -> Result<Option<i64>> {
    let unit = match e.word("Units").unwrap_or("MB").to_ascii_uppercase().as_str() {
        "MB" => 1,
        "GB" => 1024,
        _ => return Err(Error::BadRequest("Storage is counted in MB or GB.".into())),
    };
    Ok(e.number::<i64>("Limit")?.filter(|l| *l > 0).map(|l| l.saturating_mul(unit)))
}

fn enabled(e: &Element) -> Result<()> {
    match e.flag("Enabled")? {
        Some(false) => Err(Error::NotNow(
            "A storage profile can't be disabled. Remove it from the VDC, or set its limit to what is used.".into(),
        )),
        _ => Ok(()),
    }
}

async fn update(ask: Ask) -> Result<Answer> {
    let found = find(&ask).await?;
    let body = ask.xml("AdminVdcStorageProfile")?;
    enabled(&body)?;
    let mut all = current(&ask, found.vdc).await?;
    let default = body.flag("Default")?.unwrap_or(found.policy.is_default) || found.policy.is_default;
    put(&mut all, VdcPolicySpec { id: found.policy.id, limit_mb: limit(&body)?, is_default: default });
    storage::set_for_vdc(ask.d(), &ask.actor, found.vdc, all).await?;
    Ok(answer(&ask, &find(&ask).await?, true))
}

/// What CreateVdcParams and UpdateVdcStorageProfiles say of one.
pub(super) fn wanted(e: &Element) -> Result<VdcPolicySpec> {
    enabled(e)?;
    let of = e.child("ProviderVdcStorageProfile");
    let of = of.ok_or_else(|| Error::BadRequest(format!("{} needs ProviderVdcStorageProfile.", e.name)))?;
    Ok(VdcPolicySpec {
        id: referred::<PolicyId>(of, Kind::StoragePolicy)?,
        limit_mb: limit(e)?,
        is_default: e.on("Default")?,
    })
}

/// Adds some and removes others.
async fn change_all(ask: Ask) -> Result<Answer> {
    let id: VdcId = ask.id(Kind::Vdc)?;
    let body = ask.xml("UpdateVdcStorageProfiles")?;
    let vdc = vdc::get(ask.d(), &ask.actor, id).await?;
    let mut all = current(&ask, id).await?;
    for added in body.all("AddStorageProfile") {
        put(&mut all, wanted(added)?);
    }
    for removed in body.all("RemoveStorageProfile") {
        let gone = removed.id().map(|of| PolicyId(mixed(of, id.0)));
        if !gone.is_some_and(|gone| all.iter().any(|p| p.id == gone)) {
            return Err(Error::NotFound(Kind::StoragePolicy));
        }
        all.retain(|p| Some(p.id) != gone);
    }
    storage::set_for_vdc(ask.d(), &ask.actor, id, all).await?;
    let what = Noted { org: vdc.org, id: id.0, name: vdc.name, owner: None };
    task::accepted_about(&ask, Action::VdcStorage, what).await
}
