//! VirtualMachineRestores: a stopped machine gets the spec and the disks of a snapshot.
use super::{lock, say};
use crate::actors::{
    actor::{Actor, Again},
    api::{Result, is_conflict},
    condition,
    json::{Look, controlled_by, list_mut, parse_stamp, put, remove, stamp},
    kind::{CLAIM, DATA_VOLUME, INSTANCE, Kind, MACHINE, RESTORE, SNAPSHOT, SNAPSHOT_CONTENT},
    machine::strategy,
    mirror::Key,
    world::World,
};
use kube::api::DeleteParams;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

pub(crate) struct Restores;

const FINALIZER: &str = "snapshot.kubevirt.io/vmrestore-protection";
const POLL: Duration = Duration::from_secs(1);
/// How long a running target is waited for by default.
const GRACE: Duration = Duration::from_secs(300);
/// On a machine: the restore that was done last.
const LAST: &str = "restore.kubevirt.io/lastRestoreUID";

impl Actor for Restores {
    const KIND: Kind = RESTORE;
    const HEARS: &'static [Kind] = &[RESTORE];

    fn concerns(_: Kind, old: Option<&Value>, new: Option<&Value>) -> Vec<Key> {
        new.or(old).map(Key::of).into_iter().collect()
    }

    async fn look(world: &World, restore: Arc<Value>) -> Result<Again> {
        let visit = Visit { world, restore: &restore };
        if restore.dying() || restore.flag("/status/complete") || visit.has_failed() {
            visit.let_go().await?;
            if restore.dying()
                && let Some(written) = world.api.drop_finalizers(RESTORE, &restore, &[FINALIZER]).await?
            {
                world.learn(RESTORE, written);
            }
            return Ok(Again::No);
        }
        if !restore.list("/metadata/finalizers").iter().any(|f| f == FINALIZER) {
            let mut new = (*restore).clone();
            list_mut(&mut new, "/metadata/finalizers").push(json!(FINALIZER));
            world.write(RESTORE, &new).await?;
            return Ok(Again::No);
        }
        visit.go().await
    }

    fn gone(_: &World, _: &Key) {}
}

struct Visit<'a> {
    world: &'a World,
    restore: &'a Value,
}

