//! Both portals. Pages and their parts exist on the server only; what the browser runs is `islands`.
pub mod islands;

#[cfg(feature = "ssr")]
pub mod code;
#[cfg(feature = "ssr")]
pub mod pages;
#[cfg(feature = "ssr")]
pub mod parts;
#[cfg(feature = "ssr")]
pub mod portal;
#[cfg(feature = "ssr")]
pub mod shell;

#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_islands();
}
