//! The reader's choice of theme, kept in a cookie.
use crate::{portal::Routes, shell::Theme};
use axum::{
    Form,
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::post,
};
use std::collections::HashMap;

pub fn routes(r: Routes) -> Routes {
    r.route(Method::POST, "/theme", post(choose))
}

async fn choose(headers: HeaderMap, Form(fields): Form<HashMap<String, String>>) -> Response {
    let theme = Theme::parse(fields.get("theme").map_or("", String::as_str));
    let cookie = format!("theme={}; Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000", theme.word());
    (StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, back(&headers))]).into_response()
}

/// The page it was chosen on. The edge has made sure that it is one of ours.
fn back(headers: &HeaderMap) -> String {
    let referer = headers.get(header::REFERER).and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<Uri>().ok());
    let path = referer.and_then(|u| u.path_and_query().map(|p| p.as_str().to_owned()));
    path.filter(|p| super::sign_in::own_path(p)).unwrap_or_else(|| "/".into())
}
