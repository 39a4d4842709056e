//! A world in which there is one of everything that documents are about, and where each of them is.
use super::Program;
use crate::stage::Stage;
use domain::{catalog, metadata, network};
use model::{Kind, Right, catalog::CatalogSpec, metadata::Entry, network::NetworkForm};
use std::collections::BTreeMap;

/// A document by the name of its file in `golden/`.
pub(super) struct Document {
    pub(super) name: String,
    pub(super) path: String,
    /// It is the provider's to read.
    pub(super) provider: bool,
}

pub(super) struct Documents {
    pub(super) stage: Stage,
    program: Program,
    provider: Program,
    pub(super) all: Vec<Document>,
    /// What stands in addresses as `{vapp}`.
    ids: BTreeMap<&'static str, String>,
}

/// Tickets are drawn, so they are asked for by POST.
pub(super) fn method_of(name: &str) -> &'static str {
    if name.ends_with("-ticket.xml") { "POST" } else { "GET" }
}

/// Below which address which thing's id stands; the longest one counts.
#[rustfmt::skip]
const BELOW: &[(&str, &str)] = &[
    ("/api/org/", "org"), ("/api/org/{org}/catalog/", "own-catalog"), ("/api/tasksList/", "org"), ("/api/task/", "task"),
    ("/api/vdc/", "vdc"), ("/api/vdcStorageProfile/", "profile"), ("/api/catalog/", "own-catalog"), ("/api/catalogItem/", "own-template"),
    ("/api/vAppTemplate/vappTemplate-", "own-template"), ("/api/vAppTemplate/vm-", "template-vm"), ("/api/media/", "media"),
    ("/api/vApp/vapp-", "vapp"), ("/api/vApp/vm-", "vm"), ("/api/disk/", "disk"), ("/api/network/", "network"),
    ("/api/vmAffinityRule/", "rule"), ("/api/entity/", "entity"), ("/api/admin/org/", "org"), ("/api/admin/vdc/", "vdc"),
    ("/api/admin/vdcStorageProfile/", "profile"), ("/api/admin/catalog/", "own-catalog"), ("/api/admin/network/", "network"),
    ("/api/admin/user/", "other-user"), ("/api/admin/role/", "own-role"), ("/api/admin/right/", "right"),
    ("/api/admin/providervdc/", "pvdc"), ("/api/admin/networkPool/", "pool"), ("/api/admin/pvdcStorageProfile/", "pvdc-profile"),
    ("/api/admin/extension/providervdc/", "pvdc"), ("/api/admin/extension/networkPool/", "pool"),
    ("/api/admin/extension/pvdcStorageProfile/", "pvdc-profile"),
    ("/cloudapi/1.0.0/orgs/", "org"), ("/cloudapi/1.0.0/users/", "other-user"), ("/cloudapi/1.0.0/roles/", "own-role"),
    ("/cloudapi/1.0.0/rights/", "right"), ("/cloudapi/1.0.0/vdcs/", "vdc"), ("/cloudapi/2.0.0/vdcs/", "vdc"),
    ("/cloudapi/1.0.0/orgVdcStoragePolicies/", "profile"), ("/cloudapi/1.0.0/pvdcStoragePolicies/", "pvdc-profile"),
    ("/cloudapi/1.0.0/orgVdcNetworks/", "network"), ("/cloudapi/1.0.0/catalogs/", "own-catalog"),
    ("/cloudapi/1.0.0/vapps/", "vapp"), ("/cloudapi/1.0.0/vms/", "vm"), ("/cloudapi/1.0.0/securityTags/vm/", "vm"),
    ("/cloudapi/1.0.0/tasks/", "task"), ("/cloudapi/1.0.0/auditTrail/", "audit"), ("/cloudapi/1.0.0/globalRoles/", "role"),
    ("/cloudapi/1.0.0/rightsBundles/", "bundle"), ("/cloudapi/1.0.0/rightsCategories/", "category"),
    ("/cloudapi/1.0.0/vdcComputePolicies/", "size"), ("/cloudapi/2.0.0/vdcComputePolicies/", "size"),
];

