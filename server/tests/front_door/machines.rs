//! vApps and VMs from the request to the hub and back: a simulated hub, the queue and the watchers, all in this process.
use crate::stage::{Stage, VMS};
use domain::{vapp, vm};
use model::{
    Action, Error,
    list::ListQuery,
    query::Numbered,
    task::TaskStatus,
    vdc::VdcSpec,
    vm::{Seen, VmSpec, VmState},
    vm_line::VmLine,
};
use serde_json::Value;
use std::time::Duration;

/// As kubectl would: what is asked for changes, and the object counts it.
fn halted(object: &mut Value) {
    object["spec"]["runStrategy"] = "Halted".into();
    object["metadata"]["generation"] = (object["metadata"]["generation"].as_i64().unwrap() + 1).into();
}

impl Stage {
    /// A VDC that nothing is in, with its namespace.
    async fn empty_vdc(&self) -> model::vdc::Vdc {
        let spec = VdcSpec { name: "dev".into(), ..VdcSpec::default() };
        let made = domain::vdc::create(&self.app.domain, &self.admin, self.acme.id, spec).await.unwrap();
        let there = || self.hubs.hub("one").object("", "namespaces", "", &made.namespace_name);
        self.until("the namespace", async || there().is_some()).await;
        made
    }
}

#[tokio::test]
async fn a_vapp_comes_up_from_a_template_and_goes_without_a_trace() {
    let stage = Stage::set().await;
    let id = stage.deploy("web-and-db", "shop").await;
    let vms = stage.running(id).await;
    assert_eq!(vms.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["db", "web"]);
    stage.until("addresses", async || stage.vms(id).await.iter().all(|v| !v.ips.is_empty())).await;
    stage
        .until("the end of the task", async || stage.task_of(id.0, Action::VappCreate).await.0 == TaskStatus::Success)
        .await;
    let object = stage.object(&vms[0]).unwrap();
    let labels = &object["metadata"]["labels"];
    assert_eq!(labels["ssvirt.io/vm-id"], vms[0].id.to_string());
    assert_eq!(labels["ssvirt.io/organization"], "acme");
    assert_eq!(labels["app.kubernetes.io/managed-by"], "ssvirt");
    let hub = stage.hubs.hub("one");
    let namespace = hub.object("", "namespaces", "", &vms[0].namespace).unwrap();
    assert_eq!(namespace["metadata"]["labels"]["ssvirt.io/vdc-id"], stage.acme.vdc("prod").to_string());
    assert!(hub.object("", "resourcequotas", &vms[0].namespace, "ssvirt").is_some());
    assert_eq!(stage.app.db.text("select vms_used::text from vdcs").await, "2");

    vapp::delete(&stage.app.domain, &stage.admin, id).await.unwrap();
    stage.until("the end", async || stage.app.db.count("vapps where gone_at is null").await == 0).await;
    assert!(vms.iter().all(|v| stage.object(v).is_none()));
    assert_eq!(
        stage.app.db.text("select vms_used || ' ' || cpus_used || ' ' || storage_used_mb from vdcs").await,
        "0 0 0"
    );
    stage
        .until("the end of the task", async || stage.task_of(id.0, Action::VappDelete).await.0 == TaskStatus::Success)
        .await;
}

