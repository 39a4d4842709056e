//! What workers read and write of VMs. Every write carries the epoch of the claim it was made under.
use crate::{Store, constraint::mapped, work::Claim};
use model::{
    Error, HubId, OrgId, Result, UserId, VappId, VdcId, VmId,
    vm::{Disk, Nic, Once, Power, Seen},
};
use uuid::Uuid;

/// What a reconciler needs of a VM, deleted or not.
#[derive(Clone, Debug)]
pub struct VmWork {
    pub id: VmId,
    pub org: OrgId,
    pub org_name: String,
    pub vdc: VdcId,
    pub vdc_name: String,
    pub vapp: VappId,
    pub vapp_name: String,
    pub vapp_attempted: bool,
    pub instance_of: Option<String>,
    /// Its vApp's TemplateInstance was made.
    pub instance_made: bool,
    pub owner: Option<UserId>,
    pub owner_name: String,
    pub name: String,
    pub description: String,
    pub computer_name: String,
    pub cpus: i32,
    pub memory_mb: i64,
    pub instance_type: String,
    pub preference: String,
    pub disks: Vec<Disk>,
    pub nics: Vec<Nic>,
    pub cloud_init: Option<Vec<u8>>,
    pub power: Power,
    pub start_order: i32,
    pub start_delay_s: i32,
    pub generation: i64,
    pub once: Option<(Once, Uuid)>,
    pub once_done: Option<Uuid>,
    pub hub: Option<HubId>,
    pub hub_name: String,
    pub uid: Option<String>,
    pub attempted: bool,
    pub applied: Option<i64>,
    pub seen: Seen,
    pub outside: bool,
    pub restart_needed: bool,
    pub deleted: bool,
    pub gone: bool,
}

