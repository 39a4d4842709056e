//! Places: a VDC on a hub, with its namespace there; and where hubs are.
use crate::{Store, constraint::mapped, work::Claim};
use model::{
    HubId, OrgId, Result, VdcId, can,
    hub::{HubTenant, HubWishers},
    quota::Limits,
    site::{Site, Sites},
};
use std::time::Duration;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub hub: HubId,
    pub namespace: String,
    pub namespace_uid: Option<String>,
    pub quota_uid: Option<String>,
    pub applied: Option<i64>,
    pub ready: bool,
    /// Its namespace has a network of its own; else its machines are on the pod network.
    pub own_network: bool,
    /// It is to be looked at, whatever was applied.
    pub look: bool,
    /// A hash of what was applied.
    pub shape: String,
    /// Its hub takes nothing new: what is empty there is removed.
    pub cordoned: bool,
    /// The hub's registration and credentials, as its `SealedCredential` has them.
    pub hub_revision: (Uuid, i64),
}

/// What a reconciler needs of a VDC, deleted or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VdcWork {
    pub id: VdcId,
    pub org: OrgId,
    pub org_name: String,
    pub name: String,
    pub namespace: String,
    pub enabled: bool,
    pub limits: Limits,
    pub version: i64,
    pub deleted: bool,
    /// Its machines carry the names that it and its organization have now, or are on their way to.
    pub named: bool,
    pub places: Vec<Place>,
}

