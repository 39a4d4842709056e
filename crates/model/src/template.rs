//! Templates: what a vApp is made from. They come from hubs, and a catalog shows them.
use crate::{
    Action, Actor, CatalogId, OrgId, TemplateId, UserId,
    decide::Resource,
    guest::Property,
    hardware::Hardware,
    hub::HubId,
    nic::{Adapter, Attach, IpMode, NicSpec},
    parameter::{self, Given, Parameter},
    share::{self, Access, Grant},
    vm::Disk,
    vm_line::VmLine,
};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use uuid::Uuid;

/// One machine of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateVm {
    pub name: String,
    /// 0, as with memory and the sizes of disks: it does not say.
    pub cpus: i32,
    pub memory_mb: i64,
    pub instance_type: String,
    pub preference: String,
    pub disks: Vec<Disk>,
    pub nics: Vec<TemplateNic>,
    pub os: String,
    pub hardware: Hardware,
    /// Among the others of its template, and how long those after it wait then.
    pub start_order: i32,
    pub start_delay_s: i32,
    /// What its guest reads from its OVF environment.
    pub properties: Vec<Property>,
    pub asks: Asks,
}

/// Where the parameters of its template go in a machine, as the template has it: `${MEMORY}`. Empty: nothing is asked there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Asks {
    pub name: String,
    /// Sockets, cores and threads, which are multiplied.
    pub cpus: Vec<String>,
    pub memory: String,
    pub preference: String,
    /// As many as the machine has disks, or none.
    pub disks: Vec<DiskAsks>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskAsks {
    pub image: String,
    pub size: String,
}

impl Asks {
    pub fn uses(&self, parameter: &str) -> bool {
        let disks = self.disks.iter().flat_map(|d| [&d.image, &d.size]);
        let texts = [&self.name, &self.memory, &self.preference].into_iter().chain(&self.cpus).chain(disks);
        texts.flat_map(|text| parameter::named(text)).any(|name| name == parameter)
    }
}

/// A NIC of a template's machine. What it was plugged into stays behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateNic {
    pub name: String,
    pub adapter: Adapter,
}

impl TemplateVm {
    /// The first is on the VDC's own network, and the others on none until somebody chooses one.
    pub fn nic_specs(&self) -> Vec<NicSpec> {
        let spec = |(i, nic): (usize, &TemplateNic)| NicSpec {
            index: i as i16,
            name: nic.name.clone(),
            adapter: nic.adapter,
            attach: if i == 0 { Attach::Vdc } else { Attach::Nothing },
            mode: if i == 0 { IpMode::Dhcp } else { IpMode::None },
            primary: i == 0,
            ..NicSpec::default()
        };
        self.nics.iter().take(crate::nic::MOST_NICS).enumerate().map(spec).collect()
    }

    /// With what was given for the template's parameters, and their defaults where nothing was.
    pub fn filled(&self, parameters: &[Parameter], given: &Given) -> TemplateVm {
        let put = |text: &str| parameter::put(text, |name| parameter::value(parameters, given, name));
        let mut vm = self.clone();
        if !self.asks.name.is_empty() {
            let name = put(&self.asks.name);
            let name = name.trim_matches(['-', '.', '_', ' ']);
            vm.name = if name.is_empty() { self.name.clone() } else { name.to_owned() };
        }
        if !self.asks.cpus.is_empty() {
            let mut factors = self.asks.cpus.iter().map(|text| parameter::count(&put(text)));
            vm.cpus = factors.try_fold(1i32, |all, n| all.checked_mul(n?)).unwrap_or(0);
        }
        if !self.asks.memory.is_empty() {
            vm.memory_mb = parameter::amount(&put(&self.asks.memory)).unwrap_or(0);
        }
        if !self.asks.preference.is_empty() {
            vm.preference = put(&self.asks.preference);
        }
        for (disk, asks) in vm.disks.iter_mut().zip(&self.asks.disks) {
            if !asks.image.is_empty() {
                disk.image = put(&asks.image);
            }
            if !asks.size.is_empty() {
                disk.size_mb = parameter::amount(&put(&asks.size)).unwrap_or(0);
            }
        }
        vm
    }
}

