//! Catalogs.
use super::{
    AsCode, Site, Way, curl,
    hcl::{self, Block},
    in_org, named, shell,
    vapp::IMPORT,
    xml::{VCLOUD, el, text},
};
use model::{
    OrgId,
    catalog::{Catalog, CatalogSpec},
};
use serde_json::json;

/// `org`: the organization that it will be of.
pub fn create(site: &Site, org: (OrgId, &str), spec: &CatalogSpec) -> AsCode {
    let (name, description) = (named(&spec.name, "my-catalog"), spec.description.trim());
    let body = json!({"name": name, "description": description, "org": {"id": org.0.urn()}});
    let made = curl::send_json(site, "POST", "cloudapi/1.0.0/catalogs", &body);
    let curl = match spec.open {
        false => made,
        true => {
            let made = curl::kept("catalog", &made, r#""id":"urn:vcloud:catalog:\([^"]*\)""#);
            let access = el("ControlAccessParams")
                .attrs(&[VCLOUD])
                .with(text("IsSharedToEveryone", true))
                .with(text("EveryoneAccessLevel", "ReadOnly"));
            let path = format!("api/org/{}/catalog/$catalog/action/controlAccess", org.0);
            let share = curl::post_xml(site, &path, "controlAccess", &access);
            curl::steps(&[("make it", made), ("everyone of the organization may use it", share)])
        }
    };
    let mut lines = in_org(site, org.1);
    lines.push(shell::with(shell::vcd(["catalog", "create", name]), &[("-d", description)]));
    if spec.open {
        lines.push(shell::vcd(["catalog", "acl", "share", name]));
    }
    let access = spec.open.then(|| {
        Block::resource("vcd_catalog_access_control", name)
            .text("org", org.1)
            .is("catalog_id", format_args!("vcd_catalog.{}.id", hcl::label(name)))
            .is("shared_with_everyone", true)
            .text("everyone_access_level", "ReadOnly")
    });
    let beyond = spec.shared_to_all || !spec.shared_to.is_empty() || spec.from_hubs;
    let only_here = "Sharing it with other organizations and filling it from hubs are the portal's alone.";
    AsCode::of_form(
        Way::code(curl).but_if(beyond, only_here),
        Way::vcd([name], lines).but_if(beyond, only_here),
        hcl::all([resource(org.1, name, description)].into_iter().chain(access)).but_if(beyond, only_here),
    )
}

fn resource(org: &str, name: &str, description: &str) -> Block {
    Block::resource("vcd_catalog", name)
        .text("org", org)
        .text("name", name)
        .said("description", description)
        .is("delete_force", false)
        .is("delete_recursive", false)
}

/// `own`: the reader may change it. What others share can only be read.
pub fn thing(site: &Site, c: &Catalog, own: bool) -> AsCode {
    let org = if own { c.org_name.as_str() } else { &site.org };
    let mut lines = in_org(site, org);
    lines.push(shell::vcd(["catalog", "info", &c.name]));
    lines.push(shell::vcd(["catalog", "list", &c.name]));
    let (id, separator) = hcl::import_id(&[&c.org_name, &c.name]);
    let terraform = match own && !c.from_hubs {
        true => hcl::all([Block::import("vcd_catalog", &c.name, &id), resource(&c.org_name, &c.name, &c.description)])
            .but(IMPORT),
        false => {
            hcl::all([data(&c.org_name, &c.name)]).but("It is not made by hand here, so it is read and not managed.")
        }
    };
    let separator = if own && !c.from_hubs { separator } else { hcl::DOT };
    AsCode::of_thing(
        Way::code(curl::get(site, &format!("api/catalog/{}", c.id))),
        Way::vcd([&c.name], lines),
        terraform,
    )
    .separated(separator)
}

pub(super) fn data(org: &str, name: &str) -> Block {
    Block::data("vcd_catalog", name).text("org", org).text("name", name)
}
