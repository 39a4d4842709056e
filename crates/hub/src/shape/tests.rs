//! Manifests as a hub gets them.
use super::{
    cloud_init::CloudInit,
    guest::{Discs, Told, secret},
    names::*,
    patch::{self, RunStrategy},
    template::{Instance, parameter_secret, template_instance},
    vm::*,
};
use model::{OrgId, VdcId, hardware::Hardware};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

pub(super) fn place() -> Place {
    Place {
        org: OrgId(Uuid::from_u128(1)),
        org_name: "acme".into(),
        vdc: VdcId(Uuid::from_u128(2)),
        vdc_name: "prod".into(),
        namespace: "vdc-acme-prod".into(),
    }
}

fn identity(n: u128, name: &str) -> Identity {
    let vm = Uuid::from_u128(n);
    Identity {
        place: place(),
        vapp: Uuid::from_u128(3),
        vapp_name: "shop".into(),
        vm,
        vm_name: name.into(),
        object: vm_name(name, vm),
        description: String::new(),
        owner: "acme-admin".into(),
        created_from: Some("linux/ubuntu-24.04".into()),
    }
}

fn vm() -> Vm {
    Vm {
        identity: identity(0xab, "Web 1"),
        computer_name: "Web_1".into(),
        size: Size::Explicit { cpus: 4, cores_per_socket: 2, memory_mb: 4096 },
        preference: None,
        hardware: Hardware::default(),
        disks: vec![
            Disk {
                name: "root".into(),
                size_mb: Some(30720),
                source: DiskSource::Image { namespace: "os-images".into(), name: "fedora".into() },
                storage_class: Some("fast".into()),
                device: Device::Disk,
                boot_order: Some(1),
            },
            Disk {
                name: "disk-2".into(),
                size_mb: Some(1024),
                source: DiskSource::Blank,
                storage_class: None,
                device: Device::Scsi,
                boot_order: None,
            },
        ],
        nics: vec![Nic { name: "nic-0".into(), network: Attachment::Pod, mac: None, model: None, connected: true }],
        discs: Discs { cloud_init: true, ..Discs::default() },
    }
}

#[test]
fn a_vm_is_made_halted_with_everything_that_tells_who_it_is() {
    let m = virtual_machine(&vm());
    assert_eq!(m["spec"]["runStrategy"], "Halted");
    assert_eq!(m["metadata"]["name"], "web-1-00000000ab");
    assert_eq!(m["metadata"]["labels"][VM_ID], Uuid::from_u128(0xab).to_string());
    assert_eq!(m["metadata"]["labels"][MANAGED_BY], "ssvirt");
    assert_eq!(m["metadata"]["annotations"][VM], "Web 1");
    assert_eq!(m["metadata"]["annotations"][VM_ID], format!("urn:vcloud:vm:{}", Uuid::from_u128(0xab)));
    assert_eq!(m["metadata"]["annotations"][OWNER], "acme-admin");
    assert!(m["metadata"]["annotations"].get(DESCRIPTION).is_none());
    assert_eq!(m["spec"]["template"]["metadata"]["labels"], m["metadata"]["labels"]);
    let spec = &m["spec"]["template"]["spec"];
    assert_eq!(spec["hostname"], "web-1");
    assert_eq!(spec["domain"]["cpu"], json!({"sockets": 2, "cores": 2, "threads": 1}));
    assert_eq!(spec["domain"]["memory"], json!({"guest": "4096Mi"}));
    assert_eq!(spec["domain"]["devices"]["interfaces"], json!([{"name": "nic-0", "masquerade": {}}]));
    assert_eq!(spec["networks"], json!([{"name": "nic-0", "pod": {}}]));
    assert!(m["spec"].get("instancetype").is_none());
}

#[test]
fn disks_volumes_and_data_volumes_agree() {
    let m = virtual_machine(&vm());
    let spec = &m["spec"]["template"]["spec"];
    assert_eq!(
        spec["volumes"],
        json!([
            {"name": "root", "dataVolume": {"name": "web-1-00000000ab-root"}},
            {"name": "disk-2", "dataVolume": {"name": "web-1-00000000ab-disk-2"}},
            {"name": "cloudinit", "cloudInitNoCloud": {"secretRef": {"name": "web-1-00000000ab-cloudinit"}}},
        ])
    );
    assert_eq!(
        spec["domain"]["devices"]["disks"],
        json!([
            {"name": "root", "disk": {"bus": "virtio"}, "bootOrder": 1},
            {"name": "disk-2", "disk": {"bus": "scsi"}},
            {"name": "cloudinit", "disk": {"bus": "virtio"}},
        ])
    );
    let templates = m["spec"]["dataVolumeTemplates"].as_array().expect("a list");
    assert_eq!(templates[0]["metadata"]["name"], "web-1-00000000ab-root");
    assert_eq!(templates[0]["metadata"]["labels"][DISK], "root");
    assert_eq!(
        templates[0]["spec"],
        json!({
            "sourceRef": {"kind": "DataSource", "namespace": "os-images", "name": "fedora"},
            "storage": {"resources": {"requests": {"storage": "30720Mi"}}, "storageClassName": "fast"},
        })
    );
    assert_eq!(templates[1]["spec"]["source"], json!({"blank": {}}));
}

