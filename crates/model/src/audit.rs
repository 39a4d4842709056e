//! The audit: who did what, from where, with which right, and what it changed; refusals too.
use crate::{Action, AuditId, OrgId, UserId};
use serde::Serialize;
use time::OffsetDateTime;
use uuid::Uuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    Refused,
    Failed,
}

impl Outcome {
    pub const ALL: [Outcome; 3] = [Outcome::Done, Outcome::Refused, Outcome::Failed];

    pub fn key(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Refused => "refused",
            Outcome::Failed => "failed",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Outcome::Done => "Done",
            Outcome::Refused => "Refused",
            Outcome::Failed => "Failed",
        }
    }

    pub fn parse(key: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|o| o.key() == key)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditEntry {
    pub id: AuditId,
    pub org: Option<OrgId>,
    pub org_name: String,
    pub org_lives: bool,
    pub user: Option<UserId>,
    pub user_name: String,
    pub user_org: String,
    /// An action's key.
    pub action: String,
    pub right_used: String,
    pub object_kind: String,
    pub object_id: Option<Uuid>,
    pub object_name: String,
    /// Is it still there?
    pub object_lives: bool,
    pub outcome: Outcome,
    pub reason: String,
    /// What changed: field, before, after.
    pub changes: Vec<FieldChange>,
    pub via: String,
    pub address: String,
    pub request_id: String,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    pub field: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl AuditEntry {
    /// Before the object's name: "Created VDC" if it was, else "Create VDC".
    pub fn what(&self) -> String {
        match (Action::parse(&self.action), self.outcome) {
            (Some(a), Outcome::Done) => a.past().to_owned(),
            (Some(a), _) => a.order(),
            (None, _) => self.action.clone(),
        }
    }
}
