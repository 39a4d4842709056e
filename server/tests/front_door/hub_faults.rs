//! What the page of a simulated hub makes go wrong, and what SSVirt makes of it.
use crate::stage::Stage;
use domain::{vapp, vm};
use model::{
    Action, VmId,
    vm::{Seen, VmState},
};
use server::demo::hubs::Switches;
use std::{sync::Arc, time::Duration};

#[tokio::test]
async fn what_goes_wrong_on_a_simulated_hub_is_switched_on_its_page() {
    let stage = Stage::set().await;
    let switches = Switches(vec![("one".into(), stage.hubs.hub("one").switch())]);
    let stage = Stage { app: stage.app.played_by(Arc::new(switches)), ..stage };
    let provider = stage.app.provider().await;
    let switch = async |fault: &str, on: &str| {
        provider.post("/provider/hubs/one/faults", &[("fault", fault), ("on", on)]).await.must(303);
    };
    let power = async |vm: VmId, action: Action| {
        vm::power(&stage.app.domain, &stage.admin, vm, action).await.unwrap();
    };
    let state = async |vm: VmId, state: VmState| {
        stage.until(state.label(), async || stage.vm(vm).await.state() == state).await;
    };
    let page = provider.get("/provider/hubs/one").await.must(200).says("Connections are refused: off");
    page.says("No node has room for a VM that starts: off").says("Every update comes too late (409): off");

    // what VMs run into
    switch("unschedulable", "true").await;
    provider.get("/provider/hubs/one").await.says("No node has room for a VM that starts: on");
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let waits = async || stage.vms(id).await.first().is_some_and(|v| v.reason.contains("nodes are available"));
    stage.until("the scheduler's reason", waits).await;
    switch("unschedulable", "false").await;
    let one = stage.running(id).await.remove(0).id;

    // KubeVirt's own API is away: what needs it waits, the hub itself is well
    switch("virt-api-down", "true").await;
    power(one, Action::VmSuspend).await;
    let tried = "work where kind = 'vm' and last_error <> ''";
    stage.until("a try", async || stage.app.db.count(tried).await == 1).await;
    assert_eq!(stage.vm(one).await.seen, Seen::Running);
    assert_eq!(stage.app.db.text("select state from hubs").await, "ready");
    switch("virt-api-down", "false").await;
    state(one, VmState::Suspended).await;
    power(one, Action::VmPowerOn).await;
    state(one, VmState::Running).await;

    // somebody else is faster every time
    switch("conflict", "true").await;
    power(one, Action::VmPowerOff).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(stage.vm(one).await.seen, Seen::Running);
    switch("conflict", "false").await;
    state(one, VmState::Stopped).await;
    power(one, Action::VmPowerOn).await;
    state(one, VmState::Running).await;

    // by hand, by the name that people know, and any one
    let by_hand =
        async |deed: &str, vm: &str| provider.post("/provider/hubs/one/by-hand", &[("deed", deed), ("vm", vm)]).await;
    by_hand("edit-vm", "nobody").await.must(409).says("There is no VM nobody on hub one");
    by_hand("flood", "").await.must(400);
    let name = stage.vm(one).await.name;
    let done = by_hand("edit-vm", &name).await;
    provider.follow(done).await.says("by hand");
    stage.until("the stop", async || stage.vm(one).await.outside == "It was stopped on its hub by hand.").await;
    by_hand("delete-vm", "").await.must(303);
    state(one, VmState::Missing).await;
    by_hand("delete-vm", "").await.must(409).says("There is no VM on hub one");
    let audit = "audit where action = 'hub.fault' and after::text like '%delete-vm of %' and result <> 'refused'";
    assert_eq!(stage.app.db.count(audit).await, 1);
}

#[tokio::test]
async fn what_a_stuck_finalizer_held_goes_when_the_fault_is_switched_off() {
    let stage = Stage::set().await;
    let switches = Switches(vec![("one".into(), stage.hubs.hub("one").switch())]);
    let stage = Stage { app: stage.app.played_by(Arc::new(switches)), ..stage };
    let provider = stage.app.provider().await;
    let id = stage.deploy("ubuntu-24.04", "mail").await;
    let one = stage.running(id).await.remove(0);
    let form = |on| [("fault", "stuck-finalizer"), ("on", on)];
    provider.post("/provider/hubs/one/faults", &form("true")).await.must(303);
    vapp::delete(&stage.app.domain, &stage.admin, id).await.unwrap();
    let dying = async || stage.object(&one).is_some_and(|o| o["metadata"]["deletionTimestamp"].is_string());
    stage.until("a deletion that does not end", dying).await;
    provider.post("/provider/hubs/one/faults", &form("false")).await.must(303);
    stage.until("the end", async || stage.app.db.count("vapps where gone_at is null").await == 0).await;
}
