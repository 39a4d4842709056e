use crate::harness::{World, condition, diskless, dv_path, vm, vm_path, vmi_path};
use hubsim::actors::{FAIL_ANNOTATION, Failure};
use serde_json::{Value, json};
use time::Duration;

fn mark(failure: Option<Failure>) -> Value {
    json!({"metadata": {"annotations": {FAIL_ANNOTATION: failure.map(Failure::name)}}})
}

fn failing(mut vm: Value, failure: Failure) -> Value {
    vm["metadata"]["annotations"] = json!({FAIL_ANNOTATION: failure.name()});
    vm
}

#[tokio::test]
async fn a_machine_without_a_node_says_so_and_runs_when_there_is_room() {
    let world = World::start().await;
    world.make(failing(diskless("box", "Always"), Failure::Unschedulable)).await;
    let stuck = world.until_shown("box", "ErrorUnschedulable").await;
    assert!(condition(&stuck, "PodScheduled")["message"].as_str().unwrap().starts_with("0/3 nodes are available"));
    world.patch(&vm_path("box"), mark(None)).await;
    world.until_shown("box", "Running").await;
}

#[tokio::test]
async fn a_machine_too_large_for_every_node_cannot_be_scheduled() {
    let world = World::start().await;
    let mut huge = diskless("huge", "Always");
    huge["spec"]["template"]["spec"]["domain"]["memory"]["guest"] = json!("512Gi");
    world.make(huge).await;
    world.until_shown("huge", "ErrorUnschedulable").await;
}

#[tokio::test]
async fn an_image_that_cannot_be_pulled_backs_off() {
    let world = World::start().await;
    world.make(failing(diskless("box", "Always"), Failure::ImagePullError)).await;
    world.until_shown("box", "ImagePullBackOff").await;
    world.patch(&vm_path("box"), mark(None)).await;
    world.until_shown("box", "Running").await;
}

#[tokio::test]
async fn a_disk_stuck_at_37_percent_holds_its_machine_and_lets_go() {
    let world = World::start().await;
    let mut web = failing(vm("web", "Always"), Failure::DataVolumeStuck);
    web["spec"]["dataVolumeTemplates"][0]["spec"] = json!({
        "source": {"http": {"url": "https://images.example/disk.qcow2"}},
        "storage": {"resources": {"requests": {"storage": "5Gi"}}},
    });
    world.make(web).await;
    world.until(&dv_path("web-root"), "stuck", |dv| dv["status"]["progress"] == "37.00%").await;
    world.until_shown("web", "Provisioning").await;
    world.patch(&vm_path("web"), mark(None)).await;
    world.until_shown("web", "Running").await;
}

#[tokio::test]
async fn a_failing_import_shows_on_the_machine() {
    let world = World::start().await;
    world.options.failures.set(Failure::DataVolumeError, true);
    let mut web = vm("web", "Halted");
    web["spec"]["dataVolumeTemplates"][0]["spec"] = json!({
        "source": {"http": {"url": "https://images.example/disk.qcow2"}},
        "storage": {"resources": {"requests": {"storage": "5Gi"}}},
    });
    world.make(web).await;
    world.until_shown("web", "DataVolumeError").await;
    world.options.failures.set(Failure::DataVolumeError, false);
    world.until_shown("web", "Stopped").await;
}

#[tokio::test]
async fn a_crashing_machine_backs_off_and_comes_back_when_it_is_mended() {
    let world = World::start().await;
    world.make(failing(diskless("box", "Always"), Failure::CrashLoop)).await;
    let crashed = world.until_shown("box", "CrashLoopBackOff").await;
    assert_eq!(crashed["status"]["startFailure"]["consecutiveFailCount"], 1);
    world.hub.clock().advance(Duration::seconds(16));
    world.until(&vm_path("box"), "failed twice", |vm| vm["status"]["startFailure"]["consecutiveFailCount"] == 2).await;
    world.patch(&vm_path("box"), mark(None)).await;
    world.hub.clock().advance(Duration::seconds(61));
    let mended = world.until_shown("box", "Running").await;
    assert!(mended["status"].get("startFailure").is_none());
}

#[tokio::test]
async fn a_guest_without_agent_tells_nothing() {
    let world = World::start().await;
    world.make(failing(diskless("box", "Always"), Failure::NoGuestAgent)).await;
    world.until_shown("box", "Running").await;
    let info = "/apis/subresources.kubevirt.io/v1/namespaces/tenant/virtualmachineinstances/box/guestosinfo";
    let refused = world.get(info).await;
    assert_eq!(refused.code, 500);
    assert_eq!(
        refused.text,
        "Operation cannot be fulfilled on virtualmachineinstance.kubevirt.io \"box\": VMI does not have guest agent connected"
    );
    for list in ["filesystemlist", "userlist"] {
        assert_eq!(world.get(&info.replace("guestosinfo", list)).await.text, refused.text);
    }
    assert_eq!(world.get(&vmi_path("box")).await.json()["status"]["guestOSInfo"], json!({}));
}

#[tokio::test]
async fn a_slow_guest_takes_its_grace_period_unless_it_is_cut_short() {
    let world = World::start().await;
    world.make(failing(diskless("box", "Always"), Failure::SlowShutdown)).await;
    world.until_shown("box", "Running").await;
    assert_eq!(world.call("virtualmachines", "box", "stop", "").await.code, 202);
    world.until_shown("box", "Stopping").await;
    let late = world.call("virtualmachines", "box", "stop", "").await;
    assert!(
        late.message().ends_with("Halted only supports manual stop requests with a shorter graceperiod"),
        "{}",
        late.text
    );
    assert_eq!(world.call("virtualmachines", "box", "stop", r#"{"gracePeriod": 0}"#).await.code, 202);
    world.until_shown("box", "Stopped").await;
}

#[tokio::test]
async fn a_guest_on_a_lost_node_is_unknown_until_the_node_is_back() {
    let world = World::start().await;
    world.make(diskless("box", "Always")).await;
    world.until_shown("box", "Running").await;
    world.options.failures.set(Failure::NodeLost, true);
    world.until_shown("box", "Unknown").await;
    world.options.failures.set(Failure::NodeLost, false);
    world.until_shown("box", "Running").await;
}
