//! What somebody did on a hub, past us: told from what was asked for and what is seen.
use hub::shape::patch::RunStrategy;
use model::vm::{Power, Seen};
use store::{Observed, Report};

/// What somebody else did to a machine that had been as it was asked for; empty: nothing.
pub(crate) fn by_hand(report: &Report, met: &Observed) -> String {
    if met.deleted || !met.settled {
        return String::new();
    }
    let satisfied = matches!(
        (report.seen, met.power),
        (Seen::Running | Seen::Migrating, Power::On)
            | (Seen::Stopped, Power::Off)
            | (Seen::Suspended, Power::Suspended)
    );
    let changed = met.hub_generation.is_some_and(|ours| report.generation > ours);
    let halted = report.run_strategy == RunStrategy::Halted.key();
    let mut what = Vec::new();
    match (met.power, report.seen) {
        (Power::On, Seen::Stopped | Seen::Stopping) if changed && halted => {
            what.push("It was stopped on its hub by hand.")
        }
        (Power::On, Seen::Stopped) if !halted && (met.before.on() || !met.outside.is_empty()) => {
            what.push("The guest shut itself down.");
        }
        (Power::On, Seen::Suspended) if met.before.on() || !met.outside.is_empty() => {
            what.push("It was paused on its hub by hand.");
        }
        (Power::Off, Seen::Starting | Seen::Running) if changed && !halted => {
            what.push("It was started on its hub by hand.");
        }
        _ => {}
    }
    let resized = !met.typed
        && (report.asked_cpus.is_some_and(|c| c != met.cpus)
            || report.asked_memory_mb.is_some_and(|m| m != met.memory_mb));
    if changed && resized {
        what.push("Its size was changed on its hub by hand.");
    }
    if what.is_empty() && !satisfied {
        // on its way: what was said of it before still holds
        return met.outside.clone();
    }
    what.join(" ")
}
