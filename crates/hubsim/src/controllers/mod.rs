//! The controllers a cluster cannot do without: namespaces, garbage, quota, accounts, claims. They learn of every
//! change and work one task after the other.

mod claims;
mod events;
mod garbage;
mod namespaces;
mod secrets;

use crate::{
    answer::Result,
    api::Api,
    kinds::Kind,
    meta, quota,
    store::{Change, Event, Key, KindId, Reference, State},
};
use serde_json::Value;
use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, atomic::Ordering},
};
use tokio::sync::Notify;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Task {
    /// A new namespace gets its account and certificate.
    Furnish(String),
    /// A terminating namespace is emptied and then removed.
    Empty(String),
    /// An object whose owners may be gone.
    Owned(Reference),
    /// An owner that waits for its dependents, or wants to leave them behind.
    Owner(Reference),
    /// The objects of an owner that is gone.
    Left(String),
    /// An owner (group, kind, namespace, name) that may wait for an object which is gone.
    Waited([String; 4]),
    Count(String),
    /// A terminating volume claim.
    Claims(String),
    TokenSecret(Reference),
    /// Objects of a kind whose definition is being deleted.
    Definition(Key),
}

/// What the controllers have to look at.
#[derive(Debug, Default)]
pub(crate) struct Todo {
    queue: VecDeque<Task>,
    known: HashSet<Task>,
    emptying: HashSet<String>,
    wake: Arc<Notify>,
}

impl Todo {
    fn push(&mut self, task: Task) {
        if self.known.insert(task.clone()) {
            self.queue.push_back(task);
            self.wake.notify_one();
        }
    }

    fn pop(&mut self) -> Option<Task> {
        let task = self.queue.pop_front()?;
        self.known.remove(&task);
        Some(task)
    }

    /// Learns of a change.
    pub(crate) fn note(&mut self, id: KindId, kind: &Kind, event: &Event) {
        let object = &event.object;
        let key = (meta::namespace(object).to_owned(), meta::name(object).to_owned());
        let namespace = key.0.clone();
        let gone = event.change == Change::Deleted;
        if self.emptying.contains(&namespace) {
            self.push(Task::Empty(namespace.clone()));
        }
        if kind.is("", "namespaces") {
            self.note_namespace(event, &key.1);
        }
        if gone {
            self.push(Task::Left(meta::uid(object).to_owned()));
        }
        let counted =
            kind.is("", "resourcequotas") || matches!(kind.plural.as_str(), "pods" | "persistentvolumeclaims");
        if kind.namespaced && (gone || counted) {
            self.push(Task::Count(namespace.clone()));
        }
        if kind.is("", "persistentvolumeclaims") && meta::is_terminating(object) || kind.is("", "pods") && gone {
            self.push(Task::Claims(namespace));
        }
        if kind.is("", "secrets") && event.change == Change::Added {
            self.push(Task::TokenSecret((id, key.clone())));
        }
        if kind.is("apiextensions.k8s.io", "customresourcedefinitions") && meta::is_terminating(object) && !gone {
            self.push(Task::Definition(key.clone()));
        }
        let before = event.before.iter().flat_map(|before| meta::owners(before));
        for owner in meta::owners(object).chain(before).filter(|_| event.change != Change::Added) {
            let text = |key: &str| owner[key].as_str().unwrap_or_default().to_owned();
            let group = text("apiVersion").rsplit_once('/').map_or_else(String::new, |(group, _)| group.to_owned());
            self.push(Task::Waited([group, text("kind"), key.0.clone(), text("name")]));
        }
        if meta::owners(object).next().is_some() {
            self.push(Task::Owned((id, key.clone())));
        }
        if meta::is_terminating(object) && !gone {
            self.push(Task::Owner((id, key)));
        }
    }

    fn note_namespace(&mut self, event: &Event, name: &str) {
        match event.change {
            Change::Added => self.push(Task::Furnish(name.to_owned())),
            Change::Deleted => {
                self.emptying.remove(name);
            }
            Change::Modified => {}
        }
        if event.change != Change::Deleted && meta::is_terminating(&event.object) {
            self.emptying.insert(name.to_owned());
            self.push(Task::Empty(name.to_owned()));
        }
    }
}

