//! The queue of work, as the provider sees it.
use crate::{Kind, OrgId};
use serde::Serialize;
use time::OffsetDateTime;
use uuid::Uuid;

/// One object that is not yet as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkItem {
    pub kind: Kind,
    pub id: Uuid,
    pub name: String,
    pub org: OrgId,
    pub org_name: String,
    /// Empty: no hub has been chosen.
    pub hub: String,
    pub attempt: i32,
    pub last_error: String,
    pub state: WorkState,
    #[serde(with = "time::serde::rfc3339")]
    pub not_before: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkState {
    Queued,
    /// A worker is at it.
    Running,
    /// It waits for something else: a hub, a namespace, the machine before it.
    Waiting,
    /// It failed and is tried again.
    Retrying,
    /// It will not work by trying again.
    Failed,
}

impl WorkState {
    pub fn label(self) -> &'static str {
        match self {
            WorkState::Queued => "Queued",
            WorkState::Running => "Running",
            WorkState::Waiting => "Waiting",
            WorkState::Retrying => "Retrying",
            WorkState::Failed => "Failed",
        }
    }
}

/// The queue in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WorkDepth {
    pub queued: i64,
    pub running: i64,
    pub waiting: i64,
    pub retrying: i64,
    pub failed: i64,
    #[serde(with = "time::serde::rfc3339::option")]
    pub oldest: Option<OffsetDateTime>,
}

/// The part of the queue that is one hub's or one organization's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkShare {
    /// A hub's id (empty: none is chosen yet) or an organization's.
    pub id: String,
    pub name: String,
    pub all: i64,
    /// What failed, and what failed and is tried again.
    pub failing: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub oldest: OffsetDateTime,
    /// The reason that is given most.
    pub why: String,
}
