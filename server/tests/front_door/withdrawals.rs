//! What was asked for and not begun is taken back: at the deadline of its task, or because somebody cancels that.
use crate::{disks::blank, stage::Stage, uploads::Desk, vcd::client::Program};
use domain::{disk, vapp};
use model::{
    Action, VappId,
    task::{TaskStatus, Verdict},
    template::ItemKind,
    vm::VmSpec,
};
use std::time::Duration;

const LATE: &str = "update tasks set started_at = now() - interval '1 hour', deadline = now() - interval '1 second'
                    where status in ('queued', 'running')";

/// The form of the page of a task that can be cancelled.
const BUTTON: &str = "/cancel\"";

impl Stage {
    /// No hub takes anything new.
    async fn closed() -> Stage {
        let stage = Stage::set().await;
        stage.hubs.look_every(&stage.app, Duration::from_millis(200));
        stage.app.db.execute("update hubs set cordoned = true").await;
        stage
    }

    async fn waiting(&self, name: &str) -> VappId {
        let id = self.deploy("rhel-9", name).await;
        self.until("a reason", async || !self.task_of(id.0, Action::VappCreate).await.1.is_empty()).await;
        id
    }

    async fn nothing_left(&self) {
        let left =
            ["vapps where gone_at is null", "vms where gone_at is null", "addresses", "disks where gone_at is null"];
        for what in left {
            self.until(what, async || self.app.db.count(what).await == 0).await;
        }
        let used = "(select sum(vms_used + cpus_used + memory_used_mb + storage_used_mb) from vdcs)
                    + (select sum(vms_used + cpus_used + memory_used_mb + storage_used_mb) from organizations)";
        self.until("free quota", async || self.app.db.text(&format!("select ({used})::text")).await == "0").await;
    }

    async fn task_id(&self, object: uuid::Uuid, action: Action) -> String {
        let of = format!("object_id = '{object}' and operation = '{}'", action.key());
        self.app.db.text(&format!("select id::text from tasks where {of} order by started_at desc limit 1")).await
    }
}

#[tokio::test]
async fn what_was_never_begun_is_withdrawn_at_its_deadline_with_all_that_it_took() {
    let stage = Stage::closed().await;
    let id = stage.waiting("web").await;
    let (lone, _) =
        disk::create(&stage.app.domain, &stage.admin, stage.acme.vdc("prod"), blank("data", 1024)).await.unwrap();
    stage.until("a reason", async || !stage.task_of(lone.0, Action::DiskCreate).await.1.is_empty()).await;
    stage.app.db.execute(LATE).await;
    for (object, action) in [(id.0, Action::VappCreate), (lone.0, Action::DiskCreate)] {
        stage.until("its end", async || stage.task_of(object, action).await.0 == TaskStatus::Error).await;
        let why = stage.task_of(object, action).await.1;
        assert!(
            why.contains("Nothing of it was begun on a hub, so it is withdrawn") && why.contains("Last: "),
            "{why}"
        );
    }
    stage.nothing_left().await;
    assert_eq!(stage.app.db.count("audit where action = 'vapp.delete' and user_name = 'system'").await, 1);
    stage.app.db.execute("update hubs set cordoned = false").await;
    stage.app.domain.store.wake_waiting("").await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(stage.hubs.count("one", crate::stage::VMS), 0, "it is not made after all");
}

#[tokio::test]
async fn what_was_begun_stays_and_its_task_says_so() {
    let stage = Stage::set().await;
    stage.hubs.look_every(&stage.app, Duration::from_millis(200));
    let id = stage.deploy("rhel-9", "web").await;
    stage.running(id).await;
    stage.hubs.hub("one").faults().set(hubsim::Fault::Forbidden, true);
    let spec = VmSpec { name: "late".into(), cpus: 1, memory_mb: 1024, ..VmSpec::default() };
    let (vm, _) = domain::vm::add(&stage.app.domain, &stage.admin, id, spec).await.unwrap();
    let begun = format!("vms where id = '{vm}' and attempted_at is not null");
    stage.until("a try", async || stage.app.db.count(&begun).await == 1).await;
    stage.app.db.execute(LATE).await;
    stage.until("its end", async || stage.task_of(vm.0, Action::VmCreate).await.0 == TaskStatus::Error).await;
    let why = stage.task_of(vm.0, Action::VmCreate).await.1;
    assert!(why.contains("What was begun on its hub stays: delete it if it is not needed."), "{why}");
    assert_eq!(stage.app.db.count("vms where deleted_at is null").await, 2);
    stage.hubs.hub("one").faults().set(hubsim::Fault::Forbidden, false);
    let made = format!("vms where id = '{vm}' and uid is not null");
    stage.until("it is made", async || stage.app.db.count(&made).await == 1).await;
}

#[tokio::test]
async fn a_disk_that_fills_is_waited_for_beyond_the_deadline() {
    let stage = Stage::closed().await;
    let id = stage.waiting("web").await;
    let open = stage.app.domain.store.open_tasks(&[id.0]).await.unwrap().remove(0);
    let goes_on = Verdict::Open { progress: Some(10), message: "Its disks are being made.".into() };
    stage.app.domain.store.task_stands(&open, &goes_on).await.unwrap();
    stage.app.db.execute(LATE).await;
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let open = |(status, _): (TaskStatus, String)| !status.ended();
    assert!(open(stage.task_of(id.0, Action::VappCreate).await), "it moved a moment ago");
    // nothing for more than a sixth of its time
    stage.app.db.execute("update tasks set moved_at = now() - interval '11 minutes'").await;
    stage.until("its end", async || !open(stage.task_of(id.0, Action::VappCreate).await)).await;
}

