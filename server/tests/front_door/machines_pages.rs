//! Pages of vApps, VMs, catalogs and templates, without a hub: what hubs would report is written by the test.
use crate::harness::{TestApp, TestOrg};
use domain::{catalog, network, vapp};
use model::{
    CatalogId, OrgId, VappId, catalog::CatalogSpec, network::NetworkForm, role::Predefined::*, vapp::VappSpec,
    vm::VmSpec,
};

/// One machine and its disk.
pub(crate) const WEB: &str =
    r#"[{"name": "web", "cpus": 2, "memory_mb": 4096, "os": "fedora", "disks": [{"name": "root", "size_mb": 30720}]}]"#;

pub(crate) struct Stage {
    pub(crate) app: TestApp,
    pub(crate) acme: TestOrg,
}

impl Stage {
    pub(crate) async fn set() -> Stage {
        let app = TestApp::start().await;
        let acme = app.org("acme").vdc("prod").user("builder", VappAuthor).user("other", VappAuthor).make().await;
        Stage { app, acme }
    }

    pub(crate) async fn catalog(&self, org: OrgId, name: &str, shared_to_all: bool) -> CatalogId {
        let spec = CatalogSpec { name: name.into(), shared_to_all, open: true, ..CatalogSpec::default() };
        catalog::create(&self.app.domain, &self.app.operator().await, org, spec).await.unwrap().id
    }

    /// `more`: further columns and their values.
    pub(crate) async fn template(&self, catalog: CatalogId, name: &str, vms: &str, more: (&str, &str)) -> String {
        let (columns, values) = more;
        let sql = format!(
            "insert into templates (id, catalog_id, org_id, name, vms{columns})
             select gen_random_uuid(), id, org_id, '{name}', '{vms}'{values} from catalogs where id = '{catalog}'
             returning id::text"
        );
        self.app.db.text(&sql).await
    }

    /// A vApp of acme's with one VM of the same name, owned by `user`.
    pub(crate) async fn vapp(&self, name: &str, user: &str) -> (VappId, String) {
        let owner = self.app.actor(self.acme.user(user)).await;
        let vm = VmSpec { name: name.into(), cpus: 2, memory_mb: 4096, ..VmSpec::default() };
        let spec = VappSpec { name: name.into(), description: String::new(), vms: vec![vm] };
        let vdc = self.acme.vdc("prod");
        let id = vapp::compose(&self.app.domain, &owner, vdc, spec, vapp::Guest::default()).await.unwrap().vapp;
        let vm = self.app.db.text(&format!("select id::text from vms where vapp_id = '{id}'")).await;
        (id, vm)
    }

    /// What a hub would have reported, as `column = value`.
    pub(crate) async fn seen(&self, vm: &str, set: &str) {
        self.app.db.execute(&format!("update vms set {set} where id = '{vm}'")).await;
    }

    pub(crate) async fn hub(&self, name: &str, state: &str) {
        let sql = format!(
            "insert into hubs (id, uid, hub_type, namespace, server, credential, state, seen_at)
             values ('{name}', gen_random_uuid(), 'vmaas', 'vmaas-system', 'https://hub.test', '', '{state}', now())"
        );
        self.app.db.execute(&sql).await;
    }
}

