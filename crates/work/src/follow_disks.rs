//! What a hub says of disks: of independent ones by their own volumes, of a machine's by the machine.
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
    reconcile, settle,
};
use hub::{
    Key,
    read::{ObservedVm, VmState, VolumePart},
    resource::DATA_VOLUMES,
    watch::Event,
};
use model::{DiskId, HubId, Kind, Result, disk::DiskSeen, event::Change};
use std::collections::{HashMap, HashSet};
use store::{DiskReport, Happened};
use uuid::Uuid;

/// The volumes of independent disks, and what of them is still to be written.
#[derive(Default)]
pub(crate) struct Disks {
    known: HashMap<Key, VolumePart>,
    late: HashSet<Key>,
    gone: Vec<(Uuid, String)>,
    /// There was a full list, and it was not held against what should be there yet.
    compare: bool,
    listed: bool,
}

impl Disks {
    pub(crate) fn late(&self) -> bool {
        self.compare || !self.late.is_empty() || !self.gone.is_empty()
    }

    pub(crate) fn all_again(&mut self) {
        self.late.extend(self.known.keys().cloned());
        self.compare = self.listed;
    }

    fn put(&mut self, volume: &VolumePart) {
        if volume.meta.ids.disk.is_some() {
            let key = volume.meta.key.clone();
            self.known.insert(key.clone(), volume.clone());
            self.late.insert(key);
        }
    }

    fn lose(&mut self, key: &Key) {
        let lost = self.known.remove(key).and_then(|v| Some((v.meta.ids.disk?, v.meta.uid)));
        self.gone.extend(lost);
        self.late.remove(key);
    }
}

/// `epoch`: ours to write; None: another replica writes, and we only keep in step.
pub(crate) async fn heard(
    shared: &Shared,
    hub: &HubId,
    epoch: Option<i64>,
    disks: &mut Disks,
    event: &Event<VolumePart>,
) {
    match event {
        Event::Snapshot(all) => {
            disks.known.clear();
            disks.late.clear();
            all.iter().for_each(|v| disks.put(v));
            (disks.compare, disks.listed) = (true, true);
        }
        Event::Changed(one) => disks.put(one),
        Event::Gone { key, .. } => disks.lose(key),
        Event::Alive(_) | Event::Trouble(_) => {}
    }
    again(shared, hub, epoch, disks).await;
}

/// Writes what is still to be written; what fails stays for the next time.
pub(crate) async fn again(shared: &Shared, hub: &HubId, epoch: Option<i64>, disks: &mut Disks) {
    let Some(epoch) = epoch else { return };
    if disks.compare {
        match vanished(shared, hub, disks).await {
            Ok(gone) => {
                disks.gone.extend(gone);
                disks.compare = false;
            }
            Err(e) => tracing::debug!(hub_id = %hub, error = %e, "a hub's list of volumes could not be compared"),
        }
    }
    for (id, uid) in std::mem::take(&mut disks.gone) {
        if let Err(e) = gone(shared, hub, id, &uid).await {
            tracing::debug!(hub_id = %hub, disk_id = %id, error = %e, "a disk's end could not be written");
            disks.gone.push((id, uid));
        }
    }
    for key in std::mem::take(&mut disks.late) {
        let Some(volume) = disks.known.get(&key) else { continue };
        match report(shared, hub, epoch, volume).await {
            Ok(true) => {}
            Ok(false) => drop(disks.late.insert(key)),
            Err(e) => {
                tracing::debug!(hub_id = %hub, object = %key, error = %e, "what a hub said of a disk could not be written");
                disks.late.insert(key);
            }
        }
    }
}

/// What should be on the hub and is not, by its full list: it may have gone while nobody watched.
async fn vanished(shared: &Shared, hub: &HubId, disks: &Disks) -> Result<Vec<(Uuid, String)>> {
    let there: HashSet<&str> = disks.known.values().map(|v| v.meta.uid.as_str()).collect();
    let mut gone = Vec::new();
    for disk in shared.store.disks_expected(hub).await? {
        if there.contains(disk.uid.as_str()) {
            continue;
        }
        // a list by label can't prove it: the label may have gone
        let key = Key::new(&disk.namespace, &disk.hub_name);
        let client = shared.hubs.client(hub).await?;
        if client.is_gone(&DATA_VOLUMES, &key, &disk.uid).await == Ok(true) {
            gone.push((disk.id.0, disk.uid));
        }
    }
    Ok(gone)
}

