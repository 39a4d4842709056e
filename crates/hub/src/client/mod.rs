//! A client of one hub: how it is asked, how fast, how long, and when not.
mod breaker;
mod cache;
mod limiter;
mod transport;
mod vnc;

pub use breaker::{Circuit, Health, LastError};
pub use cache::{Clients, Revision};
pub use vnc::{PING_EVERY, Viewing, Vnc, VncReader, VncWriter};

use crate::{
    Clock, Credential,
    address::Gate,
    answer,
    error::{Error, Reach, Result},
};
use breaker::Breaker;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use limiter::Limiter;
use serde::Deserialize;
use serde_json::Value;
use std::{fmt, sync::Arc, time::Duration};
use tokio::sync::Semaphore;
use transport::Transport;

/// Who we are on hubs.
pub const FIELD_MANAGER: &str = "ssvirt";

/// How a hub may be asked.
#[derive(Clone, Debug)]
pub struct Options {
    pub connect: Duration,
    pub read: Duration,
    pub write: Duration,
    /// Kept below what KubeVirt itself is allowed (200 a second).
    pub per_second: u32,
    pub burst: u32,
    /// Calls at the same time; watches don't count.
    pub at_once: usize,
    /// How often a hub that is down is tried.
    pub probe_every: Duration,
    /// How long a watch that failed rests, at first and at most.
    pub first_rest: Duration,
    pub longest_rest: Duration,
    /// The largest answer that is read.
    pub largest: usize,
    pub user_agent: String,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            connect: Duration::from_secs(5),
            read: Duration::from_secs(10),
            write: Duration::from_secs(30),
            per_second: 100,
            burst: 150,
            at_once: 32,
            probe_every: Duration::from_secs(5),
            first_rest: Duration::from_millis(500),
            longest_rest: Duration::from_secs(30),
            largest: 64 << 20,
            user_agent: concat!("ssvirt/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// Cheap to clone; all clones share limits and health.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    transport: Transport,
    limiter: Limiter,
    slots: Semaphore,
    breaker: Breaker,
    clock: Clock,
    options: Options,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({})", self.0.transport.server())
    }
}

/// One request.
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Vec<(&'a str, String)>,
    pub(crate) content_type: &'static str,
    pub(crate) body: Option<Value>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(method: Method, path: String) -> Call<'a> {
        Call { method, path, query: Vec::new(), content_type: "application/json", body: None }
    }

    pub(crate) fn get(path: String) -> Call<'a> {
        Call::new(Method::GET, path)
    }

    pub(crate) fn with(mut self, key: &'a str, value: impl Into<String>) -> Call<'a> {
        self.query.push((key, value.into()));
        self
    }

    pub(crate) fn body(mut self, body: Value) -> Call<'a> {
        self.body = Some(body);
        self
    }

    fn address(&self) -> Result<String> {
        let query = serde_urlencoded::to_string(&self.query).map_err(|e| Error::Odd(e.to_string()))?;
        Ok(if query.is_empty() { self.path.clone() } else { format!("{}?{query}", self.path) })
    }
}

/// A success.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Result<Value> {
        self.read()
    }

    pub(crate) fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(|e| {
            let start: String =
                String::from_utf8_lossy(&self.body).chars().filter(|c| !c.is_control()).take(80).collect();
            Error::Odd(format!("{} with what is no JSON ({e}): {start}", self.status))
        })
    }
}

impl Client {
    /// Connects to nothing yet.
    pub fn new(credential: &Credential, gate: &Gate, clock: Clock, options: Options) -> Result<Client> {
        let transport = Transport::new(credential, gate, options.connect, &options.user_agent)?;
        Ok(Client(Arc::new(Inner {
            transport,
            limiter: Limiter::new(options.per_second, options.burst),
            slots: Semaphore::new(options.at_once.max(1)),
            breaker: Breaker::new(options.probe_every),
            clock,
            options,
        })))
    }

    pub fn health(&self) -> Health {
        self.0.breaker.health()
    }

    /// Why a hub is not reached: that it is not being asked has a cause, which is the last failure.
    pub fn cause(&self, error: Error) -> Error {
        match (&error, self.health().last_error) {
            (Error::Unreachable { why: Reach::Down, .. }, Some(last)) => last.error,
            _ => error,
        }
    }

