//! A request that changes something must come from one of our own pages. Works for plain forms: browsers send these headers themselves.

use super::{Problem, RequestContext, client::OwnOrigin, is_api};
use crate::settings::Origin;
use axum::{
    extract::Request,
    http::{HeaderMap, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

pub(super) async fn check(request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if reads || is_api(request.uri().path()) || is_ours(&request) {
        return next.run(request).await;
    }
    tracing::warn!("refused: not from a page of this site");
    Problem::new(
        StatusCode::FORBIDDEN,
        "Not from a page of this site",
        "The request did not come from one of this site's own pages, so nothing was changed. Open the page again and repeat it there.",
    )
    .into_response()
}

fn is_ours(request: &Request) -> bool {
    from_own_page(request.headers(), &own_names(request))
}

/// What this site is called: as the settings say, and as whoever asks named it.
fn own_names(request: &Request) -> Vec<&Origin> {
    let context = request.extensions().get::<RequestContext>();
    let public = request.extensions().get::<OwnOrigin>().map(|o| &o.0);
    public.into_iter().chain(context.and_then(RequestContext::address_used)).collect()
}

/// A WebSocket: browsers say which page opens it and nobody asks them first, so it has to be one of ours or of those that may call
/// the APIs. Programs say nothing.
pub(crate) fn may_open(request: &Request, others: &[Origin]) -> bool {
    match request.headers().get(header::ORIGIN) {
        None => true,
        Some(origin) => {
            let origin = origin.to_str().ok().and_then(|o| o.parse::<Origin>().ok());
            origin.is_some_and(|o| others.contains(&o) || own_names(request).contains(&&o))
        }
    }
}

/// `Sec-Fetch-Site` decides where a browser sends it; it cannot be forged by a page. Browsers leave it out on plain http to other
/// hosts than localhost: there `Origin` must be one of our names. A request with neither is not from a form.
fn from_own_page(headers: &HeaderMap, names: &[&Origin]) -> bool {
    let text = |name| headers.get(name).map(|v: &header::HeaderValue| v.to_str().unwrap_or(""));
    match (text("sec-fetch-site"), text("origin")) {
        (Some(site), _) => site == "same-origin",
        (None, Some(origin)) => origin.parse::<Origin>().is_ok_and(|origin| names.contains(&&origin)),
        (None, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrix() {
        let own: Origin = "https://cloud.example.com".parse().unwrap();
        let check = |site: Option<&str>, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(site) = site {
                headers.insert("sec-fetch-site", site.parse().unwrap());
            }
            if let Some(origin) = origin {
                headers.insert("origin", origin.parse().unwrap());
            }
            from_own_page(&headers, &[&own])
        };
        let ours = Some("https://cloud.example.com");
        let cases = [
            (Some("same-origin"), None, true),
            (Some("same-origin"), ours, true),
            (Some("same-site"), ours, false),
            (Some("cross-site"), ours, false),
            (Some("none"), ours, false),
            (Some(""), ours, false),
            (None, ours, true),
            (None, Some("https://cloud.example.com:443"), true),
            (None, Some("http://cloud.example.com"), false),
            (None, Some("https://cloud.example.com:8443"), false),
            (None, Some("https://cloud.example.com.evil.com"), false),
            (None, Some("https://evil.com"), false),
            (None, Some("null"), false),
            (None, Some(""), false),
            (None, None, false),
        ];
        for (site, origin, allowed) in cases {
            assert_eq!(check(site, origin), allowed, "{site:?} {origin:?}");
        }
        assert!(!from_own_page(&HeaderMap::from_iter([(header::ORIGIN, "https://x".parse().unwrap())]), &[]));
    }
}
