//! Virtual machines: their document, and what is under it.
mod devices;
pub(crate) mod guest;
pub(crate) mod hardware;
pub(crate) mod nics;
pub(crate) mod reconfigure;
mod screen;
mod sections;
pub(crate) use sections::read_boot;
pub(crate) mod slots;
pub(crate) mod spec;

use crate::{
    answer::Answer,
    api::{snapshot, task},
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{action, document, link, reference},
        href::{mixed, no_sizing, urn},
        media, status,
        times::stamp,
    },
};
use domain::{guest as told, snapshot as snapshots, storage, task as tasks, vm};
use model::{
    Action, Error, Kind, Result, SizingId, VdcId, VmId, can, guest::GuestSettings, snapshot::Snapshot,
    storage::VdcPolicy, task::Task, vm::Vm,
};
use std::fmt::Display;
use xml::{Element, Writer};

pub(crate) fn routes(routes: Routes) -> Routes {
    let routes = routes.get("/api/vApp/vm-{id}", get).delete("/api/vApp/vm-{id}", delete);
    let routes = hardware::routes(routes);
    let routes = nics::routes(routes);
    let routes = guest::routes(routes);
    let routes = sections::routes(routes);
    let routes = devices::routes(routes);
    let routes = screen::routes(routes);
    reconfigure::routes(routes)
}

/// A machine with what its document says besides.
pub(crate) struct Shown<'a> {
    pub(crate) vm: &'a Vm,
    pub(crate) profiles: &'a [VdcPolicy],
    /// What its guest is told; None: the part that is shown does not say it.
    pub(crate) guest: Option<&'a GuestSettings>,
    pub(crate) snapshot: Option<&'a Snapshot>,
    pub(crate) tasks: &'a [Task],
}

pub(crate) async fn profiles(ask: &Ask, vdc: VdcId) -> Result<Vec<VdcPolicy>> {
    storage::choices(ask.d(), vdc).await
}

/// The address of a storage policy in the machine's VDC, by its name.
pub(crate) fn profile<'a>(profiles: &'a [VdcPolicy], name: &str) -> Option<&'a VdcPolicy> {
    profiles.iter().find(|p| p.name == name).or_else(|| profiles.iter().find(|p| p.is_default))
}

async fn get(ask: Ask) -> Result<Answer> {
    let (vm, guest) = told::get(ask.d(), &ask.actor, ask.id(Kind::Vm)?).await?;
    let profiles = profiles(&ask, vm.vdc).await?;
    let snapshots = match vm.snapshots {
        0 => Vec::new(),
        _ => snapshots::list(ask.d(), &ask.actor, vm.id).await?,
    };
    let running = running(&ask, &vm).await?;
    let shown = Shown {
        vm: &vm,
        profiles: &profiles,
        guest: Some(&guest),
        snapshot: snapshots.iter().find(|s| s.current && !s.deleted),
        tasks: &running,
    };
    let attributes = attributes(&ask, &vm);
    let attributes: Vec<(&str, &dyn Display)> = attributes.iter().map(|(n, v)| (*n, v as &dyn Display)).collect();
    Ok(Answer::xml(media::VM, document("Vm", &attributes, |w| content(w, &ask, &shown))))
}

/// What is under way for it.
async fn running(ask: &Ask, vm: &Vm) -> Result<Vec<Task>> {
    let latest = tasks::about(ask.d(), &ask.actor, vm.org, vm.id.0).await?;
    Ok(latest.into_iter().filter(|t| !t.status.ended()).collect())
}

/// Running ones are refused, as clients expect it.
async fn delete(ask: Ask) -> Result<Answer> {
    let id: VmId = ask.id(Kind::Vm)?;
    if !ask.params().flag("force") {
        can::or_not_now(can::vm_stopped(&vm::get(ask.d(), &ask.actor, id).await?))?;
    }
    let task = vm::delete(ask.d(), &ask.actor, id).await?;
    task::accepted(&ask, task).await
}

/// The sizing policy that a machine's description names, which must be one of its VDC. None: it names none, the one that stands for
/// none, or the one that the machine has.
pub(crate) async fn sizing(ask: &Ask, vdc: VdcId, e: &Element, now: Option<SizingId>) -> Result<Option<SizingId>> {
    let place = e.at(&["ComputePolicy", "VmPlacementPolicy"]);
    if place.is_some_and(|p| ["href", "id", "name"].iter().any(|word| p.attr(word).is_some_and(|w| !w.is_empty()))) {
        let why = "VMs have no VmPlacementPolicy: their VDC says where they go. Leave it out, or choose another VDC.";
        return Err(Error::BadRequest(why.into()));
    }
    let named = e.at(&["ComputePolicy", "VmSizingPolicy"]).and_then(Read::id).filter(|id| *id != no_sizing());
    let Some(id) = named.map(SizingId).filter(|id| Some(*id) != now) else { return Ok(None) };
    let choices = domain::sizing::choices(ask.d(), &[vdc]).await?;
    choices.iter().find(|c| c.id == id).map(|c| Some(c.id)).ok_or(Error::NotFound(Kind::SizingPolicy))
}

/// Is it possible now, and by whoever asks?
pub(crate) fn allowed(ask: &Ask, vm: &Vm, action: Action) -> bool {
    can::vm(vm, action).is_ok() && ask.actor.may(action, vm.resource(&ask.actor))
}

