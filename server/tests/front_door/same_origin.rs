//! What changes something must come from our own pages, with and without a proxy in between.

use crate::support::{ask, edge_around, from, request};
use axum::{Router, body::Body, routing::any};
use http::StatusCode;

const OWN: &str = "http://cloud.example.com";

fn server(settings: &[(&'static str, &str)]) -> Router {
    let routes = Router::new().route("/form", any(|| async { "done" })).route("/api/x", any(|| async { "done" }));
    edge_around(routes.route("/apis", any(|| async { "done" })), settings)
}

async fn status(server: &Router, method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
    let request = from(request(method, path, headers), "10.1.1.1").body(Body::empty()).unwrap();
    ask(server, request).await.status.as_u16()
}

#[tokio::test]
async fn every_method_that_changes_something_is_checked() {
    let server = server(&[]);
    for method in ["POST", "PUT", "PATCH", "DELETE", "PURGE"] {
        assert_eq!(status(&server, method, "/form", &[]).await, 403, "{method}");
        assert_eq!(status(&server, method, "/form", &[("origin", OWN)]).await, 200, "{method}");
        assert_eq!(status(&server, method, "/form", &[("sec-fetch-site", "same-origin")]).await, 200, "{method}");
        assert_eq!(status(&server, method, "/form", &[("sec-fetch-site", "cross-site"), ("origin", OWN)]).await, 403);
    }
    for method in ["GET", "HEAD", "OPTIONS"] {
        assert_eq!(status(&server, method, "/form", &[("sec-fetch-site", "cross-site")]).await, 200, "{method}");
    }
}

#[tokio::test]
async fn apis_are_exempt_and_their_namesakes_are_not() {
    let server = server(&[]);
    assert_eq!(status(&server, "POST", "/api/x", &[("sec-fetch-site", "cross-site")]).await, 200);
    assert_eq!(status(&server, "POST", "/apis", &[]).await, 403);
}

#[tokio::test]
async fn behind_a_proxy_the_public_name_counts() {
    let secure = ("origin", "https://cloud.example.com");
    let forwarded = [secure, ("x-forwarded-proto", "https")];
    // a stranger's word about the scheme is nothing
    assert_eq!(status(&server(&[]), "POST", "/form", &forwarded).await, 403);
    assert_eq!(status(&server(&[("api.trusted_proxies", "10.0.0.0/8")]), "POST", "/form", &forwarded).await, 200);
    let public = server(&[("api.public_url", "https://cloud.example.com")]);
    assert_eq!(status(&public, "POST", "/form", &[secure]).await, 200);
    assert_eq!(status(&public, "POST", "/form", &[("origin", "https://evil.example.com")]).await, 403);
}

#[tokio::test]
async fn the_refusal_is_a_page_for_a_browser() {
    let request = request("POST", "/form", &[("accept", "text/html"), ("origin", "null")]).body(Body::empty()).unwrap();
    let answer = ask(&server(&[]), request).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(answer.body.contains("nothing was changed"), "{}", answer.body);
}
