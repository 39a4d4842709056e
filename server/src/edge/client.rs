//! Who asks and under which name, as far as it can be believed: forwarded headers count only from a trusted proxy.

use crate::settings::{Api, Origin};
use axum::{
    extract::ConnectInfo,
    http::{HeaderMap, Request, header},
};
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The address of the client itself, behind trusted proxies too. `0.0.0.0` when there is no connection, as in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddr(pub IpAddr);

/// This site as the client sees it: the address it used, or `api.public_url`.
#[derive(Debug, Clone)]
pub struct OwnOrigin(pub Origin);

/// Set by the https listener on every request of its connections.
#[derive(Debug, Clone, Copy)]
pub struct Encrypted;

/// All that the connection and the headers say about a request's origin.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub client: IpAddr,
    pub https: bool,
    pub own: Option<Origin>,
    pub peer_is_trusted: bool,
    pub forwarded: bool,
}

pub(super) fn look<B>(request: &Request<B>, api: &Api) -> Seen {
    let headers = request.headers();
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip().to_canonical());
    let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let trusted = |ip: IpAddr| api.trusted_proxies.iter().any(|net: &IpNet| net.contains(&ip));
    let peer_is_trusted = trusted(peer);
    let forwarded =
        ["x-forwarded-for", "x-forwarded-host", "forwarded", "via"].iter().any(|name| headers.contains_key(*name));

    let mut client = peer;
    let mut https = request.extensions().get::<Encrypted>().is_some();
    let mut host = request
        .uri()
        .authority()
        .map(|a| a.as_str().to_owned())
        .or_else(|| headers.get(header::HOST).and_then(|v| v.to_str().ok()).map(str::to_owned));
    if peer_is_trusted {
        client = forwarded_for(headers).rev().find(|ip| !trusted(*ip)).unwrap_or(client);
        // the last value is the one our own proxy wrote
        if let Some(proto) = last(headers, "x-forwarded-proto") {
            https = proto.eq_ignore_ascii_case("https");
        }
        host = last(headers, "x-forwarded-host").or(host);
    }
    let own = host.and_then(|host| Origin::new(https, &host));
    Seen { client, https, own, peer_is_trusted, forwarded }
}

/// The chain of clients and proxies, up to the first entry that is no address: nothing left of that can be believed.
fn forwarded_for(headers: &HeaderMap) -> impl DoubleEndedIterator<Item = IpAddr> {
    let entries: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','))
        .map(str::trim)
        .collect();
    let mut chain: Vec<IpAddr> = entries.iter().rev().map_while(|entry| address(entry)).collect();
    chain.reverse();
    chain.into_iter()
}

/// Some proxies write the port too.
fn address(entry: &str) -> Option<IpAddr> {
    let bare = entry.strip_prefix('[').and_then(|rest| rest.split(']').next());
    let ip = bare.unwrap_or(entry).parse().or_else(|_| entry.parse::<std::net::SocketAddr>().map(|s| s.ip()));
    ip.ok().map(|ip| ip.to_canonical())
}

fn last(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get_all(name).iter().next_back()?.to_str().ok()?;
    value.rsplit(',').next().map(|v| v.trim().to_owned()).filter(|v| !v.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Need, Resolved, Settings, Sources};

    fn api(proxies: &str) -> Api {
        let sources = Sources::default().with_default("api.trusted_proxies", proxies);
        Settings::build(&Resolved::read(&sources), Need::Nothing).unwrap().api
    }

    fn seen(peer: &str, proxies: &str, headers: &[(&str, &str)]) -> Seen {
        let peer = ConnectInfo(SocketAddr::new(peer.parse().unwrap(), 1));
        let mut request = Request::get("/x").header("host", "cloud.example.com").extension(peer);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        look(&request.body(()).unwrap(), &api(proxies))
    }

    #[test]
    fn a_stranger_cannot_choose_its_address() {
        let s = seen(
            "8.8.8.8",
            "10.0.0.0/8",
            &[("x-forwarded-for", "1.1.1.1"), ("x-forwarded-proto", "https"), ("x-forwarded-host", "evil")],
        );
        assert_eq!(s.client.to_string(), "8.8.8.8");
        assert_eq!(s.own.unwrap().to_string(), "http://cloud.example.com");
        assert!(s.forwarded && !s.peer_is_trusted && !s.https);
    }

    #[test]
    fn a_trusted_proxy_is_believed_for_what_it_added() {
        let s = seen(
            "10.0.0.1",
            "10.0.0.0/8",
            &[
                ("x-forwarded-for", "6.6.6.6, 9.9.9.9"),
                ("x-forwarded-for", "10.0.0.7"),
                ("x-forwarded-proto", "http, https"),
                ("x-forwarded-host", "a.b"),
            ],
        );
        assert_eq!(s.client.to_string(), "9.9.9.9");
        assert_eq!(s.own.unwrap().to_string(), "https://a.b");
    }

    #[test]
    fn broken_entries_end_the_chain() {
        let client = |xff| seen("10.0.0.1", "10.0.0.0/8", &[("x-forwarded-for", xff)]).client.to_string();
        assert_eq!(client("1.2.3.4, junk, 10.0.0.9"), "10.0.0.1");
        assert_eq!(client(""), "10.0.0.1");
        assert_eq!(client("1.2.3.4:5678"), "1.2.3.4");
        assert_eq!(client("[2001:db8::1]:99"), "2001:db8::1");
        assert_eq!(client("10.0.0.2, 10.0.0.3"), "10.0.0.1");
    }
}
