//! Copies and moves of vApps and VMs, on simulated hubs.
use crate::{
    stage::{Stage, VMS},
    uploads::Desk,
};
use domain::{
    affinity, copy, item, lease, metadata,
    moves::{self, Arrival},
    network, share, tag, vapp, vapp_network, vdc, vm,
};
use hub::shape::names::size_name;
use model::{
    Action, Error, Kind, NetworkId, TemplateId, VappId, VdcId, VmId,
    affinity::AffinitySpec,
    hardware::{Firmware, Hardware, Tpm},
    lease::LeaseSpec,
    metadata::{Entry, MetaType},
    network::NetworkForm,
    nic::{Attach, IpMode, NicSpec},
    share::{Access, Grant, Subject},
    task::TaskStatus,
    upload::UploadSpec,
    vm::{Disk, Power, Vm, VmSpec, VmState},
};
use std::{collections::BTreeSet, time::Duration};

const VOLUMES: (&str, &str) = ("cdi.kubevirt.io", "datavolumes");

impl Stage {
    async fn stopped(&self, id: VappId) -> Vec<Vm> {
        let all = async || self.vms(id).await;
        self.until("stopped VMs", async || all().await.iter().all(|v| v.state() == VmState::Stopped)).await;
        all().await
    }

    /// Deployed, and powered off again.
    async fn off(&self, name: &str) -> (VappId, Vec<Vm>) {
        let id = self.deploy("web-and-db", name).await;
        self.running(id).await;
        vapp::power(&self.app.domain, &self.admin, id, Action::VappPowerOff).await.unwrap();
        (id, self.stopped(id).await)
    }

    async fn done(&self, object: uuid::Uuid, action: Action) {
        self.until("the task's end", async || self.task_of(object, action).await.0.ended()).await;
        let (status, message) = self.task_of(object, action).await;
        assert_eq!(status, TaskStatus::Success, "{message}");
    }

    async fn other_vdc(&self) -> VdcId {
        self.app.vdc(self.acme.id, "dev").await
    }

    /// What is counted is what is there.
    async fn sums_are_right(&self) {
        for (table, column) in [("vdcs", "vdc_id"), ("users", "owner_id"), ("organizations", "org_id")] {
            let wrong = format!(
                "{table} t cross join lateral (select count(*) as vms, coalesce(sum(cpus), 0) as cpus, coalesce(sum(memory_mb), 0) as memory,
                   (select coalesce(sum(size_mb), 0) from disks k where k.{column} = t.id and k.gone_at is null) as storage
                   from vms v where v.{column} = t.id and v.gone_at is null) s
                 where (t.vms_used, t.cpus_used, t.memory_used_mb, t.storage_used_mb) is distinct from (s.vms, s.cpus, s.memory, s.storage)"
            );
            assert_eq!(self.app.db.count(&wrong).await, 0, "{table}");
        }
    }
}

fn macs(vms: &[Vm]) -> BTreeSet<String> {
    vms.iter().flat_map(|v| &v.nics).map(|n| n.spec.mac.clone()).collect()
}

#[tokio::test]
async fn a_stopped_vapp_is_copied_with_its_disks_under_macs_of_its_own() {
    let stage = Stage::set().await;
    let (d, admin, prod) = (&stage.app.domain, &stage.admin, stage.acme.vdc("prod"));
    let first = stage.deploy("web-and-db", "first").await;
    stage.running(first).await;
    let refused = copy::vapp(d, admin, first, prod, "second").await.err().unwrap();
    assert!(refused.to_string().contains("Power it off first"), "{refused}");
    vapp::power(d, admin, first, Action::VappPowerOff).await.unwrap();
    let original = stage.stopped(first).await;

    let second = copy::vapp(d, admin, first, prod, "second").await.unwrap().vapp;
    stage.done(second.0, Action::VappCopy).await;
    let twins = stage.stopped(second).await;
    assert_eq!(twins.len(), original.len());
    assert!(macs(&original).is_disjoint(&macs(&twins)));
    for (vm, twin) in original.iter().zip(&twins) {
        assert_eq!((&vm.name, vm.cpus, vm.storage_mb()), (&twin.name, twin.cpus, twin.storage_mb()));
        let object = stage.object(twin).unwrap();
        let source = &object["spec"]["dataVolumeTemplates"][0]["spec"]["source"]["pvc"];
        assert_eq!(source["namespace"], vm.namespace.as_str());
        assert!(source["name"].as_str().unwrap().starts_with(&vm.hub_name), "{source}");
    }
    // both go their own way from here on
    for id in [first, second] {
        vapp::power(d, admin, id, Action::VappPowerOn).await.unwrap();
        stage.running(id).await;
    }
    stage.sums_are_right().await;
    let taken = copy::vapp(d, admin, first, prod, "").await.err();
    assert!(matches!(taken, Some(Error::Invalid(_) | Error::NotNow(_))));
}

