//! The audit. Rows about changes are written by `Write`; refusals, which change nothing, by themselves.
use crate::{
    Store,
    constraint::mapped,
    list::{Build, ListSql, living_columns, since, sort},
    query::{QuerySql, id, text, time, words},
};
use model::{
    Action, Actor, AuditId, Error, OrgId, Result, UserId,
    audit::{AuditEntry, Outcome},
    decide::Scope,
    field_changes,
    list::{ListQuery, Page},
    query::{Found, Numbered},
};
use sqlx::{FromRow, types::Json};
use std::collections::BTreeMap;
use time::OffsetDateTime;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: concat!("t.*, coalesce(o.name, '') as org_name", living_columns!()),
    from: "audit t left join organizations o on o.id = t.org_id",
    count_from: "audit t",
    living: "true",
    sorts: &[sort("time", "t.created_at", "timestamptz")],
    search: &[
        "t.user_name",
        "t.object_name",
        "t.request_id",
        "t.address",
        "t.reason",
        "t.id::text",
        "t.object_id::text",
    ],
    action: "t.action",
    org: "t.org_id",
    owner: "t.user_id",
};

/// What VCD's clients ask by.
const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: "audit t left join organizations o on o.id = t.org_id",
    metadata: false,
    fields: &[
        id("id", "t.id"),
        id("eventId", "t.id"),
        id("org", "t.org_id"),
        id("org.id", "t.org_id"),
        text("org.name", "o.name"),
        text("orgName", "o.name"),
        id("operatingOrg.id", "t.org_id"),
        id("user", "t.user_id"),
        id("user.id", "t.user_id"),
        text("user.name", "t.user_name"),
        text("userName", "t.user_name"),
        text("eventType", "t.action"),
        text("type", "t.action"),
        text("entityType", "t.object_kind"),
        id("entity", "t.object_id"),
        id("eventEntity.id", "t.object_id"),
        text("eventEntity.name", "t.object_name"),
        text("entityName", "t.object_name"),
        text("description", "t.reason"),
        words("eventStatus", "t.result", &[("SUCCESS", "t.result = 'done'"), ("FAILURE", "t.result <> 'done'")]),
        time("timestamp", "t.created_at"),
        time("timeStamp", "t.created_at"),
    ],
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    org_id: Option<Uuid>,
    org_name: String,
    org_lives: bool,
    user_id: Option<Uuid>,
    user_name: String,
    user_org: String,
    action: String,
    right_used: String,
    object_kind: String,
    object_id: Option<Uuid>,
    object_name: String,
    object_lives: bool,
    result: String,
    reason: String,
    before: Option<Json<BTreeMap<String, String>>>,
    after: Option<Json<BTreeMap<String, String>>>,
    via: String,
    address: String,
    request_id: String,
    created_at: OffsetDateTime,
}

fn read(r: Row) -> Result<AuditEntry> {
    Ok(AuditEntry {
        id: AuditId(r.id),
        org: r.org_id.map(OrgId),
        org_name: r.org_name,
        org_lives: r.org_lives,
        user: r.user_id.map(UserId),
        user_name: r.user_name,
        user_org: r.user_org,
        action: r.action,
        right_used: r.right_used,
        object_kind: r.object_kind,
        object_id: r.object_id,
        object_name: r.object_name,
        object_lives: r.object_lives,
        outcome: Outcome::parse(&r.result).ok_or_else(|| Error::Internal(format!("audit result {:?}", r.result)))?,
        reason: r.reason,
        changes: field_changes(r.before.map(|j| j.0), r.after.map(|j| j.0)),
        via: r.via,
        address: r.address,
        request_id: r.request_id,
        created_at: r.created_at,
    })
}

fn filter(b: &mut Build<'_>, key: &str, value: &str) {
    match key {
        "kind" => {
            b.push(" and t.object_kind = ").push_bind(value.to_owned());
        }
        "result" => {
            b.push(" and t.result = ").push_bind(value.to_owned());
        }
        "since" => since(b, "t.created_at", value),
        _ => {}
    }
}

/// Something that was not done: by whom it was tried, and why not.
pub struct Refusal<'a> {
    pub action: Action,
    pub org: Option<OrgId>,
    pub user: Option<UserId>,
    pub user_name: &'a str,
    pub user_org: &'a str,
    pub object_id: Option<Uuid>,
    pub object_name: &'a str,
    pub outcome: Outcome,
    pub reason: &'a str,
    pub origin: &'a model::Origin,
}

impl<'a> Refusal<'a> {
    pub fn of(actor: &'a Actor, action: Action, reason: &'a str) -> Refusal<'a> {
        Refusal {
            action,
            org: Some(actor.org),
            user: actor.user,
            user_name: &actor.name,
            user_org: &actor.org_name,
            object_id: None,
            object_name: "",
            outcome: Outcome::Refused,
            reason,
            origin: &actor.origin,
        }
    }
}

impl Store {
    pub async fn audit(&self, scope: Scope, q: &ListQuery) -> Result<Page<AuditEntry>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    pub async fn audit_query(&self, scope: Scope, q: &Numbered) -> Result<Found<AuditEntry>> {
        self.numbered(&QUERY, scope, q, read).await
    }

    /// One entry, within what the reader may see.
    pub async fn audit_entry(&self, scope: Scope, id: AuditId) -> Result<AuditEntry> {
        let mut b = SQL.one();
        b.push("t.id = ").push_bind(id.0);
        match scope {
            Scope::All => {}
            Scope::Org(org) | Scope::Own(org, ..) => {
                b.push(" and t.org_id = ").push_bind(org.0);
            }
        }
        let row: Option<Row> = b.build_query_as().fetch_optional(&self.pool).await.map_err(mapped)?;
        row.map(read).transpose()?.ok_or(Error::NotFound(model::Kind::Audit))
    }

    pub async fn audit_refusal(&self, r: Refusal<'_>) -> Result<()> {
        sqlx::query!(
            "insert into audit (id, org_id, user_id, user_name, user_org, action, right_used, object_kind, object_id, object_name,
                                result, reason, via, address, request_id)
             values ($1, $2, $3, $4, $5, $6, '', $7, $8, $9, $10, $11, $12, $13, $14)",
            Uuid::now_v7(),
            r.org.map(|o| o.0),
            r.user.map(|u| u.0),
            r.user_name,
            r.user_org,
            r.action.key(),
            r.action.kind().key(),
            r.object_id,
            r.object_name,
            r.outcome.key(),
            r.reason,
            r.origin.via.key(),
            r.origin.address,
            r.origin.request_id,
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}
