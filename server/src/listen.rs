//! The http and https listeners: limits on what a connection may do, and an end that lets requests finish.

use crate::{
    edge::Encrypted,
    settings::{Limits, Listen},
    shutdown::Shutdown,
};
use anyhow::Context;
use axum::{Extension, Router};
use axum_server::{
    Handle, Server,
    accept::{Accept, NoDelayAcceptor},
    tls_rustls::{RustlsAcceptor, RustlsConfig},
};
use hyper_util::rt::TokioTimer;
use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context as TaskContext, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpListener,
    task::JoinSet,
    time::Sleep,
};

/// Together with the start line; also the limit of HTTP/2's header lists.
const HEADER_BYTES: usize = 32 * 1024;
const HEADERS: usize = 100;
const STREAMS_PER_CONNECTION: u32 = 200;

/// An open socket that nobody answers on yet.
#[derive(Debug)]
pub struct Socket {
    listener: TcpListener,
    tls: Option<RustlsConfig>,
    pub address: SocketAddr,
}

impl Socket {
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

/// Opens the sockets of an address, so that a port in use is known before anything else is started.
pub async fn open(listen: &Listen, tls: Option<RustlsConfig>) -> anyhow::Result<Vec<Socket>> {
    let mut sockets = Vec::new();
    for address in listen.sockets() {
        match TcpListener::bind(address).await {
            Ok(listener) => {
                let address = listener.local_addr()?;
                sockets.push(Socket { listener, tls: tls.clone(), address });
            }
            // localhost without IPv6
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable && !sockets.is_empty() => {}
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot listen on {address}; choose another with --http or --https"));
            }
        }
    }
    Ok(sockets)
}

/// Answers on all sockets until the shutdown begins, then gives running requests `grace` to finish.
pub async fn serve(
    sockets: Vec<Socket>,
    router: Router,
    limits: &Limits,
    shutdown: Shutdown,
    grace: Duration,
) -> anyhow::Result<()> {
    let mut servers = JoinSet::new();
    let mut handles = Vec::new();
    for socket in sockets {
        let handle = Handle::new();
        handles.push(handle.clone());
        let patience = limits.header_read_timeout;
        let mut server = Server::from_listener(socket.listener).handle(handle);
        limit(&mut server, patience);
        let router = router.clone();
        match socket.tls {
            None => {
                let server = server.acceptor(Patience { inner: NoDelayAcceptor, patience });
                servers.spawn(server.serve(router.into_make_service_with_connect_info::<SocketAddr>()));
            }
            Some(tls) => {
                let inner = RustlsAcceptor::new(tls).handshake_timeout(patience).acceptor(NoDelayAcceptor);
                let server = server.acceptor(Patience { inner, patience });
                let router = router.layer(Extension(Encrypted));
                servers.spawn(server.serve(router.into_make_service_with_connect_info::<SocketAddr>()));
            }
        }
    }
    let stop = async {
        shutdown.begun().await;
        for handle in &handles {
            handle.graceful_shutdown(Some(grace));
        }
        std::future::pending::<()>().await;
    };
    let all = async {
        while let Some(ended) = servers.join_next().await {
            ended.context("a listener panicked")?.context("a listener failed")?;
        }
        Ok(())
    };
    tokio::select! { () = stop => Ok(()), result = all => result }
}

fn limit<A>(server: &mut Server<SocketAddr, A>, patience: Duration) {
    let builder = server.http_builder();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_buf_size(HEADER_BYTES)
        .max_headers(HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEADER_BYTES as u32)
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
}

/// Hyper waits for ever for the bytes that tell HTTP/1 from HTTP/2. A connection that does not send them is closed here.
#[derive(Debug, Clone)]
struct Patience<A> {
    inner: A,
    patience: Duration,
}

impl<A, I, S> Accept<I, S> for Patience<A>
where
    A: Accept<I, S>,
    A::Future: Send + 'static,
    A::Stream: Send + 'static,
    A::Service: Send + 'static,
{
    type Stream = Patient<A::Stream>;
    type Service = A::Service;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let (accepted, patience) = (self.inner.accept(stream, service), self.patience);
        Box::pin(async move {
            let (stream, service) = accepted.await?;
            Ok((Patient { stream, seen: 0, deadline: Some(Box::pin(tokio::time::sleep(patience))) }, service))
        })
    }
}

/// What every HTTP/2 connection starts with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[derive(Debug)]
struct Patient<T> {
    stream: T,
    /// How many bytes of the preface have been read.
    seen: usize,
    /// None once the protocol is known.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<T: AsyncRead + Unpin> AsyncRead for Patient<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if self.deadline.is_some() {
            let fresh = &buf.filled()[before..];
            let expected = &PREFACE[self.seen.min(PREFACE.len())..];
            let undecided = fresh.len() < expected.len() && expected.starts_with(fresh);
            self.seen += fresh.len();
            if !undecided {
                self.deadline = None;
            } else if read.is_pending() && self.deadline.as_mut().is_some_and(|late| late.as_mut().poll(cx).is_ready())
            {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Patient<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
