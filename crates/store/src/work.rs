//! The queue: one row an object that is not yet as it was asked for. A worker holds a lease with an epoch; whatever it
//! writes back carries the epoch, so that one who lost the lease changes nothing.
use crate::{Store, Write, constraint::mapped};
use model::{
    Error, HubId, Kind, OrgId, Result,
    work::{WorkDepth, WorkItem, WorkShare, WorkState},
};
use std::time::Duration;
use time::OffsetDateTime;
use uuid::Uuid;

/// A piece of work, held by one worker until its lease ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub kind: Kind,
    pub id: Uuid,
    pub org: OrgId,
    /// Empty: not known yet.
    pub hub: String,
    pub wanted: i64,
    pub epoch: i64,
    pub attempt: i32,
    /// Since when it was due. If it says otherwise when the work is put back, what it waits for came meanwhile.
    pub due: OffsetDateTime,
    /// The number of the request that asked for it; empty: nobody did.
    pub request: String,
}

/// How a piece of work is put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Later {
    /// It waits for something else, and is looked at again when that comes or after so long.
    Wait { after: Duration, why: String },
    /// It failed and is tried again.
    Retry { after: Duration, why: String },
    /// Trying again will not help; somebody must change something.
    Failed { why: String },
}

/// How many of one hub are worked on at once by all replicas together.
pub const AT_ONCE_PER_HUB: i64 = 16;

impl Write<'_> {
    /// Something about the object is to be done. A wish that comes while somebody works on the last one is kept.
    pub async fn enqueue(&mut self, kind: Kind, id: impl Into<Uuid>, org: OrgId, hub: Option<&HubId>) -> Result<()> {
        sqlx::query!(
            "insert into work (kind, id, org_id, hub_id, request_id) values ($1, $2, $3, $4, $5)
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), attempt = 0, failing = '',
                 hub_id = case when $4 = '' then work.hub_id else $4 end, request_id = $5",
            kind.key(),
            id.into(),
            org.0,
            hub.map_or("", |h| h.0.as_str()),
            self.actor.origin.request_id
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}

impl Write<'_> {
    /// Failed work is tried once more, because somebody asked for it. Whose it is, and its name; None: there is none.
    pub async fn work_retry(&mut self, kind: Kind, id: Uuid) -> Result<Option<(OrgId, String)>> {
        let row = sqlx::query!(
            r#"update work w set failing = '', not_before = now(), wanted = wanted + 1 where kind = $1 and id = $2
               returning w.org_id, coalesce((select name from vms where id = $2), (select name from vapps where id = $2),
                                            (select name from vdcs where id = $2),
                                            (select name from networks where id = $2), (select name from disks where id = $2),
                                            (select name from sizing_policies where id = $2), '') as "name!""#,
            kind.key(),
            id
        )
        .fetch_optional(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(row.map(|r| (OrgId(r.org_id), r.name)))
    }
}

