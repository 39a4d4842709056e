//! Where VMs go, and why: which hubs are fit, what waits and is freed, and what is logged, counted and shown of it.
use crate::{
    harness::{Hubs, TestApp, TestOrg},
    request_id::Log,
};
use ::hub::{
    Key,
    client::Options,
    resource::{NAMESPACES, TEMPLATES, VIRTUAL_MACHINES},
};
use domain::{catalog, hub, vapp, vdc, vm};
use hubsim::{Fault, Flavour};
use model::{
    Action, Actor, VappId,
    catalog::CatalogSpec,
    hub::{Capability, HubSpec, HubType},
    list::{ListQuery, TEMPLATES as LIST},
    quota::Limits,
    vapp::VappSpec,
    vdc::{AllocationModel, VdcSpec},
    vm::{Power, Vm, VmSpec, VmState},
};
use serde_json::json;
use std::time::Duration;

const NO_HUB: &str = "No hub with virtualmachine capability found";

struct Stage {
    app: TestApp,
    hubs: Hubs,
    acme: TestOrg,
    admin: Actor,
    operator: Actor,
}

impl Stage {
    async fn with(hubs: &[&str]) -> Stage {
        let app = TestApp::start().await;
        let hubs = Hubs::start(&app, hubs).await;
        let acme = app.org("acme").vdc("prod").make().await;
        let (admin, operator) = (app.actor(acme.admin()).await, app.operator().await);
        Stage { app, hubs, acme, admin, operator }
    }

