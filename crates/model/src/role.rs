//! Roles: VCD's seven predefined ones and an organization's own.
use crate::{Error, OrgId, Problems, Result, Right, Rights, RoleId, name};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use uuid::Uuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Predefined {
    SystemAdministrator,
    OrganizationAdministrator,
    CatalogAuthor,
    VappAuthor,
    VappUser,
    ConsoleAccessOnly,
    DeferToIdentityProvider,
}

use Predefined::*;

impl Predefined {
    pub const ALL: [Predefined; 7] = [
        SystemAdministrator,
        OrganizationAdministrator,
        CatalogAuthor,
        VappAuthor,
        VappUser,
        ConsoleAccessOnly,
        DeferToIdentityProvider,
    ];

    /// The same in every installation, so that scripts and the VCD wire can rely on it.
    pub fn id(self) -> RoleId {
        RoleId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001 + self as u128))
    }

    pub fn name(self) -> &'static str {
        match self {
            SystemAdministrator => "System Administrator",
            OrganizationAdministrator => "Organization Administrator",
            CatalogAuthor => "Catalog Author",
            VappAuthor => "vApp Author",
            VappUser => "vApp User",
            ConsoleAccessOnly => "Console Access Only",
            DeferToIdentityProvider => "Defer to Identity Provider",
        }
    }

    pub fn description(self) -> &'static str {
        match self {
            SystemAdministrator => "The provider's own: everything, in every organization.",
            OrganizationAdministrator => "Everything in one organization: users, roles, VDCs, catalogs and machines.",
            CatalogAuthor => "Makes and shares catalogs, and builds vApps.",
            VappAuthor => "Builds vApps from catalogs and runs them.",
            VappUser => "Runs the vApps given to them.",
            ConsoleAccessOnly => "Sees machines and opens their consoles.",
            DeferToIdentityProvider => "No rights of its own: the groups from the identity provider say which.",
        }
    }

    pub fn rights(self) -> Rights {
        use Right::*;
        let use_vapps = [
            OrgView,
            VdcView,
            TokenManage,
            VappCopy,
            VappDelete,
            VappEdit,
            VappPower,
            VappShare,
            VappViewAcl,
            VappSnapshot,
            VappConsole,
            VmEdit,
            VmEditCpu,
            VmEditMemory,
            VmEditDisk,
            VmEditNetwork,
            VmPassword,
            VmBootOptions,
            VmMetrics,
            DiskView,
            NetworkView,
        ];
        let build_vapps = [
            VappCreate,
            VappDownload,
            VappUpload,
            CatalogView,
            CatalogViewPublished,
            CatalogAddVapp,
            CatalogViewAcl,
            TemplateView,
            TemplateDownload,
            DiskCreate,
            DiskEdit,
            DiskDelete,
            VmAffinity,
        ];
        let keep_catalogs =
            [CatalogCreate, CatalogEdit, CatalogShare, CatalogPublish, TemplateCreate, TemplateEdit, TemplateCopy];
        match self {
            SystemAdministrator => Rights::all(),
            OrganizationAdministrator => Rights::tenant(),
            CatalogAuthor => use_vapps.into_iter().chain(build_vapps).chain(keep_catalogs).collect(),
            VappAuthor => use_vapps.into_iter().chain(build_vapps).collect(),
            VappUser => use_vapps.into_iter().collect(),
            ConsoleAccessOnly => [VappConsole].into_iter().collect(),
            DeferToIdentityProvider => Rights::NONE,
        }
    }

    pub fn of(id: RoleId) -> Option<Predefined> {
        Predefined::ALL.into_iter().find(|p| p.id() == id)
    }

    /// Only the provider's users may have it.
    pub fn provider_only(self) -> bool {
        self == SystemAdministrator
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Role {
    pub id: RoleId,
    /// None: predefined.
    pub org: Option<OrgId>,
    pub org_name: String,
    pub name: String,
    pub description: String,
    pub rights: Rights,
    pub users: i64,
    pub version: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    pub updated_by: String,
}

impl Role {
    pub fn predefined(&self) -> bool {
        self.org.is_none()
    }
}

/// What a person types.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleForm {
    pub name: String,
    pub description: String,
    pub rights: Rights,
}

impl RoleForm {
    /// People choose all of a role at once; programs make it first and give it rights afterwards.
    pub fn with_rights(self) -> Result<RoleForm> {
        match self.rights.is_empty() {
            true => Err(Error::field("rights", "Choose at least one right.")),
            false => Ok(self),
        }
    }

    /// `grantable`: what the one who asks may give away; `possible`: what roles of this organization may have at all.
    pub fn check(self, possible: Rights, grantable: Rights) -> Result<RoleForm> {
        let mut problems = Problems::default();
        let name = problems.take("name", name::check_line(&self.name, 128));
        if name.is_empty() && !self.name.chars().any(char::is_control) {
            problems.add("name", "A name is needed.");
        }
        if Predefined::ALL.iter().any(|p| p.name().eq_ignore_ascii_case(&name)) {
            problems.add("name", format!("“{name}” is a predefined role. Choose another name."));
        }
        let description = problems.take("description", name::check_text(&self.description));
        if let Some(r) = self.rights.without(possible).iter().next() {
            problems.add(
                "rights",
                format!("“{}” is the provider's and can't be in a role of this organization.", r.name()),
            );
        } else if let Some(r) = self.rights.without(grantable).iter().next() {
            problems.add("rights", format!("You can't give the right “{}”: you have not got it yourself.", r.name()));
        }
        problems.done()?;
        Ok(RoleForm { name, description, rights: self.rights })
    }
}

impl From<&Role> for RoleForm {
    fn from(r: &Role) -> RoleForm {
        RoleForm { name: r.name.clone(), description: r.description.clone(), rights: r.rights }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_predefined_roles_hold_no_right_of_the_provider() {
        for p in Predefined::ALL.into_iter().filter(|p| !p.provider_only()) {
            assert!(p.rights().without(Rights::tenant()).is_empty(), "{}", p.name());
        }
    }

    #[test]
    fn a_role_gives_no_more_than_its_maker_has() {
        let form = RoleForm {
            name: "Operators".into(),
            description: String::new(),
            rights: [Right::UserManage].into_iter().collect(),
        };
        assert!(form.clone().check(Rights::tenant(), Rights::tenant()).is_ok());
        assert!(form.check(Rights::tenant(), [Right::UserView].into_iter().collect()).is_err());
        let grab = RoleForm {
            name: "Boss".into(),
            description: String::new(),
            rights: [Right::OrgCreate].into_iter().collect(),
        };
        assert!(grab.check(Rights::tenant(), Rights::all()).is_err());
    }
}
