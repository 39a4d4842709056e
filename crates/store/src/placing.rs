//! What placement goes by: what a vApp needs of its hub, which hubs lack it, and which alone have it.
use crate::{Store, Write, constraint::mapped};
use model::{
    HubId, NetworkId, OrgId, Result, VappId, VdcId,
    hub::HubState,
    placement::{Candidate, Lack, Tie, TiedTo, Wish},
};
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

/// What a vApp needs that not every hub may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// What it is made from on hubs.
    pub template: Option<String>,
    /// Storage policies of its disks.
    pub policies: Vec<Uuid>,
    /// Networks of its VDC that it is on, or bridged to.
    pub networks: Vec<Uuid>,
}

impl Store {
    pub async fn needs(&self, vapp: VappId) -> Result<Needs> {
        needs(&self.pool, vapp).await
    }

    /// One line for each thing that a hub lacks. A hub that was never looked at lacks nothing known.
    pub async fn hubs_lacking(&self, needs: &Needs) -> Result<Vec<(HubId, Lack)>> {
        lacking(&self.pool, needs).await
    }

    /// What only one hub has of what a vApp needs.
    pub async fn ties(&self, vapp: VappId, needs: &Needs) -> Result<Vec<Tie>> {
        let mut all = made_from(&self.pool, vapp).await?;
        all.extend(homes(&self.pool, &needs.networks, Some(vapp)).await?);
        all.extend(attached(&self.pool, vapp).await?);
        Ok(all)
    }

    /// Where networks live that something is to join.
    pub async fn network_ties(&self, networks: &[NetworkId]) -> Result<Vec<Tie>> {
        let ids: Vec<Uuid> = networks.iter().map(|n| n.0).collect();
        homes(&self.pool, &ids, None).await
    }

    /// The hubs that alone have these images.
    pub async fn capture_ties(&self, images: &[Uuid]) -> Result<Vec<Tie>> {
        let hubs = sqlx::query_scalar!(
            r#"select distinct hub_id as "hub!" from images where id = any($1) and hub_id is not null order by 1"#,
            images
        );
        let hubs = hubs.fetch_all(&self.pool).await.map_err(mapped)?;
        Ok(hubs.into_iter().map(|hub| Tie { hub: HubId(hub), to: TiedTo::Capture }).collect())
    }

    /// Which hubs an organization prefers and avoids, and which ones a VDC names.
    pub async fn wishes(&self, org: OrgId, vdc: VdcId) -> Result<Wish> {
        wishes(&self.pool, org, vdc).await
    }
}

impl Write<'_> {
    /// What is asked of hubs by a vApp that was just written, and hubs as far as that lasts: how they are and how full is not
    /// asked here.
    pub async fn placing(&mut self, vapp: VappId, org: OrgId, vdc: VdcId) -> Result<(Wish, Vec<Candidate>)> {
        let needs = needs(&mut *self.tx, vapp).await?;
        let mut hubs = lasting(&mut *self.tx, needs.template.as_deref()).await?;
        for (hub, lack) in lacking(&mut *self.tx, &needs).await? {
            hubs.iter_mut().filter(|c| c.id == hub).for_each(|c| c.lacks.push(lack.clone()));
        }
        let mut ties = made_from(&mut *self.tx, vapp).await?;
        ties.extend(homes(&mut *self.tx, &needs.networks, Some(vapp)).await?);
        ties.extend(attached(&mut *self.tx, vapp).await?);
        Ok((Wish { ties, ..wishes(&mut *self.tx, org, vdc).await? }, hubs))
    }

    /// Where a vApp is, or has to be for a network of it, which is then named. `apart_from`: a machine whose NICs do not count.
    pub async fn vapp_home(&mut self, vapp: VappId, apart_from: Option<Uuid>) -> Result<Option<(HubId, String)>> {
        let home = sqlx::query!(
            r#"select a.hub_id as "hub!", '' as "network!" from vapps a where a.id = $1 and a.hub_id is not null
               union all
               select * from (
                 select h.hub, n.name from networks n cross join lateral (select network_home(n.id, $1) as hub) h
                 where n.vapp_id is null and h.hub is not null and n.id in (
                   select network_id from vapp_networks where vapp_id = $1
                   union select c.network_id from nics c join vms v on v.id = c.vm_id
                         where v.vapp_id = $1 and v.deleted_at is null and v.id is distinct from $2 and c.removed_at is null)
                 order by lower(n.name), n.id limit 1) x
               limit 1"#,
            vapp.0,
            apart_from
        );
        let home = home.fetch_optional(&mut *self.tx).await.map_err(mapped)?;
        Ok(home.map(|h| (HubId(h.hub), h.network)))
    }
}

