//! What templates of hubs ask for, by OpenShift's rules: `${NAME}` anywhere in a text, `${{NAME}}` as a whole one.
use crate::{
    image::{Image, is_name},
    quantity,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Something a template asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameter {
    pub name: String,
    pub label: String,
    pub description: String,
    pub value: String,
    pub required: bool,
    /// Made up by the template if nothing is given.
    pub generated: bool,
    /// Put in as it is, not as a text: a number, true or false.
    pub bare: bool,
    pub takes: Takes,
    /// It says nothing but how large a machine is, which is asked for anyway, machine by machine.
    pub size: bool,
    /// A password or the like: typed unseen, and its default is not shown.
    pub secret: bool,
}

/// What fits where a parameter goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Takes {
    #[default]
    Anything,
    /// How many: `2`.
    Count,
    /// How much: `30Gi`.
    Amount,
    /// What something on a hub is called.
    Name,
    /// Where an image is fetched from.
    Address,
}

/// What was given, by the parameter's name.
pub type Given = BTreeMap<String, String>;

impl Parameter {
    const LONGEST: usize = 4096;

    pub fn label(&self) -> &str {
        if self.label.is_empty() { &self.name } else { &self.label }
    }

    /// Must somebody give a value?
    pub fn needed(&self) -> bool {
        self.required && self.value.is_empty() && !self.generated && !self.size
    }

    /// What is wrong with a value for it; None: nothing.
    pub fn wrong(&self, value: &str) -> Option<String> {
        let label = self.label();
        let number = |text: &str| text.trim().parse::<f64>().is_ok();
        match () {
            () if value.trim().is_empty() => self.needed().then(|| format!("{label} is needed.")),
            () if value.chars().count() > Self::LONGEST => {
                Some(format!("{label} is longer than {} characters.", Self::LONGEST))
            }
            () if value.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) => {
                Some(format!("{label} has characters that can't be read."))
            }
            () if self.bare && number(&self.value) && !number(value) => {
                Some(format!("{label} takes a number, such as {}.", self.value))
            }
            () if self.bare && value.trim_start().starts_with(['{', '[']) => {
                Some(format!("{label} takes one value, not a structure."))
            }
            () => self.unfit(value.trim()),
        }
    }

    fn unfit(&self, value: &str) -> Option<String> {
        let label = self.label();
        match self.takes {
            Takes::Count if count(value).is_none() => Some(format!("{label} takes a whole number, such as 2.")),
            Takes::Amount if amount(value).is_none() => Some(format!("{label} takes an amount, such as 4Gi.")),
            Takes::Name if !is_name(value) => Some(format!(
                "{label} takes the name of something on a hub: small letters, digits, - and . between them."
            )),
            Takes::Address if !matches!(Image::parse(value), Ok(Image::Registry(_) | Image::Web(_))) => {
                Some(format!("{label} takes an address that begins with docker://, https:// or http://."))
            }
            _ => None,
        }
    }
}

/// The value of a parameter as OpenShift has it: what is given, else its default, else nothing. None: there is no such parameter.
pub fn value(all: &[Parameter], given: &Given, name: &str) -> Option<String> {
    let p = all.iter().find(|p| p.name == name)?;
    let given = given.get(name).filter(|v| !v.trim().is_empty());
    Some(given.unwrap_or(&p.value).trim().to_owned())
}

/// Values put in, once: what a value holds is not looked at again. What `value` does not know stays as it is.
pub fn put(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let whole = place(rest);
        match whole.and_then(|(name, _)| value(name)) {
            Some(value) => out.push_str(&value),
            None => out.push_str(&rest[..whole.map_or(2, |(_, length)| length)]),
        }
        rest = &rest[whole.map_or(2, |(_, length)| length)..];
    }
    out.push_str(rest);
    out
}

/// The parameters that a text names.
pub fn named(text: &str) -> Vec<&str> {
    let places = text.match_indices("${").filter_map(|(at, _)| place(&text[at..]));
    places.map(|(name, _)| name).collect()
}

