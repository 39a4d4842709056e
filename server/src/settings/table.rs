//! Every setting there is, once. Names in the environment, flags, help, `ssvirt check` and docs/SETTINGS.md all come from here.

use super::kind::{Kind, MIB};
use std::time::Duration;

/// One setting. Its own environment variable and flag follow from the key: `limits.body_bytes` is `SSVIRT_LIMITS_BODY_BYTES`
/// and `--limits-body-bytes`, so there is no key that cannot be set from outside a file.
#[derive(Debug)]
pub struct Row {
    pub key: &'static str,
    /// Further environment variables that mean the same, weaker than our own.
    pub also_env: &'static [&'static str],
    /// A further, shorter flag.
    pub also_flag: Option<&'static str>,
    pub default: Option<&'static str>,
    /// What it means that nothing is set, where there is no default.
    pub unset: &'static str,
    pub kind: Kind,
    pub help: &'static str,
}

impl Row {
    /// Our own environment variable.
    pub fn env(&self) -> String {
        format!("SSVIRT_{}", self.key.replace('.', "_").to_uppercase())
    }

    /// All environment variables, the strongest first.
    pub fn envs(&self) -> impl Iterator<Item = String> + '_ {
        std::iter::once(self.env()).chain(self.also_env.iter().map(|name| (*name).to_owned()))
    }

    /// The flag without its dashes. Secrets have none: every user of a machine can read the flags of every process.
    pub fn flag(&self) -> Option<String> {
        (!matches!(self.kind, Kind::MasterSecret | Kind::ClientSecret)).then(|| self.key.replace(['.', '_'], "-"))
    }
}

/// A setting that most rows differ from in a few fields only.
const BASE: Row = Row {
    key: "",
    also_env: &[],
    also_flag: None,
    default: None,
    unset: "not set",
    kind: Kind::Text { max: 200 },
    help: "",
};

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

const DAY: u64 = 24 * 3600;

