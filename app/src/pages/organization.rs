//! Organizations in the provider's portal: list, page, and removing one. The forms to make and change them are in `organization_form`.
use super::{
    about::about_facts,
    limits::{meters, whole},
    organization_form, wishes,
};
use crate::{
    code,
    parts::*,
    portal::{Csv, Done, ListView, Routes, Sheet, Values, Visit},
    shell::Crumb,
};
use domain::org;
use leptos::prelude::*;
use model::{
    Action, Kind, OrgId, Result, can,
    lease::words,
    list::{ListQuery, ORGS},
    org::Org,
};

pub(super) const ON: &str = "Organizations";
pub(super) const LIST: &str = "/provider/organizations";

pub fn routes(r: Routes) -> Routes {
    r.page(LIST, list)
        .csv("/provider/organizations.csv", csv)
        .form("/provider/organizations/new", organization_form::new_page, organization_form::create)
        .page("/provider/organizations/{id}", page)
        .form("/provider/organizations/{id}/edit", organization_form::edit_page, organization_form::edit)
        .act("/provider/organizations/{id}/enable", |v, _| set_enabled(v, true))
        .act("/provider/organizations/{id}/disable", |v, _| set_enabled(v, false))
        .form("/provider/organizations/{id}/delete", delete_page, delete)
        .page("/tenant/{org}/organization", tenant_page)
        .form("/tenant/{org}/organization/edit", organization_form::tenant_edit_page, organization_form::tenant_edit)
}

pub(super) fn href(id: OrgId, rest: &str) -> String {
    format!("{LIST}/{id}{rest}")
}

pub(super) fn crumbs(last: impl Into<String>) -> Vec<Crumb> {
    vec![Crumb::new(ON, LIST), Crumb::here(last)]
}

