//! Common instance types and preferences, as virt-operator ships them.
use super::{Item, item};
use crate::actors::kind::{CLUSTER_INSTANCETYPE, CLUSTER_PREFERENCE};
use serde_json::{Value, json};

/// A series: name, what it is for, and what its sizes have in common.
struct Series {
    name: &'static str,
    title: &'static str,
    sizes: &'static [(&'static str, i64, &'static str)],
    cpu: fn() -> Value,
    memory: fn() -> Value,
}

type Size = (&'static str, i64, &'static str);

const GENERAL: [Size; 10] = [
    ("nano", 1, "512Mi"),
    ("micro", 1, "1Gi"),
    ("small", 1, "2Gi"),
    ("medium", 1, "4Gi"),
    ("2xmedium", 2, "4Gi"),
    ("large", 2, "8Gi"),
    ("xlarge", 4, "16Gi"),
    ("2xlarge", 8, "32Gi"),
    ("4xlarge", 16, "64Gi"),
    ("8xlarge", 32, "128Gi"),
];
const OVERCOMMITTED: [Size; 4] =
    [("small", 1, "2Gi"), ("medium", 1, "4Gi"), ("large", 2, "8Gi"), ("xlarge", 4, "16Gi")];
const COMPUTE: [Size; 4] = [("medium", 1, "2Gi"), ("large", 2, "4Gi"), ("xlarge", 4, "8Gi"), ("2xlarge", 8, "16Gi")];
const MEMORY: [Size; 4] =
    [("large", 2, "16Gi"), ("xlarge", 4, "32Gi"), ("2xlarge", 8, "64Gi"), ("4xlarge", 16, "128Gi")];

const SERIES: [Series; 4] = [
    Series { name: "u1", title: "General Purpose", sizes: &GENERAL, cpu: || json!({}), memory: || json!({}) },
    Series {
        name: "o1",
        title: "Overcommitted",
        sizes: &OVERCOMMITTED,
        cpu: || json!({}),
        memory: || json!({"overcommitPercent": 50}),
    },
    Series {
        name: "cx1",
        title: "Compute Exclusive",
        sizes: &COMPUTE,
        cpu: || json!({"dedicatedCPUPlacement": true, "isolateEmulatorThread": true}),
        memory: || json!({"hugepages": {"pageSize": "2Mi"}}),
    },
    Series {
        name: "m1",
        title: "Memory Intensive",
        sizes: &MEMORY,
        cpu: || json!({}),
        memory: || json!({"hugepages": {"pageSize": "2Mi"}}),
    },
];

pub(super) fn items() -> Vec<Item> {
    let types = SERIES.iter().flat_map(|series| series.sizes.iter().map(|size| instancetype(series, size)));
    types.chain(PREFERENCES.iter().map(preference)).collect()
}

fn instancetype(series: &Series, (size, cpus, guest): &Size) -> Item {
    let mut cpu = (series.cpu)();
    cpu["guest"] = json!(cpus);
    let mut memory = (series.memory)();
    memory["guest"] = json!(guest);
    let class = series.title.to_lowercase().replace(' ', ".");
    let object = json!({
        "metadata": {
            "name": format!("{}.{size}", series.name),
            "labels": {
                "instancetype.kubevirt.io/cpu": cpus.to_string(),
                "instancetype.kubevirt.io/memory": guest,
                "instancetype.kubevirt.io/size": size,
                "instancetype.kubevirt.io/class": class,
                "instancetype.kubevirt.io/version": "1",
                "instancetype.kubevirt.io/vendor": "kubevirt.io",
                "instancetype.kubevirt.io/icon-pf": "pficon-server-group",
            },
            "annotations": {
                "instancetype.kubevirt.io/displayName": series.title,
                "instancetype.kubevirt.io/description": format!("{cpus} vCPU and {guest} memory"),
            },
        },
        "spec": {"cpu": cpu, "memory": memory},
    });
    item(CLUSTER_INSTANCETYPE, object)
}

/// Name, shown name, least memory, and whether it is Windows.
struct Preference(&'static str, &'static str, &'static str, bool);

const PREFERENCES: [Preference; 12] = [
    Preference("ubuntu", "Ubuntu", "2Gi", false),
    Preference("fedora", "Fedora", "2Gi", false),
    Preference("debian", "Debian", "1Gi", false),
    Preference("centos.stream9", "CentOS Stream 9", "1536Mi", false),
    Preference("centos.stream10", "CentOS Stream 10", "1536Mi", false),
    Preference("rhel.8", "Red Hat Enterprise Linux 8", "1536Mi", false),
    Preference("rhel.9", "Red Hat Enterprise Linux 9", "1536Mi", false),
    Preference("rhel.10", "Red Hat Enterprise Linux 10", "1536Mi", false),
    Preference("linux", "Linux", "512Mi", false),
    Preference("cirros", "CirrOS", "256Mi", false),
    Preference("windows.2k22", "Microsoft Windows Server 2022", "2Gi", true),
    Preference("windows.11", "Microsoft Windows 11", "4Gi", true),
];

fn preference(Preference(name, title, memory, windows): &Preference) -> Item {
    let devices = if *windows {
        json!({"preferredDiskBus": "sata", "preferredCdromBus": "sata", "preferredInterfaceModel": "e1000e",
            "preferredTPM": {}, "preferredInputBus": "usb", "preferredInputType": "tablet"})
    } else {
        json!({"preferredDiskBus": "virtio", "preferredCdromBus": "sata", "preferredInterfaceModel": "virtio",
            "preferredRng": {}})
    };
    let mut spec = json!({
        "devices": devices,
        "requirements": {"cpu": {"guest": 1}, "memory": {"guest": memory}},
    });
    if *windows {
        spec["firmware"] = json!({"preferredEfi": {"secureBoot": true}});
        spec["features"] = json!({"preferredSmm": {}, "preferredHyperv": {"relaxed": {}, "vapic": {}, "vpindex": {}}});
        spec["preferredTerminationGracePeriodSeconds"] = json!(3600);
        spec["cpu"] = json!({"preferredCPUTopology": "sockets"});
    } else {
        spec["preferredTerminationGracePeriodSeconds"] = json!(180);
    }
    let object = json!({
        "metadata": {
            "name": name,
            "labels": {
                "instancetype.kubevirt.io/os-type": if *windows { "windows" } else { "linux" },
                "instancetype.kubevirt.io/vendor": "kubevirt.io",
            },
            "annotations": {
                "openshift.io/display-name": title,
                "iconClass": format!("icon-{}", name.split('.').next().unwrap_or_default()),
            },
        },
        "spec": spec,
    });
    item(CLUSTER_PREFERENCE, object)
}
