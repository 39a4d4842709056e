//! The VmSpecSection: a machine's size, system and disks, as newer clients read and write them.
use super::{Shown, hardware::cores, profile, slots::placed};
use crate::{
    ask::Ask,
    wire::{
        body::Read,
        doc::reference,
        href::{mixed, urn},
        media,
    },
};
use model::{
    Error, Result,
    guest::is_windows,
    hardware::Hardware,
    vm::{Allocation, Shares, Vm},
};
use xml::{Element, Writer};

pub(crate) use crate::wire::units::{HARDWARE_VERSION, MHZ_PER_CPU};

pub(crate) fn hardware_version(vm: &Vm) -> &str {
    or_default(&vm.besides.hardware_version)
}

/// What is said of a VM for which nobody chose one.
pub(crate) fn or_default(chosen: &str) -> &str {
    if chosen.is_empty() { HARDWARE_VERSION } else { chosen }
}

/// VCD's word for the system, chosen or by what the template says it is.
pub(crate) fn os_type(vm: &Vm) -> &str {
    match vm.besides.os_type.as_str() {
        "" => guessed(&vm.os),
        chosen => chosen,
    }
}

pub(crate) fn guessed(os: &str) -> &'static str {
    let lower = os.to_lowercase();
    let has = |word: &str| lower.contains(word);
    match () {
        () if has("ubuntu") => "ubuntu64Guest",
        () if has("fedora") => "fedora64Guest",
        () if has("rhel") || has("red hat") => "rhel9_64Guest",
        () if has("centos") => "centos9_64Guest",
        () if has("debian") => "debian12_64Guest",
        () if has("sles") || has("suse") => "sles15_64Guest",
        () if is_windows(os, "") => "windows2022srvNext_64Guest",
        () => "otherLinux64Guest",
    }
}

/// What nobody said is BIOS, as hubs have it.
pub(crate) fn firmware(hardware: &Hardware) -> &'static str {
    if hardware.firmware.efi() { "efi" } else { "bios" }
}

pub(crate) fn section(w: &mut Writer, ask: &Ask, shown: &Shown) {
    let (vm, base) = (shown.vm, ask.base());
    let version = hardware_version(vm);
    w.el("VmSpecSection", &[("Modified", &false)], |w| {
        w.text("ovf:Info", "VM Specification");
        w.text("OsType", os_type(vm));
        w.text("Firmware", firmware(&vm.built()));
        w.text("NumCpus", vm.cpus);
        w.text("NumCoresPerSocket", cores(vm));
        resource(w, "CpuResourceMhz", i64::from(vm.cpus) * MHZ_PER_CPU, &vm.besides.cpu, cpu_shares(vm));
        resource(w, "MemoryResourceMb", vm.memory_mb, &vm.besides.memory, memory_shares(vm));
        w.el("MediaSection", &[], |_| {});
        w.el("DiskSection", &[], |w| {
            for p in placed(vm) {
                w.el("DiskSettings", &[], |w| {
                    w.text("DiskId", p.instance);
                    w.text("SizeMb", p.disk.size_mb);
                    w.text("UnitNumber", p.slot.unit);
                    w.text("BusNumber", p.slot.bus);
                    w.text("AdapterType", p.words.adapter);
                    w.text("ThinProvisioned", true);
                    if let Some(id) = p.disk.id.filter(|_| p.disk.independent) {
                        reference(w, "Disk", base.disk(id), id.urn(), &p.disk.name, media::DISK);
                    }
                    if let Some(policy) = profile(shown.profiles, &p.disk.policy) {
                        let id = urn("vdcstorageProfile", mixed(vm.vdc.0, policy.id.0));
                        let href = base.storage_profile(vm.vdc, policy.id);
                        reference(w, "StorageProfile", href, id, &policy.name, media::STORAGE_PROFILE);
                    }
                    w.text("overrideVmDefault", false);
                    w.el("IopsAllocation", &[], |w| {
                        w.text("Reservation", 0);
                        w.text("Limit", 0);
                        w.text("SharesLevel", "NORMAL");
                        w.text("Shares", 1000);
                    });
                    w.text("VirtualQuantityUnit", "byte");
                    w.text("VirtualQuantity", p.disk.size_mb << 20);
                });
            }
        });
        let href = base.api(format_args!("vdc/{}/hwv/{version}", vm.vdc));
        let kind = "application/vnd.vmware.vcloud.virtualHardwareVersion+xml";
        w.text_with("HardwareVersion", &[("href", &href), ("type", &kind)], version);
        w.text("VmToolsVersion", 0);
        w.text("VirtualCpuType", "VM64");
        w.text("TimeSyncWithHost", false);
    });
}

/// As many as VCD counts for a machine of that size, unless others are asked for.
pub(crate) fn cpu_shares(vm: &Vm) -> i64 {
    1000 * i64::from(vm.cpus)
}

pub(crate) fn memory_shares(vm: &Vm) -> i64 {
    10 * vm.memory_mb
}

/// Kept for clients: hubs set aside what sizing policies and VDCs say, and nothing for one machine.
fn resource(w: &mut Writer, name: &str, configured: i64, of: &Allocation, normal: i64) {
    w.el(name, &[], |w| {
        w.text("Configured", configured);
        w.text("Reservation", of.reservation);
        w.text("Limit", of.limit.unwrap_or(-1));
        w.text("SharesLevel", of.shares.word());
        w.text("Shares", of.shares.of(normal));
    });
}

fn at_least(e: &Element, name: &str, least: i64) -> Result<Option<i64>> {
    match e.number::<i64>(name)? {
        Some(n) if n < least => {
            Err(Error::BadRequest(format!("{name} of {} is {least} or more, and not {n}.", e.name)))
        }
        other => Ok(other),
    }
}

/// What is left out stays. How many shares a level is, follows from the machine's size.
pub(crate) fn allocation(e: &Element, now: Allocation) -> Result<Allocation> {
    let number = at_least(e, "Shares", 0)?;
    let shares = match e.word("SharesLevel") {
        None => now.shares,
        Some("LOW") => Shares::Low,
        Some("NORMAL") => Shares::Normal,
        Some("HIGH") => Shares::High,
        Some("CUSTOM") => match (number, now.shares) {
            (Some(n), _) | (None, Shares::Custom(n)) => Shares::Custom(n),
            _ => return Err(Error::BadRequest(format!("{} with the SharesLevel CUSTOM needs Shares.", e.name))),
        },
        Some(other) => {
            let (shown, what) = (crate::ask::shown(other), &e.name);
            let why = format!("“{shown}” is no SharesLevel of {what}: it is LOW, NORMAL, HIGH or CUSTOM.");
            return Err(Error::BadRequest(why));
        }
    };
    Ok(Allocation { shares, ..bounds(e, now)? })
}

fn bounds(e: &Element, now: Allocation) -> Result<Allocation> {
    let reservation = at_least(e, "Reservation", 0)?.unwrap_or(now.reservation);
    let limit = at_least(e, "Limit", -1)?.map_or(now.limit, |n| Some(n).filter(|n| *n >= 0));
    Ok(Allocation { reservation, limit, ..now })
}

/// The same of a hardware item, where the number of shares is the weight, and 0 says nothing.
pub(crate) fn of_item(item: &Element, now: Allocation, normal: i64) -> Result<Allocation> {
    let weight = at_least(item, "Weight", 0)?.filter(|n| *n != 0 && *n != now.shares.of(normal));
    Ok(Allocation { shares: weight.map_or(now.shares, Shares::Custom), ..bounds(item, now)? })
}
