//! TemplateInstances: a template is processed and its objects are created, and they go when the instance goes.
use super::{TemplateError, process};
use crate::actors::{
    actor::{Actor, Again},
    api::{Result, code, is_conflict, is_not_found, words},
    condition::{self, Say},
    json::{Look, list_mut, put, remove},
    kind::{ACCESS_REVIEW, Kind, SECRET, TEMPLATE_CONFIG, TEMPLATE_INSTANCE},
    mirror::Key,
    world::World,
};
use kube::api::DeleteParams;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

pub(crate) struct TemplateInstances;

const FINALIZER: &str = "template.openshift.io/finalizer";
const OWNER: &str = "template.openshift.io/template-instance-owner";

impl Actor for TemplateInstances {
    const KIND: Kind = TEMPLATE_INSTANCE;
    const HEARS: &'static [Kind] = &[TEMPLATE_INSTANCE];

    fn concerns(_: Kind, old: Option<&Value>, new: Option<&Value>) -> Vec<Key> {
        new.or(old).map(Key::of).into_iter().collect()
    }

    async fn look(world: &World, instance: Arc<Value>) -> Result<Again> {
        let visit = Visit { world, instance: &instance };
        if instance.dying() {
            return visit.remove().await;
        }
        if ["Ready", "InstantiateFailure"].iter().any(|k| condition::is(&instance, k, "True")) {
            return Ok(Again::No);
        }
        if !instance.list("/metadata/finalizers").iter().any(|f| f == FINALIZER) {
            let mut new = (*instance).clone();
            list_mut(&mut new, "/metadata/finalizers").push(json!(FINALIZER));
            world.write(TEMPLATE_INSTANCE, &new).await?;
            return Ok(Again::No);
        }
        if let Some(wait) = world.wait_for(TEMPLATE_INSTANCE, &instance, "instantiate", 1) {
            return Ok(Again::In(wait));
        }
        match visit.instantiate().await? {
            Ok(objects) => visit.succeeded(&objects).await,
            Err(message) => visit.failed(&message).await,
        }
    }

    fn gone(_: &World, _: &Key) {}
}

struct Visit<'a> {
    world: &'a World,
    instance: &'a Value,
}

