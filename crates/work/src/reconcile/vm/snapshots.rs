//! Snapshots of a VM: taken, deleted, and the VM brought back to one. Each comes to its end before anything else is done
//! to the VM: KubeVirt locks it meanwhile.
use super::{
    super::refused,
    apply::Machine,
    disks::{belongs, unplugged},
    lost,
    wanted::identity,
};
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
};
use hub::{
    Client, Key, Verdict,
    apply::{Deleted, Home, Owner, Propagation, VmAction},
    read::{self, Stage},
    resource::{DATA_VOLUMES, Resource, VIRTUAL_MACHINES, VM_INSTANCES, VM_RESTORES, VM_SNAPSHOTS, VOLUME_CLAIMS},
    shape::{
        disk,
        names::{Place, VM_ID},
        patch::{self, RunStrategy},
        snapshot::{self as shape, REVERT_ID, SNAPSHOT_ID},
    },
};
use model::{
    Result,
    snapshot::{SnapshotState, revert_name},
};
use serde_json::Value;
use std::time::Duration;
use store::{Claim, RevertWork, SnapshotWork, VmWork};

const SOON: Duration = Duration::from_millis(500);
/// Why a VM could not be brought back.
const GONE: &str = "The snapshot that it was to go back to was deleted on its hub by hand. The VM stays as it is; delete the snapshot here too.";

/// How far it came.
pub(super) enum Brought {
    /// Nothing of it is left to do.
    Here,
    /// The VM was changed by it: look again.
    Changed,
    Not(Outcome),
}

pub(super) async fn bring(
    shared: &Shared,
    claim: &Claim,
    vm: &VmWork,
    on: &Machine<'_>,
    now: &Value,
) -> Result<Brought> {
    for s in &vm.snapshots {
        let outcome = match s.state {
            _ if s.deleted => delete(shared, claim, on, s).await?,
            SnapshotState::Asked => take(shared, claim, vm, on, s).await?,
            SnapshotState::Ready | SnapshotState::Failed => None,
        };
        if let Some(outcome) = outcome {
            return Ok(Brought::Not(outcome));
        }
    }
    match &vm.revert {
        Some(revert) => go_back(shared, claim, vm, on, revert, now).await,
        None => Ok(Brought::Here),
    }
}

fn home(vm: &VmWork, on: &Machine<'_>) -> Home {
    Home {
        namespace: on.there.namespace.clone(),
        uid: on.there.namespace_uid.clone().unwrap_or_default(),
        vdc: vm.vdc.0,
    }
}

fn of<'a>(place: &'a Place, vm: &'a VmWork) -> shape::Of<'a> {
    shape::Of { place, vm: vm.id.0, object: &vm.hub_name }
}

/// None: it is taken, or failed for good.
async fn take(
    shared: &Shared,
    claim: &Claim,
    vm: &VmWork,
    on: &Machine<'_>,
    s: &SnapshotWork,
) -> Result<Option<Outcome>> {
    let over = async |why: &str| -> Result<Option<Outcome>> {
        let written = at(Step::SnapshotOver, shared.store.snapshot_failed(claim, s.id, why)).await?;
        Ok((!written).then(lost))
    };
    if s.uid.is_none() {
        let place = identity(vm, on.there).place;
        let manifest = shape::snapshot(&of(&place, vm), &s.hub_name, s.id.0);
        let (owner, home) = (Owner::new(SNAPSHOT_ID, s.id), home(vm, on));
        let made = on.client.create_or_adopt(&VM_SNAPSHOTS, &manifest, &owner, Some(&home));
        let uid = match at(Step::SnapshotMake, made).await {
            Ok(made) => made.uid,
            Err(e) if e.retry() == Verdict::Fail => return over(&e.for_tenants()).await,
            Err(e) => return Ok(Some(refused(&e))),
        };
        if !at(Step::SnapshotMade, shared.store.snapshot_made(claim, s.id, &uid)).await? {
            return Ok(Some(lost()));
        }
    }
    let found = match on.client.get(&VM_SNAPSHOTS, &Key::new(&on.key.namespace, &s.hub_name)).await {
        Ok(found) if s.uid.as_ref().is_none_or(|uid| found["metadata"]["uid"] == uid.as_str()) => found,
        Ok(_) | Err(hub::Error::NotFound(_)) => return over("It was deleted on its hub by hand.").await,
        Err(e) => return Ok(Some(refused(&e))),
    };
    match read::snapshot_stage(&found) {
        Stage::Done(when) => {
            // KubeVirt calls it ready all the same, and going back to it would leave that disk as it is
            let left_out = read::left_out(&found);
            let mut disks = vm.disks.iter().filter(|d| !d.independent && !d.disc);
            if let Some(disk) = disks.find(|d| left_out.contains(&d.volume.as_str())) {
                return over(&format!(
                    "The hub left the disk {} out of it, since its storage makes no snapshots.",
                    disk.name
                ))
                .await;
            }
            let written = at(Step::SnapshotOver, shared.store.snapshot_ready(claim, s.id, when)).await?;
            Ok((!written).then(lost))
        }
        Stage::Failed(why) => over(&why).await,
        Stage::Going(_) => {
            let why = format!("The snapshot {} is being taken.", s.name);
            Ok(Some(Outcome::Wait(SOON, why.into())))
        }
    }
}

