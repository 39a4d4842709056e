//! NICs of a VM: all of them are set at once, as VCD's clients do it.
use crate::Domain;
use model::{
    Action, Actor, Error, Kind, NetworkId, OrgId, Problems, Result, TaskId, VappId, VdcId, VmId, can, conflict,
    network::Network,
    nic::{self, NicSpec},
    vm::Vm,
};
use std::collections::BTreeMap;
use store::{Record, Write};

/// Holds the networks that NICs are to be on, and makes sure that the vApp's machines may be on them.
pub(crate) async fn hold<'a>(
    tx: &mut Write<'_>,
    into: (OrgId, VdcId, VappId),
    nics: impl IntoIterator<Item = &'a NicSpec>,
) -> Result<BTreeMap<NetworkId, Network>> {
    hold_for(tx, into, None, nics).await
}

/// `vm`: the machine that has them already, if it is one.
pub(crate) async fn hold_for<'a>(
    tx: &mut Write<'_>,
    (org, vdc, vapp): (OrgId, VdcId, VappId),
    vm: Option<&Vm>,
    nics: impl IntoIterator<Item = &'a NicSpec>,
) -> Result<BTreeMap<NetworkId, Network>> {
    let wanted: Vec<(i16, NetworkId)> = nics.into_iter().filter_map(|n| Some((n.index, n.attach.network()?))).collect();
    let held = tx.networks_held(wanted.iter().map(|(_, id)| *id)).await?;
    for (index, id) in &wanted {
        // a network of somebody else is answered like a missing one
        match held.get(id).filter(|n| n.reaches(org, vdc, vapp)) {
            None => {
                return Err(Error::field(
                    "nics",
                    format!(
                        "NIC {index}: its network is not one of this VDC. Choose another network for it, or another VDC."
                    ),
                ));
            }
            Some(n) if n.deleted => {
                return Err(Error::field("nics", format!("NIC {index}: the network {} is being deleted.", n.name())));
            }
            Some(_) => {}
        }
    }
    beside(tx, vapp, vm, &wanted, &held).await?;
    Ok(held)
}

/// An isolated network lives on one hub, with all that is on it: a vApp is where its networks are. Which hub that is, is not said.
async fn beside(
    tx: &mut Write<'_>,
    vapp: VappId,
    vm: Option<&Vm>,
    wanted: &[(i16, NetworkId)],
    held: &BTreeMap<NetworkId, Network>,
) -> Result<()> {
    let settled = wanted.iter().filter_map(|(index, id)| Some((*index, held.get(id).filter(|n| n.vapp.is_none())?)));
    let settled: Vec<(i16, &Network)> = settled.filter(|(_, n)| n.hub.is_some()).collect();
    if settled.is_empty() {
        return Ok(());
    }
    let mut home = tx.vapp_home(vapp, vm.map(|vm| vm.id.0)).await?;
    // what it is on already it may stay on
    let on = |n: &Network| vm.is_some_and(|vm| vm.nics.iter().any(|has| has.spec.attach.network() == Some(n.id)));
    let (kept, new): (Vec<_>, Vec<_>) = settled.into_iter().partition(|(_, n)| on(n));
    if let (None, Some((_, n))) = (&home, kept.first()) {
        home = n.hub.clone().map(|hub| (hub, n.name().to_owned()));
    }
    for (index, n) in new {
        match (&home, &n.hub) {
            (Some((there, beside)), Some(hub)) if there != hub => {
                return Err(Error::field("nics", format!("NIC {index}: {}", apart(n.name(), beside))));
            }
            (None, Some(hub)) => home = Some((hub.clone(), n.name().to_owned())),
            _ => {}
        }
    }
    Ok(())
}

/// Why a vApp can't be on a network, and what to do. `beside`: another network that it is on; empty: it is somewhere already.
pub(crate) fn apart(network: &str, beside: &str) -> String {
    match beside {
        "" => format!(
            "the network {network} is elsewhere than this vApp, and reaches only what is beside it. Choose another network, or make the VM in a new vApp."
        ),
        other => format!(
            "the networks {other} and {network} are in different places, and a vApp can't be on both. Choose one of them."
        ),
    }
}

/// Sets all NICs of a machine to this list. What its hub can't do while it runs comes at its next start.
pub async fn set(d: &Domain, actor: &Actor, id: VmId, version: i64, nics: Vec<NicSpec>) -> Result<Option<TaskId>> {
    let action = Action::VmNics;
    d.attempt(actor, action, async {
        let mut problems = Problems::default();
        let nics = nic::check(nics, &mut problems);
        problems.done()?;
        let mut tx = d.store.write(actor).await?;
        let vm = tx.vm(action, id).await?;
        can::or_not_now(can::vm(&vm, action))?;
        let before: Vec<NicSpec> = vm.nics.iter().map(|n| n.spec.clone()).collect();
        if version != vm.version {
            let changed = (vm.updated_by.as_str(), vm.updated_at, vm.version);
            let both = conflict(Kind::Vm, &vm.name, changed, &before.as_slice(), &nics.as_slice());
            return Err(Error::Conflict(Box::new(both)));
        }
        let networks = hold_for(&mut tx, (vm.org, vm.vdc, vm.vapp), Some(&vm), &nics).await?;
        tx.nics_set(id, &nics, &networks).await?;
        tx.vm_nics_changed(id).await?;
        tx.enqueue(Kind::Vm, id, vm.org, vm.hub.as_ref()).await?;
        let record = Record::new(action, vm.org, id, &vm.name).of(vm.owner);
        tx.commit(record.before(&before.as_slice()).after(&nics.as_slice()).with_open_task()).await
    })
    .await
}
