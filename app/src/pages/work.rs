//! The queue of work in the provider's portal: how deep it is, what waits and why, and another try for what failed.
use super::limits::whole;
use crate::{
    parts::*,
    portal::{Done, Routes, Sheet, Values, Visit, object_href, org_link},
    shell::Crumb,
};
use domain::work;
use leptos::prelude::*;
use model::{
    Action, Error, Kind, Result,
    work::{WorkDepth, WorkItem, WorkShare, WorkState},
};

const ON: &str = "Work";
const LIST: &str = "/provider/work";

pub fn routes(r: Routes) -> Routes {
    r.page(LIST, list).act("/provider/work/retry", retry)
}

async fn list(visit: Visit) -> Result<Sheet> {
    let (depth, items) = work::list(visit.domain(), &visit.actor).await?;
    let table = if items.is_empty() {
        view! {
            <Empty title="Nothing to do">"Every VM, vApp and VDC is as it was asked for, as far as is known."</Empty>
        }
        .into_any()
    } else {
        let heads = vec![
            Head::new("What"),
            Head::new("State"),
            Head::new("Why"),
            Head::new("Organization"),
            Head::new("Hub"),
            Head::new("Tries").number(),
            Head::new("Since").number(),
            Head::hidden("Actions"),
        ];
        let rows = items.iter().map(|item| row(&visit, item)).collect_view();
        view! { <Table caption="Work" heads list=true top=true>{rows}</Table> }.into_any()
    };
    let all = depth.queued + depth.running + depth.waiting + depth.retrying + depth.failed;
    let more = (all > items.len() as i64).then(|| {
        let text = format!("The first {} of {}: what failed, then the oldest.", items.len(), num(whole(all)));
        view! { <p class="hint">{text}</p> }
    });
    let lede = "What is not yet as it was asked for. Hubs are brought to it, and brought to it again.";
    let (hubs, orgs) = work::shares(visit.domain(), &visit.actor).await?;
    let (hubs, orgs) = (share_table(&visit, "Hub", &hubs), share_table(&visit, "Organization", &orgs));
    let shares = (!items.is_empty()).then(|| {
        view! {
            <div class="cols-2">
                <Section title="By hub">{hubs}</Section>
                <Section title="By organization">{orgs}</Section>
            </div>
        }
    });
    let body = view! {
        <PageHead title=ON sub=oldest(&visit, &depth) lede />
        {numbers(&depth)}
        {shares}
        <Section title="To be done">{table} {more}</Section>
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

fn oldest(visit: &Visit, depth: &WorkDepth) -> String {
    depth.oldest.map(|at| format!("the oldest waits for {}", span(visit.now - at))).unwrap_or_default()
}

fn numbers(depth: &WorkDepth) -> impl IntoView + use<> {
    let number = |n: i64, label: &'static str, shape: Shape, tone: Tone| {
        let tone = if n > 0 { tone } else { Tone::Plain };
        view! { <BigNumber number=num(whole(n)) label shape tone /> }
    };
    let all = view! {
        {number(depth.running, "running", Shape::Half, Tone::Busy)}
        {number(depth.queued, "queued", Shape::Next, Tone::Plain)}
        {number(depth.waiting, "waiting for something", Shape::Clock, Tone::Plain)}
        {number(depth.retrying, "tried again", Shape::Triangle, Tone::Warn)}
        {number(depth.failed, "failed", Shape::Diamond, Tone::Bad)}
    };
    view! { <BigNumbers>{all}</BigNumbers> }
}

/// How much of it is whose, and the reason that is given most.
fn share_table(visit: &Visit, what: &'static str, shares: &[WorkShare]) -> AnyView {
    let by_hub = what == "Hub";
    let rows = shares.iter().map(|s| {
        let (name, href) = match (by_hub, s.id.as_str()) {
            (true, "") => ("none chosen".to_owned(), String::new()),
            (true, id) => (s.name.clone(), format!("/provider/hubs/{id}")),
            (false, id) => (s.name.clone(), format!("/provider/organizations/{id}")),
        };
        let (all, failing, why, at, now) = (num(whole(s.all)), s.failing, s.why.clone(), s.oldest, visit.now);
        let failing = match failing {
            0 => "–".into_any(),
            n => view! { <Badge shape=Shape::Triangle tone=Tone::Warn word=num(whole(n)) /> }.into_any(),
        };
        let cells = view! {
            <NameCell name href why />
            <Cell label="To do" number=true>{all}</Cell>
            <Cell label="Failing" number=true>{failing}</Cell>
            <Cell label="Oldest" number=true><Time at now /></Cell>
        };
        view! { <Row id=format!("share-{}", s.id)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    let mut heads = vec![Head::new(what)];
    heads.extend(["To do", "Failing", "Oldest"].map(|label| Head::new(label).number()));
    view! { <Table caption=format!("Work by {}", what.to_lowercase()) heads top=true>{rows}</Table> }.into_any()
}

fn row(visit: &Visit, item: &WorkItem) -> impl IntoView + use<> {
    let (shape, tone, plate) = match item.state {
        WorkState::Queued => (Shape::Next, Tone::Plain, false),
        WorkState::Running => (Shape::Half, Tone::Busy, false),
        WorkState::Waiting => (Shape::Clock, Tone::Plain, false),
        WorkState::Retrying => (Shape::Triangle, Tone::Warn, false),
        WorkState::Failed => (Shape::Diamond, Tone::Bad, true),
    };
    let name = if item.name.is_empty() { short(&item.id.to_string()) } else { item.name.clone() };
    let to = object_href(visit, item.kind.key(), item.id).unwrap_or_default();
    let org = org_link(visit, Some(item.org), &item.org_name, true);
    let hub = match item.hub.as_str() {
        "" => "none chosen".into_any(),
        id => {
            let (id, to) = (id.to_owned(), format!("/provider/hubs/{id}"));
            view! { <a href=to>{id}</a> }.into_any()
        }
    };
    let (kind, tries, since, now) = (item.kind.word(), item.attempt, item.created_at, visit.now);
    let (word, why) = (item.state.label(), item.last_error.clone());
    let acts = (item.state == WorkState::Failed && visit.may(Action::WorkRetry)).then(|| {
        let fields = vec![("kind", item.kind.key().to_owned()), ("id", item.id.to_string())];
        view! { <PostButton label="Try again" action="/provider/work/retry" icon=Icon::Restart class="btn small" fields /> }
    });
    let cells = view! {
        <NameCell name href=to why=kind />
        <StateCell><Badge shape tone word plate /></StateCell>
        <Cell label="Why" wraps=true>{why}</Cell>
        <Cell label="Organization">{org}</Cell>
        <Cell label="Hub">{hub}</Cell>
        <Cell label="Tries" number=true>{tries}</Cell>
        <Cell label="Since" number=true><Time at=since now /></Cell>
        <RowActs>{acts}</RowActs>
    };
    view! { <Row id=format!("work-{}", item.id)>{cells}</Row> }
}

async fn retry(visit: Visit, values: Values) -> Result<Done> {
    let incomplete = || Error::BadRequest("The form is incomplete. Open the page again.".into());
    let kind = Kind::parse(values.get("kind")).ok_or_else(incomplete)?;
    let id = values.get("id").parse().map_err(|_| incomplete())?;
    work::retry(visit.domain(), &visit.actor, kind, id).await?;
    Ok(Done::new(LIST, format!("The {} is tried again.", kind.word())))
}
