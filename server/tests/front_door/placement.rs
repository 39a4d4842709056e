//! What belongs together is placed together: networks with what is on them, copies with their originals; and what no hub will
//! ever take is refused when it is asked for.
use crate::{harness::TestApp, stage::Stage};
use domain::{copy, disk, hub, network, nic, vapp, vapp_network, vm};
use futures::future::join_all;
use hubsim::Fault;
use model::{
    Action, DiskId, Error, HubId, Kind, NetworkId, VappId, VmId,
    disk::{DiskSpec, DiskState},
    network::NetworkForm,
    nic::{Attach, IpMode, NicSpec},
    placement::Placement,
    vapp::VappSpec,
    vm::{Power, VmSpec, VmState},
};
use std::time::Duration;
use store::{Claim, Placed};

fn form(name: &str) -> NetworkForm {
    let (gateway, ranges) = ("10.7.0.1".into(), "10.7.0.10-10.7.0.99".into());
    NetworkForm { name: name.into(), gateway, prefix: "24".into(), ranges, ..NetworkForm::default() }
}

fn on(networks: &[NetworkId]) -> Vec<NicSpec> {
    let nic = |(index, id): (usize, &NetworkId)| NicSpec {
        index: index as i16,
        attach: Attach::Network(*id),
        mode: IpMode::Pool,
        primary: index == 0,
        ..NicSpec::default()
    };
    networks.iter().enumerate().map(nic).collect()
}

fn machine(name: &str, networks: &[NetworkId]) -> VmSpec {
    VmSpec { name: name.into(), cpus: 1, memory_mb: 1024, nics: on(networks), power: Power::On, ..VmSpec::default() }
}

fn vapp_of(name: &str, networks: &[NetworkId]) -> VappSpec {
    VappSpec { name: name.into(), description: String::new(), vms: vec![machine("m", networks)] }
}

impl Stage {
    async fn network(&self, name: &str, shared: bool) -> NetworkId {
        let form = NetworkForm { shared, ..form(name) };
        network::create(&self.app.domain, &self.admin, self.acme.vdc("prod"), form).await.unwrap().id
    }

    async fn composed(&self, name: &str, networks: &[NetworkId]) -> Result<VappId, Error> {
        let (d, vdc) = (&self.app.domain, self.acme.vdc("prod"));
        Ok(vapp::compose(d, &self.admin, vdc, vapp_of(name, networks), vapp::Guest::default()).await?.vapp)
    }

    async fn hub_of(&self, id: VappId) -> HubId {
        self.running(id).await[0].hub.clone().unwrap()
    }

    async fn lives(&self, id: NetworkId) -> Option<HubId> {
        network::get(&self.app.domain, &self.admin, id).await.unwrap().hub
    }

    async fn cordon(&self, hub: &str, on: bool) {
        let operator = self.app.operator().await;
        hub::set_cordoned(&self.app.domain, &operator, &hub.into(), on).await.unwrap();
    }

    /// A vApp that runs on that hub and no other.
    async fn composed_on(&self, hub: &str, name: &str, networks: &[NetworkId]) -> VappId {
        let other = if hub == "one" { "two" } else { "one" };
        self.cordon(other, true).await;
        let id = self.composed(name, networks).await.unwrap();
        assert_eq!(self.hub_of(id).await, hub.into());
        self.cordon(other, false).await;
        id
    }

    async fn may_use(&self, hubs: &str) {
        self.app.db.execute(&format!("update vdcs set hubs = '{{{hubs}}}'")).await;
    }
}

#[track_caller]
fn at(e: &Error, field: &str, words: &str) {
    let found = e.fields();
    assert!(found.first().is_some_and(|f| f.field == field && f.message.contains(words)), "{field}, {words}: {e:?}");
}

#[tokio::test]
async fn vapps_on_one_network_go_where_it_lives_however_many_come_at_once() {
    let stage = Stage::on(&["one", "two"]).await;
    for shared in [false, true] {
        let back = stage.network(if shared { "shared" } else { "back" }, shared).await;
        let names: Vec<String> = (0..6).map(|n| format!("v{n}-{shared}")).collect();
        let networks = [back];
        let asked = join_all(names.iter().map(|name| stage.composed(name, &networks))).await;
        let mut hubs = Vec::new();
        for id in asked {
            hubs.push(stage.hub_of(id.unwrap()).await);
        }
        hubs.dedup();
        assert_eq!(hubs.len(), 1, "{hubs:?}");
        let places = format!("(select distinct hub_id from network_places where network_id = '{back}') x");
        assert_eq!(stage.app.db.count(&places).await, 1);
        assert_eq!(stage.lives(back).await, Some(hubs.remove(0)));
    }
}

