//! The nine things that must be true when a run has come to rest, whatever went wrong in it. They are read from the
//! database, from the stores of all hubs, and from what the witness saw on the way.
use crate::{
    belongings,
    stage::{KUBEVIRT, Stage},
    witness::{VM_ID, label, uid},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// What a broken promise comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    Lost,
    Duplicated,
    WronglyDeleted,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) invariant: &'static str,
    pub(crate) harm: Harm,
    pub(crate) what: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.invariant, self.what)
    }
}

/// `may_fail`: something that was done by hand may have stood in the way for good, if that is said.
pub(crate) async fn check(stage: &Stage, may_fail: bool) -> Vec<Finding> {
    let now = Now::read(stage).await;
    let mut found = Findings { all: Vec::new() };
    now.reached(&mut found, may_fail);
    now.once(&mut found, stage);
    now.known(&mut found);
    now.power(&mut found, may_fail);
    now.deleted(&mut found, stage);
    quota(stage, &mut found).await;
    addresses(stage, &mut found).await;
    disks(stage, &mut found, may_fail).await;
    belongings::check(stage, &mut found, may_fail).await;
    tasks(stage, &mut found, may_fail).await;
    audit(stage, &mut found).await;
    silence(stage, &mut found).await;
    found.all
}

/// What carries our mark and nobody knows any more, but what is going already.
pub(crate) async fn forgotten(stage: &Stage) -> Vec<(String, Arc<Value>)> {
    let now = Now::read(stage).await;
    let unknown = now.objects.iter().filter(|(hub, resource, o)| now.row_of(hub, resource, o).is_none());
    let stays = unknown.filter(|(_, _, o)| o["metadata"]["deletionTimestamp"].is_null());
    stays.map(|(hub, resource, o)| (format!("{resource} {} on {hub}", name(o)), o.clone())).collect()
}

pub(crate) struct Findings {
    all: Vec<Finding>,
}

impl Findings {
    pub(crate) fn add(&mut self, invariant: &'static str, harm: Harm, what: impl Into<String>) {
        self.all.push(Finding { invariant, harm, what: what.into() });
    }
}

pub(crate) async fn rows(stage: &Stage, sql: &str) -> Vec<Value> {
    let text = stage.app.db.text(&format!("select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text from ({sql}) t")).await;
    serde_json::from_str(&text).unwrap()
}

struct Now {
    vms: BTreeMap<String, Value>,
    vapps: BTreeMap<String, Value>,
    networks: BTreeMap<String, Value>,
    vdcs: Vec<Value>,
    work: Vec<Value>,
    /// Objects under our mark, with the hub they are on.
    objects: Vec<(String, &'static str, Arc<Value>)>,
    /// Namespaces under our mark, all quotas, the ids of VMs whose instances run.
    quotas: BTreeMap<String, Arc<Value>>,
    running: BTreeSet<String>,
    /// VMs whose objects were deleted, by uid, as it was known before anything else was read: each had to be asked for by then.
    deleted: BTreeMap<String, String>,
}

const OURS: [(&str, &str); 5] = [
    ("k8s.ovn.org", "userdefinednetworks"),
    (KUBEVIRT, "virtualmachines"),
    ("", "secrets"),
    ("template.openshift.io", "templateinstances"),
    ("", "namespaces"),
];

impl Now {
    async fn read(stage: &Stage) -> Now {
        let deleted = stage.witness.seen().deleted.clone();
        let by_id = |all: Vec<Value>| all.into_iter().map(|r| (text(&r, "id"), r)).collect();
        let vms = rows(stage, "select v.*, d.namespace_name from vms v join vdcs d on d.id = v.vdc_id").await;
        let vdcs = "select v.*, p.hub_id, p.namespace_uid, p.applied, p.ready_at, p.gone_at from vdcs v left join places p on p.vdc_id = v.id";
        let mut now = Now {
            vms: by_id(vms),
            vapps: by_id(rows(stage, "select id, org_id, gone_at, deleted_at, name from vapps").await),
            networks: by_id(rows(stage, "select id, org_id, gone_at, deleted_at, name from networks").await),
            vdcs: rows(stage, vdcs).await,
            work: rows(stage, "select kind, id, failing, last_error, attempt, lease_until > now() as held, round(extract(epoch from not_before - now()), 1) as due from work").await,
            objects: Vec::new(),
            quotas: BTreeMap::new(),
            running: BTreeSet::new(),
            deleted,
        };
        for hub in stage.hubs() {
            for (group, resource) in OURS {
                let marked = |o: &Arc<Value>| label(o, "app.kubernetes.io/managed-by") == "ssvirt";
                let known = hub.objects(group, resource).into_iter().filter(marked);
                now.objects.extend(known.map(|o| (hub.name().to_owned(), resource, o)));
            }
            for quota in hub.objects("", "resourcequotas").into_iter().filter(|q| name(q) == "ssvirt") {
                now.quotas.insert(format!("{}/{}", hub.name(), text(&quota["metadata"], "namespace")), quota);
            }
            let instances = hub.objects(KUBEVIRT, "virtualmachineinstances");
            let runs = instances.iter().filter(|i| i["status"]["phase"] == "Running" && !paused(i));
            now.running.extend(runs.map(|i| label(i, VM_ID)).filter(|id| !id.is_empty()));
        }
        // they carry our mark, nobody knows them, and they must stay as they are
        for (_, _, left_alone) in now.objects.extract_if(.., |(_, _, o)| stage.witness.guards(o)) {
            now.running.remove(&label(&left_alone, VM_ID));
        }
        now
    }

