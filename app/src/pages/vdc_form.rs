//! The forms to make a VDC and to change one.
use super::{
    choose_org::{choose_org, chosen_org},
    form_error::form_error,
    limits::hinted_limit_fields,
    vdc::{LIST, ON, crumbs, crumbs_below, find, find_to, href},
    wishes,
};
use crate::{
    code,
    parts::*,
    portal::{Done, Fill, Place, Sheet, Values, Visit, with_problems},
};
use domain::{storage, vdc};
use leptos::prelude::*;
use model::{
    Action, Problems, Result,
    decide::Resource,
    list::{ListQuery, POLICIES},
    org::Org,
    quota::Measure,
    vdc::{AllocationModel, Vdc, VdcSpec},
};

const LABELS: &[(&str, &str)] = &[
    ("name", "Name"),
    ("description", "Description"),
    ("allocation_model", "Allocation model"),
    ("vm_limit", "VMs"),
    ("cpu_limit", "CPU"),
    ("memory_limit", "Memory"),
    ("storage_limit", "Storage"),
    ("hubs", "Hubs"),
    ("region", "Region"),
    ("zone", "Zone"),
];

pub(super) async fn new_page(visit: Visit) -> Result<Sheet> {
    visit.authorize(Action::VdcCreate)?;
    let Some(org) = chosen_org(&visit)? else { return choose_org(&visit, "New VDC", ON, LIST, true).await };
    let org = visit.domain().store.org(&visit.actor, Action::VdcCreate, org).await?;
    let fill = visit.fill();
    // a form that came back says it itself, and keeps what was typed
    let full = org.vdc_limit.filter(|limit| org.vdcs >= *limit && !fill.returned()).map(|limit| {
        let who =
            if visit.may(Action::OrgEditLimits) { "Raise its limit" } else { "Have the provider raise the limit" };
        let text = format!("Not now: {} has {} of {limit} VDCs. {who}, or delete a VDC.", org.name, org.vdcs);
        view! { <Note tone=Tone::Warn>{text}</Note> }
    });
    let whose = match &visit.place {
        Place::Provider => format!("For {}.", org.name),
        Place::Tenant { .. } => String::new(),
    };
    let sites = visit.domain().store.sites().await?;
    let form = full.is_none().then(|| {
        view! {
            <form method="post" class="form" novalidate>
                {form_error(&fill, LABELS)}
                <input type="hidden" name="org" value=org.id.to_string() />
                {fields(&fill, &VdcSpec::default(), &org, None)}
                {wishes::vdc_section(&visit, &fill, &VdcSpec::default(), &sites)}
                <FormEnd submit="Create VDC" cancel_href=visit.at(LIST) />
            </form>
        }
    });
    let body = view! {
        <PageHead title="New VDC" lede=whose />
        {full}
        {form}
    }
    .into_any();
    let code = code::vdc::create(
        &visit.site(),
        (org.id, &org.name),
        &wished(&visit, &fill.typed()),
        &first_policy(&visit).await?,
    );
    Ok(Sheet::new("New VDC", ON, crumbs(&visit, "New"), body).still().code(code))
}

/// What was typed so far, whatever is wrong with it.
fn wished(visit: &Visit, typed: &Values) -> VdcSpec {
    VdcSpec {
        name: typed.text("name"),
        description: typed.text("description"),
        allocation_model: AllocationModel::parse(typed.get("allocation_model")).unwrap_or_default(),
        limits: typed.limits(&mut Problems::default()),
        ..wishes::read_vdc(visit, typed, VdcSpec::default())
    }
}

/// The storage policy that new VDCs begin with, for those who know of policies.
async fn first_policy(visit: &Visit) -> Result<String> {
    if !visit.actor.may(Action::PolicyList, Resource::Installation) {
        return Ok(String::new());
    }
    let query = ListQuery { limit: 1000, ..ListQuery::first(&POLICIES) };
    let all = storage::list(visit.domain(), &visit.actor, &query).await?.items;
    Ok(all.into_iter().find(|p| p.is_default).map(|p| p.name).unwrap_or_default())
}

