//! Templates: those in catalogs, and what hubs have, from which catalogs are filled.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    list::{Build, ListSql, sort},
    query::{QuerySql, bool, id, id_among, number, text, text_among, time, words},
    share::{GrantJson, owned_or_shared, shares_column},
};
use model::{
    Action, Actor, CatalogId, HubId, OrgId, Result, TemplateId, UserId,
    decide::Scope,
    list::{ListQuery, Page},
    parameter::Parameter,
    query::{Found, Numbered},
    template::{ItemKind, Template, TemplateSpec, TemplateVm},
};
use sha2::{Digest, Sha256};
use sqlx::{FromRow, PgExecutor, types::Json};
use time::OffsetDateTime;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: concat!(
        shares_column!("c.id"),
        ", c.owner_id as catalog_owner, coalesce(u.name, '') as catalog_owner_name, \
        (select v.size from item_versions v where v.template_id = t.id and v.deleted_at is null and v.ready_at is not null \
         order by v.number desc limit 1) as size, t.id, t.catalog_id, c.name as catalog_name, t.org_id, o.name as org_name, t.kind, t.uploaded_by, t.name, t.title, t.description, t.source, t.by_instance, \
        t.os, t.icon, t.deprecated, t.obstacle, t.vms, t.parameters, array(select h.hub_id from hub_templates h where h.source = t.source order by 1) as hubs, \
        (select max(b.seen_at) from hub_templates h join hubs b on b.id = h.hub_id where h.source = t.source \
         having bool_and(b.state = 'unreachable')) as as_of, \
        c.shared_to_all, array(select s.org_id from catalog_shares s where s.catalog_id = c.id) as shared_to, \
        exists (select from leases l where l.object_id = t.id and l.expired_at is not null) as expired, \
        array(select case when v.org_id = t.org_id then v.name else 'a VM of another organization' end from vms v \
         where v.id in (select k.vm_id from disks k where k.media_id = t.id and k.gone_at is null) order by 1) as used_by, t.customize, \
        t.version, t.created_at, t.updated_at"
    ),
    from: "templates t join catalogs c on c.id = t.catalog_id join organizations o on o.id = t.org_id left join users u on u.id = c.owner_id",
    count_from: "templates t join catalogs c on c.id = t.catalog_id",
    living: "t.deleted_at is null and c.deleted_at is null",
    sorts: &[sort("name", "lower(t.name)", "text"), sort("created", "t.created_at", "timestamptz")],
    search: &["t.name", "t.title", "t.description", "t.os"],
    action: "",
    org: "t.org_id = {} or c.shared_to_all or exists (select from catalog_shares s where s.catalog_id = c.id and s.org_id = {})",
    owner: concat!("c.org_id <> {org} or ", owned_or_shared!("c.owner_id", "c.id")),
};

/// What VCD's clients ask by.
const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: "templates t join catalogs c on c.id = t.catalog_id left join organizations o on o.id = t.org_id left join users u on u.id = c.owner_id",
    metadata: true,
    fields: &[
        id("id", "t.id"),
        id("href", "t.id"),
        id("entity", "t.id"),
        id("catalogItem", "t.id"),
        text("name", "t.name"),
        text("entityName", "t.name"),
        text("description", "t.description"),
        words("entityType", "t.kind", &[("vapptemplate", "t.kind = 'template'"), ("media", "t.kind = 'media'")]),
        id("catalog", "t.catalog_id"),
        id("catalog.id", "t.catalog_id"),
        text("catalogName", "c.name"),
        id("org", "t.org_id"),
        text("orgName", "o.name"),
        id("owner", "c.owner_id"),
        text("ownerName", "u.name"),
        id_among("vdc", "select x.id from vdcs x where x.org_id = t.org_id and x.deleted_at is null"),
        text_among("vdcName", "select x.name from vdcs x where x.org_id = t.org_id and x.deleted_at is null"),
        bool("isPublished", "c.shared_to_all or exists (select from catalog_shares s where s.catalog_id = c.id)"),
        bool("isShared", "exists (select from shares s where s.object_id = c.id)"),
        bool("isExpired", "exists (select from leases l where l.object_id = t.id and l.expired_at is not null)"),
        bool("isIso", "t.kind = 'media'"),
        bool("isVAppTemplate", "t.kind = 'template'"),
        bool("isEnabled", "true"),
        bool("isVdcEnabled", "true"),
        bool("isDeployed", "false"),
        bool("isGoldMaster", "false"),
        bool("isInCatalog", "true"),
        bool(
            "isBusy",
            "not (t.source <> '' or exists (select from item_versions v where v.template_id = t.id and v.deleted_at is null and v.ready_at is not null))",
        ),
        number("numberOfVMs", "jsonb_array_length(t.vms)"),
        number("version", "t.version"),
        time("creationDate", "t.created_at"),
        words(
            "status",
            "t.source <> '' or exists (select from item_versions v where v.template_id = t.id and v.deleted_at is null and v.ready_at is not null)",
            &[
                (
                    "RESOLVED",
                    "t.source <> '' or exists (select from item_versions v where v.template_id = t.id and v.deleted_at is null and v.ready_at is not null)",
                ),
                (
                    "UNRESOLVED",
                    "not (t.source <> '' or exists (select from item_versions v where v.template_id = t.id and v.deleted_at is null and v.ready_at is not null))",
                ),
            ],
        ),
    ],
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    catalog_id: Uuid,
    catalog_name: String,
    org_id: Uuid,
    org_name: String,
    kind: String,
    uploaded_by: String,
    name: String,
    title: String,
    description: String,
    source: String,
    by_instance: bool,
    os: String,
    icon: String,
    deprecated: bool,
    obstacle: String,
    vms: Json<Vec<TemplateVm>>,
    parameters: Json<Vec<Parameter>>,
    hubs: Vec<String>,
    as_of: Option<OffsetDateTime>,
    shared_to_all: bool,
    shared_to: Vec<Uuid>,
    expired: bool,
    used_by: Vec<String>,
    customize: bool,
    catalog_owner: Option<Uuid>,
    catalog_owner_name: String,
    size: Option<i64>,
    shares: Json<Vec<GrantJson>>,
    version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
}

