//! Names that change, and who carries them on hubs: an organization's and a VDC's stand on namespaces, machines and disks, a
//! vApp's on its machines. They reach the hub apart from what is asked of a machine, so that nothing else is done to it.
use crate::{Store, VdcWork, Write, constraint::mapped, work::Claim};
use model::{OrgId, Result, VappId, VmId};

impl Store {
    /// Its machines and disks are to carry the names that the VDC and its organization have now. Machines are taken before
    /// the VDC, as where they end.
    pub async fn vdc_rename_all(&self, vdc: &VdcWork) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query!(
            "with v as (update vms set names = names + 1 where vdc_id = $1 and deleted_at is null and gone_at is null returning id, org_id, hub_id)
             insert into work (kind, id, org_id, hub_id) select 'vm', id, org_id, hub_id from v where hub_id is not null
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), failing = ''",
            vdc.id.0
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        sqlx::query!(
            "with k as (update disks set generation = generation + 1 where vdc_id = $1 and independent and hub_id is not null
                        and deleted_at is null and gone_at is null returning id, org_id, hub_id)
             insert into work (kind, id, org_id, hub_id) select 'disk', id, org_id, hub_id from k
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), failing = ''",
            vdc.id.0
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        sqlx::query!("update vdcs set named = $2 where id = $1", vdc.id.0, format!("{}/{}", vdc.org_name, vdc.name))
            .execute(&mut *tx)
            .await
            .map_err(mapped)?;
        tx.commit().await.map_err(mapped)?;
        self.work_bell.notify_one();
        Ok(())
    }

    /// The names of a VM, its vApp, VDC or organization were changed since its hub was told: which change that is.
    pub async fn vm_names_due(&self, vm: VmId) -> Result<Option<i64>> {
        let row = sqlx::query_scalar!("select names from vms where id = $1 and names > names_applied", vm.0);
        row.fetch_optional(&self.pool).await.map_err(mapped)
    }

    /// The hub was told of them. False: the claim is not ours any more.
    pub async fn vm_named(&self, c: &Claim, names: i64) -> Result<bool> {
        let done = sqlx::query!(
            "update vms set names_applied = $2 where id = $1 and exists (select from work where kind = 'vm' and id = $1 and lease_epoch = $3)",
            c.id,
            names,
            c.epoch
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }
}

impl Write<'_> {
    /// The organization has another name: its VDCs are told, and by them their machines.
    pub async fn org_renamed(&mut self, org: OrgId) -> Result<()> {
        sqlx::query!(
            "with told as (update places p set look = true from vdcs v where v.id = p.vdc_id and v.org_id = $1 and p.gone_at is null)
             insert into work (kind, id, org_id, hub_id, request_id) select 'vdc', id, org_id, '', $2 from vdcs where org_id = $1 and deleted_at is null
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), failing = ''",
            org.0,
            self.actor.origin.request_id
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// The vApp has another name, which its machines carry.
    pub async fn vapp_renamed(&mut self, vapp: VappId) -> Result<()> {
        sqlx::query!(
            "with v as (update vms set names = names + 1 where vapp_id = $1 and deleted_at is null and gone_at is null returning id, org_id, hub_id)
             insert into work (kind, id, org_id, hub_id, request_id) select 'vm', id, org_id, hub_id, $2 from v where hub_id is not null
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), failing = ''",
            vapp.0,
            self.actor.origin.request_id
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}