#[tokio::test]
async fn a_vm_is_powered_resized_and_renamed() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    for (action, state) in [
        (Action::VmSuspend, VmState::Suspended),
        (Action::VmPowerOn, VmState::Running),
        (Action::VmPowerOff, VmState::Stopped),
        (Action::VmPowerOn, VmState::Running),
        (Action::VmShutdown, VmState::Stopped),
        (Action::VmPowerOn, VmState::Running),
    ] {
        vm::power(d, admin, one.id, action).await.unwrap();
        stage.until(state.label(), async || stage.vm(one.id).await.state() == state).await;
        stage.until("the task's end", async || stage.task_of(one.id.0, action).await.0 == TaskStatus::Success).await;
        assert_eq!(stage.vm(one.id).await.outside, "", "after {action:?}");
    }
    for action in [Action::VmReboot, Action::VmReset] {
        vm::power(d, admin, one.id, action).await.unwrap();
        stage.until("the task's end", async || stage.task_of(one.id.0, action).await.0 == TaskStatus::Success).await;
    }
    let again = vm::power(d, admin, one.id, Action::VmPowerOn).await.unwrap_err();
    assert!(matches!(&again, Error::NotNow(why) if why.contains("It runs")), "{again:?}");

    vm::power(d, admin, one.id, Action::VmPowerOff).await.unwrap();
    stage.until("stopped", async || stage.vm(one.id).await.state() == VmState::Stopped).await;
    vm::resize(d, admin, one.id, 3, 3072).await.unwrap();
    stage
        .until("the task's end", async || stage.task_of(one.id.0, Action::VmResize).await.0 == TaskStatus::Success)
        .await;
    let object = stage.object(&one).unwrap();
    assert_eq!(object["spec"]["template"]["spec"]["domain"]["memory"]["guest"], "3072Mi");
    let now = stage.vm(one.id).await;
    assert_eq!((now.seen_cpus, now.seen_memory_mb, now.outside.as_str()), (Some(3), Some(3072), ""));
    vm::edit(d, admin, one.id, now.version, "post", "letters").await.unwrap();
    stage
        .until("the new name", async || {
            stage.object(&one).unwrap()["metadata"]["annotations"]["ssvirt.io/vm"] == "post"
        })
        .await;
    assert_eq!(stage.app.db.text("select cpus_used || ' ' || memory_used_mb from vdcs").await, "3 3072");
}

#[tokio::test]
async fn what_is_done_on_the_hub_by_hand_is_seen_and_named() {
    let stage = Stage::set().await;
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let hub = stage.hubs.hub("one");
    hub.edit(VMS.0, VMS.1, &one.namespace, &one.hub_name, halted).unwrap();
    stage.until("the stop", async || stage.vm(one.id).await.state() == VmState::Stopped).await;
    assert_eq!(stage.vm(one.id).await.outside, "It was stopped on its hub by hand.");
    vm::power(&stage.app.domain, &stage.admin, one.id, Action::VmPowerOn).await.unwrap();
    stage.until("running", async || stage.vm(one.id).await.state() == VmState::Running).await;
    assert_eq!(stage.vm(one.id).await.outside, "");

    hub.remove(VMS.0, VMS.1, &one.namespace, &one.hub_name).unwrap();
    stage.until("missing", async || stage.vm(one.id).await.state() == VmState::Missing).await;
    assert_eq!(stage.vm(one.id).await.outside, "It was deleted on its hub by hand.");
    let told = "events where message like '%deleted on its hub by hand%'";
    stage.until("the event", async || stage.app.db.count(told).await == 1).await;
    let refused = vm::power(&stage.app.domain, &stage.admin, one.id, Action::VmPowerOff).await.unwrap_err();
    assert!(refused.to_string().contains("deleted on its hub by hand"), "{refused}");
    vm::delete(&stage.app.domain, &stage.admin, one.id).await.unwrap();
    stage.until("gone", async || stage.app.db.count("vms where gone_at is null").await == 0).await;
}

#[tokio::test]
async fn a_suspended_vm_that_is_resumed_or_stopped_on_the_hub_is_named_as_such() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let hub = stage.hubs.hub("one");
    let suspended = async || {
        vm::power(d, admin, one.id, Action::VmSuspend).await.unwrap();
        stage.until("suspended", async || stage.vm(one.id).await.state() == VmState::Suspended).await;
        assert_eq!(stage.vm(one.id).await.outside, "");
    };
    suspended().await;
    stage.hubs.unpause("one", &one.namespace, &one.hub_name).await;
    stage.until("the resumption", async || stage.vm(one.id).await.state() == VmState::Running).await;
    stage.until("its cause", async || stage.vm(one.id).await.outside == "It was resumed on its hub by hand.").await;
    assert_eq!(stage.vm(one.id).await.queued(), None, "nothing is on its way");

    suspended().await;
    hub.edit(VMS.0, VMS.1, &one.namespace, &one.hub_name, halted).unwrap();
    // what is seen is written before what it comes from
    stage.until("the stop", async || stage.vm(one.id).await.state() == VmState::Stopped).await;
    stage.until("its cause", async || stage.vm(one.id).await.outside == "It was stopped on its hub by hand.").await;
    vm::power(d, admin, one.id, Action::VmPowerOn).await.unwrap();
    stage.until("running", async || stage.vm(one.id).await.state() == VmState::Running).await;
    assert_eq!(stage.vm(one.id).await.outside, "");
}

