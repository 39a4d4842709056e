//! Media in VMs from the request to the hub and back: discs come in, go out, and leave nothing behind.
use crate::{harness::iso, stage::Stage, uploads::Desk};
use domain::{copy, item, media, snapshot, vapp, vm};
use model::{
    Action, TemplateId, VmId,
    snapshot::SnapshotSpec,
    task::TaskStatus,
    template::ItemKind,
    vm::{Disk, Vm, VmState},
};
use serde_json::Value;

const VOLUMES: (&str, &str) = ("cdi.kubevirt.io", "datavolumes");

async fn done(stage: &Stage, vm: VmId, action: Action) {
    stage
        .until(action.key(), async || {
            let (status, why) = stage.task_of(vm.0, action).await;
            assert_ne!(status, TaskStatus::Error, "{action:?}: {why}");
            status == TaskStatus::Success
        })
        .await;
}

async fn power(stage: &Stage, id: VmId, action: Action, state: VmState) {
    vm::power(&stage.app.domain, &stage.admin, id, action).await.unwrap();
    stage.until("its power", async || stage.vm(id).await.state() == state).await;
    done(stage, id, action).await;
}

async fn one_vm(stage: &Stage) -> Vm {
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    stage.running(id).await.remove(0)
}

async fn tools(stage: &Stage) -> TemplateId {
    let desk = Desk::open(&stage.app, &stage.admin, "acme").await;
    desk.uploaded("tools", ItemKind::Media, "tools.iso", &iso()).await
}

async fn disc(stage: &Stage, vm: VmId) -> Option<Disk> {
    stage.vm(vm).await.discs().next().cloned()
}

fn on_hub(stage: &Stage, vm: &Vm, list: &str) -> Option<Value> {
    let object = stage.object(vm)?;
    object.pointer(list)?.as_array()?.iter().find(|v| v["name"] == "cd-1").cloned()
}

