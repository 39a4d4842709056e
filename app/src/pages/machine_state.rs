//! How the state of a VM or a vApp is drawn: shape, word and reason. Dashed is last known; a plate asks somebody to act.
use crate::{
    parts::{Badge, Says, Shape, Tone, listed, some_of, span},
    portal::Visit,
};
use leptos::prelude::*;
use model::{
    vapp::{Vapp, VappState},
    vm::{Vm, VmState},
};
use time::{OffsetDateTime, UtcOffset, macros::format_description};

/// What somebody did on the hub, past us, in a badge.
const DELETED: &str = "deleted on its hub by hand";
const CHANGED: &str = "changed by hand";

#[derive(Debug, PartialEq, Eq)]
struct Looks {
    shape: Shape,
    tone: Tone,
    word: &'static str,
    more: String,
    plate: bool,
}

impl Looks {
    fn badge(self) -> AnyView {
        let Looks { shape, tone, word, more, plate } = self;
        view! { <Badge shape tone word more plate /> }.into_any()
    }
}

pub(super) fn vm_badge(visit: &Visit, vm: &Vm) -> AnyView {
    vm_looks(vm, visit.now).badge()
}

/// The same as a sentence, for the head of its page.
pub(super) fn vm_says(visit: &Visit, vm: &Vm) -> AnyView {
    let Looks { shape, tone, word, more, .. } = vm_looks(vm, visit.now);
    // what was done by hand stands in full in a note below
    let noted = !vm.outside.is_empty() && [DELETED, CHANGED].contains(&more.as_str());
    let more = if noted { String::new() } else { more };
    // the time is of what its hub shows
    let rest = match vm.since.filter(|_| !vm.stale() && !vm.on_its_way()) {
        Some(at) => format!("since {}, for {}.", at_words(at, visit.now), span(visit.now - at)),
        None => String::new(),
    };
    view! { <Says shape tone word rest more /> }.into_any()
}

/// `vms`: its machines, in the order they start.
pub(super) fn vapp_says(vapp: &Vapp, vms: &[Vm]) -> AnyView {
    let (Looks { shape, tone, word, more, .. }, n) = (vapp_looks(vapp), vapp.vms);
    let waiting = vms.iter().filter(|v| v.restart_needed).count();
    let changes = match waiting {
        0 => String::new(),
        1 => "; one has changes that wait for its next start".to_owned(),
        n => format!("; {n} have changes that wait for their next start"),
    };
    let rest = match n.all {
        0 => String::new(),
        _ => format!("{}{changes}.", running_of(vapp)),
    };
    // what `rest` says already is not said twice
    let counted = matches!(vapp.state(), VappState::Mixed | VappState::Changing) && !vapp.stale();
    let more = [Some(more).filter(|m| !m.is_empty() && !counted), start_order(vms)];
    let (word, more) = (format!("{word}."), more.into_iter().flatten().collect::<Vec<_>>().join(" · "));
    view! { <Says shape tone word rest more /> }.into_any()
}

/// "They start in order: db, then web 30 s later." None: all at once.
fn start_order(vms: &[Vm]) -> Option<String> {
    if !ordered(vms) {
        return None;
    }
    let mut words = String::new();
    for (i, vm) in vms.iter().enumerate() {
        match i.checked_sub(1).map(|before| &vms[before]) {
            None => {}
            Some(before) if before.start_order == vm.start_order => words.push_str(" and "),
            Some(_) => words.push_str(", then "),
        }
        words.push_str(&vm.name);
        let later = i.checked_sub(1).map(|before| &vms[before]).filter(|b| b.start_order != vm.start_order);
        if let Some(delay) = later.map(|b| b.start_delay_s).filter(|s| *s > 0) {
            words.push_str(&format!(" {delay} s later"));
        }
    }
    Some(format!("They start in order: {words}."))
}

/// Do some start before others?
pub(super) fn ordered(vms: &[Vm]) -> bool {
    vms.windows(2).any(|pair| pair[0].start_order != pair[1].start_order)
}

pub(super) fn vapp_badge(vapp: &Vapp) -> AnyView {
    vapp_looks(vapp).badge()
}

