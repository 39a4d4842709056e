//! What the guest of a VM is told: its administrator's password, a script, keys, cloud-init, and what its template asks for.
use crate::{Error, Problems, Result, fields::Fields};
use serde::{Deserialize, Serialize};

/// Longest script, as VCD has it.
pub const LONGEST_SCRIPT: usize = 49_000;
const LONGEST_PASSWORD: usize = 127;
const LONGEST_VALUE: usize = 4096;
/// How often an administrator can be signed in by itself.
const MOST_LOGONS: i32 = 100;

/// Kept sealed as a whole: any of it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GuestSettings {
    /// Are the computer's name, password and script brought into the guest?
    pub enabled: bool,
    /// Of Windows: a new security id, as sysprep gives it.
    pub change_sid: bool,
    /// Is the administrator's password set?
    pub set_password: bool,
    /// It is made up here.
    pub auto_password: bool,
    pub password: String,
    /// It is to be changed at the first sign-in.
    pub reset_password: bool,
    /// Of Windows: so often the administrator is signed in by itself.
    pub auto_logons: i32,
    /// Run once before and once after the rest, with `precustomization` and `postcustomization` as its argument.
    pub script: String,
    pub ssh_keys: Vec<String>,
    /// cloud-init's user data.
    pub user_data: String,
    pub properties: Vec<Property>,
    /// Counts the changes: a guest does each of them once.
    pub run: i32,
    /// Somebody gave its computer another name: that is something to tell by itself.
    pub named: bool,
}

impl Default for GuestSettings {
    fn default() -> GuestSettings {
        GuestSettings {
            enabled: true,
            change_sid: false,
            set_password: false,
            auto_password: false,
            password: String::new(),
            reset_password: false,
            auto_logons: 0,
            script: String::new(),
            ssh_keys: Vec::new(),
            user_data: String::new(),
            properties: Vec::new(),
            run: 0,
            named: false,
        }
    }
}

impl GuestSettings {
    pub fn check(&self, problems: &mut Problems) {
        let odd = |text: &str| text.chars().any(char::is_control);
        if self.set_password && !self.auto_password && self.password.is_empty() {
            problems.add("password", "Give a password, or let one be made up.");
        }
        if self.password.chars().count() > LONGEST_PASSWORD || odd(&self.password) {
            problems.add("password", format!("At most {LONGEST_PASSWORD} characters, and none that can't be typed."));
        }
        if self.script.chars().count() > LONGEST_SCRIPT {
            problems.add("script", format!("At most {LONGEST_SCRIPT} characters. Let it download the rest."));
        }
        if self.script.contains('\0') {
            problems.add("script", "It has a character that no shell reads.");
        }
        if !(0..=MOST_LOGONS).contains(&self.auto_logons) {
            problems.add("auto_logons", format!("From 0 to {MOST_LOGONS}."));
        }
        for p in &self.properties {
            if let Some(wrong) = p.wrong(&p.value) {
                problems.add("properties", wrong);
            }
        }
    }

    /// Is there nothing to tell?
    pub fn is_empty(&self) -> bool {
        *self == GuestSettings { run: self.run, ..GuestSettings::default() }
    }

    /// For somebody who may not know what is in it.
    #[must_use]
    pub fn without_secrets(self) -> GuestSettings {
        GuestSettings { script: String::new(), user_data: String::new(), ..self.without_passwords() }
    }

    /// For somebody who may change the rest of it.
    #[must_use]
    pub fn without_passwords(mut self) -> GuestSettings {
        self.password = String::new();
        for p in self.properties.iter_mut().filter(|p| p.password) {
            p.value = String::new();
        }
        self
    }
}

/// For the audit: that something is set and not what it is.
impl Fields for (&str, &GuestSettings) {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let (computer_name, g) = self;
        let yes = |on: bool| if on { "yes" } else { "no" }.to_owned();
        let set = |text: &str| if text.trim().is_empty() { "none" } else { "set" }.to_owned();
        let password = match (g.set_password, g.auto_password) {
            (false, _) => "as the image has it",
            (true, true) => "made up",
            (true, false) => "set",
        };
        let shown = |p: &Property| match p.password {
            true => format!("{}: {}", p.key, set(&p.value)),
            false => format!("{}: {}", p.key, p.value),
        };
        vec![
            ("computer_name", (*computer_name).to_owned()),
            ("enabled", yes(g.enabled)),
            ("change_sid", yes(g.change_sid)),
            ("password", password.to_owned()),
            ("reset_password", yes(g.reset_password)),
            ("auto_logons", g.auto_logons.to_string()),
            ("script", set(&g.script)),
            ("ssh_keys", g.ssh_keys.len().to_string()),
            ("user_data", set(&g.user_data)),
            ("properties", g.properties.iter().map(shown).collect::<Vec<_>>().join("; ")),
            ("run", g.run.to_string()),
        ]
    }
}

