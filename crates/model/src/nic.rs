//! NICs of a VM: where each is attached, how it gets its address, and which one is the primary.
use crate::{NetworkId, Problems, name};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// How a NIC gets its address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IpMode {
    /// The next free one of the network's ranges.
    Pool,
    /// One that was asked for.
    Manual,
    /// The hub hands it out.
    #[default]
    Dhcp,
    /// None, as far as we know.
    None,
}

impl IpMode {
    pub const ALL: [IpMode; 4] = [IpMode::Pool, IpMode::Manual, IpMode::Dhcp, IpMode::None];

    pub fn key(self) -> &'static str {
        match self {
            IpMode::Pool => "pool",
            IpMode::Manual => "manual",
            IpMode::Dhcp => "dhcp",
            IpMode::None => "none",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            IpMode::Pool => "Pool",
            IpMode::Manual => "Static",
            IpMode::Dhcp => "DHCP",
            IpMode::None => "None",
        }
    }

    /// Takes our spellings and those of the VCD wire (`POOL`).
    pub fn parse(word: &str) -> Option<IpMode> {
        IpMode::ALL.into_iter().find(|m| m.key().eq_ignore_ascii_case(word))
    }
}

/// What a NIC is plugged into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Attach {
    /// The VDC's own network.
    #[default]
    Vdc,
    Nothing,
    Network(NetworkId),
}

impl Attach {
    pub fn key(self) -> &'static str {
        match self {
            Attach::Vdc => "vdc",
            Attach::Nothing => "none",
            Attach::Network(_) => "network",
        }
    }

    pub fn network(self) -> Option<NetworkId> {
        match self {
            Attach::Network(id) => Some(id),
            _ => None,
        }
    }
}

/// What the guest sees as its card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Adapter {
    /// As the template's preference or the hub says.
    #[default]
    Auto,
    Virtio,
    E1000,
    E1000e,
}

impl Adapter {
    pub const ALL: [Adapter; 4] = [Adapter::Auto, Adapter::Virtio, Adapter::E1000, Adapter::E1000e];

    pub fn key(self) -> &'static str {
        match self {
            Adapter::Auto => "",
            Adapter::Virtio => "virtio",
            Adapter::E1000 => "e1000",
            Adapter::E1000e => "e1000e",
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            Adapter::Auto => "As the guest prefers",
            Adapter::Virtio => "virtio",
            Adapter::E1000 => "E1000",
            Adapter::E1000e => "E1000E",
        }
    }

    /// Takes our spellings and VCD's; its paravirtual card is virtio here.
    pub fn parse(word: &str) -> Option<Adapter> {
        let word = word.to_lowercase();
        match word.as_str() {
            "vmxnet3" | "vmxnet2" | "vmxnet" => Some(Adapter::Virtio),
            _ => Adapter::ALL.into_iter().find(|a| a.key() == word),
        }
    }
}

/// A NIC as it is wanted and as it was last seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Nic {
    pub spec: NicSpec,
    /// Empty: the VDC's own, or none.
    pub network_name: String,
    /// What its hub reports; empty while the machine does not run.
    pub seen_mac: String,
    pub seen_ips: Vec<String>,
}

/// A NIC asked for. What is set for a machine is always the whole list of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NicSpec {
    pub index: i16,
    /// The interface's on the hub; empty: it gets one.
    pub name: String,
    pub attach: Attach,
    pub mode: IpMode,
    /// Asked for with MANUAL; of others what they got.
    pub address: Option<Ipv4Addr>,
    /// Empty: it gets one, or keeps the one it has.
    pub mac: String,
    pub connected: bool,
    pub primary: bool,
    pub adapter: Adapter,
}

impl Default for NicSpec {
    fn default() -> NicSpec {
        NicSpec {
            index: 0,
            name: String::new(),
            attach: Attach::Vdc,
            mode: IpMode::Dhcp,
            address: None,
            mac: String::new(),
            connected: true,
            primary: false,
            adapter: Adapter::Auto,
        }
    }
}

pub const MOST_NICS: usize = 10;

/// The list in order, with one primary. What is wrong is said about the field `nics`, with the NIC's number.
pub fn check(mut nics: Vec<NicSpec>, problems: &mut Problems) -> Vec<NicSpec> {
    nics.sort_by_key(|n| n.index);
    if nics.len() > MOST_NICS {
        problems.add("nics", format!("At most {MOST_NICS} NICs."));
        return nics;
    }
    if nics.iter().filter(|n| n.attach == Attach::Vdc).count() > 1 {
        problems.add("nics", "Only one NIC can be on the VDC's own network. Choose another network for the others.");
    }
    if nics.iter().filter(|n| n.primary).count() > 1 {
        problems.add("nics", "Only one NIC can be the primary one.");
    }
    for pair in nics.windows(2).filter(|w| w[0].index == w[1].index) {
        problems.add("nics", format!("Two NICs have the index {}.", pair[0].index));
    }
    for nic in &mut nics {
        if let Err(why) = check_one(nic) {
            problems.add("nics", format!("NIC {}: {why}", nic.index));
        }
    }
    if !nics.iter().any(|n| n.primary)
        && let Some(first) = nics.first_mut()
    {
        first.primary = true;
    }
    nics
}

