//! Disks on a hub: an independent one as a DataVolume of its own, and how a disk comes into a VM that is there, and out of it.
use crate::shape::{
    names::{DESCRIPTION, DISK_ID, OWNER, Place},
    vm::{self, Identity},
};
use serde_json::{Value, json};
use uuid::Uuid;

/// An independent disk: what its labels and annotations say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Independent {
    pub place: Place,
    pub id: Uuid,
    pub object: String,
    pub name: String,
    pub description: String,
    pub owner: String,
    pub size_mb: u64,
    /// None: the hub's default.
    pub storage_class: Option<String>,
}

/// The name as people wrote it.
const NAME: &str = "ssvirt.io/disk-name";

fn annotations(d: &Independent) -> Value {
    let mut a = d.place.annotations();
    let mut put = |key: &str, value: &str| drop(a.insert(key.to_owned(), json!(value)));
    put(NAME, &d.name);
    put(OWNER, &d.owner);
    put(DESCRIPTION, &d.description);
    json!(a)
}

/// It belongs to no VM, so that it survives those it is put into.
pub fn data_volume(d: &Independent) -> Value {
    let mut labels = d.place.labels();
    labels.insert(DISK_ID.into(), json!(d.id));
    let mut annotations = annotations(d);
    // filled at once and not at the first start, so that its progress is seen
    annotations["cdi.kubevirt.io/storage.bind.immediate.requested"] = json!("true");
    let mut storage = json!({"resources": {"requests": {"storage": format!("{}Mi", d.size_mb)}}});
    if let Some(class) = &d.storage_class {
        storage["storageClassName"] = json!(class);
    }
    json!({
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {
            "name": d.object, "namespace": d.place.namespace, "labels": labels, "annotations": annotations,
        },
        "spec": {"source": {"blank": {}}, "storage": storage},
    })
}

/// After it was renamed or described: the merge patch (`patch_fenced` adds the uid).
pub fn names(d: &Independent) -> Value {
    json!({"metadata": {"annotations": annotations(d)}})
}

const VOLUMES: &str = "/spec/template/spec/volumes";
const DISKS: &str = "/spec/template/spec/domain/devices/disks";
const TEMPLATES: &str = "/spec/dataVolumeTemplates";

fn all(vm: &Value, pointer: &str) -> Vec<Value> {
    vm.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn named<'a>(list: &'a [Value], name: &str) -> Option<&'a Value> {
    list.iter().find(|item| item["name"] == name)
}

/// What a VM has under a disk's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plugged {
    /// The DataVolume or claim behind it.
    pub object: String,
    pub bus: String,
    /// It can be taken out while the VM runs.
    pub hot: bool,
}

/// None: the VM has no such disk.
pub fn plugged(vm: &Value, name: &str) -> Option<Plugged> {
    let volumes = all(vm, VOLUMES);
    let volume = named(&volumes, name)?;
    let (source, object) = match volume["dataVolume"]["name"].as_str() {
        Some(dv) => (&volume["dataVolume"], dv),
        None => (&volume["persistentVolumeClaim"], volume["persistentVolumeClaim"]["claimName"].as_str()?),
    };
    let disks = all(vm, DISKS);
    let bus = named(&disks, name).and_then(|d| d["disk"]["bus"].as_str()).unwrap_or_default();
    Some(Plugged { object: object.to_owned(), bus: bus.to_owned(), hot: source["hotpluggable"] == true })
}

/// The DataVolumes and claims that a VM's disks are on.
pub fn objects(vm: &Value) -> Vec<String> {
    let volumes = all(vm, VOLUMES);
    volumes.iter().filter_map(|v| plugged(vm, v["name"].as_str()?)).map(|p| p.object).collect()
}

/// Does the instance of a VM use the disk of that name now?
pub fn used(instance: &Value, name: &str) -> bool {
    named(&all(instance, "/spec/volumes"), name).is_some()
}

