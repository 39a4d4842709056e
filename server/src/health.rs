//! `/healthz` says that the process lives, `/readyz` whether it can do its work and, if not, why.

use crate::AppState;
use axum::{
    Router,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use serde::Serialize;
use std::time::Duration;

pub fn routes(state: AppState) -> Router {
    Router::new().route("/healthz", get(healthz)).route("/readyz", get(readyz)).with_state(state)
}

/// Asks nothing of anybody: a restart cures a stuck process, not a lost database.
async fn healthz() -> &'static str {
    "ok\n"
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// What is not as it should be, by name, though work goes on without it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    degraded: Vec<String>,
}

impl Check {
    fn ready(name: &'static str) -> Check {
        Check { name, ready: true, message: None, degraded: Vec::new() }
    }

    fn not_ready(name: &'static str, message: impl Into<String>) -> Check {
        Check { name, ready: false, message: Some(message.into()), degraded: Vec::new() }
    }

    /// Ready all the same.
    fn degraded(name: &'static str, message: impl Into<String>, degraded: Vec<String>) -> Check {
        Check { name, ready: true, message: Some(message.into()), degraded }
    }
}

async fn readyz(State(state): State<AppState>, headers: HeaderMap) -> Response {
    let checks = checks(&state).await;
    let ready = checks.iter().all(|check| check.ready);
    let accept = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or("");
    let mut answer = if accept.contains("text/plain") || accept.contains("text/html") {
        let lines = checks.iter().map(|c| format!("{}: {}\n", c.name, c.message.as_deref().unwrap_or("ready")));
        lines.collect::<String>().into_response()
    } else {
        let status = match ready {
            true if checks.iter().any(|check| !check.degraded.is_empty()) => "degraded",
            true => "ready",
            false => "not ready",
        };
        let body = serde_json::json!({ "status": status, "checks": checks }).to_string();
        ([(header::CONTENT_TYPE, "application/json")], body).into_response()
    };
    if !ready {
        *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(5));
    }
    answer
}

/// How long the database may take to answer before it counts as gone.
const PATIENCE: Duration = Duration::from_secs(2);

async fn checks(state: &AppState) -> Vec<Check> {
    let process = match (state.shutdown.has_begun(), state.has_started()) {
        (true, _) => Check::not_ready("process", "shutting down"),
        (false, false) => Check::not_ready("process", "starting"),
        (false, true) => Check::ready("process"),
    };
    // the answer to the second question holds the answer to the first
    let pending = tokio::time::timeout(PATIENCE, state.domain.store.migrations_pending()).await;
    let (database, migrations) = match pending {
        Ok(Ok(0)) => (Check::ready("database"), Check::ready("migrations")),
        Ok(Ok(n)) => (
            Check::ready("database"),
            Check::not_ready("migrations", format!("{n} not applied yet; ssvirt migrate applies them")),
        ),
        Ok(Err(_)) | Err(_) => (
            Check::not_ready("database", "does not answer"),
            Check::not_ready("migrations", "not known while the database does not answer"),
        ),
    };
    let mut all = vec![process, database, migrations];
    if all.iter().all(|check| check.ready) {
        all.push(hubs(state).await);
    }
    all
}

/// A silent hub makes nobody unready: what is asked of it is taken and done later. Its name is told, and no more.
async fn hubs(state: &AppState) -> Check {
    match tokio::time::timeout(PATIENCE, state.domain.store.silent_hubs()).await {
        Ok(Ok(silent)) if silent.is_empty() => Check::ready("hubs"),
        Ok(Ok(silent)) => {
            let names: Vec<String> = silent.into_iter().map(|hub| hub.0).collect();
            Check::degraded("hubs", format!("degraded: no answer from {}", names.join(", ")), names)
        }
        Ok(Err(_)) | Err(_) => Check::not_ready("hubs", "not known: the database does not answer"),
    }
}