#[tokio::test]
async fn what_is_being_copied_stays_as_it_is_until_the_copy_is_there_or_given_up() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (first, vms) = stage.off("first").await;
    stage.hubs.kill_controller();
    let second = copy::vapp(d, admin, first, stage.acme.vdc("prod"), "second").await.unwrap().vapp;
    for refused in [
        vapp::power(d, admin, first, Action::VappPowerOn).await.err(),
        vapp::delete(d, admin, first).await.err(),
        vm::delete(d, admin, vms[0].id).await.err(),
        vm::power(d, admin, vms[0].id, Action::VmPowerOn).await.err(),
    ] {
        assert!(refused.unwrap().to_string().contains("It is being copied to second"));
    }
    vapp::delete(d, admin, second).await.unwrap();
    vapp::power(d, admin, first, Action::VappPowerOn).await.unwrap();
}

#[tokio::test]
async fn a_storage_lease_that_ends_while_its_vapp_is_copied_deletes_it_only_after_that() {
    let stage = Stage::set().await;
    let (d, admin, db) = (&stage.app.domain, &stage.admin, &stage.app.db);
    db.execute("update organizations set storage_lease_s = 36000, storage_lease_end = 'delete' where name = 'acme'")
        .await;
    let (first, _) = stage.off("first").await;
    stage.hubs.kill_controller();
    let second = copy::vapp(d, admin, first, stage.acme.vdc("prod"), "second").await.unwrap().vapp;
    db.execute(&format!("update leases set ends_at = now() - interval '1 minute' where object_id = '{first}'")).await;
    let system = lease::system(&d.store).await.unwrap();
    let end = async || lease::end(&d.store, &system, store::DueLease { kind: Kind::Vapp, id: first.0 }).await.unwrap();
    assert!(!end().await, "what is copied from it would be lost");
    assert!(!vapp::get(d, admin, first).await.unwrap().deleted);
    vapp::delete(d, admin, second).await.unwrap();
    assert!(end().await);
}

#[tokio::test]
async fn a_vapp_moves_to_another_vdc_with_its_macs_and_leaves_nothing_behind() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (first, before) = stage.off("shop").await;
    let dev = stage.other_vdc().await;
    let here = copy::move_vapp(d, admin, first, stage.acme.vdc("prod")).await.err();
    assert!(matches!(here, Some(Error::Invalid(_))));
    let words = (Some("shop-b"), Some("elsewhere"));
    let moved = copy::move_vapp_as(d, admin, first, dev, words, true).await.unwrap().vapp;
    stage.done(moved.0, Action::VappMove).await;
    let now = vapp::get(d, admin, moved).await.unwrap();
    assert_eq!(
        (now.name.as_str(), now.description.as_str(), now.vdc, now.owner),
        ("shop-b", "elsewhere", dev, admin.user)
    );
    assert!(vapp::get(d, admin, first).await.is_err(), "it is not in both");
    // with the MACs of the old ones from their first start on
    let after = stage.running(moved).await;
    assert!(after.iter().all(|vm| !vm.restart_needed));
    assert_eq!(macs(&before), macs(&after));
    assert_eq!(stage.hubs.count("one", VMS), before.len());
    let disks: usize = after.iter().map(|v| v.disks.len()).sum();
    stage.until("only the new disks", async || stage.hubs.count("one", VOLUMES) == disks).await;
    for vm in &after {
        let object = stage.object(vm).unwrap();
        let card = &object["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"][0];
        assert_eq!(card["macAddress"], vm.nics[0].spec.mac.as_str());
    }
    stage.sums_are_right().await;
    assert_eq!(vdc::get(d, admin, stage.acme.vdc("prod")).await.unwrap().used.vms, 0);
}

