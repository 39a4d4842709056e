//! From what a hub answered, or why it did not, to our error.
use crate::error::{Cause, Error, Reach, Trust};
use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use serde::Deserialize;
use std::{error::Error as StdError, io, time::Duration};

/// The Status object of an API server, as far as it matters here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    kind: String,
    message: String,
    reason: String,
    details: Details,
    pub(crate) code: u16,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    name: String,
    causes: Vec<RawCause>,
    #[serde(rename = "retryAfterSeconds")]
    retry_after_seconds: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawCause {
    reason: String,
    message: String,
    field: String,
}

/// An answer that is no success.
pub(crate) fn refused(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
    let parsed: Option<Status> = serde_json::from_slice(body).ok().filter(|s: &Status| s.kind == "Status");
    let wait = headers.get(RETRY_AFTER).and_then(|v| v.to_str().ok()).and_then(|v| v.trim().parse().ok());
    let code = status.as_u16();
    let Some(parsed) = parsed else {
        let text = line(&String::from_utf8_lossy(body));
        let text = if text.is_empty() { format!("{status} with nothing in it") } else { text };
        return match code {
            // virt-api says so in plain text, and so do load balancers
            401 => Error::Credentials(text),
            403 => Error::Forbidden(text),
            404 => Error::NotServed(text),
            429 => throttled(wait),
            500..=599 => Error::Server { status: code, message: text },
            _ => Error::Odd(format!("{code} {text}")),
        };
    };
    classify(code, wait, parsed)
}

/// A Status with an error, also as it stands inside a watch.
pub(crate) fn classify(code: u16, wait: Option<u64>, status: Status) -> Error {
    let message = line(&status.message);
    let causes: Vec<Cause> =
        status.details.causes.iter().map(|c| Cause { field: line(&c.field), message: line(&c.message) }).collect();
    let has_cause = |reason: &str| status.details.causes.iter().any(|c| c.reason == reason);
    let other_uid =
        ["uid mismatch", "UID in precondition", "UID in the precondition"].iter().any(|t| message.contains(t));
    match code {
        401 => Error::Credentials(message),
        403 if message.contains("exceeded quota") || message.contains("failed quota") => Error::OverQuota(message),
        403 if message.contains("because it is being terminated") || has_cause("NamespaceTerminating") => {
            Error::BeingDeleted(message)
        }
        // of the server's own plugin: no right helps against it
        403 if message.contains("must support resize") => Error::Denied { message, causes: Vec::new() },
        403 => Error::Forbidden(message),
        404 if status.details.name.is_empty() => Error::NotServed(message),
        404 => Error::NotFound(message),
        409 if status.reason == "AlreadyExists" && message.starts_with("object is being deleted") => {
            Error::BeingDeleted(message)
        }
        409 if status.reason == "AlreadyExists" => Error::Exists(message),
        409 if other_uid => Error::NotOurs(message),
        409 => Error::Conflict(message),
        410 => Error::Expired(message),
        422 if causes.iter().any(|c| c.field == "metadata.uid") => Error::NotOurs(message),
        400 | 405 | 406 | 413 | 415 | 422 => Error::Denied { message, causes: once_each(causes) },
        429 => throttled(wait.or(Some(status.details.retry_after_seconds).filter(|s| *s > 0))),
        500..=599 => Error::Server { status: code, message },
        _ => Error::Odd(format!("{code} {message}")),
    }
}

/// Custom resources give some causes twice.
fn once_each(causes: Vec<Cause>) -> Vec<Cause> {
    causes.into_iter().fold(Vec::new(), |mut all, c| {
        if !all.contains(&c) {
            all.push(c);
        }
        all
    })
}

fn throttled(wait: Option<u64>) -> Error {
    Error::Throttled { retry_after: Duration::from_secs(wait.unwrap_or(1).clamp(1, 300)) }
}

/// One line of bounded length, without the full stop that our sentences add.
fn line(text: &str) -> String {
    let text: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(1000).collect();
    text.trim_end_matches('.').to_owned()
}

/// A connection that was never made, by our own decision.
#[derive(Debug)]
pub(crate) struct NotConnected {
    pub(crate) why: Reach,
    pub(crate) detail: String,
}

impl std::fmt::Display for NotConnected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.detail)
    }
}

impl StdError for NotConnected {}

