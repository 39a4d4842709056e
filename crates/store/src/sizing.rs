//! Sizing policies: what the provider made, which VDCs may use it, and where it is on hubs.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    list::{Build, ListSql, sort},
    work::Claim,
};
use model::{
    Action, Actor, HubId, Result, SizingId, VdcId,
    decide::{Resource, Scope},
    list::{ListQuery, Page},
    sizing::{HubSize, SizingMore, SizingPolicy, SizingSpec, VdcSizing},
};
use sqlx::{FromRow, PgExecutor, types::Json};
use time::OffsetDateTime;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: "t.id, t.name, t.description, t.cpus, t.memory_mb, t.more, t.version, t.created_at, t.updated_at, t.updated_by, \
        array(select d.name from vdc_sizing s join vdcs d on d.id = s.vdc_id where s.policy_id = t.id and d.deleted_at is null order by 1 limit 50) as vdcs, \
        array(select v.name from vms v where v.sizing_id = t.id and v.gone_at is null order by 1 limit 50) as vms, \
        array(select p.hub_id from sizing_places p where p.policy_id = t.id order by 1) as hubs, \
        array(select p.hub_id from sizing_places p where p.policy_id = t.id and p.ready_at is not null order by 1) as ready",
    from: "sizing_policies t",
    count_from: "sizing_policies t",
    living: "t.deleted_at is null",
    sorts: &[sort("name", "lower(t.name)", "text"), sort("created", "t.created_at", "timestamptz")],
    search: &["t.name", "t.description"],
    action: "",
    // policies are the provider's, who sees all of them
    org: "true or t.id = {}",
    owner: "null",
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    name: String,
    description: String,
    cpus: i32,
    memory_mb: i64,
    more: Json<SizingMore>,
    vdcs: Vec<String>,
    vms: Vec<String>,
    hubs: Vec<String>,
    ready: Vec<String>,
    version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    updated_by: String,
}

fn read(r: Row) -> Result<SizingPolicy> {
    let ready = r.ready;
    let hubs = r.hubs.into_iter().map(|h| (HubId(h.clone()), ready.contains(&h))).collect();
    Ok(SizingPolicy {
        id: SizingId(r.id),
        name: r.name,
        description: r.description,
        cpus: r.cpus,
        memory_mb: r.memory_mb,
        more: r.more.0,
        vdcs: r.vdcs,
        vms: r.vms,
        hubs,
        version: r.version,
        created_at: r.created_at,
        updated_at: r.updated_at,
        updated_by: r.updated_by,
    })
}

fn filter(_: &mut Build<'_>, _: &str, _: &str) {}

async fn find(db: impl PgExecutor<'_>, id: SizingId) -> Result<Option<SizingPolicy>> {
    let mut b = SQL.one();
    b.push("t.id = ").push_bind(id.0);
    b.build_query_as().fetch_optional(db).await.map_err(mapped)?.map(read).transpose()
}

fn resource(_: &SizingPolicy) -> Resource {
    Resource::Installation
}

async fn of_vdcs(db: impl PgExecutor<'_>, vdcs: &[Uuid]) -> Result<Vec<VdcSizing>> {
    let rows = sqlx::query!(
        r#"select p.id, s.vdc_id, p.name, p.description, p.cpus, p.memory_mb, s.is_default,
                  (select count(*) from vms v where v.sizing_id = p.id and v.vdc_id = s.vdc_id and v.gone_at is null) as "vms!"
           from vdc_sizing s join sizing_policies p on p.id = s.policy_id
           where s.vdc_id = any($1) and p.deleted_at is null order by s.is_default desc, p.cpus, p.memory_mb, lower(p.name)"#,
        vdcs
    )
    .fetch_all(db)
    .await
    .map_err(mapped)?;
    let all = rows.into_iter().map(|r| VdcSizing {
        id: SizingId(r.id),
        vdc: VdcId(r.vdc_id),
        name: r.name,
        description: r.description,
        cpus: r.cpus,
        memory_mb: r.memory_mb,
        is_default: r.is_default,
        vms: r.vms,
    });
    Ok(all.collect())
}

/// What a reconciler needs of a policy, deleted or not.
#[derive(Clone, Debug)]
pub struct SizingWork {
    pub id: SizingId,
    pub cpus: i32,
    pub memory_mb: i64,
    pub deleted: bool,
    pub gone: bool,
    /// VMs that have it.
    pub users: i64,
    pub places: Vec<SizingPlace>,
}

/// A policy on a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizingPlace {
    pub hub: HubId,
    pub ready: bool,
}

