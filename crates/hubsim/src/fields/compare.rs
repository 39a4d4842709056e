//! Which fields an object has, and which of them differ between two states.

use super::{Set, below, entry_name, is_granular};
use crate::schema::Schema;
use serde_json::Value;
use std::collections::BTreeMap;

/// The fields of an applied object. Objects in between do not count, entries of lists do.
pub(super) fn fields_of(object: &Value, schema: Option<&Schema>) -> Set {
    let mut set = Set::default();
    collect(object, schema, &mut Vec::new(), &mut set);
    set
}

fn collect(value: &Value, schema: Option<&Schema>, path: &mut Vec<String>, set: &mut Set) {
    match value {
        Value::Object(fields) if !schema.is_some_and(|schema| schema.atomic) => {
            if fields.is_empty() {
                set.insert(path);
            }
            for (name, inner) in fields {
                let schema = below(schema, path.is_empty(), name);
                path.push(format!("f:{name}"));
                collect(inner, schema, path, set);
                path.pop();
            }
        }
        Value::Array(entries) if is_granular(schema) => {
            if entries.is_empty() {
                set.insert(path);
            }
            for entry in entries {
                let Some(name) = entry_name(schema, entry) else { continue };
                path.push(name);
                set.insert(path);
                collect(entry, schema.and_then(|schema| schema.items.as_deref()), path, set);
                path.pop();
            }
        }
        _ => set.insert(path),
    }
}

#[derive(Debug, Default)]
pub(super) struct Changes {
    pub added: Set,
    pub modified: Set,
    pub removed: Set,
}

impl Changes {
    pub(super) fn between(old: &Value, new: &Value, schema: Option<&Schema>) -> Self {
        let mut changes = Self::default();
        changes.walk(Some(old), Some(new), schema, &mut Vec::new());
        for set in [&mut changes.added, &mut changes.modified, &mut changes.removed] {
            strip(set);
        }
        changes
    }

    pub(super) fn are_none(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    fn walk(&mut self, old: Option<&Value>, new: Option<&Value>, schema: Option<&Schema>, path: &mut Vec<String>) {
        if old == new {
            return;
        }
        let children = match (old, new) {
            (Some(old), Some(new)) if std::mem::discriminant(old) != std::mem::discriminant(new) => None,
            _ => children(old, new, schema, path.is_empty()),
        };
        let (Some(children), false) = (children, old.is_none() && new.is_none()) else {
            match (old, new) {
                (None, _) => self.added.insert(path),
                (_, None) => self.removed.insert(path),
                _ => self.modified.insert(path),
            }
            return;
        };
        for (name, (old, new, schema)) in children {
            path.push(name);
            self.walk(old, new, schema, path);
            path.pop();
        }
        match (old, new) {
            (None, Some(_)) => self.added.insert(path),
            (Some(_), None) => self.removed.insert(path),
            _ => {}
        }
    }
}

type Pair<'a> = (Option<&'a Value>, Option<&'a Value>, Option<&'a Schema>);

/// What is to be compared one by one. `None`: the value is a leaf.
fn children<'a>(
    old: Option<&'a Value>,
    new: Option<&'a Value>,
    schema: Option<&'a Schema>,
    root: bool,
) -> Option<BTreeMap<String, Pair<'a>>> {
    let mut found: BTreeMap<String, Pair<'a>> = BTreeMap::new();
    let mut side = |value: Option<&'a Value>, is_new: bool| -> Option<()> {
        let mut put = |name: String, value: &'a Value, schema: Option<&'a Schema>| {
            let pair = found.entry(name).or_insert((None, None, schema));
            if is_new { pair.1 = Some(value) } else { pair.0 = Some(value) }
        };
        match value {
            None => {}
            Some(Value::Object(fields)) if !schema.is_some_and(|schema| schema.atomic) => {
                for (name, value) in fields {
                    put(format!("f:{name}"), value, below(schema, root, name));
                }
            }
            Some(Value::Array(entries)) if is_granular(schema) => {
                for entry in entries {
                    put(entry_name(schema, entry)?, entry, schema.and_then(|schema| schema.items.as_deref()));
                }
            }
            Some(_) => return None,
        }
        Some(())
    };
    side(old, false)?;
    side(new, true)?;
    // two empty maps differ in nothing; one that comes or goes is a leaf
    (!found.is_empty()).then_some(found)
}

/// Takes out what nobody can own.
pub(super) fn strip(set: &mut Set) {
    for name in ["f:apiVersion", "f:kind"] {
        set.remove(name);
    }
    set.strip("f:metadata", &super::UNOWNED);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_added_counts_with_the_objects_it_is_in() {
        let changes = Changes::between(&json!({}), &json!({"spec": {"a": 1, "b": {}}}), None);
        assert_eq!(changes.added.write(), json!({"f:spec": {".": {}, "f:a": {}, "f:b": {}}}));
        assert!(changes.removed.is_empty() && changes.modified.is_empty());
    }

    #[test]
    fn changes_and_removals_are_told_apart() {
        let changes = Changes::between(&json!({"a": 1, "b": 2, "c": [1]}), &json!({"a": 2, "c": [2]}), None);
        assert_eq!(changes.modified.write(), json!({"f:a": {}, "f:c": {}}));
        assert_eq!(changes.removed.write(), json!({"f:b": {}}));
    }
}