#[tokio::test]
async fn every_part_of_a_vm_that_is_changed_on_the_hub_is_named() {
    let stage = Stage::set().await;
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let hub = stage.hubs.hub("one");
    let edited = async |change: fn(&mut Value), what: &str| {
        let before = stage.object(&one).unwrap();
        let count = |o: &mut Value, n: i64| {
            o["metadata"]["generation"] = (o["metadata"]["generation"].as_i64().unwrap() + n).into();
        };
        hub.edit(VMS.0, VMS.1, &one.namespace, &one.hub_name, |o| {
            change(&mut o["spec"]);
            count(o, 1);
        })
        .unwrap();
        stage.until(what, async || stage.vm(one.id).await.outside == what).await;
        let told = format!("events where message = 'VM {}: {what}'", one.name);
        stage.until("the event", async || stage.app.db.count(&told).await == 1).await;
        assert_eq!(stage.vm(one.id).await.state(), VmState::Running);
        hub.edit(VMS.0, VMS.1, &one.namespace, &one.hub_name, |o| {
            o["spec"] = before["spec"].clone();
            count(o, 1);
        })
        .unwrap();
        stage.until("as it was", async || stage.vm(one.id).await.outside.is_empty()).await;
    };
    // what KubeVirt itself writes there is nobody's doing
    hub.edit(VMS.0, VMS.1, &one.namespace, &one.hub_name, |o| {
        o["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"] = "5d307ca9-b3ef-428c-8861-06e72d69f223".into();
        o["metadata"]["generation"] = (o["metadata"]["generation"].as_i64().unwrap() + 1).into();
    })
    .unwrap();
    let disks = "Its disks were changed on its hub by hand.";
    edited(
        |s| s["template"]["spec"]["domain"]["cpu"]["sockets"] = 7.into(),
        "Its size was changed on its hub by hand.",
    )
    .await;
    edited(
        |s| {
            let volume = serde_json::json!({"name": "more", "persistentVolumeClaim": {"claimName": "mine"}});
            s["template"]["spec"]["volumes"].as_array_mut().unwrap().push(volume);
        },
        disks,
    )
    .await;
    edited(
        |s| s["template"]["spec"]["domain"]["devices"]["interfaces"][0]["model"] = "e1000e".into(),
        "Its NICs were changed on its hub by hand.",
    )
    .await;
    edited(
        |s| s["template"]["spec"]["nodeSelector"] = serde_json::json!({"disk": "ssd"}),
        "Its settings were changed on its hub by hand.",
    )
    .await;
    edited(|s| s["runStrategy"] = "Always".into(), "When it runs was changed on its hub by hand.").await;
    let first = "select message from events where message like '%by hand%' order by id limit 1";
    assert!(stage.app.db.text(first).await.contains("Its size"), "the first that was named");
}

