//! What a machine is besides its size, its disks and its cards: what its system was installed on, and will not start without.
use crate::vm::Besides;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Firmware {
    /// As the machine's preference or its hub says.
    #[default]
    #[serde(rename = "")]
    Any,
    Bios,
    Efi,
    /// EFI that starts nothing but what is signed.
    Secure,
}

impl Firmware {
    pub fn efi(self) -> bool {
        matches!(self, Firmware::Efi | Firmware::Secure)
    }

    /// None: nobody said.
    pub fn label(self) -> Option<&'static str> {
        match self {
            Firmware::Any => None,
            Firmware::Bios => Some("BIOS"),
            Firmware::Efi => Some("EFI"),
            Firmware::Secure => Some("EFI with secure boot"),
        }
    }
}

/// A chip that keeps keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tpm {
    #[default]
    #[serde(rename = "")]
    None,
    /// It forgets when the machine stops.
    Volatile,
    Persistent,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hardware {
    pub firmware: Firmware,
    /// What EFI writes down stays when the machine stops.
    pub efi_persistent: bool,
    pub tpm: Tpm,
    /// 0: nobody said.
    pub cores_per_socket: i32,
    /// What its template asks of the hypervisor and its clock, in the hub's own words (JSON); empty: nothing.
    pub features: String,
    pub clock: String,
}

impl Hardware {
    /// With what a client set, which counts before what the template says.
    pub fn with(&self, besides: &Besides) -> Hardware {
        let firmware = match (besides.firmware.as_str(), besides.boot.secure) {
            ("bios", _) => Firmware::Bios,
            ("efi", true) => Firmware::Secure,
            ("efi", false) => Firmware::Efi,
            (_, true) if self.firmware.efi() => Firmware::Secure,
            _ => self.firmware,
        };
        let cores_per_socket = besides.cores_per_socket.unwrap_or(self.cores_per_socket);
        Hardware { firmware, cores_per_socket, ..self.clone() }
    }

    /// For people, where somebody said something.
    pub fn words(&self) -> Vec<&'static str> {
        let tpm = (self.tpm != Tpm::None).then_some("TPM");
        self.firmware.label().into_iter().chain(tpm).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::BootOptions;

    #[test]
    fn what_a_client_set_counts_before_the_template_and_what_nobody_set_stays() {
        let template = Hardware { firmware: Firmware::Secure, cores_per_socket: 2, ..Hardware::default() };
        assert_eq!(template.with(&Besides::default()), template);
        let said = |firmware: &str, secure| Besides {
            firmware: firmware.into(),
            boot: BootOptions { secure, ..BootOptions::default() },
            ..Besides::default()
        };
        assert_eq!(template.with(&said("bios", true)).firmware, Firmware::Bios);
        assert_eq!(template.with(&said("efi", false)).firmware, Firmware::Efi);
        assert_eq!(Hardware::default().with(&said("efi", true)).firmware, Firmware::Secure);
        assert_eq!(Hardware::default().with(&said("", true)).firmware, Firmware::Any, "a BIOS has no secure boot");
        let cores = Besides { cores_per_socket: Some(4), ..Besides::default() };
        assert_eq!(template.with(&cores).cores_per_socket, 4);
    }
}