/// A call that ended without an answer. `seen` tells more about the certificate that was shown, if one was.
pub(crate) fn unanswered(
    error: &(dyn StdError + 'static),
    server: &str,
    seen: impl FnOnce() -> Option<String>,
) -> Error {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    let mut kind = None;
    let mut last = String::new();
    while let Some(mut e) = cause {
        // an io::Error's `source` skips what it wraps, which may be another of them, with rustls inside
        while let Some(io) = e.downcast_ref::<io::Error>() {
            kind = Some(io.kind()).filter(|k| *k != io::ErrorKind::Other).or(kind);
            match io.get_ref() {
                Some(inner) => e = inner,
                None => break,
            }
        }
        if let Some(ours) = e.downcast_ref::<NotConnected>() {
            return Error::Unreachable { why: ours.why, detail: format!("{server}, {}", line(&ours.detail)) };
        }
        if let Some(tls) = e.downcast_ref::<rustls::Error>() {
            return certificate(tls, server, seen());
        }
        last = e.to_string();
        cause = e.source();
    }
    let (why, detail) = match kind {
        Some(io::ErrorKind::ConnectionRefused) => (Reach::Refused, server.to_owned()),
        Some(io::ErrorKind::TimedOut) => (Reach::Timeout, server.to_owned()),
        Some(io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable) => {
            (Reach::Timeout, format!("there is no way to {server}"))
        }
        _ => (Reach::Closed, format!("{server}, {}", line(&last))),
    };
    Error::Unreachable { why, detail }
}

fn certificate(error: &rustls::Error, server: &str, seen: Option<String>) -> Error {
    use rustls::{AlertDescription as Alert, CertificateError as Bad};
    let why = match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::Expired | Bad::ExpiredContext { .. } => Trust::Expired,
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => Trust::NotYetValid,
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => Trust::NameMismatch,
            Bad::UnknownIssuer | Bad::BadSignature => Trust::Untrusted,
            _ => Trust::Untrusted,
        },
        rustls::Error::AlertReceived(
            Alert::BadCertificate
            | Alert::CertificateExpired
            | Alert::CertificateRequired
            | Alert::CertificateRevoked
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied,
        ) => Trust::Ours,
        _ => Trust::Other,
    };
    let detail = match (why, seen) {
        (Trust::Ours | Trust::Other, _) | (_, None) => format!("{server}, {}", line(&error.to_string())),
        (Trust::NameMismatch, Some(seen)) => format!("{server}, {}; {seen}", line(&error.to_string())),
        (_, Some(seen)) => format!("{server}, {seen}"),
    };
    Error::Certificate { why, detail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(code: u16, reason: &str, message: &str, details: serde_json::Value) -> Error {
        let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message,
            "reason": reason, "details": details, "code": code});
        refused(StatusCode::from_u16(code).expect("a code"), &HeaderMap::new(), body.to_string().as_bytes())
    }

    #[test]
    fn the_three_ways_to_say_that_an_object_is_not_ours_are_known() {
        let gone = "Operation cannot be fulfilled on virtualmachines.kubevirt.io \"web\": uid mismatch: the provided object specified uid u, and no existing object was found";
        let deleted = "Operation cannot be fulfilled on VirtualMachine.kubevirt.io \"web\": the UID in the precondition (u) does not match the UID in record (v). The object might have been deleted and then recreated";
        let put = "Operation cannot be fulfilled on virtualmachines.kubevirt.io \"web\": StorageError: invalid object, Code: 4, Precondition failed: UID in precondition: u, UID in object meta: v";
        for text in [gone, deleted, put] {
            assert!(matches!(answer(409, "Conflict", text, json!({})), Error::NotOurs(_)), "{text}");
        }
        let causes = json!({"causes": [{"reason": "FieldValueInvalid", "message": "Invalid value: \"u\": field is immutable", "field": "metadata.uid"}]});
        assert!(matches!(answer(422, "Invalid", "x is invalid", causes), Error::NotOurs(_)));
    }

    #[test]
    fn refusals_are_told_apart_by_code_reason_and_text() {
        let quota = "virtualmachines.kubevirt.io \"vm-3\" is forbidden: exceeded quota: vdc, requested: count/virtualmachines.kubevirt.io=1, used: count/virtualmachines.kubevirt.io=2, limited: count/virtualmachines.kubevirt.io=2";
        let rbac = "namespaces is forbidden: User \"x\" cannot list resource \"namespaces\" in API group \"\" at the cluster scope";
        let going =
            "secrets \"x\" is forbidden: unable to create new content in namespace g because it is being terminated";
        let stale = "Operation cannot be fulfilled on virtualmachines.kubevirt.io \"x\": the object has been modified; please apply your changes to the latest version and try again";
        for (code, reason, text, key) in [
            (401, "Unauthorized", "Unauthorized", "credentials"),
            (403, "Forbidden", quota, "over-quota"),
            (
                403,
                "Forbidden",
                "pods \"x\" is forbidden: failed quota: vdc: must specify requests.cpu for: c",
                "over-quota",
            ),
            (403, "Forbidden", rbac, "forbidden"),
            (403, "Forbidden", going, "being-deleted"),
            (404, "NotFound", "the server could not find the requested resource", "not-served"),
            (409, "AlreadyExists", "virtualmachines.kubevirt.io \"x\" already exists", "exists"),
            (
                409,
                "AlreadyExists",
                "object is being deleted: virtualmachines.kubevirt.io \"x\" already exists",
                "being-deleted",
            ),
            (409, "Conflict", stale, "conflict"),
            (410, "Expired", "too old resource version: 1 (5)", "expired"),
            (400, "BadRequest", "strict decoding error: unknown field", "denied"),
            (422, "Invalid", "admission webhook denied the request", "denied"),
            (429, "TooManyRequests", "too many", "throttled"),
            (500, "InternalError", "x", "server"),
            (503, "ServiceUnavailable", "x", "server"),
            (418, "", "teapot", "odd"),
        ] {
            assert_eq!(answer(code, reason, text, json!({})).key(), key, "{text}");
        }
        assert!(answer(403, "Forbidden", quota, json!({})).to_string().contains("exceeded quota: vdc, requested"));
    }

    #[test]
    fn only_an_api_servers_word_about_a_name_means_that_it_is_not_there() {
        let text = "virtualmachines.kubevirt.io \"x\" not found";
        let details = json!({"name": "x", "group": "kubevirt.io", "kind": "virtualmachines"});
        assert_eq!(answer(404, "NotFound", text, details).key(), "not-found");
        assert_eq!(answer(404, "NotFound", text, json!({})).key(), "not-served");
        let html = refused(StatusCode::NOT_FOUND, &HeaderMap::new(), b"<html>not here</html>");
        assert_eq!(html.key(), "not-served");
    }

    #[test]
    fn plain_text_answers_and_retry_after_are_understood() {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, "7".parse().expect("a header"));
        let plain = |code, body: &str| refused(StatusCode::from_u16(code).expect("code"), &headers, body.as_bytes());
        assert_eq!(plain(429, "busy"), Error::Throttled { retry_after: Duration::from_secs(7) });
        assert_eq!(plain(503, "service unavailable\n").key(), "server");
        assert_eq!(plain(404, "404 page not found\n"), Error::NotServed("404 page not found".into()));
        assert_eq!(plain(302, "<html>login</html>").key(), "odd");
        let vmi = "Operation cannot be fulfilled on virtualmachineinstance.kubevirt.io \"n\": VMI is not running";
        assert!(plain(500, vmi).to_string().contains("VMI is not running"));
    }

    #[test]
    fn a_cause_is_found_however_deep_it_is_wrapped() {
        let told = |e: io::Error| unanswered(&e, "https://x", || None).key();
        let tls = || rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        assert_eq!(told(io::Error::other(io::Error::new(io::ErrorKind::InvalidData, tls()))), "certificate");
        let why = |e: io::Error| match unanswered(&e, "https://x", || None) {
            Error::Unreachable { why, .. } => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(why(io::Error::other(io::Error::from(io::ErrorKind::ConnectionRefused))), Reach::Refused);
        assert_eq!(why(io::Error::new(io::ErrorKind::TimedOut, "slow")), Reach::Timeout);
        assert_eq!(why(io::Error::other("odd")), Reach::Closed);
        let ours = NotConnected { why: Reach::NotAllowed, detail: "x".into() };
        assert_eq!(why(io::Error::other(ours)), Reach::NotAllowed);
    }

    #[test]
    fn hostile_texts_become_one_short_line() {
        let e = answer(500, "x", &format!("a\nb\u{1b}[31m{}", "x".repeat(5000)), json!({}));
        assert!(e.to_string().len() < 1200 && !e.to_string().contains('\n') && !e.to_string().contains('\u{1b}'));
    }

    #[test]
    fn a_cause_given_twice_is_said_once() {
        let cause = json!({"reason": "FieldValueRequired", "message": "Required value", "field": "spec.template"});
        let e = answer(422, "Invalid", "x", json!({"causes": [cause, cause]}));
        assert!(matches!(&e, Error::Denied { causes, .. } if causes.len() == 1), "{e:?}");
    }
}
