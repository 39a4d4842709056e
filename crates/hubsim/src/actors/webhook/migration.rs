//! What KubeVirt refuses about a migration.
use super::{Cause, Objects, cause::Causes};
use crate::actors::{
    condition,
    json::Look,
    kind::{INSTANCE, MIGRATION},
    machine::strategy,
};
use serde_json::Value;

pub(super) fn check(migration: &Value, namespace: &str, objects: &dyn Objects) -> Vec<Cause> {
    let mut causes = Causes::default();
    let Some(name) = migration.text("/spec/vmiName") else {
        causes.required("spec.vmiName", "vmiName is missing");
        return causes.0;
    };
    let field = "spec.vmiName";
    let Some(vmi) = objects.find(INSTANCE, namespace, name) else {
        causes.invalid(field, format!("the VMI \"{namespace}/{name}\" does not exist"));
        return causes.0;
    };
    if strategy::is_final(&vmi) {
        causes.invalid(field, "Cannot migrate VMI in finalized state.");
    }
    if let Some(not) = condition::find(&vmi, "LiveMigratable").filter(|c| c.text("/status") == Some("False")) {
        let part = |p: &str| not.text(p).unwrap_or_default();
        causes
            .invalid(field, format!("Cannot migrate VMI, Reason: {}, Message: {}", part("/reason"), part("/message")));
    }
    let busy = objects.all(MIGRATION).into_iter().find(|m| {
        m.namespace() == namespace
            && m.text("/spec/vmiName") == Some(name)
            && !matches!(m.text("/status/phase"), Some("Succeeded" | "Failed"))
    });
    if let Some(other) = busy {
        let words = format!(
            "in-flight migration detected. Active migration job ({}) is currently already in progress for VMI {name}.",
            other.uid()
        );
        causes.invalid(field, words);
    }
    causes.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::kind::Kind;
    use serde_json::json;
    use std::sync::Arc;

    struct Hub(Value, Vec<Value>);

    impl Objects for Hub {
        fn find(&self, _: Kind, _: &str, name: &str) -> Option<Arc<Value>> {
            (name == "web").then(|| Arc::new(self.0.clone()))
        }

        fn all(&self, _: Kind) -> Vec<Arc<Value>> {
            self.1.iter().cloned().map(Arc::new).collect()
        }
    }

    fn words(name: Option<&str>, vmi: Value, others: Vec<Value>) -> Vec<String> {
        let migration = json!({"spec": {"vmiName": name}});
        check(&migration, "a", &Hub(vmi, others)).into_iter().map(|c| c.message).collect()
    }

    #[test]
    fn each_fault_has_its_words() {
        let running = json!({"status": {"phase": "Running"}});
        assert!(words(Some("web"), running.clone(), Vec::new()).is_empty());
        assert_eq!(words(None, running.clone(), Vec::new()), ["vmiName is missing"]);
        assert_eq!(words(Some("no"), running.clone(), Vec::new()), ["the VMI \"a/no\" does not exist"]);
        let ended = json!({"status": {"phase": "Failed"}});
        assert_eq!(words(Some("web"), ended, Vec::new()), ["Cannot migrate VMI in finalized state."]);
        let fixed = json!({"status": {"phase": "Running",
            "conditions": [{"type": "LiveMigratable", "status": "False", "reason": "R", "message": "M"}]}});
        assert_eq!(words(Some("web"), fixed, Vec::new()), ["Cannot migrate VMI, Reason: R, Message: M"]);
        let other = json!({"metadata": {"namespace": "a", "uid": "u"}, "spec": {"vmiName": "web"}});
        assert_eq!(
            words(Some("web"), running, vec![other]),
            ["in-flight migration detected. Active migration job (u) is currently already in progress for VMI web."]
        );
    }
}
