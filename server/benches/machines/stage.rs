//! Simulated hubs, a database, and as many machines as wanted on both.
use anyhow::{Context, Result, anyhow};
use axum::{
    Router,
    body::Body,
    http::{Request, Response},
};
use domain::{
    Domain, Gate,
    hub::{Trust, register},
};
use futures::{StreamExt, TryStreamExt, stream};
use hub::{
    Client, Key,
    apply::{Home, Owner},
    client::Options,
    resource::{NAMESPACES, VIRTUAL_MACHINES},
    shape::{
        names::{self, VDC_ID, VM_ID},
        namespace,
        vm::{Attachment, Device, Disk, DiskSource, Identity, Nic, Size, Vm, virtual_machine},
    },
};
use hubsim::{Hub, actors};
use model::{
    Action, Actor, OrgId, VdcId,
    hub::{HubSpec, HubType},
};
use server::{
    AppState, demo,
    settings::{Need, Resolved, Settings, Sources},
    shutdown::Shutdown,
};
use sqlx::PgPool;
use std::time::Duration;
use tower::ServiceExt;
use uuid::Uuid;
use work::{Config, Controller, Times};

const HUBS: usize = 4;
pub(crate) const SECRET: &str = "8vJq2tXw5YbN7cRz4mKd9pLs6fHg3aQe1uWi0oPx";

pub(crate) struct Stage {
    pub(crate) domain: Domain,
    pub(crate) pool: PgPool,
    pub(crate) url: String,
    pub(crate) hubs: Vec<Hub>,
    actors: Vec<actors::Actors>,
    pub(crate) app: Router,
    /// Of acme's administrator.
    pub(crate) cookie: String,
    pub(crate) org: OrgId,
    pub(crate) vdc: VdcId,
}

impl Stage {
    /// A database of its own beside the one that is given, and hubs on which nothing takes time.
    pub(crate) async fn set() -> Result<Stage> {
        Stage::with(Duration::ZERO).await
    }

    /// The same with hubs on which each step of a boot takes so long.
    pub(crate) async fn with(step: Duration) -> Result<Stage> {
        let given = std::env::var("DATABASE_URL").context("DATABASE_URL is not set: run `make bench`")?;
        let name = format!("bench_{}", Uuid::now_v7().simple());
        sqlx::query(&format!("create database {name}")).execute(&PgPool::connect(&given).await?).await?;
        let (server, query) = given.split_once('?').unwrap_or((&given, ""));
        let url = format!("{}/{name}?{query}", server.rsplit_once('/').context("DATABASE_URL names no database")?.0);
        let env = [("DATABASE_URL", url.as_str()), ("SSVIRT_AUTH_SECRET", SECRET)];
        let env = env.map(|(name, value)| (name.into(), value.into())).to_vec();
        let sources = Sources { flags: Default::default(), env, defaults: Vec::new() };
        let settings = Settings::build(&Resolved::read(&sources), Need::Nothing)?;
        // uploads are begun here, and sent to a server of their own
        let area = Some(domain::Area::new("nowhere", 1 << 40));
        let domain = Domain { gate: Gate::open(), area, ..server::database::open(&settings)? };
        domain.store.migrate().await?;
        demo::seed::run(&domain).await?;
        let state = AppState::new(settings, domain.clone(), Shutdown::default(), false);
        state.mark_started();
        let app = server::router(state);
        let pool = PgPool::connect(&url).await?;
        // as many as are wanted
        for table in ["organizations", "vdcs"] {
            let all = "vm_limit = null, cpu_limit = null, memory_limit_mb = null, storage_limit_mb = null";
            sqlx::query(&format!("update {table} set {all}")).execute(&pool).await?;
        }
        let operator = domain::bootstrap::operator(&domain).await.map_err(|e| anyhow!("{e}"))?;
        let (mut hubs, mut players) = (Vec::new(), Vec::new());
        for n in 0..HUBS {
            let sim = Hub::start(hubsim::Options { name: format!("hub-{n}"), ..hubsim::Options::default() }).await?;
            actors::furnish(sim.inside(), sim.flavour()).await?;
            let quick = actors::Options { delay: step, events: false, ..actors::Options::default() };
            players.push(actors::attach(&sim, &quick));
            let spec = HubSpec {
                id: format!("hub-{n}"),
                hub_type: HubType::Vmaas,
                namespace: "vmaas-system".into(),
                ..HubSpec::default()
            };
            register(&domain, &operator, spec, &sim.kubeconfig(), Trust::Operator).await?;
            hubs.push(sim);
        }
        let (org, vdc) = sqlx::query_as::<_, (Uuid, Uuid)>("select org_id, id from vdcs where name = 'acme-prod'")
            .fetch_one(&pool)
            .await?;
        let cookie = sign_in(&app).await?;
        Ok(Stage { domain, pool, url, hubs, actors: players, app, cookie, org: OrgId(org), vdc: VdcId(vdc) })
    }

