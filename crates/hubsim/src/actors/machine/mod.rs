//! VirtualMachines: KubeVirt's VM controller.
mod build;
pub(crate) mod instancetype;
mod live_update;
mod plug;
mod printable;
mod status;
pub(crate) mod strategy;

pub(crate) use build::{INSTANCE_FINALIZER, MACHINE_FINALIZER};

use super::{
    actor::{Actor, Again},
    api::{Result, code, is_conflict, words},
    condition,
    json::{Look, controller_of, is_controlled_by},
    kind::{
        CLAIM, CLUSTER_INSTANCETYPE, CLUSTER_PREFERENCE, DATA_VOLUME, INSTANCE, INSTANCETYPE, KUBEVIRT, Kind, MACHINE,
        PREFERENCE, STORAGE_PROFILE,
    },
    mirror::Key,
    world::World,
};
use kube::api::DeleteParams;
use live_update::Update;
use printable::Around;
use serde_json::{Value, json};
use status::Outcome;
use std::{sync::Arc, time::Duration};
use strategy::Act;

pub(crate) struct Machines;

/// Kinds a machine is looked up in, besides those whose changes it hears of.
pub(crate) const NEEDS: [Kind; 5] = [INSTANCETYPE, CLUSTER_INSTANCETYPE, PREFERENCE, CLUSTER_PREFERENCE, CLAIM];

/// How often something is looked at that nobody reports on.
const POLL: Duration = Duration::from_secs(1);

impl Actor for Machines {
    const KIND: Kind = MACHINE;
    const HEARS: &'static [Kind] = &[MACHINE, INSTANCE, DATA_VOLUME];

    fn concerns(kind: Kind, old: Option<&Value>, new: Option<&Value>) -> Vec<Key> {
        let Some(object) = new.or(old) else { return Vec::new() };
        if kind != DATA_VOLUME {
            return vec![Key::of(object)];
        }
        controller_of(object)
            .filter(|r| r.text("/kind") == Some(MACHINE.kind))
            .and_then(|r| r.text("/name"))
            .map(|name| Key::new(object.namespace(), name))
            .into_iter()
            .collect()
    }

    async fn look(world: &World, vm: Arc<Value>) -> Result<Again> {
        let vmi = world.find(INSTANCE, vm.namespace(), vm.name());
        if vm.dying() {
            return remove(world, &vm, vmi.as_deref()).await;
        }
        if !vm.list("/metadata/finalizers").iter().any(|f| f == MACHINE_FINALIZER) {
            let mut new = (*vm).clone();
            super::json::list_mut(&mut new, "/metadata/finalizers").push(json!(MACHINE_FINALIZER));
            world.write(MACHINE, &new).await?;
            return Ok(Again::No);
        }
        if let Some(new) = live_update::without_absent(&vm, vmi.as_deref()) {
            world.write(MACHINE, &new).await?;
            return Ok(Again::No);
        }
        if let Some(new) = plug::fulfil(&vm) {
            // the template first: a request that is done twice does no harm, one that is lost does
            let new = if new["spec"] == vm["spec"] { new } else { world.write(MACHINE, &new).await? };
            let mut status = new["status"].clone();
            super::json::remove(&mut status, "/volumeRequests");
            world.write_status(MACHINE, &new, status).await?;
            return Ok(Again::No);
        }
        Visit { world, vm: &vm, vmi: vmi.as_deref(), outcome: Outcome::default(), again: Again::No }.run().await
    }

    fn gone(_: &World, _: &Key) {}
}

/// The machine goes when its instance is gone.
async fn remove(world: &World, vm: &Value, vmi: Option<&Value>) -> Result<Again> {
    match vmi.filter(|i| is_controlled_by(i, vm)) {
        Some(vmi) => {
            let mut status = vm.get("status").cloned().unwrap_or_else(|| json!({}));
            status["printableStatus"] = json!("Terminating");
            world.write_status(MACHINE, vm, status).await?;
            stop(world, vm, vmi).await?;
        }
        None => {
            if let Some(written) = world.api.drop_finalizers(MACHINE, vm, &[MACHINE_FINALIZER]).await? {
                world.learn(MACHINE, written);
            }
        }
    }
    Ok(Again::No)
}

