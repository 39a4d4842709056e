//! A VM with all that is known about it. VM, instance and disks arrive on watches of their own, each is kept as a small
//! part, and `observe` joins them.
use super::vm::{InstancePart, VmPart, VolumePart};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VmState {
    Stopped,
    /// Its disks are being filled.
    Provisioning,
    Starting,
    Running,
    Paused,
    Migrating,
    Stopping,
    Deleting,
    /// It can't run as it is; the problem says why.
    Failed,
    #[default]
    Unknown,
}

impl VmState {
    /// Of KubeVirt's printableStatus. A VM that no controller has looked at yet has none.
    pub fn of(printable: &str) -> VmState {
        match printable {
            "Stopped" => VmState::Stopped,
            "Provisioning" | "WaitingForVolumeBinding" => VmState::Provisioning,
            "Starting" | "WaitingForReceiver" => VmState::Starting,
            "Running" => VmState::Running,
            "Paused" => VmState::Paused,
            "Migrating" => VmState::Migrating,
            "Stopping" => VmState::Stopping,
            "Terminating" => VmState::Deleting,
            "CrashLoopBackOff" | "ErrorUnschedulable" | "ErrImagePull" | "ImagePullBackOff" | "ErrorPvcNotFound"
            | "DataVolumeError" => VmState::Failed,
            _ => VmState::Unknown,
        }
    }
}

/// A VM with all that is known about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedVm {
    pub vm: VmPart,
    pub state: VmState,
    /// Why it is not as it should be, in the hub's words.
    pub problem: Option<String>,
    pub instance: Option<InstancePart>,
    pub volumes: Vec<VolumePart>,
    /// Of all disks that are being filled, where it can be measured.
    pub progress: Option<u8>,
}

impl ObservedVm {
    pub fn ips(&self) -> impl Iterator<Item = &str> {
        self.instance.iter().flat_map(|i| &i.nics).flat_map(|n| &n.ips).map(String::as_str)
    }

    /// What the VM has now: of the instance while it runs, of the VM otherwise.
    pub fn cpus(&self) -> Option<i64> {
        self.instance.as_ref().and_then(|i| i.cpus).or(self.vm.size.cpus)
    }

    pub fn memory_mb(&self) -> Option<i64> {
        self.instance.as_ref().and_then(|i| i.memory_mb).or(self.vm.size.memory_mb)
    }
}

/// Joins a VM with what belongs to it; parts of other VMs are passed over.
pub fn observe<'a>(
    vm: &VmPart,
    instance: Option<&InstancePart>,
    volumes: impl IntoIterator<Item = &'a VolumePart>,
) -> ObservedVm {
    let key = &vm.meta.key;
    let instance = instance.filter(|i| i.meta.key == *key);
    let mine = |v: &&VolumePart| {
        v.meta.key.namespace == key.namespace
            && vm.disks.iter().any(|d| *d.volume == *v.meta.key.name && !d.volume.is_empty())
    };
    let volumes: Vec<VolumePart> = volumes.into_iter().filter(mine).cloned().collect();
    let state = match vm.meta.deleting {
        Some(_) => VmState::Deleting,
        // not looked at yet: the disks are next
        None if vm.printable.is_empty() => VmState::Provisioning,
        None => VmState::of(&vm.printable),
    };
    let of_volume = volumes.iter().find_map(|v| Some(format!("{}: {}", v.meta.key.name, v.problem.as_ref()?)));
    let of_instance =
        instance.and_then(|i| i.problem.clone()).filter(|_| !matches!(state, VmState::Running | VmState::Stopped));
    let problem = of_volume.or(of_instance).or_else(|| vm.problem.clone()).or_else(|| match state {
        VmState::Failed | VmState::Unknown => Some(format!("KubeVirt says {}", vm.printable)),
        _ => None,
    });
    let filling: Vec<u8> = volumes.iter().filter(|v| !v.done).filter_map(|v| v.progress).collect();
    let progress = filling.iter().copied().min();
    ObservedVm { vm: vm.clone(), state, problem, instance: instance.cloned(), volumes, progress }
}
