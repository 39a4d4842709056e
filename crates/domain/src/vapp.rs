//! vApps: made from a template or composed, powered, renamed and deleted. Nothing here calls a hub: an intent is written
//! with its task, and workers bring hubs to it.
use crate::{Domain, guest, nic, quota, sizing, vapp_network, vapp_network::Networks, vm};
pub use model::guest::GuestSettings as Guest;
use model::{
    Action, Actor, Error, Kind, OrgId, Problems, Result, SizingId, TaskId, TemplateId, UserId, VappId, VdcId, VmId,
    can,
    decide::{Resource, authorize, list_scope},
    guest::{Property, filled},
    image::Image,
    list::{ListQuery, Page},
    name,
    nic::{Adapter, NicSpec},
    placement::{self, Wish},
    query::{Found, Numbered},
    quota::Amount,
    template::{Template, TemplateVm},
    vapp::{Vapp, VappSpec},
    vdc::Vdc,
    vm::{Once, Power, StartAction, Vm, VmSpec, hub_name},
};
use std::collections::BTreeMap;
use store::{Authorized, NewVapp, NewVm, Record, Write};
use uuid::Uuid;

pub async fn list(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &ListQuery) -> Result<Page<Vapp>> {
    d.store.vapps(list_scope(actor, Action::VappList, org)?, q).await
}

/// As VCD's clients ask.
pub async fn query(d: &Domain, actor: &Actor, org: Option<OrgId>, q: &Numbered) -> Result<Found<Vapp>> {
    d.store.vapps_query(list_scope(actor, Action::VappList, org)?, q).await
}

/// How much storage those that were read have, in MB.
pub async fn storage(d: &Domain, vapps: &[Vapp]) -> Result<Vec<(VappId, i64)>> {
    let ids: Vec<VappId> = vapps.iter().map(|v| v.id).collect();
    d.store.storage_of_vapps(&ids).await
}

pub async fn get(d: &Domain, actor: &Actor, id: VappId) -> Result<Vapp> {
    Ok(d.store.vapp(actor, Action::VappView, id).await?.into_inner())
}

/// A vApp with its machines, in the order they start.
pub async fn with_vms(d: &Domain, actor: &Actor, id: VappId) -> Result<(Vapp, Vec<Vm>)> {
    let vapp = d.store.vapp(actor, Action::VappView, id).await?;
    let vms = d.store.vms_of(&vapp).await?;
    Ok((vapp.into_inner(), vms))
}

/// What one asks for when deploying a template.
#[derive(Clone, Debug, Default)]
pub struct Deploy {
    pub name: String,
    pub description: String,
    pub power_on: bool,
    /// Which version of an uploaded item; None: the newest.
    pub version: Option<i32>,
    /// By the machine's name in the template.
    pub sizes: BTreeMap<String, Size>,
    pub parameters: BTreeMap<String, String>,
    /// By the machine's name in the template; without a list a machine has the template's NICs.
    pub nics: BTreeMap<String, Vec<NicSpec>>,
    /// What all guests are told, but for the properties.
    pub guest: Guest,
    /// By the machine's name in the template, and empty for those of the whole vApp; then by key.
    pub properties: BTreeMap<String, BTreeMap<String, String>>,
    /// What differs from one machine to another, by its name in the template.
    pub each: BTreeMap<String, Each>,
    /// That it comes with.
    pub networks: Networks,
}

/// One of a template's machines, as it is wanted.
#[derive(Clone, Debug, Default)]
pub struct Each {
    /// None: as the vApp if it is the only one, else as in the template.
    pub name: Option<String>,
    pub description: String,
    /// Empty: made from the name.
    pub computer_name: String,
    /// In the place of what all guests are told.
    pub guest: Option<Guest>,
}

