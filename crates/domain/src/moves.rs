//! A VM moved to another vApp of its organization. In its own VDC it runs on; into another one it is copied, and the old one is
//! deleted when all of it is there.
use crate::{
    Domain,
    copy::{self, Reach},
    guest, network, nic, quota,
    vapp::{change_power, insert_vm},
};
use model::{
    Action, Actor, Error, Kind, Problems, Result, TaskId, VappId, VmId, can,
    decide::authorize,
    name,
    nic::NicSpec,
    vapp::Vapp,
    vm::{Power, Vm},
};
use std::collections::BTreeMap;
use store::{Authorized, Record, Write};
use uuid::Uuid;

const ACTION: Action = Action::VmMove;

/// What is asked for with the move. None: as it is.
#[derive(Clone, Debug, Default)]
pub struct Arrival {
    pub name: Option<String>,
    pub description: Option<String>,
    /// All of them.
    pub nics: Option<Vec<NicSpec>>,
    pub power_on: bool,
}

/// The VM as it is from then on: in another VDC it is a new one.
pub async fn vm(d: &Domain, actor: &Actor, id: VmId, into: VappId, how: Arrival) -> Result<(VmId, Option<TaskId>)> {
    d.attempt(actor, ACTION, async {
        let how = checked(how)?;
        let here = d.store.vm(actor, ACTION, id).await?.vdc;
        match d.store.vapp(actor, Action::VappEdit, into).await?.vdc == here {
            true => Ok((id, within(d, actor, id, into, how).await?)),
            false => away(d, actor, id, into, how).await,
        }
    })
    .await
}

fn checked(how: Arrival) -> Result<Arrival> {
    let mut problems = Problems::default();
    let name = how.name.map(|name| problems.take("name", name::check_title(&name)));
    let description = how.description.map(|text| problems.take("description", name::check_text(&text)));
    let nics = how.nics.map(|nics| model::nic::check(nics, &mut problems));
    problems.done()?;
    Ok(Arrival { name, description, nics, power_on: how.power_on })
}

/// Both, held, if the one may go into the other.
async fn held(tx: &mut Write<'_>, id: VmId, into: VappId) -> Result<(Authorized<Vm>, Authorized<Vapp>)> {
    let into = tx.vapp(Action::VappEdit, into).await?;
    let from = tx.vm(ACTION, id).await?;
    can::or_not_now(can::vm(&from, ACTION))?;
    can::or_not_now(can::vapp(&into, Action::VmCreate))?;
    if into.id == from.vapp {
        return Err(Error::field("vapp", format!("It is in {} already.", into.name)));
    }
    if into.org != from.org {
        return Err(Error::NotFound(Kind::Vapp));
    }
    copy::together(&from, &into)?;
    if into.empty_on {
        tx.vapp_empty_on(&into, false).await?;
    }
    if tx.vapp_by_template(from.vapp).await? {
        return Err(Error::NotNow("Not now: its vApp was made from a template as it is. Copy the VM instead.".into()));
    }
    Ok((from, into))
}

/// Who moves it may also do what is asked for with that.
fn may(actor: &Actor, vm: &Authorized<Vm>, how: &Arrival) -> Result<()> {
    let renamed = how.name.as_ref().is_some_and(|n| *n != vm.name);
    let described = how.description.as_ref().is_some_and(|text| *text != vm.description);
    let starts = how.power_on && vm.power != Power::On;
    let asked =
        [(renamed || described, Action::VmEdit), (how.nics.is_some(), Action::VmNics), (starts, Action::VmPowerOn)];
    for (_, action) in asked.into_iter().filter(|(asked, _)| *asked) {
        authorize(actor, action, vm.resource(actor))?;
        can::or_not_now(can::vm(vm, action))?;
    }
    Ok(())
}

