//! Below a list: how much of it is shown, and the way on. No page numbers: lists are paged by key.
use super::Icon;
use leptos::prelude::*;

/// What lies in the two directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Back and Next.
    #[default]
    ByName,
    /// Newer and Older.
    NewestFirst,
    /// Older and Newer.
    OldestFirst,
}

/// `words` says what is shown: "First 20 of 23, by name". Without either link only the words stand there.
#[component]
pub fn Pager(
    #[prop(into)] words: String,
    #[prop(optional_no_strip)] back: Option<String>,
    #[prop(optional_no_strip)] on: Option<String>,
    #[prop(optional)] order: Order,
) -> impl IntoView {
    let (back_word, on_word) = match order {
        Order::ByName => ("Back", "Next"),
        Order::NewestFirst => ("Newer", "Older"),
        Order::OldestFirst => ("Older", "Newer"),
    };
    let one_page = back.is_none() && on.is_none();
    view! {
        <nav class="pager" aria-label="Pages">
            <span>{words}</span>
            {(!one_page)
                .then(|| {
                    view! {
                        <Way href=back>
                            <Icon name=Icon::Left />
                            {back_word}
                        </Way>
                        <Way href=on>{on_word} <Icon name=Icon::Right /></Way>
                    }
                })}
        </nav>
    }
}

#[component]
fn Way(href: Option<String>, children: Children) -> impl IntoView {
    let off = href.is_none().then_some("true");
    view! {
        <a class="btn small" href=href role=off.map(|_| "link") aria-disabled=off>
            {children()}
        </a>
    }
}
