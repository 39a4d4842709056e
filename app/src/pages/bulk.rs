//! Many vApps or VMs at once: the bar below their lists, the question before something is lost, and what became of each.
use super::{form_error::form_error, owner::words, vapp, vm};
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
    [Kind::Vapp, Kind::Vm].into_iter().fold(r, |r, kind| {
        r.both_look(
            &format!("{}/bulk", list(kind).1),
            move |v, step| page(v, kind, step),
            move |v, values| act(v, kind, values),
        )
    })
}

/// What the list is called, and where it is.
fn list(kind: Kind) -> (&'static str, &'static str) {
    if kind == Kind::Vapp { (vapp::ON, vapp::LIST) } else { (vm::ON, vm::LIST) }
}

/// The buttons: what is posted, and what they say.
const BUTTONS: &[(&str, &str)] =
    &[("power-on", "Power on"), ("shutdown", "Shut down"), ("power-off", "Power off"), ("delete", "Delete…")];

/// The bar below a list, and the form itself: row menus are forms too, so the boxes belong to it by name.
pub(super) fn bar(visit: &Visit, kind: Kind) -> AnyView {
    let action = visit.at(format!("{}/bulk", list(kind).1));
    let give = (kind == Kind::Vapp).then_some(&("give", "Change owner…"));
    let buttons = BUTTONS.iter().chain(give).map(|(value, label)| {
        let class = if *value == "delete" { "btn small danger" } else { "btn small" };
        view! { <button class=class name="do" value=*value>{*label}</button> }
    });
    let buttons = buttons.collect_view();
    view! {
        <form id=FORM method="post" action=action class="bulk acts">
            <span class="muted">"With what is chosen:"</span>
            {buttons}
        </form>
    }
    .into_any()
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
fn button(values: &Values) -> Option<&'static str> {
    let wished = values.get("do");
    ["power-on", "shutdown", "power-off", "delete", "give"].into_iter().find(|b| *b == wished)
}

async fn act(visit: Visit, kind: Kind, values: Values) -> Result<Step> {
    let d = visit.domain();
    let what = button(&values).ok_or_else(|| Error::field("pick", "Choose what to do with them."))?;
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
        _ => Op::Delete,
    };
    Ok(Step::Done(what, bulk::run(d, &visit.actor, kind, &ids, &op).await?))
}

async fn page(visit: Visit, kind: Kind, step: Option<Step>) -> Result<Sheet> {
    let (on, at) = list(kind);
    let fill = visit.fill();
    let back = view! { <a class="btn" href=visit.at(at)>"Back to the list"</a> }.into_any();
    let (title, inside) = match step {
        None => {
            let text = format!(
                "Choose {on} in their list by the boxes before their names, then say what is to be done with them."
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
    match what {
        "power-on" => "Power on",
        "shutdown" => "Shut down",
        "power-off" => "Power off",
        "give" => "Change owner",
        _ => "Delete",
    }
}

/// What they are called; one that can't be seen is called by what was posted.
fn called(id: Uuid, name: &str) -> String {
    if name.is_empty() { id.to_string() } else { name.to_owned() }
}

fn asks(visit: &Visit, kind: Kind, what: &'static str, chosen: &[(Uuid, String)]) -> (String, AnyView) {
    let (_, at) = list(kind);
    let count = match kind {
        Kind::Vapp => plural(chosen.len() as u64, "vApp", "vApps"),
        _ => plural(chosen.len() as u64, "VM", "VMs"),
    };
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
        let lost = names.into_iter().map(|n| format!("{n}, with its disks")).collect();
        let page = view! {
            <ConfirmPage title=title.clone() verb=format!("Delete {count}") keep_href=keep lost>
                {fixed}
            </ConfirmPage>
        };
        return (title, page.into_any());
    }
    let fill = visit.fill();
    let typed = fill.value("owner", "");
    // the second time round
    let error = fill.checked("sure", "on", false).then(|| "Name the user who gets them.".to_owned());
    let fields = view! {
        <TextField
            name="owner"
            label="New owner"
            value=typed
            error
            hint="The name they sign in with: a user of the same organization."
            autocomplete="off"
            width=Width::Half
        />
    };
    let (title, lede) = (format!("Change the owner of {count}"), names.join(", "));
    let page = view! {
        <PageHead title=title.clone() lede />
        <form method="post" class="form" novalidate>
            {fixed}
            <FormSection title="Owner">{fields}</FormSection>
            <FormEnd submit="Change owner" cancel_href=visit.at(at) />
        </form>
    };
    (title, page.into_any())
}

fn results(visit: &Visit, kind: Kind, all: &[Outcome]) -> AnyView {
    let (_, at) = list(kind);
    let rows = all.iter().map(|o| {
        let name = called(o.id, &o.name);
        let to = if o.name.is_empty() { String::new() } else { visit.at(format!("{at}/{}", o.id)) };
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