#[test]
fn a_vm_with_an_instance_type_says_nothing_about_cpu_and_memory() {
    let m = virtual_machine(&Vm {
        size: Size::InstanceType("u1.small".into()),
        preference: Some("fedora".into()),
        disks: vec![Disk {
            name: "root".into(),
            size_mb: None,
            source: DiskSource::Existing("mine".into()),
            storage_class: None,
            device: Device::Disk,
            boot_order: None,
        }],
        nics: vec![],
        discs: Discs::default(),
        ..vm()
    });
    assert_eq!(m["spec"]["instancetype"]["name"], "u1.small");
    assert_eq!(m["spec"]["preference"]["name"], "fedora");
    let domain = &m["spec"]["template"]["spec"]["domain"];
    assert!(domain.get("cpu").is_none() && domain.get("memory").is_none());
    assert_eq!(domain["devices"]["disks"], json!([{"name": "root", "disk": {}}]), "the bus is the preference's");
    assert_eq!(domain["devices"]["autoattachPodInterface"], false);
    assert!(m["spec"].get("dataVolumeTemplates").is_none());
    assert_eq!(m["spec"]["template"]["spec"]["volumes"], json!([{"name": "root", "dataVolume": {"name": "mine"}}]));
}

#[test]
fn every_patch_carries_the_uid() {
    let size = Size::Explicit { cpus: 3, cores_per_socket: 2, memory_mb: 512 };
    let patches = [
        patch::power("u", RunStrategy::RerunOnFailure),
        patch::resize("u", &size),
        patch::resize("u", &Size::InstanceType("u1.large".into())),
        patch::identity("u", &identity(1, "a"), "a", 1),
        patch::grow_claim("u", 5),
        patch::fenced(json!({}), "u"),
        patch::fenced(json!({"metadata": {"uid": "other"}}), "u"),
    ];
    for p in &patches {
        assert_eq!(p["metadata"]["uid"], "u", "{p}");
    }
    assert_eq!(patches[0]["spec"], json!({"runStrategy": "RerunOnFailure", "running": null}));
    assert_eq!(patches[1]["spec"]["template"]["spec"]["domain"]["cpu"]["sockets"], 3, "2 does not divide 3");
    assert_eq!(patches[2]["spec"]["instancetype"]["revisionName"], Value::Null);
    assert_eq!(patches[3]["metadata"]["annotations"][DESCRIPTION], Value::Null);
}

#[test]
fn several_changes_are_one_and_one_that_changes_nothing_is_known_as_such() {
    let seen = virtual_machine(&vm());
    let power = patch::power("u", RunStrategy::RerunOnFailure);
    let both = patch::and(patch::resize("u", &Size::InstanceType("u1.large".into())), power.clone());
    assert_eq!(both["metadata"]["uid"], "u");
    assert_eq!(both["spec"]["runStrategy"], "RerunOnFailure");
    assert_eq!(both["spec"]["instancetype"]["name"], "u1.large");
    assert!(both["spec"]["template"]["spec"]["domain"]["cpu"].is_null());
    assert!(both["spec"]["template"]["spec"]["domain"].get("cpu").is_some(), "what is to go is still said");
    let mut halted = seen.clone();
    halted["metadata"]["uid"] = json!("u");
    assert!(patch::changes(&power, &halted));
    halted["spec"]["running"] = json!(false);
    let same = patch::power("u", RunStrategy::Halted);
    assert!(patch::changes(&same, &halted), "the old way to say it is to go");
    halted["spec"]["running"] = Value::Null;
    assert!(!patch::changes(&same, &halted));
}

#[test]
fn a_cloud_init_secret_belongs_to_its_vm() {
    let init = CloudInit { hostname: "web".into(), ..CloudInit::default() };
    let told = Told { cloud_init: Some(init), ..Told::default() };
    let s = secret(&identity(0xab, "web"), &told).expect("good");
    assert_eq!(s["metadata"]["name"], "web-00000000ab-cloudinit");
    assert_eq!(s["metadata"]["labels"][VM_ID], Uuid::from_u128(0xab).to_string());
    assert_eq!(s["data"]["userdata"], "I2Nsb3VkLWNvbmZpZwpob3N0bmFtZTogIndlYiIK");
    assert!(s["data"].get("networkdata").is_none());
}

