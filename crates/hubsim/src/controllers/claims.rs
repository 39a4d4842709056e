//! Volume claims in use are kept until the last pod that uses them is gone.

use super::take_finalizer;
use crate::{answer::Result, built_in::PVC_PROTECTION, meta, store::State};
use serde_json::Value;

pub(super) fn release(state: &mut State, namespace: &str) -> Result<()> {
    let (Some(claims), Some(pods)) = (state.find("", "persistentvolumeclaims"), state.find("", "pods")) else {
        return Ok(());
    };
    let free: Vec<String> = state
        .list(claims, Some(namespace))
        .filter(|claim| meta::is_terminating(claim) && meta::finalizers(claim).contains(&PVC_PROTECTION))
        .map(|claim| meta::name(claim).to_owned())
        .filter(|name| !state.list(pods, Some(namespace)).any(|pod| uses(pod, name)))
        .collect();
    for name in free {
        take_finalizer(state, &(claims, (namespace.to_owned(), name)), PVC_PROTECTION)?;
    }
    Ok(())
}

fn uses(pod: &Value, claim: &str) -> bool {
    let ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let volumes = pod["spec"]["volumes"].as_array();
    !ended && volumes.into_iter().flatten().any(|volume| volume["persistentVolumeClaim"]["claimName"] == claim)
}
