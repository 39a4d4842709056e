//! What `serve` and `demo` share: from settings to a running server, and to its orderly end.

use crate::{AppState, listen, settings::Settings, shutdown::Shutdown, tls};
use anyhow::Context;
use axum_server::tls_rustls::RustlsConfig;
use std::{net::SocketAddr, sync::Arc};

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

/// Until the shutdown is over.
pub(super) async fn serve(settings: Settings, sockets: Sockets, shutdown: Shutdown, hsts: bool) -> anyhow::Result<()> {
    crate::metrics::recorder();
    for (scheme, address) in sockets.addresses() {
        tracing::info!(address = format!("{scheme}://{address}"), "listening");
    }
    let settings = Arc::new(settings);
    let state = AppState { settings: settings.clone(), shutdown: shutdown.clone(), hsts };
    listen::serve(sockets.0, crate::router(state), &settings.limits, shutdown, settings.shutdown_grace).await?;
    tracing::info!("stopped");
    Ok(())
}
