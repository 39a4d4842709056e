//! Where hubs differ from each other is said once when it comes, and once when it is over: a VM may go to any of them.
use crate::Shared;
use std::collections::BTreeMap;
use tokio::time::Instant;

/// What was said last.
#[derive(Default)]
pub(crate) struct Differences {
    said: BTreeMap<String, String>,
    looked: Option<Instant>,
}

impl Differences {
    /// As often as hubs are looked at.
    pub(crate) async fn look(&mut self, shared: &Shared) {
        if self.looked.is_some_and(|at| at.elapsed() < shared.times.check) {
            return;
        }
        self.looked = Some(Instant::now());
        let found = match domain::difference::known_to(&shared.store).await {
            Ok(found) => found,
            Err(e) => return tracing::debug!(error = %e, "hubs could not be compared"),
        };
        let line = |d: &model::hub::HubDifference| {
            format!("{}: {} has {}, {} has {}. {}", d.what, d.hub, d.here, d.baseline, d.there, d.means)
        };
        let now: BTreeMap<String, String> =
            found.iter().map(|d| (format!("{} of hub {}", d.what, d.hub), line(d))).collect();
        for (_, line) in now.iter().filter(|(what, line)| self.said.get(*what) != Some(*line)) {
            tracing::warn!("⚠️ hubs differ: {line}");
        }
        for what in self.said.keys().filter(|what| !now.contains_key(*what)) {
            tracing::info!("✅ hubs differ no more: {what}");
        }
        self.said = now;
    }
}
