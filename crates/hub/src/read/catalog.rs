//! What VMs can be made from: OpenShift templates, DataSources and instance types.
use super::{
    hardware::hardware,
    json::{condition, holds, keyed, list, map, some, text},
    meta::{Meta, meta},
    quantity,
    template_disk::{Reading, TemplateDisk},
    vm::{AskedNic, VmPart, vm},
};
use crate::Key;
use model::hardware::Hardware;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedTemplate {
    pub meta: Meta,
    pub display_name: String,
    pub description: String,
    pub provider: String,
    /// Short ids of the systems it is for: `fedora40`, `rhel9.4`.
    pub os: Vec<String>,
    /// The newest of them in words, where it says so.
    pub os_name: Option<String>,
    pub icon: Option<String>,
    pub tags: Vec<String>,
    pub workload: Option<String>,
    pub architecture: Option<String>,
    pub documentation: Option<String>,
    pub version: Option<String>,
    pub deprecated: bool,
    pub hidden: bool,
    pub parameters: Vec<Parameter>,
    pub vms: Vec<TemplateVm>,
    /// Kinds it would make that we don't make for tenants; such a template can't be instantiated.
    pub other_kinds: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    pub name: String,
    pub display_name: String,
    pub description: String,
    pub value: Option<String>,
    /// The hub makes a value if none is given.
    pub generated: bool,
    pub required: bool,
    /// To be typed unseen.
    pub secret: bool,
}

/// A VM of a template. What is left to a parameter is unknown until it is instantiated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateVm {
    pub name: String,
    pub cpus: Option<i64>,
    pub cores_per_socket: Option<i64>,
    pub memory_mb: Option<i64>,
    pub instance_type: Option<String>,
    pub preference: Option<String>,
    pub disks: Vec<TemplateDisk>,
    pub nics: Vec<AskedNic>,
    pub cloud_init: bool,
    /// What it says with the parameters still in it.
    pub says: Says,
    pub hardware: Hardware,
    /// Among the others of its template, where it says so.
    pub start_order: Option<i64>,
    pub start_delay_s: Option<i64>,
    /// The system it is for, in words: the template's own where it does not say.
    pub os_name: Option<String>,
}

/// Texts of a machine before anything is put in. Empty: it does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Says {
    pub name: String,
    /// What is multiplied: sockets, cores and threads, or what is requested.
    pub cpus: Vec<String>,
    pub memory: String,
    pub preference: String,
}

impl ObservedTemplate {
    pub fn storage_mb(&self) -> i64 {
        self.vms.iter().flat_map(|v| &v.disks).filter_map(|d| d.size_mb).fold(0, i64::saturating_add)
    }
}

pub fn template(object: &Value) -> Option<ObservedTemplate> {
    let meta = meta(object)?;
    let note = |key| keyed(object, "/metadata/annotations", key);
    let filled = |t: &str| Some(t.to_owned()).filter(|t| !t.is_empty());
    let labels = map(object, "/metadata/labels");
    let flagged = |prefix: &str| {
        let all = labels.iter().filter(|(_, v)| *v == "true").filter_map(|(k, _)| k.strip_prefix(prefix));
        all.map(str::to_owned).collect::<Vec<_>>()
    };
    let os = flagged("os.template.kubevirt.io/");
    let os_words =
        |os: &String| filled(keyed(object, "/metadata/annotations", &format!("name.os.template.kubevirt.io/{os}")));
    // a machine says `rhel9`, its template which of these it is for: `rhel9.4`
    let os_of = |machine: &Value| {
        let says = keyed(machine, "/spec/template/metadata/annotations", "vm.kubevirt.io/os");
        let fits = |known: &&String| !says.is_empty() && known.starts_with(says);
        os.iter().rev().find(fits).and_then(os_words)
    };
    let defaults = defaults(object);
    let objects = || list(object, "/objects");
    let tags: Vec<String> =
        note("tags").split(',').map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned).collect();
    Some(ObservedTemplate {
        display_name: filled(note("openshift.io/display-name")).unwrap_or_else(|| meta.key.name.to_string()),
        description: note("description").to_owned(),
        provider: note("openshift.io/provider-display-name").to_owned(),
        vms: objects()
            .filter(|o| o["kind"] == "VirtualMachine")
            .map(|o| TemplateVm { os_name: os_of(o), ..template_vm(object, o, &defaults) })
            .collect(),
        os_name: os.iter().rev().find_map(os_words),
        os,
        icon: filled(note("iconClass")),
        hidden: tags.iter().any(|t| t == "hidden"),
        tags,
        workload: flagged("workload.template.kubevirt.io/").into_iter().next(),
        architecture: labels.get("template.kubevirt.io/architecture").cloned(),
        documentation: filled(note("openshift.io/documentation-url")),
        version: labels.get("template.kubevirt.io/version").cloned(),
        deprecated: note("template.kubevirt.io/deprecated") == "true",
        parameters: list(object, "/parameters").filter_map(parameter).collect(),
        other_kinds: objects()
            .map(|o| text(o, "/kind"))
            .filter(|k| !matches!(*k, "VirtualMachine" | "DataVolume" | "Secret" | "Service"))
            .map(str::to_owned)
            .collect(),
        meta,
    })
}

