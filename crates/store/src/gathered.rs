//! The questions of workers and watchers that are asked for many at once.
use crate::{
    disk_report::VmDisksSeen,
    place::Place,
    task_work::OpenTask,
    together::{Together, Written},
    vm_report::{Observed, Said},
    vm_work::{Applied, VmWork},
    work::Claim,
};
use model::{HubId, Result, VdcId};
use uuid::Uuid;

#[derive(Clone, Default)]
pub(crate) struct Gathered {
    pub(crate) holds: Together<Claim, bool>,
    pub(crate) done: Together<Claim, bool>,
    pub(crate) vms: Together<Uuid, Option<Result<VmWork>>>,
    pub(crate) applied: Together<Applied, Written<()>>,
    pub(crate) places: Together<(VdcId, HubId), Option<Place>>,
    pub(crate) tasks: Together<Vec<Uuid>, Vec<OpenTask>>,
    pub(crate) observed: Together<Said, Written<Observed>>,
    pub(crate) disks: Together<VmDisksSeen, Written<bool>>,
}
