//! A cluster that is registered twice: VMs go to the hub that was first. Its room would count twice, and each of the two would find the
//! other's VMs.
use crate::Shared;
use model::{HubId, Result, hub::HubCheck};
use store::HubReport;

pub(crate) async fn look(shared: &Shared, hub: &HubId, report: &mut HubReport) -> Result<()> {
    if let Some(first) = shared.store.hub_of_cluster(&report.cluster_uid, Some(hub)).await? {
        report.checks.push(HubCheck::same_cluster(&first));
        report.offers.clear();
    }
    Ok(())
}
