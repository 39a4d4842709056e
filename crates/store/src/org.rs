//! Organizations.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    list::{Build, ListSql, sort},
    query::{QuerySql, bool, id, number, text, time},
    quota::FULLNESS,
    vm::RUNNING,
};
use model::{
    Action, Actor, Error, HubId, Kind, OrgId, Result,
    decide::{Resource, Scope},
    lease::{KeepEnd, RunEnd},
    list::{ListQuery, Page},
    org::{Leases, Org, OrgBesides, OrgContents, OrgSpec},
    query::{Found, Numbered},
    quota::{Amount, Limits},
};
use sqlx::{FromRow, PgExecutor, types::Json};
use std::collections::HashMap;
use time::OffsetDateTime;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: "t.*, (select count(*) from vdcs v where v.org_id = t.id and v.deleted_at is null) as vdcs, \
              (select count(*) from users u where u.org_id = t.id and u.deleted_at is null) as users, \
              (select count(*) from catalogs c where c.org_id = t.id and c.deleted_at is null) as catalogs, \
              array(select w.hub_id from org_hubs w where w.org_id = t.id and w.wish = 'prefer' order by 1) as prefer, \
              array(select w.hub_id from org_hubs w where w.org_id = t.id and w.wish = 'avoid' order by 1) as avoid",
    from: "organizations t",
    count_from: "organizations t",
    living: "t.deleted_at is null",
    sorts: &[sort("name", "lower(t.name)", "text"), sort("created", "t.created_at", "timestamptz")],
    search: &["t.name", "t.display_name", "t.description"],
    action: "",
    org: "t.id",
    owner: "t.id",
};

/// What VCD's clients ask by.
const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: "organizations t",
    metadata: true,
    fields: &[
        id("id", "t.id"),
        id("href", "t.id"),
        text("name", "t.name"),
        text("displayName", "t.display_name"),
        text("description", "t.description"),
        bool("isEnabled", "t.enabled"),
        bool("enabled", "t.enabled"),
        bool("isReadOnly", "t.is_provider"),
        bool("canPublish", "t.is_provider or coalesce((t.besides ->> 'publishes')::boolean, false)"),
        bool("canPublishCatalogs", "t.is_provider or coalesce((t.besides ->> 'publishes')::boolean, false)"),
        number("numberOfVdcs", "(select count(*) from vdcs v where v.org_id = t.id and v.deleted_at is null)"),
        number("orgVdcCount", "(select count(*) from vdcs v where v.org_id = t.id and v.deleted_at is null)"),
        number("numberOfCatalogs", "(select count(*) from catalogs c where c.org_id = t.id and c.deleted_at is null)"),
        number("catalogCount", "(select count(*) from catalogs c where c.org_id = t.id and c.deleted_at is null)"),
        number("userCount", "(select count(*) from users u where u.org_id = t.id and u.deleted_at is null)"),
        time("creationDate", "t.created_at"),
    ],
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    name: String,
    display_name: String,
    description: String,
    enabled: bool,
    is_provider: bool,
    vdc_limit: Option<i64>,
    vm_limit: Option<i64>,
    cpu_limit: Option<i64>,
    memory_limit_mb: Option<i64>,
    storage_limit_mb: Option<i64>,
    vms_used: i64,
    cpus_used: i64,
    memory_used_mb: i64,
    storage_used_mb: i64,
    runtime_lease_s: Option<i64>,
    storage_lease_s: Option<i64>,
    runtime_lease_end: String,
    storage_lease_end: String,
    template_lease_s: Option<i64>,
    template_lease_end: String,
    lease_warning_s: Option<i64>,
    besides: Json<OrgBesides>,
    vdcs: i64,
    users: i64,
    catalogs: i64,
    prefer: Vec<String>,
    avoid: Vec<String>,
    version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    updated_by: String,
}

