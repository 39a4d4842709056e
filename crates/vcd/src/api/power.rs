//! Power of vApps and machines: the actions by their names, and VCD's deploying and undeploying.
use crate::{
    answer::Answer,
    api::{task, vapp as vapps, vm::reconfigure},
    ask::Ask,
    routes::Routes,
    wire::{body::Read, status},
};
use domain::{guest, vapp, vm};
use model::{
    Action::{self, *},
    Error, Kind, Result, VappId, VmId,
};
use xml::Element;

pub(crate) fn routes(routes: Routes) -> Routes {
    let routes = routes
        .post("/api/vApp/vapp-{id}/power/action/powerOn", |ask| of_vapp(ask, VappPowerOn))
        .post("/api/vApp/vapp-{id}/power/action/powerOff", |ask| of_vapp(ask, VappPowerOff))
        .post("/api/vApp/vapp-{id}/power/action/shutdown", |ask| of_vapp(ask, VappShutdown))
        .post("/api/vApp/vapp-{id}/power/action/reboot", |ask| of_vapp(ask, VappReboot))
        .post("/api/vApp/vapp-{id}/power/action/reset", |ask| of_vapp(ask, VappReset))
        .post("/api/vApp/vapp-{id}/power/action/suspend", |ask| of_vapp(ask, VappSuspend))
        .post("/api/vApp/vapp-{id}/action/discardSuspendedState", |ask| of_vapp(ask, VappDiscard))
        .post("/api/vApp/vapp-{id}/action/deploy", deploy_vapp)
        .post("/api/vApp/vapp-{id}/action/undeploy", undeploy_vapp);
    routes
        .post("/api/vApp/vm-{id}/power/action/powerOn", |ask| of_vm(ask, VmPowerOn))
        .post("/api/vApp/vm-{id}/power/action/powerOff", |ask| of_vm(ask, VmPowerOff))
        .post("/api/vApp/vm-{id}/power/action/shutdown", |ask| of_vm(ask, VmShutdown))
        .post("/api/vApp/vm-{id}/power/action/reboot", |ask| of_vm(ask, VmReboot))
        .post("/api/vApp/vm-{id}/power/action/reset", |ask| of_vm(ask, VmReset))
        .post("/api/vApp/vm-{id}/power/action/suspend", |ask| of_vm(ask, VmSuspend))
        .post("/api/vApp/vm-{id}/action/discardSuspendedState", |ask| of_vm(ask, VmDiscard))
        .post("/api/vApp/vm-{id}/action/customizeAtNextPowerOn", customize)
        .post("/api/vApp/vm-{id}/action/deploy", deploy_vm)
        .post("/api/vApp/vm-{id}/action/undeploy", undeploy_vm)
}

async fn of_vapp(ask: Ask, action: Action) -> Result<Answer> {
    let id: VappId = ask.id(Kind::Vapp)?;
    if matches!(action, VappPowerOn | VappPowerOff) && vapp::get(ask.d(), &ask.actor, id).await?.vms.all == 0 {
        let task = vapp::power_empty(ask.d(), &ask.actor, id, action == VappPowerOn).await?;
        return task::accepted(&ask, task).await;
    }
    let task = vapp::power(ask.d(), &ask.actor, id, action).await?;
    task::accepted(&ask, task).await
}

async fn of_vm(ask: Ask, action: Action) -> Result<Answer> {
    let task = vm::power(ask.d(), &ask.actor, ask.id(Kind::Vm)?, action).await?;
    task::accepted(&ask, task).await
}

/// Without power there is nothing to deploy: a machine gets its place when it is made.
async fn deploy_vapp(ask: Ask) -> Result<Answer> {
    let body = ask.xml_or_nothing("DeployVAppParams")?;
    no_other_lease(&body)?;
    let id: VappId = ask.id(Kind::Vapp)?;
    let (vapp, vms) = vapp::with_vms(ask.d(), &ask.actor, id).await?;
    if body.flag("powerOn")? == Some(false) {
        return vapps::nothing(&ask, &vapp).await;
    }
    if vapp.vms.all == 0 {
        let task = vapp::power_empty(ask.d(), &ask.actor, id, true).await?;
        return task::accepted(&ask, task).await;
    }
    if body.on("forceCustomization")? {
        for vm in &vms {
            tell_again(&ask, vm.id).await?;
        }
    }
    let task = vapp::power(ask.d(), &ask.actor, id, VappPowerOn).await?;
    task::accepted(&ask, task).await
}

