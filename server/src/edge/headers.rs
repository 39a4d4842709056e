//! The security headers of every answer, and the stricter-than-default policy of pages.

use super::RequestContext;
use app::shell::INLINE_STYLE_HASH;
use axum::{
    extract::{Request, State},
    http::{HeaderName, HeaderValue, header},
    middleware::Next,
    response::Response,
};
use base64::Engine;
use sha2::{Digest, Sha256};

/// For everything that is no page: it may load and run nothing, wherever it is shown.
const NOTHING: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What a page of the portal may load. `nonce` is Leptos' for its inline scripts; the one inline style is allowed by its hash.
#[expect(clippy::disallowed_methods, reason = "set by cargo leptos watch, and by nobody else")]
pub fn page_policy(nonce: &str) -> String {
    // the server of `cargo leptos watch` tells pages to load again
    let reload = if std::env::var_os("LEPTOS_WATCH").is_some() { " ws:" } else { "" };
    format!(
        "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self' '{INLINE_STYLE_HASH}'; \
         img-src 'self' data:; font-src 'self'; connect-src 'self'{reload}; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'; object-src 'none'"
    )
}

/// How a policy names an inline style.
pub(super) fn style_hash(style: &str) -> String {
    format!("sha256-{}", base64::engine::general_purpose::STANDARD.encode(Sha256::digest(style)))
}

const FIXED: &[(&str, &str)] = &[
    ("x-content-type-options", "nosniff"),
    // not no-referrer: browsers would then send `Origin: null` with our own forms
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()",
    ),
];

/// Every answer gets them; what a handler set itself stays, except for the fixed ones.
pub(super) async fn add(State(hsts): State<bool>, request: Request, next: Next) -> Response {
    let https = request.extensions().get::<RequestContext>().is_some_and(RequestContext::is_https);
    let mut answer = next.run(request).await;
    let headers = answer.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(NOTHING));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    for (name, value) in FIXED {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if https && hsts {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    answer
}
