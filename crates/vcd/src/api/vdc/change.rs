//! VDCs are made, changed, enabled, disabled and deleted.
use super::{Whole, profile};
use crate::{
    answer::Answer,
    api::{provider, task},
    ask::{Ask, referred, shown},
    routes::Routes,
    wire::{body::Read, href::no_sizing, units::cpus},
};
use domain::{disk, network, sizing, storage, task::Noted, vapp, vdc};
use model::{
    Action, Error, Kind, OrgId, Result, SizingId, TaskId, VdcId, can,
    decide::{Resource, authorize},
    query::Numbered,
    quota::Limits,
    sizing::VdcSizing,
    vdc::{AllocationModel, Vdc, VdcBesides, VdcSpec},
};
use std::time::{Duration, Instant};
use xml::Element;

/// What is deleted with a VDC or an organization is waited for so long: less than a request may take (`limits.request_timeout`), so
/// that the answer is ours and says what to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .post("/api/admin/org/{id}/vdcsparams", create)
        .put("/api/admin/vdc/{id}", edit)
        .delete("/api/admin/vdc/{id}", delete)
        .delete("/api/vdc/{id}", delete)
        .post("/api/admin/vdc/{id}/action/enable", |ask| set_enabled(ask, true))
        .post("/api/admin/vdc/{id}/action/disable", |ask| set_enabled(ask, false))
        .put("/api/admin/vdc/{id}/computePolicies", compute_policies)
}

pub(crate) fn noted(vdc: &Vdc) -> Noted {
    Noted { org: vdc.org, id: vdc.id.0, name: vdc.name.clone(), owner: None }
}

async fn create(ask: Ask) -> Result<Answer> {
    let org: OrgId = ask.id(Kind::Org)?;
    let body = ask.xml("CreateVdcParams")?;
    let spec = VdcSpec {
        name: body.need("name")?.to_owned(),
        description: body.word("Description").unwrap_or_default().to_owned(),
        allocation_model: model(&body)?.unwrap_or_default(),
        limits: limits(&body, &Limits::default())?,
        ..VdcSpec::default()
    };
    let profiles = body.all("VdcStorageProfile").map(profile::wanted).collect::<Result<Vec<_>>>()?;
    let mut profiles = profiles;
    if let [only] = profiles.as_mut_slice() {
        only.is_default = true;
    }
    let pools = [("NetworkPoolReference", provider::pool_id()), ("ProviderVdcReference", provider::vdc_id())];
    for (name, only) in pools {
        if body.child(name).is_some_and(|e| e.id() != Some(only)) {
            return Err(Error::BadRequest(format!(
                "{name} names something that is not here. There is one: {}.",
                provider::NAME
            )));
        }
    }
    let made = vdc::create(ask.d(), &ask.actor, org, spec).await?;
    let begun = task::about(&ask, Action::VdcCreate, noted(&made)).await?;
    let kept = besides(&body, VdcBesides::default())?;
    let rest = async {
        vdc::keep(ask.d(), &ask.actor, made.id, kept).await?;
        if !profiles.is_empty() {
            storage::set_for_vdc(ask.d(), &ask.actor, made.id, profiles).await?;
        }
        // what is false is left out
        if !body.on("IsEnabled")? {
            vdc::set_enabled(ask.d(), &ask.actor, made.id, false).await?;
        }
        Ok(())
    };
    if let Err(e) = rest.await {
        // half of what was asked for is not what was asked for
        vdc::delete(ask.d(), &ask.actor, made.id).await?;
        return Err(e);
    }
    let href = ask.base().admin_vdc(made.id);
    let whole = Whole::read(&ask, made.id).await?;
    Ok(Answer::xml(crate::wire::media::ADMIN_VDC, whole.document(&ask, true, &[begun])).created(href))
}

fn model(body: &Element) -> Result<Option<AllocationModel>> {
    let Some(word) = body.word("AllocationModel") else { return Ok(None) };
    AllocationModel::parse(word).map(Some).ok_or_else(|| {
        Error::BadRequest(format!(
            "“{}” is no AllocationModel: AllocationVApp, AllocationPool or ReservationPool.",
            shown(word)
        ))
    })
}

/// 0 is no limit. What is not said stays as it is.
fn limits(body: &Element, now: &Limits) -> Result<Limits> {
    let mut limits = *now;
    if let Some(vms) = body.number::<i64>("VmQuota")? {
        limits.vms = Some(vms).filter(|n| *n > 0);
    }
    let capacity = body.child("ComputeCapacity");
    if let Some(cpu) = capacity.and_then(|c| c.child("Cpu")) {
        let mhz = match cpu.word("Units").unwrap_or("MHz").to_ascii_uppercase().as_str() {
            "MHZ" => 1,
            "GHZ" => 1000,
            _ => return Err(Error::BadRequest("Processors are counted in MHz or GHz.".into())),
        };
        limits.cpus = most(cpu)?.map(|n| cpus(n.saturating_mul(mhz)));
    }
    if let Some(memory) = capacity.and_then(|c| c.child("Memory")) {
        let mb = match memory.word("Units").unwrap_or("MB").to_ascii_uppercase().as_str() {
            "MB" => 1,
            "GB" => 1024,
            _ => return Err(Error::BadRequest("Memory is counted in MB or GB.".into())),
        };
        limits.memory_mb = most(memory)?.map(|n| n.saturating_mul(mb));
    }
    Ok(limits)
}

