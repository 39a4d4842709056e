//! Where a worker can be made to die or to freeze, for the tests of faults: before and after every call to a hub and every
//! write-back. `SSVIRT_DRILL=die:vm.make.after` kills the process there as `kill -9` would, `stop:…` freezes it as SIGSTOP
//! would, `quick` takes the short times of tests. Builds for release have nothing of it.
use crate::Times;

macro_rules! steps {
    ($($step:ident $name:literal,)*) => {
        /// Everything a worker does that others can see.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Step { $($step,)* }

        impl Step {
            pub const ALL: &[Step] = &[$(Step::$step,)*];

            pub fn name(self) -> &'static str {
                match self { $(Step::$step => $name,)* }
            }
        }
    };
}

steps! {
    // the queue
    Work "queue.work",
    Extend "queue.extend",
    WorkDone "queue.done",
    WorkLater "queue.later",
    // a VDC on its hubs
    PlaceWant "vdc.want",
    NamespaceMake "vdc.namespace.make",
    NamespacePatch "vdc.namespace.patch",
    PlaceMade "vdc.made",
    FenceLook "vdc.look",
    PlaceDrift "vdc.drift",
    QuotaMake "vdc.quota.make",
    QuotaPatch "vdc.quota.patch",
    PolicyMake "vdc.policy.make",
    PolicyPatch "vdc.policy.patch",
    VdcNames "vdc.names",
    OwnNetworkMake "vdc.network.make",
    OwnNetworkLook "vdc.network.look",
    PlaceApplied "vdc.applied",
    PlaceClear "vdc.clear",
    NamespaceBare "vdc.namespace.bare",
    NamespaceFind "vdc.namespace.find",
    NamespaceEmpty "vdc.namespace.empty",
    NamespaceDelete "vdc.namespace.delete",
    NamespaceGone "vdc.namespace.gone",
    PlaceGone "vdc.gone",
    // a vApp
    VappPlace "vapp.place",
    VappSpread "vapp.spread",
    TemplateGet "vapp.template.get",
    VappAttempted "vapp.attempted",
    ParametersMake "vapp.parameters.make",
    InstanceMake "vapp.instance.make",
    ParametersTie "vapp.parameters.tie",
    InstanceMade "vapp.instance.made",
    InstanceStand "vapp.instance.stand",
    InstanceFind "vapp.instance.find",
    InstanceDelete "vapp.instance.delete",
    ParametersDelete "vapp.parameters.delete",
    VappMoveEnd "vapp.move.end",
    VmMoveEnd "vm.move.end",
    VappGone "vapp.gone",
    // a network
    NetworkWant "network.want",
    NetworkMake "network.make",
    NetworkMade "network.made",
    NetworkLook "network.look",
    NetworkUsable "network.usable",
    NetworkFind "network.find",
    NetworkDelete "network.delete",
    NetworkGoneThere "network.gone-there",
    NetworkLeft "network.left",
    NetworkGone "network.gone",
    // a sizing policy
    SizingWant "sizing.want",
    SizingMake "sizing.make",
    SizingMade "sizing.made",
    SizingFind "sizing.find",
    SizingDelete "sizing.delete",
    SizingLeft "sizing.left",
    SizingGone "sizing.gone",
    // a VM
    VmAttempted "vm.attempted",
    GuestMake "vm.guest.make",
    VmMake "vm.make",
    GuestTie "vm.guest.tie",
    VmFind "vm.find",
    VmMade "vm.made",
    VmGet "vm.get",
    VmHolds "vm.holds",
    VmChange "vm.change",
    GuestTell "vm.guest.tell",
    GuestDiscs "vm.guest.discs",
    NicsRelease "vm.nics.release",
    VmPower "vm.power",
    VmStop "vm.stop",
    VmPause "vm.pause",
    VmUnpause "vm.unpause",
    VmReboot "vm.reboot",
    VmReset "vm.reset",
    VmDiskMake "vm.disk.make",
    VmDiskPatch "vm.disk.patch",
    VmDiskPlug "vm.disk.plug",
    VmDiskUnplug "vm.disk.unplug",
    VmDiskGrow "vm.disk.grow",
    VmDiskGrown "vm.disk.grown",
    VmDiskDelete "vm.disk.delete",
    VmDiskGone "vm.disk.gone",
    DiskLeft "vm.disk.left",
    SnapshotMake "vm.snapshot.make",
    SnapshotMade "vm.snapshot.made",
    SnapshotOver "vm.snapshot.over",
    SnapshotDelete "vm.snapshot.delete",
    SnapshotGone "vm.snapshot.gone",
    RevertMake "vm.revert.make",
    RevertEnded "vm.revert.ended",
    RevertDelete "vm.revert.delete",
    RevertClear "vm.revert.clear",
    RevertOver "vm.revert.over",
    VmNames "vm.names",
    VmNamed "vm.named",
    VmApplied "vm.applied",
    VmProblem "vm.problem",
    VmDelete "vm.delete",
    VmGoneThere "vm.gone-there",
    GuestDelete "vm.guest.delete",
    VmGone "vm.gone",
    VmCollect "vm.collect",
    VmLabels "vm.labels",
    // what is inside of it
    GuestAsk "guest.ask",
    GuestTold "guest.told",
    // an image on a hub
    ImageMake "image.make",
    ImageMade "image.made",
    ImageLook "image.look",
    ImageSend "image.send",
    ImageReady "image.ready",
    ImageDelete "image.delete",
    ImageGone "image.gone",
    // an independent disk
    DiskPlace "disk.place",
    DiskAttempted "disk.attempted",
    DiskMake "disk.make",
    DiskMade "disk.made",
    DiskNames "disk.names",
    DiskGrow "disk.grow",
    DiskApplied "disk.applied",
    DiskDelete "disk.delete",
    DiskGone "disk.gone",
    DiskObserve "seen.disk",
    // what hubs report
    HubLease "hub.lease",
    HubReport "hub.report",
    HubAnswers "hub.answers",
    HubSilent "hub.silent",
    Templates "hub.templates",
    Observe "seen.observe",
    Outside "seen.outside",
    Missing "seen.missing",
    Stranger "seen.stranger",
    TaskStands "task.stands",
    // what ends by itself
    LeaseEnd "lease.end",
}