    async fn until(&self, what: &str, mut reached: impl AsyncFnMut() -> bool) {
        for _ in 0..600 {
            if reached().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{what} did not come: {:#?}", self.app.domain.store.work_items(20).await.unwrap());
    }

    /// A vApp of VMs of these names, with an SSH key and switched on.
    async fn compose(&self, name: &str, vms: &[&str]) -> VappId {
        let vm = |name: &&str| VmSpec {
            name: (*name).into(),
            cpus: 1,
            memory_mb: 1024,
            power: Power::On,
            disks: vec![model::vm::Disk { name: "root".into(), size_mb: 1024, ..Default::default() }],
            ..VmSpec::default()
        };
        let spec = VappSpec { name: name.into(), vms: vms.iter().map(vm).collect(), ..VappSpec::default() };
        let guest = vapp::Guest { user_data: "#cloud-config\npackages: [nginx]\n".into(), ..Default::default() };
        let vdc = self.acme.vdc("prod");
        vapp::compose(&self.app.domain, &self.admin, vdc, spec, guest).await.unwrap().vapp
    }

    async fn running(&self, id: VappId) -> Vec<Vm> {
        let vms = async || vapp::with_vms(&self.app.domain, &self.admin, id).await.unwrap().1;
        self.until("running VMs", async || vms().await.iter().all(|v| v.state() == VmState::Running)).await;
        vms().await
    }

    /// Status and message of the latest task.
    async fn task(&self, object: impl Into<uuid::Uuid>, action: Action) -> String {
        let sql = format!(
            "select status || ': ' || message from tasks where object_id = '{}' and operation = '{}' order by started_at desc limit 1",
            object.into(),
            action.key()
        );
        self.app.db.text(&sql).await
    }

    async fn state(&self, hub: &str) -> String {
        self.app.db.text(&format!("select state from hubs where id = '{hub}'")).await
    }

    async fn checked(&self, hub: &str) {
        let checked = format!("hubs where id = '{hub}' and checked_at is not null");
        self.until("a check", async || self.app.db.count(&checked).await == 1).await;
    }
}

#[tokio::test]
async fn a_hub_without_kubevirt_takes_no_vm_and_what_waits_goes_to_the_next_that_is_registered() {
    let mut stage = Stage::with(&[]).await;
    stage.hubs.add(&stage.app, "bare", Flavour::bare()).await;
    stage.checked("bare").await;
    let id = stage.compose("shop", &["web"]).await;
    stage.until("a reason", async || stage.task(id, Action::VappCreate).await.ends_with(NO_HUB)).await;
    for _ in 0..20 {
        assert_eq!(stage.state("bare").await, "degraded", "it answers, and that does not change");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let placement = vapp::get(&stage.app.domain, &stage.operator, id).await.unwrap().placement.unwrap();
    assert!(placement.refused[0].why.contains("Its checks say what is missing"), "{placement:?}");

    stage.hubs.add(&stage.app, "good", Flavour::default()).await;
    let one = stage.running(id).await.remove(0);
    assert_eq!(one.hub, Some("good".into()));
    let own = stage.hubs.hub("good").object("", "namespaces", "", "ssvirt-own").expect("the hub's own namespace");
    assert_eq!(own["metadata"]["labels"]["app.kubernetes.io/managed-by"], "ssvirt");
    let page = stage.app.provider().await.get(&format!("/provider/vms/{}", one.id)).await.must(200);
    page.says("Placement").says("It is the only one that fits.").says("Its checks say what is missing.");
}

#[tokio::test]
async fn a_capability_that_a_hub_is_given_frees_what_waits_for_it() {
    let stage = Stage::with(&["one"]).await;
    let d = &stage.app.domain;
    let set = async |capabilities: &[Capability]| {
        let h = hub::get(d, &stage.operator, &"one".into()).await.unwrap();
        let capabilities = capabilities.to_vec();
        let spec = HubSpec { hub_type: HubType::Hybrid, capabilities, ..HubSpec::from(&h) };
        hub::edit(d, &stage.operator, &h.id, h.version, spec).await.unwrap();
    };
    set(&[Capability::Clusters]).await;
    let id = stage.compose("shop", &["web"]).await;
    stage.until("a reason", async || stage.task(id, Action::VappCreate).await.ends_with(NO_HUB)).await;
    set(&Capability::ALL).await;
    stage.running(id).await;
}

#[tokio::test]
async fn a_hub_that_is_registered_again_is_called_by_its_new_kubeconfig() {
    let app = TestApp::start().await;
    let mut hubs = Hubs::start(&app, &["one"]).await;
    let operator = app.operator().await;
    let seen = "hubs where seen_at is not null";
    while app.db.count(seen).await == 0 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    hub::delete(&app.domain, &operator, &"one".into()).await.unwrap();
    let first = hubs.take("one");
    hubs.add(&app, "one", Flavour::default()).await;
    let acme = app.org("acme").vdc("prod").make().await;
    let admin = app.actor(acme.admin()).await;
    let stage = Stage { app, hubs, acme, admin, operator };
    let id = stage.compose("shop", &["web"]).await;
    stage.running(id).await;
    assert_eq!(stage.hubs.count("one", ("kubevirt.io", "virtualmachines")), 1);
    assert!(first.objects("kubevirt.io", "virtualmachines").is_empty(), "nothing goes by the old one");
}

#[tokio::test]
async fn a_hub_that_is_registered_again_at_once_is_called_where_it_is_now() {
    let app = TestApp::start().await;
    let mut hubs = Hubs::start(&app, &["one"]).await;
    let (d, one) = (&app.domain, model::HubId::from("one"));
    let vault = d.vault.clone().unwrap();
    let clients = work::Hubs::new(d.store.clone(), vault, d.gate.clone(), domain::system_clock(), Options::default());
    let cluster = async || {
        let client = clients.client(&one).await.unwrap();
        client.get(&NAMESPACES, &Key::global("kube-system")).await.unwrap()["metadata"]["uid"].clone()
    };
    let before = cluster().await;
    hub::delete(d, &app.operator().await, &one).await.unwrap();
    let _first = hubs.take("one");
    hubs.add(&app, "one", Flavour::default()).await;
    assert_ne!(cluster().await, before);
}

#[tokio::test]
async fn the_default_hub_goes_before_one_with_more_room_and_there_is_one_at_most() {
    let stage = Stage::with(&["one", "two"]).await;
    let provider = stage.app.provider().await;
    stage.checked("one").await;
    stage.checked("two").await;
    for name in ["one", "two"] {
        provider.fill(&format!("/provider/hubs/{name}/edit"), &[("is_default", "on")]).await.must(303);
    }
    assert_eq!(stage.app.db.text("select string_agg(id, ' ') from hubs where is_default").await, "two");
    provider.get("/provider/hubs").await.says("the default hub");
    let id = stage.compose("shop", &["web"]).await;
    assert_eq!(stage.running(id).await[0].hub, Some("two".into()));
    let placement = vapp::get(&stage.app.domain, &stage.operator, id).await.unwrap().placement.unwrap();
    assert_eq!(placement.because, "It is the default hub.");
}

#[tokio::test]
async fn what_is_routed_is_logged_and_counted_by_vm_and_all_we_make_is_marked_as_ours() {
    let log = Log::of_all();
    server::metrics::recorder();
    let mut stage = Stage::with(&["routed-hub"]).await;
    stage.admin.origin.request_id = "request-that-was-routed".into();
    let id = stage.compose("shop", &["web", "db"]).await;
    let vms = stage.running(id).await;
    stage.until("the task's end", async || stage.task(id, Action::VappCreate).await.starts_with("success")).await;
    let text = log.text();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let has = |message: &str, key: &str, value: &str| {
        lines
            .iter()
            .filter(|l| l["message"].as_str().is_some_and(|m| m.starts_with(message)) && l[key] == value)
            .count()
    };
    for vm in &vms {
        assert_eq!(has("Selected hub for VM request", "vm_id", &vm.id.to_string()), 1);
    }
    assert_eq!(has("Selected hub for VM request", "hub_id", "routed-hub"), 2);
    assert_eq!(has("Automatically assigned KubevirtConfig to machine", "kubevirtConfig", "routed-hub"), 2);
    assert!(has("Automatically assigned KubevirtConfig to machine", "machine", "db") > 0);
    assert!(lines.iter().any(|l| l["message"] == "Found hubs with capability" && l["count"] == 1));
    assert_eq!(has("Registered VMaaS hub", "hub_id", "routed-hub"), 1);
    assert!(has("✅", "hub_id", "routed-hub") > 5, "what is well is said once");
    let asked = log.of("request-that-was-routed");
    assert!(asked.iter().any(|l| l["message"] == "Selected hub for VM request"), "{asked:?}");

    let scraped = || {
        server::metrics::recorder().run_upkeep();
        server::metrics::recorder().render()
    };
    let numbers = scraped();
    for expected in [
        "ssvirt_vm_requests_routed_total{hub=\"routed-hub\"} 2\n",
        "ssvirt_hub_selection_seconds_bucket{kind=\"virtualmachines\",le=\"0.001\"}",
        "ssvirt_hub_connections_total{hub=\"routed-hub\",result=\"success\"}",
        "ssvirt_vm_provisioning_total{result=\"success\"}",
        "# HELP ssvirt_vm_requests_routed_total ",
        "# TYPE ssvirt_hub_selection_seconds histogram",
        "# HELP ssvirt_hub_connections_total ",
        "# HELP ssvirt_vm_provisioning_total ",
    ] {
        assert!(numbers.contains(expected), "{expected} is not in\n{numbers}");
    }

    let hub = stage.hubs.hub("routed-hub");
    for (group, resource, at_least) in [
        ("kubevirt.io", "virtualmachines", 2),
        ("kubevirt.io", "virtualmachineinstances", 2),
        ("cdi.kubevirt.io", "datavolumes", 2),
        ("", "secrets", 2),
        ("", "resourcequotas", 1),
        ("networking.k8s.io", "networkpolicies", 3),
    ] {
        let all = hub.objects(group, resource);
        let ours: Vec<_> = all.iter().filter(|o| o["metadata"]["namespace"] == vms[0].namespace.as_str()).collect();
        assert!(ours.len() >= at_least, "{resource}: {}", ours.len());
        for o in ours {
            assert_eq!(o["metadata"]["labels"]["app.kubernetes.io/managed-by"], "ssvirt", "{o:#}");
        }
    }

    hub.faults().set(Fault::Refuse, true);
    let failed = "ssvirt_hub_connections_total{hub=\"routed-hub\",result=\"unreachable\"}";
    stage.until("a failure counted", async || scraped().contains(failed)).await;
    stage
        .until("the warning", async || {
            log.text().lines().any(|l| l.contains("Failed to query OpenShift templates") && l.contains("routed-hub"))
        })
        .await;
}

#[tokio::test]
async fn a_vdcs_task_ends_when_its_hubs_are_at_it_and_says_meanwhile_why_not() {
    let stage = Stage::with(&["one"]).await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let prod = stage.acme.vdc("prod");
    let success = async |action| {
        stage.until("the task's end", async || stage.task(prod, action).await.starts_with("success")).await
    };
    success(Action::VdcCreate).await;
    let hub = stage.hubs.hub("one");
    let namespace = || hub.object("", "namespaces", "", "vdc-acme-prod");
    assert!(namespace().is_some());

    hub.faults().set(Fault::Refuse, true);
    stage.until("silence", async || stage.state("one").await == "unreachable").await;
    vdc::set_enabled(d, admin, prod, false).await.unwrap();
    let waits = "running: Its hub does not answer as it should. It goes on when it does.";
    stage.until("a reason", async || stage.task(prod, Action::VdcDisable).await == waits).await;
    // the task is told first, and the queue right after it
    let named = async || d.store.work_items(5).await.unwrap().iter().any(|i| i.last_error.starts_with("one: "));
    stage.until("the hub's name, for the provider", named).await;
    vdc::set_enabled(d, admin, prod, true).await.unwrap();
    assert!(stage.task(prod, Action::VdcDisable).await.starts_with("aborted: Not waited for any more"));
    hub.faults().set(Fault::Refuse, false);
    success(Action::VdcEnable).await;
    vdc::delete(d, admin, prod).await.unwrap();
    success(Action::VdcDelete).await;
    assert!(namespace().is_none());

    // somebody else has the namespace
    let object = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "vdc-acme-taken", "labels": {"app": "foreign"}}});
    stage.hubs.plant("one", &NAMESPACES, &object, "app").await;
    let spec = VdcSpec { name: "taken".into(), ..VdcSpec::default() };
    let taken = vdc::create(d, admin, stage.acme.id, spec).await.unwrap().id;
    stage
        .until("an error", async || {
            stage
                .task(taken, Action::VdcCreate)
                .await
                .starts_with("error: failed to create namespace: An object that is not ours")
        })
        .await;
}

