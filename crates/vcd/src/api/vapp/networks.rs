//! The networks of a vApp: those of its VDC that it is bridged to, and those inside it.
use super::{Shown, nothing};
use crate::{
    answer::Answer,
    api::{
        network::no_more_than_there_is,
        vm::nics::{NO_NETWORK, VDC_NETWORK},
    },
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{action, document, link, reference},
        href::mixed,
        media,
    },
};
use domain::{
    network, vapp,
    vapp_network::{self, Networks},
};
use model::{
    Error, Kind, NetworkId, Result, VappId,
    network::{Network, NetworkForm, NetworkType},
    nic::Attach,
    query::Numbered,
    vapp::Vapp,
    vm::Vm,
};
use std::fmt::Display;
use uuid::Uuid;
use xml::{Element, Writer};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/vApp/vapp-{id}/networkConfigSection", get)
        .put("/api/vApp/vapp-{id}/networkConfigSection", set)
        .get("/api/vApp/vapp-{id}/networkSection", get_names)
}

/// With the ids that they have as parts of this vApp. Networks that a machine is on without the vApp being bridged to them are among them.
pub(crate) async fn of(ask: &Ask, v: &Vapp, vms: &[Vm]) -> Result<Vec<(Uuid, Network, bool)>> {
    let found =
        vapp_network::query(ask.d(), &ask.actor, Some(v.org), &Numbered::with("vApp", v.id.to_string())).await?;
    let mut all: Vec<_> = found.items.into_iter().map(|n| (n.id, n.network, n.bridged)).collect();
    let used: Vec<NetworkId> = vms.iter().flat_map(|vm| &vm.nics).filter_map(|n| n.spec.attach.network()).collect();
    if used.iter().any(|id| !all.iter().any(|(_, n, _)| n.id == *id)) {
        for network in vapp_network::list(ask.d(), &ask.actor, v.id).await? {
            if used.contains(&network.id) && !all.iter().any(|(_, n, _)| n.id == network.id) {
                let inside = network.vapp.is_some();
                all.push((mixed(v.id.0, network.id.0), network, !inside));
            }
        }
    }
    all.sort_by(|a, b| a.1.name().cmp(b.1.name()));
    Ok(all)
}

fn on_vdc_network(vms: &[Vm]) -> bool {
    vms.iter().flat_map(|vm| &vm.nics).any(|n| n.spec.attach == Attach::Vdc)
}

/// Their names alone, as OVF has them.
pub(crate) fn names(w: &mut Writer, shown: &Shown) {
    w.el("ovf:NetworkSection", &[], |w| name_list(w, shown));
}

fn name_list(w: &mut Writer, shown: &Shown) {
    w.text("ovf:Info", "The list of logical networks");
    let own = on_vdc_network(&shown.vms).then_some(VDC_NETWORK);
    let none = shown.networks.is_empty().then_some(NO_NETWORK).filter(|_| own.is_none());
    for name in shown.networks.iter().map(|(_, n, _)| n.name()).chain(own).chain(none) {
        w.el("ovf:Network", &[("ovf:name", &name)], |w| w.text("ovf:Description", ""));
    }
}

pub(crate) fn section(w: &mut Writer, ask: &Ask, shown: &Shown) {
    let href = format!("{}/networkConfigSection/", ask.base().vapp(shown.vapp.id));
    let attributes: [(&str, &dyn Display); 3] =
        [("href", &href), ("type", &media::NETWORK_CONFIG), ("ovf:required", &false)];
    w.el("NetworkConfigSection", &attributes, |w| content(w, ask, &href, shown));
}

/// There is always one: clients loop over them without looking.
fn content(w: &mut Writer, ask: &Ask, href: &str, shown: &Shown) {
    w.text("ovf:Info", "The configuration parameters for logical networks");
    link(w, "edit", href, media::NETWORK_CONFIG);
    for (id, network, bridged) in &shown.networks {
        config(w, ask, *id, network, *bridged);
    }
    let own = on_vdc_network(&shown.vms);
    if own {
        bare(w, ask, mixed(shown.vapp.id.0, shown.vapp.vdc.0), VDC_NETWORK, "bridged");
    }
    if shown.networks.is_empty() && !own {
        bare(w, ask, shown.vapp.id.0, NO_NETWORK, "isolated");
    }
}

