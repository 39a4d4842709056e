use super::*;
use crate::actors::{
    json::{put, remove},
    kind::{CLUSTER_INSTANCETYPE, CLUSTER_PREFERENCE},
};
use serde_json::json;

struct Hub;

impl Objects for Hub {
    fn find(&self, kind: Kind, _: &str, name: &str) -> Option<Arc<Value>> {
        let found = match (kind, name) {
            (CLUSTER_INSTANCETYPE, "u1.small") => json!({"spec": {"cpu": {"guest": 1}, "memory": {"guest": "2Gi"}}}),
            (CLUSTER_PREFERENCE, "hungry") => {
                json!({"spec": {"requirements": {"cpu": {"guest": 2}, "memory": {"guest": "4Gi"}}}})
            }
            _ => return None,
        };
        Some(Arc::new(found))
    }

    fn all(&self, _: Kind) -> Vec<Arc<Value>> {
        vec![Arc::new(json!({"spec": {"configuration": {"network": {"permitBridgeInterfaceOnPodNetwork": false}}}}))]
    }
}

fn vm() -> Value {
    json!({"metadata": {"name": "web", "namespace": "a"}, "spec": {
        "runStrategy": "Halted",
        "dataVolumeTemplates": [{
            "metadata": {"name": "web-root"},
            "spec": {"sourceRef": {"kind": "DataSource", "name": "fedora"}, "storage": {}},
        }],
        "template": {"spec": {
            "domain": {
                "memory": {"guest": "2Gi"},
                "devices": {
                    "disks": [{"name": "root", "disk": {"bus": "virtio"}, "bootOrder": 1}, {"name": "ci", "disk": {}}],
                    "interfaces": [{"name": "default", "masquerade": {}}],
                },
            },
            "networks": [{"name": "default", "pod": {}}],
            "volumes": [
                {"name": "root", "dataVolume": {"name": "web-root"}},
                {"name": "ci", "cloudInitNoCloud": {"userData": "#cloud-config"}},
            ],
        }},
    }})
}

const T: &str = "/spec/template/spec";

/// Causes against a machine with one thing changed: field and words.
fn after(pointer: &str, value: Value) -> Vec<(String, String)> {
    let mut machine = vm();
    let (list, rest) = match pointer.split_once('#') {
        // `path#index/rest` reaches into a list, which `put` does not
        Some((list, rest)) => (list, rest),
        None => {
            put(&mut machine, pointer, value);
            return told(&machine);
        }
    };
    let (index, rest) = rest.split_once('/').unwrap_or((rest, ""));
    let item = machine.pointer_mut(&format!("{list}/{index}")).unwrap();
    if rest.is_empty() {
        *item = value
    } else {
        put(item, &format!("/{rest}"), value)
    }
    told(&machine)
}

fn told(machine: &Value) -> Vec<(String, String)> {
    check_machine(machine, "a", &Hub).into_iter().map(|c| (c.field, c.message)).collect()
}

fn one(found: Vec<(String, String)>, field: &str, words: &str) {
    assert_eq!(found, [(field.to_owned(), words.to_owned())]);
}

#[test]
fn a_good_machine_passes() {
    assert_eq!(told(&vm()), []);
}

#[test]
fn the_run_strategy_is_one_of_five_and_alone() {
    one(after("/spec/runStrategy", json!(null)), "spec.running", "RunStrategy must be specified");
    one(
        after("/spec/running", json!(true)),
        "spec.running",
        "Running and RunStrategy are mutually exclusive. Note that Running is deprecated, please use RunStrategy instead",
    );
    one(after("/spec/runStrategy", json!("Sometimes")), "spec.runStrategy", "Invalid RunStrategy (Sometimes)");
    let mut old_way = vm();
    remove(&mut old_way, "/spec/runStrategy");
    put(&mut old_way, "/spec/running", json!(false));
    assert_eq!(told(&old_way), []);
    assert_eq!(warnings(&old_way), ["spec.running is deprecated, please use spec.runStrategy instead."]);
}

#[test]
fn a_machine_needs_its_template() {
    one(after("/spec/template", json!(null)), "spec.template", "missing virtual machine template.");
}

#[test]
fn templates_of_data_volumes_are_named_used_and_whole() {
    let list = "/spec/dataVolumeTemplates";
    let field = "spec.dataVolumeTemplate[0]";
    let unused = format!("DataVolumeTemplate entry {field} must be referenced in the VMI template's 'volumes' list");
    one(after(&format!("{list}#0/metadata/name"), json!("other")), field, &unused);
    let nameless = after(&format!("{list}#0/metadata/name"), json!(""));
    assert_eq!(nameless[0].1, format!("'name' field must not be empty for DataVolumeTemplate entry {field}."));
    for (part, value, words) in [
        ("storage", json!(null), "Missing Data volume PVC or Storage"),
        ("pvc", json!({}), "Duplicate storage definition, both target storage and target pvc defined"),
        ("sourceRef", json!(null), "Data volume should have either Source, SourceRef, or be externally populated"),
        (
            "source",
            json!({"blank": {}}),
            "Data volume should have either Source, SourceRef, or be externally populated",
        ),
    ] {
        one(after(&format!("{list}#0/spec/{part}"), value), field, words);
    }
    one(
        after(&format!("{list}#0/spec"), json!({"storage": {}, "source": {}})),
        field,
        "Missing dataVolume valid source",
    );
    one(
        after(&format!("{list}#0/spec"), json!({"storage": {}, "source": {"blank": {}, "upload": {}}})),
        field,
        "Multiple dataVolume sources",
    );
}

