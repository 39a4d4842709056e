//! CustomResourceDefinitions: objects for the kinds a hub has from the start, and kinds for the objects that
//! somebody creates.

use crate::{
    kinds::{Column, Kind, schema_text},
    meta,
    schema::Schema,
    store::{KindId, State},
};
use serde_json::{Value, json};
use std::sync::Arc;

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";

/// The definition of a kind of the table.
pub(crate) fn definition(kind: &Kind) -> Value {
    let mut names = json!({
        "plural": kind.plural, "singular": kind.singular, "kind": kind.kind, "listKind": format!("{}List", kind.kind),
    });
    if !kind.short.is_empty() {
        names["shortNames"] = json!(kind.short);
    }
    if !kind.categories.is_empty() {
        names["categories"] = json!(kind.categories);
    }
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = schema_text::of(&kind.group, &kind.plural).unwrap_or(open);
    let versions: Vec<Value> = kind
        .versions
        .iter()
        .map(|name| {
            let mut version = json!({
                "name": name, "served": true, "storage": *name == kind.storage,
                "schema": {"openAPIV3Schema": schema},
            });
            if kind.status {
                version["subresources"] = json!({"status": {}});
            }
            if !kind.columns.is_empty() {
                version["additionalPrinterColumns"] = kind
                    .columns
                    .iter()
                    .map(|column| json!({"name": column.name, "type": column.kind, "jsonPath": column.path}))
                    .collect();
            }
            version
        })
        .collect();
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.resource()},
        "spec": {
            "group": kind.group, "names": names, "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
            "conversion": {"strategy": "None"}, "versions": versions,
        },
    })
}

/// A definition as it is when somebody has just created it.
pub(crate) fn defaults(object: &mut Value) {
    if object["spec"]["conversion"].is_null() {
        object["spec"]["conversion"] = json!({"strategy": "None"});
    }
    let names = object["spec"]["names"].clone();
    if names["singular"].is_null() {
        object["spec"]["names"]["singular"] = names["kind"].as_str().unwrap_or_default().to_lowercase().into();
    }
    if names["listKind"].is_null() {
        object["spec"]["names"]["listKind"] = format!("{}List", names["kind"].as_str().unwrap_or_default()).into();
    }
    let stored = object["spec"]["versions"].as_array().into_iter().flatten().find(|version| version["storage"] == true);
    let stored: Vec<Value> = stored.map(|version| version["name"].clone()).into_iter().collect();
    object["status"] =
        json!({"conditions": null, "acceptedNames": {"kind": "", "plural": ""}, "storedVersions": stored});
}

/// Deleting a definition deletes its objects first; the condition says so.
pub(crate) fn terminating(object: &mut Value, now: &str) {
    let mut finalizers = meta::finalizers(object).into_iter().map(str::to_owned).collect::<Vec<_>>();
    if !finalizers.iter().any(|one| one == CLEAN_UP) {
        finalizers.push(CLEAN_UP.to_owned());
    }
    meta::set(object, "finalizers", finalizers);
    if let Some(conditions) = object["status"]["conditions"].as_array_mut() {
        conditions.push(json!({
            "type": "Terminating", "status": "True", "lastTransitionTime": now, "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        }));
    }
}

pub(crate) const CLEAN_UP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// What the server itself writes: accepted names, conditions, stored versions.
pub(crate) fn established(mut object: Value, now: &str) -> Value {
    let spec = object["spec"].clone();
    let stored = spec["versions"].as_array().into_iter().flatten().find(|version| version["storage"] == true);
    object["status"] = json!({
        "conditions": [
            {"type": "NamesAccepted", "status": "True", "lastTransitionTime": now, "reason": "NoConflicts", "message": "no conflicts found"},
            {"type": "Established", "status": "True", "lastTransitionTime": now, "reason": "InitialNamesAccepted", "message": "the initial names have been accepted"},
        ],
        "acceptedNames": spec["names"],
        "storedVersions": [stored.map(|version| version["name"].clone()).unwrap_or_default()],
    });
    object
}

/// Serves the kind that a stored definition describes.
pub(crate) fn follow(state: &mut State, id: KindId, object: Option<&Value>) {
    let is_definition = state.kind(id).is(GROUP, PLURAL);
    let Some(object) = object.filter(|_| is_definition) else { return };
    let established = object["status"]["conditions"].as_array().is_some_and(|all| !all.is_empty());
    if established {
        state.serve(kind_of(object));
    }
}

/// Stops serving the kind whose definition is gone.
pub(crate) fn forget(state: &mut State, id: KindId, name: &str) {
    if !state.kind(id).is(GROUP, PLURAL) {
        return;
    }
    let (plural, group) = name.split_once('.').unwrap_or((name, ""));
    if let Some(id) = state.find(group, plural) {
        state.stop_serving(id);
    }
}

fn kind_of(object: &Value) -> Kind {
    let spec = &object["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| -> Vec<String> { meta::strings(value).into_iter().map(str::to_owned).collect() };
    let served: Vec<&Value> =
        spec["versions"].as_array().into_iter().flatten().filter(|version| version["served"] != false).collect();
    let stored = served.iter().find(|version| version["storage"] == true).or(served.first());
    let stored = stored.map(|version| (*version).clone()).unwrap_or_default();
    let names = &spec["names"];
    Kind {
        group: text(&spec["group"]),
        versions: served.iter().map(|version| text(&version["name"])).collect(),
        storage: text(&stored["name"]),
        kind: text(&names["kind"]),
        plural: text(&names["plural"]),
        singular: names["singular"].as_str().map_or_else(|| text(&names["kind"]).to_lowercase(), str::to_owned),
        short: list(&names["shortNames"]),
        categories: list(&names["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        status: stored["subresources"]["status"].is_object(),
        custom: true,
        schema: Some(Arc::new(Schema::read(&stored["schema"]["openAPIV3Schema"]))),
        columns: stored["additionalPrinterColumns"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|column| Column {
                name: text(&column["name"]),
                kind: text(&column["type"]),
                path: text(&column["jsonPath"]),
                priority: column["priority"].as_i64().unwrap_or_default(),
            })
            .collect(),
        create_only: false,
    }
}
