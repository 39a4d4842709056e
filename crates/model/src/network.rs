//! Networks of an organization: isolated ones with addresses of their own, of a whole VDC or inside one vApp.
use crate::{HubId, NetworkId, OrgId, Problems, Result, VappId, VdcId, VmId, name, nic::IpMode};
use serde::{Deserialize, Serialize};
use std::{fmt, net::Ipv4Addr};
use time::OffsetDateTime;
use uuid::Uuid;

/// How a network reaches the world. Only isolated ones are offered yet; the others are refused by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkType {
    #[default]
    Isolated,
    Direct,
    Routed,
}

impl NetworkType {
    pub const ALL: [NetworkType; 3] = [NetworkType::Isolated, NetworkType::Direct, NetworkType::Routed];

    pub fn key(self) -> &'static str {
        match self {
            NetworkType::Isolated => "isolated",
            NetworkType::Direct => "direct",
            NetworkType::Routed => "routed",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            NetworkType::Isolated => "Isolated",
            NetworkType::Direct => "Direct",
            NetworkType::Routed => "Routed",
        }
    }

    /// Takes our spellings and those of the VCD wire.
    pub fn parse(word: &str) -> Option<NetworkType> {
        match word {
            "ISOLATED" => Some(NetworkType::Isolated),
            "DIRECT" | "bridged" => Some(NetworkType::Direct),
            "NAT_ROUTED" | "natRouted" => Some(NetworkType::Routed),
            _ => NetworkType::ALL.into_iter().find(|t| t.key() == word),
        }
    }
}

/// A network in a vApp, with the id that it has there: one of its own, or one of its VDC that it is bridged to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VappNetwork {
    pub id: Uuid,
    pub vapp: VappId,
    pub vapp_name: String,
    pub owner_name: String,
    /// The one that it is, or that is behind it.
    pub network: Network,
    pub bridged: bool,
}

/// From one address to another, both of them in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct IpRange {
    pub start: Ipv4Addr,
    pub end: Ipv4Addr,
}

impl IpRange {
    pub fn has(&self, address: Ipv4Addr) -> bool {
        (self.start..=self.end).contains(&address)
    }

    pub fn size(&self) -> u64 {
        u64::from(u32::from(self.end).saturating_sub(u32::from(self.start))) + 1
    }

    fn overlaps(&self, other: &IpRange) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// `10.0.0.10-10.0.0.20`, or one address alone.
    fn parse(text: &str) -> Result<IpRange, String> {
        let (start, end) = text.split_once(['-', '–']).unwrap_or((text, text));
        let range = IpRange { start: address(start)?, end: address(end)? };
        match range.start <= range.end {
            true => Ok(range),
            false => Err(format!("{range} ends before it begins.")),
        }
    }
}

impl fmt::Display for IpRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.start == self.end {
            true => write!(f, "{}", self.start),
            false => write!(f, "{}-{}", self.start, self.end),
        }
    }
}

/// The addresses of a network, with the one of its gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subnet {
    pub gateway: Ipv4Addr,
    pub prefix: u8,
}