#[test]
fn memory_is_asked_for_and_not_too_little() {
    one(
        after(&format!("{T}/domain/memory"), json!(null)),
        "",
        "no memory requested, at least one of 'spec.template.spec.domain.memory.guest', 'spec.template.spec.domain.memory.hugepages.size' or 'spec.template.spec.domain.resources.requests.memory' must be set",
    );
    let field = "spec.template.spec.domain.resources.requests.memory";
    one(
        after(&format!("{T}/domain/resources/requests/memory"), json!("64Ki")),
        field,
        &format!("{field} '64Ki': must be greater than or equal to 1M."),
    );
}

#[test]
fn a_request_is_not_greater_than_its_limit() {
    one(
        after(&format!("{T}/domain/resources"), json!({"requests": {"cpu": "4"}, "limits": {"cpu": "2"}})),
        "spec.template.spec.domain.resources.requests.cpu",
        "spec.template.spec.domain.resources.requests.cpu '4' is greater than spec.template.spec.domain.resources.limits.cpu '2'",
    );
}

#[test]
fn disks_have_a_volume_a_name_and_one_target() {
    let disks = format!("{T}/domain/devices/disks");
    let d = "spec.template.spec.domain.devices.disks";
    one(after(&format!("{disks}#0/name"), json!("x")), &format!("{d}[0].name"), &format!("{d}[0].Name 'x' not found."));
    one(
        after(&format!("{disks}#1/name"), json!("root")),
        &format!("{d}[1].name"),
        &format!("{d}[1] and {d}[0] must not have the same Name."),
    );
    one(
        after(&format!("{disks}#0/cdrom"), json!({})),
        &format!("{d}[0]"),
        &format!("{d}[0] can only have a single target type defined"),
    );
    one(after(&format!("{disks}#0/disk/bus"), json!("ide")), &format!("{d}[0].disk.bus"), "IDE bus is not supported");
    one(
        after(&format!("{disks}#0"), json!({"name": "root", "cdrom": {"bus": "virtio"}})),
        &format!("{d}[0].cdrom.bus"),
        "Bus type virtio is invalid for CD-ROM device",
    );
    one(
        after(&format!("{disks}#0/bootOrder"), json!(0)),
        &format!("{d}[0].bootOrder"),
        &format!("{d}[0] must have a boot order > 0, if supplied"),
    );
    one(
        after(&format!("{disks}#1/bootOrder"), json!(1)),
        &format!("{d}[1].bootOrder"),
        &format!("Boot order for {d}[1].bootOrder already set for a different device."),
    );
}

#[test]
fn volumes_have_one_source_and_cloud_init_fits() {
    let volumes = format!("{T}/volumes");
    let v = "spec.template.spec.volumes";
    one(
        after(&format!("{volumes}#1/emptyDisk"), json!({})),
        &format!("{v}[1]"),
        &format!("{v}[1] must have exactly one source type set"),
    );
    let ci = |value: Value| after(&format!("{volumes}#1/cloudInitNoCloud"), value);
    let field = format!("{v}[1].cloudInitNoCloud");
    one(
        ci(json!({"userData": "a", "secretRef": {"name": "s"}})),
        &field,
        &format!("{field} must have only one userdatasource set."),
    );
    one(
        ci(json!({"userData": "a".repeat(2049)})),
        &field,
        &format!("{field} userdata exceeds 2048 byte limit. Should use UserDataSecretRef for larger data."),
    );
    one(ci(json!({})), &field, &format!("{field} must have at least one userdatasource or one networkdatasource set."));
    let coded = ci(json!({"userDataBase64": "***"}));
    assert_eq!(coded[0].0, format!("{field}.userDataBase64"));
    assert!(coded[0].1.ends_with("userDataBase64 is not a valid base64 value."), "{coded:?}");
}

