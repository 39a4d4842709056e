//! Many vApps, VMs, disks, networks or catalog items at once: the bar below their lists, the question before something is lost, and what became of each.
use super::{catalog, disk, form_error::form_error, network, owner::words, vapp, vm};
use crate::{
    parts::*,
    portal::{Routes, Sheet, Values, Visit},
    shell::Crumb,
};
use domain::bulk::{self, MOST, Op, Outcome};
use leptos::prelude::*;
use model::{Error, Kind, Result};
use uuid::Uuid;

/// The form that the boxes of a list belong to, wherever they stand.
pub(super) const FORM: &str = "bulk";

pub(super) fn routes(r: Routes) -> Routes {
    [Kind::Vapp, Kind::Vm, Kind::Disk, Kind::Network, Kind::Template].into_iter().fold(r, |r, kind| {
        r.both_look(
            &format!("{}/bulk", list(kind).things),
            move |v, step| page(v, kind, step),
            move |v, values| act(v, kind, values),
        )
    })
}

/// The list that things are chosen in.
struct List {
    /// Where it stands in the navigation.
    on: &'static str,
    at: &'static str,
    /// Where the pages of the things themselves are.
    things: &'static str,
    one: &'static str,
    many: &'static str,
    /// What goes with each that is deleted.
    with: &'static str,
}

fn list(kind: Kind) -> List {
    let list = |on, at, one, many, with| List { on, at, things: at, one, many, with };
    match kind {
        Kind::Vapp => list(vapp::ON, vapp::LIST, "vApp", "vApps", ", with the disks of its own"),
        Kind::Vm => list(vm::ON, vm::LIST, "VM", "VMs", ", with the disks of its own"),
        Kind::Disk => list(disk::ON, disk::LIST, "disk", "disks", ", with all that is on it"),
        Kind::Network => list(network::ON, network::LIST, "network", "networks", ""),
        _ => List {
            things: "/templates",
            ..list(catalog::ON, catalog::LIST, "catalog item", "catalog items", ", with all its versions")
        },
    }
}

/// The buttons: what is posted, and what they say. All that is more than power is asked about first.
const BUTTONS: &[(&str, &str)] = &[
    ("power-on", "Power on"),
    ("shutdown", "Shut down"),
    ("power-off", "Power off"),
    ("give", "Change owner"),
    ("tag", "Add a tag"),
    ("untag", "Remove a tag"),
    ("delete", "Delete"),
];

fn offers(kind: Kind, what: &str) -> bool {
    match kind {
        Kind::Vapp => !matches!(what, "tag" | "untag"),
        Kind::Vm => what != "give",
        _ => what == "delete",
    }
}

/// A list with the bar over its head, which shows when something is chosen. The bar comes after the list, as it is read; it is the
/// form itself: row menus are forms too, so the boxes belong to it by name.
pub(super) fn with_bar(visit: &Visit, kind: Kind, table: impl IntoView) -> AnyView {
    let bar = bar(visit, kind);
    view! { <div class="picks">{table} {bar}</div> }.into_any()
}

fn bar(visit: &Visit, kind: Kind) -> impl IntoView + use<> {
    let action = visit.at(format!("{}/bulk", list(kind).things));
    let buttons = BUTTONS.iter().filter(|(value, _)| offers(kind, value)).map(|(value, label)| {
        let class = if *value == "delete" { "btn small danger" } else { "btn small" };
        let asks = !matches!(*value, "power-on" | "shutdown" | "power-off");
        let label = format!("{label}{}", if asks { "…" } else { "" });
        view! { <button class=class name="do" value=*value>{label}</button> }
    });
    let buttons = buttons.collect_view();
    view! {
        <form id=FORM method="post" action=action class="bulk acts">
            <span class="chosen">"With what is chosen"</span>
            {buttons}
        </form>
    }
}

/// What a post led to.
#[derive(Clone)]
pub(super) enum Step {
    /// Nothing is done yet: it is asked whether it is meant.
    Asks {
        what: &'static str,
        chosen: Vec<(Uuid, String)>,
    },
    Done(&'static str, Vec<Outcome>),
}

/// The button by what it posts.
fn button(kind: Kind, values: &Values) -> Option<&'static str> {
    let wished = values.get("do");
    BUTTONS.iter().map(|(value, _)| *value).find(|b| *b == wished && offers(kind, b))
}

async fn act(visit: Visit, kind: Kind, values: Values) -> Result<Step> {
    let d = visit.domain();
    let what = button(kind, &values).ok_or_else(|| Error::field("pick", "Choose what to do with them."))?;
    // what can't be an id stands for something that is not there
    let mut ids: Vec<Uuid> = values.all("pick").map(|id| Uuid::try_parse(id).unwrap_or_default()).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Err(Error::field("pick", "Nothing is chosen. Tick the boxes in the list first."));
    }
    if ids.len() > MOST {
        return Err(Error::field("pick", format!("At most {MOST} at once.")));
    }
    let ask = async || {
        let mut chosen = Vec::new();
        for &id in &ids {
            chosen.push((id, bulk::name(d, &visit.actor, kind, id).await?));
        }
        Ok(Step::Asks { what, chosen })
    };
    let op = match what {
        "power-on" => Op::PowerOn,
        "shutdown" => Op::Shutdown,
        "power-off" => Op::PowerOff,
        _ if !values.has("sure") => return ask().await,
        "give" if values.get("owner").trim().is_empty() => return ask().await,
        "give" => Op::Give(values.text("owner")),
        "tag" | "untag" if values.get("tag").trim().is_empty() => return ask().await,
        "tag" => Op::Tag(values.text("tag")),
        "untag" => Op::Untag(values.text("tag")),
        _ => Op::Delete,
    };
    Ok(Step::Done(what, bulk::run(d, &visit.actor, kind, &ids, &op).await?))
}

