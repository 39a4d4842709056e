//! vApps made: from a template, composed of parts, copied; and machines with a vApp of their own.
use super::{
    networks, noted,
    parts::{self, Source, Workshop, described, of_template, wishes},
    recompose::{brought, put_in, wanted_copy},
    shown, whole,
};
use crate::{
    answer::Answer,
    api::{task, vm::profiles},
    ask::{Ask, referred},
    routes::Routes,
    wire::{body::Read, href::mixed, media},
};
use domain::{
    catalog, copy, media as discs, recompose,
    recompose::Part,
    vapp::{self, Asked, Deploy},
    vdc, vm,
};
use model::{
    Action, Error, Kind, Result, TemplateId, VappId, VdcId, VmId, can,
    template::{ItemKind, Template},
};
use std::collections::BTreeMap;
use xml::Element;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .post("/api/vdc/{id}/action/instantiateVAppTemplate", instantiate)
        .post("/api/vdc/{id}/action/composeVApp", compose)
        .post("/api/vdc/{id}/action/cloneVApp", clone)
        .post("/api/vdc/{id}/action/createVm", create_vm)
        .post("/api/vdc/{id}/action/instantiateVmFromTemplate", instantiate_vm)
}

/// 201 with the vApp and the task that ends when it is there.
async fn made(ask: &Ask, asked: Asked, operation: &'static str) -> Result<Answer> {
    let mut shown = shown(ask, asked.vapp).await?;
    let task = match asked.task {
        Some(id) => domain::task::get(ask.d(), &ask.actor, id).await?,
        None => task::about(ask, Action::VappCreate, noted(&shown.vapp)).await?,
    };
    if !shown.tasks.iter().any(|t| t.id == task.id) {
        shown.tasks = vec![task];
    }
    let text = whole(ask, &shown, &[("operationName", operation)]);
    Ok(Answer::xml(media::VAPP, text).created(ask.base().vapp(asked.vapp)))
}

fn title(body: &Element) -> Result<&str> {
    let name = body.attr("name").map(str::trim).filter(|n| !n.is_empty());
    name.ok_or_else(|| Error::BadRequest(format!("{} has no name.", body.name)))
}

async fn instantiate(ask: Ask) -> Result<Answer> {
    let body = ask.xml("InstantiateVAppTemplateParams")?;
    let vdc: VdcId = ask.id(Kind::Vdc)?;
    let source = body.child("Source").ok_or_else(|| Error::BadRequest("It names no Source.".into()))?;
    let template = catalog::template(ask.d(), &ask.actor, referred(source, Kind::Template)?).await?;
    parts::askless(&template, &template.vms)?;
    let mut shop = Workshop::of(&ask, vdc, None).await?;
    let networks = shop.networks(&body)?;
    let on = body.flag("powerOn")?.unwrap_or(true) && body.flag("deploy")?.unwrap_or(true);
    let mut wanted = Deploy {
        name: title(&body)?.to_owned(),
        description: body.word("Description").unwrap_or_default().to_owned(),
        power_on: on,
        networks,
        ..Deploy::default()
    };
    // machines keep the names that they have in the template
    for t in &template.vms {
        wanted.each.insert(t.name.clone(), vapp::Each { name: Some(t.name.clone()), ..vapp::Each::default() });
    }
    let whole_network = only_network(&body, &shop, &template)?;
    for (name, nics) in whole_network {
        wanted.nics.insert(name, nics);
    }
    for item in body.all("SourcedItem") {
        let source = item.child("Source").ok_or_else(|| Error::BadRequest("A SourcedItem names no Source.".into()))?;
        let index = of_this(&template, source)?;
        let t = template.vms.get(index).ok_or(Error::NotFound(Kind::Template))?;
        let w = wishes(&ask, &shop, item, item.child("InstantiationParams")).await?;
        wanted.sizes.insert(t.name.clone(), w.size);
        if let Some(nics) = w.nics {
            wanted.nics.insert(t.name.clone(), nics);
        }
        let each = vapp::Each { name: w.each.name.or_else(|| Some(t.name.clone())), ..w.each };
        if let Some(guest) = &each.guest {
            let known = t.properties.iter().map(|p| p.key.as_str());
            let given: BTreeMap<String, String> = guest
                .properties
                .iter()
                .filter(|p| known.clone().any(|k| k == p.key))
                .map(|p| (p.key.clone(), p.value.clone()))
                .collect();
            wanted.properties.insert(t.name.clone(), given);
        }
        wanted.each.insert(t.name.clone(), each);
    }
    let asked = vapp::deploy(ask.d(), &ask.actor, vdc, template.id, wanted).await?;
    made(&ask, asked, "vdcInstantiateVapp").await
}

