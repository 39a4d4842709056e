//! A machine changed as a whole: what the body says is changed, and what it leaves out stays.
use super::{
    guest,
    hardware::{self, Disks, Hardware},
    nics, sections,
    slots::{self, Placed, placed},
};
use crate::{
    answer::Answer,
    api::task,
    ask::Ask,
    routes::Routes,
    wire::{body::Read, href::mixed, rasd},
};
use domain::{disk, task::Noted, vm};
use model::{
    Action, Error, Kind, Result, SizingId, VdcId, VmId,
    disk::{DiskSpec, Slot},
    guest::GuestSettings,
    nic::NicSpec,
    storage::VdcPolicy,
    vm::{Besides, Vm},
};
use xml::Element;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.post("/api/vApp/vm-{id}/action/reconfigureVm", reconfigure).put("/api/vApp/vm-{id}", reconfigure)
}

/// 202 for something that is so already.
pub(crate) async fn nothing(ask: &Ask, vm: &Vm) -> Result<Answer> {
    let what = Noted { org: vm.org, id: vm.id.0, name: vm.name.clone(), owner: vm.owner };
    task::accepted_about(ask, Action::VmEdit, what).await
}

async fn now(ask: &Ask, id: VmId) -> Result<Vm> {
    vm::get(ask.d(), &ask.actor, id).await
}

async fn reconfigure(ask: Ask) -> Result<Answer> {
    let body = ask.xml("Vm")?;
    let vm = now(&ask, ask.id(Kind::Vm)?).await?;
    let change = read(&ask, &vm, &body).await?;
    carry_out(&ask, &vm, change).await
}

/// How a machine is to be. All of it is read before anything is done, so that what can't be understood leaves the machine as it was.
pub(crate) struct Change {
    title: String,
    description: String,
    besides: Besides,
    policy: Option<SizingId>,
    size: (i32, i64),
    /// None, as below: as they are.
    disks: Option<Disks>,
    cards: Option<Vec<NicSpec>>,
    told: Option<(GuestSettings, Option<String>)>,
}

impl Change {
    pub(crate) fn of_hardware(vm: &Vm, wanted: Hardware) -> Change {
        let Hardware { besides, size, disks, cards } = wanted;
        let (title, description) = (vm.name.clone(), vm.description.clone());
        Change { title, description, besides, policy: None, size, disks, cards, told: None }
    }
}

/// Clients send back whole machines with something changed somewhere in them. What the older sections say of hardware counts beside the
/// newer ones where it differs from what is there.
async fn read(ask: &Ask, vm: &Vm, body: &Element) -> Result<Change> {
    same_policy(ask, vm, body).await?;
    let older = match body.child("VirtualHardwareSection") {
        Some(section) => hardware::read(ask, vm, section).await?,
        None => Hardware::of(vm),
    };
    let title = body.attr("name").map(str::trim).filter(|n| !n.is_empty()).unwrap_or(&vm.name);
    let text = body.child("Description").map_or(vm.description.as_str(), |d| d.text.trim());
    // what they did not change says so
    let spec = body.child("VmSpecSection").filter(|s| s.attr("Modified") != Some("false"));
    let mut besides = besides(vm, &older, body, spec)?;
    if let Some(section) = body.child("VmCapabilities") {
        besides = sections::with_capabilities(section, besides)?;
    }
    besides.nested_hypervisor = body.flag("nestedHypervisorEnabled")?.unwrap_or(besides.nested_hypervisor);
    let policy = super::sizing(ask, vm.vdc, body, vm.sizing.as_ref().map(|(id, _)| *id)).await?;
    let (cpus, memory) = match spec {
        Some(spec) => size(spec, vm)?,
        None => (vm.cpus, vm.memory_mb),
    };
    let cpus = either("NumCpus", &vm.cpus, cpus, older.size.0)?;
    let memory = either("MemoryResourceMb", &vm.memory_mb, memory, older.size.1)?;
    let disks = match spec.and_then(|s| s.child("DiskSection")) {
        Some(section) => disks(ask, vm, section).await?,
        None => None,
    };
    let cards = match body.child("NetworkConnectionSection") {
        Some(section) => nics::changed(vm, &nics::read(section, &nics::reach(ask, vm.vdc, Some(vm.vapp)).await?)?),
        None => None,
    };
    let products = body.child("ProductSection").map(|_| body);
    Ok(Change {
        title: title.to_owned(),
        description: text.to_owned(),
        besides,
        policy,
        size: (cpus, memory),
        disks: either("DiskSection", &None, disks, older.disks)?,
        cards: either("NetworkConnectionSection", &None, cards, older.cards)?,
        told: guest::wished(ask, vm.id, body.child("GuestCustomizationSection"), products).await?,
    })
}