impl Deploy {
    /// What the guest of one of the template's machines is told.
    pub fn guest_of(&self, t: &TemplateVm) -> Result<Guest> {
        let given = |p: &Property| {
            let of = if p.shared { "" } else { t.name.as_str() };
            self.properties.get(of)?.get(&p.key).cloned()
        };
        let told = self.each.get(&t.name).and_then(|e| e.guest.as_ref()).unwrap_or(&self.guest);
        let mut properties = filled(&t.properties, given)?;
        // what the template did not ask for is the guest's all the same
        properties.extend(told.properties.iter().filter(|p| !t.properties.iter().any(|q| q.key == p.key)).cloned());
        Ok(Guest { properties, ..told.clone() })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// In the place of the two below.
    pub sizing: Option<SizingId>,
    pub cpus: Option<i32>,
    pub memory_mb: Option<i64>,
    /// Of the first disk: never smaller than the template's.
    pub disk_mb: Option<i64>,
    /// The storage policy of its disks; empty: the VDC's default.
    pub storage: String,
}

/// A vApp asked for and the task that ends when it is there.
pub struct Asked {
    pub vapp: VappId,
    pub task: Option<TaskId>,
}

pub async fn deploy(d: &Domain, actor: &Actor, vdc: VdcId, template: TemplateId, ask: Deploy) -> Result<Asked> {
    let action = Action::VappCreate;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Owned(actor.org, actor.user))?;
        let mut template = d.store.template(actor, Action::TemplateView, template).await?.into_inner();
        if let Some(number) = ask.version {
            template.vms = version(d, &template, number).await?;
        }
        can::or_not_now(can::template(&template, action))?;
        let into = d.store.vdc(actor, Action::VdcView, vdc).await?;
        // the provider sees every template, and the VDC's organization may not
        if !d.store.template_seen_by(template.id, into.org).await? {
            let (org, name, catalog) = (&into.org_name, &template.name, &template.catalog_name);
            let why = format!(
                "{org} does not see the template {name}. Share the catalog {catalog} to {org}, or choose another VDC."
            );
            return Err(Error::field("vdc", why));
        }
        let (spec, guests) = check(&template, &ask)?;
        let id = VappId(Uuid::now_v7());
        let parameters = match template.by_instance {
            true => {
                let json = serde_json::to_vec(&ask.parameters).map_err(|e| Error::Internal(e.to_string()))?;
                Some(d.vault()?.seal(&format!("vapp/{id}"), &json).await?)
            }
            false => None,
        };
        let new = NewVapp {
            id,
            org: actor.org, // replaced below by the VDC's, and the owner with it
            vdc,
            owner: None,
            template: Some(template.id),
            name: &spec.name,
            description: &spec.description,
            instance_of: template.by_instance.then_some(template.source.as_str()),
            parameters: parameters.as_deref(),
            auto: false,
        };
        create_with(d, actor, action, new, &spec, &guests, &ask.networks).await
    })
    .await
}

/// All that can be said of a deployment without looking anything up, at once: the vApp, and what the guest of each of its
/// machines is told.
pub fn check(template: &Template, ask: &Deploy) -> Result<(VappSpec, Vec<Guest>)> {
    let mut problems = Problems::default();
    guest::check(&ask.guest, &mut problems);
    ask.each.values().filter_map(|e| e.guest.as_ref()).for_each(|g| guest::check(g, &mut problems));
    check_parameters(template, &template.vms, ask, &mut problems);
    let vms = template.vms.iter().map(|t| machine(template, t, ask, &mut problems)).collect();
    let mut guests = Vec::new();
    for one in template.vms.iter().filter_map(|t| problems.gather("", ask.guest_of(t))).collect::<Vec<_>>() {
        one.properties.iter().filter_map(|p| p.wrong(&p.value)).for_each(|w| problems.add("properties", w));
        guests.push(one);
    }
    let spec = VappSpec { name: ask.name.clone(), description: ask.description.clone(), vms };
    let spec = problems.gather("", spec.check());
    problems.done()?;
    let spec = spec.ok_or_else(|| Error::Internal("a vApp that is wrong in no field".into()))?;
    Ok((spec, guests))
}