pub static TABLE: &[Row] = &[
    Row {
        key: "database.url",
        also_env: &["DATABASE_URL"],
        unset: "required by serve, migrate and user; the demo starts its own PostgreSQL",
        kind: Kind::DatabaseUrl,
        help: "PostgreSQL 15 or later, as postgres://user:password@host:5432/database?sslmode=verify-full",
        ..BASE
    },
    Row {
        key: "database.max_connections",
        also_env: &["DATABASE_MAX_CONNECTIONS"],
        default: Some("25"),
        kind: Kind::Count { min: 5, max: 1000 },
        help: "Connections this replica may hold open at once",
        ..BASE
    },
    Row {
        key: "api.http",
        also_env: &["API_PORT"],
        also_flag: Some("http"),
        default: Some("0.0.0.0:8080"),
        kind: Kind::Listen,
        help: "Where to listen for http: an address with port, a port alone, or off",
        ..BASE
    },
    Row {
        key: "api.https",
        also_flag: Some("https"),
        unset: "0.0.0.0:8443 when the certificate files are set, otherwise off",
        kind: Kind::Listen,
        help: "Where to listen for https (HTTP/2 and HTTP/1.1): an address with port, a port alone, or off",
        ..BASE
    },
    Row {
        key: "api.tls_cert_file",
        also_env: &["API_TLS_CERT_FILE"],
        unset: "https is off",
        kind: Kind::File,
        help: "PEM file with the certificate and its chain; read again when it changes",
        ..BASE
    },
    Row {
        key: "api.tls_key_file",
        also_env: &["API_TLS_KEY_FILE"],
        unset: "https is off",
        kind: Kind::File,
        help: "PEM file with the certificate's private key; read again when it changes",
        ..BASE
    },
    Row {
        key: "api.public_url",
        unset: "taken from each request",
        kind: Kind::Origin,
        help: "The address users type, such as https://cloud.example.com, where a proxy hides it from this server",
        ..BASE
    },
    Row {
        key: "api.trusted_proxies",
        unset: "none",
        kind: Kind::Networks,
        help: "Networks of proxies whose X-Forwarded-For, -Proto, -Host and X-Request-Id are believed, separated by commas",
        ..BASE
    },
    Row {
        key: "api.cors_origins",
        unset: "none: pages of other sites cannot call the APIs",
        kind: Kind::Origins,
        help: "Other sites whose pages may call /api and /cloudapi, separated by commas",
        ..BASE
    },
    Row {
        key: "api.metrics",
        default: Some("private"),
        kind: Kind::OneOf(&["private", "off"]),
        help: "Who gets /metrics: clients on loopback and private networks, or nobody",
        ..BASE
    },
    Row {
        key: "controller.http",
        default: Some("off"),
        kind: Kind::Listen,
        help: "Where ssvirt start controller gives its /metrics, to clients on loopback and private networks: an address with port, a port alone, or off",
        ..BASE
    },
    Row {
        key: "auth.secret",
        also_env: &["SSVIRT_SECRET", "JWT_SECRET_KEY"],
        unset: "required by serve; the demo makes one and keeps it in its data directory",
        kind: Kind::MasterSecret,
        help: "The master secret, at least 32 random bytes; make one with: openssl rand -base64 32",
        ..BASE
    },
    Row {
        key: "auth.old_secret",
        also_env: &["SSVIRT_OLD_SECRET"],
        unset: "needed only while the master secret is changed",
        kind: Kind::MasterSecret,
        help: "The master secret before this one: what it sealed can still be opened, and ssvirt keys rotate seals it anew",
        ..BASE
    },
    Row {
        key: "auth.session_absolute",
        also_env: &["JWT_TOKEN_EXPIRY"],
        default: Some("24h"),
        kind: Kind::Duration { min: secs(300), max: secs(30 * DAY) },
        help: "A session ends this long after sign-in",
        ..BASE
    },
    Row {
        key: "auth.session_idle",
        default: Some("30m"),
        kind: Kind::Duration { min: secs(60), max: secs(30 * DAY) },
        help: "A session ends after this long without a request",
        ..BASE
    },
    Row {
        key: "auth.max_concurrent_hashes",
        default: Some("2"),
        kind: Kind::Count { min: 1, max: 256 },
        help: "Passwords checked at once; each check takes 19 MiB and a processor for tens of milliseconds",
        ..BASE
    },
    Row {
        key: "auth.password_min",
        default: Some("10"),
        kind: Kind::Count { min: 6, max: 128 },
        help: "New passwords have at least so many characters; in the demo 8",
        ..BASE
    },
    Row {
        key: "auth.password_rules",
        default: Some("strict"),
        kind: Kind::OneOf(&["strict", "length"]),
        help: "Whether new passwords that are easy to guess are refused, or nothing but their length counts (the demo's default)",
        ..BASE
    },
    Row {
        key: "auth.oidc_issuer",
        unset: "no single sign-on for the provider, unless set by ssvirt idp set",
        kind: Kind::Issuer,
        help: "The identity provider for the provider's own organization, exactly as it names itself",
        ..BASE
    },
    Row {
        key: "auth.oidc_client_id",
        unset: "required with auth.oidc_issuer",
        kind: Kind::Text { max: 256 },
        help: "What the identity provider calls this installation",
        ..BASE
    },
    Row {
        key: "auth.oidc_client_secret",
        unset: "required with auth.oidc_issuer",
        kind: Kind::ClientSecret,
        help: "The secret that the identity provider gave this installation",
        ..BASE
    },
    Row {
        key: "auth.oidc_groups",
        unset: "no group has a role",
        kind: Kind::GroupRoles,
        help: "Which of the identity provider's groups have which role, such as cloud-admins=System Administrator, separated by commas",
        ..BASE
    },
    Row {
        key: "auth.oidc_default_role",
        unset: "who is in none of the groups can't sign in",
        kind: Kind::Text { max: 128 },
        help: "The role of users who are in none of the groups",
        ..BASE
    },
    Row {
        key: "auth.oidc_groups_claim",
        default: Some(model::idp::GROUPS_CLAIM),
        kind: Kind::Text { max: 256 },
        help: "The claim that holds a user's groups",
        ..BASE
    },
    Row {
        key: "auth.oidc_scopes",
        default: Some(model::idp::SCOPES),
        kind: Kind::Text { max: 500 },
        help: "What the identity provider is asked for, separated by spaces",
        ..BASE
    },
    Row {
        key: "hubs.allow",
        unset: "public addresses; private networks, this machine, its link and metadata services only if listed",
        kind: Kind::Hosts,
        help: "Where hubs may be that are registered through the portal or an API: host names (*.example.org: all below), addresses and networks, separated by commas",
        ..BASE
    },
    Row {
        key: "hubs.ports",
        default: Some(domain::Ports::USUAL),
        kind: Kind::Ports,
        help: "The ports at which hubs may be that are registered through the portal or an API, separated by commas; any: all of them",
        ..BASE
    },
    Row {
        key: "hubs.default",
        also_env: &["DEFAULT_KUBEVIRT_CONFIG"],
        unset: "as set on the hubs themselves",
        kind: Kind::Label,
        help: "The id of the hub that becomes the default one at the start, or as soon as it is registered: what fits goes there first",
        ..BASE
    },
    Row {
        key: "hubs.template_namespaces",
        also_env: &["TEMPLATE_NAMESPACE"],
        default: Some("openshift"),
        kind: Kind::Labels,
        help: "The namespaces on hubs whose OpenShift templates fill catalogs, separated by commas",
        ..BASE
    },
    Row {
        key: "hubs.image_namespaces",
        default: Some("openshift-virtualization-os-images, kubevirt-os-images"),
        kind: Kind::Labels,
        help: "The namespaces on hubs whose images (DataSources) fill catalogs, separated by commas; those of other namespaces are nobody's but their owners'",
        ..BASE
    },
    Row {
        key: "images.directory",
        unset: "uploads are refused; the demo takes its data directory",
        kind: Kind::File,
        help: "Where uploads arrive and images are kept: a directory of this server's own, shared by all replicas",
        ..BASE
    },
    Row {
        key: "images.limit",
        default: Some("200GiB"),
        kind: Kind::Bytes { min: MIB, max: 1024 * 1024 * 1024 * MIB },
        help: "How many bytes uploads and images may take there together",
        ..BASE
    },
    Row {
        key: "leases.minimum",
        default: Some("1h"),
        kind: Kind::Duration { min: secs(1), max: secs(DAY) },
        help: "The shortest lease that an organization or a vApp can have; the demo allows a second",
        ..BASE
    },
    Row {
        key: "tasks.deadline",
        default: Some("1h"),
        kind: Kind::Duration { min: secs(60), max: secs(30 * DAY) },
        help: "So long hubs may take for what is asked for; what was not begun by then is withdrawn, and what is seen to go on is waited for",
        ..BASE
    },
    Row {
        key: "kubernetes.namespace",
        also_env: &["KUBERNETES_NAMESPACE"],
        default: Some("vcd-system"),
        kind: Kind::Label,
        help: "The namespace this installation itself lives in",
        ..BASE
    },
    Row {
        key: "log.level",
        also_env: &["LOG_LEVEL"],
        default: Some("info"),
        kind: Kind::LogLevel,
        help: "error, warn, info, debug or trace; or by module, such as info,store=debug",
        ..BASE
    },
    Row {
        key: "log.format",
        also_env: &["LOG_FORMAT"],
        default: Some("json"),
        kind: Kind::OneOf(&["json", "pretty"]),
        help: "One JSON object a line, or text for people (the demo's default)",
        ..BASE
    },
    Row {
        key: "limits.body_bytes",
        default: Some("1MiB"),
        kind: Kind::Bytes { min: 16 * 1024, max: 64 * MIB },
        help: "The largest request body",
        ..BASE
    },
    Row {
        key: "limits.request_timeout",
        default: Some("30s"),
        kind: Kind::Duration { min: secs(1), max: secs(600) },
        help: "A request that has no answer by then gets 503",
        ..BASE
    },
    Row {
        key: "limits.header_read_timeout",
        default: Some("10s"),
        kind: Kind::Duration { min: secs(1), max: secs(120) },
        help: "A connection must finish its TLS handshake and each request's headers within this, idle time included",
        ..BASE
    },
    Row {
        key: "limits.concurrent_requests",
        default: Some("512"),
        kind: Kind::Count { min: 8, max: 100_000 },
        help: "Requests worked on at once; one more gets 503 and Retry-After",
        ..BASE
    },
    Row {
        key: "shutdown.grace",
        default: Some("20s"),
        kind: Kind::Duration { min: secs(0), max: secs(600) },
        help: "How long running requests may take to finish after SIGTERM or SIGINT",
        ..BASE
    },
];

