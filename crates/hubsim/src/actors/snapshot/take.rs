//! VirtualMachineSnapshots: the machine is locked, its spec and volumes are noted down, and it is let go.
use super::{lock, say};
use crate::actors::{
    actor::{Actor, Again},
    api::{Result, is_conflict},
    condition,
    json::{Look, list_mut, parse_stamp, stamp},
    kind::{CLAIM, INSTANCE, Kind, MACHINE, SNAPSHOT, SNAPSHOT_CONTENT},
    mirror::Key,
    world::World,
};
use kube::api::DeleteParams;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

pub(crate) struct Snapshots;

const FINALIZER: &str = "snapshot.kubevirt.io/vmsnapshot-protection";
const POLL: Duration = Duration::from_secs(1);
/// Unless the snapshot says otherwise.
const DEADLINE: Duration = Duration::from_secs(300);

impl Actor for Snapshots {
    const KIND: Kind = SNAPSHOT;
    const HEARS: &'static [Kind] = &[SNAPSHOT];

    fn concerns(_: Kind, old: Option<&Value>, new: Option<&Value>) -> Vec<Key> {
        new.or(old).map(Key::of).into_iter().collect()
    }

    async fn look(world: &World, snapshot: Arc<Value>) -> Result<Again> {
        let visit = Visit { world, snapshot: &snapshot };
        if snapshot.dying() {
            return visit.remove().await;
        }
        if matches!(snapshot.text("/status/phase"), Some("Succeeded" | "Failed")) {
            return visit.let_go().await;
        }
        if !snapshot.list("/metadata/finalizers").iter().any(|f| f == FINALIZER) {
            let mut new = (*snapshot).clone();
            list_mut(&mut new, "/metadata/finalizers").push(json!(FINALIZER));
            world.write(SNAPSHOT, &new).await?;
            return Ok(Again::No);
        }
        visit.take().await
    }

    fn gone(_: &World, _: &Key) {}
}

struct Visit<'a> {
    world: &'a World,
    snapshot: &'a Value,
}

