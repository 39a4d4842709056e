//! A network on its hubs: made where a machine needs it, before the machine, and removed with proof.
use super::{place, told};
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
    settle,
};
use hub::{
    Client, Key,
    apply::{Deleted, Home, Owner, Propagation},
    resource::NETWORK_ATTACHMENTS,
    shape::{
        names::NETWORK_ID,
        network::{self as shape, Form},
    },
};
use model::{HubId, Kind, NetworkId, OrgId, Result, VdcId};
use serde_json::Value;
use std::time::Duration;
use store::{Claim, NetworkPlace, NetworkWork};

const SOON: Duration = Duration::from_secs(1);

pub(super) async fn reconcile(shared: &Shared, claim: &Claim) -> Result<Outcome> {
    let Some(network) = shared.store.network_work(claim.id).await? else { return Ok(Outcome::Done) };
    let outcome = match (network.gone, network.deleted) {
        (true, _) => Outcome::Done,
        (false, true) => remove(shared, claim, &network).await?,
        (false, false) => keep(shared, claim, &network).await?,
    };
    settle::network(shared, network.id, &outcome).await?;
    Ok(outcome)
}

/// Asks for a network in a VDC's namespace on a hub, for a machine that needs it.
pub(super) async fn want(shared: &Shared, id: NetworkId, vdc: VdcId, org: OrgId, hub: &HubId) -> Result<()> {
    at(Step::NetworkWant, shared.store.network_want(id, vdc, hub)).await?;
    shared.store.enqueue(Kind::Network, id, org, "").await
}

async fn keep(shared: &Shared, claim: &Claim, network: &NetworkWork) -> Result<Outcome> {
    let mut worst = Outcome::Done;
    for there in network.places.iter().filter(|p| !p.ready || p.stale) {
        let done = match there.stale {
            true => remove_at(shared, claim, network, there).await?,
            false => make(shared, claim, network, there).await?,
        };
        match done {
            Outcome::Done => shared.store.wake_waiting(&there.hub.0).await?,
            other => worst = other,
        }
    }
    Ok(worst)
}

/// What it becomes there, or why it can't be.
fn form(network: &NetworkWork, offers: &[String]) -> std::result::Result<Form, String> {
    let has = |what: &str| offers.iter().any(|o| o == what);
    let name = &network.name;
    match () {
        () if has("networks") && network.shared => Ok(Form::Shared),
        () if has("networks") => Ok(Form::UserDefined),
        () if network.dhcp => Err(format!(
            "The network {name} has DHCP, and the hub that the VM is on hands out no addresses. Choose one without DHCP."
        )),
        // in every VDC where it is used, each with the same bridge: its name follows from the network alone
        () if has("attachments") => Ok(Form::Bridge),
        () => Err(format!(
            "The network {name} can't be made on the hub that the VM is on: networks are not offered there."
        )),
    }
}

async fn make(shared: &Shared, claim: &Claim, network: &NetworkWork, there: &NetworkPlace) -> Result<Outcome> {
    let Some(namespace_uid) = &there.namespace_uid else {
        return Ok(Outcome::Wait(Duration::from_secs(5), "The VDC's namespace is being made.".into()));
    };
    let made_as = Form::parse(&there.form).filter(|_| there.uid.is_some());
    let form = match made_as.map_or_else(|| None, |f| Some(Ok(f))) {
        Some(known) => known,
        None => form(network, &shared.store.hub_offers(&there.hub).await?),
    };
    let form = match form {
        Ok(form) => form,
        Err(why) => return Ok(Outcome::Failed(why.into())),
    };
    let client = shared.hubs.client(&there.hub).await?;
    let manifest = shape::manifest(&shaped(network, there), form);
    let home = Home { namespace: there.namespace.clone(), uid: namespace_uid.clone(), vdc: there.vdc.0 };
    let owner = Owner::new(NETWORK_ID, network.id);
    let home = form.resource().namespaced.then_some(&home);
    let made = told!(at(Step::NetworkMake, client.create_or_adopt(form.resource(), &manifest, &owner, home)).await);
    if !at(Step::NetworkMade, shared.store.network_made(claim, there, form.key(), &made.uid)).await? {
        // what was just made may come after the network's end: it is looked at again
        shared.store.network_again(network.id, there).await?;
        return Ok(Outcome::Retry(None, "another worker took it over".into()));
    }
    if let Some(wait) = told!(at(Step::NetworkLook, not_ready(&client, network, there, form)).await) {
        return Ok(Outcome::Wait(SOON, wait.into()));
    }
    at(Step::NetworkUsable, shared.store.network_usable(claim, there)).await?;
    Ok(Outcome::Done)
}

