//! The frame of a page for nobody in particular: an error while it is not known who asks.
use super::layout::Logo;
use leptos::prelude::*;
use leptos_meta::Title;

#[component]
pub fn Bare(#[prop(into)] title: String, children: Children) -> impl IntoView {
    view! {
        <Title text=format!("{title} · SSVirt") />
        <main id="main" class="bare">
            <a class="brand" href="/">
                <Logo />
                "SSVirt"
            </a>
            {children()}
        </main>
    }
}
