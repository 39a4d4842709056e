//! What the state of a thing allows and why not. Buttons, API faults and links all ask here.
use crate::{
    Action, Error, Result, UserId,
    catalog::Catalog,
    disk::{Disk, DiskState},
    hub::{Capability, Hub, HubState},
    media,
    network::Network,
    org::Org,
    role::Role,
    sizing::SizingPolicy,
    snapshot::MOST_OF_VM,
    storage::StoragePolicy,
    task::Task,
    template::{ItemKind, Template, Version},
    upload::{Upload, UploadState},
    user::User,
    vapp::Vapp,
    vdc::Vdc,
    vm::{Power, Seen, Vm, VmState},
};

/// Why something can't be done now, and what to do about it.
pub type WhyNot = String;

pub fn org(org: &Org, action: Action) -> Result<(), WhyNot> {
    match action {
        Action::OrgDisable if org.is_provider => Err("The provider's own organization can't be disabled.".into()),
        Action::OrgDelete if org.is_provider => Err("The provider's own organization can't be deleted.".into()),
        Action::OrgDisable if !org.enabled => Err("It is disabled already.".into()),
        Action::OrgEnable if org.enabled => Err("It is enabled already.".into()),
        Action::OrgDelete if org.enabled => Err("Disable it first.".into()),
        Action::OrgDelete if org.vdcs > 0 => {
            Err(format!("It has {}. Delete them first.", count(org.vdcs, "VDC", "VDCs")))
        }
        Action::OrgDelete if org.catalogs > 0 => {
            Err(format!("It has {}. Delete them first.", count(org.catalogs, "catalog", "catalogs")))
        }
        _ => Ok(()),
    }
}

pub fn vdc(vdc: &Vdc, action: Action) -> Result<(), WhyNot> {
    match action {
        Action::VdcDisable if !vdc.enabled => Err("It is disabled already.".into()),
        Action::VdcEnable if vdc.enabled => Err("It is enabled already.".into()),
        Action::VdcDelete if vdc.used.vms > 0 => {
            Err(format!("It has {}. Delete them first.", count(vdc.used.vms, "VM", "VMs")))
        }
        Action::VdcDelete if vdc.vapps > 0 => {
            Err(format!("It has {}. Delete them first.", count(vdc.vapps, "vApp", "vApps")))
        }
        Action::VdcDelete if vdc.networks > 0 => {
            Err(format!("It has {}. Delete them first.", count(vdc.networks, "network", "networks")))
        }
        Action::VdcDelete if !vdc.used.is_zero() => Err("Disks in it are still in use. Delete them first.".into()),
        _ => Ok(()),
    }
}

pub fn network(network: &Network, action: Action) -> Result<(), WhyNot> {
    match action {
        Action::NetworkView => Ok(()),
        _ if network.deleted => Err("It is being deleted.".into()),
        Action::NetworkDelete if !network.used_by.is_empty() => {
            Err(format!("It is used by {}. Take it from them first.", users(network)))
        }
        _ => Ok(()),
    }
}

/// Who uses a network, by name.
pub fn users(network: &Network) -> String {
    network.used_by.join(", ")
}

/// `me`: the one who asks.
pub fn user(user: &User, action: Action, me: Option<UserId>) -> Result<(), WhyNot> {
    let myself = me == Some(user.id);
    match action {
        Action::UserDisable if !user.enabled => Err("The user is disabled already.".into()),
        Action::UserEnable if user.enabled => Err("The user is enabled already.".into()),
        Action::UserDisable if myself => Err("You can't disable yourself. Another administrator can.".into()),
        Action::UserDelete if myself => Err("You can't delete yourself. Another administrator can.".into()),
        Action::UserResetPassword if !user.local() => {
            Err("The user signs in by the identity provider. The password is set there.".into())
        }
        Action::UserResetPassword if myself => Err("Change your own password on your profile.".into()),
        _ => Ok(()),
    }
}

