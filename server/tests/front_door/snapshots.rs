//! Snapshots from the request to the hub and back: a tree, going back, and VCD's one snapshot.
use crate::stage::Stage;
use domain::{disk, snapshot, storage, vapp, vm};
use model::{
    Action, VmId,
    snapshot::{Snapshot, SnapshotSpec, SnapshotState},
    storage::{StoragePolicySpec, VdcPolicySpec},
    task::TaskStatus,
    vm::{Vm, VmState},
};

fn named(name: &str) -> SnapshotSpec {
    SnapshotSpec { name: name.into(), ..SnapshotSpec::default() }
}

async fn all(stage: &Stage, vm: VmId) -> Vec<Snapshot> {
    snapshot::list(&stage.app.domain, &stage.admin, vm).await.unwrap()
}

async fn done(stage: &Stage, vm: VmId, action: Action) {
    stage
        .until(action.key(), async || {
            let (status, why) = stage.task_of(vm.0, action).await;
            assert_ne!(status, TaskStatus::Error, "{action:?}: {why}");
            status == TaskStatus::Success
        })
        .await;
}

async fn take(stage: &Stage, vm: VmId, name: &str) -> Snapshot {
    snapshot::create(&stage.app.domain, &stage.admin, vm, named(name)).await.unwrap();
    stage
        .until("the snapshot", async || {
            all(stage, vm).await.iter().any(|s| s.name == name && s.state == SnapshotState::Ready)
        })
        .await;
    done(stage, vm, Action::VmSnapshot).await;
    all(stage, vm).await.into_iter().find(|s| s.name == name).unwrap()
}

fn volume(stage: &Stage, vm: &Vm) -> String {
    let object = stage.object(vm).unwrap();
    object["spec"]["template"]["spec"]["volumes"][0]["dataVolume"]["name"].as_str().unwrap().to_owned()
}

fn on_hub(stage: &Stage, kind: &str) -> usize {
    stage.hubs.hub("one").objects("snapshot.kubevirt.io", kind).len()
}

#[tokio::test]
async fn a_vm_has_a_tree_of_snapshots_and_goes_back_to_one() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let first = take(&stage, one.id, "clean").await;
    assert!(first.current && first.parent.is_none() && first.taken_at.is_some(), "{first:?}");
    let second = take(&stage, one.id, "updated").await;
    assert_eq!(second.parent, Some(first.id));
    assert_eq!(on_hub(&stage, "virtualmachinesnapshots"), 2);
    let held =
        disk::add(d, admin, one.id, model::disk::DiskSpec { size_mb: 1024, ..Default::default() }).await.unwrap_err();
    assert!(held.to_string().contains("It has 2 snapshots"), "{held}");

    let runs = snapshot::revert(d, admin, one.id, first.id, false).await.unwrap_err();
    assert!(runs.to_string().contains("Stop it first, or have it stopped and started again"), "{runs}");
    let before = volume(&stage, &one);
    snapshot::revert(d, admin, one.id, first.id, true).await.unwrap();
    done(&stage, one.id, Action::VmRevert).await;
    stage.until("running", async || stage.vm(one.id).await.state() == VmState::Running).await;
    assert_ne!(volume(&stage, &one), before, "its disk is the snapshot's");
    assert_eq!(on_hub(&stage, "virtualmachinerestores"), 0);
    let now = stage.vm(one.id).await;
    assert_eq!((now.outside.as_str(), now.problem.as_str(), now.snapshot_problem.as_str()), ("", "", ""));
    let third = take(&stage, one.id, "another way").await;
    assert_eq!(third.parent, Some(first.id), "it stems from what was gone back to");

    // what stems from a deleted one stems from its parent
    snapshot::delete(d, admin, one.id, first.id).await.unwrap();
    done(&stage, one.id, Action::VmSnapshotDelete).await;
    stage.until("its end", async || all(&stage, one.id).await.len() == 2).await;
    assert!(all(&stage, one.id).await.iter().all(|s| s.parent.is_none()));
    assert_eq!(on_hub(&stage, "virtualmachinesnapshots"), 2);

    vapp::delete(d, admin, id).await.unwrap();
    stage.until("the end", async || stage.app.db.count("vapps where gone_at is null").await == 0).await;
    assert_eq!(on_hub(&stage, "virtualmachinesnapshots"), 0);
    let claims = stage.hubs.hub("one").objects("", "persistentvolumeclaims");
    let left: Vec<_> = claims.iter().filter(|c| c["metadata"]["namespace"] == one.namespace.as_str()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(stage.app.db.text("select storage_used_mb::text from vdcs").await, "0");
}

