//! Storage policies: the provider's names for storage classes, and which of them a VDC may use.
use crate::{Error, FieldError, Fields, HubId, OrgId, PolicyId, Problems, Result, VdcId, name, quota::Measure};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoragePolicy {
    pub id: PolicyId,
    pub name: String,
    pub description: String,
    /// The class on hubs that are not named in `classes`; empty: the hub's own default.
    pub class: String,
    pub classes: Vec<HubClass>,
    /// A new VDC begins with it.
    pub is_default: bool,
    pub vdcs: i64,
    pub disks: i64,
    pub used_mb: i64,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub updated_by: String,
}

/// A storage policy as one VDC has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VdcProfile {
    pub vdc: VdcId,
    pub vdc_name: String,
    pub org: OrgId,
    pub org_name: String,
    pub policy: VdcPolicy,
}

/// On one hub another class than elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HubClass {
    pub hub: HubId,
    /// Empty: the hub's own default.
    pub class: String,
}

/// What hubs have: the classes of each, and which of them is its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubClasses {
    pub hub: HubId,
    pub names: Vec<String>,
    pub default: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoragePolicySpec {
    pub name: String,
    pub description: String,
    pub class: String,
    pub classes: Vec<HubClass>,
    pub is_default: bool,
}

impl StoragePolicySpec {
    pub fn check(self) -> Result<StoragePolicySpec> {
        let mut problems = Problems::default();
        let name = problems.take("name", name::check_name(&self.name));
        let description = problems.take("description", name::check_text(&self.description));
        let class = self.class.trim().to_owned();
        if !is_class(&class) {
            problems.add("class", NO_CLASS);
        }
        let mut classes = self.classes;
        classes.iter_mut().for_each(|c| c.class = c.class.trim().to_owned());
        classes.sort();
        classes.dedup_by(|a, b| a.hub == b.hub);
        if let Some(odd) = classes.iter().find(|c| !is_class(&c.class)) {
            problems.add("classes", format!("{}: {NO_CLASS}", odd.hub));
        }
        problems.done()?;
        Ok(StoragePolicySpec { name, description, class, classes, is_default: self.is_default })
    }
}

const NO_CLASS: &str =
    "The name of a storage class: small letters, digits, dots and hyphens; empty for the hub's default.";

fn is_class(text: &str) -> bool {
    let end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.is_empty()
        || text.len() <= 253
            && text.chars().all(|c| end(c) || matches!(c, '.' | '-'))
            && text.starts_with(end)
            && text.ends_with(end)
}

impl StoragePolicy {
    /// The class that its disks are made of on a hub; empty: the hub's own default.
    pub fn class_on(&self, hub: &HubId) -> &str {
        self.classes.iter().find(|c| c.hub == *hub).map_or(&self.class, |c| &c.class)
    }
}

impl From<&StoragePolicy> for StoragePolicySpec {
    fn from(p: &StoragePolicy) -> StoragePolicySpec {
        StoragePolicySpec {
            name: p.name.clone(),
            description: p.description.clone(),
            class: p.class.clone(),
            classes: p.classes.clone(),
            is_default: p.is_default,
        }
    }
}

impl Fields for StoragePolicySpec {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let classes: Vec<String> =
            self.classes.iter().map(|c| format!("{}: {}", c.hub, class_words(&c.class))).collect();
        vec![
            ("name", self.name.clone()),
            ("description", self.description.clone()),
            ("class", class_words(&self.class).to_owned()),
            ("classes", classes.join(", ")),
            ("is_default", if self.is_default { "yes" } else { "no" }.to_owned()),
        ]
    }
}

/// A class as people read it.
pub fn class_words(class: &str) -> &str {
    if class.is_empty() { "the hub's default" } else { class }
}

/// A policy in a VDC's profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VdcPolicy {
    pub id: PolicyId,
    pub name: String,
    pub description: String,
    /// None: no limit but the VDC's own.
    pub limit_mb: Option<i64>,
    pub used_mb: i64,
    /// Taken where nobody says another.
    pub is_default: bool,
}

/// The id of a storage policy within a VDC, on VCD's wire: each VDC has its own profile of it.
pub fn profile_id(vdc: VdcId, policy: PolicyId) -> Uuid {
    crate::mixed(vdc.0, policy.0)
}

/// What can be set in a VDC's profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VdcPolicySpec {
    pub id: PolicyId,
    pub limit_mb: Option<i64>,
    pub is_default: bool,
}

/// A VDC's whole profile, by names, for the audit.
pub struct Profile<'a>(pub &'a [VdcPolicy]);

impl Fields for Profile<'_> {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let one = |p: &VdcPolicy| {
            let limit = p.limit_mb.map_or_else(|| "no limit".to_owned(), |mb| Measure::Storage.words(mb));
            format!("{} ({limit})", p.name)
        };
        let default = self.0.iter().find(|p| p.is_default).map(|p| p.name.clone()).unwrap_or_default();
        vec![("policies", self.0.iter().map(one).collect::<Vec<_>>().join(", ")), ("default_policy", default)]
    }
}

impl VdcPolicy {
    /// Does that much more stay within its limit?
    pub fn admit(&self, more_mb: i64, vdc: &str) -> Result<()> {
        let Some(limit) = self.limit_mb.filter(|l| more_mb > 0 && self.used_mb.saturating_add(more_mb) > *l) else {
            return Ok(());
        };
        let m = Measure::Storage;
        let left = (limit - self.used_mb).max(0);
        let message = format!(
            "{} asked for, and the storage policy {} has {} of {} left in VDC {vdc}. Ask for less, free some, choose another policy, or have the limit raised.",
            m.words(more_mb),
            self.name,
            m.number(left),
            m.words(limit),
        );
        Err(Error::OverQuota(FieldError { field: m.asked_in(), message }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_checked_and_a_hub_is_named_once() {
        let class = |hub: &str, class: &str| HubClass { hub: hub.into(), class: class.into() };
        let spec = StoragePolicySpec {
            name: "gold".into(),
            class: " fast ".into(),
            classes: vec![class("two", "nvme"), class("one", ""), class("two", "ssd")],
            ..StoragePolicySpec::default()
        };
        let spec = spec.check().expect("good");
        assert_eq!((spec.class.as_str(), spec.classes.len()), ("fast", 2));
        for bad in ["Fast", "-a", "a_b", "a/b", "a."] {
            let spec = StoragePolicySpec { name: "gold".into(), class: bad.into(), ..StoragePolicySpec::default() };
            assert_eq!(spec.check().expect_err(bad).fields()[0].field, "class");
        }
    }

    #[test]
    fn a_full_policy_says_what_is_left() {
        let id = PolicyId(uuid::Uuid::nil());
        let p = VdcPolicy {
            id,
            name: "gold".into(),
            description: String::new(),
            limit_mb: Some(10_240),
            used_mb: 8192,
            is_default: true,
        };
        assert!(p.admit(2048, "prod").is_ok() && p.admit(-1, "prod").is_ok());
        let why = p.admit(2049, "prod").expect_err("too much").to_string();
        assert!(why.contains("gold has 2 of 10 GB left in VDC prod"), "{why}");
    }
}
