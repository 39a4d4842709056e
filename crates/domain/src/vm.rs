//! VMs: added to a vApp, powered, resized, renamed and deleted.
use crate::{
    Domain, nic, quota, sizing,
    vapp::{change_power, delete_in, insert_vm},
};
use hub::shape::names::size_name;
use model::{
    Action, Actor, Error, Kind, OrgId, Problems, Result, SizingId, TaskId, VappId, VmId, can, conflict,
    decide::list_scope,
    list::{ListQuery, Page},
    name,
    query::{Found, Numbered},
    quota::Amount,
    template::Machine,
    vm::{Besides, Vm, VmSpec, check_size},
    vm_line::VmLine,
};
use store::{Record, Write};
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &ListQuery) -> Result<Page<Vm>> {
    d.store.vms(list_scope(actor, Action::VappList, org)?, q).await
}

/// As VCD's clients ask.
pub async fn query(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<VmLine>> {
    d.store.vm_lines(list_scope(actor, Action::VappList, org)?, q).await
}

/// Machines inside templates among them, where somebody sees templates.
pub async fn query_all(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<Machine>> {
    let wanted = q.filter.demanded("isVAppTemplate").map(|v| v.text().to_lowercase());
    let vms = (wanted.as_deref() != Some("true")).then(|| list_scope(actor, Action::VappList, org)).transpose()?;
    let inside = (wanted.as_deref() != Some("false")).then(|| list_scope(actor, Action::CatalogList, org).ok());
    d.store.machines_query((vms, inside.flatten()), q).await
}

pub async fn get(d: &Domain, actor: &Actor, id: VmId) -> Result<Vm> {
    Ok(d.store.vm(actor, Action::VmView, id).await?.into_inner())
}

/// What is done to a vApp is done to each of its machines.
pub(crate) fn same_for_one(action: Action) -> Action {
    match action {
        Action::VappPowerOn => Action::VmPowerOn,
        Action::VappPowerOff => Action::VmPowerOff,
        Action::VappShutdown => Action::VmShutdown,
        Action::VappReboot => Action::VmReboot,
        Action::VappReset => Action::VmReset,
        Action::VappSuspend => Action::VmSuspend,
        Action::VappDiscard => Action::VmDiscard,
        other => other,
    }
}

/// One more machine in a vApp.
pub async fn add(d: &Domain, actor: &Actor, vapp: VappId, spec: VmSpec) -> Result<(VmId, Option<TaskId>)> {
    let action = Action::VmCreate;
    d.attempt(actor, action, async {
        let mut spec = spec.check()?;
        let id = VmId(Uuid::now_v7());
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, vapp).await?;
        can::or_not_now(can::vapp(&vapp, action))?;
        sizing::fill(&mut tx, vapp.vdc, &mut spec).await?;
        quota::reserve(&mut tx, vapp.vdc, vapp.owner, &spec.amount()).await?;
        let networks = nic::hold(&mut tx, (vapp.org, vapp.vdc, vapp.id), &spec.nics).await?;
        insert_vm(&mut tx, id, vapp.id, (vapp.org, vapp.vdc), vapp.owner, &spec, None).await?;
        tx.nics_set(id, &spec.nics, &networks).await?;
        tx.enqueue(Kind::Vapp, vapp.id, vapp.org, vapp.hub.as_ref()).await?;
        let record = Record::new(action, vapp.org, id, &spec.name).of(vapp.owner).after(&spec).with_open_task();
        Ok((id, tx.commit(record).await?))
    })
    .await
}

pub async fn power(d: &Domain, actor: &Actor, id: VmId, action: Action) -> Result<Option<TaskId>> {
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vm = tx.vm(action, id).await?;
        can::or_not_now(can::vm(&vm, action))?;
        change_power(&mut tx, &vm, action).await?;
        tx.commit(Record::new(action, vm.org, id, &vm.name).of(vm.owner).with_open_task()).await
    })
    .await
}

pub async fn edit(d: &Domain, actor: &Actor, id: VmId, version: i64, title: &str, text: &str) -> Result<Vm> {
    let action = Action::VmEdit;
    d.attempt(actor, action, async {
        let mut problems = Problems::default();
        let title = problems.take("name", name::check_title(title));
        let text = problems.take("description", name::check_text(text));
        problems.done()?;
        let mut tx = d.store.write(actor).await?;
        let vm = tx.vm(action, id).await?;
        can::or_not_now(can::vm(&vm, action))?;
        let before = as_spec(&vm);
        let after = VmSpec { name: title.clone(), description: text.clone(), ..before.clone() };
        if version != vm.version {
            let changed = (vm.updated_by.as_str(), vm.updated_at, vm.version);
            return Err(Error::Conflict(Box::new(conflict(Kind::Vm, &vm.name, changed, &before, &after))));
        }
        tx.vm_edit(id, &title, &text).await?;
        tx.enqueue(Kind::Vm, id, vm.org, vm.hub.as_ref()).await?;
        tx.commit(Record::new(action, vm.org, id, &title).of(vm.owner).before(&before).after(&after).with_task())
            .await?;
        get(d, actor, id).await
    })
    .await
}

