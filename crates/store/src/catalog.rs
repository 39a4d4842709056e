//! Catalogs, and the templates that stand in them.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    list::{Build, ListSql, sort},
    query::{QuerySql, bool, id, number, text, time, words},
    share::{GrantJson, owned_or_shared, shares_column},
};
use model::{
    Action, Actor, CatalogId, OrgId, Result, UserId,
    catalog::{Catalog, CatalogSpec},
    decide::{Resource, Scope},
    list::{ListQuery, Page},
    query::{Found, Numbered},
};
use sqlx::{FromRow, PgExecutor, types::Json};
use time::OffsetDateTime;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: concat!(
        shares_column!("t.id"),
        ", t.owner_id, u.id is not null and (u.deleted_at is not null or not u.enabled) as stranded, \
        t.id, t.org_id, o.name as org_name, coalesce(u.name, '') as owner_name, t.name, t.description, t.shared_to_all, t.from_hubs, \
        array(select s.org_id from catalog_shares s where s.catalog_id = t.id order by 1) as shared_to, \
        (select count(*) from templates i where i.catalog_id = t.id and i.deleted_at is null) as templates, \
        (select count(*) from templates i where i.catalog_id = t.id and i.kind = 'media' and i.deleted_at is null) as media, \
        t.contents, t.version, t.created_at, t.updated_at, t.updated_by"
    ),
    from: "catalogs t join organizations o on o.id = t.org_id left join users u on u.id = t.owner_id",
    count_from: "catalogs t",
    living: "t.deleted_at is null",
    sorts: &[sort("name", "lower(t.name)", "text"), sort("created", "t.created_at", "timestamptz")],
    search: &["t.name", "t.description"],
    action: "",
    // what is shared to an organization belongs to its list
    org: "t.org_id = {} or t.shared_to_all or exists (select from catalog_shares s where s.catalog_id = t.id and s.org_id = {})",
    // what the provider shares to an organization is for everybody of it
    owner: concat!("t.org_id <> {org} or ", owned_or_shared!("t.owner_id", "t.id")),
};

/// What VCD's clients ask by.
const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: "catalogs t left join organizations o on o.id = t.org_id left join users u on u.id = t.owner_id",
    metadata: true,
    fields: &[
        id("id", "t.id"),
        id("href", "t.id"),
        text("name", "t.name"),
        text("description", "t.description"),
        id("org", "t.org_id"),
        id("org.id", "t.org_id"),
        text("orgName", "o.name"),
        id("owner", "t.owner_id"),
        id("owner.id", "t.owner_id"),
        text("ownerName", "u.name"),
        bool("isPublished", "t.shared_to_all or exists (select from catalog_shares s where s.catalog_id = t.id)"),
        bool("isShared", "exists (select from shares s where s.object_id = t.id)"),
        bool("isLocal", "true"),
        bool("isSubscribed", "false"),
        number(
            "numberOfVAppTemplates",
            "(select count(*) from templates i where i.catalog_id = t.id and i.kind = 'template' and i.deleted_at is null)",
        ),
        number(
            "numberOfMedia",
            "(select count(*) from templates i where i.catalog_id = t.id and i.kind = 'media' and i.deleted_at is null)",
        ),
        number("version", "t.contents"),
        time("creationDate", "t.created_at"),
        words("status", "'READY'", &[("READY", "true")]),
    ],
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    org_id: Uuid,
    org_name: String,
    owner_id: Option<Uuid>,
    owner_name: String,
    stranded: bool,
    shares: Json<Vec<GrantJson>>,
    name: String,
    description: String,
    shared_to_all: bool,
    from_hubs: bool,
    shared_to: Vec<Uuid>,
    templates: i64,
    media: i64,
    contents: i64,
    version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    updated_by: String,
}

fn read(r: Row) -> Result<Catalog> {
    Ok(Catalog {
        id: CatalogId(r.id),
        org: OrgId(r.org_id),
        org_name: r.org_name,
        owner: r.owner_id.map(UserId),
        owner_name: r.owner_name,
        stranded: r.stranded,
        shares: r.shares.0.into_iter().map(GrantJson::read).collect(),
        name: r.name,
        description: r.description,
        shared_to_all: r.shared_to_all,
        shared_to: r.shared_to.into_iter().map(OrgId).collect(),
        from_hubs: r.from_hubs,
        templates: r.templates,
        media: r.media,
        contents: r.contents,
        version: r.version,
        created_at: r.created_at,
        updated_at: r.updated_at,
        updated_by: r.updated_by,
    })
}

