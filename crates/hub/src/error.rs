//! The one error of a hub: what went wrong, whether trying again helps, and what a person can do.
use std::{fmt, time::Duration};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No answer came.
    Unreachable { why: Reach, detail: String },
    /// The server's certificate was not accepted, or ours was not.
    Certificate { why: Trust, detail: String },
    /// 401: the hub does not know us (any more).
    Credentials(String),
    /// 403: the hub knows us and says no.
    Forbidden(String),
    /// 403 of a ResourceQuota, with its text.
    OverQuota(String),
    /// 404 of an API server about a named object.
    NotFound(String),
    /// Any other 404: a kind that isn't served, or something else than an API server. It says nothing about an object.
    NotServed(String),
    /// A create met an object of that name.
    Exists(String),
    /// Somebody changed it in between.
    Conflict(String),
    /// virt-api: the VM's state does not allow it.
    NotNow(String),
    /// The object we mean is gone or another has its name: nothing may be done to it.
    NotOurs(String),
    /// The object, or the namespace around it, is on its way out: wait until it is gone.
    BeingDeleted(String),
    /// An object that is not ours has the name.
    NameTaken(String),
    /// 400 or 422: a webhook or the schema refused what we sent.
    Denied { message: String, causes: Vec<Cause> },
    /// 429.
    Throttled { retry_after: Duration },
    /// 410: a resourceVersion or list token is too old. List again.
    Expired(String),
    /// 5xx.
    Server { status: u16, message: String },
    /// An answer that is no answer of an API server.
    Odd(String),
}

/// Why no answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The name is not known, or its lookup failed.
    Dns,
    Refused,
    Timeout,
    /// The connection broke.
    Closed,
    /// The address is not on the installation's list.
    NotAllowed,
    /// Not asked: the hub did not answer the last times.
    Down,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Not signed by an authority of the kubeconfig.
    Untrusted,
    Expired,
    NotYetValid,
    NameMismatch,
    /// The server did not like our client certificate.
    Ours,
    Other,
}

/// One field that a webhook or the schema did not like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    pub field: String,
    pub message: String,
}

/// What to do with work that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Try again: after that long, or by the queue's own rhythm.
    Retry { after: Option<Duration> },
    /// It would fail the same way.
    Fail,
}

impl Error {
    pub fn retry(&self) -> Verdict {
        let after = |s| Verdict::Retry { after: Some(Duration::from_secs(s)) };
        match self {
            Error::Unreachable { why: Reach::NotAllowed, .. } => after(60),
            Error::Unreachable { .. } | Error::Conflict(_) | Error::Expired(_) | Error::Server { .. } => {
                Verdict::Retry { after: None }
            }
            // an operator can put these right, and then the work goes on
            Error::Certificate { .. } | Error::Credentials(_) | Error::Forbidden(_) => after(60),
            // our own quota said that it fits: the hub's count lags behind
            Error::OverQuota(_) => after(10),
            Error::BeingDeleted(_) | Error::NotNow(_) => after(2),
            Error::Throttled { retry_after } => Verdict::Retry { after: Some(*retry_after) },
            Error::Odd(_) | Error::NotServed(_) => after(30),
            // a create that met something adopts it or says NameTaken; a bare one may try again once it is looked at
            Error::Exists(_) => Verdict::Retry { after: None },
            Error::NotFound(_) | Error::NotOurs(_) | Error::NameTaken(_) | Error::Denied { .. } => Verdict::Fail,
        }
    }

    /// Did the connection fail, rather than the request? These open the circuit.
    pub fn is_transport(&self) -> bool {
        matches!(self, Error::Unreachable { .. } | Error::Certificate { .. })
    }

