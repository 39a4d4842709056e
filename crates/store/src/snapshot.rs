//! Snapshots of machines: what people asked for, and what workers write of it.
use crate::{Authorized, Store, Write, constraint::mapped, work::Claim};
use model::{
    Error, Result, SnapshotId, VmId,
    snapshot::{Snapshot, SnapshotSpec, SnapshotState, hub_name},
    vm::Vm,
};
use sqlx::PgExecutor;
use time::OffsetDateTime;
use uuid::Uuid;

/// What a reconciler needs of a snapshot, deleted or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotWork {
    pub id: SnapshotId,
    pub name: String,
    pub hub_name: String,
    pub uid: Option<String>,
    pub state: SnapshotState,
    pub deleted: bool,
}

/// The machine is to be brought back to a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevertWork {
    /// Of this wish: another one has another id.
    pub id: Uuid,
    /// The snapshot's name on the hub. None: that has ended, and what is left of it goes.
    pub snapshot: Option<String>,
}

async fn of_vm(db: impl PgExecutor<'_>, vm: VmId) -> Result<Vec<Snapshot>> {
    of_vms(db, &[vm.0]).await
}

async fn of_vms(db: impl PgExecutor<'_>, vms: &[Uuid]) -> Result<Vec<Snapshot>> {
    let rows = sqlx::query!(
        r#"select s.id, s.vm_id, s.parent_id, s.name, s.description, s.size_mb, s.state, s.reason, s.id = v.snapshot_id as current,
                  s.deleted_at is not null as "deleted!", s.taken_at, s.created_at, s.created_by
           from snapshots s join vms v on v.id = s.vm_id where s.vm_id = any($1) and s.gone_at is null order by s.created_at, s.id"#,
        vms
    )
    .fetch_all(db)
    .await
    .map_err(mapped)?;
    let all = rows.into_iter().map(|r| Snapshot {
        id: SnapshotId(r.id),
        vm: VmId(r.vm_id),
        parent: r.parent_id.map(SnapshotId),
        name: r.name,
        description: r.description,
        size_mb: r.size_mb,
        state: SnapshotState::parse(&r.state).unwrap_or_default(),
        reason: r.reason,
        current: r.current.unwrap_or(false),
        deleted: r.deleted,
        taken_at: r.taken_at,
        created_at: r.created_at,
        created_by: r.created_by,
    });
    Ok(all.collect())
}

impl Store {
    pub async fn snapshots_of(&self, vm: &Authorized<Vm>) -> Result<Vec<Snapshot>> {
        of_vm(&self.pool, vm.id).await
    }

    /// Those of machines that whoever asks has seen already.
    pub async fn snapshots_of_all(&self, vms: &[Vm]) -> Result<Vec<Snapshot>> {
        let ids: Vec<Uuid> = vms.iter().map(|vm| vm.id.0).collect();
        of_vms(&self.pool, &ids).await
    }

