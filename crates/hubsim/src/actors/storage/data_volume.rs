//! Data volumes: disks that CDI fills from an image, another disk, or nothing.
use super::{
    claim, class,
    data_source::{Origin, origin},
    progress::{self, Step, Trouble, Way},
};
use crate::actors::{
    actor::{Actor, Again},
    api::{Result, code, is_conflict, words},
    condition,
    failure::{FAIL_ANNOTATION, Failure},
    json::{Look, controlled_by, controller_of, is_controlled_by},
    kind::{CLAIM, DATA_SOURCE, DATA_VOLUME, Kind, MACHINE, STORAGE_PROFILE},
    mirror::Key,
    world::World,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

pub(crate) struct DataVolumes;

const POLL: Duration = Duration::from_secs(1);
/// Between two tries of an importer that fails.
const RESTART: Duration = Duration::from_secs(5);

impl Actor for DataVolumes {
    const KIND: Kind = DATA_VOLUME;
    const HEARS: &'static [Kind] = &[DATA_VOLUME, CLAIM, MACHINE];

    fn concerns(kind: Kind, old: Option<&Value>, new: Option<&Value>) -> Vec<Key> {
        let Some(object) = new.or(old) else { return Vec::new() };
        match kind {
            CLAIM => controller_of(object)
                .filter(|r| r.text("/kind") == Some(DATA_VOLUME.kind))
                .map(|_| Key::of(object))
                .into_iter()
                .collect(),
            MACHINE => {
                let mark = |o: Option<&Value>| o.and_then(|o| o.annotation(FAIL_ANNOTATION)).map(str::to_owned);
                if mark(old) == mark(new) {
                    return Vec::new();
                }
                let names = object.list("/spec/dataVolumeTemplates").iter().filter_map(|t| t.text("/metadata/name"));
                names.map(|name| Key::new(object.namespace(), name)).collect()
            }
            _ => vec![Key::of(object)],
        }
    }

    async fn look(world: &World, dv: Arc<Value>) -> Result<Again> {
        if dv.dying() || dv.text("/status/phase") == Some("Failed") {
            return Ok(Again::No);
        }
        let visit = Visit { world, dv: &dv };
        match world.find(CLAIM, dv.namespace(), dv.name()) {
            None if dv.text("/status/phase") == Some("Succeeded") => visit.lost().await,
            None => visit.make_claim().await,
            Some(claim) if claim.dying() => Ok(Again::In(POLL)),
            Some(claim) => visit.fill(&claim).await,
        }
    }

    fn gone(_: &World, _: &Key) {}
}

struct Visit<'a> {
    world: &'a World,
    dv: &'a Value,
}

