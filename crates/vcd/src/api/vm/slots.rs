//! Where the disks of a machine are, as clients count: each on a bus of an adapter, at a unit. What nobody placed is put at
//! the first free place.
use crate::wire::{
    body::Read,
    rasd::{self, BusWords},
};
use model::{
    Error, Result,
    disk::{Bus, Slot},
    vm::{Disk, Vm},
};
use xml::Element;

/// A disk at its place.
pub(crate) struct Placed<'a> {
    pub(crate) disk: &'a Disk,
    pub(crate) slot: Slot,
    /// The same in its settings and in its hardware item.
    pub(crate) instance: u32,
    /// The InstanceID of its controller.
    pub(crate) controller: u32,
    pub(crate) words: BusWords,
}

/// Its disks without discs and without those that are leaving.
pub(crate) fn placed(vm: &Vm) -> Vec<Placed<'_>> {
    let disks = vm.disks.iter().filter(|d| d.media.is_none() && !d.leaving);
    let (fixed, free): (Vec<&Disk>, Vec<&Disk>) = disks.partition(|d| d.slot.is_some());
    let mut taken: Vec<Slot> = fixed.iter().filter_map(|d| d.slot).collect();
    let mut out: Vec<Placed<'_>> = fixed.into_iter().filter_map(|d| d.slot.map(|slot| at(d, slot))).collect();
    for disk in free {
        let slot = first_free(disk.bus, &taken);
        taken.push(slot);
        out.push(at(disk, slot));
    }
    out.sort_by_key(|p| (p.disk.independent, p.instance));
    out
}

fn at(disk: &Disk, slot: Slot) -> Placed<'_> {
    let (bus, unit) = (u32::from(slot.bus.unsigned_abs()), u32::from(slot.unit.unsigned_abs()));
    let instance = first_instance(slot.adapter) + 16 * bus + unit;
    Placed {
        disk,
        slot,
        instance,
        controller: first_controller(slot.adapter) + bus,
        words: words(slot.adapter, disk.bus),
    }
}

/// As device keys are counted: buses of sixteen units.
fn first_instance(adapter: i16) -> u32 {
    match adapter {
        1 => 3000,
        6 => 16_000,
        7 => 31_000,
        _ => 2000,
    }
}

fn first_controller(adapter: i16) -> u32 {
    match adapter {
        1 => 200,
        6 => 15_000,
        7 => 30_000,
        _ => 1000,
    }
}

/// What the client said, or what the disk's bus is.
fn words(adapter: i16, bus: Bus) -> BusWords {
    match adapter {
        1 => BusWords { kind: 5, sub: "IDE", adapter: 1 },
        2 => BusWords { kind: 6, sub: "buslogic", adapter: 2 },
        3 => BusWords { kind: 6, sub: "lsilogic", adapter: 3 },
        4 => BusWords { kind: 6, sub: "lsilogicsas", adapter: 4 },
        5 => BusWords { kind: 6, sub: "VirtualSCSI", adapter: 5 },
        6 => BusWords { kind: 20, sub: "vmware.sata.ahci", adapter: 6 },
        7 => BusWords { kind: 20, sub: "vmware.nvme.controller", adapter: 7 },
        _ => rasd::words(bus),
    }
}

/// Where a new disk is asked for; None: nothing is said of it.
pub(crate) fn asked(settings: &Element, adapter: &str) -> Result<Option<Slot>> {
    let (bus, unit) = (settings.number("BusNumber")?, settings.number("UnitNumber")?);
    let adapter = adapter.parse().unwrap_or(5);
    Ok(bus.zip(unit).map(|(bus, unit)| Slot { adapter, bus, unit }))
}

/// What one disk may read and write is its storage policy's to say.
pub(crate) fn no_iops(settings: &Element) -> Result<()> {
    let Some(iops) = settings.child("IopsAllocation") else { return Ok(()) };
    for name in ["Reservation", "Limit"] {
        if iops.number::<i64>(name)?.is_some_and(|n| n > 0) {
            return Err(Error::BadRequest(format!(
                "Disks have no IopsAllocation with a {name} of their own. Leave it out or 0, and choose a storage policy."
            )));
        }
    }
    Ok(())
}

pub(crate) fn taken(slot: Slot) -> Error {
    Error::BadRequest(format!("Bus {} unit {} is taken by another disk.", slot.bus, slot.unit))
}

/// The seventh unit of a SCSI bus is the controller's own.
pub(crate) fn first_free(bus: Bus, taken: &[Slot]) -> Slot {
    let adapter = i16::from(rasd::words(bus).adapter);
    let same_family = |a: i16| first_instance(a) == first_instance(adapter);
    let units = (0..4).flat_map(|bus| (0..16).map(move |unit| (bus, unit)));
    let free = units
        .filter(|(_, unit)| *unit != 7 || adapter == 6)
        .find(|(bus, unit)| !taken.iter().any(|t| same_family(t.adapter) && (t.bus, t.unit) == (*bus, *unit)));
    let (bus, unit) = free.unwrap_or((3, 15));
    Slot { adapter, bus, unit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_without_a_place_get_the_first_free_one() {
        let taken = [Slot { adapter: 3, bus: 0, unit: 0 }, Slot { adapter: 6, bus: 0, unit: 1 }];
        assert_eq!(first_free(Bus::Virtio, &taken), Slot { adapter: 5, bus: 0, unit: 1 });
        assert_eq!(first_free(Bus::Sata, &taken), Slot { adapter: 6, bus: 0, unit: 0 });
        let seven: Vec<Slot> = (0..7).map(|unit| Slot { adapter: 5, bus: 0, unit }).collect();
        assert_eq!(first_free(Bus::Virtio, &seven).unit, 8);
    }
}