    /// Acme's administrator, as operations see them.
    pub(crate) async fn actor(&self) -> Result<Actor> {
        let refused = |e: model::Error| anyhow!("{e}");
        let operator = domain::bootstrap::operator(&self.domain).await.map_err(refused)?;
        let id = self.domain.store.user_called(self.org, "acme-admin").await?.context("there is no acme-admin")?;
        let user = self.domain.store.user(&operator, Action::UserView, id).await?.into_inner();
        let role = self.domain.store.role(&operator, Action::RoleView, user.role, None).await?;
        Ok(Actor {
            user: Some(user.id),
            name: user.name.clone(),
            full_name: user.full_name.clone(),
            org: self.org,
            org_name: "acme".into(),
            org_display_name: "acme".into(),
            provider: false,
            role: role.id,
            role_name: role.name.clone(),
            rights: role.rights,
            origin: model::Origin::default(),
        })
    }

    /// From here on the hubs are API servers and no more: what KubeVirt would do is not ours to measure.
    pub(crate) async fn without_actors(&mut self) {
        for actors in self.actors.drain(..) {
            actors.stop().await;
        }
    }

    /// With no limit on how often a hub is asked: what we can do is measured, not what we allow ourselves.
    pub(crate) fn calls() -> Options {
        Options { per_second: 1_000_000, burst: 1_000_000, at_once: 64, ..Options::default() }
    }

    pub(crate) fn client(&self, n: usize) -> Result<Client> {
        let credential = hub::kubeconfig::parse(&self.hubs[n].kubeconfig()).map_err(|e| anyhow!("{e}"))?;
        Ok(Client::new(&credential, &hub::address::Gate::open(), domain::system_clock(), Stage::calls())?)
    }

    pub(crate) fn controller(&self) -> Controller {
        let d = &self.domain;
        Controller::start(Config {
            store: d.store.clone(),
            vault: d.vault.clone().expect("a secret is set"),
            gate: d.gate.clone(),
            clock: d.clock.clone(),
            template_namespaces: vec!["openshift".into()],
            image_namespaces: vec!["openshift-virtualization-os-images".into()],
            times: Times { calls: Stage::calls(), ..Times::default() },
        })
    }

    /// Running machines on all hubs, with rows that know of them, ten in a vApp.
    pub(crate) async fn machines(&self, count: usize) -> Result<()> {
        let each = count / self.hubs.len();
        for n in 0..self.hubs.len() {
            let client = self.client(n)?;
            let place = self.place(n);
            let made = client
                .create_or_adopt(
                    &NAMESPACES,
                    &namespace::namespace(&place, true, false),
                    &Owner::new(VDC_ID, self.vdc),
                    None,
                )
                .await?;
            sqlx::query(
                "insert into places (vdc_id, hub_id, namespace, namespace_uid, applied, ready_at)
                 values ($1, $2, $3, $4, 1000000, now())
                 on conflict (vdc_id, hub_id) do update set namespace = excluded.namespace,
                     namespace_uid = excluded.namespace_uid, applied = excluded.applied, ready_at = now()",
            )
            .bind(self.vdc.0)
            .bind(format!("hub-{n}"))
            .bind(&place.namespace)
            .bind(&made.uid)
            .execute(&self.pool)
            .await?;
            let home = Home { namespace: place.namespace.clone(), uid: made.uid, vdc: self.vdc.0 };
            let vapps: Vec<Uuid> = (0..each.div_ceil(10)).map(|_| Uuid::now_v7()).collect();
            let machines: Vec<(Uuid, Uuid, String)> =
                (0..each).map(|i| (Uuid::now_v7(), vapps[i / 10], format!("vm-{n}-{i:05}"))).collect();
            let uids: Vec<String> = stream::iter(&machines)
                .map(|(id, vapp, name)| {
                    let (client, home) = (client.clone(), home.clone());
                    let mut object = virtual_machine(&shaped(place.clone(), *id, *vapp, name));
                    object["spec"]["runStrategy"] = "RerunOnFailure".into();
                    async move {
                        let owner = Owner::new(VM_ID, *id);
                        Ok::<_, anyhow::Error>(
                            client.create_or_adopt(&VIRTUAL_MACHINES, &object, &owner, Some(&home)).await?.uid,
                        )
                    }
                })
                .buffered(32)
                .try_collect()
                .await?;
            self.rows(n, &vapps, &machines, &uids).await?;
        }
        self.until_all_run(count).await?;
        sqlx::query("vacuum analyze").execute(&self.pool).await?;
        Ok(())
    }

    fn place(&self, n: usize) -> names::Place {
        names::Place {
            org: self.org,
            org_name: "acme".into(),
            vdc: self.vdc,
            vdc_name: "acme-prod".into(),
            namespace: format!("vdc-bench-{n}"),
        }
    }

