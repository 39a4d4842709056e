//! PostgreSQL, and nothing else knows SQL. What a lookup returns is authorised; what is changed is recorded in the
//! same transaction.
mod affinity;
mod agent;
mod audit;
mod bulk;
mod catalog;
mod changes;
mod console;
mod constraint;
mod copy;
mod disk;
mod disk_report;
mod disk_work;
mod event;
mod gathered;
mod handle;
mod hub;
mod hub_image;
mod hub_lost;
mod hub_state;
mod idp;
mod item;
mod keys;
mod lease;
mod list;
mod metadata;
mod names;
mod network;
mod network_work;
mod nic;
mod org;
mod overview;
mod owner;
mod place;
mod placing;
mod query;
mod quota;
mod role;
mod session;
mod share;
mod sizing;
mod snapshot;
mod storage;
mod storage_profile;
mod stranger;
mod task;
mod task_work;
mod template;
mod template_vm;
mod together;
mod token;
mod told;
mod upload;
mod user;
mod vapp;
mod vapp_network;
mod vapp_work;
mod vault;
mod vdc;
mod vm;
mod vm_line;
mod vm_move;
mod vm_report;
mod vm_work;
mod work;
mod write;

pub use affinity::AffinityTerm;
pub use audit::Refusal;
pub use bulk::Made;
pub use console::{Abandoned, Redeemed, Ticket};
pub use copy::Moving;
pub use disk::NewDisk;
pub use disk_report::{DiskReport, ExpectedDisk, LostDisk};
pub use disk_work::{DiskWork, VmDiskWork};
pub use handle::Authorized;
pub use hub::SealedCredential;
pub use hub_image::{HubImage, ImageWanted};
pub use hub_lost::LostWithHub;
pub use hub_state::{Finding, HubReport, Trouble};
pub use idp::IdentityProvider;
pub use item::{Captured, NewImage, NewVersion};
pub use keys::{DataKey, Resealed, Rewrapped};
pub use lease::{DueLease, LeaseNow};
pub use network_work::{NetworkPlace, NetworkWork};
pub use nic::{NicNetwork, NicWork, SeenNic};
pub use overview::{Counted, Counts};
pub use place::{Place, VdcWork};
pub use placing::Needs;
pub use session::{SessionRow, SessionUser};
pub use sizing::{SizingPlace, SizingWork};
pub use snapshot::{RevertWork, SnapshotWork};
pub use storage::ClassLimit;
pub use stranger::Stranger;
pub use task::{Latest, Tray};
pub use task_work::OpenTask;
pub use upload::{FileRoom, Held, UploadWork};
pub use user::Credentials;
pub use vapp::NewVapp;
pub use vapp_work::{Placed, VappWork};
pub use vault::Vault;
pub use vm::NewVm;
pub use vm_report::{Happened, Observed, Report};
pub use vm_work::{AtHub, Before, VmWork};
pub use work::{AT_ONCE_PER_HUB, Claim, Later};
pub use write::{Record, Write};

