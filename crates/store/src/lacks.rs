//! What hubs have not got of what a vApp needs: the storage classes of its disks, the networks of its NICs.
use crate::{Store, constraint::mapped};
use model::{HubId, Result, VappId};

impl Store {
    /// One line for each hub that lacks something, as placement says it. A hub that was never looked at lacks nothing known.
    pub async fn hubs_lacking(&self, vapp: VappId) -> Result<Vec<(HubId, String)>> {
        let rows = sqlx::query!(
            r#"with needed as (
                 select distinct k.policy_id from disks k join vms v on v.id = k.vm_id
                 where v.vapp_id = $1 and v.deleted_at is null and k.deleted_at is null
               ), joined as (
                 select distinct n.network_id from nics n join vms v on v.id = n.vm_id
                 where v.vapp_id = $1 and v.deleted_at is null and n.removed_at is null and n.network_id is not null
               )
               select h.id as "hub!", 'It has not got the storage class ' || m.class || ' of the policy ' || p.name || '.' as "why!"
               from hubs h cross join needed d join storage_policies p on p.id = d.policy_id
               left join storage_policy_classes c on c.policy_id = p.id and c.hub_id = h.id
               cross join lateral (select coalesce(c.class, p.class) as class) m
               where h.checked_at is not null and m.class <> '' and not exists (
                 select from jsonb_array_elements(coalesce(h.found -> 'storage_classes', '[]')) x where x ->> 'name' = m.class)
               union all
               select h.id, 'The network ' || n.name || ' can''t be made there.'
               from hubs h cross join joined j join networks n on n.id = j.network_id
               where h.checked_at is not null and not 'networks' = any(h.offers)
                 and (n.shared or n.dhcp or not 'attachments' = any(h.offers))
               order by 1, 2"#,
            vapp.0
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(rows.into_iter().map(|r| (HubId(r.hub), r.why)).collect())
    }
}
