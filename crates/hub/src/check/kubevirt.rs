//! KubeVirt and CDI: installed, new enough, running, and which of their features are on.
use super::{Check, Report, State, number, platform::Groups};
use crate::{
    Client,
    error::Error,
    resource::{CDIS, DAEMON_SETS, DEPLOYMENTS, KUBEVIRTS},
};
use serde_json::Value;

/// The oldest KubeVirt that serves what we send and read.
const OLDEST: (u32, u32) = (1, 3);
const COMPONENTS: [&str; 3] = ["virt-api", "virt-controller", "virt-operator"];

pub(super) async fn check(client: &Client, groups: &Groups, report: &mut Report) {
    if !groups.serve("kubevirt.io", "v1") {
        let detail = "The hub does not serve kubevirt.io/v1.";
        report.checks.push(Check::failed("kubevirt", detail, "Install KubeVirt or OpenShift Virtualization on it."));
        return;
    }
    let found = client.list(&KUBEVIRTS, None, "", |o| Some(o.clone())).await;
    let (check, installed) = match &found {
        Err(e) => (Check::of_error("kubevirt", e), None),
        Ok((all, _)) => judge(all),
    };
    report.checks.push(check);
    if let Some(cr) = installed {
        report.kubevirt = cr["status"]["observedKubeVirtVersion"].as_str().map(str::to_owned);
        report.features.extend(features(cr, groups));
        let namespace = cr["metadata"]["namespace"].as_str().unwrap_or("kubevirt").to_owned();
        report.checks.push(components(client, &namespace).await);
    }
    report.checks.push(cdi(client, groups).await);
}

/// Of all KubeVirt objects: hubs have one, in a namespace of their choice.
fn judge(all: &[Value]) -> (Check, Option<&Value>) {
    let Some(cr) = all.first() else {
        let detail = "KubeVirt's kinds are there, and no KubeVirt object.";
        return (Check::failed("kubevirt", detail, "Finish its installation: create the KubeVirt object."), None);
    };
    let version = cr["status"]["observedKubeVirtVersion"].as_str().unwrap_or("of unknown version");
    let condition = |kind: &str| {
        let all = cr["status"]["conditions"].as_array().into_iter().flatten();
        all.filter(|c| c["type"] == kind).map(|c| c["status"] == "True").next()
    };
    let phase = cr["status"]["phase"].as_str().unwrap_or_default();
    let (major, minor) = OLDEST;
    let check = if condition("Available") != Some(true) {
        Check::failed(
            "kubevirt",
            format!("KubeVirt {version} is not available (phase {phase:?})."),
            "Look at the KubeVirt object's conditions and at virt-operator's log.",
        )
    } else if number(version).is_some_and(|v| v < OLDEST) {
        Check::failed("kubevirt", format!("KubeVirt {version} is older than v{major}.{minor}."), "Upgrade it.")
    } else if condition("Degraded") == Some(true) {
        Check::warning("kubevirt", format!("KubeVirt {version} works and is degraded."), "Look at its conditions.")
    } else {
        Check::ok("kubevirt", format!("KubeVirt {version} is available."))
    };
    (check, Some(cr))
}

/// Up to 1.8 a feature gate counts only if it is listed; from 1.9 on those in beta are on unless switched off.
fn features(cr: &Value, groups: &Groups) -> Vec<String> {
    let developer = &cr["spec"]["configuration"]["developerConfiguration"];
    let listed = |key: &str, gate: &str| developer[key].as_array().into_iter().flatten().any(|g| g == gate);
    let version = cr["status"]["observedKubeVirtVersion"].as_str().and_then(number).unwrap_or_default();
    let on = |gate: &str, by_default: bool| {
        listed("featureGates", gate) || (by_default && version >= (1, 9) && !listed("disabledFeatureGates", gate))
    };
    let all = [
        ("snapshots", on("Snapshot", true) && groups.serve("snapshot.kubevirt.io", "v1beta1")),
        ("exports", on("VMExport", true) && groups.has("export.kubevirt.io")),
        ("hotplug-volumes", on("HotplugVolumes", false) || on("DeclarativeHotplugVolumes", true)),
        ("clones", groups.serve("clone.kubevirt.io", "v1beta1")),
        // a machine is on the primary network of its namespace by this binding alone
        (
            "own-networks",
            groups.serve("k8s.ovn.org", "v1")
                && cr["spec"]["configuration"]["network"]["binding"]["l2bridge"].is_object(),
        ),
        ("live-update", cr["spec"]["configuration"]["vmRolloutStrategy"] != "Stage"),
    ];
    all.into_iter().filter(|(_, there)| *there).map(|(name, _)| name.to_owned()).collect()
}

async fn components(client: &Client, namespace: &str) -> Check {
    let small = |o: &Value| Some((o["metadata"]["name"].as_str()?.to_owned(), o["status"].clone()));
    let deployments = client.list(&DEPLOYMENTS, Some(namespace), "", small).await;
    let daemons = client.list(&DAEMON_SETS, Some(namespace), "", small).await;
    match (deployments, daemons) {
        (Ok((deployments, _)), Ok((daemons, _))) => ready(&deployments, &daemons),
        (Err(Error::Forbidden(_)), _) | (_, Err(Error::Forbidden(_))) => Check::warning(
            "components",
            format!("The account may not look at deployments in {namespace}."),
            "Let it list deployments and daemonsets there, or trust the KubeVirt object's word.",
        ),
        (Err(e), _) | (_, Err(e)) => Check::of_error("components", &e),
    }
}

