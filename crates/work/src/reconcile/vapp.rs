//! A vApp: where it goes, and what OpenShift makes of a template that asks for it.
use super::{place, secret, told, vdc};
use crate::{Shared, queue::Outcome, settle};
use hub::{
    Key,
    apply::{Deleted, Home, Owner, Propagation},
    resource::{SECRETS, TEMPLATE_INSTANCES, TEMPLATES},
    shape::{names::VAPP_ID, template as shape, vm::Identity},
};
use model::{Result, can, placement, vm::Vm};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};
use store::{Claim, VappWork};

pub(super) async fn reconcile(shared: &Shared, claim: &Claim) -> Result<Outcome> {
    let Some(vapp) = shared.store.vapp_work(claim.id).await? else { return Ok(Outcome::Done) };
    if vapp.gone {
        return Ok(Outcome::Done);
    }
    let outcome = if vapp.deleted { remove(shared, claim, &vapp).await? } else { keep(shared, claim, &vapp).await? };
    settle::vapp(shared, vapp.id, &outcome).await?;
    Ok(outcome)
}

async fn keep(shared: &Shared, claim: &Claim, vapp: &VappWork) -> Result<Outcome> {
    let placed = match &vapp.hub {
        Some(_) if vapp.attempted => vapp.hub.clone(),
        _ => choose(shared, claim, vapp).await?,
    };
    let Some(hub) = placed else {
        let wish = placement::Wish { capability: Some(can::VMS), ..Default::default() };
        return Ok(Outcome::Wait(Duration::from_secs(30), placement::no_hub(&wish).into()));
    };
    // machines that were added later belong where the others are
    if vapp.attempted {
        let late = shared.store.vms_known_of(vapp.id).await?;
        shared.store.vapp_spread(claim).await?;
        late.iter().filter(|vm| vm.hub.is_none()).for_each(|vm| routed(vm, &hub));
    }
    match &vapp.instance_of {
        Some(source) if vapp.instance_uid.is_none() => instantiate(shared, claim, vapp, &hub, source).await,
        _ => Ok(Outcome::Done),
    }
}

async fn choose(shared: &Shared, claim: &Claim, vapp: &VappWork) -> Result<Option<model::HubId>> {
    let started = Instant::now();
    let candidates = shared.store.candidates(vapp.template_source.as_deref()).await?;
    let wish = placement::Wish {
        capability: Some(can::VMS),
        cpus: vapp.cpus,
        memory_mb: vapp.memory_mb,
        ..shared.store.wishes(vapp.org, vapp.vdc).await?
    };
    let open = candidates.iter().filter(|h| h.capabilities.contains(&can::VMS)).count();
    tracing::info!(capability = can::VMS.key(), count = open, "Found hubs with capability");
    let placement = placement::place(&wish, &candidates);
    metrics::histogram!("ssvirt_hub_selection_seconds", "kind" => "virtualmachines")
        .record(started.elapsed().as_secs_f64());
    let vms = shared.store.vms_known_of(vapp.id).await?;
    if !shared.store.vapp_place(claim, &placement).await? {
        return Ok(None);
    }
    match &placement.hub {
        Some(hub) => {
            // a place that is chosen again before anything was made there is no news
            for vm in vms.iter().filter(|vm| vm.hub.as_ref() != Some(hub)) {
                routed(vm, hub);
                if wish.hubs.len() != 1 {
                    tracing::info!(machine = vm.name, kubevirtConfig = %hub, "Automatically assigned KubevirtConfig to machine");
                }
            }
        }
        None => tracing::warn!(vapp_id = %vapp.id, "{}", placement.because),
    }
    Ok(placement.hub)
}

fn routed(vm: &Vm, hub: &model::HubId) {
    tracing::info!(hub_id = %hub, vm_id = %vm.id, "Selected hub for VM request");
    metrics::counter!("ssvirt_vm_requests_routed_total", "hub" => hub.0.clone()).increment(1);
}

