//! Virtual data centers: a share of the installation that an organization's machines live in.
use crate::{
    DiskId, Fields, HubId, NetworkId, OrgId, Problems, Result, TemplateId, VappId, VdcId, name,
    quota::{Amount, Limits, Measure},
};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AllocationModel {
    #[default]
    PayAsYouGo,
    AllocationPool,
    ReservationPool,
}

impl AllocationModel {
    pub const ALL: [AllocationModel; 3] =
        [AllocationModel::PayAsYouGo, AllocationModel::AllocationPool, AllocationModel::ReservationPool];

    pub fn key(self) -> &'static str {
        match self {
            AllocationModel::PayAsYouGo => "PayAsYouGo",
            AllocationModel::AllocationPool => "AllocationPool",
            AllocationModel::ReservationPool => "ReservationPool",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            AllocationModel::PayAsYouGo => "Pay as you go",
            AllocationModel::AllocationPool => "Allocation pool",
            AllocationModel::ReservationPool => "Reservation pool",
        }
    }

    pub fn hint(self) -> &'static str {
        match self {
            AllocationModel::PayAsYouGo => "Limits only: nothing is set aside.",
            AllocationModel::AllocationPool => {
                "Half of the CPU and memory is kept free for it, on the hub where it began."
            }
            AllocationModel::ReservationPool => {
                "All of the CPU and memory is kept free for it, on the hub where it began. Every limit must be given."
            }
        }
    }

    /// Takes our spellings and those of the VCD wire.
    pub fn parse(word: &str) -> Option<AllocationModel> {
        match word {
            "AllocationVApp" | "Flex" => Some(AllocationModel::PayAsYouGo),
            _ => AllocationModel::ALL.into_iter().find(|m| m.key() == word),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Vdc {
    pub id: VdcId,
    pub org: OrgId,
    pub org_name: String,
    pub name: String,
    pub description: String,
    pub namespace_name: String,
    pub allocation_model: AllocationModel,
    pub enabled: bool,
    pub besides: VdcBesides,
    pub limits: Limits,
    pub used: Amount,
    /// Living ones in it, with VMs or without.
    pub vapps: i64,
    /// Living ones of it, without those inside vApps.
    pub networks: i64,
    /// The hubs its machines may go to; none named: all that can run VMs.
    pub hubs: Vec<HubId>,
    pub region: String,
    pub zone: String,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub updated_by: String,
}

/// What is in a VDC, by name, as far as somebody sees it. Templates and media are of its organization's catalogs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VdcContents {
    pub vapps: Vec<(VappId, String)>,
    pub templates: Vec<(TemplateId, String)>,
    pub media: Vec<(TemplateId, String)>,
    pub disks: Vec<(DiskId, String)>,
    /// What machines in it can be on.
    pub networks: Vec<(NetworkId, String)>,
}

/// What VCD's clients set on a VDC and find again. Nothing follows from it here: hubs have no such quotas, and decide by
/// themselves how disks are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VdcBesides {
    pub nic_quota: i32,
    pub network_quota: i32,
    pub thin: bool,
    pub fast: bool,
    pub discovers_vms: bool,
    pub elastic: bool,
    pub memory_overhead: bool,
    /// It was asked for by the name of the network pool.
    pub pool: bool,
    /// It was asked for as one of VCD's model Flex, which is pay as you go here.
    pub flex: bool,
    /// Guaranteed shares of memory and processors in thousandths; None: as the model has it.
    pub memory_share: Option<i32>,
    pub cpu_share: Option<i32>,
    pub cpu_mhz: Option<i64>,
}

impl Fields for VdcBesides {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let yes = |on: bool| if on { "yes" } else { "no" }.to_owned();
        let share = |n: Option<i32>| n.map(|n| format!("{n} ‰")).unwrap_or_default();
        vec![
            ("nic_quota", self.nic_quota.to_string()),
            ("network_quota", self.network_quota.to_string()),
            ("thin_provisioning", yes(self.thin)),
            ("fast_provisioning", yes(self.fast)),
            ("vm_discovery", yes(self.discovers_vms)),
            ("elastic", yes(self.elastic)),
            ("memory_overhead", yes(self.memory_overhead)),
            ("network_pool", yes(self.pool)),
            ("flex", yes(self.flex)),
            ("memory_share", share(self.memory_share)),
            ("cpu_share", share(self.cpu_share)),
            ("cpu_mhz", self.cpu_mhz.map(|n| n.to_string()).unwrap_or_default()),
        ]
    }
}

/// What can be set on a VDC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VdcSpec {
    pub name: String,
    pub description: String,
    pub allocation_model: AllocationModel,
    pub limits: Limits,
    #[serde(default)]
    pub hubs: Vec<HubId>,
    #[serde(default)]
    pub region: String,
    #[serde(default)]
    pub zone: String,
}

impl VdcSpec {
    /// `org_limits` and `org_name`: what the organization may have in all.
    pub fn check(self, org_limits: &Limits, org_name: &str) -> Result<VdcSpec> {
        let mut problems = Problems::default();
        let name = problems.take("name", name::check_name(&self.name));
        let description = problems.take("description", name::check_text(&self.description));
        self.limits.check(&mut problems);
        self.limits.check_within(org_limits, org_name, &mut problems);
        if self.allocation_model == AllocationModel::ReservationPool {
            for m in Measure::ALL.into_iter().filter(|m| self.limits.get(*m).is_none()) {
                problems.add(m.field(), "A reservation pool sets all of it aside, so a limit is needed.");
            }
        }
        let region = problems.take("region", name::check_line(&self.region, 63));
        let zone = problems.take("zone", name::check_line(&self.zone, 63));
        problems.done()?;
        Ok(VdcSpec { name, description, region, zone, ..self })
    }
}

impl From<&Vdc> for VdcSpec {
    fn from(v: &Vdc) -> VdcSpec {
        VdcSpec {
            name: v.name.clone(),
            description: v.description.clone(),
            allocation_model: v.allocation_model,
            limits: v.limits,
            hubs: v.hubs.clone(),
            region: v.region.clone(),
            zone: v.zone.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocation_models_are_read_in_our_spelling_and_vcds() {
        assert_eq!(AllocationModel::parse("AllocationVApp"), Some(AllocationModel::PayAsYouGo));
        assert_eq!(AllocationModel::parse("Flex"), Some(AllocationModel::PayAsYouGo));
        for m in AllocationModel::ALL {
            assert_eq!(AllocationModel::parse(m.key()), Some(m));
        }
        assert_eq!(AllocationModel::parse("pool"), None);
    }

    #[test]
    fn a_vdc_promises_no_more_than_its_organization_has() {
        let spec = VdcSpec {
            name: "prod".into(),
            limits: Limits { cpus: Some(9), ..Limits::default() },
            ..VdcSpec::default()
        };
        let org = Limits { cpus: Some(8), ..Limits::default() };
        let err = spec.clone().check(&org, "acme").expect_err("too much");
        assert_eq!(err.fields()[0].field, "cpu_limit");
        assert!(spec.check(&Limits::default(), "acme").is_ok());
    }

    #[test]
    fn a_reservation_pool_needs_every_limit() {
        let spec =
            VdcSpec { name: "prod".into(), allocation_model: AllocationModel::ReservationPool, ..VdcSpec::default() };
        assert_eq!(spec.check(&Limits::default(), "acme").expect_err("limits missing").fields().len(), 4);
    }
}
