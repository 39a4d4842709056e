//! A hub that does not answer is left alone: after a few failures in a row only one call every few seconds goes out, to
//! see whether it is back. Everybody else is told at once.
use crate::error::{Error, Reach, Result};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use time::OffsetDateTime;
use tokio::time::Instant;

/// Failures in a row that open the circuit.
const FAILURES: u32 = 3;

/// How a hub is doing, from our calls to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub circuit: Circuit,
    /// The last good answer: what is known of the hub is of then.
    pub as_of: Option<OffsetDateTime>,
    /// Over, if it is older than `as_of`.
    pub last_error: Option<LastError>,
}

impl Health {
    /// It speaks, and no call succeeds: it does not know us any more, or fails itself. Watches that were open before may go on,
    /// so they say nothing of that.
    pub fn in_doubt(&self) -> bool {
        let failed = self.last_error.as_ref().filter(|last| self.as_of.is_none_or(|as_of| last.at > as_of));
        failed.is_some_and(|last| matches!(last.error, Error::Credentials(_) | Error::Server { .. }))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circuit {
    /// Not called yet.
    Unknown,
    /// It answers.
    Closed,
    /// It does not; one call every few seconds tries.
    Open { since: OffsetDateTime },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastError {
    pub error: Error,
    pub at: OffsetDateTime,
}

#[derive(Default)]
struct State {
    failures: u32,
    open: Option<Open>,
    as_of: Option<OffsetDateTime>,
    last_error: Option<LastError>,
}

struct Open {
    since: OffsetDateTime,
    next_probe: Instant,
}

pub(super) struct Breaker {
    state: Mutex<State>,
    probe_every: Duration,
}

impl Breaker {
    pub(super) fn new(probe_every: Duration) -> Breaker {
        Breaker { state: Mutex::default(), probe_every }
    }

    /// With jitter, so that many replicas don't knock at the same moment.
    fn next_probe(&self) -> Instant {
        Instant::now() + self.probe_every.mul_f64(rand::random_range(0.7..1.3))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// May a call go out? Whoever is let through an open circuit is the probe; the next one comes some seconds later,
    /// whatever becomes of this one.
    pub(super) fn admit(&self) -> Result<()> {
        let mut state = self.state();
        let last = state.last_error.as_ref().map(|e| e.error.message()).unwrap_or_default();
        let Some(open) = &mut state.open else { return Ok(()) };
        let now = Instant::now();
        if now >= open.next_probe {
            open.next_probe = self.next_probe();
            return Ok(());
        }
        let wait = (open.next_probe - now).as_secs() + 1;
        let last = last.trim_end_matches('.');
        Err(Error::Unreachable { why: Reach::Down, detail: format!("the next try is in {wait} s; last time: {last}") })
    }

    /// Would `admit` say no? For callers that would have to wait for a turn first.
    pub(super) fn look(&self) -> Result<()> {
        match &self.state().open {
            Some(open) if Instant::now() < open.next_probe => {}
            _ => return Ok(()),
        }
        self.admit()
    }

    pub(super) fn answered(&self, now: OffsetDateTime) {
        let mut state = self.state();
        state.failures = 0;
        state.open = None;
        state.as_of = Some(now);
    }

    /// A watch said something.
    pub(super) fn heard(&self, now: OffsetDateTime) {
        if !self.health().in_doubt() {
            self.answered(now);
        }
    }

    pub(super) fn failed(&self, error: &Error, now: OffsetDateTime) {
        let mut state = self.state();
        // that it was not asked says nothing new
        if matches!(error, Error::Unreachable { why: Reach::Down, .. }) {
            return;
        }
        state.last_error = Some(LastError { error: error.clone(), at: now });
        if !error.is_transport() {
            // it speaks, if only to say no
            state.failures = 0;
            state.open = None;
            return;
        }
        state.failures = state.failures.saturating_add(1);
        if state.failures >= FAILURES && state.open.is_none() {
            state.open = Some(Open { since: now, next_probe: self.next_probe() });
        }
    }

    pub(super) fn health(&self) -> Health {
        let state = self.state();
        let circuit = match &state.open {
            Some(open) => Circuit::Open { since: open.since },
            None if state.as_of.is_none() && state.last_error.is_none() => Circuit::Unknown,
            None => Circuit::Closed,
        };
        Health { circuit, as_of: state.as_of, last_error: state.last_error.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    const NOW: OffsetDateTime = datetime!(2026-01-02 03:04:05 UTC);

    fn refused() -> Error {
        Error::Unreachable { why: Reach::Refused, detail: "x".into() }
    }

    #[tokio::test(start_paused = true)]
    async fn three_failures_open_it_and_one_call_at_a_time_probes() {
        let b = Breaker::new(Duration::from_secs(5));
        assert_eq!(b.health().circuit, Circuit::Unknown);
        for _ in 0..2 {
            b.failed(&refused(), NOW);
            assert!(b.admit().is_ok());
        }
        b.failed(&refused(), NOW);
        assert_eq!(b.health().circuit, Circuit::Open { since: NOW });
        let e = b.admit().expect_err("open");
        assert!(e.to_string().contains("refused the connection"), "the first cause is named: {e}");
        tokio::time::advance(Duration::from_secs(7)).await;
        assert!(b.look().is_ok(), "looking takes no turn");
        assert!(b.admit().is_ok(), "one probe");
        assert!(b.admit().is_err(), "and no second");
        b.failed(&refused(), NOW);
        assert!(b.admit().is_err());
        tokio::time::advance(Duration::from_secs(7)).await;
        assert!(b.admit().is_ok());
        b.answered(NOW);
        assert!(b.admit().is_ok() && b.admit().is_ok(), "closed again");
        assert_eq!(b.health().as_of, Some(NOW));
    }

    #[tokio::test(start_paused = true)]
    async fn a_hub_that_says_no_is_not_down() {
        let b = Breaker::new(Duration::from_secs(5));
        for _ in 0..2 {
            b.failed(&refused(), NOW);
        }
        b.failed(&Error::Credentials("Unauthorized".into()), NOW);
        b.failed(&refused(), NOW);
        assert!(b.admit().is_ok(), "not in a row");
        let health = b.health();
        assert_eq!(health.circuit, Circuit::Closed);
        assert_eq!(health.as_of, None, "a no is no good answer");
    }

    #[tokio::test(start_paused = true)]
    async fn not_being_asked_does_not_hide_the_cause() {
        let b = Breaker::new(Duration::from_secs(5));
        for _ in 0..3 {
            b.failed(&refused(), NOW);
        }
        let down = b.admit().expect_err("open");
        b.failed(&down, NOW);
        assert_eq!(b.health().last_error.map(|e| e.error), Some(refused()));
    }
}
