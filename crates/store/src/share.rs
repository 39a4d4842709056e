//! With whom things are shared: one condition for every list, one column for every lookup.
use crate::{Authorized, Store, Write, constraint::mapped};
use model::{
    Error, Kind, OrgId, Result, RoleId, UserId,
    catalog::Catalog,
    share::{Access, Grant, Share, Subject},
    vapp::Vapp,
};
use serde::Deserialize;
use sqlx::PgExecutor;
use std::collections::HashMap;
use uuid::Uuid;

/// For `ListSql::owner`: rows that somebody owns, or whose object (`$object`, an expression) is shared with them.
macro_rules! owned_or_shared {
    ($owner:literal, $object:literal) => {
        concat!(
            $owner,
            " = {user} or ",
            $object,
            " in (select s.object_id from shares s where s.org_id = {org} and \
            (s.user_id = {user} or s.role_id = {role} or (s.user_id is null and s.role_id is null)))"
        )
    };
}
pub(crate) use owned_or_shared;

/// Whom an object is shared with, as the column `shares`: `GrantJson`.
macro_rules! shares_column {
    ($object:literal) => {
        concat!("(select coalesce(jsonb_agg(jsonb_build_object('user', s.user_id, 'role', s.role_id, 'access', s.access)), '[]') \
            from shares s where s.object_id = ", $object, ") as shares")
    };
}
pub(crate) use shares_column;

/// Is the owner, joined as `u`, somebody who can't look after it any more?
pub(crate) const STRANDED: &str = "u.id is not null and (u.deleted_at is not null or not u.enabled)";

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct GrantJson {
    user: Option<UserId>,
    role: Option<RoleId>,
    access: Access,
}

impl GrantJson {
    pub(crate) fn read(self) -> Grant {
        Grant { subject: Subject::of(self.user, self.role), access: self.access }
    }
}

async fn shares_of(db: impl PgExecutor<'_>, object: Uuid) -> Result<Vec<Share>> {
    let rows = sqlx::query!(
        r#"select s.user_id, s.role_id, s.access, coalesce(u.name, r.name, '') as "name!"
           from shares s left join users u on u.id = s.user_id left join roles r on r.id = s.role_id
           where s.object_id = $1 and u.deleted_at is null and r.deleted_at is null
           order by s.user_id is not null, s.role_id is not null, lower(coalesce(u.name, r.name, ''))"#,
        object
    )
    .fetch_all(db)
    .await
    .map_err(mapped)?;
    let read = |access: &str| Access::parse(access).ok_or_else(|| Error::Internal(format!("access {access:?}")));
    rows.into_iter()
        .map(|r| {
            let subject = Subject::of(r.user_id.map(UserId), r.role_id.map(RoleId));
            Ok(Share { grant: Grant { subject, access: read(&r.access)? }, name: r.name })
        })
        .collect()
}

impl Store {
    /// With whom an object is shared, by name. Users and roles that are gone are left out.
    pub async fn shares_of(&self, object: Uuid) -> Result<Vec<Share>> {
        shares_of(&self.pool, object).await
    }

    /// A user of the organization by name, to share with or to give something to.
    pub async fn user_called(&self, org: OrgId, name: &str) -> Result<Option<UserId>> {
        let found = sqlx::query_scalar!(
            "select id from users where org_id = $1 and lower(name) = lower($2) and deleted_at is null",
            org.0,
            name.trim()
        );
        found.fetch_optional(&self.pool).await.map(|id| id.map(UserId)).map_err(mapped)
    }

    /// Who else than their owners may know that these things changed.
    pub(crate) async fn audiences(
        &self,
        things: impl Iterator<Item = (Kind, Uuid)>,
    ) -> Result<HashMap<Uuid, Vec<Grant>>> {
        let mut audiences: HashMap<Uuid, Vec<Grant>> = HashMap::new();
        let ids: Vec<Uuid> = things.filter(|(kind, _)| can_be_shared(*kind)).map(|(_, id)| id).collect();
        if ids.is_empty() {
            return Ok(audiences);
        }
        let rows = sqlx::query!(
            r#"with thing as (select distinct id from unnest($1::uuid[]) as asked (id)), of as (
                 select id as thing, id from thing union select id, vapp_id from vms where id in (select id from thing)
                 union select s.id, v.vapp_id from snapshots s join vms v on v.id = s.vm_id where s.id in (select id from thing)
                 union select id, catalog_id from templates where id in (select id from thing)
                 union select p.id, t.catalog_id from uploads p join templates t on t.id = p.template_id where p.id in (select id from thing))
               select of.thing as "thing!", s.user_id, s.role_id, s.access as "access!" from of join shares s on s.object_id = of.id
               union all select of.thing, c.owner_id, null, 'FullControl' from of join catalogs c on c.id = of.id where c.owner_id is not null"#,
            &ids
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        for r in rows {
            let subject = Subject::of(r.user_id.map(UserId), r.role_id.map(RoleId));
            if let Some(access) = Access::parse(&r.access) {
                audiences.entry(r.thing).or_default().push(Grant { subject, access });
            }
        }
        Ok(audiences)
    }
}

/// By itself, or as a part of something.
fn can_be_shared(kind: Kind) -> bool {
    matches!(kind, Kind::Vapp | Kind::Vm | Kind::Snapshot | Kind::Catalog | Kind::Template | Kind::Upload)
}

impl Write<'_> {
    /// As `shares_of`, within this transaction.
    pub async fn shares_now(&mut self, object: Uuid) -> Result<Vec<Share>> {
        shares_of(&mut *self.tx, object).await
    }

    /// It was changed, though none of its own columns was.
    pub async fn vapp_touch(&mut self, vapp: &Authorized<Vapp>) -> Result<()> {
        sqlx::query!(
            "update vapps set version = version + 1, updated_at = now(), updated_by = $2 where id = $1",
            vapp.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn catalog_touch(&mut self, catalog: &Authorized<Catalog>) -> Result<()> {
        sqlx::query!(
            "update catalogs set version = version + 1, updated_at = now(), updated_by = $2 where id = $1",
            catalog.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// What an object is shared as from now on, all of it. Users and roles of other organizations are no subjects.
    pub async fn shares_set<T>(
        &mut self,
        _held: &Authorized<T>,
        object: Uuid,
        org: OrgId,
        grants: &[Grant],
    ) -> Result<()> {
        let users: Vec<Option<Uuid>> = grants.iter().map(|g| g.subject.user().map(|u| u.0)).collect();
        let roles: Vec<Option<Uuid>> = grants.iter().map(|g| g.subject.role().map(|r| r.0)).collect();
        let access: Vec<String> = grants.iter().map(|g| g.access.key().to_owned()).collect();
        sqlx::query!("delete from shares where object_id = $1", object).execute(&mut *self.tx).await.map_err(mapped)?;
        let done = sqlx::query!(
            "insert into shares (object_id, org_id, user_id, role_id, access)
             select $1, $2, g.user_id, g.role_id, g.access from unnest($3::uuid[], $4::uuid[], $5::text[]) as g (user_id, role_id, access)
             where (g.user_id is null or exists (select from users u where u.id = g.user_id and u.org_id = $2 and u.deleted_at is null))
               and (g.role_id is null or exists (select from roles r where r.id = g.role_id and coalesce(r.org_id, $2) = $2 and r.deleted_at is null))",
            object,
            org.0,
            &users as _,
            &roles as _,
            &access
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        if done.rows_affected() as usize != grants.len() {
            let gone = "One of those it is shared with is not there any more. Look at the list again.";
            return Err(Error::field("subject", gone));
        }
        Ok(())
    }
}
