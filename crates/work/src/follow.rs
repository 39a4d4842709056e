//! Follows one hub: its VMs, instances and disks are joined and written down as observed, and what somebody did there by
//! hand is named as such.
use crate::{
    Shared,
    drill::{Step, at},
    follow_disks::{self, Disks},
    queue::Outcome,
    reconcile, report, settle,
};
use futures::{StreamExt, stream};
use hub::{
    Client, Key,
    read::{self, AskedDisk, InstancePart, VmPart, VolumePart},
    resource::{DATA_VOLUMES, VIRTUAL_MACHINES, VM_INSTANCES},
    shape::names::ours,
    watch::{Event, Follow},
};
use model::{Error, HubId, Kind, Result, VmId, event::Change};
use std::{
    collections::{HashMap, HashSet},
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};
use store::{Happened, Observed, Trouble};
use tokio::{sync::watch, time::MissedTickBehavior};

/// What could not be written, because the database was away: it is tried again soon, since no hub says it twice.
#[derive(Default)]
struct Late {
    reports: HashSet<Key>,
    /// Of some of them the state was written, and not all that follows from it was done.
    missed: HashMap<Key, Observed>,
    ends: Vec<(VmPart, String)>,
    compare: bool,
}

impl Late {
    fn any(&self) -> bool {
        self.compare || !self.reports.is_empty() || !self.ends.is_empty()
    }
}

const TRY_AGAIN: Duration = Duration::from_millis(500);
/// So many machines are written down before more is heard.
const TOGETHER: usize = 64;
/// And so many of them at once: what is asked for at the same moment goes to the database together.
const AT_ONCE: usize = 16;
/// On a busy hub what is heard within such a moment is written together.
const MOMENT: Duration = Duration::from_millis(5);
/// Nothing waits longer than this to be written, whatever else is heard.
const LONGEST: Duration = Duration::from_millis(100);

/// What is kept of a hub's machines: small parts, never whole objects, and each by itself, for a table has many empty places.
#[derive(Default)]
pub(crate) struct Known {
    vms: HashMap<Key, Box<VmPart>>,
    pub(crate) instances: HashMap<Key, Box<InstancePart>>,
    pub(crate) volumes: HashMap<Key, Box<VolumePart>>,
    /// Which VM a volume is a disk of.
    used_by: HashMap<Key, Key>,
    /// The last that was heard is that nothing is heard, and why.
    silent: Option<Trouble>,
    /// It has VMs as a kind, or had.
    served: bool,
    late: Late,
    disks: Disks,
}

impl Known {
    fn put(&mut self, vm: VmPart) -> Key {
        let key = vm.meta.key.clone();
        self.used_by.extend(volumes_of(&vm).map(|volume| (volume, key.clone())));
        self.vms.insert(key.clone(), Box::new(vm));
        key
    }

    fn take(&mut self, key: &Key) -> Option<VmPart> {
        let vm = self.vms.remove(key)?;
        volumes_of(&vm).for_each(|volume| drop(self.used_by.remove(&volume)));
        Some(*vm)
    }
}

pub(crate) fn volumes_of(vm: &VmPart) -> impl Iterator<Item = Key> {
    let named = vm.disks.iter().filter(|d| !d.volume.is_empty());
    named.map(|d| vm.meta.key.beside(&d.volume))
}

/// What is reported of a machine, and no more: there may be ten thousands.
fn small(vm: VmPart) -> VmPart {
    let disks = vm.disks.into_iter().filter(|d| !d.volume.is_empty());
    let kept = |d: AskedDisk| {
        let AskedDisk { name, volume, cdrom, no_snapshot, .. } = d;
        AskedDisk { name, volume, cdrom, no_snapshot, ..AskedDisk::default() }
    };
    let disks = disks.map(kept).collect();
    let (nics, notes) = Default::default();
    VmPart { disks, nics, notes, preference: None, computer_name: String::new(), ..vm }
}

