//! Kubeconfigs that somebody uploads. Only inline credentials for one https server are taken; all that would run a
//! program, read a file of ours or weaken the connection is refused by name, with what to do instead.
mod credential;
mod pem;
mod server;
#[cfg(test)]
mod tests;

pub use credential::{Auth, Credential};
pub(crate) use pem::about;
pub(crate) use server::dns_name;
pub use server::{Host, Server};

use crate::{Secret, yaml};
use serde_json::{Map, Value};
use std::fmt;

pub const LARGEST: usize = 64 << 10;
const LONGEST_TOKEN: usize = 16 << 10;

/// Why a kubeconfig is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Where: `users[0].user.exec`; empty for the text as a whole.
    pub field: String,
    pub message: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" => write!(f, "The kubeconfig {}", self.message),
            field => write!(f, "{field}: {}", self.message),
        }
    }
}

impl std::error::Error for Refused {}

type Result<T> = std::result::Result<T, Refused>;

/// Fields with a reason of their own for not being taken.
const REFUSED: [(&str, &str); 16] = [
    ("exec", "It would run a program on this server. Make a service account's token and put it into `token`."),
    (
        "auth-provider",
        "It would run a program or call a third party. Make a service account's token and put it into `token`.",
    ),
    ("tokenFile", "It names a file, and files stay where they are. Put the token itself into `token`."),
    (
        "client-certificate",
        "It names a file. Put its base64 into `client-certificate-data` (kubectl config view --flatten does).",
    ),
    ("client-key", "It names a file. Put its base64 into `client-key-data` (kubectl config view --flatten does)."),
    (
        "certificate-authority",
        "It names a file. Put its base64 into `certificate-authority-data` (kubectl config view --flatten does).",
    ),
    ("username", "API servers no longer take user names and passwords. Use a service account's token."),
    ("password", "API servers no longer take user names and passwords. Use a service account's token."),
    ("as", "Acting as somebody else is not supported. Give the credentials of the account itself."),
    ("as-uid", "Acting as somebody else is not supported. Give the credentials of the account itself."),
    ("as-groups", "Acting as somebody else is not supported. Give the credentials of the account itself."),
    ("as-user-extra", "Acting as somebody else is not supported. Give the credentials of the account itself."),
    ("proxy-url", "Hubs are called directly. Remove it, and let this server reach the hub's address."),
    (
        "insecure-skip-tls-verify",
        "The hub's certificate is always checked. Remove it and give `certificate-authority-data`.",
    ),
    ("extensions", "Remove it: it means nothing here."),
    ("impersonate", "Acting as somebody else is not supported. Give the credentials of the account itself."),
];

