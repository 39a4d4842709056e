//! vApps: their document, and what is done to one as a whole.
mod lease;
mod make;
pub(crate) mod networks;
pub(crate) mod parts;
mod recompose;
mod startup;

use crate::{
    answer::Answer,
    api::{snapshot, task, vm as machines},
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{action, document, link, named_link, owner},
        media, product, status,
        times::stamp,
    },
};
use domain::{guest, snapshot as snapshots, task as tasks, task::Noted, vapp, vapp_property};
use model::{
    Action, Kind, NetworkId, Result, VappId, VmId, can,
    guest::{GuestSettings, Property},
    network::Network,
    snapshot::Snapshot,
    storage::VdcPolicy,
    task::Task,
    vapp::Vapp,
    vm::Vm,
};
use std::{collections::BTreeMap, fmt::Display};
use uuid::Uuid;
use xml::Writer;

pub(crate) fn routes(routes: Routes) -> Routes {
    let routes = routes
        .get("/api/vApp/vapp-{id}", get)
        .put("/api/vApp/vapp-{id}", edit)
        .delete("/api/vApp/vapp-{id}", delete)
        .get("/api/vApp/vapp-{id}/productSections", products)
        .put("/api/vApp/vapp-{id}/productSections", set_products)
        .post("/api/vApp/vapp-{id}/action/enableDownload", download)
        .post("/api/vApp/vapp-{id}/action/disableDownload", download);
    let routes = make::routes(routes);
    let routes = recompose::routes(routes);
    let routes = lease::routes(routes);
    let routes = startup::routes(routes);
    networks::routes(routes)
}

/// Everything that a vApp's document says.
pub(crate) struct Shown {
    pub(crate) vapp: Vapp,
    pub(crate) vms: Vec<Vm>,
    pub(crate) profiles: Vec<VdcPolicy>,
    /// Its networks with the ids that they have as parts of it, and whether they are networks of the VDC.
    pub(crate) networks: Vec<(Uuid, Network, bool)>,
    /// What its machines' guests are told.
    pub(crate) guests: BTreeMap<VmId, GuestSettings>,
    pub(crate) snapshots: Vec<Snapshot>,
    /// Of its product sections.
    pub(crate) properties: Vec<Property>,
    pub(crate) tasks: Vec<Task>,
}

pub(crate) async fn shown(ask: &Ask, id: VappId) -> Result<Shown> {
    let (vapp, vms) = vapp::with_vms(ask.d(), &ask.actor, id).await?;
    let (profiles, networks, guests, snapshots, properties, latest) = tokio::try_join!(
        machines::profiles(ask, vapp.vdc),
        networks::of(ask, &vapp, &vms),
        guest::in_vapp(ask.d(), &ask.actor, id),
        snapshots::list_in(ask.d(), &ask.actor, id),
        vapp_property::get(ask.d(), &ask.actor, id),
        tasks::about(ask.d(), &ask.actor, vapp.org, id.0),
    )?;
    let tasks = latest.into_iter().filter(|t| !t.status.ended()).collect();
    let vms = vms.into_iter().filter(|v| !v.deleted).collect();
    Ok(Shown { vapp, vms, profiles, networks, guests, snapshots, properties, tasks })
}

async fn get(ask: Ask) -> Result<Answer> {
    let shown = shown(&ask, ask.id(Kind::Vapp)?).await?;
    Ok(Answer::xml(media::VAPP, whole(&ask, &shown, &[])))
}

