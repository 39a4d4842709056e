//! Refusals, in the exact words and shape of the real server's Status objects.

use crate::kinds::{Kind, qualified};
use axum::body::Body;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

/// An answer that is not the one hoped for.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub code: u16,
    pub reason: &'static str,
    pub message: String,
    pub details: Option<Value>,
    pub metadata: Value,
    pub retry_after: Option<u32>,
    /// Sent as text instead of a Status.
    pub plain: bool,
    pub no_sniff: bool,
}

pub(crate) type Result<T> = std::result::Result<T, Refusal>;

/// One thing wrong with one field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FieldError {
    pub reason: &'static str,
    pub field: String,
    pub message: String,
}

impl FieldError {
    pub(crate) fn invalid(field: impl Into<String>, value: &Value, why: impl AsRef<str>) -> Self {
        Self {
            reason: "FieldValueInvalid",
            field: field.into(),
            message: format!("Invalid value: {}: {}", shown(value), why.as_ref()),
        }
    }

    pub(crate) fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
        Self { reason: "FieldValueRequired", field: field.into(), message }
    }

    pub(crate) fn forbidden(field: impl Into<String>, why: impl AsRef<str>) -> Self {
        Self { reason: "FieldValueForbidden", field: field.into(), message: format!("Forbidden: {}", why.as_ref()) }
    }

    pub(crate) fn unsupported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let list: Vec<String> = supported.iter().map(|one| format!("\"{one}\"")).collect();
        Self {
            reason: "FieldValueNotSupported",
            field: field.into(),
            message: format!("Unsupported value: {}: supported values: {}", shown(value), list.join(", ")),
        }
    }

    pub(crate) fn too_long(field: impl Into<String>, limit: usize) -> Self {
        Self {
            reason: "FieldValueTooLong",
            field: field.into(),
            message: format!("Too long: may not be more than {limit} bytes"),
        }
    }

    /// What the real server adds when it gave up before its rules in CEL.
    pub(crate) fn rules_not_checked() -> Self {
        Self::invalid(
            "<nil>",
            &Value::Null,
            "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
        )
    }

    fn text(&self) -> String {
        format!("{}: {}", self.field, self.message)
    }
}

fn shown(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl Refusal {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            metadata: json!({}),
            retry_after: None,
            plain: false,
            no_sniff: false,
        }
    }

    pub(crate) fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    pub(crate) fn page_not_found() -> Self {
        let mut refusal = Self::new(404, "NotFound", "404 page not found\n");
        refusal.plain = true;
        refusal.no_sniff = true;
        refusal
    }

    pub(crate) fn unknown_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").with_details(json!({}))
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            .with_details(json!({}))
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", kind.resource())).with_details(details(
            name,
            &kind.group,
            &kind.plural,
        ))
    }

    pub(crate) fn already_exists(kind: &Kind, name: &str, being_deleted: bool) -> Self {
        let lead = if being_deleted { "object is being deleted: " } else { "" };
        Self::new(409, "AlreadyExists", format!("{lead}{} \"{name}\" already exists", kind.resource()))
            .with_details(details(name, &kind.group, &kind.plural))
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        Self::new(409, "Conflict", format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.resource()))
            .with_details(details(name, &kind.group, &kind.plural))
    }

    /// A failed precondition of a delete names the kind, not the resource.
    pub(crate) fn precondition(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.qualified_kind());
        Self::new(409, "Conflict", message).with_details(details(name, &kind.group, &kind.kind))
    }

    pub(crate) fn stale(kind: &Kind, name: &str) -> Self {
        Self::conflict(
            kind,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    pub(crate) fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let object = if name.is_empty() { String::new() } else { format!(" \"{name}\"") };
        Self::new(403, "Forbidden", format!("{}{object} is forbidden: {why}", qualified(resource, group)))
            .with_details(details(name, group, resource))
    }

    pub(crate) fn invalid(kind: &str, group: &str, name: &str, errors: &[FieldError]) -> Self {
        // a cause given twice is told once in the message, and twice in the causes
        let mut texts: Vec<String> = Vec::new();
        for error in errors {
            let text = error.text();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let list = if texts.len() == 1 { texts.remove(0) } else { format!("[{}]", texts.join(", ")) };
        let mut details = details(name, group, kind);
        details["causes"] = errors
            .iter()
            .map(|error| json!({"reason": error.reason, "message": error.message, "field": error.field}))
            .collect();
        Self::new(422, "Invalid", format!("{} \"{name}\" is invalid: {list}", qualified(kind, group)))
            .with_details(details)
    }

    pub(crate) fn invalid_object(kind: &Kind, name: &str, errors: &[FieldError]) -> Self {
        Self::invalid(&kind.kind, &kind.group, name, errors)
    }

    pub(crate) fn invalid_options(options: &str, error: FieldError) -> Self {
        Self::invalid(options, "meta.k8s.io", "", &[error])
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    pub(crate) fn not_acceptable() -> Self {
        Self::new(
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        )
    }

    pub(crate) fn unsupported_media_type(accepted: &str) -> Self {
        Self::new(
            415,
            "UnsupportedMediaType",
            format!("the body of the request was in an unknown format - accepted media types include: {accepted}"),
        )
    }

    pub(crate) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }

    pub(crate) fn response(&self) -> Response<Body> {
        let mut response = if self.plain {
            let mut response = Response::new(Body::from(self.message.clone()));
            let plain = HeaderValue::from_static("text/plain; charset=utf-8");
            response.headers_mut().insert(header::CONTENT_TYPE, plain);
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
            response
        } else {
            json_response(200, &self.status())
        };
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if self.no_sniff {
            response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        }
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

pub(crate) fn details(name: &str, group: &str, kind: &str) -> Value {
    let mut details = json!({});
    for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
        if !value.is_empty() {
            details[key] = value.into();
        }
    }
    details
}

pub(crate) fn json_response(code: u16, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}
