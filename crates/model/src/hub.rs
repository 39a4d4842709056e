//! Hubs: Kubernetes clusters we hold credentials for. What they are open for decides what runs on them.
use crate::{OrgId, Problems, Result, VdcId, name, quota::Limits};
use serde::{Deserialize, Serialize};
use std::fmt;
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

/// A hub's id is a word people choose: `vmaas-primary`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HubId(pub String);

impl fmt::Display for HubId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for HubId {
    fn from(id: &str) -> HubId {
        HubId(id.to_owned())
    }
}

/// A label for people. What a hub takes is its capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HubType {
    #[default]
    Cluster,
    Vmaas,
    Hybrid,
}

impl HubType {
    pub const ALL: [HubType; 3] = [HubType::Cluster, HubType::Vmaas, HubType::Hybrid];

    pub fn key(self) -> &'static str {
        match self {
            HubType::Cluster => "cluster",
            HubType::Vmaas => "vmaas",
            HubType::Hybrid => "hybrid",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            HubType::Cluster => "Clusters",
            HubType::Vmaas => "VMs",
            HubType::Hybrid => "VMs and clusters",
        }
    }

    pub fn parse(word: &str) -> Option<HubType> {
        HubType::ALL.into_iter().find(|t| t.key() == word)
    }

    /// What a hub is called that is open for these; none of them means nothing yet.
    pub fn of(capabilities: &[Capability]) -> Option<HubType> {
        let has = |c| capabilities.contains(&c);
        match (has(Capability::VirtualMachines), has(Capability::Clusters)) {
            (true, true) => Some(HubType::Hybrid),
            (true, false) => Some(HubType::Vmaas),
            (false, true) => Some(HubType::Cluster),
            (false, false) => None,
        }
    }

    pub fn capabilities(self) -> Vec<Capability> {
        match self {
            HubType::Cluster => vec![Capability::Clusters],
            HubType::Vmaas => vec![Capability::VirtualMachines],
            HubType::Hybrid => vec![Capability::VirtualMachines, Capability::Clusters],
        }
    }
}

/// What a hub is open for. Routing reads these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capability {
    VirtualMachines,
    Clusters,
}

impl Capability {
    pub const ALL: [Capability; 2] = [Capability::VirtualMachines, Capability::Clusters];

    pub fn key(self) -> &'static str {
        match self {
            Capability::VirtualMachines => "virtualmachines",
            Capability::Clusters => "clusters",
        }
    }

    /// As in "No hub with virtualmachine capability found".
    pub fn singular(self) -> &'static str {
        match self {
            Capability::VirtualMachines => "virtualmachine",
            Capability::Clusters => "cluster",
        }
    }

    pub fn parse(word: &str) -> Option<Capability> {
        Capability::ALL.into_iter().find(|c| c.key() == word)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HubState {
    /// Never tried.
    #[default]
    Unknown,
    Ready,
    /// It answers, and something on it is missing or broken.
    Degraded,
    Unreachable,
}

impl HubState {
    pub const ALL: [HubState; 4] = [HubState::Unknown, HubState::Ready, HubState::Degraded, HubState::Unreachable];

    pub fn key(self) -> &'static str {
        match self {
            HubState::Unknown => "unknown",
            HubState::Ready => "ready",
            HubState::Degraded => "degraded",
            HubState::Unreachable => "unreachable",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            HubState::Unknown => "Not tried yet",
            HubState::Ready => "Ready",
            HubState::Degraded => "Degraded",
            HubState::Unreachable => "Unreachable",
        }
    }

    pub fn parse(word: &str) -> Option<HubState> {
        HubState::ALL.into_iter().find(|s| s.key() == word)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    Ok,
    Warning,
    Failed,
    /// What it stands on failed already.
    Skipped,
}

/// One thing looked at on a hub: how it is, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubCheck {
    pub key: String,
    pub title: String,
    pub state: CheckState,
    pub detail: String,
    pub what_to_do: String,
}

