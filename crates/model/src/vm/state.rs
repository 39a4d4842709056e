//! What a VM is to be, what its hub says of it, and the state that is shown.
use serde::{Deserialize, Serialize};

/// What people want it to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Power {
    On,
    #[default]
    Off,
    Suspended,
}

impl Power {
    pub const ALL: [Power; 3] = [Power::On, Power::Off, Power::Suspended];

    pub fn key(self) -> &'static str {
        match self {
            Power::On => "on",
            Power::Off => "off",
            Power::Suspended => "suspended",
        }
    }

    pub fn parse(word: &str) -> Option<Power> {
        Power::ALL.into_iter().find(|p| p.key() == word)
    }

    /// Is that how it is seen?
    pub fn is_met(self, seen: Seen) -> bool {
        matches!(
            (self, seen),
            (Power::On, Seen::Running | Seen::Migrating)
                | (Power::Off, Seen::Stopped)
                | (Power::Suspended, Seen::Suspended)
        )
    }
}

/// Something done once to a running machine, and then over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Once {
    Reboot,
    Reset,
    /// Asks the guest to stop, and leaves it stopped.
    Shutdown,
}

impl Once {
    pub const ALL: [Once; 3] = [Once::Reboot, Once::Reset, Once::Shutdown];

    pub fn key(self) -> &'static str {
        match self {
            Once::Reboot => "reboot",
            Once::Reset => "reset",
            Once::Shutdown => "shutdown",
        }
    }

    pub fn parse(word: &str) -> Option<Once> {
        Once::ALL.into_iter().find(|o| o.key() == word)
    }
}

/// What a hub says of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Seen {
    /// Nothing yet.
    #[default]
    Never,
    /// Its disks are being made.
    Provisioning,
    Starting,
    Running,
    Stopping,
    Stopped,
    Suspended,
    Migrating,
    Failed,
    Deleting,
    /// It was there, and is not any more.
    Missing,
    Unknown,
}

impl Seen {
    pub const ALL: [Seen; 12] = [
        Seen::Never,
        Seen::Provisioning,
        Seen::Starting,
        Seen::Running,
        Seen::Stopping,
        Seen::Stopped,
        Seen::Suspended,
        Seen::Migrating,
        Seen::Failed,
        Seen::Deleting,
        Seen::Missing,
        Seen::Unknown,
    ];

    pub fn key(self) -> &'static str {
        match self {
            Seen::Never => "",
            Seen::Provisioning => "provisioning",
            Seen::Starting => "starting",
            Seen::Running => "running",
            Seen::Stopping => "stopping",
            Seen::Stopped => "stopped",
            Seen::Suspended => "suspended",
            Seen::Migrating => "migrating",
            Seen::Failed => "failed",
            Seen::Deleting => "deleting",
            Seen::Missing => "missing",
            Seen::Unknown => "unknown",
        }
    }

    pub fn parse(word: &str) -> Option<Seen> {
        Seen::ALL.into_iter().find(|s| s.key() == word)
    }

    /// Does the guest run?
    pub fn on(self) -> bool {
        matches!(self, Seen::Running | Seen::Migrating)
    }
}

/// The state shown: what was last seen, or what is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VmState {
    /// No hub has been chosen yet.
    Waiting,
    Creating,
    Starting,
    Running,
    Stopping,
    Stopped,
    Suspending,
    Suspended,
    Migrating,
    Failed,
    /// Somebody deleted it on its hub.
    Missing,
    Deleting,
    Unknown,
}

impl VmState {
    pub const ALL: [VmState; 13] = [
        VmState::Waiting,
        VmState::Creating,
        VmState::Starting,
        VmState::Running,
        VmState::Stopping,
        VmState::Stopped,
        VmState::Suspending,
        VmState::Suspended,
        VmState::Migrating,
        VmState::Failed,
        VmState::Missing,
        VmState::Deleting,
        VmState::Unknown,
    ];

    pub fn label(self) -> &'static str {
        match self {
            VmState::Waiting => "Waiting",
            VmState::Creating => "Creating",
            VmState::Starting => "Starting",
            VmState::Running => "Running",
            VmState::Stopping => "Stopping",
            VmState::Stopped => "Stopped",
            VmState::Suspending => "Suspending",
            VmState::Suspended => "Suspended",
            VmState::Migrating => "Moving",
            VmState::Failed => "Failed",
            VmState::Missing => "Missing",
            VmState::Deleting => "Deleting",
            VmState::Unknown => "Unknown",
        }
    }
}
