//! The instance a machine is started as: its template, with everything a running guest needs filled in.
use super::{live_update, strategy};
use crate::actors::{
    chance::Chance,
    json::{Look, controlled_by, put, put_missing},
    quantity,
};
use serde_json::{Map, Value, json};

/// The spec the instance was started from, for finding later what changed since.
pub(crate) const STARTED_FROM: &str = "simulator.ssvirt.io/started-from";
pub(crate) const GENERATION: &str = "kubevirt.io/vm-generation";
/// Held by the machine's controller.
pub(crate) const MACHINE_FINALIZER: &str = "kubevirt.io/virtualMachineControllerFinalize";
/// Held by the instance's controller.
pub(crate) const INSTANCE_FINALIZER: &str = "kubevirt.io/foregroundDeleteVirtualMachine";

/// `spec` is the template's with instance type and preference worked in, `config` the KubeVirt object's configuration.
pub(crate) fn instance(vm: &Value, spec: Value, config: &Value, chance: Chance) -> Value {
    let from = vm.pointer("/spec/template").cloned().unwrap_or_else(|| json!({}));
    let mut labels = from.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
    labels.insert("vm.kubevirt.io/name".to_owned(), json!(vm.name()));
    let mut annotations = from.pointer("/metadata/annotations").and_then(Value::as_object).cloned().unwrap_or_default();
    annotations.insert(GENERATION.to_owned(), json!(vm.int("/metadata/generation").unwrap_or(1).to_string()));
    annotations.insert(STARTED_FROM.to_owned(), json!(from["spec"].to_string()));
    let mut spec = spec;
    defaults(&mut spec, vm, config, chance);
    if strategy::start_requested(vm) && vm.text("/status/stateChangeRequests/0/data/paused") == Some("true") {
        spec["startStrategy"] = json!("Paused");
    }
    json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {
            "name": vm.name(),
            "namespace": vm.namespace(),
            "labels": labels,
            "annotations": annotations,
            "finalizers": [MACHINE_FINALIZER, INSTANCE_FINALIZER],
            "ownerReferences": controlled_by(vm),
        },
        "spec": spec,
    })
}

/// What KubeVirt fills in when an instance is made.
fn defaults(spec: &mut Value, vm: &Value, config: &Value, chance: Chance) {
    topology(spec);
    memory(spec);
    put_missing(spec, "/domain/cpu/model", || json!("host-model"));
    let uuid = || json!(chance.uuid(&["firmware", vm.namespace(), vm.name()]).to_string());
    put_missing(spec, "/domain/firmware/uuid", uuid);
    put_missing(spec, "/domain/machine/type", || json!("q35"));
    put_missing(spec, "/domain/features/acpi/enabled", || json!(true));
    put_missing(spec, "/architecture", || json!("amd64"));
    put_missing(spec, "/terminationGracePeriodSeconds", || json!(30));
    if let Some(eviction) = config.text("/evictionStrategy") {
        put_missing(spec, "/evictionStrategy", || json!(eviction));
    }
    network(spec, config);
    disks(spec);
    live_update::set_limits(spec, config);
}

fn topology(spec: &mut Value) {
    let unset = ["sockets", "cores", "threads"].iter().all(|f| spec.int(&format!("/domain/cpu/{f}")).unwrap_or(0) == 0);
    let asked = spec
        .pointer("/domain/resources/limits/cpu")
        .or_else(|| spec.pointer("/domain/resources/requests/cpu"))
        .and_then(quantity::whole);
    let sockets = if unset { asked.unwrap_or(1).max(1) } else { 1 };
    for (field, value) in [("sockets", sockets), ("cores", 1), ("threads", 1)] {
        let at = format!("/domain/cpu/{field}");
        if spec.int(&at).unwrap_or(0) == 0 {
            put(spec, &at, json!(i64::try_from(value).unwrap_or(1)));
        }
    }
}

fn memory(spec: &mut Value) {
    let asked = spec
        .pointer("/domain/resources/requests/memory")
        .or_else(|| spec.pointer("/domain/resources/limits/memory"))
        .cloned();
    if let Some(asked) = asked {
        put_missing(spec, "/domain/memory/guest", || asked);
    }
    if let Some(guest) = spec.pointer("/domain/memory/guest").cloned() {
        put_missing(spec, "/domain/resources/requests/memory", || guest);
    }
}

fn network(spec: &mut Value, config: &Value) {
    let none = spec.list("/networks").is_empty() && spec.list("/domain/devices/interfaces").is_empty();
    let wanted = spec.pointer("/domain/devices/autoattachPodInterface") != Some(&json!(false));
    if none && wanted {
        let mut interface = json!({"name": "default"});
        interface[config.text("/network/defaultNetworkInterface").unwrap_or("bridge")] = json!({});
        put(spec, "/domain/devices/interfaces", json!([interface]));
        put(spec, "/networks", json!([{"name": "default", "pod": {}}]));
    }
}

