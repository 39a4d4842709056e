//! A replica dies, or freezes and comes back, before and after everything it does: a process of its own each time.
use crate::{
    operation::{Op, Subject},
    oracle::{Finding, Harm},
    replica::Replica,
    run::{PATIENCE, rest},
    stage::{KUBEVIRT, Stage},
};
use domain::{vapp, vdc, vm};
use model::Action;
use rustix::process::Signal;
use serde_json::Value;
use std::time::{Duration, Instant};
use work::drill::Step;

/// How a step is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    By(Op),
    /// A vApp whose machines a webhook refuses.
    Denied,
    /// The hub falls silent and comes back.
    Silent,
    /// A VDC that is deleted before its namespace was made.
    Unmade,
    /// An object of a machine that is long deleted turns up.
    Leftover,
    EditedByHand,
    UnlabelledByHand,
    DeletedByHand,
    /// Somebody opens a VDC to the world, on its hub.
    OpenedByHand,
    /// The vApp has another name, and its VMs with it.
    Renamed,
}

fn way(step: Step) -> Way {
    use Step::*;
    use Way::*;
    match step {
        Work | Extend | WorkDone | HubLease | HubReport | HubAnswers | Templates | Observe | TaskStands | Stranger => {
            By(Op::Compose)
        }
        PlaceWant | NamespaceMake | PlaceMade | FenceLook | QuotaMake | PolicyMake | OwnNetworkMake
        | OwnNetworkLook | PlaceApplied | VdcNames => By(Op::VdcCreate),
        NamespacePatch => By(Op::VdcDisable),
        QuotaPatch => By(Op::VdcChange),
        PlaceDrift | PolicyPatch => OpenedByHand,
        VmNames | VmNamed => Renamed,
        NamespaceFind => Unmade,
        PlaceClear | NamespaceBare => By(Op::HubCordon),
        NamespaceEmpty | NamespaceDelete | NamespaceGone | PlaceGone => By(Op::VdcDelete),
        VappPlace | VmAttempted | GuestMake | GuestTie | VmMake | VmMade | VmGet | VmHolds | VmChange | VmApplied => {
            By(Op::Deploy)
        }
        VappSpread => By(Op::AddVm),
        VappMoveEnd => By(Op::Move),
        VmMoveEnd => By(Op::MoveVmAway),
        TemplateGet | VappAttempted | ParametersMake | ParametersTie | InstanceStand | InstanceMake | InstanceMade
        | VmFind => By(Op::Instantiate),
        InstanceFind | InstanceDelete | ParametersDelete => By(Op::DeleteInstance),
        VappGone | VmDelete | VmGoneThere | GuestDelete | VmGone => By(Op::DeleteVapp),
        NetworkWant | NetworkMake | NetworkMade | NetworkLook | NetworkUsable => By(Op::ComposeOn),
        NetworkFind | NetworkDelete | NetworkGoneThere | NetworkLeft | NetworkGone => By(Op::DeleteNetwork),
        GuestTell => By(Op::AddNic),
        GuestDiscs => By(Op::TellGuest),
        NicsRelease => By(Op::RemoveNic),
        VmDiskMake | VmDiskPlug => By(Op::DiskAdd),
        VmDiskUnplug | VmDiskDelete | VmDiskGone => By(Op::DiskRemove),
        VmDiskPatch | VmDiskGrow | VmDiskGrown => By(Op::DiskGrow),
        SnapshotMake | SnapshotMade | SnapshotOver => By(Op::Snapshot),
        SnapshotDelete | SnapshotGone => By(Op::SnapshotDelete),
        RevertMake | RevertEnded | RevertDelete | RevertClear | RevertOver => By(Op::Revert),
        DiskLeft => By(Op::DiskDetach),
        GuestAsk | GuestTold => By(Op::Compose),
        ImageMake | ImageMade | ImageLook | ImageSend | ImageReady => By(Op::DeployImage),
        ImageDelete | ImageGone => By(Op::DeleteImage),
        DiskPlace | DiskAttempted | DiskMake | DiskMade | DiskNames | DiskApplied | DiskObserve => By(Op::DiskCreate),
        DiskGrow => By(Op::DiskEdit),
        DiskDelete | DiskGone => By(Op::DiskDelete),
        VmPower | VmStop => By(Op::PowerOff),
        VmPause => By(Op::Suspend),
        VmUnpause => By(Op::Resume),
        VmReboot => By(Op::Reboot),
        VmReset => By(Op::Reset),
        VmProblem | WorkLater => Denied,
        VmCollect => Leftover,
        HubSilent => Silent,
        Outside => EditedByHand,
        VmLabels => UnlabelledByHand,
        Missing => DeletedByHand,
        LeaseEnd => By(Op::LeaseEnds),
        SizingWant | SizingMake | SizingMade => By(Op::ComposeSized),
        SizingFind | SizingDelete | SizingLeft | SizingGone => By(Op::DeleteSize),
    }
}