impl Store {
    /// The same outside of a request: by a watcher or another reconciler.
    pub async fn enqueue(&self, kind: Kind, id: impl Into<Uuid>, org: OrgId, hub: &str) -> Result<()> {
        sqlx::query!(
            "insert into work (kind, id, org_id, hub_id) values ($1, $2, $3, $4)
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(),
                 failing = case when work.failing = 'failed' then '' else work.failing end,
                 hub_id = case when $4 = '' then work.hub_id else $4 end",
            kind.key(),
            id.into(),
            org.0,
            hub
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        self.work_bell.notify_one();
        Ok(())
    }

    /// Takes up to `limit` pieces that are due: of each organization its oldest first, on each hub and over all of them, so
    /// that one with a thousand does not keep another with one waiting. An organization waits in a line at each hub, and
    /// only the heads of lines are looked at: what a claim costs does not grow with what waits. Rows are found again by where
    /// they are: the queue is empty most of the time, and by what is known of it then, looking into its key seems dear.
    pub async fn claim(&self, owner: &str, limit: i64, lease: Duration) -> Result<Vec<Claim>> {
        let rows = sqlx::query!(
            r#"with recursive lines as (
                 (select hub_id, org_id from work where failing <> 'failed' order by hub_id, org_id limit 1)
                 union all
                 select n.hub_id, n.org_id from lines l cross join lateral (
                   select w.hub_id, w.org_id from work w
                   where w.failing <> 'failed' and (w.hub_id, w.org_id) > (l.hub_id, l.org_id)
                   order by w.hub_id, w.org_id limit 1) n
               ), busy as (
                 select hub_id, count(*) as n from work where lease_until > '-infinity' and lease_until > now() group by hub_id
               ), due as (
                 select first.* from lines l cross join lateral (
                   select w.ctid as line, w.id, w.org_id, w.hub_id, w.not_before, row_number() over (order by w.not_before, w.id) as place
                   from work w
                   where w.hub_id = l.hub_id and w.org_id = l.org_id and w.failing <> 'failed'
                     and w.not_before <= now() and w.lease_until <= now()
                   order by w.not_before, w.id limit $4) first
               ), ranked as (
                 select d.line, d.not_before,
                        row_number() over (partition by d.org_id order by d.not_before, d.id) as turn,
                        row_number() over (partition by d.hub_id order by d.place, d.not_before, d.id) + coalesce(b.n, 0) as at_hub
                 from due d left join busy b on b.hub_id = d.hub_id
               ), chosen as (
                 select line from ranked where at_hub <= $4 order by turn, not_before limit $2
               ), locked as (
                 select w.ctid as line from work w where w.ctid = any(array(select line from chosen))
                 and w.not_before <= now() and w.lease_until <= now() for update skip locked
               )
               update work w set lease_owner = $1, lease_until = now() + make_interval(secs => $3), lease_epoch = nextval('work_epochs')
               where w.ctid = any(array(select line from locked))
               returning w.kind, w.id, w.org_id, w.hub_id, w.wanted, w.lease_epoch, w.attempt, w.not_before, w.request_id"#,
            owner,
            limit,
            lease.as_secs_f64(),
            AT_ONCE_PER_HUB
        )
        .fetch_all(&self.workers)
        .await
        .map_err(mapped)?;
        rows.into_iter()
            .map(|r| {
                let kind = Kind::parse(&r.kind).ok_or_else(|| Error::Internal(format!("work of kind {:?}", r.kind)))?;
                Ok(Claim {
                    kind,
                    id: r.id,
                    org: OrgId(r.org_id),
                    hub: r.hub_id,
                    wanted: r.wanted,
                    epoch: r.lease_epoch,
                    attempt: r.attempt,
                    due: r.not_before,
                    request: r.request_id,
                })
            })
            .collect()
    }