fn attributes(ask: &Ask, vm: &Vm) -> Vec<(&'static str, String)> {
    vec![
        ("name", vm.name.clone()),
        ("status", status::vm(vm).0.to_string()),
        ("deployed", status::vm_deployed(vm).to_string()),
        ("needsCustomization", (!vm.made).to_string()),
        ("nestedHypervisorEnabled", vm.besides.nested_hypervisor.to_string()),
        ("id", vm.id.urn()),
        ("href", ask.base().vm(vm.id)),
        ("type", media::VM.to_owned()),
    ]
}

/// As a child of its vApp.
pub(crate) fn element(w: &mut Writer, ask: &Ask, shown: &Shown) {
    let attributes = attributes(ask, shown.vm);
    let attributes: Vec<(&str, &dyn Display)> = attributes.iter().map(|(n, v)| (*n, v as &dyn Display)).collect();
    w.el("Vm", &attributes, |w| content(w, ask, shown));
}

fn content(w: &mut Writer, ask: &Ask, shown: &Shown) {
    let (vm, base) = (shown.vm, ask.base());
    links(w, ask, vm);
    w.text("Description", &vm.description);
    task::tasks(w, base, &ask.actor, shown.tasks);
    hardware::section(w, ask, shown);
    sections::operating_system(w, ask, vm);
    nics::section(w, ask, vm);
    guest::section(w, ask, shown);
    sections::runtime(w, ask, vm);
    snapshot::section(w, &base.vm(vm.id), shown.snapshot);
    w.text("DateCreated", stamp(vm.created_at));
    w.text("VAppScopedLocalId", vm.id);
    if let Some(guest) = shown.guest {
        guest::product_sections(w, guest);
    }
    sections::capabilities(w, ask, vm);
    if let Some(policy) = vm.disks.iter().find(|d| d.own()).and_then(|d| profile(shown.profiles, &d.policy)) {
        let id = mixed(vm.vdc.0, policy.id.0);
        let href = base.storage_profile(vm.vdc, policy.id);
        reference(w, "StorageProfile", href, urn("vdcstorageProfile", id), &policy.name, media::STORAGE_PROFILE);
    }
    spec::section(w, ask, shown);
    if let Some((id, name)) = &vm.sizing {
        w.el("ComputePolicy", &[], |w| {
            let href = base.cloudapi(format_args!("1.0.0/vdcComputePolicies/{}", id.urn()));
            reference(w, "VmSizingPolicy", href, id.urn(), name, "application/json");
            w.text("VmSizingPolicyFinal", false);
        });
    }
    if let Some(disc) = vm.discs().find(|d| !d.leaving)
        && let Some(id) = disc.media
    {
        reference(w, "Media", base.media(id), urn("media", id), &disc.media_name, media::MEDIA);
    }
    sections::boot_options(w, ask, vm);
}

fn links(w: &mut Writer, ask: &Ask, vm: &Vm) {
    let href = ask.base().vm(vm.id);
    let may = |action| allowed(ask, vm, action);
    let deployed = status::vm_deployed(vm);
    let to = |rest: &str| format!("{href}/{rest}");
    for (rel, doing, path) in [
        ("power:powerOn", Action::VmPowerOn, "powerOn"),
        ("power:powerOff", Action::VmPowerOff, "powerOff"),
        ("power:reboot", Action::VmReboot, "reboot"),
        ("power:reset", Action::VmReset, "reset"),
        ("power:shutdown", Action::VmShutdown, "shutdown"),
        ("power:suspend", Action::VmSuspend, "suspend"),
    ] {
        if may(doing) {
            action(w, rel, to(&format!("power/action/{path}")));
        }
    }
    if may(Action::VmDiscard) {
        action(w, "discardState", to("action/discardSuspendedState"));
    }
    if !deployed && may(Action::VmPowerOn) {
        link(w, "deploy", to("action/deploy"), media::DEPLOY_PARAMS);
    }
    if deployed && may(Action::VmPowerOff) {
        link(w, "undeploy", to("action/undeploy"), media::UNDEPLOY_PARAMS);
    }
    link(w, "up", ask.base().vapp(vm.vapp), media::VAPP);
    link(w, "down", to("metadata"), media::METADATA);
    link(w, "down", to("productSections"), media::PRODUCT_SECTIONS);
    if may(Action::VmEdit) {
        link(w, "edit", &href, media::VM);
        link(w, "reconfigureVm", to("action/reconfigureVm"), media::VM);
        action(w, "upgrade", to("action/upgradeHardwareVersion"));
        action(w, "consolidate", to("action/consolidate"));
    }
    if may(Action::VmGuest) {
        action(w, "customizeAtNextPowerOn", to("action/customizeAtNextPowerOn"));
    }
    if may(Action::VmDelete) && can::vm_stopped(vm).is_ok() {
        action(w, "remove", &href);
    }
    screen::links(w, &href, may);
    if may(Action::VmDiskAttach) {
        link(w, "disk:attach", to("disk/action/attach"), media::DISK_ATTACH_PARAMS);
    }
    if may(Action::VmDiskDetach) {
        link(w, "disk:detach", to("disk/action/detach"), media::DISK_ATTACH_PARAMS);
    }
    if may(Action::VmMediaInsert) {
        link(w, "media:insertMedia", to("media/action/insertMedia"), media::MEDIA_PARAMS);
    }
    if may(Action::VmMediaEject) {
        link(w, "media:ejectMedia", to("media/action/ejectMedia"), media::MEDIA_PARAMS);
    }
    snapshot::links(
        w,
        &href,
        may(Action::VmSnapshot),
        vm.snapshots > 0 && may(Action::VmRevert),
        vm.snapshots > 0 && may(Action::VmSnapshotDelete),
    );
}
