//! What the hub's account must be allowed to do, asked right by right.
use super::{Check, platform::Groups};
use crate::{Client, client::Call, error::Result};
use futures::{StreamExt, stream};
use http::Method;
use serde_json::{Value, json};

/// One line of the role a hub's account needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Right {
    pub group: &'static str,
    /// With a subresource behind a slash where one is meant.
    pub resource: &'static str,
    pub verbs: &'static [&'static str],
    /// None: no VM without it. Some: what is missing without it.
    pub only_for: Option<&'static str>,
}

const fn needed(group: &'static str, resource: &'static str, verbs: &'static [&'static str]) -> Right {
    Right { group, resource, verbs, only_for: None }
}

const fn extra(
    group: &'static str,
    resource: &'static str,
    verbs: &'static [&'static str],
    what: &'static str,
) -> Right {
    Right { group, resource, verbs, only_for: Some(what) }
}

const LIFE: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];
/// Made once and never changed.
const MADE: &[&str] = &["get", "create", "delete"];
const LOOK: &[&str] = &["get", "list", "watch"];

/// All of them; `deploy/hub-role.yaml` grants these.
pub const NEEDED: [Right; 40] = [
    needed("", "namespaces", LIFE),
    needed("", "secrets", &["get", "create", "patch", "delete"]),
    needed("", "resourcequotas", LIFE),
    needed("", "persistentvolumeclaims", &["get", "patch", "delete"]),
    extra("", "services", &["get", "create", "delete"], "templates"),
    extra("", "nodes", &["list"], "the hub's size"),
    needed("networking.k8s.io", "networkpolicies", LIFE),
    needed("storage.k8s.io", "storageclasses", &["list"]),
    extra("snapshot.storage.k8s.io", "volumesnapshotclasses", &["list"], "snapshots"),
    extra("apiextensions.k8s.io", "customresourcedefinitions", &["get"], "the check of fields"),
    extra("apps", "deployments", &["list"], "the check of KubeVirt's components"),
    extra("apps", "daemonsets", &["list"], "the check of KubeVirt's components"),
    needed("kubevirt.io", "kubevirts", &["list"]),
    needed("kubevirt.io", "virtualmachines", LIFE),
    needed("kubevirt.io", "virtualmachineinstances", LOOK),
    needed("subresources.kubevirt.io", "virtualmachines/stop", &["update"]),
    needed("subresources.kubevirt.io", "virtualmachines/restart", &["update"]),
    needed("subresources.kubevirt.io", "virtualmachineinstances/pause", &["update"]),
    needed("subresources.kubevirt.io", "virtualmachineinstances/unpause", &["update"]),
    extra("subresources.kubevirt.io", "virtualmachineinstances/softreboot", &["update"], "gentle restarts"),
    extra("subresources.kubevirt.io", "virtualmachineinstances/reset", &["update"], "resets"),
    extra("subresources.kubevirt.io", "virtualmachineinstances/guestosinfo", &["get"], "what guests tell"),
    extra("subresources.kubevirt.io", "virtualmachineinstances/vnc", &["get"], "consoles"),
    extra("subresources.kubevirt.io", "virtualmachines/addvolume", &["update"], "disks that come while a VM runs"),
    extra("subresources.kubevirt.io", "virtualmachines/removevolume", &["update"], "disks that go while a VM runs"),
    needed("cdi.kubevirt.io", "datavolumes", LIFE),
    needed("cdi.kubevirt.io", "datavolumes/source", &["create"]),
    needed("cdi.kubevirt.io", "datasources", LOOK),
    extra("cdi.kubevirt.io", "cdis", &["list"], "the check of CDI"),
    extra("cdi.kubevirt.io", "cdiconfigs", &["get"], "uploads"),
    extra("upload.cdi.kubevirt.io", "uploadtokenrequests", &["create"], "uploads"),
    extra(
        "instancetype.kubevirt.io",
        "virtualmachineclusterinstancetypes",
        &["get", "list", "watch", "create", "delete"],
        "sizing policies",
    ),
    extra("snapshot.kubevirt.io", "virtualmachinesnapshots", &["get", "list", "create", "delete"], "snapshots"),
    extra("k8s.ovn.org", "userdefinednetworks", MADE, "networks"),
    extra("k8s.ovn.org", "clusteruserdefinednetworks", MADE, "shared networks"),
    extra("k8s.cni.cncf.io", "network-attachment-definitions", MADE, "networks without OVN"),
    extra(
        "snapshot.kubevirt.io",
        "virtualmachinerestores",
        &["get", "list", "create", "delete"],
        "going back to snapshots",
    ),
    extra("template.openshift.io", "templates", LOOK, "templates"),
    extra("template.openshift.io", "templateinstances", LIFE, "templates"),
    extra("template.openshift.io", "templateconfigs", &["create"], "templates that OpenShift makes"),
];

