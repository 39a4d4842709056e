//! Storage policies: classes of hubs by name, what of them a VDC may use, and quota by policy.
use crate::stage::Stage;
use domain::{copy, disk, snapshot, storage, vapp, vdc};
use model::{
    Action, Error, PolicyId,
    disk::{DiskSpec, DiskState},
    snapshot::SnapshotSpec,
    storage::{StoragePolicySpec, VdcPolicySpec},
    vdc::VdcSpec,
    vm::{VmSpec, VmState},
};

fn gold() -> StoragePolicySpec {
    StoragePolicySpec { name: "gold".into(), class: "fast".into(), ..StoragePolicySpec::default() }
}

/// The VDC's policies: the default one as it is, and another with a limit.
async fn profile(stage: &Stage, other: PolicyId, limit_mb: Option<i64>, default: bool) -> Vec<VdcPolicySpec> {
    let known = storage::of_vdc(&stage.app.domain, &stage.admin, stage.acme.vdc("prod")).await.unwrap();
    let first = VdcPolicySpec { id: known[0].id, limit_mb: None, is_default: !default };
    vec![first, VdcPolicySpec { id: other, limit_mb, is_default: default }]
}

#[tokio::test]
async fn a_disk_is_made_of_the_class_that_its_policy_names_on_its_hub() {
    let stage = Stage::set().await;
    let (d, operator) = (&stage.app.domain, stage.app.operator().await);
    let policy = storage::create(d, &operator, gold()).await.unwrap();
    let vdc = stage.acme.vdc("prod");
    let wanted = profile(&stage, policy.id, Some(100 * 1024), true).await;
    storage::set_for_vdc(d, &operator, vdc, wanted).await.unwrap();

    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    assert_eq!(one.disks[0].policy, "gold");
    let object = stage.object(&one).unwrap();
    assert_eq!(object["spec"]["dataVolumeTemplates"][0]["spec"]["storage"]["storageClassName"], "fast");
    let hub = stage.hubs.hub("one");
    let line = "fast.storageclass.storage.k8s.io/requests.storage";
    let hard = || hub.object("", "resourcequotas", &one.namespace, "ssvirt").unwrap()["spec"]["hard"][line].clone();
    stage.until("the class's line in the namespace", async || !hard().is_null()).await;
    assert!(["200Gi", "204800Mi"].iter().any(|q| hard() == *q), "{}", hard());
    let used = storage::of_vdc(d, &stage.admin, vdc).await.unwrap();
    assert_eq!(used[0].used_mb, one.storage_mb(), "{used:?}");

    // without a limit there is no line
    let known = storage::get(d, &operator, policy.id).await.unwrap();
    assert_eq!((known.vdcs, known.disks), (1, 1));
    let wanted = profile(&stage, policy.id, None, true).await;
    let wanted = wanted.into_iter().filter(|w| w.id == policy.id).collect();
    storage::set_for_vdc(d, &operator, vdc, wanted).await.unwrap();
    stage.until("no line", async || hard().is_null()).await;
    vapp::delete(d, &stage.admin, id).await.unwrap();
    stage.until("the end", async || stage.app.db.count("vapps where gone_at is null").await == 0).await;
    assert_eq!(stage.app.db.text("select sum(used_mb)::text from vdc_storage").await, "0");
}

#[tokio::test]
async fn who_deploys_chooses_the_policy_of_a_templates_disks() {
    let stage = Stage::set().await;
    let (d, operator) = (&stage.app.domain, stage.app.operator().await);
    let policy = storage::create(d, &operator, gold()).await.unwrap();
    let vdc = stage.acme.vdc("prod");
    storage::set_for_vdc(d, &operator, vdc, profile(&stage, policy.id, None, false).await).await.unwrap();
    let template = stage.template("web-and-db").await.unwrap();
    let browser = stage.app.sign_in("acme", "acme-admin").await;
    let form = format!("/tenant/acme/templates/{}/deploy", template.id);
    let page = browser.get(&form).await.must(200);
    assert_eq!(page.choices("policy"), ["", "default", "gold"]);
    let vdc = vdc.to_string();
    browser.fill_page(&page, &form, &[("name", "shop"), ("vdc", &vdc), ("policy", "gold")]).await.must(303);
    let made = "select string_agg(p.name, ',' order by v.name) from disks k join vms v on v.id = k.vm_id join storage_policies p on p.id = k.policy_id";
    assert_eq!(stage.app.db.text(made).await, "default,gold", "the first machine's, and not the other's");
    let wrong =
        browser.fill_page(&page, &form, &[("name", "two"), ("vdc", &vdc), ("policy", "silver")]).await.must(422);
    wrong.says("The VDC may not use the storage policy silver.");

    // a new disk has the choice too before its VDC is chosen, with the VDCs that have each policy
    let dev = VdcSpec { name: "dev".into(), ..VdcSpec::default() };
    vdc::create(d, &operator, stage.acme.id, dev).await.unwrap();
    let new = browser.get("/tenant/acme/disks/new").await.must(200).says("gold, of prod");
    assert_eq!(new.choices("policy"), ["", "default", "gold"]);
}