/// The parameter at the beginning of a text, and how long its place is.
fn place(text: &str) -> Option<(&str, usize)> {
    let inside = text.strip_prefix("${")?;
    let (inside, end) = match inside.strip_prefix('{') {
        Some(inside) => (inside, "}}"),
        None => (inside, "}"),
    };
    let name = inside.get(..inside.find(end)?)?;
    let good = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    good.then(|| (name, name.len() + 1 + 2 * end.len()))
}

/// Is a text one parameter, and nothing else?
pub fn is_whole(text: &str) -> bool {
    place(text).is_some_and(|(_, length)| length == text.len())
}

/// How many; None: it does not say.
pub fn count(text: &str) -> Option<i32> {
    text.trim().parse().ok().filter(|n| *n > 0)
}

/// How much, in MB; None: it does not say.
pub fn amount(text: &str) -> Option<i64> {
    quantity::mib(text).filter(|mb| *mb > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str, value: &str) -> Parameter {
        Parameter { name: name.into(), value: value.into(), ..Parameter::default() }
    }

    #[test]
    fn a_value_that_does_not_fit_is_told_by_the_parameters_own_label() {
        let host = Parameter { name: "HOST".into(), label: "Host".into(), required: true, ..Parameter::default() };
        assert_eq!(host.wrong("").as_deref(), Some("Host is needed."));
        assert_eq!(host.wrong("shop.example"), None);
        assert_eq!(host.wrong(&"x".repeat(5000)).as_deref(), Some("Host is longer than 4096 characters."));
        assert!(host.wrong("a\u{0}b").is_some());
        assert_eq!(Parameter { generated: true, ..host }.wrong(""), None);
        let port = Parameter { bare: true, ..parameter("PORT", "80") };
        assert_eq!((port.wrong(""), port.wrong("8080")), (None, None));
        assert_eq!(port.wrong("http").as_deref(), Some("PORT takes a number, such as 80."));
        let any = Parameter { value: String::new(), ..port };
        assert_eq!(any.wrong("{}").as_deref(), Some("PORT takes one value, not a structure."));
    }

    #[test]
    fn a_value_fits_where_it_goes() {
        let takes = |takes| Parameter { takes, ..parameter("P", "") };
        for (what, good, bad) in [
            (Takes::Count, "2", "two"),
            (Takes::Count, " 16 ", "0"),
            (Takes::Amount, "30Gi", "much"),
            (Takes::Amount, "1e9", "-1Gi"),
            (Takes::Name, "fedora-43", "../acme/root"),
            (Takes::Name, "rhel9.4", "Fedora"),
            (Takes::Address, "docker://quay.io/x", "claim/acme/root"),
            (Takes::Address, "http://example.org/x", "quay.io/x"),
        ] {
            assert_eq!(takes(what).wrong(good), None, "{good}");
            assert!(takes(what).wrong(bad).is_some(), "{bad}");
        }
        let size = Parameter { required: true, size: true, ..takes(Takes::Amount) };
        assert_eq!((size.wrong(""), size.needed()), (None, false), "it is asked for as a size");
    }

    #[test]
    fn values_are_put_in_by_openshifts_rules() {
        let all = [parameter("A", "one"), parameter("B", ""), parameter("C", "${A}")];
        let given = Given::from([("B".to_owned(), "two ".to_owned()), ("A".to_owned(), " ".to_owned())]);
        let put = |text| put(text, |name| value(&all, &given, name));
        assert_eq!(put("${A}-${B}/${A}"), "one-two/one");
        assert_eq!(put("${{A}}"), "one");
        assert_eq!(put("${C}"), "${A}", "what a value holds is not looked at again");
        assert_eq!(put("${OTHER} $A ${ A} ${A"), "${OTHER} $A ${ A} ${A", "unknown ones stay");
        assert_eq!(put("€${A}€"), "€one€");
        assert_eq!(named("x${A}-${{B}}${}"), ["A", "B"]);
        assert!(is_whole("${A}") && is_whole("${{A}}") && !is_whole("${A}x") && !is_whole("A"));
    }
}
