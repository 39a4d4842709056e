//! What the hub knows of the fields of its kinds, one field a line: enough to refuse what a real hub refuses and to
//! drop what it drops, without carrying the whole of every schema.
//!
//! A line is a path, `!` when the field is required, and a type. `any` takes everything below it; an object takes
//! only the fields listed. `[]` stands for the entries of a list, `{}` for the values of a map. What follows the type
//! are the values a string may have, or with `=` its default. `rules` says that the real schema has rules in CEL.

use serde_json::{Value, json};

const VIRTUAL_MACHINE: &str = "
rules
spec! object
spec.running boolean
spec.runStrategy string
spec.instancetype object
spec.instancetype.name string
spec.instancetype.kind string
spec.instancetype.revisionName string
spec.instancetype.inferFromVolume string
spec.instancetype.inferFromVolumeFailurePolicy string
spec.preference object
spec.preference.name string
spec.preference.kind string
spec.preference.revisionName string
spec.preference.inferFromVolume string
spec.preference.inferFromVolumeFailurePolicy string
spec.updateVolumesStrategy string
spec.dataVolumeTemplates array
spec.dataVolumeTemplates[] any
spec.template! object
spec.template.metadata any
spec.template.spec object
@ spec.template.spec
status object
status.created boolean
status.ready boolean
status.printableStatus string =Stopped
status.runStrategy string
status.observedGeneration integer
status.desiredGeneration integer
status.snapshotInProgress string
status.restoreInProgress string
status.conditions array
status.conditions[] any
status.stateChangeRequests array
status.stateChangeRequests[] any
status.volumeRequests array
status.volumeRequests[] any
status.volumeSnapshotStatuses array
status.volumeSnapshotStatuses[] any
status.interfaceRequests any
status.startFailure any
status.memoryDumpRequest any
status.volumeUpdateState any
status.instancetypeRef any
status.preferenceRef any
status.changedBlockTracking any
";

const INSTANCE: &str = "
rules
spec! object
@ spec
status any
";

/// The fields of a VirtualMachineInstanceSpec, below the path that `@` names.
const INSTANCE_SPEC: &str = "
domain! object
domain.devices! object
domain.devices.disks array
domain.devices.disks[] any
domain.devices.interfaces array
domain.devices.interfaces[] any
domain.devices.inputs array
domain.devices.inputs[] any
domain.devices.rng any
domain.devices.tpm any
domain.devices.gpus array
domain.devices.gpus[] any
domain.devices.hostDevices array
domain.devices.hostDevices[] any
domain.devices.filesystems array
domain.devices.filesystems[] any
domain.devices.watchdog any
domain.devices.sound any
domain.devices.video any
domain.devices.downwardMetrics any
domain.devices.clientPassthrough any
domain.devices.panicDevices any
domain.devices.autoattachPodInterface boolean
domain.devices.autoattachGraphicsDevice boolean
domain.devices.autoattachSerialConsole boolean
domain.devices.autoattachMemBalloon boolean
domain.devices.autoattachInputDevice boolean
domain.devices.autoattachVSOCK boolean
domain.devices.logSerialConsole boolean
domain.devices.networkInterfaceMultiqueue boolean
domain.devices.blockMultiQueue boolean
domain.devices.disableHotplug boolean
domain.devices.useVirtioTransitional boolean
domain.cpu object
domain.cpu.cores integer
domain.cpu.sockets integer
domain.cpu.threads integer
domain.cpu.maxSockets integer
domain.cpu.model string
domain.cpu.features array
domain.cpu.features[] any
domain.cpu.dedicatedCpuPlacement boolean
domain.cpu.isolateEmulatorThread boolean
domain.cpu.numa any
domain.cpu.realtime any
domain.memory object
domain.memory.guest quantity
domain.memory.maxGuest quantity
domain.memory.hugepages any
domain.memory.reservedOverhead any
domain.resources object
domain.resources.requests map
domain.resources.requests{} quantity
domain.resources.limits map
domain.resources.limits{} quantity
domain.resources.overcommitGuestOverhead boolean
domain.machine any
domain.firmware any
domain.clock any
domain.features any
domain.ioThreadsPolicy string
domain.ioThreads any
domain.launchSecurity any
domain.chassis any
domain.rebootPolicy string
nodeSelector map
nodeSelector{} string
affinity any
tolerations array
tolerations[] any
topologySpreadConstraints array
topologySpreadConstraints[] any
schedulerName string
priorityClassName string
serviceAccountName string
evictionStrategy string
startStrategy string
terminationGracePeriodSeconds integer
volumes array
volumes[] any
networks array
networks[] any
accessCredentials array
accessCredentials[] any
livenessProbe any
readinessProbe any
hostname string
subdomain string
dnsPolicy string
dnsConfig any
architecture string
resourceClaims array
resourceClaims[] any
utilityVolumes array
utilityVolumes[] any
";

