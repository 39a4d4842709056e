//! Sizing policies from the provider's form to instance types on hubs, and VMs that take one.
use crate::{harness::TestApp, stage::Stage};
use domain::{sizing, vapp, vm};
use hub::shape::names::size_name;
use model::{
    Action, SizingId,
    sizing::SizingSpec,
    task::TaskStatus,
    vapp::VappSpec,
    vm::{Power, VmSpec, VmState},
};

const TYPES: (&str, &str) = ("instancetype.kubevirt.io", "virtualmachineclusterinstancetypes");

impl Stage {
    pub(crate) async fn size(&self, name: &str, cpus: i32, memory_mb: i64) -> SizingId {
        let spec = SizingSpec { name: name.into(), cpus, memory_mb, ..SizingSpec::default() };
        let operator = self.app.operator().await;
        let id = sizing::create(&self.app.domain, &operator, spec).await.unwrap().id;
        let vdc = self.acme.vdc("prod");
        let mut all: Vec<_> = sizing::choices(&self.app.domain, &[vdc]).await.unwrap().iter().map(|p| p.id).collect();
        all.push(id);
        sizing::set_for_vdc(&self.app.domain, &operator, vdc, all, Some(id)).await.unwrap();
        id
    }

    fn on_hub(&self, id: SizingId) -> bool {
        self.hubs.hub("one").object(TYPES.0, TYPES.1, "", &size_name(id.0)).is_some()
    }
}

#[tokio::test]
async fn a_size_is_made_on_the_hub_where_a_vm_needs_it_and_goes_when_nobody_does() {
    let stage = Stage::set().await;
    let (d, admin, operator) = (&stage.app.domain, &stage.admin, stage.app.operator().await);
    let size = stage.size("small", 3, 3072).await;
    let many = stage.hubs.count("one", TYPES);
    assert!(!stage.on_hub(size), "not before somebody needs it");
    let id = vapp::compose(
        d,
        admin,
        stage.acme.vdc("prod"),
        VappSpec { name: "a".into(), ..VappSpec::default() },
        Default::default(),
    )
    .await
    .unwrap()
    .vapp;
    let page = stage.app.sign_in("acme", "acme-admin").await;
    let path = format!("/tenant/acme/vapps/{id}/add");
    let form = page.get(&path).await.must(200).says("small: 3 vCPU and 3 GB");
    assert_eq!(form.field("sizing"), Some(size.to_string()), "the VDC's default is offered first");
    page.fill(&path, &[("name", "web"), ("cpus", "16"), ("memory", "64")]).await.must(303);
    let one = stage.running(id).await.remove(0);
    assert_eq!((one.cpus, one.memory_mb), (3, 3072), "the policy's, not what was typed");
    assert_eq!(one.sizing.as_ref().map(|(id, name)| (*id, name.as_str())), Some((size, "small")));
    assert!(stage.on_hub(size));
    assert_eq!(stage.object(&one).unwrap()["spec"]["instancetype"]["name"], size_name(size.0).as_str());
    stage.until("what it has", async || stage.vm(one.id).await.seen_cpus == Some(3)).await;
    page.get(&format!("/tenant/acme/vms/{}", one.id)).await.must(200).says("small");
    let used =
        stage.app.db.text("select cpus_used || ' ' || memory_used_mb from organizations where name = 'acme'").await;
    assert_eq!(used, "3 3072");

    let refused = sizing::delete(d, &operator, size).await.unwrap_err();
    assert!(refused.to_string().contains("VMs have it: web. Resize or delete them first."), "{refused}");
    vm::resize(d, admin, one.id, 2, 2048).await.unwrap();
    stage.until("its own size", async || stage.object(&one).unwrap()["spec"]["instancetype"].is_null()).await;
    let refused = sizing::delete(d, &operator, size).await.unwrap_err();
    assert!(refused.to_string().contains("VDCs may use it: prod."), "{refused}");
    sizing::set_for_vdc(d, &operator, stage.acme.vdc("prod"), Vec::new(), None).await.unwrap();
    sizing::delete(d, &operator, size).await.unwrap();
    stage.until("its end", async || stage.task_of(size.0, Action::SizingDelete).await.0 == TaskStatus::Success).await;
    assert!(!stage.on_hub(size));
    assert_eq!(stage.hubs.count("one", TYPES), many, "what others made stays");
}