/// A vApp's place is chosen only when there is something to wait for: three seconds later than else.
async fn choices_come_later(stage: &Stage) {
    let later = "create function later() returns trigger language plpgsql as \
         $$ begin new.not_before := now() + interval '3 seconds'; return new; end $$";
    stage.app.db.execute(later).await;
    let trigger =
        "create trigger later before insert on work for each row when (new.kind = 'vapp') execute function later()";
    stage.app.db.execute(trigger).await;
}

/// While the place of that vApp is being chosen, its machines of these names are begun on `one`, as after an earlier choice.
async fn begun_meanwhile(stage: &Stage, vapp: model::VappId, names: &str) {
    let db = &stage.app.db;
    db.execute("begin").await;
    db.execute(&format!("select from vapps where id = '{vapp}' for no key update")).await;
    let choosing = "pg_locks where not granted and transactionid::text = pg_current_xact_id()::text";
    stage.until("a choice", async || db.count(choosing).await > 0).await;
    let which = format!("vapp_id = '{vapp}' and name like '{names}'");
    for begun in [
        format!("update vms set hub_id = 'one' where {which}"),
        format!("update vapps set hub_id = 'one', placed_at = now(), attempted_at = now() where id = '{vapp}'"),
        format!("insert into work (kind, id, org_id, hub_id) select 'vm', id, org_id, 'one' from vms where {which}"),
    ] {
        db.execute(&begun).await;
    }
    db.execute("commit").await;
}

#[tokio::test]
async fn machines_that_are_begun_while_their_place_is_chosen_once_more_keep_nobody_waiting() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (first, _) = stage.off("shop").await;
    let dev = stage.other_vdc().await;
    choices_come_later(&stage).await;
    let moved = copy::move_vapp(d, admin, first, dev).await.unwrap().vapp;
    begun_meanwhile(&stage, moved, "%").await;
    let done = stage.done(moved.0, Action::VappMove);
    tokio::time::timeout(Duration::from_secs(20), done).await.expect("it waits for a hub that it has");
}

#[tokio::test]
async fn a_machine_that_comes_while_others_are_begun_is_not_forgotten() {
    let stage = Stage::set().await;
    choices_come_later(&stage).await;
    let shop = stage.deploy("web-and-db", "shop").await;
    begun_meanwhile(&stage, shop, "%db").await;
    let both = tokio::time::timeout(Duration::from_secs(20), stage.running(shop)).await;
    assert_eq!(both.expect("one is on no hub, and nobody works on it").len(), 2);
}

#[tokio::test]
async fn a_vm_moves_to_another_vapp_as_it_is_and_runs_on() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let first = stage.deploy("web-and-db", "first").await;
    let vms = stage.running(first).await;
    let second =
        vapp::compose(d, admin, stage.acme.vdc("prod"), named("second"), vapp::Guest::default()).await.unwrap().vapp;
    let uid = stage.object(&vms[0]).unwrap()["metadata"]["uid"].clone();
    moves::vm(d, admin, vms[0].id, second, Arrival::default()).await.unwrap();
    stage.done(vms[0].id.0, Action::VmMove).await;
    let now = stage.vm(vms[0].id).await;
    assert_eq!((now.vapp, now.state()), (second, VmState::Running));
    let object = stage.object(&now).unwrap();
    assert_eq!(object["metadata"]["uid"], uid, "nothing is made anew");
    assert_eq!(object["metadata"]["labels"]["ssvirt.io/vapp-id"], second.to_string().as_str());
    assert_eq!(macs(&vms[..1]), macs(&[now]));
    // the old one goes without it
    vapp::delete(d, admin, first).await.unwrap();
    stage.until("the old vApp's end", async || vapp::get(d, admin, first).await.is_err()).await;
    assert_eq!(stage.vm(vms[0].id).await.state(), VmState::Running);
    let dev = stage.other_vdc().await;
    let far = vapp::compose(d, admin, dev, named("far"), vapp::Guest::default()).await.unwrap().vapp;
    let refused = moves::vm(d, admin, vms[0].id, far, Arrival::default()).await.err().unwrap();
    assert!(refused.to_string().contains("a disk that is written can't be copied"), "{refused}");
}

