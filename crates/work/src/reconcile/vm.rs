//! A VM on its hub. Made halted, its uid recorded, and only then changed or powered; every call after the first carries
//! the uid, so that nothing is ever done to another object of the same name.
use super::{
    instance::{self, Stand},
    place, refused, secret, told, vdc,
};
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
    settle,
};
use hub::{
    Client, Key,
    apply::{Deleted, Home, Owner, Propagation, VmAction},
    error::Reach,
    read,
    resource::{SECRETS, VIRTUAL_MACHINES},
    shape::{
        cloud_init::{self, CloudInit},
        names::{VM_ID, cloud_init_name},
        patch::{self, RunStrategy},
        vm::{self as shape, Attachment, CloudInitUse, Device, DiskSource, Firmware, Identity, Size},
    },
};
use model::{
    HubId, Result,
    vm::{Once, Power},
};
use serde_json::Value;
use std::time::Duration;
use store::{Claim, Place, VmWork};
use uuid::Uuid;

pub(super) async fn reconcile(shared: &Shared, claim: &Claim) -> Result<Outcome> {
    let Some(vm) = shared.store.vm_work(claim.id).await? else { return Ok(Outcome::Done) };
    if vm.gone {
        return Ok(Outcome::Done);
    }
    let outcome = if vm.deleted { remove(shared, claim, &vm).await? } else { keep(shared, claim, &vm).await? };
    if let Outcome::Failed(why) = &outcome {
        at(Step::VmProblem, shared.store.vm_problem(claim, &why.plain)).await?;
    }
    settle::vm(shared, &vm, &outcome).await?;
    Ok(outcome)
}

async fn keep(shared: &Shared, claim: &Claim, vm: &VmWork) -> Result<Outcome> {
    let Some(hub) = &vm.hub else {
        return Ok(Outcome::Wait(Duration::from_secs(60), "A hub is being chosen.".into()));
    };
    let Some(there) = shared.store.place(vm.vdc, hub).await?.filter(|p| p.ready) else {
        vdc::want(shared, vm.vdc, vm.org, hub).await?;
        return Ok(Outcome::Wait(Duration::from_secs(5), "The VDC's namespace is being made.".into()));
    };
    let client = shared.hubs.client(hub).await?;
    let key = Key::new(&there.namespace, &vm.hub_name);
    let uid = match &vm.uid {
        Some(uid) => uid.clone(),
        None => {
            let made = match &vm.instance_of {
                Some(_) => told!(at(Step::VmFind, made_by_template(&client, &key, vm)).await),
                None => {
                    // from here on something of it may be on that hub
                    if !at(Step::VmAttempted, shared.store.vm_attempted(claim)).await? {
                        return Ok(lost());
                    }
                    let made = make(shared, &client, vm, &there).await?;
                    if let Err(hub::Error::NotFound(_)) = &made {
                        return vdc::anew(shared, &client, vm.vdc, vm.org, &there).await;
                    }
                    Some(told!(made.inspect_err(|e| failed(
                        "Failed to create VirtualMachine in remote cluster",
                        vm,
                        e
                    ))))
                }
            };
            let Some(uid) = made else {
                return Ok(
                    match told!(at(Step::InstanceStand, instance::stand(&client, &there.namespace, vm.vapp)).await) {
                        Stand::Failed(why) => Outcome::Failed(instance::failed(&why).into()),
                        Stand::NotThere if vm.instance_made => Outcome::Failed(instance::GONE.into()),
                        _ => Outcome::Wait(Duration::from_secs(5), instance::MADE.into()),
                    },
                );
            };
            if !at(Step::VmMade, shared.store.vm_made(claim, &uid)).await? {
                // it was deleted meanwhile: then nobody else looks for what was just made
                if shared.store.vm_tombstone(vm.id.0).await? == Some(true) {
                    collect(shared, hub, &key, vm.id.0, &uid).await?;
                }
                return Ok(lost());
            }
            uid
        }
    };
    if vm.applied == Some(vm.generation) {
        return Ok(Outcome::Done);
    }
    apply(shared, claim, vm, &Machine { client: &client, key: &key, uid: &uid, there: &there }).await
}

fn lost() -> Outcome {
    Outcome::Retry(None, "another worker took it over, or it was deleted meanwhile".into())
}