/// Takes effect at once where the hub can, else at the next start.
pub async fn resize(d: &Domain, actor: &Actor, id: VmId, cpus: i32, memory_mb: i64) -> Result<Option<TaskId>> {
    let action = Action::VmResize;
    d.attempt(actor, action, async {
        let mut problems = Problems::default();
        check_size(cpus, memory_mb, &mut problems);
        problems.done()?;
        let mut tx = d.store.write(actor).await?;
        let vm = tx.vm(action, id).await?;
        can::or_not_now(can::vm(&vm, action))?;
        resize_in(tx, &vm, (cpus, memory_mb), None).await
    })
    .await
}

/// The same to the size of a policy.
pub async fn resize_to(d: &Domain, actor: &Actor, id: VmId, policy: SizingId) -> Result<Option<TaskId>> {
    let action = Action::VmResize;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vm = tx.vm(action, id).await?;
        can::or_not_now(can::vm(&vm, action))?;
        let size = sizing::taken(&mut tx, vm.vdc, policy).await?;
        resize_in(tx, &vm, (size.cpus, size.memory_mb), Some(policy)).await
    })
    .await
}

async fn resize_in(
    mut tx: Write<'_>,
    vm: &Vm,
    (cpus, memory_mb): (i32, i64),
    policy: Option<SizingId>,
) -> Result<Option<TaskId>> {
    let (action, id) = (Action::VmResize, vm.id);
    let more =
        Amount { cpus: i64::from(cpus) - i64::from(vm.cpus), memory_mb: memory_mb - vm.memory_mb, ..Amount::default() };
    quota::reserve(&mut tx, vm.vdc, vm.owner, &more).await?;
    let kind = policy.map(|p| size_name(p.0)).unwrap_or_default();
    tx.vm_resize(id, cpus, memory_mb, policy.map(|p| (p, kind.as_str()))).await?;
    tx.enqueue(Kind::Vm, id, vm.org, vm.hub.as_ref()).await?;
    let before = as_spec(vm);
    let after = VmSpec { cpus, memory_mb, ..before.clone() };
    tx.commit(Record::new(action, vm.org, id, &vm.name).of(vm.owner).before(&before).after(&after).with_open_task())
        .await
}

/// What VCD's clients set besides: kept as it is given. What its hub has something like comes with the next start.
pub async fn keep(d: &Domain, actor: &Actor, id: VmId, besides: Besides) -> Result<Option<TaskId>> {
    let action = Action::VmEdit;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vm = tx.vm(action, id).await?;
        can::or_not_now(can::vm(&vm, action))?;
        let told = vm.hardware.with(&besides) != vm.built();
        tx.vm_keep(id, &besides, told).await?;
        if told {
            tx.enqueue(Kind::Vm, id, vm.org, vm.hub.as_ref()).await?;
        }
        let record = Record::new(action, vm.org, id, &vm.name).of(vm.owner);
        tx.commit(record.before(&vm.besides).after(&besides).with_task()).await
    })
    .await
}

/// A machine that came with a vApp of its own takes it along.
pub async fn delete(d: &Domain, actor: &Actor, id: VmId) -> Result<Option<TaskId>> {
    let action = Action::VmDelete;
    d.attempt(actor, action, async {
        let seen = d.store.vm(actor, action, id).await?;
        let mut tx = d.store.write(actor).await?;
        if seen.alone {
            let vapp = tx.vapp(Action::VappDelete, seen.vapp).await?;
            can::or_not_now(can::vapp(&vapp, Action::VappDelete))?;
            if tx.vms_of(&vapp).await?.iter().all(|other| other.id == id || other.deleted) {
                return delete_in(tx, &vapp).await;
            }
        }
        let vm = tx.vm(action, id).await?;
        can::or_not_now(can::vm(&vm, action))?;
        tx.vm_delete(id).await?;
        tx.enqueue(Kind::Vm, id, vm.org, vm.hub.as_ref()).await?;
        let before = as_spec(&vm);
        tx.commit(Record::new(action, vm.org, id, &vm.name).of(vm.owner).before(&before).with_open_task()).await
    })
    .await
}

pub(crate) fn as_spec(vm: &Vm) -> VmSpec {
    VmSpec {
        name: vm.name.clone(),
        description: vm.description.clone(),
        computer_name: vm.computer_name.clone(),
        cpus: vm.cpus,
        memory_mb: vm.memory_mb,
        instance_type: vm.instance_type.clone(),
        preference: vm.preference.clone(),
        hardware: vm.hardware.clone(),
        disks: vm.disks.clone(),
        nics: vm.nics.iter().map(|n| n.spec.clone()).collect(),
        os: vm.os.clone(),
        power: vm.power,
        start_order: vm.start_order,
        start_delay_s: vm.start_delay_s,
        besides: vm.besides.clone(),
        ..VmSpec::default()
    }
}
