//! Affinity rules: which VMs of a VDC are kept on one node, and which apart. Their VMs carry them to hubs.
use crate::Domain;
use model::{
    Action, Actor, AffinityId, Error, Kind, Problems, Result, VdcId, VmId,
    affinity::{AffinityRule, AffinitySpec, RuleCandidate},
    conflict,
    decide::{Resource, authorize},
};
use store::{Record, Write};
use uuid::Uuid;

pub async fn of_vdc(d: &Domain, actor: &Actor, vdc: VdcId) -> Result<Vec<AffinityRule>> {
    let vdc = d.store.vdc(actor, Action::VdcView, vdc).await?;
    d.store.affinities(vdc.id).await
}

/// Who sees its VDC sees it.
pub async fn get(d: &Domain, actor: &Actor, id: AffinityId) -> Result<AffinityRule> {
    let found = d.store.affinity(actor, Action::VdcView, id).await;
    found.map(store::Authorized::into_inner).map_err(|e| match e {
        Error::NotFound(_) => Error::NotFound(Kind::AffinityRule),
        e => e,
    })
}

/// The VMs that a rule of the VDC can be about.
pub async fn candidates(d: &Domain, actor: &Actor, vdc: VdcId) -> Result<Vec<RuleCandidate>> {
    let vdc = d.store.vdc(actor, Action::VdcView, vdc).await?;
    d.store.rule_candidates(vdc.id).await
}

pub async fn create(d: &Domain, actor: &Actor, vdc: VdcId, spec: AffinitySpec) -> Result<AffinityId> {
    let action = Action::AffinityCreate;
    d.attempt(actor, action, async {
        let vdc = d.store.vdc(actor, Action::VdcView, vdc).await?;
        authorize(actor, action, Resource::Of(vdc.org))?;
        let spec = spec.check()?;
        let id = AffinityId(Uuid::now_v7());
        let mut tx = d.store.write(actor).await?;
        let vms = fits(&mut tx, vdc.id, None, &spec).await?;
        tx.affinity_insert(id, vdc.org, vdc.id, &spec).await?;
        tx.affinity_again(&spec.vms).await?;
        let record = Record::new(action, vdc.org, id, &spec.name).after(&(&spec, names(&vms).as_slice()));
        tx.commit(record.with_task()).await?;
        Ok(id)
    })
    .await
}

pub async fn edit(d: &Domain, actor: &Actor, id: AffinityId, version: i64, spec: AffinitySpec) -> Result<()> {
    let action = Action::AffinityEdit;
    d.attempt(actor, action, async {
        let spec = spec.check()?;
        let mut tx = d.store.write(actor).await?;
        let rule = tx.affinity(action, id).await?;
        let (current, had) = (rule.spec(), rule.names());
        let vms = fits(&mut tx, rule.vdc, Some(id), &spec).await?;
        let has = names(&vms);
        let (before, after) = ((&current, had.as_slice()), (&spec, has.as_slice()));
        if version != rule.version {
            let changed = (rule.updated_by.as_str(), rule.updated_at, rule.version);
            return Err(Error::Conflict(Box::new(conflict(Kind::AffinityRule, &rule.name, changed, &before, &after))));
        }
        let same = AffinitySpec { name: current.name.clone(), ..spec.clone() } == current;
        tx.affinity_update(&rule, &spec, !same).await?;
        if !same {
            tx.affinity_again(&both(&current.vms, &spec.vms)).await?;
        }
        let record = Record::new(action, rule.org, id, &spec.name).before(&before).after(&after);
        tx.commit(record.with_task()).await?;
        Ok(())
    })
    .await
}

pub async fn delete(d: &Domain, actor: &Actor, id: AffinityId) -> Result<()> {
    let action = Action::AffinityDelete;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let rule = tx.affinity(action, id).await?;
        let spec = rule.spec();
        tx.rule_vms(rule.vdc, &spec.vms).await?;
        tx.affinity_delete(&rule).await?;
        tx.affinity_again(&spec.vms).await?;
        let record = Record::new(action, rule.org, id, &rule.name).before(&(&spec, rule.names().as_slice()));
        tx.commit(record.with_task()).await?;
        Ok(())
    })
    .await
}

fn names(vms: &[RuleCandidate]) -> Vec<String> {
    vms.iter().map(|v| v.name.clone()).collect()
}

fn both(a: &[VmId], b: &[VmId]) -> Vec<VmId> {
    let mut all: Vec<VmId> = a.iter().chain(b).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Locks the VDC's rules and the VMs concerned, and finds what stands in the way.
async fn fits(
    tx: &mut Write<'_>,
    vdc: VdcId,
    itself: Option<AffinityId>,
    spec: &AffinitySpec,
) -> Result<Vec<RuleCandidate>> {
    let rules = tx.affinities_held(vdc).await?;
    let mine = rules.iter().find(|r| Some(r.id) == itself);
    let concerned = both(&mine.map(|r| r.spec().vms).unwrap_or_default(), &spec.vms);
    let mut vms = tx.rule_vms(vdc, &concerned).await?;
    vms.retain(|v| spec.vms.contains(&v.id));
    let mut problems = Problems::default();
    if vms.len() != spec.vms.len() {
        problems.add("vms", "One of the VMs is not in this VDC any more. Choose from those that are listed.");
    }
    if spec.enabled {
        let against = rules.iter().filter(|r| Some(r.id) != itself && r.enabled && r.together != spec.together);
        for rule in against {
            let shared: Vec<&str> =
                vms.iter().filter(|v| rule.vms.iter().any(|x| x.id == v.id)).map(|v| v.name.as_str()).collect();
            if shared.len() > 1 {
                let says = if rule.together { "together" } else { "apart" };
                let names = shared.join(" and ");
                problems
                    .add("vms", format!("The rule {} keeps {names} {says} already. Take one of them out.", rule.name));
            }
        }
        if spec.together
            && spec.mandatory
            && let Some((a, b)) = elsewhere(&vms)
        {
            problems.add(
                "vms",
                format!("{a} and {b} are not in one place, so they can't be kept together. Take one out, or make the rule a wish."),
            );
        }
    }
    problems.done()?;
    Ok(vms)
}

/// Two that are on different hubs, or may come to be.
fn elsewhere(vms: &[RuleCandidate]) -> Option<(&str, &str)> {
    let first = vms.first()?;
    let near = |v: &&RuleCandidate| v.vapp == first.vapp || (v.hub.is_some() && v.hub == first.hub);
    let other = vms.iter().find(|v| !near(v))?;
    Some((&first.name, &other.name))
}