impl Documents {
    /// As much as the golden documents are about.
    pub(super) async fn set() -> Documents {
        let stage = Stage::set().await;
        stage.app.follow_changes();
        let (d, admin) = (&stage.app.domain, &stage.admin);
        let program = Program::sign_in(&stage.app, "acme", &admin.name).await;
        let provider = Program::sign_in(&stage.app, "System", "administrator").await;
        let vapp = stage.deploy("web-and-db", "shop").await;
        let vm = stage.running(vapp).await.remove(0);
        let vdc = stage.acme.vdc("prod");
        metadata::put(d, admin, Kind::Vapp, vapp.0, vec![season()]).await.unwrap();
        let form = NetworkForm {
            name: "backbone".into(),
            gateway: "192.168.7.1".into(),
            prefix: "24".into(),
            ranges: "192.168.7.10-192.168.7.20".into(),
            ..NetworkForm::default()
        };
        let network = network::create(d, admin, vdc, form).await.unwrap().id;
        let template = stage.template("ubuntu-24.04").await.unwrap();
        let task = stage.app.db.text("select id::text from tasks where operation = 'vapp.create' limit 1").await;
        let template_doc = program.get(&format!("/api/vAppTemplate/vappTemplate-{}", template.id)).await.must(200);
        let profile = program.get(&format!("/api/vdc/{vdc}")).await.must(200);
        let ids = BTreeMap::from([
            ("org", stage.acme.id.to_string()),
            ("user", stage.acme.admin().to_string()),
            ("user-urn", stage.acme.admin().urn()),
            ("org-urn", stage.acme.id.urn()),
            ("network-urn", network.urn()),
            ("role", admin.role.to_string()),
            ("vdc", vdc.to_string()),
            ("vapp", vapp.to_string()),
            ("vm", vm.id.to_string()),
            ("network", network.to_string()),
            ("template", template.id.to_string()),
            ("catalog", template.catalog.to_string()),
            ("task", task),
            ("template-vm", id_after(&template_doc.text, "/api/vAppTemplate/vm-")),
            ("profile", id_after(&profile.text, "/api/vdcStorageProfile/")),
        ]);
        let mut world = Documents { stage, program, provider, all: Vec::new(), ids };
        world.list();
        world
    }

