//! The table of settings: every name works, the later source wins, everything wrong is said at once.

use server::settings::{LogFormat, Need, Problems, Resolved, SettingFlags, Settings, Source, Sources, TABLE};
use std::{ffi::OsString, path::PathBuf, time::Duration};

fn env(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn from_env(pairs: &[(&str, &str)]) -> Sources {
    Sources { env: env(pairs), ..Sources::default() }
}

fn flags(pairs: &[(&str, &str)]) -> SettingFlags {
    let row = |key: &str| TABLE.iter().find(|row| row.key == key).unwrap();
    SettingFlags { config: None, set: pairs.iter().map(|(key, value)| (row(key), (*value).to_owned())).collect() }
}

fn build(sources: &Sources) -> Result<Settings, Problems> {
    Settings::build(&Resolved::read(sources), Need::Nothing)
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

const SECRET: &str = "q83Vn0Jr1Lx7Zt5Hc2Wb9Ky4Md6Pf8Ga";

/// A value for each row that differs from its default.
fn another(key: &str) -> &'static str {
    match key {
        "database.url" => "postgres://u:p@h/d",
        "api.http" | "api.https" | "controller.http" => "127.0.0.1:9999",
        "api.tls_cert_file" | "api.tls_key_file" => "/dev/null",
        "api.public_url" | "api.cors_origins" => "https://x.example.com",
        "api.trusted_proxies" => "10.0.0.0/8",
        "api.metrics" => "off",
        "auth.secret" | "auth.old_secret" => SECRET,
        "auth.oidc_issuer" => "https://login.example.com/realms/cloud",
        "auth.oidc_groups" => "cloud-admins=System Administrator",
        "kubernetes.namespace" => "elsewhere",
        "log.level" => "debug",
        "log.format" => "pretty",
        "limits.body_bytes" => "2MiB",
        "images.directory" => "/var/lib/images",
        "images.limit" => "3TiB",
        "hubs.ports" => "443, 16443",
        "database.max_connections" | "auth.max_concurrent_hashes" | "limits.concurrent_requests" => "77",
        "auth.password_min" => "20",
        "auth.password_rules" => "length",
        "limits.header_read_timeout" => "1m",
        _ => "10m",
    }
}

#[test]
fn every_row_can_be_set_by_each_of_its_names() {
    for row in TABLE {
        let value = another(row.key);
        for name in row.envs() {
            let resolved = Resolved::read(&from_env(&[(&name, value)]));
            let found = resolved.get(row.key).unwrap();
            assert_eq!((found.text.as_deref(), &found.source), (Some(value), &Source::Env(name.clone())));
            assert_eq!(found.problem, None, "{name}");
        }
        if row.flag().is_some() {
            let sources = Sources { flags: flags(&[(row.key, value)]), ..Sources::default() };
            assert_eq!(Resolved::read(&sources).get(row.key).unwrap().text.as_deref(), Some(value), "{}", row.key);
        }
        let (table, key) = row.key.split_once('.').unwrap();
        let path = file(&format!("{}.toml", row.key), &format!("[{table}]\n{key} = \"{value}\"\n"));
        let sources = Sources { flags: SettingFlags { config: Some(path), set: vec![] }, ..Sources::default() };
        assert_eq!(Resolved::read(&sources).get(row.key).unwrap().text.as_deref(), Some(value), "{}", row.key);
    }
}

#[test]
fn the_older_names_mean_the_same() {
    let settings = build(&from_env(&[
        ("DATABASE_URL", "postgresql://user:password@localhost:5432/vcd"),
        ("DATABASE_MAX_CONNECTIONS", "30"),
        ("KUBERNETES_NAMESPACE", "my-system"),
        ("API_PORT", "9090"),
        ("API_TLS_CERT_FILE", "/dev/null"),
        ("API_TLS_KEY_FILE", "/dev/null"),
        ("JWT_SECRET_KEY", SECRET),
        ("JWT_TOKEN_EXPIRY", "12h"),
        ("LOG_LEVEL", "warn"),
        ("LOG_FORMAT", "pretty"),
    ]))
    .unwrap();
    assert_eq!(settings.database.url.unwrap().expose(), "postgresql://user:password@localhost:5432/vcd");
    assert_eq!(settings.database.max_connections, 30);
    assert_eq!(settings.kubernetes_namespace, "my-system");
    assert_eq!(settings.api.http.unwrap().to_string(), "0.0.0.0:9090");
    assert_eq!(settings.api.https.unwrap().to_string(), "0.0.0.0:8443");
    assert!(settings.api.tls.is_some());
    assert_eq!(settings.auth.secret.unwrap().expose(), SECRET);
    assert_eq!(settings.auth.session_absolute, Duration::from_secs(12 * 3600));
    assert_eq!(settings.log.format, LogFormat::Pretty);
}

#[test]
fn file_then_environment_then_flag() {
    let config = Some(file(
        "precedence.toml",
        "[database]\nmax_connections = 31\n[auth]\nsession_idle = \"11m\"\n[limits]\nrequest_timeout = \"11s\"\n",
    ));
    let sources = Sources {
        env: env(&[("SSVIRT_AUTH_SESSION_IDLE", "12m"), ("SSVIRT_LIMITS_REQUEST_TIMEOUT", "12s")]),
        flags: SettingFlags { config, ..flags(&[("limits.request_timeout", "13s")]) },
        ..Sources::default()
    };
    let settings = build(&sources).unwrap();
    assert_eq!(settings.database.max_connections, 31);
    assert_eq!(settings.auth.session_idle, Duration::from_secs(12 * 60));
    assert_eq!(settings.limits.request_timeout, Duration::from_secs(13));
    assert_eq!(settings.limits.header_read_timeout, Duration::from_secs(10));
}

#[test]
fn our_own_variable_wins_over_an_older_name_and_empty_is_unset() {
    let settings = build(&from_env(&[
        ("API_PORT", "tcp://10.0.0.1:80"),
        ("SSVIRT_API_HTTP", "127.0.0.1:7000"),
        ("LOG_LEVEL", ""),
    ]))
    .unwrap();
    assert_eq!(settings.api.http.unwrap().to_string(), "127.0.0.1:7000");
}

#[test]
fn a_port_alone_keeps_the_address_below_it() {
    let config = Some(file("port.toml", "[api]\nhttp = \"127.0.0.1:8000\"\n"));
    let sources = Sources {
        env: env(&[("API_PORT", "9000")]),
        flags: SettingFlags { config, set: vec![] },
        ..Sources::default()
    };
    assert_eq!(build(&sources).unwrap().api.http.unwrap().to_string(), "127.0.0.1:9000");
}

#[test]
fn everything_wrong_is_said_at_once() {
    let config = Some(file("wrong.toml", "[database]\nurll = \"x\"\n[limits]\nbody_bytes = \"lots\"\n"));
    let sources = Sources {
        env: env(&[
            ("DATABASE_MAX_CONNECTIONS", "0"),
            ("JWT_SECRET_KEY", "your-secret-key"),
            ("SSVIRT_AUTH_SESSION_IDLE", "48h"),
            ("API_TLS_CERT_FILE", "/nonexistent/tls.crt"),
        ]),
        flags: SettingFlags { config, ..flags(&[("log.format", "xml")]) },
        ..Sources::default()
    };
    let Problems(problems) = Settings::build(&Resolved::read(&sources), Need::Serve).unwrap_err();
    for expected in [
        "unknown setting database.urll; did you mean database.url?",
        "database.max_connections (environment DATABASE_MAX_CONNECTIONS) is 0, but must be at least 5",
        "auth.secret (environment JWT_SECRET_KEY) is a sample value",
        "log.format (flag --log-format) is `xml`, but can only be json or pretty",
        "line 4) is `lots`",
        "api.tls_cert_file is set but api.tls_key_file is not",
        "/nonexistent/tls.crt, which cannot be read",
        "auth.session_idle is longer than auth.session_absolute",
        "database.url is not set",
    ] {
        assert!(problems.iter().any(|p| p.contains(expected)), "{expected}: {problems:#?}");
    }
    assert_eq!(problems.len(), 9, "{problems:#?}");
}

#[test]
fn what_cannot_work_together() {
    let problems = |pairs: &[(&str, &str)]| build(&from_env(pairs)).unwrap_err().to_string();
    assert!(problems(&[("SSVIRT_API_HTTPS", "8443")]).contains("there is no certificate"));
    assert!(problems(&[("SSVIRT_API_HTTP", "off")]).contains("nobody could connect"));
    assert!(problems(&[("SSVIRT_CONFIG", "/nonexistent.toml")]).contains("/nonexistent.toml: cannot be read"));
    let issuer = ("SSVIRT_AUTH_OIDC_ISSUER", "https://login.example.com");
    let said = problems(&[issuer]);
    for missing in ["auth.oidc_client_id is not", "auth.oidc_client_secret is not", "nobody could sign in"] {
        assert!(said.contains(missing), "{said}");
    }
    assert!(problems(&[("SSVIRT_AUTH_OIDC_CLIENT_ID", "x")]).contains("auth.oidc_issuer is not"));
    assert!(problems(&[("SSVIRT_AUTH_OIDC_ISSUER", "http://login.example.com")]).contains("must be https"));
    assert!(
        build(&from_env(&[
            ("SSVIRT_API_HTTP", "off"),
            ("API_TLS_CERT_FILE", "/dev/null"),
            ("API_TLS_KEY_FILE", "/dev/null")
        ]))
        .is_ok()
    );
}

#[test]
fn secrets_are_masked_wherever_settings_are_shown() {
    let sources = from_env(&[
        ("DATABASE_URL", "postgres://u:canary@h/d?password=canary"),
        ("SSVIRT_SECRET", SECRET),
        ("SSVIRT_AUTH_OIDC_ISSUER", "https://login.example.com"),
        ("SSVIRT_AUTH_OIDC_CLIENT_ID", "ssvirt"),
        ("SSVIRT_AUTH_OIDC_CLIENT_SECRET", "canary"),
        ("SSVIRT_AUTH_OIDC_GROUPS", "cloud-admins=System Administrator"),
    ]);
    let resolved = Resolved::read(&sources);
    let settings = build(&sources).unwrap();
    let shown = server::settings::print(&resolved);
    assert!(shown.contains("set, 32 characters") && shown.contains("postgres://u:****@h/d"), "{shown}");
    for text in [shown, format!("{settings:?}")] {
        assert!(!text.contains("canary") && !text.contains(SECRET), "{text}");
    }
}

#[test]
fn typos_in_the_environment_are_pointed_out() {
    let resolved =
        Resolved::read(&from_env(&[("SSVIRT_LOG_LEVL", "debug"), ("SSVIRT_PORT_8080_TCP_ADDR", "10.0.0.1")]));
    assert_eq!(
        resolved.warnings,
        ["environment SSVIRT_LOG_LEVL is not known and ignored; did you mean SSVIRT_LOG_LEVEL?"]
    );
}

#[test]
fn the_documentation_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/SETTINGS.md");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == server::settings::markdown(),
        "docs/SETTINGS.md is old: ssvirt check --markdown > docs/SETTINGS.md"
    );
}
