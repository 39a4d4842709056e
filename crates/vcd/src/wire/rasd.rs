//! Hardware items as OVF has them: processors, memory, controllers, disks, network cards and CD drives. A caller opens the
//! element (`ovf:Item` in a section, `Item` alone); these fill it, in the order of the schema.
use model::{
    Error, Result,
    disk::Bus,
    nic::Adapter,
    vm::{Allocation, Shares},
};
use std::fmt::Display;
use xml::Writer;

/// How a bus is written: its resource type, its kind, and the number that disk settings have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BusWords {
    /// 5 IDE, 6 SCSI, 20 SATA and NVMe.
    pub(crate) kind: u8,
    pub(crate) sub: &'static str,
    /// 1 IDE, 2 BusLogic, 3 LSI Logic, 4 LSI Logic SAS, 5 paravirtual, 6 SATA, 7 NVMe.
    pub(crate) adapter: u8,
}

/// What a disk of ours is there: VirtIO is the paravirtual one.
pub(crate) fn words(bus: Bus) -> BusWords {
    match bus {
        Bus::Any | Bus::Virtio => BusWords { kind: 6, sub: "VirtualSCSI", adapter: 5 },
        Bus::Scsi => BusWords { kind: 6, sub: "lsilogic", adapter: 3 },
        Bus::Sata => BusWords { kind: 20, sub: "vmware.sata.ahci", adapter: 6 },
    }
}

/// The nearest of our buses. Hubs have no IDE, which becomes SATA, and no NVMe, which becomes VirtIO.
pub(crate) fn bus(kind: Option<&str>, sub: Option<&str>) -> Result<Bus> {
    let sub = sub.unwrap_or_default();
    let named = match sub.to_ascii_lowercase().as_str() {
        "" => None,
        "virtualscsi" | "vmware.nvme.controller" | "nvme" => Some(Bus::Virtio),
        "lsilogic" | "lsilogicsas" | "buslogic" => Some(Bus::Scsi),
        "vmware.sata.ahci" | "ahci" | "sata" | "ide" => Some(Bus::Sata),
        _ => return Err(Error::BadRequest(format!("“{}” is no kind of disk bus.", crate::ask::shown(sub)))),
    };
    match (named, kind) {
        (Some(bus), _) => Ok(bus),
        (None, None | Some("")) => Ok(Bus::Any),
        (None, Some("6")) => Ok(Bus::Scsi),
        (None, Some("5" | "20")) => Ok(Bus::Sata),
        (None, Some(other)) => Err(Error::BadRequest(format!(
            "“{}” is no type of disk bus: 5 is IDE, 6 SCSI, 20 SATA.",
            crate::ask::shown(other)
        ))),
    }
}

/// The bus of the number that disk settings have.
pub(crate) fn bus_of_adapter(adapter: &str) -> Result<Bus> {
    match adapter {
        "" | "5" | "7" => Ok(Bus::Virtio),
        "2" | "3" | "4" => Ok(Bus::Scsi),
        "1" | "6" => Ok(Bus::Sata),
        other => Err(Error::BadRequest(format!("“{}” is no AdapterType of a disk.", crate::ask::shown(other)))),
    }
}

/// What was sent, unless it says what is there already: ours are finer in places.
pub(crate) fn bus_or(now: Bus, sent: Bus) -> Bus {
    if words(now) == words(sent) { now } else { sent }
}

/// What a card is called. Ours that say nothing are virtio, which is VCD's paravirtual one.
pub(crate) fn adapter(adapter: Adapter) -> &'static str {
    match adapter {
        Adapter::Auto | Adapter::Virtio => "VMXNET3",
        Adapter::E1000 => "E1000",
        Adapter::E1000e => "E1000E",
    }
}

/// `normal`: how many shares one of that size has where nobody set others. They are the weight, and 0 stands for them.
pub(crate) fn cpu(w: &mut Writer, instance: u32, cpus: i32, cores_per_socket: i32, of: &Allocation, normal: i64) {
    w.text("rasd:AllocationUnits", "hertz * 10^6");
    w.text("rasd:Description", "Number of Virtual CPUs");
    w.text("rasd:ElementName", format_args!("{cpus} virtual CPU(s)"));
    w.text("rasd:InstanceID", instance);
    limit(w, of);
    w.text("rasd:Reservation", of.reservation);
    w.text("rasd:ResourceType", 3);
    w.text("rasd:VirtualQuantity", cpus);
    w.text("rasd:Weight", weight(of, normal));
    w.text_with("vmw:CoresPerSocket", &[("ovf:required", &"false")], cores_per_socket);
}

pub(crate) fn memory(w: &mut Writer, instance: u32, mb: i64, of: &Allocation, normal: i64) {
    w.text("rasd:AllocationUnits", "byte * 2^20");
    w.text("rasd:Description", "Memory Size");
    w.text("rasd:ElementName", format_args!("{mb} MB of memory"));
    w.text("rasd:InstanceID", instance);
    limit(w, of);
    w.text("rasd:Reservation", of.reservation);
    w.text("rasd:ResourceType", 4);
    w.text("rasd:VirtualQuantity", mb);
    w.text("rasd:VirtualQuantityUnits", "byte * 2^20");
    w.text("rasd:Weight", weight(of, normal));
}

fn limit(w: &mut Writer, of: &Allocation) {
    if let Some(limit) = of.limit {
        w.text("rasd:Limit", limit);
    }
}

fn weight(of: &Allocation, normal: i64) -> i64 {
    if of.shares == Shares::Normal { 0 } else { of.shares.of(normal) }
}