/// Does it, and dies or freezes before or after it if this process is to.
pub(crate) async fn at<T>(step: Step, doing: impl Future<Output = T>) -> T {
    reached(step, "before");
    let done = doing.await;
    reached(step, "after");
    done
}

#[cfg(not(debug_assertions))]
fn reached(_: Step, _: &str) {}

/// The times that this process is to take: the usual ones, if it is not part of a drill.
#[cfg(not(debug_assertions))]
pub fn times() -> Times {
    Times::default()
}

#[cfg(debug_assertions)]
use on::reached;
#[cfg(debug_assertions)]
pub use on::times;

#[cfg(debug_assertions)]
mod on {
    use super::{Step, Times};
    use rustix::process::{Signal, getpid, kill_process};
    use std::sync::LazyLock;

    #[expect(clippy::disallowed_methods, reason = "no setting: builds for release do not read it")]
    static ORDERS: LazyLock<Vec<String>> = LazyLock::new(|| {
        std::env::var("SSVIRT_DRILL").map(|o| o.split(',').map(str::to_owned).collect()).unwrap_or_default()
    });

    pub fn times() -> Times {
        if ORDERS.iter().any(|o| o == "quick") { Times::quick() } else { Times::default() }
    }

    pub(super) fn reached(step: Step, moment: &str) {
        for order in ORDERS.iter() {
            let Some((what, place)) = order.split_once(':') else { continue };
            if place.strip_prefix(step.name()).and_then(|rest| rest.strip_prefix('.')) != Some(moment) {
                continue;
            }
            let signal = if what == "die" { Signal::KILL } else { Signal::STOP };
            // others still run for a moment; the one that is to die does nothing more
            let _ = kill_process(getpid(), signal);
            if what == "die" {
                loop {
                    std::thread::park();
                }
            }
        }
    }
}
