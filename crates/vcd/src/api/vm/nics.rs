//! A machine's network cards: the network connection section.
use super::reconfigure;
use crate::{
    answer::Answer,
    api::task,
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{document, link},
        media, rasd,
    },
};
use domain::{network, nic, vapp_network, vm};
use model::{
    Action, Error, Kind, Result, VappId, VdcId, VmId,
    network::Network,
    nic::{Adapter, Attach, IpMode, Nic, NicSpec},
    vm::Vm,
};
use std::{fmt::Display, net::Ipv4Addr};
use xml::{Element, Writer};

/// What the VDC's own network is called: it is no network that anybody made.
pub(crate) const VDC_NETWORK: &str = "vdc-network";
pub(crate) const NO_NETWORK: &str = "none";

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.get("/api/vApp/vm-{id}/networkConnectionSection", get).put("/api/vApp/vm-{id}/networkConnectionSection", set)
}

pub(crate) fn network_name(nic: &Nic) -> &str {
    match nic.spec.attach {
        Attach::Network(_) => &nic.network_name,
        Attach::Vdc => VDC_NETWORK,
        Attach::Nothing => NO_NETWORK,
    }
}

pub(crate) fn mode(nic: &Nic) -> &'static str {
    mode_word(nic.spec.mode)
}

pub(crate) fn mode_word(mode: IpMode) -> &'static str {
    match mode {
        IpMode::Pool => "POOL",
        IpMode::Manual => "MANUAL",
        IpMode::Dhcp => "DHCP",
        IpMode::None => "NONE",
    }
}

/// What it was given, else what its hub reports.
pub(crate) fn address(nic: &Nic) -> Option<String> {
    let seen = || nic.seen_ips.iter().find(|ip| ip.parse::<Ipv4Addr>().is_ok()).or(nic.seen_ips.first()).cloned();
    nic.spec.address.map(|a| a.to_string()).or_else(seen)
}

pub(crate) fn mac(nic: &Nic) -> &str {
    if nic.spec.mac.is_empty() { &nic.seen_mac } else { &nic.spec.mac }
}

pub(crate) fn section(w: &mut Writer, ask: &Ask, vm: &Vm) {
    let href = format!("{}/networkConnectionSection/", ask.base().vm(vm.id));
    let attributes: [(&str, &dyn Display); 3] =
        [("href", &href), ("type", &media::NETWORK_CONNECTION), ("ovf:required", &false)];
    w.el("NetworkConnectionSection", &attributes, |w| content(w, &href, vm));
}

fn content(w: &mut Writer, href: &str, vm: &Vm) {
    w.text("ovf:Info", "Specifies the available VM network connections");
    let primary = vm.nics.iter().find(|n| n.spec.primary).map_or(0, |n| n.spec.index);
    w.text("PrimaryNetworkConnectionIndex", primary);
    for nic in &vm.nics {
        let attributes: [(&str, &dyn Display); 2] = [("network", &network_name(nic)), ("needsCustomization", &false)];
        w.el("NetworkConnection", &attributes, |w| {
            w.text("NetworkConnectionIndex", nic.spec.index);
            if let Some(ip) = address(nic) {
                w.text("IpAddress", ip);
                w.text("IpType", "IPV4");
            }
            w.text("IsConnected", nic.spec.connected);
            if !mac(nic).is_empty() {
                w.text("MACAddress", mac(nic));
            }
            w.text("IpAddressAllocationMode", mode(nic));
            w.text("SecondaryIpAddressAllocationMode", "NONE");
            w.text("NetworkAdapterType", rasd::adapter(nic.spec.adapter));
        });
    }
    link(w, "edit", href, media::NETWORK_CONNECTION);
}

async fn get(ask: Ask) -> Result<Answer> {
    let vm = vm::get(ask.d(), &ask.actor, ask.id(Kind::Vm)?).await?;
    let href = format!("{}/networkConnectionSection/", ask.base().vm(vm.id));
    let attributes: [(&str, &dyn Display); 3] =
        [("href", &href), ("type", &media::NETWORK_CONNECTION), ("ovf:required", &false)];
    let text = document("NetworkConnectionSection", &attributes, |w| content(w, &href, &vm));
    Ok(Answer::xml(media::NETWORK_CONNECTION, text))
}

