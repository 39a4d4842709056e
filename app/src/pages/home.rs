//! The first page of each portal, and the way to it from `/`. It shows what is true now, and what to do next.
use super::{
    lease,
    limits::{cell_meter, meters, whole},
    needs::{
        disabled, failed_task, full_org, full_own_org, full_vdc, more_failed, needs_section, troubled_hub, troubled_vms,
    },
    recent_tasks::task_table,
};
use crate::{
    parts::*,
    portal::{Place, Routes, Sheet, Visit},
    shell::Crumb,
};
use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
    response::IntoResponse,
    routing::get,
};
use domain::overview::{self, InstallationOverview, OrgOverview};
use leptos::prelude::*;
use model::{Action, Result, org::Org, quota::Measure, task::Task};

pub fn routes(r: Routes) -> Routes {
    r.route(Method::GET, "/", get(to_home)).page("/provider", provider_page).page("/tenant/{org}", tenant_page)
}

async fn to_home(req: Request<Body>) -> impl IntoResponse {
    let visitor = req.extensions().get::<crate::portal::Visitor>();
    let to = visitor.and_then(|v| v.actor.as_ref()).map_or_else(|| "/sign-in".to_owned(), |a| Place::home(a).base());
    (StatusCode::SEE_OTHER, [(header::LOCATION, to)])
}

fn sheet(title: impl Into<String>, body: AnyView) -> Sheet {
    Sheet::new(title, "Home", vec![Crumb::here("Home")], body)
}

async fn provider_page(visit: Visit) -> Result<Sheet> {
    let o = overview::of_installation(visit.domain(), &visit.actor).await?;
    let c = o.counts;
    let what = [
        amount(c.orgs, "organization", "organizations"),
        amount(c.vdcs, "VDC", "VDCs"),
        amount(c.vms, "VM", "VMs"),
        amount(c.users, "user", "users"),
    ];
    let lede = said(what.into_iter().flatten().collect(), c.failed, false);
    // the provider's own is always there
    let first_day = c.orgs == Some(1);
    let acts = (!first_day && visit.may(Action::OrgCreate))
        .then(|| view! { <a class="btn" href=visit.at("/organizations/new")><Icon name=Icon::Plus />"New organization"</a> })
        .into_any();
    let begin = first_day.then(|| {
        let acts = visit
            .may(Action::OrgCreate)
            .then(|| view! { <a class="btn primary" href=visit.at("/organizations/new")><Icon name=Icon::Plus />"New organization"</a> })
            .into_any();
        view! {
            <Empty title="Create the first organization" acts>
                "An organization is a tenant: its own users, roles and VDCs, apart from all others. Its first administrator \
                 is made together with it and can do the rest."
            </Empty>
        }
    });
    let mut needs: Vec<AnyView> = o.troubled.iter().map(|h| troubled_hub(&visit, h)).collect();
    needs.extend(o.failed.iter().map(|t| failed_task(&visit, t)));
    needs.extend(more_failed(&visit, c.need_somebody, o.failed.len()));
    needs.extend(o.full.iter().map(|org| full_org(&visit, org)));
    let body = view! {
        <PageHead title="Provider" lede acts />
        {begin}
        {needs_section(needs)}
        {numbers(&visit, &o)}
        {newest(&visit, &o.newest)}
        {recent(&visit, &o.recent, true)}
    };
    Ok(sheet("Provider", body.into_any()))
}

