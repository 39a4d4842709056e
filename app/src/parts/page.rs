//! What a page is built of: its head, its sections, facts, large numbers, and the place where something would be.
use super::{Icon, Mark, Shape, Tone, words::slug};
use leptos::prelude::*;

/// The page's one h1. `sub` stands beside it ("23 in acme") and may end with what it is in, as a link (`within`: words and
/// address); `lede` stands below; `acts` are its buttons, `says` its state in a sentence.
#[component]
pub fn PageHead(
    #[prop(into)] title: String,
    #[prop(optional, into)] sub: String,
    #[prop(optional)] within: Option<(String, String)>,
    #[prop(optional, into)] lede: String,
    #[prop(optional, into)] icon: String,
    #[prop(optional)] acts: Option<AnyView>,
    #[prop(optional)] says: Option<AnyView>,
) -> impl IntoView {
    let within = within.map(|(words, href)| view! { " " <a href=href>{words}</a> });
    view! {
        <div class="head">
            <div>
                <h1><Mark icon /> {title} {(!sub.is_empty()).then(|| view! { <small>{sub} {within}</small> })}</h1>
                {(!lede.is_empty()).then(|| view! { <p class="lede">{lede}</p> })}
            </div>
            {acts.map(|acts| view! { <div class="acts">{acts}</div> })}
            {says.map(|says| view! { <div class="says">{says}</div> })}
        </div>
    }
}

/// What stands in `says`: the state, since when or how much of it, and below in small why.
#[component]
pub fn Says(
    shape: Shape,
    #[prop(optional)] tone: Tone,
    #[prop(into)] word: String,
    #[prop(optional, into)] rest: String,
    #[prop(optional, into)] more: String,
) -> impl IntoView {
    let stale = matches!(shape, Shape::Stale | Shape::StaleOff).then_some("stale");
    let rest = (!rest.is_empty()).then(|| format!(" {rest}"));
    let more = (!more.is_empty()).then(|| view! { <small>{more}</small> });
    view! {
        <Shape name=shape tone />
        <p>
            <b class=stale>{word}</b>
            {rest}
            {more}
        </p>
    }
}

/// A section under its heavy rule. `sub` stands beside the heading, `acts` at the right.
#[component]
pub fn Section(
    #[prop(into)] title: String,
    #[prop(optional, into)] sub: String,
    #[prop(optional)] acts: Option<AnyView>,
    children: Children,
) -> impl IntoView {
    let id = format!("section-{}", slug(&title));
    view! {
        <section class="sec" aria-labelledby=id.clone()>
            <div class="sec-head">
                <h2 id=id.clone()>{title}</h2>
                {(!sub.is_empty()).then(|| view! { <p>{sub}</p> })}
                {acts.map(|acts| view! { <div class="acts">{acts}</div> })}
            </div>
            {children()}
        </section>
    }
}

/// What few readers need: closed until asked for.
#[component]
pub fn Fold(#[prop(into)] title: String, children: Children) -> impl IntoView {
    view! {
        <details class="fold">
            <summary>
                <Icon name=Icon::Right />
                {title}
            </summary>
            {children()}
        </details>
    }
}

/// A list of `Fact`s.
#[component]
pub fn Facts(children: Children) -> impl IntoView {
    view! { <dl class="kv">{children()}</dl> }
}

#[component]
pub fn Fact(#[prop(into)] name: String, children: Children) -> impl IntoView {
    view! {
        <dt>{name}</dt>
        <dd>{children()}</dd>
    }
}

/// A row of `BigNumber`s on a dashboard.
#[component]
pub fn BigNumbers(children: Children) -> impl IntoView {
    view! { <ul class="big">{children()}</ul> }
}

#[component]
pub fn BigNumber(
    #[prop(into)] number: String,
    #[prop(into)] label: String,
    #[prop(optional, into)] href: String,
    #[prop(optional)] shape: Option<Shape>,
    #[prop(optional)] tone: Tone,
) -> impl IntoView {
    let inside = view! {
        <b>{number}</b>
        <span>{shape.map(|name| view! { <Shape name tone /> })} {label}</span>
    };
    if href.is_empty() {
        view! {
            <li>
                <div>{inside}</div>
            </li>
        }
        .into_any()
    } else {
        view! {
            <li>
                <a href=href>{inside}</a>
            </li>
        }
        .into_any()
    }
}

/// Where a list would be: what it is for (children), and the first step (`acts`).
#[component]
pub fn Empty(
    #[prop(into)] title: String,
    #[prop(optional)] acts: Option<AnyView>,
    children: Children,
) -> impl IntoView {
    view! {
        <div class="empty">
            <h2>{title}</h2>
            <p>{children()}</p>
            {acts.map(|acts| view! { <div class="acts">{acts}</div> })}
        </div>
    }
}
