//! What closes a VDC on its hubs is looked at again and again, and names reach what carries them.
use crate::stage::{Stage, VMS};
use domain::{org, vapp, vdc, vm};
use model::{Action, org::OrgSpec, vdc::VdcSpec, vm::VmState};
use serde_json::{Value, json};
use std::time::Duration;

const POLICIES: (&str, &str) = ("networking.k8s.io", "networkpolicies");
const QUOTAS: (&str, &str) = ("", "resourcequotas");
const NAMESPACES: (&str, &str) = ("", "namespaces");

impl Stage {
    fn there(&self, (group, resource): (&str, &str), namespace: &str, name: &str) -> Option<Value> {
        self.hubs.hub("one").object(group, resource, namespace, name).map(|o| (*o).clone())
    }

    /// With a VM that runs, so that the VDC is on its hub.
    async fn with_a_vm() -> (Stage, model::vm::Vm) {
        let stage = Stage::set().await;
        let id = stage.deploy("rhel-9", "web").await;
        let vm = stage.running(id).await.remove(0);
        (stage, vm)
    }

    async fn events(&self, like: &str) -> i64 {
        self.app.db.count(&format!("events where kind = 'vdc.outside' and message like '{like}'")).await
    }
}

#[tokio::test]
async fn a_policy_or_quota_that_is_changed_by_hand_is_put_back_and_said() {
    let (stage, vm) = Stage::with_a_vm().await;
    let (hub, ns) = (stage.hubs.hub("one"), vm.namespace.as_str());
    let before = stage.there(QUOTAS, ns, "ssvirt").unwrap()["spec"].clone();
    let closed = stage.there(POLICIES, ns, "ssvirt-closed").unwrap()["spec"].clone();
    stage.hubs.look_every(&stage.app, Duration::from_millis(300));
    // looked at more than once, and nothing is said while nothing differs
    let looked = "places where shape <> '' and not look and looked_at > ready_at + interval '1 second'";
    stage.until("a look", async || stage.app.db.count(looked).await == 1).await;
    let said = stage
        .app
        .db
        .text("select coalesce(string_agg(message, '; '), '') from events where kind = 'vdc.outside'")
        .await;
    assert_eq!(said, "");

    hub.remove(POLICIES.0, POLICIES.1, ns, "ssvirt-same-vdc").unwrap();
    hub.edit(POLICIES.0, POLICIES.1, ns, "ssvirt-closed", |o| o["spec"]["ingress"] = json!([{}])).unwrap();
    stage
        .until("closed again", async || {
            let same = stage.there(POLICIES, ns, "ssvirt-same-vdc").is_some();
            same && stage.there(POLICIES, ns, "ssvirt-closed").unwrap()["spec"] == closed
        })
        .await;
    stage.until("the event", async || stage.events("%ssvirt-closed was changed%").await == 1).await;
    stage.until("the event", async || stage.events("%ssvirt-same-vdc was deleted%").await == 1).await;

    hub.edit(QUOTAS.0, QUOTAS.1, ns, "ssvirt", |o| {
        o["spec"]["hard"]["requests.cpu"] = json!("9000");
        o["spec"]["hard"]["pods"] = json!("100");
    })
    .unwrap();
    let hard = || stage.there(QUOTAS, ns, "ssvirt").unwrap()["spec"]["hard"].clone();
    stage.until("the quota", async || hard()["requests.cpu"] == before["hard"]["requests.cpu"]).await;
    assert_eq!(hard()["pods"], "100", "what others limit besides is theirs");
    stage.until("the event", async || stage.events("%the quota ssvirt was changed by hand%").await == 1).await;
    let cut = |o: &mut Value| o["metadata"]["labels"]["ssvirt.io/organization"] = json!("somebody");
    hub.edit(NAMESPACES.0, NAMESPACES.1, "", ns, cut).unwrap();
    let named = || stage.there(NAMESPACES, "", ns).unwrap()["metadata"]["labels"]["ssvirt.io/organization"].clone();
    stage.until("the label", async || named() == "acme").await;
    hub.remove(QUOTAS.0, QUOTAS.1, ns, "ssvirt").unwrap();
    stage.until("a quota", async || stage.there(QUOTAS, ns, "ssvirt").is_some()).await;
    stage.until("the event", async || stage.events("%the quota ssvirt was deleted by hand%").await == 1).await;
    let page = stage.app.provider().await.get("/provider/events").await.must(200);
    page.says("On its hub the quota ssvirt was deleted by hand. It is put back.");
    // a change that somebody asked for is not somebody's by hand
    let now = vdc::get(&stage.app.domain, &stage.admin, vm.vdc).await.unwrap();
    let said = stage.events("%").await;
    let spec = VdcSpec { limits: model::quota::Limits { vms: Some(50), ..now.limits }, ..VdcSpec::from(&now) };
    vdc::edit(&stage.app.domain, &stage.admin, now.id, now.version, spec).await.unwrap();
    stage.until("the new limit", async || hard()["count/virtualmachines.kubevirt.io"] == "55").await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(stage.events("%").await, said);
}