impl Visit<'_> {
    async fn event(&self, kind: &str, reason: &str, message: &str) {
        self.world.event(self.dv, kind, reason, message, "").await;
    }

    async fn lost(&self) -> Result<Again> {
        self.event("Warning", "ErrClaimLost", &format!("PVC {} lost", self.dv.name())).await;
        let status = progress::lost(self.dv, self.world.now());
        self.world.write_status(DATA_VOLUME, self.dv, status).await?;
        Ok(Again::No)
    }

    /// Where a clone comes from: its claim, if there is one to wait for.
    fn source(&self) -> Source {
        let spec = &self.dv["spec"];
        if let Some(reference) = spec.get("sourceRef").filter(|r| r.is_object()) {
            let namespace = reference.text("/namespace").unwrap_or_else(|| self.dv.namespace());
            let name = reference.text("/name").unwrap_or_default();
            return match self.world.find(DATA_SOURCE, namespace, name) {
                None => Source::Missing(format!("DataSource {namespace}/{name} not found")),
                Some(source) => match origin(self.world, &source) {
                    Origin::None => Source::Missing(format!("DataSource {namespace}/{name} has no source")),
                    Origin::Snapshot => Source::Snapshot,
                    Origin::Claim(namespace, name) => self.claim(&namespace, &name),
                },
            };
        }
        if let Some(pvc) = spec.pointer("/source/pvc") {
            let namespace = pvc.text("/namespace").unwrap_or_else(|| self.dv.namespace());
            return self.claim(namespace, pvc.text("/name").unwrap_or_default());
        }
        if spec.has("/source/snapshot") {
            return Source::Snapshot;
        }
        if spec.has("/source/upload") { Source::Upload } else { Source::Import }
    }

    fn claim(&self, namespace: &str, name: &str) -> Source {
        match self.world.find(CLAIM, namespace, name) {
            Some(claim) if claim.text("/status/phase") == Some("Bound") => Source::Claim(claim),
            Some(_) => Source::Busy,
            None => Source::Missing(format!("The source pvc {name} doesn't exist")),
        }
    }

    async fn waiting(&self, again: Duration) -> Result<Again> {
        let status = progress::working(self.dv, "Pending", "N/A", self.world.now());
        self.world.write_status(DATA_VOLUME, self.dv, status).await?;
        Ok(Again::In(again))
    }

    async fn make_claim(&self) -> Result<Again> {
        let inferred = match self.source() {
            Source::Missing(why) => {
                self.event("Warning", "CloneWithoutSource", &why).await;
                return self.waiting(POLL).await;
            }
            Source::Busy => return self.waiting(POLL).await,
            Source::Claim(claim) => claim.pointer("/spec/resources/requests/storage").cloned(),
            Source::Snapshot | Source::Import | Source::Upload => None,
        };
        let spec = match class::claim_spec(self.world, self.dv, inferred) {
            Ok(spec) => spec,
            Err(why) => {
                self.event("Warning", "ErrClaimNotValid", &why).await;
                return self.waiting(POLL * 5).await;
            }
        };
        let mut labels = self.dv.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({}));
        labels["app"] = json!("containerized-data-importer");
        labels["app.kubernetes.io/component"] = json!("storage");
        labels["app.kubernetes.io/managed-by"] = json!("cdi-controller");
        let mut annotations = self.dv.pointer("/metadata/annotations").cloned().unwrap_or_else(|| json!({}));
        annotations["cdi.kubevirt.io/storage.usePopulator"] = json!("true");
        annotations["cdi.kubevirt.io/storage.contentType"] =
            json!(self.dv.text("/spec/contentType").unwrap_or("kubevirt"));
        let claim = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": self.dv.name(), "namespace": self.dv.namespace(), "labels": labels, "annotations": annotations,
                "ownerReferences": controlled_by(self.dv),
            },
            "spec": spec,
        });
        match self.world.create(CLAIM, &claim).await {
            Ok(_) => {}
            Err(e) if is_conflict(&e) => return Ok(Again::In(POLL)),
            // a full quota among others: the volume waits for room, as on a real cluster
            Err(e) if code(&e).is_some() => {
                self.event("Warning", "ErrExceededQuota", &words(&e)).await;
                return self.waiting(POLL * 5).await;
            }
            Err(e) => return Err(e),
        }
        self.waiting(Duration::ZERO).await
    }

    async fn fill(&self, claim: &Value) -> Result<Again> {
        if self.dv.text("/status/phase") == Some("Succeeded") {
            return Ok(Again::No);
        }
        if !is_controlled_by(claim, self.dv) && self.dv.annotation("cdi.kubevirt.io/allowClaimAdoption") != Some("true")
        {
            let message = format!("Resource \"{}\" already exists and is not managed by DataVolume", claim.name());
            self.event("Warning", "ErrResourceExists", &message).await;
            return self.waiting(POLL * 5).await;
        }
        let way = match self.source() {
            Source::Import => Way::Import,
            Source::Upload => Way::Upload,
            Source::Snapshot => Way::FromSnapshot,
            // a source that went away after its copy began hinders nothing: the copy goes on
            Source::Claim(_) | Source::Busy | Source::Missing(_) => self.clone_way(claim),
        };
        if claim.text("/status/phase") == Some("Bound") {
            return self.finish(way).await;
        }
        if self.waits_for_consumer(claim) {
            let status = progress::working(self.dv, "PendingPopulation", "N/A", self.world.now());
            self.world.write_status(DATA_VOLUME, self.dv, status).await?;
            return Ok(Again::In(POLL));
        }
        let vm = controller_of(self.dv)
            .filter(|r| r.text("/kind") == Some(MACHINE.kind))
            .and_then(|r| self.world.find(MACHINE, self.dv.namespace(), r.text("/name").unwrap_or_default()));
        let hit = |failure| self.world.failures.hits(failure, &[Some(self.dv), vm.as_deref()]);
        let trouble = if hit(Failure::DataVolumeStuck) {
            Trouble::Stuck
        } else if hit(Failure::DataVolumeError) {
            Trouble::Error
        } else {
            Trouble::None
        };
        let stride = if self.world.delay.is_zero() { 50.0 } else { 12.5 };
        let stage = format!("{:?} {:?}", self.dv["status"]["phase"], self.dv["status"]["progress"]);
        let wait = if trouble == Trouble::Error && condition::says(self.dv, "Running", "False", "Error") {
            self.world.wait(DATA_VOLUME, self.dv, &format!("restart {}", self.dv["status"]["restartCount"]), RESTART)
        } else {
            self.world.wait_for(DATA_VOLUME, self.dv, &stage, 1)
        };
        if let Some(wait) = wait {
            return Ok(Again::In(wait));
        }
        match progress::next(self.dv, way, trouble, stride, self.world.now()) {
            Step::Rest => Ok(Again::No),
            Step::Finish => {
                claim::bind(self.world, claim).await?;
                self.finish(way).await
            }
            Step::To(status) => {
                let phase = status["phase"].as_str().unwrap_or_default().to_owned();
                if self.dv.text("/status/phase") != Some(&phase) {
                    self.tell_phase(&phase).await;
                }
                self.world.write_status(DATA_VOLUME, self.dv, status).await?;
                Ok(Again::No)
            }
        }
    }

    /// Whether storage that is made where its first user runs still has none.
    fn waits_for_consumer(&self, claim: &Value) -> bool {
        let begun = !matches!(self.dv.text("/status/phase"), None | Some("Pending" | "PendingPopulation"));
        let now = self.dv.annotation("cdi.kubevirt.io/storage.bind.immediate.requested") == Some("true");
        let class = class::find(self.world, claim.text("/spec/storageClassName"));
        !begun
            && !now
            && class.is_some_and(|c| class::waits_for_consumer(&c))
            && !claim::has_consumer(self.world, claim)
    }

    async fn tell_phase(&self, phase: &str) {
        let name = self.dv.name();
        let message = match phase {
            "ImportScheduled" => format!("Import into {name} scheduled"),
            "ImportInProgress" => format!("Import into {name} in progress"),
            "CloneScheduled" => format!("Cloning from source into {}/{name} scheduled", self.dv.namespace()),
            _ => return,
        };
        self.event("Normal", phase, &message).await;
    }

    async fn finish(&self, way: Way) -> Result<Again> {
        let name = self.dv.name();
        let (reason, message) = match way {
            Way::Import => ("ImportSucceeded", format!("Successfully imported into PVC {name}")),
            Way::Upload => ("UploadSucceeded", format!("Successfully uploaded into {name}")),
            _ => ("CloneSucceeded", format!("Successfully cloned into {}/{name}", self.dv.namespace())),
        };
        self.event("Normal", reason, &message).await;
        let status = progress::done(self.dv, way, self.world.now());
        self.world.write_status(DATA_VOLUME, self.dv, status).await?;
        Ok(Again::No)
    }

    fn clone_way(&self, claim: &Value) -> Way {
        let class = claim.text("/spec/storageClassName").unwrap_or_default();
        let profile = self.world.find(STORAGE_PROFILE, "", class);
        match profile.as_deref().and_then(|p| p.text("/status/cloneStrategy")) {
            Some("csi-clone") => Way::CsiClone,
            Some("snapshot") => Way::SnapshotClone,
            _ => Way::CopyClone,
        }
    }
}

enum Source {
    Import,
    Upload,
    Snapshot,
    Claim(Arc<Value>),
    /// There, but not full yet.
    Busy,
    Missing(String),
}