fn shaped(network: &NetworkWork, there: &NetworkPlace) -> shape::Network {
    shape::Network {
        place: place(network.org, &network.org_name, there.vdc, &there.vdc_name, &there.namespace),
        id: network.id.0,
        name: network.name.clone(),
        object: network.hub_name.clone(),
        dhcp_from: network.dhcp.then(|| network.subnet.cidr()),
    }
}

/// Why machines can't be put on it yet.
async fn not_ready(
    client: &Client,
    network: &NetworkWork,
    there: &NetworkPlace,
    form: Form,
) -> hub::Result<Option<String>> {
    let waits = format!("The hub is making the network {}.", network.name);
    let attachment = Key::new(&there.namespace, &network.hub_name);
    let created = match form {
        Form::Bridge => return Ok(None),
        // a namespace that came later gets its part of it a moment after
        Form::Shared => Key::global(&network.hub_name),
        Form::UserDefined => attachment.clone(),
    };
    let object = client.get(form.resource(), &created).await?;
    match shape::waits(&object) {
        None => {}
        Some("") => return Ok(Some(waits)),
        Some(why) => return Ok(Some(format!("{waits} It says: {why}"))),
    }
    match client.get(&NETWORK_ATTACHMENTS, &attachment).await {
        Ok(_) => Ok(None),
        Err(hub::Error::NotFound(_)) => Ok(Some(waits)),
        Err(e) => Err(e),
    }
}

async fn remove(shared: &Shared, claim: &Claim, network: &NetworkWork) -> Result<Outcome> {
    if network.users > 0 {
        return Ok(Outcome::Wait(Duration::from_secs(5), "The VMs on it are being deleted.".into()));
    }
    let mut worst = Outcome::Done;
    for there in &network.places {
        match remove_at(shared, claim, network, there).await? {
            Outcome::Done => {}
            other => worst = other,
        }
    }
    if worst == Outcome::Done && !at(Step::NetworkGone, shared.store.network_gone(claim)).await? {
        return Ok(Outcome::Retry(None, "something of it came meanwhile".into()));
    }
    Ok(worst)
}

/// One place is forgotten only when nothing of it is proven to be there.
async fn remove_at(shared: &Shared, claim: &Claim, network: &NetworkWork, there: &NetworkPlace) -> Result<Outcome> {
    let client = shared.hubs.client(&there.hub).await?;
    // an answer may have been lost: then any form may be there
    let forms = match Form::parse(&there.form) {
        Some(form) => vec![form],
        None => Form::ALL.to_vec(),
    };
    for form in forms {
        let key = match form.resource().namespaced {
            true => Key::new(&there.namespace, &network.hub_name),
            false => Key::global(&network.hub_name),
        };
        let Some(uid) = told!(at(Step::NetworkFind, ours(&client, form, &key, network.id)).await) else { continue };
        let delete = client.delete_fenced(form.resource(), &key, &uid, Propagation::Background);
        let deleted = match at(Step::NetworkDelete, delete).await {
            // another has the name now: ours is gone
            Err(hub::Error::NotOurs(_)) => Deleted::Gone,
            other => told!(other),
        };
        let gone = client.is_gone(form.resource(), &key, &uid);
        if deleted != Deleted::Gone && !told!(at(Step::NetworkGoneThere, gone).await) {
            return Ok(Outcome::Wait(SOON, "The hub is deleting it.".into()));
        }
    }
    at(Step::NetworkLeft, shared.store.network_left(claim, there)).await?;
    Ok(Outcome::Done)
}

/// What stands there under its name, if it carries our label.
async fn ours(client: &Client, form: Form, key: &Key, id: NetworkId) -> hub::Result<Option<String>> {
    match client.get(form.resource(), key).await {
        Ok(found) if found["metadata"]["labels"][NETWORK_ID] == id.to_string().as_str() => {
            Ok(found["metadata"]["uid"].as_str().map(str::to_owned))
        }
        Ok(Value::Null) | Ok(_) => Ok(None),
        Err(hub::Error::NotFound(_) | hub::Error::NotServed(_)) => Ok(None),
        Err(e) => Err(e),
    }
}
