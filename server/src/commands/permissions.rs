//! `ssvirt permissions`: who may do what, as a table.

use std::process::ExitCode;

/// Print who may do what
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: Args) -> ExitCode {
    print!("{}", model::permissions::markdown());
    ExitCode::SUCCESS
}