#[tokio::test]
async fn of_two_workers_that_place_vapps_on_one_network_at_the_same_time_the_second_follows_the_first() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").make().await;
    let (d, admin, vdc) = (&app.domain, app.actor(acme.admin()).await, acme.vdc("prod"));
    app.hub("one").await;
    app.hub("two").await;
    let placed = |hub: &str| Placement { hub: Some(hub.into()), ..Placement::default() };
    for round in 0..10 {
        let back = network::create(d, &admin, vdc, form(&format!("back-{round}"))).await.unwrap().id;
        for name in ["a", "b"] {
            let spec = vapp_of(&format!("{name}-{round}"), &[back]);
            vapp::compose(d, &admin, vdc, spec, vapp::Guest::default()).await.unwrap();
        }
        let claims = d.store.claim("worker", 100, Duration::from_secs(60)).await.unwrap();
        let vapps: Vec<&Claim> = claims.iter().filter(|c| c.kind == Kind::Vapp).collect();
        let [first, second] = vapps[..] else { panic!("{claims:?}") };
        let (one, two) = (placed("one"), placed("two"));
        let both = tokio::join!(d.store.vapp_place(first, &one, false), d.store.vapp_place(second, &two, false));
        let (late, home) = match (both.0.unwrap(), both.1.unwrap()) {
            (Placed::Done, Placed::Elsewhere) => (second, "one"),
            (Placed::Elsewhere, Placed::Done) => (first, "two"),
            other => panic!("{other:?}"),
        };
        assert_eq!(network::get(d, &admin, back).await.unwrap().hub, Some(home.into()));
        assert_eq!(d.store.vapp_place(late, &placed(home), false).await.unwrap(), Placed::Done);
        // the next round has the queue for itself
        app.db.execute("delete from work").await;
    }
}

#[tokio::test]
async fn a_nic_on_a_network_that_lives_elsewhere_is_refused_where_it_is_asked_for() {
    let stage = Stage::on(&["one", "two"]).await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (here, there) = (stage.network("here", false).await, stage.network("there", false).await);
    let first = stage.composed_on("one", "first", &[here]).await;
    stage.composed_on("two", "second", &[there]).await;

    let both = stage.composed("both", &[here, there]).await.unwrap_err();
    at(&both, "nics", "the networks here and there are in different places");
    let vm = stage.vms(first).await.remove(0);
    let refused = nic::set(d, admin, vm.id, vm.version, on(&[here, there])).await.unwrap_err();
    at(&refused, "nics", "NIC 1: the network there is elsewhere than this vApp");
    assert!(!refused.to_string().contains(" two"), "hubs are the provider's business: {refused}");
    let refused = vm::add(d, admin, first, machine("late", &[there])).await.unwrap_err();
    at(&refused, "nics", "Choose another network, or make the VM in a new vApp");
    let refused = vapp_network::bridge(d, admin, first, there).await.unwrap_err();
    at(&refused, "network", "The network there is elsewhere than this vApp");
    vm::add(d, admin, first, machine("more", &[here])).await.unwrap();

    // what is bridged to a network goes where it lives, with whatever is on no network
    let empty = VappSpec { name: "empty".into(), description: String::new(), vms: vec![] };
    let into = stage.acme.vdc("prod");
    let empty = vapp::compose(d, admin, into, empty, vapp::Guest::default()).await.unwrap().vapp;
    vapp_network::bridge(d, admin, empty, there).await.unwrap();
    let refused = vapp_network::bridge(d, admin, empty, here).await.unwrap_err();
    at(&refused, "network", "The networks there and here are in different places");
    vm::add(d, admin, empty, VmSpec { nics: vec![NicSpec::default()], ..machine("plain", &[]) }).await.unwrap();
    assert_eq!(stage.hub_of(empty).await, "two".into());

    let provider = stage.app.provider().await;
    provider.get(&format!("/provider/networks/{there}")).await.must(200).says("Lives two");
    let tenant = stage.app.sign_in("acme", "acme-admin").await;
    let page = tenant.get(&format!("/tenant/acme/networks/{there}")).await.must(200);
    page.says("in one place, with the VMs on it; what joins it is placed there").says_not("Lives two");
}

