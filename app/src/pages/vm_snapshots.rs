//! The snapshots of a VM: their tree on its page, and the forms to take one, to go back to one and to delete some.
use super::{
    form_error::form_error,
    vm::{ON, crumbs_below, find, find_to, href, may, not_now},
    vm_form::name_fields,
};
use crate::{
    code,
    parts::*,
    portal::{Done, Routes, Sheet, Values, Visit},
};
use domain::snapshot;
use leptos::prelude::*;
use model::{
    Action, Error, Result, SnapshotId, can,
    quota::Measure,
    snapshot::{Snapshot, SnapshotSpec, SnapshotState, tree},
    vm::{Power, Seen, Vm},
};

const LABELS: &[(&str, &str)] =
    &[("name", "Name"), ("description", "Description"), ("memory", "Memory"), ("snapshot", "Snapshot")];
/// In the choice of what to delete.
const ALL: &str = "all";

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/vms/{id}/snapshots/new", new_page, create)
        .both_form("/vms/{id}/snapshots/revert", revert_page, revert)
        .both_form("/vms/{id}/snapshots/delete", delete_page, delete)
}

pub(super) async fn section(visit: &Visit, v: &Vm) -> Result<AnyView> {
    let all = snapshot::list(visit.domain(), &visit.actor, v.id).await?;
    let takes = may(visit, v, Action::VmSnapshot);
    let why_not = can::vm(v, Action::VmSnapshot).err();
    let acts = takes.then(|| match &why_not {
        None => view! { <a href=href(visit, v.id, "/snapshots/new")>"Take one"</a> }.into_any(),
        // where there are none, the section says it
        Some(_) if all.is_empty() => ().into_any(),
        Some(why) => not_now(v, "None can be taken now:", why),
    });
    let acts = acts.into_any();
    let problem = (!v.snapshot_problem.is_empty()).then(|| {
        let text = format!(" {}", v.snapshot_problem);
        view! { <Note tone=Tone::Bad><b>"The last snapshot or revert did not work."</b> {text}</Note> }
    });
    if all.is_empty() {
        // why there is no button is said before anybody looks for it
        let text = match (&why_not, takes) {
            (Some(why), true) => format!("None. {why}"),
            _ => "None. A snapshot keeps what is on the VM's disks at one moment, to go back to.".to_owned(),
        };
        return Ok(view! { <Section title="Snapshots" acts>{problem} <p>{text}</p></Section> }.into_any());
    }
    let heads = vec![
        Head::new("Name"),
        Head::new("State"),
        Head::new("Stems from"),
        Head::new("Disks").number(),
        Head::new("Taken").number(),
        Head::hidden("Actions"),
    ];
    let rows = tree(&all).into_iter().map(|(depth, s)| row(visit, v, &all, depth, s, takes)).collect_view();
    let sub = plural(all.len() as u64, "snapshot", "snapshots");
    let table = view! { <Table caption="Snapshots" heads>{rows}</Table> };
    Ok(view! { <Section title="Snapshots" sub acts>{problem} {table}</Section> }.into_any())
}

fn row(visit: &Visit, v: &Vm, all: &[Snapshot], depth: usize, s: &Snapshot, acts: bool) -> impl IntoView + use<> {
    // a picture of the tree; the column beside it says the same in words
    let name = match depth {
        0 => s.name.clone(),
        deep => format!("{}└ {}", "\u{a0}\u{a0}\u{a0}".repeat(deep - 1), s.name),
    };
    let from =
        s.parent.and_then(|id| all.iter().find(|p| p.id == id)).map_or_else(|| "–".to_owned(), |p| p.name.clone());
    let (size, now) = (Measure::Storage.words(s.size_mb), visit.now);
    let taken = s.taken_at.map(|at| view! { <Time at now /> });
    let (state, menu) = (badge(s), acts.then(|| menu(visit, v, s)));
    let cells = view! {
        <NameCell name why=s.description.clone() />
        <StateCell>{state}</StateCell>
        <Cell label="Stems from" wraps=true>{from}</Cell>
        <Cell label="Disks" number=true>{size}</Cell>
        <Cell label="Taken" number=true>{taken}</Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("snapshot-{}", s.id)>{cells}</Row> }
}

