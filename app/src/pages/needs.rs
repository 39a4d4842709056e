//! What needs somebody, as the dashboards list it: what failed, and what is nearly used up.
use super::limits::whole;
use crate::{parts::*, portal::Visit};
use leptos::prelude::*;
use model::{
    Action, OrgId,
    hub::{CheckState, Hub, HubState},
    org::Org,
    quota::{Amount, Limits, Measure},
    task::Task,
    vdc::Vdc,
};

pub(super) fn needs_section(needs: Vec<AnyView>) -> impl IntoView {
    let inside = if needs.is_empty() {
        view! { <p class="text-sm text-ink-2">"Nothing waits for you."</p> }.into_any()
    } else {
        view! { <Todos>{needs}</Todos> }.into_any()
    };
    view! { <Section title="Needs you">{inside}</Section> }
}

/// The button of a line, for those who may press it.
fn button(may: bool, href: String, label: &'static str) -> Option<AnyView> {
    may.then(|| view! { <a class="btn small" href=href>{label}</a> }.into_any())
}

pub(super) fn failed_task(visit: &Visit, t: &Task) -> AnyView {
    let mark = view! { <Shape name=Shape::Diamond tone=Tone::Bad /> }.into_any();
    let title = view! { <a href=visit.at(format!("/tasks/{}", t.id))>{t.title()}</a> " failed" }.into_any();
    let (at, now) = (t.started_at, visit.now);
    let acts = Some(view! { <Time at now /> }.into_any());
    let text = if t.message.is_empty() { "No reason was given.".to_owned() } else { t.message.clone() };
    view! { <Todo mark title text acts /> }.into_any()
}

/// A hub that does not answer, lacks something or will not let us in for long, with what to do.
pub(super) fn troubled_hub(visit: &Visit, h: &Hub) -> AnyView {
    let silent = h.state == HubState::Unreachable;
    let ends = h.credential_end(visit.now).map(|end| format!("{end} Give it a newer kubeconfig."));
    let (mark, word) = match h.state {
        HubState::Unreachable => {
            (view! { <Shape name=Shape::Diamond tone=Tone::Bad /> }.into_any(), " does not answer")
        }
        HubState::Degraded => (warn_mark(), " lacks something"),
        HubState::Ready | HubState::Unknown => (warn_mark(), " needs a newer kubeconfig"),
    };
    let title = view! { "Hub "<a href=visit.at(format!("/hubs/{}", h.id))>{h.id.to_string()}</a>{word} }.into_any();
    let failed = h.checks.iter().find(|c| c.state == CheckState::Failed);
    let text = match failed {
        Some(c) if !silent => format!("{} {}", c.detail, c.what_to_do),
        _ => format!("{} {}", h.last_error, h.next_step),
    };
    let text = format!("{} {}", text.trim(), ends.unwrap_or_default());
    let acts = h.seen_at.filter(|_| silent).map(|at| {
        let now = visit.now;
        view! { "seen "<Time at now /> }.into_any()
    });
    view! { <Todo mark title text=text.trim().to_owned() acts /> }.into_any()
}

/// VMs that failed, or that somebody deleted on their hub.
pub(super) fn troubled_vms(visit: &Visit, failed: Option<i64>) -> Option<AnyView> {
    let count = failed.map(whole).filter(|n| *n > 0)?;
    let mark = view! { <Shape name=Shape::Diamond tone=Tone::Bad /> }.into_any();
    let title = format!("{} failed or missing", plural(count, "VM", "VMs")).into_any();
    let text =
        "Each one's page says what happened. What is missing on its hub can only be deleted here, and deployed anew.";
    let acts = button(true, visit.at("/vms?state=failed"), "Show them");
    Some(view! { <Todo mark title text acts /> }.into_any())
}

/// The failures that are not shown one by one.
pub(super) fn more_failed(visit: &Visit, failed: Option<i64>, shown: usize) -> Option<AnyView> {
    let rest = whole(failed?).checked_sub(shown as u64).filter(|n| *n > 0)?;
    let mark = view! { <Shape name=Shape::Diamond tone=Tone::Bad /> }.into_any();
    let title = format!("{} failed in the last 24 hours", plural(rest, "more task", "more tasks")).into_any();
    let acts = button(true, visit.at("/tasks?status=error&since=day"), "All failed");
    Some(view! { <Todo mark title acts /> }.into_any())
}

