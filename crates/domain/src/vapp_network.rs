//! Networks of a vApp: isolated ones inside it, and networks of its VDC that it is bridged to.
use crate::{Domain, nic};
use model::{
    Action, Actor, Error, Kind, NetworkId, OrgId, Result, TaskId, VappId, can,
    decide::{Resource, list_scope},
    network::{Network, NetworkForm, VappNetwork},
    query::{Found, Numbered},
};
use store::Record;
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

/// A new one that only its own machines are on.
pub async fn create(d: &Domain, actor: &Actor, vapp: VappId, form: NetworkForm) -> Result<NetworkId> {
    let action = Action::VappAddNetwork;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, vapp).await?;
        can::or_not_now(can::vapp(&vapp, action))?;
        let spec = form.check()?;
        if spec.shared {
            return Err(Error::field("shared", "A network inside a vApp can't be shared."));
        }
        let id = NetworkId(Uuid::now_v7());
        tx.network_insert(id, (vapp.org, vapp.vdc, Some(vapp.id)), &spec).await?;
        tx.commit(Record::new(action, vapp.org, vapp.id, &vapp.name).of(vapp.owner).after(&spec).with_task()).await?;
        Ok(id)
    })
    .await
}

/// Its machines may be on that network of the VDC, or on one that is shared in the organization.
pub async fn bridge(d: &Domain, actor: &Actor, vapp: VappId, network: NetworkId) -> Result<()> {
    let action = Action::VappAddNetwork;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, vapp).await?;
        can::or_not_now(can::vapp(&vapp, action))?;
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
        if !tx.vapp_bridge(&vapp, network.id).await? {
            return Err(Error::field("network", format!("It has the network {} already.", network.name())));
        }
        let record = Record::new(action, vapp.org, vapp.id, &vapp.name).of(vapp.owner).after(&network.spec);
        tx.commit(record.with_task()).await?;
        Ok(())
    })
    .await
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