#[tokio::test]
async fn a_template_is_deployed_at_sizes_of_ones_own_and_nothing_typed_is_lost() {
    let stage = Stage::set().await;
    let catalog = stage.catalog(stage.acme.id, "linux", false).await;
    let template = stage.template(catalog, "fedora", WEB, ("", "")).await;
    let builder = stage.app.sign_in("acme", "builder").await;
    builder.get(&format!("/tenant/acme/catalogs/{catalog}")).await.must(200).says("fedora").says("Deploy");
    let form = format!("/tenant/acme/templates/{template}/deploy");
    let opened = builder.get(&form).await.must(200).says("Quota of prod");
    assert_eq!(
        [opened.field("cpus"), opened.field("memory"), opened.field("disk")].map(Option::unwrap),
        ["2", "4", "30"]
    );
    let typed = [
        ("name", "shop"),
        ("description", "Sells things"),
        ("cpus", "4"),
        ("memory", "lots"),
        ("disk", "10"),
        ("ssh_keys", "not a key"),
        ("vdc", ""),
    ];
    let back = builder.fill_page(&opened, &form, &typed).await.must(422);
    assert_eq!(back.error_of("vdc").as_deref(), Some("Choose a VDC."));
    assert_eq!(back.error_of("memory").as_deref(), Some("A number of GB, such as 4 or 0.5."));
    assert!(back.error_of("disk").unwrap().contains("can't be smaller"), "{:?}", back.error_of("disk"));
    assert!(back.error_of("ssh_keys").is_some(), "said with the rest");
    for (name, value) in typed {
        assert_eq!(back.field(name).as_deref(), Some(value), "{name}");
    }
    let vdc = stage.acme.vdc("prod").to_string();
    let good = [("memory", "8"), ("disk", "40"), ("vdc", vdc.as_str())];
    let back = builder.fill_page(&back, &form, &good).await.must(422);
    assert!(back.error_of("ssh_keys").is_some());
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1UbSSM5cXcqXyeHXkTbZpXKlGXZS5Kd4oC3JHcUWIe me";
    let made = builder.fill_page(&back, &form, &[("ssh_keys", key)]).await;
    builder.follow(made).await.says("vApp shop is asked for").says("Sells things").says("Waiting").says("40 GB");
    let row = "select cpus || ' ' || memory_mb || ' ' || power || ' ' || (cloud_init is not null) from vms";
    assert_eq!(stage.app.db.text(row).await, "4 8192 on true");
}

#[tokio::test]
async fn the_fields_of_two_vms_are_told_apart() {
    let stage = Stage::set().await;
    let catalog = stage.catalog(stage.acme.id, "linux", false).await;
    let pair = r#"[{"name": "web", "cpus": 2, "memory_mb": 2048}, {"name": "db", "cpus": 4, "memory_mb": 4096}]"#;
    let template = stage.template(catalog, "pair", pair, ("", "")).await;
    let admin = stage.app.actor(stage.acme.admin()).await;
    let form = NetworkForm {
        name: "back".into(),
        gateway: "10.7.0.1".into(),
        prefix: "24".into(),
        ranges: "10.7.0.10-10.7.0.99".into(),
        ..NetworkForm::default()
    };
    let vdc = stage.acme.vdc("prod");
    let network = network::create(&stage.app.domain, &admin, vdc, form).await.unwrap().id;
    let builder = stage.app.sign_in("acme", "builder").await;
    let deploy = format!("/tenant/acme/templates/{template}/deploy");
    let opened = builder.get(&deploy).await.must(200);
    // `must` says so if any id stands twice
    for name in ["vm0-nic0-network", "vm1-nic0-network"] {
        assert!(opened.field(name).is_some(), "{name} is not on the page");
    }
    let (vdc, network) = (vdc.to_string(), network.to_string());
    let typed = [
        ("name", "pair"),
        ("vdc", vdc.as_str()),
        ("vm1-nic0-network", network.as_str()),
        ("vm1-nic0-mode", "manual"),
        ("vm1-nic0-address", "nowhere"),
    ];
    let back = builder.fill_page(&opened, &deploy, &typed).await.must(422);
    assert!(back.error_of("nics").unwrap().starts_with("db: NIC 0: "), "{:?}", back.error_of("nics"));
    let at = |words: &str| back.body.find(words).unwrap();
    assert!(at("name=\"vm1-nic0-network\"") < at("id=\"nics-error\""), "it stands at the NIC that it is about");
    opened.says("only the name is yours to give");
}

#[tokio::test]
async fn a_name_that_hides_what_it_is_is_refused() {
    let stage = Stage::set().await;
    let builder = stage.app.sign_in("acme", "builder").await;
    let vdc = stage.acme.vdc("prod").to_string();
    let typed = [("name", "shop\u{202e}avaj"), ("vdc", vdc.as_str())];
    let back = builder.fill("/tenant/acme/vapps/new", &typed).await.must(422);
    assert!(back.error_of("name").unwrap().contains("U+202E"), "{:?}", back.error_of("name"));
    assert_eq!(stage.app.db.count("vapps").await, 0);
}

