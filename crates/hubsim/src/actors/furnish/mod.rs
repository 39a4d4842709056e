//! What a fresh hub contains before anybody uses it. It may be called again at every start: what is there stays.
mod images;
mod instancetypes;
mod kubevirt;
mod nodes;
mod storage;
mod templates;

use super::{
    api::{Api, is_not_found},
    json::Look,
    kind::{CLUSTER_VERSION, Kind, NAMESPACE},
};
use crate::Flavour;
use anyhow::Context;
use kube::Client;
use serde_json::{Value, json};

/// Where the images of the catalog's machines are.
pub(crate) const IMAGES: &str = "openshift-virtualization-os-images";
/// Where templates are.
pub(crate) const TEMPLATES: &str = "openshift";

/// An object of a fresh hub. Its status, if it has one, is written after it.
struct Item {
    kind: Kind,
    object: Value,
}

fn item(kind: Kind, mut object: Value) -> Item {
    object["apiVersion"] = json!(kind.api_version());
    object["kind"] = json!(kind.kind);
    Item { kind, object }
}

fn namespace(name: &str) -> Item {
    item(NAMESPACE, json!({"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}}))
}

/// Makes what is missing on a hub of this flavour.
pub async fn furnish(client: Client, flavour: &Flavour) -> anyhow::Result<()> {
    let api = Api::new(client);
    for item in items(flavour) {
        make(&api, &item)
            .await
            .with_context(|| format!("{} {} cannot be made on the hub", item.kind.kind, item.object.name()))?;
    }
    Ok(())
}

fn items(flavour: &Flavour) -> Vec<Item> {
    let mut all: Vec<Item> =
        ["vmaas-system", "cloudkit-operator-system", "cloudkit-system"].map(namespace).into_iter().collect();
    all.extend(nodes::items());
    all.extend(storage::classes());
    if flavour.cdi {
        all.extend(storage::profiles());
    }
    if flavour.snapshot {
        all.push(storage::snapshot_class());
    }
    if flavour.openshift {
        all.push(openshift());
    }
    if let Some(version) = &flavour.kubevirt {
        all.extend(kubevirt::items(version, flavour));
        all.extend(instancetypes::items());
    }
    if flavour.cdi && flavour.kubevirt.is_some() {
        all.extend(images::items());
    }
    if flavour.templates && flavour.kubevirt.is_some() {
        all.extend(templates::items());
    }
    all
}

fn openshift() -> Item {
    let since = "2025-01-01T00:00:00Z";
    let version = "4.20.4";
    let object = json!({
        "metadata": {"name": "version"},
        "spec": {"channel": "stable-4.20", "clusterID": "00000000-0000-4000-8000-000000000001"},
        "status": {
            "observedGeneration": 1,
            "desired": {"version": version, "image": "quay.io/openshift-release-dev/ocp-release:4.20.4"},
            "history": [{"state": "Completed", "version": version, "verified": true, "startedTime": since,
                "completionTime": since, "image": "quay.io/openshift-release-dev/ocp-release:4.20.4"}],
            "conditions": [{"type": "Available", "status": "True", "lastTransitionTime": since,
                "message": format!("Done applying {version}")}],
            "availableUpdates": null,
            "versionHash": "",
        },
    });
    item(CLUSTER_VERSION, object)
}

/// Creates the object if it is missing, and gives it its status if it has none.
async fn make(api: &Api, item: &Item) -> Result<(), kube::Error> {
    let object = match api.create_missing(item.kind, &item.object).await {
        Ok(Some(made)) => made,
        Ok(None) => match api.get(item.kind, item.object.namespace(), item.object.name()).await? {
            Some(there) => there,
            None => return Ok(()),
        },
        // a hub that lacks the kind does without it
        Err(e) if is_not_found(&e) => return Ok(()),
        Err(e) => return Err(e),
    };
    let Some(status) = item.object.get("status").filter(|_| item.kind.status_apart) else { return Ok(()) };
    let blank = object.get("status").is_none_or(|s| s == &json!({}) || s == &json!({"phase": "Pending"}));
    if blank {
        let mut new = object;
        new["status"] = status.clone();
        api.replace_status(item.kind, &new).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn everything_has_a_name_of_its_own_and_namespaces_come_first() {
        let all = items(&Flavour::default());
        let mut seen = HashSet::new();
        let mut namespaces: HashSet<&str> = HashSet::new();
        for item in &all {
            let (space, name) = (item.object.namespace(), item.object.name());
            assert!(
                !name.is_empty() && seen.insert((item.kind.plural, space, name)),
                "{} {space}/{name}",
                item.kind.kind
            );
            if item.kind == NAMESPACE {
                namespaces.insert(name);
            } else if item.kind.namespaced {
                assert!(namespaces.contains(space), "{space} is missing before {name}");
            }
        }
    }

    #[test]
    fn a_bare_cluster_gets_nodes_and_storage_only() {
        let all = items(&Flavour::bare());
        assert!(all.iter().all(|i| !i.kind.group.contains("kubevirt") && !i.kind.group.contains("openshift")));
        assert!(all.iter().any(|i| i.kind.kind == "Node"));
    }
}
