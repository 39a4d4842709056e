//! The hub's clock. Real by default; a test or a demo can set it or push it forward.

use std::sync::{Arc, Mutex, PoisonError};
use time::{Duration, OffsetDateTime, macros::format_description};
use tokio::sync::watch;

#[derive(Debug, Clone, Default)]
pub struct Clock(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    setting: Mutex<Setting>,
    /// How far it was pushed so far.
    pushed: watch::Sender<Duration>,
}

#[derive(Debug, Clone, Copy)]
enum Setting {
    /// The machine's time and so much more.
    Shifted(Duration),
    Stopped(OffsetDateTime),
}

impl Default for Setting {
    fn default() -> Self {
        Self::Shifted(Duration::ZERO)
    }
}

impl Clock {
    /// A clock that stands still until somebody moves it.
    pub fn stopped_at(time: OffsetDateTime) -> Self {
        Self(Arc::new(Inner { setting: Mutex::new(Setting::Stopped(time)), ..Inner::default() }))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that others take as an argument")]
    pub fn now(&self) -> OffsetDateTime {
        match *self.0.setting.lock().unwrap_or_else(PoisonError::into_inner) {
            Setting::Shifted(by) => OffsetDateTime::now_utc() + by,
            Setting::Stopped(at) => at,
        }
    }

    pub fn advance(&self, by: Duration) {
        {
            let mut setting = self.0.setting.lock().unwrap_or_else(PoisonError::into_inner);
            *setting = match *setting {
                Setting::Shifted(so_far) => Setting::Shifted(so_far + by),
                Setting::Stopped(at) => Setting::Stopped(at + by),
            };
        }
        self.0.pushed.send_modify(|so_far| *so_far += by);
    }

    /// How far it was pushed so far, with word of every push: for what waits for a time to come.
    pub(crate) fn pushes(&self) -> watch::Receiver<Duration> {
        self.0.pushed.subscribe()
    }

    /// The time as Kubernetes writes it: whole seconds, UTC.
    pub(crate) fn stamp(&self) -> String {
        stamp(self.now())
    }
}

pub(crate) fn stamp(time: OffsetDateTime) -> String {
    let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");
    time.to_offset(time::UtcOffset::UTC).format(format).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    #[test]
    fn a_stopped_clock_moves_when_it_is_pushed() {
        let clock = Clock::stopped_at(datetime!(2030-01-02 03:04:05.678 UTC));
        assert_eq!(clock.stamp(), "2030-01-02T03:04:05Z");
        clock.advance(Duration::hours(1));
        assert_eq!(clock.stamp(), "2030-01-02T04:04:05Z");
    }
}
