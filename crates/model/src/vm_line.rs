//! A VM as a line of a list: what records of VCD's clients show of it, and no more, since they ask for a hundred at a time.
use crate::{
    NetworkId, OrgId, SizingId, UserId, VappId, VdcId, VmId,
    nic::Attach,
    vm::{Power, Seen, Vm},
};
use time::OffsetDateTime;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmLine {
    pub id: VmId,
    pub org: OrgId,
    pub org_name: String,
    pub vdc: VdcId,
    pub vdc_name: String,
    pub vapp: VappId,
    pub vapp_name: String,
    pub owner: Option<UserId>,
    pub owner_name: String,
    pub name: String,
    pub description: String,
    pub computer_name: String,
    pub cpus: i32,
    pub memory_mb: i64,
    pub sizing: Option<(SizingId, String)>,
    pub os: String,
    pub power: Power,
    pub seen: Seen,
    /// It was given a hub, and could not be made there.
    pub not_made: bool,
    pub ips: Vec<String>,
    pub storage_mb: i64,
    /// The storage policy of its first disk.
    pub policy: String,
    /// What its primary NIC is on.
    pub network: Option<NetworkId>,
    pub network_name: String,
    /// The first that its primary NIC is seen to have, or is to have.
    pub ip: String,
    pub node: String,
    pub hub_name: String,
    /// Empty: what we say by default.
    pub hardware_version: String,
    pub alone: bool,
    pub created_at: OffsetDateTime,
}

impl VmLine {
    /// As a list would show it.
    pub fn of(v: &Vm) -> VmLine {
        let primary = v.nics.iter().find(|n| n.spec.primary).or(v.nics.first());
        let network = match primary.map(|n| n.spec.attach) {
            Some(Attach::Network(id)) => Some(id),
            _ => None,
        };
        let of_nic = primary.and_then(|n| n.seen_ips.first().cloned().or(n.spec.address.map(|a| a.to_string())));
        VmLine {
            id: v.id,
            org: v.org,
            org_name: v.org_name.clone(),
            vdc: v.vdc,
            vdc_name: v.vdc_name.clone(),
            vapp: v.vapp,
            vapp_name: v.vapp_name.clone(),
            owner: v.owner,
            owner_name: v.owner_name.clone(),
            name: v.name.clone(),
            description: v.description.clone(),
            computer_name: v.computer_name.clone(),
            cpus: v.cpus,
            memory_mb: v.memory_mb,
            sizing: v.sizing.clone(),
            os: v.os.clone(),
            power: v.power,
            seen: v.seen,
            not_made: v.not_made(),
            ips: v.ips.clone(),
            storage_mb: v.storage_mb(),
            policy: v.disks.first().map(|d| d.policy.clone()).unwrap_or_default(),
            network,
            network_name: primary.map(|n| n.network_name.clone()).unwrap_or_default(),
            ip: of_nic.or_else(|| v.ips.first().cloned()).unwrap_or_default(),
            node: v.node.clone(),
            hub_name: v.hub_name.clone(),
            hardware_version: v.besides.hardware_version.clone(),
            alone: v.alone,
            created_at: v.created_at,
        }
    }
}
