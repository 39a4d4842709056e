//! Networks of VDCs. They are isolated; hubs hand out addresses where DHCP is on.
use super::page::{EntityRef, Fields, Values, asked, at_hand, page, reference, tagged, version};
use crate::{
    answer::Answer,
    api::task::about,
    ask::{Ask, read_id},
    openapi::{Is, Schema, Told, read, sent},
    routes::Routes,
};
use axum::http::header;
use domain::{network, task::Noted};
use model::{
    Action, Error, Kind, NetworkId, Result, TaskId, VdcId,
    network::{Network, NetworkForm, NetworkType},
};
use serde::Deserialize;
use serde_json::{Value, json};

const FIELDS: Fields = &[
    ("id", "id"),
    ("name", "name"),
    ("description", "description"),
    ("ownerRef.id", "ownerRef.id"),
    ("ownerRef.name", "ownerRef.name"),
    ("orgVdc.id", "orgVdc.id"),
    ("orgVdc.name", "orgVdc.name"),
    ("orgRef.id", "orgRef.id"),
    ("orgRef.name", "orgRef.name"),
    ("networkType", "networkType"),
    ("shared", "shared"),
    ("status", "status"),
    ("gateway", "gateway"),
];
const ADDRESSES: Fields =
    &[("ipAddress", "ipAddress"), ("entityName", "entityName"), ("allocationType", "allocationType")];
const ALL: &str = "/cloudapi/1.0.0/orgVdcNetworks";
const ONE: &str = "/cloudapi/1.0.0/orgVdcNetworks/{id}";
const DHCP: &str = "/cloudapi/1.0.0/orgVdcNetworks/{id}/dhcp";
const BINDINGS: &str = "/cloudapi/1.0.0/orgVdcNetworks/{id}/dhcp/bindings";
const SEGMENT: &str = "/cloudapi/1.0.0/orgVdcNetworks/{id}/segmentProfiles";

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get(ALL, list)
        .told(Told::page("Networks of the organization's VDCs", "OrgVdcNetwork", FIELDS))
        .post(ALL, create)
        .told(Told::begun("Create an isolated network in a VDC").takes("NewOrgVdcNetwork"))
        .get(ONE, get)
        .told(Told::one("One network", "OrgVdcNetwork"))
        .put(ONE, edit)
        .told(Told::begun("Change a network").takes("NewOrgVdcNetwork"))
        .delete(ONE, delete)
        .told(Told::begun("Delete a network that nothing uses"))
        .get("/cloudapi/1.0.0/orgVdcNetworks/{id}/allocatedIpAddresses", addresses)
        .told(Told::page("The addresses that NICs have on a network", "AllocatedIpAddress", ADDRESSES))
        .get(DHCP, dhcp)
        .told(Told::one("Do hubs hand out addresses on a network?", "Dhcp"))
        .put(DHCP, set_dhcp)
        .told(Told::begun("Switch DHCP on or off; pools can't be chosen").takes("DhcpChange"))
        .delete(DHCP, no_dhcp)
        .told(Told::begun("Switch DHCP off"))
        .get(BINDINGS, bindings)
        .told(Told::page(
            "Addresses that DHCP keeps for one NIC: none",
            "DhcpBinding",
            &[("id", "id"), ("name", "name")],
        ))
        .post(BINDINGS, no_bindings)
        .told(Told::done("Refused: hubs choose the addresses they hand out"))
        .get(SEGMENT, segment)
        .told(Told::one("Segment profiles of a network: none", "SegmentProfiles"))
        .put(SEGMENT, no_segment)
        .told(Told::done("Refused: there are no segment profiles"))
}

