//! Errors as VCD's clients read them: XML on `/api`, JSON on `/cloudapi` and `/oauth`, always with a code and a message.
use axum::http::StatusCode;
use model::Error;
use serde_json::json;
use xml::Writer;

/// What a client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) retry_after_s: Option<u64>,
}

impl From<Error> for Fault {
    fn from(e: Error) -> Fault {
        let message = e.to_string();
        let (status, code) = match &e {
            Error::SignInNeeded | Error::BadCredentials | Error::SignInRefused(_) => {
                (StatusCode::UNAUTHORIZED, "UNAUTHORIZED")
            }
            Error::TooMany { .. } => (StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_REQUESTS"),
            // clients take 403 for missing, and 404 for a failure
            Error::NotFound(_) => (StatusCode::FORBIDDEN, "ACCESS_TO_RESOURCE_IS_FORBIDDEN"),
            Error::Forbidden { .. } | Error::NotShared { .. } => {
                (StatusCode::FORBIDDEN, "ACCESS_TO_RESOURCE_IS_FORBIDDEN")
            }
            Error::Taken(_) => (StatusCode::BAD_REQUEST, "DUPLICATE_NAME"),
            Error::Conflict(_) => (StatusCode::CONFLICT, "CONFLICT"),
            Error::NotNow(_) => (StatusCode::BAD_REQUEST, "INVALID_STATE"),
            Error::OverQuota(_) => (StatusCode::BAD_REQUEST, "QUOTA_EXCEEDED"),
            Error::Invalid(_) | Error::BadRequest(_) => (StatusCode::BAD_REQUEST, "BAD_REQUEST"),
            Error::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "SERVICE_UNAVAILABLE"),
            Error::Internal(cause) => {
                tracing::error!(cause, "internal error");
                (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_SERVER_ERROR")
            }
        };
        let retry_after_s = match &e {
            Error::TooMany { retry_after_s, .. } => Some(*retry_after_s),
            Error::Unavailable(_) => Some(5),
            _ => None,
        };
        let message = match &e {
            Error::NotFound(kind) => {
                format!("There is no such {}: it does not exist, or it is not yours to see.", kind.word())
            }
            _ => message,
        };
        Fault { status, code, message, retry_after_s }
    }
}

/// The code of a status that came from elsewhere than an operation.
fn code_of(status: u16) -> &'static str {
    match status {
        400 => "BAD_REQUEST",
        401 => "UNAUTHORIZED",
        403 => "ACCESS_TO_RESOURCE_IS_FORBIDDEN",
        404 => "RESOURCE_NOT_FOUND",
        405 => "METHOD_NOT_ALLOWED",
        406 => "NOT_ACCEPTABLE",
        413 => "REQUEST_TOO_LARGE",
        415 => "UNSUPPORTED_MEDIA_TYPE",
        429 => "TOO_MANY_REQUESTS",
        503 => "SERVICE_UNAVAILABLE",
        _ => "INTERNAL_SERVER_ERROR",
    }
}

/// Does that address answer in JSON?
pub fn is_json(path: &str) -> bool {
    path.starts_with("/cloudapi") || path.starts_with("/oauth")
}

/// The body of an error, and its media type, for an address: for whoever answers before a handler could.
pub fn body_of(path: &str, status: u16, message: &str) -> (&'static str, String) {
    body(is_json(path), status, code_of(status), message)
}

pub(crate) fn body(json: bool, status: u16, code: &str, message: &str) -> (&'static str, String) {
    if json {
        let text = json!({"minorErrorCode": code, "message": message, "stackTrace": null}).to_string();
        return ("application/json", text);
    }
    (crate::wire::media::ERROR, xml(status, code, message))
}

fn xml(status: u16, code: &str, message: &str) -> String {
    let mut w = Writer::document();
    w.empty(
        "Error",
        &[
            ("xmlns", &crate::wire::doc::VCLOUD),
            ("majorErrorCode", &status),
            ("minorErrorCode", &code),
            ("message", &message),
            ("stackTrace", &""),
        ],
    );
    w.into_string()
}

/// The child of a task that failed.
pub(crate) fn child(w: &mut Writer, status: u16, code: &str, message: &str) {
    w.empty(
        "Error",
        &[("majorErrorCode", &status), ("minorErrorCode", &code), ("message", &message), ("stackTrace", &"")],
    );
}
