//! The VCD wire: `/api` in XML, `/cloudapi` in JSON and `/oauth`. A handler reads, calls the same operation as the portal,
//! and renders; rules and state are elsewhere.
mod answer;
mod api;
mod ask;
mod cloudapi;
mod docs;
mod fault;
mod openapi;
mod pending;
mod purpose;
mod routes;
mod session;
mod token;
mod wire;

pub use docs::markdown;
pub use fault::{body_of, is_json};
pub use openapi::document as openapi;
pub use routes::{RouteInfo, Site};
pub use token::Tokens;

use axum::Router;
use domain::Domain;
use std::sync::Arc;

/// What all handlers share. Cheap to clone.
#[derive(Clone)]
pub struct Vcd {
    pub domain: Domain,
    /// None: without a master secret nobody gets a token.
    pub tokens: Option<Arc<Tokens>>,
}

/// Everything under `/api`, `/cloudapi` and `/oauth`, and the list of it.
pub fn routes(vcd: Vcd) -> (Router, Vec<RouteInfo>) {
    table(Some(vcd)).into_router()
}

/// The list alone, for documents about it.
pub fn list() -> Vec<RouteInfo> {
    table(None).into_list()
}

fn table(vcd: Option<Vcd>) -> routes::Routes {
    let routes = routes::Routes::new(vcd);
    let routes = session::routes(routes);
    let routes = api::routes(routes);
    cloudapi::routes(routes)
}
