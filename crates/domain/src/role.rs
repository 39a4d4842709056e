//! Roles: the predefined ones to look at, and an organization's own.
use crate::Domain;
use model::{
    Action, Actor, Error, Kind, OrgId, Result, Rights, RoleId, can, conflict,
    decide::{Resource, authorize, list_scope},
    list::{ListQuery, Page},
    query::{Found, Numbered},
    role::{Role, RoleForm},
};
use store::Record;
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &ListQuery) -> Result<Page<Role>> {
    d.store.roles(list_scope(actor, Action::RoleList, org)?, q).await
}

/// As VCD's clients ask.
pub async fn query(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<Role>> {
    d.store.roles_query(list_scope(actor, Action::RoleList, org)?, q).await
}

/// `place`: the organization it is looked at in; how many users have it is told for that one.
pub async fn get(d: &Domain, actor: &Actor, id: RoleId, place: Option<OrgId>) -> Result<Role> {
    Ok(d.store.role(actor, Action::RoleView, id, place).await?.into_inner())
}

/// The roles one can choose from for a user of an organization.
pub async fn choices(d: &Domain, actor: &Actor, org: OrgId) -> Result<Vec<Role>> {
    let org = d.store.org(actor, Action::UserList, org).await?;
    let grantable = actor.grantable(org.is_provider);
    let mut roles = d.store.roles_of(org.id, org.is_provider).await?;
    roles.retain(|r| r.rights.without(grantable).is_empty());
    Ok(roles)
}

/// The rights one can put into a role of an organization.
pub async fn possible_rights(d: &Domain, actor: &Actor, org: OrgId) -> Result<Rights> {
    let org = d.store.org(actor, Action::RoleCreate, org).await?;
    Ok(actor.grantable(org.is_provider))
}

pub async fn create(d: &Domain, actor: &Actor, org: OrgId, form: RoleForm) -> Result<Role> {
    let action = Action::RoleCreate;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Of(org))?;
        let mut tx = d.store.write(actor).await?;
        let org = tx.org(action, org).await?;
        let form = form.check(possible(org.is_provider), actor.grantable(org.is_provider))?;
        let id = RoleId(Uuid::now_v7());
        tx.role_insert(id, org.id, &form).await?;
        tx.commit(Record::new(action, org.id, id, &form.name).after(&form)).await?;
        get(d, actor, id, None).await
    })
    .await
}

/// Takes effect on the next request of everybody who has the role.
pub async fn edit(d: &Domain, actor: &Actor, id: RoleId, version: i64, form: RoleForm) -> Result<Role> {
    let action = Action::RoleEdit;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let role = tx.role(action, id).await?;
        can::or_not_now(can::role(&role, action))?;
        let Some(org) = role.org else { return Err(Error::NotFound(Kind::Role)) };
        let org = tx.org_seen(action, org).await?;
        let current = RoleForm::from(&*role);
        // what the role holds already may stay, even if the editor could not give it
        let mut grantable = actor.grantable(org.is_provider);
        role.rights.iter().for_each(|r| grantable.insert(r));
        let form = form.check(possible(org.is_provider), grantable)?;
        if version != role.version {
            let changed = (role.updated_by.as_str(), role.updated_at, role.version);
            // of the rights only those that one side has: both whole lists would hide the difference
            let theirs = RoleForm { rights: current.rights.without(form.rights), ..current };
            let yours = RoleForm { rights: form.rights.without(role.rights), ..form };
            return Err(Error::Conflict(Box::new(conflict(Kind::Role, &role.name, changed, &theirs, &yours))));
        }
        tx.role_update(&role, &form).await?;
        tx.commit(Record::new(action, org.id, id, &form.name).before(&current).after(&form)).await?;
        get(d, actor, id, None).await
    })
    .await
}

/// The name of what is gone.
pub async fn delete(d: &Domain, actor: &Actor, id: RoleId) -> Result<String> {
    let action = Action::RoleDelete;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let role = tx.role(action, id).await?;
        can::or_not_now(can::role(&role, action))?;
        let Some(org) = role.org else { return Err(Error::NotFound(Kind::Role)) };
        if !tx.role_delete(&role).await? {
            return Err(Error::NotNow("Not now: somebody has just been given the role.".into()));
        }
        tx.commit(Record::new(action, org, id, &role.name).before(&RoleForm::from(&*role))).await?;
        Ok(role.into_inner().name)
    })
    .await
}

fn possible(org_is_provider: bool) -> Rights {
    if org_is_provider { Rights::all() } else { Rights::tenant() }
}
