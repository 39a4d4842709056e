//! Users.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    list::{Build, ListSql, sort},
    query::{QuerySql, bool, id, text, words},
};
use model::{
    Action, Actor, OrgId, Result, RoleId, UserId,
    decide::{Resource, Scope},
    list::{ListQuery, Page},
    query::{Found, Numbered},
    quota::{Amount, Limits},
    role::Predefined,
    user::{NewUser, User, UserBesides, UserSpec},
};
use sqlx::{FromRow, PgExecutor, types::Json};
use time::OffsetDateTime;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: "t.id, t.org_id, o.name as org_name, t.role_id, r.name as role_name, t.name, t.full_name, t.email, t.enabled, t.issuer, \
              t.vm_limit, t.cpu_limit, t.memory_limit_mb, t.storage_limit_mb, t.vms_used, t.cpus_used, t.memory_used_mb, \
              t.storage_used_mb, t.last_sign_in_at, t.version, t.created_at, t.updated_at, t.updated_by, t.besides",
    from: "users t join organizations o on o.id = t.org_id join roles r on r.id = t.role_id",
    count_from: "users t left join organizations o on o.id = t.org_id left join roles r on r.id = t.role_id",
    living: "t.deleted_at is null",
    sorts: &[
        sort("name", "lower(t.name)", "text"),
        sort("created", "t.created_at", "timestamptz"),
        sort("seen", "coalesce(t.last_sign_in_at, '-infinity')", "timestamptz"),
    ],
    search: &["t.name", "t.full_name", "t.email", "r.name"],
    action: "",
    org: "t.org_id",
    owner: "t.id",
};

/// What VCD's clients ask by.
const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: "users t left join organizations o on o.id = t.org_id left join roles r on r.id = t.role_id",
    metadata: false,
    fields: &[
        id("id", "t.id"),
        id("href", "t.id"),
        text("name", "t.name"),
        text("username", "t.name"),
        text("fullName", "t.full_name"),
        text("email", "t.email"),
        text("emailAddress", "t.email"),
        id("org", "t.org_id"),
        id("orgEntityRef.id", "t.org_id"),
        text("orgEntityRef.name", "o.name"),
        text("orgName", "o.name"),
        bool("isEnabled", "t.enabled"),
        bool("enabled", "t.enabled"),
        bool("isLdapUser", "false"),
        bool("isLocked", "false"),
        bool("locked", "false"),
        id("role", "t.role_id"),
        id("roleEntityRefs.id", "t.role_id"),
        text("roleEntityRefs.name", "r.name"),
        text("roleName", "r.name"),
        text("roleNames", "r.name"),
        words(
            "providerType",
            "t.issuer is not null",
            &[("LOCAL", "t.issuer is null"), ("INTEGRATED", "t.issuer is null"), ("OAUTH", "t.issuer is not null")],
        ),
        words(
            "identityProviderType",
            "t.issuer is not null",
            &[("LOCAL", "t.issuer is null"), ("INTEGRATED", "t.issuer is null"), ("OAUTH", "t.issuer is not null")],
        ),
    ],
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    org_id: Uuid,
    org_name: String,
    role_id: Uuid,
    role_name: String,
    name: String,
    full_name: String,
    email: String,
    enabled: bool,
    issuer: Option<String>,
    vm_limit: Option<i64>,
    cpu_limit: Option<i64>,
    memory_limit_mb: Option<i64>,
    storage_limit_mb: Option<i64>,
    vms_used: i64,
    cpus_used: i64,
    memory_used_mb: i64,
    storage_used_mb: i64,
    last_sign_in_at: Option<OffsetDateTime>,
    version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    updated_by: String,
    besides: Json<UserBesides>,
}

fn read(r: Row) -> Result<User> {
    Ok(User {
        id: UserId(r.id),
        org: OrgId(r.org_id),
        org_name: r.org_name,
        name: r.name,
        full_name: r.full_name,
        email: r.email,
        role: RoleId(r.role_id),
        role_name: r.role_name,
        enabled: r.enabled,
        limits: Limits {
            vms: r.vm_limit,
            cpus: r.cpu_limit,
            memory_mb: r.memory_limit_mb,
            storage_mb: r.storage_limit_mb,
        },
        used: Amount { vms: r.vms_used, cpus: r.cpus_used, memory_mb: r.memory_used_mb, storage_mb: r.storage_used_mb },
        issuer: r.issuer,
        besides: r.besides.0,
        last_sign_in_at: r.last_sign_in_at,
        version: r.version,
        created_at: r.created_at,
        updated_at: r.updated_at,
        updated_by: r.updated_by,
    })
}

