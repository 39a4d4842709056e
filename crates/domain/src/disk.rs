//! Disks: those of a machine are added, changed and removed; independent ones are made, edited, put into a machine, taken out and
//! deleted. Nothing here calls a hub.
use crate::{Domain, quota};
use model::{
    Action, Actor, DiskId, Error, Kind, OrgId, Problems, Result, TaskId, VdcId, VmId, can, conflict,
    decide::{Resource, authorize, list_scope},
    disk::{Bus, Disk, DiskSpec, MOST_IN_VM, Slot, check_growth, check_size, hub_name},
    list::{ListQuery, Page},
    query::{Found, Numbered},
    quota::Amount,
    vm::{self, Vm},
};
use store::{Authorized, NewDisk, Record, Write};
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &ListQuery) -> Result<Page<Disk>> {
    d.store.disks(list_scope(actor, Action::DiskList, org)?, q).await
}

/// As VCD's clients ask.
pub async fn query(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<Disk>> {
    d.store.disks_query(list_scope(actor, Action::DiskList, org)?, q).await
}

pub async fn get(d: &Domain, actor: &Actor, id: DiskId) -> Result<Disk> {
    Ok(d.store.disk(actor, Action::DiskView, id).await?.into_inner())
}

/// Those that can be put into a machine now.
pub async fn free_for(d: &Domain, actor: &Actor, vm: &Vm) -> Result<Vec<Disk>> {
    let all = d.store.free_disks(list_scope(actor, Action::DiskList, Some(vm.org))?, vm.vdc).await?;
    Ok(all.into_iter().filter(|disk| disk.hub.is_none() || vm.hub.is_none() || disk.hub == vm.hub).collect())
}

pub(crate) fn storage(mb: i64) -> Amount {
    Amount { storage_mb: mb, ..Amount::default() }
}

/// An independent disk asked for, and the task that ends when it is there.
pub async fn create(d: &Domain, actor: &Actor, vdc: VdcId, spec: DiskSpec) -> Result<(DiskId, Option<TaskId>)> {
    let action = Action::DiskCreate;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Owned(actor.org, actor.user))?;
        let spec = spec.check()?;
        let id = DiskId(Uuid::now_v7());
        let mut tx = d.store.write(actor).await?;
        let vdc = tx.vdc(Action::VdcView, vdc).await?;
        authorize(actor, action, Resource::Owned(vdc.org, actor.user))?;
        if !vdc.enabled {
            let why = format!("Not now: the VDC {} is disabled. An administrator can enable it.", vdc.name);
            return Err(Error::NotNow(why));
        }
        let owner = actor.user.filter(|_| actor.org == vdc.org);
        quota::reserve(&mut tx, vdc.id, owner, &storage(spec.size_mb)).await?;
        let policy = tx.storage_take_named(vdc.id, &[(spec.policy.as_str(), spec.size_mb)]).await?;
        let policy = *policy.first().ok_or_else(|| Error::Internal("no policy was taken".into()))?;
        tx.disk_insert(&NewDisk {
            id,
            org: vdc.org,
            vdc: vdc.id,
            owner,
            vm: None,
            with_vm: false,
            spec: &spec,
            position: 0,
            image: "",
            media: None,
            policy,
            hub_name: &hub_name(id.0),
        })
        .await?;
        tx.enqueue(Kind::Disk, id, vdc.org, None).await?;
        let record = Record::new(action, vdc.org, id, &spec.name).of(owner).after(&spec).with_open_task();
        Ok((id, tx.commit(record).await?))
    })
    .await
}

