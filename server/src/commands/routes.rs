//! `ssvirt routes`: every address of the VCD API, as a table.

use std::process::ExitCode;

/// Print every address of the VCD API
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: Args) -> ExitCode {
    print!("{}", vcd::markdown(&vcd::list()));
    ExitCode::SUCCESS
}
