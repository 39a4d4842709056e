//! The networks of a vApp: a picture with an equal table, and the form that adds one.
use super::{
    form_error::form_error,
    network_form,
    vapp::{ON, crumbs_below, find, find_to, href},
    vm::linked,
};
use crate::{
    parts::*,
    portal::{Done, Routes, Sheet, Values, Visit},
};
use domain::{network, vapp_network};
use leptos::prelude::*;
use model::{
    Action, Error, NetworkId, Result, VappId, can,
    network::{Network, NetworkForm},
    nic::{Attach, Nic},
    vapp::Vapp,
    vm::Vm,
};

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/vapps/{id}/networks/add", add_page, add).both_act("/vapps/{id}/networks/remove", remove)
}

pub(super) async fn section(visit: &Visit, v: &Vapp, vms: &[Vm]) -> Result<AnyView> {
    let networks = vapp_network::list(visit.domain(), &visit.actor, v.id).await?;
    let may = visit.actor.may(Action::VappAddNetwork, v.resource(&visit.actor));
    let adds = may && can::vapp(v, Action::VappAddNetwork).is_ok();
    let acts = adds.then(|| view! { <a href=href(visit, v.id, "/networks/add")>"Add a network"</a> }).into_any();
    if networks.is_empty() && vms.iter().all(|m| m.nics.is_empty()) {
        let none = view! { <p class="muted">"No VM of it has a NIC, and it has no network."</p> };
        return Ok(view! { <Section title="Network" acts>{none}</Section> }.into_any());
    }
    let picture = picture(&networks, vms);
    let table = table(visit, vms);
    let list = list(visit, v, &networks, vms, adds);
    Ok(view! { <Section title="Network" acts>{picture} {table} {list}</Section> }.into_any())
}

/// What a line of the picture stands for.
struct Bus {
    network: Option<NetworkId>,
    name: String,
    more: String,
}

fn buses(networks: &[Network], vms: &[Vm]) -> Vec<Bus> {
    let on_vdc = vms.iter().flat_map(|m| &m.nics).any(|n| n.spec.attach == Attach::Vdc);
    let own = on_vdc.then(|| Bus { network: None, name: "The VDC's own network".into(), more: "DHCP".into() });
    let others = networks.iter().map(|n| {
        let kind = if n.vapp.is_some() { "inside this vApp" } else { "bridged to the VDC's" };
        Bus { network: Some(n.id), name: n.name().to_owned(), more: format!("{kind} · {}", n.spec.subnet().cidr()) }
    });
    own.into_iter().chain(others).collect()
}

fn is_on(nic: &Nic, bus: &Bus) -> bool {
    match bus.network {
        Some(id) => nic.spec.attach == Attach::Network(id),
        None => nic.spec.attach == Attach::Vdc,
    }
}

const WIDTH: usize = 760;
const BUS: usize = 48;
/// Machines beside each other; more of them go on below, under the same networks.
const A_ROW: usize = 6;

/// Networks above, machines below, a wire for each NIC. The table says the same in words.
fn picture(networks: &[Network], vms: &[Vm]) -> AnyView {
    let buses = buses(networks, vms);
    if buses.is_empty() || vms.is_empty() {
        return ().into_any();
    }
    let rows = vms.len().div_ceil(A_ROW);
    // as many in each row as in the others
    let a_row = vms.len().div_ceil(rows);
    let row_height = 24 + buses.len() * BUS + 24 + 56;
    let drawn = vms.chunks(a_row).enumerate().map(|(i, vms)| row_of_machines(&buses, vms, a_row, i * row_height));
    let drawn = drawn.collect_view();
    let words = in_words(&buses, vms);
    let height = rows * row_height;
    view! {
        <div class="wrap pic" tabindex="0" role="group" aria-label="Network picture">
            <svg class="net" viewBox=format!("0 0 {WIDTH} {height}") role="img" aria-label=words>
                {drawn}
            </svg>
        </div>
    }
    .into_any()
}

