//! What workers read and write of VMs. Every write carries the epoch of the claim it was made under.
use crate::{
    Store,
    affinity::AffinityTerm,
    constraint::mapped,
    disk_work::{VmDiskWork, gone_with_vm},
    nic, quota,
    snapshot::{RevertWork, SnapshotWork},
    together::Written,
    work::Claim,
};
use model::{
    Error, HubId, OrgId, Result, SizingId, UserId, VappId, VdcId, VmId,
    form::Form,
    hardware::Hardware,
    quota::Amount,
    vm::{Besides, Once, Power, Seen},
};
use sqlx::types::Json;
use std::collections::HashMap;
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
    pub sizing: Option<SizingId>,
    /// What affinity rules ask of it.
    pub affinity: Vec<AffinityTerm>,
    pub preference: String,
    pub hardware: Hardware,
    pub disks: Vec<VmDiskWork>,
    pub snapshots: Vec<SnapshotWork>,
    pub revert: Option<RevertWork>,
    /// What its hub was found to have.
    pub offers: Vec<String>,
    pub nics: Vec<nic::NicWork>,
    /// Its NICs were chosen here: the hub is brought to them.
    /// It comes from another VDC.
    pub moved: bool,
    pub nics_set: bool,
    /// NICs or addresses that it still has, and that are not wanted any more.
    pub nics_leaving: bool,
    /// What its guest is told, sealed.
    pub cloud_init: Option<Vec<u8>>,
    pub os: String,
    /// Was that changed since it was applied last?
    pub guest_changed: bool,
    pub power: Power,
    /// That was asked for, and its hub was not brought to it since.
    pub power_due: bool,
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
    /// A VM with all that it is made of. None: there is none with that id.
    pub async fn vm_work(&self, id: Uuid) -> Result<Option<VmWork>> {
        let store = self.clone();
        self.gathered.vms.ask(id, move |ids| store.clone().vms_work(ids)).await?.transpose()
    }

    async fn vms_work(self, ids: Vec<Uuid>) -> Result<Vec<Option<Result<VmWork>>>> {
        let rows = sqlx::query!(
            r#"select v.id, v.org_id, v.vdc_id, v.vapp_id, v.owner_id, v.name, v.description, v.computer_name, v.cpus, v.memory_mb, v.instance_type, v.sizing_id,
                      v.preference, v.hardware as "hardware: Json<Hardware>", v.besides as "besides: Json<Besides>", v.nics_set, v.cloud_init, v.os, v.guest_generation, v.power, v.power_generation, v.start_order, v.start_delay_s, v.generation, v.once, v.once_id,
                      v.once_done, v.hub_id, v.hub_name, v.uid, v.attempted_at, v.applied, v.obs_state, v.outside, v.obs_restart,
                      v.deleted_at, v.gone_at, v.moved_from, o.name as org_name, d.name as vdc_name, a.name as vapp_name, a.attempted_at is not null as "vapp_attempted!",
                      a.instance_uid is not null as "instance_made!",
                      exists (select from nics n left join addresses x on x.nic_id = n.id where n.vm_id = v.id
                              and (n.removed_at is not null or (x.nic_id is not null
                                   and (x.network_id, x.address) is distinct from (n.network_id, n.address)))) as "nics_leaving!",
                      exists (select from snapshots s where s.vm_id = v.id and s.gone_at is null) or v.revert_id is not null as "snapshots!",
                      exists (select from affinity_vms m where m.vm_id = v.id) as "rules!",
                      a.instance_of as "instance_of?", coalesce(u.name, '') as "owner_name!",
                      coalesce((select offers from hubs where id = v.hub_id), '{}') as "offers!"
               from vms v join organizations o on o.id = v.org_id join vdcs d on d.id = v.vdc_id join vapps a on a.id = v.vapp_id
               left join users u on u.id = v.owner_id where v.id = any($1)"#,
            &ids
        )
        .fetch_all(&self.workers)
        .await
        .map_err(mapped)?;
        // read after the generation: they may be newer than it, and never older
        let on: Vec<(Uuid, &str)> = rows.iter().map(|r| (r.id, r.hub_id.as_deref().unwrap_or_default())).collect();
        let mut disks = self.vm_disks_work(&on).await?;
        let mut nics = self.nics_work(&ids).await?;
        let mut all = HashMap::new();
        for r in rows {
            // few machines have these: the others are spared the questions
            let (snapshots, revert) =
                if r.snapshots { self.snapshots_work(VmId(r.id)).await? } else { Default::default() };
            let affinity = if r.rules { self.affinity_terms(VmId(r.id)).await? } else { Vec::new() };
            let odd = |what: &str| Error::Internal(format!("VM {}: {what} can't be read", r.id));
            let vm = (|| {
                Ok(VmWork {
                    id: VmId(r.id),
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
                    sizing: r.sizing_id.map(SizingId),
                    affinity,
                    preference: r.preference,
                    hardware: r.hardware.with(&r.besides),
                    disks: disks.remove(&r.id).unwrap_or_default(),
                    snapshots,
                    revert,
                    offers: r.offers,
                    nics: nics.remove(&r.id).unwrap_or_default(),
                    moved: r.moved_from.is_some(),
                    nics_set: r.nics_set,
                    nics_leaving: r.nics_leaving,
                    cloud_init: r.cloud_init,
                    os: r.os,
                    guest_changed: r.guest_generation > r.applied.unwrap_or(0),
                    power: Power::parse(&r.power).ok_or_else(|| odd("power"))?,
                    power_due: r.applied.is_none_or(|applied| applied < r.power_generation),
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
                })
            })();
            all.insert(r.id, vm);
        }
        Ok(ids.iter().map(|id| all.get(id).cloned()).collect())
    }

    /// From now on something of it may be on its hub: it never goes to another one. Its vApp neither.
    /// False: it was deleted, given to another worker or sent to another hub meanwhile.
    pub async fn vm_attempted(&self, c: &Claim, hub: &HubId) -> Result<bool> {
        let mut tx = self.begin().await?;
        let vapp = sqlx::query_scalar!(
            "update vms set attempted_at = coalesce(attempted_at, now()) where id = $1 and hub_id = $3 and deleted_at is null
             and exists (select from work where kind = 'vm' and id = $1 and lease_epoch = $2) returning vapp_id",
            c.id,
            c.epoch,
            hub.0
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(mapped)?;
        if let Some(vapp) = vapp {
            sqlx::query!("update vapps set attempted_at = now() where id = $1 and attempted_at is null", vapp)
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
            "with ours as (delete from strangers where uid = $2)
             update vms set uid = $2 where id = $1 and (uid is null or uid = $2)
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

    /// The hub was brought to that generation. False: the claim is not ours any more.
    pub async fn vm_applied(
        &self,
        c: &Claim,
        generation: i64,
        at_hub: Option<AtHub>,
        once: Option<Uuid>,
    ) -> Result<bool> {
        let (store, applied) = (self.clone(), Applied { vm: c.id, epoch: c.epoch, generation, at_hub, once });
        let done = self.gathered.applied.write(applied, move |asks| store.clone().vms_applied(asks));
        Ok(done.await?.is_some())
    }

    async fn vms_applied(self, asks: Vec<Applied>) -> Result<Vec<Written<()>>> {
        let vms: Vec<Uuid> = asks.iter().map(|a| a.vm).collect();
        let epochs: Vec<i64> = asks.iter().map(|a| a.epoch).collect();
        let generations: Vec<i64> = asks.iter().map(|a| a.generation).collect();
        let at_hub: Vec<Option<i64>> = asks.iter().map(|a| a.at_hub.map(|at| at.generation)).collect();
        let forms: Vec<Option<String>> = asks.iter().map(|a| a.at_hub.map(|at| at.form.to_string())).collect();
        let once: Vec<Option<Uuid>> = asks.iter().map(|a| a.once).collect();
        // the queue is looked at once for all: it is empty most of the time, and a plan made then would read all of it for each
        let rows = sqlx::query!(
            r#"with asked as (
                 select * from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::uuid[], $6::text[]) with ordinality
                   as a (id, epoch, generation, at_hub, once, form, n)
               ), held as materialized (
                 select w.id, w.lease_epoch from work w where w.kind = 'vm' and w.id = any($1)
               ), free as (
                 select id from vms where id = any($1) for update skip locked
               ), done as (
                 update vms v set applied = a.generation, once_done = coalesce(a.once, v.once_done), problem = '',
                        hub_generation = coalesce(a.at_hub, v.hub_generation), hub_form = coalesce(a.form, v.hub_form)
                 from asked a join free using (id)
                 where v.id = a.id and exists (select from held h where h.id = a.id and h.lease_epoch = a.epoch)
                 returning v.id
               )
               select exists (select from done d where d.id = a.id) as "done!",
                      not exists (select from free f where f.id = a.id) and exists (select from vms v where v.id = a.id) as "held!"
               from asked a order by a.n"#,
            &vms,
            &epochs,
            &generations,
            &at_hub as &[Option<i64>],
            &once as &[Option<Uuid>],
            &forms as &[Option<String>]
        )
        .fetch_all(&self.workers)
        .await
        .map_err(mapped)?;
        let became = |done, held| match (done, held) {
            (true, _) => Written::Done(()),
            (false, true) => Written::Held,
            (false, false) => Written::Not,
        };
        Ok(rows.into_iter().map(|r| became(r.done, r.held)).collect())
    }

    /// From here until `vm_form` nobody knows what it asks for on its hub: whoever holds its work changes that.
    pub async fn vm_form_unknown(&self, c: &Claim) -> Result<()> {
        sqlx::query!(
            "update vms set hub_form = '' where id = $1
             and exists (select from work where kind = 'vm' and id = $1 and lease_epoch = $2)",
            c.id,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// What it asks for on its hub, after `vm_form_unknown`.
    pub async fn vm_form(&self, c: &Claim, at: AtHub) -> Result<()> {
        sqlx::query!(
            "update vms set hub_form = $3, hub_generation = $4 where id = $1 and hub_form = ''
             and exists (select from work where kind = 'vm' and id = $1 and lease_epoch = $2)",
            c.id,
            c.epoch,
            at.form.to_string(),
            at.generation
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
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
        let mut tx = self.begin().await?;
        // the machine and its disks first, then what they are counted in: the order of whatever people do with them
        let r = sqlx::query!("select org_id, vdc_id, owner_id, vapp_id from vms where id = $1 for update", c.id)
            .fetch_one(&mut *tx)
            .await
            .map_err(mapped)?;
        sqlx::query!("select id from disks where vm_id = $1 or leaving_vm_id = $1 order by id for update", c.id)
            .fetch_all(&mut *tx)
            .await
            .map_err(mapped)?;
        sqlx::query!("select id from organizations where id = $1 for no key update", r.org_id)
            .fetch_one(&mut *tx)
            .await
            .map_err(mapped)?;
        let gone = sqlx::query!(
            "update vms set gone_at = now() where id = $1 and gone_at is null and deleted_at is not null
             and exists (select from work where kind = 'vm' and id = $1 and lease_epoch = $2)
             returning cpus, memory_mb",
            c.id,
            c.epoch
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(mapped)?;
        let Some(gone) = gone else { return Ok(false) };
        sqlx::query!("update snapshots set gone_at = now() where vm_id = $1 and gone_at is null", c.id)
            .execute(&mut *tx)
            .await
            .map_err(mapped)?;
        let storage_mb = -gone_with_vm(&mut tx, c.id).await?;
        let freed = Amount { vms: -1, cpus: -i64::from(gone.cpus), memory_mb: -gone.memory_mb, storage_mb };
        nic::end(&mut tx, c.id).await?;
        quota::count(&mut tx, OrgId(r.org_id), VdcId(r.vdc_id), r.owner_id.map(UserId), &freed).await?;
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

    /// A worker that was too late may have powered it on its hub: what is asked for is applied once more, its power among that.
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

    /// Machines that somebody waits for, that are to run and stand still without a reason, though their hub was told some time ago:
    /// KubeVirt passes over a start that comes while it is busy with the machine.
    pub async fn starts_missed(&self) -> Result<Vec<VmId>> {
        let ids = sqlx::query_scalar!(
            "select v.id from vms v join hubs h on h.id = v.hub_id
             where v.id in (select m.id from tasks t cross join lateral (select t.object_id as id union all select m.id from vms m where m.vapp_id = t.object_id) m
                            where t.status in ('queued', 'running') and t.object_kind in ('vm', 'vapp'))
               and v.power = 'on' and v.applied = v.generation and v.obs_state = 'stopped' and v.outside = '' and v.problem = ''
               and v.deleted_at is null and h.state <> 'unreachable' and v.obs_since < now() - interval '10 seconds'"
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(ids.into_iter().map(VmId).collect())
    }

    /// The machines that start before this one in its vApp, by the database's clock: replicas' clocks may differ. One that failed, or
    /// was changed past us, may not run until somebody does something about it, so nothing waits for it.
    pub async fn vms_before(&self, vm: VmId) -> Result<Vec<Before>> {
        let rows = sqlx::query!(
            r#"select b.name, b.start_delay_s, b.obs_state in ('running', 'migrating') as "running!",
                      extract(epoch from b.obs_since + make_interval(secs => b.start_delay_s) - now())::float8 as left_s
               from vms v join vms b on b.vapp_id = v.vapp_id and b.start_order < v.start_order
               where v.id = $1 and b.deleted_at is null and b.power = 'on'
                 and (b.obs_state in ('running', 'migrating') or b.obs_state not in ('failed', 'missing') and b.outside = '' and b.problem = '')
               order by b.start_order, b.id"#,
            vm.0
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        let before = rows.into_iter().map(|r| Before {
            name: r.name,
            delay_s: r.start_delay_s,
            running: r.running,
            left_s: r.left_s.unwrap_or(0.0),
        });
        Ok(before.collect())
    }
}

/// What was brought to a hub.
#[derive(Clone, Debug)]
pub(crate) struct Applied {
    vm: Uuid,
    epoch: i64,
    generation: i64,
    at_hub: Option<AtHub>,
    once: Option<Uuid>,
}

/// An object on a hub, as whoever holds its work left it: its own count of changes, and what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtHub {
    pub generation: i64,
    pub form: Form,
}

/// A machine that starts before another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Before {
    pub name: String,
    pub delay_s: i32,
    pub running: bool,
    /// Seconds until those after it may start.
    pub left_s: f64,
}