#[tokio::test]
async fn vcds_one_snapshot_is_replaced_gone_back_to_and_removed() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let none = snapshot::revert_to_current(d, admin, one.id, true).await.unwrap_err();
    assert!(none.to_string().contains("It has no snapshot"), "{none}");
    take(&stage, one.id, "first").await;
    snapshot::replace(d, admin, one.id, named("second")).await.unwrap();
    done(&stage, one.id, Action::VmSnapshot).await;
    stage.until("one snapshot", async || all(&stage, one.id).await.len() == 1).await;
    assert_eq!((all(&stage, one.id).await[0].name.as_str(), on_hub(&stage, "virtualmachinesnapshots")), ("second", 1));
    vm::power(d, admin, one.id, Action::VmPowerOff).await.unwrap();
    stage.until("stopped", async || stage.vm(one.id).await.state() == VmState::Stopped).await;
    snapshot::revert_to_current(d, admin, one.id, false).await.unwrap();
    done(&stage, one.id, Action::VmRevert).await;
    assert_eq!(stage.vm(one.id).await.state(), VmState::Stopped);
    snapshot::delete_all(d, admin, one.id).await.unwrap();
    done(&stage, one.id, Action::VmSnapshotDelete).await;
    assert_eq!((all(&stage, one.id).await.len(), on_hub(&stage, "virtualmachinesnapshots")), (0, 0));
    let memory = snapshot::create(d, admin, one.id, SnapshotSpec { memory: true, ..named("x") }).await.unwrap_err();
    assert!(memory.to_string().contains("not what is in memory"), "{memory}");
}

#[tokio::test]
async fn a_snapshot_is_taken_gone_back_to_and_deleted_on_its_pages() {
    let stage = Stage::set().await;
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let page = stage.app.sign_in("acme", "acme-admin").await;
    let vm = format!("/tenant/acme/vms/{}", one.id);
    page.post(&format!("{vm}/snapshots/new"), &[("name", "")]).await.must(422);
    page.post(&format!("{vm}/snapshots/new"), &[("name", "clean")]).await.must(303);
    done(&stage, one.id, Action::VmSnapshot).await;
    let shown = page.get(&vm).await.must(200).says("clean").says("the VM stems from it");
    shown.says("None can be inserted now: It has 1 snapshot").says("None can be added now: It has 1 snapshot");
    let taken = all(&stage, one.id).await[0].id.to_string();
    page.get(&format!("{vm}/snapshots/revert?snapshot={taken}")).await.must(200).says("Stop it for this");
    page.post(&format!("{vm}/snapshots/revert"), &[("snapshot", &taken)]).await.must(409);
    page.post(&format!("{vm}/snapshots/revert"), &[("snapshot", &taken), ("restart", "on")]).await.must(303);
    done(&stage, one.id, Action::VmRevert).await;
    page.get(&format!("{vm}/snapshots/delete")).await.must(200);
    page.post(&format!("{vm}/snapshots/delete"), &[("snapshot", &taken)]).await.must(303);
    done(&stage, one.id, Action::VmSnapshotDelete).await;

    // a hub that makes none says so before anybody presses
    stage.app.db.execute("update hubs set offers = array_remove(offers, 'snapshots')").await;
    page.get(&vm).await.must(200).says("The hub it is on makes no snapshots");
    page.post(&format!("{vm}/snapshots/new"), &[("name", "late")]).await.must(409);
}

