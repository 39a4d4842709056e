//! The page of one VM: its state and why, addresses, hardware asked for and seen, disks and cards.
use super::{
    about::about_facts,
    machine_state::{at_words, vm_says},
    power_menu::{main_button, power_menu},
    recent_events::event_section,
    recent_tasks::task_table,
    sizes::{cpu_words, disk_words, memory_words},
    vapp::placement_section,
    vapp_networks,
    vm::{LIST, ON, find, form_lines, href, hub_link, linked, may, power_of, suspended, vdc_link},
    vm_agent, vm_console, vm_disks, vm_guest, vm_media, vm_nics, vm_snapshots,
};
use crate::{
    code,
    parts::*,
    portal::{Place, Sheet, Visit, org_link},
    shell::Crumb,
};
use domain::{event, task, vapp};
use leptos::prelude::*;
use model::{
    Action, Result, can,
    event::Event,
    vm::{Vm, VmState},
};

pub(super) async fn page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmView).await?;
    let tasks = task::about(visit.domain(), &visit.actor, v.org, v.id.0).await?;
    let tasks = (!tasks.is_empty()).then(|| {
        let table = task_table(&visit, &tasks, false);
        view! { <Section title="Recent tasks">{table}</Section> }
    });
    let events = event::about(visit.domain(), &visit.actor, v.org, v.id.0).await?;
    // who may see a VM alone is not shown the rest of its vApp
    let of = vapp::get(visit.domain(), &visit.actor, v.vapp).await.ok();
    let alone = of.as_ref().is_some_and(|of| of.auto);
    let placement = of.and_then(|of| of.placement).filter(|_| visit.place == Place::Provider);
    let placement = placement.map(|p| placement_section(&visit, &p));
    let (addresses, hardware) = (addresses(&v), hardware(&v));
    let resizes = may(&visit, &v, Action::VmResize) && can::vm(&v, Action::VmResize).is_ok();
    let change = resizes.then(|| view! { <a href=href(&visit, v.id, "/resize")>"Change"</a> }).into_any();
    let snapshots = vm_snapshots::section(&visit, &v).await?;
    let guest = vm_guest::section(&visit, &v).await?;
    let agent = vm_agent::section(&visit, &v).await?;
    let body = view! {
        <PageHead
            title=v.name.clone()
            sub="VM in vApp"
            within=(v.vapp_name.clone(), visit.at(format!("/vapps/{}", v.vapp)))
            lede=v.description.clone()
            acts=acts(&visit, &v)
            says=vm_says(&visit, &v)
        />
        {notes(&visit, &v)}
        <div class="cols-2">
            <Section title="Addresses">{addresses}</Section>
            <Section title="Hardware" acts=change>{hardware}</Section>
        </div>
        {agent}
        {vm_disks::section(&visit, &v)}
        {vm_media::section(&visit, &v)}
        {snapshots}
        {vm_nics::section(&visit, &v)}
        {guest}
        {placement}
        {tasks}
    }
    .into_any();
    let tags = super::tag::facts(&visit, &v).await?;
    let crumbs = vec![Crumb::new(ON, visit.at(LIST)), Crumb::here(v.name.clone())];
    let code = code::vm::thing(&visit.site(), &v, alone, &vapp_networks::inside(&visit, v.vapp).await);
    Ok(Sheet::new(v.name.clone(), ON, crumbs, body).margin(margin(&visit, &v, tags, &events)).code(code))
}

fn acts(visit: &Visit, v: &Vm) -> AnyView {
    let to = |slug: &str| href(visit, v.id, &format!("/{slug}"));
    let main = power_of(visit, v).map(|op| main_button(op, suspended(v), to(op.slug)));
    let power =
        may(visit, v, Action::VmPowerOn).then(|| power_menu(|op| op.vm, suspended(v), |action| can::vm(v, action), to));
    let more =
        form_lines(visit, v).map(|lines| view! { <Menu label="More actions" dots=true framed=true>{lines}</Menu> });
    let console = vm_console::button(visit, v);
    view! { {main} {console} {power} {more} }.into_any()
}

fn notes(visit: &Visit, v: &Vm) -> impl IntoView + use<> {
    let silent = v.stale().then(|| {
        let since = v.seen_at.map(|at| format!(" since {}", at_words(at, visit.now))).unwrap_or_default();
        let (lead, rest) = (
            format!("Its hub has not answered{since}."),
            " This page shows what it last reported. What you ask for waits and is not lost.",
        );
        view! { <Note tone=Tone::Warn><b>{lead}</b> {rest}</Note> }
    });
    let missing = v.state() == VmState::Missing;
    // of one that is missing the problem is the same in other words
    let problem = (!v.problem.is_empty() && !missing).then(|| {
        let text = format!(" {}", v.problem);
        view! { <Note tone=Tone::Bad><b>"It can't be brought to what was asked for."</b> {text}</Note> }
    });
    let outside = (!v.outside.is_empty()).then(|| {
        let what = v.outside.clone();
        let next = match v.power.is_met(v.seen) {
            _ if missing => " Delete it here, and deploy it again if it is still needed.",
            true => " It stays so until something is asked of it here.",
            false => " It stays so until its power is asked for here.",
        };
        view! { <Note tone=Tone::Warn><b>{what}</b> {next}</Note> }
    });
    let waits = v.restart_needed.then(|| {
        let lead = match v.waiting().as_slice() {
            [] => "Changes wait for the next start.".to_owned(),
            known => format!("Changes wait for the next start: {}.", known.join(", ")),
        };
        let text = " Reboot does not apply them: shut it down and power it on, or power it off and on.";
        view! { <Note tone=Tone::Busy><b>{lead}</b> {text}</Note> }
    });
    view! { {silent} {problem} {outside} {waits} }
}