/// Reads YAML or JSON.
pub fn parse(text: &str) -> Result<Credential> {
    if text.len() > LARGEST {
        return refuse("", format!("is larger than {} KiB. Cut it down: {}", LARGEST >> 10, minify("NAME")));
    }
    if text.trim().is_empty() {
        return refuse("", "is empty. Paste what `kubectl config view --minify --flatten` prints.");
    }
    let document = yaml::parse(text).map_err(|e| Refused { field: e.key.unwrap_or_default(), message: e.message })?;
    let Value::Object(top) = document else {
        return refuse("", "is no mapping of fields. Paste what `kubectl config view --minify --flatten` prints.");
    };
    let top = Part { path: String::new(), fields: &top };
    top.only(&["apiVersion", "kind", "preferences", "clusters", "users", "contexts", "current-context"])?;
    if top.fields.get("apiVersion").is_some_and(|v| v != "v1") {
        return refuse("apiVersion", "Only v1 is known. Paste what `kubectl config view --minify --flatten` prints.");
    }
    if top.fields.get("kind").is_some_and(|v| v != "Config") {
        return refuse("kind", "This is not a kubeconfig (its kind is Config).");
    }
    if top.fields.get("preferences").is_some_and(|v| !v.is_null() && v.as_object().is_none_or(|o| !o.is_empty())) {
        return refuse("preferences", "Remove what is in it: it means nothing here.");
    }
    let current = top.text("current-context", 512)?.unwrap_or_default();
    let contexts = top.list("contexts", current)?;
    let context = contexts.part("context")?;
    if !current.is_empty() && contexts.name != current {
        return refuse("current-context", "It names no context of this file. Give the name of the one that is there.");
    }
    let cluster = top.list("clusters", current)?;
    let user = top.list("users", current)?;
    context.only(&["cluster", "user", "namespace"])?;
    for (key, there) in [("cluster", &cluster), ("user", &user)] {
        if context.needed(key, 512)? != there.name {
            return refuse(
                &context.at(key),
                format!("It names none of the {key}s of this file. Cut the file down: {}", minify(current)),
            );
        }
    }
    let namespace = context.text("namespace", 63)?;
    if let Some(ns) = namespace
        && !is_dns_label(ns)
    {
        return refuse(&context.at("namespace"), "It is no namespace's name (small letters, digits and hyphens).");
    }

    let cluster = cluster.part("cluster")?;
    cluster.only(&[
        "server",
        "certificate-authority-data",
        "tls-server-name",
        "disable-compression",
        "insecure-skip-tls-verify",
    ])?;
    if cluster.fields.get("insecure-skip-tls-verify").is_some_and(|v| *v != Value::Bool(false)) {
        return Err(cluster.refused("insecure-skip-tls-verify"));
    }
    if cluster.fields.get("disable-compression").is_some_and(|v| !v.is_boolean()) {
        return refuse(&cluster.at("disable-compression"), "It is true or false.");
    }
    let server = cluster.checked("server", cluster.needed("server", 512)?, Server::parse)?;
    let ca_pem = cluster.checked("certificate-authority-data", cluster.needed_ca()?, pem::text)?;
    cluster.checked("certificate-authority-data", &ca_pem, pem::check_authorities)?;
    let tls_server_name = match cluster.text("tls-server-name", 253)? {
        None => None,
        Some(name) => Some(cluster.checked("tls-server-name", name, dns_name)?),
    };

    let user = user.part("user")?;
    let (auth, expires) = read_user(&user)?;
    let namespace = namespace.map(str::to_owned);
    Ok(Credential { server, ca_pem, tls_server_name, auth, namespace, expires })
}

fn read_user(user: &Part<'_>) -> Result<(Auth, Option<time::OffsetDateTime>)> {
    user.only(&["token", "client-certificate-data", "client-key-data"])?;
    let token = user.text("token", LONGEST_TOKEN)?;
    let certificate = user.text("client-certificate-data", LARGEST)?;
    let key = user.text("client-key-data", LARGEST)?;
    match (token, certificate, key) {
        (Some(token), None, None) => {
            let token = token.trim();
            if token.is_empty() {
                return refuse(&user.at("token"), "It is empty. Make one with `kubectl create token`.");
            }
            if !token.bytes().all(|b| b.is_ascii_graphic()) {
                return refuse(
                    &user.at("token"),
                    "It has blanks or odd characters in it. Paste it again, in one piece.",
                );
            }
            Ok((Auth::Token(Secret::new(token)), credential::token_expiry(token)))
        }
        (None, Some(certificate), Some(key)) => {
            let certificate_pem = user.checked("client-certificate-data", certificate, pem::text)?;
            let expires = user.checked("client-certificate-data", &certificate_pem, pem::check_client_certificate)?;
            let key_pem = user.checked("client-key-data", key, pem::text)?;
            user.checked("client-key-data", &key_pem, |key| pem::check_key(&certificate_pem, key))?;
            Ok((Auth::ClientCertificate { certificate_pem, key_pem: Secret::new(key_pem) }, Some(expires)))
        }
        (None, Some(_), None) => {
            refuse(&user.at("client-key-data"), "It is missing: a client certificate needs its key.")
        }
        (None, None, Some(_)) => {
            refuse(&user.at("client-certificate-data"), "It is missing: a client key needs its certificate.")
        }
        (None, None, None) => {
            refuse(&user.at("token"), "It is missing. Give a token, or client-certificate-data and client-key-data.")
        }
        (Some(_), ..) => refuse(&user.at("token"), "There is a client certificate too. Keep one way to sign in."),
    }
}

fn refuse<T>(field: &str, message: impl Into<String>) -> Result<T> {
    Err(Refused { field: field.to_owned(), message: message.into() })
}

