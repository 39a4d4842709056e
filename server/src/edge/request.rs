//! The request's id, its span in the logs, its line in the logs and its numbers.

use super::client::{self, ClientAddr, OwnOrigin, Seen};
use crate::{
    metrics,
    settings::{Origin, Settings},
};
use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method},
    middleware::Next,
    response::Response,
};
use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};
use tracing::{Instrument, field};
use uuid::Uuid;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The same id under the name VCD's clients log.
const VCLOUD_REQUEST_ID: HeaderName = HeaderName::from_static("x-vmware-vcloud-request-id");

/// What is known about a request, shared by everything that works on it.
#[derive(Debug, Clone)]
pub struct RequestContext(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: String,
    seen: Seen,
    actor: OnceLock<Actor>,
}

/// Who asked, for the log.
#[derive(Debug, Clone)]
pub struct Actor {
    pub user: Uuid,
    pub org: String,
}

impl RequestContext {
    /// Stands in logs, error pages and audit rows alike.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    pub fn is_https(&self) -> bool {
        self.0.seen.https
    }

    /// Called by authentication once it knows who asks. The first caller wins.
    pub fn set_actor(&self, actor: Actor) {
        let _ = self.0.actor.set(actor);
    }

    /// This site by the name the client used, whatever `api.public_url` says.
    pub(super) fn address_used(&self) -> Option<&Origin> {
        self.0.seen.own.as_ref()
    }

    /// Whether it came through a proxy that the settings do not name.
    pub fn forwarded_by_stranger(&self) -> bool {
        self.0.seen.forwarded && !self.0.seen.peer_is_trusted
    }
}

/// The outermost layer: nothing happens before a request has its id.
pub(super) async fn identify(State(settings): State<Arc<Settings>>, mut request: Request, next: Next) -> Response {
    let seen = client::look(&request, &settings.api);
    let id = given_id(request.headers(), seen.peer_is_trusted).unwrap_or_else(|| Uuid::now_v7().to_string());
    let context = RequestContext(Arc::new(Inner { id, seen, actor: OnceLock::new() }));
    let own = settings.api.public_url.clone().or_else(|| context.0.seen.own.clone());

    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "unmatched".to_owned(), |path| path.as_str().to_owned());
    let method = method_name(request.method());
    let extensions = request.extensions_mut();
    extensions.insert(ClientAddr(context.0.seen.client));
    extensions.insert(context.clone());
    if let Some(own) = own {
        extensions.insert(OwnOrigin(own));
    }

    let span = tracing::info_span!("request", request_id = context.id(), method, route = route.as_str());
    let mut line = Line {
        context: context.clone(),
        method,
        route,
        started: Instant::now(),
        status: None,
        _in_flight: metrics::InFlight::start(),
    };
    let answer = async move {
        let answer = next.run(request).await;
        line.status = Some(answer.status().as_u16());
        drop(line);
        answer
    };
    let mut answer = answer.instrument(span).await;
    if let Ok(value) = HeaderValue::from_str(context.id()) {
        answer.headers_mut().insert(REQUEST_ID, value.clone());
        answer.headers_mut().insert(VCLOUD_REQUEST_ID, value);
    }
    answer
}

/// The log line of one request, written when it is dropped: also when the client went away before there was an answer.
struct Line {
    context: RequestContext,
    method: &'static str,
    route: String,
    started: Instant,
    status: Option<u16>,
    _in_flight: metrics::InFlight,
}

impl Drop for Line {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        let latency_ms = (took.as_secs_f64() * 10_000.0).round() / 10.0;
        let client = field::display(self.context.0.seen.client);
        let actor = self.context.0.actor.get();
        let user = actor.map(|a| field::display(a.user));
        let org = actor.map(|a| a.org.as_str());
        // 499 is what proxies log for a client that did not wait
        let status = self.status.unwrap_or(499);
        metrics::answered(self.method, &self.route, status, took);
        match status {
            500.. => tracing::warn!(status, latency_ms, client, user, org, "failed"),
            499 if self.status.is_none() => tracing::info!(status, latency_ms, client, user, org, "client went away"),
            _ if is_routine(&self.route) => tracing::debug!(status, latency_ms, client, user, org, "answered"),
            _ => tracing::info!(status, latency_ms, client, user, org, "answered"),
        }
    }
}

/// Probes every few seconds and the files of each page would bury everything else.
fn is_routine(route: &str) -> bool {
    matches!(route, "/healthz" | "/readyz" | "/metrics" | "/favicon.ico") || route.starts_with("/a/")
}

/// A trusted proxy's id, so that its logs and ours can be joined. Only harmless characters: it is written to logs and pages.
fn given_id(headers: &HeaderMap, trusted: bool) -> Option<String> {
    let id = headers.get(REQUEST_ID).filter(|_| trusted)?.to_str().ok()?;
    let harmless = id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    (harmless && (8..=64).contains(&id.len())).then(|| id.to_owned())
}

/// A fixed set of names: anybody can invent methods, and every new one would be a new series.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
