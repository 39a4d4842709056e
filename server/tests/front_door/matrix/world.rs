//! Two organizations, the visitors, and forms that would be accepted.
use crate::harness::{Answer, Client, PASSWORD, TestApp, TestOrg, kubeconfig};
use domain::{catalog, hub, network, org, sizing, storage, upload, user, vapp, vapp_network, vdc};
use model::{
    Actor, CatalogId, Kind, NetworkId, Right, RoleId, VappId,
    catalog::CatalogSpec,
    network::NetworkForm,
    role::Predefined::{self, *},
    sizing::SizingSpec,
    storage::StoragePolicySpec,
    upload::UploadSpec,
    vapp::VappSpec,
    vm::{Disk, VmSpec},
};
use time::Duration;

/// What a visitor's session is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Session {
    None,
    Expired,
    Disabled,
    Of(&'static str, &'static str),
}

/// Two organizations alike. Everything of the second is called zebra, so that it can be told wherever it shows.
/// What begins so is made to be asked for: that it comes is no change of anything.
const ASKED: &str = "asked-";

pub(crate) struct World {
    pub(crate) app: TestApp,
    pub(crate) acme: TestOrg,
    pub(crate) zebra: TestOrg,
    acme_role: RoleId,
    zebra_role: RoleId,
    number: std::cell::Cell<u32>,
}

const TENANT_ROLES: [(&str, Predefined); 6] = [
    ("an-admin", OrganizationAdministrator),
    ("an-author", CatalogAuthor),
    ("a-builder", VappAuthor),
    ("a-user", VappUser),
    ("a-console", ConsoleAccessOnly),
    ("a-deferrer", DeferToIdentityProvider),
];

impl World {
    pub(crate) async fn new() -> World {
        let app = TestApp::start().await;
        let mut acme =
            app.org("acme").vdc("prod").vdc("spare").user("target", ConsoleAccessOnly).user("gone", VappUser);
        for (name, role) in TENANT_ROLES {
            acme = acme.user(name, role);
        }
        let acme = acme.make().await;
        let zebra = app.org("zebra").vdc("zebra-vdc").user("zebra-user", ConsoleAccessOnly).make().await;
        let acme_role = app.role(acme.id, "Own", &[Right::VdcView]).await;
        let zebra_role = app.role(zebra.id, "Zebra role", &[Right::VdcView]).await;
        let system = app.domain.store.provider_org().await.unwrap().unwrap().0;
        app.user(system, "clerk", VappUser.id()).await;
        let world = World { app, acme, zebra, acme_role, zebra_role, number: 0.into() };
        world.vapp(&world.zebra, "zebra-vdc", "zebra-vapp", "").await;
        world.disk(&world.zebra, "zebra-vdc", "zebra-disk", "").await;
        let catalog = world.catalog(&world.zebra, "zebra-catalog").await;
        world.template(catalog, "zebra-template").await;
        world.upload(catalog, "zebra-upload").await;
        world.network(&world.zebra, "zebra-vdc", "zebra-network").await;
        world.catalog(&world.acme, "into").await;
        world.vapp(&world.acme, "prod", "target", "").await;
        world
    }

    /// A browser, and who it is if anybody.
    pub(crate) async fn visitor(&self, session: Session) -> (Client, Option<Actor>) {
        let app = &self.app;
        match session {
            Session::None => (app.browser(), None),
            Session::Expired => {
                let client = app.sign_in("acme", "an-admin").await;
                app.clock.advance(Duration::minutes(31));
                (client, None)
            }
            Session::Disabled => {
                let client = app.sign_in("acme", "an-admin").await;
                user::set_enabled(&app.domain, &app.operator().await, self.acme.user("an-admin"), false).await.unwrap();
                (client, None)
            }
            Session::Of(org, name) => {
                let sql = format!(
                    "select u.id::text from users u join organizations o on o.id = u.org_id
                     where o.name = '{org}' and u.name = '{name}'"
                );
                let actor = app.actor(app.db.text(&sql).await.parse().unwrap()).await;
                (app.sign_in(org, name).await, Some(actor))
            }
        }
    }

