use crate::harness::{NAMESPACE, World, condition, diskless, vmi_path};
use serde_json::{Value, json};

fn path(name: &str) -> String {
    format!("/apis/k8s.ovn.org/v1/namespaces/{NAMESPACE}/userdefinednetworks/{name}")
}

fn attachment(name: &str) -> String {
    format!("/apis/k8s.cni.cncf.io/v1/namespaces/{NAMESPACE}/network-attachment-definitions/{name}")
}

async fn make(world: &World, name: &str, role: &str, subnet: &str) {
    let network = json!({
        "apiVersion": "k8s.ovn.org/v1", "kind": "UserDefinedNetwork", "metadata": {"name": name},
        "spec": {"topology": "Layer2", "layer2": {"role": role, "subnets": [subnet]}},
    });
    let made = world.post(path("").trim_end_matches('/'), network).await;
    assert_eq!(made.code, 201, "{}", made.text);
}

fn on(name: &str, network: &str) -> Value {
    let mut vm = diskless(name, "Always");
    vm["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"] = json!([{"name": "lan", "bridge": {}}]);
    vm["spec"]["template"]["spec"]["networks"] = json!([{"name": "lan", "multus": {"networkName": network}}]);
    vm
}

#[tokio::test]
async fn guests_on_a_network_have_its_addresses_and_hold_it() {
    let world = World::start().await;
    make(&world, "lan", "Secondary", "192.168.50.0/28").await;
    let ready = world.until(&path("lan"), "created", |n| condition(n, "NetworkCreated")["status"] == "True").await;
    assert_eq!(condition(&ready, "NetworkCreated")["message"], "NetworkAttachmentDefinition has been created");
    let made = world.get(&attachment("lan")).await.json();
    assert!(made["spec"]["config"].as_str().unwrap().contains(&format!("\"{NAMESPACE}_lan\"")));

    for name in ["a", "b"] {
        world.make(on(name, "lan")).await;
        world.until_shown(name, "Running").await;
    }
    let address = |vmi: Value| vmi["status"]["interfaces"][0]["ipAddress"].as_str().unwrap_or_default().to_owned();
    let a = address(world.get(&vmi_path("a")).await.json());
    let b = address(world.get(&vmi_path("b")).await.json());
    assert!(a.starts_with("192.168.50.") && b.starts_with("192.168.50.") && a != b, "{a} {b}");

    world.delete(&path("lan")).await;
    let held = world.until(&path("lan"), "held", |n| condition(n, "NetworkCreated")["status"] == "False").await;
    let words = condition(&held, "NetworkCreated")["message"].as_str().unwrap();
    assert!(words.starts_with("network in use by the following pods: [tenant/virt-launcher-a-"), "{words}");
    for name in ["a", "b"] {
        world.call("virtualmachines", name, "stop", "").await;
    }
    world.until_gone(&path("lan")).await;
    world.until_gone(&attachment("lan")).await;
}

#[tokio::test]
async fn a_namespace_has_one_primary_network_and_its_guests_are_on_it() {
    let world = World::start().await;
    make(&world, "first", "Primary", "10.77.0.0/24").await;
    world.until(&path("first"), "created", |n| condition(n, "NetworkCreated")["status"] == "True").await;
    make(&world, "second", "Primary", "10.78.0.0/24").await;
    let refused =
        world.until(&path("second"), "refused", |n| condition(n, "NetworkCreated")["status"] == "False").await;
    assert_eq!(
        condition(&refused, "NetworkCreated")["message"],
        "primary network already exist in namespace \"tenant\": \"first\""
    );
    let mut vm = diskless("box", "Always");
    vm["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"] =
        json!([{"name": "default", "binding": {"name": "l2bridge"}}]);
    vm["spec"]["template"]["spec"]["networks"] = json!([{"name": "default", "pod": {}}]);
    world.make(vm).await;
    world.until_shown("box", "Running").await;
    let vmi = world.get(&vmi_path("box")).await.json();
    assert!(vmi["status"]["interfaces"][0]["ipAddress"].as_str().unwrap().starts_with("10.77.0."));
}

#[tokio::test]
async fn a_cluster_network_reaches_the_namespaces_it_selects() {
    let world = World::start().await;
    for (name, org) in [("one", "acme"), ("two", "globex"), ("three", "acme")] {
        world.post("/api/v1/namespaces", json!({"metadata": {"name": name, "labels": {"org": org}}})).await;
    }
    let network = json!({
        "apiVersion": "k8s.ovn.org/v1", "kind": "ClusterUserDefinedNetwork", "metadata": {"name": "shared"},
        "spec": {
            "namespaceSelector": {"matchLabels": {"org": "acme"}},
            "network": {"topology": "Layer2", "layer2": {"role": "Secondary", "subnets": ["10.9.0.0/24"]}},
        },
    });
    let all = "/apis/k8s.ovn.org/v1/clusteruserdefinednetworks";
    assert_eq!(world.post(all, network).await.code, 201);
    let wanted = "NetworkAttachmentDefinition has been created in following namespaces: [one, three]";
    world.until(&format!("{all}/shared"), "in both", |n| condition(n, "NetworkCreated")["message"] == wanted).await;

    // a namespace that ends is not held by it
    assert_eq!(world.delete("/api/v1/namespaces/three").await.code, 200);
    let wanted = "NetworkAttachmentDefinition has been created in following namespaces: [one]";
    world.until(&format!("{all}/shared"), "in one", |n| condition(n, "NetworkCreated")["message"] == wanted).await;
    world.until_gone("/api/v1/namespaces/three").await;
}
