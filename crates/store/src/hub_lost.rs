//! A hub that is lost for ever: what was on it is gone, and what it used is given back.
use crate::{Authorized, Record, Write, constraint::mapped, quota};
use model::{Action, OrgId, Result, UserId, VappId, VdcId, hub::Hub, quota::Amount};
use uuid::Uuid;

/// How much was lost with a hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostWithHub {
    pub vapps: usize,
    pub vms: usize,
    pub disks: usize,
    pub versions: usize,
}

/// For people who know nothing of hubs.
const WHY: &str = "The hub that it was on is lost, and it is lost with it.";

impl Write<'_> {
    /// Everything on the hub becomes a tombstone at once, without proof: nobody can be asked. What was meant to go there, and
    /// was not begun, is placed anew.
    pub async fn hub_lost(&mut self, hub: &Authorized<Hub>) -> Result<LostWithHub> {
        let hub = hub.id.0.as_str();
        self.not_begun(hub).await?;
        // vApps, their machines, disks, then what they are counted in: the order of whatever people do with them
        let vapps = sqlx::query!(
            "select id, org_id, owner_id, name from vapps where hub_id = $1 and gone_at is null order by id for update",
            hub
        );
        let vapps = vapps.fetch_all(&mut *self.tx).await.map_err(mapped)?;
        let ids: Vec<Uuid> = vapps.iter().map(|v| v.id).collect();
        let vms = sqlx::query_scalar!(
            "select id from vms where (vapp_id = any($1) or hub_id = $2) and gone_at is null order by id for update",
            &ids,
            hub
        );
        let vms = vms.fetch_all(&mut *self.tx).await.map_err(mapped)?;
        let disks = sqlx::query_scalar!(
            "select id from disks where gone_at is null and ((vm_id = any($1) and not independent) or (independent and hub_id = $2))
             order by id for update",
            &vms,
            hub
        );
        let disks = disks.fetch_all(&mut *self.tx).await.map_err(mapped)?;
        self.give_back(&vms, &disks).await?;
        self.machines_end(&vms, &disks).await?;
        self.vapps_end(&ids).await?;
        let lost: Vec<Uuid> = ids.iter().chain(&vms).chain(&disks).copied().collect();
        self.tasks_end(&lost).await?;
        let versions = self.captures_end(hub).await?;
        for v in &vapps {
            let (org, owner) = (OrgId(v.org_id), v.owner_id.map(UserId));
            self.record(Record::new(Action::VappDelete, org, VappId(v.id), &v.name).of(owner)).await?;
        }
        sqlx::query!(
            "update events set message = message || '. ' || $2 where object_id = any($1) and tx = pg_current_xact_id()",
            &ids,
            WHY
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        // what waited for the hub to let go of it
        sqlx::query!(
            "insert into work (kind, id, org_id)
             select 'network', n.id, n.org_id from networks n where n.deleted_at is not null and n.gone_at is null
               and (n.vapp_id = any($2) or n.id in (select network_id from network_places where hub_id = $1))
             union select 'vdc', d.id, d.org_id from vdcs d join places p on p.vdc_id = d.id
             where p.hub_id = $1 and p.gone_at is null and d.deleted_at is not null
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), failing = ''",
            hub,
            &ids
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(LostWithHub { vapps: ids.len(), vms: vms.len(), disks: disks.len(), versions })
    }

    /// vApps of which nothing was made there, or nothing is left.
    async fn not_begun(&mut self, hub: &str) -> Result<()> {
        sqlx::query!(
            "with free as (
                 update vapps a set hub_id = null, placement = null, placed_at = null, attempted_at = null
                 where a.hub_id = $1 and a.gone_at is null and a.deleted_at is null
                   and (a.attempted_at is null
                        or a.instance_of is null and not exists (select from vms v where v.vapp_id = a.id and v.gone_at is null))
                 returning a.id, a.org_id
             ), machines as (
                 update vms v set hub_id = null from free where v.vapp_id = free.id and v.gone_at is null and v.attempted_at is null
             )
             insert into work (kind, id, org_id) select 'vapp', id, org_id from free
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), hub_id = '', failing = ''",
            hub
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!(
            "update disks set hub_id = null where hub_id = $1 and independent and attempted_at is null and gone_at is null and deleted_at is null",
            hub
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// What they used, by organization, VDC and owner; and storage by policy.
    async fn give_back(&mut self, vms: &[Uuid], disks: &[Uuid]) -> Result<()> {
        let used = sqlx::query!(
            r#"select org_id as "org!", vdc_id as "vdc!", owner_id as owner, sum(vms)::bigint as "vms!", sum(cpus)::bigint as "cpus!",
                      sum(memory)::bigint as "memory!", sum(storage)::bigint as "storage!"
               from (select org_id, vdc_id, owner_id, 1 as vms, cpus, memory_mb as memory, 0 as storage from vms where id = any($1)
                     union all select org_id, vdc_id, owner_id, 0, 0, 0, size_mb from disks where id = any($2)) x
               group by org_id, vdc_id, owner_id order by org_id, vdc_id, owner_id"#,
            vms,
            disks
        );
        let used = used.fetch_all(&mut *self.tx).await.map_err(mapped)?;
        let orgs: Vec<Uuid> = used.iter().map(|r| r.org).collect();
        sqlx::query!("select id from organizations where id = any($1) order by id for no key update", &orgs)
            .fetch_all(&mut *self.tx)
            .await
            .map_err(mapped)?;
        for r in used {
            let freed = Amount { vms: -r.vms, cpus: -r.cpus, memory_mb: -r.memory, storage_mb: -r.storage };
            quota::count(&mut self.tx, OrgId(r.org), VdcId(r.vdc), r.owner.map(UserId), &freed).await?;
        }
        sqlx::query!(
            "update vdc_storage s set used_mb = s.used_mb - x.mb
             from (select vdc_id, policy_id, sum(size_mb)::bigint as mb from disks where id = any($1) group by 1, 2) x
             where s.vdc_id = x.vdc_id and s.policy_id = x.policy_id",
            disks
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    async fn machines_end(&mut self, vms: &[Uuid], disks: &[Uuid]) -> Result<()> {
        // a disk of its own that is elsewhere is free again
        sqlx::query!(
            "update disks set vm_id = null, leaving_vm_id = null, obs_waits = false where independent and (vm_id = any($1) or leaving_vm_id = any($1))",
            vms
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!(
            "update disks set deleted_at = coalesce(deleted_at, now()), gone_at = now(), lost = true where id = any($1)",
            disks
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!("update snapshots set gone_at = now() where vm_id = any($1) and gone_at is null", vms)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!("delete from addresses a using nics n where n.id = a.nic_id and n.vm_id = any($1)", vms)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!("delete from nics where vm_id = any($1)", vms).execute(&mut *self.tx).await.map_err(mapped)?;
        sqlx::query!(
            "update vms set deleted_at = coalesce(deleted_at, now()), gone_at = now(), lost = true, problem = $3, version = version + 1, updated_at = now(),
                    updated_by = $2 where id = any($1)",
            vms,
            self.actor.name,
            WHY
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    async fn vapps_end(&mut self, vapps: &[Uuid]) -> Result<()> {
        sqlx::query!("delete from leases where object_id = any($1)", vapps)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!("delete from vapp_networks where vapp_id = any($1)", vapps)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!(
            "update networks set deleted_at = coalesce(deleted_at, now()) where vapp_id = any($1) and gone_at is null",
            vapps
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!(
            "update vapps set deleted_at = coalesce(deleted_at, now()), gone_at = now(), lost = true, version = version + 1, updated_at = now(), updated_by = $2
             where id = any($1)",
            vapps,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Nobody works on them any more: whoever does so now writes nothing back. A delete that was asked for has come about.
    async fn tasks_end(&mut self, lost: &[Uuid]) -> Result<()> {
        sqlx::query!("delete from work where id = any($1)", lost).execute(&mut *self.tx).await.map_err(mapped)?;
        sqlx::query!(
            "update tasks set status = case when operation in ('vm.delete', 'vapp.delete', 'disk.delete') then 'success' else 'error' end,
                    message = $2, ended_at = clock_timestamp() where object_id = any($1) and status in ('queued', 'running')",
            lost,
            WHY
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Versions that were captured there have no images any more.
    async fn captures_end(&mut self, hub: &str) -> Result<usize> {
        let items = sqlx::query!(
            "with gone as (update item_versions v set deleted_at = now() from images i
                           where i.version_id = v.id and i.hub_id = $1 and v.deleted_at is null returning v.template_id)
             select t.id, t.catalog_id from templates t where t.id in (select template_id from gone)",
            hub
        );
        let items = items.fetch_all(&mut *self.tx).await.map_err(mapped)?;
        for item in &items {
            crate::item::newest(&mut self.tx, model::TemplateId(item.id), model::CatalogId(item.catalog_id)).await?;
        }
        Ok(items.len())
    }
}