/// Of what two sections say: the one that differs from what is there counts, and two others are refused.
fn either<T: PartialEq>(what: &str, now: &T, one: T, other: T) -> Result<T> {
    match () {
        () if one == other || other == *now => Ok(one),
        () if one == *now => Ok(other),
        () => Err(Error::BadRequest(format!(
            "{what} and the section of hardware or system beside it say two different things of this VM. Change one of them, or both alike."
        ))),
    }
}

/// The answer is the last task of what had to be done: it ends when all of it has come about.
pub(crate) async fn carry_out(ask: &Ask, vm: &Vm, change: Change) -> Result<Answer> {
    let (id, mut last) = (vm.id, None);
    if (&change.title, &change.description) != (&vm.name, &vm.description) {
        vm::edit(ask.d(), &ask.actor, id, vm.version, &change.title, &change.description).await?;
    }
    if change.besides != vm.besides {
        last = vm::keep(ask.d(), &ask.actor, id, change.besides).await?;
    }
    if let Some(policy) = change.policy {
        last = vm::resize_to(ask.d(), &ask.actor, id, policy).await?.or(last);
    } else if change.size != (vm.cpus, vm.memory_mb) {
        last = vm::resize(ask.d(), &ask.actor, id, change.size.0, change.size.1).await?.or(last);
    }
    if let Some(disks) = change.disks {
        last = disk::set_all(ask.d(), &ask.actor, id, disks).await?.or(last);
    }
    if let Some(cards) = change.cards {
        last = nics::set_nics(ask, &now(ask, id).await?, cards).await?.or(last);
    }
    if let Some(told) = change.told {
        last = guest::tell(ask, id, told).await?.or(last);
    }
    match last {
        Some(task) => task::accepted(ask, Some(task)).await,
        None => nothing(ask, &now(ask, id).await?).await,
    }
}

/// Disks stay on what they were made of: another storage profile is refused before anything else is done.
async fn same_policy(ask: &Ask, vm: &Vm, body: &Element) -> Result<()> {
    if body.child("StorageProfile").is_none() {
        return Ok(());
    }
    let profiles = super::profiles(ask, vm.vdc).await?;
    let wanted = policy_of(&profiles, vm.vdc, body)?;
    let Some(first) = vm.disks.iter().find(|d| d.own()) else { return Ok(()) };
    stays_on(vm, &first.policy, wanted)
}

/// The storage profile that is named there, if one is.
fn policy_of<'a>(profiles: &'a [VdcPolicy], vdc: VdcId, e: &Element) -> Result<Option<&'a VdcPolicy>> {
    let Some(id) = e.child("StorageProfile").and_then(Read::id) else { return Ok(None) };
    let found = profiles.iter().find(|p| mixed(vdc.0, p.id.0) == id);
    found.map(Some).ok_or(Error::NotFound(Kind::StoragePolicy))
}

fn stays_on(vm: &Vm, made_of: &str, wanted: Option<&VdcPolicy>) -> Result<()> {
    match wanted {
        Some(p) if p.name != made_of => Err(Error::NotNow(format!(
            "Not now: the disks of {} are made of {made_of} and can't be moved to {}. Add a disk there instead.",
            vm.name, p.name
        ))),
        _ => Ok(()),
    }
}

/// A disk stays where it is: guests know it by its place.
fn stays(vm: &Vm, p: &Placed<'_>, settings: &Element) -> Result<()> {
    let (bus, unit) = (settings.number::<i16>("BusNumber")?, settings.number::<i16>("UnitNumber")?);
    let adapter: Option<i64> = settings.number("AdapterType")?;
    let other = bus.is_some_and(|n| n != p.slot.bus)
        || unit.is_some_and(|n| n != p.slot.unit)
        || adapter.is_some_and(|n| n != i64::from(p.words.adapter));
    match other {
        true => Err(Error::NotNow(format!(
            "Not now: the disk {} of {} stays on adapter {}, bus {}, unit {}. Add a disk at the other place instead.",
            p.disk.name, vm.name, p.words.adapter, p.slot.bus, p.slot.unit
        ))),
        false => Ok(()),
    }
}

fn size(spec: &Element, vm: &Vm) -> Result<(i32, i64)> {
    let memory = match spec.child("MemoryResourceMb") {
        Some(m) => m.number("Configured")?,
        None => None,
    };
    Ok((spec.number("NumCpus")?.unwrap_or(vm.cpus), memory.unwrap_or(vm.memory_mb)))
}