/// The networks once more, with some of the machines below, from that height on.
fn row_of_machines(buses: &[Bus], vms: &[Vm], a_row: usize, from: usize) -> impl IntoView + use<> {
    let boxes_at = from + 24 + buses.len() * BUS + 24;
    let step = WIDTH / a_row;
    let lines = buses.iter().enumerate().map(|(i, b)| {
        let (y, name, more) = (from + 12 + i * BUS, b.name.clone(), b.more.clone());
        view! {
            <rect class="bus" x="1" y=y width=WIDTH - 2 height="28" rx="5" />
            <text x="14" y=y + 19 font-weight="600">{name}</text>
            <text class="t2" x=WIDTH - 14 y=y + 19 text-anchor="end">{more}</text>
        }
    });
    let lines = lines.collect_view();
    // where the wires of a machine begin, and which are not plugged in
    let wires_of = |i: usize, m: &Vm| -> Vec<(usize, usize, bool)> {
        let (left, width, many) = (i * step + 12, step - 24, m.nics.len().max(1));
        let wire = |(k, nic): (usize, &Nic)| {
            let bus = buses.iter().position(|b| is_on(nic, b))?;
            Some((left + width * (k + 1) / (many + 1), from + 12 + bus * BUS + 28, nic.spec.connected))
        };
        m.nics.iter().enumerate().filter_map(wire).collect()
    };
    let machines = vms.iter().enumerate().map(|(i, m)| {
        let (left, width) = (i * step + 12, step - 24);
        let wires = wires_of(i, m).into_iter().map(|(x, top, connected)| {
            let class = if connected { "wire" } else { "wire dash" };
            view! { <line class=class x1=x y1=top x2=x y2=boxes_at /> }
        });
        let wires = wires.collect_view();
        let (name, middle) = (m.name.clone(), left + width / 2);
        let count = plural(m.nics.len() as u64, "NIC", "NICs");
        view! {
            {wires}
            <rect class="box" x=left y=boxes_at width=width height="44" rx="5" />
            <text x=middle y=boxes_at + 19 text-anchor="middle" font-weight="600">{name}</text>
            <text class="t2" x=middle y=boxes_at + 36 text-anchor="middle">{count}</text>
        }
    });
    let machines = machines.collect_view();
    // where a wire ends: others pass behind
    let ends = vms.iter().enumerate().flat_map(|(i, m)| wires_of(i, m));
    let ends = ends.map(|(x, y, _)| view! { <circle class="end" cx=x cy=y r="4" /> }).collect_view();
    view! { {machines} {lines} {ends} }
}