impl Way {
    fn op(self) -> Op {
        match self {
            Way::By(op) => op,
            Way::Denied => Op::Compose,
            Way::Unmade => Op::VdcCreate,
            Way::Leftover => Op::DeleteVm,
            Way::OpenedByHand => Op::VdcChange,
            Way::Silent | Way::EditedByHand | Way::UnlabelledByHand | Way::DeletedByHand | Way::Renamed => Op::PowerOff,
        }
    }

    fn may_fail(self) -> bool {
        matches!(self, Way::Denied | Way::EditedByHand | Way::DeletedByHand)
    }

    async fn prepare(self, stage: &Stage) -> Subject {
        let prod = stage.prod().await;
        let mut subject = self.op().prepare(stage, prod).await;
        match self {
            Way::Unmade => {
                // as a worker leaves it that dies before its first call
                stage.have(0).await;
                self.op().ask(stage, &mut subject).await.unwrap();
                let place = "insert into places (vdc_id, hub_id, namespace) select id, 'one', namespace_name from vdcs";
                stage.app.db.execute(&format!("{place} where id = '{}'", subject.vdc)).await;
            }
            Way::Leftover => {
                let object = stage.object_of(subject.vm.unwrap()).await.unwrap();
                self.op().ask(stage, &mut subject).await.unwrap();
                let sql = format!("vms where id = '{}' and gone_at is not null", subject.vm.unwrap());
                stage.until("its end", async || stage.app.db.count(&sql).await == 1).await;
                stage.have(0).await;
                let mut again = object;
                again["spec"]["runStrategy"] = "Halted".into();
                again["metadata"]["finalizers"] = Value::Null;
                stage.hub("one").plant(KUBEVIRT, "virtualmachines", again).unwrap();
            }
            _ => {}
        }
        subject
    }

    /// What is done while the victim lives.
    async fn act(self, stage: &Stage, subject: &mut Subject) {
        let hub = stage.hub("one");
        match self {
            Way::By(op) => op.insist(stage, subject).await,
            Way::Denied => {
                stage.deny(true);
                self.op().insist(stage, subject).await;
            }
            Way::Silent => hub.faults().set(hubsim::Fault::Refuse, true),
            Way::Unmade => {
                let asked = vdc::delete(&stage.app.domain, &stage.admin, subject.vdc);
                stage.ask(Action::VdcDelete, asked).await.unwrap();
            }
            Way::Leftover => {}
            Way::OpenedByHand => {
                let (vdc, held) = (subject.vdc, "hubs where id = 'one' and state = 'ready'");
                stage.until("a hub that answers", async || stage.app.db.count(held).await == 1).await;
                let namespace =
                    stage.app.db.text(&format!("select namespace from places where vdc_id = '{vdc}'")).await;
                let open = |o: &mut Value| o["spec"]["ingress"] = serde_json::json!([{}]);
                hub.edit("networking.k8s.io", "networkpolicies", &namespace, "ssvirt-closed", open).unwrap();
            }
            Way::Renamed => {
                let (d, admin, id) = (&stage.app.domain, &stage.admin, subject.vapp.unwrap());
                let now = vapp::get(d, admin, id).await.unwrap();
                let name = format!("{}-renamed", now.name);
                let asked = vapp::edit(d, admin, id, now.version, &name, "");
                stage.ask(Action::VappEdit, asked).await.unwrap();
            }
            Way::EditedByHand | Way::UnlabelledByHand | Way::DeletedByHand => {
                let (namespace, name) = stage.place_of(subject.vm.unwrap()).await;
                // it must have been seen before, or nobody can tell that somebody changed it
                let held = "hubs where id = 'one' and lease_until > now()";
                stage.until("somebody who watches", async || stage.app.db.count(held).await == 1).await;
                tokio::time::sleep(Duration::from_millis(300)).await;
                let edit = |by: fn(&mut Value)| {
                    assert!(hub.edit(KUBEVIRT, "virtualmachines", &namespace, &name, by).unwrap());
                };
                match self {
                    Way::DeletedByHand => {
                        let object = hub.object(KUBEVIRT, "virtualmachines", &namespace, &name).unwrap();
                        stage.witness.by_hand(&crate::witness::uid(&object));
                        hub.remove(KUBEVIRT, "virtualmachines", &namespace, &name).unwrap();
                    }
                    Way::UnlabelledByHand => edit(|o| drop(o["metadata"].as_object_mut().unwrap().remove("labels"))),
                    _ => edit(|o| {
                        o["spec"]["runStrategy"] = "Halted".into();
                        o["metadata"]["generation"] = (o["metadata"]["generation"].as_i64().unwrap() + 1).into();
                    }),
                }
            }
        }
    }

    fn end(self, stage: &Stage) {
        stage.deny(false);
        stage.hub("one").faults().clear();
    }
}

fn never(what: &str) -> Vec<Finding> {
    vec![Finding { invariant: "reached", harm: Harm::Other, what: format!("{what}: no run came there") }]
}

