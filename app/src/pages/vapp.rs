//! vApps in both portals: list, page with their VMs, and power for all of them. Their forms are in `vapp_form`.
use super::{
    about::about_facts,
    bulk, lease,
    machine_state::{ordered, vapp_badge, vapp_says, vm_badge},
    owner::owner_words,
    power_menu::{POWER, PowerOp, main_button, main_line, main_op, power_menu},
    recent_events::event_section,
    recent_tasks::task_table,
    sharing,
    sizes::{cpu_words, disk_words, memory_words},
    start_order, vapp_form, vapp_networks,
    vm::{hub_link, linked, row_menu, silent_note, vdc_link},
};
use crate::{
    code,
    parts::*,
    portal::{Csv, Done, ListView, Place, Routes, Sheet, Visit, org_link},
    shell::Crumb,
};
use domain::{catalog, event, task, vapp};
use leptos::prelude::*;
use model::{
    Action, Kind, Result, VappId, can,
    decide::Resource,
    event::Event,
    list::{ListQuery, VAPPS},
    placement::Placement,
    template::Template,
    vapp::{Vapp, VappState},
    vm::Vm,
};

pub(super) const ON: &str = "vApps";
pub(super) const LIST: &str = "/vapps";

pub fn routes(r: Routes) -> Routes {
    let r = vapp_networks::routes(vapp_form::routes(r))
        .both(LIST, list)
        .both_csv("/vapps.csv", csv)
        .both("/vapps/{id}", page);
    POWER.iter().fold(r, |r, op| r.both_act(&format!("{LIST}/{{id}}/{}", op.slug), move |v, _| power(v, op)))
}

pub(super) fn href(visit: &Visit, id: VappId, rest: &str) -> String {
    visit.at(format!("{LIST}/{id}{rest}"))
}

pub(super) fn crumbs_below(visit: &Visit, v: &Vapp, last: &str) -> Vec<Crumb> {
    vec![Crumb::new(ON, visit.at(LIST)), Crumb::new(v.name.clone(), href(visit, v.id, "")), Crumb::here(last)]
}

/// The vApp of the address, for somebody who may do `action` to it.
pub(super) async fn find(visit: &Visit, action: Action) -> Result<Vapp> {
    let v = visit.domain().store.vapp(&visit.actor, action, visit.id()).await?.into_inner();
    visit.within(v.org, Kind::Vapp)?;
    Ok(v)
}

/// The same before something is done: a refusal stands in the audit.
pub(super) async fn find_to(visit: &Visit, action: Action) -> Result<Vapp> {
    visit.domain().attempt(&visit.actor, action, find(visit, action)).await
}

fn may(visit: &Visit, v: &Vapp, action: Action) -> bool {
    visit.actor.may(action, v.resource(&visit.actor))
}

/// May the visitor make one here, which is then their own?
pub(super) fn may_create(visit: &Visit) -> bool {
    model::decide::authorize(&visit.actor, Action::VappCreate, mine(visit)).is_ok()
}

pub(super) fn mine(visit: &Visit) -> Resource {
    Resource::Owned(visit.org().unwrap_or(visit.actor.org), visit.actor.user)
}

fn suspended(v: &Vapp) -> bool {
    v.state() == VappState::Suspended
}

pub(super) fn new_button(visit: &Visit) -> impl IntoView + use<> {
    let deploy = (may_create(visit) && visit.may(Action::CatalogList)).then(
        || view! { <a class="btn primary" href=visit.at("/catalogs")><Icon name=Icon::Catalog />"From a catalog"</a> },
    );
    let new = may_create(visit)
        .then(|| view! { <a class="btn" href=visit.at("/vapps/new")><Icon name=Icon::Plus />"Empty vApp"</a> });
    view! { {new} {deploy} }
}

