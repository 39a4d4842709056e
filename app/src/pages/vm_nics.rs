//! The NICs of one VM: a section of its page, and the form that sets all of them at once.
use super::{
    form_error::form_error,
    nic_fields::{self, choices},
    vm::{ON, crumbs_below, find, find_to, href, linked, may},
};
use crate::{
    parts::*,
    portal::{Done, Fill, Routes, Sheet, Values, Visit},
};
use domain::{network, nic, vapp_network};
use leptos::prelude::*;
use model::{
    Action, Problems, Result, can,
    network::Network,
    nic::{Attach, MOST_NICS, Nic, NicSpec},
    vm::Vm,
};

const LABELS: &[(&str, &str)] = &[("nics", "NICs"), ("primary", "Primary NIC")];

pub(super) fn routes(r: Routes) -> Routes {
    r.both_form("/vms/{id}/nics", edit_page, edit)
}

pub(super) fn section(visit: &Visit, v: &Vm) -> AnyView {
    let heads = ["NIC", "Network", "Address", "Seen", "MAC"].map(Head::new).to_vec();
    let rows = v.nics.iter().map(|n| row(visit, n)).collect_view();
    let edits = may(visit, v, Action::VmNics) && can::vm(v, Action::VmNics).is_ok();
    let acts = edits.then(|| view! { <a href=href(visit, v.id, "/nics")>"Change"</a> }).into_any();
    let inside = match v.nics.is_empty() {
        true => view! { <p class="muted">"It has no NIC."</p> }.into_any(),
        false => view! { <Table caption="NICs" heads>{rows}</Table> }.into_any(),
    };
    let unnamed = v.restart_needed && v.waiting().is_empty();
    let sub = if unnamed { "what changed may come at the next start" } else { "" };
    view! { <Section title="NICs" sub acts>{inside}</Section> }.into_any()
}

fn row(visit: &Visit, n: &Nic) -> impl IntoView + use<> {
    let s = &n.spec;
    let name = format!("{}{}", s.index, if s.primary { ", primary" } else { "" });
    let network = match s.attach {
        Attach::Vdc => "the VDC's own".into_any(),
        Attach::Nothing => "none".into_any(),
        Attach::Network(id) => {
            let to = visit.may(Action::NetworkView).then(|| visit.at(format!("/networks/{id}")));
            linked(n.network_name.clone(), to)
        }
    };
    let address = match s.address {
        Some(address) => format!("{address} ({})", s.mode.label().to_lowercase()),
        None => s.mode.label().to_owned(),
    };
    let seen = if n.seen_ips.is_empty() { "–".to_owned() } else { n.seen_ips.join(", ") };
    let mac = match (s.mac.as_str(), n.seen_mac.as_str()) {
        ("", "") => "given at the first start".to_owned(),
        ("", seen) => seen.to_owned(),
        (own, _) => own.to_owned(),
    };
    let cut = (!s.connected).then(|| view! { <Badge shape=Shape::Ring word="Disconnected" /> });
    let cells = view! {
        <NameCell name />
        <Cell label="Network" wraps=true>{network} " " {cut}</Cell>
        <Cell label="Address">{address}</Cell>
        <Cell label="Seen" wraps=true>{seen}</Cell>
        <Cell label="MAC">{mac}</Cell>
    };
    view! { <Row id=format!("nic-{}", s.index)>{cells}</Row> }
}

/// What its NICs can be plugged into: networks of its VDC and its organization, and those inside its vApp.
async fn in_reach(visit: &Visit, v: &Vm) -> Result<Vec<Network>> {
    let mut all = network::in_reach(visit.domain(), &visit.actor, v.vdc).await?;
    let of_vapp = vapp_network::list(visit.domain(), &visit.actor, v.vapp).await?;
    all.extend(of_vapp.into_iter().filter(|n| !n.deleted && n.vapp.is_some()));
    Ok(all)
}