async fn page(visit: Visit, kind: Kind, step: Option<Step>) -> Result<Sheet> {
    let List { on, at, many, .. } = list(kind);
    let fill = visit.fill();
    let back = view! { <a class="btn" href=visit.at(at)>"Back to the list"</a> }.into_any();
    let (title, inside) = match step {
        None => {
            let text = format!(
                "Choose {many} in their list by the boxes before their names, then say what is to be done with them."
            );
            let empty = view! { <Empty title="Nothing is chosen" acts=back>{text}</Empty> };
            ("Several at once".to_owned(), view! { {form_error(&fill, &[])} {empty} }.into_any())
        }
        Some(Step::Asks { what, chosen }) => asks(&visit, kind, what, &chosen),
        Some(Step::Done(what, all)) => {
            let done = all.iter().filter(|o| o.result.is_ok()).count();
            let title = format!("{}: {done} of {} accepted", said(what), all.len());
            (title.clone(), view! { <PageHead title acts=back /> {results(&visit, kind, &all)} }.into_any())
        }
    };
    let crumbs = vec![Crumb::new(on, visit.at(at)), Crumb::here("Several at once")];
    Ok(Sheet::new(title, on, crumbs, inside).still())
}

fn said(what: &str) -> &'static str {
    BUTTONS.iter().find(|(value, _)| *value == what).map_or("Delete", |(_, label)| label)
}

/// What they are called; one that can't be seen is called by what was posted.
fn called(id: Uuid, name: &str) -> String {
    if name.is_empty() { id.to_string() } else { name.to_owned() }
}

fn asks(visit: &Visit, kind: Kind, what: &'static str, chosen: &[(Uuid, String)]) -> (String, AnyView) {
    let List { at, one, many, with, .. } = list(kind);
    let count = plural(chosen.len() as u64, one, many);
    let picks = chosen.iter().map(|(id, _)| view! { <input type="hidden" name="pick" value=id.to_string() /> });
    let picks = picks.collect_view();
    let names: Vec<String> = chosen.iter().map(|(id, name)| called(*id, name)).collect();
    let fixed = view! {
        {picks}
        <input type="hidden" name="do" value=what />
        <input type="hidden" name="sure" value="on" />
    };
    if what == "delete" {
        let (title, keep) = (format!("Delete {count}?"), visit.at(at));
        let lost = names.into_iter().map(|n| format!("{n}{with}")).collect();
        let page = view! {
            <ConfirmPage title=title.clone() verb=format!("Delete {count}") keep_href=keep lost>
                {fixed}
            </ConfirmPage>
        };
        return (title, page.into_any());
    }
    let fill = visit.fill();
    let (field, section, label, hint, missing) = match what {
        "give" => (
            "owner",
            "Owner",
            "New owner",
            "The name they sign in with: a user of the same organization.",
            "Name the user who gets them.",
        ),
        _ => (
            "tag",
            "Tag",
            "Tag",
            "One word, as web or tier:1. Capital letters count as small ones.",
            "Say which tag it is.",
        ),
    };
    // the second time round
    let error = fill.checked("sure", "on", false).then(|| missing.to_owned());
    let value = fill.value(field, "");
    let fields =
        view! { <TextField name=field label=label value error hint=hint autocomplete="off" width=Width::Half /> };
    let title = match what {
        "give" => format!("Change the owner of {count}"),
        "tag" => format!("Add a tag to {count}"),
        _ => format!("Remove a tag from {count}"),
    };
    let lede = names.join(", ");
    let page = view! {
        <PageHead title=title.clone() lede />
        <form method="post" class="form" novalidate>
            {fixed}
            <FormSection title=section>{fields}</FormSection>
            <FormEnd submit=said(what) cancel_href=visit.at(at) />
        </form>
    };
    (title, page.into_any())
}

fn results(visit: &Visit, kind: Kind, all: &[Outcome]) -> AnyView {
    let things = list(kind).things;
    let rows = all.iter().map(|o| {
        let name = called(o.id, &o.name);
        let to = if o.name.is_empty() { String::new() } else { visit.at(format!("{things}/{}", o.id)) };
        let (badge, more) = match &o.result {
            Ok(task) => {
                let badge = view! { <Badge shape=Shape::Disc tone=Tone::Ok word="Accepted" /> }.into_any();
                let task = task.map(|id| view! { <a href=visit.at(format!("/tasks/{id}"))>"Task"</a> });
                (badge, task.into_any())
            }
            Err(e) => {
                let badge = view! { <Badge shape=Shape::Ring tone=Tone::Warn word="Refused" /> }.into_any();
                (badge, words(e).into_any())
            }
        };
        let cells = view! {
            <NameCell name href=to />
            <StateCell>{badge}</StateCell>
            <Cell label="Why, or its task" wraps=true>{more}</Cell>
        };
        view! { <Row id=format!("done-{}", o.id)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    let heads = vec![Head::new("Name"), Head::new("Result"), Head::new("Why, or its task")];
    view! { <Table caption="What became of each" heads>{rows}</Table> }.into_any()
}
