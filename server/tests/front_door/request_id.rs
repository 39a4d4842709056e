//! One id from the answer's headers to the log, and a log that holds nothing it must not.

use crate::support::{ask, from, get, request, server};
use axum::body::Body;
use std::{
    io::Write,
    sync::{Arc, LazyLock, Mutex},
};
use tracing_subscriber::{fmt::MakeWriter, layer::SubscriberExt};
use uuid::Uuid;

#[tokio::test]
async fn fresh_ids_are_uuids_of_version_7() {
    let server = server(&[]);
    let (one, two) = (get(&server, "/", &[]).await, get(&server, "/nothing", &[]).await);
    let id: Uuid = one.header("x-request-id").parse().unwrap();
    assert_eq!(id.get_version_num(), 7);
    assert_eq!(one.header("x-request-id"), one.header("x-vmware-vcloud-request-id"));
    assert_ne!(one.header("x-request-id"), two.header("x-request-id"));
    assert!(two.body.contains(two.header("x-request-id")), "{}", two.body);
}

#[tokio::test]
async fn given_ids_are_taken_from_trusted_proxies_only() {
    let server = server(&[("api.trusted_proxies", "10.0.0.0/8")]);
    let answered = async |peer: &str, id: &str| {
        let request = from(request("GET", "/", &[("x-request-id", id)]), peer).body(Body::empty()).unwrap();
        ask(&server, request).await.header("x-request-id") == id
    };
    assert!(answered("10.1.1.1", "proxy-4711.a_b").await);
    assert!(!answered("8.8.8.8", "proxy-4711.a_b").await);
    for odd in ["short", "has space in it", "<script>alert(1)</script>", &"x".repeat(65)] {
        assert!(!answered("10.1.1.1", odd).await, "{odd}");
    }
}

#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// The log of the whole test process: a subscriber of one thread only would miss what other threads made known first.
    pub(crate) fn of_all() -> &'static Log {
        static LOG: LazyLock<Log> = LazyLock::new(|| {
            let log = Log::default();
            let layer = tracing_subscriber::fmt::layer().json().flatten_event(true).with_span_list(false);
            let subscriber = tracing_subscriber::registry().with(layer.with_writer(log.clone()));
            tracing::subscriber::set_global_default(subscriber).unwrap();
            log
        });
        &LOG
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// The lines of one request.
    pub(crate) fn of(&self, request_id: &str) -> Vec<serde_json::Value> {
        let text = self.text();
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines.filter(|line| line["span"]["request_id"] == request_id).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

#[tokio::test]
async fn a_line_a_request_with_its_id_and_no_secrets() {
    let log = Log::of_all();
    let headers = [
        ("cookie", "session=canary"),
        ("authorization", "Bearer canary"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let request = request("POST", "/sign-in/canary?code=canary", &headers).body(Body::from("password=canary")).unwrap();
    let answer = ask(&server(&[]), request).await;

    let lines = log.of(answer.header("x-request-id"));
    let line = lines.iter().find(|line| line["message"] == "answered").unwrap();
    assert_eq!(line["span"]["method"], "POST");
    assert_eq!(line["span"]["route"], "unmatched");
    assert_eq!(line["status"], 403);
    assert!(line["latency_ms"].is_number() && line["client"].is_string());
    assert!(!format!("{lines:?}").contains("canary"), "{lines:?}");
}
