//! Sessions, and the tries that did not become one. Session ids are kept as hashes only.
use crate::{Store, constraint::mapped};
use model::{Actor, OrgId, Origin, Result, Rights, RoleId, UserId, role::Predefined, session::SessionInfo};
use serde_json::Value;
use time::{Duration, OffsetDateTime};
use uuid::Uuid;

/// A session as the cookie layer keeps it.
pub struct SessionRow {
    pub user: Option<UserId>,
    /// What the identity provider's groups gave.
    pub roles: Vec<RoleId>,
    pub data: Value,
    pub address: String,
    pub agent: String,
    pub expires_at: OffsetDateTime,
}

/// Who a session belongs to, as of now.
pub struct SessionUser {
    pub actor: Actor,
    pub last_seen_at: OffsetDateTime,
}

impl Store {
    pub async fn session_load(&self, id_hash: &[u8], now: OffsetDateTime) -> Result<Option<(Value, OffsetDateTime)>> {
        let found =
            sqlx::query!("select data, expires_at from sessions where id_hash = $1 and expires_at > $2", id_hash, now)
                .fetch_optional(&self.pool)
                .await
                .map_err(mapped)?;
        Ok(found.map(|r| (r.data, r.expires_at)))
    }

    /// False: the id is taken, and the caller draws another one.
    pub async fn session_create(&self, id_hash: &[u8], s: &SessionRow, now: OffsetDateTime) -> Result<bool> {
        let roles: Vec<Uuid> = s.roles.iter().map(|r| r.0).collect();
        let done = sqlx::query!(
            "insert into sessions (id_hash, user_id, role_ids, data, address, agent, created_at, last_seen_at, expires_at)
             values ($1, $2, $3, $4, $5, $6, $7, $7, $8) on conflict do nothing",
            id_hash,
            s.user.map(|u| u.0),
            &roles,
            s.data,
            s.address,
            s.agent,
            now,
            s.expires_at
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// Saves over a session that exists. One that was ended meanwhile stays ended.
    pub async fn session_save(&self, id_hash: &[u8], s: &SessionRow) -> Result<()> {
        let roles: Vec<Uuid> = s.roles.iter().map(|r| r.0).collect();
        sqlx::query!(
            "update sessions set user_id = $2, role_ids = $3, data = $4, expires_at = $5 where id_hash = $1",
            id_hash,
            s.user.map(|u| u.0),
            &roles,
            s.data,
            s.expires_at
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Takes one value out of an object in a session's data: of several who ask at once, one gets it.
    pub async fn session_take(
        &self,
        id_hash: &[u8],
        object: &str,
        key: &str,
        now: OffsetDateTime,
    ) -> Result<Option<Value>> {
        sqlx::query_scalar!(
            r#"update sessions s set data = s.data #- array[$2, $3]
               from (select id_hash, data #> array[$2, $3] as value from sessions where id_hash = $1 and expires_at > $4 for update) old
               where s.id_hash = old.id_hash and old.value is not null
               returning old.value as "value!""#,
            id_hash,
            object,
            key,
            now
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)
    }

    pub async fn session_delete(&self, id_hash: &[u8]) -> Result<()> {
        sqlx::query!("delete from sessions where id_hash = $1", id_hash).execute(&self.pool).await.map_err(mapped)?;
        Ok(())
    }

    /// The user behind a session with the rights of this very moment, or None: ended, idle too long, disabled, deleted.
    pub async fn session_user(
        &self,
        id_hash: &[u8],
        idle: Duration,
        now: OffsetDateTime,
        origin: Origin,
    ) -> Result<Option<SessionUser>> {
        let found = sqlx::query!(
            r#"select u.id, u.name, u.full_name, u.org_id, o.name as org_name, o.display_name, o.is_provider, r.id as role_id,
                      r.name as role_name, s.last_seen_at,
                      array(select rr.right_name from role_rights rr join roles x on x.id = rr.role_id
                            where x.deleted_at is null and (x.id = u.role_id or (u.role_id = $4 and x.id = any(s.role_ids)))) as "rights!",
                      array(select x.name from roles x where x.id = any(s.role_ids) and x.deleted_at is null order by 1) as "given!"
               from sessions s join users u on u.id = s.user_id join organizations o on o.id = u.org_id join roles r on r.id = u.role_id
               where s.id_hash = $1 and s.expires_at > $2 and s.last_seen_at > $3
                 and u.enabled and u.deleted_at is null and o.enabled and o.deleted_at is null"#,
            id_hash,
            now,
            now - idle,
            Predefined::DeferToIdentityProvider.id().0
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(found.map(|r| {
            let rights = Rights::from_names(r.rights.iter().map(String::as_str));
            let deferred = r.role_id == Predefined::DeferToIdentityProvider.id().0 && !r.given.is_empty();
            SessionUser {
                actor: Actor {
                    user: Some(UserId(r.id)),
                    name: r.name,
                    full_name: r.full_name,
                    org: OrgId(r.org_id),
                    org_name: r.org_name,
                    org_display_name: r.display_name,
                    provider: r.is_provider,
                    role: RoleId(r.role_id),
                    role_name: if deferred { r.given.join(", ") } else { r.role_name },
                    // whatever a role came to hold, a tenant's user has no right of the provider's
                    rights: if r.is_provider { rights } else { rights.and(Rights::tenant()) },
                    origin,
                },
                last_seen_at: r.last_seen_at,
            }
        }))
    }

    pub async fn session_touch(&self, id_hash: &[u8], now: OffsetDateTime) -> Result<()> {
        sqlx::query!("update sessions set last_seen_at = $2 where id_hash = $1", id_hash, now)
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    pub async fn sessions_of(
        &self,
        user: UserId,
        current: &[u8],
        idle: Duration,
        now: OffsetDateTime,
    ) -> Result<Vec<SessionInfo>> {
        let rows = sqlx::query!(
            r#"select id_hash = $2 as "current!", address, agent, created_at, last_seen_at from sessions
               where user_id = $1 and expires_at > $3 and last_seen_at > $4 order by last_seen_at desc limit 100"#,
            user.0,
            current,
            now,
            now - idle
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(rows
            .into_iter()
            .map(|r| SessionInfo {
                current: r.current,
                address: r.address,
                agent: r.agent,
                created_at: r.created_at,
                last_seen_at: r.last_seen_at,
            })
            .collect())
    }

    /// Removes what has expired; called from time to time.
    pub async fn sessions_purge(&self, now: OffsetDateTime) -> Result<u64> {
        let gone = sqlx::query!("delete from sessions where expires_at <= $1", now)
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
        sqlx::query!("delete from sign_in_failures where last_at < $1", now - Duration::days(1))
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(gone.rows_affected())
    }

    /// Until when sign-in waits, for the first of these names or addresses that must.
    pub async fn sign_in_wait(&self, who: &[String], now: OffsetDateTime) -> Result<Option<OffsetDateTime>> {
        sqlx::query_scalar!(
            "select max(not_before) from sign_in_failures where who = any($1) and not_before > $2",
            who,
            now
        )
        .fetch_one(&self.pool)
        .await
        .map_err(mapped)
    }

    /// Counts a failure: after `free` of them each doubles the wait, from one second up to `most`. Failures older than a
    /// quarter of an hour are forgotten.
    pub async fn sign_in_failed(&self, who: &str, free: i32, most: Duration, now: OffsetDateTime) -> Result<i32> {
        let count = sqlx::query_scalar!(
            "insert into sign_in_failures as f (who, count, last_at, not_before) values ($1, 1, $2, $2)
             on conflict (who) do update set
                 count = case when f.last_at < $2::timestamptz - interval '15 minutes' then 1 else least(f.count + 1, 1000) end,
                 last_at = $2
             returning count",
            who,
            now
        )
        .fetch_one(&self.pool)
        .await
        .map_err(mapped)?;
        if count > free {
            let wait = Duration::seconds(1_i64 << (count - free - 1).min(20)).min(most);
            sqlx::query!("update sign_in_failures set not_before = $2 where who = $1", who, now + wait)
                .execute(&self.pool)
                .await
                .map_err(mapped)?;
        }
        Ok(count)
    }

    pub async fn sign_in_succeeded(&self, who: &str) -> Result<()> {
        sqlx::query!("delete from sign_in_failures where who = $1", who).execute(&self.pool).await.map_err(mapped)?;
        Ok(())
    }
}
