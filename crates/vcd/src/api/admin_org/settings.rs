//! Settings of an organization: limits and leases, which are ours, and what is kept for clients that set it.
use crate::{
    answer::Answer,
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{document, link},
        media,
    },
};
use domain::org;
use model::{
    Action, Error, Kind, OrgId, Result,
    decide::Resource,
    lease::{KeepEnd, RunEnd},
    org::{Leases, Org, OrgBesides, OrgSpec},
};
use std::fmt::Display;
use xml::{Element, Writer};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/admin/org/{id}/settings", all)
        .get("/api/admin/org/{id}/settings/general", |ask| get(ask, &GENERAL))
        .put("/api/admin/org/{id}/settings/general", |ask| set(ask, &GENERAL))
        .get("/api/admin/org/{id}/settings/vAppLeaseSettings", |ask| get(ask, &VAPP_LEASE))
        .put("/api/admin/org/{id}/settings/vAppLeaseSettings", |ask| set(ask, &VAPP_LEASE))
        .get("/api/admin/org/{id}/settings/vAppTemplateLeaseSettings", |ask| get(ask, &TEMPLATE_LEASE))
        .put("/api/admin/org/{id}/settings/vAppTemplateLeaseSettings", |ask| set(ask, &TEMPLATE_LEASE))
        .get("/api/admin/org/{id}/settings/ldap", |ask| get(ask, &LDAP))
        .put("/api/admin/org/{id}/settings/ldap", |ask| set(ask, &LDAP))
        .get("/api/admin/org/{id}/settings/passwordPolicy", |ask| get(ask, &PASSWORDS))
}

/// A part of the settings, with an address of its own.
struct Part {
    name: &'static str,
    path: &'static str,
    media: &'static str,
    write: fn(&mut Writer, &Org),
    /// Puts what a body says into what can be set.
    read: fn(&Element, &mut Wanted) -> Result<()>,
}

/// What an organization is to be.
pub(super) struct Wanted {
    pub(super) spec: OrgSpec,
    pub(super) besides: OrgBesides,
}

impl Wanted {
    pub(super) fn of(org: &Org) -> Wanted {
        Wanted { spec: OrgSpec::from(org), besides: besides(org) }
    }
}

const GENERAL: Part =
    Part { name: "OrgGeneralSettings", path: "general", media: media::ORG_GENERAL, write: general, read: read_general };
const VAPP_LEASE: Part = Part {
    name: "VAppLeaseSettings",
    path: "vAppLeaseSettings",
    media: media::ORG_VAPP_LEASE,
    write: vapp_lease,
    read: read_vapp_lease,
};
const TEMPLATE_LEASE: Part = Part {
    name: "VAppTemplateLeaseSettings",
    path: "vAppTemplateLeaseSettings",
    media: media::ORG_TEMPLATE_LEASE,
    write: template_lease,
    read: read_template_lease,
};
const LDAP: Part = Part { name: "OrgLdapSettings", path: "ldap", media: media::ORG_LDAP, write: ldap, read: read_ldap };
const PASSWORDS: Part = Part {
    name: "OrgPasswordPolicySettings",
    path: "passwordPolicy",
    media: media::ORG_PASSWORDS,
    write: passwords,
    read: read_passwords,
};
const PARTS: [&Part; 5] = [&GENERAL, &VAPP_LEASE, &TEMPLATE_LEASE, &LDAP, &PASSWORDS];

/// `<Settings>` within an organization.
pub(super) fn settings(w: &mut Writer, ask: &Ask, org: &Org) {
    let href = format!("{}/settings", ask.base().admin_org(org.id));
    w.el("Settings", &[("href", &href), ("type", &media::ADMIN_ORG_SETTINGS)], |w| parts(w, ask, org, &href));
}

fn parts(w: &mut Writer, ask: &Ask, org: &Org, href: &str) {
    for part in PARTS {
        let own = format!("{href}/{}", part.path);
        w.el(part.name, &[("href", &own), ("type", &part.media)], |w| {
            edit_link(w, ask, org, part, &own);
            (part.write)(w, org);
        });
    }
}

