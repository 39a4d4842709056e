//! Virtual data centers in both portals: list, page, and what their buttons do.
use super::{
    about::about_facts,
    affinity,
    limits::{cell_meter, meters},
    recent_events::event_section,
    recent_tasks::task_table,
    vdc_form, vdc_sizing, vdc_storage, wishes,
};
use crate::{
    code,
    parts::*,
    portal::{Csv, Done, ListView, Place, Routes, Sheet, Values, Visit},
    shell::Crumb,
};
use domain::{event, storage, task, vdc};
use leptos::prelude::*;
use model::{
    Action, Kind, Result, VdcId, can,
    event::Event,
    list::{ListQuery, VDCS},
    quota::Measure,
    vdc::Vdc,
};

pub(super) const ON: &str = "VDCs";
pub(super) const LIST: &str = "/vdcs";

pub fn routes(r: Routes) -> Routes {
    affinity::routes(vdc_sizing::routes(vdc_storage::routes(r)))
        .both(LIST, list)
        .both_csv("/vdcs.csv", csv)
        .both_form("/vdcs/new", vdc_form::new_page, vdc_form::create)
        .both("/vdcs/{id}", page)
        .both_form("/vdcs/{id}/edit", vdc_form::edit_page, vdc_form::edit)
        .both_act("/vdcs/{id}/enable", |v, _| set_enabled(v, true))
        .both_act("/vdcs/{id}/disable", |v, _| set_enabled(v, false))
        .both_form("/vdcs/{id}/delete", delete_page, delete)
}

pub(super) fn href(visit: &Visit, id: VdcId, rest: &str) -> String {
    visit.at(format!("{LIST}/{id}{rest}"))
}

pub(super) fn crumbs(visit: &Visit, last: impl Into<String>) -> Vec<Crumb> {
    vec![Crumb::new(ON, visit.at(LIST)), Crumb::here(last)]
}

pub(super) fn crumbs_below(visit: &Visit, v: &Vdc, last: &str) -> Vec<Crumb> {
    vec![Crumb::new(ON, visit.at(LIST)), Crumb::new(v.name.clone(), href(visit, v.id, "")), Crumb::here(last)]
}

/// The VDC of the address, for somebody who may do `action` to it.
pub(super) async fn find(visit: &Visit, action: Action) -> Result<Vdc> {
    let v = visit.domain().store.vdc(&visit.actor, action, visit.id()).await?.into_inner();
    visit.within(v.org, Kind::Vdc)?;
    Ok(v)
}

/// The same before something is done: a refusal stands in the audit.
pub(super) async fn find_to(visit: &Visit, action: Action) -> Result<Vdc> {
    visit.domain().attempt(&visit.actor, action, find(visit, action)).await
}

