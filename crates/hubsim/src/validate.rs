//! What must be true of an object before it is stored, and what built-in kinds get by default.

use crate::{
    answer::{FieldError, Refusal, Result},
    kinds::Kind,
    meta, names, quantity,
};
use serde_json::{Value, json};

/// The fields that `metadata` has.
pub(crate) const METADATA: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

const ANNOTATIONS: usize = 256 * 1024;

/// Everything wrong with an object. For custom resources the schema speaks too.
pub(crate) fn object(kind: &Kind, object: &Value, old: Option<&Value>, warnings: &mut Vec<String>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    // what keeps the server from going on to its rules
    let mut stopped = false;
    name(kind, object, &mut errors, &mut stopped);
    labels(object, &mut errors);
    annotations(object, &mut errors, &mut stopped);
    owners(object, &mut errors);
    finalizers(object, old, &mut errors, warnings);
    if kind.custom && old.is_some() {
        // the real server looks several times at the metadata of an update, and says as often what is wrong
        let times = |error: &FieldError| if error.field == "metadata.labels" { 3 } else { 2 };
        errors = errors.iter().flat_map(|error| vec![error.clone(); times(error)]).collect();
    }
    if let Some(schema) = &kind.schema {
        let mut content = object.clone();
        for key in ["apiVersion", "kind", "metadata"] {
            if let Some(fields) = content.as_object_mut() {
                fields.remove(key);
            }
        }
        if kind.custom {
            let before = errors.len();
            schema.check(&content, "", &mut errors);
            stopped |= errors[before..].iter().any(|error| error.reason != "FieldValueInvalid");
        }
    }
    if kind.custom && stopped {
        if kind.schema.as_ref().is_some_and(|schema| schema.rules) {
            errors.push(FieldError::rules_not_checked());
        }
    } else if kind.custom {
        rules(kind, object, old, &mut errors);
    } else {
        built_in(kind, object, old, &mut errors);
    }
    errors
}

fn name(kind: &Kind, object: &Value, errors: &mut Vec<FieldError>, stopped: &mut bool) {
    let name = meta::name(object);
    if name.is_empty() {
        errors.push(FieldError::required("metadata.name", "name or generateName is required"));
        *stopped = true;
        return;
    }
    let why = match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "namespaces" | "services") => names::label(name),
        ("rbac.authorization.k8s.io", _) => None,
        _ => names::subdomain(name),
    };
    if let Some(why) = why {
        errors.push(FieldError::invalid("metadata.name", &name.into(), why));
    }
}

fn labels(object: &Value, errors: &mut Vec<FieldError>) {
    for (key, value) in object["metadata"]["labels"].as_object().into_iter().flatten() {
        if let Some(why) = names::label_key(key) {
            errors.push(FieldError::invalid("metadata.labels", &key.as_str().into(), why));
        }
        if let Some(why) = names::label_value(value.as_str().unwrap_or_default()) {
            errors.push(FieldError::invalid("metadata.labels", value, why));
        }
    }
}

