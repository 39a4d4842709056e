//! A sizing policy as an instance type of the cluster.
use crate::shape::names::{MANAGED_BY, OURS, SIZING_ID, size_name};
use serde_json::{Value, json};
use uuid::Uuid;

pub fn instance_type(id: Uuid, cpus: i32, memory_mb: i64) -> Value {
    json!({
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {
            "name": size_name(id),
            "labels": {MANAGED_BY: OURS, SIZING_ID: id.to_string()},
        },
        "spec": {"cpu": {"guest": cpus}, "memory": {"guest": format!("{memory_mb}Mi")}},
    })
}