impl Store {
    pub async fn sites(&self) -> Result<Sites> {
        let rows = sqlx::query!(
            r#"select id, region, zone, $1 = any(capabilities) as "runs_vms!" from hubs order by id"#,
            can::VMS.key()
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        let site = |(hub, region, zone, runs_vms)| Site { hub: HubId(hub), region, zone, runs_vms };
        Ok(Sites(rows.into_iter().map(|r| site((r.id, r.region, r.zone, r.runs_vms))).collect()))
    }

    /// The VDCs on a hub, those with the most machines first.
    pub async fn tenants_of_hub(&self, hub: &HubId) -> Result<Vec<HubTenant>> {
        let rows = sqlx::query!(
            r#"select p.vdc_id, d.name as vdc_name, d.org_id, o.name as org_name, p.namespace, count(v.id) as "vms!",
                      coalesce(sum(v.cpus), 0)::bigint as "cpus!", coalesce(sum(v.memory_mb), 0)::bigint as "memory_mb!"
               from places p join vdcs d on d.id = p.vdc_id join organizations o on o.id = d.org_id
               left join vms v on v.vdc_id = p.vdc_id and v.hub_id = p.hub_id and v.gone_at is null
               where p.hub_id = $1 and p.gone_at is null group by p.vdc_id, p.namespace, d.id, o.id order by 6 desc, 2 limit 50"#,
            hub.0
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        let tenants = rows.into_iter().map(|r| HubTenant {
            vdc: VdcId(r.vdc_id),
            vdc_name: r.vdc_name,
            org: OrgId(r.org_id),
            org_name: r.org_name,
            namespace: r.namespace,
            vms: r.vms,
            cpus: r.cpus,
            memory_mb: r.memory_mb,
        });
        Ok(tenants.collect())
    }

    pub async fn wishers_of_hub(&self, hub: &HubId) -> Result<HubWishers> {
        sqlx::query_as!(
            HubWishers,
            r#"select array(select o.name from org_hubs w join organizations o on o.id = w.org_id
                            where w.hub_id = $1 and w.wish = 'prefer' and o.deleted_at is null order by 1) as "prefer!",
                      array(select o.name from org_hubs w join organizations o on o.id = w.org_id
                            where w.hub_id = $1 and w.wish = 'avoid' and o.deleted_at is null order by 1) as "avoid!",
                      (select count(*) from vdcs where $1 = any(hubs) and deleted_at is null) as "vdcs!""#,
            hub.0
        )
        .fetch_one(&self.pool)
        .await
        .map_err(mapped)
    }

    /// The hubs that a VDC is on, or is on its way to.
    pub async fn hubs_of_vdc(&self, id: VdcId) -> Result<Vec<HubId>> {
        let hubs = sqlx::query_scalar!(
            "select hub_id from places where vdc_id = $1 and gone_at is null order by hub_id",
            id.0
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(hubs.into_iter().map(HubId).collect())
    }

    pub async fn vdc_work(&self, id: Uuid) -> Result<Option<VdcWork>> {
        let found = sqlx::query!(
            r#"select v.org_id, o.name as org_name, v.name, v.namespace_name, v.enabled, v.vm_limit, v.cpu_limit, v.memory_limit_mb,
                      v.storage_limit_mb, v.version, v.deleted_at is not null as "deleted!", v.named = o.name || '/' || v.name as "named!"
               from vdcs v join organizations o on o.id = v.org_id where v.id = $1"#,
            id
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        let Some(v) = found else { return Ok(None) };
        let rows = sqlx::query!(
            r#"select p.hub_id, p.namespace, p.namespace_uid, p.quota_uid, p.applied, p.ready_at is not null as "ready!", p.own_network,
                      p.look, p.shape, h.cordoned, h.uid, h.credential_version
               from places p join hubs h on h.id = p.hub_id where p.vdc_id = $1 and p.gone_at is null order by p.hub_id"#,
            id
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        let places = rows
            .into_iter()
            .map(|r| Place {
                hub: HubId(r.hub_id),
                namespace: r.namespace,
                namespace_uid: r.namespace_uid,
                quota_uid: r.quota_uid,
                applied: r.applied,
                ready: r.ready,
                own_network: r.own_network,
                look: r.look,
                shape: r.shape,
                cordoned: r.cordoned,
                hub_revision: (r.uid, r.credential_version),
            })
            .collect();
        Ok(Some(VdcWork {
            id: VdcId(id),
            org: OrgId(v.org_id),
            org_name: v.org_name,
            name: v.name,
            namespace: v.namespace_name,
            enabled: v.enabled,
            limits: Limits {
                vms: v.vm_limit,
                cpus: v.cpu_limit,
                memory_mb: v.memory_limit_mb,
                storage_mb: v.storage_limit_mb,
            },
            version: v.version,
            deleted: v.deleted,
            named: v.named,
            places,
        }))
    }

    /// The VDC is to be on that hub. False: it is there, or on its way.
    pub async fn place_want(&self, vdc: VdcId, hub: &HubId) -> Result<bool> {
        let done = sqlx::query!(
            "insert into places (vdc_id, hub_id, namespace, own_network)
             select v.id, h.id, v.namespace_name, 'own-networks' = any(h.offers) from vdcs v cross join hubs h
             where v.id = $1 and h.id = $2 and v.deleted_at is null
             on conflict (vdc_id, hub_id) do update set gone_at = null, namespace_uid = null, quota_uid = null, applied = null, ready_at = null,
                    own_network = excluded.own_network
             where places.gone_at is not null",
            vdc.0,
            hub.0
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// None: the VDC is not on that hub yet.
    pub async fn place(&self, vdc: VdcId, hub: &HubId) -> Result<Option<Place>> {
        let store = self.clone();
        self.gathered.places.ask((vdc, hub.clone()), move |asks| store.clone().places_of(asks)).await
    }

    async fn places_of(self, asks: Vec<(VdcId, HubId)>) -> Result<Vec<Option<Place>>> {
        let vdcs: Vec<Uuid> = asks.iter().map(|(vdc, _)| vdc.0).collect();
        let hubs: Vec<String> = asks.iter().map(|(_, hub)| hub.0.clone()).collect();
        let rows = sqlx::query!(
            r#"select p.vdc_id, p.hub_id, p.namespace, p.namespace_uid, p.quota_uid, p.applied, p.ready_at is not null as "ready!", p.own_network,
                      p.look, p.shape, h.cordoned, h.uid, h.credential_version
               from places p join hubs h on h.id = p.hub_id
               where (p.vdc_id, p.hub_id) in (select * from unnest($1::uuid[], $2::text[])) and p.gone_at is null"#,
            &vdcs,
            &hubs
        )
        .fetch_all(&self.workers)
        .await
        .map_err(mapped)?;
        let found = |(vdc, hub): &(VdcId, HubId)| {
            let row = rows.iter().find(|r| r.vdc_id == vdc.0 && r.hub_id == hub.0);
            row.map(|r| Place {
                hub: hub.clone(),
                namespace: r.namespace.clone(),
                namespace_uid: r.namespace_uid.clone(),
                quota_uid: r.quota_uid.clone(),
                applied: r.applied,
                ready: r.ready,
                own_network: r.own_network,
                look: r.look,
                shape: r.shape.clone(),
                cordoned: r.cordoned,
                hub_revision: (r.uid, r.credential_version),
            })
        };
        Ok(asks.iter().map(found).collect())
    }

    /// VDCs that have nothing more on a cordoned hub than their namespace, and that nobody works on.
    pub async fn places_to_clear(&self) -> Result<Vec<(VdcId, OrgId)>> {
        let rows = sqlx::query!(
            "select distinct p.vdc_id, d.org_id from hubs h join places p on p.hub_id = h.id and p.gone_at is null
             join vdcs d on d.id = p.vdc_id and d.deleted_at is null
             where h.cordoned and h.state in ('ready', 'degraded') and place_is_empty(p.vdc_id, p.hub_id)
               and not exists (select from work w where w.kind = 'vdc' and w.id = p.vdc_id) limit 100"
        );
        let rows = rows.fetch_all(&self.pool).await.map_err(mapped)?;
        Ok(rows.into_iter().map(|r| (VdcId(r.vdc_id), OrgId(r.org_id))).collect())
    }

    /// Nothing is made there from now on, if nothing of the VDC is there and its hub is cordoned. False: it is needed, or not ours.
    /// Whoever places a vApp holds the hub as well, so that none comes meanwhile.
    pub async fn place_clear(&self, c: &Claim, hub: &HubId) -> Result<bool> {
        let mut tx = self.begin().await?;
        let cordoned = sqlx::query_scalar!("select cordoned from hubs where id = $1 for update", hub.0);
        if cordoned.fetch_optional(&mut *tx).await.map_err(mapped)? != Some(true) {
            return Ok(false);
        }
        let done = sqlx::query!(
            "update places set ready_at = null, applied = null where vdc_id = $1 and hub_id = $2 and gone_at is null and place_is_empty($1, $2)
             and exists (select from work where kind = 'vdc' and id = $1 and lease_epoch = $3)",
            c.id,
            hub.0,
            c.epoch
        );
        if done.execute(&mut *tx).await.map_err(mapped)?.rows_affected() == 0 {
            return Ok(false);
        }
        // a vApp that lost its last VM is bound to nothing there
        sqlx::query!(
            "update vapps set hub_id = null, placement = null, placed_at = null, attempted_at = null
             where vdc_id = $1 and hub_id = $2 and gone_at is null",
            c.id,
            hub.0
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        tx.commit().await.map_err(mapped)?;
        Ok(true)
    }

    pub async fn place_made(&self, c: &Claim, hub: &HubId, namespace_uid: &str) -> Result<bool> {
        let done = sqlx::query!(
            "update places set namespace_uid = $3 where vdc_id = $1 and hub_id = $2
             and exists (select from work where kind = 'vdc' and id = $1 and lease_epoch = $4)",
            c.id,
            hub.0,
            namespace_uid,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// It is as version `version` of the VDC asks for; `shape` is a hash of what that is on a hub.
    pub async fn place_applied(
        &self,
        c: &Claim,
        hub: &HubId,
        quota_uid: &str,
        version: i64,
        shape: &str,
    ) -> Result<bool> {
        let done = sqlx::query!(
            "update places set quota_uid = $3, applied = $4, ready_at = coalesce(ready_at, now()), last_error = '',
                    shape = $6, look = false, looked_at = now(), drift = ''
             where vdc_id = $1 and hub_id = $2 and exists (select from work where kind = 'vdc' and id = $1 and lease_epoch = $5)",
            c.id,
            hub.0,
            quota_uid,
            version,
            c.epoch,
            shape
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// A worker that was too late may have changed something there, or made it anew: it is looked at once more.
    pub async fn place_again(&self, vdc: VdcId, hub: &HubId) -> Result<()> {
        sqlx::query!(
            "with p as (update places set applied = null, gone_at = null, namespace_uid = case when gone_at is null then namespace_uid end
                        where vdc_id = $1 and hub_id = $2 returning vdc_id)
             insert into work (kind, id, org_id, hub_id) select 'vdc', v.id, v.org_id, '' from vdcs v join p on p.vdc_id = v.id
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), failing = ''",
            vdc.0,
            hub.0
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        self.work_bell.notify_one();
        Ok(())
    }

    /// Places that nobody has looked at for so long are to be looked at, some at a time. Those on hubs that do not answer
    /// have their turn when these do.
    pub async fn places_look(&self, every: Duration) -> Result<()> {
        let due = sqlx::query!(
            "with due as (
               select p.vdc_id, p.hub_id from places p join vdcs v on v.id = p.vdc_id join hubs h on h.id = p.hub_id
               where p.gone_at is null and p.ready_at is not null and p.looked_at < now() - make_interval(secs => $1)
                 and v.deleted_at is null and h.state <> 'unreachable'
               order by p.looked_at limit 100 for update of p skip locked
             ), marked as (
               update places p set look = true, looked_at = now() from due
               where p.vdc_id = due.vdc_id and p.hub_id = due.hub_id returning p.vdc_id
             )
             insert into work (kind, id, org_id, hub_id)
             select 'vdc', v.id, v.org_id,
                    coalesce((select min(hub_id) from places where vdc_id = v.id and gone_at is null having count(*) = 1), '')
             from vdcs v where v.id in (select vdc_id from marked)
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(),
                 failing = case when work.failing = 'failed' then '' else work.failing end",
            every.as_secs_f64()
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        if due.rows_affected() > 0 {
            self.work_bell.notify_one();
        }
        Ok(())
    }

    /// Somebody changed something there by hand: an event, once until it is put back. False: the claim is not ours any more.
    pub async fn place_drifted(&self, c: &Claim, hub: &HubId, vdc: &VdcWork, what: &str) -> Result<bool> {
        let holds = sqlx::query_scalar!(
            r#"with ours as (select from work where kind = 'vdc' and id = $1 and lease_epoch = $2),
               news as (update places set drift = $4 where vdc_id = $1 and hub_id = $3 and drift <> $4 and exists (select from ours) returning vdc_id),
               said as (insert into events (id, org_id, user_name, kind, object_kind, object_id, object_name, message)
                        select $5, $6, 'hub', 'vdc.outside', 'vdc', vdc_id, $7, $8 from news)
               select exists (select from ours) as "holds!""#,
            c.id,
            c.epoch,
            hub.0,
            what,
            Uuid::now_v7(),
            vdc.org.0,
            vdc.name,
            format!("VDC {}: {what}", vdc.name)
        )
        .fetch_one(&self.pool)
        .await
        .map_err(mapped)?;
        self.bell.notify_one();
        Ok(holds)
    }

    /// The namespace with that uid is proven to be gone, and nobody here asked for it: it is made anew when needed.
    pub async fn place_vanished(&self, vdc: VdcId, hub: &HubId, namespace_uid: &str) -> Result<()> {
        sqlx::query!(
            "with lost as (update places set namespace_uid = null, quota_uid = null, applied = null, ready_at = null
                           where vdc_id = $1 and hub_id = $2 and namespace_uid = $3 and gone_at is null returning vdc_id),
             said as (insert into events (id, org_id, user_name, kind, object_kind, object_id, object_name, message)
                      select $4, v.org_id, 'hub', 'vdc.outside', 'vdc', v.id, v.name,
                             'VDC ' || v.name || ': On its hub its namespace was deleted by hand, with all that was in it. It is made anew.'
                      from lost l join vdcs v on v.id = l.vdc_id)
             update network_places set ready_at = null, uid = case when form = 'cudn' then uid end
             where vdc_id = (select vdc_id from lost) and hub_id = $2",
            vdc.0,
            hub.0,
            namespace_uid,
            Uuid::now_v7()
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        self.bell.notify_one();
        Ok(())
    }

    /// The namespace is proven to be gone, and what was in it. A network that several VDCs share there goes with the last of them.
    pub async fn place_gone(&self, c: &Claim, hub: &HubId) -> Result<()> {
        sqlx::query!(
            "with gone as (update places set gone_at = now() where vdc_id = $1 and hub_id = $2
                           and exists (select from work where kind = 'vdc' and id = $1 and lease_epoch = $3) returning vdc_id),
                  shared as (select o.network_id from network_places o where o.hub_id = $2 and o.vdc_id <> $1),
                  left_it as (delete from network_places where vdc_id = (select vdc_id from gone) and hub_id = $2
                              and (form <> 'cudn' or network_id in (select network_id from shared))),
                  last as (update network_places set stale = true, ready_at = null
                           where vdc_id = (select vdc_id from gone) and hub_id = $2 and form = 'cudn'
                             and network_id not in (select network_id from shared) returning network_id)
             insert into work (kind, id, org_id) select 'network', id, org_id from networks where id in (select network_id from last)
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now()",
            c.id,
            hub.0,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}
