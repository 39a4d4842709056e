//! How much, how long and how many: every route has a largest body, a longest time and a share of a bounded number of slots.

use super::Problem;
use axum::{
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// Refuses a body that says it is too long before a byte of it is read. One that does not say is cut off while it is read.
pub(super) async fn announced_length(State(limit): State<usize>, request: Request, next: Next) -> Response {
    let announced =
        request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<u64>().ok());
    match announced {
        Some(length) if length > limit as u64 => too_long(limit).into_response(),
        _ => next.run(request).await,
    }
}

pub(super) fn too_long(limit: usize) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "Too much at once",
        format!("The request is longer than the {limit} bytes this server accepts, so nothing was changed."),
    )
}

/// Until the head of the answer. A stream's body, such as /events, is not counted.
pub(super) async fn timeout(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "This took too long",
            format!("There was no answer within {} seconds. What you asked for may or may not have been done: look before you repeat it.", limit.as_secs()),
        )
        .retry_after(5)
        .into_response(),
    }
}

/// The requests that may be worked on at once.
#[derive(Debug, Clone)]
pub(super) struct Slots(Arc<Semaphore>);

impl Slots {
    pub(super) fn new(count: usize) -> Slots {
        Slots(Arc::new(Semaphore::new(count)))
    }
}

/// One request too many is told so at once: waiting would only make everybody slow.
pub(super) async fn shed(State(Slots(slots)): State<Slots>, request: Request, next: Next) -> Response {
    match slots.try_acquire() {
        Ok(_slot) => next.run(request).await,
        Err(_) => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many requests at once",
            "The server is working on as many requests as it can. Nothing was changed; repeat it in a moment.",
        )
        .retry_after(1)
        .into_response(),
    }
}
