//! Good kubeconfigs are read, and each hostile one is refused with a message that names the field.
use super::*;
use base64::{Engine, prelude::BASE64_STANDARD};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use serde_json::json;
use std::sync::LazyLock;
use time::macros::datetime;

struct Keys {
    ca: String,
    client: String,
    client_key: String,
    other_key: String,
}

static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let pair = || {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec!["hub.example.org".into()]).expect("a name");
        params.not_after = datetime!(2031-05-06 07:08:09 UTC);
        (params.self_signed(&key).expect("a certificate").pem(), key.serialize_pem())
    };
    let (ca, _) = pair();
    let (client, client_key) = pair();
    let (_, other_key) = pair();
    Keys { ca, client, client_key, other_key }
});

fn b64(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

fn good() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "preferences": {}, "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": "https://api.example.org:6443", "certificate-authority-data": b64(&KEYS.ca)}}],
        "users": [{"name": "u", "user": {"token": "s3cr3t-token"}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    })
}

fn with_certificate() -> Value {
    let mut v = good();
    v["users"][0]["user"] =
        json!({"client-certificate-data": b64(&KEYS.client), "client-key-data": b64(&KEYS.client_key)});
    v
}

#[test]
fn json_and_yaml_with_a_token_or_a_certificate_are_read() {
    let c = parse(&good().to_string()).expect("JSON");
    assert_eq!(c.server.to_string(), "https://api.example.org:6443");
    assert_eq!(c.auth, Auth::Token(Secret::new("s3cr3t-token")));
    assert_eq!(c.ca_pem, KEYS.ca);
    assert_eq!((c.expires, c.namespace, c.tls_server_name), (None, None, None));

    let c = parse(&with_certificate().to_string()).expect("with a certificate");
    assert_eq!(c.auth.word(), "client certificate");
    assert_eq!(c.expires, Some(datetime!(2031-05-06 07:08:09 UTC)));
}

