//! Changes of a running machine: which reach the guest while it runs, and which wait for a restart.
use super::build::STARTED_FROM;
use crate::actors::{
    condition,
    json::{Look, list_mut, put, put_missing, remove},
    quantity,
};
use serde_json::{Value, json};

const RATIO: i128 = 4;
const MOST_CPUS: i128 = 512;

/// Sets how far sockets and memory may grow while the guest runs.
pub(crate) fn set_limits(spec: &mut Value, config: &Value) {
    let live = config.pointer("/liveUpdateConfiguration").cloned().unwrap_or_default();
    let ratio = live.int("/maxHotplugRatio").map_or(RATIO, i128::from);
    let number = |s: &Value, field: &str| i128::from(s.int(&format!("/domain/cpu/{field}")).unwrap_or(1).max(1));
    let per_socket = number(spec, "cores") * number(spec, "threads");
    let sockets = number(spec, "sockets");
    let most = live.int("/maxCpuSockets").map_or(sockets * ratio, i128::from).min(MOST_CPUS / per_socket).max(sockets);
    if spec.text("/architecture") != Some("arm64") {
        put_missing(spec, "/domain/cpu/maxSockets", || json!(i64::try_from(most).unwrap_or(i64::MAX)));
    }
    let Some(guest) = spec.pointer("/domain/memory/guest").and_then(quantity::whole) else { return };
    let most = live.pointer("/maxGuest").and_then(quantity::whole).unwrap_or(guest * ratio).max(guest);
    if memory_can_grow(spec, guest, most) {
        put_missing(spec, "/domain/memory/maxGuest", || json!(quantity::bytes(most)));
    }
}

fn memory_can_grow(spec: &Value, guest: i128, most: i128) -> bool {
    let unit = if spec.text("/domain/memory/hugepages/pageSize") == Some("1Gi") { 1 << 30 } else { 2 << 20 };
    spec.text("/architecture").is_none_or(|a| a == "amd64")
        && guest >= 1 << 30
        && guest % unit == 0
        && most % unit == 0
        && !["/domain/cpu/realtime", "/domain/cpu/numa", "/domain/launchSecurity"].iter().any(|p| spec.has(p))
}

#[derive(Debug, PartialEq)]
pub(crate) enum Update {
    Nothing,
    /// The instance's spec as it should become, and the conditions that announce it.
    Hotplug {
        spec: Value,
        announce: Vec<&'static str>,
    },
    RestartRequired(&'static str),
    /// Not now; reason and message of the machine's Failure condition.
    Refused(&'static str, &'static str),
}

/// What a change of the machine means for its running instance. `wanted` is the template's spec, expanded.
pub(crate) fn compare(vm: &Value, wanted: &Value, vmi: &Value, config: &Value) -> Update {
    const OTHER: &str = "a non-live-updatable field was changed in the template spec";
    let started: Value =
        vmi.annotation(STARTED_FROM).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let template = vm.pointer("/spec/template/spec").cloned().unwrap_or_default();
    if config.text("/vmRolloutStrategy") == Some("Stage") {
        return if started == template { Update::Nothing } else { Update::RestartRequired(OTHER) };
    }
    if without_live_fields(started) != without_live_fields(template) {
        return Update::RestartRequired(OTHER);
    }
    let mut spec = vmi["spec"].clone();
    let mut announce = Vec::new();
    match cpu(wanted, vmi) {
        Change::None => {}
        Change::To(sockets) => {
            put(&mut spec, "/domain/cpu/sockets", sockets);
            announce.push("HotVCPUChange");
        }
        Change::Restart(why) => return Update::RestartRequired(why),
        Change::Busy(reason, message) => return Update::Refused(reason, message),
    }
    match memory(wanted, vmi) {
        Change::None => {}
        Change::To(guest) => {
            put(&mut spec, "/domain/memory/guest", guest.clone());
            put(&mut spec, "/domain/resources/requests/memory", guest);
            announce.push("HotMemoryChange");
        }
        Change::Restart(why) => return Update::RestartRequired(why),
        Change::Busy(reason, message) => return Update::Refused(reason, message),
    }
    for field in ["nodeSelector", "affinity", "tolerations"] {
        if wanted.get(field) != vmi["spec"].get(field) {
            match wanted.get(field) {
                Some(value) => spec[field] = value.clone(),
                None => {
                    remove(&mut spec, &format!("/{field}"));
                }
            }
        }
    }
    volumes(wanted, &mut spec);
    if !nics(wanted, &mut spec) {
        return Update::RestartRequired(OTHER);
    }
    if spec == vmi["spec"] { Update::Nothing } else { Update::Hotplug { spec, announce } }
}

fn is_hotpluggable(volume: &Value) -> bool {
    volume.flag("/dataVolume/hotpluggable") || volume.flag("/persistentVolumeClaim/hotpluggable")
}

fn named<'a>(list: &'a [Value], item: &Value) -> Option<&'a Value> {
    list.iter().find(|other| other["name"] == item["name"])
}