/// Its name, description and size: it grows, and never shrinks. Its policy stays.
pub async fn edit(d: &Domain, actor: &Actor, id: DiskId, version: i64, spec: DiskSpec) -> Result<Disk> {
    let action = Action::DiskEdit;
    d.attempt(actor, action, async {
        let spec = spec.check()?;
        let mut tx = d.store.write(actor).await?;
        let disk = tx.disk(action, id).await?;
        can::or_not_now(can::disk(&disk, action))?;
        let before = as_spec(&disk);
        let after = DiskSpec { policy: before.policy.clone(), ..spec };
        if version != disk.version {
            let changed = (disk.updated_by.as_str(), disk.updated_at, disk.version);
            return Err(Error::Conflict(Box::new(conflict(Kind::Disk, &disk.name, changed, &before, &after))));
        }
        let mut problems = Problems::default();
        check_growth(disk.size_mb, after.size_mb, &mut problems);
        if disk.vm.is_some() && after.bus != disk.bus {
            problems.add("bus", "It changes only while the disk is in no VM. Detach it first.");
        }
        problems.done()?;
        take_more(&mut tx, (disk.vdc, disk.owner), id, after.size_mb - disk.size_mb).await?;
        tx.disk_edit(&disk, &after).await?;
        tx.enqueue(Kind::Disk, id, disk.org, disk.hub.as_ref()).await?;
        let record = Record::new(action, disk.org, id, &after.name).of(disk.owner);
        tx.commit(record.before(&before).after(&after).with_open_task()).await?;
        get(d, actor, id).await
    })
    .await
}

/// Of the VDC, the organization, the user, and the disk's policy.
async fn take_more(
    tx: &mut Write<'_>,
    (vdc, owner): (VdcId, Option<model::UserId>),
    id: DiskId,
    more_mb: i64,
) -> Result<()> {
    if more_mb == 0 {
        return Ok(());
    }
    if let Some(class) = tx.disk_class_without_growth(id).await? {
        let why = format!("Its storage (class {class}) can't make disks larger. Add another disk instead.");
        return Err(Error::field("size", why));
    }
    quota::reserve(tx, vdc, owner, &storage(more_mb)).await?;
    let policy = tx.disk_policy(id).await?;
    tx.storage_take(vdc, &[(policy, more_mb)]).await
}

pub async fn delete(d: &Domain, actor: &Actor, id: DiskId) -> Result<Option<TaskId>> {
    let action = Action::DiskDelete;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let disk = tx.disk(action, id).await?;
        can::or_not_now(can::disk(&disk, action))?;
        tx.disk_delete(&disk).await?;
        tx.enqueue(Kind::Disk, id, disk.org, disk.hub.as_ref()).await?;
        let record = Record::new(action, disk.org, id, &disk.name).of(disk.owner).before(&as_spec(&disk));
        tx.commit(record.with_open_task()).await
    })
    .await
}

/// The machine, held, with its disks, for somebody who may change them.
pub(crate) async fn hold_vm(tx: &mut Write<'_>, action: Action, id: VmId) -> Result<Authorized<Vm>> {
    let vm = tx.vm(action, id).await?;
    can::or_not_now(can::vm(&vm, action))?;
    Ok(vm)
}

pub(crate) async fn changed(tx: &mut Write<'_>, vm: &Vm) -> Result<()> {
    tx.vm_disks_changed(vm.id).await?;
    tx.enqueue(Kind::Vm, vm.id, vm.org, vm.hub.as_ref()).await
}

/// An independent disk is put into a machine: at once where its hub can, else at its next start.
pub async fn attach(d: &Domain, actor: &Actor, vm: VmId, disk: DiskId) -> Result<Option<TaskId>> {
    attach_at(d, actor, vm, disk, None).await
}

/// The same, where a client wants it.
pub async fn attach_at(
    d: &Domain,
    actor: &Actor,
    vm: VmId,
    disk: DiskId,
    slot: Option<Slot>,
) -> Result<Option<TaskId>> {
    let action = Action::VmDiskAttach;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vm = hold_vm(&mut tx, action, vm).await?;
        let disk = tx.disk(Action::DiskView, disk).await?;
        can::or_not_now(can::disk(&disk, action))?;
        if disk.vdc != vm.vdc {
            let why = format!("The disk {} is in the VDC {}, and the VM in {}.", disk.name, disk.vdc_name, vm.vdc_name);
            return Err(Error::field("disk", why));
        }
        if disk.hub.is_some() && vm.hub.is_some() && disk.hub != vm.hub {
            let why =
                format!("The disk {} is kept at another place than this VM, where it can't be reached.", disk.name);
            return Err(Error::field("disk", why));
        }
        // where a machine goes that is nowhere yet, its vApp or a network of it may say
        if let (Some(kept), None, Some((home, network))) = (&disk.hub, &vm.hub, tx.vapp_home(vm.vapp, None).await?)
            && *kept != home
        {
            let than = if network.is_empty() { "this vApp".into() } else { format!("the network {network} of this vApp") };
            let why = format!(
                "The disk {} is kept at another place than {than}, where it can't be reached. Choose another disk, or a VM in another vApp.",
                disk.name
            );
            return Err(Error::field("disk", why));
        }
        room(&vm)?;
        tx.disk_attach(&disk, &vm).await?;
        if let Some(slot) = slot {
            tx.disk_slot(disk.id, slot).await?;
        }
        changed(&mut tx, &vm).await?;
        tx.enqueue(Kind::Disk, disk.id, disk.org, disk.hub.as_ref().or(vm.hub.as_ref())).await?;
        let record = Record::new(action, vm.org, vm.id, &vm.name).of(vm.owner).after(&as_spec(&disk));
        tx.commit(record.with_open_task()).await
    })
    .await
}

