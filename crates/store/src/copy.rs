//! Copies and moves of vApps and VMs.
use crate::{Authorized, Claim, Store, Write, constraint::mapped};
use model::{
    Action, Actor, HubId, Kind, OrgId, Result, UserId, VappId, VmId,
    event::Change,
    quota::Amount,
    vapp::Vapp,
    vm::{Power, Vm},
};
use uuid::Uuid;

/// What a machine `t` is being copied to, by the name of the vApp or of the template that is captured; empty: it is not. Of one that is missing nothing is copied any
/// more. For columns.
macro_rules! copying_vm {
    () => {
        "coalesce((select a2.name from vms c join vapps a2 on a2.id = c.vapp_id where c.copy_of = t.id and t.obs_state <> 'missing' \
          and c.gone_at is null and c.deleted_at is null and (exists (select from disks k where k.vm_id = c.id and k.gone_at is null and k.obs_state in ('', 'making')) \
          or c.moved_from = t.id or (a2.moved_from is not null and a2.deleted_at is null)) limit 1), \
          (select x.name from images i join item_versions w on w.id = i.version_id join templates x on x.id = w.template_id \
           where i.vm_id = t.id and t.obs_state <> 'missing' and w.ready_at is null and w.deleted_at is null \
           and not exists (select from images o join hub_images h on h.image_id = o.id where o.version_id = w.id and h.problem <> '') limit 1), '') as copying"
    };
}
pub(crate) use copying_vm;

/// Is what a machine `t` is to be copied from gone before its disks came? For columns.
macro_rules! original_lost {
    () => {
        "exists (select from vms s join disks k on k.vm_id = t.id where s.id = t.copy_of and s.obs_state = 'missing' \
          and k.gone_at is null and k.obs_state in ('', 'making')) as original_lost"
    };
}
pub(crate) use original_lost;

/// The same of a vApp's machines, after a `=` if they are copied within it alone, else after a `>`.
macro_rules! copying_vapp {
    () => {
        "coalesce((select case when a2.id = t.id then '=' else '>' end || a2.name from vms s join vms c on c.copy_of = s.id join vapps a2 on a2.id = c.vapp_id where s.vapp_id = t.id \
          and s.gone_at is null and s.obs_state <> 'missing' and c.gone_at is null and c.deleted_at is null \
          and (exists (select from disks k where k.vm_id = c.id and k.gone_at is null and k.obs_state in ('', 'making')) \
          or c.moved_from = s.id or (a2.moved_from is not null and a2.deleted_at is null)) order by a2.id = t.id limit 1), \
          (select '>' || a2.name from vapps a2 where a2.moved_from = t.id and a2.gone_at is null and a2.deleted_at is null limit 1), \
          (select '>' || x.name from vms s join images i on i.vm_id = s.id join item_versions w on w.id = i.version_id join templates x on x.id = w.template_id \
           where s.vapp_id = t.id and s.gone_at is null and s.obs_state <> 'missing' and w.ready_at is null and w.deleted_at is null \
           and not exists (select from images o join hub_images h on h.image_id = o.id where o.version_id = w.id and h.problem <> '') limit 1), '') as copying"
    };
}
pub(crate) use copying_vapp;

/// How far a vApp is that comes from another VDC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moving {
    UnderWay,
    There,
    /// The machine of that name, which it is copied from, is not on its hub any more.
    Lost(String),
    /// One of its own machines can't be made: its name, and why.
    Stuck(String, String),
}

