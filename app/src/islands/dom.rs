//! The few DOM helpers the islands share.
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Element, Event, EventTarget, Node, NodeList};

pub(super) use leptos::prelude::document;

/// Listens for as long as the page lives.
pub(super) fn on(target: &EventTarget, name: &str, run: impl Fn(Event) + 'static) {
    let run = Closure::<dyn Fn(Event)>::new(run);
    let _ = target.add_event_listener_with_callback(name, run.as_ref().unchecked_ref());
    run.forget();
}

/// The element an event happened in.
pub(super) fn target(event: &Event) -> Option<Element> {
    event.target()?.dyn_into().ok()
}

pub(super) fn nodes(list: NodeList) -> Vec<Node> {
    (0..list.length()).filter_map(|at| list.get(at)).collect()
}

pub(super) fn all(within: &Element, selector: &str) -> Vec<Element> {
    within
        .query_selector_all(selector)
        .map(|list| nodes(list).into_iter().filter_map(|node| node.dyn_into().ok()).collect())
        .unwrap_or_default()
}