pub async fn detach(d: &Domain, actor: &Actor, vm: VmId, disk: DiskId) -> Result<Option<TaskId>> {
    let action = Action::VmDiskDetach;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vm = hold_vm(&mut tx, action, vm).await?;
        let disk = tx.disk(Action::DiskView, disk).await?;
        can::or_not_now(can::disk(&disk, action))?;
        if disk.vm.as_ref().is_none_or(|(id, _)| *id != vm.id) {
            return Err(Error::NotNow(format!("Not now: the disk {} is not in {}.", disk.name, vm.name)));
        }
        tx.disk_detach(&disk).await?;
        changed(&mut tx, &vm).await?;
        let record = Record::new(action, vm.org, vm.id, &vm.name).of(vm.owner).before(&as_spec(&disk));
        tx.commit(record.with_open_task()).await
    })
    .await
}

pub(crate) fn room(vm: &Vm) -> Result<()> {
    if vm.disks.len() >= MOST_IN_VM {
        return Err(Error::NotNow(format!("Not now: {} has {MOST_IN_VM} disks, and no VM has more.", vm.name)));
    }
    Ok(())
}

/// One more disk of the machine's own.
pub async fn add(d: &Domain, actor: &Actor, vm: VmId, spec: DiskSpec) -> Result<Option<TaskId>> {
    let action = Action::VmDiskAdd;
    d.attempt(actor, action, async {
        let spec = spec.check_internal()?;
        let mut tx = d.store.write(actor).await?;
        let vm = hold_vm(&mut tx, action, vm).await?;
        let spec = add_one(&mut tx, &vm, spec).await?;
        changed(&mut tx, &vm).await?;
        let record = Record::new(action, vm.org, vm.id, &vm.name).of(vm.owner).after(&spec);
        tx.commit(record.with_open_task()).await
    })
    .await
}

async fn add_one(tx: &mut Write<'_>, vm: &Vm, spec: DiskSpec) -> Result<DiskSpec> {
    let (names, last) = tx.disk_names_in(vm.id).await?;
    if names.len() >= MOST_IN_VM {
        room(vm)?;
    }
    let free = |n: &usize| !names.iter().any(|name| *name == format!("disk-{n}"));
    let name = match spec.name.as_str() {
        "" => format!("disk-{}", (1..).find(free).unwrap_or_default()),
        typed => typed.to_owned(),
    };
    let spec = DiskSpec { name, ..spec };
    quota::reserve(tx, vm.vdc, vm.owner, &storage(spec.size_mb)).await?;
    let policy = tx.storage_take_named(vm.vdc, &[(spec.policy.as_str(), spec.size_mb)]).await?;
    let policy = *policy.first().ok_or_else(|| Error::Internal("no policy was taken".into()))?;
    let id = DiskId(Uuid::now_v7());
    tx.disk_insert(&NewDisk {
        id,
        org: vm.org,
        vdc: vm.vdc,
        owner: vm.owner,
        vm: Some(vm.id),
        with_vm: false,
        spec: &spec,
        position: last + 1,
        image: "",
        media: None,
        policy,
        hub_name: "",
    })
    .await?;
    if let Some(slot) = spec.slot {
        tx.disk_slot(id, slot).await?;
    }
    Ok(spec)
}

/// A disk of the machine's own, which is not on its way out.
fn own(vm: &Vm, id: DiskId) -> Result<&vm::Disk> {
    let found = vm.disks.iter().find(|k| k.id == Some(id) && k.own());
    found.ok_or(Error::NotFound(Kind::Disk))
}