#[tokio::test]
async fn a_vm_moves_with_the_name_the_nics_and_the_power_that_are_asked_for_with_it() {
    let stage = Stage::set().await;
    let (d, admin, prod) = (&stage.app.domain, &stage.admin, stage.acme.vdc("prod"));
    let (_, vms) = stage.off("first").await;
    let flat = network::create(d, admin, prod, net("flat", "10.7.0.10-10.7.0.20")).await.unwrap().id;
    let second = vapp::compose(d, admin, prod, named("second"), vapp::Guest::default()).await.unwrap().vapp;
    let mut nics: Vec<NicSpec> = vms[0].nics.iter().map(|n| n.spec.clone()).collect();
    nics[0] = NicSpec { attach: Attach::Network(flat), mode: IpMode::Pool, address: None, ..nics[0].clone() };
    let how =
        Arrival { name: Some("front".into()), description: Some("in front".into()), nics: Some(nics), power_on: true };
    // all of it or nothing
    let long = Arrival { name: Some("x".repeat(200)), ..how.clone() };
    assert!(matches!(moves::vm(d, admin, vms[0].id, second, long).await, Err(Error::Invalid(_))));
    assert_ne!(stage.vm(vms[0].id).await.vapp, second);
    moves::vm(d, admin, vms[0].id, second, how).await.unwrap();
    stage.done(vms[0].id.0, Action::VmMove).await;
    let now = stage.running(second).await.remove(0);
    assert_eq!((now.id, now.name.as_str(), now.description.as_str()), (vms[0].id, "front", "in front"));
    assert_eq!(
        (now.nics[0].spec.attach, now.nics[0].spec.address),
        (Attach::Network(flat), Some([10, 7, 0, 10].into()))
    );
    assert_eq!(macs(&vms[..1]), macs(&[now]));
}

#[tokio::test]
async fn a_vm_moves_to_another_vdc_with_what_belongs_to_it_and_leaves_nothing_behind() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (first, vms) = stage.off("first").await;
    let (one, rest) = (vms[0].clone(), vms.len() - 1);
    let entry = Entry { key: "rack".into(), kind: MetaType::String, value: "x".into(), ..Entry::default() };
    metadata::put(d, admin, Kind::Vm, one.id.0, vec![entry]).await.unwrap();
    tag::set(d, admin, one.id, vec!["dmz".into()]).await.unwrap();
    let dev = stage.other_vdc().await;
    let far = vapp::compose(d, admin, dev, named("far"), vapp::Guest::default()).await.unwrap().vapp;
    stage.hubs.kill_controller();
    let how = Arrival { name: Some("front".into()), power_on: true, ..Arrival::default() };
    let (new, _) = moves::vm(d, admin, one.id, far, how).await.unwrap();
    for refused in [
        vm::power(d, admin, one.id, Action::VmPowerOn).await.err(),
        vm::delete(d, admin, one.id).await.err(),
        vapp::delete(d, admin, first).await.err(),
    ] {
        assert!(refused.unwrap().to_string().contains("It is being copied to far"));
    }
    stage.hubs.start_controller(&stage.app);
    stage.done(new.0, Action::VmMove).await;
    let now = stage.running(far).await.remove(0);
    assert_eq!((now.id, now.name.as_str(), now.vdc, now.owner), (new, "front", dev, admin.user));
    assert!(vm::get(d, admin, one.id).await.is_err(), "it is not in both");
    assert_eq!(macs(&[one]), macs(std::slice::from_ref(&now)));
    let object = stage.object(&now).unwrap();
    let card = &object["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"][0];
    assert_eq!(card["macAddress"], now.nics[0].spec.mac.as_str());
    assert!(!now.restart_needed, "it had its MACs before it started");
    assert_eq!(metadata::list(d, admin, Kind::Vm, new.0).await.unwrap().1[0].entry.key, "rack");
    assert_eq!(tag::of_vm(d, admin, new).await.unwrap(), ["dmz"]);
    assert_eq!(stage.hubs.count("one", VMS), rest + 1);
    let left = stage.vms(first).await;
    let disks: usize = left.iter().chain([&now]).map(|v| v.disks.len()).sum();
    stage.until("only the new disks", async || stage.hubs.count("one", VOLUMES) == disks).await;
    stage.sums_are_right().await;
    // one that is given up leaves the original as it was
    stage.hubs.kill_controller();
    let (another, _) = moves::vm(d, admin, left[0].id, far, Arrival::default()).await.unwrap();
    vm::delete(d, admin, another).await.unwrap();
    stage.hubs.start_controller(&stage.app);
    vm::power(d, admin, left[0].id, Action::VmPowerOn).await.unwrap();
    stage.running(first).await;
}