fn vm_looks(vm: &Vm, now: OffsetDateTime) -> Looks {
    // nobody has seen yet what was asked of a hub that is silent
    let state = if vm.stale() { vm.last_seen().unwrap_or_else(|| vm.state()) } else { vm.state() };
    let word = state.label();
    let (shape, tone) = match state {
        VmState::Waiting => (Shape::Clock, Tone::Busy),
        VmState::Creating | VmState::Starting | VmState::Stopping | VmState::Suspending | VmState::Deleting => {
            (Shape::Half, Tone::Busy)
        }
        VmState::Running => (Shape::Disc, Tone::Ok),
        VmState::Stopped => (Shape::Ring, Tone::Plain),
        VmState::Suspended => (Shape::Bars, Tone::Plain),
        VmState::Migrating => (Shape::Moving, Tone::Busy),
        VmState::Failed => (Shape::Diamond, Tone::Bad),
        VmState::Missing => (Shape::Missing, Tone::Bad),
        VmState::Unknown => (Shape::StaleOff, Tone::Plain),
    };
    if vm.stale() {
        let seen_at = vm.seen_at.filter(|_| vm.last_seen().is_some()).map(|at| format!("as of {}", at_words(at, now)));
        let queued = vm.queued().map(|what| format!("{what} is queued"));
        let more = [seen_at, Some("hub unreachable".to_owned()), queued].into_iter().flatten().collect::<Vec<_>>();
        let more = more.join(" · ");
        let (shape, tone) = match state {
            VmState::Running | VmState::Migrating => (Shape::Stale, Tone::Plain),
            // asked for, and waits for the hub
            _ if tone == Tone::Busy => (Shape::Clock, Tone::Busy),
            _ => (Shape::StaleOff, Tone::Plain),
        };
        return Looks { shape, tone, word, more, plate: false };
    }
    let more = vm_reason(vm, state);
    let steady = matches!(state, VmState::Running | VmState::Stopped | VmState::Suspended);
    let (shape, tone) = match steady && !vm.outside.is_empty() {
        true => (Shape::Differs, Tone::Warn),
        false => (shape, tone),
    };
    // what is on its way may still get there by itself
    let stuck = !vm.problem.is_empty() && tone != Tone::Busy;
    let tone = if stuck && tone != Tone::Bad { Tone::Warn } else { tone };
    Looks { shape, tone, word, more, plate: stuck || tone == Tone::Bad || shape == Shape::Differs }
}

fn vm_reason(vm: &Vm, state: VmState) -> String {
    let percent = vm.progress.map(|p| format!("{p} %")).unwrap_or_default();
    let first = |words: &[&str]| words.iter().find(|w| !w.is_empty()).map(|w| (*w).to_owned()).unwrap_or_default();
    match state {
        VmState::Failed => first(&[&vm.reason, &vm.problem]),
        VmState::Missing => DELETED.to_owned(),
        VmState::Creating | VmState::Migrating => {
            let parts: Vec<&str> = [vm.reason.as_str(), &percent].into_iter().filter(|w| !w.is_empty()).collect();
            if parts.is_empty() { vm.problem.clone() } else { parts.join(", ") }
        }
        _ if !vm.problem.is_empty() => vm.problem.clone(),
        _ if !vm.outside.is_empty() => CHANGED.to_owned(),
        VmState::Running if vm.restart_needed => "restart to apply changes".to_owned(),
        VmState::Running | VmState::Stopped | VmState::Suspended => String::new(),
        _ => vm.reason.clone(),
    }
}

/// Nobody has seen yet what was asked of a hub that is silent.
fn running_of(vapp: &Vapp) -> String {
    let n = vapp.vms;
    let running = if vapp.stale() { n.seen_running } else { n.running };
    some_of(running.unsigned_abs(), n.all.unsigned_abs(), ("VM", "VMs"), ("runs", "run"))
}

fn vapp_looks(vapp: &Vapp) -> Looks {
    let (state, n) = (vapp.state(), vapp.vms);
    let word = state.label();
    let (shape, tone) = match state {
        VappState::Empty | VappState::Stopped => (Shape::Ring, Tone::Plain),
        VappState::Waiting => (Shape::Clock, Tone::Busy),
        VappState::Changing | VappState::Deleting => (Shape::Half, Tone::Busy),
        VappState::Running | VappState::Mixed => (Shape::Disc, Tone::Ok),
        VappState::Suspended => (Shape::Bars, Tone::Plain),
        VappState::Failed => (Shape::Diamond, Tone::Bad),
    };
    if vapp.stale() {
        let shape = if n.seen_running > 0 { Shape::Stale } else { Shape::StaleOff };
        let word = match state {
            VappState::Changing if n.seen_running == n.all => VappState::Running.label(),
            _ => word,
        };
        let more = match state {
            VappState::Changing | VappState::Deleting => "what was asked for is queued · hub unreachable",
            _ => "last known · hub unreachable",
        };
        return Looks { shape, tone: Tone::Plain, word, more: more.into(), plate: false };
    }
    let some = |count: i64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let more = match state {
        VappState::Waiting => vapp.placement.as_ref().filter(|p| p.hub.is_none()).map(|p| p.because.clone()),
        VappState::Failed => {
            listed([some(n.failed, "failed"), some(n.missing, "missing")].into_iter().flatten().collect())
        }
        VappState::Mixed | VappState::Changing => Some(running_of(vapp)),
        _ => None,
    };
    Looks { shape, tone, word, more: more.unwrap_or_default(), plate: state == VappState::Failed }
}

