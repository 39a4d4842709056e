//! What hubs report of VMs, and what happens there that nobody here asked for.
use crate::{Store, constraint::mapped, nic::SeenNic, together::Written};
use model::{
    HubId, OrgId, Result, UserId, VappId, VmId,
    agent::System,
    form::Form,
    vm::{Power, Seen},
};
use serde::{Serialize, Serializer};
use sqlx::types::Json;
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// What a hub says of one of our VMs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    pub vm: Uuid,
    pub uid: String,
    pub resource_version: String,
    #[serde(rename = "state", serialize_with = "as_key")]
    pub seen: Seen,
    pub reason: String,
    pub run_strategy: String,
    /// KubeVirt has not acted on that yet.
    #[serde(skip)]
    pub unheard: bool,
    pub cpus: Option<i32>,
    pub memory_mb: Option<i64>,
    pub node: String,
    pub ips: Vec<String>,
    pub nics: Vec<SeenNic>,
    pub guest_os: String,
    /// The agent inside the guest answers.
    pub agent: bool,
    pub system: System,
    pub progress: Option<i16>,
    pub restart_needed: bool,
    /// The object's own count of changes to what it asks for.
    pub generation: i64,
    /// What the object asks for now.
    #[serde(skip)]
    pub form: Form,
    pub asked_cpus: Option<i32>,
    pub asked_memory_mb: Option<i64>,
}

fn as_key<S: Serializer>(seen: &Seen, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(seen.key())
}

/// The same, and who says so.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Said {
    hub: String,
    epoch: i64,
    #[serde(flatten)]
    report: Report,
}

impl Store {
    /// How a machine is, as whoever holds its hub sees it. Returns what changed; None: it is not the holder's to write.
    pub async fn observe(&self, hub: &HubId, epoch: i64, report: Report) -> Result<Option<Observed>> {
        let (store, said) = (self.clone(), Said { hub: hub.0.clone(), epoch, report });
        self.gathered.observed.write(said, move |asks| store.clone().observe_all(asks)).await
    }