fn read(r: Row) -> Result<Org> {
    Ok(Org {
        id: OrgId(r.id),
        name: r.name,
        display_name: r.display_name,
        description: r.description,
        enabled: r.enabled,
        is_provider: r.is_provider,
        vdc_limit: r.vdc_limit,
        limits: Limits {
            vms: r.vm_limit,
            cpus: r.cpu_limit,
            memory_mb: r.memory_limit_mb,
            storage_mb: r.storage_limit_mb,
        },
        used: Amount { vms: r.vms_used, cpus: r.cpus_used, memory_mb: r.memory_used_mb, storage_mb: r.storage_used_mb },
        leases: Leases {
            runtime_s: r.runtime_lease_s,
            runtime_end: RunEnd::parse(&r.runtime_lease_end),
            storage_s: r.storage_lease_s,
            storage_end: KeepEnd::parse(&r.storage_lease_end),
            template_s: r.template_lease_s,
            template_end: KeepEnd::parse(&r.template_lease_end),
            warning_s: r.lease_warning_s,
        },
        besides: r.besides.0,
        prefer: r.prefer.into_iter().map(HubId).collect(),
        avoid: r.avoid.into_iter().map(HubId).collect(),
        vdcs: r.vdcs,
        users: r.users,
        catalogs: r.catalogs,
        version: r.version,
        created_at: r.created_at,
        updated_at: r.updated_at,
        updated_by: r.updated_by,
    })
}

fn filter(b: &mut Build<'_>, key: &str, value: &str) {
    if key == "enabled" {
        b.push(" and t.enabled = ").push_bind(value == "true");
    }
}

/// By id, or by name in any case.
enum Which<'a> {
    Id(OrgId),
    Name(&'a str),
}

async fn find(db: impl PgExecutor<'_>, which: Which<'_>) -> Result<Option<Org>> {
    let mut b = SQL.one();
    match which {
        Which::Id(id) => b.push("t.id = ").push_bind(id.0),
        Which::Name(name) => b.push("lower(t.name) = lower(").push_bind(name.to_owned()).push(")"),
    };
    b.build_query_as().fetch_optional(db).await.map_err(mapped)?.map(read).transpose()
}

fn resource(org: &Org) -> Resource {
    Resource::Of(org.id)
}

impl Store {
    /// All living ones, to tell their pages that something changed.
    pub async fn org_ids(&self) -> Result<Vec<OrgId>> {
        let ids = sqlx::query_scalar!("select id from organizations where deleted_at is null")
            .fetch_all(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(ids.into_iter().map(OrgId).collect())
    }

    pub async fn org(&self, actor: &Actor, action: Action, id: OrgId) -> Result<Authorized<Org>> {
        Authorized::check(actor, action, find(&self.pool, Which::Id(id)).await?, resource)
    }

    pub async fn org_by_name(&self, actor: &Actor, action: Action, name: &str) -> Result<Authorized<Org>> {
        Authorized::check(actor, action, find(&self.pool, Which::Name(name)).await?, resource)
    }

    pub async fn orgs(&self, scope: Scope, q: &ListQuery) -> Result<Page<Org>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    pub async fn orgs_query(&self, scope: Scope, q: &Numbered) -> Result<Found<Org>> {
        self.numbered(&QUERY, scope, q, read).await
    }

    /// Those that have used nine tenths or more of some limit, the fullest first.
    /// What is in each of them, in numbers.
    pub async fn org_contents(&self, ids: &[OrgId]) -> Result<HashMap<OrgId, OrgContents>> {
        let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
        let mut b = Build::new(format!(
            "select x.id, (select count(*) from vapps t where t.org_id = x.id and t.gone_at is null), \
             (select count(*) from vms t where t.org_id = x.id and t.gone_at is null{RUNNING}), \
             (select count(*) from disks t where t.org_id = x.id and t.independent and t.gone_at is null) from unnest("
        ));
        b.push_bind(ids).push(") x (id)");
        let rows: Vec<(Uuid, i64, i64, i64)> = b.build_query_as().fetch_all(&self.pool).await.map_err(mapped)?;
        let read = |(id, vapps, running_vms, disks)| (OrgId(id), OrgContents { vapps, running_vms, disks });
        Ok(rows.into_iter().map(read).collect())
    }

    pub async fn full_orgs(&self, limit: u32) -> Result<Vec<Org>> {
        let more = |b: &mut Build<'_>| {
            b.push(format_args!(" and {FULLNESS} >= 0.9 order by {FULLNESS} desc, t.name, t.id limit {limit}"));
        };
        self.few(&SQL, Scope::All, more, read).await
    }

