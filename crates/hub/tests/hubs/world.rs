//! A hub with a VDC on it: a simulated one, or the real API server that `xtask kube` names in `SSVIRT_KUBE_CALLS`.
use hub::{
    Client, Clock, Credential, Key,
    address::Gate,
    apply::{Home, Made, Owner, Propagation},
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

/// A hub of either kind, for tests that ask nothing of it but what any API server does.
pub(crate) struct AnyWorld {
    _ground: Ground,
    pub(crate) client: Client,
}

enum Ground {
    Simulated {
        _sim: hubsim::Hub,
    },
    /// One test at a time has it.
    Real {
        _turn: tokio::sync::MutexGuard<'static, ()>,
    },
}

static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

pub(crate) async fn any_world() -> AnyWorld {
    #[expect(clippy::disallowed_methods, reason = "tests have no settings of their own")]
    let Some(folder) = std::env::var_os("SSVIRT_KUBE_CALLS") else {
        let World { sim, client, .. } = world().await;
        return AnyWorld { _ground: Ground::Simulated { _sim: sim }, client };
    };
    let turn = TURN.lock().await;
    let client = |name: &str| {
        let text = std::fs::read_to_string(std::path::Path::new(&folder).join(name)).expect(name);
        let credential = kubeconfig::parse(&text).expect("the strict parser takes it");
        // patient: two cores are shared with the server
        let options = Options { read: Duration::from_secs(20), write: Duration::from_secs(20), ..options() };
        Client::new(&credential, &Gate::open(), clock(), options).expect("a client")
    };
    cleared(&client("admin.kubeconfig")).await;
    AnyWorld { _ground: Ground::Real { _turn: turn }, client: client("hub.kubeconfig") }
}

/// The test before left its namespace, with all that is in it.
async fn cleared(administrator: &Client) {
    let key = Key::global(&place().namespace);
    loop {
        match administrator.get(&NAMESPACES, &key).await {
            Ok(left) => {
                let uid = left["metadata"]["uid"].as_str().expect("a uid");
                administrator.delete_fenced(&NAMESPACES, &key, uid, Propagation::Background).await.expect("a delete");
            }
            Err(hub::Error::NotFound(_)) => return,
            Err(e) => panic!("{e}"),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
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

/// What tests do on hubs of both kinds.
pub(crate) trait OnHub {
    fn client(&self) -> &Client;

    /// The VDC's namespace.
    async fn home(&self) -> Home {
        let manifest = namespace::namespace(&place(), true, false);
        let made = self.client().create_or_adopt(&NAMESPACES, &manifest, &vdc_owner(), None).await;
        Home { namespace: place().namespace, uid: made.expect("a namespace").uid, vdc: place().vdc.0 }
    }

    async fn make_vm(&self, n: u128) -> hub::Result<Made> {
        self.client().create_or_adopt(&VIRTUAL_MACHINES, &virtual_machine(&vm(n)), &vm_owner(n), None).await
    }

    async fn vm_on_hub(&self, n: u128) -> Option<Value> {
        self.client().get(&VIRTUAL_MACHINES, &vm_key(n)).await.ok()
    }

    async fn vms(&self) -> usize {
        self.client().list(&VIRTUAL_MACHINES, None, "", |_| Some(())).await.expect("a list").0.len()
    }
}

impl OnHub for World {
    fn client(&self) -> &Client {
        &self.client
    }
}

impl OnHub for AnyWorld {
    fn client(&self) -> &Client {
        &self.client
    }
}

impl World {
    /// A POST with all rights, past our own client.
    pub(crate) async fn post(&self, path: &str, body: Value) -> Value {
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request.body(body.to_string().into_bytes()).expect("a request");
        self.sim.inside().request(request).await.expect(path)
    }
}