pub(super) async fn check(client: &Client, groups: &Groups) -> Check {
    match may(client, "*", "*", "*").await {
        Ok(true) => {
            return Check::ok(
                "rights",
                "The account may do everything on the hub. One with fewer rights would be safer.",
            );
        }
        Ok(false) => {}
        Err(e) => return Check::of_error("rights", &e),
    }
    // virt-api's group is asked for by its own right, whether or not it is up at the moment
    let served = |group: &str| group.is_empty() || group == "subresources.kubevirt.io" || groups.has(group);
    let mut calls = Vec::new();
    for right in NEEDED.iter().filter(|r| served(r.group)) {
        for verb in right.verbs {
            calls.push(ask(client, right, verb));
        }
    }
    let answers: Vec<(&Right, &str, Result<bool>)> = stream::iter(calls).buffered(8).collect().await;
    if let Some((.., Err(e))) = answers.iter().find(|(.., a)| a.is_err()) {
        return Check::of_error("rights", e);
    }
    judge(answers.into_iter().filter(|(.., a)| *a == Ok(false)).map(|(right, verb, _)| (right, verb)))
}

async fn ask<'a>(client: &Client, right: &'a Right, verb: &'a str) -> (&'a Right, &'a str, Result<bool>) {
    (right, verb, may(client, right.group, right.resource, verb).await)
}

fn judge<'a>(missing: impl Iterator<Item = (&'a Right, &'a str)>) -> Check {
    let (mut needed, mut extra) = (Vec::new(), Vec::new());
    for (right, verb) in missing {
        let name = match right.group {
            "" => format!("{verb} {}", right.resource),
            group => format!("{verb} {}.{group}", right.resource),
        };
        match right.only_for {
            None => needed.push(name),
            Some(what) => extra.push(format!("{name} ({what})")),
        }
    }
    match (needed.as_slice(), extra.as_slice()) {
        ([], []) => Check::ok("rights", "The account may do all that is needed."),
        ([], extra) => Check::warning(
            "rights",
            format!("The account may not {}.", extra.join(", ")),
            "Add these to its role, or do without what stands in brackets.",
        ),
        (needed, extra) => {
            let all: Vec<&str> = needed.iter().chain(extra).map(String::as_str).collect();
            Check::failed(
                "rights",
                format!("The account may not {}.", all.join(", ")),
                "Add these to its role on the hub.",
            )
        }
    }
}

async fn may(client: &Client, group: &str, resource: &str, verb: &str) -> Result<bool> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let mut attributes = json!({"group": group, "resource": resource, "verb": verb});
    if !subresource.is_empty() {
        attributes["subresource"] = json!(subresource);
    }
    let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer = client.call(Call::new(Method::POST, path.into()).body(body)).await?.json()?;
    Ok(answer["status"]["allowed"] == Value::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::State;

    #[test]
    fn a_missing_right_is_named_and_weighed() {
        let of = |resource: &str| NEEDED.iter().find(|r| r.resource == resource).expect(resource);
        assert_eq!(judge([].into_iter()).state, State::Ok);
        let only_extra = judge([(of("nodes"), "list")].into_iter());
        assert_eq!(only_extra.state, State::Warning);
        assert!(only_extra.detail.contains("list nodes (the hub's size)"), "{}", only_extra.detail);
        let both = judge([(of("nodes"), "list"), (of("virtualmachines"), "create")].into_iter());
        assert_eq!(both.state, State::Failed);
        assert!(both.detail.contains("create virtualmachines.kubevirt.io"), "{}", both.detail);
    }

    #[test]
    fn the_role_that_a_hubs_owner_is_asked_for_grants_this_and_nothing_more() {
        let text = include_str!("../../../../deploy/hub-role.yaml");
        let role = text.split("\n---\n").find(|part| part.contains("kind: ClusterRole\n")).expect("a role");
        let role: Value = serde_saphyr::from_str(role).expect("YAML");
        let words = |v: &Value| -> Vec<String> {
            v.as_array().into_iter().flatten().filter_map(|w| w.as_str().map(str::to_owned)).collect()
        };
        let mut granted = std::collections::BTreeMap::new();
        for rule in role["rules"].as_array().expect("rules") {
            assert_eq!(words(&rule["apiGroups"]).len(), 1, "{rule}");
            for resource in words(&rule["resources"]) {
                let name = (words(&rule["apiGroups"]).remove(0), resource);
                assert!(granted.insert(name.clone(), words(&rule["verbs"])).is_none(), "{name:?} stands twice");
            }
        }
        // who may patch may replace as well: these are granted together
        let whole = ["namespaces", "resourcequotas", "networkpolicies", "templateinstances"];
        for right in &NEEDED {
            let name = (right.group.to_owned(), right.resource.to_owned());
            let mut verbs = granted.remove(&name).unwrap_or_else(|| panic!("{name:?} is not in the role"));
            verbs.retain(|verb| verb != "update" || !whole.contains(&right.resource));
            verbs.sort();
            let mut wanted: Vec<&str> = right.verbs.to_vec();
            wanted.sort_unstable();
            assert_eq!(verbs, wanted, "{name:?}");
        }
        assert!(granted.is_empty(), "granted and not needed: {granted:?}");
    }

    #[test]
    fn no_right_is_a_wildcard_and_none_stands_twice() {
        for (i, r) in NEEDED.iter().enumerate() {
            assert!(!r.verbs.is_empty() && !r.verbs.contains(&"*") && !r.verbs.contains(&"deletecollection"), "{r:?}");
            assert!(!NEEDED[..i].iter().any(|o| (o.group, o.resource) == (r.group, r.resource)), "{r:?}");
        }
    }
}
