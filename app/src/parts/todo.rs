//! What waits for somebody, or what somebody can begin with: a mark, the thing, what to do about it, the button for that.
use leptos::prelude::*;

/// A list of `Todo`s.
#[component]
pub fn Todos(children: Children) -> impl IntoView {
    view! { <ul class="todo">{children()}</ul> }
}

/// `mark` is a `Shape` or an `Icon`; `title` may hold a link to the thing.
#[component]
pub fn Todo(
    mark: AnyView,
    title: AnyView,
    #[prop(optional, into)] text: String,
    #[prop(optional_no_strip)] acts: Option<AnyView>,
) -> impl IntoView {
    view! {
        <li>
            {mark} <div>
                <b>{title}</b>
                {(!text.is_empty()).then(|| view! { <p>{text}</p> })}
            </div> {acts.map(|acts| view! { <div class="acts">{acts}</div> })}
        </li>
    }
}