/// What is kept as it is given.
fn besides(body: &Element, now: VdcBesides) -> Result<VdcBesides> {
    let share = |name, now| -> Result<Option<i32>> {
        let Some(text) = body.word(name) else { return Ok(now) };
        let share: f64 =
            text.parse().ok().filter(|n| (0.0..=1.0).contains(n)).ok_or_else(|| {
                Error::BadRequest(format!("{name} is a share from 0 to 1, and not “{}”.", shown(text)))
            })?;
        Ok(Some((share * 1000.0).round() as i32))
    };
    let speed = body.number::<i64>("VCpuInMhz2")?.or(body.number("VCpuInMhz")?).filter(|n| *n > 0);
    Ok(VdcBesides {
        nic_quota: body.number("NicQuota")?.unwrap_or(now.nic_quota),
        network_quota: body.number("NetworkQuota")?.unwrap_or(now.network_quota),
        thin: body.flag("IsThinProvision")?.unwrap_or(now.thin),
        fast: body.flag("UsesFastProvisioning")?.unwrap_or(now.fast),
        discovers_vms: body.flag("VmDiscoveryEnabled")?.unwrap_or(now.discovers_vms),
        elastic: body.flag("IsElastic")?.unwrap_or(now.elastic),
        memory_overhead: body.flag("IncludeMemoryOverhead")?.unwrap_or(now.memory_overhead),
        pool: body.child("NetworkPoolReference").is_some() || now.pool,
        flex: body.word("AllocationModel").map_or(now.flex, |word| word == "Flex"),
        memory_share: share("ResourceGuaranteedMemory", now.memory_share)?,
        cpu_share: share("ResourceGuaranteedCpu", now.cpu_share)?,
        cpu_mhz: speed.or(now.cpu_mhz),
    })
}

/// The limit, or what is allocated where there is none.
fn most(e: &Element) -> Result<Option<i64>> {
    let of = |name| e.number::<i64>(name).map(|n| n.filter(|n| *n > 0));
    Ok(of("Limit")?.or(of("Allocated")?))
}

async fn edit(ask: Ask) -> Result<Answer> {
    let id: VdcId = ask.id(Kind::Vdc)?;
    let body = ask.xml("AdminVdc")?;
    let now = vdc::get(ask.d(), &ask.actor, id).await?;
    let current = VdcSpec::from(&now);
    let described = body.child("Description").map(|d| d.text.trim().to_owned());
    let spec = VdcSpec {
        name: body.attr("name").map_or_else(|| current.name.clone(), str::to_owned),
        description: described.unwrap_or_else(|| current.description.clone()),
        allocation_model: model(&body)?.unwrap_or(current.allocation_model),
        limits: limits(&body, &current.limits)?,
        ..current.clone()
    };
    let sizes = sizing::choices(ask.d(), &[id]).await?;
    let default = default_size(&body, &sizes)?;
    if spec != current {
        vdc::edit(ask.d(), &ask.actor, id, now.version, spec).await?;
    }
    vdc::keep(ask.d(), &ask.actor, id, besides(&body, now.besides)?).await?;
    if let Some(enabled) = body.flag("IsEnabled")?.filter(|on| *on != now.enabled) {
        vdc::set_enabled(ask.d(), &ask.actor, id, enabled).await?;
    }
    let chosen = sizes.iter().find(|s| s.is_default).map(|s| s.id);
    if let Some(default) = default.filter(|d| *d != chosen) {
        let all = sizes.iter().map(|s| s.id).collect();
        sizing::set_for_vdc(ask.d(), &ask.actor, id, all, default).await?;
    }
    task::accepted_about(&ask, Action::VdcEdit, noted(&now)).await
}

/// The size that its VMs are to have where none is asked for, if the body names one. The policy that stands for any size is none.
fn default_size(body: &Element, sizes: &[VdcSizing]) -> Result<Option<Option<SizingId>>> {
    match body.id_of("DefaultComputePolicy") {
        None => Ok(None),
        Some(id) if id == no_sizing() => Ok(Some(None)),
        Some(id) => match sizes.iter().find(|s| s.id.0 == id) {
            Some(size) => Ok(Some(Some(size.id))),
            None => Err(Error::NotFound(Kind::SizingPolicy)),
        },
    }
}

/// What is so already is so.
async fn set_enabled(ask: Ask, enabled: bool) -> Result<Answer> {
    let id: VdcId = ask.id(Kind::Vdc)?;
    let now = vdc::get(ask.d(), &ask.actor, id).await?;
    let action = if enabled { Action::VdcEnable } else { Action::VdcDisable };
    authorize(&ask.actor, action, Resource::Of(now.org))?;
    if now.enabled != enabled {
        vdc::set_enabled(ask.d(), &ask.actor, id, enabled).await?;
    }
    Ok(Answer::nothing())
}