#[tokio::test]
async fn labels_that_somebody_takes_off_on_the_hub_are_put_back_and_the_machine_is_followed_on() {
    let stage = Stage::set().await;
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let hub = stage.hubs.hub("one");
    let label = |o: &Value| o["metadata"]["labels"]["ssvirt.io/vm-id"] == one.id.to_string().as_str();
    let told = "events where message like '%its labels were changed on its hub by hand%'";
    for (n, all) in [false, true].into_iter().enumerate() {
        hub.edit(VMS.0, VMS.1, &one.namespace, &one.hub_name, |o| {
            let labels = o["metadata"]["labels"].as_object_mut().unwrap();
            labels.retain(|key, _| !all && key != "ssvirt.io/vm-id");
        })
        .unwrap();
        stage.until("the label", async || label(&stage.object(&one).unwrap())).await;
        stage.until("the event", async || stage.app.db.count(told).await == n as i64 + 1).await;
    }
    // and while nobody watches
    stage.hubs.kill_controller();
    hub.edit(VMS.0, VMS.1, &one.namespace, &one.hub_name, |o| {
        drop(o["metadata"].as_object_mut().unwrap().remove("labels"))
    })
    .unwrap();
    stage.hubs.start_controller(&stage.app);
    stage.until("the label", async || label(&stage.object(&one).unwrap())).await;
    stage.until("the events", async || stage.app.db.count(told).await == 3).await;
    hub.edit(VMS.0, VMS.1, &one.namespace, &one.hub_name, halted).unwrap();
    stage.until("the stop", async || stage.vm(one.id).await.state() == VmState::Stopped).await;
    assert_eq!(stage.app.db.count("strangers").await, 0);
}

#[tokio::test]
async fn with_every_hub_down_requests_are_taken_and_done_later() {
    let stage = Stage::set().await;
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let faults = stage.hubs.hub("one").faults();
    faults.set(hubsim::Fault::Refuse, true);
    stage.until("silence", async || stage.vm(one.id).await.stale()).await;
    let now = stage.vm(one.id).await;
    assert_eq!((now.state(), now.seen), (VmState::Running, Seen::Running), "nothing looks stopped");
    vm::power(&stage.app.domain, &stage.admin, one.id, Action::VmPowerOff).await.unwrap();
    let second = stage.deploy("ubuntu-24.04", "later").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(stage.vm(one.id).await.seen, Seen::Running);
    assert_eq!(stage.task_of(second.0, Action::VappCreate).await.0, TaskStatus::Running);
    faults.set(hubsim::Fault::Refuse, false);
    stage.until("the stop", async || stage.vm(one.id).await.state() == VmState::Stopped).await;
    stage.running(second).await;
}

#[tokio::test]
async fn an_answer_lost_after_the_change_makes_no_second_vm() {
    let stage = Stage::set().await;
    stage.hubs.hub("one").faults().lose_replies(5);
    let id = stage.deploy("web-and-db", "shop").await;
    let vms = stage.running(id).await;
    assert_eq!(stage.hubs.count("one", VMS), 2);
    for vm in &vms {
        assert_eq!(stage.object(vm).unwrap()["metadata"]["labels"]["ssvirt.io/vm-id"], vm.id.to_string());
    }
}

#[tokio::test]
async fn without_a_hub_a_vapp_waits_and_goes_on_when_one_comes() {
    let stage = Stage::set().await;
    let operator = stage.app.operator().await;
    domain::hub::set_cordoned(&stage.app.domain, &operator, &"one".into(), true).await.unwrap();
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    stage
        .until("a reason", async || {
            stage.task_of(id.0, Action::VappCreate).await.1 == "No hub with virtualmachine capability found"
        })
        .await;
    let vapp = vapp::get(&stage.app.domain, &operator, id).await.unwrap();
    assert!(vapp.placement.unwrap().refused[0].why.contains("cordoned"));
    domain::hub::set_cordoned(&stage.app.domain, &operator, &"one".into(), false).await.unwrap();
    stage.running(id).await;
}

#[tokio::test]
async fn each_machine_of_a_template_has_its_own_system() {
    let stage = Stage::set().await;
    let template = stage.template("web-and-db").await.unwrap();
    let systems: Vec<&str> = template.vms.iter().map(|v| v.os.as_str()).collect();
    assert_eq!(systems, ["Ubuntu 24.04 LTS", "Red Hat Enterprise Linux 9"]);
    let id = stage.deploy("web-and-db", "shop").await;
    let mut vms = stage.vms(id).await;
    vms.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!([vms[0].os.as_str(), vms[1].os.as_str()], ["Red Hat Enterprise Linux 9", "Ubuntu 24.04 LTS"]);
}

