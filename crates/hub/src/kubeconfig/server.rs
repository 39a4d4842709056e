//! The address of an API server: https, a host, a port and nothing else.
use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server {
    pub host: Host,
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// In lower case.
    Name(String),
    Ip(IpAddr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(n) => f.write_str(n),
            Host::Ip(IpAddr::V4(ip)) => ip.fmt(f),
            Host::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}:{}", self.host, self.port)
    }
}

impl Server {
    /// The message says what is wrong and what to do; the caller names the field.
    pub fn parse(url: &str) -> Result<Server, String> {
        if url.len() > 512 {
            return Err("The address is longer than 512 characters. Give https://host:port.".into());
        }
        if url.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
            return Err(
                "The address has blanks, control characters or backslashes in it. Give https://host:port.".into()
            );
        }
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err("The address has no scheme. Give https://host:port.".into());
        };
        if !scheme.eq_ignore_ascii_case("https") {
            return Err(format!(
                "The address begins with {}://, and credentials travel only over https. Give https://host:port.",
                scheme.chars().take(12).collect::<String>()
            ));
        }
        for (mark, what) in [('@', "a user name"), ('?', "a query"), ('#', "a fragment")] {
            if rest.contains(mark) {
                return Err(format!("The address has {what} in it ({mark}). Give https://host:port alone."));
            }
        }
        let authority = match rest.split_once('/') {
            None => rest,
            Some((authority, "")) => authority,
            Some(_) => {
                return Err(
                    "The address has a path. Give https://host:port alone; API servers behind a path can't be \
                            reached."
                        .into(),
                );
            }
        };
        let (host, port) = match authority.strip_prefix('[') {
            Some(v6) => {
                let (ip, after) = v6.split_once(']').ok_or("The IPv6 address has no closing bracket.")?;
                let port = match after {
                    "" => None,
                    _ => Some(after.strip_prefix(':').ok_or("After the IPv6 address only :port may follow.")?),
                };
                let ip: Ipv6Addr =
                    ip.parse().map_err(|_| "Between the brackets stands no IPv6 address (zones are not taken).")?;
                (Host::Ip(IpAddr::V6(ip)), port)
            }
            None => match authority.split_once(':') {
                Some((_, port)) if port.contains(':') => {
                    return Err("An IPv6 address needs brackets: https://[2001:db8::1]:6443.".into());
                }
                Some((host, port)) => (name_or_v4(host)?, Some(port)),
                None => (name_or_v4(authority)?, None),
            },
        };
        let port = match port {
            None => 443,
            Some(digits) => match digits.parse::<u16>() {
                Ok(port) if port > 0 && digits.bytes().all(|b| b.is_ascii_digit()) => port,
                _ => return Err("The port is no number from 1 to 65535.".into()),
            },
        };
        Ok(Server { host, port })
    }
}

fn name_or_v4(host: &str) -> Result<Host, String> {
    if host.is_empty() {
        return Err("The address has no host. Give https://host:port.".into());
    }
    if let Ok(ip) = host.parse::<std::net::Ipv4Addr>() {
        return Ok(Host::Ip(IpAddr::V4(ip)));
    }
    dns_name(host).map(Host::Name)
}

/// A DNS name in lower case. Forms that resolvers read as numbers (`127.1`, `0x7f000001`, `2130706433`) are no names.
pub(crate) fn dns_name(host: &str) -> Result<String, String> {
    if !host.is_ascii() {
        return Err("The host has characters outside ASCII. Give its xn-- form.".into());
    }
    let host = host.to_ascii_lowercase();
    let good_label = |l: &str| {
        (1..=63).contains(&l.len())
            && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !l.starts_with('-')
            && !l.ends_with('-')
    };
    if host.len() > 253 || !host.split('.').all(good_label) {
        return Err("The host is no DNS name (letters, digits, hyphens and dots, without a dot at the end).".into());
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    if last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x") {
        return Err(
            "The host is a number in an unusual form. Write an IPv4 address as four numbers, like 192.0.2.7.".into()
        );
    }
    Ok(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_addresses_come_out_in_one_form() {
        for (url, shown) in [
            ("https://api.example.org", "https://api.example.org:443"),
            ("HTTPS://API.Example.org:6443/", "https://api.example.org:6443"),
            ("https://192.0.2.7:6443", "https://192.0.2.7:6443"),
            ("https://[2001:db8::1]:6443", "https://[2001:db8::1]:6443"),
            ("https://[2001:db8::1]", "https://[2001:db8::1]:443"),
            ("https://localhost:16443", "https://localhost:16443"),
        ] {
            assert_eq!(Server::parse(url).map(|s| s.to_string()).as_deref(), Ok(shown), "{url}");
        }
    }

    #[test]
    fn anything_but_a_host_and_a_port_is_refused() {
        for url in [
            "",
            "api.example.org:6443",
            "http://api.example.org",
            "ftp://api.example.org",
            "https://",
            "https:///x",
            "https://:6443",
            "https://user@api.example.org",
            "https://user:pass@api.example.org",
            "https://api.example.org/k8s",
            "https://api.example.org//",
            "https://api.example.org?x=1",
            "https://api.example.org#x",
            "https://api.example.org:0",
            "https://api.example.org:65536",
            "https://api.example.org:+443",
            "https://api.example.org:",
            "https://api.example.org:https",
            "https://2001:db8::1:6443",
            "https://[2001:db8::1",
            "https://[2001:db8::1]6443",
            "https://[fe80::1%eth0]:6443",
            "https://[127.0.0.1]",
            "https://2130706433",
            "https://0x7f000001",
            "https://0177.0.0.1",
            "https://127.1",
            "https://127.0.0.0x1",
            "https://1.2.3.4.5",
            "https://exämple.org",
            "https://exa mple.org",
            "https://example.org\\@evil.org",
            "https://example%2eorg",
            "https://-a.org",
            "https://a..org",
            "https://example.org.",
            "https://example.org:443:443",
            "https://api.example.org\r\nHost:x",
        ] {
            assert!(Server::parse(url).is_err(), "{url:?}");
        }
    }
}
