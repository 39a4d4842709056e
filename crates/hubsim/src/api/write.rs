//! Creates and updates: the checks in the real server's order, then the store.

use super::{
    Api, Call, decode,
    query::{Validation, WriteOptions},
    read::in_version,
    success, text,
};
use crate::{
    access::User,
    answer::{FieldError, Refusal, Result},
    fields::{self, Manager},
    hooks::{Denial, Hooks, Operation, Review, View},
    kinds::Kind,
    meta, quota,
    store::{KindId, State},
    validate,
};
use axum::body::Body;
use http::{Response, StatusCode, header};
use rand::Rng;
use serde_json::{Value, json};
use std::sync::Arc;

/// One change by one user, under the hub's lock.
pub(crate) struct Writer<'a> {
    pub api: &'a Api,
    pub state: &'a mut State,
    pub hooks: Hooks,
    pub id: KindId,
    pub kind: Arc<Kind>,
    /// The version the client speaks.
    pub version: String,
    pub namespace: String,
    pub subresource: Option<String>,
    pub options: WriteOptions,
    pub user: User,
    pub warnings: Vec<String>,
    /// What a server-side apply sent; none for other writes.
    pub applied: Option<Value>,
}

/// How an update came: some checks differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Put,
    Patch,
}

impl Api {
    pub(super) fn writer<'a>(
        &'a self,
        state: &'a mut State,
        id: KindId,
        kind: &Arc<Kind>,
        call: &Call,
        options: WriteOptions,
    ) -> Writer<'a> {
        Writer {
            api: self,
            state,
            hooks: self.hooks(),
            id,
            kind: kind.clone(),
            version: call.path.version.clone(),
            namespace: if kind.namespaced { call.path.namespace.clone().unwrap_or_default() } else { String::new() },
            subresource: call.path.subresource.clone(),
            options,
            user: call.user.clone(),
            warnings: Vec::new(),
            applied: None,
        }
    }

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

    pub(super) fn update(&self, id: KindId, kind: &Arc<Kind>, call: &Call) -> Result<Response<Body>> {
        let options = WriteOptions::read(&call.query, text(&call.headers, header::USER_AGENT), "UpdateOptions")?;
        let mut object = decode::object(kind, &call.path.version, &call.headers, &call.body)?;
        let mut state = self.state();
        let mut writer = self.writer(&mut state, id, kind, call, options);
        writer.strict(&mut object, &call.body)?;
        let name = call.path.name.clone().unwrap_or_default();
        writer.same_place(&object, &name)?;
        let updated = writer.update(&name, Way::Put, |_| Ok(object))?;
        Ok(success(StatusCode::OK, &in_version(kind, &call.path.version, &updated), &writer.warnings))
    }
}

