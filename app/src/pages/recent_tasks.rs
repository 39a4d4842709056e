//! The latest tasks, as a section of a page about something else.
use crate::{
    parts::*,
    portal::{Visit, task_state},
};
use leptos::prelude::*;
use model::task::Task;

/// `with_org`: says whose they are.
pub(super) fn task_table(visit: &Visit, tasks: &[Task], with_org: bool) -> impl IntoView + use<> {
    let mut heads = vec![Head::new("Task"), Head::new("Result")];
    if with_org {
        heads.push(Head::new("Organization"));
    }
    heads.extend([Head::new("Who"), Head::new("When").number()]);
    let rows = tasks.iter().map(|t| row(visit, t, with_org)).collect_view();
    view! { <Table caption="Recent tasks" heads kind=TableKind::Tight top=true>{rows}</Table> }
}

fn row(visit: &Visit, t: &Task, with_org: bool) -> impl IntoView + use<> {
    let (shape, tone) = task_state(t).shape();
    let word = t.status.label();
    let why = (!t.message.is_empty()).then(|| {
        let message = t.message.clone();
        view! { <span class="why wraps">{message}</span> }
    });
    let org = with_org.then(|| {
        let name = t.org_name.clone();
        view! { <Cell label="Organization" wraps=true>{name}</Cell> }
    });
    let (who, at, now) = (t.user_name.clone(), t.started_at, visit.now);
    let cells = view! {
        <NameCell name=t.title() href=visit.at(format!("/tasks/{}", t.id)) />
        <StateCell><Badge shape tone word />{why}</StateCell>
        {org}
        <Cell label="Who" wraps=true>{who}</Cell>
        <Cell label="When" number=true><Time at now /></Cell>
    };
    view! { <Row id=format!("task-{}", t.id)>{cells}</Row> }
}