/// The picture for those who don't see it.
fn in_words(buses: &[Bus], vms: &[Vm]) -> String {
    let one = |b: &Bus| {
        let on: Vec<String> =
            vms.iter().filter(|m| m.nics.iter().any(|n| is_on(n, b))).map(|m| m.name.clone()).collect();
        match listed(on) {
            Some(names) => format!("On {}: {names}.", b.name),
            None => format!("On {}: nobody.", b.name),
        }
    };
    buses.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn table(visit: &Visit, vms: &[Vm]) -> AnyView {
    let heads = ["VM", "NIC", "Network", "Address", "Given", "MAC"].map(Head::new).to_vec();
    let nics = vms.iter().flat_map(|m| m.nics.iter().map(move |n| (m, n)));
    let rows = nics.map(|(m, n)| {
        let network = match n.spec.attach {
            Attach::Vdc => "the VDC's own".to_owned(),
            Attach::Nothing => "none".to_owned(),
            Attach::Network(_) => n.network_name.clone(),
        };
        let address = n.spec.address.map(|a| a.to_string()).or_else(|| n.seen_ips.first().cloned());
        let address = address.unwrap_or_else(|| "–".into());
        let (nic, mode) = (n.spec.index.to_string(), n.spec.mode.label());
        let mac = if n.spec.mac.is_empty() { n.seen_mac.clone() } else { n.spec.mac.clone() };
        let cells = view! {
            <NameCell name=m.name.clone() href=visit.at(format!("/vms/{}", m.id)) />
            <Cell label="NIC">{nic}</Cell>
            <Cell label="Network" wraps=true>{network}</Cell>
            <Cell label="Address">{address}</Cell>
            <Cell label="Given">{mode}</Cell>
            <Cell label="MAC">{mac}</Cell>
        };
        view! { <Row id=format!("nic-{}-{}", m.id, n.spec.index)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    if vms.iter().all(|m| m.nics.is_empty()) {
        return ().into_any();
    }
    view! { <Table caption="The NICs of its VMs" heads>{rows}</Table> }.into_any()
}

/// The networks that are within one vApp; none for those who may not see that.
pub(super) async fn inside(visit: &Visit, vapp: VappId) -> Vec<NetworkId> {
    let all = vapp_network::list(visit.domain(), &visit.actor, vapp).await.unwrap_or_default();
    all.into_iter().filter(|n| n.vapp.is_some()).map(|n| n.id).collect()
}

fn list(visit: &Visit, v: &Vapp, networks: &[Network], vms: &[Vm], edits: bool) -> AnyView {
    if networks.is_empty() {
        return ().into_any();
    }
    let mut heads = ["Network", "Kind", "Subnet"].map(Head::new).to_vec();
    heads.push(Head::hidden("Actions"));
    let rows = networks.iter().map(|n| {
        let to = visit.may(Action::NetworkView).then(|| visit.at(format!("/networks/{}", n.id)));
        let name = linked(n.name().to_owned(), to);
        let kind = if n.vapp.is_some() { "inside this vApp" } else { "bridged" };
        let subnet = n.spec.subnet().cidr();
        let on = vms.iter().filter(|m| m.nics.iter().any(|nic| nic.spec.attach == Attach::Network(n.id)));
        let on = on.map(|m| m.name.as_str()).collect::<Vec<_>>().join(", ");
        let remove = (edits && !n.deleted).then(|| match on.as_str() {
            "" => view! {
                <form method="post" action=href(visit, v.id, "/networks/remove")>
                    <input type="hidden" name="network" value=n.id.to_string() />
                    <button class="btn small" type="submit" aria-label=format!("Remove {}", n.name())>"Remove"</button>
                </form>
            }
            .into_any(),
            on => view! { <span class="muted">{format!("In use by {on}")}</span> }.into_any(),
        });
        let cells = view! {
            <Cell label="Network" wraps=true>{name}</Cell>
            <Cell label="Kind">{kind}</Cell>
            <Cell label="Subnet">{subnet}</Cell>
            <RowActs>{remove}</RowActs>
        };
        view! { <Row id=format!("net-{}", n.id)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    view! { <Table caption="Its networks" heads>{rows}</Table> }.into_any()
}

async fn add_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VappAddNetwork).await?;
    let fill = visit.fill();
    let title = format!("Add a network to {}", v.name);
    let mut choices = vec![Choice::new("", "A new one, inside this vApp alone")];
    let there = network::in_reach(visit.domain(), &visit.actor, v.vdc).await?;
    choices.extend(there.iter().map(|n| {
        Choice::new(n.id.to_string(), format!("{} ({}), of {}", n.name(), n.spec.subnet().cidr(), n.vdc_name))
    }));
    let which = view! {
        <SelectField
            name="network"
            label="Network"
            choices
            value=fill.value("network", "")
            error=fill.error("network")
            width=Width::Half
        />
    };
    let start = NetworkForm { prefix: "24".into(), ..NetworkForm::default() };
    let body = view! {
        <PageHead title=title.clone() />
        <form method="post" class="form" novalidate>
            {form_error(&fill, network_form::LABELS)}
            <FormSection title="Which" lede="A network that is there is bridged into the vApp as it is; then the rest is not needed.">
                {which}
            </FormSection>
            {network_form::fields(&fill, &start, false)}
            <FormEnd submit="Add network" cancel_href=href(&visit, v.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(title, ON, crumbs_below(&visit, &v, "Add a network"), body).still())
}

async fn add(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VappAddNetwork).await?;
    let d = visit.domain();
    match values.get("network") {
        "" => drop(vapp_network::create(d, &visit.actor, v.id, network_form::read(&values)).await?),
        id => {
            let id = id.parse().map_err(|_| Error::field("network", "Choose a network."))?;
            vapp_network::bridge(d, &visit.actor, v.id, id).await?;
        }
    }
    Ok(Done::new(href(&visit, v.id, ""), format!("vApp {} has a network more.", v.name)))
}

async fn remove(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VappRemoveNetwork).await?;
    let id = values.get("network").parse().map_err(|_| Error::NotFound(model::Kind::Network))?;
    vapp_network::remove(visit.domain(), &visit.actor, v.id, id).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("vApp {} has a network less.", v.name)))
}
