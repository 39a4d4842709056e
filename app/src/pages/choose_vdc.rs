//! The VDC that something new is made in: the open ones, with what is left of them.
use super::limits::asked_meters;
use crate::{
    parts::*,
    portal::{Place, Values, Visit},
};
use domain::vdc;
use leptos::prelude::*;
use model::{
    Error, Result,
    list::{ListQuery, VDCS},
    quota::{Amount, Measure},
    vdc::Vdc,
};

/// So many can be chosen from.
const MOST: u32 = 500;

/// Those of the place's organization that are enabled; in the provider's portal everybody's.
pub(super) async fn open_vdcs(visit: &Visit) -> Result<Vec<Vdc>> {
    let enabled = vec![("enabled", "true".to_owned())];
    let query = ListQuery { filters: enabled, limit: MOST, ..ListQuery::first(&VDCS) };
    Ok(vdc::list(visit.domain(), &visit.actor, visit.org(), &query).await?.items)
}

/// What stands in the field: typed, in the address, or the only one there is.
fn picked(visit: &Visit, vdcs: &[Vdc]) -> String {
    let start = match (visit.ask.query("vdc"), vdcs) {
        ("", [only]) => only.id.to_string(),
        (asked, _) => asked.to_owned(),
    };
    visit.fill().value("vdc", start)
}

/// The one that is chosen, or the first while none is: what is written as code names one.
pub(super) fn likely_vdc<'a>(visit: &Visit, vdcs: &'a [Vdc]) -> Option<&'a Vdc> {
    let id = picked(visit, vdcs);
    vdcs.iter().find(|v| v.id.to_string() == id).or(vdcs.first())
}

pub(super) fn vdc_field(visit: &Visit, vdcs: &[Vdc]) -> AnyView {
    let mut choices = vec![Choice::new("", "Choose…")];
    choices.extend(vdcs.iter().map(|v| {
        let whose = if visit.place == Place::Provider { format!("{} / ", v.org_name) } else { String::new() };
        Choice::new(v.id.to_string(), format!("{whose}{}{}", v.name, left(v)))
    }));
    let hint = match vdcs.len() {
        n if n >= MOST as usize => format!("The first {MOST} by name. For others open the organization's own portal."),
        _ => String::new(),
    };
    let (value, error) = (picked(visit, vdcs), visit.fill().error("vdc"));
    view! { <SelectField name="vdc" label="VDC" choices value error hint width=Width::Half /> }.into_any()
}

/// ", 3 vCPU and 6 GB left".
fn left(v: &Vdc) -> String {
    let rest = |m: Measure| v.limits.get(m).map(|limit| m.words((limit - v.used.get(m)).max(0)));
    match listed([rest(Measure::Cpus), rest(Measure::Memory)].into_iter().flatten().collect()) {
        Some(rest) => format!(", {rest} left"),
        None => String::new(),
    }
}

pub(super) fn chosen_vdc<'a>(values: &Values, vdcs: &'a [Vdc]) -> Result<&'a Vdc> {
    let id = values.get("vdc");
    vdcs.iter().find(|v| v.id.to_string() == id).ok_or_else(|| Error::field("vdc", "Choose a VDC."))
}

/// What is left of the chosen one, or of all while there are few, and what this would take.
pub(super) fn quota_margin(visit: &Visit, vdcs: &[Vdc], asked: &Amount) -> Option<AnyView> {
    let id = picked(visit, vdcs);
    let chosen: Vec<&Vdc> = vdcs.iter().filter(|v| v.id.to_string() == id).collect();
    let shown = match (chosen.is_empty(), vdcs.len()) {
        (false, _) => chosen,
        (true, 1..=3) => vdcs.iter().collect(),
        _ => return None,
    };
    let sections = shown.into_iter().map(|v| {
        let meters = asked_meters(&v.used, &v.limits, asked);
        let meters = view! { <div class="meters">{meters}</div> };
        view! { <Section title=format!("Quota of {}", v.name)>{meters}</Section> }
    });
    Some(sections.collect_view().into_any())
}

/// Where the form would be while there is no VDC to make it in.
pub(super) fn no_vdc(visit: &Visit) -> AnyView {
    let (_, text) = super::vdc::first_words(visit);
    view! { <Empty title="No VDC is open">{text}</Empty> }.into_any()
}
