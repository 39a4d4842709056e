//! Independent disks.
use crate::{
    answer::Answer,
    api::task,
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{action, document, link, owner, reference},
        href::{mixed, urn},
        media, rasd, status,
        times::stamp,
    },
};
use domain::{disk, storage, task::Noted};
use model::{
    Action, Actor, Error, Kind, Result, VdcId, can,
    decide::Resource,
    disk::{Disk, DiskSpec},
    storage::VdcPolicy,
    task::Task,
};
use std::fmt::Display;
use xml::Element;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .post("/api/vdc/{id}/disk", create)
        .get("/api/disk/{id}", get)
        .put("/api/disk/{id}", edit)
        .delete("/api/disk/{id}", delete)
        .get("/api/disk/{id}/attachedVms", attached_vms)
}

async fn found(ask: &Ask) -> Result<Disk> {
    disk::get(ask.d(), &ask.actor, ask.id(Kind::Disk)?).await
}

async fn get(ask: Ask) -> Result<Answer> {
    let disk = found(&ask).await?;
    let tasks = domain::task::about(ask.d(), &ask.actor, disk.org, disk.id.0).await?;
    let under_way: Vec<Task> = tasks.into_iter().filter(|t| !t.status.ended()).collect();
    render(&ask, &disk, &under_way).await
}

async fn create(ask: Ask) -> Result<Answer> {
    let vdc: VdcId = ask.id(Kind::Vdc)?;
    let body = ask.xml("DiskCreateParams")?;
    let wanted = body.child("Disk").ok_or_else(|| Error::BadRequest("DiskCreateParams has no Disk in it.".into()))?;
    one_machine_at_a_time(wanted)?;
    // those of somebody else's VDC are not even told apart from none
    let policies = storage::of_vdc(ask.d(), &ask.actor, vdc).await?;
    let spec = DiskSpec {
        name: wanted.need("name")?.to_owned(),
        description: wanted.word("Description").unwrap_or_default().to_owned(),
        size_mb: size_mb(wanted)?.ok_or_else(|| Error::BadRequest("A disk needs its sizeMb.".into()))?,
        bus: rasd::bus(wanted.attr("busType"), wanted.attr("busSubType"))?,
        policy: policy(&policies, vdc, wanted)?.unwrap_or_default(),
        ..DiskSpec::default()
    };
    let (id, began) = disk::create(ask.d(), &ask.actor, vdc, spec).await?;
    let made = disk::get(ask.d(), &ask.actor, id).await?;
    let began = began.ok_or_else(|| Error::Internal("a disk was made without a task".into()))?;
    let began = domain::task::get(ask.d(), &ask.actor, began).await?;
    let answer = render(&ask, &made, &[began]).await?;
    Ok(answer.created(ask.base().disk(id)))
}

/// Older clients say it in bytes.
fn size_mb(e: &Element) -> Result<Option<i64>> {
    if let Some(mb) = e.number("sizeMb")? {
        return Ok(Some(mb));
    }
    Ok(e.number::<i64>("size")?.map(|bytes| bytes >> 20))
}

fn one_machine_at_a_time(e: &Element) -> Result<()> {
    let sharing = e.attr("sharingType").unwrap_or_default();
    if e.on("shareable")? || !matches!(sharing, "" | "None") {
        let why = "A disk is in one VM at a time. Leave sharingType out, or say None.";
        return Err(Error::BadRequest(why.into()));
    }
    Ok(())
}

/// The name of the storage policy that a body names by address, or by name. None: it names none.
fn policy(all: &[VdcPolicy], vdc: VdcId, e: &Element) -> Result<Option<String>> {
    let Some(wanted) = e.child("StorageProfile") else { return Ok(None) };
    let by_id = wanted.id().and_then(|id| all.iter().find(|p| mixed(vdc.0, p.id.0) == id));
    let by_name = || wanted.attr("name").and_then(|name| all.iter().find(|p| p.name == name));
    match by_id.or_else(by_name) {
        Some(policy) => Ok(Some(policy.name.clone())),
        None => Err(Error::BadRequest("The StorageProfile is none of this VDC's.".into())),
    }
}

