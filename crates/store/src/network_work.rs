//! What workers read and write of networks. Every write carries the epoch of the claim it was made under.
use crate::{Store, constraint::mapped, network::address, work::Claim};
use model::{HubId, NetworkId, OrgId, Result, VdcId, network::Subnet};
use uuid::Uuid;

/// What a reconciler needs of a network, deleted or not.
#[derive(Clone, Debug)]
pub struct NetworkWork {
    pub id: NetworkId,
    pub org: OrgId,
    pub org_name: String,
    pub vdc: VdcId,
    pub name: String,
    pub hub_name: String,
    pub subnet: Subnet,
    pub dhcp: bool,
    pub shared: bool,
    pub version: i64,
    pub deleted: bool,
    pub gone: bool,
    /// NICs on it, and addresses of it that NICs still have.
    pub users: i64,
    pub places: Vec<NetworkPlace>,
}

/// A network in a VDC's namespace on a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkPlace {
    pub vdc: VdcId,
    pub vdc_name: String,
    pub hub: HubId,
    pub namespace: String,
    /// None: the VDC is not on that hub, or not yet.
    pub namespace_uid: Option<String>,
    /// What was made of it: `udn`, `cudn`, `nad`; empty: nothing yet.
    pub form: String,
    pub uid: Option<String>,
    pub ready: bool,
    pub stale: bool,
}

impl Store {
    pub async fn network_work(&self, id: Uuid) -> Result<Option<NetworkWork>> {
        let found = sqlx::query!(
            r#"select n.org_id, o.name as org_name, n.vdc_id, n.name, n.hub_name, host(n.gateway) as "gateway!", n.prefix, n.dhcp, n.shared,
                      n.version, n.deleted_at is not null as "deleted!", n.gone_at is not null as "gone!",
                      (select count(*) from nics where network_id = n.id) + (select count(*) from addresses where network_id = n.id) as "users!"
               from networks n join organizations o on o.id = n.org_id where n.id = $1"#,
            id
        );
        let Some(n) = found.fetch_optional(&self.pool).await.map_err(mapped)? else { return Ok(None) };
        let places = sqlx::query!(
            r#"select w.vdc_id, d.name as vdc_name, w.hub_id, d.namespace_name, p.namespace_uid as "namespace_uid?", w.form, w.uid,
                      w.ready_at is not null as "ready!", w.stale
               from network_places w join vdcs d on d.id = w.vdc_id
               left join places p on p.vdc_id = w.vdc_id and p.hub_id = w.hub_id and p.gone_at is null
               where w.network_id = $1 order by w.hub_id, w.vdc_id"#,
            id
        );
        let places = places.fetch_all(&self.pool).await.map_err(mapped)?.into_iter().map(|r| NetworkPlace {
            vdc: VdcId(r.vdc_id),
            vdc_name: r.vdc_name,
            hub: HubId(r.hub_id),
            namespace: r.namespace_name,
            namespace_uid: r.namespace_uid,
            form: r.form,
            uid: r.uid,
            ready: r.ready,
            stale: r.stale,
        });
        Ok(Some(NetworkWork {
            id: NetworkId(id),
            org: OrgId(n.org_id),
            org_name: n.org_name,
            vdc: VdcId(n.vdc_id),
            name: n.name,
            hub_name: n.hub_name,
            subnet: Subnet { gateway: address(&n.gateway)?, prefix: u8::try_from(n.prefix).unwrap_or(24) },
            dhcp: n.dhcp,
            shared: n.shared,
            version: n.version,
            deleted: n.deleted,
            gone: n.gone,
            users: n.users,
            places: places.collect(),
        }))
    }

    /// What the hub was last found to have.
    pub async fn hub_offers(&self, hub: &HubId) -> Result<Vec<String>> {
        let offers = sqlx::query_scalar!("select offers from hubs where id = $1", hub.0);
        Ok(offers.fetch_optional(&self.pool).await.map_err(mapped)?.unwrap_or_default())
    }

    /// Is the network there, ready for machines of that VDC?
    pub async fn network_ready(&self, network: NetworkId, vdc: VdcId, hub: &HubId) -> Result<bool> {
        let ready = sqlx::query_scalar!(
            r#"select ready_at is not null and not stale as "ready!" from network_places where network_id = $1 and vdc_id = $2 and hub_id = $3"#,
            network.0,
            vdc.0,
            hub.0
        );
        Ok(ready.fetch_optional(&self.pool).await.map_err(mapped)?.unwrap_or(false))
    }

