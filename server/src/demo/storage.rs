//! The demonstration's storage policies, on every VDC that it has: `standard`, which is taken where nobody says another, and
//! `fast`.

use domain::{Domain, bootstrap, storage, vdc};
use model::{
    Action, PolicyId, Result,
    list::{ListQuery, POLICIES, VDCS},
    storage::{StoragePolicySpec, VdcPolicySpec},
};

pub async fn run(d: &Domain) -> Result<()> {
    let operator = bootstrap::operator(d).await?;
    let made = d.store.made_by_operator(&["fast".to_owned()]).await?;
    if made.iter().any(|m| m.action == Action::PolicyCreate.key()) {
        return Ok(());
    }
    let there = storage::list(d, &operator, &ListQuery::first(&POLICIES)).await?.items;
    let Some(standard) = there.iter().find(|p| p.is_default) else { return Ok(()) };
    if standard.name == "default" {
        let spec = StoragePolicySpec {
            name: "standard".into(),
            description: "Disks for everyday use.".into(),
            ..StoragePolicySpec::from(standard)
        };
        super::taken_is_fine(storage::edit(d, &operator, standard.id, standard.version, spec).await)?;
    }
    let fast = StoragePolicySpec {
        name: "fast".into(),
        description: "Disks on NVMe.".into(),
        class: "fast".into(),
        ..StoragePolicySpec::default()
    };
    let fast: Option<PolicyId> = match storage::create(d, &operator, fast).await {
        Ok(policy) => Some(policy.id),
        other => super::taken_is_fine(other).map(|()| None)?,
    };
    let Some(fast) = fast else { return Ok(()) };
    for vdc in vdc::list(d, &operator, None, &ListQuery::first(&VDCS)).await?.items {
        let mut wanted: Vec<VdcPolicySpec> = storage::of_vdc(d, &operator, vdc.id)
            .await?
            .iter()
            .map(|p| VdcPolicySpec { id: p.id, limit_mb: p.limit_mb, is_default: p.is_default })
            .collect();
        wanted.push(VdcPolicySpec { id: fast, limit_mb: Some(500 * 1024), is_default: false });
        super::taken_is_fine(storage::set_for_vdc(d, &operator, vdc.id, wanted).await)?;
    }
    Ok(())
}
