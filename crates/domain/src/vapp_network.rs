//! Networks of a vApp: isolated ones inside it, and networks of its VDC that it is bridged to.
use crate::{Domain, nic};
use model::{
    Action, Actor, Error, Kind, NetworkId, OrgId, Result, TaskId, VappId, can,
    decide::{Resource, authorize, list_scope},
    network::{Network, NetworkForm, VappNetwork},
    query::{Found, Numbered},
    vapp::Vapp,
};
use store::{Authorized, Record, Write};
use uuid::Uuid;

/// Inside it, bridged to, and those that its machines are on.
pub async fn list(d: &Domain, actor: &Actor, vapp: VappId) -> Result<Vec<Network>> {
    let vapp = d.store.vapp(actor, Action::VappView, vapp).await?;
    d.store.networks_of(&vapp).await
}

/// As VCD's clients ask: those of all vApps that somebody sees.
pub async fn query(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<VappNetwork>> {
    d.store.vapp_networks_query(list_scope(actor, Action::VappList, org)?, q).await
}

/// Networks that come into a vApp with what else is done to it: all of it or nothing.
#[derive(Clone, Debug, Default)]
pub struct Networks {
    /// Of its VDC, or shared in the organization.
    pub bridges: Vec<NetworkId>,
    /// Inside it, with the ids that they will have, so that NICs can be on them.
    pub inside: Vec<(NetworkId, NetworkForm)>,
}

impl Networks {
    pub fn is_empty(&self) -> bool {
        self.bridges.is_empty() && self.inside.is_empty()
    }
}

pub(crate) async fn add(tx: &mut Write<'_>, actor: &Actor, vapp: &Authorized<Vapp>, all: &Networks) -> Result<()> {
    let action = Action::VappAddNetwork;
    if all.is_empty() {
        return Ok(());
    }
    authorize(actor, action, vapp.resource(actor))?;
    can::or_not_now(can::vapp(vapp, action))?;
    for network in &all.bridges {
        let record = bridge_in(tx, actor, vapp, *network).await?;
        tx.record(record).await?;
    }
    for (id, form) in &all.inside {
        let record = create_in(tx, vapp, *id, form.clone()).await?;
        tx.record(record).await?;
    }
    Ok(())
}

/// A new one that only its own machines are on.
pub async fn create(d: &Domain, actor: &Actor, vapp: VappId, form: NetworkForm) -> Result<NetworkId> {
    let action = Action::VappAddNetwork;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, vapp).await?;
        can::or_not_now(can::vapp(&vapp, action))?;
        let id = NetworkId(Uuid::now_v7());
        let record = create_in(&mut tx, &vapp, id, form).await?;
        tx.commit(record).await?;
        Ok(id)
    })
    .await
}

async fn create_in(tx: &mut Write<'_>, vapp: &Authorized<Vapp>, id: NetworkId, form: NetworkForm) -> Result<Record> {
    let spec = form.check()?;
    if spec.shared {
        return Err(Error::field("shared", "A network inside a vApp can't be shared."));
    }
    tx.network_insert(id, (vapp.org, vapp.vdc, Some(vapp.id)), &spec).await?;
    let record = Record::new(Action::VappAddNetwork, vapp.org, vapp.id, &vapp.name);
    Ok(record.of(vapp.owner).after(&spec).with_task())
}

/// Its machines may be on that network of the VDC, or on one that is shared in the organization.
pub async fn bridge(d: &Domain, actor: &Actor, vapp: VappId, network: NetworkId) -> Result<()> {
    let action = Action::VappAddNetwork;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, vapp).await?;
        can::or_not_now(can::vapp(&vapp, action))?;
        let record = bridge_in(&mut tx, actor, &vapp, network).await?;
        tx.commit(record).await?;
        Ok(())
    })
    .await
}

async fn bridge_in(tx: &mut Write<'_>, actor: &Actor, vapp: &Authorized<Vapp>, network: NetworkId) -> Result<Record> {
    let network = tx.networks_held([network]).await?.remove(&network);
    let seen = network.filter(|n| {
        n.reaches(vapp.org, vapp.vdc, vapp.id) && !n.deleted && actor.may(Action::NetworkView, Resource::Of(n.org))
    });
    let Some(network) = seen.filter(|n| n.vapp.is_none()) else {
        return Err(Error::field("network", "Choose a network of this VDC."));
    };
    if let (Some((there, beside)), Some(hub)) = (tx.vapp_home(vapp.id, None).await?, &network.hub)
        && there != *hub
    {
        return Err(Error::field("network", sentence(&nic::apart(network.name(), &beside))));
    }
    if !tx.vapp_bridge(vapp, network.id).await? {
        return Err(Error::field("network", format!("It has the network {} already.", network.name())));
    }
    let record = Record::new(Action::VappAddNetwork, vapp.org, vapp.id, &vapp.name);
    Ok(record.of(vapp.owner).after(&network.spec).with_task())
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// One inside it goes for good; one that it is bridged to stays where it is.
pub async fn remove(d: &Domain, actor: &Actor, vapp: VappId, network: NetworkId) -> Result<Option<TaskId>> {
    let action = Action::VappRemoveNetwork;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, vapp).await?;
        can::or_not_now(can::vapp(&vapp, action))?;
        let held = tx.networks_held([network]).await?.remove(&network);
        let Some(network) = held.filter(|n| n.reaches(vapp.org, vapp.vdc, vapp.id)) else {
            return Err(Error::NotFound(Kind::Network));
        };
        let on = tx.vms_on(&vapp, network.id).await?;
        if !on.is_empty() {
            let (name, vms) = (network.name(), on.join(", "));
            return Err(Error::NotNow(format!("Not now: {vms} is on the network {name}. Take its NIC off first.")));
        }
        if network.vapp.is_some() {
            tx.network_delete(network.id).await?;
            tx.enqueue(Kind::Network, network.id, vapp.org, None).await?;
        } else if !tx.vapp_unbridge(&vapp, network.id).await? {
            return Err(Error::NotFound(Kind::Network));
        }
        let record = Record::new(action, vapp.org, vapp.id, &vapp.name).of(vapp.owner).before(&network.spec);
        tx.commit(record.with_task()).await
    })
    .await
}
