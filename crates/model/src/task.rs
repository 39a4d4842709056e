//! Tasks: what was asked for, until it is done.
use crate::{Action, Kind, OrgId, TaskId, UserId};
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
    pub status: TaskStatus,
    /// In percent, where it is known.
    pub progress: Option<i16>,
    pub message: String,
    pub request_id: String,
    #[serde(with = "time::serde::rfc3339")]
    pub started_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339::option")]
    pub ended_at: Option<OffsetDateTime>,
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
