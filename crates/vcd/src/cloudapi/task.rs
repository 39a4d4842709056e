//! Tasks, as `/api` has them, in JSON.
use super::page::{Fields, asked, page, reference};
use crate::{
    answer::Answer,
    api::{query::by_our_names, task::MEDIUM},
    ask::Ask,
    openapi::{Is, Schema, Told, sent},
    pending,
    routes::Routes,
    wire::{href::urn, operation::vcd_name, times::stamp},
};
use domain::task;
use model::{Kind, Result, TaskId, query::Numbered, task::Task};
use serde_json::{Value, json};

const FIELDS: Fields = &[
    ("id", "id"),
    ("status", "status"),
    ("operationName", "operationName"),
    ("org.id", "org"),
    ("org.name", "orgName"),
    ("user.id", "owner"),
    ("user.name", "ownerName"),
    ("owner.id", "object"),
    ("owner.name", "objectName"),
    ("startTime", "startDate"),
    ("endTime", "endDate"),
];

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/cloudapi/1.0.0/tasks", list)
        .told(Told::page("Tasks: your own, or all of the organization with the right to see them", "Task", FIELDS))
        .get("/cloudapi/1.0.0/tasks/{id}", get)
        .told(Told::one("One task; the answer waits a moment for its end", "Task"))
        .delete("/cloudapi/1.0.0/tasks/{id}", cancel)
        .told(Told::done("Take back what was asked for, where nothing of it was begun"))
}

pub(crate) fn schemas() -> Vec<Schema> {
    let properties = vec![
        ("id", Is::Urn),
        ("operation", Is::Text),
        ("operationName", Is::Text),
        ("status", Is::Text),
        ("progress", Is::MaybeInt),
        ("details", Is::Text),
        ("owner", Is::Ref),
        ("user", Is::Ref),
        ("org", Is::Ref),
        ("startTime", Is::Time),
        ("endTime", Is::MaybeTime),
        ("href", Is::Text),
    ];
    vec![sent("Task", properties)]
}

async fn list(ask: Ask) -> Result<Answer> {
    let q = asked(&ask, FIELDS)?;
    // shown by VCD's names, so found by them
    let ours = Numbered { filter: q.filter.clone().rewritten(&by_our_names), ..q.clone() };
    let found = task::query(ask.d(), &ask.actor, ask.context, &ours).await?;
    Ok(page(&ask, &q, found, |task| write(&ask, &task)))
}

async fn get(ask: Ask) -> Result<Answer> {
    let id: TaskId = ask.id(Kind::Task)?;
    let task = task::wait(ask.d(), &ask.actor, id, pending::AT_MOST).await?;
    Ok(Answer::json(&write(&ask, &task)))
}

async fn cancel(ask: Ask) -> Result<Answer> {
    task::cancel(ask.d(), &ask.actor, ask.id(Kind::Task)?).await?;
    Ok(Answer::nothing())
}

fn write(ask: &Ask, t: &Task) -> Value {
    json!({
        "id": t.id.urn(),
        "operation": t.title(),
        "operationName": vcd_name(&t.operation),
        "status": t.status.key().to_uppercase(),
        "progress": t.progress,
        "details": t.message,
        "owner": reference(&t.object_name, urn(if t.medium { MEDIUM } else { &t.object_kind }, t.object_id)),
        "user": reference(&t.user_name, t.user.map(|user| user.urn())),
        "org": reference(&t.org_name, t.org.urn()),
        "startTime": stamp(t.started_at),
        "endTime": t.ended_at.map(stamp),
        "href": ask.base().task(t.id),
    })
}
