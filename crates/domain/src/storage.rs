//! Storage policies of the provider, and which of them a VDC may use.
use crate::Domain;
use model::{
    Action, Actor, Error, Kind, OrgId, PolicyId, Problems, Result, VdcId, can, conflict,
    decide::{Resource, authorize, list_scope},
    list::{ListQuery, Page},
    query::{Found, Numbered},
    quota::Measure,
    storage::{HubClasses, Profile, StoragePolicy, StoragePolicySpec, VdcPolicy, VdcPolicySpec, VdcProfile},
};
use store::Record;
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, q: &ListQuery) -> Result<Page<StoragePolicy>> {
    authorize(actor, Action::PolicyList, Resource::Installation)?;
    d.store.policies(list_scope(actor, Action::PolicyList, None)?, q).await
}

pub async fn get(d: &Domain, actor: &Actor, id: PolicyId) -> Result<StoragePolicy> {
    Ok(d.store.policy(actor, Action::PolicyView, id).await?.into_inner())
}

/// The storage classes that hubs have, as last found.
pub async fn classes(d: &Domain, actor: &Actor) -> Result<Vec<HubClasses>> {
    authorize(actor, Action::PolicyList, Resource::Installation)?;
    d.store.hub_classes().await
}

/// Every policy, for choosing among them.
pub async fn names(d: &Domain, actor: &Actor) -> Result<Vec<(PolicyId, String)>> {
    authorize(actor, Action::PolicyList, Resource::Installation)?;
    d.store.policy_names().await
}

pub async fn create(d: &Domain, actor: &Actor, spec: StoragePolicySpec) -> Result<StoragePolicy> {
    let action = Action::PolicyCreate;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Installation)?;
        let spec = spec.check()?;
        let id = PolicyId(Uuid::now_v7());
        let mut tx = d.store.write(actor).await?;
        tx.policy_insert(id, &spec).await?;
        tx.commit(Record::new(action, actor.org, id, &spec.name).after(&spec).with_task()).await?;
        get(d, actor, id).await
    })
    .await
}

/// Disks that are there stay on the class they were made of; new ones are made of the new one.
pub async fn edit(
    d: &Domain,
    actor: &Actor,
    id: PolicyId,
    version: i64,
    spec: StoragePolicySpec,
) -> Result<StoragePolicy> {
    let action = Action::PolicyEdit;
    d.attempt(actor, action, async {
        let spec = spec.check()?;
        let mut tx = d.store.write(actor).await?;
        let policy = tx.policy(action, id).await?;
        let current = StoragePolicySpec::from(&*policy);
        if version != policy.version {
            let changed = (policy.updated_by.as_str(), policy.updated_at, policy.version);
            let both = conflict(Kind::StoragePolicy, &policy.name, changed, &current, &spec);
            return Err(Error::Conflict(Box::new(both)));
        }
        if policy.is_default && !spec.is_default {
            let why = "New VDCs begin with it. Make another policy the default instead.";
            return Err(Error::field("is_default", why));
        }
        tx.policy_update(&policy, &spec).await?;
        tx.commit(Record::new(action, actor.org, id, &spec.name).before(&current).after(&spec).with_task()).await?;
        get(d, actor, id).await
    })
    .await
}

pub async fn delete(d: &Domain, actor: &Actor, id: PolicyId) -> Result<()> {
    let action = Action::PolicyDelete;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let policy = tx.policy(action, id).await?;
        can::or_not_now(can::policy(&policy, action))?;
        tx.policy_delete(&policy).await?;
        let before = StoragePolicySpec::from(&*policy);
        tx.commit(Record::new(action, actor.org, id, &policy.name).before(&before).with_task()).await?;
        Ok(())
    })
    .await
}

/// The policies that a VDC may use, its default first.
pub async fn of_vdc(d: &Domain, actor: &Actor, vdc: VdcId) -> Result<Vec<VdcPolicy>> {
    let vdc = d.store.vdc(actor, Action::VdcView, vdc).await?;
    d.store.vdc_policies(vdc.id).await
}

/// The profiles of all VDCs that somebody sees, as VCD's clients ask.
pub async fn query_profiles(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<VdcProfile>> {
    d.store.profiles_query(list_scope(actor, Action::VdcList, org)?, q).await
}

/// The same for somebody who makes something in a VDC and may not see the VDC itself.
pub async fn choices(d: &Domain, vdc: VdcId) -> Result<Vec<VdcPolicy>> {
    d.store.vdc_policies(vdc).await
}

/// Which policies a VDC may use, how much of each, and which is taken where nobody says another.
pub async fn set_for_vdc(d: &Domain, actor: &Actor, vdc: VdcId, wanted: Vec<VdcPolicySpec>) -> Result<Vec<VdcPolicy>> {
    let action = Action::VdcStorage;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vdc = tx.vdc(action, vdc).await?;
        let before = tx.vdc_policies(vdc.id).await?;
        let known = d.store.policy_names().await?;
        check_profile(&before, &known, &wanted)?;
        tx.vdc_set_policies(vdc.id, &wanted).await?;
        let after = tx.vdc_policies(vdc.id).await?;
        tx.enqueue(Kind::Vdc, vdc.id, vdc.org, None).await?;
        let record = Record::new(action, vdc.org, vdc.id, &vdc.name);
        tx.commit(record.before(&Profile(&before)).after(&Profile(&after)).with_open_task()).await?;
        Ok(after)
    })
    .await
}

fn check_profile(before: &[VdcPolicy], known: &[(PolicyId, String)], wanted: &[VdcPolicySpec]) -> Result<()> {
    let mut problems = Problems::default();
    if wanted.is_empty() {
        problems.add("policies", "A VDC needs at least one storage policy.");
    } else if wanted.iter().filter(|w| w.is_default).count() != 1 {
        problems.add("default_policy", "Choose one of the ticked policies as the default.");
    }
    if wanted.iter().any(|w| !known.iter().any(|(id, _)| *id == w.id)) {
        problems.add("policies", "One of the policies is not there any more. Choose from those that are listed.");
    }
    if wanted.iter().any(|w| w.limit_mb.is_some_and(|l| !(0..=1024 * 1024 * 1024 * 1024).contains(&l))) {
        problems.add("policies", "A limit is a whole number of GB, or empty for no limit.");
    }
    for gone in before.iter().filter(|p| p.used_mb > 0 && !wanted.iter().any(|w| w.id == p.id)) {
        let used = Measure::Storage.words(gone.used_mb);
        problems.add("policies", format!("{used} of {} are in use here, so it can't be taken away.", gone.name));
    }
    problems.done()
}