impl HubCheck {
    /// The cluster is a hub already.
    pub fn same_cluster(first: &HubId) -> HubCheck {
        HubCheck {
            key: "cluster".into(),
            title: "Cluster".into(),
            state: CheckState::Failed,
            detail: format!("It is the same cluster as the hub {first}, which was registered first, and gets no VMs."),
            what_to_do: format!("Use {first}, and do not register its cluster twice: its room would count twice."),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hub {
    pub id: HubId,
    /// What tasks, events and the audit know it by.
    pub uid: Uuid,
    pub description: String,
    pub hub_type: HubType,
    pub capabilities: Vec<Capability>,
    pub namespace: String,
    /// What may be used in that namespace, but for VMs: there are none in it.
    pub quota: Limits,
    pub region: String,
    pub zone: String,
    pub is_default: bool,
    pub cordoned: bool,
    pub server: String,
    pub credential_version: i64,
    #[serde(with = "time::serde::rfc3339::option")]
    pub credential_expires_at: Option<OffsetDateTime>,
    pub state: HubState,
    pub last_error: String,
    pub next_step: String,
    #[serde(with = "time::serde::rfc3339::option")]
    pub seen_at: Option<OffsetDateTime>,
    pub checks: Vec<HubCheck>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub checked_at: Option<OffsetDateTime>,
    /// What it was found to have.
    pub offers: Vec<String>,
    pub kubernetes_version: String,
    pub kubevirt_version: String,
    pub cpus_capacity: Option<i64>,
    pub memory_capacity_mb: Option<i64>,
    /// Living VMs on it, and what was asked for by them.
    pub vms: i64,
    pub cpus_used: i64,
    pub memory_used_mb: i64,
    pub vdcs: i64,
    /// Independent disks on it.
    pub disks: i64,
    /// Some of the VDCs that name it as one of their hubs, as `org/vdc`.
    pub named_by: Vec<String>,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub updated_by: String,
}

impl Hub {
    /// From then on the end of a credential is worth a word.
    const SOON: Duration = Duration::days(14);

    /// When its credential ends or ended, if that is soon.
    pub fn credential_ends_soon(&self, now: OffsetDateTime) -> Option<OffsetDateTime> {
        self.credential_expires_at.filter(|end| *end - now < Self::SOON)
    }

    /// Its credential's end in words, if that is soon.
    pub fn credential_end(&self, now: OffsetDateTime) -> Option<String> {
        let end = self.credential_ends_soon(now)?;
        let word = if end <= now { "ended" } else { "end" };
        Some(format!("The kubeconfig's credentials {word} on {}.", end.date()))
    }

    pub fn can(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }
}

/// What can be set on a hub, beside its kubeconfig.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubSpec {
    pub id: String,
    pub description: String,
    pub hub_type: HubType,
    pub capabilities: Vec<Capability>,
    pub namespace: String,
    /// What may be used in that namespace, where images are; none: as much as there is. Of VMs there are none in it.
    #[serde(default)]
    pub quota: Limits,
    pub region: String,
    pub zone: String,
    /// What fits there goes there first. One hub at most is it.
    pub is_default: bool,
}

impl HubSpec {
    /// Without capabilities those of the type are meant.
    pub fn check(self) -> Result<HubSpec> {
        let mut problems = Problems::default();
        let id = problems.take("id", name::check_label(&self.id));
        let description = problems.take("description", name::check_text(&self.description));
        let namespace = problems.take("namespace", name::check_label(&self.namespace));
        let region = problems.take("region", name::check_line(&self.region, 63));
        let zone = problems.take("zone", name::check_line(&self.zone, 63));
        let mut capabilities = self.capabilities.clone();
        capabilities.sort_unstable();
        capabilities.dedup();
        if capabilities.is_empty() {
            capabilities = self.hub_type.capabilities();
        }
        // closing a hub for one of two is fine, opening it for what it is not for is a mistake in one of both
        if let Some(odd) = capabilities.iter().find(|c| !self.hub_type.capabilities().contains(c)) {
            let (kind, odd) = (self.hub_type.key(), odd.key());
            problems
                .add("capabilities", format!("A hub of type {kind} is not open for {odd}. Its type would be another."));
        }
        let quota = Limits { vms: None, ..self.quota };
        quota.check(&mut problems);
        problems.done()?;
        let (hub_type, is_default) = (self.hub_type, self.is_default);
        Ok(HubSpec { id, description, namespace, quota, region, zone, capabilities, hub_type, is_default })
    }
}

impl From<&Hub> for HubSpec {
    fn from(h: &Hub) -> HubSpec {
        HubSpec {
            id: h.id.0.clone(),
            description: h.description.clone(),
            hub_type: h.hub_type,
            capabilities: h.capabilities.clone(),
            namespace: h.namespace.clone(),
            quota: h.quota,
            region: h.region.clone(),
            zone: h.zone.clone(),
            is_default: h.is_default,
        }
    }
}

/// Something in which two hubs that run VMs are not alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubDifference {
    /// `KubeVirt`, `storage classes`, `snapshots`.
    pub what: String,
    pub hub: HubId,
    pub here: String,
    /// The hub it is compared with, and what is there.
    pub baseline: HubId,
    pub there: String,
    pub means: String,
}

impl HubDifference {
    /// "hub-b: none; hub-a: fast, standard."
    pub fn line(&self) -> String {
        format!("{}: {}; {}: {}.", self.hub, self.here, self.baseline, self.there)
    }
}

/// A VDC on a hub, with what of it is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HubTenant {
    pub vdc: VdcId,
    pub vdc_name: String,
    pub org: OrgId,
    pub org_name: String,
    pub namespace: String,
    pub vms: i64,
    pub cpus: i64,
    pub memory_mb: i64,
}