impl Visit<'_> {
    fn target(&self) -> Option<Arc<Value>> {
        let name = self.restore.text("/spec/target/name")?;
        self.world.find(MACHINE, self.restore.namespace(), name)
    }

    fn has_failed(&self) -> bool {
        condition::is(self.restore, "Failure", "True")
    }

    fn status(&self) -> Value {
        let mut status = self.restore.get("status").filter(|s| s.is_object()).cloned().unwrap_or_else(|| json!({}));
        put(&mut status, "/complete", json!(false));
        status
    }

    async fn write(&self, status: Value) -> Result<bool> {
        self.world.write_status(RESTORE, self.restore, status).await
    }

    async fn wait(&self, why: &str) -> Result<Again> {
        let mut status = self.status();
        say(&mut status, "Progressing", false, why, self.world.now());
        say(&mut status, "Ready", false, why, self.world.now());
        self.write(status).await?;
        Ok(Again::In(POLL))
    }

    async fn fail(&self, why: &str) -> Result<Again> {
        let mut status = self.status();
        for kind in ["Progressing", "Ready"] {
            say(&mut status, kind, false, why, self.world.now());
        }
        say(&mut status, "Failure", true, why, self.world.now());
        self.write(status).await?;
        Ok(Again::No)
    }

    async fn let_go(&self) -> Result<()> {
        if let Some(vm) = self.target()
            && vm.text("/status/restoreInProgress") == Some(self.restore.name())
        {
            lock(self.world, &vm, "restoreInProgress", self.restore.name(), false).await?;
        }
        Ok(())
    }

    async fn go(&self) -> Result<Again> {
        let space = self.restore.namespace();
        let name = self.restore.text("/spec/virtualMachineSnapshotName").unwrap_or_default();
        let Some(snapshot) = self.world.find(SNAPSHOT, space, name) else {
            return self.wait(&format!("VMSnapshot {space}/{name} does not exist")).await;
        };
        if !snapshot.flag("/status/readyToUse") {
            return self.wait(&format!("VMSnapshot {space}/{name} not ready")).await;
        }
        let content = snapshot.text("/status/virtualMachineSnapshotContentName").unwrap_or_default();
        let Some(content) = self.world.find(SNAPSHOT_CONTENT, space, content) else {
            return self.fail(&format!("VMSnapshotContent of {space}/{name} does not exist")).await;
        };
        let target = self.target();
        if let Some(vm) = &target
            && let Some(again) = self.hold(vm).await?
        {
            return Ok(again);
        }
        if !self.restore.has("/status/restores") {
            let mut status = self.status();
            status["restores"] = self.plan(&content);
            status["deletedDataVolumes"] =
                json!(target.as_deref().map(|vm| self.replaced(vm, &content)).unwrap_or_default());
            say(&mut status, "Progressing", true, "Creating new PVCs", self.world.now());
            say(&mut status, "Ready", false, "Waiting for new PVCs", self.world.now());
            self.write(status).await?;
            return Ok(Again::No);
        }
        if let Some(wait) = self.world.wait_for(RESTORE, self.restore, "restore", 3) {
            return Ok(Again::In(wait));
        }
        // disks first: a machine that names one that is not there would make it from its image
        self.make_claims(&content).await?;
        let vm = self.write_machine(target.as_deref(), &content).await?;
        if !self.claims_ready(&vm).await? {
            return Ok(Again::In(POLL / 10));
        }
        for old in self.restore.list("/status/deletedDataVolumes").iter().filter_map(Value::as_str) {
            if let Some(dv) = self.world.find(DATA_VOLUME, space, old) {
                self.world.api.delete(DATA_VOLUME, &dv, DeleteParams::default()).await?;
            }
        }
        let mut status = self.status();
        status["complete"] = json!(true);
        status["restoreTime"] = json!(stamp(self.world.now()));
        say(&mut status, "Progressing", false, "Operation complete", self.world.now());
        say(&mut status, "Ready", true, "Operation complete", self.world.now());
        self.write(status).await?;
        Ok(Again::No)
    }

    /// Takes hold of a machine that is off; what to do instead if it is not.
    async fn hold(&self, vm: &Value) -> Result<Option<Again>> {
        let on = self.world.find(INSTANCE, vm.namespace(), vm.name()).is_some();
        if on {
            let begun = self.restore.text("/metadata/creationTimestamp").and_then(parse_stamp);
            let late = begun.is_some_and(|t| self.world.now() - t > GRACE);
            return match self.restore.text("/spec/targetReadinessPolicy") {
                Some("FailImmediate") => {
                    self.fail("Restore target VMI must be powered off before restore operation").await.map(Some)
                }
                Some("StopTarget") => {
                    let mut new = vm.clone();
                    new["spec"]["runStrategy"] = json!("Halted");
                    if new["spec"] != vm["spec"] {
                        self.world.write(MACHINE, &new).await?;
                    }
                    self.wait("Automatically stopping restore target for restore operation").await.map(Some)
                }
                None | Some("WaitGracePeriod") if late => {
                    self.fail("Restore target failed to be ready within 5m0s").await.map(Some)
                }
                _ => {
                    let why = "Waiting for target VM to be powered off. Please stop the restore target to proceed with restore";
                    self.wait(why).await.map(Some)
                }
            };
        }
        let busy = vm.has("/status/snapshotInProgress");
        if busy || !lock(self.world, vm, "restoreInProgress", self.restore.name(), true).await? {
            return self.wait("Waiting for target to be unlocked").await.map(Some);
        }
        Ok(None)
    }

    fn new_name(&self, volume: &str) -> String {
        format!("restore-{}-{volume}", self.restore.uid())
    }

    fn plan(&self, content: &Value) -> Value {
        content
            .list("/spec/volumeBackups")
            .iter()
            .filter_map(|backup| {
                let volume = backup.text("/volumeName")?;
                Some(json!({
                    "volumeName": volume,
                    "persistentVolumeClaim": self.new_name(volume),
                    "volumeSnapshotName": backup["volumeSnapshotName"],
                }))
            })
            .collect()
    }

    /// Data volumes of the machine's templates that it has no template of any more. Those that came to it later stay.
    fn replaced(&self, vm: &Value, content: &Value) -> Vec<String> {
        let names = |spec: &Value| -> Vec<String> {
            let templates = spec.list("/dataVolumeTemplates").iter();
            templates.filter_map(|t| t.text("/metadata/name").map(str::to_owned)).collect()
        };
        let kept = names(&self.restored(content));
        names(&vm["spec"]).into_iter().filter(|name| !kept.contains(name)).collect()
    }

    /// The snapshot's spec on new disks: volumes of templates as data volumes, with their templates, all others as claims.
    fn restored(&self, content: &Value) -> Value {
        let mut spec = content.pointer("/spec/source/virtualMachine/spec").cloned().unwrap_or_default();
        let backed: Vec<&str> =
            content.list("/spec/volumeBackups").iter().filter_map(|b| b.text("/volumeName")).collect();
        let templates: Vec<Value> = spec.list("/dataVolumeTemplates").to_vec();
        let mut renamed: Vec<(String, String)> = Vec::new();
        for volume in spec.pointer_mut("/template/spec/volumes").and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(name) = volume.text("/name").filter(|n| backed.contains(n)).map(str::to_owned) else { continue };
            let new = self.new_name(&name);
            match volume.text("/dataVolume/name").map(str::to_owned) {
                Some(old) if templates.iter().any(|t| t.text("/metadata/name") == Some(&old)) => {
                    volume["dataVolume"]["name"] = json!(new);
                    renamed.push((old, new));
                }
                Some(_) => *volume = json!({"name": name, "persistentVolumeClaim": {"claimName": new}}),
                None if volume.has("/persistentVolumeClaim") => {
                    volume["persistentVolumeClaim"]["claimName"] = json!(new);
                }
                None => {}
            }
        }
        for template in spec.pointer_mut("/dataVolumeTemplates").and_then(Value::as_array_mut).into_iter().flatten() {
            let found = renamed.iter().find(|(old, _)| template.text("/metadata/name") == Some(old));
            if let Some((_, new)) = found {
                template["metadata"]["name"] = json!(new);
            }
        }
        spec
    }

    /// The machine with the snapshot's spec on its new disks; its run strategy stays as it is.
    async fn write_machine(&self, target: Option<&Value>, content: &Value) -> Result<Value> {
        let source = content.pointer("/spec/source/virtualMachine").cloned().unwrap_or_default();
        let mut spec = self.restored(content);
        let annotation = format!("/metadata/annotations/{}", LAST.replace('/', "~1"));
        let mark = json!(format!("{}-{}", self.restore.name(), self.restore.uid()));
        match target {
            Some(vm) if vm.annotation(LAST) == mark.as_str() => Ok(vm.clone()),
            Some(vm) => {
                spec["runStrategy"] = json!(strategy::of(vm));
                remove(&mut spec, "/running");
                let mut new = vm.clone();
                new["spec"] = spec;
                put(&mut new, &annotation, mark);
                self.world.write(MACHINE, &new).await
            }
            None => {
                let mut new = json!({
                    "apiVersion": MACHINE.api_version(), "kind": MACHINE.kind,
                    "metadata": source["metadata"], "spec": spec,
                });
                new["metadata"]["name"] = self.restore["spec"]["target"]["name"].clone();
                new["spec"]["runStrategy"] = json!("Halted");
                remove(&mut new, "/spec/running");
                put(&mut new, &annotation, mark);
                self.world.create(MACHINE, &new).await
            }
        }
    }

    async fn make_claims(&self, content: &Value) -> Result<()> {
        for backup in content.list("/spec/volumeBackups") {
            let Some(volume) = backup.text("/volumeName") else { continue };
            let mut spec = backup.pointer("/persistentVolumeClaim/spec").cloned().unwrap_or_default();
            remove(&mut spec, "/volumeName");
            let wanted = json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {
                    "name": self.new_name(volume), "namespace": self.restore.namespace(),
                    "labels": backup["persistentVolumeClaim"]["metadata"]["labels"],
                    "annotations": {"restore.kubevirt.io/name": self.restore.name()},
                },
                "spec": spec,
            });
            match self.world.create(CLAIM, &wanted).await {
                Ok(_) => {}
                Err(e) if is_conflict(&e) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Gives the new disks to the machine; says whether all of them are bound.
    async fn claims_ready(&self, vm: &Value) -> Result<bool> {
        let mut ready = true;
        for entry in self.restore.list("/status/restores") {
            let name = entry.text("/persistentVolumeClaim").unwrap_or_default();
            let Some(claim) = self.world.find(CLAIM, vm.namespace(), name) else { return Ok(false) };
            ready &= claim.text("/status/phase") == Some("Bound");
            if claim.list("/metadata/ownerReferences").is_empty() {
                let mut new = (*claim).clone();
                new["metadata"]["ownerReferences"] = controlled_by(vm);
                self.world.write(CLAIM, &new).await?;
            }
        }
        Ok(ready)
    }
}
