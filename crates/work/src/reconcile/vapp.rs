//! A vApp: where it goes, and what OpenShift makes of a template that asks for it.
use super::instance;
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
    settle,
};
use model::{
    HubId, Result, VappId, VmId, can,
    placement::{self, Placement, Wish},
};
use std::time::{Duration, Instant};
use store::{Claim, Moving, Placed, VappWork};

pub(super) async fn reconcile(shared: &Shared, claim: &Claim) -> Result<Outcome> {
    let Some(vapp) = shared.store.vapp_work(claim.id).await? else { return Ok(Outcome::Done) };
    if vapp.gone {
        return Ok(Outcome::Done);
    }
    let outcome = if vapp.deleted { remove(shared, claim, &vapp).await? } else { keep(shared, claim, &vapp).await? };
    settle::vapp(shared, vapp.id, &outcome).await?;
    Ok(outcome)
}

async fn keep(shared: &Shared, claim: &Claim, vapp: &VappWork) -> Result<Outcome> {
    let chosen = match &vapp.hub {
        Some(hub) if vapp.attempted => Chosen::Before(hub.clone()),
        _ => choose(shared, claim, vapp).await?,
    };
    let hub = match &chosen {
        Chosen::Now(hub) | Chosen::Before(hub) => hub.clone(),
        Chosen::Nowhere(why) => return Ok(Outcome::Wait(Duration::from_secs(30), why.clone().into())),
    };
    // machines that were added later belong where the others are
    if let Chosen::Before(_) = chosen {
        let late = at(Step::VappSpread, shared.store.vapp_spread(claim)).await?;
        late.into_iter().for_each(|vm| routed(vm, &hub));
    }
    if let Some((from, moving)) = shared.store.vapp_move(vapp.id).await? {
        return move_on(shared, claim, from, moving).await;
    }
    match &vapp.instance_of {
        Some(source) => instance::keep(shared, claim, vapp, &hub, source).await,
        None => Ok(Outcome::Done),
    }
}

/// A vApp that comes from another VDC: the one it was copied from goes when all of this one is there.
async fn move_on(shared: &Shared, claim: &Claim, from: VappId, moving: Moving) -> Result<Outcome> {
    match moving {
        Moving::There => {}
        Moving::UnderWay => {
            return Ok(Outcome::Wait(Duration::from_secs(2), "Its disks are being copied.".into()));
        }
        Moving::Lost(name) => {
            let why = format!(
                "The VM {name}, which is moved, is missing on its hub, and its disks with it. Delete this vApp; what is left of the other one stays."
            );
            return Ok(Outcome::Failed(why.into()));
        }
        Moving::Stuck(name, why) => {
            let why = format!("The VM {name} can't be made: {why} Delete this vApp; the one that is moved stays.");
            return Ok(Outcome::Failed(why.into()));
        }
    }
    match at(Step::VappMoveEnd, shared.store.vapp_move_end(claim, from)).await? {
        true => Ok(Outcome::Wait(Duration::from_secs(2), "The one it was copied from is being deleted.".into())),
        false => Ok(Outcome::Retry(None, "another worker took it over".into())),
    }
}

/// Where it goes.
enum Chosen {
    /// All its machines were told so.
    Now(HubId),
    /// Some of its machines were begun there; others may have come since.
    Before(HubId),
    Nowhere(String),
}

async fn choose(shared: &Shared, claim: &Claim, vapp: &VappWork) -> Result<Chosen> {
    // a network of it may come to live elsewhere while it is chosen, or a disk come into it: then it follows
    for _ in 0..5 {
        let started = Instant::now();
        let (wish, placement) = decide(shared, vapp).await?;
        metrics::histogram!("ssvirt_hub_selection_seconds", "kind" => "virtualmachines")
            .record(started.elapsed().as_secs_f64());
        let vms = shared.store.vms_known_of(vapp.id).await?;
        let found = !wish.bound_to.is_empty();
        match at(Step::VappPlace, shared.store.vapp_place(claim, &placement, found)).await? {
            Placed::Done => {}
            Placed::Elsewhere => continue,
            Placed::Lost => {
                // its machines may have been begun meanwhile: it stays where they are
                let now = shared.store.vapp_work(claim.id).await?.filter(|now| now.attempted);
                let there = now.and_then(|now| now.hub).map(Chosen::Before);
                return Ok(there.unwrap_or_else(|| Chosen::Nowhere(placement::no_hub(&wish))));
            }
        }
        let Some(hub) = placement.hub else {
            tracing::warn!(vapp_id = %vapp.id, "{}", placement.because);
            return Ok(Chosen::Nowhere(placement.because));
        };
        // a place that is chosen again before anything was made there is no news
        for vm in vms.iter().filter(|vm| vm.hub.as_ref() != Some(&hub)) {
            routed(vm.id, &hub);
            if wish.hubs.len() != 1 {
                tracing::info!(machine = vm.name, kubevirtConfig = %hub, "Automatically assigned KubevirtConfig to machine");
            }
        }
        return Ok(Chosen::Now(hub));
    }
    Ok(Chosen::Nowhere("Its networks or disks came to be in different places again and again.".into()))
}

/// What is asked of hubs, and what follows from how they are now.
async fn decide(shared: &Shared, vapp: &VappWork) -> Result<(Wish, Placement)> {
    let store = &shared.store;
    let needs = store.needs(vapp.id).await?;
    let mut candidates = store.candidates(needs.template.as_deref(), Some(vapp.vdc)).await?;
    for (hub, lack) in store.hubs_lacking(&needs).await? {
        candidates.iter_mut().filter(|c| c.id == hub).for_each(|c| c.lacks.push(lack.clone()));
    }
    let wish = Wish {
        capability: Some(can::VMS),
        bound_to: store.hubs_with_machines_of(vapp.id).await?,
        ties: store.ties(vapp.id, &needs).await?,
        cpus: vapp.cpus,
        memory_mb: vapp.memory_mb,
        ..store.wishes(vapp.org, vapp.vdc).await?
    };
    let open = candidates.iter().filter(|h| h.capabilities.contains(&can::VMS));
    tracing::info!(capability = can::VMS.key(), count = open.clone().count(), "Found hubs with capability");
    let mut placement = placement::place(&wish, &candidates);
    if placement.hub.is_none() && open.clone().all(|h| !h.lacks.is_empty()) {
        // where no hub will ever have all of it, one that would take the rest says what is missing, in words for its people
        candidates.iter_mut().for_each(|c| c.lacks.clear());
        placement = placement::place(&wish, &candidates);
    }
    Ok((wish, placement))
}

fn routed(vm: VmId, hub: &HubId) {
    tracing::info!(hub_id = %hub, vm_id = %vm, "Selected hub for VM request");
    metrics::counter!("ssvirt_vm_requests_routed_total", "hub" => hub.0.clone()).increment(1);
}

/// What made its machines goes first, so that it makes no more; each machine goes by its own work.
async fn remove(shared: &Shared, claim: &Claim, vapp: &VappWork) -> Result<Outcome> {
    if vapp.instance_of.is_some() && vapp.attempted {
        match instance::remove(shared, vapp).await? {
            Outcome::Done => {}
            other => return Ok(other),
        }
    }
    if vapp.vms_left > 0 {
        return Ok(Outcome::Wait(Duration::from_secs(5), "Its VMs are being deleted.".into()));
    }
    at(Step::VappGone, shared.store.vapp_gone(claim)).await?;
    Ok(Outcome::Done)
}