#[tokio::test]
async fn a_hub_that_answers_again_is_looked_at_without_waiting_for_the_next_turn() {
    let (stage, vm) = Stage::with_a_vm().await;
    let hub = stage.hubs.hub("one");
    hub.faults().set(hubsim::Fault::Refuse, true);
    let silent = "hubs where state = 'unreachable'";
    stage.until("silence", async || stage.app.db.count(silent).await == 1).await;
    hub.remove(POLICIES.0, POLICIES.1, &vm.namespace, "ssvirt-closed").unwrap();
    hub.faults().set(hubsim::Fault::Refuse, false);
    stage.until("a policy", async || stage.there(POLICIES, &vm.namespace, "ssvirt-closed").is_some()).await;
}

#[tokio::test]
async fn policies_of_a_later_release_reach_vdcs_that_are_there() {
    let (stage, vm) = Stage::with_a_vm().await;
    let (hub, ns) = (stage.hubs.hub("one"), vm.namespace.as_str());
    stage.hubs.kill_controller();
    // as an earlier release left it
    let narrow = |o: &mut Value| o["spec"]["ingress"] = json!([]);
    hub.edit(POLICIES.0, POLICIES.1, ns, "ssvirt-platform", narrow).unwrap();
    stage.app.db.execute("update places set shape = 'of an earlier release'").await;
    stage.hubs.look_every(&stage.app, Duration::from_millis(300));
    let rules = || stage.there(POLICIES, ns, "ssvirt-platform").unwrap()["spec"]["ingress"].clone();
    stage.until("today's policy", async || rules() != json!([])).await;
    assert_eq!(stage.events("%").await, 0, "nobody did that by hand");
}

#[tokio::test]
async fn another_name_reaches_everything_that_carries_it_and_changes_nothing_else() {
    let (stage, vm) = Stage::with_a_vm().await;
    let (d, ns) = (&stage.app.domain, vm.namespace.as_str());
    let operator = stage.app.operator().await;
    // somebody stopped it on its hub: a new name does not start it
    let halt = |o: &mut Value| {
        o["spec"]["runStrategy"] = "Halted".into();
        o["metadata"]["generation"] = (o["metadata"]["generation"].as_i64().unwrap() + 1).into();
    };
    stage.hubs.hub("one").edit(VMS.0, VMS.1, ns, &vm.hub_name, halt).unwrap();
    stage.until("a stop", async || stage.vm(vm.id).await.state() == VmState::Stopped).await;
    let meta = |what: (&str, &str), namespace: &str, name: &str| {
        stage.there(what, namespace, name).unwrap()["metadata"].clone()
    };
    let tasks = "tasks where status in ('queued', 'running')";

    let now = org::get(d, &operator, stage.acme.id).await.unwrap();
    let spec = OrgSpec { name: "initech".into(), ..OrgSpec::from(&now) };
    org::edit(d, &operator, now.id, now.version, spec).await.unwrap();
    stage.until("the VM", async || meta(VMS, ns, &vm.hub_name)["labels"]["ssvirt.io/organization"] == "initech").await;
    for (what, namespace, name) in [
        (NAMESPACES, "", ns),
        (QUOTAS, ns, "ssvirt"),
        (POLICIES, ns, "ssvirt-closed"),
        (POLICIES, ns, "ssvirt-platform"),
    ] {
        stage.until(name, async || meta(what, namespace, name)["labels"]["ssvirt.io/organization"] == "initech").await;
    }
    let now = vdc::get(d, &operator, vm.vdc).await.unwrap();
    let spec = VdcSpec { name: "live".into(), ..VdcSpec::from(&now) };
    vdc::edit(d, &operator, now.id, now.version, spec).await.unwrap();
    stage.until("the VM", async || meta(VMS, ns, &vm.hub_name)["labels"]["ssvirt.io/vdc"] == "live").await;
    stage.until("the policy", async || meta(POLICIES, ns, "ssvirt-closed")["labels"]["ssvirt.io/vdc"] == "live").await;
    let now = vapp::get(d, &operator, vm.vapp).await.unwrap();
    vapp::edit(d, &operator, now.id, now.version, "shop", "").await.unwrap();
    stage.until("the VM", async || meta(VMS, ns, &vm.hub_name)["annotations"]["ssvirt.io/vapp"] == "shop").await;

    stage.until("all tasks", async || stage.app.db.count(tasks).await == 0).await;
    stage.until("an empty queue", async || stage.app.db.count("work").await == 0).await;
    assert_eq!(stage.events("%").await, 0, "names that were asked for are no drift");
    let after = vm::get(d, &operator, vm.id).await.unwrap();
    assert_eq!(after.state(), VmState::Stopped);
    assert!(after.outside.contains("stopped on its hub by hand"), "{}", after.outside);
    let object = stage.there(VMS, ns, &vm.hub_name).unwrap();
    assert_eq!(object["spec"]["runStrategy"], "Halted");
    assert_eq!(object["metadata"]["annotations"]["ssvirt.io/organization"], "initech");
    assert_eq!(stage.task_of(vm.vapp.0, Action::VappCreate).await.0, model::task::TaskStatus::Success);
}
