//! What start, stop and restart of a VirtualMachine do, or why they do not.
use super::refusal::{INSTANCE, MACHINE, Refusal};
use crate::actors::{condition, json::Look, machine::strategy};
use serde_json::{Value, json};

/// What an accepted call changes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    RunStrategy(&'static str),
    /// The machine's requests become these.
    Requests(Value),
    /// The machine's requests for volumes become these.
    Volumes(Value),
}

/// An accepted call, with what it also does to the instance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Accepted {
    pub change: Option<Change>,
    /// The instance gets this much time to shut down.
    pub grace: Option<i64>,
}

impl From<Change> for Accepted {
    fn from(change: Change) -> Accepted {
        Accepted { change: Some(change), grace: None }
    }
}

pub(super) type Answer = Result<Accepted, Refusal>;

pub(super) fn refuse(vm: &Value, why: &str) -> Answer {
    Err(Refusal::conflict(MACHINE, vm.name(), why))
}

/// Requests in a row. Only a stop may push earlier ones aside.
fn requests(vm: &Value, wanted: Value) -> Answer {
    let only_stop = wanted.as_array().is_some_and(|w| w.len() == 1 && w[0]["action"] == "Stop");
    if !vm.list("/status/stateChangeRequests").is_empty() && !only_stop {
        return Err(Refusal::internal("unable to complete request: stop/start already underway"));
    }
    Ok(Change::Requests(wanted).into())
}

fn is_live(vmi: &Value) -> bool {
    !strategy::is_final(vmi)
}

pub(crate) fn start(vm: &Value, vmi: Option<&Value>, options: &Value) -> Answer {
    let running = vmi.is_some_and(|i| !matches!(strategy::phase(i), "" | "Unknown" | "Succeeded" | "Failed"));
    if running {
        return refuse(vm, "VM is already running");
    }
    if condition::is(vm, "ManualRecoveryRequired", "True") {
        return refuse(
            vm,
            "VM recovery required: Volume migration failed, leaving some volumes in an inconsistent state",
        );
    }
    let paused = options.flag("/paused");
    let begin =
        if paused { json!({"action": "Start", "data": {"paused": "true"}}) } else { json!({"action": "Start"}) };
    match (strategy::of(vm), vmi.map(strategy::phase)) {
        ("Halted", _) if paused => requests(vm, json!([begin])),
        ("Halted", _) => Ok(Change::RunStrategy("Always").into()),
        ("RerunOnFailure", Some("Failed")) => {
            refuse(vm, "RerunOnFailure does not support starting VM from failed state")
        }
        ("RerunOnFailure" | "Manual", Some("Succeeded" | "Failed")) => {
            let uid = vmi.map(Look::uid).unwrap_or_default();
            requests(vm, json!([{"action": "Stop", "uid": uid}, begin]))
        }
        ("RerunOnFailure" | "Manual", _) => requests(vm, json!([begin])),
        (other, _) => refuse(vm, &format!("{other} does not support manual start requests")),
    }
}

pub(crate) fn stop(vm: &Value, vmi: Option<&Value>, options: &Value) -> Answer {
    let live = vmi.filter(|i| is_live(i));
    let grace = options.int("/gracePeriod");
    let shorter = grace
        .zip(live)
        .is_some_and(|(wanted, vmi)| vmi.int("/spec/terminationGracePeriodSeconds").is_none_or(|now| wanted < now));
    let grace = grace.filter(|_| live.is_some());
    match (strategy::of(vm), live) {
        ("Halted", None) | ("Manual" | "RerunOnFailure", None) => refuse(vm, "VM is not running"),
        ("Halted", Some(_)) if shorter => Ok(Accepted { change: None, grace }),
        ("Halted", Some(_)) => refuse(vm, "Halted only supports manual stop requests with a shorter graceperiod"),
        ("Manual" | "RerunOnFailure", Some(vmi)) => {
            let accepted = requests(vm, json!([{"action": "Stop", "uid": vmi.uid()}]))?;
            Ok(Accepted { grace, ..accepted })
        }
        _ => Ok(Accepted { change: Some(Change::RunStrategy("Halted")), grace }),
    }
}

/// The check of restart's options comes before the machine is even looked up.
pub(crate) fn check_restart_options(options: &Value) -> Result<(), Refusal> {
    match options.int("/gracePeriodSeconds") {
        Some(n) if n > 0 => Err(Refusal::bad_request("For force restart, only gracePeriod=0 is supported for now")),
        Some(n) if n < 0 => Err(Refusal::bad_request("gracePeriod has to be greater or equal to 0")),
        _ => Ok(()),
    }
}

pub(crate) fn restart(vm: &Value, vmi: Option<&Value>, options: &Value) -> Answer {
    let now = strategy::of(vm);
    if matches!(now, "Halted" | "Once") {
        return refuse(vm, &format!("RunStategy {now} does not support manual restart requests"));
    }
    let Some(vmi) = vmi else { return refuse(vm, "VM is not running: Halted") };
    let accepted = requests(vm, json!([{"action": "Stop", "uid": vmi.uid()}, {"action": "Start"}]))?;
    Ok(Accepted { grace: options.int("/gracePeriodSeconds"), ..accepted })
}

