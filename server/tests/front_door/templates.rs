//! What hubs have for catalogs where they do not say all, or say it twice.
use crate::{
    harness::Client,
    stage::{Stage, VMS},
};
use domain::{hub as hubs, vapp};
use hub::resource::{DATA_SOURCES, NAMESPACES, TEMPLATES, VOLUME_CLAIMS};
use model::{Action, VappId, task::TaskStatus};
use serde_json::{Value, json};

impl Stage {
    /// With a namespace of templates beside the usual one, and these in it.
    async fn golden(&self, templates: &[Value]) {
        let labels = json!({"app": "golden"});
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "golden", "labels": labels}});
        self.hubs.plant("one", &NAMESPACES, &space, "app").await;
        for template in templates {
            self.hubs.plant("one", &TEMPLATES, template, "app").await;
        }
        self.hubs.kill_controller();
        self.app.db.execute("update hubs set lease_until = '-infinity'").await;
        self.hubs.start_controller_for(&self.app, &["openshift", "golden"]);
    }

    /// An image of 100 GB that could be deployed.
    async fn image(&self, space: &str, name: &str) {
        let volume = format!("{name}-image");
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": volume, "namespace": space, "labels": {"app": "golden"}},
            "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "standard", "volumeName": format!("pvc-{name}"),
                     "resources": {"requests": {"storage": "100Gi"}}},
            "status": {"phase": "Bound", "capacity": {"storage": "100Gi"}},
        });
        self.hubs.plant("one", &VOLUME_CLAIMS, &claim, "app").await;
        let source = json!({
            "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource",
            "metadata": {"name": name, "namespace": space, "labels": {
                "app": "golden", "instancetype.kubevirt.io/default-instancetype": "u1.medium"}},
            "spec": {"source": {"pvc": {"name": volume, "namespace": space}}},
        });
        self.hubs.plant("one", &DATA_SOURCES, &source, "app").await;
    }

    /// The address of a template's page, when it is in the catalog.
    async fn page_of(&self, name: &str) -> String {
        self.until(name, async || self.template(name).await.is_some()).await;
        format!("/tenant/acme/templates/{}", self.template(name).await.unwrap().id)
    }

    /// Deployed through its form with what is typed; the VM as its hub has it.
    async fn deployed(&self, by: &Client, template: &str, typed: &[(&str, &str)]) -> Value {
        let made = by.fill(&format!("{}/deploy", self.page_of(template).await), typed).await.must(303);
        let id: VappId = made.location().rsplit('/').next().unwrap().parse().unwrap();
        self.until("its VM", async || self.vms(id).await.iter().all(|v| v.made)).await;
        self.object(&self.vms(id).await[0]).unwrap()
    }
}

