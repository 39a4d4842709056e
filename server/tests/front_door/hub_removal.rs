//! Hubs that go: emptied and deleted, or lost for ever with all that was on them.
use crate::stage::{Stage, VMS};
use ::hub::resource::DATA_VOLUMES;
use domain::{disk, hub, network, vapp, vm};
use hubsim::Fault;
use model::{
    Action, Error, HubId, NetworkId, VappId,
    disk::DiskSpec,
    hub::{HubSpec, HubType},
    network::NetworkForm,
    nic::{Attach, IpMode, NicSpec},
    task::TaskStatus,
    vapp::VappSpec,
    vm::{Disk, Power, VmSpec},
};
use serde_json::json;

fn two() -> HubId {
    "two".into()
}

impl Stage {
    /// A vApp of one VM with a disk, which runs on that hub.
    async fn runs_on(&self, hub: &str, name: &str, networks: &[NetworkId]) -> VappId {
        let operator = self.app.operator().await;
        let other: HubId = if hub == "one" { two() } else { "one".into() };
        hub::set_cordoned(&self.app.domain, &operator, &other, true).await.unwrap();
        let nic = |id: &NetworkId| NicSpec { attach: Attach::Network(*id), mode: IpMode::Pool, ..NicSpec::default() };
        let vm = VmSpec {
            name: "web".into(),
            cpus: 1,
            memory_mb: 1024,
            nics: networks.iter().map(nic).collect(),
            disks: vec![Disk { name: "root".into(), size_mb: 1024, ..Disk::default() }],
            power: Power::On,
            ..VmSpec::default()
        };
        let spec = VappSpec { name: name.into(), vms: vec![vm], ..VappSpec::default() };
        let (d, into) = (&self.app.domain, self.acme.vdc("prod"));
        let id = vapp::compose(d, &self.admin, into, spec, vapp::Guest::default()).await.unwrap().vapp;
        assert_eq!(self.running(id).await[0].hub, Some(hub.into()));
        hub::set_cordoned(d, &operator, &other, false).await.unwrap();
        id
    }

    async fn deleted(&self, id: VappId) {
        vapp::delete(&self.app.domain, &self.admin, id).await.unwrap();
        let left = format!("vapps where id = '{id}' and gone_at is null");
        self.until("its end", async || self.app.db.count(&left).await == 0).await;
    }

    async fn on_two(&self) -> i64 {
        self.app.db.count("places where hub_id = 'two' and gone_at is null").await
    }

    async fn silent(&self) {
        self.hubs.hub("two").faults().set(Fault::Refuse, true);
        let silent = "hubs where id = 'two' and state = 'unreachable'";
        self.until("a silent hub", async || self.app.db.count(silent).await == 1).await;
    }

    async fn sums_fit(&self) {
        for (table, column) in [("vdcs", "vdc_id"), ("users", "owner_id"), ("organizations", "org_id")] {
            let wrong = format!(
                "{table} t cross join lateral (select count(*) as vms, coalesce(sum(cpus), 0) as cpus, coalesce(sum(memory_mb), 0) as memory,
                   (select coalesce(sum(size_mb), 0) from disks k where k.{column} = t.id and k.gone_at is null) as storage
                   from vms v where v.{column} = t.id and v.gone_at is null) s
                 where (t.vms_used, t.cpus_used, t.memory_used_mb, t.storage_used_mb) is distinct from (s.vms, s.cpus, s.memory, s.storage)"
            );
            assert_eq!(self.app.db.count(&wrong).await, 0, "{table}");
        }
        let wrong = "vdc_storage s where s.used_mb <> (select coalesce(sum(size_mb), 0) from disks k \
                     where k.vdc_id = s.vdc_id and k.policy_id = s.policy_id and k.gone_at is null)";
        assert_eq!(self.app.db.count(wrong).await, 0, "policies");
    }
}

