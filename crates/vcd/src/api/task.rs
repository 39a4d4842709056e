//! Tasks: what became of what was asked for.
use crate::{
    answer::Answer,
    ask::Ask,
    fault, pending,
    routes::Routes,
    wire::{
        doc::{action, document, link, reference},
        href::{Base, urn},
        media,
        operation::vcd_name,
        times::stamp,
    },
};
use domain::task::{self, Noted};
use model::{
    Action, Actor, Error, Kind, OrgId, Result, TaskId, can,
    decide::Resource,
    query::{MOST_ON_PAGE, Numbered},
    task::{Task, TaskStatus},
};
use std::fmt::Display;
use time::Duration;
use uuid::Uuid;
use xml::Writer;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/task/{id}", get)
        .put("/api/task/{id}", update)
        .post("/api/task/{id}/action/cancel", cancel)
        .get("/api/tasksList/{id}", list)
}

/// Ended, or as it stands after a moment: clients look at once, and then only every few seconds.
async fn get(ask: Ask) -> Result<Answer> {
    let id: TaskId = ask.id(Kind::Task)?;
    let task = task::wait(ask.d(), &ask.actor, id, pending::AT_MOST).await?;
    Ok(answer(&ask, &task))
}

/// The one change that a client can make: to give it up.
async fn update(ask: Ask) -> Result<Answer> {
    let id: TaskId = ask.id(Kind::Task)?;
    let wanted = ask.xml("Task")?.attr("status").unwrap_or_default().to_lowercase();
    match wanted.as_str() {
        "aborted" | "canceled" | "cancelled" => task::cancel(ask.d(), &ask.actor, id).await?,
        _ => return Err(Error::BadRequest("The status of a task can be set to aborted, and to nothing else.".into())),
    }
    Ok(answer(&ask, &task::get(ask.d(), &ask.actor, id).await?))
}

async fn cancel(ask: Ask) -> Result<Answer> {
    task::cancel(ask.d(), &ask.actor, ask.id(Kind::Task)?).await?;
    Ok(Answer::nothing())
}

/// The latest of an organization.
async fn list(ask: Ask) -> Result<Answer> {
    let org: OrgId = ask.id(Kind::Org)?;
    let q = Numbered { sort: Some(("startDate".into(), true)), size: MOST_ON_PAGE, ..Numbered::default() };
    let found = task::query(ask.d(), &ask.actor, Some(org), &q).await?;
    let (href, name) = (ask.base().tasks_list(org), "Tasks Lists");
    let attributes: [(&str, &dyn Display); 3] = [("href", &href), ("name", &name), ("type", &media::TASKS_LIST)];
    let text = document("TasksList", &attributes, |w| {
        for task in &found.items {
            element(w, ask.base(), &ask.actor, task, &[]);
        }
    });
    Ok(Answer::xml(media::TASKS_LIST, text))
}

fn answer(ask: &Ask, task: &Task) -> Answer {
    Answer::xml(media::TASK, whole(ask, task))
}

fn whole(ask: &Ask, task: &Task) -> String {
    let attributes = attributes(ask.base(), task);
    let attributes: Vec<(&str, &dyn Display)> = attributes.iter().map(|(n, v)| (*n, v as &dyn Display)).collect();
    document("Task", &attributes, |w| content(w, ask.base(), &ask.actor, task))
}

/// 202 with the task that an operation began.
pub(crate) async fn accepted(ask: &Ask, id: Option<TaskId>) -> Result<Answer> {
    let id = id.ok_or_else(|| Error::Internal("an operation began no task".into()))?;
    let task = task::get(ask.d(), &ask.actor, id).await?;
    Ok(answer(ask, &task).accepted())
}

/// 202 with the task of an operation that gives back the thing it changed. Where nothing had to be done, a task says so.
pub(crate) async fn accepted_about(ask: &Ask, doing: Action, what: Noted) -> Result<Answer> {
    let task = about(ask, doing, what).await?;
    Ok(answer(ask, &task).accepted())
}

pub(crate) async fn about(ask: &Ask, doing: Action, what: Noted) -> Result<Task> {
    if let Some(task) = task::of_request(ask.d(), &ask.actor, what.org, what.id).await? {
        return Ok(task);
    }
    let id = task::note(ask.d(), &ask.actor, doing, &what).await?;
    task::get(ask.d(), &ask.actor, id).await
}

/// `<Tasks>` within a thing: what is under way, or the task that has just been begun.
pub(crate) fn tasks(w: &mut Writer, base: &Base, actor: &Actor, tasks: &[Task]) {
    if !tasks.is_empty() {
        w.el("Tasks", &[], |w| tasks.iter().for_each(|task| element(w, base, actor, task, &[])));
    }
}

