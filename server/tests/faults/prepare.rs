//! What must be there before an operation is asked for.
use crate::{
    operation::{Op, Subject, blank, cards, form, power, snapshot},
    stage::{BY_OPENSHIFT, SEVERAL, Stage},
};
use domain::{disk, media, nic, vapp, vapp_network, vm};
use model::{Action, VdcId, vm::Power};

impl Op {
    /// Makes what it needs, in that VDC.
    pub(crate) async fn prepare(self, stage: &Stage, vdc: VdcId) -> Subject {
        let mut subject = Subject {
            vdc,
            vapp: None,
            vm: None,
            network: None,
            disk: None,
            size: None,
            item: None,
            name: stage.fresh(&self.name().replace(['\'', ' '], "-")),
        };
        if matches!(self, Op::ComposeOn | Op::ComposeShared | Op::AddNic | Op::RemoveNic | Op::DeleteNetwork) {
            let shared = self == Op::ComposeShared;
            subject.network = Some(stage.new_network(vdc, &subject.name, shared).await.unwrap());
        }
        if matches!(self, Op::ComposeSized | Op::DeleteSize) {
            subject.size = Some(stage.new_size(vdc, &subject.name).await.unwrap());
        }
        if matches!(self, Op::InsertMedia | Op::EjectMedia | Op::DeployImage | Op::DeleteImage) {
            let disc = matches!(self, Op::InsertMedia | Op::EjectMedia);
            subject.item = Some(stage.upload(&subject.name, disc).await.unwrap());
        }
        let on = |many| cards(subject.network.unwrap(), many);
        let with = async |power| stage.compose(vdc, &subject.name, &[power]).await.unwrap();
        let vapp = match self {
            Op::Deploy | Op::Compose | Op::Instantiate | Op::HubRegister | Op::Upload => None,
            Op::ComposeOn | Op::ComposeShared | Op::ComposeSized | Op::DeployImage => None,
            Op::EjectMedia => Some(with(Power::Off).await),
            // it was used, so that its hub has it
            Op::DeleteImage => Some(stage.deploy(vdc, &subject.name, &subject.name).await.unwrap()),
            Op::KeepApart => Some(stage.compose(vdc, &subject.name, &[Power::On, Power::On]).await.unwrap()),
            Op::DeleteSize => {
                // it was used, so that its hub has it
                let vapp = stage.compose_sized(vdc, &subject.name, subject.size).await.unwrap();
                stage.running(vapp).await;
                let asked = vapp::delete(&stage.app.domain, &stage.admin, vapp);
                stage.ask(Action::VappDelete, asked).await.unwrap();
                let left = format!("vapps where id = '{vapp}' and gone_at is null");
                stage.until("a size without machines", async || stage.app.db.count(&left).await == 0).await;
                stage.without_size(vdc, subject.size.unwrap()).await.unwrap();
                None
            }
            Op::AddNic => Some(stage.compose_on(vdc, &subject.name, on(1)).await.unwrap()),
            Op::RemoveNic => Some(stage.compose_on(vdc, &subject.name, on(2)).await.unwrap()),
            Op::DeleteNetwork => {
                // it was used, so that its hub has it
                let vapp = stage.compose_on(vdc, &subject.name, on(1)).await.unwrap();
                stage.running(vapp).await;
                let asked = vapp::delete(&stage.app.domain, &stage.admin, vapp);
                stage.ask(Action::VappDelete, asked).await.unwrap();
                let left = format!("vapps where id = '{vapp}' and gone_at is null");
                stage.until("a network without machines", async || stage.app.db.count(&left).await == 0).await;
                None
            }
            Op::DiskCreate | Op::DiskEdit | Op::DiskDelete => None,
            // a deployed machine has a disk of its own
            Op::DiskGrow => Some(stage.deploy(vdc, SEVERAL, &subject.name).await.unwrap()),
            Op::PowerOn | Op::Resize | Op::TellGuest => Some(with(Power::Off).await),
            Op::DeleteInstance => Some(stage.deploy(vdc, BY_OPENSHIFT, &subject.name).await.unwrap()),
            Op::Copy | Op::Move => {
                stage.new_vdc(&subject.name).await.unwrap();
                Some(stage.deploy(vdc, SEVERAL, &subject.name).await.unwrap())
            }
            Op::DeleteVapp | Op::CopyVm | Op::MoveVmAway | Op::Capture => {
                Some(stage.deploy(vdc, SEVERAL, &subject.name).await.unwrap())
            }
            Op::VdcCreate | Op::VdcChange | Op::VdcDisable | Op::VdcDelete => {
                if self != Op::VdcCreate {
                    subject.vdc = stage.new_vdc(&subject.name).await.unwrap();
                    stage.vdc_ready(subject.vdc).await;
                }
                None
            }
            Op::HubCordon | Op::HubRemove => {
                // a VDC that has nothing there leaves it, and stays on its first hub
                let leaves = match self {
                    Op::HubCordon => Some(stage.new_vdc(&subject.name).await.unwrap()),
                    _ => None,
                };
                if let Some(vdc) = leaves {
                    stage.vdc_ready(vdc).await;
                }
                stage.register("two").await.unwrap();
                stage.hub_ready("two").await;
                if let Some(vdc) = leaves {
                    stage.also_on("two", vdc).await;
                }
                None
            }
            _ => Some(with(Power::On).await),
        };
        if let Some(id) = vapp {
            stage.running(id).await;
            subject.vapp = Some(id);
            subject.vm = stage.vms_of(id).await.first().copied();
        }
        if matches!(self, Op::Copy | Op::Move | Op::CopyVm | Op::MoveVmAway | Op::Capture) {
            let asked = vapp::power(&stage.app.domain, &stage.admin, vapp.unwrap(), Action::VappPowerOff);
            stage.ask(Action::VappPowerOff, asked).await.unwrap();
            stage.running(vapp.unwrap()).await;
        }
        if matches!(self, Op::MoveVm | Op::MoveVmAway) {
            let there = match self {
                Op::MoveVmAway => stage.new_vdc(&subject.name).await.unwrap(),
                _ => vdc,
            };
            stage.compose(there, &format!("{}-into", subject.name), &[]).await.unwrap();
        }
        if matches!(self, Op::DiskEdit | Op::DiskDelete | Op::DiskAttach | Op::DiskDetach) {
            let (d, admin) = (&stage.app.domain, &stage.admin);
            let made = disk::create(d, admin, vdc, blank(&subject.name));
            let id = stage.ask(Action::DiskCreate, made).await.unwrap().0;
            subject.disk = Some(id);
            let ready = format!("disks where id = '{id}' and obs_state = 'ready' and applied = generation");
            stage.until("the disk", async || stage.app.db.count(&ready).await == 1).await;
        }
        if let (Op::DiskRemove, Some(id)) = (self, subject.vm) {
            // a machine starts from its first disk, so it needs a second one
            for _ in 0..2 {
                stage.ask(Action::VmDiskAdd, disk::add(&stage.app.domain, &stage.admin, id, blank(""))).await.unwrap();
                stage.running(vapp.unwrap()).await;
            }
            subject.disk = vm::get(&stage.app.domain, &stage.admin, id).await.unwrap().disks.last().and_then(|k| k.id);
        }
        if let (Op::SnapshotDelete | Op::Revert, Some(id)) = (self, subject.vm) {
            snapshot(stage, id, "first").await.unwrap();
            let ready = format!("snapshots where vm_id = '{id}' and state = 'ready'");
            stage.until("the snapshot", async || stage.app.db.count(&ready).await == 1).await;
            stage.running(vapp.unwrap()).await;
        }
        if let (Op::DiskDetach, Some(vm), Some(id)) = (self, subject.vm, subject.disk) {
            let asked = disk::attach(&stage.app.domain, &stage.admin, vm, id);
            stage.ask(Action::VmDiskAttach, asked).await.unwrap();
            stage.running(vapp.unwrap()).await;
        }
        if let (Op::EjectMedia, Some(vm), Some(disc)) = (self, subject.vm, subject.item) {
            let asked = media::insert(&stage.app.domain, &stage.admin, vm, disc);
            stage.ask(Action::VmMediaInsert, asked).await.unwrap();
            stage.running(vapp.unwrap()).await;
        }
        if let (Op::DiskGrow, Some(id)) = (self, subject.vm) {
            subject.disk = vm::get(&stage.app.domain, &stage.admin, id).await.unwrap().disks.first().and_then(|k| k.id);
        }
        if let (Op::RemoveNetwork, Some(vapp), Some(vm)) = (self, subject.vapp, subject.vm) {
            let asked = vapp_network::create(&stage.app.domain, &stage.admin, vapp, form(&subject.name));
            let inner = stage.ask(Action::VappAddNetwork, asked).await.unwrap();
            subject.network = Some(inner);
            // it was used, so that its hub has it
            for nics in [cards(inner, 1), Vec::new()] {
                let version = vm::get(&stage.app.domain, &stage.admin, vm).await.unwrap().version;
                let asked = nic::set(&stage.app.domain, &stage.admin, vm, version, nics);
                stage.ask(Action::VmNics, asked).await.unwrap();
                stage.running(vapp).await;
            }
        }
        if let (Op::Resume | Op::Discard, Some(id)) = (self, subject.vm) {
            power(stage, id, Action::VmSuspend).await.unwrap();
            stage.running(vapp.unwrap()).await;
        }
        subject
    }
}
