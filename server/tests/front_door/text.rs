//! Addresses and forms that are no text.

use crate::support::{ask, edge_around, get, request, server};
use axum::{Router, body::Body, routing};

#[tokio::test]
async fn broken_addresses() {
    let server = server(&[]);
    for path in ["/%ff", "/a/%C3", "/?q=%fe%ff", "/nothing?x=%00", "/api/%ff"] {
        let answer = get(&server, path, &[("accept", "text/html")]).await;
        assert_eq!(answer.status.as_u16(), 400, "{path}");
        assert!(answer.body.contains("are no text"), "{path}: {}", answer.body);
    }
    assert_eq!(get(&server, "/healthz?q=%C3%A4%20100%", &[]).await.status.as_u16(), 200);
}

#[tokio::test]
async fn broken_forms() {
    let server = edge_around(Router::new().route("/form", routing::post(|body: String| async { body })), &[]);
    let post = async |kind: &str, body: &'static [u8]| {
        let headers = [("sec-fetch-site", "same-origin"), ("content-type", kind)];
        ask(&server, request("POST", "/form", &headers).body(Body::from(body)).unwrap()).await
    };
    let form = "application/x-www-form-urlencoded; charset=UTF-8";
    for broken in [&b"name=%ff"[..], b"name=\xff", b"a=b&name=%00"] {
        let answer = post(form, broken).await;
        assert_eq!(answer.status.as_u16(), 400);
        assert!(answer.body.contains("nothing was changed"), "{}", answer.body);
    }
    assert_eq!(post(form, b"name=%C3%A4").await.body, "name=%C3%A4");
}
