//! Where actors join in: admission before an object is stored, and APIs that are answered by code.

use crate::store::State;
use axum::body::Body;
use futures::future::BoxFuture;
use http::{Request, Response};
use serde_json::Value;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Create,
    Update,
    Delete,
}

/// A change that somebody wants to make.
pub struct Review<'a> {
    pub operation: Operation,
    pub group: &'a str,
    /// The plural, such as `virtualmachines`.
    pub resource: &'a str,
    /// `status` when the status alone is written.
    pub subresource: Option<&'a str>,
    pub namespace: &'a str,
    pub name: &'a str,
    pub old: Option<&'a Value>,
    /// Null for a delete.
    pub new: &'a Value,
    pub user: &'a str,
    pub groups: &'a [String],
    pub objects: View<'a>,
}

/// Where objects are looked up.
pub(crate) trait Lookup {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;
    fn list(&self, group: &str, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>>;
}

impl Lookup for State {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.by_name(group, resource, namespace, name)
    }

    fn list(&self, group: &str, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        self.find(group, resource).map(|id| State::list(self, id, namespace).cloned().collect()).unwrap_or_default()
    }
}

/// The hub's other objects, as they are at this moment.
#[derive(Clone, Copy)]
pub struct View<'a>(pub(crate) &'a dyn Lookup);

impl View<'_> {
    pub fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.0.get(group, resource, namespace, name)
    }

    pub fn list(&self, group: &str, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        self.0.list(group, resource, namespace)
    }
}

/// One field and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Such as `FieldValueInvalid` or `FieldValueRequired`.
    pub reason: &'static str,
    pub message: String,
    pub field: String,
}

/// Why a change is refused.
#[derive(Debug, Clone)]
pub struct Denial {
    /// The webhook's name, such as `virtualmachine-validator.kubevirt.io`.
    pub webhook: String,
    pub code: u16,
    pub reason: &'static str,
    pub message: String,
    pub causes: Vec<Cause>,
}

impl Denial {
    /// The answer KubeVirt's webhooks give: 422 with the fields that are wrong.
    pub fn invalid(webhook: &str, causes: Vec<Cause>) -> Self {
        let message = causes.iter().map(|cause| cause.message.as_str()).collect::<Vec<_>>().join(", ");
        Self { webhook: webhook.to_owned(), code: 422, reason: "Invalid", message, causes }
    }

    pub fn forbidden(webhook: &str, message: &str) -> Self {
        let message = message.to_owned();
        Self { webhook: webhook.to_owned(), code: 403, reason: "Forbidden", message, causes: Vec::new() }
    }
}

/// Sees every create, update and delete. Called with the hub's lock held: it may look at `Review::objects`, and must
/// not call the hub.
pub trait Webhook: Send + Sync {
    /// The object as it shall be; called before it is checked against its schema.
    fn mutate(&self, review: &Review<'_>) -> Result<Option<Value>, Denial> {
        let _ = review;
        Ok(None)
    }

    /// Whether the object is good; called after its schema and before quota. Returns warnings.
    fn validate(&self, review: &Review<'_>) -> Result<Vec<String>, Denial> {
        let _ = review;
        Ok(Vec::new())
    }
}

/// An API group answered by code, such as `subresources.kubevirt.io`: every request below `/apis/<group>/<version>/`
/// that is authenticated and authorised. The request carries the upgrade extension, so consoles can be served.
pub trait VirtualApi: Send + Sync {
    fn group(&self) -> &str;

    /// Served versions, preferred first.
    fn versions(&self) -> Vec<String>;

    /// Discovery's list for one version: `{name, singularName, namespaced, kind, verbs}` each.
    fn resources(&self, version: &str) -> Vec<Value>;

    /// An address of its own beside the API, which it answers without the hub's own authentication, such as that of CDI's
    /// upload proxy.
    fn beside(&self) -> Option<&str> {
        None
    }

    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>>;
}

#[derive(Default, Clone)]
pub(crate) struct Hooks {
    pub webhooks: Vec<Arc<dyn Webhook>>,
    pub apis: Vec<Arc<dyn VirtualApi>>,
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} webhooks, {} virtual APIs", self.webhooks.len(), self.apis.len())
    }
}
