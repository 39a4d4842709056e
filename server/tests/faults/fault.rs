//! What goes wrong: how it begins, how it ends, and what may be expected after it.
use crate::{
    database::{self, Trouble},
    operation::{Op, Subject},
    stage::{KUBEVIRT, Stage, one},
};
use domain::hub::Trust;
use model::{Action, VmId};
use rand::{Rng, rngs::StdRng};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    None,
    Sim(hubsim::Fault),
    OutsideEdit,
    OutsideDelete,
    Foreign,
    Terminating,
    Rotated,
    QuotaFull,
    Denied,
    DatabaseCut,
    Database(Trouble),
    ClockAhead,
    ClockBehind,
    Storm,
    Killed,
}

impl Fault {
    pub(crate) fn all() -> Vec<Fault> {
        use Fault::*;
        let ours = [
            None,
            OutsideEdit,
            OutsideDelete,
            Foreign,
            Terminating,
            Rotated,
            QuotaFull,
            Denied,
            DatabaseCut,
            ClockAhead,
            ClockBehind,
            Storm,
            Killed,
        ];
        hubsim::Fault::ALL.into_iter().map(Sim).chain(Trouble::ALL.into_iter().map(Database)).chain(ours).collect()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Fault::None => "nothing",
            Fault::Sim(fault) => fault.name(),
            Fault::OutsideEdit => "edited by hand",
            Fault::OutsideDelete => "deleted by hand",
            Fault::Foreign => "name taken",
            Fault::Terminating => "namespace ends",
            Fault::Rotated => "credential changed",
            Fault::QuotaFull => "hub's quota full",
            Fault::Denied => "webhook denies",
            Fault::DatabaseCut => "database cut",
            Fault::Database(trouble) => trouble.name(),
            Fault::ClockAhead => "clock +5 min",
            Fault::ClockBehind => "clock -5 min",
            Fault::Storm => "asked ten times",
            Fault::Killed => "replica killed",
        }
    }

    /// Is there anything it could do to that operation?
    pub(crate) fn concerns(self, op: Op) -> bool {
        match self {
            Fault::OutsideEdit | Fault::OutsideDelete | Fault::QuotaFull | Fault::Denied => {
                !op.about_hub() && !op.about_vdc()
            }
            Fault::Foreign => (!op.about_hub() && !op.about_vdc()) || op == Op::VdcCreate,
            Fault::Terminating => !op.about_hub() && op != Op::VdcCreate,
            _ => true,
        }
    }

    /// May something be left undone for good, if it is said?
    pub(crate) fn may_fail(self, op: Op) -> bool {
        // OpenShift tries an instance once
        if self == Fault::QuotaFull && op == Op::Instantiate {
            return true;
        }
        matches!(self, Fault::OutsideEdit | Fault::OutsideDelete | Fault::Foreign | Fault::Terminating | Fault::Denied)
    }

    /// Does it need a VDC that may be harmed?
    pub(crate) fn own_vdc(self) -> bool {
        matches!(self, Fault::Terminating | Fault::QuotaFull)
    }

    fn hub(op: Op) -> &'static str {
        if op.about_hub() { "two" } else { "one" }
    }

    /// The operation with the fault, from before it to after it. The seed says when what happens.
    pub(crate) async fn strike(self, stage: &Stage, op: Op, subject: &mut Subject, rng: &mut StdRng) {
        let hold = Duration::from_millis(rng.random_range(150..700));
        let delay = Duration::from_millis(rng.random_range(0..150));
        let first: bool = rng.random();
        let hub = stage.hub(Fault::hub(op));
        match self {
            Fault::None => op.insist(stage, subject).await,
            Fault::Storm => storm(stage, op, subject).await,
            Fault::Foreign => foreign(stage, op, subject).await,
            Fault::Sim(hubsim::Fault::ReplyLost) => {
                hub.faults().lose_replies(rng.random_range(1..8));
                op.insist(stage, subject).await;
                tokio::time::sleep(hold).await;
                hub.faults().clear();
            }
            Fault::Database(trouble) => {
                let (before, after) = if first { (Duration::ZERO, delay) } else { (delay, Duration::ZERO) };
                let vdc = subject.vdc;
                let harm = async {
                    tokio::time::sleep(before).await;
                    trouble.strike(stage, vdc, hold).await;
                };
                let asked = async {
                    tokio::time::sleep(after).await;
                    op.insist(stage, subject).await;
                };
                futures::join!(harm, asked);
            }
            _ => {
                if first {
                    self.begin(stage, op, subject, rng).await;
                    tokio::time::sleep(delay).await;
                    op.insist(stage, subject).await;
                } else {
                    op.insist(stage, subject).await;
                    tokio::time::sleep(delay).await;
                    self.begin(stage, op, subject, rng).await;
                }
                tokio::time::sleep(hold).await;
                self.end(stage, op, subject).await;
            }
        }
    }

    async fn begin(self, stage: &Stage, op: Op, subject: &mut Subject, rng: &mut StdRng) {
        let hub = stage.hub(Fault::hub(op));
        match self {
            Fault::Sim(fault) => {
                hub.faults().set_delay(Duration::from_millis(rng.random_range(100..500)));
                hub.faults().set(fault, true);
                if fault == hubsim::Fault::Expired {
                    hub.forget_history();
                }
            }
            Fault::OutsideEdit => by_hand(stage, op, subject, edit).await,
            Fault::OutsideDelete => by_hand(stage, op, subject, delete).await,
            Fault::Terminating => terminate(stage, subject).await,
            Fault::Rotated => rotate(stage, Fault::hub(op)).await,
            Fault::QuotaFull => {
                let quota = json!({
                    "apiVersion": "v1", "kind": "ResourceQuota",
                    "metadata": {"name": "others", "namespace": namespace(stage, subject).await},
                    "spec": {"hard": {"count/virtualmachines.kubevirt.io": "0"}},
                    "status": {"hard": {"count/virtualmachines.kubevirt.io": "0"}, "used": {"count/virtualmachines.kubevirt.io": "0"}},
                });
                hub.plant("", "resourcequotas", quota).unwrap();
            }
            Fault::Denied => stage.deny(true),
            Fault::DatabaseCut => {
                for _ in 0..rng.random_range(1..4) {
                    database::cut(stage).await;
                    tokio::time::sleep(Duration::from_millis(rng.random_range(5..60))).await;
                }
            }
            Fault::ClockAhead => restart(stage, time::Duration::minutes(5)).await,
            Fault::ClockBehind => restart(stage, time::Duration::minutes(-5)).await,
            Fault::Killed => {
                let mut all = stage.replicas.lock().await;
                let victim = rng.random_range(0..all.len());
                all.remove(victim).kill().await;
            }
            Fault::None | Fault::Storm | Fault::Foreign | Fault::Database(_) => {}
        }
    }

    async fn end(self, stage: &Stage, op: Op, subject: &Subject) {
        let hub = stage.hub(Fault::hub(op));
        match self {
            Fault::Sim(fault) => {
                hub.faults().set(fault, false);
                hub.release_stuck().unwrap();
            }
            Fault::QuotaFull => {
                assert!(hub.remove("", "resourcequotas", &namespace(stage, subject).await, "others").unwrap())
            }
            Fault::Denied => stage.deny(false),
            Fault::DatabaseCut => database::used_up(&stage.app.domain.store).await,
            Fault::ClockAhead | Fault::ClockBehind => restart(stage, time::Duration::ZERO).await,
            Fault::Killed => {
                let mut all = stage.replicas.lock().await;
                all.push(stage.inside(time::Duration::ZERO));
            }
            _ => {}
        }
    }
}