/// Who wishes for a hub, or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HubWishers {
    pub prefer: Vec<String>,
    pub avoid: Vec<String>,
    /// VDCs that name it.
    pub vdcs: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_capabilities_those_of_the_type_are_meant() {
        let spec = HubSpec { id: "a".into(), namespace: "x".into(), hub_type: HubType::Hybrid, ..HubSpec::default() };
        assert_eq!(spec.clone().check().expect("good").capabilities, Capability::ALL);
        let spec = HubSpec { capabilities: vec![Capability::Clusters], ..spec };
        assert_eq!(spec.check().expect("good").capabilities, [Capability::Clusters]);
    }

    #[test]
    fn a_type_and_capabilities_that_disagree_are_refused() {
        let spec = |hub_type, capabilities: &[Capability]| {
            let capabilities = capabilities.to_vec();
            HubSpec { id: "a".into(), namespace: "x".into(), hub_type, capabilities, ..HubSpec::default() }.check()
        };
        for (hub_type, odd) in [(HubType::Vmaas, Capability::Clusters), (HubType::Cluster, Capability::VirtualMachines)]
        {
            assert_eq!(spec(hub_type, &[odd]).expect_err("they disagree").fields()[0].field, "capabilities");
            assert!(spec(hub_type, &Capability::ALL).is_err());
            assert!(spec(HubType::Hybrid, &[odd]).is_ok(), "closed for the other");
        }
        for hub_type in HubType::ALL {
            assert_eq!(HubType::of(&hub_type.capabilities()), Some(hub_type));
        }
        assert_eq!(HubType::of(&[]), None);
    }

    #[test]
    fn an_id_is_a_label() {
        let bad = HubSpec { id: "Vmaas Primary".into(), namespace: "vmaas-system".into(), ..HubSpec::default() };
        assert_eq!(bad.check().expect_err("blank").fields()[0].field, "id");
    }
}