    fn of<'a>(&'a self, resource: &'a str) -> impl Iterator<Item = (&'a str, &'a Arc<Value>)> {
        self.objects.iter().filter(move |(_, r, _)| *r == resource).map(|(hub, _, o)| (hub.as_str(), o))
    }

    /// I1: what was asked for is there, or it is said why not. Nothing is still to be done.
    fn reached(&self, found: &mut Findings, may_fail: bool) {
        for work in &self.work {
            if !(may_fail && work["failing"] == "failed") {
                found.add("I1", Harm::Lost, format!("work is left: {work}"));
            }
        }
        for vm in self.vms.values() {
            let (id, what) = (text(vm, "id"), format!("VM {} ({})", text(vm, "name"), text(vm, "id")));
            if !vm["deleted_at"].is_null() {
                if vm["gone_at"].is_null() {
                    found.add("I1", Harm::Lost, format!("{what} was deleted and is not gone"));
                }
                continue;
            }
            let said = format!("{}{}", text(vm, "problem"), text(vm, "outside"));
            if !said.is_empty() || vm["obs_state"] == "missing" {
                if !may_fail {
                    found.add("I1", Harm::Lost, format!("{what} has a problem: {said}"));
                }
                continue;
            }
            // a copy whose original was deleted by hand has nothing to be made of; its task says so
            let original = self.vms.get(&text(vm, "copy_of"));
            if may_fail && original.is_some_and(|o| o["obs_state"] == "missing") {
                continue;
            }
            let object = self.of("virtualmachines").find(|(_, o)| uid(o) == text(vm, "uid") && label(o, VM_ID) == id);
            let Some((_, object)) = object else {
                found.add("I3", Harm::Lost, format!("{what} has a row, and no object"));
                continue;
            };
            self.as_asked(found, vm, &what, object);
        }
        for network in self.networks.values() {
            if !network["deleted_at"].is_null() && network["gone_at"].is_null() {
                found.add("I1", Harm::Lost, format!("a network was deleted and is not gone: {network}"));
            }
        }
        for vdc in &self.vdcs {
            self.vdc(found, vdc, may_fail);
        }
    }