impl Writer<'_> {
    /// Drops unknown fields, and tells of them as the client wished.
    pub(crate) fn strict(&mut self, object: &mut Value, body: &[u8]) -> Result<()> {
        let mut told: Vec<String> =
            decode::duplicates(body).into_iter().map(|path| format!("duplicate field \"{path}\"")).collect();
        validate::go_types(&self.kind, object)?;
        told.extend(self.prune(object).into_iter().map(|path| format!("unknown field \"{path}\"")));
        self.tell(told)
    }

    fn tell(&mut self, told: Vec<String>) -> Result<()> {
        match self.options.validation {
            Validation::Ignore => {}
            Validation::Warn => self.warnings.extend(told),
            Validation::Strict if told.is_empty() => {}
            Validation::Strict => {
                let kind = &self.kind.kind;
                return Err(Refusal::bad_request(format!(
                    "{kind} in version \"{}\" cannot be handled as a {kind}: strict decoding error: {}",
                    self.version,
                    told.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// Removes what the kind does not know. Returns the paths.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut dropped = Vec::new();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            let unknown: Vec<String> =
                metadata.keys().filter(|key| !validate::METADATA.contains(&key.as_str())).cloned().collect();
            for key in unknown {
                metadata.remove(&key);
                dropped.push(format!("metadata.{key}"));
            }
        }
        if let Some(schema) = &self.kind.schema {
            let frame: Vec<(&str, Value)> = ["apiVersion", "kind", "metadata"]
                .into_iter()
                .filter_map(|key| object.as_object_mut()?.remove(key).map(|value| (key, value)))
                .collect();
            schema.prune(object, "", &mut dropped);
            for (key, value) in frame {
                object[key] = value;
            }
        }
        dropped.sort();
        dropped
    }

    /// The object in the body must be the one in the path.
    pub(crate) fn same_place(&self, object: &Value, name: &str) -> Result<()> {
        let (got, namespace) = (meta::name(object), meta::namespace(object));
        if !namespace.is_empty() && namespace != self.namespace {
            return Err(Refusal::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        if got.is_empty() {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )));
        }
        if got != name {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({got}) does not match the name on the URL ({name})"
            )));
        }
        Ok(())
    }

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
        validate::defaults(&kind, &mut object);
        let mut object = self.mutate(Operation::Create, None, object)?;
        if let Some(schema) = &kind.schema {
            schema.fill(&mut object);
        }
        let errors = validate::object(&kind, &object, None, &mut self.warnings);
        refuse_if(&kind, &object, errors)?;
        self.validate(Operation::Create, None, &object)?;
        let now = self.api.clock.stamp();
        let usage = quota::admit(self.state, &kind, &object)?;
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
            self.state.put(self.id, super::discovery::looked_at((*stored).clone(), self.state, &now))?;
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

    /// Changes an object; `make` gets the present one and returns the wished one.
    pub(crate) fn update(
        &mut self,
        name: &str,
        way: Way,
        make: impl FnOnce(&Value) -> Result<Value>,
    ) -> Result<Arc<Value>> {
        let kind = self.kind.clone();
        let old = self.state.get(self.id, &self.namespace, name).ok_or_else(|| Refusal::not_found(&kind, name))?;
        let mut new = make(&old)?;
        if kind.custom && new["kind"] != kind.kind.as_str() {
            return Err(wrong_kind(&kind, &new));
        }
        new["apiVersion"] = old["apiVersion"].clone();
        self.fences(&old, &new, name, way)?;
        self.keep_server_fields(&old, &mut new);
        let status_only = self.subresource.as_deref() == Some("status");
        if status_only {
            let status = new.get("status").cloned();
            let managed = new["metadata"]["managedFields"].clone();
            new = (*old).clone();
            match status {
                Some(status) => new["status"] = status,
                None => remove(&mut new, "status"),
            }
            if !managed.is_null() {
                meta::set(&mut new, "managedFields", managed);
            }
        } else if kind.status {
            match old.get("status") {
                Some(status) => new["status"] = status.clone(),
                None => remove(&mut new, "status"),
            }
        }
        validate::defaults_on_update(&kind, &old, &mut new);
        let mut new = self.mutate(Operation::Update, Some(&old), new)?;
        if let Some(schema) = &kind.schema {
            schema.fill(&mut new);
        }
        let errors = validate::object(&kind, &new, Some(&old), &mut self.warnings);
        refuse_if(&kind, &new, errors)?;
        self.validate(Operation::Update, Some(&old), &new)?;
        if !status_only && kind.counts_generations() && wish_differs(&kind, &old, &new) {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or_default() + 1;
            meta::set(&mut new, "generation", generation);
        }
        validate::size(&new)?;
        let now = self.api.clock.stamp();
        self.manage(Some(&old), &mut new, &now);
        if same(&old, &new) {
            return Ok(old);
        }
        if self.options.dry_run {
            return Ok(Arc::new(new));
        }
        if meta::is_terminating(&new) && is_finished(&kind, &new) {
            // the last finalizer is gone: the object goes, and its version does not move in the answer
            self.state.remove(self.id, &self.namespace, name)?;
            return Ok(Arc::new(new));
        }
        self.state.put(self.id, new)
    }

    /// Refuses writes meant for an older state or another object of the same name.
    fn fences(&self, old: &Value, new: &Value, name: &str, way: Way) -> Result<()> {
        let kind = &self.kind;
        let version = meta::text(new, "resourceVersion");
        let (uid, known) = (meta::uid(new), meta::uid(old));
        let wrong_uid = !uid.is_empty() && uid != known;
        let loose = kind.custom && self.subresource.is_some();
        if wrong_uid && way == Way::Put {
            let slash = if kind.group.is_empty() { String::new() } else { format!("{}/", kind.group) };
            let place = if self.namespace.is_empty() { String::new() } else { format!("{}/", self.namespace) };
            return Err(Refusal::conflict(
                kind,
                name,
                &format!(
                    "StorageError: invalid object, Code: 4, Key: /registry/{slash}{}/{place}{name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {known}",
                    kind.plural
                ),
            ));
        }
        if way == Way::Put && kind.custom && matches!(version, "" | "0") {
            let error = FieldError::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
            return Err(Refusal::invalid(&kind.plural, &kind.group, name, &[error]));
        }
        if !version.is_empty() && version.parse::<u64>().is_err() {
            return Err(Refusal::internal(format!("strconv.ParseUint: parsing \"{version}\": invalid syntax")));
        }
        if !version.is_empty() && version != "0" && version != meta::text(old, "resourceVersion") {
            return Err(Refusal::stale(kind, name));
        }
        if wrong_uid && !loose {
            let error = FieldError::invalid("metadata.uid", &uid.into(), "field is immutable");
            return Err(Refusal::invalid_object(kind, name, &[error.clone(), error]));
        }
        Ok(())
    }

    fn keep_server_fields(&self, old: &Value, new: &mut Value) {
        let metadata = meta::of(new);
        for key in [
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
            "resourceVersion",
            "namespace",
            "generateName",
        ] {
            match old["metadata"].get(key) {
                Some(value) => metadata.insert(key.to_owned(), value.clone()),
                None => metadata.remove(key),
            };
        }
        if self.applied.is_none() {
            match old["metadata"].get("managedFields") {
                Some(value) => metadata.insert("managedFields".to_owned(), value.clone()),
                None => metadata.remove("managedFields"),
            };
        }
        metadata.remove("selfLink");
        tidy(metadata);
    }

    fn mutate(&mut self, operation: Operation, old: Option<&Value>, object: Value) -> Result<Value> {
        let mut object = object;
        for hook in self.hooks.webhooks.clone() {
            let changed = hook.mutate(&self.review(operation, old, &object)).map_err(denied)?;
            if let Some(changed) = changed {
                object = changed;
            }
        }
        Ok(object)
    }

    pub(super) fn validate(&mut self, operation: Operation, old: Option<&Value>, object: &Value) -> Result<()> {
        for hook in self.hooks.webhooks.clone() {
            let warnings = hook.validate(&self.review(operation, old, object)).map_err(denied)?;
            self.warnings.extend(warnings);
        }
        Ok(())
    }

    fn review<'b>(&'b self, operation: Operation, old: Option<&'b Value>, new: &'b Value) -> Review<'b> {
        Review {
            operation,
            group: &self.kind.group,
            resource: &self.kind.plural,
            subresource: self.subresource.as_deref(),
            namespace: &self.namespace,
            name: meta::name(if new.is_null() { old.unwrap_or(new) } else { new }),
            old,
            new,
            user: &self.user.name,
            objects: View(self.state),
        }
    }

    pub(crate) fn manager(&self, applies: bool) -> Manager {
        Manager {
            name: self.options.manager.clone(),
            applies,
            api_version: self.kind.group_version(&self.version),
            subresource: self.subresource.clone().unwrap_or_default(),
        }
    }

    /// Records who owns which field. An apply to an existing object has done so already.
    fn manage(&self, old: Option<&Value>, new: &mut Value, now: &str) {
        let schema = self.kind.schema.as_deref();
        match (&self.applied, old) {
            (None, None) => {
                // what the server fills in by itself belongs to nobody
                let mut sent = new.clone();
                if self.kind.status {
                    remove(&mut sent, "status");
                }
                if self.kind.is("", "namespaces") {
                    remove(&mut sent, "spec");
                }
                fields::track(None, &mut sent, schema, &self.manager(false), now);
                if let Some(managed) = sent["metadata"].get("managedFields") {
                    meta::set(new, "managedFields", managed.clone());
                }
            }
            (None, old) => fields::track(old, new, schema, &self.manager(false), now),
            (Some(config), None) => {
                let manager = self.manager(true);
                if let Ok(applied) = fields::apply(None, config, schema, &manager, self.kind.status, true, now) {
                    meta::set(new, "managedFields", applied.object["metadata"]["managedFields"].clone());
                }
            }
            (Some(_), Some(_)) => {}
        }
    }
}

