//! A line to the database that can be cut, or held so that nothing moves on it.
use std::sync::Arc;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Whole,
    Held,
    Cut,
}

pub(crate) struct Proxy {
    /// The database's address by way of the proxy.
    pub(crate) url: String,
    line: Arc<watch::Sender<Line>>,
}

impl Proxy {
    pub(crate) async fn before(url: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (rest, name) = url.split('?').next().unwrap().rsplit_once('/').unwrap();
        let user = rest.rsplit_once('@').map_or(rest, |(user, _)| user);
        let here = format!("{user}@{}/{name}?sslmode=disable", listener.local_addr().unwrap());
        let (line, server) = (Arc::new(watch::Sender::new(Line::Whole)), url.to_owned());
        tokio::spawn(accept(listener, server, line.clone()));
        Proxy { url: here, line }
    }

    /// Every connection breaks, and new ones are not taken.
    pub(crate) fn cut(&self) {
        self.line.send_replace(Line::Cut);
    }

    /// Connections stay, and nothing comes through.
    pub(crate) fn hold(&self) {
        self.line.send_replace(Line::Held);
    }

    pub(crate) fn mend(&self) {
        self.line.send_replace(Line::Whole);
    }
}

async fn accept(listener: TcpListener, server: String, line: Arc<watch::Sender<Line>>) {
    while let Ok((client, _)) = listener.accept().await {
        if *line.borrow() == Line::Cut {
            continue;
        }
        let (server, line) = (server.clone(), line.subscribe());
        tokio::spawn(async move {
            let host = server.split("host=").nth(1).map(|host| host.split('&').next().unwrap_or(host).to_owned());
            match host.filter(|host| host.starts_with('/')) {
                Some(dir) => {
                    carry(client, UnixStream::connect(format!("{dir}/.s.PGSQL.5432")).await.unwrap(), line).await
                }
                None => {
                    let address =
                        server.split('?').next().unwrap().rsplit('@').next().unwrap().split('/').next().unwrap();
                    let address = if address.contains(':') { address.to_owned() } else { format!("{address}:5432") };
                    carry(client, TcpStream::connect(address).await.unwrap(), line).await;
                }
            }
        });
    }
}

async fn carry<S: AsyncRead + AsyncWrite + Unpin>(
    mut client: TcpStream,
    mut server: S,
    mut line: watch::Receiver<Line>,
) {
    let (mut up, mut down) = ([0; 8192], [0; 8192]);
    loop {
        let now = *line.borrow_and_update();
        tokio::select! {
            _ = line.changed() => if *line.borrow() == Line::Cut { return },
            n = client.read(&mut up), if now == Line::Whole => match n {
                Ok(n) if n > 0 => if server.write_all(&up[..n]).await.is_err() { return },
                _ => return,
            },
            n = server.read(&mut down), if now == Line::Whole => match n {
                Ok(n) if n > 0 => if client.write_all(&down[..n]).await.is_err() { return },
                _ => return,
            },
        }
    }
}
