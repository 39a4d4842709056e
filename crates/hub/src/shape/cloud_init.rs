//! A VM's cloud-init: the user's own data to the letter, with host name, SSH keys and the rest beside it. It is not
//! written anew: cloud-init reads an older YAML than we do, in which `yes` and `0644` mean something else.
use crate::{
    shape::{
        cloud_config,
        customize::{Customize, boothook},
    },
    yaml,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};

/// Longest user data and network data, each.
pub const LARGEST: usize = 64 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloudInit {
    /// A `#cloud-config`, a `#!` script, or another form cloud-init knows.
    pub user_data: String,
    pub ssh_keys: Vec<String>,
    pub hostname: String,
    pub customize: Customize,
    /// Version 1 or 2 of cloud-init's network configuration; empty: the guest asks by DHCP.
    pub network_data: String,
}

/// What is wrong with the data, in a sentence for the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCloudInit {
    pub field: &'static str,
    pub message: String,
}

fn bad<T>(field: &'static str, message: impl Into<String>) -> Result<T, BadCloudInit> {
    Err(BadCloudInit { field, message: message.into() })
}

impl std::fmt::Display for BadCloudInit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for BadCloudInit {}

/// As texts stand in a Secret.
pub fn encoded(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

/// The text cloud-init is given.
pub fn user_data(init: &CloudInit) -> Result<String, BadCloudInit> {
    let texts = parts(init)?;
    Ok(match &texts[..] {
        [one] if one.kind != HOOK => one.text.clone(),
        _ => archive(&texts),
    })
}

/// One of the texts that cloud-init is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub kind: &'static str,
    pub name: &'static str,
    pub text: String,
}

const HOOK: &str = "text/cloud-boothook";

/// What the user gave, and ours beside it.
pub fn parts(init: &CloudInit) -> Result<Vec<Part>, BadCloudInit> {
    let hook =
        (!init.customize.is_empty()).then(|| Part { kind: HOOK, name: "ssvirt", text: boothook(&init.customize) });
    let text = init.user_data.replace("\r\n", "\n");
    if text.len() > LARGEST {
        return bad("user_data", format!("It is larger than {} KiB. Let it download the rest.", LARGEST >> 10));
    }
    for key in &init.ssh_keys {
        if !is_ssh_key(key) {
            return bad("ssh_keys", "A line is no public SSH key. It looks like: ssh-ed25519 AAAA… name.");
        }
    }
    if text.trim().is_empty() {
        let ours = Part { kind: CONFIG, name: "ssvirt.yaml", text: ours(init, false) };
        return Ok([Some(ours), hook].into_iter().flatten().collect());
    }
    if is_config(&text) {
        if let Some(line) = text.lines().position(|line| line.starts_with('\t') && !line.trim().is_empty()) {
            let line = line + 1;
            return bad(
                "user_data",
                format!("Line {line} of the cloud-config begins with a tab. Indent it with blanks."),
            );
        }
        let fields = match yaml::parse_with_anchors(&text) {
            Ok(Value::Object(fields)) => fields,
            Ok(Value::Null) => Map::new(),
            Ok(_) => {
                return bad("user_data", "After #cloud-config come fields (key: value), and here is something else.");
            }
            Err(e) => {
                let key = e.key.map(|k| format!("key {k} ")).unwrap_or_default();
                return bad("user_data", format!("The cloud-config {key}{}", e.message));
            }
        };
        if let Err(wrong) = cloud_config::check(&fields) {
            return bad("user_data", wrong);
        }
        let nothing_to_add = init.ssh_keys.is_empty() && (init.hostname.is_empty() || fields.contains_key("hostname"));
        let theirs = Part { kind: CONFIG, name: "user.yaml", text };
        // ours comes second and gives way
        let ours = (!nothing_to_add).then(|| Part { kind: CONFIG, name: "ssvirt.yaml", text: ours(init, true) });
        return Ok([Some(theirs), ours, hook].into_iter().flatten().collect());
    }
    if text.starts_with("#!") {
        let ours = Part { kind: CONFIG, name: "ssvirt.yaml", text: ours(init, false) };
        let script = Part { kind: "text/x-shellscript", name: "script", text };
        return Ok([Some(ours), Some(script), hook].into_iter().flatten().collect());
    }
    if [
        "Content-Type: multipart/",
        "MIME-Version:",
        "#include",
        "#cloud-boothook",
        "## template: jinja",
        "#part-handler",
    ]
    .iter()
    .any(|start| text.starts_with(start))
    {
        if !init.ssh_keys.is_empty() {
            return bad(
                "ssh_keys",
                "Keys can't be added to this form of user data. Put them into it, or give a #cloud-config.",
            );
        }
        if hook.is_some() {
            return bad(
                "user_data",
                "A password or script can't be added to this form of user data. Put them into it, or give a #cloud-config.",
            );
        }
        return Ok(vec![Part { kind: "text/plain", name: "user-data", text }]);
    }
    bad(
        "user_data",
        "It begins with neither #cloud-config nor #!, so cloud-init would pass it over. Add the first line.",
    )
}