fn read(r: Row) -> Result<Template> {
    Ok(Template {
        id: TemplateId(r.id),
        catalog: CatalogId(r.catalog_id),
        catalog_name: r.catalog_name,
        catalog_owner: r.catalog_owner.map(UserId),
        catalog_owner_name: r.catalog_owner_name,
        size: r.size,
        shares: r.shares.0.into_iter().map(GrantJson::read).collect(),
        seen_by_all: r.shared_to_all,
        seen_by: r.shared_to.into_iter().map(OrgId).collect(),
        org: OrgId(r.org_id),
        org_name: r.org_name,
        kind: ItemKind::parse(&r.kind).unwrap_or_default(),
        uploaded_by: r.uploaded_by,
        name: r.name,
        title: r.title,
        description: r.description,
        source: r.source,
        by_instance: r.by_instance,
        os: r.os,
        icon: r.icon,
        deprecated: r.deprecated,
        obstacle: r.obstacle,
        vms: r.vms.0,
        parameters: r.parameters.0,
        hubs: r.hubs.into_iter().map(HubId).collect(),
        as_of: r.as_of,
        expired: r.expired,
        used_by: r.used_by,
        customize: r.customize,
        version: r.version,
        created_at: r.created_at,
        updated_at: r.updated_at,
    })
}

fn filter(b: &mut Build<'_>, key: &str, value: &str) {
    if key == "catalog" {
        b.push(" and (lower(c.name) = lower(").push_bind(value.to_owned()).push(") or c.id::text = ");
        b.push_bind(value.to_owned()).push(")");
    }
}

async fn find(db: impl PgExecutor<'_>, id: TemplateId) -> Result<Option<Template>> {
    let mut b = SQL.one();
    b.push("t.id = ").push_bind(id.0);
    b.build_query_as().fetch_optional(db).await.map_err(mapped)?.map(read).transpose()
}

/// Those with these ids, for what was looked up before.
pub(crate) async fn find_all(db: impl PgExecutor<'_>, ids: &[Uuid]) -> Result<Vec<Template>> {
    let mut b = SQL.one();
    b.push("t.id = any(").push_bind(ids.to_vec()).push(")");
    let rows: Vec<Row> = b.build_query_as().fetch_all(db).await.map_err(mapped)?;
    rows.into_iter().map(read).collect()
}

impl Write<'_> {
    /// Held: nobody deletes it, and no VM gets it, meanwhile.
    pub async fn template(&mut self, action: Action, id: TemplateId) -> Result<Authorized<Template>> {
        sqlx::query!("select id from templates where id = $1 for update", id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let (found, actor) = (find(&mut *self.tx, id).await?, self.actor);
        Authorized::check(actor, action, found, |t| t.resource(actor, action))
    }
}

impl Store {
    pub async fn template(&self, actor: &Actor, action: Action, id: TemplateId) -> Result<Authorized<Template>> {
        Authorized::check(actor, action, find(&self.pool, id).await?, |t| t.resource(actor, action))
    }

    /// Does that organization see it: as its own, or because it is shared to it?
    pub async fn template_seen_by(&self, id: TemplateId, org: OrgId) -> Result<bool> {
        let mut b =
            Build::new("select exists (select from templates t join catalogs c on c.id = t.catalog_id where t.id = ");
        b.push_bind(id.0).push(format_args!(" and {}", SQL.living));
        SQL.within(&mut b, Scope::Org(org));
        b.push(")");
        b.build_query_scalar().fetch_one(&self.pool).await.map_err(mapped)
    }

