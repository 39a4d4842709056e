//! The hub beside a real API server: requests and what kube-apiserver 1.35 answered them, replayed.
//!
//! `golden/known-differences.txt` lists the steps that are known to differ, each with its reason. A step that differs
//! and is not listed fails the test, and so does a listed one that no longer differs: the list can only shrink.

#![allow(clippy::unwrap_used, reason = "what a test cannot do without is a failure of the test")]

#[path = "golden/compare.rs"]
mod compare;
#[path = "golden/replay.rs"]
mod replay;

use futures::future::join_all;
use replay::{Differences, Replay};
use std::{collections::BTreeMap, path::Path};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");

fn files() -> Vec<String> {
    let mut files: Vec<String> = std::fs::read_dir(FOLDER)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json") && !name.starts_with("00-"))
        .collect();
    files.sort();
    files
}

/// Step to reason.
fn known(list: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(Path::new(FOLDER).join(list)).unwrap();
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (step, reason) = line.split_once(": ").unwrap_or_else(|| panic!("no reason is given in {line:?}"));
            (step.to_owned(), reason.to_owned())
        })
        .collect()
}

async fn check(files: Vec<String>) {
    let runs = join_all(files.iter().map(|file| tokio::spawn(Replay::run(FOLDER, file.clone())))).await;
    let differences = runs.into_iter().flat_map(Result::unwrap).collect();
    judge("known-differences.txt", &files, &differences);
}

/// Fails unless exactly the listed steps of these files differ.
fn judge(list: &str, files: &[String], differences: &Differences) {
    let known = known(list);
    let mut complaints = Vec::new();
    for (step, told) in differences {
        if !known.contains_key(step) {
            complaints.push(format!("{step} differs\n    {}", told.join("\n    ")));
        }
    }
    let ours = |step: &&String| files.iter().any(|file| step.split('#').next() == Some(file));
    for step in known.keys().filter(ours) {
        if !differences.contains_key(step) {
            complaints.push(format!("{step} no longer differs: take it off the list"));
        }
    }
    assert!(complaints.is_empty(), "{} steps:\n{}", complaints.len(), complaints.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hub_answers_as_a_real_server_does() {
    check(files()).await;
}

#[tokio::test]
#[ignore = "needs a real API server: make test-kube"]
#[expect(clippy::disallowed_methods, reason = "tests have no settings of their own")]
async fn recorded_answers_are_those_of_the_server_at_hand() {
    let about = std::env::var("SSVIRT_KUBE_GOLDEN").expect("SSVIRT_KUBE_GOLDEN is set by `xtask kube`");
    let files = files();
    let (differences, left) = Replay::run_on(about.as_ref(), FOLDER, &files).await;
    println!(
        "{} files, of which these were left where history is forgotten or controllers pause: {}",
        files.len(),
        left.join(", ")
    );
    judge("known-differences-real.txt", &files, &differences);
}
