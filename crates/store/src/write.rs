//! A transaction that changes something. It can't be committed without saying what was done: the audit row, the event
//! and the task belong to the change itself.
use crate::{
    Store,
    constraint::{mapped, mapped_commit},
};
use model::{Action, Actor, Fields, Kind, OrgId, Result, TaskId, UserId, audit::Outcome};
use serde_json::Value;
use sqlx::{PgConnection, Postgres, Transaction};
use uuid::Uuid;

pub struct Write<'a> {
    pub(crate) tx: Transaction<'static, Postgres>,
    pub(crate) actor: &'a Actor,
    /// VMs whose vApps may come to another lease.
    pub(crate) turned: Vec<Uuid>,
    store: &'a Store,
}

/// What was done, to what.
pub struct Record {
    pub action: Action,
    pub org: OrgId,
    pub kind: Kind,
    pub id: Uuid,
    pub name: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
    pub task: Wait,
    /// Whose thing it is, where it is somebody's.
    pub owner: Option<UserId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nobody waits for it.
    No,
    /// It has ended with its transaction.
    Over,
    /// It ends when hubs have done it.
    Open,
}

impl Record {
    pub fn new(action: Action, org: OrgId, id: impl Into<Uuid>, name: &str) -> Record {
        let kind = action.kind();
        Record {
            action,
            org,
            kind,
            id: id.into(),
            name: name.to_owned(),
            before: None,
            after: None,
            task: Wait::No,
            owner: None,
        }
    }

    pub fn before(mut self, thing: &impl Fields) -> Record {
        self.before = Some(as_json(thing));
        self
    }

    pub fn after(mut self, thing: &impl Fields) -> Record {
        self.after = Some(as_json(thing));
        self
    }

    pub fn with_task(mut self) -> Record {
        self.task = Wait::Over;
        self
    }

    /// With a task that ends when hubs have done it.
    pub fn with_open_task(mut self) -> Record {
        self.task = Wait::Open;
        self
    }

    pub fn of(mut self, owner: Option<UserId>) -> Record {
        self.owner = owner;
        self
    }
}

fn as_json(thing: &impl Fields) -> Value {
    thing.fields().into_iter().map(|(k, v)| (k.to_owned(), Value::String(v))).collect()
}

impl Store {
    pub async fn write<'a>(&'a self, actor: &'a Actor) -> Result<Write<'a>> {
        let tx = self.begin().await?;
        Ok(Write { tx, actor, turned: Vec::new(), store: self })
    }
}

impl Write<'_> {
    pub(crate) fn conn(&mut self) -> &mut PgConnection {
        &mut self.tx
    }

    /// Commits what needs no record: nobody did anything, as when people are told that a lease will end.
    pub async fn commit_without_record(self) -> Result<()> {
        self.tx.commit().await.map_err(mapped_commit)?;
        self.store.bell.notify_one();
        Ok(())
    }

    /// Writes the record and commits. The task's id, if there is one.
    pub async fn commit(mut self, record: Record) -> Result<Option<TaskId>> {
        self.leases_turn().await?;
        let task = self.record(record).await?;
        self.tx.commit().await.map_err(mapped_commit)?;
        self.store.bell.notify_one();
        self.store.work_bell.notify_one();
        Ok(task)
    }

    /// Commits what follows from something that was recorded when it was asked for.
    pub async fn commit_as_recorded(self) -> Result<()> {
        self.tx.commit().await.map_err(mapped_commit)?;
        self.store.bell.notify_one();
        self.store.work_bell.notify_one();
        Ok(())
    }

    /// What was asked for before and is not wanted any more: a later power operation ends the wait for an earlier one, and
    /// a delete the wait for everything. What is done to a vApp is done to its machines.
    async fn supersede(&mut self, r: &Record) -> Result<()> {
        let ended: Vec<String> = match r.action {
            Action::VmDelete | Action::VappDelete | Action::VdcDelete | Action::DiskDelete => {
                Action::ALL.iter().map(|a| a.key().to_owned()).collect()
            }
            a @ (Action::VdcEnable | Action::VdcDisable) => {
                let other = if a == Action::VdcEnable { Action::VdcDisable } else { Action::VdcEnable };
                vec![other.key().to_owned()]
            }
            a if a.is_power() => Action::ALL.iter().filter(|b| b.is_power()).map(|b| b.key().to_owned()).collect(),
            _ => return Ok(()),
        };
        sqlx::query!(
            "update tasks set status = 'aborted', ended_at = clock_timestamp(), message = $3
             where (object_id = $1 or object_id in (select id from vms where vapp_id = $1)) and status in ('queued', 'running')
               and operation = any($2)",
            r.id,
            &ended,
            format!("Not waited for any more: {} was asked for after it.", r.action.phrase())
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// One of several things done in one transaction; the last one commits.
    pub async fn record(&mut self, r: Record) -> Result<Option<TaskId>> {
        let origin = &self.actor.origin;
        let user = self.actor.user.map(|u| u.0);
        sqlx::query!(
            "insert into audit (id, org_id, user_id, user_name, user_org, action, right_used, object_kind, object_id, object_name,
                                result, before, after, via, address, request_id)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
            Uuid::now_v7(),
            r.org.0,
            user,
            self.actor.name,
            self.actor.org_name,
            r.action.key(),
            r.action.right().map_or("", |x| x.name()),
            r.kind.key(),
            r.id,
            r.name,
            Outcome::Done.key(),
            r.before,
            r.after,
            origin.via.key(),
            origin.address,
            origin.request_id,
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!(
            "insert into events (id, org_id, user_id, user_name, kind, object_kind, object_id, object_name, message, request_id, owner_id)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            Uuid::now_v7(),
            r.org.0,
            user,
            self.actor.name,
            r.action.key(),
            r.kind.key(),
            r.id,
            r.name,
            if r.task == Wait::Open { format!("{} {}", r.action.order(), r.name) } else { format!("{} {}", r.action.past(), r.name) },
            origin.request_id,
            r.owner.map(|u| u.0),
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        let (status, over) = match r.task {
            Wait::No => return Ok(None),
            Wait::Over => ("success", true),
            Wait::Open => ("queued", false),
        };
        if !over {
            self.supersede(&r).await?;
        }
        let task = TaskId(Uuid::now_v7());
        sqlx::query!(
            "insert into tasks (id, org_id, user_id, user_name, operation, object_kind, object_id, object_name, status, progress,
                                request_id, started_at, ended_at, deadline)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $10, case when $11 then 100 end, $9, now(),
                     case when $11 then clock_timestamp() end, now() + case when $11 then interval '0' else make_interval(secs => $12) end)",
            task.0,
            r.org.0,
            user,
            self.actor.name,
            r.action.key(),
            r.kind.key(),
            r.id,
            r.name,
            origin.request_id,
            status,
            over,
            self.store.deadline.as_secs_f64()
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(Some(task))
    }
}