async fn set(ask: Ask) -> Result<Answer> {
    let body = ask.xml("NetworkConnectionSection")?;
    let id: VmId = ask.id(Kind::Vm)?;
    let vm = vm::get(ask.d(), &ask.actor, id).await?;
    let nics = read(&body, &reach(&ask, vm.vdc, Some(vm.vapp)).await?)?;
    apply(&ask, id, nics, Action::VmNics).await
}

/// The networks that machines of a VDC, and of a vApp in it, can be on.
pub(crate) async fn reach(ask: &Ask, vdc: VdcId, vapp: Option<VappId>) -> Result<Vec<Network>> {
    let mut all = match vapp {
        Some(id) => vapp_network::list(ask.d(), &ask.actor, id).await?,
        None => Vec::new(),
    };
    all.extend(network::in_reach(ask.d(), &ask.actor, vdc).await?);
    Ok(all)
}

/// The cards of a section. Those on networks that nobody knows are an error that names them.
pub(crate) fn read(section: &Element, reach: &[Network]) -> Result<Vec<NicSpec>> {
    let primary: Option<i16> = section.number("PrimaryNetworkConnectionIndex")?;
    let one = |(i, c): (usize, &Element)| {
        let index = c.number("NetworkConnectionIndex")?.unwrap_or(i as i16);
        let attach = attach(c.attr("network").unwrap_or(NO_NETWORK), reach)?;
        let mode = match (attach, c.word("IpAddressAllocationMode")) {
            (Attach::Nothing, _) => IpMode::None,
            (Attach::Vdc, _) => IpMode::Dhcp,
            (Attach::Network(_), None) => IpMode::Dhcp,
            (Attach::Network(_), Some(word)) => IpMode::parse(word).ok_or_else(|| {
                Error::BadRequest(format!("“{}” is no IpAddressAllocationMode.", crate::ask::shown(word)))
            })?,
        };
        let mode = handed_out(mode, attach, reach);
        let address = match (mode, c.word("IpAddress")) {
            (IpMode::Manual, Some(text)) => Some(
                text.parse()
                    .map_err(|_| Error::BadRequest(format!("“{}” is no IPv4 address.", crate::ask::shown(text))))?,
            ),
            _ => None,
        };
        let adapter = match c.word("NetworkAdapterType") {
            None => Adapter::Auto,
            Some(word) => Adapter::parse(word).unwrap_or_default(),
        };
        Ok(NicSpec {
            index,
            name: String::new(),
            attach,
            mode,
            address,
            mac: c.word("MACAddress").unwrap_or_default().to_owned(),
            // absent is false for clients that leave out what is false, and true for those that say nothing about it
            connected: c.flag("IsConnected")?.unwrap_or(true),
            primary: primary == Some(index),
            adapter,
        })
    };
    section.all("NetworkConnection").enumerate().map(one).collect()
}

/// Clients say DHCP where they mean that nobody chose an address. A network that hands none out by itself gives one of its pool,
/// or none if it has no pool.
fn handed_out(mode: IpMode, attach: Attach, reach: &[Network]) -> IpMode {
    match attach.network().and_then(|id| reach.iter().find(|n| n.id == id)) {
        Some(n) if mode == IpMode::Dhcp && !n.spec.dhcp && n.spec.ranges.is_empty() => IpMode::None,
        Some(n) if mode == IpMode::Dhcp && !n.spec.dhcp => IpMode::Pool,
        _ => mode,
    }
}

pub(crate) fn attach(name: &str, reach: &[Network]) -> Result<Attach> {
    match name {
        "" | NO_NETWORK => Ok(Attach::Nothing),
        VDC_NETWORK => Ok(Attach::Vdc),
        name => match reach.iter().find(|n| n.name() == name && !n.deleted) {
            Some(network) => Ok(Attach::Network(network.id)),
            None => {
                let shown = crate::ask::shown(name);
                Err(Error::BadRequest(format!("There is no network {shown} in this vApp or VDC. Add it first.")))
            }
        },
    }
}

