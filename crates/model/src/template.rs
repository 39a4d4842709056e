//! Templates: what a vApp is made from. They come from hubs, and a catalog shows them.
use crate::{
    CatalogId, OrgId, TemplateId,
    hub::HubId,
    vm::{Disk, Nic},
};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// One machine of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateVm {
    pub name: String,
    pub cpus: i32,
    pub memory_mb: i64,
    pub instance_type: String,
    pub preference: String,
    pub disks: Vec<Disk>,
    pub nics: Vec<Nic>,
    pub os: String,
}

/// Something a template asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameter {
    pub name: String,
    pub label: String,
    pub description: String,
    pub value: String,
    pub required: bool,
    /// Made up by the template if nothing is given.
    pub generated: bool,
}

/// What a hub has, as read from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateSpec {
    pub name: String,
    pub description: String,
    pub os: String,
    pub icon: String,
    /// OpenShift makes the machines, through a TemplateInstance.
    pub by_instance: bool,
    pub vms: Vec<TemplateVm>,
    pub parameters: Vec<Parameter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Template {
    pub id: TemplateId,
    pub catalog: CatalogId,
    pub catalog_name: String,
    pub org: OrgId,
    pub org_name: String,
    pub name: String,
    pub description: String,
    /// What it is called on hubs; empty: it is not from one.
    pub source: String,
    pub by_instance: bool,
    pub os: String,
    pub icon: String,
    pub vms: Vec<TemplateVm>,
    pub parameters: Vec<Parameter>,
    /// Where it is to be had now.
    pub hubs: Vec<HubId>,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
}

impl Template {
    /// No hub has it any more.
    pub fn vanished(&self) -> bool {
        !self.source.is_empty() && self.hubs.is_empty()
    }

    pub fn cpus(&self) -> i64 {
        self.vms.iter().map(|v| i64::from(v.cpus)).sum()
    }

    pub fn memory_mb(&self) -> i64 {
        self.vms.iter().map(|v| v.memory_mb).sum()
    }

    pub fn storage_mb(&self) -> i64 {
        self.vms.iter().flat_map(|v| &v.disks).map(|d| d.size_mb).sum()
    }
}
