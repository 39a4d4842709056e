//! What names, texts and passwords may look like. The database has the same rules as constraints, but for what can't be seen.

/// Names of organizations and VDCs: they stand in addresses and become part of namespace names.
pub fn check_name(name: &str) -> Result<String, String> {
    let name = name.trim();
    if name.is_empty() {
        return Err("A name is needed.".into());
    }
    if name.len() > 63 {
        return Err(format!("At most 63 characters; this has {}.", name.chars().count()));
    }
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')) {
        return Err("Letters, digits, dots, hyphens and underscores only.".into());
    }
    if !starts_and_ends_alphanumeric(name) {
        return Err("It begins and ends with a letter or a digit.".into());
    }
    Ok(name.to_owned())
}

pub fn check_user_name(name: &str) -> Result<String, String> {
    let name = name.trim();
    if name.is_empty() {
        return Err("A user name is needed.".into());
    }
    if name.len() > 128 {
        return Err("At most 128 characters.".into());
    }
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'@' | b'+')) {
        return Err("Letters, digits and . _ - @ + only.".into());
    }
    if !starts_and_ends_alphanumeric(name) {
        return Err("It begins and ends with a letter or a digit.".into());
    }
    Ok(name.to_owned())
}

/// Names that are labels of DNS and Kubernetes as they stand: hubs, namespaces, computers.
pub fn check_label(label: &str) -> Result<String, String> {
    let label = label.trim();
    if label.is_empty() {
        return Err("A name is needed.".into());
    }
    if label.len() > 63 {
        return Err(format!("At most 63 characters; this has {}.", label.chars().count()));
    }
    if !label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        return Err("Small letters, digits and hyphens only.".into());
    }
    if !starts_and_ends_alphanumeric(label) {
        return Err("It begins and ends with a letter or a digit.".into());
    }
    Ok(label.to_owned())
}

/// Names of vApps, VMs and templates: for people, so nearly anything on one line.
pub fn check_title(title: &str) -> Result<String, String> {
    let title = check_line(title, 128)?;
    if title.is_empty() {
        return Err("A name is needed.".into());
    }
    Ok(title)
}

/// The nearest label to a name, at most so long; `vm` where nothing is left of it.
pub fn label_from(name: &str, at_most: usize) -> String {
    let mut label = String::new();
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => label.push(c.to_ascii_lowercase()),
            _ if !label.ends_with('-') && !label.is_empty() => label.push('-'),
            _ => {}
        }
    }
    label.truncate(at_most);
    let label = label.trim_end_matches('-');
    if label.is_empty() { "vm".to_owned() } else { label.to_owned() }
}

fn starts_and_ends_alphanumeric(name: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    edge(name.as_bytes().first()) && edge(name.as_bytes().last())
}

/// One line of free text.
pub fn check_line(text: &str, at_most: usize) -> Result<String, String> {
    let text = text.trim();
    if text.chars().count() > at_most {
        return Err(format!("At most {at_most} characters."));
    }
    if text.chars().any(char::is_control) {
        return Err("One line of plain text, without control characters.".into());
    }
    if let Some(c) = text.chars().find(|c| unseen(*c)) {
        return Err(misleading(c));
    }
    Ok(text.to_owned())
}

/// Characters that have no shape of their own, but turn the text around them or make two names look alike. The two joiners
/// U+200C and U+200D are none of them: some scripts can't be written without them.
pub fn unseen(c: char) -> bool {
    turns(c) || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2060}' | '\u{feff}')
}

/// Those that have whole passages read in another order. Marks for single places are plain text where a line has two directions.
fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn misleading(c: char) -> String {
    format!(
        "There is a character in it that can't be seen and misleads who reads it (U+{:04X}). Type it anew.",
        c as u32
    )
}

/// Free text of several lines.
pub fn check_text(text: &str) -> Result<String, String> {
    let text = text.trim().replace("\r\n", "\n");
    if text.chars().count() > 2000 {
        return Err("At most 2,000 characters.".into());
    }
    if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Err("Plain text only, without control characters.".into());
    }
    if let Some(c) = text.chars().find(|c| turns(*c)) {
        return Err(misleading(c));
    }
    Ok(text)
}

pub fn check_email(email: &str) -> Result<String, String> {
    let email = email.trim();
    let well_formed = match email.split_once('@') {
        Some((who, host)) => !who.is_empty() && !host.is_empty() && !host.contains('@'),
        None => email.is_empty(),
    };
    if !well_formed || email.len() > 254 || email.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("Not an e-mail address. It looks like name@example.org.".into());
    }
    Ok(email.to_owned())
}

const PASSWORD_MAX: usize = 256;

/// What an installation asks of passwords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordRules {
    /// So many characters at least.
    pub min: usize,
    /// What is easy to guess is refused.
    pub strict: bool,
}