/// OpenShift makes the machines, from a copy of the template in which they are halted and carry our names and labels.
async fn instantiate(
    shared: &Shared,
    claim: &Claim,
    vapp: &VappWork,
    hub: &model::HubId,
    source: &str,
) -> Result<Outcome> {
    let Some(at) = shared.store.place(vapp.vdc, hub).await?.filter(|p| p.ready) else {
        vdc::want(shared, vapp.vdc, vapp.org, hub).await?;
        return Ok(Outcome::Wait(Duration::from_secs(5), "The VDC's namespace is being made.".into()));
    };
    let client = shared.hubs.client(hub).await?;
    let Some((namespace, name)) = source.strip_prefix("template/").and_then(|s| s.split_once('/')) else {
        return Ok(Outcome::Failed(format!("{source} is no template of OpenShift").into()));
    };
    let template = match client.get(&TEMPLATES, &Key::new(namespace, name)).await {
        Err(hub::Error::NotFound(_)) => {
            let why = format!("The template {name} is not on the hub any more. Choose another one.");
            return Ok(Outcome::Failed(why.into()));
        }
        other => told!(other),
    };
    let labels = place(vapp.org, &vapp.org_name, vapp.vdc, &vapp.vdc_name, &at.namespace);
    let mut vms = Vec::new();
    for vm in shared.store.vms_known_of(vapp.id).await? {
        vms.push(Identity {
            place: labels.clone(),
            vapp: vapp.id.0,
            vapp_name: vapp.name.clone(),
            vm: vm.id.0,
            vm_name: vm.name,
            object: vm.hub_name,
            description: vm.description,
            owner: vm.owner_name,
            created_from: Some(source.to_owned()),
        });
    }
    let parameters: BTreeMap<String, String> = match &vapp.parameters {
        Some(sealed) => {
            let plain = shared.vault.open(&format!("vapp/{}", vapp.id), sealed).await?;
            serde_json::from_slice(&plain).unwrap_or_default()
        }
        None => BTreeMap::new(),
    };
    let instance = shape::Instance { place: labels, vapp: vapp.id.0, vapp_name: vapp.name.clone(), vms, parameters };
    let manifest = match shape::template_instance(&instance, &template) {
        Ok(manifest) => manifest,
        Err(e) => return Ok(Outcome::Failed(e.to_string().into())),
    };
    let owner = Owner::new(VAPP_ID, vapp.id);
    let home = Home { namespace: at.namespace, uid: at.namespace_uid.unwrap_or_default(), vdc: vapp.vdc.0 };
    if !shared.store.vapp_attempted(claim).await? {
        return Ok(Outcome::Retry(None, "another worker took it over".into()));
    }
    let kept = told!(client.create_or_adopt(&SECRETS, &shape::parameter_secret(&instance), &owner, Some(&home)).await);
    let made = told!(client.create_or_adopt(&TEMPLATE_INSTANCES, &manifest, &owner, Some(&home)).await);
    let (key, name) = (Key::new(&home.namespace, instance.object()), instance.object());
    told!(secret::tie(&client, &key, &kept, &TEMPLATE_INSTANCES, &name, &made.uid).await);
    shared.store.vapp_instance_made(claim, Some(&made.uid)).await?;
    shared.store.wake_waiting(&hub.0).await?;
    Ok(Outcome::Done)
}

/// First its machines, each by its own work; then what made them.
async fn remove(shared: &Shared, claim: &Claim, vapp: &VappWork) -> Result<Outcome> {
    if vapp.vms_left > 0 {
        return Ok(Outcome::Wait(Duration::from_secs(5), "Its VMs are being deleted.".into()));
    }
    if let (Some(hub), Some(uid)) = (&vapp.hub, &vapp.instance_uid)
        && let Some(at) = shared.store.place(vapp.vdc, hub).await?
    {
        let client = shared.hubs.client(hub).await?;
        let key = Key::new(&at.namespace, hub::shape::names::vapp_name(&vapp.name, vapp.id.0));
        let deleted = told!(client.delete_fenced(&TEMPLATE_INSTANCES, &key, uid, Propagation::Background).await);
        if deleted != Deleted::Gone && !told!(client.is_gone(&TEMPLATE_INSTANCES, &key, uid).await) {
            return Ok(Outcome::Wait(Duration::from_secs(2), "The template's instance is being deleted.".into()));
        }
        told!(secret::remove(&client, &key, &Owner::new(VAPP_ID, vapp.id)).await);
    }
    shared.store.vapp_gone(claim).await?;
    Ok(Outcome::Done)
}
