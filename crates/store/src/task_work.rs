//! Tasks that wait for hubs: they end from what was observed, or at their deadline.
use crate::{Store, Write, constraint::mapped};
use model::{
    Action, DiskId, Kind, OrgId, Result, TaskId, UserId, VappId, VmId,
    event::Change,
    task::{AT_NEXT_START, CHANGES, TaskStatus, Verdict},
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
        let store = self.clone();
        self.gathered.tasks.ask(objects.to_vec(), move |asks| store.clone().open_tasks_of(asks)).await
    }

    async fn open_tasks_of(self, asks: Vec<Vec<Uuid>>) -> Result<Vec<Vec<OpenTask>>> {
        let objects = asks.concat();
        let rows = sqlx::query_as!(
            OpenRow,
            "select id, org_id, user_id, operation, object_kind, object_id, object_name, progress, message from tasks
             where object_id = any($1) and status in ('queued', 'running')",
            &objects
        )
        .fetch_all(&self.workers)
        .await
        .map_err(mapped)?;
        let open: Vec<OpenTask> = rows.into_iter().filter_map(OpenRow::task).collect();
        let of = |objects: &Vec<Uuid>| open.iter().filter(|t| objects.contains(&t.object)).cloned().collect();
        Ok(asks.iter().map(of).collect())
    }

    /// What should have ended by now. What is seen to go on is waited for: a disk that fills, or an image on its way to the hub
    /// that a machine waits for. It has a sixth of its time to move again.
    pub async fn overdue_tasks(&self) -> Result<Vec<OpenTask>> {
        let rows = sqlx::query_as!(
            OpenRow,
            "select t.id, t.org_id, t.user_id, t.operation, t.object_kind, t.object_id, t.object_name, t.progress, t.message from tasks t
             where t.status in ('queued', 'running') and t.deadline < now()
               and (t.moved_at is null or t.moved_at < now() - (t.deadline - t.started_at) / 6)
               and not exists (select from vms m join disks k on k.vm_id = m.id and k.gone_at is null
                               join hub_images h on h.hub_id = m.hub_id and k.image = 'image/' || h.image_id and h.ready_at is null
                               join tasks i on i.id = h.id and i.status = 'running' and i.moved_at > now() - (t.deadline - t.started_at) / 6
                               where (m.id = t.object_id or m.vapp_id = t.object_id) and m.gone_at is null)"
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
            Verdict::DoneBut(what) => (TaskStatus::Success, Some(100), what.as_str()),
            Verdict::Failed(why) => (TaskStatus::Error, task.progress, why.as_str()),
        };
        let same = status == TaskStatus::Running && progress == task.progress && message == task.message;
        if same {
            return Ok(false);
        }
        let done = sqlx::query!(
            "update tasks set status = $2, progress = $3::smallint, message = $4, ended_at = case when $5 then clock_timestamp() end,
                    moved_at = case when $3::smallint > coalesce(progress, 0) then now() else moved_at end
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
            self.tell_task(task);
        }
        Ok(done.rows_affected() == 1 && status.ended())
    }

    /// A hub says only after a change that it waits for a restart: the change of the machine that has just ended says so too.
    pub async fn tasks_wait_for_restart(&self, vm: VmId) -> Result<()> {
        let changes: Vec<String> = CHANGES.iter().map(|a| a.key().to_owned()).collect();
        sqlx::query!(
            "update tasks set message = $2 where message = '' and id = (
               select id from tasks where object_id = $1 and operation = any($3) and status = 'success'
                 and ended_at > now() - interval '1 minute' order by started_at desc, id desc limit 1)",
            vm.0,
            AT_NEXT_START,
            &changes
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Whoever looks at it reads it anew.
    pub fn tell_task(&self, task: &OpenTask) {
        self.tell(Change {
            org: task.org,
            user: task.user,
            owner: task.user,
            kind: Kind::Task,
            id: Some(task.id.0),
            shares: Vec::new(),
        });
    }
}

impl Write<'_> {
    /// Nobody waits for it any more. False: it has ended.
    pub async fn task_end(&mut self, id: TaskId, status: TaskStatus, why: &str) -> Result<bool> {
        let done = sqlx::query!(
            "update tasks set status = $3, ended_at = clock_timestamp(), message = $2 where id = $1 and status in ('queued', 'running')",
            id.0,
            why,
            status.key()
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// Can nothing of it be on a hub? The vApp and its machines are held.
    pub async fn vapp_unbegun(&mut self, vapp: VappId) -> Result<bool> {
        sqlx::query_scalar!(
            r#"select exists (select from vapps where id = $1 and attempted_at is null and deleted_at is null)
                      and not exists (select from vms where vapp_id = $1 and (attempted_at is not null or uid is not null)) as "unbegun!""#,
            vapp.0
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)
    }

    /// The same of a machine that is held.
    pub async fn vm_unbegun(&mut self, vm: VmId) -> Result<bool> {
        sqlx::query_scalar!(
            r#"select exists (select from vms where id = $1 and attempted_at is null and uid is null and deleted_at is null) as "unbegun!""#,
            vm.0
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)
    }

    /// The same of an independent disk that is held.
    pub async fn disk_unbegun(&mut self, disk: DiskId) -> Result<bool> {
        sqlx::query_scalar!(
            r#"select exists (select from disks where id = $1 and vm_id is null and attempted_at is null and uid is null
                              and deleted_at is null) as "unbegun!""#,
            disk.0
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)
    }

    pub async fn vapp_of_vm(&mut self, vm: VmId) -> Result<Option<VappId>> {
        let found = sqlx::query_scalar!("select vapp_id from vms where id = $1", vm.0);
        Ok(found.fetch_optional(&mut *self.tx).await.map_err(mapped)?.map(VappId))
    }
}
