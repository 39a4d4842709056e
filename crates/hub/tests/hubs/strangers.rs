//! Servers with the right certificate and wrong manners: proxies, login pages, floods and silence.
use crate::world::{clock, options, vm_key};
use base64::{Engine, prelude::BASE64_STANDARD};
use hub::{
    Client, Error, Key,
    address::Gate,
    client::Options,
    error::Reach,
    kubeconfig, read,
    resource::VIRTUAL_MACHINES,
    watch::{Event, Follow},
};
use rcgen::{CertificateParams, KeyPair, SanType};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

/// Answers every request with the same bytes, and then with `more` again and again, if there is any.
async fn stranger(first: String, more: &'static str) -> Client {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec![]).expect("parameters");
    params.subject_alt_names.push(SanType::IpAddress([127, 0, 0, 1].into()));
    let certificate = params.self_signed(&key).expect("a certificate");
    let der = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], der)
        .expect("a configuration");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let (acceptor, first) = (acceptor.clone(), first.clone());
            tokio::spawn(async move {
                let Ok(mut tls) = acceptor.accept(tcp).await else { return };
                let mut buffer = [0; 4096];
                while tls.read(&mut buffer).await.is_ok_and(|n| n > 0) {
                    let mut sent = tls.write_all(first.as_bytes()).await;
                    while !more.is_empty() && sent.is_ok() {
                        sent = tls.write_all(more.as_bytes()).await;
                        tokio::task::yield_now().await;
                    }
                    let _ = tls.flush().await;
                    if first.contains("cut") || sent.is_err() {
                        return;
                    }
                }
            });
        }
    });
    let config = json!({
        "clusters": [{"name": "k", "cluster": {"server": format!("https://127.0.0.1:{port}"),
            "certificate-authority-data": BASE64_STANDARD.encode(certificate.pem())}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    });
    let credential = kubeconfig::parse(&config.to_string()).expect("good");
    let options = Options { largest: 1 << 20, read: Duration::from_secs(1), ..options() };
    Client::new(&credential, &Gate::open(), clock(), options).expect("a client")
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

async fn asked(client: &Client) -> Result<serde_json::Value, Error> {
    client.get(&VIRTUAL_MACHINES, &vm_key(10)).await
}

#[tokio::test]
async fn what_is_no_api_server_is_never_believed_about_an_object() {
    for (reply, key) in [
        (answer("404 Not Found", "content-type: text/html\r\n", "<h1>not here</h1>"), "not-served"),
        (answer("404 Not Found", "", ""), "not-served"),
        (answer("200 OK", "content-type: text/html\r\n", "<form>sign in</form>"), "odd"),
        (answer("200 OK", "", "{}"), "odd"),
        (answer("200 OK", "", r#"{"metadata": {"name": "other", "uid": "u"}}"#), "odd"),
        (answer("302 Found", "location: http://169.254.169.254/\r\n", ""), "odd"),
        (answer("403 Forbidden", "", "blocked by policy"), "forbidden"),
        (answer("502 Bad Gateway", "", "<h1>Bad Gateway</h1>"), "server"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"cut\": ".to_owned(), "unreachable"),
        ("SSH-2.0-OpenSSH_9.9 cut\r\n".to_owned(), "unreachable"),
    ] {
        let client = stranger(reply.clone(), "").await;
        let e = asked(&client).await.expect_err(&reply);
        assert_eq!(e.key(), key, "{reply:?}: {e:?}");
        let gone = client.is_gone(&VIRTUAL_MACHINES, &vm_key(10), "u").await;
        assert!(gone.is_err(), "{reply:?} must not look like a deletion");
        let how = hub::apply::Propagation::Background;
        let deleted = client.delete_fenced(&VIRTUAL_MACHINES, &vm_key(10), "u", how).await;
        assert_ne!(deleted, Ok(hub::apply::Deleted::Gone), "{reply:?}");
        let all = client.list(&VIRTUAL_MACHINES, None, "", read::meta).await;
        assert!(all.is_err(), "{reply:?} must not look like an empty hub");
    }
}

#[tokio::test]
async fn a_flood_is_stopped_and_a_drip_too() {
    let endless = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    let flood = stranger(endless.clone(), "8\r\naaaaaaaa\r\n").await;
    let e = asked(&flood).await.expect_err("a flood");
    assert!(matches!(&e, Error::Odd(m) if m.contains("larger")) || matches!(e, Error::Unreachable { .. }), "{e:?}");
    let silent = stranger(endless, "").await;
    let e = asked(&silent).await.expect_err("silence");
    assert!(matches!(e, Error::Unreachable { why: Reach::Timeout, .. }), "{e:?}");
}

#[tokio::test]
async fn a_watch_of_nonsense_is_trouble_and_no_event() {
    let list = r#"{"kind": "VirtualMachineList", "metadata": {"resourceVersion": "1"}, "items": []}"#;
    let client = stranger(answer("200 OK", "", list), "").await;
    // the watch is answered with the list, which is no event
    let mut watcher = client.watch(Follow::new(VIRTUAL_MACHINES, ""), read::meta);
    assert_eq!(watcher.next().await, Event::Snapshot(vec![]));
    let event = tokio::time::timeout(Duration::from_secs(2), watcher.next()).await;
    assert!(!matches!(event, Ok(Event::Gone { .. } | Event::Changed(_))), "{event:?}");
    let nonsense = format!("{list}\n{list}\n");
    let client = stranger(answer("200 OK", "", &nonsense), "").await;
    let mut watcher = client.watch(Follow::new(VIRTUAL_MACHINES, ""), |_| Some(Key::default()));
    let event = tokio::time::timeout(Duration::from_secs(5), watcher.next()).await.expect("an event");
    assert!(matches!(event, Event::Trouble(Error::Odd(_))), "{event:?}");
}
