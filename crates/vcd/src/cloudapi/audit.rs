//! The audit trail: who did what, and what was refused.
use super::page::{Fields, asked, page, reference};
use crate::{
    answer::Answer,
    ask::Ask,
    openapi::{Is, Schema, Told, sent},
    routes::Routes,
    wire::{href::urn, times::stamp},
};
use domain::audit;
use model::{
    Kind, Result,
    audit::{AuditEntry, Outcome},
};
use serde_json::{Value, json};

const FIELDS: Fields = &[
    ("eventId", "eventId"),
    ("timestamp", "timestamp"),
    ("eventType", "eventType"),
    ("eventStatus", "eventStatus"),
    ("description", "description"),
    ("user.id", "user.id"),
    ("user.name", "user.name"),
    ("org.id", "org.id"),
    ("org.name", "org.name"),
    ("eventEntity.id", "eventEntity.id"),
    ("eventEntity.name", "eventEntity.name"),
];

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/cloudapi/1.0.0/auditTrail", list)
        .told(Told::page("What was done and what was refused", "AuditEvent", FIELDS))
        .get("/cloudapi/1.0.0/auditTrail/{id}", get)
        .told(Told::one("One entry of the audit", "AuditEvent"))
}

pub(crate) fn schemas() -> Vec<Schema> {
    let properties = vec![
        ("eventId", Is::Urn),
        ("eventType", Is::Text),
        ("eventStatus", Is::Text),
        ("description", Is::Text),
        ("timestamp", Is::Time),
        ("user", Is::Ref),
        ("org", Is::MaybeRef),
        ("operatingOrg", Is::MaybeRef),
        ("eventEntity", Is::MaybeRef),
        ("serviceNamespace", Is::Text),
        ("external", Is::Bool),
        ("additionalProperties", Is::Other(json!({"type": "object"}))),
    ];
    vec![sent("AuditEvent", properties)]
}

async fn list(ask: Ask) -> Result<Answer> {
    let q = asked(&ask, FIELDS)?;
    let found = audit::query(ask.d(), &ask.actor, ask.context, &q).await?;
    Ok(page(&ask, &q, found, |entry| write(&entry)))
}

async fn get(ask: Ask) -> Result<Answer> {
    let entry = audit::get(ask.d(), &ask.actor, ask.context, ask.id(Kind::Audit)?).await?;
    Ok(Answer::json(&write(&entry)))
}

fn write(e: &AuditEntry) -> Value {
    let org = e.org.map(|org| reference(&e.org_name, org.urn()));
    let changes: Vec<Value> =
        e.changes.iter().map(|c| json!({"field": c.field, "before": c.before, "after": c.after})).collect();
    json!({
        "eventId": e.id.urn(),
        "eventType": e.action,
        "eventStatus": if e.outcome == Outcome::Done { "SUCCESS" } else { "FAILURE" },
        "description": format!("{} {}", e.what(), e.object_name).trim(),
        "timestamp": stamp(e.created_at),
        "user": reference(&e.user_name, e.user.map(|user| user.urn())),
        "org": org,
        "operatingOrg": org,
        "eventEntity": e.object_id.map(|id| reference(&e.object_name, urn(&e.object_kind, id))),
        "serviceNamespace": "com.vmware.vcloud",
        "external": false,
        "additionalProperties": {
            "via": e.via,
            "address": e.address,
            "requestId": e.request_id,
            "rightUsed": e.right_used,
            "reason": e.reason,
            "changes": changes,
        },
    })
}
