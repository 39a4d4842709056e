//! The provider's own identity provider as the settings have it.
use crate::{
    database,
    settings::{Auth, Settings},
};
use anyhow::Context;
use domain::{
    Domain,
    idp::{self, ClientSecret, Sealer},
};
use model::{idp::IdpSpec, org::PROVIDER};

/// Opens and seals client secrets; None without a master secret.
pub(crate) fn sealer(auth: &Auth) -> Option<Sealer> {
    let sealer = Sealer::new(auth.secret.as_ref()?.expose());
    Some(match &auth.old_secret {
        Some(old) => sealer.or_old(old.expose()),
        None => sealer,
    })
}

/// Brings the database in line with the settings, if they name an identity provider. Called at every start.
pub async fn apply(domain: &Domain, settings: &Settings) -> anyhow::Result<()> {
    let Some(oidc) = &settings.auth.oidc else { return Ok(()) };
    let sealer = sealer(&settings.auth).context("auth.oidc_issuer is set, but auth.secret is not")?;
    let operator = domain::bootstrap::operator(domain).await.map_err(database::explained)?;
    let spec = IdpSpec {
        issuer: oidc.issuer.clone(),
        client_id: oidc.client_id.clone(),
        groups_claim: oidc.groups_claim.clone(),
        scopes: oidc.scopes.clone(),
        groups: oidc.groups.clone(),
        default_role: oidc.default_role.clone(),
    };
    let secret = ClientSecret::new(oidc.client_secret.expose());
    let changed = idp::set(domain, &operator, &sealer, PROVIDER, spec, Some(secret))
        .await
        .map_err(database::explained)
        .context("the settings auth.oidc_* can't be used")?;
    if changed {
        tracing::info!(issuer = oidc.issuer, "the provider's identity provider is set as the settings have it");
    }
    Ok(())
}
