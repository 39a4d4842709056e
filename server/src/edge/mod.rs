//! What every request must show and what every answer carries, in one place for all faces.

mod client;
mod cors;
mod headers;
mod limits;
mod problem;
mod request;
mod same_origin;
mod text;

pub use client::{ClientAddr, Encrypted, OwnOrigin};
pub use headers::page_policy;
pub use problem::Problem;
pub use request::{Actor, RequestContext};
pub(crate) use same_origin::may_open;

use crate::AppState;
use axum::{Router, middleware::from_fn, middleware::from_fn_with_state};
use tower_http::{
    CompressionLevel,
    catch_panic::CatchPanicLayer,
    compression::{CompressionLayer, DefaultPredicate, Predicate, predicate::NotForContentType},
    limit::RequestBodyLimitLayer,
};

/// Addresses that programs call with a token of their own. Cookies mean nothing there, so neither does the page a call comes from.
pub const API_PREFIXES: &[&str] = &["/api", "/cloudapi", "/oauth"];

pub fn is_api(path: &str) -> bool {
    API_PREFIXES
        .iter()
        .any(|prefix| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// For pages and APIs: limits and checks before a handler runs. The last layer is the first a request meets.
pub fn guard(routes: Router, state: &AppState) -> Router {
    let limits = &state.settings.limits;
    routes
        .layer(from_fn_with_state(limits.body_bytes, text::check_form))
        .layer(from_fn(same_origin::check))
        .layer(RequestBodyLimitLayer::new(limits.body_bytes))
        .layer(from_fn_with_state(limits.body_bytes, limits::announced_length))
        .layer(from_fn_with_state(limits.request_timeout, limits::timeout))
        .layer(from_fn_with_state(limits::Slots::new(limits.concurrent_requests), limits::shed))
        .layer(from_fn_with_state(state.settings.clone(), cors::answer))
}

/// Not fonts, which are packed already, nor wasm, which a release packs beforehand and a debug build would pack for seconds.
fn worth_packing() -> impl Predicate {
    DefaultPredicate::new()
        .and(NotForContentType::const_new("font/"))
        .and(NotForContentType::const_new("application/wasm"))
}

/// For every answer there is, errors included.
pub fn wrap(routes: Router, state: &AppState) -> Router {
    routes
        .layer(CatchPanicLayer::custom(problem::after_panic))
        .layer(from_fn(text::check_address))
        .layer(from_fn(problem::render))
        .layer(CompressionLayer::new().quality(CompressionLevel::Precise(4)).compress_when(worth_packing()))
        .layer(from_fn_with_state(state.hsts, headers::add))
        .layer(from_fn_with_state(state.settings.clone(), request::identify))
}
