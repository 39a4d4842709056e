//! Records of what the provider has: one provider VDC, made of all hubs, its storage policies and its networks.
use super::page::{Page, Small, of_few};
use crate::{
    api::provider::{NAME, capacity, policies, pool_href, pool_id, profile_href, vdc_id},
    ask::Ask,
    wire::{href::urn, media},
};
use model::{
    Action, Result,
    decide::{Resource, authorize},
    query::Numbered,
};

pub(super) async fn vdcs(ask: &Ask, q: &Numbered) -> Result<Page> {
    let has = capacity(ask).await?;
    let attributes = vec![
        ("status", "READY".to_owned()),
        ("isEnabled", true.to_string()),
        ("isBusy", false.to_string()),
        ("isDeleted", false.to_string()),
        ("cpuLimitMhz", has.cpu_mhz.to_string()),
        ("cpuAllocationMhz", has.cpu_used_mhz.to_string()),
        ("cpuUsedMhz", has.cpu_used_mhz.to_string()),
        ("memoryLimitMB", has.memory_mb.to_string()),
        ("memoryAllocationMB", has.memory_used_mb.to_string()),
        ("memoryUsedMB", has.memory_used_mb.to_string()),
        ("numberOfVdcs", has.vdcs.to_string()),
        ("numberOfStorageProfiles", policies(ask).await?.len().to_string()),
    ];
    let one = Small {
        href: ask.base().provider_vdc(vdc_id()),
        urn: urn("providervdc", vdc_id()),
        name: NAME.to_owned(),
        kind: media::PROVIDER_VDC,
        attributes,
    };
    of_few(vec![one], q)
}

pub(super) async fn profiles(ask: &Ask, q: &Numbered) -> Result<Page> {
    let (base, all) = (ask.base(), policies(ask).await?);
    let small = |(id, name): (model::PolicyId, String)| Small {
        href: profile_href(base, id),
        urn: urn("providervdcstorageprofile", id),
        name,
        kind: media::PROVIDER_STORAGE_PROFILE,
        attributes: vec![
            ("providerVdc", base.provider_vdc(vdc_id())),
            ("providerVdcName", NAME.to_owned()),
            ("isEnabled", true.to_string()),
            ("numberOfConditions", 0.to_string()),
        ],
    };
    of_few(all.into_iter().map(small).collect(), q)
}

pub(super) fn pools(ask: &Ask, q: &Numbered) -> Result<Page> {
    authorize(&ask.actor, Action::HubList, Resource::Installation)?;
    let one = Small {
        href: pool_href(ask.base()),
        urn: urn("networkpool", pool_id()),
        name: NAME.to_owned(),
        kind: media::NETWORK_POOL,
        attributes: vec![("networkPoolType", 4.to_string()), ("isBusy", false.to_string())],
    };
    of_few(vec![one], q)
}