async fn gone(shared: &Shared, hub: &HubId, id: Uuid, uid: &str) -> Result<()> {
    missing(shared, hub, id, uid).await?;
    settle::disk(shared, DiskId(id), &Outcome::Done).await
}

/// Its volume is proven to be gone; if nobody asked for that, it is said.
pub(crate) async fn missing(shared: &Shared, hub: &HubId, id: Uuid, uid: &str) -> Result<()> {
    if let Some(lost) = at(Step::DiskObserve, shared.store.disk_vanished(hub, id, uid)).await? {
        tracing::warn!(hub_id = %hub, disk_id = %id, "a disk was deleted on its hub by hand");
        let message = format!("Disk {} was deleted on its hub by hand", lost.name);
        let happened = Happened {
            org: lost.org,
            owner: lost.owner,
            kind: Kind::Disk,
            id,
            name: &lost.name,
            word: "disk.missing",
            message: &message,
        };
        shared.store.event(&happened).await?;
    }
    Ok(())
}

/// False: nobody here knows it yet under that uid, and that may change.
async fn report(shared: &Shared, hub: &HubId, epoch: i64, volume: &VolumePart) -> Result<bool> {
    let Some(id) = volume.meta.ids.disk else { return Ok(true) };
    let seen = one(Some(volume), false);
    let news = at(Step::DiskObserve, shared.store.observe_disk(hub, epoch, id, &volume.meta.uid, &seen)).await?;
    let Some((org, owner, vm)) = news else {
        if shared.store.disk_tombstone(id).await? == Some(true) && volume.meta.deleting.is_none() {
            reconcile::disk::collect(shared, hub, &volume.meta.key, &volume.meta.uid).await?;
        }
        return Ok(true);
    };
    shared.store.tell(Change { org, user: None, owner, kind: Kind::Disk, id: Some(id), shares: Vec::new() });
    settle::disk(shared, DiskId(id), &Outcome::Done).await?;
    if let Some(vm) = vm {
        // it may wait for its disk
        shared.store.enqueue(Kind::Vm, vm, org, &hub.0).await?;
    }
    Ok(true)
}

/// `settled`: its machine does not wait for disks, so a claim that no volume stands for is full.
fn one(volume: Option<&VolumePart>, settled: bool) -> DiskReport {
    let Some(v) = volume else {
        let seen = if settled { DiskSeen::Ready } else { DiskSeen::Making };
        return DiskReport { seen, ..DiskReport::default() };
    };
    let seen = match (&v.problem, v.done) {
        (Some(_), _) => DiskSeen::Failed,
        (None, true) => DiskSeen::Ready,
        (None, false) => DiskSeen::Making,
    };
    DiskReport {
        seen,
        reason: v.problem.clone().unwrap_or_default(),
        volume: v.meta.key.name.to_string(),
        size_mb: None,
        waits: false,
        no_snapshot: String::new(),
        progress: v.progress.map(i16::from).filter(|_| seen == DiskSeen::Making),
    }
}

/// The disks of a machine, as it shows them. True: something of it is news.
pub(crate) async fn of_vm(shared: &Shared, hub: &HubId, epoch: i64, vm: Uuid, seen: &ObservedVm) -> Result<bool> {
    let settled = matches!(seen.state, VmState::Running | VmState::Stopped | VmState::Paused | VmState::Migrating);
    let disks = seen.vm.disks.iter().filter(|d| !d.volume.is_empty());
    let reports: Vec<(String, DiskReport)> = disks
        .map(|d| {
            let volume = seen.volumes.iter().find(|v| *v.meta.key.name == *d.volume);
            let waits = seen.instance.as_ref().is_some_and(|i| !i.disks.contains(&d.name));
            let no_snapshot = d.no_snapshot.clone().unwrap_or_default();
            (d.name.clone(), DiskReport { volume: d.volume.clone(), waits, no_snapshot, ..one(volume, settled) })
        })
        .collect();
    if reports.is_empty() {
        return Ok(false);
    }
    shared.store.observe_vm_disks(hub, epoch, vm, reports).await
}
