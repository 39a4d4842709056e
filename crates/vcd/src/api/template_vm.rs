//! Machines inside templates. They have no rows of their own: their ids are made from the template's and their place in it.
use crate::{
    answer::Answer,
    api::vm::spec::{HARDWARE_VERSION, MHZ_PER_CPU, firmware, guessed},
    ask::{Ask, read_id},
    routes::Routes,
    wire::{
        doc::{document, link, section, section_document},
        href::{Base, template_vm_id, templates_of, urn},
        media, product,
        rasd::{self, DiskItem, NicItem},
        status,
        times::stamp,
    },
};
use domain::catalog;
use model::{
    Error, Kind, Result,
    template::{Template, TemplateVm},
};
use std::{collections::BTreeMap, fmt::Display};
use xml::Writer;

pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .get("/api/vAppTemplate/vm-{id}", get)
        .get("/api/vAppTemplate/vm-{id}/virtualHardwareSection", get_hardware)
        .get("/api/vAppTemplate/vm-{id}/networkConnectionSection", get_connections)
        .get("/api/vAppTemplate/vm-{id}/guestCustomizationSection", get_guest)
        .get("/api/vAppTemplate/vm-{id}/productSections", get_products)
        .get("/api/vAppTemplate/vm-{id}/metadata", get_metadata)
}

/// The template it is in, and its place there.
async fn found(ask: &Ask) -> Result<(Template, usize)> {
    let id = read_id(ask.part("id"), Kind::Vm)?;
    for (template, index) in templates_of(id) {
        match catalog::template(ask.d(), &ask.actor, template).await {
            Ok(found) if index < found.vms.len() => return Ok((found, index)),
            Ok(_) | Err(Error::NotFound(_)) => {}
            Err(e) => return Err(e),
        }
    }
    Err(Error::NotFound(Kind::Vm))
}

async fn get(ask: Ask) -> Result<Answer> {
    let (template, index) = found(&ask).await?;
    let owned = attributes(ask.base(), &template, index);
    let all: Vec<(&str, &dyn Display)> = owned.iter().map(|(n, v)| (*n, v as &dyn Display)).collect();
    let text = document("Vm", &all, |w| content(w, ask.base(), &template, index));
    Ok(Answer::xml(media::VM, text))
}

/// Within its template.
pub(crate) fn element(w: &mut Writer, base: &Base, template: &Template, index: usize) {
    let owned = attributes(base, template, index);
    let all: Vec<(&str, &dyn Display)> = owned.iter().map(|(n, v)| (*n, v as &dyn Display)).collect();
    w.el("Vm", &all, |w| content(w, base, template, index));
}

fn attributes(base: &Base, template: &Template, index: usize) -> Vec<(&'static str, String)> {
    let id = template_vm_id(template.id, index);
    vec![
        ("needsCustomization", "true".into()),
        ("deployed", "false".into()),
        ("status", status::template(template).0.to_string()),
        ("name", template.vms[index].name.clone()),
        ("id", urn("vm", id)),
        ("href", base.template_vm(id)),
        ("type", media::VM.into()),
    ]
}

fn content(w: &mut Writer, base: &Base, template: &Template, index: usize) {
    let vm = &template.vms[index];
    let href = base.template_vm(template_vm_id(template.id, index));
    link(w, "up", base.template(template.id), media::VAPP_TEMPLATE);
    link(w, "down", format_args!("{href}/metadata"), media::METADATA);
    link(w, "down", format_args!("{href}/productSections/"), media::PRODUCT_SECTIONS);
    w.text("Description", "");
    w.el("ovf:VirtualHardwareSection", &[("ovf:transport", &"iso")], |w| hardware(w, vm));
    let os = [("ovf:id", &101 as &dyn Display), ("vmw:osType", &guessed(system(template, vm)))];
    w.el("ovf:OperatingSystemSection", &os, |w| {
        w.text("ovf:Info", "Specifies the operating system installed");
        w.text("ovf:Description", system(template, vm));
    });
    let at = format!("{href}/networkConnectionSection/");
    section(w, "NetworkConnectionSection", &at, media::NETWORK_CONNECTION, |w| connections(w, vm));
    let at = format!("{href}/guestCustomizationSection/");
    section(w, "GuestCustomizationSection", &at, media::GUEST_CUSTOMIZATION, |w| guest(w, vm));
    product::section(w, vm.properties.iter().filter(|p| !p.shared));
    w.text("VAppScopedLocalId", &vm.name);
    spec(w, template, vm);
    w.text("DateCreated", stamp(template.created_at));
}