use constraint::mapped;
use model::{Error, Result};
use sqlx::{
    Connection, Executor, PgPool, Postgres, Transaction,
    migrate::{MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};
use std::{str::FromStr, sync::Arc, time::Duration};
use tokio::sync::{Notify, broadcast};

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations");

/// For so long after its last use a connection is taken to be good.
const FRESH: Duration = Duration::from_secs(1);

/// A replica that freezes in the middle of a transaction must not hold its locks for ever; and what is asked here is over
/// sooner than it would be compiled.
const EACH: &str = "set idle_in_transaction_session_timeout = '10s'; set jit = off";
/// Workers ask by key, for a few dozen at a time. Each query is planned once and for that: by what is known of the queue,
/// which is empty most of the time, reading all of it seems best.
const BY_KEY: &str =
    "set idle_in_transaction_session_timeout = '10s'; set jit = off; set plan_cache_mode = force_generic_plan;
    set enable_seqscan = off; set enable_bitmapscan = off; set enable_hashjoin = off; set enable_mergejoin = off";

/// The oldest PostgreSQL whose SQL we use (`nulls not distinct`).
pub const OLDEST_POSTGRES: i32 = 15;

#[derive(Clone)]
pub struct Store {
    pool: PgPool,
    /// For what workers and watchers ask for many at once.
    workers: PgPool,
    /// Rung after each commit; `changes` tells the other replicas.
    bell: Arc<Notify>,
    /// Rung when there is work to do.
    work_bell: Arc<Notify>,
    /// What is on its way to all replicas.
    told: Arc<told::Told>,
    changes: broadcast::Sender<model::event::News>,
    /// What workers and watchers ask most, asked for many of them at once.
    gathered: gathered::Gathered,
    /// So long hubs may take for what is asked for.
    deadline: Duration,
}

impl Store {
    /// Opens a pool without connecting yet: a database that is down makes requests fail, not the start.
    pub fn open(url: &str, max_connections: u32) -> Result<Store> {
        let options = PgConnectOptions::from_str(url)
            .map_err(|e| Error::BadRequest(format!("The database URL can't be read: {}", scrubbed(&e))))?
            .application_name("ssvirt");
        // what is asked for many at once is one query of each sort at a time: it needs few connections
        let few = (max_connections / 4).min(4);
        let pool = pool(max_connections - few, EACH).connect_lazy_with(options.clone());
        let workers = match few {
            0 => pool.clone(),
            few => self::pool(few, BY_KEY).connect_lazy_with(options),
        };
        Ok(Store {
            pool,
            workers,
            bell: Arc::new(Notify::new()),
            work_bell: Arc::new(Notify::new()),
            told: Arc::default(),
            changes: broadcast::channel(1024).0,
            gathered: gathered::Gathered::default(),
            deadline: Duration::from_secs(3600),
        })
    }

    /// A transaction. It begins by itself: with one who stops waiting in the middle of it, as a request does whose client has gone,
    /// the connection would go back to the others with a transaction open, and nothing that they write would last.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Postgres>> {
        let pool = self.pool.clone();
        #[expect(clippy::disallowed_methods, reason = "nobody stops waiting for it here")]
        let begun = tokio::spawn(async move { pool.begin().await }).await;
        begun.map_err(|e| Error::Internal(format!("a transaction could not begin: {e}")))?.map_err(mapped)
    }

    /// So long hubs may take for what is asked for from now on.
    pub fn with_deadline(self, deadline: Duration) -> Store {
        Store { deadline, ..self }
    }

    /// Brings the tables and the predefined roles up to date. Replicas that start together wait for each other on
    /// an advisory lock, and the second finds nothing to do.
    pub async fn migrate(&self) -> Result<()> {
        MIGRATIONS.run(&self.pool).await.map_err(|e| match e {
            MigrateError::Execute(e) => mapped(e),
            MigrateError::VersionMissing(version) => newer(version),
            e => Error::Internal(format!("migration: {e}")),
        })?;
        self.sync_predefined_roles().await
    }

    /// Migrations that this binary has and the database has not.
    pub async fn migrations_pending(&self) -> Result<usize> {
        let done = self.migrations_done().await?;
        Ok(MIGRATIONS.iter().filter(|m| !done.contains(&m.version)).count())
    }

    /// An error if the database has migrations that this binary does not know. A server that runs already goes on, so that
    /// replicas can be replaced one by one; none starts.
    pub async fn refuse_newer(&self) -> Result<()> {
        let done = self.migrations_done().await?;
        done.into_iter()
            .find(|version| !MIGRATIONS.version_exists(*version))
            .map_or(Ok(()), |version| Err(newer(version)))
    }

    async fn migrations_done(&self) -> Result<Vec<i64>> {
        let known = sqlx::query_scalar!(r#"select to_regclass('_sqlx_migrations') is not null as "known!""#)
            .fetch_one(&self.pool)
            .await
            .map_err(mapped)?;
        if !known {
            return Ok(Vec::new());
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "sqlx's own table is not in the schema that queries are checked against"
        )]
        let done = sqlx::query_scalar("select version from _sqlx_migrations where success").fetch_all(&self.pool).await;
        done.map_err(mapped)
    }

    pub async fn ping(&self) -> Result<()> {
        sqlx::query_scalar!(r#"select 1 as "one!""#).fetch_one(&self.pool).await.map_err(mapped).map(|_| ())
    }

    /// The server's major version.
    pub async fn postgres_version(&self) -> Result<i32> {
        let number = sqlx::query_scalar!(r#"select current_setting('server_version_num')::int as "number!""#)
            .fetch_one(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(number / 10_000)
    }

    /// Until there may be work to do. The truth is the table: whoever waits here also looks from time to time.
    pub async fn work_comes(&self) {
        self.work_bell.notified().await;
    }

    /// Connections open and, of these, idle.
    pub fn connections(&self) -> (u32, usize) {
        (self.pool.size() + self.workers.size(), self.pool.num_idle() + self.workers.num_idle())
    }

    pub async fn close(&self) {
        self.send_last().await;
        self.pool.close().await;
        self.workers.close().await;
    }
}

fn pool(connections: u32, settings: &'static str) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(Duration::from_secs(3))
        .idle_timeout(Duration::from_secs(300))
        // one that was used just now is good: asking it each time would double the way to the database
        .test_before_acquire(false)
        .before_acquire(|db, about| {
            Box::pin(async move {
                if about.idle_for > FRESH || constraint::doubtful() {
                    db.ping().await?;
                }
                Ok(true)
            })
        })
        .after_connect(move |db, _| Box::pin(async move { db.execute(settings).await.map(drop) }))
}

fn newer(version: i64) -> Error {
    Error::Internal(format!(
        "the database is newer than this ssvirt: it has migration {version}, which this one does not know; install the version that made it"
    ))
}

/// sqlx may quote the URL, and the URL holds the password.
fn scrubbed(e: &sqlx::Error) -> String {
    match e {
        sqlx::Error::Configuration(e) => e.to_string().split("://").next().unwrap_or_default().to_owned(),
        _ => "it looks like postgres://user:password@host/database".into(),
    }
}
