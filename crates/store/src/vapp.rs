//! vApps.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    copy::copying_vapp,
    lease::{LeaseRow, lease_columns},
    list::{Build, ListSql, sort},
    metadata::{filter_metadata, filter_tag_inside},
    query::{QuerySql, bool, id, number, text, time, words},
    share::{GrantJson, owned_or_shared, shares_column},
};
use model::{
    Action, Actor, HubId, OrgId, Result, TemplateId, UserId, VappId, VdcId,
    decide::{Resource, Scope},
    list::{ListQuery, Page},
    placement::Placement,
    query::{Found, Numbered},
    vapp::{Vapp, VmCounts},
};
use sqlx::{FromRow, PgExecutor, types::Json};
use time::OffsetDateTime;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: concat!(
        lease_columns!(),
        ", ",
        shares_column!("t.id"),
        ", ",
        copying_vapp!(),
        ", u.id is not null and (u.deleted_at is not null or not u.enabled) as stranded, t.id, t.org_id, o.name as org_name, t.vdc_id, d.name as vdc_name, d.enabled as vdc_enabled, t.owner_id, \
         coalesce(u.name, '') as owner_name, t.template_id, t.name, t.description, t.hub_id, h.state <> 'unreachable' as hub_answers, \
         t.placement, t.instance_of, t.version, t.created_at, t.updated_at, t.updated_by, t.deleted_at is not null as deleted, t.auto, t.empty_on, m.*"
    ),
    from: "vapps t join organizations o on o.id = t.org_id join vdcs d on d.id = t.vdc_id left join users u on u.id = t.owner_id \
           left join hubs h on h.id = t.hub_id left join leases l on l.object_id = t.id cross join lateral (select count(*) as vms, \
           count(*) filter (where obs_state in ('running', 'migrating') and power = 'on') as running, \
           count(*) filter (where obs_state in ('running', 'migrating')) as seen_running, \
           count(*) filter (where obs_state = 'stopped' and (power = 'off' or outside <> '' or problem <> '')) as stopped, \
           count(*) filter (where obs_state = 'suspended' and power = 'suspended') as suspended, \
           count(*) filter (where obs_state = 'failed' or (problem <> '' and obs_state = '')) as failed, \
           count(*) filter (where obs_state = 'missing') as missing, \
           count(*) filter (where power <> 'off') as deployed, \
           coalesce(sum(cpus), 0)::bigint as cpus, coalesce(sum(memory_mb), 0)::bigint as memory_mb \
           from vms v where v.vapp_id = t.id and v.deleted_at is null) m",
    count_from: "vapps t left join vdcs d on d.id = t.vdc_id",
    living: "t.gone_at is null",
    sorts: &[sort("name", "lower(t.name)", "text"), sort("created", "t.created_at", "timestamptz")],
    search: &["t.name", "t.description"],
    action: "",
    org: "t.org_id",
    owner: owned_or_shared!("t.owner_id", "t.id"),
};

/// The state of a vApp in VCD's words, by its machines: `wire/status.rs` says the same of one that was read.
macro_rules! status {
    ($is:literal) => {
        concat!(
            "(case when t.deleted_at is not null then 'UNRESOLVED' else (select case when count(*) = 0 and t.empty_on then 'POWERED_ON' when count(*) = 0 then 'RESOLVED' \
             when t.hub_id is null then 'UNRESOLVED' \
             when count(*) filter (where v.obs_state in ('failed', 'missing') or (v.problem <> '' and v.obs_state = '')) > 0 then 'INCONSISTENT_STATE' \
             when count(*) filter (where v.obs_state in ('running', 'migrating') and v.power = 'on') = count(*) then 'POWERED_ON' \
             when count(*) filter (where v.obs_state = 'stopped' and (v.power = 'off' or v.outside <> '' or v.problem <> '')) = count(*) then 'POWERED_OFF' \
             when count(*) filter (where v.obs_state = 'suspended' and v.power = 'suspended') = count(*) then 'SUSPENDED' \
             when count(*) filter (where (v.obs_state in ('running', 'migrating') and v.power = 'on') \
               or (v.obs_state = 'stopped' and (v.power = 'off' or v.outside <> '' or v.problem <> '')) \
               or (v.obs_state = 'suspended' and v.power = 'suspended')) = count(*) then 'MIXED' \
             else 'UNRESOLVED' end from vms v where v.vapp_id = t.id and v.deleted_at is null) end)",
            $is
        )
    };
}