pub(crate) async fn run(shared: Arc<Shared>, hub: HubId, client: Client, mut epoch: watch::Receiver<Option<i64>>) {
    let mut known = Known::default();
    // as streams, which go on where they were: a long list would be begun anew whenever another of them says something
    let mut vms = pin!(client.watch(Follow::new(VIRTUAL_MACHINES, ours()), |o| read::vm(o).map(small)).stream());
    // instances and disks of machines carry the labels of the template they are made from
    let mut instances = pin!(client.watch(Follow::new(VM_INSTANCES, ours()), read::instance).stream());
    let mut volumes = pin!(client.watch(Follow::new(DATA_VOLUMES, ours()), read::volume).stream());
    // what is to be written down: several changes of one machine that came together are one
    let mut touched: HashSet<Key> = HashSet::new();
    let mut oldest = Instant::now();
    let mut written = tokio::time::Instant::now();
    // one for all that is late, and not begun anew by whatever is heard: a busy hub is never silent for long
    let mut retry = tokio::time::interval(TRY_AGAIN);
    retry.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let full = touched.len() >= TOGETHER || (!touched.is_empty() && oldest.elapsed() >= LONGEST);
        let ours = *epoch.borrow();
        let news: Vec<Key> = tokio::select! {
            biased;
            // it is ours to write now, or another's: what came meanwhile is written down
            changed = epoch.changed() => match changed {
                Ok(()) => {
                    known.disks.all_again();
                    if epoch.borrow().is_some() {
                        // and once more: what the one before us had under way may come after our own
                        known.late.reports.extend(known.vms.keys().cloned());
                        match &known.silent {
                            Some(trouble) => silent(&shared, &hub, trouble).await,
                            None if known.served && !client.health().in_doubt() => answers(&shared, &hub).await,
                            None => {}
                        }
                    }
                    known.vms.keys().cloned().collect()
                }
                Err(_) => return,
            },
            () = std::future::ready(()), if full => Vec::new(),
            Some(event) = vms.next() => {
                let tells = ours.is_some().then(|| !client.health().in_doubt());
                on_vm(&shared, &hub, tells, &mut known, event).await
            }
            Some(event) = instances.next() => on_instance(&mut known, event),
            Some(event) = volumes.next() => {
                follow_disks::heard(&shared, &hub, ours, &mut known.disks, &event).await;
                on_volume(&mut known, event)
            }
            _ = retry.tick(), if known.late.any() || (ours.is_some() && known.disks.late()) => {
                follow_disks::again(&shared, &hub, ours, &mut known.disks).await;
                again(&shared, &hub, &mut known).await
            }
            // nothing else is to be heard right now
            () = tokio::time::sleep_until(written + MOMENT), if !touched.is_empty() => Vec::new(),
        };
        let quiet = news.is_empty();
        if touched.is_empty() {
            oldest = Instant::now();
        }
        touched.extend(news);
        if quiet || touched.len() >= TOGETHER {
            let touched = std::mem::take(&mut touched);
            // another replica writes; we only keep in step, so that we can go on at once
            let Some(epoch) = *epoch.borrow() else {
                known.late.missed.clear();
                continue;
            };
            let mut missed = std::mem::take(&mut known.late.missed);
            for (key, met) in write(&shared, &hub, epoch, &known, &mut missed, touched).await {
                missed.extend(met.map(|met| (key.clone(), met)));
                known.late.reports.insert(key);
            }
            known.late.missed = missed;
            written = tokio::time::Instant::now();
        }
    }
}

/// Writes down how these machines are, some at a time. Returns those that are to be written once more, with what was
/// written of them already and not followed up.
async fn write(
    shared: &Shared,
    hub: &HubId,
    epoch: i64,
    known: &Known,
    missed: &mut HashMap<Key, Observed>,
    touched: HashSet<Key>,
) -> Vec<(Key, Option<Observed>)> {
    let each = touched.into_iter().map(|key| (missed.remove(&key), key)).collect::<Vec<_>>();
    let reports = stream::iter(each).map(|(mut met, key)| async move {
        let vm = known.vms.get(&key)?;
        match report::report(shared, hub, epoch, vm, known, &mut met).await {
            Ok(true) => None,
            Ok(false) => Some((key, met)),
            Err(e) => {
                tracing::debug!(hub_id = %hub, object = %key, error = %e, "what a hub said could not be written");
                Some((key, met))
            }
        }
    });
    reports.buffer_unordered(AT_ONCE).filter_map(std::future::ready).collect().await
}

