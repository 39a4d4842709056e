//! What a VM's guest is told: a Secret beside it, and the discs by which the guest reads it. A change comes with the VM's
//! next start.
use super::{
    super::{refused, secret},
    apply::Machine,
    disks::Brought,
    nics,
    wanted::identity,
};
use crate::{
    Shared,
    drill::{Step, at},
};
use domain::guest;
use hub::{
    Key,
    apply::{Home, Made, Owner},
    resource::{SECRETS, VIRTUAL_MACHINES},
    shape::{
        cloud_init::encoded,
        guest::{self as shape, Told},
        names::{VM_ID, cloud_init_name},
        patch,
    },
};
use model::{Error, Result, guest::GuestSettings};
use serde_json::{Value, json};
use store::VmWork;

pub(super) async fn told(shared: &Shared, vm: &VmWork) -> Result<Told> {
    let settings = match &vm.cloud_init {
        Some(sealed) => {
            let plain = shared.vault.open(&format!("vm/{}", vm.id), sealed).await?;
            serde_json::from_slice(&plain)
                .map_err(|e| Error::Internal(format!("the guest settings of VM {} can't be read: {e}", vm.id)))?
        }
        None => GuestSettings::default(),
    };
    Ok(guest::told(&vm.computer_name, &vm.os, &vm.preference, &settings, nics::guest_nics(&vm.nics)))
}

/// The Secret, if anything of it may have to change; null: there is none. Who looks does so before it is made sure that the work is still ours.
/// `found`: the VM as it was read.
pub(super) async fn look(on: &Machine<'_>, vm: &VmWork, found: &Value) -> hub::Result<Option<Value>> {
    let addresses = vm.nics_set && (!runs(found) || !nics::guest_data(&vm.nics).is_empty());
    if vm.instance_of.is_some() || !(vm.guest_changed || addresses) {
        return Ok(None);
    }
    match on.client.get(&SECRETS, &key(on, vm)).await {
        Ok(secret) => Ok(Some(secret)),
        Err(hub::Error::NotFound(_)) => Ok(Some(Value::Null)),
        Err(e) => Err(e),
    }
}

/// Has it an instance?
fn runs(vm: &Value) -> bool {
    vm["status"]["created"] == true
}

fn key(on: &Machine<'_>, vm: &VmWork) -> Key {
    Key::new(&on.there.namespace, cloud_init_name(&vm.hub_name))
}

/// Unwraps a hub's answer, or says how far it came.
macro_rules! got {
    ($answer:expr) => {
        match $answer {
            Ok(value) => value,
            Err(hub::Error::Conflict(_)) => return Ok(Brought::Again),
            Err(e) => return Ok(Brought::Not(refused(&e))),
        }
    };
}

/// `secret`: as `look` found it. `now`: the VM as it was just read or changed.
pub(super) async fn bring(
    shared: &Shared,
    vm: &VmWork,
    on: &Machine<'_>,
    secret: &Value,
    now: Value,
) -> Result<Brought> {
    // another disc would keep the NICs of a running VM from being plugged in: it comes before its next start
    if !vm.guest_changed && runs(&now) {
        got!(readdressed(vm, on, secret).await);
        return Ok(Brought::Here(now));
    }
    let told = told(shared, vm).await?;
    let id = identity(vm, on.there);
    let manifest = match shape::secret(&id, &told) {
        Ok(manifest) => manifest,
        Err(e) => return Ok(Brought::Not(refused(&hub::Error::Denied { message: e.to_string(), causes: Vec::new() }))),
    };
    let data = manifest["data"].as_object().cloned().unwrap_or_default();
    if secret.is_null() {
        if !data.is_empty() {
            let home = Home {
                namespace: on.there.namespace.clone(),
                uid: on.there.namespace_uid.clone().unwrap_or_default(),
                vdc: vm.vdc.0,
            };
            let owner = Owner::new(VM_ID, vm.id);
            let made = on.client.create_or_adopt(&SECRETS, &manifest, &owner, Some(&home));
            let made = got!(at(Step::GuestMake, made).await);
            got!(at(Step::GuestTie, tie(on, vm, &made)).await);
        }
    } else if secret["metadata"]["labels"][VM_ID] != vm.id.to_string().as_str() {
        let taken = hub::Error::NameTaken(format!("Secret {}", key(on, vm)));
        return Ok(Brought::Not(refused(&taken)));
    } else if let Some(change) = shape::retold(secret, &data) {
        let uid = secret["metadata"]["uid"].as_str().unwrap_or_default();
        let change = patch::unchanged_since(patch::fenced(change, uid), secret);
        got!(at(Step::GuestTell, on.client.patch_fenced(&SECRETS, &key(on, vm), uid, change)).await);
    }
    match shape::put_in(&now, &vm.hub_name, told.discs()) {
        Some(change) => Ok(Brought::Here(got!(on.patch(Step::GuestDiscs, patch::fenced(change, on.uid), &now).await))),
        None => Ok(Brought::Here(now)),
    }
}

/// A running guest that was told of its addresses once finds others where it found those. Its discs stay as they are.
async fn readdressed(vm: &VmWork, on: &Machine<'_>, secret: &Value) -> hub::Result<()> {
    let ours = secret["metadata"]["labels"][VM_ID] == vm.id.to_string().as_str();
    let data = encoded(&nics::guest_data(&vm.nics));
    match secret["data"]["networkdata"].as_str() {
        Some(told) if ours && told != data && !data.is_empty() => {
            let uid = secret["metadata"]["uid"].as_str().unwrap_or_default();
            let change = patch::fenced(json!({"data": {"networkdata": data}}), uid);
            let change = patch::unchanged_since(change, secret);
            at(Step::GuestTell, on.client.patch_fenced(&SECRETS, &key(on, vm), uid, change)).await.map(drop)
        }
        _ => Ok(()),
    }
}

async fn tie(on: &Machine<'_>, vm: &VmWork, made: &Made) -> hub::Result<()> {
    secret::tie(on.client, &key(on, vm), made, &VIRTUAL_MACHINES, &vm.hub_name, on.uid).await
}