/// Another size or bus. The bus changes at the next start.
pub async fn change(
    d: &Domain,
    actor: &Actor,
    vm: VmId,
    disk: DiskId,
    size_mb: i64,
    bus: Bus,
) -> Result<Option<TaskId>> {
    let action = Action::VmDiskEdit;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vm = hold_vm(&mut tx, action, vm).await?;
        let known = own(&vm, disk)?;
        let before = in_vm(known);
        let after = DiskSpec { size_mb, bus, ..before.clone() };
        change_one(&mut tx, &vm, known, size_mb, bus).await?;
        changed(&mut tx, &vm).await?;
        let record = Record::new(action, vm.org, vm.id, &vm.name).of(vm.owner).before(&before).after(&after);
        tx.commit(record.with_open_task()).await
    })
    .await
}

async fn change_one(tx: &mut Write<'_>, vm: &Vm, disk: &vm::Disk, size_mb: i64, bus: Bus) -> Result<()> {
    let id = disk.id.ok_or(Error::NotFound(Kind::Disk))?;
    let mut problems = Problems::default();
    check_growth(disk.size_mb, size_mb, &mut problems);
    problems.done()?;
    take_more(tx, (vm.vdc, vm.owner), id, size_mb - disk.size_mb).await?;
    tx.vm_disk_change(id, size_mb, bus).await
}

/// It goes with all that is on it.
pub async fn remove(d: &Domain, actor: &Actor, vm: VmId, disk: DiskId) -> Result<Option<TaskId>> {
    let action = Action::VmDiskRemove;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vm = hold_vm(&mut tx, action, vm).await?;
        let known = own(&vm, disk)?;
        can::or_not_now(can::disk_removal(&vm, known))?;
        tx.vm_disk_remove(disk).await?;
        changed(&mut tx, &vm).await?;
        let record = Record::new(action, vm.org, vm.id, &vm.name).of(vm.owner).before(&in_vm(known));
        tx.commit(record.with_open_task()).await
    })
    .await
}

/// All disks of a machine's own at once, as VCD's clients send them: those without an id are added, those that are not named
/// are removed, the others are changed. All of it, or nothing.
pub async fn set_all(
    d: &Domain,
    actor: &Actor,
    vm: VmId,
    wanted: Vec<(Option<DiskId>, DiskSpec)>,
) -> Result<Option<TaskId>> {
    let action = Action::VmDiskEdit;
    d.attempt(actor, action, async {
        let mut problems = Problems::default();
        wanted.iter().for_each(|(_, s)| check_size(s.size_mb, &mut problems));
        problems.done()?;
        let mut tx = d.store.write(actor).await?;
        let vm = hold_vm(&mut tx, action, vm).await?;
        for known in vm.disks.iter().filter(|k| k.own()) {
            match wanted.iter().find(|(id, _)| id.is_some() && *id == known.id) {
                Some((_, s)) => {
                    change_one(&mut tx, &vm, known, s.size_mb, s.bus).await?;
                    if let (Some(id), Some(slot)) = (known.id, s.slot.filter(|slot| known.slot != Some(*slot))) {
                        tx.disk_slot(id, slot).await?;
                    }
                }
                None => {
                    can::or_not_now(can::disk_removal(&vm, known))?;
                    tx.vm_disk_remove(known.id.ok_or(Error::NotFound(Kind::Disk))?).await?;
                }
            }
        }
        for (id, spec) in wanted {
            match id {
                Some(id) => drop(own(&vm, id)?),
                None => drop(add_one(&mut tx, &vm, spec.check_internal()?).await?),
            }
        }
        changed(&mut tx, &vm).await?;
        tx.commit(Record::new(action, vm.org, vm.id, &vm.name).of(vm.owner).with_open_task()).await
    })
    .await
}

fn in_vm(k: &vm::Disk) -> DiskSpec {
    DiskSpec {
        name: k.name.clone(),
        description: String::new(),
        size_mb: k.size_mb,
        bus: k.bus,
        policy: k.policy.clone(),
        slot: k.slot,
    }
}

pub(crate) fn as_spec(disk: &Disk) -> DiskSpec {
    DiskSpec {
        name: disk.name.clone(),
        description: disk.description.clone(),
        size_mb: disk.size_mb,
        bus: disk.bus,
        policy: disk.policy.clone(),
        slot: None,
    }
}
