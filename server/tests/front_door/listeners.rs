//! Real sockets: both protocols, slow and greedy clients, certificates that change, the end.

use crate::support::{edge_around, state};
use axum::{
    Router,
    response::sse::{Event, Sse},
    routing::get,
};
use axum_server::tls_rustls::RustlsConfig;
use futures::{StreamExt, stream};
use http::Version;
use server::{listen, settings::TlsFiles, shutdown::Shutdown, tls};
use std::{
    convert::Infallible,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinHandle,
};

struct Running {
    http: SocketAddr,
    https: SocketAddr,
    files: TlsFiles,
    shutdown: Shutdown,
    server: JoinHandle<anyhow::Result<()>>,
}

/// Listens on free ports of loopback with a certificate made for the test.
async fn start(name: &str, router: Router, shutdown: Shutdown, grace: Duration) -> Running {
    tls::use_ring();
    let dir = fresh_dir(name);
    let files = tls::self_signed(&dir, now()).unwrap();
    let config = RustlsConfig::from_config(tls::load(&files).unwrap());
    tokio::spawn(tls::keep_fresh(files.clone(), config.clone(), shutdown.clone()));
    let anywhere = "localhost:0".parse().unwrap();
    let mut sockets = listen::open(&anywhere, None).await.unwrap();
    sockets.extend(listen::open(&anywhere, Some(config)).await.unwrap());
    let (http, https) = (sockets[0].address, sockets[1].address);
    let limits = state(&[("limits.header_read_timeout", "1s")]).settings.limits.clone();
    let server = tokio::spawn({
        let shutdown = shutdown.clone();
        async move { listen::serve(sockets, router, &limits, shutdown, grace).await }
    });
    Running { http, https, files, shutdown, server }
}

fn now() -> time::OffsetDateTime {
    domain::system_clock()()
}

fn fresh_dir(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn client() -> reqwest::Client {
    reqwest::Client::builder()
        .danger_accept_invalid_certs(true)
        .tls_info(true)
        .pool_max_idle_per_host(0)
        .build()
        .unwrap()
}

fn hello() -> Router {
    edge_around(Router::new().route("/", get(|| async { "hello" })), &[])
}

async fn plain(name: &str) -> Running {
    start(name, hello(), Shutdown::default(), Duration::from_secs(1)).await
}

#[tokio::test]
async fn http_and_https_and_http2() {
    let running = plain("protocols").await;
    let answer = client().get(format!("http://{}/", running.http)).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_11));
    assert!(!answer.headers().contains_key("strict-transport-security"));
    let answer = client().get(format!("https://{}/", running.https)).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_2));
    assert!(answer.headers().contains_key("strict-transport-security"));
    assert_eq!(answer.text().await.unwrap(), "hello");
}

/// Sends some bytes and says what comes back until the server closes the connection.
async fn say(address: SocketAddr, bytes: &[u8]) -> (String, Duration) {
    let started = Instant::now();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // a reset ends it as well
    let read = tokio::time::timeout(Duration::from_secs(8), stream.read_to_end(&mut answer)).await;
    assert!(read.is_ok(), "the connection is still open");
    (String::from_utf8_lossy(&answer).into_owned(), started.elapsed())
}

