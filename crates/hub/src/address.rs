//! Which addresses may be called. A hub's address comes from somebody's upload, so names are resolved and every address
//! is checked, and the client connects to checked addresses only: a name can't point elsewhere a moment later.
use crate::{
    answer::NotConnected,
    error::{Error, Reach},
    kubeconfig::{Host, Server, dns_name},
};
use ipnet::IpNet;
use std::{
    fmt,
    future::Future,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    str::FromStr,
    sync::Arc,
};

/// The installation's list of hosts for hubs (`hubs.allow`). An empty one allows public addresses alone: none of private
/// networks, of this machine, of its link or of cloud metadata services. A list allows what is on it, whatever it is. Only "every
/// address" is not meant so: who lists 0.0.0.0/0 has not thought of metadata services, and names those addresses beside it if
/// they are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Name(String),
    /// Everything below a name, but not the name itself.
    Below(String),
    Net(IpNet),
    /// Somebody else vouches for the address.
    Anything,
}

impl FromStr for AllowList {
    type Err = String;

    /// Host names (with `*.` in front: all names below), addresses and CIDRs, separated by commas or blanks.
    fn from_str(text: &str) -> Result<AllowList, String> {
        let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|w| !w.is_empty());
        Ok(AllowList { entries: words.map(entry).collect::<Result<_, _>>()? })
    }
}

fn entry(word: &str) -> Result<Entry, String> {
    if let Ok(net) = word.parse::<IpNet>() {
        return Ok(Entry::Net(net));
    }
    if let Ok(ip) = word.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(Entry::Net(IpNet::from(ip)));
    }
    let (below, name) = match word.strip_prefix("*.") {
        Some(name) => (true, name),
        None => (false, word),
    };
    let name = dns_name(name).map_err(|_| {
        format!(
            "{word:?} is no host name, address or CIDR. Give entries like hub.example.org, *.example.org, 10.0.0.0/8."
        )
    })?;
    Ok(if below { Entry::Below(name) } else { Entry::Name(name) })
}

impl fmt::Display for AllowList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, e) in self.entries.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            match e {
                Entry::Name(n) => f.write_str(n),
                Entry::Below(n) => write!(f, "*.{n}"),
                Entry::Net(n) => n.fmt(f),
                Entry::Anything => f.write_str("anything"),
            }?;
        }
        Ok(())
    }
}

impl AllowList {
    fn lists_name(&self, host: &str) -> bool {
        self.entries.iter().any(|e| match e {
            Entry::Name(name) => name == host,
            Entry::Below(name) => host.strip_suffix(name.as_str()).is_some_and(|h| h.len() > 1 && h.ends_with('.')),
            Entry::Net(_) | Entry::Anything => false,
        })
    }

    /// Is it listed, and not only as one of all addresses?
    fn names_address(&self, ip: IpAddr) -> bool {
        self.entries.iter().any(|e| match e {
            Entry::Net(net) => net.prefix_len() > 0 && net.contains(&ip),
            Entry::Anything => true,
            Entry::Name(_) | Entry::Below(_) => false,
        })
    }

    fn lists_every(&self, ip: IpAddr) -> bool {
        self.entries.iter().any(|e| matches!(e, Entry::Net(net) if net.prefix_len() == 0 && net.contains(&ip)))
    }

    /// May this address be called, on behalf of that name if there was one?
    pub fn allows(&self, name: Option<&str>, ip: IpAddr) -> Result<(), String> {
        let real = plain(ip);
        if self.names_address(real) {
            return Ok(());
        }
        // a listed name may lead to private addresses, but not to this machine or to metadata: its DNS may be another's
        if let Some(why) = never(real) {
            return Err(format!("{ip} is {why}, and not listed as an address"));
        }
        if self.lists_every(real) || name.is_some_and(|n| self.lists_name(n)) {
            return Ok(());
        }
        if self.entries.is_empty() {
            return match private(real) {
                true => Err(format!("{ip} is in a private network, and hubs.allow does not list it")),
                false => Ok(()),
            };
        }
        Err(match name {
            Some(name) => format!("{name} ({ip}) is not on the list of hosts for hubs, hubs.allow"),
            None => format!("{ip} is not on the list of hosts for hubs, hubs.allow"),
        })
    }
}

/// An IPv4 address that is written as IPv6 is judged as what it is.
fn plain(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    let s = v6.segments();
    let embedded = |a: u16, b: u16| IpAddr::V4(Ipv4Addr::from((u32::from(a) << 16) | u32::from(b)));
    match s {
        [0, 0, 0, 0, 0, 0xffff, a, b] => embedded(a, b),
        // "compatible" (old), but not :: and ::1
        [0, 0, 0, 0, 0, 0, a, b] if a != 0 || b > 1 => embedded(a, b),
        // NAT64
        [0x64, 0xff9b, 0, 0, 0, 0, a, b] => embedded(a, b),
        // 6to4
        [0x2002, a, b, ..] => embedded(a, b),
        _ => ip,
    }
}

