//! One machine as its hub shows it: written down, and what follows from that done.
use crate::{
    Shared,
    by_hand::by_hand,
    drill::{Step, at},
    follow::{Known, volumes_of},
    follow_disks,
    queue::Outcome,
    reconcile, settle,
};
use hub::{
    read::{self, ObservedVm, VmPart, VmState},
    resource::VIRTUAL_MACHINES,
};
use model::{
    HubId, Kind, Result, VmId,
    event::Change,
    vm::{Power, Seen},
};
use store::{Happened, Observed, Report, SeenNic};

/// One machine as its hub shows it now. False: it says to be a machine that is not on this hub, as far as is known, and
/// nothing on the hub changes when it is adopted. `missed`: what was written of it before, and not followed up; so it is
/// after an error.
pub(crate) async fn report(
    shared: &Shared,
    hub: &HubId,
    epoch: i64,
    vm: &VmPart,
    known: &Known,
    missed: &mut Option<Observed>,
) -> Result<bool> {
    let Some(id) = vm.meta.ids.vm.filter(|_| vm.meta.ids.ours) else {
        return match shared.store.vm_with_uid(hub, &vm.meta.uid).await? {
            // what is reported of it comes when they are back
            Some(id) => reconcile::vm::put_back(shared, hub, &vm.meta.key, id, &vm.meta.uid).await,
            None => stranger(shared, hub, vm).await.map(|()| true),
        };
    };
    let volumes = volumes_of(vm).filter_map(|volume| known.volumes.get(&volume).map(AsRef::as_ref));
    let seen = read::observe(vm, known.instances.get(&vm.meta.key).map(AsRef::as_ref), volumes);
    let instance = seen.instance.as_ref();
    let small = |n: Option<i64>| n.and_then(|n| i32::try_from(n).ok());
    let report = Report {
        vm: id,
        uid: vm.meta.uid.clone(),
        resource_version: vm.meta.resource_version.clone(),
        seen: word(seen.state),
        reason: seen.problem.clone().unwrap_or_default(),
        run_strategy: vm.run_strategy.clone(),
        unheard: vm.unheard,
        cpus: small(seen.cpus()),
        memory_mb: seen.memory_mb(),
        node: instance.and_then(|i| i.node.clone()).unwrap_or_default(),
        ips: seen.ips().map(str::to_owned).collect(),
        nics: instance.map(|i| i.nics.iter().map(seen_nic).collect()).unwrap_or_default(),
        guest_os: instance.and_then(|i| i.guest_os.clone()).unwrap_or_default(),
        agent: instance.is_some_and(|i| i.agent_connected),
        system: instance.map(|i| i.system.clone()).unwrap_or_default(),
        progress: seen.progress.map(i16::from).filter(|_| seen.state == VmState::Provisioning),
        restart_needed: vm.restart_required.is_some(),
        generation: vm.meta.generation,
        form: vm.form,
        asked_cpus: small(vm.size.cpus),
        asked_memory_mb: vm.size.memory_mb,
    };
    let Some(met) = at(Step::Observe, shared.store.observe(hub, epoch, report.clone())).await? else {
        match shared.store.vm_tombstone(id).await? {
            Some(true) if vm.meta.deleting.is_none() => {
                reconcile::vm::collect(shared, hub, &vm.meta.key, id, &vm.meta.uid).await?;
            }
            Some(true) => {}
            Some(false) => {
                // if it is no other one any more, it was adopted since we looked, or another replica writes now
                if shared.store.vm_is_another(hub, id, &vm.meta.uid).await? {
                    stranger(shared, hub, vm).await?;
                }
                return Ok(false);
            }
            None => stranger(shared, hub, vm).await?,
        }
        return Ok(true);
    };
    let met = match missed.take() {
        Some(before) => met.after(&before),
        None => met,
    };
    let met = missed.insert(met);
    if met.stranger {
        shared.store.stranger_gone(hub, &vm.meta.uid).await?;
    }
    left_behind(shared, vm, &seen, met).await?;
    if met.agent_came {
        shared.store.enqueue(Kind::Guest, id, met.org, &hub.0).await?;
    }
    let news = follow_disks::of_vm(shared, hub, epoch, id, &seen).await?;
    let outside = by_hand(&report, met);
    if outside != met.outside {
        at(Step::Outside, shared.store.vm_outside(VmId(id), &outside)).await?;
        // one part of what was said is no news
        if !outside.is_empty() && !met.outside.contains(&outside) {
            let message = format!("VM {}: {outside}", met.name);
            shared
                .store
                .event(&Happened {
                    org: met.org,
                    owner: met.owner,
                    kind: Kind::Vm,
                    id,
                    name: &met.name,
                    word: "vm.outside",
                    message: &message,
                })
                .await?;
        }
    }
    // it may have let go of disks, or be started only now that it has stopped
    let starts = met.power == Power::On && !met.settled && report.seen == Seen::Stopped;
    if met.changed && (starts || shared.store.vm_disks_leave(VmId(id)).await?) {
        shared.store.enqueue(Kind::Vm, id, met.org, &hub.0).await?;
    }
    if met.changed || news || outside != met.outside {
        shared.store.tell(Change {
            org: met.org,
            user: None,
            owner: met.owner,
            kind: Kind::Vm,
            id: Some(id),
            shares: Vec::new(),
        });
        settle::about_vm(shared, VmId(id), met.vapp, &Outcome::Done).await?;
        if met.restart_came {
            shared.store.tasks_wait_for_restart(VmId(id)).await?;
        }
        // machines that start after this one may wait for it
        if report.seen == Seen::Running && met.before != Seen::Running {
            shared.store.wake_vapp(met.vapp).await?;
        }
    }
    *missed = None;
    Ok(true)
}

fn seen_nic(nic: &read::SeenNic) -> SeenNic {
    SeenNic { name: nic.name.clone(), mac: nic.mac.clone().unwrap_or_default(), ips: nic.ips.clone() }
}

/// Gives back what the machine is seen to have left, if the object is as it was asked for.
async fn left_behind(shared: &Shared, vm: &VmPart, seen: &ObservedVm, met: &Observed) -> Result<()> {
    if !met.nics_leaving || !met.settled || met.hub_generation.is_none_or(|ours| vm.meta.generation < ours) {
        return Ok(());
    }
    let there = match &seen.instance {
        Some(instance) => instance.attached.clone(),
        None if seen.state == VmState::Stopped => Vec::new(),
        None => return Ok(()),
    };
    let Some(id) = vm.meta.ids.vm else { return Ok(()) };
    at(Step::NicsRelease, shared.store.nics_release(VmId(id), &there)).await
}

fn word(state: VmState) -> Seen {
    match state {
        VmState::Stopped => Seen::Stopped,
        VmState::Provisioning => Seen::Provisioning,
        VmState::Starting => Seen::Starting,
        VmState::Running => Seen::Running,
        VmState::Paused => Seen::Suspended,
        VmState::Migrating => Seen::Migrating,
        VmState::Stopping => Seen::Stopping,
        VmState::Deleting => Seen::Deleting,
        VmState::Failed => Seen::Failed,
        VmState::Unknown => Seen::Unknown,
    }
}

/// It carries our mark, and nobody here knows it: shown, and never touched.
async fn stranger(shared: &Shared, hub: &HubId, vm: &VmPart) -> Result<()> {
    let key = &vm.meta.key;
    let stranger =
        shared.store.stranger(hub, &vm.meta.uid, &key.namespace, &key.name, VIRTUAL_MACHINES.kind, vm.meta.ids.vm);
    at(Step::Stranger, stranger).await
}
