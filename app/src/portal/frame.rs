//! What stands around every page: navigation by rights, the provider's switch between organizations, the tasks tray.
use super::{Place, Visit, objects::object_href};
use crate::{
    parts::{Icon, TaskState, Tray, TrayTask},
    shell::{self, Frame, NavGroup, NavLink, OrgLink},
};
use domain::task;
use model::{
    Action, Error, Result,
    task::{Task, TaskStatus},
};

/// At most so many organizations stand in the switch; the list has all of them.
const SWITCH: i64 = 30;

type Entry = (Icon, &'static str, &'static str, Option<Action>);

const HOME: &[Entry] = &[(Icon::Home, "Home", "", None)];
/// Everybody has their own; the lists show what one may see.
const COMPUTE: &[Entry] = &[
    (Icon::Vapp, "vApps", "/vapps", None),
    (Icon::Vm, "VMs", "/vms", None),
    (Icon::Disk, "Disks", "/disks", Some(Action::DiskList)),
];
const NETWORK: &[Entry] = &[(Icon::Network, "Networks", "/networks", Some(Action::NetworkList))];
const LIBRARY: &[Entry] = &[(Icon::Catalog, "Catalogs", "/catalogs", Some(Action::CatalogList))];
const ACTIVITY: &[Entry] = &[(Icon::Tasks, "Tasks", "/tasks", None), (Icon::Events, "Events", "/events", None)];

const PROVIDER: &[(&str, &[Entry])] = &[
    ("", HOME),
    (
        "Tenants",
        &[
            (Icon::Org, "Organizations", "/organizations", Some(Action::OrgList)),
            (Icon::Vdc, "VDCs", "/vdcs", Some(Action::VdcList)),
            (Icon::Users, "Users", "/users", Some(Action::UserList)),
            (Icon::User, "Stranded", "/stranded", Some(Action::StrandedList)),
            (Icon::Key, "Roles", "/roles", Some(Action::RoleList)),
        ],
    ),
    ("Compute", COMPUTE),
    ("Network", NETWORK),
    ("Library", LIBRARY),
    (
        "Infrastructure",
        &[
            (Icon::Hub, "Hubs", "/hubs", Some(Action::HubList)),
            (Icon::Disk, "Storage policies", "/storage", Some(Action::PolicyList)),
            (Icon::Chart, "Sizing policies", "/sizing", Some(Action::SizingList)),
            (Icon::Work, "Work", "/work", Some(Action::WorkList)),
        ],
    ),
    ("Activity", ACTIVITY),
    ("Say and prove", &[(Icon::Audit, "Audit", "/audit", Some(Action::AuditList))]),
];

const TENANT: &[(&str, &[Entry])] = &[
    ("", HOME),
    ("Compute", COMPUTE),
    ("Network", NETWORK),
    ("Library", LIBRARY),
    ("Activity", ACTIVITY),
    (
        "Organization",
        &[
            (Icon::Org, "Organization", "/organization", Some(Action::OrgView)),
            (Icon::Chart, "VDCs", "/vdcs", Some(Action::VdcList)),
            (Icon::Users, "Users", "/users", Some(Action::UserList)),
            (Icon::User, "Stranded", "/stranded", Some(Action::StrandedList)),
            (Icon::Key, "Roles", "/roles", Some(Action::RoleList)),
            (Icon::Audit, "Audit", "/audit", Some(Action::AuditList)),
        ],
    ),
];

/// `on`: the label of the entry that is lit.
pub(super) async fn frame(visit: &Visit, on: &str) -> Result<Frame> {
    let d = visit.domain();
    let tray = match task::tray(d, &visit.actor, visit.org()).await {
        // a user of the provider without the right to see tasks, in a tenant's portal
        Err(Error::NotFound(_)) => None,
        tray => Some(tray?),
    };
    let (place, org_name, org_display_name, groups) = match &visit.place {
        Place::Provider => {
            (shell::Place::Provider, visit.actor.org_name.clone(), "all organizations".to_owned(), PROVIDER)
        }
        Place::Tenant { name, display_name, .. } => (shell::Place::Tenant, name.clone(), display_name.clone(), TENANT),
    };
    let nav = groups
        .iter()
        .map(|(title, links)| NavGroup { title: (*title).into(), links: nav_links(visit, links, on) })
        .filter(|g| !g.links.is_empty())
        .collect();
    Ok(Frame {
        place,
        org_name,
        org_display_name,
        org_links: org_links(visit).await?,
        home: visit.at(""),
        nav,
        user: visit.actor.name.clone(),
        role: visit.actor.role_name.clone(),
        theme: visit.ask.theme,
        tray: tray.map(|tray| Tray {
            running: tray.running as u64,
            failed: tray.failed as u64,
            tasks: tray.latest.iter().map(|t| tray_task(visit, t)).collect(),
            all_href: visit.at("/tasks"),
            now: visit.now,
        }),
        toast: visit.ask.toast.clone(),
        now: visit.now,
    })
}

fn nav_links(visit: &Visit, links: &[Entry], on: &str) -> Vec<NavLink> {
    let shown = links.iter().filter(|(.., action)| action.is_none_or(|a| visit.may(a)));
    shown
        .map(|(icon, label, rest, _)| NavLink {
            icon: *icon,
            label: (*label).into(),
            href: visit.at(rest),
            count: None,
            current: *label == on,
        })
        .collect()
}

async fn org_links(visit: &Visit) -> Result<Vec<OrgLink>> {
    if !visit.actor.provider {
        return Ok(Vec::new());
    }
    let mut links = Vec::new();
    if visit.place != Place::Provider {
        links.push(OrgLink {
            name: visit.actor.org_name.clone(),
            more: "Back to the provider".into(),
            href: "/provider".into(),
        });
    }
    let names = visit.domain().store.org_names(SWITCH).await?;
    links.extend(names.into_iter().map(|(_, name)| OrgLink {
        href: format!("/tenant/{name}"),
        more: "See its portal".into(),
        name,
    }));
    Ok(links)
}

fn tray_task(visit: &Visit, t: &Task) -> TrayTask {
    TrayTask {
        id: t.id.to_string(),
        state: task_state(t),
        what: t.what(),
        object: t.object_name.clone(),
        href: task_href(visit, t),
        says: if t.message.is_empty() { t.status.label().to_owned() } else { t.message.clone() },
        since: t.started_at,
    }
}

/// Where its object can be seen, if it still can.
fn task_href(visit: &Visit, t: &Task) -> Option<String> {
    object_href(visit, &t.object_kind, t.object_id).filter(|_| t.object_lives)
}

pub(crate) fn task_state(t: &Task) -> TaskState {
    match t.status {
        TaskStatus::Queued => TaskState::Waiting,
        TaskStatus::Running => TaskState::Running(t.progress.and_then(|p| u8::try_from(p).ok())),
        TaskStatus::Success => TaskState::Done,
        TaskStatus::Error => TaskState::Failed,
        TaskStatus::Aborted => TaskState::Cancelled,
    }
}
