//! Rights and their categories. They are the same everywhere; their ids are made of their names.
use super::page::{EntityRef, Fields, at_hand, missing, reference};
use crate::{
    answer::Answer,
    ask::{Ask, shown},
    openapi::{Is, Schema, Told, sent},
    routes::Routes,
    wire::href::{derived, right_id, urn},
};
use model::{
    Action, Error, Result, Right, Rights,
    decide::{Resource, authorize},
    query::last_uuid,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use uuid::Uuid;

const FIELDS: Fields = &[
    ("id", "id"),
    ("name", "name"),
    ("description", "description"),
    ("category", "category"),
    ("bundleKey", "bundleKey"),
    ("rightType", "rightType"),
];
pub(super) const REFS: Fields = &[("id", "id"), ("name", "name")];

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/cloudapi/1.0.0/rights", list)
        .told(Told::page("Rights that roles of the organization can have", "Right", FIELDS))
        .get("/cloudapi/1.0.0/rights/{id}", get)
        .told(Told::one("One right", "Right"))
        .get("/cloudapi/1.0.0/rightsCategories", categories)
        .told(Told::page("What rights are listed by", "RightsCategory", REFS))
        .get("/cloudapi/1.0.0/rightsCategories/{id}", category)
        .told(Told::one("One category of rights", "RightsCategory"))
}

pub(crate) fn schemas() -> Vec<Schema> {
    let right = vec![
        ("id", Is::Urn),
        ("name", Is::Text),
        ("description", Is::Text),
        ("bundleKey", Is::Text),
        ("category", Is::Urn),
        ("serviceNamespace", Is::MaybeText),
        ("rightType", Is::Text),
        ("impliedRights", Is::Refs),
    ];
    let category = vec![("id", Is::Urn), ("name", Is::Text), ("bundleKey", Is::Text), ("parent", Is::MaybeText)];
    vec![sent("Right", right), sent("RightsCategory", category)]
}

/// What roles here can have, for those who may see roles.
fn possible(ask: &Ask) -> Result<Rights> {
    let org = ask.context.unwrap_or(ask.actor.org);
    authorize(&ask.actor, Action::RoleList, Resource::Of(org))?;
    Ok(if ask.actor.provider && ask.context.is_none() { Rights::all() } else { Rights::tenant() })
}

pub(super) fn references(rights: Rights) -> Vec<Value> {
    rights.iter().map(|r| reference(r.name(), right_urn(r))).collect()
}

fn right_urn(right: Right) -> String {
    urn("right", right_id(right.name()))
}

/// Those that are named, by id or by name.
pub(super) fn read(sent: &[EntityRef]) -> Result<Rights> {
    let one = |wanted: &EntityRef| {
        let by_id = wanted.id.as_deref().and_then(last_uuid);
        let found = match (by_id, wanted.name.as_deref()) {
            (Some(id), _) => Right::ALL.iter().copied().find(|r| right_id(r.name()) == id),
            (None, Some(name)) => Right::parse(name),
            (None, None) => None,
        };
        found.ok_or_else(|| {
            let called = wanted.name.as_deref().or(wanted.id.as_deref()).unwrap_or_default();
            Error::BadRequest(format!("There is no right “{}”.", shown(called)))
        })
    };
    sent.iter().map(one).collect()
}

/// The id in the address: a URN of that kind, or bare.
pub(super) fn id_of(ask: &Ask, kind: &str, what: &str) -> Result<Option<Uuid>> {
    let text = ask.part("id");
    let bare = match text.strip_prefix("urn:vcloud:") {
        None => Some(text),
        Some(rest) => rest.strip_prefix(kind).and_then(|rest| rest.strip_prefix(':')),
    };
    let bare = bare.ok_or_else(|| {
        Error::BadRequest(format!("“{}” is an id of another kind: here goes one of: {what}.", shown(text)))
    })?;
    Ok(Uuid::try_parse(bare).ok())
}

async fn list(ask: Ask) -> Result<Answer> {
    let all = possible(&ask)?.iter().map(write).collect();
    at_hand(&ask, FIELDS, all)
}

async fn get(ask: Ask) -> Result<Answer> {
    let all = possible(&ask)?;
    let id = id_of(&ask, "right", "right")?;
    let found = all.iter().find(|r| Some(right_id(r.name())) == id);
    Ok(found.map_or_else(|| missing("right"), |right| Answer::json(&write(right))))
}

fn names(rights: Rights) -> BTreeSet<&'static str> {
    rights.iter().map(Right::category).collect()
}

async fn categories(ask: Ask) -> Result<Answer> {
    let all = names(possible(&ask)?).into_iter().map(write_category).collect();
    at_hand(&ask, REFS, all)
}

async fn category(ask: Ask) -> Result<Answer> {
    let all = names(possible(&ask)?);
    let id = id_of(&ask, "rightsCategory", "category of rights")?;
    let found = all.into_iter().find(|name| Some(category_id(name)) == id);
    Ok(found.map_or_else(|| missing("category of rights"), |name| Answer::json(&write_category(name))))
}

fn category_id(name: &str) -> Uuid {
    derived("rightsCategory", name)
}

fn write_category(name: &str) -> Value {
    json!({"id": urn("rightsCategory", category_id(name)), "name": name, "bundleKey": KEY, "parent": null})
}

pub(super) const KEY: &str = "com.vmware.vcloud.undefined.key";

fn write(r: Right) -> Value {
    let looks = r.name().contains(": View") || r.name().ends_with(" View");
    json!({
        "id": right_urn(r),
        "name": r.name(),
        "description": r.name(),
        "bundleKey": KEY,
        "category": urn("rightsCategory", category_id(r.category())),
        "serviceNamespace": null,
        "rightType": if looks { "VIEW" } else { "MODIFY" },
        "impliedRights": [],
    })
}
