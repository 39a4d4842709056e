//! What hubs report of disks.
use crate::{Store, constraint::mapped, together::Written};
use model::{DiskId, HubId, OrgId, Result, UserId, VmId, disk::DiskSeen};
use serde::Serialize;
use sqlx::types::Json;
use uuid::Uuid;

/// What a hub says of one disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskReport {
    pub seen: DiskSeen,
    pub reason: String,
    pub volume: String,
    pub size_mb: Option<i64>,
    pub progress: Option<i16>,
    /// Its machine runs, and does not have it yet.
    pub waits: bool,
    /// Why a snapshot would leave it out; empty: it would not.
    pub no_snapshot: String,
}

/// An independent disk that has a volume on its hub, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedDisk {
    pub id: DiskId,
    pub uid: String,
    pub namespace: String,
    pub hub_name: String,
}

/// A disk whose volume went, and nobody here asked for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostDisk {
    pub org: OrgId,
    pub owner: Option<UserId>,
    pub name: String,
}

impl Store {
    /// What a hub says of an independent disk: whose it is, if that is news, and the machine that may wait for it.
    pub async fn observe_disk(
        &self,
        hub: &HubId,
        epoch: i64,
        id: Uuid,
        uid: &str,
        r: &DiskReport,
    ) -> Result<Option<(OrgId, Option<UserId>, Option<VmId>)>> {
        let row = sqlx::query!(
            "update disks set obs_state = $4, obs_reason = $5, obs_size_mb = $6, obs_progress = $7, obs_at = now()
             where id = $1 and independent and hub_id = $2 and (uid is null or uid = $3) and gone_at is null
               and exists (select from hubs where id = $2 and lease_epoch = $8)
               and (obs_state, obs_reason, obs_size_mb, obs_progress) is distinct from ($4, $5, $6, $7)
             returning org_id, owner_id, vm_id",
            id,
            hub.0,
            uid,
            r.seen.key(),
            r.reason,
            r.size_mb,
            r.progress,
            epoch
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(row.map(|r| (OrgId(r.org_id), r.owner_id.map(UserId), r.vm_id.map(VmId))))
    }

    /// The independent disks that have a volume on the hub, as far as is known.
    pub async fn disks_expected(&self, hub: &HubId) -> Result<Vec<ExpectedDisk>> {
        let rows = sqlx::query!(
            r#"select k.id, k.uid as "uid!", k.hub_name as "hub_name!", d.namespace_name from disks k join vdcs d on d.id = k.vdc_id
               where k.hub_id = $1 and k.independent and k.uid is not null and k.gone_at is null
                 and (k.obs_state <> 'missing' or k.deleted_at is not null)"#,
            hub.0
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        let expected = rows.into_iter().map(|r| ExpectedDisk {
            id: DiskId(r.id),
            uid: r.uid,
            hub_name: r.hub_name,
            namespace: r.namespace_name,
        });
        Ok(expected.collect())
    }

    /// An independent disk's volume is gone from its hub. If nobody asked for it, it is missing from now on: whose it is, if that is news.
    pub async fn disk_vanished(&self, hub: &HubId, id: Uuid, uid: &str) -> Result<Option<LostDisk>> {
        let lost = sqlx::query!(
            r#"with was as (select id, obs_state from disks where id = $1 for update),
                    k as (update disks set obs_state = case when deleted_at is null then 'missing' else disks.obs_state end, obs_at = now()
                          from was where disks.id = was.id and hub_id = $2 and uid = $3 and gone_at is null
                          returning disks.id, org_id, owner_id, name, hub_id, deleted_at, was.obs_state as before),
                    w as (insert into work (kind, id, org_id, hub_id) select 'disk', id, org_id, hub_id from k where deleted_at is not null
                          on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now())
               select org_id, owner_id, name from k where deleted_at is null and before <> 'missing'"#,
            id,
            hub.0,
            uid
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        self.work_bell.notify_one();
        Ok(lost.map(|r| LostDisk { org: OrgId(r.org_id), owner: r.owner_id.map(UserId), name: r.name }))
    }

    /// What a hub says of the disks in one of its machines, by their names there. True: something of it is news.
    pub async fn observe_vm_disks(
        &self,
        hub: &HubId,
        epoch: i64,
        vm: Uuid,
        seen: Vec<(String, DiskReport)>,
    ) -> Result<bool> {
        let (store, said) = (self.clone(), VmDisksSeen { hub: hub.0.clone(), epoch, vm, seen });
        let news = self.gathered.disks.write(said, move |asks| store.clone().observe_all_vm_disks(asks));
        Ok(news.await?.unwrap_or(false))
    }

    async fn observe_all_vm_disks(self, asks: Vec<VmDisksSeen>) -> Result<Vec<Written<bool>>> {
        let each = asks.iter().flat_map(|a| a.seen.iter().map(move |(name, report)| (a, name, report)));
        let all: Vec<DiskSaid> = each
            .map(|(a, name, r)| DiskSaid {
                hub: &a.hub,
                epoch: a.epoch,
                vm: a.vm,
                name,
                state: r.seen.key(),
                reason: &r.reason,
                volume: &r.volume,
                size: r.size_mb.filter(|mb| *mb > 0),
                progress: r.progress,
                waits: r.waits,
                no_snapshot: &r.no_snapshot,
            })
            .collect();
        // of an independent disk its own volume is followed; its machine says only whether it has it
        let rows = sqlx::query!(
            r#"with said as (
                 select * from jsonb_to_recordset($1)
                   as s (hub text, epoch bigint, vm uuid, name text, state text, reason text, volume text, size bigint, progress smallint, waits boolean,
                         no_snapshot text)
               ), heard as (
                 select k.id, s.hub, s.epoch, s.vm, s.waits, e.* from said s
                 join disks k on k.vm_id = s.vm and k.gone_at is null and s.name = case when k.independent then k.hub_name else k.name end
                 cross join lateral (
                   select s.state, s.reason, s.volume, s.size, s.progress, s.no_snapshot where not k.independent
                   union all
                   select k.obs_state, k.obs_reason, k.obs_volume, k.obs_size_mb, k.obs_progress, k.obs_no_snapshot where k.independent) e
               ), differ as (
                 select s.* from heard s join disks k using (id)
                 where exists (select from hubs h where h.id = s.hub and h.lease_epoch = s.epoch)
                   and (k.obs_state, k.obs_reason, k.obs_volume, k.obs_size_mb, k.obs_progress, k.obs_waits, k.obs_no_snapshot)
                       is distinct from (s.state, s.reason, s.volume, s.size, s.progress, s.waits, s.no_snapshot)
               ), free as (
                 select id from disks where id in (select id from differ) for update skip locked
               ), done as (
                 update disks k set obs_state = s.state, obs_reason = s.reason, obs_volume = s.volume, obs_size_mb = s.size, obs_progress = s.progress,
                        obs_waits = s.waits, obs_no_snapshot = s.no_snapshot, obs_at = now()
                 from differ s join free using (id) where k.id = s.id returning k.id
               )
               select vm as "vm!", bool_or(id not in (select id from free)) as "held!" from differ group by vm"#,
            Json(&all) as _
        )
        .fetch_all(&self.workers)
        .await
        .map_err(mapped)?;
        let became = |a: &VmDisksSeen| match rows.iter().find(|r| r.vm == a.vm) {
            Some(r) if r.held => Written::Held,
            news => Written::Done(news.is_some()),
        };
        Ok(asks.iter().map(became).collect())
    }
}

/// What a hub says of the disks in one machine.
#[derive(Clone, Debug)]
pub(crate) struct VmDisksSeen {
    hub: String,
    epoch: i64,
    vm: Uuid,
    seen: Vec<(String, DiskReport)>,
}

/// What is said of one of them, as the query takes it.
#[derive(Serialize)]
struct DiskSaid<'a> {
    hub: &'a str,
    epoch: i64,
    vm: Uuid,
    name: &'a str,
    state: &'static str,
    reason: &'a str,
    volume: &'a str,
    size: Option<i64>,
    progress: Option<i16>,
    waits: bool,
    no_snapshot: &'a str,
}
