//! Addresses of guests: no two instances that live at the same time share one on the same network.
use super::{chance::Chance, json::Look};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    net::Ipv4Addr,
    sync::{Mutex, PoisonError},
};

/// A network that hands out addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// Tells networks apart that use the same addresses.
    network: String,
    first: u32,
    size: u32,
}

impl Range {
    /// The pod network, as OpenShift has it.
    pub(crate) fn pods() -> Range {
        Range { network: String::new(), first: u32::from_be_bytes([10, 128, 0, 0]), size: 1 << 18 }
    }

    /// A network by its name and subnet, such as `10.20.0.0/24`.
    pub(crate) fn of(network: &str, subnet: &str) -> Option<Range> {
        let (address, bits) = subnet.split_once('/')?;
        let bits: u32 = bits.parse().ok().filter(|b| (1..=30).contains(b))?;
        let size = 1_u32 << (32 - bits);
        let first = u32::from(address.parse::<Ipv4Addr>().ok()?) & !(size - 1);
        Some(Range { network: network.to_owned(), first, size })
    }

    fn key(&self, address: u32) -> (String, u32) {
        (self.network.clone(), address)
    }
}

#[derive(Default)]
pub(crate) struct Addresses {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    of: HashMap<String, HashSet<(String, u32)>>,
    used: HashMap<(String, u32), String>,
}

impl Addresses {
    /// Learns what an instance has, or that it is gone.
    pub(crate) fn note(&self, old: Option<&Value>, new: Option<&Value>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = old.map(Look::uid).filter(|uid| new.map(Look::uid) != Some(*uid));
        if let Some(uid) = gone {
            for key in state.of.remove(uid).unwrap_or_default() {
                state.used.remove(&key);
            }
        }
        // only pods' addresses are told apart by themselves; others are found taken when they are chosen
        let pods = Range::pods();
        for interface in new.map(|n| n.list("/status/interfaces")).unwrap_or_default() {
            let address = interface.text("/ipAddress").and_then(|a| a.parse::<Ipv4Addr>().ok()).map(u32::from);
            if let (Some(address), Some(new)) = (address.filter(|a| a.wrapping_sub(pods.first) < pods.size), new) {
                state.take(pods.key(address), new.uid());
            }
        }
    }

    /// A free address for one instance, the same one when asked again before it is written down. `taken` are those
    /// that others on the network are known to have.
    pub(crate) fn choose(
        &self,
        range: &Range,
        taken: &HashSet<String>,
        chance: Chance,
        uid: &str,
        interface: &str,
    ) -> String {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let start =
            u32::try_from(chance.number(&["address", uid, interface]) % u64::from(range.size)).unwrap_or_default();
        // pods' networks leave the ends of every /24 out, small ones their own ends and the gateway
        let block = range.size.min(256);
        for step in 0..range.size {
            let offset = (start + step) % range.size;
            let place = offset % block;
            if place < 2 || place == block - 1 {
                continue;
            }
            let address = range.first + offset;
            let text = Ipv4Addr::from(address).to_string();
            let free = state.used.get(&range.key(address)).map_or(!taken.contains(&text), |owner| owner == uid);
            if free {
                state.take(range.key(address), uid);
                return text;
            }
        }
        Ipv4Addr::from(range.first + 2).to_string()
    }
}

impl State {
    fn take(&mut self, key: (String, u32), uid: &str) {
        if self.used.get(&key).is_some_and(|owner| owner == uid) {
            return;
        }
        self.used.insert(key.clone(), uid.to_owned());
        self.of.entry(uid.to_owned()).or_default().insert(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn choose(addresses: &Addresses, range: &Range, uid: &str) -> String {
        addresses.choose(range, &HashSet::new(), Chance::new(1), uid, "default")
    }

    #[test]
    fn no_two_living_instances_share_an_address() {
        let addresses = Addresses::default();
        let all: HashSet<String> = (0..5000).map(|i| choose(&addresses, &Range::pods(), &format!("uid-{i}"))).collect();
        assert_eq!(all.len(), 5000);
        assert_eq!(choose(&addresses, &Range::pods(), "uid-7"), choose(&addresses, &Range::pods(), "uid-7"));
    }

    #[test]
    fn a_small_network_gives_all_it_has_and_another_one_the_same() {
        let addresses = Addresses::default();
        let one = Range::of("one", "192.168.7.9/29").unwrap();
        let given: HashSet<String> = (0..5).map(|i| choose(&addresses, &one, &format!("{i}"))).collect();
        let want: HashSet<String> = (10..15).map(|n| format!("192.168.7.{n}")).collect();
        assert_eq!(given, want);
        let two = Range::of("two", "192.168.7.8/29").unwrap();
        assert!(want.contains(&choose(&addresses, &two, "x")));
        let all_but_one: HashSet<String> = (10..14).map(|n| format!("192.168.7.{n}")).collect();
        assert_eq!(Addresses::default().choose(&one, &all_but_one, Chance::new(1), "x", "lan"), "192.168.7.14");
        for bad in ["10.0.0.0", "10.0.0.0/31", "here/24", "fd00::/64"] {
            assert_eq!(Range::of("x", bad), None, "{bad}");
        }
    }

    #[test]
    fn the_address_of_a_dead_instance_is_free_again() {
        let addresses = Addresses::default();
        let first = choose(&addresses, &Range::pods(), "a");
        let vmi = json!({"metadata": {"uid": "a"}, "status": {"interfaces": [{"ipAddress": first}]}});
        addresses.note(None, Some(&vmi));
        addresses.note(Some(&vmi), None);
        assert!(addresses.state.lock().unwrap().used.is_empty());
    }
}