/// The controller that disks of a bus hang on; `number` counts those of its kind.
pub(crate) fn controller(w: &mut Writer, instance: u32, number: u32, words: BusWords) {
    let (name, description) = match words.kind {
        5 => ("IDE Controller", "IDE Controller"),
        20 => ("SATA Controller", "SATA Controller"),
        _ => ("SCSI Controller", "SCSI Controller"),
    };
    w.text("rasd:Address", number);
    w.text("rasd:Description", description);
    w.text("rasd:ElementName", format_args!("{name} {number}"));
    w.text("rasd:InstanceID", instance);
    // an IDE controller has no kind
    if words.kind != 5 {
        w.text("rasd:ResourceSubType", words.sub);
    }
    w.text("rasd:ResourceType", words.kind);
}

/// Where clients look for an IDE controller, which CD drives hang on.
pub(crate) fn ide_controller(w: &mut Writer, instance: u32, number: u32) {
    controller(w, instance, number, BusWords { kind: 5, sub: "", adapter: 1 });
}

/// A disk as an item.
pub(crate) struct DiskItem<'a> {
    /// The same as the DiskId in its settings.
    pub(crate) instance: u32,
    /// The InstanceID of its controller, and its place on it.
    pub(crate) controller: u32,
    pub(crate) unit: u32,
    /// `Hard disk 1`
    pub(crate) label: String,
    pub(crate) size_mb: i64,
    pub(crate) words: BusWords,
    /// Address of an independent disk.
    pub(crate) independent: Option<String>,
    /// Address of the storage profile; empty: not known.
    pub(crate) profile: &'a str,
}

pub(crate) fn disk(w: &mut Writer, d: &DiskItem) {
    w.text("rasd:AddressOnParent", d.unit);
    // exactly that: clients tell disks from controllers by it
    w.text("rasd:Description", "Hard disk");
    w.text("rasd:ElementName", &d.label);
    let mut host: Vec<(&str, &dyn Display)> = vec![
        ("vcloud:capacity", &d.size_mb),
        ("vcloud:busSubType", &d.words.sub),
        ("vcloud:busType", &d.words.kind),
        ("vcloud:storageProfileOverrideVmDefault", &"false"),
    ];
    if !d.profile.is_empty() {
        host.push(("vcloud:storageProfileHref", &d.profile));
    }
    if let Some(href) = &d.independent {
        host.push(("vcloud:disk", href));
    }
    w.empty("rasd:HostResource", &host);
    w.text("rasd:InstanceID", d.instance);
    w.text("rasd:Parent", d.controller);
    w.text("rasd:ResourceType", 17);
    w.text("rasd:VirtualQuantity", d.size_mb << 20);
    w.text("rasd:VirtualQuantityUnits", "byte");
}

/// A network card as an item.
pub(crate) struct NicItem<'a> {
    pub(crate) instance: u32,
    /// The same as its NetworkConnectionIndex.
    pub(crate) index: i16,
    /// Empty: it has none yet.
    pub(crate) mac: &'a str,
    pub(crate) connected: bool,
    pub(crate) primary: bool,
    /// `none` where it is on no network.
    pub(crate) network: &'a str,
    /// `POOL`, `MANUAL`, `DHCP`, `NONE`
    pub(crate) mode: &'a str,
    pub(crate) ip: Option<&'a str>,
    pub(crate) adapter: Adapter,
}

pub(crate) fn nic(w: &mut Writer, n: &NicItem) {
    if !n.mac.is_empty() {
        w.text("rasd:Address", n.mac);
    }
    w.text("rasd:AddressOnParent", n.index);
    w.text("rasd:AutomaticAllocation", n.connected);
    let mut connection: Vec<(&str, &dyn Display)> =
        vec![("vcloud:ipAddressingMode", &n.mode), ("vcloud:primaryNetworkConnection", &n.primary)];
    if let Some(ip) = &n.ip {
        connection.push(("vcloud:ipAddress", ip));
    }
    w.text_with("rasd:Connection", &connection, n.network);
    w.text("rasd:Description", format_args!("{} ethernet adapter on \"{}\"", adapter(n.adapter), n.network));
    w.text("rasd:ElementName", format_args!("Network adapter {}", n.index));
    w.text("rasd:InstanceID", n.instance);
    w.text("rasd:ResourceSubType", adapter(n.adapter));
    w.text("rasd:ResourceType", 10);
}

/// A CD drive, with the address of the disc that is in it.
pub(crate) fn cd(w: &mut Writer, instance: u32, controller: u32, unit: u32, disc: Option<&str>) {
    w.text("rasd:AddressOnParent", unit);
    w.text("rasd:AutomaticAllocation", disc.is_some());
    w.text("rasd:Description", "CD/DVD Drive");
    w.text("rasd:ElementName", format_args!("CD/DVD Drive {}", unit + 1));
    w.text("rasd:HostResource", disc.unwrap_or_default());
    w.text("rasd:InstanceID", instance);
    w.text("rasd:Parent", controller);
    w.text("rasd:ResourceSubType", if disc.is_some() { "vmware.cdrom.iso" } else { "vmware.cdrom.remotepassthrough" });
    w.text("rasd:ResourceType", 15);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_reads_back_as_it_was_written() {
        for bus in Bus::ALL {
            let words = words(bus);
            let read = super::bus(Some(&words.kind.to_string()), Some(words.sub)).expect("known");
            assert_eq!(super::words(read), words);
            assert_eq!(super::words(bus_of_adapter(&words.adapter.to_string()).expect("known")), words);
            assert_eq!(bus_or(bus, read), bus);
        }
        assert_eq!(super::bus(None, None).expect("none"), Bus::Any);
        assert!(super::bus(Some("99"), None).is_err());
        assert!(super::bus(Some("6"), Some("floppy")).is_err());
    }
}