    pub async fn newest_orgs(&self, limit: u32) -> Result<Vec<Org>> {
        let more = |b: &mut Build<'_>| {
            b.push(format_args!(" and not t.is_provider order by t.created_at desc, t.id desc limit {limit}"));
        };
        self.few(&SQL, Scope::All, more, read).await
    }

    /// Ids and names for the provider's organization switch, at most `limit`.
    pub async fn org_names(&self, limit: i64) -> Result<Vec<(OrgId, String)>> {
        let rows = sqlx::query!(
            "select id, name from organizations where deleted_at is null and not is_provider order by name, id limit $1",
            limit
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(rows.into_iter().map(|r| (OrgId(r.id), r.name)).collect())
    }

    /// The names of those among `ids` that are living tenants.
    pub async fn tenant_names(&self, ids: &[OrgId]) -> Result<Vec<(OrgId, String)>> {
        let ids: Vec<Uuid> = ids.iter().map(|o| o.0).collect();
        let rows = sqlx::query!(
            "select id, name from organizations where id = any($1) and deleted_at is null and not is_provider order by name, id",
            &ids
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(rows.into_iter().map(|r| (OrgId(r.id), r.name)).collect())
    }

    /// The organization of an address, as far as somebody who is in it (or the provider) may know it.
    pub async fn org_place(&self, actor: &Actor, name: &str) -> Result<(OrgId, String, String)> {
        if name.eq_ignore_ascii_case(&actor.org_name) {
            return Ok((actor.org, actor.org_name.clone(), actor.org_display_name.clone()));
        }
        let found = sqlx::query!(
            "select id, name, display_name from organizations where lower(name) = lower($1) and deleted_at is null",
            name
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(mapped)?;
        match found {
            Some(o) if actor.provider => Ok((OrgId(o.id), o.name, o.display_name)),
            _ => Err(model::Error::NotFound(Kind::Org)),
        }
    }

    /// The provider's organization; None before the first start made it.
    pub async fn provider_org(&self) -> Result<Option<(OrgId, String)>> {
        let found = sqlx::query!("select id, name from organizations where is_provider and deleted_at is null")
            .fetch_optional(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(found.map(|o| (OrgId(o.id), o.name)))
    }

    /// Makes the provider's organization if there is none. Safe to call from several replicas at once.
    pub async fn ensure_provider_org(&self, name: &str) -> Result<(OrgId, String)> {
        sqlx::query!(
            "insert into organizations (id, name, display_name, description, is_provider)
             values ($1, $2, $2, 'The provider''s own organization', true) on conflict do nothing",
            Uuid::now_v7(),
            name
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        self.provider_org().await?.ok_or_else(|| model::Error::Internal("no provider organization".into()))
    }
}

impl Write<'_> {
    /// Looks an organization up and holds it until the transaction ends.
    pub async fn org(&mut self, action: Action, id: OrgId) -> Result<Authorized<Org>> {
        // before it is read: a query that waits for the lock would still count VDCs as they were when it began
        sqlx::query!("select 1 as one from organizations where id = $1 for update", id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        self.org_seen(action, id).await
    }

    /// Looks an organization up without holding it.
    pub async fn org_seen(&mut self, action: Action, id: OrgId) -> Result<Authorized<Org>> {
        let found = find(&mut *self.tx, Which::Id(id)).await?;
        Authorized::check(self.actor, action, found, resource)
    }

    /// What an organization says of leases, for those who work on its things.
    pub async fn org_leases(&mut self, id: OrgId) -> Result<Leases> {
        let found = find(&mut *self.tx, Which::Id(id)).await?;
        found.map(|o| o.leases).ok_or(Error::NotFound(Kind::Org))
    }

    pub async fn org_insert(&mut self, id: OrgId, s: &OrgSpec) -> Result<()> {
        sqlx::query!(
            "insert into organizations (id, name, display_name, description, vdc_limit, vm_limit, cpu_limit, memory_limit_mb,
                                        storage_limit_mb, runtime_lease_s, storage_lease_s, updated_by, runtime_lease_end,
                                        storage_lease_end, template_lease_s, template_lease_end, lease_warning_s)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
            id.0,
            s.name,
            s.display_name,
            s.description,
            s.vdc_limit,
            s.limits.vms,
            s.limits.cpus,
            s.limits.memory_mb,
            s.limits.storage_mb,
            s.leases.runtime_s,
            s.leases.storage_s,
            self.actor.name,
            s.leases.runtime_end.key(),
            s.leases.storage_end.key(),
            s.leases.template_s,
            s.leases.template_end.key(),
            s.leases.warning_s,
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        self.org_set_hubs(id, s).await
    }

    async fn org_set_hubs(&mut self, id: OrgId, s: &OrgSpec) -> Result<()> {
        let words = |hubs: &[HubId]| hubs.iter().map(|h| h.0.clone()).collect::<Vec<_>>();
        sqlx::query!("delete from org_hubs where org_id = $1", id.0).execute(&mut *self.tx).await.map_err(mapped)?;
        sqlx::query!(
            "insert into org_hubs (org_id, hub_id, wish)
             select $1, id, case when id = any($2) then 'prefer' else 'avoid' end from hubs where id = any($2) or id = any($3)",
            id.0,
            &words(&s.prefer),
            &words(&s.avoid)
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn org_update(&mut self, org: &Authorized<Org>, s: &OrgSpec) -> Result<()> {
        sqlx::query!(
            "update organizations set name = $2, display_name = $3, description = $4, vdc_limit = $5, vm_limit = $6, cpu_limit = $7,
                    memory_limit_mb = $8, storage_limit_mb = $9, runtime_lease_s = $10, storage_lease_s = $11,
                    version = version + 1, updated_at = now(), updated_by = $12, runtime_lease_end = $13, storage_lease_end = $14,
                    template_lease_s = $15, template_lease_end = $16, lease_warning_s = $17
             where id = $1",
            org.id.0,
            s.name,
            s.display_name,
            s.description,
            s.vdc_limit,
            s.limits.vms,
            s.limits.cpus,
            s.limits.memory_mb,
            s.limits.storage_mb,
            s.leases.runtime_s,
            s.leases.storage_s,
            self.actor.name,
            s.leases.runtime_end.key(),
            s.leases.storage_end.key(),
            s.leases.template_s,
            s.leases.template_end.key(),
            s.leases.warning_s,
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        self.org_set_hubs(org.id, s).await
    }

    pub async fn org_set_enabled(&mut self, org: &Authorized<Org>, enabled: bool) -> Result<()> {
        sqlx::query!(
            "update organizations set enabled = $2, version = version + 1, updated_at = now(), updated_by = $3 where id = $1",
            org.id.0,
            enabled,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// What a client set besides: kept, and told to nobody.
    pub async fn org_keep(&mut self, org: &Authorized<Org>, besides: &OrgBesides) -> Result<()> {
        sqlx::query!(
            "update organizations set besides = $2, version = version + 1, updated_at = now(), updated_by = $3 where id = $1",
            org.id.0,
            Json(besides) as _,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// A tombstone for the organization, its users and its roles; their sessions end.
    pub async fn org_delete(&mut self, org: &Authorized<Org>) -> Result<()> {
        let id = org.id.0;
        sqlx::query!("delete from sessions where user_id in (select id from users where org_id = $1)", id)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!("delete from identity_providers where org_id = $1", id)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!("update users set deleted_at = now(), version = version + 1, updated_by = $2 where org_id = $1 and deleted_at is null", id, self.actor.name)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!("update roles set deleted_at = now(), version = version + 1, updated_by = $2 where org_id = $1 and deleted_at is null", id, self.actor.name)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!(
            "update organizations set deleted_at = now(), version = version + 1, updated_at = now(), updated_by = $2 where id = $1",
            id,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}
