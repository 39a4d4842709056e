//! The labels of a VM that somebody took off on its hub. They are put back, for nothing of it would be seen without them.
use super::wanted::identity;
use crate::{
    Shared,
    drill::{Step, at},
};
use hub::{Key, resource::VIRTUAL_MACHINES, shape::patch};
use model::{HubId, Kind, Result};
use store::Happened;
use uuid::Uuid;

/// False: they could not be put back yet.
pub(crate) async fn put_back(shared: &Shared, hub: &HubId, key: &Key, vm: Uuid, uid: &str) -> Result<bool> {
    let Some(work) = shared.store.vm_work(vm).await?.filter(|work| !work.gone) else { return Ok(true) };
    let Some(there) = shared.store.place(work.vdc, hub).await? else { return Ok(true) };
    let client = shared.hubs.client(hub).await?;
    let patch = patch::labels(uid, &identity(&work, &there));
    match client.get(&VIRTUAL_MACHINES, key).await {
        // they are there: it was made after whoever asks for them looked
        Ok(found) if !patch::changes(&patch, &found) => return Ok(true),
        _ => {}
    }
    match at(Step::VmLabels, client.patch_fenced(&VIRTUAL_MACHINES, key, uid, patch)).await {
        Ok(_) => {}
        // the next watch or list says what became of it
        Err(hub::Error::NotFound(_) | hub::Error::NotOurs(_)) => return Ok(true),
        Err(e) => {
            tracing::debug!(hub_id = %hub, object = %key, error = %e, "a VM's labels could not be put back");
            return Ok(false);
        }
    }
    tracing::warn!(hub_id = %hub, vm_id = %work.id, "a VM's labels were changed on its hub by hand, and put back");
    let message = format!("VM {}: its labels were changed on its hub by hand, and put back", work.name);
    let happened = Happened {
        org: work.org,
        owner: work.owner,
        kind: Kind::Vm,
        id: vm,
        name: &work.name,
        word: "vm.outside",
        message: &message,
    };
    shared.store.event(&happened).await?;
    Ok(true)
}
