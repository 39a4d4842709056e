//! The disks of a template's machine: how large they are, and what they are filled from. Parameters stay in what is read.
use super::{
    json::{list, text},
    quantity,
    vm::volume_size,
};
use model::parameter::put;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateDisk {
    pub name: String,
    pub bus: String,
    pub cdrom: bool,
    /// With the parameters' defaults.
    pub size_mb: Option<i64>,
    pub storage_class: Option<String>,
    /// As the template has it; empty: it does not say.
    pub size: String,
    /// As `model::image` has it; or why it is not known, within a sentence.
    pub image: Result<String, String>,
}

/// The template, one of its machines, and what its parameters are if nobody gives another value.
pub(super) struct Reading<'a> {
    pub template: &'a Value,
    pub vm: &'a Value,
    pub defaults: &'a [(String, String)],
}

impl<'a> Reading<'a> {
    pub(super) fn disks(&self) -> Vec<TemplateDisk> {
        list(self.vm, "/spec/template/spec/volumes").filter_map(|v| self.disk(v)).collect()
    }

    fn filled(&self, text: &str) -> String {
        put(text, |name| self.defaults.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone()))
    }

    /// None: it is no disk, but something that guests are told.
    fn disk(&self, volume: &'a Value) -> Option<TemplateDisk> {
        let name = self.filled(text(volume, "/name"));
        let (kind, what) = volume.as_object()?.iter().find(|(key, _)| *key != "name")?;
        let (size, storage_class, image) = match kind.as_str() {
            "cloudInitNoCloud"
            | "cloudInitConfigDrive"
            | "sysprep"
            | "configMap"
            | "secret"
            | "serviceAccount"
            | "downwardAPI"
            | "downwardMetrics"
            | "memoryDump" => return None,
            "emptyDisk" => (quantity::of(&what["capacity"]).unwrap_or_default(), None, Ok(String::new())),
            "containerDisk" => (String::new(), None, container(what)),
            "dataVolume" | "persistentVolumeClaim" => {
                let of = [text(what, "/name"), text(what, "/claimName")].concat();
                match self.volume(&of) {
                    Some(found) => {
                        let size = ["/spec/storage", "/spec/pvc"]
                            .iter()
                            .find_map(|form| found.pointer(&format!("{form}/resources/requests/storage")))
                            .and_then(quantity::of);
                        let class = volume_size(found).1.map(|class| self.filled(&class));
                        (size.unwrap_or_default(), class, self.source(&found["spec"]))
                    }
                    None => {
                        let why = format!("is the volume {of}, which is not in the template");
                        (String::new(), None, Err(why))
                    }
                }
            }
            other => (String::new(), None, Err(format!("is of the kind {other}, which is not known here"))),
        };
        let device =
            list(self.vm, "/spec/template/spec/domain/devices/disks").find(|d| self.filled(text(d, "/name")) == name);
        let bus = device.map(|d| ["/disk/bus", "/cdrom/bus", "/lun/bus"].map(|p| text(d, p)).concat());
        Some(TemplateDisk {
            bus: bus.map(|bus| self.filled(&bus)).unwrap_or_default(),
            cdrom: device.is_some_and(|d| d.get("cdrom").is_some()),
            size_mb: quantity::mib(&self.filled(&size)).filter(|mb| *mb > 0),
            storage_class: storage_class.filter(|class| !class.contains("${")),
            image: image.map_err(|why| format!("its disk {name} {why}")),
            size,
            name,
        })
    }

    /// Of the machine, or beside it in the template.
    fn volume(&self, name: &str) -> Option<&'a Value> {
        let objects = list(self.template, "/objects").filter(|o| o["kind"] == "DataVolume");
        let mut all = list(self.vm, "/spec/dataVolumeTemplates").chain(objects);
        all.find(|v| !name.is_empty() && self.filled(text(v, "/metadata/name")) == self.filled(name))
    }

    /// What a DataVolume is filled from.
    fn source(&self, spec: &Value) -> Result<String, String> {
        if text(spec, "/contentType") == "archive" {
            return Err("is filled from an archive of files".to_owned());
        }
        if let Some(reference) = spec.get("sourceRef").filter(|r| r.is_object()) {
            return match text(reference, "/kind") {
                "" | "DataSource" => self.object("datasource", reference),
                other => Err(format!("is filled from a {other}, which is not known here")),
            };
        }
        let sources = spec["source"].as_object().into_iter().flatten().filter(|(_, what)| !what.is_null());
        match sources.collect::<Vec<_>>().as_slice() {
            [(kind, what)] => match kind.as_str() {
                "blank" => Ok(String::new()),
                "pvc" => self.object("claim", what),
                "snapshot" => self.object("snapshot", what),
                // who fetches it changes nothing about what it is
                "registry" => address(what, &["url", "pullMethod"]),
                "http" => address(what, &["url"]),
                "upload" => Err("is filled by an upload".to_owned()),
                other => Err(format!("is filled from {other}, which is not known here")),
            },
            _ => Err("does not say what it is filled from".to_owned()),
        }
    }

    /// Something in a namespace of its hub. Which namespace is the template's to say and nobody else's: whoever deploys could name
    /// that of somebody else.
    fn object(&self, kind: &str, what: &Value) -> Result<String, String> {
        let namespace = self.filled(text(what, "/namespace"));
        match namespace.as_str() {
            "" => Err(format!("is filled from {} in no namespace", text(what, "/name"))),
            left if left.contains("${") => Err("is filled from a namespace that the template leaves open".to_owned()),
            namespace => Ok(format!("{kind}/{namespace}/{}", text(what, "/name"))),
        }
    }
}

