//! Pages of other sites may call the APIs only if the operator lists them. Never with cookies.

use super::is_api;
use crate::settings::{Origin, Settings};
use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::sync::Arc;

const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE";
const REQUEST_HEADERS: &str =
    "accept, authorization, content-type, if-match, x-vmware-vcloud-auth-context, x-vmware-vcloud-tenant-context";
const ANSWER_HEADERS: &str = "etag, link, location, retry-after, x-request-id, x-vmware-vcloud-access-token, x-vmware-vcloud-request-id, x-vmware-vcloud-token-type";

pub(super) async fn answer(State(settings): State<Arc<Settings>>, request: Request, next: Next) -> Response {
    let listed = &settings.api.cors_origins;
    if listed.is_empty() || !is_api(request.uri().path()) {
        return next.run(request).await;
    }
    let allowed = allowed(request.headers(), listed);
    let asks_first =
        *request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut answer = if asks_first { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = answer.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = allowed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(ANSWER_HEADERS));
        if asks_first {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(REQUEST_HEADERS));
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        }
    }
    answer
}

fn allowed(headers: &HeaderMap, listed: &[Origin]) -> Option<HeaderValue> {
    let value = headers.get(header::ORIGIN)?;
    let origin: Origin = value.to_str().ok()?.parse().ok()?;
    listed.contains(&origin).then(|| value.clone())
}
