//! Leases: set and renewed by people, and what is done when one ends. The last needs nothing but the store: workers call it.
use crate::{Domain, vapp};
use model::{
    Action, Actor, Error, Kind, OrgId, Problems, Result, TemplateId, VappId, can,
    decide::{Resource, list_scope},
    lease::{KeepEnd, Lease, LeaseSpec, Leases, Near, RunEnd},
    org::PROVIDER,
    vapp::Vapp,
    vm::{Power, Vm},
};
use store::{Authorized, DueLease, Happened, LeaseNow, Record, Store, Write};

const NEAR: i64 = 5;

/// Does the organization's policy fit this installation? What it has may stay.
pub(crate) fn check_policy(d: &Domain, leases: &Leases, before: Option<&Leases>) -> Result<()> {
    let mut problems = Problems::default();
    leases.check_least(before, d.least_lease.whole_seconds(), &mut problems);
    problems.done()
}

/// The template's, if it has one.
pub async fn of_template(d: &Domain, actor: &Actor, id: TemplateId) -> Result<Option<Lease>> {
    let template = d.store.template(actor, Action::TemplateView, id).await?;
    d.store.lease_of_template(&template).await
}

/// vApps whose lease ends soon or has ended, and that the reader can renew.
pub async fn near(d: &Domain, actor: &Actor, org: Option<OrgId>) -> Result<Vec<Near>> {
    let Ok(scope) = list_scope(actor, Action::VappList, org) else { return Ok(Vec::new()) };
    let mut all = d.store.leases_near(scope, NEAR).await?;
    all.retain(|n| actor.may(Action::VappLease, Resource::Owned(n.org, n.owner)));
    Ok(all)
}

/// Other lengths; the one that counts begins anew.
pub async fn set(d: &Domain, actor: &Actor, id: VappId, spec: LeaseSpec) -> Result<()> {
    let action = Action::VappLease;
    d.attempt(actor, action, async {
        let (tx, vapp, most) = hold(d, actor, action, id).await?;
        let spec = spec.check(&vapp.lease.spec(), most, d.least_lease.whole_seconds())?;
        change(tx, &vapp, action, spec).await
    })
    .await
}

/// The one that counts begins anew with the length it has, or with the organization's where that is shorter by now.
pub async fn renew(d: &Domain, actor: &Actor, id: VappId) -> Result<()> {
    let action = Action::VappLease;
    d.attempt(actor, action, async {
        let (tx, vapp, most) = hold(d, actor, action, id).await?;
        let now = vapp.lease.spec();
        let spec = LeaseSpec { runtime_s: shorter(now.runtime_s, most.0), storage_s: shorter(now.storage_s, most.1) };
        change(tx, &vapp, action, spec).await
    })
    .await
}

/// None: no end.
fn shorter(has: Option<i64>, most: Option<i64>) -> Option<i64> {
    match (has, most) {
        (Some(has), Some(most)) => Some(has.min(most)),
        (has, most) => has.or(most),
    }
}

type Held<'a> = (Write<'a>, Authorized<Vapp>, (Option<i64>, Option<i64>));

/// The vApp, locked, with the longest that its organization allows.
async fn hold<'a>(d: &'a Domain, actor: &'a Actor, action: Action, id: VappId) -> Result<Held<'a>> {
    let mut tx = d.store.write(actor).await?;
    let vapp = tx.vapp(action, id).await?;
    can::or_not_now(can::vapp(&vapp, action))?;
    let most = tx.org_leases(vapp.org).await?;
    Ok((tx, vapp, (most.runtime_s, most.storage_s)))
}

async fn change(mut tx: Write<'_>, vapp: &Authorized<Vapp>, action: Action, spec: LeaseSpec) -> Result<()> {
    tx.lease_set(vapp.id, &spec).await?;
    let record = Record::new(action, vapp.org, vapp.id, &vapp.name).of(vapp.owner);
    tx.commit(record.before(&vapp.lease.spec()).after(&spec).with_task()).await?;
    Ok(())
}

/// A template's begins anew, with the length that its organization gives.
pub async fn renew_template(d: &Domain, actor: &Actor, id: TemplateId) -> Result<()> {
    let action = Action::TemplateLease;
    d.attempt(actor, action, async {
        let item = d.store.template(actor, action, id).await?;
        can::or_not_now(can::template(&item, action))?;
        let before = d.store.lease_of_template(&item).await?.map(|l| l.spec()).unwrap_or_default();
        let mut tx = d.store.write(actor).await?;
        let spec = LeaseSpec { runtime_s: None, storage_s: tx.org_leases(item.org).await?.template_s };
        tx.lease_set(id, &spec).await?;
        let record = Record::new(action, item.org, id, &item.name);
        tx.commit(record.before(&before).after(&spec).with_task()).await?;
        Ok(())
    })
    .await
}

/// Another length for a template's, which begins anew.
pub async fn set_template(d: &Domain, actor: &Actor, id: TemplateId, storage_s: Option<i64>) -> Result<()> {
    let action = Action::TemplateLease;
    d.attempt(actor, action, async {
        let item = d.store.template(actor, action, id).await?;
        can::or_not_now(can::template(&item, action))?;
        let before = d.store.lease_of_template(&item).await?.map(|l| l.spec()).unwrap_or_default();
        let mut tx = d.store.write(actor).await?;
        let most = tx.org_leases(item.org).await?.template_s;
        let spec = LeaseSpec { runtime_s: None, storage_s };
        let spec = spec.check(&before, (None, most), d.least_lease.whole_seconds())?;
        tx.lease_set(id, &spec).await?;
        let record = Record::new(action, item.org, id, &item.name);
        tx.commit(record.before(&before).after(&spec).with_task()).await?;
        Ok(())
    })
    .await
}

