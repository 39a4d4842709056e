//! Disks from the request to the hub and back: those of a VM, and independent ones.
use crate::stage::Stage;
use domain::{disk, vm};
use model::{
    Action, DiskId, VmId,
    disk::{Bus, DiskSpec, DiskState},
    task::TaskStatus,
    vm::{Vm, VmState},
};
use serde_json::Value;

pub(crate) fn blank(name: &str, mb: i64) -> DiskSpec {
    DiskSpec { name: name.into(), size_mb: mb, ..DiskSpec::default() }
}

async fn done(stage: &Stage, object: uuid::Uuid, action: Action) {
    stage
        .until(action.key(), async || {
            let (status, why) = stage.task_of(object, action).await;
            assert_ne!(status, TaskStatus::Error, "{action:?}: {why}");
            status == TaskStatus::Success
        })
        .await;
}

fn volume(stage: &Stage, vm: &Vm, name: &str) -> Option<Value> {
    let object = stage.object(vm)?;
    object["spec"]["template"]["spec"]["volumes"].as_array()?.iter().find(|v| v["name"] == name).cloned()
}

fn volumes(stage: &Stage) -> Vec<String> {
    let all = stage.hubs.hub("one").objects("cdi.kubevirt.io", "datavolumes");
    let ours = all.iter().filter(|o| o["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "ssvirt");
    ours.map(|o| o["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

async fn off(stage: &Stage, id: VmId) {
    vm::power(&stage.app.domain, &stage.admin, id, Action::VmPowerOff).await.unwrap();
    stage.until("stopped", async || stage.vm(id).await.state() == VmState::Stopped).await;
}

async fn free(stage: &Stage, id: DiskId) {
    stage
        .until("a free disk", async || {
            disk::get(&stage.app.domain, &stage.admin, id).await.unwrap().state() == DiskState::Free
        })
        .await;
}

#[tokio::test]
async fn a_disk_is_added_grown_and_removed_while_the_vm_runs() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let before = one.storage_mb();
    disk::add(d, admin, one.id, blank("", 4096)).await.unwrap();
    done(&stage, one.id.0, Action::VmDiskAdd).await;
    let plugged = volume(&stage, &one, "disk-1").unwrap();
    assert_eq!(plugged["dataVolume"]["hotpluggable"], true, "{plugged}");
    let now = stage.vm(one.id).await;
    assert_eq!((now.disks.len(), now.storage_mb(), now.restart_needed), (2, before + 4096, false));
    stage.until("the disk", async || stage.vm(one.id).await.disks[1].seen == model::disk::DiskSeen::Ready).await;

    let added = now.disks[1].id.unwrap();
    let smaller = disk::change(d, admin, one.id, added, 1024, Bus::Any).await.unwrap_err();
    assert!(smaller.to_string().contains("can't shrink"), "{smaller}");
    disk::change(d, admin, one.id, added, 8192, Bus::Any).await.unwrap();
    done(&stage, one.id.0, Action::VmDiskEdit).await;
    let name = plugged["dataVolume"]["name"].as_str().unwrap();
    let claim = stage.hubs.hub("one").object("", "persistentvolumeclaims", &one.namespace, name).unwrap();
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "8Gi");
    assert_eq!(stage.app.db.text("select storage_used_mb::text from vdcs").await, (before + 8192).to_string());

    let first = disk::remove(d, admin, one.id, now.disks[0].id.unwrap()).await.unwrap_err();
    assert!(first.to_string().contains("starts from its disk"), "{first}");
    disk::remove(d, admin, one.id, added).await.unwrap();
    done(&stage, one.id.0, Action::VmDiskRemove).await;
    stage.until("its end", async || stage.app.db.count("disks where gone_at is null").await == 1).await;
    assert_eq!((volume(&stage, &one, "disk-1"), volumes(&stage).len()), (None, 1));
    assert_eq!(stage.app.db.text("select storage_used_mb::text from vdcs").await, before.to_string());
    assert_eq!(stage.app.db.text("select sum(used_mb)::text from vdc_storage").await, before.to_string());
    assert_eq!(stage.vm(one.id).await.outside, "");
}

#[tokio::test]
async fn a_disk_that_its_hub_can_not_make_larger_keeps_its_size_and_holds_up_nothing() {
    let stage = Stage::set().await;
    let (d, admin, db) = (&stage.app.domain, &stage.admin, &stage.app.db);
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let (root, size) = (one.disks[0].id.unwrap(), one.disks[0].size_mb);
    let (alone, _) = disk::create(d, admin, one.vdc, blank("data", 1024)).await.unwrap();
    free(&stage, alone).await;
    let used = db.text("select storage_used_mb::text from vdcs").await;
    for class in stage.hubs.hub("one").objects("storage.k8s.io", "storageclasses") {
        let name = class["metadata"]["name"].as_str().unwrap();
        let fixed = |c: &mut Value| c["allowVolumeExpansion"] = false.into();
        assert!(stage.hubs.hub("one").edit("storage.k8s.io", "storageclasses", "", name, fixed).unwrap());
    }

    // nobody has looked at its classes since
    disk::change(d, admin, one.id, root, size + 1024, Bus::Any).await.unwrap();
    let spec = DiskSpec { size_mb: 2048, ..blank("data", 0) };
    disk::edit(d, admin, alone, disk::get(d, admin, alone).await.unwrap().version, spec.clone()).await.unwrap();
    for (object, action) in [(one.id.0, Action::VmDiskEdit), (alone.0, Action::DiskEdit)] {
        stage.until("its end", async || stage.task_of(object, action).await.0 == TaskStatus::Error).await;
        let (_, why) = stage.task_of(object, action).await;
        assert!(why.contains("keeps its size") && why.contains("must support resize"), "{why}");
    }
    let now = stage.vm(one.id).await;
    assert_eq!((now.disks[0].size_mb, disk::get(d, admin, alone).await.unwrap().size_mb), (size, 1024));
    assert_eq!(db.text("select storage_used_mb::text from vdcs").await, used);
    assert_eq!(db.text("select sum(used_mb)::text from vdc_storage").await, used);
    off(&stage, one.id).await;

    stage.hubs.look_every(&stage.app, std::time::Duration::from_millis(200));
    let known = "hubs where found -> 'storage_classes' @> '[{\"can_grow\": true}]'";
    stage.until("a look at its classes", async || db.count(known).await == 0).await;
    let refused = disk::change(d, admin, one.id, root, size + 1024, Bus::Any).await.unwrap_err();
    assert!(refused.to_string().contains("can't make disks larger"), "{refused}");
    let version = disk::get(d, admin, alone).await.unwrap().version;
    let refused = disk::edit(d, admin, alone, version, spec).await.unwrap_err();
    assert!(refused.to_string().contains("can't make disks larger"), "{refused}");
}

#[tokio::test]
async fn without_hot_plug_disks_come_and_go_with_the_next_start() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    // on SATA nothing is plugged in while a machine runs
    disk::add(d, admin, one.id, DiskSpec { bus: Bus::Sata, ..blank("data", 1024) }).await.unwrap();
    done(&stage, one.id.0, Action::VmDiskAdd).await;
    stage.until("the restart's mark", async || stage.vm(one.id).await.restart_needed).await;
    stage.until("what it waits for", async || stage.vm(one.id).await.disks[1].waits).await;
    let page = stage.app.sign_in("acme", "acme-admin").await;
    let shown = page.get(&format!("/tenant/acme/vms/{}", one.id)).await.must(200).text();
    assert!(shown.contains("At next start"), "{shown}");
    off(&stage, one.id).await;
    vm::power(d, admin, one.id, Action::VmPowerOn).await.unwrap();
    stage.running(id).await;
    stage.until("no mark", async || !stage.vm(one.id).await.restart_needed).await;
    stage.until("the disk in it", async || !stage.vm(one.id).await.disks[1].waits).await;

    // an independent one as well; the page on which its VM is deleted does not count it among what goes
    let (alone, _) =
        disk::create(d, admin, one.vdc, DiskSpec { bus: Bus::Sata, ..blank("archive", 2048) }).await.unwrap();
    free(&stage, alone).await;
    disk::attach(d, admin, one.id, alone).await.unwrap();
    stage
        .until("what it waits for", async || stage.vm(one.id).await.disks.iter().any(|k| k.independent && k.waits))
        .await;
    let shown = page.get(&format!("/tenant/acme/vms/{}/delete", one.id)).await.must(200).text();
    assert!(shown.contains("2 disks with all") && shown.contains("The independent disk archive stays."), "{shown}");
    disk::detach(d, admin, one.id, alone).await.unwrap();
    done(&stage, one.id.0, Action::VmDiskDetach).await;

    let data = stage.vm(one.id).await.disks[1].id.unwrap();
    disk::remove(d, admin, one.id, data).await.unwrap();
    done(&stage, one.id.0, Action::VmDiskRemove).await;
    assert!(stage.vm(one.id).await.disks[1].leaving, "the running machine holds it");
    assert_eq!(volumes(&stage).len(), 3, "and the independent one stays");
    off(&stage, one.id).await;
    stage.until("its end", async || volumes(&stage).len() == 2).await;
    stage.until("the row's end", async || stage.vm(one.id).await.disks.len() == 1).await;
}

#[tokio::test]
async fn an_independent_disk_goes_from_vm_to_vm_and_survives_them() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let vapp = stage.deploy("web-and-db", "shop").await;
    let vms = stage.running(vapp).await;
    let (id, _) = disk::create(d, admin, stage.acme.vdc("prod"), blank("data", 2048)).await.unwrap();
    done(&stage, id.0, Action::DiskCreate).await;
    free(&stage, id).await;

    disk::attach(d, admin, vms[0].id, id).await.unwrap();
    done(&stage, vms[0].id.0, Action::VmDiskAttach).await;
    let known = disk::get(d, admin, id).await.unwrap();
    assert_eq!(known.state(), DiskState::Attached);
    assert!(volume(&stage, &vms[0], &known.hub_name).is_some());
    for refused in
        [disk::delete(d, admin, id).await.unwrap_err(), disk::attach(d, admin, vms[1].id, id).await.unwrap_err()]
    {
        assert!(refused.to_string().contains(&format!("in use by the VM {}", vms[0].name)), "{refused}");
    }
    let grown = DiskSpec { size_mb: 4096, ..blank("data", 0) };
    disk::edit(d, admin, id, known.version, grown).await.unwrap();
    done(&stage, id.0, Action::DiskEdit).await;

    disk::detach(d, admin, vms[0].id, id).await.unwrap();
    done(&stage, vms[0].id.0, Action::VmDiskDetach).await;
    free(&stage, id).await;
    assert!(volume(&stage, &vms[0], &known.hub_name).is_none());
    disk::attach(d, admin, vms[1].id, id).await.unwrap();
    done(&stage, vms[1].id.0, Action::VmDiskAttach).await;

    domain::vapp::delete(d, admin, vapp).await.unwrap();
    stage.until("the vApp's end", async || stage.app.db.count("vapps where gone_at is null").await == 0).await;
    free(&stage, id).await;
    assert_eq!(volumes(&stage), std::slice::from_ref(&known.hub_name));
    assert_eq!(stage.app.db.text("select storage_used_mb::text from vdcs").await, "4096");
    disk::delete(d, admin, id).await.unwrap();
    done(&stage, id.0, Action::DiskDelete).await;
    assert!(volumes(&stage).is_empty());
    assert_eq!(
        stage.app.db.text("select storage_used_mb || ' ' || (select sum(used_mb) from vdc_storage) from vdcs").await,
        "0 0"
    );
}

#[tokio::test]
async fn an_independent_disk_that_goes_while_nobody_watches_is_said_to_be_missing() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (id, _) = disk::create(d, admin, stage.acme.vdc("prod"), blank("data", 2048)).await.unwrap();
    done(&stage, id.0, Action::DiskCreate).await;
    free(&stage, id).await;
    let (of_deleted, _) = disk::create(d, admin, stage.acme.vdc("prod"), blank("old", 1024)).await.unwrap();
    done(&stage, of_deleted.0, Action::DiskCreate).await;
    free(&stage, of_deleted).await;

    stage.hubs.kill_controller();
    disk::delete(d, admin, of_deleted).await.unwrap();
    let namespace = stage.app.db.text("select namespace_name from vdcs").await;
    for name in volumes(&stage) {
        assert!(stage.hubs.hub("one").remove("cdi.kubevirt.io", "datavolumes", &namespace, &name).unwrap());
    }
    stage.hubs.start_controller(&stage.app);

    let state = async || disk::get(d, admin, id).await.unwrap().state();
    stage.until("a missing disk", async || state().await == DiskState::Missing).await;
    stage.until("the event of it", async || stage.app.db.count("events where kind = 'disk.missing'").await == 1).await;
    // who asked for it is not told that it went
    done(&stage, of_deleted.0, Action::DiskDelete).await;
    disk::delete(d, admin, id).await.unwrap();
    done(&stage, id.0, Action::DiskDelete).await;
    assert_eq!(stage.app.db.text("select storage_used_mb::text from vdcs").await, "0");
    assert_eq!(stage.app.db.count("events where kind = 'disk.missing'").await, 1);
}

