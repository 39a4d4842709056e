//! Whether the role that a hub's owner is asked for is exactly what was used: from the API servers' records of requests.
use super::server::{ACCOUNT, Servers};
use crate::tiers::{Count, failed};
use anyhow::{Context, Result};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs::File,
    io::{BufRead, BufReader},
};

/// A verb, a group, and a resource with its subresource.
type Right = (String, String, String);

/// Granted and not seen here: the group, the resource, the verbs, and why.
const UNSEEN: &[(&str, &str, &[&str], &str)] = &[
    ("", "namespaces", &["list", "watch", "update"], KEPT),
    ("", "resourcequotas", &["list", "watch", "update", "delete"], KEPT),
    ("networking.k8s.io", "networkpolicies", &["list", "watch", "update", "patch", "delete"], KEPT),
    ("template.openshift.io", "templateinstances", &["update", "patch"], KEPT),
    ("k8s.cni.cncf.io", "network-attachment-definitions", &["create", "delete"], "for hubs without OVN"),
    ("cdi.kubevirt.io", "datavolumes/source", &["create"], "CDI asks whether it is there, nothing calls it"),
    ("", "secrets", &["delete"], "the garbage collector was faster"),
    ("", "services", &["get", "delete"], "for instances of templates that leave something behind"),
    ("", "services", &["create"], "OpenShift asks whether it is there, and makes the service itself"),
    ("template.openshift.io", "templateconfigs", &["create"], "OpenShift asks whether it is there, nothing calls it"),
    ("subresources.kubevirt.io", "virtualmachines/restart", &["update"], "for guests that hear no soft reboot"),
];
const KEPT: &str = "granted whole, for what stands around VMs";

pub(super) fn check(servers: &Servers) -> Result<Count> {
    let (mut used, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for hub in &servers.hubs {
        let log = File::open(hub.folder.join("audit.log")).context("an API server kept no record")?;
        for line in BufReader::new(log).lines() {
            let event: Value = serde_json::from_str(&line?)?;
            let Some(right) = right_of(&event) else { continue };
            let into = if event["responseStatus"]["code"] == 403 && is_rbac(&event) { &mut refused } else { &mut used };
            into.insert(right);
        }
    }
    let role =
        servers.hubs.first().context("no hub")?.kubectl(&["get", "clusterrole", "ssvirt-hub", "--output=json"])?;
    let granted = granted(&serde_json::from_str(&role)?);
    let unseen = |(verb, group, resource): &Right| {
        UNSEEN
            .iter()
            .any(|(g, r, verbs, _)| (*g, *r) == (group.as_str(), resource.as_str()) && verbs.contains(&verb.as_str()))
    };
    let mut count = Count::default();
    let mut say = |right: &Right, what: &str| {
        let (verb, group, resource) = right;
        println!("{what}: {verb} {resource}.{group}");
        failed(format!("{what}: {verb} {resource}.{group}"));
        count.failed += 1;
    };
    refused.iter().filter(|r| !granted.contains(*r)).for_each(|r| say(r, "needed and not in the role"));
    granted.difference(&used).filter(|r| !unseen(r)).for_each(|r| say(r, "in the role and never used"));
    count.passed = granted.intersection(&used).count() as u64;
    Ok(count)
}

/// A quota or a namespace that ends is a 403 as well.
fn is_rbac(event: &Value) -> bool {
    event["annotations"]["authorization.k8s.io/decision"] == "forbid"
}

fn right_of(event: &Value) -> Option<Right> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let object = event.get("objectRef")?;
    // everybody may ask what they may do
    if event["user"]["username"] != ACCOUNT || object["apiGroup"] == "authorization.k8s.io" {
        return None;
    }
    let resource = match object["subresource"].as_str() {
        Some(sub) if !sub.is_empty() => format!("{}/{sub}", text(&object["resource"])),
        _ => text(&object["resource"]),
    };
    Some((text(&event["verb"]), text(&object["apiGroup"]), resource))
}

fn granted(role: &Value) -> BTreeSet<Right> {
    let words = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect()
    };
    let mut all = BTreeSet::new();
    for rule in role["rules"].as_array().into_iter().flatten() {
        for group in words(&rule["apiGroups"]) {
            for resource in words(&rule["resources"]) {
                for verb in words(&rule["verbs"]) {
                    all.insert((verb, group.clone(), resource.clone()));
                }
            }
        }
    }
    all
}