fn system<'a>(template: &'a Template, vm: &'a TemplateVm) -> &'a str {
    if vm.os.is_empty() { &template.os } else { &vm.os }
}

const CPU: u32 = 1;
const MEMORY: u32 = 2;
const FIRST_CONTROLLER: u32 = 10;
const FIRST_DISK: u32 = 2000;
const FIRST_NIC: u32 = 7000;

/// A disk of it: its controller's number, which of that kind that is, and its place on it.
struct Placed<'a> {
    disk: &'a model::vm::Disk,
    instance: u32,
    controller: u32,
    unit: u32,
}

/// One controller for each kind of bus, with its disks one after the other.
fn placed(vm: &TemplateVm) -> Vec<Placed<'_>> {
    let mut buses: BTreeMap<u8, u32> = BTreeMap::new();
    let each = vm.disks.iter().enumerate().map(|(i, disk)| {
        let adapter = rasd::words(disk.bus).adapter;
        let units = buses.entry(adapter).or_default();
        let unit = *units;
        // the seventh is the controller's own
        *units += if unit == 6 { 2 } else { 1 };
        Placed { disk, instance: FIRST_DISK + i as u32, controller: FIRST_CONTROLLER + u32::from(adapter), unit }
    });
    each.collect()
}

fn hardware(w: &mut Writer, vm: &TemplateVm) {
    w.text("ovf:Info", "Virtual hardware requirements");
    w.el("ovf:System", &[], |w| {
        w.text("vssd:ElementName", "Virtual Hardware Family");
        w.text("vssd:InstanceID", 0);
        w.text("vssd:VirtualSystemIdentifier", &vm.name);
        w.text("vssd:VirtualSystemType", HARDWARE_VERSION);
    });
    for nic in vm.nic_specs() {
        let item = NicItem {
            instance: FIRST_NIC + u32::from(nic.index.unsigned_abs()),
            index: nic.index,
            mac: "",
            connected: false,
            primary: nic.primary,
            network: "none",
            mode: "NONE",
            ip: None,
            adapter: nic.adapter,
        };
        w.el("ovf:Item", &[], |w| rasd::nic(w, &item));
    }
    let disks = placed(vm);
    let mut controllers = BTreeMap::new();
    for p in &disks {
        controllers.entry(p.controller).or_insert(rasd::words(p.disk.bus));
    }
    let mut numbers: BTreeMap<u8, u32> = BTreeMap::new();
    for (instance, words) in controllers {
        let number = numbers.entry(words.kind).or_default();
        w.el("ovf:Item", &[], |w| rasd::controller(w, instance, *number, words));
        *number += 1;
    }
    for (i, p) in disks.iter().enumerate() {
        let item = DiskItem {
            instance: p.instance,
            controller: p.controller,
            unit: p.unit,
            label: format!("Hard disk {}", i + 1),
            size_mb: p.disk.size_mb,
            words: rasd::words(p.disk.bus),
            independent: None,
            profile: "",
        };
        w.el("ovf:Item", &[], |w| rasd::disk(w, &item));
    }
    let plain = model::vm::Allocation::default();
    w.el("ovf:Item", &[], |w| rasd::cpu(w, CPU, vm.cpus, vm.hardware.cores_per_socket.max(1), &plain, 0));
    w.el("ovf:Item", &[], |w| rasd::memory(w, MEMORY, vm.memory_mb, &plain, 0));
}