impl Visit<'_> {
    fn source(&self) -> Option<Arc<Value>> {
        let name = self.snapshot.text("/spec/source/name")?;
        self.world.find(MACHINE, self.snapshot.namespace(), name)
    }

    fn status(&self) -> Value {
        self.snapshot.get("status").filter(|s| s.is_object()).cloned().unwrap_or_else(|| json!({}))
    }

    fn content_name(&self) -> String {
        format!("vmsnapshot-content-{}", self.snapshot.uid())
    }

    async fn write(&self, status: Value) -> Result<bool> {
        self.world.write_status(SNAPSHOT, self.snapshot, status).await
    }

    async fn take(&self) -> Result<Again> {
        let now = self.world.now();
        let mut status = self.status();
        status["phase"] = json!("InProgress");
        status["readyToUse"] = json!(false);
        say(&mut status, "Ready", false, "Not ready", now);
        let Some(vm) = self.source() else {
            say(&mut status, "Progressing", false, "Source does not exist", now);
            return self.wait_or_fail(status).await;
        };
        let busy = vm.has("/status/restoreInProgress");
        if busy || !lock(self.world, &vm, "snapshotInProgress", self.snapshot.name(), true).await? {
            say(&mut status, "Progressing", false, "Source not locked", now);
            return self.wait_or_fail(status).await;
        }
        status["sourceUID"] = json!(vm.uid());
        say(&mut status, "Progressing", true, "Source locked and operation in progress", now);
        if self.write(status).await? {
            return Ok(Again::No);
        }
        if let Some(wait) = self.world.wait_for(SNAPSHOT, self.snapshot, "take", 3) {
            return Ok(Again::In(wait));
        }
        self.make_content(&vm).await?;
        self.succeed(&vm).await
    }

    async fn wait_or_fail(&self, mut status: Value) -> Result<Again> {
        let begun = self.snapshot.text("/metadata/creationTimestamp").and_then(parse_stamp);
        let allowed = self.snapshot.text("/spec/failureDeadline").and_then(duration).unwrap_or(DEADLINE);
        let now = self.world.now();
        if !allowed.is_zero() && begun.is_some_and(|t| now - t > allowed) {
            status["phase"] = json!("Failed");
            status["error"] = json!({"time": stamp(now), "message": "snapshot deadline exceeded"});
            say(&mut status, "Failure", true, "snapshot deadline exceeded", now);
            say(&mut status, "Progressing", false, "Operation failed", now);
        }
        self.write(status).await?;
        Ok(Again::In(POLL))
    }

    /// Volumes that can be part of a snapshot, and those that cannot.
    fn volumes(vm: &Value) -> (Vec<&Value>, Vec<&str>) {
        let enabled = |name: Option<&str>| {
            vm.list("/status/volumeSnapshotStatuses").iter().any(|s| s.text("/name") == name && s.flag("/enabled"))
        };
        let (kept, left): (Vec<&Value>, Vec<&Value>) =
            vm.list("/spec/template/spec/volumes").iter().partition(|v| enabled(v.text("/name")));
        (kept, left.into_iter().filter_map(|v| v.text("/name")).collect())
    }

    async fn make_content(&self, vm: &Value) -> Result<()> {
        let backups: Vec<Value> = Self::volumes(vm)
            .0
            .into_iter()
            .filter_map(|volume| {
                let name = volume.text("/name")?;
                let claim = volume.text("/dataVolume/name").or_else(|| volume.text("/persistentVolumeClaim/claimName"))?;
                let claim = self.world.find(CLAIM, vm.namespace(), claim)?;
                Some(json!({
                    "volumeName": name,
                    "volumeSnapshotName": format!("vmsnapshot-{}-volume-{name}", self.snapshot.uid()),
                    "persistentVolumeClaim": {
                        "metadata": {"name": claim.name(), "namespace": claim.namespace(), "labels": claim["metadata"]["labels"]},
                        "spec": claim["spec"],
                    },
                }))
            })
            .collect();
        let content = json!({
            "apiVersion": SNAPSHOT_CONTENT.api_version(),
            "kind": SNAPSHOT_CONTENT.kind,
            "metadata": {"name": self.content_name(), "namespace": self.snapshot.namespace()},
            "spec": {
                "virtualMachineSnapshotName": self.snapshot.name(),
                "source": {"virtualMachine": {
                    "metadata": {"name": vm.name(), "namespace": vm.namespace(), "labels": vm["metadata"]["labels"],
                        "annotations": vm["metadata"]["annotations"]},
                    "spec": vm["spec"],
                }},
                "volumeBackups": backups,
            },
            "status": {"readyToUse": true, "creationTime": stamp(self.world.now())},
        });
        let made = match self.world.create(SNAPSHOT_CONTENT, &content).await {
            Ok(made) => made,
            Err(e) if is_conflict(&e) => return Ok(()),
            Err(e) => return Err(e),
        };
        self.world.write_status(SNAPSHOT_CONTENT, &made, content["status"].clone()).await?;
        Ok(())
    }

    async fn succeed(&self, vm: &Value) -> Result<Again> {
        let now = self.world.now();
        let mut status = self.status();
        status["phase"] = json!("Succeeded");
        status["readyToUse"] = json!(true);
        status["creationTime"] = json!(stamp(now));
        status["virtualMachineSnapshotContentName"] = json!(self.content_name());
        let (kept, left) = Self::volumes(vm);
        let kept: Vec<&str> = kept.into_iter().filter_map(|v| v.text("/name")).collect();
        status["snapshotVolumes"] = json!({"includedVolumes": kept, "excludedVolumes": left});
        if let Some(vmi) = self.world.find(INSTANCE, vm.namespace(), vm.name()) {
            let agent = condition::is(&vmi, "AgentConnected", "True");
            status["indications"] = json!(["Online", if agent { "GuestAgent" } else { "NoGuestAgent" }]);
        }
        say(&mut status, "Progressing", false, "Operation complete", now);
        say(&mut status, "Ready", true, "Operation complete", now);
        self.write(status).await?;
        Ok(Again::No)
    }

    /// The machine is free again once the snapshot shows its end.
    async fn let_go(&self) -> Result<Again> {
        if let Some(vm) = self.source()
            && vm.text("/status/snapshotInProgress") == Some(self.snapshot.name())
        {
            lock(self.world, &vm, "snapshotInProgress", self.snapshot.name(), false).await?;
        }
        Ok(Again::No)
    }

    async fn remove(&self) -> Result<Again> {
        self.let_go().await?;
        let keep = self.snapshot.text("/spec/deletionPolicy") == Some("Retain");
        if let Some(content) = self.world.find(SNAPSHOT_CONTENT, self.snapshot.namespace(), &self.content_name())
            && !keep
        {
            self.world.api.delete(SNAPSHOT_CONTENT, &content, DeleteParams::default()).await?;
        }
        if let Some(written) = self.world.api.drop_finalizers(SNAPSHOT, self.snapshot, &[FINALIZER]).await? {
            self.world.learn(SNAPSHOT, written);
        }
        Ok(Again::No)
    }
}

/// A time as Go writes it, such as `5m0s`.
fn duration(text: &str) -> Option<Duration> {
    let mut seconds = 0;
    let mut number = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' => number.push(c),
            'h' | 'm' | 's' => {
                let unit = match c {
                    'h' => 3600,
                    'm' => 60,
                    _ => 1,
                };
                seconds += number.parse::<u64>().ok()? * unit;
                number.clear();
            }
            _ => return None,
        }
    }
    number.is_empty().then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_go_writes_them() {
        assert_eq!(duration("5m0s"), Some(Duration::from_secs(300)));
        assert_eq!(duration("1h30m"), Some(Duration::from_secs(5400)));
        assert_eq!(duration("5"), None);
        assert_eq!(duration("soon"), None);
    }
}
