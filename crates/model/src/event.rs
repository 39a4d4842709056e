//! Events: what happened, for people who follow along.
use crate::{EventId, Kind, OrgId, UserId, share::Grant};
use serde::{Deserialize, Serialize};
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
    /// It is a disc of a catalog: its kind says that it is a template.
    pub medium: bool,
    pub message: String,
    pub request_id: String,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
}

/// What an open page is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    One(Change),
    /// More than anybody listed, or nobody knows what.
    Much,
}

/// That something changed, not how: who may see what is decided when it is read again. It goes from replica to replica, so it
/// holds ids alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Change {
    pub org: OrgId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// Whose thing it is, where it is somebody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    pub kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Uuid>,
    /// With whom it is shared, or was until now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Grant>,
}
