//! Ends tasks from what was observed.
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
};
use model::{
    Action, DiskId, Kind, NetworkId, Result, SizingId, VappId, VdcId, VmId,
    task::{Verdict, disk_verdict, together, verdict},
    vm::Vm,
};
use store::{OpenTask, VmWork};
use uuid::Uuid;

/// After work on a VM, or after its hub reported something.
pub(crate) async fn vm(shared: &Shared, vm: &VmWork, outcome: &Outcome) -> Result<()> {
    about_vm(shared, vm.id, vm.vapp, outcome).await
}

pub(crate) async fn about_vm(shared: &Shared, id: VmId, vapp: VappId, outcome: &Outcome) -> Result<()> {
    let open = shared.store.open_tasks(&[id.0, vapp.0]).await?;
    if open.is_empty() {
        return Ok(());
    }
    let now = shared.store.vm_known(id).await?;
    for task in open.iter().filter(|t| t.kind == Kind::Vm) {
        let stands = moved_vm(shared, task.action, id, verdict(task.action, now.as_ref())).await?;
        let stands = with_outcome(stands, outcome);
        write(shared, task, &stands, std::slice::from_ref(&stands)).await?;
    }
    if open.iter().any(|t| t.kind == Kind::Vapp) {
        vapp_and_vm(shared, vapp, &Outcome::Done, Some((id, outcome))).await?;
    }
    Ok(())
}

pub(crate) async fn vapp(shared: &Shared, id: VappId, outcome: &Outcome) -> Result<()> {
    vapp_and_vm(shared, id, outcome, None).await
}

/// `worked_on`: what came of work on one of its machines.
async fn vapp_and_vm(
    shared: &Shared,
    id: VappId,
    outcome: &Outcome,
    worked_on: Option<(VmId, &Outcome)>,
) -> Result<()> {
    let open = shared.store.open_tasks(&[id.0]).await?;
    if open.is_empty() {
        return Ok(());
    }
    let vms = shared.store.vms_known_of(id).await?;
    let gone = shared.store.vapp_work(id.0).await?.is_none_or(|v| v.gone);
    for task in &open {
        let mut each = of_each(task.action, &vms);
        if let Some((vm, Outcome::Wait(_, why) | Outcome::Retry(_, why))) = worked_on
            && let Some(at) = vms.iter().filter(|v| !v.deleted).position(|v| v.id == vm)
            && let Verdict::Open { message, .. } = &mut each[at].1
        {
            message.clone_from(&why.plain);
        }
        let alone: Vec<Verdict> = each.iter().map(|(_, stands)| stands.clone()).collect();
        let stands = match task.action {
            Action::VappDelete if gone => Verdict::Done,
            Action::VappDelete => Verdict::Open { progress: None, message: String::new() },
            _ => moved(shared, task.action, id, together(each)).await?,
        };
        write(shared, task, &with_outcome(stands, outcome), &alone).await?;
    }
    Ok(())
}

/// A move has ended when nothing is left where it came from.
async fn moved(shared: &Shared, action: Action, id: VappId, stands: Verdict) -> Result<Verdict> {
    if action == Action::VappMove && stands == Verdict::Done && shared.store.vapp_move(id).await?.is_some() {
        return Ok(Verdict::Open { progress: None, message: String::new() });
    }
    Ok(stands)
}

/// The same of a VM that came from another VDC.
async fn moved_vm(shared: &Shared, action: Action, id: VmId, stands: Verdict) -> Result<Verdict> {
    if action == Action::VmMove && stands == Verdict::Done && shared.store.vm_move(id).await?.is_some() {
        return Ok(Verdict::Open { progress: None, message: String::new() });
    }
    Ok(stands)
}

/// After work on an independent disk, or after its hub reported something.
pub(crate) async fn disk(shared: &Shared, id: DiskId, outcome: &Outcome) -> Result<()> {
    let open = shared.store.open_tasks(&[id.0]).await?;
    if open.is_empty() {
        return Ok(());
    }
    let now = shared.store.disk_known(id).await?;
    for task in &open {
        let stands = with_outcome(disk_verdict(task.action, now.as_ref()), outcome);
        at(Step::TaskStands, shared.store.task_stands(task, &stands)).await?;
    }
    Ok(())
}

