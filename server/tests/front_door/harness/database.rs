//! A database for every test, cloned from a template that is migrated once a run.
use super::{app, postgres};
use domain::Store;
use rustix::process::{Pid, test_kill_process};
use sqlx::{ConnectOptions, Connection, Executor, PgConnection, Row, postgres::PgConnectOptions};
use std::{str::FromStr, sync::LazyLock};
use tokio::sync::{Mutex, MutexGuard, mpsc, oneshot};

/// Followed by the number of the process that made it: what a process that is no more left behind is dropped.
const PREFIX: &str = "ssvirt_test_";

pub(crate) struct Database {
    name: String,
    pub(crate) url: String,
    /// For a test's own looks at it.
    conn: Mutex<Option<PgConnection>>,
}

enum Order {
    Clone(String, oneshot::Sender<String>),
    Empty(String, oneshot::Sender<String>),
    Drop(String),
}

/// A thread of its own: the runtimes of tests come and go, and dropping can't wait.
static KEEPER: LazyLock<mpsc::UnboundedSender<Order>> = LazyLock::new(|| {
    let (send, orders) = mpsc::unbounded_channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::spawn(move || runtime.block_on(keep(orders)));
    send
});

impl Database {
    /// Migrated, with the provider's organization and its administrator.
    pub(crate) async fn new() -> Database {
        Database::ordered(Order::Clone).await
    }

    /// Without any table.
    pub(crate) async fn empty() -> Database {
        Database::ordered(Order::Empty).await
    }

    async fn ordered(order: fn(String, oneshot::Sender<String>) -> Order) -> Database {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("{PREFIX}{}_{number}", std::process::id());
        let (send, made) = oneshot::channel();
        let _ = KEEPER.send(order(name.clone(), send));
        let url = made.await.expect("a database could not be made: the keeper's message is above");
        Database { name, url, conn: Mutex::default() }
    }

    /// The first column of the first row, as text. For looking at what no page shows.
    pub(crate) async fn text(&self, sql: &str) -> String {
        let row = self.conn().await.as_mut().unwrap().fetch_one(sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
        row.try_get::<Option<String>, _>(0).unwrap_or_else(|e| panic!("{sql}: {e}")).unwrap_or_default()
    }

    pub(crate) async fn count(&self, from: &str) -> i64 {
        self.text(&format!("select count(*)::text from {from}")).await.parse().unwrap()
    }

    pub(crate) async fn execute(&self, sql: &str) {
        self.conn().await.as_mut().unwrap().execute(sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

impl Database {
    async fn conn(&self) -> MutexGuard<'_, Option<PgConnection>> {
        let mut conn = self.conn.lock().await;
        let lives = match conn.as_mut() {
            Some(conn) => conn.ping().await.is_ok(),
            None => false,
        };
        if !lives {
            *conn = Some(PgConnection::connect(&self.url).await.unwrap());
        }
        conn
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = KEEPER.send(Order::Drop(std::mem::take(&mut self.name)));
    }
}

async fn keep(mut orders: mpsc::UnboundedReceiver<Order>) {
    let server = postgres::url();
    let mut conn = PgConnectOptions::from_str(&server).unwrap().connect().await.unwrap();
    drop_leftovers(&mut conn).await;
    let template = format!("{PREFIX}{}_template", std::process::id());
    run(&mut conn, format!("create database {template}")).await;
    let store = Store::open(&with_name(&server, &template), 2).unwrap();
    store.migrate().await.unwrap();
    app::furnish(&store).await;
    store.close().await;
    // a template can be cloned only while nobody is connected to it
    run(&mut conn, format!("alter database {template} allow_connections false")).await;
    run(
        &mut conn,
        format!("select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{template}'"),
    )
    .await;
    while let Some(order) = orders.recv().await {
        let (sql, name, done) = match order {
            Order::Clone(name, done) => (format!("create database {name} template {template}"), name, Some(done)),
            Order::Empty(name, done) => (format!("create database {name}"), name, Some(done)),
            Order::Drop(name) => (format!("drop database {name} with (force)"), name, None),
        };
        run(&mut conn, sql).await;
        if let Some(done) = done {
            let _ = done.send(with_name(&server, &name));
        }
    }
}

async fn drop_leftovers(conn: &mut PgConnection) {
    let rows = conn.fetch_all("select datname::text from pg_database").await.unwrap();
    for name in rows.iter().map(|row| row.get::<String, _>(0)) {
        let process =
            name.strip_prefix(PREFIX).and_then(|rest| rest.split('_').next()).and_then(|pid| pid.parse().ok());
        let Some(process) = process.and_then(Pid::from_raw) else { continue };
        if test_kill_process(process).is_err() {
            run(conn, format!("drop database if exists {name} with (force)")).await;
        }
    }
}

async fn run(conn: &mut PgConnection, sql: String) {
    conn.execute(sql.as_str()).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
}

/// The same server, another database.
fn with_name(url: &str, name: &str) -> String {
    let (address, options) = url.split_once('?').map_or((url, None), |(a, o)| (a, Some(o)));
    let (server, _) = address.rsplit_once('/').expect("a URL with a database's name");
    match options {
        Some(options) => format!("{server}/{name}?{options}"),
        None => format!("{server}/{name}"),
    }
}
