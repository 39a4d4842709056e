//! Addresses of things, absolute: clients follow them as they stand, and split them at fixed places.
use model::{
    AffinityId, CatalogId, DiskId, NetworkId, OrgId, PolicyId, RoleId, TaskId, TemplateId, UserId, VappId, VdcId, VmId,
};
pub(crate) use model::{
    mixed,
    template::{templates_of, vm_id as template_vm_id},
};
use std::fmt::Display;
use uuid::Uuid;

/// This site as the client named it: `https://cloud.example.com`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base(pub(crate) String);

macro_rules! hrefs {
    ($($name:ident $id:ty, $path:literal;)*) => {$(
        pub(crate) fn $name(&self, id: $id) -> String {
            format!(concat!("{}/api/", $path), self.0, id = id)
        }
    )*};
}

impl Base {
    hrefs! {
        org OrgId, "org/{id}";
        admin_org OrgId, "admin/org/{id}";
        tasks_list OrgId, "tasksList/{id}";
        vdc VdcId, "vdc/{id}";
        admin_vdc VdcId, "admin/vdc/{id}";
        catalog CatalogId, "catalog/{id}";
        admin_catalog CatalogId, "admin/catalog/{id}";
        catalog_item TemplateId, "catalogItem/{id}";
        template TemplateId, "vAppTemplate/vappTemplate-{id}";
        template_vm Uuid, "vAppTemplate/vm-{id}";
        media TemplateId, "media/{id}";
        vapp VappId, "vApp/vapp-{id}";
        vm VmId, "vApp/vm-{id}";
        disk DiskId, "disk/{id}";
        network NetworkId, "network/{id}";
        admin_network NetworkId, "admin/network/{id}";
        user UserId, "admin/user/{id}";
        role RoleId, "admin/role/{id}";
        right Uuid, "admin/right/{id}";
        task TaskId, "task/{id}";
        affinity AffinityId, "vmAffinityRule/{id}";
        provider_vdc Uuid, "admin/providervdc/{id}";
    }

    pub(crate) fn api(&self, rest: impl Display) -> String {
        format!("{}/api/{rest}", self.0)
    }

    /// The host and the port of this site.
    pub(crate) fn host_and_port(&self) -> (&str, u16) {
        let (scheme, host) = self.0.split_once("://").unwrap_or(("https", &self.0));
        let usual = if scheme == "http" { 80 } else { 443 };
        // an IPv6 address has colons too, inside of brackets
        match host.rsplit_once(':').map(|(host, port)| (host, port.parse())) {
            Some((host, Ok(port))) => (host, port),
            _ => (host, usual),
        }
    }

    pub(crate) fn cloudapi(&self, rest: impl Display) -> String {
        format!("{}/cloudapi/{rest}", self.0)
    }

    /// A storage policy within a VDC. Each VDC has its own profile of it, so the address has an id made of both.
    pub(crate) fn storage_profile(&self, vdc: VdcId, policy: PolicyId) -> String {
        self.api(format_args!("vdcStorageProfile/{}", mixed(vdc.0, policy.0)))
    }

    pub(crate) fn admin_storage_profile(&self, vdc: VdcId, policy: PolicyId) -> String {
        self.api(format_args!("admin/vdcStorageProfile/{}", mixed(vdc.0, policy.0)))
    }
}

pub(crate) fn urn(kind: &str, id: impl Display) -> String {
    format!("urn:vcloud:{kind}:{id}")
}

/// An id for something that has only a name, as a right: the same everywhere.
pub(crate) fn derived(kind: &str, name: &str) -> Uuid {
    let hash = ring::digest::digest(&ring::digest::SHA256, format!("{kind}/{name}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_ref()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// The compute policy that stands for none: any size is right.
pub(crate) fn no_sizing() -> Uuid {
    derived("vdcComputePolicy", "System Default")
}

pub(crate) fn right_id(name: &str) -> Uuid {
    derived("right", name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_within_a_thing_lead_back_to_it() {
        let template = TemplateId(Uuid::now_v7());
        for index in [0, 1, 127] {
            let vm = template_vm_id(template, index);
            assert_eq!(vm.get_version_num(), 8);
            assert!(templates_of(vm).any(|found| found == (template, index)));
        }
        let (vdc, policy) = (Uuid::now_v7(), Uuid::now_v7());
        assert_eq!(mixed(mixed(vdc, policy), policy), vdc);
        assert_eq!(mixed(vdc, policy).get_version_num(), 8);
        assert_eq!(right_id("vApp: Copy"), right_id("vApp: Copy"));
    }
}
