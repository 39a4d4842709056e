//! Leases from an organization's policy to the hub: what ends, who is told before, and who begins one anew.
use crate::{harness::TestApp, stage::Stage};
use domain::{lease, vapp, vm};
use model::{
    Action, VappId,
    lease::{Lease, LeaseSpec},
    vm::VmState,
};
use time::Duration;

impl Stage {
    /// The policy of the organization, in SQL's words.
    async fn policy(&self, set: &str) {
        self.app.db.execute(&format!("update organizations set {set} where name = 'acme'")).await;
    }

    async fn lease(&self, id: VappId) -> Lease {
        vapp::get(&self.app.domain, &self.admin, id).await.unwrap().lease
    }

    /// As if so much time had passed.
    async fn passes(&self, id: VappId, time: &str) {
        let back = format!("update leases set ends_at = ends_at - interval '{time}' where object_id = '{id}'");
        self.app.db.execute(&back).await;
    }

    async fn by_system(&self, id: VappId, action: Action) -> i64 {
        let done = format!("audit where object_id = '{id}' and action = '{}'", action.key());
        self.app.db.count(&format!("{done} and user_name = 'system' and via = 'by itself' and result = 'done'")).await
    }

    async fn are(&self, id: VappId, state: VmState) {
        self.until(state.label(), async || self.vms(id).await.iter().all(|v| v.state() == state)).await;
    }
}

#[tokio::test]
async fn at_the_end_of_the_run_time_lease_its_vms_are_suspended_and_the_storage_lease_begins() {
    let stage = Stage::set().await;
    stage.policy("runtime_lease_s = 86400, storage_lease_s = 604800").await;
    let id = stage.deploy("web-and-db", "shop").await;
    let asked = stage.lease(id).await;
    assert!(asked.running && asked.ends_at.is_some(), "it counts from the request on: {asked:?}");
    stage.running(id).await;
    stage.passes(id, "1 day").await;
    stage.are(id, VmState::Suspended).await;
    let now = stage.lease(id).await;
    assert!(!now.running && now.warned_at.is_none(), "{now:?}");
    assert!(now.ends_at.unwrap() > asked.ends_at.unwrap() + Duration::days(5), "{now:?}");
    assert_eq!(stage.by_system(id, Action::VappSuspend).await, 1);
    stage.until("its task", async || stage.task_of(id.0, Action::VappSuspend).await.0.ended()).await;
    let said = format!("events where object_id = '{id}' and kind = 'vapp.lease_ended'");
    assert_eq!(stage.app.db.count(&said).await, 1);
}

#[tokio::test]
async fn where_the_policy_says_so_vms_are_powered_off_and_at_last_deleted() {
    let stage = Stage::set().await;
    stage
        .policy(
            "runtime_lease_s = 1, runtime_lease_end = 'power_off', storage_lease_s = 2, storage_lease_end = 'delete'",
        )
        .await;
    let id = stage.deploy("ubuntu-24.04", "short").await;
    let gone = format!("vapps where id = '{id}' and gone_at is not null");
    stage.until("its end", async || stage.app.db.count(&gone).await == 1).await;
    assert_eq!(stage.by_system(id, Action::VappPowerOff).await, 1);
    assert_eq!(stage.by_system(id, Action::VappDelete).await, 1);
    assert_eq!(stage.hubs.count("one", crate::stage::VMS), 0);
    assert_eq!(stage.app.db.count(&format!("leases where object_id = '{id}'")).await, 0);
    assert_eq!(stage.app.db.text("select vms_used::text from organizations where name = 'acme'").await, "0");
}

#[tokio::test]
async fn what_is_only_marked_as_expired_stays_and_starts_again_when_it_is_renewed() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    stage.policy("storage_lease_s = 86400").await;
    let id = stage.deploy("ubuntu-24.04", "kept").await;
    let one = stage.running(id).await.remove(0);
    vm::power(d, admin, one.id, Action::VmPowerOff).await.unwrap();
    assert!(stage.lease(id).await.ends_at.is_some(), "it counts from the request on");
    stage.are(id, VmState::Stopped).await;
    stage.passes(id, "1 day").await;
    stage.until("its mark", async || stage.lease(id).await.expired()).await;
    let page = stage.app.sign_in("acme", "acme-admin").await;
    page.get(&format!("/tenant/acme/vapps/{id}")).await.must(200).says("Its lease has ended.");
    page.get("/tenant/acme").await.must(200).says("The lease of kept has ended");
    let refused = vm::power(d, admin, one.id, Action::VmPowerOn).await.unwrap_err();
    assert!(refused.to_string().contains("Renew it first"), "{refused}");
    let refused = vapp::power(d, admin, id, Action::VappPowerOn).await.unwrap_err();
    assert!(refused.to_string().contains("Renew it first"), "{refused}");

    let renewed = page.post(&format!("/tenant/acme/vapps/{id}/lease/renew"), &[]).await.must(303);
    page.follow(renewed).await.says("The lease of kept is renewed.").says_not("Its lease has ended.");
    assert!(!stage.lease(id).await.expired());
    vapp::power(d, admin, id, Action::VappPowerOn).await.unwrap();
    stage.running(id).await;
    let now = stage.lease(id).await;
    assert_eq!((now.running, now.ends_at), (true, None), "no run-time lease, no end");
}

