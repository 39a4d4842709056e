//! A VirtualMachine's status, from what there is.
use super::{
    build::GENERATION,
    printable::{self, Around},
    strategy,
};
use crate::actors::{
    chance::Chance,
    condition::{self, Say},
    json::{Look, list_mut, remove, stamp},
};
use serde_json::{Value, json};

/// What happened in this look at the machine.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Reason and message of a failure; none takes an earlier one away.
    pub failure: Option<(String, String)>,
    pub restart_required: Option<&'static str>,
    /// A start must be asked for, because a failed instance is being removed.
    pub ask_start: bool,
    pub instancetype: Option<Value>,
    pub preference: Option<Value>,
    pub snapshots: Vec<Value>,
}

/// Conditions that are the machine's own; all others are its instance's.
const OWN: [&str; 4] = ["Ready", "Failure", "RestartRequired", "ManualRecoveryRequired"];

pub(crate) fn compute(vm: &Value, around: &Around<'_>, outcome: &Outcome, chance: Chance) -> Value {
    let mut status = vm.get("status").filter(|s| s.is_object()).cloned().unwrap_or_else(|| json!({}));
    let vmi = around.vmi;
    let ready = vmi.is_some_and(|i| condition::is(i, "Ready", "True"));
    for (field, on) in [("created", vmi.is_some()), ("ready", ready)] {
        if on {
            status[field] = json!(true);
        } else {
            remove(&mut status, &format!("/{field}"));
        }
    }
    conditions(&mut status, vmi, outcome, around.now);
    requests(&mut status, vm, vmi, outcome);
    start_failure(&mut status, vm, vmi, around, chance);
    generations(&mut status, vm, vmi);
    if vmi.is_some() || status.has("/runStrategy") {
        status["runStrategy"] = json!(strategy::of(vm));
    }
    for (field, value) in [("instancetypeRef", &outcome.instancetype), ("preferenceRef", &outcome.preference)] {
        match value {
            Some(value) => status[field] = value.clone(),
            None => {
                remove(&mut status, &format!("/{field}"));
            }
        }
    }
    if !outcome.snapshots.is_empty() {
        status["volumeSnapshotStatuses"] = json!(outcome.snapshots);
    }
    let mut seen = vm.clone();
    seen["status"] = status.clone();
    status["printableStatus"] = json!(printable::status(&seen, around));
    status
}

fn conditions(status: &mut Value, vmi: Option<&Value>, outcome: &Outcome, now: time::OffsetDateTime) {
    match vmi {
        None => {
            condition::set(status, condition::no("Ready", "VMINotExists", "VMI does not exist"), now);
            condition::unset(status, "RestartRequired");
        }
        Some(vmi) => {
            match condition::find(vmi, "Ready") {
                Some(ready) => condition::set_raw(status, ready.clone(), now),
                None => condition::set(
                    status,
                    condition::no("Ready", "VMIConditionMissing", "VMI is missing the Ready condition"),
                    now,
                ),
            }
            list_mut(status, "/conditions")
                .retain(|c| c.text("/type").is_some_and(|t| OWN.contains(&t) || condition::find(vmi, t).is_some()));
            for copied in vmi.list("/status/conditions") {
                if !copied.text("/type").is_some_and(|t| OWN.contains(&t)) {
                    condition::set_raw(status, copied.clone(), now);
                }
            }
            if let Some(message) = outcome.restart_required {
                condition::set(status, Say { message, ..condition::yes("RestartRequired") }, now);
            }
        }
    }
    match &outcome.failure {
        Some((reason, message)) => {
            condition::set(status, Say { reason, message, ..condition::yes("Failure") }, now);
        }
        None => {
            condition::unset(status, "Failure");
        }
    }
}

fn requests(status: &mut Value, vm: &Value, vmi: Option<&Value>, outcome: &Outcome) {
    if strategy::request_done(vm, vmi) {
        list_mut(status, "/stateChangeRequests").remove(0);
    }
    if outcome.ask_start && !strategy::start_requested(vm) {
        list_mut(status, "/stateChangeRequests").push(json!({"action": "Start"}));
    }
    if status.list("/stateChangeRequests").is_empty() {
        remove(status, "/stateChangeRequests");
    }
}

fn start_failure(status: &mut Value, vm: &Value, vmi: Option<&Value>, around: &Around<'_>, chance: Chance) {
    let ran = vmi.is_some_and(|i| {
        i.list("/status/phaseTransitionTimestamps").iter().any(|t| t.text("/phase") == Some("Running"))
    });
    if ran || !matches!(strategy::of(vm), "Always" | "RerunOnFailure" | "Once") {
        remove(status, "/startFailure");
        return;
    }
    let Some(vmi) = vmi.filter(|i| strategy::phase(i) == "Failed") else { return };
    if status.text("/startFailure/lastFailedVMIUID") == Some(vmi.uid()) {
        return;
    }
    let count = status.int("/startFailure/consecutiveFailCount").unwrap_or(0) + 1;
    let wait = strategy::backoff(count, chance.number(&["back-off", vmi.uid()]));
    status["startFailure"] = json!({
        "consecutiveFailCount": count,
        "lastFailedVMIUID": vmi.uid(),
        "retryAfterTimestamp": stamp(around.now + wait),
    });
}