#[tokio::test]
async fn a_vm_is_copied_into_another_vapp_and_another_vdc() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (_, vms) = stage.off("first").await;
    let dev = stage.other_vdc().await;
    let into = vapp::compose(d, admin, dev, named("second"), vapp::Guest::default()).await.unwrap().vapp;
    let (id, _) = copy::vm(d, admin, vms[0].id, into, "twin").await.unwrap();
    stage.done(id.0, Action::VmCopy).await;
    let twin = stage.vm(id).await;
    assert_eq!((twin.vapp, twin.vdc, twin.name.as_str(), twin.state()), (into, dev, "twin", VmState::Stopped));
    vm::power(d, admin, id, Action::VmPowerOn).await.unwrap();
    stage.running(into).await;
    stage.sums_are_right().await;
}

#[tokio::test]
async fn a_vapp_whose_vms_are_copied_within_it_alone_is_deleted_with_the_copies() {
    let stage = Stage::set().await;
    let (d, admin, db) = (&stage.app.domain, &stage.admin, &stage.app.db);
    let (first, vms) = stage.off("first").await;
    stage.hubs.kill_controller();
    let elsewhere = copy::vapp(d, admin, first, stage.acme.vdc("prod"), "second").await.unwrap().vapp;
    copy::vm(d, admin, vms[0].id, first, "twin").await.unwrap();
    let alone = vm::delete(d, admin, vms[0].id).await.unwrap_err();
    assert!(alone.to_string().contains("being copied"), "{alone}");
    let refused = vapp::delete(d, admin, first).await.unwrap_err();
    assert!(refused.to_string().contains("being copied to second"), "{refused}");
    vapp::delete(d, admin, elsewhere).await.unwrap();
    vapp::delete(d, admin, first).await.unwrap();
    stage.hubs.start_controller(&stage.app);
    stage.until("their end", async || db.count("vms where gone_at is null").await == 0).await;
    stage.until("the vApps' end", async || db.count("vapps where gone_at is null").await == 0).await;
    assert_eq!(stage.hubs.count("one", ("cdi.kubevirt.io", "datavolumes")), 0);
    stage.sums_are_right().await;
}

fn named(name: &str) -> model::vapp::VappSpec {
    model::vapp::VappSpec { name: name.into(), ..model::vapp::VappSpec::default() }
}

fn net(name: &str, ranges: &str) -> NetworkForm {
    NetworkForm {
        name: name.into(),
        gateway: "10.7.0.1".into(),
        prefix: "24".into(),
        ranges: ranges.into(),
        ..NetworkForm::default()
    }
}

fn at(index: i16, network: NetworkId, last: u8) -> NicSpec {
    let address = Some([10, 7, 0, last].into());
    NicSpec { index, attach: Attach::Network(network), mode: IpMode::Manual, address, ..NicSpec::default() }
}

/// What of a machine a copy of it has too.
fn kind(vm: &Vm) -> (String, Hardware, i32, i64, i32, i32) {
    (vm.preference.clone(), vm.hardware.clone(), vm.cpus, vm.memory_mb, vm.start_order, vm.start_delay_s)
}

