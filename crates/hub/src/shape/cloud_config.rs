//! What cloud-init knows in a `#cloud-config`: its fields and the form of each, so that a slip of the pen is told before a VM
//! starts and not found in the guest's log.
mod groups;

use serde_json::{Map, Value};

/// The form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Any,
    Yes,
    Text,
    Number,
    Texts,
    List,
    Fields,
    /// One text, or a list of them.
    TextOrTexts,
    YesOrText,
    /// Each a line for the shell, or a list of words.
    Commands,
}
use Form::*;

impl Form {
    fn fits(self, value: &Value) -> bool {
        let texts = |v: &Value| v.as_array().is_some_and(|all| all.iter().all(Value::is_string));
        match self {
            Any => true,
            Yes => value.is_boolean() || older_yes(value),
            Text => value.is_string() || value.is_number(),
            Number => value.is_number(),
            Texts => texts(value),
            List => value.is_array(),
            Fields => value.is_object() || value.is_null(),
            TextOrTexts => value.is_string() || texts(value),
            YesOrText => value.is_boolean() || value.is_string(),
            Commands => value.as_array().is_some_and(|all| all.iter().all(is_command)),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Any => "anything",
            Yes => "true or false",
            Text => "a text",
            Number => "a number",
            Texts => "a list of texts",
            List => "a list (each line begun with -)",
            Fields => "a group of fields (key: value)",
            TextOrTexts => "a text or a list of texts",
            YesOrText => "true, false or a word",
            Commands => "a list of commands: each a text, or a list of words",
        }
    }
}

/// cloud-init reads an older YAML, in which these mean true or false.
fn older_yes(value: &Value) -> bool {
    let word = value.as_str().unwrap_or_default().to_ascii_lowercase();
    matches!(word.as_str(), "yes" | "no" | "on" | "off" | "y" | "n")
}

fn is_command(value: &Value) -> bool {
    let word = |v: &Value| v.is_string() || v.is_number() || v.is_boolean() || v.is_null();
    value.is_string() || value.is_null() || value.as_array().is_some_and(|words| words.iter().all(word))
}

#[rustfmt::skip]
const FIELDS: &[(&str, Form)] = &[
    ("allow_public_ssh_keys", Yes), ("ansible", Fields), ("apk_repos", Fields), ("apt", Fields), ("apt_pipelining", Any),
    ("apt_reboot_if_required", Yes), ("apt_update", Yes), ("apt_upgrade", Yes), ("authkey_hash", Text), ("autoinstall", Fields),
    ("bootcmd", Commands), ("byobu_by_default", Text), ("ca-certs", Fields), ("ca_certs", Fields), ("chef", Fields),
    ("chpasswd", Fields), ("cloud_config_modules", List), ("cloud_final_modules", List), ("cloud_init_modules", List),
    ("create_hostname_file", Yes), ("datasource", Fields), ("datasource_list", List), ("device_aliases", Fields),
    ("disable_ec2_metadata", Yes), ("disable_root", Yes), ("disable_root_opts", Text), ("disk_setup", Fields), ("drivers", Fields),
    ("fan", Fields), ("final_message", Text), ("fqdn", Text), ("fs_setup", List), ("groups", Any), ("growpart", Fields),
    ("grub-dpkg", Fields), ("grub_dpkg", Fields), ("hostname", Text), ("keyboard", Fields), ("landscape", Fields),
    ("launch-index", Number), ("locale", YesOrText), ("locale_configfile", Text), ("lxd", Fields), ("manage_etc_hosts", YesOrText),
    ("manage_resolv_conf", Yes), ("mcollective", Fields), ("merge_how", Any), ("merge_type", Any), ("migrate", Yes),
    ("mount_default_fields", List), ("mounts", List), ("network", Fields), ("no_ssh_fingerprints", Yes), ("ntp", Fields),
    ("output", Any), ("package_reboot_if_required", Yes), ("package_update", Yes), ("package_upgrade", Yes), ("packages", List),
    ("password", Text), ("phone_home", Fields), ("power_state", Fields), ("prefer_fqdn_over_hostname", Yes),
    ("preserve_hostname", Yes), ("puppet", Fields), ("random_seed", Fields), ("redhat_subscription", Fields), ("reporting", Fields),
    ("resize_rootfs", YesOrText), ("resolv_conf", Fields), ("rh_subscription", Fields), ("rsyslog", Any), ("runcmd", Commands),
    ("salt_minion", Fields), ("snap", Fields), ("spacewalk", Fields), ("ssh", Fields), ("ssh_authorized_keys", Texts),
    ("ssh_deletekeys", Yes), ("ssh_fp_console_blacklist", List), ("ssh_genkeytypes", Texts), ("ssh_import_id", Texts),
    ("ssh_key_console_blacklist", List), ("ssh_keys", Fields), ("ssh_publish_hostkeys", Fields), ("ssh_pwauth", YesOrText),
    ("ssh_quiet_keygen", Yes), ("swap", Fields), ("system_info", Fields), ("timezone", Text), ("ubuntu_advantage", Fields),
    ("ubuntu_pro", Fields), ("updates", Fields), ("user", Any), ("users", Any), ("vendor_data", Fields), ("wireguard", Fields),
    ("write_files", List), ("yum_repo_dir", Text), ("yum_repos", Fields), ("zypper", Fields),
];