#[tokio::test]
async fn vdcs_leave_a_cordoned_hub_when_they_have_nothing_there_and_then_it_can_be_deleted() {
    let stage = Stage::on(&["one", "two"]).await;
    let (d, operator) = (&stage.app.domain, stage.app.operator().await);
    let id = stage.runs_on("two", "shop", &[]).await;
    let refused = async || hub::delete(d, &operator, &two()).await.unwrap_err().to_string();
    assert!(refused().await.contains("It has 1 VM."), "{}", refused().await);
    hub::set_cordoned(d, &operator, &two(), true).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    assert_eq!(stage.on_two().await, 1, "it has a VM there");
    hub::set_cordoned(d, &operator, &two(), false).await.unwrap();

    // a vApp without VMs is no more than a row
    let vm = stage.vms(id).await.remove(0);
    vm::delete(d, &stage.admin, vm.id).await.unwrap();
    stage.until("the VM's end", async || stage.app.db.count("vms where gone_at is null").await == 0).await;
    assert!(refused().await.contains("Cordon it first"), "{}", refused().await);
    let namespace = || stage.hubs.hub("two").object("", "namespaces", "", &vm.namespace);
    assert!(namespace().is_some());
    hub::set_cordoned(d, &operator, &two(), true).await.unwrap();
    stage.until("VDCs that left", async || stage.on_two().await == 0).await;
    assert!(namespace().is_none());
    assert_eq!(vapp::get(d, &operator, id).await.unwrap().hub, None);
    hub::delete(d, &operator, &two()).await.unwrap();
    // and what comes to the vApp goes elsewhere
    let spec = VmSpec { name: "next".into(), cpus: 1, memory_mb: 1024, power: Power::On, ..VmSpec::default() };
    vm::add(d, &stage.admin, id, spec).await.unwrap();
    assert_eq!(stage.running(id).await[0].hub, Some("one".into()));
}

#[tokio::test]
async fn a_vdc_leaves_a_cordoned_hub_with_its_last_vm_but_not_what_others_have_there() {
    let stage = Stage::on(&["one", "two"]).await;
    let (d, operator) = (&stage.app.domain, stage.app.operator().await);
    let id = stage.runs_on("two", "shop", &[]).await;
    let namespace = stage.vms(id).await[0].namespace.clone();
    let volume = json!({"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume",
        "metadata": {"name": "precious", "namespace": namespace, "labels": {"app": "theirs"}},
        "spec": {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}}});
    stage.hubs.plant("two", &DATA_VOLUMES, &volume, "app").await;
    hub::set_cordoned(d, &operator, &two(), true).await.unwrap();
    stage.deleted(id).await;
    let said = "work where kind = 'vdc' and last_error like '%holds the volume precious%'";
    stage.until("word of it", async || stage.app.db.count(said).await == 1).await;
    assert!(stage.hubs.hub("two").object("", "namespaces", "", &namespace).is_some());
    stage.hubs.hub("two").remove("cdi.kubevirt.io", "datavolumes", &namespace, "precious").unwrap();
    d.store.wake_waiting("").await.unwrap();
    stage.until("VDCs that left", async || stage.on_two().await == 0).await;
    hub::delete(d, &operator, &two()).await.unwrap();
}

#[tokio::test]
async fn a_hub_that_vdcs_name_is_not_removed_and_they_are_named() {
    let stage = Stage::on(&["one", "two"]).await;
    let (d, operator) = (&stage.app.domain, stage.app.operator().await);
    stage.app.db.execute("update vdcs set hubs = '{one,two}'").await;
    let refused = hub::delete(d, &operator, &two()).await.unwrap_err();
    assert!(matches!(refused, Error::NotNow(_)), "{refused:?}");
    assert!(refused.to_string().contains("The VDC acme/prod names it as its hub. Choose others"), "{refused}");
    let provider = stage.app.provider().await;
    provider.get("/provider/hubs/two/delete").await.must(200).says("The VDC acme/prod names it as its hub.");
    stage.app.db.execute("update vdcs set hubs = '{one}'").await;
    // the VDC may have been there, and leaves it then
    hub::set_cordoned(d, &operator, &two(), true).await.unwrap();
    stage.until("the hub to be free", async || hub::delete(d, &operator, &two()).await.is_ok()).await;
}

