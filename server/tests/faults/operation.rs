//! What people ask for: each operation with what must be there before it.
use crate::stage::{BY_OPENSHIFT, SEVERAL, Stage, machine};
use domain::{
    affinity, copy, disk, guest, hub, item, media, metadata, moves, network, nic, owner, share, sizing, snapshot, vapp,
    vapp_network, vdc, vm,
};
use model::{
    Action, CatalogId, DiskId, Error, HubId, Kind, NetworkId, Result, SizingId, TemplateId, VappId, VdcId, VmId,
    affinity::AffinitySpec,
    disk::{Bus, DiskSpec},
    guest::GuestSettings,
    metadata::Entry,
    network::NetworkForm,
    nic::{Attach, IpMode, NicSpec},
    owner::Owned,
    quota::Limits,
    share::{Access, Grant, Subject as With},
    snapshot::SnapshotSpec,
    upload::UploadSpec,
    vdc::VdcSpec,
    vm::Power,
};
use std::time::Duration;

macro_rules! operations {
    ($($op:ident $name:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Op { $($op,)* }

        impl Op {
            pub(crate) const ALL: &[Op] = &[$(Op::$op,)*];

            pub(crate) fn name(self) -> &'static str {
                match self { $(Op::$op => $name,)* }
            }
        }
    };
}

operations! {
    Deploy "deploy",
    Compose "compose",
    AddVm "add a VM",
    PowerOn "power on",
    PowerOff "power off",
    Suspend "suspend",
    Resume "resume",
    Discard "discard a suspended state",
    Shutdown "shut down",
    Reboot "reboot",
    Reset "reset",
    Resize "resize",
    ResizeOn "resize a running VM",
    Rename "rename",
    DiskAdd "add a disk",
    DiskGrow "grow a disk",
    DiskRemove "remove a disk",
    Snapshot "take a snapshot",
    SnapshotDelete "delete a snapshot",
    Revert "revert to a snapshot",
    DiskCreate "create a disk",
    DiskEdit "grow an independent disk",
    DiskAttach "attach a disk",
    DiskDetach "detach a disk",
    DiskDelete "delete a disk",
    InsertMedia "insert media",
    EjectMedia "eject media",
    Upload "upload an image",
    DeployImage "deploy from an uploaded image",
    DeleteImage "delete an uploaded image",
    DeleteVm "delete VM",
    DeleteVapp "delete vApp",
    Copy "copy a vApp",
    Move "move a vApp",
    MoveVm "move a VM",
    MoveVmAway "move a VM to another VDC",
    CopyVm "copy a VM",
    Capture "capture a vApp",
    Share "share a vApp",
    Give "give a vApp away",
    Metadata "write metadata",
    AddNetwork "add a network to a vApp",
    RemoveNetwork "remove a vApp's network",
    Instantiate "deploy by OpenShift",
    DeleteInstance "delete OpenShift's vApp",
    ComposeOn "compose on a network",
    ComposeShared "compose on a shared network",
    TellGuest "tell a guest",
    AddNic "plug a NIC in",
    RemoveNic "unplug a NIC",
    DeleteNetwork "delete network",
    VdcCreate "create VDC",
    VdcChange "change VDC",
    VdcDisable "disable VDC",
    VdcDelete "delete VDC",
    ComposeSized "compose at a size",
    DeleteSize "delete sizing policy",
    KeepApart "keep VMs apart",
    LeaseEnds "a lease ends",
    HubRegister "register hub",
    HubCordon "cordon hub",
    HubRemove "remove hub",
}

/// What an operation is about.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) vdc: VdcId,
    pub(crate) vapp: Option<VappId>,
    pub(crate) vm: Option<VmId>,
    pub(crate) network: Option<NetworkId>,
    pub(crate) disk: Option<DiskId>,
    pub(crate) size: Option<SizingId>,
    /// What was uploaded.
    pub(crate) item: Option<TemplateId>,
    /// For what is made by the operation itself.
    pub(crate) name: String,
}

