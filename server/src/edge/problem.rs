//! Errors as the one who asked can read them: a page, JSON or plain text, always with the request's id.

use super::{RequestContext, headers, is_api};
use axum::{
    body::{Body, HttpBody},
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::{any::Any, fmt::Write, sync::LazyLock};

/// An error to be shown. What it looks like is decided once, by `render`.
#[derive(Debug, Clone)]
pub struct Problem {
    pub status: StatusCode,
    pub title: String,
    pub detail: String,
    pub retry_after: Option<u32>,
}

impl Problem {
    pub fn new(status: StatusCode, title: impl Into<String>, detail: impl Into<String>) -> Problem {
        Problem { status, title: title.into(), detail: detail.into(), retry_after: None }
    }

    pub fn not_found() -> Problem {
        Problem::new(
            StatusCode::NOT_FOUND,
            "Not found",
            "There is nothing at this address, or nothing that you may see.",
        )
    }

    pub fn method_not_allowed() -> Problem {
        Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "Not possible here",
            "This address does not accept that kind of request.",
        )
    }

    pub fn unavailable() -> Problem {
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "Not available right now",
            "The database cannot be reached. Nothing was changed; try again in a few seconds.",
        )
        .retry_after(5)
    }

    pub fn internal() -> Problem {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "Something went wrong on our side",
            "The server failed while it worked on this request. Tell your administrator the request number; the cause is in the log under it.",
        )
    }

    /// Seconds after which a repeat makes sense.
    pub fn retry_after(mut self, seconds: u32) -> Problem {
        self.retry_after = Some(seconds);
        self
    }

    fn page(&self, id: &str) -> String {
        let mut page = String::new();
        let _ = write!(
            page,
            "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>{title} · SSVirt</title><style>{STYLE}</style></head><body><main><p class=\"code\">{code}</p><h1>{title}</h1><p>{detail}</p>\
             <p><a href=\"/\">Go to the start page</a></p><p class=\"id\">Request <code>{id}</code></p></main></body></html>",
            code = self.status.as_u16(),
            title = escape(&self.title),
            detail = escape(&self.detail),
            id = escape(id),
        );
        page
    }

    fn json(&self, id: &str) -> String {
        serde_json::json!({ "status": self.status.as_u16(), "error": self.title, "message": self.detail, "requestId": id }).to_string()
    }

    fn plain(&self, id: &str) -> String {
        format!("{}: {}\nRequest {id}\n", self.title, self.detail)
    }
}

