//! A machine's virtual hardware: all of it, and its processors, memory, disks, network cards and discs by themselves.
use super::{
    Shown, nics, profile,
    reconfigure::{self, Change},
    slots::{self, placed},
    spec,
};
use crate::{
    answer::Answer,
    api::task,
    ask::Ask,
    routes::Routes,
    wire::{
        body::Read,
        doc::{document, link},
        media,
        rasd::{self, DiskItem, NicItem},
    },
};
use domain::{disk, vm};
use model::{
    Action, DiskId, Error, Kind, Result,
    disk::{DiskSpec, Slot},
    nic::NicSpec,
    query::last_uuid,
    vm::{Besides, Vm},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};
use uuid::Uuid;
use xml::{Element, Writer};

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/vApp/vm-{id}/virtualHardwareSection", get)
        .put("/api/vApp/vm-{id}/virtualHardwareSection", set)
        .get("/api/vApp/vm-{id}/virtualHardwareSection/cpu", get_cpu)
        .put("/api/vApp/vm-{id}/virtualHardwareSection/cpu", set_cpu)
        .get("/api/vApp/vm-{id}/virtualHardwareSection/memory", get_memory)
        .put("/api/vApp/vm-{id}/virtualHardwareSection/memory", set_memory)
        .get("/api/vApp/vm-{id}/virtualHardwareSection/disks", get_disks)
        .put("/api/vApp/vm-{id}/virtualHardwareSection/disks", set_disks)
        .get("/api/vApp/vm-{id}/virtualHardwareSection/networkCards", get_cards)
        .put("/api/vApp/vm-{id}/virtualHardwareSection/networkCards", set_cards)
        .get("/api/vApp/vm-{id}/virtualHardwareSection/media", get_media)
}

const CPU: u32 = 1;
const MEMORY: u32 = 2;
/// The IDE controller that CD drives hang on.
const IDE: u32 = 200;

async fn found(ask: &Ask) -> Result<Vm> {
    vm::get(ask.d(), &ask.actor, ask.id(Kind::Vm)?).await
}

/// Within the machine's document.
pub(crate) fn section(w: &mut Writer, ask: &Ask, shown: &Shown) {
    let href = format!("{}/virtualHardwareSection/", ask.base().vm(shown.vm.id));
    let attributes: [(&str, &dyn Display); 3] =
        [("ovf:transport", &"iso"), ("vcloud:href", &href), ("vcloud:type", &media::VIRTUAL_HARDWARE)];
    w.el("ovf:VirtualHardwareSection", &attributes, |w| content(w, ask, shown));
}

fn content(w: &mut Writer, ask: &Ask, shown: &Shown) {
    let vm = shown.vm;
    w.text("ovf:Info", "Virtual hardware requirements");
    w.el("ovf:System", &[], |w| {
        w.text("vssd:ElementName", "Virtual Hardware Family");
        w.text("vssd:InstanceID", 0);
        w.text("vssd:VirtualSystemIdentifier", &vm.name);
        w.text("vssd:VirtualSystemType", spec::hardware_version(vm));
    });
    for nic in &vm.nics {
        w.el("ovf:Item", &[], |w| card(w, nic));
    }
    controllers_and_disks(w, "ovf:Item", ask, shown);
    discs(w, "ovf:Item", ask, vm);
    w.el("ovf:Item", &[], |w| cpu_item(w, vm));
    w.el("ovf:Item", &[], |w| memory_item(w, vm));
    let href = format!("{}/virtualHardwareSection/", ask.base().vm(vm.id));
    link(w, "edit", &href, media::VIRTUAL_HARDWARE);
    for (part, kind) in [("cpu", media::RASD_ITEM), ("memory", media::RASD_ITEM), ("disks", media::RASD_ITEMS)] {
        link(w, "down", format_args!("{href}{part}"), kind);
    }
    for (key, value) in &vm.besides.extra_config {
        w.empty("vmw:ExtraConfig", &[("ovf:required", &false), ("vmw:key", key), ("vmw:value", value)]);
    }
}

pub(crate) fn cores(vm: &Vm) -> i32 {
    vm.built().cores_per_socket.max(1)
}

fn cpu_item(w: &mut Writer, vm: &Vm) {
    rasd::cpu(w, CPU, vm.cpus, cores(vm), &vm.besides.cpu, spec::cpu_shares(vm));
}

fn memory_item(w: &mut Writer, vm: &Vm) {
    rasd::memory(w, MEMORY, vm.memory_mb, &vm.besides.memory, spec::memory_shares(vm));
}