/// Holds the networks that a vApp is on, so that nobody else decides where they live, and makes sure that they live on that hub
/// or nowhere. What they left elsewhere goes. False: one of them lives on another hub.
pub(crate) async fn settle_networks(tx: &mut PgConnection, vapp: VappId, hub: &str) -> Result<bool> {
    let ids = needs(&mut *tx, vapp).await?.networks;
    if ids.is_empty() {
        return Ok(true);
    }
    // the organization first, as wherever networks are held
    sqlx::query!(
        "select id from organizations where id in (select org_id from networks where id = any($1)) order by id for key share",
        &ids
    )
    .fetch_all(&mut *tx)
    .await
    .map_err(mapped)?;
    sqlx::query!("select id from networks where id = any($1) order by id for update", &ids)
        .fetch_all(&mut *tx)
        .await
        .map_err(mapped)?;
    if homes(&mut *tx, &ids, Some(vapp)).await?.iter().any(|t| t.hub.0 != hub) {
        return Ok(false);
    }
    sqlx::query!(
        "with behind as (
             update network_places p set stale = true, ready_at = null where p.network_id = any($1) and p.hub_id <> $2 and not p.stale
             and not exists (select from nics c join vms v on v.id = c.vm_id
                             where c.network_id = p.network_id and v.hub_id = p.hub_id and v.gone_at is null)
             and not exists (select from addresses x join nics c on c.id = x.nic_id join vms v on v.id = c.vm_id
                             where x.network_id = p.network_id and v.hub_id = p.hub_id and v.gone_at is null)
             returning p.network_id
         )
         insert into work (kind, id, org_id) select 'network', id, org_id from networks where id in (select network_id from behind)
         on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), failing = ''",
        &ids,
        hub
    )
    .execute(&mut *tx)
    .await
    .map_err(mapped)?;
    Ok(true)
}

async fn needs(db: impl PgExecutor<'_>, vapp: VappId) -> Result<Needs> {
    let r = sqlx::query!(
        r#"select (select source from templates where id = a.template_id and source <> '') as template,
                  array(select distinct k.policy_id from disks k join vms v on v.id = k.vm_id
                        where v.vapp_id = a.id and v.deleted_at is null and k.deleted_at is null) as "policies!",
                  array(select n.id from networks n where n.vapp_id is null and n.id in (
                          select c.network_id from nics c join vms v on v.id = c.vm_id
                          where v.vapp_id = a.id and v.deleted_at is null and c.removed_at is null
                          union select network_id from vapp_networks where vapp_id = a.id) order by n.id) as "networks!"
           from vapps a where a.id = $1"#,
        vapp.0
    );
    let r = r.fetch_optional(db).await.map_err(mapped)?;
    Ok(r.map(|r| Needs { template: r.template, policies: r.policies, networks: r.networks }).unwrap_or_default())
}

async fn lacking(db: impl PgExecutor<'_>, needs: &Needs) -> Result<Vec<(HubId, Lack)>> {
    if needs.policies.is_empty() && needs.networks.is_empty() {
        return Ok(Vec::new());
    }
    let rows = sqlx::query!(
        r#"select h.id as "hub!", p.name as "name!", m.class as "class?"
           from hubs h cross join storage_policies p
           left join storage_policy_classes c on c.policy_id = p.id and c.hub_id = h.id
           cross join lateral (select coalesce(c.class, p.class) as class) m
           where p.id = any($1) and h.checked_at is not null and m.class <> '' and not exists (
             select from jsonb_array_elements(coalesce(h.found -> 'storage_classes', '[]')) x where x ->> 'name' = m.class)
           union all
           select h.id, n.name, null
           from hubs h cross join networks n
           where n.id = any($2) and h.checked_at is not null and not 'networks' = any(h.offers)
             and (n.dhcp or not 'attachments' = any(h.offers))
           order by 1, 3, 2"#,
        &needs.policies,
        &needs.networks
    );
    let rows = rows.fetch_all(db).await.map_err(mapped)?;
    let lack = |name: String, class: Option<String>| match class {
        Some(class) => Lack::Class { policy: name, class },
        None => Lack::Network(name),
    };
    Ok(rows.into_iter().map(|r| (HubId(r.hub), lack(r.name, r.class))).collect())
}