/// Is it a template of VMs at all?
pub fn is_vm_template(object: &Value) -> bool {
    list(object, "/objects").any(|o| o["kind"] == "VirtualMachine")
}

fn parameter(p: &Value) -> Option<Parameter> {
    let name = some(p, "/name")?;
    let upper = name.to_ascii_uppercase();
    Some(Parameter {
        display_name: some(p, "/displayName").unwrap_or_else(|| name.clone()),
        description: text(p, "/description").to_owned(),
        value: some(p, "/value"),
        generated: some(p, "/generate").is_some(),
        required: p["required"] == true,
        secret: upper.contains("PASSWORD") || upper.contains("SECRET") || upper.contains("TOKEN"),
        name,
    })
}

/// Beside a machine of a template: when it starts among the others, and how long those after it wait then.
const START_ORDER: &str = "ssvirt.io/start-order";
const START_DELAY: &str = "ssvirt.io/start-delay";

type Defaults = Vec<(String, String)>;

fn defaults(template: &Value) -> Defaults {
    list(template, "/parameters").filter_map(|p| Some((some(p, "/name")?, some(p, "/value")?))).collect()
}

/// Puts the defaults in where a whole value is a parameter, so that sizes can be read.
fn with_defaults(value: &mut Value, defaults: &Defaults, depth: usize) {
    match value {
        Value::String(s) if s.contains("${") => {
            for (name, default) in defaults {
                if *s == format!("${{{{{name}}}}}") {
                    *value = serde_json::from_str(default).unwrap_or_else(|_| Value::String(default.clone()));
                    return;
                }
                if s.len() < 10_000 {
                    *s = s.replace(&format!("${{{name}}}"), default);
                }
            }
        }
        Value::Array(all) if depth < 64 => all.iter_mut().for_each(|v| with_defaults(v, defaults, depth + 1)),
        Value::Object(all) if depth < 64 => all.values_mut().for_each(|v| with_defaults(v, defaults, depth + 1)),
        _ => {}
    }
}

fn says(vm: &Value) -> Says {
    let domain = "/spec/template/spec/domain";
    let at = |tail: &str| vm.pointer(&format!("{domain}{tail}")).and_then(quantity::of);
    let cores: Vec<String> = ["/cpu/sockets", "/cpu/cores", "/cpu/threads"].into_iter().filter_map(at).collect();
    let requested = || at("/resources/requests/cpu").or_else(|| at("/resources/limits/cpu"));
    let memory =
        at("/memory/guest").or_else(|| at("/resources/requests/memory")).or_else(|| at("/resources/limits/memory"));
    Says {
        name: text(vm, "/metadata/name").to_owned(),
        cpus: if cores.is_empty() { requested().into_iter().collect() } else { cores },
        memory: memory.unwrap_or_default(),
        preference: text(vm, "/spec/preference/name").to_owned(),
    }
}

fn template_vm(template: &Value, raw: &Value, defaults: &Defaults) -> TemplateVm {
    let mut object = raw.clone();
    with_defaults(&mut object, defaults, 0);
    let name = text(&object, "/metadata/name").to_owned();
    let whole = |key| keyed(&object, "/metadata/annotations", key).trim().parse().ok();
    let VmPart { size, preference, nics, .. } = vm(&object).unwrap_or_default();
    let cloud_init = list(&object, "/spec/template/spec/volumes")
        .any(|v| v.get("cloudInitNoCloud").is_some() || v.get("cloudInitConfigDrive").is_some());
    TemplateVm {
        name,
        cpus: size.cpus,
        cores_per_socket: size.cores_per_socket,
        memory_mb: size.memory_mb,
        instance_type: size.instance_type,
        preference,
        disks: Reading { template, vm: raw, defaults }.disks(),
        nics,
        cloud_init,
        says: says(raw),
        hardware: hardware(&object),
        start_order: whole(START_ORDER),
        start_delay_s: whole(START_DELAY),
        os_name: None,
    }
}