async fn list(visit: Visit) -> Result<Sheet> {
    let query = visit.list_query(&VDCS)?;
    let page = vdc::list(visit.domain(), &visit.actor, visit.org(), &query).await?;
    let view = ListView::new(&visit, &VDCS, query, &page);
    let provider = visit.place == Place::Provider;
    let new_button = || {
        visit
            .may(Action::VdcCreate)
            .then(|| view! { <a class="btn primary" href=visit.at("/vdcs/new")><Icon name=Icon::Plus />"New VDC"</a> })
    };
    let acts = view! { {view.csv_button()} {new_button()} }.into_any();
    let mut heads = vec![view.head("name", "Name"), Head::new("State")];
    if provider {
        heads.push(Head::new("Organization"));
    }
    heads.extend(["Model", "CPU", "Memory", "Storage"].map(Head::new));
    heads.extend([Head::new("VMs").number(), view.head("created", "Created").number(), Head::hidden("Actions")]);
    let rows = page.items.iter().map(|v| row(&visit, v, provider)).collect_view();
    let find = if provider { "Name, description, organization" } else { "Name, description" };
    let body = view! {
        <PageHead title=ON sub=view.count() acts />
        {view.filters("VDCs", find)}
        {if view.is_unused() {
            let acts = new_button().into_any();
            let (title, text) = first_words(&visit);
            view! { <Empty title acts>{text}</Empty> }.into_any()
        } else if view.is_empty() {
            view! { <Empty title="No VDC fits">"Search for something else, or take a filter away."</Empty> }.into_any()
        } else {
            view! { <Table caption="VDCs" heads list=true top=true>{rows}</Table> }.into_any()
        }}
        {view.pager()}
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

/// What stands where the list would be, by whether the reader can begin it.
pub(super) fn first_words(visit: &Visit) -> (&'static str, &'static str) {
    let what = "A VDC is a share of the cloud that machines live in: how many there may be, and how much CPU, memory \
                and storage they may use together.";
    match (visit.may(Action::VdcCreate), &visit.place) {
        (true, _) => ("Create the first VDC", what),
        (false, Place::Provider) => ("No VDC yet", what),
        (false, Place::Tenant { .. }) => (
            "No VDC yet",
            "A VDC is a share of the cloud that machines live in. An administrator of your organization or the provider \
             can create one.",
        ),
    }
}

fn row(visit: &Visit, v: &Vdc, provider: bool) -> impl IntoView + use<> {
    let org = provider.then(|| {
        let (name, href) = (v.org_name.clone(), format!("/provider/organizations/{}", v.org));
        let inside =
            if visit.may(Action::OrgView) { view! { <a href=href>{name}</a> }.into_any() } else { name.into_any() };
        view! { <Cell label="Organization" wraps=true>{inside}</Cell> }
    });
    let bars = [Measure::Cpus, Measure::Memory, Measure::Storage]
        .map(|m| {
            let meter = cell_meter(m, &v.used, &v.limits);
            view! { <Cell label=m.label()>{meter}</Cell> }
        })
        .collect_view();
    let (state, menu) = (state(v, false), menu(visit, v, true));
    let (model, vms, created, now) = (v.allocation_model.label(), vms(v), v.created_at, visit.now);
    let cells = view! {
        <NameCell name=v.name.clone() href=href(visit, v.id, "") />
        <StateCell>{state}</StateCell>
        {org}
        <Cell label="Model">{model}</Cell>
        {bars}
        <Cell label="VMs" number=true>{vms}</Cell>
        <Cell label="Created" number=true><Time at=created now /></Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("vdc-{}", v.id)>{cells}</Row> }
}

/// "17 of 40".
fn vms(v: &Vdc) -> String {
    let used = Measure::Vms.number(v.used.vms);
    v.limits.vms.map_or_else(|| used.clone(), |limit| format!("{used} of {}", Measure::Vms.number(limit)))
}

fn state(v: &Vdc, with_reason: bool) -> impl IntoView + use<> {
    if v.enabled {
        view! { <Badge shape=Shape::Disc tone=Tone::Ok word="Enabled" /> }
    } else {
        let more = if with_reason { "nothing new can be made in it; what runs goes on" } else { "" };
        view! { <Badge shape=Shape::Ring word="Disabled" more /> }
    }
}

/// What can be done to it, by its state and the visitor's rights.
fn menu(visit: &Visit, v: &Vdc, dots: bool) -> AnyView {
    let switch = if v.enabled { Action::VdcDisable } else { Action::VdcEnable };
    let may = |a| visit.may(a);
    // the page itself has a button for it
    let edits = dots && may(Action::VdcEdit);
    if !(edits || may(switch) || may(Action::VdcDelete)) {
        return ().into_any();
    }
    let edit = edits.then(|| view! { <MenuItem icon=Icon::Settings title="Edit" href=href(visit, v.id, "/edit") /> });
    let on_off = may(switch).then(|| {
        if v.enabled {
            view! {
                <MenuForm
                    icon=Icon::Power
                    title="Disable"
                    action=href(visit, v.id, "/disable")
                    more="Nothing new can be made in it; machines that run go on"
                />
            }
        } else {
            view! {
                <MenuForm
                    icon=Icon::Play
                    title="Enable"
                    action=href(visit, v.id, "/enable")
                    more="New machines can be made in it again"
                />
            }
        }
    });
    let delete = may(Action::VdcDelete).then(|| match can::vdc(v, Action::VdcDelete) {
        Ok(()) => view! { <MenuItem icon=Icon::Trash title="Delete…" href=href(visit, v.id, "/delete") danger=true /> }
            .into_any(),
        Err(why) => view! { <MenuOff icon=Icon::Trash title="Delete" why /> }.into_any(),
    });
    let label = if dots { format!("Actions for {}", v.name) } else { "Actions".into() };
    view! { <Menu label dots>{edit} {on_off} {delete}</Menu> }.into_any()
}

async fn csv(visit: Visit) -> Result<Csv> {
    let heads = [
        "id",
        "name",
        "organization",
        "enabled",
        "allocation_model",
        "vms_used",
        "vm_limit",
        "cpus_used",
        "cpu_limit",
        "memory_used_mb",
        "memory_limit_mb",
        "storage_used_mb",
        "storage_limit_mb",
        "created_at",
    ];
    let list = async |visit: Visit, q: ListQuery| vdc::list(visit.domain(), &visit.actor, visit.org(), &q).await;
    Csv::head("vdcs", &heads).rows(visit, &VDCS, list, cells).await
}

fn cells(v: Vdc) -> [String; 14] {
    let limit = |m| v.limits.get(m).map(|l| l.to_string()).unwrap_or_default();
    [
        v.id.urn(),
        v.name.clone(),
        v.org_name.clone(),
        v.enabled.to_string(),
        v.allocation_model.key().to_owned(),
        v.used.vms.to_string(),
        limit(Measure::Vms),
        v.used.cpus.to_string(),
        limit(Measure::Cpus),
        v.used.memory_mb.to_string(),
        limit(Measure::Memory),
        v.used.storage_mb.to_string(),
        limit(Measure::Storage),
        machine(v.created_at),
    ]
}

async fn page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VdcView).await?;
    let edit = visit
        .may(Action::VdcEdit)
        .then(|| view! { <a class="btn" href=href(&visit, v.id, "/edit")><Icon name=Icon::Settings />"Edit"</a> });
    let acts = view! { {edit} {menu(&visit, &v, false)} }.into_any();
    let meters = meters(&v.used, &v.limits);
    let meters = view! { <div class="meters">{meters}</div> };
    let (model, hint) = (v.allocation_model.label(), v.allocation_model.hint());
    let model = view! {
        <p>
            <b>{model}</b>
            ". "
            {hint}
        </p>
    };
    let tasks = task::about(visit.domain(), &visit.actor, v.org, v.id.0).await?;
    let tasks = (!tasks.is_empty()).then(|| {
        let table = task_table(&visit, &tasks, false);
        view! { <Section title="Recent tasks">{table}</Section> }
    });
    let events = event::about(visit.domain(), &visit.actor, v.org, v.id.0).await?;
    let on = match visit.place == Place::Provider && visit.may(Action::HubList) {
        true => Some(vdc::hubs(visit.domain(), &visit.actor, v.id).await?),
        false => None,
    };
    let storage = vdc_storage::section(&visit, &v).await?;
    let sizing = vdc_sizing::section(&visit, &v).await?;
    let rules = affinity::section(&visit, &v).await?;
    let body = view! {
        <PageHead title=v.name.clone() sub="VDC" lede=v.description.clone() acts says=state(&v, true).into_any() />
        <Section title="Quota" sub="used of what it may have">{meters}</Section>
        {storage}
        {sizing}
        {rules}
        <Section title="Allocation">{model}</Section>
        {wishes::vdc_facts(&v, on)}
        {tasks}
    }
    .into_any();
    let name = v.name.clone();
    let policies = storage::choices(visit.domain(), v.id).await?;
    let code = code::vdc::thing(&visit.site(), &v, &policies);
    Ok(Sheet::new(name.clone(), ON, crumbs(&visit, name), body).margin(margin(&visit, &v, &events)).code(code))
}