/// The machines of an earlier version.
async fn version(d: &Domain, template: &Template, number: i32) -> Result<Vec<TemplateVm>> {
    let all = d.store.versions_of(template.id).await?;
    let found = all.into_iter().find(|v| v.number == number).map(|v| v.vms);
    found.ok_or_else(|| Error::NotNow(format!("Not now: there is no version {number} of {} any more.", template.name)))
}

/// An empty vApp, or one of machines described one by one.
pub async fn compose(d: &Domain, actor: &Actor, vdc: VdcId, spec: VappSpec, told: Guest) -> Result<Asked> {
    let action = Action::VappCreate;
    d.attempt(actor, action, async {
        authorize(actor, action, Resource::Owned(actor.org, actor.user))?;
        let mut problems = Problems::default();
        guest::check(&told, &mut problems);
        problems.done()?;
        let spec = spec.check()?;
        let guests = vec![told; spec.vms.len()];
        let new = plain(actor, vdc, &spec);
        create_with(d, actor, action, new, &spec, &guests, &Networks::default()).await
    })
    .await
}

/// A vApp that is of no template as a whole.
pub(crate) fn plain<'a>(actor: &Actor, vdc: VdcId, spec: &'a VappSpec) -> NewVapp<'a> {
    NewVapp {
        id: VappId(Uuid::now_v7()),
        org: actor.org,
        vdc,
        owner: None,
        template: None,
        name: &spec.name,
        description: &spec.description,
        instance_of: None,
        parameters: None,
        auto: false,
    }
}

/// Everything in one transaction: quota, vApp, machines, work, task, event and audit. `told`: what the guest of each machine is.
pub(crate) async fn create_with(
    d: &Domain,
    actor: &Actor,
    action: Action,
    new: NewVapp<'_>,
    spec: &VappSpec,
    told: &[Guest],
    with: &Networks,
) -> Result<Asked> {
    let passwords = told.iter().any(|g| g.set_password);
    if passwords {
        authorize(actor, Action::VmPassword, Resource::Owned(actor.org, actor.user))?;
    }
    let mut guests = Vec::new();
    for one in told {
        let id = VmId(Uuid::now_v7());
        guests.push((id, guest::sealed(d, id, &guest::with_password(one.clone())).await?));
    }
    let mut tx = d.store.write(actor).await?;
    let vdc = tx.vdc(Action::VdcView, new.vdc).await?;
    authorize(actor, action, Resource::Owned(vdc.org, actor.user))?;
    if !vdc.enabled {
        return Err(Error::NotNow(format!(
            "Not now: the VDC {} is disabled. An administrator can enable it.",
            vdc.name
        )));
    }
    let mut spec = spec.clone();
    for one in &mut spec.vms {
        sizing::fill(&mut tx, vdc.id, one).await?;
    }
    let spec = &spec;
    let (id, org, owner) = (new.id, vdc.org, owner_in(actor, vdc.org));
    let all = spec.vms.iter().fold(Amount::default(), |sum, vm| sum + vm.amount());
    quota::reserve(&mut tx, vdc.id, owner, &all).await?;
    tx.vapp_insert(&NewVapp { org, owner, ..new }).await?;
    if !with.is_empty() {
        let made = tx.vapp(Action::VappAddNetwork, id).await?;
        vapp_network::add(&mut tx, actor, &made, with).await?;
    }
    let networks = nic::hold(&mut tx, (org, vdc.id, id), spec.vms.iter().flat_map(|vm| &vm.nics)).await?;
    for (one, (vm_id, cloud_init)) in spec.vms.iter().zip(&guests) {
        insert_vm(&mut tx, *vm_id, id, (org, vdc.id), owner, one, cloud_init.as_deref()).await?;
        tx.nics_set(*vm_id, &one.nics, &networks).await?;
    }
    let record = Record::new(action, org, id, &spec.name).of(owner).after(spec);
    let record = if spec.vms.is_empty() {
        record.with_task()
    } else {
        possible(&mut tx, id, &vdc).await?;
        tx.enqueue(Kind::Vapp, id, org, None).await?;
        record.with_open_task()
    };
    let task = tx.commit(record).await?;
    Ok(Asked { vapp: id, task })
}

