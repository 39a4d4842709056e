//! Running other programs, and where cargo puts what it builds.
use anyhow::{Context, Result, ensure};
use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// Cargo's target directory. The site is always in `target/site` of the clone, wherever this is.
pub(crate) fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A command that npm installed, else one on PATH.
pub(crate) fn npm_tool(name: &str) -> Command {
    let local = Path::new("node_modules/.bin").join(name);
    Command::new(if local.exists() { local } else { name.into() })
}

pub(crate) fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("{name} could not be started"))?;
    ensure!(status.success(), "{name} failed: {status}");
    Ok(())
}
