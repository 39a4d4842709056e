//! Names, labels and annotations on a hub. Names follow from ids, so that a create that is tried twice makes one object;
//! labels carry bare ids, annotations the URNs and names as people wrote them.
use model::{OrgId, VdcId};
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
pub const OURS: &str = "ssvirt";
/// On what belongs to no tenant: what the hub is called here.
pub const HUB: &str = "ssvirt.io/hub";
pub const ORG: &str = "ssvirt.io/organization";
pub const ORG_ID: &str = "ssvirt.io/organization-id";
pub const VDC: &str = "ssvirt.io/vdc";
pub const VDC_ID: &str = "ssvirt.io/vdc-id";
pub const VAPP: &str = "ssvirt.io/vapp";
pub const VAPP_ID: &str = "ssvirt.io/vapp-id";
pub const VM: &str = "ssvirt.io/vm";
pub const VM_ID: &str = "ssvirt.io/vm-id";
/// On images: which one it is.
pub const IMAGE_ID: &str = "ssvirt.io/image-id";
/// On disks: which of the VM's disks it is.
pub const DISK: &str = "ssvirt.io/disk";
/// On networks: which it is here.
pub const NETWORK: &str = "ssvirt.io/network";
pub const NETWORK_ID: &str = "ssvirt.io/network-id";
/// On independent disks: which one it is.
pub const DISK_ID: &str = "ssvirt.io/disk-id";
/// On instance types: which sizing policy it is.
pub const SIZING_ID: &str = "ssvirt.io/sizing-id";
pub const OWNER: &str = "ssvirt.io/owner";
pub const CREATED_FROM: &str = "ssvirt.io/created-from";
pub const DESCRIPTION: &str = "ssvirt.io/description";
pub const COMPUTER_NAME: &str = "ssvirt.io/computer-name";
/// On VMs: which of the changes that were asked for the object was last brought to.
pub const GENERATION: &str = "ssvirt.io/generation";

/// What all that we make carries: the selector of watches.
pub fn ours() -> String {
    format!("{MANAGED_BY}={OURS}")
}

/// The organization and VDC something belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub org: OrgId,
    pub org_name: String,
    pub vdc: VdcId,
    pub vdc_name: String,
    pub namespace: String,
}

impl Place {
    pub fn labels(&self) -> Map<String, Value> {
        let mut labels = Map::new();
        let mut put = |k: &str, v: String| drop(labels.insert(k.to_owned(), Value::String(v)));
        put(MANAGED_BY, OURS.to_owned());
        put(ORG, label_value(&self.org_name));
        put(ORG_ID, self.org.to_string());
        put(VDC, label_value(&self.vdc_name));
        put(VDC_ID, self.vdc.to_string());
        labels.retain(|_, v| v != "");
        labels
    }

    /// The same for a change: one that became empty is to go.
    pub fn labels_patch(&self) -> Map<String, Value> {
        let mut labels = self.labels();
        for key in [ORG, VDC] {
            labels.entry(key).or_insert(Value::Null);
        }
        labels
    }

    pub fn annotations(&self) -> Map<String, Value> {
        let all = json!({ORG: self.org_name, ORG_ID: self.org.urn(), VDC: self.vdc_name, VDC_ID: self.vdc.urn()});
        all.as_object().cloned().unwrap_or_default()
    }
}

/// Text as a label's value: at most 63 of letters, digits, `-`, `_` and `.`, beginning and ending with a letter or digit.
/// What does not fit becomes `-`; a text without any such letter becomes empty.
pub fn label_value(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mapped: String = text.chars().take(63).map(|c| if fits(c) { c } else { '-' }).collect();
    mapped.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
}

/// Small letters, digits and single hyphens.
pub fn slug(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            _ => {}
        }
        if out.len() == longest {
            break;
        }
    }
    out.trim_end_matches('-').to_owned()
}

/// Digits of the id that tell objects apart: the random end of a version 7 UUID.
fn tail(id: Uuid) -> String {
    let hex = id.simple().to_string();
    hex[hex.len() - 10..].to_owned()
}

