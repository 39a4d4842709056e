//! Addresses of guests: no two instances that live at the same time share one.
use super::{chance::Chance, json::Look};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    net::Ipv4Addr,
    sync::{Mutex, PoisonError},
};

/// The pod network, 10.128.0.0/14, as OpenShift has it.
const NETWORK: u32 = u32::from_be_bytes([10, 128, 0, 0]);
const SIZE: u32 = 1 << 18;

#[derive(Default)]
pub(crate) struct Addresses {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    of: HashMap<String, HashSet<String>>,
    used: HashMap<String, String>,
}

impl Addresses {
    /// Learns what an instance has, or that it is gone.
    pub(crate) fn note(&self, old: Option<&Value>, new: Option<&Value>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = old.map(Look::uid).filter(|uid| new.map(Look::uid) != Some(*uid));
        if let Some(uid) = gone {
            for address in state.of.remove(uid).unwrap_or_default() {
                state.used.remove(&address);
            }
        }
        if let Some(new) = new {
            for interface in new.list("/status/interfaces") {
                if let Some(address) = interface.text("/ipAddress") {
                    state.take(address, new.uid());
                }
            }
        }
    }

    /// A free address for one instance, the same one when asked again before it is written down.
    pub(crate) fn choose(&self, chance: Chance, uid: &str, interface: &str) -> String {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let first = u32::try_from(chance.number(&["address", uid, interface]) % u64::from(SIZE)).unwrap_or_default();
        for step in 0..SIZE {
            let offset = (first + step) % SIZE;
            let last = offset & 0xff;
            if last < 2 || last == 255 {
                continue;
            }
            let address = Ipv4Addr::from(NETWORK + offset).to_string();
            if state.used.get(&address).is_none_or(|owner| owner == uid) {
                state.take(&address, uid);
                return address;
            }
        }
        Ipv4Addr::from(NETWORK + 2).to_string()
    }
}

impl State {
    fn take(&mut self, address: &str, uid: &str) {
        if self.used.get(address).is_some_and(|owner| owner == uid) {
            return;
        }
        self.used.insert(address.to_owned(), uid.to_owned());
        self.of.entry(uid.to_owned()).or_default().insert(address.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_two_living_instances_share_an_address() {
        let addresses = Addresses::default();
        let all: HashSet<String> =
            (0..5000).map(|i| addresses.choose(Chance::new(1), &format!("uid-{i}"), "default")).collect();
        assert_eq!(all.len(), 5000);
        assert_eq!(
            addresses.choose(Chance::new(1), "uid-7", "default"),
            addresses.choose(Chance::new(1), "uid-7", "default")
        );
    }

    #[test]
    fn the_address_of_a_dead_instance_is_free_again() {
        let addresses = Addresses::default();
        let first = addresses.choose(Chance::new(1), "a", "default");
        let vmi = json!({"metadata": {"uid": "a"}, "status": {"interfaces": [{"ipAddress": first}]}});
        addresses.note(None, Some(&vmi));
        addresses.note(Some(&vmi), None);
        assert!(addresses.state.lock().unwrap().used.is_empty());
    }
}
