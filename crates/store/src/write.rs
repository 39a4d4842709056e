//! A transaction that changes something. It can't be committed without saying what was done: the audit row, the event
//! and the task belong to the change itself.
use crate::{Store, constraint::mapped};
use model::{Action, Actor, Fields, Kind, OrgId, Result, TaskId, audit::Outcome};
use serde_json::Value;
use sqlx::{PgConnection, Postgres, Transaction};
use uuid::Uuid;

pub struct Write<'a> {
    pub(crate) tx: Transaction<'static, Postgres>,
    pub(crate) actor: &'a Actor,
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
    /// Things a VCD client waits for leave a task behind; what needs no hub has ended with its transaction.
    pub task: bool,
}

impl Record {
    pub fn new(action: Action, org: OrgId, id: impl Into<Uuid>, name: &str) -> Record {
        let kind = action.kind();
        Record { action, org, kind, id: id.into(), name: name.to_owned(), before: None, after: None, task: false }
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
        self.task = true;
        self
    }
}

fn as_json(thing: &impl Fields) -> Value {
    thing.fields().into_iter().map(|(k, v)| (k.to_owned(), Value::String(v))).collect()
}

impl Store {
    pub async fn write<'a>(&'a self, actor: &'a Actor) -> Result<Write<'a>> {
        let tx = self.pool.begin().await.map_err(mapped)?;
        Ok(Write { tx, actor, store: self })
    }
}

impl Write<'_> {
    pub(crate) fn conn(&mut self) -> &mut PgConnection {
        &mut self.tx
    }

    /// Writes the record and commits. The task's id, if there is one.
    pub async fn commit(mut self, record: Record) -> Result<Option<TaskId>> {
        let task = self.record(record).await?;
        self.tx.commit().await.map_err(mapped)?;
        self.store.bell.notify_one();
        Ok(task)
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
            "insert into events (id, org_id, user_id, user_name, kind, object_kind, object_id, object_name, message, request_id)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            Uuid::now_v7(),
            r.org.0,
            user,
            self.actor.name,
            r.action.key(),
            r.kind.key(),
            r.id,
            r.name,
            format!("{} {}", r.action.past(), r.name),
            origin.request_id,
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        if !r.task {
            return Ok(None);
        }
        let task = TaskId(Uuid::now_v7());
        sqlx::query!(
            "insert into tasks (id, org_id, user_id, user_name, operation, object_kind, object_id, object_name, status, progress,
                                request_id, started_at, ended_at, deadline)
             values ($1, $2, $3, $4, $5, $6, $7, $8, 'success', 100, $9, now(), clock_timestamp(), now())",
            task.0,
            r.org.0,
            user,
            self.actor.name,
            r.action.key(),
            r.kind.key(),
            r.id,
            r.name,
            origin.request_id,
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(Some(task))
    }
}
