//! The list of managers: reading it, tracking updates in it, and applying.

use super::{
    Set,
    compare::{Changes, fields_of, strip},
    merge::{merge, prune},
};
use crate::{meta, schema::Schema};
use serde_json::{Value, json};

/// Who writes, how and through what.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Manager {
    pub name: String,
    pub applies: bool,
    pub api_version: String,
    pub subresource: String,
}

impl Manager {
    /// How conflicts name a manager.
    fn shown(&self) -> String {
        let mut text = format!("\"{}\"", self.name);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource \"{}\"", self.subresource));
        }
        if !self.applies {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }
}

struct Entry {
    manager: Manager,
    time: Option<String>,
    set: Set,
}

/// A field that somebody else owns.
#[derive(Debug, Clone)]
pub(crate) struct Conflict {
    pub manager: String,
    pub path: String,
}

/// What an apply comes to.
pub(crate) struct Applied {
    pub object: Value,
}

fn entries(object: &Value) -> Vec<Entry> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    object["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| Entry {
            manager: Manager {
                name: text(&entry["manager"]),
                applies: entry["operation"] == "Apply",
                api_version: text(&entry["apiVersion"]),
                subresource: text(&entry["subresource"]),
            },
            time: entry["time"].as_str().map(str::to_owned),
            set: Set::read(&entry["fieldsV1"]),
        })
        .collect()
}

fn store(object: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|entry| !entry.set.is_empty());
    entries.sort_by(|one, other| {
        let key = |entry: &Entry| (!entry.manager.applies, entry.time.clone(), entry.manager.name.clone());
        key(one).cmp(&key(other))
    });
    let list: Vec<Value> = entries
        .iter()
        .map(|entry| {
            let mut written = json!({
                "manager": entry.manager.name, "operation": if entry.manager.applies { "Apply" } else { "Update" },
                "apiVersion": entry.manager.api_version, "fieldsType": "FieldsV1", "fieldsV1": entry.set.write(),
            });
            if let Some(time) = &entry.time {
                written["time"] = time.as_str().into();
            }
            if !entry.manager.subresource.is_empty() {
                written["subresource"] = entry.manager.subresource.as_str().into();
            }
            written
        })
        .collect();
    if list.is_empty() {
        meta::of(object).remove("managedFields");
    } else {
        meta::set(object, "managedFields", list);
    }
}

/// Notes that a manager has changed an object in the ordinary way.
pub(crate) fn track(old: Option<&Value>, new: &mut Value, schema: Option<&Schema>, manager: &Manager, now: &str) {
    let nothing = json!({"metadata": {}});
    let changes = Changes::between(old.unwrap_or(&nothing), new, schema);
    let mut entries = old.map(entries).unwrap_or_default();
    if !changes.are_none() {
        let mut written = changes.modified.clone();
        written.union(&changes.added);
        for entry in &mut entries {
            entry.set = entry.set.difference(&written).difference(&changes.removed);
        }
        if !written.is_empty() {
            let own = entries.iter_mut().find(|entry| entry.manager == *manager);
            match own {
                Some(own) => {
                    own.set.union(&written);
                    own.time = Some(now.to_owned());
                }
                None => entries.push(Entry { manager: manager.clone(), time: Some(now.to_owned()), set: written }),
            }
        }
    }
    store(new, entries);
}

/// Applies: the merged object with its managers, or the conflicts that stand against it.
pub(crate) fn apply(
    live: Option<&Value>,
    config: &Value,
    schema: Option<&Schema>,
    manager: &Manager,
    has_status: bool,
    force: bool,
    now: &str,
) -> Result<Applied, Vec<Conflict>> {
    let mut set = fields_of(config, schema);
    strip(&mut set);
    if manager.subresource == "status" {
        set.keep_only("f:status");
    } else if has_status {
        set.remove("f:status");
    }
    let nothing = json!({"metadata": {}});
    let base = live.unwrap_or(&nothing);
    let mut entries = entries(base);
    let at = entries.iter().position(|entry| entry.manager == *manager);
    let before = at.map(|at| entries[at].set.clone()).unwrap_or_default();
    match at {
        Some(at) => entries[at].set = set,
        None => entries.push(Entry { manager: manager.clone(), time: None, set }),
    }
    let mut owned = Set::default();
    entries.iter().for_each(|entry| owned.union(&entry.set));
    let mut object = merge(base, config, schema, true);
    prune(&mut object, &before, &owned, schema, true);
    let changes = Changes::between(base, &object, schema);
    let mut written = changes.modified.clone();
    written.union(&changes.added);
    let mut conflicts = Vec::new();
    for entry in entries.iter_mut().filter(|entry| entry.manager != *manager) {
        let contested = entry.set.intersection(&written);
        conflicts.extend(contested.paths().into_iter().map(|path| Conflict { manager: entry.manager.shown(), path }));
        entry.set = entry.set.difference(&contested).difference(&changes.removed);
    }
    if !force && !conflicts.is_empty() {
        return Err(conflicts);
    }
    // an apply that changes no value leaves the time as it was, even none
    if let Some(own) =
        entries.iter_mut().find(|entry| entry.manager == *manager && (!changes.are_none() || live.is_none()))
    {
        own.time = Some(now.to_owned());
    }
    store(&mut object, entries);
    Ok(Applied { object })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manager(name: &str, applies: bool) -> Manager {
        Manager { name: name.to_owned(), applies, api_version: "v1".to_owned(), subresource: String::new() }
    }

    fn applied(live: Option<&Value>, config: &Value, name: &str, force: bool) -> Result<Value, Vec<Conflict>> {
        apply(live, config, None, &manager(name, true), false, force, "now").map(|applied| applied.object)
    }

    #[test]
    fn a_field_left_out_goes_unless_another_owns_it_too() {
        let one = applied(None, &json!({"spec": {"a": 1, "b": 2}}), "one", false).unwrap();
        let both = applied(Some(&one), &json!({"spec": {"b": 2}}), "other", false).unwrap();
        let less = applied(Some(&both), &json!({"spec": {}}), "one", false).unwrap();
        assert_eq!(less["spec"], json!({"b": 2}));
    }

    #[test]
    fn another_value_conflicts_until_it_is_forced() {
        let one = applied(None, &json!({"spec": {"a": 1}}), "one", false).unwrap();
        let conflicts = applied(Some(&one), &json!({"spec": {"a": 2}}), "other", false).unwrap_err();
        assert_eq!((conflicts[0].manager.as_str(), conflicts[0].path.as_str()), ("\"one\"", ".spec.a"));
        let forced = applied(Some(&one), &json!({"spec": {"a": 2}}), "other", true).unwrap();
        assert_eq!(forced["metadata"]["managedFields"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn an_update_takes_fields_over() {
        let one = applied(None, &json!({"spec": {"a": 1, "b": 2}}), "one", false).unwrap();
        let mut new = one.clone();
        new["spec"]["a"] = json!(5);
        track(Some(&one), &mut new, None, &manager("two", false), "later");
        let conflicts = applied(Some(&new), &json!({"spec": {"a": 1, "b": 2}}), "one", false).unwrap_err();
        assert_eq!(conflicts[0].manager, "\"two\" using v1");
    }
}
