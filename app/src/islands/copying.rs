//! Makes the copy buttons work, wherever they are on the page. Until then, and where the browser keeps the clipboard shut
//! (an address without TLS), they are hidden.
use leptos::prelude::*;

/// The last island of the body: the mark `data-awake` it leaves on the page says that all of them are at work.
#[island]
pub fn Copying() -> impl IntoView {
    let said = RwSignal::new("");
    #[cfg(feature = "hydrate")]
    Effect::new(move |_| buttons::start(said));
    view! {
        <span class="sr-only" role="status">
            {move || said.get()}
        </span>
    }
}

#[cfg(feature = "hydrate")]
mod buttons {
    use crate::islands::dom::{document, on, target};
    use leptos::prelude::{RwSignal, Set, set_timeout, window};
    use std::time::Duration;
    use wasm_bindgen_futures::{JsFuture, spawn_local};
    use web_sys::{Element, Event};

    pub(super) fn start(said: RwSignal<&'static str>) {
        let Some(page) = document().document_element() else { return };
        if window().is_secure_context() {
            on(&document(), "click", move |event| clicked(&event, said));
            let _ = page.set_attribute("data-copies", "");
        }
        let _ = page.set_attribute("data-awake", "");
    }

    fn clicked(event: &Event, said: RwSignal<&'static str>) {
        let button: Option<Element> = target(event).and_then(|element| element.closest("[data-copy]").ok().flatten());
        let Some(button) = button else { return };
        let Some(text) = button.get_attribute("data-copy") else { return };
        spawn_local(async move {
            let done = JsFuture::from(window().navigator().clipboard().write_text(&text)).await.is_ok();
            said.set(if done { "Copied" } else { "The browser did not allow copying." });
            let _ = button.set_attribute("data-copied", if done { "yes" } else { "no" });
            set_timeout(
                move || {
                    said.set("");
                    let _ = button.remove_attribute("data-copied");
                },
                Duration::from_secs(2),
            );
        });
    }
}
