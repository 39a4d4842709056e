//! Sessions in the portal.
use time::OffsetDateTime;

/// A session as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    pub current: bool,
    pub address: String,
    pub agent: String,
    pub created_at: OffsetDateTime,
    pub last_seen_at: OffsetDateTime,
}
