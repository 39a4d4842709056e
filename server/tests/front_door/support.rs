//! What the modules share: a server without sockets, and requests to it.

use axum::{Router, body::Body, extract::ConnectInfo};
use http::{HeaderMap, Request, StatusCode};
use server::{
    AppState, database, edge,
    settings::{Need, Resolved, Settings, Sources},
    shutdown::Shutdown,
};
use std::net::SocketAddr;
use tower::ServiceExt;

/// Port 1 answers nobody: tests that need no database get by without one.
pub(crate) const NO_DATABASE: &str = "postgres://nobody:canary@127.0.0.1:1/none";

/// A state with the given settings and no database.
pub(crate) fn state(settings: &[(&'static str, &str)]) -> AppState {
    let sources =
        settings.iter().fold(Sources::default().with_default("database.url", NO_DATABASE), |sources, (key, value)| {
            sources.with_default(key, *value)
        });
    let settings = Settings::build(&Resolved::read(&sources), Need::Database).unwrap();
    let domain = database::open(&settings).unwrap();
    AppState::new(settings, domain, Shutdown::default(), true)
}

/// The real router.
pub(crate) fn server(settings: &[(&'static str, &str)]) -> Router {
    server::router(state(settings))
}

/// The edge around routes of a test's own.
pub(crate) fn edge_around(routes: Router, settings: &[(&'static str, &str)]) -> Router {
    let state = state(settings);
    edge::wrap(edge::guard(routes, &state), &state)
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    /// A header as text; empty when it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

pub(crate) async fn ask(router: &Router, request: Request<Body>) -> Answer {
    let response = router.clone().oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    let body = axum::body::to_bytes(body, 10_000_000).await.unwrap();
    Answer { status: head.status, headers: head.headers, body: String::from_utf8_lossy(&body).into_owned() }
}

/// A GET with headers.
pub(crate) async fn get(router: &Router, path: &str, headers: &[(&str, &str)]) -> Answer {
    ask(router, request("GET", path, headers).body(Body::empty()).unwrap()).await
}

pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> http::request::Builder {
    let start = Request::builder().method(method).uri(path).header("host", "cloud.example.com");
    headers.iter().fold(start, |request, (name, value)| request.header(*name, *value))
}

/// As if the connection came from that address.
pub(crate) fn from(request: http::request::Builder, peer: &str) -> http::request::Builder {
    request.extension(ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 4711)))
}
