//! Where a vApp goes: which hub takes it, and why each other one does not. A pure function over what is known of hubs.
use crate::hub::{Capability, HubId, HubState};
use serde::{Deserialize, Serialize};

/// A hub as far as choosing needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub id: HubId,
    /// What the operator opened it for.
    pub capabilities: Vec<Capability>,
    /// What it was found to be fit for when it was last looked at.
    pub offers: Vec<Capability>,
    pub state: HubState,
    pub cordoned: bool,
    pub is_default: bool,
    pub region: String,
    pub zone: String,
    /// None: not known, and then not in the way.
    pub cpus_capacity: Option<i64>,
    pub memory_capacity_mb: Option<i64>,
    pub cpus_used: i64,
    pub memory_used_mb: i64,
    /// Is the template there? True where none is needed.
    pub has_template: bool,
    /// What else it has not got of what is needed.
    pub lacks: Vec<Lack>,
}

/// What a hub was found not to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    Class {
        policy: String,
        class: String,
    },
    /// It can't make a network of that kind.
    Network(String),
}

impl Lack {
    fn words(&self) -> String {
        match self {
            Lack::Class { policy, class } => {
                format!("It has not got the storage class {class} of the policy {policy}.")
            }
            Lack::Network(name) => format!("The network {name} can't be made there."),
        }
    }

    /// What is missing, for those who know nothing of hubs.
    fn missing(&self) -> String {
        match self {
            Lack::Class { policy, .. } => format!("the storage of the policy {policy}"),
            Lack::Network(name) => format!("networks of the kind of {name}"),
        }
    }
}

/// Something that it needs and that one hub alone has. That hub has to fit all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tie {
    pub hub: HubId,
    pub to: TiedTo,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TiedTo {
    /// What its disks are made from was captured there.
    Capture,
    /// A machine that its disks are copied from.
    Original(String),
    /// An isolated network, which lives on one hub.
    Network(String),
    /// An independent disk that is to be in one of its machines.
    Disk(String),
}

impl TiedTo {
    fn is(&self) -> String {
        match self {
            TiedTo::Capture => "What it is made from was captured".into(),
            TiedTo::Original(name) => format!("The VM {name}, which it is copied from, is"),
            TiedTo::Network(name) => format!("The network {name} lives"),
            TiedTo::Disk(name) => format!("The disk {name} is kept"),
        }
    }
}

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    pub capability: Option<Capability>,
    /// Only these, if any are named: the VDC's.
    pub hubs: Vec<HubId>,
    pub region: String,
    pub zone: String,
    pub prefer: Vec<HubId>,
    pub avoid: Vec<HubId>,
    /// Machines of it are there already, whatever else is wished for.
    pub bound_to: Vec<HubId>,
    /// Where what it needs is: it goes there, if that hub fits.
    pub ties: Vec<Tie>,
    pub cpus: i64,
    pub memory_mb: i64,
}

/// A decision as it is stored and shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    pub hub: Option<HubId>,
    /// Why this one.
    pub because: String,
    pub refused: Vec<Refused>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub hub: HubId,
    pub why: String,
}

/// One guest CPU is a tenth of a real one unless a hub says otherwise: so many fit.
pub const CPUS_PER_CPU: i64 = 10;

pub fn place(wish: &Wish, hubs: &[Candidate]) -> Placement {
    let mut refused = Vec::new();
    let mut fits = Vec::new();
    for hub in hubs {
        match refusal(wish, hub) {
            Some(why) => refused.push(Refused { hub: hub.id.clone(), why }),
            None => fits.push(hub),
        }
    }
    let because = |text: &str| text.to_owned();
    if let Some(unasked) = unasked(wish, hubs) {
        let why = "Some of it stands on a hub already, and another hub can't be asked whether it has more. It goes on when all of them answer.";
        refused.retain(|r| r.hub != unasked.id);
        refused.push(Refused { hub: unasked.id.clone(), why: "It can't be asked whether some of it is there.".into() });
        let found = wish.bound_to.iter().filter(|id| !refused.iter().any(|r| r.hub == **id)).cloned();
        let found: Vec<Refused> =
            found.map(|hub| Refused { hub, why: "Another one has to be asked first.".into() }).collect();
        refused.extend(found);
        return Placement { hub: None, because: because(why), refused };
    }
    let chosen = match (wish.bound_to.as_slice(), fits.as_slice()) {
        (_, []) | ([_, _, ..], _) => None,
        ([_], [hub, ..]) => Some((*hub, because("What belongs to it is there already."))),
        ([], [hub, ..]) if !wish.ties.is_empty() => Some((*hub, format!("{} there.", wish.ties[0].to.is()))),
        ([], [hub]) => Some((*hub, because("It is the only one that fits."))),
        ([], all) => all
            .iter()
            .find(|h| h.is_default)
            .map(|h| (*h, because("It is the default hub.")))
            .or_else(|| best(wish, all).map(|h| (h, because(why_best(wish, h, all))))),
    };
    match chosen {
        Some((hub, because)) => {
            for other in fits.iter().filter(|h| h.id != hub.id) {
                refused.push(Refused { hub: other.id.clone(), why: why_second(wish, hub, other).into() });
            }
            Placement { hub: Some(hub.id.clone()), because, refused }
        }
        None => Placement { hub: None, because: no_hub(wish), refused },
    }
}

