//! Owners: what somebody has, to whom it can go, and what nobody looks after.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    list::{Build, ListSql, sort},
    share::STRANDED,
};
use model::{
    CatalogId, DiskId, Error, HubId, Kind, OrgId, Result, Rights, UserId, VappId, VmId,
    catalog::Catalog,
    decide::Scope,
    disk::Disk,
    list::{ListQuery, Page},
    owner::{Heir, Owned, Stranded},
    quota::{Amount, Limits},
    vapp::Vapp,
};
use sqlx::FromRow;
use time::OffsetDateTime;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: "t.kind, t.id, t.org_id, o.name as org_name, t.name, u.id as owner_id, u.name as owner_name, \
              u.deleted_at is not null as owner_removed, t.created_at",
    from: FROM,
    count_from: FROM,
    living: STRANDED,
    sorts: &[sort("name", "lower(t.name)", "text"), sort("created", "t.created_at", "timestamptz")],
    search: &["t.name", "u.name"],
    action: "",
    org: "t.org_id",
    owner: "t.owner_id",
};

const FROM: &str = "users u join (\
     select id, 'vapp' as kind, org_id, owner_id, name, created_at from vapps where gone_at is null and deleted_at is null union all \
     select id, 'catalog', org_id, owner_id, name, created_at from catalogs where deleted_at is null union all \
     select id, 'disk', org_id, owner_id, name, created_at from disks where independent and gone_at is null and deleted_at is null\
     ) t on t.owner_id = u.id join organizations o on o.id = t.org_id";

#[derive(FromRow)]
struct Row {
    kind: String,
    id: Uuid,
    org_id: Uuid,
    org_name: String,
    name: String,
    owner_id: Uuid,
    owner_name: String,
    owner_removed: bool,
    created_at: OffsetDateTime,
}

fn read(r: Row) -> Result<Stranded> {
    let what = Kind::parse(&r.kind).and_then(|kind| Owned::of(kind, r.id));
    Ok(Stranded {
        what: what.ok_or_else(|| Error::Internal(format!("stranded {:?}", r.kind)))?,
        org: OrgId(r.org_id),
        org_name: r.org_name,
        name: r.name,
        owner: UserId(r.owner_id),
        owner_name: r.owner_name,
        owner_removed: r.owner_removed,
        created_at: r.created_at,
    })
}

fn filter(b: &mut Build<'_>, key: &str, value: &str) {
    if key == "owner" {
        b.push(" and lower(u.name) = lower(").push_bind(value.to_owned()).push(")");
    }
}

impl Store {
    pub async fn stranded(&self, scope: Scope, q: &ListQuery) -> Result<Page<Stranded>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    /// How many vApps, catalogs and independent disks somebody has.
    pub async fn owned_by(&self, user: UserId) -> Result<[i64; 3]> {
        let r = sqlx::query!(
            r#"select (select count(*) from vapps where owner_id = $1 and gone_at is null and deleted_at is null) as "vapps!",
                      (select count(*) from catalogs where owner_id = $1 and deleted_at is null) as "catalogs!",
                      (select count(*) from disks where owner_id = $1 and independent and gone_at is null and deleted_at is null) as "disks!""#,
            user.0
        )
        .fetch_one(&self.pool)
        .await
        .map_err(mapped)?;
        Ok([r.vapps, r.catalogs, r.disks])
    }
}

