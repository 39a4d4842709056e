//! Tasks in both portals: what was asked for, how far it is, and the page of one of them.
use crate::{
    code,
    parts::*,
    portal::{Csv, Done, ListView, Place, Routes, Sheet, Values, Visit, object_link, org_link, task_state},
    shell::Crumb,
};
use domain::task;
use leptos::prelude::*;
use model::{
    Action, Kind, Result, TaskId, can,
    decide::Resource,
    list::{ListQuery, TASKS},
    task::{Task, TaskStatus},
};

const ON: &str = "Tasks";
const LIST: &str = "/tasks";

pub fn routes(r: Routes) -> Routes {
    r.both(LIST, list).both_csv("/tasks.csv", csv).both("/tasks/{id}", page).both_act("/tasks/{id}/cancel", cancel)
}

async fn list(visit: Visit) -> Result<Sheet> {
    let query = visit.list_query(&TASKS)?;
    let page = task::list(visit.domain(), &visit.actor, visit.org(), &query).await?;
    let view = ListView::new(&visit, &TASKS, query, &page);
    let mut heads = vec![Head::new("What"), Head::new("Object"), Head::new("State"), Head::new("Who")];
    if visit.place == Place::Provider {
        heads.push(Head::new("Organization"));
    }
    heads.extend([Head::new("Took").number(), view.head("started", "When").number()]);
    let rows = page.items.iter().map(|t| row(&visit, t)).collect_view();
    let acts = view.csv_button().into_any();
    let body = view! {
        <PageHead title=ON sub=view.count() lede=lede(&visit) acts />
        {view.filters("tasks", "What, object, who, message, id")}
        {if view.is_unused() {
            view! {
                <Empty title="No tasks yet">
                    "What is asked for shows here until it is done, and stays as a record of how it went."
                </Empty>
            }
                .into_any()
        } else if view.is_empty() {
            view! { <Empty title="No task fits">"Search for something else, or take a filter away."</Empty> }.into_any()
        } else {
            view! {
                <Table caption="Tasks, newest first" heads kind=TableKind::Tight list=true>
                    {rows}
                </Table>
            }
                .into_any()
        }}
        {view.pager()}
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

/// Says so where only one's own are listed.
fn lede(visit: &Visit) -> &'static str {
    if visit.may(Action::TaskList) {
        return "";
    }
    "Only your own. To see everybody's takes the right “Task: View Tasks”."
}

fn row(visit: &Visit, t: &Task) -> impl IntoView + use<> {
    let (state, object) =
        (state(t), object_link(visit, &t.object_kind, Some(t.object_id), &t.object_name, t.object_lives));
    let org = (visit.place == Place::Provider).then(|| {
        let org = org_link(visit, Some(t.org), &t.org_name, t.org_lives);
        view! { <Cell label="Organization" wraps=true>{org}</Cell> }
    });
    let (who, took, started, now) = (t.user_name.clone(), took(visit, t), t.started_at, visit.now);
    let cells = view! {
        <NameCell name=t.what() href=visit.at(format!("{LIST}/{}", t.id)) why=t.message.clone() />
        <Cell label="Object" wraps=true>{object}</Cell>
        <StateCell>{state}</StateCell>
        <Cell label="Who" wraps=true>{who}</Cell>
        {org}
        <Cell label="Took" number=true>
            {took}
        </Cell>
        <Cell label="When" number=true>
            <Time at=started now />
        </Cell>
    };
    view! { <Row id=format!("task-{}", t.id)>{cells}</Row> }
}

fn state(t: &Task) -> impl IntoView + use<> {
    let (shape, tone) = task_state(t).shape();
    let more = match (t.status, t.progress) {
        (TaskStatus::Running, Some(percent)) => format!("{percent} %"),
        _ => String::new(),
    };
    view! { <Badge shape tone word=t.status.label() more /> }
}

fn took(visit: &Visit, t: &Task) -> String {
    match t.ended_at {
        Some(ended) => span(ended - t.started_at),
        None => format!("{} so far", span(visit.now - t.started_at)),
    }
}

async fn csv(visit: Visit) -> Result<Csv> {
    let heads = [
        "id",
        "organization",
        "user",
        "operation",
        "object_kind",
        "object_id",
        "object",
        "status",
        "progress",
        "message",
        "request_id",
        "started_at",
        "ended_at",
    ];
    let list = async |visit: Visit, q: ListQuery| task::list(visit.domain(), &visit.actor, visit.org(), &q).await;
    Csv::head("tasks", &heads).rows(visit, &TASKS, list, cells).await
}

fn cells(t: Task) -> [String; 13] {
    [
        t.id.urn(),
        t.org_name,
        t.user_name,
        t.operation,
        t.object_kind,
        t.object_id.to_string(),
        t.object_name,
        t.status.key().to_owned(),
        t.progress.map(|p| p.to_string()).unwrap_or_default(),
        t.message,
        t.request_id,
        machine(t.started_at),
        t.ended_at.map(machine).unwrap_or_default(),
    ]
}

async fn page(visit: Visit) -> Result<Sheet> {
    let t = task::get(visit.domain(), &visit.actor, visit.id()).await?;
    visit.within(t.org, Kind::Task)?;
    let title = t.what();
    let message = (!t.message.is_empty()).then(|| {
        let (tone, text) = (if t.status == TaskStatus::Error { Tone::Bad } else { Tone::Plain }, t.message.clone());
        view! { <Note tone>{text}</Note> }
    });
    let facts = facts(&visit, &t);
    let body = view! {
        <PageHead title=title.clone() sub=t.object_name.clone() says=state(&t).into_any() acts=cancel_button(&visit, &t) />
        {message}
        <Section title="How it went">
            <Facts>{facts}</Facts>
        </Section>
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, visit.at(LIST)), Crumb::here(format!("{title} {}", t.object_name))];
    Ok(Sheet::new(title, ON, crumbs, body).margin(margin(&visit, &t)).code(code::task::thing(&visit.site(), t.id)))
}

