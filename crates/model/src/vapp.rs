//! vApps: machines that belong together, are placed together and start in order.
use crate::{
    Actor, OrgId, Problems, Result, TemplateId, UserId, VappId, VdcId,
    decide::Resource,
    hub::HubId,
    lease::Lease,
    name,
    placement::Placement,
    share::{self, Grant},
    vm::{VmSpec, VmState},
};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Vapp {
    pub id: VappId,
    pub org: OrgId,
    pub org_name: String,
    pub vdc: VdcId,
    pub vdc_name: String,
    pub vdc_enabled: bool,
    pub owner: Option<UserId>,
    pub owner_name: String,
    /// The owner was removed or disabled: nobody looks after it.
    pub stranded: bool,
    pub shares: Vec<Grant>,
    pub template: Option<TemplateId>,
    pub name: String,
    pub description: String,
    pub hub: Option<HubId>,
    pub hub_answers: Option<bool>,
    pub placement: Option<Placement>,
    pub instance_of: Option<String>,
    /// The vApp that it is being copied or moved to; empty: none.
    pub copying: String,
    /// Its VMs are copied to nowhere but into itself.
    pub copying_within: bool,
    /// It came with a VM of its own, and goes with it.
    pub auto: bool,
    /// It was powered on while it had no VMs; that says nothing once it has some.
    pub empty_on: bool,
    /// How many of its machines are in which state.
    pub vms: VmCounts,
    pub cpus: i64,
    pub memory_mb: i64,
    pub lease: Lease,
    pub deleted: bool,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub updated_by: String,
}

/// Machines by what was last seen of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VmCounts {
    pub all: i64,
    pub running: i64,
    /// Those that ran when they were last seen, whatever has been asked of them since.
    pub seen_running: i64,
    pub stopped: i64,
    pub suspended: i64,
    pub failed: i64,
    pub missing: i64,
    /// On their way from one state to another.
    pub changing: i64,
    /// Those that were not asked to be off.
    pub deployed: i64,
}

/// One state for all its machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VappState {
    Empty,
    /// No hub has been chosen yet.
    Waiting,
    Changing,
    Running,
    Stopped,
    Suspended,
    /// Some run and some do not.
    Mixed,
    Failed,
    Deleting,
}

impl VappState {
    pub fn label(self) -> &'static str {
        match self {
            VappState::Empty => "Empty",
            VappState::Waiting => "Waiting",
            VappState::Changing => "Changing",
            VappState::Running => "Running",
            VappState::Stopped => "Stopped",
            VappState::Suspended => "Suspended",
            VappState::Mixed => "Partly running",
            VappState::Failed => "Failed",
            VappState::Deleting => "Deleting",
        }
    }
}

impl Vapp {
    pub fn state(&self) -> VappState {
        let n = self.vms;
        match () {
            () if self.deleted => VappState::Deleting,
            () if n.all == 0 => VappState::Empty,
            () if self.hub.is_none() => VappState::Waiting,
            () if n.failed + n.missing > 0 => VappState::Failed,
            () if n.changing > 0 => VappState::Changing,
            () if n.running == n.all => VappState::Running,
            () if n.stopped == n.all => VappState::Stopped,
            () if n.suspended == n.all => VappState::Suspended,
            () => VappState::Mixed,
        }
    }

    /// As deciding sees it for somebody.
    pub fn resource(&self, actor: &Actor) -> Resource {
        share::resource(actor, self.org, self.owner, &self.shares)
    }

    pub fn stale(&self) -> bool {
        self.hub_answers == Some(false)
    }
}

impl VmCounts {
    pub fn of(states: impl IntoIterator<Item = VmState>) -> VmCounts {
        let mut n = VmCounts::default();
        for state in states {
            n.all += 1;
            match state {
                VmState::Running | VmState::Migrating => {
                    n.running += 1;
                    n.seen_running += 1;
                }
                VmState::Stopped => n.stopped += 1,
                VmState::Suspended => n.suspended += 1,
                VmState::Failed => n.failed += 1,
                VmState::Missing => n.missing += 1,
                VmState::Waiting
                | VmState::Creating
                | VmState::Starting
                | VmState::Stopping
                | VmState::Suspending
                | VmState::Deleting
                | VmState::Unknown => n.changing += 1,
            }
        }
        n
    }
}

/// A vApp asked for, with its machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VappSpec {
    pub name: String,
    pub description: String,
    pub vms: Vec<VmSpec>,
}

/// At most so many machines in one vApp.
pub const MOST_VMS: usize = 128;

impl VappSpec {
    pub fn check(self) -> Result<VappSpec> {
        let mut problems = Problems::default();
        let name = problems.take("name", name::check_title(&self.name));
        let description = problems.take("description", name::check_text(&self.description));
        if self.vms.len() > MOST_VMS {
            problems.add("vms", format!("At most {MOST_VMS} VMs in one vApp."));
        }
        let mut names: Vec<String> = self.vms.iter().map(|v| v.name.trim().to_lowercase()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|w| w[0] == w[1]) {
            problems.add("vms", format!("Two VMs are called {}. Each needs its own name.", pair[0]));
        }
        let several = self.vms.len() > 1;
        let mut vms = Vec::new();
        for vm in self.vms {
            let whose = if several { vm.name.clone() } else { String::new() };
            vms.extend(problems.gather(&whose, vm.check()));
        }
        problems.done()?;
        Ok(VappSpec { name, description, vms })
    }
}
