//! Events in both portals: what happened, for people who follow along.
use crate::{
    parts::*,
    portal::{Csv, ListView, Place, Routes, Sheet, Visit, object_link, org_link},
    shell::Crumb,
};
use domain::event;
use leptos::prelude::*;
use model::{
    Action, Result,
    event::Event,
    list::{EVENTS, ListQuery},
};

const ON: &str = "Events";

pub fn routes(r: Routes) -> Routes {
    r.both("/events", list).both_csv("/events.csv", csv)
}

async fn list(visit: Visit) -> Result<Sheet> {
    let query = visit.list_query(&EVENTS)?;
    let page = event::list(visit.domain(), &visit.actor, visit.org(), &query).await?;
    let view = ListView::new(&visit, &EVENTS, query, &page);
    let mut heads = vec![view.head("time", "When"), Head::new("What"), Head::new("Who"), Head::new("Object")];
    if visit.place == Place::Provider {
        heads.push(Head::new("Organization"));
    }
    let rows = page.items.iter().map(|e| row(&visit, e)).collect_view();
    let acts = view.csv_button().into_any();
    let body = view! {
        <PageHead title=ON sub=view.count() lede=lede(&visit) acts />
        {view.filters("events", "What, who, object, request id")}
        {if view.is_unused() {
            view! {
                <Empty title="No events yet">
                    "Everything that changes shows here: who did it, when, and to what. Nothing has changed yet."
                </Empty>
            }
                .into_any()
        } else if view.is_empty() {
            view! { <Empty title="No event fits">"Search for something else, or take a filter away."</Empty> }
                .into_any()
        } else {
            view! {
                <Table caption="Events, newest first" heads kind=TableKind::Tight list=true>
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
    if visit.may(Action::EventList) {
        return "";
    }
    "Only your own. To see everybody's takes the right “Event: View”."
}

fn row(visit: &Visit, e: &Event) -> impl IntoView + use<> {
    let object = object_link(visit, &e.object_kind, e.object_id, &e.object_name, e.object_lives);
    let org = (visit.place == Place::Provider).then(|| {
        let org = org_link(visit, Some(e.org), &e.org_name, e.org_lives);
        view! { <Cell label="Organization" wraps=true>{org}</Cell> }
    });
    let (who, at, now) = (e.user_name.clone(), e.created_at, visit.now);
    let cells = view! {
        <Cell label="When">
            <Time at now />
        </Cell>
        <NameCell name=e.message.clone() />
        <Cell label="Who" wraps=true>{who}</Cell>
        <Cell label="Object" wraps=true>{object}</Cell>
        {org}
    };
    view! { <Row id=format!("event-{}", e.id)>{cells}</Row> }
}

async fn csv(visit: Visit) -> Result<Csv> {
    let heads =
        ["id", "time", "organization", "user", "kind", "message", "object_kind", "object_id", "object", "request_id"];
    let list = async |visit: Visit, q: ListQuery| event::list(visit.domain(), &visit.actor, visit.org(), &q).await;
    Csv::head("events", &heads).rows(visit, &EVENTS, list, cells).await
}

fn cells(e: Event) -> [String; 10] {
    [
        e.id.urn(),
        machine(e.created_at),
        e.org_name,
        e.user_name,
        e.kind,
        e.message,
        e.object_kind,
        e.object_id.map(|id| id.to_string()).unwrap_or_default(),
        e.object_name,
        e.request_id,
    ]
}