fn config(w: &mut Writer, ask: &Ask, id: Uuid, network: &Network, bridged: bool) {
    let spec = &network.spec;
    w.el("NetworkConfig", &[("networkName", &network.name())], |w| {
        action(w, "repair", ask.base().api(format_args!("admin/network/{id}/action/reset")));
        w.text("Description", &spec.description);
        w.el("Configuration", &[], |w| {
            w.text("BackwardCompatibilityMode", false);
            w.el("IpScopes", &[], |w| {
                w.el("IpScope", &[], |w| {
                    w.text("IsInherited", bridged);
                    w.text("Gateway", spec.gateway);
                    w.text("Netmask", spec.subnet().netmask());
                    w.text("SubnetPrefixLength", spec.prefix);
                    for (i, dns) in spec.dns.iter().take(2).enumerate() {
                        w.text(if i == 0 { "Dns1" } else { "Dns2" }, dns);
                    }
                    if !spec.dns_suffix.is_empty() {
                        w.text("DnsSuffix", &spec.dns_suffix);
                    }
                    w.text("IsEnabled", true);
                    if !spec.ranges.is_empty() {
                        w.el("IpRanges", &[], |w| {
                            for range in &spec.ranges {
                                w.el("IpRange", &[], |w| {
                                    w.text("StartAddress", range.start);
                                    w.text("EndAddress", range.end);
                                });
                            }
                        });
                    }
                });
            });
            if bridged {
                let href = ask.base().network(network.id);
                reference(w, "ParentNetwork", href, network.id.urn(), network.name(), media::NETWORK);
            }
            w.text("FenceMode", if bridged { "bridged" } else { "isolated" });
            w.text("RetainNetInfoAcrossDeployments", false);
            // where it is off it is left out: Terraform would take it for one that somebody asked for
            if !bridged && spec.dhcp {
                w.el("Features", &[], |w| {
                    w.el("DhcpService", &[], |w| w.text("IsEnabled", true));
                });
            }
            w.text("GuestVlanAllowed", false);
        });
        w.text("IsDeployed", network.nics > 0);
    });
}

/// One that nobody made: the VDC's own, or none at all.
fn bare(w: &mut Writer, ask: &Ask, id: Uuid, name: &str, fence: &str) {
    w.el("NetworkConfig", &[("networkName", &name)], |w| {
        action(w, "repair", ask.base().api(format_args!("admin/network/{id}/action/reset")));
        w.text("Description", "");
        w.el("Configuration", &[], |w| {
            w.el("IpScopes", &[], |w| {
                w.el("IpScope", &[], |w| {
                    w.text("IsInherited", fence == "bridged");
                    w.text("IsEnabled", true);
                });
            });
            w.text("FenceMode", fence);
            w.text("RetainNetInfoAcrossDeployments", false);
            w.text("GuestVlanAllowed", false);
        });
        w.text("IsDeployed", false);
    });
}

async fn get(ask: Ask) -> Result<Answer> {
    let shown = super::shown(&ask, ask.id(Kind::Vapp)?).await?;
    let href = format!("{}/networkConfigSection/", ask.base().vapp(shown.vapp.id));
    let attributes: [(&str, &dyn Display); 3] =
        [("href", &href), ("type", &media::NETWORK_CONFIG), ("ovf:required", &false)];
    let text = document("NetworkConfigSection", &attributes, |w| content(w, &ask, &href, &shown));
    Ok(Answer::xml(media::NETWORK_CONFIG, text))
}

async fn get_names(ask: Ask) -> Result<Answer> {
    let shown = super::shown(&ask, ask.id(Kind::Vapp)?).await?;
    Ok(Answer::xml(media::NETWORK_SECTION, document("ovf:NetworkSection", &[], |w| name_list(w, &shown))))
}

/// A network that a section asks for.
pub(crate) enum Wanted {
    Bridge(NetworkId),
    /// With the id of the one that there is, if the section names it: it may have another name now.
    Inside(Box<NetworkForm>, Option<Uuid>),
}

impl Wanted {
    fn is(&self, name: &str, id: Uuid, network: &Network) -> bool {
        match self {
            Wanted::Inside(_, Some(known)) if *known == id => true,
            _ => network.name() == name,
        }
    }
}

/// What a section says, by name. What stands for no network, and the VDC's own, are nobody's to add.
pub(crate) fn read(section: &Element, reach: &[Network]) -> Result<Vec<(String, Wanted)>> {
    let configs = section.all("NetworkConfig");
    let named = configs.filter_map(|c| Some((c.attr("networkName")?.trim(), c)));
    named
        .filter(|(name, _)| !matches!(*name, "" | NO_NETWORK | VDC_NETWORK))
        .map(|(name, c)| one(name, c, reach))
        .collect()
}

