//! A hub: whether it answers, what was checked and what to do about it, its room, and for a simulated one its faults.
use super::{
    about::about_facts,
    hub::{LIST, ON, cpu_room, find, href, menu, place, state, word},
    hub_faults::fault_section,
    hub_tenants::{placement_section, tenant_section},
    limits::whole,
};
use crate::{
    code,
    parts::*,
    portal::{Sheet, Visit},
    shell::Crumb,
};
use domain::{
    difference,
    hub::{self, Stranger},
};
use leptos::prelude::*;
use model::{
    Action, Result,
    hub::{CheckState, Hub, HubCheck, HubDifference, HubState},
    quota::Measure,
};

pub(super) async fn page(visit: Visit) -> Result<Sheet> {
    let h = find(&visit, Action::HubView).await?;
    let edit = visit
        .may(Action::HubEdit)
        .then(|| view! { <a class="btn" href=href(&h.id, "/edit")><Icon name=Icon::Settings />"Edit"</a> });
    let acts = view! { {edit} {menu(&visit, &h, false)} }.into_any();
    let strangers = hub::strangers(visit.domain(), &visit.actor, &h.id).await?;
    let strangers = (!strangers.is_empty()).then(|| stranger_section(&visit, &strangers));
    let (tenants, wishers) = hub::tenants(visit.domain(), &visit.actor, &h.id).await?;
    let (tenants, placement) = (tenant_section(&visit, &tenants), placement_section(&visit, &h, &wishers));
    let faults = fault_section(&visit, &h);
    let differences = difference_section(&h, &difference::list(visit.domain(), &visit.actor).await?);
    let body = view! {
        <PageHead title=h.id.0.clone() sub="hub" lede=h.description.clone() acts says=state(&visit, &h) />
        {trouble(&h)}
        {credential_note(&visit, &h)}
        {check_section(&visit, &h)}
        {differences}
        {room_section(&h)}
        {tenants} {placement}
        {strangers}
        {faults}
    }
    .into_any();
    let name = h.id.0.clone();
    let crumbs = vec![Crumb::new(ON, LIST), Crumb::here(name.clone())];
    Ok(Sheet::new(name, ON, crumbs, body).margin(margin(&visit, &h)).code(code::hub::thing()))
}

/// While it does not answer: why, and what to do. What runs on it is not guessed.
fn trouble(h: &Hub) -> Option<AnyView> {
    let text = match h.state {
        HubState::Unreachable => {
            let vms = plural(u64::try_from(h.vms).unwrap_or(0), "VM", "VMs");
            format!("{} {} {vms} on it: shown as last seen, and what was asked for waits.", h.last_error, h.next_step)
        }
        HubState::Unknown => "It is tried within a few seconds. Until then no VM goes there.".to_owned(),
        HubState::Ready | HubState::Degraded => return None,
    };
    let tone = if h.state == HubState::Unreachable { Tone::Bad } else { Tone::Plain };
    Some(view! { <Note tone>{text}</Note> }.into_any())
}

fn credential_note(visit: &Visit, h: &Hub) -> Option<AnyView> {
    let end = h.credential_ends_soon(visit.now)?;
    let (words, tone) = if end <= visit.now {
        (format!("The kubeconfig's credentials ended on {}.", end.date()), Tone::Bad)
    } else {
        (format!("The kubeconfig's credentials end on {}, in {}.", end.date(), span(end - visit.now)), Tone::Warn)
    };
    let text = format!("{words} Give it a newer kubeconfig.");
    let new = visit
        .may(Action::HubCredential)
        .then(|| view! { <a class="btn small" href=href(&h.id, "/kubeconfig")>"New kubeconfig"</a> })
        .into_any();
    Some(view! { <Note tone acts=new>{text}</Note> }.into_any())
}

fn check_section(visit: &Visit, h: &Hub) -> impl IntoView + use<> {
    let good = h.checks.iter().filter(|c| c.state == CheckState::Ok).count();
    let asked = h.checks.iter().filter(|c| c.state != CheckState::Skipped).count();
    let sub = if h.checks.is_empty() { String::new() } else { format!("{good} of {asked} pass") };
    let (at, now) = (h.checked_at, visit.now);
    let list = if h.checks.is_empty() {
        view! { <p>"Not checked yet. That is done within a minute of registering it."</p> }.into_any()
    } else {
        check_list(&h.checks)
    };
    let when = at.map(|at| {
        view! {
            <p class="hint">
                "Checked "
                <Time at now />
                "; every minute."
            </p>
        }
    });
    view! { <Section title="Checks" sub>{list} {when}</Section> }
}

/// Each thing that was looked at. What somebody should act on stands open, what passes is folded away.
pub(super) fn check_list(checks: &[HubCheck]) -> AnyView {
    let lines = |states: &[CheckState]| -> Vec<_> {
        let some = states.iter().flat_map(|s| checks.iter().filter(move |c| c.state == *s));
        some.map(check_line).collect()
    };
    let (open, passed) = (lines(&[CheckState::Failed, CheckState::Warning]), lines(&[CheckState::Ok]));
    let skipped = lines(&[CheckState::Skipped]);
    let open = (!open.is_empty()).then(|| view! { <Todos>{open}</Todos> });
    view! { {open} {fold(passed, "passed")} {fold(skipped, "not asked")} }.into_any()
}

fn fold(lines: Vec<impl IntoView + 'static>, which: &str) -> Option<impl IntoView> {
    let title = format!("{} {which}", plural(lines.len() as u64, "check", "checks"));
    (!lines.is_empty()).then(|| {
        let lines = view! { <Todos>{lines}</Todos> };
        view! { <Fold title>{lines}</Fold> }
    })
}