/// What we say by ourselves is not the client's choice.
fn besides(vm: &Vm, older: &Hardware, body: &Element, spec: Option<&Element>) -> Result<Besides> {
    let mut out = older.besides.clone();
    let (cores, system) = (hardware::cores(vm), super::spec::os_type(vm));
    let (mut new_cores, mut new_system) = (cores, system);
    if let Some(spec) = spec {
        out = of_spec(spec, Besides { cpu: vm.besides.cpu, memory: vm.besides.memory, ..out })?;
        out.cpu = either("CpuResourceMhz", &vm.besides.cpu, out.cpu, older.besides.cpu)?;
        out.memory = either("MemoryResourceMb", &vm.besides.memory, out.memory, older.besides.memory)?;
        new_cores = out.cores_per_socket.unwrap_or(cores);
        new_system = spec.word("OsType").unwrap_or(system);
        if vm.besides.hardware_version.is_empty() && out.hardware_version == super::spec::HARDWARE_VERSION {
            out.hardware_version = String::new();
        }
        if vm.besides.firmware.is_empty() && out.firmware == super::spec::firmware(&vm.built()) {
            out.firmware = String::new();
        }
    }
    let older_cores = older.besides.cores_per_socket.unwrap_or(cores);
    let said = either("NumCoresPerSocket", &cores, new_cores, older_cores)?;
    out.cores_per_socket = if said == cores { vm.besides.cores_per_socket } else { Some(said) };
    let older_system = body.child("OperatingSystemSection").and_then(|s| s.attr("osType")).map_or(system, str::trim);
    let said = either("OsType", &system, new_system, older_system)?;
    out.os_type = if said == system { vm.besides.os_type.clone() } else { sections::kind_of_system(said)? };
    if let Some(boot) = body.child("BootOptions") {
        out = sections::booted(vm, boot, out)?;
        if out.boot.network_protocol == "IPV4" {
            out.boot.network_protocol = String::new();
        }
    }
    Ok(out)
}

pub(crate) fn some_cores(n: i32) -> Result<i32> {
    match n {
        1..=512 => Ok(n),
        _ => Err(Error::BadRequest("A socket has from 1 to 512 cores.".into())),
    }
}

/// What a spec says besides sizes and disks.
pub(crate) fn of_spec(spec: &Element, now: Besides) -> Result<Besides> {
    let mut out = now;
    if let Some(cores) = spec.number::<i32>("NumCoresPerSocket")? {
        out.cores_per_socket = Some(some_cores(cores)?);
    }
    if let Some(e) = spec.child("CpuResourceMhz") {
        out.cpu = super::spec::allocation(e, out.cpu)?;
    }
    if let Some(e) = spec.child("MemoryResourceMb") {
        out.memory = super::spec::allocation(e, out.memory)?;
    }
    if let Some(os) = spec.word("OsType") {
        out.os_type = sections::kind_of_system(os)?;
    }
    if let Some(version) = spec.word("HardwareVersion") {
        let known = version.strip_prefix("vmx-").is_some_and(|n| n.len() <= 3 && n.bytes().all(|b| b.is_ascii_digit()));
        if !known {
            return Err(Error::BadRequest("A HardwareVersion looks like vmx-19.".into()));
        }
        version.clone_into(&mut out.hardware_version);
    }
    if let Some(firmware) = spec.word("Firmware") {
        if !matches!(firmware, "bios" | "efi") {
            return Err(Error::BadRequest("Firmware is bios or efi.".into()));
        }
        firmware.clone_into(&mut out.firmware);
    }
    Ok(out)
}

/// All disks as they are to be; None: as they are. Independent ones are put in and taken out elsewhere.
async fn disks(ask: &Ask, vm: &Vm, section: &Element) -> Result<Option<Disks>> {
    let known = placed(vm);
    let mut wanted = Disks::new();
    let mut taken: Vec<Slot> = known.iter().map(|p| p.slot).collect();
    let profiles = super::profiles(ask, vm.vdc).await?;
    let mut changed = false;
    for settings in section.all("DiskSettings").filter(|s| s.child("Disk").is_none()) {
        let size_mb: i64 =
            settings.number("SizeMb")?.ok_or_else(|| Error::BadRequest("A disk has no SizeMb.".into()))?;
        let id: Option<u32> = settings.number("DiskId")?;
        slots::no_iops(settings)?;
        let policy = policy_of(&profiles, vm.vdc, settings)?;
        let there = known.iter().find(|p| Some(p.instance) == id && !p.disk.independent);
        if let Some(p) = there {
            changed |= size_mb != p.disk.size_mb;
            stays(vm, p, settings)?;
            stays_on(vm, &p.disk.policy, policy)?;
            wanted.push((p.disk.id, DiskSpec { size_mb, bus: p.disk.bus, slot: Some(p.slot), ..DiskSpec::default() }));
            continue;
        }
        changed = true;
        let adapter = settings.word("AdapterType").unwrap_or("5");
        let bus = rasd::bus_of_adapter(adapter)?;
        let slot = slots::asked(settings, adapter)?.unwrap_or_else(|| slots::first_free(bus, &taken));
        if taken.contains(&slot) {
            return Err(slots::taken(slot));
        }
        taken.push(slot);
        let policy = policy.map(|p| p.name.clone()).unwrap_or_default();
        wanted.push((None, DiskSpec { size_mb, bus, slot: Some(slot), policy, ..DiskSpec::default() }));
    }
    let own = known.iter().filter(|p| !p.disk.independent).count();
    Ok((changed || wanted.len() != own).then_some(wanted))
}