/// What no hub will ever take in its VDC is refused at once; all else is accepted, and waits if it has to.
pub(crate) async fn possible(tx: &mut Write<'_>, id: VappId, vdc: &Vdc) -> Result<()> {
    let (wish, hubs) = tx.placing(id, vdc.org, vdc.id).await?;
    let wish = Wish { capability: Some(can::VMS), ..wish };
    match placement::never(&wish, &hubs, &vdc.name) {
        Some(why) => Err(Error::field("vdc", why)),
        None => Ok(()),
    }
}

/// Somebody of another organization (the provider) owns nothing in it.
pub(crate) fn owner_in(actor: &Actor, org: OrgId) -> Option<UserId> {
    actor.user.filter(|_| actor.org == org)
}

pub(crate) async fn insert_vm(
    tx: &mut Write<'_>,
    id: VmId,
    vapp: VappId,
    (org, vdc): (OrgId, VdcId),
    owner: Option<UserId>,
    spec: &VmSpec,
    cloud_init: Option<&[u8]>,
) -> Result<()> {
    let hub_name = hub_name(&spec.name, id.0);
    tx.vm_insert(&NewVm { id, org, vdc, vapp, hub: None, owner, spec, hub_name: &hub_name, cloud_init }).await
}

/// What is given for the parameters of a template, as far as these of its machines, or the hub that makes them, ask for it.
pub fn check_parameters(template: &Template, vms: &[TemplateVm], ask: &Deploy, problems: &mut Problems) {
    let asked = template.parameters.iter().filter(|p| template.by_instance || vms.iter().any(|t| t.asks.uses(&p.name)));
    let wrong = asked.filter_map(|p| p.wrong(ask.parameters.get(&p.name).map_or("", String::as_str)));
    let wrong: Vec<String> = wrong.collect();
    if let Some(odd) = ask.parameters.keys().find(|k| !template.parameters.iter().any(|p| p.name == **k)) {
        problems.add("parameters", format!("The template {} has no parameter {odd}.", template.name));
    }
    // what fits by itself may lead nowhere all the same
    if !template.by_instance && wrong.is_empty() {
        let images = vms.iter().flat_map(|t| t.filled(&template.parameters, &ask.parameters).disks);
        images.filter_map(|d| Image::parse(&d.image).err()).for_each(|why| problems.add("parameters", why));
    }
    wrong.into_iter().for_each(|why| problems.add("parameters", why));
}

/// A disk that OpenShift makes, and of which nobody says how large it is.
const UNKNOWN_DISK_MB: i64 = 30 * 1024;