#[tokio::test]
async fn parameters_that_are_needed_are_asked_for_beside_their_fields() {
    let stage = Stage::set().await;
    stage.hub("one", "ready").await;
    let catalog = stage.catalog(stage.acme.id, "linux", false).await;
    let parameters = r#"[{"name": "HOST", "label": "Host", "required": true}, {"name": "KEY", "generated": true, "required": true}]"#;
    let more = format!(", true, 'template/openshift/shop', '{parameters}'");
    let more = (", by_instance, source, parameters", more.as_str());
    let template = stage.template(catalog, "shop", WEB, more).await;
    stage
        .app
        .db
        .execute("insert into hub_templates (hub_id, source, uid, hash, spec) values ('one', 'template/openshift/shop', 'u', 'h', '{}')")
        .await;
    let builder = stage.app.sign_in("acme", "builder").await;
    let form = format!("/tenant/acme/templates/{template}/deploy");
    let back = builder.fill(&form, &[("name", "shop")]).await.must(422);
    assert_eq!(back.error_of("parameters").as_deref(), Some("Host is needed."));
    assert_eq!(back.field("name").as_deref(), Some("shop"));
    builder.fill_page(&back, &form, &[("parameter.HOST", "shop.example")]).await.must(303);
    assert_eq!(stage.app.db.text("select (parameters is not null)::text from vapps").await, "true");
}

#[tokio::test]
async fn a_template_that_is_on_no_hub_any_more_is_marked_and_not_deployed() {
    let stage = Stage::set().await;
    let catalog = stage.catalog(stage.acme.id, "linux", false).await;
    let template = stage.template(catalog, "old", WEB, (", source", ", 'datasource/images/old'")).await;
    let builder = stage.app.sign_in("acme", "builder").await;
    builder.get(&format!("/tenant/acme/catalogs/{catalog}")).await.must(200).says("Vanished");
    let page = format!("/tenant/acme/templates/{template}");
    builder.get(&page).await.must(200).says("old is offered by no hub any more");
    let form =
        builder.get(&format!("{page}/deploy")).await.must(200).says("Not now: old is offered by no hub any more");
    assert!(!form.body.contains("name=\"ssh_keys\""));
    let vdc = stage.acme.vdc("prod").to_string();
    // it went while somebody was filling the form in: they can copy what they typed, or send it again when it is back
    let typed = [("name", "x"), ("vdc", vdc.as_str()), ("user_data", "#cloud-config\nusers: []")];
    let back =
        builder.post(&format!("{page}/deploy"), &typed).await.must(409).says("old is offered by no hub any more");
    assert_eq!([back.field("name"), back.field("user_data")].map(Option::unwrap), ["x", typed[2].1]);
    assert_eq!(stage.app.db.count("vapps").await, 0);
}

#[tokio::test]
async fn the_power_menu_says_what_each_does_and_why_not() {
    let stage = Stage::set().await;
    let (vapp, vm) = stage.vapp("shop", "builder").await;
    stage.seen(&vm, "power = 'on', obs_state = 'running', obs_ips = '{10.0.0.7}'").await;
    let builder = stage.app.sign_in("acme", "builder").await;
    let page = format!("/tenant/acme/vms/{vm}");
    let shown = builder.get(&page).await.must(200).says("Running").says("10.0.0.7");
    let shown = shown.says("Not now: It runs.").says("Asks the guest to stop.").says("Pulls the plug.");
    shown.says("Not now: It is not suspended.");
    builder.post(&format!("{page}/power-on"), &[]).await.must(409).says("It runs.");
    let asked = builder.post(&format!("{page}/shutdown"), &[]).await;
    builder.follow(asked).await.says("Shut down is asked for shop.");
    assert_eq!(stage.app.db.text("select once from vms").await, "shutdown");
    stage.seen(&vm, "power = 'on', once = ''").await;
    let asked = builder.post(&format!("/tenant/acme/vapps/{vapp}/suspend"), &[]).await;
    builder.follow(asked).await.says("Suspend is asked for the VMs of shop");
    assert_eq!(stage.app.db.text("select power from vms").await, "suspended");
    stage.seen(&vm, "obs_state = 'suspended'").await;
    builder.get(&page).await.must(200).says("Suspended").says("Resume").says("goes on where it was frozen");
    let asked = builder.post(&format!("{page}/power-on"), &[]).await;
    builder.follow(asked).await.says("Resume is asked for shop.");
}

