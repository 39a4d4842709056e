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
    fn is_of(&self, listed: &Value) -> bool {
        let text = |key: &str| listed[key].as_str().unwrap_or_default();
        self.name == text("manager")
            && self.applies == (listed["operation"] == "Apply")
            && self.api_version == text("apiVersion")
            && self.subresource == text("subresource")
    }

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
    object["metadata"]["managedFields"].as_array().into_iter().flatten().map(entry).collect()
}

fn entry(listed: &Value) -> Entry {
    let text = |key: &str| listed[key].as_str().unwrap_or_default().to_owned();
    Entry {
        manager: Manager {
            name: text("manager"),
            applies: listed["operation"] == "Apply",
            api_version: text("apiVersion"),
            subresource: text("subresource"),
        },
        time: listed["time"].as_str().map(str::to_owned),
        set: Set::read(&listed["fieldsV1"]),
    }
}

impl Entry {
    fn write(self) -> Value {
        let mut written = json!({
            "manager": self.manager.name, "operation": if self.manager.applies { "Apply" } else { "Update" },
            "apiVersion": self.manager.api_version, "fieldsType": "FieldsV1", "fieldsV1": self.set.write(),
        });
        if let Some(time) = self.time {
            written["time"] = time.into();
        }
        if !self.manager.subresource.is_empty() {
            written["subresource"] = self.manager.subresource.into();
        }
        written
    }
}

/// In the order in which the real server lists them.
fn store(object: &mut Value, mut list: Vec<Value>) {
    list.retain(|entry| entry["fieldsV1"].as_object().is_some_and(|fields| !fields.is_empty()));
    list.sort_by(|one, other| {
        fn key(entry: &Value) -> (bool, Option<&str>, Option<&str>) {
            (entry["operation"] != "Apply", entry["time"].as_str(), entry["manager"].as_str())
        }
        key(one).cmp(&key(other))
    });
    if list.is_empty() {
        meta::of(object).remove("managedFields");
    } else {
        meta::set(object, "managedFields", list);
    }
}

/// Notes that a manager has changed an object in the ordinary way. The new one has the managers of the old one.
pub(crate) fn track(old: Option<&Value>, new: &mut Value, schema: Option<&Schema>, manager: &Manager, now: &str) {
    let nothing = json!({"metadata": {}});
    let changes = Changes::between(old.unwrap_or(&nothing), new, schema);
    if old.is_some() && changes.are_none() {
        return;
    }
    let mut list = match meta::of(new).remove("managedFields") {
        Some(Value::Array(list)) if old.is_some() => list,
        _ => Vec::new(),
    };
    let Changes { added: mut written, modified, removed } = changes;
    written.union(&modified);
    let mut known = false;
    for listed in &mut list {
        let mine = !written.is_empty() && manager.is_of(listed);
        // most of what is listed has nothing to do with a change, and stays written as it is
        let fields = &listed["fieldsV1"];
        if mine && written.is_within(fields) && !removed.touches(fields) {
            listed["time"] = now.into();
        } else if mine || written.touches(fields) || removed.touches(fields) {
            let mut entry = entry(listed);
            entry.set = entry.set.difference(&written).difference(&removed);
            if mine {
                entry.set.union(&written);
                entry.time = Some(now.to_owned());
            }
            *listed = entry.write();
        }
        known |= mine;
    }
    if !known && !written.is_empty() {
        list.push(Entry { manager: manager.clone(), time: Some(now.to_owned()), set: written }.write());
    }
    store(new, list);
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
    store(&mut object, entries.into_iter().map(Entry::write).collect());
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
