//! Too much, too long, too many, and a handler that falls over.

use crate::support::{Answer, ask, edge_around, get, request};
use axum::{
    Router,
    body::{Body, Bytes},
    routing,
};
use futures::{StreamExt, stream};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::sync::Semaphore;

const MIB: usize = 1024 * 1024;
const OWN: (&str, &str) = ("sec-fetch-site", "same-origin");

fn echo() -> Router {
    let length = |body: Bytes| async move { body.len().to_string() };
    edge_around(Router::new().route("/echo", routing::post(length)), &[])
}

async fn post(server: &Router, headers: &[(&str, &str)], body: Body) -> Answer {
    let headers = [&[OWN, ("accept", "text/html")], headers].concat();
    ask(server, request("POST", "/echo", &headers).body(body).unwrap()).await
}

#[tokio::test]
async fn a_body_of_one_mebibyte_and_no_more() {
    let server = echo();
    let full = post(&server, &[], Body::from(vec![b'x'; MIB])).await;
    assert_eq!((full.status.as_u16(), full.body.as_str()), (200, "1048576"));
    let form = ("content-type", "application/x-www-form-urlencoded");
    for extra in [&[][..], &[form]] {
        let announced = [extra, &[("content-length", "1048577")]].concat();
        let announced = post(&server, &announced, Body::from(vec![b'x'; MIB + 1])).await;
        let chunk = || Ok::<_, Infallible>(Bytes::from(vec![b'x'; 64 * 1024]));
        let streamed = post(&server, extra, Body::from_stream(stream::iter((0..17).map(move |_| chunk())))).await;
        for answer in [announced, streamed] {
            assert_eq!(answer.status.as_u16(), 413);
            assert!(answer.body.contains("<h1>"), "{}", answer.body);
        }
    }
}

#[tokio::test]
async fn an_endless_body_that_claims_to_be_too_long_is_not_read() {
    let endless = stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(b"x"))).map(|chunk| chunk);
    let answer = post(&echo(), &[("content-length", "99999999999")], Body::from_stream(endless)).await;
    assert_eq!(answer.status.as_u16(), 413);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_too_long() {
    let slow = || async { tokio::time::sleep(Duration::from_secs(3600)).await };
    let server = edge_around(Router::new().route("/slow", routing::get(slow)), &[("limits.request_timeout", "3s")]);
    let answer = get(&server, "/slow", &[("accept", "text/plain")]).await;
    assert_eq!(answer.status.as_u16(), 503);
    assert_eq!(answer.header("retry-after"), "5");
    assert!(answer.body.contains("within 3 seconds"), "{}", answer.body);
}

#[tokio::test]
async fn one_request_too_many() {
    let (arrived, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let wait = {
        let (arrived, go) = (arrived.clone(), go.clone());
        move || async move {
            arrived.add_permits(1);
            go.acquire().await.unwrap().forget();
        }
    };
    let routes = Router::new().route("/wait", routing::get(wait)).route("/quick", routing::get(|| async { "quick" }));
    let server = edge_around(routes, &[("limits.concurrent_requests", "8")]);
    let waiting: Vec<_> = (0..8)
        .map(|_| {
            let server = server.clone();
            tokio::spawn(async move { get(&server, "/wait", &[]).await.status.as_u16() })
        })
        .collect();
    arrived.acquire_many(8).await.unwrap().forget();
    let refused = get(&server, "/quick", &[("accept", "application/json")]).await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, "1"));
    assert!(refused.body.contains("\"requestId\""), "{}", refused.body);
    go.add_permits(8);
    for task in waiting {
        assert_eq!(task.await.unwrap(), 200);
    }
    assert_eq!(get(&server, "/quick", &[]).await.body, "quick");
}

#[tokio::test]
async fn a_panic_is_a_page_with_a_number_and_without_its_message() {
    async fn fall() -> &'static str {
        panic!("canary in a panic")
    }
    let server = edge_around(Router::new().route("/panic", routing::get(fall)), &[]);
    let answer = get(&server, "/panic", &[("accept", "text/html")]).await;
    assert_eq!(answer.status.as_u16(), 500);
    assert!(answer.body.contains(answer.header("x-request-id")) && !answer.body.contains("canary"), "{}", answer.body);
}

#[tokio::test]
async fn an_error_below_is_never_shown_as_it_is() {
    async fn broken() -> Result<(), server::edge::Problem> {
        Err(model::Error::Internal("canary".into()).into())
    }
    async fn gone() -> Result<(), server::edge::Problem> {
        Err(model::Error::Unavailable("The database does not answer.".into()).into())
    }
    let server =
        edge_around(Router::new().route("/broken", routing::get(broken)).route("/gone", routing::get(gone)), &[]);
    let broken = get(&server, "/broken", &[("accept", "application/json")]).await;
    assert_eq!(broken.status.as_u16(), 500);
    assert!(!broken.body.contains("canary"));
    for (accept, kind) in [("text/html", "text/html"), ("application/json", "application/json"), ("*/*", "text/plain")]
    {
        let gone = get(&server, "/gone", &[("accept", accept)]).await;
        assert_eq!((gone.status.as_u16(), gone.header("retry-after")), (503, "5"));
        assert!(gone.header("content-type").starts_with(kind) && gone.body.contains("does not answer"));
    }
}

#[tokio::test]
async fn an_errors_page_is_packed_as_a_whole() {
    let server = edge_around(Router::new(), &[]);
    let coding = ("accept-encoding", "gzip");
    let answer = get(&server, "/nothing", &[("accept", "text/html"), coding]).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-encoding")), (404, "gzip"));
    assert!(!answer.body.contains("<!DOCTYPE"));
}
