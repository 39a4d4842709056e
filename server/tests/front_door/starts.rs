//! Machines that are started while something of them still runs: KubeVirt passes over a wish that comes too early.
use crate::stage::Stage;
use domain::vm;
use model::{
    Action,
    task::TaskStatus,
    vm::{Seen, Vm, VmState},
};

impl Stage {
    async fn ask(&self, one: &Vm, action: Action) {
        vm::power(&self.app.domain, &self.admin, one.id, action).await.unwrap();
    }

    async fn until_strategy(&self, one: &Vm, strategy: &str) {
        self.until(strategy, async || self.object(one).unwrap()["spec"]["runStrategy"] == strategy).await;
    }

    /// It runs, its task has ended well, and nothing is said to have been done past us.
    async fn started(&self, one: &Vm) {
        self.until("running", async || self.vm(one.id).await.seen == Seen::Running).await;
        self.until("the task's end", async || self.task_of(one.id.0, Action::VmPowerOn).await.0.ended()).await;
        assert_eq!(self.task_of(one.id.0, Action::VmPowerOn).await, (TaskStatus::Success, String::new()));
        assert_eq!(self.app.db.count("events where kind = 'vm.outside'").await, 0);
    }
}

#[tokio::test]
async fn a_vm_that_is_powered_on_while_its_guest_shuts_down_runs_again() {
    let stage = Stage::set().await;
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    // once as its hub learns of it, once when it is seen to stop, and by the plug
    for (stop, seen) in [(Action::VmShutdown, false), (Action::VmShutdown, true), (Action::VmPowerOff, false)] {
        stage.ask(&one, stop).await;
        match seen {
            true => stage.until("stopping", async || stage.vm(one.id).await.seen != Seen::Running).await,
            false => stage.until_strategy(&one, "Halted").await,
        }
        stage.ask(&one, Action::VmPowerOn).await;
        stage.started(&one).await;
    }
}

#[tokio::test]
async fn a_vm_whose_guest_shut_itself_down_is_powered_on_again() {
    let stage = Stage::set().await;
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    stage.hubs.hub("one").guest_off(&one.namespace, &one.hub_name).await;
    stage.until("the guest's end", async || stage.vm(one.id).await.outside == "The guest shut itself down.").await;
    stage.app.db.execute("delete from events where kind = 'vm.outside'").await;
    stage.ask(&one, Action::VmPowerOn).await;
    stage.started(&one).await;
}

#[tokio::test]
async fn a_start_that_its_hub_passed_over_is_asked_for_once_more() {
    let stage = Stage::set().await;
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    stage.ask(&one, Action::VmPowerOff).await;
    stage.until("stopped", async || stage.vm(one.id).await.state() == VmState::Stopped).await;
    // as it is after a worker told the hub, and nothing came of it
    stage.hubs.kill_controller();
    stage.ask(&one, Action::VmPowerOn).await;
    stage.app.db.execute("delete from work where kind = 'vm'").await;
    stage.app.db.execute("update vms set applied = generation, hub_generation = hub_generation + 1, obs_since = now() - interval '1 minute'").await;
    stage.hubs.look_every(&stage.app, std::time::Duration::from_secs(1));
    stage.started(&one).await;
}

#[tokio::test]
async fn nothing_waits_to_start_after_a_machine_that_failed_or_was_paused_on_its_hub() {
    let stage = Stage::set().await;
    let id = stage.deploy("web-and-db", "shop").await;
    let vms = stage.running(id).await;
    let (db, web) = (&vms[0], &vms[1]);
    stage.hubs.pause("one", &db.namespace, &db.hub_name).await;
    stage.until("the pause", async || stage.vm(db.id).await.outside == "It was paused on its hub by hand.").await;
    stage.app.db.execute("delete from events where kind = 'vm.outside'").await;
    stage.ask(web, Action::VmPowerOff).await;
    stage.until("stopped", async || stage.vm(web.id).await.seen == Seen::Stopped).await;
    stage.ask(web, Action::VmPowerOn).await;
    stage.started(web).await;

    stage.ask(web, Action::VmPowerOff).await;
    stage.until("stopped", async || stage.vm(web.id).await.seen == Seen::Stopped).await;
    // as its hub shows one that no node has room for
    let failed =
        format!("obs_state = 'failed', obs_reason = '0/3 nodes are available', outside = '' where id = '{}'", db.id);
    stage.app.db.execute(&format!("update vms set {failed}")).await;
    stage.ask(web, Action::VmPowerOn).await;
    stage.started(web).await;
}

#[tokio::test]
async fn what_a_machine_waits_for_before_it_starts_is_said_in_its_task() {
    let stage = Stage::set().await;
    let id = stage.deploy("web-and-db", "shop").await;
    let vms = stage.running(id).await;
    let (db, web) = (&vms[0], &vms[1]);
    let faults = stage.hubs.hub("one").faults();
    stage.ask(db, Action::VmSuspend).await;
    stage.until("suspended", async || stage.vm(db.id).await.seen == Seen::Suspended).await;
    stage.ask(web, Action::VmPowerOff).await;
    stage.until("stopped", async || stage.vm(web.id).await.seen == Seen::Stopped).await;
    // db can't be resumed for a while
    faults.set(hubsim::Fault::VirtApiDown, true);
    stage.ask(db, Action::VmPowerOn).await;
    stage.ask(web, Action::VmPowerOn).await;
    let said = async || stage.task_of(web.id.0, Action::VmPowerOn).await.1;
    stage.until("what it waits for", async || said().await == "It starts after db, which does not run yet.").await;
    faults.set(hubsim::Fault::VirtApiDown, false);
    stage.started(web).await;
}
