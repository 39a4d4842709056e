//! A VM as its hub should have it, from what was asked for.
use super::nics;
use crate::reconcile::{place, sizing};
use hub::shape::{
    guest::Discs,
    vm::{self as shape, Device, DiskSource, Identity, Size},
};
use model::disk::Bus;
use store::{Place, VmDiskWork, VmWork};

pub(super) fn identity(vm: &VmWork, there: &Place) -> Identity {
    Identity {
        place: place(vm.org, &vm.org_name, vm.vdc, &vm.vdc_name, &there.namespace),
        vapp: vm.vapp.0,
        vapp_name: vm.vapp_name.clone(),
        vm: vm.id.0,
        vm_name: vm.name.clone(),
        object: vm.hub_name.clone(),
        description: vm.description.clone(),
        owner: vm.owner_name.clone(),
        created_from: vm.instance_of.clone(),
    }
}

pub(super) fn size(vm: &VmWork) -> Size {
    // a hub without instance types has sizes all the same
    let unknown = vm.sizing.is_some() && !vm.offers.iter().any(|o| o == sizing::OFFER);
    if vm.instance_type.is_empty() || unknown {
        Size::Explicit {
            cpus: u32::try_from(vm.cpus).unwrap_or(1),
            cores_per_socket: u32::try_from(vm.hardware.cores_per_socket).unwrap_or(1),
            memory_mb: u64::try_from(vm.memory_mb).unwrap_or(1024),
        }
    } else {
        Size::InstanceType(vm.instance_type.clone())
    }
}

pub(super) fn shaped(vm: &VmWork, there: &Place, discs: Discs) -> shape::Vm {
    // what comes later is plugged in by `disks`
    let first = vm.disks.iter().filter(|d| d.with_vm && !d.leaving).enumerate();
    let disks = first.map(|(i, d)| shape::Disk { boot_order: (i == 0).then_some(1), ..disk(d) });
    shape::Vm {
        identity: identity(vm, there),
        computer_name: vm.computer_name.clone(),
        size: size(vm),
        preference: Some(vm.preference.clone()).filter(|p| !p.is_empty()),
        hardware: vm.hardware.clone(),
        disks: disks.collect(),
        nics: nics::shaped(&vm.nics, there),
        discs,
    }
}

pub(super) fn disk(d: &VmDiskWork) -> shape::Disk {
    shape::Disk {
        name: d.volume.clone(),
        size_mb: u64::try_from(d.size_mb).ok().filter(|s| *s > 0),
        source: if d.independent { DiskSource::Existing(d.object.clone()) } else { disk_source(&d.image) },
        storage_class: Some(d.class.clone()).filter(|c| !c.is_empty()),
        device: match d.bus {
            _ if d.disc => Device::Cdrom,
            Bus::Any => Device::Disk,
            Bus::Virtio => Device::Virtio,
            Bus::Sata => Device::Sata,
            Bus::Scsi => Device::Scsi,
        },
        // behind all others, so that a machine without a system starts from its disc; far behind those of templates
        boot_order: d.disc.then(|| 100 + u32::try_from(d.position).unwrap_or_default()),
    }
}

/// `datasource/namespace/name`, `claim/namespace/name`, `docker://…`, `https://…`; empty: nothing on it.
fn disk_source(image: &str) -> DiskSource {
    if let Some((namespace, name)) = image.strip_prefix("datasource/").and_then(|s| s.split_once('/')) {
        return DiskSource::Image { namespace: namespace.into(), name: name.into() };
    }
    if let Some((namespace, name)) = image.strip_prefix("claim/").and_then(|s| s.split_once('/')) {
        return DiskSource::Claim { namespace: namespace.into(), name: name.into() };
    }
    if image.starts_with("docker://") {
        return DiskSource::Registry(image.into());
    }
    if image.starts_with("https://") {
        return DiskSource::Http(image.into());
    }
    DiskSource::Blank
}
