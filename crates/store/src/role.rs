//! Roles and their rights.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    list::{Build, ListSql, sort},
    query::{QuerySql, bool, id, id_among, text},
};
use model::{
    Action, Actor, Error, Kind, OrgId, Result, Right, Rights, RoleId,
    decide::{Resource, Scope},
    list::{ListQuery, Page},
    query::{Found, Numbered},
    role::{Predefined, Role, RoleForm},
};
use sqlx::{FromRow, PgExecutor};
use time::OffsetDateTime;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: "t.*, coalesce(o.name, '') as org_name, \
              array(select right_name from role_rights rr where rr.role_id = t.id order by 1) as rights, \
              (select count(*) from users u where u.role_id = t.id and u.deleted_at is null) as users",
    from: "roles t left join organizations o on o.id = t.org_id",
    count_from: "roles t left join organizations o on o.id = t.org_id",
    living: "t.deleted_at is null",
    sorts: &[sort("name", "lower(t.name)", "text"), sort("created", "t.created_at", "timestamptz")],
    search: &["t.name", "t.description"],
    action: "",
    // predefined roles belong to every organization's list
    org: "t.org_id is null and t.for_tenants or t.org_id",
    owner: "t.id",
};

/// The organizations whose users can have it: one, or for predefined roles all that they are for.
const OF_ORGS: &str =
    "select x.id from organizations x where x.id = t.org_id or (t.org_id is null and (t.for_tenants or x.is_provider))";

/// What VCD's clients ask by.
const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: "roles t left join organizations o on o.id = t.org_id",
    metadata: false,
    fields: &[
        id("id", "t.id"),
        id("href", "t.id"),
        text("name", "t.name"),
        text("description", "t.description"),
        id_among("org", OF_ORGS),
        id_among("orgRef.id", OF_ORGS),
        id_among("orgEntityRef.id", OF_ORGS),
        text("orgName", "o.name"),
        bool("isReadOnly", "t.org_id is null"),
        bool("readOnly", "t.org_id is null"),
        text("bundleKey", "'com.vmware.vcloud.undefined.key'"),
    ],
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    org_id: Option<Uuid>,
    org_name: String,
    name: String,
    description: String,
    rights: Vec<String>,
    users: i64,
    version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    updated_by: String,
}

fn read(r: Row) -> Result<Role> {
    Ok(Role {
        id: RoleId(r.id),
        org: r.org_id.map(OrgId),
        org_name: r.org_name,
        name: r.name,
        description: r.description,
        rights: Rights::from_names(r.rights.iter().map(String::as_str)),
        users: r.users,
        version: r.version,
        created_at: r.created_at,
        updated_at: r.updated_at,
        updated_by: r.updated_by,
    })
}

fn filter(b: &mut Build<'_>, key: &str, value: &str) {
    if key == "made" {
        b.push(if value == "own" { " and t.org_id is not null" } else { " and t.org_id is null" });
    }
}

async fn find(db: impl PgExecutor<'_>, id: RoleId, lock: &'static str) -> Result<Option<Role>> {
    let mut b = SQL.one();
    b.push("t.id = ").push_bind(id.0).push(lock);
    b.build_query_as().fetch_optional(db).await.map_err(mapped)?.map(read).transpose()
}

/// The organization that a list is about, if one.
fn place(scope: Scope) -> Option<OrgId> {
    match scope {
        Scope::All => None,
        Scope::Org(org) | Scope::Own(org, ..) => Some(org),
    }
}

/// What only the provider's users can have is nothing to a tenant.
fn shown_to(actor: &Actor) -> impl Fn(&Role) -> bool {
    let provider = actor.provider;
    move |role| provider || !Predefined::of(role.id).is_some_and(Predefined::provider_only)
}

/// Predefined roles are everybody's to see: as if they were the asker's own.
fn resource(actor: &Actor) -> impl Fn(&Role) -> Resource {
    let own = actor.org;
    move |role| Resource::Of(role.org.unwrap_or(own))
}

impl Store {
    /// `place`: the organization it is looked at in, if one.
    pub async fn role(
        &self,
        actor: &Actor,
        action: Action,
        id: RoleId,
        place: Option<OrgId>,
    ) -> Result<Authorized<Role>> {
        let mut found: Vec<Role> = find(&self.pool, id, "").await?.into_iter().filter(shown_to(actor)).collect();
        let place = if actor.provider { place } else { Some(actor.org) };
        self.count_users_in(place, &mut found).await?;
        Authorized::check(actor, action, found.pop(), resource(actor))
    }

    pub async fn roles(&self, scope: Scope, q: &ListQuery) -> Result<Page<Role>> {
        let mut page = self.page(&SQL, scope, q, filter, read).await?;
        self.count_users_in(place(scope), &mut page.items).await?;
        Ok(page)
    }

    pub async fn role_names(&self, scope: Scope) -> Result<Vec<(RoleId, String)>> {
        Ok(self.named(&SQL, scope, |_| {}).await?.into_iter().map(|(id, name)| (RoleId(id), name)).collect())
    }

    pub async fn roles_query(&self, scope: Scope, q: &Numbered) -> Result<Found<Role>> {
        let mut found = self.numbered(&QUERY, scope, q, read).await?;
        self.count_users_in(place(scope), &mut found.items).await?;
        Ok(found)
    }

