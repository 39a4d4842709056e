//! Leases of vApps and templates: what their pages say of them, renewing one, and the form with its lengths.
use super::{
    form_error::form_error,
    template,
    vapp::{ON, crumbs_below, find, find_to, href},
};
use crate::{
    parts::*,
    portal::{Done, Fill, Routes, Sheet, Values, Visit, with_problems},
};
use domain::{lease, org};
use leptos::prelude::*;
use model::{
    Action, Problems, Result, can,
    lease::{Lease, LeaseSpec, Near, read, words},
    template::Template,
    vapp::Vapp,
};

const LABELS: &[(&str, &str)] = &[("runtime_lease", "Run at most"), ("storage_lease", "Keep stopped")];

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/vapps/{id}/lease", form_page, set)
        .both_act("/vapps/{id}/lease/renew", renew)
        .both_act("/templates/{id}/lease/renew", renew_template)
}

/// A length as typed; empty: no end.
pub(super) fn read_length(values: &Values, field: &'static str, problems: &mut Problems) -> Option<i64> {
    let typed = values.get(field).trim();
    if typed.is_empty() {
        return None;
    }
    let length = read(typed);
    if length.is_none() {
        problems.add(field, "A number with days, hours, minutes or seconds, such as 7 days; or empty.");
    }
    length
}

pub(super) fn length_field(
    fill: &Fill,
    name: &'static str,
    label: &'static str,
    stored: Option<i64>,
    hint: String,
) -> impl IntoView + use<> {
    let value = fill.value(name, stored.map(words).unwrap_or_default());
    let error = fill.error(name);
    view! { <TextField name label value error hint optional=true autocomplete="off" width=Width::Third /> }
}

fn may(visit: &Visit, v: &Vapp) -> bool {
    visit.actor.may(Action::VappLease, v.resource(&visit.actor)) && can::vapp(v, Action::VappLease).is_ok()
}

fn renew_button(action: String) -> AnyView {
    view! {
        <form method="post" action=action>
            <button class="btn small" type="submit">"Renew"</button>
        </form>
    }
    .into_any()
}

/// On the vApp's page while its end is near, or has come.
pub(super) fn note(visit: &Visit, v: &Vapp) -> Option<AnyView> {
    let lease = v.lease;
    let acts = may(visit, v).then(|| renew_button(href(visit, v.id, "/lease/renew"))).into_any();
    if lease.expired() {
        let text = " Nothing in it can be powered on. Renew it, or delete what is not needed any more.";
        return Some(view! { <Note tone=Tone::Warn acts><b>"Its lease has ended."</b> {text}</Note> }.into_any());
    }
    let (at, now) = (lease.ends_at.filter(|_| lease.warned_at.is_some())?, visit.now);
    let what = if lease.running { "Its run-time lease ends " } else { "Its storage lease ends " };
    Some(view! { <Note tone=Tone::Warn acts><b>{what} <Time at now /> "."</b></Note> }.into_any())
}

/// In the margin: until when.
pub(super) fn facts(visit: &Visit, v: &Vapp) -> impl IntoView + use<> {
    let name = if v.lease.running { "Runs until" } else { "Kept until" };
    let end = end_words(visit, &v.lease);
    let change = may(visit, v).then(|| view! { " " <a href=href(visit, v.id, "/lease")>"Change"</a> });
    view! { <Fact name>{end} {change}</Fact> }
}

fn end_words(visit: &Visit, lease: &Lease) -> AnyView {
    match lease.ends_at {
        _ if lease.expired() => "expired".into_any(),
        None => "no end".into_any(),
        Some(at) => {
            let now = visit.now;
            view! { <Time at now /> }.into_any()
        }
    }
}