/// Inside of somebody's network: what calls there from here reaches what others can't.
fn private(ip: IpAddr) -> bool {
    match ip {
        // the last one is what carriers share, and clouds and clusters use
        IpAddr::V4(v4) => v4.is_private() || matches!(v4.octets(), [100, 64..=127, ..]),
        IpAddr::V6(v6) => matches!(v6.segments(), [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..]),
    }
}

/// The ports at which API servers of hubs may be (`hubs.ports`): whoever tries a hub is to be no scanner of what else answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports(Vec<u16>);

impl Ports {
    /// Those of API servers by custom: behind a balancer, of Kubernetes, and of some of its distributions.
    pub const USUAL: &str = "443, 6443, 8443";

    pub fn any() -> Ports {
        Ports(Vec::new())
    }

    fn allows(&self, port: u16) -> Result<(), String> {
        match self.0.is_empty() || self.0.contains(&port) {
            true => Ok(()),
            false => Err(format!("the port {port} is none of those that hubs may have, hubs.ports: {self}")),
        }
    }
}

impl Default for Ports {
    fn default() -> Ports {
        Ports(vec![443, 6443, 8443])
    }
}

impl FromStr for Ports {
    type Err = String;

    /// Numbers, separated by commas or blanks; or `any`.
    fn from_str(text: &str) -> Result<Ports, String> {
        if text.trim().eq_ignore_ascii_case("any") {
            return Ok(Ports::any());
        }
        let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|w| !w.is_empty());
        let port = |word: &str| {
            let number = word.parse::<u16>().ok().filter(|p| *p > 0);
            number.ok_or_else(|| format!("{word:?} is no port. Give numbers like {}, or any.", Ports::USUAL))
        };
        let ports: Vec<u16> = words.map(port).collect::<Result<_, _>>()?;
        if ports.is_empty() {
            return Err(format!("names no port. Give numbers like {}, or any.", Ports::USUAL));
        }
        Ok(Ports(ports))
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("any");
        }
        let all: Vec<String> = self.0.iter().map(u16::to_string).collect();
        f.write_str(&all.join(", "))
    }
}

/// Addresses no hub has, unless somebody lists them.
fn never(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(v4) => {
            let [a, b, c, d] = v4.octets();
            match (a, b, c, d) {
                (169, 254, 169, 254 | 253) | (169, 254, 170, 2 | 23) | (100, 100, 100, 200) | (192, 0, 0, 192) => {
                    Some("a cloud's metadata service")
                }
                (0, ..) => Some("unspecified"),
                (127, ..) => Some("this machine"),
                (169, 254, ..) => Some("link-local"),
                (224..=239, ..) => Some("multicast"),
                (240..=255, ..) => Some("reserved"),
                _ => None,
            }
        }
        IpAddr::V6(v6) => {
            const METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
            match v6.segments() {
                _ if v6 == METADATA => Some("a cloud's metadata service"),
                _ if v6.is_unspecified() => Some("unspecified"),
                _ if v6.is_loopback() => Some("this machine"),
                [0xfe80..=0xfebf, ..] => Some("link-local"),
                [0xff00..=0xffff, ..] => Some("multicast"),
                _ => None,
            }
        }
    }
}

type Lookup = Pin<Box<dyn Future<Output = std::io::Result<Vec<SocketAddr>>> + Send>>;

/// How names become addresses; tests put their own in.
#[derive(Clone)]
pub struct Resolver(Arc<dyn Fn(String) -> Lookup + Send + Sync>);

impl Resolver {
    /// The machine's own.
    pub fn system() -> Resolver {
        Resolver(Arc::new(|host| {
            Box::pin(async move { Ok(tokio::net::lookup_host((host.as_str(), 0)).await?.collect()) })
        }))
    }

