//! Numbers for the neighbours, not for the world.

use crate::support::{Answer, ask, from, request, server};
use axum::{Router, body::Body};

async fn scrape(server: &Router, peer: &str, headers: &[(&str, &str)]) -> Answer {
    ask(server, from(request("GET", "/metrics", headers), peer).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn counts_by_route_and_never_by_address() {
    server::metrics::recorder();
    let server = server(&[]);
    crate::support::get(&server, "/nothing/canary?x=canary", &[]).await;
    crate::support::get(&server, "/healthz", &[]).await;
    let text = scrape(&server, "127.0.0.1", &[]).await.body;
    for expected in [
        "ssvirt_http_requests_total{method=\"GET\",route=\"/healthz\",status=\"2xx\"}",
        "ssvirt_http_requests_total{method=\"GET\",route=\"unmatched\",status=\"4xx\"}",
        "ssvirt_http_request_duration_seconds_bucket{route=\"/healthz\",le=\"0.001\"}",
        "ssvirt_http_requests_in_flight",
        "ssvirt_db_connections ",
        "ssvirt_db_connections_max 25",
        "ssvirt_build_info{version=\"",
        "process_resident_memory_bytes ",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
    assert!(!text.contains("canary"));
}

#[tokio::test]
async fn only_private_addresses_and_nothing_forwarded() {
    let plain = server(&[]);
    assert_eq!(scrape(&plain, "10.9.9.9", &[]).await.status.as_u16(), 200);
    assert_eq!(scrape(&plain, "8.8.8.8", &[]).await.status.as_u16(), 404);
    assert_eq!(scrape(&plain, "10.9.9.9", &[("x-forwarded-for", "127.0.0.1")]).await.status.as_u16(), 404);
    let proxied = server(&[("api.trusted_proxies", "10.0.0.0/8")]);
    assert_eq!(scrape(&proxied, "10.9.9.9", &[("x-forwarded-for", "8.8.8.8")]).await.status.as_u16(), 404);
    assert_eq!(scrape(&proxied, "10.9.9.9", &[("x-forwarded-for", "192.168.1.1")]).await.status.as_u16(), 200);
    assert_eq!(scrape(&server(&[("api.metrics", "off")]), "127.0.0.1", &[]).await.status.as_u16(), 404);
}
