//! The disks of a VM: those asked for come in, those given up go out, and what was behind those is proven to be gone.
use super::{
    super::{image, refused},
    apply::{Machine, at_hub},
    lost,
    wanted::{disk, identity},
};
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
};
use hub::{
    Key,
    apply::{Deleted, Home, Owner, Propagation},
    read,
    resource::{DATA_VOLUMES, Resource, VIRTUAL_MACHINES, VM_INSTANCES, VOLUME_CLAIMS},
    shape::{
        disk as shape,
        names::{VM_ID, disk_name},
        patch,
    },
};
use model::{Result, disk::Bus};
use serde_json::Value;
use std::time::Duration;
use store::{Claim, VmDiskWork, VmWork};

/// How far it came.
pub(super) enum Brought {
    /// All disks are as asked for, or will be at the next start: the VM as it is now.
    Here(Value),
    /// It changed while we decided: look again.
    Again,
    Not(Outcome),
}

const SOON: Duration = Duration::from_millis(500);
/// What a hub is found to have if disks can come and go while a VM runs.
const HOT: &str = "hotplug-volumes";

/// Unwraps a hub's answer, or says how far it came.
macro_rules! got {
    ($answer:expr) => {
        match $answer {
            Ok(value) => value,
            Err(hub::Error::Conflict(_)) => return Ok(Brought::Again),
            Err(e) => return Ok(Brought::Not(refused(&e))),
        }
    };
}

/// Disks that were given up and wait for the VM to let go of them, which are looked at whenever it stops, and discs that wait
/// for their images.
pub(super) async fn clear(shared: &Shared, claim: &Claim, vm: &VmWork, on: &Machine<'_>) -> Result<Outcome> {
    if !vm.disks.iter().any(|d| d.leaving || d.disc) {
        return Ok(Outcome::Done);
    }
    let found = match at(Step::VmGet, on.client.get(&VIRTUAL_MACHINES, on.key)).await {
        Ok(found) if found["metadata"]["uid"] == on.uid => found,
        Ok(_) | Err(hub::Error::NotFound(_)) => return Ok(Outcome::Done),
        Err(e) => return Ok(refused(&e)),
    };
    if !at(Step::VmHolds, shared.store.claim_holds(claim)).await? {
        return Ok(lost());
    }
    if wanted(vm, &found) {
        // what changes from here on is our doing
        shared.store.vm_form_unknown(claim).await?;
    }
    Ok(match bring(shared, claim, vm, on, found).await? {
        Brought::Here(now) => {
            if let Some(there) = at_hub(&now) {
                shared.store.vm_form(claim, there).await?;
            }
            awaited(shared, vm, &now).await?.unwrap_or(Outcome::Done)
        }
        Brought::Again => Outcome::Wait(SOON, "It changed on its hub meanwhile.".into()),
        Brought::Not(outcome) => outcome,
    })
}

/// What a disc waits for that is not in the VM yet. The VM itself does not wait for it: it can be large, and nobody wants a
/// power off to come after it.
pub(super) async fn awaited(shared: &Shared, vm: &VmWork, now: &Value) -> Result<Option<Outcome>> {
    let Some(hub) = &vm.hub else { return Ok(None) };
    let not_in = |d: &&VmDiskWork| d.disc && !d.leaving && shape::plugged(now, &d.volume).is_none();
    let Some(disc) = vm.disks.iter().find(not_in) else { return Ok(None) };
    Ok(Some(match image::of_disk(shared, vm.id, disc, hub).await? {
        Ok(_) => Outcome::Wait(SOON, "The disc is put in.".into()),
        Err(not_yet) => not_yet,
    }))
}

/// `now`: the VM as it was just read or changed, by somebody who holds its work.
pub(super) async fn bring(
    shared: &Shared,
    claim: &Claim,
    vm: &VmWork,
    on: &Machine<'_>,
    mut now: Value,
) -> Result<Brought> {
    if !wanted(vm, &now) {
        return Ok(Brought::Here(now));
    }
    let instance = match on.client.get(&VM_INSTANCES, on.key).await {
        Ok(instance) => Some(instance),
        Err(hub::Error::NotFound(_)) => None,
        Err(e) => return Ok(Brought::Not(refused(&e))),
    };
    let hot = instance.is_some() && vm.offers.iter().any(|o| o == HOT);
    for d in &vm.disks {
        let there = shape::plugged(&now, &d.volume);
        let step = match &there {
            _ if d.leaving => go(shared, claim, vm, on, d, (&now, instance.as_ref())).await?,
            None if d.disc => match image_of(shared, vm, d).await? {
                Some(made_from) => come(vm, on, &made_from, &now, false).await?,
                None => continue,
            },
            None if !d.with_vm => come(vm, on, d, &now, hot).await?,
            Some(plugged) => change(shared, claim, on, d, plugged, &now).await?,
            None => continue,
        };
        match step {
            Brought::Here(changed) => now = changed,
            other => return Ok(other),
        }
    }
    Ok(Brought::Here(now))
}

