use crate::harness::{NAMESPACE, World, claim_path, condition, diskless, dv_path, vm, vm_path, vmi_path};
use hubsim::actors;
use serde_json::json;

const VM: &str = "virtualmachines";
const VMI: &str = "virtualmachineinstances";

#[tokio::test]
async fn a_machine_comes_up_with_disk_address_and_agent() {
    let world = World::start().await;
    let made = world.make(vm("web", "Always")).await;
    let domain = &made["spec"]["template"]["spec"]["domain"];
    assert!(domain["firmware"]["uuid"].is_string(), "the webhook fills the firmware's ids");
    assert_eq!(made["spec"]["instancetype"]["kind"], "VirtualMachineClusterInstancetype");

    let running =
        world.until(&vm_path("web"), "connected", |vm| condition(vm, "AgentConnected")["status"] == "True").await;
    assert_eq!(running["status"]["printableStatus"], "Running");
    assert_eq!((&running["status"]["created"], &running["status"]["ready"]), (&json!(true), &json!(true)));
    assert_eq!(running["status"]["instancetypeRef"]["name"], "u1.medium");
    assert_eq!(running["status"]["volumeSnapshotStatuses"][0]["enabled"], true);

    let vmi = world.get(&vmi_path("web")).await.json();
    let phases: Vec<&str> = vmi["status"]["phaseTransitionTimestamps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|p| p["phase"].as_str())
        .collect();
    assert_eq!(phases, ["Pending", "Scheduling", "Scheduled", "Running"]);
    assert!(vmi["status"]["interfaces"][0]["ipAddress"].as_str().unwrap().starts_with("10."));
    assert_eq!(vmi["status"]["guestOSInfo"]["id"], "fedora");
    assert_eq!(vmi["status"]["currentCPUTopology"]["sockets"], 1);
    assert_eq!(vmi["status"]["memory"]["guestCurrent"], "4Gi");
    assert!(vmi["status"]["nodeName"].as_str().unwrap().starts_with("worker-"));
    assert_eq!(vmi["metadata"]["labels"]["vm"], "web");
    assert_eq!(vmi["metadata"]["ownerReferences"][0]["uid"], running["metadata"]["uid"]);
    assert_eq!(condition(&vmi, "LiveMigratable")["status"], "True");
    assert_eq!(world.get(&dv_path("web-root")).await.json()["status"]["phase"], "Succeeded");
    assert_eq!(world.get(&claim_path("web-root")).await.json()["status"]["phase"], "Bound");

    let info = format!("/apis/subresources.kubevirt.io/v1/namespaces/{NAMESPACE}/{VMI}/web/guestosinfo");
    assert_eq!(world.get(&info).await.json()["os"]["id"], "fedora");
    let list = info.replace("guestosinfo", "filesystemlist");
    let disks = world.get(&list).await.json();
    assert_eq!((&disks["items"][0]["mountPoint"], &disks["metadata"]), (&json!("/"), &json!({})));
    let users = world.get(&info.replace("guestosinfo", "userlist")).await.json();
    assert_eq!(users, json!({"items": [], "metadata": {}}));
    let version = world.get("/apis/subresources.kubevirt.io/v1/version").await.json();
    assert_eq!(version["gitVersion"].as_str(), world.hub.flavour().kubevirt.as_deref());
    let events = world.get(&format!("/api/v1/namespaces/{NAMESPACE}/events")).await.json();
    let told = |reason: &str| events["items"].as_array().unwrap().iter().any(|e| e["reason"] == reason);
    assert!(told("SuccessfulCreate") && told("SuccessfulDataVolumeCreate") && told("Started"));
}

#[tokio::test]
async fn stop_start_and_restart_do_as_they_say() {
    let world = World::start().await;
    world.make(vm("web", "RerunOnFailure")).await;
    world.until_shown("web", "Running").await;
    let first = world.get(&vmi_path("web")).await.json();

    let again = world.call(VM, "web", "start", "").await;
    assert_eq!(again.code, 409);
    assert_eq!(
        again.json(),
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "Operation cannot be fulfilled on virtualmachine.kubevirt.io \"web\": VM is already running",
            "reason": "Conflict", "details": {"name": "web", "group": "kubevirt.io", "kind": "virtualmachine"}, "code": 409})
    );

    let stopped = world.call(VM, "web", "stop", "{}").await;
    assert_eq!((stopped.code, stopped.text.as_str()), (202, ""));
    let halted = world.until_shown("web", "Stopped").await;
    assert_eq!(halted["spec"]["runStrategy"], "RerunOnFailure");
    assert!(halted["status"].get("stateChangeRequests").is_none());
    assert_eq!(world.get(&vmi_path("web")).await.code, 404);
    assert!(world.call(VM, "web", "stop", "").await.message().ends_with("VM is not running"));

    assert_eq!(world.call(VM, "web", "start", "{}").await.code, 202);
    world.until_shown("web", "Running").await;
    let second = world.get(&vmi_path("web")).await.json();
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);

    assert_eq!(world.call(VM, "web", "restart", "{}").await.code, 202);
    let uid = second["metadata"]["uid"].clone();
    world
        .until(&vmi_path("web"), "another one that runs", |i| {
            i["metadata"]["uid"] != uid && i["status"]["phase"] == "Running"
        })
        .await;
    assert_eq!(world.call(VM, "web", "restart", r#"{"gracePeriodSeconds": 5}"#).await.code, 400);
    assert_eq!(world.call(VM, "none", "start", "").await.message(), "virtualmachine.kubevirt.io \"none\" not found");
}

#[tokio::test]
async fn a_halted_machine_becomes_always_by_start_and_halted_by_stop() {
    let world = World::start().await;
    world.make(diskless("box", "Halted")).await;
    world.until_shown("box", "Stopped").await;
    assert_eq!(world.call(VM, "box", "start", "").await.code, 202);
    let running = world.until_shown("box", "Running").await;
    assert_eq!(running["spec"]["runStrategy"], "Always");
    assert!(world.call(VM, "box", "start", "").await.message().ends_with("VM is already running"));
    assert_eq!(world.call(VM, "box", "stop", "").await.code, 202);
    assert_eq!(world.until_shown("box", "Stopped").await["spec"]["runStrategy"], "Halted");
}

#[tokio::test]
async fn pause_keeps_the_guest_and_unpause_lets_it_go_on() {
    let world = World::start().await;
    world.make(diskless("box", "Always")).await;
    world.until_shown("box", "Running").await;
    let paused = world.call(VMI, "box", "pause", "").await;
    assert_eq!((paused.code, paused.text.as_str()), (200, ""));
    world.until_shown("box", "Paused").await;
    assert!(world.call(VMI, "box", "pause", "").await.message().ends_with("VMI is already paused"));
    assert!(world.call(VMI, "box", "softreboot", "").await.message().ends_with("VMI is paused"));
    assert_eq!(world.call(VMI, "box", "unpause", "").await.code, 200);
    world.until_shown("box", "Running").await;
    assert_eq!(world.call(VMI, "box", "softreboot", "").await.code, 200);
    assert_eq!(world.call(VMI, "box", "reset", "").await.code, 200);
    world.until(&vmi_path("box"), "connected again", |i| condition(i, "AgentConnected")["status"] == "True").await;
    assert_eq!(
        world.call(VMI, "none", "pause", "").await.message(),
        "virtualmachineinstance.kubevirt.io \"none\" not found"
    );
}

#[tokio::test]
async fn a_deleted_machine_takes_instance_and_disks_with_it() {
    let world = World::start().await;
    world.make(vm("web", "Always")).await;
    world.until_shown("web", "Running").await;
    assert_eq!(world.delete(&vm_path("web")).await.code, 200);
    for path in [vm_path("web"), vmi_path("web"), dv_path("web-root"), claim_path("web-root")] {
        world.until_gone(&path).await;
    }
}

#[tokio::test]
async fn a_guest_that_powers_off_stays_off_or_comes_back_as_its_strategy_says() {
    let world = World::start().await;
    for (name, strategy) in [("stays", "RerunOnFailure"), ("returns", "Always"), ("lingers", "Manual")] {
        world.make(diskless(name, if strategy == "Manual" { "Manual" } else { strategy })).await;
    }
    assert_eq!(world.call(VM, "lingers", "start", "").await.code, 202);
    for name in ["stays", "returns", "lingers"] {
        // wait for the agent, so that nobody else writes to the instance any more
        world.until(&vmi_path(name), "connected", |i| condition(i, "AgentConnected")["status"] == "True").await;
        world.until_shown(name, "Running").await;
    }
    let first = world.get(&vmi_path("returns")).await.json()["metadata"]["uid"].clone();
    for name in ["stays", "returns", "lingers"] {
        actors::guest_power_off(world.hub.inside(), &world.hub.clock(), NAMESPACE, name).await.unwrap();
    }
    world.until_shown("stays", "Stopped").await;
    world.until_gone(&vmi_path("stays")).await;
    world
        .until(&vmi_path("returns"), "new", |i| i["metadata"]["uid"] != first && i["status"]["phase"] == "Running")
        .await;
    world.until_shown("lingers", "Stopped").await;
    assert_eq!(world.get(&vmi_path("lingers")).await.json()["status"]["phase"], "Succeeded");
    assert_eq!(world.call(VM, "lingers", "start", "").await.code, 202);
    world.until_shown("lingers", "Running").await;
}

#[tokio::test]
async fn once_runs_once_and_a_merge_patch_of_the_strategy_is_enough() {
    let world = World::start().await;
    world.make(diskless("once", "Once")).await;
    world.until_shown("once", "Running").await;
    world.patch(&vm_path("once"), json!({"spec": {"runStrategy": "Halted"}})).await;
    world.until_shown("once", "Stopped").await;
    world.patch(&vm_path("once"), json!({"spec": {"runStrategy": "RerunOnFailure"}})).await;
    world.until_shown("once", "Running").await;
}
