//! Roles.
use super::{
    AsCode, Site, Way, curl,
    hcl::{self, Block},
    named, shell,
    vapp::IMPORT,
    xml::{VCLOUD, el},
};
use model::{
    OrgId, Right, Rights,
    role::{Role, RoleForm},
};

/// Until rights are ticked, this one stands for them.
fn wished(form: &RoleForm) -> Rights {
    if form.rights == Rights::NONE { [Right::OrgView].into_iter().collect() } else { form.rights }
}

pub fn create(site: &Site, org: (OrgId, &str), form: &RoleForm) -> AsCode {
    let (name, rights) = (named(&form.name, "my-role"), wished(form));
    let description = named(&form.description, name);
    let right = |name: &String| el("RightReference").attr("name", name);
    let body = el("Role")
        .attrs(&[VCLOUD])
        .attr("name", name)
        .said("Description", description)
        .with(el("RightReferences").and(rights.names().iter().map(right)));
    let path = format!("api/admin/org/{}/roles", org.0);
    let names = rights.names();
    let line = shell::vcd(["role", "create", name, description].into_iter().chain(names.iter().map(String::as_str)));
    AsCode::of_form(
        Way::code(curl::post_xml(site, &path, "admin.role", &body)),
        Way::vcd([name, description], [shell::with(line, &[("-o", org.1)])]),
        hcl::all([resource(org.1, name, description, rights)]),
    )
}

fn resource(org: &str, name: &str, description: &str, rights: Rights) -> Block {
    Block::resource("vcd_role", name)
        .text("org", org)
        .text("name", name)
        .text("description", description)
        .texts("rights", rights.names().iter().map(String::as_str))
}

/// `org`: whose users have it; a predefined one is read in the reader's own.
pub fn thing(site: &Site, org: &str, r: &Role) -> AsCode {
    let line = shell::vcd(["role", "info", &r.name, "-o", org]);
    let rights = shell::vcd(["role", "list-rights", &r.name, "-o", org]);
    let (id, separator) = hcl::import_id(&[org, &r.name]);
    let (terraform, separator) = match r.predefined() {
        true => {
            let data = Block::data("vcd_role", &r.name).text("org", org).text("name", &r.name);
            (hcl::all([data]).but("It is predefined and the same everywhere, so it is read and not managed."), hcl::DOT)
        }
        false => {
            let own = resource(org, &r.name, &r.description, r.rights);
            (hcl::all([Block::import("vcd_role", &r.name, &id), own]).but(IMPORT), separator)
        }
    };
    AsCode::of_thing(
        Way::code(curl::get(site, &format!("api/admin/role/{}", r.id))),
        Way::vcd([&r.name], [line, rights]),
        terraform,
    )
    .separated(separator)
}
