//! The commands of `ssvirt`, one file each.

mod check;
mod controller;
mod demo;
mod hub;
mod idp;
mod keys;
mod migrate;
mod openapi;
mod permissions;
mod routes;
mod serve;
mod start;
mod user;

use crate::settings::Problems;
use clap::{Parser, Subcommand};
use std::{future::Future, process::ExitCode};

/// A self-service cloud on KubeVirt: portal, VCD-compatible API and everything behind them.
#[derive(Debug, Parser)]
#[command(name = "ssvirt", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Args),
    Start(controller::Args),
    Demo(demo::Args),
    Migrate(migrate::Args),
    Check(check::Args),
    User(user::Args),
    Idp(idp::Args),
    Hub(hub::Args),
    Keys(keys::Args),
    Permissions(permissions::Args),
    Openapi(openapi::Args),
    Routes(routes::Args),
}

/// The exit code for settings that cannot be used, the same as for a wrong command line.
const WRONG_SETTINGS: u8 = 2;

pub fn run() -> ExitCode {
    crate::tls::use_ring();
    let result = match Cli::parse().command {
        Command::Serve(args) => block_on(serve::run(args)),
        Command::Start(args) => block_on(controller::run(args)),
        Command::Demo(args) => block_on(demo::run(args)),
        Command::Migrate(args) => block_on(migrate::run(args)),
        Command::Check(args) => block_on(check::run(args)),
        Command::User(args) => block_on(user::run(args)),
        Command::Idp(args) => block_on(idp::run(args)),
        Command::Hub(args) => block_on(hub::run(args)),
        Command::Keys(args) => block_on(keys::run(args)),
        Command::Permissions(args) => Ok(permissions::run(args)),
        Command::Openapi(args) => openapi::run(args),
        Command::Routes(args) => Ok(routes::run(args)),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            for line in error
                .to_string()
                .lines()
                .map(str::to_owned)
                .chain(error.chain().skip(1).map(|cause| format!("because: {cause}")))
            {
                eprintln!("ssvirt: {line}");
            }
            ExitCode::from(if error.is::<Problems>() { WRONG_SETTINGS } else { 1 })
        }
    }
}

fn block_on(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}