/// Hotpluggable volumes and their disks become those of the machine; all others stay.
fn volumes(wanted: &Value, spec: &mut Value) {
    let (new, old) = (wanted.list("/volumes").to_vec(), spec.list("/volumes").to_vec());
    let gone: Vec<Value> =
        old.iter().filter(|v| is_hotpluggable(v) && named(&new, v).is_none()).map(|v| v["name"].clone()).collect();
    let come: Vec<Value> = new.iter().filter(|v| is_hotpluggable(v) && named(&old, v).is_none()).cloned().collect();
    if gone.is_empty() && come.is_empty() {
        return;
    }
    let disks: Vec<Value> = come
        .iter()
        .map(|v| {
            named(wanted.list("/domain/devices/disks"), v)
                .cloned()
                .unwrap_or_else(|| json!({"name": v["name"], "disk": {"bus": "scsi"}}))
        })
        .collect();
    for (pointer, more) in [("/volumes", come), ("/domain/devices/disks", disks)] {
        let list = list_mut(spec, pointer);
        list.retain(|item| !gone.contains(&item["name"]));
        list.extend(more);
    }
}

/// Bridged interfaces come while the guest runs, and go when they are marked as absent; links go up and down. False: any
/// other change waits for a restart.
fn nics(wanted: &Value, spec: &mut Value) -> bool {
    const CARDS: &str = "/domain/devices/interfaces";
    let (new, old) = (wanted.list(CARDS).to_vec(), spec.list(CARDS).to_vec());
    // one that the machine did not name was attached by itself
    if new.is_empty()
        && wanted.list("/networks").is_empty()
        && old.len() <= 1
        && !wanted.has("/domain/devices/autoattachPodInterface")
    {
        return true;
    }
    let net = |of: &Value, card: &Value| named(of.list("/networks"), card).cloned().unwrap_or_default();
    let steady = |card: &Value| {
        let mut card = card.clone();
        remove(&mut card, "/state");
        card
    };
    for card in &old {
        let Some(wish) = named(&new, card) else { return false };
        if steady(wish) != steady(card) || net(wanted, card) != net(spec, card) {
            return false;
        }
        if wish.text("/state") == Some("absent") {
            for pointer in [CARDS, "/networks"] {
                list_mut(spec, pointer).retain(|item| item["name"] != card["name"]);
            }
        } else if let Some(now) = list_mut(spec, CARDS).iter_mut().find(|c| c["name"] == card["name"]) {
            *now = wish.clone();
        }
    }
    for wish in new.iter().filter(|w| named(&old, w).is_none() && w.text("/state") != Some("absent")) {
        let network = net(wanted, wish);
        if !wish.has("/bridge") || !network.has("/multus") {
            return false;
        }
        list_mut(spec, CARDS).push(wish.clone());
        list_mut(spec, "/networks").push(network);
    }
    true
}

