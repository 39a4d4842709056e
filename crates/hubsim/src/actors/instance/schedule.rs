//! On which node an instance can run, or in the scheduler's words why on none.
use crate::actors::{chance::Chance, json::Look, quantity};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// The memory of the pod around a guest: the guest's and what QEMU and its helpers take.
pub(crate) fn pod_memory(vmi: &Value) -> i128 {
    const MIB: i128 = 1 << 20;
    let guest = vmi
        .pointer("/spec/domain/resources/requests/memory")
        .or_else(|| vmi.pointer("/spec/domain/memory/guest"))
        .and_then(quantity::whole)
        .unwrap_or(0);
    let graphics = vmi.pointer("/spec/domain/devices/autoattachGraphicsDevice") != Some(&Value::Bool(false));
    guest + guest / 512 + 248 * MIB + 8 * MIB * cpus(vmi) + if graphics { 32 * MIB } else { 0 }
}

fn cpus(vmi: &Value) -> i128 {
    ["sockets", "cores", "threads"]
        .iter()
        .map(|f| i128::from(vmi.int(&format!("/spec/domain/cpu/{f}")).unwrap_or(1).max(1)))
        .product()
}

/// A node, or the words of the scheduler. Rooms are not added up: an instance fits if an empty node has room.
pub(crate) fn choose(
    vmi: &Value,
    nodes: &[Arc<Value>],
    others: &[Arc<Value>],
    chance: Chance,
) -> Result<String, String> {
    if nodes.is_empty() {
        return Err("0/0 nodes are available.".to_owned());
    }
    let mut fit = Vec::new();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for node in nodes {
        match obstacle(vmi, node).or_else(|| neighbours(vmi, node, others)) {
            None => fit.push(node.name().to_owned()),
            Some(why) => *reasons.entry(why).or_default() += 1,
        }
    }
    if fit.is_empty() {
        let list: Vec<String> = reasons.iter().map(|(why, n)| format!("{n} {why}")).collect();
        return Err(format!(
            "0/{} nodes are available: {}. preemption: 0/{} nodes are available: {} Preemption is not helpful for scheduling.",
            nodes.len(),
            list.join(", "),
            nodes.len(),
            nodes.len()
        ));
    }
    fit.sort();
    let place = chance.number(&["node", vmi.uid()]) % u64::try_from(fit.len()).unwrap_or(1);
    Ok(fit.swap_remove(usize::try_from(place).unwrap_or_default()))
}

fn obstacle(vmi: &Value, node: &Value) -> Option<&'static str> {
    if node.flag("/spec/unschedulable") {
        return Some("node(s) were unschedulable");
    }
    let wanted = vmi.pointer("/spec/nodeSelector").and_then(Value::as_object);
    if wanted.is_some_and(|w| w.iter().any(|(key, value)| node.label(key) != value.as_str())) {
        return Some("node(s) didn't match Pod's node affinity/selector");
    }
    let room = |resource: &str| node.pointer(&format!("/status/allocatable/{resource}")).and_then(quantity::whole);
    if room("memory").is_some_and(|most| pod_memory(vmi) > most) {
        return Some("Insufficient memory");
    }
    // a tenth of a CPU is asked for each virtual one, all of it when dedicated
    let cpu = if vmi.flag("/spec/domain/cpu/dedicatedCpuPlacement") { cpus(vmi) } else { cpus(vmi).div_euclid(10) };
    if room("cpu").is_some_and(|most| cpu > most) {
        return Some("Insufficient cpu");
    }
    None
}

