//! Networks in both portals: list, page with who uses them, and the page before one is deleted.
use super::{
    about::about_facts,
    bulk, network_form,
    recent_events::event_section,
    recent_tasks::task_table,
    vm::{hub_link, linked, vdc_link},
};
use crate::{
    code,
    parts::*,
    portal::{Csv, Done, ListView, Place, Routes, Sheet, Values, Visit, org_link},
    shell::Crumb,
};
use domain::{event, network, task};
use leptos::prelude::*;
use model::{
    Action, Kind, NetworkId, Result, can,
    event::Event,
    list::{ListQuery, NETWORKS},
    network::{Network, NetworkUse},
    quota::thousands,
};

pub(super) const ON: &str = "Networks";
pub(super) const LIST: &str = "/networks";

pub fn routes(r: Routes) -> Routes {
    r.both(LIST, list)
        .both_csv("/networks.csv", csv)
        .both_form("/networks/new", network_form::new_page, network_form::create)
        .both("/networks/{id}", page)
        .both_form("/networks/{id}/edit", network_form::edit_page, network_form::edit)
        .both_form("/networks/{id}/delete", delete_page, delete)
}

pub(super) fn href(visit: &Visit, id: NetworkId, rest: &str) -> String {
    visit.at(format!("{LIST}/{id}{rest}"))
}

pub(super) fn crumbs_below(visit: &Visit, n: &Network, last: &str) -> Vec<Crumb> {
    vec![Crumb::new(ON, visit.at(LIST)), Crumb::new(n.name().to_owned(), href(visit, n.id, "")), Crumb::here(last)]
}

/// The network of the address, for somebody who may do `action` to it.
pub(super) async fn find(visit: &Visit, action: Action) -> Result<Network> {
    let n = visit.domain().store.network(&visit.actor, action, visit.id()).await?.into_inner();
    visit.within(n.org, Kind::Network)?;
    Ok(n)
}

/// The same before something is done: a refusal stands in the audit.
pub(super) async fn find_to(visit: &Visit, action: Action) -> Result<Network> {
    visit.domain().attempt(&visit.actor, action, find(visit, action)).await
}

async fn list(visit: Visit) -> Result<Sheet> {
    let query = visit.list_query(&NETWORKS)?;
    let page = network::list(visit.domain(), &visit.actor, visit.org(), &query).await?;
    let view = ListView::new(&visit, &NETWORKS, query, &page);
    let new_button = || {
        visit.may(Action::NetworkCreate).then(
            || view! { <a class="btn primary" href=visit.at("/networks/new")><Icon name=Icon::Plus />"New network"</a> },
        )
    };
    let acts = view! { {view.csv_button()} {new_button()} }.into_any();
    // who may not delete them has nothing to choose them for
    let picks = visit.may(Action::NetworkDelete);
    let mut heads = Vec::from_iter(picks.then(|| Head::hidden("Choose")));
    heads.extend([view.head("name", "Name"), Head::new("State"), Head::new("Subnet"), Head::new("VDC")]);
    if visit.place == Place::Provider {
        heads.push(Head::new("Organization"));
    }
    heads.extend([Head::new("Addresses"), Head::new("NICs").number(), view.head("created", "Created").number()]);
    heads.push(Head::hidden("Actions"));
    let rows = page.items.iter().map(|n| row(&visit, n)).collect_view();
    let body = view! {
        <PageHead title=ON sub=view.count() acts />
        {view.filters("networks", "Name, description, gateway, VDC")}
        {if view.is_unused() {
            let acts = new_button().into_any();
            view! {
                <Empty title="No network yet" acts>
                    "Every VDC has a network of its own. Another one is isolated: only the NICs you put on it meet there, with addresses you choose."
                </Empty>
            }
            .into_any()
        } else if view.is_empty() {
            view! { <Empty title="No network fits">"Search for something else, or take a filter away."</Empty> }.into_any()
        } else {
            let table = view! { <Table caption="Networks" heads list=true>{rows}</Table> };
            if picks { bulk::with_bar(&visit, Kind::Network, table) } else { table.into_any() }
        }}
        {view.pager()}
    }
    .into_any();
    Ok(Sheet::new(ON, ON, vec![Crumb::here(ON)], body))
}

