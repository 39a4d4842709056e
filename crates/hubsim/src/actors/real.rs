//! A hub on a real API server: the actors are its controllers, and tests ask of it what they ask of a simulated one.
use super::{
    Actors, Options,
    api::{Api, is_conflict, is_not_found},
    furnish, join,
    json::Look,
    kind::{ALL, CDI_CONFIG, EVENT, Kind, NAMESPACE, NETWORK_POLICY, RESOURCE_QUOTA},
};
use crate::Flavour;
use anyhow::{Context, anyhow, bail};
use kube::{Client, Config, api::DeleteParams, config::Kubeconfig};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

/// How long a hub may take to be as it was; a namespace with claims in it takes some seconds.
const PATIENCE: Duration = Duration::from_secs(120);

/// An object's place: its kind, namespace and name.
type Place = (usize, String, String);

pub struct Real {
    api: Api,
    folder: PathBuf,
    administrator: String,
    account: String,
    /// What was there before anybody used it.
    kept: BTreeMap<Place, Value>,
    _actors: Actors,
}

fn kinds() -> Vec<Kind> {
    let more = [CDI_CONFIG, NETWORK_POLICY, RESOURCE_QUOTA];
    ALL.iter().copied().filter(|k| *k != EVENT).chain(more).collect()
}