/// The machine without the interfaces that were to be unplugged and are; none if there is nothing to take away.
pub(crate) fn without_absent(vm: &Value, vmi: Option<&Value>) -> Option<Value> {
    const CARDS: &str = "/spec/template/spec/domain/devices/interfaces";
    let there = |name: &Value| {
        vmi.is_some_and(|i| i.list("/spec/domain/devices/interfaces").iter().any(|c| c["name"] == *name))
    };
    let gone: Vec<Value> = vm
        .list(CARDS)
        .iter()
        .filter(|c| c.text("/state") == Some("absent") && !there(&c["name"]))
        .map(|c| c["name"].clone())
        .collect();
    if gone.is_empty() {
        return None;
    }
    let mut new = vm.clone();
    for pointer in [CARDS, "/spec/template/spec/networks"] {
        list_mut(&mut new, pointer).retain(|item| !gone.contains(&item["name"]));
    }
    Some(new)
}

fn without_live_fields(mut spec: Value) -> Value {
    for pointer in [
        "/domain/cpu/sockets",
        "/domain/memory/guest",
        "/nodeSelector",
        "/affinity",
        "/tolerations",
        "/networks",
        "/domain/devices/interfaces",
    ] {
        remove(&mut spec, pointer);
    }
    let plugged: Vec<String> = spec
        .list("/volumes")
        .iter()
        .filter(|v| is_hotpluggable(v))
        .filter_map(|v| v.text("/name").map(str::to_owned))
        .collect();
    for list in ["/volumes", "/domain/devices/disks"] {
        if let Some(list) = spec.pointer_mut(list).and_then(Value::as_array_mut) {
            list.retain(|v| !v.text("/name").is_some_and(|n| plugged.iter().any(|p| p == n)));
        }
    }
    // what only ever held live parts is the same as none
    for pointer in ["/volumes", "/domain/devices/disks"] {
        if spec.pointer(pointer) == Some(&json!([])) {
            remove(&mut spec, pointer);
        }
    }
    for pointer in ["/domain/cpu", "/domain/memory"] {
        if spec.pointer(pointer) == Some(&json!({})) {
            remove(&mut spec, pointer);
        }
    }
    spec
}

