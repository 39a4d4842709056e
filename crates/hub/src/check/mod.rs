//! Is a hub fit to use? Every question is asked, each answer is one line with what to do, and one dead hub is one report.
mod compare;
mod kubevirt;
mod line;
mod platform;
mod rights;

pub use compare::{Difference, compare};
pub use rights::{NEEDED, Right};

use crate::{
    Client, Credential, Key,
    error::{Error, Reach, Result, Trust},
    read::{InstanceType, StorageClass},
    resource::NAMESPACES,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use time::OffsetDateTime;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Ok,
    Warning,
    Failed,
    /// Not asked, since an earlier answer makes it pointless, or not for this hub.
    Skipped,
}

impl State {
    pub fn mark(self) -> &'static str {
        match self {
            State::Ok => "✅",
            State::Warning => "⚠️",
            State::Failed => "❌",
            State::Skipped => "–",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub key: String,
    pub title: String,
    pub state: State,
    /// What was found.
    pub detail: String,
    /// Empty where nothing is to be done.
    pub what_to_do: String,
}

impl Check {
    fn new(key: &str, state: State, detail: impl Into<String>, what_to_do: impl Into<String>) -> Check {
        let title = TITLES.iter().find(|(k, _)| *k == key).map_or(key, |(_, t)| t);
        Check {
            key: key.to_owned(),
            title: title.to_owned(),
            state,
            detail: detail.into(),
            what_to_do: what_to_do.into(),
        }
    }

    fn ok(key: &str, detail: impl Into<String>) -> Check {
        Check::new(key, State::Ok, detail, "")
    }

    fn warning(key: &str, detail: impl Into<String>, what_to_do: impl Into<String>) -> Check {
        Check::new(key, State::Warning, detail, what_to_do)
    }

    fn failed(key: &str, detail: impl Into<String>, what_to_do: impl Into<String>) -> Check {
        Check::new(key, State::Failed, detail, what_to_do)
    }

    fn skipped(key: &str, detail: impl Into<String>) -> Check {
        Check::new(key, State::Skipped, detail, "")
    }

    fn of_error(key: &str, error: &Error) -> Check {
        Check::failed(key, error.message(), error.next_step())
    }
}

/// In the order they are asked and shown.
const TITLES: [(&str, &str); 16] = [
    ("address", "Address"),
    ("connection", "Connection"),
    ("certificate", "Certificate"),
    ("credentials", "Credentials"),
    ("version", "Kubernetes version"),
    ("rights", "Rights"),
    ("kubevirt", "KubeVirt"),
    ("components", "KubeVirt's components"),
    ("cdi", "Containerized Data Importer"),
    ("crds", "Kinds and fields"),
    ("storage", "Storage classes"),
    ("instance-types", "Instance types"),
    ("snapshots", "Snapshots"),
    ("templates", "OpenShift templates"),
    ("networks", "User-defined networks"),
    ("nodes", "Nodes"),
];

/// All that was found out about a hub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    pub checks: Vec<Check>,
    /// What requests can be sent to it: `virtualmachines`, `clusters`.
    pub capabilities: Vec<String>,
    /// What else it can do: `templates`, `snapshots`, `networks`, `hotplug-volumes`, `exports`.
    pub features: BTreeSet<String>,
    pub capacity: Capacity,
    pub kubernetes: Option<String>,
    pub kubevirt: Option<String>,
    /// Which cluster it is: the uid of its namespace `kube-system`, which it keeps for as long as it lives. None: not known.
    pub cluster: Option<String>,
    /// Served versions of the kinds VMs are made of.
    pub crds: BTreeMap<String, Vec<String>>,
    pub storage_classes: Vec<StorageClass>,
    pub instance_types: Vec<InstanceType>,
    /// Its templates, where somebody looked; a check does not.
    pub templates: Option<BTreeSet<String>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// Nodes that take VMs.
    pub nodes: u32,
    pub cpus: i64,
    pub memory_mb: i64,
}

