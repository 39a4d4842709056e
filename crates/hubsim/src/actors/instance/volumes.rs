//! An instance's volumes: how they show in its status, and whether it can move with them.
use crate::actors::{chance::Chance, condition::Say, json::Look};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) fn claim_name(volume: &Value) -> Option<&str> {
    volume.text("/dataVolume/name").or_else(|| volume.text("/persistentVolumeClaim/claimName"))
}

/// `status.volumeStatus`; `claim` finds a claim by its name.
pub(crate) fn status(vmi: &Value, claim: impl Fn(&str) -> Option<Arc<Value>>) -> Value {
    let all = vmi.list("/spec/volumes").iter().enumerate().map(|(i, volume)| {
        let letter = char::from(b'a' + u8::try_from(i % 26).unwrap_or_default());
        let mut status = json!({"name": volume["name"], "target": format!("vd{letter}")});
        match claim_name(volume) {
            Some(name) => {
                if let Some(claim) = claim(name) {
                    status["persistentVolumeClaimInfo"] = json!({
                        "claimName": name,
                        "accessModes": claim["spec"]["accessModes"],
                        "volumeMode": claim.text("/spec/volumeMode").unwrap_or("Filesystem"),
                        "capacity": claim.pointer("/status/capacity").cloned().unwrap_or_default(),
                        "requests": claim.pointer("/spec/resources/requests").cloned().unwrap_or_default(),
                        "filesystemOverhead": "0",
                    });
                }
            }
            None if volume.has("/containerDisk") => {
                status["containerDiskVolume"] = json!({"checksum": 2_406_523_117_u32})
            }
            None => status["size"] = json!(1_048_576),
        }
        status
    });
    Value::Array(all.collect())
}

/// Notes on a volume's status how far its hotplug is.
pub(crate) fn plug(status: &mut Value, vmi: &Value, ready: bool, chance: Chance) {
    let name = status.text("/name").unwrap_or_default().to_owned();
    let parts = ["attach", vmi.uid(), &name];
    status["hotplugVolume"] = json!({
        "attachPodName": format!("hp-volume-{}", chance.suffix(&parts, 5)),
        "attachPodUID": chance.uuid(&parts).to_string(),
    });
    if ready {
        status["phase"] = json!("Ready");
        status["reason"] = json!("VolumeReady");
        status["message"] = json!(format!("Successfully attach hotplugged volume {name} to VM"));
    } else {
        status["phase"] = json!("AttachedToNode");
        status["reason"] = json!("SuccessfulCreate");
        status["message"] = json!(format!("Created hotplug attachment pod for volume {name}"));
        status["target"] = json!("");
    }
}

/// The LiveMigratable condition, and how disks would travel.
pub(crate) fn migratable(
    vmi: &Value,
    claim: impl Fn(&str) -> Option<Arc<Value>>,
) -> (Say<'static>, String, &'static str) {
    let shared = |c: &Value| c.list("/spec/accessModes").iter().any(|m| m == "ReadWriteMany");
    let fixed =
        vmi.list("/spec/volumes").iter().filter_map(claim_name).find(|name| !claim(name).is_some_and(|c| shared(&c)));
    let no = |reason, message| {
        (Say { kind: "LiveMigratable", status: "False", reason, message: "" }, message, "BlockMigration")
    };
    if let Some(name) = fixed {
        return no(
            "DisksNotLiveMigratable",
            format!(
                "cannot migrate VMI: PVC {name} is not shared, live migration requires that all PVCs must be shared (using ReadWriteMany access mode)"
            ),
        );
    }
    let devices = ["/spec/domain/devices/hostDevices", "/spec/domain/devices/gpus"];
    if devices.iter().any(|d| !vmi.list(d).is_empty()) {
        return no("HostDeviceNotLiveMigratable", "VMI uses a PCI host devices".to_owned());
    }
    let on_pod =
        |name: Option<&str>| vmi.list("/spec/networks").iter().any(|n| n.text("/name") == name && n.has("/pod"));
    if vmi.list("/spec/domain/devices/interfaces").iter().any(|i| i.has("/bridge") && on_pod(i.text("/name"))) {
        return no(
            "InterfaceNotLiveMigratable",
            "cannot migrate VMI which does not use masquerade, bridge with kubevirt.io/allow-pod-bridge-network-live-migration VM annotation or a migratable plugin to connect to the pod network".to_owned(),
        );
    }
    let local = vmi.list("/spec/volumes").iter().any(|v| v.has("/containerDisk") || v.has("/emptyDisk"));
    let method = if local { "BlockMigration" } else { "LiveMigration" };
    (Say { kind: "LiveMigratable", status: "True", reason: "", message: "" }, String::new(), method)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vmi() -> Value {
        json!({"spec": {"volumes": [{"name": "root", "dataVolume": {"name": "web-root"}}, {"name": "ci", "cloudInitNoCloud": {}}]}})
    }

    fn claim(mode: &str) -> Option<Arc<Value>> {
        Some(Arc::new(json!({"spec": {"accessModes": [mode]}, "status": {"capacity": {"storage": "30Gi"}}})))
    }

    #[test]
    fn a_volume_shows_its_claim() {
        let all = status(&vmi(), |_| claim("ReadWriteMany"));
        assert_eq!(all[0]["persistentVolumeClaimInfo"]["claimName"], "web-root");
        assert_eq!(all[0]["target"], "vda");
        assert_eq!(all[1]["size"], 1_048_576);
    }

    #[test]
    fn only_shared_disks_travel() {
        assert_eq!(migratable(&vmi(), |_| claim("ReadWriteMany")).0.status, "True");
        let (say, message, _) = migratable(&vmi(), |_| claim("ReadWriteOnce"));
        assert_eq!((say.status, say.reason), ("False", "DisksNotLiveMigratable"));
        assert!(message.starts_with("cannot migrate VMI: PVC web-root is not shared"), "{message}");
    }
}
