//! Fields within fields: what cloud-init knows below the names that are used most.
use super::{
    Form::{self, *},
    group, is_command, list,
};
use serde_json::{Map, Value};

type Known = &'static [(&'static str, Form)];

/// Groups whose fields are all known.
#[rustfmt::skip]
const GROUPS: &[(&str, Known)] = &[
    ("apt", &[
        ("preserve_sources_list", Yes), ("disable_suites", Texts), ("primary", List), ("security", List), ("add_apt_repo_match", Text),
        ("debconf_selections", Fields), ("sources_list", Text), ("conf", Text), ("https_proxy", Text), ("http_proxy", Text),
        ("proxy", Text), ("ftp_proxy", Text), ("sources", Fields),
    ]),
    ("ca_certs", &[("remove_defaults", Yes), ("remove-defaults", Yes), ("trusted", Texts)]),
    ("ca-certs", &[("remove_defaults", Yes), ("remove-defaults", Yes), ("trusted", Texts)]),
    ("growpart", &[("mode", YesOrText), ("devices", Texts), ("ignore_growroot_disabled", Yes)]),
    ("keyboard", &[("layout", Text), ("model", Text), ("variant", Text), ("options", Text)]),
    ("ntp", &[
        ("pools", Texts), ("servers", Texts), ("peers", Texts), ("allow", Texts), ("ntp_client", Text), ("enabled", Yes), ("config", Fields),
    ]),
    ("phone_home", &[("url", Text), ("post", Any), ("tries", Any)]),
    ("random_seed", &[("file", Text), ("data", Text), ("encoding", Text), ("command", Texts), ("command_required", Yes)]),
    ("resolv_conf", &[("nameservers", Texts), ("searchdomains", Texts), ("domain", Text), ("sortlist", Texts), ("options", Fields)]),
    ("snap", &[("assertions", Any), ("commands", Any)]),
    ("ssh", &[("emit_keys_to_console", Yes)]),
    ("swap", &[("filename", Text), ("size", Text), ("maxsize", Text)]),
];

const MIRROR: Known = &[
    ("arches", Texts),
    ("uri", Text),
    ("search", Texts),
    ("search_dns", Yes),
    ("keyid", Text),
    ("key", Text),
    ("keyserver", Text),
];
const SOURCE: Known =
    &[("source", Text), ("keyid", Text), ("key", Text), ("keyserver", Text), ("filename", Text), ("append", Yes)];
const NTP: Known =
    &[("confpath", Text), ("check_exe", Text), ("packages", Texts), ("service_name", Text), ("template", Text)];
const DISK: Known = &[("table_type", Text), ("layout", Any), ("overwrite", Yes)];

#[rustfmt::skip]
const FILE_SYSTEM: Known = &[
    ("label", Text), ("filesystem", Text), ("device", Text), ("partition", Any), ("overwrite", Yes), ("replace_fs", Text),
    ("extra_opts", TextOrTexts), ("cmd", TextOrTexts),
];

pub(super) fn check(fields: &Map<String, Value>) -> Result<(), String> {
    for (name, known) in GROUPS {
        if let Some(Value::Object(of)) = fields.get(*name) {
            group(of, known, name)?;
        }
    }
    apt(fields)?;
    disks(fields)?;
    if let Some(Value::Object(config)) = fields.get("ntp").and_then(|ntp| ntp.get("config")) {
        group(config, NTP, "ntp.config")?;
    }
    if let Some(Value::Object(growpart)) = fields.get("growpart") {
        let mode = growpart.get("mode").and_then(Value::as_str);
        if mode.is_some_and(|m| !matches!(m, "auto" | "growpart" | "gpart" | "off")) {
            return Err("growpart.mode is auto, growpart, gpart or off.".to_owned());
        }
    }
    for (name, repo) in each(fields.get("yum_repos")) {
        let at = format!("yum_repos.{name}");
        let repo = repo.as_object().ok_or_else(|| format!("{at} is {}.", Fields.words()))?;
        // all else is yum's own
        if !["baseurl", "metalink", "mirrorlist"].iter().any(|where_from| repo.contains_key(*where_from)) {
            return Err(format!("{at} has no baseurl, metalink or mirrorlist: say where packages come from."));
        }
    }
    for what in ["assertions", "commands"] {
        let all = fields.get("snap").and_then(|snap| snap.get(what));
        let good = match all {
            None => true,
            Some(Value::Array(all)) => all.iter().all(is_command),
            Some(Value::Object(all)) => all.values().all(is_command),
            Some(_) => false,
        };
        if !good {
            return Err(format!("snap.{what} is a list, or a group of names with one for each."));
        }
    }
    needs(fields, "keyboard", "layout", "say which keys there are")?;
    needs(fields, "phone_home", "url", "say who is called")
}

