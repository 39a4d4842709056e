//! The clients of all hubs, each made when first needed and made anew when its credentials change.
use super::{Client, Health, Options};
use crate::{Clock, Credential, address::Gate, error::Result};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};
use uuid::Uuid;

/// Which credentials of a hub: its registration, and how often they were changed since. A hub that is registered again
/// under its old id has a later registration, since those ids are made in order of time.
pub type Revision = (Uuid, i64);

pub struct Clients {
    clock: Clock,
    options: Options,
    kept: Mutex<HashMap<String, (Revision, Client)>>,
}

impl Clients {
    pub fn new(clock: Clock, options: Options) -> Clients {
        Clients { clock, options, kept: Mutex::default() }
    }

    /// The client of a hub with these credentials. `access` is asked only where there is none yet.
    pub fn get(
        &self,
        hub: &str,
        revision: Revision,
        access: impl FnOnce() -> Result<(Credential, Gate)>,
    ) -> Result<Client> {
        if let Some(client) = self.kept_for(hub, revision) {
            return Ok(client);
        }
        // opening a credential may take a while, so others are not kept waiting
        let (credential, gate) = access()?;
        let client = Client::new(&credential, &gate, self.clock.clone(), self.options.clone())?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = kept.entry(hub.to_owned()).or_insert_with(|| (revision, client.clone()));
        if entry.0 < revision {
            tracing::info!(
                hub_id = hub,
                version = revision.1,
                "the hub's credentials changed, so its client was made anew"
            );
            *entry = (revision, client);
        }
        Ok(entry.1.clone())
    }

    /// A caller that knows only older credentials gets the newer client.
    pub fn kept_for(&self, hub: &str, revision: Revision) -> Option<Client> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(hub).filter(|(r, _)| *r >= revision).map(|(_, c)| c.clone())
    }

    /// After a hub was removed.
    pub fn forget(&self, hub: &str) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).remove(hub);
    }

    /// How the hubs are doing that were called at all.
    pub fn health(&self) -> HashMap<String, Health> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().map(|(hub, (_, client))| (hub.clone(), client.health())).collect()
    }
}
