//! What a guest is told, on its hub: one Secret, and the discs by which the VM shows it to its guest.
use crate::shape::{
    cloud_init::{self, BadCloudInit, CloudInit, encoded},
    customize::{self, Customize, escaped},
    names::cloud_init_name,
    vm::Identity,
};
use serde_json::{Map, Value, json};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub cloud_init: Option<CloudInit>,
    /// Of Windows: its computer's name and the rest of sysprep's answers.
    pub unattend: Option<(String, Customize)>,
    /// The properties of its OVF environment, by key.
    pub environment: Vec<(String, String)>,
}

/// Which discs a VM has for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discs {
    pub cloud_init: bool,
    /// The one of cloud-init has the network's configuration too.
    pub network_data: bool,
    pub unattend: bool,
    pub environment: bool,
}

impl Told {
    pub fn discs(&self) -> Discs {
        Discs {
            cloud_init: self.cloud_init.is_some(),
            network_data: self.cloud_init.as_ref().is_some_and(|c| !c.network_data.is_empty()),
            unattend: self.unattend.is_some(),
            environment: !self.environment.is_empty(),
        }
    }

    /// The files, by name.
    pub fn files(&self, vm: &str) -> Result<Vec<(&'static str, String)>, BadCloudInit> {
        let mut files = Vec::new();
        if let Some(init) = &self.cloud_init {
            files.push(("userdata", cloud_init::user_data(init)?));
            if !init.network_data.trim().is_empty() {
                files.push(("networkdata", cloud_init::network_data(&init.network_data)?));
            }
        }
        if let Some((name, customize)) = &self.unattend {
            let answers = customize::unattend(name, customize);
            files.extend([("unattend.xml", answers.clone()), ("autounattend.xml", answers)]);
            if !customize.script.trim().is_empty() {
                files.push((customize::BATCH, customize.script.clone()));
            }
        }
        if !self.environment.is_empty() {
            files.push(("ovf-env.xml", environment(vm, &self.environment)));
        }
        Ok(files)
    }

    /// In base64 `data`, not `stringData`: a key left out later would stay for good.
    pub fn data(&self, vm: &str) -> Result<Map<String, Value>, BadCloudInit> {
        Ok(self.files(vm)?.into_iter().map(|(name, text)| (name.to_owned(), json!(encoded(&text)))).collect())
    }
}

pub fn secret(id: &Identity, told: &Told) -> Result<Value, BadCloudInit> {
    Ok(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {
            "name": cloud_init_name(&id.object), "namespace": id.place.namespace,
            "labels": id.labels(), "annotations": id.annotations(),
        },
        "data": told.data(&id.vm_name)?,
    }))
}

/// The merge patch that makes the Secret hold just this; None: it does.
pub fn retold(secret: &Value, data: &Map<String, Value>) -> Option<Value> {
    let has = secret["data"].as_object().cloned().unwrap_or_default();
    if has == *data {
        return None;
    }
    let mut change = data.clone();
    for gone in has.keys().filter(|k| !data.contains_key(*k)) {
        change.insert(gone.clone(), Value::Null);
    }
    Some(json!({"data": change}))
}

const CLOUD_INIT: &str = "cloudinit";
const SYSPREP: &str = "sysprep";
const ENVIRONMENT: &str = "ovf-env";

/// Volume and disk of each disc.
pub(super) fn volumes(object: &str, discs: Discs) -> Vec<(Value, Value)> {
    let secret = json!({"name": cloud_init_name(object)});
    let mut all = Vec::new();
    if discs.cloud_init {
        let mut source = json!({"secretRef": secret});
        if discs.network_data {
            source["networkDataSecretRef"] = secret.clone();
        }
        all.push((
            json!({"name": CLOUD_INIT, "cloudInitNoCloud": source}),
            json!({"name": CLOUD_INIT, "disk": {"bus": "virtio"}}),
        ));
    }
    let disc = |name: &str| json!({"name": name, "cdrom": {"bus": "sata"}});
    if discs.unattend {
        all.push((json!({"name": SYSPREP, "sysprep": {"secret": secret}}), disc(SYSPREP)));
    }
    if discs.environment {
        // the label by which OVF's guests find it
        let source = json!({"secretName": cloud_init_name(object), "volumeLabel": "OVF ENV"});
        all.push((json!({"name": ENVIRONMENT, "secret": source}), disc(ENVIRONMENT)));
    }
    all
}

