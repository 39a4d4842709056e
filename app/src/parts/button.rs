//! A button that does something at once, as a form of its own. Links and submit buttons are plain `<a class="btn">` and
//! `<button class="btn">`, with `primary`, `danger`, `quiet` or `small` beside it.
use super::Icon;
use leptos::prelude::*;

/// Posts to `action`, with `fields` as hidden inputs.
#[component]
pub fn PostButton(
    #[prop(into)] label: String,
    #[prop(into)] action: String,
    #[prop(optional)] icon: Option<Icon>,
    #[prop(default = "btn")] class: &'static str,
    #[prop(optional)] fields: Vec<(&'static str, String)>,
) -> impl IntoView {
    view! {
        <form method="post" action=action>
            <HiddenFields fields />
            <button class=class>{icon.map(|name| view! { <Icon name /> })} {label}</button>
        </form>
    }
}

#[component]
pub fn HiddenFields(fields: Vec<(&'static str, String)>) -> impl IntoView {
    fields.into_iter().map(|(name, value)| view! { <input type="hidden" name=name value=value /> }).collect_view()
}