    fn next(&self) -> u32 {
        self.number.set(self.number.get() + 1);
        self.number.get()
    }

    /// Something of acme's that this POST can be done to; a new one where it would be used up.
    pub(crate) async fn own(&self, kind: Kind, path: &str, used_up: bool) -> String {
        let (app, n) = (&self.app, self.next());
        let operator = app.operator().await;
        let off = path.ends_with("/enable");
        match kind {
            Kind::Org if used_up => {
                let made = app.org(&format!("acme-{n}")).make().await;
                if off || path.ends_with("/delete") {
                    org::set_enabled(&app.domain, &operator, made.id, false).await.unwrap();
                }
                made.id.to_string()
            }
            Kind::Org => self.acme.id.to_string(),
            Kind::User if used_up => {
                let id = app.user(self.acme.id, &format!("user-{n}"), DeferToIdentityProvider.id()).await;
                if off {
                    user::set_enabled(&app.domain, &operator, id, false).await.unwrap();
                }
                id.to_string()
            }
            Kind::User => self.acme.user("target").to_string(),
            Kind::Role if used_up => app.role(self.acme.id, &format!("Role {n}"), &[Right::VdcView]).await.to_string(),
            Kind::Role => self.acme_role.to_string(),
            Kind::Vdc if used_up => {
                let id = app.vdc(self.acme.id, &format!("vdc-{n}")).await;
                if off {
                    vdc::set_enabled(&app.domain, &operator, id, false).await.unwrap();
                }
                id.to_string()
            }
            Kind::Vdc => self.acme.vdc("prod").to_string(),
            Kind::Hub => self.hub(path.ends_with("/uncordon")).await,
            Kind::Task => self.task_of(&self.acme, "prod").await,
            Kind::Vapp => self.vapp(&self.acme, "prod", &format!("vapp-{n}"), path).await.to_string(),
            Kind::Vm => {
                let vapp = self.vapp(&self.acme, "prod", &format!("vapp-{n}"), path).await;
                self.vm_of(vapp).await
            }
            Kind::Network => self.network(&self.acme, "prod", &format!("network-{n}")).await.to_string(),
            Kind::Catalog => self.catalog(&self.acme, &format!("catalog-{n}")).await.to_string(),
            Kind::Template => {
                let catalog = self.catalog(&self.acme, &format!("catalog-{n}")).await;
                let id = self.template(catalog, &format!("template-{n}")).await;
                if path.contains("/deploy") {
                    // who may make a vApp makes it from what everybody may use
                    let sql = format!(
                        "insert into shares (object_id, org_id, access) values ('{catalog}', '{}', 'ReadOnly')",
                        self.acme.id
                    );
                    self.app.db.execute(&sql).await;
                }
                if path.contains("/versions/") {
                    let sql = format!(
                        "insert into item_versions (id, template_id, number, size) values (gen_random_uuid(), '{id}', 1, 1)"
                    );
                    self.app.db.execute(&sql).await;
                }
                id
            }
            Kind::Upload => {
                let catalog = self.catalog(&self.acme, &format!("catalog-{n}")).await;
                self.upload(catalog, &format!("upload-{n}")).await
            }
            Kind::Disk => self.disk(&self.acme, "prod", &format!("disk-{n}"), "").await,
            Kind::StoragePolicy => self.policy(&format!("policy-{n}")).await,
            Kind::SizingPolicy => self.size(&format!("size-{n}")).await,
            Kind::AffinityRule => self.rule(&self.acme, "prod", &format!("rule-{n}")).await,
            other => panic!("{other:?}"),
        }
    }

    /// An independent one, in no VM or in the one given. Its row is enough: what is done here shows on no page.
    async fn disk(&self, org: &TestOrg, vdc: &str, name: &str, vm: &str) -> String {
        let sql = format!(
            "insert into disks (id, org_id, vdc_id, vm_id, independent, name, size_mb, applied_mb, policy_id, hub_name, obs_state)
             select gen_random_uuid(), '{}', '{}', nullif('{vm}', '')::uuid, true, '{name}', 1024, 1024, id, '{name}', 'ready'
             from storage_policies where is_default returning id::text",
            org.id,
            org.vdc(vdc)
        );
        self.app.db.text(&sql).await
    }