/// The same of a template.
pub(super) async fn template_facts(visit: &Visit, t: &Template) -> Result<Option<AnyView>> {
    let Some(lease) = lease::of_template(visit.domain(), &visit.actor, t.id).await? else { return Ok(None) };
    let end = end_words(visit, &lease);
    let here = visit.org().is_none_or(|here| here == t.org);
    let renews = here
        && lease.ends_at.is_some()
        && visit.actor.may(Action::TemplateLease, t.resource(&visit.actor, Action::TemplateLease));
    let renew = renews.then(|| renew_button(template::href(visit, t, "/lease/renew")));
    Ok(Some(view! { <Fact name="Kept until">{end} {renew}</Fact> }.into_any()))
}

/// A line of the dashboard.
pub(super) fn need(visit: &Visit, n: &Near) -> AnyView {
    let mark = view! { <Shape name=Shape::Triangle tone=Tone::Warn /> }.into_any();
    let to = visit.at(format!("/vapps/{}", n.vapp));
    let (name, now) = (n.name.clone(), visit.now);
    let title = match n.lease.ends_at.filter(|_| !n.lease.expired()) {
        Some(at) => view! { "The lease of "<a href=to>{name}</a>" ends "<Time at now /> }.into_any(),
        None => view! { "The lease of "<a href=to>{name}</a>" has ended" }.into_any(),
    };
    let text = match (n.lease.expired(), n.lease.running) {
        (true, _) => "It is marked as expired. Renew it, or delete it.",
        (false, true) => "Its VMs are stopped then. Renew it if they are still needed.",
        (false, false) => "It is not kept for longer. Renew it if it is still needed.",
    };
    let acts = Some(renew_button(visit.at(format!("/vapps/{}/lease/renew", n.vapp))));
    view! { <Todo mark title text acts /> }.into_any()
}

async fn form_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VappLease).await?;
    let fill = visit.fill();
    let policy = org::get(visit.domain(), &visit.actor, v.org).await.ok().map(|o| o.leases);
    let most = |of: Option<i64>| of.map(|s| format!("At most {}.", words(s))).unwrap_or_default();
    let (run, keep) = policy.map(|p| (most(p.runtime_s), most(p.storage_s))).unwrap_or_default();
    let run = length_field(&fill, "runtime_lease", "Run at most", v.lease.runtime_s, run);
    let keep = length_field(&fill, "storage_lease", "Keep stopped", v.lease.storage_s, keep);
    let then = policy.map(|p| {
        let (run, keep) = (p.runtime_end.label(), p.storage_end.label());
        format!("At the end of the first the organization says to {run}, at the end of the second to {keep}.")
    });
    let lede = format!(
        "Such as 7 days or 12 hours; empty means no end. What counts now begins anew. {}",
        then.unwrap_or_default()
    );
    let title = format!("Lease of {}", v.name);
    let body = view! {
        <PageHead title=title.clone() />
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <FormSection title="Lease" lede=lede.trim().to_owned()>{run} {keep}</FormSection>
            <FormEnd submit="Save" cancel_href=href(&visit, v.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(title, ON, crumbs_below(&visit, &v, "Lease"), body).still())
}

async fn set(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VappLease).await?;
    let mut problems = Problems::default();
    let spec = LeaseSpec {
        runtime_s: read_length(&values, "runtime_lease", &mut problems),
        storage_s: read_length(&values, "storage_lease", &mut problems),
    };
    let spec = with_problems(problems, Ok(spec))?;
    lease::set(visit.domain(), &visit.actor, v.id, spec).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("The lease of {} is saved.", v.name)))
}

async fn renew(visit: Visit, _: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VappLease).await?;
    lease::renew(visit.domain(), &visit.actor, v.id).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("The lease of {} is renewed.", v.name)))
}

async fn renew_template(visit: Visit, _: Values) -> Result<Done> {
    let action = Action::TemplateLease;
    let t = visit.domain().attempt(&visit.actor, action, template::find_to(&visit, action)).await?;
    lease::renew_template(visit.domain(), &visit.actor, t.id).await?;
    Ok(Done::new(template::href(&visit, &t, ""), format!("The lease of {} is renewed.", t.name)))
}
