//! VMs: what people asked for. What hubs report is in `observe`, what workers write in `vm_work`.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    copy::{copying_vm, original_lost},
    disk::disks_of_vm,
    list::{Build, ListSql, sort},
    metadata::{filter_metadata, filter_tag},
    nic::{NicJson, SeenNic, nics_column},
    share::{GrantJson, owned_or_shared, shares_column},
};
use model::{
    Action, Actor, Error, HubId, OrgId, Result, SizingId, TemplateId, UserId, VappId, VdcId, VmId,
    decide::{Resource, Scope},
    hardware::Hardware,
    list::{ListQuery, Page},
    vm::{Besides, Disk, Once, Power, Seen, Vm, VmSpec},
};
use sqlx::{FromRow, PgExecutor, types::Json};
use time::OffsetDateTime;
use uuid::Uuid;

pub(crate) const SQL: ListSql = ListSql {
    columns: concat!(
        disks_of_vm!(),
        ", ",
        shares_column!("t.vapp_id"),
        ", ",
        copying_vm!(),
        ", ",
        original_lost!(),
        ", t.id, t.org_id, o.name as org_name, t.vdc_id, d.name as vdc_name, d.enabled as vdc_enabled, t.vapp_id, a.name as vapp_name, a.instance_of is not null as by_template, \
        t.owner_id, coalesce(u.name, '') as owner_name, t.name, t.description, t.computer_name, t.cpus, t.memory_mb, t.instance_type, t.preference, t.hardware, \
        t.sizing_id, (select p.name from sizing_policies p where p.id = t.sizing_id) as sizing_name, \
        t.os, t.power, t.start_order, t.start_delay_s, t.generation, t.hub_id, h.state <> 'unreachable' as hub_answers, \
        d.namespace_name, t.hub_name, t.uid is not null as made, t.applied, t.obs_state, t.obs_reason, t.obs_cpus, t.obs_memory_mb, \
        t.obs_node, t.obs_ips, t.obs_guest_os, t.obs_progress, t.obs_restart, \
        case when h.state = 'unreachable' then greatest(h.seen_at, t.obs_at) else t.obs_at end as obs_at, t.obs_since, t.outside, t.problem, \
        exists (select from leases l where l.object_id = t.vapp_id and l.expired_at is not null) as expired, \
        (select count(*) from snapshots s where s.vm_id = t.id and s.gone_at is null and s.deleted_at is null) as snapshots, \
        case when h.checked_at is not null then 'snapshots' = any(h.offers) end as snapshots_offered, t.revert_id is not null as reverting, \
        t.snapshot_problem, t.besides, a.auto as alone, t.deleted_at is not null as deleted, t.version, t.created_at, t.updated_at, t.updated_by, t.obs_nics, ",
        nics_column!()
    ),
    from: "vms t join organizations o on o.id = t.org_id join vdcs d on d.id = t.vdc_id join vapps a on a.id = t.vapp_id \
           left join users u on u.id = t.owner_id left join hubs h on h.id = t.hub_id",
    count_from: "vms t left join vdcs d on d.id = t.vdc_id left join vapps a on a.id = t.vapp_id",
    living: "t.gone_at is null",
    sorts: &[
        sort("name", "lower(t.name)", "text"),
        sort("created", "t.created_at", "timestamptz"),
        sort("cpus", "t.cpus", "integer"),
        sort("memory", "t.memory_mb", "bigint"),
    ],
    search: &["t.name", "t.description", "t.computer_name", "a.name", "array_to_string(t.obs_ips, ' ')", "t.id::text"],
    action: "",
    org: "t.org_id",
    owner: owned_or_shared!("t.owner_id", "t.vapp_id"),
};

/// As people count them, and as the filter by state has them.
pub(crate) const RUNNING: &str = " and t.obs_state in ('running', 'migrating') and t.power = 'on'";
/// Those that ran when they were last seen, whatever has been asked of them since.
pub(crate) const SEEN_RUNNING: &str = " and t.obs_state in ('running', 'migrating')";
pub(crate) const FAILED: &str = " and (t.obs_state in ('failed', 'missing') or (t.problem <> '' and t.obs_state = ''))";

