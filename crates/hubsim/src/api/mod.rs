//! The API server: from a request to its answer.

mod apply;
mod create;
pub(crate) mod decode;
mod delete;
mod discovery;
mod openapi;
mod patch;
mod path;
pub(crate) mod protobuf;
mod query;
mod read;
mod reviews;
mod table;
mod update;
mod watch;
mod write;

pub(crate) use delete::STUCK;
pub(crate) use query::{DeleteOptions, Propagation};

use crate::{
    access::{self, Action, User},
    answer::{Refusal, Result, json_response},
    clock::Clock,
    faults::Faults,
    flavour::Flavour,
    hooks::Hooks,
    identity::Identity,
    kinds::Kind,
    store::{KindId, State},
};
use axum::body::{Body, Bytes};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use path::{ResourcePath, Target};
use query::Query;
use serde_json::Value;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock,
    atomic::{AtomicBool, Ordering},
};

/// Everything a request may need.
#[derive(Debug)]
pub(crate) struct Api {
    state: Mutex<State>,
    pub clock: Clock,
    pub faults: Faults,
    pub flavour: Flavour,
    pub identity: Identity,
    pub hooks: RwLock<Hooks>,
    pub address: std::sync::OnceLock<String>,
    pub controllers_paused: AtomicBool,
    stopped: AtomicBool,
}

/// Which way a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    Outside,
    /// The hub's own actors: trusted, and untouched by faults.
    Inside,
}

