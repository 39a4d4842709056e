//! Simulated hubs and the controller that works on them.
use super::app::TestApp;
use domain::hub::{self, Trust};
use hubsim::{Hub, Options, actors};
use model::hub::{HubSpec, HubType};
use std::{collections::BTreeMap, sync::Mutex, time::Duration};
use work::{Config, Controller};

pub(crate) struct Hubs {
    hubs: BTreeMap<String, (Hub, actors::Actors)>,
    controller: Mutex<Option<Controller>>,
}

impl Hubs {
    /// Registered, with what a fresh cluster has, as quick as possible, and with a controller on all of them.
    pub(crate) async fn start(app: &TestApp, names: &[&str]) -> Hubs {
        let operator = app.operator().await;
        let mut hubs = BTreeMap::new();
        for name in names {
            let sim = Hub::start(Options { name: (*name).into(), ..Options::default() }).await.unwrap();
            actors::furnish(sim.inside(), sim.flavour()).await.unwrap();
            let quick = actors::Options { delay: Duration::ZERO, ..actors::Options::default() };
            let actors = actors::attach(&sim, &quick);
            let spec = HubSpec {
                id: (*name).into(),
                hub_type: HubType::Vmaas,
                namespace: "vmaas-system".into(),
                ..HubSpec::default()
            };
            hub::register(&app.domain, &operator, spec, &sim.kubeconfig(), Trust::Operator).await.unwrap();
            hubs.insert((*name).to_owned(), (sim, actors));
        }
        let all = Hubs { hubs, controller: Mutex::default() };
        all.start_controller(app);
        all
    }

    pub(crate) fn start_controller(&self, app: &TestApp) {
        let d = &app.domain;
        let config = Config {
            store: d.store.clone(),
            vault: d.vault.clone().unwrap(),
            gate: d.gate.clone(),
            // tasks and delays go by the wall here
            clock: domain::system_clock(),
        };
        *self.controller.lock().unwrap() = Some(Controller::start(config));
    }

    /// As a kill would end it: nothing is given back.
    pub(crate) fn kill_controller(&self) {
        drop(self.controller.lock().unwrap().take());
    }

    pub(crate) fn hub(&self, name: &str) -> &Hub {
        &self.hubs[name].0
    }

    /// How many objects of a kind there are.
    pub(crate) fn count(&self, hub: &str, (group, resource): (&str, &str)) -> usize {
        self.hub(hub).objects(group, resource).len()
    }
}