async fn list(visit: Visit) -> Result<Sheet> {
    let query = visit.list_query(&VAPPS)?;
    let page = vapp::list(visit.domain(), &visit.actor, visit.org(), &query).await?;
    let view = ListView::new(&visit, &VAPPS, query, &page);
    let mut heads = vec![Head::hidden("Choose"), view.head("name", "Name"), Head::new("State"), Head::new("VDC")];
    if visit.place == Place::Provider {
        heads.extend([Head::new("Organization"), Head::new("Hub")]);
    }
    heads.push(Head::new("Owner"));
    heads.extend(["VMs", "CPU", "Memory"].map(|label| Head::new(label).number()));
    heads.extend([view.head("created", "Created").number(), Head::hidden("Actions")]);
    let rows = page.items.iter().map(|v| row(&visit, v)).collect_view();
    let acts = view! { {view.csv_button()} {new_button(&visit)} }.into_any();
    let rows = if view.is_unused() {
        let acts = new_button(&visit).into_any();
        view! {
            <Empty title="No vApps yet" acts>
                "A vApp is a few VMs that belong together: they are placed together and start in order. Deploy a template, or begin with an empty one."
            </Empty>
        }
        .into_any()
    } else if view.is_empty() {
        view! { <Empty title="No vApp fits">"Search for something else, or take a filter away."</Empty> }.into_any()
    } else {
        let table = view! { <Table caption="vApps" heads list=true>{rows}</Table> };
        bulk::with_bar(&visit, Kind::Vapp, table)
    };
    let body = view! {
        <PageHead title=ON sub=view.count() acts />
        {silent_note(page.items.iter().filter(|v| v.stale()).count())}
        {view.filters("vApps", "Name, description")}
        {rows}
        {view.pager()}
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

fn row(visit: &Visit, v: &Vapp) -> impl IntoView + use<> {
    let (state, menu) = (vapp_badge(v), menu(visit, v, true));
    let vdc = vdc_link(visit, v.vdc, &v.vdc_name);
    let of_provider = (visit.place == Place::Provider).then(|| {
        let org = org_link(visit, Some(v.org), &v.org_name, true);
        let hub = hub_link(visit, v.hub.as_ref());
        view! {
            <Cell label="Organization" wraps=true>{org}</Cell>
            <Cell label="Hub">{hub}</Cell>
        }
    });
    let (owner, vms, cpus, memory) = (owner(v), v.vms.all.to_string(), v.cpus.to_string(), memory_words(v.memory_mb));
    let (created, now) = (v.created_at, visit.now);
    let (pick, choose) = (v.id.to_string(), format!("Choose {}", v.name));
    let cells = view! {
        <PickCell value=pick label=choose form=bulk::FORM />
        <NameCell name=v.name.clone() href=href(visit, v.id, "") why=v.description.clone() />
        <StateCell>{state}</StateCell>
        <Cell label="VDC" wraps=true>{vdc}</Cell>
        {of_provider}
        <Cell label="Owner" wraps=true>{owner}</Cell>
        <Cell label="VMs" number=true>{vms}</Cell>
        <Cell label="CPU" number=true>{cpus}</Cell>
        <Cell label="Memory" number=true>{memory}</Cell>
        <Cell label="Created" number=true><Time at=created now /></Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("vapp-{}", v.id)>{cells}</Row> }
}

fn owner(v: &Vapp) -> String {
    owner_words(&v.owner_name, v.stranded)
}

fn power_of(visit: &Visit, v: &Vapp) -> Option<&'static PowerOp> {
    main_op(|op| op.vapp, |action| can::vapp(v, action)).filter(|op| may(visit, v, op.vapp))
}

/// The forms; `dots`: with the wanted power, as a row's menu.
fn menu(visit: &Visit, v: &Vapp, dots: bool) -> AnyView {
    let line = |action, icon, title: &'static str, rest, danger| {
        may(visit, v, action).then(|| match can::vapp(v, action) {
            Ok(()) => {
                view! { <MenuItem icon title=format!("{title}…") href=href(visit, v.id, rest) danger /> }.into_any()
            }
            Err(why) => view! { <MenuOff icon title why /> }.into_any(),
        })
    };
    let main = power_of(visit, v).filter(|_| dots);
    let main = main.map(|op| main_line(op, suspended(v), href(visit, v.id, &format!("/{}", op.slug))));
    let add = line(Action::VmCreate, Icon::Plus, "Add a VM", "/add", false);
    let edit = line(Action::VappEdit, Icon::Settings, "Edit", "/edit", false);
    let order = line(Action::VappStartOrder, Icon::Menu, "Starting order", "/start-order", false);
    let lease = line(Action::VappLease, Icon::Clock, "Lease", "/lease", false);
    let capture = line(Action::VappCapture, Icon::Copy, "Capture as a template", "/capture", false);
    let copy = line(Action::VappCopy, Icon::Copy, "Copy", "/copy", false);
    let moves = line(Action::VappMove, Icon::Arrow, "Move to another VDC", "/move", false);
    let share = line(Action::VappShare, Icon::Users, "Share", "/sharing", false);
    let give = line(Action::VappOwner, Icon::User, "Change owner", "/owner", false);
    let delete = line(Action::VappDelete, Icon::Trash, "Delete", "/delete", true);
    if main.is_none()
        && add.is_none()
        && edit.is_none()
        && capture.is_none()
        && delete.is_none()
        && share.is_none()
        && give.is_none()
        && copy.is_none()
    {
        return ().into_any();
    }
    let label = if dots { format!("Actions for {}", v.name) } else { "More actions".into() };
    // the page itself has a button for it
    let add = add.filter(|_| dots || can::vapp(v, Action::VmCreate).is_err());
    view! { <Menu label dots=true framed=!dots>{main} {add} {edit} {order} {lease} {capture} {copy} {moves} {share} {give} {delete}</Menu> }.into_any()
}

