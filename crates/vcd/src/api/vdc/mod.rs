//! VDCs, as their users and as administrators see them.
mod change;
mod hardware;
mod profile;

pub(crate) use change::{PATIENCE, empty};

use crate::{
    answer::Answer,
    ask::{Ask, shown},
    routes::Routes,
    wire::{
        body::Read,
        doc::{action, document, link, reference},
        href::{mixed, no_sizing, urn},
        media,
        units::{HARDWARE_VERSIONS, MHZ_PER_CPU, mhz},
    },
};
use domain::{sizing, storage, vdc};
use model::{
    Action, Error, Kind, Result, VdcId,
    decide::{Resource, authorize},
    sizing::VdcSizing,
    storage::VdcPolicy,
    task::Task,
    vdc::{AllocationModel, Vdc, VdcContents},
};
use std::fmt::Display;
use xml::Writer;

pub(crate) fn routes(routes: Routes) -> Routes {
    let routes = routes
        .get("/api/vdc/{id}", get)
        .get("/api/admin/vdc/{id}", get_admin)
        .get("/api/vdc/{id}/controlAccess", access)
        .put("/api/vdc/{id}/action/controlAccess", set_access)
        .post("/api/vdc/{id}/action/controlAccess", set_access)
        .get("/api/admin/vdc/{id}/edgeGateways", edges);
    profile::routes(hardware::routes(change::routes(routes)))
}

/// VCD's word for it.
pub(crate) fn allocation_word(model: AllocationModel) -> &'static str {
    match model {
        AllocationModel::PayAsYouGo => "AllocationVApp",
        AllocationModel::AllocationPool => "AllocationPool",
        AllocationModel::ReservationPool => "ReservationPool",
    }
}

async fn get(ask: Ask) -> Result<Answer> {
    let whole = Whole::read(&ask, ask.id(Kind::Vdc)?).await?;
    Ok(Answer::xml(media::VDC, whole.document(&ask, false, &[])))
}

async fn get_admin(ask: Ask) -> Result<Answer> {
    let whole = Whole::read(&ask, ask.id(Kind::Vdc)?).await?;
    Ok(Answer::xml(media::ADMIN_VDC, whole.document(&ask, true, &[])))
}

/// A VDC with all that its document shows.
struct Whole {
    vdc: Vdc,
    has: VdcContents,
    policies: Vec<VdcPolicy>,
    sizes: Vec<VdcSizing>,
}

impl Whole {
    async fn read(ask: &Ask, id: VdcId) -> Result<Whole> {
        let vdc = vdc::get(ask.d(), &ask.actor, id).await?;
        let has = vdc::contents(ask.d(), &ask.actor, &vdc).await?;
        let policies = storage::of_vdc(ask.d(), &ask.actor, id).await?;
        let sizes = sizing::choices(ask.d(), &[id]).await?;
        Ok(Whole { vdc, has, policies, sizes })
    }

    /// `tasks`: those that have just been begun.
    fn document(&self, ask: &Ask, admin: bool, tasks: &[Task]) -> String {
        let (base, vdc) = (ask.base(), &self.vdc);
        let href = if admin { base.admin_vdc(vdc.id) } else { base.vdc(vdc.id) };
        let (root, kind) = if admin { ("AdminVdc", media::ADMIN_VDC) } else { ("Vdc", media::VDC) };
        let attributes: [(&str, &dyn Display); 5] =
            [("status", &1), ("name", &vdc.name), ("id", &vdc.id.urn()), ("href", &href), ("type", &kind)];
        document(root, &attributes, |w| {
            self.links(w, ask, admin);
            w.text("Description", &vdc.description);
            super::task::tasks(w, base, &ask.actor, tasks);
            w.text("AllocationModel", if vdc.besides.flex { "Flex" } else { allocation_word(vdc.allocation_model) });
            self.capacity(w);
            self.entities(w, ask);
            w.el("AvailableNetworks", &[], |w| {
                for (id, name) in &self.has.networks {
                    reference(w, "Network", base.network(*id), id.urn(), name, media::NETWORK);
                }
            });
            w.el("Capabilities", &[], |w| {
                w.el("SupportedHardwareVersions", &[], |w| {
                    for name in HARDWARE_VERSIONS {
                        let href = format!("{}/hwv/{name}", base.vdc(vdc.id));
                        w.text_with("SupportedHardwareVersion", &[("name", &name), ("href", &href)], name);
                    }
                });
            });
            w.text("NicQuota", vdc.besides.nic_quota);
            w.text("NetworkQuota", vdc.besides.network_quota);
            w.text("UsedNetworkCount", vdc.networks);
            w.text("VmQuota", vdc.limits.vms.unwrap_or(0));
            w.text("IsEnabled", vdc.enabled);
            w.el("VdcStorageProfiles", &[], |w| {
                for policy in &self.policies {
                    let href = match admin {
                        true => base.admin_storage_profile(vdc.id, policy.id),
                        false => base.storage_profile(vdc.id, policy.id),
                    };
                    let id = urn("vdcstorageProfile", mixed(vdc.id.0, policy.id.0));
                    let kind = if admin { media::ADMIN_STORAGE_PROFILE } else { media::STORAGE_PROFILE };
                    reference(w, "VdcStorageProfile", href, id, &policy.name, kind);
                }
            });
            self.default_size(w, ask);
            if admin {
                self.admin(w, ask);
            }
        })
    }

