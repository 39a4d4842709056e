//! Consoles: tickets, of which only hashes are kept, and who is at which screen.
use crate::{Store, Write, constraint::mapped};
use model::{OrgId, Result, UserId, VmId};
use time::OffsetDateTime;
use uuid::Uuid;

/// A ticket that somebody drew.
pub struct Ticket<'a> {
    pub hash: &'a [u8],
    pub vm: VmId,
    pub user: UserId,
    pub session: &'a [u8],
    pub by_browser: bool,
    pub expires_at: OffsetDateTime,
}

/// A ticket that was used just now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redeemed {
    pub id: Uuid,
    pub vm: VmId,
    pub session: Vec<u8>,
    pub by_browser: bool,
}

/// A console whose server fell silent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abandoned {
    pub id: Uuid,
    pub vm: VmId,
    pub vm_name: String,
    pub org: OrgId,
    pub owner: Option<UserId>,
    pub user: UserId,
    pub user_name: String,
    pub user_org: OrgId,
    pub user_org_name: String,
}

impl Store {
    pub async fn console_draw(&self, t: &Ticket<'_>, now: OffsetDateTime) -> Result<()> {
        sqlx::query!(
            "insert into consoles (id, ticket_hash, vm_id, user_id, session_hash, by_browser, created_at, expires_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8)",
            Uuid::now_v7(),
            t.hash,
            t.vm.0,
            t.user.0,
            t.session,
            t.by_browser,
            now,
            t.expires_at
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// How many consoles of other machines somebody has open. `since`: one that was not alive after it is not.
    pub async fn consoles_besides(&self, user: UserId, vm: VmId, since: OffsetDateTime) -> Result<i64> {
        sqlx::query_scalar!(
            r#"select count(*) as "count!" from consoles where user_id = $1 and vm_id <> $2 and alive_at > $3"#,
            user.0,
            vm.0,
            since
        )
        .fetch_one(&self.pool)
        .await
        .map_err(mapped)
    }

    /// Of several who come with the same ticket one gets it. None: used, too late, or no ticket at all. A ticket that would open
    /// one console too many is used up too.
    pub async fn console_redeem(
        &self,
        hash: &[u8],
        most: i64,
        since: OffsetDateTime,
        now: OffsetDateTime,
    ) -> Result<Option<Redeemed>> {
        let mut tx = self.begin().await?;
        let found = sqlx::query!(
            "select id, vm_id, user_id, session_hash, by_browser from consoles
             where ticket_hash = $1 and opened_at is null and expires_at > $2 for update",
            hash,
            now
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(mapped)?;
        let Some(r) = found else { return Ok(None) };
        // one after the other, so that nobody has more than the most
        sqlx::query!("select id from users where id = $1 for no key update", r.user_id)
            .fetch_one(&mut *tx)
            .await
            .map_err(mapped)?;
        let changed = sqlx::query!(
            "update consoles set opened_at = $2, alive_at = $2 where id = $1 and $3 > (
                 select count(*) from consoles o where o.user_id = $4 and o.vm_id <> $5 and o.alive_at > $6)",
            r.id,
            now,
            most,
            r.user_id,
            r.vm_id,
            since
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        if changed.rows_affected() == 0 {
            sqlx::query!("delete from consoles where id = $1", r.id).execute(&mut *tx).await.map_err(mapped)?;
        }
        tx.commit().await.map_err(mapped)?;
        let redeemed = Redeemed { id: r.id, vm: VmId(r.vm_id), session: r.session_hash, by_browser: r.by_browser };
        Ok((changed.rows_affected() == 1).then_some(redeemed))
    }

    /// Who is at the screen of a machine, and since when. `since`: as for `consoles_besides`.
    pub async fn console_at(
        &self,
        vm: VmId,
        since: OffsetDateTime,
    ) -> Result<Option<(UserId, String, OffsetDateTime)>> {
        let found = sqlx::query!(
            r#"select c.user_id, u.name, c.opened_at as "opened_at!" from consoles c join users u on u.id = c.user_id
               where c.vm_id = $1 and c.alive_at > $2 order by c.opened_at desc limit 1"#,
            vm.0,
            since
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(found.map(|r| (UserId(r.user_id), r.name, r.opened_at)))
    }

    pub async fn console_alive(&self, id: Uuid, now: OffsetDateTime) -> Result<()> {
        sqlx::query!("update consoles set alive_at = $2 where id = $1", id, now)
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// One that never opened.
    pub async fn console_forget(&self, id: Uuid) -> Result<()> {
        sqlx::query!("delete from consoles where id = $1", id).execute(&self.pool).await.map_err(mapped)?;
        Ok(())
    }

    /// Consoles that were not alive after that moment.
    pub async fn consoles_abandoned(&self, since: OffsetDateTime) -> Result<Vec<Abandoned>> {
        let rows = sqlx::query!(
            "select c.id, c.vm_id, v.name as vm_name, v.org_id, v.owner_id, c.user_id, u.name as user_name, u.org_id as user_org,
                    o.name as user_org_name
             from consoles c join vms v on v.id = c.vm_id join users u on u.id = c.user_id join organizations o on o.id = u.org_id
             where c.alive_at <= $1 limit 100",
            since
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        let read = rows.into_iter().map(|r| Abandoned {
            id: r.id,
            vm: VmId(r.vm_id),
            vm_name: r.vm_name,
            org: OrgId(r.org_id),
            owner: r.owner_id.map(UserId),
            user: UserId(r.user_id),
            user_name: r.user_name,
            user_org: OrgId(r.user_org),
            user_org_name: r.user_org_name,
        });
        Ok(read.collect())
    }

    /// Removes tickets that nobody used in time.
    pub async fn tickets_purge(&self, now: OffsetDateTime) -> Result<u64> {
        let gone = sqlx::query!("delete from consoles where opened_at is null and expires_at <= $1", now)
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(gone.rows_affected())
    }
}

impl Write<'_> {
    /// False: somebody has done it already.
    pub async fn console_close(&mut self, id: Uuid) -> Result<bool> {
        let gone =
            sqlx::query!("delete from consoles where id = $1", id).execute(&mut *self.tx).await.map_err(mapped)?;
        Ok(gone.rows_affected() == 1)
    }
}
