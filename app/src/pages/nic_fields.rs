//! The fields of one NIC, the same wherever a VM is made or changed.
use crate::{
    parts::*,
    portal::{Fill, Values, Visit},
};
use leptos::prelude::*;
use model::{
    Action, Problems,
    network::{Network, address},
    nic::{Adapter, Attach, IpMode, NicSpec},
};

/// What can be chosen, with the VDC that a network is of: a form may have another one in mind.
pub(super) fn choices(visit: &Visit, networks: &[Network]) -> Vec<Choice> {
    let mut all = vec![
        Choice::new("", "No NIC"),
        Choice::new("vdc", "The VDC's own network"),
        Choice::new("none", "A NIC on no network"),
    ];
    all.extend(networks.iter().filter(|_| visit.may(Action::NetworkList)).map(|n| {
        let whose = if n.vapp.is_some() { ", inside the vApp".to_owned() } else { format!(", of {}", n.vdc_name) };
        let how = if n.spec.dhcp { ", DHCP" } else { "" };
        Choice::new(n.id.to_string(), format!("{} ({}{how}){whose}", n.name(), n.spec.subnet().cidr()))
    }));
    all
}

/// So many NICs can be chosen where a VM is made; more are added to it later.
const ROWS: i16 = 4;

/// The NICs that a VM begins with, and one more.
pub(super) fn rows(fill: &Fill, at: &str, choices: &[Choice], start: &[NicSpec]) -> AnyView {
    titled_rows(fill, at, choices, start, String::new(), true)
}

/// `first`: of all machines on the page; the summary's link leads to its first NIC.
pub(super) fn titled_rows(
    fill: &Fill,
    at: &str,
    choices: &[Choice],
    start: &[NicSpec],
    of: String,
    first: bool,
) -> AnyView {
    let many = (start.len() as i16 + 1).min(ROWS);
    let one = |i: i16| {
        let key = format!("{at}nic{i}-");
        let inside = fields(fill, &key, choices, start.get(i as usize), first && i == 0);
        let title = if i < start.len() as i16 { format!("NIC {i}") } else { "Another NIC".to_owned() };
        view! { <FormSection title lede=of.clone()>{inside}</FormSection> }
    };
    (0..many).map(one).collect_view().into_any()
}

/// Were NICs chosen at all?
pub(super) fn given(values: &Values, at: &str) -> bool {
    values.has(&format!("{at}nic0-network"))
}

pub(super) fn read_rows(values: &Values, at: &str, networks: &[Network], problems: &mut Problems) -> Vec<NicSpec> {
    (0..ROWS).filter_map(|i| read(values, &format!("{at}nic{i}-"), i, networks, problems)).collect()
}

/// `at` stands before the name of each field. `main`: what the summary's link leads to.
pub(super) fn fields(fill: &Fill, at: &str, choices: &[Choice], spec: Option<&NicSpec>, main: bool) -> AnyView {
    let network = match spec.map(|s| s.attach) {
        None => String::new(),
        Some(Attach::Vdc) => "vdc".into(),
        Some(Attach::Nothing) => "none".into(),
        Some(Attach::Network(id)) => id.to_string(),
    };
    let own = spec.filter(|s| matches!(s.attach, Attach::Network(_)));
    let mode = own.filter(|s| s.mode != IpMode::Dhcp).map_or("", |s| s.mode.key());
    let typed = own.filter(|s| s.mode == IpMode::Manual).and_then(|s| s.address);
    let modes: Vec<Choice> = [
        ("", "As the network does it"),
        (IpMode::Pool.key(), "From the network's pool"),
        (IpMode::Manual.key(), "Static, as given"),
        (IpMode::None.key(), "None"),
    ]
    .map(|(key, label)| Choice::new(key, label))
    .into();
    let adapters: Vec<Choice> = Adapter::ALL.into_iter().map(|a| Choice::new(a.key(), a.label())).collect();
    let id = |name: &str| if main && name == "network" { "nics".to_owned() } else { format!("{at}{name}") };
    let error = if main { fill.error("nics") } else { None };
    view! {
        <SelectField
            id=id("network")
            name=format!("{at}network")
            label="Network"
            choices=choices.to_vec()
            value=fill.value(&format!("{at}network"), network)
            error
            width=Width::Half
        />
        <SelectField
            id=id("mode")
            name=format!("{at}mode")
            label="Address"
            choices=modes
            value=fill.value(&format!("{at}mode"), mode)
            width=Width::Half
        />
        <TextField
            id=id("address")
            name=format!("{at}address")
            label="Static address"
            value=fill.value(&format!("{at}address"), typed.map(|a| a.to_string()).unwrap_or_default())
            autocomplete="off"
            optional=true
            width=Width::Half
        />
        <SelectField
            id=id("adapter")
            name=format!("{at}adapter")
            label="Adapter"
            choices=adapters
            value=fill.value(&format!("{at}adapter"), spec.map_or("", |s| s.adapter.key()))
            width=Width::Half
        />
    }
    .into_any()
}

fn by_itself(network: &Network) -> IpMode {
    match () {
        () if network.spec.dhcp => IpMode::Dhcp,
        () if network.spec.ranges.is_empty() => IpMode::None,
        () => IpMode::Pool,
    }
}

/// The NIC that was chosen; None: no NIC was.
pub(super) fn read(
    values: &Values,
    at: &str,
    index: i16,
    networks: &[Network],
    problems: &mut Problems,
) -> Option<NicSpec> {
    let get = |name: &str| values.get(&format!("{at}{name}"));
    let attach = match get("network") {
        "" => return None,
        "vdc" => Attach::Vdc,
        "none" => Attach::Nothing,
        id => match id.parse() {
            Ok(id) => Attach::Network(id),
            Err(_) => {
                problems.add("nics", format!("NIC {index}: choose a network."));
                return None;
            }
        },
    };
    let given = get("address").trim();
    let mode = match (attach, IpMode::parse(get("mode"))) {
        (Attach::Vdc, _) => IpMode::Dhcp,
        (Attach::Nothing, _) => IpMode::None,
        (_, Some(mode)) => mode,
        (_, None) if !given.is_empty() => IpMode::Manual,
        (_, None) => networks.iter().find(|n| attach.network() == Some(n.id)).map_or(IpMode::Pool, by_itself),
    };
    let address = match mode {
        IpMode::Manual => match address(given) {
            Ok(address) => Some(address),
            Err(why) => {
                problems.add("nics", format!("NIC {index}: {why}"));
                None
            }
        },
        _ => None,
    };
    Some(NicSpec {
        index,
        attach,
        mode,
        address,
        adapter: Adapter::parse(get("adapter")).unwrap_or_default(),
        ..NicSpec::default()
    })
}
