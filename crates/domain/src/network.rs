//! Networks of an organization's VDCs. A network is rows at first; hubs get it when the first machine needs it there.
use crate::Domain;
use model::{
    Action, Actor, Error, Kind, NetworkId, OrgId, Result, TaskId, VdcId, can, conflict,
    decide::{Resource, authorize, list_scope},
    list::{ListQuery, Page},
    network::{Network, NetworkForm, NetworkSpec, NetworkUse},
    query::{Found, Numbered},
};
use store::{Record, Write};
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &ListQuery) -> Result<Page<Network>> {
    d.store.networks(list_scope(actor, Action::NetworkList, org)?, q).await
}

/// As VCD's clients ask.
pub async fn query(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<Network>> {
    d.store.networks_query(list_scope(actor, Action::NetworkList, org)?, q).await
}

pub async fn get(d: &Domain, actor: &Actor, id: NetworkId) -> Result<Network> {
    Ok(d.store.network(actor, Action::NetworkView, id).await?.into_inner())
}

/// A network with the NICs on it, as far as the machines are the asker's to see.
pub async fn with_uses(d: &Domain, actor: &Actor, id: NetworkId) -> Result<(Network, Vec<NetworkUse>)> {
    let network = d.store.network(actor, Action::NetworkView, id).await?;
    let uses = match list_scope(actor, Action::VappList, Some(network.org)) {
        Ok(scope) => d.store.network_uses(&network, scope).await?,
        Err(_) => Vec::new(),
    };
    Ok((network.into_inner(), uses))
}

/// What NICs in a VDC can be plugged into. Without the right to see networks: nothing.
pub async fn in_reach(d: &Domain, actor: &Actor, vdc: VdcId) -> Result<Vec<Network>> {
    let vdc = d.store.vdc(actor, Action::VdcView, vdc).await?;
    if authorize(actor, Action::NetworkList, Resource::Of(vdc.org)).is_err() {
        return Ok(Vec::new());
    }
    d.store.networks_in_reach(&vdc).await
}

pub async fn create(d: &Domain, actor: &Actor, vdc: VdcId, form: NetworkForm) -> Result<Network> {
    let action = Action::NetworkCreate;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Of(actor.org))?;
        let spec = form.check()?;
        let id = NetworkId(Uuid::now_v7());
        let mut tx = d.store.write(actor).await?;
        // held, so that it is not deleted meanwhile
        let vdc = tx.vdc(Action::VdcView, vdc).await?;
        authorize(actor, action, Resource::Of(vdc.org))?;
        tx.network_insert(id, (vdc.org, vdc.id, None), &spec).await?;
        tx.commit(Record::new(action, vdc.org, id, &spec.name).after(&spec).with_task()).await?;
        get(d, actor, id).await
    })
    .await
}

/// What hubs made of it can't be changed there, so address, DHCP and reach stay while it is in use.
pub async fn edit(d: &Domain, actor: &Actor, id: NetworkId, version: i64, form: NetworkForm) -> Result<Network> {
    let action = Action::NetworkEdit;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let network = tx.network(action, id).await?;
        can::or_not_now(can::network(&network, action))?;
        let spec = form.check()?;
        if version != network.version {
            let changed = (network.updated_by.as_str(), network.updated_at, network.version);
            let both = conflict(Kind::Network, network.name(), changed, &network.spec, &spec);
            return Err(Error::Conflict(Box::new(both)));
        }
        let reshaped = network.spec.fixed(&spec);
        refuse_in_use(&network, &spec, reshaped)?;
        refuse_lost_addresses(&mut tx, &network, &spec).await?;
        tx.network_update(&network, &spec, reshaped.is_some()).await?;
        tx.enqueue(Kind::Network, id, network.org, None).await?;
        let record = Record::new(action, network.org, id, &spec.name).before(&network.spec).after(&spec);
        tx.commit(record.with_task()).await?;
        get(d, actor, id).await
    })
    .await
}

fn refuse_in_use(network: &Network, spec: &NetworkSpec, reshaped: Option<&'static str>) -> Result<()> {
    if spec.shared && network.vapp.is_some() {
        return Err(Error::field("shared", "It is inside a vApp, and can't be shared."));
    }
    match reshaped {
        Some(field) if !network.used_by.is_empty() => Err(Error::field(
            field,
            format!("This can't change while the network is in use: it is used by {}.", can::users(network)),
        )),
        _ => Ok(()),
    }
}

/// Addresses that came from the ranges stay in one.
async fn refuse_lost_addresses(tx: &mut Write<'_>, network: &Network, spec: &NetworkSpec) -> Result<()> {
    let taken = tx.pooled_addresses(network.id).await?;
    match taken.iter().find(|(address, _)| !spec.pooled(*address)) {
        Some((address, vm)) => {
            Err(Error::field("ranges", format!("{vm} has {address}, which would be in no range. Keep it in one.")))
        }
        None => Ok(()),
    }
}

pub async fn delete(d: &Domain, actor: &Actor, id: NetworkId) -> Result<Option<TaskId>> {
    let action = Action::NetworkDelete;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let network = tx.network(action, id).await?;
        can::or_not_now(can::network(&network, action))?;
        tx.network_delete(id).await?;
        tx.enqueue(Kind::Network, id, network.org, None).await?;
        let record = Record::new(action, network.org, id, network.name()).before(&network.spec);
        tx.commit(record.with_open_task()).await
    })
    .await
}
