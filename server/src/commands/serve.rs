//! `ssvirt serve`: production. Starts only with settings that are complete and strong, and has no password of its own.

use super::start;
use crate::{
    settings::{Need, Resolved, SettingFlags, Settings, Sources},
    shutdown::Shutdown,
};
use std::process::ExitCode;

/// Run the server in production
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    settings: SettingFlags,
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let resolved = Resolved::read(&Sources::of_this_process(args.settings));
    let settings = Settings::build(&resolved, Need::Serve)?;
    crate::telemetry::start(&settings.log);
    for warning in &resolved.warnings {
        tracing::warn!("{warning}");
    }
    let shutdown = Shutdown::default();
    shutdown.listen_for_signals(false)?;
    let sockets = start::Sockets::open(&settings, &shutdown).await?;
    start::serve(settings, sockets, shutdown, true, async |_| Ok(())).await?;
    Ok(ExitCode::SUCCESS)
}
