//! Volumes that are plugged into a machine while it runs, or taken out.
use super::{
    machine::{Answer, Change, refuse},
    refusal::Refusal,
};
use crate::actors::json::Look;
use serde_json::{Value, json};

/// Checks that come before the machine is looked up.
pub(crate) fn check_options(call: &str, options: &Value, kubevirt: Option<&Value>) -> Result<(), Refusal> {
    if !gate_is_on(kubevirt) {
        let why = "Enable DeclarativeHotplugVolumes or HotplugVolumes feature gate to use this API.";
        return Err(Refusal::bad_request(why));
    }
    let (title, needs): (&str, &[(&str, &str)]) = match call {
        "addvolume" => (
            "AddVolumeOptions",
            &[
                ("/name", "requires name to be set"),
                ("/disk", "requires disk to not be nil"),
                ("/volumeSource", "requires VolumeSource to not be nil"),
            ],
        ),
        _ => ("RemoveVolumeOptions", &[("/name", "requires name to be set")]),
    };
    let missing = |pointer: &str| !options.has(pointer) || options.pointer(pointer) == Some(&json!(""));
    match needs.iter().find(|(pointer, _)| missing(pointer)) {
        Some((_, why)) => Err(Refusal::bad_request(format!("{title} {why}"))),
        None => Ok(()),
    }
}

/// Listed, or of a release that has the declarative way on by itself.
fn gate_is_on(kubevirt: Option<&Value>) -> bool {
    let Some(kv) = kubevirt else { return false };
    let developer = "/spec/configuration/developerConfiguration";
    let has = |list: &str, gate: &str| kv.list(&format!("{developer}/{list}")).iter().any(|g| g == gate);
    let declarative = "DeclarativeHotplugVolumes";
    let version = kv.text("/status/observedKubeVirtVersion").unwrap_or_default().trim_start_matches('v');
    let mut numbers = version.split('.').map(|n| n.parse::<u32>().unwrap_or(0));
    let by_itself = (numbers.next(), numbers.next()) >= (Some(1), Some(9)) && !has("disabledFeatureGates", declarative);
    by_itself || has("featureGates", "HotplugVolumes") || has("featureGates", declarative)
}

fn source(volume: &Value) -> Option<&str> {
    volume.text("/dataVolume/name").or_else(|| volume.text("/persistentVolumeClaim/claimName"))
}

fn and(vm: &Value, request: Value) -> Answer {
    let mut all = vm.list("/status/volumeRequests").to_vec();
    all.push(request);
    Ok(Change::Volumes(json!(all)).into())
}

pub(crate) fn add(vm: &Value, options: &Value) -> Answer {
    let name = options.text("/name").unwrap_or_default();
    let new = source(&options["volumeSource"]);
    for volume in vm.list("/spec/template/spec/volumes") {
        if volume.text("/name") == Some(name) {
            return refuse(vm, &format!("Unable to add volume [{name}] because volume with that name already exists"));
        }
        if new.is_some() && source(volume) == new {
            let used = new.unwrap_or_default();
            return refuse(vm, &format!("Unable to add volume source [{used}] because it already exists"));
        }
    }
    and(vm, json!({"addVolumeOptions": options}))
}

pub(crate) fn remove(vm: &Value, options: &Value) -> Answer {
    let name = options.text("/name").unwrap_or_default();
    let volume = vm.list("/spec/template/spec/volumes").iter().find(|v| v.text("/name") == Some(name));
    match volume {
        None => refuse(vm, &format!("Unable to remove volume [{name}] because it does not exist")),
        Some(v) if v.flag("/dataVolume/hotpluggable") || v.flag("/persistentVolumeClaim/hotpluggable") => {
            and(vm, json!({"removeVolumeOptions": options}))
        }
        Some(_) => refuse(vm, &format!("Unable to remove volume [{name}] because it is not hotpluggable")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kubevirt(version: &str, gates: &[&str]) -> Value {
        json!({"spec": {"configuration": {"developerConfiguration": {"featureGates": gates}}},
            "status": {"observedKubeVirtVersion": version}})
    }

    fn vm() -> Value {
        json!({"metadata": {"name": "web"}, "spec": {"template": {"spec": {"volumes": [
            {"name": "root", "dataVolume": {"name": "web-root"}},
            {"name": "data", "dataVolume": {"name": "web-data", "hotpluggable": true}},
        ]}}}})
    }

    #[test]
    fn options_and_gate_are_checked_first() {
        let on = kubevirt("v1.6.6", &["HotplugVolumes"]);
        let words = |options: Value| check_options("addvolume", &options, Some(&on)).unwrap_err().message;
        assert_eq!(words(json!({})), "AddVolumeOptions requires name to be set");
        assert_eq!(words(json!({"name": "x"})), "AddVolumeOptions requires disk to not be nil");
        assert_eq!(words(json!({"name": "x", "disk": {}})), "AddVolumeOptions requires VolumeSource to not be nil");
        assert!(check_options("addvolume", &json!({"name": "x", "disk": {}, "volumeSource": {}}), Some(&on)).is_ok());
        for (kv, open) in
            [(kubevirt("v1.6.6", &[]), false), (kubevirt("v1.9.0", &[]), true), (kubevirt("v1.10.1", &[]), true)]
        {
            assert_eq!(check_options("removevolume", &json!({"name": "x"}), Some(&kv)).is_ok(), open);
        }
    }

    #[test]
    fn a_volume_comes_once_and_goes_only_if_it_was_plugged_in() {
        let words = |answer: Answer| answer.unwrap_err().message.rsplit(": ").next().unwrap_or_default().to_owned();
        let add_one =
            |name: &str, from: &str| add(&vm(), &json!({"name": name, "volumeSource": {"dataVolume": {"name": from}}}));
        assert_eq!(
            words(add_one("root", "x")),
            "Unable to add volume [root] because volume with that name already exists"
        );
        assert_eq!(words(add_one("x", "web-root")), "Unable to add volume source [web-root] because it already exists");
        assert!(add_one("x", "new").is_ok());
        let remove_one = |name: &str| remove(&vm(), &json!({"name": name}));
        assert_eq!(words(remove_one("root")), "Unable to remove volume [root] because it is not hotpluggable");
        assert_eq!(words(remove_one("none")), "Unable to remove volume [none] because it does not exist");
        assert!(remove_one("data").is_ok());
    }
}
