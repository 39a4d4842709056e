//! Descriptors as XML, within the limits of descriptors.
use crate::{
    limit,
    refused::{Reason, Refused, Result},
};
pub(crate) use ::xml::Element;

const LIMITS: ::xml::Limits = ::xml::Limits {
    what: "descriptor",
    bytes: limit::DESCRIPTOR_BYTES,
    depth: limit::DEPTH,
    elements: limit::ELEMENTS,
    attributes: limit::ATTRIBUTES,
    name_bytes: limit::NAME_BYTES,
    lenient: false,
};

/// The one element of a descriptor.
pub(crate) fn parse(text: &str) -> Result<Element> {
    ::xml::parse(text, &LIMITS).map_err(Refused::from)
}

impl From<::xml::Fault> for Refused {
    fn from(fault: ::xml::Fault) -> Refused {
        let reason = match fault.reason {
            ::xml::Reason::Malformed => Reason::Malformed,
            ::xml::Reason::Entity => Reason::Entity,
            ::xml::Reason::TooDeep => Reason::TooDeep,
            ::xml::Reason::TooMany => Reason::TooMany,
            ::xml::Reason::TooLarge => Reason::TooLarge,
            ::xml::Reason::Duplicate => Reason::Duplicate,
        };
        Refused::new(reason, fault.at, fault.message)
    }
}
