//! An OpenShift template as a TemplateInstance. The copy it carries is rewritten so that OpenShift makes what we would
//! have made: halted VMs with our names and labels, in the VDC's namespace, and no kinds but the few that belong to VMs.
use crate::shape::{
    names::{Place, VAPP, VAPP_ID, disk_name, slug, vapp_name},
    vm::{Attachment, Identity, Nic},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, fmt};
use uuid::Uuid;

const KINDS: [&str; 4] = ["VirtualMachine", "DataVolume", "Secret", "Service"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    pub place: Place,
    pub vapp: Uuid,
    pub vapp_name: String,
    /// One for each VirtualMachine of the template, in its order; none for one that is not wanted any more.
    pub vms: Vec<Option<Identity>>,
    /// The cards of each, by its id.
    pub nics: BTreeMap<Uuid, Vec<Nic>>,
    pub parameters: BTreeMap<String, String>,
}

/// Why a template can't be instantiated as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadTemplate(pub String);

impl fmt::Display for BadTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadTemplate {}

type Result<T> = std::result::Result<T, BadTemplate>;

fn bad<T>(message: impl Into<String>) -> Result<T> {
    Err(BadTemplate(message.into()))
}

impl Instance {
    /// The TemplateInstance's name on the hub, and its parameter Secret's.
    pub fn object(&self) -> String {
        vapp_name(self.vapp)
    }

    fn labels(&self) -> Map<String, Value> {
        let mut labels = self.place.labels();
        labels.insert(VAPP_ID.into(), json!(self.vapp));
        labels
    }

    fn metadata(&self) -> Value {
        let mut annotations = self.place.annotations();
        annotations.insert(VAPP.into(), json!(self.vapp_name));
        annotations.insert(VAPP_ID.into(), json!(format!("urn:vcloud:vapp:{}", self.vapp)));
        json!({"name": self.object(), "namespace": self.place.namespace, "labels": self.labels(), "annotations": annotations})
    }
}

/// The Secret with the parameters; made before the instance, removed with it.
pub fn parameter_secret(instance: &Instance) -> Value {
    let data: Map<String, Value> =
        instance.parameters.iter().map(|(k, v)| (k.clone(), json!(BASE64_STANDARD.encode(v)))).collect();
    json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": instance.metadata(), "data": data})
}

/// `template`: the Template object as the hub has it.
pub fn template_instance(instance: &Instance, template: &Value) -> Result<Value> {
    check_parameters(instance, template)?;
    if !template.is_object() {
        return bad("The hub's answer is no template.");
    }
    let mut copy = template.clone();
    let name = &template["metadata"]["name"];
    copy["metadata"] = json!({"name": name, "namespace": instance.place.namespace});
    // the template's labels would be laid over ours
    if let Some(Value::Object(labels)) = copy.get_mut("labels") {
        labels.retain(|key, _| !is_ours(key));
    }
    copy["objects"] = json!(objects(instance, template)?);
    Ok(json!({
        "apiVersion": "template.openshift.io/v1",
        "kind": "TemplateInstance",
        "metadata": instance.metadata(),
        "spec": {"template": copy, "secret": {"name": instance.object()}},
    }))
}

fn is_ours(key: &str) -> bool {
    key.starts_with("ssvirt.io/") || key.starts_with("app.kubernetes.io/managed-by") || key.contains("${")
}

fn check_parameters(instance: &Instance, template: &Value) -> Result<()> {
    let known: Vec<&str> = list(&template["parameters"]).filter_map(|p| p["name"].as_str()).collect();
    let text = template["objects"].to_string();
    for (name, value) in &instance.parameters {
        if !known.contains(&name.as_str()) {
            return bad(format!("The template has no parameter {name}. It has: {}.", known.join(", ")));
        }
        // ${{NAME}} puts the value in as JSON: an object there could be anything
        let structured = serde_json::from_str::<Value>(value).is_ok_and(|v| v.is_object() || v.is_array());
        if structured && text.contains(&format!("${{{{{name}}}}}")) {
            return bad(format!("The parameter {name} takes one value, not a structure. Give a text or a number."));
        }
        // OpenShift makes the objects with our account, which may read what other tenants have
        let own = list(&template["parameters"]).find(|p| p["name"] == name.as_str()).and_then(|p| p["value"].as_str());
        if own != Some(value) && list(&template["objects"]).any(|o| in_a_namespace(&o["spec"], name)) {
            return bad(format!(
                "The parameter {name} says in which namespace something is: that is the template's to say. Leave it as it is."
            ));
        }
    }
    for p in list(&template["parameters"]) {
        let name = p["name"].as_str().unwrap_or_default();
        let given = instance.parameters.get(name).is_some_and(|v| !v.is_empty());
        let has = |key: &str| p[key].as_str().is_some_and(|v| !v.is_empty());
        if p["required"] == true && !given && !has("value") && !has("generate") {
            return bad(format!("The template needs a value for its parameter {name}."));
        }
    }
    Ok(())
}

