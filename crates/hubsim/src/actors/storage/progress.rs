//! The way of a data volume from nothing to full, as a pure step from one status to the next.
use crate::actors::{
    condition::{self, Say},
    json::Look,
};
use serde_json::{Value, json};
use time::OffsetDateTime;

/// On a volume whose bytes have come: how many, and their SHA-256. That is all that is kept of them.
pub(crate) const UPLOADED: &str = "hubsim.ssvirt.io/uploaded";

/// How a data volume is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Import,
    /// With the storage class's clone strategy.
    CsiClone,
    SnapshotClone,
    CopyClone,
    FromSnapshot,
    Upload,
}

impl Way {
    fn scheduled(self) -> &'static str {
        match self {
            Way::Import => "ImportScheduled",
            Way::Upload => "UploadScheduled",
            _ => "CloneScheduled",
        }
    }

    fn working(self) -> &'static str {
        match self {
            Way::Import => "ImportInProgress",
            Way::CsiClone => "CSICloneInProgress",
            Way::SnapshotClone => "SnapshotForSmartCloneInProgress",
            Way::CopyClone => "CloneInProgress",
            Way::FromSnapshot => "CloneFromSnapshotSourceInProgress",
            Way::Upload => "UploadReady",
        }
    }

    /// Whether bytes are copied, so that there is a percentage.
    fn is_measured(self) -> bool {
        matches!(self, Way::Import | Way::CopyClone)
    }

    pub(crate) fn complete(self) -> &'static str {
        match self {
            Way::Import => "Import Complete",
            Way::Upload => "Upload Complete",
            _ => "Clone Complete",
        }
    }
}

/// What may be in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    None,
    Stuck,
    Error,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// The next status of a volume that is being filled.
    To(Value),
    /// All is copied: bind the claim, then say so.
    Finish,
    /// Nothing moves until something else does.
    Rest,
}

pub(crate) fn percent(dv: &Value) -> f64 {
    dv.text("/status/progress").and_then(|p| p.trim_end_matches('%').parse().ok()).unwrap_or(0.0)
}

/// The next step of a volume whose claim exists. `stride` is how many percent a step takes.
pub(crate) fn next(dv: &Value, way: Way, trouble: Trouble, stride: f64, now: OffsetDateTime) -> Step {
    let phase = dv.text("/status/phase").unwrap_or_default();
    let status = |phase: &str, progress: &str| Step::To(working(dv, phase, progress, now));
    if phase == way.working() {
        if way == Way::Upload {
            return if dv.annotation(UPLOADED).is_some() { Step::Finish } else { Step::Rest };
        }
        let so_far = percent(dv);
        return match trouble {
            Trouble::Error => Step::To(failing(dv, way, now)),
            Trouble::Stuck if so_far == 37.0 => Step::Rest,
            Trouble::Stuck => status(phase, "37.00%"),
            Trouble::None if way.is_measured() && so_far + stride < 100.0 => {
                status(phase, &format!("{:.2}%", so_far + stride))
            }
            Trouble::None => Step::Finish,
        };
    }
    if phase == way.scheduled() {
        return status(way.working(), "N/A");
    }
    match phase {
        "" => status("Pending", "N/A"),
        "Succeeded" | "Failed" => Step::Rest,
        _ => status(way.scheduled(), "N/A"),
    }
}

fn base(dv: &Value, phase: &str, progress: &str) -> Value {
    let mut status = dv.get("status").filter(|s| s.is_object()).cloned().unwrap_or_else(|| json!({}));
    status["phase"] = json!(phase);
    status["progress"] = json!(progress);
    status["claimName"] = json!(dv.name());
    status
}

/// CDI's conditions know a heartbeat instead of a probe.
fn say(status: &mut Value, say: Say<'_>, now: OffsetDateTime) {
    condition::set_plain(status, say, now);
    for c in status.pointer_mut("/conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        c["lastHeartbeatTime"] = c["lastTransitionTime"].clone();
    }
}

pub(crate) fn working(dv: &Value, phase: &str, progress: &str, now: OffsetDateTime) -> Value {
    let mut status = base(dv, phase, progress);
    let waiting = format!("PVC {} Pending", dv.name());
    say(&mut status, condition::no("Bound", "Pending", &waiting), now);
    if matches!(phase, "Pending" | "ImportScheduled" | "CloneScheduled" | "UploadScheduled") {
        say(&mut status, condition::no("Ready", "", ""), now);
        say(&mut status, condition::no("Running", "", ""), now);
    } else {
        say(&mut status, condition::no("Ready", "TransferRunning", ""), now);
        say(&mut status, Say { reason: "Pod is running", ..condition::yes("Running") }, now);
    }
    status
}

