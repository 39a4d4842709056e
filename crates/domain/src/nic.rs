//! NICs of a VM: all of them are set at once, as VCD's clients do it.
use crate::Domain;
use model::{
    Action, Actor, Error, Kind, NetworkId, OrgId, Problems, Result, TaskId, VappId, VdcId, VmId, can, conflict,
    network::Network,
    nic::{self, NicSpec},
};
use std::collections::BTreeMap;
use store::{Macs, Record, Write};

/// Holds the networks that NICs are to be on, and makes sure that the vApp's machines may be on them.
pub(crate) async fn hold<'a>(
    tx: &mut Write<'_>,
    (org, vdc, vapp): (OrgId, VdcId, VappId),
    nics: impl IntoIterator<Item = &'a NicSpec>,
) -> Result<BTreeMap<NetworkId, Network>> {
    let wanted: Vec<(i16, NetworkId)> = nics.into_iter().filter_map(|n| Some((n.index, n.attach.network()?))).collect();
    let held = tx.networks_held(wanted.iter().map(|(_, id)| *id)).await?;
    for (index, id) in wanted {
        // a network of somebody else is answered like a missing one
        match held.get(&id).filter(|n| n.reaches(org, vdc, vapp)) {
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
    Ok(held)
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
        let networks = hold(&mut tx, (vm.org, vm.vdc, vm.vapp), &nics).await?;
        tx.nics_set(id, &nics, &networks, Macs::Ours).await?;
        tx.vm_nics_changed(id).await?;
        tx.enqueue(Kind::Vm, id, vm.org, vm.hub.as_ref()).await?;
        let record = Record::new(action, vm.org, id, &vm.name).of(vm.owner);
        tx.commit(record.before(&before.as_slice()).after(&nics.as_slice()).with_open_task()).await
    })
    .await
}
