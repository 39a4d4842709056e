//! Instance types and preferences: what they add to a machine, and what they may not be mixed with.
use crate::actors::{
    json::{Look, put, put_missing},
    kind::{CLUSTER_INSTANCETYPE, CLUSTER_PREFERENCE, INSTANCETYPE, Kind, PREFERENCE},
    quantity,
};
use serde_json::{Value, json};

/// The kind a matcher names: any case, singular or plural, the cluster's own by default.
pub(crate) fn instancetype_kind(matcher: &Value) -> Option<Kind> {
    named(matcher, CLUSTER_INSTANCETYPE, INSTANCETYPE)
}

pub(crate) fn preference_kind(matcher: &Value) -> Option<Kind> {
    named(matcher, CLUSTER_PREFERENCE, PREFERENCE)
}

fn named(matcher: &Value, cluster: Kind, namespaced: Kind) -> Option<Kind> {
    let Some(name) = matcher.text("/kind") else { return Some(cluster) };
    [cluster, namespaced].into_iter().find(|k| name.eq_ignore_ascii_case(k.kind) || name.eq_ignore_ascii_case(k.plural))
}

const TEMPLATE: &str = "spec.template.spec";

/// Fields of the machine that its instance type decides, and that therefore must not be set.
pub(crate) fn conflicts(vm: &Value) -> Vec<String> {
    if !vm.has("/spec/instancetype") {
        return Vec::new();
    }
    let fields = [
        "domain.cpu.cores",
        "domain.cpu.sockets",
        "domain.cpu.threads",
        "domain.memory.guest",
        "domain.resources.requests.memory",
        "domain.resources.limits.memory",
        "domain.resources.requests.cpu",
        "domain.resources.limits.cpu",
    ];
    fields
        .into_iter()
        .filter(|f| {
            let at = vm.pointer(&format!("/spec/template/spec/{}", f.replace('.', "/")));
            at.is_some_and(|v| !v.is_null() && v != &json!(0))
        })
        .map(|f| format!("{TEMPLATE}.{f}"))
        .collect()
}

/// The template's spec with instance type and preference worked in.
pub(crate) fn expand(vm: &Value, instancetype: Option<&Value>, preference: Option<&Value>) -> Value {
    let mut spec = vm.pointer("/spec/template/spec").cloned().unwrap_or_else(|| json!({}));
    if let Some(it) = instancetype.and_then(|it| it.get("spec")) {
        apply_instancetype(&mut spec, it, preference);
    }
    if let Some(p) = preference.and_then(|p| p.get("spec")) {
        apply_preference(&mut spec, p);
    }
    spec
}

fn apply_instancetype(spec: &mut Value, it: &Value, preference: Option<&Value>) {
    let guests = it.int("/cpu/guest").unwrap_or(1).max(1);
    let topology = preference.and_then(|p| p.text("/spec/cpu/preferredCPUTopology")).unwrap_or("sockets");
    let (sockets, cores, threads) = match topology.trim_start_matches("preferred").to_ascii_lowercase().as_str() {
        "cores" => (1, guests, 1),
        "threads" => (1, 1, guests),
        // two cores a socket where that comes out even
        "spread" if guests % 2 == 0 => (guests / 2, 2, 1),
        _ => (guests, 1, 1),
    };
    put(spec, "/domain/cpu/sockets", json!(sockets));
    put(spec, "/domain/cpu/cores", json!(cores));
    put(spec, "/domain/cpu/threads", json!(threads));
    for (from, to) in [
        ("/cpu/model", "/domain/cpu/model"),
        ("/cpu/dedicatedCPUPlacement", "/domain/cpu/dedicatedCpuPlacement"),
        ("/cpu/isolateEmulatorThread", "/domain/cpu/isolateEmulatorThread"),
        ("/cpu/numa", "/domain/cpu/numa"),
        ("/cpu/realtime", "/domain/cpu/realtime"),
        ("/cpu/maxSockets", "/domain/cpu/maxSockets"),
        ("/memory/guest", "/domain/memory/guest"),
        ("/memory/hugepages", "/domain/memory/hugepages"),
        ("/memory/maxGuest", "/domain/memory/maxGuest"),
        ("/gpus", "/domain/devices/gpus"),
        ("/hostDevices", "/domain/devices/hostDevices"),
        ("/ioThreadsPolicy", "/domain/ioThreadsPolicy"),
        ("/launchSecurity", "/domain/launchSecurity"),
        ("/nodeSelector", "/nodeSelector"),
        ("/schedulerName", "/schedulerName"),
    ] {
        if let Some(value) = it.pointer(from) {
            put(spec, to, value.clone());
        }
    }
    if let (Some(percent), Some(guest)) =
        (it.int("/memory/overcommitPercent"), it.pointer("/memory/guest").and_then(quantity::whole))
    {
        let requested = guest * i128::from(100 - percent.clamp(0, 99)) / 100;
        put(spec, "/domain/resources/requests/memory", json!(quantity::bytes(requested)));
    }
}

