//! vApps and VMs copied, and vApps moved, within an organization. Disks of a copy are made by the hub from those of the original,
//! which stays stopped and as it is until they are there.
use crate::{
    Domain, guest, network, nic, quota, sizing,
    vapp::{Asked, insert_vm, owner_in, possible},
    vm::as_spec,
};
use hub::shape::names::disk_name;
use model::{
    Action, Actor, Error, Kind, NetworkId, Problems, Result, TaskId, VappId, VdcId, VmId, can,
    decide::authorize,
    name,
    network::Network,
    nic::{Attach, IpMode, Nic, NicSpec},
    quota::Amount,
    vapp::{Vapp, VappSpec},
    vdc::Vdc,
    vm::{Disk, Power, Vm, VmSpec},
};
use std::collections::BTreeMap;
use store::{NewVapp, Record, Write};
use uuid::Uuid;

/// A vApp again, under another name: in its own VDC, or in another one of its organization.
pub async fn vapp(d: &Domain, actor: &Actor, id: VappId, vdc: VdcId, title: &str) -> Result<Asked> {
    again(d, actor, Action::VappCopy, id, vdc, (title, None), false).await
}

/// The same with words of its own. `on`: its machines are to run when they are there.
pub async fn vapp_described(
    d: &Domain,
    actor: &Actor,
    id: VappId,
    vdc: VdcId,
    words: (&str, Option<&str>),
    on: bool,
) -> Result<Asked> {
    again(d, actor, Action::VappCopy, id, vdc, words, on).await
}

/// A vApp into another VDC of its organization: copied, and the old one is deleted when all of the new one is there.
pub async fn move_vapp(d: &Domain, actor: &Actor, id: VappId, vdc: VdcId) -> Result<Asked> {
    move_vapp_as(d, actor, id, vdc, (None, None), false).await
}

/// The same under another name, with other words. None: as it has them. `on`: its machines are to run when it has moved.
pub async fn move_vapp_as(
    d: &Domain,
    actor: &Actor,
    id: VappId,
    vdc: VdcId,
    (title, text): (Option<&str>, Option<&str>),
    on: bool,
) -> Result<Asked> {
    let name = d.store.vapp(actor, Action::VappView, id).await?.name.clone();
    again(d, actor, Action::VappMove, id, vdc, (title.unwrap_or(&name), text), on).await
}

/// `text`: its description; None: the original's.
async fn again(
    d: &Domain,
    actor: &Actor,
    action: Action,
    id: VappId,
    vdc: VdcId,
    (title, text): (&str, Option<&str>),
    on: bool,
) -> Result<Asked> {
    d.attempt(actor, action, async {
        let (title, text) = checked_words(title, text)?;
        let from = d.store.vapp(actor, action, id).await?;
        if on {
            authorize(actor, Action::VappPowerOn, from.resource(actor))?;
        }
        let into = d.store.vdc(actor, Action::VdcView, vdc).await?;
        fits(&from, &into, action)?;
        let networks = network::in_reach(d, actor, vdc).await?.into_iter().filter(|n| !n.deleted).collect();
        let policies = policies_of(d, vdc).await?;
        let mut tx = d.store.write(actor).await?;
        let from = tx.vapp(action, id).await?;
        can::or_not_now(can::vapp(&from, action))?;
        let vms: Vec<Vm> = tx.vms_of(&from).await?.into_iter().filter(|v| !v.deleted).collect();
        for vm in &vms {
            copyable(vm)?;
        }
        let into = tx.vdc(Action::VdcView, vdc).await?;
        fits(&from, &into, action)?;
        if !into.enabled {
            return Err(Error::field(
                "vdc",
                format!("The VDC {} is disabled. An administrator can enable it.", into.name),
            ));
        }
        // a move changes nothing about whose it is
        let owner = if action == Action::VappMove { from.owner } else { owner_in(actor, from.org) };
        // those inside of it are made once more
        let inside: Vec<Network> = tx.networks_inside(&from).await?.into_iter().filter(|n| !n.deleted).collect();
        let anew: BTreeMap<NetworkId, NetworkId> = inside.iter().map(|n| (n.id, NetworkId(Uuid::now_v7()))).collect();
        let reach = Reach { policies, networks, anew };
        let mut twins = Vec::new();
        for vm in &vms {
            let mut twin = sized(&mut tx, into.id, vm, twin(vm, &vm.name, &reach)).await?;
            if on && action == Action::VappCopy {
                twin.power = Power::On;
            }
            twins.push(twin);
        }
        let spec = VappSpec { name: title, description: text.unwrap_or_else(|| from.description.clone()), vms: twins };
        let new = VappId(Uuid::now_v7());
        let all = spec.vms.iter().fold(Amount::default(), |sum, vm| sum + vm.amount());
        quota::reserve(&mut tx, into.id, owner, &all).await?;
        tx.vapp_insert(&NewVapp {
            id: new,
            org: from.org,
            vdc: into.id,
            owner,
            template: from.template,
            name: &spec.name,
            description: &spec.description,
            instance_of: None,
            parameters: None,
            auto: from.auto && action == Action::VappMove,
        })
        .await?;
        for network in &inside {
            tx.network_insert(reach.anew[&network.id], (from.org, into.id, Some(new)), &network.spec).await?;
        }
        tx.vapp_bridge_as(new, &from, reach.networks.iter().map(|n| n.id)).await?;
        let networks = nic::hold(&mut tx, (from.org, into.id, new), spec.vms.iter().flat_map(|vm| &vm.nics)).await?;
        for (source, one) in vms.iter().zip(&spec.vms) {
            let twin = VmId(Uuid::now_v7());
            let told = guest::for_copy(d, &mut tx, source.id, twin).await?;
            insert_vm(&mut tx, twin, new, (from.org, into.id), owner, one, told.as_deref()).await?;
            tx.vm_copied_from(twin, source.id).await?;
            tx.nics_set(twin, &one.nics, &networks).await?;
        }
        if !spec.vms.is_empty() {
            possible(&mut tx, new, &into).await?;
        }
        if action == Action::VappMove {
            tx.vapp_moved_from(new, &from).await?;
            if on {
                // not before they have the MACs of the old ones
                tx.vms_start_moved(new).await?;
            }
        }
        let record = Record::new(action, from.org, new, &spec.name).of(owner).after(&spec);
        let record = match spec.vms.is_empty() && action == Action::VappCopy {
            true => record.with_task(),
            false => {
                tx.enqueue(Kind::Vapp, new, from.org, None).await?;
                record.with_open_task()
            }
        };
        let task = tx.commit(record).await?;
        if let Some(task) = task {
            // disks take as long as they take
            d.store.task_may_last(task, d.now() + time::Duration::days(1)).await?;
        }
        Ok(Asked { vapp: new, task })
    })
    .await
}

