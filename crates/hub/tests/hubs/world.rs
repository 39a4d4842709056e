//! A hub with a VDC on it.
use hub::{
    Client, Clock, Credential, Key,
    address::Gate,
    apply::{Home, Made, Owner},
    client::Options,
    kubeconfig,
    resource::{NAMESPACES, VIRTUAL_MACHINES},
    shape::{
        guest::Discs,
        names::{Place, VDC_ID, VM_ID, vm_name},
        namespace,
        vm::{Attachment, Device, Disk, DiskSource, Identity, Nic, Size, Vm, virtual_machine},
    },
};
use model::{OrgId, VdcId, hardware::Hardware};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use time::macros::datetime;
use uuid::Uuid;

pub(crate) struct World {
    pub(crate) sim: hubsim::Hub,
    pub(crate) client: Client,
    pub(crate) credential: Credential,
}

pub(crate) fn clock() -> Clock {
    Arc::new(|| datetime!(2026-01-02 03:04:05 UTC))
}

/// Impatient, so that tests of dead hubs are short.
pub(crate) fn options() -> Options {
    Options {
        connect: Duration::from_millis(500),
        read: Duration::from_secs(2),
        write: Duration::from_secs(2),
        per_second: 2000,
        burst: 2000,
        probe_every: Duration::from_millis(300),
        ..Options::default()
    }
}

pub(crate) async fn world() -> World {
    of_flavour(hubsim::Flavour::default()).await
}

pub(crate) async fn of_flavour(flavour: hubsim::Flavour) -> World {
    let sim = hubsim::Hub::start(hubsim::Options { flavour, ..hubsim::Options::default() }).await.expect("a hub");
    let credential =
        kubeconfig::parse(&sim.kubeconfig()).expect("the strict parser takes a simulated hub's kubeconfig");
    let client = Client::new(&credential, &Gate::open(), clock(), options()).expect("a client");
    World { sim, client, credential }
}

pub(crate) fn place() -> Place {
    Place {
        org: OrgId(Uuid::from_u128(1)),
        org_name: "acme".into(),
        vdc: VdcId(Uuid::from_u128(2)),
        vdc_name: "prod".into(),
        namespace: "vdc-acme-prod".into(),
    }
}

pub(crate) fn vdc_owner() -> Owner {
    Owner::new(VDC_ID, place().vdc)
}

pub(crate) fn vm(n: u128) -> Vm {
    let id = Uuid::from_u128(n);
    Vm {
        identity: Identity {
            place: place(),
            vapp: Uuid::from_u128(3),
            vapp_name: "shop".into(),
            vm: id,
            vm_name: "web".into(),
            object: vm_name("web", id),
            description: String::new(),
            owner: "acme-admin".into(),
            created_from: None,
        },
        computer_name: "web".into(),
        size: Size::Explicit { cpus: 2, cores_per_socket: 1, memory_mb: 2048 },
        preference: None,
        hardware: Hardware::default(),
        disks: vec![Disk {
            name: "root".into(),
            size_mb: Some(1024),
            source: DiskSource::Blank,
            storage_class: None,
            device: Device::Disk,
            boot_order: None,
        }],
        nics: vec![Nic { name: "nic-0".into(), network: Attachment::Pod, mac: None, model: None, connected: true }],
        discs: Discs::default(),
    }
}

pub(crate) fn vm_key(n: u128) -> Key {
    Key::new(place().namespace, vm_name("web", Uuid::from_u128(n)))
}

pub(crate) fn vm_owner(n: u128) -> Owner {
    Owner::new(VM_ID, Uuid::from_u128(n))
}

impl World {
    /// The VDC's namespace.
    pub(crate) async fn home(&self) -> Home {
        let manifest = namespace::namespace(&place(), true, false);
        let made = self.client.create_or_adopt(&NAMESPACES, &manifest, &vdc_owner(), None).await.expect("a namespace");
        Home { namespace: place().namespace, uid: made.uid, vdc: place().vdc.0 }
    }

    pub(crate) async fn make_vm(&self, n: u128) -> hub::Result<Made> {
        self.client.create_or_adopt(&VIRTUAL_MACHINES, &virtual_machine(&vm(n)), &vm_owner(n), None).await
    }

    pub(crate) fn vm_on_hub(&self, n: u128) -> Option<Arc<Value>> {
        let key = vm_key(n);
        self.sim.object("kubevirt.io", "virtualmachines", &key.namespace, &key.name)
    }

    pub(crate) async fn vms(&self) -> usize {
        self.client.list(&VIRTUAL_MACHINES, None, "", |_| Some(())).await.expect("a list").0.len()
    }

    /// A POST with all rights, past our own client.
    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request.body(body.to_string().into_bytes()).expect("a request");
        self.sim.inside().request(request).await.expect(path)
    }
}
