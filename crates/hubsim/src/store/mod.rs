//! All objects of a hub, their history, and the one place that changes them.

mod event;
mod journal;

pub use event::Change;
pub(crate) use event::{Event, Witness};
pub(crate) use journal::Journal;

use crate::{
    answer::{Refusal, Result},
    controllers::Todo,
    kinds::Kind,
    meta,
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    ops::Bound,
    sync::Arc,
};
use tokio::sync::watch;

/// How many events of a kind a watcher may lag behind.
const HISTORY: usize = 10_000;

/// The index of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct KindId(usize);

/// Namespace (empty for cluster-wide kinds) and name.
pub(crate) type Key = (String, String);

pub(crate) type Reference = (KindId, Key);

#[derive(Debug)]
struct Table {
    kind: Arc<Kind>,
    objects: BTreeMap<Key, Arc<Value>>,
    history: VecDeque<Event>,
    /// Events up to here are no longer in the history.
    forgotten: u64,
    changed: watch::Sender<u64>,
    /// The kind's definition is gone; nothing is served under its name.
    removed: bool,
}

#[derive(Debug)]
pub(crate) struct State {
    tables: Vec<Table>,
    by_resource: HashMap<(String, String), KindId>,
    /// Objects by the uid of their owners.
    dependents: HashMap<String, BTreeSet<Reference>>,
    version: u64,
    journal: Option<Journal>,
    /// Held while the journal is open.
    lock: Option<std::fs::File>,
    pub todo: Todo,
    pub witnesses: Vec<Witness>,
}

impl State {
    pub(crate) fn new(kinds: Vec<Kind>, todo: Todo) -> Self {
        let mut state = Self {
            tables: Vec::new(),
            by_resource: HashMap::new(),
            dependents: HashMap::new(),
            version: 1,
            journal: None,
            lock: None,
            todo,
            witnesses: Vec::new(),
        };
        for kind in kinds {
            state.serve(kind);
        }
        state
    }

