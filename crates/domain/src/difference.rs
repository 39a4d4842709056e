//! Where hubs that run VMs differ from each other, by what was last found on them. A VM may go to any of them.
use crate::{Domain, probe::Found};
use hub::check::{Difference, Report, compare};
use model::{
    Action, Actor, HubId, Result, can,
    decide::{Resource, authorize},
    hub::HubDifference,
};
use store::Store;

/// Every hub that is open for VMs, against the default one or else the first.
pub async fn list(d: &Domain, actor: &Actor) -> Result<Vec<HubDifference>> {
    authorize(actor, Action::HubList, Resource::Installation)?;
    known_to(&d.store).await
}

/// The same for workers.
pub async fn known_to(store: &Store) -> Result<Vec<HubDifference>> {
    let known = known(store).await?;
    Ok(compare(known.iter().map(|(hub, report)| (hub.0.as_str(), report))).into_iter().map(told).collect())
}

/// What was found just now on a hub, registered or not, against the others.
pub async fn of(d: &Domain, actor: &Actor, hub: &str, found: &Found) -> Result<Vec<HubDifference>> {
    authorize(actor, Action::HubList, Resource::Installation)?;
    let mut known = known(&d.store).await?;
    let stored = known.iter().position(|(id, _)| id.0 == hub).map(|at| known.remove(at).1);
    let now = Report { templates: stored.and_then(|r| r.templates), ..found.report.clone() };
    known.truncate(1);
    known.push((HubId(hub.to_owned()), now));
    Ok(compare(known.iter().map(|(hub, report)| (hub.0.as_str(), report))).into_iter().map(told).collect())
}

async fn known(store: &Store) -> Result<Vec<(HubId, Report)>> {
    let rows = store.hub_findings(can::VMS).await?;
    let read = rows.into_iter().map(|row| {
        let report: Report = serde_json::from_value(row.found).unwrap_or_default();
        (row.hub, Report { templates: Some(row.templates.into_iter().collect()), ..report })
    });
    Ok(read.filter(|(_, report)| report.kubernetes.is_some()).collect())
}

fn told(d: Difference) -> HubDifference {
    let means = d.means();
    // kinds are names, the rest begins a line
    let what = match d.what.get(..1) {
        Some(first) if !d.what.contains('.') => first.to_uppercase() + d.what.get(1..).unwrap_or_default(),
        _ => d.what,
    };
    HubDifference { what, hub: HubId(d.hub), here: d.here, baseline: HubId(d.baseline), there: d.there, means }
}