impl Subnet {
    fn mask(&self) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0)
    }

    pub fn first(&self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.gateway) & self.mask())
    }

    pub fn last(&self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.gateway) | !self.mask())
    }

    pub fn netmask(&self) -> Ipv4Addr {
        Ipv4Addr::from(self.mask())
    }

    /// `192.168.10.0/24`
    pub fn cidr(&self) -> String {
        format!("{}/{}", self.first(), self.prefix)
    }

    pub fn has(&self, address: Ipv4Addr) -> bool {
        (self.first()..=self.last()).contains(&address)
    }

    /// Can a machine have it? If not, why.
    pub fn usable(&self, address: Ipv4Addr) -> Result<(), String> {
        match address {
            a if !self.has(a) => Err(format!("{a} is outside of {}.", self.cidr())),
            a if a == self.gateway => Err(format!("{a} is the gateway's.")),
            a if a == self.first() || a == self.last() => {
                Err(format!("{a} is the first or last of {} and no machine's.", self.cidr()))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Network {
    pub id: NetworkId,
    pub org: OrgId,
    pub org_name: String,
    pub vdc: VdcId,
    pub vdc_name: String,
    /// Isolated inside that vApp; None: of the whole VDC.
    pub vapp: Option<VappId>,
    pub spec: NetworkSpec,
    /// NICs on it, and those that are still leaving it.
    pub nics: i64,
    /// Some of the VMs and vApps that use it, by name.
    pub used_by: Vec<String>,
    /// Addresses of its ranges and others that NICs have.
    pub addresses: i64,
    /// Where it lives: on one hub, with the machines that are on it. None: nothing is on it yet.
    pub hub: Option<HubId>,
    pub deleted: bool,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub updated_by: String,
}

impl Network {
    /// One that is asked for together with what is to be on it.
    pub fn to_come(id: NetworkId, vdc: VdcId, spec: NetworkSpec) -> Network {
        let at = OffsetDateTime::UNIX_EPOCH;
        Network {
            id,
            org: OrgId(Uuid::nil()),
            org_name: String::new(),
            vdc,
            vdc_name: String::new(),
            vapp: None,
            spec,
            nics: 0,
            used_by: Vec::new(),
            addresses: 0,
            hub: None,
            deleted: false,
            version: 0,
            created_at: at,
            updated_at: at,
            updated_by: String::new(),
        }
    }

    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// May NICs of that vApp be on it?
    pub fn reaches(&self, org: OrgId, vdc: VdcId, vapp: VappId) -> bool {
        self.org == org
            && match self.vapp {
                Some(own) => own == vapp,
                None => self.vdc == vdc || self.spec.shared,
            }
    }

    /// Addresses in its ranges.
    pub fn pool_size(&self) -> u64 {
        self.spec.ranges.iter().map(IpRange::size).sum()
    }
}

/// A NIC on a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkUse {
    pub vm: VmId,
    pub vm_name: String,
    pub vapp: VappId,
    pub vapp_name: String,
    pub vdc_name: String,
    pub index: i16,
    pub mode: IpMode,
    pub address: Option<Ipv4Addr>,
    pub mac: String,
    /// It is on its way off this network: the machine has not left it yet.
    pub leaving: bool,
}

/// What can be set on a network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkSpec {
    pub name: String,
    pub description: String,
    pub gateway: Ipv4Addr,
    pub prefix: u8,
    pub dns: Vec<Ipv4Addr>,
    pub dns_suffix: String,
    /// Where addresses for NICs in the mode POOL come from.
    pub ranges: Vec<IpRange>,
    /// Its hubs hand out the addresses; then none of them is ours to give.
    pub dhcp: bool,
    /// Every VDC of the organization may use it.
    pub shared: bool,
}

impl NetworkSpec {
    pub fn subnet(&self) -> Subnet {
        Subnet { gateway: self.gateway, prefix: self.prefix }
    }

    pub fn pooled(&self, address: Ipv4Addr) -> bool {
        self.ranges.iter().any(|r| r.has(address))
    }

    /// The first thing that differs and can't be changed while NICs are on it: hubs can't change what they made of it.
    pub fn fixed(&self, other: &NetworkSpec) -> Option<&'static str> {
        match () {
            () if self.gateway != other.gateway => Some("gateway"),
            () if self.prefix != other.prefix => Some("prefix"),
            () if self.dhcp != other.dhcp => Some("dhcp"),
            () if self.shared != other.shared => Some("shared"),
            () => None,
        }
    }
}

/// What a person types.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkForm {
    pub name: String,
    pub description: String,
    pub network_type: NetworkType,
    pub gateway: String,
    /// Its length: 24.
    pub prefix: String,
    pub dns1: String,
    pub dns2: String,
    pub dns_suffix: String,
    /// One a line, or with commas between.
    pub ranges: String,
    pub dhcp: bool,
    pub shared: bool,
}

const MOST_RANGES: usize = 64;

