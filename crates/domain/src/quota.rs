//! Quota: what machines and disks take from VDC, organization and user. Reserved in the transaction that makes them.
use model::{Result, UserId, VdcId, quota::Amount};
use store::Write;

/// Takes `ask`, or says which limit is in the way and what is left.
pub async fn reserve(tx: &mut Write<'_>, vdc: VdcId, user: Option<UserId>, ask: &Amount) -> Result<()> {
    tx.quota_reserve(vdc, user, ask).await
}

/// Gives back what was taken.
pub async fn release(tx: &mut Write<'_>, vdc: VdcId, user: Option<UserId>, back: &Amount) -> Result<()> {
    tx.quota_reserve(vdc, user, &back.negated()).await
}