async fn csv(visit: Visit) -> Result<Csv> {
    let heads =
        ["id", "name", "organization", "vdc", "state", "vms", "running", "cpus", "memory_mb", "owner", "created_at"];
    let list = async |visit: Visit, q: ListQuery| vapp::list(visit.domain(), &visit.actor, visit.org(), &q).await;
    Csv::head("vapps", &heads).rows(visit, &VAPPS, list, cells).await
}

fn cells(v: Vapp) -> [String; 11] {
    [
        v.id.urn(),
        v.name.clone(),
        v.org_name.clone(),
        v.vdc_name.clone(),
        v.state().label().to_owned(),
        v.vms.all.to_string(),
        v.vms.running.to_string(),
        v.cpus.to_string(),
        v.memory_mb.to_string(),
        v.owner_name.clone(),
        machine(v.created_at),
    ]
}

async fn page(visit: Visit) -> Result<Sheet> {
    let (v, vms) = vapp::with_vms(visit.domain(), &visit.actor, visit.id()).await?;
    visit.within(v.org, Kind::Vapp)?;
    let to = |slug: &str| href(&visit, v.id, &format!("/{slug}"));
    let main = power_of(&visit, &v).map(|op| main_button(op, suspended(&v), to(op.slug)));
    let power = may(&visit, &v, Action::VappPowerOn)
        .then(|| power_menu(|op| op.vapp, suspended(&v), |action| can::vapp(&v, action), to));
    let adds = may(&visit, &v, Action::VmCreate) && can::vapp(&v, Action::VmCreate).is_ok();
    let add =
        adds.then(|| view! { <a class="btn" href=href(&visit, v.id, "/add")><Icon name=Icon::Plus />"Add a VM"</a> });
    let acts = view! { {main} {add} {power} {menu(&visit, &v, false)} }.into_any();
    let tasks = task::about(visit.domain(), &visit.actor, v.org, v.id.0).await?;
    let tasks = (!tasks.is_empty()).then(|| {
        let table = task_table(&visit, &tasks, false);
        view! { <Section title="Recent tasks">{table}</Section> }
    });
    let events = event::about(visit.domain(), &visit.actor, v.org, v.id.0).await?;
    let template = match v.template {
        Some(id) => catalog::template(visit.domain(), &visit.actor, id).await.ok(),
        None => None,
    };
    let networks = vapp_networks::section(&visit, &v, &vms).await?;
    let sharing = sharing::vapp_section(&visit, &v).await?;
    // which hubs there are is the provider's business
    let placement =
        v.placement.as_ref().filter(|_| visit.place == Place::Provider).map(|p| placement_section(&visit, p));
    let body = view! {
        <PageHead
            title=v.name.clone()
            sub=format!("vApp in {}", v.vdc_name)
            lede=v.description.clone()
            acts
            says=vapp_says(&v, &vms)
        />
        {lease::note(&visit, &v)}
        {vm_section(&visit, &v, &vms)}
        {networks}
        {sharing}
        {placement}
        {tasks}
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, visit.at(LIST)), Crumb::here(v.name.clone())];
    let margin = margin(&visit, &v, template.as_ref(), &events);
    let code = code::vapp::thing(&visit.site(), &v, &vms, &vapp_networks::inside(&visit, v.id).await);
    Ok(Sheet::new(v.name.clone(), ON, crumbs, body).margin(margin).code(code))
}

