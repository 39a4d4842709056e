use crate::harness::{World, condition, diskless, dv_path, vm, vm_path, vmi_path};
use serde_json::json;

fn domain(value: serde_json::Value) -> serde_json::Value {
    json!({"spec": {"template": {"spec": {"domain": value}}}})
}

#[tokio::test]
async fn more_cpu_and_memory_reach_a_running_guest() {
    let world = World::start().await;
    world.make(diskless("box", "Always")).await;
    world.until_shown("box", "Running").await;
    let uid = world.get(&vmi_path("box")).await.json()["metadata"]["uid"].clone();
    world.patch(&vm_path("box"), domain(json!({"cpu": {"sockets": 4}, "memory": {"guest": "4Gi"}}))).await;
    let grown = world
        .until(&vmi_path("box"), "larger", |i| {
            i["status"]["currentCPUTopology"]["sockets"] == 4 && i["status"]["memory"]["guestCurrent"] == "4Gi"
        })
        .await;
    assert_eq!(grown["metadata"]["uid"], uid, "without a restart");
    assert_eq!(grown["status"]["memory"]["guestAtBoot"], "2Gi");
    let vm = world
        .until(&vm_path("box"), "observed", |vm| vm["status"]["observedGeneration"] == vm["metadata"]["generation"])
        .await;
    assert!(condition(&vm, "RestartRequired").is_null());
}

#[tokio::test]
async fn what_cannot_be_changed_while_running_waits_for_a_restart() {
    let world = World::start().await;
    world.make(diskless("box", "Always")).await;
    world.until_shown("box", "Running").await;
    world.patch(&vm_path("box"), domain(json!({"cpu": {"sockets": 1}}))).await;
    let vm =
        world.until(&vm_path("box"), "in need of a restart", |vm| !condition(vm, "RestartRequired").is_null()).await;
    assert_eq!(condition(&vm, "RestartRequired")["message"], "Reduction of CPU socket count requires a restart");
    assert_eq!(world.call("virtualmachines", "box", "restart", "").await.code, 202);
    world.until(&vmi_path("box"), "smaller", |i| i["status"]["currentCPUTopology"]["sockets"] == 1).await;
    world.until(&vm_path("box"), "done", |vm| condition(vm, "RestartRequired").is_null()).await;
}

#[tokio::test]
async fn a_larger_instance_type_is_hotplugged_too() {
    let world = World::start().await;
    world.make(vm("web", "Always")).await;
    world.until_shown("web", "Running").await;
    world.patch(&vm_path("web"), json!({"spec": {"instancetype": {"name": "u1.large"}}})).await;
    world
        .until(&vmi_path("web"), "larger", |i| {
            i["status"]["currentCPUTopology"]["sockets"] == 2 && i["status"]["memory"]["guestCurrent"] == "8Gi"
        })
        .await;
}

#[tokio::test]
async fn a_disk_is_plugged_into_a_running_guest_and_taken_out() {
    let world = World::start().await;
    world.make(vm("web", "Always")).await;
    world.until_shown("web", "Running").await;
    let uid = world.get(&vmi_path("web")).await.json()["metadata"]["uid"].clone();
    let dv = json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": {"name": "extra"},
        "spec": {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}},
    });
    world.post(dv_path("").trim_end_matches('/'), dv).await;
    let options = |bus: &str| {
        json!({"name": "data", "disk": {"disk": {"bus": bus}}, "volumeSource": {"dataVolume": {"name": "extra"}}})
            .to_string()
    };
    let refused = world.call("virtualmachines", "web", "addvolume", &options("sata")).await;
    assert_eq!(refused.code, 500, "{}", refused.text);
    assert!(
        refused.message().ends_with("requires bus to be 'scsi' or 'virtio'. [sata] is not permitted."),
        "{}",
        refused.text
    );
    assert_eq!(world.call("virtualmachines", "web", "addvolume", &options("scsi")).await.code, 202);
    let plugged = |i: &serde_json::Value| {
        let all = i["status"]["volumeStatus"].as_array().cloned().unwrap_or_default();
        all.iter().any(|v| v["name"] == "data" && v["phase"] == "Ready")
    };
    let vmi = world.until(&vmi_path("web"), "plugged", plugged).await;
    assert_eq!(vmi["metadata"]["uid"], uid);
    let machine = world.get(&vm_path("web")).await.json();
    assert_eq!(machine["spec"]["template"]["spec"]["volumes"][1]["dataVolume"]["hotpluggable"], true);
    assert!(condition(&machine, "RestartRequired").is_null());
    let twice = world.call("virtualmachines", "web", "addvolume", &options("scsi")).await;
    assert!(twice.message().ends_with("Unable to add volume [data] because volume with that name already exists"));

    assert_eq!(world.call("virtualmachines", "web", "removevolume", r#"{"name": "data"}"#).await.code, 202);
    world
        .until(&vmi_path("web"), "without it", |i| {
            i["spec"]["volumes"].as_array().unwrap().len() == 1
                && i["status"]["volumeStatus"].as_array().unwrap().len() == 1
        })
        .await;
    let machine = world.get(&vm_path("web")).await.json();
    assert!(condition(&machine, "RestartRequired").is_null());
}