/// One disk of 1 GB that is filled from there.
fn filled_from(name: &str, source: Value) -> Value {
    let devices = json!({"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}, "cpu": {"sockets": 1}, "memory": {"guest": "2Gi"}});
    let mut disk = source;
    disk["storage"] = json!({"resources": {"requests": {"storage": "1Gi"}}});
    template(name, devices, disk)
}

fn template(name: &str, domain: Value, disk: Value) -> Value {
    json!({
        "apiVersion": "template.openshift.io/v1", "kind": "Template",
        "metadata": {"name": name, "namespace": "golden", "labels": {"app": "golden"}},
        "objects": [{
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "${NAME}"},
            "spec": {
                "runStrategy": "Halted",
                "dataVolumeTemplates": [{"metadata": {"name": "${NAME}"}, "spec": disk}],
                "template": {"spec": {"domain": domain, "volumes": [{"name": "root", "dataVolume": {"name": "${NAME}"}}]}},
            },
        }],
        "parameters": [{"name": "NAME", "generate": "expression", "from": "x-[a-z]{4}"}],
    })
}

#[tokio::test]
async fn templates_of_one_name_in_two_namespaces_are_both_there() {
    let stage = Stage::set().await;
    let devices =
        json!({"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}, "memory": {"guest": "2Gi"}});
    let disk = json!({"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}});
    stage.golden(&[template("fedora-43", devices, disk)]).await;
    stage.until("the second", async || stage.template("fedora-43 (golden)").await.is_some()).await;
    let (first, second) =
        (stage.template("fedora-43").await.unwrap(), stage.template("fedora-43 (golden)").await.unwrap());
    assert_eq!(first.source, "template/openshift/fedora-43");
    assert_eq!(second.source, "template/golden/fedora-43");
}

#[tokio::test]
async fn images_in_other_projects_of_a_hub_are_offered_to_nobody() {
    let stage = Stage::set().await;
    let labels = json!({"app": "golden"});
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "payroll", "labels": labels}});
    stage.hubs.plant("one", &NAMESPACES, &space, "app").await;
    stage.image("payroll", "ledger").await;
    // what comes later and is for everybody shows that the first one was read as well
    stage.image("openshift-virtualization-os-images", "public").await;
    stage.until("the public one", async || stage.template("public").await.is_some()).await;
    assert!(stage.template("ledger").await.is_none());
}

#[tokio::test]
async fn what_a_template_does_not_say_is_unknown_and_asked_for() {
    let stage = Stage::set().await;
    // an image that is larger than most
    let space = "openshift-virtualization-os-images";
    stage.image(space, "big").await;
    let devices = json!({"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}});
    let disk = json!({"source": {"registry": {"url": "docker://quay.io/example/silent"}}, "storage": {}});
    stage.golden(&[template("silent", devices, disk)]).await;
    stage.until("the image", async || stage.template("big").await.is_some()).await;
    let big = stage.template("big").await.unwrap();
    stage.until("its size", async || stage.template("big").await.unwrap().vms[0].disks[0].size_mb == 100 * 1024).await;
    let page = stage.app.sign_in("acme", "acme-admin").await;
    page.get(&format!("/tenant/acme/templates/{}", big.id)).await.must(200).says("100 GB");

    stage.until("the silent one", async || stage.template("silent").await.is_some()).await;
    let silent = stage.template("silent").await.unwrap();
    assert_eq!((silent.cpus(), silent.memory_mb(), silent.storage_mb()), (None, None, None));
    page.get(&format!("/tenant/acme/templates/{}", silent.id)).await.must(200).says("unknown").says_not("30 GB");
    let form = format!("/tenant/acme/templates/{}/deploy", silent.id);
    let back = page.fill(&form, &[("name", "quiet"), ("power", "")]).await.must(422);
    assert_eq!((back.field("cpus").as_deref(), back.field("disk").as_deref()), (Some(""), Some("")));
    assert!(back.error_of("cpus").is_some() && back.error_of("memory").is_some() && back.error_of("disk").is_some());
    let ask = vapp::Deploy { name: "quiet".into(), ..vapp::Deploy::default() };
    let vdc = stage.acme.vdc("prod");
    let refused = vapp::deploy(&stage.app.domain, &stage.admin, vdc, silent.id, ask).await.err().unwrap();
    assert!(
        refused.fields().iter().any(|f| f.message.contains("Nobody said how large the disk root is.")),
        "{refused:?}"
    );
    let typed = [("name", "quiet"), ("cpus", "2"), ("memory", "3"), ("disk", "50")];
    let made = page.fill(&form, &typed).await.must(303);
    let id = made.location().rsplit('/').next().unwrap().parse().unwrap();
    stage.until("its VM", async || stage.vms(id).await.iter().all(|v| v.made)).await;
    let vm = stage.vms(id).await.remove(0);
    assert_eq!((vm.cpus, vm.memory_mb, vm.storage_mb()), (2, 3072, 50 * 1024));
}

#[tokio::test]
async fn a_template_with_a_disk_of_an_unknown_source_is_shown_with_the_reason_and_not_deployed() {
    let stage = Stage::set().await;
    let mut there = filled_from("there", json!({"source": {"blank": {}}}));
    there["objects"][0]["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "root", "persistentVolumeClaim": {"claimName": "theirs"}}]);
    stage.golden(&[filled_from("from-s3", json!({"source": {"s3": {"url": "https://s3.example/x"}}})), there]).await;
    let admin = stage.app.sign_in("acme", "acme-admin").await;
    for (name, why) in [
        ("from-s3", "its disk root is filled from s3, which is not known here"),
        ("there", "its disk root is the volume theirs, which is not in the template"),
    ] {
        let page = stage.page_of(name).await;
        admin.get(&page).await.must(200).says("Not deployable").says(why);
        admin.get(&format!("{page}/deploy")).await.must(200).says("Not now").says(why);
        let ask = vapp::Deploy { name: name.into(), ..vapp::Deploy::default() };
        let id = stage.template(name).await.unwrap().id;
        let refused =
            vapp::deploy(&stage.app.domain, &stage.admin, stage.acme.vdc("prod"), id, ask).await.err().unwrap();
        assert!(refused.to_string().contains(why), "{refused}");
    }
    assert_eq!((stage.app.db.count("vapps").await, stage.hubs.count("one", VMS)), (0, 0));
    // OpenShift would know how
    let mark = |t: &mut Value| t["metadata"]["annotations"] = json!({"ssvirt.io/instantiate": "template-instance"});
    assert!(stage.hubs.hub("one").edit("template.openshift.io", "templates", "golden", "from-s3", mark).unwrap());
    let page = stage.page_of("from-s3").await;
    stage.until("the mark", async || admin.get(&page).await.must(200).body.contains("The hub makes its VMs")).await;
    admin.get(&page).await.says_not("Not deployable");
}

#[tokio::test]
async fn disks_are_filled_from_what_their_template_says() {
    let stage = Stage::set().await;
    let object = json!({"namespace": "golden", "name": "rhel"});
    let sources = [
        ("of-a-claim", json!({"pvc": object})),
        ("of-a-snapshot", json!({"snapshot": object})),
        ("of-a-web-server", json!({"http": {"url": "http://images.example/rhel.qcow2"}})),
        ("of-a-registry", json!({"registry": {"url": "docker://quay.io/example/rhel"}})),
        ("of-nothing", json!({"blank": {}})),
    ];
    let mut all: Vec<Value> = sources.iter().map(|(name, s)| filled_from(name, json!({"source": s}))).collect();
    let mut container = filled_from("of-a-container", json!({}));
    container["objects"][0]["spec"]["dataVolumeTemplates"] = json!([]);
    container["objects"][0]["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "root", "containerDisk": {"image": "quay.io/example/rhel:9"}}]);
    all.push(container);
    stage.golden(&all).await;
    let admin = stage.app.sign_in("acme", "acme-admin").await;
    for (name, source) in sources {
        let vm = stage.deployed(&admin, name, &[("name", name)]).await;
        assert_eq!(vm["spec"]["dataVolumeTemplates"][0]["spec"]["source"], source, "{name}");
    }
    // an image of a container says not how large a disk is
    let form = format!("{}/deploy", stage.page_of("of-a-container").await);
    let back = admin.fill(&form, &[("name", "contained")]).await.must(422);
    assert!(back.error_of("disk").is_some());
    let vm = stage.deployed(&admin, "of-a-container", &[("name", "contained"), ("disk", "5")]).await;
    let disk = &vm["spec"]["dataVolumeTemplates"][0]["spec"];
    assert_eq!(disk["source"], json!({"registry": {"url": "docker://quay.io/example/rhel:9"}}));
    assert_eq!(disk["storage"]["resources"]["requests"]["storage"], "5120Mi");
}

#[tokio::test]
async fn a_disk_that_nobody_knows_how_to_fill_ends_the_task_and_is_not_made_empty() {
    let stage = Stage::set().await;
    let operator = stage.app.operator().await;
    hubs::set_cordoned(&stage.app.domain, &operator, &"one".into(), true).await.unwrap();
    let id = stage.deploy("fedora-43", "shop").await;
    // as an earlier release wrote it down
    stage.app.db.execute("update disks set image = '${IMAGE_URL}'").await;
    hubs::set_cordoned(&stage.app.domain, &operator, &"one".into(), false).await.unwrap();
    stage.until("the failure", async || stage.task_of(id.0, Action::VappCreate).await.0 == TaskStatus::Error).await;
    let why = stage.task_of(id.0, Action::VappCreate).await.1;
    assert!(
        why.contains("The disk rootdisk can't be made. It is not known how a disk is filled from ${IMAGE_URL}."),
        "{why}"
    );
    assert_eq!(stage.hubs.count("one", VMS), 0);
}

/// Asks for its system, which has no default, for the size of a second disk, and for things that make no difference here.
fn asking() -> Value {
    let mut t = filled_from(
        "asking",
        json!({"sourceRef": {"kind": "DataSource", "namespace": "${SPACE}", "name": "${SYSTEM}"}}),
    );
    t["parameters"] = json!([
        {"name": "NAME", "generate": "expression", "from": "x-[a-z]{4}"},
        {"name": "SPACE", "value": "openshift-virtualization-os-images", "required": true},
        {"name": "SYSTEM", "displayName": "System", "required": true},
        {"name": "DATA", "displayName": "Data disk", "value": "2Gi"},
        {"name": "MEMORY", "displayName": "Memory of it", "value": "2Gi"},
        {"name": "CLOUD_USER_PASSWORD", "displayName": "Their password", "generate": "expression", "from": "[a-z]{4}"},
    ]);
    let vm = &mut t["objects"][0]["spec"];
    vm["template"]["spec"]["domain"]["memory"]["guest"] = json!("${MEMORY}");
    let data = json!({"metadata": {"name": "${NAME}-data"}, "spec": {
        "source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "${DATA}"}}}}});
    vm["dataVolumeTemplates"].as_array_mut().unwrap().push(data);
    let volumes = vm["template"]["spec"]["volumes"].as_array_mut().unwrap();
    volumes.push(json!({"name": "data", "dataVolume": {"name": "${NAME}-data"}}));
    volumes.push(json!({"name": "ci", "cloudInitNoCloud": {"userData": "password: ${CLOUD_USER_PASSWORD}"}}));
    t
}

#[tokio::test]
async fn what_a_template_asks_for_is_asked_checked_beside_its_field_and_put_in() {
    let stage = Stage::set().await;
    stage.golden(&[asking()]).await;
    let admin = stage.app.sign_in("acme", "acme-admin").await;
    let page = stage.page_of("asking").await;
    // only what makes a difference; where images are is the provider's to say
    admin.get(&page).await.must(200).says("System").says("it is needed").says_not("Their password").says_not("SPACE");
    let form = format!("{page}/deploy");
    let back = admin.fill(&form, &[("name", "shop"), ("parameter.DATA", "much")]).await.must(422);
    assert_eq!(back.error_of("parameters").as_deref(), Some("System is needed."));
    assert_eq!(back.error_of("parameter.DATA").as_deref(), Some("Data disk takes an amount, such as 4Gi."));
    // out of the namespace of images
    let back = admin.fill(&form, &[("name", "shop"), ("parameter.SYSTEM", "../acme-prod/root")]).await.must(422);
    assert!(back.error_of("parameters").unwrap().starts_with("System takes the name of something on a hub"));
    assert_eq!(stage.app.db.count("vapps").await, 0);

    let d = &stage.app.domain;
    let id = stage.template("asking").await.unwrap().id;
    let ask = |given: &[(&str, &str)]| vapp::Deploy {
        name: "direct".into(),
        parameters: given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        ..vapp::Deploy::default()
    };
    for (given, why) in [
        (&[][..], "System is needed."),
        (&[("SYSTEM", "fedora"), ("SPACE", "acme-prod")][..], "The template asking has no parameter SPACE."),
        (&[("SYSTEM", "fedora"), ("MEMORY", "lots")][..], "Memory of it takes an amount, such as 4Gi."),
    ] {
        let refused = vapp::deploy(d, &stage.admin, stage.acme.vdc("prod"), id, ask(given)).await.err().unwrap();
        assert!(refused.fields().iter().any(|f| f.field == "parameters" && f.message == why), "{refused:?}");
    }

    let typed = [("name", "shop"), ("parameter.SYSTEM", "fedora"), ("parameter.DATA", "3Gi")];
    let vm = stage.deployed(&admin, "asking", &typed).await;
    let disks = &vm["spec"]["dataVolumeTemplates"];
    assert_eq!(
        (&disks[0]["spec"]["sourceRef"]["name"], &disks[0]["spec"]["sourceRef"]["namespace"]),
        (&json!("fedora"), &json!("openshift-virtualization-os-images"))
    );
    assert_eq!(disks[1]["spec"]["storage"]["resources"]["requests"]["storage"], "3072Mi");
    let given = ask(&[("SYSTEM", "fedora"), ("MEMORY", "3Gi")]);
    let made = vapp::deploy(d, &stage.admin, stage.acme.vdc("prod"), id, given).await.unwrap().vapp;
    assert_eq!(stage.vms(made).await[0].memory_mb, 3072);
}

#[tokio::test]
async fn an_image_that_the_hub_does_not_have_is_named_and_nothing_is_made() {
    let stage = Stage::set().await;
    stage.golden(&[asking()]).await;
    let admin = stage.app.sign_in("acme", "acme-admin").await;
    let form = format!("{}/deploy", stage.page_of("asking").await);
    let made = admin.fill(&form, &[("name", "shop"), ("parameter.SYSTEM", "fedroa")]).await.must(303);
    let id: model::VappId = made.location().rsplit('/').next().unwrap().parse().unwrap();
    stage.until("the failure", async || stage.task_of(id.0, Action::VappCreate).await.0 == TaskStatus::Error).await;
    let why = stage.task_of(id.0, Action::VappCreate).await.1;
    let says = "The hub has no image fedroa in the namespace openshift-virtualization-os-images. Delete it and deploy";
    assert!(why.contains(says), "{why}");
    admin.get(made.location()).await.must(200).says(says);
    assert_eq!(stage.hubs.count("one", VMS), 0);
}

#[tokio::test]
async fn machines_of_several_are_named_by_what_is_given() {
    let stage = Stage::set().await;
    let mut two = filled_from("two", json!({"source": {"blank": {}}}));
    two["parameters"].as_array_mut().unwrap().push(json!({"name": "STAGE", "value": "dev"}));
    let mut second = two["objects"][0].clone();
    two["objects"][0]["metadata"]["name"] = json!("${NAME}-${STAGE}-web");
    second["metadata"]["name"] = json!("${NAME}-${STAGE}-db");
    two["objects"].as_array_mut().unwrap().push(second);
    stage.golden(&[two]).await;
    let admin = stage.app.sign_in("acme", "acme-admin").await;
    let form = format!("{}/deploy", stage.page_of("two").await);
    let made = admin.fill(&form, &[("name", "shop"), ("parameter.STAGE", "prod")]).await.must(303);
    let id = made.location().rsplit('/').next().unwrap().parse().unwrap();
    let mut names: Vec<String> = stage.vms(id).await.into_iter().map(|v| v.name).collect();
    names.sort();
    assert_eq!(names, ["prod-db", "prod-web"]);
}

#[tokio::test]
async fn title_and_icon_are_shown_and_deprecated_is_told_from_vanished() {
    let stage = Stage::set().await;
    let mut old = filled_from("old", json!({"source": {"blank": {}}}));
    old["metadata"]["annotations"] = json!({
        "openshift.io/display-name": "The old one", "iconClass": "icon-centos", "template.kubevirt.io/deprecated": "true"});
    stage.golden(&[old]).await;
    let admin = stage.app.sign_in("acme", "acme-admin").await;
    let page = stage.page_of("old").await;
    let shown = admin.get(&page).await.must(200).says("The old one").says("Deprecated").says_not("Vanished");
    assert!(shown.body.contains("class=\"mark\"") && shown.text().contains("Ce"), "{}", shown.body);
    shown.says("old is marked as deprecated on its hub");
    let t = stage.template("old").await.unwrap();
    admin.get(&format!("/tenant/acme/catalogs/{}", t.catalog)).await.must(200).says("The old one").says("Deprecated");
    let ask = || vapp::Deploy { name: "shop".into(), ..vapp::Deploy::default() };
    let vdc = stage.acme.vdc("prod");
    let refused = vapp::deploy(&stage.app.domain, &stage.admin, vdc, t.id, ask()).await.err().unwrap().to_string();
    assert!(refused.contains("old is marked as deprecated on its hub"), "{refused}");

    let hub = stage.hubs.hub("one");
    let (group, kind) = ("template.openshift.io", "templates");
    let back = |t: &mut Value| t["metadata"]["annotations"]["template.kubevirt.io/deprecated"] = json!("false");
    assert!(hub.edit(group, kind, "golden", "old", back).unwrap());
    stage.until("its return", async || !stage.template("old").await.unwrap().deprecated).await;
    admin.get(&page).await.must(200).says("Available").says_not("Deprecated");
    assert!(hub.remove(group, kind, "golden", "old").unwrap());
    stage.until("its end", async || stage.template("old").await.unwrap().vanished()).await;
    admin.get(&page).await.must(200).says("Vanished").says("it is gone there").says_not("Deprecated");
    let refused = vapp::deploy(&stage.app.domain, &stage.admin, vdc, t.id, ask()).await.err().unwrap().to_string();
    assert!(refused.contains("old is offered by no hub any more: it is gone there."), "{refused}");
}

#[tokio::test]
async fn a_templates_machine_is_added_to_a_vapp_that_is_there() {
    let stage = Stage::set().await;
    let shop = stage.deploy("web-and-db", "shop").await;
    stage.running(shop).await;
    let page = stage.app.sign_in("acme", "acme-admin").await;
    let form = page.get(&format!("/tenant/acme/vapps/{shop}/add")).await.must(200).link("ubuntu-24.04").unwrap();
    assert!(form.ends_with(&format!("/deploy?into={shop}")), "{form}");
    let shown = page.get(&form).await.must(200).says("Into the vApp");
    assert!(shown.choices("vdc").is_empty(), "the vApp's");
    page.fill_page(&shown, &form, &[("name", "web")]).await.must(409).says("Another VM of this vApp has that name");
    page.fill_page(&shown, &form, &[("name", "-"), ("cpus", "0")]).await.must(422);
    let done = page.fill_page(&shown, &form, &[("name", "cache"), ("cpus", "2"), ("power_on", "on")]).await;
    page.follow(done).await.says("VM cache is asked for.").says("cache");
    let vms = stage.running(shop).await;
    let cache = vms.iter().find(|vm| vm.name == "cache").unwrap();
    assert_eq!((vms.len(), cache.cpus, cache.hub.as_ref()), (3, 2, vms[0].hub.as_ref()));
    assert!(!cache.disks[0].image.is_empty(), "{:?}", cache.disks);
    assert_eq!(stage.app.db.count("vapps where deleted_at is null").await, 1);

    // another's vApp is not there
    stage.app.org("globex").vdc("lab").make().await;
    let stranger = stage.app.sign_in("globex", "globex-admin").await;
    let theirs = form.replace("/tenant/acme/", "/tenant/globex/");
    stranger.get(&theirs).await.must(404);
    stranger.post(&theirs, &[("name", "mine")]).await.must(404);
}
