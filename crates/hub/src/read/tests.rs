//! Objects as hubs have them, whole and damaged.
use super::*;
use crate::shape::names::{DISK, MANAGED_BY, VM, VM_ID};
use serde_json::{Value, json};
use uuid::Uuid;

const ID: &str = "0192c3b0-9a10-7f44-a5d2-3e6b8c1f0d92";

fn vm_object() -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {
            "name": "web-1", "namespace": "vdc-acme", "uid": "u1", "resourceVersion": "42", "generation": 3,
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "labels": {MANAGED_BY: "ssvirt", VM_ID: ID}, "annotations": {VM: "Web 1"},
        },
        "spec": {
            "runStrategy": "RerunOnFailure",
            "dataVolumeTemplates": [{"metadata": {"name": "web-1-root"}, "spec": {"storage": {"resources": {"requests": {"storage": "30Gi"}}, "storageClassName": "fast"}}}],
            "template": {"metadata": {}, "spec": {
                "hostname": "web-1",
                "domain": {
                    "cpu": {"sockets": 2, "cores": 2, "threads": 1}, "memory": {"guest": "4Gi"},
                    "devices": {
                        "disks": [{"name": "root", "disk": {"bus": "virtio"}}, {"name": "iso", "cdrom": {"bus": "sata"}}],
                        "interfaces": [{"name": "nic-0", "masquerade": {}, "macAddress": "02:00:00:00:00:01", "state": "down"}],
                    },
                },
                "networks": [{"name": "nic-0", "pod": {}}],
                "volumes": [{"name": "root", "dataVolume": {"name": "web-1-root"}}, {"name": "iso", "persistentVolumeClaim": {"claimName": "iso"}}, {"name": "ci", "cloudInitNoCloud": {}}],
            }},
        },
        "status": {"printableStatus": "Running", "created": true, "ready": true,
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "RestartRequired", "status": "True", "message": "a non-live-updatable field was changed"}]},
    })
}

fn instance_object() -> Value {
    json!({
        "metadata": {"name": "web-1", "namespace": "vdc-acme", "uid": "i1", "labels": {VM_ID: ID}},
        "spec": {"domain": {"cpu": {"sockets": 1, "cores": 1}}},
        "status": {
            "phase": "Running", "nodeName": "node-1",
            "currentCPUTopology": {"sockets": 2, "cores": 2, "threads": 1}, "memory": {"guestCurrent": "4Gi"},
            "guestOSInfo": {"prettyName": "Fedora Linux 43", "name": "Fedora Linux"},
            "interfaces": [{"name": "nic-0", "mac": "02:00:00:00:00:01", "ipAddress": "10.1.2.3", "ipAddresses": ["10.1.2.3", "fe80::1", "127.0.0.1", "2001:db8::7"]}],
            "conditions": [{"type": "AgentConnected", "status": "True"}, {"type": "LiveMigratable", "status": "False", "reason": "DisksNotLiveMigratable"}],
        },
    })
}

fn volume_object() -> Value {
    json!({
        "metadata": {"name": "web-1-root", "namespace": "vdc-acme", "uid": "d1", "labels": {DISK: "root"}},
        "spec": {"pvc": {"resources": {"requests": {"storage": "30Gi"}}, "storageClassName": "fast"}},
        "status": {"phase": "ImportInProgress", "progress": "37.90%", "conditions": [{"type": "Running", "status": "True", "reason": "Pod is running"}]},
    })
}

