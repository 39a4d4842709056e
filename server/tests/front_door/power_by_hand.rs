//! A VM that was powered on or off past us stays so, whatever else is asked of it, until its power is asked for here.
use crate::{
    disks::blank,
    stage::{Stage, VMS},
};
use domain::{affinity, disk, guest, nic, owner, snapshot, vapp, vm};
use model::{
    Action, VappId,
    affinity::AffinitySpec,
    guest::GuestSettings,
    nic::NicSpec,
    owner::Owned,
    role::Predefined,
    snapshot::SnapshotSpec,
    task::TaskStatus,
    vm::{Seen, Vm},
};
use serde_json::Value;
use std::time::Duration;

const INSTANCES: (&str, &str) = ("kubevirt.io", "virtualmachineinstances");

impl Stage {
    fn strategy_by_hand(&self, one: &Vm, strategy: &str) {
        let edit = |o: &mut Value| {
            o["spec"]["runStrategy"] = strategy.into();
            o["metadata"]["generation"] = (o["metadata"]["generation"].as_i64().unwrap() + 1).into();
        };
        assert!(self.hubs.hub("one").edit(VMS.0, VMS.1, &one.namespace, &one.hub_name, edit).unwrap());
    }

    async fn named(&self, one: &Vm, seen: Seen, what: &str) {
        self.until(what, async || {
            let now = self.vm(one.id).await;
            now.seen == seen && now.outside == what
        })
        .await;
    }

    /// The run of it that is on its hub; null: none.
    fn run_of(&self, one: &Vm) -> Value {
        let run = self.hubs.hub("one").object(INSTANCES.0, INSTANCES.1, &one.namespace, &one.hub_name);
        run.map_or(Value::Null, |run| run["metadata"]["uid"].clone())
    }

    /// All that can be asked of a VM but its power. `id`: its vApp, in which another VM is.
    async fn asked_for_all_but_power(&self, id: VappId, one: &Vm) {
        let (d, admin) = (&self.app.domain, &self.admin);
        let before = self.vm(one.id).await;
        let as_it_was = (self.run_of(one), before.seen, before.outside.as_str());
        let strategy = self.object(one).unwrap()["spec"]["runStrategy"].clone();
        let told = self.app.db.count("events where kind = 'vm.outside'").await;
        let stays = async |what: &str| {
            self.until(what, async || {
                let now = self.vm(one.id).await;
                now.applied == Some(now.generation)
            })
            .await;
            let open = format!("tasks where object_id in ('{}', '{id}') and status in ('queued', 'running')", one.id);
            self.until("the ends of tasks", async || self.app.db.count(&open).await == 0).await;
            // what was begun on the hub by then is seen; a disk that is made shows for a moment as well
            tokio::time::sleep(Duration::from_millis(300)).await;
            self.until("the end of what is made", async || self.vm(one.id).await.seen != Seen::Provisioning).await;
            let now = self.vm(one.id).await;
            assert_eq!((self.run_of(one), now.seen, now.outside.as_str()), as_it_was, "after {what}");
            assert_eq!(self.object(one).unwrap()["spec"]["runStrategy"], strategy, "after {what}");
        };
        vm::edit(d, admin, one.id, before.version, &before.name, "letters").await.unwrap();
        stays("another description").await;
        vm::resize(d, admin, one.id, before.cpus + 1, before.memory_mb).await.unwrap();
        stays("another size").await;
        let wished =
            GuestSettings { script: "#!/bin/sh\ntrue\n".into(), ..guest::get(d, admin, one.id).await.unwrap().1 };
        guest::set(d, admin, one.id, self.vm(one.id).await.version, "post", wished).await.unwrap();
        stays("other guest settings").await;
        let mut nics: Vec<NicSpec> = before.nics.iter().map(|n| n.spec.clone()).collect();
        nics[0].connected = false;
        nic::set(d, admin, one.id, self.vm(one.id).await.version, nics).await.unwrap();
        stays("a card without a cable").await;
        disk::add(d, admin, one.id, blank("more", 1024)).await.unwrap();
        stays("another disk").await;
        let both = vapp::with_vms(d, admin, id).await.unwrap().1.iter().map(|v| v.id).collect();
        let apart = AffinitySpec { name: "apart".into(), together: false, mandatory: false, enabled: true, vms: both };
        affinity::create(d, admin, one.vdc, apart).await.unwrap();
        stays("an affinity rule").await;
        let heir = self.app.user(self.acme.id, "eva", Predefined::VappAuthor.id()).await;
        owner::give(d, admin, Owned::Vapp(id), heir).await.unwrap();
        stays("another owner").await;
        snapshot::create(d, admin, one.id, SnapshotSpec { name: "now".into(), ..SnapshotSpec::default() })
            .await
            .unwrap();
        stays("a snapshot").await;
        let failed = format!("tasks where object_id = '{}' and status = 'error'", one.id);
        assert_eq!(self.app.db.count(&failed).await, 0, "what was asked for was done");
        assert_eq!(self.app.db.count("events where kind = 'vm.outside'").await, told, "it is said once");
    }