pub fn role(role: &Role, action: Action) -> Result<(), WhyNot> {
    match action {
        Action::RoleEdit | Action::RoleDelete if role.predefined() => {
            Err("Predefined roles are the same everywhere. Make a role of your own.".into())
        }
        Action::RoleDelete if role.users > 0 => Err(format!("{} it. Give them another role first.", has(role.users))),
        _ => Ok(()),
    }
}

pub fn hub(hub: &Hub, action: Action) -> Result<(), WhyNot> {
    match action {
        Action::HubCordon if hub.cordoned => Err("It is cordoned already.".into()),
        Action::HubUncordon if !hub.cordoned => Err("It is not cordoned.".into()),
        Action::HubAbandon if matches!(hub.state, HubState::Ready | HubState::Degraded) => {
            Err("It answers. Delete what is on it, and then the hub.".into())
        }
        Action::HubAbandon if !hub.named_by.is_empty() => Err(named_by(&hub.named_by)),
        Action::HubDelete if hub.vms > 0 => Err(format!("It has {}. Delete them first.", count(hub.vms, "VM", "VMs"))),
        Action::HubDelete if hub.disks > 0 => {
            Err(format!("It has {}. Delete them first.", count(hub.disks, "independent disk", "independent disks")))
        }
        Action::HubDelete if !hub.named_by.is_empty() => Err(named_by(&hub.named_by)),
        Action::HubDelete if hub.vdcs > 0 && !hub.cordoned => Err(format!(
            "{} on it. Cordon it first: where they have nothing, their namespaces are removed.",
            live(hub.vdcs)
        )),
        Action::HubDelete if hub.vdcs > 0 => Err(format!(
            "{} on it. Wait until their namespaces are removed; Work says what is in the way.",
            live(hub.vdcs)
        )),
        _ => Ok(()),
    }
}

/// VDCs that may use a hub by its name would be left without it.
fn named_by(vdcs: &[String]) -> String {
    let (shown, more) = (vdcs.len().min(5), if vdcs.len() > 5 { " and others" } else { "" });
    let names = vdcs[..shown].join(", ");
    match vdcs.len() {
        1 => format!("The VDC {names} names it as its hub. Choose others for it first."),
        _ => format!("The VDCs {names}{more} name it as their hub. Choose others for them first."),
    }
}

pub fn catalog(catalog: &Catalog, action: Action) -> Result<(), WhyNot> {
    match action {
        Action::CatalogDelete if catalog.templates > 0 && !catalog.from_hubs => {
            Err(format!("It has {}. Delete them first.", count(catalog.templates, "template", "templates")))
        }
        _ => Ok(()),
    }
}

/// Can a vApp be made from it?
pub fn template(template: &Template, action: Action) -> Result<(), WhyNot> {
    let from_hub = !template.source.is_empty();
    match action {
        Action::VappCreate if template.kind == ItemKind::Media => {
            Err(format!("{} is a disc. It is put into a VM, and not deployed.", template.name))
        }
        Action::VappCreate if template.blank() => Err(format!(
            "{} is still empty: what fills it has not ended, or failed. Its tasks say which.",
            template.name
        )),
        Action::VappCreate if template.expired => {
            Err(format!("The lease of {} has ended. Renew it, or choose another template.", template.name))
        }
        Action::TemplateLease if template.kind == ItemKind::Media => Err("A disc has no lease.".into()),
        Action::TemplateLease if from_hub => Err("It comes from a hub and has no lease.".into()),
        Action::TemplateUpload | Action::TemplateEdit if from_hub => {
            Err("It comes from a hub and changes there.".into())
        }
        Action::TemplateDelete | Action::VersionDelete if from_hub => {
            Err("It comes from a hub. Remove it there.".into())
        }
        Action::VmMediaInsert if template.kind == ItemKind::Template => {
            Err(format!("{} is a template. It is deployed, and not put into a VM.", template.name))
        }
        Action::TemplateDelete => unused(&template.used_by),
        Action::VappCreate if template.vanished() => {
            Err(format!("{} is offered by no hub any more: it is gone there. Choose another template.", template.name))
        }
        Action::VappCreate if template.deprecated => Err(format!(
            "{} is marked as deprecated on its hub, and not to be used any more. Choose another template.",
            template.name
        )),
        Action::VappCreate if !template.obstacle.is_empty() => Err(format!(
            "The VMs of {} can't be made from here: {}. Choose another template. The provider can have OpenShift make this one.",
            template.name, template.obstacle
        )),
        _ => Ok(()),
    }
}

