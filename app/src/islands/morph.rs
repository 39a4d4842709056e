//! Changes the page into a newer copy of itself, touching only what differs: focus, open menus, islands and whatever is
//! being typed stay as they are.
use super::dom::{document, nodes};
use leptos::prelude::window;
use std::collections::{HashMap, HashSet};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DomParser, Element, HtmlElement, Node, SupportedType};

/// Brings every `data-live` region up to date from the same region, found by id, of the page's newer HTML.
pub(super) fn apply(html: &str) {
    let Ok(newer) = DomParser::new().and_then(|parser| parser.parse_from_string(html, SupportedType::TextHtml)) else {
        return;
    };
    let focused = document().active_element();
    let Ok(regions) = document().query_selector_all("[data-live]") else { return };
    for old in nodes(regions) {
        if let Some(new) = key(&old).and_then(|id| newer.get_element_by_id(&id)) {
            morph(&old, &new);
        }
    }
    // A row that moved takes its focus along.
    if let Some(was) = focused
        && was.is_connected()
        && document().active_element().as_ref() != Some(&was)
    {
        let _ = was.unchecked_into::<HtmlElement>().focus();
    }
}

fn morph(old: &Node, new: &Node) {
    if old.is_equal_node(Some(new)) {
        return;
    }
    match (old.dyn_ref::<Element>(), new.dyn_ref::<Element>()) {
        (Some(old), Some(new)) if old.tag_name() == new.tag_name() && key(old) == key(new) => {
            if !has_its_own_life(old) {
                attributes(old, new);
                children(old, new);
            }
        }
        (None, None) if old.node_type() == new.node_type() => old.set_node_value(new.node_value().as_deref()),
        _ => {
            if let (Some(parent), Some(copy)) = (old.parent_node(), import(new)) {
                let _ = parent.replace_child(&copy, old);
            }
        }
    }
}

/// An island owns its inside, and a form that can be typed into belongs to the reader.
fn has_its_own_life(element: &Element) -> bool {
    const TYPED: &str = "input:not([type=hidden]), textarea, select";
    match element.tag_name().as_str() {
        "LEPTOS-ISLAND" => true,
        "FORM" => element.query_selector(TYPED).is_ok_and(|found| found.is_some()),
        _ => false,
    }
}

fn attributes(old: &Element, new: &Element) {
    for name in names(old) {
        if name != "open" && !new.has_attribute(&name) {
            let _ = old.remove_attribute(&name);
        }
    }
    for name in names(new) {
        let value = new.get_attribute(&name);
        if name != "open" && old.get_attribute(&name) != value {
            let _ = old.set_attribute(&name, &value.unwrap_or_default());
        }
    }
}

fn names(element: &Element) -> Vec<String> {
    element.get_attribute_names().iter().filter_map(|name| JsValue::as_string(&name)).collect()
}

/// Read as an attribute: on a form the property `id` may be a field of that name.
fn key(node: &Node) -> Option<String> {
    node.dyn_ref::<Element>()?.get_attribute("id")
}

/// Children with an id keep their identity wherever they move to; others are matched in order, by tag.
fn children(old: &Element, new: &Element) {
    let wanted = nodes(new.child_nodes());
    let ids: HashSet<String> = wanted.iter().filter_map(key).collect();
    let mut kept = HashMap::new();
    for child in nodes(old.child_nodes()) {
        match key(&child) {
            Some(id) if ids.contains(&id) => {
                kept.insert(id, child);
            }
            Some(_) => {
                let _ = old.remove_child(&child);
            }
            None => {}
        }
    }
    let mut at = old.first_child();
    for want in wanted {
        let same = match (key(&want), &at) {
            (Some(id), _) => kept.remove(&id),
            (None, Some(here)) if key(here).is_none() && here.node_name() == want.node_name() => at.clone(),
            _ => None,
        };
        match same {
            Some(same) if at.as_ref() == Some(&same) => {
                at = same.next_sibling();
                morph(&same, &want);
            }
            Some(same) => {
                let _ = old.insert_before(&same, at.as_ref());
                morph(&same, &want);
            }
            None => {
                if let Some(copy) = import(&want) {
                    let _ = old.insert_before(&copy, at.as_ref());
                }
            }
        }
    }
    while let Some(rest) = at {
        at = rest.next_sibling();
        let _ = old.remove_child(&rest);
    }
}

fn import(node: &Node) -> Option<Node> {
    window().document()?.import_node_with_deep(node, true).ok()
}