    /// Discs that have something on them, by name.
    pub async fn discs(&self, scope: Scope) -> Result<Vec<Template>> {
        let more = |b: &mut Build<'_>| {
            b.push(" and t.kind = 'media' and exists (select from item_versions v where v.template_id = t.id");
            b.push(" and v.deleted_at is null and v.ready_at is not null) order by lower(t.name), t.id limit 200");
        };
        self.few(&SQL, scope, more, read).await
    }

    /// An organization's own of one kind, in all its catalogs.
    pub async fn template_names(&self, scope: Scope, org: OrgId, kind: ItemKind) -> Result<Vec<(TemplateId, String)>> {
        let of = |b: &mut Build<'_>| {
            b.push(" and t.org_id = ").push_bind(org.0).push(" and t.kind = ").push_bind(kind.key());
        };
        Ok(self.named(&SQL, scope, of).await?.into_iter().map(|(id, name)| (TemplateId(id), name)).collect())
    }

    pub async fn templates(&self, scope: Scope, q: &ListQuery) -> Result<Page<Template>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    pub async fn templates_query(&self, scope: Scope, q: &Numbered) -> Result<Found<Template>> {
        self.numbered(&QUERY, scope, q, read).await
    }

    /// What a hub has now, all of it. Catalogs that are filled from hubs follow. True if anything changed.
    pub async fn hub_templates_set(&self, hub: &HubId, found: &[(String, String, TemplateSpec)]) -> Result<bool> {
        let mut tx = self.begin().await?;
        sqlx::query!("select pg_advisory_xact_lock(7357002)").execute(&mut *tx).await.map_err(mapped)?;
        let mut changed = false;
        for (source, uid, spec) in found {
            let json = serde_json::to_value(spec).map_err(|e| model::Error::Internal(format!("template: {e}")))?;
            let hash = hex(&Sha256::digest(json.to_string()));
            let done = sqlx::query!(
                "insert into hub_templates (hub_id, source, uid, hash, spec) values ($1, $2, $3, $4, $5)
                 on conflict (hub_id, source) do update set uid = $3, hash = $4, spec = $5, seen_at = now()
                 where hub_templates.hash <> $4 or hub_templates.uid <> $3",
                hub.0,
                source,
                uid,
                hash,
                json
            )
            .execute(&mut *tx)
            .await
            .map_err(mapped)?;
            changed |= done.rows_affected() > 0;
        }
        let sources: Vec<String> = found.iter().map(|(source, ..)| source.clone()).collect();
        let gone = sqlx::query!("delete from hub_templates where hub_id = $1 and source <> all($2)", hub.0, &sources)
            .execute(&mut *tx)
            .await
            .map_err(mapped)?;
        changed |= gone.rows_affected() > 0;
        tx.commit().await.map_err(mapped)?;
        self.fill_catalogs().await?;
        Ok(changed)
    }

    /// Brings catalogs that are filled from hubs up to date: new templates come in, changed ones change. One that no hub
    /// has any more stays and says so. Where hubs differ about one, the first that lets it be deployed is believed.
    pub async fn fill_catalogs(&self) -> Result<()> {
        let rows = sqlx::query!(
            r#"select c.id as catalog, c.org_id, t.source, t.spec, i.id as "item?" from catalogs c
               cross join (select distinct on (source) source, spec from hub_templates
                           order by source, spec ->> 'deprecated' = 'true', spec ->> 'obstacle' <> '', hub_id) t
               left join templates i on i.catalog_id = c.id and i.source = t.source and i.deleted_at is null
               where c.from_hubs and c.deleted_at is null order by t.source"#
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        for r in rows {
            let Ok(spec) = serde_json::from_value::<TemplateSpec>(r.spec) else { continue };
            let id = r.item.unwrap_or_else(Uuid::now_v7);
            // two namespaces, or two hubs, may name different things alike: the second says where it is from
            let namespace = r.source.split('/').nth(1).unwrap_or_default();
            for name in [spec.name.clone(), format!("{} ({namespace})", spec.name)] {
                let done = sqlx::query!(
                    "insert into templates (id, catalog_id, org_id, name, description, source, by_instance, os, icon, vms, parameters, title, deprecated, obstacle)
                     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14
                     where not exists (select from templates t where t.catalog_id = $2 and t.source = $6 and t.deleted_at is null and t.id <> $1)
                     on conflict (id) do update set name = $4, description = $5, by_instance = $7, os = $8, icon = $9, vms = $10, parameters = $11,
                         title = $12, deprecated = $13, obstacle = $14,
                         version = templates.version + 1, updated_at = now()
                     where (templates.name, templates.description, templates.by_instance, templates.os, templates.icon, templates.vms, templates.parameters,
                            templates.title, templates.deprecated, templates.obstacle)
                       is distinct from ($4, $5, $7, $8, $9, $10::jsonb, $11::jsonb, $12, $13, $14)",
                    id,
                    r.catalog,
                    r.org_id,
                    name,
                    spec.description,
                    r.source,
                    spec.by_instance,
                    spec.os,
                    spec.icon,
                    Json(&spec.vms) as _,
                    Json(&spec.parameters) as _,
                    spec.title,
                    spec.deprecated,
                    spec.obstacle
                )
                .execute(&self.pool)
                .await;
                match done.map_err(mapped) {
                    Ok(_) => break,
                    // or another replica was quicker, whose item is seen by now
                    Err(model::Error::Taken(_)) => {}
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