    fn links(&self, w: &mut Writer, ask: &Ask, admin: bool) {
        let (base, vdc, actor) = (ask.base(), &self.vdc, &ask.actor);
        let (href, admin_href) = (base.vdc(vdc.id), base.admin_vdc(vdc.id));
        let may = |action| actor.may(action, Resource::Of(vdc.org));
        let own = |action| vdc.enabled && actor.may(action, Resource::Owned(vdc.org, actor.user));
        match admin {
            true => link(w, "up", base.admin_org(vdc.org), media::ADMIN_ORG),
            false => link(w, "up", base.org(vdc.org), media::ORG),
        }
        link(w, "down", format_args!("{href}/metadata"), media::METADATA);
        link(w, "down", format_args!("{href}/controlAccess/"), media::CONTROL_ACCESS);
        link(w, "controlAccess", format_args!("{href}/action/controlAccess"), media::CONTROL_ACCESS);
        if own(Action::VappCreate) {
            for (path, kind) in [
                ("instantiateVAppTemplate", media::INSTANTIATE_PARAMS),
                ("composeVApp", media::COMPOSE_PARAMS),
                ("createVm", media::CREATE_VM_PARAMS),
                ("instantiateVmFromTemplate", media::INSTANTIATE_VM_PARAMS),
            ] {
                link(w, "add", format_args!("{href}/action/{path}"), kind);
            }
        }
        if own(Action::VappCopy) {
            link(w, "add", format_args!("{href}/action/cloneVApp"), media::CLONE_PARAMS);
        }
        if own(Action::DiskCreate) {
            link(w, "add", format_args!("{href}/disk"), media::DISK_CREATE_PARAMS);
        }
        if may(Action::NetworkCreate) {
            link(w, "add", format_args!("{admin_href}/networks"), media::ORG_VDC_NETWORK);
        }
        link(w, "down", format_args!("{href}/vmAffinityRules"), media::AFFINITY_RULES);
        if may(Action::AffinityCreate) {
            link(w, "add", format_args!("{href}/vmAffinityRules"), media::AFFINITY_RULE);
        }
        link(w, "edgeGateways", format_args!("{admin_href}/edgeGateways"), media::QUERY_RECORDS);
        if may(Action::VdcDelete) {
            action(w, "remove", &admin_href);
        }
        if admin {
            link(w, "alternate", &href, media::VDC);
            if may(Action::VdcEdit) {
                link(w, "edit", &admin_href, media::ADMIN_VDC);
            }
            match vdc.enabled {
                true if may(Action::VdcDisable) => action(w, "disable", format_args!("{admin_href}/action/disable")),
                false if may(Action::VdcEnable) => action(w, "enable", format_args!("{admin_href}/action/enable")),
                _ => {}
            }
        } else if actor.provider || may(Action::VdcEdit) {
            link(w, "alternate", &admin_href, media::ADMIN_VDC);
        }
    }

    /// Of a limit, what is set aside depends on the model; nothing is where nothing is set aside.
    fn capacity(&self, w: &mut Writer) {
        let vdc = &self.vdc;
        let amount = |w: &mut Writer, name: &str, units: &str, limit: i64, used: i64| {
            let (allocated, reserved) = match vdc.allocation_model {
                AllocationModel::PayAsYouGo => (0, 0),
                AllocationModel::AllocationPool => (limit, limit / 2),
                AllocationModel::ReservationPool => (limit, limit),
            };
            w.el(name, &[], |w| {
                w.text("Units", units);
                w.text("Allocated", allocated);
                w.text("Limit", limit);
                w.text("Reserved", reserved);
                w.text("Used", used);
            });
        };
        w.el("ComputeCapacity", &[], |w| {
            amount(w, "Cpu", "MHz", mhz(vdc.limits.cpus.unwrap_or(0)), mhz(vdc.used.cpus));
            amount(w, "Memory", "MB", vdc.limits.memory_mb.unwrap_or(0), vdc.used.memory_mb);
        });
    }

    /// How clients find what is in a VDC.
    fn entities(&self, w: &mut Writer, ask: &Ask) {
        let (base, has) = (ask.base(), &self.has);
        w.el("ResourceEntities", &[], |w| {
            for (id, name) in &has.vapps {
                reference(w, "ResourceEntity", base.vapp(*id), id.urn(), name, media::VAPP);
            }
            for (id, name) in &has.templates {
                let urn = urn("vapptemplate", id);
                reference(w, "ResourceEntity", base.template(*id), urn, name, media::VAPP_TEMPLATE);
            }
            for (id, name) in &has.media {
                reference(w, "ResourceEntity", base.media(*id), urn("media", id), name, media::MEDIA);
            }
            for (id, name) in &has.disks {
                reference(w, "ResourceEntity", base.disk(*id), id.urn(), name, media::DISK);
            }
        });
    }

