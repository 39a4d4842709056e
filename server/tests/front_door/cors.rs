//! Other sites' pages and our APIs: off, and by a list.

use crate::support::{Answer, ask, edge_around, request};
use axum::{Router, body::Body, routing::any};

const FRIEND: &str = "https://tools.example.com";

async fn call(settings: &[(&'static str, &str)], method: &str, path: &str, origin: &str) -> Answer {
    let done = || any(|| async { "done" });
    let routes = Router::new().route("/api/x", done()).route("/cloudapi/x", done()).route("/page", done());
    let headers = [("origin", origin), ("access-control-request-method", "PUT")];
    ask(&edge_around(routes, settings), request(method, path, &headers).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn off_unless_listed() {
    for (settings, origin) in [(&[][..], FRIEND), (&[("api.cors_origins", FRIEND)], "https://evil.example.com")] {
        for method in ["OPTIONS", "GET"] {
            let answer = call(settings, method, "/api/x", origin).await;
            assert!(
                answer.headers.keys().all(|name| !name.as_str().starts_with("access-control-")),
                "{:?}",
                answer.headers
            );
        }
    }
}

#[tokio::test]
async fn listed_sites_may_call_the_apis_without_cookies() {
    let settings = [("api.cors_origins", "https://tools.example.com")];
    for path in ["/api/x", "/cloudapi/x"] {
        let first = call(&settings, "OPTIONS", path, FRIEND).await;
        assert_eq!((first.status.as_u16(), first.header("access-control-allow-origin")), (204, FRIEND));
        assert!(first.header("access-control-allow-methods").contains("PUT"));
        assert!(first.header("access-control-allow-headers").contains("authorization"));
        let call = call(&settings, "PUT", path, FRIEND).await;
        assert_eq!((call.body.as_str(), call.header("access-control-allow-origin")), ("done", FRIEND));
        assert!(call.header("vary").contains("origin"));
        assert_eq!(call.header("access-control-allow-credentials"), "");
    }
    assert_eq!(call(&settings, "GET", "/page", FRIEND).await.header("access-control-allow-origin"), "");
}
