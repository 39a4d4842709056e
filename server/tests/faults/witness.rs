//! Sees every change on every hub as it is made, so that what was wrong for a moment only is found too.
use hubsim::{Change, Hub};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard},
};

pub(crate) const VM_ID: &str = "ssvirt.io/vm-id";

#[derive(Default)]
pub(crate) struct Seen {
    /// By VM id: the instances that run now, by hub and uid.
    running: BTreeMap<String, BTreeSet<String>>,
    /// VMs whose instances ran twice at the same time.
    pub(crate) twice: BTreeSet<String>,
    /// Objects that nobody may touch, by uid: what they are, and their content as it was.
    guarded: BTreeMap<String, (String, Value)>,
    /// What happened to those.
    pub(crate) harmed: Vec<String>,
    /// VMs that were deleted, by uid, with the id of their label.
    pub(crate) deleted: BTreeMap<String, String>,
    /// What the test itself did by hand.
    by_hand: BTreeSet<String>,
}

#[derive(Clone, Default)]
pub(crate) struct Witness(Arc<Mutex<Seen>>);

impl Witness {
    pub(crate) fn watch(&self, hub: &Hub) {
        let (seen, name) = (self.clone(), hub.name().to_owned());
        hub.witness(move |resource, change, object| seen.note(&name, resource, change, object));
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap()
    }

    /// From now on it must stay as it is.
    pub(crate) fn guard(&self, what: &str, object: &Value) {
        self.seen().guarded.insert(uid(object), (what.to_owned(), content(object)));
    }

    pub(crate) fn guards(&self, object: &Value) -> bool {
        self.seen().guarded.contains_key(&uid(object))
    }

    /// What was deleted by now was asked for, though nobody knows that any more.
    pub(crate) fn forgive(&self) {
        let mut seen = self.seen();
        let deleted = std::mem::take(&mut seen.deleted);
        seen.by_hand.extend(deleted.into_keys());
    }

    /// The test itself deletes this one.
    pub(crate) fn by_hand(&self, uid: &str) {
        self.seen().by_hand.insert(uid.to_owned());
    }

    fn note(&self, hub: &str, resource: &str, change: Change, object: &Value) {
        let mut seen = self.seen();
        let (uid, vm) = (uid(object), label(object, VM_ID));
        if let Some((what, before)) = seen.guarded.get(&uid)
            && (change == Change::Deleted
                || object["metadata"]["deletionTimestamp"].is_string()
                || *before != content(object))
        {
            let told = format!("{what} was {}", if change == Change::Modified { "changed" } else { "deleted" });
            seen.harmed.push(told);
            seen.guarded.remove(&uid);
        }
        match resource {
            "virtualmachineinstances" if !vm.is_empty() => {
                let runs = change != Change::Deleted && object["status"]["phase"] == "Running";
                let now = seen.running.entry(vm.clone()).or_default();
                if runs {
                    now.insert(format!("{hub}/{uid}"));
                } else {
                    now.remove(&format!("{hub}/{uid}"));
                }
                if now.len() > 1 {
                    seen.twice.insert(vm);
                }
            }
            "virtualmachines" if change == Change::Deleted && !seen.by_hand.contains(&uid) => {
                seen.deleted.insert(uid, vm);
            }
            _ => {}
        }
    }
}

fn content(object: &Value) -> Value {
    serde_json::json!([object["spec"], object["metadata"]["labels"], object["data"]])
}

pub(crate) fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

pub(crate) fn label(object: &Value, key: &str) -> String {
    object["metadata"]["labels"][key].as_str().unwrap_or_default().to_owned()
}
