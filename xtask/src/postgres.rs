//! A PostgreSQL for tests: fast rather than safe, and gone when they are over.
use anyhow::{Context, Result};
use private_postgres::{Options, Server, discard};
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// A file system in memory, where there is one.
const MEMORY: &str = "/dev/shm";
/// So much has to be free there.
const ROOM_KB: u64 = 4 << 20;

/// Every test has a database of its own, of a thousand files: making and deleting them takes a disk longer than most tests
/// take otherwise. By the number of this directory, so that checkouts don't share one.
fn dir() -> PathBuf {
    match fs::metadata(".") {
        Ok(here) if room_kb(MEMORY) >= ROOM_KB => {
            Path::new(MEMORY).join(format!("ssvirt-tests-{}-{}", here.dev(), here.ino()))
        }
        _ => "target/test-postgres".into(),
    }
}

fn room_kb(dir: &str) -> u64 {
    let said = Command::new("df").args(["-Pk", dir]).output().map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    let fourth = |line: &str| line.split_whitespace().nth(3)?.parse().ok();
    said.ok().and_then(|said| fourth(said.lines().nth(1)?)).unwrap_or(0)
}

/// Empty: what an interrupted run left is thrown away.
pub(crate) fn for_tests() -> Result<Server> {
    let dir = dir();
    discard(&dir)?;
    Server::start(&dir, &Options::for_tests())
}

/// Nobody wants what tests leave, least of all in memory.
pub(crate) fn end(server: Server) -> Result<()> {
    server.stop()?;
    discard(&dir())
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
    match dir {
        Some(_) => server.stop()?,
        None => end(server)?,
    }
    Ok(if status?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