impl Real {
    /// Furnishes the server whose kubeconfigs are in a folder and starts the actors on it: `admin.kubeconfig` is theirs,
    /// `hub.kubeconfig` that of the account which SSVirt gets.
    pub async fn start(folder: &Path, options: &Options) -> anyhow::Result<Real> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))
        };
        let (administrator, account) = (read("admin.kubeconfig")?, read("hub.kubeconfig")?);
        let kubeconfig = Kubeconfig::from_yaml(&administrator)?;
        let client = Client::try_from(Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?)?;
        furnish(client.clone(), &Flavour::default()).await?;
        let actors = join(client.clone(), options).await?;
        let mut real = Real {
            api: Api::new(client),
            folder: folder.to_owned(),
            administrator,
            account,
            kept: BTreeMap::new(),
            _actors: actors,
        };
        real.settle().await?;
        real.kept = real.all().await?;
        Ok(real)
    }

    /// The administrator's.
    pub fn kubeconfig(&self) -> &str {
        &self.administrator
    }

    /// That of the account with the rights which a hub's owner gives.
    pub fn account(&self) -> &str {
        &self.account
    }

    pub async fn object(
        &self,
        group: &str,
        resource: &str,
        namespace: &str,
        name: &str,
    ) -> anyhow::Result<Option<Arc<Value>>> {
        Ok(self.api.get(kind_of(group, resource)?, namespace, name).await?.map(Arc::new))
    }

    pub async fn objects(&self, group: &str, resource: &str) -> anyhow::Result<Vec<Arc<Value>>> {
        Ok(self.list(kind_of(group, resource)?).await?.into_iter().map(Arc::new).collect())
    }

    /// How many there are that were not there before anybody used it.
    pub async fn made(&self, group: &str, resource: &str) -> anyhow::Result<usize> {
        let kind = kind_of(group, resource)?;
        let fresh = self.kept.iter().filter(|((k, ..), _)| kinds()[*k] == kind).map(|(_, o)| o.uid());
        let fresh: Vec<&str> = fresh.collect();
        Ok(self.list(kind).await?.iter().filter(|o| !fresh.contains(&o.uid())).count())
    }

    /// Changes an object as somebody with kubectl would. False: there is no such object.
    pub async fn edit(
        &self,
        group: &str,
        resource: &str,
        namespace: &str,
        name: &str,
        change: impl Fn(&mut Value),
    ) -> anyhow::Result<bool> {
        let kind = kind_of(group, resource)?;
        loop {
            let Some(mut object) = self.api.get(kind, namespace, name).await? else { return Ok(false) };
            change(&mut object);
            match self.api.replace(kind, &object).await {
                Ok(_) => return Ok(true),
                Err(e) if is_conflict(&e) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Deletes an object as somebody with kubectl would. False: there is no such object.
    pub async fn remove(&self, group: &str, resource: &str, namespace: &str, name: &str) -> anyhow::Result<bool> {
        let kind = kind_of(group, resource)?;
        let Some(object) = self.api.get(kind, namespace, name).await? else { return Ok(false) };
        self.api.delete(kind, &object, DeleteParams::default()).await?;
        Ok(true)
    }

    /// Stops Kubernetes' own controllers for a while: their process stands still.
    pub fn pause_controllers(&self, paused: bool) -> anyhow::Result<()> {
        let process = std::fs::read_to_string(self.folder.join("kube-controller-manager.pid"))?;
        let done = Command::new("kill").args([if paused { "-STOP" } else { "-CONT" }, process.trim()]).status()?;
        if done.success() { Ok(()) } else { bail!("the controller manager can't be signalled: {done}") }
    }

    /// Makes the hub as it was before anybody used it, and waits until it is.
    pub async fn clean(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        let kinds = kinds();
        // a test that failed may have left them so
        self.pause_controllers(false)?;
        loop {
            let now = self.all().await?;
            let foreign: Vec<_> = now.iter().filter(|(place, _)| !self.kept.contains_key(*place)).collect();
            for ((kind, ..), object) in &foreign {
                if !object.dying() {
                    self.api.delete(kinds[*kind], object, DeleteParams::background()).await?;
                }
            }
            let mut mended = 0;
            for (place, was) in &self.kept {
                match now.get(place) {
                    Some(is) if content(is) == content(was) => continue,
                    Some(is) => {
                        let mut new = was.clone();
                        new["metadata"]["resourceVersion"] = is["metadata"]["resourceVersion"].clone();
                        new["metadata"]["uid"] = is["metadata"]["uid"].clone();
                        self.api.replace(kinds[place.0], &new).await?;
                    }
                    None => {
                        let mut new = was.clone();
                        let metadata = new["metadata"].as_object_mut().context("an object without metadata")?;
                        for own in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"] {
                            metadata.remove(own);
                        }
                        self.api.create_missing(kinds[place.0], &new).await?;
                    }
                }
                mended += 1;
            }
            if foreign.is_empty() && mended == 0 {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                let left: Vec<String> =
                    foreign.iter().map(|((k, ns, name), _)| format!("{} {ns}/{name}", kinds[*k].kind)).collect();
                bail!("the hub does not come to be as it was: {}", left.join(", "));
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Until two looks see the same: the server's own controllers add to what was just made.
    async fn settle(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        let mut before = BTreeMap::new();
        while begun.elapsed() < PATIENCE {
            let now: BTreeMap<Place, Value> = self.all().await?.into_iter().map(|(p, o)| (p, content(&o))).collect();
            if now == before {
                return Ok(());
            }
            before = now;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        bail!("the hub does not come to rest")
    }

    async fn all(&self) -> anyhow::Result<BTreeMap<Place, Value>> {
        let mut all = BTreeMap::new();
        for (index, kind) in kinds().into_iter().enumerate() {
            for object in self.list(kind).await? {
                all.insert((index, object.namespace().to_owned(), object.name().to_owned()), object);
            }
        }
        // what is in a namespace goes with it
        let spaces: Vec<String> =
            all.iter().filter(|((k, ..), _)| kinds()[*k] == NAMESPACE).map(|(_, o)| o.name().to_owned()).collect();
        let known = |space: &String| self.kept.is_empty() || self.is_kept(space);
        let going: Vec<String> = spaces.into_iter().filter(|space| !known(space)).collect();
        all.retain(|(_, space, _), _| !going.contains(space));
        Ok(all)
    }

    fn is_kept(&self, space: &str) -> bool {
        self.kept.iter().any(|((k, ..), o)| kinds()[*k] == NAMESPACE && o.name() == space)
    }

    async fn list(&self, kind: Kind) -> anyhow::Result<Vec<Value>> {
        let mut all = Vec::new();
        let mut next = None;
        loop {
            let page = match self.api.page(kind, next).await {
                Ok(page) => page,
                Err(e) if is_not_found(&e) => return Ok(all),
                Err(e) => return Err(e.into()),
            };
            all.extend(page.items.into_iter().map(|mut object| {
                object["apiVersion"] = kind.api_version().into();
                object["kind"] = kind.kind.into();
                object
            }));
            next = page.metadata.next.filter(|n| !n.is_empty());
            if next.is_none() {
                return Ok(all);
            }
        }
    }
}

fn kind_of(group: &str, resource: &str) -> anyhow::Result<Kind> {
    let found = kinds().into_iter().find(|k| (k.group, k.plural) == (group, resource));
    found.ok_or_else(|| anyhow!("the actors know no {resource}.{group}"))
}

/// What somebody wrote, without what the server and its controllers say of it.
fn content(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(all) = object.as_object_mut() {
        all.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for own in ["resourceVersion", "managedFields", "generation", "uid", "creationTimestamp"] {
            metadata.remove(own);
        }
    }
    object
}