/// A vApp that does not become what was asked for goes again: all of it or nothing, as far as that goes.
async fn or_nothing(ask: &Ask, asked: &Asked, done: Result<()>) -> Result<()> {
    if done.is_err() {
        vapp::delete(ask.d(), &ask.actor, asked.vapp).await?;
    }
    done
}

/// A network for the whole vApp, without a word about single machines: the first card of each is on it.
fn only_network(
    body: &Element,
    shop: &Workshop,
    template: &Template,
) -> Result<Vec<(String, Vec<model::nic::NicSpec>)>> {
    let Some(section) = body.at(&["InstantiationParams", "NetworkConfigSection"]) else { return Ok(Vec::new()) };
    let bridged = networks::read(section, &shop.reach)?.into_iter().find_map(|(_, w)| match w {
        networks::Wanted::Bridge(id) => Some(id),
        networks::Wanted::Inside(..) => None,
    });
    let Some(network) = bridged.and_then(|id| shop.reach.iter().find(|n| n.id == id)) else { return Ok(Vec::new()) };
    let mode = if network.spec.ranges.is_empty() { model::nic::IpMode::Dhcp } else { model::nic::IpMode::Pool };
    let moved = |t: &model::template::TemplateVm| {
        let mut nics = t.nic_specs();
        if let Some(first) = nics.first_mut() {
            first.attach = model::nic::Attach::Network(network.id);
            first.mode = mode;
        }
        (t.name.clone(), nics)
    };
    Ok(template.vms.iter().map(moved).collect())
}

/// The place of a machine in the template that is instantiated.
fn of_this(template: &Template, source: &Element) -> Result<usize> {
    let id = source.id().ok_or_else(|| Error::BadRequest("A Source has no href with an id.".into()))?;
    let by_id = crate::wire::href::templates_of(id).find(|(t, i)| *t == template.id && *i < template.vms.len());
    let by_name = || template.vms.iter().position(|t| source.attr("name") == Some(t.name.as_str()));
    by_id.map(|(_, i)| i).or_else(by_name).ok_or_else(|| {
        Error::BadRequest(format!("A SourcedItem names a VM that is not in the template {}.", template.name))
    })
}

