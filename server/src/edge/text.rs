//! Addresses and forms must be text: broken UTF-8 and null characters are refused before anything reads them.

use super::{Problem, limits};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use percent_encoding::percent_decode;

pub(super) async fn check_address(request: Request, next: Next) -> Response {
    let uri = request.uri();
    let is_bad = |part: &str| !is_text(part.as_bytes());
    if is_bad(uri.path()) || uri.query().is_some_and(is_bad) {
        return Problem::new(
            StatusCode::BAD_REQUEST,
            "Unreadable address",
            "The address contains characters that are no text: they are not UTF-8, or U+0000.",
        )
        .into_response();
    }
    next.run(request).await
}

/// Reads a form's body as a whole, which its handler would do next.
pub(super) async fn check_form(State(limit): State<usize>, request: Request, next: Next) -> Response {
    if !is_form(request.headers()) {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, limit).await else {
        return limits::too_long(limit).into_response();
    };
    if !is_text(&bytes) {
        return Problem::new(
            StatusCode::BAD_REQUEST,
            "Unreadable form",
            "The form contains characters that are no text (they are not UTF-8, or U+0000), so nothing was changed.",
        )
        .into_response();
    }
    next.run(Request::from_parts(head, Body::from(bytes))).await
}

fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// PostgreSQL has no null character in its texts, so nothing that holds one can be stored or found.
fn is_text(encoded: &[u8]) -> bool {
    percent_decode(encoded).decode_utf8().is_ok_and(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_or_not() {
        for good in ["/a/b", "q=%C3%A4+%F0%9F%98%80", "q=100%", "q=%zz", ""] {
            assert!(is_text(good.as_bytes()), "{good}");
        }
        for bad in ["%ff", "a=%C3", "%00", "x=%ed%a0%80"] {
            assert!(!is_text(bad.as_bytes()), "{bad}");
        }
        assert!(!is_text(b"a=\xff"));
    }
}