/// A VM whose second disk is on storage that makes no snapshots.
async fn with_a_local_disk(stage: &Stage) -> Vm {
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let operator = stage.app.operator().await;
    let spec = StoragePolicySpec { name: "local".into(), class: "local".into(), ..StoragePolicySpec::default() };
    let local = storage::create(d, &operator, spec).await.unwrap().id;
    let vdc = stage.acme.vdc("prod");
    let first = storage::of_vdc(d, admin, vdc).await.unwrap()[0].id;
    let policy = |id, is_default| VdcPolicySpec { id, limit_mb: None, is_default };
    storage::set_for_vdc(d, &operator, vdc, vec![policy(first, true), policy(local, false)]).await.unwrap();
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let spec = model::disk::DiskSpec { size_mb: 1024, policy: "local".into(), ..Default::default() };
    disk::add(d, admin, one.id, spec).await.unwrap();
    stage
        .until("the disk", async || {
            stage.vm(one.id).await.disks.iter().any(|k| k.policy == "local" && !k.volume.is_empty())
        })
        .await;
    one
}

#[tokio::test]
async fn a_disk_whose_storage_makes_no_snapshots_is_named_before_one_is_asked_for() {
    let stage = Stage::set().await;
    let one = with_a_local_disk(&stage).await;
    stage
        .until("the hub's word", async || stage.vm(one.id).await.disks.iter().any(|k| !k.no_snapshot.is_empty()))
        .await;
    let now = stage.vm(one.id).await;
    let name = &now.disks.iter().find(|k| k.policy == "local").unwrap().name;
    let refused = snapshot::create(&stage.app.domain, &stage.admin, one.id, named("clean")).await.unwrap_err();
    let words = format!("A snapshot would leave out the disk {name}. The hub says: No VolumeSnapshotClass");
    assert!(refused.to_string().contains(&words), "{refused}");
    assert!(now.disks.iter().all(|k| k.name == *name || k.no_snapshot.is_empty()), "{:?}", now.disks);
    let client = stage.app.sign_in("acme", "acme-admin").await;
    client.get(&format!("/tenant/acme/vms/{}", one.id)).await.must(200).says(&words);
    assert_eq!(on_hub(&stage, "virtualmachinesnapshots"), 0);
}

#[tokio::test]
async fn a_snapshot_that_leaves_out_a_disk_has_failed() {
    let stage = Stage::set().await;
    let one = with_a_local_disk(&stage).await;
    // as if nothing had been said beforehand
    stage
        .until("the hub's word", async || stage.vm(one.id).await.disks.iter().any(|k| !k.no_snapshot.is_empty()))
        .await;
    stage.hubs.kill_controller();
    stage.app.db.execute("update disks set obs_no_snapshot = ''").await;
    snapshot::create(&stage.app.domain, &stage.admin, one.id, named("clean")).await.unwrap();
    stage.hubs.start_controller(&stage.app);
    stage.until("its end", async || all(&stage, one.id).await.iter().any(|s| s.state == SnapshotState::Failed)).await;
    let ended = async || stage.task_of(one.id.0, Action::VmSnapshot).await.0 == TaskStatus::Error;
    stage.until("the task's end", ended).await;
    let (_, why) = stage.task_of(one.id.0, Action::VmSnapshot).await;
    assert!(why.contains("left the disk"), "{why}");
    let left = all(&stage, one.id).await.remove(0);
    snapshot::delete(&stage.app.domain, &stage.admin, one.id, left.id).await.unwrap();
    stage.until("nothing of it", async || on_hub(&stage, "virtualmachinesnapshots") == 0).await;
}