/// A VM again, in its own vApp or in another one.
pub async fn vm(d: &Domain, actor: &Actor, id: VmId, into: VappId, title: &str) -> Result<(VmId, Option<TaskId>)> {
    let action = Action::VmCopy;
    d.attempt(actor, action, async {
        let (title, _) = checked_words(title, None)?;
        let target = d.store.vapp(actor, Action::VappEdit, into).await?;
        let reached = network::in_reach(d, actor, target.vdc).await?;
        let policies = policies_of(d, target.vdc).await?;
        let mut networks: Vec<Network> = reached.into_iter().filter(|n| !n.deleted).collect();
        let mut tx = d.store.write(actor).await?;
        let into = tx.vapp(Action::VappEdit, into).await?;
        let from = tx.vm(action, id).await?;
        can::or_not_now(can::vm(&from, action))?;
        copyable(&from)?;
        can::or_not_now(can::vapp(&into, Action::VmCreate))?;
        together(&from, &into)?;
        if into.id == from.vapp {
            // its own vApp's networks are in reach too
            networks.extend(tx.networks_inside(&into).await?);
        }
        let reach = Reach { policies, networks, anew: BTreeMap::new() };
        let spec = sized(&mut tx, into.vdc, &from, twin(&from, &title, &reach)).await?.check()?;
        quota::reserve(&mut tx, into.vdc, into.owner, &spec.amount()).await?;
        let networks = nic::hold(&mut tx, (into.org, into.vdc, into.id), &spec.nics).await?;
        let new = VmId(Uuid::now_v7());
        let told = guest::for_copy(d, &mut tx, from.id, new).await?;
        insert_vm(&mut tx, new, into.id, (into.org, into.vdc), into.owner, &spec, told.as_deref()).await?;
        if into.empty_on {
            tx.vapp_empty_on(&into, false).await?;
        }
        tx.vm_copied_from(new, from.id).await?;
        tx.nics_set(new, &spec.nics, &networks).await?;
        tx.enqueue(Kind::Vapp, into.id, into.org, into.hub.as_ref()).await?;
        let record = Record::new(action, into.org, new, &spec.name).of(into.owner).after(&spec).with_open_task();
        let task = tx.commit(record).await?;
        if let Some(task) = task {
            d.store.task_may_last(task, d.now() + time::Duration::days(1)).await?;
        }
        Ok((new, task))
    })
    .await
}

