//! Removes a VM from its hub, with what belongs to it. It is gone only when that is proven.
use super::{
    super::{
        instance::{self, Stand},
        secret, told,
    },
    find_ours, lost, snapshots,
};
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
};
use hub::{
    Key,
    apply::{Deleted, Owner, Propagation},
    resource::VIRTUAL_MACHINES,
    shape::names::{VM_ID, cloud_init_name},
};
use model::{HubId, Result};
use std::time::Duration;
use store::{Claim, VmWork};
use uuid::Uuid;

pub(super) async fn remove(shared: &Shared, claim: &Claim, vm: &VmWork) -> Result<Outcome> {
    let Some(hub) =
        vm.hub.as_ref().filter(|_| vm.attempted || vm.uid.is_some() || (vm.instance_of.is_some() && vm.vapp_attempted))
    else {
        // no call was ever attempted: nothing of it can be anywhere
        at(Step::VmGone, shared.store.vm_gone(claim)).await?;
        return Ok(Outcome::Done);
    };
    let Some(there) = shared.store.place(vm.vdc, hub).await? else {
        at(Step::VmGone, shared.store.vm_gone(claim)).await?;
        return Ok(Outcome::Done);
    };
    let client = shared.hubs.client(hub).await?;
    let key = Key::new(&there.namespace, &vm.hub_name);
    let uid = match &vm.uid {
        Some(uid) => Some(uid.clone()),
        // it may still be made
        None if vm.instance_of.is_some()
            && told!(at(Step::InstanceStand, instance::stand(&client, &there.namespace, vm.vapp)).await)
                == Stand::Pending =>
        {
            return Ok(Outcome::Wait(Duration::from_secs(1), instance::MADE.into()));
        }
        // an answer may have been lost: what is there under our name and label is ours
        None => match at(Step::VmFind, find_ours(&client, &key, vm)).await {
            Err(hub::Error::NameTaken(_)) => None,
            other => told!(other),
        },
    };
    if let Some(uid) = &uid {
        if vm.uid.is_none() && !at(Step::VmMade, shared.store.vm_made(claim, uid)).await? {
            return Ok(lost());
        }
        let delete = client.delete_fenced(&VIRTUAL_MACHINES, &key, uid, Propagation::Foreground);
        let deleted = match at(Step::VmDelete, delete).await {
            Err(hub::Error::NotOurs(_)) => Deleted::Gone,
            other => told!(other),
        };
        let gone = client.is_gone(&VIRTUAL_MACHINES, &key, uid);
        if deleted != Deleted::Gone && !told!(at(Step::VmGoneThere, gone).await) {
            return Ok(Outcome::Wait(Duration::from_secs(1), "The hub is deleting it.".into()));
        }
    }
    if shared.store.vm_had_snapshots(vm.id).await?
        && !told!(at(Step::SnapshotDelete, snapshots::clear(&client, &there.namespace, vm)).await)
    {
        return Ok(Outcome::Wait(Duration::from_secs(1), "The hub is deleting its snapshots.".into()));
    }
    let (guest, owner) = (Key::new(&there.namespace, cloud_init_name(&vm.hub_name)), Owner::new(VM_ID, vm.id));
    told!(at(Step::GuestDelete, secret::remove(&client, &guest, &owner)).await);
    at(Step::VmGone, shared.store.vm_gone(claim)).await?;
    Ok(Outcome::Done)
}

/// A machine that was deleted here and turned up on its hub all the same: a create whose answer was lost for very long.
pub(crate) async fn collect(shared: &Shared, hub: &HubId, key: &Key, vm: Uuid, uid: &str) -> Result<()> {
    let client = shared.hubs.client(hub).await?;
    let delete = client.delete_fenced(&VIRTUAL_MACHINES, key, uid, Propagation::Foreground);
    let collected = match at(Step::VmCollect, delete).await {
        Ok(_) => {
            let guest = Key::new(&key.namespace, cloud_init_name(&key.name));
            secret::remove(&client, &guest, &Owner::new(VM_ID, vm)).await
        }
        Err(e) => Err(e),
    };
    match collected {
        Ok(()) => tracing::warn!(hub_id = %hub, object = %key, uid, "removed what was left of a deleted VM"),
        Err(e) => {
            tracing::debug!(hub_id = %hub, object = %key, error = %e, "what is left of a deleted VM stays for now")
        }
    }
    Ok(())
}
