//! Ends tasks from what was observed.
use crate::{Shared, queue::Outcome};
use model::{
    Action, Kind, Result, VappId, VmId,
    task::{Verdict, together, verdict},
    vm::Vm,
};
use store::VmWork;

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
        let stands = with_outcome(verdict(task.action, now.as_ref()), outcome);
        if task.action == Action::VmCreate {
            count(&stands);
        }
        shared.store.task_stands(task, &stands).await?;
    }
    if open.iter().any(|t| t.kind == Kind::Vapp) {
        self::vapp(shared, vapp, &Outcome::Done).await?;
    }
    Ok(())
}

pub(crate) async fn vapp(shared: &Shared, id: VappId, outcome: &Outcome) -> Result<()> {
    let open = shared.store.open_tasks(&[id.0]).await?;
    if open.is_empty() {
        return Ok(());
    }
    let vms = shared.store.vms_known_of(id).await?;
    let gone = shared.store.vapp_work(id.0).await?.is_none_or(|v| v.gone);
    for task in &open {
        let stands = match task.action {
            Action::VappDelete if gone => Verdict::Done,
            Action::VappDelete => Verdict::Open { progress: None, message: String::new() },
            action => together(vms.iter().map(|v| (v.name.clone(), of_one(action, v))).collect()),
        };
        let stands = with_outcome(stands, outcome);
        if task.action == Action::VappCreate {
            count(&stands);
        }
        shared.store.task_stands(task, &stands).await?;
    }
    Ok(())
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
        (Verdict::Open { .. }, Outcome::Failed(why)) => Verdict::Failed(why.clone()),
        (Verdict::Open { progress, .. }, Outcome::Wait(_, why) | Outcome::Retry(_, why)) => {
            Verdict::Open { progress, message: why.clone() }
        }
        (stands, _) => stands,
    }
}

fn count(stands: &Verdict) {
    let result = match stands {
        Verdict::Done => "success",
        Verdict::Failed(_) => "failure",
        Verdict::Open { .. } => return,
    };
    metrics::counter!("ssvirt_vm_provisioning_total", "result" => result).increment(1);
}