impl Visit<'_> {
    async fn succeeded(&self, objects: &[Value]) -> Result<Again> {
        let mut status = self.status();
        let say = Say { reason: "Created", ..condition::yes("Ready") };
        condition::set_plain(&mut status, say, self.world.now());
        status["objects"] = objects
            .iter()
            .map(|o| {
                json!({"ref": {
                    "kind": o["kind"], "apiVersion": o["apiVersion"], "namespace": o.namespace(), "name": o.name(),
                    "uid": o.uid(),
                }})
            })
            .collect();
        self.world.write_status(TEMPLATE_INSTANCE, self.instance, status).await?;
        Ok(Again::No)
    }

    async fn failed(&self, message: &str) -> Result<Again> {
        let mut status = self.status();
        let see = "See InstantiateFailure condition for error message";
        condition::set_plain(&mut status, condition::no("Ready", "Failed", see), self.world.now());
        let say = Say { reason: "Failed", message, ..condition::yes("InstantiateFailure") };
        condition::set_plain(&mut status, say, self.world.now());
        self.world.write_status(TEMPLATE_INSTANCE, self.instance, status).await?;
        Ok(Again::No)
    }

    fn status(&self) -> Value {
        self.instance.get("status").filter(|s| s.is_object()).cloned().unwrap_or_else(|| json!({}))
    }

    /// Creates every object; what an earlier try of this very instance made is taken as it is.
    async fn instantiate(&self) -> Result<std::result::Result<Vec<Value>, String>> {
        let mut template = self.instance.pointer("/spec/template").cloned().unwrap_or_else(|| json!({}));
        if let Err(message) = self.fill_from_secret(&mut template).await? {
            return Ok(Err(message));
        }
        // the uid makes a second try after a restart generate the same values
        let processed = match process(&template, self.world.chance, self.instance.uid()) {
            Ok(processed) => processed,
            Err(errors) => {
                let name = template.name().to_owned();
                return Ok(Err(TemplateError::status(&errors, &name)["message"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()));
            }
        };
        let mut wanted = vec![(TEMPLATE_CONFIG, template.name())];
        wanted.extend(processed.list("/objects").iter().filter_map(|o| Some((kind_of(o)?, o.name()))));
        for (kind, name) in wanted {
            if let Some(refusal) = self.refusal(kind, name).await? {
                return Ok(Err(refusal));
            }
        }
        let mut made = Vec::new();
        let mut errors = Vec::new();
        for object in processed.list("/objects") {
            match self.create(object).await? {
                Ok(object) => made.push(object),
                Err(message) => errors.push(message),
            }
        }
        Ok(if errors.is_empty() { Ok(made) } else { Err(errors.join("\n")) })
    }

    /// Why whoever asked for the instance may not create that, if they may not.
    async fn refusal(&self, kind: Kind, name: &str) -> Result<Option<String>> {
        let Some(user) = self.instance.text("/spec/requester/username") else { return Ok(None) };
        let namespace = if kind.namespaced { self.instance.namespace() } else { "" };
        let review = json!({
            "apiVersion": ACCESS_REVIEW.api_version(), "kind": ACCESS_REVIEW.kind,
            "spec": {
                "user": user, "groups": self.instance.list("/spec/requester/groups"),
                "resourceAttributes": {
                    "verb": "create", "group": kind.group, "resource": kind.plural, "namespace": namespace, "name": name,
                },
            },
        });
        let answer = self.world.api.create(ACCESS_REVIEW, &review).await?;
        let dot = if kind.group.is_empty() { "" } else { "." };
        let refused = || {
            format!(
                "{}{dot}{} \"{name}\" is forbidden: {}",
                kind.plural,
                kind.group,
                answer.text("/status/reason").unwrap_or_default()
            )
        };
        Ok((answer.pointer("/status/allowed") != Some(&json!(true))).then(refused))
    }

    async fn create(&self, object: &Value) -> Result<std::result::Result<Value, String>> {
        let Some(kind) = kind_of(object) else {
            let (api, name) =
                (object.text("/apiVersion").unwrap_or_default(), object.text("/kind").unwrap_or_default());
            return Ok(Err(format!("no matches for kind \"{name}\" in version \"{api}\"")));
        };
        let mut object = object.clone();
        put(&mut object, &format!("/metadata/labels/{}", OWNER.replace('/', "~1")), json!(self.instance.uid()));
        if kind.namespaced && object.namespace().is_empty() {
            put(&mut object, "/metadata/namespace", json!(self.instance.namespace()));
        }
        match self.world.create(kind, &object).await {
            Ok(made) => Ok(Ok(with_kind(made, kind))),
            Err(e) if is_conflict(&e) => {
                let there = self.world.api.get(kind, object.namespace(), object.name()).await?;
                match there.filter(|o| o.label(OWNER) == Some(self.instance.uid())) {
                    Some(ours) => Ok(Ok(with_kind(ours, kind))),
                    None => Ok(Err(words(&e))),
                }
            }
            Err(e) if code(&e).is_some() => Ok(Err(words(&e))),
            Err(e) => Err(e),
        }
    }

    /// Values from the secret come before those in the template.
    async fn fill_from_secret(&self, template: &mut Value) -> Result<std::result::Result<(), String>> {
        let Some(name) = self.instance.text("/spec/secret/name") else { return Ok(Ok(())) };
        let Some(secret) = self.world.api.get(SECRET, self.instance.namespace(), name).await? else {
            return Ok(Err(format!("secrets \"{name}\" not found")));
        };
        for parameter in template.pointer_mut("/parameters").and_then(Value::as_array_mut).into_iter().flatten() {
            let coded = parameter.text("/name").and_then(|n| secret.pointer("/data")?.get(n)?.as_str());
            if let Some(value) = coded.and_then(decode) {
                parameter["value"] = json!(value);
                remove(parameter, "/generate");
            }
        }
        Ok(Ok(()))
    }

    /// Deletes what was made, waits until it is gone, and lets the instance go.
    async fn remove(&self) -> Result<Again> {
        let mut left = false;
        for entry in self.instance.list("/status/objects") {
            let object = &entry["ref"];
            let Some(kind) = kind_of(object) else { continue };
            let namespace = object.text("/namespace").unwrap_or_default();
            let there = match self.world.api.get(kind, namespace, object.text("/name").unwrap_or_default()).await {
                Ok(there) => there,
                Err(e) if is_not_found(&e) => None,
                Err(e) => return Err(e),
            };
            let Some(there) = there.filter(|o| o.text("/metadata/uid") == object.text("/uid")) else { continue };
            left = true;
            if !there.dying() {
                self.world.api.delete(kind, &there, DeleteParams::foreground()).await?;
            }
        }
        if left {
            return Ok(Again::In(self.world.delay.clamp(Duration::from_millis(50), Duration::from_secs(1))));
        }
        if let Some(written) = self.world.api.drop_finalizers(TEMPLATE_INSTANCE, self.instance, &[FINALIZER]).await? {
            self.world.learn(TEMPLATE_INSTANCE, written);
        }
        Ok(Again::No)
    }
}

fn kind_of(object: &Value) -> Option<Kind> {
    Kind::of(object.text("/apiVersion").unwrap_or_default(), object.text("/kind").unwrap_or_default())
}

/// Answers of core kinds may leave kind and version out.
fn with_kind(mut object: Value, kind: Kind) -> Value {
    object["kind"] = json!(kind.kind);
    object["apiVersion"] = json!(kind.api_version());
    object
}

fn decode(text: &str) -> Option<String> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).ok().and_then(|b| String::from_utf8(b).ok())
}