fn apply_preference(spec: &mut Value, p: &Value) {
    let wish = |pointer: &str| p.pointer(pointer).cloned();
    if let Some(machine) = wish("/machine/preferredMachineType") {
        put_missing(spec, "/domain/machine/type", || machine);
    }
    if let Some(seconds) = wish("/preferredTerminationGracePeriodSeconds") {
        put_missing(spec, "/terminationGracePeriodSeconds", || seconds);
    }
    if let Some(efi) = wish("/firmware/preferredEfi") {
        let bios = spec.has("/domain/firmware/bootloader/bios");
        if !bios {
            put_missing(spec, "/domain/firmware/bootloader/efi", || efi);
        }
    }
    for (from, to) in [
        ("/devices/preferredTPM", "/domain/devices/tpm"),
        ("/devices/preferredRng", "/domain/devices/rng"),
        ("/devices/preferredNetworkInterfaceMultiQueue", "/domain/devices/networkInterfaceMultiqueue"),
        ("/features/preferredSmm", "/domain/features/smm"),
        ("/features/preferredHyperv", "/domain/features/hyperv"),
        ("/clock/preferredTimer", "/domain/clock/timer"),
    ] {
        if let Some(value) = wish(from) {
            put_missing(spec, to, || value);
        }
    }
    let (disk, cdrom) = (wish("/devices/preferredDiskBus"), wish("/devices/preferredCdromBus"));
    let model = wish("/devices/preferredInterfaceModel");
    if let Some(disks) = spec.pointer_mut("/domain/devices/disks").and_then(Value::as_array_mut) {
        for d in disks {
            for (target, bus) in [("/disk", &disk), ("/cdrom", &cdrom)] {
                if let (Some(bus), true) = (bus, d.pointer(target).is_some()) {
                    put_missing(d, &format!("{target}/bus"), || bus.clone());
                }
            }
        }
    }
    if let (Some(model), Some(list)) =
        (model, spec.pointer_mut("/domain/devices/interfaces").and_then(Value::as_array_mut))
    {
        for i in list {
            put_missing(i, "/model", || model.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::json::remove;

    fn vm() -> Value {
        json!({"spec": {
            "instancetype": {"name": "u1.large"},
            "template": {"spec": {"domain": {"devices": {
                "disks": [{"name": "a", "disk": {}}, {"name": "b", "disk": {"bus": "sata"}}],
                "interfaces": [{"name": "default"}],
            }}}},
        }})
    }

    #[test]
    fn guest_cpus_become_sockets_unless_the_preference_says_otherwise() {
        let it = json!({"spec": {"cpu": {"guest": 4}, "memory": {"guest": "8Gi"}}});
        let spec = expand(&vm(), Some(&it), None);
        assert_eq!(spec["domain"]["cpu"], json!({"sockets": 4, "cores": 1, "threads": 1}));
        assert_eq!(spec["domain"]["memory"]["guest"], "8Gi");
        let cores = json!({"spec": {"cpu": {"preferredCPUTopology": "cores"}}});
        assert_eq!(expand(&vm(), Some(&it), Some(&cores))["domain"]["cpu"]["cores"], 4);
    }

    #[test]
    fn overcommitted_memory_asks_for_less_than_the_guest_sees() {
        let it = json!({"spec": {"cpu": {"guest": 1}, "memory": {"guest": "4Gi", "overcommitPercent": 50}}});
        assert_eq!(expand(&vm(), Some(&it), None)["domain"]["resources"]["requests"]["memory"], "2Gi");
    }

    #[test]
    fn preferences_fill_gaps_and_never_overwrite() {
        let p = json!({"spec": {
            "devices": {"preferredDiskBus": "virtio", "preferredInterfaceModel": "e1000e"},
            "firmware": {"preferredEfi": {"secureBoot": true}},
        }});
        let spec = expand(&vm(), None, Some(&p));
        assert_eq!(spec["domain"]["devices"]["disks"][0]["disk"]["bus"], "virtio");
        assert_eq!(spec["domain"]["devices"]["disks"][1]["disk"]["bus"], "sata");
        assert_eq!(spec["domain"]["devices"]["interfaces"][0]["model"], "e1000e");
        assert_eq!(spec["domain"]["firmware"]["bootloader"]["efi"]["secureBoot"], true);
    }

    #[test]
    fn what_the_type_decides_conflicts_when_it_is_set() {
        let mut machine = vm();
        assert!(conflicts(&machine).is_empty());
        put(&mut machine, "/spec/template/spec/domain/cpu/sockets", json!(2));
        put(&mut machine, "/spec/template/spec/domain/memory/guest", json!("1Gi"));
        assert_eq!(
            conflicts(&machine),
            ["spec.template.spec.domain.cpu.sockets", "spec.template.spec.domain.memory.guest"]
        );
        remove(&mut machine, "/spec/instancetype");
        assert!(conflicts(&machine).is_empty());
    }

    #[test]
    fn kinds_are_matched_in_any_case_and_number() {
        for (kind, want) in [
            (json!({}), Some(CLUSTER_INSTANCETYPE)),
            (json!({"kind": "virtualmachineclusterinstancetypes"}), Some(CLUSTER_INSTANCETYPE)),
            (json!({"kind": "VirtualMachineInstancetype"}), Some(INSTANCETYPE)),
            (json!({"kind": "Flavor"}), None),
        ] {
            assert_eq!(instancetype_kind(&kind), want);
        }
    }
}
