//! The affinity rules of a VM, as terms of its pod. They name the other VMs by the label that all our VMs carry.
use hub::shape::names::VM_ID;
use serde_json::{Value, json};
use store::AffinityTerm;
use uuid::Uuid;

/// What is to change of the VM as it was read; None: nothing. What others put into its affinity stays.
pub(super) fn patch(seen: &Value, own: Uuid, terms: &[AffinityTerm]) -> Option<Value> {
    let now = &seen["spec"]["template"]["spec"]["affinity"];
    let together = wanted(terms.iter().filter(|t| t.together), own);
    let apart = wanted(terms.iter().filter(|t| !t.together), own);
    let kept = |kind: &str, wanted: &Value| now[kind] == *wanted || (wanted.is_null() && !ours(&now[kind]));
    if kept("podAffinity", &together) && kept("podAntiAffinity", &apart) {
        return None;
    }
    let affinity = json!({"podAffinity": together, "podAntiAffinity": apart});
    Some(json!({"spec": {"template": {"spec": {"affinity": affinity}}}}))
}

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Is it about our VMs?
fn ours(kind: &Value) -> bool {
    kind.to_string().contains(VM_ID)
}

/// Null: nothing is asked for.
fn wanted<'a>(terms: impl Iterator<Item = &'a AffinityTerm>, own: Uuid) -> Value {
    let (mut required, mut preferred) = (Vec::new(), Vec::new());
    for term in terms {
        // the first of those that are kept together is with itself, or none could ever start
        let named: Vec<String> =
            term.vms.iter().filter(|v| term.together || **v != own).map(ToString::to_string).collect();
        let selector = json!({"matchExpressions": [{"key": VM_ID, "operator": "In", "values": named}]});
        let one = json!({"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"});
        match term.mandatory {
            true => required.push(one),
            false => preferred.push(json!({"weight": 100, "podAffinityTerm": one})),
        }
    }
    match (required.is_empty(), preferred.is_empty()) {
        (true, true) => Value::Null,
        (false, true) => json!({REQUIRED: required}),
        (true, false) => json!({PREFERRED: preferred}),
        (false, false) => json!({REQUIRED: required, PREFERRED: preferred}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Uuid = Uuid::from_u128(1);
    const B: Uuid = Uuid::from_u128(2);

    fn term(together: bool, mandatory: bool) -> AffinityTerm {
        AffinityTerm { together, mandatory, vms: vec![A, B] }
    }

    fn merged(seen: &Value, patch: &Value) -> Value {
        let mut out = seen.clone();
        let asked = &patch["spec"]["template"]["spec"]["affinity"];
        let affinity = &mut out["spec"]["template"]["spec"]["affinity"];
        for (key, value) in asked.as_object().unwrap() {
            match value {
                Value::Null => {
                    if let Some(fields) = affinity.as_object_mut() {
                        fields.remove(key);
                    }
                }
                other => affinity[key] = other.clone(),
            }
        }
        out
    }

    #[test]
    fn a_vm_with_itself_is_kept_together_and_never_apart() {
        let seen = json!({"spec": {"template": {"spec": {}}}});
        let change = patch(&seen, A, &[term(true, true), term(false, false)]).unwrap();
        let affinity = &change["spec"]["template"]["spec"]["affinity"];
        let values = |t: &Value| t["labelSelector"]["matchExpressions"][0]["values"].as_array().unwrap().len();
        assert_eq!(values(&affinity["podAffinity"][REQUIRED][0]), 2);
        assert_eq!(values(&affinity["podAntiAffinity"][PREFERRED][0]["podAffinityTerm"]), 1);
        let done = merged(&seen, &change);
        assert_eq!(patch(&done, A, &[term(true, true), term(false, false)]), None, "once is enough");
        let undone = patch(&done, A, &[]).unwrap();
        assert_eq!(patch(&merged(&done, &undone), A, &[]), None);
    }

    #[test]
    fn what_others_ask_for_stays() {
        let own = json!({"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone"}]}, "nodeAffinity": {}});
        let seen = json!({"spec": {"template": {"spec": {"affinity": own}}}});
        assert_eq!(patch(&seen, A, &[]), None);
    }
}
