//! Networks: those of a VDC, and those inside a vApp or bridged into one, which have ids of their own there.
use crate::{
    answer::Answer,
    api::task,
    ask::{Ask, shown},
    routes::Routes,
    wire::{
        body::Read,
        doc::{action, document, link, reference},
        media,
    },
};
use domain::{network, task::Noted, vapp_network};
use model::{
    Action, Error, Kind, NetworkId, Result, VdcId, can,
    decide::Resource,
    network::{Network, NetworkForm, NetworkType, VappNetwork},
    query::Numbered,
    task::Task,
};
use std::{fmt::Display, net::Ipv4Addr};
use xml::{Element, Writer};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .post("/api/admin/vdc/{id}/networks", create)
        .get("/api/network/{id}", |ask| get(ask, View::Reader))
        .get("/api/admin/network/{id}", |ask| get(ask, View::Admin))
        .put("/api/network/{id}", edit)
        .put("/api/admin/network/{id}", edit)
        .delete("/api/network/{id}", delete)
        .delete("/api/admin/network/{id}", delete)
        .get("/api/network/{id}/allocatedAddresses", addresses)
        .get("/api/admin/network/{id}/allocatedAddresses", addresses)
        .post("/api/network/{id}/action/reset", no_reset)
        .post("/api/admin/network/{id}/action/reset", no_reset)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Reader,
    Admin,
}

/// What an id stands for.
enum Found {
    OfVdc(Network),
    /// One inside a vApp, or the place of one of its VDC's in it.
    InVapp(VappNetwork),
}

async fn found(ask: &Ask) -> Result<Found> {
    let id: NetworkId = ask.id(Kind::Network)?;
    match network::get(ask.d(), &ask.actor, id).await {
        Ok(network) if network.vapp.is_none() => return Ok(Found::OfVdc(network)),
        Ok(_) | Err(Error::NotFound(_) | Error::Forbidden { .. }) => {}
        Err(e) => return Err(e),
    }
    let q = Numbered::with("id", id.to_string());
    let inside = vapp_network::query(ask.d(), &ask.actor, None, &q).await?.items;
    inside.into_iter().next().map(Found::InVapp).ok_or(Error::NotFound(Kind::Network))
}

async fn get(ask: Ask, view: View) -> Result<Answer> {
    match found(&ask).await? {
        Found::OfVdc(network) => {
            let tasks = domain::task::about(ask.d(), &ask.actor, network.org, network.id.0).await?;
            let under_way: Vec<Task> = tasks.into_iter().filter(|t| !t.status.ended()).collect();
            Ok(render(&ask, &network, view, &under_way))
        }
        Found::InVapp(inside) => Ok(render_inside(&ask, &inside)),
    }
}

async fn create(ask: Ask) -> Result<Answer> {
    let vdc: VdcId = ask.id(Kind::Vdc)?;
    let form = form(&ask.xml("OrgVdcNetwork")?, NetworkForm::default())?;
    let made = network::create(ask.d(), &ask.actor, vdc, form).await?;
    let began = task::about(&ask, Action::NetworkCreate, noted(&made)).await?;
    Ok(render(&ask, &made, View::Admin, &[began]).created(ask.base().admin_network(made.id)))
}

fn noted(network: &Network) -> Noted {
    Noted { org: network.org, id: network.id.0, name: network.name().to_owned(), owner: None }
}

/// Over what is there: what is left out stays.
fn form(body: &Element, mut form: NetworkForm) -> Result<NetworkForm> {
    let set = |field: &mut String, value: Option<&str>| {
        if let Some(value) = value {
            value.clone_into(field);
        }
    };
    let dhcp =
        body.at(&["ServiceConfig", "DhcpService"]).or_else(|| body.at(&["Configuration", "Features", "DhcpService"]));
    no_more_than_there_is(body.word("name").unwrap_or(&form.name), body.child("Configuration"), dhcp)?;
    set(&mut form.name, body.word("name"));
    set(&mut form.description, body.child("Description").map(|d| d.text.trim()));
    if let Some(word) = body.at(&["Configuration", "FenceMode"]).map(|f| f.text.trim()) {
        let unknown = || Error::BadRequest(format!("“{}” is no FenceMode.", shown(word)));
        form.network_type = NetworkType::parse(word).ok_or_else(unknown)?;
    }
    if let Some(scope) = body.at(&["Configuration", "IpScopes", "IpScope"]) {
        set(&mut form.gateway, scope.word("Gateway"));
        match (scope.word("Netmask"), scope.word("SubnetPrefixLength")) {
            (Some(mask), _) => form.prefix = prefix(mask)?.to_string(),
            (None, length) => set(&mut form.prefix, length),
        }
        // these are taken away by leaving them out
        form.dns1 = scope.word("Dns1").unwrap_or_default().to_owned();
        form.dns2 = scope.word("Dns2").unwrap_or_default().to_owned();
        form.dns_suffix = scope.word("DnsSuffix").unwrap_or_default().to_owned();
        let ranges = scope.child("IpRanges").into_iter().flat_map(|all| all.all("IpRange"));
        let ranges = ranges.map(|r| Ok(format!("{}-{}", r.need("StartAddress")?, r.need("EndAddress")?)));
        form.ranges = ranges.collect::<Result<Vec<_>>>()?.join("\n");
    }
    if let Some(dhcp) = dhcp {
        form.dhcp = dhcp.on("IsEnabled")?;
    }
    if let Some(shared) = body.flag("IsShared")? {
        form.shared = shared;
    }
    Ok(form)
}

