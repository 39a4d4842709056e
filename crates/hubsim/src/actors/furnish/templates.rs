//! Templates of virtual machines, in the shape of OpenShift's own.
use super::{IMAGES, Item, TEMPLATES, item, namespace};
use crate::actors::kind::TEMPLATE;
use serde_json::{Map, Value, json};

struct System {
    template: &'static str,
    /// Short id as libosinfo has it.
    os: &'static str,
    title: &'static str,
    description: &'static str,
    icon: &'static str,
    image: &'static str,
    user: &'static str,
    disk: &'static str,
    cpus: i64,
    memory: &'static str,
    windows: bool,
}

const SYSTEMS: [System; 4] = [
    System {
        template: "ubuntu-24.04",
        os: "ubuntu24.04",
        title: "Ubuntu 24.04 LTS VM",
        description: "Template for an Ubuntu 24.04 LTS virtual machine. A disk with the Ubuntu cloud image is required.",
        icon: "icon-ubuntu",
        image: "ubuntu2404",
        user: "ubuntu",
        disk: "30Gi",
        cpus: 1,
        memory: "2Gi",
        windows: false,
    },
    System {
        template: "fedora-43",
        os: "fedora43",
        title: "Fedora 43 VM",
        description: "Template for a Fedora 43 virtual machine. A disk with the Fedora cloud image is required.",
        icon: "icon-fedora",
        image: "fedora",
        user: "fedora",
        disk: "30Gi",
        cpus: 1,
        memory: "2Gi",
        windows: false,
    },
    System {
        template: "rhel-9",
        os: "rhel9.6",
        title: "Red Hat Enterprise Linux 9 VM",
        description: "Template for a Red Hat Enterprise Linux 9 virtual machine. A disk with the RHEL image is required.",
        icon: "icon-rhel",
        image: "rhel9",
        user: "cloud-user",
        disk: "30Gi",
        cpus: 1,
        memory: "2Gi",
        windows: false,
    },
    System {
        template: "windows-2022",
        os: "win2k22",
        title: "Microsoft Windows Server 2022 VM",
        description: "Template for a Microsoft Windows Server 2022 virtual machine. A disk with a Windows installation is required.",
        icon: "icon-windows",
        image: "win2k22",
        user: "Administrator",
        disk: "60Gi",
        cpus: 2,
        memory: "8Gi",
        windows: true,
    },
];

pub(super) fn items() -> Vec<Item> {
    let mut all = vec![namespace(TEMPLATES)];
    all.extend(SYSTEMS.iter().map(|s| item(TEMPLATE, template(s))));
    all.push(item(TEMPLATE, web_and_db()));
    all.push(item(TEMPLATE, guestbook()));
    all
}

fn parameter(name: &str, description: &str, value: &str) -> Value {
    json!({"name": name, "description": description, "value": value, "required": true})
}

fn generated(name: &str, description: &str, from: &str) -> Value {
    json!({"name": name, "description": description, "generate": "expression", "from": from})
}

fn metadata(name: &str, systems: &[&System], title: &str, description: &str, icon: &str) -> Value {
    let mut labels = Map::new();
    let mut annotations = Map::new();
    for (key, value) in [
        ("template.kubevirt.io/type", "base"),
        ("template.kubevirt.io/version", "v0.34.1"),
        ("template.kubevirt.io/default-os-variant", "true"),
        ("template.kubevirt.io/architecture", "amd64"),
        ("workload.template.kubevirt.io/server", "true"),
        ("flavor.template.kubevirt.io/small", "true"),
    ] {
        labels.insert(key.to_owned(), json!(value));
    }
    for s in systems {
        labels.insert(format!("os.template.kubevirt.io/{}", s.os), json!("true"));
        annotations.insert(format!("name.os.template.kubevirt.io/{}", s.os), json!(s.title.trim_end_matches(" VM")));
    }
    let tags = format!("hidden,kubevirt,virtualmachine,{}", name.split('-').next().unwrap_or_default());
    for (key, value) in [
        ("openshift.io/display-name", title),
        ("description", description),
        ("openshift.io/long-description", description),
        ("tags", &tags),
        ("iconClass", icon),
        ("openshift.io/provider-display-name", "KubeVirt"),
        ("openshift.io/documentation-url", "https://github.com/kubevirt/common-templates"),
        ("openshift.io/support-url", "https://github.com/kubevirt/common-templates/issues"),
        ("template.openshift.io/bindable", "false"),
        ("template.kubevirt.io/version", "v1alpha1"),
        ("defaults.template.kubevirt.io/disk", "rootdisk"),
        (
            "template.kubevirt.io/editable",
            "/objects[0].spec.template.spec.domain.cpu.sockets\n/objects[0].spec.template.spec.domain.memory.guest\n/objects[0].spec.template.spec.networks\n",
        ),
    ] {
        annotations.insert(key.to_owned(), json!(value));
    }
    json!({"name": name, "namespace": TEMPLATES, "labels": labels, "annotations": annotations})
}