/// The disc with what its hub makes it from. None: its image is not there yet.
async fn image_of(shared: &Shared, vm: &VmWork, d: &VmDiskWork) -> Result<Option<VmDiskWork>> {
    let Some(hub) = &vm.hub else { return Ok(None) };
    let image = image::of_disk(shared, vm.id, d, hub).await?.ok();
    Ok(image.map(|image| VmDiskWork { image, ..d.clone() }))
}

/// Is anything of them to be changed?
pub(super) fn wanted(vm: &VmWork, now: &Value) -> bool {
    vm.disks.iter().any(|d| differs(d, now))
}

fn differs(d: &VmDiskWork, now: &Value) -> bool {
    match shape::plugged(now, &d.volume) {
        _ if d.leaving => true,
        None => !d.with_vm,
        Some(there) => (!d.independent && d.applied_mb < d.size_mb) || (d.bus != Bus::Any && there.bus != d.bus.key()),
    }
}

/// Into the VM: at once where it runs and its hub can, else for its next start.
async fn come(vm: &VmWork, on: &Machine<'_>, d: &VmDiskWork, now: &Value, hot: bool) -> Result<Brought> {
    if d.independent && !d.ready {
        let why = format!("The disk {} is being made.", d.name);
        return Ok(Brought::Not(Outcome::Wait(Duration::from_secs(2), why.into())));
    }
    let wanted = match disk(d) {
        Ok(wanted) => wanted,
        Err(why) => return Ok(Brought::Not(Outcome::Failed(why.into()))),
    };
    let id = identity(vm, on.there);
    if let Some(volume) = shape::volume(&id, on.uid, &wanted) {
        let home = Home {
            namespace: on.there.namespace.clone(),
            uid: on.there.namespace_uid.clone().unwrap_or_default(),
            vdc: vm.vdc.0,
        };
        let owner = Owner::new(VM_ID, vm.id);
        got!(at(Step::VmDiskMake, on.client.create_or_adopt(&DATA_VOLUMES, &volume, &owner, Some(&home))).await);
    }
    if !(hot && d.bus.hot()) {
        let patch = patch::fenced(shape::plug(now, &id, &wanted), on.uid);
        return Ok(Brought::Here(got!(on.patch(Step::VmDiskPatch, patch, now).await)));
    }
    let plug = on.client.add_volume(on.key, shape::plug_options(&id, &wanted));
    match at(Step::VmDiskPlug, plug).await {
        // asked for already, or it stopped meanwhile: the next look tells
        Ok(()) | Err(hub::Error::NotNow(_)) => {}
        Err(e) => return Ok(Brought::Not(refused(&e))),
    }
    Ok(Brought::Not(Outcome::Wait(SOON, format!("The disk {} is being plugged in.", d.name).into())))
}

/// Its bus, and its size.
async fn change(
    shared: &Shared,
    claim: &Claim,
    on: &Machine<'_>,
    d: &VmDiskWork,
    there: &shape::Plugged,
    now: &Value,
) -> Result<Brought> {
    let mut now = now.clone();
    if d.bus != Bus::Any && there.bus != d.bus.key() {
        let patch = patch::fenced(shape::on_bus(&now, &d.volume, d.bus.key()), on.uid);
        now = got!(on.patch(Step::VmDiskPatch, patch, &now).await);
    }
    if d.independent || d.applied_mb >= d.size_mb {
        return Ok(Brought::Here(now));
    }
    let key = Key::new(&on.key.namespace, &there.object);
    match at(Step::VmDiskGrow, grow(on.client, &key, d.size_mb)).await {
        Ok(true) => {}
        Ok(false) => {
            let why = format!("The disk {} is being made; it grows then.", d.name);
            return Ok(Brought::Not(Outcome::Wait(Duration::from_secs(1), why.into())));
        }
        // nothing else that is asked of the VM waits for what can't be
        Err(hub::Error::Denied { message, .. }) => {
            let kept = shared.store.disk_keeps_size(claim, d.id, d.size_mb, d.applied_mb);
            return Ok(Brought::Not(match at(Step::VmDiskGrown, kept).await? {
                true => Outcome::Failed(cannot_grow(&d.name, &message).into()),
                false => lost(),
            }));
        }
        Err(e) => return Ok(Brought::Not(refused(&e))),
    }
    if !at(Step::VmDiskGrown, shared.store.vm_disk_grown(claim, d.id, d.size_mb)).await? {
        return Ok(Brought::Not(lost()));
    }
    Ok(Brought::Here(now))
}

