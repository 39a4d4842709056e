//! What is around KubeVirt: API groups, kinds and their fields, storage, instance types, networks and nodes.
use super::{Capacity, Check, Report};
use crate::{
    Client, Key,
    client::Call,
    error::{Error, Result},
    read::{self, quantity},
    resource::{CRDS, INSTANCE_TYPES, NODES, SNAPSHOT_CLASSES, STORAGE_CLASSES},
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The API groups a hub serves, with their versions.
pub(super) struct Groups(BTreeSet<(String, String)>);

impl Groups {
    pub(super) fn serve(&self, group: &str, version: &str) -> bool {
        self.0.contains(&(group.to_owned(), version.to_owned()))
    }

    pub(super) fn has(&self, group: &str) -> bool {
        self.0.iter().any(|(g, _)| g == group)
    }

    #[cfg(test)]
    pub(super) fn of(all: &[(&str, &str)]) -> Groups {
        Groups(all.iter().map(|(g, v)| ((*g).to_owned(), (*v).to_owned())).collect())
    }
}

pub(super) async fn groups(client: &Client) -> Result<Groups> {
    let list = client.call(Call::get("/apis".into())).await?.json()?;
    let Some(groups) = list["groups"].as_array() else { return Err(Error::Odd("/apis lists no groups".into())) };
    let mut all = BTreeSet::new();
    for group in groups {
        for version in group["versions"].as_array().into_iter().flatten() {
            let word = |v: &Value| v.as_str().unwrap_or_default().to_owned();
            all.insert((word(&group["name"]), word(&version["version"])));
        }
    }
    Ok(Groups(all))
}

/// Kinds, the version we speak, and fields we send or read. Left out of this list are fields we can do without.
const FIELDS: [(&str, &str, &[&str]); 3] = [
    (
        "virtualmachines.kubevirt.io",
        "v1",
        &[
            "spec.runStrategy",
            "spec.template",
            "spec.dataVolumeTemplates",
            "spec.instancetype",
            "spec.preference",
            "status.printableStatus",
        ],
    ),
    (
        "virtualmachineinstances.kubevirt.io",
        "v1",
        &["status.phase", "status.interfaces", "status.conditions", "status.nodeName"],
    ),
    (
        "datavolumes.cdi.kubevirt.io",
        "v1beta1",
        &["spec.storage", "spec.source", "spec.sourceRef", "status.phase", "status.progress"],
    ),
];

pub(super) async fn check(client: &Client, groups: &Groups, report: &mut Report) {
    let crds = crds(client, report).await;
    report.checks.push(crds);
    let storage = storage(client, report).await;
    report.checks.push(storage);
    let types = instance_types(client, groups, report).await;
    report.checks.push(types);
    let snapshots = snapshots(client, groups, report).await;
    report.checks.push(snapshots);
    report.checks.push(if groups.serve("template.openshift.io", "v1") {
        report.features.insert("templates".into());
        Check::ok("templates", "The hub serves OpenShift templates.")
    } else {
        Check::skipped("templates", "The hub is no OpenShift: catalogs are filled from its images.")
    });
    if groups.serve("k8s.cni.cncf.io", "v1") {
        report.features.insert("attachments".into());
    }
    report.checks.push(if groups.serve("k8s.ovn.org", "v1") {
        report.features.insert("networks".into());
        Check::ok("networks", "The hub makes isolated networks (k8s.ovn.org).")
    } else if report.features.contains("attachments") {
        let why =
            "The hub has no user-defined networks. Networks are bridges there: VMs on different nodes don't meet.";
        Check::skipped("networks", why)
    } else {
        Check::skipped("networks", "The hub has no user-defined networks: VMs use the pod network.")
    });
    let nodes = nodes(client, report).await;
    report.checks.push(nodes);
}

async fn crds(client: &Client, report: &mut Report) -> Check {
    let mut problems = Vec::new();
    for (name, version, fields) in FIELDS {
        match client.get(&CRDS, &Key::global(name)).await {
            Ok(crd) => {
                report.crds.insert(name.to_owned(), served(&crd));
                problems
                    .extend(missing(&crd, version, fields).into_iter().map(|field| format!("{name} has no {field}")));
            }
            Err(Error::NotFound(_)) => problems.push(format!("{name} is not there")),
            Err(Error::Forbidden(_)) => {
                return Check::warning(
                    "crds",
                    "The account may not read custom resource definitions, so fields were not compared.",
                    "Let it get customresourcedefinitions.",
                );
            }
            Err(e) => return Check::of_error("crds", &e),
        }
    }
    match problems.as_slice() {
        [] => Check::ok("crds", "All kinds and fields that are needed are there."),
        some => Check::failed("crds", format!("{}.", some.join(", ")), "Upgrade KubeVirt and CDI on the hub."),
    }
}

fn versions(crd: &Value) -> impl Iterator<Item = &Value> {
    crd["spec"]["versions"].as_array().into_iter().flatten().filter(|v| v["served"] == true)
}

fn served(crd: &Value) -> Vec<String> {
    versions(crd).filter_map(|v| v["name"].as_str()).map(str::to_owned).collect()
}

/// A version that isn't served, or the fields its schema lacks. A schema that keeps unknown fields has them all.
fn missing(crd: &Value, version: &str, fields: &[&str]) -> Vec<String> {
    let Some(served) = versions(crd).find(|v| v["name"] == version) else { return vec![format!("version {version}")] };
    let schema = &served["schema"]["openAPIV3Schema"];
    let has = |field: &str| {
        let mut at = schema;
        for part in field.split('.') {
            if at["x-kubernetes-preserve-unknown-fields"] == true {
                return true;
            }
            at = &at["properties"][part];
        }
        !at.is_null()
    };
    fields.iter().filter(|f| !has(f)).map(|f| (*f).to_owned()).collect()
}

async fn storage(client: &Client, report: &mut Report) -> Check {
    match client.list(&STORAGE_CLASSES, None, "", read::storage_class).await {
        Err(e) => Check::of_error("storage", &e),
        Ok((all, _)) => {
            let names: Vec<&str> = all.iter().map(|c| c.name.as_str()).collect();
            let check = match (all.is_empty(), all.iter().find(|c| c.default)) {
                (true, _) => {
                    Check::failed("storage", "The hub has no storage class.", "Install a storage driver on it.")
                }
                (false, None) => Check::warning(
                    "storage",
                    format!("None of the storage classes is the default: {}.", names.join(", ")),
                    "Annotate one with storageclass.kubernetes.io/is-default-class, or name one in every VDC.",
                ),
                (false, Some(default)) => {
                    Check::ok("storage", format!("{}; the default is {}.", names.join(", "), default.name))
                }
            };
            report.storage_classes = all;
            check
        }
    }
}

async fn instance_types(client: &Client, groups: &Groups, report: &mut Report) -> Check {
    let none = "VMs are sized by CPU and memory alone.";
    if !groups.serve("instancetype.kubevirt.io", "v1beta1") {
        return Check::skipped("instance-types", format!("The hub serves no instance types. {none}"));
    }
    match client.list(&INSTANCE_TYPES, None, "", read::instance_type).await {
        Ok((all, _)) => {
            // those of sizing policies are made where they are needed
            report.features.insert("instance-types".into());
            let check = match all.len() {
                0 => Check::warning(
                    "instance-types",
                    "The hub has no instance types but those that sizing policies make.",
                    "Install KubeVirt's common instance types.",
                ),
                some => Check::ok("instance-types", format!("The hub has {some}.")),
            };
            report.instance_types = all;
            check
        }
        Err(e @ Error::Forbidden(_)) => Check::warning("instance-types", e.message(), e.next_step()),
        Err(e) => Check::of_error("instance-types", &e),
    }
}

/// KubeVirt's part is a feature gate; a driver that can do it is the other half.
async fn snapshots(client: &Client, groups: &Groups, report: &mut Report) -> Check {
    let drop = |report: &mut Report| report.features.remove("snapshots");
    if !report.features.contains("snapshots") {
        return Check::warning(
            "snapshots",
            "KubeVirt's snapshots are not switched on.",
            "Add the feature gate Snapshot to the KubeVirt object, if VMs are to have snapshots.",
        );
    }
    if !groups.serve("snapshot.storage.k8s.io", "v1") {
        drop(report);
        return Check::warning(
            "snapshots",
            "The hub's storage makes no snapshots.",
            "Install the snapshot controller and a driver that can.",
        );
    }
    match client.list(&SNAPSHOT_CLASSES, None, "", |o| o["metadata"]["name"].as_str().map(str::to_owned)).await {
        Ok((all, _)) if all.is_empty() => {
            drop(report);
            Check::warning("snapshots", "The hub has no volume snapshot class.", "Make one for its storage driver.")
        }
        Ok((all, _)) => Check::ok("snapshots", format!("By {}.", all.join(", "))),
        Err(e) => {
            drop(report);
            Check::warning("snapshots", e.message(), e.next_step())
        }
    }
}

async fn nodes(client: &Client, report: &mut Report) -> Check {
    match client.list(&NODES, None, "", |o| Some(node(o))).await {
        Ok((all, _)) => {
            let usable: Vec<Capacity> = all.iter().filter_map(|n| *n).collect();
            report.capacity = usable.iter().fold(Capacity::default(), |sum, n| Capacity {
                nodes: sum.nodes + 1,
                cpus: sum.cpus.saturating_add(n.cpus),
                memory_mb: sum.memory_mb.saturating_add(n.memory_mb),
            });
            let c = report.capacity;
            if c.nodes == 0 {
                return Check::failed(
                    "nodes",
                    format!("None of {} nodes takes VMs.", all.len()),
                    "Look at virt-handler and at cordoned nodes.",
                );
            }
            Check::ok(
                "nodes",
                format!("{} of {} nodes take VMs: {} CPUs, {} GB.", c.nodes, all.len(), c.cpus, c.memory_mb / 1024),
            )
        }
        Err(Error::Forbidden(_)) => Check::warning(
            "nodes",
            "The account may not list nodes, so the hub's size is not known.",
            "Let it list nodes: deploy/hub-role.yaml has the right.",
        ),
        Err(e) => Check::of_error("nodes", &e),
    }
}

/// None: takes no VMs (cordoned, not ready, or virt-handler does not vouch for it).
fn node(object: &Value) -> Option<Capacity> {
    let labels: BTreeMap<&str, &Value> =
        object["metadata"]["labels"].as_object().into_iter().flatten().map(|(k, v)| (k.as_str(), v)).collect();
    let vouched = labels.get("kubevirt.io/schedulable").is_none_or(|v| **v == "true");
    let ready = object["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|c| c["type"] == "Ready" && c["status"] == "True");
    if object["spec"]["unschedulable"] == true || !vouched || !ready {
        return None;
    }
    let amount =
        |key: &str| object["status"]["allocatable"][key].as_str().or(object["status"]["capacity"][key].as_str());
    let cpus = amount("cpu").and_then(quantity::milli).map_or(0, |m| i64::try_from(m / 1000).unwrap_or(0));
    let memory_mb = amount("memory").and_then(quantity::mib).unwrap_or(0);
    Some(Capacity { nodes: 1, cpus, memory_mb })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_looked_for_in_the_version_we_speak() {
        let schema = json!({"openAPIV3Schema": {"properties": {
            "spec": {"properties": {"runStrategy": {"type": "string"}}}, "status": {"x-kubernetes-preserve-unknown-fields": true}}}});
        let crd = json!({"spec": {"versions": [
            {"name": "v1", "served": true, "schema": schema}, {"name": "v2", "served": false, "schema": {}}]}});
        assert_eq!(served(&crd), ["v1"]);
        assert_eq!(missing(&crd, "v1", &["spec.runStrategy", "status.anything"]), Vec::<String>::new());
        assert_eq!(
            missing(&crd, "v1", &["spec.template", "spec.runStrategy.deeper"]),
            ["spec.template", "spec.runStrategy.deeper"]
        );
        assert_eq!(missing(&crd, "v2", &["spec.x"]), ["version v2"]);
        assert_eq!(missing(&json!(null), "v1", &[]), ["version v1"]);
    }

    #[test]
    fn only_nodes_that_take_vms_are_counted() {
        let good = json!({"metadata": {"labels": {"kubevirt.io/schedulable": "true"}}, "status": {
            "conditions": [{"type": "Ready", "status": "True"}], "capacity": {"cpu": "32"}, "allocatable": {"cpu": "31500m", "memory": "128Gi"}}});
        assert_eq!(node(&good), Some(Capacity { nodes: 1, cpus: 31, memory_mb: 131_072 }));
        for (pointer, value) in [
            ("/metadata/labels/kubevirt.io~1schedulable", json!("false")),
            ("/status/conditions/0/status", json!("Unknown")),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(pointer).expect(pointer) = value;
            assert_eq!(node(&bad), None);
        }
        let mut cordoned = good.clone();
        cordoned["spec"] = json!({"unschedulable": true});
        assert_eq!(node(&cordoned), None);
        assert_eq!(node(&json!([])), None);
    }
}
