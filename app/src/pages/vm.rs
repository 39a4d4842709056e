//! VMs in both portals: list, menus, and their power. The page of one is `vm_page`, its forms are in `vm_form`.
use super::{
    bulk,
    machine_state::vm_badge,
    power_menu::{POWER, PowerOp, main_line, main_op},
    sizes::memory_words,
    vm_console, vm_disks, vm_form, vm_guest, vm_media, vm_nics, vm_page, vm_snapshots,
};
use crate::{
    parts::*,
    portal::{Csv, Done, ListView, Place, Routes, Sheet, Visit, org_link},
    shell::Crumb,
};
use domain::vm;
use leptos::prelude::*;
use model::{
    Action, HubId, Kind, Result, VdcId, VmId, can,
    list::{ListQuery, VMS},
    vm::{Vm, VmState},
};

pub(super) const ON: &str = "VMs";
pub(super) const LIST: &str = "/vms";

pub fn routes(r: Routes) -> Routes {
    let r = vm_console::routes(vm_disks::routes(vm_media::routes(vm_form::routes(r))));
    let r = vm_guest::routes(vm_nics::routes(vm_snapshots::routes(r)))
        .both(LIST, list)
        .both_csv("/vms.csv", csv)
        .both("/vms/{id}", vm_page::page);
    POWER.iter().fold(r, |r, op| r.both_act(&format!("{LIST}/{{id}}/{}", op.slug), move |v, _| power(v, op)))
}

pub(super) fn href(visit: &Visit, id: VmId, rest: &str) -> String {
    visit.at(format!("{LIST}/{id}{rest}"))
}

pub(super) fn crumbs_below(visit: &Visit, v: &Vm, last: &str) -> Vec<Crumb> {
    vec![Crumb::new(ON, visit.at(LIST)), Crumb::new(v.name.clone(), href(visit, v.id, "")), Crumb::here(last)]
}

/// The VM of the address, for somebody who may do `action` to it.
pub(super) async fn find(visit: &Visit, action: Action) -> Result<Vm> {
    let v = visit.domain().store.vm(&visit.actor, action, visit.id()).await?.into_inner();
    visit.within(v.org, Kind::Vm)?;
    Ok(v)
}

/// The same before something is done: a refusal stands in the audit.
pub(super) async fn find_to(visit: &Visit, action: Action) -> Result<Vm> {
    visit.domain().attempt(&visit.actor, action, find(visit, action)).await
}

pub(super) fn may(visit: &Visit, v: &Vm, action: Action) -> bool {
    visit.actor.may(action, v.resource(&visit.actor))
}

/// Where a section's link would be: why there is none now, before somebody looks for it. What is so of the whole VM is said at
/// the head of its page, and not again in each section.
pub(super) fn not_now(v: &Vm, lead: &'static str, why: &str) -> AnyView {
    let of_all = matches!(v.state(), VmState::Deleting | VmState::Missing);
    let text = format!("{lead} {why}");
    (!of_all).then(|| view! { <span class="text-sm text-ink-2">{text}</span> }).into_any()
}

pub(super) fn suspended(v: &Vm) -> bool {
    v.state() == VmState::Suspended
}