/// `tells`: whether a hub answers is for the replica to say that holds it; another one's way there may be cut. Its watch alone
/// does not prove it where calls fail.
async fn on_vm(shared: &Shared, hub: &HubId, tells: Option<bool>, known: &mut Known, event: Event<VmPart>) -> Vec<Key> {
    let was_silent = known.silent.is_some();
    if !matches!(event, Event::Trouble(_)) {
        known.silent = None;
    }
    // a watch that goes on where it was cut shows no list
    if tells == Some(true)
        && (was_silent || matches!(event, Event::Snapshot(_) | Event::Alive(_)))
        && known.silent.is_none()
    {
        answers(shared, hub).await;
    }
    match event {
        Event::Snapshot(all) => {
            known.vms.clear();
            known.used_by.clear();
            all.into_iter().for_each(|vm| drop(known.put(vm)));
            known.served = true;
            if let Err(e) = compare(shared, hub, known).await {
                tracing::debug!(hub_id = %hub, error = %e, "a hub's list could not be compared");
                known.late.compare = true;
            }
            known.vms.keys().cloned().collect()
        }
        Event::Changed(vm) => {
            vec![known.put(vm)]
        }
        Event::Gone { key, uid } => {
            if let Some(vm) = known.take(&key)
                && let Err(e) = gone(shared, hub, &vm, &uid).await
            {
                tracing::debug!(hub_id = %hub, object = %key, error = %e, "a VM's end could not be written");
                known.late.ends.push((vm, uid));
            }
            Vec::new()
        }
        Event::Alive(_) => Vec::new(),
        // a hub for clusters alone: it answers, and what it lacks is for its checks to say
        Event::Trouble(hub::Error::NotServed(_)) if !known.served => Vec::new(),
        Event::Trouble(e) => {
            metrics::counter!("ssvirt_hub_connections_total", "hub" => hub.0.clone(), "result" => e.key()).increment(1);
            let trouble = Trouble { kind: e.key().into(), message: e.message(), next_step: e.next_step().into() };
            if tells.is_some() {
                silent(shared, hub, &trouble).await;
            }
            known.silent = Some(trouble);
            Vec::new()
        }
    }
}

/// What is to be reported once more; ends and comparisons are made up for here.
async fn again(shared: &Shared, hub: &HubId, known: &mut Known) -> Vec<Key> {
    let late = std::mem::take(&mut known.late);
    for (vm, uid) in late.ends {
        if gone(shared, hub, &vm, &uid).await.is_err() {
            known.late.ends.push((vm, uid));
        }
    }
    if late.compare && compare(shared, hub, known).await.is_err() {
        known.late.compare = true;
    }
    late.reports.into_iter().collect()
}

async fn silent(shared: &Shared, hub: &HubId, why: &Trouble) {
    match at(Step::HubSilent, shared.store.hub_silent(hub, why)).await {
        Ok(true) => {
            tracing::warn!(hub_id = %hub, error = why.message, "the hub does not answer");
            tell_of_hub(shared).await;
        }
        Ok(false) => {}
        Err(e) => tracing::debug!(error = %e, "a hub's silence could not be written"),
    }
}

async fn answers(shared: &Shared, hub: &HubId) {
    metrics::counter!("ssvirt_hub_connections_total", "hub" => hub.0.clone(), "result" => "success").increment(1);
    match at(Step::HubAnswers, shared.store.hub_answers(hub, (shared.clock)())).await {
        Ok(true) => {
            tracing::info!(hub_id = %hub, "the hub answers");
            let _ = shared.store.wake_waiting(&hub.0).await;
            tell_of_hub(shared).await;
        }
        Ok(false) => {}
        Err(e) => tracing::debug!(error = %e, "a hub's answer could not be written"),
    }
}

/// Everything on a hub looks different when it goes or comes back.
pub(crate) async fn tell_of_hub(shared: &Shared) {
    if let Ok(orgs) = shared.store.org_ids().await {
        for org in orgs {
            shared.store.tell(Change { org, user: None, owner: None, kind: Kind::Vapp, id: None, shares: Vec::new() });
        }
    }
}

