//! Brings a VM that is there to what was asked for: names, size, power, and what is to be done once.
use super::{
    affinity,
    disks::{self, Brought},
    failed, guest, lost, nics, snapshots,
    wanted::{identity, size},
};
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
    reconcile::refused,
};
use hub::{
    Client, Key,
    apply::VmAction,
    read,
    resource::VIRTUAL_MACHINES,
    shape::{
        hardware,
        patch::{self, RunStrategy},
        vm::{Size, cores_of},
    },
};
use model::{
    Result,
    vm::{Once, Power},
};
use serde_json::Value;
use std::time::Duration;
use store::{AtHub, Claim, Place, VmWork};
use uuid::Uuid;

/// Brings the machine to the generation asked for: names, size, power where that was asked for, and what is to be done once.
pub(super) async fn apply(shared: &Shared, claim: &Claim, vm: &VmWork, on: &Machine<'_>) -> Result<Outcome> {
    if vm.power_due
        && vm.power == Power::On
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

/// A name that could not be changed is changed soon.
const SOON: Duration = Duration::from_millis(500);
/// How often an object that changes under our hands is read anew.
const LOOKS: usize = 6;
/// After so many refusals what is to be done once is given up.
const ONCE_TRIES: i32 = 5;
/// Until an instance that is missing may be there, and how often that is looked for where its VM is called stopped: hubs are slow
/// to say that it starts.
const NOT_YET: Duration = Duration::from_secs(2);
const NOT_YET_TRIES: i32 = 15;

/// A machine where it is.
pub(super) struct Machine<'a> {
    pub client: &'a Client,
    pub key: &'a Key,
    pub uid: &'a str,
    pub there: &'a Place,
}

impl Machine<'_> {
    /// Changes it, if it is as it was seen; gives it as it is now.
    pub(super) async fn patch(&self, step: Step, patch: Value, seen: &Value) -> hub::Result<Value> {
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

/// Its power stays as it is on its hub until it is asked for here: it may have been powered on or off there by hand.
///
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
    let secret = unless_changed!(guest::look(on, vm, &found).await);
    if !at(Step::VmHolds, shared.store.claim_holds(claim)).await? {
        return Ok(Some(lost()));
    }
    match snapshots::bring(shared, claim, vm, on, &found).await? {
        snapshots::Brought::Here => {}
        snapshots::Brought::Changed => return Ok(None),
        snapshots::Brought::Not(outcome) => return Ok(Some(outcome)),
    }
    let once = vm.once.filter(|(_, id)| vm.once_done != Some(*id));
    let starts_now = vm.power_due && vm.power == Power::On && once.is_none();
    let mut change = changes(vm, on, &now, &found);
    // it can be powered on with the rest if nothing else comes before that
    let ends = starts_now && still_ends(&now);
    if secret.is_none() && starts_now && !ends && !disks::wanted(vm, &found) && starts(&now, &found) {
        change = patch::and(change, patch::power(on.uid, RunStrategy::RerunOnFailure));
    }
    let mut last = match patch::changes(&change, &found) {
        true => unless_changed!(on.patch(Step::VmChange, change, &found).await),
        false => found,
    };
    if let Some(secret) = secret {
        last = match guest::bring(shared, vm, on, &secret, last).await? {
            Brought::Here(changed) => changed,
            Brought::Again => return Ok(None),
            Brought::Not(outcome) => return Ok(Some(outcome)),
        };
    }
    last = match disks::bring(shared, claim, vm, on, last).await? {
        Brought::Here(changed) => changed,
        Brought::Again => return Ok(None),
        Brought::Not(outcome) => return Ok(Some(outcome)),
    };
    if ends {
        return Ok(Some(Outcome::Wait(SOON, "It still stops, and is started when it has.".into())));
    }
    if starts_now && ended_by_itself(&now) {
        // patching the same value changes nothing; and KubeVirt has to see that it is to stop before it can see that it is to start
        unless_changed!(on.patch(Step::VmPower, patch::power(on.uid, RunStrategy::Halted), &last).await);
        return Ok(Some(Outcome::Wait(SOON, "It is being started.".into())));
    }
    let powered = match vm.power_due {
        true => power(on, vm, &now, once.map(|(o, _)| o), &last).await,
        false => Ok(None),
    };
    match powered {
        Ok(Some(changed)) => last = changed,
        Ok(None) => {}
        // what does not run can't be reset or paused, however often that is tried
        Err(e @ hub::Error::NotNow(_)) if claim.attempt >= ONCE_TRIES => {
            return Ok(Some(Outcome::Failed(e.message().into())));
        }
        // it may just be starting, or starting anew
        Err(hub::Error::NotFound(_)) if claim.attempt < NOT_YET_TRIES || now.printable != "Stopped" => {
            return Ok(Some(Outcome::Retry(Some(NOT_YET), "Nothing of it runs on its hub yet.".into())));
        }
        Err(hub::Error::Conflict(_)) => return Ok(None),
        Err(e) => return Ok(Some(refused(&e))),
    }
    let once: Option<Uuid> = once.map(|(_, id)| id);
    if !at(Step::VmApplied, shared.store.vm_applied(claim, vm.generation, at_hub(&last), once)).await? {
        // calls of virt-api carry no version: what is asked for now is applied once more
        if vm.power_due {
            shared.store.vm_again(vm.id).await?;
        }
        return Ok(Some(lost()));
    }
    if vm.nics_leaving {
        let released = nics::release(shared, vm, on).await?;
        if released != Outcome::Done {
            return Ok(Some(released));
        }
    }
    Ok(Some(disks::awaited(shared, vm, &last).await?.unwrap_or(Outcome::Done)))
}

