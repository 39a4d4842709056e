//! What KubeVirt refuses about a VirtualMachine.
use super::{Cause, Objects, cause::Causes, config, data_volume, devices, networks, volumes};
use crate::actors::{json::Look, kind::Kind, machine::instancetype, quantity};
use serde_json::Value;
use std::sync::Arc;

const STRATEGIES: [&str; 5] = ["Halted", "Manual", "Always", "RerunOnFailure", "Once"];
const SPEC: &str = "spec.template.spec";

/// All causes against a machine, in the order KubeVirt gives them; none means it is good.
pub fn check_machine(vm: &Value, namespace: &str, objects: &dyn Objects) -> Vec<Cause> {
    let mut causes = Causes::default();
    if !vm.pointer("/spec/template").is_some_and(Value::is_object) {
        causes.required("spec.template", "missing virtual machine template.");
        return causes.0;
    }
    let expanded = types(vm, namespace, objects, &mut causes);
    if !causes.is_empty() {
        return causes.0;
    }
    let spec = expanded.as_ref().or_else(|| vm.pointer("/spec/template/spec")).unwrap_or(&Value::Null);
    resources(spec, &mut causes);
    hostname(spec, &mut causes);
    firmware(spec, &mut causes);
    devices::check(spec, &mut causes);
    volumes::check(spec, &mut causes);
    networks::check(spec, &config(objects), &mut causes);
    data_volume_templates(vm, &mut causes);
    run_strategy(vm, &mut causes);
    sockets(spec, &mut causes);
    causes.0
}

/// Causes against a change.
pub fn check_machine_update(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Causes::default();
    let changed = |pointer: &str| old.pointer(pointer) != new.pointer(pointer);
    let running = ["/spec/runStrategy", "/spec/running"].iter().any(|p| changed(p));
    if let Some(name) = new.text("/status/snapshotInProgress") {
        let parts = ["/spec/template/spec/volumes", "/spec/template/spec/domain/devices/disks"];
        if parts.iter().any(|p| changed(p)) {
            let words = format!("Cannot update vm disks or volumes until snapshot {name:?} completes");
            causes.add("FieldValueNotSupported", "spec", words);
        }
        if running {
            let words = format!("Cannot update vm running state until snapshot {name:?} completes");
            causes.add("FieldValueNotSupported", "spec", words);
        }
    }
    if let Some(name) = new.text("/status/restoreInProgress")
        && running
    {
        let words = format!("Cannot update VM runStrategy until restore {name:?} completes");
        causes.add("FieldValueNotSupported", "spec", words);
    }
    for field in ["instancetype", "preference"] {
        let at = |part: &str| format!("/spec/{field}/{part}");
        if old.has(&at("name")) && changed(&at("name")) && new.has(&at("revisionName")) && !changed(&at("revisionName"))
        {
            let words = "the Matcher Name has been updated without updating the RevisionName";
            causes.invalid(format!("spec.{field}.revisionName"), words);
        }
    }
    causes.0
}

/// Causes against volumes that are to be plugged in.
pub(crate) fn check_volume_requests(vm: &Value) -> Vec<Cause> {
    let mut causes = Causes::default();
    for options in vm.list("/status/volumeRequests").iter().filter_map(|r| r.get("addVolumeOptions")) {
        let name = options.text("/name").unwrap_or_default();
        let bus = options.text("/disk/disk/bus").or_else(|| options.text("/disk/lun/bus")).unwrap_or_default();
        if !matches!(bus, "scsi" | "virtio") {
            let words = format!(
                "AddVolume request for disk [{name}] requires bus to be 'scsi' or 'virtio'. [{bus}] is not permitted."
            );
            causes.invalid("Status.volumeRequests", words);
        }
    }
    causes.0
}

/// What is accepted with a word of warning.
pub(crate) fn warnings(vm: &Value) -> Vec<String> {
    let deprecated = "spec.running is deprecated, please use spec.runStrategy instead.";
    if vm.has("/spec/running") { vec![deprecated.to_owned()] } else { Vec::new() }
}

