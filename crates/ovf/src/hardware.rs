//! The items of a machine's hardware: CIM resources by number, joined by parent and instance ids.
use crate::{
    Envelope, System,
    envelope::OVF,
    limit,
    refused::{Reason, Result, refuse},
    units,
    xml::Element,
};

pub(crate) const VMW: &str = "http://www.vmware.com/schema/ovf";

/// What a disk hangs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bus {
    Ide,
    #[default]
    Scsi,
    /// SCSI that knows it is virtual.
    Paravirtual,
    Sata,
    Nvme,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemDisk {
    pub name: String,
    /// Which disk of the envelope.
    pub disk: String,
    pub capacity: u64,
    pub file: Option<String>,
    pub bus: Bus,
    pub controller: u64,
    pub unit: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemNic {
    pub name: String,
    pub network: String,
    /// VMXNET3, E1000 and so on.
    pub model: String,
    pub connected: bool,
}

/// By number: what is read, and what is passed over since a machine here has its own or does without.
const PASSED: [u64; 12] = [1, 7, 8, 9, 13, 14, 18, 21, 22, 23, 24, 35];

pub(crate) fn read(
    section: &Element,
    configuration: Option<&str>,
    out: &mut Envelope,
    system: &mut System,
) -> Result<()> {
    let items = items(section, configuration, out)?;
    let mut seen = (false, false);
    for item in &items {
        match item.kind {
            3 => {
                let n = item.quantity()?;
                if n == 0 || n > limit::CPUS {
                    return refuse(Reason::Size, item.at(), format!("A machine has 1 to {} CPUs.", limit::CPUS));
                }
                system.cpus = u32::try_from(n).unwrap_or_default();
                let cores = item.text("CoresPerSocket").map_or(Ok(0), |c| units::number(c, item.at()))?;
                system.cores_per_socket = u32::try_from(cores).ok().filter(|c| *c <= system.cpus).unwrap_or(0);
                seen.0 = true;
            }
            4 => {
                // without units it is in MiB: what every writer means
                let units = item.text("AllocationUnits").unwrap_or("byte * 2^20");
                let bytes = units::bytes(item.text("VirtualQuantity").unwrap_or_default(), units, item.at())?;
                let mb = bytes.div_ceil(1 << 20);
                if !(4..=limit::MEMORY_MB).contains(&mb) {
                    return refuse(Reason::Size, item.at(), "A machine has between 4 MiB and 16 TiB of memory.");
                }
                system.memory_mb = mb;
                seen.1 = true;
            }
            10 => {
                if system.nics.len() >= limit::NICS {
                    return refuse(Reason::TooMany, &system.id, format!("More than {} network cards.", limit::NICS));
                }
                let network = item.text("Connection").unwrap_or_default().to_owned();
                if !network.is_empty() && !out.networks.iter().any(|n| n.name == network) {
                    return refuse(
                        Reason::Dangling,
                        item.at(),
                        "Its Connection names no network of the NetworkSection.",
                    );
                }
                system.nics.push(SystemNic {
                    name: item.at().to_owned(),
                    network,
                    model: item.text("ResourceSubType").unwrap_or_default().to_owned(),
                    connected: item.text("AutomaticAllocation") != Some("false"),
                });
            }
            15 | 16 => system.cdroms += 1,
            17 => {
                let disk = disk(item, &items, out)?;
                if system.disks.iter().any(|d| d.disk == disk.disk) {
                    return refuse(Reason::Duplicate, disk.disk, "It hangs twice on the same machine.");
                }
                system.disks.push(disk);
            }
            1 if item.text("ResourceSubType").is_some_and(|s| s.eq_ignore_ascii_case("vmware.vtpm")) => {
                system.tpm = true
            }
            // controllers: found by their disks
            5 | 6 | 20 => {}
            kind if PASSED.contains(&kind) || item.optional => {
                let name = format!("hardware of type {kind}");
                if !out.ignored.contains(&name) {
                    out.ignored.push(name);
                }
            }
            kind => {
                return refuse(Reason::Unknown, item.at(), format!("Hardware of type {kind} is not supported."));
            }
        }
    }
    if !seen.0 || !seen.1 {
        let what = if seen.0 { "memory (type 4)" } else { "CPU (type 3)" };
        return refuse(Reason::Missing, &system.id, format!("Its hardware has no {what}."));
    }
    system.disks.sort_by_key(|d| (d.controller, d.unit));
    let says = |key: &str, value: &str| {
        section.all("Config").any(|c| {
            c.attribute(VMW, "key") == Some(key)
                && c.attribute(VMW, "value").is_some_and(|v| v.eq_ignore_ascii_case(value))
        })
    };
    system.efi = says("firmware", "efi");
    system.secure_boot = system.efi && says("bootOptions.efiSecureBootEnabled", "true");
    Ok(())
}

struct Item<'a> {
    element: &'a Element,
    id: &'a str,
    kind: u64,
    optional: bool,
}