#[tokio::test]
async fn a_template_is_deployed_and_a_vm_resized_at_a_policys_size() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let (small, large) = (stage.size("small", 1, 2048).await, stage.size("large", 4, 8192).await);
    let template = stage.template("web-and-db").await.unwrap();
    let size = vapp::Size { sizing: Some(small), ..vapp::Size::default() };
    let ask = vapp::Deploy {
        name: "shop".into(),
        power_on: true,
        sizes: [(template.vms[0].name.clone(), size)].into(),
        ..vapp::Deploy::default()
    };
    let id = vapp::deploy(d, admin, stage.acme.vdc("prod"), template.id, ask).await.unwrap().vapp;
    let vms = stage.running(id).await;
    let typed: Vec<_> = vms.iter().filter(|v| v.sizing.is_some()).collect();
    assert_eq!(typed.len(), 1);
    assert_eq!((typed[0].cpus, typed[0].memory_mb), (1, 2048));
    let one = typed[0].clone();
    let page = stage.app.sign_in("acme", "acme-admin").await;
    page.fill(&format!("/tenant/acme/vms/{}/resize", one.id), &[("sizing", &large.to_string())]).await.must(303);
    stage
        .until("the type", async || {
            stage.object(&one).unwrap()["spec"]["instancetype"]["name"] == size_name(large.0).as_str()
        })
        .await;
    assert_eq!(stage.vm(one.id).await.cpus, 4);
    stage.until("its task", async || stage.task_of(one.id.0, Action::VmResize).await.0 == TaskStatus::Success).await;
    assert_eq!(stage.vm(one.id).await.state(), VmState::Running);
}

#[tokio::test]
async fn a_size_that_somebody_takes_away_or_changes_on_a_hub_is_made_again() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let size = stage.size("small", 3, 3072).await;
    let one = |name: &str| VappSpec {
        name: name.into(),
        vms: vec![VmSpec {
            name: name.into(),
            cpus: 1,
            memory_mb: 1024,
            sizing: Some(size),
            power: Power::On,
            ..VmSpec::default()
        }],
        ..VappSpec::default()
    };
    let id = vapp::compose(d, admin, stage.acme.vdc("prod"), one("a"), Default::default()).await.unwrap().vapp;
    stage.running(id).await;
    let (hub, name) = (stage.hubs.hub("one"), size_name(size.0));
    let there = || hub.object(TYPES.0, TYPES.1, "", &name).map(|o| (*o).clone()).unwrap_or_default();
    let uid = there()["metadata"]["uid"].clone();
    assert!(hub.remove(TYPES.0, TYPES.1, "", &name).unwrap());
    stage.until("it again", async || there()["metadata"]["uid"].is_string() && there()["metadata"]["uid"] != uid).await;
    hub.edit(TYPES.0, TYPES.1, "", &name, |o| o["spec"]["cpu"]["guest"] = 64.into()).unwrap();
    stage.until("its own size", async || there()["spec"]["cpu"]["guest"] == 3).await;
    let ready = "sizing_places where ready_at is not null";
    stage.until("word of it", async || stage.app.db.count(ready).await == 1).await;
    let id = vapp::compose(d, admin, stage.acme.vdc("prod"), one("b"), Default::default()).await.unwrap().vapp;
    assert_eq!(stage.running(id).await[0].cpus, 3);
}

#[tokio::test]
async fn a_hub_without_instance_types_of_its_own_gets_those_of_policies() {
    let stage = Stage::set().await;
    let (d, admin, hub) = (&stage.app.domain, &stage.admin, stage.hubs.hub("one"));
    stage.hubs.kill_controller();
    for kind in hub.objects(TYPES.0, TYPES.1) {
        hub.remove(TYPES.0, TYPES.1, "", kind["metadata"]["name"].as_str().unwrap()).unwrap();
    }
    stage.hubs.start_controller(&stage.app);
    let bare =
        "hubs where 'instance-types' = any(offers) and coalesce(jsonb_array_length(found -> 'instance_types'), 0) = 0";
    stage.until("a look at it", async || stage.app.db.count(bare).await == 1).await;
    let size = stage.size("small", 3, 3072).await;
    let spec = VappSpec {
        name: "a".into(),
        vms: vec![VmSpec {
            name: "a".into(),
            cpus: 1,
            memory_mb: 1024,
            sizing: Some(size),
            power: Power::On,
            ..VmSpec::default()
        }],
        ..VappSpec::default()
    };
    let id = vapp::compose(d, admin, stage.acme.vdc("prod"), spec, Default::default()).await.unwrap().vapp;
    let one = stage.running(id).await.remove(0);
    assert!(stage.on_hub(size));
    assert_eq!(stage.object(&one).unwrap()["spec"]["instancetype"]["name"], size_name(size.0).as_str());
}