impl Report {
    /// The worst of all: Failed before Warning before Ok.
    pub fn state(&self) -> State {
        let has = |s| self.checks.iter().any(|c| c.state == s);
        if has(State::Failed) {
            State::Failed
        } else if has(State::Warning) {
            State::Warning
        } else {
            State::Ok
        }
    }

    pub fn get(&self, key: &str) -> Option<&Check> {
        self.checks.iter().find(|c| c.key == key)
    }

    fn is_ok(&self, key: &str) -> bool {
        self.get(key).is_some_and(|c| matches!(c.state, State::Ok | State::Warning))
    }
}

/// The oldest Kubernetes whose answers were checked.
const OLDEST_KUBERNETES: (u32, u32) = (1, 27);
/// Days before the end of a credential from which it is worth a word.
const SOON: i64 = 14;

pub async fn check(client: &Client, credential: &Credential, now: OffsetDateTime) -> Report {
    let mut report = Report::default();
    let version = client.ping().await.map_err(|e| client.cause(e));
    report.checks.extend(reached(&version, credential, now));
    if let Ok(version) = &version {
        report.kubernetes = Some(version.clone());
        report.checks.push(kubernetes(version));
        report.cluster = cluster(client).await;
        match platform::groups(client).await {
            Ok(groups) => {
                report.checks.push(rights::check(client, &groups).await);
                kubevirt::check(client, &groups, &mut report).await;
                platform::check(client, &groups, &mut report).await;
                report.capabilities = capabilities(&report, &groups);
            }
            Err(e) => report.checks.push(Check::of_error("rights", &e)),
        }
    }
    // whatever was not asked is said, so that two reports have the same lines
    for (key, _) in TITLES {
        if report.get(key).is_none() {
            report.checks.push(Check::skipped(key, "Not asked, since an earlier check failed."));
        }
    }
    let place = |c: &Check| TITLES.iter().position(|(k, _)| *k == c.key);
    report.checks.sort_by_key(place);
    report
}