async fn compose(ask: Ask) -> Result<Answer> {
    let body = ask.xml("ComposeVAppParams")?;
    let vdc: VdcId = ask.id(Kind::Vdc)?;
    let mut shop = Workshop::of(&ask, vdc, None).await?;
    let networks = shop.networks(&body)?;
    let on = body.flag("powerOn")?.unwrap_or(false);
    let mut made_of: Vec<Part> = Vec::new();
    let mut copies: Vec<(VmId, &Element)> = Vec::new();
    let mut inserts: Vec<(String, TemplateId)> = Vec::new();
    for item in body.all("SourcedItem") {
        let source = item.child("Source").ok_or_else(|| Error::BadRequest("A SourcedItem names no Source.".into()))?;
        match parts::source(&ask, source).await? {
            Source::Template(template, index) => {
                let w = wishes(&ask, &shop, item, item.child("InstantiationParams")).await?;
                let name = named(&w, source, &template, index);
                made_of.push(of_template(&template, index, &name, w, on)?);
            }
            Source::Vm(vm) => copies.push((vm, item)),
        }
    }
    for item in body.all("CreateItem") {
        let (part, disc) = described(&ask, &shop, item, on).await?;
        inserts.extend(disc.map(|disc| (part.spec.name.clone(), disc)));
        made_of.push(part);
    }
    let words = (title(&body)?, body.word("Description").unwrap_or_default());
    for (vm, item) in &copies {
        can::or_not_now(can::vm(&vm::get(ask.d(), &ask.actor, *vm).await?, Action::VmCopy))?;
        // said here, before there is a vApp
        wanted_copy(&ask, &shop, *vm, item, on).await?;
    }
    let asked = recompose::compose(ask.d(), &ask.actor, vdc, words, &networks, made_of).await?;
    let filled = filled(&ask, &asked, vdc, inserts, &copies, on).await;
    or_nothing(&ask, &asked, filled).await?;
    made(&ask, asked, "vdcComposeVapp").await
}

/// What comes into a vApp that is there: discs, and machines that are copied.
async fn filled(
    ask: &Ask,
    asked: &Asked,
    vdc: VdcId,
    inserts: Vec<(String, TemplateId)>,
    copies: &[(VmId, &Element)],
    on: bool,
) -> Result<()> {
    put_in(ask, asked.vapp, inserts).await?;
    if copies.is_empty() {
        return Ok(());
    }
    let shop = Workshop::of(ask, vdc, Some(asked.vapp)).await?;
    for (from, item) in copies {
        let copy = wanted_copy(ask, &shop, *from, item, on).await?;
        brought(ask, asked.vapp, copy).await?;
    }
    Ok(())
}

/// What is said for it; Terraform says it in the source itself.
pub(crate) fn named(w: &parts::Wishes, source: &Element, template: &Template, index: usize) -> String {
    let own = template.vms.get(index).map_or("vm", |t| t.name.as_str());
    let said = w.each.name.as_deref().or_else(|| source.attr("name").map(str::trim).filter(|n| !n.is_empty()));
    said.unwrap_or(own).to_owned()
}

async fn clone(ask: Ask) -> Result<Answer> {
    let body = ask.xml("CloneVAppParams")?;
    let vdc: VdcId = ask.id(Kind::Vdc)?;
    let source = body.child("Source").ok_or_else(|| Error::BadRequest("It names no Source.".into()))?;
    let from = referred(source, Kind::Vapp)?;
    if body.child("InstantiationParams").is_some_and(|e| !e.children.is_empty()) {
        return Err(as_it_is("InstantiationParams"));
    }
    for one in body.all("SourcedVmInstantiationParams") {
        no_change(&ask, from, vdc, one).await?;
    }
    let (text, on) = (body.word("Description"), body.on("powerOn")?);
    let asked = match body.on("IsSourceDelete")? {
        true => {
            let name = body.attr("name").map(str::trim).filter(|n| !n.is_empty());
            copy::move_vapp_as(ask.d(), &ask.actor, from, vdc, (name, text), on).await?
        }
        false => copy::vapp_described(ask.d(), &ask.actor, from, vdc, (title(&body)?, text), on).await?,
    };
    made(&ask, asked, "vdcCopyVapp").await
}

fn as_it_is(word: &str) -> Error {
    Error::BadRequest(format!(
        "A vApp is copied as it is: cloneVApp takes no {word}. Leave it out, and change the copy when it is there."
    ))
}