fn template_object() -> Value {
    json!({
        "apiVersion": "template.openshift.io/v1", "kind": "Template",
        "metadata": {
            "name": "fedora-server-small", "namespace": "openshift", "uid": "t1",
            "labels": {"os.template.kubevirt.io/fedora40": "true", "os.template.kubevirt.io/fedora43": "true",
                "workload.template.kubevirt.io/server": "true", "template.kubevirt.io/version": "v0.34.0", "template.kubevirt.io/architecture": "amd64"},
            "annotations": {"openshift.io/display-name": "Fedora VM", "description": "A Fedora", "iconClass": "icon-fedora",
                "tags": "kubevirt, virtualmachine,fedora", "openshift.io/provider-display-name": "KubeVirt",
                "name.os.template.kubevirt.io/fedora43": "Fedora 43", "template.kubevirt.io/deprecated": "true"},
        },
        "parameters": [
            {"name": "NAME", "generate": "expression", "from": "fedora-[a-z0-9]{16}"},
            {"name": "CPUS", "displayName": "vCPUs", "value": "2"},
            {"name": "SIZE", "value": "20Gi"},
            {"name": "CLOUD_USER_PASSWORD", "generate": "expression", "from": "[a-z0-9]{4}", "description": "Password"},
            {"name": "DATA_SOURCE_NAME", "required": true},
        ],
        "objects": [
            {"kind": "VirtualMachine", "metadata": {"name": "${NAME}"}, "spec": {
                "dataVolumeTemplates": [{"metadata": {"name": "${NAME}"}, "spec": {"storage": {"resources": {"requests": {"storage": "${SIZE}"}}}}}],
                "template": {"spec": {
                    "domain": {"cpu": {"sockets": "${{CPUS}}", "cores": 1}, "memory": {"guest": "2Gi"}, "devices": {"interfaces": [{"name": "default", "masquerade": {}}]}},
                    "networks": [{"name": "default", "pod": {}}],
                    "volumes": [{"name": "rootdisk", "dataVolume": {"name": "${NAME}"}}, {"name": "ci", "cloudInitNoCloud": {"userData": "x"}}],
                }},
            }},
            {"kind": "Route", "metadata": {"name": "x"}},
        ],
    })
}

#[test]
fn a_running_vm_is_read_with_its_instance_and_disks() {
    let seen = observe(
        &vm(&vm_object()).expect("a VM"),
        instance(&instance_object()).as_ref(),
        &[volume(&volume_object()).expect("a disk")],
    );
    assert_eq!(seen.state, VmState::Running);
    assert_eq!(seen.problem, None);
    assert_eq!(seen.vm.meta.ids.vm, Uuid::try_parse(ID).ok());
    assert!(seen.vm.meta.ids.ours);
    assert_eq!(
        (seen.vm.meta.uid.as_str(), seen.vm.meta.resource_version.as_str(), seen.vm.meta.generation),
        ("u1", "42", 3)
    );
    assert_eq!(seen.vm.notes.vm, "Web 1");
    assert_eq!(seen.vm.run_strategy, "RerunOnFailure");
    assert_eq!(seen.vm.restart_required.as_deref(), Some("a non-live-updatable field was changed"));
    assert_eq!((seen.cpus(), seen.memory_mb()), (Some(4), Some(4096)));
    assert_eq!(seen.vm.size.cores_per_socket, Some(2));
    assert_eq!(seen.ips().collect::<Vec<_>>(), ["10.1.2.3", "2001:db8::7"]);
    let instance = seen.instance.as_ref().expect("it runs");
    assert_eq!(instance.guest_os.as_deref(), Some("Fedora Linux 43"));
    assert_eq!(instance.node.as_deref(), Some("node-1"));
    assert!(instance.agent_connected && !instance.live_migratable);
    let [root, iso, ci] = &seen.vm.disks[..] else { panic!("{:?}", seen.vm.disks) };
    assert_eq!((root.size_mb, root.storage_class.as_deref(), root.bus.as_str()), (Some(30720), Some("fast"), "virtio"));
    assert_eq!((iso.volume.as_str(), iso.cdrom, ci.volume.as_str()), ("iso", true, ""));
    assert!(!seen.vm.nics[0].connected);
    assert_eq!((seen.volumes.len(), seen.progress, seen.volumes[0].size_mb), (1, Some(37), Some(30720)));
}

#[test]
fn parts_of_another_vm_are_not_mixed_in() {
    let mut other = instance_object();
    other["metadata"]["name"] = json!("web-2");
    let mut disk = volume_object();
    disk["metadata"]["namespace"] = json!("vdc-globex");
    let seen = observe(&vm(&vm_object()).expect("a VM"), instance(&other).as_ref(), volume(&disk).as_ref());
    assert!(seen.instance.is_none() && seen.volumes.is_empty());
}