#[tokio::test]
async fn all_disks_of_a_vm_are_set_at_once_or_none() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let root = (one.disks[0].id, blank("", one.disks[0].size_mb));
    disk::set_all(d, admin, one.id, vec![root.clone(), (None, blank("", 1024)), (None, blank("", 2048))])
        .await
        .unwrap();
    done(&stage, one.id.0, Action::VmDiskEdit).await;
    let now = stage.vm(one.id).await;
    assert_eq!(now.disks.iter().map(|k| k.name.as_str()).collect::<Vec<_>>()[1..], ["disk-1", "disk-2"]);
    let shrunk = (now.disks[2].id, blank("", 512));
    disk::set_all(d, admin, one.id, vec![root.clone(), shrunk]).await.unwrap_err();
    assert_eq!(stage.vm(one.id).await.disks.len(), 3, "nothing of it was done");
    let kept = (now.disks[2].id, blank("", 4096));
    disk::set_all(d, admin, one.id, vec![root, kept]).await.unwrap();
    stage.until("two disks", async || stage.vm(one.id).await.disks.len() == 2).await;
    assert_eq!(stage.vm(one.id).await.disks[1].size_mb, 4096);
}

#[tokio::test]
async fn disks_are_made_put_in_and_taken_out_on_their_pages() {
    let stage = Stage::set().await;
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let page = stage.app.sign_in("acme", "acme-admin").await;
    let vdc = stage.acme.vdc("prod").to_string();
    let wrong =
        page.post("/tenant/acme/disks/new", &[("vdc", &vdc), ("name", ""), ("size", "0")]).await.must(422).text();
    assert!(wrong.contains("From 1 MB to 64 TB."), "{wrong}");
    let to = page.post("/tenant/acme/disks/new", &[("vdc", &vdc), ("name", "data"), ("size", "2")]).await.must(303);
    let to = to.location().to_owned();
    let disk: DiskId = to.rsplit('/').next().unwrap().parse().unwrap();
    free(&stage, disk).await;
    assert!(page.get(&to).await.must(200).text().contains("In no VM"));
    assert!(page.get("/tenant/acme/disks").await.must(200).text().contains("data"));

    let vm = format!("/tenant/acme/vms/{}", one.id);
    assert!(page.get(&format!("{vm}/disks/attach")).await.must(200).text().contains("data"));
    page.post(&format!("{vm}/disks/attach"), &[("disk", &disk.to_string())]).await.must(303);
    done(&stage, one.id.0, Action::VmDiskAttach).await;
    assert!(page.get(&to).await.must(200).text().contains("mail"));
    let refused = page.get(&format!("{to}/delete")).await.must(200).text();
    assert!(refused.contains("It is in use by the VM mail"), "{refused}");
    page.post(&format!("{vm}/disks/detach"), &[("disk", &disk.to_string())]).await.must(303);
    free(&stage, disk).await;

    page.post(&format!("{vm}/disks/add"), &[("size", "1"), ("bus", "scsi")]).await.must(303);
    done(&stage, one.id.0, Action::VmDiskAdd).await;
    let shown = page.get(&vm).await.must(200).text();
    assert!(shown.contains("disk-1") && shown.contains("SCSI"), "{shown}");
    let added = stage.vm(one.id).await.disks[1].id.unwrap();
    let added = added.to_string();
    let edit = format!("{vm}/disks/edit");
    let smaller = page.post(&edit, &[("disk", &added), ("size", "0.5"), ("bus", "scsi")]).await.must(422);
    assert!(smaller.error_of("size").unwrap().contains("shrink"), "{}", smaller.text());
    page.post(&edit, &[("disk", &added), ("size", "3"), ("bus", "scsi")]).await.must(303);
    done(&stage, one.id.0, Action::VmDiskEdit).await;
    page.post(&format!("{vm}/disks/remove"), &[("disk", &added)]).await.must(303);
    done(&stage, one.id.0, Action::VmDiskRemove).await;
    page.post(&format!("{to}/delete"), &[]).await.must(303);
    done(&stage, disk.0, Action::DiskDelete).await;
}