/// Stopped, with a snapshot, and asked to go back to it while nobody works.
async fn on_its_way_back(stage: &Stage) -> (model::VappId, Vm, Snapshot) {
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let first = take(stage, one.id, "clean").await;
    vm::power(d, admin, one.id, Action::VmPowerOff).await.unwrap();
    stage.until("stopped", async || stage.vm(one.id).await.state() == VmState::Stopped).await;
    done(stage, one.id, Action::VmPowerOff).await;
    stage.hubs.kill_controller();
    snapshot::revert(d, admin, one.id, first.id, false).await.unwrap();
    (id, one, first)
}

#[tokio::test]
async fn no_snapshot_is_deleted_while_its_vm_goes_back() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (id, one, first) = on_its_way_back(&stage).await;
    let refused = [
        snapshot::delete(d, admin, one.id, first.id).await,
        snapshot::delete_all(d, admin, one.id).await,
        snapshot::delete_in(d, admin, id).await,
    ];
    for told in refused {
        let why = told.expect_err("what it goes back to stays until it is there").to_string();
        assert!(why.contains("brought back to a snapshot") && why.contains("Delete it after that"), "{why}");
    }
    stage.hubs.start_controller(&stage.app);
    done(&stage, one.id, Action::VmRevert).await;
    snapshot::delete_in(d, admin, id).await.unwrap();
    stage.until("its end", async || on_hub(&stage, "virtualmachinesnapshots") == 0).await;
}

#[tokio::test]
async fn going_back_to_a_snapshot_that_was_deleted_by_hand_ends_with_that_word() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (_, one, first) = on_its_way_back(&stage).await;
    let before = volume(&stage, &one);
    let taken = stage.hubs.hub("one").objects("snapshot.kubevirt.io", "virtualmachinesnapshots");
    let name = taken[0]["metadata"]["name"].as_str().unwrap();
    let gone =
        stage.hubs.hub("one").remove("snapshot.kubevirt.io", "virtualmachinesnapshots", &one.namespace, name).unwrap();
    assert!(gone);
    stage.hubs.start_controller(&stage.app);
    let ended = async || stage.task_of(one.id.0, Action::VmRevert).await.0.ended();
    stage.until("the task's end", ended).await;
    let (status, why) = stage.task_of(one.id.0, Action::VmRevert).await;
    assert_eq!(status, TaskStatus::Error);
    assert!(why.contains("deleted on its hub by hand"), "{why}");
    assert_eq!((on_hub(&stage, "virtualmachinerestores"), volume(&stage, &one)), (0, before));
    // and it is as usable as before
    snapshot::delete(d, admin, one.id, first.id).await.unwrap();
    done(&stage, one.id, Action::VmSnapshotDelete).await;
    vm::power(d, admin, one.id, Action::VmPowerOn).await.unwrap();
    stage.until("running", async || stage.vm(one.id).await.state() == VmState::Running).await;
}