/// Whether nothing holds a terminating object any more.
pub(super) fn is_finished(kind: &Kind, object: &Value) -> bool {
    let held = kind.is("", "namespaces") && !meta::strings(&object["spec"]["finalizers"]).is_empty();
    meta::finalizers(object).is_empty() && !held
}

/// Whether what the user wants (not the status or metadata) differs.
fn wish_differs(kind: &Kind, old: &Value, new: &Value) -> bool {
    let keys = |object: &Value| -> Vec<String> {
        object.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
    };
    keys(old).iter().chain(&keys(new)).any(|key| {
        let skipped = matches!(key.as_str(), "metadata" | "apiVersion" | "kind") || key == "status" && kind.status;
        !skipped && old.get(key) != new.get(key)
    })
}

fn same(old: &Value, new: &Value) -> bool {
    old == new
}

pub(super) fn remove(object: &mut Value, key: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(key);
    }
}

/// Empty maps and nulls are no fields.
fn tidy(metadata: &mut serde_json::Map<String, Value>) {
    metadata.retain(|key, value| match value {
        Value::Null => false,
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::String(text) => !text.is_empty() || key == "resourceVersion",
        _ => true,
    });
    if metadata.get("resourceVersion").is_some_and(|version| version == "") {
        metadata.remove("resourceVersion");
    }
}

fn wrong_kind(kind: &Kind, object: &Value) -> Refusal {
    let got = object["kind"].as_str().unwrap_or_default();
    let error = FieldError::invalid("kind", &got.into(), format!("must be {}", kind.kind));
    Refusal::invalid(got, &kind.group, meta::name(object), &[error])
}

fn refuse_if(kind: &Kind, object: &Value, errors: Vec<FieldError>) -> Result<()> {
    if errors.is_empty() { Ok(()) } else { Err(Refusal::invalid_object(kind, meta::name(object), &errors)) }
}

pub(super) fn denied(denial: Denial) -> Refusal {
    let message = format!("admission webhook \"{}\" denied the request: {}", denial.webhook, denial.message);
    let refusal = Refusal::new(denial.code, denial.reason, message);
    if denial.causes.is_empty() {
        return refusal;
    }
    let causes: Vec<Value> = denial
        .causes
        .iter()
        .map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}))
        .collect();
    refusal.with_details(json!({"causes": causes}))
}

/// The five characters after a generateName.
fn suffix() -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut rng = rand::rng();
    (0..5).map(|_| char::from(LETTERS[rng.random_range(0..LETTERS.len())])).collect()
}
