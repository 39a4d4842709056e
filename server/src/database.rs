//! From settings to an open, migrated database. It may be down when the server starts and at any time after.

use crate::settings::Settings;
use anyhow::Context;
use domain::{Area, Domain, Gate, Hasher, SessionLimits, Store, Vault, system_clock};
use model::Error;
use std::time::Duration;

/// How long to wait before the next try while the database does not answer.
const TRY_AGAIN: Duration = Duration::from_secs(2);

/// Everything operations need. Connects to nothing yet.
pub fn open(settings: &Settings) -> anyhow::Result<Domain> {
    let url = settings.database.url.as_ref().context("database.url is not set")?;
    let limit = |duration: Duration| time::Duration::try_from(duration).context("a session limit is too long");
    let store = Store::open(url.expose(), settings.database.max_connections)?.with_deadline(settings.tasks_deadline);
    let vault = settings.auth.secret.as_ref().map(|secret| {
        let vault = Vault::new(store.clone(), secret.expose());
        match &settings.auth.old_secret {
            Some(old) => vault.or_old(old.expose()),
            None => vault,
        }
    });
    Ok(Domain {
        store,
        vault,
        gate: Gate::new(settings.hubs.allow.clone(), settings.hubs.ports.clone()),
        area: settings.images.directory.as_ref().map(|dir| Area::new(dir, settings.images.limit)),
        simulator: None,
        hasher: Hasher::new(settings.auth.max_concurrent_hashes)?,
        clock: system_clock(),
        passwords: settings.auth.passwords,
        least_lease: limit(settings.leases_minimum)?,
        sessions: SessionLimits {
            idle: limit(settings.auth.session_idle)?,
            absolute: limit(settings.auth.session_absolute)?,
        },
    })
}

/// Migrates as soon as the database answers. Fails only for what waiting does not cure.
pub async fn migrate(store: &Store) -> anyhow::Result<()> {
    loop {
        match store.migrate().await {
            Ok(()) => return Ok(()),
            Err(Error::Unavailable(_)) => tracing::warn!("the database does not answer; trying again in 2 seconds"),
            Err(error) => return Err(explained(error)).context("the database could not be migrated"),
        }
        tokio::time::sleep(TRY_AGAIN).await;
    }
}

/// With the cause of an internal error: an operator at the command line is the one it is meant for.
pub fn explained(error: Error) -> anyhow::Error {
    match error {
        Error::Internal(cause) => anyhow::anyhow!(cause),
        error => anyhow::anyhow!(error.to_string()),
    }
}
