//! Storage profiles: one for each storage class, saying what its driver does best.
use crate::actors::{
    actor::{Actor, Again},
    api::Result,
    json::Look,
    kind::{Kind, STORAGE_CLASS, STORAGE_PROFILE},
    mirror::Key,
    world::World,
};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) struct Profiles;

impl Actor for Profiles {
    const KIND: Kind = STORAGE_CLASS;
    const HEARS: &'static [Kind] = &[STORAGE_CLASS, STORAGE_PROFILE];

    fn concerns(_: Kind, old: Option<&Value>, new: Option<&Value>) -> Vec<Key> {
        new.or(old).map(Key::of).into_iter().collect()
    }

    async fn look(world: &World, class: Arc<Value>) -> Result<Again> {
        let profile = match world.find(STORAGE_PROFILE, "", class.name()) {
            Some(profile) => (*profile).clone(),
            None => {
                let new = json!({
                    "apiVersion": STORAGE_PROFILE.api_version(),
                    "kind": STORAGE_PROFILE.kind,
                    "metadata": {"name": class.name(), "labels": {"app": "containerized-data-importer",
                        "cdi.kubevirt.io": ""}},
                    "spec": {},
                });
                world.create(STORAGE_PROFILE, &new).await?
            }
        };
        world.write_status(STORAGE_PROFILE, &profile, status(&class, &profile)).await?;
        Ok(Again::No)
    }

    fn gone(_: &World, _: &Key) {}
}

pub(crate) fn status(class: &Value, profile: &Value) -> Value {
    let provisioner = class.text("/provisioner").unwrap_or_default();
    let set = |mode: &str, volume: &str| json!({"accessModes": [mode], "volumeMode": volume});
    let (sets, clone, snapshot) = if provisioner.ends_with("rbd.csi.ceph.com") {
        let sets =
            vec![set("ReadWriteMany", "Block"), set("ReadWriteOnce", "Block"), set("ReadWriteOnce", "Filesystem")];
        (sets, "csi-clone", Some("rbdplugin-snapclass"))
    } else if provisioner.ends_with("cephfs.csi.ceph.com") {
        (vec![set("ReadWriteMany", "Filesystem")], "csi-clone", Some("cephfsplugin-snapclass"))
    } else if provisioner == "topolvm.io" {
        (vec![set("ReadWriteOnce", "Block")], "snapshot", Some("lvms-snapclass"))
    } else if provisioner == "kubevirt.io.hostpath-provisioner" {
        (vec![set("ReadWriteOnce", "Filesystem")], "copy", None)
    } else {
        (Vec::new(), "copy", None)
    };
    let mut status = json!({
        "storageClass": class.name(),
        "provisioner": provisioner,
        "cloneStrategy": profile.text("/spec/cloneStrategy").unwrap_or(clone),
        "dataImportCronSourceFormat": profile.text("/spec/dataImportCronSourceFormat")
            .unwrap_or(if snapshot.is_some() && clone == "snapshot" { "snapshot" } else { "pvc" }),
    });
    let overridden = profile.list("/spec/claimPropertySets");
    let sets = if overridden.is_empty() { sets } else { overridden.to_vec() };
    if !sets.is_empty() {
        status["claimPropertySets"] = json!(sets);
    }
    if let Some(snapshot) = profile.text("/spec/snapshotClass").or(snapshot) {
        status["snapshotClass"] = json!(snapshot);
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(provisioner: &str) -> Value {
        json!({"metadata": {"name": "fast"}, "provisioner": provisioner})
    }

    #[test]
    fn a_known_driver_offers_its_best_first() {
        let status = status(&class("openshift-storage.rbd.csi.ceph.com"), &json!({}));
        assert_eq!(status["claimPropertySets"][0], json!({"accessModes": ["ReadWriteMany"], "volumeMode": "Block"}));
        assert_eq!(status["cloneStrategy"], "csi-clone");
    }

    #[test]
    fn an_unknown_driver_offers_nothing_until_somebody_says_what() {
        assert!(status(&class("example.com/disk"), &json!({})).get("claimPropertySets").is_none());
        let sets = json!([{"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem"}]);
        let told = json!({"spec": {"claimPropertySets": sets}});
        assert_eq!(status(&class("example.com/disk"), &told)["claimPropertySets"], sets);
    }
}
