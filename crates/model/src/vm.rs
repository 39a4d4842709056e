//! Virtual machines: what was asked for, what its hub last said, and the one state that follows from both.
mod besides;
mod state;

pub use besides::{Allocation, Besides, BootOptions, Shares, StartAction, StopAction, Turn};
pub use state::{Once, Power, Seen, VmState};

use crate::{
    Actor, DiskId, OrgId, Problems, Result, SizingId, TemplateId, UserId, VappId, VdcId, VmId,
    decide::Resource,
    disk::{Bus, DiskSeen, MOST_IN_VM, MOST_MB, Slot},
    hardware::Hardware,
    hub::HubId,
    name,
    nic::{self, Nic, NicSpec},
    quota::{Amount, Measure},
    share::{self, Grant},
};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use uuid::Uuid;

/// A disk in a machine, or of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// None: of a template.
    pub id: Option<DiskId>,
    /// Within the machine: `root`, `disk-1`; of an independent disk its own.
    pub name: String,
    pub size_mb: i64,
    /// Where its first content comes from; empty: nothing on it.
    pub image: String,
    /// Of a template. A machine's disks are made of what their policy says.
    pub storage_class: String,
    /// The storage policy's name; empty: the VDC's default.
    pub policy: String,
    pub bus: Bus,
    /// It survives its machine.
    pub independent: bool,
    /// It was taken out or removed, and is in use until the machine stops.
    pub leaving: bool,
    pub seen: DiskSeen,
    pub reason: String,
    pub seen_mb: Option<i64>,
    pub progress: Option<i16>,
    /// What stands behind it on its hub, as last seen.
    pub volume: String,
    /// The disc that it is a copy of, on a CD drive; None: a disk.
    pub media: Option<TemplateId>,
    pub media_name: String,
    /// The machine runs, and has it from its next start on.
    pub waits: bool,
    /// Why a snapshot would leave it out, in its hub's words; empty: it would not.
    pub no_snapshot: String,
    /// Where a client put it; None: nobody said.
    pub slot: Option<Slot>,
}

impl Disk {
    /// Is it a disk of the machine's own, that stays with it? Discs belong to catalogs.
    pub fn own(&self) -> bool {
        !self.independent && !self.leaving && self.media.is_none()
    }