    fn list(&mut self) {
        let own = [
            ("versions.xml", "/api/versions"),
            ("session.xml", "/api/session"),
            ("org-list.xml", "/api/org"),
            ("org.xml", "/api/org/{org}"),
            ("admin-org.xml", "/api/admin/org/{org}"),
            ("vdc.xml", "/api/vdc/{vdc}"),
            ("admin-vdc.xml", "/api/admin/vdc/{vdc}"),
            ("storage-profile.xml", "/api/vdcStorageProfile/{profile}"),
            ("catalog.xml", "/api/catalog/{catalog}"),
            ("admin-catalog.xml", "/api/admin/catalog/{catalog}"),
            ("catalog-item.xml", "/api/catalogItem/{template}"),
            ("template.xml", "/api/vAppTemplate/vappTemplate-{template}"),
            ("template-vm.xml", "/api/vAppTemplate/vm-{template-vm}"),
            ("vapp.xml", "/api/vApp/vapp-{vapp}"),
            ("vm.xml", "/api/vApp/vm-{vm}"),
            ("task.xml", "/api/task/{task}"),
            ("network.xml", "/api/network/{network}"),
            ("user.xml", "/api/admin/user/{user}"),
            ("role.xml", "/api/admin/role/{role}"),
            ("query-list.xml", "/api/query"),
            ("session.json", "/cloudapi/1.0.0/sessions/current"),
            ("user.json", "/cloudapi/1.0.0/users/{user-urn}"),
            ("org.json", "/cloudapi/1.0.0/orgs/{org-urn}"),
            ("network.json", "/cloudapi/1.0.0/orgVdcNetworks/{network-urn}"),
            ("lease.xml", "/api/vApp/vapp-{vapp}/leaseSettingsSection"),
            ("network-config.xml", "/api/vApp/vapp-{vapp}/networkConfigSection"),
            ("startup.xml", "/api/vApp/vapp-{vapp}/startupSection"),
            ("metadata.xml", "/api/vApp/vapp-{vapp}/metadata"),
            ("control-access.xml", "/api/vApp/vapp-{vapp}/controlAccess"),
            ("owner.xml", "/api/vApp/vapp-{vapp}/owner"),
            ("hardware.xml", "/api/vApp/vm-{vm}/virtualHardwareSection"),
            ("cpu.xml", "/api/vApp/vm-{vm}/virtualHardwareSection/cpu"),
            ("disks.xml", "/api/vApp/vm-{vm}/virtualHardwareSection/disks"),
            ("network-connection.xml", "/api/vApp/vm-{vm}/networkConnectionSection"),
            ("guest-customization.xml", "/api/vApp/vm-{vm}/guestCustomizationSection"),
            ("product-sections.xml", "/api/vApp/vm-{vm}/productSections"),
            ("operating-system.xml", "/api/vApp/vm-{vm}/operatingSystemSection"),
            ("capabilities.xml", "/api/vApp/vm-{vm}/vmCapabilities"),
            ("boot-options.xml", "/api/vApp/vm-{vm}/bootOptions"),
            ("runtime-info.xml", "/api/vApp/vm-{vm}/runtimeInfoSection"),
            ("snapshot.xml", "/api/vApp/vm-{vm}/snapshotSection"),
            ("screen-ticket.xml", "/api/vApp/vm-{vm}/screen/action/acquireTicket"),
            ("mks-ticket.xml", "/api/vApp/vm-{vm}/screen/action/acquireMksTicket"),
        ];
        let of_provider = [
            ("vcloud.xml", "/api/admin"),
            ("extension.xml", "/api/admin/extension"),
            ("error.xml", "/api/vApp/vapp-x"),
        ];
        let records = [
            "orgVdc",
            "catalog",
            "vAppTemplate",
            "vApp",
            "vm",
            "orgVdcNetwork",
            "user",
            "role",
            "orgVdcStorageProfile",
        ];
        let one = |name: String, path: &str, provider| Document { name, path: self.filled(path), provider };
        let mut all: Vec<Document> = own.map(|(name, path)| one(name.to_owned(), path, false)).into();
        all.extend(records.map(|kind| {
            one(format!("query-{kind}.xml"), &format!("/api/query?type={kind}&format=records&pageSize=2"), false)
        }));
        all.extend(of_provider.map(|(name, path)| one(name.to_owned(), path, true)));
        self.all = all;
    }

