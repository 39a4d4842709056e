//! What a VirtualMachine's run strategy asks for, given what there is.
use crate::actors::json::{Look, parse_stamp};
use serde_json::Value;
use std::time::Duration;
use time::OffsetDateTime;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Nothing,
    Start,
    /// Not yet: too many starts failed lately.
    StartAfter(Duration),
    Stop,
    /// Stop, and ask for a start once it is gone.
    StopThenStart,
    /// A start was asked of a halted machine: from now on it always runs.
    BecomeAlways,
}

/// The strategy, also of machines that still say `running`.
pub(crate) fn of(vm: &Value) -> &str {
    match vm.pointer("/spec/running").and_then(Value::as_bool) {
        Some(true) => "Always",
        Some(false) => "Halted",
        None => vm.text("/spec/runStrategy").unwrap_or("Halted"),
    }
}

pub(crate) fn phase(vmi: &Value) -> &str {
    vmi.text("/status/phase").unwrap_or_default()
}

/// Whether an instance will never run again.
pub(crate) fn is_final(vmi: &Value) -> bool {
    matches!(phase(vmi), "Succeeded" | "Failed")
}

pub(crate) fn start_requested(vm: &Value) -> bool {
    vm.text("/status/stateChangeRequests/0/action") == Some("Start")
}

pub(crate) fn stop_requested(vm: &Value, vmi: &Value) -> bool {
    vm.text("/status/stateChangeRequests/0/action") == Some("Stop")
        && vm.text("/status/stateChangeRequests/0/uid") == Some(vmi.uid())
}

/// Whether the first request has been answered by what there is now.
pub(crate) fn request_done(vm: &Value, vmi: Option<&Value>) -> bool {
    match vm.text("/status/stateChangeRequests/0/action") {
        Some("Stop") => vmi.is_none_or(|i| vm.text("/status/stateChangeRequests/0/uid") != Some(i.uid())),
        Some("Start") => vmi.is_some_and(|i| !i.dying() && !is_final(i)),
        _ => false,
    }
}

/// Whether the machine is meant to run, as far as its storage has to be ready for it.
pub(crate) fn set_to_start(vm: &Value, vmi: Option<&Value>) -> bool {
    match of(vm) {
        "Always" => true,
        "Once" => vmi.is_none(),
        "RerunOnFailure" => vmi.is_some() || start_requested(vm) || strategy_is_new(vm),
        "Manual" => vmi.map_or_else(|| start_requested(vm), |i| !stop_requested(vm, i)),
        _ => false,
    }
}

fn strategy_is_new(vm: &Value) -> bool {
    vm.text("/status/runStrategy") != Some(of(vm))
}

fn start(vm: &Value, now: OffsetDateTime) -> Act {
    let retry = vm.text("/status/startFailure/retryAfterTimestamp").and_then(parse_stamp);
    match retry.map(|at| at - now).filter(|left| left.is_positive()) {
        Some(left) => Act::StartAfter(left.unsigned_abs()),
        None => Act::Start,
    }
}

pub(crate) fn decide(vm: &Value, vmi: Option<&Value>, now: OffsetDateTime) -> Act {
    match (of(vm), vmi) {
        (_, Some(i)) if i.dying() => Act::Nothing,
        ("Always", Some(i)) if stop_requested(vm, i) || is_final(i) => Act::Stop,
        ("Always", None) => start(vm, now),
        ("RerunOnFailure", Some(i)) if phase(i) == "Failed" => Act::StopThenStart,
        ("RerunOnFailure", Some(i)) if stop_requested(vm, i) || is_final(i) => Act::Stop,
        ("RerunOnFailure", None) if start_requested(vm) || strategy_is_new(vm) => start(vm, now),
        ("Manual", Some(i)) if stop_requested(vm, i) => Act::Stop,
        ("Manual", None) if start_requested(vm) => start(vm, now),
        ("Once", None) => start(vm, now),
        ("Halted", Some(_)) => Act::Stop,
        ("Halted", None) if start_requested(vm) => Act::BecomeAlways,
        _ => Act::Nothing,
    }
}

