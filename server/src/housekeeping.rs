//! What has to be done from time to time: removing sessions that have ended, consoles that nobody is at, uploads that nobody goes on with, and files
//! that nothing needs. Any replica may do it; doing it twice does no harm.
use domain::Domain;
use std::time::Duration;

const EVERY: Duration = Duration::from_secs(10 * 60);

/// Runs until it is aborted.
pub(crate) async fn run(domain: Domain) {
    loop {
        tokio::time::sleep(EVERY).await;
        match domain.store.sessions_purge(domain.now()).await {
            Ok(0) => {}
            Ok(gone) => tracing::info!(sessions = gone, "removed sessions that had ended"),
            Err(e) => tracing::debug!(error = %e, "housekeeping waits for the database"),
        }
        match domain::console::clean(&domain).await {
            Ok(0) => {}
            Ok(gone) => tracing::info!(consoles = gone, "removed tickets and consoles that nobody used"),
            Err(e) => tracing::debug!(error = %e, "housekeeping waits for the database"),
        }
        match domain::upload::clean(&domain).await {
            Ok(0) => {}
            Ok(gone) => tracing::info!(files = gone, "removed files that nothing needs from the transfer area"),
            Err(e) => tracing::debug!(error = %e, "housekeeping waits for the database"),
        }
    }
}
