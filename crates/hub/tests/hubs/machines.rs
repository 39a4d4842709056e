//! VMs on a hub whose controllers are played: what we shape is accepted and runs, what they do is read.
use crate::world::{OnHub, World, of_flavour, place, vdc_owner, vm, vm_key, vm_owner};
use hub::{
    Error, Key,
    apply::{Deleted, Made, Owner, Propagation, VmAction},
    check::{self, State},
    read::{self, InstancePart, ObservedVm, VmState, VolumePart},
    resource::{
        DATA_SOURCES, DATA_VOLUMES, INSTANCE_TYPES, SECRETS, TEMPLATE_INSTANCES, TEMPLATES, VIRTUAL_MACHINES,
        VM_INSTANCES,
    },
    shape::{
        cloud_init::CloudInit,
        customize::Customize,
        guest::{Told, secret},
        names::{VAPP_ID, cloud_init_name, vm_name},
        patch::{self, RunStrategy},
        template::{Instance, parameter_secret, template_instance},
        vm::{Attachment, Device, Disk, DiskSource, Size, Vm, virtual_machine},
    },
};
use hubsim::actors::{self, Actors, Failure};
use model::hardware::{Firmware, Hardware, Tpm};
use std::{collections::BTreeMap, time::Duration};
use time::macros::datetime;
use uuid::Uuid;

const IMAGES: &str = "openshift-virtualization-os-images";

struct Alive {
    w: World,
    actors: Actors,
}

async fn alive() -> Alive {
    let w = of_flavour(hubsim::Flavour::default()).await;
    let options = actors::Options { delay: Duration::ZERO, clock: w.sim.clock(), ..actors::Options::default() };
    actors::furnish(w.sim.inside(), w.sim.flavour()).await.expect("furnished");
    let actors = actors::attach(&w.sim, &options);
    w.home().await;
    Alive { w, actors }
}

impl Alive {
    async fn make(&self, vm: &Vm) -> hub::Result<Made> {
        let owner = Owner::new(hub::shape::names::VM_ID, vm.identity.vm);
        self.w.client.create_or_adopt(&VIRTUAL_MACHINES, &virtual_machine(vm), &owner, None).await
    }

    async fn observe(&self, key: &Key) -> ObservedVm {
        let c = &self.w.client;
        let part = read::vm(&c.get(&VIRTUAL_MACHINES, key).await.expect("a VM")).expect("a VM");
        let instance: Option<InstancePart> = c.get(&VM_INSTANCES, key).await.ok().and_then(|o| read::instance(&o));
        let volumes: Vec<VolumePart> =
            c.list(&DATA_VOLUMES, Some(&key.namespace), "", read::volume).await.expect("disks").0;
        read::observe(&part, instance.as_ref(), &volumes)
    }

