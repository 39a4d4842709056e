//! What a VM of a hub is besides its size, disks and cards.
use super::json::number;
use model::hardware::{Firmware, Hardware, Tpm};
use serde_json::Value;

/// Longer ones are no machine's.
const LONGEST: usize = 4096;

pub(super) fn hardware(vm: &Value) -> Hardware {
    let at = |rest: &str| vm.pointer(&format!("/spec/template/spec/domain{rest}")).filter(|v| v.is_object());
    let says = |v: Option<&Value>, key: &str| v.and_then(|v| v[key].as_bool());
    let efi = at("/firmware/bootloader/efi");
    let tpm = at("/devices/tpm").filter(|tpm| tpm["enabled"] != false);
    // what a parameter is left in can't be given on
    let text = |v: Option<&Value>| v.map(Value::to_string).filter(|t| t.len() <= LONGEST && !t.contains("${"));
    Hardware {
        firmware: match efi {
            Some(_) if says(efi, "secureBoot") == Some(false) => Firmware::Efi,
            Some(_) => Firmware::Secure,
            None if at("/firmware/bootloader/bios").is_some() => Firmware::Bios,
            None => Firmware::Any,
        },
        efi_persistent: says(efi, "persistent") == Some(true),
        tpm: match tpm {
            Some(_) if says(tpm, "persistent") == Some(true) => Tpm::Persistent,
            Some(_) => Tpm::Volatile,
            None => Tpm::None,
        },
        cores_per_socket: number(vm, "/spec/template/spec/domain/cpu/cores")
            .and_then(|n| i32::try_from(n).ok())
            .filter(|n| (1..=512).contains(n))
            .unwrap_or(0),
        features: text(at("/features")).unwrap_or_default(),
        clock: text(at("/clock")).unwrap_or_default(),
    }
}