/// A request for a resource, taken apart.
pub(crate) struct Call {
    pub method: Method,
    pub path: ResourcePath,
    pub query: Query,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub user: User,
    pub door: Door,
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

impl Api {
    pub(crate) fn new(state: State, clock: Clock, flavour: Flavour, identity: Identity) -> Self {
        Self {
            state: Mutex::new(state),
            clock,
            faults: Faults::default(),
            flavour,
            identity,
            hooks: RwLock::default(),
            address: std::sync::OnceLock::new(),
            controllers_paused: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers nothing and writes nothing from now on, whoever still holds a client.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.state().close();
    }

    pub(crate) fn hooks(&self) -> Hooks {
        self.hooks.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) async fn answer(self: &Arc<Self>, request: Request<Body>, door: Door) -> Response<Body> {
        if self.stopped.load(Ordering::Relaxed) {
            return Refusal::new(503, "ServiceUnavailable", "the hub has been stopped").response();
        }
        let head = request.method() == Method::HEAD;
        let mut response = match self.route(request, door).await {
            Ok(response) => response,
            Err(refusal) => refusal.response(),
        };
        if head {
            *response.body_mut() = Body::empty();
        }
        response
    }

    async fn route(self: &Arc<Self>, request: Request<Body>, door: Door) -> Result<Response<Body>> {
        let beside = self.hooks().apis.into_iter().find(|api| api.beside() == Some(request.uri().path()));
        if let Some(beside) = beside {
            return Ok(beside.answer(request).await);
        }
        let user = match door {
            Door::Inside => User::inside(),
            Door::Outside => {
                access::authenticate(self, &self.state(), request.headers()).ok_or_else(Refusal::unauthorized)?
            }
        };
        let path = request.uri().path().to_owned();
        let target = path::read(&path);
        let query = Query::read(request.uri().query());
        let Target::Resource(resource) = target else {
            self.authorise_path(&user, request.method(), &path)?;
            return self.page(&target, &path, request.headers());
        };
        let verb = resource.verb(request.method(), query.flag("watch"));
        self.authorise(&user, request.headers(), &resource, verb)?;
        let virtual_api = self.hooks().apis.into_iter().find(|api| api.group() == resource.group);
        if let Some(virtual_api) = virtual_api.filter(|api| api.versions().contains(&resource.version)) {
            return Ok(virtual_api.answer(request).await);
        }
        if self.is_away(&resource.group, &resource.version) {
            return Err(discovery::service_unavailable());
        }
        let (parts, body) = request.into_parts();
        let body = axum::body::to_bytes(body, decode::LIMIT)
            .await
            .map_err(|_| Refusal::new(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"))?;
        let call = Call { method: parts.method, path: resource, query, headers: parts.headers, body, user, door };
        self.resource(call, verb).await
    }

    fn authorise_path(&self, user: &User, method: &Method, path: &str) -> Result<()> {
        let verb = if method == Method::HEAD { "get".to_owned() } else { method.as_str().to_lowercase() };
        let action = Action { verb: &verb, path: Some(path), ..Action::default() };
        if access::allowed(&self.state(), user, &action) {
            return Ok(());
        }
        let message = format!("forbidden: User \"{}\" cannot {verb} path \"{path}\"", user.name);
        let mut refusal = Refusal::new(403, "Forbidden", message).with_details(serde_json::json!({}));
        refusal.no_sniff = true;
        Err(refusal)
    }

    fn authorise(&self, user: &User, headers: &HeaderMap, path: &ResourcePath, verb: &str) -> Result<()> {
        let state = self.state();
        if let Some(other) = headers.get("impersonate-user").and_then(|value| value.to_str().ok()) {
            let action = Action { verb: "impersonate", resource: "users", name: other, ..Action::default() };
            require(&state, user, &action)?;
        }
        require(&state, user, &action_of(path, verb))
    }

    async fn resource(self: &Arc<Self>, call: Call, verb: &str) -> Result<Response<Body>> {
        let (id, kind) = self.kind_for(&call.path)?;
        if kind.create_only {
            return self.review(&kind, &call);
        }
        if let Some(answer) = self.account_token(&kind, &call)? {
            return Ok(answer);
        }
        let collection = call.path.name.is_none();
        // custom resources are served by one loose handler, built-in kinds by exact routes
        match (call.method.as_str(), collection) {
            ("GET" | "HEAD", false) => self.get(id, &kind, &call).await,
            ("GET" | "HEAD", true) if verb == "watch" => self.watch(id, &kind, &call).await,
            ("GET" | "HEAD", true) => self.list(id, &kind, &call).await,
            ("POST", true) => self.create(id, &kind, &call),
            ("POST", false) if kind.custom && call.path.subresource.is_none() => self.create(id, &kind, &call),
            ("PUT" | "PATCH", true) if kind.custom => Err(Refusal::bad_request("name must be provided")),
            ("PUT", false) => self.update(id, &kind, &call),
            ("PATCH", false) => self.patch(id, &kind, &call),
            ("DELETE", _) if call.path.subresource.is_some() && kind.custom => Err(not_supported(&kind, "delete")),
            ("DELETE", false) if call.path.subresource.is_none() => self.delete(id, &kind, &call),
            ("DELETE", true) if kind.verbs().contains(&"deletecollection") => self.delete_collection(id, &kind, &call),
            _ if kind.custom => Err(not_supported(&kind, "")),
            _ => Err(Refusal::method_not_allowed()),
        }
    }

    /// The kind a path names, if the path has the form that the kind is served under.
    fn kind_for(&self, path: &ResourcePath) -> Result<(KindId, Arc<Kind>)> {
        let unknown = || if path.group.is_empty() { Refusal::unknown_resource() } else { Refusal::page_not_found() };
        let state = self.state();
        let id = state.find(&path.group, &path.resource).ok_or_else(unknown)?;
        let kind = state.kind(id);
        let is_namespace = kind.is("", "namespaces");
        let placed = match (kind.namespaced, &path.namespace, &path.name) {
            (true, Some(_), _) => true,
            (true, None, Some(_)) => false,
            // over all namespaces: reading only
            (true, None, None) => true,
            (false, None, _) => true,
            (false, Some(_), _) => is_namespace,
        };
        if !kind.versions.contains(&path.version) || !placed {
            return Err(unknown());
        }
        match path.subresource.as_deref() {
            None => {}
            Some("status") if kind.status => {}
            Some("finalize") if is_namespace => {}
            Some("token") if kind.is("", "serviceaccounts") => {}
            Some(_) if kind.custom => {
                return Err(Refusal::not_found(&kind, path.name.as_deref().unwrap_or_default()));
            }
            Some(_) => return Err(unknown()),
        }
        Ok((id, kind))
    }

    fn page(&self, target: &Target, path: &str, headers: &HeaderMap) -> Result<Response<Body>> {
        match target {
            Target::Groups { .. } | Target::Group(_) | Target::GroupVersion(..) => self.discovery(target, headers),
            _ => self.other(path),
        }
    }

    fn other(&self, path: &str) -> Result<Response<Body>> {
        match path.trim_end_matches('/') {
            "/version" => Ok(json_response(200, &self.version())),
            "/healthz" | "/livez" | "/readyz" | "/readyz/etcd" | "/livez/etcd" | "/healthz/etcd" => {
                let mut response = Response::new(Body::from("ok"));
                let headers = response.headers_mut();
                headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
                headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
                headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
                Ok(response)
            }
            "/openapi/v3" => Ok(self.openapi_index()),
            other => match other.strip_prefix("/openapi/v3/") {
                Some(name) => self.openapi_document(name),
                None => Err(Refusal::page_not_found()),
            },
        }
    }

    fn version(&self) -> Value {
        let numbers = self.flavour.kubernetes.trim_start_matches('v');
        let mut parts = numbers.split('.');
        let (major, minor) = (parts.next().unwrap_or("1"), parts.next().unwrap_or("0"));
        let before = minor.parse::<u32>().unwrap_or(1).saturating_sub(1).to_string();
        serde_json::json!({
            "major": major, "minor": minor, "emulationMajor": major, "emulationMinor": minor,
            "minCompatibilityMajor": major, "minCompatibilityMinor": before,
            "gitVersion": self.flavour.kubernetes, "gitCommit": "0000000000000000000000000000000000000000",
            "gitTreeState": "clean", "buildDate": "2026-01-01T00:00:00Z", "goVersion": "go1.26.8", "compiler": "gc",
            "platform": "linux/amd64",
        })
    }
}

pub(crate) fn action_of<'a>(path: &'a ResourcePath, verb: &'a str) -> Action<'a> {
    Action {
        verb,
        group: &path.group,
        resource: &path.resource,
        subresource: path.subresource.as_deref().unwrap_or_default(),
        namespace: path.namespace.as_deref().unwrap_or_default(),
        name: path.name.as_deref().unwrap_or_default(),
        path: None,
    }
}

pub(crate) fn require(state: &State, user: &User, action: &Action<'_>) -> Result<()> {
    if access::allowed(state, user, action) {
        return Ok(());
    }
    let Action { verb, group, resource, subresource, namespace, name, .. } = action;
    let whole = if subresource.is_empty() { (*resource).to_owned() } else { format!("{resource}/{subresource}") };
    let scope = if namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace \"{namespace}\"")
    };
    let why = format!("User \"{}\" cannot {verb} resource \"{whole}\" in API group \"{group}\" {scope}", user.name);
    let mut refusal = Refusal::forbidden(group, resource, name, &why);
    refusal.no_sniff = true;
    Err(refusal)
}

fn not_supported(kind: &Kind, verb: &str) -> Refusal {
    let message = format!("{verb} is not supported on resources of kind \"{}\"", kind.resource());
    Refusal::new(405, "MethodNotAllowed", message).with_details(crate::answer::details("", &kind.group, &kind.plural))
}

/// A 200 or 201 with warnings.
fn success(code: StatusCode, body: &Value, warnings: &[String]) -> Response<Body> {
    let mut response = json_response(code.as_u16(), body);
    for warning in warnings {
        let quoted = format!("299 - \"{}\"", warning.replace('\\', "\\\\").replace('"', "\\\""));
        if let Ok(value) = HeaderValue::from_str(&quoted) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    response
}
