//! The hub's two doors: TLS on a port, where faults show, and one inside the process for the hub's own actors.

use crate::{
    answer::Refusal,
    api::{Api, Door},
    faults::Fault,
    identity::Identity,
};
use anyhow::Context;
use axum::body::{Body, HttpBody};
use http::{Method, Request, Response, header};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use serde_json::json;
use std::{convert::Infallible, io, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
};
use tokio_rustls::TlsAcceptor;

const HANDSHAKE: Duration = Duration::from_secs(10);

pub(crate) fn acceptor(identity: &Identity) -> anyhow::Result<TlsAcceptor> {
    let chain = CertificateDer::pem_slice_iter(identity.certificate.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .context("the hub's certificate cannot be read")?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).context("the hub's key cannot be read")?;
    let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// With what the hub shows who it is: its own certificate, or one that nobody was told of.
#[derive(Clone)]
pub(crate) struct Shown {
    pub own: TlsAcceptor,
    pub other: TlsAcceptor,
}

impl Shown {
    fn now(&self, api: &Api) -> TlsAcceptor {
        if api.faults.is_on(Fault::CertificateChanged) { self.other.clone() } else { self.own.clone() }
    }
}

/// Answers on the port until told to stop; then open connections are closed too.
pub(crate) async fn serve(api: Arc<Api>, listener: TcpListener, tls: Shown, mut stop: watch::Receiver<bool>) {
    loop {
        let accepted = tokio::select! {
            _ = stop.changed() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) if !api.faults.is_on(Fault::Refuse) => {
                let tls = tls.now(&api);
                tokio::spawn(connection(api.clone(), stream, tls, stop.clone()));
            }
            Ok((stream, _)) => drop(stream),
            Err(error) => {
                tracing::warn!(%error, "a simulated hub cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn connection(api: Arc<Api>, stream: TcpStream, tls: TlsAcceptor, mut stop: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let mut breaks = api.faults.breaks();
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await else { return };
    let (cut, faults) = (Arc::new(Notify::new()), api.faults.clone());
    let service = {
        let cut = cut.clone();
        tower::service_fn(move |request| outside(api.clone(), request, cut.clone()))
    };
    let builder = Builder::new(TokioExecutor::new());
    let serving = builder.serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut switches = faults.switches();
    let other = faults.is_on(Fault::CertificateChanged);
    let refused = async {
        while !faults.is_on(Fault::Refuse) && faults.is_on(Fault::CertificateChanged) == other {
            if switches.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        _ = serving => {}
        () = cut.notified() => {}
        () = refused => {}
        _ = breaks.changed() => {}
        _ = stop.changed() => {}
    }
}

/// One request from outside, with whatever faults are on. An error closes the connection.
async fn outside<B>(api: Arc<Api>, request: Request<B>, cut: Arc<Notify>) -> Result<Response<Body>, io::Error>
where
    B: HttpBody<Data = axum::body::Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    let faults = api.faults.clone();
    if faults.is_on(Fault::Slow) {
        tokio::time::sleep(faults.delay()).await;
    }
    if faults.is_on(Fault::BlackHole) {
        let mut switches = faults.switches();
        while faults.is_on(Fault::BlackHole) && switches.changed().await.is_ok() {}
        cut.notify_one();
        return Err(io::ErrorKind::ConnectionReset.into());
    }
    if let Some(refusal) = refusal(&api, request.method(), request.uri().path()) {
        return Ok(refusal.response());
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let response = api.answer(request.map(Body::new), Door::Outside).await;
    if changes && response.status().is_success() && faults.loses_this_reply() {
        cut.notify_one();
        return Err(io::ErrorKind::ConnectionReset.into());
    }
    if faults.is_on(Fault::Truncated) {
        return Ok(halved(response).await);
    }
    Ok(response)
}

/// The first half of a body, as if that were all; a watch has no end to be cut from.
async fn halved(response: Response<Body>) -> Response<Body> {
    let Some(length) = response.body().size_hint().exact().and_then(|n| usize::try_from(n).ok()) else {
        return response;
    };
    let (mut parts, body) = response.into_parts();
    let whole = axum::body::to_bytes(body, length).await.unwrap_or_default();
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(whole.slice(..whole.len() / 2)))
}

fn refusal(api: &Api, method: &Method, path: &str) -> Option<Refusal> {
    let on = |fault| api.faults.is_on(fault);
    if on(Fault::Unauthorized) {
        return Some(Refusal::unauthorized());
    }
    if on(Fault::Forbidden) {
        let mut refusal = Refusal::new(403, "Forbidden", "forbidden: the hub was told to refuse every request");
        refusal.details = Some(json!({}));
        return Some(refusal);
    }
    if on(Fault::TooManyRequests) {
        let mut refusal = Refusal::new(429, "TooManyRequests", "Too many requests, please try again later.");
        refusal.details = Some(json!({"retryAfterSeconds": 1}));
        refusal.retry_after = Some(1);
        return Some(refusal);
    }
    if on(Fault::ServerError) {
        let message = "Internal error occurred: the hub was told to fail every request";
        let refusal = Refusal::new(500, "InternalError", message);
        return Some(refusal.with_details(json!({"causes": [{"message": "told to fail"}]})));
    }
    // as the API server says it of an extension that is registered and does not answer
    let virt_api = path.starts_with("/apis/subresources.kubevirt.io/");
    if on(Fault::VirtApiDown) && virt_api {
        let mut refusal = Refusal::new(503, "ServiceUnavailable", "service unavailable\n");
        refusal.plain = true;
        return Some(refusal);
    }
    if on(Fault::Conflict) && !virt_api && matches!(*method, Method::PUT | Method::PATCH) {
        let name = path.rsplit('/').next().unwrap_or_default();
        let message = format!(
            "Operation cannot be fulfilled on \"{name}\": the object has been modified; please apply your changes to the latest version and try again"
        );
        return Some(Refusal::new(409, "Conflict", message).with_details(json!({"name": name})));
    }
    None
}

/// A client that needs no network and sees no faults.
pub(crate) fn inside(api: Arc<Api>) -> kube::Client {
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let api = api.clone();
        async move { Ok::<_, Infallible>(api.answer(request.map(Body::new), Door::Inside).await) }
    });
    kube::Client::new(service, "default")
}