fn filter(b: &mut Build<'_>, key: &str, value: &str) {
    match key {
        "enabled" => {
            b.push(" and t.enabled = ").push_bind(value == "true");
        }
        "role" => {
            b.push(" and lower(r.name) = lower(").push_bind(value.to_owned()).push(")");
        }
        "source" => {
            b.push(if value == "oidc" { " and t.issuer is not null" } else { " and t.issuer is null" });
        }
        _ => {}
    }
}

async fn find(db: impl PgExecutor<'_>, id: UserId, lock: bool) -> Result<Option<User>> {
    let mut b = SQL.one();
    b.push("t.id = ").push_bind(id.0);
    if lock {
        b.push(" for update of t");
    }
    b.build_query_as().fetch_optional(db).await.map_err(mapped)?.map(read).transpose()
}

fn resource(user: &User) -> Resource {
    Resource::Owned(user.org, Some(user.id))
}

/// What sign-in compares with. It never leaves the server.
pub struct Credentials {
    pub user: UserId,
    pub org: OrgId,
    pub org_name: String,
    pub name: String,
    pub enabled: bool,
    pub org_enabled: bool,
    /// None: the identity provider knows the password.
    pub password_hash: Option<String>,
}

impl Store {
    pub async fn user(&self, actor: &Actor, action: Action, id: UserId) -> Result<Authorized<User>> {
        Authorized::check(actor, action, find(&self.pool, id, false).await?, resource)
    }

    pub async fn users(&self, scope: Scope, q: &ListQuery) -> Result<Page<User>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    pub async fn user_names(&self, scope: Scope) -> Result<Vec<(UserId, String)>> {
        Ok(self.named(&SQL, scope, |_| {}).await?.into_iter().map(|(id, name)| (UserId(id), name)).collect())
    }

    pub async fn users_query(&self, scope: Scope, q: &Numbered) -> Result<Found<User>> {
        self.numbered(&QUERY, scope, q, read).await
    }

    pub async fn credentials(&self, org: &str, name: &str) -> Result<Option<Credentials>> {
        let found = sqlx::query!(
            "select u.id, u.name, u.org_id, o.name as org_name, u.enabled, o.enabled as org_enabled, u.password_hash
             from users u join organizations o on o.id = u.org_id
             where lower(o.name) = lower($1) and lower(u.name) = lower($2) and o.deleted_at is null and u.deleted_at is null",
            org,
            name
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(found.map(|r| Credentials {
            user: UserId(r.id),
            org: OrgId(r.org_id),
            org_name: r.org_name,
            name: r.name,
            enabled: r.enabled,
            org_enabled: r.org_enabled,
            password_hash: r.password_hash,
        }))
    }

    /// The hash of one's own password, to compare before it is changed.
    pub async fn own_password_hash(&self, user: UserId) -> Result<Option<String>> {
        sqlx::query_scalar!("select password_hash from users where id = $1 and deleted_at is null", user.0)
            .fetch_optional(&self.pool)
            .await
            .map(Option::flatten)
            .map_err(mapped)
    }
}

impl Write<'_> {
    pub async fn user(&mut self, action: Action, id: UserId) -> Result<Authorized<User>> {
        let found = find(&mut *self.tx, id, true).await?;
        Authorized::check(self.actor, action, found, resource)
    }

