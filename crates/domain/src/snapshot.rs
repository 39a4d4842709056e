//! Snapshots of a machine: taken, gone back to, and deleted; and VCD's way, in which a machine has one.
use crate::Domain;
use model::{
    Action, Actor, Error, Kind, Result, SnapshotId, TaskId, VmId, can,
    snapshot::{Snapshot, SnapshotSpec, SnapshotState, none},
    vm::{Power, Seen, Vm},
};
use store::{Authorized, Record, Write};
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, vm: VmId) -> Result<Vec<Snapshot>> {
    let vm = d.store.vm(actor, Action::VmView, vm).await?;
    d.store.snapshots_of(&vm).await
}

async fn hold(tx: &mut Write<'_>, action: Action, id: VmId) -> Result<(Authorized<Vm>, Vec<Snapshot>)> {
    let vm = tx.vm(action, id).await?;
    can::or_not_now(can::vm(&vm, action))?;
    let all = tx.snapshots_of(&vm).await?;
    Ok((vm, all))
}

async fn commit(
    mut tx: Write<'_>,
    vm: &Vm,
    action: Action,
    revert_to: Option<SnapshotId>,
    words: impl FnOnce(Record) -> Record,
) -> Result<Option<TaskId>> {
    tx.vm_snapshots_changed(vm.id, revert_to).await?;
    tx.enqueue(Kind::Vm, vm.id, vm.org, vm.hub.as_ref()).await?;
    let record = Record::new(action, vm.org, vm.id, &vm.name).of(vm.owner);
    tx.commit(words(record).with_open_task()).await
}

/// The next one. It stems from the one that the machine's disks stem from.
pub async fn create(d: &Domain, actor: &Actor, vm: VmId, spec: SnapshotSpec) -> Result<(SnapshotId, Option<TaskId>)> {
    let action = Action::VmSnapshot;
    d.attempt(actor, action, async {
        let spec = spec.check()?;
        let id = SnapshotId(Uuid::now_v7());
        let mut tx = d.store.write(actor).await?;
        let (vm, _) = hold(&mut tx, action, vm).await?;
        tx.snapshot_insert(id, &vm, &spec).await?;
        Ok((id, commit(tx, &vm, action, None, |r| r.after(&spec)).await?))
    })
    .await
}

/// VCD's way: the new one takes the place of all others.
pub async fn replace(d: &Domain, actor: &Actor, vm: VmId, spec: SnapshotSpec) -> Result<(SnapshotId, Option<TaskId>)> {
    let action = Action::VmSnapshot;
    d.attempt(actor, action, async {
        let spec = spec.check()?;
        let id = SnapshotId(Uuid::now_v7());
        let mut tx = d.store.write(actor).await?;
        let (vm, all) = hold(&mut tx, action, vm).await?;
        for old in all.iter().filter(|s| !s.deleted) {
            tx.snapshot_delete(old.id).await?;
        }
        tx.snapshot_insert(id, &vm, &spec).await?;
        Ok((id, commit(tx, &vm, action, None, |r| r.after(&spec)).await?))
    })
    .await
}

fn spec_of(s: &Snapshot) -> SnapshotSpec {
    SnapshotSpec { name: s.name.clone(), description: s.description.clone(), memory: false }
}

/// `restart`: a machine that runs is stopped for it and started again; otherwise it must be stopped.
pub async fn revert(d: &Domain, actor: &Actor, vm: VmId, to: SnapshotId, restart: bool) -> Result<Option<TaskId>> {
    revert_to(d, actor, vm, restart, |all| all.iter().find(|s| s.id == to).ok_or(Error::NotFound(Kind::Snapshot))).await
}

/// VCD's way: to the one that the machine's disks stem from.
pub async fn revert_to_current(d: &Domain, actor: &Actor, vm: VmId, restart: bool) -> Result<Option<TaskId>> {
    revert_to(d, actor, vm, restart, |all| all.iter().find(|s| s.current).ok_or_else(none)).await
}

async fn revert_to(
    d: &Domain,
    actor: &Actor,
    vm: VmId,
    restart: bool,
    find: impl FnOnce(&[Snapshot]) -> Result<&Snapshot>,
) -> Result<Option<TaskId>> {
    let action = Action::VmRevert;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let (vm, all) = hold(&mut tx, action, vm).await?;
        let to = find(&all)?;
        match to.state {
            _ if to.deleted => return Err(Error::NotNow(format!("Not now: {} is being deleted.", to.name))),
            SnapshotState::Ready => {}
            SnapshotState::Asked => return Err(Error::NotNow(format!("Not now: {} is still being taken.", to.name))),
            SnapshotState::Failed => {
                return Err(Error::NotNow(format!("Not now: {} failed and holds nothing.", to.name)));
            }
        }
        if !restart && (vm.power != Power::Off || vm.seen != Seen::Stopped) {
            let why = "Not now: it is not stopped. Stop it first, or have it stopped and started again for this.";
            return Err(Error::NotNow(why.into()));
        }
        commit(tx, &vm, action, Some(to.id), |r| r.after(&spec_of(to))).await
    })
    .await
}

pub async fn delete(d: &Domain, actor: &Actor, vm: VmId, snapshot: SnapshotId) -> Result<Option<TaskId>> {
    delete_some(d, actor, vm, |s| s.id == snapshot, Error::NotFound(Kind::Snapshot)).await
}

/// All of a machine, as VCD's clients ask for it.
pub async fn delete_all(d: &Domain, actor: &Actor, vm: VmId) -> Result<Option<TaskId>> {
    delete_some(d, actor, vm, |_| true, none()).await
}

async fn delete_some(
    d: &Domain,
    actor: &Actor,
    vm: VmId,
    which: impl Fn(&Snapshot) -> bool,
    otherwise: Error,
) -> Result<Option<TaskId>> {
    let action = Action::VmSnapshotDelete;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let (vm, all) = hold(&mut tx, action, vm).await?;
        let going: Vec<&Snapshot> = all.iter().filter(|s| !s.deleted && which(s)).collect();
        let Some(first) = going.first() else { return Err(otherwise) };
        for one in &going {
            tx.snapshot_delete(one.id).await?;
        }
        let names = going.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ");
        let gone = SnapshotSpec { name: names, ..spec_of(first) };
        commit(tx, &vm, action, None, |r| r.before(&gone)).await
    })
    .await
}