fn checked_words(title: &str, text: Option<&str>) -> Result<(String, Option<String>)> {
    let mut problems = Problems::default();
    let title = problems.take("name", name::check_title(title));
    let text = text.map(|text| problems.take("description", name::check_text(text)));
    problems.done()?;
    Ok((title, text))
}

/// Copies and moves stay within one organization.
fn fits(from: &Vapp, into: &Vdc, action: Action) -> Result<()> {
    if from.org != into.org {
        return Err(Error::field("vdc", "Choose a VDC of the same organization."));
    }
    if action == Action::VappMove && from.vdc == into.id {
        return Err(Error::field("vdc", format!("It is in {} already.", into.name)));
    }
    Ok(())
}

/// Disks do not travel between hubs. Which hubs there are is not said.
pub(crate) fn together(from: &Vm, into: &Vapp) -> Result<()> {
    match (&from.hub, &into.hub) {
        (Some(here), Some(there)) if here != there => Err(Error::field(
            "vapp",
            format!("{} runs elsewhere than this VM, and disks can't travel yet. Choose another vApp.", into.name),
        )),
        _ => Ok(()),
    }
}

pub(crate) fn copyable(vm: &Vm) -> Result<()> {
    can::or_not_now(can::vm(vm, Action::VmCopy)).map_err(|e| match e {
        Error::NotNow(why) => Error::NotNow(format!("{}: {why}", vm.name)),
        e => e,
    })
}

/// Where a copy goes.
pub(crate) struct Reach {
    /// The storage policies that it may use there.
    pub policies: Vec<String>,
    /// What its NICs can be plugged into.
    pub networks: Vec<Network>,
    /// The networks that come along, and what they are there.
    pub anew: BTreeMap<NetworkId, NetworkId>,
}

/// The storage policies that a VDC may use, by name.
pub(crate) async fn policies_of(d: &Domain, vdc: VdcId) -> Result<Vec<String>> {
    Ok(d.store.vdc_policies(vdc).await?.into_iter().map(|p| p.name).collect())
}

/// With the original's sizing policy where the VDC may use it, else with its numbers.
pub(crate) async fn sized(tx: &mut Write<'_>, vdc: VdcId, vm: &Vm, mut twin: VmSpec) -> Result<VmSpec> {
    if let Some((policy, _)) = &vm.sizing {
        match tx.sizing_of_vdc(vdc, *policy).await? {
            Some(_) => twin.sizing = Some(*policy),
            // the instance type is the policy's
            None => twin.instance_type.clear(),
        }
        sizing::fill(tx, vdc, &mut twin).await?;
    }
    Ok(twin)
}

/// The same machine under another name, with disks made from its disks and without discs.
pub(crate) fn twin(vm: &Vm, name: &str, reach: &Reach) -> VmSpec {
    let disks = vm.disks.iter().filter(|d| d.own()).map(|d| {
        let volume = if d.volume.is_empty() { disk_name(&vm.hub_name, &d.name) } else { d.volume.clone() };
        Disk {
            name: d.name.clone(),
            size_mb: d.size_mb,
            bus: d.bus,
            image: format!("claim/{}/{volume}", vm.namespace),
            // another VDC may have others, and then its default counts
            policy: reach.policies.iter().find(|p| **p == d.policy).cloned().unwrap_or_default(),
            ..Disk::default()
        }
    });
    let nics = vm.nics.iter().map(|n| plugged(n, reach)).collect();
    VmSpec { name: name.to_owned(), disks: disks.collect(), nics, power: Power::Off, ..as_spec(vm) }
}

/// A NIC with a MAC and an address of its own, and on no network where it does not reach the original's.
fn plugged(nic: &Nic, reach: &Reach) -> NicSpec {
    let spec = NicSpec { mac: String::new(), ..nic.spec.clone() };
    let Attach::Network(id) = spec.attach else { return NicSpec { address: None, ..spec } };
    // in a network of its own nobody else has the address
    if let Some(anew) = reach.anew.get(&id) {
        return NicSpec { attach: Attach::Network(*anew), ..spec };
    }
    match reach.networks.iter().find(|n| n.id == id) {
        None => NicSpec { attach: Attach::Nothing, mode: IpMode::None, address: None, ..spec },
        Some(network) => {
            let mode = match spec.mode {
                IpMode::Manual if network.spec.dhcp => IpMode::Dhcp,
                IpMode::Manual if network.spec.ranges.is_empty() => IpMode::None,
                IpMode::Manual => IpMode::Pool,
                mode => mode,
            };
            NicSpec { mode, address: None, ..spec }
        }
    }
}
