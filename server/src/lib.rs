//! The server around the portal and the APIs: settings, commands, the edge that every request passes, listeners, health.

pub mod commands;
pub mod database;
pub mod edge;
pub mod health;
pub mod listen;
pub mod metrics;
pub mod settings;
pub mod shutdown;
pub mod site;
pub mod telemetry;
pub mod tls;

use axum::{
    Router,
    response::{Html, IntoResponse},
    routing::get,
};
use domain::Domain;
use edge::Problem;
use settings::Settings;
use shutdown::Shutdown;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// What handlers share. Cheap to clone.
#[derive(Clone)]
pub struct AppState {
    pub settings: Arc<Settings>,
    pub domain: Domain,
    pub shutdown: Shutdown,
    /// Whether https answers tell browsers to use nothing else. Not in the demo: it serves http under the same name.
    pub hsts: bool,
    started: Arc<AtomicBool>,
}

impl AppState {
    pub fn new(settings: Settings, domain: Domain, shutdown: Shutdown, hsts: bool) -> AppState {
        AppState { settings: Arc::new(settings), domain, shutdown, hsts, started: Arc::default() }
    }

    /// The database is migrated and whatever else the start had to do is done.
    pub fn mark_started(&self) {
        self.started.store(true, Ordering::Release);
    }

    pub fn has_started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }
}

/// Everything that can be asked of the server, without a socket.
pub fn router(state: AppState) -> Router {
    let page = Html(format!("<!doctype html><html lang=en><title>SSVirt</title><!-- assets: {} -->", site::root()));
    let guarded = Router::new()
        .route("/", get(async || page))
        .fallback(async || Problem::not_found().into_response())
        .method_not_allowed_fallback(async || Problem::method_not_allowed().into_response());
    let routes = edge::guard(guarded, &state)
        .merge(site::router())
        .merge(health::routes(state.clone()))
        .merge(metrics::routes(state.clone()));
    edge::wrap(routes, &state)
}