fn template() -> Value {
    json!({
        "apiVersion": "template.openshift.io/v1", "kind": "Template",
        "metadata": {"name": "web-and-db", "namespace": "openshift", "uid": "t", "resourceVersion": "7"},
        "labels": {"app": "shop", "ssvirt.io/vm-id": "evil", "${X}": "evil"},
        "parameters": [
            {"name": "NAME", "generate": "expression", "from": "web-[a-z0-9]{8}"},
            {"name": "PASSWORD", "required": true},
            {"name": "CPUS", "value": "2"},
        ],
        "objects": [
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "${NAME}-init", "namespace": "kube-system"}, "stringData": {"userdata": "${PASSWORD}"}},
            vm_object("${NAME}-web"),
            vm_object("${NAME}-db"),
        ],
    })
}

fn vm_object(name: &str) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "other", "labels": {"app": "web", "ssvirt.io/organization-id": "evil"},
            "annotations": {"description": "x"}},
        "spec": {
            "running": true,
            "dataVolumeTemplates": [{"metadata": {"name": format!("{name}-root")}, "spec": {"storage": {}}}],
            "template": {"metadata": {"labels": {"role": "web"}}, "spec": {
                "domain": {"cpu": {"cores": "${{CPUS}}"}, "devices": {}},
                "volumes": [
                    {"name": "root", "dataVolume": {"name": format!("{name}-root")}},
                    {"name": "ci", "cloudInitNoCloud": {"secretRef": {"name": "${NAME}-init"}}},
                ],
            }},
        },
    })
}

fn instance() -> Instance {
    Instance {
        place: place(),
        vapp: Uuid::from_u128(3),
        vapp_name: "shop".into(),
        vms: vec![Some(identity(0xa, "web")), Some(identity(0xb, "db"))],
        nics: BTreeMap::new(),
        parameters: BTreeMap::from([("PASSWORD".to_owned(), "s3".to_owned())]),
    }
}

#[test]
fn a_templates_copy_makes_halted_vms_with_our_names_in_our_namespace() {
    let m = template_instance(&instance(), &template()).expect("good");
    assert_eq!(m["metadata"]["name"], "vapp-0000000003");
    assert_eq!(m["spec"]["secret"]["name"], "vapp-0000000003");
    let copy = &m["spec"]["template"];
    assert_eq!(copy["labels"], json!({"app": "shop"}), "labels of the template must not cover ours");
    assert!(copy["metadata"].get("uid").is_none());
    let [init, web, db] = &copy["objects"].as_array().expect("objects")[..] else { panic!("{copy}") };
    assert_eq!(init["metadata"]["name"], "name-init-vapp-0000000003");
    for (vm, name) in [(web, "web-000000000a"), (db, "db-000000000b")] {
        assert_eq!(vm["metadata"]["name"], name);
        assert_eq!(vm["metadata"]["namespace"], "vdc-acme-prod");
        assert_eq!(vm["metadata"]["labels"]["app"], "web");
        assert_eq!(vm["metadata"]["labels"][ORG_ID], Uuid::from_u128(1).to_string());
        assert_eq!(vm["spec"]["runStrategy"], "Halted");
        assert!(vm["spec"].get("running").is_none());
        assert_eq!(vm["spec"]["dataVolumeTemplates"][0]["metadata"]["name"], format!("{name}-disk-0"));
        let volumes = &vm["spec"]["template"]["spec"]["volumes"];
        assert_eq!(volumes[0]["dataVolume"]["name"], format!("{name}-disk-0"));
        assert_eq!(volumes[1]["cloudInitNoCloud"]["secretRef"]["name"], "name-init-vapp-0000000003");
        assert_eq!(vm["spec"]["template"]["metadata"]["labels"]["role"], "web");
        assert_eq!(vm["spec"]["template"]["metadata"]["labels"][VM_ID], vm["metadata"]["labels"][VM_ID]);
    }
    assert!(!m.to_string().contains("evil"));
    assert_eq!(parameter_secret(&instance())["data"], json!({"PASSWORD": "czM="}));
}

#[test]
fn a_templates_copy_has_our_macs_and_the_binding_of_the_vdcs_own_network() {
    let nic = |network| Nic {
        name: "default".into(),
        network,
        mac: Some("02:00:00:00:00:07".into()),
        model: None,
        connected: true,
    };
    let mut t = template();
    t["objects"][1]["spec"]["template"]["spec"]["networks"] = json!([{"name": "default", "pod": {}}]);
    t["objects"][1]["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"] =
        json!([{"name": "default", "masquerade": {}, "model": "virtio"}]);
    let card = |network| {
        let nics = BTreeMap::from([(identity(0xa, "web").vm, vec![nic(network)])]);
        let m = template_instance(&Instance { nics, ..instance() }, &t).expect("good");
        m["spec"]["template"]["objects"][1]["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"][0].clone()
    };
    let ours = "02:00:00:00:00:07";
    let wanted = json!({"name": "default", "model": "virtio", "macAddress": ours, "binding": {"name": "l2bridge"}});
    assert_eq!(card(Attachment::Primary), wanted);
    let wanted = json!({"name": "default", "model": "virtio", "macAddress": ours, "masquerade": {}});
    assert_eq!(card(Attachment::Pod), wanted);
}