#[test]
fn every_word_of_kubevirt_has_a_state() {
    for (word, state) in [
        ("Stopped", VmState::Stopped),
        ("Provisioning", VmState::Provisioning),
        ("WaitingForVolumeBinding", VmState::Provisioning),
        ("Starting", VmState::Starting),
        ("Running", VmState::Running),
        ("Paused", VmState::Paused),
        ("Migrating", VmState::Migrating),
        ("Stopping", VmState::Stopping),
        ("Terminating", VmState::Deleting),
        ("CrashLoopBackOff", VmState::Failed),
        ("ErrorUnschedulable", VmState::Failed),
        ("ErrImagePull", VmState::Failed),
        ("ImagePullBackOff", VmState::Failed),
        ("ErrorPvcNotFound", VmState::Failed),
        ("DataVolumeError", VmState::Failed),
        ("Unknown", VmState::Unknown),
        ("SomethingNew", VmState::Unknown),
    ] {
        let mut object = vm_object();
        object["status"]["printableStatus"] = json!(word);
        let seen = observe(&vm(&object).expect("a VM"), None, None);
        assert_eq!(seen.state, state, "{word}");
        assert_eq!(seen.problem.is_some(), matches!(state, VmState::Failed | VmState::Unknown), "{word}");
    }
    let mut fresh = vm_object();
    fresh.as_object_mut().expect("an object").remove("status");
    assert_eq!(observe(&vm(&fresh).expect("a VM"), None, None).state, VmState::Provisioning);
    fresh["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    assert_eq!(observe(&vm(&fresh).expect("a VM"), None, None).state, VmState::Deleting);
    fresh["metadata"]["deletionTimestamp"] = json!("odd");
    assert!(vm(&fresh).expect("a VM").meta.deleting.is_some(), "an odd time is still a deletion");
}

#[test]
fn the_most_telling_problem_is_shown() {
    let mut object = vm_object();
    object["status"] = json!({"printableStatus": "DataVolumeError", "conditions": [{"type": "Failure", "status": "True", "reason": "FailedCreate", "message": "no"}]});
    let mut disk = volume_object();
    disk["status"] = json!({"phase": "ImportInProgress", "conditions": [{"type": "Running", "status": "False", "reason": "Error", "message": "404 Not Found"}]});
    let part = vm(&object).expect("a VM");
    let with_disk = observe(&part, None, volume(&disk).as_ref());
    assert_eq!(with_disk.problem.as_deref(), Some("web-1-root: Error: 404 Not Found"));
    assert_eq!(observe(&part, None, None).problem.as_deref(), Some("FailedCreate: no"));

    let mut pending = instance_object();
    pending["status"] = json!({"phase": "Scheduling", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}]});
    object["status"] = json!({"printableStatus": "ErrorUnschedulable"});
    let seen = observe(&vm(&object).expect("a VM"), instance(&pending).as_ref(), None);
    let said = "No node of its hub has room for it. Make it smaller, or ask your provider. The hub says: 0/3 nodes are available";
    assert_eq!(seen.problem.as_deref(), Some(said));
    // left over from the last run
    object["status"] = json!({"printableStatus": "Stopped", "conditions": [{"type": "Synchronized", "status": "False", "reason": "x"}]});
    assert_eq!(observe(&vm(&object).expect("a VM"), None, None).problem, None);
}

#[test]
fn an_old_vm_that_says_running_has_a_strategy() {
    for (running, strategy) in [(json!(true), "Always"), (json!(false), "Halted"), (json!("x"), "")] {
        let mut object = vm_object();
        object["spec"] = json!({"running": running});
        assert_eq!(vm(&object).expect("a VM").run_strategy, strategy);
    }
}

#[test]
fn a_template_shows_what_it_would_make() {
    let t = template(&template_object()).expect("a template");
    assert!(is_vm_template(&template_object()));
    assert_eq!((t.display_name.as_str(), t.description.as_str()), ("Fedora VM", "A Fedora"));
    assert_eq!(t.os, ["fedora40", "fedora43"]);
    assert_eq!(t.os_name.as_deref(), Some("Fedora 43"));
    assert_eq!((t.icon.as_deref(), t.workload.as_deref()), (Some("icon-fedora"), Some("server")));
    assert_eq!(t.tags, ["kubevirt", "virtualmachine", "fedora"]);
    assert!(t.deprecated && !t.hidden);
    assert_eq!(t.other_kinds, ["Route"]);
    let [machine] = &t.vms[..] else { panic!("{:?}", t.vms) };
    assert_eq!((machine.cpus, machine.memory_mb), (Some(2), Some(2048)));
    assert_eq!((machine.disks.len(), machine.disks[0].size_mb, machine.nics.len()), (1, Some(20480), 1));
    assert!(machine.cloud_init);
    assert_eq!(t.storage_mb(), 20480);
    let named = |n: &str| t.parameters.iter().find(|p| p.name == n).expect(n);
    assert!(named("NAME").generated && named("CLOUD_USER_PASSWORD").secret && named("DATA_SOURCE_NAME").required);
    assert_eq!(named("CPUS").display_name, "vCPUs");
}