/// What the required terms about other pods say of a node. Wishes are not looked at.
fn neighbours(vmi: &Value, node: &Value, others: &[Arc<Value>]) -> Option<&'static str> {
    let required =
        |kind: &str| vmi.list(&format!("/spec/affinity/{kind}/requiredDuringSchedulingIgnoredDuringExecution"));
    let placed = |o: &&Arc<Value>| o.uid() != vmi.uid() && o.namespace() == vmi.namespace();
    let matching = |term: &Value| {
        let all = others.iter().filter(placed).filter(|o| o.text("/status/nodeName").is_some());
        all.filter(|o| selects(term, o)).map(|o| o.text("/status/nodeName") == Some(node.name())).collect::<Vec<_>>()
    };
    for term in required("podAntiAffinity") {
        if matching(term).contains(&true) {
            return Some("node(s) didn't match pod anti-affinity rules");
        }
    }
    for term in required("podAffinity") {
        let here = matching(term);
        // the first of them is with itself
        let first = here.is_empty() && selects(term, vmi);
        if !first && !here.contains(&true) {
            return Some("node(s) didn't match pod affinity rules");
        }
    }
    None
}

/// By `In` and by equal labels, which is all that is asked for here.
fn selects(term: &Value, object: &Value) -> bool {
    let equal = term.pointer("/labelSelector/matchLabels").and_then(Value::as_object);
    let among = term.list("/labelSelector/matchExpressions").iter().all(|e| {
        let label = e.text("/key").and_then(|key| object.label(key));
        e.text("/operator") == Some("In") && e.list("/values").iter().any(|v| v.as_str() == label && label.is_some())
    });
    among && equal.is_none_or(|labels| labels.iter().all(|(key, value)| object.label(key) == value.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn nodes() -> Vec<Arc<Value>> {
        ["a", "b"]
            .map(|name| {
                Arc::new(json!({"metadata": {"name": name, "labels": {"zone": name}},
                    "status": {"allocatable": {"cpu": "32", "memory": "128Gi"}}}))
            })
            .to_vec()
    }

    #[test]
    fn the_memory_of_a_pod_is_the_guests_and_a_known_rest() {
        let vmi = json!({"spec": {"domain": {"cpu": {"sockets": 2}, "memory": {"guest": "4Gi"}}}});
        assert_eq!(pod_memory(&vmi), 4400 << 20);
    }

    #[test]
    fn an_instance_goes_where_its_selector_and_size_allow() {
        let vmi = json!({"metadata": {"uid": "i"}, "spec": {"nodeSelector": {"zone": "b"}}});
        assert_eq!(choose(&vmi, &nodes(), &[], Chance::new(1)), Ok("b".to_owned()));
        let huge = json!({"spec": {"domain": {"memory": {"guest": "1Ti"}}}});
        let words = choose(&huge, &nodes(), &[], Chance::new(1)).unwrap_err();
        assert!(words.starts_with("0/2 nodes are available: 2 Insufficient memory."), "{words}");
    }

    #[test]
    fn an_instance_goes_to_those_it_is_with_and_not_to_those_it_is_apart_from() {
        let term =
            json!({"labelSelector": {"matchExpressions": [{"key": "vm", "operator": "In", "values": ["1", "2"]}]}});
        let asks = |kind: &str| {
            json!({"metadata": {"uid": "2", "labels": {"vm": "2"}},
                "spec": {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}})
        };
        let runs = |node: &str, vm: &str| {
            Arc::new(json!({"metadata": {"uid": vm, "labels": {"vm": vm}}, "status": {"nodeName": node}}))
        };
        for node in ["a", "b"] {
            let other = if node == "a" { "b" } else { "a" };
            let there = [runs(node, "1"), runs(other, "9")];
            assert_eq!(choose(&asks("podAffinity"), &nodes(), &there, Chance::new(1)), Ok(node.to_owned()));
            assert_eq!(choose(&asks("podAntiAffinity"), &nodes(), &there, Chance::new(1)), Ok(other.to_owned()));
        }
        assert!(choose(&asks("podAffinity"), &nodes(), &[], Chance::new(1)).is_ok(), "the first is with itself");
        let full = [runs("a", "1"), runs("b", "1")];
        let words = choose(&asks("podAntiAffinity"), &nodes(), &full, Chance::new(1)).unwrap_err();
        assert!(words.contains("2 node(s) didn't match pod anti-affinity rules"), "{words}");
    }
}
