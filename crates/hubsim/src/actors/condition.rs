//! Conditions: the list by which an object says how it is.
use super::json::{Look, list_mut, stamp};
use serde_json::{Value, json};
use time::OffsetDateTime;

/// What a condition should say. Empty reason and message are left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Say<'a> {
    pub kind: &'a str,
    pub status: &'a str,
    pub reason: &'a str,
    pub message: &'a str,
}

pub(crate) fn yes<'a>(kind: &'a str) -> Say<'a> {
    Say { kind, status: "True", reason: "", message: "" }
}

pub(crate) fn no<'a>(kind: &'a str, reason: &'a str, message: &'a str) -> Say<'a> {
    Say { kind, status: "False", reason, message }
}

pub(crate) fn find<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object.list("/status/conditions").iter().find(|c| c.text("/type") == Some(kind))
}

pub(crate) fn is(object: &Value, kind: &str, status: &str) -> bool {
    find(object, kind).is_some_and(|c| c.text("/status") == Some(status))
}

/// Whether a condition has this status and reason.
pub(crate) fn says(object: &Value, kind: &str, status: &str, reason: &str) -> bool {
    find(object, kind).is_some_and(|c| c.text("/status") == Some(status) && c.text("/reason") == Some(reason))
}

/// Sets a condition in `status`. The time of the last transition moves only with the status itself.
pub(crate) fn set(status: &mut Value, say: Say<'_>, now: OffsetDateTime) {
    write(status, json!({"lastProbeTime": null}), say, now);
}

/// The same for kinds that know no time of the last probe.
pub(crate) fn set_plain(status: &mut Value, say: Say<'_>, now: OffsetDateTime) {
    write(status, json!({}), say, now);
}

fn write(status: &mut Value, mut new: Value, say: Say<'_>, now: OffsetDateTime) {
    new["type"] = say.kind.into();
    new["status"] = say.status.into();
    if !say.reason.is_empty() {
        new["reason"] = say.reason.into();
    }
    if !say.message.is_empty() {
        new["message"] = say.message.into();
    }
    set_raw(status, new, now);
}

/// The same for a condition that exists already as JSON, e.g. on another object.
pub(crate) fn set_raw(status: &mut Value, mut new: Value, now: OffsetDateTime) {
    let list = list_mut(status, "/conditions");
    let place = list.iter().position(|c| c["type"] == new["type"]);
    let kept = place.and_then(|i| list.get(i)).filter(|old| old["status"] == new["status"]);
    new["lastTransitionTime"] = match kept.map(|old| &old["lastTransitionTime"]) {
        Some(t) if !t.is_null() => t.clone(),
        _ if new.has("/lastTransitionTime") => new["lastTransitionTime"].clone(),
        _ => stamp(now).into(),
    };
    match place {
        Some(i) => list[i] = new,
        None => list.push(new),
    }
}

/// Removes a condition from `status`; says whether it was there.
pub(crate) fn unset(status: &mut Value, kind: &str) -> bool {
    let list = list_mut(status, "/conditions");
    let before = list.len();
    list.retain(|c| c.text("/type") != Some(kind));
    before != list.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: i64) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(s).unwrap()
    }

    #[test]
    fn the_transition_time_moves_with_the_status_only() {
        let mut status = json!({});
        set(&mut status, no("Ready", "A", "first"), at(0));
        set(&mut status, no("Ready", "B", "second"), at(60));
        assert_eq!(status["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:00Z");
        assert_eq!(status["conditions"][0]["reason"], "B");
        set(&mut status, yes("Ready"), at(120));
        assert_eq!(status["conditions"][0]["lastTransitionTime"], "1970-01-01T00:02:00Z");
        assert_eq!(status["conditions"].as_array().unwrap().len(), 1);
        assert!(status["conditions"][0].get("reason").is_none());
        assert!(unset(&mut status, "Ready") && !unset(&mut status, "Ready"));
    }
}