/// The row of a key.
pub(super) fn row(key: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.key == key)
}

/// The known key nearest to a mistyped one, if it is near enough to be meant.
pub(super) fn nearest(key: &str) -> Option<&'static str> {
    let last = |k: &str| k.rsplit('.').next().unwrap_or_default().to_owned();
    TABLE
        .iter()
        .map(|row| (distance(key, row.key).min(distance(&last(key), &last(row.key)) + 2), row.key))
        .min()
        .filter(|(far, known)| *far <= 2 + known.len() / 4)
        .map(|(_, known)| known)
}

/// The names of environment variables nearest to a mistyped one.
pub(super) fn nearest_env(name: &str) -> Option<String> {
    TABLE
        .iter()
        .map(|row| (distance(name, &row.env()), row.env()))
        .min()
        .filter(|(far, _)| *far <= 4)
        .map(|(_, known)| known)
}

/// How many letters must be changed, added or taken away to turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_name_is_used_once() {
        let mut seen = HashSet::new();
        for row in TABLE {
            assert!(row.help.len() > 10, "{} has no help", row.key);
            for name in row.envs().chain(row.flag()).chain(row.also_flag.map(str::to_owned)) {
                assert!(seen.insert(name.clone()), "{name} is used twice");
            }
        }
    }

    #[test]
    fn defaults_are_valid() {
        for row in TABLE {
            if let Some(default) = row.default {
                row.kind.parse(default).unwrap_or_else(|problem| panic!("{}: {problem}", row.key));
            }
        }
    }

    #[test]
    fn mistyped_keys_find_their_neighbour() {
        assert_eq!(nearest("databse.url"), Some("database.url"));
        assert_eq!(nearest("database.max_conections"), Some("database.max_connections"));
        assert_eq!(nearest("api.body_bytes"), Some("limits.body_bytes"));
        assert_eq!(nearest("colour"), None);
        assert_eq!(nearest_env("SSVIRT_API_HTP").as_deref(), Some("SSVIRT_API_HTTP"));
        assert_eq!(nearest_env("SSVIRT_SERVICE_HOST"), None);
    }
}