    /// Asks for the version: the cheapest proof of life. Gives Kubernetes' version, like `v1.35.8`.
    pub async fn ping(&self) -> Result<String> {
        let version = self.call(Call::get("/version".into())).await?.json()?;
        match version["gitVersion"].as_str() {
            Some(v) => Ok(v.to_owned()),
            None => Err(Error::Odd("/version names no version".into())),
        }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.options
    }

    pub(crate) fn now(&self) -> time::OffsetDateTime {
        (self.0.clock)()
    }

    /// A watch heard from the hub.
    pub(crate) fn alive(&self) {
        self.0.breaker.heard(self.now());
    }

    /// A stream that broke while it was read.
    pub(crate) fn broken(&self, error: &(dyn std::error::Error + 'static)) -> Error {
        self.0.transport.broken(error)
    }

    pub(crate) async fn call(&self, call: Call<'_>) -> Result<Answer> {
        let limit = if call.method == Method::GET { self.0.options.read } else { self.0.options.write };
        self.0.breaker.look()?;
        let _slot = self.0.slots.acquire().await.map_err(|_| Error::Odd("the client was closed".into()))?;
        self.0.limiter.take().await;
        self.0.breaker.admit()?;
        let told = async {
            let (status, headers, mut body) = self.send(call).await?;
            let bytes = self.read(&mut body).await?;
            if status.is_success() {
                Ok(Answer { status, body: bytes })
            } else {
                Err(answer::refused(status, &headers, &bytes))
            }
        };
        let told = tokio::time::timeout(limit, told).await.unwrap_or_else(|_| Err(self.too_slow(limit)));
        self.note(&told);
        told
    }

    /// A call whose answer is a stream: the caller reads it, without a time limit.
    pub(crate) async fn open(&self, call: Call<'_>) -> Result<Incoming> {
        let limit = self.0.options.read;
        self.0.limiter.take().await;
        self.0.breaker.admit()?;
        let told = async {
            let (status, headers, mut body) = self.send(call).await?;
            if status.is_success() {
                return Ok(body);
            }
            let bytes = self.read(&mut body).await?;
            Err(answer::refused(status, &headers, &bytes))
        };
        let told = tokio::time::timeout(limit, told).await.unwrap_or_else(|_| Err(self.too_slow(limit)));
        self.note(&told);
        told
    }

    async fn send(&self, call: Call<'_>) -> Result<(StatusCode, HeaderMap, Incoming)> {
        let address = call.address()?;
        let mut request = http::Request::builder().method(call.method).header(header::ACCEPT, "application/json");
        let body = match call.body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, call.content_type);
                serde_json::to_vec(&body).map_err(|e| Error::Odd(e.to_string()))?
            }
            None => Vec::new(),
        };
        let (parts, body) = self.0.transport.send(&address, request, body).await?.into_parts();
        Ok((parts.status, parts.headers, body))
    }

    async fn read(&self, body: &mut Incoming) -> Result<Bytes> {
        let mut all = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|e| self.broken(&e))?;
            let Some(data) = frame.data_ref() else { continue };
            if all.len() + data.len() > self.0.options.largest {
                return Err(Error::Odd(format!("an answer is larger than {} MiB", self.0.options.largest >> 20)));
            }
            all.extend_from_slice(data);
        }
        Ok(all.into())
    }

    fn too_slow(&self, limit: Duration) -> Error {
        let detail = format!("{} within {} s", self.0.transport.server(), limit.as_secs());
        Error::Unreachable { why: Reach::Timeout, detail }
    }

    fn note<T>(&self, told: &Result<T>) {
        match told {
            // these are good answers about a thing that is not as we thought
            Ok(_)
            | Err(
                Error::NotFound(_)
                | Error::Exists(_)
                | Error::Conflict(_)
                | Error::NotNow(_)
                | Error::NotOurs(_)
                | Error::BeingDeleted(_)
                | Error::Denied { .. }
                | Error::OverQuota(_)
                | Error::Expired(_),
            ) => self.0.breaker.answered(self.now()),
            Err(e) => self.0.breaker.failed(e, self.now()),
        }
    }
}