/// A hub that is down has been said to be: its machines are no news then.
fn failed(what: &str, vm: &VmWork, e: &hub::Error) {
    if !matches!(e, hub::Error::Unreachable { why: Reach::Down, .. }) {
        let hub = vm.hub.as_ref().map(|h| h.0.as_str());
        tracing::warn!(hub_id = hub, vm_id = %vm.id, kind = e.key(), error = %e, "{what}");
    }
}

/// The cloud-init and the machine, halted.
async fn make(shared: &Shared, client: &Client, vm: &VmWork, there: &Place) -> Result<hub::Result<String>> {
    let init = guest(shared, vm).await?;
    let wanted = shaped(vm, there, init.is_some());
    let owner = Owner::new(VM_ID, vm.id);
    let home = Home {
        namespace: there.namespace.clone(),
        uid: there.namespace_uid.clone().unwrap_or_default(),
        vdc: vm.vdc.0,
    };
    let init = match init.map(|init| cloud_init::secret(&wanted.identity, &init)).transpose() {
        Ok(init) => init,
        Err(e) => return Ok(Err(hub::Error::Denied { message: e.to_string(), causes: Vec::new() })),
    };
    let made = async {
        let kept = match &init {
            Some(init) => {
                let kept = client.create_or_adopt(&SECRETS, init, &owner, Some(&home));
                Some(at(Step::GuestMake, kept).await?)
            }
            None => None,
        };
        let manifest = shape::virtual_machine(&wanted);
        let made = client.create_or_adopt(&VIRTUAL_MACHINES, &manifest, &owner, Some(&home));
        let uid = at(Step::VmMake, made).await?.uid;
        if let Some(kept) = kept {
            let key = Key::new(&there.namespace, cloud_init_name(&vm.hub_name));
            let tie = secret::tie(client, &key, &kept, &VIRTUAL_MACHINES, &vm.hub_name, &uid);
            at(Step::GuestTie, tie).await?;
        }
        Ok(uid)
    };
    Ok(made.await)
}

/// OpenShift makes it under our name; until then there is nothing.
async fn made_by_template(client: &Client, key: &Key, vm: &VmWork) -> hub::Result<Option<String>> {
    match client.get(&VIRTUAL_MACHINES, key).await {
        Ok(found) if found["metadata"]["labels"][VM_ID] == vm.id.to_string().as_str() => {
            Ok(found["metadata"]["uid"].as_str().map(str::to_owned))
        }
        Ok(_) => Err(hub::Error::NameTaken(format!("VirtualMachine {key}"))),
        Err(hub::Error::NotFound(_)) => Ok(None),
        Err(e) => Err(e),
    }
}

