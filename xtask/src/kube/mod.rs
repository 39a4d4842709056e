//! `make test-kube`: recorded answers and the tests of hubs against a real API server, as the account that a hub's owner makes
//! for SSVirt.
mod process;
mod rights;
mod server;

use crate::{
    command::{cargo, target_dir},
    postgres,
    tiers::{Count, count_lines},
};
use anyhow::{Context, Result, ensure};
use server::Servers;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Instant,
};

/// Hubs that tests take in turn; as many tests run beside each other.
const HUBS: usize = 2;
const FRONT_DOOR: &str = "server/tests/front_door";
/// What a module says in which machines are on hubs.
const ON_HUBS: [&str; 3] = ["stage::Stage", "stage::{Stage", "Hubs::start("];
/// Tests that need what only a simulated hub can do, each with its reason.
const SIMULATED: &str = "server/tests/front_door/simulated-only.txt";

/// With names, those tests alone.
pub(crate) fn run(only: &[&str]) -> Result<ExitCode> {
    let kube = fs::canonicalize(target_dir().join("kube"))
        .context("there is no API server here yet: `make test-kube` gets one")?;
    let servers = Servers::start(&kube, HUBS)?;
    let done = tests(&servers, only);
    let well = done.as_ref().is_ok_and(|well| *well);
    servers.stop(!well);
    Ok(if done? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tests(servers: &Servers, only: &[&str]) -> Result<bool> {
    let database = postgres::for_tests()?;
    let mut total = Count::default();
    let mut tier = |name: &str, count: Result<Count>, since: Instant| -> Result<()> {
        let count = count?;
        println!(
            "{name:<40} {:6.1} s   {} passed, {} failed",
            since.elapsed().as_secs_f32(),
            count.passed,
            count.failed
        );
        total.passed += count.passed;
        total.failed += count.failed;
        Ok(())
    };
    if only.is_empty() || only.contains(&"golden") {
        let since = Instant::now();
        let golden = servers.golden()?;
        let count = count_lines(
            cargo_test()
                .args(["--nocapture", "--include-ignored", "server_at_hand"])
                .env("SSVIRT_KUBE_GOLDEN", &golden.folder),
        );
        golden.stop();
        tier("recorded answers", count, since)?;
    }
    if only.is_empty() || only.contains(&"calls") {
        let since = Instant::now();
        tier("calls and watches", calls(servers), since)?;
    }
    if !matches!(only, ["golden"] | ["calls"]) {
        let since = Instant::now();
        let count = hub_tests(servers, &database.url, only);
        tier("tests of hubs", count, since)?;
        if only.is_empty() {
            let since = Instant::now();
            tier("rights that were used", rights::check(servers), since)?;
        }
    }
    postgres::end(database)?;
    println!("\n{} passed, {} failed", total.passed, total.failed);
    Ok(total.failed == 0)
}

/// Our client's own tests, before anything else is on the hub: with actors there, more would happen than they ask for.
fn calls(servers: &Servers) -> Result<Count> {
    let hub = servers.hubs.first().context("there is no hub")?;
    let mut command = cargo();
    command.args(["test", "--workspace", "--test=hubs", "--", "--test-threads=1", "calls::", "watches::"]);
    let count = count_lines(command.env("SSVIRT_KUBE_CALLS", &hub.folder))?;
    hub.kubectl(&["delete", "namespace", "vdc-acme-prod", "--ignore-not-found"])?;
    Ok(count)
}

fn hub_tests(servers: &Servers, database: &str, only: &[&str]) -> Result<Count> {
    let mut command = cargo_test();
    command.arg(format!("--test-threads={HUBS}"));
    let skipped = simulated_only()?;
    if only.is_empty() {
        command.args(modules_on_hubs()?);
    } else {
        command.args(only);
    }
    command.args(skipped.iter().flat_map(|name| ["--skip", name]));
    count_lines(command.env("DATABASE_URL", database).env("SSVIRT_KUBE", servers.folder()))
}

/// Both binaries whichever is meant: asked for one alone, cargo would compile most crates with other features once more.
fn cargo_test() -> Command {
    let mut command = cargo();
    command.args(["test", "--workspace", "--test=golden", "--test=front_door", "--"]);
    command
}

/// Found in the text, so that none is forgotten.
fn modules_on_hubs() -> Result<BTreeSet<String>> {
    let mut modules = BTreeSet::new();
    for entry in fs::read_dir(FRONT_DOOR).with_context(|| format!("{FRONT_DOOR} cannot be read"))? {
        let path = entry?.path();
        let Some(name) = path.file_stem().filter(|_| path.extension().is_some_and(|e| e == "rs")) else { continue };
        let text = fs::read_to_string(&path)?;
        if name != "stage" && ON_HUBS.iter().any(|word| text.contains(word)) {
            modules.insert(format!("{}::", name.to_string_lossy()));
        }
    }
    ensure!(!modules.is_empty(), "{FRONT_DOOR}: no test has machines on hubs");
    Ok(modules)
}

fn simulated_only() -> Result<BTreeSet<String>> {
    let text = fs::read_to_string(SIMULATED).with_context(|| format!("{SIMULATED} cannot be read"))?;
    let mut names = BTreeSet::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, reason) = line.split_once(": ").with_context(|| format!("{SIMULATED}: no reason in {line:?}"))?;
        let (module, test) = name.split_once("::").with_context(|| format!("{SIMULATED}: no module in {line:?}"))?;
        let file = Path::new(FRONT_DOOR).join(format!("{module}.rs"));
        let there = fs::read_to_string(&file).unwrap_or_default().contains(&format!("fn {test}("));
        ensure!(there && !reason.is_empty(), "{SIMULATED}: there is no test {name}");
        names.insert(name.to_owned());
    }
    Ok(names)
}

/// Where `scripts/setup.sh kube` put the programs.
fn program(kube: &Path, name: &str) -> PathBuf {
    kube.join("bin").join(name)
}