#[tokio::test]
async fn in_a_disabled_vdc_nothing_new_starts_and_what_runs_goes_on() {
    let stage = Stage::with(&["one"]).await;
    let (d, admin, prod) = (&stage.app.domain, &stage.admin, stage.acme.vdc("prod"));
    let id = stage.compose("shop", &["web", "db"]).await;
    let vms = stage.running(id).await;
    vm::power(d, admin, vms[1].id, Action::VmPowerOff).await.unwrap();
    let stopped = async || vm::get(d, admin, vms[1].id).await.unwrap().state() == VmState::Stopped;
    stage.until("a stopped VM", stopped).await;
    vdc::set_enabled(d, admin, prod, false).await.unwrap();
    let refused = vm::power(d, admin, vms[1].id, Action::VmPowerOn).await.unwrap_err();
    assert!(refused.to_string().contains("The VDC prod is disabled"), "{refused}");
    let spec = VmSpec { name: "third".into(), cpus: 1, memory_mb: 1024, ..VmSpec::default() };
    assert!(vm::add(d, admin, id, spec).await.is_err());
    let spec = VappSpec { name: "more".into(), ..VappSpec::default() };
    assert!(vapp::compose(d, admin, prod, spec, vapp::Guest::default()).await.is_err());
    stage.until("the mark", async || stage.task(prod, Action::VdcDisable).await.starts_with("success")).await;
    assert_eq!(vm::get(d, admin, vms[0].id).await.unwrap().state(), VmState::Running);
}

