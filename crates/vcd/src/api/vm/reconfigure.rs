//! A machine changed as a whole: what the body says is changed, and what it leaves out stays.
use super::{
    guest, nics, sections,
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
    Action, DiskId, Error, Kind, Result, TaskId, VdcId, VmId,
    disk::{DiskSpec, Slot},
    guest::GuestSettings,
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
    let id: VmId = ask.id(Kind::Vm)?;
    let task = apply(&ask, id, &body).await?;
    match task {
        Some(task) => task::accepted(&ask, Some(task)).await,
        None => nothing(&ask, &now(&ask, id).await?).await,
    }
}

/// The last task of what had to be done: it ends when all of it has come about. All of it is read before anything is done, so that
/// what can't be understood leaves the machine as it was.
async fn apply(ask: &Ask, id: VmId, body: &Element) -> Result<Option<TaskId>> {
    let vm = now(ask, id).await?;
    same_policy(ask, &vm, body).await?;
    let title = body.attr("name").map(str::trim).filter(|n| !n.is_empty()).unwrap_or(&vm.name);
    let text = body.child("Description").map_or(vm.description.as_str(), |d| d.text.trim());
    // clients send back whole machines; what they did not change says so
    let spec = body.child("VmSpecSection").filter(|s| s.attr("Modified") != Some("false"));
    let besides = besides(&vm, spec, body.child("BootOptions"))?;
    let policy = super::sizing(ask, vm.vdc, body, vm.sizing.as_ref().map(|(id, _)| *id)).await?;
    let size = match spec {
        Some(spec) => size(spec, &vm)?,
        None => (vm.cpus, vm.memory_mb),
    };
    let disks = match spec.and_then(|s| s.child("DiskSection")) {
        Some(section) => disks(ask, &vm, section).await?,
        None => None,
    };
    let cards = match body.child("NetworkConnectionSection") {
        Some(section) => Some(nics::read(section, &nics::reach(ask, vm.vdc, Some(vm.vapp)).await?)?),
        None => None,
    };
    let told = body.child("GuestCustomizationSection");
    if let Some(section) = told {
        guest::read(section, &GuestSettings::default())?;
    }

    let mut last = None;
    if (title, text) != (vm.name.as_str(), vm.description.as_str()) {
        vm::edit(ask.d(), &ask.actor, id, vm.version, title, text).await?;
    }
    if besides != vm.besides {
        vm::keep(ask.d(), &ask.actor, id, besides).await?;
    }
    if let Some(policy) = policy {
        last = vm::resize_to(ask.d(), &ask.actor, id, policy).await?.or(last);
    } else if size != (vm.cpus, vm.memory_mb) {
        last = vm::resize(ask.d(), &ask.actor, id, size.0, size.1).await?.or(last);
    }
    if let Some(disks) = disks {
        last = disk::set_all(ask.d(), &ask.actor, id, disks).await?.or(last);
    }
    if let Some(cards) = cards {
        last = nics::set_nics(ask, &now(ask, id).await?, cards).await?.or(last);
    }
    if let Some(section) = told {
        last = guest::customize(ask, id, section).await?.or(last);
    }
    Ok(last)
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

pub(crate) fn besides(vm: &Vm, spec: Option<&Element>, boot: Option<&Element>) -> Result<Besides> {
    let mut out = vm.besides.clone();
    if let Some(spec) = spec {
        out = of_spec(spec, out)?;
        // what we say by ourselves is not the client's choice
        if vm.besides.os_type.is_empty() && out.os_type == super::spec::os_type(vm) {
            out.os_type = String::new();
        }
        if vm.besides.hardware_version.is_empty() && out.hardware_version == super::spec::HARDWARE_VERSION {
            out.hardware_version = String::new();
        }
        if vm.besides.firmware.is_empty() && out.firmware == super::spec::firmware(&vm.built()) {
            out.firmware = String::new();
        }
        if vm.besides.cores_per_socket.is_none() && out.cores_per_socket == Some(super::hardware::cores(vm)) {
            out.cores_per_socket = None;
        }
    }
    if let Some(boot) = boot {
        out = sections::booted(vm, boot, out)?;
        if out.boot.network_protocol == "IPV4" {
            out.boot.network_protocol = String::new();
        }
    }
    Ok(out)
}

/// What a spec says besides sizes and disks.
pub(crate) fn of_spec(spec: &Element, now: Besides) -> Result<Besides> {
    let mut out = now;
    if let Some(cores) = spec.number::<i32>("NumCoresPerSocket")? {
        if !(1..=512).contains(&cores) {
            return Err(Error::BadRequest("NumCoresPerSocket is from 1 to 512.".into()));
        }
        out.cores_per_socket = Some(cores);
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
async fn disks(ask: &Ask, vm: &Vm, section: &Element) -> Result<Option<Vec<(Option<DiskId>, DiskSpec)>>> {
    let known = placed(vm);
    let mut wanted: Vec<(Option<DiskId>, DiskSpec)> = Vec::new();
    let mut taken: Vec<Slot> = known.iter().map(|p| p.slot).collect();
    let profiles = super::profiles(ask, vm.vdc).await?;
    let mut changed = false;
    for settings in section.all("DiskSettings").filter(|s| s.child("Disk").is_none()) {
        let size_mb: i64 =
            settings.number("SizeMb")?.ok_or_else(|| Error::BadRequest("A disk has no SizeMb.".into()))?;
        let id: Option<u32> = settings.number("DiskId")?;
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

/// Another size, by the older addresses.
pub(crate) async fn resize(
    ask: &Ask,
    id: VmId,
    cpus: Option<i32>,
    memory_mb: Option<i64>,
    cores: Option<i32>,
) -> Result<Answer> {
    match resized(ask, id, cpus, memory_mb, cores).await? {
        Some(task) => task::accepted(ask, Some(task)).await,
        None => nothing(ask, &now(ask, id).await?).await,
    }
}

/// None: it is of that size already.
pub(crate) async fn resized(
    ask: &Ask,
    id: VmId,
    cpus: Option<i32>,
    memory_mb: Option<i64>,
    cores: Option<i32>,
) -> Result<Option<TaskId>> {
    let vm = now(ask, id).await?;
    let mut last = None;
    if cores.is_some_and(|c| c != super::hardware::cores(&vm)) {
        let besides = Besides { cores_per_socket: cores, ..vm.besides.clone() };
        last = vm::keep(ask.d(), &ask.actor, id, besides).await?;
    }
    let size = (cpus.unwrap_or(vm.cpus), memory_mb.unwrap_or(vm.memory_mb));
    if size == (vm.cpus, vm.memory_mb) {
        return Ok(last);
    }
    Ok(vm::resize(ask.d(), &ask.actor, id, size.0, size.1).await?.or(last))
}
