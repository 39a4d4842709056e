//! Menus work as they are; this adds what hands expect: Escape, a click outside, the arrow keys.
use leptos::prelude::*;

#[island]
pub fn Menus() -> impl IntoView {
    #[cfg(feature = "hydrate")]
    Effect::new(|_| keys::start());
}

#[cfg(feature = "hydrate")]
mod keys {
    use crate::islands::dom::{all, document, on, target};
    use wasm_bindgen::JsCast;
    use web_sys::{Element, Event, HtmlElement, KeyboardEvent};

    pub(super) fn start() {
        on(&document(), "click", |event| close_others(target(&event)));
        on(&document(), "keydown", keydown);
    }

    fn open_menus() -> Vec<Element> {
        document().document_element().map(|page| all(&page, "details[name=menu][open]")).unwrap_or_default()
    }

    fn close_others(clicked: Option<Element>) {
        for menu in open_menus() {
            if !clicked.as_ref().is_some_and(|inside| menu.contains(Some(inside))) {
                let _ = menu.remove_attribute("open");
            }
        }
    }

    fn keydown(event: Event) {
        let Some(menu) = open_menus().pop() else { return };
        let key = event.unchecked_ref::<KeyboardEvent>().key();
        let items = all(&menu, ".item");
        let focused = document().active_element();
        let at = items.iter().position(|item| focused.as_ref() == Some(item));
        let inside = focused.is_some_and(|element| menu.contains(Some(&element)));
        let to = match (key.as_str(), at) {
            ("Escape", _) => {
                let _ = menu.remove_attribute("open");
                return focus(menu.query_selector("summary").ok().flatten());
            }
            ("ArrowDown", None) | ("Home", Some(_)) if inside => 0,
            ("ArrowDown", Some(at)) => (at + 1) % items.len(),
            ("ArrowUp", Some(at)) => (at + items.len() - 1) % items.len(),
            ("End", Some(_)) => items.len() - 1,
            _ => return,
        };
        if let Some(item) = items.into_iter().nth(to) {
            event.prevent_default();
            focus(Some(item));
        }
    }

    fn focus(element: Option<Element>) {
        if let Some(element) = element {
            let _ = element.unchecked_into::<HtmlElement>().focus();
        }
    }
}