/// The volume of a disk that comes to a VM that is there already. It goes with the VM; None: the disk brings its own.
pub fn volume(id: &Identity, vm_uid: &str, disk: &vm::Disk) -> Option<Value> {
    let mut volume = vm::disk_template(id, disk)?;
    volume["apiVersion"] = json!("cdi.kubevirt.io/v1beta1");
    volume["kind"] = json!("DataVolume");
    volume["metadata"]["namespace"] = json!(id.place.namespace);
    volume["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": id.object, "uid": vm_uid,
        "controller": false, "blockOwnerDeletion": true,
    }]);
    Some(volume)
}

/// The VM with one more disk, for its next start.
pub fn plug(vm: &Value, id: &Identity, disk: &vm::Disk) -> Value {
    let (mut volumes, mut disks) = (all(vm, VOLUMES), all(vm, DISKS));
    volumes.push(json!({"name": disk.name, "dataVolume": {"name": vm::volume_of(id, disk)}}));
    disks.push(vm::disk(disk, false));
    json!({"spec": {"template": {"spec": {"volumes": volumes, "domain": {"devices": {"disks": disks}}}}}})
}

/// The same while it runs: what virt-api's `addvolume` takes.
pub fn plug_options(id: &Identity, disk: &vm::Disk) -> Value {
    let mut device = vm::disk(disk, false);
    device["serial"] = json!(serial(&disk.name));
    json!({"name": disk.name, "disk": device, "volumeSource": {"dataVolume": {"name": vm::volume_of(id, disk)}}})
}

/// Guests know hot-plugged disks by it; at most 20 letters.
fn serial(name: &str) -> String {
    name.chars().rev().take(20).collect::<Vec<_>>().into_iter().rev().collect()
}

/// The VM without a disk, and without the template that would make its volume anew.
pub fn unplug(vm: &Value, name: &str) -> Value {
    let object = plugged(vm, name).map(|p| p.object).unwrap_or_default();
    let (mut volumes, mut disks, mut templates) = (all(vm, VOLUMES), all(vm, DISKS), all(vm, TEMPLATES));
    volumes.retain(|v| v["name"] != name);
    disks.retain(|d| d["name"] != name);
    templates.retain(|t| t["metadata"]["name"] != object.as_str());
    json!({"spec": {
        "dataVolumeTemplates": templates,
        "template": {"spec": {"volumes": volumes, "domain": {"devices": {"disks": disks}}}},
    }})
}

/// Another bus, from its next start on.
pub fn on_bus(vm: &Value, name: &str, bus: &str) -> Value {
    let mut disks = all(vm, DISKS);
    for disk in disks.iter_mut().filter(|d| d["name"] == name && d.get("disk").is_some()) {
        disk["disk"]["bus"] = json!(bus);
    }
    json!({"spec": {"template": {"spec": {"domain": {"devices": {"disks": disks}}}}}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_goes_with_its_volume_and_its_template() {
        let vm = json!({"spec": {
            "dataVolumeTemplates": [{"metadata": {"name": "web-root"}}, {"metadata": {"name": "web-disk-1"}}],
            "template": {"spec": {
                "volumes": [{"name": "root", "dataVolume": {"name": "web-root"}},
                            {"name": "disk-1", "dataVolume": {"name": "web-disk-1", "hotpluggable": true}}],
                "domain": {"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}, {"name": "disk-1", "disk": {"bus": "scsi"}}]}},
            }},
        }});
        let there = plugged(&vm, "disk-1").expect("there");
        assert_eq!((there.object.as_str(), there.bus.as_str(), there.hot), ("web-disk-1", "scsi", true));
        let without = unplug(&vm, "disk-1");
        assert_eq!(without.pointer(VOLUMES).and_then(Value::as_array).map(Vec::len), Some(1));
        assert_eq!(without.pointer(TEMPLATES), Some(&json!([{"metadata": {"name": "web-root"}}])));
        assert_eq!(plugged(&without, "disk-1"), None);
        assert_eq!(
            on_bus(&vm, "root", "sata").pointer(DISKS).map(|d| d[0]["disk"]["bus"].clone()),
            Some(json!("sata"))
        );
    }
}
