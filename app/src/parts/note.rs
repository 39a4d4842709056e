//! A notice: one for each cause, at the place of the cause.
use super::{Icon, Tone};
use leptos::prelude::*;

/// Say the thing in `<b>`, then the reason, then what to do. `acts` are its buttons.
#[component]
pub fn Note(
    #[prop(optional)] tone: Tone,
    #[prop(optional)] acts: Option<AnyView>,
    children: Children,
) -> impl IntoView {
    let icon = match tone {
        Tone::Plain => Icon::Info,
        Tone::Ok => Icon::Check,
        Tone::Busy => Icon::Clock,
        Tone::Warn | Tone::Bad => Icon::Warn,
    };
    view! {
        <div class=format!("note {}", tone.class()) role=(tone == Tone::Bad).then_some("alert")>
            <Icon name=icon />
            <div>{children()}</div>
            {acts.map(|acts| view! { <div class="acts">{acts}</div> })}
        </div>
    }
}
