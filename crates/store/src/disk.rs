//! Disks: those of machines, and independent ones. What workers write of them is in `disk_work`.
use crate::{
    Authorized, Store, Write,
    constraint::mapped,
    list::{Build, ListSql, sort},
    query::{QuerySql, bool, id, number, text, time, words},
};
use model::{
    Action, Actor, DiskId, Error, HubId, OrgId, PolicyId, Result, TemplateId, UserId, VdcId, VmId,
    decide::{Resource, Scope},
    disk::{Bus, Disk, DiskSeen, DiskSpec, Slot},
    list::{ListQuery, Page},
    query::{Found, Numbered},
    vm,
};
use sqlx::{FromRow, PgExecutor};
use time::OffsetDateTime;
use uuid::Uuid;

/// The disks of the machine `t` as one column, in their order: `model::vm::Disk`.
macro_rules! disks_of_vm {
    () => {
        "(select coalesce(json_agg(json_build_object('id', k.id, 'name', k.name, 'size_mb', k.size_mb, 'image', k.image, \
         'storage_class', k.storage_class, 'policy', p.name, 'bus', k.bus, 'independent', k.independent, \
         'leaving', k.deleted_at is not null or k.leaving_vm_id is not null, 'seen', k.obs_state, 'reason', k.obs_reason, \
         'seen_mb', k.obs_size_mb, 'progress', k.obs_progress, 'media', k.media_id, \
         'media_name', coalesce((select m.name from templates m where m.id = k.media_id), ''), 'waits', k.obs_waits, 'slot', k.slot, \
         'no_snapshot', k.obs_no_snapshot, \
         'volume', case when k.independent then k.hub_name else k.obs_volume end) order by k.independent, k.position, k.created_at, k.name), '[]') \
         from disks k join storage_policies p on p.id = k.policy_id \
         where (k.vm_id = t.id or k.leaving_vm_id = t.id) and k.gone_at is null) as disks"
    };
}
pub(crate) use disks_of_vm;

const SQL: ListSql = ListSql {
    columns: "t.id, t.org_id, o.name as org_name, t.vdc_id, d.name as vdc_name, d.enabled as vdc_enabled, d.namespace_name, \
        t.owner_id, coalesce(u.name, '') as owner_name, t.name, t.description, t.bus, t.size_mb, p.name as policy, \
        t.vm_id, v.name as vm_name, t.leaving_vm_id, l.name as leaving_name, t.hub_id, h.state <> 'unreachable' as hub_answers, \
        t.hub_name, t.generation, t.applied, t.obs_state, t.obs_reason, t.obs_size_mb, t.obs_progress, t.obs_at, t.problem, \
        t.deleted_at is not null as deleted, t.version, t.created_at, t.updated_at, t.updated_by",
    from: "disks t join organizations o on o.id = t.org_id join vdcs d on d.id = t.vdc_id join storage_policies p on p.id = t.policy_id \
           left join users u on u.id = t.owner_id left join hubs h on h.id = t.hub_id left join vms v on v.id = t.vm_id \
           left join vms l on l.id = t.leaving_vm_id",
    count_from: "disks t left join vdcs d on d.id = t.vdc_id",
    living: "t.independent and t.gone_at is null",
    sorts: &[
        sort("name", "lower(t.name)", "text"),
        sort("created", "t.created_at", "timestamptz"),
        sort("size", "t.size_mb", "bigint"),
    ],
    search: &["t.name", "t.description", "t.id::text"],
    action: "",
    org: "t.org_id",
    owner: "t.owner_id",
};

