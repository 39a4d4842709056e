//! Tasks: what was asked for, until it is done.
use crate::{
    Action, Kind, OrgId, TaskId, UploadId, UserId,
    disk::{Disk, DiskSeen},
    vm::{Power, Seen, Vm},
};
use serde::Serialize;
use time::OffsetDateTime;
use uuid::Uuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Queued,
    Running,
    Success,
    Error,
    Aborted,
}

impl TaskStatus {
    pub const ALL: [TaskStatus; 5] =
        [TaskStatus::Queued, TaskStatus::Running, TaskStatus::Success, TaskStatus::Error, TaskStatus::Aborted];

    pub fn key(self) -> &'static str {
        match self {
            TaskStatus::Queued => "queued",
            TaskStatus::Running => "running",
            TaskStatus::Success => "success",
            TaskStatus::Error => "error",
            TaskStatus::Aborted => "aborted",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            TaskStatus::Queued => "Waiting",
            TaskStatus::Running => "Running",
            TaskStatus::Success => "Done",
            TaskStatus::Error => "Failed",
            TaskStatus::Aborted => "Cancelled",
        }
    }

    pub fn parse(key: &str) -> Option<TaskStatus> {
        TaskStatus::ALL.into_iter().find(|s| s.key() == key)
    }

    pub fn ended(self) -> bool {
        !matches!(self, TaskStatus::Queued | TaskStatus::Running)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Task {
    pub id: TaskId,
    pub org: OrgId,
    pub org_name: String,
    pub org_lives: bool,
    pub user: Option<UserId>,
    pub user_name: String,
    /// An action's key.
    pub operation: String,
    pub object_kind: String,
    pub object_id: Uuid,
    pub object_name: String,
    /// Is it still there?
    pub object_lives: bool,
    /// It is a disc of a catalog: its kind says that it is a template.
    pub medium: bool,
    pub status: TaskStatus,
    /// In percent, where it is known.
    pub progress: Option<i16>,
    pub message: String,
    pub request_id: String,
    #[serde(with = "time::serde::rfc3339")]
    pub started_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339::option")]
    pub ended_at: Option<OffsetDateTime>,
    /// It makes something of which nothing can be on a hub yet.
    pub unbegun: bool,
    /// The upload that it waits for, while parts of it are still to come.
    pub upload: Option<UploadId>,
}

impl Task {
    pub fn action(&self) -> Option<Action> {
        Action::parse(&self.operation)
    }

    pub fn kind(&self) -> Option<Kind> {
        Kind::parse(&self.object_kind)
    }

    /// Before the object's name: "Created VDC" once that is true, "Create VDC" until then.
    pub fn what(&self) -> String {
        match self.action() {
            Some(a) if self.status == TaskStatus::Success => a.past().to_owned(),
            Some(a) => a.order(),
            None => self.operation.clone(),
        }
    }

    /// "Created VDC acme-prod".
    pub fn title(&self) -> String {
        format!("{} {}", self.what(), self.object_name)
    }
}

/// How a task that waits for hubs stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Open {
        progress: Option<i16>,
        message: String,
    },
    Done,
    /// Done as far as that goes, and this is to be said of it.
    DoneBut(String),
    Failed(String),
}

/// From what was observed of one machine. None: it is gone.
pub fn verdict(action: Action, vm: Option<&Vm>) -> Verdict {
    let deleting = matches!(action, Action::VmDelete | Action::VappDelete);
    let nothing_said =
        if vm.is_some_and(Vm::stale) { "Its hub does not answer; it goes on when that does." } else { "" };
    let Some(vm) = vm else {
        return if deleting { Verdict::Done } else { Verdict::Failed("It was deleted meanwhile.".into()) };
    };
    let open = |message: &str| Verdict::Open { progress: vm.progress, message: message.to_owned() };
    if deleting {
        return open(nothing_said);
    }
    if vm.deleted {
        return Verdict::Failed("It is being deleted.".into());
    }
    if vm.applied.is_none_or(|a| a < vm.generation) {
        return open(if vm.hub.is_none() { "A place for it is looked for." } else { nothing_said });
    }
    let about_snapshots =
        matches!(action, Action::VmSnapshot | Action::VmRevert | Action::VappSnapshot | Action::VappRevert);
    if about_snapshots && !vm.snapshot_problem.is_empty() {
        return Verdict::Failed(vm.snapshot_problem.clone());
    }
    // what was powered on or off by hand stays so, and keeps nothing else from being done
    let stays = !vm.outside.is_empty() && !action.asks_for_power();
    match (vm.seen, vm.power) {
        (Seen::Missing, _) => Verdict::Failed("It was deleted on its hub by hand.".into()),
        (Seen::Failed, _) => Verdict::Failed(vm.reason.clone()),
        // it comes into the machine when its image is on the hub; nothing else waits for that
        _ if action == Action::VmMediaInsert && vm.discs().any(|d| !d.leaving && d.seen == DiskSeen::Never) => {
            open("Its image is being brought to its hub.")
        }
        // whoever asks for something else right then would be told that it is being copied
        (Seen::Stopped, Power::Off) if action.makes() && vm.disks.iter().any(|d| d.being_copied()) => {
            open("Its disks are being made.")
        }
        (seen, power) if power.is_met(seen) || stays => match seen.on() && waits_for_restart(action, vm) {
            true => Verdict::DoneBut(AT_NEXT_START.into()),
            false => Verdict::Done,
        },
        _ if !vm.outside.is_empty() => Verdict::Failed(vm.outside.clone()),
        (Seen::Provisioning, _) if vm.original_lost => Verdict::Failed(
            "The VM that it is copied from is missing on its hub, and its disks with it. Delete this one.".into(),
        ),
        (Seen::Provisioning, _) if !vm.stale() => open("Its disks are being made."),
        _ => open(nothing_said),
    }
}

