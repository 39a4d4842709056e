//! `make bench`: what VCD's clients wait for. Each figure stands beside the bare SQL of the same rows, written in the same form, in
//! the same minute. Ours has all of it: the edge, the token, session and rights of whoever asks, and the number of all; what these
//! cost by themselves is the first line. With numbers behind `--`, such as `-- vms=200 rounds=5`, smaller.
#![allow(clippy::disallowed_methods, reason = "a measure sets its stage by queries of its own")]

mod act;
mod bare;
mod list;
mod stage;

use stage::Stage;
use std::time::Duration;

/// How much is measured.
#[derive(Clone, Copy)]
struct Size {
    vms: i64,
    rounds: usize,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut size = Size { vms: 20_000, rounds: 300 };
    for word in std::env::args().skip(1) {
        match word.split_once('=') {
            Some(("vms", n)) => size.vms = n.parse()?,
            Some(("rounds", n)) => size.rounds = n.parse()?,
            _ => {}
        }
    }
    let stage = Stage::set(size.vms).await?;
    println!("{} VMs in {} vApps; {} rounds each\n", size.vms, size.vms / 10, size.rounds);
    act::log_in(&stage, size.rounds.min(50)).await?;
    list::run(&stage, size.rounds).await?;
    act::power_on(&stage, size.rounds).await
}

/// The middle one and the one that one of a hundred is slower than.
fn print(name: &str, times: &[Duration]) -> (f64, f64) {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let (p50, p99) = (at(0.5), at(0.99));
    println!("{name:<60} {p50:>9.2} ms p50 {p99:>9.2} ms p99   {} times", times.len());
    (p50, p99)
}
