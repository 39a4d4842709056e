//! A machine's firmware, TPM and what it asks of the hypervisor, as KubeVirt says it.
use model::hardware::{Firmware, Hardware, Tpm};
use serde_json::{Value, json};

/// Into the domain of a new VM.
pub(super) fn put_into(domain: &mut Value, h: &Hardware) {
    if let Some(bootloader) = bootloader(h) {
        domain["firmware"] = json!({"bootloader": bootloader});
    }
    for (field, text) in [("features", &h.features), ("clock", &h.clock)] {
        if let Ok(said @ Value::Object(_)) = serde_json::from_str(text) {
            domain[field] = said;
        }
    }
    if h.firmware == Firmware::Secure {
        let features = &mut domain["features"];
        if features.is_null() {
            *features = json!({"acpi": {}});
        }
        // no secure boot without it
        features["smm"] = json!({"enabled": true});
    }
    match h.tpm {
        Tpm::None => {}
        Tpm::Volatile => domain["devices"]["tpm"] = json!({}),
        Tpm::Persistent => domain["devices"]["tpm"] = json!({"persistent": true}),
    }
}

fn bootloader(h: &Hardware) -> Option<Value> {
    let mut efi = json!({"secureBoot": h.firmware == Firmware::Secure});
    if h.efi_persistent {
        efi["persistent"] = json!(true);
    }
    match h.firmware {
        Firmware::Any => None,
        Firmware::Bios => Some(json!({"bios": {}})),
        Firmware::Efi | Firmware::Secure => Some(json!({"efi": efi})),
    }
}

/// The merge patch that gives a VM this firmware from its next start on; None: nobody said which.
pub fn patch(h: &Hardware) -> Option<Value> {
    let mut bootloader = bootloader(h)?;
    bootloader[if h.firmware.efi() { "bios" } else { "efi" }] = Value::Null;
    let mut domain = json!({"firmware": {"bootloader": bootloader}});
    if h.firmware == Firmware::Secure {
        domain["features"] = json!({"smm": {"enabled": true}});
    }
    Some(json!({"spec": {"template": {"spec": {"domain": domain}}}}))
}