    /// All of it at once: one that is to be disabled is never enabled.
    pub async fn user_insert(&mut self, id: UserId, org: OrgId, new: &NewUser, password_hash: &str) -> Result<()> {
        let s = &new.spec;
        sqlx::query!(
            "insert into users (id, org_id, role_id, name, full_name, email, password_hash, vm_limit, cpu_limit, memory_limit_mb,
                                storage_limit_mb, updated_by, besides, enabled)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
            id.0,
            org.0,
            s.role.0,
            s.name,
            s.full_name,
            s.email,
            password_hash,
            s.limits.vms,
            s.limits.cpus,
            s.limits.memory_mb,
            s.limits.storage_mb,
            self.actor.name,
            Json(&new.besides) as _,
            new.enabled,
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn user_update(&mut self, user: &Authorized<User>, s: &UserSpec) -> Result<()> {
        sqlx::query!(
            "update users set role_id = $2, name = $3, full_name = $4, email = $5, vm_limit = $6, cpu_limit = $7, memory_limit_mb = $8,
                    storage_limit_mb = $9, version = version + 1, updated_at = now(), updated_by = $10
             where id = $1",
            user.id.0,
            s.role.0,
            s.name,
            s.full_name,
            s.email,
            s.limits.vms,
            s.limits.cpus,
            s.limits.memory_mb,
            s.limits.storage_mb,
            self.actor.name,
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// What a client says of them besides: kept, and told to nobody.
    pub async fn user_keep(&mut self, user: &Authorized<User>, besides: &UserBesides) -> Result<()> {
        sqlx::query!(
            "update users set besides = $2, version = version + 1, updated_at = now(), updated_by = $3 where id = $1",
            user.id.0,
            Json(besides) as _,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Disabling ends the user's sessions too.
    pub async fn user_set_enabled(&mut self, user: &Authorized<User>, enabled: bool) -> Result<()> {
        sqlx::query!(
            "update users set enabled = $2, version = version + 1, updated_at = now(), updated_by = $3 where id = $1",
            user.id.0,
            enabled,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        if !enabled {
            self.user_end_sessions(user.id, None).await?;
        }
        Ok(())
    }

    /// A new password ends every session of the user but `keep`.
    pub async fn user_set_password(&mut self, user: &Authorized<User>, hash: &str, keep: Option<&[u8]>) -> Result<()> {
        sqlx::query!(
            "update users set password_hash = $2, version = version + 1, updated_at = now(), updated_by = $3 where id = $1",
            user.id.0,
            hash,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        self.user_end_sessions(user.id, keep).await.map(|_| ())
    }

    pub async fn user_end_sessions(&mut self, user: UserId, keep: Option<&[u8]>) -> Result<u64> {
        let done = sqlx::query!(
            "delete from sessions where user_id = $1 and ($2::bytea is null or id_hash <> $2)",
            user.0,
            keep
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected())
    }

    pub async fn user_delete(&mut self, user: &Authorized<User>) -> Result<()> {
        self.user_end_sessions(user.id, None).await?;
        sqlx::query!("update api_tokens set deleted_at = now() where user_id = $1 and deleted_at is null", user.id.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!(
            "update users set deleted_at = now(), version = version + 1, updated_at = now(), updated_by = $2 where id = $1",
            user.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn user_signed_in(&mut self, user: UserId) -> Result<()> {
        sqlx::query!("update users set last_sign_in_at = now() where id = $1", user.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// Other enabled users who can run the organization with one of these roles, so that the last one is not lost. Two
    /// administrators who remove each other at the same moment wait for one another here.
    pub async fn other_administrators(&mut self, org: OrgId, but: UserId, roles: &[Predefined]) -> Result<i64> {
        sqlx::query!("select pg_advisory_xact_lock(hashtextextended($1, 7357002))", org.to_string())
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let roles: Vec<Uuid> = roles.iter().map(|role| role.id().0).collect();
        sqlx::query_scalar!(
            r#"select count(*) as "n!" from users where org_id = $1 and id <> $2 and enabled and deleted_at is null and role_id = any($3)"#,
            org.0,
            but.0,
            &roles
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)
    }

    /// A user that an identity provider vouches for, made at the first sign-in.
    pub async fn user_insert_external(
        &mut self,
        id: UserId,
        org: OrgId,
        s: &UserSpec,
        issuer: &str,
        subject: &str,
    ) -> Result<()> {
        sqlx::query!(
            "insert into users (id, org_id, role_id, name, full_name, email, issuer, subject, updated_by)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            id.0,
            org.0,
            s.role.0,
            s.name,
            s.full_name,
            s.email,
            issuer,
            subject,
            self.actor.name,
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn user_name_taken(&mut self, org: OrgId, name: &str) -> Result<bool> {
        sqlx::query_scalar!(
            r#"select exists (select 1 from users where org_id = $1 and lower(name) = lower($2) and deleted_at is null) as "taken!""#,
            org.0,
            name
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)
    }

    pub async fn user_by_identity(&mut self, org: OrgId, issuer: &str, subject: &str) -> Result<Option<User>> {
        let mut b = SQL.one();
        b.push("t.org_id = ").push_bind(org.0);
        b.push(" and t.issuer = ").push_bind(issuer.to_owned());
        b.push(" and t.subject = ").push_bind(subject.to_owned()).push(" for update of t");
        b.build_query_as().fetch_optional(self.conn()).await.map_err(mapped)?.map(read).transpose()
    }
}