/// A disk for every volume that has none, and pull policies for container disks.
fn disks(spec: &mut Value) {
    let has: Vec<String> = ["disks", "filesystems"]
        .iter()
        .flat_map(|list| spec.list(&format!("/domain/devices/{list}")))
        .filter_map(|d| d.text("/name").map(str::to_owned))
        .collect();
    let missing: Vec<Value> = spec
        .list("/volumes")
        .iter()
        .filter(|v| !v.has("/serviceAccount") && !v.has("/downwardMetrics"))
        .filter_map(|v| v.text("/name"))
        .filter(|name| !has.iter().any(|h| h == name))
        .map(|name| json!({"name": name, "disk": {}}))
        .collect();
    if !missing.is_empty() {
        let mut all = spec.list("/domain/devices/disks").to_vec();
        all.extend(missing);
        put(spec, "/domain/devices/disks", json!(all));
    }
    for volume in spec.pointer_mut("/volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(image) = volume.text("/containerDisk/image").map(str::to_owned) {
            let last = image.rsplit('/').next().unwrap_or_default();
            let floating = !last.contains('@') && (last.ends_with(":latest") || !last.contains(':'));
            put_missing(volume, "/containerDisk/imagePullPolicy", || {
                json!(if floating { "Always" } else { "IfNotPresent" })
            });
        }
    }
    for disk in spec.pointer_mut("/domain/devices/disks").and_then(Value::as_array_mut).into_iter().flatten() {
        let target = ["disk", "cdrom", "lun"].into_iter().find(|t| disk.get(t).is_some()).unwrap_or("disk");
        let bus = if target == "cdrom" { "sata" } else { "virtio" };
        put_missing(disk, &format!("/{target}/bus"), || json!(bus));
    }
}

/// The data volumes a machine brings with it.
pub(crate) fn data_volumes(vm: &Value) -> Vec<Value> {
    vm.list("/spec/dataVolumeTemplates")
        .iter()
        .map(|template| {
            let mut labels: Map<String, Value> =
                template.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
            labels.insert("kubevirt.io/created-by".to_owned(), json!(vm.uid()));
            json!({
                "apiVersion": "cdi.kubevirt.io/v1beta1",
                "kind": "DataVolume",
                "metadata": {
                    "name": template["metadata"]["name"],
                    "namespace": vm.namespace(),
                    "labels": labels,
                    "annotations": template.pointer("/metadata/annotations").cloned().unwrap_or_else(|| json!({})),
                    "ownerReferences": controlled_by(vm),
                },
                "spec": template["spec"],
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vm(spec: &Value) -> Value {
        json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
            "metadata": {"name": "web", "namespace": "a", "uid": "u", "generation": 3},
            "spec": {"template": {"metadata": {"labels": {"x": "y"}}, "spec": spec}},
        })
    }

    fn made(spec: Value) -> Value {
        let machine = vm(&spec);
        instance(&machine, spec, &json!({"network": {"defaultNetworkInterface": "masquerade"}}), Chance::new(1))
    }

    #[test]
    fn an_instance_belongs_to_its_machine_and_knows_what_it_came_from() {
        let i = made(json!({"domain": {"devices": {}}}));
        assert_eq!(i["metadata"]["ownerReferences"][0]["uid"], "u");
        assert_eq!(i["metadata"]["annotations"][GENERATION], "3");
        assert_eq!(i["metadata"]["labels"]["x"], "y");
        assert_eq!(i["metadata"]["name"], "web");
    }

    #[test]
    fn a_bare_instance_gets_cpu_network_and_machine() {
        let i = made(json!({"domain": {"devices": {}, "resources": {"requests": {"memory": "1Gi", "cpu": "3"}}}}));
        assert_eq!(i["spec"]["domain"]["cpu"]["sockets"], 3);
        assert_eq!(i["spec"]["domain"]["cpu"]["model"], "host-model");
        assert_eq!(i["spec"]["domain"]["memory"]["guest"], "1Gi");
        assert_eq!(i["spec"]["networks"], json!([{"name": "default", "pod": {}}]));
        assert_eq!(i["spec"]["domain"]["devices"]["interfaces"], json!([{"name": "default", "masquerade": {}}]));
        let without = made(json!({"domain": {"devices": {"autoattachPodInterface": false}}}));
        assert!(without["spec"].get("networks").is_none());
    }

    #[test]
    fn every_volume_gets_a_disk_and_images_a_pull_policy() {
        let i = made(json!({
            "domain": {"devices": {"disks": [{"name": "iso", "cdrom": {}}]}},
            "volumes": [
                {"name": "root", "containerDisk": {"image": "quay.io/x/fedora:43"}},
                {"name": "iso", "containerDisk": {"image": "quay.io:5000/x/iso"}},
            ],
        }));
        assert_eq!(
            i["spec"]["domain"]["devices"]["disks"],
            json!([{"name": "iso", "cdrom": {"bus": "sata"}}, {"name": "root", "disk": {"bus": "virtio"}}])
        );
        assert_eq!(i["spec"]["volumes"][0]["containerDisk"]["imagePullPolicy"], "IfNotPresent");
        assert_eq!(i["spec"]["volumes"][1]["containerDisk"]["imagePullPolicy"], "Always");
    }

    #[test]
    fn data_volumes_belong_to_the_machine() {
        let mut machine = vm(&json!({}));
        machine["spec"]["dataVolumeTemplates"] = json!([{"metadata": {"name": "web-root"}, "spec": {"storage": {}}}]);
        let made = data_volumes(&machine);
        assert_eq!(made[0]["metadata"]["name"], "web-root");
        assert_eq!(made[0]["metadata"]["ownerReferences"][0]["kind"], "VirtualMachine");
        assert_eq!(made[0]["spec"], json!({"storage": {}}));
    }
}
