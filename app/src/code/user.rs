//! Users.
use super::{
    AsCode, Site, Way, curl,
    hcl::{self, Block},
    in_org, named, shell,
    vapp::IMPORT,
};
use model::{
    OrgId, RoleId,
    quota::Limits,
    user::{User, UserSpec},
};

/// What is limited besides the number of VMs.
fn more_limits(limits: &Limits) -> bool {
    limits.cpus.is_some() || limits.memory_mb.is_some() || limits.storage_mb.is_some()
}

const ONE_LIMIT: &str = "Of the limits VCD's API has that of VMs alone.";

/// Somebody new: the same for users and for the first administrator of an organization. The password is in a variable.
pub(super) struct New<'a> {
    pub name: &'a str,
    pub full_name: &'a str,
    pub email: &'a str,
    pub role: (RoleId, &'a str),
    pub vms: Option<i64>,
}

impl New<'_> {
    /// `org`: an id as it stands in the JSON, or a variable.
    pub(super) fn curl(&self, site: &Site, org: &str) -> String {
        let text = |value: &str| shell::still(&serde_json::Value::from(value.trim()).to_string());
        let quota =
            self.vms.map(|n| format!(",\n  \"storedVmQuota\": {n},\n  \"deployedVmQuota\": {n}")).unwrap_or_default();
        let body = format!(
            "{{\n  \"username\": {},\n  \"password\": \"{}\",\n  \"fullName\": {},\n  \"email\": {},\n  \"enabled\": true,\n  \
             \"orgEntityRef\": {{\"id\": \"{org}\"}},\n  \"roleEntityRefs\": [{{\"id\": \"{}\", \"name\": {}}}]{quota}\n}}",
            text(self.name),
            shell::json_of("NEW_PASSWORD"),
            text(self.full_name),
            text(self.email),
            self.role.0.urn(),
            text(self.role.1),
        );
        curl::post_open_json(site, "cloudapi/1.0.0/users", &body)
    }

    pub(super) fn vcd(&self) -> String {
        let line =
            format!("{} \"$NEW_PASSWORD\" {} -E", shell::vcd(["user", "create", self.name]), shell::word(self.role.1));
        let quota = self.vms.map(|n| n.to_string()).unwrap_or_default();
        shell::with(line, &[("-f", self.full_name.trim()), ("-e", self.email.trim()), ("-s", &quota), ("-d", &quota)])
    }

    /// `org`: as it is written in the configuration.
    pub(super) fn terraform(&self, org: &str) -> [Block; 2] {
        let block = Block::resource("vcd_org_user", self.name)
            .is("org", org)
            .text("name", self.name)
            .is("password", "var.new_password")
            .text("role", self.role.1)
            .said("full_name", self.full_name)
            .said("email_address", self.email)
            .is("enabled", true);
        let block = match self.vms {
            Some(n) => block.is("stored_vm_quota", n).is("deployed_vm_quota", n),
            None => block,
        };
        [Block::secret("new_password"), block]
    }
}

/// `role`: the chosen one, or one that stands for it.
pub fn create(site: &Site, org: (OrgId, &str), spec: &UserSpec, role: (RoleId, &str)) -> AsCode {
    let new = New {
        name: named(&spec.name, "my-user"),
        full_name: &spec.full_name,
        email: &spec.email,
        role,
        vms: spec.limits.vms,
    };
    let mut lines = in_org(site, org.1);
    lines.push(new.vcd());
    let more = more_limits(&spec.limits);
    let secret = "The new password is in NEW_PASSWORD.";
    AsCode::of_form(
        Way::code(new.curl(site, &org.0.urn())).but(secret).but_if(more, ONE_LIMIT),
        Way::vcd([new.name], lines).but(secret).but_if(more, ONE_LIMIT),
        hcl::all(new.terraform(&hcl::quoted(org.1)))
            .but("The new password is in TF_VAR_new_password.")
            .but_if(more, ONE_LIMIT),
    )
}

pub fn thing(site: &Site, u: &User) -> AsCode {
    let mut lines = in_org(site, &u.org_name);
    lines.push("vcd user list".to_owned());
    let (id, separator) = hcl::import_id(&[&u.org_name, &u.name]);
    let block = Block::resource("vcd_org_user", &u.name)
        .text("org", &u.org_name)
        .text("name", &u.name)
        .text("role", &u.role_name)
        .said("full_name", &u.full_name)
        .said("email_address", &u.email)
        .said("description", &u.besides.description)
        .said("telephone", &u.besides.telephone)
        .is("enabled", u.enabled);
    let block = match u.limits.vms {
        Some(n) => block.is("stored_vm_quota", n).is("deployed_vm_quota", n),
        None => block,
    };
    let block = if u.local() { block } else { block.text("provider_type", "OAUTH").is("is_external", true) };
    AsCode::of_thing(
        Way::code(curl::get(site, &format!("cloudapi/1.0.0/users/{}", u.id.urn()))),
        Way::vcd([], lines).but("vcd-cli lists users, and shows none of them by itself."),
        hcl::all([Block::import("vcd_org_user", &u.name, &id), block]).but(IMPORT),
    )
    .separated(separator)
}
