//! The clients of all hubs, each made when first needed and made anew when its credentials change.
use super::{Client, Health, Options};
use crate::{Clock, Credential, address::Gate, error::Result};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

pub struct Clients {
    clock: Clock,
    options: Options,
    kept: Mutex<HashMap<String, (i64, Client)>>,
}

impl Clients {
    pub fn new(clock: Clock, options: Options) -> Clients {
        Clients { clock, options, kept: Mutex::default() }
    }

    /// The client of a hub with credentials of this version. `access` is asked only where there is none yet.
    pub fn get(&self, hub: &str, version: i64, access: impl FnOnce() -> Result<(Credential, Gate)>) -> Result<Client> {
        if let Some(client) = self.kept_for(hub, version) {
            return Ok(client);
        }
        // opening a credential may take a while, so others are not kept waiting
        let (credential, gate) = access()?;
        let client = Client::new(&credential, &gate, self.clock.clone(), self.options.clone())?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = kept.entry(hub.to_owned()).or_insert_with(|| (version, client.clone()));
        if entry.0 < version {
            tracing::info!(hub_id = hub, version, "the hub's credentials changed, so its client was made anew");
            *entry = (version, client);
        }
        Ok(entry.1.clone())
    }

    /// A caller that knows only older credentials gets the newer client.
    pub fn kept_for(&self, hub: &str, version: i64) -> Option<Client> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(hub).filter(|(v, _)| *v >= version).map(|(_, c)| c.clone())
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
