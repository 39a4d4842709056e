//! A VM on its hub. Made halted, its uid recorded, and only then changed or powered; every call after the first carries
//! the uid, so that nothing is ever done to another object of the same name.
mod affinity;
mod apply;
mod disks;
mod guest;
mod labels;
mod moves;
mod nics;
mod remove;
mod snapshots;
mod wanted;

pub(super) use disks::{cannot_grow, grow};
pub(crate) use labels::put_back;
pub(crate) use remove::collect;

use super::{
    image,
    instance::{self, Stand},
    secret, sizing, told, vdc,
};
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
    settle,
};
use apply::Machine;
use hub::{
    Client, Key,
    apply::{Home, Owner},
    error::Reach,
    resource::{SECRETS, VIRTUAL_MACHINES},
    shape::{
        guest::{self as guest_shape, Told},
        names::{VM_ID, cloud_init_name},
        vm as shape,
    },
};
use model::Result;
use serde_json::Value;
use std::time::Duration;
use store::{Claim, Place, VmWork};
use wanted::shaped;

pub(super) async fn reconcile(shared: &Shared, claim: &Claim) -> Result<Outcome> {
    let Some(vm) = shared.store.vm_work(claim.id).await? else { return Ok(Outcome::Done) };
    if vm.gone {
        return Ok(Outcome::Done);
    }
    let outcome = match vm.deleted {
        true => remove::remove(shared, claim, &vm).await?,
        false => match keep(shared, claim, &vm).await? {
            Outcome::Done if vm.moved => moves::go_on(shared, claim, vm.id).await?,
            other => other,
        },
    };
    if let Outcome::Failed(why) = &outcome {
        at(Step::VmProblem, shared.store.vm_problem(claim, &why.plain)).await?;
    }
    settle::vm(shared, &vm, &outcome).await?;
    Ok(outcome)
}

async fn keep(shared: &Shared, claim: &Claim, vm: &VmWork) -> Result<Outcome> {
    let Some(hub) = &vm.hub else {
        return Ok(Outcome::Wait(Duration::from_secs(60), "A hub is being chosen.".into()));
    };
    let Some(there) = shared.store.place(vm.vdc, hub).await?.filter(|p| p.ready) else {
        vdc::want(shared, vm.vdc, vm.org, hub).await?;
        return Ok(Outcome::Wait(Duration::from_secs(5), "The VDC's namespace is being made.".into()));
    };
    if let Some(first) = nics::networks(shared, vm, hub).await? {
        return Ok(first);
    }
    if let Some(first) = sizing::first(shared, vm, hub).await? {
        return Ok(first);
    }
    let client = shared.hubs.client_of(hub, there.hub_revision).await?;
    let key = Key::new(&there.namespace, &vm.hub_name);
    let uid = match &vm.uid {
        Some(uid) => uid.clone(),
        None => {
            let uid = match &vm.instance_of {
                Some(_) => match told!(of_instance(&client, &key, vm).await) {
                    Ok(uid) => uid,
                    Err(not_there) => return Ok(not_there),
                },
                None => {
                    let vm = &match image::of_disks(shared, vm, hub).await? {
                        Ok(vm) => vm,
                        Err(not_yet) => return Ok(not_yet),
                    };
                    if let Some(image) = image::missing(&client, vm).await {
                        let why = format!(
                            "The hub has no image {} in the namespace {}. Delete it and deploy it once more with an image that is there.",
                            image.name, image.namespace
                        );
                        return Ok(Outcome::Failed(why.into()));
                    }
                    let told = guest::told(shared, vm).await?;
                    let wanted = match shaped(vm, &there, told.discs()) {
                        Ok(wanted) => wanted,
                        Err(why) => return Ok(Outcome::Failed(why.into())),
                    };
                    // from here on something of it may be on that hub
                    if !at(Step::VmAttempted, shared.store.vm_attempted(claim, hub)).await? {
                        return Ok(lost());
                    }
                    let made = make(&client, vm, &there, &told, &wanted).await;
                    if let Err(hub::Error::NotFound(_)) = &made {
                        return vdc::anew(shared, &client, vm.vdc, vm.org, &there).await;
                    }
                    told!(made.inspect_err(|e| failed("Failed to create VirtualMachine in remote cluster", vm, e)))
                }
            };
            if !at(Step::VmMade, shared.store.vm_made(claim, &uid)).await? {
                // it was deleted meanwhile: then nobody else looks for what was just made
                if shared.store.vm_tombstone(vm.id.0).await? == Some(true) {
                    remove::collect(shared, hub, &key, vm.id.0, &uid).await?;
                }
                return Ok(lost());
            }
            uid
        }
    };
    let machine = Machine { client: &client, key: &key, uid: &uid, there: &there };
    if vm.applied == Some(vm.generation) {
        if let Some(names) = shared.store.vm_names_due(vm.id).await? {
            match apply::rename(shared, claim, names, &machine).await? {
                Outcome::Done => {}
                other => return Ok(other),
            }
        }
        return disks::clear(shared, claim, vm, &machine).await;
    }
    apply::apply(shared, claim, vm, &machine).await
}