impl PasswordRules {
    /// What a form says beside the field.
    pub fn hint(self) -> String {
        format!("At least {} characters.", self.min)
    }
}

impl Default for PasswordRules {
    fn default() -> PasswordRules {
        PasswordRules { min: 10, strict: true }
    }
}

/// Length and the obvious, as NIST SP 800-63B has it; no rules about kinds of characters.
pub fn check_password(password: &str, user_name: &str, rules: PasswordRules) -> Result<String, String> {
    if password.chars().count() < rules.min {
        return Err(format!("At least {} characters.", rules.min));
    }
    if password.len() > PASSWORD_MAX {
        return Err(format!("At most {PASSWORD_MAX} bytes."));
    }
    if !rules.strict {
        return Ok(password.to_owned());
    }
    let lower = password.to_lowercase();
    if !user_name.is_empty() && lower.contains(&user_name.to_lowercase()) {
        return Err("It must not contain the user name.".into());
    }
    let mut seen: Vec<char> = lower.chars().collect();
    seen.sort_unstable();
    seen.dedup();
    const COMMON: [&str; 6] = ["password", "passw0rd", "1234567890", "qwertyuiop", "letmein", "changeme"];
    if seen.len() < 5 || COMMON.iter().any(|c| lower.starts_with(c)) {
        return Err("Too easy to guess. Several words that don't belong together are good.".into());
    }
    Ok(password.to_owned())
}

/// The namespace a VDC gets on a hub: `vdc-{org}-{vdc}`, cut to 63 characters, with six digits of the id appended
/// when the plain form is cut or `taken`, so that two tenants never meet in one namespace.
pub fn namespace_name(org: &str, vdc: &str, id: uuid::Uuid, taken: bool) -> String {
    let slug = |s: &str| -> String {
        s.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
    };
    let plain = format!("vdc-{}-{}", slug(org), slug(vdc));
    if plain.len() <= 63 && !taken {
        return plain;
    }
    let hex = id.simple().to_string();
    let tail = &hex[hex.len() - 6..];
    let head: String = plain.chars().take(56).collect();
    format!("{}-{tail}", head.trim_end_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_begins_and_ends_well_and_has_no_odd_characters() {
        for good in ["a", "acme", "acme-prod", "A.b_c-9", &"x".repeat(63)] {
            assert_eq!(check_name(good).as_deref(), Ok(good));
        }
        for bad in ["", " ", "-a", "a-", "a b", "a/b", "ä", "a\u{0}b", &"x".repeat(64)] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_cant_be_seen_is_in_no_name_and_what_turns_text_in_no_text() {
        for c in "\u{61c}\u{200b}\u{200e}\u{200f}\u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{feff}".chars() {
            let said = check_title(&format!("web{c}01")).expect_err("a name with it");
            assert!(said.contains(&format!("U+{:04X}", c as u32)), "{said}");
        }
        for c in ['\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}'] {
            assert!(check_text(&format!("first\nsecond{c}")).is_err(), "{c:?}");
        }
        assert!(check_text("\u{200f}שלום, \u{200e}web-1").is_ok());
        for good in ["می\u{200c}خواهم", "क्\u{200d}ष", "\u{1f469}\u{200d}\u{1f680}", "Kunden & Söhne", "東京"]
        {
            assert_eq!(check_title(good).as_deref(), Ok(good));
        }
    }

    #[test]
    fn a_password_is_long_and_not_the_obvious_one() {
        let rules = PasswordRules::default();
        assert!(check_password("ssvirt-demo", "acme-admin", rules).is_ok());
        for bad in ["short", "aaaaaaaaaaaa", "password12345", "acme-admin-1234", &"x".repeat(300)] {
            assert!(check_password(bad, "acme-admin", rules).is_err(), "{bad:?}");
        }
        let lax = PasswordRules { min: 8, strict: false };
        assert!(check_password("Passw0rd1", "acme-admin", lax).is_ok());
        assert!(check_password("short", "acme-admin", lax).is_err());
    }

    #[test]
    fn a_cut_or_taken_namespace_name_carries_a_piece_of_the_id_and_fits() {
        let id = uuid::Uuid::from_u128(0x0192_c3b0_9a10_7f44_a5d2_3e6b_8c1f_0d92);
        assert_eq!(namespace_name("acme", "prod", id, false), "vdc-acme-prod");
        assert_eq!(namespace_name("Acme.X", "prod_1", id, false), "vdc-acme-x-prod-1");
        assert_eq!(namespace_name("acme", "prod", id, true), "vdc-acme-prod-1f0d92");
        let long = namespace_name(&"o".repeat(63), &"v".repeat(63), id, false);
        assert!(long.len() <= 63 && long.ends_with("-1f0d92"), "{long}");
    }
}