fn apt(fields: &Map<String, Value>) -> Result<(), String> {
    let Some(Value::Object(apt)) = fields.get("apt") else { return Ok(()) };
    for which in ["primary", "security"] {
        for (i, mirror) in list(apt.get(which)).iter().enumerate() {
            let at = format!("apt.{which}[{i}]");
            let mirror = mirror.as_object().ok_or_else(|| format!("{at} is {}.", Fields.words()))?;
            if !mirror.contains_key("arches") {
                return Err(format!("{at} has no arches: say for which, or [default]."));
            }
            group(mirror, MIRROR, &at)?;
        }
    }
    for (name, source) in each(apt.get("sources")) {
        let at = format!("apt.sources.{name}");
        let source = source.as_object().ok_or_else(|| format!("{at} is {}.", Fields.words()))?;
        group(source, SOURCE, &at)?;
    }
    Ok(())
}

fn disks(fields: &Map<String, Value>) -> Result<(), String> {
    for (device, disk) in each(fields.get("disk_setup")) {
        let at = format!("disk_setup.{device}");
        let disk = disk.as_object().ok_or_else(|| format!("{at} is {}.", Fields.words()))?;
        group(disk, DISK, &at)?;
        if disk.get("table_type").and_then(Value::as_str).is_some_and(|t| !matches!(t, "mbr" | "gpt")) {
            return Err(format!("{at}.table_type is mbr or gpt."));
        }
        let layout = disk.get("layout").unwrap_or(&Value::Null);
        if !(layout.is_null() || layout.is_boolean() || layout.is_array() || layout == "remove") {
            return Err(format!("{at}.layout is true, false, remove, or a list of percentages."));
        }
    }
    for (i, made) in list(fields.get("fs_setup")).iter().enumerate() {
        let at = format!("fs_setup[{i}]");
        let made = made.as_object().ok_or_else(|| format!("{at} is {}.", Fields.words()))?;
        group(made, FILE_SYSTEM, &at)?;
        let says = |key: &str| made.contains_key(key);
        if !(says("cmd") || says("device") && says("filesystem")) {
            return Err(format!("{at} has no device or no filesystem: say what is made of which."));
        }
    }
    Ok(())
}