/// "12:04", with the day unless it is today's.
pub(super) fn at_words(at: OffsetDateTime, now: OffsetDateTime) -> String {
    let (at, now) = (at.to_offset(UtcOffset::UTC), now.to_offset(UtcOffset::UTC));
    let words = if at.date() == now.date() {
        at.format(format_description!("[hour]:[minute]"))
    } else {
        at.format(format_description!("[day padding:none] [month repr:short], [hour]:[minute]"))
    };
    words.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        OrgId, VappId, VdcId, VmId,
        vm::{Power, Seen},
    };
    use time::macros::datetime;
    use uuid::Uuid;

    const NOW: OffsetDateTime = datetime!(2026-11-16 12:00 UTC);

    fn vm(seen: Seen, power: Power) -> Vm {
        let id = Uuid::from_u128(1);
        Vm {
            id: VmId(id),
            org: OrgId(id),
            org_name: "acme".into(),
            vdc: VdcId(id),
            vdc_name: "prod".into(),
            vdc_enabled: true,
            vapp: VappId(id),
            vapp_name: "shop".into(),
            owner: None,
            owner_name: String::new(),
            shares: Vec::new(),
            original_lost: false,
            by_template: false,
            copying: String::new(),
            name: "web".into(),
            description: String::new(),
            computer_name: "web".into(),
            cpus: 2,
            memory_mb: 2048,
            instance_type: String::new(),
            preference: String::new(),
            hardware: model::hardware::Hardware::default(),
            disks: vec![],
            nics: vec![],
            os: String::new(),
            power,
            start_order: 0,
            start_delay_s: 0,
            generation: 1,
            hub: Some("one".into()),
            hub_answers: Some(true),
            namespace: String::new(),
            hub_name: String::new(),
            made: true,
            applied: Some(1),
            seen,
            reason: String::new(),
            seen_cpus: None,
            seen_memory_mb: None,
            node: String::new(),
            ips: vec![],
            guest_os: String::new(),
            progress: None,
            restart_needed: false,
            seen_at: Some(datetime!(2026-11-16 11:04 UTC)),
            since: None,
            outside: String::new(),
            sizing: None,
            besides: model::vm::Besides::default(),
            alone: false,
            expired: false,
            snapshots: 0,
            snapshots_offered: None,
            reverting: false,
            snapshot_problem: String::new(),
            problem: String::new(),
            deleted: false,
            version: 1,
            created_at: NOW,
            updated_at: NOW,
            updated_by: String::new(),
        }
    }

    #[test]
    fn what_a_silent_hub_last_said_is_dashed_and_has_its_time() {
        let silent = |seen, power| vm_looks(&Vm { hub_answers: Some(false), ..vm(seen, power) }, NOW);
        let ran = silent(Seen::Running, Power::On);
        assert_eq!(
            (ran.shape, ran.word, ran.more.as_str()),
            (Shape::Stale, "Running", "as of 11:04 · hub unreachable")
        );
        assert_eq!(silent(Seen::Stopped, Power::Off).shape, Shape::StaleOff);
        let asked = silent(Seen::Running, Power::Off);
        assert_eq!(
            (asked.shape, asked.word, asked.more.as_str()),
            (Shape::Stale, "Running", "as of 11:04 · hub unreachable · power off is queued"),
            "nobody has seen it stop"
        );
        let new = silent(Seen::Never, Power::On);
        assert_eq!((new.shape, new.more.as_str()), (Shape::Clock, "hub unreachable"), "it was never seen");
    }

    #[test]
    fn only_what_somebody_should_look_at_has_a_plate() {
        assert!(!vm_looks(&vm(Seen::Running, Power::On), NOW).plate);
        assert!(vm_looks(&vm(Seen::Missing, Power::On), NOW).plate);
        let stuck = Vm { problem: "Storage is full.".into(), ..vm(Seen::Stopped, Power::On) };
        let stuck = vm_looks(&stuck, NOW);
        assert_eq!((stuck.plate, stuck.tone, stuck.more.as_str()), (true, Tone::Warn, "Storage is full."));
    }

    #[test]
    fn what_was_changed_by_hand_has_a_shape_of_its_own() {
        let by_hand = Vm { outside: "It was stopped on its hub by hand.".into(), ..vm(Seen::Stopped, Power::On) };
        let looks = vm_looks(&by_hand, NOW);
        assert_eq!((looks.shape, looks.tone, looks.more.as_str()), (Shape::Differs, Tone::Warn, "changed by hand"));
    }

    #[test]
    fn the_order_of_a_start_is_said_only_where_there_is_one() {
        let one = |name: &str, start_order, start_delay_s| Vm {
            name: name.into(),
            start_order,
            start_delay_s,
            ..vm(Seen::Running, Power::On)
        };
        assert_eq!(start_order(&[one("a", 0, 0), one("b", 0, 0)]), None);
        let all = [one("db", 1, 30), one("web", 2, 0), one("www", 2, 0)];
        assert_eq!(start_order(&all).as_deref(), Some("They start in order: db, then web 30 s later and www."));
    }

    #[test]
    fn copying_says_how_far_it_is() {
        let copying = Vm { reason: "copying disk".into(), progress: Some(62), ..vm(Seen::Provisioning, Power::On) };
        assert_eq!(vm_looks(&copying, NOW).more, "copying disk, 62 %");
    }
}
