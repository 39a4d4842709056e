//! Hubs that fall silent, and hubs on which something stands in the way already.
use crate::{
    harness::{Hubs, TestApp, TestOrg},
    request_id::Log,
};
use domain::{Gate, hub::Trust, probe, system_clock, vapp, vm};
use hub::{Client, apply::Owner, client::Options, resource::SECRETS};
use model::{
    Action, VappId, VmId,
    hub::{HubSpec, HubType},
    vapp::VappSpec,
    vm::{Power, Vm, VmSpec, VmState},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

const VMS: (&str, &str) = ("kubevirt.io", "virtualmachines");

struct Stage {
    app: TestApp,
    hubs: Hubs,
    acme: TestOrg,
}

impl Stage {
    async fn set() -> Stage {
        let app = TestApp::start().await;
        let hubs = Hubs::start(&app, &["one"]).await;
        let acme = app.org("acme").vdc("prod").make().await;
        let stage = Stage { app, hubs, acme };
        stage.until("hubs where kubevirt_version <> ''", 1).await;
        stage
    }

    async fn until(&self, what: &str, count: i64) {
        for _ in 0..600 {
            if self.app.db.count(what).await == count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let queue = self.app.domain.store.work_items(20).await.unwrap();
        panic!("{what} did not become {count}: {queue:#?}");
    }

    /// A VM with cloud-init, in a vApp of its own.
    async fn compose(&self, name: &str) -> VappId {
        let vm = VmSpec { name: name.into(), cpus: 1, memory_mb: 1024, power: Power::On, ..VmSpec::default() };
        let spec = VappSpec { name: name.into(), description: String::new(), vms: vec![vm] };
        let guest = vapp::Guest { user_data: format!("#cloud-config\nhostname: {name}\n"), ..Default::default() };
        let admin = self.app.actor(self.acme.admin()).await;
        vapp::compose(&self.app.domain, &admin, self.acme.vdc("prod"), spec, guest).await.unwrap().vapp
    }

    async fn vm(&self, id: VappId) -> Vm {
        let admin = self.app.actor(self.acme.admin()).await;
        vapp::with_vms(&self.app.domain, &admin, id).await.unwrap().1.remove(0)
    }

    async fn running(&self, id: VappId) -> Vm {
        self.until(&format!("vms where vapp_id = '{id}' and obs_state = 'running'"), 1).await;
        let vm = self.vm(id).await;
        assert_eq!(vm.state(), VmState::Running);
        vm
    }

    fn secret(&self, vm: &Vm) -> Option<Value> {
        let name = hub::shape::names::cloud_init_name(&vm.hub_name);
        self.hubs.hub("one").object("", "secrets", &vm.namespace, &name).map(|o| (*o).clone())
    }

    fn object(&self, vm: &Vm) -> Option<Value> {
        self.hubs.hub("one").object(VMS.0, VMS.1, &vm.namespace, &vm.hub_name).map(|o| (*o).clone())
    }

    /// Puts a Secret where that VM's would be, with this in its metadata.
    async fn plant(&self, vm: &Vm, namespace: &str, metadata: Value) {
        let credential = hub::kubeconfig::parse(&self.hubs.hub("one").kubeconfig()).unwrap();
        let client = Client::new(&credential, &Gate::open(), system_clock(), Options::default()).unwrap();
        let mut secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"userdata": "eA=="}});
        secret["metadata"]["name"] = hub::shape::names::cloud_init_name(&vm.hub_name).into();
        secret["metadata"]["namespace"] = namespace.into();
        secret["metadata"]["labels"]["planted"] = "yes".into();
        client.create_or_adopt(&SECRETS, &secret, &Owner::new("planted", "yes"), None).await.unwrap();
    }

    /// A VM that is asked for while nobody works, so that a test can be on the hub before it.
    async fn asked_for(&self, name: &str) -> (VappId, Vm) {
        self.hubs.kill_controller();
        self.app.db.execute("update work set lease_until = now()").await;
        let id = self.compose(name).await;
        (id, self.vm(id).await)
    }
}

