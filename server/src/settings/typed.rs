//! The settings as the rest of the program uses them.

use super::{
    kind::Value,
    listen::Listen,
    origin::Origin,
    resolve::{Problems, Resolved},
    secret::Secret,
};
use ipnet::IpNet;
use model::name::PasswordRules;
use std::{path::PathBuf, time::Duration};
use tracing_subscriber::filter::Targets;

#[derive(Debug, Clone)]
pub struct Settings {
    pub database: Database,
    pub api: Api,
    /// Where a controller by itself gives its numbers.
    pub controller_http: Option<Listen>,
    pub auth: Auth,
    pub hubs: Hubs,
    pub images: Images,
    /// The shortest lease that can be set.
    pub leases_minimum: Duration,
    /// So long hubs may take for what is asked for.
    pub tasks_deadline: Duration,
    pub kubernetes_namespace: String,
    pub log: Log,
    pub limits: Limits,
    pub shutdown_grace: Duration,
}

#[derive(Debug, Clone)]
pub struct Hubs {
    /// Where hubs may be.
    pub allow: domain::AllowList,
    /// At which ports.
    pub ports: domain::Ports,
    /// Which one becomes the default hub at the start.
    pub default: Option<String>,
    /// Where on hubs templates are.
    pub template_namespaces: Vec<String>,
    /// Where on hubs images for everybody are.
    pub image_namespaces: Vec<String>,
}

/// Where uploads arrive and images are kept.
#[derive(Debug, Clone)]
pub struct Images {
    pub directory: Option<PathBuf>,
    pub limit: u64,
}

#[derive(Debug, Clone)]
pub struct Database {
    pub url: Option<Secret>,
    pub max_connections: u32,
}

#[derive(Debug, Clone)]
pub struct Api {
    pub http: Option<Listen>,
    pub https: Option<Listen>,
    pub tls: Option<TlsFiles>,
    pub public_url: Option<Origin>,
    pub trusted_proxies: Vec<IpNet>,
    pub cors_origins: Vec<Origin>,
    /// Whether clients on loopback and private networks get /metrics.
    pub metrics: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, Clone)]
pub struct Auth {
    pub secret: Option<Secret>,
    /// The one before it, while the secret is changed.
    pub old_secret: Option<Secret>,
    pub session_absolute: Duration,
    pub session_idle: Duration,
    pub max_concurrent_hashes: usize,
    pub passwords: PasswordRules,
    pub oidc: Option<Oidc>,
}

/// The identity provider of the provider's own organization.
#[derive(Debug, Clone)]
pub struct Oidc {
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Secret,
    pub groups: Vec<(String, String)>,
    pub default_role: Option<String>,
    pub groups_claim: String,
    pub scopes: String,
}

#[derive(Debug, Clone)]
pub struct Log {
    pub levels: Targets,
    pub format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Json,
    Pretty,
}

#[derive(Debug, Clone)]
pub struct Limits {
    pub body_bytes: usize,
    pub request_timeout: Duration,
    pub header_read_timeout: Duration,
    pub concurrent_requests: usize,
}

/// What a command cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Nothing,
    Database,
    /// All that a production server needs.
    Serve,
}