    /// Why it can't be made, where trying again will not help.
    pub async fn network_trouble(&self, network: NetworkId) -> Result<Option<String>> {
        let why = sqlx::query_scalar!(
            "select last_error from work where kind = 'network' and id = $1 and failing = 'failed'",
            network.0
        );
        why.fetch_optional(&self.pool).await.map_err(mapped)
    }

    /// The network is to be in that VDC's namespace on that hub.
    pub async fn network_want(&self, network: NetworkId, vdc: VdcId, hub: &HubId) -> Result<()> {
        let mut tx = self.begin().await?;
        // the VDC before its networks, as where machines are made in it
        sqlx::query!("select id from vdcs where id = $1 for key share", vdc.0)
            .fetch_optional(&mut *tx)
            .await
            .map_err(mapped)?;
        sqlx::query!(
            "insert into network_places (network_id, vdc_id, hub_id) select id, $2, $3 from networks where id = $1 and deleted_at is null
             on conflict do nothing",
            network.0,
            vdc.0,
            hub.0
        )
        .execute(&mut *tx)
        .await
        .map_err(mapped)?;
        tx.commit().await.map_err(mapped)
    }

    /// It is on the hub. False: the claim is not ours any more.
    pub async fn network_made(&self, c: &Claim, at: &NetworkPlace, form: &str, uid: &str) -> Result<bool> {
        let done = sqlx::query!(
            "update network_places set form = $4, uid = $5 where network_id = $1 and vdc_id = $2 and hub_id = $3
             and exists (select from work where kind = 'network' and id = $1 and lease_epoch = $6)",
            c.id,
            at.vdc.0,
            at.hub.0,
            form,
            uid,
            c.epoch
        );
        Ok(done.execute(&self.pool).await.map_err(mapped)?.rows_affected() == 1)
    }

    pub async fn network_usable(&self, c: &Claim, at: &NetworkPlace) -> Result<bool> {
        let done = sqlx::query!(
            "update network_places set ready_at = coalesce(ready_at, now()) where network_id = $1 and vdc_id = $2 and hub_id = $3 and not stale
             and exists (select from work where kind = 'network' and id = $1 and lease_epoch = $4)",
            c.id,
            at.vdc.0,
            at.hub.0,
            c.epoch
        );
        Ok(done.execute(&self.pool).await.map_err(mapped)?.rows_affected() == 1)
    }

    /// It is proven to be gone from there.
    pub async fn network_left(&self, c: &Claim, at: &NetworkPlace) -> Result<bool> {
        let done = sqlx::query!(
            "delete from network_places where network_id = $1 and vdc_id = $2 and hub_id = $3
             and exists (select from work where kind = 'network' and id = $1 and lease_epoch = $4)",
            c.id,
            at.vdc.0,
            at.hub.0,
            c.epoch
        );
        Ok(done.execute(&self.pool).await.map_err(mapped)?.rows_affected() == 1)
    }

    /// A worker that was too late may have made something of it: it is looked at once more.
    pub async fn network_again(&self, id: NetworkId, at: &NetworkPlace) -> Result<()> {
        sqlx::query!(
            "with n as (update networks set gone_at = null where id = $1 returning id, org_id),
                  p as (insert into network_places (network_id, vdc_id, hub_id, stale) select id, $2, $3, true from n on conflict do nothing)
             insert into work (kind, id, org_id) select 'network', id, org_id from n
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), failing = ''",
            id.0,
            at.vdc.0,
            at.hub.0
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        self.work_bell.notify_one();
        Ok(())
    }

    /// Nothing of it is left on any hub.
    pub async fn network_gone(&self, c: &Claim) -> Result<bool> {
        let done = sqlx::query!(
            "update networks set gone_at = now() where id = $1 and deleted_at is not null and gone_at is null
             and not exists (select from network_places where network_id = $1) and not exists (select from nics where network_id = $1)
             and not exists (select from addresses where network_id = $1)
             and exists (select from work where kind = 'network' and id = $1 and lease_epoch = $2)",
            c.id,
            c.epoch
        );
        Ok(done.execute(&self.pool).await.map_err(mapped)?.rows_affected() == 1)
    }
}
