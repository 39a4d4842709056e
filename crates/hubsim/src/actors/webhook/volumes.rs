//! What KubeVirt refuses about volumes, cloud-init and credentials.
use super::cause::Causes;
use crate::actors::json::Look;
use base64::Engine as _;
use serde_json::Value;
use std::collections::HashMap;

const VOLUMES: &str = "spec.template.spec.volumes";
const LIMIT: usize = 2048;

pub(super) fn check(spec: &Value, causes: &mut Causes) {
    let mut names: HashMap<&str, usize> = HashMap::new();
    for (i, volume) in spec.list("/volumes").iter().enumerate() {
        let field = format!("{VOLUMES}[{i}]");
        let name = volume.text("/name").unwrap_or_default();
        match names.get(name) {
            Some(other) => causes.invalid(
                format!("{field}.name"),
                format!("{field} and {VOLUMES}[{other}] must not have the same Name."),
            ),
            None => {
                names.insert(name, i);
            }
        }
        let sources = volume.as_object().map_or(0, |v| v.iter().filter(|(k, s)| *k != "name" && !s.is_null()).count());
        if sources != 1 {
            causes.invalid(&field, format!("{field} must have exactly one source type set"));
        }
        for kind in ["cloudInitNoCloud", "cloudInitConfigDrive"] {
            if let Some(source) = volume.get(kind).filter(|s| s.is_object()) {
                cloud_init(source, kind, &field, causes);
            }
        }
    }
    credentials(spec, causes);
}

fn cloud_init(source: &Value, kind: &str, volume: &str, causes: &mut Causes) {
    let field = format!("{volume}.{kind}");
    let user = part(source, "userData", "/secretRef/name", &field, kind, causes);
    if user.count > 1 {
        causes.invalid(&field, format!("{field} must have only one userdatasource set."));
    }
    if user.size > LIMIT {
        let words =
            format!("{field} userdata exceeds {LIMIT} byte limit. Should use UserDataSecretRef for larger data.");
        causes.invalid(&field, words);
    }
    let network = part(source, "networkData", "/networkDataSecretRef/name", &field, kind, causes);
    if network.count > 1 {
        causes.invalid(&field, format!("{field} must have only one networkdata source set."));
    }
    if network.size > LIMIT {
        let words =
            format!("{field} networkdata exceeds {LIMIT} byte limit. Should use NetworkDataSecretRef for larger data.");
        causes.invalid(&field, words);
    }
    if user.count == 0 && network.count == 0 {
        causes.invalid(&field, format!("{field} must have at least one userdatasource or one networkdatasource set."));
    }
}

struct Part {
    count: usize,
    size: usize,
}

fn part(source: &Value, name: &str, secret: &str, field: &str, kind: &str, causes: &mut Causes) -> Part {
    let mut part = Part { count: usize::from(source.text(secret).is_some()), size: 0 };
    if let Some(coded) = source.text(&format!("/{name}Base64")) {
        part.count += 1;
        match base64::engine::general_purpose::STANDARD.decode(coded) {
            Ok(data) => part.size = data.len(),
            Err(_) => {
                let at = format!("{field}.{name}Base64");
                // the path comes twice in the original too
                let words = format!("{at}.{kind}.{name}Base64 is not a valid base64 value.");
                causes.invalid(at, words);
            }
        }
    }
    if let Some(plain) = source.text(&format!("/{name}")) {
        part.count += 1;
        part.size = plain.len();
    }
    part
}

fn credentials(spec: &Value, causes: &mut Causes) {
    for (i, credential) in spec.list("/accessCredentials").iter().enumerate() {
        for (way, volume) in [("noCloud", "cloudInitNoCloud"), ("configDrive", "cloudInitConfigDrive")] {
            let wanted = credential.has(&format!("/sshPublicKey/propagationMethod/{way}"));
            let there = spec.list("/volumes").iter().any(|v| v.has(&format!("/{volume}")));
            if wanted && !there {
                let field = format!("spec.template.spec.accessCredentials[{i}]");
                let words =
                    format!("{field} requires a {way} volume to exist when the {way} propagationMethod is in use.");
                causes.invalid(field, words);
            }
        }
    }
}
