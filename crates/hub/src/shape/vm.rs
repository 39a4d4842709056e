//! A VM as a VirtualMachine object: always halted at first, so that a create that is repeated or orphaned never runs.
use crate::shape::{
    guest::{self, Discs},
    hardware,
    names::{self, COMPUTER_NAME, CREATED_FROM, DESCRIPTION, DISK, OWNER, Place, VAPP, VAPP_ID, VM, VM_ID, disk_name},
};
use model::hardware::Hardware;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Who a VM is: what its labels and annotations say, enough to rebuild our row from the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub place: Place,
    pub vapp: Uuid,
    pub vapp_name: String,
    pub vm: Uuid,
    pub vm_name: String,
    /// The object's name on the hub, from `names::vm_name`; it stays when the VM is renamed.
    pub object: String,
    pub description: String,
    /// The user who owns it.
    pub owner: String,
    /// The catalog item or template it came from.
    pub created_from: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vm {
    pub identity: Identity,
    pub computer_name: String,
    pub size: Size,
    /// A cluster preference, where one is known for the guest's system.
    pub preference: Option<String>,
    pub hardware: Hardware,
    pub disks: Vec<Disk>,
    pub nics: Vec<Nic>,
    pub discs: Discs,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    /// A cluster instance type.
    InstanceType(String),
    Explicit {
        cpus: u32,
        cores_per_socket: u32,
        memory_mb: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Unique in the VM: `root`, `disk-2`.
    pub name: String,
    /// None: as large as its source.
    pub size_mb: Option<u64>,
    pub source: DiskSource,
    pub storage_class: Option<String>,
    pub device: Device,
    pub boot_order: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskSource {
    Blank,
    /// A DataSource: an image that the hub keeps.
    Image {
        namespace: String,
        name: String,
    },
    /// `docker://…`
    Registry(String),
    Http(String),
    /// A copy of another disk.
    Claim {
        namespace: String,
        name: String,
    },
    /// A VolumeSnapshot.
    Snapshot {
        namespace: String,
        name: String,
    },
    /// A DataVolume of the VDC that is there already.
    Existing(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The bus is the preference's choice, or virtio.
    #[default]
    Disk,
    Virtio,
    Sata,
    Scsi,
    Cdrom,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nic {
    /// Unique in the VM: `nic-0`.
    pub name: String,
    pub network: Attachment,
    pub mac: Option<String>,
    /// `virtio`, `e1000e`…; None: the preference's choice.
    pub model: Option<String>,
    pub connected: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// The pod's network, behind the node's address.
    Pod,
    /// The namespace's own user-defined network.
    Primary,
    /// A NetworkAttachmentDefinition of the namespace.
    Network(String),
}

impl Identity {
    pub fn labels(&self) -> Map<String, Value> {
        let mut labels = self.place.labels();
        labels.insert(VAPP_ID.into(), json!(self.vapp));
        labels.insert(VM_ID.into(), json!(self.vm));
        labels
    }

    pub fn annotations(&self) -> Map<String, Value> {
        let mut a = self.place.annotations();
        let mut put = |key: &str, value: String| drop(a.insert(key.to_owned(), Value::String(value)));
        put(VAPP, self.vapp_name.clone());
        put(VAPP_ID, format!("urn:vcloud:vapp:{}", self.vapp));
        put(VM, self.vm_name.clone());
        put(VM_ID, format!("urn:vcloud:vm:{}", self.vm));
        put(OWNER, self.owner.clone());
        put(DESCRIPTION, self.description.clone());
        put(CREATED_FROM, self.created_from.clone().unwrap_or_default());
        a.retain(|_, v| v != "");
        a
    }
}

pub fn virtual_machine(vm: &Vm) -> Value {
    let id = &vm.identity;
    let labels = id.labels();
    let mut annotations = id.annotations();
    annotations.insert(COMPUTER_NAME.into(), json!(vm.computer_name));
    let mut spec = json!({
        "runStrategy": "Halted",
        "template": {
            "metadata": {"labels": labels},
            "spec": instance(vm),
        },
    });
    let templates: Vec<Value> = vm.disks.iter().filter_map(|d| disk_template(id, d)).collect();
    if !templates.is_empty() {
        spec["dataVolumeTemplates"] = json!(templates);
    }
    if let Size::InstanceType(name) = &vm.size {
        spec["instancetype"] = json!({"kind": "VirtualMachineClusterInstancetype", "name": name});
    }
    if let Some(name) = &vm.preference {
        spec["preference"] = json!({"kind": "VirtualMachineClusterPreference", "name": name});
    }
    json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {
            "name": id.object,
            "namespace": id.place.namespace,
            "labels": labels,
            "annotations": annotations,
        },
        "spec": spec,
    })
}

pub(super) const LONGEST_HOSTNAME: usize = 63;

fn instance(vm: &Vm) -> Value {
    let with_preference = vm.preference.is_some();
    let mut disks: Vec<Value> = vm.disks.iter().map(|d| disk(d, with_preference)).collect();
    let mut volumes: Vec<Value> =
        vm.disks.iter().map(|d| json!({"name": d.name, "dataVolume": {"name": volume_of(&vm.identity, d)}})).collect();
    for (volume, disk) in guest::volumes(&vm.identity.object, vm.discs) {
        volumes.push(volume);
        disks.push(disk);
    }
    let mut devices = json!({"disks": disks, "interfaces": interfaces(&vm.nics), "rng": {}});
    if vm.nics.is_empty() {
        devices["autoattachPodInterface"] = json!(false);
    }
    let mut domain = json!({"devices": devices});
    if let Size::Explicit { cpus, cores_per_socket, memory_mb } = vm.size {
        domain["cpu"] = cpu(cpus, cores_per_socket);
        domain["memory"] = json!({"guest": format!("{memory_mb}Mi")});
    }
    hardware::put_into(&mut domain, &vm.hardware);
    let mut spec = json!({
        "terminationGracePeriodSeconds": 180,
        "domain": domain,
        "networks": networks(&vm.nics),
        "volumes": volumes,
    });
    let hostname = names::slug(&vm.computer_name, LONGEST_HOSTNAME);
    if !hostname.is_empty() {
        spec["hostname"] = json!(hostname);
    }
    spec
}

/// As many as asked for where they come out even.
pub fn cores_of(cpus: u32, cores_per_socket: u32) -> u32 {
    if cores_per_socket > 0 && cpus.is_multiple_of(cores_per_socket) { cores_per_socket } else { 1 }
}

/// Sockets are what can be added while the VM runs.
pub(super) fn cpu(cpus: u32, cores_per_socket: u32) -> Value {
    let cores = cores_of(cpus, cores_per_socket);
    json!({"sockets": cpus / cores, "cores": cores, "threads": 1})
}

/// The DataVolume behind a disk.
pub(super) fn volume_of(id: &Identity, d: &Disk) -> String {
    match &d.source {
        DiskSource::Existing(name) => name.clone(),
        _ => disk_name(&id.object, &d.name),
    }
}

pub(super) fn disk(d: &Disk, with_preference: bool) -> Value {
    let target = match d.device {
        Device::Disk if with_preference => ("disk", json!({})),
        Device::Disk | Device::Virtio => ("disk", json!({"bus": "virtio"})),
        Device::Sata => ("disk", json!({"bus": "sata"})),
        Device::Scsi => ("disk", json!({"bus": "scsi"})),
        Device::Cdrom => ("cdrom", json!({"bus": "sata"})),
    };
    let mut disk = json!({"name": d.name, target.0: target.1});
    if let Some(order) = d.boot_order {
        disk["bootOrder"] = json!(order);
    }
    disk
}

pub(super) fn disk_template(id: &Identity, d: &Disk) -> Option<Value> {
    let mut spec = match &d.source {
        DiskSource::Existing(_) => return None,
        DiskSource::Blank => json!({"source": {"blank": {}}}),
        DiskSource::Image { namespace, name } => {
            json!({"sourceRef": {"kind": "DataSource", "namespace": namespace, "name": name}})
        }
        DiskSource::Registry(url) => json!({"source": {"registry": {"url": url}}}),
        DiskSource::Http(url) => json!({"source": {"http": {"url": url}}}),
        DiskSource::Claim { namespace, name } => json!({"source": {"pvc": {"namespace": namespace, "name": name}}}),
        DiskSource::Snapshot { namespace, name } => {
            json!({"source": {"snapshot": {"namespace": namespace, "name": name}}})
        }
    };
    let mut storage = json!({});
    if let Some(size) = d.size_mb {
        storage["resources"] = json!({"requests": {"storage": format!("{size}Mi")}});
    }
    if let Some(class) = &d.storage_class {
        storage["storageClassName"] = json!(class);
    }
    spec["storage"] = storage;
    let mut labels = id.labels();
    labels.insert(DISK.into(), json!(names::label_value(&d.name)));
    Some(json!({
        "metadata": {
            "name": disk_name(&id.object, &d.name),
            "labels": labels,
            // filled at once and not at the first start, so that its progress is seen
            "annotations": {"cdi.kubevirt.io/storage.bind.immediate.requested": "true"},
        },
        "spec": spec,
    }))
}

pub(super) fn networks(nics: &[Nic]) -> Vec<Value> {
    let network = |n: &Nic| match &n.network {
        Attachment::Pod | Attachment::Primary => json!({"name": n.name, "pod": {}}),
        Attachment::Network(nad) => json!({"name": n.name, "multus": {"networkName": nad}}),
    };
    nics.iter().map(network).collect()
}

pub(super) fn interfaces(nics: &[Nic]) -> Vec<Value> {
    nics.iter().map(interface).collect()
}

fn interface(n: &Nic) -> Value {
    let mut nic = match n.network {
        Attachment::Pod => json!({"name": n.name, "masquerade": {}}),
        Attachment::Primary => json!({"name": n.name, "binding": {"name": "l2bridge"}}),
        Attachment::Network(_) => json!({"name": n.name, "bridge": {}}),
    };
    if let Some(mac) = &n.mac {
        nic["macAddress"] = json!(mac);
    }
    if let Some(model) = &n.model {
        nic["model"] = json!(model);
    }
    if !n.connected {
        nic["state"] = json!("down");
    }
    nic
}