impl<'a> Item<'a> {
    fn text(&self, name: &'a str) -> Option<&'a str> {
        self.element.text_of(name)
    }

    /// What to call it in a message.
    fn at(&self) -> &'a str {
        self.element.text_of("ElementName").unwrap_or(self.id)
    }

    fn quantity(&self) -> Result<u64> {
        units::number(self.text("VirtualQuantity").unwrap_or_default(), self.at())
    }
}

/// The items that count for a configuration; a later one with the same id takes the place of an earlier.
fn items<'a>(section: &'a Element, configuration: Option<&str>, out: &mut Envelope) -> Result<Vec<Item<'a>>> {
    let mut items: Vec<Item<'a>> = vec![];
    for element in &section.children {
        match element.name.as_str() {
            "Item" | "StorageItem" | "EthernetPortItem" => {}
            "Info" | "System" => continue,
            _ if element.namespace != OVF && element.attribute(OVF, "required") != Some("true") => {
                let name = format!("{} {}", element.name, element.attribute(VMW, "key").unwrap_or_default());
                let name = name.trim().to_owned();
                if !out.ignored.contains(&name) {
                    out.ignored.push(name);
                }
                continue;
            }
            _ => return refuse(Reason::Unknown, &element.name, "It must be understood, and is not supported."),
        }
        let applies = match element.attribute(OVF, "configuration") {
            Some(list) => configuration.is_some_and(|c| list.split_whitespace().any(|w| w == c)),
            None => true,
        };
        if !applies || matches!(element.attribute(OVF, "bound"), Some("min" | "max")) {
            continue;
        }
        let (Some(id), Some(kind)) = (element.text_of("InstanceID"), element.text_of("ResourceType")) else {
            return refuse(Reason::Missing, "Item", "It needs an InstanceID and a ResourceType.");
        };
        let kind = units::number(kind, id)?;
        let optional = element.attribute(OVF, "required") == Some("false");
        let item = Item { element, id, kind, optional };
        match items.iter().position(|i| i.id == id) {
            Some(earlier) if element.attribute(OVF, "configuration").is_some() => items[earlier] = item,
            Some(_) => return refuse(Reason::Duplicate, id, "Two items have this InstanceID."),
            None if items.len() >= limit::ITEMS => {
                return refuse(Reason::TooMany, "Item", format!("More than {} items in one machine.", limit::ITEMS));
            }
            None => items.push(item),
        }
    }
    Ok(items)
}

fn disk(item: &Item<'_>, items: &[Item<'_>], out: &Envelope) -> Result<SystemDisk> {
    let host = item.text("HostResource").unwrap_or_default();
    let host = host.strip_prefix("ovf:").unwrap_or(host);
    let Some(id) = host.strip_prefix("/disk/").or_else(|| host.strip_prefix("//disk/")) else {
        return refuse(Reason::Dangling, item.at(), "Its HostResource is not ovf:/disk/… of this descriptor.");
    };
    let Some(disk) = out.disks.iter().find(|d| d.id == id) else {
        return refuse(Reason::Dangling, item.at(), "Its HostResource names no disk of the DiskSection.");
    };
    let parent = match item.text("Parent") {
        None => None,
        Some(parent) => match items.iter().find(|i| i.id == parent && matches!(i.kind, 5 | 6 | 20)) {
            Some(controller) => Some(controller),
            None => return refuse(Reason::Dangling, item.at(), "Its Parent is no controller of this machine."),
        },
    };
    let number = |text: Option<&str>| text.map_or(Ok(0), |t| units::number(t, item.at()));
    let bus =
        parent.map_or(Bus::Scsi, |p| match (p.kind, p.text("ResourceSubType").unwrap_or_default().to_lowercase()) {
            (5, _) => Bus::Ide,
            (20, sub) if sub.contains("nvme") => Bus::Nvme,
            (20, _) => Bus::Sata,
            (_, sub) if sub == "virtualscsi" => Bus::Paravirtual,
            _ => Bus::Scsi,
        });
    Ok(SystemDisk {
        name: item.at().to_owned(),
        disk: disk.id.clone(),
        capacity: disk.capacity,
        file: disk.file.clone(),
        bus,
        controller: number(parent.and_then(|p| p.text("Address")))?,
        unit: number(item.text("AddressOnParent"))?,
    })
}