async fn stop(world: &World, vm: &Value, vmi: &Value) -> Result<()> {
    if vmi.dying() {
        return Ok(());
    }
    world.api.delete(INSTANCE, vmi, DeleteParams::default()).await?;
    let message = format!("Stopped the virtual machine by deleting the virtual machine instance {}", vmi.uid());
    world.event(vm, "Normal", "SuccessfulDelete", &message, "").await;
    Ok(())
}

/// One look at one machine.
struct Visit<'a> {
    world: &'a World,
    vm: &'a Value,
    vmi: Option<&'a Value>,
    outcome: Outcome,
    again: Again,
}

impl Visit<'_> {
    async fn run(mut self) -> Result<Again> {
        self.make_data_volumes().await?;
        let volumes = self.volumes();
        let act = strategy::decide(self.vm, self.vmi, self.world.now());
        let mut start_expected = false;
        let mut stop_expected = false;
        match act {
            Act::Nothing => {}
            Act::Start if volumes.ready => start_expected = self.start().await?,
            Act::Start => {}
            // the clock may be pushed forward, so it is asked again and again
            Act::StartAfter(wait) => self.again = self.again.or_in(wait.min(POLL)),
            Act::Stop | Act::StopThenStart => {
                if let Some(vmi) = self.vmi {
                    stop(self.world, self.vm, vmi).await?;
                    stop_expected = true;
                }
                self.outcome.ask_start = act == Act::StopThenStart;
            }
            Act::BecomeAlways => {
                let mut new = self.vm.clone();
                new["spec"]["runStrategy"] = json!("Always");
                super::json::remove(&mut new, "/spec/running");
                self.world.write(MACHINE, &new).await?;
                return Ok(Again::No);
            }
        }
        self.update_running().await?;
        self.outcome.snapshots = self.snapshots();
        if volumes.poll {
            self.again = self.again.or_in(POLL);
        }
        let refs: Vec<&Value> = volumes.data_volumes.iter().map(|dv| &**dv).collect();
        let around = Around {
            vmi: self.vmi,
            data_volumes: &refs,
            claim_unbound: volumes.claim_unbound,
            start_expected,
            stop_expected,
            now: self.world.now(),
        };
        let status = status::compute(self.vm, &around, &self.outcome, self.world.chance);
        // written even when nothing else is: what follows builds on it
        self.world.write_status(MACHINE, self.vm, status).await?;
        Ok(self.again)
    }

    async fn make_data_volumes(&mut self) -> Result<()> {
        if self.vm.annotation("kubevirt.io/immediate-data-volume-creation") == Some("false")
            && !strategy::set_to_start(self.vm, self.vmi)
        {
            return Ok(());
        }
        for wanted in build::data_volumes(self.vm) {
            let (namespace, name) = (wanted.namespace(), wanted.name());
            let exists = |kind| self.world.find(kind, namespace, name).is_some();
            if exists(DATA_VOLUME) || exists(CLAIM) {
                continue;
            }
            match self.world.create(DATA_VOLUME, &wanted).await {
                Ok(_) => {
                    let message = format!("Created DataVolume {name}");
                    self.world.event(self.vm, "Normal", "SuccessfulDataVolumeCreate", &message, "").await;
                }
                Err(e) if is_conflict(&e) => {}
                Err(e) if code(&e).is_some() => {
                    let message = format!("Error creating DataVolume {name}: {}", words(&e));
                    self.world.event(self.vm, "Warning", "FailedDataVolumeCreate", &message, "").await;
                    self.outcome.failure = Some(("FailedCreate".to_owned(), message));
                    self.again = self.again.or_in(POLL);
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn volumes(&self) -> Volumes {
        let mut all = Volumes { ready: true, ..Volumes::default() };
        let namespace = self.vm.namespace();
        for volume in self.vm.list("/spec/template/spec/volumes") {
            let name = volume.text("/dataVolume/name").or_else(|| volume.text("/persistentVolumeClaim/claimName"));
            let Some(name) = name else { continue };
            let claim = self.world.find(CLAIM, namespace, name);
            let bound = claim.as_ref().is_some_and(|c| c.text("/status/phase") == Some("Bound"));
            match self.world.find(DATA_VOLUME, namespace, name) {
                Some(dv) => {
                    let phase = dv.text("/status/phase");
                    let done = matches!(phase, Some("Succeeded" | "WaitForFirstConsumer" | "PendingPopulation"));
                    all.ready &= done;
                    all.claim_unbound |= done && !bound;
                    all.poll |= !done && !is_controlled_by(&dv, self.vm);
                    // its claim comes any moment, and claims are not followed here
                    all.poll |= phase == Some("Succeeded") && !bound;
                    all.data_volumes.push(dv);
                }
                None if claim.is_some() => {
                    all.claim_unbound |= !bound;
                    all.poll |= !bound;
                }
                // a claim that is missing stops the instance and not its making, as on a real cluster
                None if volume.has("/dataVolume") => {
                    all.ready = false;
                    all.poll = true;
                }
                None => {
                    all.claim_unbound = true;
                    all.poll = true;
                }
            }
        }
        all
    }

    /// Makes the instance; says whether one is on its way.
    async fn start(&mut self) -> Result<bool> {
        let expanded = match self.expand() {
            Ok(expanded) => expanded,
            Err(message) => {
                self.fail("FailedCreate", message);
                return Ok(false);
            }
        };
        let config = self.config();
        let instance = build::instance(self.vm, expanded, &config, self.world.chance);
        match self.world.create(INSTANCE, &instance).await {
            Ok(made) => {
                let message = format!(
                    "Started the virtual machine by creating the new virtual machine instance {}",
                    self.vm.name()
                );
                self.world.event(self.vm, "Normal", "SuccessfulCreate", &message, made.uid()).await;
                Ok(true)
            }
            Err(e) if is_conflict(&e) => Ok(true),
            Err(e) if code(&e).is_some() => {
                self.fail("FailedCreate", words(&e));
                Ok(false)
            }
            Err(e) => Err(e),
        }
    }

    fn fail(&mut self, reason: &str, message: String) {
        self.outcome.failure = Some((reason.to_owned(), message));
        self.again = self.again.or_in(POLL);
    }

    /// The KubeVirt object's configuration; empty where there is none.
    fn config(&self) -> Value {
        let all = self.world.all(KUBEVIRT);
        all.first().and_then(|kv| kv.pointer("/spec/configuration")).cloned().unwrap_or_else(|| json!({}))
    }

    /// The template's spec with instance type and preference, which are looked up and noted on the way.
    fn expand(&mut self) -> std::result::Result<Value, String> {
        let instancetype = self.matched("/spec/instancetype", instancetype::instancetype_kind)?;
        let preference = self.matched("/spec/preference", instancetype::preference_kind)?;
        let expanded = instancetype::expand(self.vm, instancetype.as_deref(), preference.as_deref());
        self.outcome.instancetype = instancetype.map(|it| self.reference(&it));
        self.outcome.preference = preference.map(|p| self.reference(&p));
        Ok(expanded)
    }

    fn matched(
        &self,
        pointer: &str,
        kind: fn(&Value) -> Option<Kind>,
    ) -> std::result::Result<Option<Arc<Value>>, String> {
        let Some(matcher) = self.vm.pointer(pointer).filter(|m| m.is_object()) else { return Ok(None) };
        let Some(name) = matcher.text("/name") else { return Ok(None) };
        let kind =
            kind(matcher).ok_or_else(|| format!("got unexpected kind in {}", pointer.trim_start_matches("/spec/")))?;
        match self.world.find(kind, self.vm.namespace(), name) {
            Some(found) => Ok(Some(found)),
            None => Err(format!("{}.{} \"{name}\" not found", kind.plural, kind.group)),
        }
    }

    fn reference(&self, to: &Value) -> Value {
        let generation = to.int("/metadata/generation").unwrap_or(1);
        json!({
            "name": to.name(),
            "kind": to["kind"].as_str().unwrap_or_default().to_ascii_lowercase(),
            "controllerRevisionRef": {
                "name": format!("{}-{}-{}-{generation}", self.vm.name(), to.name(), to.uid()),
            },
        })
    }

    /// Brings changes of the machine to its running instance, as far as they can go.
    async fn update_running(&mut self) -> Result<()> {
        let expanded = self.expand();
        let Some(vmi) = self.vmi.filter(|i| strategy::phase(i) == "Running" && !i.dying()) else { return Ok(()) };
        if condition::is(self.vm, "RestartRequired", "True") {
            return Ok(());
        }
        let Ok(expanded) = expanded else { return Ok(()) };
        let mut new = vmi.clone();
        let generation = json!(self.vm.int("/metadata/generation").unwrap_or(1).to_string());
        match live_update::compare(self.vm, &expanded, vmi, &self.config()) {
            Update::RestartRequired(why) => {
                self.outcome.restart_required = Some(why);
                return Ok(());
            }
            Update::Refused(reason, message) => {
                self.fail(reason, message.to_owned());
                return Ok(());
            }
            Update::Nothing if vmi["metadata"]["annotations"][build::GENERATION] == generation => return Ok(()),
            Update::Nothing => {}
            Update::Hotplug { spec, announce } => {
                new["spec"] = spec;
                for kind in announce {
                    condition::set(&mut new["status"], condition::yes(kind), self.world.now());
                }
            }
        }
        new["metadata"]["annotations"][build::GENERATION] = generation;
        self.world.write(INSTANCE, &new).await?;
        Ok(())
    }

    /// For each volume, whether a snapshot would hold it.
    fn snapshots(&self) -> Vec<Value> {
        let of = |volume: &Value| {
            let name = volume.text("/dataVolume/name").or_else(|| volume.text("/persistentVolumeClaim/claimName"));
            let Some(name) = name else {
                let kind = volume
                    .as_object()
                    .and_then(|v| v.keys().find(|k| *k != "name"))
                    .map(|k| k[..1].to_uppercase() + &k[1..])
                    .unwrap_or_default();
                return Err(format!("Snapshot is not supported for this volumeSource type [{kind}]"));
            };
            let Some(claim) = self.world.find(CLAIM, self.vm.namespace(), name) else {
                return Err("PVC not found".to_owned());
            };
            let class = claim.text("/spec/storageClassName").unwrap_or_default();
            let profile = self.world.find(STORAGE_PROFILE, "", class);
            if profile.is_some_and(|p| p.has("/status/snapshotClass")) {
                Ok(())
            } else {
                Err(format!(
                    "No VolumeSnapshotClass: Volume snapshots are not configured for this StorageClass [{class}] [{}]",
                    volume.text("/name").unwrap_or_default()
                ))
            }
        };
        self.vm
            .list("/spec/template/spec/volumes")
            .iter()
            .map(|volume| match of(volume) {
                Ok(()) => json!({"name": volume["name"], "enabled": true}),
                Err(reason) => json!({"name": volume["name"], "enabled": false, "reason": reason}),
            })
            .collect()
    }
}

/// The storage a machine names.
#[derive(Default)]
struct Volumes {
    data_volumes: Vec<Arc<Value>>,
    /// An instance can be made.
    ready: bool,
    claim_unbound: bool,
    /// Somebody has to look again, because nobody reports.
    poll: bool,
}
