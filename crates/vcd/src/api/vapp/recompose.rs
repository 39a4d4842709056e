//! A vApp recomposed: another name, machines added from templates, copied from other vApps, described as a whole, or removed.
use super::{
    make::named,
    networks,
    parts::{self, Source, Workshop, described, name_of, of_template, wishes},
};
use crate::{
    answer::Answer,
    api::{
        task,
        vm::{guest, nics},
    },
    ask::Ask,
    routes::Routes,
    wire::body::Read,
};
use domain::{
    copy, media as discs,
    moves::{self, Arrival},
    recompose::{self, Change},
    vapp::{self, Size},
    vapp_network::Networks,
    vm,
};
use model::{
    Action, Error, Kind, Result, TaskId, TemplateId, VappId, VmId, can,
    task::TaskStatus,
    vm::{Power, Vm},
};
use std::time::Duration;
use xml::Element;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes.post("/api/vApp/vapp-{id}/action/recomposeVApp", recompose).post("/api/vApp/vapp-{id}/vms", recompose)
}

async fn recompose(ask: Ask) -> Result<Answer> {
    // seed clients send a single machine here
    let body = ask.xml_of(&[("CreateVmParams", &["CreateVm"]), ("RecomposeVAppParams", &[])])?;
    let body = if body.name == "CreateVmParams" { as_recompose(&body)? } else { body };
    let id: VappId = ask.id(Kind::Vapp)?;
    let v = vapp::get(ask.d(), &ask.actor, id).await?;
    let mut shop = Workshop::of(&ask, v.vdc, Some(id)).await?;
    let on = body.on("powerOn")?;
    // here networks are added, and none is taken away
    let (mut now, mut there) = (Vec::new(), Vec::new());
    let mut networks = Networks::default();
    if let Some(section) = body.at(&["InstantiationParams", "NetworkConfigSection"]) {
        now = networks::of(&ask, &v, &vapp::with_vms(ask.d(), &ask.actor, id).await?.1).await?;
        (networks, there) = networks::new_ones(networks::read(section, &shop.reach)?, &now);
        now.retain(|(_, n, _)| there.iter().any(|(name, _)| name == n.name()));
        shop.expect(&networks)?;
    }
    let mut change = Change {
        networks,
        name: body.attr("name").map(str::trim).filter(|n| !n.is_empty()).map(str::to_owned),
        description: body.child("Description").map(|d| d.text.trim().to_owned()),
        ..Change::default()
    };
    let mut copies: Vec<WantedCopy> = Vec::new();
    let mut inserts: Vec<(String, TemplateId)> = Vec::new();
    for item in body.all("SourcedItem") {
        let source = item.child("Source").ok_or_else(|| Error::BadRequest("A SourcedItem names no Source.".into()))?;
        match parts::source(&ask, source).await? {
            Source::Template(template, index) => {
                let w = wishes(&ask, &shop, item, item.child("InstantiationParams")).await?;
                let name = named(&w, source, &template, index);
                change.add.push(of_template(&template, index, &name, w, on)?);
            }
            Source::Vm(vm) => copies.push(wanted_copy(&ask, &shop, vm, item, on).await?),
        }
    }
    for item in body.all("CreateItem") {
        let (part, disc) = described(&ask, &shop, item, on).await?;
        inserts.extend(disc.map(|disc| (part.spec.name.clone(), disc)));
        change.add.push(part);
    }
    for item in body.all("DeleteItem") {
        let vm = item.id().map(VmId).ok_or_else(|| Error::BadRequest("A DeleteItem has no href.".into()))?;
        can::or_not_now(can::vm_stopped(&vm::get(ask.d(), &ask.actor, vm).await?))?;
        change.remove.push(vm);
    }
    networks::apply(&ask, id, &now, there).await?;
    let words = change.name.is_some() || change.description.is_some();
    let alone = change.add.is_empty() && change.remove.is_empty() && change.networks.is_empty() && !words;
    let mut last = None;
    if !alone || copies.is_empty() {
        last = recompose::recompose(ask.d(), &ask.actor, id, change).await?;
    }
    put_in(&ask, id, inserts).await?;
    for copy in copies {
        last = Some(brought(&ask, id, copy).await?);
    }
    task::accepted(&ask, last).await
}

