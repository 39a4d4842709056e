//! Three workers with room.
use super::{Item, item};
use crate::actors::kind::NODE;
use serde_json::{Value, json};

const WORKERS: [&str; 3] = ["worker-0", "worker-1", "worker-2"];
/// Nodes have no birthday that matters; a fixed one keeps a fresh hub the same each time.
const SINCE: &str = "2025-01-01T00:00:00Z";

pub(super) fn items() -> Vec<Item> {
    WORKERS.iter().enumerate().map(|(i, name)| item(NODE, node(name, i))).collect()
}

fn node(name: &str, number: usize) -> Value {
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": reason,
            "lastHeartbeatTime": SINCE, "lastTransitionTime": SINCE})
    };
    json!({
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                "node-role.kubernetes.io/worker": "",
                "kubevirt.io/schedulable": "true",
                "topology.kubernetes.io/zone": format!("zone-{}", number + 1),
            },
        },
        "spec": {},
        "status": {
            "capacity": {"cpu": "32", "memory": "128Gi", "pods": "500", "devices.kubevirt.io/kvm": "1k"},
            "allocatable": {"cpu": "31500m", "memory": "126Gi", "pods": "500", "devices.kubevirt.io/kvm": "1k"},
            "conditions": [
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                condition("Ready", "True", "KubeletReady"),
            ],
            "addresses": [
                {"type": "InternalIP", "address": format!("192.168.10.{}", number + 10)},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "architecture": "amd64", "operatingSystem": "linux", "kubeletVersion": "v1.35.8",
                "osImage": "Red Hat Enterprise Linux CoreOS 9.6", "kernelVersion": "5.14.0-570.el9.x86_64",
                "containerRuntimeVersion": "cri-o://1.35.0",
            },
        },
    })
}
