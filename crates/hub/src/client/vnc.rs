//! The screen and keyboard of a running VM: virt-api's WebSocket, which carries RFB and nothing else. Each has a connection of
//! its own, which is closed on any answer but the upgrade.
use super::{Call, Client};
use crate::{
    Key, answer,
    error::{Error, Reach, Result},
    read,
    resource::VIRTUAL_MACHINES,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::time::Instant;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        handshake::derive_accept_key,
        protocol::{Role, WebSocketConfig},
    },
};

const PROTOCOL: &str = "plain.kubevirt.io";
/// KubeVirt sends some kilobytes at a time.
const LARGEST: usize = 4 << 20;
/// virt-api sends nothing by itself while a screen stands still, and whoever is in between may take that for the end.
pub const PING_EVERY: Duration = Duration::from_secs(30);
/// More than two pings without anything from the hub: it is gone, and nobody said so.
const SILENCE: Duration = Duration::from_secs(75);

/// KubeVirt shows a screen to one viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Viewing {
    /// Whoever looks at it until then is put out.
    TakeOver,
    /// Somebody who looks at it already is left alone.
    Gently,
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// An open screen.
pub struct Vnc {
    socket: Socket,
    server: String,
}

/// What the hub sends.
pub struct VncReader {
    from: SplitStream<Socket>,
    server: String,
    /// When anything came last, if only an answer to a ping.
    heard: Instant,
}

/// What is sent to it.
pub struct VncWriter {
    to: SplitSink<Socket, Message>,
    server: String,
}

impl Client {
    /// Opens the screen of the VM that has that name and that uid.
    pub async fn vnc(&self, key: &Key, uid: &str, viewing: Viewing) -> Result<Vnc> {
        // the path carries a name alone
        let there = read::meta(&self.get(&VIRTUAL_MACHINES, key).await?);
        if uid.is_empty() || there.is_none_or(|meta| meta.uid != uid) {
            return Err(Error::NotOurs(key.to_string()));
        }
        let base = "/apis/subresources.kubevirt.io/v1/namespaces";
        let path = format!("{base}/{}/virtualmachineinstances/{}/vnc", key.namespace, key.name);
        let mut call = Call::get(path);
        if viewing == Viewing::Gently {
            call = call.with("preserveSession", "true");
        }
        self.0.limiter.take().await;
        self.0.breaker.admit()?;
        let limit = self.0.options.read;
        let told = tokio::time::timeout(limit, self.upgrade(call)).await.unwrap_or_else(|_| Err(self.too_slow(limit)));
        self.note(&told);
        told
    }

    async fn upgrade(&self, call: Call<'_>) -> Result<Vnc> {
        let key = BASE64_STANDARD.encode(rand::random::<[u8; 16]>());
        let request = http::Request::builder()
            .method(call.method.clone())
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, &key)
            .header(header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL);
        let transport = &self.0.transport;
        let answer = transport.send_alone(&call.address()?, request).await?;
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            let (parts, body) = answer.into_parts();
            let text = Limited::new(body, 64 << 10).collect().await.map(|b| b.to_bytes()).unwrap_or_default();
            return Err(refused(parts.status, &parts.headers, &text));
        }
        let says = |name| answer.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let right = says(header::SEC_WEBSOCKET_ACCEPT) == derive_accept_key(key.as_bytes())
            && matches!(says(header::SEC_WEBSOCKET_PROTOCOL), "" | PROTOCOL);
        if !right {
            return Err(Error::Odd("an upgrade was agreed to that nobody asked for".into()));
        }
        let upgraded = hyper::upgrade::on(answer).await.map_err(|e| transport.broken(&e))?;
        let limits = WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
        let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Client, Some(limits)).await;
        Ok(Vnc { socket, server: transport.server().to_owned() })
    }
}

/// What virt-api says of a machine is about that machine, not about the hub.
fn refused(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
    match answer::refused(status, headers, body) {
        Error::Server { message, .. } if message.contains("Active VNC connection") => {
            Error::NotNow("somebody else looks at its screen".into())
        }
        Error::Conflict(m) => Error::NotNow(m.split_once("\": ").map_or(m.clone(), |(_, why)| why.to_owned())),
        Error::Denied { message, .. } => Error::NotNow(message),
        // 200: it was taken for an ordinary request
        Error::Odd(m) => Error::Odd(format!("an upgrade was asked for, and the answer is {m}")),
        e => e,
    }
}

impl Vnc {
    pub fn split(self) -> (VncReader, VncWriter) {
        let (to, from) = self.socket.split();
        (VncReader { from, server: self.server.clone(), heard: Instant::now() }, VncWriter { to, server: self.server })
    }
}

fn closed(server: &str, why: &dyn std::fmt::Display) -> Error {
    Error::Unreachable { why: Reach::Closed, detail: format!("{server}, {why}") }
}

impl VncReader {
    /// What came next; None: the hub closed it.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let Ok(came) = tokio::time::timeout_at(self.heard + SILENCE, self.from.next()).await else {
                let detail = format!("{}: its console is silent", self.server);
                return Err(Error::Unreachable { why: Reach::Timeout, detail });
            };
            self.heard = Instant::now();
            match came {
                Some(Ok(Message::Binary(bytes))) => return Ok(Some(bytes)),
                Some(Ok(Message::Text(text))) => return Ok(Some(text.into())),
                Some(Ok(Message::Close(_))) | None => return Ok(None),
                Some(Ok(_)) => {}
                Some(Err(e)) => return Err(closed(&self.server, &e)),
            }
        }
    }
}

impl VncWriter {
    pub async fn send(&mut self, bytes: Bytes) -> Result<()> {
        self.to.send(Message::Binary(bytes)).await.map_err(|e| closed(&self.server, &e))
    }

    /// To be called every `PING_EVERY`.
    pub async fn ping(&mut self) -> Result<()> {
        self.to.send(Message::Ping(Bytes::new())).await.map_err(|e| closed(&self.server, &e))
    }

    /// Says good-bye, as far as anybody listens.
    pub async fn close(&mut self) {
        let _ = tokio::time::timeout(Duration::from_secs(2), self.to.close()).await;
    }
}