async fn list(visit: Visit) -> Result<Sheet> {
    let query = visit.list_query(&VMS)?;
    let page = vm::list(visit.domain(), &visit.actor, visit.org(), &query).await?;
    let view = ListView::new(&visit, &VMS, query, &page);
    let provider = visit.place == Place::Provider;
    let mut heads = vec![
        Head::hidden("Choose"),
        view.head("name", "Name"),
        Head::new("State"),
        Head::new("Address"),
        Head::new("vApp"),
    ];
    heads.push(Head::new("VDC"));
    if provider {
        heads.extend([Head::new("Organization"), Head::new("Hub")]);
    }
    heads.extend([view.head("cpus", "CPU").number(), view.head("memory", "Memory").number()]);
    heads.extend([Head::new("In this state").number(), Head::hidden("Actions")]);
    let rows = page.items.iter().map(|v| row(&visit, v)).collect_view();
    let tags = view! { <a class="btn" href=visit.at("/tags")>"Tags"</a> };
    let acts = view! { {tags} {view.csv_button()} }.into_any();
    let rows = if view.is_unused() {
        let acts = super::vapp::new_button(&visit).into_any();
        view! {
            <Empty title="No VMs yet" acts>
                "VMs live in vApps. Deploy a template from a catalog, or make an empty vApp and add VMs to it."
            </Empty>
        }
        .into_any()
    } else if view.is_empty() {
        view! { <Empty title="No VM fits">"Search for something else, or take a filter away."</Empty> }.into_any()
    } else {
        let table = view! { <Table caption="VMs" heads kind=TableKind::Tight list=true>{rows}</Table> };
        bulk::with_bar(&visit, Kind::Vm, table)
    };
    let body = view! {
        <PageHead title=ON sub=view.count() acts />
        {silent_note(page.items.iter().filter(|v| v.stale()).count())}
        {view.filters("VMs", "Name, vApp, address, id")}
        {rows}
        {view.pager()}
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

/// One notice for all rows of hubs that do not answer.
pub(super) fn silent_note(stale: usize) -> Option<AnyView> {
    (stale > 0).then(|| {
        let text = format!(
            " {} below as last reported; what you ask of {} waits and is not lost.",
            if stale == 1 { "1 is shown".to_owned() } else { format!("{stale} are shown") },
            if stale == 1 { "it" } else { "them" },
        );
        view! {
            <Note tone=Tone::Warn>
                <b>"A hub does not answer."</b>
                {text}
            </Note>
        }
        .into_any()
    })
}

fn row(visit: &Visit, v: &Vm) -> impl IntoView + use<> {
    let (state, menu) = (vm_badge(visit, v), row_menu(visit, v));
    let address = v.ips.first().cloned().unwrap_or_else(|| "–".into());
    let vapp = linked(v.vapp_name.clone(), Some(visit.at(format!("/vapps/{}", v.vapp))));
    let vdc = vdc_link(visit, v.vdc, &v.vdc_name);
    let of_provider = (visit.place == Place::Provider).then(|| {
        let org = org_link(visit, Some(v.org), &v.org_name, true);
        let hub = hub_link(visit, v.hub.as_ref());
        view! {
            <Cell label="Organization" wraps=true>{org}</Cell>
            <Cell label="Hub">{hub}</Cell>
        }
    });
    let (cpus, memory) = (v.cpus.to_string(), memory_words(v.memory_mb));
    let since = v.since.map(|at| span(visit.now - at));
    let (pick, choose) = (v.id.to_string(), format!("Choose {}", v.name));
    let cells = view! {
        <PickCell value=pick label=choose form=bulk::FORM />
        <NameCell name=v.name.clone() href=href(visit, v.id, "") />
        <StateCell>{state}</StateCell>
        <Cell label="Address">{address}</Cell>
        <Cell label="vApp" wraps=true>{vapp}</Cell>
        <Cell label="VDC" wraps=true>{vdc}</Cell>
        {of_provider}
        <Cell label="CPU" number=true>{cpus}</Cell>
        <Cell label="Memory" number=true>{memory}</Cell>
        <Cell label="In this state" number=true wide=true>{since}</Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("vm-{}", v.id)>{cells}</Row> }
}

pub(super) fn linked(words: String, to: Option<String>) -> AnyView {
    match to {
        Some(href) => view! { <a href=href>{words}</a> }.into_any(),
        None => words.into_any(),
    }
}

pub(super) fn vdc_link(visit: &Visit, id: VdcId, name: &str) -> AnyView {
    linked(name.to_owned(), visit.may(Action::VdcView).then(|| visit.at(format!("/vdcs/{id}"))))
}

/// For the provider: tenants do not learn which hubs there are.
pub(super) fn hub_link(visit: &Visit, hub: Option<&HubId>) -> AnyView {
    match hub {
        Some(id) => linked(id.to_string(), visit.may(Action::HubView).then(|| visit.at(format!("/hubs/{id}")))),
        None => "–".into_any(),
    }
}

/// The wanted power and the forms, as a row's menu.
pub(super) fn row_menu(visit: &Visit, v: &Vm) -> AnyView {
    let main = power_of(visit, v).map(|op| main_line(op, suspended(v), href(visit, v.id, &format!("/{}", op.slug))));
    let rest = form_lines(visit, v);
    if main.is_none() && rest.is_none() {
        return ().into_any();
    }
    view! { <Menu label=format!("Actions for {}", v.name) dots=true>{main} {rest}</Menu> }.into_any()
}

pub(super) fn power_of(visit: &Visit, v: &Vm) -> Option<&'static PowerOp> {
    let main = main_op(|op| op.vm, |action| can::vm(v, action));
    main.filter(|op| may(visit, v, op.vm))
}

pub(super) fn form_lines(visit: &Visit, v: &Vm) -> Option<AnyView> {
    let line = |action, icon, title: &'static str, rest, danger| {
        may(visit, v, action).then(|| match can::vm(v, action) {
            Ok(()) => {
                view! { <MenuItem icon title=format!("{title}…") href=href(visit, v.id, rest) danger /> }.into_any()
            }
            Err(why) => view! { <MenuOff icon title why /> }.into_any(),
        })
    };
    let console = vm_console::line(visit, v);
    let edit = line(Action::VmEdit, Icon::Settings, "Edit", "/edit", false);
    let resize = line(Action::VmResize, Icon::Chart, "Resize", "/resize", false);
    let nics = line(Action::VmNics, Icon::Plug, "NICs", "/nics", false);
    let guest = line(Action::VmGuest, Icon::User, "Guest", "/guest", false);
    let copy = line(Action::VmCopy, Icon::Copy, "Copy", "/copy", false);
    let moves = line(Action::VmMove, Icon::Arrow, "Move to another vApp", "/move", false);
    let delete = line(Action::VmDelete, Icon::Trash, "Delete", "/delete", true);
    let any = edit.is_some() || resize.is_some() || nics.is_some() || delete.is_some();
    let any = any || copy.is_some() || moves.is_some() || console.is_some();
    any.then(|| view! { {console} {edit} {resize} {nics} {guest} {copy} {moves} {delete} }.into_any())
}