const MIGRATION: &str = "
spec! object
spec.vmiName string
spec.addedNodeSelector map
spec.addedNodeSelector{} string
spec.priority string
spec.sendTo any
spec.receive any
status any
";

const SNAPSHOT: &str = "
spec! object
spec.source! object
spec.source.apiGroup! string
spec.source.kind! string
spec.source.name! string
spec.deletionPolicy string
spec.failureDeadline string
status any
";

const RESTORE: &str = "
spec! object
spec.target! object
spec.target.apiGroup! string
spec.target.kind! string
spec.target.name! string
spec.virtualMachineSnapshotName! string
spec.targetReadinessPolicy string
spec.patches array
spec.patches[] string
spec.volumeRestoreOverrides array
spec.volumeRestoreOverrides[] any
spec.volumeRestorePolicy string
spec.volumeOwnershipPolicy string
status any
";

const CLONE: &str = "
spec! object
spec.source! object
spec.source.apiGroup! string
spec.source.kind! string
spec.source.name! string
spec.target object
spec.target.apiGroup! string
spec.target.kind! string
spec.target.name! string
spec.annotationFilters array
spec.annotationFilters[] string
spec.labelFilters array
spec.labelFilters[] string
spec.newMacAddresses map
spec.newMacAddresses{} string
spec.newSMBiosSerial string
spec.patches array
spec.patches[] string
spec.template any
spec.volumeNamePolicy string
status any
";

const EXPORT: &str = "
spec! object
spec.source! object
spec.source.apiGroup! string
spec.source.kind! string
spec.source.name! string
spec.tokenSecretRef string
spec.ttlDuration string
status any
";

const DATA_VOLUME: &str = "
spec! object
spec.source object
spec.source.blank any
spec.source.gcs any
spec.source.http any
spec.source.imageio any
spec.source.pvc any
spec.source.registry any
spec.source.s3 any
spec.source.snapshot any
spec.source.upload any
spec.source.vddk any
spec.sourceRef object
spec.sourceRef.kind! string
spec.sourceRef.name! string
spec.sourceRef.namespace string
spec.storage any
spec.pvc any
spec.contentType string
spec.priorityClassName string
spec.preallocation boolean
spec.finalCheckpoint boolean
spec.checkpoints array
spec.checkpoints[] any
status any
";

const USER_DEFINED_NETWORK: &str = "
rules
spec! object
spec.topology! string Layer2 Layer3
spec.layer2 object
spec.layer2.role! string Primary Secondary
spec.layer2.mtu integer
spec.layer2.subnets array
spec.layer2.subnets[] string
spec.layer2.joinSubnets array
spec.layer2.joinSubnets[] string
spec.layer2.infrastructureSubnets array
spec.layer2.infrastructureSubnets[] string
spec.layer2.reservedSubnets array
spec.layer2.reservedSubnets[] string
spec.layer2.defaultGatewayIPs array
spec.layer2.defaultGatewayIPs[] string
spec.layer2.ipam object
spec.layer2.ipam.mode string Enabled Disabled
spec.layer2.ipam.lifecycle string Persistent
spec.layer3 object
spec.layer3.role! string Primary Secondary
spec.layer3.mtu integer
spec.layer3.subnets array
spec.layer3.subnets[] any
spec.layer3.joinSubnets array
spec.layer3.joinSubnets[] string
status any
";

const CONFIG_MAP: &str = "
data map
data{} string
binaryData map
binaryData{} string
immutable boolean
";

const SECRET: &str = "
data map
data{} string
stringData map
stringData{} string
type string
immutable boolean
";

const NAMESPACE: &str = "
spec object
spec.finalizers array
spec.finalizers[] string
status any
";

const RESOURCE_QUOTA: &str = "
spec object
spec.hard map
spec.hard{} any
spec.scopes array
spec.scopes[] string
spec.scopeSelector any
status object
status.hard map
status.hard{} any
status.used map
status.used{} any
";