/// 0 is the one that there is.
fn no_other_lease(body: &Element) -> Result<()> {
    match body.number::<i64>("deploymentLeaseSeconds")?.filter(|n| *n != 0) {
        None => Ok(()),
        Some(_) => Err(Error::BadRequest(
            "deploymentLeaseSeconds can't be chosen here: how long a vApp runs is its lease. Set it with leaseSettingsSection first, and \
             leave it out or 0."
                .into(),
        )),
    }
}

async fn deploy_vm(ask: Ask) -> Result<Answer> {
    let body = ask.xml_or_nothing("DeployVAppParams")?;
    no_other_lease(&body)?;
    let id: VmId = ask.id(Kind::Vm)?;
    let vm = vm::get(ask.d(), &ask.actor, id).await?;
    if body.flag("powerOn")? == Some(false) {
        return reconfigure::nothing(&ask, &vm).await;
    }
    if body.on("forceCustomization")? {
        tell_again(&ask, id).await?;
    }
    let task = vm::power(ask.d(), &ask.actor, id, VmPowerOn).await?;
    task::accepted(&ask, task).await
}

/// Its guest is told everything once more, with its next start.
async fn tell_again(ask: &Ask, id: VmId) -> Result<()> {
    let (vm, told) = guest::get(ask.d(), &ask.actor, id).await?;
    guest::set(ask.d(), &ask.actor, id, vm.version, "", told).await.map(drop)
}

/// Clients expect no task.
async fn customize(ask: Ask) -> Result<Answer> {
    tell_again(&ask, ask.id(Kind::Vm)?).await?;
    Ok(Answer::nothing())
}

/// How it is to be stopped; `default` and `force` by taking the power away.
fn way(body: &Element, (off, shutdown, suspend): (Action, Action, Action)) -> Result<Action> {
    match body.word("UndeployPowerAction").unwrap_or("default") {
        "default" | "powerOff" | "force" => Ok(off),
        "shutdown" => Ok(shutdown),
        "suspend" => Ok(suspend),
        other => Err(Error::BadRequest(format!(
            "“{}” is no UndeployPowerAction: default, powerOff, shutdown, suspend or force.",
            crate::ask::shown(other)
        ))),
    }
}

/// Clients know this sentence, and take it for success when they only want it stopped.
fn not_running(kind: &str, name: &str) -> Error {
    Error::NotNow(format!("The requested operation could not be executed since {kind} {name} is not running."))
}

async fn undeploy_vapp(ask: Ask) -> Result<Answer> {
    let body = ask.xml_or_nothing("UndeployVAppParams")?;
    let action = way(&body, (VappPowerOff, VappShutdown, VappSuspend))?;
    let id: VappId = ask.id(Kind::Vapp)?;
    let (vapp, vms) = vapp::with_vms(ask.d(), &ask.actor, id).await?;
    if vapp.empty_on && vapp.vms.all == 0 {
        let task = vapp::power_empty(ask.d(), &ask.actor, id, false).await?;
        return task::accepted(&ask, task).await;
    }
    if !vms.iter().any(status::vm_deployed) {
        return Err(not_running("vApp", &vapp.name));
    }
    let task = match body.word("UndeployPowerAction") {
        // as each machine is to be stopped with its vApp
        None | Some("default") => vapp::stop(ask.d(), &ask.actor, id).await?,
        Some(_) => vapp::power(ask.d(), &ask.actor, id, action).await?,
    };
    task::accepted(&ask, task).await
}

async fn undeploy_vm(ask: Ask) -> Result<Answer> {
    let action = way(&ask.xml_or_nothing("UndeployVAppParams")?, (VmPowerOff, VmShutdown, VmSuspend))?;
    let id: VmId = ask.id(Kind::Vm)?;
    let vm = vm::get(ask.d(), &ask.actor, id).await?;
    if !status::vm_deployed(&vm) {
        return Err(not_running("VM", &vm.name));
    }
    let task = vm::power(ask.d(), &ask.actor, id, action).await?;
    task::accepted(&ask, task).await
}