#[tokio::test]
async fn a_silent_hub_keeps_what_it_was_found_to_have_and_the_cause_of_its_silence() {
    let stage = Stage::set().await;
    let db = &stage.app.db;
    let has = "select concat_ws('|', kubernetes_version, kubevirt_version, array_to_string(offers, ' ')) from hubs";
    let before = db.text(has).await;
    assert!(before.split('|').all(|part| !part.is_empty()), "{before}");
    stage.hubs.hub("one").faults().set(hubsim::Fault::Refuse, true);
    stage.until("hubs where state = 'unreachable'", 1).await;
    let mut causes = BTreeSet::new();
    // long enough for the circuit to open and for a probe or two
    for _ in 0..100 {
        causes.insert(db.text("select last_error || ' ' || next_step from hubs").await);
        assert_eq!(db.text(has).await, before);
        let checks = db.text("select checks::text from hubs").await;
        assert!(!checks.contains("not being asked"), "{checks}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(causes.iter().all(|c| !c.contains("not being asked") && c.len() > 20), "{causes:?}");
    let page = stage.app.provider().await.get("/provider/hubs/one").await.must(200);
    page.says(before.split('|').nth(1).unwrap());
    stage.hubs.hub("one").faults().set(hubsim::Fault::Refuse, false);
    stage.until("hubs where state = 'ready' and last_error = ''", 1).await;
}

#[tokio::test]
async fn a_cloud_init_secret_belongs_to_its_vm_and_goes_with_it() {
    let stage = Stage::set().await;
    let vm = stage.running(stage.compose("mail").await).await;
    let owners = stage.secret(&vm).unwrap()["metadata"]["ownerReferences"].clone();
    assert_eq!(owners[0]["uid"], stage.object(&vm).unwrap()["metadata"]["uid"]);
    // deleted by hand, with nobody here to tidy up
    stage.hubs.hub("one").remove(VMS.0, VMS.1, &vm.namespace, &vm.hub_name).unwrap();
    for _ in 0..100 {
        if stage.secret(&vm).is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the Secret outlived its VM: {:?}", stage.secret(&vm));
}

#[tokio::test]
async fn a_secret_of_somebody_elses_is_neither_used_nor_removed() {
    let stage = Stage::set().await;
    let namespace = stage.running(stage.compose("first").await).await.namespace;
    let (id, vm) = stage.asked_for("second").await;
    stage.plant(&vm, &namespace, json!({})).await;
    stage.hubs.start_controller(&stage.app);
    let failed = format!("work where kind = 'vm' and id = '{}' and failing = 'failed'", vm.id);
    stage.until(&failed, 1).await;
    let why = stage.app.db.text(&format!("select last_error from work where id = '{}'", vm.id)).await;
    assert!(why.contains("not ours"), "{why}");
    let admin = stage.app.actor(stage.acme.admin()).await;
    vapp::delete(&stage.app.domain, &admin, id).await.unwrap();
    stage.until("vapps where gone_at is null", 1).await;
    let there = stage.secret(&Vm { namespace, ..vm }).expect("it is still there");
    assert_eq!(there["data"]["userdata"], "eA==");
}

#[tokio::test]
async fn a_secret_that_belongs_to_an_earlier_vm_is_waited_out_and_made_anew() {
    let stage = Stage::set().await;
    let namespace = stage.running(stage.compose("first").await).await.namespace;
    let (id, vm) = stage.asked_for("second").await;
    let owner =
        json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": vm.hub_name, "uid": "0000-earlier"});
    let labels = json!({"ssvirt.io/vm-id": vm.id.to_string()});
    stage.hubs.hub("one").pause_controllers(true);
    stage.plant(&vm, &namespace, json!({"labels": labels, "ownerReferences": [owner]})).await;
    stage.hubs.start_controller(&stage.app);
    let waits = format!("work where kind = 'vm' and id = '{}' and last_error like '%earlier VirtualMachine%'", vm.id);
    stage.until(&waits, 1).await;
    stage.hubs.hub("one").pause_controllers(false);
    let vm = stage.running(id).await;
    let secret = stage.secret(&vm).unwrap();
    assert_eq!(secret["metadata"]["ownerReferences"][0]["uid"], stage.object(&vm).unwrap()["metadata"]["uid"]);
    assert_ne!(secret["data"]["userdata"], "eA==");
    // nothing more to do for it
    let admin = stage.app.actor(stage.acme.admin()).await;
    vm::power(&stage.app.domain, &admin, VmId(vm.id.0), Action::VmPowerOff).await.unwrap();
    stage.until(&format!("vms where id = '{}' and obs_state = 'stopped'", vm.id), 1).await;
}

#[tokio::test]
async fn where_hubs_differ_is_logged_once_when_it_comes_and_when_it_is_over() {
    let log = Log::of_all();
    let app = TestApp::start().await;
    let hubs = Hubs::start(&app, &["a-hub-to-compare", "b-hub-to-compare"]).await;
    let stage = Stage { acme: app.org("acme").make().await, app, hubs };
    stage.until("hubs where found ? 'kubevirt'", 2).await;
    stage.hubs.kill_controller();
    // as it was found before it fell silent
    stage.hubs.hub("b-hub-to-compare").faults().set(hubsim::Fault::Refuse, true);
    let older = r#"update hubs set found = found || '{"kubevirt": "v1.2.0"}' where id = 'b-hub-to-compare'"#;
    stage.app.db.execute(older).await;
    stage.hubs.look_every(&stage.app, Duration::from_millis(200));
    let count = |words: &str| log.text().lines().filter(|l| l.contains(words)).count();
    let said = async |words: &str| {
        for _ in 0..800 {
            if count(words) > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{words} was not logged");
    };
    let differ = "⚠️ hubs differ: KubeVirt: b-hub-to-compare has v1.2.0";
    said(differ).await;
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert_eq!(count(differ), 1);
    stage.hubs.hub("b-hub-to-compare").faults().set(hubsim::Fault::Refuse, false);
    said("✅ hubs differ no more: KubeVirt of hub b-hub-to-compare").await;
}

#[tokio::test]
async fn hubs_that_are_not_alike_say_in_what_and_what_it_means() {
    let app = TestApp::start().await;
    let hubs = Hubs::start(&app, &["one", "two"]).await;
    let stage = Stage { acme: app.org("acme").make().await, app, hubs };
    stage.until("hubs where found ? 'kubevirt' and exists (select from hub_templates t where t.hub_id = id)", 2).await;
    let provider = stage.app.provider().await;
    provider.get("/provider/hubs").await.must(200).says_not("Differences");
    // what the next look would find on a hub that is a version behind
    let older = r#"update hubs set found = found || '{"kubevirt": "v1.2.0", "storage_classes": []}' where id = 'two'"#;
    stage.hubs.kill_controller();
    stage.app.db.execute(older).await;
    stage.app.db.execute("delete from hub_templates where hub_id = 'two' and source like '%/rhel-9'").await;
    let list = provider.get("/provider/hubs").await.must(200);
    list.says("Differences").says("two: v1.2.0; one: v1.").says("A disk that names a class").says("without rhel-9");
    let page = provider.get("/provider/hubs/one").await.must(200);
    page.says("Differences").says("; two: v1.2.0.").says("; two: without rhel-9.");
    provider.get("/provider/hubs/two").await.must(200).says("Here: v1.2.0; one: v1.");
    // who is not open for VMs is not compared
    stage.app.db.execute("update hubs set capabilities = '{clusters}' where id = 'two'").await;
    provider.get("/provider/hubs").await.must(200).says_not("Differences");
}

#[tokio::test]
async fn a_replica_whose_way_to_a_hub_is_cut_does_not_make_it_silent_for_all() {
    let stage = Stage::set().await;
    let d = &stage.app.domain;
    let mut times = work::Times::default();
    times.calls.read = Duration::from_nanos(1);
    let cut = work::Controller::start(work::Config {
        store: d.store.clone(),
        vault: d.vault.clone().unwrap(),
        gate: d.gate.clone(),
        clock: system_clock(),
        template_namespaces: vec![],
        image_namespaces: vec![],
        times,
    });
    for _ in 0..30 {
        assert_eq!(stage.app.db.count("hubs where state = 'unreachable'").await, 0);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // when it is the only one left, it says so
    stage.hubs.kill_controller();
    stage.until("hubs where state = 'unreachable'", 1).await;
    cut.stop().await;
}

#[tokio::test]
async fn connections_that_break_and_come_back_at_once_are_no_silence_of_their_hub() {
    let stage = Stage::set().await;
    let (db, hub) = (&stage.app.db, stage.hubs.hub("one"));
    let shop = stage.compose("shop").await;
    let one = stage.running(shop).await;
    db.execute(
        "create table said (what text);
         create function note() returns trigger language plpgsql as $$ begin insert into said values (new.state); return new; end $$;
         create trigger note after update of state on hubs for each row when (old.state <> new.state) execute function note();",
    )
    .await;
    for turn in 0..5 {
        hub.faults().break_connections();
        let mark = |o: &mut Value| o["spec"]["template"]["spec"]["nodeSelector"] = json!({"turn": turn.to_string()});
        assert!(hub.edit(VMS.0, VMS.1, &one.namespace, &one.hub_name, mark).unwrap());
        let now = &hub.object(VMS.0, VMS.1, &one.namespace, &one.hub_name).unwrap()["metadata"]["resourceVersion"];
        let seen = format!("vms where obs_rv = '{}'", now.as_str().unwrap());
        stage.until(&seen, 1).await;
    }
    assert_eq!(db.text("select coalesce(string_agg(what, ', '), '') from said").await, "");
    // one that takes no new ones is silent soon
    let begun = std::time::Instant::now();
    hub.faults().set(hubsim::Fault::Refuse, true);
    stage.until("hubs where state = 'unreachable'", 1).await;
    assert!(begun.elapsed() < Duration::from_secs(2), "after {:?}", begun.elapsed());
    assert_eq!(db.count("vms where obs_state = 'running'").await, 1, "nothing looks stopped");
}

/// As when a token is revoked: the API server refuses whoever calls, and watches that are open go on.
#[tokio::test]
async fn a_hub_that_refuses_every_call_is_said_to_though_what_is_watched_goes_on() {
    let stage = Stage::set().await;
    let (d, hub) = (&stage.app.domain, stage.hubs.hub("one"));
    let admin = stage.app.actor(stage.acme.admin()).await;
    let shop = stage.compose("shop").await;
    let before = stage.running(shop).await;
    for (fault, says) in [(hubsim::Fault::Unauthorized, "credentials"), (hubsim::Fault::ServerError, "server")] {
        hub.faults().set(fault, true);
        vapp::power(d, &admin, shop, Action::VappPowerOff).await.unwrap();
        stage.until(&format!("hubs where state = 'unreachable' and last_error_kind = '{says}'"), 1).await;
        for turn in 0..30 {
            let mark = |o: &mut Value| o["metadata"]["annotations"]["turn"] = turn.to_string().into();
            assert!(hub.edit(VMS.0, VMS.1, &before.namespace, &before.hub_name, mark).unwrap());
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(stage.app.db.count("hubs where state = 'unreachable'").await, 1, "{says}, {turn}");
        }
        stage.until("tasks where operation = 'vapp.power_off' and status = 'running' and message <> ''", 1).await;
        assert!(stage.vm(shop).await.stale());
        hub.faults().set(fault, false);
        stage.until("hubs where state = 'ready' and last_error = ''", 1).await;
        stage.until(&format!("vms where vapp_id = '{shop}' and obs_state = 'stopped'"), 1).await;
        vapp::power(d, &admin, shop, Action::VappPowerOn).await.unwrap();
        stage.running(shop).await;
    }
}

#[tokio::test]
async fn a_cluster_that_is_registered_twice_gets_vms_as_the_first_hub_alone() {
    let stage = Stage::set().await;
    let (d, operator) = (&stage.app.domain, stage.app.operator().await);
    stage.until("hubs where cluster_uid <> ''", 1).await;
    let kubeconfig = stage.hubs.hub("one").kubeconfig();
    let tried = probe::probe(d, &operator, Action::HubRegister, &kubeconfig, Trust::Operator).await.unwrap();
    assert!(tried.checks.iter().any(|c| c.detail.contains("the same cluster as the hub one")), "{:#?}", tried.checks);
    let spec = HubSpec {
        id: "again".into(),
        hub_type: HubType::Vmaas,
        namespace: "vmaas-system".into(),
        is_default: true,
        ..HubSpec::default()
    };
    domain::hub::register(d, &operator, spec, &kubeconfig, Trust::Operator).await.unwrap();
    stage
        .until("hubs where id = 'again' and checks::text like '%same cluster as the hub one%' and offers = '{}'", 1)
        .await;
    assert_eq!(stage.app.db.count("hubs where id = 'one' and checks::text like '%same cluster%'").await, 0);
    let vm = stage.compose("shop").await;
    assert_eq!(stage.running(vm).await.hub.unwrap().0, "one");
}