pub(in crate::reconcile) fn cannot_grow(name: &str, why: &str) -> String {
    format!("The disk {name} keeps its size, since its hub can't make it larger: {why}. Add another disk instead.")
}

/// A claim grows and never shrinks. False: it is not there yet.
pub(in crate::reconcile) async fn grow(client: &hub::Client, key: &Key, size_mb: i64) -> hub::Result<bool> {
    let claim = match client.get(&VOLUME_CLAIMS, key).await {
        Ok(claim) => claim,
        Err(hub::Error::NotFound(_)) => return Ok(false),
        Err(e) => return Err(e),
    };
    if claim["status"]["phase"] != "Bound" {
        return Ok(false);
    }
    if read::claim_mb(&claim).is_some_and(|mb| mb >= size_mb) {
        return Ok(true);
    }
    let uid = claim["metadata"]["uid"].as_str().unwrap_or_default();
    let patch = patch::grow_claim(uid, u64::try_from(size_mb).unwrap_or_default());
    client.patch_fenced(&VOLUME_CLAIMS, key, uid, patch).await.map(|_| true)
}

/// What a disk is on that is not in the VM now.
pub(super) fn unplugged(vm: &VmWork, d: &VmDiskWork) -> String {
    if d.object.is_empty() { disk_name(&vm.hub_name, &d.name) } else { d.object.clone() }
}

/// Out of the VM, and out of what runs of it; then a disk of its own is deleted, and an independent one is free.
async fn go(
    shared: &Shared,
    claim: &Claim,
    vm: &VmWork,
    on: &Machine<'_>,
    d: &VmDiskWork,
    (now, instance): (&Value, Option<&Value>),
) -> Result<Brought> {
    let mut now = now.clone();
    let uses = instance.is_some_and(|i| shape::used(i, &d.volume));
    let there = shape::plugged(&now, &d.volume);
    let object = match &there {
        Some(there) => there.object.clone(),
        None => unplugged(vm, d),
    };
    if let Some(there) = &there {
        if there.hot && uses {
            let unplug = on.client.remove_volume(on.key, &d.volume);
            match at(Step::VmDiskUnplug, unplug).await {
                Ok(()) | Err(hub::Error::NotNow(_)) => {}
                Err(e) => return Ok(Brought::Not(refused(&e))),
            }
            let why = format!("The disk {} is being unplugged.", d.name);
            return Ok(Brought::Not(Outcome::Wait(SOON, why.into())));
        }
        let patch = patch::fenced(shape::unplug(&now, &d.volume), on.uid);
        now = got!(on.patch(Step::VmDiskPatch, patch, &now).await);
    }
    if uses {
        // the running guest holds it: `clear` goes on when it stops
        return Ok(Brought::Here(now));
    }
    if d.independent {
        return Ok(match at(Step::DiskLeft, shared.store.disk_left(claim, d.id)).await? {
            true => Brought::Here(now),
            false => Brought::Not(lost()),
        });
    }
    for resource in [&DATA_VOLUMES, &VOLUME_CLAIMS] {
        match at(Step::VmDiskDelete, delete(on, vm, resource, &object)).await {
            Ok(true) => {}
            Ok(false) => {
                let why = format!("The hub is deleting the disk {}.", d.name);
                return Ok(Brought::Not(Outcome::Wait(SOON, why.into())));
            }
            Err(e) => return Ok(Brought::Not(refused(&e))),
        }
    }
    Ok(match at(Step::VmDiskGone, shared.store.vm_disk_gone(claim, d.id)).await? {
        true => Brought::Here(now),
        false => Brought::Not(lost()),
    })
}

/// Is that volume the VM's own?
pub(super) fn belongs(on: &Machine<'_>, vm: &VmWork, volume: &Value) -> bool {
    let meta = &volume["metadata"];
    let owned = meta["ownerReferences"].as_array().into_iter().flatten().any(|o| o["uid"] == on.uid);
    owned || meta["labels"][VM_ID] == vm.id.to_string().as_str()
}

/// True: nothing of ours is there under that name any more.
async fn delete(on: &Machine<'_>, vm: &VmWork, resource: &Resource, name: &str) -> hub::Result<bool> {
    let key = Key::new(&on.key.namespace, name);
    let found = match on.client.get(resource, &key).await {
        Ok(found) => found,
        Err(hub::Error::NotFound(_)) => return Ok(true),
        Err(e) => return Err(e),
    };
    if !belongs(on, vm, &found) {
        return Ok(true);
    }
    let uid = found["metadata"]["uid"].as_str().unwrap_or_default();
    match on.client.delete_fenced(resource, &key, uid, Propagation::Background).await {
        Ok(Deleted::Gone) | Err(hub::Error::NotOurs(_)) => Ok(true),
        Ok(_) => on.client.is_gone(resource, &key, uid).await,
        Err(e) => Err(e),
    }
}