fn addresses(v: &Vm) -> AnyView {
    let ips: Vec<_> = v
        .ips
        .iter()
        .map(|ip| {
            let (name, value) = (if ip.contains(':') { "IPv6" } else { "IPv4" }, ip.clone());
            view! { <Fact name><Copy value what="address" /></Fact> }
        })
        .collect();
    let none = ips.is_empty().then(|| {
        view! { <Fact name="Address">"None reported. They show when the guest runs and its agent answers."</Fact> }
    });
    let host = v.computer_name.clone();
    let facts = view! { {ips} {none} <Fact name="Host name"><Copy value=host what="host name" /></Fact> };
    view! { <Facts>{facts}</Facts> }.into_any()
}

fn hardware(v: &Vm) -> AnyView {
    let cpus = sized(cpu_words(v.cpus), v.seen_cpus.map(cpu_words));
    let memory = sized(memory_words(v.memory_mb), v.seen_memory_mb.map(memory_words));
    let policy = v.sizing.as_ref().map(|(_, name)| {
        let name = name.clone();
        view! { <Fact name="Size">{name}</Fact> }
    });
    // the instance type of a policy is named after its id
    let kind = (!v.instance_type.is_empty() && v.sizing.is_none()).then(|| {
        let name = v.instance_type.clone();
        view! { <Fact name="Instance type">{name}</Fact> }
    });
    let guest = match (v.guest_os.as_str(), v.os.as_str()) {
        ("", "") => "not known".to_owned(),
        ("", asked) => asked.to_owned(),
        (seen, _) => seen.to_owned(),
    };
    let storage = disk_words(&v.disks);
    let words = v.built().words().join(", ");
    let firmware = (!words.is_empty()).then(|| view! { <Fact name="Firmware">{words}</Fact> });
    let facts = view! {
        <Fact name="CPU">{cpus}</Fact>
        <Fact name="Memory">{memory}</Fact>
        <Fact name="Storage">{storage}</Fact>
        {policy}
        {kind}
        {firmware}
        <Fact name="Guest">{guest}</Fact>
    };
    view! { <Facts>{facts}</Facts> }.into_any()
}

/// What it has, and beside it what it will have where that was asked for and is not so yet.
fn sized(asked: String, seen: Option<String>) -> AnyView {
    match seen.filter(|seen| *seen != asked) {
        None => asked.into_any(),
        Some(seen) => view! {
            {seen}
            " "
            <Badge shape=Shape::Next tone=Tone::Busy word=asked more="at next start" />
        }
        .into_any(),
    }
}

fn margin(visit: &Visit, v: &Vm, tags: AnyView, events: &[Event]) -> AnyView {
    let vapp = linked(v.vapp_name.clone(), Some(visit.at(format!("/vapps/{}", v.vapp))));
    let vdc = vdc_link(visit, v.vdc, &v.vdc_name);
    let owner = if v.owner_name.is_empty() { "the provider".to_owned() } else { v.owner_name.clone() };
    let of_provider = (visit.place == Place::Provider).then(|| {
        let org = org_link(visit, Some(v.org), &v.org_name, true);
        let known = |text: &str| if text.is_empty() { "–".to_owned() } else { text.to_owned() };
        let (hub, node) = (hub_link(visit, v.hub.as_ref()), known(&v.node));
        let on_hub = format!("{}/{}", v.namespace, v.hub_name);
        view! {
            <Fact name="Organization">{org}</Fact>
            <Fact name="Hub">{hub}</Fact>
            <Fact name="Node">{node}</Fact>
            <Fact name="Name there"><Copy value=on_hub what="name on the hub" /></Fact>
        }
    });
    let facts = view! {
        <Fact name="vApp">{vapp}</Fact>
        <Fact name="VDC">{vdc}</Fact>
        <Fact name="Owner">{owner}</Fact>
        {of_provider}
        {tags}
        {super::metadata::fact(visit, &format!("/vms/{}", v.id))}
        {about_facts(visit, (v.created_at, v.updated_at, &v.updated_by), v.id.urn())}
    };
    view! {
        <Section title="About"><Facts>{facts}</Facts></Section>
        {event_section(visit, events)}
    }
    .into_any()
}