#[tokio::test]
async fn a_task_is_cancelled_while_nothing_of_it_was_begun_and_not_afterwards() {
    let stage = Stage::closed().await;
    let browser = stage.app.sign_in("acme", &stage.admin.name).await;
    let program = Program::sign_in(&stage.app, "acme", &stage.admin.name).await;
    let id = stage.waiting("web").await;
    let task = stage.task_id(id.0, Action::VappCreate).await;
    assert!(browser.get(&format!("/tenant/acme/tasks/{task}")).await.must(200).body.contains(BUTTON));
    assert!(program.get(&format!("/api/task/{task}")).await.must(200).link("task:cancel", "").is_some());
    let done = browser.post(&format!("/tenant/acme/tasks/{task}/cancel"), &[]).await;
    let page = browser.follow(done).await.says("is cancelled.").says("Cancelled by");
    assert!(!page.body.contains(BUTTON));
    stage.nothing_left().await;
    assert_eq!(stage.task_of(id.0, Action::VappCreate).await.0, TaskStatus::Aborted);
    assert_eq!(stage.app.db.count("audit where action = 'task.cancel' and result <> 'refused'").await, 1);
    browser.post(&format!("/tenant/acme/tasks/{task}/cancel"), &[]).await.must(409);

    // by a client of VCD
    let id = stage.waiting("web").await;
    let task = stage.task_id(id.0, Action::VappCreate).await;
    program.post(&format!("/api/task/{task}/action/cancel"), "").await.must(204);
    stage.nothing_left().await;

    // what is under way is not taken back
    stage.app.db.execute("update hubs set cordoned = false").await;
    let id = stage.deploy("rhel-9", "web").await;
    stage.running(id).await;
    stage.hubs.hub("one").faults().set(hubsim::Fault::Refuse, true);
    vapp::power(&stage.app.domain, &stage.admin, id, Action::VappPowerOff).await.unwrap();
    let task = stage.task_id(id.0, Action::VappPowerOff).await;
    assert!(!browser.get(&format!("/tenant/acme/tasks/{task}")).await.must(200).body.contains(BUTTON));
    let page = browser.post(&format!("/tenant/acme/tasks/{task}/cancel"), &[]).await.must(409);
    page.says("It is under way, and can't be taken back.");
    let said = program.get(&format!("/api/task/{task}")).await.must(200);
    assert_eq!(said.link("task:cancel", ""), None);
    let refused = program.post(&format!("/api/task/{task}/action/cancel"), "").await.must(400);
    assert!(refused.text.contains("It is under way"), "{}", refused.text);
    stage.hubs.hub("one").faults().set(hubsim::Fault::Refuse, false);
    stage.until("its end", async || stage.task_of(id.0, Action::VappPowerOff).await.0 == TaskStatus::Success).await;
}

#[tokio::test]
async fn cancelling_the_task_of_an_upload_cancels_the_upload() {
    let stage = Stage::set().await;
    let desk = Desk::open(&stage.app, &stage.admin, "acme").await;
    let upload = desk.begin("shop", ItemKind::Template).await;
    let item = desk.get(upload).await.template;
    let task = stage.task_id(item.0, Action::TemplateUpload).await;
    let browser = stage.app.sign_in("acme", &stage.admin.name).await;
    assert!(browser.get(&format!("/tenant/acme/tasks/{task}")).await.must(200).body.contains(BUTTON));
    browser.post(&format!("/tenant/acme/tasks/{task}/cancel"), &[]).await.must(303);
    assert_eq!(desk.get(upload).await.state, model::upload::UploadState::Cancelled);
    assert_eq!(stage.task_of(item.0, Action::TemplateUpload).await.0, TaskStatus::Aborted);
}

#[tokio::test]
async fn an_image_that_could_not_be_brought_is_tried_again_with_the_next_wish() {
    let stage = Stage::set().await;
    let desk = Desk::open(&stage.app, &stage.admin, "acme").await;
    desk.uploaded("shop", ItemKind::Template, "shop.ova", &crate::uploads::shop()).await;
    let first = stage.deploy("shop", "one").await;
    stage.running(first).await;
    stage.until("an empty queue", async || stage.app.db.count("work").await == 0).await;
    // as a hub left it that was full for a while
    let failed = "update hub_images set ready_at = null, problem = 'The disk is full.', problem_at = ";
    stage.app.db.execute(&format!("{failed} now() - interval '1 minute'")).await;
    stage.app.db.execute("update tasks set status = 'error' where operation = 'image.bring'").await;
    let second = stage.deploy("shop", "two").await;
    stage.running(second).await;
    assert_eq!(stage.app.db.count("tasks where operation = 'image.bring' and status = 'success'").await, 1);
    // what fails after it was asked for is an answer, and is tried again in the meantime
    stage.app.db.execute(&format!("{failed} now() + interval '1 minute'")).await;
    let third = stage.deploy("shop", "three").await;
    stage.until("its end", async || stage.task_of(third.0, Action::VappCreate).await.0 == TaskStatus::Error).await;
    let why = stage.task_of(third.0, Action::VappCreate).await.1;
    assert!(why.contains("could not be brought to its hub: The disk is full."), "{why}");
    stage
        .until("the image", async || {
            stage.app.db.count("hub_images where ready_at is not null and problem = ''").await == 1
        })
        .await;
}
