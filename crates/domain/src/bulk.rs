//! One wish for many vApps, VMs, disks, networks or catalog items. Each is done or refused by itself, with its own audit row and task.
use crate::{Domain, disk, item, network, owner, share, tag, vapp, vm};
use model::{Action, Actor, DiskId, Error, Kind, NetworkId, Result, TaskId, TemplateId, VappId, VmId, owner::Owned};
use uuid::Uuid;

/// At most so many at once.
pub const MOST: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    PowerOn,
    PowerOff,
    Shutdown,
    Delete,
    /// To the user of that name; vApps only, since VMs have their vApp's owner.
    Give(String),
    /// With that word; VMs only.
    Tag(String),
    /// Without that word; VMs only.
    Untag(String),
}

/// What became of one.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub id: Uuid,
    /// Empty where it can't be seen.
    pub name: String,
    pub result: Result<Option<TaskId>>,
}

/// In the order given. An error of the installation itself ends it: what was done before stays done.
pub async fn run(d: &Domain, actor: &Actor, kind: Kind, ids: &[Uuid], op: &Op) -> Result<Vec<Outcome>> {
    if ids.len() > MOST {
        return Err(Error::field("pick", format!("At most {MOST} at once.")));
    }
    let mut all = Vec::with_capacity(ids.len());
    for &id in ids {
        let name = name(d, actor, kind, id).await?;
        let result = match kind {
            Kind::Vapp => one_vapp(d, actor, VappId(id), op).await,
            Kind::Vm => one_vm(d, actor, VmId(id), op).await,
            // nothing else is done to many of these
            _ if *op != Op::Delete => Err(Error::BadRequest("They can be deleted together, and nothing else.".into())),
            Kind::Disk => disk::delete(d, actor, DiskId(id)).await,
            Kind::Network => network::delete(d, actor, NetworkId(id)).await,
            _ => item::delete(d, actor, TemplateId(id)).await.map(|()| None),
        };
        match result {
            Err(e @ (Error::Unavailable(_) | Error::Internal(_))) => return Err(e),
            result => all.push(Outcome { id, name, result }),
        }
    }
    Ok(all)
}

/// What it is called, for those who see it.
pub async fn name(d: &Domain, actor: &Actor, kind: Kind, id: Uuid) -> Result<String> {
    let found = match kind {
        Kind::Vapp => vapp::get(d, actor, VappId(id)).await.map(|v| v.name),
        Kind::Vm => vm::get(d, actor, VmId(id)).await.map(|v| v.name),
        Kind::Disk => disk::get(d, actor, DiskId(id)).await.map(|v| v.name),
        Kind::Network => network::get(d, actor, NetworkId(id)).await.map(|n| n.name().to_owned()),
        _ => d.store.template(actor, Action::TemplateView, TemplateId(id)).await.map(|t| t.name.clone()),
    };
    match found {
        Err(e @ Error::Unavailable(_)) => Err(e),
        found => Ok(found.unwrap_or_default()),
    }
}

async fn one_vapp(d: &Domain, actor: &Actor, id: VappId, op: &Op) -> Result<Option<TaskId>> {
    match op {
        Op::PowerOn => vapp::power(d, actor, id, Action::VappPowerOn).await,
        Op::PowerOff => vapp::power(d, actor, id, Action::VappPowerOff).await,
        Op::Shutdown => vapp::power(d, actor, id, Action::VappShutdown).await,
        Op::Delete => vapp::delete(d, actor, id).await,
        Op::Give(name) => {
            let org = d.attempt(actor, Action::VappOwner, d.store.vapp(actor, Action::VappOwner, id)).await?.org;
            let to = share::member(d, org, name, "owner").await?;
            owner::give(d, actor, Owned::Vapp(id), to).await.map(|_| None)
        }
        Op::Tag(_) | Op::Untag(_) => Err(Error::NotNow("Not now: a vApp has no tags. Its VMs have.".into())),
    }
}

async fn one_vm(d: &Domain, actor: &Actor, id: VmId, op: &Op) -> Result<Option<TaskId>> {
    match op {
        Op::PowerOn => vm::power(d, actor, id, Action::VmPowerOn).await,
        Op::PowerOff => vm::power(d, actor, id, Action::VmPowerOff).await,
        Op::Shutdown => vm::power(d, actor, id, Action::VmShutdown).await,
        Op::Delete => vm::delete(d, actor, id).await,
        Op::Give(_) => Err(Error::NotNow("Not now: a VM has its vApp's owner. Give the vApp to somebody.".into())),
        Op::Tag(word) => tag::add(d, actor, id, word).await.map(|()| None),
        Op::Untag(word) => tag::remove(d, actor, id, word).await.map(|()| None),
    }
}
