//! One installation on a database of its own, with simulated hubs and one or three replicas of the controller.
use crate::{
    harness::{TestApp, TestOrg, iso, qcow2},
    replica::Replica,
    witness::Witness,
};
use axum::body::Bytes;
use domain::{catalog, hub, hub::Trust, sizing, upload, vapp};
use hubsim::{Denial, Hub, Operation, Options, Review, Webhook, actors};
use model::{
    Action, Actor, CatalogId, Error, HubId, NetworkId, Result, SizingId, TemplateId, UploadId, VappId, VdcId, VmId,
    catalog::CatalogSpec,
    hub::{HubSpec, HubType},
    list::{ListQuery, TEMPLATES},
    network::NetworkForm,
    nic::NicSpec,
    role::Predefined,
    sizing::SizingSpec,
    template::{ItemKind, Template},
    upload::UploadSpec,
    vapp::VappSpec,
    vm::{Power, VmSpec},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};
use transfer::Range;

pub(crate) const KUBEVIRT: &str = "kubevirt.io";
/// The template that OpenShift is to make the machines of.
pub(crate) const BY_OPENSHIFT: &str = "fedora-43";
pub(crate) const SEVERAL: &str = "web-and-db";

/// How many times each action was accepted, and how many times nobody knows.
#[derive(Clone, Default)]
pub(crate) struct Counts {
    pub(crate) accepted: BTreeMap<&'static str, i64>,
    pub(crate) doubtful: BTreeMap<&'static str, i64>,
}

pub(crate) struct Stage {
    pub(crate) app: TestApp,
    pub(crate) acme: TestOrg,
    pub(crate) admin: Actor,
    pub(crate) operator: Actor,
    pub(crate) witness: Witness,
    pub(crate) counts: Mutex<Counts>,
    /// Runs from the beginning to the end, whatever happens around it.
    pub(crate) steady: VmId,
    pub(crate) replicas: tokio::sync::Mutex<Vec<Replica>>,
    /// Audit rows by action when the stage was set.
    pub(crate) before: BTreeMap<String, i64>,
    sims: Vec<(Hub, actors::Actors)>,
    denies: Arc<AtomicBool>,
    number: AtomicU32,
}

struct Guard(Arc<AtomicBool>);

impl Webhook for Guard {
    fn validate(&self, review: &Review<'_>) -> std::result::Result<Vec<String>, Denial> {
        let about = review.resource == "virtualmachines" && review.operation != Operation::Delete;
        if about && review.user != "system:inside" && self.0.load(Ordering::Relaxed) {
            let why = "no machines today";
            return Err(Denial { code: 422, reason: "Invalid", ..Denial::forbidden("guard.example.com", why) });
        }
        Ok(Vec::new())
    }
}