#[tokio::test]
async fn clients_that_do_not_go_on_are_not_waited_for() {
    let running = plain("slow-clients").await;
    for bytes in
        [&b""[..], b"P", b"PRI * HTTP/2.0\r\n\r\nSM", b"GET / HTTP/1.1\r\nhost:", b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"]
    {
        let (answer, took) = say(running.http, bytes).await;
        assert!(took < Duration::from_secs(4), "{bytes:?} held the connection for {took:?}");
        assert_eq!(answer.starts_with("HTTP/1.1 200"), bytes.ends_with(b"x\r\n\r\n"), "{answer}");
    }
    let (_, took) = say(running.https, b"").await;
    assert!(took < Duration::from_secs(4), "{took:?}");
}

#[tokio::test]
async fn too_many_and_too_long_headers() {
    let running = plain("headers").await;
    let many: String = (0..150).map(|n| format!("x-{n}: y\r\n")).collect();
    let long = format!("x: {}\r\n", "y".repeat(40_000));
    for headers in [many, long] {
        let (answer, _) = say(running.http, format!("GET / HTTP/1.1\r\nhost: x\r\n{headers}\r\n").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
}

#[tokio::test]
async fn a_shutdown_ends_streams_and_lets_requests_finish() {
    let shutdown = Shutdown::default();
    let slow = || async {
        tokio::time::sleep(Duration::from_millis(600)).await;
        "finished"
    };
    let events = {
        let shutdown = shutdown.clone();
        move || {
            let shutdown = shutdown.clone();
            let hello = stream::once(async { Ok::<_, Infallible>(Event::default().data("hello")) });
            async move { Sse::new(hello.chain(stream::pending()).take_until(async move { shutdown.begun().await })) }
        }
    };
    let router = edge_around(Router::new().route("/slow", get(slow)).route("/events", get(events)), &[]);
    let running = start("shutdown", router, shutdown, Duration::from_secs(5)).await;

    let mut tasks = Vec::new();
    for address in [format!("http://{}", running.http), format!("https://{}", running.https)] {
        let client = client();
        let mut stream = client.get(format!("{address}/events")).send().await.unwrap();
        assert!(stream.chunk().await.unwrap().is_some());
        let request = client.get(format!("{address}/slow")).send();
        let request = tokio::spawn(async { request.await.unwrap().text().await.unwrap() });
        tasks.push((stream, request));
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let begun = Instant::now();
    running.shutdown.begin();
    for (mut stream, request) in tasks {
        while stream.chunk().await.unwrap().is_some() {}
        assert_eq!(request.await.unwrap(), "finished");
    }
    running.server.await.unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(TcpStream::connect(running.http).await.is_err());
}

#[tokio::test]
async fn what_does_not_finish_in_time_is_cut() {
    let never = || async { std::future::pending::<()>().await };
    let router = edge_around(Router::new().route("/never", get(never)), &[]);
    let running = start("grace", router, Shutdown::default(), Duration::from_millis(300)).await;
    let request = tokio::spawn(client().get(format!("http://{}/never", running.http)).send());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let begun = Instant::now();
    running.shutdown.begin();
    running.server.await.unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert!(request.await.unwrap().is_err());
}

async fn certificate(address: SocketAddr) -> Vec<u8> {
    let answer = client().get(format!("https://{address}/")).send().await.unwrap();
    let info = answer.extensions().get::<reqwest::tls::TlsInfo>().unwrap();
    info.peer_certificate().unwrap().to_vec()
}

#[tokio::test]
async fn a_new_certificate_is_used_without_a_restart_and_a_broken_one_is_not() {
    let running = plain("reload").await;
    let first = certificate(running.https).await;

    std::fs::write(&running.files.cert, "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n").unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(certificate(running.https).await, first);

    let fresh = tls::self_signed(&fresh_dir("reload-fresh"), now()).unwrap();
    std::fs::copy(&fresh.key, &running.files.key).unwrap();
    std::fs::copy(&fresh.cert, &running.files.cert).unwrap();
    let waiting = Instant::now();
    while certificate(running.https).await == first {
        assert!(waiting.elapsed() < Duration::from_secs(10), "the new certificate is not used");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[test]
fn the_demos_certificate_is_kept_until_it_is_about_to_end() {
    tls::use_ring();
    let dir = fresh_dir("self-signed");
    let files = tls::self_signed(&dir, now()).unwrap();
    let made = std::fs::read(&files.cert).unwrap();
    let ends = tls::expiry(&files.cert).unwrap() - now();
    assert!((362..=364).contains(&ends.whole_days()), "{ends}");
    tls::self_signed(&dir, now()).unwrap();
    assert_eq!(std::fs::read(&files.cert).unwrap(), made);

    let mut short = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    short.not_after = now() + time::Duration::days(3);
    let key = rcgen::KeyPair::generate().unwrap();
    std::fs::write(&files.key, key.serialize_pem()).unwrap();
    std::fs::write(&files.cert, short.self_signed(&key).unwrap().pem()).unwrap();
    assert_eq!((tls::expiry(&files.cert).unwrap() - now()).whole_days(), 2);
    tls::self_signed(&dir, now()).unwrap();
    assert!(tls::expiry(&files.cert).unwrap() - now() > time::Duration::days(360));
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(&files.key).unwrap().permissions().mode() & 0o777, 0o600);
}
