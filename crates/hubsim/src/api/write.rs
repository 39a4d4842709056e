//! What creates and updates have in common: reading the body, webhooks, owners of fields.

use super::{
    Api, Call, decode,
    query::{Validation, WriteOptions},
};
use crate::{
    access::User,
    answer::{FieldError, Refusal, Result},
    built_in,
    fields::{self, Manager},
    hooks::{Denial, Hooks, Operation, Review, View},
    kinds::Kind,
    meta,
    store::{KindId, State},
    validate,
};
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
}

impl Writer<'_> {
    /// Drops unknown fields, and tells of them as the client wished.
    pub(crate) fn strict(&mut self, object: &mut Value, body: &[u8]) -> Result<()> {
        let mut told: Vec<String> =
            decode::duplicates(body).into_iter().map(|path| format!("duplicate field \"{path}\"")).collect();
        built_in::go_types(&self.kind, object)?;
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

    pub(super) fn mutate(&mut self, operation: Operation, old: Option<&Value>, object: Value) -> Result<Value> {
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
            groups: &self.user.groups,
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
    pub(super) fn manage(&self, old: Option<&Value>, new: &mut Value, now: &str) {
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

pub(super) fn remove(object: &mut Value, key: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(key);
    }
}

/// Empty maps and nulls are no fields.
pub(super) fn tidy(metadata: &mut serde_json::Map<String, Value>) {
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

pub(super) fn wrong_kind(kind: &Kind, object: &Value) -> Refusal {
    let got = object["kind"].as_str().unwrap_or_default();
    let error = FieldError::invalid("kind", &got.into(), format!("must be {}", kind.kind));
    Refusal::invalid(got, &kind.group, meta::name(object), &[error])
}

pub(super) fn refuse_if(kind: &Kind, object: &Value, errors: Vec<FieldError>) -> Result<()> {
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
