//! An image on a hub: a DataVolume in our own namespace there, filled once by CDI's upload. Disks of VMs are copies of it,
//! made by CDI; so it can go as soon as no copy is being made.
use super::told;
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
};
use futures::stream;
use hub::{
    Client, Key,
    apply::{Deleted, Owner, Propagation},
    resource::{DATA_SOURCES, DATA_VOLUMES, VOLUME_CLAIMS},
    shape::{
        image as shape,
        names::{IMAGE_ID, image_name},
    },
};
use model::{HubId, Result, VmId};
use serde_json::Value;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use store::{Claim, HubImage, VmDiskWork, VmWork};
use uuid::Uuid;

/// So often it is written down how much has gone.
const SAY_EVERY: Duration = Duration::from_secs(2);

pub(super) async fn reconcile(shared: &Shared, claim: &Claim) -> Result<Outcome> {
    let Some(image) = shared.store.hub_image(claim.id).await? else { return Ok(Outcome::Done) };
    if image.unwanted && !image.needed {
        return remove(shared, claim, &image).await;
    }
    let outcome = if image.ready {
        // whoever found that it is ready may have ended before that was told to those who wait for it
        at(Step::ImageReady, shared.store.hub_image_ready(claim, &image)).await?;
        Outcome::Done
    } else if image.unwanted && !image.problem.is_empty() {
        // it is tried again when a machine asks for it again
        return Ok(after_its_machines());
    } else {
        bring(shared, claim, &image).await?
    };
    match &outcome {
        Outcome::Failed(why) => shared.store.hub_image_problem(claim, &image, &why.plain, true).await?,
        Outcome::Retry(_, why) => shared.store.hub_image_problem(claim, &image, &why.plain, false).await?,
        _ => {}
    }
    Ok(match outcome {
        Outcome::Done | Outcome::Failed(_) if image.unwanted => after_its_machines(),
        other => other,
    })
}

/// Its version was deleted, and machines are still being made from it: it is removed after that.
fn after_its_machines() -> Outcome {
    Outcome::Wait(Duration::from_secs(5), "VMs are being made from it.".into())
}

/// The machine with disks that name volumes of its hub instead of images; or what it waits for. Discs come later.
pub(super) async fn of_disks(shared: &Shared, vm: &VmWork, hub: &HubId) -> Result<Result<VmWork, Outcome>> {
    let (mut vm, id) = (vm.clone(), vm.id);
    for disk in vm.disks.iter_mut().filter(|d| d.with_vm) {
        match of_disk(shared, id, disk, hub).await? {
            Ok(image) => disk.image = image,
            Err(not_yet) => return Ok(Err(not_yet)),
        }
    }
    Ok(Ok(vm))
}

/// What a disk is made from, as its hub has it; or what it waits for.
pub(super) async fn of_disk(
    shared: &Shared,
    vm: VmId,
    disk: &VmDiskWork,
    hub: &HubId,
) -> Result<Result<String, Outcome>> {
    let Some(id) = disk.image.strip_prefix("image/").and_then(|id| id.parse::<Uuid>().ok()) else {
        return Ok(Ok(disk.image.clone()));
    };
    let Some(stands) = shared.store.image_want(id, hub, vm).await? else {
        return Ok(Err(Outcome::Failed("The image of its template is gone. Deploy another version.".into())));
    };
    if !stands.problem.is_empty() {
        let why = format!("The image {} could not be brought to its hub: {}", stands.name, stands.problem);
        return Ok(Err(Outcome::Failed(why.into())));
    }
    if !stands.ready {
        let why = format!("The image {} is being brought to its hub ({} %).", stands.name, stands.percent);
        return Ok(Err(Outcome::Wait(Duration::from_secs(5), why.into())));
    }
    Ok(Ok(format!("claim/{}/{}", namespace(shared, hub).await?, image_name(id))))
}

/// The first image that its disks are to be copies of and that the hub does not have, for which CDI would wait in silence.
/// A hub that does not say has it.
pub(super) async fn missing(client: &Client, vm: &VmWork) -> Option<Key> {
    for disk in vm.disks.iter().filter(|d| d.with_vm) {
        let Some((namespace, name)) = disk.image.strip_prefix("datasource/").and_then(|s| s.split_once('/')) else {
            continue;
        };
        let key = Key::new(namespace, name);
        if let Err(hub::Error::NotFound(_)) = at(Step::ImageLook, client.get(&DATA_SOURCES, &key)).await {
            return Some(key);
        }
    }
    None
}

/// Our own namespace on the hub.
async fn namespace(shared: &Shared, hub: &HubId) -> Result<String> {
    Ok(shared.store.credential_of_hub(hub).await?.map(|c| c.namespace).unwrap_or_default())
}