#[tokio::test]
async fn a_vdc_takes_only_the_sizes_it_may_use() {
    let stage = Stage::set().await;
    let (d, admin, operator) = (&stage.app.domain, &stage.admin, stage.app.operator().await);
    let spec = SizingSpec { name: "other".into(), cpus: 1, memory_mb: 1024, ..SizingSpec::default() };
    let other = sizing::create(d, &operator, spec.clone()).await.unwrap();
    let vapp = VappSpec {
        name: "a".into(),
        vms: vec![VmSpec { name: "a".into(), cpus: 1, memory_mb: 1024, sizing: Some(other.id), ..VmSpec::default() }],
        ..VappSpec::default()
    };
    let refused =
        vapp::compose(d, admin, stage.acme.vdc("prod"), vapp, Default::default()).await.map(drop).unwrap_err();
    assert_eq!(refused.fields()[0].field, "sizing");
    // words change, the size stays
    let edited = SizingSpec { name: "renamed".into(), cpus: 8, ..spec };
    let edited = sizing::edit(d, &operator, other.id, other.version, edited).await.unwrap();
    assert_eq!((edited.name.as_str(), edited.cpus), ("renamed", 1));
}

#[tokio::test]
async fn the_provider_makes_edits_and_deletes_a_policy_in_the_portal() {
    let app = TestApp::start().await;
    let acme = app.org("acme").vdc("prod").make().await;
    let page = app.provider().await;
    page.get("/provider/sizing").await.must(200).says("No sizing policies yet");
    let back = page
        .fill("/provider/sizing/new", &[("name", "no spaces"), ("cpus", "0"), ("cpu_reservation", "101")])
        .await
        .must(422);
    for field in ["name", "cpus", "cpu_reservation"] {
        assert!(back.error_of(field).is_some(), "{field}");
    }
    let made = page.fill("/provider/sizing/new", &[("name", "small"), ("cpus", "2"), ("memory", "4")]).await.must(303);
    let at = made.location().to_owned();
    page.follow(made).await.says("On none yet").says("4 GB");
    let vdc = format!("/provider/vdcs/{}/sizing", acme.vdc("prod"));
    let id = at.rsplit('/').next().unwrap().to_owned();
    let back = page.fill(&vdc, &[("default_size", &id)]).await.must(422);
    assert_eq!(back.error_of("default_size").as_deref(), Some("Choose one of the ticked policies, or none."));
    page.fill(&vdc, &[("sizes", &id), ("default_size", &id)]).await.must(303);
    page.get(&format!("/tenant/acme/vdcs/{}", acme.vdc("prod")))
        .await
        .must(200)
        .says("2 vCPU and 4 GB")
        .says("offered first");
    page.get(&at).await.must(200).says("prod");
    page.post(&format!("{at}/delete"), &[]).await.must(409).says("VDCs may use it: prod.");
    page.fill(&format!("{at}/edit"), &[("description", "for web servers")]).await.must(303);
    page.get(&at).await.must(200).says("for web servers");
}

#[tokio::test]
async fn a_policy_begins_with_an_instance_type_that_hubs_have() {
    let stage = Stage::on(&["one", "two"]).await;
    stage
        .until("both hubs' types", async || {
            stage.app.db.count("hubs where jsonb_array_length(found -> 'instance_types') > 0").await == 2
        })
        .await;
    let page = stage.app.provider().await;
    let list = page.get("/provider/sizing").await.must(200).says("u1.medium").says("one, two");
    let made = page.get(&list.link("Make a policy").unwrap().replace("&amp;", "&")).await.must(200);
    let name = made.field("name").unwrap();
    let of_hub = sizing::on_hubs(&stage.app.domain, &stage.app.operator().await).await.unwrap();
    let size = of_hub.iter().find(|s| s.name == name).unwrap();
    assert_eq!(made.field("cpus"), Some(size.cpus.to_string()));
    page.fill_page(&made, "/provider/sizing/new", &[]).await.must(303);
    let policy = "select cpus || ' ' || memory_mb from sizing_policies where name = '";
    assert_eq!(stage.app.db.text(&format!("{policy}{name}'")).await, format!("{} {}", size.cpus, size.memory_mb));
    let tenant = sizing::on_hubs(&stage.app.domain, &stage.admin).await.unwrap_err();
    assert!(matches!(tenant, model::Error::Forbidden { .. }), "{tenant:?}");
}
