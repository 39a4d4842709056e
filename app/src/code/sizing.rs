//! Sizing policies.
use super::{
    AsCode, Site, Way, curl,
    hcl::{self, Block},
    named,
    vapp::IMPORT,
};
use model::sizing::{SizingPolicy, SizingSpec};
use serde_json::json;

const NO_VCD: &str = "vcd-cli has no sizing policies.";

pub fn create(site: &Site, spec: &SizingSpec) -> AsCode {
    let spec = SizingSpec { name: named(&spec.name, "my-size").to_owned(), ..spec.clone() };
    let part = |percent: Option<i16>| percent.map(|p| f64::from(p) / 100.0);
    let body = json!({
        "name": spec.name,
        "description": spec.description.trim(),
        "cpuCount": spec.cpus,
        "coresPerSocket": spec.more.cores_per_socket.unwrap_or(1),
        "memory": spec.memory_mb,
        "cpuReservationGuarantee": part(spec.more.cpu_reservation),
        "memoryReservationGuarantee": part(spec.more.memory_reservation),
    });
    AsCode::of_form(
        Way::code(curl::send_json(site, "POST", "cloudapi/2.0.0/vdcComputePolicies", &body)),
        Way::none(NO_VCD),
        hcl::all([resource(&spec)]),
    )
}

fn resource(spec: &SizingSpec) -> Block {
    let part = |percent: i16| format!("{}", f64::from(percent) / 100.0);
    let cpu = Block::new("cpu").is("count", spec.cpus).is("cores_per_socket", spec.more.cores_per_socket.unwrap_or(1));
    let cpu = match spec.more.cpu_reservation {
        Some(p) => cpu.text("reservation_guarantee", &part(p)),
        None => cpu,
    };
    let memory = Block::new("memory").is("size_in_mb", spec.memory_mb);
    let memory = match spec.more.memory_reservation {
        Some(p) => memory.text("reservation_guarantee", &part(p)),
        None => memory,
    };
    Block::resource("vcd_vm_sizing_policy", &spec.name)
        .text("name", &spec.name)
        .said("description", &spec.description)
        .with(cpu)
        .with(memory)
}

pub fn thing(site: &Site, p: &SizingPolicy) -> AsCode {
    let blocks = [Block::import("vcd_vm_sizing_policy", &p.name, &p.id.urn()), resource(&SizingSpec::from(p))];
    AsCode::of_thing(
        Way::code(curl::get(site, &format!("cloudapi/2.0.0/vdcComputePolicies/{}", p.id.urn()))),
        Way::none(NO_VCD),
        hcl::all(blocks).but(IMPORT),
    )
}
