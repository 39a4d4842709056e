//! VMs as lines of lists: what VCD's clients ask by, and what their records show.
use crate::{
    Store,
    constraint::mapped,
    list::{Build, ListSql},
    nic::SeenNic,
    query::{QuerySql, bool, id, id_among, number, text, text_among, time, words},
    vm,
};
use model::{
    Error, NetworkId, OrgId, Result, SizingId, UserId, VappId, VdcId, VmId,
    decide::Scope,
    query::{Found, Numbered},
    vm::{Power, Seen},
    vm_line::VmLine,
};
use sqlx::{FromRow, types::Json};
use time::OffsetDateTime;
use uuid::Uuid;

const SQL: ListSql = ListSql {
    columns: "t.id, t.org_id, o.name as org_name, t.vdc_id, d.name as vdc_name, t.vapp_id, a.name as vapp_name, t.owner_id, \
        coalesce(u.name, '') as owner_name, t.name, t.description, t.computer_name, t.cpus, t.memory_mb, t.sizing_id, z.name as sizing_name, \
        t.os, t.power, t.obs_state, t.problem <> '' and t.hub_id is not null as not_made, t.obs_ips, t.obs_node, t.hub_name, \
        coalesce(t.besides ->> 'hardware_version', '') as hardware_version, a.auto as alone, t.created_at, \
        coalesce(k.storage_mb, 0) as storage_mb, coalesce(k.policy, '') as policy, \
        n.network_id, coalesce(n.network_name, '') as network_name, n.name as nic, n.address, t.obs_nics",
    from: "vms t join organizations o on o.id = t.org_id join vdcs d on d.id = t.vdc_id join vapps a on a.id = t.vapp_id \
           left join users u on u.id = t.owner_id left join sizing_policies z on z.id = t.sizing_id \
           left join lateral (select sum(k.size_mb)::bigint as storage_mb, \
               (array_agg(p.name order by k.independent, k.position, k.created_at, k.name))[1] as policy \
             from disks k join storage_policies p on p.id = k.policy_id \
             where (k.vm_id = t.id or k.leaving_vm_id = t.id) and k.gone_at is null) k on true \
           left join lateral (select n.name, n.network_id, w.name as network_name, host(n.address) as address \
             from nics n left join networks w on w.id = n.network_id where n.vm_id = t.id and n.removed_at is null \
             order by n.is_primary desc, n.idx limit 1) n on true",
    ..vm::SQL
};

