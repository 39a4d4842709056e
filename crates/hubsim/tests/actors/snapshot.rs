use crate::harness::{NAMESPACE, World, claim_path, condition, dv_path, vm, vm_path, vmi_path};
use serde_json::{Value, json};

fn path(plural: &str, name: &str) -> String {
    format!("/apis/snapshot.kubevirt.io/v1beta1/namespaces/{NAMESPACE}/{plural}/{name}")
}

fn machine(name: &str) -> Value {
    json!({"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": name})
}

async fn make(world: &World, kind: &str, plural: &str, name: &str, spec: Value) {
    let object =
        json!({"apiVersion": "snapshot.kubevirt.io/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    let made = world.post(path(plural, "").trim_end_matches('/'), object).await;
    assert_eq!(made.code, 201, "{}", made.text);
}

async fn snapshot(world: &World, name: &str, of: &str) -> Value {
    make(world, "VirtualMachineSnapshot", "virtualmachinesnapshots", name, json!({"source": machine(of)})).await;
    world.until(&path("virtualmachinesnapshots", name), "ready", |s| s["status"]["readyToUse"] == true).await
}

#[tokio::test]
async fn a_running_machine_is_snapshotted_and_goes_back_when_it_is_off() {
    let world = World::start().await;
    world.make(vm("web", "Always")).await;
    world.until(&vm_path("web"), "connected", |vm| condition(vm, "AgentConnected")["status"] == "True").await;
    let taken = snapshot(&world, "before", "web").await;
    assert_eq!(taken["status"]["phase"], "Succeeded");
    assert_eq!(taken["status"]["indications"], json!(["Online", "GuestAgent"]));
    assert_eq!(taken["status"]["snapshotVolumes"]["includedVolumes"], json!(["root"]));
    world.until(&vm_path("web"), "free", |vm| vm["status"].get("snapshotInProgress").is_none()).await;

    let hostname = json!({"spec": {"template": {"spec": {"hostname": "changed"}}}});
    assert_eq!(world.patch(&vm_path("web"), hostname).await.code, 200);
    let spec = json!({"target": machine("web"), "virtualMachineSnapshotName": "before"});
    make(&world, "VirtualMachineRestore", "virtualmachinerestores", "back", spec).await;
    let restore = path("virtualmachinerestores", "back");
    let waiting = world.until(&restore, "waiting", |r| !condition(r, "Progressing").is_null()).await;
    assert_eq!(
        condition(&waiting, "Progressing")["reason"],
        "Waiting for target VM to be powered off. Please stop the restore target to proceed with restore"
    );
    assert_eq!(world.call("virtualmachines", "web", "stop", "").await.code, 202);
    let done = world.until(&restore, "complete", |r| r["status"]["complete"] == true).await;
    let claim = done["status"]["restores"][0]["persistentVolumeClaim"].as_str().unwrap().to_owned();
    assert_eq!(claim, format!("restore-{}-root", done["metadata"]["uid"].as_str().unwrap()));
    assert_eq!(done["status"]["deletedDataVolumes"], json!(["web-root"]));
    world.until_gone(&dv_path("web-root")).await;
    let back = world.until(&vm_path("web"), "free", |vm| vm["status"].get("restoreInProgress").is_none()).await;
    assert!(back["spec"]["template"]["spec"].get("hostname").is_none());
    assert_eq!(back["spec"]["template"]["spec"]["volumes"][0]["dataVolume"]["name"], claim);
    assert_eq!(world.get(&dv_path(&claim)).await.code, 404, "nobody makes the disk anew from its image");

    assert_eq!(world.call("virtualmachines", "web", "start", "").await.code, 202);
    world.until_shown("web", "Running").await;
    world.delete(&vm_path("web")).await;
    world.until_gone(&claim_path(&claim)).await;
}

#[tokio::test]
async fn a_machine_is_made_from_a_snapshot_and_a_snapshot_goes_with_its_content() {
    let world = World::start().await;
    world.make(vm("web", "Halted")).await;
    world.until_shown("web", "Stopped").await;
    let taken = snapshot(&world, "gold", "web").await;
    let spec = json!({"target": machine("copy"), "virtualMachineSnapshotName": "gold"});
    make(&world, "VirtualMachineRestore", "virtualmachinerestores", "copy", spec).await;
    world.until(&path("virtualmachinerestores", "copy"), "complete", |r| r["status"]["complete"] == true).await;
    world.until_shown("copy", "Stopped").await;
    let content = taken["status"]["virtualMachineSnapshotContentName"].as_str().unwrap();
    let content = path("virtualmachinesnapshotcontents", content);
    assert_eq!(world.get(&content).await.code, 200);
    world.delete(&path("virtualmachinesnapshots", "gold")).await;
    world.until_gone(&path("virtualmachinesnapshots", "gold")).await;
    world.until_gone(&content).await;
}

#[tokio::test]
async fn a_running_guest_moves_to_another_node() {
    let world = World::start().await;
    world.make(vm("web", "Always")).await;
    world.until_shown("web", "Running").await;
    let here = world.get(&vmi_path("web")).await.json();
    assert_eq!(world.call("virtualmachines", "web", "migrate", "{}").await.code, 202);
    let there = world.until(&vmi_path("web"), "moved", |i| i["status"]["migrationState"]["completed"] == true).await;
    assert_eq!(there["metadata"]["uid"], here["metadata"]["uid"]);
    assert_ne!(there["status"]["nodeName"], here["status"]["nodeName"]);
    assert_eq!(there["status"]["migrationState"]["sourceNode"], here["status"]["nodeName"]);
    world.until_shown("web", "Running").await;
    assert_eq!(world.call("virtualmachines", "none", "migrate", "{}").await.code, 404);
}

#[tokio::test]
async fn a_disk_that_came_later_goes_back_as_a_claim_and_leaves_its_volume_behind() {
    let world = World::start().await;
    let made = world.make(vm("web", "Halted")).await;
    world.until_shown("web", "Stopped").await;
    let later = json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume",
        "metadata": {"name": "later", "ownerReferences": [{
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "web", "uid": made["metadata"]["uid"],
        }]},
        "spec": {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}},
    });
    let volumes = dv_path("");
    assert_eq!(world.post(volumes.trim_end_matches('/'), later).await.code, 201);
    world.until(&dv_path("later"), "full", |dv| dv["status"]["phase"] == "Succeeded").await;
    let both = json!({"spec": {"template": {"spec": {
        "domain": {"devices": {"disks": [{"name": "root", "disk": {}}, {"name": "later", "disk": {}}]}},
        "volumes": [{"name": "root", "dataVolume": {"name": "web-root"}}, {"name": "later", "dataVolume": {"name": "later"}}],
    }}}});
    assert_eq!(world.patch(&vm_path("web"), both).await.code, 200);
    let enabled = |vm: &Value| {
        let all = vm["status"]["volumeSnapshotStatuses"].as_array().cloned().unwrap_or_default();
        all.len() == 2 && all.iter().all(|s| s["enabled"] == true)
    };
    world.until(&vm_path("web"), "seen with both", enabled).await;
    snapshot(&world, "before", "web").await;
    let spec = json!({"target": machine("web"), "virtualMachineSnapshotName": "before"});
    make(&world, "VirtualMachineRestore", "virtualmachinerestores", "back", spec).await;
    let restore = path("virtualmachinerestores", "back");
    let done = world.until(&restore, "complete", |r| r["status"]["complete"] == true).await;
    assert_eq!(done["status"]["deletedDataVolumes"], json!(["web-root"]));
    let claim = format!("restore-{}-later", done["metadata"]["uid"].as_str().unwrap());
    let back = world.until(&vm_path("web"), "free", |vm| vm["status"].get("restoreInProgress").is_none()).await;
    let volume = &back["spec"]["template"]["spec"]["volumes"][1];
    assert_eq!(*volume, json!({"name": "later", "persistentVolumeClaim": {"claimName": claim}}));
    world.until_gone(&dv_path("web-root")).await;
    assert_eq!(world.get(&dv_path("later")).await.code, 200, "nobody wants it any more, and it stays");
    // a restore that is deleted goes once the machine is let go
    world.delete(&restore).await;
    world.until_gone(&restore).await;
}