fn no_task() -> Error {
    Error::Internal("an operation began no task".into())
}

/// Discs for machines that were just made, by their names.
pub(super) async fn put_in(ask: &Ask, id: VappId, inserts: Vec<(String, TemplateId)>) -> Result<()> {
    if inserts.is_empty() {
        return Ok(());
    }
    let (_, vms) = vapp::with_vms(ask.d(), &ask.actor, id).await?;
    for (name, disc) in inserts {
        if let Some(vm) = vms.iter().find(|vm| vm.name == name && !vm.deleted) {
            discs::insert(ask.d(), &ask.actor, vm.id, disc).await?;
        }
    }
    Ok(())
}

/// A machine that is to be copied, how it is to arrive, what changes about it there, and whether the other one goes.
pub(super) struct WantedCopy {
    from: VmId,
    how: Arrival,
    then: Changes,
    goes: bool,
}

/// What is said of a copy besides, and comes about as it does for any machine.
struct Changes {
    size: Size,
    /// The instantiation parameters, for what they say of the guest.
    params: Option<Element>,
}

impl Changes {
    fn none(&self) -> bool {
        let told = |p: &Element| p.child("GuestCustomizationSection").or(p.child("ProductSection")).is_some();
        let Size { cpus, memory_mb, sizing, .. } = &self.size;
        cpus.is_none() && memory_mb.is_none() && sizing.is_none() && !self.params.as_ref().is_some_and(told)
    }
}

/// What a SourcedItem says of it. What can't be had of a copy is refused before anything is made.
pub(super) async fn wanted_copy(
    ask: &Ask,
    shop: &Workshop,
    from: VmId,
    item: &Element,
    on: bool,
) -> Result<WantedCopy> {
    let w = wishes(ask, shop, item, item.child("InstantiationParams")).await?;
    let vm = vm::get(ask.d(), &ask.actor, from).await?;
    same_disks(shop, &vm, &w.size)?;
    // Terraform says it in the source itself
    let source = item.child("Source").and_then(|s| s.attr("name")).map(str::trim);
    let said = source.filter(|n| !n.is_empty()).map(str::to_owned);
    let description = Some(w.each.description).filter(|text| !text.is_empty());
    let how = Arrival { name: w.each.name.or(said), description, nics: w.nics, power_on: on };
    let then = Changes { size: w.size, params: item.child("InstantiationParams").cloned() };
    Ok(WantedCopy { from, how, then, goes: item.on("sourceDelete")? })
}

/// Disks are copied as they are: of their size, on their storage policy, and in another VDC on its default.
fn same_disks(shop: &Workshop, vm: &Vm, size: &Size) -> Result<()> {
    let Some(first) = vm.disks.iter().find(|d| d.own()) else { return Ok(()) };
    if size.disk_mb.is_some_and(|mb| mb != first.size_mb) {
        return Err(Error::NotNow(format!(
            "Not now: a copy of {} has disks of the same size, {} MB. Change them when it is there.",
            vm.name, first.size_mb
        )));
    }
    let default = || shop.profiles.iter().find(|p| p.is_default).map_or("", |p| p.name.as_str());
    let made_of = if vm.vdc == shop.vdc { first.policy.as_str() } else { default() };
    if !size.storage.is_empty() && size.storage != made_of {
        return Err(Error::NotNow(format!(
            "Not now: the disks of {} are made of {made_of} there and can't be moved to {}. Add a disk there instead.",
            vm.name, size.storage
        )));
    }
    Ok(())
}

/// The task of what is done last.
pub(super) async fn brought(ask: &Ask, into: VappId, copy: WantedCopy) -> Result<TaskId> {
    match copy.goes {
        true => moved(ask, into, copy).await,
        false => copied(ask, into, copy).await,
    }
}