#[tokio::test]
async fn people_are_told_ahead_once_and_whoever_may_edit_the_vapp_renews_it() {
    let stage = Stage::set().await;
    stage.policy("runtime_lease_s = 864000, lease_warning_s = 86400").await;
    let id = stage.deploy("ubuntu-24.04", "demo").await;
    stage.running(id).await;
    let page = stage.app.sign_in("acme", "acme-admin").await;
    page.get("/tenant/acme").await.must(200).says_not("The lease of demo");
    stage.passes(id, "9 days 1 hour 30 minutes").await;
    stage.until("the warning", async || stage.lease(id).await.warned_at.is_some()).await;
    page.get("/tenant/acme").await.must(200).says("The lease of demo ends in 22 h");
    page.get(&format!("/tenant/acme/vapps/{id}")).await.must(200).says("Its run-time lease ends in 22 h");
    tokio::time::sleep(std::time::Duration::from_millis(2500)).await;
    let told = format!("events where object_id = '{id}' and kind = 'vapp.lease_warning'");
    assert_eq!(stage.app.db.count(&told).await, 1);

    page.post(&format!("/tenant/acme/vapps/{id}/lease/renew"), &[]).await.must(303);
    let now = stage.lease(id).await;
    let from_now = now.ends_at.unwrap() - domain::system_clock()();
    assert!(now.warned_at.is_none() && from_now > Duration::days(9) + Duration::hours(23), "{now:?}");
    page.get("/tenant/acme").await.must(200).says("Nothing waits for you.");
}

#[tokio::test]
async fn a_vapps_lease_is_not_beyond_its_organizations() {
    let stage = Stage::set().await;
    stage.policy("runtime_lease_s = 604800").await;
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let page = stage.app.sign_in("acme", "acme-admin").await;
    let path = format!("/tenant/acme/vapps/{id}/lease");
    let form = page.get(&path).await.must(200);
    assert_eq!(form.field("runtime_lease").as_deref(), Some("7 days"));
    for (typed, wrong) in [
        ("8 days", "At most 7 days, as the organization says."),
        ("", "It needs an end: the organization allows 7 days."),
        ("soon", "A number with days, hours, minutes or seconds, such as 7 days; or empty."),
        ("0", "At least 1 second."),
    ] {
        let back = page.fill(&path, &[("runtime_lease", typed)]).await.must(422);
        assert_eq!(back.error_of("runtime_lease").as_deref(), Some(wrong));
        assert_eq!(back.field("runtime_lease").as_deref(), Some(typed), "nothing typed is lost");
    }
    page.fill(&path, &[("runtime_lease", "12 hours"), ("storage_lease", "30")]).await.must(303);
    let now = stage.lease(id).await;
    assert_eq!(now.spec(), LeaseSpec { runtime_s: Some(43_200), storage_s: Some(30 * 86_400) });
    // shorter by now: a renewal keeps to what the organization says today
    stage.policy("runtime_lease_s = 3600").await;
    lease::renew(&stage.app.domain, &stage.admin, id).await.unwrap();
    assert_eq!(stage.lease(id).await.runtime_s, Some(3_600));
}

#[tokio::test]
async fn however_many_replicas_look_a_lease_ends_once() {
    let stage = Stage::set().await;
    let replica = stage.app.replica().await;
    let more: Vec<_> = (0..3).map(|_| second_controller(&replica)).collect();
    stage.policy("runtime_lease_s = 2, runtime_lease_end = 'power_off'").await;
    let mut all = Vec::new();
    for n in 0..4 {
        all.push(stage.deploy("ubuntu-24.04", &format!("vapp-{n}")).await);
    }
    for id in &all {
        stage.are(*id, VmState::Stopped).await;
    }
    tokio::time::sleep(std::time::Duration::from_millis(2500)).await;
    for id in all {
        assert_eq!(stage.by_system(id, Action::VappPowerOff).await, 1);
    }
    for one in more {
        one.stop().await;
    }
}