fn numbers(visit: &Visit, o: &InstallationOverview) -> Option<impl IntoView + use<>> {
    let c = o.counts;
    let number = |n: Option<i64>, one: &str, many: &str, rest: &str, shape: Option<(Shape, Tone)>| {
        let (n, href) = (whole(n?), visit.at(rest));
        let (shape, tone) = shape.map_or((None, Tone::Plain), |(s, t)| (Some(s), t));
        let label = if n == 1 { one } else { many }.to_owned();
        Some(match shape {
            Some(shape) => view! { <BigNumber number=num(n) label href shape tone /> }.into_any(),
            None => view! { <BigNumber number=num(n) label href /> }.into_any(),
        })
    };
    let some = |n: Option<i64>| n.filter(|n| *n > 0);
    let off = Some((Shape::Ring, Tone::Plain));
    let bad = Some((Shape::Diamond, Tone::Bad));
    let barred = some(c.refused).map(|_| (Shape::Barred, Tone::Warn));
    let all = [
        number(c.orgs, "organization", "organizations", "/organizations", None),
        number(some(c.disabled_orgs), "disabled", "disabled", "/organizations?enabled=false", off),
        number(c.vdcs, "VDC", "VDCs", "/vdcs", None),
        number(c.vms, "VM", "VMs", "/vms", None),
        number(some(c.failed_vms), "failed VM", "failed VMs", "/vms?state=failed", bad),
        number(o.hubs.map(|n| n as i64), "hub", "hubs", "/hubs", None),
        number(c.users, "user", "users", "/users", None),
        number(some(c.failed), "failed task", "failed tasks", "/tasks?status=error&since=day", bad),
        number(
            c.refused,
            "refused sign-in",
            "refused sign-ins",
            "/audit?kind=session&result=refused&since=day",
            barred,
        ),
    ];
    let all: Vec<AnyView> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| {
        let all = view! { <BigNumbers>{all}</BigNumbers> };
        view! { <Section title="Now" sub="tasks and sign-ins of the last 24 hours">{all}</Section> }
    })
}

fn newest(visit: &Visit, orgs: &[Org]) -> Option<impl IntoView + use<>> {
    let rows = orgs
        .iter()
        .map(|o| {
            let (vdcs, users, at, now) = (num(whole(o.vdcs)), num(whole(o.users)), o.created_at, visit.now);
            let href = visit.at(format!("/organizations/{}", o.id));
            let why = if o.display_name == o.name { String::new() } else { o.display_name.clone() };
            let state = if o.enabled {
                view! { <Badge shape=Shape::Disc tone=Tone::Ok word="Enabled" /> }
            } else {
                view! { <Badge shape=Shape::Ring word="Disabled" /> }
            };
            let cells = view! {
                <NameCell name=o.name.clone() href why />
                <StateCell>{state}</StateCell>
                <Cell label="VDCs" number=true>{vdcs}</Cell>
                <Cell label="Users" number=true>{users}</Cell>
                <Cell label="Created" number=true><Time at now /></Cell>
            };
            view! { <Row id=format!("org-{}", o.id)>{cells}</Row> }
        })
        .collect_view();
    let heads = vec![
        Head::new("Name"),
        Head::new("State"),
        Head::new("VDCs").number(),
        Head::new("Users").number(),
        Head::new("Created").number(),
    ];
    (!orgs.is_empty()).then(|| {
        let table = view! { <Table caption="Newest organizations" heads>{rows}</Table> };
        let acts = view! { <a href=visit.at("/organizations")>"All organizations"</a> }.into_any();
        view! { <Section title="Newest organizations" acts>{table}</Section> }
    })
}

async fn tenant_page(visit: Visit) -> Result<Sheet> {
    let Place::Tenant { id, name, display_name } = visit.place.clone() else { return provider_page(visit).await };
    let o = overview::of_org(visit.domain(), &visit.actor, id).await?;
    let c = o.counts;
    let sub = if display_name == name { String::new() } else { name.clone() };
    if c.vdcs.is_none() && c.users.is_none() {
        return Ok(sheet(display_name.clone(), few_rights(&visit, &o, display_name, sub)));
    }
    let running = c.running_vms.filter(|_| c.vms != Some(0)).map(|n| format!("{} running", num(whole(n))));
    let vms = amount(c.vms, "VM", "VMs").map(|vms| running.map_or_else(|| vms.clone(), |r| format!("{vms} ({r})")));
    let what = [amount(c.vdcs, "VDC", "VDCs"), vms, amount(c.users, "user", "users")];
    let lede = said(what.into_iter().flatten().collect(), c.failed, o.own);
    let mut needs: Vec<AnyView> = Vec::new();
    needs.extend(o.org.iter().filter(|org| !org.enabled).map(|_| disabled(&visit, id, &name)));
    needs.extend(o.failed.iter().map(|t| failed_task(&visit, t)));
    needs.extend(more_failed(&visit, c.need_somebody, o.failed.len()));
    needs.extend(troubled_vms(&visit, c.failed_vms));
    needs.extend(o.leases.iter().map(|n| lease::need(&visit, n)));
    needs.extend(o.org.iter().filter_map(|org| full_own_org(&visit, org)));
    needs.extend(o.vdcs.iter().filter_map(|v| full_vdc(&visit, v)));
    let first_day = c.vdcs == Some(0);
    let quiet = needs.is_empty() && first_day;
    let body = view! {
        <PageHead title=display_name.clone() sub lede />
        {first_day.then(|| first_steps(&visit, &o))}
        {(!quiet).then(|| needs_section(needs))}
        {quota_by_vdc(&visit, &o)}
        {recent(&visit, &o.recent, false)}
    };
    let sheet = sheet(display_name, body.into_any());
    Ok(match o.org {
        Some(org) => sheet.margin(org_quota(&visit, &org)),
        None => sheet,
    })
}