#[derive(FromRow)]
struct Row {
    id: Uuid,
    org_id: Uuid,
    org_name: String,
    vdc_id: Uuid,
    vdc_name: String,
    vdc_enabled: bool,
    vapp_id: Uuid,
    vapp_name: String,
    owner_id: Option<Uuid>,
    owner_name: String,
    shares: Json<Vec<GrantJson>>,
    copying: String,
    original_lost: bool,
    by_template: bool,
    name: String,
    description: String,
    computer_name: String,
    cpus: i32,
    memory_mb: i64,
    instance_type: String,
    preference: String,
    hardware: Json<Hardware>,
    sizing_id: Option<Uuid>,
    sizing_name: Option<String>,
    disks: Json<Vec<Disk>>,
    nics: Json<Vec<NicJson>>,
    obs_nics: Json<Vec<SeenNic>>,
    os: String,
    power: String,
    start_order: i32,
    start_delay_s: i32,
    generation: i64,
    hub_id: Option<String>,
    hub_answers: Option<bool>,
    namespace_name: String,
    hub_name: String,
    made: bool,
    applied: Option<i64>,
    obs_state: String,
    obs_reason: String,
    obs_cpus: Option<i32>,
    obs_memory_mb: Option<i64>,
    obs_node: String,
    obs_ips: Vec<String>,
    obs_guest_os: String,
    obs_progress: Option<i16>,
    obs_restart: bool,
    obs_at: Option<OffsetDateTime>,
    obs_since: Option<OffsetDateTime>,
    outside: String,
    problem: String,
    expired: bool,
    snapshots: i64,
    snapshots_offered: Option<bool>,
    reverting: bool,
    snapshot_problem: String,
    besides: Json<Besides>,
    alone: bool,
    deleted: bool,
    version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    updated_by: String,
}

fn read(r: Row) -> Result<Vm> {
    let odd = |what: &str, word: &str| Error::Internal(format!("VM {what} {word:?}"));
    Ok(Vm {
        power: Power::parse(&r.power).ok_or_else(|| odd("power", &r.power))?,
        seen: Seen::parse(&r.obs_state).ok_or_else(|| odd("state", &r.obs_state))?,
        id: VmId(r.id),
        org: OrgId(r.org_id),
        org_name: r.org_name,
        vdc: VdcId(r.vdc_id),
        vdc_name: r.vdc_name,
        vdc_enabled: r.vdc_enabled,
        vapp: VappId(r.vapp_id),
        vapp_name: r.vapp_name,
        owner: r.owner_id.map(UserId),
        owner_name: r.owner_name,
        shares: r.shares.0.into_iter().map(GrantJson::read).collect(),
        copying: r.copying,
        original_lost: r.original_lost,
        by_template: r.by_template,
        name: r.name,
        description: r.description,
        computer_name: r.computer_name,
        cpus: r.cpus,
        memory_mb: r.memory_mb,
        instance_type: r.instance_type,
        preference: r.preference,
        hardware: r.hardware.0,
        sizing: r.sizing_id.map(SizingId).zip(r.sizing_name),
        disks: r.disks.0,
        nics: r.nics.0.into_iter().map(|n| n.read(&r.obs_nics)).collect(),
        os: r.os,
        start_order: r.start_order,
        start_delay_s: r.start_delay_s,
        generation: r.generation,
        hub: r.hub_id.map(HubId),
        hub_answers: r.hub_answers,
        namespace: r.namespace_name,
        hub_name: r.hub_name,
        made: r.made,
        applied: r.applied,
        reason: r.obs_reason,
        seen_cpus: r.obs_cpus,
        seen_memory_mb: r.obs_memory_mb,
        node: r.obs_node,
        ips: r.obs_ips,
        guest_os: r.obs_guest_os,
        progress: r.obs_progress,
        restart_needed: r.obs_restart,
        seen_at: r.obs_at,
        since: r.obs_since,
        outside: r.outside,
        problem: r.problem,
        expired: r.expired,
        snapshots: r.snapshots,
        snapshots_offered: r.snapshots_offered,
        reverting: r.reverting,
        snapshot_problem: r.snapshot_problem,
        besides: r.besides.0,
        alone: r.alone,
        deleted: r.deleted,
        version: r.version,
        created_at: r.created_at,
        updated_at: r.updated_at,
        updated_by: r.updated_by,
    })
}

