//! cloud-init's network configuration for a VM whose NICs have addresses of ours. Written as JSON, which is YAML too.
use serde_json::{Map, Value, json};
use std::net::Ipv4Addr;

/// A NIC as the guest is told of it. It knows its cards by their hardware addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestNic {
    pub mac: String,
    pub primary: bool,
    pub address: GuestAddress,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestAddress {
    Static {
        address: Ipv4Addr,
        prefix: u8,
        gateway: Ipv4Addr,
        dns: Vec<Ipv4Addr>,
        dns_suffix: String,
    },
    Dhcp,
    /// The card is left alone.
    None,
}

/// Empty where no NIC has an address of ours: then the guest asks by DHCP, as it does without being told.
pub fn network_data(nics: &[GuestNic]) -> String {
    let ours = |n: &GuestNic| matches!(n.address, GuestAddress::Static { .. });
    if !nics.iter().any(ours) || nics.iter().any(|n| n.mac.is_empty()) {
        return String::new();
    }
    let mut cards = Map::new();
    for (i, nic) in nics.iter().enumerate() {
        let mut card = json!({"match": {"macaddress": nic.mac}});
        match &nic.address {
            GuestAddress::Static { address, prefix, gateway, dns, dns_suffix } => {
                card["addresses"] = json!([format!("{address}/{prefix}")]);
                if nic.primary {
                    card["routes"] = json!([{"to": "0.0.0.0/0", "via": gateway}]);
                }
                let mut names = Map::new();
                if !dns.is_empty() {
                    names.insert("addresses".into(), json!(dns));
                }
                if !dns_suffix.is_empty() {
                    names.insert("search".into(), json!([dns_suffix]));
                }
                if !names.is_empty() {
                    card["nameservers"] = Value::Object(names);
                }
            }
            GuestAddress::Dhcp => {
                card["dhcp4"] = json!(true);
                if !nic.primary {
                    // the way out is the primary's
                    card["dhcp4-overrides"] = json!({"use-routes": false});
                }
            }
            GuestAddress::None => card["optional"] = json!(true),
        }
        cards.insert(format!("nic{i}"), card);
    }
    json!({"version": 2, "ethernets": cards}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_told_only_of_addresses_that_are_ours() {
        let dhcp = GuestNic { mac: "02:00:00:00:00:01".into(), primary: true, address: GuestAddress::Dhcp };
        assert_eq!(network_data(std::slice::from_ref(&dhcp)), "");
        let fixed = GuestNic {
            mac: "02:00:00:00:00:02".into(),
            primary: false,
            address: GuestAddress::Static {
                address: Ipv4Addr::new(10, 0, 0, 5),
                prefix: 24,
                gateway: Ipv4Addr::new(10, 0, 0, 1),
                dns: vec![Ipv4Addr::new(9, 9, 9, 9)],
                dns_suffix: "example.org".into(),
            },
        };
        let data: Value = serde_json::from_str(&network_data(&[dhcp, fixed.clone()])).expect("JSON");
        assert_eq!(data["ethernets"]["nic0"]["dhcp4"], true);
        let second = &data["ethernets"]["nic1"];
        assert_eq!(second["addresses"], json!(["10.0.0.5/24"]));
        assert_eq!(second["nameservers"], json!({"addresses": ["9.9.9.9"], "search": ["example.org"]}));
        assert!(second.get("routes").is_none(), "only the primary leads out");
        let alone = GuestNic { primary: true, ..fixed };
        assert!(network_data(&[alone]).contains("\"via\":\"10.0.0.1\""));
    }
}
