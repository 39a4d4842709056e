//! Storage policies, what of them VDCs may use, and how much is used.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    list::{Build, ListSql, sort},
};
use model::{
    Action, Actor, Error, HubId, PolicyId, Result, VdcId,
    decide::{Resource, Scope},
    list::{ListQuery, Page},
    storage::{HubClass, HubClasses, StoragePolicy, StoragePolicySpec, VdcPolicy, VdcPolicySpec},
};
use sqlx::{FromRow, PgConnection, PgExecutor, types::Json};
use time::OffsetDateTime;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: "t.id, t.name, t.description, t.class, t.is_default, t.version, t.created_at, t.updated_at, t.updated_by, \
        (select coalesce(jsonb_agg(jsonb_build_object('hub', c.hub_id, 'class', c.class) order by c.hub_id), '[]') \
         from storage_policy_classes c where c.policy_id = t.id) as classes, \
        (select count(*) from vdc_storage s join vdcs d on d.id = s.vdc_id where s.policy_id = t.id and d.deleted_at is null) as vdcs, \
        (select count(*) from disks k where k.policy_id = t.id and k.gone_at is null) as disks, \
        (select coalesce(sum(k.size_mb), 0)::bigint from disks k where k.policy_id = t.id and k.gone_at is null) as used_mb",
    from: "storage_policies t",
    count_from: "storage_policies t",
    living: "t.deleted_at is null",
    sorts: &[sort("name", "lower(t.name)", "text"), sort("created", "t.created_at", "timestamptz")],
    search: &["t.name", "t.description", "t.class"],
    action: "",
    // policies are the provider's, who sees all of them
    org: "true or t.id = {}",
    owner: "null",
};

#[derive(FromRow)]
struct Row {
    id: Uuid,
    name: String,
    description: String,
    class: String,
    is_default: bool,
    version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    updated_by: String,
    classes: Json<Vec<HubClass>>,
    vdcs: i64,
    disks: i64,
    used_mb: i64,
}

fn read(r: Row) -> Result<StoragePolicy> {
    Ok(StoragePolicy {
        id: PolicyId(r.id),
        name: r.name,
        description: r.description,
        class: r.class,
        classes: r.classes.0,
        is_default: r.is_default,
        vdcs: r.vdcs,
        disks: r.disks,
        used_mb: r.used_mb,
        version: r.version,
        created_at: r.created_at,
        updated_at: r.updated_at,
        updated_by: r.updated_by,
    })
}

fn filter(_: &mut Build<'_>, _: &str, _: &str) {}

async fn find(db: impl PgExecutor<'_>, id: PolicyId) -> Result<Option<StoragePolicy>> {
    let mut b = SQL.one();
    b.push("t.id = ").push_bind(id.0);
    b.build_query_as().fetch_optional(db).await.map_err(mapped)?.map(read).transpose()
}

fn resource(_: &StoragePolicy) -> Resource {
    Resource::Installation
}

/// How a class's line in a namespace's quota is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassLimit {
    pub class: String,
    pub limit_mb: i64,
}

async fn profile(db: impl PgExecutor<'_>, vdc: VdcId) -> Result<Vec<VdcPolicy>> {
    let rows = sqlx::query!(
        "select p.id, p.name, p.description, s.limit_mb, s.used_mb, s.is_default
         from vdc_storage s join storage_policies p on p.id = s.policy_id where s.vdc_id = $1 order by s.is_default desc, lower(p.name)",
        vdc.0
    )
    .fetch_all(db)
    .await
    .map_err(mapped)?;
    let all = rows.into_iter().map(|r| VdcPolicy {
        id: PolicyId(r.id),
        name: r.name,
        description: r.description,
        limit_mb: r.limit_mb,
        used_mb: r.used_mb,
        is_default: r.is_default,
    });
    Ok(all.collect())
}

impl Store {
    pub async fn policy(&self, actor: &Actor, action: Action, id: PolicyId) -> Result<Authorized<StoragePolicy>> {
        Authorized::check(actor, action, find(&self.pool, id).await?, resource)
    }

    pub async fn policies(&self, scope: Scope, q: &ListQuery) -> Result<Page<StoragePolicy>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    /// Id and name of each.
    pub async fn policy_names(&self) -> Result<Vec<(PolicyId, String)>> {
        let rows =
            sqlx::query!("select id, name from storage_policies where deleted_at is null order by lower(name), id")
                .fetch_all(&self.pool)
                .await
                .map_err(mapped)?;
        Ok(rows.into_iter().map(|r| (PolicyId(r.id), r.name)).collect())
    }

