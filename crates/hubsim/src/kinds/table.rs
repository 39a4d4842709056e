//! The table of kinds: one line each.

use super::{Column, Kind, schema_text};
use crate::{
    flavour::{Flavour, Part},
    schema::Schema,
};
use std::sync::Arc;

/// Part, group, versions (preferred first, which is also the one stored), plural, kind, short names, categories, options.
struct Row(Part, &'static str, &'static str, &'static str, &'static str, &'static str, &'static str, u8);

const CLUSTER: u8 = 0;
const NAMESPACED: u8 = 1;
const STATUS: u8 = 2;
const CREATE_ONLY: u8 = 4;
/// Served like a built-in kind although its group is not one of Kubernetes': by an aggregated API server.
const BUILT_IN: u8 = 8;

use Part::{Cdi, HyperShift, KubeVirt, Kubernetes, OpenShift, Snapshot, Templates, UserDefinedNetworks};

const N: u8 = NAMESPACED;
const NS: u8 = NAMESPACED | STATUS;

#[rustfmt::skip]
const TABLE: &[Row] = &[
    // part, group, versions, plural, kind, short names, categories, options
    Row(Kubernetes, "", "v1", "configmaps", "ConfigMap", "cm", "", N),
    Row(Kubernetes, "", "v1", "events", "Event", "ev", "", N),
    Row(Kubernetes, "", "v1", "limitranges", "LimitRange", "limits", "", N),
    Row(Kubernetes, "", "v1", "namespaces", "Namespace", "ns", "", CLUSTER | STATUS),
    Row(Kubernetes, "", "v1", "nodes", "Node", "no", "", CLUSTER | STATUS),
    Row(Kubernetes, "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", "pvc", "", NS),
    Row(Kubernetes, "", "v1", "persistentvolumes", "PersistentVolume", "pv", "", CLUSTER | STATUS),
    Row(Kubernetes, "", "v1", "pods", "Pod", "po", "all", NS),
    Row(Kubernetes, "", "v1", "resourcequotas", "ResourceQuota", "quota", "", NS),
    Row(Kubernetes, "", "v1", "secrets", "Secret", "", "", N),
    Row(Kubernetes, "", "v1", "serviceaccounts", "ServiceAccount", "sa", "", N),
    Row(Kubernetes, "", "v1", "services", "Service", "svc", "all", NS),
    Row(Kubernetes, "apps", "v1", "controllerrevisions", "ControllerRevision", "", "", N),
    Row(Kubernetes, "apps", "v1", "daemonsets", "DaemonSet", "ds", "all", NS),
    Row(Kubernetes, "apps", "v1", "deployments", "Deployment", "deploy", "all", NS),
    Row(Kubernetes, "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", "", "", CREATE_ONLY),
    Row(Kubernetes, "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", "", "", CREATE_ONLY),
    Row(Kubernetes, "authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", "", "", N | CREATE_ONLY),
    Row(Kubernetes, "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", "", "", CREATE_ONLY),
    Row(Kubernetes, "authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", "", "", CREATE_ONLY),
    Row(Kubernetes, "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", "", "", CREATE_ONLY),
    Row(Kubernetes, "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", "", "", CLUSTER),
    Row(Kubernetes, "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", "", "", CLUSTER),
    Row(Kubernetes, "rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", "", "", N),
    Row(Kubernetes, "rbac.authorization.k8s.io", "v1", "roles", "Role", "", "", N),
    Row(Kubernetes, "networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", "netpol", "", N),
    Row(Kubernetes, "storage.k8s.io", "v1", "storageclasses", "StorageClass", "sc", "", CLUSTER),
    Row(Kubernetes, "coordination.k8s.io", "v1", "leases", "Lease", "", "", N),
    Row(Kubernetes, "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", "crd,crds", "api-extensions", CLUSTER | STATUS),
    Row(Kubernetes, "apiregistration.k8s.io", "v1", "apiservices", "APIService", "", "api-extensions", CLUSTER | STATUS),

    Row(KubeVirt, "kubevirt.io", "v1,v1alpha3", "kubevirts", "KubeVirt", "kv,kvs", "", NS),
    Row(KubeVirt, "kubevirt.io", "v1,v1alpha3", "virtualmachines", "VirtualMachine", "vm,vms", "", NS),
    Row(KubeVirt, "kubevirt.io", "v1,v1alpha3", "virtualmachineinstances", "VirtualMachineInstance", "vmi,vmis", "", N),
    Row(KubeVirt, "kubevirt.io", "v1,v1alpha3", "virtualmachineinstancemigrations", "VirtualMachineInstanceMigration", "vmim,vmims", "", NS),
    Row(KubeVirt, "instancetype.kubevirt.io", "v1beta1", "virtualmachineinstancetypes", "VirtualMachineInstancetype", "vminstancetype,vminstancetypes,vmf,vmfs", "", N),
    Row(KubeVirt, "instancetype.kubevirt.io", "v1beta1", "virtualmachineclusterinstancetypes", "VirtualMachineClusterInstancetype", "vmclusterinstancetype,vmclusterinstancetypes,vmcf,vmcfs", "", CLUSTER),
    Row(KubeVirt, "instancetype.kubevirt.io", "v1beta1", "virtualmachinepreferences", "VirtualMachinePreference", "vmpref,vmprefs,vmp,vmps", "", N),
    Row(KubeVirt, "instancetype.kubevirt.io", "v1beta1", "virtualmachineclusterpreferences", "VirtualMachineClusterPreference", "vmcp,vmcps", "", CLUSTER),
    Row(KubeVirt, "clone.kubevirt.io", "v1beta1,v1alpha1", "virtualmachineclones", "VirtualMachineClone", "vmclone,vmclones", "", NS),
    Row(KubeVirt, "export.kubevirt.io", "v1beta1,v1alpha1", "virtualmachineexports", "VirtualMachineExport", "vmexport,vmexports", "", NS),
    Row(KubeVirt, "migrations.kubevirt.io", "v1alpha1", "migrationpolicies", "MigrationPolicy", "", "", CLUSTER | STATUS),
    Row(KubeVirt, "k8s.cni.cncf.io", "v1", "network-attachment-definitions", "NetworkAttachmentDefinition", "net-attach-def", "", N),
    Row(Snapshot, "snapshot.kubevirt.io", "v1beta1,v1alpha1", "virtualmachinesnapshots", "VirtualMachineSnapshot", "vmsnapshot,vmsnapshots", "", NS),
    Row(Snapshot, "snapshot.kubevirt.io", "v1beta1,v1alpha1", "virtualmachinesnapshotcontents", "VirtualMachineSnapshotContent", "vmsnapshotcontent,vmsnapshotcontents", "", NS),
    Row(Snapshot, "snapshot.kubevirt.io", "v1beta1,v1alpha1", "virtualmachinerestores", "VirtualMachineRestore", "vmrestore,vmrestores", "", NS),
    Row(Snapshot, "snapshot.storage.k8s.io", "v1", "volumesnapshotclasses", "VolumeSnapshotClass", "vsclass,vsclasses", "", CLUSTER),
    Row(Cdi, "cdi.kubevirt.io", "v1beta1,v1alpha1", "cdis", "CDI", "cdi,cdis", "", CLUSTER),
    Row(Cdi, "cdi.kubevirt.io", "v1beta1", "cdiconfigs", "CDIConfig", "", "", CLUSTER),
    Row(Cdi, "cdi.kubevirt.io", "v1beta1", "dataimportcrons", "DataImportCron", "dic,dics", "all", N),
    Row(Cdi, "cdi.kubevirt.io", "v1beta1", "datasources", "DataSource", "das", "all", N),
    Row(Cdi, "cdi.kubevirt.io", "v1beta1", "datavolumes", "DataVolume", "dv,dvs", "all", NS),
    Row(Cdi, "cdi.kubevirt.io", "v1beta1", "objecttransfers", "ObjectTransfer", "ot,ots", "", CLUSTER | STATUS),
    Row(Cdi, "cdi.kubevirt.io", "v1beta1", "storageprofiles", "StorageProfile", "", "", CLUSTER | STATUS),
    Row(Cdi, "cdi.kubevirt.io", "v1beta1", "volumeclonesources", "VolumeCloneSource", "", "", N),
    Row(Cdi, "cdi.kubevirt.io", "v1beta1", "volumeimportsources", "VolumeImportSource", "", "", N),
    Row(Cdi, "cdi.kubevirt.io", "v1beta1", "volumeuploadsources", "VolumeUploadSource", "", "", N),
    Row(UserDefinedNetworks, "k8s.ovn.org", "v1", "userdefinednetworks", "UserDefinedNetwork", "udn", "", NS),
    Row(UserDefinedNetworks, "k8s.ovn.org", "v1", "clusteruserdefinednetworks", "ClusterUserDefinedNetwork", "cudn", "", CLUSTER | STATUS),
    // of the two with one kind the later is the one that kubectl takes
    Row(Templates, "template.openshift.io", "v1", "processedtemplates", "Template", "", "", N | BUILT_IN | CREATE_ONLY),
    Row(Templates, "template.openshift.io", "v1", "templates", "Template", "", "", N | BUILT_IN),
    Row(Templates, "template.openshift.io", "v1", "templateinstances", "TemplateInstance", "", "", NS | BUILT_IN),
    Row(Templates, "template.openshift.io", "v1", "brokertemplateinstances", "BrokerTemplateInstance", "", "", BUILT_IN),
    Row(OpenShift, "config.openshift.io", "v1", "clusterversions", "ClusterVersion", "", "", CLUSTER | STATUS),
    Row(OpenShift, "config.openshift.io", "v1", "infrastructures", "Infrastructure", "", "", CLUSTER | STATUS),
    Row(OpenShift, "config.openshift.io", "v1", "ingresses", "Ingress", "", "", CLUSTER | STATUS),
    Row(OpenShift, "route.openshift.io", "v1", "routes", "Route", "", "", NS),
    Row(OpenShift, "quota.openshift.io", "v1", "clusterresourcequotas", "ClusterResourceQuota", "", "", CLUSTER | STATUS),
    Row(HyperShift, "hypershift.openshift.io", "v1beta1", "hostedclusters", "HostedCluster", "hc,hcs", "", NS),
    Row(HyperShift, "hypershift.openshift.io", "v1beta1", "nodepools", "NodePool", "np,nps", "", NS),
    Row(HyperShift, "hypershift.openshift.io", "v1beta1", "hostedcontrolplanes", "HostedControlPlane", "hcp,hcps", "cluster-api", NS),
    Row(HyperShift, "cloudkit.openshift.io", "v1alpha1", "clusterorders", "ClusterOrder", "cord", "", NS),
];

