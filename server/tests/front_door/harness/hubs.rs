//! Hubs and the controller that works on them. They are simulated; with `SSVIRT_KUBE` the first of a test is a real API server.
use super::{app::TestApp, hub::TestHub, real};
use ::hub::apply::{Owner, VmAction};
use domain::hub::{self, Trust};
use hubsim::Flavour;
use model::hub::{HubSpec, HubType};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Mutex, time::Duration};
use work::{Config, Controller};

pub(crate) struct Hubs {
    // first: nothing works on a hub that is given back
    controller: Mutex<Option<Controller>>,
    hubs: BTreeMap<String, TestHub>,
    has_real: bool,
}

impl Hubs {
    /// Registered, with what a fresh cluster has, as quick as possible, and with a controller on all of them.
    pub(crate) async fn start(app: &TestApp, names: &[&str]) -> Hubs {
        let mut all = Hubs { controller: Mutex::default(), hubs: BTreeMap::new(), has_real: false };
        for name in names {
            all.add(app, name, Flavour::default()).await;
        }
        all.start_controller(app);
        all
    }

    /// One more, with what its flavour has. SSVirt gets an account with the rights that every hub's owner is asked for.
    pub(crate) async fn add(&mut self, app: &TestApp, name: &str, flavour: Flavour) {
        let hub = if real::wanted() && !self.has_real && flavour == Flavour::default() {
            self.has_real = true;
            TestHub::Real(real::take().await)
        } else {
            TestHub::simulated(name, flavour).await
        };
        let spec =
            HubSpec { id: name.into(), hub_type: HubType::Vmaas, namespace: "ssvirt-own".into(), ..HubSpec::default() };
        let operator = app.operator().await;
        hub::register(&app.domain, &operator, spec, &hub.account(), Trust::Operator).await.unwrap();
        self.hubs.insert(name.to_owned(), hub);
    }

    pub(crate) fn start_controller(&self, app: &TestApp) {
        self.start_controller_for(app, &["openshift"]);
    }

    /// Another controller in the place of the first one, which looks at VDCs on hubs, at open tasks and at hubs every so often.
    pub(crate) fn look_every(&self, app: &TestApp, often: Duration) {
        self.kill_controller();
        let times = work::Times { drift: often, sweep: often, check: often, ..work::Times::default() };
        self.start_with(app, &["openshift"], times);
    }

    /// With templates from these namespaces.
    pub(crate) fn start_controller_for(&self, app: &TestApp, namespaces: &[&str]) {
        self.start_with(app, namespaces, work::Times::default());
    }

    fn start_with(&self, app: &TestApp, namespaces: &[&str], times: work::Times) {
        let d = &app.domain;
        let config = Config {
            store: d.store.clone(),
            vault: d.vault.clone().unwrap(),
            gate: d.gate.clone(),
            // tasks and delays go by the wall here
            clock: domain::system_clock(),
            template_namespaces: namespaces.iter().map(|n| (*n).to_owned()).collect(),
            image_namespaces: vec!["openshift-virtualization-os-images".into()],
            times,
        };
        *self.controller.lock().unwrap() = Some(Controller::start_with(config, d.area.clone()));
    }

    /// As a kill would end it: nothing is given back.
    pub(crate) fn kill_controller(&self) {
        drop(self.controller.lock().unwrap().take());
    }

    /// It runs on, and is nobody's here any more.
    pub(crate) fn take(&mut self, name: &str) -> TestHub {
        self.hubs.remove(name).unwrap()
    }

    pub(crate) fn hub(&self, name: &str) -> &TestHub {
        &self.hubs[name]
    }

    /// How many objects of a kind there are.
    pub(crate) fn count(&self, hub: &str, (group, resource): (&str, &str)) -> usize {
        self.hub(hub).made(group, resource)
    }

    /// Makes an object there that is none of ours: `label` tells whose it is.
    pub(crate) async fn plant(&self, hub: &str, resource: &::hub::Resource, object: &Value, label: &'static str) {
        let whose = object["metadata"]["labels"][label].as_str().unwrap();
        self.client(hub).create_or_adopt(resource, object, &Owner::new(label, whose), None).await.unwrap();
    }

    /// As `virtctl pause` does it.
    pub(crate) async fn pause(&self, hub: &str, namespace: &str, name: &str) {
        self.client(hub).vm_action(&::hub::Key::new(namespace, name), VmAction::Pause).await.unwrap();
    }

    /// As `virtctl unpause` does it.
    pub(crate) async fn unpause(&self, hub: &str, namespace: &str, name: &str) {
        self.client(hub).vm_action(&::hub::Key::new(namespace, name), VmAction::Unpause).await.unwrap();
    }

    fn client(&self, hub: &str) -> ::hub::Client {
        let credential = ::hub::kubeconfig::parse(&self.hub(hub).kubeconfig()).unwrap();
        let (gate, options) = (domain::Gate::open(), ::hub::client::Options::default());
        ::hub::Client::new(&credential, &gate, domain::system_clock(), options).unwrap()
    }
}
