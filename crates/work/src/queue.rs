//! Takes work that is due and hands it to its reconciler. A worker that dies loses its lease, and another goes on.
use crate::{
    Shared,
    drill::{Step, at},
    reconcile,
};
use model::Kind;
use rand::Rng;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use store::{Claim, Later};
use tokio::{sync::watch, task::JoinSet, time::Instant};
use tracing::Instrument;
use uuid::Uuid;

const AT_ONCE: usize = 64;
const SLOWEST: Duration = Duration::from_secs(60);
/// Claims are at least so far apart: what ends or comes together is claimed together.
const GATHER: Duration = Duration::from_millis(5);

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

/// What this process works on at the moment, by kind and id, with the epoch it was claimed under.
#[derive(Clone, Default)]
struct Held(Arc<Mutex<HashMap<(Kind, Uuid), i64>>>);

impl Held {
    fn all(&self) -> MutexGuard<'_, HashMap<(Kind, Uuid), i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, claim: &Claim) -> Holding {
        self.all().insert((claim.kind, claim.id), claim.epoch);
        Holding { held: self.clone(), key: (claim.kind, claim.id), epoch: claim.epoch }
    }

    fn list(&self) -> Vec<(Kind, Uuid, i64)> {
        self.all().iter().map(|((kind, id), epoch)| (*kind, *id, *epoch)).collect()
    }
}

/// Ends with the work, however that ends.
struct Holding {
    held: Held,
    key: (Kind, Uuid),
    epoch: i64,
}

impl Drop for Holding {
    fn drop(&mut self) {
        let mut all = self.held.all();
        // by now it may have been claimed again
        if all.get(&self.key) == Some(&self.epoch) {
            all.remove(&self.key);
        }
    }
}

pub(crate) async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let times = &shared.times;
    let mut running: JoinSet<()> = JoinSet::new();
    let held = Held::default();
    let mut extend = Instant::now();
    let mut looked = Instant::now() - GATHER;
    while !*stop.borrow() {
        if extend.elapsed() >= times.extend {
            extend = Instant::now();
            if let Err(e) = at(Step::Extend, shared.store.extend_leases(&held.list(), times.lease)).await {
                tracing::debug!(error = %e, "leases could not be extended");
            }
        }
        tokio::time::sleep_until(looked + GATHER).await;
        looked = Instant::now();
        while running.try_join_next().is_some() {}
        let free = AT_ONCE.saturating_sub(running.len());
        let claimed = match free {
            0 => Vec::new(),
            _ => shared.store.claim(&shared.owner, free as i64, times.lease).await.unwrap_or_else(|e| {
                tracing::debug!(error = %e, "work could not be claimed");
                Vec::new()
            }),
        };
        for claim in claimed {
            let shared = shared.clone();
            let holding = held.take(&claim);
            // the number of the request leads from its page to what workers and hubs did about it
            let span = tracing::info_span!("work", request_id = claim.request, kind = claim.kind.key(), id = %claim.id);
            let done = async move {
                at(Step::Work, work_on(&shared, claim)).await;
                drop(holding);
            };
            running.spawn(done.instrument(span));
        }
        tokio::select! {
            () = shared.store.work_comes() => {}
            _ = running.join_next(), if !running.is_empty() => {}
            () = tokio::time::sleep(times.poll.min(times.extend)) => {}
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
            tracing::error!(error = %why, "work failed");
        }
        Outcome::Retry(None, internal(&e).into())
    });
    let written = match outcome {
        Outcome::Done => at(Step::WorkDone, shared.store.work_done(&claim)).await,
        Outcome::Wait(after, why) => {
            let after = shared.times.pause(after);
            at(Step::WorkLater, shared.store.work_later(&claim, &Later::Wait { after, why: why.full })).await
        }
        Outcome::Retry(after, why) => {
            let after = shared.times.pause(after.unwrap_or_else(|| pause(claim.attempt)));
            at(Step::WorkLater, shared.store.work_later(&claim, &Later::Retry { after, why: why.full })).await
        }
        Outcome::Failed(why) => {
            tracing::warn!(error = why.full, "work failed for good");
            at(Step::WorkLater, shared.store.work_later(&claim, &Later::Failed { why: why.full })).await
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
