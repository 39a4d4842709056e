//! Things that go wrong on a hub, switched on for one object by annotation or for all at run time.
use super::json::Look;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError, RwLock},
};
use tokio::sync::watch;

/// On a VirtualMachine or a DataVolume: names of failures, with commas between.
pub const FAIL_ANNOTATION: &str = "simulator.ssvirt.io/fail";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// No node has room.
    Unschedulable,
    /// The image of a container disk cannot be pulled.
    ImagePullError,
    /// An import stops at 37 %.
    DataVolumeStuck,
    /// The importer fails again and again.
    DataVolumeError,
    /// Every start fails before the guest runs.
    CrashLoop,
    /// The guest has no agent, so it tells nothing about itself.
    NoGuestAgent,
    /// The guest ignores a shutdown until its grace period is over.
    SlowShutdown,
    /// Nobody hears from the node the guest runs on.
    NodeLost,
}

impl Failure {
    pub const ALL: [Failure; 8] = [
        Failure::Unschedulable,
        Failure::ImagePullError,
        Failure::DataVolumeStuck,
        Failure::DataVolumeError,
        Failure::CrashLoop,
        Failure::NoGuestAgent,
        Failure::SlowShutdown,
        Failure::NodeLost,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Failure::Unschedulable => "unschedulable",
            Failure::ImagePullError => "image-pull-error",
            Failure::DataVolumeStuck => "data-volume-stuck",
            Failure::DataVolumeError => "data-volume-error",
            Failure::CrashLoop => "crash-loop",
            Failure::NoGuestAgent => "no-guest-agent",
            Failure::SlowShutdown => "slow-shutdown",
            Failure::NodeLost => "node-lost",
        }
    }

    /// What it does, for people.
    pub fn about(self) -> &'static str {
        match self {
            Failure::Unschedulable => "No node has room for a VM that starts",
            Failure::ImagePullError => "Images of container disks can't be pulled",
            Failure::DataVolumeStuck => "Imports of disks stop at 37 %",
            Failure::DataVolumeError => "Imports of disks fail again and again",
            Failure::CrashLoop => "VMs fail before their guests run",
            Failure::NoGuestAgent => "Guests have no agent",
            Failure::SlowShutdown => "Guests ignore a shutdown until their time is up",
            Failure::NodeLost => "Nobody hears from the nodes",
        }
    }

    pub fn parse(name: &str) -> Option<Failure> {
        Failure::ALL.into_iter().find(|f| f.name() == name)
    }

    pub(crate) fn marked_on(self, object: &Value) -> bool {
        object.annotation(FAIL_ANNOTATION).is_some_and(|list| list.split(',').any(|n| n.trim() == self.name()))
    }
}

/// The failures that hit everything. Clones share one set.
#[derive(Clone, Default)]
pub struct Failures {
    on: Arc<RwLock<BTreeSet<Failure>>>,
    changed: Arc<watch::Sender<()>>,
}

impl Failures {
    pub fn set(&self, failure: Failure, on: bool) {
        {
            let mut set = self.on.write().unwrap_or_else(PoisonError::into_inner);
            if on {
                set.insert(failure)
            } else {
                set.remove(&failure)
            };
        }
        self.changed.send_replace(());
    }

    pub fn list(&self) -> Vec<Failure> {
        self.on.read().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    /// Whether a failure is on for everything, or for one of these objects.
    pub(crate) fn hits(&self, failure: Failure, objects: &[Option<&Value>]) -> bool {
        self.on.read().unwrap_or_else(PoisonError::into_inner).contains(&failure)
            || objects.iter().flatten().any(|o| failure.marked_on(o))
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_failure_hits_what_is_marked_or_everything() {
        let failures = Failures::default();
        let vm = json!({"metadata": {"annotations": {FAIL_ANNOTATION: "crash-loop, unschedulable"}}});
        assert!(failures.hits(Failure::Unschedulable, &[None, Some(&vm)]));
        assert!(!failures.hits(Failure::ImagePullError, &[Some(&vm)]));
        failures.set(Failure::ImagePullError, true);
        assert!(failures.hits(Failure::ImagePullError, &[]));
        failures.set(Failure::ImagePullError, false);
        assert!(failures.list().is_empty());
        assert!(Failure::ALL.into_iter().all(|f| Failure::parse(f.name()) == Some(f)));
    }
}