/// What VCD's clients ask by.
const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: "disks t left join organizations o on o.id = t.org_id left join vdcs d on d.id = t.vdc_id left join storage_policies p on p.id = t.policy_id \
                 left join users u on u.id = t.owner_id",
    metadata: true,
    fields: &[
        id("id", "t.id"),
        id("href", "t.id"),
        id("uuid", "t.id"),
        text("name", "t.name"),
        text("description", "t.description"),
        id("vdc", "t.vdc_id"),
        text("vdcName", "d.name"),
        id("org", "t.org_id"),
        text("orgName", "o.name"),
        id("owner", "t.owner_id"),
        text("ownerName", "u.name"),
        number("sizeMb", "t.size_mb"),
        number("sizeB", "t.size_mb * 1048576"),
        number("iops", "0"),
        text("storageProfileName", "p.name"),
        id("attachedVm", "t.vm_id"),
        id("vm", "t.vm_id"),
        id("disk", "t.id"),
        bool("isAttached", "t.vm_id is not null"),
        number("attachedVmCount", "case when t.vm_id is null then 0 else 1 end"),
        bool("isShareable", "false"),
        bool("encrypted", "false"),
        text("sharingType", "'None'"),
        time("creationDate", "t.created_at"),
        words(
            "status",
            "t.obs_state",
            &[
                (
                    "RESOLVED",
                    "t.deleted_at is null and (t.obs_state in ('ready', 'failed', 'missing') or t.obs_state = '' and t.hub_id is null and t.vm_id is null and t.applied = t.generation)",
                ),
                (
                    "UNRESOLVED",
                    "t.deleted_at is not null or t.obs_state in ('', 'making') and (t.hub_id is null and t.vm_id is null and t.applied = t.generation) is not true",
                ),
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
    namespace_name: String,
    owner_id: Option<Uuid>,
    owner_name: String,
    name: String,
    description: String,
    bus: String,
    size_mb: i64,
    policy: String,
    vm_id: Option<Uuid>,
    vm_name: Option<String>,
    leaving_vm_id: Option<Uuid>,
    leaving_name: Option<String>,
    hub_id: Option<String>,
    hub_answers: Option<bool>,
    hub_name: String,
    generation: i64,
    applied: Option<i64>,
    obs_state: String,
    obs_reason: String,
    obs_size_mb: Option<i64>,
    obs_progress: Option<i16>,
    obs_at: Option<OffsetDateTime>,
    problem: String,
    deleted: bool,
    version: i64,
    created_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    updated_by: String,
}

fn read(r: Row) -> Result<Disk> {
    let odd = |what: &str, word: &str| Error::Internal(format!("disk {what} {word:?}"));
    Ok(Disk {
        bus: Bus::parse(&r.bus).ok_or_else(|| odd("bus", &r.bus))?,
        seen: DiskSeen::parse(&r.obs_state).ok_or_else(|| odd("state", &r.obs_state))?,
        id: DiskId(r.id),
        org: OrgId(r.org_id),
        org_name: r.org_name,
        vdc: VdcId(r.vdc_id),
        vdc_name: r.vdc_name,
        vdc_enabled: r.vdc_enabled,
        owner: r.owner_id.map(UserId),
        owner_name: r.owner_name,
        name: r.name,
        description: r.description,
        size_mb: r.size_mb,
        policy: r.policy,
        vm: r.vm_id.map(VmId).zip(r.vm_name),
        leaving: r.leaving_vm_id.map(VmId).zip(r.leaving_name),
        hub: r.hub_id.map(HubId),
        hub_answers: r.hub_answers,
        namespace: r.namespace_name,
        hub_name: r.hub_name,
        generation: r.generation,
        applied: r.applied,
        reason: r.obs_reason,
        seen_mb: r.obs_size_mb,
        progress: r.obs_progress,
        seen_at: r.obs_at,
        problem: r.problem,
        deleted: r.deleted,
        version: r.version,
        created_at: r.created_at,
        updated_at: r.updated_at,
        updated_by: r.updated_by,
    })
}

fn filter(b: &mut Build<'_>, key: &str, value: &str) {
    match key {
        "use" => {
            b.push(match value {
                "attached" => " and t.vm_id is not null",
                "failed" => " and (t.obs_state in ('failed', 'missing') or t.problem <> '')",
                _ => " and t.vm_id is null and t.leaving_vm_id is null and t.deleted_at is null",
            });
        }
        "vdc" => {
            b.push(" and lower(d.name) = lower(").push_bind(value.to_owned()).push(")");
        }
        "hub" => {
            b.push(" and t.hub_id = ").push_bind(value.to_owned());
        }
        _ => {}
    }
}

async fn find(db: impl PgExecutor<'_>, id: DiskId) -> Result<Option<Disk>> {
    let mut b = SQL.one();
    b.push("t.id = ").push_bind(id.0);
    b.build_query_as().fetch_optional(db).await.map_err(mapped)?.map(read).transpose()
}

fn resource(disk: &Disk) -> Resource {
    Resource::Owned(disk.org, disk.owner)
}

impl Store {
    pub async fn disk(&self, actor: &Actor, action: Action, id: DiskId) -> Result<Authorized<Disk>> {
        Authorized::check(actor, action, find(&self.pool, id).await?, resource)
    }

    pub async fn disks(&self, scope: Scope, q: &ListQuery) -> Result<Page<Disk>> {
        self.page(&SQL, scope, q, filter, read).await
    }

    pub async fn disks_query(&self, scope: Scope, q: &Numbered) -> Result<Found<Disk>> {
        self.numbered(&QUERY, scope, q, read).await
    }

    /// Independent ones of a VDC.
    pub async fn disk_names(&self, scope: Scope, vdc: VdcId) -> Result<Vec<(DiskId, String)>> {
        let of = |b: &mut Build<'_>| {
            b.push(" and t.vdc_id = ").push_bind(vdc.0);
        };
        Ok(self.named(&SQL, scope, of).await?.into_iter().map(|(id, name)| (DiskId(id), name)).collect())
    }

    /// Independent disks that can be put into a machine of that VDC now, by name.
    pub async fn free_disks(&self, scope: Scope, vdc: VdcId) -> Result<Vec<Disk>> {
        let more = |b: &mut Build<'_>| {
            b.push(" and t.vdc_id = ").push_bind(vdc.0);
            b.push(" and t.vm_id is null and t.leaving_vm_id is null and t.deleted_at is null and t.obs_state <> 'missing'");
            b.push(" order by lower(t.name), t.id limit 200");
        };
        self.few(&SQL, scope, more, read).await
    }

    /// For whoever works on it, not for pages.
    pub async fn disk_known(&self, id: DiskId) -> Result<Option<Disk>> {
        find(&self.pool, id).await
    }
}

