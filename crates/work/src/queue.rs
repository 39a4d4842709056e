//! Takes work that is due and hands it to its reconciler. A worker that dies loses its lease, and another goes on.
use crate::{Shared, reconcile};
use rand::Rng;
use std::{sync::Arc, time::Duration};
use store::{Claim, Later};
use tokio::{sync::watch, task::JoinSet, time::Instant};

/// How long a worker may be silent before others take its work.
const LEASE: Duration = Duration::from_secs(8);
const EXTEND: Duration = Duration::from_secs(2);
/// The longest that due work waits when nothing wakes us.
const POLL: Duration = Duration::from_secs(1);
const AT_ONCE: usize = 64;
const SLOWEST: Duration = Duration::from_secs(60);

/// What became of a piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The hub is at what was asked for, as far as calls go.
    Done,
    /// Something else comes first.
    Wait(Duration, Why),
    /// It failed; after how long is it tried again? None: by the queue's own rhythm.
    Retry(Option<Duration>, Why),
    /// Trying again will not help.
    Failed(Why),
}

impl Outcome {
    /// The same with other words.
    pub(crate) fn because(self, words: impl FnOnce(Why) -> Why) -> Outcome {
        match self {
            Outcome::Done => Outcome::Done,
            Outcome::Wait(after, why) => Outcome::Wait(after, words(why)),
            Outcome::Retry(after, why) => Outcome::Retry(after, words(why)),
            Outcome::Failed(why) => Outcome::Failed(words(why)),
        }
    }
}

/// Why something is not done: in full for the provider, and for those who wait without what is not theirs to know, such
/// as the address of a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Why {
    pub full: String,
    pub plain: String,
}

impl<T: Into<String>> From<T> for Why {
    fn from(text: T) -> Why {
        let full = text.into();
        Why { plain: full.clone(), full }
    }
}

pub(crate) async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut running: JoinSet<()> = JoinSet::new();
    let mut extend = Instant::now();
    while !*stop.borrow() {
        if extend.elapsed() >= EXTEND {
            extend = Instant::now();
            if let Err(e) = shared.store.extend_leases(&shared.owner, LEASE).await {
                tracing::debug!(error = %e, "leases could not be extended");
            }
        }
        while running.try_join_next().is_some() {}
        let free = AT_ONCE.saturating_sub(running.len());
        let claimed = match free {
            0 => Vec::new(),
            _ => shared.store.claim(&shared.owner, free as i64, LEASE).await.unwrap_or_else(|e| {
                tracing::debug!(error = %e, "work could not be claimed");
                Vec::new()
            }),
        };
        let some = !claimed.is_empty();
        for claim in claimed {
            let shared = shared.clone();
            running.spawn(async move { work_on(&shared, claim).await });
        }
        if some {
            continue;
        }
        tokio::select! {
            () = shared.store.work_comes() => {}
            _ = running.join_next(), if !running.is_empty() => {}
            () = tokio::time::sleep(POLL.min(EXTEND)) => {}
            _ = stop.changed() => {}
        }
    }
    // what is under way ends by itself: calls have their own limits
    let end = Instant::now() + Duration::from_secs(5);
    while !running.is_empty() && Instant::now() < end {
        let _ = tokio::time::timeout_at(end, running.join_next()).await;
    }
    running.abort_all();
}

async fn work_on(shared: &Shared, claim: Claim) {
    let outcome = reconcile::reconcile(shared, &claim).await.unwrap_or_else(|e| {
        if let model::Error::Internal(why) = &e {
            tracing::error!(kind = claim.kind.key(), id = %claim.id, error = %why, "work failed");
        }
        Outcome::Retry(None, internal(&e).into())
    });
    let written = match outcome {
        Outcome::Done => shared.store.work_done(&claim).await,
        Outcome::Wait(after, why) => shared.store.work_later(&claim, &Later::Wait { after, why: why.full }).await,
        Outcome::Retry(after, why) => {
            let after = after.unwrap_or_else(|| pause(claim.attempt));
            shared.store.work_later(&claim, &Later::Retry { after, why: why.full }).await
        }
        Outcome::Failed(why) => {
            tracing::warn!(kind = claim.kind.key(), id = %claim.id, error = why.full, "work failed for good");
            shared.store.work_later(&claim, &Later::Failed { why: why.full }).await
        }
    };
    if let Err(e) = written {
        tracing::debug!(error = %e, "the result could not be written; the lease ends and it is done again");
    }
}

fn internal(e: &model::Error) -> String {
    match e {
        model::Error::Internal(why) => why.clone(),
        e => e.to_string(),
    }
}

/// Longer each time, with some chance in it so that not all come back together.
fn pause(attempt: i32) -> Duration {
    let base = Duration::from_millis(500) * 2_u32.pow(attempt.clamp(0, 7) as u32);
    let jitter = rand::rng().random_range(0.75..1.25);
    base.min(SLOWEST).mul_f64(jitter)
}
