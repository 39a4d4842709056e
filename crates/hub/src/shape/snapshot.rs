//! Snapshots of a VM, and bringing it back to one.
use crate::shape::{names::Place, names::VM_ID};
use serde_json::{Value, json};
use uuid::Uuid;

/// On a snapshot: which one it is.
pub const SNAPSHOT_ID: &str = "ssvirt.io/snapshot-id";
/// On a restore: which wish to go back it is.
pub const REVERT_ID: &str = "ssvirt.io/revert-id";

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

pub fn restore(of: &Of<'_>, name: &str, id: Uuid, snapshot: &str) -> Value {
    json!({
        "apiVersion": "snapshot.kubevirt.io/v1beta1",
        "kind": "VirtualMachineRestore",
        "metadata": of.metadata(name, REVERT_ID, id),
        "spec": {"target": of.reference(), "virtualMachineSnapshotName": snapshot},
    })
}