/// All replicas die there, one after the other; then one comes that does not.
async fn die(stage: &Stage, step: Step, moment: &str, replicas: usize) -> Vec<Finding> {
    let way = way(step);
    stage.have(1).await;
    let mut subject = way.prepare(stage).await;
    stage.have(0).await;
    let place = format!("{}.{moment}", step.name());
    let mut victims: Vec<Replica> =
        (0..replicas).map(|_| Replica::process(&stage.app, &format!("die:{place}"))).collect();
    way.act(stage, &mut subject).await;
    // the first one may take its time; the others die as soon as they take over, if there is anything left to do
    let first =
        futures::future::select_all(victims.iter_mut().map(|v| Box::pin(v.dies(Duration::from_secs(60))))).await.0;
    let others = futures::future::join_all(victims.iter_mut().map(|v| v.dies(Duration::from_secs(3)))).await;
    let died = first || others.contains(&true);
    way.end(stage);
    drop(victims);
    stage.have(1).await;
    if !died {
        return never(&place);
    }
    let found = rest(stage, way.may_fail(), PATIENCE).await;
    after(stage, way, &subject, found).await
}

async fn after(stage: &Stage, way: Way, subject: &Subject, found: Vec<Finding>) -> Vec<Finding> {
    if found.is_empty() {
        way.op().clear(stage).await;
    }
    if found.is_empty() && way.may_fail() {
        return crate::clean::up(stage, true, subject).await;
    }
    found
}

/// A replica freezes there and others take over; people change their minds; then it comes back and goes on.
async fn freeze(stage: &Stage, step: Step, moment: &str) -> Vec<Finding> {
    let way = way(step);
    stage.have(1).await;
    let mut subject = way.prepare(stage).await;
    stage.have(0).await;
    let place = format!("{}.{moment}", step.name());
    let mut zombie = Replica::process(&stage.app, &format!("stop:{place}"));
    way.act(stage, &mut subject).await;
    let froze = zombie.freezes(Duration::from_secs(40)).await;
    way.end(stage);
    stage.have(1).await;
    if !froze {
        return never(&place);
    }
    // longer than its leases
    tokio::time::sleep(Duration::from_millis(1700)).await;
    another_mind(stage, way.op(), &subject).await;
    let before = rest(stage, way.may_fail(), PATIENCE).await;
    if !before.is_empty() {
        return before;
    }
    // a step that is reached over and over stops it over and over
    let end = Instant::now() + Duration::from_millis(1200);
    while Instant::now() < end {
        zombie.signal(Signal::CONT);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    drop(zombie);
    let found = rest(stage, way.may_fail(), PATIENCE).await;
    after(stage, way, &subject, found).await
}

/// The opposite of what was asked for, where there is one.
async fn another_mind(stage: &Stage, op: Op, subject: &Subject) {
    let (d, admin) = (&stage.app.domain, &stage.admin);
    let power = async |action| {
        let _ = stage.ask(action, vm::power(d, admin, subject.vm.unwrap(), action)).await;
    };
    match op {
        Op::Deploy | Op::DeployImage | Op::Compose | Op::AddVm | Op::Instantiate => {
            let asked = async || stage.ask(Action::VappDelete, vapp::delete(d, admin, subject.vapp.unwrap())).await;
            // a busy machine may keep a request waiting for too long
            let mut answer = asked().await;
            while matches!(answer, Err(model::Error::Unavailable(_))) {
                answer = asked().await;
            }
            answer.unwrap();
        }
        Op::PowerOn | Op::Resume | Op::Reboot | Op::Reset => power(Action::VmPowerOff).await,
        Op::PowerOff | Op::Shutdown | Op::Suspend => power(Action::VmPowerOn).await,
        Op::VdcChange => {
            let _ = stage.ask(Action::VdcDisable, vdc::set_enabled(d, admin, subject.vdc, false)).await;
        }
        _ => {}
    }
}

/// One death or one long sleep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kill {
    step: Step,
    moment: &'static str,
    dies: bool,
    pub(crate) replicas: usize,
}

impl Kill {
    pub(crate) fn place(&self) -> (String, String) {
        let word = if self.dies { "killed" } else { "frozen" };
        (self.step.name().to_owned(), format!("{word} {} it", self.moment))
    }

    pub(crate) async fn run(self, stage: &Stage) -> Vec<Finding> {
        match self.dies {
            true => die(stage, self.step, self.moment, self.replicas).await,
            false => freeze(stage, self.step, self.moment).await,
        }
    }
}

/// Deaths before and after every step.
pub(crate) fn deaths(replicas: usize) -> Vec<Kill> {
    let both = |step: &Step| ["before", "after"].map(|moment| Kill { step: *step, moment, dies: true, replicas });
    Step::ALL.iter().flat_map(both).collect()
}

/// Sleeps before and after every step.
pub(crate) fn sleeps() -> Vec<Kill> {
    deaths(1).into_iter().map(|kill| Kill { dies: false, ..kill }).collect()
}