#[test]
fn what_is_harmless_may_stand_there() {
    let mut v = good();
    v["clusters"][0]["cluster"]["tls-server-name"] = json!("Kubernetes.Default");
    v["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = json!(false);
    v["contexts"][0]["context"]["namespace"] = json!("vmaas-system");
    v.as_object_mut().expect("an object").remove("current-context");
    let c = parse(&v.to_string()).expect("still good");
    assert_eq!(c.tls_server_name.as_deref(), Some("kubernetes.default"));
    assert_eq!(c.namespace.as_deref(), Some("vmaas-system"));
    // as kubectl writes it
    let text = format!(
        "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: {}\n    server: https://10.0.0.1:6443\n  name: k\n\
         contexts:\n- context:\n    cluster: k\n    user: u\n  name: c\ncurrent-context: c\nkind: Config\npreferences: {{}}\n\
         users:\n- name: u\n  user:\n    token: abc.def\n",
        b64(&KEYS.ca)
    );
    assert_eq!(parse(&text).map(|c| c.server.port), Ok(6443));
}

#[test]
fn an_expiry_in_a_token_is_seen() {
    let mut v = good();
    let claims = base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(r#"{"exp": 1900000000}"#);
    v["users"][0]["user"]["token"] = json!(format!("h.{claims}.s"));
    let expires = parse(&v.to_string()).expect("good").expires.expect("an end");
    assert_eq!(expires.unix_timestamp(), 1_900_000_000);
}

#[test]
fn a_printed_credential_shows_no_secret() {
    for v in [good(), with_certificate()] {
        let shown = format!("{:?}", parse(&v.to_string()).expect("good"));
        assert!(!shown.contains("s3cr3t") && !shown.contains("PRIVATE"), "{shown}");
    }
}

/// Sets a value by a JSON pointer, making what is missing on the way.
fn set(mut v: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    match v.pointer_mut(parent).expect(pointer) {
        Value::Object(o) => drop(o.insert(key.to_owned(), value)),
        Value::Array(a) => a.push(value),
        _ => panic!("{pointer}"),
    }
    v
}

fn without(mut v: Value, pointer: &str) -> Value {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    v.pointer_mut(parent).and_then(Value::as_object_mut).expect(pointer).remove(key);
    v
}

#[test]
fn every_hostile_kubeconfig_is_refused_with_the_fields_name() {
    let cluster = "/clusters/0/cluster";
    let user = "/users/0/user";
    let context = "/contexts/0/context";
    let server = |url: &str| set(good(), "/clusters/0/cluster/server", json!(url));
    let in_user = |key: &str, value: Value| set(good(), &format!("{user}/{key}"), value);
    let in_cluster = |key: &str, value: Value| set(good(), &format!("{cluster}/{key}"), value);
    let in_context = |key: &str, value: Value| set(good(), &format!("{context}/{key}"), value);
    let certificate = |key: &str, value: Value| set(with_certificate(), &format!("{user}/{key}"), value);
    let ed25519 = KeyPair::generate_for(&PKCS_ED25519).expect("a key").serialize_pem();
    let several = set(
        set(good(), "/contexts/-", json!({"name": "d", "context": {"cluster": "k", "user": "u"}})),
        "/current-context",
        json!("c"),
    );

    let cases: Vec<(Value, &str)> = vec![
        // what would run, read or call something
        (
            in_user("exec", json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "sh"})),
            "users[0].user.exec",
        ),
        (in_user("auth-provider", json!({"name": "gcp"})), "users[0].user.auth-provider"),
        (in_user("tokenFile", json!("/etc/passwd")), "users[0].user.tokenFile"),
        (in_user("client-certificate", json!("/a.pem")), "users[0].user.client-certificate"),
        (in_user("client-key", json!("/a.pem")), "users[0].user.client-key"),
        (in_cluster("certificate-authority", json!("/a.pem")), "clusters[0].cluster.certificate-authority"),
        (in_cluster("proxy-url", json!("http://proxy:3128")), "clusters[0].cluster.proxy-url"),
        // what would weaken it
        (in_cluster("insecure-skip-tls-verify", json!(true)), "insecure-skip-tls-verify"),
        (in_cluster("insecure-skip-tls-verify", json!("false")), "insecure-skip-tls-verify"),
        (without(good(), "/clusters/0/cluster/certificate-authority-data"), "certificate-authority-data"),
        (in_user("username", json!("admin")), "users[0].user.username"),
        (in_user("password", json!("x")), "users[0].user.password"),
        (in_user("as", json!("root")), "users[0].user.as"),
        (in_user("as-uid", json!("1")), "users[0].user.as-uid"),
        (in_user("as-groups", json!(["system:masters"])), "users[0].user.as-groups"),
        (in_user("as-user-extra", json!({})), "users[0].user.as-user-extra"),
        (in_user("impersonate", json!("x")), "users[0].user.impersonate"),
        // addresses
        (server("http://api.example.org"), "clusters[0].cluster.server"),
        (server("https://user:pass@api.example.org"), "clusters[0].cluster.server"),
        (server("https://api.example.org/k8s/clusters/c-1"), "clusters[0].cluster.server"),
        (server("https://api.example.org?x=y"), "clusters[0].cluster.server"),
        (server("https://api.example.org#x"), "clusters[0].cluster.server"),
        (server("https://api.example.org:0"), "clusters[0].cluster.server"),
        (server("https://api.example.org:99999"), "clusters[0].cluster.server"),
        (server("https://2130706433"), "clusters[0].cluster.server"),
        (server("https://0x7f.1"), "clusters[0].cluster.server"),
        (server("https://127.1"), "clusters[0].cluster.server"),
        (server("unix:///var/run/docker.sock"), "clusters[0].cluster.server"),
        (server("file:///etc/passwd"), "clusters[0].cluster.server"),
        (server("https://api.example.org\nX: y"), "clusters[0].cluster.server"),
        (server(""), "clusters[0].cluster.server"),
        (server(&format!("https://{}.org", "a".repeat(600))), "clusters[0].cluster.server"),
        (set(good(), "/clusters/0/cluster/server", json!(["https://a"])), "clusters[0].cluster.server"),
        (in_cluster("tls-server-name", json!("*.example.org")), "tls-server-name"),
        (in_cluster("tls-server-name", json!("127.0.0.1")), "tls-server-name"),
        (in_cluster("tls-server-name", json!(7)), "tls-server-name"),
        (in_cluster("disable-compression", json!("maybe")), "disable-compression"),
        // certificates
        (in_cluster("certificate-authority-data", json!("")), "certificate-authority-data"),
        (in_cluster("certificate-authority-data", json!("%%%")), "certificate-authority-data"),
        (in_cluster("certificate-authority-data", json!(b64("hello"))), "certificate-authority-data"),
        (in_cluster("certificate-authority-data", json!("/w==")), "certificate-authority-data"),
        (in_cluster("certificate-authority-data", json!(b64(&KEYS.client_key))), "certificate-authority-data"),
        (
            in_cluster("certificate-authority-data", json!(b64(&format!("{}{}", KEYS.ca, KEYS.client_key)))),
            "certificate-authority-data",
        ),
        (
            in_cluster(
                "certificate-authority-data",
                json!(b64("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")),
            ),
            "certificate-authority-data",
        ),
        (certificate("client-certificate-data", json!(b64("x"))), "client-certificate-data"),
        (certificate("client-certificate-data", json!("***")), "client-certificate-data"),
        (certificate("client-key-data", json!(b64(&KEYS.other_key))), "client-key-data"),
        (certificate("client-key-data", json!(b64(&ed25519))), "client-key-data"),
        (certificate("client-key-data", json!(b64(&KEYS.client))), "client-key-data"),
        (
            certificate(
                "client-key-data",
                json!(b64("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")),
            ),
            "client-key-data",
        ),
        (without(with_certificate(), "/users/0/user/client-key-data"), "client-key-data"),
        (without(with_certificate(), "/users/0/user/client-certificate-data"), "client-certificate-data"),
        (certificate("token", json!("x")), "users[0].user.token"),
        // tokens
        (without(good(), "/users/0/user/token"), "users[0].user.token"),
        (in_user("token", json!("")), "users[0].user.token"),
        (in_user("token", json!("a b")), "users[0].user.token"),
        (in_user("token", json!("a\r\nX-Evil: 1")), "users[0].user.token"),
        (in_user("token", json!("ä")), "users[0].user.token"),
        (in_user("token", json!(12345)), "users[0].user.token"),
        (in_user("token", json!("x".repeat(20_000))), "users[0].user.token"),
        // shape
        (several, "contexts"),
        (set(good(), "/clusters/-", json!({"name": "l", "cluster": {}})), "clusters"),
        (set(good(), "/users/-", json!({"name": "v", "user": {}})), "users"),
        (set(good(), "/clusters", json!([])), "clusters"),
        (set(good(), "/users", json!({"name": "u"})), "users"),
        (without(good(), "/contexts"), "contexts"),
        (set(good(), "/clusters", json!(["x"])), "clusters[0]"),
        (without(good(), "/clusters/0/name"), "clusters[0].name"),
        (without(good(), "/clusters/0/cluster"), "clusters[0].cluster"),
        (set(good(), "/users/0/user", json!("x")), "users[0].user"),
        (set(good(), "/current-context", json!("other")), "current-context"),
        (in_context("cluster", json!("other")), "contexts[0].context.cluster"),
        (in_context("user", json!("other")), "contexts[0].context.user"),
        (in_context("namespace", json!("../kube-system")), "contexts[0].context.namespace"),
        (set(good(), "/apiVersion", json!("v2")), "apiVersion"),
        (set(good(), "/kind", json!("Secret")), "kind"),
        (set(good(), "/preferences", json!({"colors": true})), "preferences"),
        // unknown
        (set(good(), "/extensions", json!([])), "extensions"),
        (in_cluster("extensions", json!([])), "clusters[0].cluster.extensions"),
        (in_user("Token", json!("x")), "users[0].user.Token"),
        (in_context("bogus", json!(1)), "contexts[0].context.bogus"),
        (set(good(), "/clusters/0/extra", json!(1)), "clusters[0].extra"),
        (set(good(), "/bogus\u{7}field", json!(1)), "bogusfield"),
    ];
    assert!(cases.len() >= 60, "{}", cases.len());
    for (config, field) in cases {
        let refused = parse(&config.to_string()).err().unwrap_or_else(|| panic!("{field} was taken: {config}"));
        assert!(refused.field.ends_with(field), "{field}: {refused:?}");
        assert!(refused.to_string().contains(field) && refused.message.len() > 10, "{refused}");
        assert!(!refused.message.contains("s3cr3t"), "{refused}");
    }
}