fn margin(visit: &Visit, v: &Vdc, events: &[Event]) -> AnyView {
    // where its machines are kept is the provider's business
    let of_provider = (visit.place == Place::Provider).then(|| {
        let (org, org_href) = (v.org_name.clone(), format!("/provider/organizations/{}", v.org));
        let namespace = v.namespace_name.clone();
        view! {
            <Fact name="Organization"><a href=org_href>{org}</a></Fact>
            <Fact name="Namespace"><Copy value=namespace what="namespace" /></Fact>
        }
    });
    let facts = view! {
        {of_provider}
        {super::metadata::fact(visit, &format!("/vdcs/{}", v.id))}
        {about_facts(visit, (v.created_at, v.updated_at, &v.updated_by), v.id.urn())}
    };
    let events = event_section(visit, events);
    view! {
        <Section title="About"><Facts>{facts}</Facts></Section>
        {events}
    }
    .into_any()
}

async fn set_enabled(visit: Visit, enabled: bool) -> Result<Done> {
    let action = if enabled { Action::VdcEnable } else { Action::VdcDisable };
    let id = find_to(&visit, action).await?.id;
    let v = vdc::set_enabled(visit.domain(), &visit.actor, id, enabled).await?;
    let words = if enabled {
        "enabled: new machines can be made in it"
    } else {
        "disabled: nothing new can be made in it, and what runs goes on"
    };
    Ok(Done::new(href(&visit, v.id, ""), format!("VDC {} is {words}.", v.name)))
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VdcDelete).await?;
    let fill = visit.fill();
    let refused = fill
        .failure()
        .filter(|e| e.fields().is_empty())
        .map(ToString::to_string)
        .or_else(|| can::vdc(&v, Action::VdcDelete).err().map(|why| format!("Not now: {why}")));
    let lost = match refused {
        Some(_) => Vec::new(),
        None => vec!["its name, limits and settings; no machine is in it".to_owned()],
    };
    let body = view! {
        <ConfirmPage
            title=format!("Delete VDC {}?", v.name)
            verb=format!("Delete {}", v.name)
            keep_href=href(&visit, v.id, "")
            lost
            type_name=v.name.clone()
            typed=fill.value("name", "")
            error=fill.error("name")
            refused
        />
    }
    .into_any();
    Ok(Sheet::new(format!("Delete {}", v.name), ON, crumbs_below(&visit, &v, "Delete"), body).still())
}

async fn delete(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VdcDelete).await?;
    super::typed_name(&values, &v.name)?;
    vdc::delete(visit.domain(), &visit.actor, v.id).await?;
    Ok(Done::new(visit.at(LIST), format!("VDC {} is deleted.", v.name)))
}
