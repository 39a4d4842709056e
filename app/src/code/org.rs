//! Organizations.
use super::{
    AsCode, Site, Way, curl,
    hcl::{self, Block},
    named, shell,
    user::New,
    vapp::IMPORT,
    xml::{El, VCLOUD, el, text},
};
use model::{
    lease::{KeepEnd, Leases, RunEnd},
    org::{Org, OrgSpec},
    role::Predefined,
};

/// With its first administrator, by name, full name and e-mail.
pub fn create(site: &Site, spec: &OrgSpec, admin: (&str, &str, &str)) -> AsCode {
    let name = named(&spec.name, "my-org");
    let full = named(&spec.display_name, name);
    let body = el("AdminOrg")
        .attrs(&[VCLOUD])
        .attr("name", name)
        .said("Description", &spec.description)
        .with(text("FullName", full))
        .with(text("IsEnabled", true))
        .with(el("Settings").and(settings(spec)));
    let first = Predefined::OrganizationAdministrator;
    let new = New {
        name: named(admin.0, "my-admin"),
        full_name: admin.1,
        email: admin.2,
        role: (first.id(), first.name()),
        vms: None,
    };
    let made = curl::kept(
        "org",
        &curl::post_xml(site, "api/admin/orgs", "admin.organization", &body),
        r#"id="\(urn:vcloud:org:[^"]*\)""#,
    );
    let curl = curl::steps(&[("the organization", made), ("its first administrator", new.curl(site, "$org"))]);
    let lines = [
        shell::vcd(["org", "create", name, full]) + " -e",
        shell::vcd(["org", "use", name]),
        new.vcd(),
        shell::vcd(["org", "use", &site.org]),
    ];
    let own = resource(name, full, spec, (true, false));
    let [secret, user] = new.terraform(&format!("vcd_org.{}.name", hcl::label(name)));
    let limited = spec.vdc_limit.is_some()
        || spec.limits != Default::default()
        || !spec.prefer.is_empty()
        || !spec.avoid.is_empty();
    let ours = "Limits and wishes about hubs are the portal's alone.";
    let secretly = "The administrator's password is in NEW_PASSWORD.";
    AsCode::of_form(
        Way::code(curl).but(secretly).but_if(limited, ours),
        Way::vcd([name, full], lines)
            .but(secretly)
            .but_if(spec.leases != Leases::default(), "vcd-cli sets no leases.")
            .but_if(limited, ours),
        hcl::all([secret, own, user])
            .but("The administrator's password is in TF_VAR_new_password.")
            .but(format!(
                "An organization's last administrator goes with it: terraform state rm vcd_org_user.{} before a destroy.",
                hcl::label(new.name)
            ))
            .but_if(limited, ours),
    )
}

/// 0 is no end.
fn seconds(length: Option<i64>) -> i64 {
    length.unwrap_or(0)
}

fn settings(spec: &OrgSpec) -> [El; 2] {
    let l = spec.leases;
    let vapps = el("VAppLeaseSettings")
        .with(text("DeleteOnStorageLeaseExpiration", l.storage_end == KeepEnd::Delete))
        .with(text("DeploymentLeaseSeconds", seconds(l.runtime_s)))
        .with(text("StorageLeaseSeconds", seconds(l.storage_s)))
        .with(text("PowerOffOnRuntimeLeaseExpiration", l.runtime_end == RunEnd::PowerOff));
    let templates = el("VAppTemplateLeaseSettings")
        .with(text("DeleteOnStorageLeaseExpiration", l.template_end == KeepEnd::Delete))
        .with(text("StorageLeaseSeconds", seconds(l.template_s)));
    [vapps, templates]
}

fn resource(name: &str, full: &str, spec: &OrgSpec, (enabled, publishes): (bool, bool)) -> Block {
    let l = spec.leases;
    let vapps = Block::new("vapp_lease")
        .is("maximum_runtime_lease_in_sec", seconds(l.runtime_s))
        .is("power_off_on_runtime_lease_expiration", l.runtime_end == RunEnd::PowerOff)
        .is("maximum_storage_lease_in_sec", seconds(l.storage_s))
        .is("delete_on_storage_lease_expiration", l.storage_end == KeepEnd::Delete);
    let templates = Block::new("vapp_template_lease")
        .is("maximum_storage_lease_in_sec", seconds(l.template_s))
        .is("delete_on_storage_lease_expiration", l.template_end == KeepEnd::Delete);
    Block::resource("vcd_org", name)
        .text("name", name)
        .text("full_name", full)
        .said("description", &spec.description)
        .is("is_enabled", enabled)
        .is("can_publish_catalogs", publishes)
        .is("delete_force", false)
        .is("delete_recursive", false)
        .with(vapps)
        .with(templates)
}

pub fn thing(site: &Site, o: &Org) -> AsCode {
    let terraform = match site.provider && !o.is_provider {
        true => {
            let own = resource(&o.name, &o.display_name, &OrgSpec::from(o), (o.enabled, o.besides.publishes));
            hcl::all([Block::import("vcd_org", &o.name, &o.name), own]).but(IMPORT)
        }
        false => hcl::all([Block::data("vcd_org", &o.name).text("name", &o.name)])
            .but("It is read: the provider of the cloud manages organizations."),
    };
    AsCode::of_thing(
        Way::code(curl::get(site, &format!("cloudapi/1.0.0/orgs/{}", o.id.urn()))),
        Way::vcd([&o.name], [shell::vcd(["org", "info", &o.name])]),
        terraform,
    )
}
