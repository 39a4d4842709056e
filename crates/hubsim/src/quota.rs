//! ResourceQuota: counted when something is created, with the real server's refusals, and recounted by a controller.

use crate::{
    answer::{Refusal, Result},
    kinds::Kind,
    meta, quantity,
    store::{KindId, State},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

type Amounts = BTreeMap<String, i128>;

/// Refuses what does not fit: a new object, or one that grows. Returns the quotas with their new use, to be stored
/// with the object.
pub(crate) fn admit(state: &State, kind: &Kind, old: Option<&Value>, object: &Value) -> Result<Vec<(KindId, Value)>> {
    let namespace = meta::namespace(object);
    let Some(id) = state.find("", "resourcequotas").filter(|_| kind.namespaced) else { return Ok(Vec::new()) };
    let mut asked = usage_of(kind, object);
    for (name, before) in old.map(|old| usage_of(kind, old)).unwrap_or_default() {
        *asked.entry(name).or_default() -= before;
    }
    asked.retain(|_, amount| *amount > 0);
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let mut changed = Vec::new();
    for quota in state.list(id, Some(namespace)) {
        let Some(hard) = quota["status"]["hard"].as_object() else { continue };
        let concerned: Vec<(&String, &i128)> = asked.iter().filter(|(name, _)| hard.contains_key(*name)).collect();
        let missing = if old.is_some() { String::new() } else { missing_requests(kind, object, hard) };
        let (name, own) = (meta::name(object), meta::name(quota));
        let refuse = |why: String| Err(Refusal::forbidden(&kind.group, &kind.plural, name, &why));
        if !missing.is_empty() {
            return refuse(format!("failed quota: {own}: must specify {missing}"));
        }
        let used = |name: &str| quota["status"]["used"].get(name).and_then(quantity::parse);
        let unknown: Vec<&str> =
            concerned.iter().filter(|(name, _)| used(name).is_none()).map(|(name, _)| name.as_str()).collect();
        if !unknown.is_empty() {
            return refuse(format!("status unknown for quota: {own}, resources: {}", unknown.join(",")));
        }
        let over: Vec<&str> = concerned
            .iter()
            .filter(|(name, amount)| {
                let limit = quantity::parse(&hard[name.as_str()]).unwrap_or(i128::MAX);
                used(name).unwrap_or_default() + **amount > limit
            })
            .map(|(name, _)| name.as_str())
            .collect();
        if !over.is_empty() {
            let each = |write: &dyn Fn(&str) -> String| {
                over.iter().map(|name| format!("{name}={}", write(name))).collect::<Vec<_>>().join(",")
            };
            let requested = each(&|name| shown(name, asked[name]));
            let used = each(&|name| shown(name, used(name).unwrap_or_default()));
            let limited = each(&|name| hard[name].as_str().unwrap_or_default().to_owned());
            return refuse(format!("exceeded quota: {own}, requested: {requested}, used: {used}, limited: {limited}"));
        }
        if !concerned.is_empty() {
            let mut counted = (**quota).clone();
            for (name, amount) in concerned {
                let total = used(name).unwrap_or_default() + amount;
                counted["status"]["used"][name] = shown(name, total).into();
            }
            changed.push((id, counted));
        }
    }
    Ok(changed)
}

/// The quota with its status as it should be. `None`: it is already.
pub(crate) fn recount(state: &State, quota: &Value) -> Option<Value> {
    let namespace = meta::namespace(quota);
    let hard = quota["spec"]["hard"].as_object()?;
    let mut used = Amounts::new();
    for name in hard.keys() {
        used.insert(name.clone(), 0);
    }
    let concerned = |kind: &Kind| {
        let counted = |name: &str| hard.contains_key(name);
        counted(&format!("count/{}", kind.resource()))
            || kind.group.is_empty()
                && (counted(&kind.plural)
                    || matches!(kind.plural.as_str(), "pods" | "persistentvolumeclaims" | "services"))
    };
    for (id, kind) in state.kinds().filter(|(_, kind)| kind.namespaced && !kind.create_only && concerned(kind)) {
        for object in state.list(id, Some(namespace)) {
            for (name, amount) in usage_of(kind, object) {
                if let Some(total) = used.get_mut(&name) {
                    *total += amount;
                }
            }
        }
    }
    let used: Value = used.iter().map(|(name, amount)| (name.clone(), Value::from(shown(name, *amount)))).collect();
    let status = json!({"hard": hard, "used": used});
    (quota["status"] != status).then(|| {
        let mut counted = quota.clone();
        counted["status"] = status;
        counted
    })
}

/// Sizes are written in powers of 1024, counts and processors are not.
fn shown(name: &str, amount: i128) -> String {
    let binary = name.contains("memory") || name.contains("storage");
    quantity::write(amount, binary)
}

/// What one object uses.
fn usage_of(kind: &Kind, object: &Value) -> Amounts {
    let mut usage = Amounts::from([(format!("count/{}", kind.resource()), 1000)]);
    if !kind.group.is_empty() {
        return usage;
    }
    match kind.plural.as_str() {
        "secrets" | "configmaps" | "services" | "resourcequotas" => {
            usage.insert(kind.plural.clone(), 1000);
        }
        "persistentvolumeclaims" => {
            usage.insert(kind.plural.clone(), 1000);
            let size = quantity::parse(&object["spec"]["resources"]["requests"]["storage"]).unwrap_or_default();
            usage.insert("requests.storage".to_owned(), size);
            if let Some(class) = object["spec"]["storageClassName"].as_str() {
                let prefix = format!("{class}.storageclass.storage.k8s.io");
                usage.insert(format!("{prefix}/requests.storage"), size);
                usage.insert(format!("{prefix}/persistentvolumeclaims"), 1000);
            }
        }
        "pods" if !matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) => {
            usage.insert("pods".to_owned(), 1000);
            for container in object["spec"]["containers"].as_array().into_iter().flatten() {
                for what in ["requests", "limits"] {
                    for (name, value) in container["resources"][what].as_object().into_iter().flatten() {
                        let amount = quantity::parse(value).unwrap_or_default();
                        *usage.entry(format!("{what}.{name}")).or_default() += amount;
                        if what == "requests" {
                            *usage.entry(name.clone()).or_default() += amount;
                        }
                    }
                }
            }
        }
        _ => {}
    }
    usage
}

/// What a pod's containers leave out although a quota limits it.
fn missing_requests(kind: &Kind, object: &Value, hard: &serde_json::Map<String, Value>) -> String {
    if !kind.is("", "pods") {
        return String::new();
    }
    let mut missing = Vec::new();
    for name in hard.keys() {
        let (what, resource) = match name.split_once('.') {
            Some((what @ ("requests" | "limits"), resource @ ("cpu" | "memory"))) => (what, resource),
            None if matches!(name.as_str(), "cpu" | "memory") => ("requests", name.as_str()),
            _ => continue,
        };
        let lacking: Vec<&str> = object["spec"]["containers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|container| container["resources"][what][resource].is_null())
            .filter_map(|container| container["name"].as_str())
            .collect();
        if !lacking.is_empty() {
            missing.push(format!("{name} for: {}", lacking.join(",")));
        }
    }
    missing.join("; ")
}
