//! Records of organizations, their VDCs, storage profiles, users, roles and rights.
use super::page::{About, Page, Small, of_few};
use crate::{
    api::{provider, vdc::allocation_word},
    ask::Ask,
    wire::{
        href::{mixed, right_id, urn},
        media,
        units::mhz,
    },
};
use domain::{org, role, storage, user, vdc};
use model::{Action, Kind, Result, Right, decide::Resource, decide::authorize, query::Numbered};
use std::fmt::Display;

pub(super) async fn orgs(ask: &Ask, q: &Numbered) -> Result<Page> {
    let found = org::query(ask.d(), &ask.actor, ask.context, q).await?;
    let base = ask.base().clone();
    let ids: Vec<_> = found.items.iter().map(|o| (Kind::Org, o.id.0)).collect();
    Ok(Page::new(found.total, ids, move |rows| {
        for o in &found.items {
            let href = base.org(o.id);
            let quota = o.limits.vms.unwrap_or_default();
            let publishes = o.is_provider || o.besides.publishes;
            rows.add(
                &About { href: &href, urn: &o.id.urn(), name: &o.name, kind: media::ORG },
                &[
                    ("displayName", &o.display_name),
                    ("isEnabled", &o.enabled),
                    ("isReadOnly", &o.is_provider),
                    ("canPublishCatalogs", &publishes),
                    ("deployedVMQuota", &quota),
                    ("storedVMQuota", &quota),
                    ("numberOfVdcs", &o.vdcs),
                    ("numberOfCatalogs", &o.catalogs),
                    ("numberOfUsers", &o.users),
                    ("numberOfVMs", &o.used.vms),
                    ("description", &o.description),
                ],
            );
        }
    }))
}

pub(super) async fn vdcs(ask: &Ask, q: &Numbered, admin: bool) -> Result<Page> {
    let found = vdc::query(ask.d(), &ask.actor, ask.context, q).await?;
    let base = ask.base().clone();
    let (pvdc, pvdc_name) = (base.provider_vdc(provider::vdc_id()), provider::NAME);
    let ids: Vec<_> = found.items.iter().map(|v| (Kind::Vdc, v.id.0)).collect();
    Ok(Page::new(found.total, ids, move |rows| {
        for v in &found.items {
            let href = if admin { base.admin_vdc(v.id) } else { base.vdc(v.id) };
            let (org, model) = (base.org(v.org), allocation_word(v.allocation_model));
            let (cpu, cpu_used) = (mhz(v.limits.cpus.unwrap_or_default()), mhz(v.used.cpus));
            let (memory, disk) = (v.limits.memory_mb.unwrap_or_default(), v.limits.storage_mb.unwrap_or_default());
            let mut all: Vec<(&str, &dyn Display)> = vec![
                ("org", &org),
                ("orgName", &v.org_name),
                ("isEnabled", &v.enabled),
                ("isBusy", &false),
                ("status", &"READY"),
                ("allocationModel", &model),
                ("cpuAllocationMhz", &cpu),
                ("cpuLimitMhz", &cpu),
                ("cpuUsedMhz", &cpu_used),
                ("memoryAllocationMB", &memory),
                ("memoryLimitMB", &memory),
                ("memoryUsedMB", &v.used.memory_mb),
                ("storageLimitMB", &disk),
                ("storageUsedMB", &v.used.storage_mb),
                ("numberOfVApps", &v.vapps),
                ("numberOfVMs", &v.used.vms),
                ("description", &v.description),
            ];
            if admin {
                all.extend::<[(&str, &dyn Display); 3]>([
                    ("providerVdc", &pvdc),
                    ("providerVdcName", &pvdc_name),
                    ("networkProviderType", &"NSX_T"),
                ]);
            }
            let kind = if admin { media::ADMIN_VDC } else { media::VDC };
            rows.add(&About { href: &href, urn: &v.id.urn(), name: &v.name, kind }, &all);
        }
    }))
}