#[tokio::test]
async fn what_nobody_knows_on_a_hub_is_shown_and_left_alone() {
    let stage = Stage::with(&["one"]).await;
    let id = stage.compose("shop", &["web"]).await;
    let one = stage.running(id).await.remove(0);
    let hub = stage.hubs.hub("one");
    let mut object = (*hub.object("kubevirt.io", "virtualmachines", &one.namespace, &one.hub_name).unwrap()).clone();
    let labels = json!({"app.kubernetes.io/managed-by": "ssvirt", "ssvirt.io/vm-id": uuid::Uuid::now_v7().to_string()});
    object["metadata"] = json!({"name": "from-a-backup", "namespace": one.namespace, "labels": labels});
    object["spec"]["runStrategy"] = "Halted".into();
    object["spec"]["dataVolumeTemplates"] = json!([]);
    object["spec"]["template"]["spec"]["volumes"] = json!([]);
    object["spec"]["template"]["spec"]["domain"]["devices"]["disks"] = json!([]);
    object.as_object_mut().unwrap().remove("status");
    stage.hubs.plant("one", &VIRTUAL_MACHINES, &object, "ssvirt.io/vm-id").await;
    let provider = stage.app.provider().await;
    let shown = async || provider.get("/provider/hubs/one").await.must(200).body.contains("from-a-backup");
    stage.until("the stranger", shown).await;
    let there = || hub.object("kubevirt.io", "virtualmachines", &one.namespace, "from-a-backup").is_some();
    assert!(there(), "it is left alone");
    hub.remove("kubevirt.io", "virtualmachines", &one.namespace, "from-a-backup").unwrap();
    stage.until("its end", async || !shown().await).await;
}