fn check_line(c: &HubCheck) -> impl IntoView + use<> {
    let (shape, tone, word) = match c.state {
        CheckState::Ok => (Shape::Done, Tone::Ok, "passes"),
        CheckState::Warning => (Shape::Triangle, Tone::Warn, "needs a look"),
        CheckState::Failed => (Shape::Diamond, Tone::Bad, "failed"),
        CheckState::Skipped => (Shape::Next, Tone::Plain, "not asked"),
    };
    let mark = view! { <Shape name=shape tone /> }.into_any();
    let title = view! { {c.title.clone()} " " <small>{word}</small> }.into_any();
    let text = if c.what_to_do.is_empty() { c.detail.clone() } else { format!("{} To do: {}", c.detail, c.what_to_do) };
    view! { <Todo mark title text /> }
}

/// Where it is not like the other hubs that run VMs.
fn difference_section(h: &Hub, all: &[HubDifference]) -> Option<impl IntoView + use<>> {
    let lines: Vec<_> = all
        .iter()
        .filter_map(|d| {
            let (here, other, there) = match () {
                () if d.hub == h.id => (&d.here, &d.baseline, &d.there),
                () if d.baseline == h.id => (&d.there, &d.hub, &d.here),
                () => return None,
            };
            Some(difference_line(d.what.clone(), format!("Here: {here}; {other}: {there}. {}", d.means)))
        })
        .collect();
    let sub = "to the other hubs that run VMs";
    (!lines.is_empty()).then(|| view! { <Section title="Differences" sub><Todos>{lines}</Todos></Section> })
}

pub(super) fn difference_line(what: String, text: String) -> impl IntoView + use<> {
    let mark = view! { <Shape name=Shape::Triangle tone=Tone::Warn /> }.into_any();
    view! { <Todo mark title=what.into_any() text /> }
}

fn room_section(h: &Hub) -> impl IntoView + use<> {
    let known = h.cpus_capacity.is_some() && h.memory_capacity_mb.is_some();
    let room = if known {
        let cpus = view! { <Meter label="CPU" used=whole(h.cpus_used) limit=cpu_room(h).map(whole) unit="vCPU" /> };
        let memory = view! {
            <Meter label="Memory" used=whole(h.memory_used_mb) limit=h.memory_capacity_mb.map(whole) unit="GB" per=1024 />
        };
        view! { <div class="meters">{cpus} {memory}</div> }.into_any()
    } else {
        view! { <p>"Not known yet: the hub has not said what its nodes have."</p> }.into_any()
    };
    view! { <Section title="Room" sub="what VMs ask for, of what its nodes can give">{room}</Section> }
}

/// What carries our label there and is known to nobody here: as after a backup was restored.
fn stranger_section(visit: &Visit, all: &[Stranger]) -> impl IntoView + use<> {
    let heads = vec![Head::new("Name"), Head::new("Namespace"), Head::new("Kind"), Head::new("Last seen")];
    let now = visit.now;
    let rows = all.iter().map(|s| {
        let (namespace, kind, at) = (s.namespace.clone(), s.kind.clone(), s.seen_at);
        let cells = view! {
            <NameCell name=s.name.clone() />
            <Cell label="Namespace">{namespace}</Cell>
            <Cell label="Kind">{kind}</Cell>
            <Cell label="Last seen"><Time at now /></Cell>
        };
        view! { <Row id=format!("stranger-{}-{}", s.namespace, s.name)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    let table = view! { <Table caption="Unknown objects" heads>{rows}</Table> };
    view! { <Section title="Unknown objects" sub="they carry our label, and nobody here knows them: they are left alone">{table}</Section> }
}

fn margin(visit: &Visit, h: &Hub) -> AnyView {
    let capabilities: Vec<&str> = h.capabilities.iter().map(|c| c.key()).collect();
    let (what, open_for) = (h.hub_type.label(), capabilities.join(", "));
    let offers = word(&h.offers.join(", "));
    let (region, namespace, server) = (word(&place(h)), h.namespace.clone(), h.server.clone());
    let quota = Measure::ALL.into_iter().filter_map(|m| h.quota.get(m).map(|n| m.words(n)));
    let quota = word(&quota.collect::<Vec<_>>().join(", "));
    let (kubernetes, kubevirt) = (word(&h.kubernetes_version), word(&h.kubevirt_version));
    let (vms, vdcs, now) = (h.vms, h.vdcs, visit.now);
    let seen = match h.seen_at {
        Some(at) => view! { <Time at now /> }.into_any(),
        None => "never".into_any(),
    };
    let ends = h.credential_expires_at.map_or_else(|| "names no end".to_owned(), |end| format!("until {}", end.date()));
    let facts = view! {
        <Fact name="For">{what}</Fact>
        <Fact name="Open for">{open_for}</Fact>
        <Fact name="Has">{offers}</Fact>
        <Fact name="VMs">{vms}</Fact>
        <Fact name="VDCs">{vdcs}</Fact>
        <Fact name="Region">{region}</Fact>
        <Fact name="Namespace"><Copy value=namespace what="namespace" /></Fact>
        <Fact name="Its quota">{quota}</Fact>
        <Fact name="Address"><Copy value=server what="address" /></Fact>
        <Fact name="Kubernetes">{kubernetes}</Fact>
        <Fact name="KubeVirt">{kubevirt}</Fact>
        <Fact name="Seen">{seen}</Fact>
        <Fact name="kubeconfig">"stored, never shown; " {ends}</Fact>
        {about_facts(visit, (h.created_at, h.updated_at, &h.updated_by), h.uid.to_string())}
    };
    view! { <Section title="About"><Facts>{facts}</Facts></Section> }.into_any()
}