/// One of its versions.
pub fn version(version: &Version, action: Action) -> Result<(), WhyNot> {
    match action {
        Action::VersionDelete => unused(&version.used_by),
        _ => Ok(()),
    }
}

/// A disc goes when it is in no VM.
fn unused(vms: &[String]) -> Result<(), WhyNot> {
    if vms.is_empty() { Ok(()) } else { Err(format!("It is in {}. Eject it there first.", named(vms))) }
}

/// The first of them, and how many there are more.
fn named(names: &[String]) -> String {
    match names.len() {
        0..=3 => names.join(", "),
        n => format!("{} and {} more", names[..3].join(", "), n - 3),
    }
}

/// Only what has not been begun can be taken back.
pub fn task(task: &Task, action: Action) -> Result<(), WhyNot> {
    match action {
        Action::TaskCancel if task.status.ended() => Err("The task has ended.".into()),
        Action::TaskCancel if !task.unbegun && task.upload.is_none() => {
            Err("It is under way, and can't be taken back. Ask for the opposite when it has ended.".into())
        }
        _ => Ok(()),
    }
}

pub fn upload(upload: &Upload, action: Action) -> Result<(), WhyNot> {
    match (action, upload.state) {
        (Action::UploadCancel | Action::TemplateUpload, UploadState::Checking) => {
            Err("All of it has come, and it is being checked.".into())
        }
        (Action::UploadCancel | Action::TemplateUpload, UploadState::Done) => Err("It has ended.".into()),
        (Action::UploadCancel | Action::TemplateUpload, UploadState::Failed | UploadState::Cancelled) => {
            Err("It has ended. Begin another one.".into())
        }
        _ => Ok(()),
    }
}

pub fn vapp(vapp: &Vapp, action: Action) -> Result<(), WhyNot> {
    let n = vapp.vms;
    match action {
        _ if vapp.deleted => Err("It is being deleted.".into()),
        Action::VappPowerOn | Action::VmCreate | Action::VappRecompose if vapp.lease.expired() => Err(expired()),
        // original and copy go together
        Action::VappDelete if vapp.copying_within => Ok(()),
        Action::VappPowerOn | Action::VappDelete | Action::VappMove if !vapp.copying.is_empty() => {
            Err(copying(&vapp.copying))
        }
        Action::VappCopy | Action::VappMove if vapp.instance_of.is_some() => {
            Err("OpenShift made it from a template. Deploy that template once more.".into())
        }
        Action::VappCopy | Action::VappMove if n.all > 0 && vapp.hub.is_none() => Err("It is on no hub yet.".into()),
        Action::VappCopy | Action::VappMove if n.stopped < n.all => {
            Err("Not all its VMs are stopped, and a disk that is written can't be copied. Power it off first.".into())
        }
        Action::VappPowerOn | Action::VmCreate if !vapp.vdc_enabled => Err(disabled(&vapp.vdc_name)),
        Action::VmCreate if vapp.instance_of.is_some() => {
            Err("Its VMs come from a template as they are. Make another vApp for more.".into())
        }
        Action::VappCapture if vapp.instance_of.is_some() => {
            Err("OpenShift made it from a template. Capture what that template is made from.".into())
        }
        Action::VappCapture if n.all == 0 => Err("It has no VMs.".into()),
        Action::VappCapture if vapp.hub.is_none() => Err("It is on no hub yet.".into()),
        Action::VappCapture if n.stopped < n.all => {
            Err("Not all its VMs are stopped, and a disk that is written can't be copied. Power it off first.".into())
        }
        Action::VappSnapshot | Action::VappRevert | Action::VappSnapshotDelete if n.all == 0 => {
            Err("It has no VMs.".into())
        }
        Action::VappPowerOn
        | Action::VappPowerOff
        | Action::VappShutdown
        | Action::VappReboot
        | Action::VappReset
        | Action::VappSuspend
        | Action::VappDiscard
            if n.all == 0 =>
        {
            Err("It has no VMs.".into())
        }
        Action::VappPowerOn if n.running == n.all => Err("All its VMs run.".into()),
        Action::VappPowerOff if n.stopped == n.all => Err("All its VMs are stopped.".into()),
        Action::VappShutdown | Action::VappReboot | Action::VappReset | Action::VappSuspend if n.running == 0 => {
            Err("None of its VMs runs.".into())
        }
        Action::VappDiscard if n.suspended == 0 => Err("None of its VMs is suspended.".into()),
        _ => Ok(()),
    }
}