/// "29 of 32 vCPU and 106 of 112 GB of memory", of what is nearly used up.
fn nearly_used(used: &Amount, limits: &Limits) -> Option<String> {
    let said: Vec<String> = limits
        .nearly_used(used)
        .filter_map(|m| {
            let end = match m {
                Measure::Vms | Measure::Cpus => String::new(),
                Measure::Memory | Measure::Storage => format!(" of {}", m.label().to_lowercase()),
            };
            Some(format!("{} of {}{end}", m.number(used.get(m)), m.words(limits.get(m)?)))
        })
        .collect();
    listed(said)
}

fn how_full(used: &Amount, limits: &Limits) -> &'static str {
    let full = |m: Measure| limits.get(m).is_some_and(|limit| used.get(m) >= limit);
    if limits.nearly_used(used).any(full) { " is full" } else { " is nearly full" }
}

fn warn_mark() -> AnyView {
    view! { <Shape name=Shape::Triangle tone=Tone::Warn /> }.into_any()
}

pub(super) fn full_vdc(visit: &Visit, v: &Vdc) -> Option<AnyView> {
    let text = nearly_used(&v.used, &v.limits)?;
    let href = visit.at(format!("/vdcs/{}", v.id));
    let title = view! { <a href=href>{v.name.clone()}</a> {how_full(&v.used, &v.limits)} }.into_any();
    let may = visit.may(Action::VdcEdit);
    let what =
        if may { "Free some, or raise the limit." } else { "Free some, or have the limit raised by an administrator." };
    let acts = button(may, visit.at(format!("/vdcs/{}/edit", v.id)), "Change limits");
    Some(view! { <Todo mark=warn_mark() title text=format!("{text} used. {what}") acts /> }.into_any())
}

pub(super) fn full_own_org(visit: &Visit, org: &Org) -> Option<AnyView> {
    let text = nearly_used(&org.used, &org.limits)?;
    let title = view! { <a href=visit.at("/organization")>{org.name.clone()}</a> {how_full(&org.used, &org.limits)} }
        .into_any();
    let text = format!("{text} used by all its VDCs. Free some, or have the provider raise the limit.");
    Some(view! { <Todo mark=warn_mark() title text /> }.into_any())
}

pub(super) fn full_org(visit: &Visit, org: &Org) -> AnyView {
    let href = visit.at(format!("/organizations/{}", org.id));
    let title = view! { <a href=href.clone()>{org.name.clone()}</a> {how_full(&org.used, &org.limits)} }.into_any();
    let text = nearly_used(&org.used, &org.limits).unwrap_or_default();
    let text = format!("{text} used. What does not fit is refused; raise the limit, or leave it to them to free some.");
    let acts = button(visit.may(Action::OrgEditLimits), format!("{href}/edit"), "Change limits");
    view! { <Todo mark=warn_mark() title text acts /> }.into_any()
}

/// Only the provider gets to see this: nobody else can sign in.
pub(super) fn disabled(visit: &Visit, id: OrgId, name: &str) -> AnyView {
    let mark = view! { <Shape name=Shape::Ring /> }.into_any();
    let title = format!("{name} is disabled").into_any();
    let acts = button(visit.may(Action::OrgEnable), format!("/provider/organizations/{id}"), "Open it");
    view! { <Todo mark title text="Nobody of it can sign in; what runs goes on." acts /> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_nearly_used_is_named() {
        let limits = Limits { cpus: Some(32), memory_mb: Some(112 * 1024), storage_mb: None, vms: Some(10) };
        let used = Amount { cpus: 29, memory_mb: 106 * 1024, storage_mb: 5, vms: 3 };
        assert_eq!(nearly_used(&used, &limits).as_deref(), Some("29 of 32 vCPU and 106 of 112 GB of memory"));
        assert_eq!(nearly_used(&Amount::default(), &limits), None);
    }
}