fn row(visit: &Visit, n: &Network) -> impl IntoView + use<> {
    let (state, menu) = (state(n), menu(visit, n, true));
    let vdc = vdc_link(visit, n.vdc, &n.vdc_name);
    let org = (visit.place == Place::Provider).then(|| {
        let org = org_link(visit, Some(n.org), &n.org_name, true);
        view! { <Cell label="Organization" wraps=true>{org}</Cell> }
    });
    let (subnet, addresses, nics) = (n.spec.subnet().cidr(), address_words(n), n.nics.to_string());
    let (created, now) = (n.created_at, visit.now);
    let pick = visit.may(Action::NetworkDelete).then(|| {
        let (value, label) = (n.id.to_string(), format!("Choose {}", n.name()));
        view! { <PickCell value label form=bulk::FORM /> }
    });
    let cells = view! {
        {pick}
        <NameCell name=n.name().to_owned() href=href(visit, n.id, "") why=n.spec.description.clone() />
        <StateCell>{state}</StateCell>
        <Cell label="Subnet">{subnet}</Cell>
        <Cell label="VDC" wraps=true>{vdc}</Cell>
        {org}
        <Cell label="Addresses" wraps=true>{addresses}</Cell>
        <Cell label="NICs" number=true>{nics}</Cell>
        <Cell label="Created" number=true><Time at=created now /></Cell>
        <RowActs>{menu}</RowActs>
    };
    view! { <Row id=format!("network-{}", n.id)>{cells}</Row> }
}

fn state(n: &Network) -> AnyView {
    match () {
        () if n.deleted => view! { <Badge shape=Shape::Ring word="Deleting" /> }.into_any(),
        () if n.spec.shared => {
            view! { <Badge shape=Shape::Disc tone=Tone::Ok word="Shared" more="every VDC of the organization may use it" /> }
                .into_any()
        }
        () => view! { <Badge shape=Shape::Disc tone=Tone::Ok word="Isolated" /> }.into_any(),
    }
}

/// "12 of 90 in use", or who gives them out.
pub(super) fn address_words(n: &Network) -> String {
    match (n.spec.dhcp, n.pool_size()) {
        (true, _) => "by DHCP".to_owned(),
        (false, 0) => format!("{} in use, no pool", thousands(n.addresses)),
        (false, pool) => format!("{} in use, {} in the pool", thousands(n.addresses), thousands(pool as i64)),
    }
}

fn menu(visit: &Visit, n: &Network, dots: bool) -> AnyView {
    if !visit.may(Action::NetworkEdit) {
        return ().into_any();
    }
    let edit = match can::network(n, Action::NetworkEdit) {
        Ok(()) => view! { <MenuItem icon=Icon::Settings title="Edit…" href=href(visit, n.id, "/edit") /> }.into_any(),
        Err(why) => view! { <MenuOff icon=Icon::Settings title="Edit" why /> }.into_any(),
    };
    let edit = dots.then_some(edit);
    let delete = match can::network(n, Action::NetworkDelete) {
        Ok(()) => view! { <MenuItem icon=Icon::Trash title="Delete…" href=href(visit, n.id, "/delete") danger=true /> }
            .into_any(),
        Err(why) => view! { <MenuOff icon=Icon::Trash title="Delete" why /> }.into_any(),
    };
    let label = if dots { format!("Actions for {}", n.name()) } else { "More actions".into() };
    view! { <Menu label dots=true framed=!dots>{edit} {delete}</Menu> }.into_any()
}

async fn csv(visit: Visit) -> Result<Csv> {
    let heads = [
        "id",
        "name",
        "organization",
        "vdc",
        "gateway",
        "prefix",
        "ranges",
        "dhcp",
        "shared",
        "nics",
        "addresses",
        "created_at",
    ];
    let list = async |visit: Visit, q: ListQuery| network::list(visit.domain(), &visit.actor, visit.org(), &q).await;
    Csv::head("networks", &heads).rows(visit, &NETWORKS, list, cells).await
}

