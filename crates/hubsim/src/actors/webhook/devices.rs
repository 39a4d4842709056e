//! What KubeVirt refuses about disks.
use super::cause::Causes;
use crate::actors::json::Look;
use serde_json::Value;
use std::collections::HashMap;

const DISKS: &str = "spec.template.spec.domain.devices.disks";

pub(super) fn check(spec: &Value, causes: &mut Causes) {
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut orders: HashMap<i64, ()> = HashMap::new();
    for (i, disk) in spec.list("/domain/devices/disks").iter().enumerate() {
        let field = format!("{DISKS}[{i}]");
        let name = disk.text("/name").unwrap_or_default();
        if !spec.list("/volumes").iter().any(|v| v.text("/name") == Some(name)) {
            causes.invalid(format!("{field}.name"), format!("{field}.Name '{name}' not found."));
        }
        match names.get(name) {
            Some(other) => causes
                .invalid(format!("{field}.name"), format!("{field} and {DISKS}[{other}] must not have the same Name.")),
            None => {
                names.insert(name, i);
            }
        }
        targets(disk, &field, causes);
        boot_order(disk, &field, &mut orders, causes);
    }
    for (i, interface) in spec.list("/domain/devices/interfaces").iter().enumerate() {
        let field = format!("spec.template.spec.domain.devices.interfaces[{i}]");
        boot_order(interface, &field, &mut orders, causes);
    }
}

fn targets(disk: &Value, field: &str, causes: &mut Causes) {
    let set: Vec<&str> = ["disk", "lun", "cdrom"].into_iter().filter(|t| disk.has(&format!("/{t}"))).collect();
    if set.len() > 1 {
        causes.invalid(field, format!("{field} can only have a single target type defined"));
    }
    for target in set {
        let bus = disk.text(&format!("/{target}/bus")).unwrap_or_default();
        let at = format!("{field}.{target}.bus");
        match (target, bus) {
            (_, "ide") => causes.invalid(at, "IDE bus is not supported"),
            ("cdrom", "virtio") => causes.invalid(at, "Bus type virtio is invalid for CD-ROM device"),
            ("lun", "virtio") => causes.invalid(at, "Bus type virtio is invalid for LUN device"),
            (_, "" | "virtio" | "sata" | "scsi" | "usb") => {}
            (_, other) => causes.invalid(
                at,
                format!("{field} is set with an unrecognized bus {other}, must be one of: [virtio sata scsi usb]"),
            ),
        }
    }
}

fn boot_order(device: &Value, field: &str, seen: &mut HashMap<i64, ()>, causes: &mut Causes) {
    let Some(order) = device.int("/bootOrder") else { return };
    let at = format!("{field}.bootOrder");
    if order < 1 {
        causes.invalid(at, format!("{field} must have a boot order > 0, if supplied"));
    } else if seen.insert(order, ()).is_some() {
        let words = format!("Boot order for {at} already set for a different device.");
        causes.invalid(at, words);
    }
}
