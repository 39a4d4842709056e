//! Reading and writing `metadata` of objects kept as JSON.

use serde_json::{Map, Value, json};

pub(crate) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"][key].as_str().unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, "name")
}

pub(crate) fn namespace(object: &Value) -> &str {
    text(object, "namespace")
}

pub(crate) fn uid(object: &Value) -> &str {
    text(object, "uid")
}

pub(crate) fn is_terminating(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    strings(&object["metadata"]["finalizers"])
}

pub(crate) fn strings(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// `metadata` as a map, made when it is missing.
pub(crate) fn of(object: &mut Value) -> &mut Map<String, Value> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    match &mut object["metadata"] {
        Value::Object(map) => map,
        _ => unreachable!("made just above"),
    }
}

pub(crate) fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    of(object).insert(key.to_owned(), value.into());
}

/// Sets the finalizers; an empty list is no field at all.
pub(crate) fn set_finalizers(object: &mut Value, finalizers: &[&str]) {
    if finalizers.is_empty() {
        of(object).remove("finalizers");
    } else {
        set(object, "finalizers", finalizers.iter().map(|one| Value::from(*one)).collect::<Vec<_>>());
    }
}

/// The ids of an object's owners.
pub(crate) fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten()
}