#[test]
fn networks_and_interfaces_go_in_pairs_with_one_binding() {
    let (n, i) = ("spec.template.spec.networks", "spec.template.spec.domain.devices.interfaces");
    let (networks, interfaces) = (format!("{T}/networks"), format!("{T}/domain/devices/interfaces"));
    one(
        after(&format!("{interfaces}#0/bridge"), json!({})).into_iter().take(1).collect(),
        &format!("{i}[0]"),
        "logical default interface must have exactly one binding method or binding plugin",
    );
    one(
        after(&format!("{interfaces}#0/masquerade"), json!(null)),
        &format!("{i}[0]"),
        "logical default interface must have exactly one binding method or binding plugin",
    );
    one(
        after(&format!("{interfaces}#0"), json!({"name": "default", "bridge": {}})),
        &format!("{i}[0].name"),
        "Bridge on pod network configuration is not enabled under kubevirt-config",
    );
    one(
        after(&format!("{networks}#0"), json!({"name": "default", "multus": {"networkName": "x"}})),
        &format!("{i}[0].name"),
        "Masquerade interface only implemented with pod network",
    );
    one(
        after(&format!("{networks}#0/multus"), json!({"networkName": "x"})),
        &format!("{n}[0]"),
        "should have only one network type",
    );
    let typeless = after(&format!("{networks}#0/pod"), json!(null));
    assert_eq!(typeless[0], (format!("{n}[0]"), "should have a network type".to_owned()));
    let nameless = after(&format!("{networks}#0"), json!({"name": "default", "multus": {}}));
    assert_eq!(nameless[0], (format!("{n}[0]"), "CNI delegating plugin must have a networkName".to_owned()));
    let twice = after(&networks, json!([{"name": "default", "pod": {}}, {"name": "default", "pod": {}}]));
    assert_eq!(twice[0].1, "Network with name \"default\" already exists, every network must have a unique name");
    assert!(twice[1].1.starts_with("more than one interface is connected to a pod network in "));
    one(
        after(&format!("{interfaces}#0/ports"), json!([{"port": 1, "protocol": "SCTP"}])),
        &format!("{i}[0].ports[0].protocol"),
        "Unknown protocol, only TCP or UDP allowed",
    );
}

#[test]
fn credentials_need_their_volume() {
    let key = json!([{"sshPublicKey": {"propagationMethod": {"configDrive": {}}}}]);
    one(
        after(&format!("{T}/accessCredentials"), key),
        "spec.template.spec.accessCredentials[0]",
        "spec.template.spec.accessCredentials[0] requires a configDrive volume to exist when the configDrive propagationMethod is in use.",
    );
}

#[test]
fn sockets_host_name_and_secure_boot_are_checked() {
    one(
        after(&format!("{T}/domain/cpu"), json!({"sockets": 4, "maxSockets": 2})),
        "spec.template.spec.domain.cpu.sockets",
        "Number of sockets in CPU topology is greater than the maximum sockets allowed",
    );
    let host = after(&format!("{T}/hostname"), json!("Not_Good"));
    assert!(host[0].1.starts_with("spec.template.spec.hostname does not conform to the kubernetes DNS_LABEL rules : "));
    let field = "spec.template.spec.domain.firmware.bootloader.efi";
    one(
        after(&format!("{T}/domain/firmware/bootloader/efi"), json!({})),
        field,
        &format!("{field} has EFI SecureBoot enabled. SecureBoot requires SMM, which is currently disabled."),
    );
}

#[test]
fn an_instance_type_exists_suffices_and_stands_alone() {
    let mut machine = vm();
    put(&mut machine, "/spec/instancetype", json!({"name": "u1.none"}));
    one(
        told(&machine),
        "spec.instancetype",
        "Failure to find instancetype: virtualmachineclusterinstancetypes.instancetype.kubevirt.io \"u1.none\" not found",
    );
    put(&mut machine, "/spec/instancetype", json!({"name": "u1.small"}));
    one(
        told(&machine),
        "spec.template.spec.domain.memory.guest",
        "VM field(s) spec.template.spec.domain.memory.guest conflicts with selected instance type",
    );
    remove(&mut machine, "/spec/template/spec/domain/memory");
    assert_eq!(told(&machine), []);
    put(&mut machine, "/spec/preference", json!({"name": "hungry"}));
    assert!(
        told(&machine)[0]
            .1
            .starts_with("failure checking preference requirements: insufficient CPU resources of 1 vCPU")
    );
}

#[test]
fn a_change_waits_for_a_snapshot_or_a_restore() {
    let mut old = vm();
    put(&mut old, "/status/snapshotInProgress", json!("snap"));
    let mut new = old.clone();
    put(&mut new, "/spec/runStrategy", json!("Always"));
    assert_eq!(
        check_machine_update(&old, &new)[0].message,
        "Cannot update vm running state until snapshot \"snap\" completes"
    );
    let mut disks = old.clone();
    put(&mut disks, "/spec/template/spec/volumes", json!([]));
    assert_eq!(
        check_machine_update(&old, &disks)[0].message,
        "Cannot update vm disks or volumes until snapshot \"snap\" completes"
    );
    remove(&mut new, "/status");
    put(&mut new, "/status/restoreInProgress", json!("back"));
    assert_eq!(
        check_machine_update(&old, &new)[0].message,
        "Cannot update VM runStrategy until restore \"back\" completes"
    );
}

#[test]
fn another_instance_type_needs_another_revision() {
    let mut old = vm();
    put(&mut old, "/spec/instancetype", json!({"name": "u1.small", "revisionName": "r"}));
    let mut new = old.clone();
    put(&mut new, "/spec/instancetype/name", json!("u1.large"));
    assert_eq!(
        check_machine_update(&old, &new)[0].message,
        "the Matcher Name has been updated without updating the RevisionName"
    );
    put(&mut new, "/spec/instancetype/revisionName", json!(""));
    assert!(check_machine_update(&old, &new).is_empty());
}