#[tokio::test]
async fn what_a_silent_hub_last_said_is_shown_as_such_and_only_the_provider_reads_its_name() {
    let stage = Stage::set().await;
    stage.hub("cellar", "unreachable").await;
    let (vapp, vm) = stage.vapp("shop", "builder").await;
    stage.seen(&vm, "power = 'on', obs_state = 'running', hub_id = 'cellar', obs_node = 'cellar-node'").await;
    let placed = r#"{"hub": "cellar", "because": "It has the most room.", "refused": [{"hub": "attic", "why": "It is cordoned."}]}"#;
    stage.app.db.execute(&format!("update vapps set hub_id = 'cellar', placement = '{placed}'")).await;
    let (builder, provider) = (stage.app.sign_in("acme", "builder").await, stage.app.provider().await);
    for rest in ["vms".to_owned(), "vms.csv".into(), format!("vms/{vm}"), "vapps".into(), format!("vapps/{vapp}")] {
        let tenant = builder.get(&format!("/tenant/acme/{rest}")).await.must(200).says_not("cellar").says_not("attic");
        if !rest.ends_with(".csv") {
            tenant.says("hub unreachable").says("Running");
        }
        provider.get(&format!("/provider/{rest}")).await.must(200).says("cellar");
    }
    builder.get(&format!("/tenant/acme/vms/{vm}")).await.says("as of").says("What you ask for waits and is not lost.");
    // the hub was last asked before its machine was last heard of: then the later of both counts
    stage.app.db.execute("update hubs set seen_at = '2026-01-02T03:04:05Z'").await;
    stage.seen(&vm, "obs_at = '2026-02-03T04:05:06Z'").await;
    builder.get(&format!("/tenant/acme/vms/{vm}")).await.says("as of 3 Feb, 04:05").says_not("2 Jan");
    // what is asked for meanwhile has been seen by nobody
    stage.seen(&vm, "power = 'off'").await;
    let asked = builder.get(&format!("/tenant/acme/vms/{vm}")).await;
    asked.says("Running").says("power off is queued").says_not("Stopping");
    provider.get(&format!("/provider/vapps/{vapp}")).await.says("It has the most room.").says("It is cordoned.");
    // a filter of the provider's is none of a tenant's
    builder.get("/tenant/acme/vms?hub=attic").await.must(200).says("shop").says_not("attic");
    provider.get("/provider/vms?hub=attic").await.must(200).says("No VM fits");
}

#[tokio::test]
async fn a_vm_is_renamed_and_resized_and_what_waits_for_the_next_start_is_said() {
    let stage = Stage::set().await;
    let (_, vm) = stage.vapp("shop", "builder").await;
    stage.seen(&vm, "power = 'on', obs_state = 'running', obs_cpus = 2, obs_memory_mb = 4096").await;
    stage.app.db.execute("update vdcs set cpu_limit = 8").await;
    let builder = stage.app.sign_in("acme", "builder").await;
    let page = format!("/tenant/acme/vms/{vm}");
    let (mine, theirs) = (builder.get(&format!("{page}/edit")).await, builder.get(&format!("{page}/edit")).await);
    let edit = format!("{page}/edit");
    builder.fill_page(&theirs, &edit, &[("name", "shop-1"), ("description", "theirs")]).await.must(303);
    let back = builder.fill_page(&mine, &edit, &[("name", "shop-2")]).await.must(409).says("was changed by builder");
    builder.fill_page(&back, &edit, &[]).await.must(303);
    let resize = format!("{page}/resize");
    let back = builder.fill(&resize, &[("cpus", "0"), ("memory", "x")]).await.must(422);
    assert!(back.error_of("cpus").is_some() && back.error_of("memory").is_some());
    let back = builder.fill_page(&back, &resize, &[("cpus", "16"), ("memory", "4")]).await.must(409);
    assert_eq!(back.field("cpus").as_deref(), Some("16"));
    let back = back.says("14 vCPU asked for").says("8 vCPU too many");
    let done = builder.fill_page(&back, &resize, &[("cpus", "4")]).await;
    builder.follow(done).await.says("4 vCPU and 4 GB are asked for shop-2.").says("at next start");
    stage.seen(&vm, "obs_restart = true, outside = 'It was stopped by hand.'").await;
    builder.get(&page).await.says("Changes wait for the next start").says("It was stopped by hand. It stays so until");
    stage.seen(&vm, "obs_state = 'missing', outside = 'It was deleted on its hub by hand.'").await;
    let shown = builder.get(&page).await.says("Missing").says("It was deleted on its hub by hand. Delete it here");
    shown.says_not("changed on its hub by hand");
}