    /// Predefined roles are everybody's: how many users have them is told for one organization, and for all of them to
    /// the provider only.
    async fn count_users_in(&self, org: Option<OrgId>, roles: &mut [Role]) -> Result<()> {
        let Some(org) = org else { return Ok(()) };
        let shared: Vec<&mut Role> = roles.iter_mut().filter(|r| r.predefined()).collect();
        if shared.is_empty() {
            return Ok(());
        }
        let ids: Vec<Uuid> = shared.iter().map(|r| r.id.0).collect();
        let counts = sqlx::query!(
            r#"select role_id, count(*) as "users!" from users
               where org_id = $1 and role_id = any($2) and deleted_at is null group by role_id"#,
            org.0,
            &ids
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        for role in shared {
            role.users = counts.iter().find(|c| c.role_id == role.id.0).map_or(0, |c| c.users);
        }
        Ok(())
    }

    /// The roles that users of an organization can have: its own and the predefined ones that fit it.
    pub async fn roles_of(&self, org: OrgId, org_is_provider: bool) -> Result<Vec<Role>> {
        let mut b = SQL.one();
        b.push("(t.org_id is null or t.org_id = ")
            .push_bind(org.0)
            .push(") order by t.org_id nulls first, t.created_at, t.name");
        let rows: Vec<Row> = b.build_query_as().fetch_all(&self.pool).await.map_err(mapped)?;
        let fits = |r: &Role| org_is_provider || !Predefined::of(r.id).is_some_and(Predefined::provider_only);
        let roles = rows.into_iter().map(read).collect::<Result<Vec<_>>>()?;
        Ok(roles.into_iter().filter(fits).collect())
    }

    /// Writes the rights and predefined roles of this version of the code into the database.
    pub(crate) async fn sync_predefined_roles(&self) -> Result<()> {
        let mut tx = self.begin().await?;
        // replicas of one version write the same; the lock keeps them from doing it at the same moment
        sqlx::query!("select pg_advisory_xact_lock(7357001)").execute(&mut *tx).await.map_err(mapped)?;
        for right in Right::ALL {
            sqlx::query!(
                "insert into rights (name, category, for_tenants) values ($1, $2, $3)
                 on conflict (name) do update set category = $2, for_tenants = $3",
                right.name(),
                right.category(),
                right.for_tenants()
            )
            .execute(&mut *tx)
            .await
            .map_err(mapped)?;
        }
        for role in Predefined::ALL {
            let id = role.id().0;
            sqlx::query!(
                "insert into roles (id, name, description, for_tenants) values ($1, $2, $3, $4)
                 on conflict (id) do update set name = $2, description = $3, for_tenants = $4",
                id,
                role.name(),
                role.description(),
                !role.provider_only()
            )
            .execute(&mut *tx)
            .await
            .map_err(mapped)?;
            set_rights(&mut tx, role.id(), role.rights()).await?;
        }
        tx.commit().await.map_err(mapped)
    }
}

async fn set_rights(db: &mut sqlx::PgConnection, role: RoleId, rights: Rights) -> Result<()> {
    let names = rights.names();
    sqlx::query!("delete from role_rights where role_id = $1 and right_name <> all($2)", role.0, &names)
        .execute(&mut *db)
        .await
        .map_err(mapped)?;
    sqlx::query!(
        "insert into role_rights (role_id, right_name) select $1, unnest($2::text[]) on conflict do nothing",
        role.0,
        &names
    )
    .execute(&mut *db)
    .await
    .map_err(mapped)?;
    Ok(())
}

impl Write<'_> {
    pub async fn role(&mut self, action: Action, id: RoleId) -> Result<Authorized<Role>> {
        // before it is read: a query that waits for the lock would still count users as they were when it began
        sqlx::query!("select 1 as one from roles where id = $1 for update", id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let found = find(&mut *self.tx, id, "").await?.filter(shown_to(self.actor));
        Authorized::check(self.actor, action, found, resource(self.actor))
    }

    /// A role that a user of `org` can be given, whatever the asker may otherwise see. It is not deleted meanwhile.
    pub async fn role_for_user(&mut self, id: RoleId, org: OrgId, org_is_provider: bool) -> Result<Role> {
        let found = find(&mut *self.tx, id, " for key share of t").await?;
        let fits = |r: &Role| match r.org {
            Some(of) => of == org,
            None => org_is_provider || !Predefined::of(r.id).is_some_and(Predefined::provider_only),
        };
        found.filter(fits).ok_or(Error::NotFound(Kind::Role))
    }

    pub async fn role_insert(&mut self, id: RoleId, org: OrgId, f: &RoleForm) -> Result<()> {
        sqlx::query!(
            "insert into roles (id, org_id, name, description, updated_by) values ($1, $2, $3, $4, $5)",
            id.0,
            org.0,
            f.name,
            f.description,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        set_rights(&mut self.tx, id, f.rights).await
    }

    pub async fn role_update(&mut self, role: &Authorized<Role>, f: &RoleForm) -> Result<()> {
        sqlx::query!(
            "update roles set name = $2, description = $3, version = version + 1, updated_at = now(), updated_by = $4 where id = $1",
            role.id.0,
            f.name,
            f.description,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        set_rights(&mut self.tx, role.id, f.rights).await
    }

    /// False: somebody was given the role at this very moment, and it stays.
    pub async fn role_delete(&mut self, role: &Authorized<Role>) -> Result<bool> {
        let done = sqlx::query!(
            "update roles set deleted_at = now(), version = version + 1, updated_at = now(), updated_by = $2
             where id = $1 and not exists (select from users where role_id = $1 and deleted_at is null)",
            role.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(done.rows_affected() == 1)
    }
}