    fn as_asked(&self, found: &mut Findings, vm: &Value, what: &str, object: &Value) {
        let mut differs = |field: &str, asked: &Value, is: &Value| {
            if asked != is {
                found.add("I1", Harm::Lost, format!("{what}: {field} is {is}, asked for was {asked}"));
            }
        };
        differs("what was applied", &vm["generation"], &vm["applied"]);
        let (strategy, state) = match text(vm, "power").as_str() {
            "on" => ("RerunOnFailure", "running"),
            "off" => ("Halted", "stopped"),
            _ => ("RerunOnFailure", "suspended"),
        };
        differs("the run strategy", &strategy.into(), &object["spec"]["runStrategy"]);
        differs("the state", &state.into(), &vm["obs_state"]);
        differs("the name", &vm["name"], &object["metadata"]["annotations"]["ssvirt.io/vm"]);
        differs("the guest", &true.into(), &self.told(vm).into());
        if vm["instance_type"] == "" {
            let domain = &object["spec"]["template"]["spec"]["domain"];
            let memory = Value::from(domain["memory"]["guest"].as_str().map_or(0, megabytes));
            differs("the memory", &vm["memory_mb"], &memory);
            let n = |key: &str| domain["cpu"][key].as_i64().unwrap_or(1);
            differs("the CPUs", &vm["cpus"], &(n("sockets") * n("cores") * n("threads")).into());
        }
    }

    /// Does its guest read what it was last told? Its computer's name stands in it.
    fn told(&self, vm: &Value) -> bool {
        if vm["guest_generation"] == 0 || vm["cloud_init"].is_null() {
            return true;
        }
        let (id, name) = (text(vm, "id"), text(vm, "computer_name"));
        let secret = self.of("secrets").find(|(_, o)| label(o, VM_ID) == id);
        let data = secret.map(|(_, o)| BASE64_STANDARD.decode(text(&o["data"], "userdata")).unwrap_or_default());
        // in parts, which are base64 again
        data.is_some_and(|data| {
            let data = String::from_utf8_lossy(&data);
            let part = |line: &str| BASE64_STANDARD.decode(line).ok().and_then(|b| String::from_utf8(b).ok());
            data.contains(&name) || data.lines().filter_map(part).any(|text| text.contains(&name))
        })
    }

    fn vdc(&self, found: &mut Findings, vdc: &Value, may_fail: bool) {
        let what = format!("VDC {}", text(vdc, "name"));
        let namespace = self.of("namespaces").find(|(hub, o)| {
            *hub == text(vdc, "hub_id")
                && uid(o) == text(vdc, "namespace_uid")
                && name(o) == text(vdc, "namespace_name")
        });
        if !vdc["deleted_at"].is_null() {
            if !vdc["hub_id"].is_null() && vdc["gone_at"].is_null() {
                found.add("I1", Harm::Lost, format!("{what} was deleted and its namespace is not gone"));
            }
            return;
        }
        if may_fail {
            return;
        }
        // a cordoned hub let go of it, and it had nothing there
        if !vdc["gone_at"].is_null() {
            if namespace.is_some() {
                found.add("I3", Harm::Lost, format!("{what} left its hub, and its namespace is there"));
            }
            return;
        }
        let Some((hub, namespace)) = namespace else {
            return found.add("I3", Harm::Lost, format!("{what} has no namespace"));
        };
        if vdc["version"] != vdc["applied"] {
            found.add("I1", Harm::Lost, format!("{what} is at {}, its hub at {}", vdc["version"], vdc["applied"]));
        }
        let enabled = &namespace["metadata"]["annotations"]["ssvirt.io/enabled"];
        if *enabled != vdc["enabled"].to_string().as_str() {
            found.add("I1", Harm::Lost, format!("{what}: enabled is {enabled} on its hub"));
        }
        let quota = self.quotas.get(&format!("{hub}/{}", name(namespace)));
        let hard = quota.map(|q| q["spec"]["hard"]["count/virtualmachines.kubevirt.io"].clone());
        let limited = hard.clone().is_some_and(|h| !h.is_null());
        if quota.is_none() || limited == vdc["vm_limit"].is_null() {
            found.add("I1", Harm::Lost, format!("{what}: the quota on its hub is {hard:?}"));
        }
    }

    /// I2: one object an id over all hubs, and never two that run.
    fn once(&self, found: &mut Findings, stage: &Stage) {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (_, object) in self.of("virtualmachines") {
            *counts.entry(label(object, VM_ID)).or_default() += 1;
        }
        for (id, n) in counts.into_iter().filter(|(_, n)| *n > 1) {
            found.add("I2", Harm::Duplicated, format!("{n} objects of VM {id}"));
        }
        for id in &stage.witness.seen().twice {
            found.add("I2", Harm::Duplicated, format!("VM {id} ran twice at the same time"));
        }
    }

