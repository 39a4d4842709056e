//! Garbage collection by owner references: background, foreground and orphan.

use super::{delete, take_finalizer};
use crate::{
    answer::Result,
    crd::CLEAN_UP,
    meta,
    store::{Reference, State},
};
use serde_json::Value;

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

enum Owner {
    Solid,
    /// Terminating, and waiting for its dependents.
    Waiting,
    Absent,
}

/// Deletes an object that nobody owns any more, or strikes the owners that are gone.
pub(super) fn owned(state: &mut State, reference: &Reference, now: &str) -> Result<()> {
    let (id, (namespace, name)) = reference;
    let Some(object) = state.get(*id, namespace, name) else { return Ok(()) };
    let owners: Vec<(Value, Owner)> =
        meta::owners(&object).map(|owner| (owner.clone(), look(state, owner, namespace))).collect();
    if owners.is_empty() {
        return Ok(());
    }
    let solid = owners.iter().any(|(_, owner)| matches!(owner, Owner::Solid));
    let lost = owners.iter().any(|(_, owner)| !matches!(owner, Owner::Solid));
    if !solid {
        return if meta::is_terminating(&object) { Ok(()) } else { delete(state, reference, now) };
    }
    if lost {
        let left: Vec<Value> =
            owners.into_iter().filter(|(_, owner)| matches!(owner, Owner::Solid)).map(|(owner, _)| owner).collect();
        let mut changed = (*object).clone();
        meta::set(&mut changed, "ownerReferences", left);
        state.put(*id, changed)?;
    }
    Ok(())
}

fn look(state: &State, owner: &Value, namespace: &str) -> Owner {
    let text = |key: &str| owner[key].as_str().unwrap_or_default();
    let group = text("apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
    // of a kind nobody serves nothing is known: it may be there
    let Some(id) = state.find_kind(group, text("kind")) else { return Owner::Solid };
    let namespace = if state.kind(id).namespaced { namespace } else { "" };
    match state.get(id, namespace, text("name")) {
        Some(found) if meta::uid(&found) != text("uid") => Owner::Absent,
        Some(found) if meta::is_terminating(&found) && meta::finalizers(&found).contains(&FOREGROUND) => Owner::Waiting,
        Some(_) => Owner::Solid,
        None => Owner::Absent,
    }
}

/// Moves a terminating owner on: orphans its dependents, or waits until they are gone.
pub(super) fn owner(state: &mut State, reference: &Reference, now: &str) -> Result<()> {
    let (id, (namespace, name)) = reference;
    let Some(object) = state.get(*id, namespace, name) else { return Ok(()) };
    let uid = meta::uid(&object).to_owned();
    let finalizers = meta::finalizers(&object);
    if finalizers.contains(&ORPHAN) {
        for dependent in state.dependents(&uid) {
            let Some(found) = state.get(dependent.0, &dependent.1.0, &dependent.1.1) else { continue };
            let left: Vec<Value> = meta::owners(&found).filter(|owner| owner["uid"] != uid.as_str()).cloned().collect();
            let mut changed = (*found).clone();
            if left.is_empty() {
                meta::of(&mut changed).remove("ownerReferences");
            } else {
                meta::set(&mut changed, "ownerReferences", left);
            }
            state.put(dependent.0, changed)?;
        }
        return take_finalizer(state, reference, ORPHAN);
    }
    if finalizers.contains(&FOREGROUND) {
        let mut blocked = false;
        for dependent in state.dependents(&uid) {
            let Some(found) = state.get(dependent.0, &dependent.1.0, &dependent.1.1) else { continue };
            if !meta::is_terminating(&found) {
                owned(state, &dependent, now)?;
            }
            let blocks = |owner: &Value| owner["uid"] == uid.as_str() && owner["blockOwnerDeletion"] == true;
            let still = state.get(dependent.0, &dependent.1.0, &dependent.1.1);
            blocked |= still.is_some_and(|still| meta::owners(&still).any(blocks));
        }
        if !blocked {
            return take_finalizer(state, reference, FOREGROUND);
        }
    }
    Ok(())
}

/// A definition that is being deleted takes its objects along.
pub(super) fn definition(state: &mut State, name: &str, now: &str) -> Result<()> {
    let Some(id) = state.find("apiextensions.k8s.io", "customresourcedefinitions") else { return Ok(()) };
    let (plural, group) = name.split_once('.').unwrap_or((name, ""));
    let mut left = false;
    if let Some(kind) = state.find(group, plural) {
        let objects: Vec<Reference> = state
            .list(kind, None)
            .map(|object| (kind, (meta::namespace(object).to_owned(), meta::name(object).to_owned())))
            .collect();
        for reference in &objects {
            delete(state, reference, now)?;
        }
        left = state.list(kind, None).next().is_some();
    }
    if left { Ok(()) } else { take_finalizer(state, &(id, (String::new(), name.to_owned())), CLEAN_UP) }
}