impl Store {
    pub async fn vm_work(&self, id: Uuid) -> Result<Option<VmWork>> {
        let r = sqlx::query!(
            r#"select v.org_id, v.vdc_id, v.vapp_id, v.owner_id, v.name, v.description, v.computer_name, v.cpus, v.memory_mb, v.instance_type,
                      v.preference, v.disks, v.nics, v.cloud_init, v.power, v.start_order, v.start_delay_s, v.generation, v.once, v.once_id,
                      v.once_done, v.hub_id, v.hub_name, v.uid, v.attempted_at, v.applied, v.obs_state, v.outside, v.obs_restart,
                      v.deleted_at, v.gone_at, o.name as org_name, d.name as vdc_name, a.name as vapp_name, a.attempted_at is not null as "vapp_attempted!",
                      a.instance_uid is not null as "instance_made!",
                      a.instance_of as "instance_of?", coalesce(u.name, '') as "owner_name!"
               from vms v join organizations o on o.id = v.org_id join vdcs d on d.id = v.vdc_id join vapps a on a.id = v.vapp_id
               left join users u on u.id = v.owner_id where v.id = $1"#,
            id
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        let Some(r) = r else { return Ok(None) };
        let odd = |what: &str| Error::Internal(format!("VM {id}: {what} can't be read"));
        Ok(Some(VmWork {
            id: VmId(id),
            org: OrgId(r.org_id),
            org_name: r.org_name,
            vdc: VdcId(r.vdc_id),
            vdc_name: r.vdc_name,
            vapp: VappId(r.vapp_id),
            vapp_name: r.vapp_name,
            vapp_attempted: r.vapp_attempted,
            instance_of: r.instance_of,
            instance_made: r.instance_made,
            owner: r.owner_id.map(UserId),
            owner_name: r.owner_name,
            name: r.name,
            description: r.description,
            computer_name: r.computer_name,
            cpus: r.cpus,
            memory_mb: r.memory_mb,
            instance_type: r.instance_type,
            preference: r.preference,
            disks: serde_json::from_value(r.disks).map_err(|_| odd("disks"))?,
            nics: serde_json::from_value(r.nics).map_err(|_| odd("nics"))?,
            cloud_init: r.cloud_init,
            power: Power::parse(&r.power).ok_or_else(|| odd("power"))?,
            start_order: r.start_order,
            start_delay_s: r.start_delay_s,
            generation: r.generation,
            once: Once::parse(&r.once).zip(r.once_id),
            once_done: r.once_done,
            hub: r.hub_id.map(HubId),
            hub_name: r.hub_name,
            uid: r.uid,
            attempted: r.attempted_at.is_some(),
            applied: r.applied,
            seen: Seen::parse(&r.obs_state).ok_or_else(|| odd("state"))?,
            outside: !r.outside.is_empty(),
            restart_needed: r.obs_restart,
            deleted: r.deleted_at.is_some(),
            gone: r.gone_at.is_some(),
        }))
    }

    /// From now on something of it may be on its hub: it never goes to another one. Its vApp neither.
    pub async fn vm_attempted(&self, c: &Claim) -> Result<bool> {
        let mut tx = self.pool.begin().await.map_err(mapped)?;
        let vapp = sqlx::query_scalar!(
            "update vms set attempted_at = coalesce(attempted_at, now()) where id = $1 and hub_id is not null and deleted_at is null
             and exists (select from work where kind = 'vm' and id = $1 and lease_epoch = $2) returning vapp_id",
            c.id,
            c.epoch
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(mapped)?;
        if let Some(vapp) = vapp {
            sqlx::query!("update vapps set attempted_at = coalesce(attempted_at, now()) where id = $1", vapp)
                .execute(&mut *tx)
                .await
                .map_err(mapped)?;
        }
        tx.commit().await.map_err(mapped)?;
        Ok(vapp.is_some())
    }

    /// It is on the hub, halted. False: the claim is not ours any more, and nothing may be done with that object.
    pub async fn vm_made(&self, c: &Claim, uid: &str) -> Result<bool> {
        let done = sqlx::query!(
            "update vms set uid = $2 where id = $1 and (uid is null or uid = $2)
             and exists (select from work where kind = 'vm' and id = $1 and lease_epoch = $3)",
            c.id,
            uid,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// The hub was brought to that generation.
    pub async fn vm_applied(
        &self,
        c: &Claim,
        generation: i64,
        at_hub: Option<i64>,
        once: Option<Uuid>,
    ) -> Result<bool> {
        let done = sqlx::query!(
            "update vms set applied = $2, once_done = coalesce($4, once_done), problem = '', hub_generation = coalesce($5, hub_generation) where id = $1
             and exists (select from work where kind = 'vm' and id = $1 and lease_epoch = $3)",
            c.id,
            generation,
            c.epoch,
            once,
            at_hub
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// Why it can't be brought to what was asked for; empty: nothing is in the way.
    pub async fn vm_problem(&self, c: &Claim, why: &str) -> Result<()> {
        sqlx::query!(
            "update vms set problem = $2 where id = $1 and problem <> $2
             and exists (select from work where kind = 'vm' and id = $1 and lease_epoch = $3)",
            c.id,
            why,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// It is proven to be gone: what it used is given back, once.
    pub async fn vm_gone(&self, c: &Claim) -> Result<bool> {
        let mut tx = self.pool.begin().await.map_err(mapped)?;
        // rows are locked from the organization down, as by quota reservations
        let r = sqlx::query!("select org_id, vdc_id, owner_id, vapp_id from vms where id = $1", c.id)
            .fetch_one(&mut *tx)
            .await
            .map_err(mapped)?;
        sqlx::query!("select id from organizations where id = $1 for update", r.org_id)
            .fetch_one(&mut *tx)
            .await
            .map_err(mapped)?;
        let gone = sqlx::query!(
            "update vms set gone_at = now() where id = $1 and gone_at is null and deleted_at is not null
             and exists (select from work where kind = 'vm' and id = $1 and lease_epoch = $2)
             returning cpus, memory_mb, storage_mb",
            c.id,
            c.epoch
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(mapped)?;
        let Some(gone) = gone else { return Ok(false) };
        let (cpus, memory, storage) = (i64::from(gone.cpus), gone.memory_mb, gone.storage_mb);
        sqlx::query!(
            "update vdcs set vms_used = vms_used - 1, cpus_used = cpus_used - $2, memory_used_mb = memory_used_mb - $3,
                    storage_used_mb = storage_used_mb - $4 where id = $1",
            r.vdc_id,
            cpus,
            memory,
            storage
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        sqlx::query!(
            "update users set vms_used = vms_used - 1, cpus_used = cpus_used - $2, memory_used_mb = memory_used_mb - $3,
                    storage_used_mb = storage_used_mb - $4 where id = $1",
            r.owner_id,
            cpus,
            memory,
            storage
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        sqlx::query!(
            "update organizations set vms_used = vms_used - 1, cpus_used = cpus_used - $2, memory_used_mb = memory_used_mb - $3,
                    storage_used_mb = storage_used_mb - $4 where id = $1",
            r.org_id,
            cpus,
            memory,
            storage
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        // its vApp may have waited for this
        sqlx::query!(
            "insert into work (kind, id, org_id, hub_id) select 'vapp', id, org_id, coalesce(hub_id, '') from vapps
             where id = $1 and deleted_at is not null and gone_at is null
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now()",
            r.vapp_id
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        tx.commit().await.map_err(mapped)?;
        self.work_bell.notify_one();
        Ok(true)
    }

    /// A worker that was too late may have changed it on its hub: what is asked for is applied once more.
    pub async fn vm_again(&self, id: VmId) -> Result<()> {
        sqlx::query!(
            "with v as (update vms set applied = null where id = $1 and gone_at is null returning id, org_id, hub_id)
             insert into work (kind, id, org_id, hub_id) select 'vm', id, org_id, coalesce(hub_id, '') from v
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), failing = ''",
            id.0
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        self.work_bell.notify_one();
        Ok(())
    }

    /// The machines that start before this one in its vApp, by the database's clock: replicas' clocks may differ.
    pub async fn vms_before(&self, vm: VmId) -> Result<Vec<Before>> {
        let rows = sqlx::query!(
            r#"select b.name, b.start_delay_s, b.obs_state in ('running', 'migrating') as "running!", b.problem,
                      extract(epoch from b.obs_since + make_interval(secs => b.start_delay_s) - now())::float8 as left_s
               from vms v join vms b on b.vapp_id = v.vapp_id and b.start_order < v.start_order
               where v.id = $1 and b.deleted_at is null and b.power = 'on' order by b.start_order, b.id"#,
            vm.0
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        let before = rows.into_iter().map(|r| Before {
            name: r.name,
            delay_s: r.start_delay_s,
            running: r.running,
            problem: r.problem,
            left_s: r.left_s.unwrap_or(0.0),
        });
        Ok(before.collect())
    }
}

/// A machine that starts before another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Before {
    pub name: String,
    pub delay_s: i32,
    pub running: bool,
    /// Why it will not run.
    pub problem: String,
    /// Seconds until those after it may start.
    pub left_s: f64,
}

/// What a hub says of one of our VMs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub vm: Uuid,
    pub uid: String,
    pub resource_version: String,
    pub seen: Seen,
    pub reason: String,
    pub run_strategy: String,
    pub cpus: Option<i32>,
    pub memory_mb: Option<i64>,
    pub node: String,
    pub ips: Vec<String>,
    pub guest_os: String,
    pub progress: Option<i16>,
    pub restart_needed: bool,
    /// The object's own count of changes to what it asks for.
    pub generation: i64,
    /// What the object asks for now.
    pub asked_cpus: Option<i32>,
    pub asked_memory_mb: Option<i64>,
}

impl Store {
    /// What a worker saw itself, right after a call, so that nobody waits for the watch. Returns what changed.
    pub async fn observe(&self, hub: &HubId, epoch: Option<i64>, r: &Report) -> Result<Option<Observed>> {
        let row = sqlx::query!(
            r#"update vms v set obs_state = $3, obs_reason = $4, obs_cpus = $5, obs_memory_mb = $6, obs_node = $7, obs_ips = $8,
                      obs_guest_os = $9, obs_progress = $10, obs_restart = $11, obs_rv = $12, obs_at = now(),
                      obs_since = case when v.obs_state = $3 then v.obs_since else now() end
               from (select id, obs_state, obs_reason, obs_ips, obs_progress, obs_cpus, obs_memory_mb, obs_restart, outside from vms where id = $1 for update) b
               where v.id = b.id and v.gone_at is null and v.hub_id = $13 and (v.uid is null or v.uid = $2)
                 and ($14::bigint is null or exists (select from hubs where id = $13 and lease_epoch = $14))
               returning v.org_id, v.owner_id, v.vapp_id, v.name, v.power, v.uid, v.applied, v.generation, v.cpus, v.memory_mb, v.hub_generation, v.instance_type, v.deleted_at is not null as "deleted!",
                         b.obs_state as before, b.outside as "was_outside!",
                         (b.obs_state, b.obs_reason, b.obs_ips, b.obs_progress, b.obs_cpus, b.obs_memory_mb, b.obs_restart)
                           is distinct from ($3, $4, $8, $10, $5, $6, $11) as "changed!""#,
            r.vm,
            r.uid,
            r.seen.key(),
            r.reason,
            r.cpus,
            r.memory_mb,
            r.node,
            &r.ips,
            r.guest_os,
            r.progress,
            r.restart_needed,
            r.resource_version,
            hub.0,
            epoch
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(row.map(|o| Observed {
            org: OrgId(o.org_id),
            owner: o.owner_id.map(UserId),
            vapp: VappId(o.vapp_id),
            name: o.name,
            power: Power::parse(&o.power).unwrap_or_default(),
            known_uid: o.uid,
            settled: o.applied == Some(o.generation),
            deleted: o.deleted,
            before: Seen::parse(&o.before).unwrap_or_default(),
            cpus: o.cpus,
            memory_mb: o.memory_mb,
            typed: !o.instance_type.is_empty(),
            hub_generation: o.hub_generation,
            outside: o.was_outside,
            changed: o.changed,
        }))
    }

    /// Names what somebody did on the hub by hand; empty: it is as it was asked for again.
    pub async fn vm_outside(&self, vm: VmId, what: &str) -> Result<()> {
        sqlx::query!("update vms set outside = $2 where id = $1 and outside <> $2", vm.0, what)
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// The ids and uids of the VMs that should be on a hub: what a full list is compared with.
    pub async fn vms_expected(&self, hub: &HubId) -> Result<Vec<(VmId, String, bool)>> {
        let rows = sqlx::query!(
            r#"select id, uid as "uid!", deleted_at is not null as "deleted!" from vms where hub_id = $1 and gone_at is null and uid is not null
               and obs_state <> 'missing'"#,
            hub.0
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(rows.into_iter().map(|r| (VmId(r.id), r.uid, r.deleted)).collect())
    }

    /// Is or was there a VM with that id? If so: whether it is proven to be gone.
    pub async fn vm_tombstone(&self, id: Uuid) -> Result<Option<bool>> {
        sqlx::query_scalar!(r#"select gone_at is not null as "gone!" from vms where id = $1"#, id)
            .fetch_optional(&self.pool)
            .await
            .map_err(mapped)
    }

    /// The VM's object is gone from its hub, and nobody here asked for it.
    pub async fn vm_missing(&self, hub: &HubId, id: VmId, uid: &str) -> Result<bool> {
        let done = sqlx::query!(
            "update vms set obs_state = 'missing', obs_reason = '', obs_at = now(), obs_since = now(), outside = 'It was deleted on its hub by hand.'
             where id = $1 and hub_id = $2 and uid = $3 and gone_at is null and deleted_at is null and obs_state <> 'missing'",
            id.0,
            hub.0,
            uid
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }

    /// Something that nobody here did, for the list of events.
    pub async fn event(&self, e: &Happened<'_>) -> Result<()> {
        sqlx::query!(
            "insert into events (id, org_id, user_name, kind, object_kind, object_id, object_name, message, owner_id)
             values ($1, $2, 'hub', $3, $4, $5, $6, $7, $8)",
            Uuid::now_v7(),
            e.org.0,
            e.word,
            e.kind.key(),
            e.id,
            e.name,
            e.message,
            e.owner.map(|u| u.0)
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        self.bell.notify_one();
        Ok(())
    }
}

/// Something that happened on a hub, and was asked for by nobody here.
pub struct Happened<'a> {
    pub org: OrgId,
    pub owner: Option<UserId>,
    pub kind: model::Kind,
    pub id: Uuid,
    pub name: &'a str,
    /// In the place of an action's key: `vm.missing`.
    pub word: &'a str,
    pub message: &'a str,
}

/// What an observation met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    pub org: OrgId,
    pub owner: Option<UserId>,
    pub vapp: VappId,
    pub name: String,
    pub power: Power,
    pub known_uid: Option<String>,
    /// The hub had been brought to what is asked for: a difference now is somebody else's doing.
    pub settled: bool,
    pub deleted: bool,
    pub before: Seen,
    pub cpus: i32,
    pub memory_mb: i64,
    /// Its size is an instance type's.
    pub typed: bool,
    pub hub_generation: Option<i64>,
    pub outside: String,
    pub changed: bool,
}