    /// A word for metrics and rows.
    pub fn key(&self) -> &'static str {
        match self {
            Error::Unreachable { .. } => "unreachable",
            Error::Certificate { .. } => "certificate",
            Error::Credentials(_) => "credentials",
            Error::Forbidden(_) => "forbidden",
            Error::OverQuota(_) => "over-quota",
            Error::NotFound(_) => "not-found",
            Error::NotServed(_) => "not-served",
            Error::Exists(_) => "exists",
            Error::Conflict(_) => "conflict",
            Error::NotNow(_) => "not-now",
            Error::NotOurs(_) => "not-ours",
            Error::BeingDeleted(_) => "being-deleted",
            Error::NameTaken(_) => "name-taken",
            Error::Denied { .. } => "denied",
            Error::Throttled { .. } => "throttled",
            Error::Expired(_) => "expired",
            Error::Server { .. } => "server",
            Error::Odd(_) => "odd",
        }
    }

    /// What happened, in a sentence.
    pub fn message(&self) -> String {
        match self {
            Error::Unreachable { why, detail } => match why {
                Reach::Dns => format!("The hub's name can't be resolved: {detail}."),
                Reach::Refused => format!("The hub refused the connection: {detail}."),
                Reach::Timeout => format!("The hub did not answer in time: {detail}."),
                Reach::Closed => format!("The connection to the hub broke: {detail}."),
                Reach::NotAllowed => format!("The hub's address is not allowed here: {detail}."),
                Reach::Down => format!("The hub is not being asked at the moment: {detail}."),
            },
            Error::Certificate { why, detail } => match why {
                Trust::Untrusted => {
                    format!("The hub's certificate is not signed by the kubeconfig's authority: {detail}.")
                }
                Trust::Expired => format!("The hub's certificate has expired: {detail}."),
                Trust::NotYetValid => format!("The hub's certificate is not valid yet: {detail}."),
                Trust::NameMismatch => format!("The hub's certificate is for another name: {detail}."),
                Trust::Ours => format!("The hub refused our client certificate: {detail}."),
                Trust::Other => format!("No safe connection to the hub could be made: {detail}."),
            },
            Error::Credentials(m) => format!("The hub does not accept our credentials: {m}."),
            Error::Forbidden(m) => format!("The hub's account lacks a right: {m}."),
            Error::OverQuota(m) => format!("The namespace's quota on the hub is full: {m}."),
            Error::NotFound(m) => format!("The hub has no such object: {m}."),
            Error::NotServed(m) => format!("The hub does not know this kind of object: {m}."),
            Error::Exists(m) => format!("The hub has an object of that name: {m}."),
            Error::Conflict(m) => format!("The object changed on the hub in between: {m}."),
            Error::NotNow(m) => format!("The VM's state on the hub does not allow it: {m}."),
            Error::NotOurs(m) => format!("The object on the hub is not the one we made: {m}."),
            Error::BeingDeleted(m) => format!("The hub is still deleting it: {m}."),
            Error::NameTaken(m) => format!("An object that is not ours has the name on the hub: {m}."),
            Error::Denied { message, causes } if causes.is_empty() => format!("The hub refused it: {message}."),
            Error::Denied { causes, .. } => {
                let list: Vec<String> = causes
                    .iter()
                    .map(|c| if c.field.is_empty() { c.message.clone() } else { format!("{}: {}", c.field, c.message) })
                    .collect();
                format!("The hub refused it: {}.", list.join("; "))
            }
            Error::Throttled { retry_after } => {
                format!("The hub is busy and asked us to wait {} s.", retry_after.as_secs())
            }
            Error::Expired(m) => format!("The hub's history does not reach back that far: {m}."),
            Error::Server { status, message } => format!("The hub failed to answer ({status}): {message}."),
            Error::Odd(m) => format!("What answered is no Kubernetes API server: {m}."),
        }
    }

    /// The same for somebody who has no part in the hub: without addresses, and without what only its operator can do.
    pub fn for_tenants(&self) -> String {
        match self {
            Error::Unreachable { .. }
            | Error::Certificate { .. }
            | Error::Credentials(_)
            | Error::Forbidden(_)
            | Error::NotServed(_)
            | Error::Odd(_) => "Its hub does not answer as it should. It goes on when it does.".into(),
            Error::Server { .. } | Error::Throttled { .. } | Error::Conflict(_) | Error::Expired(_) => {
                "Its hub is busy. It is tried again.".into()
            }
            _ => format!("{} {}", self.message(), self.next_step()),
        }
    }

    /// What a person can do about it.
    pub fn next_step(&self) -> &'static str {
        match self {
            Error::Unreachable { why, .. } => match why {
                Reach::Dns => "Check the server's name in the kubeconfig, and the DNS of the machine SSVirt runs on.",
                Reach::Refused => "Check that the API server runs and listens on that port.",
                Reach::Timeout => "Check the network and firewalls between SSVirt and the hub.",
                Reach::Closed => "Check the hub's load balancer, and whether the API server restarts.",
                Reach::NotAllowed => {
                    "Add it to the setting hubs.allow or hubs.ports, if it is meant, or register the hub by the command ssvirt hub."
                }
                Reach::Down => "Nothing: it is tried again every few seconds. See the first error for the cause.",
            },
            Error::Certificate { why, .. } => match why {
                Trust::Untrusted => "Upload a kubeconfig with the hub's present certificate authority.",
                Trust::Expired => "Renew the hub's certificate.",
                Trust::NotYetValid => "Check the clocks of the hub and of the machine SSVirt runs on.",
                Trust::NameMismatch => {
                    "Use a server address the certificate names, or set tls-server-name in the kubeconfig."
                }
                Trust::Ours => "Upload a kubeconfig with a valid client certificate or a token.",
                Trust::Other => "Check that the port serves HTTPS with TLS 1.2 or newer.",
            },
            Error::Credentials(_) => "Upload a kubeconfig with a new token: the old one expired or was withdrawn.",
            Error::Forbidden(_) => {
                "Give the hub's account the missing right; `ssvirt hub check` lists all that are needed."
            }
            Error::OverQuota(_) => "Delete something in the VDC, or raise its limits.",
            Error::NotFound(_) => "Check on the hub whether it was deleted there.",
            Error::NotServed(_) => {
                "Check that KubeVirt and CDI are installed on it, and that the address is the API server's."
            }
            Error::Exists(_) | Error::NameTaken(_) => "Look at the object on the hub; rename or remove it.",
            Error::Conflict(_) | Error::Throttled { .. } | Error::Expired(_) | Error::BeingDeleted(_) => {
                "Nothing: it is tried again."
            }
            Error::NotNow(_) => "Wait until the VM has done what it is doing, then look at its state.",
            Error::NotOurs(_) => "Look at the object on the hub. SSVirt does not touch it.",
            Error::Denied { .. } => "Change what was asked for as the message says.",
            Error::Server { .. } => "Look at the hub's API server and its webhooks. It is tried again.",
            Error::Odd(_) => "Check that the address is an API server's and no proxy or login page answers.",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_operator_or_time_can_heal_is_tried_again_and_the_rest_fails() {
        let retried = [
            Error::Unreachable { why: Reach::Timeout, detail: "x".into() },
            Error::Certificate { why: Trust::Expired, detail: "x".into() },
            Error::Credentials("x".into()),
            Error::Forbidden("x".into()),
            Error::OverQuota("x".into()),
            Error::Conflict("x".into()),
            Error::BeingDeleted("x".into()),
            Error::Server { status: 500, message: "x".into() },
        ];
        for e in retried {
            assert!(matches!(e.retry(), Verdict::Retry { .. }), "{e:?}");
        }
        for e in [
            Error::NotOurs("x".into()),
            Error::NameTaken("x".into()),
            Error::Denied { message: "x".into(), causes: vec![] },
            Error::NotFound("x".into()),
        ] {
            assert_eq!(e.retry(), Verdict::Fail, "{e:?}");
        }
        let busy = Error::Throttled { retry_after: Duration::from_secs(7) };
        assert_eq!(busy.retry(), Verdict::Retry { after: Some(Duration::from_secs(7)) });
    }

    #[test]
    fn tenants_read_no_address_of_a_hub_and_what_they_can_change() {
        let detail = || "https://10.1.2.3:6443".to_owned();
        for e in [
            Error::Unreachable { why: Reach::Refused, detail: detail() },
            Error::Certificate { why: Trust::Untrusted, detail: detail() },
            Error::Credentials(detail()),
            Error::Odd(detail()),
            Error::Server { status: 500, message: detail() },
        ] {
            assert!(!e.for_tenants().contains("10.1.2.3"), "{e:?}");
        }
        let denied = Error::Denied { message: "the name is too long".into(), causes: vec![] };
        assert!(denied.for_tenants().contains("the name is too long"));
    }

    #[test]
    fn causes_are_named_with_their_fields() {
        let e = Error::Denied {
            message: "admission webhook denied".into(),
            causes: vec![Cause { field: "spec.running".into(), message: "RunStrategy must be specified".into() }],
        };
        assert_eq!(e.to_string(), "The hub refused it: spec.running: RunStrategy must be specified.");
    }
}
