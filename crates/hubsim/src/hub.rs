//! One simulated hub: started, looked into, disturbed, stopped.

use crate::{
    api::Api,
    by_hand::ByHand,
    clock::Clock,
    controllers::Todo,
    crd, door,
    faults::Faults,
    flavour::Flavour,
    hooks::{VirtualApi, Webhook},
    identity::Identity,
    kinds, meta,
    store::{Change, State, Witness},
};
use anyhow::{Context, anyhow};
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, PoisonError},
};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

#[derive(Debug, Clone)]
pub struct Options {
    pub name: String,
    /// Where to listen; port 0 takes any free one.
    pub address: SocketAddr,
    /// Where the hub keeps itself; none: it forgets all when it stops.
    pub data_dir: Option<PathBuf>,
    pub flavour: Flavour,
    pub clock: Clock,
    /// The administrator's token; none: a random one, the same again after a restart.
    pub token: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "hub".to_owned(),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            data_dir: None,
            flavour: Flavour::default(),
            clock: Clock::default(),
            token: None,
        }
    }
}

/// A running hub. Dropping it stops it.
#[derive(Debug)]
pub struct Hub {
    name: String,
    api: Arc<Api>,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Hub {
    pub async fn start(options: Options) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(options.address)
            .await
            .with_context(|| format!("the hub {} cannot listen on {}", options.name, options.address))?;
        let address = listener.local_addr()?;
        let now = options.clock.now();
        let mut state = State::new(kinds::served(&options.flavour), Todo::default());
        let identity = match &options.data_dir {
            None => Identity::make(options.token, address.ip(), now)?,
            Some(folder) => {
                std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
                state.lock(folder)?;
                state.load(&folder.join("journal.jsonl"))?;
                Identity::load_or_make(folder, options.token, address.ip(), now)?
            }
        };
        let api = Arc::new(Api::new(state, options.clock, options.flavour, identity));
        let _ = api.address.set(address.to_string());
        furnish(&api)
            .map_err(|refusal| anyhow!("the hub {} cannot be furnished: {}", options.name, refusal.message))?;
        api.catch_up();
        let other = Identity::make(None, address.ip(), api.clock.now())?;
        let tls = door::Shown { own: door::acceptor(&api.identity)?, other: door::acceptor(&other)? };
        let (stop, stopped) = watch::channel(false);
        let tasks = vec![
            tokio::spawn(door::serve(api.clone(), listener, tls, stopped)),
            tokio::spawn(api.clone().run_controllers()),
        ];
        tracing::info!(hub = options.name, %address, "simulated hub ready");
        Ok(Self { name: options.name, api, address, stop, tasks })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The administrator's token.
    pub fn token(&self) -> &str {
        &self.api.identity.token
    }

    /// The certificate authority, PEM.
    pub fn ca(&self) -> &str {
        &self.api.identity.ca
    }

    /// A token of a service account, good for a year. None: there is no such account.
    pub fn account_token(&self, namespace: &str, name: &str) -> Option<String> {
        let account = self.object("", "serviceaccounts", namespace, name)?;
        let now = self.api.clock.now().unix_timestamp();
        Some(self.api.identity.sign(namespace, name, meta::uid(&account), now, Some(now + 365 * 24 * 3600)))
    }

    /// A kubeconfig with another token than the administrator's.
    pub fn kubeconfig_for(&self, token: &str) -> String {
        self.api.identity.kubeconfig(&self.name, &self.address.to_string(), token)
    }

    /// Puts manifests there as `kubectl apply` would on a fresh hub, and gives a kubeconfig of the service account in them.
    pub fn account(&self, manifests: &str) -> anyhow::Result<String> {
        let mut account = None;
        for text in manifests.split("\n---\n") {
            let object: Value = serde_saphyr::from_str(text).context("a manifest cannot be read")?;
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (kind, version) = (text("/kind"), text("/apiVersion"));
            let group = version.split_once('/').map_or("", |(group, _)| group);
            let known = kinds::served(&self.api.flavour).into_iter().find(|k| k.group == group && k.kind == kind);
            let plural = known.ok_or_else(|| anyhow!("the hub knows no {kind} of {version}"))?.plural;
            if kind == "ServiceAccount" {
                account = Some((text("/metadata/namespace"), text("/metadata/name")));
            }
            if self.object(group, &plural, &text("/metadata/namespace"), &text("/metadata/name")).is_none() {
                self.plant(group, &plural, object)?;
            }
        }
        let (namespace, name) = account.context("there is no service account in these manifests")?;
        let token = self.account_token(&namespace, &name).context("the service account is not there")?;
        Ok(self.kubeconfig_for(&token))
    }

    /// A kubeconfig of the administrator, with certificate and token in it.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_for(self.token())
    }

    /// Settings for a client of the administrator that goes through the network and tries nothing twice.
    pub async fn client_config(&self) -> anyhow::Result<kube::Config> {
        let kubeconfig = kube::config::Kubeconfig::from_yaml(&self.kubeconfig())?;
        let options = kube::config::KubeConfigOptions::default();
        let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        // a fault shall be seen, not waited out
        config.default_retry = false;
        Ok(config)
    }

    /// A client inside the process: no network, no faults, all rights. For the hub's own actors.
    pub fn inside(&self) -> kube::Client {
        door::inside(self.api.clone())
    }

    pub fn faults(&self) -> Faults {
        self.api.faults.clone()
    }

    pub fn clock(&self) -> Clock {
        self.api.clock.clone()
    }

    pub fn flavour(&self) -> &Flavour {
        &self.api.flavour
    }