impl Stage {
    /// Hub `one` is registered and has a running machine, and beside it machines that are nobody's business.
    pub(crate) async fn set() -> Stage {
        let app = TestApp::start().await;
        let operator = app.operator().await;
        let (witness, denies) = (Witness::default(), Arc::new(AtomicBool::new(false)));
        let mut sims = Vec::new();
        for name in ["one", "two"] {
            let sim = Hub::start(Options { name: name.into(), ..Options::default() }).await.unwrap();
            witness.watch(&sim);
            actors::furnish(sim.inside(), sim.flavour()).await.unwrap();
            let quick = actors::Options { delay: Duration::ZERO, events: false, ..actors::Options::default() };
            let actors = actors::attach(&sim, &quick);
            sim.add_webhook(Arc::new(Guard(denies.clone())));
            let mark =
                |t: &mut Value| t["metadata"]["annotations"]["ssvirt.io/instantiate"] = "template-instance".into();
            assert!(sim.edit("template.openshift.io", "templates", "openshift", BY_OPENSHIFT, mark).unwrap());
            // never full, however many runs there are on a stage
            for node in sim.objects("", "nodes") {
                let room = |n: &mut Value| {
                    n["status"]["allocatable"] =
                        json!({"cpu": "9999", "memory": "99999Gi", "pods": "9999", "devices.kubevirt.io/kvm": "9k"})
                };
                sim.edit("", "nodes", "", node["metadata"]["name"].as_str().unwrap(), room).unwrap();
            }
            sims.push((sim, actors));
        }
        let acme = app.org("acme").user("heir", Predefined::VappAuthor).make().await;
        let admin = app.actor(acme.admin()).await;
        let spec = CatalogSpec { name: "linux".into(), shared_to_all: true, from_hubs: true, ..CatalogSpec::default() };
        catalog::create(&app.domain, &operator, operator.org, spec).await.unwrap();
        let spec = CatalogSpec { name: "own".into(), ..CatalogSpec::default() };
        catalog::create(&app.domain, &admin, acme.id, spec).await.unwrap();
        app.db
            .execute(
                "create table seen_log (vm uuid, was text, is_now text, at timestamptz default clock_timestamp());
                 create function note_seen() returns trigger language plpgsql as $$ begin
                   insert into seen_log (vm, was, is_now) values (new.id, old.obs_state, new.obs_state); return new; end $$;
                 create trigger note_seen after update of obs_state on vms for each row
                   when (old.obs_state is distinct from new.obs_state) execute function note_seen();",
            )
            .await;
        let mut stage = Stage {
            app,
            acme,
            admin,
            operator,
            witness,
            counts: Mutex::default(),
            steady: VmId(uuid::Uuid::nil()),
            replicas: tokio::sync::Mutex::default(),
            before: BTreeMap::new(),
            sims,
            denies,
            number: AtomicU32::new(0),
        };
        stage.register("one").await.unwrap();
        stage.replicas.lock().await.push(stage.inside(time::Duration::ZERO));
        stage.furnish().await;
        stage
    }

    async fn furnish(&mut self) {
        self.until("templates", async || self.template(SEVERAL).await.is_some()).await;
        let vdc = self.new_vdc("prod").await.unwrap();
        let vapp = self.compose(vdc, "steady", &[Power::On]).await.unwrap();
        self.running(vapp).await;
        self.steady = self.vms_of(vapp).await[0];
        let steady = self.object_of(self.steady).await.unwrap();
        self.bystander(&steady, "somebody-elses", false);
        self.bystander(&steady, "unknown-to-us", true);
        self.app.db.execute("delete from seen_log").await;
        self.before = self.audit_rows().await;
        *self.counts.lock().unwrap() = Counts::default();
    }

    /// A machine in our namespace that is not ours, or carries our mark and an id that nobody knows.
    fn bystander(&self, like: &Value, name: &str, marked: bool) {
        let mut other = like.clone();
        other["metadata"] = json!({"name": name, "namespace": like["metadata"]["namespace"]});
        if marked {
            other["metadata"]["labels"] = like["metadata"]["labels"].clone();
            other["metadata"]["labels"]["ssvirt.io/vm-id"] = json!(uuid::Uuid::now_v7());
        }
        other["spec"]["runStrategy"] = "Halted".into();
        other["spec"]["template"]["metadata"] = json!({});
        other["status"] = json!({});
        let planted = self.hub("one").plant(KUBEVIRT, "virtualmachines", other).unwrap();
        self.witness.guard(name, &planted);
    }

    pub(crate) fn hub(&self, name: &str) -> &Hub {
        self.sims.iter().map(|(hub, _)| hub).find(|h| h.name() == name).unwrap()
    }

    pub(crate) fn hubs(&self) -> impl Iterator<Item = &Hub> {
        self.sims.iter().map(|(hub, _)| hub)
    }

    pub(crate) fn deny(&self, on: bool) {
        self.denies.store(on, Ordering::Relaxed);
    }

    /// A name that nothing on this stage has had.
    pub(crate) fn fresh(&self, word: &str) -> String {
        format!("{word}-{}", self.number.fetch_add(1, Ordering::Relaxed))
    }