impl Op {
    pub(crate) fn about_hub(self) -> bool {
        matches!(self, Op::HubRegister | Op::HubCordon | Op::HubRemove)
    }

    pub(crate) fn about_vdc(self) -> bool {
        matches!(self, Op::VdcCreate | Op::VdcChange | Op::VdcDisable | Op::VdcDelete)
    }

    /// Does it make machines?
    pub(crate) fn makes(self) -> bool {
        matches!(self, Op::Deploy | Op::Compose | Op::ComposeOn | Op::ComposeShared | Op::ComposeSized | Op::AddVm)
            || matches!(self, Op::Instantiate | Op::DeployImage)
    }

    /// Asks for it once. What it made is noted in the subject.
    pub(crate) async fn ask(self, stage: &Stage, subject: &mut Subject) -> Result<()> {
        let (d, admin, operator) = (&stage.app.domain, &stage.admin, &stage.operator);
        let (vapp_id, vm_id) = (subject.vapp, subject.vm);
        let power = async |action| power(stage, vm_id.unwrap(), action).await;
        match self {
            Op::Deploy => subject.vapp = Some(stage.deploy(subject.vdc, SEVERAL, &subject.name).await?),
            Op::Instantiate => subject.vapp = Some(stage.deploy(subject.vdc, BY_OPENSHIFT, &subject.name).await?),
            Op::Compose => {
                subject.vapp = Some(stage.compose(subject.vdc, &subject.name, &[Power::On, Power::Off]).await?);
            }
            Op::AddVm => {
                let asked = vm::add(d, admin, vapp_id.unwrap(), machine("another", Power::On));
                subject.vm = Some(stage.ask(Action::VmCreate, asked).await?.0);
            }
            Op::Copy => {
                let name = format!("{}-copy", subject.name);
                let asked = copy::vapp(d, admin, vapp_id.unwrap(), subject.vdc, &name);
                stage.ask(Action::VappCopy, asked).await?;
            }
            Op::Move => {
                let sql = format!("select id::text from vdcs where name = '{}'", subject.name);
                let into = VdcId(stage.app.db.text(&sql).await.parse().unwrap());
                stage.ask(Action::VappMove, copy::move_vapp(d, admin, vapp_id.unwrap(), into)).await?;
            }
            Op::MoveVm | Op::MoveVmAway => {
                let sql = format!("select id::text from vapps where name = '{}-into'", subject.name);
                let into = VappId(stage.app.db.text(&sql).await.parse().unwrap());
                stage.ask(Action::VmMove, moves::vm(d, admin, vm_id.unwrap(), into, moves::Arrival::default())).await?;
            }
            Op::CopyVm => {
                let asked = copy::vm(d, admin, vm_id.unwrap(), vapp_id.unwrap(), "twin");
                stage.ask(Action::VmCopy, asked).await?;
            }
            Op::Capture => {
                let sql = "select id::text from catalogs where name = 'own'";
                let catalog = CatalogId(stage.app.db.text(sql).await.parse().unwrap());
                let spec = UploadSpec { name: subject.name.clone(), ..UploadSpec::default() };
                let asked = item::capture(d, admin, vapp_id.unwrap(), catalog, spec);
                stage.ask(Action::VappCapture, asked).await?;
            }
            Op::Share => {
                let now = vapp::get(d, admin, vapp_id.unwrap()).await?;
                if now.shares.is_empty() {
                    let everybody = vec![Grant { subject: With::Everyone, access: Access::Change }];
                    let asked = share::set(d, admin, share::On::Vapp(now.id), now.version, everybody);
                    stage.ask(Action::VappShare, asked).await?;
                }
            }
            Op::Give => {
                let heir = stage.acme.user("heir");
                if vapp::get(d, admin, vapp_id.unwrap()).await?.owner != Some(heir) {
                    let asked = owner::give(d, admin, Owned::Vapp(vapp_id.unwrap()), heir);
                    stage.ask(Action::VappOwner, asked).await?;
                }
            }
            Op::Metadata => {
                let entry = Entry { key: "season".into(), value: subject.name.clone(), ..Entry::default() };
                let asked = metadata::put(d, admin, Kind::Vm, vm_id.unwrap().0, vec![entry]);
                stage.ask(Action::VmMetadata, asked).await?;
            }
            Op::AddNetwork => {
                let asked = vapp_network::create(d, admin, vapp_id.unwrap(), form(&subject.name));
                stage.ask(Action::VappAddNetwork, asked).await?;
            }
            Op::RemoveNetwork => {
                let asked = vapp_network::remove(d, admin, vapp_id.unwrap(), subject.network.unwrap());
                stage.ask(Action::VappRemoveNetwork, asked).await?;
            }
            Op::PowerOn | Op::Resume => power(Action::VmPowerOn).await?,
            Op::PowerOff => power(Action::VmPowerOff).await?,
            Op::Suspend => power(Action::VmSuspend).await?,
            Op::Discard => power(Action::VmDiscard).await?,
            Op::Shutdown => power(Action::VmShutdown).await?,
            Op::Reboot => power(Action::VmReboot).await?,
            Op::Reset => power(Action::VmReset).await?,
            Op::Resize | Op::ResizeOn => {
                let asked = vm::resize(d, admin, vm_id.unwrap(), 3, 3072);
                stage.ask(Action::VmResize, asked).await?;
            }
            Op::DiskAdd => {
                stage.ask(Action::VmDiskAdd, disk::add(d, admin, vm_id.unwrap(), blank(""))).await?;
            }
            Op::DiskGrow => {
                let asked = disk::change(d, admin, vm_id.unwrap(), subject.disk.unwrap(), 64 * 1024, Bus::Sata);
                stage.ask(Action::VmDiskEdit, asked).await?;
            }
            Op::DiskRemove => {
                let asked = disk::remove(d, admin, vm_id.unwrap(), subject.disk.unwrap());
                stage.ask(Action::VmDiskRemove, asked).await?;
            }
            Op::Snapshot => snapshot(stage, vm_id.unwrap(), &subject.name).await?,
            Op::SnapshotDelete => {
                stage.ask(Action::VmSnapshotDelete, snapshot::delete_all(d, admin, vm_id.unwrap())).await?;
            }
            Op::Revert => {
                stage.ask(Action::VmRevert, snapshot::revert_to_current(d, admin, vm_id.unwrap(), true)).await?;
            }
            Op::DiskCreate => {
                let asked = disk::create(d, admin, subject.vdc, blank(&subject.name));
                subject.disk = Some(stage.ask(Action::DiskCreate, asked).await?.0);
            }
            Op::DiskEdit => {
                let now = disk::get(d, admin, subject.disk.unwrap()).await?;
                if now.size_mb == 1024 {
                    let spec = DiskSpec { size_mb: 2048, ..blank(&now.name) };
                    stage.ask(Action::DiskEdit, disk::edit(d, admin, now.id, now.version, spec)).await?;
                }
            }
            Op::DiskAttach => {
                let asked = disk::attach(d, admin, vm_id.unwrap(), subject.disk.unwrap());
                stage.ask(Action::VmDiskAttach, asked).await?;
            }
            Op::DiskDetach => {
                let asked = disk::detach(d, admin, vm_id.unwrap(), subject.disk.unwrap());
                stage.ask(Action::VmDiskDetach, asked).await?;
            }
            Op::DiskDelete => {
                stage.ask(Action::DiskDelete, disk::delete(d, admin, subject.disk.unwrap())).await?;
            }
            Op::InsertMedia => {
                let asked = media::insert(d, admin, vm_id.unwrap(), subject.item.unwrap());
                stage.ask(Action::VmMediaInsert, asked).await?;
            }
            Op::EjectMedia => {
                let asked = media::eject(d, admin, vm_id.unwrap(), subject.item.unwrap());
                stage.ask(Action::VmMediaEject, asked).await?;
            }
            Op::Upload => {
                // what another try still holds is let go of soon
                stage.send_image(&subject.name, false).await.map_err(|e| match e {
                    Error::NotNow(why) => Error::Unavailable(why),
                    other => other,
                })?;
            }
            Op::DeployImage => subject.vapp = Some(stage.deploy(subject.vdc, &subject.name, &subject.name).await?),
            Op::DeleteImage => {
                stage.ask(Action::TemplateDelete, item::delete(d, admin, subject.item.unwrap())).await?;
            }
            Op::Rename => {
                let id = vm_id.unwrap();
                let now = vm::get(d, admin, id).await?;
                if now.name != "renamed" {
                    stage.ask(Action::VmEdit, vm::edit(d, admin, id, now.version, "renamed", "by a test")).await?;
                }
            }
            Op::DeleteVm => drop(stage.ask(Action::VmDelete, vm::delete(d, admin, vm_id.unwrap())).await?),
            Op::DeleteVapp | Op::DeleteInstance => {
                stage.ask(Action::VappDelete, vapp::delete(d, admin, vapp_id.unwrap())).await?;
            }
            Op::ComposeOn | Op::ComposeShared => {
                let nics = cards(subject.network.unwrap(), 2);
                subject.vapp = Some(stage.compose_on(subject.vdc, &subject.name, nics).await?);
            }
            Op::AddNic | Op::RemoveNic => {
                let many: i16 = if self == Op::AddNic { 2 } else { 1 };
                let now = vm::get(d, admin, vm_id.unwrap()).await?;
                if now.nics.len() != many as usize {
                    let nics = cards(subject.network.unwrap(), many);
                    stage.ask(Action::VmNics, nic::set(d, admin, now.id, now.version, nics)).await?;
                }
            }
            Op::TellGuest => {
                let now = vm::get(d, admin, vm_id.unwrap()).await?;
                if now.computer_name != TOLD {
                    let told =
                        GuestSettings { user_data: "#cloud-config\npackages: [vim]\n".into(), ..Default::default() };
                    stage.ask(Action::VmGuest, guest::set(d, admin, now.id, now.version, TOLD, told)).await?;
                }
            }
            Op::DeleteNetwork => {
                stage.ask(Action::NetworkDelete, network::delete(d, admin, subject.network.unwrap())).await?;
            }
            Op::ComposeSized => {
                subject.vapp = Some(stage.compose_sized(subject.vdc, &subject.name, subject.size).await?);
            }
            Op::DeleteSize => {
                let asked = sizing::delete(d, operator, subject.size.unwrap());
                stage.ask(Action::SizingDelete, asked).await?;
            }
            Op::KeepApart => {
                let vms = stage.vms_of(vapp_id.unwrap()).await;
                let spec = AffinitySpec {
                    name: subject.name.clone(),
                    mandatory: true,
                    enabled: true,
                    vms,
                    ..AffinitySpec::default()
                };
                stage.ask(Action::AffinityCreate, affinity::create(d, admin, subject.vdc, spec)).await?;
            }
            Op::LeaseEnds => {
                // what is asked for is asked for by nobody: its time has come
                let sql = format!(
                    "with ended as (update leases set runtime_s = 60, ends_at = now() where object_id = '{}' and running
                     and ends_at is null returning 1) select count(*)::text from ended",
                    vapp_id.unwrap()
                );
                let ends = async {
                    let none = Error::NotNow("it has ended already".into());
                    if stage.app.db.text(&sql).await == "1" { Ok(()) } else { Err(none) }
                };
                stage.ask(Action::VappSuspend, ends).await?;
            }
            Op::VdcCreate => subject.vdc = stage.new_vdc(&subject.name).await?,
            Op::VdcChange => {
                let now = vdc::get(d, admin, subject.vdc).await?;
                let limits = Limits { vms: Some(7), ..now.limits };
                let spec = VdcSpec { limits, ..VdcSpec::from(&now) };
                stage.ask(Action::VdcEdit, vdc::edit(d, admin, now.id, now.version, spec)).await?;
            }
            Op::VdcDisable => {
                drop(stage.ask(Action::VdcDisable, vdc::set_enabled(d, admin, subject.vdc, false)).await?)
            }
            Op::VdcDelete => stage.ask(Action::VdcDelete, vdc::delete(d, admin, subject.vdc)).await?,
            Op::HubRegister => stage.register("two").await?,
            Op::HubCordon => drop(stage.ask(Action::HubCordon, hub::set_cordoned(d, operator, &two(), true)).await?),
            Op::HubRemove => stage.ask(Action::HubDelete, hub::delete(d, operator, &two())).await?,
        }
        Ok(())
    }

    /// As a client that gets no clear answer: once more, until there is one.
    pub(crate) async fn insist(self, stage: &Stage, subject: &mut Subject) {
        for _ in 0..100 {
            match self.ask(stage, subject).await {
                Err(Error::Unavailable(_) | Error::Internal(_)) => tokio::time::sleep(Duration::from_millis(50)).await,
                Ok(()) => break,
                // an earlier try was taken, and only its answer was lost
                Err(_) => break,
            }
        }
        self.find(stage, subject).await;
    }

    /// What the operation made, if its answer was lost.
    pub(crate) async fn find(self, stage: &Stage, subject: &mut Subject) {
        let db = &stage.app.db;
        if subject.vapp.is_none() && self.makes() {
            let sql = format!("select max(id::text) from vapps where name = '{}'", subject.name);
            subject.vapp = db.text(&sql).await.parse().ok().map(VappId);
        }
        if self == Op::VdcCreate {
            let sql = format!("select max(id::text) from vdcs where name = '{}'", subject.name);
            subject.vdc = db.text(&sql).await.parse().ok().map(VdcId).unwrap_or(subject.vdc);
        }
        if self == Op::AddVm {
            let sql = format!(
                "select max(id::text) from vms where name = 'another' and vapp_id = '{}'",
                subject.vapp.unwrap()
            );
            subject.vm = db.text(&sql).await.parse().ok().map(VmId);
        }
    }

    /// What would stand in the way of the next run on this stage.
    pub(crate) async fn clear(self, stage: &Stage) {
        if self.about_hub() {
            // VDCs have to leave it first
            for _ in 0..150 {
                let two = two();
                let asked = hub::delete(&stage.app.domain, &stage.operator, &two);
                match stage.ask(Action::HubDelete, asked).await {
                    Ok(()) | Err(Error::NotFound(_)) => return,
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        }
    }
}

pub(crate) async fn power(stage: &Stage, vm: VmId, action: Action) -> Result<()> {
    stage.ask(action, vm::power(&stage.app.domain, &stage.admin, vm, action)).await.map(drop)
}

/// So many NICs on it, each with an address of its own.
pub(crate) fn cards(network: NetworkId, many: i16) -> Vec<NicSpec> {
    let one = |index| NicSpec { index, attach: Attach::Network(network), mode: IpMode::Pool, ..NicSpec::default() };
    (0..many).map(one).collect()
}

/// A network inside of a vApp.
pub(crate) fn form(name: &str) -> NetworkForm {
    let (gateway, ranges) = ("10.9.0.1".into(), "10.9.0.10-10.9.0.99".into());
    NetworkForm { name: name.into(), gateway, prefix: "24".into(), ranges, ..NetworkForm::default() }
}

pub(crate) async fn snapshot(stage: &Stage, vm: VmId, name: &str) -> Result<()> {
    let spec = SnapshotSpec { name: name.into(), ..SnapshotSpec::default() };
    let asked = snapshot::create(&stage.app.domain, &stage.admin, vm, spec);
    stage.ask(Action::VmSnapshot, asked).await.map(drop)
}

pub(crate) fn blank(name: &str) -> DiskSpec {
    DiskSpec { name: name.into(), size_mb: 1024, ..DiskSpec::default() }
}

/// The computer's name that a guest is told.
const TOLD: &str = "told-otherwise";

fn two() -> HubId {
    HubId("two".into())
}