/// The command that leaves one context, with everything inline.
fn minify(context: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    let context = if context.is_empty() || !context.chars().all(plain) { "NAME" } else { context };
    format!("kubectl config view --minify --flatten --context={context}")
}

pub(crate) fn is_dns_label(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// One mapping of the file and where it stands.
struct Part<'a> {
    path: String,
    fields: &'a Map<String, Value>,
}

/// The one entry of `clusters`, `users` or `contexts`.
struct Named<'a> {
    path: String,
    name: &'a str,
    fields: &'a Map<String, Value>,
}

impl<'a> Named<'a> {
    fn part(&self, key: &str) -> Result<Part<'a>> {
        let path = format!("{}.{key}", self.path);
        if let Some(other) = self.fields.keys().find(|k| *k != key && *k != "name") {
            return Err(Part { path: self.path.clone(), fields: self.fields }.refused(other));
        }
        match self.fields.get(key) {
            Some(Value::Object(fields)) => Ok(Part { path, fields }),
            _ => refuse(&path, "It is missing, or no mapping of fields."),
        }
    }
}

impl<'a> Part<'a> {
    fn at(&self, key: &str) -> String {
        // what somebody typed must not break a line of the log
        let key: String = key.chars().filter(|c| !c.is_control()).take(64).collect();
        if self.path.is_empty() { key } else { format!("{}.{key}", self.path) }
    }

    fn refused(&self, key: &str) -> Refused {
        let why = REFUSED.iter().find(|(k, _)| *k == key).map_or("This field is not known. Remove it.", |(_, w)| w);
        Refused { field: self.at(key), message: why.to_owned() }
    }

    fn only(&self, known: &[&str]) -> Result<()> {
        match self.fields.keys().find(|k| !known.contains(&k.as_str())) {
            Some(key) => Err(self.refused(key)),
            None => Ok(()),
        }
    }

    fn text(&self, key: &str, longest: usize) -> Result<Option<&'a str>> {
        match self.fields.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(s)) if s.len() > longest => {
                refuse(&self.at(key), format!("It is longer than {longest} characters."))
            }
            Some(Value::String(s)) => Ok(Some(s)),
            Some(_) => refuse(&self.at(key), "It is no text. Put it into quotes."),
        }
    }

    fn needed(&self, key: &str, longest: usize) -> Result<&'a str> {
        match self.text(key, longest)? {
            Some(text) if !text.is_empty() => Ok(text),
            _ => refuse(&self.at(key), "It is missing."),
        }
    }

    fn needed_ca(&self) -> Result<&'a str> {
        match self.text("certificate-authority-data", LARGEST)? {
            Some(text) if !text.is_empty() => Ok(text),
            _ => refuse(
                &self.at("certificate-authority-data"),
                "It is missing. The hub's certificate is checked against it alone; kubectl config view --raw --flatten shows it.",
            ),
        }
    }

    fn checked<T>(
        &self,
        key: &str,
        text: &str,
        check: impl FnOnce(&str) -> std::result::Result<T, String>,
    ) -> Result<T> {
        check(text).map_err(|message| Refused { field: self.at(key), message })
    }

    /// A list of exactly one named entry.
    fn list(&self, key: &'static str, current: &str) -> Result<Named<'a>> {
        let entries = match self.fields.get(key) {
            Some(Value::Array(entries)) => entries.as_slice(),
            None | Some(Value::Null) => &[],
            Some(_) => return refuse(key, "It is no list."),
        };
        let path = format!("{key}[0]");
        match entries {
            [Value::Object(fields)] => match fields.get("name") {
                Some(Value::String(name)) if !name.is_empty() => Ok(Named { path, name, fields }),
                _ => refuse(&format!("{path}.name"), "It is missing, or no text."),
            },
            [_] => refuse(&path, "It is no mapping of fields."),
            [] => refuse(key, "It is empty. A kubeconfig has one cluster, one user and one context."),
            more => refuse(
                key,
                format!(
                    "There are {} of them, and which is meant is not to be guessed. Cut it down: {}",
                    more.len(),
                    minify(current)
                ),
            ),
        }
    }
}