#[test]
fn images_instance_types_and_classes_are_read() {
    let mut source = json!({"metadata": {"name": "fedora", "namespace": "os-images", "labels": {
        "instancetype.kubevirt.io/default-instancetype": "u1.medium", "instancetype.kubevirt.io/default-preference": "fedora"}},
        "spec": {"source": {"pvc": {"name": "fedora-1", "namespace": "os-images"}}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let i = image(&source).expect("an image");
    assert!(i.ready && i.problem.is_none());
    assert_eq!(
        (i.default_instance_type.as_deref(), i.default_preference.as_deref(), i.source.as_deref()),
        (Some("u1.medium"), Some("fedora"), Some("fedora-1"))
    );
    source["status"] = json!({"conditions": [{"type": "Ready", "status": "False", "reason": "NoSource"}]});
    assert_eq!(image(&source).expect("an image").problem.as_deref(), Some("NoSource"));

    let t = instance_type(
        &json!({"metadata": {"name": "u1.small"}, "spec": {"cpu": {"guest": 1}, "memory": {"guest": "2Gi"}}}),
    );
    assert_eq!(t.map(|t| (t.cpus, t.memory_mb, t.display_name)), Some((1, 2048, "u1.small".to_owned())));
    assert_eq!(
        instance_type(&json!({"metadata": {"name": "odd"}, "spec": {"cpu": {"guest": 0}, "memory": {"guest": "2Gi"}}})),
        None
    );

    let c = storage_class(
        &json!({"metadata": {"name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}, "volumeBindingMode": "WaitForFirstConsumer"}),
    );
    assert!(c.is_some_and(|c| c.default && c.waits_for_consumer && !c.can_grow));
}

#[test]
fn namespaces_and_template_instances_tell_how_far_they_are() {
    let n = namespace(&json!({"metadata": {"name": "a"}, "status": {"phase": "Active"}})).expect("a namespace");
    assert!(n.active && n.held_by.is_none());
    let n = namespace(
        &json!({"metadata": {"name": "a", "deletionTimestamp": "2026-01-02T03:04:05Z"}, "status": {"phase": "Terminating",
        "conditions": [{"type": "NamespaceFinalizersRemaining", "status": "True", "reason": "SomeFinalizersRemain", "message": "x in 1 resource instances"}]}}),
    );
    assert_eq!(n.expect("a namespace").held_by.as_deref(), Some("SomeFinalizersRemain: x in 1 resource instances"));
    let t = template_instance(&json!({"metadata": {"name": "a"}, "status": {
        "conditions": [{"type": "Ready", "status": "False"}, {"type": "InstantiateFailure", "status": "True", "message": "no"}],
        "objects": [{"ref": {"kind": "VirtualMachine", "namespace": "n", "name": "m", "uid": "u"}}]}})).expect("one");
    assert_eq!((t.ready, t.failed.as_deref(), t.objects.len()), (false, Some("no"), 1));
}

/// Every place of a document, by pointer.
fn places(v: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match v {
        Value::Object(o) => {
            for (k, v) in o {
                places(v, &format!("{at}/{}", k.replace('~', "~0").replace('/', "~1")), out);
            }
        }
        Value::Array(a) => a.iter().enumerate().for_each(|(i, v)| places(v, &format!("{at}/{i}"), out)),
        _ => {}
    }
}

#[test]
fn no_damaged_object_makes_a_reader_panic() {
    let odd = [
        json!(null),
        json!(true),
        json!(-1),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(1e300),
        json!(""),
        json!("${{X}}"),
        json!("99999999999999999999Ei"),
        json!("\u{0}"),
        json!([]),
        json!([null]),
        json!({}),
        json!([[], {}, "x", 1]),
    ];
    let quota = json!({"metadata": {"name": "x"}, "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}, "status": {"conditions": [{"type": "Ready"}]}});
    let mut read = 0;
    for object in [vm_object(), instance_object(), volume_object(), template_object(), quota] {
        let mut all = Vec::new();
        places(&object, "", &mut all);
        for place in all {
            for value in &odd {
                let mut damaged = object.clone();
                *damaged.pointer_mut(&place).expect("a place") = value.clone();
                let part = vm(&damaged).unwrap_or_default();
                let seen = observe(&part, instance(&damaged).as_ref(), volume(&damaged).as_ref());
                let _ = (seen.cpus(), seen.memory_mb(), serde_json::to_string(&seen).expect("it can be stored"));
                template(&damaged).map(|t| t.storage_mb());
                let _ = (image(&damaged), instance_type(&damaged), storage_class(&damaged));
                let _ = (namespace(&damaged), template_instance(&damaged), is_vm_template(&damaged));
                read += 1;
            }
        }
    }
    assert!(read > 3000, "{read}");
}