/// Is that parameter part of the name of a namespace, anywhere below?
fn in_a_namespace(value: &Value, parameter: &str) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(key, field)| match field.as_str() {
            Some(text) => key == "namespace" && text.contains(&format!("{{{parameter}}}")),
            None => in_a_namespace(field, parameter),
        }),
        Value::Array(all) => all.iter().any(|each| in_a_namespace(each, parameter)),
        _ => false,
    }
}

fn objects(instance: &Instance, template: &Value) -> Result<Vec<Value>> {
    let mut vms = instance.vms.iter();
    // first the new names of all, since one object speaks of another by its name
    let mut renamed: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut planned = Vec::new();
    for object in list(&template["objects"]) {
        let kind = object["kind"].as_str().unwrap_or_default();
        let old = object["metadata"]["name"].as_str().unwrap_or_default();
        if !KINDS.contains(&kind) {
            return bad(format!(
                "The template would make a {}. Only {} are made for tenants.",
                if kind.is_empty() { "thing without a kind" } else { kind },
                KINDS.join(", ")
            ));
        }
        let identity = match kind {
            "VirtualMachine" => match vms.next() {
                Some(Some(identity)) => Some(identity),
                Some(None) => continue,
                None => return bad("The template has more VMs than were planned for. Read it again."),
            },
            _ => None,
        };
        let new = match identity {
            Some(identity) => identity.object.clone(),
            None => format!("{}-{}", slug(&old.replace("${", "").replace('}', ""), 20), instance.object()),
        };
        if renamed.insert((kind.to_owned(), old.to_owned()), new.clone()).is_some() {
            return bad(format!("The template names two objects {kind} {old:?}."));
        }
        planned.push((object, identity, new));
    }
    if vms.next().is_some() {
        return bad("The template has fewer VMs than were planned for. Read it again.");
    }
    planned.into_iter().map(|(object, identity, new)| rewrite(instance, object, identity, &new, &renamed)).collect()
}