/// The volumes under our mark: those of VMs, and images.
fn volumes(stage: &Stage) -> (usize, usize) {
    let all = stage.hubs.hub("one").objects(VOLUMES.0, VOLUMES.1);
    let ours = all.iter().filter(|o| o["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "ssvirt");
    let (images, disks): (Vec<_>, Vec<_>) =
        ours.partition(|o| !o["metadata"]["labels"]["ssvirt.io/image-id"].is_null());
    (disks.len(), images.len())
}

async fn storage_used(stage: &Stage) -> String {
    stage.app.db.text("select storage_used_mb || ' ' || (select sum(used_mb) from vdc_storage) from vdcs").await
}

#[tokio::test]
async fn a_disc_is_in_a_vm_from_its_next_start_and_out_of_it_when_that_stops() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (one, disc_id) = (one_vm(&stage).await, tools(&stage).await);
    let before = storage_used(&stage).await;
    media::insert(d, admin, one.id, disc_id).await.unwrap();
    done(&stage, one.id, Action::VmMediaInsert).await;
    let drive = on_hub(&stage, &one, "/spec/template/spec/domain/devices/disks").unwrap();
    assert_eq!(drive["cdrom"]["bus"], "sata", "{drive}");
    let volume = on_hub(&stage, &one, "/spec/template/spec/volumes").unwrap();
    let name = volume["dataVolume"]["name"].as_str().unwrap().to_owned();
    let copy = stage.hubs.hub("one").object(VOLUMES.0, VOLUMES.1, &one.namespace, &name).unwrap();
    assert!(copy["spec"]["source"]["pvc"]["name"].as_str().unwrap().starts_with("image-"), "{copy}");
    assert_eq!(volumes(&stage), (2, 1));
    assert_ne!(storage_used(&stage).await, before, "it counts as storage");
    stage.until("its wait", async || disc(&stage, one.id).await.is_some_and(|k| k.waits)).await;
    stage.until("the restart's mark", async || stage.vm(one.id).await.restart_needed).await;

    let refused = item::delete(d, admin, disc_id).await.unwrap_err();
    assert_eq!(refused.to_string(), "Not now: It is in mail. Eject it there first.");
    assert!(item::delete_version(d, admin, disc_id, 1).await.unwrap_err().to_string().contains("It is in mail."));
    power(&stage, one.id, Action::VmPowerOff, VmState::Stopped).await;
    power(&stage, one.id, Action::VmPowerOn, VmState::Running).await;
    stage.until("no wait", async || disc(&stage, one.id).await.is_some_and(|k| !k.waits)).await;
    assert_eq!(stage.vm(one.id).await.outside, "");

    media::eject(d, admin, one.id, disc_id).await.unwrap();
    done(&stage, one.id, Action::VmMediaEject).await;
    assert!(disc(&stage, one.id).await.unwrap().leaving, "the running guest has it");
    assert_eq!(on_hub(&stage, &one, "/spec/template/spec/volumes"), None);
    assert!(item::delete(d, admin, disc_id).await.is_err(), "it is still in use");
    power(&stage, one.id, Action::VmPowerOff, VmState::Stopped).await;
    stage.until("its end", async || disc(&stage, one.id).await.is_none()).await;
    assert_eq!((volumes(&stage), storage_used(&stage).await), ((1, 1), before));
    item::delete(d, admin, disc_id).await.unwrap();
    stage.until("the image's end", async || volumes(&stage) == (1, 0)).await;
    for action in [Action::VmMediaInsert, Action::VmMediaEject] {
        let (db, key) = (&stage.app.db, action.key());
        assert_eq!(db.count(&format!("audit where action = '{key}' and result = 'done'")).await, 1, "{key}");
        assert_eq!(db.count(&format!("events where kind = '{key}'")).await, 1, "{key}");
    }
}

#[tokio::test]
async fn a_stopped_vm_has_its_disc_at_once_and_takes_it_along_when_it_is_deleted() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (one, disc_id) = (one_vm(&stage).await, tools(&stage).await);
    power(&stage, one.id, Action::VmPowerOff, VmState::Stopped).await;
    media::insert(d, admin, one.id, disc_id).await.unwrap();
    done(&stage, one.id, Action::VmMediaInsert).await;
    assert!(!stage.vm(one.id).await.restart_needed);
    // its copy is made only after a moment, so that it is stopped before and after that
    let settled = async || {
        let named = volumes(&stage) == (2, 1);
        named && stage.vm(one.id).await.state() == VmState::Stopped
    };
    stage.until("the disc's copy", settled).await;
    // a copy has disks of its own, and no disc
    copy::vapp(d, admin, one.vapp, one.vdc, "twin").await.unwrap();
    let twins = format!(
        "select count(*)::text from disks k join vms v on v.id = k.vm_id where v.name = 'mail' and v.id <> '{}'",
        one.id
    );
    assert_eq!(stage.app.db.text(&twins).await, "1");
    stage
        .until("the copy", async || stage.app.db.count("tasks where status in ('queued', 'running')").await == 0)
        .await;

    vapp::delete(d, admin, one.vapp).await.unwrap();
    let left = format!("vapps where id = '{}' and gone_at is null", one.vapp);
    stage.until("its end", async || stage.app.db.count(&left).await == 0).await;
    assert_eq!(volumes(&stage), (1, 1), "the copy's disk, and the image");
    item::delete(d, admin, disc_id).await.unwrap();
    stage.until("the image's end", async || volumes(&stage) == (1, 0)).await;
}

#[tokio::test]
async fn nothing_waits_for_a_disc_whose_image_takes_long() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (one, disc_id) = (one_vm(&stage).await, tools(&stage).await);
    // as one that another worker is sending
    let planted = "insert into hub_images (id, image_id, hub_id) select gen_random_uuid(), id, 'one' from images";
    stage.app.db.execute(planted).await;
    media::insert(d, admin, one.id, disc_id).await.unwrap();
    power(&stage, one.id, Action::VmPowerOff, VmState::Stopped).await;
    let (status, why) = stage.task_of(one.id.0, Action::VmMediaInsert).await;
    assert!(!status.ended() && why.contains("is being brought to its hub"), "{status:?}: {why}");
    stage.app.db.execute("delete from hub_images").await;
    done(&stage, one.id, Action::VmMediaInsert).await;
    assert_eq!(volumes(&stage), (2, 1));

    // one that is out before it came in leaves nothing
    stage.app.db.execute("update hub_images set ready_at = null").await;
    media::eject(d, admin, one.id, disc_id).await.unwrap();
    done(&stage, one.id, Action::VmMediaEject).await;
    media::insert(d, admin, one.id, disc_id).await.unwrap();
    media::eject(d, admin, one.id, disc_id).await.unwrap();
    stage.until("its end", async || disc(&stage, one.id).await.is_none()).await;
    stage
        .until("the tasks' end", async || stage.app.db.count("tasks where status in ('queued', 'running')").await == 0)
        .await;
    assert_eq!(volumes(&stage), (1, 1));
}