    /// A disc that everybody of acme sees; for one that is to be ejected, in the VM. Rows are enough.
    async fn disc(&self, path: &str, vm: &str) -> String {
        let sql = format!(
            "insert into catalogs (id, org_id, name) values (gen_random_uuid(), '{}', 'discs-{}') returning id::text",
            self.acme.id,
            self.next()
        );
        let catalog = CatalogId(self.app.db.text(&sql).await.parse().unwrap());
        let disc = self.template(catalog, "tools").await;
        let sql = format!(
            "update templates set kind = 'media' where id = '{disc}';
             insert into shares (object_id, org_id, access) values ('{catalog}', '{}', 'ReadOnly');
             with v as (insert into item_versions (id, template_id, number, size) values (gen_random_uuid(), '{disc}', 1, 1) returning id)
             insert into images (id, version_id, name, position, size, virtual_size, format, sha256)
             select gen_random_uuid(), id, 'tools.iso', 0, 1, 1, 'iso', '' from v;",
            self.acme.id
        );
        self.app.db.execute(&sql).await;
        if path.ends_with("/eject") {
            let sql = format!(
                "insert into disks (id, org_id, vdc_id, vm_id, name, size_mb, applied_mb, policy_id, media_id)
                 select gen_random_uuid(), v.org_id, v.vdc_id, v.id, 'cd-1', 1, 1, p.id, '{disc}' from vms v, storage_policies p
                 where p.is_default and v.id::text = '{vm}' and v.org_id = '{}'",
                self.acme.id
            );
            self.app.db.execute(&sql).await;
        }
        disc
    }

    /// Its row is enough, with two VMs that are rows as well.
    async fn rule(&self, org: &TestOrg, vdc: &str, name: &str) -> String {
        let (org_id, vdc_id) = (org.id, org.vdc(vdc));
        let sql = format!(
            "insert into affinity_rules (id, org_id, vdc_id, name, together, mandatory, enabled)
             values (gen_random_uuid(), '{org_id}', '{vdc_id}', '{name}', false, false, true) returning id::text"
        );
        self.app.db.text(&sql).await
    }

    /// The VDC of acme's that has this id, or a rule with it; empty: there is none.
    async fn vdc_of(&self, id: &str) -> String {
        let sql = format!(
            "select coalesce(max(d.id::text), '') from vdcs d left join affinity_rules r on r.vdc_id = d.id
             where d.org_id = '{}' and '{id}' in (d.id::text, r.id::text)",
            self.acme.id
        );
        self.app.db.text(&sql).await
    }

    /// Two VMs in that VDC, for a form about several. What is refused is refused before they are looked at, and making some
    /// would show on its page.
    async fn two_vms(&self, id: &str) -> Vec<String> {
        let vdc = self.vdc_of(id).await;
        if vdc.is_empty() {
            return ["1", "2"].map(|n| format!("01900000-0000-7000-8000-0000deadbee{n}")).to_vec();
        }
        let mut vms = Vec::new();
        for _ in 0..2 {
            let vapp = self.vapp(&self.acme, "prod", &format!("of-rule-{}", self.next()), "").await;
            let vm = self.vm_of(vapp).await;
            self.app.db.execute(&format!("update vms set vdc_id = '{vdc}' where id = '{vm}'")).await;
            vms.push(vm);
        }
        vms
    }

    async fn size(&self, name: &str) -> String {
        let spec = SizingSpec { name: name.into(), cpus: 2, memory_mb: 2048, ..SizingSpec::default() };
        sizing::create(&self.app.domain, &self.app.operator().await, spec).await.unwrap().id.to_string()
    }

    async fn policy(&self, name: &str) -> String {
        let spec = StoragePolicySpec { name: name.into(), ..StoragePolicySpec::default() };
        storage::create(&self.app.domain, &self.app.operator().await, spec).await.unwrap().id.to_string()
    }

