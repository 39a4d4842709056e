//! What KubeVirt refuses about snapshots and restores.
use super::{Cause, Objects, cause::Causes, config};
use crate::actors::{json::Look, kind::RESTORE};
use serde_json::Value;

/// Up to 1.8 a gate works only if it is listed; later ones have snapshots on.
pub(super) fn enabled(objects: &dyn Objects) -> bool {
    let config = config(objects);
    let listed = config.list("/developerConfiguration/featureGates");
    listed.iter().any(|g| g == "Snapshot") || listed.is_empty()
}

pub(super) fn check_snapshot(old: Option<&Value>, new: &Value) -> Vec<Cause> {
    let mut causes = Causes::default();
    immutable(old, new, &mut causes);
    if old.is_none() {
        source(new, "/spec/source", "spec.source", &mut causes);
    }
    causes.0
}

pub(super) fn check_restore(old: Option<&Value>, new: &Value, namespace: &str, objects: &dyn Objects) -> Vec<Cause> {
    let mut causes = Causes::default();
    immutable(old, new, &mut causes);
    if old.is_some() {
        return causes.0;
    }
    source(new, "/spec/target", "spec.target", &mut causes);
    let busy = objects.all(RESTORE).into_iter().find(|r| {
        r.namespace() == namespace
            && r.pointer("/spec/target") == new.pointer("/spec/target")
            && !r.flag("/status/complete")
            && !crate::actors::condition::is(r, "Failure", "True")
    });
    if let Some(other) = busy {
        causes.invalid("spec.target", format!("VirtualMachineRestore {:?} in progress", other.name()));
    }
    causes.0
}

fn immutable(old: Option<&Value>, new: &Value, causes: &mut Causes) {
    if old.is_some_and(|o| o.get("spec") != new.get("spec")) {
        causes.invalid("spec", "spec in immutable after creation");
    }
}

fn source(object: &Value, pointer: &str, field: &str, causes: &mut Causes) {
    if object.text(&format!("{pointer}/apiGroup")) != Some("kubevirt.io") {
        causes.invalid(format!("{field}.apiGroup"), "invalid apiGroup");
    } else if object.text(&format!("{pointer}/kind")) != Some("VirtualMachine") {
        causes.invalid(format!("{field}.kind"), "invalid kind");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::kind::{KUBEVIRT, Kind};
    use serde_json::json;
    use std::sync::Arc;

    struct Hub(Value);

    impl Objects for Hub {
        fn find(&self, _: Kind, _: &str, _: &str) -> Option<Arc<Value>> {
            None
        }

        fn all(&self, kind: Kind) -> Vec<Arc<Value>> {
            match kind {
                KUBEVIRT => vec![Arc::new(
                    json!({"spec": {"configuration": {"developerConfiguration": {"featureGates": self.0}}}}),
                )],
                _ => vec![Arc::new(
                    json!({"metadata": {"namespace": "a", "name": "r"}, "spec": {"target": target("busy")}}),
                )],
            }
        }
    }

    fn target(name: &str) -> Value {
        json!({"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": name})
    }

    #[test]
    fn a_snapshot_needs_its_gate_a_machine_and_stays_as_it_is() {
        let words = |old: Option<&Value>, spec: Value| {
            let new = json!({"spec": spec});
            check_snapshot(old, &new).into_iter().map(|c| c.message).collect::<Vec<_>>()
        };
        assert!(enabled(&Hub(json!(["Snapshot"]))) && !enabled(&Hub(json!(["Other"]))));
        let spec = json!({"source": target("web")});
        assert!(words(None, spec.clone()).is_empty());
        assert_eq!(words(None, json!({"source": {"apiGroup": "apps"}})), ["invalid apiGroup"]);
        let old = json!({"spec": spec});
        assert_eq!(words(Some(&old), json!({"source": target("x")})), ["spec in immutable after creation"]);
    }

    #[test]
    fn one_restore_of_a_machine_at_a_time() {
        let restore = |name: &str| json!({"spec": {"target": target(name)}});
        assert!(check_restore(None, &restore("web"), "a", &Hub(json!([]))).is_empty());
        let causes = check_restore(None, &restore("busy"), "a", &Hub(json!([])));
        assert_eq!(causes[0].message, "VirtualMachineRestore \"r\" in progress");
    }
}
