//! Disks: those that come and go with a machine, and independent ones that are put into one and taken out again.
use crate::{DiskId, Fields, HubId, OrgId, Problems, Result, UserId, VdcId, VmId, name, quota::Measure};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use uuid::Uuid;

/// The largest disk, and the most of one machine.
pub const MOST_MB: i64 = 64 * 1024 * 1024;
pub const MOST_IN_VM: usize = 16;

/// What a disk looks like to the guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Bus {
    /// As the machine's preference says, else VirtIO.
    #[default]
    #[serde(rename = "")]
    Any,
    #[serde(rename = "virtio")]
    Virtio,
    #[serde(rename = "sata")]
    Sata,
    #[serde(rename = "scsi")]
    Scsi,
}

impl Bus {
    pub const ALL: [Bus; 4] = [Bus::Any, Bus::Virtio, Bus::Sata, Bus::Scsi];

    pub fn key(self) -> &'static str {
        match self {
            Bus::Any => "",
            Bus::Virtio => "virtio",
            Bus::Sata => "sata",
            Bus::Scsi => "scsi",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Bus::Any => "Automatic",
            Bus::Virtio => "VirtIO",
            Bus::Sata => "SATA",
            Bus::Scsi => "SCSI",
        }
    }

    pub fn parse(word: &str) -> Option<Bus> {
        Bus::ALL.into_iter().find(|b| b.key() == word)
    }

    /// Can a disk on it come and go while the machine runs?
    pub fn hot(self) -> bool {
        self != Bus::Sata
    }
}

/// Where VCD's clients put a disk: the kind of adapter by its number (1 IDE, 2 to 5 SCSI, 6 SATA, 7 NVMe), the bus and the unit on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Slot {
    pub adapter: i16,
    pub bus: i16,
    pub unit: i16,
}

/// What a hub says of a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiskSeen {
    /// Nothing yet.
    #[default]
    #[serde(rename = "")]
    Never,
    Making,
    Ready,
    Failed,
    /// It was there, and is not any more.
    Missing,
}

impl DiskSeen {
    pub const ALL: [DiskSeen; 5] =
        [DiskSeen::Never, DiskSeen::Making, DiskSeen::Ready, DiskSeen::Failed, DiskSeen::Missing];

    pub fn key(self) -> &'static str {
        match self {
            DiskSeen::Never => "",
            DiskSeen::Making => "making",
            DiskSeen::Ready => "ready",
            DiskSeen::Failed => "failed",
            DiskSeen::Missing => "missing",
        }
    }

    pub fn parse(word: &str) -> Option<DiskSeen> {
        DiskSeen::ALL.into_iter().find(|s| s.key() == word)
    }
}

/// An independent disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Disk {
    pub id: DiskId,
    pub org: OrgId,
    pub org_name: String,
    pub vdc: VdcId,
    pub vdc_name: String,
    pub vdc_enabled: bool,
    pub owner: Option<UserId>,
    pub owner_name: String,
    pub name: String,
    pub description: String,
    pub bus: Bus,
    pub size_mb: i64,
    pub policy: String,
    /// The machine it is in, or is to be in.
    pub vm: Option<(VmId, String)>,
    /// The machine it is on its way out of.
    pub leaving: Option<(VmId, String)>,
    pub hub: Option<HubId>,
    pub hub_answers: Option<bool>,
    pub namespace: String,
    pub hub_name: String,
    pub generation: i64,
    pub applied: Option<i64>,
    pub seen: DiskSeen,
    pub reason: String,
    pub seen_mb: Option<i64>,
    pub progress: Option<i16>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub seen_at: Option<OffsetDateTime>,
    pub problem: String,
    pub deleted: bool,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub updated_by: String,
}

/// The state shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DiskState {
    Waiting,
    Making,
    /// In no machine.
    Free,
    Attaching,
    Attached,
    Detaching,
    Failed,
    Missing,
    Deleting,
}

