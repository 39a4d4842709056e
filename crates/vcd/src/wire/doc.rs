//! What documents have in common: their namespaces, links and references.
use crate::wire::{href::Base, media};
use model::UserId;
use std::fmt::Display;
use xml::Writer;

pub(crate) const VCLOUD: &str = "http://www.vmware.com/vcloud/v1.5";
pub(crate) const OVF: &str = "http://schemas.dmtf.org/ovf/envelope/1";

/// Every document declares the same: parts of one are sent back inside others.
const NAMESPACES: [(&str, &str); 8] = [
    ("xmlns", VCLOUD),
    ("xmlns:vcloud", VCLOUD),
    ("xmlns:ovf", OVF),
    ("xmlns:rasd", "http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"),
    ("xmlns:vssd", "http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData"),
    ("xmlns:vmw", "http://www.vmware.com/schema/ovf"),
    ("xmlns:vmext", "http://www.vmware.com/vcloud/extension/v1.5"),
    ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"),
];

/// A whole document with its root element.
pub(crate) fn document(root: &str, attributes: &[(&str, &dyn Display)], fill: impl FnOnce(&mut Writer)) -> String {
    let mut w = Writer::document();
    let mut all: Vec<(&str, &dyn Display)> = NAMESPACES.iter().map(|(n, v)| (*n, v as &dyn Display)).collect();
    all.extend_from_slice(attributes);
    w.el(root, &all, fill);
    w.into_string()
}

/// A section of a thing, which has an address of its own too.
pub(crate) fn section(w: &mut Writer, name: &str, href: &str, kind: &str, fill: impl FnOnce(&mut Writer)) {
    w.el(name, &[("ovf:required", &false), ("href", &href), ("type", &kind)], fill);
}

/// The same as a document.
pub(crate) fn section_document(name: &str, href: &str, kind: &str, fill: impl FnOnce(&mut Writer)) -> String {
    document(name, &[("ovf:required", &false), ("href", &href), ("type", &kind)], fill)
}

/// A link with the media type of what is behind it or of what it takes.
pub(crate) fn link(w: &mut Writer, rel: &str, href: impl Display, kind: &str) {
    w.empty("Link", &[("rel", &rel), ("href", &href), ("type", &kind)]);
}

pub(crate) fn named_link(w: &mut Writer, rel: &str, href: impl Display, kind: &str, name: &str) {
    w.empty("Link", &[("rel", &rel), ("href", &href), ("type", &kind), ("name", &name)]);
}

/// A link for an action without a body. Clients look for exactly that: one with a type is not seen.
pub(crate) fn action(w: &mut Writer, rel: &str, href: impl Display) {
    w.empty("Link", &[("rel", &rel), ("href", &href)]);
}

/// `<Name href id name type/>`
pub(crate) fn reference(w: &mut Writer, element: &str, href: impl Display, id: impl Display, name: &str, kind: &str) {
    w.empty(element, &[("href", &href), ("id", &id), ("name", &name), ("type", &kind)]);
}

/// Where the user of what nobody has would be.
pub(crate) const NOBODY: &str = "admin/user/none";

/// Whose it is. What nobody has belongs to nobody we could name, and clients need a user there.
pub(crate) fn owner(w: &mut Writer, base: &Base, owner: Option<UserId>, name: &str) {
    w.el("Owner", &[("type", &media::OWNER)], |w| owner_user(w, base, owner, name));
}

pub(crate) fn owner_user(w: &mut Writer, base: &Base, owner: Option<UserId>, name: &str) {
    match owner {
        Some(id) => reference(w, "User", base.user(id), id.urn(), name, media::ADMIN_USER),
        None => w.empty("User", &[("href", &base.api(NOBODY)), ("name", &"system"), ("type", &media::ADMIN_USER)]),
    }
}
