//! Hubs and their sealed credentials, as the provider keeps them. What is found on them is in `hub_state`.
use crate::{Authorized, Store, Write, constraint::mapped};
use model::{
    Action, Actor, Error, HubId, Result, VdcId,
    decide::Resource,
    hub::{Capability, Hub, HubCheck, HubSpec, HubState, HubType},
    placement::Candidate,
    quota::Limits,
};
use sqlx::{FromRow, PgExecutor, QueryBuilder};
use time::OffsetDateTime;
use uuid::Uuid;

const COLUMNS: &str = "h.id, h.uid, h.description, h.hub_type, h.capabilities, h.namespace, h.region, h.zone, h.is_default, h.cordoned, \
    h.quota_cpus, h.quota_memory_mb, h.quota_storage_mb, \
    h.server, h.credential_version, h.credential_expires_at, h.state, h.last_error, h.next_step, h.seen_at, h.checks, h.checked_at, \
    h.offers, h.kubernetes_version, h.kubevirt_version, h.cpus_capacity, h.memory_capacity_mb, h.version, h.created_at, h.updated_at, \
    h.updated_by, m.vms, m.cpus_used, m.memory_used_mb, (select count(*) from places p where p.hub_id = h.id and p.gone_at is null) as vdcs, \
    (select count(*) from disks k where k.hub_id = h.id and k.gone_at is null and k.independent) as disks, \
    array(select o.name || '/' || d.name from vdcs d join organizations o on o.id = d.org_id \
          where d.hubs @> array[h.id] and d.hubs <> '{}' and d.deleted_at is null order by 1 limit 6) as named_by";
const FROM: &str = "hubs h cross join lateral (select count(*) as vms, coalesce(sum(cpus), 0)::bigint as cpus_used, \
    coalesce(sum(memory_mb), 0)::bigint as memory_used_mb from vms v where v.hub_id = h.id and v.gone_at is null) m";

#[derive(FromRow)]
struct Row {
    id: String,
    uid: Uuid,
    description: String,
    hub_type: String,
    capabilities: Vec<String>,
    namespace: String,
    quota_cpus: Option<i64>,
    quota_memory_mb: Option<i64>,
    quota_storage_mb: Option<i64>,
    region: String,
    zone: String,
    is_default: bool,
    cordoned: bool,
    server: String,
    credential_version: i64,
    credential_expires_at: Option<OffsetDateTime>,
    state: String,
    last_error: String,
    next_step: String,
    seen_at: Option<OffsetDateTime>,
    checks: sqlx::types::Json<Vec<HubCheck>>,
    checked_at: Option<OffsetDateTime>,
    offers: Vec<String>,
    kubernetes_version: String,
    kubevirt_version: String,
    cpus_capacity: Option<i64>,
    memory_capacity_mb: Option<i64>,
    version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    updated_by: String,
    vms: i64,
    cpus_used: i64,
    memory_used_mb: i64,
    vdcs: i64,
    disks: i64,
    named_by: Vec<String>,
}

fn read(r: Row) -> Result<Hub> {
    let odd = |what: &str, word: &str| Error::Internal(format!("hub {what} {word:?}"));
    Ok(Hub {
        hub_type: HubType::parse(&r.hub_type).ok_or_else(|| odd("type", &r.hub_type))?,
        state: HubState::parse(&r.state).ok_or_else(|| odd("state", &r.state))?,
        capabilities: capabilities(&r.capabilities),
        id: HubId(r.id),
        uid: r.uid,
        description: r.description,
        namespace: r.namespace,
        quota: quota(r.quota_cpus, r.quota_memory_mb, r.quota_storage_mb),
        region: r.region,
        zone: r.zone,
        is_default: r.is_default,
        cordoned: r.cordoned,
        server: r.server,
        credential_version: r.credential_version,
        credential_expires_at: r.credential_expires_at,
        last_error: r.last_error,
        next_step: r.next_step,
        seen_at: r.seen_at,
        checks: r.checks.0,
        checked_at: r.checked_at,
        offers: r.offers,
        kubernetes_version: r.kubernetes_version,
        kubevirt_version: r.kubevirt_version,
        cpus_capacity: r.cpus_capacity,
        memory_capacity_mb: r.memory_capacity_mb,
        vms: r.vms,
        cpus_used: r.cpus_used,
        memory_used_mb: r.memory_used_mb,
        vdcs: r.vdcs,
        disks: r.disks,
        named_by: r.named_by,
        version: r.version,
        created_at: r.created_at,
        updated_at: r.updated_at,
        updated_by: r.updated_by,
    })
}

/// Of a hub's own namespace.
fn quota(cpus: Option<i64>, memory_mb: Option<i64>, storage_mb: Option<i64>) -> Limits {
    Limits { vms: None, cpus, memory_mb, storage_mb }
}

pub(crate) fn capabilities(words: &[String]) -> Vec<Capability> {
    words.iter().filter_map(|w| Capability::parse(w)).collect()
}

