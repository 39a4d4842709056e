use crate::harness::{World, condition, diskless, vm, vm_path, vmi_path};
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
