//! What a handler answers with, and how it becomes a response.
use crate::{fault::Fault, wire::as_json};
use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Response, StatusCode, header},
};
use serde::Serialize;

#[derive(Debug)]
pub(crate) struct Answer {
    status: StatusCode,
    content: Content,
    headers: Vec<(HeaderName, String)>,
}

#[derive(Debug)]
enum Content {
    Nothing,
    /// A media type without its version, and a document.
    Xml(&'static str, String),
    Json(String),
    Png(Vec<u8>),
}

impl Answer {
    /// 200 with a document of `/api`.
    pub(crate) fn xml(media: &'static str, document: String) -> Answer {
        Answer { status: StatusCode::OK, content: Content::Xml(media, document), headers: Vec::new() }
    }

    /// 200 with JSON.
    pub(crate) fn json(value: &impl Serialize) -> Answer {
        // what we serialize are values of our own
        let text = serde_json::to_string(value).unwrap_or_else(|_| "null".into());
        Answer { status: StatusCode::OK, content: Content::Json(text), headers: Vec::new() }
    }

    /// 200 with a picture.
    pub(crate) fn png(picture: Vec<u8>) -> Answer {
        Answer { status: StatusCode::OK, content: Content::Png(picture), headers: Vec::new() }
    }

    /// 200 with nothing, for those that say all in their headers.
    pub(crate) fn empty() -> Answer {
        Answer { status: StatusCode::OK, ..Answer::nothing() }
    }

    /// 204
    pub(crate) fn nothing() -> Answer {
        Answer { status: StatusCode::NO_CONTENT, content: Content::Nothing, headers: Vec::new() }
    }

    /// 201, and where it is.
    pub(crate) fn created(self, location: String) -> Answer {
        Answer { status: StatusCode::CREATED, ..self }.with(header::LOCATION, location)
    }

    /// 202
    pub(crate) fn accepted(self) -> Answer {
        Answer { status: StatusCode::ACCEPTED, ..self }
    }

    pub(crate) fn status(self, status: StatusCode) -> Answer {
        Answer { status, ..self }
    }

    pub(crate) fn with(mut self, name: HeaderName, value: String) -> Answer {
        self.headers.push((name, value));
        self
    }

    /// `version`: what the client asked in. `json`: it wants documents of `/api` in JSON.
    pub(crate) fn respond(self, version: &str, json: bool) -> Response<Body> {
        let (kind, body) = match self.content {
            Content::Nothing => (None, Body::empty()),
            Content::Png(picture) => (Some("image/png".to_owned()), Body::from(picture)),
            Content::Json(text) => (Some(format!("application/json;version={version}")), Body::from(text)),
            Content::Xml(media, document) => match json.then(|| as_json::convert(&document)).flatten() {
                Some(text) => (Some(format!("{};version={version}", media.replace("+xml", "+json"))), Body::from(text)),
                None => (Some(format!("{media};version={version}")), Body::from(document)),
            },
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        let all = self.headers.into_iter().chain(kind.map(|k| (header::CONTENT_TYPE, k)));
        for (name, value) in all {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().append(name, value);
            }
        }
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

impl Fault {
    pub(crate) fn respond(self, json: bool) -> Response<Body> {
        let (kind, text) = crate::fault::body(json, self.status.as_u16(), self.code, &self.message);
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = self.status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let ways = "Bearer realm=\"SSVirt\", Basic realm=\"SSVirt\"";
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(ways));
        }
        response
    }
}
