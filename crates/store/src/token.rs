//! API tokens. Of their secrets only hashes are kept.
use crate::{
    Authorized, SessionRow, Store, Write,
    constraint::mapped,
    list::ListSql,
    query::{QuerySql, id, text, time, words},
};
use model::{
    Action, Actor, OrgId, Result, TokenId, UserId,
    decide::{Resource, Scope},
    query::{Found, Numbered},
    token::{ApiToken, TokenSpec},
};
use sqlx::{FromRow, PgExecutor};
use time::OffsetDateTime;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: "t.id, t.name, t.user_id, u.name as user_name, u.org_id, o.name as org_name, t.token_hash is not null as given, \
              t.expires_at, t.last_used_at, t.created_at",
    from: "api_tokens t join users u on u.id = t.user_id join organizations o on o.id = u.org_id",
    count_from: "",
    living: "t.deleted_at is null and u.deleted_at is null",
    sorts: &[],
    search: &[],
    action: "",
    org: "u.org_id",
    owner: "t.user_id",
};

const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: SQL.from,
    metadata: false,
    fields: &[
        id("id", "t.id"),
        text("name", "t.name"),
        id("owner.id", "t.user_id"),
        text("owner.name", "u.name"),
        id("org.id", "u.org_id"),
        text("org.name", "o.name"),
        time("expirationTime", "t.expires_at"),
        time("creationTime", "t.created_at"),
        words("type", "1", &[("REFRESH", "true")]),
    ],
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    name: String,
    user_id: Uuid,
    user_name: String,
    org_id: Uuid,
    org_name: String,
    given: bool,
    expires_at: Option<OffsetDateTime>,
    last_used_at: Option<OffsetDateTime>,
    created_at: OffsetDateTime,
}

fn read(r: Row) -> Result<ApiToken> {
    Ok(ApiToken {
        id: TokenId(r.id),
        name: r.name,
        user: UserId(r.user_id),
        user_name: r.user_name,
        org: OrgId(r.org_id),
        org_name: r.org_name,
        given: r.given,
        expires_at: r.expires_at,
        last_used_at: r.last_used_at,
        created_at: r.created_at,
    })
}

async fn find(db: impl PgExecutor<'_>, id: TokenId, lock: bool) -> Result<Option<ApiToken>> {
    let mut b = SQL.one();
    b.push("t.id = ").push_bind(id.0);
    if lock {
        b.push(" for update of t");
    }
    b.build_query_as().fetch_optional(db).await.map_err(mapped)?.map(read).transpose()
}

fn resource(token: &ApiToken) -> Resource {
    Resource::Owned(token.org, Some(token.user))
}

impl Store {
    pub async fn token(&self, actor: &Actor, action: Action, id: TokenId) -> Result<Authorized<ApiToken>> {
        Authorized::check(actor, action, find(&self.pool, id, false).await?, resource)
    }

    pub async fn tokens_query(&self, scope: Scope, q: &Numbered) -> Result<Found<ApiToken>> {
        self.numbered(&QUERY, scope, q, read).await
    }

    /// The token with that secret, of a user who may sign in to that organization now.
    pub async fn token_by_secret(&self, org: &str, hash: &[u8], now: OffsetDateTime) -> Result<Option<ApiToken>> {
        let mut b = SQL.one();
        b.push("t.token_hash = ").push_bind(hash.to_vec());
        b.push(" and lower(o.name) = lower(").push_bind(org.to_owned());
        b.push(") and (t.expires_at is null or t.expires_at > ").push_bind(now);
        b.push(") and u.enabled and o.enabled and o.deleted_at is null");
        b.build_query_as().fetch_optional(&self.pool).await.map_err(mapped)?.map(read).transpose()
    }

    /// Was that session opened by an API token?
    pub async fn session_is_of_token(&self, id_hash: &[u8]) -> Result<bool> {
        let found = sqlx::query_scalar!(
            r#"select api_token_id is not null as "of_token!" from sessions where id_hash = $1"#,
            id_hash
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(found == Some(true))
    }
}

impl Write<'_> {
    pub async fn token(&mut self, action: Action, id: TokenId) -> Result<Authorized<ApiToken>> {
        let found = find(&mut *self.tx, id, true).await?;
        Authorized::check(self.actor, action, found, resource)
    }

    pub async fn token_insert(&mut self, id: TokenId, user: UserId, spec: &TokenSpec) -> Result<()> {
        sqlx::query!(
            "insert into api_tokens (id, user_id, name, expires_at) values ($1, $2, $3, $4)",
            id.0,
            user.0,
            spec.name,
            spec.expires_at
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn token_give(&mut self, token: &Authorized<ApiToken>, hash: &[u8]) -> Result<()> {
        sqlx::query!("update api_tokens set token_hash = $2 where id = $1", token.id.0, hash)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// Opens a session by a token that is still there. One that is revoked at this moment waits, and ends the session too.
    pub async fn token_use(
        &mut self,
        token: TokenId,
        id_hash: &[u8],
        session: &SessionRow,
        now: OffsetDateTime,
    ) -> Result<bool> {
        let used = sqlx::query!(
            "update api_tokens set last_used_at = $2 where id = $1 and deleted_at is null and (expires_at is null or expires_at > $2)",
            token.0,
            now
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        if used.rows_affected() == 0 {
            return Ok(false);
        }
        sqlx::query!(
            "insert into sessions (id_hash, user_id, data, address, agent, created_at, last_seen_at, expires_at, api_token_id)
             values ($1, $2, $3, $4, $5, $6, $6, $7, $8)",
            id_hash,
            session.user.map(|u| u.0),
            session.data,
            session.address,
            session.agent,
            now,
            session.expires_at,
            token.0
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(true)
    }

    /// The sessions that it opened end with it.
    pub async fn token_delete(&mut self, token: &Authorized<ApiToken>) -> Result<()> {
        sqlx::query!("update api_tokens set deleted_at = now() where id = $1", token.id.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!("delete from sessions where api_token_id = $1", token.id.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }
}
