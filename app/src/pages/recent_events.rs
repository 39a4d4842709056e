//! The latest events, in the margin of a page about one thing.
use crate::{parts::*, portal::Visit};
use leptos::prelude::*;
use model::event::Event;

pub(super) fn event_section(visit: &Visit, events: &[Event]) -> Option<AnyView> {
    let now = visit.now;
    let lines: Vec<_> = events
        .iter()
        .map(|e| {
            let (text, at) = (format!("{} by {}", e.message, e.user_name), e.created_at);
            view! { <li><p>{text}</p> <Time at now /></li> }
        })
        .collect();
    (!lines.is_empty()).then(|| {
        let lines = view! { <ul class="plain">{lines}</ul> };
        view! { <Section title="Events">{lines}</Section> }.into_any()
    })
}