impl Store {
    pub async fn sizing(&self, actor: &Actor, action: Action, id: SizingId) -> Result<Authorized<SizingPolicy>> {
        Authorized::check(actor, action, find(&self.pool, id).await?, resource)
    }

    pub async fn sizings(&self, scope: Scope, q: &ListQuery) -> Result<Page<SizingPolicy>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    /// Those that VDCs may use.
    pub async fn sizings_for(&self, vdcs: &[VdcId]) -> Result<Vec<SizingPolicy>> {
        let vdcs: Vec<Uuid> = vdcs.iter().map(|vdc| vdc.0).collect();
        let more = |b: &mut Build<'_>| {
            b.push(" and t.id in (select s.policy_id from vdc_sizing s where s.vdc_id = any(").push_bind(vdcs);
            b.push(")) order by lower(t.name)");
        };
        self.few(&SQL, Scope::All, more, read).await
    }

    /// Id and name of each.
    pub async fn sizing_names(&self) -> Result<Vec<(SizingId, String)>> {
        let rows =
            sqlx::query!("select id, name from sizing_policies where deleted_at is null order by lower(name), id");
        let rows = rows.fetch_all(&self.pool).await.map_err(mapped)?;
        Ok(rows.into_iter().map(|r| (SizingId(r.id), r.name)).collect())
    }

    /// What was last found on hubs, but for what our own policies are there. Two of one name and another size are two.
    pub async fn hub_sizes(&self) -> Result<Vec<HubSize>> {
        let rows = sqlx::query!(
            r#"select t -> 'meta' -> 'key' ->> 'name' as "name!", (t ->> 'cpus')::bigint as "cpus!", (t ->> 'memory_mb')::bigint as "memory_mb!",
                      array_agg(h.id order by h.id) as "hubs!"
               from hubs h, jsonb_array_elements(coalesce(h.found -> 'instance_types', '[]')) t
               where 'virtualmachines' = any(h.capabilities) and t -> 'meta' -> 'key' ->> 'name' not like 'ssvirt-size-%'
               group by 1, 2, 3 order by 2, 3, 1"#
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        let size = rows.into_iter().map(|r| HubSize {
            name: r.name,
            cpus: r.cpus,
            memory_mb: r.memory_mb,
            hubs: r.hubs.into_iter().map(HubId).collect(),
        });
        Ok(size.collect())
    }

    /// What these VDCs may use. They were looked up before.
    pub async fn sizings_of(&self, vdcs: &[VdcId]) -> Result<Vec<VdcSizing>> {
        of_vdcs(&self.pool, &vdcs.iter().map(|v| v.0).collect::<Vec<_>>()).await
    }

    pub async fn sizing_work(&self, id: Uuid) -> Result<Option<SizingWork>> {
        let found = sqlx::query!(
            r#"select cpus, memory_mb, deleted_at is not null as "deleted!", gone_at is not null as "gone!",
                      (select count(*) from vms v where v.sizing_id = p.id and v.gone_at is null) as "users!"
               from sizing_policies p where id = $1"#,
            id
        );
        let Some(p) = found.fetch_optional(&self.pool).await.map_err(mapped)? else { return Ok(None) };
        let places = sqlx::query!(
            r#"select hub_id, ready_at is not null as "ready!" from sizing_places where policy_id = $1 order by hub_id"#,
            id
        );
        let places = places.fetch_all(&self.pool).await.map_err(mapped)?;
        let places = places.into_iter().map(|r| SizingPlace { hub: HubId(r.hub_id), ready: r.ready }).collect();
        Ok(Some(SizingWork {
            id: SizingId(id),
            cpus: p.cpus,
            memory_mb: p.memory_mb,
            deleted: p.deleted,
            gone: p.gone,
            users: p.users,
            places,
        }))
    }

    /// Is it there, for VMs to have?
    pub async fn sizing_ready(&self, id: SizingId, hub: &HubId) -> Result<bool> {
        let ready = sqlx::query_scalar!(
            r#"select ready_at is not null as "ready!" from sizing_places where policy_id = $1 and hub_id = $2"#,
            id.0,
            hub.0
        );
        Ok(ready.fetch_optional(&self.pool).await.map_err(mapped)?.unwrap_or(false))
    }

    /// Why it can't be made, where trying again will not help.
    pub async fn sizing_trouble(&self, id: SizingId) -> Result<Option<String>> {
        let why = sqlx::query_scalar!(
            "select last_error from work where kind = 'vdcComputePolicy' and id = $1 and failing = 'failed'",
            id.0
        );
        why.fetch_optional(&self.pool).await.map_err(mapped)
    }

    /// It is to be on that hub.
    pub async fn sizing_want(&self, id: SizingId, hub: &HubId) -> Result<()> {
        sqlx::query!(
            "insert into sizing_places (policy_id, hub_id) select id, $2 from sizing_policies where id = $1 and deleted_at is null
             on conflict do nothing",
            id.0,
            hub.0
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// It is on the hub. False: the claim is not ours any more.
    pub async fn sizing_made(&self, c: &Claim, hub: &HubId, uid: &str) -> Result<bool> {
        let done = sqlx::query!(
            "update sizing_places set uid = $3, ready_at = coalesce(ready_at, now()) where policy_id = $1 and hub_id = $2
             and exists (select from work where kind = 'vdcComputePolicy' and id = $1 and lease_epoch = $4)",
            c.id,
            hub.0,
            uid,
            c.epoch
        );
        Ok(done.execute(&self.pool).await.map_err(mapped)?.rows_affected() == 1)
    }

    /// A worker that was too late may have made it after its end: it is looked at once more.
    pub async fn sizing_again(&self, id: SizingId, hub: &HubId) -> Result<()> {
        sqlx::query!(
            "with p as (update sizing_policies set gone_at = null where id = $1 returning id),
                  h as (insert into sizing_places (policy_id, hub_id) select id, $2 from p on conflict do nothing)
             insert into work (kind, id, org_id) select 'vdcComputePolicy', p.id, o.id from p, organizations o where o.is_provider and o.deleted_at is null
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), failing = ''",
            id.0,
            hub.0
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        self.work_bell.notify_one();
        Ok(())
    }

    /// What of ours is on the hub, with its vCPUs and memory. Policies that should be there, and are not or with another size, are
    /// brought there again; these are given.
    pub async fn sizings_seen(&self, hub: &HubId, there: &[(SizingId, i64, i64)]) -> Result<Vec<SizingId>> {
        let ids: Vec<Uuid> = there.iter().map(|(id, ..)| id.0).collect();
        let cpus: Vec<i64> = there.iter().map(|(_, cpus, _)| *cpus).collect();
        let memory: Vec<i64> = there.iter().map(|(.., memory)| *memory).collect();
        let lost = sqlx::query_scalar!(
            "with lost as (update sizing_places s set ready_at = null from sizing_policies p
                           where p.id = s.policy_id and p.deleted_at is null and s.hub_id = $1 and s.ready_at is not null
                             and not exists (select from unnest($2::uuid[], $3::bigint[], $4::bigint[]) t (id, cpus, memory_mb)
                                             where t.id = p.id and t.cpus = p.cpus and t.memory_mb = p.memory_mb)
                           returning s.policy_id)
             insert into work (kind, id, org_id) select 'vdcComputePolicy', l.policy_id, o.id from lost l, organizations o where o.is_provider and o.deleted_at is null
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), failing = '' returning id",
            hub.0,
            &ids,
            &cpus,
            &memory
        );
        let lost: Vec<Uuid> = lost.fetch_all(&self.pool).await.map_err(mapped)?;
        if !lost.is_empty() {
            self.work_bell.notify_one();
        }
        Ok(lost.into_iter().map(SizingId).collect())
    }

    /// It is proven to be gone from there.
    pub async fn sizing_left(&self, c: &Claim, hub: &HubId) -> Result<bool> {
        let done = sqlx::query!(
            "delete from sizing_places where policy_id = $1 and hub_id = $2
             and exists (select from work where kind = 'vdcComputePolicy' and id = $1 and lease_epoch = $3)",
            c.id,
            hub.0,
            c.epoch
        );
        Ok(done.execute(&self.pool).await.map_err(mapped)?.rows_affected() == 1)
    }

    /// Nothing of it is left on any hub.
    pub async fn sizing_gone(&self, c: &Claim) -> Result<bool> {
        let done = sqlx::query!(
            "update sizing_policies set gone_at = now() where id = $1 and deleted_at is not null and gone_at is null
             and not exists (select from sizing_places where policy_id = $1)
             and exists (select from work where kind = 'vdcComputePolicy' and id = $1 and lease_epoch = $2)",
            c.id,
            c.epoch
        );
        Ok(done.execute(&self.pool).await.map_err(mapped)?.rows_affected() == 1)
    }
}

