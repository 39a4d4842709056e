//! Snapshots of machines: what was on their disks at one moment. Each stems from another one, so they are a tree.
use crate::{Error, Fields, Problems, Result, SnapshotId, VmId, name};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use uuid::Uuid;

/// The most of one machine: each costs storage on its hub.
pub const MOST_OF_VM: i64 = 32;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SnapshotState {
    /// On its way.
    #[default]
    Asked,
    Ready,
    Failed,
}

impl SnapshotState {
    pub const ALL: [SnapshotState; 3] = [SnapshotState::Asked, SnapshotState::Ready, SnapshotState::Failed];

    pub fn key(self) -> &'static str {
        match self {
            SnapshotState::Asked => "asked",
            SnapshotState::Ready => "ready",
            SnapshotState::Failed => "failed",
        }
    }

    pub fn parse(word: &str) -> Option<SnapshotState> {
        SnapshotState::ALL.into_iter().find(|s| s.key() == word)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    pub id: SnapshotId,
    pub vm: VmId,
    /// The one that the machine's disks stemmed from when it was taken.
    pub parent: Option<SnapshotId>,
    pub name: String,
    pub description: String,
    pub size_mb: i64,
    pub state: SnapshotState,
    pub reason: String,
    /// The machine's disks stem from it.
    pub current: bool,
    /// It is being deleted.
    pub deleted: bool,
    #[serde(with = "time::serde::rfc3339::option")]
    pub taken_at: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    pub created_by: String,
}

/// A snapshot asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotSpec {
    pub name: String,
    pub description: String,
    /// With what is in memory too.
    pub memory: bool,
}

impl SnapshotSpec {
    pub fn check(self) -> Result<SnapshotSpec> {
        let mut problems = Problems::default();
        let name = problems.take("name", name::check_title(&self.name));
        let description = problems.take("description", name::check_text(&self.description));
        if self.memory {
            problems.add("memory", "KubeVirt keeps what is on disks and not what is in memory. Ask for it without.");
        }
        problems.done()?;
        Ok(SnapshotSpec { name, description, memory: false })
    }
}

impl Fields for SnapshotSpec {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![("snapshot", self.name.clone()), ("description", self.description.clone())]
    }
}

/// In the order of the tree, each with how deep it is: children after their parent, older before younger.
pub fn tree(all: &[Snapshot]) -> Vec<(usize, &Snapshot)> {
    let known = |id: SnapshotId| all.iter().any(|s| s.id == id);
    let mut out = Vec::with_capacity(all.len());
    let mut stack: Vec<(usize, &Snapshot)> =
        all.iter().filter(|s| !s.parent.is_some_and(known)).map(|s| (0, s)).collect();
    stack.sort_by_key(|(_, s)| std::cmp::Reverse((s.created_at, s.id)));
    while let Some((depth, one)) = stack.pop() {
        // nothing stems from itself, whatever the rows say
        if out.len() > all.len() {
            break;
        }
        out.push((depth, one));
        let mut children: Vec<_> = all.iter().filter(|s| s.parent == Some(one.id)).map(|s| (depth + 1, s)).collect();
        children.sort_by_key(|(_, s)| std::cmp::Reverse((s.created_at, s.id)));
        stack.extend(children);
    }
    out
}

/// The names on a hub, from ids: a second try makes the same one.
pub fn hub_name(vm: &str, id: Uuid) -> String {
    named(vm, 's', id)
}

pub fn revert_name(vm: &str, id: Uuid) -> String {
    named(vm, 'r', id)
}

fn named(vm: &str, kind: char, id: Uuid) -> String {
    let hex = id.simple().to_string();
    format!("{vm}-{kind}{}", &hex[hex.len() - 8..])
}

/// There is none to go back to.
pub fn none() -> Error {
    Error::NotNow("Not now: it has no snapshot.".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(id: u128, parent: Option<u128>) -> Snapshot {
        let at = OffsetDateTime::UNIX_EPOCH + time::Duration::seconds(i64::try_from(id).unwrap_or_default());
        Snapshot {
            id: SnapshotId(Uuid::from_u128(id)),
            vm: VmId(Uuid::nil()),
            parent: parent.map(|p| SnapshotId(Uuid::from_u128(p))),
            name: id.to_string(),
            description: String::new(),
            size_mb: 0,
            state: SnapshotState::Ready,
            reason: String::new(),
            current: false,
            deleted: false,
            taken_at: None,
            created_at: at,
            created_by: String::new(),
        }
    }

    #[test]
    fn a_tree_lists_children_after_their_parent() {
        let all = [one(1, None), one(2, Some(1)), one(3, Some(1)), one(4, Some(2)), one(5, Some(99))];
        let shown: Vec<(usize, &str)> = tree(&all).into_iter().map(|(d, s)| (d, s.name.as_str())).collect();
        assert_eq!(shown, [(0, "1"), (1, "2"), (2, "4"), (1, "3"), (0, "5")]);
    }

    #[test]
    fn memory_is_refused_by_name() {
        let spec = SnapshotSpec { name: "a".into(), memory: true, ..SnapshotSpec::default() };
        assert_eq!(spec.check().expect_err("with memory").fields()[0].field, "memory");
    }
}
