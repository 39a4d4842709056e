//! What a VirtualMachine asks for, by part, without what KubeVirt itself writes into it: so that what somebody else changed
//! can be told from that.
use super::json::at;
use model::form::Form;
use serde_json::Value;
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
/// What KubeVirt makes to hold it goes with it.
const HOLDERS: [&str; 4] = ["/instancetype", "/preference", "/template/metadata", "/template/spec/domain/firmware"];
/// Whether it runs is judged by what is seen to run.
const RUNS: [&str; 2] = ["/runStrategy", "/running"];
const SIZE: [&str; 4] =
    ["/instancetype", "/template/spec/domain/cpu", "/template/spec/domain/memory", "/template/spec/domain/resources"];
const DISKS: [&str; 3] = ["/dataVolumeTemplates", "/template/spec/volumes", "/template/spec/domain/devices/disks"];
const NETWORKS: &str = "/template/spec/networks";
const INTERFACES: &str = "/template/spec/domain/devices/interfaces";

/// Watchers ask this of every VM that they see: so nothing is copied, and each part is written as text once, for its digest.
pub fn form(vm: &Value) -> Form {
    let spec = &vm["spec"];
    let mut gone: Vec<&str> = [&FILLED_IN[..], &RUNS].concat();
    gone.extend(HOLDERS.iter().filter(|holder| is_hollow(spec, holder)));
    let mut text = Vec::with_capacity(1024);
    let size = digest(&mut text, |text| list(text, SIZE, |text, path| part(text, spec, path, &gone)));
    let disks = digest(&mut text, |text| list(text, DISKS, |text, path| part(text, spec, path, &gone)));
    let nics = digest(&mut text, |text| nics(text, spec));
    gone.extend(SIZE.iter().chain(&DISKS).chain(&[NETWORKS, INTERFACES]));
    let rest = digest(&mut text, |text| part(text, spec, "", &gone));
    Form { size, disks, nics, rest }
}

/// Is nothing in it but what was filled in?
fn is_hollow(spec: &Value, holder: &str) -> bool {
    let filled_in = |key: &String| FILLED_IN.iter().any(|path| path.rsplit_once('/') == Some((holder, key)));
    at(spec, holder).and_then(Value::as_object).is_some_and(|fields| fields.keys().all(filled_in))
}

/// One that is being unplugged is taken out by KubeVirt when it is.
fn nics(text: &mut Vec<u8>, spec: &Value) {
    let all = |path| at(spec, path).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let absent = |name: &Value| all(INTERFACES).iter().any(|i| i["state"] == "absent" && i["name"] == *name);
    list(text, [NETWORKS, INTERFACES], |text, path| {
        list(text, all(path).iter().filter(|one| !absent(&one["name"])), |text, one| bare(text, one, &[]));
    });
}

/// What stands at a path, without what is gone.
fn part(text: &mut Vec<u8>, spec: &Value, path: &str, gone: &[&str]) {
    let below: Vec<&str> = gone.iter().filter_map(|gone| gone.strip_prefix(path)).collect();
    let there = if below.contains(&"") { None } else { at(spec, path) };
    let below: Vec<&str> = below.into_iter().filter_map(|gone| gone.strip_prefix('/')).collect();
    bare(text, there.unwrap_or(&Value::Null), &below);
}

/// Without what is null, which is as good as not there. What is empty says something: `bridge: {}` is no `masquerade: {}`.
fn bare(text: &mut Vec<u8>, value: &Value, gone: &[&str]) {
    match value {
        Value::Object(fields) => {
            text.push(b'{');
            let stay = fields.iter().filter(|(key, value)| !value.is_null() && !gone.contains(&key.as_str()));
            for (n, (key, value)) in stay.enumerate() {
                if n > 0 {
                    text.push(b',');
                }
                scalar(text, key);
                text.push(b':');
                let inside = |gone: &&'_ str| gone.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with('/'));
                match gone.iter().any(inside) {
                    true => {
                        let below: Vec<&str> =
                            gone.iter().copied().filter(inside).map(|gone| &gone[key.len() + 1..]).collect();
                        bare(text, value, &below);
                    }
                    false => bare(text, value, &[]),
                }
            }
            text.push(b'}');
        }
        Value::Array(all) => list(text, all, |text, one| bare(text, one, &[])),
        other => scalar(text, other),
    }
}

fn list<T>(text: &mut Vec<u8>, all: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Vec<u8>, T)) {
    text.push(b'[');
    for (n, one) in all.into_iter().enumerate() {
        if n > 0 {
            text.push(b',');
        }
        write(text, one);
    }
    text.push(b']');
}

fn scalar(text: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    // into memory, and of what is no map with other keys than texts: it has a text
    let _ = serde_json::to_writer(text, value);
}

/// Keys are sorted, so the same says the same.
fn digest(text: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> u64 {
    text.clear();
    write(text);
    Sha256::digest(&*text).iter().take(8).fold(0, |n, byte| n << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
    fn a_form_that_was_kept_by_an_older_release_is_the_same() {
        let kept = "0de8e790105c1d1edc82a7f168d2032f4a8aac12a78e3cf105241e42070bf5c1";
        assert_eq!(form(&vm()).to_string(), kept);
        let mut filled_in = vm();
        filled_in["spec"]["template"]["spec"]["domain"]["firmware"] = json!({"uuid": "u", "serial": "s"});
        filled_in["spec"]["instancetype"]["revisionName"] = json!("web-u1.small-1");
        filled_in["spec"]["preference"] = json!({});
        assert_eq!(form(&filled_in).to_string(), kept);
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
