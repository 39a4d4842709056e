//! What pause, reboot and their like do to a running instance, or why they do not.
use super::refusal::{INSTANCE, Refusal};
use crate::actors::{
    condition::{self, Say},
    instance::{guest, rebooted},
    json::Look,
    machine::strategy,
};
use serde_json::{Value, json};
use time::OffsetDateTime;

/// The instance's status after the call.
type Answer = Result<Value, Refusal>;

fn refuse(vmi: &Value, why: &str) -> Refusal {
    Refusal::conflict(INSTANCE, vmi.name(), why)
}

fn is_running(vmi: &Value) -> bool {
    strategy::phase(vmi) == "Running"
}

pub(crate) fn pause(vmi: &Value, now: OffsetDateTime) -> Answer {
    if !is_running(vmi) {
        return Err(refuse(vmi, "VM is not running"));
    }
    if vmi.has("/spec/livenessProbe") && !vmi.has("/spec/livenessProbe/guestAgentPing") {
        let why = "Pausing VMIs with a non-GuestAgentPing LivenessProbe is not supported";
        return Err(Refusal::forbidden(INSTANCE, vmi.name(), why));
    }
    if condition::is(vmi, "Paused", "True") {
        return Err(refuse(vmi, "VMI is already paused"));
    }
    let mut status = vmi["status"].clone();
    let say = Say { reason: "PausedByUser", message: "VMI was paused by user", ..condition::yes("Paused") };
    condition::set(&mut status, say, now);
    Ok(status)
}

pub(crate) fn unpause(vmi: &Value, vm: Option<&Value>) -> Answer {
    if vm.is_some_and(|vm| vm.has("/status/snapshotInProgress")) {
        return Err(refuse(vmi, "VM snapshot is in progress"));
    }
    if !is_running(vmi) {
        return Err(refuse(vmi, "VMI is not running"));
    }
    if !condition::is(vmi, "Paused", "True") {
        return Err(refuse(vmi, "VMI is not paused"));
    }
    let mut status = vmi["status"].clone();
    condition::unset(&mut status, "Paused");
    Ok(status)
}

pub(crate) fn soft_reboot(vmi: &Value) -> Answer {
    if !is_running(vmi) {
        return Err(refuse(vmi, "VM is not running"));
    }
    if condition::is(vmi, "Paused", "True") {
        return Err(refuse(vmi, "VMI is paused"));
    }
    let acpi = vmi.pointer("/spec/domain/features/acpi").is_some_and(|a| a.pointer("/enabled") != Some(&json!(false)));
    if !condition::is(vmi, "AgentConnected", "True") && !acpi {
        return Err(refuse(vmi, "VMI neither have the agent connected nor the ACPI feature enabled"));
    }
    Ok(rebooted(vmi))
}

pub(crate) fn reset(vmi: &Value) -> Answer {
    let phase = strategy::phase(vmi);
    if !matches!(phase, "Running" | "Scheduled") {
        return Err(Refusal::bad_request(format!(
            "Failed to reset non-running VMI with phase {phase}: Unable to connect to VirtualMachineInstance because phase is {phase} instead of Running or Scheduled"
        )));
    }
    Ok(rebooted(vmi))
}

/// What the agent tells. Errors are bare texts here, as in the original.
pub(crate) fn guest_info(vmi: &Value) -> Answer {
    if !is_running(vmi) {
        return Err(refuse(vmi, "VMI is not running").into_text());
    }
    if !condition::is(vmi, "AgentConnected", "True") {
        return Err(refuse(vmi, "VMI does not have guest agent connected").into_text());
    }
    Ok(guest::agent_info(vmi))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vmi(phase: &str, conditions: &[&str]) -> Value {
        let conditions: Vec<Value> = conditions.iter().map(|c| json!({"type": c, "status": "True"})).collect();
        json!({"metadata": {"name": "vm1"}, "spec": {}, "status": {"phase": phase, "conditions": conditions}})
    }

    fn now() -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(0).unwrap()
    }

    fn words(answer: Answer) -> (u16, String) {
        let refusal = answer.unwrap_err();
        let lead = "Operation cannot be fulfilled on virtualmachineinstance.kubevirt.io \"vm1\": ";
        (refusal.code, refusal.message.strip_prefix(lead).map_or(refusal.message.clone(), str::to_owned))
    }

    #[test]
    fn pause_and_unpause_follow_each_other() {
        assert_eq!(words(pause(&vmi("Scheduled", &[]), now())), (409, "VM is not running".to_owned()));
        assert_eq!(words(pause(&vmi("Running", &["Paused"]), now())), (409, "VMI is already paused".to_owned()));
        let mut probed = vmi("Running", &[]);
        probed["spec"]["livenessProbe"] = json!({"tcpSocket": {}});
        let forbidden = words(pause(&probed, now()));
        assert_eq!(forbidden.0, 403);
        assert!(forbidden.1.ends_with("Pausing VMIs with a non-GuestAgentPing LivenessProbe is not supported"));
        let paused = json!({"status": pause(&vmi("Running", &[]), now()).unwrap()});
        assert!(condition::says(&paused, "Paused", "True", "PausedByUser"));
        assert_eq!(words(unpause(&vmi("Failed", &[]), None)), (409, "VMI is not running".to_owned()));
        assert_eq!(words(unpause(&vmi("Running", &[]), None)), (409, "VMI is not paused".to_owned()));
        let busy = json!({"status": {"snapshotInProgress": "s"}});
        assert_eq!(
            words(unpause(&vmi("Running", &["Paused"]), Some(&busy))),
            (409, "VM snapshot is in progress".to_owned())
        );
        assert!(unpause(&vmi("Running", &["Paused"]), None).is_ok());
    }

    #[test]
    fn a_soft_reboot_needs_somebody_inside_to_hear_it() {
        assert_eq!(words(soft_reboot(&vmi("Pending", &[]))).1, "VM is not running");
        assert_eq!(words(soft_reboot(&vmi("Running", &["Paused"]))).1, "VMI is paused");
        assert_eq!(
            words(soft_reboot(&vmi("Running", &[]))).1,
            "VMI neither have the agent connected nor the ACPI feature enabled"
        );
        let after = json!({"status": soft_reboot(&vmi("Running", &["AgentConnected"])).unwrap()});
        assert!(condition::find(&after, "AgentConnected").is_none());
    }

    #[test]
    fn a_reset_needs_a_running_guest() {
        assert_eq!(words(reset(&vmi("Failed", &[]))), (400,
            "Failed to reset non-running VMI with phase Failed: Unable to connect to VirtualMachineInstance because phase is Failed instead of Running or Scheduled".to_owned()));
        assert!(reset(&vmi("Scheduled", &[])).is_ok());
    }

    #[test]
    fn the_agents_answers_fail_as_bare_text() {
        let refusal = guest_info(&vmi("Running", &[])).unwrap_err();
        assert!(refusal.plain && refusal.code == 500);
        assert_eq!(
            refusal.message,
            "Operation cannot be fulfilled on virtualmachineinstance.kubevirt.io \"vm1\": VMI does not have guest agent connected"
        );
        assert!(guest_info(&vmi("Running", &["AgentConnected"])).unwrap()["guestAgentVersion"].is_string());
    }
}
