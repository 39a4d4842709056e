//! Users.
use super::page::{EntityRef, Fields, asked, page, reference, tagged, version};
use crate::{
    answer::Answer,
    ask::{Ask, read_id},
    openapi::{Is, Schema, Told, read, sent},
    routes::Routes,
};
use domain::{role, user};
use model::{
    Error, Kind, OrgId, Result, RoleId, UserId,
    quota::Limits,
    user::{NewUser, Password, User, UserBesides, UserSpec},
};
use serde::Deserialize;
use serde_json::{Value, json};

const FIELDS: Fields = &[
    ("id", "id"),
    ("username", "username"),
    ("fullName", "fullName"),
    ("email", "email"),
    ("enabled", "enabled"),
    ("locked", "locked"),
    ("orgEntityRef.id", "orgEntityRef.id"),
    ("orgEntityRef.name", "orgEntityRef.name"),
    ("roleEntityRefs.id", "roleEntityRefs.id"),
    ("roleEntityRefs.name", "roleEntityRefs.name"),
    ("providerType", "providerType"),
];

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/cloudapi/1.0.0/users", list)
        .told(Told::page("Users of the organization, or of all for the provider", "User", FIELDS))
        .post("/cloudapi/1.0.0/users", create)
        .told(Told::made("Create a user who signs in with a password", "User").takes("NewUser"))
        .get("/cloudapi/1.0.0/users/{id}", get)
        .told(Told::one("One user, never with the password", "User"))
        .put("/cloudapi/1.0.0/users/{id}", edit)
        .told(Told::one("Change a user; with a password, set that too", "User").takes("UserChange"))
        .delete("/cloudapi/1.0.0/users/{id}", delete)
        .told(Told::done("Delete a user; sessions and API tokens end at once"))
}

pub(crate) fn schemas() -> Vec<Schema> {
    let words = || {
        vec![
            ("username", Is::Text),
            ("fullName", Is::MaybeText),
            ("email", Is::MaybeText),
            ("description", Is::MaybeText),
            ("password", Is::MaybeText),
            ("enabled", Is::MaybeBool),
            ("orgEntityRef", Is::MaybeRef),
            ("roleEntityRefs", Is::Refs),
            ("storedVmQuota", Is::MaybeInt),
            ("deployedVmQuota", Is::MaybeInt),
        ]
    };
    let user = vec![
        ("id", Is::Urn),
        ("username", Is::Text),
        ("fullName", Is::Text),
        ("email", Is::Text),
        ("description", Is::Text),
        ("enabled", Is::Bool),
        ("locked", Is::Bool),
        ("providerType", Is::Text),
        ("nameInSource", Is::Text),
        ("orgEntityRef", Is::Ref),
        ("roleEntityRefs", Is::Refs),
        ("storedVmQuota", Is::Int),
        ("deployedVmQuota", Is::Int),
        ("isGroupRole", Is::Bool),
    ];
    let new = read("NewUser", &["username", "password", "roleEntityRefs"], words());
    vec![sent("User", user), new, read("UserChange", &[], words())]
}

/// What is left out stays as it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    username: Option<String>,
    full_name: Option<String>,
    email: Option<String>,
    description: Option<String>,
    password: Option<String>,
    enabled: Option<bool>,
    org_entity_ref: Option<EntityRef>,
    role_entity_refs: Option<Vec<EntityRef>>,
    stored_vm_quota: Option<i64>,
    deployed_vm_quota: Option<i64>,
}

impl Change {
    fn org(&self, ask: &Ask) -> Result<OrgId> {
        match self.org_entity_ref.as_ref().and_then(|org| org.id.as_deref()) {
            Some(id) => read_id(id, Kind::Org).map(OrgId),
            None => Ok(ask.context.unwrap_or(ask.actor.org)),
        }
    }

    /// By id, or by name among those of the organization.
    async fn role(&self, ask: &Ask, org: OrgId) -> Result<Option<RoleId>> {
        let wanted = match self.role_entity_refs.as_deref() {
            None => return Ok(None),
            Some([one]) => one,
            Some(_) => return Err(Error::field("roleEntityRefs", "A user has exactly one role.")),
        };
        match (wanted.id.as_deref(), wanted.name.as_deref()) {
            (Some(id), _) => read_id(id, Kind::Role).map(|id| Some(RoleId(id))),
            (None, Some(name)) => {
                let all = role::choices(ask.d(), &ask.actor, org).await?;
                let found = all.iter().find(|role| role.name == name).map(|role| role.id);
                found.map(Some).ok_or_else(|| Error::field("roleEntityRefs", "There is no role of that name to give."))
            }
            (None, None) => Err(Error::field("roleEntityRefs", "The role needs an id or a name.")),
        }
    }

    /// There is one limit of VMs, whether they run or not; 0 is none.
    fn limits(&self, before: Limits) -> Result<Limits> {
        let limit = match (self.stored_vm_quota, self.deployed_vm_quota) {
            (None, None) => return Ok(before),
            (Some(a), Some(b)) if a != b => {
                return Err(Error::field(
                    "deployedVmQuota",
                    "VMs have one limit here: give it as storedVmQuota, or both alike.",
                ));
            }
            (Some(limit), _) | (None, Some(limit)) => limit,
        };
        Ok(Limits { vms: Some(limit).filter(|limit| *limit != 0), ..before })
    }
}

