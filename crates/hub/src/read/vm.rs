//! The parts of a VM as a hub reports them: the VM, its instance while it runs, and its disks.
use super::{
    form::form,
    guest,
    json::{at, because, condition, holds, keyed, list, number, owned, some, text},
    meta::{Meta, meta},
    quantity,
};
use crate::shape::{
    names::{COMPUTER_NAME, CREATED_FROM, DESCRIPTION, DISK, ORG, OWNER, VAPP, VDC, VM},
    patch::RunStrategy,
};
use model::{agent::System, form::Form};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A VirtualMachine, as far as we keep it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmPart {
    pub meta: Meta,
    /// KubeVirt's own word; empty until its controller has looked at the VM.
    pub printable: String,
    pub run_strategy: String,
    /// When it runs was changed, and KubeVirt has not acted on that yet.
    pub unheard: bool,
    /// Something of it runs or ends.
    pub instance: bool,
    pub restart_required: Option<String>,
    pub size: AskedSize,
    pub preference: Option<String>,
    pub disks: Vec<AskedDisk>,
    pub nics: Vec<AskedNic>,
    pub computer_name: String,
    /// What a condition says is wrong.
    pub problem: Option<String>,
    /// A start or stop that KubeVirt has not done yet.
    pub changing: bool,
    pub snapshot_in_progress: bool,
    pub notes: Notes,
    /// What it asks for, to tell whether somebody changed it.
    pub form: Form,
}