impl Write<'_> {
    pub async fn sizing(&mut self, action: Action, id: SizingId) -> Result<Authorized<SizingPolicy>> {
        sqlx::query!("select id from sizing_policies where id = $1 for update", id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let found = find(&mut *self.tx, id).await?;
        Authorized::check(self.actor, action, found, resource)
    }

    /// One that the VDC may use, held so that nobody deletes it meanwhile.
    pub async fn sizing_of_vdc(&mut self, vdc: VdcId, id: SizingId) -> Result<Option<VdcSizing>> {
        sqlx::query!("select id from sizing_policies where id = $1 and deleted_at is null for key share", id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(of_vdcs(&mut *self.tx, &[vdc.0]).await?.into_iter().find(|p| p.id == id))
    }

    pub async fn sizings_of(&mut self, vdc: VdcId) -> Result<Vec<VdcSizing>> {
        of_vdcs(&mut *self.tx, &[vdc.0]).await
    }

    pub async fn sizing_insert(&mut self, id: SizingId, s: &SizingSpec) -> Result<()> {
        sqlx::query!(
            "insert into sizing_policies (id, name, description, cpus, memory_mb, more, updated_by) values ($1, $2, $3, $4, $5, $6, $7)",
            id.0,
            s.name,
            s.description,
            s.cpus,
            s.memory_mb,
            Json(s.more) as _,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Its words; the size stays.
    pub async fn sizing_update(&mut self, policy: &Authorized<SizingPolicy>, s: &SizingSpec) -> Result<()> {
        sqlx::query!(
            "update sizing_policies set name = $2, description = $3, more = $4, version = version + 1, updated_at = now(), updated_by = $5
             where id = $1",
            policy.id.0,
            s.name,
            s.description,
            Json(s.more) as _,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn sizing_delete(&mut self, policy: &Authorized<SizingPolicy>) -> Result<()> {
        sqlx::query!(
            "update sizing_policies set deleted_at = now(), version = version + 1, updated_at = now(), updated_by = $2 where id = $1",
            policy.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// These and no others.
    pub async fn vdc_set_sizings(
        &mut self,
        vdc: VdcId,
        policies: &[SizingId],
        default: Option<SizingId>,
    ) -> Result<()> {
        let ids: Vec<Uuid> = policies.iter().map(|p| p.0).collect();
        sqlx::query!("delete from vdc_sizing where vdc_id = $1", vdc.0).execute(&mut *self.tx).await.map_err(mapped)?;
        sqlx::query!(
            "insert into vdc_sizing (vdc_id, policy_id, is_default)
             select $1, id, id is not distinct from $3 from sizing_policies where id = any($2) and deleted_at is null",
            vdc.0,
            &ids,
            default.map(|d| d.0)
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}