/// All replicas end as if they were killed, and come back with clocks that are so much off.
async fn restart(stage: &Stage, clock_off: time::Duration) {
    let mut all = stage.replicas.lock().await;
    let count = all.len();
    for replica in all.drain(..) {
        replica.kill().await;
    }
    all.extend((0..count).map(|_| stage.inside(clock_off)));
}

async fn storm(stage: &Stage, op: Op, subject: &mut Subject) {
    let mut subjects = vec![subject.clone(); 10];
    futures::future::join_all(subjects.iter_mut().map(|s| op.ask(stage, s))).await;
    op.find(stage, subject).await;
}

async fn namespace(stage: &Stage, subject: &Subject) -> String {
    stage.app.db.text(&format!("select namespace_name from vdcs where id = '{}'", subject.vdc)).await
}

/// The machines that the operation is about, as soon as they have a name.
async fn machines(stage: &Stage, subject: &Subject) -> Vec<VmId> {
    match (subject.vm, subject.vapp) {
        (Some(vm), _) => vec![vm],
        (None, Some(vapp)) => stage.vms_of(vapp).await,
        (None, None) => Vec::new(),
    }
}

/// Does something to a machine on its hub as soon as it is there.
async fn by_hand(stage: &Stage, op: Op, subject: &Subject, what: fn(&Stage, &str, &str, &Value)) {
    let until = Instant::now() + Duration::from_millis(if op.makes() { 1500 } else { 50 });
    while Instant::now() < until {
        for vm in machines(stage, subject).await {
            let (namespace, name) = stage.place_of(vm).await;
            if let Some(object) = stage.hub("one").object(KUBEVIRT, "virtualmachines", &namespace, &name) {
                what(stage, &namespace, &name, &object);
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn edit(stage: &Stage, namespace: &str, name: &str, _: &Value) {
    let change = |object: &mut Value| {
        let halted = object["spec"]["runStrategy"] == "Halted";
        object["spec"]["runStrategy"] = if halted { "RerunOnFailure" } else { "Halted" }.into();
        object["metadata"]["generation"] = (object["metadata"]["generation"].as_i64().unwrap_or(1) + 1).into();
    };
    stage.hub("one").edit(KUBEVIRT, "virtualmachines", namespace, name, change).unwrap();
}

fn delete(stage: &Stage, namespace: &str, name: &str, object: &Value) {
    stage.witness.by_hand(&crate::witness::uid(object));
    stage.hub("one").remove(KUBEVIRT, "virtualmachines", namespace, name).unwrap();
}

/// Somebody else's object gets the name before ours does; where ours is there, it is deleted by hand first.
async fn foreign(stage: &Stage, op: Op, subject: &mut Subject) {
    let hub = stage.hub("one");
    hub.faults().set(hubsim::Fault::Refuse, true);
    if !op.makes() && op != Op::VdcCreate {
        plant_foreign(stage, subject).await;
        op.insist(stage, subject).await;
    } else {
        op.insist(stage, subject).await;
        plant_foreign(stage, subject).await;
    }
    if op == Op::VdcCreate {
        let name = namespace(stage, subject).await;
        let other = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
        stage.witness.guard("a foreign namespace", &hub.plant("", "namespaces", other).unwrap());
    }
    hub.faults().set(hubsim::Fault::Refuse, false);
}

async fn plant_foreign(stage: &Stage, subject: &Subject) {
    let hub = stage.hub("one");
    let like = stage.object_of(stage.steady).await.unwrap();
    for vm in machines(stage, subject).await {
        let (namespace, name) = stage.place_of(vm).await;
        if let Some(object) = hub.object(KUBEVIRT, "virtualmachines", &namespace, &name) {
            delete(stage, &namespace, &name, &object);
        }
        let mut other = like.clone();
        other["metadata"] = json!({"name": name, "namespace": namespace});
        other["spec"]["runStrategy"] = "Halted".into();
        other["spec"]["template"]["metadata"] = json!({});
        other["status"] = json!({});
        let planted = hub.plant(KUBEVIRT, "virtualmachines", other).unwrap();
        stage.witness.guard("a foreign VM of the same name", &planted);
    }
}

/// Somebody deletes the namespace; the hub's own controller goes on from there.
async fn terminate(stage: &Stage, subject: &Subject) {
    let name = namespace(stage, subject).await;
    for object in stage.hub("one").objects(KUBEVIRT, "virtualmachines") {
        if object["metadata"]["namespace"] == name.as_str() {
            stage.witness.by_hand(&crate::witness::uid(&object));
        }
    }
    let dying = |object: &mut Value| {
        object["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z".into();
        object["status"]["phase"] = "Terminating".into();
    };
    stage.hub("one").edit("", "namespaces", "", &name, dying).unwrap();
}

/// The account behind the kubeconfig is deleted, and another one takes its place.
async fn rotate(stage: &Stage, hub: &str) {
    stage.end_accounts(hub);
    let kubeconfig = stage.account(hub, &stage.fresh("account"));
    tokio::time::sleep(Duration::from_millis(100)).await;
    let id = if hub == "one" { one() } else { model::HubId(hub.into()) };
    let d = &stage.app.domain;
    let asked = domain::hub::set_credential(d, &stage.operator, &id, &kubeconfig, Trust::Operator, None);
    let _ = stage.ask(Action::HubCredential, asked).await;
}