/// Looks instance type and preference up; the template's spec with both worked in.
fn types(vm: &Value, namespace: &str, objects: &dyn Objects, causes: &mut Causes) -> Option<Value> {
    let mut find = |field: &str, kind: fn(&Value) -> Option<Kind>| -> Option<Arc<Value>> {
        let matcher = vm.pointer(&format!("/spec/{field}")).filter(|m| m.is_object())?;
        let name = matcher.text("/name").unwrap_or_default();
        let missing = match kind(matcher) {
            None => format!(
                "got unexpected kind in {}Matcher",
                if field == "preference" { "Preference" } else { "Instancetype" }
            ),
            Some(kind) => match objects.find(kind, namespace, name) {
                Some(found) => return Some(found),
                None => format!("{}.{} {name:?} not found", kind.plural, kind.group),
            },
        };
        causes.add("FieldValueNotFound", format!("spec.{field}"), format!("Failure to find {field}: {missing}"));
        None
    };
    let instancetype = find("instancetype", instancetype::instancetype_kind);
    let preference = find("preference", instancetype::preference_kind);
    if !causes.is_empty() {
        return None;
    }
    for field in instancetype::conflicts(vm) {
        let words = format!("VM field(s) {field} conflicts with selected instance type");
        causes.invalid(field, words);
    }
    let expanded = instancetype::expand(vm, instancetype.as_deref(), preference.as_deref());
    if let Some(preference) = &preference {
        requirements(preference, &expanded, causes);
    }
    (instancetype.is_some() || preference.is_some()).then_some(expanded)
}

fn requirements(preference: &Value, spec: &Value, causes: &mut Causes) {
    let cpus: i64 = ["sockets", "cores", "threads"]
        .iter()
        .map(|f| spec.int(&format!("/domain/cpu/{f}")).unwrap_or(1).max(1))
        .product();
    let refuse = |causes: &mut Causes, field: &str, words: String| {
        causes.add("FieldValueNotFound", field, format!("failure checking preference requirements: {words}"));
    };
    if let Some(least) = preference.int("/spec/requirements/cpu/guest").filter(|least| cpus < *least) {
        let words = format!(
            "insufficient CPU resources of {cpus} vCPU provided by instance type, preference requires {least} vCPU"
        );
        refuse(causes, "spec.instancetype", words);
    }
    let amount = |v: &Value, pointer: &str| v.pointer(pointer).and_then(quantity::whole);
    let has = amount(spec, "/domain/memory/guest");
    if let (Some(least), Some(has)) = (amount(preference, "/spec/requirements/memory/guest"), has)
        && has < least
    {
        let words = format!(
            "insufficient Memory resources of {} provided by instance type, preference requires {}",
            quantity::bytes(has),
            quantity::bytes(least)
        );
        refuse(causes, "spec.instancetype", words);
    }
}