#[tokio::test]
async fn a_network_that_nothing_is_on_any_more_lives_where_the_next_vm_goes() {
    let stage = Stage::on(&["one", "two"]).await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let back = stage.network("back", false).await;
    assert_eq!(stage.lives(back).await, None);
    let first = stage.composed_on("one", "first", &[back]).await;
    // where it lives no new VM is taken: what joins it waits, and says for what
    stage.cordon("one", true).await;
    let second = stage.composed("second", &[back]).await.unwrap();
    let waits = "No hub with virtualmachine capability found where the network back lives";
    stage.until("a reason", async || stage.task_of(second.0, Action::VappCreate).await.1 == waits).await;
    let operator = stage.app.operator().await;
    let why = vapp::get(d, &operator, second).await.unwrap().placement.unwrap().refused;
    assert!(why.iter().any(|r| r.hub == "two".into() && r.why == "The network back lives on one."), "{why:?}");

    vapp::delete(d, admin, first).await.unwrap();
    stage.until("the first one's end", async || stage.app.db.count("vms where gone_at is not null").await == 1).await;
    d.store.wake_waiting("").await.unwrap();
    assert_eq!(stage.hub_of(second).await, "two".into());
    assert_eq!(stage.lives(back).await, Some("two".into()));
    let left = format!("network_places where network_id = '{back}' and hub_id = 'one'");
    stage.until("what it left there is gone", async || stage.app.db.count(&left).await == 0).await;
    let objects = stage.hubs.hub("one").objects("k8s.ovn.org", "userdefinednetworks");
    assert!(objects.iter().all(|n| n["metadata"]["labels"].get("ssvirt.io/network-id").is_none()), "{objects:?}");
}

#[tokio::test]
async fn a_copy_is_refused_where_its_vdc_may_not_go_and_goes_nowhere_else() {
    let stage = Stage::on(&["one", "two"]).await;
    let (d, admin, prod) = (&stage.app.domain, &stage.admin, stage.acme.vdc("prod"));
    stage.cordon("two", true).await;
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    assert_eq!(stage.hub_of(id).await, "one".into());
    stage.cordon("two", false).await;
    vapp::power(d, admin, id, Action::VappPowerOff).await.unwrap();
    let stopped = async || stage.vms(id).await.iter().all(|v| v.state() == VmState::Stopped);
    stage.until("a stopped VM", stopped).await;
    stage.may_use("two").await;
    let refused = copy::vapp(d, admin, id, prod, "again").await.err().unwrap();
    at(&refused, "vdc", "which it is copied from, is where the VDC prod may not go");
    assert_eq!(stage.app.db.count("vapps where name = 'again'").await, 0);

    // it was accepted before, and waits now
    stage.may_use("").await;
    stage.cordon("one", true).await;
    let again = copy::vapp(d, admin, id, prod, "again").await.unwrap().vapp;
    let waits = "No hub with virtualmachine capability found where the VM mail, which it is copied from, is";
    stage.until("a reason", async || stage.task_of(again.0, Action::VappCopy).await.1 == waits).await;
    stage.cordon("one", false).await;
    stage.until("the copy", async || stage.vms(again).await[0].hub == Some("one".into())).await;
}