/// Fields of the portal's forms by the names they have here.
fn named(field: &'static str) -> &'static str {
    match field {
        "name" => "username",
        "full_name" => "fullName",
        "role" => "roleEntityRefs",
        "vm_limit" => "storedVmQuota",
        other => other,
    }
}

async fn list(ask: Ask) -> Result<Answer> {
    let q = asked(&ask, FIELDS)?;
    let found = user::query(ask.d(), &ask.actor, ask.context, &q).await?;
    Ok(page(&ask, &q, found, |user| write(&user)))
}

async fn get(ask: Ask) -> Result<Answer> {
    let user = user::get(ask.d(), &ask.actor, ask.id(Kind::User)?).await?;
    Ok(answer(&user))
}

async fn create(ask: Ask) -> Result<Answer> {
    let new: Change = ask.json()?;
    let org = new.org(&ask)?;
    let role = new.role(&ask, org).await?;
    let role = role.ok_or_else(|| Error::field("roleEntityRefs", "A role is needed."))?;
    let spec = UserSpec {
        name: new.username.clone().unwrap_or_default(),
        full_name: new.full_name.clone().unwrap_or_default(),
        email: new.email.clone().unwrap_or_default(),
        role,
        limits: new.limits(Limits::default())?,
    };
    let password = Password::new(new.password.clone().unwrap_or_default());
    let description = new.description.as_deref().map(str::trim).unwrap_or_default().to_owned();
    let besides = UserBesides { description, ..UserBesides::default() };
    let new = NewUser { spec, password, besides, enabled: new.enabled.unwrap_or(true) };
    let user = user::create(ask.d(), &ask.actor, org, new).await.map_err(|e| e.rename(named))?;
    let location = ask.base().cloudapi(format_args!("1.0.0/users/{}", user.id.urn()));
    Ok(answer(&user).created(location))
}

async fn edit(ask: Ask) -> Result<Answer> {
    let id: UserId = ask.id(Kind::User)?;
    let change: Change = ask.json()?;
    let user = user::get(ask.d(), &ask.actor, id).await?;
    let (seen, before) = (version(&ask, user.version)?, UserSpec::from(&user));
    if change.org_entity_ref.is_some() && change.org(&ask)? != user.org {
        return Err(Error::field("orgEntityRef", "A user stays in one organization."));
    }
    let spec = UserSpec {
        name: change.username.clone().unwrap_or(before.name.clone()),
        full_name: change.full_name.clone().unwrap_or(before.full_name.clone()),
        email: change.email.clone().unwrap_or(before.email.clone()),
        role: change.role(&ask, user.org).await?.unwrap_or(before.role),
        limits: change.limits(before.limits)?,
    };
    let mut user = match spec == before && seen == user.version {
        true => user,
        false => user::edit(ask.d(), &ask.actor, id, seen, spec).await.map_err(|e| e.rename(named))?,
    };
    user = describe(&ask, user, change.description.as_deref()).await?;
    if let Some(password) = change.password.filter(|p| !p.is_empty()) {
        user::reset_password(ask.d(), &ask.actor, id, Password::new(password)).await?;
        user = user::get(ask.d(), &ask.actor, id).await?;
    }
    let user = set_enabled(&ask, user, change.enabled).await?;
    Ok(answer(&user))
}

async fn describe(ask: &Ask, user: User, description: Option<&str>) -> Result<User> {
    match description.map(str::trim) {
        Some(text) if text != user.besides.description => {
            let besides = UserBesides { description: text.to_owned(), ..user.besides };
            user::keep(ask.d(), &ask.actor, user.id, besides).await
        }
        _ => Ok(user),
    }
}

async fn set_enabled(ask: &Ask, user: User, enabled: Option<bool>) -> Result<User> {
    match enabled {
        Some(enabled) if enabled != user.enabled => user::set_enabled(ask.d(), &ask.actor, user.id, enabled).await,
        _ => Ok(user),
    }
}

/// What they own stays, as VCD has it.
async fn delete(ask: Ask) -> Result<Answer> {
    user::delete(ask.d(), &ask.actor, ask.id(Kind::User)?, None).await?;
    Ok(Answer::nothing())
}

fn answer(user: &User) -> Answer {
    tagged(Answer::json(&write(user)), user.version)
}

fn write(u: &User) -> Value {
    let quota = u.limits.vms.unwrap_or(0);
    json!({
        "id": u.id.urn(),
        "username": u.name,
        "fullName": u.full_name,
        "email": u.email,
        "description": u.besides.description,
        "enabled": u.enabled,
        "locked": false,
        "providerType": if u.local() { "LOCAL" } else { "OAUTH" },
        "nameInSource": u.name,
        "orgEntityRef": reference(&u.org_name, u.org.urn()),
        "roleEntityRefs": [reference(&u.role_name, u.role.urn())],
        "storedVmQuota": quota,
        "deployedVmQuota": quota,
        "isGroupRole": false,
    })
}
