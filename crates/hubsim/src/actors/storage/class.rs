//! Storage classes: which one is meant, and what it offers.
use crate::actors::{
    json::Look,
    kind::{STORAGE_CLASS, STORAGE_PROFILE},
    quantity,
    world::World,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// The class named, else the default for virtual machines, else the default.
pub(crate) fn find(world: &World, name: Option<&str>) -> Option<Arc<Value>> {
    if let Some(name) = name {
        return world.find(STORAGE_CLASS, "", name);
    }
    let mut all = world.all(STORAGE_CLASS);
    all.sort_by(|a, b| a.name().cmp(b.name()));
    let marked = |annotation: &str| all.iter().find(|c| c.annotation(annotation) == Some("true")).cloned();
    marked("storageclass.kubevirt.io/is-default-virt-class")
        .or_else(|| marked("storageclass.kubernetes.io/is-default-class"))
}

/// Whether the class makes a volume only when somebody wants to use it.
pub(crate) fn waits_for_consumer(class: &Value) -> bool {
    class.text("/volumeBindingMode") == Some("WaitForFirstConsumer")
}

/// The spec of the claim a data volume asks for; `inferred` is the size of what is cloned.
pub(crate) fn claim_spec(world: &World, dv: &Value, inferred: Option<Value>) -> Result<Value, String> {
    if let Some(pvc) = dv.pointer("/spec/pvc").filter(|p| p.is_object()) {
        let mut spec = pvc.clone();
        if !spec.has("/storageClassName")
            && let Some(class) = find(world, None)
        {
            spec["storageClassName"] = json!(class.name());
        }
        return Ok(spec);
    }
    let storage = dv.pointer("/spec/storage").cloned().unwrap_or_else(|| json!({}));
    let Some(class) = find(world, storage.text("/storageClassName")) else {
        return Err("no accessMode specified and StorageClass not found".to_owned());
    };
    let profile = world.find(STORAGE_PROFILE, "", class.name());
    let best = profile.as_ref().and_then(|p| p.pointer("/status/claimPropertySets/0")).cloned().unwrap_or_default();
    let mut spec = json!({"storageClassName": class.name()});
    let modes = storage.pointer("/accessModes").or_else(|| best.pointer("/accessModes"));
    spec["accessModes"] = match modes.and_then(Value::as_array).filter(|m| !m.is_empty()) {
        Some(modes) => json!(modes),
        None => return Err(format!("no accessMode specified in StorageProfile {}", class.name())),
    };
    let mode = storage.text("/volumeMode").or_else(|| best.text("/volumeMode")).unwrap_or("Filesystem").to_owned();
    let asked = storage.pointer("/resources/requests/storage").cloned();
    let Some(size) = asked.clone().or(inferred).as_ref().and_then(quantity::whole) else {
        return Err("PVC size is missing".to_owned());
    };
    let size = if mode == "Filesystem" && asked.is_some() { with_overhead(size) } else { size };
    spec["volumeMode"] = json!(mode);
    spec["resources"] = json!({"requests": {"storage": quantity::bytes(size)}});
    Ok(spec)
}

/// A file system takes 6 % for itself; what is left must hold the image.
fn with_overhead(size: i128) -> i128 {
    (size * 100 + 93) / 94
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_is_larger_than_what_it_holds() {
        assert_eq!(with_overhead(94), 100);
        assert!(with_overhead(30 << 30) * 94 / 100 >= 30 << 30);
    }
}
