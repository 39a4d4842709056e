//! What the API server's own plugin says of volume claims that are to grow.
use crate::{
    answer::{Refusal, Result},
    kinds::Kind,
    meta, quantity,
    store::State,
};
use serde_json::Value;

/// Only what is bound grows, and only where its storage class says that it can.
pub(crate) fn admit_growth(state: &State, kind: &Kind, old: &Value, new: &Value) -> Result<()> {
    if !kind.is("", "persistentvolumeclaims") {
        return Ok(());
    }
    let asked = |claim: &Value| quantity::parse(&claim["spec"]["resources"]["requests"]["storage"]).unwrap_or_default();
    if asked(new) <= asked(old) {
        return Ok(());
    }
    let refuse = |why: &str| Err(Refusal::forbidden(&kind.group, &kind.plural, meta::name(new), why));
    if old["status"]["phase"] != "Bound" {
        return refuse("Only bound persistent volume claims can be expanded");
    }
    let class = new["spec"]["storageClassName"].as_str().unwrap_or_default();
    let classes = state.find("storage.k8s.io", "storageclasses");
    let can_grow = classes
        .is_some_and(|id| state.list(id, None).any(|c| meta::name(c) == class && c["allowVolumeExpansion"] == true));
    if class.is_empty() || old["spec"]["storageClassName"] != new["spec"]["storageClassName"] || !can_grow {
        return refuse(
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
        );
    }
    Ok(())
}
