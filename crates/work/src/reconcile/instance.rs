//! The TemplateInstance of a vApp: OpenShift makes the machines from a copy of the template in which they are halted and
//! carry our names and labels. Here it is asked for, followed to its end, and removed.
use super::{place, secret, told, vdc};
use crate::{
    Shared,
    drill::{Step, at},
    queue::Outcome,
};
use hub::{
    Client, Key,
    apply::{Deleted, Home, Owner, Propagation},
    read,
    resource::{DATA_VOLUMES, Resource, SECRETS, SERVICES, TEMPLATE_INSTANCES, TEMPLATES},
    shape::{
        names::{VAPP_ID, vapp_name},
        template as shape,
        vm::{Attachment, Identity, Nic},
    },
};
use model::{HubId, Result, VappId};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};
use store::{Claim, Place, VappWork};

/// How far an instance is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stand {
    NotThere,
    Pending,
    Ready,
    Failed(String),
}

pub(super) const MADE: &str = "The template's objects are being made.";
pub(super) const GONE: &str =
    "What made it from its template was deleted on the hub by hand. Delete it and deploy it again.";

pub(super) const DELETED: &str =
    "It was deleted on the hub by hand as soon as it was made from its template. Delete it here, and deploy it again.";

pub(super) fn failed(why: &str) -> String {
    let why = why.trim();
    let end = if why.ends_with('.') { "" } else { "." };
    format!("The template could not be made: {why}{end} Delete the vApp, and deploy it again when that is put right.")
}

/// The instance and its Secret have the same name.
fn key(namespace: &str, vapp: VappId) -> Key {
    Key::new(namespace, vapp_name(vapp.0))
}

pub(super) async fn stand(client: &Client, namespace: &str, vapp: VappId) -> hub::Result<Stand> {
    let found = match client.get(&TEMPLATE_INSTANCES, &key(namespace, vapp)).await {
        Err(hub::Error::NotFound(_)) => return Ok(Stand::NotThere),
        other => other?,
    };
    let seen = read::template_instance(&found).unwrap_or_default();
    Ok(match seen.failed {
        _ if !is_of(&found, vapp) => Stand::NotThere,
        Some(why) => Stand::Failed(why),
        None if seen.ready => Stand::Ready,
        None => Stand::Pending,
    })
}

fn is_of(object: &Value, vapp: VappId) -> bool {
    object["metadata"]["labels"][VAPP_ID] == vapp.to_string().as_str()
}