fn card(w: &mut Writer, nic: &model::nic::Nic) {
    let ip = nics::address(nic);
    let item = NicItem {
        instance: 7000 + u32::from(nic.spec.index.unsigned_abs()),
        index: nic.spec.index,
        mac: nics::mac(nic),
        connected: nic.spec.connected,
        primary: nic.spec.primary,
        network: nics::network_name(nic),
        mode: nics::mode(nic),
        ip: ip.as_deref(),
        adapter: nic.spec.adapter,
    };
    rasd::nic(w, &item);
}

fn controllers_and_disks(w: &mut Writer, element: &str, ask: &Ask, shown: &Shown) {
    let all = placed(shown.vm);
    let mut controllers = BTreeMap::new();
    for p in &all {
        controllers.entry(p.controller).or_insert((p.slot.bus.unsigned_abs(), p.words));
    }
    for (instance, (bus, words)) in controllers {
        w.el(element, &[], |w| rasd::controller(w, instance, bus.into(), words));
    }
    for (i, p) in all.iter().enumerate() {
        let policy =
            profile(shown.profiles, &p.disk.policy).map(|policy| ask.base().storage_profile(shown.vm.vdc, policy.id));
        let item = DiskItem {
            instance: p.instance,
            controller: p.controller,
            unit: p.slot.unit.unsigned_abs().into(),
            label: format!("Hard disk {}", i + 1),
            size_mb: p.disk.size_mb,
            words: p.words,
            independent: p.disk.id.filter(|_| p.disk.independent).map(|id| ask.base().disk(id)),
            profile: policy.as_deref().unwrap_or_default(),
        };
        w.el(element, &[], |w| rasd::disk(w, &item));
    }
}

fn discs(w: &mut Writer, element: &str, ask: &Ask, vm: &Vm) {
    let discs: Vec<_> = vm.discs().filter(|d| !d.leaving).collect();
    if discs.is_empty() {
        return;
    }
    w.el(element, &[], |w| rasd::ide_controller(w, IDE, 0));
    for (i, disc) in discs.iter().enumerate() {
        let unit = u32::try_from(i).unwrap_or_default();
        let href = disc.media.map(|id| ask.base().media(id));
        w.el(element, &[], |w| rasd::cd(w, 3500 + unit, IDE, unit, href.as_deref()));
    }
}

async fn get(ask: Ask) -> Result<Answer> {
    let vm = found(&ask).await?;
    let profiles = super::profiles(&ask, vm.vdc).await?;
    let shown = Shown { vm: &vm, profiles: &profiles, guest: None, snapshot: None, tasks: &[] };
    let href = format!("{}/virtualHardwareSection/", ask.base().vm(vm.id));
    let attributes: [(&str, &dyn Display); 3] =
        [("ovf:transport", &"iso"), ("vcloud:href", &href), ("vcloud:type", &media::VIRTUAL_HARDWARE)];
    let text = document("ovf:VirtualHardwareSection", &attributes, |w| content(w, &ask, &shown));
    Ok(Answer::xml(media::VIRTUAL_HARDWARE, text))
}

/// What a section of hardware asks for, read and compared before anything is done.
pub(crate) struct Hardware {
    pub(crate) besides: Besides,
    pub(crate) size: (i32, i64),
    /// None: as they are.
    pub(crate) disks: Option<Disks>,
    pub(crate) cards: Option<Vec<NicSpec>>,
}

impl Hardware {
    /// As it is.
    pub(crate) fn of(vm: &Vm) -> Hardware {
        Hardware { besides: vm.besides.clone(), size: (vm.cpus, vm.memory_mb), disks: None, cards: None }
    }
}

/// All disks as they are to be: those that are known by their ids, and new ones without.
pub(crate) type Disks = Vec<(Option<DiskId>, DiskSpec)>;

/// The extra settings and the hardware in it. Disks and cards that are not among its items go, where it names any of their kind
/// or is the whole of the hardware.
pub(crate) async fn read(ask: &Ask, vm: &Vm, section: &Element) -> Result<Hardware> {
    let item = |kind: &str| section.all("Item").find(|i| i.word("ResourceType") == Some(kind));
    let mut out = Hardware { besides: extra_settings(section, vm)?, ..Hardware::of(vm) };
    if let Some(item) = item("3") {
        processors(vm, item, &mut out)?;
    }
    if let Some(item) = item("4") {
        memory(vm, item, &mut out)?;
    }
    let whole = item("3").is_some() && item("4").is_some();
    if whole || item("17").is_some() {
        out.disks = disks_as(vm, section)?;
    }
    if whole || item("10").is_some() {
        out.cards = nics::changed(vm, &nics::from_items(ask, vm, section).await?);
    }
    if whole || item("15").is_some() {
        same_discs(ask, vm, section)?;
    }
    Ok(out)
}