/// What clients may ask of a network and it can't have is refused by name; what stands for nothing passes.
pub(crate) fn no_more_than_there_is(name: &str, config: Option<&Element>, dhcp: Option<&Element>) -> Result<()> {
    let no = |what: &str, why: &str| Err(Error::BadRequest(format!("The network {}: {what}. {why}", shown(name))));
    if config.map(|c| c.on("GuestVlanAllowed")).transpose()? == Some(true) {
        return no("GuestVlanAllowed can't be true", "Hubs pass no VLAN tags of guests on. Leave it out.");
    }
    if config.map(|c| c.on("RetainNetInfoAcrossDeployments")).transpose()? == Some(true) {
        let why = "A NIC keeps its MAC and its address of a pool as long as it is there in any case. Leave it out.";
        return no("RetainNetInfoAcrossDeployments can't be true", why);
    }
    let Some(dhcp) = dhcp else { return Ok(()) };
    if dhcp.child("IpRange").is_some_and(|r| !r.children.is_empty()) || dhcp.child("Pool").is_some() {
        let why =
            "Hubs hand out addresses of the whole subnet. Leave it out, or give the network IpRanges instead of DHCP.";
        return no("its DhcpService can't have an IpRange or Pool", why);
    }
    for (word, usual) in [("DefaultLeaseTime", 3600), ("MaxLeaseTime", 7200)] {
        if dhcp.number::<i64>(word)?.is_some_and(|n| n != 0 && n != usual) {
            return no(&format!("its {word} can't be chosen"), "Hubs say how long an address is lent. Leave it out.");
        }
    }
    Ok(())
}

fn prefix(mask: &str) -> Result<u32> {
    let bits =
        mask.parse::<Ipv4Addr>().ok().map(u32::from).filter(|bits| bits.leading_ones() + bits.trailing_zeros() >= 32);
    bits.map(u32::leading_ones).ok_or_else(|| Error::BadRequest(format!("“{}” is no Netmask.", shown(mask))))
}

async fn edit(ask: Ask) -> Result<Answer> {
    let Found::OfVdc(network) = found(&ask).await? else {
        let why = "A network inside a vApp is changed with the vApp's networkConfigSection.";
        return Err(Error::BadRequest(why.into()));
    };
    let form = form(&ask.xml("OrgVdcNetwork")?, NetworkForm::from(&network.spec))?;
    let edited = network::edit(ask.d(), &ask.actor, network.id, network.version, form).await?;
    task::accepted_about(&ask, Action::NetworkEdit, noted(&edited)).await
}

/// One that a vApp is bridged to leaves the vApp and stays where it is.
async fn delete(ask: Ask) -> Result<Answer> {
    let task = match found(&ask).await? {
        Found::OfVdc(network) => network::delete(ask.d(), &ask.actor, network.id).await?,
        Found::InVapp(inside) => vapp_network::remove(ask.d(), &ask.actor, inside.vapp, inside.network.id).await?,
    };
    task::accepted(&ask, task).await
}

/// The addresses that machines have, as far as these are the asker's to see.
async fn addresses(ask: Ask) -> Result<Answer> {
    let network = match found(&ask).await? {
        Found::OfVdc(network) => network.id,
        Found::InVapp(inside) => inside.network.id,
    };
    let (network, uses) = network::with_uses(ask.d(), &ask.actor, network).await?;
    let href = format!("{}/allocatedAddresses/", ask.base().network(network.id));
    let text = document("AllocatedIpAddresses", &[("href", &href), ("type", &media::ALLOCATED_ADDRESSES)], |w| {
        for used in uses.iter().filter(|u| u.address.is_some()) {
            let attributes: [(&str, &dyn Display); 2] =
                [("allocationType", &"vmAllocated"), ("isDeployed", &!used.leaving)];
            w.el("IpAddress", &attributes, |w| {
                link(w, "down", ask.base().vm(used.vm), media::VM);
                if let Some(address) = used.address {
                    w.text("IpAddress", address);
                }
            });
        }
    });
    Ok(Answer::xml(media::ALLOCATED_ADDRESSES, text))
}

