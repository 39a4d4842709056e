//! What workers read and write of vApps. Every write carries the epoch of the claim it was made under.
use crate::{
    Store,
    constraint::mapped,
    placing::{attached, settle_networks},
    work::Claim,
};
use model::{HubId, OrgId, Result, VappId, VdcId, VmId, placement::Placement};
use sqlx::types::Json;
use uuid::Uuid;

/// What a reconciler needs of a vApp, deleted or not.
#[derive(Clone, Debug)]
pub struct VappWork {
    pub id: VappId,
    pub org: OrgId,
    pub org_name: String,
    pub vdc: VdcId,
    pub vdc_name: String,
    pub name: String,
    pub hub: Option<HubId>,
    pub attempted: bool,
    pub instance_of: Option<String>,
    pub parameters: Option<Vec<u8>>,
    pub instance_uid: Option<String>,
    pub deleted: bool,
    pub gone: bool,
    pub vms_left: i64,
    /// Machines that nothing was made of yet.
    pub vms_unmade: i64,
    pub cpus: i64,
    pub memory_mb: i64,
}

/// How committing a choice of a hub ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    Done,
    /// It is not this worker's any more, or its machines were begun meanwhile, or the hub was removed.
    Lost,
    /// A network of it came to live on another hub meanwhile: it is to be chosen anew.
    Elsewhere,
}

impl Store {
    pub async fn vapp_work(&self, id: Uuid) -> Result<Option<VappWork>> {
        let r = sqlx::query!(
            r#"select a.org_id, o.name as org_name, a.vdc_id, d.name as vdc_name, a.name, a.hub_id, a.attempted_at is not null as "attempted!",
                      a.instance_of, a.parameters, a.instance_uid, a.deleted_at is not null as "deleted!",
                      a.gone_at is not null as "gone!",
                      (select count(*) from vms v where v.vapp_id = a.id and v.gone_at is null) as "left!",
                      (select count(*) from vms v where v.vapp_id = a.id and v.deleted_at is null and v.uid is null) as "unmade!",
                      coalesce(s.cpus, 0)::bigint as "cpus!", coalesce(s.memory_mb, 0)::bigint as "memory!"
               from vapps a join organizations o on o.id = a.org_id join vdcs d on d.id = a.vdc_id
               left join lateral (select sum(cpus) as cpus, sum(memory_mb) as memory_mb from vms v where v.vapp_id = a.id and v.deleted_at is null) s on true
               where a.id = $1"#,
            id
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(r.map(|r| VappWork {
            id: VappId(id),
            org: OrgId(r.org_id),
            org_name: r.org_name,
            vdc: VdcId(r.vdc_id),
            vdc_name: r.vdc_name,
            name: r.name,
            hub: r.hub_id.map(HubId),
            attempted: r.attempted,
            instance_of: r.instance_of,
            parameters: r.parameters,
            instance_uid: r.instance_uid,
            deleted: r.deleted,
            gone: r.gone,
            vms_left: r.left,
            vms_unmade: r.unmade,
            cpus: r.cpus,
            memory_mb: r.memory,
        }))
    }

    /// Commits where it goes, and its machines with it. Not any more once a call was attempted, and only by the worker
    /// that holds it. From then on its networks live there: of two that place vApps on one network at the same time, the
    /// second finds where the first went. `found`: its machines stand there already, and its networks and disks are where they are.
    pub async fn vapp_place(&self, c: &Claim, placement: &Placement, found: bool) -> Result<Placed> {
        let mut tx = self.begin().await?;
        let hub = placement.hub.as_ref().map(|h| h.0.clone());
        if hub.is_some() {
            // a hub that is being removed waits for this, and is then in use; one that was removed is no place any more
            let there =
                sqlx::query!("select id from hubs where id = $1 for key share", hub).fetch_optional(&mut *tx).await;
            if there.map_err(mapped)?.is_none() {
                return Ok(Placed::Lost);
            }
        }
        let done = sqlx::query!(
            "update vapps set placement = $2, hub_id = $3, placed_at = case when $3::text is null then null else now() end
             where id = $1 and attempted_at is null and exists (select from work where kind = 'vapp' and id = $1 and lease_epoch = $4)",
            c.id,
            Json(placement) as _,
            hub,
            c.epoch
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        if done.rows_affected() == 1 {
            sqlx::query!("update vms set hub_id = $2 where vapp_id = $1 and attempted_at is null", c.id, hub)
                .execute(&mut *tx)
                .await
                .map_err(mapped)?;
        }
        if done.rows_affected() == 1
            && let Some(hub) = &hub
        {
            if !found && !settle_networks(&mut tx, VappId(c.id), hub).await? {
                return Ok(Placed::Elsewhere);
            }
            // its machines are held now: what is put into them later is held against this hub
            if !found && attached(&mut *tx, VappId(c.id)).await?.iter().any(|t| t.hub.0 != *hub) {
                return Ok(Placed::Elsewhere);
            }
            // its machines can go on now
            sqlx::query!(
                "insert into work (kind, id, org_id, hub_id, request_id) select 'vm', id, org_id, $2, $3 from vms
                 where vapp_id = $1 and gone_at is null
                 on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), hub_id = $2",
                c.id,
                hub,
                c.request
            )
            .execute(&mut *tx)
            .await
            .map_err(mapped)?;
        }
        tx.commit().await.map_err(mapped)?;
        Ok(if done.rows_affected() == 1 { Placed::Done } else { Placed::Lost })
    }

    /// Machines that came later go where the others are. Those that did so now.
    pub async fn vapp_spread(&self, c: &Claim) -> Result<Vec<VmId>> {
        let late = sqlx::query_scalar!(
            "with late as (
                 update vms v set hub_id = a.hub_id from vapps a
                 where a.id = $1 and v.vapp_id = a.id and v.hub_id is null and v.gone_at is null and a.hub_id is not null
                   and exists (select from work where kind = 'vapp' and id = $1 and lease_epoch = $2)
                 returning v.id, v.org_id, v.hub_id
             ), queued as (
                 insert into work (kind, id, org_id, hub_id, request_id) select 'vm', id, org_id, hub_id, $3 from late
                 on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), hub_id = excluded.hub_id
             )
             select id from late",
            c.id,
            c.epoch,
            c.request
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        if !late.is_empty() {
            self.work_bell.notify_one();
        }
        Ok(late.into_iter().map(VmId).collect())
    }

