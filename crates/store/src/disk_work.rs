//! What workers read and write of disks.
use crate::{Store, constraint::mapped, quota, storage::storage_count, work::Claim};
use model::{DiskId, Error, HubId, OrgId, PolicyId, Result, UserId, VdcId, VmId, disk::Bus, quota::Amount};
use sqlx::{Postgres, Transaction};
use std::collections::HashMap;
use uuid::Uuid;

/// A disk that a machine has, should have, or should be without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmDiskWork {
    pub id: DiskId,
    pub name: String,
    /// What it is called inside of the machine.
    pub volume: String,
    pub independent: bool,
    /// Its volume was or is made together with the machine.
    pub with_vm: bool,
    /// It is to be out of the machine.
    pub leaving: bool,
    pub bus: Bus,
    pub size_mb: i64,
    pub applied_mb: i64,
    pub image: String,
    /// Empty: the hub's default.
    pub class: String,
    /// What was last seen to stand behind it on the hub.
    pub object: String,
    /// Of an independent one: it is there, and full.
    pub ready: bool,
    /// A disc, on a CD drive.
    pub disc: bool,
    /// Among the disks of its machine.
    pub position: i32,
}

/// What a reconciler needs of an independent disk, deleted or not.
#[derive(Clone, Debug)]
pub struct DiskWork {
    pub id: DiskId,
    pub org: OrgId,
    pub org_name: String,
    pub vdc: VdcId,
    pub vdc_name: String,
    pub owner: Option<UserId>,
    pub owner_name: String,
    pub name: String,
    pub description: String,
    pub size_mb: i64,
    pub applied_mb: i64,
    /// Empty: the hub's default.
    pub class: String,
    pub generation: i64,
    pub applied: Option<i64>,
    pub hub: Option<HubId>,
    /// It is in a machine, or is to be, and that machine's hub.
    pub attached: bool,
    pub vm_hub: Option<HubId>,
    pub hub_name: String,
    pub uid: Option<String>,
    pub attempted: bool,
    pub deleted: bool,
    pub gone: bool,
}

impl Store {
    /// The disks of machines on their hubs, as reconcilers need them.
    pub(crate) async fn vm_disks_work(&self, machines: &[(Uuid, &str)]) -> Result<HashMap<Uuid, Vec<VmDiskWork>>> {
        let vms: Vec<Uuid> = machines.iter().map(|(vm, _)| *vm).collect();
        let hubs: Vec<String> = machines.iter().map(|(_, hub)| (*hub).to_owned()).collect();
        let rows = sqlx::query!(
            r#"select m.vm as "vm!", k.id, k.name, k.independent, k.with_vm, k.deleted_at is not null or k.leaving_vm_id is not null as "leaving!", k.bus, k.size_mb,
                      k.applied_mb, k.image, coalesce(nullif(coalesce(c.class, p.class), ''), k.storage_class) as "class!", k.hub_name, k.obs_volume, k.position,
                      k.media_id is not null as "disc!", k.independent and k.uid is not null and k.obs_state = 'ready' as "ready!"
               from unnest($1::uuid[], $2::text[]) as m (vm, hub)
               join disks k on (k.vm_id = m.vm or k.leaving_vm_id = m.vm) and k.gone_at is null
               join storage_policies p on p.id = k.policy_id
               left join storage_policy_classes c on c.policy_id = p.id and c.hub_id = m.hub
               order by k.independent, k.position, k.created_at, k.name"#,
            &vms,
            &hubs
        )
        .fetch_all(&self.workers)
        .await
        .map_err(mapped)?;
        let mut all: HashMap<Uuid, Vec<VmDiskWork>> = HashMap::new();
        for r in rows {
            all.entry(r.vm).or_default().push(VmDiskWork {
                id: DiskId(r.id),
                volume: if r.independent { r.hub_name.clone() } else { r.name.clone() },
                object: if r.independent { r.hub_name } else { r.obs_volume },
                name: r.name,
                independent: r.independent,
                with_vm: r.with_vm,
                leaving: r.leaving,
                bus: Bus::parse(&r.bus).unwrap_or_default(),
                size_mb: r.size_mb,
                applied_mb: r.applied_mb,
                image: r.image,
                class: r.class,
                ready: r.ready,
                disc: r.disc,
                position: r.position,
            });
        }
        Ok(all)
    }

    /// Does the machine still have disks that are on their way out?
    pub async fn vm_disks_leave(&self, vm: VmId) -> Result<bool> {
        sqlx::query_scalar!(
            r#"select exists (select from disks where gone_at is null and (leaving_vm_id = $1 or vm_id = $1 and deleted_at is not null)) as "some!""#,
            vm.0
        )
        .fetch_one(&self.pool)
        .await
        .map_err(mapped)
    }

