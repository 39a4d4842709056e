//! The operations: one file a noun, one public function a verb. Every face calls these and nothing below them.
pub mod affinity;
pub mod agent;
pub mod audit;
pub mod bootstrap;
pub mod bulk;
pub mod catalog;
pub mod console;
pub mod copy;
pub mod difference;
pub mod disk;
pub mod event;
pub mod guest;
pub mod hub;
pub mod idp;
pub mod item;
pub mod keys;
pub mod lease;
pub mod media;
pub mod metadata;
pub mod moves;
pub mod network;
pub mod nic;
pub mod org;
pub mod overview;
pub mod owner;
mod password;
pub mod probe;
pub mod profile;
pub mod quota;
pub mod recompose;
pub mod role;
pub mod session;
pub mod share;
pub mod simulator;
pub mod sizing;
pub mod snapshot;
pub mod storage;
pub mod tag;
pub mod task;
pub mod token;
pub mod upload;
pub mod user;
pub mod vapp;
pub mod vapp_network;
pub mod vapp_property;
pub mod vdc;
pub mod vm;
pub mod withdraw;
pub mod work;

pub use ::hub::address::{AllowList, Gate, Ports};
pub use password::Hasher;
pub use store::{Store, Vault};
pub use transfer::Area;

use model::{Action, Actor, Error, Result, name::PasswordRules};
use std::{future::Future, sync::Arc};
use store::Refusal;
use time::{Duration, OffsetDateTime};

/// Where the time comes from: the system, or a test's hand.
pub type Clock = Arc<dyn Fn() -> OffsetDateTime + Send + Sync>;

/// How long sessions last.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    pub idle: Duration,
    pub absolute: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        SessionLimits { idle: Duration::minutes(30), absolute: Duration::hours(24) }
    }
}

/// What operations work with.
#[derive(Clone)]
pub struct Domain {
    pub store: Store,
    pub hasher: Hasher,
    pub clock: Clock,
    pub sessions: SessionLimits,
    /// What is asked of passwords.
    pub passwords: PasswordRules,
    /// Leases are not shorter.
    pub least_lease: Duration,
    /// Where secrets are sealed and opened; without a master secret there is none.
    pub vault: Option<Vault>,
    /// Which addresses hubs may have.
    pub gate: Gate,
    /// Where uploads arrive; without a directory for them there is none.
    pub area: Option<Area>,
    /// Hubs that are only played, in the demonstration.
    pub simulator: Option<Arc<dyn simulator::Simulator>>,
}

impl Domain {
    pub fn now(&self) -> OffsetDateTime {
        (self.clock)()
    }

    pub fn area(&self) -> Result<&Area> {
        let none = "Uploads are not set up here: an operator gives them a directory by the setting images.directory.";
        self.area.as_ref().ok_or_else(|| Error::NotNow(none.into()))
    }

    pub fn vault(&self) -> Result<&Vault> {
        self.vault.as_ref().ok_or_else(|| Error::Internal("auth.secret is not set, so secrets can't be sealed".into()))
    }

    /// Runs a change; a refusal is written to the audit before it is answered.
    pub async fn attempt<T>(&self, actor: &Actor, action: Action, work: impl Future<Output = Result<T>>) -> Result<T> {
        let result = work.await;
        if let Err(e) = &result {
            match e {
                Error::Forbidden { .. }
                | Error::NotShared { .. }
                | Error::NotFound(_)
                | Error::NotNow(_)
                | Error::OverQuota(_)
                    if action.changes() =>
                {
                    let reason = e.to_string();
                    if let Err(e) = self.store.audit_refusal(Refusal::of(actor, action, &reason)).await {
                        tracing::error!(error = %e, "a refusal could not be written to the audit");
                    }
                }
                Error::Internal(why) => tracing::error!(action = action.key(), error = %why, "an operation failed"),
                _ => {}
            }
        }
        result
    }
}

/// The clock on the wall.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the time is read; everything else takes it from here"
)]
pub fn system_clock() -> Clock {
    Arc::new(OffsetDateTime::now_utc)
}