/// The merge patch that gives a VM just these discs from its next start on; None: it has them.
pub fn put_in(vm: &Value, object: &str, discs: Discs) -> Option<Value> {
    let spec = &vm["spec"]["template"]["spec"];
    let ours = |name: &Value| [CLOUD_INIT, SYSPREP, ENVIRONMENT].iter().any(|n| name == n);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (has_volumes, has_disks) = (list(&spec["volumes"]), list(&spec["domain"]["devices"]["disks"]));
    let wanted = volumes(object, discs);
    let as_is = wanted.len() == has_volumes.iter().filter(|v| ours(&v["name"])).count()
        && wanted.iter().all(|(volume, _)| has_volumes.contains(volume));
    if as_is {
        return None;
    }
    let mut new_volumes: Vec<Value> = has_volumes.into_iter().filter(|v| !ours(&v["name"])).collect();
    let mut new_disks: Vec<Value> = has_disks.into_iter().filter(|d| !ours(&d["name"])).collect();
    for (volume, disk) in wanted {
        new_volumes.push(volume);
        new_disks.push(disk);
    }
    Some(json!({"spec": {"template": {"spec": {"volumes": new_volumes, "domain": {"devices": {"disks": new_disks}}}}}}))
}

/// As OVF describes it (DSP0243).
fn environment(vm: &str, properties: &[(String, String)]) -> String {
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Environment xmlns=\"http://schemas.dmtf.org/ovf/environment/1\" \
         xmlns:oe=\"http://schemas.dmtf.org/ovf/environment/1\" oe:id=\"{}\">\n  <PlatformSection>\n    <Kind>KubeVirt</Kind>\n    \
         <Locale>en</Locale>\n  </PlatformSection>\n  <PropertySection>\n",
        escaped(vm)
    );
    for (key, value) in properties {
        text += &format!("    <Property oe:key=\"{}\" oe:value=\"{}\"/>\n", escaped(key), escaped(value));
    }
    text + "  </PropertySection>\n</Environment>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told() -> Told {
        Told {
            cloud_init: Some(CloudInit { hostname: "web".into(), ..CloudInit::default() }),
            unattend: None,
            environment: vec![("db.password".into(), "a\"b<c\n".into())],
        }
    }

    #[test]
    fn an_environment_is_xml_whatever_is_in_it() {
        let files = told().files("web & co").expect("good");
        let (_, text) = files.iter().find(|(name, _)| *name == "ovf-env.xml").expect("there");
        assert!(text.contains("oe:id=\"web &amp; co\""), "{text}");
        assert!(text.contains("<Property oe:key=\"db.password\" oe:value=\"a&quot;b&lt;c&#10;\"/>"), "{text}");
    }

    #[test]
    fn a_secret_loses_what_is_not_told_any_more() {
        let data = told().data("web").expect("good");
        let secret = json!({"data": {"userdata": "old", "unattend.xml": "x"}});
        let patch = retold(&secret, &data).expect("differs");
        assert_eq!(patch["data"]["unattend.xml"], Value::Null);
        assert_eq!(patch["data"]["userdata"], data["userdata"]);
        assert_eq!(retold(&json!({"data": data}), &data), None);
    }

    #[test]
    fn discs_come_and_go_and_other_disks_stay() {
        let root = json!({"name": "root", "dataVolume": {"name": "x"}});
        let vm = |volumes: Value, disks: Value| json!({"spec": {"template": {"spec": {"volumes": volumes, "domain": {"devices": {"disks": disks}}}}}});
        let bare = vm(json!([root]), json!([{"name": "root", "disk": {}}]));
        let with = put_in(&bare, "web", told().discs()).expect("a change");
        let names = |v: &Value| v.as_array().map(|a| a.iter().map(|x| x["name"].clone()).collect::<Vec<_>>());
        assert_eq!(
            names(&with["spec"]["template"]["spec"]["volumes"]),
            Some(vec![json!("root"), json!("cloudinit"), json!("ovf-env")])
        );
        assert_eq!(put_in(&with, "web", told().discs()), None, "nothing more to do");
        let without = put_in(&with, "web", Discs::default()).expect("a change");
        assert_eq!(without, bare);
    }
}
