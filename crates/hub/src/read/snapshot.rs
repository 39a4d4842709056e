//! How far snapshots and restores are. Their words stand in the reason of a condition, not in its message.
use super::json::{condition, list, some, text, time};
use serde_json::Value;
use time::OffsetDateTime;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// With what it waits for, if that is said.
    Going(String),
    /// With the moment that it holds.
    Done(Option<OffsetDateTime>),
    Failed(String),
}

fn failure(object: &Value) -> Option<String> {
    let failed = condition(object, "Failure").filter(|c| c["status"] == "True");
    failed.map(|c| some(c, "/reason").unwrap_or_else(|| "it failed".into()))
}

fn waits_for(object: &Value) -> String {
    condition(object, "Progressing").map(|c| text(c, "/reason").to_owned()).unwrap_or_default()
}

pub fn snapshot_stage(object: &Value) -> Stage {
    if object["status"]["readyToUse"] == true {
        return Stage::Done(time(object, "/status/creationTime"));
    }
    let failed = failure(object).or_else(|| some(object, "/status/error/message"));
    match (text(object, "/status/phase"), failed) {
        ("Failed", why) => Stage::Failed(why.unwrap_or_else(|| "it failed".into())),
        _ => Stage::Going(waits_for(object)),
    }
}

/// The volumes that a snapshot was taken without, as its machine calls them.
pub fn left_out(snapshot: &Value) -> Vec<&str> {
    list(snapshot, "/status/snapshotVolumes/excludedVolumes").filter_map(Value::as_str).collect()
}

pub fn restore_stage(object: &Value) -> Stage {
    if object["status"]["complete"] == true {
        return Stage::Done(time(object, "/status/restoreTime"));
    }
    failure(object).map_or_else(|| Stage::Going(waits_for(object)), Stage::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn stages_are_read_from_status_and_conditions() {
        let going = json!({"status": {"phase": "InProgress", "conditions": [
            {"type": "Progressing", "status": "False", "reason": "Source not locked"}]}});
        assert_eq!(snapshot_stage(&going), Stage::Going("Source not locked".into()));
        assert_eq!(snapshot_stage(&json!({})), Stage::Going(String::new()));
        let failed = json!({"status": {"phase": "Failed", "error": {"message": "snapshot deadline exceeded"}}});
        assert_eq!(snapshot_stage(&failed), Stage::Failed("snapshot deadline exceeded".into()));
        assert!(matches!(snapshot_stage(&json!({"status": {"readyToUse": true}})), Stage::Done(None)));
        let partial =
            json!({"status": {"snapshotVolumes": {"includedVolumes": ["root"], "excludedVolumes": ["data"]}}});
        assert_eq!((left_out(&partial), left_out(&failed)), (vec!["data"], vec![]));
        let refused = json!({"status": {"conditions": [{"type": "Failure", "status": "True", "reason": "off"}]}});
        assert_eq!(restore_stage(&refused), Stage::Failed("off".into()));
        assert!(matches!(restore_stage(&json!({"status": {"complete": true}})), Stage::Done(None)));
    }
}
