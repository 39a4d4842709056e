//! What a product asks its owner for: properties with types, labels and defaults.
use crate::{
    envelope::OVF,
    limit,
    refused::{Reason, Result, refuse},
    xml::Element,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Property {
    /// `class.key.instance`, as the guest is told.
    pub key: String,
    pub kind: String,
    pub value: String,
    pub label: String,
    pub description: String,
    pub user_configurable: bool,
    pub password: bool,
}

pub(crate) fn read(section: &Element, into: &mut Vec<Property>) -> Result<()> {
    let (class, instance) = (section.attribute(OVF, "class"), section.attribute(OVF, "instance"));
    for p in section.all("Property") {
        let Some(key) = p.attribute(OVF, "key").filter(|k| !k.is_empty()) else {
            return refuse(Reason::Missing, "Property", "It has no ovf:key.");
        };
        let parts = [class, Some(key), instance];
        let key = parts.into_iter().flatten().filter(|p| !p.is_empty()).collect::<Vec<_>>().join(".");
        if into.iter().any(|other| other.key == key) {
            return refuse(Reason::Duplicate, key, "Two properties have this key.");
        }
        if into.len() >= limit::PROPERTIES {
            return refuse(Reason::TooMany, "Property", format!("More than {} properties.", limit::PROPERTIES));
        }
        let value = p.attribute(OVF, "value").or_else(|| p.child("Value")?.attribute(OVF, "value"));
        into.push(Property {
            kind: p.attribute(OVF, "type").unwrap_or("string").to_owned(),
            value: value.unwrap_or_default().to_owned(),
            label: p.text_of("Label").unwrap_or_default().to_owned(),
            description: p.text_of("Description").unwrap_or_default().to_owned(),
            user_configurable: p.attribute(OVF, "userConfigurable") == Some("true"),
            password: p.attribute(OVF, "password") == Some("true"),
            key,
        });
    }
    Ok(())
}