fn on_instance(known: &mut Known, event: Event<InstancePart>) -> Vec<Key> {
    match event {
        Event::Snapshot(all) => {
            let now = all.into_iter().map(|i| (i.meta.key.clone(), Box::new(i))).collect();
            let before = std::mem::replace(&mut known.instances, now);
            let vanished = before.into_keys().filter(|key| !known.instances.contains_key(key));
            known.instances.keys().cloned().chain(vanished).collect()
        }
        Event::Changed(one) => {
            let key = one.meta.key.clone();
            known.instances.insert(key.clone(), Box::new(one));
            vec![key]
        }
        Event::Gone { key, .. } => {
            known.instances.remove(&key);
            vec![key]
        }
        Event::Alive(_) | Event::Trouble(_) => Vec::new(),
    }
}

fn on_volume(known: &mut Known, event: Event<VolumePart>) -> Vec<Key> {
    let owners = |known: &Known, volume: &Key| -> Vec<Key> { known.used_by.get(volume).cloned().into_iter().collect() };
    match event {
        Event::Snapshot(all) => {
            known.volumes = all.into_iter().map(|v| (v.meta.key.clone(), Box::new(v))).collect();
            known.vms.keys().cloned().collect()
        }
        Event::Changed(one) => {
            let key = one.meta.key.clone();
            known.volumes.insert(key.clone(), Box::new(one));
            owners(known, &key)
        }
        Event::Gone { key, .. } => {
            known.volumes.remove(&key);
            owners(known, &key)
        }
        Event::Alive(_) | Event::Trouble(_) => Vec::new(),
    }
}

/// After a full list: what should be there and is not.
async fn compare(shared: &Shared, hub: &HubId, known: &Known) -> Result<()> {
    let there: std::collections::HashSet<&str> = known.vms.values().map(|vm| vm.meta.uid.as_str()).collect();
    let uids: Vec<String> = there.iter().map(|uid| (*uid).to_owned()).collect();
    shared.store.strangers_left(hub, VIRTUAL_MACHINES.kind, &uids).await?;
    let mut mended = true;
    for (vm, uid, deleted) in shared.store.vms_expected(hub).await? {
        if there.contains(uid.as_str()) {
            continue;
        }
        let Some(work) = shared.store.vm_work(vm.0).await? else { continue };
        if deleted {
            shared.store.enqueue(Kind::Vm, vm, work.org, &hub.0).await?;
            continue;
        }
        // a list by label can't prove it: the label may have gone
        let Some(place) = shared.store.place(work.vdc, hub).await? else { continue };
        let key = Key::new(&place.namespace, &work.hub_name);
        let client = shared.hubs.client(hub).await?;
        match client.is_gone(&VIRTUAL_MACHINES, &key, &uid).await {
            Ok(true) => missing(shared, hub, vm, &uid).await?,
            // it is made just now, or somebody took its labels off while nobody watched
            Ok(false) => mended &= reconcile::vm::put_back(shared, hub, &key, vm.0, &uid).await?,
            Err(_) => {}
        }
    }
    match mended {
        true => Ok(()),
        false => Err(Error::Unavailable("labels could not be put back on a hub yet".into())),
    }
}

async fn gone(shared: &Shared, hub: &HubId, vm: &VmPart, uid: &str) -> Result<()> {
    shared.store.stranger_gone(hub, uid).await?;
    let Some(id) = vm.meta.ids.vm else { return Ok(()) };
    missing(shared, hub, VmId(id), uid).await?;
    if let Some(work) = shared.store.vm_work(id).await?
        && work.deleted
        && !work.gone
    {
        shared.store.enqueue(Kind::Vm, id, work.org, &hub.0).await?;
    }
    Ok(())
}

async fn missing(shared: &Shared, hub: &HubId, vm: VmId, uid: &str) -> Result<()> {
    if !at(Step::Missing, shared.store.vm_missing(hub, vm, uid)).await? {
        return Ok(());
    }
    let Some(work) = shared.store.vm_work(vm.0).await? else { return Ok(()) };
    tracing::warn!(hub_id = %hub, vm_id = %vm, "a VM was deleted on its hub by hand");
    let message = format!("VM {} was deleted on its hub by hand", work.name);
    shared
        .store
        .event(&Happened {
            org: work.org,
            owner: work.owner,
            kind: Kind::Vm,
            id: vm.0,
            name: &work.name,
            word: "vm.missing",
            message: &message,
        })
        .await?;
    settle::about_vm(shared, vm, work.vapp, &Outcome::Done).await
}
