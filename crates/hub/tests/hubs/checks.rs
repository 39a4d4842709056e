//! Reports about hubs that are fit, half fit and dead.
use crate::world::{World, clock, of_flavour, options, world};
use hub::{
    Client,
    address::Gate,
    check::{self, NEEDED, Report, State},
    kubeconfig,
};
use hubsim::{Fault, Flavour};
use serde_json::{Value, json};
use time::macros::datetime;

async fn report(w: &World) -> Report {
    check::check(&w.client, &w.credential, datetime!(2026-01-02 03:04:05 UTC)).await
}

fn state(r: &Report, key: &str) -> State {
    r.get(key).unwrap_or_else(|| panic!("no check {key}")).state
}

/// What an operator would have installed.
async fn furnish(w: &World) {
    let metadata = |name: &str| json!({"name": name});
    w.post("/api/v1/namespaces", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("kubevirt")}))
        .await;
    w.post(
        "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts",
        json!({"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": metadata("kubevirt"),
        "spec": {"configuration": {"developerConfiguration": {"featureGates": ["Snapshot"]}}}}),
    )
    .await;
    edit(
        w,
        "kubevirt.io",
        "kubevirts",
        "kubevirt",
        "kubevirt",
        json!({"phase": "Deployed", "observedKubeVirtVersion": "v1.6.6",
        "conditions": [{"type": "Available", "status": "True"}]}),
    );
    let pod = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": pod});
    for name in ["virt-api", "virt-controller", "virt-operator"] {
        w.post(
            "/apis/apps/v1/namespaces/kubevirt/deployments",
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(name), "spec": spec}),
        )
        .await;
        edit(w, "apps", "deployments", "kubevirt", name, json!({"readyReplicas": 1}));
    }
    w.post(
        "/apis/apps/v1/namespaces/kubevirt/daemonsets",
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata("virt-handler"), "spec": spec}),
    )
    .await;
    edit(w, "apps", "daemonsets", "kubevirt", "virt-handler", json!({"numberReady": 1, "desiredNumberScheduled": 1}));
    w.post(
        "/apis/cdi.kubevirt.io/v1beta1/cdis",
        json!({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "CDI", "metadata": metadata("cdi"), "spec": {}}),
    )
    .await;
    edit(w, "cdi.kubevirt.io", "cdis", "", "cdi", json!({"phase": "Deployed"}));
    w.post(
        "/apis/storage.k8s.io/v1/storageclasses",
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "x",
        "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}),
    )
    .await;
    w.post("/apis/instancetype.kubevirt.io/v1beta1/virtualmachineclusterinstancetypes", json!({"apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterInstancetype", "metadata": metadata("u1.small"), "spec": {"cpu": {"guest": 1}, "memory": {"guest": "2Gi"}}})).await;
    w.post("/api/v1/nodes", json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata("node-1")})).await;
    edit(
        w,
        "",
        "nodes",
        "",
        "node-1",
        json!({"allocatable": {"cpu": "32", "memory": "128Gi"}, "conditions": [{"type": "Ready", "status": "True"}]}),
    );
}

fn edit(w: &World, group: &str, resource: &str, namespace: &str, name: &str, status: Value) {
    assert!(w.sim.edit(group, resource, namespace, name, |o| o["status"] = status).expect("an edit"), "{name}");
}

#[tokio::test]
async fn a_furnished_hub_is_fit() {
    let w = world().await;
    furnish(&w).await;
    let r = report(&w).await;
    for key in [
        "address",
        "connection",
        "certificate",
        "credentials",
        "version",
        "rights",
        "kubevirt",
        "components",
        "cdi",
        "crds",
        "storage",
        "instance-types",
        "templates",
        "networks",
        "nodes",
    ] {
        assert_eq!(state(&r, key), State::Ok, "{:?}", r.get(key));
    }
    assert!(r.capabilities.contains(&"virtualmachines".to_owned()), "{:?}", r.capabilities);
    assert!(r.features.contains("templates") && r.features.contains("networks"));
    assert_eq!((r.capacity.nodes, r.capacity.cpus, r.capacity.memory_mb), (1, 32, 131_072));
    assert_eq!((r.kubernetes.as_deref(), r.kubevirt.as_deref()), (Some("v1.35.8"), Some("v1.6.6")));
    assert_eq!(r.storage_classes.len(), 1);
    assert_eq!(r.instance_types.len(), 1);
    assert_eq!(r.crds.len(), 3);
}

