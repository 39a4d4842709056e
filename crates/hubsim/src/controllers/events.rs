//! Events are kept for an hour, as on a real cluster.

use crate::{answer::Result, meta, store::State};
use std::time::Duration;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

pub(super) const SWEEP_EVERY: Duration = Duration::from_secs(60);
const KEPT: Duration = Duration::from_secs(3600);

pub(super) fn sweep(state: &mut State, now: OffsetDateTime) -> Result<()> {
    let Some(id) = state.find("", "events") else { return Ok(()) };
    let time = |text: &str| OffsetDateTime::parse(text, &Rfc3339).ok();
    let old: Vec<(String, String)> = state
        .list(id, None)
        .filter(|event| {
            let last = event["lastTimestamp"].as_str().and_then(time);
            let last = last.or_else(|| time(meta::text(event, "creationTimestamp")));
            last.is_some_and(|last| now - last > KEPT)
        })
        .map(|event| (meta::namespace(event).to_owned(), meta::name(event).to_owned()))
        .collect();
    for (namespace, name) in old {
        state.remove(id, &namespace, &name)?;
    }
    Ok(())
}