impl Store {
    /// The vApp that a moved one comes from, while that is not gone; and how far the new one is.
    pub async fn vapp_move(&self, id: VappId) -> Result<Option<(VappId, Moving)>> {
        let r = sqlx::query!(
            r#"select a.moved_from as "from!",
                      not exists (select from vms v where v.vapp_id = a.id and v.gone_at is null and v.deleted_at is null
                                  and (v.uid is null or v.obs_state not in ('stopped', 'running', 'suspended', 'migrating')
                                       or exists (select from disks k where k.vm_id = v.id and k.gone_at is null and k.obs_state <> 'ready'))) as "whole!",
                      (select o.name from vms v join vms o on o.id = v.copy_of
                       where v.vapp_id = a.id and v.gone_at is null and v.deleted_at is null and o.obs_state = 'missing'
                         and exists (select from disks k where k.vm_id = v.id and k.gone_at is null and k.obs_state <> 'ready') limit 1) as lost,
                      (select v.name from vms v where v.vapp_id = a.id and v.gone_at is null and v.deleted_at is null and v.uid is null and v.problem <> ''
                       order by v.id limit 1) as stuck,
                      (select v.problem from vms v where v.vapp_id = a.id and v.gone_at is null and v.deleted_at is null and v.uid is null and v.problem <> ''
                       order by v.id limit 1) as why
               from vapps a join vapps s on s.id = a.moved_from where a.id = $1 and s.gone_at is null"#,
            id.0
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(r.map(|r| {
            let moving = match (r.lost, r.stuck.zip(r.why)) {
                _ if r.whole => Moving::There,
                (Some(name), _) => Moving::Lost(name),
                (None, Some((name, why))) => Moving::Stuck(name, why),
                (None, None) => Moving::UnderWay,
            };
            (VappId(r.from), moving)
        }))
    }

    /// Who ends what others began.
    pub(crate) async fn operator(&self) -> Result<Actor> {
        let provider = sqlx::query!("select id, name from organizations where is_provider").fetch_one(&self.pool).await;
        let provider = provider.map_err(mapped)?;
        Ok(Actor::operator(OrgId(provider.id), &provider.name))
    }

    /// All of a moved vApp is there: the one it comes from is deleted, and what was its goes to the new one. True: it is
    /// being deleted. Only by the worker that holds the new one, and not if that is not wanted any more.
    pub async fn vapp_move_end(&self, c: &Claim, from: VappId) -> Result<bool> {
        let actor = self.operator().await?;
        let mut tx = self.write(&actor).await?;
        let ours = sqlx::query_scalar!(
            r#"select exists (select from work where kind = 'vapp' and id = $1 and lease_epoch = $2) as "ours!"
               from vapps where id = $1 and deleted_at is null for update of vapps"#,
            c.id,
            c.epoch
        )
        .fetch_optional(tx.conn())
        .await
        .map_err(mapped)?;
        if ours != Some(true) {
            return Ok(false);
        }
        let old = tx.vapp(Action::VappDelete, from).await?;
        if old.deleted {
            return Ok(true);
        }
        let vms = tx.vms_of(&old).await?;
        tx.belongings_pass_on(old.id, VappId(c.id)).await?;
        for vm in &vms {
            tx.macs_pass_on(vm.id).await?;
            tx.vm_delete(vm.id).await?;
            tx.enqueue(Kind::Vm, vm.id, vm.org, vm.hub.as_ref()).await?;
        }
        for network in tx.vapp_networks_end(&old).await? {
            tx.enqueue(Kind::Network, network, old.org, None).await?;
        }
        tx.vapp_delete(&old).await?;
        tx.enqueue(Kind::Vapp, old.id, old.org, old.hub.as_ref()).await?;
        for (vm, org, hub, starts) in tx.twins_of(VappId(c.id)).await? {
            if starts {
                tx.vm_set_power(vm, Power::On).await?;
            }
            tx.enqueue(Kind::Vm, vm, org, hub.as_ref()).await?;
        }
        let (org, owner, kind, id) = (old.org, old.owner, Kind::Vapp, Some(old.id.0));
        tx.commit_as_recorded().await?;
        self.tell(Change { org, user: None, owner, kind, id, shares: old.shares.clone() });
        Ok(true)
    }
}

impl Write<'_> {
    pub async fn vm_copied_from(&mut self, vm: VmId, source: VmId) -> Result<()> {
        sqlx::query!("update vms set copy_of = $2 where id = $1", vm.0, source.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    pub async fn vapp_moved_from(&mut self, new: VappId, from: &Authorized<Vapp>) -> Result<()> {
        sqlx::query!("update vapps set moved_from = $2 where id = $1", new.0, from.id.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// Was it made from an OpenShift template?
    pub async fn vapp_by_template(&mut self, vapp: VappId) -> Result<bool> {
        let made = sqlx::query_scalar!(r#"select instance_of is not null as "made!" from vapps where id = $1"#, vapp.0);
        made.fetch_one(&mut *self.tx).await.map_err(mapped)
    }

    /// Into another vApp of its VDC, whose owner has it from then on, under a name and with words that may be others.
    pub async fn vm_move(
        &mut self,
        vm: &Authorized<Vm>,
        into: &Authorized<Vapp>,
        (name, description): (&str, &str),
    ) -> Result<()> {
        if vm.owner != into.owner {
            self.vm_give(vm, into.owner).await?;
        }
        sqlx::query!(
            "update vms set vapp_id = $2, name = $4, description = $5, generation = generation + 1, problem = '', version = version + 1, updated_at = now(), updated_by = $3
             where id = $1",
            vm.id.0,
            into.id.0,
            self.actor.name,
            name,
            description
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        // an empty vApp goes where its first machine is
        sqlx::query!(
            "update vapps a set hub_id = v.hub_id, placed_at = now(), attempted_at = coalesce(a.attempted_at, now())
             from vms v where v.id = $2 and a.id = $1 and v.attempted_at is not null and (a.attempted_at is null or a.hub_id is null)",
            into.id.0,
            vm.id.0
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// A machine with its own disks, to whom the vApp is that it comes to; None: the provider's.
    async fn vm_give(&mut self, vm: &Vm, to: Option<UserId>) -> Result<()> {
        // disks before what they are counted in
        let disks = sqlx::query!(
            "select size_mb from disks where vm_id = $1 and not independent and gone_at is null order by id for update",
            vm.id.0
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(mapped)?;
        let storage_mb = disks.iter().map(|d| d.size_mb).sum();
        let all = Amount { vms: 1, cpus: vm.cpus.into(), memory_mb: vm.memory_mb, storage_mb };
        match to {
            Some(user) => {
                let heir = self.heir(vm.org, user).await?;
                self.quota_pass_on(vm.owner, &heir, &all).await.map_err(|e| e.rename(|_| "vapp"))?;
            }
            None => {
                sqlx::query!(
                    "update users set vms_used = vms_used - 1, cpus_used = cpus_used - $2, memory_used_mb = memory_used_mb - $3,
                            storage_used_mb = storage_used_mb - $4 where id = $1",
                    vm.owner.map(|u| u.0),
                    all.cpus,
                    all.memory_mb,
                    all.storage_mb
                )
                .execute(&mut *self.tx)
                .await
                .map_err(mapped)?;
            }
        }
        let to = to.map(|u| u.0);
        sqlx::query!(
            "update disks set owner_id = $2 where vm_id = $1 and not independent and gone_at is null",
            vm.id.0,
            to
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!("update vms set owner_id = $2 where id = $1", vm.id.0, to)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// With whom a vApp that goes is shared, how long it lives, and what was written down about it and its machines, to the one that
    /// it was moved to. An affinity rule goes along where all of its machines do: rules are about one VDC.
    async fn belongings_pass_on(&mut self, from: VappId, to: VappId) -> Result<()> {
        let (from, to) = (from.0, to.0);
        let each = [
            sqlx::query!(
                "update shares s set object_id = $2 where s.object_id = $1 and not exists
                   (select from shares n where n.object_id = $2 and n.user_id is not distinct from s.user_id and n.role_id is not distinct from s.role_id)",
                from,
                to
            ),
            sqlx::query!(
                "update leases n set runtime_s = o.runtime_s, storage_s = o.storage_s,
                        ends_at = case when n.running = o.running then o.ends_at
                                  else now() + make_interval(secs => case when n.running then o.runtime_s else o.storage_s end) end,
                        warned_at = case when n.running = o.running then o.warned_at end, expired_at = case when n.running = o.running then o.expired_at end
                 from leases o where o.object_id = $1 and n.object_id = $2",
                from,
                to
            ),
            sqlx::query!(
                "with pair as (select $1::uuid as old, $2::uuid as new union all
                               select c.copy_of, c.id from vms c where c.vapp_id = $2 and c.copy_of is not null and c.deleted_at is null)
                 update metadata m set object_id = p.new from pair p where m.object_id = p.old
                   and not exists (select from metadata n where n.object_id = p.new and n.domain = m.domain and n.key = m.key)",
                from,
                to
            ),
            sqlx::query!(
                "insert into vm_tags (vm_id, org_id, tag) select c.id, g.org_id, g.tag from vms c join vms v on v.id = c.copy_of and v.vapp_id = $1
                 join vm_tags g on g.vm_id = v.id where c.vapp_id = $2 and c.deleted_at is null on conflict do nothing",
                from,
                to
            ),
            sqlx::query!(
                "with whole as (
                     update affinity_rules r set vdc_id = a.vdc_id, version = r.version + 1, updated_at = now(), changed_at = now() from vapps a
                     where a.id = $2 and r.deleted_at is null and exists
                           (select from affinity_vms x join vms v on v.id = x.vm_id where x.rule_id = r.id and v.vapp_id = $1)
                       and not exists (select from affinity_vms x join vms v on v.id = x.vm_id
                                       where x.rule_id = r.id and v.vapp_id <> $1 and v.deleted_at is null)
                       and not exists (select from affinity_rules o where o.vdc_id = a.vdc_id and lower(o.name) = lower(r.name) and o.deleted_at is null)
                     returning r.id)
                 insert into affinity_vms (rule_id, vm_id) select w.id, c.id from whole w join affinity_vms x on x.rule_id = w.id
                 join vms c on c.copy_of = x.vm_id and c.vapp_id = $2 and c.deleted_at is null on conflict do nothing",
                from,
                to
            ),
        ];
        for one in each {
            one.execute(&mut *self.tx).await.map_err(mapped)?;
        }
        Ok(())
    }

    /// The MACs of a machine that goes, to the one that was copied from it.
    pub(crate) async fn macs_pass_on(&mut self, from: VmId) -> Result<()> {
        let macs = sqlx::query!(
            r#"select n.id, n.mac, t.id as twin from nics n join vms v on v.copy_of = n.vm_id and v.gone_at is null and v.deleted_at is null
               join nics t on t.vm_id = v.id and t.idx = n.idx and t.removed_at is null
               join vapps a on a.id = v.vapp_id and (a.moved_from is not null or v.moved_from = n.vm_id)
               where n.vm_id = $1 and n.removed_at is null and n.mac <> ''"#,
            from.0
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(mapped)?;
        for m in macs {
            self.mac_set(m.id, "").await?;
            self.mac_set(m.twin, &m.mac).await?;
        }
        Ok(())
    }

    async fn mac_set(&mut self, nic: Uuid, mac: &str) -> Result<()> {
        sqlx::query!("update nics set mac = $2 where id = $1", nic, mac)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// The machines of a moved vApp, which have other MACs now.
    async fn twins_of(&mut self, vapp: VappId) -> Result<Vec<(VmId, OrgId, Option<HubId>, bool)>> {
        let rows = sqlx::query!(
            "update vms set nics_set = true, generation = generation + 1, version = version + 1 where vapp_id = $1 and gone_at is null and deleted_at is null
             returning id, org_id, hub_id, starts_moved",
            vapp.0
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(rows.into_iter().map(|r| (VmId(r.id), OrgId(r.org_id), r.hub_id.map(HubId), r.starts_moved)).collect())
    }
}
