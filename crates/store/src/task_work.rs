//! Tasks that wait for hubs: they end from what was observed, or at their deadline.
use crate::{Store, Write, constraint::mapped};
use model::{
    Action, Kind, OrgId, Result, TaskId, UserId,
    event::Change,
    task::{TaskStatus, Verdict},
};
use uuid::Uuid;

/// A task that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTask {
    pub id: TaskId,
    pub org: OrgId,
    pub user: Option<UserId>,
    pub action: Action,
    pub kind: Kind,
    pub object: Uuid,
    pub object_name: String,
    pub progress: Option<i16>,
    pub message: String,
}

struct OpenRow {
    id: Uuid,
    org_id: Uuid,
    user_id: Option<Uuid>,
    operation: String,
    object_kind: String,
    object_id: Uuid,
    object_name: String,
    progress: Option<i16>,
    message: String,
}

impl OpenRow {
    fn task(self) -> Option<OpenTask> {
        Some(OpenTask {
            id: TaskId(self.id),
            org: OrgId(self.org_id),
            user: self.user_id.map(UserId),
            action: Action::parse(&self.operation)?,
            kind: Kind::parse(&self.object_kind)?,
            object: self.object_id,
            object_name: self.object_name,
            progress: self.progress,
            message: self.message,
        })
    }
}

impl Store {
    /// What waits for these objects.
    pub async fn open_tasks(&self, objects: &[Uuid]) -> Result<Vec<OpenTask>> {
        let rows = sqlx::query_as!(
            OpenRow,
            "select id, org_id, user_id, operation, object_kind, object_id, object_name, progress, message from tasks
             where object_id = any($1) and status in ('queued', 'running')",
            objects
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(rows.into_iter().filter_map(OpenRow::task).collect())
    }

    /// What should have ended by now.
    pub async fn overdue_tasks(&self) -> Result<Vec<OpenTask>> {
        let rows = sqlx::query_as!(
            OpenRow,
            "select id, org_id, user_id, operation, object_kind, object_id, object_name, progress, message from tasks
             where status in ('queued', 'running') and deadline < now()"
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(rows.into_iter().filter_map(OpenRow::task).collect())
    }

    /// Everything that waits for a hub.
    pub async fn open_task_objects(&self) -> Result<Vec<(Kind, Uuid)>> {
        let rows = sqlx::query!(
            "select distinct object_kind, object_id from tasks where status in ('queued', 'running') and object_kind in ('vm', 'vapp', 'disk')"
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(rows.into_iter().filter_map(|r| Some((Kind::parse(&r.object_kind)?, r.object_id))).collect())
    }

    /// Writes how a task stands, if it is still open and that is news. True if that was its end.
    pub async fn task_stands(&self, task: &OpenTask, verdict: &Verdict) -> Result<bool> {
        let (status, progress, message) = match verdict {
            Verdict::Open { progress, message } => (TaskStatus::Running, *progress, message.as_str()),
            Verdict::Done => (TaskStatus::Success, Some(100), ""),
            Verdict::Failed(why) => (TaskStatus::Error, task.progress, why.as_str()),
        };
        let same = status == TaskStatus::Running && progress == task.progress && message == task.message;
        if same {
            return Ok(false);
        }
        let done = sqlx::query!(
            "update tasks set status = $2, progress = $3, message = $4, ended_at = case when $5 then clock_timestamp() end
             where id = $1 and status in ('queued', 'running')",
            task.id.0,
            status.key(),
            progress,
            message,
            status.ended()
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        if done.rows_affected() == 1 {
            let change = Change {
                org: task.org,
                user: task.user,
                owner: task.user,
                kind: Kind::Task,
                id: Some(task.id.0),
                shares: Vec::new(),
            };
            self.tell(change);
        }
        Ok(done.rows_affected() == 1 && status.ended())
    }
}

impl Write<'_> {
    /// Somebody does not want to wait for it any more. False: it has ended.
    pub async fn task_cancel(&mut self, id: TaskId, why: &str) -> Result<bool> {
        let done = sqlx::query!(
            "update tasks set status = 'aborted', ended_at = clock_timestamp(), message = $2 where id = $1 and status in ('queued', 'running')",
            id.0,
            why
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }
}
