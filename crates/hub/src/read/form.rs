//! What a VirtualMachine asks for, by part, without what KubeVirt itself writes into it: so that what somebody else changed
//! can be told from that.
use super::json::at;
use model::form::Form;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// What KubeVirt and API servers fill in after the fact, by where it stands in the spec.
const FILLED_IN: [&str; 6] = [
    "/instancetype/revisionName",
    "/instancetype/inferFromVolume",
    "/preference/revisionName",
    "/template/metadata/creationTimestamp",
    "/template/spec/domain/firmware/uuid",
    "/template/spec/domain/firmware/serial",
];
/// Whether it runs is judged by what is seen to run.
const RUNS: [&str; 2] = ["/runStrategy", "/running"];
const SIZE: [&str; 4] =
    ["/instancetype", "/template/spec/domain/cpu", "/template/spec/domain/memory", "/template/spec/domain/resources"];
const DISKS: [&str; 3] = ["/dataVolumeTemplates", "/template/spec/volumes", "/template/spec/domain/devices/disks"];
const NETWORKS: &str = "/template/spec/networks";
const INTERFACES: &str = "/template/spec/domain/devices/interfaces";

pub fn form(vm: &Value) -> Form {
    let mut rest = vm["spec"].clone();
    for path in FILLED_IN.iter().chain(&RUNS) {
        take(&mut rest, path);
        // what KubeVirt made to hold it goes with it
        let Some((parent, _)) = path.rsplit_once('/') else { continue };
        if at(&rest, parent).and_then(Value::as_object).is_some_and(Map::is_empty) {
            take(&mut rest, parent);
        }
    }
    let size = SIZE.map(|path| take(&mut rest, path));
    let disks = DISKS.map(|path| take(&mut rest, path));
    let nics = without_absent(take(&mut rest, NETWORKS), take(&mut rest, INTERFACES));
    Form { size: digest(&json!(size)), disks: digest(&json!(disks)), nics: digest(&nics), rest: digest(&bare(rest)) }
}

/// Takes a part out.
fn take(from: &mut Value, path: &str) -> Value {
    let Some((parent, key)) = path.rsplit_once('/') else { return Value::Null };
    let fields = parent.split('/').skip(1).try_fold(from, |v, name| v.get_mut(name)).and_then(Value::as_object_mut);
    bare(fields.and_then(|fields| fields.remove(key)).unwrap_or_default())
}

/// One that is being unplugged is taken out by KubeVirt when it is.
fn without_absent(networks: Value, interfaces: Value) -> Value {
    let list = |value: Value| match value {
        Value::Array(all) => all,
        _ => Vec::new(),
    };
    let (networks, interfaces) = (list(networks), list(interfaces));
    let absent: Vec<Value> = interfaces.iter().filter(|i| i["state"] == "absent").map(|i| i["name"].clone()).collect();
    let stays = |one: &Value| !absent.contains(&one["name"]);
    json!([
        networks.into_iter().filter(stays).collect::<Vec<_>>(),
        interfaces.into_iter().filter(stays).collect::<Vec<_>>()
    ])
}

/// Without what is null, which is as good as not there. What is empty says something: `bridge: {}` is no `masquerade: {}`.
fn bare(mut value: Value) -> Value {
    strip(&mut value);
    value
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(strip);
        }
        Value::Array(all) => all.iter_mut().for_each(strip),
        _ => {}
    }
}

fn digest(value: &Value) -> u64 {
    // keys are sorted, so the same says the same; and a value always has a text
    let sum = Sha256::digest(value.to_string());
    sum.iter().take(8).fold(0, |n, byte| n << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vm() -> Value {
        json!({"spec": {
            "runStrategy": "RerunOnFailure",
            "instancetype": {"kind": "VirtualMachineClusterInstancetype", "name": "u1.small"},
            "dataVolumeTemplates": [{"metadata": {"name": "a"}}],
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {
                "domain": {
                    "cpu": {"cores": 2},
                    "devices": {
                        "disks": [{"name": "root", "disk": {"bus": "virtio"}}],
                        "interfaces": [{"name": "default", "masquerade": {}}, {"name": "old", "bridge": {}, "state": "absent"}],
                    },
                },
                "networks": [{"name": "default", "pod": {}}, {"name": "old", "multus": {"networkName": "n"}}],
                "volumes": [{"name": "root", "dataVolume": {"name": "a"}}],
            }},
        }})
    }

    /// Which parts are others after a change: size, disks, nics, rest.
    fn differ(change: impl FnOnce(&mut Value)) -> [bool; 4] {
        let (before, mut after) = (form(&vm()), vm());
        change(&mut after["spec"]);
        let after = form(&after);
        [before.size != after.size, before.disks != after.disks, before.nics != after.nics, before.rest != after.rest]
    }

    #[test]
    fn a_change_is_of_the_part_it_is_in() {
        assert_eq!(differ(|s| s["instancetype"]["name"] = json!("u1.large")), [true, false, false, false]);
        assert_eq!(differ(|s| s["template"]["spec"]["domain"]["cpu"]["cores"] = json!(3)), [true, false, false, false]);
        assert_eq!(
            differ(|s| s["template"]["spec"]["volumes"] = json!([])),
            [false, true, false, false],
            "a disk is gone"
        );
        assert_eq!(
            differ(|s| s["template"]["spec"]["domain"]["devices"]["disks"][0]["disk"]["bus"] = json!("sata")),
            [false, true, false, false]
        );
        assert_eq!(
            differ(|s| s["template"]["spec"]["networks"][0] = json!({"name": "default", "multus": {}})),
            [false, false, true, false]
        );
        let bridge = json!({"name": "default", "bridge": {}});
        assert_eq!(
            differ(|s| s["template"]["spec"]["domain"]["devices"]["interfaces"][0] = bridge),
            [false, false, true, false]
        );
        assert_eq!(
            differ(|s| s["template"]["spec"]["nodeSelector"] = json!({"disk": "ssd"})),
            [false, false, false, true]
        );
        assert_eq!(differ(|s| s["template"]["metadata"]["labels"]["c"] = json!("d")), [false, false, false, true]);
    }

    #[test]
    fn what_kubevirt_fills_in_is_no_change() {
        assert_eq!(differ(|s| s["instancetype"]["revisionName"] = json!("web-u1.small-1")), [false; 4]);
        assert_eq!(differ(|s| s["template"]["spec"]["domain"]["firmware"] = json!({"uuid": "u"})), [false; 4]);
        assert_eq!(differ(|s| s["template"]["metadata"]["creationTimestamp"] = Value::Null), [false; 4]);
        assert_eq!(differ(|s| s["runStrategy"] = json!("Halted")), [false; 4], "that is judged elsewhere");
        let unplugged = |s: &mut Value| {
            s["template"]["spec"]["networks"] = json!([{"name": "default", "pod": {}}]);
            s["template"]["spec"]["domain"]["devices"]["interfaces"] = json!([{"name": "default", "masquerade": {}}]);
        };
        assert_eq!(differ(unplugged), [false; 4]);
        assert_eq!(differ(|s| s["template"]["spec"]["nodeSelector"] = Value::Null), [false; 4]);
    }
}
