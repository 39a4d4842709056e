//! How hubs are doing: who writes it down, whether they answer, and what was last found on them.
use crate::{Store, constraint::mapped};
use model::{
    HubId, Result,
    hub::{Capability, HubCheck, HubState},
};
use std::time::Duration;
use time::OffsetDateTime;

/// What a look at a hub found.
#[derive(Clone, Debug, Default)]
pub struct HubReport {
    pub checks: Vec<HubCheck>,
    pub offers: Vec<String>,
    pub kubernetes_version: String,
    pub kubevirt_version: String,
    /// Which cluster it is; empty: not known.
    pub cluster_uid: String,
    pub cpus_capacity: Option<i64>,
    pub memory_capacity_mb: Option<i64>,
    /// All of it, for comparing hubs.
    pub found: serde_json::Value,
}

/// What was last found on a hub, and the templates it has.
pub struct Finding {
    pub hub: HubId,
    pub found: serde_json::Value,
    pub templates: Vec<String>,
}

/// A failure in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    pub kind: String,
    pub message: String,
    pub next_step: String,
}

impl Store {
    /// Takes or keeps the right to write what a hub reports. None: another replica has it.
    pub async fn hub_lease(&self, hub: &HubId, owner: &str, lease: Duration) -> Result<Option<i64>> {
        sqlx::query_scalar!(
            "update hubs set lease_owner = $2, lease_until = now() + make_interval(secs => $3),
                    lease_epoch = lease_epoch + case when lease_owner = $2 and lease_until > now() then 0 else 1 end
             where id = $1 and (lease_owner = $2 or lease_until <= now()) returning lease_epoch",
            hub.0,
            owner,
            lease.as_secs_f64()
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)
    }

    pub async fn hub_leases_release(&self, owner: &str) -> Result<()> {
        sqlx::query!("update hubs set lease_until = '-infinity' where lease_owner = $1", owner)
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// It answered. True if that is news.
    pub async fn hub_answers(&self, hub: &HubId, at: OffsetDateTime) -> Result<bool> {
        let news = sqlx::query_scalar!(
            r#"with before as (select id, state from hubs where id = $1),
               up as (update hubs h set seen_at = greatest(coalesce(h.seen_at, '-infinity'), least($2, now())), last_error = '', last_error_kind = '',
                             next_step = '', state = case when h.state in ('unknown', 'unreachable') then 'ready' else h.state end
                      from before b where h.id = b.id returning b.state in ('unknown', 'unreachable') as news),
               places_then as (update places set looked_at = '-infinity' where hub_id = $1 and gone_at is null and (select news from up))
               select news as "news!" from up"#,
            hub.0,
            at
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(news.unwrap_or(false))
    }

    /// The hub for VMs that was registered first for that cluster. None: nobody knows of one, or it is this one; or this one is for no
    /// VMs.
    pub async fn hub_of_cluster(&self, cluster: &str, but: Option<&HubId>) -> Result<Option<HubId>> {
        let but = but.map_or("", |hub| hub.0.as_str());
        let first = sqlx::query_scalar!(
            "select o.id from hubs o left join hubs h on h.id = $2
             where o.cluster_uid = $1 and $1 <> '' and o.id <> $2 and 'virtualmachines' = any(o.capabilities)
               and (h.id is null or o.uid < h.uid and 'virtualmachines' = any(h.capabilities))
             order by o.uid limit 1",
            cluster,
            but
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(first.map(HubId))
    }

    /// Those that do not answer, by name.
    pub async fn silent_hubs(&self) -> Result<Vec<HubId>> {
        let ids = sqlx::query_scalar!("select id from hubs where state = 'unreachable' order by id")
            .fetch_all(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(ids.into_iter().map(HubId).collect())
    }

    pub async fn hub_is_silent(&self, hub: &HubId) -> Result<bool> {
        let silent = sqlx::query_scalar!(r#"select state = 'unreachable' as "silent!" from hubs where id = $1"#, hub.0)
            .fetch_optional(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(silent.unwrap_or(false))
    }

    /// It does not. True if that is news.
    pub async fn hub_silent(&self, hub: &HubId, why: &Trouble) -> Result<bool> {
        let news = sqlx::query_scalar!(
            r#"with before as (select id, state from hubs where id = $1)
               update hubs h set state = 'unreachable', last_error = $2, last_error_kind = $3, next_step = $4
               from before b where h.id = b.id returning b.state <> 'unreachable' as "news!""#,
            hub.0,
            why.message,
            why.kind,
            why.next_step
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(news.unwrap_or(false))
    }

    /// What a look found. Of a hub that does not answer only the checks are news: what it has is what it had.
    pub async fn hub_report(&self, hub: &HubId, report: &HubReport, state: HubState) -> Result<()> {
        sqlx::query!(
            "update hubs set checks = $2, checked_at = now(),
                    offers = case when $8 = 'unreachable' then offers else $3 end,
                    kubernetes_version = case when $8 = 'unreachable' then kubernetes_version else $4 end,
                    kubevirt_version = case when $8 = 'unreachable' then kubevirt_version else $5 end,
                    found = case when $8 = 'unreachable' then found else $9 end,
                    cpus_capacity = coalesce($6, cpus_capacity), memory_capacity_mb = coalesce($7, memory_capacity_mb), state = $8,
                    seen_at = case when $8 = 'unreachable' then seen_at else now() end,
                    cluster_uid = case when cluster_uid = '' then $10 else cluster_uid end
             where id = $1",
            hub.0,
            sqlx::types::Json(&report.checks) as _,
            &report.offers,
            report.kubernetes_version,
            report.kubevirt_version,
            report.cpus_capacity,
            report.memory_capacity_mb,
            state.key(),
            report.found,
            report.cluster_uid
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Hubs that are open for something, the default one first.
    pub async fn hub_findings(&self, open_for: Capability) -> Result<Vec<Finding>> {
        let rows = sqlx::query!(
            r#"select h.id, h.found, array(select t.source from hub_templates t where t.hub_id = h.id order by 1) as "templates!"
               from hubs h where $1 = any(h.capabilities) order by h.is_default desc, h.id"#,
            open_for.key()
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(rows.into_iter().map(|r| Finding { hub: HubId(r.id), found: r.found, templates: r.templates }).collect())
    }
}