/// A machine of the template, with what was asked for instead.
pub fn machine(template: &Template, t: &TemplateVm, ask: &Deploy, problems: &mut Problems) -> VmSpec {
    // what is said of a machine is said by its name in the template
    let size = ask.sizes.get(&t.name).cloned().unwrap_or_default();
    let each = ask.each.get(&t.name).cloned().unwrap_or_default();
    let chosen = ask.nics.get(&t.name).filter(|_| !template.by_instance);
    let t = &t.filled(&template.parameters, &ask.parameters);
    let mut disks = t.disks.clone();
    if let (Some(wished), Some(first)) = (size.disk_mb, disks.first_mut()) {
        if wished < first.size_mb {
            problems.add("disk", format!("The disk of {} can't be smaller than the template's.", t.name));
        }
        first.size_mb = wished;
    }
    for disk in disks.iter_mut().filter(|_| !size.storage.is_empty()) {
        disk.policy = size.storage.clone();
    }
    // what OpenShift makes is as large as it makes it, and counts as this until it is known; a policy says it all by itself
    let otherwise = |known: i64, least: i64| match known {
        0 if template.by_instance || size.sizing.is_some() => least,
        known => known,
    };
    for disk in disks.iter_mut().filter(|d| template.by_instance && d.size_mb == 0) {
        disk.size_mb = UNKNOWN_DISK_MB;
    }
    // one machine takes the vApp's name, several keep their own
    let own = if template.vms.len() == 1 { ask.name.clone() } else { t.name.clone() };
    let name = each.name.unwrap_or(own);
    let mut nics = match chosen {
        Some(chosen) => chosen.clone(),
        None => t.nic_specs(),
    };
    // what its system has a driver for is known to the template alone
    for (nic, own) in nics.iter_mut().zip(&t.nics).filter(|(nic, _)| nic.adapter == Adapter::Auto) {
        nic.adapter = own.adapter;
    }
    let resized = size.cpus.is_some_and(|c| c != t.cpus) || size.memory_mb.is_some_and(|m| m != t.memory_mb);
    VmSpec {
        name,
        description: each.description,
        computer_name: each.computer_name,
        sizing: size.sizing,
        cpus: size.cpus.unwrap_or(i32::try_from(otherwise(t.cpus.into(), 1)).unwrap_or(t.cpus)),
        memory_mb: size.memory_mb.unwrap_or(otherwise(t.memory_mb, 1024)),
        instance_type: if resized { String::new() } else { t.instance_type.clone() },
        preference: t.preference.clone(),
        hardware: t.hardware.clone(),
        disks,
        nics,
        os: if t.os.is_empty() { template.os.clone() } else { t.os.clone() },
        power: if ask.power_on { Power::On } else { Power::Off },
        start_order: t.start_order,
        start_delay_s: t.start_delay_s,
        ..VmSpec::default()
    }
}

pub async fn edit(d: &Domain, actor: &Actor, id: VappId, version: i64, title: &str, text: &str) -> Result<Vapp> {
    let action = Action::VappEdit;
    d.attempt(actor, action, async {
        let mut problems = Problems::default();
        let title = problems.take("name", name::check_title(title));
        let text = problems.take("description", name::check_text(text));
        problems.done()?;
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, id).await?;
        can::or_not_now(can::vapp(&vapp, action))?;
        let (before, after) = (words(&vapp.name, &vapp.description), words(&title, &text));
        if version != vapp.version {
            let changed = (vapp.updated_by.as_str(), vapp.updated_at, vapp.version);
            let both = model::conflict(Kind::Vapp, &vapp.name, changed, &before, &after);
            return Err(Error::Conflict(Box::new(both)));
        }
        tx.vapp_rename(&vapp, &title, &text).await?;
        tx.commit(Record::new(action, vapp.org, id, &title).of(vapp.owner).before(&before).after(&after).with_task())
            .await?;
        get(d, actor, id).await
    })
    .await
}

fn words(name: &str, description: &str) -> VappSpec {
    VappSpec { name: name.into(), description: description.into(), vms: Vec::new() }
}

/// Power of all its machines. Those it does not fit are left as they are.
pub async fn power(d: &Domain, actor: &Actor, id: VappId, action: Action) -> Result<Option<TaskId>> {
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, id).await?;
        can::or_not_now(can::vapp(&vapp, action))?;
        let one = vm::same_for_one(action);
        let stays = |m: &Vm| action == Action::VappPowerOn && m.besides.turn.start == StartAction::Nothing;
        for machine in tx.vms_of(&vapp).await?.iter().filter(|m| can::vm(m, one).is_ok() && !stays(m)) {
            change_power(&mut tx, machine, one).await?;
        }
        let record = Record::new(action, vapp.org, id, &vapp.name).of(vapp.owner).with_open_task();
        tx.enqueue(Kind::Vapp, id, vapp.org, vapp.hub.as_ref()).await?;
        tx.commit(record).await
    })
    .await
}

/// One without machines is on or not: there is nothing to be done, and clients of VCD expect it to be so.
pub async fn power_empty(d: &Domain, actor: &Actor, id: VappId, on: bool) -> Result<Option<TaskId>> {
    let action = if on { Action::VappPowerOn } else { Action::VappPowerOff };
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, id).await?;
        can::or_not_now(can::vapp_empty(&vapp, action))?;
        tx.vapp_empty_on(&vapp, on).await?;
        tx.commit(Record::new(action, vapp.org, id, &vapp.name).of(vapp.owner).with_task()).await
    })
    .await
}