fn second_controller(app: &TestApp) -> work::Controller {
    let d = &app.domain;
    work::Controller::start(work::Config {
        store: d.store.clone(),
        vault: d.vault.clone().unwrap(),
        gate: d.gate.clone(),
        clock: domain::system_clock(),
        template_namespaces: vec!["openshift".into()],
        image_namespaces: vec!["openshift-virtualization-os-images".into()],
        times: work::Times::default(),
    })
}

#[tokio::test]
async fn while_its_hub_is_silent_the_end_waits_for_it() {
    let stage = Stage::set().await;
    stage.policy("runtime_lease_s = 86400, runtime_lease_end = 'power_off'").await;
    let id = stage.deploy("ubuntu-24.04", "far").await;
    stage.running(id).await;
    stage.hubs.hub("one").faults().set(hubsim::Fault::Refuse, true);
    stage.passes(id, "1 day").await;
    stage.until("the request", async || stage.by_system(id, Action::VappPowerOff).await == 1).await;
    assert!(!stage.task_of(id.0, Action::VappPowerOff).await.0.ended());
    stage.hubs.hub("one").faults().clear();
    stage.are(id, VmState::Stopped).await;
}

#[tokio::test]
async fn the_lease_that_counts_follows_the_last_vm_that_is_to_run() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    stage.policy("runtime_lease_s = 86400, storage_lease_s = 604800").await;
    let id = stage.deploy("web-and-db", "pair").await;
    let vms = stage.running(id).await;
    let first = stage.lease(id).await;
    vm::power(d, admin, vms[0].id, Action::VmPowerOff).await.unwrap();
    assert_eq!(stage.lease(id).await, first, "one still runs");
    // both at once, as two people would: whoever is second sees what the first one did
    vm::power(d, admin, vms[0].id, Action::VmPowerOn).await.unwrap();
    let (a, b) = tokio::join!(
        vm::power(d, admin, vms[0].id, Action::VmPowerOff),
        vm::power(d, admin, vms[1].id, Action::VmPowerOff)
    );
    a.and(b).unwrap();
    assert!(!stage.lease(id).await.running);
    vm::power(d, admin, vms[1].id, Action::VmPowerOn).await.unwrap();
    assert!(stage.lease(id).await.running);
    vm::delete(d, admin, vms[1].id).await.unwrap();
    assert!(!stage.lease(id).await.running, "what is deleted does not run");
}

#[tokio::test]
async fn a_templates_lease_ends_and_is_renewed() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    stage.policy("template_lease_s = 86400").await;
    let id = stage.deploy("ubuntu-24.04", "base").await;
    stage.running(id).await;
    vapp::power(d, admin, id, Action::VappPowerOff).await.unwrap();
    stage.are(id, VmState::Stopped).await;
    let spec = model::catalog::CatalogSpec { name: "own".into(), ..Default::default() };
    let catalog = domain::catalog::create(d, admin, stage.acme.id, spec).await.unwrap().id;
    let spec = model::upload::UploadSpec { name: "golden".into(), ..Default::default() };
    let template = domain::item::capture(d, admin, id, catalog, spec).await.unwrap();
    let whole = format!("tasks where object_id = '{template}' and status = 'success'");
    stage.until("the capture", async || stage.app.db.count(&whole).await == 1).await;
    let back = format!("update leases set ends_at = now() where object_id = '{template}'");
    stage.app.db.execute(&back).await;
    let page = stage.app.sign_in("acme", "acme-admin").await;
    let path = format!("/tenant/acme/templates/{template}");
    stage.until("its mark", async || page.get(&path).await.text().contains("Expired")).await;
    page.get(&path).await.must(200).says("The lease of golden has ended.");
    page.post(&format!("{path}/lease/renew"), &[]).await.must(303);
    page.get(&path).await.must(200).says_not("Expired");

    stage.policy("template_lease_end = 'delete'").await;
    stage.app.db.execute(&back).await;
    stage.until("its end", async || page.get(&path).await.status == 404).await;
    let by = format!("audit where object_id = '{template}' and action = 'template.delete' and user_name = 'system'");
    assert_eq!(stage.app.db.count(&by).await, 1);
}
