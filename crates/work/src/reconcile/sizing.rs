//! A sizing policy on its hubs: an instance type, made where a VM needs it, before the VM, and removed with proof.
use super::told;
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
    settle,
};
use hub::{
    Client, Key,
    apply::{Deleted, Owner, Propagation},
    read,
    resource::INSTANCE_TYPES,
    shape::{
        names::{SIZING_ID, size_name},
        sizing as shape,
    },
};
use model::{HubId, Kind, Result};
use std::time::Duration;
use store::{Claim, SizingWork, VmWork};

const SOON: Duration = Duration::from_secs(1);
/// What a hub that has instance types was found to have.
pub(super) const OFFER: &str = "instance-types";

/// A VM whose size its hub does not have yet waits for it.
pub(super) async fn first(shared: &Shared, vm: &VmWork, hub: &HubId) -> Result<Option<Outcome>> {
    let Some(id) = vm.sizing.filter(|_| vm.offers.iter().any(|o| o == OFFER)) else { return Ok(None) };
    if shared.store.sizing_ready(id, hub).await? {
        return Ok(None);
    }
    if let Some(why) = shared.store.sizing_trouble(id).await? {
        // it is tried again with whatever is wished next
        shared.store.enqueue(Kind::SizingPolicy, id, vm.org, "").await?;
        return Ok(Some(Outcome::Failed(format!("Its size can't be made on its hub: {why}").into())));
    }
    at(Step::SizingWant, shared.store.sizing_want(id, hub)).await?;
    shared.store.enqueue(Kind::SizingPolicy, id, vm.org, "").await?;
    Ok(Some(Outcome::Wait(Duration::from_secs(5), "Its size is being made on its hub.".into())))
}

pub(super) async fn reconcile(shared: &Shared, claim: &Claim) -> Result<Outcome> {
    let Some(policy) = shared.store.sizing_work(claim.id).await? else { return Ok(Outcome::Done) };
    let outcome = match (policy.gone, policy.deleted) {
        (true, _) => Outcome::Done,
        (false, true) => remove(shared, claim, &policy).await?,
        (false, false) => keep(shared, claim, &policy).await?,
    };
    settle::sizing(shared, policy.id, &outcome).await?;
    Ok(outcome)
}

async fn keep(shared: &Shared, claim: &Claim, policy: &SizingWork) -> Result<Outcome> {
    let mut worst = Outcome::Done;
    for there in policy.places.iter().filter(|p| !p.ready) {
        match make(shared, claim, policy, &there.hub).await? {
            Outcome::Done => shared.store.wake_waiting(&there.hub.0).await?,
            other => worst = other,
        }
    }
    Ok(worst)
}

async fn make(shared: &Shared, claim: &Claim, policy: &SizingWork, hub: &HubId) -> Result<Outcome> {
    let client = shared.hubs.client(hub).await?;
    let manifest = shape::instance_type(policy.id.0, policy.cpus, policy.memory_mb);
    let owner = Owner::new(SIZING_ID, policy.id);
    let made = client.create_or_adopt(&INSTANCE_TYPES, &manifest, &owner, None);
    let made = told!(at(Step::SizingMake, made).await);
    if made.adopted && !told!(fits(&client, policy).await) {
        // it can be made and deleted, and not changed; VMs that run have a revision of their own
        let key = Key::global(size_name(policy.id.0));
        let delete = client.delete_fenced(&INSTANCE_TYPES, &key, &made.uid, Propagation::Background);
        told!(at(Step::SizingDelete, delete).await);
        return Ok(Outcome::Wait(SOON, "Its size was changed on the hub by hand, and is made anew.".into()));
    }
    if !at(Step::SizingMade, shared.store.sizing_made(claim, hub, &made.uid)).await? {
        // what was just made may come after the policy's end: it is looked at again
        shared.store.sizing_again(policy.id, hub).await?;
        return Ok(Outcome::Retry(None, "another worker took it over".into()));
    }
    Ok(Outcome::Done)
}

/// Has what is there the policy's size?
async fn fits(client: &Client, policy: &SizingWork) -> hub::Result<bool> {
    let there = client.get(&INSTANCE_TYPES, &Key::global(size_name(policy.id.0))).await?;
    let size = read::instance_type(&there).map(|t| (t.cpus, t.memory_mb));
    Ok(size == Some((policy.cpus.into(), policy.memory_mb)))
}

async fn remove(shared: &Shared, claim: &Claim, policy: &SizingWork) -> Result<Outcome> {
    if policy.users > 0 {
        return Ok(Outcome::Wait(Duration::from_secs(5), "The VMs that have it are being deleted.".into()));
    }
    let mut worst = Outcome::Done;
    for there in &policy.places {
        match remove_at(shared, claim, policy, &there.hub).await? {
            Outcome::Done => {}
            other => worst = other,
        }
    }
    if worst == Outcome::Done && !at(Step::SizingGone, shared.store.sizing_gone(claim)).await? {
        return Ok(Outcome::Retry(None, "something of it came meanwhile".into()));
    }
    Ok(worst)
}

async fn remove_at(shared: &Shared, claim: &Claim, policy: &SizingWork, hub: &HubId) -> Result<Outcome> {
    let client = shared.hubs.client(hub).await?;
    let key = Key::global(size_name(policy.id.0));
    let ours = match at(Step::SizingFind, client.get(&INSTANCE_TYPES, &key)).await {
        Ok(found) if found["metadata"]["labels"][SIZING_ID] == policy.id.to_string().as_str() => {
            found["metadata"]["uid"].as_str().map(str::to_owned)
        }
        Ok(_) | Err(hub::Error::NotFound(_) | hub::Error::NotServed(_)) => None,
        Err(e) => return Ok(super::refused(&e)),
    };
    if let Some(uid) = ours {
        let delete = client.delete_fenced(&INSTANCE_TYPES, &key, &uid, Propagation::Background);
        let deleted = match at(Step::SizingDelete, delete).await {
            // another has the name now: ours is gone
            Err(hub::Error::NotOurs(_)) => Deleted::Gone,
            other => told!(other),
        };
        if deleted != Deleted::Gone && !told!(client.is_gone(&INSTANCE_TYPES, &key, &uid).await) {
            return Ok(Outcome::Wait(SOON, "The hub is deleting it.".into()));
        }
    }
    at(Step::SizingLeft, shared.store.sizing_left(claim, hub)).await?;
    Ok(Outcome::Done)
}
