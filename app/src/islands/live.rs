//! The word in the bar that says whether the page keeps itself up to date.
use leptos::prelude::*;

#[derive(Clone, Copy, PartialEq)]
pub enum Link {
    /// Not tried yet, or no JavaScript: nothing is said.
    Unknown,
    Live,
    Lost,
}

/// Keeps the regions marked `data-live` fresh; see `stream` for how.
#[island]
pub fn Live() -> impl IntoView {
    let link = RwSignal::new(Link::Unknown);
    #[cfg(feature = "hydrate")]
    super::stream::start(link);
    view! {
        <span
            class="live"
            role="status"
            data-link=move || match link.get() {
                Link::Unknown => "unknown",
                Link::Live => "live",
                Link::Lost => "lost",
            }
        >
            {move || match link.get() {
                Link::Unknown => "",
                Link::Live => "Live",
                Link::Lost => "Reconnecting",
            }}
        </span>
    }
}