#[tokio::test]
async fn what_no_hub_of_a_vdc_will_ever_take_is_refused_and_all_else_waits() {
    let stage = Stage::on(&["one", "two"]).await;
    let (d, admin, prod) = (&stage.app.domain, &stage.admin, stage.acme.vdc("prod"));
    stage.hubs.kill_controller();
    let template = stage.template("ubuntu-24.04").await.unwrap();
    let source = &template.source;
    stage.app.db.execute(&format!("delete from hub_templates where hub_id = 'two' and source = '{source}'")).await;
    let deploy = async |name: &str| {
        let ask = vapp::Deploy { name: name.into(), ..vapp::Deploy::default() };
        vapp::deploy(d, admin, prod, template.id, ask).await.map(|asked| asked.vapp)
    };
    stage.may_use("two").await;
    at(&deploy("a").await.unwrap_err(), "vdc", "No hub that the VDC prod may use has the template.");
    stage.app.db.execute("update vdcs set hubs = '{}', region = 'mars'").await;
    at(&deploy("a").await.unwrap_err(), "vdc", "No hub is open to the VDC prod");
    let tenant = stage.app.sign_in("acme", "acme-admin").await;
    let page = format!("/tenant/acme/templates/{}/deploy", template.id);
    let form = tenant.get(&page).await.must(200);
    let back = tenant.fill_page(&form, &page, &[("name", "a"), ("vdc", &prod.to_string())]).await.must(422);
    assert!(back.error_of("vdc").unwrap_or_default().contains("No hub is open to the VDC prod"), "{}", back.text());
    assert_eq!(stage.app.db.count("vapps").await, 0);

    stage.app.db.execute("update vdcs set region = ''").await;
    stage.app.db.execute("update hubs set state = 'unreachable', cordoned = true, cpus_capacity = 0").await;
    deploy("waits").await.unwrap();
    stage.app.db.execute("update hubs set capabilities = '{clusters}'").await;
    deploy("waits-too").await.unwrap();
}

#[tokio::test]
async fn a_worker_that_holds_an_old_place_makes_nothing_there() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").make().await;
    let (d, admin, vdc) = (&app.domain, app.actor(acme.admin()).await, acme.vdc("prod"));
    app.hub("one").await;
    app.hub("two").await;
    let id = vapp::compose(d, &admin, vdc, vapp_of("shop", &[]), vapp::Guest::default()).await.unwrap().vapp;
    let claim = async |kind: Kind| {
        let all = d.store.claim("worker", 100, Duration::from_secs(60)).await.unwrap();
        all.into_iter().find(|c| c.kind == kind).unwrap()
    };
    let of_vapp = claim(Kind::Vapp).await;
    let placed = |hub: &str| Placement { hub: Some(hub.into()), ..Placement::default() };
    assert_eq!(d.store.vapp_place(&of_vapp, &placed("one"), false).await.unwrap(), Placed::Done);
    let of_vm = claim(Kind::Vm).await;
    assert_eq!(d.store.vapp_place(&of_vapp, &placed("two"), false).await.unwrap(), Placed::Done);
    assert!(!d.store.vm_attempted(&of_vm, &"one".into()).await.unwrap());
    assert!(d.store.vm_attempted(&of_vm, &"two".into()).await.unwrap());
    let vm = vapp::with_vms(d, &admin, id).await.unwrap().1.remove(0);
    assert_eq!((VmId(of_vm.id), vm.hub), (vm.id, Some("two".into())));
}

#[tokio::test]
async fn what_a_restored_database_forgot_is_adopted_when_every_hub_was_asked() {
    let stage = Stage::on(&["one", "two"]).await;
    let (d, db) = (&stage.app.domain, &stage.app.db);
    let id = stage.composed_on("one", "shop", &[]).await;
    let uid = db.text("select uid from vms").await;
    stage.hubs.kill_controller();
    db.execute("update vapps set hub_id = null, placement = null, placed_at = null, attempted_at = null").await;
    db.execute("update vms set hub_id = null, uid = null, attempted_at = null, applied = null, obs_state = 'unknown'")
        .await;
    stage.hubs.hub("two").faults().set(Fault::Refuse, true);
    db.execute("update hubs set state = 'unreachable' where id = 'two'").await;
    stage.hubs.start_controller(&stage.app);
    stage.until("the machine is found", async || db.count("strangers where vm_id is not null").await == 1).await;
    d.store.enqueue(Kind::Vapp, id, stage.acme.id, "").await.unwrap();
    let operator = stage.app.operator().await;
    let because = async || vapp::get(d, &operator, id).await.unwrap().placement.map(|p| p.because).unwrap_or_default();
    stage.until("a reason", async || because().await.contains("another hub can't be asked")).await;
    assert_eq!(db.count("vms where uid is not null").await, 0);

    stage.hubs.hub("two").faults().set(Fault::Refuse, false);
    let ready = "hubs where id = 'two' and state = 'ready'";
    stage.until("the other hub", async || db.count(ready).await == 1).await;
    d.store.wake_waiting("").await.unwrap();
    stage.until("its adoption", async || db.text("select coalesce(uid, '') from vms").await == uid).await;
    assert_eq!(stage.hub_of(id).await, "one".into());
}