fn edit_link(w: &mut Writer, ask: &Ask, org: &Org, part: &Part, href: &str) {
    let changes = matches!(part.path, "general" | "vAppLeaseSettings" | "vAppTemplateLeaseSettings");
    if changes && ask.actor.may(Action::OrgEdit, Resource::Of(org.id)) {
        link(w, "edit", href, part.media);
    }
}

async fn all(ask: Ask) -> Result<Answer> {
    let org = org::get(ask.d(), &ask.actor, ask.id(Kind::Org)?).await?;
    let href = format!("{}/settings", ask.base().admin_org(org.id));
    let attributes: [(&str, &dyn Display); 2] = [("href", &href), ("type", &media::ADMIN_ORG_SETTINGS)];
    let text = document("OrgSettings", &attributes, |w| parts(w, &ask, &org, &href));
    Ok(Answer::xml(media::ADMIN_ORG_SETTINGS, text))
}

async fn get(ask: Ask, part: &'static Part) -> Result<Answer> {
    let org = org::get(ask.d(), &ask.actor, ask.id(Kind::Org)?).await?;
    Ok(answer(&ask, &org, part))
}

fn answer(ask: &Ask, org: &Org, part: &'static Part) -> Answer {
    let href = format!("{}/settings/{}", ask.base().admin_org(org.id), part.path);
    let text = document(part.name, &[("href", &href), ("type", &part.media)], |w| {
        edit_link(w, ask, org, part, &href);
        (part.write)(w, org);
    });
    Answer::xml(part.media, text)
}

async fn set(ask: Ask, part: &'static Part) -> Result<Answer> {
    let id: OrgId = ask.id(Kind::Org)?;
    let body = ask.xml(part.name)?;
    let now = org::get(ask.d(), &ask.actor, id).await?;
    let mut wanted = Wanted::of(&now);
    (part.read)(&body, &mut wanted)?;
    let org = change(&ask, &now, wanted).await?;
    Ok(answer(&ask, &org, part))
}

/// Writes what differs.
pub(super) async fn change(ask: &Ask, now: &Org, wanted: Wanted) -> Result<Org> {
    if wanted.spec != OrgSpec::from(now) {
        org::edit(ask.d(), &ask.actor, now.id, now.version, wanted.spec).await?;
    }
    if wanted.besides != besides(now) {
        org::keep(ask.d(), &ask.actor, now.id, wanted.besides).await?;
    }
    org::get(ask.d(), &ask.actor, now.id).await
}

/// What AdminOrg says of its settings; what it leaves out stays.
pub(super) fn read_all(body: &Element, wanted: &mut Wanted) -> Result<()> {
    let Some(settings) = body.child("Settings") else { return Ok(()) };
    for part in PARTS {
        if let Some(e) = settings.child(part.name) {
            (part.read)(e, wanted)?;
        }
    }
    Ok(())
}

/// As they were given, unless the limit was changed elsewhere since.
fn besides(org: &Org) -> OrgBesides {
    match org.besides.vm_limit() == org.limits.vms {
        true => org.besides,
        false => OrgBesides { deployed_vms: 0, stored_vms: org.limits.vms.unwrap_or(0), ..org.besides },
    }
}

fn general(w: &mut Writer, org: &Org) {
    let kept = besides(org);
    w.text("CanPublishCatalogs", kept.publishes || org.is_provider);
    w.text("CanPublishExternally", kept.publishes_outside);
    w.text("CanSubscribe", kept.subscribes);
    w.text("DeployedVMQuota", kept.deployed_vms);
    w.text("StoredVmQuota", kept.stored_vms);
    w.text("UseServerBootSequence", kept.boot_sequence);
    w.text("DelayAfterPowerOnSeconds", kept.boot_delay_s);
}

