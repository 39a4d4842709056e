//! What CDI refuses about a DataVolume, and KubeVirt about the template of one.
use super::{Cause, Objects, cause::Causes};
use crate::actors::{json::Look, kind::CLAIM, quantity};
use serde_json::Value;

const SOURCES: [&str; 10] = ["http", "s3", "gcs", "registry", "pvc", "snapshot", "upload", "blank", "imageio", "vddk"];

fn sources(spec: &Value) -> usize {
    SOURCES.iter().filter(|s| spec.has(&format!("/source/{s}"))).count()
}

fn is_filled_by_others(spec: &Value) -> bool {
    ["/storage/dataSource", "/storage/dataSourceRef", "/pvc/dataSource", "/pvc/dataSourceRef"]
        .iter()
        .any(|p| spec.has(p))
}

/// KubeVirt's checks of a template's spec.
pub(super) fn check_spec(spec: &Value, field: &str, causes: &mut Causes) {
    match (spec.has("/pvc"), spec.has("/storage")) {
        (false, false) => causes.required(field, "Missing Data volume PVC or Storage"),
        (true, true) => {
            causes.invalid(field, "Duplicate storage definition, both target storage and target pvc defined");
        }
        _ => {}
    }
    let (source, reference) = (spec.has("/source"), spec.has("/sourceRef"));
    if source == reference {
        if source || !is_filled_by_others(spec) {
            causes.invalid(field, "Data volume should have either Source, SourceRef, or be externally populated");
        }
    } else if source {
        match sources(spec) {
            0 => causes.invalid(field, "Missing dataVolume valid source"),
            1 => {}
            _ => causes.invalid(field, "Multiple dataVolume sources"),
        }
    }
}

/// CDI's checks of a new data volume.
pub fn check_data_volume(dv: &Value, namespace: &str, objects: &dyn Objects) -> Vec<Cause> {
    let mut causes = Causes::default();
    let spec = &dv["spec"];
    if dv.name().len() > 253 {
        causes.invalid("metadata.name", "Name cannot be longer than 253 characters");
    }
    match (spec.has("/pvc"), spec.has("/storage")) {
        (false, false) => causes.required("spec", "Missing Data volume PVC"),
        (true, true) => {
            causes.invalid("spec", "Duplicate storage definition, both target storage and target pvc defined");
        }
        _ => {}
    }
    if !causes.is_empty() {
        return causes.0;
    }
    let (source, reference) = (spec.has("/source"), spec.has("/sourceRef"));
    let clone = reference || spec.has("/source/pvc") || spec.has("/source/snapshot");
    size(spec, clone, &mut causes);
    if spec.has("/pvc") && spec.list("/pvc/accessModes").is_empty() {
        causes.required("spec.PVC.accessModes", "Required value: at least 1 access mode is required");
    }
    if source == reference && (source || !is_filled_by_others(spec)) {
        causes.invalid("spec", "Data volume should have either Source or SourceRef, or be externally populated");
    } else if reference {
        match spec.text("/sourceRef/kind") {
            Some("DataSource") => {}
            other => causes.invalid(
                "spec.SourceRef.Kind",
                format!(
                    "Unsupported sourceRef kind {}, currently only DataSource is supported",
                    other.unwrap_or_default()
                ),
            ),
        }
        if spec.text("/sourceRef/name").is_none() {
            causes.invalid("spec.SourceRef.Name", "Missing sourceRef name");
        }
    } else if source {
        match sources(spec) {
            0 => causes.invalid("spec.source", "Missing dataVolume valid source"),
            1 => {}
            _ => causes.invalid("spec.source", "Multiple dataVolume sources"),
        }
    }
    let adopts = dv.annotation("cdi.kubevirt.io/allowClaimAdoption") == Some("true")
        || dv.annotation("cdi.kubevirt.io/storage.prePopulated").is_some();
    if causes.is_empty() && !adopts && objects.find(CLAIM, namespace, dv.name()).is_some() {
        causes.add(
            "FieldValueInvalid",
            "metadata.name",
            format!("Destination PVC {namespace}/{} already exists", dv.name()),
        );
    }
    causes.0
}