/// The migration that `migrate` asks for.
pub(crate) fn migration(vm: &Value, vmi: Option<&Value>, options: &Value) -> Result<Value, Refusal> {
    let vmi = vmi.ok_or_else(|| Refusal::not_found(INSTANCE, vm.name()))?;
    if strategy::phase(vmi) != "Running" {
        return Err(Refusal::conflict(MACHINE, vm.name(), "VM is not running"));
    }
    let mut spec = json!({"vmiName": vm.name()});
    if let Some(selector) = options.get("addedNodeSelector") {
        spec["addedNodeSelector"] = selector.clone();
    }
    Ok(json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"generateName": "kubevirt-migrate-vm-", "namespace": vm.namespace()},
        "spec": spec,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vm(strategy: &str) -> Value {
        json!({"metadata": {"name": "vm1"}, "spec": {"runStrategy": strategy}})
    }

    fn vmi(phase: &str) -> Value {
        json!({"metadata": {"uid": "i"}, "spec": {"terminationGracePeriodSeconds": 30}, "status": {"phase": phase}})
    }

    fn words(answer: Answer) -> String {
        let refusal = answer.unwrap_err();
        assert_eq!((refusal.code, refusal.reason), (409, "Conflict"));
        refusal
            .message
            .strip_prefix("Operation cannot be fulfilled on virtualmachine.kubevirt.io \"vm1\": ")
            .unwrap()
            .to_owned()
    }

    #[test]
    fn start_is_refused_while_it_runs_and_where_it_is_not_manual() {
        for phase in ["Pending", "Scheduling", "Scheduled", "Running"] {
            assert_eq!(words(start(&vm("Manual"), Some(&vmi(phase)), &json!({}))), "VM is already running");
        }
        for strategy in ["Always", "Once"] {
            assert_eq!(
                words(start(&vm(strategy), None, &json!({}))),
                format!("{strategy} does not support manual start requests")
            );
        }
        assert_eq!(
            words(start(&vm("RerunOnFailure"), Some(&vmi("Failed")), &json!({}))),
            "RerunOnFailure does not support starting VM from failed state"
        );
    }

    #[test]
    fn start_changes_the_strategy_or_asks() {
        assert_eq!(start(&vm("Halted"), None, &json!({})), Ok(Change::RunStrategy("Always").into()));
        assert_eq!(
            start(&vm("Halted"), None, &json!({"paused": true})),
            Ok(Change::Requests(json!([{"action": "Start", "data": {"paused": "true"}}])).into())
        );
        assert_eq!(start(&vm("Manual"), None, &json!({})), Ok(Change::Requests(json!([{"action": "Start"}])).into()));
        assert_eq!(
            start(&vm("Manual"), Some(&vmi("Succeeded")), &json!({})),
            Ok(Change::Requests(json!([{"action": "Stop", "uid": "i"}, {"action": "Start"}])).into())
        );
    }

    #[test]
    fn a_second_request_while_one_is_pending_is_an_internal_error() {
        let mut busy = vm("Manual");
        busy["status"]["stateChangeRequests"] = json!([{"action": "Start"}]);
        let refusal = start(&busy, None, &json!({})).unwrap_err();
        assert_eq!(refusal.code, 500);
        assert_eq!(refusal.message, "Internal error occurred: unable to complete request: stop/start already underway");
        assert!(stop(&busy, Some(&vmi("Running")), &json!({})).is_ok(), "a stop pushes a start aside");
    }

    #[test]
    fn stop_needs_something_to_stop() {
        for strategy in ["Halted", "Manual", "RerunOnFailure"] {
            assert_eq!(words(stop(&vm(strategy), None, &json!({}))), "VM is not running");
            assert_eq!(words(stop(&vm(strategy), Some(&vmi("Succeeded")), &json!({}))), "VM is not running");
        }
        assert_eq!(stop(&vm("Always"), None, &json!({})), Ok(Change::RunStrategy("Halted").into()));
        assert_eq!(
            stop(&vm("RerunOnFailure"), Some(&vmi("Running")), &json!({})),
            Ok(Change::Requests(json!([{"action": "Stop", "uid": "i"}])).into())
        );
        let late = words(stop(&vm("Halted"), Some(&vmi("Running")), &json!({})));
        assert_eq!(late, "Halted only supports manual stop requests with a shorter graceperiod");
        let hurry = stop(&vm("Halted"), Some(&vmi("Running")), &json!({"gracePeriod": 0}));
        assert_eq!(hurry, Ok(Accepted { change: None, grace: Some(0) }));
    }

    #[test]
    fn restart_needs_a_strategy_that_restarts_and_an_instance() {
        for strategy in ["Halted", "Once"] {
            let want = format!("RunStategy {strategy} does not support manual restart requests");
            assert_eq!(words(restart(&vm(strategy), None, &json!({}))), want);
        }
        assert_eq!(words(restart(&vm("Always"), None, &json!({}))), "VM is not running: Halted");
        assert_eq!(
            restart(&vm("Always"), Some(&vmi("Running")), &json!({})),
            Ok(Change::Requests(json!([{"action": "Stop", "uid": "i"}, {"action": "Start"}])).into())
        );
        let too_long = check_restart_options(&json!({"gracePeriodSeconds": 5})).unwrap_err();
        assert_eq!(
            (too_long.code, too_long.message.as_str()),
            (400, "For force restart, only gracePeriod=0 is supported for now")
        );
        let negative = check_restart_options(&json!({"gracePeriodSeconds": -1})).unwrap_err();
        assert_eq!(negative.message, "gracePeriod has to be greater or equal to 0");
    }
}