/// On no network: whoever deploys it says on which.
fn connections(w: &mut Writer, vm: &TemplateVm) {
    w.text("ovf:Info", "Specifies the available VM network connections");
    w.text("PrimaryNetworkConnectionIndex", 0);
    for nic in vm.nic_specs() {
        w.el("NetworkConnection", &[("network", &"none"), ("needsCustomization", &true)], |w| {
            w.text("NetworkConnectionIndex", nic.index);
            w.text("IsConnected", false);
            w.text("IpAddressAllocationMode", "NONE");
            w.text("NetworkAdapterType", rasd::adapter(nic.adapter));
        });
    }
}

fn guest(w: &mut Writer, vm: &TemplateVm) {
    w.text("ovf:Info", "Specifies Guest OS Customization Settings");
    w.text("Enabled", true);
    w.text("AdminPasswordEnabled", false);
    w.text("ResetPasswordRequired", false);
    w.text("ComputerName", &vm.name);
}

fn spec(w: &mut Writer, template: &Template, vm: &TemplateVm) {
    w.el("VmSpecSection", &[("Modified", &false)], |w| {
        w.text("ovf:Info", "VM Specification");
        w.text("OsType", guessed(system(template, vm)));
        w.text("Firmware", firmware(&vm.hardware));
        w.text("NumCpus", vm.cpus);
        w.text("NumCoresPerSocket", vm.hardware.cores_per_socket.max(1));
        w.el("CpuResourceMhz", &[], |w| w.text("Configured", i64::from(vm.cpus) * MHZ_PER_CPU));
        w.el("MemoryResourceMb", &[], |w| w.text("Configured", vm.memory_mb));
        w.el("DiskSection", &[], |w| {
            for p in placed(vm) {
                w.el("DiskSettings", &[], |w| {
                    w.text("DiskId", p.instance);
                    w.text("SizeMb", p.disk.size_mb);
                    w.text("UnitNumber", p.unit);
                    w.text("BusNumber", 0);
                    w.text("AdapterType", rasd::words(p.disk.bus).adapter);
                });
            }
        });
        w.text("HardwareVersion", HARDWARE_VERSION);
        w.text("VmToolsVersion", 0);
        w.text("VirtualCpuType", "VM64");
    });
}

async fn get_hardware(ask: Ask) -> Result<Answer> {
    let (template, index) = found(&ask).await?;
    let text =
        document("ovf:VirtualHardwareSection", &[("ovf:transport", &"iso")], |w| hardware(w, &template.vms[index]));
    Ok(Answer::xml(media::VIRTUAL_HARDWARE, text))
}

async fn get_connections(ask: Ask) -> Result<Answer> {
    let (template, index) = found(&ask).await?;
    let href = format!("{}/networkConnectionSection/", ask.base().template_vm(template_vm_id(template.id, index)));
    let vm = &template.vms[index];
    let text = section_document("NetworkConnectionSection", &href, media::NETWORK_CONNECTION, |w| connections(w, vm));
    Ok(Answer::xml(media::NETWORK_CONNECTION, text))
}

async fn get_guest(ask: Ask) -> Result<Answer> {
    let (template, index) = found(&ask).await?;
    let href = format!("{}/guestCustomizationSection/", ask.base().template_vm(template_vm_id(template.id, index)));
    let vm = &template.vms[index];
    let text = section_document("GuestCustomizationSection", &href, media::GUEST_CUSTOMIZATION, |w| guest(w, vm));
    Ok(Answer::xml(media::GUEST_CUSTOMIZATION, text))
}

async fn get_products(ask: Ask) -> Result<Answer> {
    let (template, index) = found(&ask).await?;
    let href = format!("{}/productSections/", ask.base().template_vm(template_vm_id(template.id, index)));
    let text = document("ProductSectionList", &[("href", &href), ("type", &media::PRODUCT_SECTIONS)], |w| {
        product::section(w, &template.vms[index].properties);
    });
    Ok(Answer::xml(media::PRODUCT_SECTIONS, text))
}

/// What is written down is written down about the whole template.
async fn get_metadata(ask: Ask) -> Result<Answer> {
    let (template, index) = found(&ask).await?;
    let href = format!("{}/metadata", ask.base().template_vm(template_vm_id(template.id, index)));
    Ok(Answer::xml(media::METADATA, document("Metadata", &[("href", &href), ("type", &media::METADATA)], |_| {})))
}
