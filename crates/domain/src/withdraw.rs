//! What was asked for and not begun on any hub is taken back: because somebody cancels its task, or because that waited for too
//! long. Nothing of it can be anywhere, so that it is gone as soon as a worker has counted what it took.
use crate::{vapp, vm};
use model::{
    Action, Actor, DiskId, Error, Kind, Result, VappId, VmId,
    task::TaskStatus,
    vapp::{Vapp, VappSpec},
};
use store::{Authorized, OpenTask, Record, Store, Write};
use uuid::Uuid;

/// False: something of it may be on a hub, or it is deleted already. Then nothing was changed.
pub(crate) async fn withdraw(tx: &mut Write<'_>, kind: Kind, id: Uuid) -> Result<bool> {
    let done = match kind {
        Kind::Vapp => {
            let found = tx.vapp(Action::VappView, VappId(id)).await?;
            whole_vapp(tx, &found).await
        }
        Kind::Vm => machine(tx, VmId(id)).await,
        Kind::Disk => disk(tx, DiskId(id)).await,
        _ => Ok(false),
    };
    match done {
        Err(Error::NotFound(_)) => Ok(false),
        other => other,
    }
}

async fn whole_vapp(tx: &mut Write<'_>, found: &Authorized<Vapp>) -> Result<bool> {
    // its machines are held: none of them is begun from here on
    tx.vms_of(found).await?;
    if !tx.vapp_unbegun(found.id).await? {
        return Ok(false);
    }
    vapp::delete_all(tx, found).await?;
    let before = VappSpec { name: found.name.clone(), description: found.description.clone(), vms: Vec::new() };
    let record = Record::new(Action::VappDelete, found.org, found.id, &found.name);
    tx.record(record.of(found.owner).before(&before)).await?;
    Ok(true)
}

async fn machine(tx: &mut Write<'_>, id: VmId) -> Result<bool> {
    let Some(of) = tx.vapp_of_vm(id).await? else { return Ok(false) };
    // the vApp before its machines, as everywhere
    let vapp = tx.vapp(Action::VappView, of).await?;
    let found = tx.vm(Action::VmView, id).await?;
    if found.alone && tx.vms_of(&vapp).await?.iter().all(|other| other.id == id || other.deleted) {
        return whole_vapp(tx, &vapp).await;
    }
    if !tx.vm_unbegun(id).await? {
        return Ok(false);
    }
    tx.vm_delete(id).await?;
    tx.enqueue(Kind::Vm, id, found.org, found.hub.as_ref()).await?;
    let record = Record::new(Action::VmDelete, found.org, id, &found.name);
    tx.record(record.of(found.owner).before(&vm::as_spec(&found))).await?;
    Ok(true)
}

async fn disk(tx: &mut Write<'_>, id: DiskId) -> Result<bool> {
    let found = tx.disk(Action::DiskView, id).await?;
    if !tx.disk_unbegun(id).await? {
        return Ok(false);
    }
    tx.disk_delete(&found).await?;
    tx.enqueue(Kind::Disk, id, found.org, found.hub.as_ref()).await?;
    let record = Record::new(Action::DiskDelete, found.org, id, &found.name);
    tx.record(record.of(found.owner).before(&crate::disk::as_spec(&found))).await?;
    Ok(true)
}

/// At the deadline of the task that makes it. False: it stays, and so does its task.
pub async fn late(store: &Store, system: &Actor, task: &OpenTask, why: &str) -> Result<bool> {
    let mut tx = store.write(system).await?;
    let kind = task.kind;
    if !withdraw(&mut tx, kind, task.object).await? || !tx.task_end(task.id, TaskStatus::Error, why).await? {
        return Ok(false);
    }
    tx.commit_as_recorded().await?;
    store.tell_task(task);
    Ok(true)
}
