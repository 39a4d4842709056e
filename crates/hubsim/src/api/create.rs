//! Creates: the checks in the real server's order, then the store.

use super::{
    Api, Call, decode, discovery,
    query::WriteOptions,
    read::in_version,
    success, text,
    write::{Writer, refuse_if, remove, tidy, wrong_kind},
};
use crate::{
    answer::{Refusal, Result},
    built_in,
    hooks::Operation,
    kinds::Kind,
    meta, quota,
    store::KindId,
    validate,
};
use axum::body::Body;
use http::{Response, StatusCode, header};
use rand::Rng;
use serde_json::{Value, json};
use std::sync::Arc;

impl Api {
    pub(super) fn create(&self, id: KindId, kind: &Arc<Kind>, call: &Call) -> Result<Response<Body>> {
        if kind.namespaced && call.path.namespace.is_none() {
            return Err(if kind.group.is_empty() { Refusal::method_not_allowed() } else { Refusal::page_not_found() });
        }
        if !kind.custom && call.path.name.is_some() {
            return Err(Refusal::method_not_allowed());
        }
        let options = WriteOptions::read(&call.query, text(&call.headers, header::USER_AGENT), "CreateOptions")?;
        let mut object = decode::object(kind, &call.path.version, &call.headers, &call.body)?;
        let mut state = self.state();
        let mut writer = self.writer(&mut state, id, kind, call, options);
        writer.strict(&mut object, &call.body)?;
        let created = writer.create(object)?;
        Ok(success(StatusCode::CREATED, &in_version(kind, &call.path.version, &created), &writer.warnings))
    }
}

impl Writer<'_> {
    pub(crate) fn create(&mut self, mut object: Value) -> Result<Arc<Value>> {
        let kind = self.kind.clone();
        let namespace = meta::namespace(&object);
        if !namespace.is_empty() && namespace != self.namespace {
            return Err(Refusal::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        if kind.custom && object["kind"] != kind.kind.as_str() {
            return Err(wrong_kind(&kind, &object));
        }
        self.fresh_metadata(&mut object);
        if kind.status && !kind.is("", "namespaces") {
            remove(&mut object, "status");
        }
        if !meta::text(&object, "resourceVersion").is_empty() {
            return Err(Refusal::internal("resourceVersion should not be set on objects to be created"));
        }
        self.living_namespace(meta::name(&object))?;
        built_in::defaults(&kind, &mut object);
        let mut object = self.mutate(Operation::Create, None, object)?;
        if let Some(schema) = &kind.schema {
            schema.fill(&mut object);
        }
        let errors = validate::object(&kind, &object, None, &mut self.warnings);
        refuse_if(&kind, &object, errors)?;
        self.validate(Operation::Create, None, &object)?;
        let now = self.api.clock.stamp();
        let usage = quota::admit(self.state, &kind, None, &object)?;
        let name = meta::name(&object).to_owned();
        if let Some(existing) = self.state.get(self.id, &self.namespace, &name) {
            return Err(Refusal::already_exists(&kind, &name, meta::is_terminating(&existing)));
        }
        validate::size(&object)?;
        self.manage(None, &mut object, &now);
        if self.options.dry_run {
            return Ok(Arc::new(object));
        }
        for (id, quota) in usage {
            self.state.put(id, quota)?;
        }
        let stored = self.state.put(self.id, object)?;
        if kind.is("apiextensions.k8s.io", "customresourcedefinitions") {
            // answered as it came in; the names are accepted a moment later
            let accepted = crate::crd::established((*stored).clone(), &now);
            self.state.put(self.id, accepted)?;
        }
        if kind.is("apiregistration.k8s.io", "apiservices") {
            self.state.put(self.id, discovery::looked_at((*stored).clone(), self.state, &now))?;
        }
        Ok(stored)
    }

    /// What the server alone decides about a new object.
    fn fresh_metadata(&self, object: &mut Value) {
        let kind = &self.kind;
        let named = !meta::name(object).is_empty();
        let prefix: String = meta::text(object, "generateName").chars().take(58).collect();
        if !named && !prefix.is_empty() {
            meta::set(object, "name", format!("{prefix}{}", suffix()));
        }
        let now = self.api.clock.stamp();
        let namespace = self.namespace.clone();
        let metadata = meta::of(object);
        for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation", "managedFields"] {
            metadata.remove(key);
        }
        metadata.insert("uid".to_owned(), crate::new_uid().into());
        metadata.insert("creationTimestamp".to_owned(), now.into());
        if !namespace.is_empty() {
            metadata.insert("namespace".to_owned(), namespace.into());
        }
        if kind.counts_generations() {
            metadata.insert("generation".to_owned(), 1.into());
        }
        tidy(metadata);
    }

    fn living_namespace(&self, name: &str) -> Result<()> {
        if self.namespace.is_empty() {
            return Ok(());
        }
        let namespace = &self.namespace;
        let Some(found) = self.state.by_name("", "namespaces", "", namespace) else {
            let message = format!("namespaces \"{namespace}\" not found");
            let details = json!({"name": namespace, "kind": "namespaces"});
            return Err(Refusal::new(404, "NotFound", message).with_details(details));
        };
        if !meta::is_terminating(&found) {
            return Ok(());
        }
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut refusal = Refusal::forbidden(&self.kind.group, &self.kind.plural, name, &why);
        if let Some(details) = &mut refusal.details {
            details["causes"] = json!([{
                "reason": "NamespaceTerminating", "message": format!("namespace {namespace} is being terminated"),
                "field": "metadata.namespace",
            }]);
        }
        Err(refusal)
    }
}

/// The five characters after a generateName.
fn suffix() -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut rng = rand::rng();
    (0..5).map(|_| char::from(LETTERS[rng.random_range(0..LETTERS.len())])).collect()
}