fn processors(vm: &Vm, item: &Element, out: &mut Hardware) -> Result<()> {
    out.size.0 = quantity(item)?;
    if let Some(n) = item.number("CoresPerSocket")?.filter(|n| *n != cores(vm)) {
        out.besides.cores_per_socket = Some(reconfigure::some_cores(n)?);
    }
    out.besides.cpu = spec::of_item(item, vm.besides.cpu, spec::cpu_shares(vm))?;
    Ok(())
}

fn memory(vm: &Vm, item: &Element, out: &mut Hardware) -> Result<()> {
    out.size.1 = quantity(item)?;
    out.besides.memory = spec::of_item(item, vm.besides.memory, spec::memory_shares(vm))?;
    Ok(())
}

/// Discs come and go by actions of their own.
fn same_discs(ask: &Ask, vm: &Vm, section: &Element) -> Result<()> {
    let drives = section.all("Item").filter(|i| i.word("ResourceType") == Some("15"));
    let said: BTreeSet<Uuid> = drives.filter_map(|i| last_uuid(i.word("HostResource")?)).collect();
    let there: BTreeSet<Uuid> = vm.discs().filter(|d| !d.leaving).filter_map(|d| d.media).map(|id| id.0).collect();
    match said == there {
        true => Ok(()),
        false => Err(Error::BadRequest(format!(
            "The discs of {} are not changed with its hardware. Put them in and take them out with {}/media/action/insertMedia and ejectMedia.",
            vm.name,
            ask.base().vm(vm.id)
        ))),
    }
}

async fn set(ask: Ask) -> Result<Answer> {
    let body = ask.xml("VirtualHardwareSection")?;
    let vm = found(&ask).await?;
    let wanted = read(&ask, &vm, &body).await?;
    reconfigure::carry_out(&ask, &vm, Change::of_hardware(&vm, wanted)).await
}

fn extra_settings(body: &Element, vm: &Vm) -> Result<Besides> {
    let mut besides = vm.besides.clone();
    for extra in body.all("ExtraConfig") {
        let key = extra.attr("key").unwrap_or_default().trim().to_owned();
        match extra.attr("value").map(str::trim).unwrap_or_default() {
            _ if key.is_empty() => return Err(Error::BadRequest("An ExtraConfig has no key.".into())),
            "" => drop(besides.extra_config.remove(&key)),
            value => drop(besides.extra_config.insert(key, value.to_owned())),
        }
    }
    if besides.extra_config.len() > 200 {
        return Err(Error::BadRequest("At most 200 extra settings.".into()));
    }
    Ok(besides)
}

/// 202, whether or not anything was new.
pub(crate) async fn keep(ask: &Ask, vm: &Vm, besides: Besides) -> Result<Answer> {
    if besides == vm.besides {
        return reconfigure::nothing(ask, vm).await;
    }
    let task = vm::keep(ask.d(), &ask.actor, vm.id, besides).await?;
    task::accepted(ask, task).await
}

async fn item(ask: Ask, part: &'static str, fill: fn(&mut Writer, &Vm)) -> Result<Answer> {
    let vm = found(&ask).await?;
    let href = format!("{}/virtualHardwareSection/{part}", ask.base().vm(vm.id));
    let text = document("Item", &[("href", &href), ("type", &media::RASD_ITEM)], |w| {
        fill(w, &vm);
        link(w, "edit", &href, media::RASD_ITEM);
    });
    Ok(Answer::xml(media::RASD_ITEM, text))
}

async fn get_cpu(ask: Ask) -> Result<Answer> {
    item(ask, "cpu", cpu_item).await
}

async fn get_memory(ask: Ask) -> Result<Answer> {
    item(ask, "memory", memory_item).await
}

fn quantity<T: std::str::FromStr>(body: &Element) -> Result<T> {
    body.number("VirtualQuantity")?.ok_or_else(|| Error::BadRequest("The item has no VirtualQuantity.".into()))
}

async fn set_cpu(ask: Ask) -> Result<Answer> {
    let body = ask.xml("Item")?;
    let vm = found(&ask).await?;
    let mut wanted = Hardware::of(&vm);
    processors(&vm, &body, &mut wanted)?;
    reconfigure::carry_out(&ask, &vm, Change::of_hardware(&vm, wanted)).await
}