fn cells(n: Network) -> [String; 12] {
    let ranges: Vec<String> = n.spec.ranges.iter().map(ToString::to_string).collect();
    [
        n.id.urn(),
        n.spec.name.clone(),
        n.org_name.clone(),
        n.vdc_name.clone(),
        n.spec.gateway.to_string(),
        n.spec.prefix.to_string(),
        ranges.join(" "),
        n.spec.dhcp.to_string(),
        n.spec.shared.to_string(),
        n.nics.to_string(),
        n.addresses.to_string(),
        machine(n.created_at),
    ]
}

async fn page(visit: Visit) -> Result<Sheet> {
    let (n, uses) = network::with_uses(visit.domain(), &visit.actor, visit.id()).await?;
    visit.within(n.org, Kind::Network)?;
    let edits = visit.may(Action::NetworkEdit) && can::network(&n, Action::NetworkEdit).is_ok();
    let edit =
        edits.then(|| view! { <a class="btn" href=href(&visit, n.id, "/edit")><Icon name=Icon::Settings />"Edit"</a> });
    let acts = view! { {edit} {menu(&visit, &n, false)} }.into_any();
    let tasks = task::about(visit.domain(), &visit.actor, n.org, n.id.0).await?;
    let tasks = (!tasks.is_empty()).then(|| {
        let table = task_table(&visit, &tasks, false);
        view! { <Section title="Recent tasks">{table}</Section> }
    });
    let events = event::about(visit.domain(), &visit.actor, n.org, n.id.0).await?;
    let facts = facts(&n);
    let body = view! {
        <PageHead title=n.name().to_owned() sub="Network" lede=n.spec.description.clone() acts says=state(&n) />
        <Section title="Addresses"><Facts>{facts}</Facts></Section>
        {use_section(&visit, &n, &uses)}
        {tasks}
    }
    .into_any();
    let crumbs = vec![Crumb::new(ON, visit.at(LIST)), Crumb::here(n.name().to_owned())];
    let code = code::network::thing(&visit.site(), &n);
    Ok(Sheet::new(n.name().to_owned(), ON, crumbs, body).margin(margin(&visit, &n, &events)).code(code))
}

fn facts(n: &Network) -> impl IntoView + use<> {
    let s = &n.spec;
    let joined = |all: Vec<String>| if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    let dns = joined(s.dns.iter().map(ToString::to_string).collect());
    let suffix = if s.dns_suffix.is_empty() { "none".to_owned() } else { s.dns_suffix.clone() };
    let ranges = joined(s.ranges.iter().map(ToString::to_string).collect());
    let reach = match (n.vapp.is_some(), s.shared) {
        (true, _) => "one vApp",
        (false, true) => "every VDC of the organization",
        (false, false) => "its VDC",
    };
    let (subnet, gateway, used) = (s.subnet().cidr(), s.gateway.to_string(), address_words(n));
    view! {
        <Fact name="Subnet">{subnet}</Fact>
        <Fact name="Gateway">{gateway}</Fact>
        <Fact name="Pool">{ranges}</Fact>
        <Fact name="In use">{used}</Fact>
        <Fact name="DNS">{dns}</Fact>
        <Fact name="DNS suffix">{suffix}</Fact>
        <Fact name="Reaches">{reach}</Fact>
    }
}

