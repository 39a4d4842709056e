//! Virtual data centers.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    list::{Build, ListSql, sort},
    query::{QuerySql, bool, id, number, text, time, words},
    quota::FULLNESS,
    storage::begin_profile,
};
use model::{
    Action, Actor, Error, HubId, OrgId, Result, VdcId,
    decide::{Resource, Scope},
    list::{ListQuery, Page},
    org::Org,
    query::{Found, Numbered},
    quota::{Amount, Limits},
    vdc::{AllocationModel, Vdc, VdcBesides, VdcSpec},
};
use sqlx::{FromRow, PgExecutor, types::Json};
use time::OffsetDateTime;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: "t.*, o.name as org_name, (select count(*) from vapps a where a.vdc_id = t.id and a.deleted_at is null) as vapps, \
              (select count(*) from networks n where n.vdc_id = t.id and n.vapp_id is null and n.gone_at is null) as networks",
    from: "vdcs t join organizations o on o.id = t.org_id",
    count_from: "vdcs t left join organizations o on o.id = t.org_id",
    living: "t.deleted_at is null",
    sorts: &[sort("name", "lower(t.name)", "text"), sort("created", "t.created_at", "timestamptz")],
    search: &["t.name", "t.description", "o.name"],
    action: "",
    org: "t.org_id",
    owner: "t.id",
};

/// Allocation models by VCD's words, and by ours.
const MODELS: &[(&str, &str)] = &[
    ("AllocationVApp", "t.allocation_model = 'PayAsYouGo'"),
    ("PayAsYouGo", "t.allocation_model = 'PayAsYouGo'"),
    ("AllocationPool", "t.allocation_model = 'AllocationPool'"),
    ("ReservationPool", "t.allocation_model = 'ReservationPool'"),
];

/// What VCD's clients ask by.
const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: "vdcs t left join organizations o on o.id = t.org_id",
    metadata: true,
    fields: &[
        id("id", "t.id"),
        id("href", "t.id"),
        text("name", "t.name"),
        text("description", "t.description"),
        id("org", "t.org_id"),
        id("org.id", "t.org_id"),
        text("org.name", "o.name"),
        text("orgName", "o.name"),
        bool("isEnabled", "t.enabled"),
        bool("enabled", "t.enabled"),
        bool("isBusy", "false"),
        words("allocationModel", "t.allocation_model", MODELS),
        words("allocationType", "t.allocation_model", MODELS),
        number("numberOfVApps", "(select count(*) from vapps a where a.vdc_id = t.id and a.deleted_at is null)"),
        number("numberOfVMs", "t.vms_used"),
        number("memoryUsedMB", "t.memory_used_mb"),
        number("storageUsedMB", "t.storage_used_mb"),
        time("creationDate", "t.created_at"),
        words("status", "'READY'", &[("READY", "true")]),
    ],
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    org_id: Uuid,
    org_name: String,
    name: String,
    description: String,
    namespace_name: String,
    allocation_model: String,
    enabled: bool,
    besides: Json<VdcBesides>,
    vm_limit: Option<i64>,
    cpu_limit: Option<i64>,
    memory_limit_mb: Option<i64>,
    storage_limit_mb: Option<i64>,
    vms_used: i64,
    cpus_used: i64,
    memory_used_mb: i64,
    storage_used_mb: i64,
    vapps: i64,
    networks: i64,
    hubs: Vec<String>,
    region: String,
    zone: String,
    version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    updated_by: String,
}

fn read(r: Row) -> Result<Vdc> {
    Ok(Vdc {
        id: VdcId(r.id),
        org: OrgId(r.org_id),
        org_name: r.org_name,
        name: r.name,
        description: r.description,
        namespace_name: r.namespace_name,
        allocation_model: AllocationModel::parse(&r.allocation_model)
            .ok_or_else(|| Error::Internal(format!("allocation model {:?}", r.allocation_model)))?,
        enabled: r.enabled,
        besides: r.besides.0,
        limits: Limits {
            vms: r.vm_limit,
            cpus: r.cpu_limit,
            memory_mb: r.memory_limit_mb,
            storage_mb: r.storage_limit_mb,
        },
        used: Amount { vms: r.vms_used, cpus: r.cpus_used, memory_mb: r.memory_used_mb, storage_mb: r.storage_used_mb },
        vapps: r.vapps,
        networks: r.networks,
        hubs: r.hubs.into_iter().map(HubId).collect(),
        region: r.region,
        zone: r.zone,
        version: r.version,
        created_at: r.created_at,
        updated_at: r.updated_at,
        updated_by: r.updated_by,
    })
}

fn filter(b: &mut Build<'_>, key: &str, value: &str) {
    match key {
        "enabled" => {
            b.push(" and t.enabled = ").push_bind(value == "true");
        }
        "model" => {
            b.push(" and t.allocation_model = ").push_bind(value.to_owned());
        }
        _ => {}
    }
}