/// For handlers that are no page; pages and APIs show the domain's errors in their own way.
impl From<model::Error> for Problem {
    fn from(error: model::Error) -> Problem {
        use model::Error as E;
        let detail = error.to_string();
        match error {
            E::SignInNeeded => Problem::new(StatusCode::UNAUTHORIZED, "Sign in first", detail),
            E::BadCredentials | E::SignInRefused(_) => Problem::new(StatusCode::UNAUTHORIZED, "Sign-in failed", detail),
            E::TooMany { retry_after_s, .. } => Problem::new(StatusCode::TOO_MANY_REQUESTS, "Too many tries", detail)
                .retry_after(u32::try_from(retry_after_s).unwrap_or(u32::MAX)),
            E::NotFound(_) => Problem::new(StatusCode::NOT_FOUND, "Not found", detail),
            E::Forbidden { .. } | E::NotShared { .. } => Problem::new(StatusCode::FORBIDDEN, "Not allowed", detail),
            E::Invalid(_) => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "Some values cannot be used", detail),
            E::Taken(_) | E::Conflict(_) | E::NotNow(_) | E::OverQuota(_) => {
                Problem::new(StatusCode::CONFLICT, "Not possible now", detail)
            }
            E::BadRequest(_) => Problem::new(StatusCode::BAD_REQUEST, "Not understood", detail),
            E::Unavailable(_) => Problem { detail, ..Problem::unavailable() },
            E::Internal(cause) => {
                tracing::error!(cause, "internal error");
                Problem::internal()
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.detail.clone()).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// The message is in the log already: the panic hook wrote it, and it is nobody else's business.
pub(super) fn after_panic(_: Box<dyn Any + Send + 'static>) -> Response {
    Problem::internal().into_response()
}

/// Gives every `Problem` its final form. To a browser also errors that are bare text, such as the router's own.
pub(super) async fn render(request: Request, next: Next) -> Response {
    let context = request.extensions().get::<RequestContext>().cloned();
    let form = Form::wanted(request.headers());
    let api = is_api(request.uri().path()).then(|| request.uri().path().to_owned());
    let for_browser = form == Form::Page && api.is_none();
    let mut answer = next.run(request).await;
    let id = context.as_ref().map_or("", RequestContext::id);
    let problem = match answer.extensions_mut().remove::<Problem>() {
        Some(problem) => problem,
        None if for_browser && is_bare_error(&answer) => {
            let (head, body) = answer.into_parts();
            let text = axum::body::to_bytes(body, BARE_ERROR).await.unwrap_or_default();
            let problem = from_bare(head.status, String::from_utf8_lossy(&text).trim());
            answer = Response::from_parts(head, Body::empty());
            problem
        }
        None => return answer,
    };
    let (kind, body) = match form {
        // clients of the APIs read errors in one form, whatever they accept
        _ if let Some(path) = &api => vcd::body_of(path, problem.status.as_u16(), &problem.detail),
        Form::Page => ("text/html; charset=utf-8", problem.page(id)),
        Form::Json => ("application/json", problem.json(id)),
        Form::Plain => ("text/plain; charset=utf-8", problem.plain(id)),
    };
    let headers = answer.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if form == Form::Page && api.is_none() {
        headers.insert(header::CONTENT_SECURITY_POLICY, POLICY.clone());
    }
    *answer.body_mut() = Body::from(body);
    answer
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Page,
    Json,
    Plain,
}

impl Form {
    /// The first of the three that the client names.
    fn wanted(headers: &HeaderMap) -> Form {
        let accept = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or("");
        let kinds = accept.split(',').map(|kind| kind.split(';').next().unwrap_or("").trim());
        for kind in kinds {
            match kind {
                "text/html" | "application/xhtml+xml" => return Form::Page,
                "text/plain" => return Form::Plain,
                "application/json" => return Form::Json,
                _ if kind.starts_with("application/") && kind.ends_with("+json") => return Form::Json,
                _ => {}
            }
        }
        Form::Plain
    }
}

const BARE_ERROR: usize = 4096;

fn is_bare_error(answer: &Response) -> bool {
    let status = answer.status();
    let kind = answer.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("text/plain");
    let short = answer.body().size_hint().upper().is_some_and(|size| size <= BARE_ERROR as u64);
    (status.is_client_error() || status.is_server_error()) && kind.starts_with("text/plain") && short
}

fn from_bare(status: StatusCode, text: &str) -> Problem {
    let standard = match status {
        StatusCode::NOT_FOUND => Problem::not_found(),
        StatusCode::METHOD_NOT_ALLOWED => Problem::method_not_allowed(),
        _ if status.is_server_error() => Problem { status, ..Problem::internal() },
        _ => Problem::new(
            status,
            status.canonical_reason().unwrap_or("Not possible"),
            "The request could not be understood, so nothing was changed.",
        ),
    };
    // what the server says about its own failures is for the log
    if text.is_empty() || status.is_server_error() || status == StatusCode::NOT_FOUND {
        standard
    } else {
        Problem { detail: text.to_owned(), ..standard }
    }
}

fn escape(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
        out
    })
}

/// In the page itself: it must look right even when nothing else of the site can be had.
const STYLE: &str = "\
:root{color-scheme:light dark}\
body{margin:0;min-height:100vh;display:grid;place-items:center;font:16px/1.5 system-ui,sans-serif;background:Canvas;color:CanvasText}\
main{max-width:34rem;padding:2rem}\
h1{margin:0 0 .5rem;font-size:1.5rem;line-height:1.25}\
.code{margin:0 0 .25rem;font-weight:600;opacity:.8}\
.id{margin-top:2rem;font-size:.875rem;overflow-wrap:anywhere;opacity:.8}\
a:focus-visible{outline:2px solid currentColor;outline-offset:2px}";

static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let policy = format!(
        "default-src 'none'; style-src '{}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        headers::style_hash(STYLE)
    );
    HeaderValue::from_str(&policy).expect("a policy of plain characters")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_by_accept() {
        let wanted = |accept: &str| Form::wanted(&HeaderMap::from_iter([(header::ACCEPT, accept.parse().unwrap())]));
        assert_eq!(wanted("text/html,application/xhtml+xml,*/*;q=0.8"), Form::Page);
        assert_eq!(wanted("application/json;version=37.0"), Form::Json);
        assert_eq!(wanted("application/problem+json"), Form::Json);
        assert_eq!(wanted("*/*"), Form::Plain);
        assert_eq!(Form::wanted(&HeaderMap::new()), Form::Plain);
    }

    #[test]
    fn pages_escape_what_they_repeat() {
        let page = Problem::new(StatusCode::BAD_REQUEST, "<b>", "\"'&").page("<id>");
        assert!(!page.contains("<b>") && !page.contains("<id>") && page.contains("&quot;&#39;&amp;"));
    }
}