    /// A replica in this process, whose clock is so much off.
    pub(crate) fn inside(&self, clock_off: time::Duration) -> Replica {
        Replica::inside(&self.app, clock_off)
    }

    /// So many replicas in this process; more are started, too many end as if they were killed.
    pub(crate) async fn have(&self, replicas: usize) {
        let mut all = self.replicas.lock().await;
        while all.len() > replicas {
            all.pop().unwrap().kill().await;
        }
        while all.len() < replicas {
            all.push(self.inside(time::Duration::ZERO));
        }
    }

    /// Asks for something and remembers whether it was accepted.
    pub(crate) async fn ask<T>(&self, action: Action, asked: impl Future<Output = Result<T>>) -> Result<T> {
        let result = asked.await;
        let mut counts = self.counts.lock().unwrap();
        match &result {
            Ok(_) => *counts.accepted.entry(action.key()).or_default() += 1,
            Err(Error::Unavailable(_) | Error::Internal(_)) => *counts.doubtful.entry(action.key()).or_default() += 1,
            Err(_) => {}
        }
        result
    }

    pub(crate) async fn register(&self, name: &str) -> Result<()> {
        let spec = HubSpec {
            id: name.into(),
            hub_type: HubType::Vmaas,
            namespace: "vmaas-system".into(),
            ..HubSpec::default()
        };
        self.end_accounts(name);
        let kubeconfig = self.account(name, &self.fresh("account"));
        let asked = hub::register(&self.app.domain, &self.operator, spec, &kubeconfig, Trust::Operator);
        self.ask(Action::HubRegister, asked).await.map(drop)
    }

