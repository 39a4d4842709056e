use crate::harness::{NAMESPACE, World, diskless, vm, vm_path, vmi_path, vms};
use serde_json::json;

#[tokio::test]
async fn a_refusal_names_the_webhook_and_every_cause() {
    let world = World::start().await;
    let mut bad = diskless("box", "Sometimes");
    bad["spec"]["template"]["spec"]["domain"]["devices"]["disks"] = json!([{"name": "none", "disk": {"bus": "ide"}}]);
    let refused = world.post(&vms(), bad).await;
    assert_eq!(refused.code, 422, "{}", refused.text);
    let body = refused.json();
    assert_eq!(body["reason"], "Invalid");
    let disk = "spec.template.spec.domain.devices.disks[0]";
    assert_eq!(
        body["message"],
        format!(
            "admission webhook \"virtualmachine-validator.kubevirt.io\" denied the request: {disk}.Name 'none' not found., IDE bus is not supported, Invalid RunStrategy (Sometimes)"
        )
    );
    let fields: Vec<&str> =
        body["details"]["causes"].as_array().unwrap().iter().filter_map(|c| c["field"].as_str()).collect();
    assert_eq!(fields, [format!("{disk}.name").as_str(), &format!("{disk}.disk.bus"), "spec.runStrategy"]);
    assert_eq!(body["details"]["causes"][0]["reason"], "FieldValueInvalid");
    assert_eq!(world.get(&vm_path("box")).await.code, 404);
    let unused = json!([{"metadata": {"name": "x"}, "spec": {"storage": {}, "source": {"blank": {}}}}]);
    let mut bad = diskless("box", "Halted");
    bad["spec"]["dataVolumeTemplates"] = unused;
    assert_eq!(world.post(&vms(), bad).await.json()["details"]["causes"][0]["reason"], "FieldValueRequired");
}

#[tokio::test]
async fn an_update_is_checked_like_a_create() {
    let world = World::start().await;
    world.make(vm("web", "Halted")).await;
    let refused = world.patch(&vm_path("web"), json!({"spec": {"instancetype": {"name": "u9.none"}}})).await;
    assert_eq!(refused.code, 422, "{}", refused.text);
    assert!(refused.message().ends_with(
        "Failure to find instancetype: virtualmachineclusterinstancetypes.instancetype.kubevirt.io \"u9.none\" not found"
    ));
    let mixed = json!({"spec": {"template": {"spec": {"domain": {"cpu": {"sockets": 2}}}}}});
    let refused = world.patch(&vm_path("web"), mixed).await;
    assert!(
        refused
            .message()
            .ends_with("VM field(s) spec.template.spec.domain.cpu.sockets conflicts with selected instance type")
    );
}

#[tokio::test]
async fn nobody_outside_edits_an_instance() {
    let world = World::start().await;
    world.make(diskless("box", "Always")).await;
    world.until_shown("box", "Running").await;
    let refused = world.patch(&vmi_path("box"), json!({"spec": {"hostname": "other"}})).await;
    assert_eq!(refused.code, 422);
    assert!(refused.message().ends_with("update of VMI object is restricted"), "{}", refused.text);
}

#[tokio::test]
async fn a_data_volume_is_checked_and_never_changes() {
    let world = World::start().await;
    let path = format!("/apis/cdi.kubevirt.io/v1beta1/namespaces/{NAMESPACE}/datavolumes");
    let dv = |spec: serde_json::Value| json!({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": {"name": "d"}, "spec": spec});
    let refused = world.post(&path, dv(json!({"source": {"blank": {}}, "storage": {}}))).await;
    assert!(refused.message().ends_with("PVC size is missing"), "{}", refused.text);
    let spec = json!({"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}});
    assert_eq!(world.post(&path, dv(spec)).await.code, 201);
    let grown = json!({"spec": {"storage": {"resources": {"requests": {"storage": "2Gi"}}}}});
    let refused = world.patch(&format!("{path}/d"), grown).await;
    assert!(refused.message().ends_with("Cannot update DataVolume Spec"), "{}", refused.text);
}
