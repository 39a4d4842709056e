//! An address to listen on.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen {
    pub host: Host,
    pub port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    Ip(IpAddr),
    /// Both loopback addresses: clients differ in which one they try.
    Localhost,
}

impl Listen {
    /// The sockets to open. With port 0 the system chooses one, so there can only be one socket.
    pub fn sockets(&self) -> Vec<SocketAddr> {
        let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        match self.host {
            Host::Ip(ip) => vec![SocketAddr::new(ip, self.port)],
            Host::Localhost if self.port == 0 => vec![v4],
            Host::Localhost => vec![v4, SocketAddr::from((Ipv6Addr::LOCALHOST, self.port))],
        }
    }
}

impl FromStr for Listen {
    type Err = String;

    /// Accepts `0.0.0.0:8080`, `[::]:8080`, `localhost:8080`, `:8080` and `8080`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("tcp://") {
            return Err("starts with tcp://, so it was probably set by Kubernetes for a service of that name: \
                 set SSVIRT_API_HTTP, or enableServiceLinks: false in the pod"
                .into());
        }
        let everywhere = Host::Ip(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let wrong =
            || format!("is `{text}`, which is not an address with port such as 0.0.0.0:8080, a port alone, or off");
        if let Ok(socket) = text.parse::<SocketAddr>() {
            return Ok(Listen { host: Host::Ip(socket.ip()), port: socket.port() });
        }
        let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
        let host = match host {
            "" => everywhere,
            "localhost" => Host::Localhost,
            _ => return Err(wrong()),
        };
        Ok(Listen { host, port: port.parse().map_err(|_| wrong())? })
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host {
            Host::Ip(ip) => SocketAddr::new(ip, self.port).fmt(f),
            Host::Localhost => write!(f, "localhost:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for (text, shown) in [
            ("0.0.0.0:8080", "0.0.0.0:8080"),
            ("[::]:8443", "[::]:8443"),
            ("localhost:80", "localhost:80"),
            (":9000", "0.0.0.0:9000"),
            ("9000", "0.0.0.0:9000"),
        ] {
            assert_eq!(text.parse::<Listen>().map(|l| l.to_string()), Ok(shown.to_owned()));
        }
        for text in ["", "http", "70000", "example.com:80", "1.2.3.4", "::1"] {
            assert!(text.parse::<Listen>().is_err(), "{text}");
        }
        assert!("tcp://10.0.0.1:80".parse::<Listen>().unwrap_err().contains("Kubernetes"));
    }

    #[test]
    fn localhost_is_both_families() {
        assert_eq!("localhost:80".parse::<Listen>().unwrap().sockets().len(), 2);
        assert_eq!("localhost:0".parse::<Listen>().unwrap().sockets().len(), 1);
    }
}