    /// A kubeconfig of a new account with all rights.
    pub(crate) fn account(&self, hub: &str, name: &str) -> String {
        let hub = self.hub(hub);
        let account =
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}});
        hub.plant("", "serviceaccounts", account).unwrap();
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
        });
        hub.plant("rbac.authorization.k8s.io", "clusterrolebindings", binding).unwrap();
        hub.kubeconfig_for(&hub.account_token("default", name).unwrap())
    }

    /// What came with them is not accepted any more.
    pub(crate) fn end_accounts(&self, hub: &str) {
        for account in self.hub(hub).objects("", "serviceaccounts") {
            let name = account["metadata"]["name"].as_str().unwrap_or_default();
            if name.starts_with("account") {
                self.hub(hub).remove("", "serviceaccounts", "default", name).unwrap();
            }
        }
    }

    pub(crate) async fn hub_ready(&self, name: &str) {
        let sql = format!("hubs where id = '{name}' and state in ('ready', 'degraded') and checked_at is not null");
        self.until("a ready hub", async || self.app.db.count(&sql).await == 1).await;
    }

    pub(crate) async fn new_vdc(&self, name: &str) -> Result<VdcId> {
        let spec = model::vdc::VdcSpec { name: name.into(), ..Default::default() };
        let asked = domain::vdc::create(&self.app.domain, &self.admin, self.acme.id, spec);
        self.ask(Action::VdcCreate, asked).await.map(|vdc| vdc.id)
    }

    pub(crate) async fn vdc_ready(&self, vdc: VdcId) {
        let sql = format!("places where vdc_id = '{vdc}' and ready_at is not null");
        self.until("a VDC's namespace", async || self.app.db.count(&sql).await > 0).await;
    }

    /// A VDC has a namespace on that hub besides its first one, and nothing in it.
    pub(crate) async fn also_on(&self, hub: &str, vdc: VdcId) {
        let store = &self.app.domain.store;
        store.place_want(vdc, &hub.into()).await.unwrap();
        store.enqueue(model::Kind::Vdc, vdc, self.acme.id, "").await.unwrap();
        let sql = format!("places where vdc_id = '{vdc}' and hub_id = '{hub}' and ready_at is not null");
        self.until("its second namespace", async || self.app.db.count(&sql).await > 0).await;
    }

    pub(crate) async fn prod(&self) -> VdcId {
        VdcId(self.app.db.text("select id::text from vdcs where name = 'prod'").await.parse().unwrap())
    }

    /// A busy machine may keep a request waiting for too long.
    pub(crate) async fn template(&self, name: &str) -> Option<Template> {
        for _ in 0..20 {
            match self.look_for_template(name).await {
                Some(template) => return Some(template),
                None => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
            }
        }
        None
    }

    async fn look_for_template(&self, name: &str) -> Option<Template> {
        let query = ListQuery { search: name.into(), ..ListQuery::first(&TEMPLATES) };
        let page = catalog::templates(&self.app.domain, &self.admin, None, &query).await.ok()?;
        page.items.into_iter().find(|t| t.name == name)
    }

    /// An item of acme's own catalog, checked and ready: a disc, or a disk to deploy.
    pub(crate) async fn upload(&self, name: &str, disc: bool) -> Result<TemplateId> {
        let id = self.send_image(name, disc).await?;
        let done = format!("uploads where id = '{id}' and state = 'done'");
        self.until("the upload", async || self.app.db.count(&done).await == 1).await;
        Ok(upload::get(&self.app.domain, &self.admin, id).await?.template)
    }

    /// All bytes of it are sent, as by a client that goes on with what it began before.
    pub(crate) async fn send_image(&self, name: &str, disc: bool) -> Result<UploadId> {
        let (d, db) = (&self.app.domain, &self.app.db);
        let (kind, file, bytes) = match disc {
            true => (ItemKind::Media, "disc.iso", iso()),
            false => (ItemKind::Template, "disk.qcow2", qcow2(64)),
        };
        let begun = format!(
            "select coalesce(max(u.id::text), '') from uploads u join templates t on t.id = u.template_id where t.name = '{name}'"
        );
        let id = match db.text(&begun).await.parse() {
            Ok(id) => UploadId(id),
            Err(_) => {
                let own = db.text("select id::text from catalogs where name = 'own'").await.parse().unwrap();
                let spec = UploadSpec { name: name.into(), kind, ..UploadSpec::default() };
                self.ask(Action::TemplateUpload, upload::begin(d, &self.admin, CatalogId(own), spec)).await?
            }
        };
        let (link, length) = (upload::get(d, &self.admin, id).await?.link, bytes.len() as u64);
        let bytes = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from(bytes))]);
        upload::send(d, &link, file, Range::whole(length), "", bytes).await?;
        Ok(id)
    }

    pub(crate) async fn deploy(&self, vdc: VdcId, template: &str, name: &str) -> Result<VappId> {
        let template = self.template(template).await.ok_or(Error::Unavailable("no template".into()))?;
        let guest = vapp::Guest { user_data: "#cloud-config\npackages: [vim]\n".into(), ..Default::default() };
        let guest = if template.by_instance { vapp::Guest::default() } else { guest };
        let ask = vapp::Deploy { name: name.into(), power_on: true, guest, ..vapp::Deploy::default() };
        let asked = vapp::deploy(&self.app.domain, &self.admin, vdc, template.id, ask);
        self.ask(Action::VappCreate, asked).await.map(|a| a.vapp)
    }

    pub(crate) async fn compose(&self, vdc: VdcId, name: &str, vms: &[Power]) -> Result<VappId> {
        let vms = vms.iter().enumerate().map(|(i, power)| machine(&format!("{name}-m{i}"), *power)).collect();
        let spec = VappSpec { name: name.into(), vms, ..Default::default() };
        let asked = vapp::compose(&self.app.domain, &self.admin, vdc, spec, vapp::Guest::default());
        self.ask(Action::VappCreate, asked).await.map(|a| a.vapp)
    }

    pub(crate) async fn new_network(&self, vdc: VdcId, name: &str, shared: bool) -> Result<NetworkId> {
        let form = NetworkForm {
            name: name.into(),
            gateway: "10.7.0.1".into(),
            prefix: "24".into(),
            ranges: "10.7.0.10-10.7.0.99".into(),
            shared,
            ..NetworkForm::default()
        };
        let asked = domain::network::create(&self.app.domain, &self.admin, vdc, form);
        self.ask(Action::NetworkCreate, asked).await.map(|n| n.id)
    }

    /// A size that the VDC may use, beside those it may use already.
    pub(crate) async fn new_size(&self, vdc: VdcId, name: &str) -> Result<SizingId> {
        let spec = SizingSpec { name: name.into(), cpus: 2, memory_mb: 2048, ..SizingSpec::default() };
        let id = self.ask(Action::SizingCreate, sizing::create(&self.app.domain, &self.operator, spec)).await?.id;
        self.set_sizes(vdc, |sizes| sizes.push(id)).await?;
        Ok(id)
    }

    pub(crate) async fn without_size(&self, vdc: VdcId, id: SizingId) -> Result<()> {
        self.set_sizes(vdc, |sizes| sizes.retain(|s| *s != id)).await
    }

    async fn set_sizes(&self, vdc: VdcId, change: impl FnOnce(&mut Vec<SizingId>)) -> Result<()> {
        let d = &self.app.domain;
        let mut sizes = sizing::choices(d, &[vdc]).await?.into_iter().map(|p| p.id).collect();
        change(&mut sizes);
        self.ask(Action::VdcSizing, sizing::set_for_vdc(d, &self.operator, vdc, sizes, None)).await
    }

    /// One machine that runs, of this size.
    pub(crate) async fn compose_sized(&self, vdc: VdcId, name: &str, size: Option<SizingId>) -> Result<VappId> {
        let vms = vec![VmSpec { sizing: size, ..machine(&format!("{name}-m"), Power::On) }];
        let spec = VappSpec { name: name.into(), vms, ..Default::default() };
        let asked = vapp::compose(&self.app.domain, &self.admin, vdc, spec, vapp::Guest::default());
        self.ask(Action::VappCreate, asked).await.map(|a| a.vapp)
    }

    /// One machine that runs, with these NICs.
    pub(crate) async fn compose_on(&self, vdc: VdcId, name: &str, nics: Vec<NicSpec>) -> Result<VappId> {
        let vms = vec![VmSpec { nics, ..machine(&format!("{name}-m"), Power::On) }];
        let spec = VappSpec { name: name.into(), vms, ..Default::default() };
        let asked = vapp::compose(&self.app.domain, &self.admin, vdc, spec, vapp::Guest::default());
        self.ask(Action::VappCreate, asked).await.map(|a| a.vapp)
    }

    pub(crate) async fn vms_of(&self, vapp: VappId) -> Vec<VmId> {
        let sql =
            format!("select coalesce(string_agg(id::text, ' ' order by id), '') from vms where vapp_id = '{vapp}'");
        self.app.db.text(&sql).await.split_whitespace().map(|id| VmId(id.parse().unwrap())).collect()
    }

    /// Until all machines are as they were asked for, and the tasks about them ended.
    pub(crate) async fn running(&self, vapp: VappId) {
        let not_yet = format!(
            "vms where vapp_id = '{vapp}' and deleted_at is null and (applied is distinct from generation or
             obs_state <> case power when 'on' then 'running' when 'off' then 'stopped' else 'suspended' end)"
        );
        let open = format!(
            "tasks where status in ('queued', 'running') and (object_id = '{vapp}' or object_id in (select id from vms where vapp_id = '{vapp}'))"
        );
        let reached = async || self.app.db.count(&not_yet).await == 0 && self.app.db.count(&open).await == 0;
        self.until("machines as asked for", reached).await;
    }

    /// Its namespace and name on its hub.
    pub(crate) async fn place_of(&self, vm: VmId) -> (String, String) {
        let sql = format!(
            "select d.namespace_name || ' ' || v.hub_name from vms v join vdcs d on d.id = v.vdc_id where v.id = '{vm}'"
        );
        let row = self.app.db.text(&sql).await;
        let (namespace, name) = row.split_once(' ').unwrap();
        (namespace.to_owned(), name.to_owned())
    }

    pub(crate) async fn object_of(&self, vm: VmId) -> Option<Value> {
        let (namespace, name) = self.place_of(vm).await;
        self.hubs().find_map(|h| h.object(KUBEVIRT, "virtualmachines", &namespace, &name)).map(|o| (*o).clone())
    }

    pub(crate) async fn audit_rows(&self) -> BTreeMap<String, i64> {
        let sql = "select coalesce(jsonb_object_agg(action, n), '{}')::text from (select action, count(*) n from audit where result = 'done' group by action) t";
        serde_json::from_str(&self.app.db.text(sql).await).unwrap()
    }

    pub(crate) async fn until(&self, what: &str, mut reached: impl AsyncFnMut() -> bool) {
        let end = Instant::now() + Duration::from_secs(120);
        while Instant::now() < end {
            if reached().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        let work = self.app.db.text("select coalesce(jsonb_agg(w), '[]')::text from (select kind, id, failing, last_error, attempt, lease_until > now() as held from work) w").await;
        let refused = self.app.db.text("select coalesce(jsonb_agg(placement), '[]')::text from vapps where hub_id is null and deleted_at is null").await;
        let tasks = self.app.db.text("select coalesce(jsonb_agg(w), '[]')::text from (select operation, object_id, message from tasks where status in ('queued', 'running')) w").await;
        let seen = self.app.db.text("select coalesce(jsonb_agg(w), '[]')::text from (select v.hub_name, v.power, v.obs_state, v.problem, v.applied, v.generation, v.obs_rv, v.obs_at, k.name as disk, k.obs_state as disk_seen from vms v left join disks k on k.vm_id = v.id where v.gone_at is null and v.id <> '{}'::uuid) w".replace("{}", &self.steady.to_string()).as_str()).await;
        let log = self.app.db.text("select coalesce(jsonb_agg(w order by at), '[]')::text from (select v.hub_name, l.was, l.is_now, l.at from seen_log l join vms v on v.id = l.vm) w").await;
        let held = self.app.db.text("select coalesce(jsonb_agg(w), '[]')::text from (select id, state, lease_owner, lease_epoch, lease_until, now() as now from hubs) w").await;
        panic!(
            "{what} did not come; work: {work}; tasks: {tasks}; not placed: {refused}; known: {seen}; seen to change: {log}; hubs: {held}; on hubs: {}",
            self.unfinished()
        );
    }

    /// What is not done on the hubs themselves, as they show it.
    fn unfinished(&self) -> String {
        let mut all = Vec::new();
        for hub in self.hubs() {
            for (group, resource) in [(KUBEVIRT, "virtualmachines"), ("cdi.kubevirt.io", "datavolumes")] {
                for o in hub.objects(group, resource) {
                    let (meta, status) = (&o["metadata"], &o["status"]);
                    let stands = if status["phase"].is_null() { &status["printableStatus"] } else { &status["phase"] };
                    if stands != "Running" && stands != "Succeeded" && stands != "Stopped" {
                        all.push(format!(
                            "{}: {resource} {}/{} at {} {stands}, deleted {}",
                            hub.name(),
                            meta["namespace"],
                            meta["name"],
                            meta["resourceVersion"],
                            meta["deletionTimestamp"]
                        ));
                    }
                }
            }
        }
        all.join("; ")
    }
}

pub(crate) fn machine(name: &str, power: Power) -> VmSpec {
    VmSpec { name: name.into(), cpus: 1, memory_mb: 1024, power, ..VmSpec::default() }
}

/// The id of the only hub most things happen on.
pub(crate) fn one() -> HubId {
    HubId("one".into())
}
