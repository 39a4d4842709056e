//! What a dashboard shows: numbers, what needs somebody, what happened lately. Each as far as its reader may see it.
use crate::{Domain, lease};
use model::{
    Action, Actor, OrgId, Result,
    decide::{Resource, Scope, list_scope},
    hub::{Hub, HubState},
    lease::Near,
    org::Org,
    task::Task,
    vdc::Vdc,
};
use store::{Counted, Counts, Latest};

const RECENT: u32 = 6;
const FAILED: u32 = 5;
const VDCS: u32 = 10;
const ORGS: u32 = 5;

/// An organization, for one of its users or the provider.
#[derive(Clone, Debug)]
pub struct OrgOverview {
    /// None: the reader may not see it.
    pub org: Option<Org>,
    pub counts: Counts,
    /// The fullest first; not all of them.
    pub vdcs: Vec<Vdc>,
    /// vApps whose lease ends soon or has ended, and that the reader can renew.
    pub leases: Vec<Near>,
    /// The tasks are the reader's own only.
    pub own: bool,
    pub failed: Vec<Task>,
    pub recent: Vec<Task>,
}

pub async fn of_org(d: &Domain, actor: &Actor, org: OrgId) -> Result<OrgOverview> {
    let scope = |action| list_scope(actor, action, Some(org)).ok();
    let (vdcs, tasks) = (scope(Action::VdcList), scope(Action::TaskList));
    let (vms, users) = (scope(Action::VappList), scope(Action::UserList));
    let counts = Counted { orgs: None, vdcs, vms, users, tasks, audit: None };
    let counts = d.store.counts(counts).await?;
    let id = org;
    let org = if actor.may(Action::OrgView, Resource::Of(org)) {
        Some(d.store.org(actor, Action::OrgView, org).await?.into_inner())
    } else {
        None
    };
    let vdcs = match vdcs {
        Some(scope) => d.store.fullest_vdcs(scope, VDCS).await?,
        None => Vec::new(),
    };
    let own = !matches!(tasks, Some(Scope::Org(_) | Scope::All));
    let (failed, recent) = latest(d, tasks, counts).await?;
    let leases = lease::near(d, actor, Some(id)).await?;
    Ok(OrgOverview { org, counts, vdcs, leases, own, failed, recent })
}

/// The whole installation, for the provider.
#[derive(Clone, Debug)]
pub struct InstallationOverview {
    pub counts: Counts,
    /// Organizations that have nearly used up some limit.
    pub full: Vec<Org>,
    pub newest: Vec<Org>,
    /// Those that do not answer, lack something, or will not let us in for long.
    pub troubled: Vec<Hub>,
    pub hubs: Option<usize>,
    pub failed: Vec<Task>,
    pub recent: Vec<Task>,
}

pub async fn of_installation(d: &Domain, actor: &Actor) -> Result<InstallationOverview> {
    let scope = |action| list_scope(actor, action, None).ok().filter(|_| actor.provider);
    let (orgs, tasks) = (scope(Action::OrgList), scope(Action::TaskList));
    let counts = Counted {
        orgs,
        vdcs: scope(Action::VdcList),
        vms: scope(Action::VappList),
        users: scope(Action::UserList),
        tasks,
        audit: scope(Action::AuditList),
    };
    let counts = d.store.counts(counts).await?;
    let (full, newest) = match orgs {
        Some(_) => (d.store.full_orgs(ORGS).await?, d.store.newest_orgs(ORGS).await?),
        None => (Vec::new(), Vec::new()),
    };
    let (hubs, troubled) = match scope(Action::HubList) {
        Some(_) => {
            let hubs = d.store.hubs().await?;
            let now = d.now();
            let bad = |h: &Hub| {
                matches!(h.state, HubState::Unreachable | HubState::Degraded) || h.credential_ends_soon(now).is_some()
            };
            (Some(hubs.len()), hubs.into_iter().filter(bad).collect())
        }
        None => (None, Vec::new()),
    };
    let (failed, recent) = latest(d, tasks, counts).await?;
    Ok(InstallationOverview { counts, full, newest, troubled, hubs, failed, recent })
}

/// What failed today and still needs somebody, and what was done lately.
async fn latest(d: &Domain, tasks: Option<Scope>, counts: Counts) -> Result<(Vec<Task>, Vec<Task>)> {
    let Some(scope) = tasks else { return Ok((Vec::new(), Vec::new())) };
    let failed = match counts.need_somebody {
        Some(1..) => d.store.latest_tasks(scope, Latest::NeedSomebody, FAILED).await?,
        _ => Vec::new(),
    };
    Ok((failed, d.store.latest_tasks(scope, Latest::Any, RECENT).await?))
}
