//! A VM's NICs: their networks before it, the changes to them, and what it leaves behind.
use super::{
    super::{network, told},
    apply::Machine,
};
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
};
use hub::{
    read::{self, AskedNic},
    resource::VM_INSTANCES,
    shape::{
        network_data::{self, GuestAddress, GuestNic},
        patch,
        vm::{Attachment, Nic},
    },
};
use model::{
    HubId, Result,
    nic::{Adapter, Attach, IpMode},
};
use serde_json::Value;
use std::time::Duration;
use store::{NicWork, Place, VmWork};

/// As the hub should have them. One that is on no network is not there at all: KubeVirt knows no such card.
pub(super) fn shaped(nics: &[NicWork], there: &Place) -> Vec<Nic> {
    let one = |n: &NicWork| {
        let network = match (n.spec.attach, &n.network) {
            (Attach::Vdc, _) if there.own_network => Attachment::Primary,
            (Attach::Vdc, _) => Attachment::Pod,
            (Attach::Network(_), Some(network)) => Attachment::Network(network.hub_name.clone()),
            _ => return None,
        };
        Some(Nic {
            name: n.spec.name.clone(),
            network,
            mac: Some(n.spec.mac.clone()).filter(|m| !m.is_empty()),
            model: Some(n.spec.adapter).filter(|a| *a != Adapter::Auto).map(|a| a.key().to_owned()),
            connected: n.spec.connected,
        })
    };
    nics.iter().filter_map(one).collect()
}

/// What its guest is told; empty: nothing.
pub(super) fn guest_data(nics: &[NicWork]) -> String {
    network_data::network_data(&guest_nics(nics))
}

/// Its cards as its guest is told of them.
pub(super) fn guest_nics(nics: &[NicWork]) -> Vec<GuestNic> {
    let one = |n: &NicWork| {
        let address = match (n.spec.mode, n.spec.address, &n.network) {
            (_, Some(address), Some(network)) => GuestAddress::Static {
                address,
                prefix: network.prefix,
                gateway: network.gateway,
                dns: network.dns.clone(),
                dns_suffix: network.dns_suffix.clone(),
            },
            (IpMode::Dhcp, ..) => GuestAddress::Dhcp,
            _ => GuestAddress::None,
        };
        GuestNic { mac: n.spec.mac.clone(), primary: n.spec.primary, address }
    };
    nics.iter().filter(|n| n.spec.attach != Attach::Nothing).map(one).collect()
}

/// Its networks come first. None: they are all there.
pub(super) async fn networks(shared: &Shared, vm: &VmWork, hub: &HubId) -> Result<Option<Outcome>> {
    for n in vm.nics.iter().filter_map(|n| n.network.as_ref()) {
        if shared.store.network_ready(n.id, vm.vdc, hub).await? {
            continue;
        }
        if let Some(why) = shared.store.network_trouble(n.id).await? {
            // it is tried again with whatever is wished next
            shared.store.enqueue(model::Kind::Network, n.id, vm.org, "").await?;
            return Ok(Some(Outcome::Failed(why.into())));
        }
        network::want(shared, n.id, vm.vdc, vm.org, hub).await?;
        let why = format!("The network {} is being made on its hub.", n.name);
        return Ok(Some(Outcome::Wait(Duration::from_secs(5), why.into())));
    }
    Ok(None)
}

fn as_asked(wanted: &[Nic], there: &[AskedNic]) -> bool {
    let there: Vec<&AskedNic> = there.iter().filter(|n| !n.absent).collect();
    let same = |(w, t): (&Nic, &&AskedNic)| {
        let network = match &w.network {
            Attachment::Pod | Attachment::Primary => "pod",
            Attachment::Network(name) => name,
        };
        w.name == t.name
            && network == t.network
            && w.connected == t.connected
            && w.mac.as_ref().is_none_or(|m| t.mac.as_ref().is_some_and(|has| has.eq_ignore_ascii_case(m)))
            && w.model.as_ref().is_none_or(|m| t.model.as_ref() == Some(m))
    };
    wanted.len() == there.len() && wanted.iter().zip(&there).all(same)
}

/// What brings them to what was asked for, if they were chosen here. None: nothing is to be done.
pub(super) fn change(on: &Machine<'_>, vm: &VmWork, now: &read::VmPart, seen: &Value) -> Option<Value> {
    if !vm.nics_set {
        return None;
    }
    let wanted = shaped(&vm.nics, on.there);
    if as_asked(&wanted, &now.nics) {
        return None;
    }
    let runs = !matches!(now.printable.as_str(), "" | "Stopped" | "Provisioning");
    Some(patch::nics(on.uid, &wanted, seen, runs))
}

/// Gives back the addresses that it does not have any more, once that is sure.
pub(super) async fn release(shared: &Shared, vm: &VmWork, on: &Machine<'_>) -> Result<Outcome> {
    let there = match on.client.get(&VM_INSTANCES, on.key).await {
        Ok(object) => read::instance(&object).map(|i| i.attached).unwrap_or_default(),
        Err(hub::Error::NotFound(_)) => Vec::new(),
        Err(e) => told!(Err(e)),
    };
    at(Step::NicsRelease, shared.store.nics_release(vm.id, &there)).await?;
    Ok(Outcome::Done)
}