    async fn powered(&self, one: &Vm, action: Action, seen: Seen) {
        vm::power(&self.app.domain, &self.admin, one.id, action).await.unwrap();
        self.until(action.key(), async || self.task_of(one.id.0, action).await.0.ended()).await;
        assert_eq!(self.task_of(one.id.0, action).await, (TaskStatus::Success, String::new()));
        let now = self.vm(one.id).await;
        assert_eq!((now.seen, now.outside.as_str()), (seen, ""));
    }
}

#[tokio::test]
async fn what_was_started_on_its_hub_is_not_stopped_by_what_is_asked_of_it_besides() {
    let stage = Stage::set().await;
    let id = stage.deploy("web-and-db", "shop").await;
    let one = stage.running(id).await.remove(0);
    stage.powered(&one, Action::VmPowerOff, Seen::Stopped).await;
    stage.strategy_by_hand(&one, "RerunOnFailure");
    stage.named(&one, Seen::Running, "It was started on its hub by hand.").await;
    stage.asked_for_all_but_power(id, &one).await;
    let page = stage.app.sign_in("acme", "acme-admin").await.get(&format!("/tenant/acme/vms/{}", one.id)).await;
    page.must(200).says("It was started on its hub by hand. It stays so until its power is asked for here.");
    stage.powered(&one, Action::VmPowerOff, Seen::Stopped).await;
    assert_eq!(stage.run_of(&one), Value::Null);
}

#[tokio::test]
async fn what_was_stopped_on_its_hub_is_not_started_by_what_is_asked_of_it_besides() {
    let stage = Stage::set().await;
    let id = stage.deploy("web-and-db", "shop").await;
    let one = stage.running(id).await.remove(0);
    stage.strategy_by_hand(&one, "Halted");
    stage.named(&one, Seen::Stopped, "It was stopped on its hub by hand.").await;
    stage.asked_for_all_but_power(id, &one).await;
    // going back to a snapshot ends with the power that is asked for
    snapshot::revert_to_current(&stage.app.domain, &stage.admin, one.id, true).await.unwrap();
    stage.named(&one, Seen::Running, "").await;
    stage.strategy_by_hand(&one, "Halted");
    stage.named(&one, Seen::Stopped, "It was stopped on its hub by hand.").await;
    stage.powered(&one, Action::VmPowerOn, Seen::Running).await;
}

#[tokio::test]
async fn a_guest_that_shut_itself_down_is_not_started_by_what_is_asked_of_its_vm_besides() {
    let stage = Stage::set().await;
    let id = stage.deploy("web-and-db", "shop").await;
    let one = stage.running(id).await.remove(0);
    stage.hubs.hub("one").guest_off(&one.namespace, &one.hub_name).await;
    stage.named(&one, Seen::Stopped, "The guest shut itself down.").await;
    stage.asked_for_all_but_power(id, &one).await;
    stage.powered(&one, Action::VmPowerOn, Seen::Running).await;
}

#[tokio::test]
async fn a_wish_for_power_that_waits_is_met_though_something_else_is_asked_for_after_it() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    for (action, seen) in [(Action::VmPowerOff, Seen::Stopped), (Action::VmPowerOn, Seen::Running)] {
        stage.hubs.kill_controller();
        vm::power(d, admin, one.id, action).await.unwrap();
        let now = stage.vm(one.id).await;
        vm::edit(d, admin, one.id, now.version, &now.name, action.key()).await.unwrap();
        stage.hubs.start_controller(&stage.app);
        stage.until(action.key(), async || stage.vm(one.id).await.seen == seen).await;
    }
    // and where a worker that had made it so died before it could say that
    stage.hubs.kill_controller();
    vm::power(d, admin, one.id, Action::VmPowerOff).await.unwrap();
    stage.strategy_by_hand(&one, "Halted");
    let now = stage.vm(one.id).await;
    vm::edit(d, admin, one.id, now.version, &now.name, "after that").await.unwrap();
    stage.hubs.start_controller(&stage.app);
    stage.named(&one, Seen::Stopped, "").await;
    assert_eq!(stage.app.db.count("events where kind = 'vm.outside'").await, 0);
}
