//! KubeVirt's own object and its components, all of them ready.
use super::{Item, item, namespace};
use crate::{
    Flavour,
    actors::kind::{CDI, DAEMON_SET, DEPLOYMENT, KUBEVIRT},
};
use serde_json::{Value, json};

const SINCE: &str = "2025-01-01T00:00:00Z";

/// On OpenShift the operator lives in a namespace of its own.
fn home(flavour: &Flavour) -> (&'static str, &'static str) {
    if flavour.openshift { ("openshift-cnv", "kubevirt-kubevirt-hyperconverged") } else { ("kubevirt", "kubevirt") }
}

pub(super) fn items(version: &str, flavour: &Flavour) -> Vec<Item> {
    let (space, name) = home(flavour);
    let mut all = vec![namespace(space), item(KUBEVIRT, kubevirt(space, name, version, flavour))];
    for component in ["virt-api", "virt-controller", "virt-operator"] {
        all.push(item(DEPLOYMENT, deployment(space, component, version)));
    }
    all.push(item(DAEMON_SET, handler(space, version)));
    if flavour.cdi {
        all.push(item(CDI, cdi()));
        for component in ["cdi-apiserver", "cdi-deployment", "cdi-uploadproxy"] {
            all.push(item(DEPLOYMENT, deployment(space, component, version)));
        }
    }
    all
}

fn kubevirt(space: &str, name: &str, version: &str, flavour: &Flavour) -> Value {
    let mut gates = vec!["DownwardMetrics", "ExpandDisks", "HotplugVolumes", "VMExport"];
    if flavour.snapshot {
        gates.push("Snapshot");
    }
    gates.sort_unstable();
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": message,
            "lastProbeTime": SINCE, "lastTransitionTime": SINCE})
    };
    json!({
        "metadata": {"name": name, "namespace": space},
        "spec": {
            "configuration": {
                "developerConfiguration": {"featureGates": gates, "cpuAllocationRatio": 10},
                "evictionStrategy": if flavour.openshift { "LiveMigrate" } else { "None" },
                "network": {
                    "defaultNetworkInterface": "masquerade",
                    "permitBridgeInterfaceOnPodNetwork": false,
                    "binding": {"l2bridge": {"domainAttachmentType": "managedTap"}},
                },
                "vmRolloutStrategy": "LiveUpdate",
                "liveUpdateConfiguration": {"maxHotplugRatio": 4},
            },
            "workloadUpdateStrategy": {"workloadUpdateMethods": ["LiveMigrate"]},
        },
        "status": {
            "phase": "Deployed",
            "observedKubeVirtVersion": version,
            "targetKubeVirtVersion": version,
            "operatorVersion": version,
            "observedKubeVirtRegistry": "quay.io/kubevirt",
            "defaultArchitecture": "amd64",
            "conditions": [
                condition("Available", "True", "AllComponentsReady", "All components are ready."),
                condition("Progressing", "False", "AllComponentsReady", "All components are ready."),
                condition("Degraded", "False", "AllComponentsReady", "All components are ready."),
                condition("Created", "True", "AllResourcesCreated", "All resources were created."),
            ],
        },
    })
}

/// CDI's own object. Its status is part of it.
fn cdi() -> Value {
    let version = "v1.63.1";
    let condition = |kind: &str, status: &str| {
        json!({"type": kind, "status": status, "reason": "DeployCompleted", "message": "Deployment Completed",
            "lastHeartbeatTime": SINCE, "lastTransitionTime": SINCE})
    };
    json!({
        "metadata": {"name": "cdi-kubevirt-hyperconverged"},
        "spec": {"imagePullPolicy": "IfNotPresent"},
        "status": {
            "phase": "Deployed", "observedVersion": version, "operatorVersion": version, "targetVersion": version,
            "conditions": [condition("Available", "True"), condition("Progressing", "False"), condition("Degraded", "False")],
        },
    })
}

fn pod_template(component: &str, version: &str) -> Value {
    json!({
        "metadata": {"labels": {"kubevirt.io": component}},
        "spec": {"containers": [{"name": component, "image": format!("quay.io/kubevirt/{component}:{version}")}]},
    })
}

fn deployment(space: &str, component: &str, version: &str) -> Value {
    json!({
        "metadata": {"name": component, "namespace": space, "labels": {"kubevirt.io": component,
            "app.kubernetes.io/component": "kubevirt", "app.kubernetes.io/version": version}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"kubevirt.io": component}},
            "template": pod_template(component, version),
        },
        "status": {
            "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
            "conditions": [{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
                "message": "Deployment has minimum availability.", "lastUpdateTime": SINCE, "lastTransitionTime": SINCE}],
        },
    })
}

fn handler(space: &str, version: &str) -> Value {
    json!({
        "metadata": {"name": "virt-handler", "namespace": space, "labels": {"kubevirt.io": "virt-handler"}},
        "spec": {
            "selector": {"matchLabels": {"kubevirt.io": "virt-handler"}},
            "template": pod_template("virt-handler", version),
        },
        "status": {
            "observedGeneration": 1, "currentNumberScheduled": 3, "desiredNumberScheduled": 3, "numberReady": 3,
            "numberAvailable": 3, "updatedNumberScheduled": 3, "numberMisscheduled": 0,
        },
    })
}
