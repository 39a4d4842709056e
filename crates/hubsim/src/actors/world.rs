//! What every actor has to hand: the mirror of the hub, the calls, the clock, and the pace.
use super::{
    Options,
    address::Addresses,
    api::{Api, Result},
    chance::Chance,
    failure::Failures,
    json::{Look, stamp},
    kind::{EVENT, Kind},
    mirror::{Key, Shelf},
};
use crate::{Clock, hooks::Lookup};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use time::OffsetDateTime;
use tokio::time::Instant;

pub(crate) struct World {
    pub api: Api,
    pub clock: Clock,
    pub chance: Chance,
    pub failures: Failures,
    pub addresses: Arc<Addresses>,
    pub delay: Duration,
    pub events: bool,
    pub shelves: HashMap<Kind, Shelf>,
    pub pace: Mutex<HashMap<(Kind, Key), (String, Instant)>>,
}

impl World {
    pub(crate) fn new(api: Api, options: &Options, addresses: Arc<Addresses>, shelves: HashMap<Kind, Shelf>) -> World {
        World {
            api,
            clock: options.clock.clone(),
            chance: Chance::new(options.seed),
            failures: options.failures.clone(),
            addresses,
            delay: options.delay,
            events: options.events,
            shelves,
            pace: Mutex::default(),
        }
    }

    pub(crate) fn now(&self) -> OffsetDateTime {
        self.clock.now()
    }

    pub(crate) fn find(&self, kind: Kind, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let namespace = if kind.namespaced { namespace } else { "" };
        self.shelves.get(&kind)?.get(&Key::new(namespace, name))
    }

    pub(crate) fn all(&self, kind: Kind) -> Vec<Arc<Value>> {
        self.shelves.get(&kind).map(Shelf::all).unwrap_or_default()
    }

    pub(crate) fn learn(&self, kind: Kind, object: Value) {
        if let Some(shelf) = self.shelves.get(&kind) {
            shelf.learn(object);
        }
    }

    /// How long a step still takes: none when it is time for it. A restart begins the step anew, no more.
    pub(crate) fn wait_for(&self, kind: Kind, object: &Value, stage: &str, steps: u32) -> Option<Duration> {
        let length = self.delay.checked_mul(steps)?;
        if length.is_zero() { None } else { self.wait(kind, object, stage, length) }
    }

    /// The same for a time that does not depend on the pace of the hub.
    pub(crate) fn wait(&self, kind: Kind, object: &Value, stage: &str, length: Duration) -> Option<Duration> {
        let now = Instant::now();
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = pace.entry((kind, Key::of(object))).or_insert_with(|| (String::new(), now));
        let stage = format!("{} {stage}", object.uid());
        if entry.0 != stage {
            *entry = (stage, now);
        }
        (entry.1 + length).checked_duration_since(now).filter(|d| !d.is_zero())
    }

    pub(crate) fn forget_pace(&self, kind: Kind, key: &Key) {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner).remove(&(kind, key.clone()));
    }

    /// Writes a new status if it differs from the one the object has.
    pub(crate) async fn write_status(&self, kind: Kind, object: &Value, status: Value) -> Result<bool> {
        if object.get("status") == Some(&status) || (status == json!({}) && object.get("status").is_none()) {
            return Ok(false);
        }
        let mut new = object.clone();
        new["status"] = status;
        let written = self.api.replace_status(kind, &new).await?;
        self.learn(kind, written);
        Ok(true)
    }

    pub(crate) async fn write(&self, kind: Kind, object: &Value) -> Result<Value> {
        let written = self.api.replace(kind, object).await?;
        self.learn(kind, written.clone());
        Ok(written)
    }

    pub(crate) async fn create(&self, kind: Kind, object: &Value) -> Result<Value> {
        let made = self.api.create(kind, object).await?;
        self.learn(kind, made.clone());
        Ok(made)
    }

    /// Records an event about an object. `occasion` tells apart what happens several times. An event that cannot be
    /// written is lost, as on a real cluster.
    pub(crate) async fn event(&self, about: &Value, kind: &str, reason: &str, message: &str, occasion: &str) {
        if !self.events || about.namespace().is_empty() {
            return;
        }
        let now = stamp(self.now());
        let mark = self.chance.number(&[about.uid(), reason, message, occasion]);
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": format!("{}.{mark:016x}", about.name()), "namespace": about.namespace()},
            "involvedObject": {
                "apiVersion": about["apiVersion"], "kind": about["kind"], "namespace": about.namespace(),
                "name": about.name(), "uid": about.uid(), "resourceVersion": about["metadata"]["resourceVersion"],
            },
            "type": kind,
            "reason": reason,
            "message": message,
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": super::COMPONENT},
        });
        if let Err(e) = self.api.create_missing(EVENT, &event).await {
            tracing::debug!(error = %e, reason, "an event could not be written");
        }
    }
}

impl Lookup for World {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let kind = self.shelves.keys().find(|k| (k.group, k.plural) == (group, resource))?;
        self.find(*kind, namespace, name)
    }

    fn list(&self, group: &str, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let kind = self.shelves.keys().find(|k| (k.group, k.plural) == (group, resource));
        let all = kind.map(|k| self.all(*k)).unwrap_or_default();
        all.into_iter().filter(|o| namespace.is_none_or(|n| o.namespace() == n)).collect()
    }
}
