//! Tables for `kubectl get`, and objects cut down to their metadata.

use crate::{
    answer::{Refusal, Result},
    kinds::Kind,
    meta,
};
use serde_json::{Value, json};
use std::sync::Arc;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

pub(super) fn metadata_only(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

pub(super) fn table(kind: &Kind, objects: &[Arc<Value>], metadata: Value, include: &str, now: OffsetDateTime) -> Value {
    let columns = columns(kind);
    let definitions: Vec<Value> = columns
        .iter()
        .map(|column| {
            let format = if column.name == "Name" { "name" } else { "" };
            json!({
                "name": column.name, "type": column.kind, "format": format, "description": column.about,
                "priority": column.priority,
            })
        })
        .collect();
    let rows: Vec<Value> = objects.iter().map(|object| row(&columns, object, include, now)).collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": definitions,
        "rows": rows,
    })
}

/// One object of a watch; only the first event of a stream brings the columns.
pub(super) fn event_table(kind: &Kind, object: &Value, include: &str, now: OffsetDateTime, first: bool) -> Value {
    let version = json!({"resourceVersion": meta::text(object, "resourceVersion")});
    let mut table = table(kind, &[Arc::new(object.clone())], version, include, now);
    if !first {
        table["columnDefinitions"] = Value::Null;
    }
    table
}

/// How much of the object a table may carry.
pub(super) fn check_include(include: &str) -> Result<()> {
    if matches!(include, "" | "None" | "Metadata" | "Object") {
        return Ok(());
    }
    Err(Refusal::bad_request(format!(
        "Unable to convert to Table as requested: includeObject: Invalid value: \"{include}\": must be 'Metadata', 'Object', 'None', or empty"
    )))
}

fn row(columns: &[Shown], object: &Value, include: &str, now: OffsetDateTime) -> Value {
    let cells: Vec<Value> = columns.iter().map(|column| cell(column, object, now)).collect();
    let mut row = json!({"cells": cells});
    match include {
        "None" => row["object"] = Value::Null,
        "Object" => row["object"] = object.clone(),
        _ => row["object"] = metadata_only(object),
    }
    row
}

struct Shown {
    name: String,
    kind: String,
    path: String,
    priority: i64,
    about: String,
}

fn columns(kind: &Kind) -> Vec<Shown> {
    let shown = |name: &str, kind: &str, path: &str, about: &str| Shown {
        name: name.to_owned(),
        kind: kind.to_owned(),
        path: path.to_owned(),
        priority: 0,
        about: about.to_owned(),
    };
    let name = shown("Name", "string", ".metadata.name", "The name of the object, unique within its namespace.");
    // built-in kinds call it a string and print it alike
    let age = shown(
        "Age",
        if kind.custom { "date" } else { "string" },
        ".metadata.creationTimestamp",
        "When the object was made.",
    );
    let mut columns = vec![name];
    let own: &[(&str, &str, &str)] = match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "namespaces" | "persistentvolumeclaims" | "pods") => &[("Status", "string", ".status.phase")],
        ("", "secrets") => &[("Type", "string", ".type"), ("Data", "string", "#.data")],
        ("", "configmaps") => &[("Data", "string", "#.data")],
        ("", "resourcequotas") => &[("Request", "string", "quota:requests"), ("Limit", "string", "quota:limits")],
        _ => &[],
    };
    columns.extend(own.iter().map(|(name, kind, path)| shown(name, kind, path, "A field of the object.")));
    columns.extend(kind.columns.iter().map(|column| Shown {
        name: column.name.clone(),
        kind: column.kind.clone(),
        path: column.path.clone(),
        priority: column.priority,
        about: "A field of the object.".to_owned(),
    }));
    if kind.columns.is_empty() {
        columns.push(age);
    }
    columns
}

fn cell(column: &Shown, object: &Value, now: OffsetDateTime) -> Value {
    if let Some(which) = column.path.strip_prefix("quota:") {
        return quota_cell(object, which == "limits").into();
    }
    if let Some(path) = column.path.strip_prefix('#') {
        let found = at(object, path);
        let count = found.as_object().map_or(0, serde_json::Map::len);
        return if column.name == "Data" { count.into() } else { count.to_string().into() };
    }
    let value = at(object, &column.path);
    match (column.kind.as_str(), value) {
        (_, Value::String(time)) if column.path == ".metadata.creationTimestamp" => age(time, now).into(),
        ("date", Value::String(time)) => age(time, now).into(),
        ("date", _) => "<unknown>".into(),
        (_, Value::Null) if column.path.starts_with(".status") && column.kind == "string" => Value::Null,
        (_, value) => value.clone(),
    }
}

/// The value at a path such as `.status.phase` or `.status.conditions[?(@.type=='Ready')].status`.
fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    let Some((list, rest)) = path.split_once("[?(@.") else {
        return path.split('.').filter(|step| !step.is_empty()).fold(object, |value, step| {
            match step.strip_suffix("[0]") {
                Some(list) => &value[list][0],
                None => &value[step],
            }
        });
    };
    let Some((test, rest)) = rest.split_once(")]") else { return &Value::Null };
    let (key, wanted) = test.split_once("==").unwrap_or((test, ""));
    let wanted = wanted.trim_matches(['\'', '"']);
    let entries = at(object, list).as_array();
    entries.into_iter().flatten().find(|entry| entry[key] == wanted).map_or(&Value::Null, |entry| at(entry, rest))
}

/// How quotas read in a table: `name: used/hard` for each.
fn quota_cell(object: &Value, limits: bool) -> String {
    let hard = object["status"]["hard"].as_object();
    hard.into_iter()
        .flatten()
        .filter(|(name, _)| name.starts_with("limits") == limits)
        .map(|(name, hard)| {
            let used = object["status"]["used"][name].as_str().unwrap_or("0");
            format!("{name}: {used}/{}", hard.as_str().unwrap_or_default())
        })
        .collect::<Vec<_>>()
        .join(", ")
}

/// `5s`, `3m12s`, `4h`, `12d`: how long ago something was, as kubectl shows it.
fn age(time: &str, now: OffsetDateTime) -> String {
    let Ok(then) = OffsetDateTime::parse(time, &Rfc3339) else { return "<invalid>".to_owned() };
    let seconds = (now - then).whole_seconds().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 && seconds % 60 != 0 => format!("{minutes}m{}s", seconds % 60),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 && minutes % 60 != 0 => format!("{hours}h{}m", minutes % 60),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 && hours % 24 != 0 => format!("{days}d{}h", hours % 24),
        () => format!("{days}d"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    #[test]
    fn ages_read_as_kubectl_shows_them() {
        let now = datetime!(2030-01-10 00:00 UTC);
        assert_eq!(age("2030-01-09T23:59:55Z", now), "5s");
        assert_eq!(age("2030-01-09T23:56:48Z", now), "3m12s");
        assert_eq!(age("2030-01-09T20:00:00Z", now), "4h");
        assert_eq!(age("2029-12-29T00:00:00Z", now), "12d");
    }
}