    /// The hub was brought to that size.
    pub async fn vm_disk_grown(&self, c: &Claim, id: DiskId, size_mb: i64) -> Result<bool> {
        let done = sqlx::query!(
            "update disks set applied_mb = $2 where id = $1 and exists (select from work where kind = 'vm' and id = $3 and lease_epoch = $4)",
            id.0,
            size_mb,
            c.id,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// Its hub can't make it larger: it keeps the size that it has there, and what it was to have more is given back.
    pub async fn disk_keeps_size(&self, c: &Claim, id: DiskId, wanted_mb: i64, has_mb: i64) -> Result<bool> {
        let mut tx = self.begin().await?;
        hold_with_org(&mut tx, id).await?;
        let kept = sqlx::query!(
            "update disks set size_mb = $3, applied_mb = $3 where id = $1 and size_mb = $2 and gone_at is null
             and exists (select from work where kind = $4 and id = $5 and lease_epoch = $6)
             returning org_id, vdc_id, owner_id, policy_id",
            id.0,
            wanted_mb,
            has_mb,
            c.kind.key(),
            c.id,
            c.epoch
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(mapped)?;
        let Some(r) = kept else { return Ok(false) };
        let more = Amount { storage_mb: has_mb - wanted_mb, ..Amount::default() };
        quota::count(&mut tx, OrgId(r.org_id), VdcId(r.vdc_id), r.owner_id.map(UserId), &more).await?;
        storage_count(&mut tx, VdcId(r.vdc_id), PolicyId(r.policy_id), has_mb - wanted_mb).await?;
        tx.commit().await.map_err(mapped)?;
        Ok(true)
    }

    /// An independent disk is proven to be out of the machine.
    pub async fn disk_left(&self, c: &Claim, id: DiskId) -> Result<bool> {
        let done = sqlx::query!(
            "update disks set leaving_vm_id = null where id = $1 and leaving_vm_id = $2
             and exists (select from work where kind = 'vm' and id = $2 and lease_epoch = $3)",
            id.0,
            c.id,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// A machine's removed disk is proven to be gone: what it used is given back, once.
    pub async fn vm_disk_gone(&self, c: &Claim, id: DiskId) -> Result<bool> {
        self.gone_by(c, "vm", id).await
    }

    /// The same for an independent one.
    pub async fn disk_gone(&self, c: &Claim) -> Result<bool> {
        self.gone_by(c, "disk", DiskId(c.id)).await
    }

    async fn gone_by(&self, c: &Claim, kind: &str, id: DiskId) -> Result<bool> {
        let mut tx = self.begin().await?;
        // the disk first, then what it is counted in: the order of whatever people do with it
        hold_with_org(&mut tx, id).await?;
        let gone = sqlx::query!(
            "update disks set gone_at = now() where id = $1 and gone_at is null and deleted_at is not null
             and exists (select from work where kind = $2 and id = $3 and lease_epoch = $4)
             returning org_id, vdc_id, owner_id, policy_id, size_mb",
            id.0,
            kind,
            c.id,
            c.epoch
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(mapped)?;
        let Some(r) = gone else { return Ok(false) };
        let freed = Amount { storage_mb: -r.size_mb, ..Amount::default() };
        quota::count(&mut tx, OrgId(r.org_id), VdcId(r.vdc_id), r.owner_id.map(UserId), &freed).await?;
        storage_count(&mut tx, VdcId(r.vdc_id), PolicyId(r.policy_id), -r.size_mb).await?;
        tx.commit().await.map_err(mapped)?;
        Ok(true)
    }

    pub async fn disk_work(&self, id: Uuid) -> Result<Option<DiskWork>> {
        let r = sqlx::query!(
            r#"select k.org_id, o.name as org_name, k.vdc_id, d.name as vdc_name, k.owner_id, coalesce(u.name, '') as "owner_name!", k.name,
                      k.description, k.size_mb, k.applied_mb, coalesce(c.class, p.class) as "class!", k.generation, k.applied, k.hub_id, k.hub_name,
                      k.vm_id is not null as "attached!", m.hub_id as "vm_hub?", k.uid, k.attempted_at is not null as "attempted!", k.deleted_at is not null as "deleted!", k.gone_at is not null as "gone!"
               from disks k join organizations o on o.id = k.org_id join vdcs d on d.id = k.vdc_id join storage_policies p on p.id = k.policy_id
               left join storage_policy_classes c on c.policy_id = p.id and c.hub_id = k.hub_id left join users u on u.id = k.owner_id
               left join vms m on m.id = k.vm_id
               where k.id = $1 and k.independent"#,
            id
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(r.map(|r| DiskWork {
            id: DiskId(id),
            org: OrgId(r.org_id),
            org_name: r.org_name,
            vdc: VdcId(r.vdc_id),
            vdc_name: r.vdc_name,
            owner: r.owner_id.map(UserId),
            owner_name: r.owner_name,
            name: r.name,
            description: r.description,
            size_mb: r.size_mb,
            applied_mb: r.applied_mb,
            class: r.class,
            generation: r.generation,
            applied: r.applied,
            hub: r.hub_id.map(HubId),
            attached: r.attached,
            vm_hub: r.vm_hub.map(HubId),
            hub_name: r.hub_name,
            uid: r.uid,
            attempted: r.attempted,
            deleted: r.deleted,
            gone: r.gone,
        }))
    }

    /// Where it goes: not any more once a call was attempted. False: it has a place, or the claim is not ours any more.
    pub async fn disk_place(&self, c: &Claim, hub: &HubId) -> Result<bool> {
        let done = sqlx::query!(
            "update disks set hub_id = $2 where id = $1 and hub_id is null and attempted_at is null
             and exists (select from hubs where id = $2) and exists (select from work where kind = 'disk' and id = $1 and lease_epoch = $3)",
            c.id,
            hub.0,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// From now on something of it may be on its hub.
    pub async fn disk_attempted(&self, c: &Claim) -> Result<bool> {
        let done = sqlx::query!(
            "update disks set attempted_at = coalesce(attempted_at, now()) where id = $1 and hub_id is not null and deleted_at is null
             and exists (select from work where kind = 'disk' and id = $1 and lease_epoch = $2)",
            c.id,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// It is on the hub. False: the claim is not ours any more.
    pub async fn disk_made(&self, c: &Claim, uid: &str) -> Result<bool> {
        let done = sqlx::query!(
            "update disks set uid = $2 where id = $1 and (uid is null or uid = $2)
             and exists (select from work where kind = 'disk' and id = $1 and lease_epoch = $3)",
            c.id,
            uid,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    pub async fn disk_applied(&self, c: &Claim, generation: i64, size_mb: i64) -> Result<bool> {
        let done = sqlx::query!(
            "update disks set applied = $2, applied_mb = $3, problem = '' where id = $1
             and exists (select from work where kind = 'disk' and id = $1 and lease_epoch = $4)",
            c.id,
            generation,
            size_mb,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    pub async fn disk_problem(&self, c: &Claim, why: &str) -> Result<()> {
        sqlx::query!(
            "update disks set problem = $2 where id = $1 and problem <> $2
             and exists (select from work where kind = 'disk' and id = $1 and lease_epoch = $3)",
            c.id,
            why,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Was it deleted, and proven to be gone? None: nobody knows it.
    pub async fn disk_tombstone(&self, id: Uuid) -> Result<Option<bool>> {
        sqlx::query_scalar!(r#"select gone_at is not null as "gone!" from disks where id = $1 and not lost"#, id)
            .fetch_optional(&self.pool)
            .await
            .map_err(mapped)
    }
}

async fn hold_with_org(tx: &mut Transaction<'static, Postgres>, id: DiskId) -> Result<()> {
    let org = sqlx::query_scalar!("select org_id from disks where id = $1 for update", id.0)
        .fetch_optional(&mut **tx)
        .await
        .map_err(mapped)?
        .ok_or_else(|| Error::Internal(format!("disk {id} has no row")))?;
    sqlx::query!("select id from organizations where id = $1 for no key update", org)
        .fetch_one(&mut **tx)
        .await
        .map_err(mapped)?;
    Ok(())
}

/// The disks of a machine that is proven to be gone: its own go with it, independent ones are free. What is given back in all.
pub(crate) async fn gone_with_vm(tx: &mut Transaction<'static, Postgres>, vm: Uuid) -> Result<i64> {
    sqlx::query!(
        "update disks set leaving_vm_id = null, vm_id = null, obs_waits = false where independent and (vm_id = $1 or leaving_vm_id = $1)",
        vm
    )
    .execute(&mut **tx)
    .await
    .map_err(mapped)?;
    let rows = sqlx::query!(
        "update disks set gone_at = now(), deleted_at = coalesce(deleted_at, now()) where vm_id = $1 and not independent and gone_at is null
         returning vdc_id, policy_id, size_mb",
        vm
    )
    .fetch_all(&mut **tx)
    .await
    .map_err(mapped)?;
    for r in &rows {
        storage_count(tx, VdcId(r.vdc_id), PolicyId(r.policy_id), -r.size_mb).await?;
    }
    Ok(rows.iter().map(|r| r.size_mb).sum())
}