fn template(s: &System) -> Value {
    let mut parameters = vec![
        generated(
            "NAME",
            "VM name",
            &format!("{}-[a-z0-9]{{16}}", s.template.split(['-', '.']).next().unwrap_or_default()),
        ),
        parameter("DATA_SOURCE_NAME", "Name of the DataSource to clone", s.image),
        parameter("DATA_SOURCE_NAMESPACE", "Namespace of the DataSource", IMAGES),
    ];
    if !s.windows {
        let from = "[a-z0-9]{4}-[a-z0-9]{4}-[a-z0-9]{4}";
        parameters.push(generated("CLOUD_USER_PASSWORD", "Randomized password for the cloud-init user", from));
    }
    json!({
        "metadata": metadata(s.template, &[s], s.title, s.description, s.icon),
        "objects": [machine(s, s.template, "${NAME}", "${DATA_SOURCE_NAME}", "${CLOUD_USER_PASSWORD}", s.cpus, s.memory)],
        "parameters": parameters,
    })
}

/// A VirtualMachine of a template, with the names of its parameters still in it.
fn machine(s: &System, template: &str, name: &str, image: &str, password: &str, cpus: i64, memory: &str) -> Value {
    let bus = if s.windows { "sata" } else { "virtio" };
    let mut disks = vec![json!({"name": "rootdisk", "disk": {"bus": bus}, "bootOrder": 1})];
    let mut volumes = vec![json!({"name": "rootdisk", "dataVolume": {"name": name}})];
    if !s.windows {
        let data = format!("#cloud-config\nuser: {}\npassword: {password}\nchpasswd: {{ expire: False }}", s.user);
        disks.push(json!({"name": "cloudinitdisk", "disk": {"bus": bus}}));
        volumes.push(json!({"name": "cloudinitdisk", "cloudInitNoCloud": {"userData": data}}));
    }
    let mut domain = json!({
        "cpu": {"sockets": cpus, "cores": 1, "threads": 1},
        "memory": {"guest": memory},
        "devices": {
            "disks": disks,
            "interfaces": [{"name": "default", "masquerade": {}, "model": if s.windows { "e1000e" } else { "virtio" }}],
            "rng": {},
        },
    });
    if s.windows {
        domain["devices"]["tpm"] = json!({});
        domain["features"] = json!({"acpi": {}, "smm": {"enabled": true}, "hyperv": {"relaxed": {}, "vapic": {}}});
        domain["firmware"] = json!({"bootloader": {"efi": {"secureBoot": true}}});
    }
    let rules = json!([{
        "name": "minimal-required-memory",
        "path": "jsonpath::.spec.domain.memory.guest",
        "rule": "integer",
        "message": "This VM requires more memory.",
        "min": 1_610_612_736_i64,
    }]);
    json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {
            "name": name,
            "labels": {
                "app": name,
                "vm.kubevirt.io/template": template,
                "vm.kubevirt.io/template.version": "v0.34.1",
                "vm.kubevirt.io/template.revision": "1",
                "vm.kubevirt.io/template.namespace": TEMPLATES,
            },
            "annotations": {"vm.kubevirt.io/validations": rules.to_string()},
        },
        "spec": {
            "runStrategy": "Halted",
            "dataVolumeTemplates": [{
                "metadata": {"name": name},
                "spec": {
                    "sourceRef": {"kind": "DataSource", "name": image, "namespace": "${DATA_SOURCE_NAMESPACE}"},
                    "storage": {"resources": {"requests": {"storage": s.disk}}},
                },
            }],
            "template": {
                "metadata": {
                    "labels": {"kubevirt.io/domain": name, "kubevirt.io/size": "small"},
                    "annotations": {
                        "vm.kubevirt.io/os": s.image, "vm.kubevirt.io/workload": "server", "vm.kubevirt.io/flavor": "small",
                    },
                },
                "spec": {
                    "architecture": "amd64",
                    "terminationGracePeriodSeconds": if s.windows { 3600 } else { 180 },
                    "domain": domain,
                    "networks": [{"name": "default", "pod": {}}],
                    "volumes": volumes,
                },
            },
        },
    })
}

