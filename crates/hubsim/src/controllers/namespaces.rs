//! The life of a namespace: what it gets when it is born, and how it ends.

use super::delete;
use crate::{
    answer::Result,
    api::Api,
    meta,
    store::{Reference, State},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The default service account and the certificate of the API server.
pub(super) fn furnish(api: &Api, state: &mut State, name: &str) -> Result<()> {
    let alive = state.by_name("", "namespaces", "", name).is_some_and(|found| !meta::is_terminating(&found));
    if !alive {
        return Ok(());
    }
    let about = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";
    let objects = [
        ("serviceaccounts", json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})),
        (
            "configmaps",
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "kube-root-ca.crt", "annotations": {"kubernetes.io/description": about}},
                "data": {"ca.crt": api.identity.ca},
            }),
        ),
    ];
    for (plural, mut object) in objects {
        let Some(id) = state.find("", plural) else { continue };
        if state.get(id, name, meta::name(&object)).is_none() {
            meta::set(&mut object, "namespace", name);
            meta::set(&mut object, "uid", crate::new_uid());
            meta::set(&mut object, "creationTimestamp", api.clock.stamp());
            state.put(id, object)?;
        }
    }
    Ok(())
}

/// Deletes what is left in a terminating namespace; removes it when nothing is, else says what is in the way.
pub(super) fn empty(state: &mut State, name: &str, now: &str) -> Result<()> {
    let Some(id) = state.find("", "namespaces") else { return Ok(()) };
    let Some(namespace) = state.get(id, "", name).filter(|found| meta::is_terminating(found)) else { return Ok(()) };
    let kinds: Vec<_> =
        state.kinds().filter(|(_, kind)| kind.namespaced && !kind.create_only).map(|(id, _)| id).collect();
    for kind in &kinds {
        let objects: Vec<Reference> = state
            .list(*kind, Some(name))
            .map(|object| (*kind, (name.to_owned(), meta::name(object).to_owned())))
            .collect();
        for reference in objects {
            delete(state, &reference, now)?;
        }
    }
    let mut remaining = BTreeMap::new();
    let mut finalizers = BTreeMap::new();
    for kind in &kinds {
        let resource = state.kind(*kind).resource();
        for object in state.list(*kind, Some(name)) {
            *remaining.entry(resource.clone()).or_insert(0) += 1;
            for finalizer in meta::finalizers(object) {
                *finalizers.entry(finalizer.to_owned()).or_insert(0) += 1;
            }
        }
    }
    let conditions = conditions(&namespace, &remaining, &finalizers, now);
    let mut changed = (*namespace).clone();
    if without_times(&changed["status"]["conditions"]) != without_times(&conditions) {
        changed["status"]["conditions"] = conditions;
        state.put(id, changed)?;
    }
    if remaining.is_empty() && meta::finalizers(&namespace).is_empty() {
        state.remove(id, "", name)?;
    }
    Ok(())
}

fn conditions(
    namespace: &Value,
    remaining: &BTreeMap<String, u64>,
    finalizers: &BTreeMap<String, u64>,
    now: &str,
) -> Value {
    let listed = |counts: &BTreeMap<String, u64>, what: &dyn Fn(&str, u64) -> String| {
        counts.iter().map(|(name, count)| what(name, *count)).collect::<Vec<_>>().join(", ")
    };
    let rows = [
        (
            "NamespaceDeletionDiscoveryFailure",
            false,
            "ResourcesDiscovered",
            "All resources successfully discovered".to_owned(),
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            false,
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed".to_owned(),
        ),
        (
            "NamespaceDeletionContentFailure",
            false,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization".to_owned(),
        ),
        if remaining.is_empty() {
            ("NamespaceContentRemaining", false, "ContentRemoved", "All content successfully removed".to_owned())
        } else {
            let list = listed(remaining, &|name, count| format!("{name} has {count} resource instances"));
            ("NamespaceContentRemaining", true, "SomeResourcesRemain", format!("Some resources are remaining: {list}"))
        },
        if finalizers.is_empty() {
            (
                "NamespaceFinalizersRemaining",
                false,
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished".to_owned(),
            )
        } else {
            let list = listed(finalizers, &|name, count| format!("{name} in {count} resource instances"));
            (
                "NamespaceFinalizersRemaining",
                true,
                "SomeFinalizersRemain",
                format!("Some content in the namespace has finalizers remaining: {list}"),
            )
        },
    ];
    let known = &namespace["status"]["conditions"];
    rows.into_iter()
        .map(|(kind, on, reason, message)| {
            let status = if on { "True" } else { "False" };
            let before =
                known.as_array().into_iter().flatten().find(|one| one["type"] == kind && one["status"] == status);
            let since = before.and_then(|one| one["lastTransitionTime"].as_str()).unwrap_or(now);
            json!({"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message})
        })
        .collect()
}

fn without_times(conditions: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    conditions
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| (text(&one["type"]), text(&one["status"]), text(&one["message"])))
        .collect()
}