/// What a hub has, as read from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateSpec {
    pub name: String,
    /// What it is called for people; empty: it has its name alone.
    pub title: String,
    pub description: String,
    pub os: String,
    /// The class of an icon, as OpenShift's catalog has it: `icon-fedora`.
    pub icon: String,
    /// Marked so on its hub.
    pub deprecated: bool,
    /// Why its machines can't be made from here, within a sentence; empty: they can.
    pub obstacle: String,
    /// OpenShift makes the machines, through a TemplateInstance.
    pub by_instance: bool,
    pub vms: Vec<TemplateVm>,
    pub parameters: Vec<Parameter>,
}

/// What an item of a catalog is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemKind {
    /// Machines to deploy.
    #[default]
    Template,
    /// A disc to put into one.
    Media,
}

impl ItemKind {
    pub const ALL: [ItemKind; 2] = [ItemKind::Template, ItemKind::Media];

    pub fn key(self) -> &'static str {
        match self {
            ItemKind::Template => "template",
            ItemKind::Media => "media",
        }
    }

    pub fn parse(key: &str) -> Option<ItemKind> {
        ItemKind::ALL.into_iter().find(|k| k.key() == key)
    }
}

/// One state of an uploaded item. Earlier ones stay until somebody deletes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    pub number: i32,
    pub note: String,
    pub os: String,
    pub vms: Vec<TemplateVm>,
    /// Of its files, in bytes.
    pub size: i64,
    /// The SHA-256 of each of its images, by name.
    pub sums: Vec<(String, String)>,
    /// The hubs that have all of its images.
    pub hubs: Vec<HubId>,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    pub created_by: String,
    /// The VMs that have it on a CD drive, by name.
    pub used_by: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Template {
    pub id: TemplateId,
    pub catalog: CatalogId,
    pub catalog_name: String,
    pub catalog_owner: Option<UserId>,
    pub catalog_owner_name: String,
    /// With whom of its organization, and with which others, its catalog is shared.
    pub shares: Vec<Grant>,
    pub seen_by_all: bool,
    pub seen_by: Vec<OrgId>,
    pub org: OrgId,
    pub org_name: String,
    pub kind: ItemKind,
    pub name: String,
    /// What it is called for people on its hub; empty: it has its name alone.
    pub title: String,
    pub description: String,
    /// Who uploaded it; empty: it came from hubs.
    pub uploaded_by: String,
    /// What it is called on hubs; empty: it is not from one.
    pub source: String,
    pub by_instance: bool,
    pub os: String,
    pub icon: String,
    /// Its hubs say that it is not to be used any more.
    pub deprecated: bool,
    /// Why its machines can't be made from here, within a sentence; empty: they can.
    pub obstacle: String,
    pub vms: Vec<TemplateVm>,
    pub parameters: Vec<Parameter>,
    /// Of the files of its newest version, in bytes; None: it has no files, or they did not come to their end yet.
    pub size: Option<i64>,
    /// Where it is to be had now.
    pub hubs: Vec<HubId>,
    /// While every hub that has it is silent: when one was last heard.
    #[serde(with = "time::serde::rfc3339::option")]
    pub as_of: Option<OffsetDateTime>,
    /// Its storage lease has ended.
    pub expired: bool,
    /// Are guests of VMs made from it to be told what they are? As whoever captured it said.
    pub customize: bool,
    /// The VMs that have it on a CD drive, by name.
    pub used_by: Vec<String>,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
}

/// Changes the version of a UUID from 7 to 8 and back: ids that stand for something within another thing are made by it, so that they
/// differ from the thing's own and lead back to it.
const WITHIN: u128 = 0xf << 76;

/// The id that a machine of a template has on VCD's wire, by its place in it.
pub fn vm_id(template: TemplateId, index: usize) -> Uuid {
    let id = template.0.as_u128() ^ WITHIN;
    let low = (id as u16).wrapping_add(index as u16 + 1);
    Uuid::from_u128((id & !0xffff) | u128::from(low))
}

/// The templates that such an id can be of, each with the machine's place in it.
pub fn templates_of(vm: Uuid) -> impl Iterator<Item = (TemplateId, usize)> {
    (0..crate::vapp::MOST_VMS).map(move |index| {
        let low = (vm.as_u128() as u16).wrapping_sub(index as u16 + 1);
        (TemplateId(Uuid::from_u128(((vm.as_u128() & !0xffff) | u128::from(low)) ^ WITHIN)), index)
    })
}