#[tokio::test]
async fn a_hub_without_kubevirt_takes_no_vms_and_says_why() {
    let w = of_flavour(Flavour::bare()).await;
    let r = report(&w).await;
    assert_eq!(state(&r, "connection"), State::Ok);
    assert_eq!(state(&r, "kubevirt"), State::Failed);
    assert!(!r.get("kubevirt").expect("a check").what_to_do.is_empty());
    assert_eq!(state(&r, "components"), State::Skipped);
    assert_eq!(state(&r, "templates"), State::Skipped);
    assert_eq!(r.state(), State::Failed);
    assert!(r.capabilities.is_empty(), "{:?}", r.capabilities);
}

#[tokio::test]
async fn a_component_that_is_down_is_named() {
    let w = world().await;
    furnish(&w).await;
    edit(&w, "apps", "deployments", "kubevirt", "virt-api", json!({}));
    let r = report(&w).await;
    let check = r.get("components").expect("a check");
    assert!(check.state == State::Failed && check.detail.contains("virt-api is not ready"), "{check:?}");
}

#[tokio::test]
async fn a_dead_hub_has_a_report_of_the_same_lines() {
    let (w, good) = (world().await, world().await);
    furnish(&good).await;
    let keys = |r: &Report| r.checks.iter().map(|c| c.key.clone()).collect::<Vec<_>>();
    let fit = report(&good).await;
    for (fault, failed) in [(Fault::Refuse, "connection"), (Fault::Unauthorized, "credentials")] {
        w.sim.faults().set(fault, true);
        let r = report(&w).await;
        w.sim.faults().clear();
        assert_eq!(state(&r, failed), State::Failed, "{:?}", r.get(failed));
        assert_eq!(r.checks.iter().filter(|c| c.state == State::Failed).count(), 1);
        assert_eq!(keys(&r), keys(&fit));
        assert!(r.capabilities.is_empty());
    }
}

#[tokio::test]
async fn every_right_is_asked_for_by_name() {
    let w = world().await;
    furnish(&w).await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    w.post(
        "/api/v1/namespaces/default/serviceaccounts",
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "ssvirt"}}),
    )
    .await;
    let rules = |skip: &str| -> Vec<Value> {
        let mut rules: Vec<Value> = NEEDED
            .iter()
            .filter(|r| r.resource != skip)
            .map(|r| json!({"apiGroups": [r.group], "resources": [r.resource], "verbs": r.verbs}))
            .collect();
        rules.push(json!({"nonResourceURLs": ["/api", "/api/*", "/apis", "/apis/*", "/version"], "verbs": ["get"]}));
        rules
    };
    for (role, skip) in [("all", ""), ("no-nodes", "nodes"), ("no-vms", "virtualmachines")] {
        let rbac_of = |kind: &str| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": role}});
        let mut cluster_role = rbac_of("ClusterRole");
        cluster_role["rules"] = json!(rules(skip));
        w.post(&format!("{rbac}/clusterroles"), cluster_role).await;
        let name = format!("sa-{role}");
        w.post(
            "/api/v1/namespaces/default/serviceaccounts",
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}),
        )
        .await;
        let mut binding = rbac_of("ClusterRoleBinding");
        binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role});
        binding["subjects"] = json!([{"kind": "ServiceAccount", "name": name, "namespace": "default"}]);
        w.post(&format!("{rbac}/clusterrolebindings"), binding).await;
        let token = w.post(&format!("/api/v1/namespaces/default/serviceaccounts/{name}/token"), json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}})).await;
        let token = token["status"]["token"].as_str().expect("a token");
        let credential = kubeconfig::parse(&w.sim.kubeconfig().replace(w.sim.token(), token)).expect("good");
        let client = Client::new(&credential, &Gate::open(), clock(), options()).expect("a client");
        let r = check::check(&client, &credential, datetime!(2026-01-02 03:04:05 UTC)).await;
        let rights = r.get("rights").expect("a check");
        match role {
            "all" => assert_eq!(rights.state, State::Ok, "{rights:?}"),
            "no-nodes" => {
                assert!(rights.state == State::Warning && rights.detail.contains("list nodes"), "{rights:?}");
                assert_eq!(state(&r, "nodes"), State::Warning);
                assert!(r.capabilities.contains(&"virtualmachines".to_owned()), "a hub's size need not be known");
            }
            _ => {
                assert!(
                    rights.state == State::Failed && rights.detail.contains("create virtualmachines.kubevirt.io"),
                    "{rights:?}"
                );
                assert!(!r.capabilities.contains(&"virtualmachines".to_owned()));
            }
        }
    }
}

#[tokio::test]
async fn hubs_that_differ_are_told_apart() {
    let (a, b) = (
        world().await,
        of_flavour(Flavour { kubernetes: "v1.33.1".into(), templates: false, ..Flavour::default() }).await,
    );
    let (first, second) = (report(&a).await, report(&b).await);
    let what: Vec<String> = check::compare([("a", &first), ("b", &second)]).into_iter().map(|d| d.what).collect();
    assert_eq!(what, ["Kubernetes", "OpenShift templates"]);
}