#[tokio::test]
async fn an_empty_vapp_gets_a_vm_and_what_goes_with_it_is_listed_before_it_goes() {
    let stage = Stage::set().await;
    let builder = stage.app.sign_in("acme", "builder").await;
    let back = builder.fill("/tenant/acme/vapps/new", &[("vdc", "")]).await.must(422);
    assert!(back.error_of("name").is_some() && back.error_of("vdc").is_some());
    let vdc = stage.acme.vdc("prod").to_string();
    let made = builder.fill_page(&back, "/tenant/acme/vapps/new", &[("name", "lab"), ("vdc", &vdc)]).await;
    let page = made.location().to_owned();
    builder.follow(made).await.says("vApp lab is made.").says("No VMs in it");
    let add = format!("{page}/add");
    let back = builder.fill(&add, &[("name", "one"), ("disk", "0")]).await.must(422);
    assert!(back.error_of("disk").is_some());
    let added = builder.fill_page(&back, &add, &[("disk", "25")]).await;
    builder.follow(added).await.says("VM one is asked for.").says("25 GB");
    let again = builder.fill(&add, &[("name", "ONE")]).await.must(409);
    assert!(again.error_of("name").is_some(), "{}", again.text());
    let delete = format!("{page}/delete");
    builder.get(&delete).await.must(200).says("VM one: 2 vCPU, 4 GB, 25 GB on disk");
    builder.fill(&delete, &[]).await.must(303);
    builder.get(&page).await.must(200).says("Deleting").says("Not now: It is being deleted.");
}

#[tokio::test]
async fn who_may_not_see_all_vapps_sees_their_own() {
    let stage = Stage::set().await;
    let (_, vm) = stage.vapp("mine", "builder").await;
    let (theirs, their_vm) = stage.vapp("theirs", "other").await;
    let builder = stage.app.sign_in("acme", "builder").await;
    for list in ["vapps", "vms", "vapps.csv", "vms.csv"] {
        builder.get(&format!("/tenant/acme/{list}")).await.must(200).says("mine").says_not("theirs");
    }
    builder.get(&format!("/tenant/acme/vms/{vm}")).await.must(200);
    builder.get(&format!("/tenant/acme/vms/{their_vm}")).await.must(404);
    builder.post(&format!("/tenant/acme/vapps/{theirs}/delete"), &[]).await.must(404);
    stage.app.sign_in("acme", "acme-admin").await.get("/tenant/acme/vms").await.says("mine").says("theirs");
    // their own task leads to their own VM
    builder.get("/tenant/acme/tasks").await.must(200).says("mine").says_not("theirs");
}

