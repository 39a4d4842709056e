//! Faults: every operation with everything that can go wrong, and the promises that hold all the same. `SEED=…` repeats a
//! run, `FAULTS=full` runs everything.
#![allow(clippy::unwrap_used, reason = "what a test cannot do without is a failure of the test")]

mod belongings;
mod clean;
mod database;
mod failover;
mod fault;
#[path = "../front_door/harness/mod.rs"]
#[allow(dead_code, unused_imports, reason = "shared with the tests of the front door, which use more of it")]
mod harness;
mod kills;
mod operation;
mod oracle;
mod prepare;
mod proof;
mod replica;
mod run;
mod schedules;
mod stage;
mod witness;

use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use run::Run;

#[expect(clippy::disallowed_methods, reason = "tests have no settings of their own")]
fn given(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

fn number(name: &str) -> Option<u64> {
    given(name).map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is {text}, and must be a number")))
}

/// A part of everything in which each operation, each fault and each step has its turn.
fn short(seed: u64) -> Vec<Run> {
    let turn = |at: usize, n: usize| (at + seed as usize).is_multiple_of(n);
    // with a step of 9 each operation and each fault comes up, whatever the seed: a test below counts
    let cells = run::table(1, seed)
        .into_iter()
        .enumerate()
        .filter(|(at, _)| turn(*at, 9))
        .map(|(at, cell)| Run::Cell(run::Cell { replicas: if at.is_multiple_of(2) { 1 } else { 3 }, ..cell }));
    let deaths =
        kills::deaths(1).into_iter().enumerate().filter(|(at, _)| turn(*at, 3)).map(|(_, kill)| Run::Kill(kill));
    let sleeps =
        kills::sleeps().into_iter().enumerate().filter(|(at, _)| turn(*at, 12)).map(|(_, kill)| Run::Kill(kill));
    cells.chain(deaths).chain(sleeps).chain((0..6).map(|n| Run::Story(seed * 1000 + n))).collect()
}

fn full(seeds: &[u64], stories: u64) -> Vec<Run> {
    let mut runs = Vec::new();
    for &seed in seeds {
        for replicas in [1, 3] {
            runs.extend(run::table(replicas, seed).into_iter().map(Run::Cell));
            runs.extend(kills::deaths(replicas).into_iter().map(Run::Kill));
        }
        runs.extend(kills::sleeps().into_iter().map(Run::Kill));
        runs.extend((0..stories).map(|n| Run::Story(seed * 1000 + n)));
    }
    runs
}

/// `FAULTS=full` is all of it, `SEED` one seed only, `ONLY` what has that text in its row or column, `STAGES` how many
/// installations there are at a time. They come in one order for each seed: `FROM=3000` leaves out the first so many, as where a run
/// was interrupted.
#[test]
fn nothing_is_lost_doubled_or_wrongly_deleted_whatever_goes_wrong() {
    let seed = number("SEED");
    let mut runs = match given("FAULTS").as_deref() {
        Some("full") => full(&seed.map_or(vec![1, 2, 3], |s| vec![s]), number("STORIES").unwrap_or(170)),
        _ => short(seed.unwrap_or(1)),
    };
    if let Some(text) = given("ONLY") {
        runs.retain(|run| {
            let (row, column) = run.place();
            format!("{row} × {column}").contains(&text)
        });
    }
    // a story's own seed repeats it alone
    if let (Some("story"), Some(seed)) = (given("ONLY").as_deref(), seed.filter(|s| *s >= 1000)) {
        runs = vec![Run::Story(seed)];
    }
    runs.shuffle(&mut StdRng::seed_from_u64(seed.unwrap_or(1)));
    let done = number("FROM").unwrap_or(0) as usize;
    runs.drain(..done.min(runs.len()));
    run::all(runs, number("STAGES").unwrap_or(8) as usize).end();
}

#[test]
fn the_short_form_has_every_operation_and_every_fault_whatever_the_seed() {
    use std::collections::BTreeSet;
    for seed in 0..9 {
        let cells: Vec<_> =
            short(seed).into_iter().filter(|run| matches!(run, Run::Cell(_))).map(|c| c.place()).collect();
        let rows: BTreeSet<&str> = cells.iter().map(|(row, _)| row.as_str()).collect();
        let columns: BTreeSet<&str> = cells.iter().map(|(_, column)| column.as_str()).collect();
        let missing = |all: Vec<&'static str>, there: &BTreeSet<&str>| {
            all.into_iter().filter(|name| !there.contains(name)).collect::<Vec<_>>()
        };
        let operations = missing(operation::Op::ALL.iter().map(|op| op.name()).collect(), &rows);
        let faults = missing(fault::Fault::all().into_iter().map(|f| f.name()).collect(), &columns);
        assert!(operations.is_empty() && faults.is_empty(), "seed {seed} leaves out {operations:?} and {faults:?}");
    }
}

/// As when its replica freezes in the middle of it: what it has locked must not stay locked.
#[tokio::test]
async fn a_transaction_that_nobody_goes_on_with_holds_nobody_up_for_long() {
    use domain::vdc;
    let app = harness::TestApp::start().await;
    let acme = app.org("acme").vdc("prod").make().await;
    let (admin, id) = (app.actor(acme.admin()).await, acme.vdc("prod"));
    let frozen = app.replica().await;
    let mut tx = frozen.domain.store.write(&admin).await.unwrap();
    tx.vdc(model::Action::VdcDisable, id).await.unwrap();
    let others = vdc::set_enabled(&app.domain, &admin, id, false);
    let done = tokio::time::timeout(std::time::Duration::from_secs(15), others).await;
    assert!(done.is_ok_and(|answer| answer.is_ok()), "others wait for a transaction that nobody goes on with");
    drop(tx);
}
