//! The server around the portal and the APIs: settings, commands, the edge that every request passes, listeners, health.

pub mod auth;
pub mod commands;
mod console;
pub mod database;
pub mod demo;
pub mod edge;
pub mod events;
pub mod health;
mod housekeeping;
pub mod listen;
pub mod metrics;
pub mod oidc;
pub mod settings;
pub mod shutdown;
pub mod site;
pub mod telemetry;
pub mod tls;
mod transfer;

use app::portal::{Portal, PortalOptions, RouteInfo, Visitor};
use axum::{
    Router,
    extract::Request,
    http::header,
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
};
use domain::Domain;
use edge::{ClientAddr, OwnOrigin, Problem, RequestContext};
use leptos::config::LeptosOptions;
use settings::Settings;
use shutdown::Shutdown;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Objects of hubs come and go by the thousand as JSON: with the C library's allocator a quarter of all time goes into it.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What handlers share. Cheap to clone.
#[derive(Clone)]
pub struct AppState {
    pub settings: Arc<Settings>,
    pub domain: Domain,
    pub shutdown: Shutdown,
    /// Whether https answers tell browsers to use nothing else. Not in the demo: it serves http under the same name.
    pub hsts: bool,
    pub sso: Arc<oidc::Sso>,
    /// Signs and checks access tokens of the APIs; None without a master secret.
    pub tokens: Option<Arc<vcd::Tokens>>,
    started: Arc<AtomicBool>,
}

impl AppState {
    pub fn new(settings: Settings, domain: Domain, shutdown: Shutdown, hsts: bool) -> AppState {
        let sso = Arc::new(oidc::Sso::new(oidc::sealer(&settings.auth)));
        let auth = &settings.auth;
        let old = auth.old_secret.as_ref().map(|s| s.expose());
        // only a random source that fails could refuse it, and none is asked
        let tokens = auth.secret.as_ref().and_then(|s| vcd::Tokens::new(s.expose(), old).ok()).map(Arc::new);
        AppState { settings: Arc::new(settings), domain, shutdown, hsts, sso, tokens, started: Arc::default() }
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
    let lost_in = portal(&state);
    let guarded = portal_router(&state)
        .0
        .fallback(async move |request| lost(lost_in, request).await)
        .method_not_allowed_fallback(async || Problem::method_not_allowed().into_response())
        .layer(from_fn_with_state(state.clone(), auth::attach));
    let stream = Router::new()
        .route("/events", get(events::stream).with_state(state.clone()))
        .layer(from_fn_with_state(state.clone(), auth::attach));
    let apis = edge::guard(vcd_router(&state).0.layer(from_fn(site_of)), &state);
    let routes = edge::guard(guarded, &state)
        .merge(apis)
        .merge(stream)
        .merge(console::routes(state.clone()))
        .merge(transfer::routes(state.clone()))
        .merge(site::router())
        .merge(health::routes(state.clone()))
        .merge(metrics::routes(state.clone()));
    edge::wrap(routes, &state)
}

/// An address without a page. Who is signed in is told so in their own portal; strangers and programs in plain words.
async fn lost(portal: Portal, request: Request) -> Response {
    let signed_in = request.extensions().get::<Visitor>().is_some_and(|visitor| visitor.actor.is_some());
    let reads_pages = request.headers().get(header::ACCEPT).is_some_and(|v| v.as_bytes().starts_with(b"text/html"));
    if signed_in && reads_pages && !edge::is_api(request.uri().path()) {
        app::pages::not_found(portal, request).await
    } else {
        Problem::not_found().into_response()
    }
}

/// Every address of the VCD API, for tests and for the docs.
pub fn vcd_routes(state: &AppState) -> Vec<vcd::RouteInfo> {
    vcd_router(state).1
}

fn vcd_router(state: &AppState) -> (Router, Vec<vcd::RouteInfo>) {
    vcd::routes(vcd::Vcd { domain: state.domain.clone(), tokens: state.tokens.clone() })
}

/// What handlers of the APIs know of this site and of who asks.
async fn site_of(mut request: Request, next: Next) -> Response {
    let all = request.extensions();
    let context = all.get::<RequestContext>();
    let site = vcd::Site {
        base: all.get::<OwnOrigin>().map(|own| own.0.to_string()).unwrap_or_else(|| "http://localhost".into()),
        address: all.get::<ClientAddr>().map(|a| a.0.to_string()).unwrap_or_default(),
        request_id: context.map(|c| c.id().to_owned()).unwrap_or_default(),
    };
    request.extensions_mut().insert(site);
    next.run(request).await
}

/// Every address of the portal, for tests that walk through all of them.
pub fn portal_routes(state: &AppState) -> Vec<RouteInfo> {
    portal_router(state).1
}

/// The pages, and the way to an identity provider and back.
fn portal_router(state: &AppState) -> (Router, Vec<RouteInfo>) {
    let (pages, mut list) = app::pages::routes(portal(state));
    let (sso, more) = oidc::routes(state, portal(state)).into_router();
    list.extend(more);
    (pages.merge(sso), list)
}

fn portal(state: &AppState) -> Portal {
    let leptos = LeptosOptions::builder().output_name("ssvirt").site_pkg_dir("pkg").build();
    Portal {
        domain: state.domain.clone(),
        options: PortalOptions { leptos, site_root: site::root(), policy: Arc::new(edge::page_policy) },
    }
}
