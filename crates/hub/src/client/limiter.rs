//! How fast a hub is asked: a bucket of tokens that fills at a steady rate.
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

pub(super) struct Limiter {
    every: Duration,
    burst: u32,
    /// The moment at which the bucket would be full, were nothing taken any more.
    full_at: Mutex<Instant>,
}

impl Limiter {
    pub(super) fn new(per_second: u32, burst: u32) -> Limiter {
        let every = Duration::from_secs(1) / per_second.max(1);
        Limiter { every, burst: burst.max(1), full_at: Mutex::new(Instant::now()) }
    }

    /// Takes a token, waiting for it where there is none.
    pub(super) async fn take(&self) {
        let turn = {
            let now = Instant::now();
            let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
            *full_at = (*full_at).max(now) + self.every;
            *full_at - self.every * self.burst
        };
        if turn > Instant::now() {
            sleep_until(turn).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_at_once_and_the_rest_at_the_rate() {
        let limiter = Limiter::new(100, 20);
        let start = Instant::now();
        for _ in 0..20 {
            limiter.take().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        for _ in 0..100 {
            limiter.take().await;
        }
        let took = start.elapsed();
        assert!((Duration::from_millis(990)..Duration::from_millis(1050)).contains(&took), "{took:?}");
        tokio::time::sleep(Duration::from_secs(10)).await;
        let rested = Instant::now();
        for _ in 0..20 {
            limiter.take().await;
        }
        assert!(rested.elapsed() < Duration::from_millis(5), "the bucket is full again, and not fuller");
        limiter.take().await;
        assert!(rested.elapsed() >= Duration::from_millis(9));
    }
}