#[tokio::test]
async fn templates_come_from_the_namespaces_that_the_settings_name() {
    let stage = Stage::with(&["one"]).await;
    let hub = stage.hubs.hub("one");
    let mut template = (*hub.object("template.openshift.io", "templates", "openshift", "fedora-43").unwrap()).clone();
    let mut labels = template["metadata"]["labels"].clone();
    labels["app"] = "golden".into();
    template["metadata"] = json!({"name": "golden", "namespace": "golden", "labels": labels,
        "annotations": template["metadata"]["annotations"]});
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "golden", "labels": {"app": "golden"}}});
    stage.hubs.plant("one", &NAMESPACES, &namespace, "app").await;
    stage.hubs.plant("one", &TEMPLATES, &template, "app").await;
    let spec = CatalogSpec { name: "all".into(), shared_to_all: true, from_hubs: true, ..CatalogSpec::default() };
    catalog::create(&stage.app.domain, &stage.operator, stage.operator.org, spec).await.unwrap();
    let find = async |name: &str| {
        let query = ListQuery { search: name.into(), ..ListQuery::first(&LIST) };
        let page = catalog::templates(&stage.app.domain, &stage.admin, None, &query).await.unwrap();
        page.items.into_iter().find(|t| t.name == name)
    };
    stage.until("a template", async || find("fedora-43").await.is_some()).await;
    assert!(find("golden").await.is_none());
    stage.hubs.kill_controller();
    stage.app.db.execute("update hubs set lease_until = '-infinity'").await;
    stage.hubs.start_controller_for(&stage.app, &["openshift", "golden"]);
    stage.until("the other namespace's", async || find("golden").await.is_some()).await;
    assert!(!find("fedora-43").await.unwrap().vanished());

    // a silent hub empties no catalog: what it had is shown as of then
    let page = format!("/tenant/acme/templates/{}", find("golden").await.unwrap().id);
    let admin = stage.app.sign_in("acme", "acme-admin").await;
    admin.get(&page).await.must(200).says("Available").says_not("as of");
    hub.faults().set(Fault::Refuse, true);
    stage.until("the mark", async || admin.get(&page).await.must(200).body.contains("as of")).await;
    admin.get(&page).await.says("Deploy");
}

