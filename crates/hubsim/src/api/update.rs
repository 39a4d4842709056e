//! Updates and patches, once it is clear what the object shall be.

use super::{
    Api, Call, decode,
    query::WriteOptions,
    read::in_version,
    success, text,
    write::{Writer, is_finished, refuse_if, remove, tidy, wrong_kind},
};
use crate::{
    answer::{FieldError, Refusal, Result},
    built_in, claims,
    hooks::Operation,
    kinds::Kind,
    meta, quota,
    store::KindId,
    validate,
};
use axum::body::Body;
use http::{Response, StatusCode, header};
use serde_json::{Value, json};
use std::sync::Arc;

/// How an update came: some checks differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Put,
    Patch,
}

impl Api {
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
        built_in::defaults_on_update(&kind, &old, &mut new);
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
        if *old == new {
            return Ok(old);
        }
        if self.options.dry_run {
            return Ok(Arc::new(new));
        }
        if self.subresource.is_none() {
            claims::admit_growth(self.state, &kind, &old, &new)?;
        }
        for (id, counted) in quota::admit(self.state, &kind, Some(&old), &new)? {
            self.state.put(id, counted)?;
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
                // long, and mostly sent as it was
                Some(value) if metadata.get("managedFields") == Some(value) => {}
                Some(value) => drop(metadata.insert("managedFields".to_owned(), value.clone())),
                None => drop(metadata.remove("managedFields")),
            };
        }
        metadata.remove("selfLink");
        tidy(metadata);
    }
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