fn generations(status: &mut Value, vm: &Value, vmi: Option<&Value>) {
    if let Some(generation) = vm.int("/metadata/generation") {
        status["desiredGeneration"] = json!(generation);
    }
    if let Some(observed) = vmi.and_then(|i| i.annotation(GENERATION)).and_then(|g| g.parse::<i64>().ok()) {
        status["observedGeneration"] = json!(observed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::OffsetDateTime;

    fn around(vmi: Option<&Value>) -> Around<'_> {
        Around {
            vmi,
            data_volumes: &[],
            claim_unbound: false,
            start_expected: false,
            stop_expected: false,
            now: OffsetDateTime::from_unix_timestamp(1_000).unwrap(),
        }
    }

    fn vm(status: Value) -> Value {
        json!({"metadata": {"name": "web", "generation": 2}, "spec": {"runStrategy": "Always"}, "status": status})
    }

    fn of(vm: &Value, vmi: Option<&Value>) -> Value {
        compute(vm, &around(vmi), &Outcome::default(), Chance::new(1))
    }

    #[test]
    fn a_machine_without_instance_is_not_ready_and_stopped() {
        let status = of(&vm(json!(null)), None);
        assert_eq!(status["printableStatus"], "Stopped");
        assert_eq!(status["conditions"][0]["reason"], "VMINotExists");
        assert!(status.get("created").is_none() && status.get("runStrategy").is_none());
    }

    #[test]
    fn conditions_of_the_instance_come_and_go_with_it_and_stay_when_there_is_none() {
        let mut vmi = json!({"metadata": {"uid": "i", "annotations": {GENERATION: "1"}}, "status": {"phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "AgentConnected", "status": "True"}]}});
        let running = of(&vm(json!({})), Some(&vmi));
        assert_eq!((&running["created"], &running["ready"]), (&json!(true), &json!(true)));
        assert_eq!((&running["desiredGeneration"], &running["observedGeneration"]), (&json!(2), &json!(1)));
        let stopped = of(&vm(running.clone()), None);
        assert!(condition::is(&vm(stopped), "AgentConnected", "True"));
        vmi["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
        let lost = of(&vm(running), Some(&vmi));
        assert!(condition::find(&vm(lost), "AgentConnected").is_none());
    }

    #[test]
    fn a_failed_start_is_counted_once_and_forgotten_when_the_guest_ran() {
        let failed = json!({"metadata": {"uid": "i"}, "status": {"phase": "Failed"}});
        let once = of(&vm(json!({})), Some(&failed));
        assert_eq!(once["startFailure"]["consecutiveFailCount"], 1);
        assert_eq!(once["printableStatus"], "CrashLoopBackOff");
        let again = of(&vm(once.clone()), Some(&failed));
        assert_eq!(again, once, "the same instance is not counted twice");
        let next = json!({"metadata": {"uid": "j"}, "status": {"phase": "Failed"}});
        assert_eq!(of(&vm(once.clone()), Some(&next))["startFailure"]["consecutiveFailCount"], 2);
        let ran = json!({"metadata": {"uid": "k"}, "status": {"phase": "Running",
            "phaseTransitionTimestamps": [{"phase": "Running"}]}});
        assert!(of(&vm(once), Some(&ran)).get("startFailure").is_none());
    }

    #[test]
    fn a_fulfilled_request_goes_and_the_next_one_stays() {
        let machine = vm(json!({"stateChangeRequests": [{"action": "Stop", "uid": "i"}, {"action": "Start"}]}));
        let status = of(&machine, None);
        assert_eq!(status["stateChangeRequests"], json!([{"action": "Start"}]));
        let live = json!({"metadata": {"uid": "j"}, "status": {"phase": "Pending"}});
        assert!(of(&vm(status), Some(&live)).get("stateChangeRequests").is_none());
    }

    #[test]
    fn a_required_restart_stays_until_the_instance_is_gone() {
        let vmi = json!({"metadata": {"uid": "i"}, "status": {"phase": "Running"}});
        let outcome = Outcome { restart_required: Some("because"), ..Outcome::default() };
        let first = compute(&vm(json!({})), &around(Some(&vmi)), &outcome, Chance::new(1));
        let later = of(&vm(first), Some(&vmi));
        assert!(condition::is(&vm(later.clone()), "RestartRequired", "True"));
        assert!(condition::find(&vm(of(&vm(later), None)), "RestartRequired").is_none());
    }
}
