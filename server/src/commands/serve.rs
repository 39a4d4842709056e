//! `ssvirt serve`: production. Starts only with settings that are complete and strong, and has no password of its own.

use super::{controller::VmaasHub, start};
use crate::{
    settings::{Need, Resolved, SettingFlags, Settings, Sources},
    shutdown::Shutdown,
};
use domain::Domain;
use std::process::ExitCode;

/// Run the server in production
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    hub: VmaasHub,
    #[command(flatten)]
    settings: SettingFlags,
}

pub(super) async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let kubeconfig = args.hub.read()?;
    let resolved = Resolved::read(&Sources::of_this_process(args.settings));
    let settings = Settings::build(&resolved, Need::Serve)?;
    crate::telemetry::start(&settings.log);
    for warning in &resolved.warnings {
        tracing::warn!("{warning}");
    }
    let shutdown = Shutdown::default();
    shutdown.listen_for_signals(false)?;
    let sockets = start::Sockets::open(&settings, &shutdown).await?;
    let hub = args.hub;
    let register = async move |domain: &Domain| {
        let kubeconfig = hub.register(domain, kubeconfig).await?;
        tokio::spawn(hub.follow(domain.clone(), kubeconfig));
        anyhow::Ok(())
    };
    start::serve(settings, sockets, shutdown, true, None, register).await?;
    Ok(ExitCode::SUCCESS)
}