impl Settings {
    /// The typed settings, or everything that is wrong.
    pub fn build(resolved: &Resolved, need: Need) -> Result<Settings, Problems> {
        let mut problems = resolved.all_problems();
        problems.extend(missing(resolved, need));
        problems.extend(conflicts(resolved));
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        let read = Read(resolved);
        let tls = match (read.file("api.tls_cert_file"), read.file("api.tls_key_file")) {
            (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
            _ => None,
        };
        let https = match read.value("api.https") {
            None if tls.is_some() => "0.0.0.0:8443".parse().ok(),
            _ => read.listen("api.https"),
        };
        Ok(Settings {
            database: Database {
                url: read.secret("database.url"),
                max_connections: read.number("database.max_connections") as u32,
            },
            api: Api {
                http: read.listen("api.http"),
                https,
                tls,
                public_url: read.origin("api.public_url"),
                trusted_proxies: read.networks("api.trusted_proxies"),
                cors_origins: read.origins("api.cors_origins"),
                metrics: read.text("api.metrics") == "private",
            },
            auth: Auth {
                secret: read.secret("auth.secret"),
                old_secret: read.secret("auth.old_secret"),
                session_absolute: read.duration("auth.session_absolute"),
                session_idle: read.duration("auth.session_idle"),
                max_concurrent_hashes: read.number("auth.max_concurrent_hashes") as usize,
                passwords: PasswordRules {
                    min: read.number("auth.password_min") as usize,
                    strict: read.text("auth.password_rules") == "strict",
                },
                oidc: oidc(&read),
            },
            controller_http: read.listen("controller.http"),
            hubs: Hubs {
                allow: read.text_if_set("hubs.allow").and_then(|list| list.parse().ok()).unwrap_or_default(),
                ports: read.text_if_set("hubs.ports").and_then(|list| list.parse().ok()).unwrap_or_default(),
                default: read.text_if_set("hubs.default"),
                template_namespaces: read.texts("hubs.template_namespaces"),
                image_namespaces: read.texts("hubs.image_namespaces"),
            },
            images: Images { directory: read.file("images.directory"), limit: read.number("images.limit") },
            leases_minimum: read.duration("leases.minimum"),
            tasks_deadline: read.duration("tasks.deadline"),
            kubernetes_namespace: read.text("kubernetes.namespace"),
            log: Log {
                levels: read.levels("log.level"),
                format: if read.text("log.format") == "pretty" { LogFormat::Pretty } else { LogFormat::Json },
            },
            limits: Limits {
                body_bytes: read.number("limits.body_bytes") as usize,
                request_timeout: read.duration("limits.request_timeout"),
                header_read_timeout: read.duration("limits.header_read_timeout"),
                concurrent_requests: read.number("limits.concurrent_requests") as usize,
            },
            shutdown_grace: read.duration("shutdown.grace"),
        })
    }
}

fn oidc(read: &Read<'_>) -> Option<Oidc> {
    Some(Oidc {
        issuer: read.text_if_set("auth.oidc_issuer")?,
        client_id: read.text_if_set("auth.oidc_client_id")?,
        client_secret: read.secret("auth.oidc_client_secret")?,
        groups: read.pairs("auth.oidc_groups"),
        default_role: read.text_if_set("auth.oidc_default_role"),
        groups_claim: read.text("auth.oidc_groups_claim"),
        scopes: read.text("auth.oidc_scopes"),
    })
}

fn missing(resolved: &Resolved, need: Need) -> Vec<String> {
    let keys: &[(&str, &str)] = match need {
        Need::Nothing => &[],
        Need::Database => &[("database.url", "set DATABASE_URL")],
        Need::Serve => &[
            ("database.url", "set DATABASE_URL to the address of a PostgreSQL"),
            ("auth.secret", "set SSVIRT_SECRET; make one with: openssl rand -base64 32"),
        ],
    };
    let absent = |key: &str| resolved.get(key).is_some_and(|f| f.text.is_none());
    keys.iter().filter(|(key, _)| absent(key)).map(|(key, advice)| format!("{key} is not set; {advice}")).collect()
}

/// What is wrong with settings that are each right by themselves.
fn conflicts(resolved: &Resolved) -> Vec<String> {
    let read = Read(resolved);
    let mut problems = Vec::new();
    let (cert, key) = (read.file("api.tls_cert_file"), read.file("api.tls_key_file"));
    match (&cert, &key) {
        (Some(_), None) => {
            problems.push("api.tls_cert_file is set but api.tls_key_file is not; https needs both".to_owned())
        }
        (None, Some(_)) => {
            problems.push("api.tls_key_file is set but api.tls_cert_file is not; https needs both".to_owned())
        }
        (None, None) if read.listen("api.https").is_some() => problems
            .push("api.https is on but there is no certificate; set api.tls_cert_file and api.tls_key_file".to_owned()),
        _ => {}
    }
    for (setting, file) in [("api.tls_cert_file", &cert), ("api.tls_key_file", &key)] {
        if let Some(Err(error)) = file.as_ref().map(std::fs::File::open) {
            let path = file.as_deref().unwrap_or_else(|| std::path::Path::new("")).display();
            problems.push(format!("{setting} names {path}, which cannot be read: {error}"));
        }
    }
    let http_off = matches!(read.value("api.http"), Some(Value::Listen(None)));
    let https_off = read.listen("api.https").is_none() && (cert.is_none() || read.value("api.https").is_some());
    if http_off && https_off {
        problems.push("api.http and api.https are both off, so nobody could connect".to_owned());
    }
    if let (Some(Value::Duration(idle)), Some(Value::Duration(absolute))) =
        (read.value("auth.session_idle"), read.value("auth.session_absolute"))
        && idle > absolute
    {
        problems.push("auth.session_idle is longer than auth.session_absolute, so it would never apply".to_owned());
    }
    problems.extend(incomplete_oidc(resolved));
    problems
}

/// An identity provider is set as a whole or not at all.
fn incomplete_oidc(resolved: &Resolved) -> Vec<String> {
    let is_set = |key: &str| resolved.get(key).is_some_and(|f| f.text.is_some());
    const NEEDED: [&str; 2] = ["auth.oidc_client_id", "auth.oidc_client_secret"];
    const ROLES: [&str; 2] = ["auth.oidc_groups", "auth.oidc_default_role"];
    if !is_set("auth.oidc_issuer") {
        let alone = NEEDED.iter().chain(&ROLES).filter(|key| is_set(key));
        return alone
            .map(|key| format!("{key} is set but auth.oidc_issuer is not; single sign-on needs both"))
            .collect();
    }
    let mut problems: Vec<String> = NEEDED
        .iter()
        .filter(|key| !is_set(key))
        .map(|key| format!("auth.oidc_issuer is set but {key} is not; single sign-on needs both"))
        .collect();
    if !ROLES.iter().any(|key| is_set(key)) {
        let problem =
            "auth.oidc_issuer is set, but neither auth.oidc_groups nor auth.oidc_default_role: nobody could sign in";
        problems.push(problem.to_owned());
    }
    problems
}

/// Typed reading of resolved values. A row's kind decides its type; `every_row_has_the_type_it_is_read_as` holds the two together.
struct Read<'a>(&'a Resolved);