    pub(crate) async fn snapshots_work(&self, vm: VmId) -> Result<(Vec<SnapshotWork>, Option<RevertWork>)> {
        let rows = sqlx::query!(
            r#"select id, name, hub_name, uid, state, deleted_at is not null as "deleted!" from snapshots
               where vm_id = $1 and gone_at is null order by created_at, id"#,
            vm.0
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        let all = rows.into_iter().map(|r| SnapshotWork {
            id: SnapshotId(r.id),
            name: r.name,
            hub_name: r.hub_name,
            uid: r.uid,
            state: SnapshotState::parse(&r.state).unwrap_or_default(),
            deleted: r.deleted,
        });
        let revert = sqlx::query!(
            r#"select v.revert_id as "id!", s.hub_name as "hub_name?" from vms v left join snapshots s on s.id = v.revert_to
               where v.id = $1 and v.revert_id is not null"#,
            vm.0
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        let revert = revert.map(|r| RevertWork { id: r.id, snapshot: r.hub_name });
        Ok((all.collect(), revert))
    }

    /// Did the machine ever have a snapshot?
    pub async fn vm_had_snapshots(&self, vm: VmId) -> Result<bool> {
        sqlx::query_scalar!(r#"select exists (select from snapshots where vm_id = $1) as "had!""#, vm.0)
            .fetch_one(&self.pool)
            .await
            .map_err(mapped)
    }

    /// It is on the hub. False: the claim is not ours any more.
    pub async fn snapshot_made(&self, c: &Claim, id: SnapshotId, uid: &str) -> Result<bool> {
        let done = sqlx::query!(
            "update snapshots set uid = $2 where id = $1 and (uid is null or uid = $2)
             and exists (select from work where kind = 'vm' and id = $3 and lease_epoch = $4)",
            id.0,
            uid,
            c.id,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// It was taken: what comes stems from it. The one asked for last counts.
    pub async fn snapshot_ready(&self, c: &Claim, id: SnapshotId, taken_at: Option<OffsetDateTime>) -> Result<bool> {
        let done = sqlx::query!(
            "with s as (update snapshots set state = 'ready', reason = '', taken_at = $2 where id = $1 and state = 'asked'
                        and exists (select from work where kind = 'vm' and id = $3 and lease_epoch = $4) returning id, vm_id)
             update vms set snapshot_id = s.id, snapshot_problem = '' from s where vms.id = s.vm_id",
            id.0,
            taken_at,
            c.id,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    pub async fn snapshot_failed(&self, c: &Claim, id: SnapshotId, why: &str) -> Result<bool> {
        let done = sqlx::query!(
            "with s as (update snapshots set state = 'failed', reason = $2 where id = $1
                        and exists (select from work where kind = 'vm' and id = $3 and lease_epoch = $4) returning vm_id)
             update vms set snapshot_problem = $2 from s where vms.id = s.vm_id",
            id.0,
            why,
            c.id,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// It is proven to be gone.
    pub async fn snapshot_gone(&self, c: &Claim, id: SnapshotId) -> Result<bool> {
        let done = sqlx::query!(
            "update snapshots set gone_at = coalesce(gone_at, now()) where id = $1 and deleted_at is not null
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

    /// The machine was brought back, or (with a reason) was not: the hub is not asked for it again.
    pub async fn revert_ended(&self, c: &Claim, revert: &RevertWork, problem: &str) -> Result<bool> {
        let done = sqlx::query!(
            "update vms set revert_to = null, snapshot_problem = $3, snapshot_id = case when $3 = '' then revert_to else snapshot_id end
             where id = $1 and revert_id = $2 and exists (select from work where kind = 'vm' and id = $1 and lease_epoch = $4)",
            c.id,
            revert.id,
            problem,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// Nothing is left of it on the hub. What is asked for of the machine is applied once more after it.
    pub async fn revert_over(&self, c: &Claim, revert: &RevertWork) -> Result<bool> {
        let done = sqlx::query!(
            "update vms set revert_id = null, applied = null
             where id = $1 and revert_id = $2 and exists (select from work where kind = 'vm' and id = $1 and lease_epoch = $3)",
            c.id,
            revert.id,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }
}

impl Write<'_> {
    /// Those of a machine that is held.
    pub async fn snapshots_of(&mut self, vm: &Authorized<Vm>) -> Result<Vec<Snapshot>> {
        of_vm(&mut *self.tx, vm.id).await
    }

    pub async fn snapshot_insert(&mut self, id: SnapshotId, vm: &Vm, s: &SnapshotSpec) -> Result<()> {
        sqlx::query!(
            "insert into snapshots (id, org_id, vm_id, parent_id, name, description, size_mb, hub_name, created_by)
             select $1, org_id, id, snapshot_id, $3, $4, $5, $6, $7 from vms where id = $2",
            id.0,
            vm.id.0,
            s.name,
            s.description,
            vm.storage_mb(),
            hub_name(&vm.hub_name, id.0),
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// What stems from it stems from its parent then.
    pub async fn snapshot_delete(&mut self, id: SnapshotId) -> Result<()> {
        let parent = sqlx::query_scalar!(
            "update snapshots set deleted_at = coalesce(deleted_at, now()) where id = $1 returning parent_id",
            id.0
        )
        .fetch_optional(&mut *self.tx)
        .await
        .map_err(mapped)?
        .ok_or_else(|| Error::Internal(format!("snapshot {id} is not there")))?;
        sqlx::query!("update snapshots set parent_id = $2 where parent_id = $1", id.0, parent)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!("update vms set snapshot_id = $2 where snapshot_id = $1", id.0, parent)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// Something about the machine's snapshots is to be brought about; with a wish to go back to one of them, after which it is
    /// powered as it was asked for.
    pub async fn vm_snapshots_changed(&mut self, vm: VmId, revert_to: Option<SnapshotId>) -> Result<i64> {
        sqlx::query_scalar!(
            "update vms set generation = generation + 1, snapshot_problem = '', version = version + 1, updated_at = now(), updated_by = $3,
                    power_generation = case when $2::uuid is null then power_generation else generation + 1 end,
                    outside = case when $2::uuid is null then outside else '' end,
                    revert_to = coalesce($2, revert_to), revert_id = case when $2::uuid is null then revert_id else gen_random_uuid() end
             where id = $1 returning generation",
            vm.0,
            revert_to.map(|s| s.0),
            self.actor.name
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)
    }

    /// They go with their machine.
    pub(crate) async fn snapshots_delete_with(&mut self, vm: VmId) -> Result<()> {
        sqlx::query!(
            "update snapshots set deleted_at = coalesce(deleted_at, now()) where vm_id = $1 and gone_at is null",
            vm.0
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!("update vms set revert_id = null, revert_to = null where id = $1", vm.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }
}