fn size(spec: &Value, clone: bool, causes: &mut Causes) {
    let (place, field) = if spec.has("/pvc") { ("pvc", "PVC") } else { ("storage", "Storage") };
    let asked = spec.pointer(&format!("/{place}/resources/requests/storage"));
    let at = format!("spec.{place}.resources.requests.storage");
    match asked.map(quantity::whole) {
        None if clone && place == "storage" => {}
        None => causes.invalid(at, "PVC size is missing"),
        Some(Some(n)) if n <= 0 => causes.invalid(at, format!("{field} size can't be equal or less than zero")),
        Some(Some(n)) if n < 1 << 20 && !clone => causes.invalid(at, format!("{field} size should be at least 1MiB")),
        Some(Some(_)) => {}
        Some(None) => causes.invalid(at, "PVC size is missing"),
    }
}

/// CDI's check of a change: there is none to the spec.
pub fn check_data_volume_update(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Causes::default();
    if old.get("spec") != new.get("spec") {
        causes.add("FieldValueDuplicate", "spec", "Cannot update DataVolume Spec");
    }
    causes.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::kind::Kind;
    use serde_json::json;
    use std::sync::Arc;

    struct Taken;

    impl Objects for Taken {
        fn find(&self, _: Kind, _: &str, name: &str) -> Option<Arc<Value>> {
            (name == "taken").then(|| Arc::new(json!({})))
        }

        fn all(&self, _: Kind) -> Vec<Arc<Value>> {
            Vec::new()
        }
    }

    fn words(name: &str, spec: Value) -> Vec<String> {
        let dv = json!({"metadata": {"name": name}, "spec": spec});
        check_data_volume(&dv, "a", &Taken).into_iter().map(|c| c.message).collect()
    }

    #[test]
    fn a_good_volume_passes() {
        let storage = json!({"resources": {"requests": {"storage": "1Gi"}}});
        assert!(words("x", json!({"source": {"blank": {}}, "storage": storage})).is_empty());
        assert!(words("x", json!({"sourceRef": {"kind": "DataSource", "name": "f"}, "storage": {}})).is_empty());
    }

    #[test]
    fn each_fault_has_its_words() {
        let storage = json!({"resources": {"requests": {"storage": "1Gi"}}});
        let of = |size: &str| json!({"resources": {"requests": {"storage": size}}});
        for (name, spec, want) in [
            ("x", json!({"source": {"blank": {}}}), "Missing Data volume PVC"),
            (
                "x",
                json!({"source": {"blank": {}}, "pvc": {}, "storage": storage}),
                "Duplicate storage definition, both target storage and target pvc defined",
            ),
            (
                "x",
                json!({"source": {"blank": {}}, "pvc": of("1Gi")}),
                "Required value: at least 1 access mode is required",
            ),
            ("x", json!({"source": {"blank": {}}, "storage": {}}), "PVC size is missing"),
            (
                "x",
                json!({"source": {"blank": {}}, "storage": of("0")}),
                "Storage size can't be equal or less than zero",
            ),
            ("x", json!({"source": {"blank": {}}, "storage": of("1Ki")}), "Storage size should be at least 1MiB"),
            (
                "x",
                json!({"storage": storage}),
                "Data volume should have either Source or SourceRef, or be externally populated",
            ),
            (
                "x",
                json!({"sourceRef": {"kind": "Image", "name": "f"}, "storage": {}}),
                "Unsupported sourceRef kind Image, currently only DataSource is supported",
            ),
            ("x", json!({"sourceRef": {"kind": "DataSource"}, "storage": {}}), "Missing sourceRef name"),
            ("x", json!({"source": {}, "storage": storage}), "Missing dataVolume valid source"),
            ("x", json!({"source": {"blank": {}, "http": {}}, "storage": storage}), "Multiple dataVolume sources"),
            ("taken", json!({"source": {"blank": {}}, "storage": storage}), "Destination PVC a/taken already exists"),
            (
                &"n".repeat(254),
                json!({"source": {"blank": {}}, "storage": storage}),
                "Name cannot be longer than 253 characters",
            ),
        ] {
            assert_eq!(words(name, spec), [want]);
        }
    }

    #[test]
    fn the_spec_of_a_volume_never_changes() {
        let old = json!({"spec": {"source": {"blank": {}}}});
        let new = json!({"spec": {"source": {"upload": {}}}});
        assert!(check_data_volume_update(&old, &old).is_empty());
        assert_eq!(check_data_volume_update(&old, &new)[0].message, "Cannot update DataVolume Spec");
    }
}