#[test]
fn a_template_that_reaches_for_more_is_refused_with_the_reason() {
    let changed = |pointer: &str, value: Value| {
        let mut t = template();
        *t.pointer_mut(pointer).expect(pointer) = value;
        t
    };
    for (t, says) in [
        (changed("/objects/0/kind", json!("ClusterRoleBinding")), "ClusterRoleBinding"),
        (changed("/objects/0/kind", Value::Null), "without a kind"),
        (
            changed("/objects/1/spec/template/spec/volumes/0", json!({"name": "x", "hostDisk": {"path": "/"}})),
            "hostDisk",
        ),
        (changed("/objects/1/metadata/annotations", json!({"hooks.kubevirt.io/hookSidecars": "[]"})), "hooks"),
        (changed("/objects/1/spec/template/metadata", json!({"annotations": {"hooks.kubevirt.io/x": ""}})), "hooks"),
        (changed("/objects/1/spec", json!([])), "no spec"),
        (changed("/objects/1/spec/template", Value::Null), "spec.template"),
        (changed("/objects/2", json!({"kind": "Service", "metadata": {"name": "x"}})), "fewer VMs"),
        (changed("/objects/0", vm_object("third")), "more VMs"),
        (changed("/objects/2/metadata/name", json!("${NAME}-web")), "two objects"),
    ] {
        let e = template_instance(&instance(), &t).expect_err(says);
        assert!(e.to_string().contains(says), "{e}");
    }
    let with = |name: &str, value: &str| {
        let mut i = instance();
        i.parameters.insert(name.to_owned(), value.to_owned());
        template_instance(&i, &template())
    };
    assert!(with("BOGUS", "1").expect_err("unknown").to_string().contains("no parameter BOGUS"));
    assert!(with("CPUS", r#"{"hostDisk": 1}"#).expect_err("structure").to_string().contains("CPUS"));
    assert!(with("CPUS", "8").is_ok());
    assert!(with("PASSWORD", r#"{"a": 1}"#).is_ok(), "text stays text where it is not put in as JSON");
    assert!(with("PASSWORD", "").expect_err("required").to_string().contains("PASSWORD"));
}

#[test]
fn whoever_deploys_does_not_say_from_which_namespace_disks_are_filled() {
    let mut t = template();
    t["parameters"].as_array_mut().expect("a list").push(json!({"name": "IMAGES", "value": "golden"}));
    t["objects"][1]["spec"]["dataVolumeTemplates"][0]["spec"]["source"] =
        json!({"pvc": {"namespace": "${IMAGES}", "name": "rhel"}});
    let with = |value: &str| {
        let mut i = instance();
        i.parameters.insert("IMAGES".into(), value.into());
        template_instance(&i, &t)
    };
    assert!(with("golden").is_ok());
    let e = with("vdc-other-tenant").expect_err("another tenant's namespace");
    assert!(e.to_string().contains("IMAGES says in which namespace"), "{e}");
}

#[test]
fn a_parameter_in_a_name_is_not_filled_in() {
    let mut i = instance();
    i.vms[0].as_mut().expect("one").vm_name = "${PASSWORD}".into();
    let m = template_instance(&i, &template()).expect("good");
    assert!(m["spec"]["template"]["objects"][1]["metadata"]["annotations"].get(VM).is_none());
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
fn a_damaged_template_is_an_error_or_still_only_makes_what_is_ours() {
    let mut all = Vec::new();
    places(&template(), "", &mut all);
    for place in all {
        for odd in [json!(null), json!(7), json!("x"), json!([]), json!([1]), json!({}), json!({"a": [null]})] {
            let mut damaged = template();
            *damaged.pointer_mut(&place).expect("a place") = odd;
            let Ok(m) = template_instance(&instance(), &damaged) else { continue };
            for object in m["spec"]["template"]["objects"].as_array().expect("objects") {
                assert_eq!(object["metadata"]["namespace"], "vdc-acme-prod", "{place}");
                assert_eq!(object["metadata"]["labels"][MANAGED_BY], "ssvirt", "{place}");
                assert!(object["kind"] != "VirtualMachine" || object["spec"]["runStrategy"] == "Halted", "{place}");
            }
        }
    }
}