#[tokio::test]
async fn what_a_vdc_has_reserved_is_kept_free_for_it() {
    let stage = Stage::with(&["one"]).await;
    let d = &stage.app.domain;
    stage
        .until("a look at the hub", async || stage.app.db.count("hubs where memory_capacity_mb is not null").await == 1)
        .await;
    let all: i64 = stage.app.db.text("select memory_capacity_mb::text from hubs").await.parse().unwrap();
    let limits = Limits { vms: Some(10), cpus: Some(4), memory_mb: Some(all - 4096), storage_mb: Some(1024) };
    let spec = VdcSpec {
        name: "kept".into(),
        allocation_model: AllocationModel::ReservationPool,
        limits,
        ..VdcSpec::default()
    };
    let org = stage.acme.id;
    let kept = vdc::create(d, &stage.operator, org, spec).await.unwrap().id;
    let placed = format!("places where vdc_id = '{kept}'");
    stage.until("a place for the VDC", async || stage.app.db.count(&placed).await == 1).await;

    let asked = || hub::Asked { cpus: 1, memory_mb: 8192, ..hub::Asked::default() };
    let elsewhere = hub::explain(d, &stage.operator, org, stage.acme.vdc("prod"), asked()).await.unwrap();
    assert_eq!(elsewhere.hub, None);
    assert!(elsewhere.refused[0].why.contains("8 GB of memory are needed, and it has room for 4"), "{elsewhere:?}");
    let own = hub::explain(d, &stage.operator, org, kept, asked()).await.unwrap();
    assert_eq!(own.hub.map(|h| h.0).as_deref(), Some("one"));
}

#[tokio::test]
async fn machines_that_a_restored_database_forgot_are_found_where_they_are_and_not_made_twice() {
    let stage = Stage::with(&["one", "two"]).await;
    let (d, db) = (&stage.app.domain, &stage.app.db);
    let set_cordon = async |hub: &str, on: bool| {
        hub::set_cordoned(d, &stage.operator, &hub.into(), on).await.unwrap();
    };
    set_cordon("one", true).await;
    let id = stage.compose("shop", &["web"]).await;
    let before = stage.running(id).await.remove(0);
    assert_eq!(before.hub, Some("two".into()));
    set_cordon("two", true).await;
    let uid = db.text("select uid from vms").await;

    stage.hubs.kill_controller();
    db.execute("update vapps set hub_id = null, placement = null, placed_at = null, attempted_at = null").await;
    db.execute("update vms set hub_id = null, uid = null, attempted_at = null, applied = null, obs_state = 'unknown'")
        .await;
    stage.hubs.start_controller(&stage.app);
    stage.until("the machine is found", async || db.count("strangers where vm_id is not null").await == 1).await;
    set_cordon("one", false).await;
    d.store.enqueue(model::Kind::Vapp, id, stage.acme.id, "").await.unwrap();
    stage.until("its adoption", async || db.text("select coalesce(uid, '') from vms").await == uid).await;
    assert_eq!(stage.running(id).await.remove(0).hub, Some("two".into()));
    stage.until("no stranger", async || db.count("strangers").await == 0).await;
    for (hub, count) in [("one", 0), ("two", 1)] {
        assert_eq!(stage.hubs.count(hub, ("kubevirt.io", "virtualmachines")), count, "{hub}");
    }
    let placement = vapp::get(d, &stage.operator, id).await.unwrap().placement.unwrap();
    assert_eq!(placement.because, "What belongs to it is there already.");
}

