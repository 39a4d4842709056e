//! The clients of hubs, from their sealed credentials.
use hub::{
    Client, Clients, Clock, Credential,
    address::Gate,
    client::{Health, Options, Revision},
    kubeconfig,
};
use model::{Error, HubId, Kind, Result};
use std::{collections::HashMap, sync::Arc};
use store::{SealedCredential, Store, Vault};

#[derive(Clone)]
pub struct Hubs {
    store: Store,
    vault: Vault,
    gate: Gate,
    clients: Arc<Clients>,
}

impl Hubs {
    pub fn new(store: Store, vault: Vault, gate: Gate, clock: Clock, calls: Options) -> Hubs {
        Hubs { store, vault, gate, clients: Arc::new(Clients::new(clock, calls)) }
    }

    /// The client of a hub, with its present credentials. They are looked up each time: under the same name there may be
    /// another cluster by now, and what is made on the one before is made in the wrong place.
    pub async fn client(&self, hub: &HubId) -> Result<Client> {
        let sealed = self.sealed(hub).await?;
        if let Some(client) = self.clients.kept_for(&hub.0, sealed.revision) {
            return Ok(client);
        }
        let SealedCredential { revision, trusted, .. } = sealed;
        let credential = self.opened(hub, &sealed).await?;
        let gate = if trusted { Gate::open() } else { self.gate.clone() };
        self.clients.get(&hub.0, revision, || Ok((credential, gate))).map_err(|e| Error::Internal(e.message()))
    }

    /// The same for somebody who has just read which credentials are the present ones.
    pub(crate) async fn client_of(&self, hub: &HubId, revision: Revision) -> Result<Client> {
        match self.clients.kept_for(&hub.0, revision) {
            Some(client) => Ok(client),
            None => self.client(hub).await,
        }
    }

    /// Which addresses the hub may have, and what goes with it.
    pub(crate) async fn gate(&self, hub: &HubId) -> Result<Gate> {
        let sealed = self.sealed(hub).await?;
        Ok(if sealed.trusted { Gate::open() } else { self.gate.clone() })
    }

    pub(crate) async fn credential(&self, hub: &HubId) -> Result<Credential> {
        let sealed = self.sealed(hub).await?;
        self.opened(hub, &sealed).await
    }

    async fn sealed(&self, hub: &HubId) -> Result<SealedCredential> {
        self.store.credential_of_hub(hub).await?.ok_or(Error::NotFound(Kind::Hub))
    }

    async fn opened(&self, hub: &HubId, sealed: &SealedCredential) -> Result<Credential> {
        let plain = self.vault.open(&format!("hub/{hub}"), &sealed.sealed).await?;
        let text =
            String::from_utf8(plain).map_err(|_| Error::Internal(format!("the kubeconfig of {hub} is no text")))?;
        let refused =
            |e: kubeconfig::Refused| Error::Internal(format!("the kubeconfig of {hub}: {}: {}", e.field, e.message));
        kubeconfig::parse(&text).map_err(refused)
    }

    /// After it was deleted.
    pub fn forget(&self, hub: &HubId) {
        self.clients.forget(&hub.0);
    }

    pub fn health(&self) -> HashMap<String, Health> {
        self.clients.health()
    }
}