    /// It is made from another one, and that is not done.
    pub fn being_copied(&self) -> bool {
        self.own() && self.image.starts_with("claim/") && matches!(self.seen, DiskSeen::Never | DiskSeen::Making)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Vm {
    pub id: VmId,
    pub org: OrgId,
    pub org_name: String,
    pub vdc: VdcId,
    pub vdc_name: String,
    pub vdc_enabled: bool,
    pub vapp: VappId,
    pub vapp_name: String,
    pub owner: Option<UserId>,
    pub owner_name: String,
    /// With whom its vApp is shared.
    pub shares: Vec<Grant>,
    /// The vApp that it is being copied to; empty: none.
    pub copying: String,
    /// It was to be copied from a VM that is not on its hub any more, and its disks have not come.
    pub original_lost: bool,
    /// OpenShift made it from a template.
    pub by_template: bool,
    pub name: String,
    pub description: String,
    pub computer_name: String,
    pub cpus: i32,
    pub memory_mb: i64,
    pub instance_type: String,
    pub preference: String,
    /// As its template has it: `built` says what it is by now.
    pub hardware: Hardware,
    pub disks: Vec<Disk>,
    /// In the order of their indexes.
    pub nics: Vec<Nic>,
    pub os: String,
    pub power: Power,
    pub start_order: i32,
    pub start_delay_s: i32,
    pub generation: i64,
    pub hub: Option<HubId>,
    /// Can its hub be reached now? None: it has none.
    pub hub_answers: Option<bool>,
    pub namespace: String,
    pub hub_name: String,
    pub made: bool,
    pub applied: Option<i64>,
    pub seen: Seen,
    pub reason: String,
    pub seen_cpus: Option<i32>,
    pub seen_memory_mb: Option<i64>,
    pub node: String,
    pub ips: Vec<String>,
    pub guest_os: String,
    pub progress: Option<i16>,
    pub restart_needed: bool,
    #[serde(with = "time::serde::rfc3339::option")]
    pub seen_at: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub since: Option<OffsetDateTime>,
    /// What somebody changed on the hub by hand.
    pub outside: String,
    /// Why it can't be brought to what was asked for.
    pub problem: String,
    /// The sizing policy that its size is, by name.
    pub sizing: Option<(SizingId, String)>,
    /// What VCD's clients set besides.
    pub besides: Besides,
    /// It came with a vApp of its own, which goes with it.
    pub alone: bool,
    /// The storage lease of its vApp has ended.
    pub expired: bool,
    /// How many it has.
    pub snapshots: i64,
    /// Does its hub make snapshots? None: it has none, or was not looked at.
    pub snapshots_offered: Option<bool>,
    /// It is being brought back to one.
    pub reverting: bool,
    /// Why the last one, or going back to one, did not work.
    pub snapshot_problem: String,
    pub deleted: bool,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub updated_by: String,
}

impl Vm {
    /// As deciding sees it for somebody.
    pub fn resource(&self, actor: &Actor) -> Resource {
        share::resource(actor, self.org, self.owner, &self.shares)
    }

    /// Its hardware with what clients set of it.
    pub fn built(&self) -> Hardware {
        self.hardware.with(&self.besides)
    }

    /// One state from intent and what was seen. A silent hub changes nothing here: `stale` says so.
    pub fn state(&self) -> VmState {
        if self.deleted {
            return VmState::Deleting;
        }
        let Some(seen) = self.last_seen() else {
            return match self.hub {
                None => VmState::Waiting,
                Some(_) if !self.problem.is_empty() => VmState::Failed,
                Some(_) => VmState::Creating,
            };
        };
        match (seen, self.power) {
            // somebody else's doing is not on its way anywhere
            (seen, _) if !self.outside.is_empty() => seen,
            (VmState::Running | VmState::Suspended, Power::Off) => VmState::Stopping,
            (VmState::Running, Power::Suspended) => VmState::Suspending,
            (VmState::Stopped, Power::On) if self.problem.is_empty() => VmState::Starting,
            (VmState::Suspended, Power::On) => VmState::Starting,
            (seen, _) => seen,
        }
    }

    /// What its hub last showed, whatever was asked for since. None: it was never seen there.
    pub fn last_seen(&self) -> Option<VmState> {
        Some(match self.seen {
            Seen::Never => return None,
            Seen::Provisioning => VmState::Creating,
            Seen::Starting => VmState::Starting,
            Seen::Running => VmState::Running,
            Seen::Stopping => VmState::Stopping,
            Seen::Stopped => VmState::Stopped,
            Seen::Suspended => VmState::Suspended,
            Seen::Migrating => VmState::Migrating,
            Seen::Failed => VmState::Failed,
            Seen::Deleting => VmState::Deleting,
            Seen::Missing => VmState::Missing,
            Seen::Unknown => VmState::Unknown,
        })
    }

    /// What was asked for and is not to be seen on its hub yet.
    pub fn queued(&self) -> Option<&'static str> {
        if self.deleted {
            return Some("delete");
        }
        match self.state() {
            _ if !self.on_its_way() => None,
            VmState::Starting if self.seen == Seen::Suspended => Some("resume"),
            VmState::Starting => Some("power on"),
            VmState::Stopping => Some("power off"),
            VmState::Suspending => Some("suspend"),
            _ => None,
        }
    }

    /// Is it on its way to what was asked for, while its hub still shows what was before?
    pub fn on_its_way(&self) -> bool {
        let still = matches!(self.seen, Seen::Running | Seen::Stopped | Seen::Suspended);
        still && matches!(self.state(), VmState::Starting | VmState::Stopping | VmState::Suspending | VmState::Deleting)
    }

    /// Shown as last known: its hub does not answer.
    pub fn stale(&self) -> bool {
        self.hub_answers == Some(false)
    }

    /// As it runs; what was never seen counts as so.
    pub fn has_its_size(&self) -> bool {
        has(self.seen_cpus, self.cpus) && has(self.seen_memory_mb, self.memory_mb)
    }

    /// What it will have from its next start on, as far as that is known apart from the rest.
    pub fn waiting(&self) -> Vec<String> {
        let mut all = Vec::new();
        if !has(self.seen_cpus, self.cpus) {
            all.push(Measure::Cpus.words(self.cpus.into()));
        }
        if !has(self.seen_memory_mb, self.memory_mb) {
            all.push(Measure::Memory.words(self.memory_mb));
        }
        for d in self.disks.iter().filter(|d| d.waits || d.leaving) {
            all.push(match (&d.media, d.leaving) {
                (Some(_), false) => format!("the disc {}", d.media_name),
                (Some(_), true) => format!("no disc {}", d.media_name),
                (None, false) => format!("the disk {}", d.name),
                (None, true) => format!("no disk {}", d.name),
            });
        }
        all
    }

    /// The discs on its CD drives.
    pub fn discs(&self) -> impl Iterator<Item = &Disk> {
        self.disks.iter().filter(|d| d.media.is_some())
    }

    /// It was given a hub, and could not be made there.
    pub fn not_made(&self) -> bool {
        !self.problem.is_empty() && self.hub.is_some()
    }

    pub fn storage_mb(&self) -> i64 {
        self.disks.iter().map(|d| d.size_mb).sum()
    }

    pub fn amount(&self) -> Amount {
        Amount { vms: 1, cpus: self.cpus.into(), memory_mb: self.memory_mb, storage_mb: self.storage_mb() }
    }
}

fn has<T: PartialEq>(seen: Option<T>, asked: T) -> bool {
    seen.is_none_or(|seen| seen == asked)
}

/// A machine asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VmSpec {
    pub name: String,
    pub description: String,
    /// Empty: made from the name.
    pub computer_name: String,
    pub cpus: i32,
    pub memory_mb: i64,
    /// Its size is this policy's.
    pub sizing: Option<SizingId>,
    pub instance_type: String,
    pub preference: String,
    pub hardware: Hardware,
    pub disks: Vec<Disk>,
    pub nics: Vec<NicSpec>,
    pub os: String,
    pub power: Power,
    pub start_order: i32,
    pub start_delay_s: i32,
    pub besides: Besides,
}

