//! What is told without an event, as what a hub reports: gathered for a moment, then sent to every replica as few notifications.
//! These carry ids and nothing else.
use model::event::Change;
use serde::Serialize;
use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// PostgreSQL takes less than 8,000 bytes.
const LONGEST: usize = 7_900;
/// More than this at once is not listed.
const MOST: usize = 1_000;
/// So many lines of a sharing go with one change, so that it fits.
const LINES: usize = 50;
/// In place of a list: whoever shows something reads it anew.
const MUCH: &str = "much";

#[derive(Default)]
pub(crate) struct Told {
    waiting: Mutex<Waiting>,
    bell: Notify,
}

#[derive(Default)]
struct Waiting {
    changes: HashSet<Change>,
    much: bool,
}

impl Told {
    pub(crate) fn add(&self, change: Change) {
        let mut waiting = self.waiting();
        if !waiting.much {
            waiting.changes.insert(change);
            waiting.much = waiting.changes.len() > MOST;
        }
        self.bell.notify_one();
    }

    /// What was taken did not arrive.
    pub(crate) fn lost(&self) {
        self.waiting().much = true;
        self.bell.notify_one();
    }

    pub(crate) async fn comes(&self) {
        self.bell.notified().await;
    }

    /// All that waits, as payloads.
    pub(crate) fn take(&self) -> Vec<String> {
        let waiting = std::mem::take(&mut *self.waiting());
        if waiting.much { vec![MUCH.to_owned()] } else { payloads(waiting.changes) }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a payload lists; none if it was too much, or is what another version of this program says.
pub(crate) fn read(payload: &str) -> Option<Vec<Change>> {
    serde_json::from_str(payload).ok()
}

fn payloads(changes: impl IntoIterator<Item = Change>) -> Vec<String> {
    let mut all = Vec::new();
    let mut list = String::new();
    for change in changes.into_iter().flat_map(parts) {
        let Some(one) = written(&change) else { return vec![MUCH.to_owned()] };
        if !list.is_empty() && list.len() + one.len() + 2 > LONGEST {
            all.push(format!("[{list}]"));
            list.clear();
        }
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(&one);
    }
    if !list.is_empty() {
        all.push(format!("[{list}]"));
    }
    all
}

/// The same change, with some of those whom it is shared with each.
fn parts(change: Change) -> Vec<Change> {
    if change.shares.len() <= LINES {
        return vec![change];
    }
    change.shares.chunks(LINES).map(|some| Change { shares: some.to_vec(), ..change.clone() }).collect()
}

fn written(change: &impl Serialize) -> Option<String> {
    serde_json::to_string(change).ok().filter(|text| text.len() + 2 <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        Kind, OrgId, RoleId, UserId,
        share::{Access, Grant, MOST_GRANTS, Subject},
    };
    use uuid::Uuid;

    fn change(shares: Vec<Grant>) -> Change {
        let (org, owner) = (OrgId(Uuid::now_v7()), Some(UserId(Uuid::now_v7())));
        Change { org, user: owner, owner, kind: Kind::Vm, id: Some(Uuid::now_v7()), shares }
    }

    fn sent(told: &Told) -> Vec<Change> {
        let payloads = told.take();
        assert!(payloads.len() <= MOST / 20 && payloads.iter().all(|p| p.len() < 8_000), "{payloads:?}");
        payloads.iter().flat_map(|p| read(p).unwrap()).collect()
    }

    #[test]
    fn what_is_told_in_a_moment_goes_as_few_notifications_and_once() {
        let told = Told::default();
        let all: HashSet<Change> = (0..MOST).map(|_| change(Vec::new())).collect();
        for change in all.iter().chain(&all) {
            told.add(change.clone());
        }
        let sent = sent(&told);
        assert_eq!(sent.len(), MOST);
        assert_eq!(sent.into_iter().collect::<HashSet<_>>(), all);
        assert!(told.take().is_empty());
    }

    #[test]
    fn too_much_at_once_and_what_was_lost_are_one_word() {
        let told = Told::default();
        (0..4 * MOST).for_each(|_| told.add(change(Vec::new())));
        assert_eq!(told.take(), [MUCH]);
        assert_eq!(read(MUCH), None);
        assert_eq!(read("[{\"kind\":\"of a later version\"}]"), None);
        told.lost();
        told.add(change(Vec::new()));
        assert_eq!(told.take(), [MUCH]);
        told.add(change(Vec::new()));
        assert_eq!(sent(&told).len(), 1);
    }

    #[test]
    fn nobody_of_a_long_sharing_is_left_out() {
        let told = Told::default();
        let line = |n: usize| {
            let id = Uuid::now_v7();
            let subject = if n.is_multiple_of(2) { Subject::User(UserId(id)) } else { Subject::Role(RoleId(id)) };
            Grant { subject, access: Access::FullControl }
        };
        let one = change((0..MOST_GRANTS).map(line).collect());
        told.add(one.clone());
        let parts = sent(&told);
        assert!(parts.iter().all(|c| c.id == one.id));
        assert_eq!(parts.into_iter().flat_map(|c| c.shares).collect::<Vec<_>>(), one.shares);
    }
}
