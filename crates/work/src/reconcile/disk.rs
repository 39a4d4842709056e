//! An independent disk on its hub: a DataVolume of its own. VMs that it is put into or taken out of see to that themselves.
use super::{
    place, refused, told, vdc,
    vm::{cannot_grow, grow},
};
use crate::{
    Shared,
    drill::{Step, at},
    follow_disks,
    queue::Outcome,
    settle,
};
use hub::{
    Client, Key,
    apply::{Deleted, Home, Owner, Propagation},
    resource::DATA_VOLUMES,
    shape::{disk as shape, names::DISK_ID},
};
use model::{HubId, Result, can, placement};
use std::time::Duration;
use store::{Claim, DiskWork, Place};
use uuid::Uuid;

pub(super) async fn reconcile(shared: &Shared, claim: &Claim) -> Result<Outcome> {
    let Some(disk) = shared.store.disk_work(claim.id).await? else { return Ok(Outcome::Done) };
    if disk.gone {
        return Ok(Outcome::Done);
    }
    let outcome = if disk.deleted { remove(shared, claim, &disk).await? } else { keep(shared, claim, &disk).await? };
    if let Outcome::Failed(why) = &outcome {
        shared.store.disk_problem(claim, &why.plain).await?;
    }
    settle::disk(shared, disk.id, &outcome).await?;
    Ok(outcome)
}

fn lost() -> Outcome {
    Outcome::Retry(None, "another worker took it over, or it was deleted meanwhile".into())
}

fn shaped(disk: &DiskWork, there: &Place) -> shape::Independent {
    shape::Independent {
        place: place(disk.org, &disk.org_name, disk.vdc, &disk.vdc_name, &there.namespace),
        id: disk.id.0,
        object: disk.hub_name.clone(),
        name: disk.name.clone(),
        description: disk.description.clone(),
        owner: disk.owner_name.clone(),
        size_mb: u64::try_from(disk.size_mb).unwrap_or_default(),
        storage_class: Some(disk.class.clone()).filter(|c| !c.is_empty()),
    }
}

/// Where a disk goes that has no place yet.
enum Choice {
    On(HubId),
    /// It could be on several hubs, and can't follow a machine to another one: it is made where its first machine is.
    WithItsMachine,
    /// Its machine has no place either.
    AfterItsMachine,
    Nowhere,
}

async fn choose(shared: &Shared, disk: &DiskWork) -> Result<Choice> {
    if disk.attached {
        return Ok(disk.vm_hub.clone().map_or(Choice::AfterItsMachine, Choice::On));
    }
    let wish = placement::Wish { capability: Some(can::VMS), ..shared.store.wishes(disk.org, disk.vdc).await? };
    let mut fits = placement::fitting(&wish, &shared.store.candidates(None, Some(disk.vdc)).await?);
    Ok(match (fits.pop(), fits.len()) {
        (None, _) => Choice::Nowhere,
        (Some(only), 0) => Choice::On(only),
        _ => Choice::WithItsMachine,
    })
}

async fn keep(shared: &Shared, claim: &Claim, disk: &DiskWork) -> Result<Outcome> {
    let Some(hub) = &disk.hub else {
        return place_it(shared, claim, disk).await;
    };
    let Some(there) = shared.store.place(disk.vdc, hub).await?.filter(|p| p.ready) else {
        vdc::want(shared, disk.vdc, disk.org, hub).await?;
        return Ok(Outcome::Wait(Duration::from_secs(5), "The VDC's namespace is being made.".into()));
    };
    let client = shared.hubs.client(hub).await?;
    let wanted = shaped(disk, &there);
    let key = Key::new(&there.namespace, &disk.hub_name);
    let uid = match &disk.uid {
        Some(uid) => uid.clone(),
        None => {
            // from here on something of it may be on that hub
            if !at(Step::DiskAttempted, shared.store.disk_attempted(claim)).await? {
                return Ok(lost());
            }
            let home = Home {
                namespace: there.namespace.clone(),
                uid: there.namespace_uid.clone().unwrap_or_default(),
                vdc: disk.vdc.0,
            };
            let (manifest, owner) = (shape::data_volume(&wanted), Owner::new(DISK_ID, disk.id));
            let made = client.create_or_adopt(&DATA_VOLUMES, &manifest, &owner, Some(&home));
            let made = match at(Step::DiskMake, made).await {
                Err(hub::Error::NotFound(_)) => return vdc::anew(shared, &client, disk.vdc, disk.org, &there).await,
                other => told!(other),
            };
            if !at(Step::DiskMade, shared.store.disk_made(claim, &made.uid)).await? {
                // it was deleted meanwhile: then nobody else looks for what was just made
                if shared.store.disk_tombstone(disk.id.0).await? == Some(true) {
                    collect(shared, hub, &key, &made.uid).await?;
                }
                return Ok(lost());
            }
            made.uid
        }
    };
    if disk.applied == Some(disk.generation) {
        return Ok(Outcome::Done);
    }
    let named = client.patch_fenced(&DATA_VOLUMES, &key, &uid, shape::names(&wanted));
    match at(Step::DiskNames, named).await {
        Err(hub::Error::NotOurs(_) | hub::Error::NotFound(_)) => {
            follow_disks::missing(shared, hub, disk.id.0, &uid).await?;
            return Ok(Outcome::Failed("It was deleted on its hub by hand. Delete it here.".into()));
        }
        other => drop(told!(other)),
    }
    if disk.applied_mb < disk.size_mb {
        let grown = at(Step::DiskGrow, grow(&client, &key, disk.size_mb)).await;
        if let Err(hub::Error::Denied { message, .. }) = &grown {
            let kept = shared.store.disk_keeps_size(claim, disk.id, disk.size_mb, disk.applied_mb).await?
                && at(Step::DiskApplied, shared.store.disk_applied(claim, disk.generation, disk.applied_mb)).await?;
            return Ok(if kept { Outcome::Failed(cannot_grow(&disk.name, message).into()) } else { lost() });
        }
        if !told!(grown) {
            return Ok(Outcome::Wait(Duration::from_secs(1), "It is being made; it grows then.".into()));
        }
    }
    let applied = shared.store.disk_applied(claim, disk.generation, disk.size_mb);
    Ok(if at(Step::DiskApplied, applied).await? { Outcome::Done } else { lost() })
}