fn vm_section(visit: &Visit, v: &Vapp, vms: &[Vm]) -> AnyView {
    if vms.is_empty() {
        return view! { <Empty title="No VMs in it">"It is empty. Add a VM, or delete it."</Empty> }.into_any();
    }
    let ordered = ordered(vms);
    let mut heads: Vec<Head> = ordered.then(|| Head::new("Order").number()).into_iter().collect();
    heads.extend(["Name", "State", "Address"].map(Head::new));
    heads.extend(["CPU", "Memory", "Disk"].map(|label| Head::new(label).number()));
    heads.push(Head::hidden("Actions"));
    let rows = vms.iter().map(|m| {
        let (state, menu) = (vm_badge(visit, m), row_menu(visit, m));
        let address = m.ips.first().cloned().unwrap_or_else(|| "–".into());
        let cpus = sized(m.cpus.to_string(), m.seen_cpus.map(|n| n.to_string()));
        let memory = sized(memory_words(m.memory_mb), m.seen_memory_mb.map(memory_words));
        let (disk, order) = (disk_words(&m.disks), start_order::words(m));
        let order = ordered.then(|| view! { <Cell label="Order" number=true>{order}</Cell> });
        let cells = view! {
            {order}
            <NameCell name=m.name.clone() href=visit.at(format!("/vms/{}", m.id)) />
            <StateCell>{state}</StateCell>
            <Cell label="Address">{address}</Cell>
            <Cell label="CPU" number=true>{cpus}</Cell>
            <Cell label="Memory" number=true>{memory}</Cell>
            <Cell label="Disk" number=true>{disk}</Cell>
            <RowActs>{menu}</RowActs>
        };
        view! { <Row id=format!("vm-{}", m.id)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    let sub = format!("{} and {} in all", cpu_words(v.cpus), memory_words(v.memory_mb));
    let table = view! { <Table caption="VMs of this vApp, in the order they start" heads>{rows}</Table> };
    let orders = vms.len() > 1 && may(visit, v, Action::VappStartOrder) && can::vapp(v, Action::VappStartOrder).is_ok();
    let acts = orders.then(|| view! { <a href=href(visit, v.id, "/start-order")>"Starting order"</a> }).into_any();
    view! { <Section title="VMs" sub acts>{table}</Section> }.into_any()
}

/// What it has, and beside it what it will have at its next start.
fn sized(asked: String, seen: Option<String>) -> AnyView {
    match seen.filter(|seen| *seen != asked) {
        None => asked.into_any(),
        Some(seen) => view! { {seen} " " <Badge shape=Shape::Next tone=Tone::Busy word=asked /> }.into_any(),
    }
}

pub(super) fn placement_section(visit: &Visit, p: &Placement) -> impl IntoView + use<> {
    let hub = hub_link(visit, p.hub.as_ref());
    let because = p.because.clone();
    let facts = view! {
        <Fact name="Hub">{hub}</Fact>
        <Fact name="Because">{because}</Fact>
    };
    let facts = view! { <Facts>{facts}</Facts> };
    let rows = p.refused.iter().map(|r| {
        let why = r.why.clone();
        let cells = view! {
            <NameCell name=r.hub.to_string() />
            <Cell label="Why not" wraps=true>{why}</Cell>
        };
        view! { <Row id=format!("refused-{}", r.hub)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    let others = (!p.refused.is_empty()).then(|| {
        let heads = vec![Head::new("Other hub"), Head::new("Why not")];
        view! { <Table caption="Hubs that were not taken" heads>{rows}</Table> }
    });
    view! { <Section title="Placement">{facts} {others}</Section> }
}

fn margin(visit: &Visit, v: &Vapp, template: Option<&Template>, events: &[Event]) -> AnyView {
    let (vdc, owner) = (vdc_link(visit, v.vdc, &v.vdc_name), owner(v));
    let org = (visit.place == Place::Provider).then(|| {
        let org = org_link(visit, Some(v.org), &v.org_name, true);
        view! { <Fact name="Organization">{org}</Fact> }
    });
    let template = template.map(|t| {
        let template = linked(t.name.clone(), Some(visit.at(format!("/templates/{}", t.id))));
        view! { <Fact name="Template">{template}</Fact> }
    });
    let facts = view! {
        {org}
        <Fact name="VDC">{vdc}</Fact>
        <Fact name="Owner">{owner}</Fact>
        {template}
        {lease::facts(visit, v)}
        {super::metadata::fact(visit, &format!("/vapps/{}", v.id))}
        {about_facts(visit, (v.created_at, v.updated_at, &v.updated_by), v.id.urn())}
    };
    view! {
        <Section title="About"><Facts>{facts}</Facts></Section>
        {event_section(visit, events)}
    }
    .into_any()
}

async fn power(visit: Visit, op: &'static PowerOp) -> Result<Done> {
    let v = find_to(&visit, op.vapp).await?;
    let asked = op.title(suspended(&v));
    vapp::power(visit.domain(), &visit.actor, v.id, op.vapp).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("{asked} is asked for the VMs of {} that it fits.", v.name)))
}