async fn cluster(client: &Client) -> Option<String> {
    let namespace = client.get(&NAMESPACES, &Key::global("kube-system")).await.ok()?;
    namespace["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty()).map(str::to_owned)
}

/// Address, connection, certificate and credentials, all from whether one call was answered.
fn reached(told: &Result<String>, credential: &Credential, now: OffsetDateTime) -> Vec<Check> {
    let server = credential.server.to_string();
    let mut checks = Vec::new();
    let order = ["address", "connection", "certificate", "credentials"];
    let failed_at = match told {
        Ok(_) => None,
        Err(Error::Unreachable { why: Reach::Dns | Reach::NotAllowed, .. }) => Some(0),
        Err(Error::Unreachable { .. }) => Some(1),
        Err(Error::Certificate { why: Trust::Ours, .. }) => Some(3),
        Err(Error::Certificate { .. }) => Some(2),
        Err(Error::Credentials(_) | Error::Forbidden(_)) => Some(3),
        Err(_) => Some(1),
    };
    for (i, key) in order.into_iter().enumerate() {
        let check = match (failed_at, told) {
            (Some(at), Err(e)) if at == i => Check::of_error(key, e),
            (Some(at), _) if i > at => continue,
            _ => match key {
                "address" => Check::ok(key, format!("{server} may be called.")),
                "connection" => Check::ok(key, format!("{server} answers.")),
                "certificate" => Check::ok(key, "Signed by the kubeconfig's authority."),
                _ => expiry(credential, now),
            },
        };
        checks.push(check);
    }
    checks
}

fn expiry(credential: &Credential, now: OffsetDateTime) -> Check {
    let what = credential.auth.word();
    let Some(end) = credential.expires else {
        return Check::ok("credentials", format!("The {what} is accepted; it names no end."));
    };
    let days = (end - now).whole_days();
    let renew = "Upload a kubeconfig with a newer one.";
    match days {
        _ if end <= now => Check::failed("credentials", format!("The {what} ended on {}.", end.date()), renew),
        0..SOON => Check::warning("credentials", format!("The {what} ends on {}, in {days} days.", end.date()), renew),
        _ => Check::ok("credentials", format!("The {what} is accepted, until {}.", end.date())),
    }
}

fn kubernetes(version: &str) -> Check {
    let (major, minor) = OLDEST_KUBERNETES;
    match number(version) {
        Some(v) if v >= OLDEST_KUBERNETES => Check::ok("version", format!("Kubernetes {version}.")),
        Some(_) => Check::warning(
            "version",
            format!("Kubernetes {version} is older than v{major}.{minor}."),
            "Upgrade the hub: SSVirt is not tested with it.",
        ),
        None => Check::warning("version", format!("The version {version:?} can't be read."), ""),
    }
}

/// Major and minor of `v1.35.8-rc.1`, `1.6`.
fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn capabilities(report: &Report, groups: &platform::Groups) -> Vec<String> {
    let mut all = Vec::new();
    if ["rights", "kubevirt", "cdi", "crds", "storage"].iter().all(|key| report.is_ok(key)) {
        all.push("virtualmachines".to_owned());
    }
    if groups.serve("cloudkit.openshift.io", "v1alpha1") || groups.serve("hypershift.openshift.io", "v1beta1") {
        all.push("clusters".to_owned());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Secret,
        kubeconfig::{Auth, Server},
    };
    use time::{Duration, macros::datetime};

    const NOW: OffsetDateTime = datetime!(2026-01-02 03:04:05 UTC);

    fn credential(expires: Option<OffsetDateTime>) -> Credential {
        Credential {
            server: Server::parse("https://hub.example.org").expect("an address"),
            ca_pem: String::new(),
            tls_server_name: None,
            auth: Auth::Token(Secret::new("x")),
            namespace: None,
            expires,
        }
    }

    #[test]
    fn one_error_is_told_by_the_check_it_belongs_to() {
        let unreachable = |why| Error::Unreachable { why, detail: "x".into() };
        for (error, key) in [
            (unreachable(Reach::Dns), "address"),
            (unreachable(Reach::NotAllowed), "address"),
            (unreachable(Reach::Timeout), "connection"),
            (unreachable(Reach::Refused), "connection"),
            (Error::Odd("html".into()), "connection"),
            (Error::Certificate { why: Trust::Untrusted, detail: "x".into() }, "certificate"),
            (Error::Certificate { why: Trust::Ours, detail: "x".into() }, "credentials"),
            (Error::Credentials("x".into()), "credentials"),
        ] {
            let checks = reached(&Err(error), &credential(None), NOW);
            let (last, before) = checks.split_last().expect("some");
            assert_eq!((last.key.as_str(), last.state), (key, State::Failed));
            assert!(!last.what_to_do.is_empty() && before.iter().all(|c| c.state == State::Ok), "{checks:?}");
        }
        assert_eq!(reached(&Ok("v1".into()), &credential(None), NOW).len(), 4);
    }

    #[test]
    fn the_end_of_a_credential_is_told_ahead() {
        let state = |days: i64| expiry(&credential(Some(NOW + Duration::days(days))), NOW).state;
        assert_eq!(
            [state(-1), state(0), state(1), state(13), state(14), state(400)],
            [State::Failed, State::Failed, State::Warning, State::Warning, State::Ok, State::Ok]
        );
        assert_eq!(expiry(&credential(None), NOW).state, State::Ok);
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(number("v1.35.8"), Some((1, 35)));
        assert_eq!(number("v1.9.0-rc.1"), Some((1, 9)));
        assert_eq!(number("1.27+"), Some((1, 27)));
        assert_eq!(number("devel"), None);
        assert_eq!(kubernetes("v1.9.1").state, State::Warning);
        assert_eq!(kubernetes("v1.30.1").state, State::Ok);
    }
}
