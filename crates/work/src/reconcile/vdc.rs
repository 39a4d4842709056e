//! A VDC on its hubs: namespace, quota and policies, made when first needed, kept in step, removed with it.
mod fence;

use super::{place, refused, told};
use crate::{
    Shared,
    drill::{Step, at},
    queue::{Outcome, Why},
    settle,
};
use fence::{Difference, Fence, There};
use hub::{
    Client, Key,
    apply::{Deleted, Home, Owner, Propagation},
    read,
    resource::{DATA_VOLUMES, NAMESPACES, USER_DEFINED_NETWORKS, VIRTUAL_MACHINES},
    shape::{
        names::{Place as Labels, VDC_ID},
        namespace as shape, network,
    },
};
use model::{HubId, Kind, Result, can, placement};
use std::time::Duration;
use store::{Claim, Place, VdcWork};

const SOON: Duration = Duration::from_millis(500);

pub(super) async fn reconcile(shared: &Shared, claim: &Claim) -> Result<Outcome> {
    let Some(vdc) = shared.store.vdc_work(claim.id).await? else { return Ok(Outcome::Done) };
    let (id, version) = (vdc.id, vdc.version);
    let outcome = if vdc.deleted { remove(shared, claim, &vdc).await? } else { keep_all(shared, claim, vdc).await? };
    settle::vdc(shared, id, version, &outcome).await?;
    Ok(outcome)
}

async fn keep_all(shared: &Shared, claim: &Claim, mut vdc: VdcWork) -> Result<Outcome> {
    if vdc.places.is_empty() {
        // its first place is where its first machine would go
        let wish = placement::Wish { capability: Some(can::VMS), ..shared.store.wishes(vdc.org, vdc.id).await? };
        let placed = placement::place(&wish, &shared.store.candidates(None, Some(vdc.id)).await?);
        let Some(hub) = placed.hub else {
            return Ok(Outcome::Wait(Duration::from_secs(30), placed.because.into()));
        };
        at(Step::PlaceWant, shared.store.place_want(vdc.id, &hub)).await?;
        let Some(again) = shared.store.vdc_work(claim.id).await? else { return Ok(Outcome::Done) };
        vdc = again;
    }
    if !vdc.named {
        // before a place is done with it: whoever goes on after us must find it undone
        at(Step::VdcNames, shared.store.vdc_rename_all(&vdc)).await?;
    }
    let mut worst = Outcome::Done;
    let news = |p: &Place| !p.ready || p.applied != Some(vdc.version);
    for there in vdc.places.iter().filter(|p| p.cordoned || p.look || news(p)) {
        if there.cordoned && at(Step::PlaceClear, shared.store.place_clear(claim, &there.hub)).await? {
            match clear(shared, claim, &vdc, there).await? {
                Outcome::Done => {}
                other => worst = on(&there.hub, other),
            }
            continue;
        }
        let news = news(there);
        if !news && !there.look {
            continue;
        }
        match keep(shared, claim, &vdc, there).await? {
            Outcome::Done if news => shared.store.wake_waiting(&there.hub.0).await?,
            Outcome::Done => {}
            other => worst = on(&there.hub, other),
        }
    }
    Ok(worst)
}

