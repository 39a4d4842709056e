//! What has to be looked at, and when. A key is in it at most once, and in one pair of hands at a time.
use super::mirror::Key;
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    order: BTreeSet<(Instant, Key)>,
    due: HashMap<Key, Instant>,
    busy: HashSet<Key>,
    /// Asked for again while busy.
    waiting: HashMap<Key, Instant>,
}

impl State {
    fn add(&mut self, key: Key, at: Instant) {
        if self.busy.contains(&key) {
            let earlier = self.waiting.get(&key).is_none_or(|old| at < *old);
            if earlier {
                self.waiting.insert(key, at);
            }
            return;
        }
        if let Some(old) = self.due.get(&key).copied() {
            if old <= at {
                return;
            }
            self.order.remove(&(old, key.clone()));
        }
        self.order.insert((at, key.clone()));
        self.due.insert(key, at);
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, key: Key) {
        self.add_after(key, Duration::ZERO);
    }

    pub(crate) fn add_after(&self, key: Key, wait: Duration) {
        self.state().add(key, Instant::now() + wait);
        self.changed.notify_one();
    }

    /// The next key that is due. Give it back with `done`.
    pub(crate) async fn next(&self) -> Key {
        loop {
            let due = {
                let mut state = self.state();
                match state.order.first().map(|(at, _)| *at) {
                    Some(at) if at <= Instant::now() => {
                        let Some((_, key)) = state.order.pop_first() else { continue };
                        state.due.remove(&key);
                        state.busy.insert(key.clone());
                        if !state.order.is_empty() {
                            // more may be due: another pair of hands should look
                            self.changed.notify_one();
                        }
                        return key;
                    }
                    other => other,
                }
            };
            match due {
                Some(at) => tokio::select! {
                    () = sleep_until(at) => {}
                    () = self.changed.notified() => {}
                },
                None => self.changed.notified().await,
            }
        }
    }

    pub(crate) fn done(&self, key: &Key, again: Option<Duration>) {
        {
            let mut state = self.state();
            state.busy.remove(key);
            if let Some(at) = state.waiting.remove(key) {
                state.add(key.clone(), at);
            }
            if let Some(wait) = again {
                state.add(key.clone(), Instant::now() + wait);
            }
        }
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::new("a", name)
    }

    #[tokio::test(start_paused = true)]
    async fn keys_come_once_and_in_the_order_they_are_due() {
        let q = Queue::default();
        q.add_after(key("late"), Duration::from_secs(5));
        q.add_after(key("soon"), Duration::from_secs(9));
        q.add(key("soon"));
        q.add(key("soon"));
        assert_eq!(q.next().await, key("soon"));
        assert_eq!(q.next().await, key("late"));
        assert!(tokio::time::timeout(Duration::from_secs(60), q.next()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_asked_for_while_busy_comes_after_it_is_done() {
        let q = Queue::default();
        q.add(key("x"));
        let x = q.next().await;
        q.add(key("x"));
        assert!(tokio::time::timeout(Duration::from_secs(1), q.next()).await.is_err());
        q.done(&x, None);
        assert_eq!(q.next().await, key("x"));
    }
}
