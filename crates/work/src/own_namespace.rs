//! A hub's namespace for our own objects: made if it is not there, with the quota that the provider set for it.
use crate::Shared;
use hub::{
    Client, Key,
    apply::Owner,
    resource::{NAMESPACES, RESOURCE_QUOTAS},
    shape::{
        names::HUB,
        namespace::{self as shape, QUOTA},
    },
};
use model::{
    HubId, Result,
    hub::{CheckState, HubCheck},
    quota::{Limits, Measure},
};

/// One line among the hub's checks. A namespace that somebody else made will do.
pub(crate) async fn bring(shared: &Shared, hub: &HubId, client: &Client) -> Result<HubCheck> {
    let (name, limits) = shared.store.own_namespace(hub).await?.unwrap_or_default();
    let found = |state, detail, what_to_do: &str| HubCheck {
        key: "namespace".into(),
        title: "Namespace".into(),
        state,
        detail,
        what_to_do: what_to_do.to_owned(),
    };
    Ok(match made(client, hub, &name).await {
        Err(e) => found(CheckState::Warning, format!("{name} is not there. {}", e.message()), e.next_step()),
        Ok(()) => match bounded(client, hub, &name, &limits).await {
            Ok(()) => found(CheckState::Ok, format!("{name} is there.{}", words(&limits)), ""),
            Err(e) => {
                let detail = format!("{name} is there, and its quota could not be set. {}", e.message());
                found(CheckState::Warning, detail, e.next_step())
            }
        },
    })
}

async fn made(client: &Client, hub: &HubId, name: &str) -> hub::Result<()> {
    match client.get(&NAMESPACES, &Key::global(name)).await {
        Err(hub::Error::NotFound(_)) => {}
        there => return there.map(drop),
    }
    let manifest = shape::of_hub(name, &hub.0);
    match client.create_or_adopt(&NAMESPACES, &manifest, &Owner::new(HUB, hub), None).await {
        Ok(_) | Err(hub::Error::NameTaken(_)) => Ok(()),
        Err(e) => Err(e),
    }
}

/// Its quota as it should be. One under that name that somebody else made is left alone.
async fn bounded(client: &Client, hub: &HubId, name: &str, limits: &Limits) -> hub::Result<()> {
    let (key, unbounded) = (Key::new(name, QUOTA), *limits == Limits::default());
    let found = match client.get(&RESOURCE_QUOTAS, &key).await {
        Ok(found) if found["metadata"]["labels"][HUB] == hub.0.as_str() => found,
        // nothing is wanted, and nothing of ours is there
        Ok(_) | Err(_) if unbounded => return Ok(()),
        Ok(_) => return Err(hub::Error::NameTaken(format!("the ResourceQuota {key}"))),
        Err(hub::Error::NotFound(_)) => {
            let manifest = shape::quota_of_hub(name, &hub.0, limits);
            return client.create_or_adopt(&RESOURCE_QUOTAS, &manifest, &Owner::new(HUB, hub), None).await.map(drop);
        }
        Err(e) => return Err(e),
    };
    let uid = found["metadata"]["uid"].as_str().unwrap_or_default();
    match shape::quota_of_hub_change(limits, &found) {
        Some(patch) => client.patch_fenced(&RESOURCE_QUOTAS, &key, uid, patch).await.map(drop),
        None => Ok(()),
    }
}

fn words(limits: &Limits) -> String {
    let all = Measure::ALL.into_iter().filter_map(|m| limits.get(m).map(|n| m.words(n)));
    match all.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => none,
        some => format!(" It may use {some}."),
    }
}