/// After its namespaces were brought to `version` of it, or were not. A task of a later one stays open.
pub(crate) async fn vdc(shared: &Shared, id: VdcId, version: i64, outcome: &Outcome) -> Result<()> {
    let open = shared.store.open_tasks(&[id.0]).await?;
    if open.is_empty() || shared.store.vdc_work(id.0).await?.is_none_or(|now| now.version != version) {
        return Ok(());
    }
    let stands = match outcome {
        Outcome::Done => Verdict::Done,
        other => with_outcome(Verdict::Open { progress: None, message: String::new() }, other),
    };
    for task in &open {
        at(Step::TaskStands, shared.store.task_stands(task, &stands)).await?;
    }
    Ok(())
}

/// After work on a network: only its end is waited for.
pub(crate) async fn network(shared: &Shared, id: NetworkId, outcome: &Outcome) -> Result<()> {
    let open = shared.store.open_tasks(&[id.0]).await?;
    if open.is_empty() {
        return Ok(());
    }
    let gone = shared.store.network_work(id.0).await?.is_none_or(|n| n.gone);
    let stands = match gone {
        true => Verdict::Done,
        false => with_outcome(Verdict::Open { progress: None, message: String::new() }, outcome),
    };
    for task in &open {
        at(Step::TaskStands, shared.store.task_stands(task, &stands)).await?;
    }
    Ok(())
}

/// After work on a sizing policy: only its end is waited for.
pub(crate) async fn sizing(shared: &Shared, id: SizingId, outcome: &Outcome) -> Result<()> {
    let open = shared.store.open_tasks(&[id.0]).await?;
    if open.is_empty() {
        return Ok(());
    }
    let gone = shared.store.sizing_work(id.0).await?.is_none_or(|p| p.gone);
    let stands = match gone {
        true => Verdict::Done,
        false => with_outcome(Verdict::Open { progress: None, message: String::new() }, outcome),
    };
    for task in &open {
        at(Step::TaskStands, shared.store.task_stands(task, &stands)).await?;
    }
    Ok(())
}

/// All open tasks, held against what is known by now: whoever should have ended one may have died before it could.
/// What they wait for is left to those who know.
pub(crate) async fn sweep(shared: &Shared) -> Result<()> {
    let mut first = Ok(());
    // one that can't be looked at is not in the way of the others
    for (kind, id) in shared.store.open_task_objects().await? {
        first = first.and(over(shared, kind, id).await);
    }
    for vm in shared.store.starts_missed().await? {
        tracing::info!(vm_id = %vm, "its hub did not start it: it is asked once more");
        first = first.and(shared.store.vm_again(vm).await);
    }
    for task in shared.store.overdue_tasks().await? {
        first = first.and(overdue(shared, &task).await);
    }
    first
}

async fn over(shared: &Shared, kind: Kind, id: Uuid) -> Result<()> {
    if kind == Kind::Disk {
        return disk_over(shared, DiskId(id)).await;
    }
    let open = shared.store.open_tasks(&[id]).await?;
    let vms = machines(shared, kind, id).await?;
    let gone = kind == Kind::Vapp && shared.store.vapp_work(id).await?.is_none_or(|v| v.gone);
    for task in open {
        let stands = match task.action {
            Action::VappDelete if gone => Verdict::Done,
            Action::VappDelete => continue,
            action if kind == Kind::Vapp => moved(shared, action, VappId(id), together(of_each(action, &vms))).await?,
            Action::VmDelete => verdict(task.action, vms.first()),
            action => {
                let stands = vms.first().map_or_else(|| verdict(action, None), |vm| of_one(action, vm));
                moved_vm(shared, action, VmId(id), stands).await?
            }
        };
        if !matches!(stands, Verdict::Open { .. }) {
            let each: Vec<Verdict> = of_each(task.action, &vms).into_iter().map(|(_, stands)| stands).collect();
            write(shared, &task, &stands, &each).await?;
        }
    }
    Ok(())
}

