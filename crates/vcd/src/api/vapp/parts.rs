//! Machines as clients ask for them: from a template's machine, from one that there is, or described as a whole.
use super::networks;
use crate::{
    api::vm::{guest, nics, reconfigure, sizing, slots, spec::of_item},
    ask::Ask,
    wire::{
        body::Read,
        href::{mixed, templates_of},
        rasd,
    },
};
use domain::{
    catalog,
    recompose::Part,
    vapp::{Deploy, Each, Guest, Size, check_parameters, machine},
    vapp_network::Networks,
    vm,
};
use model::{
    Action, Error, Kind, Problems, Result, TemplateId, VappId, VdcId, VmId, can,
    network::Network,
    query::{Clause, Filter, MOST_ON_PAGE, Numbered, Op, Value, last_uuid},
    storage::VdcPolicy,
    template::{Template, TemplateVm},
    vm::{Allocation, Besides, Disk, Power, VmSpec},
};
use uuid::Uuid;
use xml::Element;

/// Where a machine comes from.
pub(crate) enum Source {
    /// A machine of a template, by its place in it.
    Template(Box<Template>, usize),
    Vm(VmId),
}

/// What a `Source` element names.
pub(crate) async fn source(ask: &Ask, e: &Element) -> Result<Source> {
    let href = e.attr("href").unwrap_or_default();
    let id = last_uuid(href).ok_or_else(|| Error::BadRequest("A Source has no href with an id.".into()))?;
    if href.contains("/vAppTemplate/vm-") {
        return template_vm(ask, id).await.map(|(t, i)| Source::Template(Box::new(t), i));
    }
    if href.contains("/vAppTemplate/") {
        let template = catalog::template(ask.d(), &ask.actor, TemplateId(id)).await?;
        return Ok(Source::Template(Box::new(template), 0));
    }
    match href.contains("/vm-") || href.contains("/vm/") {
        true => Ok(Source::Vm(VmId(id))),
        false => Err(Error::BadRequest("A Source is a VM or a VM of a template.".into())),
    }
}

/// The template that a machine's id is of, and its place there.
pub(crate) async fn template_vm(ask: &Ask, vm: Uuid) -> Result<(Template, usize)> {
    let ids: Vec<(TemplateId, usize)> = templates_of(vm).collect();
    let one = |(id, _): &(TemplateId, usize)| {
        Filter::Is(Clause { field: "id".into(), op: Op::Is, value: Value::exactly(id.to_string()) })
    };
    let q = Numbered { filter: Filter::Any(ids.iter().map(one).collect()), size: MOST_ON_PAGE, ..Numbered::default() };
    let found = catalog::query_templates(ask.d(), &ask.actor, None, &q).await?;
    let named = found.items.into_iter().find_map(|t| {
        let (_, index) = ids.iter().find(|(id, index)| *id == t.id && *index < t.vms.len())?;
        Some((t.id, *index))
    });
    let (id, index) = named.ok_or(Error::NotFound(Kind::Template))?;
    Ok((catalog::template(ask.d(), &ask.actor, id).await?, index))
}

/// What parts are made with: the networks in reach and the storage policies of the VDC.
pub(crate) struct Workshop {
    pub(crate) reach: Vec<Network>,
    pub(crate) profiles: Vec<VdcPolicy>,
    pub(crate) vdc: VdcId,
}

impl Workshop {
    pub(crate) async fn of(ask: &Ask, vdc: VdcId, vapp: Option<VappId>) -> Result<Workshop> {
        let reach = nics::reach(ask, vdc, vapp).await?;
        Ok(Workshop { reach, profiles: crate::api::vm::profiles(ask, vdc).await?, vdc })
    }

    /// The networks that a body asks for with its vApp. From here on machines can be on them, as on those that are there.
    pub(crate) fn networks(&mut self, body: &Element) -> Result<Networks> {
        let Some(section) = body.at(&["InstantiationParams", "NetworkConfigSection"]) else {
            return Ok(Networks::default());
        };
        let (new, _) = networks::new_ones(networks::read(section, &self.reach)?, &[]);
        self.expect(&new)?;
        Ok(new)
    }