/// Columns that kinds print beside name and age: group/plural, then name:type:path.
const COLUMNS: &[(&str, &str, &[&str])] = &[
    (
        "kubevirt.io",
        "virtualmachines",
        &[
            "Age:date:.metadata.creationTimestamp",
            "Status:string:.status.printableStatus",
            "Ready:string:.status.conditions[?(@.type=='Ready')].status",
        ],
    ),
    (
        "kubevirt.io",
        "virtualmachineinstances",
        &[
            "Age:date:.metadata.creationTimestamp",
            "Phase:string:.status.phase",
            "IP:string:.status.interfaces[0].ipAddress",
            "NodeName:string:.status.nodeName",
            "Ready:string:.status.conditions[?(@.type=='Ready')].status",
        ],
    ),
    (
        "cdi.kubevirt.io",
        "datavolumes",
        &[
            "Phase:string:.status.phase",
            "Progress:string:.status.progress",
            "Restarts:integer:.status.restartCount",
            "Age:date:.metadata.creationTimestamp",
        ],
    ),
    (
        "snapshot.kubevirt.io",
        "virtualmachinesnapshots",
        &[
            "SourceKind:string:.spec.source.kind",
            "SourceName:string:.spec.source.name",
            "Phase:string:.status.phase",
            "ReadyToUse:boolean:.status.readyToUse",
            "CreationTime:date:.status.creationTime",
            "Error:string:.status.error.message",
        ],
    ),
];