    /// What is known here of an object under our mark.
    fn row_of(&self, hub: &str, resource: &str, object: &Value) -> Option<&Value> {
        let (vm, vapp, vdc) =
            (label(object, VM_ID), label(object, "ssvirt.io/vapp-id"), label(object, "ssvirt.io/vdc-id"));
        // a VDC has a row for each hub it is on
        let of_vdc = || self.vdcs.iter().filter(|v| text(v, "id") == vdc).max_by_key(|v| text(v, "hub_id") == hub);
        match resource {
            // the rest of it is told by its namespace
            "userdefinednetworks" if name(object) == "ssvirt-own" => of_vdc(),
            "userdefinednetworks" => self.networks.get(&label(object, "ssvirt.io/network-id")),
            "namespaces" => of_vdc(),
            _ if !vm.is_empty() => self.vms.get(&vm),
            _ => self.vapps.get(&vapp),
        }
    }

    /// I3: what carries our mark is known here and not deleted. I7: and is its organization's.
    fn known(&self, found: &mut Findings) {
        for (hub, resource, object) in &self.objects {
            let what = format!("{resource} {}/{} on {hub}", text(&object["metadata"], "namespace"), name(object));
            let row = self.row_of(hub, resource, object);
            let Some(row) = row else {
                found.add("I3", Harm::Lost, format!("{what}: nobody knows it"));
                continue;
            };
            if !row["gone_at"].is_null() {
                found.add("I3", Harm::Lost, format!("{what}: it was deleted, and is there"));
            }
            if row["org_id"] != label(object, "ssvirt.io/organization-id").as_str() {
                found.add("I7", Harm::Other, format!("{what}: its label names another organization"));
            }
        }
    }

    /// I8: what runs is meant to run, or is said to have been started by hand.
    fn power(&self, found: &mut Findings, may_fail: bool) {
        for id in &self.running {
            let row = self.vms.get(id);
            let meant = row.is_some_and(|vm| vm["power"] == "on" && vm["deleted_at"].is_null());
            let said = may_fail && row.is_some_and(|vm| vm["outside"] != "" || vm["problem"] != "");
            if !meant && !said {
                found.add("I8", Harm::Duplicated, format!("VM {id} runs, and is not meant to"));
            }
        }
    }

    /// I9: nothing of others was touched, and nothing of ours was deleted that nobody asked for.
    fn deleted(&self, found: &mut Findings, stage: &Stage) {
        for harm in &stage.witness.seen().harmed {
            found.add("I9", Harm::WronglyDeleted, harm.clone());
        }
        for (uid, id) in &self.deleted {
            let asked = self.vms.get(id).is_some_and(|vm| !vm["deleted_at"].is_null());
            if !asked {
                found.add(
                    "I9",
                    Harm::WronglyDeleted,
                    format!("VM {id} (object {uid}) was deleted, and nobody asked for it"),
                );
            }
        }
    }
}

/// I4: what is counted as used is what is there.
async fn quota(stage: &Stage, found: &mut Findings) {
    for (table, column) in [("vdcs", "vdc_id"), ("users", "owner_id"), ("organizations", "org_id")] {
        let sql = format!(
            "select t.name, t.vms_used, t.cpus_used, t.memory_used_mb, t.storage_used_mb, s.* from {table} t cross join lateral
             (select count(*) as vms, coalesce(sum(cpus), 0) as cpus, coalesce(sum(memory_mb), 0) as memory,
                     (select coalesce(sum(size_mb), 0) from disks k where k.{column} = t.id and k.gone_at is null) as storage
              from vms v where v.{column} = t.id and v.gone_at is null) s
             where (t.vms_used, t.cpus_used, t.memory_used_mb, t.storage_used_mb) is distinct from (s.vms, s.cpus, s.memory, s.storage)"
        );
        for row in rows(stage, &sql).await {
            found.add("I4", Harm::Other, format!("{table}: {row}"));
        }
    }
    let of_policies = "select s.*, k.used from vdc_storage s cross join lateral
        (select coalesce(sum(size_mb), 0) as used from disks k where k.vdc_id = s.vdc_id and k.policy_id = s.policy_id and k.gone_at is null) k
        where s.used_mb is distinct from k.used";
    for row in rows(stage, of_policies).await {
        found.add("I4", Harm::Other, format!("storage policy: {row}"));
    }
}

