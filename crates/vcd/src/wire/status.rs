//! States in VCD's numbers and words. Filters by status in `store` say the same in SQL.
use model::{
    disk::{Disk, DiskSeen},
    template::Template,
    vapp::{Vapp, VappState},
    vm::{Power, Seen, Vm},
    vm_line::VmLine,
};

pub(crate) type Status = (i32, &'static str);

const FAILED_CREATION: Status = (-1, "FAILED_CREATION");
const UNRESOLVED: Status = (0, "UNRESOLVED");
const RESOLVED: Status = (1, "RESOLVED");
const SUSPENDED: Status = (3, "SUSPENDED");
const POWERED_ON: Status = (4, "POWERED_ON");
const UNKNOWN: Status = (6, "UNKNOWN");
const POWERED_OFF: Status = (8, "POWERED_OFF");
const INCONSISTENT: Status = (9, "INCONSISTENT_STATE");
const MIXED: Status = (10, "MIXED");

/// What was last seen of it: one that starts is off until it runs.
pub(crate) fn vm(vm: &Vm) -> Status {
    seen(vm.seen, vm.not_made())
}

pub(crate) fn line(vm: &VmLine) -> Status {
    seen(vm.seen, vm.not_made)
}

fn seen(seen: Seen, not_made: bool) -> Status {
    match seen {
        Seen::Never if not_made => FAILED_CREATION,
        Seen::Never | Seen::Provisioning => UNRESOLVED,
        Seen::Running | Seen::Migrating | Seen::Stopping => POWERED_ON,
        Seen::Stopped | Seen::Starting | Seen::Deleting => POWERED_OFF,
        Seen::Suspended => SUSPENDED,
        Seen::Failed => INCONSISTENT,
        Seen::Missing | Seen::Unknown => UNKNOWN,
    }
}

/// Has it been given what it needs to run? VCD calls that deployed.
pub(crate) fn vm_deployed(vm: &Vm) -> bool {
    vm.power != Power::Off
}

pub(crate) fn vapp(vapp: &Vapp) -> Status {
    match vapp.state() {
        VappState::Empty if vapp.empty_on => POWERED_ON,
        VappState::Empty => RESOLVED,
        VappState::Waiting | VappState::Changing | VappState::Deleting => UNRESOLVED,
        VappState::Running => POWERED_ON,
        VappState::Stopped => POWERED_OFF,
        VappState::Suspended => SUSPENDED,
        VappState::Mixed => MIXED,
        VappState::Failed => INCONSISTENT,
    }
}

/// As its machines are: `vm_deployed`.
pub(crate) fn vapp_deployed(vapp: &Vapp) -> bool {
    vapp.vms.deployed > 0 || (vapp.vms.all == 0 && vapp.empty_on)
}

/// As a document shows it; lists say `template_word`.
pub(crate) fn template(template: &Template) -> Status {
    if template.ready() { POWERED_OFF } else { UNRESOLVED }
}

pub(crate) fn template_word(template: &Template) -> &'static str {
    if template.ready() { RESOLVED.1 } else { UNRESOLVED.1 }
}

pub(crate) fn media(media: &Template) -> Status {
    if media.ready() { RESOLVED } else { UNRESOLVED }
}

pub(crate) fn disk(disk: &Disk) -> Status {
    match disk.seen {
        _ if disk.deleted => UNRESOLVED,
        DiskSeen::Never if disk.to_be_made() => RESOLVED,
        DiskSeen::Never | DiskSeen::Making => UNRESOLVED,
        DiskSeen::Ready | DiskSeen::Failed | DiskSeen::Missing => RESOLVED,
    }
}