/// Where what it asked for can still be taken back.
fn cancel_button(visit: &Visit, t: &Task) -> AnyView {
    let may = visit.actor.may(Action::TaskCancel, Resource::Owned(t.org, t.user));
    (may && can::task(t, Action::TaskCancel).is_ok())
        .then(|| {
            let action = visit.at(format!("{LIST}/{}/cancel", t.id));
            view! {
                <form method="post" action=action>
                    <button class="btn" type="submit">
                        "Cancel"
                    </button>
                </form>
            }
        })
        .into_any()
}

async fn cancel(visit: Visit, _: Values) -> Result<Done> {
    let id: TaskId = visit.id();
    let found = async {
        let t = task::get(visit.domain(), &visit.actor, id).await?;
        visit.within(t.org, Kind::Task)?;
        Ok(t)
    };
    let t = visit.domain().attempt(&visit.actor, Action::TaskCancel, found).await?;
    task::cancel(visit.domain(), &visit.actor, id).await?;
    Ok(Done::new(visit.at(format!("{LIST}/{id}")), format!("{} {} is cancelled.", t.what(), t.object_name)))
}

fn facts(visit: &Visit, t: &Task) -> impl IntoView + use<> {
    let object = object_link(visit, &t.object_kind, Some(t.object_id), &t.object_name, t.object_lives);
    let kind = t.kind().map_or("object", Kind::word);
    let org = (visit.place == Place::Provider).then(|| {
        let org = org_link(visit, Some(t.org), &t.org_name, t.org_lives);
        view! { <Fact name="Organization">{org}</Fact> }
    });
    let progress = t.progress.filter(|_| !t.status.ended()).map(|percent| {
        view! { <Fact name="Progress">{format!("{percent} %")}</Fact> }
    });
    let (who, took, started) = (t.user_name.clone(), took(visit, t), t.started_at);
    let ended = t.ended_at.map(|at| {
        view! {
            <Fact name="Ended">
                <Exact at />
            </Fact>
        }
    });
    view! {
        <Fact name="About">{kind} " " {object}</Fact>
        {org}
        <Fact name="Asked by">{who}</Fact>
        <Fact name="Started">
            <Exact at=started />
        </Fact>
        {ended}
        <Fact name="Took">{took}</Fact>
        {progress}
    }
}

fn margin(visit: &Visit, t: &Task) -> AnyView {
    let id = t.id.urn();
    let show = short(&t.id.to_string());
    let request = (!t.request_id.is_empty()).then(|| {
        let (value, show) = (t.request_id.clone(), short(&t.request_id));
        view! {
            <Fact name="Request">
                <Copy value what="request id" show />
            </Fact>
        }
    });
    let audit = (visit.may(Action::AuditList) && !t.request_id.is_empty()).then(|| {
        let href = Query::new(visit.at("/audit"), [("q".to_owned(), t.request_id.clone())]).href();
        view! {
            <Fact name="Audit">
                <a href=href>"What this request did"</a>
            </Fact>
        }
    });
    let facts = view! {
        {request}
        {audit}
        <Fact name="Id">
            <Copy value=id what="id" show />
        </Fact>
    };
    view! {
        <Section title="About">
            <Facts>{facts}</Facts>
        </Section>
    }
    .into_any()
}