/// The same from hardware items: those that are known stay, with another network where that is said.
pub(crate) async fn from_items(ask: &Ask, vm: &Vm, list: &Element) -> Result<Vec<NicSpec>> {
    let reach = reach(ask, vm.vdc, Some(vm.vapp)).await?;
    let cards = list.all("Item").filter(|i| i.word("ResourceType") == Some("10"));
    let one = |item: &Element| {
        let index: i16 = item.number("AddressOnParent")?.unwrap_or_default();
        let known = vm.nics.iter().find(|n| n.spec.index == index);
        let connection = item.child("Connection");
        let network = connection.map(|c| c.text.trim()).unwrap_or_default();
        let attach = attach(network, &reach)?;
        let before = known.map(|n| n.spec.clone()).unwrap_or_default();
        let said = connection.and_then(|c| c.attr("ipAddressingMode")).and_then(IpMode::parse);
        let mode = match attach {
            Attach::Nothing => IpMode::None,
            Attach::Vdc => IpMode::Dhcp,
            Attach::Network(_) => said.unwrap_or(before.mode),
        };
        let address = connection.and_then(|c| c.attr("ipAddress")).and_then(|a| a.parse().ok());
        let address = if mode == IpMode::Manual { address.or(before.address) } else { None };
        let adapter = item.word("ResourceSubType").and_then(Adapter::parse).unwrap_or(before.adapter);
        let mac = item.word("Address").unwrap_or(&before.mac).to_owned();
        // a new card is plugged in, and the first one where nobody says another
        let connected = item.flag("AutomaticAllocation")?.unwrap_or(known.is_none() || before.connected);
        let said = connection.map(|c| c.flag("primaryNetworkConnection")).transpose()?.flatten();
        let primary = said.unwrap_or(before.primary);
        Ok(NicSpec { index, attach, mode, address, adapter, mac, connected, primary, ..before })
    };
    cards.map(one).collect()
}

/// Sets them all, if that changes anything.
pub(crate) async fn apply(ask: &Ask, id: VmId, nics: Vec<NicSpec>, doing: Action) -> Result<Answer> {
    debug_assert_eq!(doing, Action::VmNics);
    let vm = vm::get(ask.d(), &ask.actor, id).await?;
    match set_nics(ask, &vm, nics).await? {
        Some(task) => task::accepted(ask, Some(task)).await,
        None => reconfigure::nothing(ask, &vm).await,
    }
}

/// As they are asked for, with what is not said of those that are there.
pub(crate) fn kept(vm: &Vm, nics: &[NicSpec]) -> Vec<NicSpec> {
    let keeps = |n: &NicSpec| {
        let known = vm.nics.iter().find(|k| k.spec.index == n.index).map(|k| &k.spec);
        // a card that is not said to be another one keeps its name and its finer kind
        known.map_or_else(
            || n.clone(),
            |k| {
                let same_kind = rasd::adapter(k.adapter) == rasd::adapter(n.adapter);
                let mac = if n.mac.is_empty() { k.mac.clone() } else { n.mac.to_lowercase() };
                NicSpec {
                    name: k.name.clone(),
                    adapter: if same_kind { k.adapter } else { n.adapter },
                    mac,
                    ..n.clone()
                }
            },
        )
    };
    let mut nics: Vec<NicSpec> = nics.iter().map(keeps).collect();
    nics.sort_by_key(|n| n.index);
    nics
}

/// As they are to be; None: they are so already.
pub(crate) fn changed(vm: &Vm, nics: &[NicSpec]) -> Option<Vec<NicSpec>> {
    let nics = kept(vm, nics);
    let same = |a: &NicSpec, b: &NicSpec| {
        let address = a.mode != IpMode::Manual || a.address == b.address;
        (a.index, a.attach, a.mode, &a.mac, a.connected, a.primary, a.adapter)
            == (b.index, b.attach, b.mode, &b.mac, b.connected, b.primary, b.adapter)
            && address
    };
    let all_same = nics.len() == vm.nics.len() && nics.iter().zip(&vm.nics).all(|(a, b)| same(a, &b.spec));
    (!all_same).then_some(nics)
}

/// None: they are so already.
pub(crate) async fn set_nics(ask: &Ask, vm: &Vm, nics: Vec<NicSpec>) -> Result<Option<model::TaskId>> {
    match changed(vm, &nics) {
        Some(nics) => nic::set(ask.d(), &ask.actor, vm.id, vm.version, nics).await,
        None => Ok(None),
    }
}
