//! Hubs: registered by the provider, with a kubeconfig that goes in and never comes out.
use crate::{Domain, probe};
use hub::{address::Gate, client::Options, kubeconfig};
use model::{
    Action, Actor, Error, HubId, Kind, NetworkId, OrgId, Result, TemplateId, VdcId, can, conflict,
    decide::{Resource, authorize},
    hub::{Hub, HubSpec, HubTenant, HubType, HubWishers},
    placement::{Placement, Wish, place},
};
pub use store::Stranger;

pub use store::LostWithHub;
use store::{Needs, Record};
use uuid::Uuid;

/// What a kubeconfig is sealed as: it opens as that hub's and no other's.
pub fn sealed_as(id: &HubId) -> String {
    format!("hub/{id}")
}

/// A client of a registered hub with limits and a memory of its own, for a call or stream that somebody waits for.
pub(crate) async fn client(d: &Domain, id: &HubId) -> Result<hub::Client> {
    let stored = d.store.credential_of_hub(id).await?.ok_or(Error::NotFound(Kind::Hub))?;
    let unusable = |why: String| Error::Internal(format!("the kubeconfig of {id}: {why}"));
    let plain = d.vault()?.open(&sealed_as(id), &stored.sealed).await?;
    let text = String::from_utf8(plain).map_err(|_| unusable("it is no text".into()))?;
    let credential = kubeconfig::parse(&text).map_err(|e| unusable(format!("{}: {}", e.field, e.message)))?;
    let gate = if stored.trusted { Gate::open() } else { d.gate.clone() };
    hub::Client::new(&credential, &gate, d.clock.clone(), Options::default()).map_err(|e| unusable(e.message()))
}

pub async fn list(d: &Domain, actor: &Actor) -> Result<Vec<Hub>> {
    authorize(actor, Action::HubList, Resource::Installation)?;
    d.store.hubs().await
}

pub async fn get(d: &Domain, actor: &Actor, id: &HubId) -> Result<Hub> {
    Ok(d.store.hub(actor, Action::HubView, id).await?.into_inner())
}

/// The VDCs on it, and who wishes for it or not.
pub async fn tenants(d: &Domain, actor: &Actor, id: &HubId) -> Result<(Vec<HubTenant>, HubWishers)> {
    authorize(actor, Action::HubView, Resource::Installation)?;
    Ok((d.store.tenants_of_hub(id).await?, d.store.wishers_of_hub(id).await?))
}

/// Whose word an address is: what comes through API and portal is held against the installation's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    Checked,
    /// From a file or flag of the operator.
    Operator,
}

/// Reads a kubeconfig as strictly as everywhere, and says which field is wrong.
pub async fn read_kubeconfig(d: &Domain, text: &str, trust: Trust) -> Result<hub::Credential> {
    let refused = |e: kubeconfig::Refused| Error::field("kubeconfig", e.to_string());
    let credential = kubeconfig::parse(text).map_err(refused)?;
    if trust == Trust::Checked {
        let not_allowed = |e: hub::Error| Error::field("kubeconfig", format!("{} {}", e.message(), e.next_step()));
        d.gate.check(&credential.server).await.map_err(not_allowed)?;
    }
    Ok(credential)
}

pub async fn register(d: &Domain, actor: &Actor, spec: HubSpec, kubeconfig: &str, trust: Trust) -> Result<Hub> {
    let action = Action::HubRegister;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Installation)?;
        let spec = spec.check()?;
        let credential = read_kubeconfig(d, kubeconfig, trust).await?;
        let id = HubId(spec.id.clone());
        let sealed = d.vault()?.seal(&sealed_as(&id), kubeconfig.as_bytes()).await?;
        let uid = Uuid::now_v7();
        let mut tx = d.store.write(actor).await?;
        tx.hub_insert(
            uid,
            &spec,
            &credential.server.to_string(),
            &sealed,
            credential.expires,
            trust == Trust::Operator,
        )
        .await?;
        tx.commit(Record::new(action, actor.org, uid, &spec.id).after(&spec)).await?;
        say_registered(&spec);
        get(d, actor, &id).await
    })
    .await
}

fn say_registered(spec: &HubSpec) {
    if spec.hub_type == HubType::Vmaas {
        tracing::info!(hub_id = spec.id, namespace = spec.namespace, "Registered VMaaS hub");
    }
}