/// Seconds to wait after the n-th failed start in a row: ten times n squared and up to half of that more, 300 at most.
pub(crate) fn backoff(failures: i64, chance: u64) -> Duration {
    let base = u64::try_from(failures.clamp(1, 100)).unwrap_or(1).pow(2) * 10;
    Duration::from_secs((base + chance % (base / 2 + 1)).min(300))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn now() -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(1_000_000).unwrap()
    }

    fn vm(strategy: &str) -> Value {
        json!({"spec": {"runStrategy": strategy}})
    }

    fn vmi(phase: &str) -> Value {
        json!({"metadata": {"uid": "i"}, "status": {"phase": phase}})
    }

    fn asked(mut vm: Value, requests: Value) -> Value {
        vm["status"]["stateChangeRequests"] = requests;
        vm
    }

    fn stop() -> Value {
        json!([{"action": "Stop", "uid": "i"}])
    }

    fn begin() -> Value {
        json!([{"action": "Start"}])
    }

    #[test]
    fn always_starts_what_is_missing_and_replaces_what_ended() {
        assert_eq!(decide(&vm("Always"), None, now()), Act::Start);
        assert_eq!(decide(&vm("Always"), Some(&vmi("Running")), now()), Act::Nothing);
        for phase in ["Succeeded", "Failed"] {
            assert_eq!(decide(&vm("Always"), Some(&vmi(phase)), now()), Act::Stop, "{phase}");
        }
        assert_eq!(decide(&asked(vm("Always"), stop()), Some(&vmi("Running")), now()), Act::Stop);
        let running: Value = json!({"spec": {"running": true}});
        assert_eq!(decide(&running, None, now()), Act::Start);
    }

    #[test]
    fn rerun_on_failure_starts_when_it_is_new_or_asked_and_after_a_failure_only() {
        let mut known = vm("RerunOnFailure");
        assert_eq!(decide(&known, None, now()), Act::Start, "the strategy was just set");
        known["status"]["runStrategy"] = json!("RerunOnFailure");
        assert_eq!(decide(&known, None, now()), Act::Nothing);
        assert_eq!(decide(&asked(known.clone(), begin()), None, now()), Act::Start);
        assert_eq!(decide(&known, Some(&vmi("Succeeded")), now()), Act::Stop);
        assert_eq!(decide(&known, Some(&vmi("Failed")), now()), Act::StopThenStart);
        assert_eq!(decide(&asked(known, stop()), Some(&vmi("Running")), now()), Act::Stop);
    }

    #[test]
    fn manual_does_only_what_is_asked() {
        assert_eq!(decide(&vm("Manual"), None, now()), Act::Nothing);
        assert_eq!(decide(&vm("Manual"), Some(&vmi("Succeeded")), now()), Act::Nothing);
        assert_eq!(decide(&asked(vm("Manual"), begin()), None, now()), Act::Start);
        assert_eq!(decide(&asked(vm("Manual"), stop()), Some(&vmi("Running")), now()), Act::Stop);
        let other = json!([{"action": "Stop", "uid": "another"}]);
        assert_eq!(decide(&asked(vm("Manual"), other), Some(&vmi("Running")), now()), Act::Nothing);
    }

    #[test]
    fn halted_stops_all_and_a_start_request_makes_it_always() {
        assert_eq!(decide(&vm("Halted"), Some(&vmi("Running")), now()), Act::Stop);
        assert_eq!(decide(&vm("Halted"), None, now()), Act::Nothing);
        assert_eq!(decide(&asked(vm("Halted"), begin()), None, now()), Act::BecomeAlways);
    }

    #[test]
    fn once_runs_once() {
        assert_eq!(decide(&vm("Once"), None, now()), Act::Start);
        assert_eq!(decide(&vm("Once"), Some(&vmi("Failed")), now()), Act::Nothing);
    }

    #[test]
    fn what_is_going_away_is_waited_for() {
        let mut dying = vmi("Running");
        dying["metadata"]["deletionTimestamp"] = json!("2020-01-01T00:00:00Z");
        for strategy in ["Always", "RerunOnFailure", "Halted", "Manual", "Once"] {
            assert_eq!(decide(&vm(strategy), Some(&dying), now()), Act::Nothing, "{strategy}");
        }
    }

    #[test]
    fn a_start_waits_while_earlier_ones_failed() {
        let mut failing = vm("Always");
        failing["status"]["startFailure"] = json!({"retryAfterTimestamp": "1970-01-12T13:46:50Z"});
        assert_eq!(decide(&failing, None, now()), Act::StartAfter(Duration::from_secs(10)));
        assert_eq!(decide(&failing, None, now() + Duration::from_secs(10)), Act::Start);
    }

    #[test]
    fn waits_grow_with_the_square_up_to_five_minutes() {
        for (n, low, high) in [(1, 10, 15), (2, 40, 60), (3, 90, 135), (6, 300, 300)] {
            for chance in [0, 7, u64::MAX] {
                let s = backoff(n, chance).as_secs();
                assert!((low..=high).contains(&s), "{n}: {s}");
            }
        }
    }

    #[test]
    fn a_request_is_done_when_what_it_asks_for_is_there() {
        assert!(!request_done(&asked(vm("Manual"), stop()), Some(&vmi("Running"))));
        assert!(request_done(&asked(vm("Manual"), stop()), None));
        assert!(!request_done(&asked(vm("Manual"), begin()), None));
        assert!(!request_done(&asked(vm("Manual"), begin()), Some(&vmi("Succeeded"))));
        assert!(request_done(&asked(vm("Manual"), begin()), Some(&vmi("Pending"))));
    }
}