/// What VCD's clients ask by.
pub(crate) const QUERY: QuerySql = QuerySql {
    list: &SQL,
    count_from: "vms t left join organizations o on o.id = t.org_id left join vdcs d on d.id = t.vdc_id \
                 left join vapps a on a.id = t.vapp_id left join users u on u.id = t.owner_id",
    metadata: true,
    fields: &[
        id("id", "t.id"),
        id("href", "t.id"),
        text("name", "t.name"),
        text("description", "t.description"),
        id("container", "t.vapp_id"),
        id("vapp", "t.vapp_id"),
        text("containerName", "a.name"),
        id("vdc", "t.vdc_id"),
        text("vdcName", "d.name"),
        id("org", "t.org_id"),
        text("orgName", "o.name"),
        id("owner", "t.owner_id"),
        text("ownerName", "u.name"),
        text("guestOs", "t.os"),
        number("numberOfCpus", "t.cpus"),
        number("memoryMB", "t.memory_mb"),
        text("ipAddress", "t.obs_ips[1]"),
        text("hostName", "t.obs_node"),
        text("hubName", "t.hub_id"),
        id_among("network", "select n.network_id from nics n where n.vm_id = t.id and n.removed_at is null"),
        text_among(
            "networkName",
            "select w.name from nics n join networks w on w.id = n.network_id where n.vm_id = t.id and n.removed_at is null",
        ),
        text_among(
            "storageProfileName",
            "select p.name from disks k join storage_policies p on p.id = k.policy_id where k.vm_id = t.id and k.gone_at is null",
        ),
        id("vmSizingPolicyId", "t.sizing_id"),
        bool("isAutoNature", "a.auto"),
        bool("isBusy", "t.deleted_at is not null"),
        bool("isVAppTemplate", "false"),
        bool("isDeleted", "false"),
        bool("isDeployed", "t.power <> 'off'"),
        bool("isInMaintenanceMode", "false"),
        time("dateCreated", "t.created_at"),
        text("catalogName", "''"),
        text("moref", "'vm-' || t.hub_name"),
        words(
            "status",
            "t.obs_state",
            &[
                ("POWERED_ON", "t.obs_state in ('running', 'migrating', 'stopping')"),
                ("POWERED_OFF", "t.obs_state in ('stopped', 'starting', 'deleting')"),
                ("SUSPENDED", "t.obs_state = 'suspended'"),
                ("FAILED_CREATION", "t.obs_state = '' and t.problem <> '' and t.hub_id is not null"),
                (
                    "UNRESOLVED",
                    "t.obs_state = 'provisioning' or t.obs_state = '' and (t.problem = '' or t.hub_id is null)",
                ),
                ("INCONSISTENT_STATE", "t.obs_state = 'failed'"),
                ("UNKNOWN", "t.obs_state in ('unknown', 'missing')"),
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
    vapp_id: Uuid,
    vapp_name: String,
    owner_id: Option<Uuid>,
    owner_name: String,
    name: String,
    description: String,
    computer_name: String,
    cpus: i32,
    memory_mb: i64,
    sizing_id: Option<Uuid>,
    sizing_name: Option<String>,
    os: String,
    power: String,
    obs_state: String,
    not_made: bool,
    obs_ips: Vec<String>,
    obs_node: String,
    hub_name: String,
    hardware_version: String,
    alone: bool,
    created_at: OffsetDateTime,
    storage_mb: i64,
    policy: String,
    network_id: Option<Uuid>,
    network_name: String,
    nic: Option<String>,
    address: Option<String>,
    obs_nics: Json<Vec<SeenNic>>,
}

fn read(r: Row) -> Result<VmLine> {
    let odd = |what: &str, word: &str| Error::Internal(format!("VM {what} {word:?}"));
    let seen_nic = r.obs_nics.0.into_iter().find(|s| Some(&s.name) == r.nic.as_ref());
    let seen_ip = seen_nic.and_then(|s| s.ips.into_iter().next());
    Ok(VmLine {
        power: Power::parse(&r.power).ok_or_else(|| odd("power", &r.power))?,
        seen: Seen::parse(&r.obs_state).ok_or_else(|| odd("state", &r.obs_state))?,
        ip: seen_ip.or(r.address).or_else(|| r.obs_ips.first().cloned()).unwrap_or_default(),
        id: VmId(r.id),
        org: OrgId(r.org_id),
        org_name: r.org_name,
        vdc: VdcId(r.vdc_id),
        vdc_name: r.vdc_name,
        vapp: VappId(r.vapp_id),
        vapp_name: r.vapp_name,
        owner: r.owner_id.map(UserId),
        owner_name: r.owner_name,
        name: r.name,
        description: r.description,
        computer_name: r.computer_name,
        cpus: r.cpus,
        memory_mb: r.memory_mb,
        sizing: r.sizing_id.map(SizingId).zip(r.sizing_name),
        os: r.os,
        not_made: r.not_made,
        ips: r.obs_ips,
        storage_mb: r.storage_mb,
        policy: r.policy,
        network: r.network_id.map(NetworkId),
        network_name: r.network_name,
        node: r.obs_node,
        hub_name: r.hub_name,
        hardware_version: r.hardware_version,
        alone: r.alone,
        created_at: r.created_at,
    })
}

impl Store {
    pub async fn vm_lines(&self, scope: Scope, q: &Numbered) -> Result<Found<VmLine>> {
        self.numbered(&QUERY, scope, q, read).await
    }

    /// Those of them that are VMs.
    pub(crate) async fn vm_lines_of(&self, ids: &[Uuid]) -> Result<Vec<VmLine>> {
        let mut b = Build::new(format!("select {} from {} where t.id = any(", SQL.columns, SQL.from));
        b.push_bind(ids.to_vec()).push(")");
        let rows: Vec<Row> = b.build_query_as().fetch_all(&self.pool).await.map_err(mapped)?;
        rows.into_iter().map(read).collect()
    }
}
