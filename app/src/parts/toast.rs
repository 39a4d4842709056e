//! The echo of what the reader just did. Errors never live here: they stand where they happened.
use super::{Icon, Shape, Tone};
use leptos::prelude::*;

/// A `<dialog>` can be closed without JavaScript.
#[component]
pub fn Toast(#[prop(into)] text: String) -> impl IntoView {
    view! {
        <div class="toasts" role="status">
            <dialog open class="toast" aria-label="Done">
                <Shape name=Shape::Done tone=Tone::Ok />
                <p>{text}</p>
                <form method="dialog">
                    <button class="btn icon small quiet" aria-label="Close">
                        <Icon name=Icon::Close />
                    </button>
                </form>
            </dialog>
        </div>
    }
}