/// A machine that its template's instance makes; or why it is not there.
async fn of_instance(client: &Client, key: &Key, vm: &VmWork) -> hub::Result<Result<String, Outcome>> {
    if let Some(uid) = at(Step::VmFind, find_living(client, key, vm)).await? {
        return Ok(Ok(uid));
    }
    let stands = at(Step::InstanceStand, instance::stand(client, &key.namespace, vm.vapp)).await?;
    Ok(Err(match stands {
        Stand::Failed(why) => Outcome::Failed(instance::failed(&why).into()),
        Stand::NotThere if vm.instance_made => Outcome::Failed(instance::GONE.into()),
        // all of it was made: now or never
        Stand::Ready => match find_living(client, key, vm).await? {
            Some(uid) => return Ok(Ok(uid)),
            None => Outcome::Failed(instance::DELETED.into()),
        },
        Stand::NotThere | Stand::Pending => Outcome::Wait(Duration::from_secs(5), instance::MADE.into()),
    }))
}

fn lost() -> Outcome {
    Outcome::Retry(None, "another worker took it over, or it was deleted meanwhile".into())
}

/// A hub that is down has been said to be: its machines are no news then.
fn failed(what: &str, vm: &VmWork, e: &hub::Error) {
    if !matches!(e, hub::Error::Unreachable { why: Reach::Down, .. }) {
        let hub = vm.hub.as_ref().map(|h| h.0.as_str());
        tracing::warn!(hub_id = hub, vm_id = %vm.id, kind = e.key(), error = %e, "{what}");
    }
}

/// What its guest is told, and the machine, halted.
async fn make(client: &Client, vm: &VmWork, there: &Place, told: &Told, wanted: &shape::Vm) -> hub::Result<String> {
    let owner = Owner::new(VM_ID, vm.id);
    let home = Home {
        namespace: there.namespace.clone(),
        uid: there.namespace_uid.clone().unwrap_or_default(),
        vdc: vm.vdc.0,
    };
    let init = match guest_shape::secret(&wanted.identity, told) {
        Ok(secret) => Some(secret).filter(|s| s["data"].as_object().is_some_and(|data| !data.is_empty())),
        Err(e) => return Err(hub::Error::Denied { message: e.to_string(), causes: Vec::new() }),
    };
    let kept = match &init {
        Some(init) => {
            let kept = client.create_or_adopt(&SECRETS, init, &owner, Some(&home));
            Some(at(Step::GuestMake, kept).await?)
        }
        None => None,
    };
    let manifest = shape::virtual_machine(wanted);
    let made = client.create_or_adopt(&VIRTUAL_MACHINES, &manifest, &owner, Some(&home));
    let uid = at(Step::VmMake, made).await?.uid;
    if let Some(kept) = kept {
        let key = Key::new(&there.namespace, cloud_init_name(&vm.hub_name));
        let tie = secret::tie(client, &key, &kept, &VIRTUAL_MACHINES, &vm.hub_name, &uid);
        at(Step::GuestTie, tie).await?;
    }
    Ok(uid)
}

/// What stands under its name on the hub, if it is ours: made by OpenShift, or by a call whose answer was lost.
async fn find_ours(client: &Client, key: &Key, vm: &VmWork) -> hub::Result<Option<String>> {
    Ok(ours(client, key, vm).await?.and_then(|found| found["metadata"]["uid"].as_str().map(str::to_owned)))
}

async fn ours(client: &Client, key: &Key, vm: &VmWork) -> hub::Result<Option<Value>> {
    match client.get(&VIRTUAL_MACHINES, key).await {
        Ok(found) if found["metadata"]["labels"][VM_ID] == vm.id.to_string().as_str() => Ok(Some(found)),
        Ok(_) => Err(hub::Error::NameTaken(format!("VirtualMachine {key}"))),
        Err(hub::Error::NotFound(_)) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The same of one that stays: what is on its way out is waited out, and never taken for the one that is to be there.
async fn find_living(client: &Client, key: &Key, vm: &VmWork) -> hub::Result<Option<String>> {
    match ours(client, key, vm).await? {
        Some(found) if !found["metadata"]["deletionTimestamp"].is_null() => {
            Err(hub::Error::BeingDeleted(format!("VirtualMachine {key}")))
        }
        found => Ok(found.and_then(|found| found["metadata"]["uid"].as_str().map(str::to_owned))),
    }
}
