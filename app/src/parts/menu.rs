//! A menu of actions. Each line says what it does; what is not possible now stays in the list with its reason.
use super::{HiddenFields, Icon};
use leptos::prelude::*;

/// A button that opens a list. With `dots` it shows three dots and `label` is what a screen reader says; `framed` where it
/// stands among buttons.
#[component]
pub fn Menu(
    #[prop(into)] label: String,
    #[prop(optional)] dots: bool,
    #[prop(optional)] framed: bool,
    children: Children,
) -> impl IntoView {
    let summary = if dots {
        let class = if framed { "btn icon" } else { "btn icon small quiet" };
        view! {
            <summary class=class aria-label=label>
                <Icon name=Icon::More />
            </summary>
        }
        .into_any()
    } else {
        view! { <summary class="btn">{label} <Icon name=Icon::Down /></summary> }.into_any()
    };
    view! {
        <details class="menu" name="menu">
            {summary}
            <div class="panel end">{children()}</div>
        </details>
    }
}

/// A line that is a link.
#[component]
pub fn MenuItem(
    icon: Icon,
    #[prop(into)] title: String,
    #[prop(into)] href: String,
    #[prop(optional, into)] more: String,
    #[prop(optional)] danger: bool,
) -> impl IntoView {
    view! {
        <a class="item" href=href>
            <Line icon title more danger />
        </a>
    }
}

/// A line that does something at once: a button that posts to `action`, with `fields` as hidden inputs.
#[component]
pub fn MenuForm(
    icon: Icon,
    #[prop(into)] title: String,
    #[prop(into)] action: String,
    #[prop(optional, into)] more: String,
    #[prop(optional)] danger: bool,
    #[prop(optional)] fields: Vec<(&'static str, String)>,
) -> impl IntoView {
    view! {
        <form method="post" action=action>
            <HiddenFields fields />
            <button class="item">
                <Line icon title more danger />
            </button>
        </form>
    }
}

/// A line that is not possible now; `why` is the reason and says who can change that. "Not now:" is put before it.
#[component]
pub fn MenuOff(icon: Icon, #[prop(into)] title: String, #[prop(into)] why: String) -> impl IntoView {
    view! {
        <button type="button" class="item" aria-disabled="true">
            <Line icon title more=format!("Not now: {why}") danger=false />
        </button>
    }
}

#[component]
fn Line(icon: Icon, title: String, more: String, danger: bool) -> impl IntoView {
    view! {
        <Icon name=icon />
        <b class=danger.then_some("danger")>{title}</b>
        {(!more.is_empty()).then(|| view! { <small>{more}</small> })}
    }
}