/// What is remembered of an object that was brought to what is asked for.
pub(super) fn at_hub(object: &Value) -> Option<AtHub> {
    Some(AtHub { generation: object["metadata"]["generation"].as_i64()?, form: read::form(object) })
}

/// Only the names that it carries, and nothing else that was asked of it: it may have been stopped by hand since.
pub(super) async fn rename(shared: &Shared, claim: &Claim, names: i64, on: &Machine<'_>) -> Result<Outcome> {
    // read after it was found which change this is: the names may be newer than it, and never older
    let Some(vm) = shared.store.vm_work(claim.id).await? else { return Ok(Outcome::Done) };
    let found = match on.client.get(&VIRTUAL_MACHINES, on.key).await {
        Ok(found) if found["metadata"]["uid"] == on.uid => found,
        Ok(_) | Err(hub::Error::NotFound(_)) => return gone_by_hand(shared, &vm, on.uid).await,
        Err(e) => return Ok(refused(&e)),
    };
    if !at(Step::VmHolds, shared.store.claim_holds(claim)).await? {
        return Ok(lost());
    }
    let applied = vm.applied.unwrap_or(vm.generation);
    let change = patch::identity(on.uid, &identity(&vm, on.there), &vm.computer_name, applied);
    if patch::changes(&change, &found) {
        match on.patch(Step::VmNames, change, &found).await {
            Ok(_) => {}
            Err(hub::Error::Conflict(_)) => return Ok(Outcome::Wait(SOON, "It changed meanwhile.".into())),
            Err(e) => return Ok(refused(&e)),
        }
    }
    Ok(if at(Step::VmNamed, shared.store.vm_named(claim, names)).await? { Outcome::Done } else { lost() })
}

/// What brings its names, its size, its host name, its neighbours and its NICs to what was asked for, in one change.
fn changes(vm: &VmWork, on: &Machine<'_>, now: &read::VmPart, found: &Value) -> Value {
    let mut change = patch::identity(on.uid, &identity(vm, on.there), &vm.computer_name, vm.generation);
    let as_asked = match size(vm) {
        Size::InstanceType(name) => now.size.instance_type.as_deref() == Some(&name),
        Size::Explicit { cpus, cores_per_socket, .. } => {
            let cores = vm.hardware.cores_per_socket == 0
                || now.size.cores_per_socket == Some(cores_of(cpus, cores_per_socket).into());
            cores && now.size.cpus == Some(vm.cpus.into()) && now.size.memory_mb == Some(vm.memory_mb)
        }
    };
    if !as_asked {
        change = patch::and(change, patch::resize(on.uid, &size(vm)));
    }
    if vm.guest_changed
        && let Some(name) = patch::hostname(on.uid, &vm.computer_name)
    {
        change = patch::and(change, name);
    }
    if let Some(firmware) = hardware::patch(&vm.hardware) {
        change = patch::and(change, firmware);
    }
    if let Some(terms) = affinity::patch(found, vm.id.0, &vm.affinity) {
        change = patch::and(change, terms);
    }
    match nics::change(on, vm, now, found) {
        Some(nics) => patch::and(change, nics),
        None => change,
    }
}

/// An instance on its way out: KubeVirt starts no other one if the wish for it came before it was gone. The same holds where it
/// has not seen yet that the machine is to stop.
fn still_ends(now: &read::VmPart) -> bool {
    let halted = now.run_strategy == RunStrategy::Halted.key();
    now.printable == "Stopping" || (halted && (now.instance || now.unheard))
}

/// Its guest shut itself down, or a start of it was not seen as one.
fn ended_by_itself(now: &read::VmPart) -> bool {
    now.run_strategy == RunStrategy::RerunOnFailure.key() && now.printable == "Stopped" && !now.unheard
}

/// One change of what it is to do makes it run.
fn starts(now: &read::VmPart, seen: &Value) -> bool {
    now.printable != "Paused" && !is_set(seen, RunStrategy::RerunOnFailure)
}

fn is_set(seen: &Value, strategy: RunStrategy) -> bool {
    seen["spec"]["runStrategy"] == strategy.key() && seen["spec"]["running"].is_null()
}

/// Machines before it in its vApp run first, and for as long as their delay says, but for those that can't be waited for.
async fn waits_for(shared: &Shared, vm: &VmWork) -> Result<Option<Outcome>> {
    if vm.seen.on() {
        return Ok(None);
    }
    for before in shared.store.vms_before(vm.id).await? {
        let name = &before.name;
        if !before.running {
            let why = format!("It starts after {name}, which does not run yet.");
            return Ok(Some(Outcome::Wait(Duration::from_secs(5), why.into())));
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
        (Power::On, None) => match is_set(seen, RunStrategy::RerunOnFailure) {
            true => Ok(None),
            false => set(RunStrategy::RerunOnFailure, seen).await.map(Some),
        },
        (Power::Off, None) => {
            let halted = match is_set(seen, RunStrategy::Halted) {
                true => seen.clone(),
                false => set(RunStrategy::Halted, seen).await?,
            };
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
