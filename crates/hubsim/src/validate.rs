//! What must be true of an object before it is stored.

use crate::{
    answer::{FieldError, Refusal, Result},
    built_in,
    kinds::Kind,
    meta, names,
};
use serde_json::Value;

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
        built_in::check(kind, object, old, &mut errors);
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