fn use_section(visit: &Visit, n: &Network, uses: &[NetworkUse]) -> AnyView {
    if uses.is_empty() {
        let text = match n.used_by.is_empty() {
            true => "No NIC is on it.",
            false => "None of your VMs is on it.",
        };
        return view! { <Section title="Used by"><p class="muted">{text}</p></Section> }.into_any();
    }
    let heads = ["VM", "vApp", "VDC", "NIC", "Address", "Given", "MAC"].map(Head::new).to_vec();
    let rows = uses.iter().map(|u| {
        let vapp = linked(u.vapp_name.clone(), Some(visit.at(format!("/vapps/{}", u.vapp))));
        let address = u.address.map_or_else(|| "–".to_owned(), |a| a.to_string());
        let (vdc, nic, mode, mac) = (u.vdc_name.clone(), u.index.to_string(), u.mode.label(), u.mac.clone());
        let leaving =
            u.leaving.then(|| view! { <Badge shape=Shape::Next tone=Tone::Busy word="until its next start" /> });
        let cells = view! {
            <NameCell name=u.vm_name.clone() href=visit.at(format!("/vms/{}", u.vm)) />
            <Cell label="vApp" wraps=true>{vapp}</Cell>
            <Cell label="VDC" wraps=true>{vdc}</Cell>
            <Cell label="NIC">{nic}</Cell>
            <Cell label="Address">{address} " " {leaving}</Cell>
            <Cell label="Given">{mode}</Cell>
            <Cell label="MAC">{mac}</Cell>
        };
        view! { <Row id=format!("use-{}-{}", u.vm, u.index)>{cells}</Row> }
    });
    let rows = rows.collect_view();
    let table = view! { <Table caption="NICs on this network" heads>{rows}</Table> };
    view! { <Section title="Used by" sub=plural(uses.len() as u64, "NIC", "NICs")>{table}</Section> }.into_any()
}

fn margin(visit: &Visit, n: &Network, events: &[Event]) -> AnyView {
    let vdc = vdc_link(visit, n.vdc, &n.vdc_name);
    let of_provider = (visit.place == Place::Provider).then(|| {
        let org = org_link(visit, Some(n.org), &n.org_name, true);
        view! { <Fact name="Organization">{org}</Fact> }
    });
    // which hubs there are is the provider's business
    let lives = match &n.hub {
        None => "nowhere yet: where its first VM goes".into_any(),
        Some(hub) if visit.place == Place::Provider => hub_link(visit, Some(hub)),
        Some(_) => "in one place, with the VMs on it; what joins it is placed there".into_any(),
    };
    let facts = view! {
        {of_provider}
        <Fact name="VDC">{vdc}</Fact>
        <Fact name="Lives">{lives}</Fact>
        {super::metadata::fact(visit, &format!("/networks/{}", n.id))}
        {about_facts(visit, (n.created_at, n.updated_at, &n.updated_by), n.id.urn())}
    };
    let events = event_section(visit, events);
    view! {
        <Section title="About"><Facts>{facts}</Facts></Section>
        {events}
    }
    .into_any()
}

async fn delete_page(visit: Visit) -> Result<Sheet> {
    let n = find(&visit, Action::NetworkDelete).await?;
    let fill = visit.fill();
    let refused = fill
        .failure()
        .filter(|e| e.fields().is_empty())
        .map(ToString::to_string)
        .or_else(|| can::network(&n, Action::NetworkDelete).err().map(|why| format!("Not now: {why}")));
    let lost = match refused {
        Some(_) => Vec::new(),
        None => vec!["its addresses and settings; no machine is on it".to_owned()],
    };
    let body = view! {
        <ConfirmPage
            title=format!("Delete network {}?", n.name())
            verb=format!("Delete {}", n.name())
            keep_href=href(&visit, n.id, "")
            lost
            type_name=n.name().to_owned()
            typed=fill.value("name", "")
            error=fill.error("name")
            refused
        />
    }
    .into_any();
    Ok(Sheet::new(format!("Delete {}", n.name()), ON, crumbs_below(&visit, &n, "Delete"), body).still())
}

async fn delete(visit: Visit, values: Values) -> Result<Done> {
    let n = find_to(&visit, Action::NetworkDelete).await?;
    super::typed_name(&values, n.name())?;
    network::delete(visit.domain(), &visit.actor, n.id).await?;
    Ok(Done::new(visit.at(LIST), format!("Network {} is being deleted.", n.name())))
}