fn is_config(text: &str) -> bool {
    text.lines().next().is_some_and(|first| first.trim_end() == "#cloud-config")
}

const CONFIG: &str = "text/cloud-config";

/// Our own settings. Values are written as JSON, which means the same in every YAML.
fn ours(init: &CloudInit, beside: bool) -> String {
    let mut text = "#cloud-config\n".to_owned();
    if beside {
        // what the user set stays, lists are joined
        text += "merge_how: \"list(append)+dict(no_replace,recurse_list)+str()\"\n";
    }
    if !init.hostname.is_empty() {
        text += &format!("hostname: {}\n", json!(init.hostname));
    }
    if !init.ssh_keys.is_empty() {
        let mut keys: Vec<&str> = init.ssh_keys.iter().map(|k| k.trim()).collect();
        keys.dedup();
        text += &format!("ssh_authorized_keys: {}\n", json!(keys));
    }
    text
}

/// Several texts in one, as cloud-init takes them.
fn archive(parts: &[Part]) -> String {
    // base64 has no '=' but at its end, so no part can hold the boundary
    let boundary = "==ssvirt==";
    let mut all = format!("Content-Type: multipart/mixed; boundary=\"{boundary}\"\nMIME-Version: 1.0\n\n");
    for Part { kind, name, text } in parts {
        all += &format!(
            "--{boundary}\nContent-Type: {kind}; charset=\"utf-8\"\nMIME-Version: 1.0\nContent-Transfer-Encoding: base64\n\
             Content-Disposition: attachment; filename=\"{name}\"\n\n{}\n",
            BASE64_STANDARD.encode(text)
        );
    }
    all + &format!("--{boundary}--\n")
}

pub(super) fn network_data(text: &str) -> Result<String, BadCloudInit> {
    if text.len() > LARGEST {
        return bad("network_data", format!("It is larger than {} KiB.", LARGEST >> 10));
    }
    let fields = match yaml::parse(text) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return bad("network_data", "It is no mapping of fields (version: 2, ethernets: …)."),
        Err(e) => return bad("network_data", format!("It {}", e.message)),
    };
    let inner = fields.get("network").and_then(Value::as_object).unwrap_or(&fields);
    match inner.get("version") {
        Some(v) if *v == 1 || *v == 2 => Ok(text.to_owned()),
        _ => bad("network_data", "It has no version (1 or 2)."),
    }
}

