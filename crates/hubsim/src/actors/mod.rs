//! Actors that play the controllers of a real hub: KubeVirt, CDI, OVN's networks and OpenShift's templates.
//!
//! They speak through a client only, so they run against any API server. Everything they know is on the server: they
//! can be stopped at any moment and go on from there. [`attach`] gives a [`Hub`](crate::Hub) all of it, [`run`] starts the
//! controllers alone, [`furnish`] makes what a fresh hub contains.
mod actor;
mod address;
mod api;
mod chance;
mod condition;
mod failure;
mod furnish;
mod instance;
mod json;
mod kind;
mod machine;
mod migration;
mod mirror;
mod network;
mod outside;
mod quantity;
mod queue;
mod real;
mod screen;
mod server;
mod snapshot;
mod storage;
mod template;
mod virt_api;
mod webhook;
mod world;

pub use chance::Chance;
pub use failure::{FAIL_ANNOTATION, Failure, Failures};
pub use furnish::furnish;
pub use kind::Kind;
pub use outside::join;
pub use real::Real;
pub use server::{attach, guest_power_off};
pub use template::{TemplateError, process as process_template};
pub use virt_api::{Answer, Refusal, VirtApi};
pub use webhook::{
    Admission, Objects, check_data_volume, check_data_volume_update, check_machine, check_machine_update, fill_machine,
};

use crate::Clock;
use actor::{Actor, listen, look_again_at_all, work};
use address::Addresses;
use api::Api;
use kind::{ATTACHMENT, DATA_SOURCE, INSTANCE, KUBEVIRT, NAMESPACE, NODE, SNAPSHOT_CONTENT, STORAGE_PROFILE};
use kube::Client;
use mirror::Shelf;
use queue::Queue;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::task::JoinSet;
use world::World;

/// How the actors name themselves in events.
const COMPONENT: &str = "hubsim";

#[derive(Clone)]
pub struct Options {
    pub clock: Clock,
    /// How long a step takes: a boot is four of them, an import ten. Zero is as quick as possible.
    pub delay: Duration,
    /// The same seed gives the same addresses, serial numbers and generated values.
    pub seed: u64,
    pub failures: Failures,
    /// Whether events are written.
    pub events: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            clock: Clock::default(),
            delay: Duration::from_millis(500),
            seed: 0,
            failures: Failures::default(),
            events: true,
        }
    }
}

/// Running actors. They stop when this is dropped.
pub struct Actors {
    tasks: JoinSet<()>,
    failures: Failures,
}

impl Actors {
    /// Failures that hit everything on the hub.
    pub fn failures(&self) -> &Failures {
        &self.failures
    }

    /// Stops all actors and waits until they are still.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

/// Starts the actors. They wait for the server and come back to it whenever it was away.
pub fn run(client: Client, options: &Options) -> Actors {
    start(client, options).0
}

fn start(client: Client, options: &Options) -> (Actors, Arc<World>) {
    let api = Api::new(client);
    let addresses = Arc::new(Addresses::default());
    let mut shelves: HashMap<Kind, Shelf> =
        [NODE, KUBEVIRT, DATA_SOURCE, STORAGE_PROFILE, SNAPSHOT_CONTENT, NAMESPACE, ATTACHMENT]
            .into_iter()
            .chain(machine::NEEDS)
            .map(|k| (k, Shelf::new(k)))
            .collect();
    let mut instances = Shelf::new(INSTANCE);
    let known = addresses.clone();
    instances.listen(Box::new(move |old, new| known.note(old, new)));
    shelves.insert(INSTANCE, instances);

    let mut troupe = Troupe::default();
    troupe.join::<machine::Machines>(&mut shelves);
    troupe.join::<instance::Instances>(&mut shelves);
    troupe.join::<storage::data_volume::DataVolumes>(&mut shelves);
    troupe.join::<storage::claim::Claims>(&mut shelves);
    troupe.join::<storage::data_source::DataSources>(&mut shelves);
    troupe.join::<storage::profile::Profiles>(&mut shelves);
    troupe.join::<snapshot::take::Snapshots>(&mut shelves);
    troupe.join::<snapshot::restore::Restores>(&mut shelves);
    troupe.join::<migration::Migrations>(&mut shelves);
    troupe.join::<network::Networks>(&mut shelves);
    troupe.join::<network::ClusterNetworks>(&mut shelves);
    troupe.join::<template::instance::TemplateInstances>(&mut shelves);

    let world = Arc::new(World::new(api, options, addresses, shelves));
    let mut tasks = JoinSet::new();
    for kind in world.shelves.keys() {
        let (world, kind) = (world.clone(), *kind);
        tasks.spawn(async move {
            if let Some(shelf) = world.shelves.get(&kind) {
                shelf.keep(&world.api).await;
            }
        });
    }
    for start in troupe.starts {
        start(&mut tasks, &world);
    }
    (Actors { tasks, failures: options.failures.clone() }, world)
}

type Start = Box<dyn FnOnce(&mut JoinSet<()>, &Arc<World>)>;

/// The actors, each with its queue, before there is a world for them.
#[derive(Default)]
struct Troupe {
    starts: Vec<Start>,
}

impl Troupe {
    fn join<A: Actor>(&mut self, shelves: &mut HashMap<Kind, Shelf>) {
        let queue: Arc<Queue> = listen::<A>(shelves);
        self.starts.push(Box::new(move |tasks, world| {
            tasks.spawn(work::<A>(world.clone(), queue.clone()));
            tasks.spawn(look_again_at_all::<A>(world.clone(), queue));
        }));
    }
}
