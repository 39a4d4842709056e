//! A VDC's storage: the section on its page, and for the provider the form with the policies it may use.
use super::{
    form_error::form_error,
    limits::whole,
    vdc::{ON, crumbs_below, find, find_to, href},
};
use crate::{
    parts::*,
    portal::{Done, Place, Routes, Sheet, Values, Visit},
};
use domain::storage;
use leptos::prelude::*;
use model::{
    Action, Error, PolicyId, Result,
    quota::Measure,
    storage::{VdcPolicy, VdcPolicySpec},
    vdc::Vdc,
};

const LABELS: &[(&str, &str)] = &[("policies", "Policies"), ("default_policy", "Default")];

pub(super) fn routes(r: Routes) -> Routes {
    r.form("/provider/vdcs/{id}/storage", edit_page, edit)
}

pub(super) async fn section(visit: &Visit, v: &Vdc) -> Result<AnyView> {
    let policies = storage::of_vdc(visit.domain(), &visit.actor, v.id).await?;
    let change = (visit.place == Place::Provider && visit.may(Action::VdcStorage))
        .then(|| view! { <a href=href(visit, v.id, "/storage")>"Change"</a> });
    let acts = change.into_any();
    let m = Measure::Storage;
    let rows = policies.iter().map(|p| {
        let (used, limit) = (whole(p.used_mb), p.limit_mb.map(whole));
        let meter = view! { <CellMeter used limit unit=m.unit() per=whole(m.per_unit()) /> };
        let limit = p.limit_mb.map_or_else(|| "none but the VDC's".to_owned(), |l| m.words(l));
        let why = if p.is_default { "taken where nobody says another".to_owned() } else { p.description.clone() };
        let cells = view! {
            <NameCell name=p.name.clone() why />
            <Cell label="Used">{meter}</Cell>
            <Cell label="Limit" number=true>{limit}</Cell>
        };
        view! { <Row id=format!("policy-{}", p.id)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    if policies.is_empty() {
        return Ok(().into_any());
    }
    let heads = vec![Head::new("Storage policy"), Head::new("Used"), Head::new("Limit").number()];
    let table = view! { <Table caption="Storage policies" heads top=true>{rows}</Table> };
    Ok(view! { <Section title="Storage" sub="what its disks may be made of" acts>{table}</Section> }.into_any())
}

fn limit_field(id: PolicyId) -> String {
    format!("limit-{id}")
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VdcStorage).await?;
    let now = storage::of_vdc(visit.domain(), &visit.actor, v.id).await?;
    let all = storage::names(visit.domain(), &visit.actor).await?;
    let fill = visit.fill();
    let known = |id: PolicyId| now.iter().find(|p| p.id == id);
    let is_ticked = |id: PolicyId| fill.checked("policies", &id.to_string(), known(id).is_some());
    let ticked = all.iter().filter(|(id, _)| is_ticked(*id)).map(|(id, _)| id.to_string()).collect();
    let used = |p: &VdcPolicy| format!("{} in use", Measure::Storage.words(p.used_mb));
    let choices: Vec<Choice> = all
        .iter()
        .map(|(id, name)| Choice::new(id.to_string(), name.clone()).more(known(*id).map(used).unwrap_or_default()))
        .collect();
    let limits = all.iter().map(|(id, name)| {
        let stored = known(*id).and_then(|p| p.limit_mb).map(|l| (l / 1024).to_string()).unwrap_or_default();
        let field = limit_field(*id);
        let value = fill.value(&field, stored);
        view! { <NumberField name=field label=name.clone() value unit="GB" optional=true width=Width::Third /> }
    });
    let limits = limits.collect_view();
    let default = now.iter().find(|p| p.is_default).map(|p| p.id.to_string()).unwrap_or_default();
    let value = fill.value("default_policy", default);
    let defaults = all.iter().map(|(id, name)| Choice::new(id.to_string(), name.clone())).collect();
    let (wrong, wrong_default) = (fill.error("policies"), fill.error("default_policy"));
    let which = view! {
        <ChecksField name="policies" label="Policies" choices ticked error=wrong hint="" />
        <SelectField
            name="default_policy"
            label="Default"
            choices=defaults
            value
            error=wrong_default
            hint="Taken where nobody says another."
            width=Width::Half
        />
    };
    let lede = "Empty: no limit but the VDC's own. Those that are not ticked do not count.";
    let body = view! {
        <PageHead title=format!("Storage of {}", v.name) />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <FormSection title="What it may use">{which}</FormSection>
            <FormSection title="Limits" lede>{limits}</FormSection>
            <FormEnd submit="Save" cancel_href=href(&visit, v.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(format!("Storage of {}", v.name), ON, crumbs_below(&visit, &v, "Storage"), body).still())
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VdcStorage).await?;
    let default = values.get("default_policy");
    let mut wanted = Vec::new();
    for word in values.all("policies") {
        let id: PolicyId = word.parse().map_err(|_| Error::field("policies", "Choose from those that are listed."))?;
        let typed = values.get(&limit_field(id)).trim().replace([',', ' '], "");
        let limit_mb = match typed.as_str() {
            "" => None,
            number => Some(number.parse::<i64>().ok().and_then(|n| n.checked_mul(1024)).unwrap_or(-1)),
        };
        wanted.push(VdcPolicySpec { id, limit_mb, is_default: word == default });
    }
    storage::set_for_vdc(visit.domain(), &visit.actor, v.id, wanted).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("The storage of {} is saved.", v.name)))
}