/// The longest name of a VM on a hub: room is left for `-disk-12` behind it within 63.
const VM_NAME: usize = 50;

/// The name of a VM on its hub, and so of its instance and pod. It never changes, even if the VM is renamed, so the name
/// given here is the first one the VM had.
pub fn vm_name(name: &str, id: Uuid) -> String {
    with_id(name, "vm", id)
}

/// The name of something that belongs to a whole vApp. It follows from the id alone: the vApp may be renamed.
pub fn vapp_name(id: Uuid) -> String {
    with_id("", "vapp", id)
}

/// The name of an image on every hub that has it.
pub fn image_name(id: Uuid) -> String {
    format!("image-{}", id.simple())
}

fn with_id(name: &str, otherwise: &str, id: Uuid) -> String {
    let slug = slug(name, VM_NAME - 11);
    // a DNS label may begin with a digit, a Service's may not
    let head = match slug.chars().next() {
        None => otherwise.to_owned(),
        Some(c) if c.is_ascii_digit() => format!("{otherwise}-{}", self::slug(&slug, VM_NAME - 16)),
        Some(_) => slug,
    };
    format!("{}-{}", head.trim_end_matches('-'), tail(id))
}

pub fn disk_name(vm: &str, disk: &str) -> String {
    format!("{vm}-{}", slug(disk, 12))
}

/// A sizing policy's instance type.
const SIZE: &str = "ssvirt-size-";

pub fn size_name(id: Uuid) -> String {
    format!("{SIZE}{id}")
}

/// The policy that an instance type is of, by its name.
pub fn size_of(name: &str) -> Option<Uuid> {
    name.strip_prefix(SIZE)?.parse().ok()
}

pub fn cloud_init_name(vm: &str) -> String {
    format!("{vm}-cloudinit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubeconfig::is_dns_label;

    const ID: Uuid = Uuid::from_u128(0x0192_c3b0_9a10_7f44_a5d2_3e6b_8c1f_0d92);

    #[test]
    fn a_vms_name_follows_from_its_id_and_always_fits() {
        assert_eq!(vm_name("Web Server #1", ID), "web-server-1-6b8c1f0d92");
        assert_eq!(vm_name("日本", ID), "vm-6b8c1f0d92");
        assert_eq!(vm_name("", ID), "vm-6b8c1f0d92");
        assert_eq!(vm_name("1st", ID), "vm-1st-6b8c1f0d92");
        for name in ["a", "-", "A--b__c", &"x".repeat(300), &"9".repeat(300), &"a-".repeat(100), "ß…!"] {
            let vm = vm_name(name, ID);
            assert!(vm.len() <= VM_NAME && is_dns_label(&vm), "{vm}");
            let disk = disk_name(&vm, "Disk number twelve");
            assert!(is_dns_label(&disk), "{disk}");
            assert!(is_dns_label(&cloud_init_name(&vm)), "{vm}");
        }
    }

    #[test]
    fn label_values_keep_to_the_rules() {
        assert_eq!(label_value("acme GmbH & Co."), "acme-GmbH---Co");
        assert_eq!(label_value("日本"), "");
        let long = label_value(&"x.".repeat(100));
        assert!(long.len() <= 63 && long.ends_with('x'), "{long}");
    }

    #[test]
    fn a_place_is_labelled_by_bare_ids_and_annotated_with_urns() {
        let place = Place {
            org: OrgId(ID),
            org_name: "Äcme".into(),
            vdc: VdcId(ID),
            vdc_name: "日本".into(),
            namespace: "vdc-acme".into(),
        };
        let labels = place.labels();
        assert_eq!(labels[ORG_ID], ID.to_string());
        assert_eq!(labels[ORG], "cme");
        assert!(!labels.contains_key(VDC), "a label without letters is left out");
        assert_eq!(place.annotations()[VDC], "日本");
        assert_eq!(place.annotations()[VDC_ID], format!("urn:vcloud:vdc:{ID}"));
    }
}
