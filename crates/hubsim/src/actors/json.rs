//! Short words for reading and writing objects, which are plain JSON here.
use serde_json::{Map, Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

pub(crate) trait Look {
    /// The text at a JSON pointer, if it is one and not empty.
    fn text(&self, pointer: &str) -> Option<&str>;
    /// The list at a JSON pointer; none is an empty one.
    fn list(&self, pointer: &str) -> &[Value];
    fn int(&self, pointer: &str) -> Option<i64>;
    fn flag(&self, pointer: &str) -> bool;
    /// Whether something other than null stands at a JSON pointer.
    fn has(&self, pointer: &str) -> bool;
    fn name(&self) -> &str;
    fn namespace(&self) -> &str;
    fn uid(&self) -> &str;
    fn label(&self, key: &str) -> Option<&str>;
    fn annotation(&self, key: &str) -> Option<&str>;
    fn dying(&self) -> bool;
}

impl Look for Value {
    fn text(&self, pointer: &str) -> Option<&str> {
        self.pointer(pointer).and_then(Value::as_str).filter(|s| !s.is_empty())
    }

    fn list(&self, pointer: &str) -> &[Value] {
        self.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn int(&self, pointer: &str) -> Option<i64> {
        self.pointer(pointer).and_then(Value::as_i64)
    }

    fn flag(&self, pointer: &str) -> bool {
        self.pointer(pointer).and_then(Value::as_bool).unwrap_or(false)
    }

    fn has(&self, pointer: &str) -> bool {
        self.pointer(pointer).is_some_and(|v| !v.is_null())
    }

    fn name(&self) -> &str {
        self.text("/metadata/name").unwrap_or_default()
    }

    fn namespace(&self) -> &str {
        self.text("/metadata/namespace").unwrap_or_default()
    }

    fn uid(&self) -> &str {
        self.text("/metadata/uid").unwrap_or_default()
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.pointer("/metadata/labels")?.get(key)?.as_str()
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.pointer("/metadata/annotations")?.get(key)?.as_str()
    }

    fn dying(&self) -> bool {
        self.has("/metadata/deletionTimestamp")
    }
}

/// Puts a value at a JSON pointer, making the objects on the way. Lists on the way are not entered.
pub(crate) fn put(into: &mut Value, pointer: &str, value: Value) {
    let mut here = into;
    for part in pointer.trim_start_matches('/').split('/') {
        if !here.is_object() {
            *here = Value::Object(Map::new());
        }
        let Some(map) = here.as_object_mut() else { return };
        here = map.entry(part.replace("~1", "/").replace("~0", "~")).or_insert(Value::Null);
    }
    *here = value;
}

/// Puts a value where there is none yet; says whether it did.
pub(crate) fn put_missing(into: &mut Value, pointer: &str, value: impl FnOnce() -> Value) -> bool {
    let missing = match into.pointer(pointer) {
        None | Some(Value::Null) => true,
        Some(Value::String(s)) => s.is_empty(),
        Some(_) => false,
    };
    if missing {
        put(into, pointer, value());
    }
    missing
}

/// Takes a field away; says whether it was there.
pub(crate) fn remove(from: &mut Value, pointer: &str) -> bool {
    let Some((parent, key)) = pointer.rsplit_once('/') else { return false };
    from.pointer_mut(parent)
        .and_then(Value::as_object_mut)
        .is_some_and(|map| map.remove(&key.replace("~1", "/").replace("~0", "~")).is_some())
}

pub(crate) fn list_mut<'a>(of: &'a mut Value, pointer: &str) -> &'a mut Vec<Value> {
    if !of.pointer(pointer).is_some_and(Value::is_array) {
        put(of, pointer, json!([]));
    }
    match of.pointer_mut(pointer) {
        Some(Value::Array(list)) => list,
        _ => unreachable!("a list was just put at {pointer}"),
    }
}

pub(crate) fn stamp(t: OffsetDateTime) -> String {
    t.replace_nanosecond(0).unwrap_or(t).format(&Rfc3339).unwrap_or_default()
}

pub(crate) fn parse_stamp(s: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(s, &Rfc3339).ok()
}

/// The reference by which `owner` controls what is made for it.
pub(crate) fn controlled_by(owner: &Value) -> Value {
    json!([{
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner.name(),
        "uid": owner.uid(),
        "controller": true,
        "blockOwnerDeletion": true,
    }])
}

pub(crate) fn controller_of(object: &Value) -> Option<&Value> {
    object.list("/metadata/ownerReferences").iter().find(|r| r.flag("/controller"))
}

pub(crate) fn is_controlled_by(object: &Value, owner: &Value) -> bool {
    controller_of(object).is_some_and(|r| r.text("/uid") == Some(owner.uid()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_put_makes_what_is_missing_on_the_way_and_knows_escaped_keys() {
        let mut v = json!({});
        put(&mut v, "/metadata/annotations/a.b~1c", json!("x"));
        assert_eq!(v, json!({"metadata": {"annotations": {"a.b/c": "x"}}}));
        assert_eq!(v.annotation("a.b/c"), Some("x"));
        assert!(remove(&mut v, "/metadata/annotations/a.b~1c"));
        assert!(!remove(&mut v, "/metadata/annotations/a.b~1c"));
    }

    #[test]
    fn only_what_is_missing_null_or_empty_is_filled() {
        let mut v = json!({"a": "", "b": null, "c": 0, "d": false});
        for (key, filled) in [("/a", true), ("/b", true), ("/c", false), ("/d", false), ("/e", true)] {
            assert_eq!(put_missing(&mut v, key, || json!(1)), filled, "{key}");
        }
    }

    #[test]
    fn stamps_have_whole_seconds() {
        let t = OffsetDateTime::from_unix_timestamp_nanos(1_700_000_000_123_456_789).unwrap();
        assert_eq!(stamp(t), "2023-11-14T22:13:20Z");
        assert_eq!(parse_stamp("2023-11-14T22:13:20Z").map(OffsetDateTime::unix_timestamp), Some(1_700_000_000));
    }
}