fn rewrite(
    instance: &Instance,
    object: &Value,
    identity: Option<&Identity>,
    name: &str,
    renamed: &BTreeMap<(String, String), String>,
) -> Result<Value> {
    let mut out = object.clone();
    let metadata = &object["metadata"];
    let (ours, notes) = match identity {
        Some(id) => (id.labels(), id.annotations()),
        None => (instance.labels(), Map::new()),
    };
    out["metadata"] = json!({
        "name": name,
        "namespace": instance.place.namespace,
        "labels": merged(&metadata["labels"], ours.clone()),
        "annotations": merged(&metadata["annotations"], notes),
    });
    let Some(id) = identity else { return Ok(out) };
    if out["metadata"]["annotations"].to_string().contains("hooks.kubevirt.io") {
        return bad("The template hooks programs into the VM's pod, which is not done for tenants.");
    }
    let spec = match out.get_mut("spec") {
        Some(Value::Object(spec)) => spec,
        _ => return bad(format!("The template's VM {:?} has no spec.", metadata["name"])),
    };
    spec.remove("running");
    spec.insert("runStrategy".into(), json!("Halted"));
    let disks = rename_disks(spec, id, &ours)?;
    let Some(template) = spec.get_mut("template").and_then(Value::as_object_mut) else {
        return bad(format!("The template's VM {:?} has no spec.template.", metadata["name"]));
    };
    let inner = template.get("metadata").cloned().unwrap_or_default();
    if inner["annotations"].to_string().contains("hooks.kubevirt.io") {
        return bad("The template hooks programs into the VM's pod, which is not done for tenants.");
    }
    template.insert(
        "metadata".into(),
        json!({"labels": merged(&inner["labels"], ours), "annotations": merged(&inner["annotations"], Map::new())}),
    );
    plug(template, instance.nics.get(&id.vm).map_or(&[], Vec::as_slice));
    for volume in
        template.get_mut("spec").and_then(|s| s.get_mut("volumes")).and_then(Value::as_array_mut).into_iter().flatten()
    {
        for kind in ["hostDisk", "containerPath", "serviceAccount"] {
            if volume.get(kind).is_some() {
                return bad(format!("The template uses a {kind} volume, which is not given to tenants."));
            }
        }
        for (pointer, kind) in [
            ("/dataVolume/name", "DataVolume"),
            ("/persistentVolumeClaim/claimName", "DataVolume"),
            ("/cloudInitNoCloud/secretRef/name", "Secret"),
            ("/cloudInitNoCloud/networkDataSecretRef/name", "Secret"),
            ("/cloudInitConfigDrive/secretRef/name", "Secret"),
            ("/cloudInitConfigDrive/networkDataSecretRef/name", "Secret"),
            ("/sysprep/secret/name", "Secret"),
            ("/secret/secretName", "Secret"),
        ] {
            if let Some(Value::String(old)) = volume.pointer_mut(pointer) {
                let other = renamed.get(&(kind.to_owned(), old.clone()));
                if let Some(new) = disks.get(old.as_str()).filter(|_| kind == "DataVolume").or(other) {
                    *old = new.clone();
                }
            }
        }
    }
    for credential in template
        .get_mut("spec")
        .and_then(|s| s.get_mut("accessCredentials"))
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        for pointer in ["/sshPublicKey/source/secret/secretName", "/userPassword/source/secret/secretName"] {
            if let Some(Value::String(old)) = credential.pointer_mut(pointer)
                && let Some(new) = renamed.get(&("Secret".to_owned(), old.clone()))
            {
                *old = new.clone();
            }
        }
    }
    Ok(out)
}

/// Our MACs, and the binding that the namespace's own network needs where it has one: the template knows of neither.
fn plug(template: &mut Map<String, Value>, nics: &[Nic]) {
    let Some(spec) = template.get_mut("spec") else { return };
    let on_pod: Vec<Value> =
        list(&spec["networks"]).filter(|n| n.get("pod").is_some()).map(|n| n["name"].clone()).collect();
    let cards = spec.pointer_mut("/domain/devices/interfaces").and_then(Value::as_array_mut);
    for card in cards.into_iter().flatten().filter_map(Value::as_object_mut) {
        let name = card.get("name").cloned().unwrap_or_default();
        let Some(nic) = nics.iter().find(|n| name == n.name.as_str()) else { continue };
        if let Some(mac) = &nic.mac {
            card.insert("macAddress".into(), json!(mac));
        }
        if nic.network == Attachment::Primary && on_pod.contains(&name) {
            for other in ["masquerade", "bridge", "passtBinding", "slirp"] {
                card.remove(other);
            }
            card.insert("binding".into(), json!({"name": "l2bridge"}));
        }
    }
}

/// The disks of a VM get its name in front; returns what each was called.
fn rename_disks(
    spec: &mut Map<String, Value>,
    id: &Identity,
    labels: &Map<String, Value>,
) -> Result<BTreeMap<String, String>> {
    let mut disks = BTreeMap::new();
    let templates = spec.get_mut("dataVolumeTemplates").and_then(Value::as_array_mut);
    for (i, disk) in templates.into_iter().flatten().enumerate() {
        if !disk.is_object() {
            return bad("The template's dataVolumeTemplates are no disks.");
        }
        let old = disk["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let new = disk_name(&id.object, &format!("disk-{i}"));
        disk["metadata"] = json!({
            "name": new,
            "labels": merged(&disk["metadata"]["labels"], labels.clone()),
            "annotations": merged(&disk["metadata"]["annotations"], Map::new()),
        });
        disks.insert(old, new);
    }
    Ok(disks)
}

/// Theirs with ours over it; what they call ours is left out.
fn merged(theirs: &Value, ours: Map<String, Value>) -> Value {
    let mut all = theirs.as_object().cloned().unwrap_or_default();
    all.retain(|key, _| !is_ours(key));
    // a parameter in our own texts would be filled in by OpenShift
    all.extend(ours.into_iter().filter(|(_, v)| !v.as_str().is_some_and(|v| v.contains("${"))));
    Value::Object(all)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
