//! Hubs of tests: one that is long gone, and a player of simulated ones.
use domain::simulator::{Deed, Fault, FaultOf, Simulator};
use model::HubId;
use std::{collections::BTreeSet, sync::Mutex};
use tokio::sync::OnceCell;

/// The token of every test's kubeconfig. It is seen nowhere.
pub(crate) const CANARY: &str = "canary-4f1c9e7a2b";

/// A kubeconfig in good order, of a hub that does not answer any more.
pub(crate) async fn kubeconfig() -> &'static str {
    static TEXT: OnceCell<String> = OnceCell::const_new();
    TEXT.get_or_init(|| async {
        let options = hubsim::Options { token: Some(CANARY.into()), ..hubsim::Options::default() };
        let hub = hubsim::Hub::start(options).await.unwrap();
        let text = hub.kubeconfig();
        hub.stop().await;
        text
    })
    .await
}

/// Plays every hub whose id begins with `sim`.
#[derive(Default)]
pub(super) struct Played(Mutex<BTreeSet<(String, String)>>);

impl Simulator for Played {
    fn faults(&self, hub: &HubId) -> Option<Vec<Fault>> {
        let on = |name: &str| self.0.lock().unwrap().contains(&(hub.0.clone(), name.to_owned()));
        let of = FaultOf::Answers;
        let fault = |name: &str, about: &str| Fault { name: name.into(), about: about.into(), on: on(name), of };
        let all = vec![fault("refuse", "Connections are refused"), fault("slow", "Answers come late")];
        hub.0.starts_with("sim").then_some(all)
    }

    fn set(&self, hub: &HubId, fault: &str, on: bool) {
        let (mut all, key) = (self.0.lock().unwrap(), (hub.0.clone(), fault.to_owned()));
        if on {
            all.insert(key)
        } else {
            all.remove(&key)
        };
    }

    fn deeds(&self, _: &HubId) -> Vec<Deed> {
        vec![Deed { name: "edit-vm".into(), about: "Edit the VM".into() }]
    }

    fn machine(&self, _: &HubId, _: &str) -> Option<String> {
        Some("somewhere/one".into())
    }

    fn act(&self, _: &HubId, _: &str, _: &str) -> bool {
        true
    }
}
