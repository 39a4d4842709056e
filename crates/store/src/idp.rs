//! Identity providers: the provider's own and one an organization.
use crate::{Authorized, Store, Write, constraint::mapped};
use model::{OrgId, Result, RoleId, org::Org};
use sqlx::PgConnection;
use uuid::Uuid;

pub struct IdentityProvider {
    pub org: OrgId,
    pub org_name: String,
    pub org_is_provider: bool,
    pub issuer: String,
    pub client_id: String,
    /// Sealed with the master secret; only `domain` opens it.
    pub client_secret: Vec<u8>,
    pub groups_claim: String,
    pub scopes: String,
    /// For users none of whose groups is listed. None: they can't sign in.
    pub default_role: Option<RoleId>,
    /// The allow-list: which group gives which role.
    pub groups: Vec<(String, RoleId)>,
    pub version: i64,
}

async fn find(db: &mut PgConnection, id: Option<OrgId>, name: Option<&str>) -> Result<Option<IdentityProvider>> {
    let found = sqlx::query!(
        "select p.*, o.name as org_name, o.is_provider from identity_providers p join organizations o on o.id = p.org_id
         where o.deleted_at is null and (p.org_id = $1 or (lower(o.name) = lower($2) and o.enabled))",
        id.map(|id| id.0),
        name
    )
    .fetch_optional(&mut *db)
    .await
    .map_err(mapped)?;
    let Some(p) = found else { return Ok(None) };
    let groups = sqlx::query!(
        "select group_name, role_id from identity_provider_groups where org_id = $1 order by group_name",
        p.org_id
    )
    .fetch_all(&mut *db)
    .await
    .map_err(mapped)?;
    Ok(Some(IdentityProvider {
        org: OrgId(p.org_id),
        org_name: p.org_name,
        org_is_provider: p.is_provider,
        issuer: p.issuer,
        client_id: p.client_id,
        client_secret: p.client_secret,
        groups_claim: p.groups_claim,
        scopes: p.scopes,
        default_role: p.default_role.map(RoleId),
        groups: groups.into_iter().map(|g| (g.group_name, RoleId(g.role_id))).collect(),
        version: p.version,
    }))
}

impl Store {
    /// The identity provider that somebody who wants to sign in is sent to: of an enabled organization only.
    pub async fn identity_provider(&self, org_name: &str) -> Result<Option<IdentityProvider>> {
        let mut db = self.pool.acquire().await.map_err(mapped)?;
        find(&mut db, None, Some(org_name)).await
    }

    pub async fn identity_provider_of(&self, org: &Authorized<Org>) -> Result<Option<IdentityProvider>> {
        let mut db = self.pool.acquire().await.map_err(mapped)?;
        find(&mut db, Some(org.id), None).await
    }

    /// Does any organization have one? The sign-in page must not say which.
    pub async fn any_identity_provider(&self) -> Result<bool> {
        sqlx::query_scalar!(r#"select exists (select 1 from identity_providers) as "any!""#)
            .fetch_one(&self.pool)
            .await
            .map_err(mapped)
    }

    /// All client secrets, sealed.
    pub async fn client_secrets(&self) -> Result<Vec<(OrgId, Vec<u8>)>> {
        let rows = sqlx::query!("select org_id, client_secret from identity_providers order by org_id")
            .fetch_all(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(rows.into_iter().map(|r| (OrgId(r.org_id), r.client_secret)).collect())
    }
}

impl Write<'_> {
    /// The same client secret, sealed anew; false: it was changed meanwhile.
    pub async fn client_secret_reseal(&mut self, org: OrgId, old: &[u8], new: &[u8]) -> Result<bool> {
        let done = sqlx::query!(
            "update identity_providers set client_secret = $3 where org_id = $1 and client_secret = $2",
            org.0,
            old,
            new
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() > 0)
    }

    pub async fn identity_provider(&mut self, org: &Authorized<Org>) -> Result<Option<IdentityProvider>> {
        find(&mut self.tx, Some(org.id), None).await
    }

    pub async fn identity_provider_set(&mut self, org: &Authorized<Org>, p: &IdentityProvider) -> Result<()> {
        sqlx::query!(
            "insert into identity_providers (org_id, issuer, client_id, client_secret, groups_claim, scopes, default_role)
             values ($1, $2, $3, $4, $5, $6, $7)
             on conflict (org_id) do update set issuer = $2, client_id = $3, client_secret = $4, groups_claim = $5, scopes = $6,
                 default_role = $7, version = identity_providers.version + 1, updated_at = now()",
            org.id.0,
            p.issuer,
            p.client_id,
            p.client_secret,
            p.groups_claim,
            p.scopes,
            p.default_role.map(|r| r.0)
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!("delete from identity_provider_groups where org_id = $1", org.id.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let names: Vec<String> = p.groups.iter().map(|(n, _)| n.clone()).collect();
        let roles: Vec<Uuid> = p.groups.iter().map(|(_, r)| r.0).collect();
        sqlx::query!(
            "insert into identity_provider_groups (org_id, group_name, role_id) select $1, n, r from unnest($2::text[], $3::uuid[]) as t (n, r)",
            org.id.0,
            &names,
            &roles
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn identity_provider_remove(&mut self, org: &Authorized<Org>) -> Result<bool> {
        let done = sqlx::query!("delete from identity_providers where org_id = $1", org.id.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(done.rows_affected() > 0)
    }

    /// Ends the sessions that the identity provider's word began: what it was worth has changed.
    pub async fn identity_provider_end_sessions(&mut self, org: &Authorized<Org>) -> Result<()> {
        sqlx::query!(
            "delete from sessions where user_id in (select id from users where org_id = $1 and issuer is not null)",
            org.id.0
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}