/// None: it is proven to be gone.
async fn delete(shared: &Shared, claim: &Claim, on: &Machine<'_>, s: &SnapshotWork) -> Result<Option<Outcome>> {
    let key = Key::new(&on.key.namespace, &s.hub_name);
    match at(Step::SnapshotDelete, drop_ours(on.client, &VM_SNAPSHOTS, &key, SNAPSHOT_ID, &s.id.to_string())).await {
        Ok(true) => {}
        Ok(false) => {
            let why = format!("The hub is deleting the snapshot {}.", s.name);
            return Ok(Some(Outcome::Wait(SOON, why.into())));
        }
        Err(e) => return Ok(Some(refused(&e))),
    }
    let written = at(Step::SnapshotGone, shared.store.snapshot_gone(claim, s.id)).await?;
    Ok((!written).then(lost))
}

/// True: nothing of ours is there under that name any more.
async fn drop_ours(client: &Client, kind: &Resource, key: &Key, label: &str, id: &str) -> hub::Result<bool> {
    let found = match client.get(kind, key).await {
        Ok(found) if found["metadata"]["labels"][label] == id => found,
        Ok(_) | Err(hub::Error::NotFound(_) | hub::Error::NotServed(_)) => return Ok(true),
        Err(e) => return Err(e),
    };
    let uid = found["metadata"]["uid"].as_str().unwrap_or_default();
    match client.delete_fenced(kind, key, uid, Propagation::Background).await {
        Ok(Deleted::Gone) | Err(hub::Error::NotOurs(_)) => Ok(true),
        Ok(_) => client.is_gone(kind, key, uid).await,
        Err(e) => Err(e),
    }
}

/// The VM is stopped, restored, and then brought to what is asked for of it again, its power among that.
async fn go_back(
    shared: &Shared,
    claim: &Claim,
    vm: &VmWork,
    on: &Machine<'_>,
    revert: &RevertWork,
    now: &Value,
) -> Result<Brought> {
    let wait = |why: &str| Ok(Brought::Not(Outcome::Wait(SOON, why.to_owned().into())));
    let key = Key::new(&on.key.namespace, revert_name(&vm.hub_name, revert.id));
    let Some(snapshot) = &revert.snapshot else {
        if let Some(outcome) = at(Step::RevertClear, drop_replaced(shared, claim, vm, on, &key)).await? {
            return Ok(Brought::Not(outcome));
        }
        match at(Step::RevertDelete, drop_ours(on.client, &VM_RESTORES, &key, REVERT_ID, &revert.id.to_string())).await
        {
            Ok(true) => {}
            Ok(false) => return wait("It was brought back; the hub is tidying up."),
            Err(e) => return Ok(Brought::Not(refused(&e))),
        }
        return Ok(match at(Step::RevertOver, shared.store.revert_over(claim, revert)).await? {
            // what is asked for now is read anew
            true => Brought::Not(Outcome::Wait(Duration::ZERO, "It was brought back to the snapshot.".into())),
            false => Brought::Not(lost()),
        });
    };
    match on.client.get(&VM_INSTANCES, on.key).await {
        Err(hub::Error::NotFound(_)) => {}
        Ok(_) => return stop(on, now).await,
        Err(e) => return Ok(Brought::Not(refused(&e))),
    }
    if now["spec"]["runStrategy"] != RunStrategy::Halted.key() {
        return stop(on, now).await;
    }
    let place = identity(vm, on.there).place;
    let manifest = shape::restore(&of(&place, vm), &key.name, revert.id, snapshot, &disk::objects(now));
    let (owner, home) = (Owner::new(REVERT_ID, revert.id), home(vm, on));
    let made = on.client.create_or_adopt(&VM_RESTORES, &manifest, &owner, Some(&home));
    let problem = match at(Step::RevertMake, made).await {
        Ok(_) => match on.client.get(&VM_RESTORES, &key).await.map(|found| read::restore_stage(&found)) {
            Ok(Stage::Done(_)) => String::new(),
            Ok(Stage::Failed(why)) => why,
            Ok(Stage::Going(_)) => match on.client.get(&VM_SNAPSHOTS, &Key::new(&key.namespace, snapshot)).await {
                // KubeVirt would wait for it for ever
                Err(hub::Error::NotFound(_)) => GONE.to_owned(),
                Ok(_) => return wait("It is being brought back to the snapshot."),
                Err(e) => return Ok(Brought::Not(refused(&e))),
            },
            Err(e) => return Ok(Brought::Not(refused(&e))),
        },
        Err(e) if e.retry() == Verdict::Fail => e.for_tenants(),
        Err(e) => return Ok(Brought::Not(refused(&e))),
    };
    // written down first: a restore that is asked for once more after it went would throw away what came since
    match at(Step::RevertEnded, shared.store.revert_ended(claim, revert, &problem)).await? {
        true => Ok(Brought::Not(Outcome::Wait(Duration::ZERO, "The hub is tidying up after the way back.".into()))),
        false => Ok(Brought::Not(lost())),
    }
}

