//! vApps: an empty one, one that there is, and a copy.
use super::{
    AsCode, Site, TASK, Way, curl,
    hcl::{self, Block},
    in_vdc, named, shell, vm,
    xml::{VCLOUD, el},
};
use model::{Action, NetworkId, can, vapp::Vapp, vdc::Vdc, vm::Vm};

/// So many of its VMs are written out.
const MOST_VMS: usize = 20;

pub fn create(site: &Site, vdc: &Vdc, name: &str, description: &str) -> AsCode {
    let name = named(name, "my-vapp");
    let body = el("ComposeVAppParams").attrs(&[VCLOUD]).attr("name", name).said("Description", description);
    let path = format!("api/vdc/{}/action/composeVApp", vdc.id);
    let mut lines = in_vdc(site, &vdc.org_name, &vdc.name);
    lines.push(shell::with(shell::vcd(["vapp", "create", name]), &[("-d", description.trim())]));
    let resource = hcl::in_vdc(Block::resource("vcd_vapp", name), &vdc.org_name, &vdc.name);
    AsCode::of_form(
        Way::code(curl::post_xml(site, &path, "composeVAppParams", &body)).but(TASK),
        Way::vcd([name], lines),
        hcl::all([resource.text("name", name).said("description", description)]),
    )
}

/// What its power button would do: the address of the action, and vcd-cli's word for it.
pub(super) fn power(can: impl Fn(Action) -> bool, on: Action, off: Action) -> Option<(&'static str, &'static str)> {
    match () {
        () if can(on) => Some(("powerOn", "power-on")),
        () if can(off) => Some(("shutdown", "shutdown")),
        () => None,
    }
}

/// `inside`: networks within it.
pub fn thing(site: &Site, v: &Vapp, vms: &[Vm], inside: &[NetworkId]) -> AsCode {
    let path = format!("api/vApp/vapp-{}", v.id);
    let does = power(|a| can::vapp(v, a).is_ok(), Action::VappPowerOn, Action::VappShutdown);
    let mut calls = vec![("read it", curl::get(site, &path))];
    let mut lines = in_vdc(site, &v.org_name, &v.vdc_name);
    lines.push(shell::vcd(["vapp", "info", &v.name]));
    if let Some((action, verb)) = does {
        let what = if action == "powerOn" { "power it on" } else { "shut it down" };
        calls.push((what, curl::post(site, &format!("{path}/power/action/{action}"))));
        let sure = if verb == "shutdown" { " --yes" } else { "" };
        lines.push(shell::vcd(["vapp", verb, &v.name]) + sure);
    }
    let vms: Vec<&Vm> = vms.iter().filter(|m| !m.deleted).collect();
    // what was made without a vApp has one that nobody named
    let (terraform, separator) = match v.auto {
        true => {
            let (blocks, separator) = vm::imported(&vms[..vms.len().min(1)], true, inside);
            (hcl::all(blocks).but("Its VM was made without a vApp of its own: Terraform has the VM alone."), separator)
        }
        false => {
            let parts = [v.org_name.as_str(), &v.vdc_name, &v.name];
            let names: Vec<&str> = parts.into_iter().chain(vms.iter().map(|m| m.name.as_str())).collect();
            let (_, separator) = hcl::import_id(&names);
            let import = Block::import("vcd_vapp", &v.name, &parts.join(separator));
            let own = hcl::in_vdc(Block::resource("vcd_vapp", &v.name), &v.org_name, &v.vdc_name)
                .text("name", &v.name)
                .said("description", &v.description);
            let (machines, _) = vm::imported_by(&vms[..vms.len().min(MOST_VMS)], false, inside, separator);
            (hcl::all([import, own].into_iter().chain(machines)).but(IMPORT), separator)
        }
    };
    let terraform = terraform.but_if(vms.len() > MOST_VMS, "More VMs are in it than stand here.");
    AsCode::of_thing(Way::code(curl::steps(&calls)), Way::vcd([&v.name], lines), terraform).separated(separator)
}

pub(super) const IMPORT: &str = "terraform plan shows what an import would change; with -generate-config-out instead of the resource it writes all that is known.";

pub fn copy(site: &Site, v: &Vapp, into: &Vdc, name: &str) -> AsCode {
    let name = named(name, "my-copy");
    let body = el("CloneVAppParams").attrs(&[VCLOUD]).attr("name", name).attr("deploy", false).attr("powerOn", false);
    let body = body.with(el("Source").attr("href", site.href(format_args!("api/vApp/vapp-{}", v.id))));
    let mut lines = in_vdc(site, &v.org_name, &v.vdc_name);
    // it wants a description, and looks for other VDCs in the organization that one signed in to
    let elsewhere = if into.id == v.vdc { "" } else { into.name.as_str() };
    let line = shell::vcd(["vapp", "copy", &v.name, "-n", name, "-d", &format!("Copy of {}", v.name)]);
    lines.push(shell::with(line, &[("-v", elsewhere)]));
    let vcd = match elsewhere.is_empty() || site.org == v.org_name {
        true => Way::vcd([&v.name, name], lines),
        false => Way::none("vcd-cli copies to other VDCs only for users of the organization itself."),
    };
    let source = hcl::in_vdc(Block::data("vcd_vapp", &v.name), &v.org_name, &v.vdc_name).text("name", &v.name);
    let clone = hcl::in_vdc(Block::resource("vcd_cloned_vapp", name), &into.org_name, &into.name)
        .text("name", name)
        .is("power_on", false)
        .text("source_type", "vapp")
        .is("source_id", format_args!("data.vcd_vapp.{}.id", hcl::label(&v.name)))
        .is("delete_source", false);
    AsCode::of_form(
        Way::code(curl::post_xml(site, &format!("api/vdc/{}/action/cloneVApp", into.id), "cloneVAppParams", &body))
            .but(TASK),
        vcd,
        hcl::all([source, clone]),
    )
}