    /// With one VM, in the state that the button at `path` is for.
    async fn vapp(&self, org: &TestOrg, vdc: &str, name: &str, path: &str) -> VappId {
        let (app, operator) = (&self.app, self.app.operator().await);
        let root = |name: &str| Disk { name: name.into(), size_mb: 1024, ..Disk::default() };
        let disks = vec![root("root"), root("data")];
        let vm = VmSpec { name: format!("{name}-vm"), cpus: 1, memory_mb: 1024, disks, ..VmSpec::default() };
        let spec = VappSpec { name: name.into(), description: String::new(), vms: vec![vm] };
        let made =
            vapp::compose(&app.domain, &operator, org.vdc(vdc), spec, vapp::Guest::default()).await.unwrap().vapp;
        let (power, seen) = match path.split('/').next_back() {
            Some("power-on" | "capture" | "copy" | "move") => ("off", "stopped"),
            Some("discard") => ("suspended", "suspended"),
            _ => ("on", "running"),
        };
        let sql = format!("update vms set power = '{power}', obs_state = '{seen}' where vapp_id = '{made}'");
        app.db.execute(&sql).await;
        if path.ends_with("/networks/remove") {
            let form = NetworkForm {
                name: "inner".into(),
                gateway: "10.1.0.1".into(),
                prefix: "24".into(),
                ..NetworkForm::default()
            };
            vapp_network::create(&app.domain, &operator, made, form).await.unwrap();
        }
        if path.ends_with("/capture") || path.ends_with("/copy") || path.ends_with("/move") {
            let hub = self.hub(false).await;
            app.db.execute(&format!("update vapps set hub_id = '{hub}' where id = '{made}'")).await;
        }
        if path.contains("/snapshots/") {
            // one that is there, unless the next is to be taken
            let sql = format!("update vms set uid = gen_random_uuid()::text where vapp_id = '{made}'");
            app.db.execute(&sql).await;
            if !path.ends_with("/new") {
                let sql = format!(
                    "insert into snapshots (id, org_id, vm_id, name, hub_name, state)
                     select gen_random_uuid(), org_id, id, 'first', 'first', 'ready' from vms where vapp_id = '{made}'"
                );
                app.db.execute(&sql).await;
            }
        }
        made
    }

    async fn network(&self, org: &TestOrg, vdc: &str, name: &str) -> NetworkId {
        let form = NetworkForm {
            name: name.into(),
            gateway: "10.1.0.1".into(),
            prefix: "24".into(),
            ..NetworkForm::default()
        };
        network::create(&self.app.domain, &self.app.operator().await, org.vdc(vdc), form).await.unwrap().id
    }

    async fn vm_of(&self, vapp: VappId) -> String {
        self.app.db.text(&format!("select id::text from vms where vapp_id = '{vapp}'")).await
    }

    async fn catalog(&self, org: &TestOrg, name: &str) -> CatalogId {
        let spec = CatalogSpec { name: name.into(), ..CatalogSpec::default() };
        catalog::create(&self.app.domain, &self.app.operator().await, org.id, spec).await.unwrap().id
    }

    async fn template(&self, catalog: CatalogId, name: &str) -> String {
        let vms = r#"[{"name": "web", "cpus": 1, "memory_mb": 1024, "disks": [{"name": "root", "size_mb": 10240}]}]"#;
        let sql = format!(
            "insert into templates (id, catalog_id, org_id, name, vms)
             select gen_random_uuid(), id, org_id, '{name}', '{vms}' from catalogs where id = '{catalog}' returning id::text"
        );
        self.app.db.text(&sql).await
    }

    async fn upload(&self, catalog: CatalogId, name: &str) -> String {
        let spec = UploadSpec { name: name.into(), ..UploadSpec::default() };
        upload::begin(&self.app.domain, &self.app.operator().await, catalog, spec).await.unwrap().to_string()
    }