impl Api {
    /// Runs until the hub stops.
    pub(crate) async fn run_controllers(self: Arc<Self>) {
        let wake = self.state().todo.wake.clone();
        let mut sweep = tokio::time::interval(events::SWEEP_EVERY);
        loop {
            while !self.controllers_paused.load(Ordering::Relaxed) {
                if !self.work_once() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            tokio::select! {
                () = wake.notified() => {}
                _ = sweep.tick() => {
                    if let Err(refusal) = events::sweep(&mut self.state(), self.clock.now()) {
                        tracing::error!(error = refusal.message, "a simulated hub cannot drop old events");
                    }
                }
            }
        }
    }

    /// Does one task. False: there was none.
    fn work_once(&self) -> bool {
        let mut state = self.state();
        let Some(task) = state.todo.pop() else { return false };
        if let Err(refusal) = self.work(&mut state, &task) {
            tracing::error!(?task, error = refusal.message, "a simulated hub's controller failed");
        }
        true
    }

    pub(crate) fn pause_controllers(&self, paused: bool) {
        self.controllers_paused.store(paused, Ordering::Relaxed);
        self.state().todo.wake.notify_one();
    }

    /// Looks at everything once: what was under way when the hub stopped goes on.
    pub(crate) fn catch_up(&self) {
        let mut state = self.state();
        let all: Vec<(KindId, Arc<Kind>, Arc<Value>)> = state
            .kinds()
            .flat_map(|(id, kind)| state.list(id, None).map(move |object| (id, kind.clone(), object.clone())))
            .collect();
        for (id, kind, object) in all {
            let event = Event { version: 0, change: Change::Modified, object, before: None };
            state.todo.note(id, &kind, &event);
        }
    }

    fn work(&self, state: &mut State, task: &Task) -> Result<()> {
        let now = self.clock.stamp();
        match task {
            Task::Furnish(name) => namespaces::furnish(self, state, name),
            Task::Empty(name) => namespaces::empty(state, name, &now),
            Task::Owned(reference) => garbage::owned(state, reference, &now),
            Task::Owner(reference) => garbage::owner(state, reference, &now),
            Task::Left(uid) => {
                for reference in state.dependents(uid) {
                    garbage::owned(state, &reference, &now)?;
                }
                Ok(())
            }
            Task::Waited([group, kind, namespace, name]) => {
                let Some(id) = state.find_kind(group, kind) else { return Ok(()) };
                let namespace = if state.kind(id).namespaced { namespace.as_str() } else { "" };
                let waits = state.get(id, namespace, name).is_some_and(|owner| meta::is_terminating(&owner));
                let reference = (id, (namespace.to_owned(), name.clone()));
                if waits { garbage::owner(state, &reference, &now) } else { Ok(()) }
            }
            Task::Count(namespace) => count(state, namespace),
            Task::Claims(namespace) => claims::release(state, namespace),
            Task::TokenSecret(reference) => secrets::fill(self, state, reference),
            Task::Definition(key) => garbage::definition(state, &key.1, &now),
        }
    }
}

fn count(state: &mut State, namespace: &str) -> Result<()> {
    let Some(id) = state.find("", "resourcequotas") else { return Ok(()) };
    let stale: Vec<Value> = state.list(id, Some(namespace)).filter_map(|one| quota::recount(state, one)).collect();
    for counted in stale {
        state.put(id, counted)?;
    }
    Ok(())
}

/// Deletes as a controller does: finalizers are waited for.
fn delete(state: &mut State, reference: &Reference, now: &str) -> Result<()> {
    let (id, (namespace, name)) = reference;
    let Some(object) = state.get(*id, namespace, name) else { return Ok(()) };
    if meta::finalizers(&object).is_empty() {
        state.remove(*id, namespace, name)?;
    } else if !meta::is_terminating(&object) {
        let mut object = (*object).clone();
        meta::set(&mut object, "deletionTimestamp", now);
        meta::set(&mut object, "deletionGracePeriodSeconds", 0);
        if let Some(generation) = object["metadata"]["generation"].as_i64() {
            meta::set(&mut object, "generation", generation + 1);
        }
        state.put(*id, object)?;
    }
    Ok(())
}

/// Takes a finalizer off; the object goes when it was the last one and the object is terminating.
fn take_finalizer(state: &mut State, reference: &Reference, finalizer: &str) -> Result<()> {
    let (id, (namespace, name)) = reference;
    let Some(object) = state.get(*id, namespace, name) else { return Ok(()) };
    let left: Vec<&str> = meta::finalizers(&object).into_iter().filter(|one| *one != finalizer).collect();
    if left.is_empty() && meta::is_terminating(&object) {
        state.remove(*id, namespace, name)?;
        return Ok(());
    }
    let mut changed = (*object).clone();
    meta::set_finalizers(&mut changed, &left);
    state.put(*id, changed)?;
    Ok(())
}
