//! Faults a hub can be given while it runs. They show to the outside only: the hub's own actors go on.

use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    str::FromStr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Connections are closed as soon as they are made, open ones at once.
    Refuse,
    /// Nothing comes back: requests are taken and never answered, and open watches say nothing.
    BlackHole,
    /// The server shows a certificate that the kubeconfig's authority did not sign.
    CertificateChanged,
    /// The token is no longer taken: 401.
    Unauthorized,
    /// All rights are gone: 403.
    Forbidden,
    /// Every request is told to come back later: 429 with Retry-After.
    TooManyRequests,
    /// Every request fails: 500.
    ServerError,
    /// Every answer comes late.
    Slow,
    /// Open watches are cut, new ones end soon.
    WatchCut,
    /// Watches stay open and say nothing, while everything else is answered.
    WatchStalled,
    /// History is forgotten over and over: watches and paged lists get 410.
    Expired,
    /// Changes are made, but their answers are lost.
    ReplyLost,
    /// What is deleted gets a finalizer that nobody removes.
    StuckFinalizer,
    /// Answers end in the middle of their JSON; changes are made all the same.
    Truncated,
    /// The API server answers, and KubeVirt's own behind it does not: 503 for every call of virt-api.
    VirtApiDown,
    /// Somebody else was faster, again and again: 409 for every change of an object that is there.
    Conflict,
}

impl Fault {
    pub const ALL: [Self; 16] = [
        Self::Refuse,
        Self::BlackHole,
        Self::CertificateChanged,
        Self::Unauthorized,
        Self::Forbidden,
        Self::TooManyRequests,
        Self::ServerError,
        Self::Slow,
        Self::WatchCut,
        Self::WatchStalled,
        Self::Expired,
        Self::ReplyLost,
        Self::StuckFinalizer,
        Self::Truncated,
        Self::VirtApiDown,
        Self::Conflict,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::BlackHole => "black-hole",
            Self::CertificateChanged => "certificate-changed",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::TooManyRequests => "too-many-requests",
            Self::ServerError => "server-error",
            Self::Slow => "slow",
            Self::WatchCut => "watch-cut",
            Self::WatchStalled => "watch-stalled",
            Self::Expired => "expired",
            Self::ReplyLost => "reply-lost",
            Self::StuckFinalizer => "stuck-finalizer",
            Self::Truncated => "truncated",
            Self::VirtApiDown => "virt-api-down",
            Self::Conflict => "conflict",
        }
    }

    /// What it does, for people.
    pub fn about(self) -> &'static str {
        match self {
            Self::Refuse => "Connections are refused",
            Self::BlackHole => "Nothing is ever answered",
            Self::CertificateChanged => "Another certificate than the kubeconfig's",
            Self::Unauthorized => "The token is not accepted (401)",
            Self::Forbidden => "All rights are gone (403)",
            Self::TooManyRequests => "Told to come back later (429)",
            Self::ServerError => "Every request fails (500)",
            Self::Slow => "Answers come late",
            Self::WatchCut => "Watches are cut",
            Self::WatchStalled => "Watches stay open and say nothing",
            Self::Expired => "History is forgotten (410)",
            Self::ReplyLost => "Changes happen, their answers are lost",
            Self::StuckFinalizer => "Deletions never finish",
            Self::Truncated => "Answers end in the middle",
            Self::VirtApiDown => "KubeVirt's own API does not answer (503)",
            Self::Conflict => "Every update comes too late (409)",
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known: Vec<&str> = Self::ALL.iter().map(|fault| fault.name()).collect();
        let found = Self::ALL.into_iter().find(|fault| fault.name() == text);
        found.ok_or_else(|| format!("no fault is called {text}; there are {}", known.join(", ")))
    }
}

/// The faults of one hub, to be switched from anywhere.
#[derive(Debug, Clone)]
pub struct Faults(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    on: Mutex<BTreeSet<Fault>>,
    delay_millis: AtomicU64,
    /// How many more answers to changes get lost while ReplyLost is on; none: all of them.
    losses: Mutex<Option<u64>>,
    /// Counts switches; connections and watches look at the faults again when it moves.
    switched: watch::Sender<u64>,
    /// Counts how often all open connections were broken.
    broken: watch::Sender<u64>,
}

impl Default for Faults {
    fn default() -> Self {
        Self(Arc::new(Inner {
            on: Mutex::default(),
            delay_millis: AtomicU64::new(2000),
            losses: Mutex::default(),
            switched: watch::Sender::new(0),
            broken: watch::Sender::new(0),
        }))
    }
}

impl Faults {
    pub fn set(&self, fault: Fault, on: bool) {
        {
            let mut faults = self.on();
            if on {
                faults.insert(fault)
            } else {
                faults.remove(&fault)
            };
        }
        if fault == Fault::ReplyLost {
            *self.losses() = None;
        }
        self.0.switched.send_modify(|count| *count += 1);
    }

    /// Loses the answers to the next changes, then turns itself off.
    pub fn lose_replies(&self, count: u64) {
        self.set(Fault::ReplyLost, count > 0);
        *self.losses() = Some(count);
    }

    /// How late answers come while `Slow` is on.
    pub fn set_delay(&self, delay: Duration) {
        let millis = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self.0.delay_millis.store(millis, Ordering::Relaxed);
    }

    /// Every fault and whether it is on.
    pub fn list(&self) -> Vec<(Fault, bool)> {
        let on = self.on();
        Fault::ALL.into_iter().map(|fault| (fault, on.contains(&fault))).collect()
    }

    pub fn is_on(&self, fault: Fault) -> bool {
        self.on().contains(&fault)
    }

    pub fn clear(&self) {
        self.on().clear();
        self.0.switched.send_modify(|count| *count += 1);
    }

    /// Breaks every open connection, once, as when a load balancer starts anew. New ones are taken at once.
    pub fn break_connections(&self) {
        self.0.broken.send_modify(|count| *count += 1);
    }

    pub(crate) fn breaks(&self) -> watch::Receiver<u64> {
        self.0.broken.subscribe()
    }

    pub(crate) fn switches(&self) -> watch::Receiver<u64> {
        self.0.switched.subscribe()
    }

    pub(crate) fn delay(&self) -> Duration {
        Duration::from_millis(self.0.delay_millis.load(Ordering::Relaxed))
    }

    /// Whether the answer to this change is to be lost. Counts it.
    pub(crate) fn loses_this_reply(&self) -> bool {
        if !self.is_on(Fault::ReplyLost) {
            return false;
        }
        let mut losses = self.losses();
        if let Some(left) = losses.as_mut() {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.on().remove(&Fault::ReplyLost);
            }
        }
        true
    }

    fn on(&self) -> std::sync::MutexGuard<'_, BTreeSet<Fault>> {
        self.0.on.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn losses(&self) -> std::sync::MutexGuard<'_, Option<u64>> {
        self.0.losses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_found_by_its_name() {
        for fault in Fault::ALL {
            assert_eq!(fault.name().parse(), Ok(fault));
            assert_eq!(serde_json::to_value(fault).unwrap(), fault.name());
        }
        assert!("flood".parse::<Fault>().unwrap_err().contains("black-hole"));
    }

    #[test]
    fn a_counted_loss_ends_by_itself() {
        let faults = Faults::default();
        faults.lose_replies(2);
        assert_eq!([(); 3].map(|()| faults.loses_this_reply()), [true, true, false]);
    }
}
