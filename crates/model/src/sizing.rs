//! Sizing policies: the provider's sizes for VMs. On hubs they are instance types, made where a VM needs them.
use crate::{Fields, HubId, Problems, Result, SizingId, VdcId, name, quota::Measure, vm::check_size};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SizingPolicy {
    pub id: SizingId,
    pub name: String,
    pub description: String,
    pub cpus: i32,
    pub memory_mb: i64,
    pub more: SizingMore,
    /// VDCs that may use it, and VMs that have it.
    pub vdcs: Vec<String>,
    pub vms: Vec<String>,
    /// The hubs that have it, and those that are to.
    pub hubs: Vec<(crate::HubId, bool)>,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub updated_by: String,
}

/// What VCD's clients set besides, kept as it was given. KubeVirt has nothing like it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SizingMore {
    pub cores_per_socket: Option<i32>,
    pub cpu_speed_mhz: Option<i64>,
    /// In percent.
    pub cpu_reservation: Option<i16>,
    pub cpu_limit_mhz: Option<i64>,
    pub cpu_shares: Option<i64>,
    /// In percent.
    pub memory_reservation: Option<i16>,
    pub memory_limit_mb: Option<i64>,
    pub memory_shares: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SizingSpec {
    pub name: String,
    pub description: String,
    pub cpus: i32,
    pub memory_mb: i64,
    pub more: SizingMore,
}

impl SizingSpec {
    pub fn check(self) -> Result<SizingSpec> {
        let mut problems = Problems::default();
        let name = problems.take("name", name::check_name(&self.name));
        let description = problems.take("description", name::check_text(&self.description));
        check_size(self.cpus, self.memory_mb, &mut problems);
        let shares =
            [("cpu_reservation", self.more.cpu_reservation), ("memory_reservation", self.more.memory_reservation)];
        for (field, percent) in shares {
            if percent.is_some_and(|p| !(0..=100).contains(&p)) {
                problems.add(field, "From 0 to 100 percent, or empty.");
            }
        }
        problems.done()?;
        Ok(SizingSpec { name, description, ..self })
    }
}

impl From<&SizingPolicy> for SizingSpec {
    fn from(p: &SizingPolicy) -> SizingSpec {
        SizingSpec {
            name: p.name.clone(),
            description: p.description.clone(),
            cpus: p.cpus,
            memory_mb: p.memory_mb,
            more: p.more,
        }
    }
}

/// "2 vCPU and 4 GB".
pub fn size_words(cpus: i32, memory_mb: i64) -> String {
    format!("{} and {}", Measure::Cpus.words(cpus.into()), Measure::Memory.words(memory_mb))
}

impl Fields for SizingSpec {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let percent = |p: Option<i16>| p.map_or_else(|| "none".to_owned(), |p| format!("{p} %"));
        vec![
            ("name", self.name.clone()),
            ("description", self.description.clone()),
            ("cpus", Measure::Cpus.words(self.cpus.into())),
            ("memory", Measure::Memory.words(self.memory_mb)),
            ("cpu_reservation", percent(self.more.cpu_reservation)),
            ("memory_reservation", percent(self.more.memory_reservation)),
        ]
    }
}

/// A policy that a VDC may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VdcSizing {
    pub id: SizingId,
    pub vdc: VdcId,
    pub name: String,
    pub description: String,
    pub cpus: i32,
    pub memory_mb: i64,
    /// Taken where nobody says another.
    pub is_default: bool,
    pub vms: i64,
}

/// What a VDC may use, in words.
pub struct Sizes<'a>(pub &'a [VdcSizing]);

impl Fields for Sizes<'_> {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let names: Vec<&str> = self.0.iter().map(|p| p.name.as_str()).collect();
        let default = self.0.iter().find(|p| p.is_default).map_or("none", |p| &p.name);
        vec![("sizes", names.join(", ")), ("default_size", default.to_owned())]
    }
}
/// A size that hubs have by themselves, as an instance type of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubSize {
    pub name: String,
    pub cpus: i64,
    pub memory_mb: i64,
    pub hubs: Vec<HubId>,
}
