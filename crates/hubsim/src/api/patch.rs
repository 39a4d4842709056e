//! JSON patches, merge patches and strategic merge patches.

use super::{
    Api, Call, decode,
    query::{Validation, WriteOptions},
    read::in_version,
    success, text,
    update::Way,
};
use crate::{
    answer::{FieldError, Refusal, Result},
    kinds::Kind,
    store::KindId,
};
use axum::body::Body;
use http::{Response, StatusCode, header};
use serde_json::{Value, json};
use std::sync::Arc;

enum Patch {
    Json(Vec<Value>),
    Merge(Value),
    Strategic(Value),
}

impl Api {
    pub(super) fn patch(&self, id: KindId, kind: &Arc<Kind>, call: &Call) -> Result<Response<Body>> {
        let media_type = decode::media_type(&call.headers);
        if media_type == "application/apply-patch+yaml" {
            return self.apply(id, kind, call);
        }
        let options = WriteOptions::read(&call.query, text(&call.headers, header::USER_AGENT), "PatchOptions")?;
        let patch = read(kind, media_type, &call.body)?;
        if call.query.get("force").is_some() {
            let error = FieldError::forbidden("force", "may not be specified for non-apply patch");
            return Err(Refusal::invalid_options("PatchOptions", error));
        }
        let mut state = self.state();
        let mut writer = self.writer(&mut state, id, kind, call, options);
        let name = call.path.name.clone().unwrap_or_default();
        let old = writer.state.get(id, &writer.namespace, &name).ok_or_else(|| Refusal::not_found(kind, &name))?;
        let mut new = apply_patch(&old, &patch)?;
        let patched = (writer.options.validation == Validation::Strict).then(|| new.clone());
        writer.same_place(&new, &name)?;
        let dropped = writer.prune(&mut new);
        if !dropped.is_empty() {
            let told: Vec<String> = dropped.iter().map(|path| format!("unknown field \"{path}\"")).collect();
            match writer.options.validation {
                Validation::Strict => return Err(strict(&patched.unwrap_or_default(), &told)),
                Validation::Warn => writer.warnings.extend(told),
                Validation::Ignore => {}
            }
        }
        let updated = writer.update(&name, Way::Patch, |_| Ok(new))?;
        Ok(success(StatusCode::OK, &in_version(kind, &call.path.version, &updated), &writer.warnings))
    }
}

fn strict(patched: &Value, told: &[String]) -> Refusal {
    let why = format!("strict decoding error: {}", told.join(", "));
    let error = FieldError::invalid("patch", &patched.to_string().into(), why);
    Refusal::invalid("", "", "", &[error])
}

