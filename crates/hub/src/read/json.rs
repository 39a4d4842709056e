//! Small steps through JSON of which any part may be missing or of another type.
use serde_json::Value;
use std::collections::BTreeMap;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// As `Value::pointer`, for names without escapes in them, of which it would make a copy each.
pub(super) fn at<'a>(v: &'a Value, pointer: &str) -> Option<&'a Value> {
    pointer.split('/').skip(1).try_fold(v, |v, name| match v {
        Value::Array(all) => all.get(name.parse::<usize>().ok()?),
        v => v.get(name),
    })
}

pub(super) fn text<'a>(v: &'a Value, pointer: &str) -> &'a str {
    at(v, pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn owned(v: &Value, pointer: &str) -> String {
    text(v, pointer).to_owned()
}

/// None where it is missing or empty.
pub(super) fn some(v: &Value, pointer: &str) -> Option<String> {
    Some(text(v, pointer)).filter(|t| !t.is_empty()).map(str::to_owned)
}

pub(super) fn list<'a>(v: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    at(v, pointer).and_then(Value::as_array).into_iter().flatten()
}

pub(super) fn number(v: &Value, pointer: &str) -> Option<i64> {
    at(v, pointer).and_then(Value::as_i64)
}

pub(super) fn time(v: &Value, pointer: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(at(v, pointer)?.as_str()?, &Rfc3339).ok()
}

/// A value under a key that has slashes in it: labels and annotations.
pub(super) fn keyed<'a>(v: &'a Value, map: &str, key: &str) -> &'a str {
    at(v, map).and_then(|m| m.get(key)).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn map(v: &Value, pointer: &str) -> BTreeMap<String, String> {
    let entries = at(v, pointer).and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect()
}

/// The condition of a type.
pub(super) fn condition<'a>(v: &'a Value, kind: &str) -> Option<&'a Value> {
    list(v, "/status/conditions").find(|c| c["type"] == kind)
}

pub(super) fn holds(v: &Value, kind: &str) -> bool {
    condition(v, kind).is_some_and(|c| c["status"] == "True")
}

/// "Reason: message" of a condition.
pub(super) fn because(c: &Value) -> String {
    match (text(c, "/reason"), text(c, "/message")) {
        ("", m) => m.to_owned(),
        (r, "") => r.to_owned(),
        (r, m) => format!("{r}: {m}"),
    }
}