const SERVICE_ACCOUNT: &str = "
secrets array
secrets[] any
imagePullSecrets array
imagePullSecrets[] any
automountServiceAccountToken boolean
";

pub(crate) fn of(group: &str, plural: &str) -> Option<Value> {
    let text = match (group, plural) {
        ("kubevirt.io", "virtualmachines") => VIRTUAL_MACHINE,
        ("kubevirt.io", "virtualmachineinstances") => INSTANCE,
        ("kubevirt.io", "virtualmachineinstancemigrations") => MIGRATION,
        ("snapshot.kubevirt.io", "virtualmachinesnapshots") => SNAPSHOT,
        ("snapshot.kubevirt.io", "virtualmachinerestores") => RESTORE,
        ("clone.kubevirt.io", "virtualmachineclones") => CLONE,
        ("export.kubevirt.io", "virtualmachineexports") => EXPORT,
        ("cdi.kubevirt.io", "datavolumes") => DATA_VOLUME,
        ("k8s.ovn.org", "userdefinednetworks") => USER_DEFINED_NETWORK,
        ("", "configmaps") => CONFIG_MAP,
        ("", "secrets") => SECRET,
        ("", "namespaces") => NAMESPACE,
        ("", "resourcequotas") => RESOURCE_QUOTA,
        ("", "serviceaccounts") => SERVICE_ACCOUNT,
        _ => "",
    };
    (!text.is_empty()).then(|| open_api(text))
}

/// The lines as an OpenAPI schema, the form in which CustomResourceDefinitions bring theirs.
fn open_api(text: &str) -> Value {
    let mut root = json!({"type": "object", "properties": {}});
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line == "rules" {
            root["x-kubernetes-validations"] = json!([]);
        } else if let Some(below) = line.strip_prefix("@ ") {
            for line in INSTANCE_SPEC.lines().filter(|line| !line.is_empty()) {
                add(&mut root, &format!("{below}.{line}"));
            }
        } else {
            add(&mut root, line);
        }
    }
    root
}

fn add(root: &mut Value, line: &str) {
    let mut words = line.split_whitespace();
    let (path, kind) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (defaults, choices): (Vec<&str>, Vec<&str>) = words.partition(|word| word.starts_with('='));
    let required = path.ends_with('!');
    let path = path.trim_end_matches('!').replace("[]", ".[]").replace("{}", ".{}");
    let steps: Vec<&str> = path.split('.').collect();
    let Some((last, above)) = steps.split_last() else { return };
    let mut at = root;
    for step in above {
        at = match *step {
            "[]" => &mut at["items"],
            "{}" => &mut at["additionalProperties"],
            name => &mut at["properties"][name],
        };
    }
    let mut schema = match kind {
        "any" => json!({"x-kubernetes-preserve-unknown-fields": true}),
        "quantity" => json!({"x-kubernetes-int-or-string": true, "pattern": QUANTITY}),
        "map" => json!({"type": "object"}),
        "object" => json!({"type": "object", "properties": {}}),
        "string" if !choices.is_empty() => json!({"type": "string", "enum": choices}),
        other => json!({"type": other}),
    };
    if let Some(default) = defaults.first() {
        schema["default"] = default.trim_start_matches('=').into();
    }
    match *last {
        "[]" => at["items"] = schema,
        "{}" => at["additionalProperties"] = schema,
        name => {
            at["properties"][name] = schema;
            if required {
                match at["required"].as_array_mut() {
                    Some(list) => list.push(name.into()),
                    None => at["required"] = json!([name]),
                }
            }
        }
    }
}

const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_a_schema_with_required_fields_and_entries() {
        let schema = of("kubevirt.io", "virtualmachines").unwrap();
        assert_eq!(schema["required"], json!(["spec"]));
        let spec = &schema["properties"]["spec"];
        assert_eq!(spec["required"], json!(["template"]));
        let instance = &spec["properties"]["template"]["properties"]["spec"]["properties"];
        assert_eq!(instance["domain"]["required"], json!(["devices"]));
        assert_eq!(instance["nodeSelector"]["additionalProperties"], json!({"type": "string"}));
        assert_eq!(instance["volumes"]["items"]["x-kubernetes-preserve-unknown-fields"], json!(true));
    }
}