/// Machines were found that nobody here put there, as after a restore: another hub that does not answer may have them too,
/// and they would be there twice.
fn unasked<'a>(wish: &Wish, hubs: &'a [Candidate]) -> Option<&'a Candidate> {
    let [found] = wish.bound_to.as_slice() else { return None };
    hubs.iter().find(|h| {
        h.id != *found
            && wish.capability.is_none_or(|c| h.capabilities.contains(&c))
            && matches!(h.state, HubState::Unreachable | HubState::Unknown)
    })
}

/// All that it could be on.
pub fn fitting(wish: &Wish, hubs: &[Candidate]) -> Vec<HubId> {
    hubs.iter().filter(|hub| refusal(wish, hub).is_none()).map(|hub| hub.id.clone()).collect()
}

fn why_best(wish: &Wish, hub: &Candidate, all: &[&Candidate]) -> &'static str {
    let preferred = |h: &Candidate| wish.prefer.contains(&h.id);
    let well = |h: &Candidate| h.state == HubState::Ready;
    match (preferred(hub), all.iter().all(|h| preferred(h))) {
        (true, false) => "The organization prefers it.",
        _ if well(hub) && all.iter().filter(|h| well(h)).count() == 1 => {
            "It is the only one whose checks found nothing."
        }
        _ => "It has the most room.",
    }
}

/// Why it is not the one, though nothing is against it.
fn why_second(wish: &Wish, chosen: &Candidate, other: &Candidate) -> &'static str {
    let preferred = |h: &Candidate| wish.prefer.contains(&h.id);
    match () {
        () if chosen.is_default => "It fits too, and the default hub goes first.",
        () if preferred(chosen) && !preferred(other) => "It fits too, and the organization prefers another.",
        () if chosen.state == HubState::Ready && other.state != HubState::Ready => {
            "It fits too, and its checks found something."
        }
        () => "It fits too, and has less room.",
    }
}

/// The words that stand in the task while it waits. Which hubs there are is not said.
pub fn no_hub(wish: &Wish) -> String {
    let word = wish.capability.map_or("suitable", Capability::singular);
    let apart = wish.ties.iter().find(|t| t.hub != wish.ties[0].hub);
    match (wish.ties.first(), apart) {
        (Some(one), Some(other)) => format!(
            "{} elsewhere than what else it needs: {} in another place. Take one of them from it.",
            one.to.is(),
            lower(&other.to.is())
        ),
        (Some(one), None) => format!("No hub with {word} capability found where {}", lower(&one.to.is())),
        (None, _) => format!("No hub with {word} capability found"),
    }
}

fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// Why a hub can't take it, now or ever.
fn refusal(wish: &Wish, hub: &Candidate) -> Option<String> {
    if let Some(c) = wish.capability
        && !hub.capabilities.contains(&c)
    {
        return Some(format!("It is not open for {}.", c.key()));
    }
    match wish.bound_to.as_slice() {
        [] => lasting(wish, hub).map(|never| never.words()).or_else(|| passing(wish, hub)),
        // where it is, it stays, whatever the hub's state
        [bound] => (*bound != hub.id).then(|| format!("What belongs to it is on {bound}.")),
        several => Some(match several.contains(&hub.id) {
            true => "What belongs to it is here and on other hubs: delete what is not wanted there.".into(),
            false => "What belongs to it is on other hubs.".into(),
        }),
    }
}

/// Why a hub will not take it, whatever becomes of its health and room. In the order of how near it came.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Never {
    OtherHubs,
    Avoided,
    Site { what: &'static str, wished: String, there: String },
    Tied(Tie),
    NoTemplate,
    Lacks(Lack),
}

impl Never {
    fn words(&self) -> String {
        match self {
            Never::OtherHubs => "The VDC names other hubs.".into(),
            Never::Avoided => "The organization avoids it.".into(),
            Never::Site { what, wished, there } => {
                let there = if there.is_empty() { "none" } else { there };
                format!("Its {what} is {there}, and {wished} is wished for.")
            }
            Never::Tied(tie) => format!("{} on {}.", tie.to.is(), tie.hub),
            Never::NoTemplate => "It has not got the template.".into(),
            Never::Lacks(lack) => lack.words(),
        }
    }
}

