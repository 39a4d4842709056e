//! A VM as its hub should have it, from what was asked for.
use super::nics;
use crate::reconcile::{place, sizing};
use hub::shape::{
    guest::Discs,
    vm::{self as shape, Device, DiskSource, Identity, Size},
};
use model::{disk::Bus, image::Image};
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

/// The error says which disk can't be made, and why.
pub(super) fn shaped(vm: &VmWork, there: &Place, discs: Discs) -> Result<shape::Vm, String> {
    // what comes later is plugged in by `disks`
    let first = vm.disks.iter().filter(|d| d.with_vm && !d.leaving).enumerate();
    let disks = first.map(|(i, d)| Ok(shape::Disk { boot_order: (i == 0).then_some(1), ..disk(d)? }));
    Ok(shape::Vm {
        identity: identity(vm, there),
        computer_name: vm.computer_name.clone(),
        size: size(vm),
        preference: Some(vm.preference.clone()).filter(|p| !p.is_empty()),
        hardware: vm.hardware.clone(),
        disks: disks.collect::<Result<_, String>>()?,
        nics: nics::shaped(&vm.nics, there),
        discs,
    })
}

pub(super) fn disk(d: &VmDiskWork) -> Result<shape::Disk, String> {
    let source = match d.independent {
        true => DiskSource::Existing(d.object.clone()),
        false => disk_source(&d.image).map_err(|why| format!("The disk {} can't be made. {why}", d.name))?,
    };
    Ok(shape::Disk {
        name: d.volume.clone(),
        size_mb: u64::try_from(d.size_mb).ok().filter(|s| *s > 0),
        source,
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
    })
}

/// What is not understood is an error: an empty disk in its place would look like success.
fn disk_source(image: &str) -> Result<DiskSource, String> {
    Ok(match Image::parse(image)? {
        Image::Nothing => DiskSource::Blank,
        Image::Source { namespace, name } => DiskSource::Image { namespace, name },
        Image::Claim { namespace, name } => DiskSource::Claim { namespace, name },
        Image::Snapshot { namespace, name } => DiskSource::Snapshot { namespace, name },
        Image::Registry(url) => DiskSource::Registry(url),
        Image::Web(url) => DiskSource::Http(url),
        Image::Stored(id) => return Err(format!("The image {id} was not brought to the hub.")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_meant_to_be_empty_is_made_empty() {
        assert_eq!(disk_source(""), Ok(DiskSource::Blank));
        assert_eq!(disk_source("http://example.org/x"), Ok(DiskSource::Http("http://example.org/x".into())));
        let of = || ("golden".to_owned(), "rhel".to_owned());
        let (namespace, name) = of();
        assert_eq!(disk_source("snapshot/golden/rhel"), Ok(DiskSource::Snapshot { namespace, name }));
        for odd in ["${IMAGE}", "s3://x/y", "image/00000000-0000-0000-0000-000000000000"] {
            assert!(disk_source(odd).is_err(), "{odd}");
        }
    }
}
