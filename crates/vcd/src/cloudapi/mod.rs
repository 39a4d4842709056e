//! `/cloudapi`: JSON, one file a thing.
mod oauth;
mod page;
mod token;

use crate::{openapi::Schema, routes::Routes};

pub(crate) fn routes(routes: Routes) -> Routes {
    [oauth::routes, token::routes].into_iter().fold(routes, |routes, add: fn(Routes) -> Routes| add(routes))
}

/// What the OpenAPI document calls by name.
pub(crate) fn schemas() -> Vec<Schema> {
    let mut all = vec![token::schema()];
    all.extend(oauth::schemas());
    all.extend(crate::session::schemas());
    all
}