#[tokio::test]
async fn catalogs_are_kept_by_their_organization_and_the_providers_are_seen_by_all() {
    let stage = Stage::set().await;
    let system = stage.app.operator().await.org;
    let provider = stage.app.provider().await;
    let new = format!("/provider/catalogs/new?org={system}");
    let made = provider.fill(&new, &[("name", "linux"), ("shared_to_all", "on"), ("from_hubs", "on")]).await;
    let linux = made.location().rsplit('/').next().unwrap().to_owned();
    provider.follow(made).await.says("Catalog linux is made.").says("with everybody").says("by what hubs have");
    let admin = stage.app.sign_in("acme", "acme-admin").await;
    admin.get("/tenant/acme/catalogs").await.must(200).says("linux").says("the provider");
    admin.get(&format!("/tenant/acme/catalogs/{linux}")).await.must(200).says_not("Edit");
    admin.get(&format!("/tenant/acme/catalogs/{linux}/edit")).await.must(404);
    let form = admin.get("/tenant/acme/catalogs/new").await.must(200);
    assert!(form.field("shared_to_all").is_none(), "only the provider shares to everybody");
    let made = admin.fill_page(&form, "/tenant/acme/catalogs/new", &[("name", "own"), ("description", "Ours")]).await;
    let own = made.location().to_owned();
    admin.follow(made).await.says("Catalog own is made.").says("Ours");
    admin.fill(&format!("{own}/edit"), &[("description", "Still ours")]).await.must(303);
    admin.get(&own).await.says("Still ours");
    admin.get(&format!("{own}/delete")).await.must(200).says("Delete catalog own?");
    admin.fill(&format!("{own}/delete"), &[]).await.must(303);
    assert_eq!(admin.get("/tenant/acme/catalogs").await.must(200).link("own"), None);
}

#[tokio::test]
async fn the_provider_deploys_only_what_the_vdcs_organization_sees() {
    let stage = Stage::set().await;
    let globex = stage.app.org("globex").vdc("lab").make().await;
    let catalog = stage.catalog(globex.id, "private", false).await;
    let template = stage.template(catalog, "fedora", WEB, ("", "")).await;
    let provider = stage.app.provider().await;
    let form = format!("/provider/templates/{template}/deploy");
    let (prod, lab) = (stage.acme.vdc("prod").to_string(), globex.vdc("lab").to_string());
    let back = provider.fill(&form, &[("name", "shop"), ("vdc", &prod)]).await.must(422);
    let why = back.error_of("vdc").unwrap();
    assert!(why.contains("acme does not see the template fedora"), "{why}");
    assert_eq!(back.field("name").as_deref(), Some("shop"));
    assert_eq!(stage.app.db.count("vapps").await, 0);
    provider.fill_page(&back, &form, &[("vdc", &lab)]).await.must(303);
    let share = format!("insert into catalog_shares values ('{catalog}', '{}')", stage.acme.id);
    stage.app.db.execute(&share).await;
    provider.fill(&form, &[("name", "shop"), ("vdc", &prod)]).await.must(303);
    assert_eq!(stage.app.db.count("vapps").await, 2);
}

#[tokio::test]
async fn the_providers_list_of_catalogs_is_filtered_by_organization() {
    let stage = Stage::set().await;
    let globex = stage.app.org("globex").make().await;
    let system = stage.app.operator().await.org;
    let mut ids = std::collections::BTreeMap::new();
    for (org, name) in [(stage.acme.id, "of-acme"), (globex.id, "of-globex"), (system, "of-all")] {
        ids.insert(name, stage.catalog(org, name, name == "of-all").await);
    }
    let provider = stage.app.provider().await;
    let names = ["of-acme", "of-globex", "of-all"];
    for (org, shown) in
        [("", &names[..]), ("acme", &["of-acme"]), ("GLOBEX", &["of-globex"]), ("System", &["of-all"]), ("none", &[])]
    {
        let page = provider.get(&format!("/provider/catalogs?org={org}")).await.must(200);
        let file = provider.get(&format!("/provider/catalogs.csv?org={org}")).await.must(200);
        for name in names {
            let listed = page.body.contains(&format!("id=\"catalog-{}\"", ids[name]));
            assert_eq!(listed, shown.contains(&name), "the list of {org:?}: {name}");
            assert_eq!(file.body.contains(name), shown.contains(&name), "the file of {org:?}: {name}");
        }
    }
}