async fn find(db: impl PgExecutor<'_>, id: &HubId) -> Result<Option<Hub>> {
    let mut b = QueryBuilder::new(format!("select {COLUMNS} from {FROM} where h.id = "));
    b.push_bind(id.0.clone());
    b.build_query_as().fetch_optional(db).await.map_err(mapped)?.map(read).transpose()
}

fn resource(_: &Hub) -> Resource {
    Resource::Installation
}

/// The way into a hub, as it is stored.
#[derive(Clone)]
pub struct SealedCredential {
    pub hub: HubId,
    pub sealed: Vec<u8>,
    /// Its registration, and how often the credentials were changed since.
    pub revision: (Uuid, i64),
    pub namespace: String,
    /// Its address is the operator's own word.
    pub trusted: bool,
}

impl Store {
    pub async fn hub(&self, actor: &Actor, action: Action, id: &HubId) -> Result<Authorized<Hub>> {
        Authorized::check(actor, action, find(&self.pool, id).await?, resource)
    }

    /// All of them, by name: there are never many. Who may see them is for the caller to say.
    pub async fn hubs(&self) -> Result<Vec<Hub>> {
        let mut b = QueryBuilder::new(format!("select {COLUMNS} from {FROM} order by h.id"));
        let rows: Vec<Row> = b.build_query_as().fetch_all(&self.pool).await.map_err(mapped)?;
        rows.into_iter().map(read).collect()
    }

    pub async fn credentials_of_hubs(&self) -> Result<Vec<SealedCredential>> {
        let rows =
            sqlx::query!("select id, uid, credential, credential_version, namespace, trusted from hubs order by id")
                .fetch_all(&self.pool)
                .await
                .map_err(mapped)?;
        let sealed = rows.into_iter().map(|r| SealedCredential {
            hub: HubId(r.id),
            sealed: r.credential,
            revision: (r.uid, r.credential_version),
            namespace: r.namespace,
            trusted: r.trusted,
        });
        Ok(sealed.collect())
    }

