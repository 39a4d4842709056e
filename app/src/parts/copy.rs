//! Things to take along: an id with its copy button, a block of code.
use super::Icon;
use leptos::prelude::*;

/// An id or address in mono type. `what` names it for the button: "Copy id". `show` may be a shortened form.
#[component]
pub fn Copy(
    #[prop(into)] value: String,
    #[prop(into)] what: String,
    #[prop(optional, into)] show: String,
) -> impl IntoView {
    let shown = if show.is_empty() { value.clone() } else { show };
    view! {
        <span class="copy">
            <code>{shown}</code>
            <CopyButton value what />
        </span>
    }
}

#[component]
pub(super) fn CopyButton(value: String, what: String) -> impl IntoView {
    view! {
        <button type="button" aria-label=format!("Copy {what}") data-copy=value>
            <Icon name=Icon::Copy />
            <Icon name=Icon::Check />
        </button>
    }
}

#[component]
pub fn CodeBlock(#[prop(into)] title: String, #[prop(into)] code: String) -> impl IntoView {
    view! {
        <div class="code">
            <div class="code-head">
                {title.clone()} <span class="copy">
                    <CopyButton value=code.clone() what="this code".to_owned() />
                </span>
            </div>
            <pre tabindex="0" role="region" aria-label=title>
                {code}
            </pre>
        </div>
    }
}