/// What VCD's clients ask by.
const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: "vapps t left join organizations o on o.id = t.org_id left join vdcs d on d.id = t.vdc_id left join users u on u.id = t.owner_id",
    metadata: true,
    fields: &[
        id("id", "t.id"),
        id("href", "t.id"),
        text("name", "t.name"),
        text("description", "t.description"),
        id("vdc", "t.vdc_id"),
        text("vdcName", "d.name"),
        id("vdc.id", "t.vdc_id"),
        id("org", "t.org_id"),
        id("org.id", "t.org_id"),
        text("orgName", "o.name"),
        id("owner", "t.owner_id"),
        text("ownerName", "u.name"),
        bool("isEnabled", "d.enabled"),
        bool("isVdcEnabled", "d.enabled"),
        bool(
            "isDeployed",
            "t.empty_on and not exists (select from vms v where v.vapp_id = t.id and v.deleted_at is null) \
             or exists (select from vms v where v.vapp_id = t.id and v.deleted_at is null and v.power <> 'off')",
        ),
        bool("isBusy", status!(" = 'UNRESOLVED'")),
        bool("isExpired", "exists (select from leases x where x.object_id = t.id and x.expired_at is not null)"),
        bool("isInMaintenanceMode", "false"),
        number("numberOfVMs", "(select count(*) from vms v where v.vapp_id = t.id and v.deleted_at is null)"),
        number(
            "numberOfCpus",
            "(select coalesce(sum(v.cpus), 0) from vms v where v.vapp_id = t.id and v.deleted_at is null)",
        ),
        number(
            "memoryAllocationMB",
            "(select coalesce(sum(v.memory_mb), 0) from vms v where v.vapp_id = t.id and v.deleted_at is null)",
        ),
        number(
            "storageKB",
            "(select coalesce(sum(k.size_mb), 0) * 1024 from disks k join vms v on v.id = k.vm_id where v.vapp_id = t.id and k.gone_at is null)",
        ),
        time("creationDate", "t.created_at"),
        time("dateCreated", "t.created_at"),
        words(
            "status",
            status!(""),
            &[
                ("RESOLVED", status!(" = 'RESOLVED'")),
                ("UNRESOLVED", status!(" = 'UNRESOLVED'")),
                ("POWERED_ON", status!(" = 'POWERED_ON'")),
                ("POWERED_OFF", status!(" = 'POWERED_OFF'")),
                ("SUSPENDED", status!(" = 'SUSPENDED'")),
                ("MIXED", status!(" = 'MIXED'")),
                ("INCONSISTENT_STATE", status!(" = 'INCONSISTENT_STATE'")),
            ],
        ),
    ],
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    org_id: Uuid,
    org_name: String,
    vdc_id: Uuid,
    vdc_name: String,
    vdc_enabled: bool,
    owner_id: Option<Uuid>,
    owner_name: String,
    stranded: bool,
    shares: Json<Vec<GrantJson>>,
    copying: String,
    template_id: Option<Uuid>,
    name: String,
    description: String,
    hub_id: Option<String>,
    hub_answers: Option<bool>,
    placement: Option<Json<Placement>>,
    instance_of: Option<String>,
    version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    updated_by: String,
    deleted: bool,
    vms: i64,
    running: i64,
    seen_running: i64,
    stopped: i64,
    suspended: i64,
    failed: i64,
    missing: i64,
    deployed: i64,
    cpus: i64,
    memory_mb: i64,
    #[sqlx(flatten)]
    lease: LeaseRow,
    auto: bool,
    empty_on: bool,
}

