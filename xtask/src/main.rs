//! The developer's commands that need more than a line in the Makefile. Run them from the top of the clone.
mod bindgen;
mod command;
mod demo;
mod site;
mod tiers;

use anyhow::{Result, bail, ensure};
use std::{path::Path, process::ExitCode};

const USAGE: &str = "usage:
  xtask site [--release]    build target/site: wasm, script, styles, fonts
  xtask tools               make target/tools/wasm-bindgen, which cargo-leptos looks for on PATH
  xtask test                all of `make test`";

fn main() -> Result<ExitCode> {
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
        ["test"] => return tiers::run_all(),
        _ => bail!("{USAGE}"),
    }
    Ok(ExitCode::SUCCESS)
}