async fn keep(shared: &Shared, claim: &Claim, vdc: &VdcWork, there: &Place) -> Result<Outcome> {
    let client = shared.hubs.client(&there.hub).await?;
    let labels = place(vdc.org, &vdc.org_name, vdc.id, &vdc.name, &there.namespace);
    let owner = Owner::new(VDC_ID, vdc.id);
    let key = Key::global(&there.namespace);
    if there.namespace_uid.is_none() {
        let manifest = shape::namespace(&labels, vdc.enabled, there.own_network);
        let made = client.create_or_adopt(&NAMESPACES, &manifest, &owner, None);
        let made = match at(Step::NamespaceMake, made).await {
            Ok(made) => made,
            Err(e) => {
                return Ok(refused(&e).because(|why| Why {
                    full: format!("failed to create namespace: {}", why.full),
                    plain: format!("failed to create namespace: {}", why.plain),
                }));
            }
        };
        if !at(Step::PlaceMade, shared.store.place_made(claim, &there.hub, &made.uid)).await? {
            return lost(shared, vdc, there).await;
        }
    }
    let found = match client.get(&NAMESPACES, &key).await {
        Ok(found) if there.namespace_uid.as_ref().is_none_or(|uid| found["metadata"]["uid"] == uid.as_str()) => found,
        Ok(_) | Err(hub::Error::NotFound(_)) => return anew(shared, &client, vdc.id, vdc.org, there).await,
        Err(e) => return Ok(refused(&e)),
    };
    if !found["metadata"]["deletionTimestamp"].is_null() {
        return Ok(refused(&hub::Error::BeingDeleted(format!("the namespace {}", there.namespace))));
    }
    let uid = found["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let home = Home { namespace: there.namespace.clone(), uid, vdc: vdc.id.0 };
    let fence = Fence::of(shared, vdc, &labels, there).await?;
    let is = told!(at(Step::FenceLook, There::look(&client, found, &there.namespace)).await);
    let (shape, differences) = (fence.hash(), fence.differences(&is));
    // the same was brought there before, and nobody here asked for anything else since
    if there.applied == Some(vdc.version) && there.shape == shape && !differences.is_empty() {
        let what = by_hand(&differences);
        tracing::warn!(hub_id = %there.hub, vdc_id = %vdc.id, namespace = there.namespace, "⚠️ {what}");
        if !at(Step::PlaceDrift, shared.store.place_drifted(claim, &there.hub, vdc, &what)).await? {
            return lost(shared, vdc, there).await;
        }
    }
    let mut quota_uid = is.quota_uid().unwrap_or_default();
    for one in &differences {
        let mended = match one.mend(&client, &owner, &home, there.applied.is_none()).await {
            Err(hub::Error::NotOurs(_)) => return Ok(Outcome::Wait(SOON, "It changed while it was looked at.".into())),
            other => told!(other),
        };
        if one.is_quota() {
            quota_uid = mended;
        }
    }
    if there.own_network
        && let Some(wait) = told!(own_network(&client, &labels, &owner, &home).await)
    {
        return Ok(Outcome::Wait(SOON, wait.into()));
    }
    let applied = shared.store.place_applied(claim, &there.hub, &quota_uid, vdc.version, &shape);
    if !at(Step::PlaceApplied, applied).await? {
        return lost(shared, vdc, there).await;
    }
    Ok(Outcome::Done)
}

/// What somebody did there, past us.
fn by_hand(differences: &[Difference]) -> String {
    let all: Vec<&str> = differences.iter().map(|d| d.what.as_str()).collect();
    format!("On its hub {} by hand. It is put back.", all.join(", "))
}

/// The network of its namespace, before any machine is there. Why machines have to wait for it; None: they need not.
async fn own_network(client: &Client, labels: &Labels, owner: &Owner, home: &Home) -> hub::Result<Option<String>> {
    let manifest = network::own(labels);
    let made = client.create_or_adopt(&USER_DEFINED_NETWORKS, &manifest, owner, Some(home));
    at(Step::OwnNetworkMake, made).await?;
    let key = Key::new(&home.namespace, network::OWN);
    let there = at(Step::OwnNetworkLook, client.get(&USER_DEFINED_NETWORKS, &key)).await?;
    let waits = "The hub is making the VDC's own network.";
    Ok(network::waits(&there).map(|why| match why {
        "" => waits.to_owned(),
        why => format!("{waits} It says: {why}"),
    }))
}

/// The namespaces go one after the other; a place is forgotten only when its namespace is proven to be gone.
async fn remove(shared: &Shared, claim: &Claim, vdc: &VdcWork) -> Result<Outcome> {
    let mut worst = Outcome::Done;
    for there in &vdc.places {
        match remove_at(shared, claim, vdc, there).await? {
            Outcome::Done => {}
            other => worst = on(&there.hub, other),
        }
    }
    Ok(worst)
}

/// A hub that takes nothing new lets go of VDCs that have nothing there: what is found in the namespace all the same is left alone.
async fn clear(shared: &Shared, claim: &Claim, vdc: &VdcWork, there: &Place) -> Result<Outcome> {
    let client = shared.hubs.client(&there.hub).await?;
    if let Some(other) = told!(volume_in(&client, there, |_| true).await) {
        return Ok(held_by(there, &format!("the volume {other}, which nobody here knows"), Duration::from_secs(5)));
    }
    remove_at(shared, claim, vdc, there).await
}

async fn remove_at(shared: &Shared, claim: &Claim, vdc: &VdcWork, there: &Place) -> Result<Outcome> {
    let client = shared.hubs.client(&there.hub).await?;
    let uid = match &there.namespace_uid {
        Some(uid) => Some(uid.clone()),
        None => told!(at(Step::NamespaceFind, made_by_an_earlier_try(&client, vdc, there)).await),
    };
    let Some(uid) = uid else {
        at(Step::PlaceGone, shared.store.place_gone(claim, &there.hub)).await?;
        return Ok(Outcome::Done);
    };
    let key = Key::global(&there.namespace);
    // ours are gone by now: a machine that is still there is somebody else's, and would go with the namespace
    let machines = client.list(&VIRTUAL_MACHINES, Some(&there.namespace), "", read::meta);
    let others = told!(at(Step::NamespaceEmpty, machines).await).0;
    if let Some(other) = others.iter().find(|m| m.deleting.is_none()) {
        let what = format!("the VM {}, which is not of here", other.key.name);
        return Ok(held_by(there, &what, Duration::from_secs(60)));
    }
    // what is left of ours goes with the namespace; one that a hub made for a VM of ours goes by itself, soon after that VM
    if let Some(other) = told!(volume_in(&client, there, |v| !v.ids.ours).await) {
        return Ok(held_by(there, &format!("the volume {other}, which is not of here"), Duration::from_secs(5)));
    }
    let delete = client.delete_fenced(&NAMESPACES, &key, &uid, Propagation::Background);
    let deleted = match at(Step::NamespaceDelete, delete).await {
        // another has the name now: ours is gone
        Err(hub::Error::NotOurs(_)) => Deleted::Gone,
        other => told!(other),
    };
    if deleted == Deleted::Gone || told!(at(Step::NamespaceGone, client.is_gone(&NAMESPACES, &key, &uid)).await) {
        at(Step::PlaceGone, shared.store.place_gone(claim, &there.hub)).await?;
        return Ok(Outcome::Done);
    }
    let why = format!("The namespace {} is still being deleted.", there.namespace);
    Ok(Outcome::Wait(Duration::from_secs(2), why.into()))
}

/// The name of a volume of that kind in the namespace; none that is being deleted.
async fn volume_in(client: &Client, there: &Place, kind: fn(&read::Meta) -> bool) -> hub::Result<Option<String>> {
    let volumes = client.list(&DATA_VOLUMES, Some(&there.namespace), "", read::meta);
    let volumes = at(Step::NamespaceBare, volumes).await?.0;
    Ok(volumes.into_iter().find(|v| v.deleting.is_none() && kind(v)).map(|v| v.key.name.to_string()))
}

/// Deleting the namespace would take along what is somebody else's.
fn held_by(there: &Place, what: &str, look_again: Duration) -> Outcome {
    let why = format!("The namespace {} holds {what}. Delete or move it there.", there.namespace);
    Outcome::Wait(look_again, why.into())
}

async fn made_by_an_earlier_try(client: &Client, vdc: &VdcWork, there: &Place) -> hub::Result<Option<String>> {
    match client.get(&NAMESPACES, &Key::global(&there.namespace)).await {
        Ok(found) if found["metadata"]["labels"][VDC_ID] == vdc.id.to_string().as_str() => {
            Ok(found["metadata"]["uid"].as_str().map(str::to_owned))
        }
        Ok(_) | Err(hub::Error::NotFound(_)) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Asks for the VDC's place on a hub, for a machine that needs it.
pub(super) async fn want(shared: &Shared, vdc: model::VdcId, org: model::OrgId, hub: &HubId) -> Result<()> {
    at(Step::PlaceWant, shared.store.place_want(vdc, hub)).await?;
    shared.store.enqueue(Kind::Vdc, vdc, org, "").await
}

/// For the provider: which of the VDC's hubs it is about.
fn on(hub: &HubId, outcome: Outcome) -> Outcome {
    outcome.because(|why| Why { full: format!("{hub}: {}", why.full), ..why })
}

/// What was just done may be older than what others did meanwhile, or come after the VDC's end: it is looked at again.
async fn lost(shared: &Shared, vdc: &VdcWork, there: &Place) -> Result<Outcome> {
    shared.store.place_again(vdc.id, &there.hub).await?;
    Ok(Outcome::Retry(None, "another worker took it over".into()))
}

/// The namespace is not found. If it is truly gone, it is made anew: what was in it is lost, what comes is not.
pub(super) async fn anew(
    shared: &Shared,
    client: &Client,
    vdc: model::VdcId,
    org: model::OrgId,
    there: &Place,
) -> Result<Outcome> {
    let uid = there.namespace_uid.as_deref().unwrap_or_default();
    if told!(client.is_gone(&NAMESPACES, &Key::global(&there.namespace), uid).await) {
        tracing::warn!(hub_id = %there.hub, namespace = there.namespace, "a VDC's namespace was deleted by hand");
        shared.store.place_vanished(vdc, &there.hub, uid).await?;
        shared.store.enqueue(Kind::Vdc, vdc, org, "").await?;
    }
    Ok(Outcome::Wait(Duration::from_secs(5), "The VDC's namespace is being made anew.".into()))
}
