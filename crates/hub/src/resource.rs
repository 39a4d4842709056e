//! The kinds of objects SSVirt knows on a hub, and where they are served.
use std::{fmt, sync::Arc};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Resource {
    pub group: &'static str,
    pub version: &'static str,
    pub plural: &'static str,
    pub kind: &'static str,
    pub namespaced: bool,
}

const fn namespaced(group: &'static str, version: &'static str, plural: &'static str, kind: &'static str) -> Resource {
    Resource { group, version, plural, kind, namespaced: true }
}

const fn of_cluster(group: &'static str, version: &'static str, plural: &'static str, kind: &'static str) -> Resource {
    Resource { group, version, plural, kind, namespaced: false }
}

pub const NAMESPACES: Resource = of_cluster("", "v1", "namespaces", "Namespace");
pub const NODES: Resource = of_cluster("", "v1", "nodes", "Node");
pub const SERVICES: Resource = namespaced("", "v1", "services", "Service");
pub const SECRETS: Resource = namespaced("", "v1", "secrets", "Secret");
pub const EVENTS: Resource = namespaced("", "v1", "events", "Event");
pub const RESOURCE_QUOTAS: Resource = namespaced("", "v1", "resourcequotas", "ResourceQuota");
pub const VOLUME_CLAIMS: Resource = namespaced("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim");
pub const DEPLOYMENTS: Resource = namespaced("apps", "v1", "deployments", "Deployment");
pub const DAEMON_SETS: Resource = namespaced("apps", "v1", "daemonsets", "DaemonSet");
pub const NETWORK_POLICIES: Resource = namespaced("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy");
pub const STORAGE_CLASSES: Resource = of_cluster("storage.k8s.io", "v1", "storageclasses", "StorageClass");
pub const CRDS: Resource =
    of_cluster("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition");
pub const VIRTUAL_MACHINES: Resource = namespaced("kubevirt.io", "v1", "virtualmachines", "VirtualMachine");
pub const VM_INSTANCES: Resource = namespaced("kubevirt.io", "v1", "virtualmachineinstances", "VirtualMachineInstance");
pub const KUBEVIRTS: Resource = namespaced("kubevirt.io", "v1", "kubevirts", "KubeVirt");
pub const VM_SNAPSHOTS: Resource =
    namespaced("snapshot.kubevirt.io", "v1beta1", "virtualmachinesnapshots", "VirtualMachineSnapshot");
pub const VM_RESTORES: Resource =
    namespaced("snapshot.kubevirt.io", "v1beta1", "virtualmachinerestores", "VirtualMachineRestore");
pub const SNAPSHOT_CLASSES: Resource =
    of_cluster("snapshot.storage.k8s.io", "v1", "volumesnapshotclasses", "VolumeSnapshotClass");
pub const INSTANCE_TYPES: Resource = of_cluster(
    "instancetype.kubevirt.io",
    "v1beta1",
    "virtualmachineclusterinstancetypes",
    "VirtualMachineClusterInstancetype",
);
pub const PREFERENCES: Resource = of_cluster(
    "instancetype.kubevirt.io",
    "v1beta1",
    "virtualmachineclusterpreferences",
    "VirtualMachineClusterPreference",
);
pub const DATA_VOLUMES: Resource = namespaced("cdi.kubevirt.io", "v1beta1", "datavolumes", "DataVolume");
pub const DATA_SOURCES: Resource = namespaced("cdi.kubevirt.io", "v1beta1", "datasources", "DataSource");
pub const CDI_CONFIGS: Resource = of_cluster("cdi.kubevirt.io", "v1beta1", "cdiconfigs", "CDIConfig");
pub const CDIS: Resource = of_cluster("cdi.kubevirt.io", "v1beta1", "cdis", "CDI");
pub const TEMPLATES: Resource = namespaced("template.openshift.io", "v1", "templates", "Template");
pub const TEMPLATE_INSTANCES: Resource =
    namespaced("template.openshift.io", "v1", "templateinstances", "TemplateInstance");
pub const USER_DEFINED_NETWORKS: Resource =
    namespaced("k8s.ovn.org", "v1", "userdefinednetworks", "UserDefinedNetwork");
pub const CLUSTER_NETWORKS: Resource =
    of_cluster("k8s.ovn.org", "v1", "clusteruserdefinednetworks", "ClusterUserDefinedNetwork");
pub const NETWORK_ATTACHMENTS: Resource =
    namespaced("k8s.cni.cncf.io", "v1", "network-attachment-definitions", "NetworkAttachmentDefinition");

impl Resource {
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The path of all of them, or of those in one namespace.
    pub(crate) fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", self.group) };
        match namespace {
            Some(ns) if self.namespaced => format!("{root}/{}/namespaces/{ns}/{}", self.version, self.plural),
            _ => format!("{root}/{}/{}", self.version, self.plural),
        }
    }

    /// Its name in rights and messages: `virtualmachines.kubevirt.io`.
    pub fn name(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }
}

/// Where an object is. The namespace is empty for objects of the whole cluster. There are many of them, and most are copies.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Key {
    #[serde(with = "shared_text")]
    pub namespace: Arc<str>,
    #[serde(with = "shared_text")]
    pub name: Arc<str>,
}

mod shared_text {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::sync::Arc;

    pub(super) fn serialize<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<str>, D::Error> {
        Ok(String::deserialize(from)?.into())
    }
}

impl Key {
    pub fn new(namespace: impl AsRef<str>, name: impl AsRef<str>) -> Key {
        Key { namespace: namespace.as_ref().into(), name: name.as_ref().into() }
    }

    /// Another object in the same namespace.
    pub fn beside(&self, name: impl AsRef<str>) -> Key {
        Key { namespace: self.namespace.clone(), name: name.as_ref().into() }
    }

    /// An object of the whole cluster.
    pub fn global(name: impl AsRef<str>) -> Key {
        Key::new("", name)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() { f.write_str(&self.name) } else { write!(f, "{}/{}", self.namespace, self.name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_group_and_scope() {
        assert_eq!(SECRETS.path(Some("a")), "/api/v1/namespaces/a/secrets");
        assert_eq!(NAMESPACES.path(Some("a")), "/api/v1/namespaces");
        assert_eq!(VIRTUAL_MACHINES.path(None), "/apis/kubevirt.io/v1/virtualmachines");
        assert_eq!(DATA_VOLUMES.api_version(), "cdi.kubevirt.io/v1beta1");
        assert_eq!((SECRETS.name(), CDIS.name()), ("secrets".to_owned(), "cdis.cdi.kubevirt.io".to_owned()));
    }
}