impl VmSpec {
    pub fn check(self) -> Result<VmSpec> {
        let mut problems = Problems::default();
        let name = problems.take("name", name::check_title(&self.name));
        let description = problems.take("description", name::check_text(&self.description));
        let computer_name = match self.computer_name.trim() {
            "" => name::label_from(&name, 63),
            typed => problems.take("computer_name", name::check_label(typed)),
        };
        check_size(self.cpus, self.memory_mb, &mut problems);
        for disk in &self.disks {
            if disk.size_mb == 0 {
                let what = "Choose its size, at least that of what it is made from.";
                problems.add("disk", format!("Nobody said how large the disk {} is. {what}", disk.name));
            } else if !(1..=MOST_MB).contains(&disk.size_mb) {
                problems.add("disk", format!("The disk {} can be from 1 MB to 64 TB large.", disk.name));
            }
        }
        if self.disks.len() > MOST_IN_VM {
            problems.add("disk", "At most 16 disks.");
        }
        if !(0..=1000).contains(&self.start_order) {
            problems.add("start_order", "From 0 to 1000.");
        }
        if !(0..=3600).contains(&self.start_delay_s) {
            problems.add("start_delay", "From 0 to 3600 seconds.");
        }
        let nics = nic::check(self.nics, &mut problems);
        problems.done()?;
        Ok(VmSpec { name, description, computer_name, nics, ..self })
    }

    pub fn storage_mb(&self) -> i64 {
        self.disks.iter().map(|d| d.size_mb).sum()
    }

    pub fn amount(&self) -> Amount {
        Amount { vms: 1, cpus: self.cpus.into(), memory_mb: self.memory_mb, storage_mb: self.storage_mb() }
    }
}

/// A machine has at most so much.
pub const MOST_CPUS: i32 = 512;
pub const MOST_MEMORY_MB: i64 = 16 * 1024 * 1024;

pub fn check_size(cpus: i32, memory_mb: i64, problems: &mut Problems) {
    if !(1..=MOST_CPUS).contains(&cpus) {
        problems.add("cpus", "From 1 to 512 vCPU.");
    }
    if !(128..=MOST_MEMORY_MB).contains(&memory_mb) {
        problems.add("memory", "From 128 MB to 16 TB.");
    }
}

/// The name on a hub: readable, and from the id, so that a second try makes the same one.
pub fn hub_name(vm_name: &str, id: Uuid) -> String {
    let hex = id.simple().to_string();
    format!("{}-{}", name::label_from(vm_name, 50), &hex[hex.len() - 12..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_on_a_hub_is_a_label_and_ends_with_the_id() {
        let id = Uuid::from_u128(0x0192_c3b0_9a10_7f44_a5d2_3e6b_8c1f_0d92);
        assert_eq!(hub_name("Web server 1", id), "web-server-1-3e6b8c1f0d92");
        assert_eq!(hub_name("äöü", id), "vm-3e6b8c1f0d92");
        assert!(hub_name(&"x".repeat(128), id).len() <= 63);
    }

    #[test]
    fn sizes_are_checked_by_field() {
        let bad = VmSpec { name: "a".into(), cpus: 0, memory_mb: 1, ..VmSpec::default() };
        let fields: Vec<_> = bad.check().expect_err("too small").fields().iter().map(|f| f.field).collect();
        assert_eq!(fields, ["cpus", "memory"]);
    }
}
