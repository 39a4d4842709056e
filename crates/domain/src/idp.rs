//! The identity provider of an organization: setting it, and what its word is worth at sign-in.
mod entry;
mod grant;
mod seal;

pub use entry::{Identity, refuse, sign_in};
pub use seal::{ClientSecret, Sealer};

use crate::Domain;
use model::{Action, Actor, Error, Result, RoleId, idp::IdpSpec, org::Org, role::Role};
use store::{IdentityProvider, Record};

/// Sets an organization's identity provider. Without a `secret` the one that is kept already stays. Sessions that began by
/// the old one's word end. False: everything was so already, and nothing happened.
pub async fn set(
    d: &Domain,
    actor: &Actor,
    sealer: &Sealer,
    org: &str,
    spec: IdpSpec,
    secret: Option<ClientSecret>,
) -> Result<bool> {
    let action = Action::IdpSet;
    d.attempt(actor, action, async {
        let org = d.store.org_by_name(actor, action, org).await?;
        let spec = spec.check()?;
        let roles = d.store.roles_of(org.id, org.is_provider).await?;
        let grantable = actor.grantable(org.is_provider);
        let role = |field, name: &str| {
            grant::role_named(&roles, grantable, &org.name, name).map_err(|m| Error::field(field, m))
        };
        let groups = spec.groups.iter().map(|(group, name)| Ok((group.clone(), role("groups", name)?)));
        let groups = groups.collect::<Result<Vec<(String, RoleId)>>>()?;
        let default_role = spec.default_role.as_deref().map(|name| role("default_role", name)).transpose()?;

        let mut tx = d.store.write(actor).await?;
        let org = tx.org(action, org.id).await?;
        let old = tx.identity_provider(&org).await?;
        // what can't be opened any more is as good as none
        let kept = old.as_ref().and_then(|old| sealer.open(org.id, &old.client_secret).ok());
        let secret = secret.or_else(|| kept.clone()).ok_or_else(|| {
            Error::field("client_secret", "The secret that the identity provider gave this client is needed.")
        })?;
        let new = IdentityProvider {
            org: org.id,
            org_name: org.name.clone(),
            org_is_provider: org.is_provider,
            issuer: spec.issuer,
            client_id: spec.client_id,
            client_secret: sealer.seal(org.id, &secret)?,
            groups_claim: spec.groups_claim,
            scopes: spec.scopes,
            default_role,
            groups,
            version: 0,
        };
        let before = old.as_ref().map(|old| spec_of(old, &roles));
        let after = spec_of(&new, &roles);
        if before.as_ref() == Some(&after) && kept.as_ref() == Some(&secret) {
            return Ok(false);
        }
        tx.identity_provider_set(&org, &new).await?;
        tx.identity_provider_end_sessions(&org).await?;
        let record = Record::new(action, org.id, org.id, &org.name).after(&after);
        let record = before.iter().fold(record, |record, before| record.before(before));
        tx.commit(record).await?;
        Ok(true)
    })
    .await
}

/// Everything but the secret.
pub async fn show(d: &Domain, actor: &Actor, org: &str) -> Result<IdpSpec> {
    let action = Action::IdpView;
    let org = d.store.org_by_name(actor, action, org).await?;
    let roles = d.store.roles_of(org.id, org.is_provider).await?;
    let found = d.store.identity_provider_of(&org).await?.ok_or_else(|| none(&org))?;
    Ok(spec_of(&found, &roles))
}

/// Users it vouched for stay, but can't sign in any more; their sessions end.
pub async fn remove(d: &Domain, actor: &Actor, org: &str) -> Result<()> {
    let action = Action::IdpRemove;
    d.attempt(actor, action, async {
        let org = d.store.org_by_name(actor, action, org).await?;
        let roles = d.store.roles_of(org.id, org.is_provider).await?;
        let mut tx = d.store.write(actor).await?;
        let org = tx.org(action, org.id).await?;
        let old = tx.identity_provider(&org).await?.ok_or_else(|| none(&org))?;
        tx.identity_provider_remove(&org).await?;
        tx.identity_provider_end_sessions(&org).await?;
        tx.commit(Record::new(action, org.id, org.id, &org.name).before(&spec_of(&old, &roles))).await?;
        Ok(())
    })
    .await
}

fn none(org: &Org) -> Error {
    Error::NotNow(format!("{} has no identity provider.", org.name))
}

/// With the roles' names. A role that has been deleted gives nothing, and is named so.
fn spec_of(p: &IdentityProvider, roles: &[Role]) -> IdpSpec {
    let name = |id: RoleId| match roles.iter().find(|r| r.id == id) {
        Some(role) => role.name.clone(),
        None => "(a deleted role)".to_owned(),
    };
    IdpSpec {
        issuer: p.issuer.clone(),
        client_id: p.client_id.clone(),
        groups_claim: p.groups_claim.clone(),
        scopes: p.scopes.clone(),
        groups: p.groups.iter().map(|(group, role)| (group.clone(), name(*role))).collect(),
        default_role: p.default_role.map(name),
    }
}