const HEADS: [&str; 14] = [
    "id",
    "name",
    "organization",
    "vdc",
    "vapp",
    "state",
    "reason",
    "cpus",
    "memory_mb",
    "storage_mb",
    "addresses",
    "owner",
    "created_at",
    "hub",
];

/// Where a machine is, is the provider's business.
async fn csv(visit: Visit) -> Result<Csv> {
    let list = async |visit: Visit, q: ListQuery| vm::list(visit.domain(), &visit.actor, visit.org(), &q).await;
    if visit.place == Place::Provider {
        return Csv::head("vms", &HEADS).rows(visit, &VMS, list, cells_and_hub).await;
    }
    Csv::head("vms", &HEADS[..13]).rows(visit, &VMS, list, cells).await
}

fn cells(v: Vm) -> [String; 13] {
    let reason = if v.problem.is_empty() { v.reason.clone() } else { v.problem.clone() };
    [
        v.id.urn(),
        v.name.clone(),
        v.org_name.clone(),
        v.vdc_name.clone(),
        v.vapp_name.clone(),
        v.state().label().to_owned(),
        reason,
        v.cpus.to_string(),
        v.memory_mb.to_string(),
        v.storage_mb().to_string(),
        v.ips.join(" "),
        v.owner_name.clone(),
        machine(v.created_at),
    ]
}

fn cells_and_hub(v: Vm) -> [String; 14] {
    let hub = v.hub.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut all = cells(v).into_iter().chain([hub]);
    std::array::from_fn(|_| all.next().unwrap_or_default())
}

async fn power(visit: Visit, op: &'static PowerOp) -> Result<Done> {
    let v = find_to(&visit, op.vm).await?;
    let asked = op.title(suspended(&v));
    vm::power(visit.domain(), &visit.actor, v.id, op.vm).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("{asked} is asked for {}.", v.name)))
}