async fn guest(shared: &Shared, vm: &VmWork) -> Result<Option<CloudInit>> {
    let Some(sealed) = &vm.cloud_init else { return Ok(None) };
    let plain = shared.vault.open(&format!("vm/{}", vm.id), sealed).await?;
    let given: Value = serde_json::from_slice(&plain).unwrap_or_default();
    let keys = given["ssh_keys"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    Ok(Some(CloudInit {
        user_data: given["user_data"].as_str().unwrap_or_default().to_owned(),
        ssh_keys: keys.collect(),
        hostname: vm.computer_name.clone(),
        network_data: String::new(),
    }))
}

fn identity(vm: &VmWork, there: &Place) -> Identity {
    Identity {
        place: place(vm.org, &vm.org_name, vm.vdc, &vm.vdc_name, &there.namespace),
        vapp: vm.vapp.0,
        vapp_name: vm.vapp_name.clone(),
        vm: vm.id.0,
        vm_name: vm.name.clone(),
        object: vm.hub_name.clone(),
        description: vm.description.clone(),
        owner: vm.owner_name.clone(),
        created_from: vm.instance_of.clone(),
    }
}

fn size(vm: &VmWork) -> Size {
    if vm.instance_type.is_empty() {
        Size::Explicit {
            cpus: u32::try_from(vm.cpus).unwrap_or(1),
            cores_per_socket: 1,
            memory_mb: u64::try_from(vm.memory_mb).unwrap_or(1024),
        }
    } else {
        Size::InstanceType(vm.instance_type.clone())
    }
}

fn shaped(vm: &VmWork, there: &Place, has_cloud_init: bool) -> shape::Vm {
    let disks = vm.disks.iter().enumerate().map(|(i, d)| shape::Disk {
        name: d.name.clone(),
        size_mb: u64::try_from(d.size_mb).ok().filter(|s| *s > 0),
        source: disk_source(&d.image),
        storage_class: Some(d.storage_class.clone()).filter(|c| !c.is_empty()),
        device: Device::Disk,
        boot_order: (i == 0).then_some(1),
    });
    let nics = vm.nics.iter().map(|n| shape::Nic {
        name: n.name.clone(),
        network: Attachment::Pod,
        mac: Some(n.mac.clone()).filter(|m| !m.is_empty()),
        model: None,
        connected: true,
    });
    shape::Vm {
        identity: identity(vm, there),
        computer_name: vm.computer_name.clone(),
        size: size(vm),
        preference: Some(vm.preference.clone()).filter(|p| !p.is_empty()),
        firmware: Firmware::Default,
        disks: disks.collect(),
        nics: nics.collect(),
        cloud_init: if has_cloud_init { CloudInitUse::UserData } else { CloudInitUse::None },
    }
}

/// `datasource/namespace/name`, `docker://…`, `https://…`; empty: nothing on it.
fn disk_source(image: &str) -> DiskSource {
    if let Some((namespace, name)) = image.strip_prefix("datasource/").and_then(|s| s.split_once('/')) {
        return DiskSource::Image { namespace: namespace.into(), name: name.into() };
    }
    if image.starts_with("docker://") {
        return DiskSource::Registry(image.into());
    }
    if image.starts_with("https://") {
        return DiskSource::Http(image.into());
    }
    DiskSource::Blank
}

/// Brings the machine to the generation asked for: names, size, power, and what is to be done once.
async fn apply(shared: &Shared, claim: &Claim, vm: &VmWork, on: &Machine<'_>) -> Result<Outcome> {
    if vm.power == Power::On
        && let Some(why) = waits_for(shared, vm).await?
    {
        return Ok(why);
    }
    for _ in 0..LOOKS {
        match apply_once(shared, claim, vm, on).await? {
            Some(outcome) => return Ok(outcome),
            // it changed while we decided: look again
            None => continue,
        }
    }
    Ok(Outcome::Retry(None, "it changes too often on its hub to be changed".into()))
}

/// How often an object that changes under our hands is read anew.
const LOOKS: usize = 6;
/// After so many refusals what is to be done once is given up.
const ONCE_TRIES: i32 = 5;

/// A machine where it is.
struct Machine<'a> {
    client: &'a Client,
    key: &'a Key,
    uid: &'a str,
    there: &'a Place,
}

impl Machine<'_> {
    /// Changes it, if it is as it was seen; gives it as it is now.
    async fn patch(&self, step: Step, patch: Value, seen: &Value) -> hub::Result<Value> {
        let patch = patch::unchanged_since(patch, seen);
        at(step, self.client.patch_fenced(&VIRTUAL_MACHINES, self.key, self.uid, patch)).await
    }

    async fn call(&self, step: Step, action: VmAction) -> hub::Result<()> {
        at(step, self.client.vm_action(self.key, action)).await
    }
}

/// Unwraps an answer; a conflict means that the object is to be looked at again.
macro_rules! unless_changed {
    ($answer:expr) => {
        match $answer {
            Ok(value) => value,
            Err(hub::Error::Conflict(_)) => return Ok(None),
            Err(e) => return Ok(Some(refused(&e))),
        }
    };
}

