//! In which order the VMs of a vApp start, and how long each lets the next ones wait.
use super::{
    form_error::form_error,
    vapp::{ON, crumbs_below, find, find_to, href},
};
use crate::{
    parts::*,
    portal::{Done, Fill, Routes, Sheet, Values, Visit, with_problems},
};
use domain::{
    recompose::{self, Place},
    vapp,
};
use leptos::prelude::*;
use model::{Action, Problems, Result, VmId, vm::Vm};

const LABELS: &[(&str, &str)] = &[("start_order", "Order"), ("start_delay", "Wait")];

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/vapps/{id}/start-order", page, set)
}

/// On the vApp's page: its place, and how long those after it wait.
pub(super) fn words(vm: &Vm) -> String {
    match vm.start_delay_s {
        0 => vm.start_order.to_string(),
        wait => format!("{}, then {wait} s", vm.start_order),
    }
}

fn key(field: &str, vm: VmId) -> String {
    format!("{field}-{vm}")
}

async fn page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VappStartOrder).await?;
    let (_, vms) = vapp::with_vms(visit.domain(), &visit.actor, v.id).await?;
    let fill = visit.fill();
    let rows = vms.iter().filter(|m| !m.deleted).enumerate().map(|(i, m)| fields(&fill, m, i == 0)).collect_view();
    let lede = "VMs with a smaller number start before those with a larger one, and those with the same number together. \
                A VM starts when all before it run, and have run for as long as they let it wait.";
    let title = format!("Starting order of {}", v.name);
    let body = view! {
        <PageHead title=title.clone() lede />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            {rows}
            <FormEnd submit="Save" cancel_href=href(&visit, v.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(title, ON, crumbs_below(&visit, &v, "Starting order"), body).still())
}

/// `first`: the summary of errors leads to it.
fn fields(fill: &Fill, m: &Vm, first: bool) -> impl IntoView + use<> {
    let said =
        |field: &str| fill.errors(field).find_map(|e| e.strip_prefix(&format!("{}: ", m.name))).map(str::to_owned);
    let id = |field: &str| if first { field.to_owned() } else { key(field, m.id) };
    let (order, wait) = (key("order", m.id), key("wait", m.id));
    let inside = view! {
        <NumberField
            id=id("start_order")
            name=order.clone()
            label="Order"
            value=fill.value(&order, m.start_order.to_string())
            error=said("start_order")
            width=Width::Third
        />
        <NumberField
            id=id("start_delay")
            name=wait.clone()
            label="Those after it wait"
            value=fill.value(&wait, m.start_delay_s.to_string())
            unit="s"
            error=said("start_delay")
            width=Width::Third
        />
    };
    view! { <FormSection title=m.name.clone()>{inside}</FormSection> }
}

async fn set(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VappStartOrder).await?;
    let (_, vms) = vapp::with_vms(visit.domain(), &visit.actor, v.id).await?;
    let mut problems = Problems::default();
    let mut order = Vec::new();
    for m in vms.iter().filter(|m| !m.deleted && values.has(&key("order", m.id))) {
        let mut read = |key: String, field, most: i32, words: &str| {
            let typed = values.get(&key).trim();
            let number = if typed.is_empty() { Some(0) } else { typed.parse().ok() };
            let number = number.filter(|n| (0..=most).contains(n));
            if number.is_none() {
                problems.add(field, format!("{}: {words}", m.name));
            }
            number.unwrap_or(0)
        };
        let place = read(key("order", m.id), "start_order", 1000, "A number from 0 to 1000.");
        let wait = read(key("wait", m.id), "start_delay", 3600, "From 0 to 3600 seconds.");
        order.push(Place { vm: m.id, order: place, delay_s: wait, turn: None });
    }
    let order = with_problems(problems, Ok(order))?;
    recompose::set_start_order(visit.domain(), &visit.actor, v.id, order).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("The starting order of {} is saved.", v.name)))
}
