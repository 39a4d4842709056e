//! A state in words: shape, word, colour; any one of them can be read alone.
use super::Shape;
use leptos::prelude::*;

/// What a state or a notice asks of the reader. Colour is kept for this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Ok,
    Busy,
    Warn,
    Bad,
}

impl Tone {
    pub(super) fn class(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Ok => "ok",
            Tone::Busy => "busy",
            Tone::Warn => "warn",
            Tone::Bad => "bad",
        }
    }
}

/// `plate` only when somebody should act; `more` is a short reason in small type.
#[component]
pub fn Badge(
    shape: Shape,
    #[prop(optional)] tone: Tone,
    #[prop(into)] word: String,
    #[prop(optional, into)] more: String,
    #[prop(optional)] plate: bool,
) -> impl IntoView {
    let class = format!("badge {}{}", tone.class(), if plate { " plate" } else { "" });
    let stale = matches!(shape, Shape::Stale | Shape::StaleOff).then_some("stale");
    view! {
        <span class=class>
            <Shape name=shape />
            <span class=stale>{word}</span>
            {(!more.is_empty()).then(|| view! { <small>{more}</small> })}
        </span>
    }
}
