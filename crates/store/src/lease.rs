//! Leases of vApps and templates. The database's clock counts them, so that all replicas agree on when one ends; whoever
//! ends one holds its thing's lock and looks once more.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    list::{Build, owned},
    share::owned_or_shared,
};
use model::{
    Kind, OrgId, Result, TemplateId, UserId, VappId, VmId,
    decide::Scope,
    lease::{KeepEnd, Lease, LeaseSpec, Near, RunEnd},
    template::Template,
    vapp::Vapp,
};
use sqlx::FromRow;
use time::OffsetDateTime;
use uuid::Uuid;

/// The columns of a lease in a list, from `leases l`.
macro_rules! lease_columns {
    () => {
        "l.runtime_s, l.storage_s, coalesce(l.running, false) as lease_running, l.ends_at, l.warned_at, l.expired_at"
    };
}
pub(crate) use lease_columns;

#[derive(FromRow)]
pub(crate) struct LeaseRow {
    runtime_s: Option<i64>,
    storage_s: Option<i64>,
    lease_running: bool,
    ends_at: Option<OffsetDateTime>,
    warned_at: Option<OffsetDateTime>,
    expired_at: Option<OffsetDateTime>,
}

impl From<LeaseRow> for Lease {
    fn from(r: LeaseRow) -> Lease {
        Lease {
            runtime_s: r.runtime_s,
            storage_s: r.storage_s,
            running: r.lease_running,
            ends_at: r.ends_at,
            warned_at: r.warned_at,
            expired_at: r.expired_at,
        }
    }
}

/// A lease that something is to be done about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueLease {
    pub kind: Kind,
    pub id: Uuid,
}

/// What a lease comes to now, under the lock of its thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseNow {
    /// Its VMs are to be stopped so.
    RunEnds(RunEnd),
    StorageEnds(KeepEnd),
    /// Its people are to be told.
    Warn(OffsetDateTime),
}

#[derive(FromRow)]
struct NearRow {
    id: Uuid,
    name: String,
    org_id: Uuid,
    owner_id: Option<Uuid>,
    #[sqlx(flatten)]
    lease: LeaseRow,
}

impl Store {
    /// What has ended or is to be warned of, the longest overdue first.
    pub async fn leases_due(&self) -> Result<Vec<DueLease>> {
        let rows = sqlx::query!(
            "select l.object_id, l.kind from leases l join organizations o on o.id = l.org_id
             where l.expired_at is null and (l.ends_at <= now() or (l.warned_at is null and l.ends_at <= now() +
                   make_interval(secs => least(o.lease_warning_s, (case when l.running then l.runtime_s else l.storage_s end) / 2))))
             order by l.ends_at limit 200"
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(rows.into_iter().filter_map(|r| Some(DueLease { kind: Kind::parse(&r.kind)?, id: r.object_id })).collect())
    }

    /// None: it has none, as what comes from hubs.
    pub async fn lease_of_template(&self, template: &Authorized<Template>) -> Result<Option<Lease>> {
        let row = sqlx::query_as!(
            LeaseRow,
            "select runtime_s, storage_s, running as lease_running, ends_at, warned_at, expired_at from leases where object_id = $1",
            template.id.0
        );
        Ok(row.fetch_optional(&self.pool).await.map_err(mapped)?.map(Lease::from))
    }

    /// vApps that end soon or have expired, the nearest end first.
    pub async fn leases_near(&self, scope: Scope, most: i64) -> Result<Vec<Near>> {
        let mut b = Build::new(concat!(
            "select a.id, a.name, a.org_id, a.owner_id, ",
            lease_columns!(),
            " from leases l join vapps a on a.id = l.object_id where a.deleted_at is null and (l.warned_at is not null or l.expired_at is not null)"
        ));
        match scope {
            Scope::All => {}
            Scope::Org(org) => {
                b.push(" and l.org_id = ").push_bind(org.0);
            }
            Scope::Own(org, user, role) => {
                b.push(" and l.org_id = ").push_bind(org.0);
                owned(&mut b, owned_or_shared!("a.owner_id", "a.id"), (org, user, role));
            }
        }
        b.push(" order by l.ends_at, a.id limit ").push_bind(most);
        let rows: Vec<NearRow> = b.build_query_as().fetch_all(&self.pool).await.map_err(mapped)?;
        let near = rows.into_iter().map(|r| Near {
            vapp: VappId(r.id),
            name: r.name,
            org: OrgId(r.org_id),
            owner: r.owner_id.map(UserId),
            lease: r.lease.into(),
        });
        Ok(near.collect())
    }
}

impl Write<'_> {
    /// A VM came, went or is to have another power: the lease of its vApp is looked at before the end.
    pub(crate) fn lease_may_turn(&mut self, vm: VmId) {
        self.turned.push(vm.0);
    }