async fn edit_page(visit: Visit) -> Result<Sheet> {
    let v = find(&visit, Action::VmNics).await?;
    let fill = visit.fill();
    let refused = can::vm(&v, Action::VmNics).err().filter(|_| fill.failure().is_none()).map(|why| {
        let text = format!("Not now: {why}");
        view! { <Note tone=Tone::Warn>{text}</Note> }
    });
    let choices = choices(&visit, &in_reach(&visit, &v).await?);
    let sections = (0..MOST_NICS as i16).filter_map(|i| one(&fill, &v, i, &choices)).collect_view();
    let primary = primary_field(&fill, &v);
    let lede = "NICs on networks of their own come and go while it runs, where its hub can do that; everything else waits \
                for the next start.";
    let body = view! {
        <PageHead title=format!("NICs of {}", v.name) lede />
        {refused}
        <form method="post" class="form" novalidate>
            {form_error(&fill, LABELS)}
            <input type="hidden" name="version" value=fill.version(v.version) />
            {sections}
            <FormSection title="Primary" lede="The NIC that leads out of the guest.">{primary}</FormSection>
            <FormEnd submit="Save" cancel_href=href(&visit, v.id, "") />
        </form>
    }
    .into_any();
    Ok(Sheet::new(format!("NICs of {}", v.name), ON, crumbs_below(&visit, &v, "NICs"), body).still())
}

fn key(index: i16) -> String {
    format!("nic{index}-")
}

/// That of the NIC that can be added.
fn free_index(v: &Vm) -> Option<i16> {
    (0..MOST_NICS as i16).find(|i| !v.nics.iter().any(|n| n.spec.index == *i))
}

/// A NIC that is there, or the first that is not: that one is added by choosing a network.
fn one(fill: &Fill, v: &Vm, index: i16, choices: &[Choice]) -> Option<AnyView> {
    let has = v.nics.iter().find(|n| n.spec.index == index);
    let free = free_index(v);
    let at = key(index);
    let (title, lede) = match has {
        Some(n) if n.spec.mac.is_empty() => (format!("NIC {index}"), String::new()),
        Some(n) => (format!("NIC {index}"), format!("MAC {}, kept for life.", n.spec.mac)),
        None if free == Some(index) => ("Another NIC".to_owned(), "Choose a network to add it.".to_owned()),
        None => return None,
    };
    let spec = has.map(|n| &n.spec);
    let fields = nic_fields::fields(fill, &at, choices, spec, nic_fields::said(fill, "", index, index == 0));
    let connected = has.map(|n| {
        let on = fill.checked(&format!("{at}connected"), "on", n.spec.connected);
        view! { <CheckField name=format!("{at}connected") label="Connected" checked=on /> }
    });
    Some(view! { <FormSection title lede>{fields} {connected}</FormSection> }.into_any())
}

fn primary_field(fill: &Fill, v: &Vm) -> AnyView {
    let now = v.nics.iter().find(|n| n.spec.primary).map(|n| n.spec.index.to_string()).unwrap_or_default();
    let mut choices = vec![Choice::new("", "The first")];
    let mut there: Vec<i16> = v.nics.iter().map(|n| n.spec.index).chain(free_index(v)).collect();
    there.sort_unstable();
    choices.extend(there.into_iter().map(|i| Choice::new(i.to_string(), format!("NIC {i}"))));
    let value = fill.value("primary", now);
    let error = fill.error("primary");
    view! { <SelectField name="primary" label="Primary NIC" choices value error width=Width::Third /> }.into_any()
}

async fn edit(visit: Visit, values: Values) -> Result<Done> {
    let v = find_to(&visit, Action::VmNics).await?;
    let networks = in_reach(&visit, &v).await?;
    let mut problems = Problems::default();
    let mut nics: Vec<NicSpec> = Vec::new();
    for index in 0..MOST_NICS as i16 {
        let at = key(index);
        let has = v.nics.iter().find(|n| n.spec.index == index);
        let Some(nic) = nic_fields::read(&values, &at, index, &networks, &mut problems) else { continue };
        nics.push(NicSpec {
            connected: has.is_none() || values.has(&format!("{at}connected")),
            primary: values.get("primary") == index.to_string(),
            ..nic
        });
    }
    let primary = values.get("primary");
    if !primary.is_empty() && !nics.iter().any(|n| n.primary) {
        problems.add("primary", format!("The VM would have no NIC {primary}. Choose one that it has."));
    }
    problems.done()?;
    nic::set(visit.domain(), &visit.actor, v.id, values.version()?, nics).await?;
    Ok(Done::new(href(&visit, v.id, ""), format!("Other NICs are asked for {}.", v.name)))
}