    pub(crate) fn expect(&mut self, new: &Networks) -> Result<()> {
        for (id, form) in &new.inside {
            self.reach.insert(0, Network::to_come(*id, self.vdc, form.clone().check()?));
        }
        Ok(())
    }

    fn policy(&self, e: &Element) -> Result<String> {
        let Some(profile) = e.child("StorageProfile") else { return Ok(String::new()) };
        let Some(id) = profile.id() else { return Ok(String::new()) };
        let found = self.profiles.iter().find(|p| mixed(self.vdc.0, p.id.0) == id || p.id.0 == id);
        found.map(|p| p.name.clone()).ok_or(Error::NotFound(Kind::StoragePolicy))
    }
}

/// What is said of one machine: its name, NICs, size, guest.
pub(crate) struct Wishes {
    pub(crate) each: Each,
    pub(crate) size: Size,
    pub(crate) nics: Option<Vec<model::nic::NicSpec>>,
}

/// `item`: a SourcedItem or the like. `params` hold its instantiation parameters.
pub(crate) async fn wishes(ask: &Ask, shop: &Workshop, item: &Element, params: Option<&Element>) -> Result<Wishes> {
    let general = item.child("VmGeneralParams");
    let mut size = Size { storage: shop.policy(item)?, ..Size::default() };
    size.sizing = sizing(ask, shop.vdc, item, None).await?;
    let mut nics = None;
    let mut told = None;
    let mut computer_name = String::new();
    if let Some(params) = params {
        if let Some(section) = params.child("NetworkConnectionSection") {
            nics = Some(nics::read(section, &shop.reach)?);
        }
        for item in params.child("VirtualHardwareSection").into_iter().flat_map(|s| s.all("Item")) {
            if matches!(item.word("ResourceType"), Some("3" | "4"))
                && of_item(item, Allocation::default(), 0)? != Allocation::default()
            {
                return Err(Error::BadRequest(
                    "Reservation, Limit and Weight of a VM are set when it is there, with reconfigureVm: leave them out here.".into(),
                ));
            }
            match item.word("ResourceType") {
                Some("3") => size.cpus = item.number("VirtualQuantity")?,
                Some("4") => size.memory_mb = item.number("VirtualQuantity")?,
                Some("17") => {
                    size.disk_mb = match item.child("HostResource") {
                        Some(host) => host.number("capacity")?,
                        None => None,
                    }
                }
                _ => {}
            }
        }
        if let Some(section) = params.child("GuestCustomizationSection") {
            let (settings, name) = guest::read(section, &Guest::default())?;
            told = Some(settings);
            computer_name = name.unwrap_or_default();
        }
        if params.child("ProductSection").is_some() {
            let mut settings = told.unwrap_or_default();
            settings.properties = guest::read_products(params, &[])?;
            told = Some(settings);
        }
    }
    let name = general.and_then(|g| g.word("Name")).map(str::to_owned);
    let description = general.and_then(|g| g.word("Description")).unwrap_or_default().to_owned();
    Ok(Wishes { each: Each { name, description, computer_name, guest: told }, size, nics })
}

/// What a template asks for has no place in VCD's documents: only what has a default can be made.
pub(crate) fn askless(template: &Template, vms: &[TemplateVm]) -> Result<()> {
    let asked = |name: &str| template.by_instance || vms.iter().any(|t| t.asks.uses(name));
    match template.parameters.iter().find(|p| p.needed() && asked(&p.name)) {
        Some(p) => Err(Error::field(
            "parameters",
            format!(
                "The template {} asks for {}, and VCD's API has no place for that. Deploy it in the portal.",
                template.name,
                p.label()
            ),
        )),
        None => Ok(()),
    }
}

/// A machine of a template, as it is wanted under that name.
pub(crate) fn of_template(template: &Template, index: usize, name: &str, wishes: Wishes, on: bool) -> Result<Part> {
    let t = template.vms.get(index).ok_or(Error::NotFound(Kind::Template))?;
    let mut ask = Deploy { name: name.to_owned(), power_on: on, ..Deploy::default() };
    ask.sizes.insert(t.name.clone(), wishes.size);
    if let Some(nics) = wishes.nics {
        ask.nics.insert(t.name.clone(), nics);
    }
    ask.each.insert(t.name.clone(), Each { name: Some(name.to_owned()), ..wishes.each });
    let guest = ask.guest_of(t)?;
    askless(template, std::slice::from_ref(t))?;
    let mut problems = Problems::default();
    check_parameters(template, std::slice::from_ref(t), &ask, &mut problems);
    let spec = machine(template, t, &ask, &mut problems);
    problems.done()?;
    Ok(Part { template: Some(template.id), spec, guest })
}