/// Registers a hub, or gives one that is there its new kubeconfig and namespace: what people set otherwise stays. A new
/// kubeconfig is tried first (`probe::change_credential`), unless somebody says `anyway`.
pub async fn register_or_update(
    d: &Domain,
    actor: &Actor,
    spec: HubSpec,
    kubeconfig: &str,
    anyway: bool,
) -> Result<Hub> {
    match register(d, actor, spec.clone(), kubeconfig, Trust::Operator).await {
        Err(Error::Taken(_)) => {}
        other => return other,
    }
    let id = HubId(spec.id.clone());
    set(d, actor, &id, |known| HubSpec { namespace: spec.namespace.clone(), ..known }).await?;
    say_registered(&spec);
    // at every start the same one: nothing is to be changed then
    if has_credential(d, actor, &id, kubeconfig).await? {
        return get(d, actor, &id).await;
    }
    match anyway {
        true => set_credential(d, actor, &id, kubeconfig, Trust::Operator, None).await,
        false => probe::change_at_start(d, actor, &id, kubeconfig).await,
    }
}

/// Changes one thing about a hub, whatever else is changed meanwhile: replicas that start together say the same.
pub async fn set(d: &Domain, actor: &Actor, id: &HubId, change: impl Fn(HubSpec) -> HubSpec) -> Result<Hub> {
    loop {
        let known = get(d, actor, id).await?;
        let spec = change(HubSpec::from(&known));
        if spec == HubSpec::from(&known) {
            return Ok(known);
        }
        match edit(d, actor, id, known.version, spec).await {
            Err(Error::Conflict(_)) => {}
            other => return other,
        }
    }
}

/// Is that the kubeconfig it has?
pub async fn has_credential(d: &Domain, actor: &Actor, id: &HubId, kubeconfig: &str) -> Result<bool> {
    authorize(actor, Action::HubCredential, Resource::Installation)?;
    let Some(sealed) = d.store.credential_of_hub(id).await? else { return Ok(false) };
    let plain = d.vault()?.open(&sealed_as(id), &sealed.sealed).await;
    Ok(plain.is_ok_and(|text| text == kubeconfig.as_bytes()))
}

/// Objects under our label on it that nobody here knows.
pub async fn strangers(d: &Domain, actor: &Actor, id: &HubId) -> Result<Vec<Stranger>> {
    let hub = d.store.hub(actor, Action::HubView, id).await?;
    d.store.strangers(&hub.id).await
}

pub async fn edit(d: &Domain, actor: &Actor, id: &HubId, version: i64, spec: HubSpec) -> Result<Hub> {
    let action = Action::HubEdit;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let hub = tx.hub(action, id).await?;
        let spec = HubSpec { id: hub.id.0.clone(), ..spec }.check()?;
        let current = HubSpec::from(&*hub);
        if version != hub.version {
            let changed = (hub.updated_by.as_str(), hub.updated_at, hub.version);
            return Err(Error::Conflict(Box::new(conflict(Kind::Hub, &hub.id.0, changed, &current, &spec))));
        }
        tx.hub_update(&hub, &spec).await?;
        tx.commit(Record::new(action, actor.org, hub.uid, &hub.id.0).before(&current).after(&spec)).await?;
        // what waits for a capability can go on
        d.store.wake_waiting("").await?;
        get(d, actor, id).await
    })
    .await
}

/// Another kubeconfig for the same hub, untried. Clients with the old one are replaced as soon as they are asked for.
/// `cluster`: which one it leads to, where that is known.
pub async fn set_credential(
    d: &Domain,
    actor: &Actor,
    id: &HubId,
    kubeconfig: &str,
    trust: Trust,
    cluster: Option<&str>,
) -> Result<Hub> {
    let action = Action::HubCredential;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Installation)?;
        let credential = read_kubeconfig(d, kubeconfig, trust).await?;
        let sealed = d.vault()?.seal(&sealed_as(id), kubeconfig.as_bytes()).await?;
        let mut tx = d.store.write(actor).await?;
        let hub = tx.hub(action, id).await?;
        tx.hub_set_credential(
            &hub,
            &credential.server.to_string(),
            &sealed,
            credential.expires,
            trust == Trust::Operator,
            cluster.unwrap_or_default(),
        )
        .await?;
        tx.commit(Record::new(action, actor.org, hub.uid, &hub.id.0)).await?;
        d.store.wake_waiting(&id.0).await?;
        get(d, actor, id).await
    })
    .await
}

