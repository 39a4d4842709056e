//! Events: what happened, for people who follow along.
use crate::{EventId, Kind, OrgId, UserId, share::Grant};
use serde::Serialize;
use time::OffsetDateTime;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    pub id: EventId,
    pub org: OrgId,
    pub org_name: String,
    pub org_lives: bool,
    pub user: Option<UserId>,
    pub user_name: String,
    /// An action's key.
    pub kind: String,
    pub object_kind: String,
    pub object_id: Option<Uuid>,
    pub object_name: String,
    /// Is it still there?
    pub object_lives: bool,
    pub message: String,
    pub request_id: String,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
}

/// That something changed, not how: who may see what is decided when it is read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub org: OrgId,
    pub user: Option<UserId>,
    /// Whose thing it is, where it is somebody's.
    pub owner: Option<UserId>,
    pub kind: Kind,
    pub id: Option<Uuid>,
    /// With whom it is shared, or was until now.
    pub shares: Vec<Grant>,
}