/// `now`: the VDC that is edited.
fn fields(fill: &Fill, spec: &VdcSpec, org: &Org, now: Option<&Vdc>) -> impl IntoView + use<> {
    let hint = if now.is_some() {
        "Unique in its organization. Machines in it stay where they are."
    } else {
        "Unique in its organization: letters, digits, dots, hyphens."
    };
    let name = view! {
        <TextField
            name="name"
            label="Name"
            value=fill.value("name", &spec.name)
            error=fill.error("name")
            hint
            autocomplete="off"
            width=Width::Half
        />
        <TextArea
            name="description"
            label="Description"
            value=fill.value("description", &spec.description)
            error=fill.error("description")
            optional=true
        />
    };
    let choices =
        AllocationModel::ALL.into_iter().map(|m| Choice::new(m.key(), m.label()).more(m.hint())).collect::<Vec<_>>();
    let model = view! {
        <RadioField
            name="allocation_model"
            label="Model"
            choices
            value=fill.value("allocation_model", spec.allocation_model.key())
            error=fill.error("allocation_model")
        />
    };
    let limits = hinted_limit_fields(fill, &spec.limits, |m| limit_hint(m, org, now));
    view! {
        <FormSection title="VDC">{name}</FormSection>
        <FormSection title="Allocation" lede="How much of the limits is kept free for it.">{model}</FormSection>
        <FormSection title="Limits" lede="What its machines may use together. Empty means no limit of its own.">
            {limits}
        </FormSection>
    }
}

/// What else bounds a limit: the organization's own, and what is in use already.
fn limit_hint(m: Measure, org: &Org, now: Option<&Vdc>) -> String {
    let whole = org.limits.get(m).map(|all| format!("{} may have {} in all.", org.name, m.words(all)));
    let used = now.map(|v| v.used.get(m)).filter(|used| *used > 0).map(|used| format!("{} in use.", m.words(used)));
    [whole, used].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What is wrong with it is said at once: what can't be read, and what does not fit.
/// `kept`: what the form has no fields for.
fn read_spec(visit: &Visit, values: &Values, org: &Org, kept: VdcSpec) -> Result<VdcSpec> {
    let mut problems = Problems::default();
    let model = AllocationModel::parse(values.get("allocation_model"));
    if model.is_none() {
        problems.add("allocation_model", "Choose how much is kept free for it.");
    }
    let spec = VdcSpec {
        name: values.text("name"),
        description: values.text("description"),
        allocation_model: model.unwrap_or_default(),
        limits: values.limits(&mut problems),
        ..wishes::read_vdc(visit, values, kept)
    };
    with_problems(problems, spec.check(&org.limits, &org.name))
}

pub(super) async fn create(visit: Visit, values: Values) -> Result<Done> {
    let (d, action) = (visit.domain(), Action::VdcCreate);
    let org = visit.org_for_new(&values)?;
    let org = d.attempt(&visit.actor, action, d.store.org(&visit.actor, action, org)).await?;
    let made = vdc::create(d, &visit.actor, org.id, read_spec(&visit, &values, &org, VdcSpec::default())?).await?;
    Ok(Done::new(href(&visit, made.id, ""), format!("VDC {} is made.", made.name)))
}

pub(super) async fn edit_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VdcEdit).await?;
    let org = visit.domain().store.org(&visit.actor, Action::VdcEdit, v.org).await?;
    let (fill, spec) = (visit.fill(), VdcSpec::from(&v));
    let sites = visit.domain().store.sites().await?;
    let body = view! {
        <PageHead title=format!("Edit {}", v.name) />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(v.version) />
            {fields(&fill, &spec, &org, Some(&v))}
            {wishes::vdc_section(&visit, &fill, &spec, &sites)}
            <FormEnd submit="Save" cancel_href=href(&visit, v.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(format!("Edit {}", v.name), ON, crumbs_below(&visit, &v, "Edit"), body).still())
}

pub(super) async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VdcEdit).await?;
    let (id, org) = (v.id, visit.domain().store.org(&visit.actor, Action::VdcEdit, v.org).await?);
    let spec = read_spec(&visit, &values, &org, VdcSpec::from(&v))?;
    let saved = vdc::edit(visit.domain(), &visit.actor, id, values.version()?, spec).await?;
    Ok(Done::new(href(&visit, id, ""), format!("VDC {} is saved.", saved.name)))
}