    /// The policies that a VDC may use, its default first. The VDC itself was looked up before.
    pub async fn vdc_policies(&self, vdc: VdcId) -> Result<Vec<VdcPolicy>> {
        profile(&self.pool, vdc).await
    }

    /// What was last found on each hub that runs VMs.
    pub async fn hub_classes(&self) -> Result<Vec<HubClasses>> {
        let rows = sqlx::query!(
            r#"select id, array(select c ->> 'name' from jsonb_array_elements(coalesce(found -> 'storage_classes', '[]')) c order by 1) as "names!: Vec<String>",
                      coalesce((select c ->> 'name' from jsonb_array_elements(coalesce(found -> 'storage_classes', '[]')) c
                                where (c ->> 'default')::boolean limit 1), '') as "default!"
               from hubs where 'virtualmachines' = any(capabilities) order by id"#
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(rows.into_iter().map(|r| HubClasses { hub: HubId(r.id), names: r.names, default: r.default }).collect())
    }

    /// What a VDC may have of each class on a hub: the sum over its policies there. A class that one of them takes without a
    /// limit has none.
    pub async fn class_limits(&self, vdc: VdcId, hub: &HubId) -> Result<Vec<ClassLimit>> {
        let rows = sqlx::query!(
            r#"select m.class as "class!", sum(m.limit_mb)::bigint as "limit_mb!" from (
                 select s.limit_mb, coalesce(nullif(coalesce(c.class, p.class), ''),
                          (select x ->> 'name' from hubs h, jsonb_array_elements(coalesce(h.found -> 'storage_classes', '[]')) x
                           where h.id = $2 and (x ->> 'default')::boolean limit 1), '') as class
                 from vdc_storage s join storage_policies p on p.id = s.policy_id
                 left join storage_policy_classes c on c.policy_id = p.id and c.hub_id = $2
                 where s.vdc_id = $1) m
               where m.class <> '' group by m.class having count(*) = count(m.limit_mb) order by m.class"#,
            vdc.0,
            hub.0
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(rows.into_iter().map(|r| ClassLimit { class: r.class, limit_mb: r.limit_mb }).collect())
    }
}

impl Write<'_> {
    pub async fn policy(&mut self, action: Action, id: PolicyId) -> Result<Authorized<StoragePolicy>> {
        sqlx::query!("select id from storage_policies where id = $1 for update", id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let found = find(&mut *self.tx, id).await?;
        Authorized::check(self.actor, action, found, resource)
    }

    pub async fn policy_insert(&mut self, id: PolicyId, s: &StoragePolicySpec) -> Result<()> {
        self.policy_one_default(id, s).await?;
        sqlx::query!(
            "insert into storage_policies (id, name, description, class, is_default, updated_by) values ($1, $2, $3, $4, $5, $6)",
            id.0,
            s.name,
            s.description,
            s.class,
            s.is_default,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        self.policy_set_classes(id, &s.classes).await
    }

    pub async fn policy_update(&mut self, policy: &Authorized<StoragePolicy>, s: &StoragePolicySpec) -> Result<()> {
        self.policy_one_default(policy.id, s).await?;
        sqlx::query!(
            "update storage_policies set name = $2, description = $3, class = $4, is_default = $5, version = version + 1,
                    updated_at = now(), updated_by = $6 where id = $1",
            policy.id.0,
            s.name,
            s.description,
            s.class,
            s.is_default,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        self.policy_set_classes(policy.id, &s.classes).await?;
        self.policy_vdcs_again(policy.id).await
    }

    /// Who becomes the default takes that from the one who was.
    async fn policy_one_default(&mut self, id: PolicyId, s: &StoragePolicySpec) -> Result<()> {
        if s.is_default {
            sqlx::query!(
                "update storage_policies set is_default = false, version = version + 1 where is_default and id <> $1 and deleted_at is null",
                id.0
            )
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        }
        Ok(())
    }

    async fn policy_set_classes(&mut self, id: PolicyId, classes: &[HubClass]) -> Result<()> {
        sqlx::query!("delete from storage_policy_classes where policy_id = $1", id.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let (hubs, names): (Vec<String>, Vec<String>) =
            classes.iter().map(|c| (c.hub.0.clone(), c.class.clone())).unzip();
        sqlx::query!(
            "insert into storage_policy_classes (policy_id, hub_id, class)
             select $1, h.id, n.class from unnest($2::text[], $3::text[]) as n (hub, class) join hubs h on h.id = n.hub",
            id.0,
            &hubs,
            &names
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Their namespaces have a line for each class.
    async fn policy_vdcs_again(&mut self, id: PolicyId) -> Result<()> {
        sqlx::query!(
            "with v as (select d.id, d.org_id from vdc_storage s join vdcs d on d.id = s.vdc_id
                        where s.policy_id = $1 and d.deleted_at is null and s.limit_mb is not null),
                  p as (update places set applied = null where vdc_id in (select id from v) and gone_at is null)
             insert into work (kind, id, org_id) select 'vdc', id, org_id from v
             on conflict (kind, id) do update set wanted = work.wanted + 1, not_before = now(), attempt = 0, failing = ''",
            id.0
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn policy_delete(&mut self, policy: &Authorized<StoragePolicy>) -> Result<()> {
        sqlx::query!("delete from vdc_storage where policy_id = $1 and used_mb = 0", policy.id.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        sqlx::query!(
            "update storage_policies set deleted_at = now(), version = version + 1, updated_at = now(), updated_by = $2 where id = $1",
            policy.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// A VDC's profile, held: nobody takes of it meanwhile. One that has none yet begins with the default.
    pub async fn vdc_policies(&mut self, vdc: VdcId) -> Result<Vec<VdcPolicy>> {
        begin_profile(&mut self.tx, vdc).await?;
        sqlx::query!("select policy_id from vdc_storage where vdc_id = $1 order by policy_id for update", vdc.0)
            .fetch_all(&mut *self.tx)
            .await
            .map_err(mapped)?;
        profile(&mut *self.tx, vdc).await
    }

    /// What is not in the list goes, if nothing of it is used.
    pub async fn vdc_set_policies(&mut self, vdc: VdcId, wanted: &[VdcPolicySpec]) -> Result<()> {
        let ids: Vec<Uuid> = wanted.iter().map(|w| w.id.0).collect();
        sqlx::query!("delete from vdc_storage where vdc_id = $1 and policy_id <> all($2)", vdc.0, &ids)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        // the default first leaves its place
        sqlx::query!("update vdc_storage set is_default = false where vdc_id = $1", vdc.0)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        for one in wanted {
            sqlx::query!(
                "insert into vdc_storage (vdc_id, policy_id, limit_mb, is_default) values ($1, $2, $3, $4)
                 on conflict (vdc_id, policy_id) do update set limit_mb = $3, is_default = $4",
                vdc.0,
                one.id.0,
                one.limit_mb,
                one.is_default
            )
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        }
        sqlx::query!(
            "update vdcs set version = version + 1, updated_at = now(), updated_by = $2 where id = $1",
            vdc.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Takes so much of each policy (or gives it back), within its limit. The organization's row is held by the quota.
    pub async fn storage_take(&mut self, vdc: VdcId, asks: &[(PolicyId, i64)]) -> Result<()> {
        let all = self.vdc_policies(vdc).await?;
        let name = sqlx::query_scalar!("select name from vdcs where id = $1", vdc.0)
            .fetch_one(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let mut sums: Vec<(PolicyId, i64)> = Vec::new();
        for (id, mb) in asks {
            match sums.iter_mut().find(|(known, _)| known == id) {
                Some((_, sum)) => *sum += mb,
                None => sums.push((*id, *mb)),
            }
        }
        for (id, mb) in sums {
            let policy = all.iter().find(|p| p.id == id);
            let policy = policy.ok_or_else(|| Error::field("policy", "The VDC may not use this storage policy."))?;
            policy.admit(mb, &name)?;
            storage_count(&mut self.tx, vdc, id, mb).await?;
        }
        Ok(())
    }
}

pub(crate) async fn begin_profile(db: &mut PgConnection, vdc: VdcId) -> Result<()> {
    sqlx::query!(
        "insert into vdc_storage (vdc_id, policy_id, is_default) select $1, id, true from storage_policies
         where is_default and deleted_at is null and not exists (select from vdc_storage where vdc_id = $1)
         on conflict do nothing",
        vdc.0
    )
    .execute(db)
    .await
    .map_err(mapped)?;
    Ok(())
}

/// Adds to what is used of a policy; the organization's row is locked by the caller.
pub(crate) async fn storage_count(db: &mut PgConnection, vdc: VdcId, policy: PolicyId, mb: i64) -> Result<()> {
    sqlx::query!(
        "update vdc_storage set used_mb = used_mb + $3 where vdc_id = $1 and policy_id = $2",
        vdc.0,
        policy.0,
        mb
    )
    .execute(db)
    .await
    .map_err(mapped)?;
    Ok(())
}
