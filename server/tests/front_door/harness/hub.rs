//! One hub of a test, and what a test asks of it whichever it is.
use super::real::{Lent, now};
use hubsim::{Faults, Flavour, Hub, Options, Webhook, actors};
use serde_json::Value;
use server::demo::hubs::Switch;
use std::{sync::Arc, time::Duration};

/// What a hub's owner is asked for.
const ROLE: &str = include_str!("../../../../deploy/hub-role.yaml");

pub(crate) enum TestHub {
    Simulated(Hub, actors::Actors),
    Real(Lent),
}

use TestHub::{Real, Simulated};

impl TestHub {
    /// With what a fresh cluster has, and as quick as possible.
    pub(super) async fn simulated(name: &str, flavour: Flavour) -> TestHub {
        let hub = Hub::start(Options { name: name.into(), flavour, ..Options::default() }).await.unwrap();
        actors::furnish(hub.inside(), hub.flavour()).await.unwrap();
        let actors = actors::attach(&hub, &quick());
        Simulated(hub, actors)
    }

    /// The kubeconfig that SSVirt gets.
    pub(crate) fn account(&self) -> String {
        match self {
            Simulated(hub, _) => hub.account(ROLE).unwrap(),
            Real(real) => real.account().to_owned(),
        }
    }

    /// That of an account which may do nothing.
    pub(crate) fn powerless(&self) -> String {
        let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {namespace: default, name: powerless}\n";
        self.only_simulated().account(account).unwrap()
    }

    /// The administrator's.
    pub(crate) fn kubeconfig(&self) -> String {
        match self {
            Simulated(hub, _) => hub.kubeconfig(),
            Real(real) => real.kubeconfig().to_owned(),
        }
    }

    pub(crate) fn object(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        match self {
            Simulated(hub, _) => hub.object(group, resource, namespace, name),
            Real(real) => now(real.object(group, resource, namespace, name)).unwrap(),
        }
    }

    pub(crate) fn objects(&self, group: &str, resource: &str) -> Vec<Arc<Value>> {
        match self {
            Simulated(hub, _) => hub.objects(group, resource),
            Real(real) => now(real.objects(group, resource)).unwrap(),
        }
    }

    /// How many objects of a kind there are beside those of a fresh hub.
    pub(super) fn made(&self, group: &str, resource: &str) -> usize {
        match self {
            Simulated(hub, _) => hub.objects(group, resource).len(),
            Real(real) => now(real.made(group, resource)).unwrap(),
        }
    }

    /// Changes an object behind SSVirt's back. False: there is no such object.
    pub(crate) fn edit(
        &self,
        group: &str,
        resource: &str,
        namespace: &str,
        name: &str,
        change: impl Fn(&mut Value) + Send + Sync,
    ) -> anyhow::Result<bool> {
        match self {
            Simulated(hub, _) => hub.edit(group, resource, namespace, name, change),
            Real(real) => now(real.edit(group, resource, namespace, name, change)),
        }
    }

    /// Deletes an object behind SSVirt's back. False: there is no such object.
    pub(crate) fn remove(&self, group: &str, resource: &str, namespace: &str, name: &str) -> anyhow::Result<bool> {
        match self {
            Simulated(hub, _) => hub.remove(group, resource, namespace, name),
            Real(real) => now(real.remove(group, resource, namespace, name)),
        }
    }

    /// Deletes an object as `kubectl delete` would, with all that belongs to it.
    pub(crate) async fn delete(&self, group: &str, resource: &str, namespace: &str, name: &str) {
        match self {
            Simulated(hub, _) => {
                let path = format!("/apis/{group}/v1/namespaces/{namespace}/{resource}/{name}");
                let request = http::Request::delete(path).body(Vec::new()).unwrap();
                hub.inside().request_text(request).await.unwrap();
            }
            Real(_) => assert!(self.remove(group, resource, namespace, name).unwrap()),
        }
    }

    pub(crate) fn faults(&self) -> Faults {
        self.only_simulated().faults()
    }

    /// All that can be made to go wrong on it, as the demo's page has it.
    pub(crate) fn switch(&self) -> Switch {
        match self {
            Simulated(hub, actors) => Switch::of(hub, actors),
            Real(_) => panic!("only a simulated hub can do this"),
        }
    }

    pub(crate) fn pause_controllers(&self, paused: bool) {
        match self {
            Simulated(hub, _) => hub.pause_controllers(paused),
            Real(real) => real.pause_controllers(paused).unwrap(),
        }
    }

    /// The guest of a running VM shuts itself down.
    pub(crate) async fn guest_off(&self, namespace: &str, name: &str) {
        let hub = self.only_simulated();
        actors::guest_power_off(hub.inside(), &hub.clock(), namespace, name).await.unwrap();
    }

    pub(crate) fn add_webhook(&self, webhook: Arc<dyn Webhook>) {
        self.only_simulated().add_webhook(webhook);
    }

    /// A test that comes here on a real hub belongs into `simulated-only.txt`.
    fn only_simulated(&self) -> &Hub {
        match self {
            Simulated(hub, _) => hub,
            Real(_) => panic!("only a simulated hub can do this"),
        }
    }
}

pub(super) fn quick() -> actors::Options {
    actors::Options { delay: Duration::ZERO, ..actors::Options::default() }
}
