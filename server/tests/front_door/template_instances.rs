//! Templates that OpenShift makes itself, through a TemplateInstance: from the form with its parameters to the last object.
use crate::{
    harness::Client,
    stage::{Stage, VMS},
};
use domain::{hub, vapp, vm};
use hubsim::{Denial, Operation, Review, Webhook};
use model::{Action, VappId, task::TaskStatus, vm::VmState};
use std::sync::Arc;

const INSTANCES: (&str, &str) = ("template.openshift.io", "templateinstances");
const SERVICES: (&str, &str) = ("", "services");

impl Stage {
    async fn guestbook(&self) -> String {
        self.until("the template", async || self.template("guestbook").await.is_some()).await;
        let template = self.template("guestbook").await.unwrap();
        assert!(template.by_instance);
        format!("/tenant/acme/templates/{}/deploy", template.id)
    }

    /// Deployed through the form, with what it needs.
    async fn asked(&self, name: &str) -> (Client, VappId) {
        let (form, admin) = (self.guestbook().await, self.app.sign_in("acme", "acme-admin").await);
        let made = admin.fill(&form, &[("name", name), ("parameter.TITLE", "Guests")]).await.must(303);
        let id = made.location().rsplit('/').next().unwrap().parse().unwrap();
        (admin, id)
    }

    /// Secrets that carry the label of a vApp.
    fn secrets_of(&self, id: VappId) -> usize {
        let all = self.hubs.hub("one").objects("", "secrets");
        all.iter().filter(|s| s["metadata"]["labels"]["ssvirt.io/vapp-id"] == id.to_string()).count()
    }

    async fn gone(&self, id: VappId) {
        vapp::delete(&self.app.domain, &self.admin, id).await.unwrap();
        self.until("the end", async || self.app.db.count("vapps where gone_at is null").await == 0).await;
        let left = [INSTANCES, VMS, SERVICES].map(|kind| self.hubs.count("one", kind));
        assert_eq!((left, self.secrets_of(id)), ([0, 0, 0], 0));
        let used = "select vms_used || ' ' || cpus_used || ' ' || storage_used_mb from vdcs";
        assert_eq!(self.app.db.text(used).await, "0 0 0");
    }
}

/// Refuses every service.
struct NoServices;

impl Webhook for NoServices {
    fn validate(&self, review: &Review<'_>) -> Result<Vec<String>, Denial> {
        match (review.operation, review.resource) {
            (Operation::Create, "services") => Err(Denial::forbidden("policy.example", "no services here")),
            _ => Ok(Vec::new()),
        }
    }
}

#[tokio::test]
async fn a_template_that_openshift_makes_is_deployed_powered_resized_renamed_and_deleted() {
    let stage = Stage::set().await;
    let (d, by) = (&stage.app.domain, &stage.admin);
    let (admin, id) = stage.asked("guests").await;
    let vms = stage.running(id).await;
    stage
        .until("the task's end", async || stage.task_of(id.0, Action::VappCreate).await.0 == TaskStatus::Success)
        .await;
    // each machine is the one of the template that it stands for
    let sizes: Vec<_> = vms.iter().map(|v| (v.name.as_str(), v.cpus, v.memory_mb)).collect();
    assert_eq!(sizes, [("db", 2, 4096), ("web", 1, 2048)]);
    for one in &vms {
        let object = stage.object(one).unwrap();
        assert_eq!(object["metadata"]["labels"]["ssvirt.io/vm-id"], one.id.to_string());
        assert_eq!(object["spec"]["template"]["spec"]["domain"]["cpu"]["sockets"], one.cpus, "{}", one.name);
        // its card is ours, on the VDC's own network
        let card = &object["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"][0];
        assert_eq!(
            (card["macAddress"].as_str(), card["binding"]["name"].as_str()),
            (Some(one.nics[0].spec.mac.as_str()), Some("l2bridge"))
        );
        assert!(!one.nics[0].spec.mac.is_empty() && card.get("masquerade").is_none(), "{card}");
    }
    assert_eq!([INSTANCES, VMS, SERVICES].map(|kind| stage.hubs.count("one", kind)), [1, 2, 1]);
    assert_eq!(stage.secrets_of(id), 2, "its parameters, and what the template has");

    let web = vms[1].id;
    for (action, state) in [(Action::VmPowerOff, VmState::Stopped), (Action::VmPowerOn, VmState::Running)] {
        vm::power(d, by, web, action).await.unwrap();
        stage.until(state.label(), async || stage.vm(web).await.state() == state).await;
    }
    vm::power(d, by, web, Action::VmPowerOff).await.unwrap();
    stage.until("stopped", async || stage.vm(web).await.state() == VmState::Stopped).await;
    vm::resize(d, by, web, 3, 3072).await.unwrap();
    stage.until("its size", async || stage.vm(web).await.seen_cpus == Some(3)).await;
    assert_eq!(stage.vm(web).await.outside, "");

    // what is on the hub keeps its name, and is found again
    admin.fill(&format!("/tenant/acme/vapps/{id}/edit"), &[("name", "visitors")]).await.must(303);
    stage.gone(id).await;
}

#[tokio::test]
async fn a_machine_that_is_deleted_by_hand_before_it_was_seen_is_said_to_be_and_not_waited_for() {
    let stage = Stage::set().await;
    let (_, id) = stage.asked("guests").await;
    let web = stage.running(id).await.remove(1);
    stage.hubs.kill_controller();
    let db = &stage.app.db;
    db.execute(&format!("update vms set uid = null, applied = null, obs_state = 'unknown' where id = '{}'", web.id))
        .await;
    assert!(stage.hubs.hub("one").remove(VMS.0, VMS.1, &web.namespace, &web.hub_name).unwrap());
    stage.hubs.start_controller(&stage.app);
    stage.app.domain.store.enqueue(model::Kind::Vm, web.id, stage.acme.id, "").await.unwrap();
    let said =
        format!("vms where id = '{}' and problem like '%deleted on the hub by hand as soon as it was made%'", web.id);
    stage.until("word of it", async || db.count(&said).await == 1).await;
    stage.gone(id).await;
}