#[tokio::test]
async fn a_line_of_a_list_says_what_the_machine_itself_says() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("web-and-db", "shop").await;
    let vms = stage.running(id).await;
    domain::disk::add(d, admin, vms[0].id, crate::disks::blank("", 4096)).await.unwrap();
    stage.until("addresses", async || stage.vms(id).await.iter().all(|v| !v.ips.is_empty())).await;
    let found = vm::query(d, admin, None, &Numbered::default()).await.unwrap();
    assert_eq!((found.items.len(), found.total), (2, 2));
    for line in found.items {
        let itself = VmLine::of(&stage.vm(line.id).await);
        assert_eq!(line, itself);
        assert!(line.storage_mb > 0 && !line.ip.is_empty() && !line.policy.is_empty(), "{line:?}");
    }
}

#[tokio::test]
async fn quota_is_taken_before_anything_happens_and_says_what_is_left() {
    let stage = Stage::set().await;
    let d = &stage.app.domain;
    stage.app.db.execute("update vdcs set cpu_limit = 2").await;
    let template = stage.template("web-and-db").await.unwrap();
    let ask = vapp::Deploy { name: "shop".into(), ..vapp::Deploy::default() };
    let refused = vapp::deploy(d, &stage.admin, stage.acme.vdc("prod"), template.id, ask).await.err().unwrap();
    assert!(matches!(&refused, Error::OverQuota(why) if why.message.contains("left")), "{refused:?}");
    assert_eq!(stage.app.db.count("vapps").await, 0);
    assert_eq!(stage.app.db.text("select cpus_used::text from vdcs").await, "0");
}

#[tokio::test]
async fn bad_input_is_said_beside_its_field() {
    let stage = Stage::set().await;
    let d = &stage.app.domain;
    let template = stage.template("ubuntu-24.04").await.unwrap();
    let vdc = stage.acme.vdc("prod");
    let tried = async |ask: vapp::Deploy| vapp::deploy(d, &stage.admin, vdc, template.id, ask).await.err().unwrap();
    let named = || vapp::Deploy { name: "mail".into(), ..vapp::Deploy::default() };
    let size = |s: vapp::Size| [("ubuntu-24.04".to_owned(), s)].into_iter().collect();
    for (field, ask) in [
        ("name", vapp::Deploy { name: String::new(), ..named() }),
        ("name", vapp::Deploy { name: "x".repeat(129), ..named() }),
        ("cpus", vapp::Deploy { sizes: size(vapp::Size { cpus: Some(0), ..Default::default() }), ..named() }),
        ("memory", vapp::Deploy { sizes: size(vapp::Size { memory_mb: Some(1), ..Default::default() }), ..named() }),
        ("disk", vapp::Deploy { sizes: size(vapp::Size { disk_mb: Some(1), ..Default::default() }), ..named() }),
        (
            "user_data",
            vapp::Deploy {
                guest: vapp::Guest { user_data: "#cloud-config\na: [".into(), ..Default::default() },
                ..named()
            },
        ),
        (
            "ssh_keys",
            vapp::Deploy { guest: vapp::Guest { ssh_keys: vec!["hello".into()], ..Default::default() }, ..named() },
        ),
    ] {
        let error = tried(ask).await;
        assert_eq!(error.fields().first().map(|f| f.field), Some(field), "{error:?}");
    }
    assert_eq!(stage.app.db.count("vapps").await, 0);
}