/// A disk about to be written.
pub struct NewDisk<'a> {
    pub id: DiskId,
    pub org: OrgId,
    pub vdc: VdcId,
    pub owner: Option<UserId>,
    /// None: an independent one.
    pub vm: Option<VmId>,
    /// It is made together with its machine.
    pub with_vm: bool,
    pub spec: &'a DiskSpec,
    pub position: i32,
    pub image: &'a str,
    /// The disc that it is a copy of.
    pub media: Option<TemplateId>,
    pub policy: PolicyId,
    pub hub_name: &'a str,
}

impl Write<'_> {
    pub async fn disk(&mut self, action: Action, id: DiskId) -> Result<Authorized<Disk>> {
        sqlx::query!("select id from disks where id = $1 for update", id.0)
            .fetch_optional(&mut *self.tx)
            .await
            .map_err(mapped)?;
        let found = find(&mut *self.tx, id).await?;
        Authorized::check(self.actor, action, found, resource)
    }

    /// Takes of the policies named (empty: of the VDC's default), and says which they are. The organization's row is held by
    /// the quota.
    pub async fn storage_take_named(&mut self, vdc: VdcId, asks: &[(&str, i64)]) -> Result<Vec<PolicyId>> {
        if asks.is_empty() {
            return Ok(Vec::new());
        }
        let all = self.vdc_policies(vdc).await?;
        let mut ids = Vec::new();
        for (name, _) in asks {
            let found = match *name {
                "" => all.iter().find(|p| p.is_default),
                name => all.iter().find(|p| p.name.eq_ignore_ascii_case(name)),
            };
            let names = || all.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
            let found = found.ok_or_else(|| {
                let why = format!("The VDC may not use the storage policy {name}. It may use: {}.", names());
                Error::field("policy", why)
            })?;
            ids.push(found.id);
        }
        let sums: Vec<(PolicyId, i64)> = ids.iter().copied().zip(asks.iter().map(|(_, mb)| *mb)).collect();
        self.storage_take(vdc, &sums).await?;
        Ok(ids)
    }

    /// The disks that a machine begins with. The quota was taken; of the policies it is here.
    pub(crate) async fn vm_disks_insert(
        &mut self,
        (org, vdc, owner): (OrgId, VdcId, Option<UserId>),
        vm: VmId,
        disks: &[vm::Disk],
    ) -> Result<()> {
        let asks: Vec<(&str, i64)> = disks.iter().map(|d| (d.policy.as_str(), d.size_mb)).collect();
        let policies = self.storage_take_named(vdc, &asks).await?;
        for (i, (disk, policy)) in disks.iter().zip(policies).enumerate() {
            let position = i32::try_from(i).unwrap_or_default();
            let spec = DiskSpec {
                name: if disk.name.is_empty() { format!("disk-{i}") } else { disk.name.clone() },
                size_mb: disk.size_mb,
                bus: disk.bus,
                ..DiskSpec::default()
            };
            let new = NewDisk {
                id: DiskId(Uuid::now_v7()),
                org,
                vdc,
                owner,
                vm: Some(vm),
                with_vm: true,
                spec: &spec,
                position,
                image: &disk.image,
                media: None,
                policy,
                hub_name: "",
            };
            self.disk_insert(&new).await?;
            if let Some(slot) = disk.slot {
                self.disk_slot(new.id, slot).await?;
            }
        }
        Ok(())
    }

    /// What it is made of stays at least until this transaction ends.
    pub async fn disk_insert(&mut self, d: &NewDisk<'_>) -> Result<()> {
        let s = d.spec;
        if let Some(image) = d.image.strip_prefix("image/").and_then(|id| id.parse::<Uuid>().ok()) {
            let there = sqlx::query!(
                "select v.id from item_versions v join images i on i.version_id = v.id where i.id = $1 and v.deleted_at is null for share of v",
                image
            );
            if there.fetch_optional(&mut *self.tx).await.map_err(mapped)?.is_none() {
                return Err(Error::NotNow(
                    "Not now: what it is to be made of was deleted meanwhile. Choose another template or version."
                        .into(),
                ));
            }
        }
        sqlx::query!(
            "insert into disks (id, org_id, vdc_id, owner_id, vm_id, independent, with_vm, name, description, position, bus, size_mb,
                                applied_mb, image, policy_id, hub_name, updated_by, media_id)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, $14, $15, $16, $17)",
            d.id.0,
            d.org.0,
            d.vdc.0,
            d.owner.map(|u| u.0),
            d.vm.map(|v| v.0),
            d.vm.is_none(),
            d.with_vm,
            s.name,
            s.description,
            d.position,
            s.bus.key(),
            s.size_mb,
            d.image,
            d.policy.0,
            d.hub_name,
            self.actor.name,
            d.media.map(|m| m.0)
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// The names and the last position of a machine's own disks, those on their way out among them.
    pub async fn disk_names_in(&mut self, vm: VmId) -> Result<(Vec<String>, i32)> {
        let rows = sqlx::query!(
            "select name, position from disks where vm_id = $1 and not independent and gone_at is null order by position",
            vm.0
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(mapped)?;
        let last = rows.last().map_or(-1, |r| r.position);
        Ok((rows.into_iter().map(|r| r.name).collect(), last))
    }

    /// Of a machine's own disk: the policy it counts for.
    /// The storage class of the disk on its hub, if disks of it can't grow there. As the hub was last found.
    pub async fn disk_class_without_growth(&mut self, id: DiskId) -> Result<Option<String>> {
        sqlx::query_scalar!(
            r#"select x ->> 'name' as "name!" from disks k left join vms v on v.id = k.vm_id
               join hubs h on h.id = coalesce(k.hub_id, v.hub_id) join storage_policies p on p.id = k.policy_id
               left join storage_policy_classes c on c.policy_id = p.id and c.hub_id = h.id
               cross join lateral jsonb_array_elements(coalesce(h.found -> 'storage_classes', '[]')) x
               where k.id = $1 and not coalesce((x ->> 'can_grow')::boolean, true)
                 and case when coalesce(c.class, p.class) = '' then (x ->> 'default')::boolean
                          else x ->> 'name' = coalesce(c.class, p.class) end limit 1"#,
            id.0
        )
        .fetch_optional(&mut *self.tx)
        .await
        .map_err(mapped)
    }

    pub async fn disk_policy(&mut self, id: DiskId) -> Result<PolicyId> {
        let id = sqlx::query_scalar!("select policy_id from disks where id = $1", id.0)
            .fetch_one(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(PolicyId(id))
    }

    /// A machine's own disk gets another size or bus.
    pub async fn vm_disk_change(&mut self, id: DiskId, size_mb: i64, bus: Bus) -> Result<()> {
        sqlx::query!(
            "update disks set size_mb = $2, bus = $3, version = version + 1, updated_at = now(), updated_by = $4 where id = $1",
            id.0,
            size_mb,
            bus.key(),
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Where a client put it.
    pub async fn disk_slot(&mut self, id: DiskId, slot: Slot) -> Result<()> {
        let json = serde_json::to_value(slot).map_err(|e| Error::Internal(e.to_string()))?;
        sqlx::query!("update disks set slot = $2 where id = $1", id.0, json)
            .execute(&mut *self.tx)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    pub async fn vm_disk_remove(&mut self, id: DiskId) -> Result<()> {
        sqlx::query!(
            "update disks set deleted_at = coalesce(deleted_at, now()), version = version + 1, updated_at = now(), updated_by = $2 where id = $1",
            id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Something about the machine's disks is to be brought about.
    pub async fn vm_disks_changed(&mut self, vm: VmId) -> Result<i64> {
        sqlx::query_scalar!(
            "update vms set generation = generation + 1, problem = '', version = version + 1, updated_at = now(), updated_by = $2
             where id = $1 returning generation",
            vm.0,
            self.actor.name
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(mapped)
    }

    pub async fn disk_edit(&mut self, disk: &Authorized<Disk>, s: &DiskSpec) -> Result<()> {
        sqlx::query!(
            "update disks set name = $2, description = $3, size_mb = $4, bus = $5, generation = generation + 1, problem = '',
                    version = version + 1, updated_at = now(), updated_by = $6 where id = $1",
            disk.id.0,
            s.name,
            s.description,
            s.size_mb,
            s.bus.key(),
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Into that machine. A disk that has no place yet is made where the machine is.
    pub async fn disk_attach(&mut self, disk: &Authorized<Disk>, vm: &vm::Vm) -> Result<()> {
        sqlx::query!(
            "update disks set vm_id = $2, hub_id = coalesce(hub_id, $3), version = version + 1, updated_at = now(), updated_by = $4 where id = $1",
            disk.id.0,
            vm.id.0,
            vm.hub.as_ref().map(|h| h.0.as_str()),
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Out of its machine, once that is proven; at once where the machine is on no hub yet.
    pub async fn disk_detach(&mut self, disk: &Authorized<Disk>) -> Result<()> {
        sqlx::query!(
            "update disks set leaving_vm_id = (select id from vms where id = vm_id and hub_id is not null), vm_id = null, obs_waits = false, version = version + 1, updated_at = now(), updated_by = $2 where id = $1",
            disk.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// The tombstone. What it uses is given back when it is proven to be gone.
    pub async fn disk_delete(&mut self, disk: &Authorized<Disk>) -> Result<()> {
        sqlx::query!(
            "update disks set deleted_at = coalesce(deleted_at, now()), generation = generation + 1, version = version + 1,
                    updated_at = now(), updated_by = $2 where id = $1",
            disk.id.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }

    /// Independent disks outlive their machine: they leave it.
    pub(crate) async fn disks_leave(&mut self, vm: VmId) -> Result<()> {
        sqlx::query!(
            "update disks set leaving_vm_id = vm_id, vm_id = null, obs_waits = false, version = version + 1, updated_at = now(), updated_by = $2
             where vm_id = $1 and independent and gone_at is null",
            vm.0,
            self.actor.name
        )
        .execute(&mut *self.tx)
        .await
        .map_err(mapped)?;
        Ok(())
    }
}
