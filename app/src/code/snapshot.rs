//! A snapshot of a VM.
use super::{
    AsCode, Site, TASK, Way, curl, in_vdc, named, shell,
    xml::{VCLOUD, el},
};
use model::vm::Vm;

pub fn create(site: &Site, m: &Vm, name: &str, description: &str) -> AsCode {
    let name = named(name, "my-snapshot");
    let body = el("CreateSnapshotParams")
        .attrs(&[VCLOUD])
        .attr("name", name)
        .attr("memory", false)
        .attr("quiesce", true)
        .said("Description", description);
    let one = "A VM has one snapshot in VCD: this takes the place of the one it has.";
    let path = format!("api/vApp/vm-{}/action/createSnapshot", m.id);
    let mut lines = in_vdc(site, &m.org_name, &m.vdc_name);
    lines.push(shell::vcd(["vm", "create-snapshot", &m.vapp_name, &m.name, "--name", name]));
    AsCode::of_form(
        Way::code(curl::post_xml(site, &path, "createSnapshotParams", &body)).but(one).but(TASK),
        Way::vcd([&m.vapp_name, &m.name, name], lines).but(one),
        Way::none("The provider has no snapshots."),
    )
}