#[tokio::test]
async fn a_full_policy_refuses_and_says_what_is_left() {
    let stage = Stage::set().await;
    let (d, operator) = (&stage.app.domain, stage.app.operator().await);
    let policy = storage::create(d, &operator, gold()).await.unwrap();
    let vdc = stage.acme.vdc("prod");
    storage::set_for_vdc(d, &operator, vdc, profile(&stage, policy.id, Some(3 * 1024), false).await).await.unwrap();
    let add = async |name: &str, of: &str, mb: i64| {
        let disk = model::vm::Disk { name: "root".into(), size_mb: mb, policy: of.into(), ..Default::default() };
        let vm = VmSpec { name: name.into(), cpus: 1, memory_mb: 512, disks: vec![disk], ..VmSpec::default() };
        let spec = model::vapp::VappSpec { name: name.into(), vms: vec![vm], ..Default::default() };
        vapp::compose(d, &stage.admin, vdc, spec, vapp::Guest::default()).await
    };
    add("one", "gold", 2048).await.unwrap();
    let full = add("two", "GOLD", 2048).await.err().unwrap();
    assert!(matches!(full, Error::OverQuota(_)) && full.to_string().contains("1 of 3 GB left"), "{full}");
    let unknown = add("three", "silver", 1024).await.err().unwrap();
    assert!(unknown.to_string().contains("It may use: default, gold"), "{unknown}");
    add("four", "", 2048).await.unwrap();
    let sums = "select string_agg(p.name || ' ' || s.used_mb, ', ' order by p.name) from vdc_storage s join storage_policies p on p.id = s.policy_id";
    assert_eq!(stage.app.db.text(sums).await, "default 2048, gold 2048");

    // what is in use stays
    let known = storage::of_vdc(d, &stage.admin, vdc).await.unwrap();
    let only = vec![VdcPolicySpec { id: known[0].id, limit_mb: None, is_default: true }];
    let kept = storage::set_for_vdc(d, &operator, vdc, only).await.err().unwrap();
    assert!(kept.to_string().contains("2 GB of gold are in use here"), "{kept}");
    let refused = storage::delete(d, &operator, policy.id).await.err().unwrap();
    assert!(refused.to_string().contains("1 disk is made of it"), "{refused}");
    let tenant = storage::set_for_vdc(d, &stage.admin, vdc, Vec::new()).await.err().unwrap();
    assert!(matches!(tenant, Error::Forbidden { action: Action::VdcStorage, .. }), "{tenant:?}");
}