/// A vApp without machines, as clients of VCD power one on and off.
pub fn vapp_empty(vapp: &Vapp, action: Action) -> Result<(), WhyNot> {
    match action {
        _ if vapp.deleted => Err("It is being deleted.".into()),
        _ if vapp.vms.all > 0 => Err("It has VMs.".into()),
        Action::VappPowerOn if vapp.lease.expired() => Err(expired()),
        Action::VappPowerOn if !vapp.vdc_enabled => Err(disabled(&vapp.vdc_name)),
        Action::VappPowerOn if vapp.empty_on => Err("It is on.".into()),
        Action::VappPowerOff if !vapp.empty_on => Err("It is off.".into()),
        _ => Ok(()),
    }
}

/// Clients of VCD expect what runs to be refused where it would be deleted, unless they force it.
pub fn vapp_stopped(vapp: &Vapp) -> Result<(), WhyNot> {
    match vapp.vms.running + vapp.vms.suspended + vapp.vms.changing {
        0 => Ok(()),
        _ => Err(format!("The vApp {} is running. Power it off first, or force it.", vapp.name)),
    }
}

/// The same for one of its machines.
pub fn vm_stopped(vm: &Vm) -> Result<(), WhyNot> {
    match vm.power {
        Power::Off => Ok(()),
        Power::On | Power::Suspended => Err(format!("The VM {} is running. Power it off first.", vm.name)),
    }
}

fn copying(to: &str) -> WhyNot {
    format!("It is being copied to {to}. Wait until that has ended, or delete the copy.")
}