async fn bring(shared: &Shared, claim: &Claim, image: &HubImage) -> Result<Outcome> {
    if image.file.is_none() && image.taken_from.is_none() {
        return Ok(Outcome::Failed("It was captured on another hub, and is there only.".into()));
    }
    let client = shared.hubs.client(&image.hub).await?;
    let key = Key::new(namespace(shared, &image.hub).await?, image_name(image.image));
    let wanted = shape::Image {
        id: image.image,
        hub: image.hub.0.clone(),
        namespace: key.namespace.to_string(),
        title: format!("{} of {}", image.name, image.template_name),
        size_mb: image.virtual_size.unsigned_abs().div_ceil(1 << 20).max(1),
        copy_of: image.taken_from.clone(),
    };
    let owner = Owner::new(IMAGE_ID, image.image);
    let manifest = shape::data_volume(&wanted);
    let made = client.create_or_adopt(&DATA_VOLUMES, &manifest, &owner, None);
    let uid = told!(at(Step::ImageMake, made).await).uid;
    if image.uid.as_ref().is_some_and(|known| *known != uid) {
        return Ok(Outcome::Failed("Somebody deleted the image on its hub and made another of its name.".into()));
    }
    if !at(Step::ImageMade, shared.store.hub_image_made(claim, &uid)).await? {
        return Ok(lost());
    }
    let volume = told!(at(Step::ImageLook, client.get(&DATA_VOLUMES, &key)).await);
    match volume["status"]["phase"].as_str().unwrap_or_default() {
        "Succeeded" => {
            at(Step::ImageReady, shared.store.hub_image_ready(claim, image)).await?;
            Ok(Outcome::Done)
        }
        "Failed" => Ok(Outcome::Failed(format!("The hub could not keep it: {}", said(&volume)).into())),
        "UploadReady" => send(shared, claim, image, &client, &key).await,
        _ => match &image.taken_from {
            Some((namespace, claim)) if lost_claim(&client, &Key::new(namespace, claim)).await => Ok(Outcome::Failed(
                "The disk that it is taken from is gone from its hub. Capture the vApp once more.".into(),
            )),
            _ => Ok(Outcome::Wait(Duration::from_secs(1), "The hub is making room for it.".into())),
        },
    }
}

/// Is what a copy is made of gone? A hub that does not say has it.
async fn lost_claim(client: &Client, key: &Key) -> bool {
    matches!(at(Step::ImageLook, client.get(&VOLUME_CLAIMS, key)).await, Err(hub::Error::NotFound(_)))
}

fn said(volume: &Value) -> String {
    let conditions = volume["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let words = conditions.iter().filter_map(|c| c["message"].as_str()).find(|m| !m.is_empty());
    words.unwrap_or("it does not say why").to_owned()
}

/// All of its bytes, from the transfer area to the hub, as they are read.
async fn send(shared: &Shared, claim: &Claim, image: &HubImage, client: &Client, key: &Key) -> Result<Outcome> {
    let Some(area) = &shared.area else {
        return Ok(Outcome::Retry(None, "images.directory is not set, so images can't be read".into()));
    };
    let Some(file) = image.file else { return Ok(Outcome::Failed("There is no file behind it.".into())) };
    let Ok(_place) = shared.long.try_acquire() else { return Ok(others_first()) };
    let (position, size) = (image.position.unsigned_abs(), image.size.unsigned_abs());
    let part = match area.part(file, position, size).await {
        Ok(part) => part,
        Err(e) => {
            tracing::error!(%file, error = %e, "an image is not in the transfer area");
            return Ok(Outcome::Retry(None, "its file is not in the transfer area".into()));
        }
    };
    let proxy = told!(client.upload_proxy().await);
    let token = told!(client.upload_token(key).await);
    let (credential, gate) = (shared.hubs.credential(&image.hub).await?, shared.hubs.gate(&image.hub).await?);
    let gone = Arc::new(AtomicU64::new(0));
    let bytes = stream::unfold((part, gone.clone()), async |(mut part, gone)| match part.next().await {
        Ok(Some(chunk)) => {
            gone.fetch_add(chunk.len() as u64, Ordering::Relaxed);
            Some((Ok(chunk), (part, gone)))
        }
        Ok(None) => None,
        Err(e) => Some((Err(io::Error::other(e.to_string())), (part, gone))),
    });
    let sending = proxy.send(&credential, &gate, token, size, bytes);
    let mut sending = std::pin::pin!(at(Step::ImageSend, sending));
    let sent = loop {
        tokio::select! {
            sent = &mut sending => break sent,
            () = tokio::time::sleep(SAY_EVERY) => {
                let so_far = i64::try_from(gone.load(Ordering::Relaxed)).unwrap_or(i64::MAX);
                // whoever has it now sends it from the beginning
                if !shared.store.hub_image_sent(claim, image, so_far).await? {
                    return Ok(lost());
                }
            }
        }
    };
    told!(sent);
    shared.store.hub_image_sent(claim, image, image.size).await?;
    Ok(Outcome::Wait(Duration::from_secs(1), "The hub is unpacking it.".into()))
}

/// All places for long work are taken; so it gives its own back to short work.
pub(super) fn others_first() -> Outcome {
    Outcome::Wait(Duration::from_secs(2), "Other images come first.".into())
}

fn lost() -> Outcome {
    Outcome::Retry(None, "another worker took it over".into())
}

async fn remove(shared: &Shared, claim: &Claim, image: &HubImage) -> Result<Outcome> {
    let client = shared.hubs.client(&image.hub).await?;
    let key = Key::new(namespace(shared, &image.hub).await?, image_name(image.image));
    // an answer may have been lost: what carries our label is ours
    let found = match client.get(&DATA_VOLUMES, &key).await {
        Ok(found) if found["metadata"]["labels"][IMAGE_ID] == image.image.to_string().as_str() => Some(found),
        Ok(_) | Err(hub::Error::NotFound(_)) => None,
        Err(e) => return Ok(super::refused(&e)),
    };
    if let Some(uid) = found.as_ref().and_then(|f| f["metadata"]["uid"].as_str()) {
        let delete = client.delete_fenced(&DATA_VOLUMES, &key, uid, Propagation::Foreground);
        let deleted = told!(at(Step::ImageDelete, delete).await);
        if deleted != Deleted::Gone && !told!(client.is_gone(&DATA_VOLUMES, &key, uid).await) {
            return Ok(Outcome::Wait(Duration::from_secs(1), "The hub is deleting it.".into()));
        }
    }
    at(Step::ImageGone, shared.store.hub_image_gone(claim)).await?;
    Ok(Outcome::Done)
}
