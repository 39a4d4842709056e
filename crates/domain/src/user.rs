//! Users of an organization.
use crate::{Domain, owner};
use model::{
    Action, Actor, Error, Kind, OrgId, Result, RoleId, UserId, can, conflict,
    decide::{Resource, authorize, list_scope},
    list::{ListQuery, Page},
    name,
    query::{Found, Numbered},
    role::{Predefined, Role},
    user::{NewUser, Password, User, UserBesides, UserSpec},
};
use store::{Authorized, Record, Write};
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &ListQuery) -> Result<Page<User>> {
    d.store.users(list_scope(actor, Action::UserList, org)?, q).await
}

/// As VCD's clients ask.
pub async fn query(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<User>> {
    d.store.users_query(list_scope(actor, Action::UserList, org)?, q).await
}

pub async fn get(d: &Domain, actor: &Actor, id: UserId) -> Result<User> {
    Ok(d.store.user(actor, Action::UserView, id).await?.into_inner())
}

pub async fn create(d: &Domain, actor: &Actor, org: OrgId, new: NewUser) -> Result<User> {
    let action = Action::UserCreate;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Of(org))?;
        let new = new.check(d.passwords)?;
        let hash = d.hasher.hash(&new.password).await?;
        let id = UserId(Uuid::now_v7());
        let mut tx = d.store.write(actor).await?;
        let org = tx.org(action, org).await?;
        let role = grant(&mut tx, actor, new.spec.role, org.id, org.is_provider).await?;
        tx.user_insert(id, org.id, &new, &hash).await?;
        let fields = (&new, role.name.as_str());
        tx.commit(Record::new(action, org.id, id, &new.spec.name).after(&fields)).await?;
        get(d, actor, id).await
    })
    .await
}

pub async fn edit(d: &Domain, actor: &Actor, id: UserId, version: i64, spec: UserSpec) -> Result<User> {
    let action = Action::UserEdit;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let user = tx.user(action, id).await?;
        let current = UserSpec::from(&*user);
        // an identity provider says who its users are; here one says what they may do
        let spec =
            if user.local() { spec } else { UserSpec { role: spec.role, limits: spec.limits, ..current.clone() } };
        let spec = spec.check()?;
        let org = tx.org_seen(action, user.org).await?;
        let role_name = if spec.role == current.role {
            user.role_name.clone()
        } else {
            if actor.user == Some(id) {
                return Err(Error::field("role", "You can't change your own role. Another administrator can."));
            }
            let role = grant(&mut tx, actor, spec.role, org.id, org.is_provider).await?;
            keep_an_administrator(&mut tx, &user).await?;
            role.name
        };
        let (theirs, yours) = ((&current, user.role_name.as_str()), (&spec, role_name.as_str()));
        if version != user.version {
            let changed = (user.updated_by.as_str(), user.updated_at, user.version);
            return Err(Error::Conflict(Box::new(conflict(Kind::User, &user.name, changed, &theirs, &yours))));
        }
        tx.user_update(&user, &spec).await?;
        tx.commit(Record::new(action, user.org, id, &spec.name).before(&theirs).after(&yours)).await?;
        get(d, actor, id).await
    })
    .await
}

/// What VCD's clients say besides: kept as it is given.
pub async fn keep(d: &Domain, actor: &Actor, id: UserId, besides: UserBesides) -> Result<User> {
    let action = Action::UserEdit;
    d.attempt(actor, action, async {
        let besides = besides.check()?;
        let mut tx = d.store.write(actor).await?;
        let user = tx.user(action, id).await?;
        if user.besides != besides {
            tx.user_keep(&user, &besides).await?;
            tx.commit(Record::new(action, user.org, id, &user.name).before(&user.besides).after(&besides)).await?;
        }
        get(d, actor, id).await
    })
    .await
}

pub async fn set_enabled(d: &Domain, actor: &Actor, id: UserId, enabled: bool) -> Result<User> {
    let action = if enabled { Action::UserEnable } else { Action::UserDisable };
    d.attempt(actor, action, async {
        let (mut tx, user) = hold(d, actor, action, id).await?;
        if !enabled {
            keep_an_administrator(&mut tx, &user).await?;
        }
        tx.user_set_enabled(&user, enabled).await?;
        tx.commit(Record::new(action, user.org, id, &user.name)).await?;
        get(d, actor, id).await
    })
    .await
}

