//! VDCs.
use super::{
    AsCode, Site, TASK, Way, curl,
    hcl::{self, Block},
    in_org, named, shell,
    vapp::IMPORT,
    xml::{El, VCLOUD, el, text},
};
use model::{
    OrgId,
    quota::Limits,
    storage::VdcPolicy,
    vdc::{AllocationModel, Vdc, VdcSpec},
};

/// What all hubs together are called in VCD's API.
const ALL_HUBS: &str = "kubevirt";
/// VCD counts processors in MHz: one is so many.
const MHZ: i64 = 1000;

fn model_word(model: AllocationModel) -> &'static str {
    match model {
        AllocationModel::PayAsYouGo => "AllocationVApp",
        AllocationModel::AllocationPool => "AllocationPool",
        AllocationModel::ReservationPool => "ReservationPool",
    }
}

/// Of CPU in MHz and of memory in MB: what is set aside, and the most. 0 is no limit.
fn capacity(model: AllocationModel, limits: &Limits) -> [(i64, i64); 2] {
    let both = |n: Option<i64>| {
        let most = n.unwrap_or(0);
        (if model == AllocationModel::PayAsYouGo { 0 } else { most }, most)
    };
    [both(limits.cpus.map(|n| n * MHZ)), both(limits.memory_mb)]
}

/// `policy`: the storage policy that new VDCs begin with.
pub fn create(site: &Site, org: (OrgId, &str), spec: &VdcSpec, policy: &str) -> AsCode {
    let (name, model) = (named(&spec.name, "my-vdc"), model_word(spec.allocation_model));
    let [cpu, memory] = capacity(spec.allocation_model, &spec.limits);
    let of = |name: &'static str, unit: &str, (allocated, limit): (i64, i64)| -> El {
        el(name).with(text("Units", unit)).with(text("Allocated", allocated)).with(text("Limit", limit))
    };
    let body = el("CreateVdcParams")
        .attrs(&[VCLOUD])
        .attr("name", name)
        .said("Description", &spec.description)
        .with(text("AllocationModel", model))
        .with(el("ComputeCapacity").with(of("Cpu", "MHz", cpu)).with(of("Memory", "MB", memory)))
        .and(spec.limits.vms.map(|n| text("VmQuota", n)))
        .with(text("IsEnabled", true));
    let path = format!("api/admin/org/{}/vdcsparams", org.0);
    let curl = Way::code(curl::post_xml(site, &path, "admin.createVdcParams", &body)).but(TASK);
    let wishes = !spec.hubs.is_empty() || !spec.region.is_empty() || !spec.zone.is_empty();
    let ours = "A limit of storage for all policies and wishes about hubs are the portal's alone.";
    let beyond = wishes || spec.limits.storage_mb.is_some();
    if !site.provider {
        let why = "looks for the provider's VDC first, which only the provider's own users see.";
        return AsCode::of_form(
            curl.but_if(beyond, ours),
            Way::none(format!("vcd-cli {why}")),
            Way::none(format!("Terraform {why}")),
        );
    }
    let mut lines = in_org(site, org.1);
    let number = |n: i64| if n > 0 { n.to_string() } else { String::new() };
    let line = shell::vcd(["vdc", "create", name, "-p", ALL_HUBS, "-a", model, "-s", policy]);
    lines.push(shell::with(
        line,
        &[("--cpu-allocated", &number(cpu.0)), ("--cpu-limit", &number(cpu.1)), ("-D", spec.description.trim())],
    ));
    let limited = spec.limits.vms.is_some() || spec.limits.memory_mb.is_some();
    AsCode::of_form(
        curl.but_if(beyond, ours),
        Way::vcd([name], lines)
            .but_if(limited, "Limits of VMs and memory are not vcd-cli's to set.")
            .but_if(beyond, ours),
        hcl::all([resource(org.1, name, spec, &[(policy, 0)], true)]).but_if(beyond, ours),
    )
}

/// `profiles`: by name, with a limit in MB, 0 for none; the first is the default.
fn resource(org: &str, name: &str, spec: &VdcSpec, profiles: &[(&str, i64)], enabled: bool) -> Block {
    let [cpu, memory] = capacity(spec.allocation_model, &spec.limits);
    let of =
        |name: &str, (allocated, limit): (i64, i64)| Block::new(name).is("allocated", allocated).is("limit", limit);
    let profile = |(i, (name, limit)): (usize, &(&str, i64))| {
        Block::new("storage_profile").text("name", name).is("limit", limit).is("default", i == 0).is("enabled", true)
    };
    Block::resource("vcd_org_vdc", name)
        .text("org", org)
        .text("name", name)
        .said("description", &spec.description)
        .text("allocation_model", model_word(spec.allocation_model))
        .text("provider_vdc_name", ALL_HUBS)
        .when(spec.limits.vms.is_some(), "vm_quota", spec.limits.vms.unwrap_or(0))
        .is("enabled", enabled)
        .is("delete_force", false)
        .is("delete_recursive", false)
        .with(Block::new("compute_capacity").with(of("cpu", cpu)).with(of("memory", memory)))
        .and(profiles.iter().enumerate().map(profile))
}

/// `policies`: its storage; the first is the default.
pub fn thing(site: &Site, v: &Vdc, policies: &[VdcPolicy]) -> AsCode {
    let mut lines = in_org(site, &v.org_name);
    lines.push(shell::vcd(["vdc", "info", &v.name]));
    let (id, separator) = hcl::import_id(&[&v.org_name, &v.name]);
    let profiles: Vec<(&str, i64)> = policies.iter().map(|p| (p.name.as_str(), p.limit_mb.unwrap_or(0))).collect();
    let (terraform, separator) = match profiles.first().filter(|_| site.provider) {
        Some(_) => {
            let b = &v.besides;
            let own = resource(&v.org_name, &v.name, &VdcSpec::from(v), &profiles, v.enabled)
                .when(b.network_quota != 0, "network_quota", b.network_quota)
                .when(b.nic_quota != 0, "nic_quota", b.nic_quota)
                .when(b.thin, "enable_thin_provisioning", true)
                .when(b.fast, "enable_fast_provisioning", true)
                .when(b.discovers_vms, "enable_vm_discovery", true);
            (hcl::all([Block::import("vcd_org_vdc", &v.name, &id), own]).but(IMPORT), separator)
        }
        None => {
            let data = Block::data("vcd_org_vdc", &v.name).text("org", &v.org_name).text("name", &v.name);
            (hcl::all([data]).but("It is read: the provider of the cloud manages VDCs."), hcl::DOT)
        }
    };
    AsCode::of_thing(Way::code(curl::get(site, &format!("api/vdc/{}", v.id))), Way::vcd([&v.name], lines), terraform)
        .separated(separator)
}