fn annotations(object: &Value, errors: &mut Vec<FieldError>, stopped: &mut bool) {
    let mut size = 0;
    for (key, value) in object["metadata"]["annotations"].as_object().into_iter().flatten() {
        // their keys may have capitals in the prefix
        if let Some(why) = names::label_key(&key.to_lowercase()) {
            errors.push(FieldError::invalid("metadata.annotations", &key.as_str().into(), why));
        }
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > ANNOTATIONS {
        errors.push(FieldError::too_long("metadata.annotations", ANNOTATIONS));
        *stopped = true;
    }
}

fn owners(object: &Value, errors: &mut Vec<FieldError>) {
    let controllers: Vec<String> = meta::owners(object)
        .filter(|owner| owner["controller"] == true)
        .map(|owner| {
            format!("{}/{}", owner["kind"].as_str().unwrap_or_default(), owner["name"].as_str().unwrap_or_default())
        })
        .collect();
    if let [one, other, ..] = &controllers[..] {
        errors.push(FieldError {
            reason: "FieldValueInvalid",
            field: "metadata.ownerReferences".to_owned(),
            message: format!(
                "Invalid value: [{}]: Only one reference can have Controller set to true. Found \"true\" in references for {one} and {other}",
                meta::owners(object).map(shown_owner).collect::<Vec<_>>().join(",")
            ),
        });
    }
    for owner in meta::owners(object) {
        for key in ["apiVersion", "kind", "name", "uid"] {
            if owner[key].as_str().unwrap_or_default().is_empty() {
                let field = format!("metadata.ownerReferences.{key}");
                errors.push(FieldError::invalid(field, &"".into(), "must not be empty"));
            }
        }
    }
}

/// An owner with its fields in Go's order.
fn shown_owner(owner: &Value) -> String {
    let fields: Vec<String> = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"]
        .into_iter()
        .filter_map(|key| owner.get(key).map(|value| format!("\"{key}\":{value}")))
        .collect();
    format!("{{{}}}", fields.join(","))
}

fn finalizers(object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>, warnings: &mut Vec<String>) {
    let before = old.map(meta::finalizers).unwrap_or_default();
    let added: Vec<&str> = meta::finalizers(object).into_iter().filter(|one| !before.contains(one)).collect();
    for finalizer in &added {
        if !finalizer.contains('/') && !matches!(*finalizer, "orphan" | "foregroundDeletion" | "kubernetes") {
            warnings.push(format!(
                "metadata.finalizers: \"{finalizer}\": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
            ));
        }
    }
    if old.is_some_and(meta::is_terminating) && !added.is_empty() {
        let list: Vec<String> = added.iter().map(|one| format!("\"{one}\"")).collect();
        errors.push(FieldError::forbidden(
            "metadata.finalizers",
            format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                list.join(", ")
            ),
        ));
    }
}

/// The rules that real definitions state in CEL, for the kinds where they matter.
fn rules(kind: &Kind, object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    if !kind.is("k8s.ovn.org", "userdefinednetworks") {
        return;
    }
    let mut rule = |field: &str, message: &str| {
        errors.push(FieldError {
            reason: "FieldValueInvalid",
            field: field.to_owned(),
            message: format!("Invalid value: {message}"),
        });
    };
    let spec = &object["spec"];
    for (topology, key) in [("Layer3", "layer3"), ("Layer2", "layer2")] {
        if (spec["topology"] == topology) != spec.get(key).is_some() {
            rule("spec", &format!("spec.{key} is required when topology is {topology} and forbidden otherwise"));
        }
    }
    if let Some(old) = old {
        for (key, title) in [("layer2", "Layer2"), ("layer3", "Layer3")] {
            if old["spec"].get(key).is_some() && old["spec"][key] != spec[key] {
                rule(&format!("spec.{key}"), &format!("{title} is immutable"));
            }
        }
        if old["spec"]["topology"] != spec["topology"] {
            rule("spec.topology", "Topology is immutable");
        }
    }
}

fn built_in(kind: &Kind, object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
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

/// etcd's limits.
pub(crate) fn size(object: &Value) -> Result<()> {
    let size = object.to_string().len();
    if size > 2 * 1024 * 1024 {
        return Err(Refusal::internal(format!(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max ({size} vs. 2097152)"
        )));
    }
    if size > 1536 * 1024 {
        return Err(Refusal::internal("etcdserver: request is too large"));
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
            normalise_quota(object);
            object["status"] = json!({});
        }
        ("", "persistentvolumeclaims") => {
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
        ("", "resourcequotas") => normalise_quota(new),
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

/// Quantities as the server writes them.
fn normalise_quota(object: &mut Value) {
    for (_, value) in object["spec"]["hard"].as_object_mut().into_iter().flatten() {
        if let Some(amount) = quantity::parse(value) {
            *value = quantity::write_like(value, amount).into();
        }
    }
}
