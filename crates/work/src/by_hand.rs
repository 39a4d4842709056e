//! What somebody did on a hub, past us: told from what was asked for and what is seen.
use hub::shape::patch::RunStrategy;
use model::vm::{Power, Seen};
use store::{Observed, Report};

/// What somebody else did to a machine that had been as it was asked for; empty: nothing. Of its power that is said while
/// something else is still to be brought to its hub, for that leaves its power as it is.
pub(crate) fn by_hand(report: &Report, met: &Observed) -> String {
    if met.deleted || !met.powered {
        return String::new();
    }
    let mut what = Vec::new();
    what.extend(runs_otherwise(report, met));
    if met.settled && met.hub_generation.is_some_and(|ours| report.generation > ours) {
        what.extend(parts(report, met));
    }
    if what.is_empty() && !met.power.is_met(report.seen) {
        // on its way: what was said of it before still holds
        return met.outside.clone();
    }
    what.join(" ")
}

const STOPPED: &str = "It was stopped on its hub by hand.";
const STARTED: &str = "It was started on its hub by hand.";
const RESUMED: &str = "It was resumed on its hub by hand.";
const AT_STOPS: &str = "When it runs was changed on its hub by hand.";

/// It runs where it should not, or the other way round.
fn runs_otherwise(report: &Report, met: &Observed) -> Option<&'static str> {
    // seen after our last change, which left when it runs as it was asked for, or as somebody else had made it by then
    let changed = met.hub_generation.is_some_and(|ours| report.generation >= ours);
    let strategy = RunStrategy::parse(&report.run_strategy);
    let halted = strategy == Some(RunStrategy::Halted);
    // something was named before, or it was as it should be: this is no state on the way there
    let known = !met.outside.is_empty();
    match (met.power, report.seen) {
        (Power::On | Power::Suspended, Seen::Stopped | Seen::Stopping) if changed && halted => Some(STOPPED),
        // stopped as it was before it was started: what has ended is an earlier run
        (Power::On, Seen::Stopped) if report.unheard => None,
        (Power::On, Seen::Stopped) if !halted && (met.before.on() || known) => Some("The guest shut itself down."),
        (Power::On, Seen::Suspended) if met.before.on() || known => Some("It was paused on its hub by hand."),
        (Power::On, Seen::Running) if changed && !halted && strategy != Some(RunStrategy::RerunOnFailure) => {
            Some(AT_STOPS)
        }
        (Power::Off, Seen::Starting | Seen::Running | Seen::Migrating | Seen::Suspended) if changed && !halted => {
            Some(STARTED)
        }
        // what would start it soon is named when it starts
        (Power::Off, Seen::Stopped) if changed && (strategy == Some(RunStrategy::Manual) || (!halted && known)) => {
            Some(AT_STOPS)
        }
        // from memory to running: somebody resumed it. After an end of what ran, it is another run of the same machine
        (Power::Suspended, Seen::Running | Seen::Migrating) if met.before == Seen::Suspended => Some(RESUMED),
        (Power::Suspended, Seen::Starting | Seen::Running) if !met.before.on() => {
            Some("It was started anew on its hub, and is not suspended any more.")
        }
        (Power::Suspended, Seen::Stopped) => Some("It was stopped on its hub, and is not suspended any more."),
        _ => None,
    }
}