/// The sizes that its machines can have. The one that stands for any size is always among them.
async fn compute_policies(ask: Ask) -> Result<Answer> {
    let id: VdcId = ask.id(Kind::Vdc)?;
    let body = ask.xml("VdcComputePolicyReferences")?;
    let now = sizing::choices(ask.d(), &[id]).await?;
    let any = crate::wire::href::no_sizing();
    let mut wanted = Vec::new();
    for e in body.all("VdcComputePolicyReference") {
        let size: SizingId = referred(e, Kind::SizingPolicy)?;
        if size.0 != any {
            wanted.push(size);
        }
    }
    let default = now.iter().find(|s| s.is_default).map(|s| s.id).filter(|d| wanted.contains(d));
    sizing::set_for_vdc(ask.d(), &ask.actor, id, wanted, default).await?;
    Ok(Answer::xml(crate::wire::media::COMPUTE_POLICIES, policies(&ask, id).await?))
}

async fn policies(ask: &Ask, id: VdcId) -> Result<String> {
    use crate::wire::{doc, href, media};
    let sizes = sizing::choices(ask.d(), &[id]).await?;
    let any = (href::no_sizing(), "System Default".to_owned());
    let all: Vec<_> = std::iter::once(any).chain(sizes.into_iter().map(|s| (s.id.0, s.name))).collect();
    Ok(doc::document("VdcComputePolicyReferences", &[("type", &media::COMPUTE_POLICIES)], |w| {
        for (id, name) in &all {
            let urn = href::urn("vdcComputePolicy", id);
            let href = ask.base().cloudapi(format_args!("1.0.0/vdcComputePolicies/{urn}"));
            doc::reference(w, "VdcComputePolicyReference", href, urn, name, "application/json");
        }
    }))
}

/// With `recursive=true` all that is in it goes first; with `force=true` even what runs.
async fn delete(ask: Ask) -> Result<Answer> {
    let id: VdcId = ask.id(Kind::Vdc)?;
    let mut found = vdc::get(ask.d(), &ask.actor, id).await?;
    authorize(&ask.actor, Action::VdcDelete, Resource::Of(found.org))?;
    if ask.params().flag("recursive") {
        empty(&ask, &found, ask.params().flag("force"), Instant::now() + PATIENCE).await?;
        found = vdc::get(ask.d(), &ask.actor, id).await?;
    }
    vdc::delete(ask.d(), &ask.actor, id).await?;
    task::accepted_about(&ask, Action::VdcDelete, noted(&found)).await
}

/// Deletes everything in a VDC and waits until it is gone, or for so long. Whoever asks again goes on from there.
pub(crate) async fn empty(ask: &Ask, vdc: &Vdc, force: bool, until: Instant) -> Result<()> {
    let (d, actor) = (ask.d(), &ask.actor);
    let has = vdc::contents(d, actor, vdc).await?;
    let mut tasks = Vec::new();
    if !force {
        for (id, _) in &has.vapps {
            can::or_not_now(can::vapp_stopped(&vapp::get(d, actor, *id).await?))?;
        }
    }
    for (id, _) in &has.vapps {
        let one = vapp::get(d, actor, *id).await?;
        if !one.deleted {
            tasks.push((one.name, vapp::delete(d, actor, *id).await?));
        }
    }
    ended(ask, tasks, until).await?;
    let mut tasks = Vec::new();
    for (id, name) in &has.disks {
        if !disk::get(d, actor, *id).await?.deleted {
            tasks.push((name.clone(), disk::delete(d, actor, *id).await?));
        }
    }
    loop {
        let networks = network::query(d, actor, Some(vdc.org), &Numbered::with("vdc", vdc.id.to_string())).await?;
        let living: Vec<_> = networks.items.into_iter().filter(|n| !n.deleted).collect();
        if living.is_empty() {
            break;
        }
        for one in living {
            tasks.push((one.name().to_owned(), network::delete(d, actor, one.id).await?));
        }
    }
    ended(ask, tasks, until).await
}

/// Every one of them, well.
async fn ended(ask: &Ask, tasks: Vec<(String, Option<TaskId>)>, until: Instant) -> Result<()> {
    for (name, id) in tasks.into_iter().filter_map(|(name, id)| id.map(|id| (name, id))) {
        let left = until.saturating_duration_since(Instant::now());
        let task = domain::task::wait(ask.d(), &ask.actor, id, left).await?;
        if !task.status.ended() {
            return Err(Error::NotNow(format!(
                "{name} is still being deleted, and its task goes on. Ask for the same again when it has ended: what is left goes then."
            )));
        }
        if task.status != model::task::TaskStatus::Success {
            return Err(Error::NotNow(format!("{name} could not be deleted: {}", task.message)));
        }
    }
    Ok(())
}