fn resources(spec: &Value, causes: &mut Causes) {
    let amount = |pointer: &str| spec.pointer(pointer).and_then(quantity::whole);
    let asked = amount("/domain/resources/requests/memory").unwrap_or(0);
    if asked == 0 && !spec.has("/domain/memory/guest") && !spec.has("/domain/memory/hugepages") {
        causes.required(
            "",
            format!("no memory requested, at least one of '{SPEC}.domain.memory.guest', '{SPEC}.domain.memory.hugepages.size' or '{SPEC}.domain.resources.requests.memory' must be set"),
        );
    }
    let shown = |pointer: &str| match spec.pointer(pointer) {
        Some(Value::String(s)) => s.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    if asked < 0 {
        let field = format!("{SPEC}.domain.resources.requests.memory");
        let words =
            format!("{field} '{}': must be greater than or equal to 0.", shown("/domain/resources/requests/memory"));
        causes.invalid(field, words);
    } else if asked > 0 && asked < 1_000_000 {
        let field = format!("{SPEC}.domain.resources.requests.memory");
        let words =
            format!("{field} '{}': must be greater than or equal to 1M.", shown("/domain/resources/requests/memory"));
        causes.invalid(field, words);
    }
    for resource in ["memory", "cpu"] {
        let (request, limit) =
            (format!("/domain/resources/requests/{resource}"), format!("/domain/resources/limits/{resource}"));
        let milli = |pointer: &str| quantity::millis(&shown(pointer));
        if let (Some(r), Some(l)) = (milli(&request), milli(&limit))
            && l > 0
            && r > l
        {
            let path = |pointer: &str| format!("{SPEC}{}", pointer.replace('/', "."));
            let words = format!(
                "{} '{}' is greater than {} '{}'",
                path(&request),
                shown(&request),
                path(&limit),
                shown(&limit)
            );
            causes.invalid(path(&request), words);
        }
    }
}

fn hostname(spec: &Value, causes: &mut Causes) {
    let Some(name) = spec.text("/hostname") else { return };
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let good = name.len() <= 63 && name.chars().all(inner) && !name.starts_with('-') && !name.ends_with('-');
    if !good {
        let rules = if name.len() > 63 {
            "must be no more than 63 bytes"
        } else {
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
        };
        let field = format!("{SPEC}.hostname");
        let words = format!("{field} does not conform to the kubernetes DNS_LABEL rules : {rules}");
        causes.invalid(field, words);
    }
}

fn firmware(spec: &Value, causes: &mut Causes) {
    let efi = spec.pointer("/domain/firmware/bootloader/efi").filter(|e| e.is_object());
    let secure = efi.is_some_and(|e| e.pointer("/secureBoot") != Some(&Value::Bool(false)));
    let smm = spec.pointer("/domain/features/smm").is_some_and(|s| s.pointer("/enabled") != Some(&Value::Bool(false)));
    if secure && !smm {
        let field = format!("{SPEC}.domain.firmware.bootloader.efi");
        let words =
            format!("{field} has EFI SecureBoot enabled. SecureBoot requires SMM, which is currently disabled.");
        causes.invalid(field, words);
    }
}

fn data_volume_templates(vm: &Value, causes: &mut Causes) {
    for (i, template) in vm.list("/spec/dataVolumeTemplates").iter().enumerate() {
        let field = format!("spec.dataVolumeTemplate[{i}]");
        let name = template.text("/metadata/name");
        if name.is_none() {
            causes.required(
                format!("{field}.name"),
                format!("'name' field must not be empty for DataVolumeTemplate entry {field}."),
            );
        }
        data_volume::check_spec(&template["spec"], &field, causes);
        let named =
            |v: &Value| v.text("/dataVolume/name").or_else(|| v.text("/persistentVolumeClaim/claimName")) == name;
        let used = name.is_some() && vm.list("/spec/template/spec/volumes").iter().any(named);
        if !used {
            let words =
                format!("DataVolumeTemplate entry {field} must be referenced in the VMI template's 'volumes' list");
            causes.required(field, words);
        }
    }
}

fn run_strategy(vm: &Value, causes: &mut Causes) {
    let strategy = vm.pointer("/spec/runStrategy").and_then(Value::as_str);
    match (vm.has("/spec/running"), strategy) {
        (true, Some(_)) => causes.invalid(
            "spec.running",
            "Running and RunStrategy are mutually exclusive. Note that Running is deprecated, please use RunStrategy instead",
        ),
        (false, None) => causes.invalid("spec.running", "RunStrategy must be specified"),
        _ => {}
    }
    if let Some(strategy) = strategy.filter(|s| !STRATEGIES.contains(s)) {
        causes.invalid("spec.runStrategy", format!("Invalid RunStrategy ({strategy})"));
    }
}

fn sockets(spec: &Value, causes: &mut Causes) {
    let of = |field: &str| spec.int(&format!("/domain/cpu/{field}")).unwrap_or(0);
    if of("maxSockets") > 0 && of("sockets") > of("maxSockets") {
        causes.invalid(
            format!("{SPEC}.domain.cpu.sockets"),
            "Number of sockets in CPU topology is greater than the maximum sockets allowed",
        );
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
