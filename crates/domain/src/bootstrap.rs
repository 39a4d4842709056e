//! The first things in an empty installation: the provider's organization and somebody to run it.
use crate::{Domain, user};
use model::{
    Action, Actor, Result, RoleId,
    org::PROVIDER,
    role::Predefined,
    user::{NewUser, Password, User, UserSpec},
};

/// The operator at the command line, with the provider's organization made if there is none.
pub async fn operator(d: &Domain) -> Result<Actor> {
    let (id, name) = d.store.ensure_provider_org(PROVIDER).await?;
    Ok(Actor::operator(id, &name))
}

/// `ssvirt user create-admin`: an administrator of the provider or, with `org`, of a tenant.
pub async fn create_admin(d: &Domain, org: Option<&str>, name: &str, password: Password) -> Result<User> {
    let actor = operator(d).await?;
    let action = Action::UserCreate;
    let org = d.store.org_by_name(&actor, action, org.unwrap_or(PROVIDER)).await?;
    let role: RoleId =
        if org.is_provider { Predefined::SystemAdministrator.id() } else { Predefined::OrganizationAdministrator.id() };
    let spec = UserSpec {
        name: name.into(),
        full_name: String::new(),
        email: String::new(),
        role,
        limits: Default::default(),
    };
    user::create(d, &actor, org.id, NewUser::of(spec, password)).await
}
