//! Alive and ready are two things.

use crate::{
    harness::TestApp,
    support::{get, server, state},
};

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

#[tokio::test]
async fn ready_with_silent_hubs_but_degraded_and_says_which() {
    let app = TestApp::start().await;
    for id in ["one", "two", "three"] {
        app.hub(id).await;
    }
    let ready = |answer: &crate::support::Answer| serde_json::from_str::<serde_json::Value>(&answer.body).unwrap();
    let answer = get(&app.router, "/readyz", &[]).await;
    assert_eq!((answer.status.as_u16(), ready(&answer)["status"].as_str()), (200, Some("ready")), "{}", answer.body);

    app.db.execute("update hubs set state = 'unreachable', last_error = 'canary' where id <> 'two'").await;
    app.db.execute("update hubs set state = 'degraded' where id = 'two'").await;
    let answer = get(&app.router, "/readyz", &[]).await;
    let said = ready(&answer);
    assert_eq!((answer.status.as_u16(), said["status"].as_str()), (200, Some("degraded")), "{}", answer.body);
    let hubs = &said["checks"][3];
    assert_eq!(hubs["degraded"], serde_json::json!(["one", "three"]), "{}", answer.body);
    assert_eq!(hubs["ready"], true);
    assert!(!answer.body.contains("canary"), "why is for the provider alone");
    let answer = get(&app.router, "/readyz", &[("accept", "text/plain")]).await;
    assert!(answer.body.contains("hubs: degraded: no answer from one, three\n"), "{}", answer.body);

    app.domain.store.close().await;
    let answer = get(&app.router, "/readyz", &[]).await;
    assert_eq!((answer.status.as_u16(), ready(&answer)["status"].as_str()), (503, Some("not ready")));
}