/// A machine that a client describes as a whole: a `CreateItem` or a `CreateVm`. Without a disk it gets none but a blank one to start from.
pub(crate) async fn described(ask: &Ask, shop: &Workshop, e: &Element, on: bool) -> Result<(Part, Option<TemplateId>)> {
    let name = e.attr("name").map(str::trim).filter(|n| !n.is_empty());
    let name = name.ok_or_else(|| Error::BadRequest(format!("{} has no name.", e.name)))?;
    let spec = e.child("VmSpecSection").ok_or_else(|| Error::BadRequest(format!("{name} has no VmSpecSection.")))?;
    let sizing = sizing(ask, shop.vdc, e, None).await?;
    let policy = shop.policy(e)?;
    let mut disks: Vec<Disk> = Vec::new();
    for settings in spec.child("DiskSection").into_iter().flat_map(|s| s.all("DiskSettings")) {
        let size_mb: i64 =
            settings.number("SizeMb")?.ok_or_else(|| Error::BadRequest("A disk has no SizeMb.".into()))?;
        slots::no_iops(settings)?;
        let adapter = settings.word("AdapterType").unwrap_or_default();
        let bus = rasd::bus_of_adapter(adapter)?;
        let slot = slots::asked(settings, adapter)?;
        if let Some(taken) = slot.filter(|slot| disks.iter().any(|d| d.slot == Some(*slot))) {
            return Err(slots::taken(taken));
        }
        let own = shop.policy(settings)?;
        let policy = if own.is_empty() { policy.clone() } else { own };
        disks.push(Disk { name: format!("disk-{}", disks.len()), size_mb, bus, policy, slot, ..Disk::default() });
    }
    if disks.is_empty() {
        disks.push(Disk { name: "root".into(), size_mb: BLANK_MB, policy, ..Disk::default() });
    }
    let (guest, computer_name) = match e.child("GuestCustomizationSection") {
        Some(section) => guest::read(section, &Guest::default())?,
        None => (Guest::default(), None),
    };
    let nics = match e.child("NetworkConnectionSection") {
        Some(section) => nics::read(section, &shop.reach)?,
        None => Vec::new(),
    };
    let memory = match spec.child("MemoryResourceMb") {
        Some(m) => m.number("Configured")?,
        None => None,
    };
    let mut besides = reconfigure::of_spec(spec, Besides::default())?;
    if let Some(boot) = e.child("BootOptions") {
        besides.boot = crate::api::vm::read_boot(boot, &besides.boot)?;
    }
    let vm = VmSpec {
        name: name.to_owned(),
        description: e.word("Description").unwrap_or_default().to_owned(),
        computer_name: computer_name.unwrap_or_default(),
        cpus: spec.number("NumCpus")?.unwrap_or(1),
        memory_mb: memory.unwrap_or(512),
        sizing,
        disks,
        nics,
        os: spec.word("OsType").unwrap_or_default().to_owned(),
        power: if on { Power::On } else { Power::Off },
        besides,
        ..VmSpec::default()
    };
    let disc = e.child("Media").and_then(Read::id).map(TemplateId);
    if let Some(disc) = disc {
        // it is put in when the machine is there, and what can't be is said before
        let disc = catalog::template(ask.d(), &ask.actor, disc).await?;
        can::or_not_now(can::template(&disc, Action::VmMediaInsert))?;
    }
    Ok((Part { template: None, spec: vm, guest }, disc))
}

/// A machine without a disk has nothing to keep its system on.
const BLANK_MB: i64 = 8 * 1024;

/// The name that a copy of a machine gets, if no other is said.
pub(crate) async fn name_of(ask: &Ask, vm: VmId) -> Result<String> {
    Ok(vm::get(ask.d(), &ask.actor, vm).await?.name)
}
