//! The loop every actor runs: hear of changes, look at what they concern, and bring it one step on.
use super::{
    api::{Result, is_conflict, is_not_found},
    kind::Kind,
    mirror::{Key, Shelf},
    queue::Queue,
    world::World,
};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Whether to look again without being told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    No,
    In(Duration),
}

impl Again {
    pub(crate) fn or_in(self, wait: Duration) -> Again {
        match self {
            Again::In(earlier) if earlier <= wait => self,
            _ => Again::In(wait),
        }
    }
}

impl From<Option<Duration>> for Again {
    fn from(wait: Option<Duration>) -> Again {
        wait.map_or(Again::No, Again::In)
    }
}

/// Level-triggered: a look sees the object as it is now and does the next thing, however it came to be so.
pub(crate) trait Actor: Send + Sync + 'static {
    const KIND: Kind;
    /// Kinds whose changes may concern an object of this one.
    const HEARS: &'static [Kind];

    fn concerns(kind: Kind, old: Option<&Value>, new: Option<&Value>) -> Vec<Key>;

    fn look(world: &World, object: Arc<Value>) -> impl Future<Output = Result<Again>> + Send;

    /// Drops what was remembered of an object that is gone.
    fn gone(world: &World, key: &Key);
}

/// Looks at the same time. The server is the limit, not we.
const HANDS: usize = 4;
const SLOWEST_RETRY: Duration = Duration::from_secs(30);

/// Fills the queue from the shelves.
pub(crate) fn listen<A: Actor>(shelves: &mut HashMap<Kind, Shelf>) -> Arc<Queue> {
    let queue = Arc::new(Queue::default());
    for kind in A::HEARS.iter().copied() {
        let queue = queue.clone();
        shelves.entry(kind).or_insert_with(|| Shelf::new(kind)).listen(Box::new(move |old, new| {
            for key in A::concerns(kind, old, new) {
                queue.add(key);
            }
        }));
    }
    shelves.entry(A::KIND).or_insert_with(|| Shelf::new(A::KIND));
    queue
}

/// Works until it is dropped.
pub(crate) async fn work<A: Actor>(world: Arc<World>, queue: Arc<Queue>) {
    // a look at half a mirror would see what is missing as gone
    for shelf in world.shelves.values() {
        shelf.filled().await;
    }
    let attempts: Mutex<HashMap<Key, u32>> = Mutex::default();
    let hand = || async {
        loop {
            let key = queue.next().await;
            let again = turn::<A>(&world, &attempts, &key).await;
            queue.done(&key, again);
        }
    };
    futures::future::join_all((0..HANDS).map(|_| hand())).await;
}

/// Looks at everything once, because something changed that no object shows.
pub(crate) async fn look_again_at_all<A: Actor>(world: Arc<World>, queue: Arc<Queue>) {
    let mut changes = world.failures.changes();
    while changes.changed().await.is_ok() {
        for object in world.all(A::KIND) {
            queue.add(Key::of(&object));
        }
    }
}

async fn turn<A: Actor>(world: &World, attempts: &Mutex<HashMap<Key, u32>>, key: &Key) -> Option<Duration> {
    let attempts_now = || attempts.lock().unwrap_or_else(PoisonError::into_inner);
    let shelf = world.shelves.get(&A::KIND)?;
    let Some(object) = shelf.get(key) else {
        world.forget_pace(A::KIND, key);
        attempts_now().remove(key);
        A::gone(world, key);
        return None;
    };
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    match A::look(world, object).await {
        Ok(again) => {
            attempts_now().remove(key);
            match again {
                Again::No => None,
                Again::In(wait) => Some(wait),
            }
        }
        Err(e) => {
            let n = {
                let mut all = attempts_now();
                let n = all.entry(key.clone()).or_default();
                *n += 1;
                *n
            };
            if is_conflict(&e) {
                // the mirror is behind: its news will come, this is for when they came already
                return Some(Duration::from_millis(20) * n.min(50));
            }
            if is_not_found(&e)
                && let Ok(None) = world.api.get(A::KIND, &key.namespace, &key.name).await
            {
                shelf.forget(key, &uid);
                return None;
            }
            tracing::debug!(kind = A::KIND.kind, %key, error = %e, "a look failed");
            Some((Duration::from_millis(100) * 2_u32.saturating_pow(n.min(10))).min(SLOWEST_RETRY))
        }
    }
}
