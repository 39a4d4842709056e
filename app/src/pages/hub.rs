//! Hubs in the provider's portal: list, and what the buttons of a hub do. Its page and forms have files of their own.
use super::{hub_faults, hub_form, hub_page};
use crate::{
    parts::*,
    portal::{Done, Routes, Sheet, Values, Visit},
    shell::Crumb,
};
use domain::{difference, hub};
use leptos::prelude::*;
use model::{
    Action, HubId, Result, can,
    hub::{CheckState, Hub, HubDifference, HubState, HubType},
    placement::CPUS_PER_CPU,
    quota::Measure,
};

pub(super) const ON: &str = "Hubs";
pub(super) const LIST: &str = "/provider/hubs";

pub fn routes(r: Routes) -> Routes {
    r.page(LIST, list)
        .form("/provider/hubs/new", hub_form::new_page, hub_form::create)
        .look("/provider/hubs/new/test", hub_form::tested_page, hub_form::test)
        .page("/provider/hubs/{id}", hub_page::page)
        .form("/provider/hubs/{id}/edit", hub_form::edit_page, hub_form::edit)
        .form("/provider/hubs/{id}/kubeconfig", hub_form::kubeconfig_page, hub_form::set_kubeconfig)
        .act("/provider/hubs/{id}/cordon", |v, _| set_cordoned(v, true))
        .act("/provider/hubs/{id}/uncordon", |v, _| set_cordoned(v, false))
        .act("/provider/hubs/{id}/faults", hub_faults::set)
        .act("/provider/hubs/{id}/by-hand", hub_faults::by_hand)
        .form("/provider/hubs/{id}/delete", delete_page, delete)
        .form("/provider/hubs/{id}/abandon", abandon_page, abandon)
}

pub(super) fn href(id: &HubId, rest: &str) -> String {
    format!("{LIST}/{id}{rest}")
}

pub(super) fn crumbs_below(id: &HubId, last: &str) -> Vec<Crumb> {
    vec![Crumb::new(ON, LIST), Crumb::new(id.0.clone(), href(id, "")), Crumb::here(last)]
}

pub(super) fn id(visit: &Visit) -> HubId {
    HubId(visit.word())
}

/// The hub of the address, for somebody who may do `action` to it.
pub(super) async fn find(visit: &Visit, action: Action) -> Result<Hub> {
    Ok(visit.domain().store.hub(&visit.actor, action, &id(visit)).await?.into_inner())
}