/// A new password; the user's sessions end.
pub async fn reset_password(d: &Domain, actor: &Actor, id: UserId, password: Password) -> Result<()> {
    let action = Action::UserResetPassword;
    d.attempt(actor, action, async {
        let user = d.store.user(actor, action, id).await?;
        check_password(d, &password, &user.name)?;
        let hash = d.hasher.hash(&password).await?;
        let (mut tx, user) = hold(d, actor, action, id).await?;
        outrank(&mut tx, actor, &user).await?;
        tx.user_set_password(&user, &hash, None).await?;
        tx.commit(Record::new(action, user.org, id, &user.name)).await?;
        Ok(())
    })
    .await
}

/// The name of who is gone. What they own goes to `heir`; without one it stays as it is, and is listed as stranded.
pub async fn delete(d: &Domain, actor: &Actor, id: UserId, heir: Option<UserId>) -> Result<String> {
    let action = Action::UserDelete;
    d.attempt(actor, action, async {
        d.store.user(actor, action, id).await?;
        let mut tx = d.store.write(actor).await?;
        // things before users: the order in which all take them
        if let Some(heir) = heir {
            for what in tx.things_of(id).await? {
                let (record, ..) = owner::pass_on(&mut tx, what, heir).await?;
                tx.record(record.with_task()).await?;
            }
        }
        let user = tx.user(action, id).await?;
        can::or_not_now(can::user(&user, action, actor.user))?;
        keep_an_administrator(&mut tx, &user).await?;
        tx.user_delete(&user).await?;
        let spec = UserSpec::from(&*user);
        tx.commit(Record::new(action, user.org, id, &user.name).before(&(&spec, user.role_name.as_str()))).await?;
        Ok(user.into_inner().name)
    })
    .await
}

async fn hold<'a>(
    d: &'a Domain,
    actor: &'a Actor,
    action: Action,
    id: UserId,
) -> Result<(Write<'a>, Authorized<User>)> {
    let mut tx = d.store.write(actor).await?;
    let user = tx.user(action, id).await?;
    can::or_not_now(can::user(&user, action, actor.user))?;
    Ok((tx, user))
}

/// A role for a user, if it fits the organization and gives no right that the giver has not got.
async fn grant(tx: &mut Write<'_>, actor: &Actor, role: RoleId, org: OrgId, org_is_provider: bool) -> Result<Role> {
    let role = tx.role_for_user(role, org, org_is_provider).await.map_err(|e| match e {
        Error::NotFound(_) => Error::field("role", "Choose a role of this organization."),
        e => e,
    })?;
    match role.rights.without(actor.grantable(org_is_provider)).iter().next() {
        Some(right) => Err(Error::field(
            "role",
            format!(
                "You can't give the role {}: it has the right “{}”, which you have not got.",
                role.name,
                right.name()
            ),
        )),
        None => Ok(role),
    }
}

/// Who sets a password can become that user: only for users with no more rights than one's own.
async fn outrank(tx: &mut Write<'_>, actor: &Actor, user: &User) -> Result<()> {
    let role = tx.role_for_user(user.role, user.org, true).await?;
    if role.rights.without(actor.rights).is_empty() {
        return Ok(());
    }
    Err(Error::NotNow(format!(
        "Not now: {} has rights that you have not got. Somebody with all of them can do it.",
        user.name
    )))
}

/// The last enabled administrator of an organization stays.
async fn keep_an_administrator(tx: &mut Write<'_>, user: &User) -> Result<()> {
    // an organization's administrator can't do everything that the provider's can
    let as_able: &[Predefined] = match Predefined::of(user.role) {
        Some(Predefined::SystemAdministrator) => &[Predefined::SystemAdministrator],
        Some(Predefined::OrganizationAdministrator) => {
            &[Predefined::OrganizationAdministrator, Predefined::SystemAdministrator]
        }
        _ => return Ok(()),
    };
    if !user.enabled || tx.other_administrators(user.org, user.id, as_able).await? > 0 {
        return Ok(());
    }
    Err(Error::NotNow(format!(
        "Not now: {} is the last enabled administrator of {}. Make somebody else an administrator first.",
        user.name, user.org_name
    )))
}

pub(crate) fn check_password(d: &Domain, password: &Password, user_name: &str) -> Result<()> {
    let checked = name::check_password(password.expose(), user_name, d.passwords);
    checked.map(|_| ()).map_err(|m| Error::field("password", m))
}