    /// Keeps the leases of these claims. Only of what is still worked on: a row whose result could not be written must be
    /// free again when its lease ends.
    pub async fn extend_leases(&self, held: &[(Kind, Uuid, i64)], lease: Duration) -> Result<()> {
        let kinds: Vec<String> = held.iter().map(|(kind, ..)| kind.key().to_owned()).collect();
        let ids: Vec<Uuid> = held.iter().map(|(_, id, _)| *id).collect();
        let epochs: Vec<i64> = held.iter().map(|(.., epoch)| *epoch).collect();
        sqlx::query!(
            "update work w set lease_until = now() + make_interval(secs => $4) from (
               select w.kind, w.id from work w join unnest($1::text[], $2::uuid[], $3::bigint[]) as held (kind, id, epoch)
                 on w.kind = held.kind and w.id = held.id and w.lease_epoch = held.epoch and w.lease_until > now()
               order by w.kind, w.id for update of w) held
             where w.kind = held.kind and w.id = held.id",
            &kinds,
            &ids,
            &epochs,
            lease.as_secs_f64()
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Is it still ours to work on?
    pub async fn claim_holds(&self, c: &Claim) -> Result<bool> {
        let store = self.clone();
        self.gathered.holds.ask(c.clone(), move |asks| store.clone().claims_hold(asks)).await
    }

    async fn claims_hold(self, claims: Vec<Claim>) -> Result<Vec<bool>> {
        let (kinds, ids, epochs) = columns(&claims);
        sqlx::query_scalar!(
            r#"select exists (select from work w where w.kind = c.kind and w.id = c.id and w.lease_epoch = c.epoch and w.lease_until > now()) as "holds!"
               from unnest($1::text[], $2::uuid[], $3::bigint[]) with ordinality as c (kind, id, epoch, n) order by c.n"#,
            &kinds,
            &ids,
            &epochs
        )
        .fetch_all(&self.workers)
        .await
        .map_err(mapped)
    }

    /// Gives back what an owner holds, as when it stops.
    pub async fn release_leases(&self, owner: &str) -> Result<()> {
        sqlx::query!("update work set lease_until = '-infinity' where lease_owner = $1", owner)
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// It is as it was asked for. A wish that came meanwhile keeps the row.
    pub async fn work_done(&self, c: &Claim) -> Result<()> {
        let store = self.clone();
        match self.gathered.done.ask(c.clone(), move |asks| store.clone().works_done(asks)).await? {
            true => Ok(()),
            false => self.work_done_alone(c).await,
        }
    }

    /// Whether each was written. Rows that somebody holds are left out: who waits for one while holding others may wait for ever.
    async fn works_done(self, claims: Vec<Claim>) -> Result<Vec<bool>> {
        let (kinds, ids, epochs) = columns(&claims);
        let wanted: Vec<i64> = claims.iter().map(|c| c.wanted).collect();
        let done = sqlx::query!(
            "with free as (
               select f.line from unnest($1::text[], $2::uuid[], $3::bigint[], $4::bigint[]) as c (kind, id, epoch, wanted)
               cross join lateral (
                 select w.ctid as line from work w
                 where w.kind = c.kind and w.id = c.id and w.lease_epoch = c.epoch and w.wanted = c.wanted for update skip locked) f)
             delete from work w where w.ctid = any(array(select line from free)) returning w.kind, w.id",
            &kinds,
            &ids,
            &epochs,
            &wanted
        )
        .fetch_all(&self.workers)
        .await
        .map_err(mapped)?;
        Ok(claims.iter().map(|c| done.iter().any(|r| r.id == c.id && r.kind == c.kind.key())).collect())
    }

    async fn work_done_alone(&self, c: &Claim) -> Result<()> {
        let gone = sqlx::query!(
            "delete from work where kind = $1 and id = $2 and lease_epoch = $3 and wanted = $4",
            c.kind.key(),
            c.id,
            c.epoch,
            c.wanted
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        if gone.rows_affected() == 0 {
            sqlx::query!(
                "update work set lease_until = '-infinity', attempt = 0, last_error = '', failing = '', not_before = now()
                 where kind = $1 and id = $2 and lease_epoch = $3",
                c.kind.key(),
                c.id,
                c.epoch
            )
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
            self.work_bell.notify_one();
        }
        Ok(())
    }

    /// Not yet. What was wished meanwhile, or can go on since, is looked at at once.
    pub async fn work_later(&self, c: &Claim, later: &Later) -> Result<()> {
        let (after, why, failing, tried) = match later {
            Later::Wait { after, why } => (*after, why, "wait", 0),
            Later::Retry { after, why } => (*after, why, "retry", 1),
            Later::Failed { why } => (Duration::ZERO, why, "failed", 1),
        };
        sqlx::query!(
            "update work set lease_until = '-infinity', attempt = attempt + $5, last_error = $6,
                    failing = case when wanted = $4 then $7 else '' end,
                    not_before = case when wanted = $4 and not_before = $9 then now() + make_interval(secs => $8) else now() end
             where kind = $1 and id = $2 and lease_epoch = $3",
            c.kind.key(),
            c.id,
            c.epoch,
            c.wanted,
            tried,
            why.chars().take(2000).collect::<String>(),
            failing,
            after.as_secs_f64(),
            c.due
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// What waits is looked at again: a hub or a template came. Empty: whatever it waits for. What is worked on at the moment
    /// may have looked before it came. Rows are locked in one order by all who take many.
    pub async fn wake_waiting(&self, hub: &str) -> Result<()> {
        sqlx::query!(
            "update work w set not_before = now() from (
               select kind, id from work where (failing in ('wait', 'retry') or lease_until > now()) and ($1 = '' or hub_id in ('', $1))
               order by kind, id for update) woken
             where w.kind = woken.kind and w.id = woken.id",
            hub
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        self.work_bell.notify_one();
        Ok(())
    }

    /// A machine of the vApp came up: those that start after it can go on, also if they had given up.
    pub async fn wake_vapp(&self, vapp: model::VappId) -> Result<()> {
        sqlx::query!(
            "update work w set not_before = now(), failing = '' from (
               select w.id from work w join vms v on w.kind = 'vm' and w.id = v.id
               where v.vapp_id = $1 and (w.failing in ('wait', 'failed') or w.lease_until > now())
               order by w.id for update of w) woken
             where w.kind = 'vm' and w.id = woken.id",
            vapp.0
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        self.work_bell.notify_one();
        Ok(())
    }

    /// What made its machines is done, or failed: the vApp and its machines can go on.
    pub async fn wake_instance(&self, vapp: model::VappId) -> Result<()> {
        sqlx::query!(
            "update work w set not_before = now() from (
               select kind, id from work where (failing in ('wait', 'retry') or lease_until > now())
                 and (kind = 'vapp' and id = $1 or kind = 'vm' and id in (select id from vms where vapp_id = $1))
               order by kind, id for update) woken
             where w.kind = woken.kind and w.id = woken.id",
            vapp.0
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        self.work_bell.notify_one();
        Ok(())
    }

    pub async fn work_depth(&self) -> Result<WorkDepth> {
        let r = sqlx::query!(
            r#"select count(*) filter (where lease_until > now()) as "running!",
                      count(*) filter (where lease_until <= now() and failing = '') as "queued!",
                      count(*) filter (where lease_until <= now() and failing = 'wait') as "waiting!",
                      count(*) filter (where lease_until <= now() and failing = 'retry') as "retrying!",
                      count(*) filter (where failing = 'failed') as "failed!", min(created_at) as oldest
               from work"#
        )
        .fetch_one(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(WorkDepth {
            queued: r.queued,
            running: r.running,
            waiting: r.waiting,
            retrying: r.retrying,
            failed: r.failed,
            oldest: r.oldest,
        })
    }

    /// The queue by hub, the longest first.
    pub async fn work_by_hub(&self) -> Result<Vec<WorkShare>> {
        sqlx::query_as!(
            WorkShare,
            r#"select hub_id as id, hub_id as name, count(*) as "all!", count(*) filter (where failing in ('failed', 'retry')) as "failing!",
                      min(created_at) as "oldest!",
                      coalesce(mode() within group (order by last_error) filter (where failing <> '' and last_error <> ''), '') as "why!"
               from work group by hub_id order by 3 desc, 1 limit 50"#
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)
    }

    /// The same by organization.
    pub async fn work_by_org(&self) -> Result<Vec<WorkShare>> {
        sqlx::query_as!(
            WorkShare,
            r#"select o.id::text as "id!", o.name, count(*) as "all!", count(*) filter (where w.failing in ('failed', 'retry')) as "failing!",
                      min(w.created_at) as "oldest!",
                      coalesce(mode() within group (order by w.last_error) filter (where w.failing <> '' and w.last_error <> ''), '') as "why!"
               from work w join organizations o on o.id = w.org_id group by o.id order by 3 desc, 2 limit 50"#
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)
    }

    /// The oldest first, those that fail before the others.
    pub async fn work_items(&self, limit: i64) -> Result<Vec<WorkItem>> {
        let rows = sqlx::query!(
            r#"select w.kind, w.id, w.org_id, o.name as org_name, w.hub_id, w.attempt, w.last_error, w.failing, w.not_before,
                      w.created_at, w.lease_until > now() as "running!",
                      coalesce(v.name, a.name, d.name, n.name, k.name, '') as "name!"
               from work w join organizations o on o.id = w.org_id
               left join vms v on w.kind = 'vm' and v.id = w.id
               left join vapps a on w.kind = 'vapp' and a.id = w.id
               left join vdcs d on w.kind = 'vdc' and d.id = w.id
               left join networks n on w.kind = 'network' and n.id = w.id
               left join disks k on w.kind = 'disk' and k.id = w.id
               order by w.failing <> 'failed', w.failing <> 'retry', w.created_at, w.id limit $1"#,
            limit
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        let items = rows.into_iter().filter_map(|r| {
            let state = match r.failing.as_str() {
                "failed" => WorkState::Failed,
                _ if r.running => WorkState::Running,
                "wait" => WorkState::Waiting,
                "retry" => WorkState::Retrying,
                _ => WorkState::Queued,
            };
            Some(WorkItem {
                kind: Kind::parse(&r.kind)?,
                id: r.id,
                name: r.name,
                org: OrgId(r.org_id),
                org_name: r.org_name,
                hub: r.hub_id,
                attempt: r.attempt,
                last_error: r.last_error,
                state,
                not_before: r.not_before,
                created_at: r.created_at,
            })
        });
        Ok(items.collect())
    }
}

/// Claims as a query for many takes them.
fn columns(claims: &[Claim]) -> (Vec<String>, Vec<Uuid>, Vec<i64>) {
    let kinds = claims.iter().map(|c| c.kind.key().to_owned()).collect();
    (kinds, claims.iter().map(|c| c.id).collect(), claims.iter().map(|c| c.epoch).collect())
}