/// Stopped as each of its machines is to be stopped with it.
pub async fn stop(d: &Domain, actor: &Actor, id: VappId) -> Result<Option<TaskId>> {
    let action = Action::VappPowerOff;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, id).await?;
        can::or_not_now(can::vapp(&vapp, action))?;
        for machine in tx.vms_of(&vapp).await? {
            // one that can't be stopped so, as a guest that does not run, is powered off
            let ways = [machine.besides.turn.stop.action(), Action::VmPowerOff];
            let way = ways
                .into_iter()
                .find(|way| can::vm(&machine, *way).is_ok() && authorize(actor, *way, machine.resource(actor)).is_ok());
            if let Some(way) = way {
                change_power(&mut tx, &machine, way).await?;
            }
        }
        let record = Record::new(action, vapp.org, id, &vapp.name).of(vapp.owner).with_open_task();
        tx.enqueue(Kind::Vapp, id, vapp.org, vapp.hub.as_ref()).await?;
        tx.commit(record).await
    })
    .await
}

pub(crate) async fn change_power(tx: &mut Write<'_>, m: &Vm, action: Action) -> Result<()> {
    match action {
        Action::VmPowerOn => tx.vm_set_power(m.id, Power::On).await?,
        Action::VmPowerOff | Action::VmDiscard => tx.vm_set_power(m.id, Power::Off).await?,
        Action::VmSuspend => tx.vm_set_power(m.id, Power::Suspended).await?,
        Action::VmShutdown => tx.vm_once(m.id, Once::Shutdown).await?,
        Action::VmReboot => tx.vm_once(m.id, Once::Reboot).await?,
        Action::VmReset => tx.vm_once(m.id, Once::Reset).await?,
        _ => return Err(Error::Internal(format!("{action:?} is no power operation"))),
    };
    tx.enqueue(Kind::Vm, m.id, m.org, m.hub.as_ref()).await
}

/// It goes with all its machines and their disks.
pub async fn delete(d: &Domain, actor: &Actor, id: VappId) -> Result<Option<TaskId>> {
    let action = Action::VappDelete;
    d.attempt(actor, action, async {
        let mut tx = d.store.write(actor).await?;
        let vapp = tx.vapp(action, id).await?;
        can::or_not_now(can::vapp(&vapp, action))?;
        delete_in(tx, &vapp).await
    })
    .await
}

/// The same for somebody who holds it already.
pub(crate) async fn delete_in(mut tx: Write<'_>, vapp: &Authorized<Vapp>) -> Result<Option<TaskId>> {
    delete_all(&mut tx, vapp).await?;
    let record = Record::new(Action::VappDelete, vapp.org, vapp.id, &vapp.name).of(vapp.owner);
    tx.commit(record.before(&words(&vapp.name, &vapp.description)).with_open_task()).await
}

pub(crate) async fn delete_all(tx: &mut Write<'_>, vapp: &Authorized<Vapp>) -> Result<()> {
    for machine in tx.vms_of(vapp).await? {
        tx.vm_delete(machine.id).await?;
        tx.enqueue(Kind::Vm, machine.id, machine.org, machine.hub.as_ref()).await?;
    }
    for network in tx.vapp_networks_end(vapp).await? {
        tx.enqueue(Kind::Network, network, vapp.org, None).await?;
    }
    tx.vapp_delete(vapp).await?;
    tx.enqueue(Kind::Vapp, vapp.id, vapp.org, vapp.hub.as_ref()).await
}

/// What a deployment would take.
pub fn amount(template: &Template, ask: &Deploy) -> Amount {
    let mut ignored = Problems::default();
    template.vms.iter().fold(Amount::default(), |sum, t| sum + machine(template, t, ask, &mut ignored).amount())
}