    async fn until(&self, key: &Key, what: &str, done: impl Fn(&ObservedVm) -> bool) -> ObservedVm {
        for _ in 0..400 {
            let seen = self.observe(key).await;
            if done(&seen) {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("{key} never was {what}: {:?}", self.observe(key).await);
    }

    async fn until_state(&self, key: &Key, state: VmState) -> ObservedVm {
        self.until(key, &format!("{state:?}"), |seen| seen.state == state).await
    }

    async fn power(&self, key: &Key, uid: &str, strategy: RunStrategy) {
        let patch = patch::power(uid, strategy);
        self.w.client.patch_fenced(&VIRTUAL_MACHINES, key, uid, patch).await.expect("patched");
    }
}

#[tokio::test]
async fn a_vm_lives_from_create_to_delete() {
    let hub = alive().await;
    let (key, c) = (vm_key(10), &hub.w.client);
    let mut machine = vm(10);
    machine.disks[0].source = DiskSource::Image { namespace: IMAGES.into(), name: "fedora".into() };
    machine.disks[0].size_mb = Some(40_960);
    let init = CloudInit {
        hostname: "web".into(),
        user_data: "#!/bin/sh\ntrue\n".into(),
        network_data: "version: 2\n".into(),
        ..CloudInit::default()
    };
    let told = Told {
        cloud_init: Some(init),
        unattend: Some(("web".into(), Customize::default())),
        environment: vec![("port".into(), "80".into())],
    };
    machine.discs = told.discs();
    let init = secret(&machine.identity, &told).expect("good");
    let kept = c.create_or_adopt(&SECRETS, &init, &vm_owner(10), None).await.expect("a secret");
    let made = hub.make(&machine).await.expect("the webhooks accept it");
    let secret_key = Key::new(key.namespace.clone(), cloud_init_name(&key.name));
    let of_vm = patch::belongs_to(&kept.uid, &VIRTUAL_MACHINES, &key.name, &made.uid);
    c.patch_fenced(&SECRETS, &secret_key, &kept.uid, of_vm).await.expect("patched");

    let stopped =
        hub.until(&key, "ready to start", |s| s.state == VmState::Stopped && s.volumes.iter().any(|v| v.done)).await;
    assert_eq!(stopped.vm.meta.uid, made.uid);
    assert_eq!(stopped.volumes[0].disk, "root");
    assert!(stopped.instance.is_none() && stopped.problem.is_none(), "{stopped:?}");

    hub.power(&key, &made.uid, RunStrategy::RerunOnFailure).await;
    let running = hub
        .until(&key, "running with an agent", |s| {
            s.state == VmState::Running && s.instance.as_ref().is_some_and(|i| i.guest_os.is_some())
        })
        .await;
    assert!(running.ips().next().is_some(), "{running:?}");
    assert_eq!((running.cpus(), running.memory_mb()), (Some(2), Some(2048)));
    assert!(running.instance.as_ref().is_some_and(|i| i.node.is_some() && i.meta.ids.vm == Some(Uuid::from_u128(10))));
    assert!(c.guest_info(&key).await.is_ok());

    c.vm_action(&key, VmAction::Pause).await.expect("paused");
    hub.until_state(&key, VmState::Paused).await;
    let twice = c.vm_action(&key, VmAction::Pause).await;
    assert_eq!(twice, Err(Error::NotNow("VMI is already paused".into())));
    c.vm_action(&key, VmAction::Unpause).await.expect("unpaused");
    hub.until_state(&key, VmState::Running).await;
    c.vm_action(&key, VmAction::SoftReboot).await.expect("rebooted");
    c.vm_action(&key, VmAction::Restart { force: false }).await.expect("restarted");
    hub.until(&key, "running again", |s| {
        s.state == VmState::Running
            && s.instance.as_ref().map(|i| &i.meta.uid) != running.instance.as_ref().map(|i| &i.meta.uid)
    })
    .await;
    hub.power(&key, &made.uid, RunStrategy::Halted).await;
    hub.until_state(&key, VmState::Stopped).await;

    let told = c.delete_fenced(&VIRTUAL_MACHINES, &key, &made.uid, Propagation::Foreground).await.expect("deleted");
    assert!(matches!(told, Deleted::Gone | Deleted::UnderWay));
    for _ in 0..200 {
        if c.is_gone(&VIRTUAL_MACHINES, &key, &made.uid).await == Ok(true) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    assert_eq!(c.is_gone(&VIRTUAL_MACHINES, &key, &made.uid).await, Ok(true));
    let (disks, _) = c.list(&DATA_VOLUMES, Some(&key.namespace), "", read::meta).await.expect("a list");
    assert!(disks.is_empty(), "its disks go with it: {disks:?}");
    for _ in 0..200 {
        if c.is_gone(&SECRETS, &secret_key, &kept.uid).await == Ok(true) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the VM's Secret is still there");
}

const FEATURES: &str = r#"{"acpi": {}, "hyperv": {"relaxed": {}}}"#;

#[tokio::test]
async fn every_shape_of_vm_is_accepted_by_the_webhooks() {
    let hub = alive().await;
    let disk = |name: &str, source: DiskSource, device: Device| Disk {
        name: name.into(),
        size_mb: Some(1024),
        source,
        storage_class: Some("fast".into()),
        device,
        boot_order: None,
    };
    let mut all = Vec::new();
    for (i, firmware) in [Firmware::Any, Firmware::Bios, Firmware::Efi, Firmware::Secure].into_iter().enumerate() {
        for (j, size) in
            [Size::InstanceType("u1.small".into()), Size::Explicit { cpus: 6, cores_per_socket: 4, memory_mb: 512 }]
                .into_iter()
                .enumerate()
        {
            let mut v = vm(100 + 10 * i as u128 + j as u128);
            v.hardware = Hardware { firmware, tpm: Tpm::Volatile, features: FEATURES.into(), ..Hardware::default() };
            v.preference = (j == 0).then(|| "fedora".to_owned());
            v.size = size;
            v.disks = vec![
                disk("root", DiskSource::Registry("docker://quay.io/x".into()), Device::Disk),
                disk("data", DiskSource::Http("https://example.org/x.img".into()), Device::Scsi),
                disk("iso", DiskSource::Blank, Device::Cdrom),
                disk("more", DiskSource::Blank, Device::Sata),
            ];
            v.disks[0].boot_order = Some(1);
            if i == 1 {
                v.nics.clear();
            }
            if i == 2 {
                v.nics[0].network = Attachment::Network("acme-net".into());
                v.nics[0].mac = Some("02:00:00:00:00:01".into());
                v.nics[0].connected = false;
            }
            all.push(v);
        }
    }
    for v in &all {
        hub.make(v).await.unwrap_or_else(|e| panic!("{:?}: {e}", v.hardware));
    }
    let key = vm_key(100);
    let seen = hub.until(&key, "seen with all disks", |s| s.volumes.len() == 4).await;
    assert_eq!(seen.vm.disks.iter().filter(|d| d.cdrom).count(), 1);
}

#[tokio::test]
async fn a_refusal_of_a_webhook_names_the_field() {
    let hub = alive().await;
    let mut v = vm(10);
    v.nics[0].mac = None;
    v.disks.push(v.disks[0].clone());
    let e = hub.make(&v).await.expect_err("two disks of one name");
    assert!(matches!(&e, Error::Denied { causes, .. } if !causes.is_empty()), "{e:?}");
    assert!(e.message().contains("spec.template.spec"), "{e}");
}

#[tokio::test]
async fn a_guest_that_powers_off_stays_off_and_can_be_started_again() {
    let hub = alive().await;
    let key = vm_key(10);
    let made = hub.make(&vm(10)).await.expect("made");
    hub.power(&key, &made.uid, RunStrategy::RerunOnFailure).await;
    for round in 0..2 {
        hub.until_state(&key, VmState::Running).await;
        actors::guest_power_off(hub.w.sim.inside(), &hub.w.sim.clock(), &key.namespace, &key.name).await.expect("off");
        let off = hub.until(&key, "off", |s| s.state == VmState::Stopped && s.instance.is_none()).await;
        assert_eq!(off.vm.run_strategy, "RerunOnFailure");
        if round == 0 {
            hub.w.client.vm_action(&key, VmAction::Start).await.expect("started");
        } else {
            // with a fence: off and on again
            hub.power(&key, &made.uid, RunStrategy::Halted).await;
            hub.power(&key, &made.uid, RunStrategy::RerunOnFailure).await;
        }
    }
    hub.until_state(&key, VmState::Running).await;
    let twice = hub.w.client.vm_action(&key, VmAction::Start).await;
    assert_eq!(twice, Err(Error::NotNow("VM is already running".into())));
}

#[tokio::test]
async fn what_goes_wrong_on_a_hub_is_seen_with_its_reason() {
    let hub = alive().await;
    let key = vm_key(10);
    hub.actors.failures().set(Failure::DataVolumeStuck, true);
    let mut v = vm(10);
    v.disks[0].source = DiskSource::Http("https://example.org/x.img".into());
    let made = hub.make(&v).await.expect("made");
    let stuck = hub.until(&key, "stuck", |s| s.progress == Some(37)).await;
    assert_eq!(stuck.state, VmState::Provisioning);
    hub.actors.failures().set(Failure::DataVolumeStuck, false);
    hub.until_state(&key, VmState::Stopped).await;
    hub.actors.failures().set(Failure::Unschedulable, true);
    hub.power(&key, &made.uid, RunStrategy::Always).await;
    let failed = hub.until_state(&key, VmState::Failed).await;
    assert!(failed.problem.as_deref().is_some_and(|p| p.contains("nodes are available")), "{:?}", failed.problem);
    hub.actors.failures().set(Failure::Unschedulable, false);
    hub.until_state(&key, VmState::Running).await;
}

#[tokio::test]
async fn a_template_of_two_vms_becomes_two_halted_vms_of_ours() {
    let hub = alive().await;
    let c = &hub.w.client;
    let object = c.get(&TEMPLATES, &Key::new("openshift", "web-and-db")).await.expect("a template");
    let template = read::template(&object).expect("a template");
    assert_eq!(template.vms.len(), 2);
    assert!(template.other_kinds.is_empty(), "{:?}", template.other_kinds);
    assert!(template.vms.iter().all(|v| v.cpus.is_some() && v.memory_mb.is_some()), "{:?}", template.vms);
    let vms: Vec<_> = [20, 21].map(|n| Some(vm(n).identity)).into();
    let required: BTreeMap<String, String> = template
        .parameters
        .iter()
        .filter(|p| p.required && p.value.is_none() && !p.generated)
        .map(|p| (p.name.clone(), "x".to_owned()))
        .collect();
    let instance = Instance {
        place: place(),
        vapp: Uuid::from_u128(3),
        vapp_name: "shop".into(),
        vms,
        nics: BTreeMap::new(),
        parameters: required,
    };
    let owner = Owner::new(VAPP_ID, Uuid::from_u128(3));
    c.create_or_adopt(&SECRETS, &parameter_secret(&instance), &owner, None).await.expect("parameters");
    let manifest = template_instance(&instance, &object).expect("good");
    c.create_or_adopt(&TEMPLATE_INSTANCES, &manifest, &owner, None).await.expect("an instance");
    let key = Key::new(place().namespace, instance.object());
    let mut seen = read::template_instance(&c.get(&TEMPLATE_INSTANCES, &key).await.expect("there")).expect("there");
    for _ in 0..400 {
        if seen.ready || seen.failed.is_some() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
        seen = read::template_instance(&c.get(&TEMPLATE_INSTANCES, &key).await.expect("there")).expect("there");
    }
    assert!(seen.ready, "{seen:?}");
    for n in [20, 21] {
        let key = Key::new(place().namespace, vm_name("web", Uuid::from_u128(n)));
        let vm = hub.until_state(&key, VmState::Stopped).await;
        assert_eq!(vm.vm.run_strategy, "Halted");
        assert_eq!(vm.vm.meta.ids.vm, Some(Uuid::from_u128(n)));
        hub.power(&key, &vm.vm.meta.uid, RunStrategy::RerunOnFailure).await;
        hub.until_state(&key, VmState::Running).await;
    }
}

#[tokio::test]
async fn catalogs_can_be_filled_from_what_a_hub_has() {
    let hub = alive().await;
    let c = &hub.w.client;
    let (templates, _) = c.list(&TEMPLATES, Some("openshift"), "", read::template).await.expect("templates");
    assert!(templates.len() >= 5, "{templates:?}");
    for t in &templates {
        assert!(!t.vms.is_empty() && !t.display_name.is_empty() && t.storage_mb() > 0, "{t:?}");
    }
    let (types, _) = c.list(&INSTANCE_TYPES, None, "", read::instance_type).await.expect("types");
    assert!(types.iter().any(|t| &*t.meta.key.name == "u1.small" && t.cpus == 1 && t.memory_mb == 2048));
    for _ in 0..200 {
        let (images, _) = c.list(&DATA_SOURCES, Some(IMAGES), "", read::image).await.expect("images");
        if images.len() >= 4 && images.iter().all(|i| i.ready && i.default_preference.is_some()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the images never were ready");
}

#[tokio::test]
async fn a_hub_as_it_is_furnished_passes_every_check() {
    let hub = alive().await;
    let report = check::check(&hub.w.client, &hub.w.credential, datetime!(2026-01-02 03:04:05 UTC)).await;
    for c in &report.checks {
        assert!(!matches!(c.state, State::Failed), "{c:?}");
    }
    assert!(report.capabilities.contains(&"virtualmachines".to_owned()));
    assert_eq!(report.capacity.nodes, 3);
    assert!(
        hub.w
            .client
            .create_or_adopt(
                &hub::resource::NAMESPACES,
                &hub::shape::namespace::namespace(&place(), true, false),
                &vdc_owner(),
                None
            )
            .await
            .is_ok()
    );
}
