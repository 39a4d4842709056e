//! The page before something is lost for good: it lists what goes, in numbers, and the way back is named by its effect.
use super::{Icon, Note, TextField, Tone};
use leptos::prelude::*;

/// Posts to its own address. `title` asks ("Delete VDC acme-dev?"), `lost` lists what goes with it, `verb` is on the button.
/// With `type_name` the reader has to type that name, posted as `name`. Children are further words or hidden fields.
#[component]
pub fn ConfirmPage(
    #[prop(into)] title: String,
    #[prop(into)] verb: String,
    #[prop(into)] keep_href: String,
    #[prop(optional)] lost: Vec<String>,
    #[prop(optional, into)] type_name: String,
    /// What was typed, and what was wrong with it.
    #[prop(optional, into)]
    typed: String,
    #[prop(optional_no_strip)] error: Option<String>,
    /// Why it cannot be done at all; then there is no button for it.
    #[prop(optional_no_strip)]
    refused: Option<String>,
    #[prop(optional)] children: Option<Children>,
) -> impl IntoView {
    let possible = refused.is_none();
    view! {
        <form class="confirm" method="post" novalidate>
            <h1>{title}</h1>
            {refused.map(|why| view! { <Note tone=Tone::Bad>{why}</Note> })}
            {possible
                .then(|| {
                    view! {
                        <p>
                            {if lost.is_empty() {
                                "This cannot be undone."
                            } else {
                                "This cannot be undone. With it go, at once:"
                            }}
                        </p>
                    }
                })}
            {(!lost.is_empty())
                .then(|| {
                    view! {
                        <ul class="plain losses">
                            {lost
                                .into_iter()
                                .map(|thing| {
                                    view! {
                                        <li>
                                            <Icon name=Icon::Close />
                                            <p>{thing}</p>
                                        </li>
                                    }
                                })
                                .collect_view()}
                        </ul>
                    }
                })}
            {children.map(|children| children())}
            {(possible && !type_name.is_empty())
                .then(|| {
                    view! {
                        <TextField
                            name="name"
                            label=format!("Type {type_name} to go on")
                            value=typed
                            error
                            autocomplete="off"
                        />
                    }
                })}
            <footer>
                <a class="btn" href=keep_href>
                    "Keep it"
                </a>
                {possible
                    .then(|| {
                        view! {
                            <button class="btn danger solid">
                                <Icon name=Icon::Trash />
                                {verb}
                            </button>
                        }
                    })}
            </footer>
        </form>
    }
}
