//! Affinity rules.
use super::{
    AsCode, Site, TASK, Way, curl,
    hcl::{self, Block},
    named,
    vapp::IMPORT,
    xml::{VCLOUD, el, text},
};
use model::{
    VmId,
    affinity::{AffinityRule, AffinitySpec, RuleCandidate},
    vdc::Vdc,
};

const NO_VCD: &str = "vcd-cli has no affinity rules.";

/// Until VMs are ticked, the first two stand for them.
pub fn create(site: &Site, vdc: &Vdc, spec: &AffinitySpec, candidates: &[RuleCandidate]) -> AsCode {
    let chosen: Vec<VmId> = match spec.vms.len() {
        0 => candidates.iter().take(2).map(|v| v.id).collect(),
        _ => spec.vms.clone(),
    };
    if chosen.len() < 2 {
        let why = "A rule takes at least two VMs, and there are not so many to choose from.";
        return AsCode::of_form(Way::none(why), Way::none(NO_VCD), Way::none(why));
    }
    let spec = AffinitySpec { name: named(&spec.name, "my-rule").to_owned(), vms: chosen, ..spec.clone() };
    let vm = |id: &VmId| el("VmReference").attr("href", site.href(format_args!("api/vApp/vm-{id}")));
    let body = el("VmAffinityRule")
        .attrs(&[VCLOUD])
        .with(text("Name", &spec.name))
        .with(text("IsEnabled", spec.enabled))
        .with(text("IsMandatory", spec.mandatory))
        .with(text("Polarity", polarity(spec.together)))
        .with(el("VmReferences").and(spec.vms.iter().map(vm)));
    let path = format!("api/vdc/{}/vmAffinityRules", vdc.id);
    AsCode::of_form(
        Way::code(curl::post_xml(site, &path, "vmaffinityrule", &body)).but(TASK),
        Way::none(NO_VCD),
        hcl::all([resource((&vdc.org_name, &vdc.name), &spec)]),
    )
}

fn polarity(together: bool) -> &'static str {
    if together { "Affinity" } else { "Anti-Affinity" }
}

fn resource((org, vdc): (&str, &str), spec: &AffinitySpec) -> Block {
    let vms: Vec<String> = spec.vms.iter().map(|id| id.urn()).collect();
    hcl::in_vdc(Block::resource("vcd_vm_affinity_rule", &spec.name), org, vdc)
        .text("name", &spec.name)
        .text("polarity", polarity(spec.together))
        .is("required", spec.mandatory)
        .is("enabled", spec.enabled)
        .texts("vm_ids", vms.iter().map(String::as_str))
}

/// `org`: the name of its organization.
pub fn thing(site: &Site, org: &str, r: &AffinityRule) -> AsCode {
    let (id, separator) = hcl::import_id(&[org, &r.vdc_name, &r.name]);
    let blocks = [Block::import("vcd_vm_affinity_rule", &r.name, &id), resource((org, &r.vdc_name), &r.spec())];
    AsCode::of_thing(
        Way::code(curl::get(site, &format!("api/vmAffinityRule/{}", r.id))),
        Way::none(NO_VCD),
        hcl::all(blocks).but(IMPORT),
    )
    .separated(separator)
}
