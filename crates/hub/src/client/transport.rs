//! The connection to a hub: HTTP/1.1 over TLS, to checked addresses only, trusting only the kubeconfig's authorities.
//! No redirects, no proxies, no retries: those are decided elsewhere.
mod upload;

use crate::{
    address::Gate,
    answer::{self, NotConnected},
    error::{Error, Reach, Result},
    kubeconfig::{Auth, Credential, about},
};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri, header};
use http_body_util::{BodyExt, Empty, Full, combinators::BoxBody};
use hyper::body::Incoming;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        self,
        connect::{HttpConnector, dns::Name},
    },
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};
use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};
use tower::{Service, ServiceExt};

type Connector = Bounded<HttpsConnector<HttpConnector<CheckedNames>>>;

/// What is sent: a small text, or a file as it is read.
pub(crate) type Outgoing = BoxBody<Bytes, std::io::Error>;

pub(super) struct Transport {
    connector: Connector,
    http: legacy::Client<Connector, Outgoing>,
    server: String,
    authorization: Option<HeaderValue>,
    agent: HeaderValue,
    refused: Refusal,
}

impl Transport {
    pub(super) fn new(credential: &Credential, gate: &Gate, connect: Duration, agent: &str) -> Result<Transport> {
        // a name is checked whenever it is looked up; an address never is looked up
        gate.check_written(&credential.server)?;
        let refused = Refusal::default();
        let tls = tls(credential, refused.clone())?;
        let mut tcp = HttpConnector::new_with_resolver(CheckedNames(gate.clone()));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(Duration::from_secs(30)));
        tcp.set_connect_timeout(Some(connect));
        let mut https = HttpsConnectorBuilder::new().with_tls_config(tls).https_only();
        if let Some(name) = &credential.tls_server_name {
            let name = ServerName::try_from(name.clone()).map_err(|e| odd(&e))?;
            https = https.with_server_name_resolver(FixedServerNameResolver::new(name));
        }
        // the whole of it, from the lookup to the end of the handshake
        let connector = Bounded { inner: https.enable_http1().wrap_connector(tcp), limit: connect };
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(60))
            .pool_max_idle_per_host(16)
            .build(connector.clone());
        let authorization = match &credential.auth {
            Auth::Token(token) => {
                let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose())).map_err(|e| odd(&e))?;
                value.set_sensitive(true);
                Some(value)
            }
            Auth::ClientCertificate { .. } => None,
        };
        let agent = HeaderValue::try_from(agent).map_err(|e| odd(&e))?;
        Ok(Transport { connector, http, server: credential.server.to_string(), authorization, agent, refused })
    }

    pub(super) async fn send(
        &self,
        path_and_query: &str,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Result<Response<Incoming>> {
        let body = Full::from(Bytes::from(body)).map_err(|never| match never {}).boxed();
        self.send_body(path_and_query, request, body).await
    }

    pub(super) async fn send_body(
        &self,
        path_and_query: &str,
        request: http::request::Builder,
        body: Outgoing,
    ) -> Result<Response<Incoming>> {
        let uri: Uri = format!("{}{path_and_query}", self.server).parse().map_err(|e| odd(&e))?;
        let mut request: Request<Outgoing> = request.uri(uri).body(body).map_err(|e| odd(&e))?;
        let headers = request.headers_mut();
        headers.insert(header::USER_AGENT, self.agent.clone());
        if let Some(authorization) = &self.authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        self.http.request(request).await.map_err(|e| self.broken(&e))
    }

    /// On a connection of its own, that nothing else was or will be sent on: what is asked for is an upgrade, and a server that
    /// does not agree to one may be in any state after it.
    pub(super) async fn send_alone(
        &self,
        path_and_query: &str,
        request: http::request::Builder,
    ) -> Result<Response<Incoming>> {
        let whole: Uri = format!("{}{path_and_query}", self.server).parse().map_err(|e| odd(&e))?;
        let (Some(host), Some(path)) = (whole.authority(), whole.path_and_query()) else {
            return Err(odd(&"its address names no host"));
        };
        let mut request =
            request.uri(path.as_str()).header(header::HOST, host.as_str()).header(header::USER_AGENT, &self.agent);
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let request = request.body(Empty::<Bytes>::new()).map_err(|e| odd(&e))?;
        let connected = self.connector.clone().oneshot(whole).await.map_err(|e| self.broken(&*e))?;
        let (mut send, connection) =
            hyper::client::conn::http1::handshake(connected).await.map_err(|e| self.broken(&e))?;
        // it ends with its one answer, or with the stream that the answer became
        tokio::spawn(connection.with_upgrades());
        send.send_request(request).await.map_err(|e| self.broken(&e))
    }

    /// An error of the connection, also of one that broke while it was read.
    pub(super) fn broken(&self, error: &(dyn std::error::Error + 'static)) -> Error {
        answer::unanswered(error, &self.server, || self.refused.take())
    }

    pub(super) fn server(&self) -> &str {
        &self.server
    }
}

fn odd(e: &dyn std::fmt::Display) -> Error {
    Error::Odd(format!("a request to the hub could not be made, {e}"))
}

fn tls(credential: &Credential, refused: Refusal) -> Result<ClientConfig> {
    let bad = |e: &dyn std::fmt::Display| Error::Odd(format!("the hub's certificates can't be used, {e}"));
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    for der in CertificateDer::pem_slice_iter(credential.ca_pem.as_bytes()) {
        roots.add(der.map_err(|e| bad(&e))?).map_err(|e| bad(&e))?;
    }
    let inner =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().map_err(|e| bad(&e))?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| bad(&e))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Noting { inner, refused }));
    match &credential.auth {
        Auth::Token(_) => Ok(config.with_no_client_auth()),
        Auth::ClientCertificate { certificate_pem, key_pem } => {
            let chain = CertificateDer::pem_slice_iter(certificate_pem.as_bytes())
                .collect::<Result<Vec<_>, _>>()
                .map_err(|e| bad(&e))?;
            let key = PrivateKeyDer::from_pem_slice(key_pem.expose().as_bytes()).map_err(|e| bad(&e))?;
            config.with_client_auth_cert(chain, key).map_err(|e| bad(&e))
        }
    }
}