#[tokio::test]
async fn the_provider_makes_a_policy_and_gives_it_to_a_vdc_on_its_pages() {
    let stage = Stage::on(&["one", "two"]).await;
    stage
        .until("both hubs' classes", async || {
            stage.app.db.count("hubs where found -> 'storage_classes' @> '[{\"name\": \"fast\"}]'").await == 2
        })
        .await;
    let page = stage.app.provider().await;
    let list = page.get("/provider/storage").await.must(200).text();
    assert!(list.contains("default"), "{list}");
    let form = [("name", "gold"), ("class", "fast"), ("class-two", "slow!")];
    let wrong = page.post("/provider/storage/new", &form).await.must(422);
    assert!(wrong.text().contains("two: The name of a storage class"), "{}", wrong.text());
    assert_eq!(wrong.field("class-two").as_deref(), Some("slow!"));
    let form = [("name", "gold"), ("class", "fast"), ("class-two", "standard")];
    let to = page.post("/provider/storage/new", &form).await.must(303).location().to_owned();
    let made = page.get(&to).await.must(200).text();
    assert!(made.contains("fast") && made.contains("standard"), "{made}");
    let id = to.rsplit('/').next().unwrap().to_owned();

    let vdc = stage.acme.vdc("prod");
    let address = format!("/provider/vdcs/{vdc}/storage");
    assert!(page.get(&address).await.must(200).text().contains("gold"));
    let none = page.post(&address, &[("default_policy", id.as_str())]).await.must(422).text();
    assert!(none.contains("A VDC needs at least one storage policy."), "{none}");
    let limit = format!("limit-{id}");
    let form = [("policies", id.as_str()), (limit.as_str(), "50"), ("default_policy", id.as_str())];
    page.post(&address, &form).await.must(303);
    let tenant = stage.app.sign_in("acme", "acme-admin").await;
    let shown = tenant.get(&format!("/tenant/acme/vdcs/{vdc}")).await.must(200).text();
    assert!(shown.contains("gold") && shown.contains("50 GB"), "{shown}");
}

#[tokio::test]
async fn what_moves_keeps_its_policies_where_they_are_and_its_page_says_what_stays_behind() {
    let stage = Stage::set().await;
    let (d, admin, operator) = (&stage.app.domain, &stage.admin, stage.app.operator().await);
    let gold = storage::create(d, &operator, gold()).await.unwrap().id;
    let (prod, dev) = (stage.acme.vdc("prod"), stage.app.vdc(stage.acme.id, "dev").await);
    for vdc in [prod, dev] {
        let first = storage::of_vdc(d, admin, vdc).await.unwrap()[0].id;
        let policy = |id, is_default| VdcPolicySpec { id, limit_mb: None, is_default };
        storage::set_for_vdc(d, &operator, vdc, vec![policy(first, vdc == dev), policy(gold, vdc == prod)])
            .await
            .unwrap();
    }
    let id = stage.deploy("web-and-db", "shop").await;
    let vms = stage.running(id).await;
    vapp::power(d, admin, id, Action::VappPowerOff).await.unwrap();
    stage.until("stopped VMs", async || stage.vms(id).await.iter().all(|v| v.state() == VmState::Stopped)).await;
    snapshot::create(d, admin, vms[0].id, SnapshotSpec { name: "before".into(), ..SnapshotSpec::default() })
        .await
        .unwrap();
    let archive = DiskSpec { name: "archive".into(), size_mb: 1024, ..DiskSpec::default() };
    let (archive, _) = disk::create(d, admin, prod, archive).await.unwrap();
    stage.until("a disk", async || disk::get(d, admin, archive).await.unwrap().state() == DiskState::Free).await;
    disk::attach(d, admin, vms[1].id, archive).await.unwrap();
    let at_rest = "work where failing <> 'failed'";
    stage.until("rest", async || stage.app.db.count(at_rest).await == 0).await;

    let page = stage.app.sign_in("acme", "acme-admin").await.get(&format!("/tenant/acme/vapps/{id}/move")).await;
    page.must(200)
        .says(&format!("The snapshots of {} are not copied", vms[0].name))
        .says("Independent disks stay in their VDC, in no VM: archive.");
    let moved = copy::move_vapp(d, admin, id, dev).await.unwrap().vapp;
    stage.until("the move's end", async || stage.task_of(moved.0, Action::VappMove).await.0.ended()).await;
    let now = stage.vms(moved).await;
    assert!(now.iter().flat_map(|vm| &vm.disks).all(|k| k.policy == "gold"), "{now:#?}");
    let volumes = stage.hubs.hub("one").objects("cdi.kubevirt.io", "datavolumes");
    let of_move = volumes.iter().filter(|v| v["metadata"]["namespace"] == now[0].namespace.as_str());
    assert!(of_move.clone().count() > 0 && of_move.clone().all(|v| v["spec"]["storage"]["storageClassName"] == "fast"));
    assert_eq!(disk::get(d, admin, archive).await.unwrap().vdc, prod);
}