/// In the margin: what the organization has used of what it may have.
fn org_quota(visit: &Visit, org: &Org) -> AnyView {
    let vdcs = (whole(org.vdcs), org.vdc_limit.map(whole));
    let vdcs = view! { <Meter label="VDCs" used=vdcs.0 limit=vdcs.1 /> };
    let all = meters(&org.used, &org.limits);
    let inside = view! { <div class="meters">{vdcs} {all}</div> };
    let acts = view! { <a href=visit.at("/organization")>"About it"</a> }.into_any();
    view! { <Section title="The organization" acts>{inside}</Section> }.into_any()
}

fn quota_by_vdc(visit: &Visit, o: &OrgOverview) -> Option<impl IntoView + use<>> {
    let rows = o
        .vdcs
        .iter()
        .map(|v| {
            let used = plural(whole(v.used.vms), "VM", "VMs");
            let vms = v.limits.vms.map_or_else(|| used.clone(), |l| format!("{used} of {}", Measure::Vms.number(l)));
            let why = if v.enabled { vms } else { format!("{vms} · disabled") };
            let bars = [Measure::Cpus, Measure::Memory, Measure::Storage]
                .map(|m| {
                    let meter = cell_meter(m, &v.used, &v.limits);
                    view! { <Cell label=m.label()>{meter}</Cell> }
                })
                .collect_view();
            let cells = view! { <NameCell name=v.name.clone() href=visit.at(format!("/vdcs/{}", v.id)) why /> {bars} };
            view! { <Row id=format!("vdc-{}", v.id)>{cells}</Row> }
        })
        .collect_view();
    (!o.vdcs.is_empty()).then(|| {
        let heads = ["VDC", "CPU", "Memory", "Storage"].map(Head::new).to_vec();
        let table = view! { <Table caption="Quota by VDC" heads top=true>{rows}</Table> };
        let all = whole(o.counts.vdcs.unwrap_or(0));
        let sub = if all > o.vdcs.len() as u64 {
            format!("the fullest {} of {}", o.vdcs.len(), num(all))
        } else {
            String::new()
        };
        let acts = view! { <a href=visit.at("/vdcs")>"All VDCs"</a> }.into_any();
        view! { <Section title="Quota by VDC" sub acts>{table}</Section> }
    })
}

/// Before there is a VDC.
fn first_steps(visit: &Visit, o: &OrgOverview) -> impl IntoView + use<> {
    let (title, text) = super::vdc::first_words(visit);
    let acts = visit
        .may(Action::VdcCreate)
        .then(|| view! { <a class="btn primary" href=visit.at("/vdcs/new")><Icon name=Icon::Plus />"New VDC"</a> })
        .into_any();
    let users = visit.may(Action::UserCreate).then(|| {
        let acts = view! { <a class="btn small" href=visit.at("/users/new")>"New user"</a> }.into_any();
        let text = match o.counts.users {
            Some(1) => "So far there is one user. Everybody gets a role, which says what they may do.",
            _ => "Everybody gets a role, which says what they may do.",
        };
        step(Icon::Users, "Make users", text, acts)
    });
    let roles = visit.may(Action::RoleCreate).then(|| {
        let acts = view! { <a class="btn small" href=visit.at("/roles")>"Roles"</a> }.into_any();
        step(
            Icon::Key,
            "Look at the roles",
            "Seven are there from the beginning. Others can be made from rights.",
            acts,
        )
    });
    let org = visit.may(Action::OrgView).then(|| {
        let acts = view! { <a class="btn small" href=visit.at("/organization")>"Organization"</a> }.into_any();
        step(Icon::Chart, "See what you may use", "The limits are the provider's; VDCs share them out.", acts)
    });
    let steps: Vec<AnyView> = [users, roles, org].into_iter().flatten().collect();
    let others = (!steps.is_empty()).then(|| {
        let steps = view! { <Todos>{steps}</Todos> };
        view! { <Section title="Or begin elsewhere">{steps}</Section> }
    });
    view! {
        <Empty title acts>{text}</Empty>
        {others}
    }
}

