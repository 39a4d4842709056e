//! What is written into a VirtualMachine before it is stored.
use super::{Cause, Objects, config};
use crate::actors::{
    chance::Chance,
    json::{Look, put, put_missing},
    kind::{CLAIM, DATA_SOURCE, DATA_VOLUME},
};
use serde_json::{Value, json};

/// Fills kinds and inferred names of instance type and preference, firmware ids, architecture and machine type.
pub fn fill_machine(
    vm: &mut Value,
    new: bool,
    namespace: &str,
    objects: &dyn Objects,
    chance: Chance,
) -> Result<(), Vec<Cause>> {
    matcher(vm, "instancetype", "VirtualMachineClusterInstancetype", namespace, objects)?;
    matcher(vm, "preference", "VirtualMachineClusterPreference", namespace, objects)?;
    if !vm.has("/spec/template/spec") {
        return Ok(());
    }
    let architecture =
        image_label(vm, namespace, objects, "template.kubevirt.io/architecture").unwrap_or_else(|| "amd64".to_owned());
    put_missing(vm, "/spec/template/spec/architecture", || json!(architecture));
    let machine = match vm.text("/spec/template/spec/architecture") {
        Some("arm64") => "virt",
        Some("s390x") => "s390-ccw-virtio",
        _ => "q35",
    };
    let configured = config(objects);
    let machine = configured.text("/architectureConfiguration/amd64/machineType").unwrap_or(machine);
    put_missing(vm, "/spec/template/spec/domain/machine/type", || json!(machine));
    if new {
        let (space, name) = (namespace.to_owned(), vm.name().to_owned());
        for field in ["uuid", "serial"] {
            let value = || json!(chance.uuid(&["firmware", field, &space, &name]).to_string());
            put_missing(vm, &format!("/spec/template/spec/domain/firmware/{field}"), value);
        }
    }
    Ok(())
}

fn matcher(vm: &mut Value, field: &str, kind: &str, namespace: &str, objects: &dyn Objects) -> Result<(), Vec<Cause>> {
    let at = format!("/spec/{field}");
    if !vm.has(&at) {
        return Ok(());
    }
    if let Some(volume) = vm.text(&format!("{at}/inferFromVolume")).map(str::to_owned) {
        let label = format!("instancetype.kubevirt.io/default-{field}");
        let ignore = vm.text(&format!("{at}/inferFromVolumeFailurePolicy")) == Some("IgnoreInferFromVolumeFailure");
        match (volume_label(vm, namespace, objects, &volume, &label), ignore) {
            (Some(name), _) => {
                put(vm, &format!("{at}/name"), json!(name));
                if let Some(kind) = volume_label(vm, namespace, objects, &volume, &format!("{label}-kind")) {
                    put(vm, &format!("{at}/kind"), json!(kind));
                }
                crate::actors::json::remove(vm, &format!("{at}/inferFromVolume"));
                crate::actors::json::remove(vm, &format!("{at}/inferFromVolumeFailurePolicy"));
            }
            (None, true) => {
                crate::actors::json::remove(vm, &at);
                return Ok(());
            }
            (None, false) => {
                return Err(vec![Cause {
                    reason: "FieldValueInvalid",
                    message: format!("unable to find required {label} label on the volume"),
                    field: format!("spec.{field}"),
                }]);
            }
        }
    }
    put_missing(vm, &format!("{at}/kind"), || json!(kind));
    Ok(())
}

/// A label of the first image the machine is made from.
fn image_label(vm: &Value, namespace: &str, objects: &dyn Objects, label: &str) -> Option<String> {
    vm.list("/spec/template/spec/volumes")
        .iter()
        .filter_map(|v| v.text("/name"))
        .find_map(|volume| volume_label(vm, namespace, objects, volume, label))
}