    /// The storage lease counts while none of its VMs is to run, else the run-time lease does. Each begins when it comes to
    /// count. The rows are locked first: then whoever is second sees what the first one did.
    pub(crate) async fn leases_turn(&mut self) -> Result<()> {
        if self.turned.is_empty() {
            return Ok(());
        }
        let vms = std::mem::take(&mut self.turned);
        let vapps = sqlx::query_scalar!(
            r#"insert into leases (object_id, kind, org_id, runtime_s, storage_s, ends_at)
               select a.id, 'vapp', a.org_id, o.runtime_lease_s, o.storage_lease_s, now() + make_interval(secs => o.storage_lease_s)
               from vapps a join organizations o on o.id = a.org_id
               where a.deleted_at is null and a.id in (select vapp_id from vms where id = any($1)) order by a.id
               on conflict (object_id) do update set kind = leases.kind returning object_id"#,
            &vms
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(mapped)?;
        sqlx::query!(
            "update leases l set running = x.runs, warned_at = null, expired_at = null,
                    ends_at = now() + make_interval(secs => case when x.runs then l.runtime_s else l.storage_s end)
             from (select a as id, exists (select from vms v where v.vapp_id = a and v.deleted_at is null and v.power = 'on') as runs
                   from unnest($1::uuid[]) a) x
             where l.object_id = x.id and l.running <> x.runs",
            &vapps
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// What is made without VMs is kept as long as what is stopped.
    pub(crate) async fn lease_of_new_vapp(&mut self, id: VappId, org: OrgId) -> Result<()> {
        sqlx::query!(
            "insert into leases (object_id, kind, org_id, runtime_s, storage_s, ends_at)
             select $1, 'vapp', o.id, o.runtime_lease_s, o.storage_lease_s, now() + make_interval(secs => o.storage_lease_s)
             from organizations o where o.id = $2",
            id.0,
            org.0
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub(crate) async fn lease_of_new_template(&mut self, id: TemplateId, org: OrgId) -> Result<()> {
        sqlx::query!(
            "insert into leases (object_id, kind, org_id, storage_s, ends_at)
             select $1, 'vapptemplate', o.id, o.template_lease_s, now() + make_interval(secs => o.template_lease_s)
             from organizations o where o.id = $2",
            id.0,
            org.0
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub(crate) async fn lease_over(&mut self, object: Uuid) -> Result<()> {
        sqlx::query!("delete from leases where object_id = $1", object).execute(&mut *self.tx).await.map_err(mapped)?;
        Ok(())
    }

    /// The one that counts begins anew with what is set.
    pub async fn lease_set(&mut self, object: impl Into<Uuid>, s: &LeaseSpec) -> Result<()> {
        sqlx::query!(
            "update leases set runtime_s = $2, storage_s = $3, warned_at = null, expired_at = null,
                    ends_at = now() + make_interval(secs => case when running then $2::bigint else $3::bigint end)
             where object_id = $1",
            object.into(),
            s.runtime_s,
            s.storage_s
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    pub async fn lease_of_vapp(&mut self, vapp: &Authorized<Vapp>) -> Result<Option<LeaseNow>> {
        self.lease_now(vapp.id.0, Kind::Vapp).await
    }

    /// The template, locked, with what its lease comes to.
    pub async fn lease_of_template(&mut self, template: &Authorized<Template>) -> Result<Option<LeaseNow>> {
        sqlx::query!("select id from templates where id = $1 and deleted_at is null for update", template.id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        self.lease_now(template.id.0, Kind::Template).await
    }

    async fn lease_now(&mut self, id: Uuid, kind: Kind) -> Result<Option<LeaseNow>> {
        let row = sqlx::query!(
            r#"select l.running, l.ends_at as "ends_at!", l.ends_at <= now() as "ended!", l.warned_at is null as "unwarned!",
                      o.runtime_lease_end, o.storage_lease_end, o.template_lease_end
               from leases l join organizations o on o.id = l.org_id
               where l.object_id = $1 and l.kind = $2 and l.expired_at is null and (l.ends_at <= now() or (l.warned_at is null and l.ends_at <= now() +
                     make_interval(secs => least(o.lease_warning_s, (case when l.running then l.runtime_s else l.storage_s end) / 2))))
               for update of l"#,
            id,
            kind.key()
        )
        .fetch_optional(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(row.and_then(|r| match (r.ended, kind) {
            (true, Kind::Template) => Some(LeaseNow::StorageEnds(KeepEnd::parse(&r.template_lease_end))),
            (true, _) if r.running => Some(LeaseNow::RunEnds(RunEnd::parse(&r.runtime_lease_end))),
            (true, _) => Some(LeaseNow::StorageEnds(KeepEnd::parse(&r.storage_lease_end))),
            (false, _) => r.unwarned.then_some(LeaseNow::Warn(r.ends_at)),
        }))
    }

    pub async fn lease_warned(&mut self, object: impl Into<Uuid>) -> Result<()> {
        sqlx::query!("update leases set warned_at = now() where object_id = $1", object.into())
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    pub async fn lease_expired(&mut self, object: impl Into<Uuid>) -> Result<()> {
        sqlx::query!("update leases set expired_at = now() where object_id = $1", object.into())
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// Something that came by itself, for the list of events.
    pub async fn happened(&mut self, e: &crate::Happened<'_>) -> Result<()> {
        sqlx::query!(
            "insert into events (id, org_id, user_name, kind, object_kind, object_id, object_name, message, owner_id)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            Uuid::now_v7(),
            e.org.0,
            self.actor.name,
            e.word,
            e.kind.key(),
            e.id,
            e.name,
            e.message,
            e.owner.map(|u| u.0)
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}
