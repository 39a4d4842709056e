//! Sizing policies of the provider, which of them a VDC may use, and VMs that take one.
use crate::Domain;
use hub::shape::names::size_name;
use model::{
    Action, Actor, Error, Kind, OrgId, Problems, Result, SizingId, VdcId, can, conflict,
    decide::{Resource, authorize, list_scope},
    list::{ListQuery, Page},
    sizing::{HubSize, Sizes, SizingPolicy, SizingSpec, VdcSizing},
    vm::VmSpec,
};
use store::{Record, Write};
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, q: &ListQuery) -> Result<Page<SizingPolicy>> {
    authorize(actor, Action::SizingList, Resource::Installation)?;
    d.store.sizings(list_scope(actor, Action::SizingList, None)?, q).await
}

pub async fn get(d: &Domain, actor: &Actor, id: SizingId) -> Result<SizingPolicy> {
    Ok(d.store.sizing(actor, Action::SizingView, id).await?.into_inner())
}

/// Every policy, for choosing among them.
pub async fn names(d: &Domain, actor: &Actor) -> Result<Vec<(SizingId, String)>> {
    authorize(actor, Action::SizingList, Resource::Installation)?;
    d.store.sizing_names().await
}

/// The instance types that hubs have by themselves.
pub async fn on_hubs(d: &Domain, actor: &Actor) -> Result<Vec<HubSize>> {
    authorize(actor, Action::SizingList, Resource::Installation)?;
    d.store.hub_sizes().await
}

/// What VDCs may use, for somebody who makes a VM in one of them.
pub async fn choices(d: &Domain, vdcs: &[VdcId]) -> Result<Vec<VdcSizing>> {
    d.store.sizings_of(vdcs).await
}

/// The policies that somebody can use: those of a VDC, or of all VDCs that they see. Who uses one besides is not told.
pub async fn usable(d: &Domain, actor: &Actor, org: Option<OrgId>, vdc: Option<VdcId>) -> Result<Vec<SizingPolicy>> {
    let vdcs = match vdc {
        Some(id) => vec![d.store.vdc(actor, Action::VdcView, id).await?.id],
        None => {
            let scope = list_scope(actor, Action::VdcList, org)?;
            d.store.vdc_ids(scope).await?
        }
    };
    let mut all = d.store.sizings_for(&vdcs).await?;
    for policy in &mut all {
        (policy.vdcs, policy.vms, policy.hubs) = (Vec::new(), Vec::new(), Vec::new());
    }
    Ok(all)
}

/// Nothing is made on a hub before a VM there needs it.
pub async fn create(d: &Domain, actor: &Actor, spec: SizingSpec) -> Result<SizingPolicy> {
    let action = Action::SizingCreate;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Installation)?;
        let spec = spec.check()?;
        let id = SizingId(Uuid::now_v7());
        let mut tx = d.store.write(actor).await?;
        tx.sizing_insert(id, &spec).await?;
        tx.commit(Record::new(action, actor.org, id, &spec.name).after(&spec).with_task()).await?;
        get(d, actor, id).await
    })
    .await
}

/// Its words. Its size stays as it is, since VMs were made with it.
pub async fn edit(d: &Domain, actor: &Actor, id: SizingId, version: i64, spec: SizingSpec) -> Result<SizingPolicy> {
    let action = Action::SizingEdit;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let policy = tx.sizing(action, id).await?;
        let current = SizingSpec::from(&*policy);
        let spec = SizingSpec { cpus: current.cpus, memory_mb: current.memory_mb, ..spec }.check()?;
        if version != policy.version {
            let changed = (policy.updated_by.as_str(), policy.updated_at, policy.version);
            let both = conflict(Kind::SizingPolicy, &policy.name, changed, &current, &spec);
            return Err(Error::Conflict(Box::new(both)));
        }
        tx.sizing_update(&policy, &spec).await?;
        tx.commit(Record::new(action, actor.org, id, &spec.name).before(&current).after(&spec).with_task()).await?;
        get(d, actor, id).await
    })
    .await
}

/// When nobody uses it. It goes from hubs with proof.
pub async fn delete(d: &Domain, actor: &Actor, id: SizingId) -> Result<()> {
    let action = Action::SizingDelete;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let policy = tx.sizing(action, id).await?;
        can::or_not_now(can::sizing(&policy, action))?;
        tx.sizing_delete(&policy).await?;
        tx.enqueue(Kind::SizingPolicy, id, actor.org, None).await?;
        let before = SizingSpec::from(&*policy);
        tx.commit(Record::new(action, actor.org, id, &policy.name).before(&before).with_open_task()).await?;
        Ok(())
    })
    .await
}

/// Which policies a VDC may use, and which is taken where nobody says another.
pub async fn set_for_vdc(
    d: &Domain,
    actor: &Actor,
    vdc: VdcId,
    wanted: Vec<SizingId>,
    default: Option<SizingId>,
) -> Result<()> {
    let action = Action::VdcSizing;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vdc = tx.vdc(action, vdc).await?;
        let before = tx.sizings_of(vdc.id).await?;
        let known = d.store.sizing_names().await?;
        let mut problems = Problems::default();
        if wanted.iter().any(|w| !known.iter().any(|(id, _)| id == w)) {
            problems.add("sizes", "One of the policies is not there any more. Choose from those that are listed.");
        }
        for used in before.iter().filter(|p| p.vms > 0 && !wanted.contains(&p.id)) {
            problems.add("sizes", format!("VMs here have the size {}, so it can't be taken away.", used.name));
        }
        if default.is_some_and(|d| !wanted.contains(&d)) {
            problems.add("default_size", "Choose one of the ticked policies, or none.");
        }
        problems.done()?;
        tx.vdc_set_sizings(vdc.id, &wanted, default).await?;
        let after = tx.sizings_of(vdc.id).await?;
        let record = Record::new(action, vdc.org, vdc.id, &vdc.name);
        tx.commit(record.before(&Sizes(&before)).after(&Sizes(&after)).with_task()).await?;
        Ok(())
    })
    .await
}

/// The size of the policy that was chosen, in place of the one that was typed.
pub(crate) async fn fill(tx: &mut Write<'_>, vdc: VdcId, spec: &mut VmSpec) -> Result<()> {
    if let Some(id) = spec.sizing {
        let policy = taken(tx, vdc, id).await?;
        (spec.cpus, spec.memory_mb, spec.instance_type) = (policy.cpus, policy.memory_mb, size_name(id.0));
    }
    Ok(())
}

pub(crate) async fn taken(tx: &mut Write<'_>, vdc: VdcId, id: SizingId) -> Result<VdcSizing> {
    let none = "The VDC may not use this size. Choose from those that are listed.";
    tx.sizing_of_vdc(vdc, id).await?.ok_or_else(|| Error::field("sizing", none))
}