#[tokio::test]
async fn a_machine_that_is_adopted_while_its_hub_reports_it_is_reported_all_the_same() {
    let stage = Stage::with(&["one"]).await;
    let db = &stage.app.db;
    let id = stage.compose("shop", &["web"]).await;
    stage.running(id).await;
    db.execute("create table adopted as select id, uid from vms").await;
    stage.hubs.kill_controller();
    db.execute("update vms set hub_id = null, uid = null, obs_state = 'unknown'").await;
    stage.hubs.start_controller(&stage.app);
    stage.until("the machine is found", async || db.count("strangers").await == 1).await;

    // a report that found nothing to write is held back at its end, and the machine is adopted meanwhile
    db.execute("create function held() returns trigger language plpgsql as 'begin if not exists (select from changed) then perform pg_advisory_xact_lock_shared(7); end if; return null; end'")
        .await;
    db.execute("select pg_advisory_lock(7)").await;
    db.execute("create trigger held after update on vms referencing new table as changed for each statement execute function held()").await;
    let held = "pg_locks where locktype = 'advisory' and not granted and pg_backend_pid() = any(pg_blocking_pids(pid))";
    stage.until("a report that is held back", async || db.count(held).await == 1).await;
    db.execute("update vms v set hub_id = 'one', uid = a.uid from adopted a where a.id = v.id").await;
    db.execute("select pg_advisory_unlock(7)").await;
    stage.running(id).await;
    stage.until("no stranger", async || db.count("strangers").await == 0).await;
}

#[tokio::test]
async fn a_call_that_a_hub_refuses_is_logged_with_the_machine_and_the_cause_and_nothing_looks_deleted() {
    let log = Log::of_all();
    let stage = Stage::with(&["refusing-hub"]).await;
    let d = &stage.app.domain;
    let id = stage.compose("shop", &["web"]).await;
    let web = stage.running(id).await.remove(0);
    stage.hubs.hub("refusing-hub").faults().set(Fault::Forbidden, true);
    vm::resize(d, &stage.admin, web.id, 2, 2048).await.unwrap();
    let (late, _) =
        vm::add(d, &stage.admin, id, VmSpec { name: "late".into(), cpus: 1, memory_mb: 1024, ..VmSpec::default() })
            .await
            .unwrap();

    let logged = |message: &str, vm: model::VmId| {
        let text = log.text();
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines.filter(|l| l["message"] == message && l["vm_id"] == vm.to_string() && l["kind"] == "forbidden").count()
            > 0
    };
    let [get, create] =
        ["get VirtualMachine from", "create VirtualMachine in"].map(|w| format!("Failed to {w} remote cluster"));
    stage.until("the line of the one", async || logged(&get, web.id)).await;
    stage.until("the line of the other", async || logged(&create, late)).await;
    stage.until("a reason", async || stage.task(late, Action::VmCreate).await.starts_with("running: ")).await;
    for vm in [web.id, late] {
        let vm = vm::get(d, &stage.admin, vm).await.unwrap();
        assert!(vm.seen != model::vm::Seen::Missing && !vm.deleted, "{vm:?}");
    }
}

#[tokio::test]
async fn a_task_that_waits_for_too_long_ends_and_says_what_it_waited_for() {
    server::metrics::recorder();
    let stage = Stage::with(&[]).await;
    let id = stage.compose("shop", &["web"]).await;
    stage.until("a reason", async || stage.task(id, Action::VappCreate).await.ends_with(NO_HUB)).await;
    stage.app.db.execute("update tasks set deadline = now() - interval '1 minute' where status = 'running'").await;
    let late = format!(
        "error: It took too long. Nothing of it was begun on a hub, so it is withdrawn, and what it took is free again. Last: {NO_HUB}"
    );
    stage.until("its end", async || stage.task(id, Action::VappCreate).await == late).await;
    server::metrics::recorder().run_upkeep();
    let failed = "ssvirt_vm_provisioning_total{result=\"failure\"}";
    assert!(server::metrics::recorder().render().contains(failed));
}