pub fn vm(vm: &Vm, action: Action) -> Result<(), WhyNot> {
    let state = vm.state();
    match (action, state) {
        (_, VmState::Deleting) => Err("It is being deleted.".into()),
        (
            Action::VmPowerOn
            | Action::VmDelete
            | Action::VmMove
            | Action::VmDiskAdd
            | Action::VmDiskEdit
            | Action::VmDiskRemove
            | Action::VmMediaInsert
            | Action::VmMediaEject
            | Action::VmSnapshot
            | Action::VmRevert,
            _,
        ) if !vm.copying.is_empty() => Err(copying(&vm.copying)),
        (Action::VmView | Action::VmDelete | Action::VmEdit | Action::VmTags, _) => Ok(()),
        (_, VmState::Missing) => {
            Err("It was deleted on its hub by hand. Delete it here, and deploy it again if it is still needed.".into())
        }
        (
            Action::VmDiskAdd
            | Action::VmDiskEdit
            | Action::VmDiskRemove
            | Action::VmDiskAttach
            | Action::VmMediaInsert
            | Action::VmMediaEject,
            _,
        ) if vm.snapshots > 0 => Err(format!(
            "It has {}, and its disks stay as they are for them. Delete them first.",
            count(vm.snapshots, "snapshot", "snapshots")
        )),
        (Action::VmGuest, _) if vm.by_template => {
            Err("OpenShift made it from a template, which says what its guest is told.".into())
        }
        (Action::VmSnapshot | Action::VmRevert | Action::VmSnapshotDelete, _) => snapshot(vm, action),
        (Action::VmMediaInsert, _) if vm.discs().filter(|d| !d.leaving).count() >= media::MOST_IN_VM => {
            Err(format!("It has {} discs, and no VM has more. Eject one first.", media::MOST_IN_VM))
        }
        (Action::VmMediaEject, _) if !vm.discs().any(|d| !d.leaving) => Err("There is no disc in it.".into()),
        (Action::VmPowerOn, _) if vm.expired => Err(expired()),
        (Action::VmCopy, VmState::Stopped) => Ok(()),
        (Action::VmCopy, _) => {
            Err("It is not stopped, and a disk that is written can't be copied. Power it off first.".into())
        }
        (Action::VmPowerOn, _) if !vm.vdc_enabled => Err(disabled(&vm.vdc_name)),
        (Action::VmPowerOn, VmState::Running | VmState::Migrating) => Err("It runs.".into()),
        (Action::VmPowerOn, VmState::Starting) => Err("It is starting.".into()),
        (Action::VmPowerOn, VmState::Waiting | VmState::Creating) if vm.power == Power::On => {
            Err("It starts as soon as it is made.".into())
        }
        (Action::VmPowerOff, VmState::Stopped) => Err("It is stopped.".into()),
        (Action::VmPowerOff, VmState::Waiting | VmState::Creating) if vm.power == Power::Off => {
            Err("It will not start.".into())
        }
        (Action::VmShutdown | Action::VmReboot | Action::VmReset | Action::VmSuspend, _) if !vm.seen.on() => {
            Err("It does not run.".into())
        }
        (Action::VmConsole | Action::VmScreen, _) => match vm.stale() {
            true => Err("Its hub does not answer, so its screen can't be reached.".into()),
            false => console_goes_on(vm),
        },
        (Action::VmDiscard, state) if state != VmState::Suspended => Err("It is not suspended.".into()),
        _ => Ok(()),
    }
}

/// A console that is open: the end of a guest may be watched, and what its hub doesn't say for a moment ends nothing.
pub fn console_goes_on(vm: &Vm) -> Result<(), WhyNot> {
    match vm.seen {
        _ if vm.deleted => Err("It is being deleted.".into()),
        Seen::Running | Seen::Migrating | Seen::Stopping | Seen::Unknown => Ok(()),
        _ => Err("It does not run, so there is nothing on its screen. Power it on first.".into()),
    }
}

/// An independent disk.
pub fn disk(disk: &Disk, action: Action) -> Result<(), WhyNot> {
    match (action, disk.state()) {
        (Action::DiskView, _) => Ok(()),
        (_, DiskState::Deleting) => Err("It is being deleted.".into()),
        (Action::DiskDelete | Action::VmDiskAttach, _) if disk.vm.is_some() => {
            let vm = disk.vm.as_ref().map_or("", |(_, name)| name);
            Err(format!("It is in use by the VM {vm}. Detach it first."))
        }
        (Action::DiskDelete | Action::VmDiskAttach, _) if disk.leaving.is_some() => {
            let vm = disk.leaving.as_ref().map_or("", |(_, name)| name);
            Err(format!("The VM {vm} still uses it: it is free when that is stopped or lets go of it."))
        }
        (Action::DiskDelete, _) => Ok(()),
        (_, DiskState::Missing) => Err("It was deleted on its hub by hand. Delete it here.".into()),
        (Action::VmDiskDetach, _) if disk.vm.is_none() => Err("It is in no VM.".into()),
        (Action::VmDiskAttach, _) if !disk.vdc_enabled => Err(disabled(&disk.vdc_name)),
        _ => Ok(()),
    }
}

