//! What `serve` and `demo` share: from settings to a running server, and to its orderly end.

use super::controller;
use crate::{AppState, database, listen, settings::Settings, shutdown::Shutdown, tls};
use anyhow::Context;
use axum_server::tls_rustls::RustlsConfig;
use domain::{Domain, simulator::Simulator};
use std::{net::SocketAddr, pin::pin, sync::Arc, time::Duration};

/// The open sockets of both schemes.
pub(super) struct Sockets(Vec<listen::Socket>);

impl Sockets {
    pub(super) async fn open(settings: &Settings, shutdown: &Shutdown) -> anyhow::Result<Sockets> {
        let mut sockets = match &settings.api.http {
            Some(http) => listen::open(http, None).await?,
            None => Vec::new(),
        };
        if let (Some(https), Some(files)) = (&settings.api.https, &settings.api.tls) {
            let config = RustlsConfig::from_config(tls::load(files).context("the certificate cannot be used")?);
            sockets.extend(listen::open(https, Some(config.clone())).await?);
            tokio::spawn(tls::keep_fresh(files.clone(), config, shutdown.clone()));
        }
        Ok(Sockets(sockets))
    }

    /// Where they listen, with the scheme.
    pub(super) fn addresses(&self) -> impl Iterator<Item = (&'static str, SocketAddr)> + '_ {
        self.0.iter().map(|socket| (socket.scheme(), socket.address))
    }
}

/// Serves until the shutdown is over. `once_ready` runs when the database is migrated; before that `/readyz` says "starting".
pub(super) async fn serve(
    settings: Settings,
    sockets: Sockets,
    shutdown: Shutdown,
    hsts: bool,
    simulator: Option<Arc<dyn Simulator>>,
    once_ready: impl AsyncFnOnce(&Domain) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    crate::metrics::recorder();
    for (scheme, address) in sockets.addresses() {
        tracing::info!(address = format!("{scheme}://{address}"), "listening");
    }
    let grace = settings.shutdown_grace;
    let domain = Domain { simulator, ..database::open(&settings)? };
    let state = AppState::new(settings, domain.clone(), shutdown.clone(), hsts);
    let limits = state.settings.limits.clone();
    let follower = tokio::spawn({
        let store = domain.store.clone();
        async move { store.follow_changes().await }
    });
    let housekeeper = tokio::spawn(crate::housekeeping::run(domain.clone()));

    // requests are only written down; this is what brings hubs to them
    let controller = domain.vault.clone().map(|vault| {
        let config = work::Config {
            store: domain.store.clone(),
            vault,
            gate: domain.gate.clone(),
            clock: domain.clock.clone(),
            template_namespaces: state.settings.hubs.template_namespaces.clone(),
            image_namespaces: state.settings.hubs.image_namespaces.clone(),
            times: work::drill::times(),
        };
        let area = domain.area.clone();
        move || work::Controller::start_with(config, area)
    });
    let mut controlling = None;
    let prepare = async {
        database::migrate(&domain.store).await?;
        crate::oidc::apply(&domain, &state.settings).await?;
        controlling = controller.map(|start| start());
        once_ready(&domain).await?;
        controller::set_default(&domain, &state.settings).await?;
        state.mark_started();
        anyhow::Ok(())
    };
    let mut listening = pin!(listen::serve(sockets.0, crate::router(state.clone()), &limits, shutdown.clone(), grace));
    let result = tokio::select! {
        // a shutdown does not wait for a start that is still going on
        ended = &mut listening => ended,
        prepared = prepare => {
            if prepared.is_err() {
                shutdown.begin();
            }
            listening.await.and(prepared)
        }
    };
    if let Some(controller) = controlling {
        controller.stop().await;
    }
    follower.abort();
    housekeeper.abort();
    // a connection that is still in use by then is cut by the end of the process
    let _ = tokio::time::timeout(Duration::from_secs(5), domain.store.close()).await;
    tracing::info!("stopped");
    result
}