/// Kinds of Kubernetes itself, by group. Every other group but the aggregated ones comes from CRDs.
const BUILT_IN_GROUPS: &[&str] = &[
    "",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "rbac.authorization.k8s.io",
    "networking.k8s.io",
    "storage.k8s.io",
    "coordination.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
];

pub(crate) fn served(flavour: &Flavour) -> Vec<Kind> {
    TABLE.iter().filter(|row| flavour.has(row.0)).map(kind_of).collect()
}

/// The kinds that a hub of another flavour would have.
pub(crate) fn unserved(flavour: &Flavour) -> Vec<Kind> {
    TABLE.iter().filter(|row| !flavour.has(row.0)).map(kind_of).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn kind_of(&Row(_, group, versions, plural, kind, short, categories, options): &Row) -> Kind {
    let versions = words(versions);
    let custom = options & BUILT_IN == 0 && !BUILT_IN_GROUPS.contains(&group);
    let columns = COLUMNS.iter().find(|(of_group, of_plural, _)| (*of_group, *of_plural) == (group, plural));
    Kind {
        group: group.to_owned(),
        storage: versions.first().cloned().unwrap_or_default(),
        versions,
        kind: kind.to_owned(),
        plural: plural.to_owned(),
        singular: kind.to_lowercase(),
        short: words(short),
        categories: words(categories),
        namespaced: options & NAMESPACED != 0,
        status: options & STATUS != 0,
        custom,
        schema: schema_text::of(group, plural).map(|schema| Arc::new(Schema::read(&schema))),
        columns: columns.map(|(_, _, columns)| columns.iter().map(|text| column(text)).collect()).unwrap_or_default(),
        create_only: options & CREATE_ONLY != 0,
    }
}

fn column(text: &str) -> Column {
    let mut parts = text.splitn(3, ':').map(str::to_owned);
    let mut next = || parts.next().unwrap_or_default();
    Column { name: next(), kind: next(), path: next(), priority: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_cluster_serves_no_virtual_machines() {
        let kinds = served(&Flavour::bare());
        assert!(kinds.iter().all(|kind| kind.group != "kubevirt.io"));
        assert!(kinds.iter().any(|kind| kind.is("", "secrets")));
    }

    #[test]
    fn no_two_lines_name_the_same_resource() {
        let mut names: Vec<_> = TABLE.iter().map(|row| (row.1, row.3)).collect();
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before);
    }
}
