use crate::harness::{NAMESPACE, World, claim_path, condition, diskless, dv_path, vm_path};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

fn dv(name: &str, source: Value) -> Value {
    json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"source": source, "storage": {"resources": {"requests": {"storage": "5Gi"}}}},
    })
}

fn dvs() -> String {
    format!("/apis/cdi.kubevirt.io/v1beta1/namespaces/{NAMESPACE}/datavolumes")
}

#[tokio::test]
async fn an_import_rises_to_its_end_and_binds_its_claim() {
    let world = World::with(|o| o.delay = Duration::from_millis(30)).await;
    let source = json!({"registry": {"url": "docker://quay.io/containerdisks/fedora:43"}});
    assert_eq!(world.post(&dvs(), dv("disk", source)).await.code, 201);
    let mut seen = BTreeSet::new();
    let done = loop {
        let claim = world.get(&claim_path("disk")).await.json();
        let now = world.get(&dv_path("disk")).await.json();
        let phase = now["status"]["phase"].as_str().unwrap_or_default().to_owned();
        seen.insert(phase.clone());
        if let Some(progress) = now["status"]["progress"].as_str() {
            seen.insert(progress.to_owned());
        }
        // the claim was seen before the volume, which was still far from full
        if phase == "ImportInProgress" && now["status"]["progress"] == "50.00%" {
            assert_eq!(claim["status"]["phase"], "Pending");
        }
        if phase == "Succeeded" {
            break now;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    for want in ["Pending", "ImportScheduled", "ImportInProgress", "N/A", "50.00%"] {
        assert!(seen.contains(want), "{want} is missing in {seen:?}");
    }
    assert_eq!(done["status"]["progress"], "100.0%");
    assert_eq!(condition(&done, "Bound")["message"], "PVC disk Bound");
    assert_eq!(condition(&done, "Running")["message"], "Import Complete");
    let claim = world.get(&claim_path("disk")).await.json();
    assert_eq!(claim["status"]["phase"], "Bound");
    assert_eq!(claim["spec"]["accessModes"], json!(["ReadWriteMany"]));
    assert_eq!(claim["spec"]["storageClassName"], "standard");
    assert_eq!(claim["metadata"]["ownerReferences"][0]["kind"], "DataVolume");
}

#[tokio::test]
async fn a_clone_waits_for_its_source_and_takes_its_size() {
    let world = World::start().await;
    let mut clone = dv("copy", json!({"pvc": {"namespace": NAMESPACE, "name": "first"}}));
    clone["spec"]["storage"] = json!({});
    assert_eq!(world.post(&dvs(), clone).await.code, 201);
    world.until(&dv_path("copy"), "waiting", |dv| dv["status"]["phase"] == "Pending").await;
    assert_eq!(world.get(&claim_path("copy")).await.code, 404);
    world.post(&dvs(), dv("first", json!({"blank": {}}))).await;
    world.until(&dv_path("copy"), "full", |dv| dv["status"]["phase"] == "Succeeded").await;
    let claim = world.get(&claim_path("copy")).await.json();
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "5Gi");
}

#[tokio::test]
async fn a_class_that_offers_nothing_leaves_a_volume_pending() {
    let world = World::start().await;
    let class = json!({"metadata": {"name": "plain"}, "provisioner": "example.com/disk"});
    assert_eq!(world.post("/apis/storage.k8s.io/v1/storageclasses", class).await.code, 201);
    world
        .until("/apis/cdi.kubevirt.io/v1beta1/storageprofiles/plain", "there", |p| {
            p["status"]["provisioner"] == "example.com/disk"
        })
        .await;
    let mut volume = dv("disk", json!({"blank": {}}));
    volume["spec"]["storage"]["storageClassName"] = json!("plain");
    world.post(&dvs(), volume).await;
    let events = format!("/api/v1/namespaces/{NAMESPACE}/events");
    world
        .until(&events, "a warning", |list| {
            let all = list["items"].as_array().unwrap();
            all.iter().any(|e| e["message"] == "no accessMode specified in StorageProfile plain")
        })
        .await;
    assert_eq!(world.get(&dv_path("disk")).await.json()["status"]["phase"], "Pending");
}

#[tokio::test]
async fn a_claim_of_ones_own_is_bound_grows_and_holds_a_machine_up_while_it_is_missing() {
    let world = World::start().await;
    let mut vm = diskless("box", "Always");
    vm["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "root", "persistentVolumeClaim": {"claimName": "mine"}}]);
    world.make(vm).await;
    world.until_shown("box", "ErrorPvcNotFound").await;
    let claim = json!({"metadata": {"name": "mine"}, "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "fast",
        "resources": {"requests": {"storage": "1Gi"}}}});
    let path = format!("/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims");
    assert_eq!(world.post(&path, claim).await.code, 201);
    world.until_shown("box", "Running").await;
    let larger = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
    assert_eq!(world.patch(&claim_path("mine"), larger).await.code, 200);
    world.until(&claim_path("mine"), "larger", |c| c["status"]["capacity"]["storage"] == "2Gi").await;
    let ready = world.get(&vm_path("box")).await.json();
    assert_eq!(ready["status"]["printableStatus"], "Running");
}

#[tokio::test]
async fn images_are_ready_and_a_lost_one_is_told() {
    let world = World::start().await;
    let images = "/apis/cdi.kubevirt.io/v1beta1/namespaces/openshift-virtualization-os-images/datasources";
    for name in ["ubuntu2404", "fedora", "rhel9", "win2k22"] {
        let ready = world.get(&format!("{images}/{name}")).await.json();
        assert_eq!(condition(&ready, "Ready")["status"], "True", "{name}");
        assert!(ready["metadata"]["labels"]["instancetype.kubevirt.io/default-preference"].is_string());
    }
    let lost = json!({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource", "metadata": {"name": "lost"}, "spec": {"source": {"pvc": {"name": "none", "namespace": NAMESPACE}}}});
    assert_eq!(world.post(images, lost).await.code, 201);
    world.until(&format!("{images}/lost"), "told", |d| condition(d, "Ready")["status"] == "False").await;
}

#[tokio::test]
async fn storage_that_waits_for_its_first_user_is_filled_when_the_machine_starts() {
    let world = World::start().await;
    let class =
        json!({"metadata": {"name": "late"}, "provisioner": "topolvm.io", "volumeBindingMode": "WaitForFirstConsumer"});
    assert_eq!(world.post("/apis/storage.k8s.io/v1/storageclasses", class).await.code, 201);
    let mut vm = crate::harness::vm("web", "Halted");
    vm["spec"]["dataVolumeTemplates"][0]["spec"]["storage"]["storageClassName"] = json!("late");
    world.make(vm).await;
    world.until(&dv_path("web-root"), "waiting", |dv| dv["status"]["phase"] == "PendingPopulation").await;
    world.until_shown("web", "Stopped").await;
    assert_eq!(world.call("virtualmachines", "web", "start", "").await.code, 202);
    world.until_shown("web", "Running").await;
    assert_eq!(world.get(&dv_path("web-root")).await.json()["status"]["phase"], "Succeeded");
    let vmi = world.get(&crate::harness::vmi_path("web")).await.json();
    assert_eq!(condition(&vmi, "LiveMigratable")["reason"], "DisksNotLiveMigratable");
}