const FILE: &[(&str, Form)] = &[
    ("path", Text),
    ("content", Any),
    ("source", Fields),
    ("owner", Text),
    ("permissions", Text),
    ("encoding", Text),
    ("append", Yes),
    ("defer", Yes),
];

#[rustfmt::skip]
const USER: &[(&str, Form)] = &[
    ("name", Text), ("doas", Texts), ("expiredate", Text), ("gecos", Text), ("groups", Any), ("homedir", Text), ("inactive", Text),
    ("lock-passwd", Yes), ("lock_passwd", Yes), ("no-create-home", Yes), ("no_create_home", Yes), ("no-log-init", Yes),
    ("no_log_init", Yes), ("no-user-group", Yes), ("no_user_group", Yes), ("passwd", Text), ("hashed-passwd", Text),
    ("hashed_passwd", Text), ("plain-text-passwd", Text), ("plain_text_passwd", Text), ("create_groups", Yes),
    ("primary-group", Text), ("primary_group", Text), ("selinux-user", Text), ("selinux_user", Text), ("shell", Text),
    ("snapuser", Text), ("ssh-authorized-keys", Texts), ("ssh_authorized_keys", Texts), ("ssh-import-id", Texts),
    ("ssh_import_id", Texts), ("ssh_redirect_user", Yes), ("ssh-redirect-user", Yes), ("system", Yes), ("sudo", Any), ("uid", Any),
];

const PASSWORDS: &[(&str, Form)] = &[("expire", Yes), ("users", List), ("list", TextOrTexts)];
const PASSWORD: &[(&str, Form)] = &[("name", Text), ("password", Text), ("type", Text)];

const POWER: &[(&str, Form)] =
    &[("delay", Any), ("mode", Text), ("message", Text), ("timeout", Number), ("condition", Any)];

