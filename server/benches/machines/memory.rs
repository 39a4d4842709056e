//! What a controller holds in memory for the machines it follows: a process of its own, beside one that follows none.
use crate::stage::{SECRET, Stage};
use anyhow::{Context, Result};
use std::{
    process::{Child, Command, Stdio},
    time::Duration,
};

pub(crate) async fn run(stage: &Stage, empty: f64) -> Result<()> {
    let full = of_a_controller(stage).await?;
    println!("{:<52} {empty:>9.1} MiB", "memory of a controller that follows no machine");
    println!("{:<52} {full:>9.1} MiB   {:.1} more", "of one that follows them all", full - empty);
    Ok(())
}

/// In MiB, once it has seen every machine and rests.
pub(crate) async fn of_a_controller(stage: &Stage) -> Result<f64> {
    let child = Command::new(env!("CARGO_BIN_EXE_ssvirt"))
        .args(["start", "controller"])
        .env("DATABASE_URL", &stage.url)
        .env("SSVIRT_AUTH_SECRET", SECRET)
        .env("SSVIRT_HUBS_ALLOW", "127.0.0.0/8")
        .env("LOG_LEVEL", "error")
        .stdout(Stdio::null())
        .spawn()?;
    let mut child = Ended(child);
    stage.until_quiet().await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.0.id())).context("the controller ended")?;
    let kb = status
        .lines()
        .find_map(|l| l.strip_prefix("VmRSS:"))
        .and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok());
    child.0.kill()?;
    child.0.wait()?;
    Ok(kb.context("no VmRSS")? / 1024.0)
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}