pub(super) async fn profiles(ask: &Ask, q: &Numbered, admin: bool) -> Result<Page> {
    let found = storage::query_profiles(ask.d(), &ask.actor, ask.context, q).await?;
    let base = ask.base().clone();
    Ok(Page::new(found.total, [], move |rows| {
        for p in &found.items {
            let id = mixed(p.vdc.0, p.policy.id.0);
            let href = match admin {
                true => base.admin_storage_profile(p.vdc, p.policy.id),
                false => base.storage_profile(p.vdc, p.policy.id),
            };
            let (vdc, org, limit) = (base.vdc(p.vdc), base.org(p.org), p.policy.limit_mb.unwrap_or_default());
            let mut all: Vec<(&str, &dyn Display)> = vec![
                ("vdc", &vdc),
                ("vdcName", &p.vdc_name),
                ("isEnabled", &true),
                ("isDefaultStorageProfile", &p.policy.is_default),
                ("isVdcBusy", &false),
                ("storageUsedMB", &p.policy.used_mb),
                ("storageLimitMB", &limit),
                ("iopsAllocated", &0),
                ("iopsLimit", &0),
                ("numberOfConditions", &0),
            ];
            if admin {
                all.push(("org", &org));
                all.push(("orgName", &p.org_name));
            }
            let urn = urn("vdcstorageProfile", id);
            let kind = media::STORAGE_PROFILE;
            rows.add(&About { href: &href, urn: &urn, name: &p.policy.name, kind }, &all);
        }
    }))
}

pub(super) async fn users(ask: &Ask, q: &Numbered) -> Result<Page> {
    let found = user::query(ask.d(), &ask.actor, ask.context, q).await?;
    let base = ask.base().clone();
    Ok(Page::new(found.total, [], move |rows| {
        for u in &found.items {
            let (href, org) = (base.user(u.id), base.org(u.org));
            let source = if u.local() { "LOCAL" } else { "OAUTH" };
            let quota = u.limits.vms.unwrap_or_default();
            rows.add(
                &About { href: &href, urn: &u.id.urn(), name: &u.name, kind: media::ADMIN_USER },
                &[
                    ("fullName", &u.full_name),
                    ("org", &org),
                    ("orgName", &u.org_name),
                    ("isEnabled", &u.enabled),
                    ("isLdapUser", &false),
                    ("identityProviderType", &source),
                    ("roleNames", &u.role_name),
                    ("numberOfDeployedVMs", &u.used.vms),
                    ("numberOfStoredVMs", &u.used.vms),
                    ("deployedVMQuota", &quota),
                    ("storedVMQuota", &quota),
                ],
            );
        }
    }))
}

pub(super) async fn roles(ask: &Ask, q: &Numbered) -> Result<Page> {
    let found = role::query(ask.d(), &ask.actor, ask.context, q).await?;
    let base = ask.base().clone();
    Ok(Page::new(found.total, [], move |rows| {
        for r in &found.items {
            let (href, org, fixed) =
                (base.role(r.id), r.org.map(|id| base.org(id)).unwrap_or_default(), r.predefined());
            rows.add(
                &About { href: &href, urn: &r.id.urn(), name: &r.name, kind: media::ADMIN_ROLE },
                &[("description", &r.description), ("org", &org), ("orgName", &r.org_name), ("isReadOnly", &fixed)],
            );
        }
    }))
}

/// Those that an organization's roles can have; for the provider all.
pub(super) fn rights(ask: &Ask, q: &Numbered) -> Result<Page> {
    authorize(&ask.actor, Action::RoleList, Resource::Of(ask.actor.org))?;
    let all = Right::ALL.iter().filter(|r| ask.actor.provider || r.for_tenants());
    let small = |right: &Right| {
        let id = right_id(right.name());
        Small {
            href: ask.base().right(id),
            urn: urn("right", id),
            name: right.name().to_owned(),
            kind: media::ADMIN_RIGHT,
            attributes: vec![
                ("category", right.category().to_owned()),
                ("rightType", if right.for_tenants() { "MODIFY" } else { "SYSTEM" }.to_owned()),
            ],
        }
    };
    of_few(all.map(small).collect(), q)
}