pub fn policy(policy: &StoragePolicy, action: Action) -> Result<(), WhyNot> {
    match action {
        Action::PolicyDelete if policy.is_default => {
            Err("New VDCs begin with it. Make another policy the default first.".into())
        }
        Action::PolicyDelete if policy.disks > 0 => {
            Err(format!("{} made of it. Delete them first.", count(policy.disks, "disk is", "disks are")))
        }
        Action::PolicyDelete if policy.vdcs > 0 => {
            Err(format!("{} use it. Take it out of their storage first.", count(policy.vdcs, "VDC may", "VDCs may")))
        }
        _ => Ok(()),
    }
}

pub fn sizing(policy: &SizingPolicy, action: Action) -> Result<(), WhyNot> {
    match action {
        Action::SizingDelete if !policy.vms.is_empty() => {
            Err(format!("VMs have it: {}. Resize or delete them first.", named(&policy.vms)))
        }
        Action::SizingDelete if !policy.vdcs.is_empty() => {
            Err(format!("VDCs may use it: {}. Take it out of their sizes first.", named(&policy.vdcs)))
        }
        _ => Ok(()),
    }
}

fn snapshot(vm: &Vm, action: Action) -> Result<(), WhyNot> {
    let independent = vm.disks.iter().find(|d| d.independent);
    // what is on a disc does not change
    let left_out = vm.disks.iter().find(|d| !d.independent && d.media.is_none() && !d.no_snapshot.is_empty());
    match action {
        Action::VmRevert | Action::VmSnapshotDelete if vm.snapshots == 0 => Err("It has no snapshot.".into()),
        Action::VmSnapshotDelete if vm.reverting => {
            Err("It is being brought back to a snapshot, and needs it until it is there. Delete it after that.".into())
        }
        Action::VmSnapshotDelete => Ok(()),
        _ if !vm.made => Err("It is not made yet.".into()),
        _ if vm.reverting => Err("It is being brought back to a snapshot.".into()),
        _ if vm.snapshots_offered == Some(false) => {
            Err("The hub it is on makes no snapshots. The provider can change that.".into())
        }
        Action::VmSnapshot if vm.snapshots >= MOST_OF_VM => {
            Err(format!("It has {MOST_OF_VM} snapshots, and no VM has more. Delete one first."))
        }
        _ => match (independent, left_out) {
            (Some(disk), _) => Err(format!(
                "The independent disk {} is in it, which would be taken along. Detach it first.",
                disk.name
            )),
            (None, Some(disk)) if action == Action::VmSnapshot => Err(format!(
                "A snapshot would leave out the disk {}. The hub says: {}. The provider can change that.",
                disk.name,
                disk.no_snapshot.trim_end_matches('.')
            )),
            _ => Ok(()),
        },
    }
}

fn expired() -> WhyNot {
    "The lease of its vApp has ended. Renew it first.".into()
}

fn disabled(vdc: &str) -> WhyNot {
    format!("The VDC {vdc} is disabled, so nothing new starts in it. An administrator can enable it.")
}

fn live(vdcs: i64) -> String {
    if vdcs == 1 { "1 VDC lives".into() } else { format!("{} VDCs live", crate::quota::thousands(vdcs)) }
}

/// What a hub must be open for.
pub const VMS: Capability = Capability::VirtualMachines;

/// Can it be taken out of its VM for good? Without its first disk a machine does not start.
pub fn disk_removal(vm: &Vm, disk: &crate::vm::Disk) -> Result<(), WhyNot> {
    let first = vm.disks.iter().find(|k| !k.independent && k.media.is_none());
    match first {
        Some(first) if first.id == disk.id => {
            Err(format!("{} starts from its disk {}, so that one stays.", vm.name, disk.name))
        }
        _ => Ok(()),
    }
}

/// For operations: the reason as an error.
pub fn or_not_now(answer: Result<(), WhyNot>) -> Result<()> {
    answer.map_err(|why| Error::NotNow(format!("Not now: {why}")))
}

fn count(n: i64, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {many}", crate::quota::thousands(n)) }
}

fn has(users: i64) -> String {
    if users == 1 { "1 user has".into() } else { format!("{} users have", crate::quota::thousands(users)) }
}