fn one(name: &str, config: &Element, reach: &[Network]) -> Result<(String, Wanted)> {
    let shown = crate::ask::shown(name);
    let Some(c) = config.child("Configuration") else {
        return Err(Error::BadRequest(format!("The network {shown} has no Configuration.")));
    };
    no_more_than_there_is(name, Some(c), c.at(&["Features", "DhcpService"]))?;
    if let Some(parent) = c.child("ParentNetwork") {
        if c.word("FenceMode") == Some("natRouted") {
            return Err(Error::NotNow(format!("Not now: the network {shown} can be bridged, and not fenced.")));
        }
        let by_id = parent.id().map(NetworkId);
        let by_name = parent.attr("name").unwrap_or(name);
        let found = reach.iter().find(|n| Some(n.id) == by_id || (by_id.is_none() && n.name() == by_name));
        let found = found.ok_or_else(|| Error::BadRequest(format!("There is no network {shown} in this VDC.")))?;
        return Ok((name.to_owned(), Wanted::Bridge(found.id)));
    }
    let fence = c.word("FenceMode").unwrap_or("isolated");
    let scope = c.child("IpScopes").and_then(|s| s.child("IpScope")).or_else(|| c.child("IpScope"));
    let text = |name: &str| scope.and_then(|s| s.word(name)).unwrap_or_default().to_owned();
    let range = |r: &Element| Some(format!("{}-{}", r.word("StartAddress")?, r.word("EndAddress")?));
    let ranges: Vec<String> = scope
        .and_then(|s| s.child("IpRanges"))
        .map(|r| r.all("IpRange").filter_map(range).collect())
        .unwrap_or_default();
    let dhcp = c.at(&["Features", "DhcpService"]).map(|d| d.on("IsEnabled")).transpose()?.unwrap_or(false);
    let prefix = match text("SubnetPrefixLength") {
        length if !length.is_empty() => length,
        _ => prefix_of(&text("Netmask"))?,
    };
    Ok((
        name.to_owned(),
        Wanted::Inside(
            Box::new(NetworkForm {
                name: name.to_owned(),
                description: config.word("Description").unwrap_or_default().to_owned(),
                network_type: NetworkType::parse(fence).unwrap_or_default(),
                gateway: text("Gateway"),
                prefix,
                dns1: text("Dns1"),
                dns2: text("Dns2"),
                dns_suffix: text("DnsSuffix"),
                ranges: ranges.join("\n"),
                dhcp,
                shared: false,
            }),
            config.child("Link").and_then(Read::id),
        ),
    ))
}

/// `255.255.255.0` is 24.
pub(crate) fn prefix_of(mask: &str) -> Result<String> {
    let bits = mask.trim().parse::<std::net::Ipv4Addr>().map(u32::from).ok();
    match bits.filter(|b| b.leading_ones() + b.trailing_zeros() == 32) {
        Some(bits) => Ok(bits.leading_ones().to_string()),
        None => Err(Error::BadRequest(format!("“{}” is no Netmask, such as 255.255.255.0.", crate::ask::shown(mask)))),
    }
}

/// Those that are not there yet, to be made with what else is asked for, and those that are.
pub(crate) fn new_ones(
    wanted: Vec<(String, Wanted)>,
    now: &[(Uuid, Network, bool)],
) -> (Networks, Vec<(String, Wanted)>) {
    let (mut new, mut there) = (Networks::default(), Vec::new());
    for (name, one) in wanted {
        match one {
            one if now.iter().any(|(id, n, _)| one.is(&name, *id, n)) => there.push((name, one)),
            Wanted::Bridge(network) => new.bridges.push(network),
            Wanted::Inside(form, _) => new.inside.push((NetworkId(Uuid::now_v7()), *form)),
        }
    }
    (new, there)
}

/// Everything is looked at before anything is changed: the list is all networks as they are to be.
async fn set(ask: Ask) -> Result<Answer> {
    let body = ask.xml("NetworkConfigSection")?;
    let id: VappId = ask.id(Kind::Vapp)?;
    let (v, vms) = vapp::with_vms(ask.d(), &ask.actor, id).await?;
    let now = of(&ask, &v, &vms).await?;
    let reach = network::in_reach(ask.d(), &ask.actor, v.vdc).await?;
    let wanted = read(&body, &reach)?;
    apply(&ask, id, &now, wanted).await?;
    nothing(&ask, &v).await
}

/// What is not wanted goes, what is new comes, and what is inside may change.
pub(crate) async fn apply(
    ask: &Ask,
    id: VappId,
    now: &[(Uuid, Network, bool)],
    wanted: Vec<(String, Wanted)>,
) -> Result<()> {
    for (_, network, _) in now.iter().filter(|(i, n, _)| !wanted.iter().any(|(name, one)| one.is(name, *i, n))) {
        vapp_network::remove(ask.d(), &ask.actor, id, network.id).await?;
    }
    for (name, one) in wanted {
        let known = now.iter().find(|(i, n, _)| one.is(&name, *i, n)).map(|(_, n, _)| n);
        match (one, known) {
            (Wanted::Inside(form, _), Some(known)) if known.vapp.is_some() => edit(ask, known, *form).await?,
            (_, Some(_)) => (),
            (Wanted::Bridge(network), None) => vapp_network::bridge(ask.d(), &ask.actor, id, network).await?,
            (Wanted::Inside(form, _), None) => drop(vapp_network::create(ask.d(), &ask.actor, id, *form).await?),
        }
    }
    Ok(())
}

async fn edit(ask: &Ask, known: &Network, form: NetworkForm) -> Result<()> {
    if form.clone().check()? != known.spec {
        network::edit(ask.d(), &ask.actor, known.id, known.version, form).await?;
    }
    Ok(())
}
