//! Hubs that should be alike: where they differ from the first of them. What moves between hubs must find the same there.
use super::Report;
use serde::{Deserialize, Serialize};

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
            note(feature, has(report), has(first));
        }
        let classes = |r: &Report| {
            let mut names: Vec<&str> = r.storage_classes.iter().map(|c| c.name.as_str()).collect();
            names.sort_unstable();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        note("storage classes", classes(report), classes(first));
    }
    all
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
        let found = compare([("dead", &dead), ("a", &a), ("b", &b), ("c", &c)]);
        let what: Vec<&str> = found.iter().map(|d| d.what.as_str()).collect();
        assert_eq!(what, ["Kubernetes", "KubeVirt", "virtualmachines.kubevirt.io", "templates", "storage classes"]);
        assert!(found.iter().all(|d| d.hub == "c" && d.baseline == "a"));
        assert_eq!(found[1].line(), "KubeVirt: v1.7.0 on c, v1.8.4 on a.");
        assert_eq!(compare([("dead", &dead)]), []);
    }
}