fn badge(s: &Snapshot) -> AnyView {
    match s.state {
        _ if s.deleted => view! { <Badge shape=Shape::Half tone=Tone::Busy word="Deleting" /> }.into_any(),
        SnapshotState::Asked => view! { <Badge shape=Shape::Half tone=Tone::Busy word="Being taken" /> }.into_any(),
        SnapshotState::Ready if s.current => {
            view! { <Badge shape=Shape::Disc tone=Tone::Ok word="Ready" more="the VM stems from it" /> }.into_any()
        }
        SnapshotState::Ready => view! { <Badge shape=Shape::Ring word="Ready" /> }.into_any(),
        SnapshotState::Failed => {
            let more = s.reason.clone();
            view! { <Badge shape=Shape::Diamond tone=Tone::Bad word="Failed" more /> }.into_any()
        }
    }
}

fn menu(visit: &Visit, v: &Vm, s: &Snapshot) -> AnyView {
    if s.deleted {
        return ().into_any();
    }
    let to = |verb: &str| href(visit, v.id, &format!("/snapshots/{verb}?snapshot={}", s.id));
    let why = match s.state {
        SnapshotState::Ready => can::vm(v, Action::VmRevert).err(),
        SnapshotState::Asked => Some("It is still being taken.".to_owned()),
        SnapshotState::Failed => Some("It failed and holds nothing.".to_owned()),
    };
    let revert = match why {
        None => view! { <MenuItem icon=Icon::Restart title="Revert to it…" href=to("revert") /> }.into_any(),
        Some(why) => view! { <MenuOff icon=Icon::Restart title="Revert to it" why /> }.into_any(),
    };
    let (label, delete) = (format!("Actions for {}", s.name), to("delete"));
    view! {
        <Menu label dots=true>
            {revert}
            <MenuItem icon=Icon::Trash title="Delete…" href=delete.clone() danger=true />
        </Menu>
    }
    .into_any()
}

async fn new_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmSnapshot).await?;
    let fill = visit.fill();
    let refused = can::vm(&v, Action::VmSnapshot).err().filter(|_| fill.failure().is_none()).map(|why| {
        let text = format!("Not now: {why}");
        view! { <Note tone=Tone::Warn>{text}</Note> }
    });
    let names = name_fields(&fill, "", "", "Unique among the VM's snapshots.");
    let lede = "What is on its disks is kept, as it is at that moment. What is in memory is not: hubs can't do that. With the agent \
                in the guest its file systems are at rest; without, as after a power failure.";
    let body = view! {
        <PageHead title=format!("Take a snapshot of {}", v.name) />
        {refused}
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <FormSection title="Snapshot" lede>{names}</FormSection>
            <FormEnd submit="Take snapshot" cancel_href=href(&visit, v.id, "") />
        </form>
    }
    .into_any();
    let crumbs = crumbs_below(&visit, &v, "Take a snapshot");
    let code = code::snapshot::create(&visit.site(), &v, &fill.value("name", ""), &fill.value("description", ""));
    Ok(Sheet::new(format!("Take a snapshot of {}", v.name), ON, crumbs, body).still().code(code))
}

async fn create(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmSnapshot).await?;
    let spec = SnapshotSpec {
        name: values.text("name"),
        description: values.text("description"),
        memory: values.has("memory"),
    };
    snapshot::create(visit.domain(), &visit.actor, v.id, spec).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("A snapshot of {} is being taken.", v.name)))
}