async fn find(db: impl PgExecutor<'_>, id: VdcId, lock: bool) -> Result<Option<Vdc>> {
    let mut b = SQL.one();
    b.push("t.id = ").push_bind(id.0);
    if lock {
        b.push(" for update of t");
    }
    b.build_query_as().fetch_optional(db).await.map_err(mapped)?.map(read).transpose()
}

fn resource(vdc: &Vdc) -> Resource {
    Resource::Of(vdc.org)
}

impl Store {
    pub async fn vdc_ids(&self, scope: Scope) -> Result<Vec<VdcId>> {
        let mut b = Build::new(format!("select t.id from {} where {}", SQL.from, SQL.living));
        SQL.within(&mut b, scope);
        let ids: Vec<Uuid> = b.build_query_scalar().fetch_all(&self.pool).await.map_err(mapped)?;
        Ok(ids.into_iter().map(VdcId).collect())
    }

    pub async fn vdc(&self, actor: &Actor, action: Action, id: VdcId) -> Result<Authorized<Vdc>> {
        Authorized::check(actor, action, find(&self.pool, id, false).await?, resource)
    }

    pub async fn vdcs(&self, scope: Scope, q: &ListQuery) -> Result<Page<Vdc>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    pub async fn vdc_names(&self, scope: Scope) -> Result<Vec<(VdcId, String)>> {
        Ok(self.named(&SQL, scope, |_| {}).await?.into_iter().map(|(id, name)| (VdcId(id), name)).collect())
    }

    pub async fn vdcs_query(&self, scope: Scope, q: &Numbered) -> Result<Found<Vdc>> {
        self.numbered(&QUERY, scope, q, read).await
    }

    /// Those with the least left of some limit first.
    pub async fn fullest_vdcs(&self, scope: Scope, limit: u32) -> Result<Vec<Vdc>> {
        let more = |b: &mut Build<'_>| {
            b.push(format_args!(" order by {FULLNESS} desc nulls last, t.name, t.id limit {limit}"));
        };
        self.few(&SQL, scope, more, read).await
    }
}

impl Write<'_> {
    pub async fn vdc(&mut self, action: Action, id: VdcId) -> Result<Authorized<Vdc>> {
        let found = find(&mut *self.tx, id, true).await?;
        Authorized::check(self.actor, action, found, resource)
    }

    /// Is there a living VDC whose namespace has that name?
    pub async fn namespace_taken(&mut self, name: &str) -> Result<bool> {
        sqlx::query_scalar!(
            r#"select exists (select 1 from vdcs where namespace_name = $1 and deleted_at is null) as "taken!""#,
            name
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)
    }

    /// `org` is locked, so that the number of its VDCs can't change in between.
    pub async fn vdc_insert(&mut self, id: VdcId, org: &Authorized<Org>, s: &VdcSpec, namespace: &str) -> Result<()> {
        sqlx::query!(
            "insert into vdcs (id, org_id, name, description, namespace_name, allocation_model, vm_limit, cpu_limit, memory_limit_mb,
                               storage_limit_mb, updated_by, hubs, region, zone)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
            id.0,
            org.id.0,
            s.name,
            s.description,
            namespace,
            s.allocation_model.key(),
            s.limits.vms,
            s.limits.cpus,
            s.limits.memory_mb,
            s.limits.storage_mb,
            self.actor.name,
            &hub_words(s),
            s.region,
            s.zone,
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        begin_profile(&mut self.tx, id).await
    }

    pub async fn vdc_update(&mut self, vdc: &Authorized<Vdc>, s: &VdcSpec) -> Result<()> {
        sqlx::query!(
            "update vdcs set name = $2, description = $3, allocation_model = $4, vm_limit = $5, cpu_limit = $6, memory_limit_mb = $7,
                    storage_limit_mb = $8, version = version + 1, updated_at = now(), updated_by = $9, hubs = $10, region = $11, zone = $12
             where id = $1",
            vdc.id.0,
            s.name,
            s.description,
            s.allocation_model.key(),
            s.limits.vms,
            s.limits.cpus,
            s.limits.memory_mb,
            s.limits.storage_mb,
            self.actor.name,
            &hub_words(s),
            s.region,
            s.zone,
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// What a client set besides: kept, and told to nobody.
    pub async fn vdc_keep(&mut self, vdc: &Authorized<Vdc>, besides: &VdcBesides) -> Result<()> {
        sqlx::query!(
            "update vdcs set besides = $2, version = version + 1, updated_at = now(), updated_by = $3 where id = $1",
            vdc.id.0,
            Json(besides) as _,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn vdc_set_enabled(&mut self, vdc: &Authorized<Vdc>, enabled: bool) -> Result<()> {
        sqlx::query!(
            "update vdcs set enabled = $2, version = version + 1, updated_at = now(), updated_by = $3 where id = $1",
            vdc.id.0,
            enabled,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn vdc_delete(&mut self, vdc: &Authorized<Vdc>) -> Result<()> {
        sqlx::query!(
            "update vdcs set deleted_at = now(), version = version + 1, updated_at = now(), updated_by = $2 where id = $1",
            vdc.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}

fn hub_words(s: &VdcSpec) -> Vec<String> {
    s.hubs.iter().map(|h| h.0.clone()).collect()
}