/// A label of what a volume comes from: its claim, its data volume, or the image its template names.
fn volume_label(vm: &Value, namespace: &str, objects: &dyn Objects, volume: &str, label: &str) -> Option<String> {
    let volume = vm.list("/spec/template/spec/volumes").iter().find(|v| v.text("/name") == Some(volume))?;
    let name = volume.text("/dataVolume/name").or_else(|| volume.text("/persistentVolumeClaim/claimName"))?;
    let of = |object: Option<std::sync::Arc<Value>>| object.and_then(|o| o.label(label).map(str::to_owned));
    let template = vm.list("/spec/dataVolumeTemplates").iter().find(|t| t.text("/metadata/name") == Some(name));
    if let Some(template) = template {
        if let Some(own) = template.label(label) {
            return Some(own.to_owned());
        }
        let place = |pointer: &str| template.text(&format!("{pointer}/namespace")).unwrap_or(namespace).to_owned();
        if let Some(source) = template.text("/spec/sourceRef/name") {
            return of(objects.find(DATA_SOURCE, &place("/spec/sourceRef"), source));
        }
        if let Some(claim) = template.text("/spec/source/pvc/name") {
            return of(objects.find(CLAIM, &place("/spec/source/pvc"), claim));
        }
    }
    of(objects.find(DATA_VOLUME, namespace, name)).or_else(|| of(objects.find(CLAIM, namespace, name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::kind::Kind;
    use std::sync::Arc;

    struct Images;

    impl Objects for Images {
        fn find(&self, kind: Kind, _: &str, name: &str) -> Option<Arc<Value>> {
            (kind == DATA_SOURCE && name == "fedora").then(|| {
                Arc::new(json!({"metadata": {"labels": {
                    "instancetype.kubevirt.io/default-instancetype": "u1.medium",
                    "instancetype.kubevirt.io/default-preference": "fedora",
                }}}))
            })
        }

        fn all(&self, _: Kind) -> Vec<Arc<Value>> {
            Vec::new()
        }
    }

    fn vm() -> Value {
        json!({"metadata": {"name": "web"}, "spec": {
            "dataVolumeTemplates": [{"metadata": {"name": "web-root"}, "spec": {"sourceRef": {"name": "fedora"}}}],
            "template": {"spec": {"domain": {}, "volumes": [{"name": "root", "dataVolume": {"name": "web-root"}}]}},
        }})
    }

    #[test]
    fn a_new_machine_gets_firmware_ids_architecture_and_machine_type() {
        let mut machine = vm();
        fill_machine(&mut machine, true, "a", &Images, Chance::new(1)).unwrap();
        let domain = &machine["spec"]["template"]["spec"]["domain"];
        assert_eq!(domain["machine"]["type"], "q35");
        assert_eq!(domain["firmware"]["uuid"].as_str().unwrap().len(), 36);
        assert_ne!(domain["firmware"]["uuid"], domain["firmware"]["serial"]);
        assert_eq!(machine["spec"]["template"]["spec"]["architecture"], "amd64");
        let before = machine.clone();
        fill_machine(&mut machine, false, "a", &Images, Chance::new(2)).unwrap();
        assert_eq!(machine, before, "a second time changes nothing");
    }

    #[test]
    fn kinds_are_filled_and_names_inferred_from_the_image() {
        let mut machine = vm();
        machine["spec"]["instancetype"] = json!({"inferFromVolume": "root"});
        machine["spec"]["preference"] = json!({"name": "rhel.9"});
        fill_machine(&mut machine, true, "a", &Images, Chance::new(1)).unwrap();
        assert_eq!(
            machine["spec"]["instancetype"],
            json!({"name": "u1.medium", "kind": "VirtualMachineClusterInstancetype"})
        );
        assert_eq!(machine["spec"]["preference"], json!({"name": "rhel.9", "kind": "VirtualMachineClusterPreference"}));
    }

    #[test]
    fn what_cannot_be_inferred_is_refused_or_ignored_as_asked() {
        let mut machine = vm();
        machine["spec"]["dataVolumeTemplates"][0]["spec"]["sourceRef"]["name"] = json!("unknown");
        machine["spec"]["instancetype"] = json!({"inferFromVolume": "root"});
        assert!(fill_machine(&mut machine.clone(), true, "a", &Images, Chance::new(1)).is_err());
        machine["spec"]["instancetype"]["inferFromVolumeFailurePolicy"] = json!("IgnoreInferFromVolumeFailure");
        fill_machine(&mut machine, true, "a", &Images, Chance::new(1)).unwrap();
        assert!(!machine.has("/spec/instancetype"));
    }
}
