//! Server-side apply.

use super::{
    Api, Call, action_of, decode, query::WriteOptions, read::in_version, require, success, text, update::Way,
    write::remove,
};
use crate::{
    answer::{FieldError, Refusal, Result},
    fields::{self, Conflict},
    kinds::Kind,
    meta,
    schema::Schema,
    store::KindId,
    validate,
};
use axum::body::Body;
use http::{Response, StatusCode, header};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

impl Api {
    pub(super) fn apply(&self, id: KindId, kind: &Arc<Kind>, call: &Call) -> Result<Response<Body>> {
        let options = WriteOptions::read(&call.query, text(&call.headers, header::USER_AGENT), "PatchOptions")?;
        if call.query.text("fieldManager").is_empty() {
            let error = FieldError::required("fieldManager", "is required for apply patch");
            return Err(Refusal::invalid_options("PatchOptions", error));
        }
        let mut config = decode::yaml(&call.body)?;
        let name = call.path.name.clone().unwrap_or_default();
        let version = &call.path.version;
        right_type(kind, version, &config)?;
        if config["metadata"].get("managedFields").is_some_and(|list| !list.is_null()) {
            return Err(Refusal::bad_request("metadata.managedFields must be nil"));
        }
        let mut state = self.state();
        let mut writer = self.writer(&mut state, id, kind, call, options);
        let live = writer.state.get(id, &writer.namespace, &name);
        if meta::name(&config).is_empty() && (live.is_none() || config["metadata"].get("generateName").is_none()) {
            let undetermined = live.is_none();
            if undetermined && call.path.subresource.is_none() {
                writer.same_place(&config, &name)?;
            }
            meta::set(&mut config, "name", name.as_str());
        }
        writer.same_place(&config, &name)?;
        typed(kind, version, &name, &config)?;
        config["apiVersion"] = kind.api_version().into();
        let uid = meta::uid(&config).to_owned();
        let status_only = call.path.subresource.is_some();
        writer.applied = Some(config.clone());
        let Some(live) = live else {
            if status_only {
                return Err(Refusal::not_found(kind, &name));
            }
            if !uid.is_empty() {
                let why =
                    format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
                return Err(Refusal::conflict(kind, &name, &why));
            }
            require(writer.state, &call.user, &action_of(&call.path, "create"))?;
            meta::of(&mut config).remove("resourceVersion");
            let created = writer.create(config)?;
            return Ok(success(StatusCode::CREATED, &in_version(kind, version, &created), &writer.warnings));
        };
        if kind.custom && meta::text(&config, "resourceVersion") == "0" {
            let error = FieldError::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
            return Err(Refusal::invalid(&kind.plural, &kind.group, &name, &[error]));
        }
        if status_only {
            // the status alone counts, and whatever guards it
            let guards = ["name", "resourceVersion"].map(|key| (key, config["metadata"].get(key).cloned()));
            let status = config.get("status").cloned();
            config = json!({"apiVersion": config["apiVersion"], "kind": config["kind"], "metadata": {}});
            for (key, value) in guards {
                if let Some(value) = value {
                    config["metadata"][key] = value;
                }
            }
            if let Some(status) = status {
                config["status"] = status;
            }
        } else if kind.status {
            remove(&mut config, "status");
        }
        let now = self.clock.stamp();
        let manager = writer.manager(true);
        let force = writer.options.force;
        let merged = fields::apply(Some(&live), &config, kind.schema.as_deref(), &manager, kind.status, force, &now);
        let merged = merged.map_err(|conflicts| conflict(&conflicts))?.object;
        let updated = writer.update(&name, Way::Patch, |_| Ok(merged))?;
        Ok(success(StatusCode::OK, &in_version(kind, version, &updated), &writer.warnings))
    }
}

fn right_type(kind: &Kind, version: &str, config: &Value) -> Result<()> {
    let (api_version, got) =
        (config["apiVersion"].as_str().unwrap_or_default(), config["kind"].as_str().unwrap_or_default());
    if api_version == kind.group_version(version) && got == kind.kind {
        return Ok(());
    }
    let slashed = if api_version.contains('/') { api_version.to_owned() } else { format!("/{api_version}") };
    Err(Refusal::bad_request(format!("invalid object type: {slashed}, Kind={got}")))
}

/// An apply of fields or types that the schema does not know is an internal error on the real server.
fn typed(kind: &Kind, version: &str, name: &str, config: &Value) -> Result<()> {
    let mut wrong = Vec::new();
    for key in config["metadata"].as_object().into_iter().flatten().map(|(key, _)| key) {
        if !validate::METADATA.contains(&key.as_str()) {
            wrong.push(format!(".metadata.{key}: field not declared in schema"));
        }
    }
    if let Some(schema) = &kind.schema {
        let mut content = config.clone();
        for key in ["apiVersion", "kind", "metadata"] {
            remove(&mut content, key);
        }
        mistakes(schema, &content, "", &mut wrong);
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let group = if kind.group.is_empty() { format!("/{version}") } else { kind.group_version(version) };
    let list = if wrong.len() == 1 { wrong.remove(0) } else { format!("errors:\n  {}", wrong.join("\n  ")) };
    let namespace = meta::namespace(config);
    Err(Refusal::internal(format!(
        "failed to create typed patch object ({namespace}/{name}; {group}, Kind={}): {list}",
        kind.kind
    )))
}

fn mistakes(schema: &Schema, value: &Value, path: &str, wrong: &mut Vec<String>) {
    if schema.takes_anything() || value.is_null() {
        return;
    }
    if !schema.right_type(value) {
        let shown = match value {
            Value::String(text) => format!("\"{text}\""),
            other => other.to_string(),
        };
        let wanted = match schema.kind.as_str() {
            "object" => "map",
            "array" => "list",
            "integer" | "number" => "numeric",
            other => other,
        };
        wrong.push(format!("{path}: expected {wanted}, got &value.valueUnstructured{{Value:{shown}}}"));
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                let at = format!("{path}.{name}");
                match schema.field(name) {
                    Some(schema) => mistakes(schema, inner, &at, wrong),
                    None if schema.open || schema.kind != "object" => {}
                    None => wrong.push(format!("{at}: field not declared in schema")),
                }
            }
        }
        Value::Array(entries) => {
            for (index, entry) in entries.iter().enumerate() {
                if let Some(schema) = &schema.items {
                    mistakes(schema, entry, &format!("{path}[{index}]"), wrong);
                }
            }
        }
        _ => {}
    }
}

fn conflict(conflicts: &[Conflict]) -> Refusal {
    let causes: Vec<Value> = conflicts
        .iter()
        .map(|one| {
            json!({
                "reason": "FieldManagerConflict", "message": format!("conflict with {}", one.manager), "field": one.path,
            })
        })
        .collect();
    let message = if let [one] = conflicts {
        format!("Apply failed with 1 conflict: conflict with {}: {}", one.manager, one.path)
    } else {
        let mut by_manager: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for one in conflicts {
            by_manager.entry(&one.manager).or_default().push(&one.path);
        }
        let lines: Vec<String> = by_manager
            .into_iter()
            .flat_map(|(manager, paths)| {
                std::iter::once(format!("conflicts with {manager}:"))
                    .chain(paths.into_iter().map(|path| format!("- {path}")))
                    .collect::<Vec<_>>()
            })
            .collect();
        format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
    };
    Refusal::new(409, "Conflict", message).with_details(json!({"causes": causes}))
}