    pub(crate) async fn foreign(&self, kind: Kind) -> String {
        match kind {
            Kind::Org => self.zebra.id.to_string(),
            Kind::User => self.zebra.user("zebra-user").to_string(),
            Kind::Role => self.zebra_role.to_string(),
            Kind::Vdc => self.zebra.vdc("zebra-vdc").to_string(),
            Kind::Hub => self.hub(false).await,
            Kind::Task => self.task_of(&self.zebra, "zebra-vdc").await,
            Kind::Vapp => self.zebra_id("vapps").await,
            Kind::Vm => self.zebra_id("vms").await,
            Kind::Network => self.zebra_id("networks").await,
            Kind::Catalog => self.zebra_id("catalogs").await,
            Kind::Template => self.zebra_id("templates").await,
            Kind::Upload => self.zebra_id("uploads").await,
            Kind::Disk => {
                let sql = format!("select id::text from disks where org_id = '{}' and independent", self.zebra.id);
                self.app.db.text(&sql).await
            }
            Kind::AffinityRule => {
                let name = format!("zebra-rule-{}", self.next());
                self.rule(&self.zebra, "zebra-vdc", &name).await
            }
            Kind::SizingPolicy => {
                let n = self.next();
                self.size(&format!("size-{n}")).await
            }
            Kind::StoragePolicy => {
                let n = self.next();
                self.policy(&format!("policy-{n}")).await
            }
            other => panic!("{other:?}"),
        }
    }

    /// A hub is nobody's: the provider sees all of them, and nobody else any.
    async fn hub(&self, cordoned: bool) -> String {
        let id = format!("sim-{}", self.next());
        self.app.hub(&id).await;
        if cordoned {
            hub::set_cordoned(&self.app.domain, &self.app.operator().await, &id.as_str().into(), true).await.unwrap();
        }
        id
    }

    async fn zebra_id(&self, table: &str) -> String {
        self.app.db.text(&format!("select id::text from {table} where org_id = '{}'", self.zebra.id)).await
    }

    /// A task that can be cancelled: its vApp is not begun on any hub.
    async fn task_of(&self, org: &TestOrg, vdc: &str) -> String {
        let (org, vdc, name) = (org.id, org.vdc(vdc), format!("{ASKED}{}", self.next()));
        let sql = format!(
            "with v as (insert into vapps (id, org_id, vdc_id, name) values (gen_random_uuid(), '{org}', '{vdc}', '{name}') returning id, name)
             insert into tasks (id, org_id, user_name, operation, object_kind, object_id, object_name, status, deadline)
             select gen_random_uuid(), '{org}', 'somebody', 'vapp.create', 'vapp', v.id, v.name, 'running', now() + interval '1 hour' from v returning id::text"
        );
        self.app.db.text(&sql).await
    }