#[tokio::test]
async fn machines_are_added_and_start_in_order() {
    let stage = Stage::set().await;
    let d = &stage.app.domain;
    let spec = |name: &str, start_order| VmSpec {
        name: name.into(),
        cpus: 1,
        memory_mb: 1024,
        power: model::vm::Power::On,
        start_order,
        ..VmSpec::default()
    };
    let both = model::vapp::VappSpec {
        name: "pair".into(),
        vms: vec![spec("second", 2), spec("first", 1)],
        ..Default::default()
    };
    let id = vapp::compose(d, &stage.admin, stage.acme.vdc("prod"), both, vapp::Guest::default()).await.unwrap().vapp;
    let vms = stage.running(id).await;
    assert_eq!(vms.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["first", "second"]);
    assert!(vms[0].since <= vms[1].since, "{:?} {:?}", vms[0].since, vms[1].since);
    vm::add(d, &stage.admin, id, spec("third", 0)).await.unwrap();
    stage.until("the third", async || stage.vms(id).await.len() == 3).await;
    stage.running(id).await;
    let taken = vm::add(d, &stage.admin, id, spec("FIRST", 0)).await.err().unwrap();
    assert!(matches!(taken, Error::Taken(_)), "{taken:?}");
}

#[tokio::test]
async fn nothing_waits_to_start_after_a_machine_that_was_stopped_or_deleted_on_its_hub() {
    let stage = Stage::set().await;
    let d = &stage.app.domain;
    let id = stage.deploy("web-and-db", "shop").await;
    let vms = stage.running(id).await;
    let (db, web) = (&vms[0], &vms[1]);
    let hub = stage.hubs.hub("one");
    let cycle = async |why: &str| {
        for (action, state) in [(Action::VmPowerOff, VmState::Stopped), (Action::VmPowerOn, VmState::Running)] {
            vm::power(d, &stage.admin, web.id, action).await.unwrap();
            stage.until(why, async || stage.vm(web.id).await.state() == state).await;
        }
    };
    hub.edit(VMS.0, VMS.1, &db.namespace, &db.hub_name, halted).unwrap();
    stage.until("the stop", async || stage.vm(db.id).await.state() == VmState::Stopped).await;
    cycle("web starts though db was stopped by hand").await;
    // a start of both is in order again
    for action in [Action::VappPowerOff, Action::VappPowerOn] {
        vapp::power(d, &stage.admin, id, action).await.unwrap();
        let on = action == Action::VappPowerOn;
        let there = |v: &model::vm::Vm| v.state() == if on { VmState::Running } else { VmState::Stopped };
        stage.until("both", async || stage.vms(id).await.iter().all(there)).await;
    }
    let both = stage.vms(id).await;
    assert!(both[0].since <= both[1].since, "{:?} {:?}", both[0].since, both[1].since);
    hub.remove(VMS.0, VMS.1, &db.namespace, &db.hub_name).unwrap();
    stage.until("missing", async || stage.vm(db.id).await.state() == VmState::Missing).await;
    cycle("web starts though db was deleted by hand").await;
}

#[tokio::test]
async fn nobody_sees_or_touches_anothers_machines() {
    let stage = Stage::set().await;
    let (app, d) = (&stage.app, &stage.app.domain);
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let globex = app.org("globex").make().await;
    let stranger = app.actor(globex.admin()).await;
    let user = app.user(stage.acme.id, "ulla", model::role::Predefined::VappUser.id()).await;
    let colleague = app.actor(user).await;
    for actor in [&stranger, &colleague] {
        assert_eq!(vm::get(d, actor, one.id).await, Err(Error::NotFound(model::Kind::Vm)));
        assert!(vm::power(d, actor, one.id, Action::VmPowerOff).await.is_err());
        assert!(vapp::delete(d, actor, id).await.is_err());
        let all = vm::list(d, actor, None, &ListQuery::first(&model::list::VMS)).await.unwrap();
        assert!(all.items.is_empty());
    }
    assert_eq!(stage.vm(one.id).await.state(), VmState::Running);
}