    pub async fn credential_of_hub(&self, hub: &HubId) -> Result<Option<SealedCredential>> {
        let row = sqlx::query!(
            "select uid, credential, credential_version, namespace, trusted from hubs where id = $1",
            hub.0
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(row.map(|r| SealedCredential {
            hub: hub.clone(),
            sealed: r.credential,
            revision: (r.uid, r.credential_version),
            namespace: r.namespace,
            trusted: r.trusted,
        }))
    }

    /// Its own namespace, and what may be used there.
    pub async fn own_namespace(&self, hub: &HubId) -> Result<Option<(String, Limits)>> {
        let row = sqlx::query!(
            "select namespace, quota_cpus, quota_memory_mb, quota_storage_mb from hubs where id = $1",
            hub.0
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(row.map(|r| (r.namespace, quota(r.quota_cpus, r.quota_memory_mb, r.quota_storage_mb))))
    }

    /// Which cluster it was found to be; empty: nobody has looked yet.
    pub async fn cluster_of_hub(&self, hub: &HubId) -> Result<String> {
        let known = sqlx::query_scalar!("select cluster_uid from hubs where id = $1", hub.0);
        Ok(known.fetch_optional(&self.pool).await.map_err(mapped)?.unwrap_or_default())
    }

    /// Hubs as placement sees them, for a template that hubs may or may not have.
    /// What VDCs with a reserve keep free on the hub where they began counts as used, for all but `vdc`, whose own it is.
    pub async fn candidates(&self, template: Option<&str>, vdc: Option<VdcId>) -> Result<Vec<Candidate>> {
        let rows = sqlx::query!(
            r#"with used as (
                 select hub_id, vdc_id, sum(cpus) as cpus, sum(memory_mb) as memory from vms
                 where gone_at is null and hub_id is not null group by hub_id, vdc_id
               ), kept as (
                 select p.hub_id, sum(greatest(0, d.cpu_limit * r.share - coalesce(u.cpus, 0))) as cpus,
                        sum(greatest(0, d.memory_limit_mb * r.share - coalesce(u.memory, 0))) as memory
                 from vdcs d
                 cross join lateral (select case d.allocation_model when 'ReservationPool' then 1.0 else 0.5 end as share) r
                 cross join lateral (select hub_id from places where vdc_id = d.id and gone_at is null order by created_at, hub_id limit 1) p
                 left join used u on u.vdc_id = d.id and u.hub_id = p.hub_id
                 where d.deleted_at is null and d.allocation_model <> 'PayAsYouGo' and d.id is distinct from $2
                 group by p.hub_id
               )
               select h.id, h.capabilities, h.state, h.cordoned, h.is_default, h.region, h.zone, h.offers, h.cpus_capacity, h.memory_capacity_mb,
                      (coalesce((select sum(u.cpus) from used u where u.hub_id = h.id), 0) + coalesce(k.cpus, 0))::bigint as "cpus!",
                      (coalesce((select sum(u.memory) from used u where u.hub_id = h.id), 0) + coalesce(k.memory, 0))::bigint as "memory!",
                      ($1::text is null or exists (select from hub_templates t where t.hub_id = h.id and t.source = $1)) as "has!"
               from hubs h left join kept k on k.hub_id = h.id order by h.id"#,
            template,
            vdc.map(|v| v.0)
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(rows
            .into_iter()
            .map(|r| Candidate {
                id: HubId(r.id),
                capabilities: capabilities(&r.capabilities),
                offers: capabilities(&r.offers),
                state: HubState::parse(&r.state).unwrap_or_default(),
                cordoned: r.cordoned,
                is_default: r.is_default,
                region: r.region,
                zone: r.zone,
                cpus_capacity: r.cpus_capacity,
                memory_capacity_mb: r.memory_capacity_mb,
                cpus_used: r.cpus,
                memory_used_mb: r.memory,
                has_template: r.has,
                lacks: Vec::new(),
            })
            .collect())
    }
}

impl Write<'_> {
    pub async fn hub(&mut self, action: Action, id: &HubId) -> Result<Authorized<Hub>> {
        sqlx::query!("select id from hubs where id = $1 for update", id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let found = find(&mut *self.tx, id).await?;
        Authorized::check(self.actor, action, found, resource)
    }

    pub async fn hub_insert(
        &mut self,
        uid: Uuid,
        s: &HubSpec,
        server: &str,
        credential: &[u8],
        expires: Option<OffsetDateTime>,
        trusted: bool,
    ) -> Result<()> {
        self.hub_no_default(s).await?;
        sqlx::query!(
            "insert into hubs (id, uid, description, hub_type, capabilities, namespace, region, zone, server, credential,
                               credential_expires_at, updated_by, trusted, is_default, quota_cpus, quota_memory_mb, quota_storage_mb)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
            s.id,
            uid,
            s.description,
            s.hub_type.key(),
            &words(&s.capabilities),
            s.namespace,
            s.region,
            s.zone,
            server,
            credential,
            expires,
            self.actor.name,
            trusted,
            s.is_default,
            s.quota.cpus,
            s.quota.memory_mb,
            s.quota.storage_mb
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Before another becomes the default hub, the one that was it no longer is.
    async fn hub_no_default(&mut self, s: &HubSpec) -> Result<()> {
        if s.is_default {
            sqlx::query!(
                "update hubs set is_default = false, version = version + 1 where is_default and id <> $1",
                s.id
            )
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        }
        Ok(())
    }

    pub async fn hub_update(&mut self, hub: &Authorized<Hub>, s: &HubSpec) -> Result<()> {
        self.hub_no_default(s).await?;
        sqlx::query!(
            "update hubs set description = $2, hub_type = $3, capabilities = $4, namespace = $5, region = $6, zone = $7,
                    is_default = $9, quota_cpus = $10, quota_memory_mb = $11, quota_storage_mb = $12,
                    version = version + 1, updated_at = now(), updated_by = $8 where id = $1",
            hub.id.0,
            s.description,
            s.hub_type.key(),
            &words(&s.capabilities),
            s.namespace,
            s.region,
            s.zone,
            self.actor.name,
            s.is_default,
            s.quota.cpus,
            s.quota.memory_mb,
            s.quota.storage_mb
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// `cluster_uid`: which cluster that leads to; empty: it is learned when it is looked at next.
    pub async fn hub_set_credential(
        &mut self,
        hub: &Authorized<Hub>,
        server: &str,
        credential: &[u8],
        expires: Option<OffsetDateTime>,
        trusted: bool,
        cluster_uid: &str,
    ) -> Result<()> {
        sqlx::query!(
            "update hubs set server = $2, credential = $3, credential_expires_at = $4, trusted = $6, cluster_uid = $7,
                    credential_version = credential_version + 1, version = version + 1, updated_at = now(), updated_by = $5 where id = $1",
            hub.id.0,
            server,
            credential,
            expires,
            self.actor.name,
            trusted,
            cluster_uid
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn hub_set_cordoned(&mut self, hub: &Authorized<Hub>, cordoned: bool) -> Result<()> {
        sqlx::query!(
            "update hubs set cordoned = $2, version = version + 1, updated_at = now(), updated_by = $3 where id = $1",
            hub.id.0,
            cordoned,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        if cordoned {
            // VDCs that have nothing there leave it
            sqlx::query!(
                "insert into work (kind, id, org_id, request_id) select 'vdc', d.id, d.org_id, $2 from places p join vdcs d on d.id = p.vdc_id
                 where p.hub_id = $1 and p.gone_at is null and d.deleted_at is null and place_is_empty(p.vdc_id, p.hub_id)
                 on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now()",
                hub.id.0,
                self.actor.origin.request_id
            )
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        }
        Ok(())
    }

    pub async fn hub_delete(&mut self, hub: &Authorized<Hub>) -> Result<()> {
        sqlx::query!("delete from places where hub_id = $1", hub.id.0).execute(&mut *self.tx).await.map_err(mapped)?;
        sqlx::query!("delete from hubs where id = $1", hub.id.0).execute(&mut *self.tx).await.map_err(mapped)?;
        Ok(())
    }
}

fn words(capabilities: &[Capability]) -> Vec<String> {
    capabilities.iter().map(|c| c.key().to_owned()).collect()
}
