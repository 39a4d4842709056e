//! `/cloudapi`: JSON, one file a thing.
mod audit;
mod bundle;
mod catalog;
mod network;
mod none;
mod oauth;
mod org;
mod page;
mod right;
mod role;
mod sizing;
mod storage;
mod tag;
mod task;
mod token;
mod user;
mod vapp;
mod vdc;
mod vm;

use crate::{
    answer::Answer,
    ask::Open,
    openapi::{Is, Schema, Told, document, read},
    routes::Routes,
};
use axum::http::Method;
use model::Result;
use serde_json::json;

pub(crate) fn routes(routes: Routes) -> Routes {
    let all: [fn(Routes) -> Routes; 18] = [
        oauth::routes,
        token::routes,
        org::routes,
        user::routes,
        role::routes,
        right::routes,
        bundle::routes,
        vdc::routes,
        sizing::routes,
        storage::routes,
        network::routes,
        catalog::routes,
        vapp::routes,
        vm::routes,
        tag::routes,
        audit::routes,
        task::routes,
        none::routes,
    ];
    let routes =
        routes.open(Method::GET, "/cloudapi/openapi.json", openapi).told(Told::one("This document", "OpenApi"));
    all.into_iter().fold(routes, |routes, add| add(routes))
}

async fn openapi(_: Open) -> Result<Answer> {
    Ok(Answer::json(&document(&crate::list())))
}

/// What the OpenAPI document calls by name.
pub(crate) fn schemas() -> Vec<Schema> {
    let openapi = read(
        "OpenApi",
        &["openapi", "paths"],
        vec![("openapi", Is::Text), ("paths", Is::Other(json!({"type": "object"})))],
    );
    let all = [
        crate::session::schemas(),
        oauth::schemas(),
        org::schemas(),
        user::schemas(),
        role::schemas(),
        right::schemas(),
        bundle::schemas(),
        vdc::schemas(),
        sizing::schemas(),
        storage::schemas(),
        network::schemas(),
        catalog::schemas(),
        vapp::schemas(),
        vm::schemas(),
        tag::schemas(),
        audit::schemas(),
        task::schemas(),
        none::schemas(),
    ];
    [openapi, token::schema()].into_iter().chain(all.into_iter().flatten()).collect()
}
