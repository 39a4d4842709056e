//! VMs: one more in a vApp, one that there is, and a copy.
use super::{
    AsCode, Site, TASK, Way, curl,
    hcl::{self, Block},
    in_vdc, named, nic, shell,
    vapp::{IMPORT, power},
    xml::{El, OVF, VCLOUD, el, text},
};
use model::{
    Action, NetworkId, SizingId, can, name,
    network::Network,
    vapp::Vapp,
    vm::{Power, Vm, VmSpec},
};

/// A policy instead of numbers.
pub(super) fn compute_policy(site: &Site, id: SizingId) -> El {
    let href = site.href(format_args!("cloudapi/2.0.0/vdcComputePolicies/{}", id.urn()));
    el("ComputePolicy").with(el("VmSizingPolicy").attr("href", href).attr("id", id.urn()))
}

/// An empty machine. `spec` is what was typed so far.
pub fn add(site: &Site, v: &Vapp, spec: &VmSpec, networks: &[Network]) -> AsCode {
    let (name, on) = (named(&spec.name, "my-vm"), spec.power == Power::On);
    let host = name::label_from(name, 63);
    let disk = |(i, d): (usize, &model::vm::Disk)| {
        el("DiskSettings")
            .with(text("SizeMb", d.size_mb))
            .with(text("UnitNumber", i))
            .with(text("BusNumber", 0))
            .with(text("AdapterType", 5))
    };
    let disks = el("DiskSection").and(spec.disks.iter().enumerate().map(disk));
    let hardware = el("VmSpecSection")
        .attr("Modified", true)
        .with(text("ovf:Info", "What it is made of"))
        .with(text("NumCpus", spec.cpus))
        .with(el("MemoryResourceMb").with(text("Configured", spec.memory_mb)))
        .with(disks);
    let nics = (!spec.nics.is_empty()).then(|| nic::section(&spec.nics, networks));
    let item = el("CreateItem")
        .attr("name", name)
        .said("Description", &spec.description)
        .with(el("GuestCustomizationSection").with(text("ovf:Info", "Guest")).with(text("ComputerName", &host)))
        .and(nics)
        .with(hardware)
        .and(spec.sizing.map(|id| compute_policy(site, id)));
    let body = el("RecomposeVAppParams").attrs(&[VCLOUD, OVF]).attr("powerOn", on).with(item);
    let path = format!("api/vApp/vapp-{}/action/recomposeVApp", v.id);
    let curl = Way::code(curl::post_xml(site, &path, "recomposeVAppParams", &body)).but(TASK);

    let (cpus, memory) = (spec.cpus.to_string(), spec.memory_mb.to_string());
    let mut lines = in_vdc(site, &v.org_name, &v.vdc_name);
    let line = shell::vcd(["vapp", "add-vm-scratch", &v.name, "-vm", name, "-cn", &host, "-os", "otherlinux64guest"]);
    let line = shell::with(line, &[("-cpu", &cpus), ("-m", &memory), ("-d", spec.description.trim())]);
    lines.push(if on { line + " -deploy -power-on" } else { line });
    let vcd = Way::vcd([&v.name, name], lines).but("vcd-cli gives it a disk of 8 GB, no NIC and no sizing policy.");

    let label = hcl::label(name);
    let (beside, inside) = nic::blocks((&v.org_name, &v.vdc_name, &label, &hcl::quoted(&v.name)), &spec.nics, networks);
    let vm = hcl::in_vdc(Block::resource("vcd_vapp_vm", name), &v.org_name, &v.vdc_name)
        .text("vapp_name", &v.name)
        .text("name", name)
        .said("description", &spec.description)
        .text("computer_name", &host)
        .text("os_type", "otherLinux64Guest")
        .text("hardware_version", "vmx-19");
    let vm = sized(vm, spec.sizing, spec.cpus, spec.memory_mb).is("power_on", on).and(inside);
    let data = spec.disks.first().map(|d| {
        hcl::in_vdc(Block::resource("vcd_vm_internal_disk", &format!("{name}_data")), &v.org_name, &v.vdc_name)
            .text("vapp_name", &v.name)
            .is("vm_name", format_args!("vcd_vapp_vm.{label}.name"))
            .text("bus_type", "paravirtual")
            .is("bus_number", 0)
            .is("unit_number", 1)
            .is("size_in_mb", d.size_mb)
            .is("allow_vm_reboot", true)
    });
    let terraform = hcl::all(beside.into_iter().chain([vm]).chain(data))
        .but("A VM of the provider begins with a disk of 8 GB; the one of this form is added to it.")
        .but_if(nic::hidden(&spec.nics), "It has no word for the VDC's own network, so that NIC is left out.");
    AsCode::of_form(curl, vcd, terraform)
}