pub(crate) fn schemas() -> Vec<Schema> {
    let network = vec![
        ("id", Is::Urn),
        ("name", Is::Text),
        ("description", Is::Text),
        ("status", Is::Text),
        ("networkType", Is::Text),
        ("ownerRef", Is::Ref),
        ("orgRef", Is::Ref),
        ("orgVdc", Is::Ref),
        ("orgVdcIsNsxTBacked", Is::Bool),
        ("backingNetworkId", Is::MaybeText),
        ("backingNetworkType", Is::MaybeText),
        ("parentNetworkId", Is::MaybeRef),
        ("connection", Is::MaybeRef),
        ("guestVlanTaggingAllowed", Is::Bool),
        ("enableDualSubnetNetwork", Is::Bool),
        ("shared", Is::Bool),
        ("subnets", Is::Of("Subnets")),
        ("totalIpCount", Is::Int),
        ("usedIpCount", Is::Int),
        ("securityGroups", Is::Refs),
    ];
    let subnet = || {
        vec![
            ("gateway", Is::Text),
            ("prefixLength", Is::Int),
            ("dnsServer1", Is::MaybeText),
            ("dnsServer2", Is::MaybeText),
            ("dnsSuffix", Is::MaybeText),
            ("ipRanges", Is::Of("IpRanges")),
        ]
    };
    let new = vec![
        ("name", Is::Text),
        ("description", Is::MaybeText),
        ("ownerRef", Is::MaybeRef),
        ("orgVdc", Is::MaybeRef),
        ("networkType", Is::MaybeText),
        ("shared", Is::MaybeBool),
        ("guestVlanTaggingAllowed", Is::MaybeBool),
        ("enableDualSubnetNetwork", Is::MaybeBool),
        ("subnets", Is::Of("Subnets")),
    ];
    let pool = Is::Other(json!({"type": "array", "nullable": true, "items": {"type": "object"}}));
    vec![
        sent("OrgVdcNetwork", network),
        read("NewOrgVdcNetwork", &["name", "subnets"], new),
        read("Subnets", &["values"], vec![("values", Is::ListOf("Subnet"))]),
        read("Subnet", &["gateway", "prefixLength"], subnet()),
        read("IpRanges", &["values"], vec![("values", Is::ListOf("IpRange"))]),
        sent("IpRange", vec![("startAddress", Is::Text), ("endAddress", Is::Text)]),
        sent(
            "AllocatedIpAddress",
            vec![
                ("ipAddress", Is::Text),
                ("allocationType", Is::Text),
                ("entityId", Is::Urn),
                ("entityName", Is::Text),
                ("vAppName", Is::Text),
                ("isDeployed", Is::Bool),
            ],
        ),
        sent(
            "Dhcp",
            vec![
                ("enabled", Is::Bool),
                ("mode", Is::Text),
                ("leaseTime", Is::MaybeInt),
                ("ipAddress", Is::MaybeText),
                ("dhcpPools", Is::Other(json!({"type": "array", "items": {"type": "object"}}))),
                ("dnsServers", Is::Texts),
            ],
        ),
        read("DhcpChange", &[], vec![("enabled", Is::MaybeBool), ("dhcpPools", pool)]),
        sent("DhcpBinding", vec![("id", Is::Urn), ("name", Is::Text)]),
        sent(
            "SegmentProfiles",
            vec![
                ("segmentProfileTemplate", Is::MaybeRef),
                ("ipDiscoveryProfile", Is::MaybeRef),
                ("macDiscoveryProfile", Is::MaybeRef),
                ("qosProfile", Is::MaybeRef),
                ("spoofGuardProfile", Is::MaybeRef),
                ("segmentSecurityProfile", Is::MaybeRef),
            ],
        ),
    ]
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    name: String,
    description: Option<String>,
    owner_ref: Option<EntityRef>,
    org_vdc: Option<EntityRef>,
    network_type: Option<String>,
    shared: Option<bool>,
    guest_vlan_tagging_allowed: Option<bool>,
    enable_dual_subnet_network: Option<bool>,
    subnets: Values<Subnet>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Subnet {
    gateway: String,
    prefix_length: u32,
    dns_server1: Option<String>,
    dns_server2: Option<String>,
    dns_suffix: Option<String>,
    ip_ranges: Option<Values<Range>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Range {
    start_address: String,
    end_address: Option<String>,
}

impl Sent {
    fn vdc(&self) -> Result<Option<VdcId>> {
        let given = self.owner_ref.as_ref().or(self.org_vdc.as_ref()).and_then(|owner| owner.id.as_deref());
        given.map(|id| read_id(id, Kind::Vdc).map(VdcId)).transpose()
    }

    fn form(&self, dhcp: bool) -> Result<NetworkForm> {
        let odd = |what: &str| Err(Error::BadRequest(what.to_owned()));
        let network_type = match self.network_type.as_deref() {
            None => NetworkType::Isolated,
            Some(word) => match NetworkType::parse(word) {
                Some(known) => known,
                None => return odd("networkType is ISOLATED here."),
            },
        };
        if self.guest_vlan_tagging_allowed == Some(true) {
            return odd("guestVlanTaggingAllowed is not offered: networks carry one subnet without tags.");
        }
        let [subnet] = self.subnets.values.as_slice() else {
            return odd("A network has exactly one subnet, and an IPv4 one.");
        };
        if self.enable_dual_subnet_network == Some(true) {
            return odd("enableDualSubnetNetwork is not offered: a network has one subnet.");
        }
        let ranges = subnet.ip_ranges.as_ref().map(|r| r.values.as_slice()).unwrap_or_default();
        let range = |r: &Range| format!("{}-{}", r.start_address, r.end_address.as_ref().unwrap_or(&r.start_address));
        Ok(NetworkForm {
            name: self.name.clone(),
            description: self.description.clone().unwrap_or_default(),
            network_type,
            gateway: subnet.gateway.clone(),
            prefix: subnet.prefix_length.to_string(),
            dns1: subnet.dns_server1.clone().unwrap_or_default(),
            dns2: subnet.dns_server2.clone().unwrap_or_default(),
            dns_suffix: subnet.dns_suffix.clone().unwrap_or_default(),
            ranges: ranges.iter().map(range).collect::<Vec<_>>().join("\n"),
            dhcp,
            shared: self.shared.unwrap_or(false),
        })
    }
}

/// Fields of the portal's form by the names they have here.
fn named(field: &'static str) -> &'static str {
    match field {
        "network_type" => "networkType",
        "prefix" => "prefixLength",
        "dns1" => "dnsServer1",
        "dns2" => "dnsServer2",
        "dns_suffix" => "dnsSuffix",
        "ranges" => "ipRanges",
        "dhcp" => "enabled",
        other => other,
    }
}

async fn list(ask: Ask) -> Result<Answer> {
    let q = asked(&ask, FIELDS)?;
    let found = network::query(ask.d(), &ask.actor, ask.context, &q).await?;
    Ok(page(&ask, &q, found, |network| write(&network)))
}

async fn find(ask: &Ask) -> Result<Network> {
    network::get(ask.d(), &ask.actor, ask.id(Kind::Network)?).await
}

async fn get(ask: Ask) -> Result<Answer> {
    let network = find(&ask).await?;
    Ok(tagged(Answer::json(&write(&network)), network.version))
}

/// 202 and where the task is: clients look there, and then for what it is about.
fn begun(ask: &Ask, task: TaskId) -> Answer {
    Answer::empty().accepted().with(header::LOCATION, ask.base().task(task))
}

async fn begun_about(ask: &Ask, action: Action, network: &Network) -> Result<Answer> {
    let what = Noted { org: network.org, id: network.id.0, name: network.name().to_owned(), owner: None };
    Ok(begun(ask, about(ask, action, what).await?.id))
}

async fn create(ask: Ask) -> Result<Answer> {
    let sent: Sent = ask.json()?;
    let vdc = sent.vdc()?.ok_or_else(|| Error::field("ownerRef", "The id of the VDC it is for is needed."))?;
    let made = network::create(ask.d(), &ask.actor, vdc, sent.form(false)?).await.map_err(|e| e.rename(named))?;
    begun_about(&ask, Action::NetworkCreate, &made).await
}

async fn edit(ask: Ask) -> Result<Answer> {
    let sent: Sent = ask.json()?;
    let network = find(&ask).await?;
    if sent.vdc()?.is_some_and(|vdc| vdc != network.vdc) {
        return Err(Error::field("ownerRef", "A network stays in its VDC."));
    }
    change(&ask, &network, sent.form(network.spec.dhcp)?).await
}

async fn change(ask: &Ask, network: &Network, form: NetworkForm) -> Result<Answer> {
    let seen = version(ask, network.version)?;
    let changed = network::edit(ask.d(), &ask.actor, network.id, seen, form).await.map_err(|e| e.rename(named))?;
    begun_about(ask, Action::NetworkEdit, &changed).await
}

async fn delete(ask: Ask) -> Result<Answer> {
    let id: NetworkId = ask.id(Kind::Network)?;
    let task = network::delete(ask.d(), &ask.actor, id).await?;
    Ok(task.map_or_else(Answer::nothing, |task| begun(&ask, task)))
}

async fn addresses(ask: Ask) -> Result<Answer> {
    let (_, uses) = network::with_uses(ask.d(), &ask.actor, ask.id(Kind::Network)?).await?;
    let values = uses.iter().filter_map(|u| {
        Some(json!({
            "ipAddress": u.address?.to_string(),
            "allocationType": "VM_ALLOCATED",
            "entityId": u.vm.urn(),
            "entityName": u.vm_name,
            "vAppName": u.vapp_name,
            "isDeployed": !u.leaving,
        }))
    });
    at_hand(&ask, ADDRESSES, values.collect())
}

async fn dhcp(ask: Ask) -> Result<Answer> {
    let network = find(&ask).await?;
    let dns: Vec<String> = network.spec.dns.iter().map(ToString::to_string).collect();
    Ok(Answer::json(&json!({
        "enabled": network.spec.dhcp,
        "mode": "NETWORK",
        "leaseTime": null,
        "ipAddress": null,
        "dhcpPools": [],
        "dnsServers": dns,
    })))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DhcpChange {
    enabled: Option<bool>,
    dhcp_pools: Option<Vec<Value>>,
}

async fn set_dhcp(ask: Ask) -> Result<Answer> {
    let wanted: DhcpChange = ask.json()?;
    let network = find(&ask).await?;
    if wanted.dhcp_pools.is_some_and(|pools| !pools.is_empty()) {
        let why = "Hubs hand out addresses of the whole subnet. Leave dhcpPools empty, or give the network ipRanges instead of DHCP.";
        return Err(Error::field("dhcpPools", why));
    }
    let form = NetworkForm { dhcp: wanted.enabled.unwrap_or(true), ..NetworkForm::from(&network.spec) };
    change(&ask, &network, form).await
}

async fn no_dhcp(ask: Ask) -> Result<Answer> {
    let network = find(&ask).await?;
    let form = NetworkForm { dhcp: false, ..NetworkForm::from(&network.spec) };
    change(&ask, &network, form).await
}

async fn bindings(ask: Ask) -> Result<Answer> {
    find(&ask).await?;
    at_hand(&ask, &[("id", "id"), ("name", "name")], Vec::new())
}

async fn no_bindings(ask: Ask) -> Result<Answer> {
    find(&ask).await?;
    let why = "Hubs choose the addresses they hand out. Give the NIC an address of its own instead, on a network without DHCP.";
    Err(Error::NotNow(why.into()))
}

async fn segment(ask: Ask) -> Result<Answer> {
    find(&ask).await?;
    Ok(Answer::json(&json!({
        "segmentProfileTemplate": null,
        "ipDiscoveryProfile": null,
        "macDiscoveryProfile": null,
        "qosProfile": null,
        "spoofGuardProfile": null,
        "segmentSecurityProfile": null,
    })))
}

async fn no_segment(ask: Ask) -> Result<Answer> {
    find(&ask).await?;
    Err(Error::NotNow("Networks have no segment profiles here, so none can be chosen.".into()))
}

fn write(n: &Network) -> Value {
    let vdc = reference(&n.vdc_name, n.vdc.urn());
    let dns = |i: usize| n.spec.dns.get(i).map(ToString::to_string).unwrap_or_default();
    let range =
        |r: &model::network::IpRange| json!({"startAddress": r.start.to_string(), "endAddress": r.end.to_string()});
    let ranges: Vec<Value> = n.spec.ranges.iter().map(range).collect();
    json!({
        "id": n.id.urn(),
        "name": n.name(),
        "description": n.spec.description,
        "status": if n.deleted { "PENDING" } else { "REALIZED" },
        "networkType": "ISOLATED",
        "ownerRef": vdc,
        "orgRef": reference(&n.org_name, n.org.urn()),
        "orgVdc": vdc,
        "orgVdcIsNsxTBacked": true,
        "backingNetworkId": n.id.to_string(),
        "backingNetworkType": "NSXT_FLEXIBLE_SEGMENT",
        "parentNetworkId": null,
        "connection": null,
        "guestVlanTaggingAllowed": false,
        "enableDualSubnetNetwork": false,
        "shared": n.spec.shared,
        "subnets": {"values": [{
            "gateway": n.spec.gateway.to_string(),
            "prefixLength": n.spec.prefix,
            "dnsServer1": dns(0),
            "dnsServer2": dns(1),
            "dnsSuffix": n.spec.dns_suffix,
            "ipRanges": {"values": ranges},
            "enabled": true,
            "totalIpCount": n.pool_size(),
            "usedIpCount": n.addresses,
        }]},
        "totalIpCount": n.pool_size(),
        "usedIpCount": n.addresses,
        "securityGroups": [],
    })
}
