//! What a guest tells about itself once its agent runs, and how its network looks.
use crate::actors::{chance::Chance, json::Look};
use serde_json::{Value, json};

struct System {
    /// How it is named in images, preferences and annotations.
    known_by: &'static [&'static str],
    id: &'static str,
    name: &'static str,
    version: &'static str,
    version_id: &'static str,
    kernel: &'static str,
    interface: &'static str,
}

const SYSTEMS: &[System] = &[
    System {
        known_by: &["ubuntu"],
        id: "ubuntu",
        name: "Ubuntu",
        version: "24.04.3 LTS (Noble Numbat)",
        version_id: "24.04",
        kernel: "6.8.0-79-generic",
        interface: "enp1s0",
    },
    System {
        known_by: &["fedora"],
        id: "fedora",
        name: "Fedora Linux",
        version: "43 (Cloud Edition)",
        version_id: "43",
        kernel: "6.17.1-300.fc43.x86_64",
        interface: "eth0",
    },
    System {
        known_by: &["rhel"],
        id: "rhel",
        name: "Red Hat Enterprise Linux",
        version: "9.6 (Plow)",
        version_id: "9.6",
        kernel: "5.14.0-570.el9.x86_64",
        interface: "eth0",
    },
    System {
        known_by: &["centos"],
        id: "centos",
        name: "CentOS Stream",
        version: "9",
        version_id: "9",
        kernel: "5.14.0-612.el9.x86_64",
        interface: "eth0",
    },
    System {
        known_by: &["debian"],
        id: "debian",
        name: "Debian GNU/Linux",
        version: "13 (trixie)",
        version_id: "13",
        kernel: "6.12.41+deb13-amd64",
        interface: "enp1s0",
    },
    System {
        known_by: &["win"],
        id: "mswindows",
        name: "Microsoft Windows",
        version: "Microsoft Windows Server 2022",
        version_id: "2022",
        kernel: "20348",
        interface: "Ethernet",
    },
];

fn system(vmi: &Value, vm: Option<&Value>) -> &'static System {
    let mut hints: Vec<&str> = vec![vmi.annotation("vm.kubevirt.io/os").unwrap_or_default()];
    if let Some(vm) = vm {
        hints.push(vm.text("/spec/preference/name").unwrap_or_default());
        for dv in vm.list("/spec/dataVolumeTemplates") {
            for pointer in
                ["/spec/sourceRef/name", "/spec/source/registry/url", "/spec/source/http/url", "/spec/source/pvc/name"]
            {
                hints.push(dv.text(pointer).unwrap_or_default());
            }
        }
    }
    for volume in vmi.list("/spec/volumes") {
        hints.push(volume.text("/containerDisk/image").unwrap_or_default());
    }
    hints.push(vmi.name());
    let fits = |hint: &&str| {
        let hint = hint.to_ascii_lowercase();
        SYSTEMS.iter().find(|s| s.known_by.iter().any(|k| hint.contains(k)))
    };
    hints.iter().find_map(fits).unwrap_or(&SYSTEMS[0])
}

/// `status.guestOSInfo`, as the agent reports it.
pub(crate) fn os_info(vmi: &Value, vm: Option<&Value>) -> Value {
    let s = system(vmi, vm);
    json!({
        "id": s.id,
        "name": s.name,
        "version": s.version,
        "versionId": s.version_id,
        "prettyName": if s.id == "mswindows" { s.version.to_owned() } else { format!("{} {}", s.name, s.version) },
        "kernelRelease": s.kernel,
        "kernelVersion": format!("#1 SMP {}", s.kernel),
        "machine": "x86_64",
    })
}

/// The whole answer of the guest agent, as virt-api gives it out.
pub(crate) fn agent_info(vmi: &Value) -> Value {
    let commands = [
        "guest-get-osinfo",
        "guest-get-host-name",
        "guest-network-get-interfaces",
        "guest-get-fsinfo",
        "guest-get-users",
        "guest-fsfreeze-freeze",
        "guest-shutdown",
    ]
    .map(|name| json!({"name": name, "enabled": true}));
    json!({
        "guestAgentVersion": "9.1.0",
        "supportedCommands": commands,
        "hostname": vmi.text("/spec/hostname").unwrap_or_else(|| vmi.name()),
        "os": vmi.pointer("/status/guestOSInfo").cloned().unwrap_or_else(|| json!({})),
        "timezone": "UTC, 0",
        "userList": [],
        "fsInfo": {"disks": [{
            "diskName": "vda1", "mountPoint": "/", "fileSystemType": "ext4",
            "usedBytes": 2_147_483_648_i64, "totalBytes": 32_212_254_720_i64,
            "disk": [{"busType": "virtio"}],
        }]},
        "fsFreezeStatus": "thawed",
    })
}