impl DiskState {
    pub fn label(self) -> &'static str {
        match self {
            DiskState::Waiting => "Waiting",
            DiskState::Making => "Creating",
            DiskState::Free => "Free",
            DiskState::Attaching => "Attaching",
            DiskState::Attached => "Attached",
            DiskState::Detaching => "Detaching",
            DiskState::Failed => "Failed",
            DiskState::Missing => "Missing",
            DiskState::Deleting => "Deleting",
        }
    }
}

impl Disk {
    pub fn state(&self) -> DiskState {
        match self.seen {
            _ if self.deleted => DiskState::Deleting,
            DiskSeen::Missing => DiskState::Missing,
            DiskSeen::Failed => DiskState::Failed,
            _ if !self.problem.is_empty() => DiskState::Failed,
            _ if self.leaving.is_some() => DiskState::Detaching,
            DiskSeen::Never if self.to_be_made() => DiskState::Free,
            DiskSeen::Never if self.hub.is_none() => DiskState::Waiting,
            DiskSeen::Never | DiskSeen::Making => DiskState::Making,
            DiskSeen::Ready if self.vm.is_some() => DiskState::Attached,
            DiskSeen::Ready => DiskState::Free,
        }
    }

    /// It is in no machine, was in none, and is made where its first one is.
    pub fn to_be_made(&self) -> bool {
        self.hub.is_none() && self.vm.is_none() && self.applied == Some(self.generation)
    }

    /// Shown as last known: its hub does not answer.
    pub fn stale(&self) -> bool {
        self.hub_answers == Some(false)
    }
}

/// A disk asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskSpec {
    /// Of an internal disk empty: the next free of `disk-1`, `disk-2` …
    pub name: String,
    pub description: String,
    pub size_mb: i64,
    pub bus: Bus,
    /// The storage policy's name; empty: the VDC's default.
    pub policy: String,
    /// Where a client put it; None: nobody said.
    pub slot: Option<Slot>,
}

impl DiskSpec {
    pub fn check(self) -> Result<DiskSpec> {
        let mut problems = Problems::default();
        let name = problems.take("name", name::check_title(&self.name));
        let description = problems.take("description", name::check_text(&self.description));
        check_size(self.size_mb, &mut problems);
        problems.done()?;
        Ok(DiskSpec { name, description, ..self })
    }

    /// One that comes with a machine: it is called by the machine's own names.
    pub fn check_internal(self) -> Result<DiskSpec> {
        let mut problems = Problems::default();
        let name = match self.name.trim() {
            "" => String::new(),
            typed => problems.take("name", name::check_label(typed)),
        };
        check_size(self.size_mb, &mut problems);
        problems.done()?;
        Ok(DiskSpec { name, description: String::new(), ..self })
    }
}

pub fn check_size(size_mb: i64, problems: &mut Problems) {
    if !(1..=MOST_MB).contains(&size_mb) {
        problems.add("size", "From 1 MB to 64 TB.");
    }
}

/// A disk grows and never shrinks: what is on it would be cut off.
pub fn check_growth(now_mb: i64, wanted_mb: i64, problems: &mut Problems) {
    check_size(wanted_mb, problems);
    if wanted_mb < now_mb {
        let now = Measure::Storage.words(now_mb);
        problems.add("size", format!("It has {now} and can't shrink. Make a smaller disk and copy what is needed."));
    }
}

impl Fields for DiskSpec {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![
            ("name", self.name.clone()),
            ("description", self.description.clone()),
            ("size", Measure::Storage.words(self.size_mb)),
            ("bus", self.bus.label().to_owned()),
            ("policy", if self.policy.is_empty() { "the VDC's default".to_owned() } else { self.policy.clone() }),
        ]
    }
}

/// The name of an independent disk's volume on its hub, from its id.
pub fn hub_name(id: Uuid) -> String {
    let hex = id.simple().to_string();
    format!("disk-{}", &hex[hex.len() - 12..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_grows_and_never_shrinks() {
        let grown = |now, wanted| {
            let mut problems = Problems::default();
            check_growth(now, wanted, &mut problems);
            problems.done()
        };
        assert!(grown(1024, 1024).is_ok() && grown(1024, 2048).is_ok());
        assert!(grown(2048, 1024).expect_err("shrinks").to_string().contains("can't shrink"));
        assert!(grown(1, MOST_MB + 1).is_err());
    }
}