fn read_general(e: &Element, wanted: &mut Wanted) -> Result<()> {
    let quota = |name| -> Result<i64> { Ok(e.number::<i64>(name)?.unwrap_or(0).max(0)) };
    // what is false is left out
    wanted.besides = OrgBesides {
        publishes: e.on("CanPublishCatalogs")?,
        publishes_outside: e.on("CanPublishExternally")?,
        subscribes: e.on("CanSubscribe")?,
        boot_sequence: e.on("UseServerBootSequence")?,
        boot_delay_s: e.number("DelayAfterPowerOnSeconds")?.unwrap_or(0),
        deployed_vms: quota("DeployedVMQuota")?,
        stored_vms: quota("StoredVmQuota")?,
        ..wanted.besides
    };
    wanted.spec.limits.vms = wanted.besides.vm_limit();
    Ok(())
}

fn vapp_lease(w: &mut Writer, org: &Org) {
    let leases = &org.leases;
    w.text("DeleteOnStorageLeaseExpiration", leases.storage_end == KeepEnd::Delete);
    w.text("DeploymentLeaseSeconds", leases.runtime_s.unwrap_or(0));
    w.text("StorageLeaseSeconds", leases.storage_s.unwrap_or(0));
    w.text("PowerOffOnRuntimeLeaseExpiration", leases.runtime_end == RunEnd::PowerOff);
}

/// 0 is for ever.
fn seconds(e: &Element, name: &str, now: Option<i64>) -> Result<Option<i64>> {
    Ok(match e.number::<i64>(name)? {
        Some(seconds) => Some(seconds).filter(|s| *s > 0),
        None => now,
    })
}

fn keep_end(e: &Element) -> Result<KeepEnd> {
    Ok(if e.on("DeleteOnStorageLeaseExpiration")? { KeepEnd::Delete } else { KeepEnd::Mark })
}

fn read_vapp_lease(e: &Element, wanted: &mut Wanted) -> Result<()> {
    let now = wanted.spec.leases;
    let power_off = e.on("PowerOffOnRuntimeLeaseExpiration")?;
    wanted.spec.leases = Leases {
        runtime_s: seconds(e, "DeploymentLeaseSeconds", now.runtime_s)?,
        runtime_end: if power_off { RunEnd::PowerOff } else { RunEnd::Suspend },
        storage_s: seconds(e, "StorageLeaseSeconds", now.storage_s)?,
        storage_end: keep_end(e)?,
        ..now
    };
    Ok(())
}

fn template_lease(w: &mut Writer, org: &Org) {
    w.text("DeleteOnStorageLeaseExpiration", org.leases.template_end == KeepEnd::Delete);
    w.text("StorageLeaseSeconds", org.leases.template_s.unwrap_or(0));
}

fn read_template_lease(e: &Element, wanted: &mut Wanted) -> Result<()> {
    let now = wanted.spec.leases;
    let template_s = seconds(e, "StorageLeaseSeconds", now.template_s)?;
    wanted.spec.leases = Leases { template_s, template_end: keep_end(e)?, ..now };
    Ok(())
}

/// Users come from here or from an identity provider with OpenID Connect.
fn ldap(w: &mut Writer, _: &Org) {
    w.text("OrgLdapMode", "NONE");
}

fn read_ldap(e: &Element, _: &mut Wanted) -> Result<()> {
    match e.word("OrgLdapMode").unwrap_or("NONE") {
        "NONE" => Ok(()),
        _ => Err(Error::NotNow("There is no LDAP here. Use an identity provider with OpenID Connect.".into())),
    }
}

/// Its numbers are kept; they count for nothing while it is off.
fn read_passwords(e: &Element, wanted: &mut Wanted) -> Result<()> {
    if e.on("AccountLockoutEnabled")? {
        let why =
            "Nobody is locked out here: who fails to sign in waits longer each time. Leave AccountLockoutEnabled off.";
        return Err(Error::NotNow(why.into()));
    }
    wanted.besides.lockout_tries = e.number("InvalidLoginsBeforeLockout")?.unwrap_or(0);
    wanted.besides.lockout_minutes = e.number("AccountLockoutIntervalMinutes")?.unwrap_or(0);
    Ok(())
}

/// Who fails to sign in is slowed down; nobody is locked out.
fn passwords(w: &mut Writer, org: &Org) {
    w.text("AccountLockoutEnabled", false);
    w.text("InvalidLoginsBeforeLockout", org.besides.lockout_tries);
    w.text("AccountLockoutIntervalMinutes", org.besides.lockout_minutes);
}
