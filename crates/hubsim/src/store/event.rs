//! What happened to an object, and what a watcher with a selector sees of it.

use serde_json::Value;
use std::sync::Arc;

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Added,
    Modified,
    Deleted,
}

impl Change {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub version: u64,
    pub change: Change,
    pub object: Arc<Value>,
    pub before: Option<Arc<Value>>,
}

type Sees = dyn Fn(&str, Change, &Value) + Send + Sync;

/// Somebody who sees every change of every object, in the order they are made.
#[derive(Clone)]
pub(crate) struct Witness(pub Arc<Sees>);

impl std::fmt::Debug for Witness {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a witness")
    }
}

impl Event {
    /// The event as it looks to somebody who only sees what `wanted` lets through. Leaving the selection looks like
    /// a deletion of the old state, with the new version.
    pub(crate) fn seen(&self, wanted: impl Fn(&Value) -> bool) -> Option<(Change, Arc<Value>)> {
        let is = wanted(&self.object);
        match self.change {
            Change::Added | Change::Deleted => is.then(|| (self.change, self.object.clone())),
            Change::Modified => match (self.before.as_ref().filter(|before| wanted(before)), is) {
                (Some(_), true) => Some((Change::Modified, self.object.clone())),
                (None, true) => Some((Change::Added, self.object.clone())),
                (Some(before), false) => {
                    let mut last = (**before).clone();
                    last["metadata"]["resourceVersion"] = self.version.to_string().into();
                    Some((Change::Deleted, Arc::new(last)))
                }
                (None, false) => None,
            },
        }
    }
}