enum Change {
    None,
    To(Value),
    Restart(&'static str),
    Busy(&'static str, &'static str),
}

fn is_migrating(vmi: &Value) -> bool {
    vmi.has("/status/migrationState/startTimestamp") && !vmi.has("/status/migrationState/endTimestamp")
}

fn cpu(wanted: &Value, vmi: &Value) -> Change {
    let Some(new) = wanted.int("/domain/cpu/sockets").filter(|n| *n > 0) else { return Change::None };
    let old = vmi.int("/spec/domain/cpu/sockets").unwrap_or(1);
    if new == old {
        Change::None
    } else if vmi.text("/spec/architecture") == Some("arm64") {
        Change::Restart("ARM doesn't support CPU hotplug")
    } else if vmi.int("/spec/domain/cpu/maxSockets").is_some_and(|most| new > most) {
        Change::Restart("CPU sockets updated in template spec to a value higher than what's available")
    } else if new < old {
        Change::Restart("Reduction of CPU socket count requires a restart")
    } else if condition::is(vmi, "HotVCPUChange", "True") {
        Change::Busy("HotPlugCPUError", "another CPU hotplug is in progress")
    } else if is_migrating(vmi) {
        Change::Busy("HotPlugCPUError", "CPU hotplug is not allowed while VMI is migrating")
    } else {
        Change::To(json!(new))
    }
}

fn memory(wanted: &Value, vmi: &Value) -> Change {
    let amount = |v: &Value, pointer: &str| v.pointer(pointer).and_then(quantity::whole);
    let Some(new) = amount(wanted, "/domain/memory/guest") else { return Change::None };
    if amount(vmi, "/spec/domain/memory/guest") == Some(new) {
        return Change::None;
    }
    if !condition::is(vmi, "LiveMigratable", "True") {
        return Change::Restart("memory updated in template spec. Memory-hotplug is only available for migratable VMs");
    }
    if amount(vmi, "/status/memory/guestAtBoot").is_some_and(|boot| new < boot) {
        return Change::Restart("memory updated in template spec to a value lower than what the VM started with");
    }
    if amount(vmi, "/spec/domain/memory/maxGuest").is_none_or(|most| new > most) {
        return Change::Restart("memory updated in template spec to a value higher than what's available");
    }
    if condition::is(vmi, "HotMemoryChange", "True") {
        return Change::Busy("HotPlugMemoryError", "another memory hotplug is in progress");
    }
    if is_migrating(vmi) {
        return Change::Busy("HotPlugMemoryError", "memory hotplug is not allowed while VMI is migrating");
    }
    Change::To(wanted.pointer("/domain/memory/guest").cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template() -> Value {
        json!({"domain": {"cpu": {"sockets": 2}, "memory": {"guest": "2Gi"}, "devices": {"rng": {}}}})
    }

    fn vm(template: &Value) -> Value {
        json!({"spec": {"template": {"spec": template}}})
    }

    fn vmi() -> Value {
        let mut spec = template();
        put(&mut spec, "/domain/cpu/maxSockets", json!(8));
        put(&mut spec, "/domain/memory/maxGuest", json!("8Gi"));
        json!({
            "metadata": {"annotations": {STARTED_FROM: template().to_string()}},
            "spec": spec,
            "status": {"memory": {"guestAtBoot": "2Gi"}, "conditions": [{"type": "LiveMigratable", "status": "True"}]},
        })
    }

    fn after(pointer: &str, value: Value) -> Update {
        let mut new = template();
        put(&mut new, pointer, value);
        compare(&vm(&new), &new, &vmi(), &json!({}))
    }

    #[test]
    fn nothing_changed_is_nothing_to_do() {
        assert_eq!(compare(&vm(&template()), &template(), &vmi(), &json!({})), Update::Nothing);
    }

    #[test]
    fn more_sockets_reach_the_guest_up_to_the_most() {
        let Update::Hotplug { spec, announce } = after("/domain/cpu/sockets", json!(4)) else { panic!("not plugged") };
        assert_eq!((spec.int("/domain/cpu/sockets"), announce), (Some(4), vec!["HotVCPUChange"]));
        assert_eq!(
            after("/domain/cpu/sockets", json!(9)),
            Update::RestartRequired("CPU sockets updated in template spec to a value higher than what's available")
        );
        assert_eq!(
            after("/domain/cpu/sockets", json!(1)),
            Update::RestartRequired("Reduction of CPU socket count requires a restart")
        );
    }

    #[test]
    fn more_memory_reaches_the_guest_up_to_the_most() {
        let Update::Hotplug { spec, announce } = after("/domain/memory/guest", json!("4Gi")) else {
            panic!("not plugged")
        };
        assert_eq!((spec.text("/domain/memory/guest"), announce), (Some("4Gi"), vec!["HotMemoryChange"]));
        for (size, words) in [
            ("1Gi", "memory updated in template spec to a value lower than what the VM started with"),
            ("9Gi", "memory updated in template spec to a value higher than what's available"),
        ] {
            assert_eq!(after("/domain/memory/guest", json!(size)), Update::RestartRequired(words));
        }
        let mut fixed = vmi();
        fixed["status"]["conditions"][0]["status"] = json!("False");
        let mut new = template();
        put(&mut new, "/domain/memory/guest", json!("4Gi"));
        assert_eq!(
            compare(&vm(&new), &new, &fixed, &json!({})),
            Update::RestartRequired(
                "memory updated in template spec. Memory-hotplug is only available for migratable VMs"
            )
        );
    }

    #[test]
    fn anything_else_waits_for_a_restart() {
        let words = "a non-live-updatable field was changed in the template spec";
        assert_eq!(after("/domain/devices/rng", json!(null)), Update::RestartRequired(words));
        assert_eq!(after("/hostname", json!("x")), Update::RestartRequired(words));
        let mut new = template();
        put(&mut new, "/domain/cpu/sockets", json!(4));
        assert_eq!(
            compare(&vm(&new), &new, &vmi(), &json!({"vmRolloutStrategy": "Stage"})),
            Update::RestartRequired(words)
        );
    }

    #[test]
    fn a_hotpluggable_volume_comes_and_goes_with_its_disk() {
        let mut new = template();
        put(&mut new, "/volumes", json!([{"name": "data", "dataVolume": {"name": "d", "hotpluggable": true}}]));
        let Update::Hotplug { spec, .. } = compare(&vm(&new), &new, &vmi(), &json!({})) else { panic!("not plugged") };
        assert_eq!(spec["domain"]["devices"]["disks"], json!([{"name": "data", "disk": {"bus": "scsi"}}]));
        let mut with = vmi();
        with["spec"] = spec;
        let Update::Hotplug { spec, .. } = compare(&vm(&template()), &template(), &with, &json!({})) else {
            panic!("not unplugged")
        };
        assert_eq!((spec.list("/volumes").len(), spec.list("/domain/devices/disks").len()), (0, 0));
    }

    fn with_cards(names: &[&str]) -> Value {
        let mut spec = template();
        let cards: Vec<Value> = names.iter().map(|n| json!({"name": n, "bridge": {}})).collect();
        let nets: Vec<Value> = names.iter().map(|n| json!({"name": n, "multus": {"networkName": n}})).collect();
        put(&mut spec, "/domain/devices/interfaces", json!(cards));
        put(&mut spec, "/networks", json!(nets));
        spec
    }

    #[test]
    fn a_bridged_interface_comes_and_goes_while_the_guest_runs() {
        let mut running = vmi();
        for (pointer, from) in [("/domain/devices/interfaces", "a"), ("/networks", "a")] {
            put(&mut running["spec"], pointer, with_cards(&[from]).pointer(pointer).cloned().expect("there"));
        }
        let both = with_cards(&["a", "b"]);
        let Update::Hotplug { spec, .. } = compare(&vm(&both), &both, &running, &json!({})) else {
            panic!("not plugged")
        };
        assert_eq!(spec.list("/networks").len(), 2);
        running["spec"] = spec;
        let mut less = both;
        less["domain"]["devices"]["interfaces"][1]["state"] = json!("absent");
        let Update::Hotplug { spec, .. } = compare(&vm(&less), &less, &running, &json!({})) else {
            panic!("not unplugged")
        };
        assert_eq!(spec.list("/domain/devices/interfaces"), [json!({"name": "a", "bridge": {}})]);
        running["spec"] = spec;
        let trimmed = without_absent(&vm(&less), Some(&running)).expect("it is unplugged");
        assert_eq!(trimmed.list("/spec/template/spec/networks").len(), 1);
        let mut moved = with_cards(&["a"]);
        moved["networks"][0]["multus"]["networkName"] = json!("other");
        assert!(matches!(compare(&vm(&moved), &moved, &running, &json!({})), Update::RestartRequired(_)));
    }

    #[test]
    fn one_hotplug_at_a_time() {
        let mut busy = vmi();
        busy["status"]["conditions"] =
            json!([{"type": "LiveMigratable", "status": "True"}, {"type": "HotVCPUChange", "status": "True"}]);
        let mut new = template();
        put(&mut new, "/domain/cpu/sockets", json!(4));
        assert_eq!(
            compare(&vm(&new), &new, &busy, &json!({})),
            Update::Refused("HotPlugCPUError", "another CPU hotplug is in progress")
        );
    }

    #[test]
    fn limits_are_four_times_what_is_asked_where_memory_can_grow() {
        let mut spec = template();
        set_limits(&mut spec, &json!({}));
        assert_eq!(spec.int("/domain/cpu/maxSockets"), Some(8));
        assert_eq!(spec.text("/domain/memory/maxGuest"), Some("8Gi"));
        let mut small = json!({"domain": {"memory": {"guest": "512Mi"}}});
        set_limits(&mut small, &json!({"liveUpdateConfiguration": {"maxCpuSockets": 16}}));
        assert_eq!(small.int("/domain/cpu/maxSockets"), Some(16));
        assert!(!small.has("/domain/memory/maxGuest"));
    }
}
