//! Ends leases, and warns before they end. Replicas look at the same list: each end is one transaction that finds the lease
//! as it left it, or finds nothing to do.
use crate::{
    Shared,
    drill::{Step, at},
};
use domain::lease;
use model::Result;

pub(crate) async fn sweep(shared: &Shared) {
    if let Err(e) = all(shared).await {
        tracing::debug!(error = %e, "leases could not be looked at");
    }
}

async fn all(shared: &Shared) -> Result<()> {
    let due = shared.store.leases_due().await?;
    if due.is_empty() {
        return Ok(());
    }
    let system = lease::system(&shared.store).await?;
    for one in due {
        // one that can't be ended now keeps no other waiting
        match at(Step::LeaseEnd, lease::end(&shared.store, &system, one)).await {
            Ok(true) => {
                tracing::info!(kind = one.kind.key(), id = %one.id, "a lease came to its end, or its people were told that it will")
            }
            Ok(false) => {}
            Err(e) => tracing::warn!(kind = one.kind.key(), id = %one.id, error = %e, "a lease could not be ended"),
        }
    }
    Ok(())
}