/// I1, I3: every disk that should be there has its volume, and no volume is left of one that should not.
async fn disks(stage: &Stage, found: &mut Findings, may_fail: bool) {
    let all = rows(stage, "select k.*, v.hub_name as machine, v.deleted_at as vm_deleted, v.obs_state as vm_state, v.problem as vm_problem, d.namespace_name
        from disks k join vdcs d on d.id = k.vdc_id left join vms v on v.id = k.vm_id").await;
    let mut there: BTreeMap<String, String> = BTreeMap::new();
    for hub in stage.hubs() {
        for volume in hub.objects("cdi.kubevirt.io", "datavolumes") {
            let key = format!("{}/{}", text(&volume["metadata"], "namespace"), name(&volume));
            if label(&volume, "app.kubernetes.io/managed-by") == "ssvirt"
                && there.insert(key.clone(), uid(&volume)).is_some()
            {
                found.add("I2", Harm::Duplicated, format!("two volumes {key}"));
            }
        }
    }
    let mut expected = BTreeSet::new();
    let images =
        "select 'vmaas-system/image-' || replace(i.image_id::text, '-', '') as key, i.ready_at from hub_images i";
    for image in rows(stage, images).await {
        let key = text(&image, "key");
        if !image["ready_at"].is_null() && !there.contains_key(&key) && !may_fail {
            found.add("I3", Harm::Lost, format!("an image is ready, and there is no volume {key}"));
        }
        expected.insert(key);
    }
    let left = format!(
        "select i.name, h.hub_id from hub_images h join images i on i.id = h.image_id join item_versions v on v.id = i.version_id
         where v.deleted_at is not null and not ({may_fail} and image_needed(i.id, h.hub_id))"
    );
    for image in rows(stage, &left).await {
        let what =
            format!("the image {} of a deleted version is left on {}", text(&image, "name"), text(&image, "hub_id"));
        found.add("I3", Harm::Lost, what);
    }
    for disk in &all {
        let (id, gone) = (text(disk, "id"), !disk["gone_at"].is_null());
        let what = format!("disk {} ({id})", text(disk, "name"));
        if !disk["deleted_at"].is_null() && !gone && disk["vm_deleted"].is_null() && !may_fail {
            found.add("I1", Harm::Lost, format!("{what} was deleted and is not gone"));
        }
        let volume = match (disk["independent"] == true, text(disk, "obs_volume").as_str()) {
            (true, _) => text(disk, "hub_name"),
            (false, "") => format!("{}-{}", text(disk, "machine"), text(disk, "name")),
            (false, seen) => seen.to_owned(),
        };
        let key = format!("{}/{volume}", text(disk, "namespace_name"));
        if gone {
            if there.contains_key(&key) && !expected.contains(&key) {
                found.add("I3", Harm::Lost, format!("{what} is gone, and its volume {key} is there"));
            }
            continue;
        }
        // an independent one says by itself that somebody deleted it on its hub
        let said = [text(disk, "problem"), text(disk, "vm_problem")].iter().any(|p| !p.is_empty())
            || [&disk["vm_state"], &disk["obs_state"]].iter().any(|state| **state == "missing");
        if !(there.contains_key(&key) || may_fail && said) && disk["vm_state"] != "missing" {
            found.add("I3", Harm::WronglyDeleted, format!("{what} has a row, and no volume {key}"));
        }
        if disk["independent"] == true && there.get(&key) != Some(&text(disk, "uid")) && !may_fail {
            found.add("I2", Harm::Duplicated, format!("{what} is another volume than {}", text(disk, "uid")));
        }
        expected.insert(key);
    }
    if !may_fail {
        for key in there.keys().filter(|key| !expected.contains(*key)) {
            found.add("I3", Harm::Lost, format!("volume {key}: nobody knows it"));
        }
    }
}

/// I4, of addresses: those that are taken are those of NICs that are there, and no other. A machine in trouble may not have
/// left what it is to leave.
async fn addresses(stage: &Stage, found: &mut Findings) {
    let leaked = "select v.name, n.name as nic, host(a.address) as address from nics n join vms v on v.id = n.vm_id
        left join addresses a on a.nic_id = n.id
        where v.gone_at is not null or ((n.removed_at is not null or (a.nic_id is not null
              and (a.network_id, a.address) is distinct from (n.network_id, n.address))) and v.problem = '' and v.outside = '')";
    let missing = "select n.name, host(n.address) as address from nics n where n.address is not null and n.removed_at is null
        and not exists (select from addresses a where a.nic_id = n.id and (a.network_id, a.address) = (n.network_id, n.address))";
    for (sql, what) in [(leaked, "an address is still taken"), (missing, "a NIC's address is not taken")] {
        for row in rows(stage, sql).await {
            found.add("I4", Harm::Other, format!("{what}: {row}"));
        }
    }
}

/// I5: every task has ended, and well if nothing stood in the way.
async fn tasks(stage: &Stage, found: &mut Findings, may_fail: bool) {
    for task in rows(stage, "select operation, object_name, status, message from tasks where status <> 'success'").await
    {
        match text(&task, "status").as_str() {
            "queued" | "running" => found.add("I5", Harm::Lost, format!("a task is open: {task}")),
            "error" if !may_fail => found.add("I1", Harm::Lost, format!("a task failed: {task}")),
            _ => {}
        }
    }
}

/// I6: one row in the audit and one event for each change that was accepted.
async fn audit(stage: &Stage, found: &mut Findings) {
    let now = stage.audit_rows().await;
    let (accepted, doubtful) = {
        let counts = stage.counts.lock().unwrap();
        (counts.accepted.clone(), counts.doubtful.clone())
    };
    let count = |of: &BTreeMap<&'static str, i64>, action: &str| of.get(action).copied().unwrap_or_default();
    let actions: BTreeSet<&str> = now.keys().map(String::as_str).chain(accepted.keys().copied()).collect();
    for action in actions {
        let written =
            now.get(action).copied().unwrap_or_default() - stage.before.get(action).copied().unwrap_or_default();
        let (least, most) = (count(&accepted, action), count(&accepted, action) + count(&doubtful, action));
        if !(least..=most).contains(&written) {
            found.add("I6", Harm::Lost, format!("{action}: {least} accepted, {written} rows in the audit"));
        }
    }
    let differ = "select * from (select action, object_id, count(*) n from audit where result = 'done' group by 1, 2) a full join
        (select kind as action, object_id, count(*) n from events where user_name <> 'hub' and kind !~ 'lease_(warning|ended)$' group by 1, 2) e using (action, object_id)
        where a.n is distinct from e.n";
    for row in rows(stage, differ).await {
        found.add("I6", Harm::Lost, format!("audit and events differ: {row}"));
    }
}

/// And: a hub's silence makes nothing look stopped or deleted.
async fn silence(stage: &Stage, found: &mut Findings) {
    let sql = format!("select was, is_now from seen_log where vm = '{}'", stage.steady);
    for row in rows(stage, &sql).await {
        found.add("silence", Harm::Other, format!("a machine that ran all the time looked otherwise: {row}"));
    }
}

pub(crate) fn text(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap_or_default().to_owned()
}

pub(crate) fn name(object: &Value) -> String {
    text(&object["metadata"], "name")
}

fn paused(instance: &Value) -> bool {
    let conditions = instance["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|c| c["type"] == "Paused" && c["status"] == "True")
}

fn megabytes(quantity: &str) -> i64 {
    let (number, unit) = quantity.split_at(quantity.find(|c: char| !c.is_ascii_digit()).unwrap_or(quantity.len()));
    let number: i64 = number.parse().unwrap_or_default();
    if unit == "Gi" { number * 1024 } else { number }
}
