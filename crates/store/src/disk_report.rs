//! What hubs report of disks.
use crate::{Store, constraint::mapped};
use model::{DiskId, HubId, OrgId, Result, UserId, VmId, disk::DiskSeen};
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
        seen: &[(String, DiskReport)],
    ) -> Result<bool> {
        let names: Vec<String> = seen.iter().map(|(name, _)| name.clone()).collect();
        let states: Vec<String> = seen.iter().map(|(_, r)| r.seen.key().to_owned()).collect();
        let reasons: Vec<String> = seen.iter().map(|(_, r)| r.reason.clone()).collect();
        let volumes: Vec<String> = seen.iter().map(|(_, r)| r.volume.clone()).collect();
        let sizes: Vec<i64> = seen.iter().map(|(_, r)| r.size_mb.unwrap_or(0)).collect();
        let progress: Vec<i16> = seen.iter().map(|(_, r)| r.progress.unwrap_or(-1)).collect();
        let waits: Vec<bool> = seen.iter().map(|(_, r)| r.waits).collect();
        let done = sqlx::query!(
            "update disks k set obs_state = s.state, obs_reason = s.reason, obs_volume = s.volume, obs_size_mb = nullif(s.size, 0),
                    obs_progress = nullif(s.progress, -1), obs_waits = s.waits, obs_at = now()
             from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::smallint[], $8::bool[])
                  as s (name, state, reason, volume, size, progress, waits)
             where k.vm_id = $1 and not k.independent and k.gone_at is null and k.name = s.name
               and exists (select from hubs where id = $9 and lease_epoch = $10)
               and (k.obs_state, k.obs_reason, k.obs_volume, k.obs_size_mb, k.obs_progress, k.obs_waits)
                   is distinct from (s.state, s.reason, s.volume, nullif(s.size, 0), nullif(s.progress, -1::smallint), s.waits)",
            vm,
            &names,
            &states,
            &reasons,
            &volumes,
            &sizes,
            &progress,
            &waits,
            hub.0,
            epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() > 0)
    }
}
