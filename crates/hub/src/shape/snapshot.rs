//! Snapshots of a VM, and bringing it back to one.
use crate::shape::{names::Place, names::VM_ID};
use serde_json::{Value, json};
use uuid::Uuid;

/// On a snapshot: which one it is.
pub const SNAPSHOT_ID: &str = "ssvirt.io/snapshot-id";
/// On a restore: which wish to go back it is.
pub const REVERT_ID: &str = "ssvirt.io/revert-id";
/// On a restore: what the VM's disks were on before it.
const BEFORE: &str = "ssvirt.io/disks-before";

/// The VM that a snapshot is of: its id, and its name on the hub.
pub struct Of<'a> {
    pub place: &'a Place,
    pub vm: Uuid,
    pub object: &'a str,
}

impl Of<'_> {
    fn metadata(&self, name: &str, label: &str, id: Uuid) -> Value {
        let mut labels = self.place.labels();
        labels.insert(VM_ID.into(), json!(self.vm));
        labels.insert(label.into(), json!(id));
        json!({"name": name, "namespace": self.place.namespace, "labels": labels})
    }

    fn reference(&self) -> Value {
        json!({"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": self.object})
    }
}

pub fn snapshot(of: &Of<'_>, name: &str, id: Uuid) -> Value {
    json!({
        "apiVersion": "snapshot.kubevirt.io/v1beta1",
        "kind": "VirtualMachineSnapshot",
        "metadata": of.metadata(name, SNAPSHOT_ID, id),
        "spec": {"source": of.reference()},
    })
}

/// `before`: what the VM's disks are on, which it may be without afterwards.
pub fn restore(of: &Of<'_>, name: &str, id: Uuid, snapshot: &str, before: &[String]) -> Value {
    let mut metadata = of.metadata(name, REVERT_ID, id);
    metadata["annotations"] = json!({BEFORE: before.join(",")});
    json!({
        "apiVersion": "snapshot.kubevirt.io/v1beta1",
        "kind": "VirtualMachineRestore",
        "metadata": metadata,
        "spec": {"target": of.reference(), "virtualMachineSnapshotName": snapshot},
    })
}

/// What the VM's disks were on before a restore.
pub fn before(restore: &Value) -> Vec<String> {
    let names = restore["metadata"]["annotations"][BEFORE].as_str().unwrap_or_default();
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
