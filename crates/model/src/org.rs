//! Organizations: the tenants, and the provider's own.
pub use crate::lease::Leases;
use crate::{
    CatalogId, Error, Fields, HubId, NetworkId, OrgId, Problems, Result, RoleId, UserId, VdcId,
    name::{self, PasswordRules},
    quota::{Amount, Limits},
    role::Predefined,
    user::NewUser,
};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// The provider's own organization, as VCD has it.
pub const PROVIDER: &str = "System";

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Org {
    pub id: OrgId,
    pub name: String,
    pub display_name: String,
    pub description: String,
    pub enabled: bool,
    pub is_provider: bool,
    pub vdc_limit: Option<i64>,
    pub limits: Limits,
    pub used: Amount,
    pub leases: Leases,
    pub besides: OrgBesides,
    /// The hubs its machines go to rather than to others, and those they never go to.
    pub prefer: Vec<HubId>,
    pub avoid: Vec<HubId>,
    pub vdcs: i64,
    pub users: i64,
    pub catalogs: i64,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub updated_by: String,
}

/// What is in an organization, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrgContents {
    pub vapps: i64,
    pub running_vms: i64,
    /// Independent ones.
    pub disks: i64,
}

/// What is in an organization, by name, as far as somebody sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrgNames {
    pub users: Vec<(UserId, String)>,
    pub roles: Vec<(RoleId, String)>,
    pub vdcs: Vec<(VdcId, String)>,
    pub catalogs: Vec<(CatalogId, String)>,
    pub networks: Vec<(NetworkId, String)>,
}

/// What VCD's clients set on an organization and find again. Nothing follows from it here: catalogs are published by the
/// provider, and the stricter of both quotas is the limit of VMs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OrgBesides {
    pub publishes: bool,
    pub publishes_outside: bool,
    pub subscribes: bool,
    pub boot_sequence: bool,
    pub boot_delay_s: i32,
    /// 0: none.
    pub deployed_vms: i64,
    pub stored_vms: i64,
    /// Numbers of a lockout that is off.
    pub lockout_tries: i32,
    pub lockout_minutes: i32,
}

impl OrgBesides {
    /// The stricter of both quotas.
    pub fn vm_limit(&self) -> Option<i64> {
        [self.deployed_vms, self.stored_vms].into_iter().filter(|n| *n > 0).min()
    }
}

impl Fields for OrgBesides {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let yes = |on: bool| if on { "yes" } else { "no" }.to_owned();
        vec![
            ("can_publish_catalogs", yes(self.publishes)),
            ("can_publish_externally", yes(self.publishes_outside)),
            ("can_subscribe", yes(self.subscribes)),
            ("server_boot_sequence", yes(self.boot_sequence)),
            ("lockout_tries", self.lockout_tries.to_string()),
            ("lockout_minutes", self.lockout_minutes.to_string()),
            ("delay_after_power_on_s", self.boot_delay_s.to_string()),
            ("deployed_vm_quota", self.deployed_vms.to_string()),
            ("stored_vm_quota", self.stored_vms.to_string()),
        ]
    }
}

/// What can be set on an organization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrgSpec {
    pub name: String,
    pub display_name: String,
    pub description: String,
    pub vdc_limit: Option<i64>,
    pub limits: Limits,
    pub leases: Leases,
    #[serde(default)]
    pub prefer: Vec<HubId>,
    #[serde(default)]
    pub avoid: Vec<HubId>,
}

impl OrgSpec {
    pub fn check(self) -> Result<OrgSpec> {
        let mut problems = Problems::default();
        let name = problems.take("name", name::check_name(&self.name));
        let mut display_name = problems.take("display_name", name::check_line(&self.display_name, 128));
        if display_name.is_empty() {
            display_name.clone_from(&name);
        }
        let description = problems.take("description", name::check_text(&self.description));
        if self.vdc_limit.is_some_and(|v| !(0..=10_000).contains(&v)) {
            problems.add("vdc_limit", "From 0 to 10,000, or empty for no limit.");
        }
        self.limits.check(&mut problems);
        self.leases.check(&mut problems);
        if let Some(both) = self.avoid.iter().find(|h| self.prefer.contains(h)) {
            problems.add("avoid", format!("{both} is preferred too. It can be one or the other."));
        }
        problems.done()?;
        Ok(OrgSpec { name, display_name, description, ..self })
    }
}

impl From<&Org> for OrgSpec {
    fn from(o: &Org) -> OrgSpec {
        OrgSpec {
            name: o.name.clone(),
            display_name: o.display_name.clone(),
            description: o.description.clone(),
            vdc_limit: o.vdc_limit,
            limits: o.limits,
            leases: o.leases,
            prefer: o.prefer.clone(),
            avoid: o.avoid.clone(),
        }
    }
}

/// A new organization comes with the user who will run it.
#[derive(Clone, Debug)]
pub struct NewOrg {
    pub spec: OrgSpec,
    pub admin: Option<NewUser>,
}

impl NewOrg {
    /// Everything that is wrong with either, at once.
    pub fn check(self, rules: PasswordRules) -> Result<NewOrg> {
        let admin = self.admin.map(|mut admin| {
            admin.spec.role = Predefined::OrganizationAdministrator.id();
            admin.check(rules).map_err(|e| e.rename(NewOrg::admin_field))
        });
        match (self.spec.check(), admin.transpose()) {
            (Ok(spec), Ok(admin)) => Ok(NewOrg { spec, admin }),
            (Err(Error::Invalid(mut a)), Err(Error::Invalid(b))) => {
                a.extend(b);
                Err(Error::Invalid(a))
            }
            (Err(e), _) | (_, Err(e)) => Err(e),
        }
    }

    /// What the administrator's fields are called in the organization's form.
    pub fn admin_field(field: &'static str) -> &'static str {
        match field {
            "name" => "admin_name",
            "full_name" => "admin_full_name",
            "email" => "admin_email",
            "password" => "admin_password",
            other => other,
        }
    }
}
