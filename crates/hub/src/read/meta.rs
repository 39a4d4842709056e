//! What every object says about itself.
use super::json::{at, map, number, owned, some, time};
use crate::{
    Key,
    shape::names::{DISK_ID, MANAGED_BY, ORG_ID, OURS, VAPP_ID, VDC_ID, VM_ID},
};
use model::{OrgId, VdcId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use time::OffsetDateTime;
use uuid::Uuid;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    pub key: Key,
    pub uid: String,
    pub resource_version: String,
    pub generation: i64,
    #[serde(with = "time::serde::rfc3339::option")]
    pub created: Option<OffsetDateTime>,
    /// Set once somebody deleted it; it is there until its finalizers are done.
    #[serde(with = "time::serde::rfc3339::option")]
    pub deleting: Option<OffsetDateTime>,
    pub ids: Ids,
}

/// The ids in our labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ids {
    pub ours: bool,
    pub org: Option<OrgId>,
    pub vdc: Option<VdcId>,
    pub vapp: Option<Uuid>,
    pub vm: Option<Uuid>,
    pub disk: Option<Uuid>,
}

/// None: no object at all (it has no name).
pub fn meta(object: &Value) -> Option<Meta> {
    let labels = map(object, "/metadata/labels");
    Some(Meta {
        key: Key::new(owned(object, "/metadata/namespace"), some(object, "/metadata/name")?),
        uid: owned(object, "/metadata/uid"),
        resource_version: owned(object, "/metadata/resourceVersion"),
        generation: number(object, "/metadata/generation").unwrap_or_default(),
        created: time(object, "/metadata/creationTimestamp"),
        deleting: deleting(object),
        ids: ids(&labels),
    })
}

/// A deletionTimestamp we can't read is still one.
fn deleting(object: &Value) -> Option<OffsetDateTime> {
    let there = at(object, "/metadata/deletionTimestamp").is_some_and(|v| !v.is_null());
    there.then(|| time(object, "/metadata/deletionTimestamp").unwrap_or(OffsetDateTime::UNIX_EPOCH))
}

fn ids(labels: &BTreeMap<String, String>) -> Ids {
    let id = |key: &str| labels.get(key).filter(|v| v.len() == 36).and_then(|v| Uuid::try_parse(v).ok());
    Ids {
        ours: labels.get(MANAGED_BY).is_some_and(|v| v == OURS),
        org: id(ORG_ID).map(OrgId),
        vdc: id(VDC_ID).map(VdcId),
        vapp: id(VAPP_ID),
        vm: id(VM_ID),
        disk: id(DISK_ID),
    }
}

/// The namespace of a VDC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedNamespace {
    pub meta: Meta,
    pub active: bool,
    /// While it is being deleted: what keeps it.
    pub held_by: Option<String>,
}

pub fn namespace(object: &Value) -> Option<ObservedNamespace> {
    let meta = meta(object)?;
    let active = meta.deleting.is_none() && super::json::text(object, "/status/phase") != "Terminating";
    let held = ["NamespaceContentRemaining", "NamespaceFinalizersRemaining", "NamespaceDeletionContentFailure"]
        .into_iter()
        .filter_map(|kind| super::json::condition(object, kind).filter(|c| c["status"] == "True"))
        .map(super::json::because)
        .collect::<Vec<_>>()
        .join("; ");
    Some(ObservedNamespace { meta, active, held_by: Some(held).filter(|h| !h.is_empty()) })
}