#[tokio::test]
async fn a_copy_is_the_same_machines_and_a_move_takes_along_what_belongs_to_them() {
    let stage = Stage::set().await;
    let (d, admin, prod) = (&stage.app.domain, &stage.admin, stage.acme.vdc("prod"));
    let size = stage.size("small", 3, 3072).await;
    let flat = network::create(d, admin, prod, net("flat", "")).await.unwrap().id;
    let first = vapp::compose(d, admin, prod, named("shop"), vapp::Guest::default()).await.unwrap().vapp;
    let inner = vapp_network::create(d, admin, first, net("inner", "10.7.0.10-10.7.0.20")).await.unwrap();
    vapp_network::bridge(d, admin, first, flat).await.unwrap();
    let hardware =
        Hardware { firmware: Firmware::Secure, tpm: Tpm::Volatile, cores_per_socket: 3, ..Hardware::default() };
    for (name, order, last) in [("db", 0, 50), ("web", 1, 51)] {
        let spec = VmSpec {
            name: name.into(),
            cpus: 1,
            memory_mb: 1024,
            sizing: Some(size),
            preference: "fedora".into(),
            hardware: hardware.clone(),
            disks: vec![Disk { name: "root".into(), size_mb: 1024, ..Disk::default() }],
            nics: vec![at(0, inner, last), at(1, flat, last)],
            power: Power::Off,
            start_order: order,
            start_delay_s: 7 * order,
            ..VmSpec::default()
        };
        vm::add(d, admin, first, spec).await.unwrap();
    }
    let before = stage.stopped(first).await;
    assert_eq!(before.len(), 2);

    let words = ("second", Some("Ours, once more"));
    let second = copy::vapp_described(d, admin, first, prod, words, false).await.unwrap().vapp;
    stage.done(second.0, Action::VappCopy).await;
    assert_eq!(vapp::get(d, admin, second).await.unwrap().description, "Ours, once more");
    let twins = stage.stopped(second).await;
    let inside = vapp_network::list(d, admin, second).await.unwrap();
    let own = inside.iter().find(|n| n.vapp.is_some()).unwrap();
    assert_eq!((own.name(), own.id == inner), ("inner", false));
    assert!(inside.iter().any(|n| n.id == flat), "it is bridged as the original is");
    for (vm, twin) in before.iter().zip(&twins) {
        assert_eq!(kind(vm), kind(twin));
        assert_eq!(twin.sizing, vm.sizing);
        let nics: Vec<_> = twin.nics.iter().map(|n| (n.spec.attach, n.spec.mode, n.spec.address)).collect();
        let inner = (Attach::Network(own.id), IpMode::Manual, vm.nics[0].spec.address);
        assert_eq!(nics, [inner, (Attach::Network(flat), IpMode::None, None)]);
        let object = stage.object(twin).unwrap();
        assert_eq!(object["spec"]["preference"]["name"], "fedora");
        assert_eq!(object["spec"]["instancetype"]["name"], size_name(size.0).as_str());
        let domain = &object["spec"]["template"]["spec"]["domain"];
        assert_eq!(domain["firmware"]["bootloader"]["efi"]["secureBoot"], true);
        assert!(domain["devices"]["tpm"].is_object());
    }

    // what belongs to it
    let entry = |key: &str| Entry { key: key.into(), kind: MetaType::String, value: "x".into(), ..Entry::default() };
    metadata::put(d, admin, Kind::Vapp, first.0, vec![entry("cost")]).await.unwrap();
    metadata::put(d, admin, Kind::Vm, before[0].id.0, vec![entry("rack")]).await.unwrap();
    tag::set(d, admin, before[0].id, vec!["dmz".into()]).await.unwrap();
    let version = vapp::get(d, admin, first).await.unwrap().version;
    let everyone = vec![Grant { subject: Subject::Everyone, access: Access::Change }];
    share::set(d, admin, share::On::Vapp(first), version, everyone).await.unwrap();
    let lasts = LeaseSpec { runtime_s: Some(86_400), storage_s: Some(172_800) };
    lease::set(d, admin, first, lasts).await.unwrap();
    let ids: Vec<VmId> = before.iter().map(|v| v.id).collect();
    let rule = AffinitySpec { name: "apart".into(), together: false, mandatory: true, enabled: true, vms: ids };
    affinity::create(d, admin, prod, rule).await.unwrap();

    let dev = stage.other_vdc().await;
    let ends = vapp::get(d, admin, first).await.unwrap().lease.ends_at;
    let moved = copy::move_vapp(d, admin, first, dev).await.unwrap().vapp;
    stage.done(moved.0, Action::VappMove).await;
    let now = vapp::get(d, admin, moved).await.unwrap();
    assert_eq!((now.lease.spec(), now.lease.ends_at), (lasts, ends), "a move makes nothing last longer");
    assert_eq!(now.shares, [Grant { subject: Subject::Everyone, access: Access::Change }]);
    let keys = async |kind, id| {
        let all = metadata::list(d, admin, kind, id).await.unwrap().1;
        all.into_iter().map(|k| k.entry.key).collect::<Vec<_>>()
    };
    let after = stage.stopped(moved).await;
    assert_eq!(keys(Kind::Vapp, moved.0).await, ["cost"]);
    assert_eq!(keys(Kind::Vm, after[0].id.0).await, ["rack"]);
    assert_eq!(tag::of_vm(d, admin, after[0].id).await.unwrap(), ["dmz"]);
    let rules = affinity::of_vdc(d, admin, dev).await.unwrap();
    let in_rule: BTreeSet<VmId> = rules[0].vms.iter().map(|v| v.id).collect();
    assert_eq!(in_rule, after.iter().map(|v| v.id).collect());
    assert!(affinity::of_vdc(d, admin, prod).await.unwrap().is_empty());
    for (vm, twin) in before.iter().zip(&after) {
        assert_eq!(kind(vm), kind(twin));
        // the VDC may not use the policy: its size is the machine's own there
        assert_eq!((&twin.sizing, twin.instance_type.as_str()), (&None, ""));
        let cpu = &stage.object(twin).unwrap()["spec"]["template"]["spec"]["domain"]["cpu"];
        assert_eq!(*cpu, serde_json::json!({"sockets": 1, "cores": 3, "threads": 1}));
        assert_eq!(twin.nics[1].spec.attach, Attach::Nothing, "flat is a network of prod");
    }
    vapp::power(d, admin, moved, Action::VappPowerOn).await.unwrap();
    stage.running(moved).await;
    stage.sums_are_right().await;
}

