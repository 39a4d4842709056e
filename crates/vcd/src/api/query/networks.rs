//! Records of networks: those of VDCs, and those in vApps.
use super::page::{About, Page};
use crate::{
    ask::Ask,
    wire::{href::urn, media},
};
use domain::{network, vapp_network};
use model::{Kind, Result, network::Network, query::Numbered};
use std::net::Ipv4Addr;

fn dns(network: &Network, index: usize) -> String {
    network.spec.dns.get(index).map(Ipv4Addr::to_string).unwrap_or_default()
}

/// Their addresses are the administrator's: clients delete by what a record says.
pub(super) async fn of_vdcs(ask: &Ask, q: &Numbered) -> Result<Page> {
    let found = network::query(ask.d(), &ask.actor, ask.context, q).await?;
    let base = ask.base().clone();
    // isolated: in the table of the Python clients, which go up to 36, and in that of the others
    let isolated = if ask.open.version.starts_with("36") { 1 } else { 2 };
    let ids: Vec<_> = found.items.iter().map(|n| (Kind::Network, n.id.0)).collect();
    Ok(Page::new(found.total, ids, move |rows| {
        for n in &found.items {
            let (href, vdc, org) = (base.admin_network(n.id), base.vdc(n.vdc), base.org(n.org));
            let spec = &n.spec;
            rows.add(
                &About { href: &href, urn: &n.id.urn(), name: &spec.name, kind: media::ORG_VDC_NETWORK },
                &[
                    ("vdc", &vdc),
                    ("vdcName", &n.vdc_name),
                    ("org", &org),
                    ("orgName", &n.org_name),
                    ("linkType", &isolated),
                    ("connectedTo", &n.vdc_name),
                    ("defaultGateway", &spec.gateway),
                    ("netmask", &spec.subnet().netmask()),
                    ("subnetPrefixLength", &spec.prefix),
                    ("dns1", &dns(n, 0)),
                    ("dns2", &dns(n, 1)),
                    ("dnsSuffix", &spec.dns_suffix),
                    ("isShared", &spec.shared),
                    ("isBusy", &n.deleted),
                    ("isIpScopeInherited", &false),
                    ("description", &spec.description),
                ],
            );
        }
    }))
}

pub(super) async fn of_vapps(ask: &Ask, q: &Numbered) -> Result<Page> {
    let found = vapp_network::query(ask.d(), &ask.actor, ask.context, q).await?;
    let base = ask.base().clone();
    Ok(Page::new(found.total, [], move |rows| {
        for one in &found.items {
            let (n, spec) = (&one.network, &one.network.spec);
            let (href, vapp, vdc) = (base.network(one.id.into()), base.vapp(one.vapp), base.vdc(n.vdc));
            let (link, behind) = match one.bridged {
                true => (0, (base.network(n.id), spec.name.as_str())),
                false => (2, (String::new(), "")),
            };
            let urn = urn("network", one.id);
            rows.add(
                &About { href: &href, urn: &urn, name: &spec.name, kind: media::VAPP_NETWORK },
                &[
                    ("vApp", &vapp),
                    ("vAppName", &one.vapp_name),
                    ("vdc", &vdc),
                    ("vdcName", &n.vdc_name),
                    ("isLinked", &one.bridged),
                    ("linkType", &link),
                    ("linkNetwork", &behind.0),
                    ("linkNetworkName", &behind.1),
                    ("gateway", &spec.gateway),
                    ("netmask", &spec.subnet().netmask()),
                    ("subnetPrefixLength", &spec.prefix),
                    ("dns1", &dns(n, 0)),
                    ("dns2", &dns(n, 1)),
                    ("dnsSuffix", &spec.dns_suffix),
                    ("ownerName", &one.owner_name),
                    ("isBusy", &n.deleted),
                ],
            );
        }
    }))
}