/// Those to choose from, and which is chosen.
fn choice(visit: &Visit, fits: &[&Snapshot], all: bool) -> AnyView {
    let mut choices: Vec<Choice> = fits.iter().map(|s| Choice::new(s.id.to_string(), s.name.clone())).collect();
    if all && fits.len() > 1 {
        choices.push(Choice::new(ALL, "All of them"));
    }
    let first = fits.first().map(|s| s.id.to_string()).unwrap_or_default();
    let asked = visit.fill().value("snapshot", visit.ask.query("snapshot"));
    let value = if asked.is_empty() { first } else { asked };
    let error = visit.fill().error("snapshot");
    view! { <SelectField name="snapshot" label="Snapshot" choices value error width=Width::Half /> }.into_any()
}

fn named(values: &Values) -> Result<SnapshotId> {
    values.get("snapshot").parse().map_err(|_| Error::field("snapshot", "Choose a snapshot."))
}

fn off(v: &Vm) -> bool {
    v.power == Power::Off && v.seen == Seen::Stopped
}

async fn revert_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmRevert).await?;
    let all = snapshot::list(visit.domain(), &visit.actor, v.id).await?;
    let fits: Vec<&Snapshot> = all.iter().filter(|s| !s.deleted && s.state == SnapshotState::Ready).collect();
    let refused = visit
        .fill()
        .failure()
        .map(ToString::to_string)
        .or_else(|| can::vm(&v, Action::VmRevert).err().map(|why| format!("Not now: {why}")))
        .or_else(|| fits.is_empty().then(|| "It has no snapshot that is ready.".to_owned()));
    let lost = match refused {
        Some(_) => Vec::new(),
        None => vec!["what was written to its disks since then, unless another snapshot holds it".to_owned()],
    };
    let restart = (!off(&v)).then(|| {
        let checked = visit.fill().checked("restart", "on", false);
        let hint = "It is not stopped now. Without this, stop it first.";
        view! { <CheckField name="restart" label="Stop it for this, and start it again" checked hint /> }
    });
    let field = choice(&visit, &fits, false);
    let title = format!("Bring {} back to a snapshot?", v.name);
    let body = view! {
        <ConfirmPage title=title.clone() verb="Revert" keep_href=href(&visit, v.id, "") lost refused>
            {field}
            {restart}
        </ConfirmPage>
    }
    .into_any();
    Ok(Sheet::new(title, ON, crumbs_below(&visit, &v, "Revert"), body).still())
}

async fn revert(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmRevert).await?;
    snapshot::revert(visit.domain(), &visit.actor, v.id, named(&values)?, values.has("restart")).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("{} is being brought back.", v.name)))
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmSnapshotDelete).await?;
    let all = snapshot::list(visit.domain(), &visit.actor, v.id).await?;
    let fits: Vec<&Snapshot> = all.iter().filter(|s| !s.deleted).collect();
    let refused = visit
        .fill()
        .failure()
        .map(ToString::to_string)
        .or_else(|| can::vm(&v, Action::VmSnapshotDelete).err().map(|why| format!("Not now: {why}")));
    let lost = match refused {
        Some(_) => Vec::new(),
        None => vec!["the way back to that moment; the VM and what is on its disks now stay as they are".to_owned()],
    };
    let field = choice(&visit, &fits, true);
    let title = format!("Delete a snapshot of {}?", v.name);
    let body = view! {
        <ConfirmPage title=title.clone() verb="Delete" keep_href=href(&visit, v.id, "") lost refused>
            {field}
        </ConfirmPage>
    }
    .into_any();
    Ok(Sheet::new(title, ON, crumbs_below(&visit, &v, "Delete a snapshot"), body).still())
}

async fn delete(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmSnapshotDelete).await?;
    let words = if values.get("snapshot") == ALL {
        snapshot::delete_all(visit.domain(), &visit.actor, v.id).await?;
        "All snapshots"
    } else {
        snapshot::delete(visit.domain(), &visit.actor, v.id, named(&values)?).await?;
        "A snapshot"
    };
    Ok(Done::new(href(&visit, v.id, ""), format!("{words} of {}: deletion is asked for.", v.name)))
}