/// The names of a group, each with what stands there.
fn each(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn needs(fields: &Map<String, Value>, of: &str, what: &str, why: &str) -> Result<(), String> {
    match fields.get(of) {
        Some(Value::Object(there)) if !there.contains_key(what) => Err(format!("{of} has no {what}: {why}.")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wrong(config: Value) -> String {
        check(config.as_object().expect("fields")).expect_err("wrong")
    }

    #[test]
    fn the_examples_of_cloud_inits_own_pages_pass() {
        let good = json!({
            "apt": {
                "preserve_sources_list": false, "disable_suites": ["$RELEASE-updates"], "sources_list": "deb $MIRROR $RELEASE main",
                "primary": [{"arches": ["amd64", "default"], "uri": "http://us.archive.ubuntu.com/ubuntu", "search_dns": false}],
                "security": [{"arches": ["default"], "search": ["http://security.ubuntu.com/ubuntu"]}],
                "debconf_selections": {"set1": "the-package the-package/some-flag boolean true"}, "conf": "APT {}",
                "sources": {"mine.list": {"source": "deb [signed-by=$KEY_FILE] http://x main", "keyid": "F430BBA5", "append": true}},
            },
            "ntp": {"enabled": true, "pools": ["0.int.pool.ntp.org"], "ntp_client": "chrony", "config": {"confpath": "/etc/x", "packages": ["chrony"]}},
            "disk_setup": {"/dev/vdb": {"table_type": "gpt", "layout": [50, [50, 82]], "overwrite": true}, "ephemeral0": {"layout": true}},
            "fs_setup": [{"label": "data", "filesystem": "ext4", "device": "/dev/vdb1", "partition": "auto"}, {"cmd": "mkfs -t x"}],
            "growpart": {"mode": "auto", "devices": ["/"], "ignore_growroot_disabled": false},
            "ca_certs": {"remove_defaults": true, "trusted": ["-----BEGIN CERTIFICATE-----"]},
            "yum_repos": {"epel-testing": {"name": "EPEL", "baseurl": "https://x", "enabled": false, "gpgcheck": true}},
            "snap": {"assertions": {"00": "signed"}, "commands": [["install", "vlc"], "snap install x"]},
            "swap": {"filename": "/swapfile", "size": "auto", "maxsize": 10485760},
            "resolv_conf": {"nameservers": ["8.8.8.8"], "searchdomains": ["x"], "domain": "x", "options": {"rotate": true}},
            "keyboard": {"layout": "us"}, "phone_home": {"url": "https://x", "post": "all"}, "ssh": {"emit_keys_to_console": false},
        });
        check(good.as_object().expect("fields")).expect("good");
        super::super::check(good.as_object().expect("fields")).expect("good");
    }

    #[test]
    fn a_slip_within_a_group_is_named_with_its_place() {
        assert_eq!(wrong(json!({"ntp": {"server": ["x"]}})), "cloud-init knows no ntp.server. Is servers meant?");
        assert!(wrong(json!({"ntp": {"servers": "x"}})).starts_with("ntp.servers is a list of texts"));
        assert!(wrong(json!({"ntp": {"config": {"path": "x"}}})).contains("ntp.config.path"));
        assert!(wrong(json!({"apt": {"source": {}}})).contains("Is sources meant?"));
        assert!(wrong(json!({"apt": {"primary": [{"uri": "x"}]}})).contains("apt.primary[0] has no arches"));
        assert!(wrong(json!({"apt": {"sources": {"a": {"uri": "x"}}}})).contains("apt.sources.a.uri"));
        assert!(wrong(json!({"growpart": {"mode": "always"}})).contains("growpart.mode is"));
        assert!(wrong(json!({"ca_certs": {"trusted": "x"}})).contains("a list of texts"));
        assert!(wrong(json!({"yum_repos": {"x": {"url": "y"}}})).contains("yum_repos.x has no baseurl"));
        assert!(wrong(json!({"yum_repos": {"x": "y"}})).contains("yum_repos.x is a group"));
        assert!(wrong(json!({"snap": {"commands": "x"}})).contains("snap.commands"));
        assert!(wrong(json!({"swap": {"file": "/x"}})).contains("swap.file"));
        assert!(wrong(json!({"disk_setup": {"/dev/vdb": {"table_type": "dos"}}})).contains("mbr or gpt"));
        assert!(wrong(json!({"disk_setup": {"/dev/vdb": {"layout": "all"}}})).contains("layout"));
        assert!(
            wrong(json!({"fs_setup": [{"device": "/dev/vdb"}]})).contains("fs_setup[0] has no device or no filesystem")
        );
        assert!(wrong(json!({"keyboard": {"model": "pc105"}})).contains("keyboard has no layout"));
        assert!(wrong(json!({"phone_home": {"post": "all"}})).contains("phone_home has no url"));
    }
}
