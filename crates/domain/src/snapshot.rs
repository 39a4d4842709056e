//! Snapshots of a machine: taken, gone back to, and deleted; and VCD's way, in which a machine has one.
use crate::Domain;
use model::{
    Action, Actor, Error, Kind, Result, SnapshotId, TaskId, VappId, VmId, can,
    snapshot::{Snapshot, SnapshotSpec, SnapshotState, none},
    vm::{Power, Seen, Vm},
};
use store::{Authorized, Record, Write};
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, vm: VmId) -> Result<Vec<Snapshot>> {
    let vm = d.store.vm(actor, Action::VmView, vm).await?;
    d.store.snapshots_of(&vm).await
}

/// Those of all machines of a vApp.
pub async fn list_in(d: &Domain, actor: &Actor, id: VappId) -> Result<Vec<Snapshot>> {
    let vapp = d.store.vapp(actor, Action::VappView, id).await?;
    let vms = d.store.vms_of(&vapp).await?;
    match vms.iter().all(|vm| vm.snapshots == 0) {
        true => Ok(Vec::new()),
        false => d.store.snapshots_of_all(&vms).await,
    }
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

/// VCD's way with all machines of a vApp.
enum InVapp {
    /// Each has a new one in the place of its others.
    Replace(SnapshotSpec),
    /// Back to those that the machines' disks stem from; `restart` as for one machine.
    Revert {
        restart: bool,
    },
    Delete,
}

pub async fn replace_in(d: &Domain, actor: &Actor, vapp: VappId, spec: SnapshotSpec) -> Result<Option<TaskId>> {
    in_vapp(d, actor, vapp, Action::VappSnapshot, InVapp::Replace(spec.check()?)).await
}

/// Machines without a snapshot stay as they are.
pub async fn revert_in(d: &Domain, actor: &Actor, vapp: VappId, restart: bool) -> Result<Option<TaskId>> {
    in_vapp(d, actor, vapp, Action::VappRevert, InVapp::Revert { restart }).await
}

pub async fn delete_in(d: &Domain, actor: &Actor, vapp: VappId) -> Result<Option<TaskId>> {
    in_vapp(d, actor, vapp, Action::VappSnapshotDelete, InVapp::Delete).await
}

/// All machines or none. If there is nothing to be done for any of them, that is why not.
async fn in_vapp(d: &Domain, actor: &Actor, id: VappId, action: Action, what: InVapp) -> Result<Option<TaskId>> {
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, id).await?;
        can::or_not_now(can::vapp(&vapp, action))?;
        let mut changed = 0;
        for vm in tx.vms_of(&vapp).await?.into_iter().filter(|v| !v.deleted) {
            let vm = tx.vm(Action::VmView, vm.id).await?;
            let Some(revert_to) = in_one(&mut tx, &vm, &what).await? else { continue };
            tx.vm_snapshots_changed(vm.id, revert_to).await?;
            tx.enqueue(Kind::Vm, vm.id, vm.org, vm.hub.as_ref()).await?;
            changed += 1;
        }
        if changed == 0 {
            return Err(none());
        }
        tx.commit(Record::new(action, vapp.org, id, &vapp.name).of(vapp.owner).with_open_task()).await
    })
    .await
}

/// None: nothing is to be done for it. Else the snapshot to go back to, if there is one.
async fn in_one(tx: &mut Write<'_>, vm: &Authorized<Vm>, what: &InVapp) -> Result<Option<Option<SnapshotId>>> {
    let all = tx.snapshots_of(vm).await?;
    let living = || all.iter().filter(|s| !s.deleted);
    match what {
        InVapp::Replace(spec) => {
            can::or_not_now(can::vm(vm, Action::VmSnapshot))?;
            for old in living() {
                tx.snapshot_delete(old.id).await?;
            }
            tx.snapshot_insert(SnapshotId(Uuid::now_v7()), vm, spec).await?;
            Ok(Some(None))
        }
        InVapp::Revert { restart } => {
            let Some(to) = living().find(|s| s.current) else { return Ok(None) };
            can::or_not_now(can::vm(vm, Action::VmRevert))?;
            ready(to)?;
            stopped(vm, *restart)?;
            Ok(Some(Some(to.id)))
        }
        InVapp::Delete => {
            if living().next().is_some() {
                can::or_not_now(can::vm(vm, Action::VmSnapshotDelete))?;
            }
            for one in living() {
                tx.snapshot_delete(one.id).await?;
            }
            Ok(living().next().map(|_| None))
        }
    }
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
        ready(to)?;
        stopped(&vm, restart)?;
        commit(tx, &vm, action, Some(to.id), |r| r.after(&spec_of(to))).await
    })
    .await
}

fn ready(to: &Snapshot) -> Result<()> {
    let why = match to.state {
        _ if to.deleted => "is being deleted",
        SnapshotState::Ready => return Ok(()),
        SnapshotState::Asked => "is still being taken",
        SnapshotState::Failed => "failed and holds nothing",
    };
    Err(Error::NotNow(format!("Not now: {} {why}.", to.name)))
}

fn stopped(vm: &Vm, restart: bool) -> Result<()> {
    if restart || (vm.power == Power::Off && vm.seen == Seen::Stopped) {
        return Ok(());
    }
    let why = "Not now: it is not stopped. Stop it first, or have it stopped and started again for this.";
    Err(Error::NotNow(why.into()))
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
