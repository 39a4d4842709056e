//! The one word a VirtualMachine shows for its state.
use super::strategy;
use crate::actors::{
    condition,
    json::{Look, parse_stamp},
};
use serde_json::Value;
use time::OffsetDateTime;

/// What the word depends on besides the machine itself.
pub(crate) struct Around<'a> {
    pub vmi: Option<&'a Value>,
    /// The data volumes it names, as far as they exist.
    pub data_volumes: &'a [&'a Value],
    /// Whether a claim it names is missing or not bound.
    pub claim_unbound: bool,
    /// An instance is being made or will be at once.
    pub start_expected: bool,
    /// The instance is being deleted by us, even if it does not show it yet.
    pub stop_expected: bool,
    pub now: OffsetDateTime,
}

/// First match wins.
pub(crate) fn status(vm: &Value, around: &Around<'_>) -> &'static str {
    let vmi = around.vmi;
    let phase = vmi.map(strategy::phase);
    let ended = vmi.is_some_and(strategy::is_final);
    let synchronized = |reason| vmi.is_some_and(|i| condition::says(i, "Synchronized", "False", reason));
    if vm.dying() {
        "Terminating"
    } else if vmi.is_some_and(|i| !ended && (i.dying() || around.stop_expected)) {
        "Stopping"
    } else if vmi.is_some_and(|i| is_migrating(i, around.now)) {
        "Migrating"
    } else if phase == Some("Running") {
        if vmi.is_some_and(|i| condition::is(i, "Paused", "True")) { "Paused" } else { "Running" }
    } else if synchronized("FailedPvcNotFound") {
        "ErrorPvcNotFound"
    } else if around.data_volumes.iter().any(|dv| has_failed(dv)) {
        "DataVolumeError"
    } else if vmi.is_some_and(|i| condition::says(i, "PodScheduled", "False", "Unschedulable")) {
        "ErrorUnschedulable"
    } else if around.data_volumes.iter().any(|dv| is_provisioning(dv)) {
        "Provisioning"
    } else if around.claim_unbound && strategy::set_to_start(vm, vmi) {
        "WaitingForVolumeBinding"
    } else if synchronized("ErrImagePull") {
        "ErrImagePull"
    } else if synchronized("ImagePullBackOff") {
        "ImagePullBackOff"
    } else if match phase {
        None => around.start_expected,
        Some(p) => matches!(p, "" | "Pending" | "Scheduling" | "Scheduled"),
    } {
        "Starting"
    } else if (vmi.is_none() || ended)
        && vm.int("/status/startFailure/consecutiveFailCount").is_some_and(|n| n > 0)
        && matches!(strategy::of(vm), "Always" | "RerunOnFailure" | "Once")
    {
        "CrashLoopBackOff"
    } else if vmi.is_none() || ended {
        "Stopped"
    } else if strategy::of(vm) == "WaitAsReceiver" {
        "WaitingForReceiver"
    } else {
        "Unknown"
    }
}

fn is_migrating(vmi: &Value, now: OffsetDateTime) -> bool {
    let time = |pointer| vmi.text(pointer).and_then(parse_stamp);
    time("/status/migrationState/startTimestamp").is_some_and(|t| t <= now)
        && time("/status/migrationState/endTimestamp").is_none_or(|t| t > now)
}

fn has_failed(dv: &Value) -> bool {
    dv.text("/status/phase") == Some("Failed")
        || condition::says(dv, "Running", "False", "Error")
        || condition::says(dv, "Running", "False", "ImagePullFailed")
}

fn is_provisioning(dv: &Value) -> bool {
    !matches!(dv.text("/status/phase"), Some("Succeeded" | "PendingPopulation" | "WaitForFirstConsumer"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn around<'a>(vmi: Option<&'a Value>, data_volumes: &'a [&'a Value]) -> Around<'a> {
        Around {
            vmi,
            data_volumes,
            claim_unbound: false,
            start_expected: false,
            stop_expected: false,
            now: OffsetDateTime::from_unix_timestamp(1_000).unwrap(),
        }
    }

    fn vm(strategy: &str) -> Value {
        json!({"metadata": {}, "spec": {"runStrategy": strategy}})
    }

    fn vmi(phase: &str) -> Value {
        json!({"metadata": {"uid": "i"}, "status": {"phase": phase}})
    }

    #[test]
    fn a_dying_machine_is_terminating_whatever_else() {
        let dead = json!({"metadata": {"deletionTimestamp": "x"}, "spec": {"runStrategy": "Always"}});
        assert_eq!(status(&dead, &around(Some(&vmi("Running")), &[])), "Terminating");
    }

    #[test]
    fn phases_have_their_words() {
        let machine = vm("Always");
        for (phase, word) in [
            ("", "Starting"),
            ("Pending", "Starting"),
            ("Scheduling", "Starting"),
            ("Scheduled", "Starting"),
            ("Running", "Running"),
            ("Succeeded", "Stopped"),
            ("Failed", "Stopped"),
            ("Unknown", "Unknown"),
        ] {
            assert_eq!(status(&machine, &around(Some(&vmi(phase)), &[])), word, "{phase}");
        }
        assert_eq!(status(&machine, &around(None, &[])), "Stopped");
        assert_eq!(status(&machine, &Around { start_expected: true, ..around(None, &[]) }), "Starting");
        assert_eq!(status(&machine, &Around { stop_expected: true, ..around(Some(&vmi("Running")), &[]) }), "Stopping");
        let ended = vmi("Succeeded");
        assert_eq!(status(&machine, &Around { stop_expected: true, ..around(Some(&ended), &[]) }), "Stopped");
    }

    #[test]
    fn pauses_and_migrations_show() {
        let mut running = vmi("Running");
        running["status"]["conditions"] = json!([{"type": "Paused", "status": "True"}]);
        assert_eq!(status(&vm("Always"), &around(Some(&running), &[])), "Paused");
        running["status"]["migrationState"] = json!({"startTimestamp": "1970-01-01T00:16:00Z"});
        assert_eq!(status(&vm("Always"), &around(Some(&running), &[])), "Migrating");
        running["status"]["migrationState"]["endTimestamp"] = json!("1970-01-01T00:16:10Z");
        assert_eq!(status(&vm("Always"), &around(Some(&running), &[])), "Paused");
    }

    #[test]
    fn storage_shows_before_the_instance_does() {
        let importing = json!({"status": {"phase": "ImportInProgress"}});
        assert_eq!(status(&vm("Halted"), &around(None, &[&importing])), "Provisioning");
        let mut failing = importing.clone();
        failing["status"]["conditions"] = json!([{"type": "Running", "status": "False", "reason": "Error"}]);
        assert_eq!(status(&vm("Halted"), &around(None, &[&importing, &failing])), "DataVolumeError");
        let done = json!({"status": {"phase": "Succeeded"}});
        assert_eq!(status(&vm("Halted"), &around(None, &[&done])), "Stopped");
        let unbound = Around { claim_unbound: true, ..around(None, &[]) };
        assert_eq!(status(&vm("Always"), &unbound), "WaitingForVolumeBinding");
        assert_eq!(status(&vm("Halted"), &unbound), "Stopped");
    }

    #[test]
    fn what_hinders_a_start_has_a_word() {
        let mut i = vmi("Scheduling");
        for (kind, reason, word) in [
            ("PodScheduled", "Unschedulable", "ErrorUnschedulable"),
            ("Synchronized", "FailedPvcNotFound", "ErrorPvcNotFound"),
            ("Synchronized", "ErrImagePull", "ErrImagePull"),
            ("Synchronized", "ImagePullBackOff", "ImagePullBackOff"),
            ("Synchronized", "FailedCreate", "Starting"),
        ] {
            i["status"]["conditions"] = json!([{"type": kind, "status": "False", "reason": reason}]);
            assert_eq!(status(&vm("Always"), &around(Some(&i), &[])), word);
        }
    }

    #[test]
    fn failed_starts_show_as_a_crash_loop_only_where_a_start_is_tried_again() {
        for (strategy, word) in [("Always", "CrashLoopBackOff"), ("Manual", "Stopped"), ("Once", "CrashLoopBackOff")] {
            let mut machine = vm(strategy);
            machine["status"]["startFailure"] = json!({"consecutiveFailCount": 1});
            assert_eq!(status(&machine, &around(None, &[])), word);
            assert_eq!(status(&machine, &around(Some(&vmi("Failed")), &[])), word);
        }
    }
}