/// Nobody waits for ever. What was to be made and was never begun on a hub is withdrawn, in the same transaction; else it stays.
async fn overdue(shared: &Shared, task: &OpenTask) -> Result<()> {
    let last = if task.message.is_empty() { String::new() } else { format!(" Last: {}", task.message) };
    let vms = machines(shared, task.kind, task.object).await?;
    let each: Vec<Verdict> = of_each(task.action, &vms).into_iter().map(|(_, stands)| stands).collect();
    let mut stays = "";
    if task.action.makes() {
        let why = format!(
            "It took too long. Nothing of it was begun on a hub, so it is withdrawn, and what it took is free again.{last}"
        );
        let system = domain::lease::system(&shared.store).await?;
        if at(Step::TaskStands, domain::withdraw::late(&shared.store, &system, task, &why)).await? {
            counted(task, &each);
            return Ok(());
        }
        stays = " What was begun on its hub stays: delete it if it is not needed.";
    }
    let late = Verdict::Failed(format!("It took too long, and is not waited for any more.{stays}{last}"));
    write(shared, task, &late, &each).await
}

/// What it waits for is left to those who know.
async fn disk_over(shared: &Shared, id: DiskId) -> Result<()> {
    let now = shared.store.disk_known(id).await?;
    for task in shared.store.open_tasks(&[id.0]).await? {
        let stands = disk_verdict(task.action, now.as_ref());
        if !matches!(stands, Verdict::Open { .. }) {
            at(Step::TaskStands, shared.store.task_stands(&task, &stands)).await?;
        }
    }
    Ok(())
}

async fn machines(shared: &Shared, kind: Kind, id: Uuid) -> Result<Vec<Vm>> {
    Ok(match kind {
        Kind::Vapp => shared.store.vms_known_of(VappId(id)).await?,
        Kind::Vm => shared.store.vm_known(VmId(id)).await?.into_iter().collect(),
        _ => Vec::new(),
    })
}

/// How a task stands; and at the end of the making of machines, how each of them came out: what does not run by then
/// never came up.
async fn write(shared: &Shared, task: &OpenTask, stands: &Verdict, each: &[Verdict]) -> Result<()> {
    if at(Step::TaskStands, shared.store.task_stands(task, stands)).await? {
        counted(task, each);
    }
    Ok(())
}

fn counted(task: &OpenTask, each: &[Verdict]) {
    if matches!(task.action, Action::VmCreate | Action::VappCreate) {
        for one in each {
            let result = if *one == Verdict::Done { "success" } else { "failure" };
            metrics::counter!("ssvirt_vm_provisioning_total", "result" => result).increment(1);
        }
    }
}

/// Those that were deleted meanwhile are not waited for: that was a later wish.
fn of_each(action: Action, vms: &[Vm]) -> Vec<(String, Verdict)> {
    vms.iter().filter(|v| !v.deleted).map(|v| (v.name.clone(), of_one(action, v))).collect()
}

/// A machine that can't be brought to what was asked for will not get there by waiting.
fn of_one(action: Action, vm: &Vm) -> Verdict {
    match verdict(action, Some(vm)) {
        Verdict::Open { .. } if !vm.problem.is_empty() => Verdict::Failed(vm.problem.clone()),
        other => other,
    }
}

/// Why it waits or fails, where the object itself does not say.
fn with_outcome(stands: Verdict, outcome: &Outcome) -> Verdict {
    match (stands, outcome) {
        (Verdict::Open { .. }, Outcome::Failed(why)) => Verdict::Failed(why.plain.clone()),
        (Verdict::Open { progress, .. }, Outcome::Wait(_, why) | Outcome::Retry(_, why)) => {
            Verdict::Open { progress, message: why.plain.clone() }
        }
        (stands, _) => stands,
    }
}