    /// The size that machines have where nobody chooses another; without one any size is right, which has a name there.
    fn default_size(&self, w: &mut Writer, ask: &Ask) {
        let chosen = self.sizes.iter().find(|s| s.is_default);
        let (id, name) = chosen.map_or((no_sizing(), "System Default"), |s| (s.id.0, s.name.as_str()));
        let urn = urn("vdcComputePolicy", id);
        let href = ask.base().cloudapi(format_args!("1.0.0/vdcComputePolicies/{urn}"));
        reference(w, "DefaultComputePolicy", href, urn, name, "application/json");
    }

    fn admin(&self, w: &mut Writer, ask: &Ask) {
        use super::provider;
        let (base, kept) = (ask.base(), &self.vdc.besides);
        let share = match self.vdc.allocation_model {
            AllocationModel::PayAsYouGo => 0,
            AllocationModel::AllocationPool => 500,
            AllocationModel::ReservationPool => 1000,
        };
        let share = |kept: Option<i32>| f64::from(kept.unwrap_or(share)) / 1000.0;
        w.text("ResourceGuaranteedMemory", format_args!("{:?}", share(kept.memory_share)));
        w.text("ResourceGuaranteedCpu", format_args!("{:?}", share(kept.cpu_share)));
        w.text("VCpuInMhz", kept.cpu_mhz.unwrap_or(MHZ_PER_CPU));
        w.text("VCpuInMhz2", kept.cpu_mhz.unwrap_or(MHZ_PER_CPU));
        w.text("IsThinProvision", kept.thin);
        if kept.pool {
            let (href, id) = (provider::pool_href(base), urn("networkpool", provider::pool_id()));
            reference(w, "NetworkPoolReference", href, id, provider::NAME, media::NETWORK_POOL);
        }
        let (href, id) = (base.provider_vdc(provider::vdc_id()), urn("providervdc", provider::vdc_id()));
        reference(w, "ProviderVdcReference", href, id, provider::NAME, media::PROVIDER_VDC);
        w.text("UsesFastProvisioning", kept.fast);
        w.text("OverCommitAllowed", true);
        w.text("VmDiscoveryEnabled", kept.discovers_vms);
        w.text("IsElastic", kept.elastic);
        w.text("IncludeMemoryOverhead", kept.memory_overhead);
    }
}

/// Whoever sees an organization's VDCs may use them.
async fn access(ask: Ask) -> Result<Answer> {
    vdc::get(ask.d(), &ask.actor, ask.id(Kind::Vdc)?).await?;
    let text = document("ControlAccessParams", &[("type", &media::CONTROL_ACCESS)], |w| {
        w.text("IsSharedToEveryone", true);
        w.text("EveryoneAccessLevel", "ReadOnly");
    });
    Ok(Answer::xml(media::CONTROL_ACCESS, text))
}

/// What is already so can be said again.
async fn set_access(ask: Ask) -> Result<Answer> {
    let vdc = vdc::get(ask.d(), &ask.actor, ask.id(Kind::Vdc)?).await?;
    authorize(&ask.actor, Action::VdcEdit, Resource::Of(vdc.org))?;
    let body = ask.xml("ControlAccessParams")?;
    let settings = body.child("AccessSettings").is_some_and(|s| s.child("AccessSetting").is_some());
    if settings || !body.on("IsSharedToEveryone")? {
        return Err(Error::NotNow(format!(
            "Everybody of {} who may see VDCs may use {}. Take the right to see VDCs from a role instead.",
            vdc.org_name, vdc.name
        )));
    }
    if let Some(level) = body.word("EveryoneAccessLevel").filter(|l| *l != "ReadOnly") {
        return Err(Error::BadRequest(format!("A VDC is shared ReadOnly, and not {}.", shown(level))));
    }
    access(ask).await
}

/// Networks here are isolated, so there is no gateway.
async fn edges(ask: Ask) -> Result<Answer> {
    let vdc = vdc::get(ask.d(), &ask.actor, ask.id(Kind::Vdc)?).await?;
    let href = format!("{}/edgeGateways", ask.base().admin_vdc(vdc.id));
    let attributes: [(&str, &dyn Display); 6] = [
        ("total", &0),
        ("page", &1),
        ("pageSize", &25),
        ("name", &"edgeGateway"),
        ("type", &media::QUERY_RECORDS),
        ("href", &href),
    ];
    Ok(Answer::xml(media::QUERY_RECORDS, document("QueryResultRecords", &attributes, |_| {})))
}