fn filter(b: &mut Build<'_>, key: &str, value: &str) {
    match key {
        "state" => {
            b.push(match value {
                "running" => RUNNING,
                "stopped" => " and t.obs_state = 'stopped' and (t.power = 'off' or t.outside <> '' or t.problem <> '')",
                "suspended" => " and t.obs_state = 'suspended' and t.power = 'suspended'",
                "failed" => FAILED,
                _ => {
                    " and not (t.obs_state in ('running', 'migrating') and t.power = 'on') \
                     and not (t.obs_state = 'stopped' and (t.power = 'off' or t.outside <> '' or t.problem <> '')) \
                     and not (t.obs_state = 'suspended' and t.power = 'suspended') \
                     and not (t.obs_state in ('failed', 'missing') or (t.problem <> '' and t.obs_state = ''))"
                }
            });
        }
        "vdc" => {
            b.push(" and lower(d.name) = lower(").push_bind(value.to_owned()).push(")");
        }
        "hub" => {
            b.push(" and t.hub_id = ").push_bind(value.to_owned());
        }
        "tag" => filter_tag(b, value),
        "metadata" => filter_metadata(b, value),
        _ => {}
    }
}

async fn find(db: impl PgExecutor<'_>, id: VmId) -> Result<Option<Vm>> {
    let mut b = SQL.one();
    b.push("t.id = ").push_bind(id.0);
    b.build_query_as().fetch_optional(db).await.map_err(mapped)?.map(read).transpose()
}

fn resource(actor: &Actor) -> impl Fn(&Vm) -> Resource {
    move |vm| vm.resource(actor)
}

async fn of_vapp(db: impl PgExecutor<'_>, vapp: VappId) -> Result<Vec<Vm>> {
    let mut b = SQL.one();
    b.push("t.vapp_id = ").push_bind(vapp.0).push(" order by t.start_order, lower(t.name), t.id");
    let rows: Vec<Row> = b.build_query_as().fetch_all(db).await.map_err(mapped)?;
    rows.into_iter().map(read).collect()
}

impl Store {
    pub async fn vm(&self, actor: &Actor, action: Action, id: VmId) -> Result<Authorized<Vm>> {
        Authorized::check(actor, action, find(&self.pool, id).await?, resource(actor))
    }

    pub async fn vms(&self, scope: Scope, q: &ListQuery) -> Result<Page<Vm>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    /// What its guest is told, sealed; None: nothing.
    pub async fn vm_guest(&self, vm: &Authorized<Vm>) -> Result<Option<Vec<u8>>> {
        sqlx::query_scalar!("select cloud_init from vms where id = $1", vm.id.0)
            .fetch_one(&self.pool)
            .await
            .map_err(mapped)
    }

    /// The same of all machines of a vApp.
    pub async fn vm_guests(&self, vapp: &Authorized<model::vapp::Vapp>) -> Result<Vec<(VmId, Option<Vec<u8>>)>> {
        let rows = sqlx::query!("select id, cloud_init from vms where vapp_id = $1 and deleted_at is null", vapp.id.0)
            .fetch_all(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(rows.into_iter().map(|r| (VmId(r.id), r.cloud_init)).collect())
    }

    /// All machines of a vApp, in the order they start.
    pub async fn vms_of(&self, vapp: &Authorized<model::vapp::Vapp>) -> Result<Vec<Vm>> {
        of_vapp(&self.pool, vapp.id).await
    }

    /// Those that have a disc in them, by name.
    pub async fn vms_with_disc(&self, scope: Scope, disc: TemplateId) -> Result<Vec<Vm>> {
        let more = |b: &mut Build<'_>| {
            b.push(" and exists (select from disks k where k.vm_id = t.id and k.gone_at is null and k.media_id = ");
            b.push_bind(disc.0).push(") order by lower(t.name), t.id limit 200");
        };
        self.few(&SQL, scope, more, read).await
    }