async fn no_reset(ask: Ask) -> Result<Answer> {
    let name = match found(&ask).await? {
        Found::OfVdc(network) => network.name().to_owned(),
        Found::InVapp(inside) => inside.network.name().to_owned(),
    };
    Err(Error::NotNow(format!("{name} has no gateway that could be set up anew: isolated networks need none.")))
}

fn render(ask: &Ask, network: &Network, view: View, tasks: &[Task]) -> Answer {
    let (base, actor) = (ask.base(), &ask.actor);
    let admin = base.admin_network(network.id);
    let href = if view == View::Admin { admin.clone() } else { base.network(network.id) };
    let offers = |doing| actor.may(doing, Resource::Of(network.org)) && can::network(network, doing).is_ok();
    let attributes: [(&str, &dyn Display); 5] = [
        ("status", &1),
        ("name", &network.name()),
        ("id", &network.id.urn()),
        ("href", &href),
        ("type", &media::ORG_VDC_NETWORK),
    ];
    let text = document("OrgVdcNetwork", &attributes, |w| {
        link(w, "up", base.vdc(network.vdc), media::VDC);
        if offers(Action::NetworkEdit) {
            link(w, "edit", &admin, media::ORG_VDC_NETWORK);
        }
        if offers(Action::NetworkDelete) {
            action(w, "remove", &admin);
        }
        link(w, "down", format_args!("{href}/metadata"), media::METADATA);
        link(w, "down", format_args!("{href}/allocatedAddresses/"), media::ALLOCATED_ADDRESSES);
        w.text("Description", &network.spec.description);
        task::tasks(w, base, actor, tasks);
        w.el("Configuration", &[], |w| configuration(w, network, false));
        w.el("ServiceConfig", &[], |w| {
            w.el("DhcpService", &[], |w| w.text("IsEnabled", network.spec.dhcp));
        });
        w.text("IsShared", network.spec.shared);
    });
    Answer::xml(media::ORG_VDC_NETWORK, text)
}

fn render_inside(ask: &Ask, inside: &VappNetwork) -> Answer {
    let (base, network) = (ask.base(), &inside.network);
    let id = NetworkId(inside.id);
    let attributes: [(&str, &dyn Display); 5] = [
        ("name", &network.name()),
        ("id", &id.urn()),
        ("href", &base.network(id)),
        ("type", &media::VAPP_NETWORK),
        ("deployed", &(network.nics > 0)),
    ];
    let text = document("VAppNetwork", &attributes, |w| {
        link(w, "up", base.vapp(inside.vapp), media::VAPP);
        link(w, "down", format_args!("{}/allocatedAddresses/", base.network(id)), media::ALLOCATED_ADDRESSES);
        w.text("Description", &network.spec.description);
        w.el("Configuration", &[], |w| {
            configuration(w, network, inside.bridged);
            if inside.bridged {
                let href = base.network(network.id);
                reference(w, "ParentNetwork", href, network.id.urn(), network.name(), media::NETWORK);
            }
            w.text("FenceMode", if inside.bridged { "bridged" } else { "isolated" });
            w.text("RetainNetInfoAcrossDeployments", false);
            w.text("GuestVlanAllowed", false);
        });
    });
    Answer::xml(media::VAPP_NETWORK, text)
}

/// Its addresses; of one of the VDC also what kind it is.
fn configuration(w: &mut Writer, network: &Network, inherited: bool) {
    let spec = &network.spec;
    w.el("IpScopes", &[], |w| {
        w.el("IpScope", &[], |w| {
            w.text("IsInherited", inherited);
            w.text("Gateway", spec.gateway);
            w.text("Netmask", spec.subnet().netmask());
            w.text("SubnetPrefixLength", spec.prefix);
            for (dns, name) in spec.dns.iter().zip(["Dns1", "Dns2"]) {
                w.text(name, dns);
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
    if network.vapp.is_none() && !inherited {
        w.text("FenceMode", "isolated");
        w.text("RetainNetInfoAcrossDeployments", false);
    }
}