/// First the object is read, then it is made sure that it is still ours to change; and every change holds only for the
/// object as it was read. So a worker that slept and lost its lease can't bring back what was asked for before.
async fn apply_once(shared: &Shared, claim: &Claim, vm: &VmWork, on: &Machine<'_>) -> Result<Option<Outcome>> {
    let found = match at(Step::VmGet, on.client.get(&VIRTUAL_MACHINES, on.key)).await {
        Ok(found) if found["metadata"]["uid"] == on.uid => found,
        Ok(_) | Err(hub::Error::NotFound(_)) => return gone_by_hand(shared, vm, on.uid).await.map(Some),
        Err(e) => {
            failed("Failed to get VirtualMachine from remote cluster", vm, &e);
            return Ok(Some(refused(&e)));
        }
    };
    let Some(now) = read::vm(&found) else {
        return Ok(Some(Outcome::Retry(None, "the hub's VM can't be read".into())));
    };
    if !at(Step::VmHolds, shared.store.claim_holds(claim)).await? {
        return Ok(Some(lost()));
    }
    let names = patch::identity(on.uid, &identity(vm, on.there), &vm.computer_name, vm.generation);
    let mut last = unless_changed!(on.patch(Step::VmNames, names, &found).await);
    let as_asked = match size(vm) {
        Size::InstanceType(name) => now.size.instance_type.as_deref() == Some(&name),
        Size::Explicit { .. } => now.size.cpus == Some(vm.cpus.into()) && now.size.memory_mb == Some(vm.memory_mb),
    };
    if !as_asked {
        last = unless_changed!(on.patch(Step::VmResize, patch::resize(on.uid, &size(vm)), &last).await);
    }
    let once = vm.once.filter(|(_, id)| vm.once_done != Some(*id));
    match power(on, vm, &now, once.map(|(o, _)| o), &last).await {
        Ok(Some(changed)) => last = changed,
        Ok(None) => {}
        // what does not run can't be reset or paused, however often that is tried
        Err(e @ hub::Error::NotNow(_)) if claim.attempt >= ONCE_TRIES => {
            return Ok(Some(Outcome::Failed(e.message().into())));
        }
        Err(hub::Error::Conflict(_)) => return Ok(None),
        Err(e) => return Ok(Some(refused(&e))),
    }
    let generation = last["metadata"]["generation"].as_i64();
    let once: Option<Uuid> = once.map(|(_, id)| id);
    if !at(Step::VmApplied, shared.store.vm_applied(claim, vm.generation, generation, once)).await? {
        // calls of virt-api carry no version: what is asked for now is applied once more
        shared.store.vm_again(vm.id).await?;
        return Ok(Some(lost()));
    }
    Ok(Some(Outcome::Done))
}

/// Machines before it in its vApp run first, and for as long as their delay says.
async fn waits_for(shared: &Shared, vm: &VmWork) -> Result<Option<Outcome>> {
    if vm.seen.on() {
        return Ok(None);
    }
    for before in shared.store.vms_before(vm.id).await? {
        let name = &before.name;
        if !before.running && !before.problem.is_empty() {
            return Ok(Some(Outcome::Failed(
                format!("{name} starts before it and does not: {}", before.problem).into(),
            )));
        }
        if !before.running {
            return Ok(Some(Outcome::Wait(Duration::from_secs(5), format!("{name} starts before it.").into())));
        }
        if before.left_s > 0.0 {
            let why = format!("It starts {} seconds after {name}.", before.delay_s);
            return Ok(Some(Outcome::Wait(Duration::from_secs_f64(before.left_s.min(3600.0)), why.into())));
        }
    }
    Ok(None)
}

/// The object as it is after the change; None: nothing of it changed.
async fn power(
    on: &Machine<'_>,
    vm: &VmWork,
    now: &read::VmPart,
    once: Option<Once>,
    seen: &Value,
) -> hub::Result<Option<Value>> {
    let set = async |strategy, seen: &Value| on.patch(Step::VmPower, patch::power(on.uid, strategy), seen).await;
    let paused = now.printable == "Paused";
    match (vm.power, once) {
        (_, Some(Once::Shutdown)) => set(RunStrategy::Halted, seen).await.map(Some),
        (_, Some(Once::Reboot)) => match on.call(Step::VmReboot, VmAction::SoftReboot).await {
            // no agent and no ACPI: then the hard way
            Err(hub::Error::NotNow(_) | hub::Error::Conflict(_)) => {
                on.call(Step::VmReboot, VmAction::Restart { force: false }).await.map(|()| None)
            }
            other => other.map(|()| None),
        },
        (_, Some(Once::Reset)) => on.call(Step::VmReset, VmAction::Reset).await.map(|()| None),
        (Power::On, None) if paused => on.call(Step::VmUnpause, VmAction::Unpause).await.map(|()| None),
        (Power::On, None) => {
            // patching the same value changes nothing: a guest that shut itself down needs both
            if now.run_strategy == RunStrategy::RerunOnFailure.key() && now.printable == "Stopped" {
                let halted = set(RunStrategy::Halted, seen).await?;
                return set(RunStrategy::RerunOnFailure, &halted).await.map(Some);
            }
            set(RunStrategy::RerunOnFailure, seen).await.map(Some)
        }
        (Power::Off, None) => {
            let halted = set(RunStrategy::Halted, seen).await?;
            // the plug: without waiting for the guest. That it is off already is fine
            match on.call(Step::VmStop, VmAction::Stop { force: true }).await {
                Ok(()) | Err(hub::Error::NotNow(_) | hub::Error::Conflict(_) | hub::Error::NotFound(_)) => {
                    Ok(Some(halted))
                }
                Err(e) => Err(e),
            }
        }
        (Power::Suspended, None) if paused => Ok(None),
        (Power::Suspended, None) => on.call(Step::VmPause, VmAction::Pause).await.map(|()| None),
    }
}

