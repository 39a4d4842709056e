//! Hubs that should be alike: where they differ from the first of them. What moves between hubs must find the same there.
use super::Report;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What differs: `KubeVirt`, `virtualmachines.kubevirt.io`, `snapshots`.
    pub what: String,
    pub hub: String,
    pub here: String,
    /// The hub it is compared with, and what is there.
    pub baseline: String,
    pub there: String,
}

impl Difference {
    pub fn line(&self) -> String {
        format!("{}: {} on {}, {} on {}.", self.what, self.here, self.hub, self.there, self.baseline)
    }

    /// What it means for somebody who runs both.
    pub fn means(&self) -> String {
        match self.what.as_str() {
            "Kubernetes" => "Upgrade the older one: what VMs and their objects may ask for differs by version.",
            "KubeVirt" => {
                "Upgrade the older one: a VM may start on one and be refused on the other, and live changes may differ."
            }
            "storage classes" => {
                "A disk that names a class can be made only where that class is. Give both the same names."
            }
            "templates" => "vApps from a template go only to hubs that have it. Put it on the others for more room.",
            "OpenShift templates" => "Templates of OpenShift can be deployed only where it is served.",
            "snapshots" => "VMs can be snapshotted only where it is there.",
            "networks" => "Networks of an organization's own can be made only where it is there.",
            "hotplug-volumes" => "Disks can be added to running VMs only where it is there.",
            "exports" => "Disks can be downloaded only where it is there.",
            kind if kind.contains('.') => {
                "Objects of this kind are served in other versions. Upgrade the older one if a VM is refused there."
            }
            _ => "What needs it works only where it is there.",
        }
        .to_owned()
    }
}

/// Hubs that could not be asked are left out: not knowing is no difference.
pub fn compare<'a>(hubs: impl IntoIterator<Item = (&'a str, &'a Report)>) -> Vec<Difference> {
    let mut known = hubs.into_iter().filter(|(_, r)| r.kubernetes.is_some());
    let Some((baseline, first)) = known.next() else { return Vec::new() };
    let mut all = Vec::new();
    for (hub, report) in known {
        let mut note = |what: &str, here: String, there: String| {
            if here != there {
                let (hub, baseline) = (hub.to_owned(), baseline.to_owned());
                all.push(Difference { what: what.to_owned(), hub, here, baseline, there });
            }
        };
        let version = |v: &Option<String>| v.clone().unwrap_or_else(|| "none".into());
        note("Kubernetes", minor(&version(&report.kubernetes)), minor(&version(&first.kubernetes)));
        note("KubeVirt", version(&report.kubevirt), version(&first.kubevirt));
        let kinds = first.crds.keys().chain(report.crds.keys().filter(|k| !first.crds.contains_key(*k)));
        for kind in kinds {
            let versions = |r: &Report| match r.crds.get(kind) {
                Some(all) => {
                    let mut all = all.clone();
                    all.sort();
                    all.join(", ")
                }
                None => "none".into(),
            };
            note(kind, versions(report), versions(first));
        }
        for feature in first.features.union(&report.features) {
            let has = |r: &Report| if r.features.contains(feature) { "there" } else { "missing" }.to_owned();
            // the templates themselves are compared below
            let what = if feature == "templates" { "OpenShift templates" } else { feature };
            note(what, has(report), has(first));
        }
        let classes = |r: &Report| {
            let mut names: Vec<&str> = r.storage_classes.iter().map(|c| c.name.as_str()).collect();
            names.sort_unstable();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        note("storage classes", classes(report), classes(first));
        if let (Some(here), Some(there)) = (&report.templates, &first.templates) {
            note("templates", lacking(here, there), lacking(there, here));
        }
    }
    all
}

/// What the other hub has and this one has not, by the last part of its name.
fn lacking(here: &BTreeSet<String>, there: &BTreeSet<String>) -> String {
    let missing: Vec<&str> = there.difference(here).filter_map(|t| t.rsplit('/').next()).collect();
    if missing.is_empty() { "all".to_owned() } else { format!("without {}", missing.join(", ")) }
}

/// Patch releases are no difference: `v1.35`.
fn minor(version: &str) -> String {
    version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::StorageClass;

    fn report(kubernetes: &str, kubevirt: &str, served: &[&str]) -> Report {
        Report {
            kubernetes: Some(kubernetes.into()),
            kubevirt: Some(kubevirt.into()),
            crds: [("virtualmachines.kubevirt.io".to_owned(), served.iter().map(|s| (*s).to_owned()).collect())].into(),
            storage_classes: vec![StorageClass { name: "standard".into(), ..StorageClass::default() }],
            ..Report::default()
        }
    }

    #[test]
    fn hubs_are_compared_with_the_first_that_answers() {
        let dead = Report::default();
        let a = report("v1.35.8", "v1.8.4", &["v1", "v1alpha3"]);
        let b = report("v1.35.2", "v1.8.4", &["v1alpha3", "v1"]);
        let mut c = report("v1.34.0", "v1.7.0", &["v1"]);
        c.features.insert("templates".into());
        c.storage_classes.clear();
        let templates = |names: &[&str]| Some(names.iter().map(|n| format!("template/openshift/{n}")).collect());
        let a = Report { templates: templates(&["fedora", "rhel"]), ..a };
        c.templates = templates(&["fedora"]);
        let found = compare([("dead", &dead), ("a", &a), ("b", &b), ("c", &c)]);
        let what: Vec<&str> = found.iter().map(|d| d.what.as_str()).collect();
        let all = [
            "Kubernetes",
            "KubeVirt",
            "virtualmachines.kubevirt.io",
            "OpenShift templates",
            "storage classes",
            "templates",
        ];
        assert_eq!(what, all);
        assert_eq!(found[5].line(), "templates: without rhel on c, all on a.");
        assert!(found.iter().all(|d| !d.means().is_empty()));
        assert!(found.iter().all(|d| d.hub == "c" && d.baseline == "a"));
        assert_eq!(found[1].line(), "KubeVirt: v1.7.0 on c, v1.8.4 on a.");
        assert_eq!(compare([("dead", &dead)]), []);
    }
}