impl Stage {
    /// An independent disk that is kept on that hub, and in no VM.
    async fn kept_on(&self, hub: &str, name: &str) -> DiskId {
        let (d, admin) = (&self.app.domain, &self.admin);
        let holder = self.composed_on(hub, &format!("on-{hub}"), &[]).await;
        let vm = self.vms(holder).await.remove(0);
        let spec = DiskSpec { name: name.into(), size_mb: 1024, ..DiskSpec::default() };
        let (id, _) = disk::create(d, admin, self.acme.vdc("prod"), spec).await.unwrap();
        disk::attach(d, admin, vm.id, id).await.unwrap();
        self.until("the disk", async || self.state_of(id).await == DiskState::Attached).await;
        disk::detach(d, admin, vm.id, id).await.unwrap();
        self.until("a free disk", async || self.state_of(id).await == DiskState::Free).await;
        assert_eq!(disk::get(d, admin, id).await.unwrap().hub, Some(hub.into()));
        id
    }

    async fn state_of(&self, id: DiskId) -> DiskState {
        disk::get(&self.app.domain, &self.admin, id).await.unwrap().state()
    }
}

#[tokio::test]
async fn a_vm_goes_where_the_independent_disks_in_it_are_kept() {
    let stage = Stage::on(&["one", "two"]).await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let data = stage.kept_on("two", "data").await;
    stage.cordon("two", true).await;
    stage.hubs.kill_controller();
    let id = stage.composed("second", &[]).await.unwrap();
    let vm = stage.vms(id).await.remove(0);
    disk::attach(d, admin, vm.id, data).await.unwrap();
    stage.hubs.start_controller(&stage.app);
    let waits = "No hub with virtualmachine capability found where the disk data is kept";
    stage.until("a reason", async || stage.task_of(id.0, Action::VappCreate).await.1 == waits).await;
    let operator = stage.app.operator().await;
    let why = vapp::get(d, &operator, id).await.unwrap().placement.unwrap().refused;
    assert!(why.iter().any(|r| r.hub == "one".into() && r.why == "The disk data is kept on two."), "{why:?}");

    // one that leaves a VM which is nowhere yet is free at once
    disk::detach(d, admin, vm.id, data).await.unwrap();
    assert_eq!(stage.state_of(data).await, DiskState::Free);
    disk::attach(d, admin, vm.id, data).await.unwrap();
    stage.cordon("two", false).await;
    d.store.wake_waiting("").await.unwrap();
    assert_eq!(stage.hub_of(id).await, "two".into());
    let because = vapp::get(d, &operator, id).await.unwrap().placement.unwrap().because;
    assert_eq!(because, "The disk data is kept there.");
    stage.until("the disk in it", async || stage.state_of(data).await == DiskState::Attached).await;
}

#[tokio::test]
async fn a_disk_that_comes_while_its_vm_is_placed_elsewhere_is_followed_or_refused() {
    let stage = Stage::on(&["one", "two"]).await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let data = stage.kept_on("two", "data").await;
    let (here, there) = (stage.network("here", false).await, stage.network("there", false).await);
    stage.composed_on("one", "first", &[here]).await;
    stage.composed_on("two", "last", &[there]).await;
    stage.hubs.kill_controller();
    // a vApp that has to go where its network lives takes no disk from elsewhere
    let id = stage.composed("third", &[here]).await.unwrap();
    let vm = stage.vms(id).await.remove(0);
    at(&disk::attach(d, admin, vm.id, data).await.unwrap_err(), "disk", "at another place than the network here");

    // its worker has chosen a hub, and has not said so yet
    let id = stage.composed("fourth", &[]).await.unwrap();
    let vm = stage.vms(id).await.remove(0);
    stage.app.db.execute("update work set lease_until = '-infinity', not_before = now()").await;
    let all = d.store.claim("worker", 100, Duration::from_secs(60)).await.unwrap();
    let claim = all.into_iter().find(|c| c.kind == Kind::Vapp && c.id == id.0).unwrap();
    disk::attach(d, admin, vm.id, data).await.unwrap();
    let placed = |hub: &str| Placement { hub: Some(hub.into()), ..Placement::default() };
    assert_eq!(d.store.vapp_place(&claim, &placed("one"), false).await.unwrap(), Placed::Elsewhere);
    assert_eq!(d.store.vapp_place(&claim, &placed("two"), false).await.unwrap(), Placed::Done);
}
