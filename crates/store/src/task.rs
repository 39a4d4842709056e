//! Tasks.
use crate::{
    Authorized, Store,
    constraint::mapped,
    list::{Build, ListSql, living_columns, medium_column, since, sort},
    query::{QuerySql, id, text, time, words},
};
use model::{
    Action, Actor, Error, OrgId, Result, TaskId, UploadId, UserId,
    decide::{Resource, Scope},
    list::{ListQuery, Page},
    query::{Found, Numbered},
    task::{Task, TaskStatus},
};
use sqlx::FromRow;
use time::OffsetDateTime;
use uuid::Uuid;

/// Of open tasks: can what they make or wait for still be taken back?
macro_rules! unbegun {
    () => {
        ", t.ended_at is null and case t.operation \
             when 'vapp.create' then exists (select from vapps x where x.id = t.object_id and x.attempted_at is null and x.deleted_at is null) \
             when 'vapp.copy' then exists (select from vapps x where x.id = t.object_id and x.attempted_at is null and x.deleted_at is null) \
             when 'vm.create' then exists (select from vms x where x.id = t.object_id and x.attempted_at is null and x.uid is null and x.deleted_at is null) \
             when 'vm.copy' then exists (select from vms x where x.id = t.object_id and x.attempted_at is null and x.uid is null and x.deleted_at is null) \
             when 'disk.create' then exists (select from disks x where x.id = t.object_id and x.vm_id is null and x.attempted_at is null \
                                             and x.uid is null and x.deleted_at is null) \
             else false end as unbegun, \
           (select u.id from uploads u where t.ended_at is null and t.operation = 'template.upload' and u.template_id = t.object_id \
            and u.state = 'open' limit 1) as upload"
    };
}

const SQL: ListSql = ListSql {
    columns: concat!("t.*, o.name as org_name", living_columns!(), medium_column!(), unbegun!()),
    from: "tasks t join organizations o on o.id = t.org_id",
    count_from: "tasks t",
    living: "true",
    sorts: &[sort("started", "t.started_at", "timestamptz")],
    search: &["t.object_name", "t.user_name", "t.message", "t.request_id", "t.id::text", "t.object_id::text"],
    action: "t.operation",
    org: "t.org_id",
    owner: "t.user_id",
};

/// What VCD's clients ask by.
const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: "tasks t join organizations o on o.id = t.org_id",
    metadata: false,
    fields: &[
        id("id", "t.id"),
        id("href", "t.id"),
        text("name", "t.operation"),
        text("operation", "t.operation"),
        text("operationName", "t.operation"),
        id("org", "t.org_id"),
        text("orgName", "o.name"),
        id("owner", "t.user_id"),
        text("ownerName", "t.user_name"),
        id("object", "t.object_id"),
        text("objectName", "t.object_name"),
        text("objectType", "t.object_kind"),
        time("startDate", "t.started_at"),
        time("endDate", "t.ended_at"),
        words(
            "status",
            "t.status",
            &[
                ("queued", "t.status = 'queued'"),
                ("running", "t.status = 'running'"),
                ("success", "t.status = 'success'"),
                ("error", "t.status = 'error'"),
                ("aborted", "t.status = 'aborted'"),
            ],
        ),
    ],
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    org_id: Uuid,
    org_name: String,
    org_lives: bool,
    user_id: Option<Uuid>,
    user_name: String,
    operation: String,
    object_kind: String,
    object_id: Uuid,
    object_name: String,
    object_lives: bool,
    medium: bool,
    status: String,
    progress: Option<i16>,
    message: String,
    request_id: String,
    started_at: OffsetDateTime,
    ended_at: Option<OffsetDateTime>,
    unbegun: bool,
    upload: Option<Uuid>,
}

fn read(r: Row) -> Result<Task> {
    Ok(Task {
        id: TaskId(r.id),
        org: OrgId(r.org_id),
        org_name: r.org_name,
        org_lives: r.org_lives,
        user: r.user_id.map(UserId),
        user_name: r.user_name,
        operation: r.operation,
        object_kind: r.object_kind,
        object_id: r.object_id,
        object_name: r.object_name,
        object_lives: r.object_lives,
        medium: r.medium,
        status: TaskStatus::parse(&r.status).ok_or_else(|| Error::Internal(format!("task status {:?}", r.status)))?,
        progress: r.progress,
        message: r.message,
        request_id: r.request_id,
        started_at: r.started_at,
        ended_at: r.ended_at,
        unbegun: r.unbegun,
        upload: r.upload.map(UploadId),
    })
}

