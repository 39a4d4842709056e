//! The clients of hubs, from their sealed credentials.
use hub::{
    Client, Clients, Clock, Credential,
    address::Gate,
    client::{Health, Options},
    kubeconfig,
};
use model::{Error, HubId, Kind, Result};
use std::{collections::HashMap, sync::Arc};
use store::{Store, Vault};

#[derive(Clone)]
pub struct Hubs {
    store: Store,
    vault: Vault,
    gate: Gate,
    clients: Arc<Clients>,
}

impl Hubs {
    pub fn new(store: Store, vault: Vault, gate: Gate, clock: Clock) -> Hubs {
        Hubs { store, vault, gate, clients: Arc::new(Clients::new(clock, Options::default())) }
    }

    /// The client of a hub, with its present credentials.
    pub async fn client(&self, hub: &HubId) -> Result<Client> {
        let (credential, version, trusted) = self.opened(hub).await?;
        let gate = if trusted { Gate::open() } else { self.gate.clone() };
        self.clients.get(&hub.0, version, || Ok((credential, gate))).map_err(|e| Error::Internal(e.message()))
    }

    pub(crate) async fn credential(&self, hub: &HubId) -> Result<Credential> {
        Ok(self.opened(hub).await?.0)
    }

    async fn opened(&self, hub: &HubId) -> Result<(Credential, i64, bool)> {
        let sealed = self.store.credential_of_hub(hub).await?.ok_or(Error::NotFound(Kind::Hub))?;
        let plain = self.vault.open(&format!("hub/{hub}"), &sealed.sealed).await?;
        let text =
            String::from_utf8(plain).map_err(|_| Error::Internal(format!("the kubeconfig of {hub} is no text")))?;
        let refused =
            |e: kubeconfig::Refused| Error::Internal(format!("the kubeconfig of {hub}: {}: {}", e.field, e.message));
        Ok((kubeconfig::parse(&text).map_err(refused)?, sealed.version, sealed.trusted))
    }

    pub fn forget(&self, hub: &HubId) {
        self.clients.forget(&hub.0);
    }

    pub fn health(&self) -> HashMap<String, Health> {
        self.clients.health()
    }
}