fn read(r: Row) -> Result<Vapp> {
    let known = r.running + r.stopped + r.suspended + r.failed + r.missing;
    Ok(Vapp {
        id: VappId(r.id),
        org: OrgId(r.org_id),
        org_name: r.org_name,
        vdc: VdcId(r.vdc_id),
        vdc_name: r.vdc_name,
        vdc_enabled: r.vdc_enabled,
        owner: r.owner_id.map(UserId),
        owner_name: r.owner_name,
        stranded: r.stranded,
        shares: r.shares.0.into_iter().map(GrantJson::read).collect(),
        template: r.template_id.map(TemplateId),
        name: r.name,
        description: r.description,
        hub: r.hub_id.map(HubId),
        hub_answers: r.hub_answers,
        placement: r.placement.map(|p| p.0),
        instance_of: r.instance_of,
        copying: r.copying.get(1..).unwrap_or_default().to_owned(),
        copying_within: r.copying.starts_with('='),
        auto: r.auto,
        empty_on: r.empty_on,
        vms: VmCounts {
            all: r.vms,
            running: r.running,
            seen_running: r.seen_running,
            stopped: r.stopped,
            suspended: r.suspended,
            failed: r.failed,
            missing: r.missing,
            deployed: r.deployed,
            changing: (r.vms - known).max(0),
        },
        cpus: r.cpus,
        memory_mb: r.memory_mb,
        lease: r.lease.into(),
        deleted: r.deleted,
        version: r.version,
        created_at: r.created_at,
        updated_at: r.updated_at,
        updated_by: r.updated_by,
    })
}

fn filter(b: &mut Build<'_>, key: &str, value: &str) {
    match key {
        "vdc" => {
            b.push(" and lower(d.name) = lower(").push_bind(value.to_owned()).push(")");
        }
        "hub" => {
            b.push(" and t.hub_id = ").push_bind(value.to_owned());
        }
        "tag" => filter_tag_inside(b, value),
        "metadata" => filter_metadata(b, value),
        _ => {}
    }
}

async fn find(db: impl PgExecutor<'_>, id: VappId) -> Result<Option<Vapp>> {
    let mut b = SQL.one();
    b.push("t.id = ").push_bind(id.0);
    b.build_query_as().fetch_optional(db).await.map_err(mapped)?.map(read).transpose()
}

fn resource(actor: &Actor) -> impl Fn(&Vapp) -> Resource {
    move |vapp| vapp.resource(actor)
}

/// A vApp about to be written.
pub struct NewVapp<'a> {
    pub id: VappId,
    pub org: OrgId,
    pub vdc: VdcId,
    /// None: the provider made it.
    pub owner: Option<UserId>,
    pub template: Option<TemplateId>,
    pub name: &'a str,
    pub description: &'a str,
    /// Made through a TemplateInstance: the template's source and its sealed parameters.
    pub instance_of: Option<&'a str>,
    pub parameters: Option<&'a [u8]>,
    /// It comes with a VM of its own, and goes with it.
    pub auto: bool,
}

impl Store {
    pub async fn vapp(&self, actor: &Actor, action: Action, id: VappId) -> Result<Authorized<Vapp>> {
        Authorized::check(actor, action, find(&self.pool, id).await?, resource(actor))
    }

    pub async fn vapps(&self, scope: Scope, q: &ListQuery) -> Result<Page<Vapp>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    pub async fn vapps_query(&self, scope: Scope, q: &Numbered) -> Result<Found<Vapp>> {
        self.numbered(&QUERY, scope, q, read).await
    }