#[tokio::test]
async fn a_catalog_is_shared_with_single_organizations_and_others_do_not_know_of_it() {
    let stage = Stage::set().await;
    let (app, system) = (&stage.app, stage.app.operator().await.org);
    let globex = app.org("globex").make().await;
    let provider = app.provider().await;
    let new = format!("/provider/catalogs/new?org={system}");
    let nowhere = uuid::Uuid::now_v7().to_string();
    let back = provider.fill(&new, &[("name", "special"), ("shared_to", &nowhere)]).await.must(422);
    assert!(back.error_of("shared_to").unwrap().contains("not there any more"), "{:?}", back.error_of("shared_to"));
    let acme = stage.acme.id.to_string();
    let made = provider.fill_page(&back, "/provider/catalogs/new", &[("shared_to", &acme)]).await;
    let id = made.location().rsplit('/').next().unwrap().to_owned();
    let shown = provider.follow(made).await.says("Catalog special is made.");
    assert_eq!(shown.link("acme"), Some(format!("/provider/organizations/{acme}")), "it says with whom");
    let template = stage.template(id.parse().unwrap(), "fedora", WEB, ("", "")).await;

    let (ours, theirs) = (app.sign_in("acme", "builder").await, app.sign_in("globex", "globex-admin").await);
    ours.get("/tenant/acme/catalogs").await.must(200).says("special").says("with this organization");
    ours.get(&format!("/tenant/acme/catalogs/{id}")).await.must(200).says("fedora").says_not("globex");
    ours.get(&format!("/tenant/acme/templates/{template}/deploy")).await.must(200);
    theirs.get("/tenant/globex/catalogs").await.must(200).says_not("special");
    for path in [format!("catalogs/{id}"), format!("templates/{template}"), format!("templates/{template}/deploy")] {
        theirs.get(&format!("/tenant/globex/{path}")).await.must(404);
    }
    let vdc = app.vdc(globex.id, "lab").await.to_string();
    let form = [("name", "x"), ("vdc", vdc.as_str())];
    theirs.post(&format!("/tenant/globex/templates/{template}/deploy"), &form).await.must(404);

    let edit = format!("/provider/catalogs/{id}/edit");
    let form = provider.get(&edit).await.must(200);
    assert_eq!(form.field("shared_to"), Some(acme), "ticked as stored");
    let globex = globex.id.to_string();
    provider.fill_page(&form, &edit, &[("shared_to", &globex)]).await.must(303);
    theirs.get(&format!("/tenant/globex/catalogs/{id}")).await.must(200).says("fedora");
    ours.get(&format!("/tenant/acme/catalogs/{id}")).await.must(404);
    let change =
        "select (before->>'shared_to') || ' ' || (after->>'shared_to') from audit where action = 'catalog.edit'";
    assert_eq!(app.db.text(change).await, "acme globex");
}

#[tokio::test]
async fn a_vapp_of_any_size_has_a_picture_of_its_networks() {
    let stage = Stage::set().await;
    let owner = stage.app.actor(stage.acme.user("builder")).await;
    let builder = stage.app.sign_in("acme", "builder").await;
    for (count, rows) in [(1, 1), (6, 1), (10, 2), (25, 5)] {
        let nic = || model::nic::NicSpec { attach: model::nic::Attach::Vdc, ..Default::default() };
        let vm =
            |n| VmSpec { name: format!("vm-{n}"), cpus: 1, memory_mb: 512, nics: vec![nic()], ..VmSpec::default() };
        let spec =
            VappSpec { name: format!("of-{count}"), description: String::new(), vms: (0..count).map(vm).collect() };
        let vdc = stage.acme.vdc("prod");
        let id = vapp::compose(&stage.app.domain, &owner, vdc, spec, vapp::Guest::default()).await.unwrap().vapp;
        let page = builder.get(&format!("/tenant/acme/vapps/{id}")).await.must(200);
        let drawn = |class: &str| page.body.matches(&format!("class=\"{class}\"")).count();
        assert_eq!((drawn("box"), drawn("bus"), drawn("wire")), (count, rows, count), "of {count}");
    }
}
