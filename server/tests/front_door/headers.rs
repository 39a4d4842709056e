//! Security headers stand on every answer, whatever it is.

use crate::support::{ask, edge_around, get, request, server};
use axum::{Router, body::Body, routing};
use http::StatusCode;
use server::edge::Encrypted;

#[tokio::test]
async fn every_answer_carries_them() {
    let server = server(&[]);
    for path in ["/", "/nothing", "/healthz", "/readyz", "/metrics", "/a/x/y", "/api/nothing", "/%ff"] {
        let answer = get(&server, path, &[("accept", "text/html")]).await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "same-origin", "{path}");
        assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin", "{path}");
        assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin", "{path}");
        assert!(answer.header("permissions-policy").contains("camera=()"), "{path}");
        assert!(!answer.header("cache-control").is_empty(), "{path}");
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe-inline"), "{path}: {policy}");
    }
}

#[tokio::test]
async fn a_handlers_own_policy_and_caching_stay() {
    let own = || async { ([("content-security-policy", "default-src 'self'"), ("cache-control", "max-age=5")], "x") };
    let server = edge_around(Router::new().route("/", routing::get(own)), &[]);
    let answer = get(&server, "/", &[]).await;
    assert_eq!(answer.header("content-security-policy"), "default-src 'self'");
    assert_eq!(answer.header("cache-control"), "max-age=5");
}

#[tokio::test]
async fn hsts_only_over_https() {
    let server = server(&[("api.trusted_proxies", "10.0.0.0/8")]);
    assert_eq!(get(&server, "/", &[]).await.header("strict-transport-security"), "");
    let secure = request("GET", "/", &[]).extension(Encrypted).body(Body::empty()).unwrap();
    assert_eq!(ask(&server, secure).await.header("strict-transport-security"), "max-age=31536000");
    let proxied = request("GET", "/", &[("x-forwarded-proto", "https")]);
    let proxied = crate::support::from(proxied, "10.1.1.1").body(Body::empty()).unwrap();
    assert_eq!(ask(&server, proxied).await.header("strict-transport-security"), "max-age=31536000");
}

#[tokio::test]
async fn an_errors_page_may_use_its_own_style_and_nothing_else() {
    let answer = get(&server(&[]), "/nothing", &[("accept", "text/html")]).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
    let policy = answer.header("content-security-policy");
    assert!(policy.contains("style-src 'sha256-") && !policy.contains("script-src"), "{policy}");
    assert!(answer.body.contains("<style>") && !answer.body.contains("style="));
    assert!(answer.body.contains(answer.header("x-request-id")));
}
