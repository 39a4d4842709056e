//! Pages that say no. They say what happened, why, and what can be done.
use super::{Fact, Facts, Shape, Tone};
use leptos::prelude::*;

/// 404. Missing and foreign things get the same words, so that nobody can find out what others have.
#[component]
pub fn NotFound(#[prop(into)] path: String, #[prop(into)] home: String) -> impl IntoView {
    view! {
        <div class="answer">
            <Shape name=Shape::StaleOff />
            <h1>"There is nothing at this address"</h1>
            <p class="lede">
                "It was deleted, it was never there, or it belongs to another organization. The answer is the same for all three, so that nobody can find out what others have."
            </p>
            <div class="acts">
                <a class="btn primary" href=home>
                    "Go home"
                </a>
            </div>
            <p class="hint">"Asked for: " <code>{path}</code></p>
        </div>
    }
}

/// 403: the right that is missing, the reader's role, and who can grant it. `what` is the sentence on top: "You may see this
/// VDC, but not change it".
#[component]
pub fn NotAllowed(
    #[prop(into)] what: String,
    #[prop(into)] right: String,
    #[prop(into)] user: String,
    #[prop(into)] role: String,
    #[prop(into)] who_can: String,
    #[prop(into)] request_id: String,
    #[prop(into)] home: String,
) -> impl IntoView {
    view! {
        <div class="answer">
            <Shape name=Shape::Barred tone=Tone::Warn />
            <h1>{what}</h1>
            <p class="lede">"It takes the right " <b>{right}</b> ", and your role has not got it."</p>
            <Facts>
                <Fact name="You">{format!("{user}, role {role}")}</Fact>
                <Fact name="Who can">{who_can}</Fact>
            </Facts>
            <div class="acts">
                <a class="btn primary" href=home>
                    "Go home"
                </a>
            </div>
            <p class="hint">"If this seems wrong, give your administrator this number: " <code>{request_id}</code></p>
        </div>
    }
}

/// 500 and 503. `try_again` is the address to offer again: with it, nothing was changed and a second try is safe.
#[component]
pub fn Failed(
    #[prop(into)] title: String,
    #[prop(into)] why: String,
    #[prop(into)] request_id: String,
    #[prop(optional_no_strip)] try_again: Option<String>,
) -> impl IntoView {
    view! {
        <div class="answer">
            <Shape name=Shape::Diamond tone=Tone::Bad />
            <h1>{title}</h1>
            <p class="lede">{why}</p>
            {try_again
                .map(|href| {
                    view! {
                        <div class="acts">
                            <a class="btn primary" href=href>
                                "Try again"
                            </a>
                        </div>
                    }
                })}
            <p class="hint">"If it stays like this, give your provider this number: " <code>{request_id}</code></p>
        </div>
    }
}
