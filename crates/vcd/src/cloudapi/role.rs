//! Roles of an organization, and the rights in them.
use super::{
    page::{EntityRef, Fields, Values, asked, at_hand, page, tagged, version},
    right,
};
use crate::{
    answer::Answer,
    ask::Ask,
    openapi::{Is, Schema, Told, read, sent},
    routes::Routes,
};
use domain::role;
use model::{
    Kind, OrgId, Result, Rights, RoleId,
    role::{Role, RoleForm},
};
use serde::Deserialize;
use serde_json::{Value, json};

const FIELDS: Fields = &[
    ("id", "id"),
    ("name", "name"),
    ("description", "description"),
    ("readOnly", "readOnly"),
    ("bundleKey", "bundleKey"),
    ("orgRef.id", "orgRef.id"),
];

pub(crate) fn routes(routes: Routes) -> Routes {
    let rights = "/cloudapi/1.0.0/roles/{id}/rights";
    let after = "RightRef";
    routes
        .get("/cloudapi/1.0.0/roles", list)
        .told(Told::page("Roles that users of the organization can have", "Role", FIELDS))
        .post("/cloudapi/1.0.0/roles", create)
        .told(Told::made("Create a role; its rights come afterwards", "Role").takes("RoleChange"))
        .get("/cloudapi/1.0.0/roles/{id}", get)
        .told(Told::one("One role", "Role"))
        .put("/cloudapi/1.0.0/roles/{id}", edit)
        .told(Told::one("Change a role's name and description", "Role").takes("RoleChange"))
        .delete("/cloudapi/1.0.0/roles/{id}", delete)
        .told(Told::done("Delete a role that nobody has"))
        .get(rights, rights_of)
        .told(Told::page("The rights of a role", after, right::REFS))
        .put(rights, |ask| set_rights(ask, false))
        .told(Told::page("Give a role these rights and no others", after, &[]).takes("Rights"))
        .post(rights, |ask| set_rights(ask, true))
        .told(Told::page("Give a role these rights as well", after, &[]).takes("Rights"))
}

pub(crate) fn schemas() -> Vec<Schema> {
    let role = vec![
        ("id", Is::Urn),
        ("name", Is::Text),
        ("description", Is::Text),
        ("bundleKey", Is::Text),
        ("readOnly", Is::Bool),
    ];
    let change = vec![("name", Is::Text), ("description", Is::MaybeText)];
    vec![
        sent("Role", role),
        read("RoleChange", &["name"], change),
        read("Rights", &["values"], vec![("values", Is::Refs)]),
        sent("RightRef", vec![("name", Is::Text), ("id", Is::Urn)]),
    ]
}

#[derive(Deserialize)]
struct Change {
    name: String,
    description: Option<String>,
}

/// The organization whose roles are meant: one's own, or the one that the provider acts in.
fn org(ask: &Ask) -> OrgId {
    ask.context.unwrap_or(ask.actor.org)
}

async fn list(ask: Ask) -> Result<Answer> {
    let q = asked(&ask, FIELDS)?;
    let found = role::query(ask.d(), &ask.actor, Some(org(&ask)), &q).await?;
    Ok(page(&ask, &q, found, |role| write(&role)))
}

async fn find(ask: &Ask) -> Result<Role> {
    role::get(ask.d(), &ask.actor, ask.id(Kind::Role)?, Some(org(ask))).await
}

async fn get(ask: Ask) -> Result<Answer> {
    Ok(answer(&find(&ask).await?))
}

async fn create(ask: Ask) -> Result<Answer> {
    let new: Change = ask.json()?;
    let form = RoleForm { name: new.name, description: new.description.unwrap_or_default(), rights: Rights::NONE };
    let role = role::create(ask.d(), &ask.actor, org(&ask), form).await?;
    let location = ask.base().cloudapi(format_args!("1.0.0/roles/{}", role.id.urn()));
    Ok(answer(&role).created(location))
}

async fn edit(ask: Ask) -> Result<Answer> {
    let change: Change = ask.json()?;
    let role = find(&ask).await?;
    let before = RoleForm::from(&role);
    let description = change.description.unwrap_or(before.description);
    let form = RoleForm { name: change.name, description, rights: before.rights };
    let role = role::edit(ask.d(), &ask.actor, role.id, version(&ask, role.version)?, form).await?;
    Ok(answer(&role))
}

async fn delete(ask: Ask) -> Result<Answer> {
    let id: RoleId = ask.id(Kind::Role)?;
    role::delete(ask.d(), &ask.actor, id).await?;
    Ok(Answer::nothing())
}

async fn rights_of(ask: Ask) -> Result<Answer> {
    let role = find(&ask).await?;
    at_hand(&ask, right::REFS, right::references(role.rights))
}

async fn set_rights(ask: Ask, as_well: bool) -> Result<Answer> {
    let sent: Values<EntityRef> = ask.json()?;
    let role = find(&ask).await?;
    let before = RoleForm::from(&role);
    let mut rights = right::read(&sent.values)?;
    if as_well {
        before.rights.iter().for_each(|right| rights.insert(right));
    }
    let role = match rights == before.rights && !role.predefined() {
        true => role,
        false => {
            let form = RoleForm { rights, ..before };
            role::edit(ask.d(), &ask.actor, role.id, version(&ask, role.version)?, form).await?
        }
    };
    at_hand(&ask, right::REFS, right::references(role.rights))
}

fn answer(role: &Role) -> Answer {
    tagged(Answer::json(&write(role)), role.version)
}

fn write(r: &Role) -> Value {
    json!({
        "id": r.id.urn(),
        "name": r.name,
        "description": r.description,
        "bundleKey": "com.vmware.vcloud.undefined.key",
        "readOnly": r.predefined(),
    })
}