    /// For whoever works on them, not for pages.
    pub async fn vm_known(&self, id: VmId) -> Result<Option<Vm>> {
        find(&self.pool, id).await
    }

    pub async fn vms_known_of(&self, vapp: VappId) -> Result<Vec<Vm>> {
        of_vapp(&self.pool, vapp).await
    }

    /// Those that are gone as well, in the order they were made.
    pub async fn vms_ever_of(&self, vapp: VappId) -> Result<Vec<Vm>> {
        let mut b = Build::new(format!("select {} from {} where t.vapp_id = ", SQL.columns, SQL.from));
        b.push_bind(vapp.0).push(" order by t.id");
        let rows: Vec<Row> = b.build_query_as().fetch_all(&self.pool).await.map_err(mapped)?;
        rows.into_iter().map(read).collect()
    }
}

/// A VM about to be written.
pub struct NewVm<'a> {
    pub id: VmId,
    pub org: OrgId,
    pub vdc: VdcId,
    pub vapp: VappId,
    pub hub: Option<&'a HubId>,
    pub owner: Option<UserId>,
    pub spec: &'a VmSpec,
    pub hub_name: &'a str,
    pub cloud_init: Option<&'a [u8]>,
}

impl Write<'_> {
    pub async fn vm(&mut self, action: Action, id: VmId) -> Result<Authorized<Vm>> {
        sqlx::query!("select id from vms where id = $1 for update", id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let found = find(&mut *self.tx, id).await?;
        Authorized::check(self.actor, action, found, resource(self.actor))
    }

    /// The machines of a vApp, locked.
    pub async fn vms_of(&mut self, vapp: &Authorized<model::vapp::Vapp>) -> Result<Vec<Vm>> {
        sqlx::query!("select id from vms where vapp_id = $1 and gone_at is null order by id for update", vapp.id.0)
            .fetch_all(&mut *self.tx)
            .await
            .map_err(mapped)?;
        of_vapp(&mut *self.tx, vapp.id).await
    }

    pub async fn vm_insert(&mut self, v: &NewVm<'_>) -> Result<()> {
        let s = v.spec;
        sqlx::query!(
            "insert into vms (id, org_id, vdc_id, vapp_id, owner_id, name, description, computer_name, cpus, memory_mb, instance_type,
                              preference, os, cloud_init, power, start_order, start_delay_s, hub_id, hub_name, updated_by, sizing_id, hardware)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)",
            v.id.0,
            v.org.0,
            v.vdc.0,
            v.vapp.0,
            v.owner.map(|u| u.0),
            s.name,
            s.description,
            s.computer_name,
            s.cpus,
            s.memory_mb,
            s.instance_type,
            s.preference,
            s.os,
            v.cloud_init,
            s.power.key(),
            s.start_order,
            s.start_delay_s,
            v.hub.map(|h| h.0.as_str()),
            v.hub_name,
            self.actor.name,
            s.sizing.map(|p| p.0),
            Json(&s.hardware) as _
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        self.lease_may_turn(v.id);
        if s.besides != Besides::default() {
            self.vm_keep(v.id, &s.besides, false).await?;
        }
        self.vm_disks_insert((v.org, v.vdc, v.owner), v.id, &s.disks).await
    }

    /// What a client set besides. `told`: its hub is to know of it.
    pub async fn vm_keep(&mut self, vm: VmId, besides: &Besides, told: bool) -> Result<()> {
        let json = serde_json::to_value(besides).map_err(|e| Error::Internal(e.to_string()))?;
        sqlx::query!(
            "update vms set besides = $2, generation = generation + case when $4 then 1 else 0 end, version = version + 1, updated_at = now(), updated_by = $3 where id = $1",
            vm.0,
            json,
            self.actor.name,
            told
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// When it starts among the others of its vApp.
    pub async fn vm_start_order(&mut self, vm: VmId, order: i32, delay_s: i32) -> Result<()> {
        sqlx::query!(
            "update vms set start_order = $2, start_delay_s = $3, version = version + 1, updated_at = now(), updated_by = $4 where id = $1",
            vm.0,
            order,
            delay_s,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Another power state is wanted. What was changed by hand is overruled, and what failed is tried again.
    pub async fn vm_set_power(&mut self, vm: VmId, power: Power) -> Result<i64> {
        self.lease_may_turn(vm);
        sqlx::query_scalar!(
            "update vms set power = $2, once = '', once_id = null, generation = generation + 1, power_generation = generation + 1,
                    outside = '', problem = '', version = version + 1, updated_at = now(), updated_by = $3
             where id = $1 returning generation",
            vm.0,
            power.key(),
            self.actor.name
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)
    }

    /// Something to be done once. A shutdown leaves it off.
    pub async fn vm_once(&mut self, vm: VmId, once: Once) -> Result<i64> {
        self.lease_may_turn(vm);
        sqlx::query_scalar!(
            "update vms set once = $2, once_id = gen_random_uuid(), generation = generation + 1, power_generation = generation + 1,
                    outside = '', problem = '', power = case when $2 = 'shutdown' then 'off' else 'on' end,
                    version = version + 1, updated_at = now(), updated_by = $3
             where id = $1 returning generation",
            vm.0,
            once.key(),
            self.actor.name
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)
    }

    pub async fn vm_edit(&mut self, vm: VmId, name: &str, description: &str) -> Result<i64> {
        sqlx::query_scalar!(
            "update vms set name = $2, description = $3, generation = generation + 1, version = version + 1, updated_at = now(),
                    updated_by = $4 where id = $1 returning generation",
            vm.0,
            name,
            description,
            self.actor.name
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)
    }

    /// What its guest is told, sealed; None: nothing.
    pub async fn vm_guest(&mut self, vm: VmId) -> Result<Option<Vec<u8>>> {
        sqlx::query_scalar!("select cloud_init from vms where id = $1", vm.0)
            .fetch_one(&mut *self.tx)
            .await
            .map_err(mapped)
    }

    /// What its guest is told, sealed, and its computer's name.
    pub async fn vm_guest_set(&mut self, vm: VmId, computer_name: &str, sealed: &[u8]) -> Result<()> {
        sqlx::query!(
            "update vms set cloud_init = $2, computer_name = $3, generation = generation + 1, guest_generation = generation + 1,
                    problem = '', version = version + 1, updated_at = now(), updated_by = $4 where id = $1",
            vm.0,
            sealed,
            computer_name,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Its size is its own, or that of a policy with the name of its instance type.
    pub async fn vm_resize(
        &mut self,
        vm: VmId,
        cpus: i32,
        memory_mb: i64,
        sizing: Option<(SizingId, &str)>,
    ) -> Result<i64> {
        sqlx::query_scalar!(
            "update vms set cpus = $2, memory_mb = $3, instance_type = $5, sizing_id = $6, generation = generation + 1, problem = '',
                    version = version + 1, updated_at = now(), updated_by = $4 where id = $1 returning generation",
            vm.0,
            cpus,
            memory_mb,
            self.actor.name,
            sizing.map_or("", |(_, kind)| kind),
            sizing.map(|(id, _)| id.0)
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)
    }

    /// The tombstone. What it uses is given back when it is proven to be gone.
    pub async fn vm_delete(&mut self, vm: VmId) -> Result<i64> {
        self.lease_may_turn(vm);
        self.disks_leave(vm).await?;
        self.snapshots_delete_with(vm).await?;
        sqlx::query_scalar!(
            "update vms set deleted_at = coalesce(deleted_at, now()), generation = generation + 1, version = version + 1,
                    updated_at = now(), updated_by = $2 where id = $1 returning generation",
            vm.0,
            self.actor.name
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)
    }
}
