//! vApps put together from parts, as VCD's clients do it: machines of templates and blank ones, added and removed at once, and
//! machines that come with a vApp of their own.
use crate::{
    Domain, guest, nic, quota, sizing,
    vapp::{Asked, Guest, create_with, insert_vm, plain},
    vapp_network::{self, Networks},
};
use model::{
    Action, Actor, Error, Kind, Problems, Result, TaskId, TemplateId, VappId, VdcId, VmId, can, name,
    quota::Amount,
    vapp::VappSpec,
    vm::{Besides, Turn, VmSpec},
};
use store::Record;
use uuid::Uuid;

/// A machine to be added.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it is made from; None: it is described as a whole.
    pub template: Option<TemplateId>,
    pub spec: VmSpec,
    pub guest: Guest,
}

/// What is to change about a vApp, all of it or nothing.
#[derive(Clone, Debug, Default)]
pub struct Change {
    pub name: Option<String>,
    pub description: Option<String>,
    /// That come into it before its new machines do.
    pub networks: Networks,
    pub add: Vec<Part>,
    pub remove: Vec<VmId>,
}

/// The templates can be used, here and by whoever is to have the machines.
async fn usable(d: &Domain, actor: &Actor, vdc: VdcId, parts: &[Part]) -> Result<()> {
    let mut ids: Vec<TemplateId> = parts.iter().filter_map(|p| p.template).collect();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let template = d.store.template(actor, Action::TemplateView, id).await?;
        can::or_not_now(can::template(&template, Action::VappCreate))?;
        if template.by_instance {
            return Err(Error::NotNow(format!(
                "Not now: the VMs of {} are made by OpenShift, all of them together. Deploy the template itself.",
                template.name
            )));
        }
        let into = d.store.vdc(actor, Action::VdcView, vdc).await?;
        if !d.store.template_seen_by(id, into.org).await? {
            let (org, name, catalog) = (&into.org_name, &template.name, &template.catalog_name);
            let why = format!("{org} does not see the template {name}. Share the catalog {catalog} to {org} first.");
            return Err(Error::field("vdc", why));
        }
    }
    Ok(())
}

fn checked(parts: &[Part]) -> Result<()> {
    let mut problems = Problems::default();
    parts.iter().for_each(|p| guest::check(&p.guest, &mut problems));
    problems.done()
}

/// A vApp of these parts, or an empty one.
pub async fn compose(
    d: &Domain,
    actor: &Actor,
    vdc: VdcId,
    (title, text): (&str, &str),
    networks: &Networks,
    parts: Vec<Part>,
) -> Result<Asked> {
    make(d, actor, vdc, (title, text), networks, parts, false).await
}

/// A machine with a vApp of its own, which is called after it and goes with it.
pub async fn alone(d: &Domain, actor: &Actor, vdc: VdcId, part: Part) -> Result<Asked> {
    let hex = Uuid::now_v7().simple().to_string();
    let short: String = part.spec.name.chars().take(110).collect();
    let title = format!("{short}-{}", &hex[hex.len() - 8..]);
    make(d, actor, vdc, (&title, ""), &Networks::default(), vec![part], true).await
}

async fn make(
    d: &Domain,
    actor: &Actor,
    vdc: VdcId,
    (title, text): (&str, &str),
    networks: &Networks,
    parts: Vec<Part>,
    auto: bool,
) -> Result<Asked> {
    let action = Action::VappCreate;
    d.attempt(actor, action, async {
        checked(&parts)?;
        usable(d, actor, vdc, &parts).await?;
        let (vms, guests): (Vec<VmSpec>, Vec<Guest>) = parts.into_iter().map(|p| (p.spec, p.guest)).unzip();
        let spec = VappSpec { name: title.to_owned(), description: text.to_owned(), vms }.check()?;
        let new = store::NewVapp { auto, ..plain(actor, vdc, &spec) };
        create_with(d, actor, action, new, &spec, &guests, networks).await
    })
    .await
}

