//! How identity providers are called: reqwest 0.13 behind openidconnect's trait (its own feature would bring 0.12), with
//! limits, since a provider of a tenant is a stranger.
use model::idp::is_loopback;
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::redirect::Policy;
use std::{error::Error, fmt, future::Future, pin::Pin, sync::OnceLock, time::Duration};

/// For one call, from the name's lookup to the last byte.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest answer that is read: metadata, keys and tokens are a few kilobytes.
const LARGEST_ANSWER: usize = 512 << 10;

/// Made when first needed: reading the machine's list of certificate authorities takes a while.
#[derive(Default)]
pub(super) struct Clients {
    world: OnceLock<reqwest::Client>,
    /// Never by a proxy.
    machine: OnceLock<reqwest::Client>,
}

impl Clients {
    /// A client for one issuer. Only an issuer on this very machine may use plain http, and only to this machine.
    pub(super) fn for_issuer(&self, issuer: &str) -> Result<Http, HttpError> {
        let plain = issuer.starts_with("http://");
        let kept = if plain { &self.machine } else { &self.world };
        let client = match kept.get() {
            Some(client) => client.clone(),
            None => {
                crate::tls::use_ring();
                let builder = reqwest::Client::builder().redirect(Policy::none()).timeout(TIMEOUT);
                let client = if plain { builder.no_proxy() } else { builder }.build()?;
                kept.get_or_init(|| client).clone()
            }
        };
        Ok(Http { client, plain })
    }
}

#[derive(Clone)]
pub(super) struct Http {
    client: reqwest::Client,
    plain: bool,
}

impl Http {
    /// May this address be called, or a browser be sent to it, for this issuer?
    pub(super) fn allows(&self, scheme: &str, host: &str) -> bool {
        scheme == "https" || (self.plain && scheme == "http" && is_loopback(host))
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        if !self.allows(parts.uri.scheme_str().unwrap_or(""), parts.uri.host().unwrap_or("")) {
            return Err(HttpError(format!("{} is not an https address", parts.uri)));
        }
        let request = self.client.request(parts.method, parts.uri.to_string()).headers(parts.headers).body(body);
        let mut answer = request.send().await?;
        let mut read = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            if read.len() + chunk.len() > LARGEST_ANSWER {
                return Err(HttpError(format!("{} answered with more than {LARGEST_ANSWER} bytes", parts.uri)));
            }
            read.extend_from_slice(&chunk);
        }
        let mut response = HttpResponse::new(read);
        *response.status_mut() = answer.status();
        *response.headers_mut() = std::mem::take(answer.headers_mut());
        Ok(response)
    }
}

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}

#[derive(Debug)]
pub(super) struct HttpError(String);

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for HttpError {}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> HttpError {
        HttpError(all_causes(&error))
    }
}

/// An error with what caused it, in one line.
pub(super) fn all_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        text.push_str(": ");
        text.push_str(&e.to_string());
        cause = e.source();
    }
    text
}