/// pyvcloud says of every machine that its disks stay on the storage policy that they have. That is all that can be said.
async fn no_change(ask: &Ask, from: VappId, into: VdcId, said: &Element) -> Result<()> {
    if let Some(other) = said.children.iter().find(|e| !matches!(e.name.as_str(), "Source" | "StorageProfile")) {
        return Err(as_it_is(&format!("{} in SourcedVmInstantiationParams", other.name)));
    }
    let (Some(source), Some(wanted)) = (said.child("Source"), said.child("StorageProfile").and_then(Read::id)) else {
        return Ok(());
    };
    let (vapp, vms) = vapp::with_vms(ask.d(), &ask.actor, from).await?;
    let id: VmId = referred(source, Kind::Vm)?;
    let vm = vms.iter().find(|vm| vm.id == id).ok_or(Error::NotFound(Kind::Vm))?;
    let into = vdc::get(ask.d(), &ask.actor, into).await?.id;
    for vdc in [vapp.vdc, into] {
        let known = profiles(ask, vdc).await?;
        let named = known.iter().find(|p| mixed(vdc.0, p.id.0) == wanted || p.id.0 == wanted);
        if named.is_some_and(|p| vm.disks.iter().all(|d| !d.own() || d.policy == p.name)) {
            return Ok(());
        }
    }
    Err(Error::BadRequest(format!(
        "The disks of {} stay on the storage policy that they have: cloneVApp takes no other one.",
        vm.name
    )))
}

/// 202 with a task whose owner is the vApp that comes with the machine.
async fn alone(ask: &Ask, vdc: VdcId, part: Part, disc: Option<TemplateId>) -> Result<Answer> {
    let asked = recompose::alone(ask.d(), &ask.actor, vdc, part).await?;
    if let Some(disc) = disc {
        let inserted = insert(ask, &asked, disc).await;
        or_nothing(ask, &asked, inserted).await?;
    }
    task::accepted(ask, asked.task).await
}

async fn insert(ask: &Ask, asked: &Asked, disc: TemplateId) -> Result<()> {
    let (_, vms) = vapp::with_vms(ask.d(), &ask.actor, asked.vapp).await?;
    for vm in &vms {
        discs::insert(ask.d(), &ask.actor, vm.id, disc).await?;
    }
    Ok(())
}

async fn create_vm(ask: Ask) -> Result<Answer> {
    let body = ask.xml("CreateVmParams")?;
    let vdc: VdcId = ask.id(Kind::Vdc)?;
    let shop = Workshop::of(&ask, vdc, None).await?;
    let mut vm = body.child("CreateVm").cloned().ok_or_else(|| Error::BadRequest("It has no CreateVm.".into()))?;
    if vm.attr("name").is_none_or(|n| n.trim().is_empty()) {
        vm.set_attr("name", title(&body)?);
    }
    if let (None, Some(text)) = (vm.child("Description"), body.word("Description")) {
        vm.children.push(Element::new("Description", text));
    }
    let (part, inside) = described(&ask, &shop, &vm, body.on("powerOn")?).await?;
    let disc = body.child("Media").and_then(Read::id).map(TemplateId).or(inside);
    alone(&ask, vdc, part, disc).await
}

async fn instantiate_vm(ask: Ask) -> Result<Answer> {
    let body = ask.xml("InstantiateVmTemplateParams")?;
    let vdc: VdcId = ask.id(Kind::Vdc)?;
    let shop = Workshop::of(&ask, vdc, None).await?;
    let item = body.child("SourcedVmTemplateItem");
    let item = item.ok_or_else(|| Error::BadRequest("It has no SourcedVmTemplateItem.".into()))?;
    let source = item.child("Source").ok_or_else(|| Error::BadRequest("It names no Source.".into()))?;
    let Source::Template(template, index) = parts::source(&ask, source).await? else {
        return Err(Error::BadRequest("A VM of a template is expected as Source.".into()));
    };
    if template.kind == ItemKind::Media {
        return Err(Error::NotFound(Kind::Template));
    }
    let mut w = wishes(&ask, &shop, item, item.child("VmTemplateInstantiationParams")).await?;
    let policies = wishes(&ask, &shop, &body, None).await?.size.sizing;
    w.size.sizing = w.size.sizing.or(policies);
    let part = of_template(&template, index, title(&body)?, w, body.on("powerOn")?)?;
    alone(&ask, vdc, part, None).await
}