/// Its name, description, bus and size; what is left out stays.
async fn edit(ask: Ask) -> Result<Answer> {
    let disk = found(&ask).await?;
    let body = ask.xml("Disk")?;
    one_machine_at_a_time(&body)?;
    let policies = storage::choices(ask.d(), disk.vdc).await?;
    if let Some(policy) = policy(&policies, disk.vdc, &body)?
        && policy != current(&policies, &disk).map_or("", |p| &p.name)
    {
        let why = format!("{} stays on its storage policy. Make another disk and copy what is on it.", disk.name);
        return Err(Error::BadRequest(why));
    }
    let bus = match (body.attr("busType"), body.attr("busSubType")) {
        (None, None) => disk.bus,
        (kind, sub) => rasd::bus_or(disk.bus, rasd::bus(kind, sub)?),
    };
    let spec = DiskSpec {
        name: body.word("name").unwrap_or(&disk.name).to_owned(),
        description: body.child("Description").map_or(disk.description.clone(), |d| d.text.trim().to_owned()),
        size_mb: size_mb(&body)?.unwrap_or(disk.size_mb),
        bus,
        ..DiskSpec::default()
    };
    let same = (&spec.name, &spec.description, spec.size_mb, spec.bus)
        == (&disk.name, &disk.description, disk.size_mb, disk.bus);
    let edited = if same { disk } else { disk::edit(ask.d(), &ask.actor, disk.id, disk.version, spec).await? };
    task::accepted_about(&ask, Action::DiskEdit, noted(&edited)).await
}

fn noted(disk: &Disk) -> Noted {
    Noted { org: disk.org, id: disk.id.0, name: disk.name.clone(), owner: disk.owner }
}

async fn delete(ask: Ask) -> Result<Answer> {
    let task = disk::delete(ask.d(), &ask.actor, ask.id(Kind::Disk)?).await?;
    task::accepted(&ask, task).await
}

/// The one machine it is in, if any.
async fn attached_vms(ask: Ask) -> Result<Answer> {
    let disk = found(&ask).await?;
    let href = format!("{}/attachedVms", ask.base().disk(disk.id));
    let text = document("Vms", &[("href", &href), ("type", &media::VMS)], |w| {
        if let Some((vm, name)) = disk.vm.as_ref().or(disk.leaving.as_ref()) {
            reference(w, "VmReference", ask.base().vm(*vm), vm.urn(), name, media::VM);
        }
    });
    Ok(Answer::xml(media::VMS, text))
}

fn current<'a>(policies: &'a [VdcPolicy], disk: &Disk) -> Option<&'a VdcPolicy> {
    policies.iter().find(|p| p.name == disk.policy).or_else(|| policies.iter().find(|p| p.is_default))
}

fn offers(actor: &Actor, disk: &Disk, doing: Action) -> bool {
    actor.may(doing, Resource::Owned(disk.org, disk.owner)) && can::disk(disk, doing).is_ok()
}

async fn render(ask: &Ask, disk: &Disk, tasks: &[Task]) -> Result<Answer> {
    let policies = storage::choices(ask.d(), disk.vdc).await?;
    let (base, actor, href) = (ask.base(), &ask.actor, ask.base().disk(disk.id));
    let words = rasd::words(disk.bus);
    let attached = disk.vm.is_some() || disk.leaving.is_some();
    let (urn_id, state, bytes) = (disk.id.urn(), status::disk(disk).0, disk.size_mb << 20);
    let attributes: [(&str, &dyn Display); 15] = [
        ("name", &disk.name),
        ("id", &urn_id),
        ("href", &href),
        ("type", &media::DISK),
        ("status", &state),
        ("sizeMb", &disk.size_mb),
        ("size", &bytes),
        ("iops", &0),
        ("busType", &words.kind),
        ("busSubType", &words.sub),
        ("encrypted", &false),
        ("shareable", &false),
        ("sharingType", &"None"),
        ("attached", &attached),
        ("uuid", &disk.id),
    ];
    let text = document("Disk", &attributes, |w| {
        link(w, "up", base.vdc(disk.vdc), media::VDC);
        if offers(actor, disk, Action::DiskEdit) {
            link(w, "edit", &href, media::DISK);
        }
        if offers(actor, disk, Action::DiskDelete) {
            action(w, "remove", &href);
        }
        link(w, "down", format_args!("{href}/attachedVms"), media::VMS);
        link(w, "down", format_args!("{href}/owner"), media::OWNER);
        link(w, "down", format_args!("{href}/metadata"), media::METADATA);
        w.text("Description", &disk.description);
        task::tasks(w, base, actor, tasks);
        if let Some(policy) = current(&policies, disk) {
            let id = urn("vdcstorageProfile", mixed(disk.vdc.0, policy.id.0));
            let href = base.storage_profile(disk.vdc, policy.id);
            reference(w, "StorageProfile", href, id, &policy.name, media::STORAGE_PROFILE);
        }
        owner(w, base, disk.owner, &disk.owner_name);
        w.text("DateCreated", stamp(disk.created_at));
    });
    Ok(Answer::xml(media::DISK, text))
}
