//! The queue of work, for the provider to look at.
use crate::Domain;
use model::{
    Action, Actor, Error, Kind, Result,
    decide::{Resource, authorize},
    work::{WorkDepth, WorkItem, WorkShare},
};
use store::Record;
use uuid::Uuid;

/// In numbers, and the oldest of it.
pub async fn list(d: &Domain, actor: &Actor) -> Result<(WorkDepth, Vec<WorkItem>)> {
    authorize(actor, Action::WorkList, Resource::Installation)?;
    Ok((d.store.work_depth().await?, d.store.work_items(100).await?))
}

/// Whose it is: by hub, and by organization.
pub async fn shares(d: &Domain, actor: &Actor) -> Result<(Vec<WorkShare>, Vec<WorkShare>)> {
    authorize(actor, Action::WorkList, Resource::Installation)?;
    Ok((d.store.work_by_hub().await?, d.store.work_by_org().await?))
}

/// Tries failed work once more.
pub async fn retry(d: &Domain, actor: &Actor, kind: Kind, id: Uuid) -> Result<()> {
    let action = Action::WorkRetry;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Installation)?;
        let mut tx = d.store.write(actor).await?;
        let Some((org, name)) = tx.work_retry(kind, id).await? else { return Err(Error::NotFound(kind)) };
        tx.commit(Record { kind, ..Record::new(action, org, id, &name) }).await?;
        Ok(())
    })
    .await
}