/// The annotations that let a lost row be rebuilt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notes {
    pub org: String,
    pub vdc: String,
    pub vapp: String,
    pub vm: String,
    pub owner: String,
    pub description: String,
    pub created_from: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedSize {
    pub instance_type: Option<String>,
    pub cpus: Option<i64>,
    pub cores_per_socket: Option<i64>,
    pub memory_mb: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedDisk {
    pub name: String,
    /// The DataVolume or claim behind it; empty for others, such as cloud-init.
    pub volume: String,
    pub bus: String,
    pub size_mb: Option<i64>,
    pub storage_class: Option<String>,
    pub cdrom: bool,
    /// Why a snapshot would leave it out; None: it would not, or nothing is known yet.
    pub no_snapshot: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedNic {
    pub name: String,
    /// `pod`, or the name of a NetworkAttachmentDefinition.
    pub network: String,
    pub mac: Option<String>,
    pub model: Option<String>,
    pub connected: bool,
    /// It is being unplugged.
    pub absent: bool,
}

/// A VirtualMachineInstance: there while a VM runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstancePart {
    pub meta: Meta,
    pub phase: String,
    pub node: Option<String>,
    pub nics: Vec<SeenNic>,
    /// What it is attached to, as `interface=network`.
    pub attached: Vec<String>,
    pub guest_os: Option<String>,
    pub system: System,
    /// Its disks and CD drives, by name.
    pub disks: Vec<String>,
    pub cpus: Option<i64>,
    pub memory_mb: Option<i64>,
    pub agent_connected: bool,
    pub live_migratable: bool,
    pub problem: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenNic {
    pub name: String,
    pub mac: Option<String>,
    /// Without loopback and link-local ones.
    pub ips: Vec<String>,
}

/// A DataVolume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumePart {
    pub meta: Meta,
    /// The VM's own name for the disk.
    pub disk: String,
    pub phase: String,
    /// 0 to 100, where it can be measured.
    pub progress: Option<u8>,
    pub size_mb: Option<i64>,
    pub storage_class: Option<String>,
    pub done: bool,
    pub problem: Option<String>,
}

pub fn vm(object: &Value) -> Option<VmPart> {
    let meta = meta(object)?;
    let spec = "/spec/template/spec";
    let run_strategy = match text(object, "/spec/runStrategy") {
        "" => match at(object, "/spec/running").and_then(Value::as_bool) {
            Some(true) => RunStrategy::Always.key(),
            Some(false) => RunStrategy::Halted.key(),
            None => "",
        },
        strategy => strategy,
    };
    let note = |key| keyed(object, "/metadata/annotations", key).to_owned();
    let failure = condition(object, "Failure").filter(|c| c["status"] == "True");
    let unscheduled =
        condition(object, "PodScheduled").filter(|c| c["status"] == "False" && c["reason"] == "Unschedulable");
    let unsynced = condition(object, "Synchronized").filter(|c| c["status"] == "False");
    let running = !matches!(text(object, "/status/printableStatus"), "Stopped" | "Stopping");
    Some(VmPart {
        printable: owned(object, "/status/printableStatus"),
        run_strategy: run_strategy.to_owned(),
        unheard: !matches!(text(object, "/status/runStrategy"), heard if heard.is_empty() || heard == run_strategy),
        instance: at(object, "/status/created").and_then(Value::as_bool) == Some(true),
        restart_required: condition(object, "RestartRequired")
            .filter(|c| c["status"] == "True")
            .map(|c| some(c, "/message").unwrap_or_else(|| "a restart is needed".into())),
        size: asked_size(object),
        preference: some(object, "/spec/preference/name"),
        disks: list(object, &format!("{spec}/volumes")).map(|v| asked_disk(object, v)).collect(),
        nics: list(object, &format!("{spec}/networks")).map(|n| asked_nic(object, n)).collect(),
        computer_name: match note(COMPUTER_NAME) {
            n if n.is_empty() => owned(object, &format!("{spec}/hostname")),
            n => n,
        },
        // copied from the instance, and left there when it is gone
        problem: failure
            .map(because)
            .or(unscheduled.filter(|_| running).map(no_room))
            .or(unsynced.filter(|_| running).map(because))
            .filter(|p| !p.is_empty()),
        changing: list(object, "/status/stateChangeRequests").next().is_some(),
        snapshot_in_progress: some(object, "/status/snapshotInProgress").is_some(),
        notes: Notes {
            org: note(ORG),
            vdc: note(VDC),
            vapp: note(VAPP),
            vm: note(VM),
            owner: note(OWNER),
            description: note(DESCRIPTION),
            created_from: note(CREATED_FROM),
        },
        form: form(object),
        meta,
    })
}

/// The scheduler's words come after ours: they speak of nodes.
fn no_room(unscheduled: &Value) -> String {
    if text(unscheduled, "/reason") != "Unschedulable" {
        return because(unscheduled);
    }
    let said = text(unscheduled, "/message");
    let why = if said.is_empty() { String::new() } else { format!(" The hub says: {said}") };
    format!("No node of its hub has room for it. Make it smaller, or ask your provider.{why}")
}

fn asked_size(vm: &Value) -> AskedSize {
    let domain = "/spec/template/spec/domain";
    let cpu = |key: &str| number(vm, &format!("{domain}/cpu/{key}")).filter(|n| (1..=100_000).contains(n));
    let explicit = cpu("sockets").is_some() || cpu("cores").is_some() || cpu("threads").is_some();
    let amount = |pointer: &str| at(vm, &format!("{domain}{pointer}")).and_then(quantity::of);
    let requested = || amount("/resources/requests/cpu").or_else(|| amount("/resources/limits/cpu"));
    AskedSize {
        instance_type: some(vm, "/spec/instancetype/name"),
        cpus: match explicit {
            true => Some(
                cpu("sockets")
                    .unwrap_or(1)
                    .saturating_mul(cpu("cores").unwrap_or(1))
                    .saturating_mul(cpu("threads").unwrap_or(1)),
            ),
            false => requested().and_then(|q| quantity::whole(&q)),
        },
        cores_per_socket: cpu("cores"),
        memory_mb: amount("/memory/guest")
            .or_else(|| amount("/resources/requests/memory"))
            .or_else(|| amount("/resources/limits/memory"))
            .and_then(|q| quantity::mib(&q)),
    }
}

fn asked_disk(vm: &Value, volume: &Value) -> AskedDisk {
    let name = owned(volume, "/name");
    let backing = match text(volume, "/dataVolume/name") {
        "" => owned(volume, "/persistentVolumeClaim/claimName"),
        dv => dv.to_owned(),
    };
    let device = list(vm, "/spec/template/spec/domain/devices/disks").find(|d| text(d, "/name") == name);
    let bus = device.map(|d| ["/disk/bus", "/cdrom/bus", "/lun/bus"].map(|p| text(d, p)).concat()).unwrap_or_default();
    let template =
        list(vm, "/spec/dataVolumeTemplates").find(|t| text(t, "/metadata/name") == backing && !backing.is_empty());
    let (size_mb, storage_class) = template.map(volume_size).unwrap_or_default();
    // until its claim is there KubeVirt can't tell, and says no
    let no_snapshot = list(vm, "/status/volumeSnapshotStatuses")
        .find(|s| text(s, "/name") == name && s["enabled"] == false && text(s, "/reason") != "PVC not found")
        .map(|s| some(s, "/reason").unwrap_or_else(|| "its storage makes no snapshots".into()));
    AskedDisk {
        no_snapshot,
        cdrom: device.is_some_and(|d| d.get("cdrom").is_some()),
        name,
        volume: backing,
        bus,
        size_mb,
        storage_class,
    }
}

/// Size and storage class of a DataVolume, which has one of two forms.
pub(super) fn volume_size(dv: &Value) -> (Option<i64>, Option<String>) {
    let either = |tail: &str| {
        ["/spec/storage", "/spec/pvc"].iter().find_map(|form| at(dv, &format!("{form}{tail}"))).filter(|v| !v.is_null())
    };
    let size = either("/resources/requests/storage").and_then(quantity::of).and_then(|q| quantity::mib(&q));
    (size, either("/storageClassName").and_then(Value::as_str).map(str::to_owned))
}

fn asked_nic(vm: &Value, network: &Value) -> AskedNic {
    let name = owned(network, "/name");
    let interface = list(vm, "/spec/template/spec/domain/devices/interfaces").find(|i| text(i, "/name") == name);
    AskedNic {
        network: match text(network, "/multus/networkName") {
            "" => "pod".to_owned(),
            nad => nad.to_owned(),
        },
        mac: interface.and_then(|i| some(i, "/macAddress")),
        model: interface.and_then(|i| some(i, "/model")),
        connected: interface.is_none_or(|i| !matches!(text(i, "/state"), "down" | "absent")),
        absent: interface.is_some_and(|i| text(i, "/state") == "absent"),
        name,
    }
}

pub fn instance(object: &Value) -> Option<InstancePart> {
    let meta = meta(object)?;
    let topology =
        |key: &str| number(object, &format!("/status/currentCPUTopology/{key}")).filter(|n| (1..=100_000).contains(n));
    let asked = |key: &str| number(object, &format!("/spec/domain/cpu/{key}")).filter(|n| (1..=100_000).contains(n));
    let cpu = |key: &str| topology(key).or_else(|| asked(key));
    let memory = ["/status/memory/guestCurrent", "/status/memory/guestAtBoot", "/spec/domain/memory/guest"];
    let unsynced = condition(object, "Synchronized").filter(|c| c["status"] == "False");
    let unscheduled = condition(object, "PodScheduled").filter(|c| c["status"] == "False");
    Some(InstancePart {
        phase: owned(object, "/status/phase"),
        node: some(object, "/status/nodeName"),
        nics: list(object, "/status/interfaces").map(seen_nic).collect(),
        attached: list(object, "/spec/networks").map(attached).collect(),
        guest_os: ["/status/guestOSInfo/prettyName", "/status/guestOSInfo/name"].iter().find_map(|p| some(object, p)),
        system: guest::system(at(object, "/status/guestOSInfo").unwrap_or(&Value::Null)),
        disks: list(object, "/spec/domain/devices/disks").map(|d| owned(d, "/name")).collect(),
        cpus: cpu("sockets")
            .map(|s| s.saturating_mul(cpu("cores").unwrap_or(1)).saturating_mul(cpu("threads").unwrap_or(1))),
        memory_mb: memory.iter().find_map(|p| quantity::mib(&quantity::of(at(object, p)?)?)),
        agent_connected: holds(object, "AgentConnected"),
        live_migratable: holds(object, "LiveMigratable"),
        problem: unscheduled.map(no_room).or(unsynced.map(because)).filter(|p| !p.is_empty()),
        meta,
    })
}

fn attached(network: &Value) -> String {
    let multus = text(network, "/multus/networkName");
    let name = multus.rsplit('/').next().filter(|n| !n.is_empty()).unwrap_or("pod");
    format!("{}={name}", text(network, "/name"))
}

fn seen_nic(nic: &Value) -> SeenNic {
    let mut ips: Vec<String> = list(nic, "/ipAddresses").filter_map(Value::as_str).map(str::to_owned).collect();
    if ips.is_empty() {
        ips.extend(some(nic, "/ipAddress"));
    }
    ips.retain(|ip| is_useful(ip));
    SeenNic { name: owned(nic, "/name"), mac: some(nic, "/mac"), ips }
}

fn is_useful(ip: &str) -> bool {
    match ip.split('/').next().unwrap_or_default().parse() {
        Ok(std::net::IpAddr::V4(ip)) => !ip.is_loopback() && !ip.is_link_local() && !ip.is_unspecified(),
        Ok(std::net::IpAddr::V6(ip)) => !ip.is_loopback() && !ip.is_unspecified() && !ip.is_unicast_link_local(),
        Err(_) => false,
    }
}

pub fn volume(object: &Value) -> Option<VolumePart> {
    let meta = meta(object)?;
    let phase = owned(object, "/status/phase");
    let running = condition(object, "Running").filter(|c| c["status"] == "False");
    let failing = running.filter(|c| matches!(text(c, "/reason"), "Error" | "ImagePullFailed"));
    let problem = match (failing, phase.as_str()) {
        (Some(c), _) => Some(because(c)),
        (None, "Failed") => {
            Some(condition(object, "Running").map(because).unwrap_or_else(|| "the disk could not be filled".into()))
        }
        _ => None,
    };
    let (size_mb, storage_class) = volume_size(object);
    Some(VolumePart {
        disk: keyed(object, "/metadata/labels", DISK).to_owned(),
        progress: percent(text(object, "/status/progress")),
        done: phase == "Succeeded",
        size_mb,
        storage_class,
        problem,
        phase,
        meta,
    })
}

/// How much a claim asks for.
pub fn claim_mb(claim: &Value) -> Option<i64> {
    at(claim, "/spec/resources/requests/storage").and_then(quantity::of).and_then(|q| quantity::mib(&q))
}

/// How much a claim asks for or has, whichever is more.
pub fn claim_room_mb(claim: &Value) -> Option<i64> {
    let has = at(claim, "/status/capacity/storage").and_then(quantity::of).and_then(|q| quantity::mib(&q));
    claim_mb(claim).max(has)
}

/// "12.34%"; "N/A" until it can be measured.
fn percent(text: &str) -> Option<u8> {
    let number: f64 = text.strip_suffix('%')?.parse().ok()?;
    (0.0..=100.0).contains(&number).then_some(number as u8)
}