    async fn observe_all(self, asks: Vec<Said>) -> Result<Vec<Written<Observed>>> {
        // one machine once: a second word on it, as of an object on another hub, goes with the next
        let mut first = HashSet::new();
        let firsts: Vec<&Said> = asks.iter().filter(|a| first.insert(a.report.vm)).collect();
        let rows = sqlx::query!(
            r#"with asked as (
                 select * from jsonb_to_recordset($1) as r (hub text, epoch bigint, vm uuid, uid text, resource_version text, state text, reason text,
                   cpus integer, memory_mb bigint, node text, ips text[], nics jsonb, guest_os text, agent boolean, system jsonb,
                   progress smallint, restart_needed boolean)
               ), b as (
                 select id, obs_state, obs_reason, obs_ips, obs_progress, obs_cpus, obs_memory_mb, obs_restart, obs_nics, obs_agent, obs_guest, outside
                 from vms where id in (select vm from asked) for update skip locked
               ), o as (
                 update vms v set obs_state = r.state, obs_reason = r.reason, obs_cpus = r.cpus, obs_memory_mb = r.memory_mb, obs_node = r.node,
                        obs_ips = r.ips, obs_guest_os = r.guest_os, obs_progress = r.progress, obs_restart = r.restart_needed, obs_rv = r.resource_version,
                        obs_at = now(), obs_nics = r.nics, obs_agent = r.agent, obs_guest = r.system,
                        obs_since = case when v.obs_state = r.state then v.obs_since else now() end
                 from asked r join b on b.id = r.vm
                 where v.id = b.id and v.gone_at is null and v.hub_id = r.hub and (v.uid is null or v.uid = r.uid)
                   and exists (select from hubs h where h.id = r.hub and h.lease_epoch = r.epoch)
                 returning v.id, v.org_id, v.owner_id, v.vapp_id, v.name, v.power, v.power_generation, v.uid, v.applied, v.generation, v.cpus, v.memory_mb, v.hub_generation, v.hub_form,
                           v.instance_type, v.deleted_at is not null as deleted,
                           exists (select from strangers s where s.hub_id = r.hub and s.uid = r.uid) as stranger, b.obs_state as before,
                           b.outside as was_outside, r.agent and not b.obs_agent as agent_came, r.restart_needed and not b.obs_restart as restart_came,
                           exists (select from nics n left join addresses x on x.nic_id = n.id where n.vm_id = v.id
                                   and (n.removed_at is not null or (x.nic_id is not null
                                        and (x.network_id, x.address) is distinct from (n.network_id, n.address)))) as nics_leaving,
                           (b.obs_state, b.obs_reason, b.obs_ips, b.obs_progress, b.obs_cpus, b.obs_memory_mb, b.obs_restart, b.obs_nics, b.obs_agent, b.obs_guest)
                             is distinct from (r.state, r.reason, r.ips, r.progress, r.cpus, r.memory_mb, r.restart_needed, r.nics, r.agent, r.system) as changed
               )
               select r.vm as "vm!", b.id is null and exists (select from vms v where v.id = r.vm) as "held!", o.org_id as "org_id?", o.owner_id as "owner_id?",
                      o.vapp_id as "vapp_id?", o.name as "name?", o.power as "power?", o.power_generation as "power_generation?", o.uid as "uid?", o.applied as "applied?", o.generation as "generation?",
                      o.cpus as "cpus?", o.memory_mb as "memory_mb?", o.hub_generation as "hub_generation?", o.hub_form as "hub_form?", o.instance_type as "instance_type?",
                      o.deleted as "deleted?", o.stranger as "stranger?", o.before as "before?", o.was_outside as "was_outside?",
                      o.agent_came as "agent_came?", o.restart_came as "restart_came?", o.nics_leaving as "nics_leaving?", o.changed as "changed?"
               from asked r left join b on b.id = r.vm left join o on o.id = r.vm"#,
            Json(&firsts) as _
        )
        .fetch_all(&self.workers)
        .await
        .map_err(mapped)?;
        let mut became: HashMap<Uuid, Written<Observed>> = HashMap::new();
        for r in rows {
            let (vm, held) = (r.vm, r.held);
            let met = (|| {
                Some(Observed {
                    org: OrgId(r.org_id?),
                    owner: r.owner_id.map(UserId),
                    vapp: VappId(r.vapp_id?),
                    name: r.name?,
                    power: Power::parse(&r.power?).unwrap_or_default(),
                    known_uid: r.uid,
                    settled: r.applied == r.generation,
                    powered: r.applied.is_some() && r.applied >= r.power_generation,
                    deleted: r.deleted?,
                    before: Seen::parse(&r.before?).unwrap_or_default(),
                    cpus: r.cpus?,
                    memory_mb: r.memory_mb?,
                    typed: !r.instance_type?.is_empty(),
                    hub_generation: r.hub_generation,
                    hub_form: r.hub_form?.parse().ok(),
                    outside: r.was_outside?,
                    changed: r.changed?,
                    nics_leaving: r.nics_leaving?,
                    stranger: r.stranger?,
                    agent_came: r.agent_came?,
                    restart_came: r.restart_came?,
                })
            })();
            let stands = match met {
                Some(met) => Written::Done(met),
                None if held => Written::Held,
                None => Written::Not,
            };
            became.insert(vm, stands);
        }
        Ok(asks.iter().map(|a| became.remove(&a.report.vm).unwrap_or(Written::Held)).collect())
    }

    /// Names what somebody did on the hub by hand; empty: it is as it was asked for again.
    pub async fn vm_outside(&self, vm: VmId, what: &str) -> Result<()> {
        sqlx::query!("update vms set outside = $2 where id = $1 and outside <> $2", vm.0, what)
            .execute(&self.pool)
            .await
            .map_err(mapped)?;
        Ok(())
    }

    /// The ids and uids of the VMs that should be on a hub: what a full list is compared with.
    pub async fn vms_expected(&self, hub: &HubId) -> Result<Vec<(VmId, String, bool)>> {
        let rows = sqlx::query!(
            r#"select id, uid as "uid!", deleted_at is not null as "deleted!" from vms where hub_id = $1 and gone_at is null and uid is not null
               and obs_state <> 'missing'"#,
            hub.0
        )
        .fetch_all(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(rows.into_iter().map(|r| (VmId(r.id), r.uid, r.deleted)).collect())
    }

    /// Is or was there a VM with that id? If so: whether it is proven to be gone.
    pub async fn vm_tombstone(&self, id: Uuid) -> Result<Option<bool>> {
        sqlx::query_scalar!(r#"select gone_at is not null as "gone!" from vms where id = $1 and not lost"#, id)
            .fetch_optional(&self.pool)
            .await
            .map_err(mapped)
    }

    /// The VM whose object that is, by its uid alone: somebody may have taken its labels off.
    pub async fn vm_with_uid(&self, hub: &HubId, uid: &str) -> Result<Option<Uuid>> {
        sqlx::query_scalar!("select id from vms where hub_id = $1 and uid = $2 and gone_at is null", hub.0, uid)
            .fetch_optional(&self.pool)
            .await
            .map_err(mapped)
    }

    /// Does it belong on another hub, or is another object it?
    pub async fn vm_is_another(&self, hub: &HubId, id: Uuid, uid: &str) -> Result<bool> {
        let another = sqlx::query_scalar!(
            r#"select hub_id is distinct from $2 or (uid is not null and uid <> $3) as "another!" from vms where id = $1"#,
            id,
            hub.0,
            uid
        );
        Ok(another.fetch_optional(&self.pool).await.map_err(mapped)?.unwrap_or(false))
    }

    /// The VM's object is gone from its hub, and nobody here asked for it.
    pub async fn vm_missing(&self, hub: &HubId, id: VmId, uid: &str) -> Result<bool> {
        let done = sqlx::query_scalar!(
            r#"with lost as (update vms set obs_state = 'missing', obs_reason = '', obs_at = now(), obs_since = now(), outside = 'It was deleted on its hub by hand.'
                             where id = $1 and hub_id = $2 and uid = $3 and gone_at is null and deleted_at is null and obs_state <> 'missing' returning id),
                    with_it as (update disks k set obs_state = 'missing', obs_reason = '', obs_progress = null, obs_at = now()
                                from lost where k.vm_id = lost.id and not k.independent and k.gone_at is null)
               select count(*) as "lost!" from lost"#,
            id.0,
            hub.0,
            uid
        )
        .fetch_one(&self.pool)
        .await
        .map_err(mapped)?;
        Ok(done == 1)
    }

    /// Something that nobody here did, for the list of events.
    pub async fn event(&self, e: &Happened<'_>) -> Result<()> {
        sqlx::query!(
            "insert into events (id, org_id, user_name, kind, object_kind, object_id, object_name, message, owner_id)
             values ($1, $2, 'hub', $3, $4, $5, $6, $7, $8)",
            Uuid::now_v7(),
            e.org.0,
            e.word,
            e.kind.key(),
            e.id,
            e.name,
            e.message,
            e.owner.map(|u| u.0)
        )
        .execute(&self.pool)
        .await
        .map_err(mapped)?;
        self.bell.notify_one();
        Ok(())
    }
}

