//! The demonstration's hubs: three simulated clusters in this process, which keep what is on them from start to start.

use anyhow::Context;
use domain::{
    Domain, bootstrap, hub,
    simulator::{Deed, Fault, FaultOf, Simulator},
};
use hubsim::{
    ByHand, Faults, Flavour, Hub, Options,
    actors::{self, Failure},
};
use model::{
    HubId, Result,
    hub::{HubSpec, HubType},
};
use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::Arc,
    time::Duration,
};

struct Plan {
    id: &'static str,
    hub_type: HubType,
    namespace: &'static str,
    region: &'static str,
    description: &'static str,
}

const PLANS: [Plan; 3] = [
    Plan {
        id: "vmaas-primary",
        hub_type: HubType::Vmaas,
        namespace: "vmaas-system",
        region: "eu-central",
        description: "Simulated: runs VMs.",
    },
    Plan {
        id: "cluster-hub-1",
        hub_type: HubType::Cluster,
        namespace: "cloudkit-operator-system",
        region: "eu-central",
        description: "Simulated: runs OpenShift clusters.",
    },
    Plan {
        id: "hybrid-hub-1",
        hub_type: HubType::Hybrid,
        namespace: "cloudkit-system",
        region: "eu-north",
        description: "Simulated: runs VMs and OpenShift clusters.",
    },
];

/// Running simulated hubs.
pub struct Simulated(Vec<(&'static Plan, Hub, actors::Actors)>);

/// Starts them, each with what a fresh cluster has. kubectl can look into them by the kubeconfigs beside their data.
pub async fn start(dir: &Path, delay: Duration) -> anyhow::Result<Simulated> {
    let mut all = Vec::new();
    for plan in &PLANS {
        let folder = dir.join(plan.id);
        let address = remembered(&folder);
        let options = |address| Options {
            name: plan.id.to_owned(),
            address,
            data_dir: Some(folder.clone()),
            flavour: Flavour::default(),
            ..Options::default()
        };
        // the same port as last time, if nobody has taken it meanwhile
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let hub = match Hub::start(options(address.unwrap_or(any))).await {
            Err(_) if address.is_some() => Hub::start(options(any)).await,
            started => started,
        };
        let hub = hub.with_context(|| format!("the simulated hub {} could not be started", plan.id))?;
        actors::furnish(hub.inside(), hub.flavour())
            .await
            .with_context(|| format!("the hub {} stays empty", plan.id))?;
        let actors = actors::attach(&hub, &actors::Options { delay, ..actors::Options::default() });
        let file = dir.join(format!("{}.kubeconfig", plan.id));
        crate::tls::write_private(&file, &hub.kubeconfig())?;
        std::fs::write(folder.join("address"), hub.address().to_string())?;
        all.push((plan, hub, actors));
    }
    Ok(Simulated(all))
}

fn remembered(folder: &Path) -> Option<SocketAddr> {
    std::fs::read_to_string(folder.join("address")).ok()?.trim().parse().ok()
}

impl Simulated {
    /// As an operator would by command: again at every start, since an address may have changed.
    pub async fn register(&self, domain: &Domain) -> Result<()> {
        let actor = bootstrap::operator(domain).await?;
        for (plan, hub, _) in &self.0 {
            let spec = HubSpec {
                id: plan.id.into(),
                description: plan.description.into(),
                hub_type: plan.hub_type,
                capabilities: Vec::new(),
                namespace: plan.namespace.into(),
                region: plan.region.into(),
                ..HubSpec::default()
            };
            // they are its own, whatever became of those that it had before
            hub::register_or_update(domain, &actor, spec, &hub.kubeconfig(), true).await?;
        }
        Ok(())
    }

    /// The switches of their faults, for the portal.
    pub fn switches(&self) -> Arc<dyn Simulator> {
        let all = self.0.iter().map(|(plan, hub, actors)| (plan.id.to_owned(), Switch::of(hub, actors)));
        Arc::new(Switches(all.collect()))
    }

    pub fn find(&self, id: &str) -> Option<&Hub> {
        self.0.iter().find(|(plan, ..)| plan.id == id).map(|(_, hub, _)| hub)
    }

    pub async fn stop(self) {
        for (_, hub, actors) in self.0 {
            actors.stop().await;
            hub.stop().await;
        }
    }
}

/// All that can be made to go wrong on one hub.
pub struct Switch {
    faults: Faults,
    failures: actors::Failures,
    hands: ByHand,
}

impl Switch {
    pub fn of(hub: &Hub, actors: &actors::Actors) -> Switch {
        Switch { faults: hub.faults(), failures: actors.failures().clone(), hands: hub.by_hand() }
    }
}

/// The same for several hubs, by their ids.
pub struct Switches(pub Vec<(String, Switch)>);

impl Switches {
    fn of(&self, hub: &HubId) -> Option<&Switch> {
        self.0.iter().find(|(id, _)| *id == hub.0).map(|(_, switch)| switch)
    }
}

impl Simulator for Switches {
    fn faults(&self, hub: &HubId) -> Option<Vec<Fault>> {
        let switch = self.of(hub)?;
        let fault = |name: &str, about: &str, on, of| Fault { name: name.to_owned(), about: about.to_owned(), on, of };
        let answers = switch.faults.list().into_iter();
        let answers = answers.map(|(f, on)| fault(f.name(), f.about(), on, FaultOf::Answers));
        let failing = switch.failures.list();
        let machines = Failure::ALL.into_iter();
        let machines = machines.map(|f| fault(f.name(), f.about(), failing.contains(&f), FaultOf::Machines));
        Some(answers.chain(machines).collect())
    }

    fn set(&self, hub: &HubId, fault: &str, on: bool) {
        let Some(switch) = self.of(hub) else { return };
        if let Some(failure) = Failure::parse(fault) {
            switch.failures.set(failure, on);
        } else if let Ok(fault) = fault.parse() {
            switch.faults.set(fault, on);
            // nobody else would ever let go of what the fault held
            if fault == hubsim::Fault::StuckFinalizer
                && !on
                && let Err(e) = switch.hands.release_stuck()
            {
                tracing::warn!(hub = %hub, error = %e, "what was held stays held");
            }
        }
    }

    fn deeds(&self, hub: &HubId) -> Vec<Deed> {
        let all = hubsim::Deed::ALL.into_iter();
        let known = self.of(hub).is_some();
        all.filter(|_| known).map(|d| Deed { name: d.name().to_owned(), about: d.about().to_owned() }).collect()
    }

    fn machine(&self, hub: &HubId, meant: &str) -> Option<String> {
        self.of(hub)?.hands.machine(meant)
    }

    fn act(&self, hub: &HubId, deed: &str, machine: &str) -> bool {
        let known = self.of(hub).zip(hubsim::Deed::parse(deed));
        known.is_some_and(|(switch, deed)| switch.hands.act(deed, machine))
    }
}