fn filter(b: &mut Build<'_>, key: &str, value: &str) {
    match key {
        "status" => {
            b.push(" and t.status = ").push_bind(value.to_owned());
        }
        "since" => since(b, "t.started_at", value),
        _ => {}
    }
}

/// What the list of tasks shows as failed within the last 24 hours.
pub(crate) const FAILED_TODAY: &str = " and t.status = 'error' and t.started_at > now() - interval '24 hours'";

/// Whose object is still there: nobody has to do anything about what is gone.
pub(crate) const STILL_THERE: &str = " and case t.object_kind
    when 'vapptemplate' then exists (select from templates x where x.id = t.object_id and x.deleted_at is null)
    when 'catalog' then exists (select from catalogs x where x.id = t.object_id and x.deleted_at is null)
    when 'vdc' then exists (select from vdcs x where x.id = t.object_id and x.deleted_at is null)
    when 'vapp' then exists (select from vapps x where x.id = t.object_id and x.gone_at is null)
    when 'vm' then exists (select from vms x where x.id = t.object_id and x.gone_at is null)
    when 'network' then exists (select from networks x where x.id = t.object_id and x.gone_at is null)
    when 'disk' then exists (select from disks x where x.id = t.object_id and x.gone_at is null)
    else true end";

/// Which tasks.
#[derive(Clone, Copy, Debug)]
pub enum Latest {
    Any,
    /// Those of the last 24 hours that failed, about things that are still there.
    NeedSomebody,
    About(Uuid),
}

/// The tray at the foot of every page.
#[derive(Clone, Debug, Default)]
pub struct Tray {
    pub latest: Vec<Task>,
    pub running: usize,
    pub failed: usize,
}

impl Store {
    pub async fn task(&self, actor: &Actor, action: Action, id: TaskId) -> Result<Authorized<Task>> {
        let mut b = SQL.one();
        b.push("t.id = ").push_bind(id.0);
        let row: Option<Row> = b.build_query_as().fetch_optional(&self.pool).await.map_err(mapped)?;
        Authorized::check(actor, action, row.map(read).transpose()?, |t| Resource::Owned(t.org, t.user))
    }

    pub async fn tasks(&self, scope: Scope, q: &ListQuery) -> Result<Page<Task>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    pub async fn tasks_query(&self, scope: Scope, q: &Numbered) -> Result<Found<Task>> {
        self.numbered(&QUERY, scope, q, read).await
    }

    /// The last one that a request began about something.
    pub async fn task_of_request(&self, scope: Scope, object: Uuid, request: &str) -> Result<Option<Task>> {
        let more = |b: &mut Build<'_>| {
            b.push(" and t.object_id = ").push_bind(object).push(" and t.request_id = ").push_bind(request.to_owned());
            b.push(" order by t.started_at desc, t.id desc limit 1");
        };
        Ok(self.few(&SQL, scope, more, read).await?.pop())
    }

    /// The latest, newest first.
    pub async fn latest_tasks(&self, scope: Scope, which: Latest, limit: u32) -> Result<Vec<Task>> {
        let more = |b: &mut Build<'_>| {
            match which {
                Latest::Any => {}
                Latest::NeedSomebody => {
                    b.push(FAILED_TODAY).push(STILL_THERE);
                }
                Latest::About(object) => {
                    b.push(" and t.object_id = ").push_bind(object);
                }
            }
            b.push(format_args!(" order by t.started_at desc, t.id desc limit {limit}"));
        };
        self.few(&SQL, scope, more, read).await
    }

    /// What runs now and what ended within the last day, failures and open ones first. One query.
    pub async fn tray(&self, scope: Scope) -> Result<Tray> {
        let lately = |b: &mut Build<'_>| {
            b.push(" and (t.ended_at is null or t.started_at > now() - interval '24 hours')");
            b.push(" order by t.started_at desc, t.id desc limit 50");
        };
        let mut latest = self.few(&SQL, scope, lately, read).await?;
        let running = latest.iter().filter(|t| !t.status.ended()).count();
        let failed = latest.iter().filter(|t| t.status == TaskStatus::Error).count();
        latest.sort_by_key(|t| match t.status {
            TaskStatus::Error => 0,
            TaskStatus::Queued | TaskStatus::Running => 1,
            TaskStatus::Success | TaskStatus::Aborted => 2,
        });
        latest.truncate(8);
        Ok(Tray { latest, running, failed })
    }
}
