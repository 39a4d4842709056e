//! `ssvirt openapi`: the OpenAPI document of the JSON part of the VCD API.

use std::process::ExitCode;

/// Print the OpenAPI document of /cloudapi and /oauth
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: Args) -> anyhow::Result<ExitCode> {
    println!("{}", serde_json::to_string_pretty(&vcd::openapi(&vcd::list()))?);
    Ok(ExitCode::SUCCESS)
}