#[tokio::test]
async fn a_parameter_that_is_missing_or_wrong_is_said_beside_its_field() {
    let stage = Stage::set().await;
    let (form, admin) = (stage.guestbook().await, stage.app.sign_in("acme", "acme-admin").await);
    let typed = [("name", "guests"), ("description", "Ours"), ("parameter.PORT", "http"), ("vdc", "")];
    let back = admin.fill(&form, &typed).await.must(422).says("Three things to put right.");
    assert_eq!(back.error_of("parameters").as_deref(), Some("Title is needed."));
    assert_eq!(back.error_of("parameter.PORT").as_deref(), Some("Port takes a number, such as 80."));
    for (name, value) in typed {
        assert_eq!(back.field(name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(stage.app.db.count("vapps").await, 0);
    // a password is typed unseen, and never comes back
    let secret = admin.fill(&form, &[("name", "guests"), ("parameter.DB_PASSWORD", "open-sesame")]).await.must(422);
    assert!(secret.body.contains("type=\"password\"") && !secret.body.contains("open-sesame"));
    let vdc = stage.acme.vdc("prod").to_string();
    let good = [("parameter.TITLE", "Guests"), ("parameter.PORT", "8080"), ("vdc", vdc.as_str())];
    admin.fill_page(&back, &form, &good).await.must(303);
}

#[tokio::test]
async fn an_instance_that_fails_ends_the_task_with_openshifts_reason_and_leaves_nothing_behind() {
    let stage = Stage::set().await;
    stage.hubs.hub("one").add_webhook(Arc::new(NoServices));
    let (admin, id) = stage.asked("guests").await;
    stage.until("the failure", async || stage.task_of(id.0, Action::VappCreate).await.0 == TaskStatus::Error).await;
    let why = stage.task_of(id.0, Action::VappCreate).await.1;
    assert!(why.contains("The template could not be made:") && why.contains("no services here"), "{why}");
    admin.get("/tenant/acme/tasks?status=error").await.must(200).says("no services here");
    stage.gone(id).await;
}

#[tokio::test]
async fn a_hub_that_dies_in_between_makes_neither_a_second_instance_nor_a_second_machine() {
    let stage = Stage::set().await;
    let hub = stage.hubs.hub("one");
    hub.faults().lose_replies(4);
    let (_, id) = stage.asked("guests").await;
    stage.until("the instance", async || stage.hubs.count("one", INSTANCES) == 1).await;
    hub.faults().set(hubsim::Fault::Refuse, true);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(stage.task_of(id.0, Action::VappCreate).await.0, TaskStatus::Running, "silence is no failure");
    hub.faults().set(hubsim::Fault::Refuse, false);
    stage.running(id).await;
    assert_eq!([INSTANCES, VMS].map(|kind| stage.hubs.count("one", kind)), [1, 2]);
    // an instance whose answer never came is found by its name and label
    stage.app.db.execute("update vapps set instance_uid = null").await;
    stage.gone(id).await;
}

#[tokio::test]
async fn a_machine_that_is_deleted_before_its_instance_is_made_is_not_made_and_the_others_are() {
    let stage = Stage::set().await;
    let (form, operator) = (stage.guestbook().await, stage.app.operator().await);
    hub::set_cordoned(&stage.app.domain, &operator, &"one".into(), true).await.unwrap();
    let admin = stage.app.sign_in("acme", "acme-admin").await;
    let made = admin.fill(&form, &[("name", "guests"), ("parameter.TITLE", "Guests")]).await.must(303);
    let id: VappId = made.location().rsplit('/').next().unwrap().parse().unwrap();
    let vms = vapp::with_vms(&stage.app.domain, &stage.admin, id).await.unwrap().1;
    assert_eq!(vms.len(), 2);
    let first = vms.iter().min_by_key(|vm| vm.id).unwrap();
    vm::delete(&stage.app.domain, &stage.admin, first.id).await.unwrap();
    stage.until("its end", async || stage.app.db.count("vms where gone_at is not null").await == 1).await;
    hub::set_cordoned(&stage.app.domain, &operator, &"one".into(), false).await.unwrap();
    stage.running(id).await;
    assert_eq!([INSTANCES, VMS].map(|kind| stage.hubs.count("one", kind)), [1, 1]);
    stage
        .until("the task's end", async || stage.task_of(id.0, Action::VappCreate).await.0 == TaskStatus::Success)
        .await;
    stage.gone(id).await;
}

#[tokio::test]
async fn an_instance_deleted_by_hand_takes_its_machines_and_is_named_as_the_cause() {
    let stage = Stage::set().await;
    let (_, id) = stage.asked("guests").await;
    let vms = stage.running(id).await;
    let found = stage.hubs.hub("one").objects(INSTANCES.0, INSTANCES.1).remove(0);
    let text = |field: &str| found["metadata"][field].as_str().unwrap().to_owned();
    stage.hubs.hub("one").delete(INSTANCES.0, INSTANCES.1, &text("namespace"), &text("name")).await;
    for one in &vms {
        stage.until("missing", async || stage.vm(one.id).await.state() == VmState::Missing).await;
    }
    stage.gone(id).await;
}
