//! An image of a catalog on a hub: a DataVolume in our own namespace there, filled by an upload and copied by every disk
//! that is made from it.
use crate::shape::names::{HUB, IMAGE_ID, MANAGED_BY, OURS, image_name, label_value};
use serde_json::{Value, json};
use uuid::Uuid;

pub struct Image {
    pub id: Uuid,
    pub hub: String,
    pub namespace: String,
    /// What people call it.
    pub title: String,
    pub size_mb: u64,
    /// The namespace and name of a disk that it is a copy of; None: its bytes are sent.
    pub copy_of: Option<(String, String)>,
}

pub fn data_volume(image: &Image) -> Value {
    let source = match &image.copy_of {
        Some((namespace, name)) => json!({"pvc": {"namespace": namespace, "name": name}}),
        None => json!({"upload": {}}),
    };
    json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {
            "name": image_name(image.id),
            "namespace": image.namespace,
            "labels": {MANAGED_BY: OURS, HUB: label_value(&image.hub), IMAGE_ID: image.id.to_string()},
            "annotations": {
                "ssvirt.io/description": image.title,
                // filled at once, and not when a first VM uses it
                "cdi.kubevirt.io/storage.bind.immediate.requested": "true",
                "cdi.kubevirt.io/storage.deleteAfterCompletion": "false",
            },
        },
        "spec": {
            "source": source,
            "storage": {"resources": {"requests": {"storage": format!("{}Mi", image.size_mb)}}},
        },
    })
}
