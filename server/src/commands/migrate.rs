//! `ssvirt migrate`: brings the database up to date. `serve` does the same at its start.

use crate::{
    database,
    settings::{Need, Resolved, SettingFlags, Settings, Sources},
};
use std::process::ExitCode;

/// Bring the database's tables up to date
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    settings: SettingFlags,
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let settings = Settings::build(&Resolved::read(&Sources::of_this_process(args.settings)), Need::Database)?;
    let store = database::open(&settings)?.store;
    let pending = store.migrations_pending().await.map_err(database::explained)?;
    store.migrate().await.map_err(database::explained)?;
    store.close().await;
    match pending {
        0 => println!("The database is up to date."),
        1 => println!("1 migration was applied; the database is up to date."),
        n => println!("{n} migrations were applied; the database is up to date."),
    }
    Ok(ExitCode::SUCCESS)
}