impl Stage {
    async fn captured(&self, id: VappId, name: &str) -> TemplateId {
        let desk = Desk::open(&self.app, &self.admin, "acme").await;
        let spec = UploadSpec { name: name.into(), ..UploadSpec::default() };
        item::capture(&self.app.domain, &self.admin, id, desk.catalog, spec).await.unwrap()
    }
}

#[tokio::test]
async fn what_is_being_captured_stays_as_it_is_until_the_capture_is_there_or_given_up() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (first, vms) = stage.off("first").await;
    stage.hubs.kill_controller();
    let template = stage.captured(first, "golden").await;
    for refused in [
        vapp::power(d, admin, first, Action::VappPowerOn).await.err(),
        vapp::delete(d, admin, first).await.err(),
        vm::delete(d, admin, vms[0].id).await.err(),
        vm::power(d, admin, vms[0].id, Action::VmPowerOn).await.err(),
    ] {
        assert!(refused.unwrap().to_string().contains("It is being copied to golden"));
    }
    stage.hubs.start_controller(&stage.app);
    let whole = async || stage.task_of(template.0, Action::VappCapture).await.0 == TaskStatus::Success;
    stage.until("the capture", whole).await;
    vapp::power(d, admin, first, Action::VappPowerOn).await.unwrap();
}

#[tokio::test]
async fn a_capture_is_there_though_whoever_found_it_ready_died_before_saying_so() {
    let stage = Stage::set().await;
    let (first, _) = stage.off("first").await;
    stage.hubs.kill_controller();
    let template = stage.captured(first, "golden").await;
    stage.app.db.execute("update hub_images set ready_at = now()").await;
    stage.hubs.start_controller(&stage.app);
    let whole = async || stage.task_of(template.0, Action::VappCapture).await.0 == TaskStatus::Success;
    stage.until("the capture", whole).await;
}

#[tokio::test]
async fn a_capture_whose_disk_is_gone_from_its_hub_fails_and_says_so() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (first, vms) = stage.off("first").await;
    stage.hubs.kill_controller();
    let template = stage.captured(first, "golden").await;
    // its disks go with it
    let hub = stage.hubs.hub("one");
    hub.delete(VMS.0, VMS.1, &vms[0].namespace, &vms[0].hub_name).await;
    let volume = vms[0].disks[0].volume.clone();
    let there = || hub.object("", "persistentvolumeclaims", &vms[0].namespace, &volume).is_some();
    stage.until("the end of its disk", async || !there()).await;
    stage.hubs.start_controller(&stage.app);
    let failed = async || stage.task_of(template.0, Action::VappCapture).await.0 == TaskStatus::Error;
    stage.until("the failure", failed).await;
    let why = stage.task_of(template.0, Action::VappCapture).await.1;
    assert!(why.contains("The disk that it is taken from is gone from its hub."), "{why}");
    // nothing holds the rest any more
    vapp::delete(d, admin, first).await.unwrap();
}