#[tokio::test]
async fn a_hub_that_is_lost_is_given_up_with_all_that_was_on_it() {
    let stage = Stage::on(&["one", "two"]).await;
    let (d, admin, db) = (&stage.app.domain, &stage.admin, &stage.app.db);
    let provider = stage.app.provider().await;
    let form = NetworkForm {
        name: "back".into(),
        gateway: "10.7.0.1".into(),
        prefix: "24".into(),
        ranges: "10.7.0.10-10.7.0.99".into(),
        ..NetworkForm::default()
    };
    let back = network::create(d, admin, stage.acme.vdc("prod"), form).await.unwrap().id;
    let stays = stage.runs_on("one", "stays", &[]).await;
    let lost = stage.runs_on("two", "lost", &[back]).await;
    let web = stage.vms(lost).await.remove(0);
    let spec = DiskSpec { name: "data".into(), size_mb: 2048, ..DiskSpec::default() };
    let data = disk::create(d, admin, stage.acme.vdc("prod"), spec).await.unwrap().0;
    disk::attach(d, admin, web.id, data).await.unwrap();
    stage
        .until("the disk", async || {
            db.count("disks where independent and hub_id = 'two' and uid is not null").await == 1
        })
        .await;

    provider.get("/provider/hubs/two/abandon").await.must(200).says("Not now: It answers.");
    provider.post("/provider/hubs/two/abandon", &[("name", "two")]).await.must(409).says("It answers.");
    stage.silent().await;
    vm::power(d, admin, web.id, Action::VmPowerOff).await.unwrap();
    provider.get("/provider/hubs/two").await.must(200).says("Give up");
    provider.fill("/provider/hubs/two/abandon", &[("name", "one")]).await.must(422);
    let done = provider.fill("/provider/hubs/two/abandon", &[("name", "two")]).await;
    provider.follow(done).await.says("Hub two is given up, and 1 VM with it.");

    assert_eq!(db.count("hubs where id = 'two'").await, 0);
    let left = ["vapps", "vms", "disks"].map(|table| format!("{table} where gone_at is null"));
    assert_eq!((db.count(&left[0]).await, db.count(&left[1]).await, db.count(&left[2]).await), (1, 1, 1));
    assert_eq!(db.count("addresses").await + db.count("nics where network_id is not null").await, 0);
    stage.sums_fit().await;
    let (status, why) = stage.task_of(web.id.0, Action::VmPowerOff).await;
    assert_eq!((status, why.as_str()), (TaskStatus::Error, "The hub that it was on is lost, and it is lost with it."));
    assert_eq!(db.count("tasks where status in ('queued', 'running')").await, 0);
    assert_eq!(db.count("audit where action = 'hub.abandon' and after->>'lost VMs' = '1'").await, 1);
    let told = "events where object_name = 'lost' and message like 'Deleted vApp lost. The hub%is lost%'";
    assert_eq!(db.count(told).await, 1);
    assert_eq!(network::get(d, admin, back).await.unwrap().hub, None, "it is free for another hub");
    assert_eq!(stage.running(stays).await.len(), 1);
    stage.until("rest", async || db.count("work").await == 0).await;

    // it comes back: what stands there is nobody's, and stays
    stage.hubs.hub("two").faults().set(Fault::Refuse, false);
    let spec =
        HubSpec { id: "two".into(), hub_type: HubType::Vmaas, namespace: "ssvirt-own".into(), ..HubSpec::default() };
    let operator = stage.app.operator().await;
    hub::register(d, &operator, spec, &stage.hubs.hub("two").account(), hub::Trust::Operator).await.unwrap();
    stage.until("a stranger", async || db.count("strangers where hub_id = 'two'").await == 1).await;
    assert_eq!(stage.hubs.count("two", VMS), 1);
}

#[tokio::test]
async fn what_was_not_begun_on_a_hub_that_is_given_up_goes_elsewhere() {
    let stage = Stage::on(&["one", "two"]).await;
    let (d, db, operator) = (&stage.app.domain, &stage.app.db, stage.app.operator().await);
    stage.silent().await;
    stage.hubs.kill_controller();
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    db.execute("update vapps set hub_id = 'two', placed_at = now()").await;
    db.execute("update vms set hub_id = 'two'").await;
    let lost = hub::abandon(d, &operator, &two()).await.unwrap();
    assert_eq!((lost.vapps, lost.vms), (0, 0));
    stage.hubs.start_controller(&stage.app);
    assert_eq!(stage.running(id).await[0].hub, Some("one".into()));
}
