//! Events.
use crate::{
    Store,
    list::{Build, ListSql, living_columns, medium_column, since, sort},
    query::{QuerySql, bool, id, number, text, time},
};
use model::{
    EventId, OrgId, Result, UserId,
    decide::Scope,
    event::Event,
    list::{ListQuery, Page},
    query::{Found, Numbered},
};
use sqlx::FromRow;
use time::OffsetDateTime;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: concat!(
        "t.id, t.org_id, o.name as org_name, t.user_id, t.user_name, t.kind, t.object_kind, t.object_id, t.object_name, ",
        "t.message, t.request_id, t.created_at",
        living_columns!(),
        medium_column!()
    ),
    from: "events t join organizations o on o.id = t.org_id",
    count_from: "events t",
    living: "true",
    sorts: &[sort("time", "t.created_at", "timestamptz")],
    search: &["t.object_name", "t.user_name", "t.message", "t.request_id", "t.object_id::text"],
    action: "",
    org: "t.org_id",
    owner: "t.user_id",
};

/// What VCD's clients ask by.
const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: "events t left join organizations o on o.id = t.org_id",
    metadata: false,
    fields: &[
        id("id", "t.id"),
        id("eventId", "t.id"),
        id("org", "t.org_id"),
        id("org.id", "t.org_id"),
        id("eventOrg.id", "t.org_id"),
        text("orgName", "o.name"),
        id("user", "t.user_id"),
        id("user.id", "t.user_id"),
        text("userName", "t.user_name"),
        text("user.name", "t.user_name"),
        text("eventType", "t.kind"),
        text("type", "t.kind"),
        text("entityType", "t.object_kind"),
        id("entity", "t.object_id"),
        id("eventEntity.id", "t.object_id"),
        text("entityName", "t.object_name"),
        text("eventEntity.name", "t.object_name"),
        text("description", "t.message"),
        time("timeStamp", "t.created_at"),
        time("timestamp", "t.created_at"),
        bool("isEventSuccessful", "true"),
        number("eventStatus", "1"),
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
    kind: String,
    object_kind: String,
    object_id: Option<Uuid>,
    object_name: String,
    object_lives: bool,
    medium: bool,
    message: String,
    request_id: String,
    created_at: OffsetDateTime,
}

fn read(r: Row) -> Result<Event> {
    Ok(Event {
        id: EventId(r.id),
        org: OrgId(r.org_id),
        org_name: r.org_name,
        org_lives: r.org_lives,
        user: r.user_id.map(UserId),
        user_name: r.user_name,
        kind: r.kind,
        object_kind: r.object_kind,
        object_id: r.object_id,
        object_name: r.object_name,
        object_lives: r.object_lives,
        medium: r.medium,
        message: r.message,
        request_id: r.request_id,
        created_at: r.created_at,
    })
}

fn filter(b: &mut Build<'_>, key: &str, value: &str) {
    match key {
        "kind" => {
            b.push(" and t.object_kind = ").push_bind(value.to_owned());
        }
        "since" => since(b, "t.created_at", value),
        _ => {}
    }
}

impl Store {
    pub async fn events(&self, scope: Scope, q: &ListQuery) -> Result<Page<Event>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    pub async fn events_query(&self, scope: Scope, q: &Numbered) -> Result<Found<Event>> {
        self.numbered(&QUERY, scope, q, read).await
    }

    /// The latest about one thing, newest first.
    pub async fn events_about(&self, scope: Scope, object: Uuid, limit: u32) -> Result<Vec<Event>> {
        let more = |b: &mut Build<'_>| {
            b.push(" and t.object_id = ").push_bind(object);
            b.push(format_args!(" order by t.created_at desc, t.id desc limit {limit}"));
        };
        self.few(&SQL, scope, more, read).await
    }
}
