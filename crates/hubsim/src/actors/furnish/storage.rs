//! Three storage classes: two that can be shared between nodes, and one of the nodes' own disks, which makes no snapshots.
use super::{Item, item};
use crate::actors::{
    kind::{SNAPSHOT_CLASS, STORAGE_CLASS, STORAGE_PROFILE},
    storage::profile,
};
use serde_json::{Value, json};

fn all() -> [Value; 3] {
    let class = |name: &str, pool: &str, annotations: Value| {
        json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name, "annotations": annotations},
            "provisioner": "openshift-storage.rbd.csi.ceph.com",
            "parameters": {"pool": pool},
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "Immediate",
            "allowVolumeExpansion": true,
        })
    };
    [
        class(
            "standard",
            "hdd",
            json!({
                "storageclass.kubernetes.io/is-default-class": "true",
                "storageclass.kubevirt.io/is-default-virt-class": "true",
                "description": "Disks for everyday use",
            }),
        ),
        class("fast", "nvme", json!({"description": "Disks on NVMe"})),
        json!({
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "local", "annotations": {"description": "Disks of the nodes themselves"}},
            "provisioner": "kubevirt.io.hostpath-provisioner",
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "Immediate",
            "allowVolumeExpansion": true,
        }),
    ]
}

pub(super) fn classes() -> Vec<Item> {
    all().into_iter().map(|class| item(STORAGE_CLASS, class)).collect()
}

pub(super) fn profiles() -> Vec<Item> {
    all()
        .into_iter()
        .map(|class| {
            let profile = json!({
                "metadata": {"name": class["metadata"]["name"], "labels": {"app": "containerized-data-importer",
                    "cdi.kubevirt.io": ""}},
                "spec": {},
                "status": profile::status(&class, &json!({})),
            });
            item(STORAGE_PROFILE, profile)
        })
        .collect()
}

pub(super) fn snapshot_class() -> Item {
    let class = json!({
        "metadata": {"name": "rbdplugin-snapclass"},
        "driver": "openshift-storage.rbd.csi.ceph.com",
        "deletionPolicy": "Delete",
    });
    item(SNAPSHOT_CLASS, class)
}