fn step(icon: Icon, title: &'static str, text: &'static str, acts: AnyView) -> AnyView {
    let mark = view! { <Icon name=icon /> }.into_any();
    view! { <Todo mark title=title.into_any() text acts=Some(acts) /> }.into_any()
}

/// For roles that see neither VDCs nor users: what they can do here, and whom to ask for more.
fn few_rights(visit: &Visit, o: &OrgOverview, title: String, sub: String) -> AnyView {
    let lede = format!("You are signed in as {}. {}", visit.actor.name, failures(o.counts.failed, true));
    let mut needs: Vec<AnyView> = o.failed.iter().map(|t| failed_task(visit, t)).collect();
    needs.extend(more_failed(visit, o.counts.need_somebody, o.failed.len()));
    needs.extend(troubled_vms(visit, o.counts.failed_vms));
    let needs = (!needs.is_empty()).then(|| needs_section(needs));
    let tasks = view! { <a class="btn small" href=visit.at("/tasks")>"Tasks"</a> }.into_any();
    let profile = view! { <a class="btn small" href="/profile">"Profile"</a> }.into_any();
    let steps = view! {
        <Todos>
            {step(Icon::Tasks, "Follow your tasks", "What you ask for stands there until it is done.", tasks)}
            {step(Icon::User, "Keep your profile", "Your name, e-mail address, password and sessions.", profile)}
        </Todos>
    };
    let rights = visit.actor.rights;
    let role = visit.actor.role_name.clone();
    let names: Vec<_> = rights.iter().map(|r| view! { <li><p>{r.name()}</p></li> }).collect();
    let allows = if rights.is_empty() {
        view! { <p>"No rights yet."</p> }.into_any()
    } else {
        view! { <ul class="plain">{names}</ul> }.into_any()
    };
    let org = visit.actor.org_name.clone();
    let ask = format!("For more, ask an administrator of {org}: they can give you another role.");
    view! {
        <PageHead title sub lede />
        {needs}
        <Section title="What you can do here">{steps}</Section>
        <Section title="What your role allows" sub=role>{allows} <p class="hint">{ask}</p></Section>
        {recent(visit, &o.recent, false)}
    }
    .into_any()
}

fn recent(visit: &Visit, tasks: &[Task], with_org: bool) -> Option<impl IntoView + use<>> {
    (!tasks.is_empty()).then(|| {
        let table = task_table(visit, tasks, with_org);
        let acts = view! { <a href=visit.at("/tasks")>"All tasks"</a> }.into_any();
        view! { <Section title="Recent tasks" acts>{table}</Section> }
    })
}

/// "5 users", where that may be seen.
fn amount(n: Option<i64>, one: &str, many: &str) -> Option<String> {
    n.map(|n| if n == 0 { format!("no {many}") } else { plural(whole(n), one, many) })
}

/// "2 VDCs and 5 users. Nothing failed in the last 24 hours."
fn said(what: Vec<String>, failed: Option<i64>, own: bool) -> String {
    let what = listed(what).map(|what| format!("{}.", capital(&what))).unwrap_or_default();
    format!("{what} {}", failures(failed, own)).trim().to_owned()
}

fn failures(failed: Option<i64>, own: bool) -> String {
    match (failed, own) {
        (None, _) => String::new(),
        (Some(0), true) => "Nothing you asked for failed in the last 24 hours.".into(),
        (Some(0), false) => "Nothing failed in the last 24 hours.".into(),
        (Some(n), true) => format!("{} of yours failed in the last 24 hours.", plural(whole(n), "task", "tasks")),
        (Some(n), false) => format!("{} failed in the last 24 hours.", plural(whole(n), "task", "tasks")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_says_what_is_true() {
        let what = || ["2 VDCs", "1 user"].map(String::from).to_vec();
        assert_eq!(said(what(), Some(0), false), "2 VDCs and 1 user. Nothing failed in the last 24 hours.");
        assert_eq!(said(what(), None, false), "2 VDCs and 1 user.");
        let new = vec!["no VDCs".to_owned(), "1 user".to_owned()];
        assert_eq!(said(new, None, false), "No VDCs and 1 user.");
        assert_eq!(said(Vec::new(), Some(2), true), "2 tasks of yours failed in the last 24 hours.");
    }
}