    pub fn add_webhook(&self, webhook: Arc<dyn Webhook>) {
        self.api.hooks.write().unwrap_or_else(PoisonError::into_inner).webhooks.push(webhook);
    }

    pub fn add_api(&self, api: Arc<dyn VirtualApi>) {
        self.api.hooks.write().unwrap_or_else(PoisonError::into_inner).apis.push(api);
    }

    /// An object as it is stored.
    pub fn object(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.api.state().by_name(group, resource, namespace, name)
    }

    /// All objects of a kind.
    pub fn objects(&self, group: &str, resource: &str) -> Vec<Arc<Value>> {
        let state = self.api.state();
        state.find(group, resource).map(|id| state.list(id, None).cloned().collect()).unwrap_or_default()
    }

    /// Changes an object behind everybody's back, as some other manager would. False: there is no such object.
    pub fn edit(
        &self,
        group: &str,
        resource: &str,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> anyhow::Result<bool> {
        let mut state = self.api.state();
        let Some(id) = state.find(group, resource) else { return Ok(false) };
        let Some(object) = state.get(id, namespace, name) else { return Ok(false) };
        let mut object = (*object).clone();
        change(&mut object);
        state.put(id, object).map_err(|refusal| anyhow!(refusal.message))?;
        Ok(true)
    }

    /// Puts an object there behind everybody's back, unchecked, under a new uid. Fails where the kind is not known.
    pub fn plant(&self, group: &str, resource: &str, mut object: Value) -> anyhow::Result<Arc<Value>> {
        let mut state = self.api.state();
        let id = state.find(group, resource).ok_or_else(|| anyhow!("the hub has no {resource}"))?;
        meta::set(&mut object, "uid", crate::new_uid());
        meta::set(&mut object, "creationTimestamp", self.api.clock.stamp());
        meta::set(&mut object, "generation", 1);
        state.put(id, object).map_err(|refusal| anyhow!(refusal.message))
    }

    /// Tells of every change from now on, in the order they are made: the resource, what became of the object, and the
    /// object. Called with the hub's lock held: it must not call the hub.
    pub fn witness(&self, sees: impl Fn(&str, Change, &Value) + Send + Sync + 'static) {
        self.api.state().witnesses.push(Witness(Arc::new(sees)));
    }

    /// Removes an object at once, finalizers or not. False: there is no such object.
    pub fn remove(&self, group: &str, resource: &str, namespace: &str, name: &str) -> anyhow::Result<bool> {
        let mut state = self.api.state();
        let Some(id) = state.find(group, resource) else { return Ok(false) };
        let gone = state.remove(id, namespace, name).map_err(|refusal| anyhow!(refusal.message))?;
        Ok(gone.is_some())
    }

    /// Hands on this hub, for whoever does something to it past SSVirt.
    pub fn by_hand(&self) -> ByHand {
        ByHand(self.api.clone())
    }

    /// Lets everything go that the fault `stuck-finalizer` holds.
    pub fn release_stuck(&self) -> anyhow::Result<usize> {
        self.by_hand().release_stuck()
    }

    /// Forgets all history: watches and pages from before get 410.
    pub fn forget_history(&self) {
        self.api.state().forget();
    }

    /// Stops the built-in controllers for a while, as on a cluster whose controller manager is down.
    pub fn pause_controllers(&self, paused: bool) {
        self.api.pause_controllers(paused);
    }

    /// Closes the port and all connections.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        let mut tasks = std::mem::take(&mut self.tasks).into_iter();
        if let Some(door) = tasks.next() {
            let _ = door.await;
        }
        tasks.for_each(|task| task.abort());
        self.api.stop();
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        self.tasks.iter().for_each(JoinHandle::abort);
        self.api.stop();
    }
}

/// What every cluster has: the first namespaces, the definitions of its custom kinds, the roles of everybody.
fn furnish(api: &Api) -> crate::answer::Result<()> {
    let mut state = api.state();
    let now = api.clock.stamp();
    let mut missing: Vec<(&str, &str, Value)> = Vec::new();
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        let labels = json!({"kubernetes.io/metadata.name": name});
        missing.push((
            "",
            "namespaces",
            json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels},
                "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
            }),
        ));
    }
    missing.extend(crate::access::roles());
    for (group, plural, mut object) in missing {
        let Some(id) = state.find(group, plural) else { continue };
        if state.get(id, "", meta::name(&object)).is_none() {
            meta::set(&mut object, "uid", crate::new_uid());
            meta::set(&mut object, "creationTimestamp", now.as_str());
            state.put(id, object)?;
        }
    }
    define(&mut state, &api.flavour, &now)
}

/// Brings the definitions of the hub's own kinds up to date: an older hub may have left others in the folder, or the
/// flavour may have changed.
fn define(state: &mut State, flavour: &Flavour, now: &str) -> crate::answer::Result<()> {
    let Some(id) = state.find("apiextensions.k8s.io", "customresourcedefinitions") else { return Ok(()) };
    for kind in kinds::unserved(flavour).iter().filter(|kind| kind.custom) {
        state.remove(id, "", &kind.resource())?;
    }
    for kind in kinds::served(flavour).iter().filter(|kind| kind.custom) {
        let mut definition = crd::established(crd::definition(kind), now);
        match state.get(id, "", &kind.resource()) {
            Some(known) if known["spec"] == definition["spec"] => {}
            Some(known) => {
                definition["metadata"] = known["metadata"].clone();
                state.put(id, definition)?;
            }
            None => {
                meta::set(&mut definition, "uid", crate::new_uid());
                meta::set(&mut definition, "creationTimestamp", now);
                meta::set(&mut definition, "generation", 1);
                state.put(id, definition)?;
            }
        }
    }
    Ok(())
}