fn lasting(wish: &Wish, hub: &Candidate) -> Option<Never> {
    if !wish.hubs.is_empty() && !wish.hubs.contains(&hub.id) {
        return Some(Never::OtherHubs);
    }
    if wish.avoid.contains(&hub.id) {
        return Some(Never::Avoided);
    }
    for (what, wished, there) in [("region", &wish.region, &hub.region), ("zone", &wish.zone, &hub.zone)] {
        if !wished.is_empty() && wished != there {
            return Some(Never::Site { what, wished: wished.clone(), there: there.clone() });
        }
    }
    if let Some(tie) = wish.ties.iter().find(|t| t.hub != hub.id) {
        return Some(Never::Tied(tie.clone()));
    }
    // of one that was never tried it is not known
    if !hub.has_template && hub.state != HubState::Unknown {
        return Some(Never::NoTemplate);
    }
    hub.lacks.first().cloned().map(Never::Lacks)
}

/// Why it can't take it now.
fn passing(wish: &Wish, hub: &Candidate) -> Option<String> {
    if hub.cordoned {
        return Some("It is cordoned: nothing new goes there.".into());
    }
    match hub.state {
        HubState::Unreachable => return Some("It can't be reached.".into()),
        HubState::Unknown => return Some("It has not been tried yet.".into()),
        HubState::Ready | HubState::Degraded => {}
    }
    if let Some(c) = wish.capability
        && !hub.offers.contains(&c)
    {
        return Some(format!("It was not found to have what {} need. Its checks say what is missing.", c.key()));
    }
    let (cpus, memory) = room(hub);
    if cpus.is_some_and(|free| free < wish.cpus) {
        return Some(format!("{} vCPU are needed, and it has room for {}.", wish.cpus, cpus.unwrap_or(0).max(0)));
    }
    if memory.is_some_and(|free| free < wish.memory_mb) {
        let free = memory.unwrap_or(0).max(0) / 1024;
        return Some(format!(
            "{} GB of memory are needed, and it has room for {free}.",
            (wish.memory_mb + 1023) / 1024
        ));
    }
    None
}

/// Why no hub will ever take it in that VDC, for its people: none of them is named. None: one could, or it has to wait until
/// one is open for such things at all.
pub fn never(wish: &Wish, hubs: &[Candidate], vdc: &str) -> Option<String> {
    let open = hubs.iter().filter(|h| wish.capability.is_none_or(|c| h.capabilities.contains(&c)));
    let why: Vec<Never> = open.map(|hub| lasting(wish, hub)).collect::<Option<_>>()?;
    let mut missing: Vec<String> = why
        .iter()
        .filter_map(|w| match w {
            Never::NoTemplate => Some("the template".to_owned()),
            Never::Lacks(lack) => Some(lack.missing()),
            _ => None,
        })
        .collect();
    missing.sort_unstable();
    missing.dedup();
    let tied = wish.ties.first().filter(|_| why.iter().any(|w| matches!(w, Never::Tied(_))));
    Some(match (missing.as_slice(), tied) {
        ([], None) if why.is_empty() => return None,
        ([], None) => format!(
            "No hub is open to the VDC {vdc}, as its hubs, its region and its zone are set and what its organization avoids. Choose another VDC, or ask the provider to change that."
        ),
        ([], Some(tie)) => {
            format!("{} where the VDC {vdc} may not go. Choose another one, or another VDC.", tie.to.is())
        }
        ([one], _) => format!("No hub that the VDC {vdc} may use has {one}. Choose another one, or another VDC."),
        (several, _) => {
            let all = several.join(" and ");
            format!("No hub that the VDC {vdc} may use has all that is needed: {all}. Choose others, or another VDC.")
        }
    })
}

fn room(hub: &Candidate) -> (Option<i64>, Option<i64>) {
    (
        hub.cpus_capacity.map(|c| c * CPUS_PER_CPU - hub.cpus_used),
        hub.memory_capacity_mb.map(|m| m - hub.memory_used_mb),
    )
}

/// Preferred ones first; then healthy before degraded, then the largest part free, then by name so that it can be told
/// again.
fn best<'a>(wish: &Wish, hubs: &[&'a Candidate]) -> Option<&'a Candidate> {
    let free = |hub: &Candidate| {
        let part = |used: i64, all: Option<i64>| all.filter(|a| *a > 0).map_or(1000, |a| 1000 - used * 1000 / a);
        let cpus = part(hub.cpus_used, hub.cpus_capacity.map(|c| c * CPUS_PER_CPU));
        let memory = part(hub.memory_used_mb, hub.memory_capacity_mb);
        cpus.min(memory)
    };
    let rank = |hub: &&&Candidate| {
        let preferred = wish.prefer.contains(&hub.id);
        (preferred, hub.state == HubState::Ready, free(hub), std::cmp::Reverse(hub.id.clone()))
    };
    hubs.iter().max_by_key(rank).copied()
}

#[cfg(test)]
mod tests;