#[tokio::test]
async fn every_change_of_a_machine_writes_its_audit_row_and_its_event_once() {
    let stage = Stage::set().await;
    let (d, admin, db) = (&stage.app.domain, &stage.admin, &stage.app.db);
    let rows = async |table: &str, column: &str, action: Action| {
        db.count(&format!("{table} where {column} = '{}'", action.key())).await
    };
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let tries = [
        (Action::VmSuspend, VmState::Suspended),
        (Action::VmDiscard, VmState::Stopped),
        (Action::VmPowerOn, VmState::Running),
        (Action::VmShutdown, VmState::Stopped),
        (Action::VmPowerOff, VmState::Stopped),
    ];
    for (action, state) in tries {
        // off already: refused, and that is in the audit too
        let done = vm::power(d, admin, one.id, action).await.is_ok();
        stage.until(state.label(), async || stage.vm(one.id).await.state() == state).await;
        assert_eq!(rows("audit", "action", action).await, 1, "{action:?}");
        assert_eq!(rows("events", "kind", action).await, i64::from(done), "{action:?}");
    }
    let version = vapp::get(d, admin, id).await.unwrap().version;
    vapp::edit(d, admin, id, version, "post", "").await.unwrap();
    vm::resize(d, admin, one.id, 2, 2048).await.unwrap();
    vm::delete(d, admin, one.id).await.unwrap();
    vapp::delete(d, admin, id).await.unwrap();
    for action in [Action::VappCreate, Action::VappEdit, Action::VmResize, Action::VmDelete, Action::VappDelete] {
        assert_eq!(rows("audit", "action", action).await, 1, "{action:?}");
        assert_eq!(rows("events", "kind", action).await, 1, "{action:?}");
    }
}

#[tokio::test]
async fn a_second_replica_goes_on_where_the_first_was_killed() {
    let stage = Stage::set().await;
    let id = stage.deploy("web-and-db", "shop").await;
    stage.hubs.kill_controller();
    stage.app.db.execute("update work set lease_until = now() + interval '2 seconds' where lease_until > now()").await;
    stage.hubs.start_controller(&stage.app);
    stage.running(id).await;
    assert_eq!(stage.hubs.count("one", VMS), 2);
}

#[tokio::test]
async fn a_vdc_that_is_deleted_takes_its_namespace_along() {
    let stage = Stage::set().await;
    let (d, admin, hub) = (&stage.app.domain, &stage.admin, stage.hubs.hub("one"));
    let made = stage.empty_vdc().await;
    let there = || hub.object("", "namespaces", "", &made.namespace_name);
    domain::vdc::set_enabled(d, admin, made.id, false).await.unwrap();
    stage.until("the mark", async || there().unwrap()["metadata"]["annotations"]["ssvirt.io/enabled"] == "false").await;
    domain::vdc::delete(d, admin, made.id).await.unwrap();
    stage.until("its end", async || there().is_none()).await;
}

#[tokio::test]
async fn a_vdc_that_is_deleted_leaves_its_namespace_to_a_volume_of_others() {
    let stage = Stage::set().await;
    let (d, admin, hub) = (&stage.app.domain, &stage.admin, stage.hubs.hub("one"));
    let made = stage.empty_vdc().await;
    let there = || hub.object("", "namespaces", "", &made.namespace_name);
    let volume = serde_json::json!({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume",
        "metadata": {"name": "precious", "namespace": made.namespace_name, "labels": {"app": "theirs"}},
        "spec": {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}}});
    stage.hubs.plant("one", &::hub::resource::DATA_VOLUMES, &volume, "app").await;
    domain::vdc::set_enabled(d, admin, made.id, false).await.unwrap();
    domain::vdc::delete(d, admin, made.id).await.unwrap();
    let said = "work where kind = 'vdc' and last_error like '%holds the volume precious, which is not of here%'";
    stage.until("word of it", async || stage.app.db.count(said).await == 1).await;
    assert!(there().unwrap()["metadata"]["deletionTimestamp"].is_null());
    hub.remove("cdi.kubevirt.io", "datavolumes", &made.namespace_name, "precious").unwrap();
    d.store.wake_waiting("").await.unwrap();
    stage.until("its end", async || there().is_none()).await;
}
