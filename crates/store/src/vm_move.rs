//! A VM that moves to another VDC: it is copied there, and the original goes when all of it has come.
use crate::{Authorized, Claim, Moving, Store, Write, constraint::mapped};
use model::{Action, HubId, Kind, OrgId, Result, VappId, VmId, event::Change, vm::Power, vm::Vm};

impl Store {
    /// The VM that a moved one comes from, while that is not gone; and how far the new one is.
    pub async fn vm_move(&self, id: VmId) -> Result<Option<(VmId, Moving)>> {
        let r = sqlx::query!(
            r#"select s.id, s.name, s.obs_state = 'missing' as "missing!",
                      v.uid is not null and v.obs_state in ('stopped', 'running', 'suspended', 'migrating') as "seen!",
                      exists (select from disks k where k.vm_id = v.id and k.gone_at is null and k.obs_state <> 'ready') as "waits!"
               from vms v join vms s on s.id = v.moved_from where v.id = $1 and s.gone_at is null"#,
            id.0
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(r.map(|r| {
            let moving = match (r.seen && !r.waits, r.missing && r.waits) {
                (true, _) => Moving::There,
                (false, true) => Moving::Lost(r.name),
                (false, false) => Moving::UnderWay,
            };
            (VmId(r.id), moving)
        }))
    }

    /// All of a moved VM is there: the one it comes from is deleted, with a vApp that was there for it alone, and what was its goes to
    /// the new one. True: it is being deleted. Only by the worker that holds the new one, and not if that is not wanted any more.
    pub async fn vm_move_end(&self, c: &Claim, from: VmId) -> Result<bool> {
        let actor = self.operator().await?;
        let mut tx = self.write(&actor).await?;
        let ours = sqlx::query!(
            r#"select exists (select from work where kind = 'vm' and id = $1 and lease_epoch = $2) as "ours!", org_id, hub_id, starts_moved
               from vms where id = $1 and deleted_at is null for update of vms"#,
            c.id,
            c.epoch
        )
        .fetch_optional(tx.conn())
        .await
        .map_err(mapped)?;
        let Some(new) = ours.filter(|new| new.ours) else { return Ok(false) };
        let alone = tx.left_alone(from).await?;
        let home = match alone {
            Some(vapp) => Some(tx.vapp(Action::VappDelete, vapp).await?),
            None => None,
        };
        let old = tx.vm(Action::VmDelete, from).await?;
        if old.deleted {
            return Ok(true);
        }
        let id = VmId(c.id);
        tx.vm_belongings_pass_on(old.id, id).await?;
        tx.macs_pass_on(old.id).await?;
        tx.vm_delete(old.id).await?;
        tx.enqueue(Kind::Vm, old.id, old.org, old.hub.as_ref()).await?;
        if let Some(home) = home {
            for network in tx.vapp_networks_end(&home).await? {
                tx.enqueue(Kind::Network, network, home.org, None).await?;
            }
            tx.vapp_delete(&home).await?;
            tx.enqueue(Kind::Vapp, home.id, home.org, home.hub.as_ref()).await?;
        }
        // its NICs have other MACs now
        tx.vm_nics_changed(id).await?;
        if new.starts_moved {
            tx.vm_set_power(id, Power::On).await?;
        }
        tx.enqueue(Kind::Vm, id, OrgId(new.org_id), new.hub_id.map(HubId).as_ref()).await?;
        let (org, owner, kind) = (old.org, old.owner, Kind::Vm);
        let shares = old.shares.clone();
        tx.commit_as_recorded().await?;
        self.tell(Change { org, user: None, owner, kind, id: Some(from.0), shares });
        Ok(true)
    }
}

impl Write<'_> {
    /// `starts`: it is to run once it has moved.
    pub async fn vm_moved_from(&mut self, vm: VmId, source: &Authorized<Vm>, starts: bool) -> Result<()> {
        sqlx::query!("update vms set moved_from = $2, starts_moved = $3 where id = $1", vm.0, source.id.0, starts)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// The machines of a vApp that moves start once it has.
    pub async fn vms_start_moved(&mut self, vapp: VappId) -> Result<()> {
        sqlx::query!("update vms set starts_moved = true where vapp_id = $1", vapp.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// The vApp that was made for this machine, if nothing else is in it.
    async fn left_alone(&mut self, vm: VmId) -> Result<Option<VappId>> {
        let vapp = sqlx::query_scalar!(
            "select a.id from vms v join vapps a on a.id = v.vapp_id where v.id = $1 and a.auto and a.deleted_at is null
             and not exists (select from vms o where o.vapp_id = a.id and o.id <> v.id and o.deleted_at is null)",
            vm.0
        );
        Ok(vapp.fetch_optional(&mut *self.tx).await.map_err(mapped)?.map(VappId))
    }

    /// What was written down about a machine that goes, to the one that it was moved to.
    async fn vm_belongings_pass_on(&mut self, from: VmId, to: VmId) -> Result<()> {
        let each = [
            sqlx::query!(
                "update metadata m set object_id = $2 where m.object_id = $1
                   and not exists (select from metadata n where n.object_id = $2 and n.domain = m.domain and n.key = m.key)",
                from.0,
                to.0
            ),
            sqlx::query!(
                "insert into vm_tags (vm_id, org_id, tag) select $2, g.org_id, g.tag from vm_tags g where g.vm_id = $1 on conflict do nothing",
                from.0,
                to.0
            ),
        ];
        for one in each {
            one.execute(&mut *self.tx).await.map_err(mapped)?;
        }
        Ok(())
    }
}
