//! What Kubernetes itself knows of its own kinds: checks, types and defaults.

use crate::{
    answer::{FieldError, Refusal, Result},
    kinds::Kind,
    meta, quantity,
};
use serde_json::{Value, json};

/// What is wrong with an object of a built-in kind.
pub(crate) fn check(kind: &Kind, object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "configmaps" | "secrets") => {
            let size: usize = object["data"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, value)| key.len() + value.as_str().unwrap_or_default().len())
                .sum();
            // Secrets are kept in base64, which is longer
            let limit = if kind.plural == "secrets" { 1024 * 1024 * 4 / 3 } else { 1024 * 1024 };
            if size > limit {
                errors.push(FieldError::too_long(if kind.plural == "secrets" { "data" } else { "[]" }, 1024 * 1024));
            }
            if let Some(old) = old.filter(|old| old["immutable"] == true) {
                let why = "field is immutable when `immutable` is set";
                if object["immutable"] != true {
                    errors.push(FieldError::forbidden("immutable", why));
                }
                for key in ["data", "binaryData"] {
                    if old[key] != object[key] {
                        errors.push(FieldError::forbidden(key, why));
                    }
                }
            }
            if kind.plural == "secrets" && old.is_some_and(|old| old["type"] != object["type"]) {
                errors.push(FieldError::invalid("type", &object["type"], "field is immutable"));
            }
            data_keys(object, errors);
        }
        ("", "resourcequotas") => quota_names(object, errors),
        _ => {}
    }
}

fn data_keys(object: &Value, errors: &mut Vec<FieldError>) {
    let good = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    for key in object["data"].as_object().into_iter().flatten().map(|(key, _)| key).filter(|key| !good(key)) {
        let why = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
        errors.push(FieldError::invalid(format!("data[{key}]"), &key.as_str().into(), why));
    }
    let wanted: &[&str] = match object["type"].as_str() {
        Some("kubernetes.io/tls") => &["tls.crt", "tls.key"],
        Some("kubernetes.io/dockerconfigjson") => &[".dockerconfigjson"],
        Some("kubernetes.io/ssh-auth") => &["ssh-privatekey"],
        _ => &[],
    };
    for key in wanted.iter().filter(|key| object["data"].get(**key).is_none()) {
        errors.push(FieldError::required(format!("data[{key}]"), ""));
    }
}

fn quota_names(object: &Value, errors: &mut Vec<FieldError>) {
    const STANDARD: &[&str] = &[
        "cpu",
        "memory",
        "pods",
        "services",
        "secrets",
        "configmaps",
        "resourcequotas",
        "replicationcontrollers",
        "persistentvolumeclaims",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.storage",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "services.nodeports",
        "services.loadbalancers",
    ];
    for (name, value) in object["spec"]["hard"].as_object().into_iter().flatten() {
        let field = format!("spec.hard[{name}]");
        if !name.contains('/') && !STANDARD.contains(&name.as_str()) {
            let shown = name.as_str().into();
            errors.push(FieldError::invalid(&field, &shown, "must be a standard resource type or fully qualified"));
            errors.push(FieldError::invalid(&field, &shown, "must be a standard resource for quota"));
            continue;
        }
        let Some(amount) = quantity::parse(value) else { continue };
        if amount < 0 {
            let shown = quantity::write_like(value, amount).into();
            errors.push(FieldError::invalid(field, &shown, "must be greater than or equal to 0"));
        } else if is_count(name) && amount % 1000 != 0 {
            errors.push(FieldError::invalid(field, &format!("{amount}m").into(), "must be an integer"));
        }
    }
}

/// Quota names that count whole things.
fn is_count(name: &str) -> bool {
    name.starts_with("count/")
        || matches!(name, "pods" | "services" | "secrets" | "configmaps" | "resourcequotas" | "persistentvolumeclaims")
}