impl Read<'_> {
    fn value(&self, key: &str) -> Option<&Value> {
        self.0.get(key).unwrap_or_else(|| panic!("there is no setting {key}")).value.as_ref()
    }

    fn number(&self, key: &str) -> u64 {
        match self.value(key) {
            Some(Value::Number(n)) => *n,
            other => panic!("{key} is read as a number: {other:?}"),
        }
    }

    fn duration(&self, key: &str) -> Duration {
        match self.value(key) {
            Some(Value::Duration(d)) => *d,
            other => panic!("{key} is read as a time: {other:?}"),
        }
    }

    fn text(&self, key: &str) -> String {
        match self.value(key) {
            Some(Value::Text(t)) => t.clone(),
            other => panic!("{key} is read as text: {other:?}"),
        }
    }

    fn text_if_set(&self, key: &str) -> Option<String> {
        self.value(key).map(|_| self.text(key))
    }

    fn texts(&self, key: &str) -> Vec<String> {
        match self.value(key) {
            Some(Value::Texts(all)) => all.clone(),
            None => Vec::new(),
            other => panic!("{key} is read as texts: {other:?}"),
        }
    }

    fn pairs(&self, key: &str) -> Vec<(String, String)> {
        match self.value(key) {
            Some(Value::Pairs(pairs)) => pairs.clone(),
            None => Vec::new(),
            other => panic!("{key} is read as pairs: {other:?}"),
        }
    }

    fn levels(&self, key: &str) -> Targets {
        match self.value(key) {
            Some(Value::Levels(t)) => t.clone(),
            other => panic!("{key} is read as log levels: {other:?}"),
        }
    }

    fn listen(&self, key: &str) -> Option<Listen> {
        match self.value(key) {
            Some(Value::Listen(l)) => *l,
            None => None,
            other => panic!("{key} is read as an address: {other:?}"),
        }
    }

    fn file(&self, key: &str) -> Option<PathBuf> {
        match self.value(key) {
            Some(Value::File(f)) => Some(f.clone()),
            None => None,
            other => panic!("{key} is read as a file: {other:?}"),
        }
    }

    fn origin(&self, key: &str) -> Option<Origin> {
        match self.value(key) {
            Some(Value::Origin(o)) => Some(o.clone()),
            None => None,
            other => panic!("{key} is read as a site: {other:?}"),
        }
    }

    fn origins(&self, key: &str) -> Vec<Origin> {
        match self.value(key) {
            Some(Value::Origins(o)) => o.clone(),
            None => Vec::new(),
            other => panic!("{key} is read as sites: {other:?}"),
        }
    }

    fn networks(&self, key: &str) -> Vec<IpNet> {
        match self.value(key) {
            Some(Value::Networks(n)) => n.clone(),
            None => Vec::new(),
            other => panic!("{key} is read as networks: {other:?}"),
        }
    }

    fn secret(&self, key: &str) -> Option<Secret> {
        match self.value(key) {
            Some(Value::Secret(s)) => Some(s.clone()),
            None => None,
            other => panic!("{key} is read as a secret: {other:?}"),
        }
    }
}