/// Something that happened on a hub, and was asked for by nobody here.
pub struct Happened<'a> {
    pub org: OrgId,
    pub owner: Option<UserId>,
    pub kind: model::Kind,
    pub id: Uuid,
    pub name: &'a str,
    /// In the place of an action's key: `vm.missing`.
    pub word: &'a str,
    pub message: &'a str,
}

/// What an observation met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    pub org: OrgId,
    pub owner: Option<UserId>,
    pub vapp: VappId,
    pub name: String,
    pub power: Power,
    pub known_uid: Option<String>,
    /// The hub had been brought to what is asked for: a difference now is somebody else's doing.
    pub settled: bool,
    /// The same of its power, to which the hub may have been brought though something else is still to come.
    pub powered: bool,
    pub deleted: bool,
    pub before: Seen,
    pub cpus: i32,
    pub memory_mb: i64,
    /// Its size is an instance type's.
    pub typed: bool,
    /// The object's count of changes, and what it asked for, when it had been brought to what is asked for here.
    pub hub_generation: Option<i64>,
    pub hub_form: Option<Form>,
    pub outside: String,
    pub changed: bool,
    /// NICs or addresses that it still has, and that are not wanted any more.
    pub nics_leaving: bool,
    /// It was taken for a stranger before it was adopted.
    pub stranger: bool,
    /// The agent inside the guest answers, and did not before.
    pub agent_came: bool,
    /// It waits for a restart from now on.
    pub restart_came: bool,
}

impl Observed {
    /// The same, where what an earlier look found was not followed up.
    pub fn after(self, missed: &Observed) -> Observed {
        Observed {
            before: missed.before,
            changed: self.changed || missed.changed,
            agent_came: self.agent_came || missed.agent_came,
            restart_came: self.restart_came || missed.restart_came,
            stranger: self.stranger || missed.stranger,
            ..self
        }
    }
}