#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let one = one_vm(&stage).await;
    let desk = Desk::open(&stage.app, &stage.admin, "acme").await;
    let refused = async |disc: TemplateId| media::insert(d, admin, one.id, disc).await.unwrap_err().to_string();
    let template = stage.template("ubuntu-24.04").await.unwrap();
    assert!(refused(template.id).await.contains("is a template. It is deployed"));
    let empty = desk.begin("empty", ItemKind::Media).await;
    assert!(refused(desk.get(empty).await.template).await.contains("what fills it has not ended, or failed"));

    // somebody else's: as if it were not there; the provider learns who does not see it
    let other = stage.app.org("globex").make().await;
    let theirs = Desk::open(&stage.app, &stage.app.actor(other.admin()).await, "globex").await;
    let foreign = theirs.uploaded("secret", ItemKind::Media, "secret.iso", &iso()).await;
    assert!(matches!(media::insert(d, admin, one.id, foreign).await, Err(model::Error::NotFound(_))));
    let operator = stage.app.operator().await;
    let unseen = media::insert(d, &operator, one.id, foreign).await.unwrap_err().to_string();
    assert!(unseen.contains("acme does not see secret"), "{unseen}");
    let catalog = format!("update catalogs set shared_to_all = true where id = '{}'", theirs.catalog);
    stage.app.db.execute(&catalog).await;

    media::insert(d, admin, one.id, foreign).await.unwrap();
    assert!(refused(foreign).await.contains("secret is in mail already"));
    let tools = desk.uploaded("tools", ItemKind::Media, "tools.iso", &iso()).await;
    assert!(media::eject(d, admin, one.id, tools).await.unwrap_err().to_string().contains("this disc is not in mail"));
    media::insert(d, admin, one.id, tools).await.unwrap();
    let third = desk.uploaded("third", ItemKind::Media, "third.iso", &iso()).await;
    assert!(refused(third).await.contains("It has 2 discs, and no VM has more."));
    done(&stage, one.id, Action::VmMediaInsert).await;
    // who has it is named, and not to strangers
    let globex = stage.app.actor(other.admin()).await;
    let held = item::delete(d, &globex, foreign).await.unwrap_err().to_string();
    assert!(held.contains("It is in a VM of another organization.") && !held.contains("mail"), "{held}");

    media::eject(d, admin, one.id, tools).await.unwrap();
    done(&stage, one.id, Action::VmMediaEject).await;
    let spec = SnapshotSpec { name: "clean".into(), ..SnapshotSpec::default() };
    snapshot::create(d, admin, one.id, spec).await.unwrap();
    assert!(refused(third).await.contains("its disks stay as they are"));
    // a full VDC
    stage.app.db.execute("update vdcs set storage_limit_mb = storage_used_mb").await;
    stage.app.db.execute("update snapshots set deleted_at = now()").await;
    assert!(matches!(media::insert(d, admin, one.id, third).await, Err(model::Error::OverQuota(_))));
}

#[tokio::test]
async fn discs_are_inserted_and_ejected_on_the_vms_page_and_shown_on_their_own() {
    let stage = Stage::set().await;
    let (one, disc_id) = (one_vm(&stage).await, tools(&stage).await);
    let page = stage.app.sign_in("acme", "acme-admin").await;
    let (vm, disc_page) = (format!("/tenant/acme/vms/{}", one.id), format!("/tenant/acme/templates/{disc_id}"));
    page.get(&vm).await.must(200).says("There is no disc in it.");
    page.get(&disc_page).await.must(200).says("It is in no VM.");
    let form = format!("{vm}/media/insert");
    page.get(&form).await.must(200).says("tools, in own");
    let wrong = page.post(&form, &[("media", "")]).await.must(422);
    assert_eq!(wrong.error_of("media").as_deref(), Some("Choose a disc."));
    let chosen = disc_id.to_string();
    page.post(&form, &[("media", &chosen)]).await.must(303);
    done(&stage, one.id, Action::VmMediaInsert).await;
    stage.until("its wait", async || disc(&stage, one.id).await.is_some_and(|k| k.waits)).await;
    page.get(&vm).await.must(200).says("At next start").says("Eject");
    page.get(&disc_page).await.must(200).says("mail");
    page.get(&format!("{disc_page}/delete")).await.must(200).says("It is in mail. Eject it there first.");
    page.get(&format!("{disc_page}/versions/delete?number=1")).await.must(200).says("It is in mail.");
    page.get(&form).await.must(200).says("There is no disc to insert");
    page.post(&format!("{vm}/media/eject"), &[("media", &chosen)]).await.must(303);
    done(&stage, one.id, Action::VmMediaEject).await;
    page.post(&format!("{vm}/media/eject"), &[("media", &chosen)]).await.must(409).says("There is no disc in it.");
}
