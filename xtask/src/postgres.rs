//! A PostgreSQL for tests: fast rather than safe, and gone when they are over.
use anyhow::{Context, Result};
use private_postgres::{Options, Server, discard};
use std::{
    path::Path,
    process::{Command, ExitCode},
};

const DIR: &str = "target/test-postgres";

/// Empty: what an interrupted run left is thrown away.
pub(crate) fn for_tests() -> Result<Server> {
    discard(DIR.as_ref())?;
    Server::start(DIR.as_ref(), &Options::for_tests())
}

pub(crate) fn with(dir: Option<&Path>, command: &[&str]) -> Result<ExitCode> {
    let (program, args) = command.split_first().context("there is no command after --")?;
    let server = match dir {
        Some(dir) => Server::start(dir, &Options::for_tests())?,
        None => for_tests()?,
    };
    let status = Command::new(program)
        .args(args)
        .env("DATABASE_URL", &server.url)
        .status()
        .with_context(|| format!("{program} could not be started"));
    server.stop()?;
    if dir.is_none() {
        discard(DIR.as_ref())?;
    }
    Ok(if status?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