impl Write<'_> {
    /// All that somebody has.
    pub async fn things_of(&mut self, user: UserId) -> Result<Vec<Owned>> {
        let rows = sqlx::query!(
            r#"select 'vapp' as "kind!", id as "id!" from vapps where owner_id = $1 and gone_at is null and deleted_at is null union all
               select 'catalog', id from catalogs where owner_id = $1 and deleted_at is null union all
               select 'disk', id from disks where owner_id = $1 and independent and gone_at is null and deleted_at is null order by 2"#,
            user.0
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(rows.into_iter().filter_map(|r| Owned::of(Kind::parse(&r.kind)?, r.id)).collect())
    }

    /// Somebody of the organization who is to get something, held with the organization: what is counted stays right.
    pub async fn heir(&mut self, org: OrgId, user: UserId) -> Result<Heir> {
        sqlx::query!("select id from organizations where id = $1 for no key update", org.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let found = sqlx::query!(
            "select id, name, enabled, role_id from users where id = $1 and org_id = $2 and deleted_at is null for no key update",
            user.0,
            org.0
        )
        .fetch_optional(&mut *self.tx)
        .await
        .map_err(mapped)?
        .ok_or_else(|| Error::field("owner", "There is no such user in this organization."))?;
        let rights = sqlx::query_scalar!("select right_name from role_rights where role_id = $1", found.role_id)
            .fetch_all(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let rights = Rights::from_names(rights.iter().map(String::as_str));
        Ok(Heir { id: UserId(found.id), name: found.name, enabled: found.enabled, rights })
    }

    /// The disks of a vApp's machines, which come before what they are counted in.
    pub async fn vapp_disks_hold(&mut self, vapp: &Authorized<Vapp>) -> Result<()> {
        sqlx::query!(
            "select k.id from disks k join vms v on v.id = k.vm_id where v.vapp_id = $1 and k.gone_at is null order by k.id for update of k",
            vapp.id.0
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// With its machines and their own disks. The machines that are to be told on their hubs.
    pub async fn vapp_give(&mut self, vapp: &Authorized<Vapp>, to: &Heir) -> Result<Vec<(VmId, Option<HubId>)>> {
        let VappId(id) = vapp.id;
        let r = sqlx::query!(
            r#"select count(*) as "vms!", coalesce(sum(cpus), 0)::bigint as "cpus!", coalesce(sum(memory_mb), 0)::bigint as "memory!",
                      (select coalesce(sum(k.size_mb), 0)::bigint from disks k join vms v on v.id = k.vm_id
                       where v.vapp_id = $1 and not k.independent and k.gone_at is null) as "storage!"
               from vms where vapp_id = $1 and gone_at is null"#,
            id
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)?;
        let all = Amount { vms: r.vms, cpus: r.cpus, memory_mb: r.memory, storage_mb: r.storage };
        self.quota_pass_on(vapp.owner, to, &all).await?;
        sqlx::query!(
            "update vapps set owner_id = $2, version = version + 1, updated_at = now(), updated_by = $3 where id = $1",
            id,
            to.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!(
            "update disks set owner_id = $2 where not independent and gone_at is null and vm_id in (select id from vms where vapp_id = $1)",
            id,
            to.id.0
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        let vms = sqlx::query!(
            r#"update vms set owner_id = $2, generation = generation + 1, version = version + 1, updated_at = now(), updated_by = $3
               where vapp_id = $1 and gone_at is null returning id, hub_id, deleted_at is not null as "deleted!""#,
            id,
            to.id.0,
            self.actor.name
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(vms.into_iter().map(|r| (VmId(r.id), r.hub_id.map(HubId))).collect())
    }

    pub async fn catalog_give(&mut self, catalog: &Authorized<Catalog>, to: &Heir) -> Result<()> {
        let CatalogId(id) = catalog.id;
        sqlx::query!(
            "update catalogs set owner_id = $2, version = version + 1, updated_at = now(), updated_by = $3 where id = $1",
            id,
            to.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn disk_give(&mut self, disk: &Authorized<Disk>, to: &Heir) -> Result<()> {
        let DiskId(id) = disk.id;
        let all = Amount { storage_mb: disk.size_mb, ..Amount::default() };
        self.quota_pass_on(disk.owner, to, &all).await?;
        sqlx::query!(
            "update disks set owner_id = $2, generation = generation + 1, version = version + 1, updated_at = now(), updated_by = $3 where id = $1",
            id,
            to.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// What is used changes hands, within what the new owner may have. Both are rows of an organization that is held.
    pub(crate) async fn quota_pass_on(&mut self, from: Option<UserId>, to: &Heir, all: &Amount) -> Result<()> {
        let u = sqlx::query!(
            "select vm_limit, cpu_limit, memory_limit_mb, storage_limit_mb, vms_used, cpus_used, memory_used_mb, storage_used_mb
             from users where id = $1",
            to.id.0
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)?;
        let limits =
            Limits { vms: u.vm_limit, cpus: u.cpu_limit, memory_mb: u.memory_limit_mb, storage_mb: u.storage_limit_mb };
        let used =
            Amount { vms: u.vms_used, cpus: u.cpus_used, memory_mb: u.memory_used_mb, storage_mb: u.storage_used_mb };
        limits.admit(&used, all, &format!("user {}", to.name)).map_err(|e| e.rename(|_| "owner"))?;
        sqlx::query!(
            "update users set vms_used = vms_used + $3::bigint * s.sign, cpus_used = cpus_used + $4::bigint * s.sign,
                    memory_used_mb = memory_used_mb + $5::bigint * s.sign, storage_used_mb = storage_used_mb + $6::bigint * s.sign
             from (values ($1::uuid, -1), ($2::uuid, 1)) as s (id, sign) where users.id = s.id",
            from.map(|u| u.0),
            to.id.0,
            all.vms,
            all.cpus,
            all.memory_mb,
            all.storage_mb
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}
