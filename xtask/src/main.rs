//! The developer's commands that need more than a line in the Makefile. Run them from the top of the clone.
#![expect(clippy::disallowed_methods, reason = "a developer's tool has no settings and no clock to set")]
mod bindgen;
mod clients;
mod command;
mod demo;
mod duplicates;
mod fuzz;
mod kube;
mod postgres;
mod queries;
mod rooms;
mod site;
mod tiers;

use anyhow::{Result, bail, ensure};
use std::{path::Path, process::ExitCode};

const USAGE: &str = "usage:
  xtask site [--release]    build target/site: wasm, script, styles, fonts
  xtask tools               make target/tools/wasm-bindgen, which cargo-leptos looks for on PATH
  xtask lint                format, lints and duplicated crates
  xtask test                all of `make test`
  xtask browser             the browser tests of `make test` alone
  xtask faults              all of `make test-faults`
  xtask fuzz [NAME…]        all of `make fuzz`, or targets by name; SECONDS says for how long
  xtask kube [NAME…]        all of `make test-kube`, or tests by name; `golden` are the recorded answers, `calls` our client's own
  xtask clients [NAME…]     all of `make test-clients`, or suites by name: pyvcloud, vcd-cli, terraform, and those of SSVIRT_SHARED_CLIENTS
  xtask with-postgres [--dir DIR] -- COMMAND…
                            run a command with the DATABASE_URL of a PostgreSQL that lives as long; with DIR its data stay
  xtask sqlx [--check]      describe all checked queries anew in .sqlx, or say whether they are described rightly";

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::FAILURE
    })
}

fn run() -> Result<ExitCode> {
    let mut args = std::env::args();
    let own_name = args.next().unwrap_or_default();
    let args: Vec<String> = args.collect();
    // `xtask tools` links this program under that name.
    if Path::new(&own_name).file_name().is_some_and(|name| name == "wasm-bindgen") {
        bindgen::command_line(&args)?;
        return Ok(ExitCode::SUCCESS);
    }
    ensure!(Path::new("xtask/Cargo.toml").exists(), "run xtask from the top of the clone");
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        ["site"] => site::build(false)?,
        ["site", "--release"] => site::build(true)?,
        ["tools"] => bindgen::link()?,
        ["lint"] => tiers::lint()?,
        ["test"] => return tiers::run_all(),
        ["kube", ref only @ ..] => return kube::run(only),
        ["browser"] => return tiers::browser(),
        ["faults"] => return tiers::faults(),
        ["fuzz", ref only @ ..] => return fuzz::command(only),
        ["clients", ref only @ ..] => return clients::run(only),
        ["with-postgres", "--", ref command @ ..] => return postgres::with(None, command),
        ["with-postgres", "--dir", dir, "--", ref command @ ..] => return postgres::with(Some(dir.as_ref()), command),
        ["sqlx"] => queries::describe()?,
        ["sqlx", "--check"] => queries::check(&postgres::for_tests()?.url)?,
        _ => bail!("{USAGE}"),
    }
    Ok(ExitCode::SUCCESS)
}