/// Where that is which its disks are made from: captured images, and machines that are copied.
async fn made_from(db: impl PgExecutor<'_>, vapp: VappId) -> Result<Vec<Tie>> {
    let rows = sqlx::query!(
        r#"select distinct i.hub_id as "hub!", null as "original?" from vms v join disks k on k.vm_id = v.id and k.gone_at is null
           join images i on k.image = 'image/' || i.id where v.vapp_id = $1 and i.hub_id is not null
           union
           select s.hub_id, min(s.name) from vms v join vms s on s.id = v.copy_of
           where v.vapp_id = $1 and v.gone_at is null and s.hub_id is not null
             and exists (select from disks k where k.vm_id = v.id and k.gone_at is null) group by s.hub_id
           order by 1"#,
        vapp.0
    );
    let rows = rows.fetch_all(db).await.map_err(mapped)?;
    let tie = |hub: String, original: Option<String>| Tie {
        hub: HubId(hub),
        to: original.map_or(TiedTo::Capture, TiedTo::Original),
    };
    Ok(rows.into_iter().map(|r| tie(r.hub, r.original)).collect())
}

/// Where the independent disks in its machines are kept.
pub(crate) async fn attached(db: impl PgExecutor<'_>, vapp: VappId) -> Result<Vec<Tie>> {
    let rows = sqlx::query!(
        r#"select k.hub_id as "hub!", min(k.name) as "name!" from disks k join vms v on v.id = k.vm_id
           where v.vapp_id = $1 and v.deleted_at is null and k.independent and k.gone_at is null and k.hub_id is not null
           group by k.hub_id order by 1"#,
        vapp.0
    );
    let rows = rows.fetch_all(db).await.map_err(mapped)?;
    Ok(rows.into_iter().map(|r| Tie { hub: HubId(r.hub), to: TiedTo::Disk(r.name) }).collect())
}

async fn homes(db: impl PgExecutor<'_>, networks: &[Uuid], apart_from: Option<VappId>) -> Result<Vec<Tie>> {
    if networks.is_empty() {
        return Ok(Vec::new());
    }
    let rows = sqlx::query!(
        r#"select h.hub as "hub!", n.name from networks n cross join lateral (select network_home(n.id, $2) as hub) h
           where n.id = any($1) and n.vapp_id is null and h.hub is not null order by lower(n.name), n.id"#,
        networks,
        apart_from.map(|v| v.0)
    );
    let rows = rows.fetch_all(db).await.map_err(mapped)?;
    Ok(rows.into_iter().map(|r| Tie { hub: HubId(r.hub), to: TiedTo::Network(r.name) }).collect())
}

async fn wishes(db: impl PgExecutor<'_>, org: OrgId, vdc: VdcId) -> Result<Wish> {
    let r = sqlx::query!(
        r#"select hubs, region, zone,
                  array(select hub_id from org_hubs where org_id = $1 and wish = 'prefer' order by 1) as "prefer!",
                  array(select hub_id from org_hubs where org_id = $1 and wish = 'avoid' order by 1) as "avoid!"
           from vdcs where id = $2"#,
        org.0,
        vdc.0
    );
    let r = r.fetch_one(db).await.map_err(mapped)?;
    let ids = |all: Vec<String>| all.into_iter().map(HubId).collect();
    Ok(Wish {
        prefer: ids(r.prefer),
        avoid: ids(r.avoid),
        hubs: ids(r.hubs),
        region: r.region,
        zone: r.zone,
        ..Wish::default()
    })
}

async fn lasting(db: impl PgExecutor<'_>, template: Option<&str>) -> Result<Vec<Candidate>> {
    let rows = sqlx::query!(
        r#"select h.id, h.capabilities, h.state, h.region, h.zone,
                  ($1::text is null or exists (select from hub_templates t where t.hub_id = h.id and t.source = $1)) as "has!"
           from hubs h order by h.id"#,
        template
    );
    let rows = rows.fetch_all(db).await.map_err(mapped)?;
    let hubs = rows.into_iter().map(|r| Candidate {
        id: HubId(r.id),
        capabilities: crate::hub::capabilities(&r.capabilities),
        offers: Vec::new(),
        state: HubState::parse(&r.state).unwrap_or_default(),
        cordoned: false,
        is_default: false,
        region: r.region,
        zone: r.zone,
        cpus_capacity: None,
        memory_capacity_mb: None,
        cpus_used: 0,
        memory_used_mb: 0,
        has_template: r.has,
        lacks: Vec::new(),
    });
    Ok(hubs.collect())
}