async fn set_memory(ask: Ask) -> Result<Answer> {
    let body = ask.xml("Item")?;
    let vm = found(&ask).await?;
    let mut wanted = Hardware::of(&vm);
    memory(&vm, &body, &mut wanted)?;
    reconfigure::carry_out(&ask, &vm, Change::of_hardware(&vm, wanted)).await
}

async fn list(ask: Ask, part: &'static str, fill: impl FnOnce(&mut Writer, &Ask, &Shown)) -> Result<Answer> {
    let vm = found(&ask).await?;
    let profiles = super::profiles(&ask, vm.vdc).await?;
    let shown = Shown { vm: &vm, profiles: &profiles, guest: None, snapshot: None, tasks: &[] };
    let href = format!("{}/virtualHardwareSection/{part}", ask.base().vm(vm.id));
    let text = document("RasdItemsList", &[("href", &href), ("type", &media::RASD_ITEMS)], |w| {
        link(w, "edit", &href, media::RASD_ITEMS);
        fill(w, &ask, &shown);
    });
    Ok(Answer::xml(media::RASD_ITEMS, text))
}

async fn get_disks(ask: Ask) -> Result<Answer> {
    list(ask, "disks", |w, ask, shown| controllers_and_disks(w, "Item", ask, shown)).await
}

async fn get_media(ask: Ask) -> Result<Answer> {
    list(ask, "media", |w, ask, shown| match shown.vm.discs().all(|d| d.leaving) {
        // pyvcloud can't read a list of none: the drive that a disc would be put into
        true => w.el("Item", &[], |w| rasd::cd(w, 3500, IDE, 0, None)),
        false => discs(w, "Item", ask, shown.vm),
    })
    .await
}

async fn get_cards(ask: Ask) -> Result<Answer> {
    list(ask, "networkCards", |w, _, shown| {
        for nic in &shown.vm.nics {
            w.el("Item", &[], |w| card(w, nic));
        }
    })
    .await
}

async fn set_disks(ask: Ask) -> Result<Answer> {
    let body = ask.xml("RasdItemsList")?;
    let vm = found(&ask).await?;
    match disks_as(&vm, &body)? {
        Some(disks) => task::accepted(&ask, disk::set_all(ask.d(), &ask.actor, vm.id, disks).await?).await,
        None => reconfigure::nothing(&ask, &vm).await,
    }
}

/// Those that are known keep what they have, others are new, and what is missing goes. None: they are so already.
fn disks_as(vm: &Vm, list: &Element) -> Result<Option<Disks>> {
    let known = placed(vm);
    let mut changed = false;
    let mut wanted = Disks::new();
    let mut taken: Vec<Slot> = known.iter().map(|p| p.slot).collect();
    for item in list.all("Item").filter(|i| i.word("ResourceType") == Some("17")) {
        let host = item.child("HostResource").ok_or_else(|| Error::BadRequest("A disk has no HostResource.".into()))?;
        let size_mb: i64 =
            host.number("capacity")?.ok_or_else(|| Error::BadRequest("A disk has no capacity.".into()))?;
        let instance: Option<u32> = item.number("InstanceID")?;
        match known.iter().find(|p| Some(p.instance) == instance) {
            Some(p) if p.disk.independent => {}
            Some(p) => {
                changed |= size_mb != p.disk.size_mb;
                let spec = DiskSpec { size_mb, bus: p.disk.bus, slot: Some(p.slot), ..DiskSpec::default() };
                wanted.push((p.disk.id, spec));
            }
            None => {
                let bus = rasd::bus(host.attr("busType"), host.attr("busSubType"))?;
                let slot = slots::first_free(bus, &taken);
                taken.push(slot);
                changed = true;
                wanted.push((None, DiskSpec { size_mb, bus, slot: Some(slot), ..DiskSpec::default() }));
            }
        }
    }
    if !changed && wanted.len() == known.iter().filter(|p| !p.disk.independent).count() {
        return Ok(None);
    }
    Ok(Some(wanted))
}

/// The cards by their items; the network connection section says more about them.
async fn set_cards(ask: Ask) -> Result<Answer> {
    let body = ask.xml("RasdItemsList")?;
    let vm = found(&ask).await?;
    let nics = nics::from_items(&ask, &vm, &body).await?;
    nics::apply(&ask, vm.id, nics, Action::VmNics).await
}