/// What Go's decoder refuses in built-in kinds.
pub(crate) fn go_types(kind: &Kind, object: &Value) -> Result<()> {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let Some(schema) = kind.schema.as_ref().filter(|_| !kind.custom) else { return Ok(()) };
    if kind.is("", "secrets") {
        for text in object["data"].as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str()) {
            if let Err(error) = STANDARD.decode(text) {
                let at = match error {
                    base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => at,
                    _ => text.len(),
                };
                return Err(Refusal::bad_request(format!(
                    "Secret in version \"v1\" cannot be handled as a Secret: illegal base64 data at input byte {at}"
                )));
            }
        }
    }
    for (name, value) in object.as_object().into_iter().flatten() {
        let Some(field) = schema.properties.get(name) else { continue };
        let mut errors = Vec::new();
        field.check(value, name, &mut errors);
        let Some(error) = errors.first().filter(|error| error.reason == "FieldValueTypeInvalid" && !value.is_null())
        else {
            continue;
        };
        let at = error.field.split(['.', '[']).next().unwrap_or(name);
        let got = error.message.split('"').nth(1).unwrap_or_default();
        let got = match got {
            "integer" => "number",
            "boolean" => "bool",
            other => other,
        };
        let wanted =
            error.message.rsplit("must be of type ").next().and_then(|rest| rest.split(':').next()).unwrap_or_default();
        let wanted = match wanted {
            "boolean" => "bool",
            "object" => "map[string]string",
            "array" => "[]string",
            other => other,
        };
        return Err(Refusal::bad_request(format!(
            "{0} in version \"{1}\" cannot be handled as a {0}: json: cannot unmarshal {got} into Go struct field {0}.{at} of type {wanted}",
            kind.kind, kind.storage
        )));
    }
    Ok(())
}

/// Defaults of built-in kinds at their creation.
pub(crate) fn defaults(kind: &Kind, object: &mut Value) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "namespaces") => {
            let name = meta::name(object).to_owned();
            let metadata = meta::of(object);
            let labels = metadata.entry("labels").or_insert_with(|| json!({}));
            labels["kubernetes.io/metadata.name"] = name.into();
            object["spec"] = json!({"finalizers": ["kubernetes"]});
            object["status"] = json!({"phase": "Active"});
        }
        ("", "secrets") => {
            if object["type"].as_str().unwrap_or_default().is_empty() {
                object["type"] = "Opaque".into();
            }
            secret_text(object);
            drop_empty(object);
        }
        ("", "configmaps") => drop_empty(object),
        ("apiextensions.k8s.io", "customresourcedefinitions") => crate::crd::defaults(object),
        ("apiregistration.k8s.io", "apiservices") => object["status"] = json!({}),
        ("", "resourcequotas") => {
            normalise(object, "/spec/hard");
            object["status"] = json!({});
        }
        ("", "persistentvolumeclaims") => {
            normalise_claim(object);
            let mut finalizers = meta::finalizers(object).iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
            if !finalizers.iter().any(|one| one == PVC_PROTECTION) {
                finalizers.push(PVC_PROTECTION.to_owned());
            }
            meta::set(object, "finalizers", finalizers);
            if object["spec"]["volumeMode"].is_null() {
                object["spec"]["volumeMode"] = "Filesystem".into();
            }
            object["status"] = json!({"phase": "Pending"});
        }
        ("", "pods") => object["status"] = json!({"phase": "Pending", "qosClass": "BestEffort"}),
        ("rbac.authorization.k8s.io", "clusterrolebindings" | "rolebindings") => {
            for subject in object["subjects"].as_array_mut().into_iter().flatten() {
                if subject["apiGroup"].is_null() && subject["kind"] != "ServiceAccount" {
                    subject["apiGroup"] = "rbac.authorization.k8s.io".into();
                }
            }
        }
        _ => {}
    }
}

/// Built-in kinds do not keep empty maps.
fn drop_empty(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|key, value| key == "metadata" || value.as_object().is_none_or(|map| !map.is_empty()));
    }
}

pub(crate) const PVC_PROTECTION: &str = "kubernetes.io/pvc-protection";

pub(crate) fn defaults_on_update(kind: &Kind, old: &Value, new: &mut Value) {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "namespaces") if new["spec"]["finalizers"].is_null() => new["spec"] = old["spec"].clone(),
        ("", "secrets") => {
            if new["type"].as_str().unwrap_or_default().is_empty() {
                new["type"] = old["type"].clone();
            }
            secret_text(new);
        }
        ("", "resourcequotas") => normalise(new, "/spec/hard"),
        ("", "persistentvolumeclaims") => normalise_claim(new),
        _ => {}
    }
}

/// `stringData` is only for writing: it goes into `data`.
fn secret_text(object: &mut Value) {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let Some(fields) = object.as_object_mut() else { return };
    let Some(Value::Object(plain)) = fields.remove("stringData") else { return };
    for (key, value) in plain {
        let encoded = STANDARD.encode(value.as_str().unwrap_or_default());
        object["data"][key] = encoded.into();
    }
}

fn normalise_claim(object: &mut Value) {
    for pointer in ["/spec/resources/requests", "/spec/resources/limits", "/status/capacity"] {
        normalise(object, pointer);
    }
}

/// Quantities as the server writes them.
fn normalise(object: &mut Value, pointer: &str) {
    for (_, value) in object.pointer_mut(pointer).and_then(Value::as_object_mut).into_iter().flatten() {
        if let Some(amount) = quantity::parse(value) {
            *value = quantity::write_like(value, amount).into();
        }
    }
}