/// What the last refused certificate said about itself.
#[derive(Clone, Debug, Default)]
struct Refusal(Arc<Mutex<Option<String>>>);

impl Refusal {
    fn note(&self, der: &[u8]) {
        let words = about(der).map(|a| {
            let until = a.expires.map(|t| format!(", valid until {}", t.date())).unwrap_or_default();
            format!("issued by {}{until}", a.issuer)
        });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }

    fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The usual verifier, which also notes what it refused: "unknown issuer" alone helps nobody.
#[derive(Debug)]
struct Noting {
    inner: Arc<WebPkiServerVerifier>,
    refused: Refusal,
}

impl ServerCertVerifier for Noting {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        if verified.is_err() {
            self.refused.note(end_entity);
        }
        verified
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Looks names up and hands on only what the gate lets through, at the moment of connecting.
#[derive(Clone)]
struct CheckedNames(Gate);

impl Service<Name> for CheckedNames {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = NotConnected;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, NotConnected>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NotConnected>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let gate = self.0.clone();
        Box::pin(async move { gate.resolve(name.as_str()).await.map(Vec::into_iter) })
    }
}

/// A connector that gives up after a while.
#[derive(Clone)]
struct Bounded<C> {
    inner: C,
    limit: Duration,
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl<C> Service<Uri> for Bounded<C>
where
    C: Service<Uri, Error: Into<BoxError>, Future: Send + 'static>,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, limit) = (self.inner.call(uri), self.limit);
        Box::pin(async move {
            match tokio::time::timeout(limit, connecting).await {
                Ok(connected) => connected.map_err(Into::into),
                Err(_) => {
                    let detail = format!("no connection within {} s", limit.as_secs());
                    Err(NotConnected { why: Reach::Timeout, detail }.into())
                }
            }
        })
    }
}