fn read(kind: &Kind, media_type: &str, body: &[u8]) -> Result<Patch> {
    let parsed = || {
        serde_json::from_slice::<Value>(body)
            .map_err(|_| Refusal::bad_request(format!("error decoding patch: {}", decode::complaint(body))))
    };
    match media_type {
        "application/json-patch+json" => match parsed()? {
            Value::Array(steps) => Ok(Patch::Json(steps)),
            other => {
                let got = crate::schema::type_name(&other);
                Err(Refusal::bad_request(format!(
                    "error decoding patch: json: cannot unmarshal {got} into Go value of type []handlers.jsonPatchOp"
                )))
            }
        },
        "application/merge-patch+json" => Ok(Patch::Merge(parsed()?)),
        "application/strategic-merge-patch+json" if !kind.custom => Ok(Patch::Strategic(parsed()?)),
        _ if kind.custom => Err(Refusal::unsupported_media_type(
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
        _ => Err(Refusal::new(415, "UnsupportedMediaType", "415: Unsupported Media Type").with_details(json!({}))),
    }
}

fn apply_patch(old: &Value, patch: &Patch) -> Result<Value> {
    let mut new = old.clone();
    match patch {
        Patch::Merge(patch) => json_patch::merge(&mut new, patch),
        Patch::Strategic(patch) => strategic(&mut new, patch, ""),
        Patch::Json(steps) => {
            // the real server takes a replace of what is missing for an add
            let rejected = || {
                Refusal::new(422, "Invalid", "the server rejected our request due to an error in our request")
                    .with_details(json!({}))
            };
            for step in steps {
                let mut step = step.clone();
                let missing = step["path"].as_str().is_some_and(|path| new.pointer(path).is_none());
                if step["op"] == "replace" && missing {
                    step["op"] = "add".into();
                }
                let operation: json_patch::PatchOperation = serde_json::from_value(step).map_err(|_| rejected())?;
                json_patch::patch(&mut new, &[operation]).map_err(|_| rejected())?;
            }
        }
    }
    Ok(new)
}

/// Merges lists of things by their key, as built-in kinds define it; everything else as a merge patch.
fn strategic(target: &mut Value, patch: &Value, name: &str) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            if patch.get("$patch").is_some_and(|directive| directive == "replace") {
                target.clear();
            }
            for (key, value) in patch.iter().filter(|(key, _)| !key.starts_with('$')) {
                if value.is_null() {
                    target.remove(key);
                } else {
                    strategic(target.entry(key.clone()).or_insert(Value::Null), value, key);
                }
            }
            for (key, gone) in
                patch.iter().filter_map(|(key, gone)| Some((key.strip_prefix("$deleteFromPrimitiveList/")?, gone)))
            {
                if let (Some(Value::Array(list)), Value::Array(gone)) = (target.get_mut(key), gone) {
                    list.retain(|one| !gone.contains(one));
                }
            }
        }
        (target, Value::Array(entries)) => {
            let merged = match (key_of(name), &*target) {
                (Some(key), Value::Array(present)) => merge_list(present, entries, key),
                (None, Value::Array(present)) if name == "finalizers" => {
                    let fresh = entries.iter().filter(|one| !present.contains(one));
                    present.iter().chain(fresh).cloned().collect()
                }
                _ => entries.iter().map(plain).collect(),
            };
            *target = Value::Array(merged);
        }
        (target, patch) => *target = plain(patch),
    }
}

fn plain(patch: &Value) -> Value {
    let mut value = Value::Null;
    if patch.is_object() {
        value = json!({});
        strategic(&mut value, patch, "");
    } else if !patch.is_null() {
        value = patch.clone();
    }
    value
}

fn merge_list(present: &[Value], entries: &[Value], key: &str) -> Vec<Value> {
    let mut merged = present.to_vec();
    for entry in entries {
        let at = merged.iter().position(|one| one[key] == entry[key]);
        match (at, entry["$patch"] == "delete") {
            (Some(at), true) => drop(merged.remove(at)),
            (Some(at), false) => strategic(&mut merged[at], entry, ""),
            (None, true) => {}
            (None, false) => merged.push(plain(entry)),
        }
    }
    merged
}

/// The key by which a list of a built-in kind is merged.
fn key_of(list: &str) -> Option<&'static str> {
    match list {
        "ownerReferences" => Some("uid"),
        "containers" | "initContainers" | "volumes" | "env" | "imagePullSecrets" | "secrets" => Some("name"),
        "conditions" => Some("type"),
        "ports" => Some("port"),
        "taints" => Some("key"),
        "addresses" => Some("type"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategic_patch_merges_conditions_by_type_and_deletes_by_directive() {
        let mut object = json!({"status": {"conditions": [{"type": "A", "status": "True"}, {"type": "B"}]}});
        let patch = json!({"status": {"conditions": [{"type": "A", "status": "False"}, {"type": "B", "$patch": "delete"}, {"type": "C"}]}});
        strategic(&mut object, &patch, "");
        assert_eq!(object, json!({"status": {"conditions": [{"type": "A", "status": "False"}, {"type": "C"}]}}));
    }
}
