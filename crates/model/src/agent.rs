//! What is known of the guest inside a machine, through the agent that runs there.
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// The system, as the hub shows it while the agent answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct System {
    pub name: String,
    pub version: String,
    pub kernel: String,
}

/// What the agent says when it is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Told {
    pub hostname: String,
    pub timezone: String,
    /// The agent's own version.
    pub agent: String,
    pub file_systems: Vec<FileSystem>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileSystem {
    pub mount: String,
    pub kind: String,
    pub used: i64,
    pub total: i64,
}

/// A guest, as last known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guest {
    /// Does its agent answer? Without one nothing else is known of it.
    pub agent: bool,
    pub system: System,
    pub told: Told,
    /// When it said what it told; None: it was not asked yet.
    pub told_at: Option<OffsetDateTime>,
}