/// Makes it where it is not made yet, and says how far it is while machines of it are missing.
pub(super) async fn keep(
    shared: &Shared,
    claim: &Claim,
    vapp: &VappWork,
    hub: &HubId,
    source: &str,
) -> Result<Outcome> {
    if vapp.instance_uid.is_some() && vapp.vms_unmade == 0 {
        return Ok(Outcome::Done);
    }
    let Some(there) = shared.store.place(vapp.vdc, hub).await?.filter(|p| p.ready) else {
        vdc::want(shared, vapp.vdc, vapp.org, hub).await?;
        return Ok(Outcome::Wait(Duration::from_secs(5), "The VDC's namespace is being made.".into()));
    };
    let client = shared.hubs.client(hub).await?;
    if vapp.instance_uid.is_none() {
        let Some((namespace, name)) = source.strip_prefix("template/").and_then(|s| s.split_once('/')) else {
            return Ok(Outcome::Failed(format!("{source} is no template of OpenShift").into()));
        };
        let template = match at(Step::TemplateGet, client.get(&TEMPLATES, &Key::new(namespace, name))).await {
            Err(hub::Error::NotFound(_)) => {
                let why = format!("The template {name} is not on the hub any more. Choose another one.");
                return Ok(Outcome::Failed(why.into()));
            }
            other => told!(other),
        };
        let instance = planned(shared, vapp, &there, source).await?;
        if instance.vms.iter().all(Option::is_none) {
            return Ok(Outcome::Done);
        }
        let manifest = match shape::template_instance(&instance, &template) {
            Ok(manifest) => manifest,
            Err(e) => return Ok(Outcome::Failed(e.to_string().into())),
        };
        let owner = Owner::new(VAPP_ID, vapp.id);
        let uid = there.namespace_uid.clone().unwrap_or_default();
        let home = Home { namespace: there.namespace.clone(), uid, vdc: vapp.vdc.0 };
        // from here on something of it may be on that hub
        if !at(Step::VappAttempted, shared.store.vapp_attempted(claim)).await? {
            return Ok(Outcome::Retry(None, "another worker took it over".into()));
        }
        let parameters = shape::parameter_secret(&instance);
        let kept = client.create_or_adopt(&SECRETS, &parameters, &owner, Some(&home));
        let kept = match at(Step::ParametersMake, kept).await {
            Err(hub::Error::NotFound(_)) => return vdc::anew(shared, &client, vapp.vdc, vapp.org, &there).await,
            other => told!(other),
        };
        let made = client.create_or_adopt(&TEMPLATE_INSTANCES, &manifest, &owner, Some(&home));
        let made = told!(at(Step::InstanceMake, made).await);
        let key = key(&there.namespace, vapp.id);
        let object = instance.object();
        let tie = secret::tie(&client, &key, &kept, &TEMPLATE_INSTANCES, &object, &made.uid);
        told!(at(Step::ParametersTie, tie).await);
        if !at(Step::InstanceMade, shared.store.vapp_instance_made(claim, Some(&made.uid))).await? {
            // it may have been deleted meanwhile, and then nobody else looks for what was just made
            shared.store.vapp_again(vapp.id).await?;
            return Ok(Outcome::Retry(None, "another worker took it over".into()));
        }
    }
    Ok(match told!(at(Step::InstanceStand, stand(&client, &there.namespace, vapp.id)).await) {
        Stand::Ready => {
            shared.store.wake_instance(vapp.id).await?;
            Outcome::Done
        }
        // the watcher wakes it; this is for the case that the hub's word was missed
        Stand::Pending => Outcome::Wait(Duration::from_secs(15), MADE.into()),
        Stand::Failed(why) => {
            shared.store.wake_instance(vapp.id).await?;
            Outcome::Failed(failed(&why).into())
        }
        Stand::NotThere => Outcome::Failed(GONE.into()),
    })
}

async fn planned(shared: &Shared, vapp: &VappWork, there: &Place, source: &str) -> Result<shape::Instance> {
    let labels = place(vapp.org, &vapp.org_name, vapp.vdc, &vapp.vdc_name, &there.namespace);
    let identity = |vm: model::vm::Vm| Identity {
        place: labels.clone(),
        vapp: vapp.id.0,
        vapp_name: vapp.name.clone(),
        vm: vm.id.0,
        vm_name: vm.name,
        object: vm.hub_name,
        description: vm.description,
        owner: vm.owner_name,
        created_from: Some(source.to_owned()),
    };
    // as the template has them: their ids were made in its order; what was deleted meanwhile is not made
    let vms = shared.store.vms_ever_of(vapp.id).await?;
    let card = |n: &model::nic::Nic| Nic {
        name: n.spec.name.clone(),
        network: if there.own_network { Attachment::Primary } else { Attachment::Pod },
        mac: Some(n.spec.mac.clone()).filter(|m| !m.is_empty()),
        model: None,
        connected: true,
    };
    let nics = vms.iter().map(|vm| (vm.id.0, vm.nics.iter().map(card).collect())).collect();
    let vms = vms.into_iter().map(|vm| (!vm.deleted).then(|| identity(vm))).collect();
    let parameters: BTreeMap<String, String> = match &vapp.parameters {
        Some(sealed) => {
            let plain = shared.vault.open(&format!("vapp/{}", vapp.id), sealed).await?;
            serde_json::from_slice(&plain).unwrap_or_default()
        }
        None => BTreeMap::new(),
    };
    Ok(shape::Instance { place: labels, vapp: vapp.id.0, vapp_name: vapp.name.clone(), vms, nics, parameters })
}

