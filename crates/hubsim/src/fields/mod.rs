//! Who owns which field: `metadata.managedFields`, and server-side apply on top of it.

mod compare;
mod managed;
mod merge;
mod set;

pub(crate) use managed::{Conflict, Manager, apply, track};

use set::Set;

use crate::schema::Schema;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// What `metadata` looks like to the owners of its fields.
static METADATA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::read(&json!({"type": "object", "properties": {
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "ownerReferences": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
            "items": {"type": "object", "x-kubernetes-map-type": "atomic"},
        },
    }}))
});

/// Fields nobody owns, because the server alone writes them or they say which object is meant.
const UNOWNED: [&str; 14] = [
    "f:name",
    "f:namespace",
    "f:generateName",
    "f:selfLink",
    "f:uid",
    "f:resourceVersion",
    "f:generation",
    "f:creationTimestamp",
    "f:deletionTimestamp",
    "f:deletionGracePeriodSeconds",
    "f:clusterName",
    "f:managedFields",
    "f:apiVersion",
    "f:kind",
];

/// The schema of a field; at the root, `metadata` is the same for all kinds.
fn below<'a>(schema: Option<&'a Schema>, root: bool, name: &str) -> Option<&'a Schema> {
    if root && name == "metadata" {
        return Some(&METADATA);
    }
    schema.and_then(|schema| schema.field(name))
}

/// How an entry of a list is called, if entries have owners of their own.
fn entry_name(schema: Option<&Schema>, entry: &Value) -> Option<String> {
    use crate::schema::ListKind;
    match &schema?.list {
        ListKind::Atomic => None,
        ListKind::Set => Some(format!("v:{entry}")),
        ListKind::Map(keys) => {
            let key: Value = keys.iter().map(|key| (key.clone(), entry[key].clone())).collect();
            Some(format!("k:{key}"))
        }
    }
}

/// A list whose entries have owners of their own.
fn is_granular(schema: Option<&Schema>) -> bool {
    schema.is_some_and(|schema| schema.list != crate::schema::ListKind::Atomic)
}
