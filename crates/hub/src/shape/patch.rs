//! Changes to what is there: merge patches that carry the uid, so that they touch the object we made and no other.
use crate::Resource;
use crate::shape::{
    names::{COMPUTER_NAME, GENERATION, slug},
    vm::{Identity, LONGEST_HOSTNAME, Nic, Size, cpu, interfaces, networks},
};
use serde_json::{Map, Value, json};

/// What a VM is to do. A guest that shuts itself down stays off with `RerunOnFailure`; such a VM starts again by the
/// `start` call, or by `Halted` and `RerunOnFailure` one after the other, since patching the same value changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStrategy {
    Halted,
    RerunOnFailure,
    Always,
    Manual,
    Once,
}

impl RunStrategy {
    pub const ALL: [RunStrategy; 5] =
        [RunStrategy::Halted, RunStrategy::RerunOnFailure, RunStrategy::Always, RunStrategy::Manual, RunStrategy::Once];

    pub fn key(self) -> &'static str {
        match self {
            RunStrategy::Halted => "Halted",
            RunStrategy::RerunOnFailure => "RerunOnFailure",
            RunStrategy::Always => "Always",
            RunStrategy::Manual => "Manual",
            RunStrategy::Once => "Once",
        }
    }

    pub fn parse(key: &str) -> Option<RunStrategy> {
        RunStrategy::ALL.into_iter().find(|s| s.key() == key)
    }
}

/// Any patch, with the uid of the object it is meant for.
pub fn fenced(patch: Value, uid: &str) -> Value {
    let mut fields = match patch {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    match metadata {
        Value::Object(metadata) => drop(metadata.insert("uid".into(), json!(uid))),
        other => *other = json!({"uid": uid}),
    }
    Value::Object(fields)
}

/// A patch that counts only as long as nothing has changed since the object was read: who decides by what was read must not
/// undo what others did after it.
pub fn unchanged_since(mut patch: Value, seen: &Value) -> Value {
    patch["metadata"]["resourceVersion"] = seen["metadata"]["resourceVersion"].clone();
    patch
}

/// Two changes of one object as one. They are about different fields.
pub fn and(mut one: Value, other: Value) -> Value {
    fn join(into: &mut Value, from: Value) {
        match (into, from) {
            (Value::Object(into), Value::Object(from)) => {
                for (key, value) in from {
                    join(into.entry(key).or_insert(Value::Null), value);
                }
            }
            (into, from) => *into = from,
        }
    }
    join(&mut one, other);
    one
}

/// Would the object be another after it?
pub fn changes(patch: &Value, seen: &Value) -> bool {
    match patch {
        Value::Null => !seen.is_null(),
        Value::Object(fields) => !seen.is_object() || fields.iter().any(|(key, value)| changes(value, &seen[key])),
        other => other != seen,
    }
}

/// What makes an object this and nothing else: what it has besides goes.
pub fn exactly(wanted: &Value, seen: &Value) -> Value {
    let (Value::Object(wanted), Value::Object(seen)) = (wanted, seen) else { return wanted.clone() };
    let mut all: Map<String, Value> = seen.keys().map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in wanted {
        all.insert(key.clone(), exactly(value, seen.get(key).unwrap_or(&Value::Null)));
    }
    Value::Object(all)
}

/// `running` is the old way to say it; a VM from a template may still have it, and both together are refused.
pub fn power(uid: &str, strategy: RunStrategy) -> Value {
    fenced(json!({"spec": {"runStrategy": strategy.key(), "running": null}}), uid)
}

pub fn resize(uid: &str, size: &Size) -> Value {
    let spec = match size {
        // a revision of the old type would win over the new name
        Size::InstanceType(name) => json!({
            "instancetype": {"kind": "VirtualMachineClusterInstancetype", "name": name, "revisionName": null},
            "template": {"spec": {"domain": {"cpu": null, "memory": null}}},
        }),
        Size::Explicit { cpus, cores_per_socket, memory_mb } => json!({
            "instancetype": null,
            "template": {"spec": {"domain": {
                "cpu": cpu(*cpus, *cores_per_socket),
                "memory": {"guest": format!("{memory_mb}Mi")},
            }}},
        }),
    };
    fenced(json!({"spec": spec}), uid)
}

/// The NICs that a VM has instead of those it had. `seen` is the VM as it was read. Bridged ones that go while it runs are
/// marked as absent, so that they are unplugged from the guest; KubeVirt takes them from the VM afterwards.
pub fn nics(uid: &str, nics: &[Nic], seen: &Value, runs: bool) -> Value {
    let (mut cards, mut nets) = (interfaces(nics), networks(nics));
    let spec = &seen["spec"]["template"]["spec"];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    if runs {
        for mut card in list(&spec["domain"]["devices"]["interfaces"]) {
            let gone = !nics.iter().any(|n| card["name"] == n.name.as_str());
            let net = list(&spec["networks"]).into_iter().find(|n| n["name"] == card["name"]);
            if let Some(net) = net.filter(|n| gone && card.get("bridge").is_some() && n.get("multus").is_some()) {
                card["state"] = json!("absent");
                cards.push(card);
                nets.push(net);
            }
        }
    }
    let auto = if cards.is_empty() { json!(false) } else { Value::Null };
    let devices = json!({"interfaces": cards, "autoattachPodInterface": auto});
    fenced(json!({"spec": {"template": {"spec": {"networks": nets, "domain": {"devices": devices}}}}}), uid)
}

/// After a VM was renamed, described or given to somebody else.
///
/// `generation`: of what was asked for. With every new one the object changes, so that whoever still works on an older one
/// is told that it did.
pub fn identity(uid: &str, id: &Identity, computer_name: &str, generation: i64) -> Value {
    let mut annotations = id.annotations();
    annotations.insert(COMPUTER_NAME.into(), json!(computer_name));
    annotations.insert(GENERATION.into(), json!(generation.to_string()));
    // what became empty is to go
    for key in [crate::shape::names::DESCRIPTION, crate::shape::names::OWNER] {
        annotations.entry(key).or_insert(Value::Null);
    }
    let mut labels = id.place.labels_patch();
    labels.extend(id.labels());
    fenced(json!({"metadata": {"labels": labels, "annotations": annotations}}), uid)
}

/// The host name that its guest has from its next start on, where it asks for one; None: nothing of the name can be one.
pub fn hostname(uid: &str, computer_name: &str) -> Option<Value> {
    let name = slug(computer_name, LONGEST_HOSTNAME);
    (!name.is_empty()).then(|| fenced(json!({"spec": {"template": {"spec": {"hostname": name}}}}), uid))
}

/// The labels by which it is found, after somebody took one off.
pub fn labels(uid: &str, id: &Identity) -> Value {
    fenced(json!({"metadata": {"labels": id.labels()}}), uid)
}

/// Makes an object go when its owner goes: a VM's Secret with the VM, a template's parameters with their instance.
pub fn belongs_to(uid: &str, kind: &Resource, owner: &str, owner_uid: &str) -> Value {
    let reference = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "name": owner, "uid": owner_uid, "controller": false});
    fenced(json!({"metadata": {"ownerReferences": [reference]}}), uid)
}

/// Disks grow by their claim, and never shrink.
pub fn grow_claim(uid: &str, size_mb: u64) -> Value {
    fenced(json!({"spec": {"resources": {"requests": {"storage": format!("{size_mb}Mi")}}}}), uid)
}