/// Said of a change that a machine which runs has not got yet.
pub const AT_NEXT_START: &str = "It comes with the next start.";

/// Changes of a machine that may have to wait for its next start.
pub const CHANGES: &[Action] = &[
    Action::VmEdit,
    Action::VmResize,
    Action::VmNics,
    Action::VmGuest,
    Action::VmDiskAdd,
    Action::VmDiskEdit,
    Action::VmDiskRemove,
    Action::VmDiskAttach,
    Action::VmDiskDetach,
    Action::VmMediaInsert,
    Action::VmMediaEject,
];

/// Guests are told when they start; of the rest the hub says whether it came into the machine.
fn waits_for_restart(action: Action, vm: &Vm) -> bool {
    match action {
        Action::VmGuest => true,
        Action::VmResize => vm.restart_needed && !vm.has_its_size(),
        action => vm.restart_needed && CHANGES.contains(&action),
    }
}

/// The same of an independent disk.
pub fn disk_verdict(action: Action, disk: Option<&Disk>) -> Verdict {
    let deleting = action == Action::DiskDelete;
    let Some(disk) = disk else {
        return if deleting { Verdict::Done } else { Verdict::Failed("It was deleted meanwhile.".into()) };
    };
    let open = |message: &str| Verdict::Open { progress: disk.progress, message: message.to_owned() };
    match disk.seen {
        _ if deleting => open(""),
        _ if disk.deleted => Verdict::Failed("It is being deleted.".into()),
        DiskSeen::Missing => Verdict::Failed("It was deleted on its hub by hand.".into()),
        _ if !disk.problem.is_empty() => Verdict::Failed(disk.problem.clone()),
        DiskSeen::Failed => Verdict::Failed(disk.reason.clone()),
        _ if disk.to_be_made() => Verdict::Done,
        _ if disk.hub.is_none() => open("A place for it is looked for."),
        _ if disk.applied.is_none_or(|a| a < disk.generation) => open(""),
        DiskSeen::Never | DiskSeen::Making => open("It is being made."),
        DiskSeen::Ready => Verdict::Done,
    }
}

/// Several machines as one: failed if one failed, done if all are, and as far as they are together.
pub fn together(each: Vec<(String, Verdict)>) -> Verdict {
    let all = i16::try_from(each.len()).unwrap_or(i16::MAX).max(1);
    let mut sum = 0_i16;
    let (mut waits, mut failed, mut said) = (Vec::new(), Vec::new(), Vec::new());
    let mut silent: Vec<String> = Vec::new();
    for (name, one) in each {
        match one {
            Verdict::Done => sum += 100 / all,
            Verdict::DoneBut(what) => {
                sum += 100 / all;
                said.push(format!("{name}: {what}"));
            }
            Verdict::Failed(why) => failed.push(format!("{name}: {why}")),
            Verdict::Open { progress, message } => {
                sum += progress.unwrap_or(0) / all;
                match message.is_empty() {
                    true => silent.push(name),
                    false => waits.push(format!("{name}: {message}")),
                }
            }
        }
    }
    if !silent.is_empty() {
        waits.push(format!("Still to come: {}.", silent.join(", ")));
    }
    if !waits.is_empty() {
        let message = failed.into_iter().chain(waits).collect::<Vec<_>>().join(" ");
        return Verdict::Open { progress: Some(sum.min(99)), message };
    }
    match (failed.is_empty(), said.is_empty()) {
        (false, _) => Verdict::Failed(failed.join(" ")),
        (true, true) => Verdict::Done,
        (true, false) => Verdict::DoneBut(said.join(" ")),
    }
}