fn check_one(nic: &mut NicSpec) -> Result<(), String> {
    nic.mac = nic.mac.trim().to_lowercase().replace('-', ":");
    if !(0..MOST_NICS as i16).contains(&nic.index) {
        return Err(format!("the index is from 0 to {}.", MOST_NICS - 1));
    }
    if !nic.mac.is_empty() && !is_mac(&nic.mac) {
        return Err(format!("“{}” is no MAC address of a machine, such as 02:00:00:12:34:56.", nic.mac));
    }
    match (nic.attach, nic.mode) {
        (Attach::Vdc, IpMode::Dhcp) => nic.address = None,
        (Attach::Vdc, _) => return Err("the VDC's own network hands out addresses by DHCP.".into()),
        (Attach::Nothing, mode) => {
            if mode != IpMode::None {
                return Err("it is on no network, so it has no address. Choose a network.".into());
            }
            nic.address = None;
        }
        (Attach::Network(_), IpMode::Manual) if nic.address.is_none() => {
            return Err("a static address is needed.".into());
        }
        (Attach::Network(_), IpMode::Manual) => {}
        (Attach::Network(_), _) => nic.address = None,
    }
    Ok(())
}

fn is_mac(text: &str) -> bool {
    let octets: Vec<Option<u8>> = text
        .split(':')
        .map(|o| {
            (o.len() == 2 && o.bytes().all(|b| b.is_ascii_hexdigit())).then(|| u8::from_str_radix(o, 16).ok()).flatten()
        })
        .collect();
    // a group's address is no machine's
    octets.len() == 6
        && octets.iter().all(Option::is_some)
        && octets[0].is_some_and(|o| o & 1 == 0)
        && octets.iter().any(|o| *o != Some(0))
}

/// The name of a network on hubs: readable, and from the id.
pub fn hub_name(network: &str, id: NetworkId) -> String {
    let hex = id.0.simple().to_string();
    let slug = name::label_from(network, 40);
    let head = if slug.starts_with(|c: char| c.is_ascii_alphabetic()) { slug } else { format!("net-{slug}") };
    format!("{head}-{}", &hex[hex.len() - 12..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn on(index: i16, attach: Attach, mode: IpMode) -> NicSpec {
        NicSpec { index, attach, mode, ..NicSpec::default() }
    }

    fn wrong(nics: Vec<NicSpec>) -> String {
        let mut problems = Problems::default();
        check(nics, &mut problems);
        problems.done().map_or_else(|e| e.to_string(), |()| String::new())
    }

    #[test]
    fn a_list_of_nics_has_one_primary_and_stands_in_order() {
        let net = Attach::Network(NetworkId(Uuid::from_u128(7)));
        let mut problems = Problems::default();
        let nics = check(vec![on(3, net, IpMode::Pool), on(1, Attach::Vdc, IpMode::Dhcp)], &mut problems);
        assert!(problems.done().is_ok());
        assert_eq!(nics.iter().map(|n| (n.index, n.primary)).collect::<Vec<_>>(), [(1, true), (3, false)]);
    }

    #[test]
    fn lists_that_no_machine_can_have_are_refused() {
        let net = Attach::Network(NetworkId(Uuid::from_u128(7)));
        for (nics, words) in [
            (
                vec![on(0, Attach::Vdc, IpMode::Dhcp), on(1, Attach::Vdc, IpMode::Dhcp)],
                "Only one NIC can be on the VDC",
            ),
            (vec![on(0, net, IpMode::Pool), on(0, net, IpMode::Pool)], "Two NICs have the index 0"),
            (vec![on(0, net, IpMode::Manual)], "static address is needed"),
            (vec![on(0, Attach::Vdc, IpMode::Pool)], "hands out addresses by DHCP"),
            (vec![on(0, Attach::Nothing, IpMode::Dhcp)], "it is on no network"),
            (vec![on(12, net, IpMode::Pool)], "from 0 to 9"),
            (vec![NicSpec { mac: "01:00:5e:00:00:01".into(), ..on(0, net, IpMode::Pool) }], "no MAC address"),
            (vec![NicSpec { mac: "x".into(), ..on(0, net, IpMode::Pool) }], "no MAC address"),
            ((0..11).map(|i| on(i, net, IpMode::Pool)).collect(), "At most 10"),
        ] {
            let said = wrong(nics);
            assert!(said.contains(words), "{said} / {words}");
        }
        assert_eq!(wrong(vec![NicSpec { mac: "02-AB-00-00-00-01".into(), ..on(0, net, IpMode::Pool) }]), "");
    }
}