/// Done when nothing of it is left. What is there under its name and label is its, also if no answer ever told us so.
pub(super) async fn remove(shared: &Shared, vapp: &VappWork) -> Result<Outcome> {
    let Some(hub) = &vapp.hub else { return Ok(Outcome::Done) };
    let Some(there) = shared.store.place(vapp.vdc, hub).await? else { return Ok(Outcome::Done) };
    let client = shared.hubs.client(hub).await?;
    let key = key(&there.namespace, vapp.id);
    match at(Step::InstanceFind, client.get(&TEMPLATE_INSTANCES, &key)).await {
        Ok(found) if is_of(&found, vapp.id) => {
            let seen = read::template_instance(&found).unwrap_or_default();
            // OpenShift removes what it wrote down, and after a failure it wrote down nothing
            if seen.failed.is_some() {
                told!(sweep(&client, &there.namespace, &found, vapp.id).await);
            }
            if !told!(at(Step::InstanceDelete, delete(&client, &TEMPLATE_INSTANCES, &key, &found)).await) {
                return Ok(Outcome::Wait(Duration::from_secs(1), "The template's instance is being deleted.".into()));
            }
        }
        Ok(_) | Err(hub::Error::NotFound(_) | hub::Error::NotServed(_)) => {}
        Err(e) => return Ok(super::refused(&e)),
    }
    let owner = Owner::new(VAPP_ID, vapp.id);
    told!(at(Step::ParametersDelete, secret::remove(&client, &key, &owner)).await);
    Ok(Outcome::Done)
}

/// One that a call long believed lost made after its vApp was gone.
pub(crate) async fn collect(shared: &Shared, hub: &HubId, key: &Key, vapp: VappId, uid: &str) -> Result<()> {
    let client = shared.hubs.client(hub).await?;
    let collected = match client.delete_fenced(&TEMPLATE_INSTANCES, key, uid, Propagation::Background).await {
        // made just before it, and perhaps not tied to it yet
        Ok(_) => secret::remove(&client, key, &Owner::new(VAPP_ID, vapp)).await,
        Err(e) => Err(e),
    };
    match collected {
        Ok(()) => tracing::warn!(hub_id = %hub, object = %key, uid, "removed what was left of a deleted vApp"),
        Err(e) => {
            tracing::debug!(hub_id = %hub, object = %key, error = %e, "what is left of a deleted vApp stays for now")
        }
    }
    Ok(())
}

/// True: it is proven to be gone.
async fn delete(client: &Client, resource: &Resource, key: &Key, found: &Value) -> hub::Result<bool> {
    let uid = found["metadata"]["uid"].as_str().unwrap_or_default();
    match client.delete_fenced(resource, key, uid, Propagation::Background).await {
        Ok(Deleted::Gone) | Err(hub::Error::NotOurs(_)) => Ok(true),
        Ok(_) => client.is_gone(resource, key, uid).await,
        Err(e) => Err(e),
    }
}

/// Only if it carries the vApp's label.
async fn delete_named(client: &Client, resource: &Resource, key: &Key, vapp: VappId) -> hub::Result<()> {
    match client.get(resource, key).await {
        Ok(found) if is_of(&found, vapp) => delete(client, resource, key, &found).await.map(drop),
        Ok(_) | Err(hub::Error::NotFound(_)) => Ok(()),
        Err(e) => Err(e),
    }
}

/// What a failed instance made besides machines, which are removed one by one. The copy that it carries has the names.
async fn sweep(client: &Client, namespace: &str, instance: &Value, vapp: VappId) -> hub::Result<()> {
    for object in instance["spec"]["template"]["objects"].as_array().into_iter().flatten() {
        let resource = match object["kind"].as_str() {
            Some("Secret") => &SECRETS,
            Some("Service") => &SERVICES,
            Some("DataVolume") => &DATA_VOLUMES,
            _ => continue,
        };
        let key = Key::new(namespace, object["metadata"]["name"].as_str().unwrap_or_default());
        match delete_named(client, resource, &key, vapp).await {
            // an account that may not remove it could not have it made either
            Ok(()) | Err(hub::Error::Forbidden(_)) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::failed;

    #[test]
    fn a_failure_says_what_why_and_what_to_do() {
        let said =
            "The template could not be made: it is bad. Delete the vApp, and deploy it again when that is put right.";
        assert_eq!(failed("it is bad"), said);
        assert_eq!(failed("it is bad. "), said);
    }
}
