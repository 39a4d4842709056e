//! VirtualMachineInstances: the part of KubeVirt that gets a guest running on a node and down again.
pub(crate) mod guest;
mod running;
mod schedule;
mod volumes;

use super::{
    actor::{Actor, Again},
    api::Result,
    condition::{self, Say},
    failure::{FAIL_ANNOTATION, Failure},
    json::{Look, list_mut, put, remove, stamp},
    kind::{CLAIM, INSTANCE, KUBEVIRT, Kind, MACHINE, NODE},
    machine::{INSTANCE_FINALIZER, MACHINE_FINALIZER, strategy},
    mirror::Key,
    world::World,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

pub(crate) struct Instances;

/// How often something is looked at that nobody reports on.
const POLL: Duration = Duration::from_secs(1);

impl Actor for Instances {
    const KIND: Kind = INSTANCE;
    const HEARS: &'static [Kind] = &[INSTANCE, MACHINE];

    fn concerns(kind: Kind, old: Option<&Value>, new: Option<&Value>) -> Vec<Key> {
        // an instance asks its machine for nothing but what should go wrong
        let mark = |o: Option<&Value>| o.and_then(|o| o.annotation(FAIL_ANNOTATION)).map(str::to_owned);
        if kind == MACHINE && mark(old) == mark(new) {
            return Vec::new();
        }
        new.or(old).map(Key::of).into_iter().collect()
    }

    async fn look(world: &World, vmi: Arc<Value>) -> Result<Again> {
        let vm = world.find(MACHINE, vmi.namespace(), vmi.name());
        let visit = Visit { world, vmi: &vmi, vm: vm.as_deref() };
        if vmi.dying() {
            return visit.shut_down().await;
        }
        match strategy::phase(&vmi) {
            "" => visit.enter("Pending", visit.pending()).await,
            "Pending" => visit.leave_pending().await,
            "Scheduling" => visit.leave_scheduling().await,
            "Scheduled" => visit.leave_scheduled().await,
            "Running" if visit.fails(Failure::NodeLost) => visit.lose_node().await,
            "Unknown" if !visit.fails(Failure::NodeLost) => visit.find_node().await,
            "Running" => visit.run().await,
            _ => Ok(Again::No),
        }
    }

    fn gone(_: &World, _: &Key) {}
}

struct Visit<'a> {
    world: &'a World,
    vmi: &'a Value,
    vm: Option<&'a Value>,
}

