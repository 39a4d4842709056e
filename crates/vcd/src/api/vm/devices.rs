//! Independent disks and discs, put into a machine and taken out.
use crate::{
    answer::Answer,
    api::task,
    ask::{Ask, referred},
    routes::Routes,
    wire::body::Read,
};
use domain::{disk, media as discs, vm};
use model::{Error, Kind, Result, VmId, disk::Slot};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .post("/api/vApp/vm-{id}/disk/action/attach", attach)
        .post("/api/vApp/vm-{id}/disk/action/detach", detach)
        .post("/api/vApp/vm-{id}/media/action/insertMedia", insert)
        .post("/api/vApp/vm-{id}/media/action/ejectMedia", eject)
        .get("/api/vApp/vm-{id}/question", question)
}

async fn attach(ask: Ask) -> Result<Answer> {
    let body = ask.xml("DiskAttachOrDetachParams")?;
    let id: VmId = ask.id(Kind::Vm)?;
    let wanted = referred(body.child("Disk").ok_or_else(no_disk)?, Kind::Disk)?;
    let slot = match (body.number("BusNumber")?, body.number("UnitNumber")?) {
        (None, None) => None,
        (bus, unit) => {
            let kind = disk::get(ask.d(), &ask.actor, wanted).await?.bus;
            let adapter = i16::from(crate::wire::rasd::words(kind).adapter);
            Some(Slot { adapter, bus: bus.unwrap_or(0), unit: unit.unwrap_or(0) })
        }
    };
    if let Some(slot) = slot {
        let vm = vm::get(ask.d(), &ask.actor, id).await?;
        if let Some(other) = super::slots::placed(&vm)
            .iter()
            .find(|p| p.slot.bus == slot.bus && p.slot.unit == slot.unit && p.slot.adapter == slot.adapter)
        {
            let why = format!("Bus {} unit {} is taken by the disk {}.", slot.bus, slot.unit, other.disk.name);
            return Err(Error::BadRequest(why));
        }
    }
    let task = disk::attach_at(ask.d(), &ask.actor, id, wanted, slot).await?;
    task::accepted(&ask, task).await
}

fn no_disk() -> Error {
    Error::BadRequest("DiskAttachOrDetachParams names no Disk.".into())
}

async fn detach(ask: Ask) -> Result<Answer> {
    let body = ask.xml("DiskAttachOrDetachParams")?;
    let wanted = referred(body.child("Disk").ok_or_else(no_disk)?, Kind::Disk)?;
    let task = disk::detach(ask.d(), &ask.actor, ask.id(Kind::Vm)?, wanted).await?;
    task::accepted(&ask, task).await
}

async fn insert(ask: Ask) -> Result<Answer> {
    let body = ask.xml("MediaInsertOrEjectParams")?;
    let disc = body.child("Media").ok_or_else(|| Error::BadRequest("It names no Media.".into()))?;
    let task = discs::insert(ask.d(), &ask.actor, ask.id(Kind::Vm)?, referred(disc, Kind::Template)?).await?;
    task::accepted(&ask, task).await
}

/// The named one, or the one that is in.
async fn eject(ask: Ask) -> Result<Answer> {
    let body = ask.xml("MediaInsertOrEjectParams")?;
    let id: VmId = ask.id(Kind::Vm)?;
    let disc = match body.child("Media").and_then(Read::id) {
        Some(id) => id.into(),
        None => {
            let vm = vm::get(ask.d(), &ask.actor, id).await?;
            let first = vm.discs().find(|d| !d.leaving).and_then(|d| d.media);
            first.ok_or_else(|| Error::NotNow("Not now: there is no disc in it.".into()))?
        }
    };
    let task = discs::eject(ask.d(), &ask.actor, id, disc).await?;
    task::accepted(&ask, task).await
}

/// No machine ever waits for an answer here. Clients take the refusal for exactly that.
async fn question(ask: Ask) -> Result<Answer> {
    vm::get(ask.d(), &ask.actor, ask.id(Kind::Vm)?).await?;
    Err(Error::NotFound(Kind::Event))
}