    /// Those of a VDC.
    pub async fn vapp_names(&self, scope: Scope, vdc: VdcId) -> Result<Vec<(VappId, String)>> {
        let of = |b: &mut Build<'_>| {
            b.push(" and t.vdc_id = ").push_bind(vdc.0);
        };
        Ok(self.named(&SQL, scope, of).await?.into_iter().map(|(id, name)| (VappId(id), name)).collect())
    }

    /// How much storage each of them has, in MB.
    pub async fn storage_of_vapps(&self, ids: &[VappId]) -> Result<Vec<(VappId, i64)>> {
        let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
        let rows = sqlx::query!(
            r#"select v.vapp_id, sum(k.size_mb)::bigint as "mb!" from disks k join vms v on v.id = k.vm_id
               where v.vapp_id = any($1) and v.gone_at is null and k.gone_at is null group by v.vapp_id"#,
            &ids
        );
        let rows = rows.fetch_all(&self.pool).await.map_err(mapped)?;
        Ok(rows.into_iter().map(|r| (VappId(r.vapp_id), r.mb)).collect())
    }

    /// The product sections of a vApp, sealed.
    pub async fn vapp_properties(&self, vapp: &Authorized<Vapp>) -> Result<Option<Vec<u8>>> {
        sqlx::query_scalar!("select properties from vapps where id = $1", vapp.id.0)
            .fetch_one(&self.pool)
            .await
            .map_err(mapped)
    }
}

impl Write<'_> {
    pub async fn vapp(&mut self, action: Action, id: VappId) -> Result<Authorized<Vapp>> {
        sqlx::query!("select id from vapps where id = $1 for update", id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let found = find(&mut *self.tx, id).await?;
        Authorized::check(self.actor, action, found, resource(self.actor))
    }

    pub async fn vapp_insert(&mut self, v: &NewVapp<'_>) -> Result<()> {
        sqlx::query!(
            "insert into vapps (id, org_id, vdc_id, owner_id, template_id, name, description, instance_of, parameters, updated_by)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            v.id.0,
            v.org.0,
            v.vdc.0,
            v.owner.map(|u| u.0),
            v.template.map(|t| t.0),
            v.name,
            v.description,
            v.instance_of,
            v.parameters,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        if v.auto {
            sqlx::query!("update vapps set auto = true where id = $1", v.id.0)
                .execute(&mut *self.tx)
                .await
                .map_err(mapped)?;
        }
        self.lease_of_new_vapp(v.id, v.org).await
    }

    /// One without machines is on, or not.
    pub async fn vapp_empty_on(&mut self, vapp: &Authorized<Vapp>, on: bool) -> Result<()> {
        sqlx::query!(
            "update vapps set empty_on = $2, version = version + 1, updated_at = now() where id = $1",
            vapp.id.0,
            on
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Its product sections, sealed.
    pub async fn vapp_set_properties(&mut self, vapp: &Authorized<Vapp>, sealed: &[u8]) -> Result<()> {
        sqlx::query!(
            "update vapps set properties = $2, version = version + 1, updated_at = now(), updated_by = $3 where id = $1",
            vapp.id.0,
            sealed,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn vapp_rename(&mut self, vapp: &Authorized<Vapp>, name: &str, description: &str) -> Result<()> {
        sqlx::query!(
            "update vapps set name = $2, description = $3, version = version + 1, updated_at = now(), updated_by = $4 where id = $1",
            vapp.id.0,
            name,
            description,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        if vapp.name != name {
            self.vapp_renamed(vapp.id).await?;
        }
        Ok(())
    }

    /// The tombstone; it stays until its machines are proven to be gone.
    pub async fn vapp_delete(&mut self, vapp: &Authorized<Vapp>) -> Result<()> {
        sqlx::query!(
            "update vapps set deleted_at = coalesce(deleted_at, now()), version = version + 1, updated_at = now(), updated_by = $2 where id = $1",
            vapp.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        self.lease_over(vapp.id.0).await
    }
}
