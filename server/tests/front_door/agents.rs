//! What guests tell of themselves: asked without anybody waiting, and shown as of when it was said.
use crate::stage::Stage;
use domain::{agent, vm};
use model::{
    Action,
    agent::Guest,
    vm::{Vm, VmState},
};
use std::time::Duration;

async fn get(stage: &Stage, vm: &Vm) -> Guest {
    agent::get(&stage.app.domain, &stage.admin, vm.id).await.unwrap()
}

async fn told(stage: &Stage, vm: &Vm) -> Guest {
    stage.until("what it tells", async || get(stage, vm).await.told_at.is_some()).await;
    get(stage, vm).await
}

async fn one_vm(stage: &Stage) -> Vm {
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    stage.running(id).await.remove(0)
}

#[tokio::test]
async fn a_guest_tells_its_system_name_and_file_systems_when_its_agent_comes() {
    let stage = Stage::set().await;
    let one = one_vm(&stage).await;
    // nobody looks
    let known = format!("vms where id = '{}' and guest_at is not null", one.id);
    stage.until("what it tells", async || stage.app.db.count(&known).await == 1).await;
    let guest = told(&stage, &one).await;
    assert!(guest.agent);
    assert_eq!((guest.system.name.as_str(), guest.system.kernel.as_str()), ("Ubuntu", "6.8.0-79-generic"));
    assert_eq!((guest.told.hostname.as_str(), guest.told.agent.as_str()), ("mail", "9.1.0"));
    let root = &guest.told.file_systems[0];
    assert_eq!((root.mount.as_str(), root.kind.as_str(), root.used >> 30, root.total >> 30), ("/", "ext4", 2, 30));
    let page = stage.app.sign_in("acme", "acme-admin").await;
    let shown = page.get(&format!("/tenant/acme/vms/{}", one.id)).await.must(200);
    shown.says("answers, version 9.1.0").says("6.8.0-79-generic").says("ext4").says("2.0 GB, 7 %").says("as of ");
}

#[tokio::test]
async fn it_is_asked_again_only_while_somebody_looks_and_not_too_often() {
    let stage = Stage::set().await;
    let one = one_vm(&stage).await;
    told(&stage, &one).await;
    stage.until("rest", async || stage.app.domain.store.work_items(9).await.unwrap().is_empty()).await;
    let first = get(&stage, &one).await.told_at;
    assert_eq!(get(&stage, &one).await.told_at, first);
    assert!(stage.app.domain.store.work_items(9).await.unwrap().is_empty(), "it is fresh");
    let later = "update vms set guest_at = guest_at - interval '2 minutes', guest_asked_at = null";
    stage.app.db.execute(later).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(stage.app.db.count("vms where guest_at > now() - interval '1 minute'").await, 0, "nobody looks");
    stage.until("news", async || get(&stage, &one).await.told_at > first).await;
}

#[tokio::test]
async fn without_an_agent_nothing_is_known_and_a_silent_hubs_guest_is_as_of_then() {
    let stage = Stage::set().await;
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let one = one_vm(&stage).await;
    told(&stage, &one).await;
    let page = stage.app.sign_in("acme", "acme-admin").await;
    let path = format!("/tenant/acme/vms/{}", one.id);
    vm::power(d, admin, one.id, Action::VmPowerOff).await.unwrap();
    stage.until("stopped", async || stage.vm(one.id).await.state() == VmState::Stopped).await;
    page.get(&path).await.must(200).says("unknown: the VM does not run").says_not("ext4");
    let mark = |o: &mut serde_json::Value| {
        o["metadata"]["annotations"]["simulator.ssvirt.io/fail"] = "no-guest-agent".into();
    };
    stage.hubs.hub("one").edit("kubevirt.io", "virtualmachines", &one.namespace, &one.hub_name, mark).unwrap();
    vm::power(d, admin, one.id, Action::VmPowerOn).await.unwrap();
    stage.running(one.vapp).await;
    page.get(&path).await.must(200).says("does not answer, or is not installed").says("unknown").says_not("ext4");
    assert!(!get(&stage, &one).await.agent);

    let unmark = |o: &mut serde_json::Value| o["metadata"]["annotations"]["simulator.ssvirt.io/fail"] = "".into();
    stage.hubs.hub("one").edit("kubevirt.io", "virtualmachines", &one.namespace, &one.hub_name, unmark).unwrap();
    stage.until("the agent", async || get(&stage, &one).await.agent).await;
    let at = told(&stage, &one).await.told_at;
    stage.hubs.hub("one").faults().set(hubsim::Fault::Refuse, true);
    stage.until("silence", async || stage.vm(one.id).await.stale()).await;
    stage.app.db.execute("update vms set guest_at = guest_at - interval '2 minutes', guest_asked_at = null").await;
    page.get(&path).await.must(200).says("Its hub has not answered").says("ext4").says("as of ");
    assert!(get(&stage, &one).await.told_at < at, "a silent hub is not asked");
}