impl Visit<'_> {
    fn fails(&self, failure: Failure) -> bool {
        self.world.failures.hits(failure, &[self.vm, Some(self.vmi)])
    }

    fn wait(&self, stage: &str, steps: u32) -> Option<Duration> {
        self.world.wait_for(INSTANCE, self.vmi, stage, steps)
    }

    fn status(&self) -> Value {
        self.vmi.get("status").filter(|s| s.is_object()).cloned().unwrap_or_else(|| json!({}))
    }

    /// Enters a phase: with its time, and not ready unless the status says so.
    async fn enter(&self, phase: &str, mut new: Value) -> Result<Again> {
        let now = self.world.now();
        put(&mut new, "/status/phase", json!(phase));
        list_mut(&mut new["status"], "/phaseTransitionTimestamps")
            .push(json!({"phase": phase, "phaseTransitionTimestamp": stamp(now)}));
        self.world.write(INSTANCE, &new).await?;
        Ok(Again::No)
    }

    fn with_status(&self, status: Value) -> Value {
        let mut new = self.vmi.clone();
        new["status"] = status;
        new
    }

    fn pending(&self) -> Value {
        let mut status = self.status();
        let say = condition::no("Ready", "GuestNotRunning", "Guest VM is not reported as running");
        condition::set(&mut status, say, self.world.now());
        if !status.has("/guestOSInfo") {
            status["guestOSInfo"] = json!({});
        }
        self.with_status(status)
    }

    fn claim(&self, name: &str) -> Option<Arc<Value>> {
        self.world.find(CLAIM, self.vmi.namespace(), name)
    }

    /// Says why the guest is not getting on, and looks again later.
    async fn hindered(&self, say: Say<'_>) -> Result<Again> {
        let mut status = self.status();
        condition::set(&mut status, say, self.world.now());
        self.world.write_status(INSTANCE, self.vmi, status).await?;
        Ok(Again::In(POLL))
    }

    async fn leave_pending(&self) -> Result<Again> {
        let names: Vec<&str> = self.vmi.list("/spec/volumes").iter().filter_map(volumes::claim_name).collect();
        if let Some(name) = names.iter().find(|n| self.claim(n).is_none()) {
            let message = format!("PVC {}/{name} does not exist, waiting for it to appear", self.vmi.namespace());
            return self.hindered(condition::no("Synchronized", "FailedPvcNotFound", &message)).await;
        }
        if let Some(wait) = self.wait("Pending", 1) {
            return Ok(Again::In(wait));
        }
        let mut status = self.status();
        condition::unset(&mut status, "Synchronized");
        let pod =
            format!("virt-launcher-{}-{}", self.vmi.name(), self.world.chance.suffix(&["pod", self.vmi.uid()], 5));
        let message = format!("Created virtual machine pod {pod}");
        self.world.event(self.vmi, "Normal", "SuccessfulCreate", &message, "").await;
        self.enter("Scheduling", self.with_status(status)).await
    }

    async fn leave_scheduling(&self) -> Result<Again> {
        let nodes = self.world.all(NODE);
        let node = if self.fails(Failure::Unschedulable) {
            let n = nodes.len();
            Err(format!(
                "0/{n} nodes are available: {n} Insufficient memory. preemption: 0/{n} nodes are available: {n} No preemption victims found for incoming pod."
            ))
        } else {
            schedule::choose(self.vmi, &nodes, &self.world.all(INSTANCE), self.world.chance)
        };
        let node = match node {
            Ok(node) => node,
            Err(message) => return self.hindered(condition::no("PodScheduled", "Unschedulable", &message)).await,
        };
        if self.fails(Failure::ImagePullError) {
            return self.fail_to_pull().await;
        }
        let bound = |name: &str| self.claim(name).is_some_and(|c| c.text("/status/phase") == Some("Bound"));
        if !self.vmi.list("/spec/volumes").iter().filter_map(volumes::claim_name).all(bound) {
            // its pod waits for storage that may have waited for this very pod
            return Ok(Again::In(POLL / 5));
        }
        if let Some(wait) = self.wait("Scheduling", 1) {
            return Ok(Again::In(wait));
        }
        let mut status = self.status();
        for kind in ["PodScheduled", "Synchronized"] {
            condition::unset(&mut status, kind);
        }
        let pod = self.world.chance.uuid(&["pod", self.vmi.uid()]).to_string();
        put(&mut status, &format!("/activePods/{pod}"), json!(node));
        status["nodeName"] = json!(node);
        status["qosClass"] = json!("Burstable");
        status["runtimeUser"] = json!(107);
        status["launcherContainerImageVersion"] =
            json!(format!("quay.io/kubevirt/virt-launcher:{}", self.kubevirt_version()));
        let mut new = self.with_status(status);
        put(&mut new, "/metadata/labels/kubevirt.io~1nodeName", json!(node));
        self.enter("Scheduled", new).await
    }

    fn kubevirt_version(&self) -> String {
        let all = self.world.all(KUBEVIRT);
        all.first().and_then(|kv| kv.text("/status/observedKubeVirtVersion")).unwrap_or("latest").to_owned()
    }

    /// First the error, then the waiting after it, as the kubelet shows them in turn.
    async fn fail_to_pull(&self) -> Result<Again> {
        let image = self
            .vmi
            .list("/spec/volumes")
            .iter()
            .find_map(|v| v.text("/containerDisk/image"))
            .unwrap_or("quay.io/kubevirt/virt-launcher")
            .to_owned();
        let seen = condition::says(self.vmi, "Synchronized", "False", "ErrImagePull");
        if seen && let Some(wait) = self.wait("pull", 2) {
            return Ok(Again::In(wait));
        }
        if seen || condition::says(self.vmi, "Synchronized", "False", "ImagePullBackOff") {
            let message = format!("Back-off pulling image \"{image}\"");
            return self.hindered(condition::no("Synchronized", "ImagePullBackOff", &message)).await;
        }
        let message = format!("failed to pull and unpack image \"{image}\": failed to resolve reference: not found");
        self.hindered(condition::no("Synchronized", "ErrImagePull", &message)).await
    }

    async fn leave_scheduled(&self) -> Result<Again> {
        if let Some(wait) = self.wait("Scheduled", 2) {
            return Ok(Again::In(wait));
        }
        if self.fails(Failure::CrashLoop) {
            let mut status = self.status();
            let words = "server error. command SyncVMI failed: \"LibvirtError(Code=1, Message='internal error: process exited while connecting to monitor')\"";
            condition::set(
                &mut status,
                condition::no("Synchronized", "Synchronizing with the Domain failed.", words),
                self.world.now(),
            );
            self.world.event(self.vmi, "Warning", "SyncFailed", words, "").await;
            return self.enter("Failed", self.with_status(status)).await;
        }
        self.world.event(self.vmi, "Normal", "Created", "VirtualMachineInstance defined.", "").await;
        self.world.event(self.vmi, "Normal", "Started", "VirtualMachineInstance started.", "").await;
        self.enter("Running", self.with_status(self.started())).await
    }

    async fn lose_node(&self) -> Result<Again> {
        let mut status = self.status();
        let say = condition::no("Ready", "PodConditionMissing", "virt-launcher pod is not reachable");
        condition::set(&mut status, say, self.world.now());
        condition::unset(&mut status, "AgentConnected");
        self.enter("Unknown", self.with_status(status)).await
    }

    async fn find_node(&self) -> Result<Again> {
        let mut status = self.status();
        condition::set(&mut status, condition::yes("Ready"), self.world.now());
        self.enter("Running", self.with_status(status)).await
    }

    /// The guest is asked to shut down; when it is down nothing holds the instance any more.
    async fn shut_down(&self) -> Result<Again> {
        let grace = self.vmi.int("/spec/terminationGracePeriodSeconds").unwrap_or(30);
        let running = strategy::phase(self.vmi) == "Running";
        if running && grace > 0 {
            if self.fails(Failure::SlowShutdown) {
                let asked = self.vmi.text("/metadata/deletionTimestamp").and_then(super::json::parse_stamp);
                let left = asked.map(|t| t + Duration::from_secs(grace.unsigned_abs()) - self.world.now());
                if let Some(left) = left.filter(|l| l.is_positive()) {
                    return Ok(Again::In(left.unsigned_abs().min(POLL)));
                }
            } else if let Some(wait) = self.wait("shutdown", 2) {
                return Ok(Again::In(wait));
            }
        }
        if !strategy::is_final(self.vmi) {
            let mut status = self.status();
            let say = condition::no("Ready", "PodTerminating", "virt-launcher pod is terminating");
            condition::set(&mut status, say, self.world.now());
            for kind in ["AgentConnected", "Paused"] {
                condition::unset(&mut status, kind);
            }
            if running {
                let words = "VirtualMachineInstance stopping";
                self.world.event(self.vmi, "Normal", "ShuttingDown", words, "").await;
                let words = "The VirtualMachineInstance was shut down.";
                self.world.event(self.vmi, "Normal", "Stopped", words, "").await;
            }
            return self.enter("Succeeded", self.with_status(status)).await;
        }
        let ours = [INSTANCE_FINALIZER, MACHINE_FINALIZER];
        if let Some(written) = self.world.api.drop_finalizers(INSTANCE, self.vmi, &ours).await? {
            self.world.learn(INSTANCE, written);
        }
        Ok(Again::No)
    }
}

/// The guest boots again inside its instance: the agent goes and comes back.
pub(crate) fn rebooted(vmi: &Value) -> Value {
    let mut status = vmi.get("status").cloned().unwrap_or_else(|| json!({}));
    condition::unset(&mut status, "AgentConnected");
    status["guestOSInfo"] = json!({});
    for interface in status.pointer_mut("/interfaces").and_then(Value::as_array_mut).into_iter().flatten() {
        interface["infoSource"] = json!("domain, multus-status");
        remove(interface, "/interfaceName");
    }
    status
}