    /// A form that would be accepted.
    async fn form(&self, path: &str, id: &str) -> Vec<(&'static str, String)> {
        let n = self.next();
        let role = DeferToIdentityProvider.id().to_string();
        // of what is another's nothing is known
        let column = async |table: &str, column: &str, else_: &str| {
            let own = if table == "organizations" {
                "name <> 'zebra'".into()
            } else {
                format!("org_id <> '{}'", self.zebra.id)
            };
            let sql = format!(
                "select {column}::text from {table} where id::text = '{id}' and {own} union all select '{else_}' limit 1"
            );
            self.app.db.text(&sql).await
        };
        let version = async |table: &str| ("version", column(table, "version", "1").await);
        let name = async |table: &str| ("name", column(table, "name", "some-name").await);
        if path.ends_with("/metadata") {
            return vec![("key", format!("key-{n}")), ("type", "number".into()), ("value", "7".into())];
        }
        if path.ends_with("/metadata/remove") {
            let object = if id.is_empty() { self.acme.id.to_string() } else { id.to_owned() };
            if uuid::Uuid::parse_str(&object).is_ok() {
                let sql = format!(
                    "insert into metadata (object_id, domain, key, object_kind, org_id, type, value, visibility)
                     values ('{object}', 'general', 'k', 'x', '{}', 'string', 'v', 'readwrite') on conflict do nothing",
                    self.acme.id
                );
                self.app.db.execute(&sql).await;
            }
            return vec![("domain", "general".into()), ("key", "k".into())];
        }
        if path.ends_with("/owner") {
            return vec![("owner", "an-admin".into())];
        }
        if path.ends_with("/copy") || path.ends_with("/move") {
            let other = format!("select id::text from vdcs where name = 'spare' and org_id = '{}'", self.acme.id);
            let vapp = format!("select id::text from vapps where name = 'target' and org_id = '{}'", self.acme.id);
            return vec![
                ("name", format!("copy-{n}")),
                ("vdc", self.app.db.text(&other).await),
                ("vapp", self.app.db.text(&vapp).await),
            ];
        }
        if path.ends_with("/bulk") {
            let what = if path.contains("/vapps/") || path.contains("/vms/") { "power-on" } else { "delete" };
            return vec![("do", what.into()), ("pick", id.to_owned())];
        }
        if path.ends_with("/stranded") {
            let (org, gone) = (self.acme.id, self.acme.user("gone"));
            self.app.db.execute(&format!("update users set enabled = false where id = '{gone}'")).await;
            let sql = format!(
                "insert into catalogs (id, org_id, owner_id, name) values (gen_random_uuid(), '{org}', '{gone}', 'left-{n}')"
            );
            self.app.db.execute(&sql).await;
            return vec![("owner", "an-admin".into()), ("all", "on".into())];
        }
        if path.ends_with("/sharing") {
            let table = if path.contains("/vapps/") { "vapps" } else { "catalogs" };
            return vec![version(table).await, ("everyone", "ReadOnly".into())];
        }
        if path.contains("/hubs/") || path.contains("/work/") {
            return self.hub_form(path, id).await;
        }
        if path.contains("/snapshots/") {
            let verb = path.split('/').next_back().unwrap_or_default();
            let sql = format!(
                "select id::text from snapshots where vm_id::text = '{id}' and org_id = '{}' union all select '' limit 1",
                self.acme.id
            );
            return match verb {
                "new" => vec![("name", format!("new-{n}"))],
                _ => vec![("snapshot", self.app.db.text(&sql).await), ("restart", "on".into())],
            };
        }
        if path.contains("/disks/") {
            return self.disk_form(path, id).await;
        }
        if path.contains("/media/") {
            return vec![("media", self.disc(path, id).await)];
        }
        if path.ends_with("/affinity") || path.contains("/affinity/") && path.ends_with("/edit") {
            let version = format!(
                "select version::text from affinity_rules where id::text = '{id}' union all select '1' limit 1"
            );
            let mut form = vec![("name", format!("rule-{n}")), ("polarity", "apart".into())];
            form.push(("version", self.app.db.text(&version).await));
            form.extend(self.two_vms(id).await.into_iter().map(|vm| ("vms", vm)));
            return form;
        }
        if path.ends_with("/sizing") {
            let size = match self.vdc_of(id).await.is_empty() {
                true => "01900000-0000-7000-8000-0000deadbeef".into(),
                false => self.size(&format!("size-of-vdc-{n}")).await,
            };
            return vec![("sizes", size)];
        }
        if path.contains("/sizing/") {
            let size = |name: String| vec![("name", name), ("cpus", "2".into()), ("memory", "4".into())];
            let version = format!(
                "select version::text from sizing_policies where id::text = '{id}' union all select '1' limit 1"
            );
            return match path.split('/').next_back() {
                Some("new") => size(format!("new-{n}")),
                _ => [size(format!("edited-{n}")), vec![("version", self.app.db.text(&version).await)]].concat(),
            };
        }
        if path.ends_with("/storage") {
            let policy = self.app.db.text("select id::text from storage_policies where is_default").await;
            return vec![("policies", policy.clone()), ("default_policy", policy)];
        }
        match path.split('/').next_back() {
            Some("new") if path.contains("/organizations/") => {
                vec![("name", format!("new-{n}")), ("admin_name", "boss".into()), ("admin_password", PASSWORD.into())]
            }
            Some("new") if path.contains("/users/") => vec![
                ("org", self.acme.id.to_string()),
                ("name", format!("new-{n}")),
                ("password", PASSWORD.into()),
                ("role", role),
            ],
            Some("new") if path.contains("/roles/") => vec![
                ("org", self.acme.id.to_string()),
                ("name", format!("New {n}")),
                ("rights", Right::VdcView.name().into()),
            ],
            Some("new") if path.contains("/catalogs/") => {
                vec![("org", self.acme.id.to_string()), ("name", format!("new-{n}"))]
            }
            Some("new") if path.contains("/networks/") => vec![
                ("vdc", self.acme.vdc("prod").to_string()),
                ("name", format!("new-{n}")),
                ("gateway", "10.1.0.1".into()),
                ("prefix", "24".into()),
            ],
            Some("edit") if path.contains("/networks/") => vec![
                version("networks").await,
                ("name", format!("network-{n}")),
                ("gateway", "10.1.0.1".into()),
                ("prefix", "24".into()),
            ],
            Some("delete") if path.contains("/networks/") => vec![name("networks").await],
            Some("add") if path.contains("/networks/") => {
                vec![("name", format!("new-{n}")), ("gateway", "10.1.0.1".into()), ("prefix", "24".into())]
            }
            Some("remove") if path.contains("/networks/") => {
                let sql =
                    format!("select id::text from networks where vapp_id::text = '{id}' union all select '' limit 1");
                vec![("network", self.app.db.text(&sql).await)]
            }
            Some("guest") => vec![version("vms").await, ("computer_name", "told".into())],
            Some("nics") => vec![version("vms").await, ("nic0-network", "vdc".into())],
            Some("new" | "deploy") if path.contains("/vapps/") || path.contains("/templates/") => {
                vec![("name", format!("new-{n}")), ("vdc", self.acme.vdc("prod").to_string())]
            }
            Some("upload") => vec![("name", format!("new-{n}")), ("kind", "media".into())],
            Some("delete") if path.contains("/versions/") => vec![("number", "1".into())],
            Some("capture") => {
                let catalog =
                    format!("select id::text from catalogs where name = 'into' and org_id = '{}'", self.acme.id);
                vec![("name", format!("new-{n}")), ("catalog", self.app.db.text(&catalog).await)]
            }
            Some("add") => vec![
                ("name", format!("new-{n}")),
                ("cpus", "1".into()),
                ("memory", "0.5".into()),
                ("disk", "10".into()),
            ],
            Some("resize") => vec![("cpus", "2".into()), ("memory", "2".into())],
            Some("new") => vec![
                ("org", self.acme.id.to_string()),
                ("name", format!("new-{n}")),
                ("allocation_model", "PayAsYouGo".into()),
            ],
            Some("edit") if path.ends_with("/organization/edit") => {
                let sql = format!("select version::text from organizations where id = '{}'", self.acme.id);
                vec![("version", self.app.db.text(&sql).await), ("display_name", format!("Acme {n}"))]
            }
            Some("edit") if path == "/profile/edit" => vec![("version", "1".into()), ("full_name", "Me".into())],
            Some("edit") if path.contains("/organizations/") => {
                vec![version("organizations").await, name("organizations").await]
            }
            Some("edit") if path.contains("/users/") => {
                vec![version("users").await, name("users").await, ("role", column("users", "role_id", &role).await)]
            }
            Some("edit") if path.contains("/roles/") => {
                vec![version("roles").await, ("name", format!("Role {n}")), ("rights", Right::VdcView.name().into())]
            }
            Some("edit") if path.contains("/vapps/") => vec![version("vapps").await, ("name", format!("vapp {n}"))],
            Some("edit") if path.contains("/vms/") => vec![version("vms").await, ("name", format!("vm {n}"))],
            Some("edit") if path.contains("/catalogs/") => {
                vec![version("catalogs").await, ("name", format!("catalog-{n}"))]
            }
            Some("edit") if path.contains("/storage/") => {
                let sql = format!(
                    "select version::text from storage_policies where id::text = '{id}' union all select '1' limit 1"
                );
                vec![("version", self.app.db.text(&sql).await), ("name", format!("policy-{n}"))]
            }
            Some("edit") => {
                vec![version("vdcs").await, ("name", format!("vdc-{n}")), ("allocation_model", "PayAsYouGo".into())]
            }
            Some("password") if path == "/profile/password" => {
                vec![("old_password", PASSWORD.into()), ("password", PASSWORD.into())]
            }
            Some("password") => vec![("password", PASSWORD.into())],
            Some("delete") if path.contains("/organizations/") => vec![name("organizations").await],
            Some("delete") if path.contains("/vdcs/") => vec![name("vdcs").await],
            _ => vec![],
        }
    }