/// A DataSource: an image a hub keeps ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedImage {
    pub meta: Meta,
    pub ready: bool,
    /// Why it is not.
    pub problem: Option<String>,
    pub default_instance_type: Option<String>,
    pub default_preference: Option<String>,
    pub architecture: Option<String>,
    /// The claim or snapshot behind it.
    pub source: Option<String>,
    /// The claim, where it is one.
    pub claim: Option<Key>,
}

pub fn image(object: &Value) -> Option<ObservedImage> {
    let meta = meta(object)?;
    let label = |key| Some(keyed(object, "/metadata/labels", key).to_owned()).filter(|v| !v.is_empty());
    let ready = holds(object, "Ready");
    let source = ["/spec/source/pvc", "/spec/source/snapshot", "/spec/source/dataSource"]
        .iter()
        .find_map(|p| some(object.pointer(p)?, "/name"));
    let pvc = object.pointer("/spec/source/pvc").filter(|p| p.is_object());
    let claim = pvc.map(|p| {
        let namespace = some(p, "/namespace").unwrap_or_else(|| meta.key.namespace.to_string());
        Key::new(namespace, text(p, "/name"))
    });
    Some(ObservedImage {
        problem: match (ready, condition(object, "Ready")) {
            (true, _) => None,
            (false, Some(c)) => Some(super::json::because(c)),
            (false, None) => Some("the hub has not looked at it yet".into()),
        },
        ready,
        default_instance_type: label("instancetype.kubevirt.io/default-instancetype"),
        default_preference: label("instancetype.kubevirt.io/default-preference"),
        architecture: label("template.kubevirt.io/architecture"),
        source,
        claim,
        meta,
    })
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceType {
    pub meta: Meta,
    pub display_name: String,
    pub description: String,
    pub cpus: i64,
    pub memory_mb: i64,
    /// `general.purpose`, `compute.exclusive`…
    pub class: Option<String>,
    pub dedicated_cpus: bool,
}

/// None also where it says nothing about CPU or memory: it could not be counted against a quota.
pub fn instance_type(object: &Value) -> Option<InstanceType> {
    let meta = meta(object)?;
    let note = |key| keyed(object, "/metadata/annotations", key);
    let label = |key| Some(keyed(object, "/metadata/labels", key).to_owned()).filter(|v| !v.is_empty());
    Some(InstanceType {
        cpus: super::json::number(object, "/spec/cpu/guest").filter(|n| (1..=100_000).contains(n))?,
        memory_mb: quantity::mib(&quantity::of(object.pointer("/spec/memory/guest")?)?).filter(|n| *n > 0)?,
        display_name: match note("instancetype.kubevirt.io/displayName") {
            "" => meta.key.name.to_string(),
            name => name.to_owned(),
        },
        description: note("instancetype.kubevirt.io/description").to_owned(),
        class: label("instancetype.kubevirt.io/class"),
        dedicated_cpus: object.pointer("/spec/cpu/dedicatedCPUPlacement") == Some(&Value::Bool(true)),
        meta,
    })
}

/// A storage class a VDC can offer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageClass {
    pub name: String,
    pub default: bool,
    pub provisioner: String,
    /// Disks are made where the first VM starts.
    pub waits_for_consumer: bool,
    pub can_grow: bool,
}

pub fn storage_class(object: &Value) -> Option<StorageClass> {
    let note = |key| keyed(object, "/metadata/annotations", key) == "true";
    Some(StorageClass {
        name: some(object, "/metadata/name")?,
        default: note("storageclass.kubevirt.io/is-default-virt-class")
            || note("storageclass.kubernetes.io/is-default-class"),
        provisioner: text(object, "/provisioner").to_owned(),
        waits_for_consumer: text(object, "/volumeBindingMode") == "WaitForFirstConsumer",
        can_grow: object["allowVolumeExpansion"] == true,
    })
}

/// How far a TemplateInstance is. Ready means that its objects were made, not that they run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedTemplateInstance {
    pub meta: Meta,
    pub ready: bool,
    pub failed: Option<String>,
    /// Kind, key and uid of what it made.
    pub objects: Vec<(String, crate::Key, String)>,
}

pub fn template_instance(object: &Value) -> Option<ObservedTemplateInstance> {
    let failure = condition(object, "InstantiateFailure").filter(|c| c["status"] == "True");
    Some(ObservedTemplateInstance {
        meta: meta(object)?,
        ready: holds(object, "Ready"),
        failed: failure.map(|c| some(c, "/message").unwrap_or_else(|| "the template could not be instantiated".into())),
        objects: list(object, "/status/objects")
            .map(|o| {
                let key = crate::Key::new(text(o, "/ref/namespace"), text(o, "/ref/name"));
                (text(o, "/ref/kind").to_owned(), key, text(o, "/ref/uid").to_owned())
            })
            .collect(),
    })
}
