//! The clients of hubs, from their sealed credentials.
use hub::{
    Client, Clients, Clock, Credential,
    address::Gate,
    client::{Health, Options, Revision},
    kubeconfig,
};
use model::{Error, HubId, Kind, Result};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use store::{SealedCredential, Store, Vault};

#[derive(Clone)]
pub struct Hubs {
    store: Store,
    vault: Vault,
    gate: Gate,
    clients: Arc<Clients>,
    /// Which credentials of a hub were the present ones, and when that was looked up.
    revisions: Arc<Mutex<HashMap<HubId, (Revision, Instant)>>>,
}

/// So long an earlier look at a hub's credentials counts. Old ones in between do no harm: the hub refuses them.
const FRESH: Duration = Duration::from_secs(1);

impl Hubs {
    pub fn new(store: Store, vault: Vault, gate: Gate, clock: Clock, calls: Options) -> Hubs {
        Hubs { store, vault, gate, clients: Arc::new(Clients::new(clock, calls)), revisions: Arc::default() }
    }

    /// The client of a hub, with its present credentials.
    pub async fn client(&self, hub: &HubId) -> Result<Client> {
        self.client_since(hub, None).await
    }

    /// The same for somebody who has seen that these are its credentials: an earlier look at older ones does not count.
    pub(crate) async fn client_since(&self, hub: &HubId, seen: Option<Revision>) -> Result<Client> {
        let fresh = |(known, at): &&(Revision, Instant)| seen.is_none_or(|s| s == *known) && at.elapsed() < FRESH;
        let looked_up = self.revisions().get(hub).filter(fresh).map(|(revision, _)| *revision);
        if let Some(client) = looked_up.and_then(|revision| self.clients.kept_for(&hub.0, revision)) {
            return Ok(client);
        }
        let sealed = self.sealed(hub).await?;
        self.revisions().insert(hub.clone(), (sealed.revision, Instant::now()));
        if let Some(client) = self.clients.kept_for(&hub.0, sealed.revision) {
            return Ok(client);
        }
        let SealedCredential { revision, trusted, .. } = sealed;
        let credential = self.opened(hub, &sealed).await?;
        let gate = if trusted { Gate::open() } else { self.gate.clone() };
        self.clients.get(&hub.0, revision, || Ok((credential, gate))).map_err(|e| Error::Internal(e.message()))
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

    fn revisions(&self) -> MutexGuard<'_, HashMap<HubId, (Revision, Instant)>> {
        self.revisions.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.revisions().remove(hub);
        self.clients.forget(&hub.0);
    }

    pub fn health(&self) -> HashMap<String, Health> {
        self.clients.health()
    }
}