/// `other`: attributes that take the place of the usual ones.
pub(crate) fn element(w: &mut Writer, base: &Base, actor: &Actor, task: &Task, other: &[(&'static str, &str)]) {
    let mut all = attributes(base, task);
    for (name, value) in other {
        all.iter_mut().filter(|(n, _)| n == name).for_each(|(_, v)| (*value).clone_into(v));
    }
    let all: Vec<(&str, &dyn Display)> = all.iter().map(|(n, v)| (*n, v as &dyn Display)).collect();
    w.el("Task", &all, |w| content(w, base, actor, task));
}

fn attributes(base: &Base, task: &Task) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("cancelRequested", "false".to_owned()),
        ("expiryTime", stamp(task.started_at + Duration::days(90))),
        ("operation", format!("{}({})", task.title(), task.object_id)),
        ("operationName", vcd_name(&task.operation).to_owned()),
        ("serviceNamespace", "com.vmware.vcloud".to_owned()),
        ("startTime", stamp(task.started_at)),
        ("status", status(task.status).to_owned()),
        ("name", "task".to_owned()),
        ("id", task.id.urn()),
        ("href", base.task(task.id)),
        ("type", media::TASK.to_owned()),
    ];
    if let Some(at) = task.ended_at {
        all.push(("endTime", stamp(at)));
    }
    all
}

pub(crate) fn status(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Queued => "queued",
        TaskStatus::Running => "running",
        TaskStatus::Success => "success",
        TaskStatus::Error => "error",
        TaskStatus::Aborted => "aborted",
    }
}

fn content(w: &mut Writer, base: &Base, actor: &Actor, task: &Task) {
    let href = base.task(task.id);
    let can = can::task(task, Action::TaskCancel).is_ok();
    if can && actor.may(Action::TaskCancel, Resource::Owned(task.org, task.user)) {
        action(w, "task:cancel", format_args!("{href}/action/cancel"));
        link(w, "edit", &href, media::TASK);
    }
    if let Some((owner, kind, urn)) = task.kind().and_then(|kind| thing(base, kind, task.object_id, task.medium)) {
        reference(w, "Owner", owner, urn, &task.object_name, kind);
    }
    match task.status {
        TaskStatus::Error => fault::child(w, 500, "INTERNAL_SERVER_ERROR", &task.message),
        TaskStatus::Aborted => fault::child(w, 400, "TASK_ABORTED", &task.message),
        _ => {}
    }
    if let Some(user) = task.user {
        reference(w, "User", base.user(user), user.urn(), &task.user_name, media::ADMIN_USER);
    }
    reference(w, "Organization", base.org(task.org), task.org.urn(), &task.org_name, media::ORG);
    if let Some(percent) = task.progress {
        w.text("Progress", percent);
    }
    w.text("Details", &task.message);
}

/// What URNs of discs say.
pub(crate) const MEDIUM: &str = "media";

/// Where a thing is, what it is, and its URN. None: it has no address here. `medium`: what is called a template is a disc.
pub(crate) fn thing(base: &Base, kind: Kind, id: Uuid, medium: bool) -> Option<(String, &'static str, String)> {
    if kind == Kind::Template && medium {
        return Some((base.media(id.into()), media::MEDIA, urn(MEDIUM, id)));
    }
    let (href, media) = match kind {
        Kind::Org => (base.org(id.into()), media::ORG),
        Kind::User => (base.user(id.into()), media::ADMIN_USER),
        Kind::Role => (base.role(id.into()), media::ADMIN_ROLE),
        Kind::Vdc => (base.vdc(id.into()), media::VDC),
        Kind::Catalog => (base.catalog(id.into()), media::CATALOG),
        Kind::Template => (base.template(id.into()), media::VAPP_TEMPLATE),
        Kind::Vapp => (base.vapp(id.into()), media::VAPP),
        Kind::Vm => (base.vm(id.into()), media::VM),
        Kind::Network => (base.network(id.into()), media::NETWORK),
        Kind::Disk => (base.disk(id.into()), media::DISK),
        Kind::AffinityRule => (base.affinity(id.into()), media::AFFINITY_RULE),
        Kind::SizingPolicy => {
            let href = base.cloudapi(format_args!("1.0.0/vdcComputePolicies/urn:vcloud:vdcComputePolicy:{id}"));
            (href, "application/json")
        }
        _ => return None,
    };
    Some((href, media, format!("urn:vcloud:{}:{id}", kind.key())))
}