    async fn disk_form(&self, path: &str, id: &str) -> Vec<(&'static str, String)> {
        let n = self.next();
        let of_vm = format!(
            "select id::text from disks where vm_id::text = '{id}' and name = 'data' union all select '' limit 1"
        );
        let verb = path.split('/').next_back().unwrap_or_default();
        let sized = || vec![("size", "2".to_owned()), ("bus", "virtio".to_owned())];
        match (verb, path.contains("/vms/")) {
            ("add", _) => sized(),
            ("edit", true) => [sized(), vec![("disk", self.app.db.text(&of_vm).await)]].concat(),
            ("remove", true) => vec![("disk", self.app.db.text(&of_vm).await)],
            ("attach", true) => vec![("disk", self.disk(&self.acme, "prod", &format!("free-{n}"), "").await)],
            ("detach", true) => {
                let there =
                    self.app.db.count(&format!("vms where id::text = '{id}' and org_id = '{}'", self.acme.id)).await;
                let vm = if there == 1 { id } else { "" };
                vec![("disk", self.disk(&self.acme, "prod", &format!("in-{n}"), vm).await)]
            }
            ("new", _) => {
                let named = vec![("name", format!("new-{n}")), ("vdc", self.acme.vdc("prod").to_string())];
                [named, sized()].concat()
            }
            ("edit", _) => {
                let sql = format!(
                    "select version::text from disks where id::text = '{id}' and org_id = '{}' union all select '1' limit 1",
                    self.acme.id
                );
                [sized(), vec![("name", format!("disk {n}")), ("version", self.app.db.text(&sql).await)]].concat()
            }
            _ => vec![],
        }
    }

