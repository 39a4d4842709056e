//! Product sections: what software asks its owner for, as properties with types, labels and values.
use model::guest::Property;
use std::fmt::Display;
use xml::Writer;

/// All of them in one section; without any there is none.
pub(crate) fn section<'a>(w: &mut Writer, properties: impl IntoIterator<Item = &'a Property>) {
    let mut all = properties.into_iter().peekable();
    if all.peek().is_none() {
        return;
    }
    w.el("ovf:ProductSection", &[("ovf:required", &true)], |w| {
        w.text("ovf:Info", "Information about the installed software");
        all.for_each(|p| property(w, p));
    });
}

fn property(w: &mut Writer, p: &Property) {
    let kind = if p.kind.is_empty() { "string" } else { &p.kind };
    let mut attributes: Vec<(&str, &dyn Display)> = vec![
        ("ovf:key", &p.key),
        ("ovf:type", &kind),
        ("ovf:userConfigurable", &p.user_configurable),
        ("ovf:value", &p.value),
    ];
    if p.password {
        attributes.push(("ovf:password", &true));
    }
    w.el("ovf:Property", &attributes, |w| {
        if !p.label.is_empty() {
            w.text("ovf:Label", &p.label);
        }
        if !p.description.is_empty() {
            w.text("ovf:Description", &p.description);
        }
        w.empty("ovf:Value", &[("ovf:value", &p.value)]);
    });
}