fn filter(_: &mut Build<'_>, _: &str, _: &str) {}

async fn find(db: impl PgExecutor<'_>, id: CatalogId) -> Result<Option<Catalog>> {
    let mut b = SQL.one();
    b.push("t.id = ").push_bind(id.0);
    b.build_query_as().fetch_optional(db).await.map_err(mapped)?.map(read).transpose()
}

fn resource(actor: &Actor, action: Action) -> impl Fn(&Catalog) -> Resource {
    move |c| c.resource(actor, action)
}

impl Store {
    pub async fn catalog(&self, actor: &Actor, action: Action, id: CatalogId) -> Result<Authorized<Catalog>> {
        Authorized::check(actor, action, find(&self.pool, id).await?, resource(actor, action))
    }

    pub async fn catalogs(&self, scope: Scope, q: &ListQuery) -> Result<Page<Catalog>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    /// An organization's own.
    pub async fn catalog_names(&self, scope: Scope, org: OrgId) -> Result<Vec<(CatalogId, String)>> {
        let of = |b: &mut Build<'_>| {
            b.push(" and t.org_id = ").push_bind(org.0);
        };
        Ok(self.named(&SQL, scope, of).await?.into_iter().map(|(id, name)| (CatalogId(id), name)).collect())
    }

    pub async fn catalogs_query(&self, scope: Scope, q: &Numbered) -> Result<Found<Catalog>> {
        self.numbered(&QUERY, scope, q, read).await
    }
}

impl Write<'_> {
    pub async fn catalog(&mut self, action: Action, id: CatalogId) -> Result<Authorized<Catalog>> {
        sqlx::query!("select id from catalogs where id = $1 for update", id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let found = find(&mut *self.tx, id).await?;
        Authorized::check(self.actor, action, found, resource(self.actor, action))
    }

    pub async fn catalog_insert(&mut self, id: CatalogId, org: OrgId, s: &CatalogSpec) -> Result<()> {
        sqlx::query!(
            "insert into catalogs (id, org_id, owner_id, name, description, shared_to_all, from_hubs, updated_by)
             values ($1, $2, $3, $4, $5, $6, $7, $8)",
            id.0,
            org.0,
            self.actor.user.map(|u| u.0),
            s.name,
            s.description,
            s.shared_to_all,
            s.from_hubs,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        if s.open {
            sqlx::query!("insert into shares (object_id, org_id, access) values ($1, $2, 'ReadOnly')", id.0, org.0)
                .execute(&mut *self.tx)
                .await
                .map_err(mapped)?;
        }
        self.catalog_set_shares(id, &s.shared_to).await
    }

    pub async fn catalog_update(&mut self, catalog: &Authorized<Catalog>, s: &CatalogSpec) -> Result<()> {
        sqlx::query!(
            "update catalogs set name = $2, description = $3, shared_to_all = $4, from_hubs = $5, version = version + 1,
                    updated_at = now(), updated_by = $6 where id = $1",
            catalog.id.0,
            s.name,
            s.description,
            s.shared_to_all,
            s.from_hubs,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        self.catalog_set_shares(catalog.id, &s.shared_to).await
    }

    async fn catalog_set_shares(&mut self, id: CatalogId, orgs: &[OrgId]) -> Result<()> {
        let orgs: Vec<Uuid> = orgs.iter().map(|o| o.0).collect();
        sqlx::query!("delete from catalog_shares where catalog_id = $1 and org_id <> all($2)", id.0, &orgs)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!(
            "insert into catalog_shares (catalog_id, org_id) select $1, id from organizations where id = any($2) and deleted_at is null
             on conflict do nothing",
            id.0,
            &orgs
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn catalog_delete(&mut self, catalog: &Authorized<Catalog>) -> Result<()> {
        sqlx::query!(
            "update templates set deleted_at = now() where catalog_id = $1 and deleted_at is null",
            catalog.id.0
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!(
            "update catalogs set deleted_at = now(), version = version + 1, updated_at = now(), updated_by = $2 where id = $1",
            catalog.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}
