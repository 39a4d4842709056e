//! Affinity rules of a VDC: which of its VMs are kept on one node, and which apart.
use crate::{AffinityId, Fields, HubId, OrgId, Problems, Result, VappId, VdcId, VmId, name};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// At most so many VMs in one rule.
pub const MOST_VMS: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AffinityRule {
    pub id: AffinityId,
    pub org: OrgId,
    pub vdc: VdcId,
    pub vdc_name: String,
    pub name: String,
    /// On one node; else each on another.
    pub together: bool,
    /// A VM does not start where that can't be; else it is a wish.
    pub mandatory: bool,
    pub enabled: bool,
    /// Those that are there.
    pub vms: Vec<RuleVm>,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub updated_by: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleVm {
    pub id: VmId,
    pub name: String,
    /// It has run since before the rule became what it is, and is moved by nobody: the rule counts at its next start.
    pub waits: bool,
}

/// A VM as a rule looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleCandidate {
    pub id: VmId,
    pub name: String,
    pub vapp: VappId,
    pub vapp_name: String,
    pub hub: Option<HubId>,
}

impl AffinityRule {
    /// With fewer than two VMs there is nothing to keep together or apart.
    pub fn idle(&self) -> bool {
        self.vms.len() < 2
    }

    pub fn spec(&self) -> AffinitySpec {
        AffinitySpec {
            name: self.name.clone(),
            together: self.together,
            mandatory: self.mandatory,
            enabled: self.enabled,
            vms: self.vms.iter().map(|v| v.id).collect(),
        }
    }

    pub fn names(&self) -> Vec<String> {
        self.vms.iter().map(|v| v.name.clone()).collect()
    }
}

pub fn polarity(together: bool) -> &'static str {
    if together { "Together" } else { "Apart" }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AffinitySpec {
    pub name: String,
    pub together: bool,
    pub mandatory: bool,
    pub enabled: bool,
    pub vms: Vec<VmId>,
}

impl AffinitySpec {
    pub fn check(mut self) -> Result<AffinitySpec> {
        let mut problems = Problems::default();
        self.name = problems.take("name", name::check_title(&self.name));
        self.vms.sort_unstable();
        self.vms.dedup();
        match self.vms.len() {
            0..=1 => problems.add("vms", "At least two VMs: one alone is with nobody and apart from nobody."),
            n if n > MOST_VMS => problems.add("vms", format!("At most {MOST_VMS} VMs.")),
            _ => {}
        }
        problems.done()?;
        Ok(self)
    }
}

/// A rule with the names of its VMs, which mean more to a reader than their ids.
impl Fields for (&AffinitySpec, &[String]) {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let (rule, vms) = self;
        let yes = |b: bool| if b { "yes" } else { "no" }.to_owned();
        vec![
            ("name", rule.name.clone()),
            ("polarity", polarity(rule.together).to_owned()),
            ("mandatory", yes(rule.mandatory)),
            ("enabled", yes(rule.enabled)),
            ("vms", vms.join(", ")),
        ]
    }
}