/// Which parts of what it asks for are others than they were left.
fn parts(report: &Report, met: &Observed) -> Vec<&'static str> {
    let Some(ours) = met.hub_form else {
        // nobody wrote down what was there: of a size it can be told all the same
        let resized = !met.typed
            && (report.asked_cpus.is_some_and(|c| c != met.cpus)
                || report.asked_memory_mb.is_some_and(|m| m != met.memory_mb));
        return if resized { vec!["Its size was changed on its hub by hand."] } else { Vec::new() };
    };
    let now = report.form;
    let all = [
        (now.size != ours.size, "Its size was changed on its hub by hand."),
        (now.disks != ours.disks, "Its disks were changed on its hub by hand."),
        (now.nics != ours.nics, "Its NICs were changed on its hub by hand."),
        (now.rest != ours.rest, "Its settings were changed on its hub by hand."),
    ];
    all.into_iter().filter(|(differs, _)| *differs).map(|(_, what)| what).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{OrgId, VappId, form::Form};
    use uuid::Uuid;

    /// As it was asked for, and left at generation 5.
    fn met(power: Power, before: Seen) -> Observed {
        Observed {
            org: OrgId(Uuid::nil()),
            owner: None,
            vapp: VappId(Uuid::nil()),
            name: "web".into(),
            power,
            known_uid: None,
            settled: true,
            powered: true,
            deleted: false,
            before,
            cpus: 2,
            memory_mb: 2048,
            typed: false,
            hub_generation: Some(5),
            hub_form: Some(Form::default()),
            outside: String::new(),
            changed: true,
            nics_leaving: false,
            stranger: false,
            agent_came: false,
            restart_came: false,
        }
    }

    fn seen(seen: Seen, strategy: RunStrategy, generation: i64) -> Report {
        Report { seen, run_strategy: strategy.key().into(), generation, ..Report::default() }
    }

    #[test]
    fn whatever_runs_otherwise_is_named() {
        use RunStrategy::{Always, Halted, Manual, RerunOnFailure as Rerun};
        for (power, before, now, strategy, generation, what) in [
            (Power::On, Seen::Running, Seen::Running, Rerun, 5, ""),
            (Power::On, Seen::Running, Seen::Stopping, Halted, 6, STOPPED),
            (Power::On, Seen::Running, Seen::Stopped, Halted, 6, STOPPED),
            (Power::On, Seen::Running, Seen::Stopped, Rerun, 5, "The guest shut itself down."),
            (Power::On, Seen::Running, Seen::Suspended, Rerun, 5, "It was paused on its hub by hand."),
            (Power::On, Seen::Running, Seen::Running, Always, 6, AT_STOPS),
            (Power::On, Seen::Stopped, Seen::Starting, Rerun, 5, ""),
            (Power::Off, Seen::Stopped, Seen::Starting, Rerun, 6, STARTED),
            (Power::Off, Seen::Starting, Seen::Suspended, Rerun, 7, STARTED),
            (Power::Off, Seen::Running, Seen::Stopping, Halted, 5, ""),
            (Power::Off, Seen::Stopped, Seen::Stopped, Manual, 6, AT_STOPS),
            (Power::Off, Seen::Stopped, Seen::Stopped, Rerun, 6, ""),
            (Power::Suspended, Seen::Running, Seen::Running, Rerun, 5, ""),
            (Power::Suspended, Seen::Suspended, Seen::Running, Rerun, 5, RESUMED),
            (Power::Suspended, Seen::Suspended, Seen::Stopping, Halted, 6, STOPPED),
            (Power::Suspended, Seen::Stopping, Seen::Stopped, Halted, 6, STOPPED),
            (
                Power::Suspended,
                Seen::Failed,
                Seen::Starting,
                Rerun,
                5,
                "It was started anew on its hub, and is not suspended any more.",
            ),
            (Power::Suspended, Seen::Suspended, Seen::Suspended, Rerun, 5, ""),
        ] {
            let told = by_hand(&seen(now, strategy, generation), &met(power, before));
            assert_eq!(told, what, "{power:?}: {before:?} to {now:?}, {strategy:?}, {generation}");
        }
    }

    #[test]
    fn what_is_about_to_start_did_not_shut_itself_down() {
        let on = met(Power::On, Seen::Running);
        let stopped = seen(Seen::Stopped, RunStrategy::RerunOnFailure, 5);
        assert_eq!(by_hand(&Report { unheard: true, ..stopped.clone() }, &on), "");
        assert_eq!(by_hand(&stopped, &on), "The guest shut itself down.");
        let halted = Report { unheard: true, ..seen(Seen::Stopped, RunStrategy::Halted, 6) };
        assert_eq!(by_hand(&halted, &on), STOPPED);
    }

    #[test]
    fn what_was_named_holds_until_it_is_as_it_was_asked_for() {
        let resumed = Observed { outside: RESUMED.into(), ..met(Power::Suspended, Seen::Running) };
        let runs = seen(Seen::Running, RunStrategy::RerunOnFailure, 5);
        assert_eq!(by_hand(&runs, &resumed), RESUMED);
        assert_eq!(by_hand(&seen(Seen::Suspended, RunStrategy::RerunOnFailure, 5), &resumed), "");
        assert_eq!(by_hand(&runs, &Observed { powered: false, ..resumed.clone() }), "", "it is brought to it now");
        assert_eq!(by_hand(&runs, &Observed { deleted: true, ..resumed }), "");
    }

    #[test]
    fn what_was_done_to_its_power_is_named_while_something_else_is_brought_to_it_and_after_that() {
        let (off, on) = (met(Power::Off, Seen::Stopped), met(Power::On, Seen::Running));
        let started = seen(Seen::Running, RunStrategy::RerunOnFailure, 6);
        let stopped = seen(Seen::Stopped, RunStrategy::Halted, 6);
        for settled in [false, true] {
            // the last change is ours, of something else
            let ours = |met: &Observed| Observed { hub_generation: Some(6), settled, ..met.clone() };
            assert_eq!(by_hand(&started, &ours(&off)), STARTED);
            assert_eq!(by_hand(&stopped, &ours(&on)), STOPPED);
        }
        assert_eq!(by_hand(&started, &Observed { hub_generation: Some(7), ..off }), "", "seen before we changed it");
        let form = Form { size: 1, ..Form::default() };
        let resized = Report { form, ..seen(Seen::Running, RunStrategy::RerunOnFailure, 6) };
        assert_eq!(by_hand(&resized, &Observed { settled: false, ..on }), "", "its size is being brought to it");
    }

    #[test]
    fn every_part_that_was_changed_is_named() {
        let runs = |form| Report { form, ..seen(Seen::Running, RunStrategy::RerunOnFailure, 6) };
        let on = met(Power::On, Seen::Running);
        let form = Form { size: 1, ..Form::default() };
        assert_eq!(by_hand(&runs(form), &on), "Its size was changed on its hub by hand.");
        assert_eq!(by_hand(&runs(form), &Observed { typed: true, ..on.clone() }), by_hand(&runs(form), &on));
        let form = Form { disks: 1, nics: 1, rest: 1, ..Form::default() };
        assert_eq!(
            by_hand(&runs(form), &on),
            "Its disks were changed on its hub by hand. Its NICs were changed on its hub by hand. \
             Its settings were changed on its hub by hand."
        );
        assert_eq!(by_hand(&runs(Form::default()), &on), "", "what KubeVirt writes into it counts as no change");
        let before_ours = Report { generation: 4, ..runs(form) };
        assert_eq!(by_hand(&before_ours, &on), "", "seen before we changed it");
        let unknown = Observed { hub_form: None, ..on };
        assert_eq!(by_hand(&runs(form), &unknown), "");
        let resized = Report { asked_cpus: Some(4), ..runs(form) };
        assert_eq!(by_hand(&resized, &unknown), "Its size was changed on its hub by hand.");
    }
}