    async fn rows(&self, n: usize, vapps: &[Uuid], machines: &[(Uuid, Uuid, String)], uids: &[String]) -> Result<()> {
        let hub = format!("hub-{n}");
        sqlx::query(
            "insert into vapps (id, org_id, vdc_id, name, hub_id, placed_at, attempted_at)
             select id, $2, $3, 'vapp-' || $4 || '-' || n, $4, now(), now() from unnest($1) with ordinality as v (id, n)",
        )
        .bind(vapps)
        .bind(self.org.0)
        .bind(self.vdc.0)
        .bind(&hub)
        .execute(&self.pool)
        .await?;
        let ids: Vec<Uuid> = machines.iter().map(|m| m.0).collect();
        let of: Vec<Uuid> = machines.iter().map(|m| m.1).collect();
        let named: Vec<String> = machines.iter().map(|m| m.2.clone()).collect();
        let objects: Vec<String> = machines.iter().map(|m| names::vm_name(&m.2, m.0)).collect();
        sqlx::query(
            "insert into vms (id, org_id, vdc_id, vapp_id, name, computer_name, cpus, memory_mb, power, hub_id,
                              hub_name, uid, attempted_at, applied, hub_generation)
             select id, $6, $7, vapp, name, name, 1, 128, 'on', $8, object, uid, now(), 1, 1
             from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[]) as v (id, vapp, name, object, uid)",
        )
        .bind(ids)
        .bind(of)
        .bind(named)
        .bind(objects)
        .bind(uids)
        .bind(self.org.0)
        .bind(self.vdc.0)
        .bind(hub)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    async fn until_all_run(&self, count: usize) -> Result<()> {
        loop {
            let run: usize = self
                .hubs
                .iter()
                .map(|h| h.objects("kubevirt.io", "virtualmachineinstances"))
                .map(|all| all.iter().filter(|i| i["status"]["phase"] == "Running").count())
                .sum();
            if run >= count {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// Every machine was seen, and nothing is left to do.
    pub(crate) async fn until_quiet(&self) -> Result<()> {
        for _ in 0..2400 {
            let (unseen, work) = sqlx::query_as::<_, (i64, i64)>(
                "select (select count(*) from vms where obs_state <> 'running'), (select count(*) from work where failing <> 'wait')",
            )
            .fetch_one(&self.pool)
            .await?;
            if unseen == 0 && work == 0 {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(anyhow!("the machines did not come to rest within four minutes"))
    }

    /// A controller that begins writes down every machine anew: that is over.
    pub(crate) async fn until_nothing_is_heard(&self) -> Result<()> {
        loop {
            let heard: bool = sqlx::query_scalar("select max(obs_at) > now() - interval '3 seconds' from vms")
                .fetch_one(&self.pool)
                .await?;
            if !heard {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    pub(crate) async fn fetch(&self, request: Request<Body>) -> Result<Response<Body>> {
        Ok(self.app.clone().oneshot(request).await?)
    }

    pub(crate) fn get(&self, path: &str) -> Result<Request<Body>> {
        let request = Request::get(path).header("host", "bench").header("accept", "text/html");
        Ok(request.header("cookie", &self.cookie).body(Body::empty())?)
    }

    pub(crate) fn post(&self, path: &str, form: String) -> Result<Request<Body>> {
        let request = Request::post(path).header("host", "bench").header("origin", "http://bench");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        Ok(request.header("cookie", &self.cookie).body(Body::from(form))?)
    }

    /// Where a machine is: its hub's number and its key there.
    pub(crate) async fn some(&self, count: i64) -> Result<Vec<(Uuid, usize, Key)>> {
        let rows: Vec<(Uuid, String, String)> = sqlx::query_as(
            "select id, hub_id, hub_name from vms where uid is not null order by md5(id::text) limit $1",
        )
        .bind(count)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|(id, hub, name)| {
                let n: usize = hub.trim_start_matches("hub-").parse()?;
                Ok((id, n, Key::new(format!("vdc-bench-{n}"), name)))
            })
            .collect()
    }
}

fn shaped(place: names::Place, id: Uuid, vapp: Uuid, name: &str) -> Vm {
    Vm {
        identity: Identity {
            place,
            vapp,
            vapp_name: "bench".into(),
            vm: id,
            vm_name: name.into(),
            object: names::vm_name(name, id),
            description: String::new(),
            owner: "acme-admin".into(),
            created_from: None,
        },
        computer_name: name.into(),
        size: Size::Explicit { cpus: 1, cores_per_socket: 1, memory_mb: 128 },
        preference: None,
        hardware: Default::default(),
        disks: vec![Disk {
            name: "rootdisk".into(),
            size_mb: Some(1024),
            source: DiskSource::Blank,
            storage_class: None,
            device: Device::Disk,
            boot_order: Some(1),
        }],
        nics: vec![Nic { name: "default".into(), network: Attachment::Pod, mac: None, model: None, connected: true }],
        discs: Default::default(),
    }
}

async fn sign_in(app: &Router) -> Result<String> {
    let form = format!("org=acme&user=acme-admin&password={}", demo::PASSWORD);
    let request = Request::post("/sign-in").header("host", "bench").header("origin", "http://bench");
    let request = request.header("content-type", "application/x-www-form-urlencoded").body(Body::from(form))?;
    let answer = app.clone().oneshot(request).await?;
    let cookie = answer.headers().get("set-cookie").and_then(|v| v.to_str().ok()).and_then(|v| v.split(';').next());
    cookie.map(str::to_owned).ok_or_else(|| anyhow!("sign-in was refused: {}", answer.status()))
}
