//! Alive and ready are two things.

use crate::support::{get, server, state};

#[tokio::test]
async fn alive_without_a_database() {
    let answer = get(&server(&[]), "/healthz", &[]).await;
    assert_eq!((answer.status.as_u16(), answer.body.as_str()), (200, "ok\n"));
}

#[tokio::test]
async fn not_ready_without_a_database_and_says_so() {
    let state = state(&[]);
    let server = server::router(state.clone());
    let answer = get(&server, "/readyz", &[]).await;
    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, "5"));
    let said: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(said["status"], "not ready");
    assert_eq!(said["checks"][0]["message"], "starting");
    assert_eq!(said["checks"][1]["message"], "does not answer");
    assert!(!answer.body.contains("canary") && !answer.body.contains("127.0.0.1"));

    state.mark_started();
    state.shutdown.begin();
    let answer = get(&server, "/readyz", &[("accept", "text/plain")]).await;
    assert_eq!(answer.status.as_u16(), 503);
    assert!(answer.body.contains("process: shutting down\ndatabase: does not answer\n"), "{}", answer.body);
}