async fn list(visit: Visit) -> Result<Sheet> {
    let hubs = hub::list(visit.domain(), &visit.actor).await?;
    let register = || {
        visit.may(Action::HubRegister).then(
            || view! { <a class="btn primary" href=format!("{LIST}/new")><Icon name=Icon::Plus />"Register a hub"</a> },
        )
    };
    let sub = plural(hubs.len() as u64, "hub", "hubs");
    let heads = vec![
        Head::new("Id"),
        Head::new("State"),
        Head::new("For"),
        Head::new("VMs").number(),
        Head::new("CPU").number(),
        Head::new("Memory").number(),
        Head::new("KubeVirt"),
        Head::new("Region"),
        Head::hidden("Actions"),
    ];
    let rows = hubs.iter().map(|h| row(&visit, h)).collect_view();
    let silent: Vec<_> = hubs.iter().filter_map(trouble).collect();
    let differences = differences(&difference::list(visit.domain(), &visit.actor).await?);
    let body = if hubs.is_empty() {
        let acts = register().into_any();
        view! {
            <PageHead title=ON sub />
            <Empty title="No hub yet" acts>
                "A hub is a Kubernetes cluster with KubeVirt. VMs wait until there is one."
            </Empty>
        }
        .into_any()
    } else {
        view! {
            <PageHead title=ON sub acts=register().into_any() />
            {silent}
            <Table caption="Hubs" heads list=true>{rows}</Table>
            {differences}
        }
        .into_any()
    };
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

/// Hubs that run VMs should be alike: where they are not, and what that means.
fn differences(all: &[HubDifference]) -> Option<impl IntoView + use<>> {
    let line = |d: &HubDifference| hub_page::difference_line(d.what.clone(), format!("{} {}", d.line(), d.means));
    let lines: Vec<_> = all.iter().map(line).collect();
    let sub = "between hubs that run VMs";
    (!lines.is_empty()).then(|| view! { <Section title="Differences" sub><Todos>{lines}</Todos></Section> })
}

fn row(visit: &Visit, h: &Hub) -> impl IntoView + use<> {
    let (state, menu) = (state(visit, h), menu(visit, h, true));
    let (what, vms, version, region) = (purpose(h), h.vms, word(&h.kubevirt_version), word(&place(h)));
    let (cpus, memory) = (cpus(h), memory(h));
    let why = if h.is_default { "the default hub" } else { "" };
    let cells = view! {
        <NameCell name=h.id.0.clone() href=href(&h.id, "") why />
        <StateCell>{state}</StateCell>
        <Cell label="For">{what}</Cell>
        <Cell label="VMs" number=true>{vms}</Cell>
        <Cell label="CPU" number=true>{cpus}</Cell>
        <Cell label="Memory" number=true>{memory}</Cell>
        <Cell label="KubeVirt">{version}</Cell>
        <Cell label="Region">{region}</Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("hub-{}", h.id)>{cells}</Row> }
}

/// What it is for, and what it is open for where that is less.
fn purpose(h: &Hub) -> String {
    match HubType::of(&h.capabilities) {
        Some(open) if open != h.hub_type => format!("{}, open for {}", h.hub_type.label(), open.label()),
        _ => h.hub_type.label().to_owned(),
    }
}

/// One silent hub is one notice: why, and what to do.
fn trouble(h: &Hub) -> Option<impl IntoView + use<>> {
    let text = format!(": {} {}", h.last_error, h.next_step);
    (h.state == HubState::Unreachable).then(|| {
        let (id, to) = (h.id.0.clone(), href(&h.id, ""));
        let text = view! { <a href=to>{id}</a> {text} };
        view! { <Note tone=Tone::Bad>{text}</Note> }
    })
}

/// Something that may not be known.
pub(super) fn word(text: &str) -> String {
    if text.is_empty() { "–".into() } else { text.to_owned() }
}

/// "eu-central, zone a".
pub(super) fn place(h: &Hub) -> String {
    match (h.region.as_str(), h.zone.as_str()) {
        (region, "") => region.to_owned(),
        ("", zone) => format!("zone {zone}"),
        (region, zone) => format!("{region}, zone {zone}"),
    }
}

/// So many guests' CPUs fit.
pub(super) fn cpu_room(h: &Hub) -> Option<i64> {
    h.cpus_capacity.map(|c| c * CPUS_PER_CPU)
}

/// "46 of 960".
fn cpus(h: &Hub) -> String {
    of(Measure::Cpus, h.cpus_used, cpu_room(h))
}

fn memory(h: &Hub) -> String {
    of(Measure::Memory, h.memory_used_mb, h.memory_capacity_mb)
}

fn of(m: Measure, used: i64, all: Option<i64>) -> String {
    match all {
        Some(all) => format!("{} of {}", m.number(used), m.words(all)),
        None => m.words(used),
    }
}

/// Whether it answers, since when it does not, and whether new VMs go there.
pub(super) fn state(visit: &Visit, h: &Hub) -> AnyView {
    let (shape, tone, plate) = match h.state {
        HubState::Ready if h.credential_ends_soon(visit.now).is_some() => (Shape::Disc, Tone::Warn, true),
        HubState::Ready => (Shape::Disc, Tone::Ok, false),
        HubState::Degraded => (Shape::Triangle, Tone::Warn, true),
        HubState::Unreachable => (Shape::Stale, Tone::Bad, true),
        HubState::Unknown => (Shape::Next, Tone::Plain, false),
    };
    let failed = h.checks.iter().find(|c| c.state == CheckState::Failed).map(|c| c.title.clone());
    let since = h.seen_at.map(|at| format!("as of {} ago", span(visit.now - at)));
    let ends = h.credential_ends_soon(visit.now).map(|end| {
        let word = if end <= visit.now { "ended" } else { "ends" };
        format!("kubeconfig {word} {}", end.date())
    });
    let more = match h.state {
        HubState::Unreachable => [failed, since].into_iter().flatten().collect::<Vec<_>>().join(", "),
        HubState::Degraded => [failed, ends].into_iter().flatten().collect::<Vec<_>>().join(", "),
        HubState::Ready | HubState::Unknown => ends.unwrap_or_default(),
    };
    let cordoned = h.cordoned.then(|| view! { <Badge shape=Shape::Barred word="Cordoned" /> });
    view! { <Badge shape tone word=h.state.label() more plate /> " " {cordoned} }.into_any()
}

/// What can be done to it, by its state and the visitor's rights.
pub(super) fn menu(visit: &Visit, h: &Hub, dots: bool) -> AnyView {
    if !visit.may(Action::HubEdit) {
        return ().into_any();
    }
    let edit = dots.then(|| view! { <MenuItem icon=Icon::Settings title="Edit" href=href(&h.id, "/edit") /> });
    let kubeconfig = view! {
        <MenuItem icon=Icon::Key title="New kubeconfig" href=href(&h.id, "/kubeconfig") more="It is tried before it is used" />
    };
    let cordon = if h.cordoned {
        view! {
            <MenuForm icon=Icon::Play title="Uncordon" action=href(&h.id, "/uncordon") more="New VMs may come here again" />
        }
    } else {
        view! {
            <MenuForm icon=Icon::Lock title="Cordon" action=href(&h.id, "/cordon") more="Nothing new goes there; what runs goes on" />
        }
    };
    let delete = match can::hub(h, Action::HubDelete) {
        Ok(()) => {
            view! { <MenuItem icon=Icon::Trash title="Delete…" href=href(&h.id, "/delete") danger=true /> }.into_any()
        }
        Err(why) => view! { <MenuOff icon=Icon::Trash title="Delete" why /> }.into_any(),
    };
    let give_up = can::hub(h, Action::HubAbandon).is_ok().then(|| {
        view! {
            <MenuItem icon=Icon::Trash title="Give up…" href=href(&h.id, "/abandon") more="It is lost, and everything on it" danger=true />
        }
    });
    let label = if dots { format!("Actions for {}", h.id) } else { "Actions".into() };
    view! {
        <Menu label dots>
            {edit}
            {kubeconfig}
            {cordon}
            {delete}
            {give_up}
        </Menu>
    }
    .into_any()
}

async fn set_cordoned(visit: Visit, cordoned: bool) -> Result<Done> {
    let h = hub::set_cordoned(visit.domain(), &visit.actor, &id(&visit), cordoned).await?;
    let words = if cordoned { "cordoned: nothing new goes there, and what runs goes on" } else { "open for new VMs" };
    Ok(Done::new(href(&h.id, ""), format!("Hub {} is {words}.", h.id)))
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let h = find(&visit, Action::HubDelete).await?;
    let fill = visit.fill();
    let refused = fill
        .failure()
        .filter(|e| e.fields().is_empty())
        .map(ToString::to_string)
        .or_else(|| can::hub(&h, Action::HubDelete).err().map(|why| format!("Not now: {why}")));
    let lost = match refused {
        Some(_) => Vec::new(),
        None => vec!["its kubeconfig and settings; on the hub itself nothing is touched".to_owned()],
    };
    let body = view! {
        <ConfirmPage
            title=format!("Delete hub {}?", h.id)
            verb=format!("Delete {}", h.id)
            keep_href=href(&h.id, "")
            lost
            type_name=h.id.0.clone()
            typed=fill.value("name", "")
            error=fill.error("name")
            refused
        />
    }
    .into_any();
    Ok(Sheet::new(format!("Delete {}", h.id), ON, crumbs_below(&h.id, "Delete"), body).still())
}

async fn delete(visit: Visit, values: Values) -> Result<Done> {
    let d = visit.domain();
    let h = d.attempt(&visit.actor, Action::HubDelete, find(&visit, Action::HubDelete)).await?;
    super::typed_name(&values, &h.id.0)?;
    hub::delete(d, &visit.actor, &h.id).await?;
    Ok(Done::new(LIST, format!("Hub {} is deleted.", h.id)))
}

async fn abandon_page(visit: Visit) -> Result<Sheet> {
    let h = find(&visit, Action::HubAbandon).await?;
    let fill = visit.fill();
    let refused = fill
        .failure()
        .filter(|e| e.fields().is_empty())
        .map(ToString::to_string)
        .or_else(|| can::hub(&h, Action::HubAbandon).err().map(|why| format!("Not now: {why}")));
    let lost = match refused {
        Some(_) => Vec::new(),
        None => vec![
            format!("{} with their disks and snapshots; nobody is asked", plural(h.vms.unsigned_abs(), "VM", "VMs")),
            plural(h.disks.unsigned_abs(), "independent disk", "independent disks"),
            "templates that were captured there, and nowhere else".to_owned(),
            "its kubeconfig and settings".to_owned(),
        ],
    };
    let body = view! {
        <ConfirmPage
            title=format!("Give up hub {}?", h.id)
            verb=format!("Give up {}", h.id)
            keep_href=href(&h.id, "")
            lost
            type_name=h.id.0.clone()
            typed=fill.value("name", "")
            error=fill.error("name")
            refused
        />
    }
    .into_any();
    Ok(Sheet::new(format!("Give up {}", h.id), ON, crumbs_below(&h.id, "Give up"), body).still())
}

async fn abandon(visit: Visit, values: Values) -> Result<Done> {
    let d = visit.domain();
    let h = d.attempt(&visit.actor, Action::HubAbandon, find(&visit, Action::HubAbandon)).await?;
    super::typed_name(&values, &h.id.0)?;
    let lost = hub::abandon(d, &visit.actor, &h.id).await?;
    let vms = plural(lost.vms as u64, "VM", "VMs");
    Ok(Done::new(LIST, format!("Hub {} is given up, and {vms} with it.", h.id)))
}
