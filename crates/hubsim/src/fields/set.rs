//! Sets of fields, as a tree, in the form `fieldsV1` has.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Fields by their names as `fieldsV1` writes them: `f:` a field, `k:` an entry by key, `v:` an entry by value.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Set(BTreeMap<String, Node>);

#[derive(Debug, Clone, Default, PartialEq)]
struct Node {
    /// The field itself is in the set, not only what is below it.
    member: bool,
    below: Set,
}

impl Set {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn insert(&mut self, path: &[String]) {
        let Some((first, rest)) = path.split_first() else { return };
        let node = self.0.entry(first.clone()).or_default();
        if rest.is_empty() {
            node.member = true;
        } else {
            node.below.insert(rest);
        }
    }

    /// What is in the set below a field; none if neither the field nor anything below it is.
    pub(super) fn at(&self, name: &str) -> Option<&Self> {
        self.0.get(name).map(|node| &node.below)
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    pub(super) fn keep_only(&mut self, name: &str) {
        self.0.retain(|key, _| key == name);
    }

    /// Removes fields directly below a field, and the field if nothing is left.
    pub(super) fn strip(&mut self, name: &str, fields: &[&str]) {
        if let Some(node) = self.0.get_mut(name) {
            node.member = false;
            node.below.0.retain(|key, _| !fields.contains(&key.as_str()));
            if node.below.is_empty() {
                self.0.remove(name);
            }
        }
    }

    pub(super) fn union(&mut self, other: &Self) {
        for (name, node) in &other.0 {
            let mine = self.0.entry(name.clone()).or_default();
            mine.member |= node.member;
            mine.below.union(&node.below);
        }
    }

    pub(super) fn difference(&self, other: &Self) -> Self {
        self.combine(other, |mine, others| mine && !others)
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |mine, others| mine && others)
    }

    /// Is anything of it in `fieldsV1`?
    pub(super) fn touches(&self, fields: &Value) -> bool {
        self.0.iter().any(|(name, node)| {
            fields.get(name).is_some_and(|inner| node.member && is_member(inner) || node.below.touches(inner))
        })
    }

    /// Is all of it in `fieldsV1`?
    pub(super) fn is_within(&self, fields: &Value) -> bool {
        self.0.iter().all(|(name, node)| {
            fields.get(name).is_some_and(|inner| (!node.member || is_member(inner)) && node.below.is_within(inner))
        })
    }

    fn combine(&self, other: &Self, keep: impl Fn(bool, bool) -> bool + Copy) -> Self {
        let nothing = Node::default();
        let mut result = Self::default();
        for (name, node) in &self.0 {
            let theirs = other.0.get(name).unwrap_or(&nothing);
            let member = keep(node.member, theirs.member);
            let below = node.below.combine(&theirs.below, keep);
            if member || !below.is_empty() {
                result.0.insert(name.clone(), Node { member, below });
            }
        }
        result
    }

    /// The members as texts such as `.spec.tags[name="a"].value`.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (name, node) in &self.0 {
            let shown = shown(name);
            if node.member {
                found.push(shown.clone());
            }
            found.extend(node.below.paths().into_iter().map(|path| format!("{shown}{path}")));
        }
        found
    }

    pub(crate) fn write(&self) -> Value {
        let mut fields = Map::new();
        for (name, node) in &self.0 {
            let mut value = node.below.write();
            if node.member && !node.below.is_empty() {
                value["."] = json!({});
            }
            fields.insert(name.clone(), value);
        }
        Value::Object(fields)
    }

    pub(crate) fn read(value: &Value) -> Self {
        let mut set = Self::default();
        for (name, inner) in value.as_object().into_iter().flatten().filter(|(name, _)| *name != ".") {
            set.0.insert(name.clone(), Node { member: is_member(inner), below: Self::read(inner) });
        }
        set
    }
}

fn is_member(inner: &Value) -> bool {
    inner.as_object().is_none_or(Map::is_empty) || inner.get(".").is_some()
}

fn shown(name: &str) -> String {
    match name.split_at_checked(2) {
        Some(("f:", field)) => format!(".{field}"),
        Some(("k:", key)) => {
            let keys: Map<String, Value> = serde_json::from_str(key).unwrap_or_default();
            let list: Vec<String> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!("[{}]", list.join(","))
        }
        Some(("v:", value)) => format!("[={value}]"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Set {
        Set::read(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn a_set_reads_back_as_it_was_written() {
        let text = r#"{"f:spec":{".":{},"f:tags":{"k:{\"name\":\"a\"}":{".":{},"f:value":{}}}}}"#;
        assert_eq!(set(text).write().to_string(), text);
        assert_eq!(set(text).paths(), [".spec", ".spec.tags[name=\"a\"]", ".spec.tags[name=\"a\"].value"]);
    }

    #[test]
    fn differences_and_intersections_go_by_member() {
        let (one, other) = (set(r#"{"f:a":{"f:b":{},"f:c":{}}}"#), set(r#"{"f:a":{".":{},"f:b":{}}}"#));
        assert_eq!(one.difference(&other), set(r#"{"f:a":{"f:c":{}}}"#));
        assert_eq!(one.intersection(&other), set(r#"{"f:a":{"f:b":{}}}"#));
        assert!(one.touches(&other.write()) && !one.is_within(&other.write()));
        let (below, itself) = (set(r#"{"f:a":{"f:b":{}}}"#), set(r#"{"f:a":{}}"#));
        assert!(below.is_within(&one.write()) && !below.touches(&itself.write()));
        assert!(!itself.is_within(&one.write()) && itself.is_within(&other.write()));
    }
}
