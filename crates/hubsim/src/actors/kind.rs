//! The kinds the actors know, one line each.

/// A kind, as its path on the server needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
    pub namespaced: bool,
    /// Whether status is written at `/status` and not with the rest.
    pub status_apart: bool,
}

const fn kind(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { group, version, kind, plural, namespaced: true, status_apart: false }
}

impl Kind {
    const fn of_cluster(self) -> Kind {
        Kind { namespaced: false, ..self }
    }

    const fn with_status(self) -> Kind {
        Kind { status_apart: true, ..self }
    }

    pub(crate) fn api_version(self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The path of the collection, in one namespace or in all.
    pub(crate) fn path(self, namespace: &str) -> String {
        let root = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        if self.namespaced && !namespace.is_empty() {
            format!("{root}/namespaces/{namespace}/{}", self.plural)
        } else {
            format!("{root}/{}", self.plural)
        }
    }

    /// The kind an object says it is, if the actors know it.
    pub(crate) fn of(api_version: &str, name: &str) -> Option<Kind> {
        ALL.iter().copied().find(|k| k.kind == name && k.api_version() == api_version)
    }
}

pub(crate) const NAMESPACE: Kind = kind("", "v1", "Namespace", "namespaces").of_cluster();
pub(crate) const NODE: Kind = kind("", "v1", "Node", "nodes").of_cluster().with_status();
pub(crate) const SECRET: Kind = kind("", "v1", "Secret", "secrets");
pub(crate) const CONFIG_MAP: Kind = kind("", "v1", "ConfigMap", "configmaps");
pub(crate) const SERVICE: Kind = kind("", "v1", "Service", "services");
pub(crate) const EVENT: Kind = kind("", "v1", "Event", "events");
pub(crate) const CLAIM: Kind = kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims").with_status();
pub(crate) const RESOURCE_QUOTA: Kind = kind("", "v1", "ResourceQuota", "resourcequotas").with_status();
pub(crate) const NETWORK_POLICY: Kind = kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies");
pub(crate) const DEPLOYMENT: Kind = kind("apps", "v1", "Deployment", "deployments").with_status();
pub(crate) const DAEMON_SET: Kind = kind("apps", "v1", "DaemonSet", "daemonsets").with_status();
pub(crate) const STORAGE_CLASS: Kind = kind("storage.k8s.io", "v1", "StorageClass", "storageclasses").of_cluster();
pub(crate) const MACHINE: Kind = kind("kubevirt.io", "v1", "VirtualMachine", "virtualmachines").with_status();
pub(crate) const INSTANCE: Kind = kind("kubevirt.io", "v1", "VirtualMachineInstance", "virtualmachineinstances");
pub(crate) const KUBEVIRT: Kind = kind("kubevirt.io", "v1", "KubeVirt", "kubevirts").with_status();
pub(crate) const MIGRATION: Kind =
    kind("kubevirt.io", "v1", "VirtualMachineInstanceMigration", "virtualmachineinstancemigrations").with_status();
pub(crate) const NETWORK: Kind = kind("k8s.ovn.org", "v1", "UserDefinedNetwork", "userdefinednetworks").with_status();
pub(crate) const CLUSTER_NETWORK: Kind =
    kind("k8s.ovn.org", "v1", "ClusterUserDefinedNetwork", "clusteruserdefinednetworks").of_cluster().with_status();
pub(crate) const ATTACHMENT: Kind =
    kind("k8s.cni.cncf.io", "v1", "NetworkAttachmentDefinition", "network-attachment-definitions");
pub(crate) const API_SERVICE: Kind = kind("apiregistration.k8s.io", "v1", "APIService", "apiservices").of_cluster();
pub(crate) const MUTATING_WEBHOOKS: Kind =
    kind("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations")
        .of_cluster();
pub(crate) const VALIDATING_WEBHOOKS: Kind =
    kind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations")
        .of_cluster();
const SNAPSHOTS: &str = "snapshot.kubevirt.io";
pub(crate) const SNAPSHOT: Kind =
    kind(SNAPSHOTS, "v1beta1", "VirtualMachineSnapshot", "virtualmachinesnapshots").with_status();
pub(crate) const SNAPSHOT_CONTENT: Kind =
    kind(SNAPSHOTS, "v1beta1", "VirtualMachineSnapshotContent", "virtualmachinesnapshotcontents").with_status();
pub(crate) const RESTORE: Kind =
    kind(SNAPSHOTS, "v1beta1", "VirtualMachineRestore", "virtualmachinerestores").with_status();
const INSTANCETYPES: &str = "instancetype.kubevirt.io";
pub(crate) const INSTANCETYPE: Kind =
    kind(INSTANCETYPES, "v1beta1", "VirtualMachineInstancetype", "virtualmachineinstancetypes");
pub(crate) const CLUSTER_INSTANCETYPE: Kind =
    kind(INSTANCETYPES, "v1beta1", "VirtualMachineClusterInstancetype", "virtualmachineclusterinstancetypes")
        .of_cluster();
pub(crate) const PREFERENCE: Kind =
    kind(INSTANCETYPES, "v1beta1", "VirtualMachinePreference", "virtualmachinepreferences");
pub(crate) const CLUSTER_PREFERENCE: Kind =
    kind(INSTANCETYPES, "v1beta1", "VirtualMachineClusterPreference", "virtualmachineclusterpreferences").of_cluster();
pub(crate) const DATA_VOLUME: Kind = kind("cdi.kubevirt.io", "v1beta1", "DataVolume", "datavolumes").with_status();
pub(crate) const DATA_SOURCE: Kind = kind("cdi.kubevirt.io", "v1beta1", "DataSource", "datasources");
pub(crate) const STORAGE_PROFILE: Kind =
    kind("cdi.kubevirt.io", "v1beta1", "StorageProfile", "storageprofiles").of_cluster().with_status();
pub(crate) const CDI_CONFIG: Kind = kind("cdi.kubevirt.io", "v1beta1", "CDIConfig", "cdiconfigs").of_cluster();
pub(crate) const CDI: Kind = kind("cdi.kubevirt.io", "v1beta1", "CDI", "cdis").of_cluster();
pub(crate) const CLUSTER_VERSION: Kind =
    kind("config.openshift.io", "v1", "ClusterVersion", "clusterversions").of_cluster().with_status();
pub(crate) const SNAPSHOT_CLASS: Kind =
    kind("snapshot.storage.k8s.io", "v1", "VolumeSnapshotClass", "volumesnapshotclasses").of_cluster();
pub(crate) const TEMPLATE: Kind = kind("template.openshift.io", "v1", "Template", "templates");
pub(crate) const TEMPLATE_INSTANCE: Kind =
    kind("template.openshift.io", "v1", "TemplateInstance", "templateinstances").with_status();
/// Nothing that is there: the right to create one is the right to instantiate templates.
pub(crate) const TEMPLATE_CONFIG: Kind = kind("template.openshift.io", "v1", "TemplateConfig", "templateconfigs");
pub(crate) const ACCESS_REVIEW: Kind =
    kind("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews").of_cluster();

pub(crate) const ALL: &[Kind] = &[
    NAMESPACE,
    NODE,
    SECRET,
    CONFIG_MAP,
    SERVICE,
    EVENT,
    CLAIM,
    DEPLOYMENT,
    DAEMON_SET,
    STORAGE_CLASS,
    MACHINE,
    INSTANCE,
    KUBEVIRT,
    MIGRATION,
    SNAPSHOT,
    SNAPSHOT_CONTENT,
    RESTORE,
    NETWORK,
    CLUSTER_NETWORK,
    ATTACHMENT,
    CDI,
    CLUSTER_VERSION,
    SNAPSHOT_CLASS,
    INSTANCETYPE,
    CLUSTER_INSTANCETYPE,
    PREFERENCE,
    CLUSTER_PREFERENCE,
    DATA_VOLUME,
    DATA_SOURCE,
    STORAGE_PROFILE,
    TEMPLATE,
    TEMPLATE_INSTANCE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_api() {
        assert_eq!(CLAIM.path("a"), "/api/v1/namespaces/a/persistentvolumeclaims");
        assert_eq!(MACHINE.path(""), "/apis/kubevirt.io/v1/virtualmachines");
        assert_eq!(STORAGE_CLASS.path("a"), "/apis/storage.k8s.io/v1/storageclasses");
        assert_eq!(Kind::of("kubevirt.io/v1", "VirtualMachine"), Some(MACHINE));
        assert_eq!(Kind::of("v1", "VirtualMachine"), None);
    }
}
