//! What KubeVirt refuses about networks and interfaces.
use super::cause::Causes;
use crate::actors::json::Look;
use serde_json::Value;
use std::collections::HashSet;

const SPEC: &str = "spec.template.spec";
const BINDINGS: [&str; 5] = ["bridge", "masquerade", "sriov", "passtBinding", "binding"];

pub(super) fn check(spec: &Value, config: &Value, causes: &mut Causes) {
    let mut names = HashSet::new();
    let mut on_pod = 0;
    for (i, network) in spec.list("/networks").iter().enumerate() {
        let field = format!("{SPEC}.networks[{i}]");
        let kinds = ["pod", "multus", "resourceClaim"].iter().filter(|k| network.has(&format!("/{k}"))).count();
        match kinds {
            0 => causes.required(&field, "should have a network type"),
            1 => {}
            _ => causes.required(&field, "should have only one network type"),
        }
        if network.has("/multus") && network.text("/multus/networkName").is_none() {
            causes.required(&field, "CNI delegating plugin must have a networkName");
        }
        on_pod += usize::from(network.has("/pod"));
        let name = network.text("/name").unwrap_or_default();
        if !names.insert(name) {
            let words = format!("Network with name {name:?} already exists, every network must have a unique name");
            causes.add("FieldValueDuplicate", format!("{field}.name"), words);
        }
        if !spec.list("/domain/devices/interfaces").iter().any(|n| n.text("/name") == Some(name)) {
            causes.required(format!("{field}.name"), format!("{field}.name '{name}' not found."));
        }
    }
    if on_pod > 1 {
        let field = format!("{SPEC}.interfaces");
        let words = format!("more than one interface is connected to a pod network in {field}");
        causes.add("FieldValueDuplicate", field, words);
    }
    let mut seen = HashSet::new();
    for (i, interface) in spec.list("/domain/devices/interfaces").iter().enumerate() {
        check_interface(spec, interface, &format!("{SPEC}.domain.devices.interfaces[{i}]"), config, causes);
        let name = interface.text("/name").unwrap_or_default();
        if !seen.insert(name) {
            let field = format!("{SPEC}.domain.devices.interfaces[{i}].name");
            causes.add("FieldValueDuplicate", field, "Only one interface can be connected to one specific network");
        }
    }
}

fn check_interface(spec: &Value, interface: &Value, field: &str, config: &Value, causes: &mut Causes) {
    let name = interface.text("/name").unwrap_or_default();
    let Some(network) = spec.list("/networks").iter().find(|n| n.text("/name") == Some(name)) else {
        causes.invalid(format!("{field}.name"), format!("{field}.name '{name}' not found."));
        return;
    };
    let bindings = BINDINGS.iter().filter(|b| interface.has(&format!("/{b}"))).count();
    if bindings != 1 {
        causes
            .invalid(field, format!("logical {name} interface must have exactly one binding method or binding plugin"));
    }
    if interface.has("/masquerade") && !network.has("/pod") {
        causes.invalid(format!("{field}.name"), "Masquerade interface only implemented with pod network");
    }
    let permitted = config.pointer("/network/permitBridgeInterfaceOnPodNetwork") != Some(&Value::Bool(false));
    if interface.has("/bridge") && network.has("/pod") && !permitted {
        causes.invalid(
            format!("{field}.name"),
            "Bridge on pod network configuration is not enabled under kubevirt-config",
        );
    }
    for (i, port) in interface.list("/ports").iter().enumerate() {
        if !matches!(port.text("/protocol"), None | Some("TCP" | "UDP")) {
            causes.invalid(format!("{field}.ports[{i}].protocol"), "Unknown protocol, only TCP or UDP allowed");
        }
    }
}