pub(super) fn sized(block: Block, sizing: Option<SizingId>, cpus: i32, memory_mb: i64) -> Block {
    match sizing {
        Some(id) => block.text("sizing_policy_id", &id.urn()),
        None => block.is("cpus", cpus).is("cpu_cores", 1).is("memory", memory_mb),
    }
}

/// Import blocks and resources for machines, and what stands between the names of their ids.
pub(super) fn imported(vms: &[&Vm], alone: bool, inside: &[NetworkId]) -> (Vec<Block>, &'static str) {
    let names: Vec<&str> = vms.iter().flat_map(|m| [m.org_name.as_str(), &m.vdc_name, &m.vapp_name, &m.name]).collect();
    let (_, separator) = hcl::import_id(&names);
    imported_by(vms, alone, inside, separator)
}

/// `alone`: made without a vApp, which is then nobody's business. `inside`: networks within the vApp.
pub(super) fn imported_by(
    vms: &[&Vm],
    alone: bool,
    inside: &[NetworkId],
    separator: &'static str,
) -> (Vec<Block>, &'static str) {
    let kind = if alone { "vcd_vm" } else { "vcd_vapp_vm" };
    let one = |m: &&Vm| {
        let parts = match alone {
            true => vec![m.org_name.as_str(), &m.vdc_name, &m.name],
            false => vec![m.org_name.as_str(), &m.vdc_name, &m.vapp_name, &m.name],
        };
        let block = hcl::in_vdc(Block::resource(kind, &m.name), &m.org_name, &m.vdc_name);
        let block = if alone { block } else { block.text("vapp_name", &m.vapp_name) };
        let block =
            block.text("name", &m.name).said("description", &m.description).text("computer_name", &m.computer_name);
        let block = sized(block, m.sizing.as_ref().map(|(id, _)| *id), m.cpus, m.memory_mb)
            .is("power_on", m.power == Power::On);
        // all of them: one that is left out would be taken away
        let nics = m.nics.iter().map(|n| nic::imported(n, inside));
        [Block::import(kind, &m.name, &parts.join(separator)), block.and(nics)]
    };
    (vms.iter().flat_map(one).collect(), separator)
}

/// `alone`: made without a vApp. `inside`: networks within the vApp.
pub fn thing(site: &Site, m: &Vm, alone: bool, inside: &[NetworkId]) -> AsCode {
    let path = format!("api/vApp/vm-{}", m.id);
    let does = power(|a| can::vm(m, a).is_ok(), Action::VmPowerOn, Action::VmShutdown);
    let mut calls = vec![("read it", curl::get(site, &path))];
    let mut lines = in_vdc(site, &m.org_name, &m.vdc_name);
    lines.push(shell::vcd(["vm", "info", &m.vapp_name, &m.name]));
    if let Some((action, verb)) = does {
        let what = if action == "powerOn" { "power it on" } else { "shut it down" };
        calls.push((what, curl::post(site, &format!("{path}/power/action/{action}"))));
        lines.push(shell::vcd(["vm", verb, &m.vapp_name, &m.name]));
    }
    let (blocks, separator) = imported(&[m], alone, inside);
    AsCode::of_thing(
        Way::code(curl::steps(&calls)),
        Way::vcd([&m.vapp_name, &m.name], lines),
        hcl::all(blocks).but(IMPORT),
    )
    .separated(separator)
}

pub fn copy(site: &Site, m: &Vm, into: &Vapp, name: &str) -> AsCode {
    let name = named(name, "my-copy");
    let source = el("Source").attr("href", site.href(format_args!("api/vApp/vm-{}", m.id)));
    let item = el("SourcedItem").with(source).with(el("VmGeneralParams").with(text("Name", name)));
    let body = el("RecomposeVAppParams").attrs(&[VCLOUD]).with(item);
    let path = format!("api/vApp/vapp-{}/action/recomposeVApp", into.id);
    let mut lines = in_vdc(site, &m.org_name, &m.vdc_name);
    let targets = ["--target-vapp-name", &into.name, "--target-vm-name", name];
    lines.push(shell::vcd(["vm", "copy", &m.vapp_name, &m.name].into_iter().chain(targets)));
    let vcd = match into.vdc == m.vdc {
        true => Way::vcd([&m.vapp_name, &m.name, &into.name, name], lines),
        false => Way::none("vcd-cli copies VMs within one VDC."),
    };
    let resource = hcl::in_vdc(Block::resource("vcd_vapp_vm", name), &into.org_name, &into.vdc_name)
        .text("vapp_name", &into.name)
        .text("name", name)
        .text("copy_from_vm_id", &m.id.urn())
        .text("computer_name", &name::label_from(name, 63))
        .is("power_on", false);
    AsCode::of_form(
        Way::code(curl::post_xml(site, &path, "recomposeVAppParams", &body)).but(TASK),
        vcd,
        hcl::all([resource]),
    )
}
