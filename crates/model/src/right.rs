//! Rights by VCD's names. A role is a set of them; an action asks for one.
use serde::{Deserialize, Serialize};

macro_rules! rights {
    ($($variant:ident $name:literal $who:ident),* $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Right { $($variant),* }

        impl Right {
            pub const ALL: &'static [Right] = &[$(Right::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Right::$variant => $name),* }
            }

            /// May a role of a tenant organization have it? The others are the provider's.
            pub fn for_tenants(self) -> bool {
                match self { $(Right::$variant => rights!(@ $who)),* }
            }
        }
    };
    (@ tenant) => { true };
    (@ provider) => { false };
}

rights! {
    OrgView "Organization: View" tenant,
    OrgEdit "Organization: Edit Properties" tenant,
    OrgEditLimits "Organization: Edit Limits" provider,
    OrgCreate "Organization: Create" provider,
    OrgEnable "Organization: Activate / Deactivate" provider,
    OrgDelete "Organization: Delete" provider,
    OrgEditLeases "Organization: Edit Leases Policy" tenant,
    OrgEditOAuth "Organization: Edit OAuth Settings" tenant,
    AdminView "General: Administrator View" tenant,
    UserView "Group / User: View" tenant,
    UserManage "Group / User: Manage" tenant,
    RightView "Right: View" tenant,
    RoleManage "Role: Create, Edit, Delete, or Copy" tenant,
    VdcView "Organization vDC: View" tenant,
    VdcCreate "Organization vDC: Create" tenant,
    VdcEdit "Organization vDC: Edit" tenant,
    VdcEnable "Organization vDC: Activate / Deactivate" tenant,
    VdcDelete "Organization vDC: Delete" tenant,
    TaskView "Task: View Tasks" tenant,
    TaskAbort "Task: Resume, Abort, or Fail" tenant,
    EventView "Event: View" tenant,
    AuditView "Audit Trail: View" tenant,
    TokenManage "Token: Manage" tenant,
    TokenManageAll "Token: Manage All" tenant,
    CatalogView "Catalog: View Private and Shared Catalogs" tenant,
    CatalogViewPublished "Catalog: View Published Catalogs" tenant,
    CatalogCreate "Catalog: Create / Delete a Catalog" tenant,
    CatalogEdit "Catalog: Edit Properties" tenant,
    CatalogAddVapp "Catalog: Add vApp from My Cloud" tenant,
    CatalogShare "Catalog: Sharing" tenant,
    CatalogViewAcl "Catalog: View ACL" tenant,
    CatalogOwner "Catalog: Change Owner" tenant,
    CatalogPublish "Catalog: Publish" tenant,
    TemplateView "vApp Template / Media: View" tenant,
    TemplateCreate "vApp Template / Media: Create / Upload" tenant,
    TemplateEdit "vApp Template / Media: Edit" tenant,
    TemplateCopy "vApp Template / Media: Copy" tenant,
    TemplateDownload "vApp Template: Download" tenant,
    VappViewAll "vApp: View All" tenant,
    VappCreate "vApp: Create / Reconfigure" tenant,
    VappCopy "vApp: Copy" tenant,
    VappDelete "vApp: Delete" tenant,
    VappEdit "vApp: Edit Properties" tenant,
    VappPower "vApp: Power Operations" tenant,
    VappShare "vApp: Sharing" tenant,
    VappViewAcl "vApp: View ACL" tenant,
    VappOwner "vApp: Change Owner" tenant,
    VappSnapshot "vApp: Snapshot Operations" tenant,
    VappConsole "vApp: Use Console" tenant,
    VappDownload "vApp: Download" tenant,
    VappUpload "vApp: Upload" tenant,
    VmEdit "vApp: Edit VM Properties" tenant,
    VmEditCpu "vApp: Edit VM CPU" tenant,
    VmEditMemory "vApp: Edit VM Memory" tenant,
    VmEditDisk "vApp: Edit VM Hard Disk" tenant,
    VmEditNetwork "vApp: Edit VM Network" tenant,
    VmPassword "vApp: Manage VM Password Settings" tenant,
    VmBootOptions "vApp: VM Boot Options" tenant,
    VmMetrics "vApp: View VM Metrics" tenant,
    VmAffinity "Organization vDC: VM-VM Affinity Edit" tenant,
    DiskView "Disk: View Properties" tenant,
    DiskCreate "Disk: Create" tenant,
    DiskEdit "Disk: Edit Properties" tenant,
    DiskDelete "Disk: Delete" tenant,
    DiskOwner "Disk: Change Owner" tenant,
    NetworkView "Organization vDC Network: View Properties" tenant,
    NetworkEdit "Organization vDC Network: Edit Properties" tenant,
    HubView "Hub: View" provider,
    HubManage "Hub: Manage" provider,
}

impl Right {
    pub fn parse(name: &str) -> Option<Right> {
        Right::ALL.iter().copied().find(|r| r.name() == name)
    }

    /// What stands before the colon: rights are listed by it.
    pub fn category(self) -> &'static str {
        self.name().split_once(':').map_or("", |(category, _)| category)
    }
}

/// A set of rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights(u128);

impl Rights {
    pub const NONE: Rights = Rights(0);

    pub fn all() -> Rights {
        Right::ALL.iter().copied().collect()
    }

    /// All that a tenant's role may have.
    pub fn tenant() -> Rights {
        Right::ALL.iter().copied().filter(|r| r.for_tenants()).collect()
    }

    pub fn has(self, right: Right) -> bool {
        self.0 & (1 << right as u32) != 0
    }

    pub fn insert(&mut self, right: Right) {
        self.0 |= 1 << right as u32;
    }

    pub fn iter(self) -> impl Iterator<Item = Right> {
        Right::ALL.iter().copied().filter(move |r| self.has(*r))
    }

    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn without(self, other: Rights) -> Rights {
        Rights(self.0 & !other.0)
    }

    pub fn and(self, other: Rights) -> Rights {
        Rights(self.0 & other.0)
    }

    /// Unknown names (of a later version) are left out.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Rights {
        names.into_iter().filter_map(Right::parse).collect()
    }

    pub fn names(self) -> Vec<String> {
        self.iter().map(|r| r.name().to_owned()).collect()
    }
}

impl FromIterator<Right> for Rights {
    fn from_iter<I: IntoIterator<Item = Right>>(iter: I) -> Self {
        let mut set = Rights::NONE;
        for r in iter {
            set.insert(r);
        }
        set
    }
}

impl Serialize for Rights {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.names().serialize(s)
    }
}

impl<'de> Deserialize<'de> for Rights {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(d)?;
        Ok(Rights::from_names(names.iter().map(String::as_str)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_right_has_its_own_name_and_fits_the_set() {
        let mut names: Vec<_> = Right::ALL.iter().map(|r| r.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Right::ALL.len());
        assert!(Right::ALL.len() <= 128);
        assert_eq!(Rights::all().len(), Right::ALL.len());
        assert!(!Rights::tenant().has(Right::OrgCreate));
    }
}
