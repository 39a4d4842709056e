//! How long things may take and how often is looked. The defaults are for real hubs; tests take shorter ones.
use hub::client::Options;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Times {
    /// How long a worker may be silent before others take its work, and how often it says that it lives.
    pub lease: Duration,
    pub extend: Duration,
    /// The longest that due work waits when nothing wakes us.
    pub poll: Duration,
    /// Who writes what a hub reports may be silent for so long.
    pub hub_lease: Duration,
    /// How often hubs that came, went or changed are looked for.
    pub look: Duration,
    /// How often a hub is looked at in full, and one that does not answer.
    pub check: Duration,
    pub check_silent: Duration,
    /// How often what closes a VDC on a hub is looked at: its namespace, quota and policies.
    pub drift: Duration,
    /// How often open tasks are held against what is known by now.
    pub sweep: Duration,
    /// What the pauses between two tries of a piece of work are multiplied by.
    pub pauses: f64,
    /// How hubs are called.
    pub calls: Options,
}

impl Default for Times {
    fn default() -> Times {
        Times {
            lease: Duration::from_secs(8),
            extend: Duration::from_secs(2),
            poll: Duration::from_secs(1),
            hub_lease: Duration::from_secs(6),
            look: Duration::from_secs(1),
            check: Duration::from_secs(60),
            check_silent: Duration::from_secs(5),
            drift: Duration::from_secs(300),
            sweep: Duration::from_secs(10),
            pauses: 1.0,
            calls: Options::default(),
        }
    }
}

impl Times {
    /// For tests of faults, where everything that is waited for is near.
    pub fn quick() -> Times {
        Times {
            lease: Duration::from_millis(1500),
            extend: Duration::from_millis(300),
            poll: Duration::from_millis(250),
            hub_lease: Duration::from_millis(1500),
            look: Duration::from_millis(250),
            check: Duration::from_secs(30),
            check_silent: Duration::from_millis(500),
            drift: Duration::from_secs(4),
            sweep: Duration::from_secs(1),
            pauses: 0.05,
            calls: Options {
                connect: Duration::from_secs(2),
                read: Duration::from_secs(3),
                write: Duration::from_secs(4),
                probe_every: Duration::from_millis(300),
                first_rest: Duration::from_millis(100),
                longest_rest: Duration::from_millis(800),
                ..Options::default()
            },
        }
    }

    /// A pause that a reconciler asked for.
    pub(crate) fn pause(&self, asked: Duration) -> Duration {
        asked.mul_f64(self.pauses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Within that a dead replica's work is gone on with.
    const TAKEN_OVER: Duration = Duration::from_secs(10);

    #[test]
    fn what_a_dead_replica_held_is_taken_over_within_ten_seconds() {
        for t in [Times::default(), Times::quick()] {
            // its lease ends, and others look
            assert!(t.lease + t.poll < TAKEN_OVER, "work: {:?} and {:?}", t.lease, t.poll);
            assert!(t.hub_lease + t.look < TAKEN_OVER, "hubs: {:?} and {:?}", t.hub_lease, t.look);
        }
    }

    #[test]
    fn one_that_lives_does_not_lose_what_it_holds_for_being_late_once() {
        for t in [Times::default(), Times::quick()] {
            assert!(t.extend * 3 < t.lease, "{:?} and {:?}", t.extend, t.lease);
            assert!(t.look * 3 < t.hub_lease, "{:?} and {:?}", t.look, t.hub_lease);
        }
    }
}
