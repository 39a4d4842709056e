//! Requests for volumes become part of the machine's template, from where they reach its instance.
use crate::actors::json::{Look, list_mut};
use serde_json::{Value, json};

const VOLUMES: &str = "/spec/template/spec/volumes";
const DISKS: &str = "/spec/template/spec/domain/devices/disks";

/// The machine with all its requests worked in; none if there are no requests.
pub(crate) fn fulfil(vm: &Value) -> Option<Value> {
    let requests = vm.list("/status/volumeRequests");
    if requests.is_empty() {
        return None;
    }
    let mut new = vm.clone();
    for request in requests {
        if let Some(add) = request.get("addVolumeOptions").filter(|a| a.is_object()) {
            plug(&mut new, add);
        }
        if let Some(name) = request.text("/removeVolumeOptions/name") {
            for list in [VOLUMES, DISKS] {
                list_mut(&mut new, list).retain(|item| item.text("/name") != Some(name));
            }
        }
    }
    Some(new)
}

fn plug(vm: &mut Value, options: &Value) {
    let name = options["name"].clone();
    if vm.list(VOLUMES).iter().any(|v| v["name"] == name) {
        return;
    }
    let mut volume = options["volumeSource"].clone();
    for kind in ["dataVolume", "persistentVolumeClaim"] {
        if volume.has(&format!("/{kind}")) {
            volume[kind]["hotpluggable"] = json!(true);
        }
    }
    volume["name"] = name.clone();
    let mut disk = options["disk"].clone();
    disk["name"] = name;
    list_mut(vm, VOLUMES).push(volume);
    list_mut(vm, DISKS).push(disk);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_into_the_template_once() {
        let mut vm = json!({"spec": {"template": {"spec": {}}}});
        assert_eq!(fulfil(&vm), None);
        let options =
            json!({"name": "data", "disk": {"disk": {"bus": "scsi"}}, "volumeSource": {"dataVolume": {"name": "d"}}});
        vm["status"]["volumeRequests"] = json!([{"addVolumeOptions": options}]);
        let with = fulfil(&vm).unwrap();
        assert_eq!(
            with.pointer(VOLUMES),
            Some(&json!([{"name": "data", "dataVolume": {"name": "d", "hotpluggable": true}}]))
        );
        assert_eq!(fulfil(&with).unwrap(), with);
        let mut without = with;
        without["status"]["volumeRequests"] = json!([{"removeVolumeOptions": {"name": "data"}}]);
        assert!(fulfil(&without).unwrap().list(DISKS).is_empty());
    }
}
