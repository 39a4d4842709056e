//! What goes wrong with the database while something is asked for, and is over by itself.
use crate::{replica::Replica, stage::Stage};
use domain::Store;
use model::VdcId;
use sqlx::{Connection, Executor, PgConnection};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trouble {
    /// As behind a failover to a standby that is not promoted yet.
    ReadOnly,
    PoolTaken,
    LocksCrossed,
}

impl Trouble {
    pub(crate) const ALL: [Trouble; 3] = [Trouble::ReadOnly, Trouble::PoolTaken, Trouble::LocksCrossed];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Trouble::ReadOnly => "database read-only",
            Trouble::PoolTaken => "no connection free",
            Trouble::LocksCrossed => "locks crossed",
        }
    }

    pub(crate) async fn strike(self, stage: &Stage, vdc: VdcId, hold: Duration) {
        match self {
            Trouble::ReadOnly => {
                read_only(stage, "set default_transaction_read_only = on").await;
                tokio::time::sleep(hold).await;
                read_only(stage, "reset default_transaction_read_only").await;
                used_up(&stage.app.domain.store).await;
            }
            Trouble::PoolTaken => take_all(stage, hold).await,
            Trouble::LocksCrossed => cross_locks(stage, vdc, hold).await,
        }
    }
}

pub(crate) async fn cut(stage: &Stage) {
    let sql = "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'ssvirt'";
    stage.app.db.execute(sql).await;
}

async fn read_only(stage: &Stage, what: &str) {
    // our own connection may be a new one, which is read-only too
    let sql = format!(
        "begin read write; do $$ begin execute format('alter database %I {what}', current_database()); end $$; commit"
    );
    stage.app.db.execute(&sql).await;
    cut(stage).await;
}

/// That a connection was cut is found by whoever uses it next: not by what a run asks for after this.
pub(crate) async fn used_up(store: &Store) {
    let mut good = 0;
    while good < 10 {
        good = if store.org_ids().await.is_ok() { good + 1 } else { 0 };
    }
}

/// Every connection of every replica is busy with something else.
async fn take_all(stage: &Stage, hold: Duration) {
    let mut stores: Vec<Store> = stage.replicas.lock().await.iter().filter_map(Replica::store).collect();
    stores.push(stage.app.domain.store.clone());
    let mut taken = Vec::new();
    for store in &stores {
        while let Ok(Ok(busy)) = tokio::time::timeout(Duration::from_millis(50), store.write(&stage.admin)).await {
            taken.push(busy);
        }
    }
    tokio::time::sleep(hold).await;
    drop(taken);
}

/// Somebody locks machines first and what they are in after that: the other way round than we do. They wait for longer than we
/// do, so that it is our transaction that PostgreSQL ends.
async fn cross_locks(stage: &Stage, vdc: VdcId, hold: Duration) {
    let mut rival = PgConnection::connect(&stage.app.db.url).await.unwrap();
    let wait = hold.as_millis();
    let sql = format!(
        "set deadlock_timeout = '20s'; set lock_timeout = '5s'; begin;
         select id from vms where vdc_id = '{vdc}' for update; select pg_sleep({wait} / 1000.0);
         select id from vapps where vdc_id = '{vdc}' for update; select id from vdcs where id = '{vdc}' for update; rollback"
    );
    // that it gave up is as good
    let _ = rival.execute(sql.as_str()).await;
    let _ = rival.close().await;
}