/// A machine inside a template, by its place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    pub template: Template,
    pub index: usize,
}

/// What VCD's clients call a VM: one that is deployed, or one that a template will make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Machine {
    Vm(Box<VmLine>),
    Inside(Box<Inside>),
}

impl Template {
    /// As deciding sees it for somebody: as its catalog.
    pub fn resource(&self, actor: &Actor, action: Action) -> Resource {
        let published = self.seen_by_all || self.seen_by.contains(&actor.org);
        if !action.changes() && self.org != actor.org && published {
            return Resource::Shared(actor.org, None, Some(Access::ReadOnly));
        }
        share::resource(actor, self.org, self.catalog_owner, &self.shares)
    }

    /// Its first upload has not come to its end.
    pub fn blank(&self) -> bool {
        self.source.is_empty() && self.kind == ItemKind::Template && self.vms.is_empty()
    }

    /// There is something to deploy or to insert.
    pub fn ready(&self) -> bool {
        !self.source.is_empty() || self.size.is_some()
    }

    /// No hub has it any more.
    pub fn vanished(&self) -> bool {
        !self.source.is_empty() && self.hubs.is_empty()
    }

    /// What it is, in words: what its hub says of it, or at least its title.
    pub fn words(&self) -> &str {
        if self.description.is_empty() { &self.title } else { &self.description }
    }

    /// None: one of its machines does not say.
    pub fn cpus(&self) -> Option<i64> {
        sum(self.vms.iter().map(|v| v.cpus.into()))
    }

    pub fn memory_mb(&self) -> Option<i64> {
        sum(self.vms.iter().map(|v| v.memory_mb))
    }

    pub fn storage_mb(&self) -> Option<i64> {
        sum(self.vms.iter().flat_map(|v| &v.disks).map(|d| d.size_mb))
    }
}

fn sum(known: impl Iterator<Item = i64>) -> Option<i64> {
    known.map(|n| (n != 0).then_some(n)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str, value: &str) -> Parameter {
        Parameter { name: name.into(), value: value.into(), ..Parameter::default() }
    }

    #[test]
    fn what_is_given_goes_into_names_images_and_sizes_and_defaults_where_nothing_is() {
        let disk = |size_mb, image: &str| Disk { size_mb, image: image.into(), ..Disk::default() };
        let vm = TemplateVm {
            name: "dev-web".into(),
            cpus: 2,
            memory_mb: 2048,
            disks: vec![disk(10240, "datasource/images/fedora"), disk(1024, "")],
            asks: Asks {
                name: "${ENV}-web".into(),
                cpus: vec!["${{SOCKETS}}".into(), "2".into()],
                memory: "${MEMORY}".into(),
                disks: vec![
                    DiskAsks { image: "datasource/images/${SYSTEM}".into(), size: String::new() },
                    DiskAsks { image: String::new(), size: "${DATA}".into() },
                ],
                ..Asks::default()
            },
            ..TemplateVm::default()
        };
        let mut all = vec![parameter("ENV", "dev"), parameter("SOCKETS", "1"), parameter("MEMORY", "2Gi")];
        all.extend([parameter("SYSTEM", "fedora"), parameter("DATA", "1Gi")]);
        assert_eq!(vm.filled(&all, &Given::new()), vm);
        let given = [("ENV", "prod"), ("SOCKETS", "4"), ("MEMORY", "8Gi"), ("SYSTEM", "rhel9"), ("DATA", "20Gi")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let filled = vm.filled(&all, &given);
        assert_eq!((filled.name.as_str(), filled.cpus, filled.memory_mb), ("prod-web", 8, 8192));
        assert_eq!(filled.disks, [disk(10240, "datasource/images/rhel9"), disk(20480, "")]);
        // what nobody says is unknown
        let none = vm.filled(&[parameter("ENV", ""), parameter("MEMORY", "")], &Given::new());
        assert_eq!((none.name.as_str(), none.memory_mb), ("web", 0));
        assert_eq!(none.disks[0].image, "datasource/images/${SYSTEM}");
        assert!(vm.asks.uses("DATA") && vm.asks.uses("SOCKETS") && !vm.asks.uses("OTHER"));
    }
}
