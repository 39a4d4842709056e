//! The first things in an empty installation: the provider's organization and somebody to run it.
use crate::{Domain, user};
use model::{
    Action, Actor, Result, RoleId, UserId,
    org::PROVIDER,
    role::Predefined,
    user::{NewUser, Password, User, UserSpec},
};
use store::Record;
use uuid::Uuid;

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
    user::create(d, &actor, org.id, NewUser { spec, password }).await
}

/// The demonstration's administrator: made once, with the password from its table.
pub async fn ensure_user(d: &Domain, org: model::OrgId, spec: UserSpec, password: &Password) -> Result<bool> {
    let actor = operator(d).await?;
    let org = d.store.org(&actor, Action::OrgView, org).await?;
    if d.store.credentials(&org.name, &spec.name).await?.is_some() {
        return Ok(false);
    }
    let hash = d.hasher.hash(password).await?;
    let id = UserId(Uuid::now_v7());
    let mut tx = d.store.write(&actor).await?;
    tx.user_insert(id, org.id, &spec, &hash).await?;
    let role = Predefined::of(spec.role).map_or("", Predefined::name);
    tx.commit(Record::new(Action::UserCreate, org.id, id, &spec.name).after(&(&spec, role))).await?;
    Ok(true)
}