fn ready(deployments: &[(String, Value)], daemons: &[(String, Value)]) -> Check {
    let mut problems = Vec::new();
    let mut worst = State::Ok;
    for name in COMPONENTS {
        match deployments.iter().find(|(n, _)| n == name) {
            None => problems.push(format!("{name} is not there")),
            Some((_, s)) if s["readyReplicas"].as_i64().unwrap_or(0) < 1 => {
                problems.push(format!("{name} is not ready"))
            }
            Some(_) => continue,
        }
        worst = State::Failed;
    }
    match daemons.iter().find(|(n, _)| n == "virt-handler") {
        None => {
            problems.push("virt-handler is not there".into());
            worst = State::Failed;
        }
        Some((_, s)) => {
            let count = |key: &str| s[key].as_i64().unwrap_or(0);
            let (is, should) = (count("numberReady"), count("desiredNumberScheduled"));
            if is < 1 {
                problems.push("virt-handler is ready on no node".into());
                worst = State::Failed;
            } else if is < should {
                problems.push(format!("virt-handler is ready on {is} of {should} nodes"));
                worst = if worst == State::Ok { State::Warning } else { worst };
            }
        }
    }
    match worst {
        State::Ok => Check::ok("components", "virt-api, virt-controller, virt-operator and virt-handler are ready."),
        worst => Check::new("components", worst, format!("{}.", problems.join(", ")), "Look at these pods on the hub."),
    }
}

async fn cdi(client: &Client, groups: &Groups) -> Check {
    if !groups.serve("cdi.kubevirt.io", "v1beta1") {
        return Check::failed(
            "cdi",
            "The hub does not serve cdi.kubevirt.io/v1beta1.",
            "Install CDI: VMs get their disks from it.",
        );
    }
    match client.list(&CDIS, None, "", |o| Some(o["status"].clone())).await {
        Ok((all, _)) => match all.first() {
            Some(s) if s["phase"] == "Deployed" => {
                let version = s["observedVersion"].as_str().unwrap_or_default();
                Check::ok("cdi", format!("CDI {version} is deployed.").replace("  ", " "))
            }
            Some(s) => {
                Check::failed("cdi", format!("CDI is not deployed (phase {}).", s["phase"]), "Look at the CDI object.")
            }
            None => Check::warning("cdi", "CDI's kinds are there, and no CDI object.", "Check whether CDI runs."),
        },
        // an account need not see it
        Err(Error::Forbidden(_)) => Check::ok("cdi", "CDI's kinds are served."),
        Err(e) => Check::of_error("cdi", &e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cr(version: &str, available: &str) -> Value {
        json!({"metadata": {"namespace": "kubevirt"}, "spec": {"configuration": {"developerConfiguration": {"featureGates": ["Snapshot"]}}},
            "status": {"phase": "Deployed", "observedKubeVirtVersion": version, "conditions": [{"type": "Available", "status": available}]}})
    }

    #[test]
    fn kubevirt_must_be_there_available_and_new_enough() {
        assert_eq!(judge(&[]).0.state, State::Failed);
        assert_eq!(judge(&[cr("v1.8.4", "True")]).0.state, State::Ok);
        assert_eq!(judge(&[cr("v1.8.4", "False")]).0.state, State::Failed);
        assert_eq!(judge(&[cr("v1.2.0", "True")]).0.state, State::Failed);
        assert_eq!(judge(&[json!({})]).0.state, State::Failed);
        let mut degraded = cr("v1.8.4", "True");
        let conditions = degraded["status"]["conditions"].as_array_mut().expect("a list");
        conditions.push(json!({"type": "Degraded", "status": "True"}));
        assert_eq!(judge(&[degraded]).0.state, State::Warning);
    }

    #[test]
    fn gates_count_as_their_release_says() {
        let groups = Groups::of(&[("snapshot.kubevirt.io", "v1beta1"), ("export.kubevirt.io", "v1")]);
        let has = |cr: &Value, f: &str| features(cr, &groups).iter().any(|x| x == f);
        let old = cr("v1.8.4", "True");
        assert!(has(&old, "snapshots") && !has(&old, "exports") && !has(&old, "hotplug-volumes"));
        let mut new = cr("v1.9.0", "True");
        assert!(has(&new, "exports") && has(&new, "hotplug-volumes") && !has(&new, "clones"));
        new["spec"]["configuration"]["developerConfiguration"] = json!({"disabledFeatureGates": ["VMExport"]});
        assert!(!has(&new, "exports") && has(&new, "snapshots"));
    }

    #[test]
    fn a_component_that_is_missing_or_not_ready_is_named() {
        let up = |n: &str| (n.to_owned(), json!({"readyReplicas": 2}));
        let all = COMPONENTS.map(up);
        let handler = |is: i64| [("virt-handler".to_owned(), json!({"numberReady": is, "desiredNumberScheduled": 3}))];
        assert_eq!(ready(&all, &handler(3)).state, State::Ok);
        assert_eq!(ready(&all, &handler(2)).state, State::Warning);
        assert_eq!(ready(&all, &handler(0)).state, State::Failed);
        let down = ready(&[up("virt-api"), ("virt-controller".to_owned(), json!({}))], &[]);
        for name in ["virt-controller is not ready", "virt-operator is not there", "virt-handler is not there"] {
            assert!(down.detail.contains(name), "{}", down.detail);
        }
    }
}