async fn changed(ask: &Ask, id: VmId, then: Changes) -> Result<Option<TaskId>> {
    let Changes { size, params } = then;
    let mut last = None;
    if let Some(policy) = size.sizing {
        last = vm::resize_to(ask.d(), &ask.actor, id, policy).await?;
    } else if size.cpus.is_some() || size.memory_mb.is_some() {
        let vm = vm::get(ask.d(), &ask.actor, id).await?;
        let (cpus, memory_mb) = (size.cpus.unwrap_or(vm.cpus), size.memory_mb.unwrap_or(vm.memory_mb));
        if (cpus, memory_mb) != (vm.cpus, vm.memory_mb) {
            last = vm::resize(ask.d(), &ask.actor, id, cpus, memory_mb).await?;
        }
    }
    let Some(params) = params else { return Ok(last) };
    if let Some(section) = params.child("GuestCustomizationSection") {
        last = guest::customize(ask, id, section).await?.or(last);
    }
    if params.child("ProductSection").is_some() {
        last = guest::put_products(ask, id, &params).await?.or(last);
    }
    Ok(last)
}

/// A machine that is there, moved into the vApp, with what is asked for it there.
async fn moved(ask: &Ask, into: VappId, copy: WantedCopy) -> Result<TaskId> {
    let WantedCopy { from, mut how, then, .. } = copy;
    let vm = vm::get(ask.d(), &ask.actor, from).await?;
    if let Some(wanted) = how.nics.take() {
        how.nics = Some(nics::kept(&vm, &wanted));
    }
    // what changes about it changes before it starts; into another VDC it starts by itself when all of it is there
    let within = vapp::get(ask.d(), &ask.actor, into).await?.vdc == vm.vdc;
    let starts_later = within && how.power_on && !then.none() && vm.power != Power::On;
    how.power_on &= !starts_later;
    let (id, task) = moves::vm(ask.d(), &ask.actor, from, into, how).await?;
    let mut last = task.ok_or_else(no_task)?;
    last = changed(ask, id, then).await?.unwrap_or(last);
    if starts_later {
        last = vm::power(ask.d(), &ask.actor, id, Action::VmPowerOn).await?.unwrap_or(last);
    }
    Ok(last)
}

/// A machine that is there, copied into the vApp; then its words, its cards, its size and guest, and its power.
async fn copied(ask: &Ask, into: VappId, copy: WantedCopy) -> Result<TaskId> {
    let WantedCopy { from, how, then, .. } = copy;
    let name = match how.name {
        Some(name) => name,
        None => name_of(ask, from).await?,
    };
    let (new, task) = copy::vm(ask.d(), &ask.actor, from, into, &name).await?;
    let mut last = task.ok_or_else(no_task)?;
    if let Some(text) = how.description {
        let vm = vm::get(ask.d(), &ask.actor, new).await?;
        vm::edit(ask.d(), &ask.actor, new, vm.version, &vm.name, &text).await?;
    }
    if let Some(wanted) = how.nics {
        let vm = vm::get(ask.d(), &ask.actor, new).await?;
        last = nics::set_nics(ask, &vm, wanted).await?.unwrap_or(last);
    }
    last = changed(ask, new, then).await?.unwrap_or(last);
    if how.power_on {
        // it starts when its disks are there; what can't be started is told by the task of the copy
        let copy = domain::task::wait(ask.d(), &ask.actor, last, COPY).await?;
        if copy.status != TaskStatus::Error {
            last = vm::power(ask.d(), &ask.actor, new, Action::VmPowerOn).await?.unwrap_or(last);
        }
    }
    Ok(last)
}

/// The power comes right after the copy where that is quick, and otherwise with it.
const COPY: Duration = Duration::from_millis(1500);

/// One machine as an item of a recomposition.
fn as_recompose(single: &Element) -> Result<Element> {
    let mut vm = single.child("CreateVm").cloned().ok_or_else(|| Error::BadRequest("It has no CreateVm.".into()))?;
    "CreateItem".clone_into(&mut vm.name);
    if vm.attr("name").is_none() {
        vm.set_attr("name", single.attr("name").unwrap_or_default());
    }
    // what stands beside it
    for word in ["Description", "Media"] {
        if let (None, Some(said)) = (vm.child(word), single.child(word)) {
            vm.children.push(said.clone());
        }
    }
    let mut out = Element::new("RecomposeVAppParams", "");
    if let Some(on) = single.attr("powerOn") {
        out.set_attr("powerOn", on);
    }
    out.children.push(vm);
    Ok(out)
}
