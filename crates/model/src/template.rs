//! Templates: what a vApp is made from. They come from hubs, and a catalog shows them.
use crate::{
    Action, Actor, CatalogId, OrgId, TemplateId, UserId,
    decide::Resource,
    guest::Property,
    hardware::Hardware,
    hub::HubId,
    nic::{Adapter, Attach, IpMode, NicSpec},
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
}

/// Something a template asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameter {
    pub name: String,
    pub label: String,
    pub description: String,
    pub value: String,
    pub required: bool,
    /// Made up by the template if nothing is given.
    pub generated: bool,
    /// Put in as it is, not as a text: a number, true or false.
    pub bare: bool,
}

impl Parameter {
    const LONGEST: usize = 4096;

    pub fn label(&self) -> &str {
        if self.label.is_empty() { &self.name } else { &self.label }
    }

    /// Must somebody give a value?
    pub fn needed(&self) -> bool {
        self.required && self.value.is_empty() && !self.generated
    }

    /// What is wrong with a value for it; None: nothing.
    pub fn wrong(&self, value: &str) -> Option<String> {
        let label = self.label();
        let number = |text: &str| text.trim().parse::<f64>().is_ok();
        match () {
            () if value.trim().is_empty() => self.needed().then(|| format!("{label} is needed.")),
            () if value.chars().count() > Self::LONGEST => {
                Some(format!("{label} is longer than {} characters.", Self::LONGEST))
            }
            () if value.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) => {
                Some(format!("{label} has characters that can't be read."))
            }
            () if self.bare && number(&self.value) && !number(value) => {
                Some(format!("{label} takes a number, such as {}.", self.value))
            }
            () if self.bare && value.trim_start().starts_with(['{', '[']) => {
                Some(format!("{label} takes one value, not a structure."))
            }
            () => None,
        }
    }
}

/// What a hub has, as read from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateSpec {
    pub name: String,
    pub description: String,
    pub os: String,
    pub icon: String,
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
    pub description: String,
    /// Who uploaded it; empty: it came from hubs.
    pub uploaded_by: String,
    /// What it is called on hubs; empty: it is not from one.
    pub source: String,
    pub by_instance: bool,
    pub os: String,
    pub icon: String,
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

    #[test]
    fn a_value_that_does_not_fit_is_told_by_the_parameters_own_label() {
        let host = Parameter { name: "HOST".into(), label: "Host".into(), required: true, ..Parameter::default() };
        assert_eq!(host.wrong("").as_deref(), Some("Host is needed."));
        assert_eq!(host.wrong("shop.example"), None);
        assert_eq!(host.wrong(&"x".repeat(5000)).as_deref(), Some("Host is longer than 4096 characters."));
        assert!(host.wrong("a\u{0}b").is_some());
        assert_eq!(Parameter { generated: true, ..host }.wrong(""), None);
        let port = Parameter { name: "PORT".into(), value: "80".into(), bare: true, ..Parameter::default() };
        assert_eq!((port.wrong(""), port.wrong("8080")), (None, None));
        assert_eq!(port.wrong("http").as_deref(), Some("PORT takes a number, such as 80."));
        let any = Parameter { value: String::new(), ..port };
        assert_eq!(any.wrong("{}").as_deref(), Some("PORT takes one value, not a structure."));
    }
}
