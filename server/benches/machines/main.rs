//! `make bench`: what machines cost. Each figure stands beside something that was run in the same minute: the bare work
//! without our protocol, or the same without machines. With words behind `--`, such as `-- uploads deploy`, only these parts.
#![allow(clippy::disallowed_methods, reason = "a measure sets its stage by queries of its own")]

mod deploy;
mod down;
mod list;
mod live;
mod memory;
mod queue;
mod stage;
mod templates;
mod uploads;
mod vdcs;

use stage::Stage;
use std::time::Duration;

/// On four hubs.
const MACHINES: usize = 10_000;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let asked = |part: &str| words.is_empty() || words.iter().any(|word| word == part);
    if asked("uploads") {
        uploads::run().await?;
    }
    if asked("deploy") {
        deploy::run().await?;
    }
    if asked("templates") {
        templates::run().await?;
    }
    if asked("vdcs") {
        vdcs::run().await?;
    }
    if asked("many") { many().await } else { Ok(()) }
}

/// Everything that is measured with many machines.
async fn many() -> anyhow::Result<()> {
    let empty = memory::of_a_controller(&Stage::set().await?).await?;
    let mut stage = Stage::set().await?;
    let began = std::time::Instant::now();
    stage.machines(MACHINES).await?;
    println!("{MACHINES} VMs on {} hubs, made in {:.0} s\n", stage.hubs.len(), began.elapsed().as_secs_f64());
    memory::run(&stage, empty).await?;
    let controller = stage.controller();
    stage.until_quiet().await?;
    stage.until_nothing_is_heard().await?;
    stage.without_actors().await;
    queue::run(&stage).await?;
    live::run(&stage).await?;
    list::run(&stage).await?;
    down::run(&stage).await?;
    controller.stop().await;
    Ok(())
}

/// The middle one and the one that one of a hundred is slower than.
fn print(name: &str, mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let (p50, p99) = (at(0.5), at(0.99));
    println!("{name:<52} {p50:>9.2} ms p50 {p99:>9.2} ms p99   {} times", times.len());
    (p50, p99)
}
