//! The fields of one NIC, the same wherever a VM is made or changed.
use crate::{
    parts::*,
    portal::{Fill, Values, Visit},
};
use leptos::prelude::*;
use model::{
    Action, Problems,
    network::{Network, address},
    nic::{Adapter, Attach, IpMode, MOST_NICS, NicSpec},
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

/// The NICs that a VM begins with, and one more.
pub(super) fn rows(fill: &Fill, at: &str, choices: &[Choice], start: &[NicSpec]) -> AnyView {
    titled_rows(fill, at, choices, start, String::new(), true)
}

/// `of`: the machine's name, where the page has several; `first`: it is the first of them.
pub(super) fn titled_rows(
    fill: &Fill,
    at: &str,
    choices: &[Choice],
    start: &[NicSpec],
    of: String,
    first: bool,
) -> AnyView {
    let many = (start.len() as i16 + 1).min(MOST_NICS as i16);
    let one = |i: i16| {
        let key = format!("{at}nic{i}-");
        let said = said(fill, &of, i, first && i == 0);
        let inside = fields(fill, &key, choices, start.get(i as usize), said);
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
    (0..MOST_NICS as i16).filter_map(|i| read(values, &format!("{at}nic{i}-"), i, networks, problems)).collect()
}

/// What is said of one NIC of a form that came back.
pub(super) struct Said {
    error: Option<String>,
    /// The summary's link leads to it.
    main: bool,
}

/// `of`: its machine's name, where the page has several. What is about no single NIC is said at the `first`.
pub(super) fn said(fill: &Fill, of: &str, index: i16, first: bool) -> Said {
    let here = |message: &str| match about(message) {
        Some((whose, nic)) if whose == of => nic == index,
        Some((whose, _)) if !whose.is_empty() => false,
        _ => first,
    };
    let error = fill.errors("nics").find(|message| here(message)).map(str::to_owned);
    Said { error, main: fill.errors("nics").next().map_or(first, here) }
}

/// The machine, if it is named, and the NIC that a message begins with: "NIC 1: …", "web: NIC 1: …".
fn about(message: &str) -> Option<(&str, i16)> {
    let (whose, rest) = message.split_once("NIC ")?;
    let (index, _) = rest.split_once(": ")?;
    Some((whose.trim_end_matches(": "), index.parse().ok()?))
}

/// `at` stands before the name of each field.
pub(super) fn fields(fill: &Fill, at: &str, choices: &[Choice], spec: Option<&NicSpec>, said: Said) -> AnyView {
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
    let Said { error, main } = said;
    let id = |name: &str| if main && name == "network" { "nics".to_owned() } else { format!("{at}{name}") };
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
        (_, Some(mode)) => mode,
        (_, None) if !given.is_empty() => IpMode::Manual,
        (Attach::Vdc, None) => IpMode::Dhcp,
        (Attach::Nothing, None) => IpMode::None,
        (Attach::Network(_), None) => {
            networks.iter().find(|n| attach.network() == Some(n.id)).map_or(IpMode::Pool, by_itself)
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_which_nic_it_is_about() {
        assert_eq!(about("NIC 1: a static address is needed."), Some(("", 1)));
        assert_eq!(about("web: NIC 0: choose a network."), Some(("web", 0)));
        assert_eq!(about("Only one NIC can be on the VDC's own network."), None);
        assert_eq!(about("At most 10 NICs."), None);
    }
}
