//! Deletes: preconditions, finalizers, propagation, collections.

use super::{
    Api, Call, DeleteOptions, Door, Propagation,
    query::{Validation, WriteOptions},
    read::{in_version, selector},
    success,
    write::{Writer, is_finished},
};
use crate::{
    answer::{Refusal, Result, details},
    faults::Fault,
    hooks::Operation,
    kinds::Kind,
    meta,
    store::KindId,
};
use axum::body::Body;
use http::{Response, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;

/// What `StuckFinalizer` puts on deleted objects.
pub(crate) const STUCK: &str = "hubsim.ssvirt.io/stuck";

/// How a delete ended.
pub(crate) enum Outcome {
    Gone(Arc<Value>),
    Waiting(Arc<Value>),
}

impl Api {
    pub(super) fn delete(&self, id: KindId, kind: &Arc<Kind>, call: &Call) -> Result<Response<Body>> {
        let options = DeleteOptions::read(&call.body, &call.query)?;
        let name = call.path.name.clone().unwrap_or_default();
        let mut state = self.state();
        let mut writer = self.writer(&mut state, id, kind, call, write_options(options.dry_run));
        let stuck = call.door == Door::Outside && self.faults.is_on(Fault::StuckFinalizer);
        let outcome = writer.delete(&name, &options, stuck)?;
        let version = &call.path.version;
        let body = match outcome {
            Outcome::Waiting(object) => in_version(kind, version, &object).into_owned(),
            Outcome::Gone(object) if kind.delete_answers_object() => in_version(kind, version, &object).into_owned(),
            Outcome::Gone(object) => {
                let mut details = details(&name, &kind.group, &kind.plural);
                details["uid"] = meta::uid(&object).into();
                json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
            }
        };
        Ok(success(StatusCode::OK, &body, &writer.warnings))
    }

    pub(super) fn delete_collection(&self, id: KindId, kind: &Arc<Kind>, call: &Call) -> Result<Response<Body>> {
        if kind.namespaced && call.path.namespace.is_none() {
            return Err(if kind.group.is_empty() { Refusal::method_not_allowed() } else { Refusal::page_not_found() });
        }
        let options = DeleteOptions::read(&call.body, &call.query)?;
        let selector = selector(kind, call)?;
        let mut state = self.state();
        let namespace = call.path.namespace.as_deref().filter(|_| kind.namespaced);
        let all: Vec<Arc<Value>> =
            state.list(id, namespace).filter(|object| selector.matches(object)).cloned().collect();
        let version = state.version();
        let mut writer = self.writer(&mut state, id, kind, call, write_options(options.dry_run));
        for object in &all {
            writer.delete(meta::name(object), &options, false)?;
        }
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if kind.custom {
            metadata["continue"] = "".into();
        }
        let items: Vec<Value> =
            all.iter().map(|object| in_version(kind, &call.path.version, object).into_owned()).collect();
        let body = json!({
            "kind": format!("{}List", kind.kind), "apiVersion": kind.group_version(&call.path.version),
            "metadata": metadata, "items": items,
        });
        Ok(success(StatusCode::OK, &body, &writer.warnings))
    }
}

fn write_options(dry_run: bool) -> WriteOptions {
    WriteOptions { dry_run, manager: String::new(), validation: Validation::Ignore, force: false }
}

impl Writer<'_> {
    pub(crate) fn delete(&mut self, name: &str, options: &DeleteOptions, stuck: bool) -> Result<Outcome> {
        let kind = self.kind.clone();
        let namespaces = kind.is("", "namespaces");
        if namespaces && matches!(name, "default" | "kube-system" | "kube-public") {
            return Err(Refusal::forbidden("", "namespaces", name, "this namespace may not be deleted"));
        }
        let old = self.state.get(self.id, &self.namespace, name).ok_or_else(|| Refusal::not_found(&kind, name))?;
        preconditions(&kind, &old, name, options)?;
        self.validate(Operation::Delete, Some(&old), &Value::Null)?;
        let mut new = (*old).clone();
        let mut finalizers: Vec<&str> = meta::finalizers(&old);
        if let Some(propagation) = options.propagation {
            finalizers.retain(|one| !matches!(*one, "orphan" | "foregroundDeletion"));
            match propagation {
                Propagation::Background => {}
                Propagation::Foreground => finalizers.push("foregroundDeletion"),
                Propagation::Orphan => finalizers.push("orphan"),
            }
        }
        if stuck && !finalizers.contains(&STUCK) && !meta::is_terminating(&old) {
            finalizers.push(STUCK);
        }
        meta::set_finalizers(&mut new, &finalizers);
        let definition = kind.is("apiextensions.k8s.io", "customresourcedefinitions");
        if definition && !meta::is_terminating(&old) {
            crate::crd::terminating(&mut new, &self.api.clock.stamp());
        }
        if is_finished(&kind, &new) {
            if options.dry_run {
                return Ok(Outcome::Gone(old));
            }
            let last = self.state.remove(self.id, &self.namespace, name)?;
            return Ok(Outcome::Gone(last.unwrap_or(old)));
        }
        if !meta::is_terminating(&old) {
            meta::set(&mut new, "deletionTimestamp", self.api.clock.stamp());
            if namespaces {
                new["status"]["phase"] = "Terminating".into();
            } else if !definition {
                meta::set(&mut new, "deletionGracePeriodSeconds", 0);
            }
            if let Some(generation) = old["metadata"]["generation"].as_i64().filter(|_| kind.custom) {
                meta::set(&mut new, "generation", generation + 1);
            }
        }
        if new == *old || options.dry_run {
            return Ok(Outcome::Waiting(Arc::new(new)));
        }
        Ok(Outcome::Waiting(self.state.put(self.id, new)?))
    }
}

fn preconditions(kind: &Kind, old: &Value, name: &str, options: &DeleteOptions) -> Result<()> {
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != meta::uid(old)) {
        let known = meta::uid(old);
        if kind.is("", "namespaces") {
            let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {known}");
            return Err(Refusal::conflict(kind, name, &why));
        }
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({known}). The object might have been deleted and then recreated"
        );
        return Err(Refusal::precondition(kind, name, &why));
    }
    let known = meta::text(old, "resourceVersion");
    if let Some(version) = options.version.as_deref().filter(|version| *version != known) {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({known}). The object might have been modified"
        );
        return Err(Refusal::precondition(kind, name, &why));
    }
    Ok(())
}
