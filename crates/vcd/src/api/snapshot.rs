//! Snapshots, VCD's way: a machine has one, and a vApp has those of its machines.
use crate::{
    answer::Answer,
    api::task,
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{action, document, link},
        media,
        times::stamp,
    },
};
use domain::snapshot;
use model::{
    Kind, Result, VappId, VmId,
    snapshot::{Snapshot, SnapshotSpec},
};
use xml::Writer;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .post("/api/vApp/vapp-{id}/action/createSnapshot", create_in_vapp)
        .post("/api/vApp/vapp-{id}/action/revertToCurrentSnapshot", revert_vapp)
        .post("/api/vApp/vapp-{id}/action/removeAllSnapshots", remove_in_vapp)
        .get("/api/vApp/vapp-{id}/snapshotSection", of_vapp)
        .post("/api/vApp/vm-{id}/action/createSnapshot", create)
        .post("/api/vApp/vm-{id}/action/revertToCurrentSnapshot", revert)
        .post("/api/vApp/vm-{id}/action/removeAllSnapshots", remove)
        .get("/api/vApp/vm-{id}/snapshotSection", of_vm)
}

/// The links of a vApp or machine.
pub(crate) fn links(w: &mut Writer, href: &str, create: bool, revert: bool, remove: bool) {
    if create {
        link(w, "snapshot:create", format_args!("{href}/action/createSnapshot"), media::SNAPSHOT_PARAMS);
    }
    if revert {
        action(w, "snapshot:revertToCurrent", format_args!("{href}/action/revertToCurrentSnapshot"));
    }
    if remove {
        action(w, "snapshot:removeAll", format_args!("{href}/action/removeAllSnapshots"));
    }
}

/// Within a machine's document.
pub(crate) fn section(w: &mut Writer, href: &str, snapshot: Option<&Snapshot>) {
    let href = format!("{href}/snapshotSection");
    w.el("SnapshotSection", &[("href", &href), ("type", &media::SNAPSHOT_SECTION), ("ovf:required", &false)], |w| {
        content(w, snapshot);
    });
}

fn content(w: &mut Writer, snapshot: Option<&Snapshot>) {
    w.text("ovf:Info", "Snapshot information section");
    if let Some(s) = snapshot {
        let created = stamp(s.taken_at.unwrap_or(s.created_at));
        let size = s.size_mb << 20;
        w.empty("Snapshot", &[("created", &created), ("poweredOn", &false), ("size", &size), ("name", &s.name)]);
    }
}

async fn of_vm(ask: Ask) -> Result<Answer> {
    let id: VmId = ask.id(Kind::Vm)?;
    let all = snapshot::list(ask.d(), &ask.actor, id).await?;
    let href = format!("{}/snapshotSection", ask.base().vm(id));
    let current = all.iter().find(|s| s.current && !s.deleted);
    let text =
        document("SnapshotSection", &[("href", &href), ("type", &media::SNAPSHOT_SECTION)], |w| content(w, current));
    Ok(Answer::xml(media::SNAPSHOT_SECTION, text))
}

/// The latest among its machines.
async fn of_vapp(ask: Ask) -> Result<Answer> {
    let id: VappId = ask.id(Kind::Vapp)?;
    let all = snapshot::list_in(ask.d(), &ask.actor, id).await?;
    let latest = all.into_iter().filter(|s| s.current && !s.deleted).max_by_key(|s| s.created_at);
    let href = format!("{}/snapshotSection", ask.base().vapp(id));
    let text = document("SnapshotSection", &[("href", &href), ("type", &media::SNAPSHOT_SECTION)], |w| {
        content(w, latest.as_ref())
    });
    Ok(Answer::xml(media::SNAPSHOT_SECTION, text))
}

fn wanted(ask: &Ask) -> Result<SnapshotSpec> {
    let body = ask.xml_or_nothing("CreateSnapshotParams")?;
    Ok(SnapshotSpec {
        name: body.attr("name").map(str::trim).filter(|n| !n.is_empty()).unwrap_or("snapshot").to_owned(),
        description: body.word("Description").unwrap_or_default().to_owned(),
        memory: body.on("memory")?,
    })
}

async fn create(ask: Ask) -> Result<Answer> {
    let (_, task) = snapshot::replace(ask.d(), &ask.actor, ask.id(Kind::Vm)?, wanted(&ask)?).await?;
    task::accepted(&ask, task).await
}

/// A machine that runs is stopped for it and started again.
async fn revert(ask: Ask) -> Result<Answer> {
    let task = snapshot::revert_to_current(ask.d(), &ask.actor, ask.id(Kind::Vm)?, true).await?;
    task::accepted(&ask, task).await
}

async fn remove(ask: Ask) -> Result<Answer> {
    let task = snapshot::delete_all(ask.d(), &ask.actor, ask.id(Kind::Vm)?).await?;
    task::accepted(&ask, task).await
}

async fn create_in_vapp(ask: Ask) -> Result<Answer> {
    let task = snapshot::replace_in(ask.d(), &ask.actor, ask.id(Kind::Vapp)?, wanted(&ask)?).await?;
    task::accepted(&ask, task).await
}

async fn revert_vapp(ask: Ask) -> Result<Answer> {
    let task = snapshot::revert_in(ask.d(), &ask.actor, ask.id(Kind::Vapp)?, true).await?;
    task::accepted(&ask, task).await
}

async fn remove_in_vapp(ask: Ask) -> Result<Answer> {
    let task = snapshot::delete_in(ask.d(), &ask.actor, ask.id(Kind::Vapp)?).await?;
    task::accepted(&ask, task).await
}
