//! Tasks: one's own, or those of the organization with the right to see them.
use crate::{Domain, upload, withdraw};
use model::{
    Action, Actor, Error, Kind, OrgId, Result, TaskId, UserId, can,
    decide::list_scope,
    event::News,
    list::{ListQuery, Page},
    query::{Found, Numbered},
    task::{Task, TaskStatus},
};
use std::time::Duration;
use store::{Latest, Record, Tray};
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::Instant,
};
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &ListQuery) -> Result<Page<Task>> {
    d.store.tasks(list_scope(actor, Action::TaskList, org)?, q).await
}

/// As VCD's clients ask.
pub async fn query(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<Task>> {
    d.store.tasks_query(list_scope(actor, Action::TaskList, org)?, q).await
}

pub async fn get(d: &Domain, actor: &Actor, id: TaskId) -> Result<Task> {
    Ok(d.store.task(actor, Action::TaskView, id).await?.into_inner())
}

/// The task as soon as it has ended, or as it stands after a while.
pub async fn wait(d: &Domain, actor: &Actor, id: TaskId, at_most: Duration) -> Result<Task> {
    let mut changes = d.store.changes();
    let until = Instant::now() + at_most;
    loop {
        let task = get(d, actor, id).await?;
        let now = Instant::now();
        if task.status.ended() || now >= until {
            return Ok(task);
        }
        // what another replica does may be heard late, so it is looked at from time to time
        let next = until.min(now + LOOK);
        let _ = tokio::time::timeout_at(next, heard(&mut changes, id)).await;
    }
}

const LOOK: Duration = Duration::from_millis(250);

/// Until something is said about the task.
async fn heard(changes: &mut broadcast::Receiver<News>, id: TaskId) {
    loop {
        match changes.recv().await {
            Ok(News::One(change)) if change.kind == Kind::Task && change.id == Some(id.0) => return,
            Ok(News::Much) => return,
            Ok(_) => {}
            // behind, or over: look
            Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// The last task that this very request began about something.
pub async fn of_request(d: &Domain, actor: &Actor, org: OrgId, object: Uuid) -> Result<Option<Task>> {
    let scope = list_scope(actor, Action::TaskList, Some(org))?;
    d.store.task_of_request(scope, object, &actor.origin.request_id).await
}

/// Something was asked for that needed nothing to be done: the task says that it is so.
pub async fn note(d: &Domain, actor: &Actor, action: Action, what: &Noted) -> Result<TaskId> {
    let tx = d.store.write(actor).await?;
    let record = Record::new(action, what.org, what.id, &what.name).of(what.owner);
    let task = tx.commit(record.with_task()).await?;
    task.ok_or_else(|| Error::Internal("a task was not written".into()))
}

/// What a note is about.
pub struct Noted {
    pub org: OrgId,
    pub id: Uuid,
    pub name: String,
    pub owner: Option<UserId>,
}

/// What was asked for is taken back, where nothing of it was begun: an upload that has not come yet, and what was to be made and
/// is on no hub. Else it is refused.
pub async fn cancel(d: &Domain, actor: &Actor, id: TaskId) -> Result<()> {
    let action = Action::TaskCancel;
    d.attempt(actor, action, async {
        let task = d.store.task(actor, action, id).await?;
        can::or_not_now(can::task(&task, action))?;
        if let Some(upload) = task.upload {
            return upload::cancel(d, actor, upload).await;
        }
        let mut tx = d.store.write(actor).await?;
        let withdrawn = match task.kind() {
            Some(kind) => withdraw::withdraw(&mut tx, kind, task.object_id).await?,
            None => false,
        };
        let why =
            format!("Cancelled by {}. Nothing of it was begun on a hub, and what it took is free again.", actor.name);
        if !withdrawn || !tx.task_end(id, TaskStatus::Aborted, &why).await? {
            // a worker was quicker
            let begun = Task { unbegun: false, ..task.into_inner() };
            return can::or_not_now(can::task(&begun, action));
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