/// Two machines that belong together: a web server and its database.
fn web_and_db() -> Value {
    let (web, db) = (&SYSTEMS[0], &SYSTEMS[2]);
    let description = "Template for two virtual machines: an Ubuntu web server and a RHEL database server.";
    let from = "[a-z0-9]{4}-[a-z0-9]{4}-[a-z0-9]{4}";
    let mut web_vm =
        machine(web, "web-and-db", "${NAME}-web", "${WEB_DATA_SOURCE_NAME}", "${CLOUD_USER_PASSWORD}", 1, "2Gi");
    // it has nothing to show before the database answers
    web_vm["metadata"]["annotations"]["ssvirt.io/start-order"] = json!("1");
    json!({
        "metadata": metadata("web-and-db", &[web, db], "Web and database servers", description, "icon-other-linux"),
        "message": "Made ${NAME}-web and ${NAME}-db.",
        "labels": {"app.kubernetes.io/part-of": "${NAME}"},
        "objects": [
            web_vm,
            machine(db, "web-and-db", "${NAME}-db", "${DB_DATA_SOURCE_NAME}", "${CLOUD_USER_PASSWORD}", 2, "4Gi"),
        ],
        "parameters": [
            generated("NAME", "First part of both VMs' names", "web-and-db-[a-z0-9]{6}"),
            parameter("WEB_DATA_SOURCE_NAME", "Name of the web server's DataSource", web.image),
            parameter("DB_DATA_SOURCE_NAME", "Name of the database server's DataSource", db.image),
            parameter("DATA_SOURCE_NAMESPACE", "Namespace of both DataSources", IMAGES),
            generated("CLOUD_USER_PASSWORD", "Randomized password for the cloud-init users", from),
        ],
    })
}

/// Two machines with what they share, for OpenShift to make itself: it asks for something that nobody can guess.
fn guestbook() -> Value {
    let (web, db) = (&SYSTEMS[1], &SYSTEMS[2]);
    let description = "Template for a guestbook: a Fedora web server, a RHEL database server, and a service in front. OpenShift makes it.";
    let mut metadata = metadata("guestbook", &[web, db], "Guestbook", description, "icon-other-linux");
    metadata["annotations"]["ssvirt.io/instantiate"] = json!("template-instance");
    let named = |name: &str, title: &str, description: &str| json!({"name": name, "displayName": title, "description": description});
    let needed = |mut p: Value| {
        p["required"] = json!(true);
        p
    };
    let mut port = named("PORT", "Port", "Where the web server listens.");
    port["value"] = json!("80");
    let mut password = named("DB_PASSWORD", "Database password", "Of the database's user.");
    password["generate"] = json!("expression");
    password["from"] = json!("[a-zA-Z0-9]{16}");
    let mut web_vm = machine(web, "guestbook", "${NAME}-web", "${WEB_DATA_SOURCE_NAME}", "${DB_PASSWORD}", 1, "2Gi");
    // the web server is told where to listen by a secret of the template
    web_vm["spec"]["template"]["spec"]["volumes"][1] =
        json!({"name": "cloudinitdisk", "cloudInitNoCloud": {"secretRef": {"name": "${NAME}-init"}}});
    json!({
        "metadata": metadata,
        "objects": [
            {
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "${NAME}-init"},
                "stringData": {"userdata": "#cloud-config\nruncmd:\n- guestbook --title '${TITLE}' --port ${PORT} --password '${DB_PASSWORD}'\n"},
            },
            web_vm,
            machine(db, "guestbook", "${NAME}-db", "${DB_DATA_SOURCE_NAME}", "${DB_PASSWORD}", 2, "4Gi"),
            {
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "${NAME}"},
                "spec": {"selector": {"kubevirt.io/domain": "${NAME}-web"}, "ports": [{"name": "http", "port": "${{PORT}}"}]},
            },
        ],
        "parameters": [
            generated("NAME", "First part of both VMs' names", "guestbook-[a-z0-9]{6}"),
            needed(named("TITLE", "Title", "What stands above the guestbook.")),
            needed(port),
            password,
            parameter("WEB_DATA_SOURCE_NAME", "Name of the web server's DataSource", web.image),
            parameter("DB_DATA_SOURCE_NAME", "Name of the database server's DataSource", db.image),
            parameter("DATA_SOURCE_NAMESPACE", "Namespace of both DataSources", IMAGES),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::{chance::Chance, json::Look, template};

    #[test]
    fn every_template_can_be_processed_and_leaves_no_parameter_behind() {
        for item in items().iter().filter(|i| i.kind == TEMPLATE) {
            let (name, mut template) = (item.object.name(), item.object.clone());
            if name == "guestbook" {
                let asks = template::process(&template, Chance::new(1), "x").unwrap_err();
                assert!(format!("{asks:?}").contains("TITLE"), "{asks:?}");
                template["parameters"][1]["value"] = json!("Guests");
            }
            let done = template::process(&template, Chance::new(1), "x").unwrap();
            assert!(!done["objects"].to_string().contains("${"), "{name}");
            let machines = done.list("/objects").iter().filter(|o| o["kind"] == "VirtualMachine").count();
            assert_eq!(machines, if matches!(name, "web-and-db" | "guestbook") { 2 } else { 1 });
        }
    }
}