/// The VM's volumes that those of the snapshot took the place of. KubeVirt deletes what the VM's templates made, and leaves what
/// came to it later, which the next disk of that name would be made of. No snapshot needs them. None: they are deleted.
async fn drop_replaced(
    shared: &Shared,
    claim: &Claim,
    vm: &VmWork,
    on: &Machine<'_>,
    restore: &Key,
) -> Result<Option<Outcome>> {
    let before = match on.client.get(&VM_RESTORES, restore).await {
        Ok(restore) => shape::before(&restore),
        Err(hub::Error::NotFound(_) | hub::Error::NotServed(_)) => return Ok(None),
        Err(e) => return Ok(Some(refused(&e))),
    };
    let now = match on.client.get(&VIRTUAL_MACHINES, on.key).await {
        Ok(now) if now["metadata"]["uid"] == on.uid => now,
        Ok(_) | Err(hub::Error::NotFound(_)) => return Ok(None),
        Err(e) => return Ok(Some(refused(&e))),
    };
    let mut needed = disk::objects(&now);
    // those that are to come into it again, or to go by themselves
    needed.extend(vm.disks.iter().filter(|d| disk::plugged(&now, &d.volume).is_none()).map(|d| unplugged(vm, d)));
    let mut replaced = Vec::new();
    for name in before.iter().filter(|name| !needed.contains(name)) {
        let key = Key::new(&on.key.namespace, name);
        for kind in [&DATA_VOLUMES, &VOLUME_CLAIMS] {
            match on.client.get(kind, &key).await {
                Ok(found) if belongs(on, vm, &found) => replaced.push((kind, key.clone(), found)),
                Ok(_) | Err(hub::Error::NotFound(_)) => {}
                Err(e) => return Ok(Some(refused(&e))),
            }
        }
    }
    // nobody else has worked on the VM until now: these are not what a later disk of the same name was made of
    if !shared.store.claim_holds(claim).await? {
        return Ok(Some(lost()));
    }
    for (kind, key, found) in replaced {
        let uid = found["metadata"]["uid"].as_str().unwrap_or_default();
        match on.client.delete_fenced(kind, &key, uid, Propagation::Background).await {
            Ok(_) | Err(hub::Error::NotOurs(_)) => {}
            Err(e) => return Ok(Some(refused(&e))),
        }
    }
    Ok(None)
}

async fn stop(on: &Machine<'_>, now: &Value) -> Result<Brought> {
    if now["spec"]["runStrategy"] != RunStrategy::Halted.key() {
        match on.patch(Step::VmPower, patch::power(on.uid, RunStrategy::Halted), now).await {
            Ok(_) => {}
            Err(hub::Error::Conflict(_)) => return Ok(Brought::Changed),
            Err(e) => return Ok(Brought::Not(refused(&e))),
        }
    }
    match at(Step::VmStop, on.client.vm_action(on.key, VmAction::Stop { force: true })).await {
        // that it is off already is fine
        Ok(()) | Err(hub::Error::NotNow(_) | hub::Error::Conflict(_) | hub::Error::NotFound(_)) => {}
        Err(e) => return Ok(Brought::Not(refused(&e))),
    }
    let why = "It is stopped, to be brought back to the snapshot.";
    Ok(Brought::Not(Outcome::Wait(SOON, why.into())))
}

/// After the VM is gone: its snapshots, and restores that were under way. True: none is left.
pub(super) async fn clear(client: &Client, namespace: &str, vm: &VmWork) -> hub::Result<bool> {
    let (label, id) = (format!("{VM_ID}={}", vm.id), vm.id.to_string());
    let mut clear = true;
    for kind in [&VM_RESTORES, &VM_SNAPSHOTS] {
        let found = match client.list(kind, Some(namespace), &label, read::meta).await {
            Ok((found, _)) => found,
            Err(hub::Error::NotServed(_) | hub::Error::NotFound(_)) => continue,
            Err(e) => return Err(e),
        };
        for one in found {
            clear &= drop_ours(client, kind, &one.key, VM_ID, &id).await?;
        }
    }
    Ok(clear)
}