/// Machines added and removed, and another name, in one transaction. Its task ends when all of it has come about.
pub async fn recompose(d: &Domain, actor: &Actor, id: VappId, change: Change) -> Result<Option<TaskId>> {
    let action = Action::VappRecompose;
    d.attempt(actor, action, async {
        checked(&change.add)?;
        let seen = d.store.vapp(actor, action, id).await?;
        usable(d, actor, seen.vdc, &change.add).await?;
        let mut problems = Problems::default();
        let title = problems.take("name", name::check_title(change.name.as_deref().unwrap_or(&seen.name)));
        let text =
            problems.take("description", name::check_text(change.description.as_deref().unwrap_or(&seen.description)));
        problems.done()?;
        if change.add.iter().any(|p| p.guest.set_password) {
            model::decide::authorize(actor, Action::VmPassword, seen.resource(actor))?;
        }
        let mut told = Vec::new();
        for part in &change.add {
            let vm = VmId(Uuid::now_v7());
            told.push((vm, guest::sealed(d, vm, &guest::with_password(part.guest.clone())).await?));
        }
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, id).await?;
        can::or_not_now(can::vapp(&vapp, action))?;
        if !change.add.is_empty() {
            can::or_not_now(can::vapp(&vapp, Action::VmCreate))?;
        }
        vapp_network::add(&mut tx, actor, &vapp, &change.networks).await?;
        let there = tx.vms_of(&vapp).await?;
        for gone in &change.remove {
            let vm = there.iter().find(|v| v.id == *gone).ok_or(Error::NotFound(Kind::Vm))?;
            can::or_not_now(can::vm(vm, Action::VmDelete))?;
            tx.vm_delete(vm.id).await?;
            tx.enqueue(Kind::Vm, vm.id, vm.org, vm.hub.as_ref()).await?;
        }
        let mut specs = Vec::new();
        for part in &change.add {
            let mut spec = part.spec.clone().check()?;
            sizing::fill(&mut tx, vapp.vdc, &mut spec).await?;
            specs.push(spec);
        }
        if vapp.empty_on && !specs.is_empty() {
            tx.vapp_empty_on(&vapp, false).await?;
        }
        let all = specs.iter().fold(Amount::default(), |sum, vm| sum + vm.amount());
        quota::reserve(&mut tx, vapp.vdc, vapp.owner, &all).await?;
        let networks = nic::hold(&mut tx, (vapp.org, vapp.vdc, id), specs.iter().flat_map(|vm| &vm.nics)).await?;
        for (spec, (vm, sealed)) in specs.iter().zip(&told) {
            insert_vm(&mut tx, *vm, id, (vapp.org, vapp.vdc), vapp.owner, spec, sealed.as_deref()).await?;
            tx.nics_set(*vm, &spec.nics, &networks).await?;
        }
        if title != vapp.name || text != vapp.description {
            tx.vapp_rename(&vapp, &title, &text).await?;
        }
        let before = VappSpec { name: vapp.name.clone(), description: vapp.description.clone(), vms: Vec::new() };
        let after = VappSpec { name: title.clone(), description: text, vms: specs };
        let record = Record::new(action, vapp.org, id, &title).of(vapp.owner).before(&before).after(&after);
        let record = match change.add.is_empty() && change.remove.is_empty() {
            true => record.with_task(),
            false => {
                tx.enqueue(Kind::Vapp, id, vapp.org, vapp.hub.as_ref()).await?;
                record.with_open_task()
            }
        };
        tx.commit(record).await
    })
    .await
}

/// When a machine starts among the others of its vApp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub vm: VmId,
    pub order: i32,
    /// After the one before it.
    pub delay_s: i32,
    /// What is done to it when the vApp starts and stops; None: as before.
    pub turn: Option<Turn>,
}

/// In which order its machines start, and what is done to each when it starts and stops.
pub async fn set_start_order(d: &Domain, actor: &Actor, id: VappId, order: Vec<Place>) -> Result<Option<TaskId>> {
    let action = Action::VappStartOrder;
    d.attempt(actor, action, async {
        let mut problems = Problems::default();
        for place in &order {
            if !(0..=1000).contains(&place.order) {
                problems.add("start_order", "From 0 to 1000.");
            }
            if !(0..=3600).contains(&place.delay_s) {
                problems.add("start_delay", "From 0 to 3600 seconds.");
            }
            if place.turn.is_some_and(|t| !(0..=3600).contains(&t.stop_delay_s)) {
                problems.add("stop_delay", "From 0 to 3600 seconds.");
            }
        }
        problems.done()?;
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, id).await?;
        can::or_not_now(can::vapp(&vapp, action))?;
        let there = tx.vms_of(&vapp).await?;
        for place in order {
            let vm = there.iter().find(|v| v.id == place.vm).ok_or(Error::NotFound(Kind::Vm))?;
            tx.vm_start_order(vm.id, place.order, place.delay_s).await?;
            if let Some(turn) = place.turn.filter(|t| *t != vm.besides.turn) {
                tx.vm_keep(vm.id, &Besides { turn, ..vm.besides.clone() }, false).await?;
            }
        }
        tx.commit(Record::new(action, vapp.org, id, &vapp.name).of(vapp.owner).with_task()).await
    })
    .await
}