    async fn hub_form(&self, path: &str, id: &str) -> Vec<(&'static str, String)> {
        let n = self.next();
        let spec = || vec![("hub_type", "vmaas".into()), ("namespace", "vmaas-system".into())];
        let kubeconfig = || async { ("kubeconfig", kubeconfig().await.to_owned()) };
        match path.split('/').next_back() {
            Some("new") => [spec(), vec![("id", format!("new-{n}")), kubeconfig().await]].concat(),
            Some("test") => vec![kubeconfig().await],
            Some("edit") => {
                let sql = format!("select version::text from hubs where id = '{id}' union all select '1' limit 1");
                [spec(), vec![("version", self.app.db.text(&sql).await)]].concat()
            }
            Some("kubeconfig") => vec![kubeconfig().await, ("anyway", "on".into())],
            Some("by-hand") => vec![("deed", "edit-vm".into()), ("vm", String::new())],
            Some("faults") => vec![("fault", "refuse".into()), ("on", "true".into())],
            Some("delete" | "abandon") => vec![("name", id.to_owned())],
            Some("retry") => {
                let vdc = self.acme.vdc("prod");
                let sql = format!(
                    "insert into work (kind, id, org_id, failing) values ('vdc', '{vdc}', '{}', 'failed') on conflict do nothing",
                    self.acme.id
                );
                self.app.db.execute(&sql).await;
                vec![("kind", "vdc".into()), ("id", vdc.to_string())]
            }
            _ => vec![],
        }
    }

    pub(crate) async fn ask(&self, client: &Client, method: &str, path: &str, id: &str) -> Answer {
        if method == "GET" {
            return client.get(path).await;
        }
        let form = self.form(path, id).await;
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        client.post(path, &form).await
    }

    /// All that is zebra's, to see that nobody changed it.
    pub(crate) async fn zebra_rows(&self) -> String {
        let id = self.zebra.id;
        let sql = format!(
            "select string_agg(r, '|' order by r) from (select o::text r from organizations o where id = '{id}'
             union all select u::text from users u where org_id = '{id}' union all select v::text from vdcs v where org_id = '{id}'
             union all select r::text from roles r where org_id = '{id}' union all select a::text from vapps a where org_id = '{id}' and name not like '{ASKED}%'
             union all select m::text from vms m where org_id = '{id}' union all select c::text from catalogs c where org_id = '{id}'
             union all select n::text from networks n where org_id = '{id}' union all select t::text from templates t where org_id = '{id}') rows"
        );
        self.app.db.text(&sql).await
    }
}
