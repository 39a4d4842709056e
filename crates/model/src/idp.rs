//! Identity providers: who vouches for the users of an organization, and what their groups are worth there.
use crate::{Fields, Problems, Result, name};
use std::net::IpAddr;

pub const GROUPS_CLAIM: &str = "groups";
pub const SCOPES: &str = "openid profile email";

/// What can be set on an organization's identity provider, but for the client's secret. Roles stand here by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdpSpec {
    /// Compared to the letter, with what the provider says of itself and with every token.
    pub issuer: String,
    pub client_id: String,
    /// The claim that holds the user's groups.
    pub groups_claim: String,
    /// Asked for at sign-in, separated by spaces.
    pub scopes: String,
    /// The allow-list: a group and the role it gives.
    pub groups: Vec<(String, String)>,
    /// For users none of whose groups is listed. None: they can't sign in.
    pub default_role: Option<String>,
}

impl IdpSpec {
    pub fn check(self) -> Result<IdpSpec> {
        let mut problems = Problems::default();
        let issuer = problems.take("issuer", check_issuer(&self.issuer));
        let client_id = problems.take("client_id", needed(&self.client_id, "A client id is needed."));
        let groups_claim = problems.take("groups_claim", needed(&self.groups_claim, "A claim's name is needed."));
        let scopes = problems.take("scopes", check_scopes(&self.scopes));
        let mut groups: Vec<(String, String)> = Vec::new();
        for (group, role) in self.groups {
            let group = problems.take("groups", needed(&group, "A group's name is needed before the role."));
            if groups.iter().any(|(other, _)| *other == group) {
                problems.add("groups", format!("The group {group} stands there twice."));
            }
            groups.push((group, role.trim().to_owned()));
        }
        if groups.is_empty() && self.default_role.is_none() {
            problems.add("groups", "Without any group and without a default role nobody could sign in.");
        }
        problems.done()?;
        groups.sort();
        let default_role = self.default_role.map(|role| role.trim().to_owned());
        Ok(IdpSpec { issuer, client_id, groups_claim, scopes, groups, default_role })
    }
}

impl Fields for IdpSpec {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let groups: Vec<String> = self.groups.iter().map(|(group, role)| format!("{group} = {role}")).collect();
        vec![
            ("issuer", self.issuer.clone()),
            ("client_id", self.client_id.clone()),
            ("groups_claim", self.groups_claim.clone()),
            ("scopes", self.scopes.clone()),
            ("groups", groups.join(", ")),
            ("default_role", self.default_role.clone().unwrap_or_default()),
        ]
    }
}

fn needed(text: &str, missing: &str) -> Result<String, String> {
    let text = name::check_line(text, 256)?;
    if text.is_empty() { Err(missing.into()) } else { Ok(text) }
}

/// `openid` is always among them: without it there is no identity to be had.
fn check_scopes(text: &str) -> Result<String, String> {
    let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let fits = |word: &&str| word.bytes().all(|b| (0x21..0x7f).contains(&b) && b != b'"' && b != b'\\');
    if text.len() > 500 || !words.iter().all(fits) {
        return Err("Scopes are words such as openid profile email, separated by spaces.".into());
    }
    let others = words.into_iter().filter(|word| *word != "openid");
    Ok(std::iter::once("openid").chain(others).collect::<Vec<_>>().join(" "))
}

/// An issuer is an https address without query and fragment. Plain http is for this very machine only.
pub fn check_issuer(text: &str) -> Result<String, String> {
    let text = text.trim();
    let wrong = || "An issuer is an address such as https://login.example.com/realms/acme.".to_owned();
    let (https, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return Err(wrong()),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(authority, |(host, _)| host);
    let in_authority = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
    let in_path = |c: char| c.is_ascii_graphic() && !"?#\\\"<>".contains(c);
    if host.is_empty() || text.len() > 500 || !authority.chars().all(in_authority) || !path.chars().all(in_path) {
        return Err(wrong());
    }
    if !https && !is_loopback(host) {
        return Err("An issuer must be https; plain http is for this machine's own addresses only.".into());
    }
    Ok(text.to_owned())
}

/// Is a host, as it stands in an address, this very machine?
pub fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_https_or_on_this_machine() {
        for good in [
            "https://login.example.com",
            "https://login.example.com/",
            "https://login.example.com:8443/realms/acme",
            "http://127.0.0.1:4000",
            "http://localhost:4000/op",
            "http://[::1]:4000",
        ] {
            assert_eq!(check_issuer(good).as_deref(), Ok(good));
        }
        for bad in [
            "",
            "login.example.com",
            "ftp://login.example.com",
            "https://",
            "https:///realms",
            "http://login.example.com",
            "http://127.0.0.1.example.com",
            "http://localhost.example.com",
            "http://127.0.0.1@example.com",
            "http://localhost:80@example.com",
            "http://127.0.0.1\\@example.com",
            "https://login.example.com/?realm=acme",
            "https://login.example.com/#acme",
            "https://login.example.com/a b",
        ] {
            assert!(check_issuer(bad).is_err(), "{bad}");
        }
    }

    fn spec() -> IdpSpec {
        IdpSpec {
            issuer: "https://login.example.com".into(),
            client_id: "ssvirt".into(),
            groups_claim: GROUPS_CLAIM.into(),
            scopes: "profile, groups openid".into(),
            groups: vec![
                ("staff".into(), "vApp User".into()),
                ("admins".into(), " Organization Administrator ".into()),
            ],
            default_role: None,
        }
    }

    #[test]
    fn openid_is_always_asked_for_and_groups_have_an_order() {
        let checked = spec().check().unwrap();
        assert_eq!(checked.scopes, "openid profile groups");
        assert_eq!(checked.groups[0], ("admins".into(), "Organization Administrator".into()));
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let bad = IdpSpec { issuer: "x".into(), client_id: " ".into(), groups: vec![], ..spec() };
        let Err(crate::Error::Invalid(list)) = bad.check() else { panic!("accepted") };
        assert_eq!(list.iter().map(|e| e.field).collect::<Vec<_>>(), ["issuer", "client_id", "groups"]);
        let twice = IdpSpec { groups: vec![("a".into(), "x".into()), ("a".into(), "y".into())], ..spec() };
        assert!(twice.check().is_err());
    }
}
