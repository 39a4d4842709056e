//! Durable work: a queue on PostgreSQL, reconcilers that bring hubs to what people asked for, and watchers that write
//! down what hubs report. Any number of replicas may run it.
mod by_hand;
mod differences;
pub mod drill;
mod follow;
mod follow_disks;
mod hubs;
mod instances;
mod keeper;
mod leases;
mod own_namespace;
mod queue;
mod reconcile;
mod report;
mod same_cluster;
mod settle;
mod templates;
mod times;

pub use hubs::Hubs;
pub use times::Times;

use hub::{Clock, address::Gate};
use std::sync::Arc;
use store::{Store, Vault};
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
};
use uuid::Uuid;

/// What the reconcilers work with.
#[derive(Clone)]
pub struct Config {
    pub store: Store,
    pub vault: Vault,
    pub gate: Gate,
    pub clock: Clock,
    /// Where on hubs OpenShift's templates are.
    pub template_namespaces: Vec<String>,
    /// Where images are that everybody may start from; those of other namespaces belong to whoever put them there.
    pub image_namespaces: Vec<String>,
    pub times: Times,
}

/// How much of what takes as long as an image is large is done at once: a quarter of what a hub is given.
const LONG_AT_ONCE: usize = store::AT_ONCE_PER_HUB as usize / 4;

/// What everything in here shares.
pub(crate) struct Shared {
    pub store: Store,
    pub vault: Vault,
    pub hubs: Hubs,
    pub area: Option<transfer::Area>,
    pub clock: Clock,
    pub template_namespaces: Vec<String>,
    pub image_namespaces: Vec<String>,
    pub times: Times,
    /// Who holds leases: this process, and no earlier one.
    pub owner: String,
    /// Whoever reads through a whole image or sends it to a hub holds one, so that short work has places left.
    pub long: Semaphore,
}

/// The running reconcilers and watchers of this process.
pub struct Controller {
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Controller {
    /// Without a transfer area: uploads wait for one who has it.
    pub fn start(config: Config) -> Controller {
        Controller::start_with(config, None)
    }

    /// `area`: where uploads are.
    pub fn start_with(config: Config, area: Option<transfer::Area>) -> Controller {
        let calls = config.times.calls.clone();
        let hubs = Hubs::new(config.store.clone(), config.vault.clone(), config.gate, config.clock.clone(), calls);
        let shared = Arc::new(Shared {
            store: config.store,
            vault: config.vault,
            hubs,
            area,
            clock: config.clock,
            template_namespaces: config.template_namespaces,
            image_namespaces: config.image_namespaces,
            times: config.times,
            owner: Uuid::now_v7().to_string(),
            long: Semaphore::new(LONG_AT_ONCE),
        });
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(queue::run(shared.clone(), stopped.clone()));
        tasks.spawn(keeper::run(shared.clone(), stopped.clone()));
        tasks.spawn(keeper::rounds(shared.clone(), stopped));
        Controller { shared, stop, tasks }
    }

    /// Work under way ends, leases are given back, and another replica can go on at once.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        while self.tasks.join_next().await.is_some() {}
        for given_back in [
            self.shared.store.release_leases(&self.shared.owner).await,
            self.shared.store.hub_leases_release(&self.shared.owner).await,
        ] {
            if let Err(e) = given_back {
                tracing::debug!(error = %e, "leases could not be given back; they end by themselves");
            }
        }
    }
}