async fn place_it(shared: &Shared, claim: &Claim, disk: &DiskWork) -> Result<Outcome> {
    Ok(match choose(shared, disk).await? {
        Choice::On(hub) => {
            at(Step::DiskPlace, shared.store.disk_place(claim, &hub)).await?;
            Outcome::Wait(Duration::ZERO, "A place for it was found.".into())
        }
        // there is nothing on it yet, so that this is all there is to do
        Choice::WithItsMachine => {
            let applied = shared.store.disk_applied(claim, disk.generation, disk.size_mb);
            if at(Step::DiskApplied, applied).await? { Outcome::Done } else { lost() }
        }
        Choice::AfterItsMachine => Outcome::Wait(Duration::from_secs(1), "A place for its VM is looked for.".into()),
        Choice::Nowhere => {
            let wish = placement::Wish { capability: Some(can::VMS), ..Default::default() };
            Outcome::Wait(Duration::from_secs(30), placement::no_hub(&wish).into())
        }
    })
}

async fn remove(shared: &Shared, claim: &Claim, disk: &DiskWork) -> Result<Outcome> {
    let place = match &disk.hub {
        Some(hub) if disk.attempted || disk.uid.is_some() => shared.store.place(disk.vdc, hub).await?,
        // no call was ever attempted: nothing of it can be anywhere
        _ => None,
    };
    if let (Some(there), Some(hub)) = (place, &disk.hub) {
        let client = shared.hubs.client(hub).await?;
        let key = Key::new(&there.namespace, &disk.hub_name);
        // an answer may have been lost: what is there under our name and label is ours
        let uid = match &disk.uid {
            Some(uid) => Some(uid.clone()),
            None => told!(find_ours(&client, &key, disk.id.0).await),
        };
        if let Some(uid) = uid {
            let delete = client.delete_fenced(&DATA_VOLUMES, &key, &uid, Propagation::Foreground);
            let deleted = match at(Step::DiskDelete, delete).await {
                Err(hub::Error::NotOurs(_)) => Deleted::Gone,
                other => told!(other),
            };
            if deleted != Deleted::Gone && !told!(client.is_gone(&DATA_VOLUMES, &key, &uid).await) {
                return Ok(Outcome::Wait(Duration::from_secs(1), "The hub is deleting it.".into()));
            }
        }
    }
    at(Step::DiskGone, shared.store.disk_gone(claim)).await?;
    Ok(Outcome::Done)
}

async fn find_ours(client: &Client, key: &Key, id: Uuid) -> hub::Result<Option<String>> {
    match client.get(&DATA_VOLUMES, key).await {
        Ok(found) if found["metadata"]["labels"][DISK_ID] == id.to_string().as_str() => {
            Ok(found["metadata"]["uid"].as_str().map(str::to_owned))
        }
        Ok(_) | Err(hub::Error::NotFound(_)) => Ok(None),
        Err(e) => Err(e),
    }
}

/// A disk that was deleted here and turned up on its hub all the same: a create whose answer was lost for very long.
pub(crate) async fn collect(shared: &Shared, hub: &HubId, key: &Key, uid: &str) -> Result<()> {
    let client = shared.hubs.client(hub).await?;
    match client.delete_fenced(&DATA_VOLUMES, key, uid, Propagation::Foreground).await {
        Ok(_) => tracing::warn!(hub_id = %hub, object = %key, uid, "removed what was left of a deleted disk"),
        Err(e) => {
            let refusal = refused(&e);
            tracing::debug!(hub_id = %hub, object = %key, ?refusal, "what is left of a deleted disk stays for now");
        }
    }
    Ok(())
}