fn is_ssh_key(line: &str) -> bool {
    let line = line.trim();
    let mut words = line.split(' ');
    let kind = words.next().unwrap_or_default();
    let body = words.next().unwrap_or_default();
    line.len() <= 16 << 10
        && !line.chars().any(char::is_control)
        && (kind.starts_with("ssh-") || kind.starts_with("ecdsa-") || kind.starts_with("sk-"))
        && BASE64_STANDARD.decode(body).is_ok_and(|b| b.len() > 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1mHBaSf5Tq9x9tTn1l8VJ5qQ9m8mC1m3Z0mZ9yQ2aB me@home";

    /// The texts of an archive.
    fn unpacked(text: &str) -> Vec<String> {
        assert!(text.starts_with("Content-Type: multipart/mixed"), "{text}");
        let bodies = text.split("--==ssvirt==").skip(1).filter_map(|p| p.split_once("\n\n"));
        bodies
            .map(|(_, b)| String::from_utf8(BASE64_STANDARD.decode(b.trim()).expect("base64")).expect("text"))
            .collect()
    }

    #[test]
    fn keys_and_host_name_stand_beside_what_the_user_wrote() {
        let written = "#cloud-config\npackage_update: yes\nssh_authorized_keys:\n- ssh-rsa AAAA # mine\npackages: &a [x]\nssh_import_id: *a\n";
        let init = CloudInit {
            user_data: written.replace('\n', "\r\n"),
            ssh_keys: vec![KEY.into(), format!("{KEY} ")],
            hostname: "yes".into(),
            ..CloudInit::default()
        };
        let text = user_data(&init).expect("good");
        let [theirs, ours] = &unpacked(&text)[..] else { panic!("{text}") };
        assert_eq!(theirs, written, "to the letter");
        assert!(ours.contains("merge_how: \"list(append)+dict(no_replace,recurse_list)+str()\"\n"), "{ours}");
        assert!(ours.contains("hostname: \"yes\"\n"), "quoted, since it would be a boolean: {ours}");
        assert!(ours.contains(&format!("ssh_authorized_keys: [\"{KEY}\"]\n")), "{ours}");
        let alone = user_data(&CloudInit { user_data: String::new(), ..init }).expect("good");
        assert_eq!(alone, format!("#cloud-config\nhostname: \"yes\"\nssh_authorized_keys: [\"{KEY}\"]\n"));
    }

    #[test]
    fn data_that_needs_nothing_stays_alone() {
        let written = "#cloud-config\nhostname: mine\n";
        let init = CloudInit { user_data: written.into(), hostname: "web".into(), ..CloudInit::default() };
        assert_eq!(user_data(&init).as_deref(), Ok(written));
        let included = "#include\nhttps://example.org/x\n";
        let init = CloudInit { user_data: included.into(), ..CloudInit::default() };
        assert_eq!(user_data(&init).as_deref(), Ok(included));
    }

    #[test]
    fn a_script_travels_beside_the_settings() {
        let script = "#!/bin/sh\necho --==ssvirt==\n";
        let init = CloudInit { user_data: script.into(), hostname: "web".into(), ..CloudInit::default() };
        let text = user_data(&init).expect("good");
        assert_eq!(unpacked(&text), ["#cloud-config\nhostname: \"web\"\n", script]);
        assert!(text.contains("text/x-shellscript"), "{text}");
    }

    #[test]
    fn a_password_and_a_script_travel_as_a_boothook_beside_the_rest() {
        let customize = Customize { run: 1, password: Some("secret".into()), ..Customize::default() };
        let init = CloudInit { hostname: "web".into(), customize, ..CloudInit::default() };
        let text = user_data(&init).expect("good");
        assert!(text.contains("Content-Type: text/cloud-boothook"), "{text}");
        let [ours, hook] = &unpacked(&text)[..] else { panic!("{text}") };
        assert_eq!(ours, "#cloud-config\nhostname: \"web\"\n");
        assert!(hook.starts_with("#cloud-boothook"), "{hook}");
        let beside = CloudInit { user_data: "#cloud-config\nhostname: mine\n".into(), ..init.clone() };
        assert_eq!(unpacked(&user_data(&beside).expect("good")).len(), 2, "the user's and the hook");
        let included = CloudInit { user_data: "#include\nhttps://x\n".into(), ..init };
        assert_eq!(user_data(&included).expect_err("no place for it").field, "user_data");
    }

    #[test]
    fn what_cloud_init_would_pass_over_is_refused_by_its_field() {
        let large = format!("#cloud-config\n# {}", "x".repeat(LARGEST));
        let keys = vec![KEY.to_owned()];
        for (user_data_, ssh_keys, field) in [
            ("packages: [x]", vec![], "user_data"),
            ("#cloud-config\n- a\n", vec![], "user_data"),
            ("#cloud-config\na: [\n", vec![], "user_data"),
            ("#cloud-config\nfqdn: a\nfqdn: b\n", vec![], "user_data"),
            ("#cloud-config\npackage: [x]\n", vec![], "user_data"),
            ("#cloud-config\n\tpackages: [x]\n", vec![], "user_data"),
            ("#cloud-config\nruncmd: !!python/name:os.system [x]\n", vec![], "user_data"),
            ("#cloud-config\nssh_authorized_keys: x\n", keys.clone(), "user_data"),
            (large.as_str(), vec![], "user_data"),
            ("", vec!["-----BEGIN OPENSSH PRIVATE KEY-----".to_owned()], "ssh_keys"),
            ("", vec!["ssh-rsa AAAA\nruncmd: [evil]".to_owned()], "ssh_keys"),
            ("#include\nhttps://x\n", keys, "ssh_keys"),
        ] {
            let init = CloudInit { user_data: user_data_.into(), ssh_keys, ..CloudInit::default() };
            assert_eq!(user_data(&init).expect_err(user_data_).field, field, "{user_data_}");
        }
        for text in ["[]", "version: 3", "a: [", "x"] {
            assert_eq!(network_data(text).expect_err(text).field, "network_data");
        }
        assert!(network_data("network:\n  version: 2\n").is_ok());
    }
}
