//! Where uploads are sent to: `PUT /transfer/<link>/<file>` with parts by `Content-Range`, as VCD's clients and our own page
//! do, and `POST /transfer/<link>` for a form without any script. The link is the leave to send: random, for one upload, and
//! of no use after its end. Bodies are as long as images are, so the limits for pages do not hold here; others do.
use crate::{AppState, edge::Problem};
use app::{pages::sign_in::own_path, portal::status};
use axum::{
    Router,
    body::Body,
    extract::{Path, Query, State},
    http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{post, put},
};
use domain::upload::{self, Sent};
use model::Error;
use serde::Deserialize;
use std::sync::Arc;
use tokio::sync::Semaphore;
use transfer::Range;

/// So many parts are taken at once; each is written as it comes.
const AT_ONCE: usize = 64;
/// How much of the file is there: where to go on.
const OFFSET: HeaderName = HeaderName::from_static("upload-offset");

#[derive(Clone)]
struct Transfers {
    state: AppState,
    slots: Arc<Semaphore>,
}

pub(crate) fn routes(state: AppState) -> Router {
    let transfers = Transfers { state, slots: Arc::new(Semaphore::new(AT_ONCE)) };
    Router::new()
        .route("/transfer/{link}/{file}", put(part).head(stand))
        .route("/transfer/{link}", post(form))
        .with_state(transfers)
}

fn problem(e: Error) -> Response {
    let (status, title) = match &e {
        Error::OverQuota(_) => (StatusCode::INSUFFICIENT_STORAGE, "No room"),
        Error::NotFound(_) => (StatusCode::NOT_FOUND, "No such upload"),
        Error::Internal(why) => {
            tracing::error!(error = why, "an upload failed");
            return Problem::internal().into_response();
        }
        Error::Unavailable(_) => return Problem::unavailable().into_response(),
        e => (status(e), "Not taken"),
    };
    Problem::new(status, title, e.to_string()).into_response()
}

fn busy() -> Response {
    let text = "As many uploads as this server takes at once are under way. Send it again in a moment.";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "Too many uploads at once", text).retry_after(2).into_response()
}

/// A part of a file, or all of it.
async fn part(
    State(t): State<Transfers>,
    Path((link, file)): Path<(String, String)>,
    request: Request<Body>,
) -> Response {
    let Ok(_slot) = t.slots.clone().try_acquire_owned() else { return busy() };
    let range = match range(request.headers()) {
        Ok(range) => range,
        Err(e) => return problem(e),
    };
    let sha256 = text(request.headers(), "x-content-sha256").unwrap_or_default().to_owned();
    let bytes = request.into_body().into_data_stream();
    match upload::send(&t.state.domain, &link, &file, range, &sha256, bytes).await {
        Ok(Sent::Took { received, .. }) => at(StatusCode::OK.into_response(), received),
        Ok(Sent::Elsewhere { received, total }) => {
            let why = format!(
                "The part begins at byte {}, and {received} bytes are there. Send it from there on.",
                range.start
            );
            let mut answer = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "Wrong range", why).into_response();
            if let Ok(value) = HeaderValue::from_str(&format!("bytes */{total}")) {
                answer.headers_mut().insert(header::CONTENT_RANGE, value);
            }
            at(answer, received)
        }
        Err(e) => problem(e),
    }
}

/// How far a file is.
async fn stand(State(t): State<Transfers>, Path((link, file)): Path<(String, String)>) -> Response {
    match upload::by_link(&t.state.domain, &link).await {
        Ok(upload) => {
            let received = upload.file(&file).map_or(0, |f| f.received.unsigned_abs());
            at(StatusCode::OK.into_response(), received)
        }
        Err(e) => problem(e),
    }
}

fn at(mut answer: Response, received: u64) -> Response {
    answer.headers_mut().insert(OFFSET, received.into());
    answer
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|v| v.to_str().ok())
}

fn range(headers: &HeaderMap) -> Result<Range, Error> {
    let length: Option<u64> = text(headers, "content-length").and_then(|v| v.parse().ok());
    let range = match text(headers, "content-range") {
        Some(given) => Range::parse(given).map_err(|e| Error::BadRequest(e.to_string()))?,
        None => match length {
            Some(length) if length > 0 => Range::whole(length),
            _ => return Err(Error::BadRequest("The request says neither Content-Range nor Content-Length.".into())),
        },
    };
    match length {
        Some(length) if length != range.length => {
            let why = format!("The Content-Range is about {} bytes, and {length} are sent.", range.length);
            Err(Error::BadRequest(why))
        }
        _ => Ok(range),
    }
}

#[derive(Deserialize)]
struct Back {
    #[serde(default)]
    back: String,
}

/// A form with one file in it.
async fn form(
    State(t): State<Transfers>,
    Path(link): Path<String>,
    Query(Back { back }): Query<Back>,
    request: Request<Body>,
) -> Response {
    let Ok(_slot) = t.slots.clone().try_acquire_owned() else { return busy() };
    let unreadable = |why: &str| Error::BadRequest(format!("The form can't be read: {why}"));
    let boundary = text(request.headers(), "content-type").and_then(|kind| multer::parse_boundary(kind).ok());
    let Some(boundary) = boundary else { return problem(unreadable("it carries no file.")) };
    let length = text(request.headers(), "content-length").and_then(|v| v.parse::<u64>().ok());
    let Some(length) = length.filter(|n| *n > 0) else { return problem(unreadable("it does not say its length.")) };
    let mut parts = multer::Multipart::new(request.into_body().into_data_stream(), boundary);
    loop {
        match parts.next_field().await {
            Ok(Some(field)) if field.name() == Some("file") => {
                let name = field.file_name().unwrap_or_default().to_owned();
                if name.is_empty() {
                    return problem(Error::BadRequest("No file was chosen. Go back and choose one.".into()));
                }
                if let Err(e) = upload::send_whole(&t.state.domain, &link, &name, length, field).await {
                    return problem(e);
                }
                // only to a page of our own
                let back = if own_path(&back) { back.as_str() } else { "/" };
                return (StatusCode::SEE_OTHER, [(header::LOCATION, back)]).into_response();
            }
            Ok(Some(_)) => {}
            Ok(None) => return problem(unreadable("it carries no file.")),
            Err(e) => return problem(unreadable(&e.to_string())),
        }
    }
}