/// A locally administered hardware address, the same at every start of the same machine.
fn hardware_address(chance: Chance, vmi: &Value, interface: &str) -> String {
    let bytes = chance.number(&["mac", vmi.namespace(), vmi.name(), interface]).to_be_bytes();
    format!("02:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", bytes[0], bytes[1], bytes[2], bytes[3], bytes[4])
}

/// `status.interfaces`. Names inside the guest are known through the agent only; `address` gives an interface one.
pub(crate) fn interfaces(
    vmi: &Value,
    vm: Option<&Value>,
    agent: bool,
    chance: Chance,
    address: impl Fn(&str) -> Option<String>,
) -> Value {
    let fixed: Value = vmi
        .annotation("network.kubevirt.io/addresses")
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let inside = system(vmi, vm).interface;
    let all = vmi.list("/spec/domain/devices/interfaces").iter().enumerate().map(|(i, interface)| {
        let name = interface.text("/name").unwrap_or_default();
        let mac =
            interface.text("/macAddress").map_or_else(|| hardware_address(chance, vmi, name), str::to_ascii_lowercase);
        let mut status = json!({
            "name": name,
            "mac": mac,
            "podInterfaceName": if i == 0 { "eth0".to_owned() } else { format!("net{i}") },
            "infoSource": if agent { "domain, guest-agent, multus-status" } else { "domain, multus-status" },
            "linkState": interface.text("/state").filter(|s| *s == "down").unwrap_or("up"),
            "queueCount": 1,
        });
        let own: Vec<String> = fixed
            .list(&format!("/{name}"))
            .iter()
            .filter_map(|a| a.as_str().and_then(|a| a.split('/').next()).map(str::to_owned))
            .collect();
        let reported = if own.is_empty() { address(name).into_iter().collect() } else { own };
        if let Some(first) = reported.first() {
            status["ipAddress"] = json!(first);
            status["ipAddresses"] = json!(reported);
        }
        if agent {
            // enp1s0, enp2s0, … or eth0, eth1, …
            let number = if inside.starts_with("enp") { i + 1 } else { i };
            status["interfaceName"] = json!(if inside == "Ethernet" && i == 0 {
                inside.to_owned()
            } else {
                inside.replacen(|c: char| c.is_ascii_digit(), &number.to_string(), 1)
            });
        }
        status
    });
    Value::Array(all.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vmi() -> Value {
        json!({
            "metadata": {"name": "web", "namespace": "a", "uid": "i", "annotations": {"vm.kubevirt.io/os": "rhel9"}},
            "spec": {
                "domain": {"devices": {"interfaces": [
                    {"name": "default", "masquerade": {}},
                    {"name": "lan", "bridge": {}, "macAddress": "02:00:00:00:00:AA"},
                ]}},
                "networks": [{"name": "default", "pod": {}}, {"name": "lan", "multus": {"networkName": "lan"}}],
            },
        })
    }

    #[test]
    fn the_guest_is_what_its_image_says() {
        assert_eq!(os_info(&vmi(), None)["id"], "rhel");
        let vm = json!({"spec": {"dataVolumeTemplates": [{"spec": {"sourceRef": {"name": "win2k22"}}}]}});
        assert_eq!(os_info(&json!({"metadata": {}}), Some(&vm))["id"], "mswindows");
    }

    #[test]
    fn a_pod_interface_has_an_address_at_once_and_a_name_with_the_agent() {
        let address = |name: &str| (name == "default").then(|| "10.128.0.7".to_owned());
        let before = interfaces(&vmi(), None, false, Chance::new(1), address);
        assert_eq!(before[0]["ipAddress"], "10.128.0.7");
        assert!(before[0].get("interfaceName").is_none());
        assert_eq!(before[1]["mac"], "02:00:00:00:00:aa");
        assert!(before[1].get("ipAddress").is_none());
        let after = interfaces(&vmi(), None, true, Chance::new(1), address);
        assert_eq!(after[0]["ipAddress"], before[0]["ipAddress"]);
        assert_eq!((&after[0]["interfaceName"], &after[1]["interfaceName"]), (&json!("eth0"), &json!("eth1")));
    }

    #[test]
    fn an_address_asked_for_is_the_one_reported() {
        let mut fixed = vmi();
        fixed["metadata"]["annotations"]["network.kubevirt.io/addresses"] = json!(r#"{"lan":["10.9.0.5/24"]}"#);
        let all = interfaces(&fixed, None, false, Chance::new(1), |_| None);
        assert_eq!(all[1]["ipAddress"], "10.9.0.5");
    }
}
