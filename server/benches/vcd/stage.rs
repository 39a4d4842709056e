//! A database with as many machines as wanted, which are rows alone, and a client with a token.
use anyhow::{Context, Result, anyhow, ensure};
use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use domain::Domain;
use server::{
    AppState, demo,
    settings::{Need, Resolved, Settings, Sources},
    shutdown::Shutdown,
};
use sqlx::PgPool;
use tower::ServiceExt;
use uuid::Uuid;

const SECRET: &str = "8vJq2tXw5YbN7cRz4mKd9pLs6fHg3aQe1uWi0oPx";

pub(crate) struct Stage {
    pub(crate) domain: Domain,
    pub(crate) pool: PgPool,
    app: Router,
    token: String,
    pub(crate) org: Uuid,
}

impl Stage {
    /// A database of its own beside the one that is given.
    pub(crate) async fn set(vms: i64) -> Result<Stage> {
        let given = std::env::var("DATABASE_URL").context("DATABASE_URL is not set: run `make bench`")?;
        let name = format!("bench_{}", Uuid::now_v7().simple());
        sqlx::query(&format!("create database {name}")).execute(&PgPool::connect(&given).await?).await?;
        let (server, query) = given.split_once('?').unwrap_or((&given, ""));
        let url = format!("{}/{name}?{query}", server.rsplit_once('/').context("DATABASE_URL names no database")?.0);
        let env = [("DATABASE_URL", url.as_str()), ("SSVIRT_AUTH_SECRET", SECRET)];
        let env = env.map(|(name, value)| (name.into(), value.into())).to_vec();
        let sources = Sources { flags: Default::default(), env, defaults: Vec::new() };
        let settings = Settings::build(&Resolved::read(&sources), Need::Nothing)?;
        let domain = server::database::open(&settings)?;
        domain.store.migrate().await?;
        demo::seed::run(&domain).await?;
        let state = AppState::new(settings, domain.clone(), Shutdown::default(), false);
        state.mark_started();
        let pool = PgPool::connect(&url).await?;
        let org = sqlx::query_scalar("select id from organizations where name = 'acme'").fetch_one(&pool).await?;
        let mut stage = Stage { domain, pool, app: server::router(state), token: String::new(), org };
        stage.machines(vms).await?;
        stage.token = stage.log_in().await?;
        Ok(stage)
    }

    /// Ten in a vApp, with a disk and a NIC each; every third is stopped.
    async fn machines(&self, count: i64) -> Result<()> {
        let vapps = "insert into vapps (id, org_id, vdc_id, owner_id, name, description)
             select gen_random_uuid(), d.org_id, d.id, u.id, 'vapp-' || n, 'of the bench'
             from generate_series(1, $1 / 10) n, vdcs d, users u where d.name = 'acme-prod' and u.name = 'acme-admin'";
        let vms = "insert into vms (id, org_id, vdc_id, vapp_id, owner_id, name, description, computer_name, cpus, memory_mb, os, power,
                     hub_name, uid, attempted_at, applied, obs_state, obs_ips, obs_at, obs_since)
             select gen_random_uuid(), a.org_id, a.vdc_id, a.id, a.owner_id, 'vm-' || a.name || '-' || n, 'of the bench', 'vm-' || n, 2, 2048,
                    'Ubuntu 24.04', case when n % 3 = 0 then 'off' else 'on' end, a.name || '-' || n, gen_random_uuid()::text, now(), 1,
                    case when n % 3 = 0 then 'stopped' else 'running' end, '{10.0.0.1}', now(), now()
             from vapps a, generate_series(1, 10) n where a.description = 'of the bench'";
        let disks = "insert into disks (id, org_id, vdc_id, vm_id, name, size_mb, applied_mb, policy_id, obs_state)
             select gen_random_uuid(), v.org_id, v.vdc_id, v.id, 'root', 10240, 10240, p.id, 'ready'
             from vms v, storage_policies p where p.is_default and v.description = 'of the bench'";
        let nics = "insert into nics (id, vm_id, idx, name, attach, mode, is_primary)
             select gen_random_uuid(), v.id, 0, 'default', 'vdc', 'dhcp', true from vms v where v.description = 'of the bench'";
        sqlx::query(vapps).bind(count).execute(&self.pool).await?;
        for sql in [vms, disks, nics, "vacuum analyze"] {
            sqlx::query(sql).execute(&self.pool).await?;
        }
        Ok(())
    }

    /// The token of acme's administrator.
    pub(crate) async fn log_in(&self) -> Result<String> {
        let basic = BASE64_STANDARD.encode(format!("acme-admin@acme:{}", demo::PASSWORD));
        let request = Request::post("/cloudapi/1.0.0/sessions").header("host", "bench");
        let request =
            request.header("accept", "application/json;version=37.0").header("authorization", format!("Basic {basic}"));
        let answer = self.app.clone().oneshot(request.body(Body::empty())?).await?;
        ensure!(answer.status().is_success(), "sign-in was refused: {}", answer.status());
        let token =
            answer.headers().get("x-vmware-vcloud-access-token").and_then(|v| v.to_str().ok()).map(str::to_owned);
        axum::body::to_bytes(answer.into_body(), usize::MAX).await?;
        token.ok_or_else(|| anyhow!("sign-in gave no token"))
    }

    pub(crate) async fn get(&self, path: &str) -> Result<String> {
        let (status, text) = self.call("GET", path).await?;
        ensure!(status.is_success(), "{path}: {status} {text}");
        Ok(text)
    }

    pub(crate) async fn call(&self, method: &str, path: &str) -> Result<(StatusCode, String)> {
        let accept = if path.starts_with("/cloudapi") {
            "application/json;version=37.0"
        } else {
            "application/*+xml;version=37.0"
        };
        let request = Request::builder().method(method).uri(path).header("host", "bench").header("accept", accept);
        let request = request.header("authorization", format!("Bearer {}", self.token));
        let answer = self.app.clone().oneshot(request.body(Body::empty())?).await?;
        let status = answer.status();
        let bytes = axum::body::to_bytes(answer.into_body(), usize::MAX).await?;
        Ok((status, String::from_utf8(bytes.to_vec())?))
    }
}
