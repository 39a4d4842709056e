//! A VDC on its hubs: namespace, quota and policies, made when first needed, kept in step, removed with it.
use super::{place, refused, told};
use crate::{
    Shared,
    queue::{Outcome, Why},
    settle,
};
use hub::{
    Client, Key,
    apply::{Deleted, Owner, Propagation},
    resource::{NAMESPACES, NETWORK_POLICIES, RESOURCE_QUOTAS},
    shape::{names::VDC_ID, namespace as shape},
};
use model::{HubId, Kind, Result, can, placement};
use std::time::Duration;
use store::{Claim, Place, VdcWork};

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
        let placed = placement::place(&wish, &shared.store.candidates(None).await?);
        let Some(hub) = placed.hub else {
            return Ok(Outcome::Wait(Duration::from_secs(30), placed.because.into()));
        };
        shared.store.place_want(vdc.id, &hub).await?;
        let Some(again) = shared.store.vdc_work(claim.id).await? else { return Ok(Outcome::Done) };
        vdc = again;
    }
    let mut worst = Outcome::Done;
    for at in vdc.places.iter().filter(|p| !p.ready || p.applied != Some(vdc.version)) {
        match keep(shared, claim, &vdc, at).await? {
            Outcome::Done => shared.store.wake_waiting(&at.hub.0).await?,
            other => worst = on(&at.hub, other),
        }
    }
    Ok(worst)
}

async fn keep(shared: &Shared, claim: &Claim, vdc: &VdcWork, at: &Place) -> Result<Outcome> {
    let client = shared.hubs.client(&at.hub).await?;
    let labels = place(vdc.org, &vdc.org_name, vdc.id, &vdc.name, &at.namespace);
    let owner = Owner::new(VDC_ID, vdc.id);
    let key = Key::global(&at.namespace);
    let uid = match &at.namespace_uid {
        Some(uid) => {
            let patch = shape::namespace_patch(&labels, vdc.enabled);
            told!(client.patch_fenced(&NAMESPACES, &key, uid, patch).await);
            uid.clone()
        }
        None => {
            let manifest = shape::namespace(&labels, vdc.enabled, false);
            let made = match client.create_or_adopt(&NAMESPACES, &manifest, &owner, None).await {
                Ok(made) => made,
                Err(e) => {
                    return Ok(refused(&e).because(|why| Why {
                        full: format!("failed to create namespace: {}", why.full),
                        plain: format!("failed to create namespace: {}", why.plain),
                    }));
                }
            };
            if !shared.store.place_made(claim, &at.hub, &made.uid).await? {
                return Ok(lost());
            }
            made.uid
        }
    };
    let home = hub::apply::Home { namespace: at.namespace.clone(), uid, vdc: vdc.id.0 };
    let quota = told!(
        client
            .create_or_adopt(&RESOURCE_QUOTAS, &shape::resource_quota(&labels, &vdc.limits), &owner, Some(&home))
            .await
    );
    if quota.adopted {
        let key = Key::new(&at.namespace, shape::QUOTA);
        told!(client.patch_fenced(&RESOURCE_QUOTAS, &key, &quota.uid, shape::resource_quota_patch(&vdc.limits)).await);
    }
    for policy in shape::network_policies(&labels, shape::Egress::Open) {
        told!(client.create_or_adopt(&NETWORK_POLICIES, &policy, &owner, Some(&home)).await);
    }
    if !shared.store.place_applied(claim, &at.hub, &quota.uid, vdc.version).await? {
        return Ok(lost());
    }
    Ok(Outcome::Done)
}

/// The namespaces go one after the other; a place is forgotten only when its namespace is proven to be gone.
async fn remove(shared: &Shared, claim: &Claim, vdc: &VdcWork) -> Result<Outcome> {
    let mut worst = Outcome::Done;
    for at in &vdc.places {
        match remove_at(shared, claim, vdc, at).await? {
            Outcome::Done => {}
            other => worst = on(&at.hub, other),
        }
    }
    Ok(worst)
}

async fn remove_at(shared: &Shared, claim: &Claim, vdc: &VdcWork, at: &Place) -> Result<Outcome> {
    let client = shared.hubs.client(&at.hub).await?;
    let uid = match &at.namespace_uid {
        Some(uid) => Some(uid.clone()),
        None => told!(made_by_an_earlier_try(&client, vdc, at).await),
    };
    let Some(uid) = uid else {
        shared.store.place_gone(claim, &at.hub).await?;
        return Ok(Outcome::Done);
    };
    let key = Key::global(&at.namespace);
    let deleted = match client.delete_fenced(&NAMESPACES, &key, &uid, Propagation::Background).await {
        // another has the name now: ours is gone
        Err(hub::Error::NotOurs(_)) => Deleted::Gone,
        other => told!(other),
    };
    if deleted == Deleted::Gone || told!(client.is_gone(&NAMESPACES, &key, &uid).await) {
        shared.store.place_gone(claim, &at.hub).await?;
        return Ok(Outcome::Done);
    }
    let why = format!("The namespace {} is still being deleted.", at.namespace);
    Ok(Outcome::Wait(Duration::from_secs(2), why.into()))
}

async fn made_by_an_earlier_try(client: &Client, vdc: &VdcWork, at: &Place) -> hub::Result<Option<String>> {
    match client.get(&NAMESPACES, &Key::global(&at.namespace)).await {
        Ok(found) if found["metadata"]["labels"][VDC_ID] == vdc.id.to_string().as_str() => {
            Ok(found["metadata"]["uid"].as_str().map(str::to_owned))
        }
        Ok(_) | Err(hub::Error::NotFound(_)) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Asks for the VDC's place on a hub, for a machine that needs it.
pub(super) async fn want(shared: &Shared, vdc: model::VdcId, org: model::OrgId, hub: &HubId) -> Result<()> {
    shared.store.place_want(vdc, hub).await?;
    shared.store.enqueue(Kind::Vdc, vdc, org, "").await
}

/// For the provider: which of the VDC's hubs it is about.
fn on(hub: &HubId, outcome: Outcome) -> Outcome {
    outcome.because(|why| Why { full: format!("{hub}: {}", why.full), ..why })
}

fn lost() -> Outcome {
    Outcome::Retry(None, "another worker took it over".into())
}