    /// The rest of what there can be, so that no address is about nothing.
    pub(super) async fn more(&mut self) {
        let (app, acme) = (&self.stage.app, &self.stage.acme);
        let (d, db, vdc) = (&app.domain, &app.db, self.id("vdc"));
        let spec = CatalogSpec { name: "own".into(), ..CatalogSpec::default() };
        let own = catalog::create(d, &self.stage.admin, acme.id, spec).await.unwrap().id;
        let item = async |name: &str, kind: &str| {
            let vms =
                r#"[{"name": "web", "cpus": 1, "memory_mb": 1024, "disks": [{"name": "root", "size_mb": 10240}]}]"#;
            let sql = format!(
                "insert into templates (id, catalog_id, org_id, name, kind, vms)
                 values (gen_random_uuid(), '{own}', '{}', '{name}', '{kind}', '{vms}') returning id::text",
                acme.id
            );
            db.text(&sql).await
        };
        let (template, media) = (item("a-template", "template").await, item("tools", "media").await);
        let sql = format!(
            "insert into disks (id, org_id, vdc_id, independent, name, size_mb, applied_mb, policy_id, hub_name, obs_state)
             select gen_random_uuid(), '{}', '{vdc}', true, 'data', 1024, 1024, id, 'data', 'ready'
             from storage_policies where is_default returning id::text",
            acme.id
        );
        let disk = db.text(&sql).await;
        let vms = db.text("select string_agg(id::text, ' ') from vms where gone_at is null").await;
        let vms: String =
            vms.split(' ').map(|id| format!("<VmReference href=\"http://h/api/vApp/vm-{id}\"/>")).collect();
        let body = format!(
            "<VmAffinityRule><Name>apart</Name><IsEnabled>true</IsEnabled><Polarity>Anti-Affinity</Polarity>\
             <VmReferences>{vms}</VmReferences></VmAffinityRule>"
        );
        self.program.post(&format!("/api/vdc/{vdc}/vmAffinityRules"), &body).await.must(202);
        let rule = db.text("select id::text from affinity_rules").await;
        let role = app.role(acme.id, "Own", &[Right::VdcView]).await;
        let user = app.user(acme.id, "another", role).await;
        let role_doc = self.program.get(&format!("/api/admin/role/{role}")).await.must(200);
        let cloud = self.provider.get("/api/admin").await.must(200);
        let pools = self.provider.get("/api/admin/extension/networkPoolReferences").await.must(200);
        let pvdc = id_after(&cloud.text, "/api/admin/providervdc/");
        let provided = self.provider.get(&format!("/api/admin/providervdc/{pvdc}")).await.must(200);
        let first = async |path: &str| {
            let all = self.provider.get(&format!("/cloudapi/1.0.0/{path}")).await.must(200).json();
            all["values"][0]["id"].as_str().unwrap_or_default().to_owned()
        };
        let (bundle, category, size) =
            (first("rightsBundles").await, first("rightsCategories").await, first("vdcComputePolicies").await);
        let audit = db
            .text(&format!("select id::text from audit where org_id = '{}' order by created_at limit 1", acme.id))
            .await;
        let ids = [
            ("bundle", bundle),
            ("category", category),
            ("size", size),
            ("audit", audit),
            ("own-catalog", own.to_string()),
            ("own-template", template),
            ("media", media),
            ("disk", disk),
            ("rule", rule),
            ("own-role", role.to_string()),
            ("other-user", user.to_string()),
            ("entity", format!("urn:vcloud:vapp:{}", self.id("vapp"))),
            ("right", id_after(&role_doc.text, "/api/admin/right/")),
            ("pool", id_after(&pools.text, "networkPool/")),
            ("pvdc-profile", id_after(&provided.text, "pvdcStorageProfile/")),
            ("pvdc", pvdc),
        ];
        self.ids.extend(ids);
        let d = &self.stage.app.domain;
        for (kind, of) in [
            (Kind::Org, "org"),
            (Kind::Vdc, "vdc"),
            (Kind::Catalog, "own-catalog"),
            (Kind::Template, "own-template"),
            (Kind::Template, "media"),
            (Kind::Vm, "vm"),
            (Kind::Disk, "disk"),
            (Kind::Network, "network"),
        ] {
            let id = self.id(of).parse().unwrap();
            metadata::put(d, &self.stage.admin, kind, id, vec![season()]).await.unwrap();
        }
    }

    pub(super) fn by(&self, provider: bool) -> &Program {
        if provider { &self.provider } else { &self.program }
    }

    #[track_caller]
    pub(super) fn id(&self, of: &str) -> &str {
        self.ids.get(of).unwrap_or_else(|| panic!("there is no {of}"))
    }

    /// An address with its things: `{vapp}` is the vApp's id.
    pub(super) fn filled(&self, path: &str) -> String {
        self.ids.iter().fold(path.to_owned(), |path, (of, id)| path.replace(&format!("{{{of}}}"), id))
    }

    /// The address of a route.
    pub(super) fn at(&self, route: &str) -> String {
        let below = BELOW.iter().filter(|(prefix, _)| route.starts_with(prefix)).max_by_key(|(prefix, _)| prefix.len());
        // what there is none of has somebody else's id
        let id = below.map_or(self.id("org"), |(_, of)| self.id(of));
        let path = route.replace("{id}", id).replace("{org}", self.id("org")).replace("{key}", "season");
        let path = path.replace("{domain}", "GENERAL").replace("{version}", "vmx-19");
        // of a catalog
        if path.contains("{item}") { path.replace("{item}", self.id("own-template")) } else { path }
    }
}

fn season() -> Entry {
    Entry { key: "season".into(), value: "winter".into(), ..Entry::default() }
}

/// The id behind the first of these words.
#[track_caller]
fn id_after(text: &str, words: &str) -> String {
    let at = text.find(words).unwrap_or_else(|| panic!("no {words} in {text}")) + words.len();
    text[at..at + 36].to_owned()
}