    pub fn from_fn(f: impl Fn(&str) -> std::io::Result<Vec<IpAddr>> + Send + Sync + 'static) -> Resolver {
        let f = Arc::new(f);
        Resolver(Arc::new(move |host| {
            let f = f.clone();
            Box::pin(async move { Ok(f(&host)?.into_iter().map(|ip| SocketAddr::new(ip, 0)).collect()) })
        }))
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

/// Lists and resolver together: what stands between a hub's address and a connection.
#[derive(Clone, Debug)]
pub struct Gate {
    pub allow: Arc<AllowList>,
    pub ports: Ports,
    pub resolver: Resolver,
}

impl Gate {
    pub fn new(allow: AllowList, ports: Ports) -> Gate {
        Gate { allow: Arc::new(allow), ports, resolver: Resolver::system() }
    }

    /// For hubs the operator named by flag or file: their word is enough.
    pub fn open() -> Gate {
        Gate::new(AllowList { entries: vec![Entry::Anything] }, Ports::any())
    }

    /// What can be told of a server without asking anybody: its port, and its address if it has no name.
    pub fn check_written(&self, server: &Server) -> Result<(), Error> {
        let address = match &server.host {
            Host::Ip(ip) => self.allow.allows(None, *ip),
            Host::Name(_) => Ok(()),
        };
        let all = self.ports.allows(server.port).and(address);
        all.map_err(|detail| Error::Unreachable { why: Reach::NotAllowed, detail })
    }

    /// Resolves a host and checks every address; one that is not allowed refuses all of them.
    pub async fn check(&self, server: &Server) -> Result<Vec<IpAddr>, Error> {
        self.check_written(server)?;
        let found = match &server.host {
            Host::Ip(ip) => self.allow.allows(None, *ip).map(|()| vec![*ip]).map_err(not_allowed),
            Host::Name(name) => self.resolve(name).await.map(|all| all.into_iter().map(|a| a.ip()).collect()),
        };
        found.map_err(|e| Error::Unreachable { why: e.why, detail: e.detail })
    }

    pub(crate) async fn resolve(&self, name: &str) -> Result<Vec<SocketAddr>, NotConnected> {
        let dns = |detail| NotConnected { why: Reach::Dns, detail };
        let found = (self.resolver.0)(name.to_owned()).await.map_err(|e| dns(format!("{name}, {e}")))?;
        if found.is_empty() {
            return Err(dns(format!("{name} has no address")));
        }
        for address in &found {
            self.allow.allows(Some(name), address.ip()).map_err(not_allowed)?;
        }
        Ok(found)
    }
}

fn not_allowed(detail: String) -> NotConnected {
    NotConnected { why: Reach::NotAllowed, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> AllowList {
        text.parse().expect("a list")
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect(text)
    }

    #[test]
    fn without_a_list_public_addresses_alone_are_allowed() {
        let default = AllowList::default();
        for good in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "11.0.0.1", "2001:db8::1", "::ffff:8.8.8.8"] {
            assert_eq!(default.allows(None, ip(good)), Ok(()), "{good}");
            assert_eq!(default.allows(Some("hub.example.org"), ip(good)), Ok(()), "{good} by name");
        }
        for private in [
            "10.0.0.1",
            "192.168.1.1",
            "172.16.0.1",
            "172.31.255.255",
            "100.64.0.1",
            "fd00::1",
            "fc00::1",
            "fec0::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:a00:1::1",
        ] {
            let why = default.allows(Some("hub.example.org"), ip(private)).expect_err(private);
            assert!(why.contains("private network") && why.contains("hubs.allow"), "{why}");
            assert_eq!(list("hub.example.org").allows(Some("hub.example.org"), ip(private)), Ok(()), "listed by name");
        }
        for bad in [
            "127.0.0.1",
            "127.255.255.254",
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "169.254.1.1",
            "169.254.170.2",
            "100.100.100.200",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "::",
            "::1",
            "fe80::1",
            "febf::1",
            "ff02::1",
            "fd00:ec2::254",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0.0.0.0",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::1",
            "2002:a9fe:a9fe::",
        ] {
            assert!(default.allows(None, ip(bad)).is_err(), "{bad}");
            assert!(default.allows(Some("hub.example.org"), ip(bad)).is_err(), "{bad} by name");
        }
    }

    #[test]
    fn a_list_allows_what_is_on_it_and_nothing_else() {
        let l = list("hub.example.org, *.corp.example.net 10.1.0.0/16,127.0.0.1,2001:db8::/32");
        assert_eq!(l.allows(Some("hub.example.org"), ip("8.8.8.8")), Ok(()));
        assert_eq!(l.allows(Some("a.b.corp.example.net"), ip("10.9.9.9")), Ok(()));
        assert_eq!(l.allows(None, ip("10.1.2.3")), Ok(()));
        assert_eq!(l.allows(None, ip("::ffff:10.1.2.3")), Ok(()));
        assert_eq!(l.allows(None, ip("127.0.0.1")), Ok(()), "listed by address");
        assert_eq!(l.allows(Some("elsewhere.org"), ip("2001:db8::5")), Ok(()), "the address is listed");
        for (name, address) in [
            (Some("corp.example.net"), "8.8.8.8"),
            (Some("evilcorp.example.net"), "8.8.8.8"),
            (Some("xhub.example.org"), "8.8.8.8"),
            (Some("other.org"), "8.8.8.8"),
            (None, "10.2.0.1"),
            (Some("hub.example.org"), "169.254.169.254"),
            (Some("hub.example.org"), "127.0.0.2"),
        ] {
            assert!(l.allows(name, ip(address)).is_err(), "{name:?} {address}");
        }
        assert_eq!(l.to_string(), "hub.example.org, *.corp.example.net, 10.1.0.0/16, 127.0.0.1/32, 2001:db8::/32");
    }

    #[test]
    fn a_list_of_every_address_opens_no_metadata_service_and_what_is_named_beside_it_is_open() {
        let l = list("0.0.0.0/0, ::/0, 127.0.0.0/8, ::1");
        for good in ["8.8.8.8", "10.0.0.1", "127.0.0.1", "2001:db8::1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(l.allows(None, ip(good)), Ok(()), "{good}");
        }
        for bad in
            ["169.254.169.254", "169.254.1.1", "224.0.0.1", "0.0.0.0", "::", "fe80::1", "ff02::1", "fd00:ec2::254"]
        {
            assert!(l.allows(None, ip(bad)).is_err(), "{bad}");
            assert!(l.allows(Some("hub.example.org"), ip(bad)).is_err(), "{bad} by name");
        }
        assert_eq!(list("0.0.0.0/0, 169.254.0.0/16").allows(None, ip("169.254.1.1")), Ok(()), "it is named");
        assert_eq!(Gate::open().allow.allows(None, ip("169.254.1.1")), Ok(()), "the operator's word is enough");
    }

    #[test]
    fn entries_that_mean_nothing_are_refused_by_name() {
        for bad in ["*", "*.", "http://x", "10.0.0.0/33", "a b/c", "10.0.0"] {
            let e = bad.parse::<AllowList>().expect_err(bad);
            assert!(e.contains("Give entries like"), "{e}");
        }
        assert_eq!("".parse(), Ok(AllowList::default()));
    }

    #[test]
    fn ports_are_those_of_api_servers_unless_others_are_listed() {
        let usual: Ports = Ports::USUAL.parse().expect("ports");
        assert_eq!((usual.clone(), usual.to_string().as_str()), (Ports::default(), Ports::USUAL));
        for (port, good) in [(443, true), (6443, true), (8443, true), (22, false), (5432, false), (80, false)] {
            assert_eq!(usual.allows(port).is_ok(), good, "{port}");
        }
        assert!(usual.allows(22).expect_err("no hub's").contains("hubs.ports"));
        let listed: Ports = "16443 443".parse().expect("ports");
        assert!(listed.allows(16443).is_ok() && listed.allows(6443).is_err());
        assert!("any".parse::<Ports>().expect("ports").allows(22).is_ok());
        for bad in ["", "0", "65536", "https", "443-500"] {
            assert!(bad.parse::<Ports>().expect_err(bad).contains("Give numbers like"), "{bad}");
        }
    }

    #[tokio::test]
    async fn one_bad_address_behind_a_name_refuses_the_name() {
        let gate = Gate {
            allow: Arc::default(),
            ports: Ports::default(),
            resolver: Resolver::from_fn(|host| match host {
                "good.org" => Ok(vec![ip("8.8.8.8"), ip("2001:db8::1")]),
                "mixed.org" => Ok(vec![ip("8.8.8.8"), ip("127.0.0.1")]),
                "none.org" => Ok(vec![]),
                _ => Err(std::io::Error::other("no such name")),
            }),
        };
        let why = async |host: &str| match gate.check(&Server::parse(&format!("https://{host}")).expect(host)).await {
            Err(Error::Unreachable { why, .. }) => Some(why),
            other => {
                assert!(other.is_ok(), "{other:?}");
                None
            }
        };
        assert_eq!(why("good.org").await, None);
        assert_eq!(why("8.8.8.8").await, None);
        assert_eq!(why("mixed.org").await, Some(Reach::NotAllowed));
        assert_eq!(why("127.0.0.1").await, Some(Reach::NotAllowed));
        assert_eq!(why("[::ffff:127.0.0.1]").await, Some(Reach::NotAllowed));
        assert_eq!(why("good.org:6443").await, None);
        assert_eq!(why("good.org:22").await, Some(Reach::NotAllowed));
        assert_eq!(why("none.org").await, Some(Reach::Dns));
        assert_eq!(why("lost.org").await, Some(Reach::Dns));
    }
}