/// Who ends leases: nobody does.
pub async fn system(store: &Store) -> Result<Actor> {
    let (id, name) = store.ensure_provider_org(PROVIDER).await?;
    Ok(Actor::system(id, &name))
}

/// What this one comes to, in one transaction: its lock is taken and it is looked at once more, so that any number of
/// replicas do it once. False: there was nothing to do any more.
pub async fn end(store: &Store, system: &Actor, due: DueLease) -> Result<bool> {
    match due.kind {
        Kind::Vapp => end_vapp(store, system, VappId(due.id)).await,
        Kind::Template => end_template(store, system, TemplateId(due.id)).await,
        _ => Ok(false),
    }
}

async fn end_vapp(store: &Store, system: &Actor, id: VappId) -> Result<bool> {
    let mut tx = store.write(system).await?;
    let vapp = match tx.vapp(Action::VappLease, id).await {
        Err(Error::NotFound(_)) => return Ok(false),
        found => found?,
    };
    let vms = tx.vms_of(&vapp).await?;
    let says = |word, message| event(Kind::Vapp, id.0, &vapp, word, message);
    match tx.lease_of_vapp(&vapp).await? {
        None => return Ok(false),
        Some(LeaseNow::Warn(at)) => {
            let what = if vapp.lease.running { "run-time" } else { "storage" };
            let message = format!("The {what} lease of vApp {} ends {}", vapp.name, moment(at));
            tx.lease_warned(id).await?;
            tx.happened(&says("vapp.lease_warning", &message)).await?;
            tx.commit_without_record().await?;
        }
        Some(LeaseNow::RunEnds(how)) => {
            let message = format!("The run-time lease of vApp {} has ended", vapp.name);
            tx.happened(&says("vapp.lease_ended", &message)).await?;
            stop(tx, &vapp, &vms, how).await?;
        }
        Some(LeaseNow::StorageEnds(KeepEnd::Mark)) => {
            let message = format!("The storage lease of vApp {} has ended: it is marked as expired", vapp.name);
            tx.lease_expired(id).await?;
            tx.happened(&says("vapp.lease_ended", &message)).await?;
            tx.commit_without_record().await?;
        }
        // what is copied or captured from it would be lost with it: it is due until that has ended
        Some(LeaseNow::StorageEnds(KeepEnd::Delete)) if can::vapp(&vapp, Action::VappDelete).is_err() => {
            return Ok(false);
        }
        Some(LeaseNow::StorageEnds(KeepEnd::Delete)) => {
            let message = format!("The storage lease of vApp {} has ended", vapp.name);
            tx.happened(&says("vapp.lease_ended", &message)).await?;
            vapp::delete_in(tx, &vapp).await?;
        }
    }
    Ok(true)
}

fn event<'a>(kind: Kind, id: uuid::Uuid, vapp: &'a Vapp, word: &'a str, message: &'a str) -> Happened<'a> {
    Happened { org: vapp.org, owner: vapp.owner, kind, id, name: &vapp.name, word, message }
}

/// Everything that is to run is not to any more. What can't be suspended, since it does not run yet, is powered off.
async fn stop(mut tx: Write<'_>, vapp: &Authorized<Vapp>, vms: &[Vm], how: RunEnd) -> Result<()> {
    let action = match how {
        RunEnd::Suspend => Action::VappSuspend,
        RunEnd::PowerOff => Action::VappPowerOff,
    };
    for vm in vms.iter().filter(|vm| vm.power == Power::On && !vm.deleted) {
        let suspends = how == RunEnd::Suspend && can::vm(vm, Action::VmSuspend).is_ok();
        let one = if suspends { Action::VmSuspend } else { Action::VmPowerOff };
        vapp::change_power(&mut tx, vm, one).await?;
    }
    tx.enqueue(Kind::Vapp, vapp.id, vapp.org, vapp.hub.as_ref()).await?;
    tx.commit(Record::new(action, vapp.org, vapp.id, &vapp.name).of(vapp.owner).with_open_task()).await?;
    Ok(())
}

async fn end_template(store: &Store, system: &Actor, id: TemplateId) -> Result<bool> {
    let item = match store.template(system, Action::TemplateLease, id).await {
        Err(Error::NotFound(_)) => return Ok(false),
        found => found?,
    };
    let mut tx = store.write(system).await?;
    let ended = match tx.lease_of_template(&item).await? {
        None => return Ok(false),
        Some(LeaseNow::Warn(at)) => {
            tx.lease_warned(id).await?;
            ("template.lease_warning", format!("The lease of {} ends {}", item.name, moment(at)))
        }
        Some(LeaseNow::StorageEnds(KeepEnd::Delete)) => {
            tx.item_delete(&item).await?;
            tx.commit(Record::new(Action::TemplateDelete, item.org, id, &item.name).with_task()).await?;
            return Ok(true);
        }
        Some(_) => {
            tx.lease_expired(id).await?;
            ("template.lease_ended", format!("The lease of {} has ended: it is marked as expired", item.name))
        }
    };
    let (word, message) = (ended.0, ended.1.as_str());
    let happened =
        Happened { org: item.org, owner: None, kind: Kind::Template, id: id.0, name: &item.name, word, message };
    tx.happened(&happened).await?;
    tx.commit_without_record().await?;
    Ok(true)
}

/// "on 16 November at 12:04 UTC".
fn moment(at: time::OffsetDateTime) -> String {
    let at = at.to_offset(time::UtcOffset::UTC);
    format!("on {} {} at {:02}:{:02} UTC", at.day(), at.month(), at.hour(), at.minute())
}