/// Something that a template asks its owner for, and the guest reads from its OVF environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Property {
    /// `class.key.instance`
    pub key: String,
    /// As OVF has it: `string`, `boolean`, `uint16`…
    pub kind: String,
    pub value: String,
    pub label: String,
    pub description: String,
    pub user_configurable: bool,
    pub password: bool,
    /// Of the whole vApp: all its VMs have the same.
    pub shared: bool,
}

impl Property {
    pub fn label(&self) -> &str {
        if self.label.is_empty() { &self.key } else { &self.label }
    }

    /// What is wrong with a value for it; None: nothing.
    pub fn wrong(&self, value: &str) -> Option<String> {
        let label = self.label();
        let range = |low: i128, high: i128| {
            let fits = value.trim().parse::<i128>().is_ok_and(|n| (low..=high).contains(&n));
            (!fits).then(|| format!("{label} takes a whole number from {low} to {high}."))
        };
        match self.kind.as_str() {
            _ if value.chars().count() > LONGEST_VALUE => {
                Some(format!("{label} is longer than {LONGEST_VALUE} characters."))
            }
            _ if value.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) => {
                Some(format!("{label} has characters that can't be read."))
            }
            _ if value.is_empty() => None,
            "boolean" => (!matches!(value.to_ascii_lowercase().as_str(), "true" | "false"))
                .then(|| format!("{label} is either true or false.")),
            "uint8" => range(0, u8::MAX.into()),
            "sint8" => range(i8::MIN.into(), i8::MAX.into()),
            "uint16" => range(0, u16::MAX.into()),
            "sint16" => range(i16::MIN.into(), i16::MAX.into()),
            "uint32" => range(0, u32::MAX.into()),
            "sint32" => range(i32::MIN.into(), i32::MAX.into()),
            "uint64" => range(0, u64::MAX.into()),
            "sint64" | "int" => range(i64::MIN.into(), i64::MAX.into()),
            "real32" | "real64" => {
                let fits = value.trim().parse::<f64>().is_ok_and(f64::is_finite);
                (!fits).then(|| format!("{label} takes a number."))
            }
            _ => None,
        }
    }
}

/// The properties of a template with what was given for them.
pub fn filled<'a>(
    asked: impl IntoIterator<Item = &'a Property>,
    given: impl Fn(&Property) -> Option<String>,
) -> Result<Vec<Property>> {
    let mut out = Vec::new();
    for p in asked {
        let mut p = p.clone();
        match given(&p) {
            Some(value) if !p.user_configurable && value != p.value => {
                return Err(Error::field("properties", format!("{} is the template's to say.", p.label())));
            }
            Some(value) => p.value = value,
            None => {}
        }
        out.push(p);
    }
    Ok(out)
}

/// Is it a Windows? By what its template calls it.
pub fn is_windows(os: &str, preference: &str) -> bool {
    let os = os.to_ascii_lowercase();
    os.contains("windows") || os.starts_with("win") || preference.starts_with("windows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_held_against_their_type() {
        let of = |kind: &str| Property { key: "p".into(), kind: kind.into(), ..Property::default() };
        for (kind, good, bad) in [
            ("boolean", "true", "yes"),
            ("uint8", "255", "256"),
            ("sint8", "-128", "-129"),
            ("uint16", "80", "http"),
            ("real32", "1.5", "NaN"),
            ("string", "any", "a\u{0}b"),
        ] {
            assert_eq!(of(kind).wrong(good), None, "{kind}");
            assert!(of(kind).wrong(bad).is_some(), "{kind} {bad}");
        }
        assert_eq!(of("uint8").wrong(""), None, "nothing given is nothing wrong");
    }

    #[test]
    fn the_audit_names_no_secret() {
        let settings = GuestSettings {
            set_password: true,
            password: "hunter2".into(),
            script: "echo hunter2".into(),
            user_data: "#cloud-config\npassword: hunter2".into(),
            properties: vec![Property {
                key: "db".into(),
                password: true,
                value: "hunter2".into(),
                ..Property::default()
            }],
            ..GuestSettings::default()
        };
        let told = format!("{:?}", ("web", &settings).fields());
        assert!(!told.contains("hunter2"), "{told}");
        let hidden = format!("{:?}", settings.without_secrets());
        assert!(!hidden.contains("hunter2"), "{hidden}");
    }

    #[test]
    fn what_the_template_says_itself_is_not_given() {
        let fixed = Property { key: "a".into(), value: "1".into(), ..Property::default() };
        let open = Property { key: "b".into(), user_configurable: true, ..Property::default() };
        let all = [fixed, open];
        let given = filled(&all, |p| (p.key == "b").then(|| "2".to_owned())).expect("fits");
        assert_eq!(given.iter().map(|p| p.value.as_str()).collect::<Vec<_>>(), ["1", "2"]);
        assert!(filled(&all, |p| (p.key == "a").then(|| "3".to_owned())).is_err());
    }

    #[test]
    fn windows_is_known_by_its_name() {
        assert!(is_windows("Microsoft Windows Server 2022", ""));
        assert!(is_windows("win2k22", ""));
        assert!(is_windows("", "windows.11"));
        assert!(!is_windows("Ubuntu 24.04", "ubuntu"));
        assert!(!is_windows("darwin", ""));
    }
}