async fn list(visit: Visit) -> Result<Sheet> {
    let query = visit.list_query(&ORGS)?;
    let page = org::list(visit.domain(), &visit.actor, &query).await?;
    let view = ListView::new(&visit, &ORGS, query, &page);
    let new = visit.may(Action::OrgCreate).then(
        || view! { <a class="btn primary" href=format!("{LIST}/new")><Icon name=Icon::Plus />"New organization"</a> },
    );
    let acts = view! { {view.csv_button()} {new} }.into_any();
    let heads = vec![
        view.head("name", "Name"),
        Head::new("State"),
        Head::new("VDCs").number(),
        Head::new("Users").number(),
        Head::new("VMs").number(),
        view.head("created", "Created").number(),
        Head::hidden("Actions"),
    ];
    let rows = page.items.iter().map(|o| row(&visit, o)).collect_view();
    let body = view! {
        <PageHead title=ON sub=view.count() acts />
        {view.filters("organizations", "Name, description")}
        {if view.is_empty() {
            view! { <Empty title="No organization fits">"Search for something else, or take a filter away."</Empty> }.into_any()
        } else {
            view! { <Table caption="Organizations" heads list=true>{rows}</Table> }.into_any()
        }}
        {view.pager()}
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

fn row(visit: &Visit, o: &Org) -> impl IntoView + use<> {
    let (vdcs, users, vms) = (o.vdcs, o.users, o.used.vms);
    let (created, now) = (o.created_at, visit.now);
    let (state, menu) = (state(o), menu(visit, o, true));
    let why = if o.display_name == o.name { String::new() } else { o.display_name.clone() };
    let cells = view! {
        <NameCell name=o.name.clone() href=href(o.id, "") why />
        <StateCell>{state}</StateCell>
        <Cell label="VDCs" number=true>{vdcs}</Cell>
        <Cell label="Users" number=true>{users}</Cell>
        <Cell label="VMs" number=true>{vms}</Cell>
        <Cell label="Created" number=true><Time at=created now /></Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("org-{}", o.id)>{cells}</Row> }
}

fn state(o: &Org) -> impl IntoView + use<> {
    if o.enabled {
        view! { <Badge shape=Shape::Disc tone=Tone::Ok word="Enabled" more=if o.is_provider { "the provider's own" } else { "" } /> }
    } else {
        view! { <Badge shape=Shape::Ring word="Disabled" more="nobody can sign in" /> }
    }
}

/// What can be done to it, by its state and the visitor's rights.
fn menu(visit: &Visit, o: &Org, dots: bool) -> AnyView {
    let switch = if o.enabled { Action::OrgDisable } else { Action::OrgEnable };
    let may = |a| visit.may(a);
    if ![Action::OrgEdit, switch, Action::OrgDelete].into_iter().any(may) {
        return ().into_any();
    }
    let edit =
        may(Action::OrgEdit).then(|| view! { <MenuItem icon=Icon::Settings title="Edit" href=href(o.id, "/edit") /> });
    let on_off = may(switch).then(|| match can::org(o, switch) {
        Ok(()) if o.enabled => view! {
            <MenuForm icon=Icon::Power title="Disable" action=href(o.id, "/disable") more="Nobody of it can sign in; what runs goes on" />
        }
        .into_any(),
        Ok(()) => view! { <MenuForm icon=Icon::Play title="Enable" action=href(o.id, "/enable") /> }.into_any(),
        Err(why) => view! { <MenuOff icon=Icon::Power title=if o.enabled { "Disable" } else { "Enable" } why /> }.into_any(),
    });
    let delete = may(Action::OrgDelete).then(|| match can::org(o, Action::OrgDelete) {
        Ok(()) => {
            view! { <MenuItem icon=Icon::Trash title="Delete…" href=href(o.id, "/delete") danger=true /> }.into_any()
        }
        Err(why) => view! { <MenuOff icon=Icon::Trash title="Delete" why /> }.into_any(),
    });
    let label = if dots { format!("Actions for {}", o.name) } else { "Actions".into() };
    view! { <Menu label dots>{edit} {on_off} {delete}</Menu> }.into_any()
}

async fn csv(visit: Visit) -> Result<Csv> {
    let list = async |visit: Visit, q: ListQuery| org::list(visit.domain(), &visit.actor, &q).await;
    Csv::head("organizations", &["id", "name", "display_name", "enabled", "vdcs", "users", "vms", "created_at"])
        .rows(visit, &ORGS, list, cells)
        .await
}

fn cells(o: Org) -> [String; 8] {
    [
        o.id.urn(),
        o.name,
        o.display_name,
        o.enabled.to_string(),
        o.vdcs.to_string(),
        o.users.to_string(),
        o.used.vms.to_string(),
        machine(o.created_at),
    ]
}

async fn page(visit: Visit) -> Result<Sheet> {
    let o = org::get(visit.domain(), &visit.actor, visit.id()).await?;
    let acts =
        view! { <a class="btn" href=format!("/tenant/{}", o.name)>"Open its portal"</a> {menu(&visit, &o, false)} }
            .into_any();
    let lede = o.description.clone();
    let body = view! {
        <PageHead title=o.name.clone() sub=o.display_name.clone() lede acts says=state(&o).into_any() />
        {quota_section(&o)}
        {wishes::org_facts(&visit, &o)}
    }
    .into_any();
    let name = o.name.clone();
    let code = code::org::thing(&visit.site(), &o);
    Ok(Sheet::new(name.clone(), ON, crumbs(name), body).margin(facts(&visit, &o)).code(code))
}

/// The same for the organization itself.
async fn tenant_page(visit: Visit) -> Result<Sheet> {
    let id = visit.org().ok_or(model::Error::NotFound(Kind::Org))?;
    let o = org::get(visit.domain(), &visit.actor, id).await?;
    let acts = visit
        .may(Action::OrgEdit)
        .then(|| view! { <a class="btn" href=visit.at("/organization/edit")>"Edit"</a> })
        .into_any();
    let body = view! {
        <PageHead title=o.display_name.clone() sub=o.name.clone() lede=o.description.clone() acts />
        {quota_section(&o)}
    }
    .into_any();
    let (code, crumbs) = (code::org::thing(&visit.site(), &o), vec![Crumb::here("Organization")]);
    Ok(Sheet::new("Organization", "Organization", crumbs, body).margin(facts(&visit, &o)).code(code))
}

fn quota_section(o: &Org) -> impl IntoView + use<> {
    let vdcs = view! { <Meter label="VDCs" used=whole(o.vdcs) limit=o.vdc_limit.map(whole) unit="" /> };
    let meters = meters(&o.used, &o.limits);
    let meters = view! { <div class="meters">{vdcs} {meters}</div> };
    view! { <Section title="Quota" sub="used of what it may have">{meters}</Section> }
}

fn facts(visit: &Visit, o: &Org) -> AnyView {
    let l = o.leases;
    let thing = if visit.org().is_some() { "/organization".to_owned() } else { format!("/organizations/{}", o.id) };
    let lease =
        |s: Option<i64>, then: &str| s.map_or_else(|| "no end".to_owned(), |s| format!("{}, then {then}", words(s)));
    let run = lease(l.runtime_s, l.runtime_end.label());
    let (keep, templates) = (lease(l.storage_s, l.storage_end.label()), lease(l.template_s, l.template_end.label()));
    let facts = view! {
        <Fact name="Run at most">{run}</Fact>
        <Fact name="Keep stopped">{keep}</Fact>
        <Fact name="Keep templates">{templates}</Fact>
        {super::metadata::fact(visit, &thing)}
        {about_facts(visit, (o.created_at, o.updated_at, &o.updated_by), o.id.urn())}
    };
    view! { <Section title="About"><Facts>{facts}</Facts></Section> }.into_any()
}

/// Before something is done: a refusal stands in the audit.
pub(super) async fn find_to(visit: &Visit, action: Action, id: OrgId) -> Result<Org> {
    let find = visit.domain().store.org(&visit.actor, action, id);
    Ok(visit.domain().attempt(&visit.actor, action, find).await?.into_inner())
}

async fn set_enabled(visit: Visit, enabled: bool) -> Result<Done> {
    let o = org::set_enabled(visit.domain(), &visit.actor, visit.id(), enabled).await?;
    let word = if enabled { "enabled" } else { "disabled" };
    Ok(Done::new(href(o.id, ""), format!("{} is {word}.", o.name)))
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let id: OrgId = visit.id();
    let o = visit.domain().store.org(&visit.actor, Action::OrgDelete, id).await?;
    let fill = visit.fill();
    let refused = fill
        .failure()
        .filter(|e| e.fields().is_empty())
        .map(ToString::to_string)
        .or_else(|| can::org(&o, Action::OrgDelete).err());
    let users = plural(u64::try_from(o.users).unwrap_or(0), "user", "users");
    let body = view! {
        <ConfirmPage
            title=format!("Delete organization {}?", o.name)
            verb=format!("Delete {}", o.name)
            keep_href=href(o.id, "")
            lost=vec![format!("{users} and the roles it made"), "its settings; its audit is kept".to_owned()]
            type_name=o.name.clone()
            typed=fill.value("name", "")
            error=fill.error("name")
            refused
        />
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, LIST), Crumb::new(o.name.clone(), href(o.id, "")), Crumb::here("Delete")];
    Ok(Sheet::new(format!("Delete {}", o.name), ON, crumbs, body).still())
}

async fn delete(visit: Visit, values: Values) -> Result<Done> {
    let o = find_to(&visit, Action::OrgDelete, visit.id()).await?;
    super::typed_name(&values, &o.name)?;
    org::delete(visit.domain(), &visit.actor, o.id).await?;
    Ok(Done::new(LIST, format!("{} is deleted.", o.name)))
}