async fn gone_by_hand(shared: &Shared, vm: &VmWork, uid: &str) -> Result<Outcome> {
    if let Some(hub) = &vm.hub {
        at(Step::Missing, shared.store.vm_missing(hub, vm.id, uid)).await?;
    }
    Ok(Outcome::Failed(
        "It was deleted on its hub by hand. Delete it here, and deploy it again if it is needed.".into(),
    ))
}

async fn remove(shared: &Shared, claim: &Claim, vm: &VmWork) -> Result<Outcome> {
    let Some(hub) = vm.hub.as_ref().filter(|_| vm.attempted || vm.uid.is_some() || vm.instance_of.is_some()) else {
        // no call was ever attempted: nothing of it can be anywhere
        at(Step::VmGone, shared.store.vm_gone(claim)).await?;
        return Ok(Outcome::Done);
    };
    let Some(there) = shared.store.place(vm.vdc, hub).await? else {
        at(Step::VmGone, shared.store.vm_gone(claim)).await?;
        return Ok(Outcome::Done);
    };
    let client = shared.hubs.client(hub).await?;
    let key = Key::new(&there.namespace, &vm.hub_name);
    let uid = match &vm.uid {
        Some(uid) => Some(uid.clone()),
        // it may still be made
        None if vm.instance_of.is_some()
            && told!(at(Step::InstanceStand, instance::stand(&client, &there.namespace, vm.vapp)).await)
                == Stand::Pending =>
        {
            return Ok(Outcome::Wait(Duration::from_secs(1), instance::MADE.into()));
        }
        // an answer may have been lost: what is there under our name and label is ours
        None => match at(Step::VmFind, made_by_template(&client, &key, vm)).await {
            Err(hub::Error::NameTaken(_)) => None,
            other => told!(other),
        },
    };
    if let Some(uid) = &uid {
        if vm.uid.is_none() && !at(Step::VmMade, shared.store.vm_made(claim, uid)).await? {
            return Ok(lost());
        }
        let delete = client.delete_fenced(&VIRTUAL_MACHINES, &key, uid, Propagation::Foreground);
        let deleted = match at(Step::VmDelete, delete).await {
            Err(hub::Error::NotOurs(_)) => Deleted::Gone,
            other => told!(other),
        };
        let gone = client.is_gone(&VIRTUAL_MACHINES, &key, uid);
        if deleted != Deleted::Gone && !told!(at(Step::VmGoneThere, gone).await) {
            return Ok(Outcome::Wait(Duration::from_secs(1), "The hub is deleting it.".into()));
        }
    }
    let (guest, owner) = (Key::new(&there.namespace, cloud_init_name(&vm.hub_name)), Owner::new(VM_ID, vm.id));
    told!(at(Step::GuestDelete, secret::remove(&client, &guest, &owner)).await);
    at(Step::VmGone, shared.store.vm_gone(claim)).await?;
    Ok(Outcome::Done)
}

/// A machine that was deleted here and turned up on its hub all the same: a create whose answer was lost for very long.
pub(crate) async fn collect(shared: &Shared, hub: &HubId, key: &Key, vm: Uuid, uid: &str) -> Result<()> {
    let client = shared.hubs.client(hub).await?;
    let delete = client.delete_fenced(&VIRTUAL_MACHINES, key, uid, Propagation::Foreground);
    let collected = match at(Step::VmCollect, delete).await {
        Ok(_) => {
            let guest = Key::new(&key.namespace, cloud_init_name(&key.name));
            secret::remove(&client, &guest, &Owner::new(VM_ID, vm)).await
        }
        Err(e) => Err(e),
    };
    match collected {
        Ok(()) => tracing::warn!(hub_id = %hub, object = %key, uid, "removed what was left of a deleted VM"),
        Err(e) => {
            tracing::debug!(hub_id = %hub, object = %key, error = %e, "what is left of a deleted VM stays for now")
        }
    }
    Ok(())
}
