//! Images of operating systems: a claim each, and a data source that names it.
use super::{IMAGES, Item, item, namespace};
use crate::actors::kind::{CLAIM, DATA_SOURCE};
use serde_json::{Value, json};

/// Name of the data source, default instance type, default preference, size of the image.
const ALL: [(&str, &str, &str, &str); 4] = [
    ("ubuntu2404", "u1.medium", "ubuntu", "30Gi"),
    ("fedora", "u1.medium", "fedora", "30Gi"),
    ("rhel9", "u1.medium", "rhel.9", "30Gi"),
    ("win2k22", "u1.large", "windows.2k22", "60Gi"),
];

pub(super) fn items() -> Vec<Item> {
    let mut all = vec![namespace(IMAGES)];
    for (name, instancetype, preference, size) in ALL {
        let labels = json!({
            "instancetype.kubevirt.io/default-instancetype": instancetype,
            "instancetype.kubevirt.io/default-preference": preference,
            "template.kubevirt.io/architecture": "amd64",
        });
        all.push(item(CLAIM, claim(name, size, &labels)));
        all.push(item(DATA_SOURCE, source(name, &labels)));
    }
    all
}

fn claim(name: &str, size: &str, labels: &Value) -> Value {
    json!({
        "metadata": {"name": format!("{name}-image"), "namespace": IMAGES, "labels": labels},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "volumeMode": "Block",
            "storageClassName": "standard",
            "volumeName": format!("pvc-{name}-image"),
            "resources": {"requests": {"storage": size}},
        },
        "status": {"phase": "Bound", "accessModes": ["ReadWriteMany"], "capacity": {"storage": size}},
    })
}

fn source(name: &str, labels: &Value) -> Value {
    let from = json!({"pvc": {"name": format!("{name}-image"), "namespace": IMAGES}});
    json!({
        "metadata": {"name": name, "namespace": IMAGES, "labels": labels},
        "spec": {"source": from},
        "status": {
            "source": from,
            "conditions": [{"type": "Ready", "status": "True", "reason": "Ready",
                "message": "DataSource is ready to be consumed", "lastTransitionTime": "2025-01-01T00:00:00Z"}],
        },
    })
}