#[test]
fn texts_that_are_no_kubeconfig_say_what_they_are() {
    let twice = good().to_string().replacen("\"token\":", "\"token\":\"x\",\"token\":", 1);
    let long = "a".repeat(LARGEST + 1);
    for (text, says) in [
        ("", "empty"),
        (" \n", "empty"),
        ("[]", "mapping"),
        ("hello", "mapping"),
        ("{", "not valid"),
        (long.as_str(), "larger than 64 KiB"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "anchors"),
        ("<<: {a: 1}\n", "merge key"),
        ("apiVersion: v1\n---\nkind: Config\n", "several documents"),
        (twice.as_str(), "twice"),
        ("\u{0}\u{1}", "not valid"),
    ] {
        let refused = parse(text).expect_err(says);
        assert!(refused.to_string().contains(says), "{refused}");
    }
    assert_eq!(parse(&twice).expect_err("twice").field, "token");
}

#[test]
fn several_contexts_are_answered_with_the_command_that_leaves_one() {
    let v = set(good(), "/contexts/-", json!({"name": "d", "context": {"cluster": "k", "user": "u"}}));
    let refused = parse(&v.to_string()).expect_err("two");
    assert!(refused.message.contains("kubectl config view --minify --flatten --context=c"), "{refused}");
    let v = set(v, "/current-context", json!("x; rm -rf /"));
    assert!(parse(&v.to_string()).expect_err("two").message.ends_with("--context=NAME"));
}

#[test]
fn a_kubeconfig_with_random_damage_gets_an_answer() {
    use rand::{Rng, SeedableRng, rngs::StdRng};
    let mut rng = StdRng::seed_from_u64(5);
    let whole = good().to_string();
    let mut refused = 0;
    for _ in 0..400 {
        let mut bytes = whole.clone().into_bytes();
        for _ in 0..rng.random_range(1..5) {
            let at = rng.random_range(0..bytes.len());
            match rng.random_range(0..4) {
                0 => bytes[at] = rng.random(),
                1 => bytes.truncate(at.max(1)),
                2 => drop(bytes.splice(at..at, *b"{[&a *a !!x")),
                _ => drop(bytes.splice(at..at, "[".repeat(300).into_bytes())),
            }
        }
        refused += usize::from(parse(&String::from_utf8_lossy(&bytes)).is_err());
    }
    assert!(refused > 200, "{refused}");
}
