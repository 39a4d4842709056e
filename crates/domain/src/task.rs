//! Tasks: one's own, or those of the organization with the right to see them.
use crate::Domain;
use model::{
    Action, Actor, Error, OrgId, Result, TaskId,
    decide::list_scope,
    list::{ListQuery, Page},
    task::Task,
};
use store::{Latest, Record, Tray};
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &ListQuery) -> Result<Page<Task>> {
    d.store.tasks(list_scope(actor, Action::TaskList, org)?, q).await
}

pub async fn get(d: &Domain, actor: &Actor, id: TaskId) -> Result<Task> {
    Ok(d.store.task(actor, Action::TaskView, id).await?.into_inner())
}

/// Nobody waits for it any more. What was asked for stays as it is: another wish can take it back.
pub async fn cancel(d: &Domain, actor: &Actor, id: TaskId) -> Result<()> {
    let action = Action::TaskCancel;
    d.attempt(actor, action, async {
        let task = d.store.task(actor, action, id).await?;
        let mut tx = d.store.write(actor).await?;
        if !tx.task_cancel(id, &format!("Cancelled by {}.", actor.name)).await? {
            return Err(Error::NotNow("Not now: the task has ended.".into()));
        }
        tx.commit(Record::new(action, task.org, id, &task.title()).of(task.user)).await?;
        Ok(())
    })
    .await
}

/// What runs and what ended lately, for the foot of every page.
pub async fn tray(d: &Domain, actor: &Actor, org: Option<OrgId>) -> Result<Tray> {
    d.store.tray(list_scope(actor, Action::TaskList, org)?).await
}

/// The latest about one thing of an organization; none for those who see none.
pub async fn about(d: &Domain, actor: &Actor, org: OrgId, object: Uuid) -> Result<Vec<Task>> {
    match list_scope(actor, Action::TaskList, Some(org)) {
        Ok(scope) => d.store.latest_tasks(scope, Latest::About(object), 5).await,
        Err(_) => Ok(Vec::new()),
    }
}