/// `other`: attributes of its tasks that take the place of the usual ones.
pub(crate) fn whole(ask: &Ask, shown: &Shown, other: &[(&'static str, &str)]) -> String {
    let v = &shown.vapp;
    let deployed = deployed(shown);
    let attributes: [(&str, &dyn Display); 7] = [
        ("name", &v.name),
        ("status", &status::vapp(v).0),
        ("deployed", &deployed),
        ("ovfDescriptorUploaded", &true),
        ("id", &v.id.urn()),
        ("href", &ask.base().vapp(v.id)),
        ("type", &media::VAPP),
    ];
    document("VApp", &attributes, |w| content(w, ask, shown, other))
}

fn content(w: &mut Writer, ask: &Ask, shown: &Shown, other: &[(&'static str, &str)]) {
    let (v, base) = (&shown.vapp, ask.base());
    links(w, ask, shown);
    w.text("Description", &v.description);
    if !shown.tasks.is_empty() {
        w.el("Tasks", &[], |w| shown.tasks.iter().for_each(|t| task::element(w, base, &ask.actor, t, other)));
    }
    lease::section(w, ask, v);
    startup::section(w, ask, shown);
    networks::names(w, shown);
    networks::section(w, ask, shown);
    product::section(w, &shown.properties);
    w.text("DateCreated", stamp(v.created_at));
    owner(w, base, v.owner, &v.owner_name);
    w.text("InMaintenanceMode", false);
    w.text("autoNature", v.auto);
    if !shown.vms.is_empty() {
        w.el("Children", &[], |w| {
            for vm in &shown.vms {
                let current = shown.snapshots.iter().find(|s| s.vm == vm.id && s.current && !s.deleted);
                let guest = shown.guests.get(&vm.id);
                let one = machines::Shown { vm, profiles: &shown.profiles, guest, snapshot: current, tasks: &[] };
                machines::element(w, ask, &one);
            }
        });
    }
}

/// Is any of its machines given what it needs to run? One without machines is as it was last powered.
fn deployed(shown: &Shown) -> bool {
    shown.vms.iter().any(status::vm_deployed) || (shown.vms.is_empty() && shown.vapp.empty_on)
}

/// Is it possible now, and by whoever asks?
pub(crate) fn allowed(ask: &Ask, vapp: &Vapp, action: Action) -> bool {
    can::vapp(vapp, action).is_ok() && ask.actor.may(action, vapp.resource(&ask.actor))
}

fn links(w: &mut Writer, ask: &Ask, shown: &Shown) {
    let v = &shown.vapp;
    let href = ask.base().vapp(v.id);
    let may = |action| allowed(ask, v, action);
    let to = |rest: &str| format!("{href}/{rest}");
    let empty = |action| can::vapp_empty(v, action).is_ok() && ask.actor.may(action, v.resource(&ask.actor));
    for (rel, doing, path) in [
        ("power:powerOn", Action::VappPowerOn, "powerOn"),
        ("power:powerOff", Action::VappPowerOff, "powerOff"),
        ("power:reboot", Action::VappReboot, "reboot"),
        ("power:reset", Action::VappReset, "reset"),
        ("power:shutdown", Action::VappShutdown, "shutdown"),
        ("power:suspend", Action::VappSuspend, "suspend"),
    ] {
        if may(doing) || (matches!(doing, Action::VappPowerOn | Action::VappPowerOff) && empty(doing)) {
            action(w, rel, to(&format!("power/action/{path}")));
        }
    }
    if may(Action::VappDiscard) {
        action(w, "discardState", to("action/discardSuspendedState"));
    }
    if may(Action::VappPowerOn) || empty(Action::VappPowerOn) {
        link(w, "deploy", to("action/deploy"), media::DEPLOY_PARAMS);
    }
    if deployed(shown) && (may(Action::VappPowerOff) || empty(Action::VappPowerOff)) {
        link(w, "undeploy", to("action/undeploy"), media::UNDEPLOY_PARAMS);
    }
    link(w, "up", ask.base().vdc(v.vdc), media::VDC);
    if may(Action::VappEdit) {
        link(w, "edit", &href, media::VAPP);
    }
    if may(Action::VappDelete) && can::vapp_stopped(v).is_ok() {
        action(w, "remove", &href);
    }
    if may(Action::VappRecompose) {
        link(w, "recompose", to("action/recomposeVApp"), media::RECOMPOSE_PARAMS);
    }
    if may(Action::VappViewSharing) {
        link(w, "down", to("controlAccess/"), media::CONTROL_ACCESS);
    }
    if may(Action::VappShare) {
        link(w, "controlAccess", to("action/controlAccess"), media::CONTROL_ACCESS);
    }
    link(w, "down", to("metadata"), media::METADATA);
    link(w, "down", to("owner"), media::OWNER);
    link(w, "down", to("productSections/"), media::PRODUCT_SECTIONS);
    for (id, network, _) in &shown.networks {
        named_link(w, "down", ask.base().network(NetworkId(*id)), media::VAPP_NETWORK, network.name());
    }
    let has = shown.vms.iter().any(|vm| vm.snapshots > 0);
    snapshot::links(
        w,
        &href,
        may(Action::VappSnapshot),
        has && may(Action::VappRevert),
        has && may(Action::VappSnapshotDelete),
    );
}

/// What one says of a vApp in a task that had nothing to do.
pub(crate) fn noted(v: &Vapp) -> Noted {
    Noted { org: v.org, id: v.id.0, name: v.name.clone(), owner: v.owner }
}

/// 202 for something that is so already.
pub(crate) async fn nothing(ask: &Ask, v: &Vapp) -> Result<Answer> {
    task::accepted_about(ask, Action::VappEdit, noted(v)).await
}

/// Its name and description.
async fn edit(ask: Ask) -> Result<Answer> {
    let body = ask.xml("VApp")?;
    let v = vapp::get(ask.d(), &ask.actor, ask.id(Kind::Vapp)?).await?;
    let title = body.attr("name").map(str::trim).filter(|n| !n.is_empty()).unwrap_or(&v.name);
    let text = body.child("Description").map_or(v.description.as_str(), |d| d.text.trim());
    if (title, text) != (v.name.as_str(), v.description.as_str()) {
        vapp::edit(ask.d(), &ask.actor, v.id, v.version, title, text).await?;
    }
    nothing(&ask, &v).await
}

/// Running ones are refused unless it is forced, as clients expect it.
async fn delete(ask: Ask) -> Result<Answer> {
    let id: VappId = ask.id(Kind::Vapp)?;
    if !ask.params().flag("force") {
        can::or_not_now(can::vapp_stopped(&vapp::get(ask.d(), &ask.actor, id).await?))?;
    }
    let task = vapp::delete(ask.d(), &ask.actor, id).await?;
    task::accepted(&ask, task).await
}

async fn products(ask: Ask) -> Result<Answer> {
    let id: VappId = ask.id(Kind::Vapp)?;
    let properties = vapp_property::get(ask.d(), &ask.actor, id).await?;
    Ok(machines::guest::product_list(&format!("{}/productSections", ask.base().vapp(id)), &properties))
}

async fn set_products(ask: Ask) -> Result<Answer> {
    let body = ask.xml("ProductSectionList")?;
    let v = vapp::get(ask.d(), &ask.actor, ask.id(Kind::Vapp)?).await?;
    let now = vapp_property::get(ask.d(), &ask.actor, v.id).await?;
    let wished = machines::guest::read_products(&body, &now)?;
    if wished == now {
        return nothing(&ask, &v).await;
    }
    let task = vapp_property::set(ask.d(), &ask.actor, v.id, wished).await?;
    task::accepted(&ask, task).await
}

async fn download(ask: Ask) -> Result<Answer> {
    let v = vapp::get(ask.d(), &ask.actor, ask.id(Kind::Vapp)?).await?;
    let why = format!("Not now: {} can't be downloaded. Capture it into a catalog instead.", v.name);
    let _ = ask.xml_or_nothing("EnableDownloadParams")?.word("none");
    Err(model::Error::NotNow(why))
}