impl NetworkForm {
    pub fn check(self) -> Result<NetworkSpec> {
        let mut problems = Problems::default();
        if self.network_type != NetworkType::Isolated {
            let kind = self.network_type.label();
            problems.add("network_type", format!("{kind} networks are not offered yet. Make an isolated one."));
        }
        let name = problems.take("name", name::check_title(&self.name));
        let description = problems.take("description", name::check_text(&self.description));
        let prefix = problems.take("prefix", prefix(&self.prefix));
        let gateway = self.gateway(prefix, &mut problems);
        let subnet = gateway.filter(|_| prefix > 0).map(|gateway| Subnet { gateway, prefix });
        let mut dns = Vec::new();
        for (field, text) in [("dns1", &self.dns1), ("dns2", &self.dns2)] {
            if !text.trim().is_empty() {
                match address(text) {
                    Ok(a) => dns.push(a),
                    Err(why) => problems.add(field, why),
                }
            }
        }
        let dns_suffix = problems.take("dns_suffix", domain(&self.dns_suffix));
        let ranges = problems.take("ranges", ranges(&self.ranges, subnet));
        if self.dhcp && !ranges.is_empty() {
            problems.add(
                "ranges",
                "With DHCP the hub hands out the addresses. Leave the ranges empty, or switch DHCP off.",
            );
        }
        problems.done()?;
        Ok(NetworkSpec {
            name,
            description,
            gateway: gateway.unwrap_or(Ipv4Addr::UNSPECIFIED),
            prefix,
            dns,
            dns_suffix,
            ranges,
            dhcp: self.dhcp,
            shared: self.shared,
        })
    }

    fn gateway(&self, prefix: u8, problems: &mut Problems) -> Option<Ipv4Addr> {
        let gateway = match address(&self.gateway) {
            Ok(gateway) => gateway,
            Err(why) => {
                problems.add("gateway", why);
                return None;
            }
        };
        if gateway.is_loopback()
            || gateway.is_link_local()
            || gateway.is_multicast()
            || gateway.octets()[0] == 0
            || gateway.octets()[0] >= 240
        {
            problems.add(
                "gateway",
                format!("{gateway} is no address for machines. Take a private one, such as 192.168.10.1."),
            );
            return None;
        }
        let subnet = Subnet { gateway, prefix };
        if prefix > 0 && (gateway == subnet.first() || gateway == subnet.last()) {
            let why = format!("{gateway} is the first or last address of {} and can't be its gateway.", subnet.cidr());
            problems.add("gateway", why);
            return None;
        }
        Some(gateway)
    }
}

impl From<&NetworkSpec> for NetworkForm {
    fn from(s: &NetworkSpec) -> NetworkForm {
        let dns = |i: usize| s.dns.get(i).map(ToString::to_string).unwrap_or_default();
        let ranges: Vec<String> = s.ranges.iter().map(ToString::to_string).collect();
        NetworkForm {
            name: s.name.clone(),
            description: s.description.clone(),
            network_type: NetworkType::Isolated,
            gateway: s.gateway.to_string(),
            prefix: s.prefix.to_string(),
            dns1: dns(0),
            dns2: dns(1),
            dns_suffix: s.dns_suffix.clone(),
            ranges: ranges.join("\n"),
            dhcp: s.dhcp,
            shared: s.shared,
        }
    }
}

/// An IPv4 address, or why it is none.
pub fn address(text: &str) -> Result<Ipv4Addr, String> {
    let text = text.trim();
    match text.parse() {
        Ok(address) => Ok(address),
        Err(_) if text.is_empty() => Err("An IPv4 address is needed.".into()),
        Err(_) if text.contains(':') => Err("IPv6 is not offered yet. Give an IPv4 address.".into()),
        Err(_) => Err(format!("“{}” is no IPv4 address.", text.chars().take(64).collect::<String>())),
    }
}

fn prefix(text: &str) -> Result<u8, String> {
    match text.trim().trim_start_matches('/').parse() {
        Ok(length @ 8..=30) => Ok(length),
        Ok(length @ 31..=32) => Err(format!("A /{length} has no room for a gateway and a machine. At most 30.")),
        _ => Err("From 8 to 30.".into()),
    }
}

