//! Storage policies, and their part in each VDC.
use super::page::{Fields, asked, at_hand, page, reference};
use crate::{
    answer::Answer,
    ask::{Ask, read_id},
    openapi::{Is, Schema, Told, sent},
    routes::Routes,
    wire::href::{mixed, urn},
};
use domain::storage;
use model::{
    Error, Kind, PolicyId, Result,
    list::{self, ListQuery},
    query::Numbered,
    storage::{StoragePolicy, VdcProfile},
};
use serde_json::{Value, json};

const FIELDS: Fields = &[
    ("id", "id"),
    ("name", "name"),
    ("isEnabled", "isEnabled"),
    ("orgVdcRef.id", "vdc"),
    ("orgVdcRef.name", "vdcName"),
];
const POLICIES: Fields = &[("id", "id"), ("name", "name"), ("isEnabled", "isEnabled")];

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/cloudapi/1.0.0/orgVdcStoragePolicies", profiles)
        .told(Told::page("Storage policies of VDCs", "OrgVdcStoragePolicy", FIELDS))
        .get("/cloudapi/1.0.0/orgVdcStoragePolicies/{id}", profile)
        .told(Told::one("One storage policy of a VDC", "OrgVdcStoragePolicy"))
        .get("/cloudapi/1.0.0/pvdcStoragePolicies", policies)
        .told(Told::page("Storage policies of the provider", "PvdcStoragePolicy", POLICIES))
        .get("/cloudapi/1.0.0/pvdcStoragePolicies/{id}", policy)
        .told(Told::one("One storage policy of the provider", "PvdcStoragePolicy"))
}

pub(crate) fn schemas() -> Vec<Schema> {
    let of_vdc = vec![
        ("id", Is::Urn),
        ("name", Is::Text),
        ("isEnabled", Is::Bool),
        ("isDefaultStoragePolicy", Is::Bool),
        ("storageLimitMb", Is::Int),
        ("storageUsedMb", Is::Int),
        ("orgVdcRef", Is::Ref),
        ("pvdcStoragePolicyRef", Is::Ref),
    ];
    let of_provider = vec![
        ("id", Is::Urn),
        ("name", Is::Text),
        ("description", Is::Text),
        ("isEnabled", Is::Bool),
        ("usedMb", Is::Int),
    ];
    vec![sent("OrgVdcStoragePolicy", of_vdc), sent("PvdcStoragePolicy", of_provider)]
}

async fn profiles(ask: Ask) -> Result<Answer> {
    let q = asked(&ask, FIELDS)?;
    let found = storage::query_profiles(ask.d(), &ask.actor, ask.context, &q).await?;
    Ok(page(&ask, &q, found, |profile| write(&profile)))
}

/// Its id is made of the VDC's and the policy's, and is found among those that the asker sees.
async fn profile(ask: Ask) -> Result<Answer> {
    let id = read_id(ask.part("id"), Kind::StoragePolicy)?;
    let q = Numbered::with("id", id.to_string());
    let found = storage::query_profiles(ask.d(), &ask.actor, None, &q).await?;
    let profile = found.items.first().ok_or(Error::NotFound(Kind::StoragePolicy))?;
    Ok(Answer::json(&write(profile)))
}

async fn policies(ask: Ask) -> Result<Answer> {
    let mut q = ListQuery { limit: 1000, ..ListQuery::first(&list::POLICIES) };
    let mut all = Vec::new();
    loop {
        let page = storage::list(ask.d(), &ask.actor, &q).await?;
        all.extend(page.items.iter().map(write_policy));
        match page.after {
            Some(cursor) => q.cursor = Some(cursor),
            None => return at_hand(&ask, POLICIES, all),
        }
    }
}

async fn policy(ask: Ask) -> Result<Answer> {
    let id = PolicyId(super::right::id_of(&ask, "providerVdcStorageProfile", "storage policy")?.unwrap_or_default());
    let policy = storage::get(ask.d(), &ask.actor, id).await?;
    Ok(Answer::json(&write_policy(&policy)))
}

fn write(p: &VdcProfile) -> Value {
    json!({
        "id": urn("vdcstorageProfile", mixed(p.vdc.0, p.policy.id.0)),
        "name": p.policy.name,
        "isEnabled": true,
        "isDefaultStoragePolicy": p.policy.is_default,
        "storageLimitMb": p.policy.limit_mb.unwrap_or(0),
        "storageUsedMb": p.policy.used_mb,
        "orgVdcRef": reference(&p.vdc_name, p.vdc.urn()),
        "pvdcStoragePolicyRef": reference(&p.policy.name, urn("providerVdcStorageProfile", p.policy.id)),
    })
}

fn write_policy(p: &StoragePolicy) -> Value {
    json!({
        "id": urn("providerVdcStorageProfile", p.id),
        "name": p.name,
        "description": p.description,
        "isEnabled": true,
        "usedMb": p.used_mb,
    })
}