/// Into another vApp of its VDC. Nothing of it is made anew: it runs on, under other labels.
async fn within(d: &Domain, actor: &Actor, id: VmId, into: VappId, how: Arrival) -> Result<Option<TaskId>> {
    let mut tx = d.store.write(actor).await?;
    let (from, into) = held(&mut tx, id, into).await?;
    may(actor, &from, &how)?;
    let (title, text) = words(&from, &how);
    if how.nics.is_none() {
        let networks = tx.networks_held(from.nics.iter().filter_map(|n| n.spec.attach.network())).await?;
        if let Some(inner) = networks.values().find(|n| n.vapp.is_some()) {
            return Err(Error::NotNow(format!(
                "Not now: it is on {}, a network of its vApp. Plug its NICs into another network first.",
                inner.name()
            )));
        }
    }
    tx.vm_move(&from, &into, (&title, &text)).await?;
    if let Some(nics) = &how.nics {
        let networks = nic::hold_for(&mut tx, (into.org, into.vdc, into.id), Some(&from), nics).await?;
        tx.nics_set(id, nics, &networks).await?;
        tx.vm_nics_changed(id).await?;
    }
    tx.enqueue(Kind::Vapp, into.id, into.org, into.hub.as_ref().or(from.hub.as_ref())).await?;
    match how.power_on && from.power != Power::On {
        true => change_power(&mut tx, &from, Action::VmPowerOn).await?,
        false => tx.enqueue(Kind::Vm, id, from.org, from.hub.as_ref()).await?,
    }
    let record = Record::new(ACTION, from.org, id, &title).of(into.owner);
    let record = record.before(&At(&from.vapp_name, &from.name)).after(&At(&into.name, &title));
    tx.commit(record.with_open_task()).await
}

/// Into a vApp of another VDC: its disks are copied while it is stopped, and it goes when they are there.
async fn away(d: &Domain, actor: &Actor, id: VmId, into: VappId, how: Arrival) -> Result<(VmId, Option<TaskId>)> {
    let target = d.store.vapp(actor, Action::VappEdit, into).await?.vdc;
    let reached = network::in_reach(d, actor, target).await?.into_iter().filter(|n| !n.deleted).collect();
    let policies = copy::policies_of(d, target).await?;
    let mut tx = d.store.write(actor).await?;
    let (from, into) = held(&mut tx, id, into).await?;
    authorize(actor, Action::VmCopy, from.resource(actor))?;
    copy::copyable(&from)?;
    may(actor, &from, &how)?;
    let (title, text) = words(&from, &how);
    let reach = Reach { policies, networks: reached, anew: BTreeMap::new() };
    let mut spec = copy::twin(&from, &title, &reach);
    spec.description = text;
    if let Some(nics) = how.nics {
        spec.nics = without_macs(nics, &from)?;
    }
    let spec = copy::sized(&mut tx, into.vdc, &from, spec).await?.check()?;
    quota::reserve(&mut tx, into.vdc, into.owner, &spec.amount()).await?;
    let networks = nic::hold(&mut tx, (into.org, into.vdc, into.id), &spec.nics).await?;
    let new = VmId(Uuid::now_v7());
    let told = guest::for_copy(d, &mut tx, from.id, new).await?;
    insert_vm(&mut tx, new, into.id, (into.org, into.vdc), into.owner, &spec, told.as_deref()).await?;
    tx.vm_copied_from(new, from.id).await?;
    tx.vm_moved_from(new, &from, how.power_on).await?;
    tx.nics_set(new, &spec.nics, &networks).await?;
    tx.enqueue(Kind::Vapp, into.id, into.org, into.hub.as_ref()).await?;
    let record = Record::new(ACTION, into.org, new, &title).of(into.owner);
    let record = record.before(&At(&from.vapp_name, &from.name)).after(&At(&into.name, &title));
    let task = tx.commit(record.with_open_task()).await?;
    if let Some(task) = task {
        // disks take as long as they take
        d.store.task_may_last(task, d.now() + time::Duration::days(1)).await?;
    }
    Ok((new, task))
}

fn words(vm: &Vm, how: &Arrival) -> (String, String) {
    let title = how.name.clone().unwrap_or_else(|| vm.name.clone());
    (title, how.description.clone().unwrap_or_else(|| vm.description.clone()))
}

/// The old one has its MACs until it goes; then they are the new one's, card by card.
fn without_macs(nics: Vec<NicSpec>, from: &Vm) -> Result<Vec<NicSpec>> {
    let one = |n: NicSpec| {
        let has = from.nics.iter().find(|k| k.spec.index == n.index).map(|k| k.spec.mac.as_str());
        match has {
            Some(has) if !n.mac.is_empty() && !n.mac.eq_ignore_ascii_case(has) => Err(Error::field(
                "nics",
                format!("NIC {}: it keeps its MAC address {has} for life. Remove it and add another one.", n.index),
            )),
            Some(_) => Ok(NicSpec { mac: String::new(), ..n }),
            None => Ok(n),
        }
    };
    nics.into_iter().map(one).collect()
}

/// Where it is and under which name, for the audit.
struct At<'a>(&'a str, &'a str);

impl model::Fields for At<'_> {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![("vapp", self.0.to_owned()), ("name", self.1.to_owned())]
    }
}