fn domain(text: &str) -> Result<String, String> {
    let text = text.trim().trim_end_matches('.').to_lowercase();
    let label = |l: &str| {
        (1..=63).contains(&l.len())
            && l.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !l.starts_with('-')
            && !l.ends_with('-')
    };
    match text.is_empty() || (text.len() <= 253 && text.split('.').all(label)) {
        true => Ok(text),
        false => Err("A domain has letters, digits, hyphens and dots: example.org.".into()),
    }
}

fn ranges(text: &str, subnet: Option<Subnet>) -> Result<Vec<IpRange>, String> {
    let mut all: Vec<IpRange> = Vec::new();
    for part in text.split(['\n', ',', ';']).map(str::trim).filter(|p| !p.is_empty()) {
        let range = IpRange::parse(part)?;
        if all.len() == MOST_RANGES {
            return Err(format!("At most {MOST_RANGES} ranges."));
        }
        if let Some(subnet) = subnet {
            subnet.usable(range.start).and_then(|()| subnet.usable(range.end))?;
            if range.has(subnet.gateway) {
                return Err(format!("{range} holds the gateway {}.", subnet.gateway));
            }
        }
        if let Some(other) = all.iter().find(|r| r.overlaps(&range)) {
            return Err(format!("{other} and {range} overlap."));
        }
        all.push(range);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> NetworkForm {
        NetworkForm {
            name: "back end".into(),
            gateway: "192.168.10.1".into(),
            prefix: "24".into(),
            ranges: "192.168.10.10-192.168.10.20\n192.168.10.30".into(),
            ..NetworkForm::default()
        }
    }

    #[test]
    fn a_good_network_is_read_and_written_back_the_same() {
        let spec = form().check().expect("good");
        assert_eq!(spec.subnet().cidr(), "192.168.10.0/24");
        assert_eq!(spec.subnet().netmask().to_string(), "255.255.255.0");
        assert_eq!(spec.ranges.iter().map(IpRange::size).sum::<u64>(), 12);
        assert_eq!(NetworkForm::from(&spec).check(), Ok(spec));
    }

    #[test]
    fn what_is_wrong_stands_beside_its_field() {
        type Change = fn(&mut NetworkForm);
        let cases: [(&str, &str, Change); 16] = [
            ("gateway", "no IPv4 address", |f| f.gateway = "x".into()),
            ("gateway", "IPv6 is not offered yet", |f| f.gateway = "fd00::1".into()),
            ("gateway", "first or last address", |f| f.gateway = "192.168.10.0".into()),
            ("gateway", "no address for machines", |f| f.gateway = "127.0.0.1".into()),
            ("prefix", "no room", |f| f.prefix = "31".into()),
            ("prefix", "From 8 to 30", |f| f.prefix = "4".into()),
            ("ranges", "overlap", |f| f.ranges += ",192.168.10.20-192.168.10.25"),
            ("ranges", "outside of 192.168.10.0/24", |f| f.ranges = "192.168.11.5".into()),
            ("ranges", "holds the gateway", |f| {
                f.gateway = "192.168.10.15".into();
            }),
            ("ranges", "is the gateway's", |f| f.ranges = "192.168.10.1-192.168.10.4".into()),
            ("ranges", "ends before it begins", |f| f.ranges = "192.168.10.9-192.168.10.4".into()),
            ("ranges", "first or last", |f| f.ranges = "192.168.10.9-192.168.10.255".into()),
            ("ranges", "With DHCP", |f| f.dhcp = true),
            ("network_type", "Routed networks are not offered yet", |f| f.network_type = NetworkType::Routed),
            ("dns1", "IPv6", |f| f.dns1 = "::1".into()),
            ("dns_suffix", "A domain has", |f| f.dns_suffix = "a b".into()),
        ];
        for (field, words, change) in cases {
            let mut bad = form();
            change(&mut bad);
            let e = bad.check().expect_err(words);
            let said = e.fields().iter().find(|f| f.field == field).unwrap_or_else(|| panic!("{field}: {e}"));
            assert!(said.message.contains(words), "{} / {words}", said.message);
        }
    }
}