#[tokio::test]
async fn a_vm_goes_back_once_however_slowly_its_hub_tidies_up() {
    let stage = Stage::set().await;
    let (_, one, _) = on_its_way_back(&stage).await;
    let hub = stage.hubs.hub("one");
    let restores = || hub.objects("snapshot.kubevirt.io", "virtualmachinerestores");
    let held = |restore: &serde_json::Value, hold: bool| {
        let name = restore["metadata"]["name"].as_str().unwrap();
        let change = |o: &mut serde_json::Value| {
            let mut all = o["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            all.retain(|f| f != "test/slow");
            if hold {
                all.push("test/slow".into());
            }
            o["metadata"]["finalizers"] = all.into();
        };
        hub.edit("snapshot.kubevirt.io", "virtualmachinerestores", &one.namespace, name, change).unwrap()
    };
    stage.hubs.start_controller(&stage.app);
    stage.until("the way back", async || restores().iter().any(|r| held(r, true))).await;
    let dying = || restores().iter().any(|r| !r["metadata"]["deletionTimestamp"].is_null());
    stage.until("its end", async || dying()).await;
    let restored = volume(&stage, &one);
    let first = restores().remove(0);
    // its hub is done with it now
    let name = first["metadata"]["name"].as_str().unwrap();
    assert!(held(&first, false));
    if !first["metadata"]["finalizers"].as_array().unwrap().iter().any(|f| f != "test/slow") {
        hub.remove("snapshot.kubevirt.io", "virtualmachinerestores", &one.namespace, name).unwrap();
    }
    done(&stage, one.id, Action::VmRevert).await;
    assert_eq!(volume(&stage, &one), restored, "it was brought back once");
    assert!(restores().is_empty());
}

/// What hubs keep of a VM's disks: data volumes, and claims that no data volume is behind.
fn kept(stage: &Stage, vm: &Vm) -> Vec<String> {
    let hub = stage.hubs.hub("one");
    let of = |group: &str, kind: &str| {
        let all = hub.objects(group, kind).into_iter();
        all.filter(|o| o["metadata"]["labels"]["ssvirt.io/vm-id"] == vm.id.to_string().as_str())
            .map(|o| o["metadata"]["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let mut all = [of("cdi.kubevirt.io", "datavolumes"), of("", "persistentvolumeclaims")].concat();
    all.sort_unstable();
    all.dedup();
    all
}

async fn with_a_later_disk(stage: &Stage, name: &str) -> Vm {
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("ubuntu-24.04", name).await;
    let one = stage.running(id).await.remove(0);
    disk::add(d, admin, one.id, model::disk::DiskSpec { size_mb: 1024, ..Default::default() }).await.unwrap();
    done(stage, one.id, Action::VmDiskAdd).await;
    let there = async || stage.vm(one.id).await.disks.iter().all(|k| k.seen == model::disk::DiskSeen::Ready);
    stage.until("the disk", there).await;
    vm::power(d, admin, one.id, Action::VmPowerOff).await.unwrap();
    stage.until("stopped", async || stage.vm(one.id).await.state() == VmState::Stopped).await;
    one
}

#[tokio::test]
async fn disks_that_came_later_leave_nothing_behind_when_their_vm_goes_back() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (one, other) = (with_a_later_disk(&stage, "mail").await, with_a_later_disk(&stage, "web").await);
    let (before, others) = (kept(&stage, &one), kept(&stage, &other));
    assert_eq!((before.len(), others.len()), (2, 2), "{before:?} {others:?}");
    let first = take(&stage, one.id, "clean").await;
    for _ in 0..2 {
        snapshot::revert(d, admin, one.id, first.id, false).await.unwrap();
        done(&stage, one.id, Action::VmRevert).await;
        stage.until("nothing of what was replaced", async || kept(&stage, &one).len() == 2).await;
        assert!(kept(&stage, &one).iter().all(|name| name.starts_with("restore-")), "{:?}", kept(&stage, &one));
    }
    assert_eq!(kept(&stage, &other), others, "what is another's stays");

    // the next one of that name is empty, and as large as it is to be
    snapshot::delete(d, admin, one.id, first.id).await.unwrap();
    done(&stage, one.id, Action::VmSnapshotDelete).await;
    let later = stage.vm(one.id).await.disks.iter().find(|k| k.name == "disk-1").and_then(|k| k.id).unwrap();
    disk::remove(d, admin, one.id, later).await.unwrap();
    stage.until("its end", async || stage.vm(one.id).await.disks.len() == 1).await;
    assert_eq!(kept(&stage, &one).len(), 1, "{:?}", kept(&stage, &one));
    disk::add(d, admin, one.id, model::disk::DiskSpec { size_mb: 4096, ..Default::default() }).await.unwrap();
    done(&stage, one.id, Action::VmDiskAdd).await;
    let claims = stage.hubs.hub("one").objects("", "persistentvolumeclaims");
    let named = format!("{}-disk-1", one.hub_name);
    let claim = claims.iter().find(|c| c["metadata"]["name"] == named.as_str()).unwrap();
    assert!(["4Gi", "4096Mi"].iter().any(|size| claim["spec"]["resources"]["requests"]["storage"] == *size), "{claim}");
    assert_eq!(stage.vm(one.id).await.outside, "");
}