/// A web server's or registry's, with nothing beside it that would be lost: secrets, certificates, sums.
fn address(what: &Value, known: &[&str]) -> Result<String, String> {
    match what.as_object().into_iter().flatten().find(|(key, v)| !known.contains(&key.as_str()) && !v.is_null()) {
        Some((more, _)) => Err(format!("is fetched with {more}, which is not known here")),
        None if text(what, "/url").is_empty() => Err("is fetched from nowhere".to_owned()),
        None => Ok(text(what, "/url").to_owned()),
    }
}

/// A disk of ours keeps what is written to it, as people expect of a disk; the image is the same.
fn container(what: &Value) -> Result<String, String> {
    let known = ["image", "imagePullPolicy"];
    match what.as_object().into_iter().flatten().find(|(key, v)| !known.contains(&key.as_str()) && !v.is_null()) {
        Some((more, _)) => Err(format!("is a container's image with {more}, which is not known here")),
        None if text(what, "/image").is_empty() => Err("is a container's image without a name".to_owned()),
        None => Ok(format!("docker://{}", text(what, "/image"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(volume: Value, template: Value) -> Option<TemplateDisk> {
        let vm = json!({"spec": {
            "dataVolumeTemplates": [template],
            "template": {"spec": {
                "domain": {"devices": {"disks": [{"name": "root", "disk": {"bus": "sata"}}]}}, "volumes": [volume]}},
        }});
        let beside = json!({"kind": "DataVolume", "metadata": {"name": "beside"}, "spec": {
            "source": {"pvc": {"namespace": "golden", "name": "rhel"}},
            "pvc": {"resources": {"requests": {"storage": "5Gi"}}, "storageClassName": "fast"}}});
        let template = json!({"objects": [beside]});
        let defaults = [("NAME".to_owned(), "x".to_owned()), ("SPACE".to_owned(), "golden".to_owned())];
        Reading { template: &template, vm: &vm, defaults: &defaults }.disks().pop()
    }

    fn filled_from(spec: Value) -> Result<String, String> {
        let volume = json!({"name": "root", "dataVolume": {"name": "${NAME}"}});
        read(volume, json!({"metadata": {"name": "x"}, "spec": spec})).expect("a disk").image
    }

    #[test]
    fn every_source_is_read_or_said_to_be_unknown() {
        for (spec, image) in [
            (
                json!({"sourceRef": {"kind": "DataSource", "namespace": "${SPACE}", "name": "${OS}"}}),
                "datasource/golden/${OS}",
            ),
            (json!({"source": {"pvc": {"namespace": "golden", "name": "rhel"}}}), "claim/golden/rhel"),
            (json!({"source": {"snapshot": {"namespace": "golden", "name": "rhel"}}}), "snapshot/golden/rhel"),
            (
                json!({"source": {"registry": {"url": "docker://quay.io/x", "pullMethod": "node"}}}),
                "docker://quay.io/x",
            ),
            (json!({"source": {"http": {"url": "http://example.org/${FILE}"}}}), "http://example.org/${FILE}"),
            (json!({"source": {"blank": {}}}), ""),
        ] {
            assert_eq!(filled_from(spec).as_deref(), Ok(image));
        }
        for (spec, why) in [
            (
                json!({"source": {"s3": {"url": "https://s3.example/x"}}}),
                "its disk root is filled from s3, which is not known here",
            ),
            (json!({"source": {"upload": {}}}), "its disk root is filled by an upload"),
            (
                json!({"source": {"registry": {"imageStream": "x"}}}),
                "its disk root is fetched with imageStream, which is not known here",
            ),
            (
                json!({"source": {"http": {"url": "https://example.org/x", "secretRef": "s"}}}),
                "its disk root is fetched with secretRef, which is not known here",
            ),
            (json!({"source": {"pvc": {"name": "rhel"}}}), "its disk root is filled from rhel in no namespace"),
            (
                json!({"source": {"pvc": {"namespace": "${OPEN}", "name": "rhel"}}}),
                "its disk root is filled from a namespace that the template leaves open",
            ),
            (
                json!({"sourceRef": {"kind": "Odd", "name": "x"}}),
                "its disk root is filled from a Odd, which is not known here",
            ),
            (json!({}), "its disk root does not say what it is filled from"),
            (json!({"source": {"blank": {}, "upload": {}}}), "its disk root does not say what it is filled from"),
        ] {
            assert_eq!(filled_from(spec).unwrap_err(), why);
        }
    }

    #[test]
    fn volumes_that_are_no_data_volumes_of_the_machine_are_disks_too_or_said_to_be_unknown() {
        let read = |volume| read(volume, json!({}));
        let container = read(json!({"name": "root", "containerDisk": {"image": "quay.io/x:1"}})).expect("a disk");
        assert_eq!(
            (container.image.as_deref(), container.size_mb, container.bus.as_str()),
            (Ok("docker://quay.io/x:1"), None, "sata")
        );
        let beside = read(json!({"name": "data", "dataVolume": {"name": "beside"}})).expect("a disk");
        assert_eq!((beside.image.as_deref(), beside.size_mb), (Ok("claim/golden/rhel"), Some(5120)));
        assert_eq!(beside.storage_class.as_deref(), Some("fast"));
        let scratch = read(json!({"name": "scratch", "emptyDisk": {"capacity": "2Gi"}})).expect("a disk");
        assert_eq!((scratch.image.as_deref(), scratch.size_mb), (Ok(""), Some(2048)));
        for (odd, why) in [
            (
                json!({"name": "a", "persistentVolumeClaim": {"claimName": "there"}}),
                "its disk a is the volume there, which is not in the template",
            ),
            (
                json!({"name": "a", "hostDisk": {"path": "/x"}}),
                "its disk a is of the kind hostDisk, which is not known here",
            ),
            (
                json!({"name": "a", "containerDisk": {"image": "x", "imagePullSecret": "s"}}),
                "its disk a is a container's image with imagePullSecret, which is not known here",
            ),
        ] {
            assert_eq!(read(odd).expect("a disk").image.unwrap_err(), why);
        }
        assert_eq!(read(json!({"name": "ci", "cloudInitNoCloud": {"userData": "x"}})), None);
    }
}