fn failing(dv: &Value, way: Way, now: OffsetDateTime) -> Value {
    let mut status = base(dv, way.working(), dv.text("/status/progress").unwrap_or("N/A"));
    status["restartCount"] = json!(dv.int("/status/restartCount").unwrap_or(0) + 1);
    let words =
        "Unable to process data: Unable to transfer source data to scratch space: Get image: connection reset by peer";
    say(&mut status, condition::no("Running", "Error", words), now);
    status
}

pub(crate) fn done(dv: &Value, way: Way, now: OffsetDateTime) -> Value {
    let mut status = base(dv, "Succeeded", "100.0%");
    let bound = format!("PVC {} Bound", dv.name());
    say(&mut status, Say { reason: "Bound", message: &bound, ..condition::yes("Bound") }, now);
    say(&mut status, condition::yes("Ready"), now);
    say(&mut status, condition::no("Running", "Completed", way.complete()), now);
    status
}

pub(crate) fn lost(dv: &Value, now: OffsetDateTime) -> Value {
    let mut status = base(dv, "Failed", dv.text("/status/progress").unwrap_or("N/A"));
    let words = format!("PVC {} lost", dv.name());
    say(&mut status, condition::no("Bound", "ErrClaimLost", &words), now);
    say(&mut status, condition::no("Ready", "ErrClaimLost", &words), now);
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(0).unwrap()
    }

    /// Walks until nothing moves; the phases and percentages on the way.
    fn walk(way: Way, trouble: Trouble) -> (Vec<String>, Step) {
        let mut dv = json!({"metadata": {"name": "disk"}});
        let mut seen = Vec::new();
        for _ in 0..20 {
            match next(&dv, way, trouble, 25.0, now()) {
                Step::To(status) => {
                    seen.push(format!(
                        "{} {}",
                        status["phase"].as_str().unwrap(),
                        status["progress"].as_str().unwrap()
                    ));
                    dv["status"] = status;
                    if trouble == Trouble::Error && seen.len() > 4 {
                        return (seen, Step::To(dv));
                    }
                }
                end => return (seen, end),
            }
        }
        panic!("no end: {seen:?}");
    }

    #[test]
    fn an_import_rises_to_its_end() {
        let (seen, end) = walk(Way::Import, Trouble::None);
        assert_eq!(
            seen,
            [
                "Pending N/A",
                "ImportScheduled N/A",
                "ImportInProgress N/A",
                "ImportInProgress 25.00%",
                "ImportInProgress 50.00%",
                "ImportInProgress 75.00%"
            ]
        );
        assert_eq!(end, Step::Finish);
    }

    #[test]
    fn clones_go_by_the_strategy_of_their_class() {
        for (way, phase) in [
            (Way::CsiClone, "CSICloneInProgress"),
            (Way::SnapshotClone, "SnapshotForSmartCloneInProgress"),
            (Way::CopyClone, "CloneInProgress"),
            (Way::FromSnapshot, "CloneFromSnapshotSourceInProgress"),
        ] {
            let (seen, end) = walk(way, Trouble::None);
            assert_eq!(seen[1], "CloneScheduled N/A");
            assert!(seen[2].starts_with(phase), "{seen:?}");
            assert_eq!(end, Step::Finish);
        }
    }

    #[test]
    fn a_stuck_import_stays_at_37_percent_and_goes_on_when_it_is_freed() {
        let (seen, end) = walk(Way::Import, Trouble::Stuck);
        assert_eq!((seen.last().map(String::as_str), end), (Some("ImportInProgress 37.00%"), Step::Rest));
        let dv = json!({"metadata": {"name": "d"}, "status": {"phase": "ImportInProgress", "progress": "37.00%"}});
        let Step::To(status) = next(&dv, Way::Import, Trouble::None, 25.0, now()) else { panic!("rests") };
        assert_eq!(status["progress"], "62.00%");
    }

    #[test]
    fn a_failing_importer_keeps_its_phase_and_counts() {
        let (_, Step::To(dv)) = walk(Way::Import, Trouble::Error) else { panic!("ended") };
        assert_eq!(dv["status"]["phase"], "ImportInProgress");
        assert_eq!(dv["status"]["restartCount"], 2);
        assert!(condition::says(&dv, "Running", "False", "Error"));
    }

    #[test]
    fn a_full_volume_is_bound_and_ready() {
        let dv = json!({"metadata": {"name": "d"}});
        let full = json!({"status": done(&dv, Way::Import, now())});
        assert!(condition::is(&full, "Ready", "True"));
        assert!(condition::says(&full, "Running", "False", "Completed"));
        assert_eq!(full["status"]["progress"], "100.0%");
        assert_eq!(next(&full, Way::Import, Trouble::None, 25.0, now()), Step::Rest);
    }
}
