//! Networks of VDCs.
use super::{
    AsCode, Site, Way, curl,
    hcl::{self, Block},
    in_vdc, named, shell,
    vapp::IMPORT,
};
use model::{
    network::{IpRange, Network, NetworkForm, NetworkSpec, NetworkType},
    vdc::Vdc,
};
use serde_json::{Value, json};

/// What the form holds, with what stands for a name and a subnet until they are typed. None: that can't be read, or is of another kind.
fn wished(form: &NetworkForm) -> Option<NetworkSpec> {
    let otherwise = |typed: &str, other: &str| named(typed, other).to_owned();
    let form = NetworkForm {
        name: otherwise(&form.name, "my-network"),
        gateway: otherwise(&form.gateway, "192.168.10.1"),
        prefix: otherwise(&form.prefix, "24"),
        network_type: NetworkType::Isolated,
        ..form.clone()
    };
    form.check().ok()
}

pub fn create(site: &Site, vdc: &Vdc, form: &NetworkForm) -> AsCode {
    let Some(spec) = wished(form) else {
        let why = "The addresses that were typed make no subnet yet. Put the form right and look again.";
        return AsCode::of_form(Way::none(why), Way::none(why), Way::none(why));
    };
    let all = "cloudapi/1.0.0/orgVdcNetworks";
    let made = curl::send_json(site, "POST", all, &body(vdc, &spec));
    let curl = match spec.dhcp {
        false => Way::code(made),
        true => {
            let found = format!("{all}?filter=name=={};orgVdc.id=={}", curl::percent(&spec.name), vdc.id.urn());
            let id = curl::kept("network", &curl::get(site, &found), r#""id":"\(urn:vcloud:network:[^"]*\)""#);
            let on = curl::send_json(site, "PUT", &format!("{all}/$network/dhcp"), &json!({"enabled": true}));
            Way::code(curl::steps(&[("make it", made), ("which it is", id), ("switch DHCP on", on)]))
        }
    };
    let alone = spec.ranges.first();
    let (start, end) =
        (alone.map(|r| r.start.to_string()).unwrap_or_default(), alone.map(|r| r.end.to_string()).unwrap_or_default());
    let dns = |i: usize| spec.dns.get(i).map(ToString::to_string).unwrap_or_default();
    let (gateway, mask) = (spec.gateway.to_string(), spec.subnet().netmask().to_string());
    let mut lines = in_vdc(site, &vdc.org_name, &vdc.name);
    let line = shell::vcd(["network", "isolated", "create", &spec.name, "-g", &gateway, "-n", &mask]);
    let line = shell::with(
        line,
        &[
            ("-d", &spec.description),
            ("--dns1", &dns(0)),
            ("--dns2", &dns(1)),
            ("--dns-suffix", &spec.dns_suffix),
            ("--ip-range-start", &start),
            ("--ip-range-end", &end),
        ],
    );
    lines.push(if spec.shared { line + " --shared" } else { line });
    let no_dhcp = "DHCP is switched on afterwards, in the portal or with curl.";
    AsCode::of_form(
        curl,
        Way::vcd([&spec.name], lines)
            .but_if(spec.ranges.len() > 1, "vcd-cli takes the first range of the pool alone.")
            .but_if(spec.dhcp, no_dhcp),
        hcl::all(resource((&vdc.org_name, &vdc.name), &spec)).but_if(spec.dhcp, no_dhcp),
    )
}

fn body(vdc: &Vdc, spec: &NetworkSpec) -> Value {
    let ranges: Vec<Value> =
        spec.ranges.iter().map(|r| json!({"startAddress": r.start, "endAddress": r.end})).collect();
    json!({
        "name": spec.name,
        "description": spec.description,
        "networkType": "ISOLATED",
        "ownerRef": {"id": vdc.id.urn()},
        "shared": spec.shared,
        "subnets": {"values": [{
            "gateway": spec.gateway,
            "prefixLength": spec.prefix,
            "dnsServer1": spec.dns.first(),
            "dnsServer2": spec.dns.get(1),
            "dnsSuffix": spec.dns_suffix,
            "ipRanges": {"values": ranges},
        }]},
    })
}

/// The VDC that it is in, and the network.
fn resource((org, vdc): (&str, &str), spec: &NetworkSpec) -> [Block; 2] {
    let place = Block::data("vcd_org_vdc", vdc).text("org", org).text("name", vdc);
    let dns = |i: usize| spec.dns.get(i).map(ToString::to_string).unwrap_or_default();
    let pool = |r: &IpRange| {
        Block::new("static_ip_pool").text("start_address", &r.start.to_string()).text("end_address", &r.end.to_string())
    };
    let network = Block::resource("vcd_network_isolated_v2", &spec.name)
        .text("org", org)
        .is("owner_id", format_args!("data.vcd_org_vdc.{}.id", hcl::label(vdc)))
        .text("name", &spec.name)
        .said("description", &spec.description)
        .text("gateway", &spec.gateway.to_string())
        .is("prefix_length", spec.prefix)
        .said("dns1", &dns(0))
        .said("dns2", &dns(1))
        .said("dns_suffix", &spec.dns_suffix)
        .when(spec.shared, "is_shared", true)
        .and(spec.ranges.iter().map(pool));
    [place, network]
}

pub fn thing(site: &Site, n: &Network) -> AsCode {
    let curl = Way::code(curl::get(site, &format!("cloudapi/1.0.0/orgVdcNetworks/{}", n.id.urn())));
    if n.vapp.is_some() {
        let why = "It is inside of one vApp, which has it in its own document";
        return AsCode::of_thing(
            curl,
            Way::none(format!("{why}: vcd vapp network list shows the networks of a vApp.")),
            Way::none(format!("{why}: vcd_vapp_network is imported by organization, VDC, vApp and name.")),
        );
    }
    let mut lines = in_vdc(site, &n.org_name, &n.vdc_name);
    lines.push("vcd network isolated list".to_owned());
    let (id, separator) = hcl::import_id(&[&n.org_name, &n.vdc_name, n.name()]);
    let [place, own] = resource((&n.org_name, &n.vdc_name), &n.spec);
    let import = Block::import("vcd_network_isolated_v2", n.name(), &id);
    AsCode::of_thing(
        curl,
        Way::vcd([], lines).but("vcd-cli lists networks, and shows none of them by itself."),
        hcl::all([import, place, own]).but(IMPORT),
    )
    .separated(separator)
}
