//! Independent disks.
use super::{
    AsCode, Site, TASK, Way, curl,
    hcl::{self, Block},
    in_vdc, named, shell,
    vapp::IMPORT,
    xml::{VCLOUD, el},
};
use model::{
    disk::{Bus, Disk, DiskSpec},
    vdc::Vdc,
};

/// VCD's words for a bus: its number and kind on the wire, and both for the provider.
fn words(bus: Bus) -> (u8, &'static str, &'static str, &'static str) {
    match bus {
        Bus::Any | Bus::Virtio => (6, "VirtualSCSI", "SCSI", "VirtualSCSI"),
        Bus::Scsi => (6, "lsilogic", "SCSI", "lsilogic"),
        Bus::Sata => (20, "vmware.sata.ahci", "SATA", "ahci"),
    }
}

/// What stands for a size until one is typed.
const SIZE_MB: i64 = 10 * 1024;

pub fn create(site: &Site, vdc: &Vdc, spec: &DiskSpec) -> AsCode {
    let name = named(&spec.name, "my-disk");
    let size_mb = if spec.size_mb > 0 { spec.size_mb } else { SIZE_MB };
    let (kind, sub, ..) = words(spec.bus);
    let disk = el("Disk").attr("name", name).attr("sizeMb", size_mb).attr("busType", kind).attr("busSubType", sub);
    let policy = (!spec.policy.is_empty()).then(|| el("StorageProfile").attr("name", &spec.policy));
    let body = el("DiskCreateParams").attrs(&[VCLOUD]).with(disk.said("Description", &spec.description).and(policy));
    let bytes = (size_mb << 20).to_string();
    let mut lines = in_vdc(site, &vdc.org_name, &vdc.name);
    lines.push(shell::with(
        shell::vcd(["disk", "create", name, &bytes]),
        &[("-d", spec.description.trim()), ("-s", &spec.policy)],
    ));
    let wished = (name, spec.description.as_str(), size_mb, spec.bus, spec.policy.as_str());
    AsCode::of_form(
        Way::code(curl::post_xml(site, &format!("api/vdc/{}/disk", vdc.id), "diskCreateParams", &body)).but(TASK),
        Way::vcd([name], lines).but_if(spec.bus != Bus::Any, "vcd-cli chooses no bus."),
        hcl::all([resource((&vdc.org_name, &vdc.name), wished)]),
    )
}

fn resource((org, vdc): (&str, &str), wished: (&str, &str, i64, Bus, &str)) -> Block {
    let (name, description, size_mb, bus, policy) = wished;
    let (_, _, kind, sub) = words(bus);
    hcl::in_vdc(Block::resource("vcd_independent_disk", name), org, vdc)
        .text("name", name)
        .said("description", description)
        .is("size_in_mb", size_mb)
        .text("bus_type", kind)
        .text("bus_sub_type", sub)
        .said("storage_profile", policy)
}

pub fn thing(site: &Site, d: &Disk) -> AsCode {
    let mut lines = in_vdc(site, &d.org_name, &d.vdc_name);
    lines.push(shell::vcd(["disk", "info", &d.name]));
    let (id, separator) = hcl::import_id(&[&d.org_name, &d.vdc_name, &d.id.urn()]);
    let kept = (d.name.as_str(), d.description.as_str(), d.size_mb, d.bus, d.policy.as_str());
    let blocks = [Block::import("vcd_independent_disk", &d.name, &id), resource((&d.org_name, &d.vdc_name), kept)];
    AsCode::of_thing(
        Way::code(curl::get(site, &format!("api/disk/{}", d.id))),
        Way::vcd([&d.name], lines),
        hcl::all(blocks).but(IMPORT),
    )
    .separated(separator)
}
