//! Merging what somebody applies into what there is, and taking away what nobody wants any more.

use super::{Set, below, entry_name, is_granular};
use crate::schema::Schema;
use serde_json::Value;

/// The live object with the applied fields in it.
pub(super) fn merge(live: &Value, applied: &Value, schema: Option<&Schema>, root: bool) -> Value {
    match (live, applied) {
        (Value::Object(live), Value::Object(applied)) if !schema.is_some_and(|schema| schema.atomic) => {
            let mut merged = live.clone();
            for (name, value) in applied {
                let schema = below(schema, root, name);
                let value = match live.get(name) {
                    Some(live) => merge(live, value, schema, false),
                    None => value.clone(),
                };
                merged.insert(name.clone(), value);
            }
            Value::Object(merged)
        }
        (Value::Array(live), Value::Array(applied)) if is_granular(schema) => {
            let items = schema.and_then(|schema| schema.items.as_deref());
            let mut merged = live.clone();
            for entry in applied {
                let name = entry_name(schema, entry);
                match merged.iter().position(|one| entry_name(schema, one) == name) {
                    Some(at) => merged[at] = merge(&merged[at], entry, items, false),
                    None => merged.push(entry.clone()),
                }
            }
            Value::Array(merged)
        }
        _ => applied.clone(),
    }
}

/// Removes what the manager had applied before and now leaves out, unless somebody owns it.
pub(super) fn prune(value: &mut Value, before: &Set, owned: &Set, schema: Option<&Schema>, root: bool) {
    match value {
        Value::Object(fields) if !schema.is_some_and(|schema| schema.atomic) => {
            fields.retain(|name, value| {
                let field = format!("f:{name}");
                let Some(before) = before.at(&field) else { return true };
                match owned.at(&field) {
                    Some(owned) => prune(value, before, owned, below(schema, root, name), false),
                    // the object's name stays, whoever owns its labels
                    None if root && name == "metadata" => {
                        prune(value, before, &Set::default(), below(schema, root, name), false);
                    }
                    None => return false,
                }
                true
            });
        }
        Value::Array(entries) if is_granular(schema) => {
            entries.retain_mut(|entry| {
                let Some(name) = entry_name(schema, entry) else { return true };
                let Some(before) = before.at(&name) else { return true };
                let Some(owned) = owned.at(&name) else { return false };
                prune(entry, before, owned, schema.and_then(|schema| schema.items.as_deref()), false);
                true
            });
        }
        _ => {}
    }
}