    /// Takes a folder for this hub alone.
    pub(crate) fn lock(&mut self, folder: &std::path::Path) -> anyhow::Result<()> {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("lock"))?;
        file.try_lock().map_err(|_| anyhow::anyhow!("{} is in use by another hub", folder.display()))?;
        self.lock = Some(file);
        Ok(())
    }

    /// Continues what a journal holds, and writes to it from now on.
    pub(crate) fn load(&mut self, path: &std::path::Path) -> anyhow::Result<()> {
        let journal = Journal::open(path, |entry| self.replay(entry))?;
        self.journal = Some(journal);
        for table in &mut self.tables {
            table.history.clear();
            table.forgotten = self.version;
        }
        self.compact()
    }

    /// Lets the journal go: nothing is written any more.
    pub(crate) fn close(&mut self) {
        self.journal = None;
        self.lock = None;
    }

    fn replay(&mut self, entry: journal::Entry) {
        self.version = self.version.max(entry.version);
        let Some(id) = self.find_by_resource(&entry.resource) else { return };
        match (entry.put, entry.gone) {
            (Some(object), _) => {
                crate::crd::follow(self, id, Some(&object));
                self.keep(id, Arc::new(object));
            }
            (None, Some(key)) => {
                if self.drop_object(id, &key).is_some() {
                    crate::crd::forget(self, id, &key.1);
                }
            }
            (None, None) => {}
        }
    }

    fn find_by_resource(&self, resource: &str) -> Option<KindId> {
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        self.find(group, plural)
    }

    /// Adds a kind, or brings one back or up to date.
    pub(crate) fn serve(&mut self, kind: Kind) -> KindId {
        let name = (kind.group.clone(), kind.plural.clone());
        if let Some(id) = self.by_resource.get(&name) {
            let table = &mut self.tables[id.0];
            table.kind = Arc::new(kind);
            table.removed = false;
            return *id;
        }
        let id = KindId(self.tables.len());
        self.tables.push(Table {
            kind: Arc::new(kind),
            objects: BTreeMap::new(),
            history: VecDeque::new(),
            forgotten: self.version,
            changed: watch::Sender::new(self.version),
            removed: false,
        });
        self.by_resource.insert(name, id);
        id
    }

    pub(crate) fn stop_serving(&mut self, id: KindId) {
        self.tables[id.0].removed = true;
    }

    pub(crate) fn find(&self, group: &str, plural: &str) -> Option<KindId> {
        let id = *self.by_resource.get(&(group.to_owned(), plural.to_owned()))?;
        (!self.tables[id.0].removed).then_some(id)
    }

    pub(crate) fn kind(&self, id: KindId) -> Arc<Kind> {
        self.tables[id.0].kind.clone()
    }

    pub(crate) fn kinds(&self) -> impl Iterator<Item = (KindId, &Arc<Kind>)> {
        self.tables.iter().enumerate().filter(|(_, table)| !table.removed).map(|(at, table)| (KindId(at), &table.kind))
    }

    pub(crate) fn find_kind(&self, group: &str, kind: &str) -> Option<KindId> {
        self.kinds().find(|(_, one)| one.group == group && one.kind == kind && !one.create_only).map(|(id, _)| id)
    }

    /// The version of the last change.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn get(&self, id: KindId, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.tables[id.0].objects.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    pub(crate) fn by_name(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.get(self.find(group, plural)?, namespace, name)
    }

    /// Objects in the order of namespace and name; all namespaces when none is named.
    pub(crate) fn list(&self, id: KindId, namespace: Option<&str>) -> impl Iterator<Item = &Arc<Value>> {
        let from = match namespace {
            Some(namespace) => Bound::Included((namespace.to_owned(), String::new())),
            None => Bound::Unbounded,
        };
        let namespace = namespace.map(str::to_owned);
        self.tables[id.0]
            .objects
            .range((from, Bound::Unbounded))
            .take_while(move |((at, _), _)| namespace.as_ref().is_none_or(|namespace| at == namespace))
            .map(|(_, object)| object)
    }

    /// The objects as they were at an older version, undoing what happened since. `None`: that is forgotten.
    pub(crate) fn list_at(&self, id: KindId, version: u64) -> Option<BTreeMap<Key, Arc<Value>>> {
        let table = &self.tables[id.0];
        if version < table.forgotten {
            return None;
        }
        let mut objects = table.objects.clone();
        for event in table.history.iter().rev().take_while(|event| event.version > version) {
            let key = key_of(&event.object);
            match (&event.change, &event.before) {
                (Change::Added, _) | (_, None) => objects.remove(&key),
                (_, Some(before)) => objects.insert(key, before.clone()),
            };
        }
        Some(objects)
    }

    /// Events after a version, oldest first. `None`: some of them are forgotten.
    pub(crate) fn since(&self, id: KindId, version: u64) -> Option<Vec<Event>> {
        let table = &self.tables[id.0];
        if version < table.forgotten {
            return None;
        }
        let start = table.history.partition_point(|event| event.version <= version);
        Some(table.history.range(start..).cloned().collect())
    }

    /// The oldest version a watch may start from.
    pub(crate) fn forgotten(&self, id: KindId) -> u64 {
        self.tables[id.0].forgotten
    }

    pub(crate) fn changes(&self, id: KindId) -> watch::Receiver<u64> {
        self.tables[id.0].changed.subscribe()
    }

    /// Forgets all history, as compaction does on a real server.
    pub(crate) fn forget(&mut self) {
        for table in &mut self.tables {
            table.history.clear();
            table.forgotten = self.version;
        }
    }

    pub(crate) fn dependents(&self, uid: &str) -> Vec<Reference> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Stores an object under a new version.
    pub(crate) fn put(&mut self, id: KindId, mut object: Value) -> Result<Arc<Value>> {
        let version = self.version + 1;
        meta::set(&mut object, "resourceVersion", version.to_string());
        let object = Arc::new(object);
        let resource = self.tables[id.0].kind.resource();
        if let Some(journal) = &mut self.journal {
            journal.put(version, &resource, &object).map_err(not_written)?;
        }
        self.version = version;
        crate::crd::follow(self, id, Some(&object));
        let before = self.keep(id, object.clone());
        let change = if before.is_some() { Change::Modified } else { Change::Added };
        self.publish(id, Event { version, change, object: object.clone(), before });
        Ok(object)
    }

    /// Removes an object. Its last state gets the version of the removal.
    pub(crate) fn remove(&mut self, id: KindId, namespace: &str, name: &str) -> Result<Option<Arc<Value>>> {
        let key = (namespace.to_owned(), name.to_owned());
        if !self.tables[id.0].objects.contains_key(&key) {
            return Ok(None);
        }
        let version = self.version + 1;
        let resource = self.tables[id.0].kind.resource();
        if let Some(journal) = &mut self.journal {
            journal.gone(version, &resource, &key).map_err(not_written)?;
        }
        self.version = version;
        let Some(before) = self.drop_object(id, &key) else { return Ok(None) };
        let mut last = (*before).clone();
        meta::set(&mut last, "resourceVersion", version.to_string());
        let object = Arc::new(last);
        crate::crd::forget(self, id, name);
        self.publish(id, Event { version, change: Change::Deleted, object: object.clone(), before: Some(before) });
        Ok(Some(object))
    }

    fn publish(&mut self, id: KindId, event: Event) {
        let table = &mut self.tables[id.0];
        let version = event.version;
        self.todo.note(id, &table.kind, &event);
        for witness in &self.witnesses {
            (witness.0)(&table.kind.plural, event.change, &event.object);
        }
        table.history.push_back(event);
        while table.history.len() > HISTORY {
            if let Some(old) = table.history.pop_front() {
                table.forgotten = old.version;
            }
        }
        table.changed.send_replace(version);
        if self.journal.as_ref().is_some_and(Journal::is_long)
            && let Err(error) = self.compact()
        {
            tracing::error!(error = format!("{error:#}"), "the journal of a simulated hub cannot be shortened");
        }
    }

    fn compact(&mut self) -> anyhow::Result<()> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        // definitions first: what they define can only be read after them
        let first = self.by_resource.get(&("apiextensions.k8s.io".to_owned(), "customresourcedefinitions".to_owned()));
        let order =
            first.iter().map(|id| id.0).chain((0..self.tables.len()).filter(|at| first.is_none_or(|id| id.0 != *at)));
        let tables = &self.tables;
        journal.rewrite(
            self.version,
            order.flat_map(|at| tables[at].objects.values().map(move |object| (tables[at].kind.resource(), object))),
        )
    }

    fn keep(&mut self, id: KindId, object: Arc<Value>) -> Option<Arc<Value>> {
        let key = key_of(&object);
        for owner in meta::owners(&object).filter_map(|owner| owner["uid"].as_str()) {
            self.dependents.entry(owner.to_owned()).or_default().insert((id, key.clone()));
        }
        let before = self.tables[id.0].objects.insert(key.clone(), object.clone());
        if let Some(before) = &before {
            let still: BTreeSet<&str> = meta::owners(&object).filter_map(|owner| owner["uid"].as_str()).collect();
            self.disown(before, &(id, key), &still);
        }
        before
    }

    fn drop_object(&mut self, id: KindId, key: &Key) -> Option<Arc<Value>> {
        let object = self.tables[id.0].objects.remove(key)?;
        self.disown(&object, &(id, key.clone()), &BTreeSet::new());
        Some(object)
    }

    fn disown(&mut self, object: &Value, reference: &Reference, but: &BTreeSet<&str>) {
        for owner in meta::owners(object).filter_map(|owner| owner["uid"].as_str()) {
            if but.contains(owner) {
                continue;
            }
            if let Some(known) = self.dependents.get_mut(owner) {
                known.remove(reference);
                if known.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
    }
}

fn key_of(object: &Value) -> Key {
    (meta::namespace(object).to_owned(), meta::name(object).to_owned())
}

fn not_written(error: std::io::Error) -> Refusal {
    Refusal::internal(format!("the hub cannot write its journal: {error}"))
}