pub async fn set_cordoned(d: &Domain, actor: &Actor, id: &HubId, cordoned: bool) -> Result<Hub> {
    let action = if cordoned { Action::HubCordon } else { Action::HubUncordon };
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let hub = tx.hub(action, id).await?;
        can::or_not_now(can::hub(&hub, action))?;
        tx.hub_set_cordoned(&hub, cordoned).await?;
        tx.commit(Record::new(action, actor.org, hub.uid, &hub.id.0)).await?;
        if !cordoned {
            d.store.wake_waiting("").await?;
        }
        get(d, actor, id).await
    })
    .await
}

pub async fn delete(d: &Domain, actor: &Actor, id: &HubId) -> Result<()> {
    let action = Action::HubDelete;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let hub = tx.hub(action, id).await?;
        can::or_not_now(can::hub(&hub, action))?;
        tx.hub_delete(&hub).await?;
        tx.commit(Record::new(action, actor.org, hub.uid, &hub.id.0).before(&HubSpec::from(&*hub))).await?;
        Ok(())
    })
    .await
}

/// A hub that will never answer again, with everything on it: nobody can be asked, so all of it is gone at once. If it comes back
/// and is registered anew, what stands there is shown as known to nobody, and left alone.
pub async fn abandon(d: &Domain, actor: &Actor, id: &HubId) -> Result<LostWithHub> {
    let action = Action::HubAbandon;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let hub = tx.hub(action, id).await?;
        can::or_not_now(can::hub(&hub, action))?;
        let lost = tx.hub_lost(&hub).await?;
        tx.hub_delete(&hub).await?;
        let record =
            Record::new(action, actor.org, hub.uid, &hub.id.0).before(&HubSpec::from(&*hub)).after(&Lost(lost));
        tx.commit(record).await?;
        // what was to go there is placed anew
        d.store.wake_waiting("").await?;
        Ok(lost)
    })
    .await
}

/// How much it was, for the audit.
struct Lost(LostWithHub);

impl model::Fields for Lost {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let LostWithHub { vapps, vms, disks, versions } = self.0;
        let line = |name, n: usize| (name, n.to_string());
        vec![
            line("lost vApps", vapps),
            line("lost VMs", vms),
            line("lost disks", disks),
            line("lost captures", versions),
        ]
    }
}

/// What placement goes by.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub cpus: i64,
    pub memory_mb: i64,
    pub template: Option<TemplateId>,
    /// Storage policies; none: the VDC's default.
    pub policies: Vec<String>,
    pub networks: Vec<NetworkId>,
}

/// Where that would go now, and why not elsewhere. Nothing is changed.
pub async fn explain(d: &Domain, actor: &Actor, org: OrgId, vdc: VdcId, asked: Asked) -> Result<Placement> {
    authorize(actor, Action::HubView, Resource::Installation)?;
    let template = match asked.template {
        Some(id) => Some(d.store.template(actor, Action::TemplateView, id).await?.into_inner()),
        None => None,
    };
    let policies = d.store.vdc_policies(vdc).await?;
    let mut chosen: Vec<Uuid> = Vec::new();
    for name in &asked.policies {
        let found = policies.iter().find(|p| p.name.eq_ignore_ascii_case(name));
        let unknown = || Error::field("storage", format!("The VDC has no storage policy {name}."));
        chosen.push(found.ok_or_else(unknown)?.id.0);
    }
    if chosen.is_empty() && template.as_ref().is_some_and(|t| t.vms.iter().any(|vm| !vm.disks.is_empty())) {
        chosen.extend(policies.iter().filter(|p| p.is_default).map(|p| p.id.0));
    }
    let mut ties = d.store.network_ties(&asked.networks).await?;
    if let Some(t) = &template {
        let disks = t.vms.iter().flat_map(|vm| &vm.disks);
        let images: Vec<Uuid> = disks.filter_map(|d| d.image.strip_prefix("image/")?.parse().ok()).collect();
        ties.extend(d.store.capture_ties(&images).await?);
    }
    let needs = Needs {
        template: template.map(|t| t.source).filter(|s| !s.is_empty()),
        policies: chosen,
        networks: asked.networks.iter().map(|n| n.0).collect(),
    };
    let mut hubs = d.store.candidates(needs.template.as_deref(), Some(vdc)).await?;
    for (hub, lack) in d.store.hubs_lacking(&needs).await? {
        hubs.iter_mut().filter(|c| c.id == hub).for_each(|c| c.lacks.push(lack.clone()));
    }
    let (cpus, memory_mb) = (asked.cpus, asked.memory_mb);
    let wish = Wish { capability: Some(can::VMS), cpus, memory_mb, ties, ..d.store.wishes(org, vdc).await? };
    Ok(place(&wish, &hubs))
}
