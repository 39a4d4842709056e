//! A failover to a standby that was a moment behind: what was asked for last is forgotten here, and hubs have done it.
use crate::{
    clean, database,
    operation::Op,
    oracle::{self, Finding, Harm},
    run::PATIENCE,
    stage::{KUBEVIRT, Stage},
    witness::uid,
};
use rand::{Rng, SeedableRng, rngs::StdRng};
use sqlx::{ConnectOptions, Executor, PgConnection, postgres::PgConnectOptions};
use std::{
    str::FromStr,
    time::{Duration, Instant},
};

/// The database as it was at one moment, beside the one that goes on.
struct Standby {
    server: PgConnection,
    name: String,
}

impl Standby {
    async fn of(stage: &Stage) -> Standby {
        let options = PgConnectOptions::from_str(&stage.app.db.url).unwrap();
        let name = options.get_database().unwrap().to_owned();
        Standby { server: options.database("postgres").connect().await.unwrap(), name }
    }

    /// Nobody may be connected to what is copied or renamed.
    async fn alone(&mut self, then: &[String]) {
        let name = self.name.clone();
        self.run(&format!("alter database {name} allow_connections false")).await;
        self.run(&format!("select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{name}'"))
            .await;
        for sql in then {
            self.run(sql).await;
        }
        self.run(&format!("alter database {name} allow_connections true")).await;
    }

    async fn run(&mut self, sql: &str) {
        self.server.execute(sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }

    async fn falls_behind(&mut self, stage: &Stage) {
        let name = self.name.clone();
        self.alone(&[format!("create database {name}_standby template {name}")]).await;
        database::used_up(&stage.app.domain.store).await;
    }

    /// From now on it is the database; what was committed since is lost.
    async fn takes_over(&mut self, stage: &Stage) {
        let name = self.name.clone();
        self.alone(&[format!("drop database {name}"), format!("alter database {name}_standby rename to {name}")]).await;
        database::used_up(&stage.app.domain.store).await;
    }
}

/// What nobody knows any more must stay as it is.
async fn guard_what_is_forgotten(stage: &Stage) {
    for (what, object) in oracle::forgotten(stage).await {
        stage.witness.guard(&format!("{what}, which is forgotten here,"), &object);
    }
}

/// What must be true although commits were lost: nothing runs twice, nothing is deleted, all sums are right, and all that is
/// known comes to its end. What hubs have and nobody knows is there to stay; `volumes_went`: their end was asked for.
async fn comes_to_rest(stage: &Stage, volumes_went: bool) -> Vec<Finding> {
    let matters = |f: &Finding| {
        let open = ["work is left", "was deleted and is not gone", "and its namespace is not gone"];
        f.harm != Harm::Lost
            || ["I4", "I5", "I6"].contains(&f.invariant)
            || open.iter().any(|words| f.what.contains(words))
    };
    let end = Instant::now() + PATIENCE;
    loop {
        let mut found = oracle::check(stage, true).await;
        found.retain(|f| matters(f) && !(volumes_went && f.what.contains("has a row, and no volume")));
        if found.is_empty() || found.iter().any(|f| f.invariant == "I9") || Instant::now() > end {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[test]
fn a_failover_that_loses_the_last_commits_deletes_nothing_and_starts_nothing_twice() {
    let seed = crate::number("SEED").unwrap_or(1);
    crate::run::on_large_stack(async move || failovers(StdRng::seed_from_u64(seed)).await).join().unwrap();
}

async fn failovers(mut rng: StdRng) {
    let stage = Stage::set().await;
    let mut standby = Standby::of(&stage).await;
    for op in [
        Op::Deploy,
        Op::AddVm,
        Op::PowerOn,
        Op::PowerOff,
        Op::ResizeOn,
        Op::Rename,
        Op::DiskAdd,
        Op::DiskRemove,
        Op::Snapshot,
        Op::Revert,
        Op::DiskAttach,
        Op::ComposeOn,
        Op::RemoveNic,
        Op::DeleteVm,
        Op::DeleteVapp,
        Op::VdcCreate,
        Op::VdcDelete,
    ] {
        let vdc = stage.prod().await;
        let mut subject = op.prepare(&stage, vdc).await;
        let (before, vdc) = (comes_to_rest(&stage, false).await, subject.vdc);
        assert!(before.is_empty(), "before {}: {before:#?}", op.name());
        stage.have(0).await;
        standby.falls_behind(&stage).await;
        let counts = stage.counts.lock().unwrap().clone();
        stage.have(1).await;
        op.insist(&stage, &mut subject).await;
        tokio::time::sleep(Duration::from_millis(rng.random_range(0..1500))).await;
        stage.have(0).await;

        standby.takes_over(&stage).await;
        *stage.counts.lock().unwrap() = counts;
        stage.witness.forgive();
        for object in stage.hubs().flat_map(|h| h.objects(KUBEVIRT, "virtualmachines")) {
            if object["metadata"]["deletionTimestamp"].is_string() {
                stage.witness.by_hand(&uid(&object));
            }
        }
        guard_what_is_forgotten(&stage).await;
        stage.have(1).await;
        // it went because it was to go
        let deletes = matches!(op, Op::DiskRemove | Op::DeleteVm | Op::DeleteVapp | Op::VdcDelete);
        let found = comes_to_rest(&stage, deletes).await;
        assert!(found.is_empty(), "{} was forgotten: {found:#?}", op.name());

        // and what is known can be deleted, as ever
        subject.vdc = vdc;
        clean::away(&stage, &subject).await;
        let left = comes_to_rest(&stage, false).await;
        assert!(left.is_empty(), "after {} was forgotten: {left:#?}", op.name());
    }
}