/// What is wrong, as a sentence; nothing: cloud-init understands it.
pub(crate) fn check(fields: &Map<String, Value>) -> Result<(), String> {
    group(fields, FIELDS, "")?;
    for (i, file) in list(fields.get("write_files")).iter().enumerate() {
        let at = format!("write_files[{i}]");
        let file = file.as_object().ok_or_else(|| format!("{at} is {}.", Fields.words()))?;
        if !file.contains_key("path") {
            return Err(format!("{at} has no path: say where it is written."));
        }
        if file.get("permissions").is_some_and(Value::is_number) {
            return Err(format!(
                "{at}.permissions is a number, which means another one to cloud-init. Quote it: '0644'."
            ));
        }
        group(file, FILE, &at)?;
    }
    for (i, user) in list(fields.get("users")).iter().enumerate() {
        let at = format!("users[{i}]");
        match user {
            // `default`, or names with commas between them
            Value::String(_) | Value::Array(_) => {}
            Value::Object(user) => {
                if !user.contains_key("name") && !user.contains_key("snapuser") {
                    return Err(format!("{at} has no name."));
                }
                group(user, USER, &at)?;
            }
            _ => return Err(format!("{at} is a name, or {}.", Fields.words())),
        }
    }
    for (i, package) in list(fields.get("packages")).iter().enumerate() {
        if !(package.is_string() || package.is_array() || package.is_object()) {
            return Err(format!("packages[{i}] is the name of a package."));
        }
    }
    for (i, mount) in list(fields.get("mounts")).iter().enumerate() {
        if !mount.as_array().is_some_and(|m| !m.is_empty() && m.len() <= 6) {
            return Err(format!("mounts[{i}] is a list of one to six fields, as a line of fstab."));
        }
    }
    if let Some(Value::Object(passwords)) = fields.get("chpasswd") {
        group(passwords, PASSWORDS, "chpasswd")?;
        for (i, one) in list(passwords.get("users")).iter().enumerate() {
            let at = format!("chpasswd.users[{i}]");
            let one = one.as_object().ok_or_else(|| format!("{at} is {}.", Fields.words()))?;
            if !one.contains_key("name") {
                return Err(format!("{at} has no name."));
            }
            group(one, PASSWORD, &at)?;
        }
    }
    if let Some(Value::Object(power)) = fields.get("power_state") {
        group(power, POWER, "power_state")?;
        if !matches!(power.get("mode").and_then(Value::as_str), Some("poweroff" | "reboot" | "halt")) {
            return Err("power_state.mode is poweroff, reboot or halt.".to_owned());
        }
    }
    groups::check(fields)
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn group(fields: &Map<String, Value>, known: &[(&str, Form)], at: &str) -> Result<(), String> {
    for (key, value) in fields {
        let name = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        match known.iter().find(|(k, _)| k == key) {
            Some((_, form)) if form.fits(value) => {}
            Some((_, form)) => return Err(format!("{name} is {}, and here is {}.", form.words(), given(value))),
            None => {
                let near = known.iter().map(|(k, _)| (distance(key, k), *k)).min().filter(|(d, _)| *d <= 2);
                let hint = near.map(|(_, k)| format!(" Is {k} meant?")).unwrap_or_default();
                return Err(format!("cloud-init knows no {name}.{hint}"));
            }
        }
    }
    Ok(())
}

fn given(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a group of fields",
    }
}

/// How many letters two words differ by; long ones are not looked at.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 40 || a.len().abs_diff(b.len()) > 2 {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(before + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wrong(config: Value) -> String {
        check(config.as_object().expect("fields")).expect_err("wrong")
    }

    #[test]
    fn what_cloud_init_knows_passes() {
        let good = json!({
            "hostname": "web", "packages": ["nginx", ["curl", "8"], {"snap": ["x"]}], "package_update": "yes", "ntp": null,
            "users": ["default", {"name": "ops", "sudo": "ALL=(ALL) NOPASSWD:ALL", "uid": 1000}],
            "write_files": [{"path": "/etc/motd", "content": "hi", "permissions": "0644"}],
            "runcmd": ["systemctl restart nginx", ["echo", 1, null]], "chpasswd": {"expire": false, "users": [{"name": "ops", "type": "RANDOM"}]},
            "mounts": [["/dev/vdb", "/data"]], "power_state": {"mode": "reboot"}, "ssh_pwauth": "unchanged",
        });
        check(good.as_object().expect("fields")).expect("good");
    }

    #[test]
    fn a_slip_is_named_with_its_place() {
        assert_eq!(wrong(json!({"package": ["x"]})), "cloud-init knows no package. Is packages meant?");
        assert_eq!(wrong(json!({"zzz": 1})), "cloud-init knows no zzz.");
        assert!(wrong(json!({"runcmd": "x"})).starts_with("runcmd is a list of commands"));
        assert!(wrong(json!({"runcmd": [{"a": 1}]})).starts_with("runcmd is a list of commands"));
        assert!(wrong(json!({"write_files": [{"content": "x"}]})).contains("write_files[0] has no path"));
        assert!(wrong(json!({"write_files": [{"path": "/x", "permissions": 420}]})).contains("Quote it"));
        assert!(wrong(json!({"users": [{"shell": "/bin/sh"}]})).contains("users[0] has no name"));
        assert_eq!(
            wrong(json!({"users": [{"name": "a", "shel": "x"}]})),
            "cloud-init knows no users[0].shel. Is shell meant?"
        );
        assert!(wrong(json!({"chpasswd": {"users": [{"password": "x"}]}})).contains("chpasswd.users[0]"));
        assert!(wrong(json!({"power_state": {"mode": "sleep"}})).contains("power_state.mode"));
        assert!(wrong(json!({"mounts": ["/dev/vdb"]})).contains("mounts[0]"));
        assert!(wrong(json!({"ssh_authorized_keys": "ssh-rsa AAAA"})).contains("a list of texts"));
    }
}