    pub async fn vapp_attempted(&self, c: &Claim) -> Result<bool> {
        let done = sqlx::query!(
            "update vapps set attempted_at = coalesce(attempted_at, now()) where id = $1 and hub_id is not null and deleted_at is null
             and exists (select from work where kind = 'vapp' and id = $1 and lease_epoch = $2)",
            c.id,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    pub async fn vapp_instance_made(&self, c: &Claim, uid: Option<&str>) -> Result<bool> {
        let done = sqlx::query!(
            "update vapps set instance_uid = $2 where id = $1
             and exists (select from work where kind = 'vapp' and id = $1 and lease_epoch = $3)",
            c.id,
            uid,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// Was it deleted, and proven to be gone?
    pub async fn vapp_tombstone(&self, id: VappId) -> Result<bool> {
        let gone =
            sqlx::query_scalar!(r#"select gone_at is not null as "gone!" from vapps where id = $1 and not lost"#, id.0)
                .fetch_optional(&self.pool)
                .await
                .map_err(mapped)?;
        Ok(gone.unwrap_or(false))
    }

    /// A worker that was too late may have left something of it on its hub: it is looked at once more.
    pub async fn vapp_again(&self, id: VappId) -> Result<()> {
        sqlx::query!(
            "with a as (update vapps set gone_at = null where id = $1 returning id, org_id, hub_id)
             insert into work (kind, id, org_id, hub_id) select 'vapp', id, org_id, coalesce(hub_id, '') from a
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), failing = ''",
            id.0
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        self.work_bell.notify_one();
        Ok(())
    }

    /// Nothing of it is left.
    pub async fn vapp_gone(&self, c: &Claim) -> Result<()> {
        sqlx::query!(
            "update vapps set gone_at = coalesce(gone_at, now()) where id = $1 and deleted_at is not null
             and not exists (select from vms where vapp_id = $1 and gone_at is null)
             and exists (select from work where kind = 'vapp' and id = $1 and lease_epoch = $2)",
            c.id,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}
