//! Sign-ins under way: what this browser must bring back, kept in its session under the state it was sent off with.
use app::{
    pages::sign_in::{SSO_TIME, keep_for_sso},
    portal::Ask,
};
use model::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use time::OffsetDateTime;

/// The session's key.
const KEY: &str = "sso";
/// Tabs of one browser that are on their way at once. One more, and the oldest has to start again.
const MOST: usize = 5;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Pending {
    pub org: String,
    /// Of the provider's settings: a sign-in does not outlive a change of them.
    pub version: i64,
    pub nonce: String,
    pub verifier: String,
    pub redirect_uri: String,
    pub next: String,
    #[serde(with = "time::serde::timestamp")]
    pub begun_at: OffsetDateTime,
}

pub(super) async fn keep(ask: &Ask, state: &str, pending: Pending) -> Result<()> {
    let session = ask.session.as_ref().ok_or_else(|| Error::Internal("no session layer".into()))?;
    let all = session.get::<BTreeMap<String, Pending>>(KEY).await;
    let mut all =
        all.map_err(|e| Error::Unavailable(format!("The session could not be read: {e}")))?.unwrap_or_default();
    while all.len() >= MOST {
        let oldest = all.iter().min_by_key(|(_, p)| p.begun_at).map(|(state, _)| state.clone());
        oldest.map(|state| all.remove(&state));
    }
    all.insert(state.to_owned(), pending);
    keep_for_sso(ask, KEY, all).await
}

/// Hands it out once, to the browser that it belongs to, while it is fresh.
pub(super) async fn take(ask: &Ask, state: &str) -> Result<Option<Pending>> {
    let domain = &ask.portal.domain;
    let now = domain.now();
    if state.is_empty() || ask.visitor.session_hash.is_empty() {
        return Ok(None);
    }
    let found = domain.store.session_take(&ask.visitor.session_hash, KEY, state, now).await?;
    let pending = found.and_then(|value| serde_json::from_value::<Pending>(value).ok());
    Ok(pending.filter(|p| now - p.begun_at < SSO_TIME))
}
